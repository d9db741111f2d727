"""Groups of similar rows without a list of all pairs: the kernels of the last stage."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.string cimport memset
from libc.stdint cimport SIZE_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

import os

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause, product_of, sum_of

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    size_t longest_row(const int64_t*, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "sets/sets.h":
    size_t sets_table_size(size_t) nogil
    void sets_use_key(uint64_t) nogil
    void sets_label_components(size_t, int64_t*) nogil
    enum sets_measure:
        SETS_JACCARD, SETS_CONTAINMENT
    struct sets_rule:
        sets_measure measure
        double threshold

cdef extern from "bits/bits.h":
    struct bits_kernels:
        pass
    const bits_kernels** bits_levels

cdef extern from "slots/slots.h":
    struct slots_kernels:
        pass
    const slots_kernels** slots_levels

cdef extern from "grouping/grouping.h":
    const int CROWD_COUNT_BITS
    const int CROWD_MOST_BITS
    struct crowd_member:
        int32_t row
        size_t tokens, frequent, lost, later
        uint64_t last
    struct crowd_entry:
        pass
    struct crowd:
        const uint8_t* counts
        const uint16_t* bits
        uint8_t frequent
        uint64_t multiplier
        size_t width
        const bits_kernels* kernels
        const uint32_t* overlaps
        size_t sums
        crowd_member* members
        uint64_t* bitmaps
        int32_t* dense
        uint32_t* shared
        size_t count, crowded, room
        int32_t* lists
        unsigned shift
        crowd_entry* entries
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
        sets_rule rule
        int exact, chains, climbs
        const uint64_t** tokens
        size_t* counts
        int32_t* heads
        int32_t* tails
        int32_t* next
        int32_t* run
        int32_t* parent
        int32_t* left
        int32_t* right
        double* similarity
        crowd crowd
    struct grouping_place:
        size_t first, row, made
        int begun
        int32_t from_ "from"
        size_t met
        int32_t needed
        size_t compared, crowd
    struct grouping_scratch:
        const slots_kernels* slots
        uint64_t* table
        int32_t* cursors
        uint64_t* found
        uint64_t* words
        uint64_t* bitmap
        int (*pause)(uint64_t*) except -1 nogil
        uint64_t* last
    enum grouping_stop:
        GROUPING_DONE, GROUPING_MISSING, GROUPING_CROWDED, GROUPING_FULL, GROUPING_PLACED
    int grouping_walk(grouping*, grouping_place*, size_t, grouping_scratch*) except -1 nogil
    size_t grouping_missing(grouping*, const grouping_place*, size_t, size_t, grouping_scratch*,
                            int32_t*) except -1 nogil
    size_t grouping_meeting(const grouping*, const slots_kernels*, const uint64_t*, size_t, uint64_t*) nogil
    void grouping_begin_again(grouping*, size_t, size_t) nogil
    size_t grouping_place_pairs(grouping*, const uint64_t*, size_t, size_t) nogil
    void crowd_count_tokens(const uint64_t*, size_t, uint64_t, uint8_t*) nogil
    size_t crowd_number_frequent(const uint8_t*, uint8_t, size_t, uint16_t*) nogil
    bint grouping_is_met(const grouping*, size_t) nogil
    void crowd_least_overlaps(sets_rule, size_t, uint32_t*) nogil
    void crowd_list(crowd*, size_t, size_t) nogil
    int crowd_add(grouping*, size_t, grouping_scratch*) except -1 nogil
    void grouping_join_buckets(const int32_t*, size_t, size_t, size_t, int32_t*, int64_t*) nogil

cdef extern from "grouping/banded_pairs.h":
    struct banded_pairs:
        const uint64_t* signatures
        size_t k, bands, rows, least
        bint chains
        const slots_kernels* slots
        int32_t* parent
    size_t banded_pairs_find(banded_pairs*, const uint64_t*, size_t, uint64_t*) nogil

cdef extern from "grouping/row_pairs.h":
    struct row_pairs:
        size_t n, bands
        const int32_t* next
        const uint64_t* signatures
        const int64_t* of
        size_t k, least
        const slots_kernels* slots
        size_t row, met
        bint begun
        int32_t* cursors
    void row_pairs_link_buckets(int32_t*, size_t, size_t, int32_t*) nogil
    size_t row_pairs_next(row_pairs*, int64_t*, int64_t*, size_t, size_t) nogil

cdef extern from "grouping/shared_slots.h":
    const size_t SHARED_SLOTS_AT_ONCE
    void shared_slots_hash(const uint64_t*, const int64_t*, size_t, size_t, size_t, size_t, uint64_t, size_t, size_t,
                           size_t, uint32_t*) nogil
    void shared_slots_count(const uint32_t*, size_t, unsigned, uint8_t*) nogil
    void shared_slots_add(const uint32_t*, size_t, unsigned, const uint8_t*, uint32_t*) nogil

cdef extern from "grouping/crowded_buckets.h":
    void crowded_buckets_count(const uint64_t*, size_t, size_t, uint64_t, unsigned, uint8_t*, uint8_t*) nogil
    void crowded_buckets_halve(uint8_t*, unsigned) nogil

COUNT_BITS = CROWD_COUNT_BITS

# Slots whose hashes are best computed at once.
SLOTS_AT_ONCE = SHARED_SLOTS_AT_ONCE

DONE, MISSING, CROWDED, FULL = GROUPING_DONE, GROUPING_MISSING, GROUPING_CROWDED, GROUPING_FULL

# Numbers of buckets are below it.
MOST_BUCKETS = 1 << 31

# Counters of `CrowdedBuckets`, and the keys that they count before they are halved.
cdef enum:
    CROWDED_BITS = 20
    KEYS_BEFORE_HALVING = 1 << 24

# Sums of sizes whose least overlap is looked up; it is computed for greater ones.
SUMS = 1 << 14

sets_use_key(int.from_bytes(os.urandom(8), "little"))
cdef uint64_t multiplier = int.from_bytes(os.urandom(8), "little") | 1
cdef const int* in_use = level_in_use()


def join_buckets(const int32_t[:, ::1] buckets not None, const int64_t[::1] counts not None):
    """Return the smallest row that each row is joined to by a chain of buckets, int64 (n,).

    buckets, (n, bands), holds numbers below counts[band], or -1 for none.
    """
    buckets, counts = aligned_rows(buckets), aligned(counts)
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
                grouping_join_buckets(&buckets[0, band], bands, at, at + some, &last[0], &labels[0])
                at += some
                pause(&last_pause)
    sets_label_components(n, &labels[0])
    return labels_array


def slot_hashes(const uint64_t[:, ::1] signatures not None, const int64_t[::1] of not None, size_t first, size_t step,
                size_t slots):
    """Return hashes of some slots of signatures: uint32 (slots, n).

    of holds the signature of each row. The slots are `first` and each `step`th after it. Equal values have equal hashes
    in this process; different ones have equal hashes with a probability of about 2**-32.
    """
    signatures, of = aligned_rows(signatures), aligned(of)
    cdef size_t n = len(of), k = signatures.shape[1], at = 0, some
    if n and not are_below(&of[0], n, signatures.shape[0]):
        raise ValueError(f"rows must be below {signatures.shape[0]}, the number of signatures")
    if slots == 0 or step == 0 or first >= k or (slots - 1) > (k - 1 - first) // step:
        raise ValueError(f"slots must be below {k}, not {slots} from {first} in steps of {step}")
    hashes_array = np.empty((slots, n), np.uint32)
    cdef uint32_t[:, ::1] hashes = hashes_array
    cdef uint64_t last_pause = 0
    with nogil:
        while at < n:
            some = min(n - at, <size_t>WORK // 64)
            shared_slots_hash(&signatures[0, 0], &of[0], k, first, step, slots, multiplier, n, at, at + some, &hashes[0, 0])
            at += some
            pause(&last_pause)
    return hashes_array


def count_hashes(const uint32_t[::1] hashes not None, uint8_t[::1] seen not None):
    """Count the hashes of a slot in `seen`, which has 2**m bytes, 0 <= m <= 30, and zeros before the first hash.

    It has a fourth of a byte for each value that the first m + 2 bits of a hash can have.
    """
    hashes = aligned(hashes)
    cdef size_t n = len(hashes), at = 0, some
    cdef unsigned bits = _bits_counted(len(seen))
    cdef uint64_t last_pause = 0
    with nogil:
        while at < n:
            some = min(n - at, <size_t>WORK)
            shared_slots_count(&hashes[at], some, bits, &seen[0])
            at += some
            pause(&last_pause)


def add_shared(const uint32_t[::1] hashes not None, const uint8_t[::1] seen not None, uint32_t[::1] shared not None):
    """Add 1 to `shared`, (n,), for each of n hashes that was counted more than once, as far as `seen` can tell."""
    hashes = aligned(hashes)
    cdef size_t n = len(hashes), at = 0, some
    cdef unsigned bits = _bits_counted(len(seen))
    cdef uint64_t last_pause = 0
    if len(shared) != n:
        raise ValueError(f"shared must have {n} values, one a hash, not {len(shared)}")
    if n:
        check_out(&shared[0], sizeof(uint32_t))
    with nogil:
        while at < n:
            some = min(n - at, <size_t>WORK)
            shared_slots_add(&hashes[at], some, bits, &seen[0], &shared[at])
            at += some
            pause(&last_pause)


@cython.auto_pickle(False)
cdef class CrowdedBuckets:
    """Counters of the bucket keys of a stream of rows, which tell the rows in buckets of many rows.

    There are 2**20 counters for all buckets together. They are halved after each 2**24 keys, so that a bucket of few rows
    does not appear as one of many in a long stream. Two threads must not use it at the same time.
    """

    cdef uint8_t[::1] counts
    cdef uint64_t left

    def __cinit__(self):
        self.counts = np.zeros(1 << CROWDED_BITS, np.uint8)
        self.left = KEYS_BEFORE_HALVING

    def crowded(self, const uint64_t[:, ::1] keys not None):
        """Count the keys of the next rows, (m, bands), and return which of them share a bucket with many: bool (m,).

        A bucket is known to have many rows from its 255th row on; earlier if its counter is that of other buckets too,
        and later if its counter was halved meanwhile.
        """
        keys = aligned_rows(keys)
        cdef size_t n = keys.shape[0], bands = keys.shape[1], at = 0, some
        cdef uint64_t last_pause = 0
        crowded_array = np.zeros(n, np.uint8)
        cdef uint8_t[::1] crowded = crowded_array
        if n and bands:
            with nogil:
                while at < n:
                    some = min(n - at, max(<size_t>1, <size_t>WORK // bands))
                    crowded_buckets_count(&keys[at, 0], bands, some, multiplier, CROWDED_BITS, &self.counts[0], &crowded[at])
                    at += some
                    self.left -= min(self.left, <uint64_t>(some * bands))
                    if self.left == 0:
                        crowded_buckets_halve(&self.counts[0], CROWDED_BITS)
                        self.left = KEYS_BEFORE_HALVING
                    pause(&last_pause)
        return crowded_array.view(np.bool_)


cdef unsigned _bits_counted(size_t nbytes) except 0:
    if nbytes == 0 or nbytes & (nbytes - 1) or nbytes > <size_t>1 << 30:
        raise ValueError(f"seen must have 2**m bytes, 0 <= m <= 30, not {nbytes}")
    return <unsigned>(<object>nbytes).bit_length() + 1


cdef _check_buckets(const int32_t[:, ::1] buckets, const int64_t[::1] counts):
    if buckets.shape[1] != len(counts):
        raise ValueError(f"one count a band is needed: {buckets.shape[1]}, not {len(counts)}")
    if not all(0 <= count < MOST_BUCKETS for count in counts):
        raise ValueError(f"counts of buckets must be in 0..{MOST_BUCKETS - 1}, not {min(counts)}..{max(counts)}")
    if buckets.shape[0] and buckets.shape[1]:
        array = np.asarray(buckets)
        if array.min() < -1 or np.any(array.max(axis=0) >= np.asarray(counts)):
            raise ValueError("numbers of buckets must be -1, or below the count of their band")


cdef _check_pairs(const uint64_t[::1] pairs, uint64_t begin, uint64_t end):
    cdef size_t i
    cdef uint64_t left, right
    for i in range(<size_t>len(pairs)):
        left, right = pairs[i] & 0xFFFFFFFF, pairs[i] >> 32
        if not begin <= left < right < end:
            raise ValueError(f"rows of pairs must ascend within {begin}..{<int64_t>end - 1}, not {left}, {right}")


cdef _check_ascending(const uint64_t[::1] pairs):
    if len(pairs) and np.any(np.asarray(pairs[1:]) <= np.asarray(pairs[:-1])):
        raise ValueError("pairs must ascend")


def find_banded_pairs(const uint64_t[::1] pairs not None, const uint64_t[:, ::1] signatures not None, size_t bands,
                      size_t rows, size_t least, bint chains):
    """Return those of all similar pairs, right << 32 | left with left < right and ascending, that a walk would find.

    The rows of the signatures are in the order of the walk. A pair counts if the slots of one of the bands are equal,
    and at least `least` slots altogether. With stars, a row is paired with its centre; with chains, the pairs are a
    spanning forest.
    """
    pairs, signatures = aligned(pairs), aligned_rows(signatures)
    cdef size_t n = signatures.shape[0], k = signatures.shape[1], count = len(pairs), at = 0, made = 0, some
    cdef uint64_t last_pause = 0
    cdef banded_pairs state
    if not bands or not rows or product_of(bands, rows) > k:
        raise ValueError(f"bands and rows must be at least 1, and their product at most {k}, not {bands} x {rows}")
    if n >= 1 << 31:
        raise ValueError(f"rows must be fewer than 2**31, not {n}")
    _check_pairs(pairs, 0, n)
    _check_ascending(pairs)
    found_array, parent_array = np.empty(count + 1, np.uint64), np.arange(n + 1, dtype=np.int32)
    cdef uint64_t[::1] found = found_array
    cdef int32_t[::1] parent = parent_array
    if count:
        state.signatures, state.k, state.bands, state.rows, state.least = &signatures[0, 0], k, bands, rows, least
        state.chains, state.slots, state.parent = chains, slots_levels[in_use[0]], &parent[0]
        with nogil:
            while at < count:
                some = min(count - at, <size_t>WORK // 256)
                made += banded_pairs_find(&state, &pairs[at], some, &found[made])
                at += some
                pause(&last_pause)
    return found_array[:made]


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
    containment : bool
        Compare rows by containment, which is exact. Then rows of chains climb, see grouping.h.
    """

    cdef grouping state
    cdef grouping_place place
    cdef object kept_alive, of_crowd, of_members, of_entries
    cdef dict held
    cdef readonly object left, right, similarity
    cdef size_t n, holds

    def __cinit__(self, const int32_t[:, ::1] buckets not None, const int64_t[::1] counts not None,
                  const uint64_t[:, ::1] signatures not None, const int64_t[::1] of not None, size_t least,
                  double threshold, bint exact, bint chains, bint containment=False):
        cdef size_t n = buckets.shape[0], bands = buckets.shape[1]
        buckets, counts, signatures, of = aligned_rows(buckets), aligned(counts), aligned_rows(signatures), aligned(of)
        _check_buckets(buckets, counts)
        if <size_t>len(of) != n or n and not are_below(&of[0], n, signatures.shape[0]):
            raise ValueError(f"of must be {n} rows below {signatures.shape[0]}, the number of signatures")
        if n >= 1 << 31 or not bands or not signatures.shape[1]:
            raise ValueError(f"rows must be fewer than 2**31, bands and slots at least 1, not {n}, {bands}, "
                             f"{signatures.shape[1]}")
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be in [0, 1], not {threshold}")
        if containment and not exact:
            raise ValueError("signatures do not tell the containment of rows: exact must be true")
        self.n, self.held = n, {}
        first_array = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        cdef const int64_t[::1] first = first_array
        total = int(first_array[-1])
        arrays = [np.full(total + 1, -1, np.int32), np.full(total + 1, -1, np.int32), np.empty((n + 1) * bands, np.int32),
                  np.empty((n + 1) * bands if chains and not containment else 1, np.int32)]
        cdef int32_t[::1] heads = arrays[0], tails = arrays[1], next = arrays[2], run = arrays[3]
        self.left, self.right, self.similarity = np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.empty(n)
        parent_array = np.full(n + 1, -1, np.int32)
        cdef int32_t[::1] left = self.left, right = self.right, parent = parent_array
        cdef double[::1] similarity = self.similarity
        self.kept_alive = [buckets, signatures, of, first_array, arrays, parent_array]
        state = &self.state
        state.tokens = <const uint64_t**>PyMem_Calloc(n + 1, sizeof(uint64_t*))
        state.counts = <size_t*>PyMem_Calloc(n + 1, sizeof(size_t))
        if not state.tokens or not state.counts:
            raise MemoryError
        state.n, state.bands, state.k, state.least = n, bands, signatures.shape[1], least
        state.rule.measure, state.rule.threshold = SETS_CONTAINMENT if containment else SETS_JACCARD, threshold
        state.exact, state.chains, state.climbs = exact, chains and not containment, chains and containment
        state.heads, state.tails, state.run, state.next = &heads[0], &tails[0], &run[0], &next[0]
        state.parent, state.first = &parent[0], &first[0]
        if n:
            state.buckets, state.signatures, state.of = &buckets[0, 0], &signatures[0, 0], &of[0]
            state.left, state.right, state.similarity = &left[0], &right[0], &similarity[0]

    def __dealloc__(self):
        PyMem_Free(self.state.tokens)
        PyMem_Free(self.state.counts)

    def hold(self, const int32_t[::1] rows not None, const int64_t[::1] offsets not None,
             const uint64_t[::1] tokens not None):
        """Hold the different tokens of these rows until `release` is called with the number that this returns."""
        cdef const int32_t[::1] given = np.array(rows, np.int32)  # a copy, which `release` relies on
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
        """Release the rows that `hold` gave this number."""
        entry = self.held[number]
        cdef const int32_t[::1] rows = entry[0]
        cdef size_t i
        for i in range(<size_t>len(rows)):
            self.state.tokens[rows[i]] = NULL
        del self.held[number]

    @property
    def longest(self):
        """The most tokens of a row that is held."""
        return max((entry[2] for entry in list(self.held.values())), default=0)

    def walk(self, size_t begin, size_t end):
        """Place rows begin..end, whose tokens are held, and no other row of whose components is left out.

        Returns how many comparisons were made. Different threads may walk different components.
        """
        cdef grouping_place place = _beginning(begin, SIZE_MAX)
        if self.state.crowd.counts != NULL:
            raise ValueError("there is a crowd: walk step by step")
        stop = self._step(&place, end)
        if stop != GROUPING_DONE:
            raise ValueError(f"row {place.needed} is not held, which rows {begin}..{end} are compared with")
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
        """Count the words of tokens; counts has 2**COUNT_BITS zeros at first."""
        if len(counts) != 1 << CROWD_COUNT_BITS:
            raise ValueError(f"counts must have {1 << CROWD_COUNT_BITS} numbers, not {len(counts)}")
        tokens = aligned(tokens)
        cdef size_t at = 0, some, n = len(tokens)
        cdef uint64_t last_pause = 0
        with nogil:
            while at < n:
                some = min(n - at, <size_t>WORK)
                crowd_count_tokens(&tokens[at], some, multiplier, &counts[0])
                at += some
                pause(&last_pause)

    def begin_crowd(self, const uint8_t[::1] counts not None, uint8_t frequent):
        """Look rows up in a crowd from here on, none of which is there yet.

        Words are frequent that were counted at least `frequent` times (1 to 255) in a sample of the rows.
        """
        if len(counts) != 1 << CROWD_COUNT_BITS:
            raise ValueError(f"counts must have {1 << CROWD_COUNT_BITS} numbers, not {len(counts)}")
        if not frequent:
            raise ValueError("frequent must be in 1..255, not 0")
        if not self.state.exact or self.state.rule.threshold == 0:
            raise ValueError("a crowd tells nothing of signatures, or of rows that need no token in common")
        self.end_crowd()
        crowd = &self.state.crowd
        bits_array, overlaps_array = np.empty(1 << CROWD_COUNT_BITS, np.uint16), np.empty(SUMS, np.uint32)
        cdef uint16_t[::1] bits = bits_array
        cdef uint32_t[::1] overlaps = overlaps_array
        cdef size_t numbered, sums = SUMS
        with nogil:
            numbered = crowd_number_frequent(&counts[0], frequent, CROWD_MOST_BITS - 1, &bits[0])
            crowd_least_overlaps(self.state.rule, sums, &overlaps[0])
        self.of_crowd = counts, bits_array, overlaps_array
        crowd.bits, crowd.frequent, crowd.multiplier, crowd.width = &bits[0], frequent, multiplier, numbered // 64 + 1
        crowd.kernels, crowd.overlaps, crowd.sums = bits_levels[in_use[0]], &overlaps[0], sums
        self.make_room()
        crowd.counts = &counts[0]

    def end_crowd(self):
        """Look rows up by their buckets from here on."""
        self.state.crowd = _no_crowd()
        self.of_crowd = self.of_members = self.of_entries = None

    def make_room(self):
        """Double the room of a crowd where there is none for the longest row that is held. An interrupt ends the crowd."""
        try:
            if self.state.crowd.count == self.state.crowd.room:
                self._make_room_for_members()
            if self.state.crowd.capacity - self.state.crowd.filled < <size_t>self.longest or not self.state.crowd.capacity:
                self._make_room_for_entries()
        except BaseException:
            self.end_crowd()
            raise

    cdef _make_room_for_members(self):
        crowd = &self.state.crowd
        cdef size_t room = max(1 << 10, 2 * crowd.room)
        arrays = [np.empty(room * sizeof(crowd_member), np.uint8), np.empty((room, crowd.width), np.uint64),
                  np.empty(room, np.int32), np.zeros(room, np.uint32)]
        for new, old in zip(arrays[:3], self.of_members or (), strict=False):
            new[:len(old)] = old
        cdef uint8_t[::1] members = arrays[0]
        cdef uint64_t[:, ::1] bitmaps = arrays[1]
        cdef int32_t[::1] dense = arrays[2]
        cdef uint32_t[::1] shared = arrays[3]
        crowd.members, crowd.bitmaps, crowd.dense = <crowd_member*>&members[0], &bitmaps[0, 0], &dense[0]
        crowd.shared, crowd.room, self.of_members = &shared[0], room, arrays

    cdef _make_room_for_entries(self):
        crowd = &self.state.crowd
        capacity = 1 << max(16, (crowd.capacity + self.longest).bit_length())
        if capacity >= 1 << 31:
            raise MemoryError(f"words of a crowd take more than 2**31 entries, at {self.place.row} rows")
        arrays = [np.empty(capacity * sizeof(crowd_entry), np.uint8),
                  np.empty(capacity if self.state.chains else 1, np.int32), np.full(capacity, -1, np.int32)]
        if self.of_entries:
            used = crowd.filled * sizeof(crowd_entry)
            arrays[0][:used] = self.of_entries[0][:used]
        cdef uint8_t[::1] entries = arrays[0]
        cdef int32_t[::1] past = arrays[1], lists = arrays[2]
        cdef size_t at = 0, some
        cdef uint64_t last_pause = 0
        crowd.entries, crowd.lists = <crowd_entry*>&entries[0], &lists[0]
        crowd.past = &past[0] if self.state.chains else NULL
        crowd.capacity, crowd.shift, self.of_entries = capacity, 33 - int(capacity).bit_length(), arrays
        with nogil:
            while at < crowd.filled:
                some = min(crowd.filled - at, <size_t>WORK)
                crowd_list(crowd, at, at + some)
                at += some
                pause(&last_pause)

    def add_to_crowd(self, size_t begin, size_t end):
        """Add those of the rows begin..end that later rows are compared with.

        The rows are placed and held, and after those of the crowd. An interrupt ends the crowd.
        """
        cdef size_t row = begin
        cdef int added = 0
        cdef _Scratch scratch = _Scratch(self)
        if not begin <= end <= self.n or self.state.crowd.counts == NULL:
            raise ValueError(f"rows must be within 0..{self.n}, and there must be a crowd, not {begin}..{end}")
        while row < end:
            if self.state.tokens[row] == NULL or self.state.parent[row] < 0:
                raise ValueError(f"row {row} is not held, or not placed yet")
            if not grouping_is_met(&self.state, row):
                row += 1
                continue
            self._check_order(row)
            try:
                with nogil:
                    added = crowd_add(&self.state, row, &scratch.scratch)
            except BaseException:
                self.end_crowd()
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

    def meeting(self, const uint64_t[::1] pairs not None):
        """Return those of the pairs, right << 32 | left with left < right, that a walk would compare."""
        pairs = aligned(pairs)
        cdef size_t n = len(pairs), at = 0, made = 0, some
        cdef uint64_t last_pause = 0
        _check_pairs(pairs, 0, self.n)
        meeting_array = np.empty(n + 1, np.uint64)
        cdef uint64_t[::1] meeting = meeting_array
        with nogil:
            while at < n:
                some = min(n - at, <size_t>WORK // 256)
                made += grouping_meeting(&self.state, slots_levels[in_use[0]], &pairs[at], some, &meeting[made])
                at += some
                pause(&last_pause)
        return meeting_array[:made]

    def place_pairs(self, size_t begin, size_t end, const uint64_t[::1] pairs not None):
        """Place rows begin..end by all similar pairs that a walk would compare, ascending.

        Returns how many of them the walk would find; their places in `left` and `right` begin at `begin`.
        """
        pairs = aligned(pairs)
        cdef size_t n = len(pairs), at = 0, made = begin, some
        cdef uint64_t last_pause = 0
        if not begin <= end <= self.n:
            raise ValueError(f"rows must be within 0..{self.n}, not {begin}..{end}")
        _check_pairs(pairs, begin, end)
        _check_ascending(pairs)
        with nogil:
            grouping_begin_again(&self.state, begin, end)
            while at < n:
                some = min(n - at, <size_t>WORK)
                made = grouping_place_pairs(&self.state, &pairs[at], some, made)
                at += some
                pause(&last_pause)
        return made - begin

    cdef int _check_order(self, size_t row) except -1:
        """Raise ValueError unless the row is after those of the crowd, where searches have room for each row once."""
        crowd = &self.state.crowd
        if crowd.count and <int64_t>row <= crowd.members[crowd.count - 1].row:
            raise ValueError(f"rows of a crowd must ascend: row {row} is not after {crowd.members[crowd.count - 1].row}")
        return 0

    cdef int _step(self, grouping_place* place, size_t end) except -1:
        cdef _Scratch scratch = _Scratch(self)
        cdef int stop = GROUPING_DONE
        if not place.row <= end <= self.n:
            raise ValueError(f"end must be in {place.row}..{self.n}, not {end}")
        if place.row < end:
            self._check_order(place.row)
        with nogil:
            stop = grouping_walk(&self.state, place, end, &scratch.scratch)
        if stop == GROUPING_PLACED:
            raise ValueError(f"row {place.row} has been placed before")
        return stop


@cython.auto_pickle(False)
cdef class RowPairs:
    """All pairs of rows that share a bucket and agree in their signatures, in ascending order, a batch at a time.

    Memory grows with the rows, not with the pairs. Arrays are not copied and must not change; `buckets` is used up. One
    thread at a time may use it.

    Parameters
    ----------
    buckets, counts, signatures, of
        As for `Grouping`; `of` rises.
    least : int
        Slots that must agree.
    """

    cdef row_pairs state
    cdef object kept_alive

    def __cinit__(self, int32_t[:, ::1] buckets not None, const int64_t[::1] counts not None,
                  const uint64_t[:, ::1] signatures not None, const int64_t[::1] of not None, size_t least):
        cdef size_t n = buckets.shape[0], bands = buckets.shape[1], band
        counts, signatures, of = aligned(counts), aligned_rows(signatures), aligned(of)
        _check_buckets(buckets, counts)
        if <size_t>len(of) != n or n and not are_below(&of[0], n, signatures.shape[0]):
            raise ValueError(f"of must be {n} rows below {signatures.shape[0]}, the number of signatures")
        if n >= 1 << 31 or not bands or not signatures.shape[1]:
            raise ValueError(f"rows must be fewer than 2**31, bands and slots at least 1, not {n}, {bands}, "
                             f"{signatures.shape[1]}")
        cursors_array = np.empty(bands, np.int32)
        cdef int32_t[::1] last, cursors = cursors_array
        state = &self.state
        state.n, state.bands, state.k, state.least, state.cursors = n, bands, signatures.shape[1], least, &cursors[0]
        self.kept_alive = [buckets, signatures, of, cursors_array]
        if n == 0:
            return
        check_out(&buckets[0, 0], sizeof(int32_t))
        for band in range(bands):
            last = np.full(counts[band] + 1, -1, np.int32)
            with nogil:
                row_pairs_link_buckets(&buckets[0, band], bands, n, &last[0])
        state.next, state.signatures, state.of = &buckets[0, 0], &signatures[0, 0], &of[0]

    @property
    def met(self):
        """How many pairs shared a bucket so far."""
        return self.state.met

    @property
    def done(self):
        """Whether there are no more pairs."""
        return self.state.row == self.state.n

    def batch(self, size_t most):
        """Return the next pairs (i, j), int64, at most so many; fewer only at the end."""
        left_array, right_array = np.empty(sum_of(most, 1), np.int64), np.empty(sum_of(most, 1), np.int64)
        cdef int64_t[::1] left = left_array, right = right_array
        cdef size_t made = 0, work = WORK // (self.state.k + self.state.bands) + 1
        cdef uint64_t last_pause = 0
        self.state.slots = slots_levels[in_use[0]]
        with nogil:
            while made < most and self.state.row < self.state.n:
                made += row_pairs_next(&self.state, &left[made], &right[made], most - made, work)
                pause(&last_pause)
        return left_array[:made], right_array[:made]


cdef crowd _no_crowd() noexcept:
    cdef crowd none
    memset(&none, 0, sizeof(none))
    return none


cdef grouping_place _beginning(size_t row, size_t crowd) noexcept:
    return [row, row, row, 0, 0, 0, 0, 0, crowd]


@cython.auto_pickle(False)
cdef class _Scratch:
    """What one walk works with, for the rows that are held."""

    cdef grouping_scratch scratch
    cdef uint64_t last_pause
    cdef object arrays

    def __cinit__(self, Grouping of):
        longest, marks = of.longest, of.n if of.state.crowd.counts != NULL else 0
        cdef uint64_t[::1] table = np.empty(sets_table_size(longest), np.uint64), words = np.empty(longest + 1, np.uint64)
        cdef uint64_t[::1] found = np.empty(marks + 1, np.uint64), bitmap = np.empty(of.state.crowd.width + 1, np.uint64)
        cdef int32_t[::1] cursors = np.empty(of.state.bands, np.int32)
        self.arrays = table, words, cursors, found, bitmap
        self.scratch.slots = slots_levels[in_use[0]]
        self.scratch.table, self.scratch.cursors = &table[0], &cursors[0]
        self.scratch.found, self.scratch.words, self.scratch.bitmap = &found[0], &words[0], &bitmap[0]
        self.scratch.pause, self.scratch.last = pause, &self.last_pause
