"""Groups of similar rows without a list of all pairs: the kernels of the last stage."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import secrets

import numpy as np

from lshfast.kernels.guards cimport aligned, aligned_rows, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    size_t longest_row(const int64_t*, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "sets.h":
    size_t table_size(size_t) nogil
    void set_key(uint64_t) nogil

cdef extern from "grouping.h":
    const int C_COUNT_BITS "COUNT_BITS"
    struct prefixes:
        const uint8_t* counts
        int32_t* near
        int32_t* far
        unsigned shift
        uint32_t* words
        int32_t* rows
        int32_t* next
        size_t filled, capacity
    struct grouping:
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
        int32_t* whole
        int32_t* parent
        uint32_t* seen
        uint32_t stamp
        int32_t* left
        int32_t* right
        double* similarity
        prefixes prefixes
    struct grouping_place:
        size_t row, made
        int32_t from_ "from"
        int32_t needed
        size_t compared, crowd
    struct grouping_scratch:
        uint64_t* table
        int32_t* cursors
        int32_t* found
        uint64_t* words
    enum grouping_stop:
        GROUPING_DONE, GROUPING_PAUSED, GROUPING_MISSING, GROUPING_CROWDED, GROUPING_FULL
    grouping_stop grouping_walk(grouping*, grouping_place*, size_t, const grouping_scratch*, size_t) nogil
    size_t grouping_missing(grouping*, size_t, size_t, size_t, const grouping_scratch*, int32_t*) nogil
    void count_tokens(const uint64_t*, size_t, uint8_t*) nogil
    void prefix_relist(prefixes*) nogil
    int prefix_add(grouping*, size_t, uint64_t*) nogil
    void c_join_buckets "join_buckets"(const int32_t*, size_t, size_t, int32_t*, size_t, int64_t*) nogil

COUNT_BITS = C_COUNT_BITS

DONE, PAUSED, MISSING, CROWDED, FULL = (
    GROUPING_DONE, GROUPING_PAUSED, GROUPING_MISSING, GROUPING_CROWDED, GROUPING_FULL)

set_key(secrets.randbits(64))

# Comparisons between two looks at signals: some 10 ms.
cdef size_t work_of_a_piece = 1 << 14


def join_buckets(const int32_t[:, ::1] buckets not None, const int64_t[::1] counts not None):
    """Return the smallest row that each row is joined to by a chain of buckets, int64 (n,).

    buckets, (n, bands), holds numbers below counts[band], or -1 for none.
    """
    buckets = aligned_rows(buckets)
    cdef size_t n = buckets.shape[0], bands = buckets.shape[1], most = max(counts, default=0)
    labels_array, last_array = np.empty(n, np.int64), np.empty(most + 1, np.int32)
    cdef int64_t[::1] labels = labels_array
    cdef int32_t[::1] last = last_array
    _check_buckets(buckets, counts)
    if n and bands:
        with nogil:
            c_join_buckets(&buckets[0, 0], n, bands, &last[0], most, &labels[0])
    return labels_array


cdef _check_buckets(const int32_t[:, ::1] buckets, const int64_t[::1] counts):
    if buckets.shape[1] != len(counts):
        raise ValueError(f"one count a band is needed: {buckets.shape[1]}, not {len(counts)}")
    if buckets.shape[0] and buckets.shape[1]:
        array = np.asarray(buckets)
        if array.min() < -1 or np.any(array.max(axis=0) >= np.asarray(counts)):
            raise ValueError("numbers of buckets must be -1, or below the count of their band")


cdef class Grouping:
    """The state of a walk over rows in order of preference; see grouping.h.

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
    cdef object held, kept_alive, prefix_arrays
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
        arrays = [np.full(total + 1, -1, np.int32) for _ in range(3)] + [np.empty((n + 1) * bands, np.int32)]
        cdef int32_t[::1] heads = arrays[0], tails = arrays[1], whole = arrays[2], next = arrays[3]
        self.left, self.right = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
        self.similarity, parent_array, seen_array = np.empty(n), np.empty(n + 1, np.int32), np.zeros(n + 1, np.uint32)
        cdef int32_t[::1] left = self.left, right = self.right, parent = parent_array
        cdef double[::1] similarity = self.similarity
        cdef uint32_t[::1] seen = seen_array
        self.kept_alive = [buckets, signatures, of, first_array, arrays, parent_array, seen_array]
        state = &self.state
        state.tokens = <const uint64_t**>PyMem_Calloc(n + 1, sizeof(uint64_t*))
        state.counts = <size_t*>PyMem_Calloc(n + 1, sizeof(size_t))
        if not state.tokens or not state.counts:
            raise MemoryError
        state.bands, state.k, state.least = bands, signatures.shape[1], least
        state.threshold, state.exact, state.chains = threshold, exact, chains
        state.heads, state.tails, state.whole, state.next = &heads[0], &tails[0], &whole[0], &next[0]
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
        cdef size_t i, count = len(rows)
        offsets, tokens = aligned(offsets), aligned(tokens)
        if <size_t>len(offsets) != count + 1 or not rows_are_valid(&offsets[0], count, len(tokens)):
            raise ValueError(f"offsets must be {count + 1} numbers that rise to at most {len(tokens)}")
        for i in range(count):
            if not 0 <= rows[i] < <int64_t>self.n:
                raise ValueError(f"rows must be within 0..{self.n - 1}, not {rows[i]}")
        cdef const uint64_t* base = &tokens[0] if len(tokens) else <const uint64_t*>self.state.counts
        for i in range(count):
            self.state.tokens[rows[i]] = base + offsets[i]
            self.state.counts[rows[i]] = offsets[i + 1] - offsets[i]
        self.holds += 1
        self.held[self.holds] = rows, tokens, longest_row(&offsets[0], count)
        return self.holds

    def release(self, number):
        """Have the rows that `hold` gave this number no longer at hand."""
        cdef const int32_t[::1] rows = self.held.pop(number)[0]
        cdef size_t i
        for i in range(<size_t>len(rows)):
            self.state.tokens[rows[i]] = NULL

    @property
    def longest(self):
        """The most tokens of a row at hand."""
        return max((entry[2] for entry in list(self.held.values())), default=0)

    def walk(self, size_t begin, size_t end):
        """Place rows begin..end, whose tokens are at hand, and no other row of whose components is left out.

        Returns how many comparisons were made. Different threads may walk different components.
        """
        cdef grouping_place place = [begin, begin, 0, 0, 0, <size_t>-1]
        stop = self._step(&place, end)
        if stop != GROUPING_DONE:
            raise ValueError(f"row {place.needed} is not at hand, which rows {begin}..{end} are compared with")
        return place.compared

    def start(self, size_t row, size_t crowd):
        """Begin a component of many pieces, whose first row this is; a row that meets more than `crowd` ends a step."""
        self.place = [row, row, 0, 0, 0, crowd]

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
        if len(tokens):
            with nogil:
                count_tokens(&tokens[0], len(tokens), &counts[0])

    def look_up_by_prefix(self, const uint8_t[::1] counts):
        """Look rows up by their prefixes from here on, none of which is there yet; or no longer, where counts is None."""
        self.prefix_arrays = None
        self.state.prefixes = [NULL, NULL, NULL, 0, NULL, NULL, NULL, 0, 0]
        if counts is None:
            return
        if len(counts) != 1 << C_COUNT_BITS:
            raise ValueError(f"counts must have {1 << C_COUNT_BITS} numbers, not {len(counts)}")
        self.kept_alive.append(counts)
        self.state.prefixes.counts = &counts[0]
        self.make_room()

    def make_room(self):
        """Double the room for prefixes, to at least that of the rows at hand."""
        capacity = 1 << max(16, (self.state.prefixes.capacity + self.longest).bit_length())
        if capacity >= 1 << 31:
            raise MemoryError(f"prefixes of a group take more than 2**31 entries, at {self.place.row} rows")
        arrays = [np.empty(capacity, dtype) for dtype in (np.uint32, np.int32, np.int32)]
        lists_array = np.empty((2, capacity // 2), np.int32)
        if self.prefix_arrays is not None:
            for new, old in zip(arrays, self.prefix_arrays[:3], strict=True):
                new[:len(old)] = old
        self.prefix_arrays = [*arrays, lists_array]
        cdef uint32_t[::1] words = arrays[0]
        cdef int32_t[::1] rows = arrays[1], next = arrays[2]
        cdef int32_t[:, ::1] lists = lists_array
        prefixes = &self.state.prefixes
        prefixes.words, prefixes.rows, prefixes.next = &words[0], &rows[0], &next[0]
        prefixes.near, prefixes.far, prefixes.capacity = &lists[0, 0], &lists[1, 0], capacity
        prefixes.shift = 33 - int(capacity - 1).bit_length()
        prefix_relist(prefixes)

    def add_prefixes(self, size_t begin, size_t end):
        """Add the prefixes of those of the rows begin..end that later rows are compared with; they are at hand."""
        cdef size_t row = begin
        cdef uint64_t[::1] words = np.empty(self.longest + 1, np.uint64)
        if not begin <= end <= self.n or self.state.prefixes.counts == NULL:
            raise ValueError(f"rows must be within 0..{self.n}, and prefixes in use, not {begin}..{end}")
        while row < end:
            if self.state.tokens[row] == NULL:
                raise ValueError(f"the tokens of row {row} are not at hand")
            if not self.state.chains and self.state.parent[row] != <int32_t>row or prefix_add(&self.state, row, &words[0]):
                row += 1
            else:
                self.make_room()

    def missing(self, size_t end):
        """Return the rows, int32, whose tokens the walk up to `end` is going to need first."""
        cdef size_t row = self.place.row, made = 0, most = 8 if self.state.prefixes.counts != NULL else 1
        cdef _Scratch scratch = _Scratch(self)
        if not row <= end <= self.n:
            raise ValueError(f"end must be in {row}..{self.n}, not {end}")
        out_array = np.empty(most * (end - row) + 1, np.int32)
        cdef int32_t[::1] out = out_array
        with nogil:
            made = grouping_missing(&self.state, row, end, most, &scratch.scratch, &out[0])
        return np.unique(out_array[:made])

    cdef grouping_stop _step(self, grouping_place* place, size_t end) except *:
        cdef _Scratch scratch = _Scratch(self)
        cdef grouping_stop stop = GROUPING_PAUSED
        if not place.row <= end <= self.n:
            raise ValueError(f"end must be in {place.row}..{self.n}, not {end}")
        cdef uint64_t last_pause = 0
        with nogil:
            while stop == GROUPING_PAUSED:
                stop = grouping_walk(&self.state, place, end, &scratch.scratch, work_of_a_piece)
                pause(&last_pause)
        return stop


cdef class _Scratch:
    """What one walk works with, for the rows at hand."""

    cdef grouping_scratch scratch
    cdef object arrays

    def __cinit__(self, Grouping of):
        longest, marks = of.longest, of.n if of.state.prefixes.counts != NULL else 0
        cdef uint64_t[::1] table = np.empty(table_size(longest), np.uint64), words = np.empty(longest + 1, np.uint64)
        cdef int32_t[::1] cursors = np.empty(of.state.bands, np.int32), found = np.empty(marks + 1, np.int32)
        self.arrays = table, words, cursors, found
        self.scratch = [&table[0], &cursors[0], &found[0], &words[0]]
