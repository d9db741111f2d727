"""Groups of similar rows without a list of all pairs: the kernels of the last stage."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport SIZE_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t

import os

import numpy as np

from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, pause, product_of, sum_of

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    size_t longest_row(const int64_t*, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "sets/sets.h":
    size_t sets_table_size(size_t) nogil
    void sets_use_key(uint64_t) nogil
    void sets_label_components(size_t, int64_t*) nogil

cdef extern from "grouping/grouping.h":
    const int C_COUNT_BITS "COUNT_BITS"
    struct prefixes:
        const uint8_t* counts
        int32_t* near
        int32_t* far
        unsigned shift
        uint32_t multiplier
        uint32_t* words
        int32_t* rows
        int32_t* next
        int32_t* past
        size_t filled, capacity
    struct grouping:
        size_t n
        const int32_t* buckets
        const int64_t* first
        size_t bands
        const uint64_t* signatures
        const int64_t* of
        size_t k, least
        double threshold
        int exact, chains
        const uint64_t** tokens
        size_t* counts
        int32_t* heads
        int32_t* tails
        int32_t* next
        int32_t* run
        int32_t* parent
        uint32_t* seen
        uint32_t stamp
        int32_t* left
        int32_t* right
        double* similarity
        prefixes prefixes
    struct grouping_place:
        size_t first, row, made
        int begun
        int32_t from_ "from"
        size_t met
        int32_t needed
        size_t compared, crowd
    struct grouping_scratch:
        uint64_t* table
        int32_t* cursors
        uint64_t* found
        uint64_t* words
        int (*pause)(uint64_t*) except -1 nogil
        uint64_t* last
    enum grouping_stop:
        GROUPING_DONE, GROUPING_MISSING, GROUPING_CROWDED, GROUPING_FULL, GROUPING_PLACED
    int grouping_walk(grouping*, grouping_place*, size_t, grouping_scratch*) except -1 nogil
    size_t grouping_missing(grouping*, const grouping_place*, size_t, size_t, grouping_scratch*,
                            int32_t*) except -1 nogil
    void count_tokens(const uint64_t*, size_t, uint8_t*) nogil
    void prefix_list(prefixes*, size_t, size_t) nogil
    int prefix_add(grouping*, size_t, grouping_scratch*) except -1 nogil
    void join_bucket_rows(const int32_t*, size_t, size_t, size_t, int32_t*, int64_t*) nogil

COUNT_BITS = C_COUNT_BITS

DONE, MISSING, CROWDED, FULL = GROUPING_DONE, GROUPING_MISSING, GROUPING_CROWDED, GROUPING_FULL

# Numbers of buckets are below it.
MOST_BUCKETS = 1 << 31

sets_use_key(int.from_bytes(os.urandom(8), "little"))
cdef uint32_t multiplier = int.from_bytes(os.urandom(4), "little") | 1


def join_buckets(const int32_t[:, ::1] buckets not None, const int64_t[::1] counts not None):
    """Return the smallest row that each row is joined to by a chain of buckets, int64 (n,).

    buckets, (n, bands), holds numbers below counts[band], or -1 for none.
    """
    buckets = aligned_rows(buckets)
    cdef size_t n = buckets.shape[0], bands = buckets.shape[1], band, at, some
    cdef uint64_t last_pause = 0
    _check_buckets(buckets, counts)
    labels_array, last_array = np.arange(n, dtype=np.int64), np.empty(max(counts, default=0) + 1, np.int32)
    cdef int64_t[::1] labels = labels_array
    cdef int32_t[::1] last = last_array
    if n == 0:
        return labels_array
    for band in range(bands):
        last_array.fill(-1)
        at = 0
        with nogil:
            while at < n:
                some = min(n - at, <size_t>WORK)
                join_bucket_rows(&buckets[0, band], bands, at, at + some, &last[0], &labels[0])
                at += some
                pause(&last_pause)
    sets_label_components(n, &labels[0])
    return labels_array


cdef _check_buckets(const int32_t[:, ::1] buckets, const int64_t[::1] counts):
    if buckets.shape[1] != len(counts):
        raise ValueError(f"one count a band is needed: {buckets.shape[1]}, not {len(counts)}")
    if not all(0 <= count < MOST_BUCKETS for count in counts):
        raise ValueError(f"counts of buckets must be in 0..{MOST_BUCKETS - 1}, not {min(counts)}..{max(counts)}")
    if buckets.shape[0] and buckets.shape[1]:
        array = np.asarray(buckets)
        if array.min() < -1 or np.any(array.max(axis=0) >= np.asarray(counts)):
            raise ValueError("numbers of buckets must be -1, or below the count of their band")


@cython.auto_pickle(False)
cdef class Grouping:
    """The state of a walk over rows in order of preference; see grouping.h.

    The arrays are not copied and must not change. One thread at a time may use it, but for `hold`, `release` and `walk`.

    Parameters
    ----------
    buckets : ndarray of int32, shape (n, bands)
        Number of each row's bucket in each band, -1 where it is alone.
    counts : ndarray of int64, shape (bands,)
        How many buckets each band has.
    signatures : ndarray of uint64, shape (m, k)
    of : ndarray of int64, shape (n,)
        The signature of each row.
    least : int
        Slots that must agree before tokens are compared.
    threshold : float
    exact, chains : bool
    """

    cdef grouping state
    cdef grouping_place place
    cdef object kept_alive, prefix_arrays
    cdef dict held
    cdef readonly object left, right, similarity
    cdef size_t n, holds

    def __cinit__(self, const int32_t[:, ::1] buckets not None, const int64_t[::1] counts not None,
                  const uint64_t[:, ::1] signatures not None, const int64_t[::1] of not None, size_t least,
                  double threshold, bint exact, bint chains):
        cdef size_t n = buckets.shape[0], bands = buckets.shape[1]
        _check_buckets(buckets, counts)
        buckets, signatures, of = aligned_rows(buckets), aligned_rows(signatures), aligned(of)
        if <size_t>len(of) != n or n and not are_below(&of[0], n, signatures.shape[0]):
            raise ValueError(f"of must be {n} rows below {signatures.shape[0]}, the number of signatures")
        if n >= 1 << 31 or not bands or not signatures.shape[1]:
            raise ValueError(f"rows must be fewer than 2**31, bands and slots at least 1, not {n}, {bands}, "
                             f"{signatures.shape[1]}")
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be in [0, 1], not {threshold}")
        self.n, self.held = n, {}
        first_array = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        cdef const int64_t[::1] first = first_array
        total = int(first_array[-1])
        arrays = [np.full(total + 1, -1, np.int32), np.full(total + 1, -1, np.int32), np.empty((n + 1) * bands, np.int32),
                  np.empty((n + 1) * bands if chains else 1, np.int32)]
        cdef int32_t[::1] heads = arrays[0], tails = arrays[1], next = arrays[2], run = arrays[3]
        self.left, self.right, self.similarity = np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.empty(n)
        parent_array, seen_array = np.full(n + 1, -1, np.int32), np.zeros(n + 1, np.uint32)
        cdef int32_t[::1] left = self.left, right = self.right, parent = parent_array
        cdef double[::1] similarity = self.similarity
        cdef uint32_t[::1] seen = seen_array
        self.kept_alive = [buckets, signatures, of, first_array, arrays, parent_array, seen_array]
        state = &self.state
        state.tokens = <const uint64_t**>PyMem_Calloc(n + 1, sizeof(uint64_t*))
        state.counts = <size_t*>PyMem_Calloc(n + 1, sizeof(size_t))
        if not state.tokens or not state.counts:
            raise MemoryError
        state.n, state.bands, state.k, state.least = n, bands, signatures.shape[1], least
        state.threshold, state.exact, state.chains = threshold, exact, chains
        state.heads, state.tails, state.run, state.next = &heads[0], &tails[0], &run[0], &next[0]
        state.parent, state.seen, state.first = &parent[0], &seen[0], &first[0]
        if n:
            state.buckets, state.signatures, state.of = &buckets[0, 0], &signatures[0, 0], &of[0]
            state.left, state.right, state.similarity = &left[0], &right[0], &similarity[0]

    def __dealloc__(self):
        PyMem_Free(self.state.tokens)
        PyMem_Free(self.state.counts)

    def hold(self, const int32_t[::1] rows not None, const int64_t[::1] offsets not None,
             const uint64_t[::1] tokens not None):
        """Have the different tokens of these rows at hand until `release` is called with the number that this returns."""
        cdef const int32_t[::1] given = np.array(rows)  # a copy, which `release` relies on
        cdef size_t i, number, count = len(given)
        offsets, tokens = aligned(offsets), aligned(tokens)
        if <size_t>len(offsets) != count + 1 or not rows_are_valid(&offsets[0], count, len(tokens)):
            raise ValueError(f"offsets must be {count + 1} numbers that rise to at most {len(tokens)}")
        for i in range(count):
            if not 0 <= given[i] < <int64_t>self.n:
                raise ValueError(f"rows must be within 0..{<int64_t>self.n - 1}, not {given[i]}")
        cdef const uint64_t* base = &tokens[0] if len(tokens) else <const uint64_t*>self.state.counts
        cdef tuple entry = (given, tokens, longest_row(&offsets[0], count))
        with cython.critical_section(self):  # so that no other thread gets the same number
            number = self.holds = self.holds + 1
        self.held[number] = entry  # before the tokens are led to
        for i in range(count):
            self.state.tokens[given[i]] = base + offsets[i]
            self.state.counts[given[i]] = offsets[i + 1] - offsets[i]
        return number

    def release(self, number):
        """Have the rows that `hold` gave this number no longer at hand."""
        entry = self.held[number]
        cdef const int32_t[::1] rows = entry[0]
        cdef size_t i
        for i in range(<size_t>len(rows)):
            self.state.tokens[rows[i]] = NULL
        del self.held[number]

    @property
    def longest(self):
        """The most tokens of a row at hand."""
        return max((entry[2] for entry in list(self.held.values())), default=0)

    def walk(self, size_t begin, size_t end):
        """Place rows begin..end, whose tokens are at hand, and no other row of whose components is left out.

        Returns how many comparisons were made. Different threads may walk different components.
        """
        cdef grouping_place place = _beginning(begin, SIZE_MAX)
        if self.state.prefixes.counts != NULL:
            raise ValueError("rows are looked up by their prefixes: walk them step by step")
        stop = self._step(&place, end)
        if stop != GROUPING_DONE:
            raise ValueError(f"row {place.needed} is not at hand, which rows {begin}..{end} are compared with")
        return place.compared

    def start(self, size_t row, size_t crowd):
        """Begin a component of many pieces, whose first row this is; a row that meets more than `crowd` ends a step."""
        self.place = _beginning(row, crowd)

    def step(self, size_t end):
        """Place rows up to end, and return (why it ended, row it ended at, row whose tokens are needed)."""
        stop = self._step(&self.place, end)
        return <int>stop, self.place.row, self.place.needed

    @property
    def compared(self):
        """Comparisons made since `start`."""
        return self.place.compared

    def count(self, const uint64_t[::1] tokens not None, uint8_t[::1] counts not None):
        """Count tokens for the order in which prefixes have them; counts has 2**COUNT_BITS zeros at first."""
        if len(counts) != 1 << C_COUNT_BITS:
            raise ValueError(f"counts must have {1 << C_COUNT_BITS} numbers, not {len(counts)}")
        tokens = aligned(tokens)
        cdef size_t at = 0, some, n = len(tokens)
        cdef uint64_t last_pause = 0
        with nogil:
            while at < n:
                some = min(n - at, <size_t>WORK)
                count_tokens(&tokens[at], some, &counts[0])
                at += some
                pause(&last_pause)

    def look_up_by_prefix(self, const uint8_t[::1] counts):
        """Look rows up by their prefixes from here on, none of which is there yet; or no longer, where counts is None."""
        if counts is not None:
            if len(counts) != 1 << C_COUNT_BITS:
                raise ValueError(f"counts must have {1 << C_COUNT_BITS} numbers, not {len(counts)}")
            if not self.state.exact or self.state.threshold == 0:
                raise ValueError("prefixes tell nothing of signatures, or of rows that need no token in common")
        self.state.prefixes = [NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, 0, 0]
        self.prefix_arrays = None
        if counts is not None:
            self.make_room()
            self.prefix_arrays.append(counts)
            self.state.prefixes.counts = &counts[0]

    def make_room(self):
        """Double the room for prefixes, to at least that of the rows at hand.

        An interrupt ends the use of prefixes.
        """
        capacity = 1 << max(16, (self.state.prefixes.capacity + self.longest).bit_length())
        if capacity >= 1 << 31:
            raise MemoryError(f"prefixes of a group take more than 2**31 entries, at {self.place.row} rows")
        arrays = [np.empty(capacity, np.uint32), np.empty(capacity, np.int32), np.empty(capacity, np.int32),
                  np.empty(capacity if self.state.chains else 1, np.int32)]
        lists_array = np.full((2, capacity // 2), -1, np.int32)
        if self.prefix_arrays is not None:
            for new, old in zip(arrays[:2], self.prefix_arrays[:2], strict=True):
                new[:len(old)] = old
        cdef uint32_t[::1] words = arrays[0]
        cdef int32_t[::1] rows = arrays[1], next = arrays[2], past = arrays[3]
        cdef int32_t[:, ::1] lists = lists_array
        cdef size_t at = 0, some
        cdef uint64_t last_pause = 0
        prefixes = &self.state.prefixes
        self.prefix_arrays = [*arrays, lists_array, *(self.prefix_arrays or ())[5:]]
        prefixes.words, prefixes.rows, prefixes.next = &words[0], &rows[0], &next[0]
        prefixes.past = &past[0] if self.state.chains else NULL
        prefixes.near, prefixes.far, prefixes.capacity = &lists[0, 0], &lists[1, 0], capacity
        prefixes.shift, prefixes.multiplier = 33 - int(capacity - 1).bit_length(), multiplier
        try:
            with nogil:
                while at < prefixes.filled:
                    some = min(prefixes.filled - at, <size_t>WORK)
                    prefix_list(prefixes, at, at + some)
                    at += some
                    pause(&last_pause)
        except BaseException:
            self.look_up_by_prefix(None)
            raise

    def add_prefixes(self, size_t begin, size_t end):
        """Add the prefixes of those of the rows begin..end that later rows are compared with.

        The rows are placed and at hand. An interrupt ends the use of prefixes.
        """
        cdef size_t row = begin
        cdef int added = 0
        cdef _Scratch scratch = _Scratch(self)
        if not begin <= end <= self.n or self.state.prefixes.counts == NULL:
            raise ValueError(f"rows must be within 0..{self.n}, and prefixes in use, not {begin}..{end}")
        while row < end:
            if self.state.tokens[row] == NULL or self.state.parent[row] < 0:
                raise ValueError(f"row {row} is not at hand, or not placed yet")
            if not self.state.chains and self.state.parent[row] != <int32_t>row:
                row += 1
                continue
            try:
                with nogil:
                    added = prefix_add(&self.state, row, &scratch.scratch)
            except BaseException:
                self.look_up_by_prefix(None)
                raise
            if added:
                row += 1
            else:
                self.make_room()

    def missing(self, size_t end, size_t most):
        """Return the rows, int32, whose tokens the walk up to `end` is likely to need, `most` for each of the rows."""
        cdef size_t made = 0
        cdef _Scratch scratch = _Scratch(self)
        if not self.place.row <= end <= self.n:
            raise ValueError(f"end must be in {self.place.row}..{self.n}, not {end}")
        out_array = np.empty(sum_of(product_of(most, end - self.place.row), 1), np.int32)
        cdef int32_t[::1] out = out_array
        with nogil:
            made = grouping_missing(&self.state, &self.place, end, most, &scratch.scratch, &out[0])
        return np.unique(out_array[:made])

    cdef int _step(self, grouping_place* place, size_t end) except -1:
        cdef _Scratch scratch = _Scratch(self)
        cdef int stop = GROUPING_DONE
        if not place.row <= end <= self.n:
            raise ValueError(f"end must be in {place.row}..{self.n}, not {end}")
        with nogil:
            stop = grouping_walk(&self.state, place, end, &scratch.scratch)
        if stop == GROUPING_PLACED:
            raise ValueError(f"row {place.row} has been placed before")
        return stop


cdef grouping_place _beginning(size_t row, size_t crowd) noexcept:
    return [row, row, row, 0, 0, 0, 0, 0, crowd]


@cython.auto_pickle(False)
cdef class _Scratch:
    """What one walk works with, for the rows at hand."""

    cdef grouping_scratch scratch
    cdef uint64_t last_pause
    cdef object arrays

    def __cinit__(self, Grouping of):
        longest, marks = of.longest, of.n if of.state.prefixes.counts != NULL else 0
        cdef uint64_t[::1] table = np.empty(sets_table_size(longest), np.uint64)
        cdef uint64_t[::1] words = np.empty(longest + 1, np.uint64)
        cdef uint64_t[::1] found = np.empty(marks + 1, np.uint64)
        cdef int32_t[::1] cursors = np.empty(of.state.bands, np.int32)
        self.arrays = table, words, cursors, found
        self.scratch.table, self.scratch.cursors = &table[0], &cursors[0]
        self.scratch.found, self.scratch.words = &found[0], &words[0]
        self.scratch.pause, self.scratch.last = pause, &self.last_pause
