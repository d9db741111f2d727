"""Exact Hamming search: scans of packed codes, blocks of multi-index hashing, keepers, and rows by integer keys."""

cimport cython
from libc.stdint cimport SIZE_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import os

import numpy as np

from lshfast.kernels.trees import large_empty

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport aligned, aligned_rows, array_of, check_out, pause, product_of

cdef extern from "hamming/hamming.h":
    const size_t HAMMING_MAX_WORDS, HAMMING_MAX_BLOCKS, HAMMING_MAX_BLOCK_BITS, HAMMING_PIECE, HAMMING_SCRATCH
    const unsigned HAMMING_ROW_BITS, HAMMING_DISTANCE_BITS
    const uint64_t HAMMING_MAX_QUERIES
    const uint32_t HAMMING_NO_ROW
    struct hamming_kernels:
        void (*ones)(const uint64_t*, size_t, size_t, uint16_t*) noexcept nogil
        void (*select)(const uint64_t*, size_t, size_t, const uint64_t*, uint32_t*) noexcept nogil
    const hamming_kernels** hamming_levels
    struct hamming_hits:
        uint64_t* at
        size_t count, room
    struct hamming_best:
        uint64_t* at
        size_t count, k
        uint64_t bound
    size_t HAMMING_BEST_ROOM(size_t) nogil
    void hamming_settle_best(hamming_best*) nogil
    struct hamming_scan:
        const hamming_kernels* kernels
        const uint64_t* codes
        size_t n, words
        const uint32_t* order
        const uint8_t* live
        uint64_t first_row
        uint64_t* scratch
    struct hamming_counted:
        hamming_scan scan
        const uint16_t* counts
    struct hamming_block:
        const uint64_t* mask
        unsigned bits
        uint32_t* heads
        uint64_t* folds
        uint32_t* rows
    struct hamming_blocks:
        const uint64_t* codes
        size_t n, words, m
        hamming_block* block
    struct hamming_keepers:
        hamming_blocks blocks
        uint32_t** kept
        uint32_t** next
        uint32_t** fresh
    struct hamming_keys:
        const int64_t* keys
        uint32_t* table
        size_t mask
        uint64_t secret
    uint64_t ones_of(uint64_t) nogil
    int hamming_scan_within(const hamming_scan*, const uint64_t*, size_t, unsigned, uint64_t, size_t*,
                            hamming_hits*) nogil
    void hamming_scan_nearest(const hamming_scan*, const uint64_t*, size_t, hamming_best*) nogil
    int hamming_similar_within(const hamming_counted*, const uint64_t*, const uint16_t*, size_t, double, uint64_t,
                               size_t*, hamming_hits*) nogil
    int hamming_similar_nearest(const hamming_counted*, const uint64_t*, const uint16_t*, size_t, size_t, size_t*,
                                hamming_best*) nogil
    void hamming_similarities(const uint64_t*, const uint64_t*, size_t, const uint64_t*, size_t, double*) nogil
    void hamming_count(const hamming_kernels*, const hamming_blocks*, size_t, size_t, size_t) nogil
    void hamming_sum_heads(const hamming_block*) nogil
    void hamming_place(const hamming_kernels*, const hamming_blocks*, size_t, size_t, size_t) nogil
    int hamming_within(const hamming_kernels*, const hamming_blocks*, const uint64_t*, size_t, unsigned,
                       const uint8_t*, const uint8_t*, uint64_t, uint64_t, uint64_t*, size_t*, hamming_hits*,
                       size_t*) nogil
    void hamming_nearest(const hamming_kernels*, const hamming_blocks*, const uint64_t*, size_t, const uint8_t*,
                         uint64_t, uint64_t*, hamming_best*, size_t*) nogil
    int hamming_pairs(const hamming_kernels*, const hamming_blocks*, size_t, size_t*, size_t, unsigned, const uint8_t*,
                      size_t, hamming_hits*) nogil
    void hamming_distances(const uint64_t*, size_t, const uint64_t*, size_t, uint16_t*) nogil
    int hamming_match_kept(const hamming_kernels*, hamming_keepers*, size_t, size_t, size_t, unsigned, const uint8_t*,
                           size_t, size_t, uint32_t*) nogil
    void hamming_settle(const hamming_kernels*, hamming_keepers*, unsigned, const uint8_t*, size_t, size_t,
                        uint32_t*) nogil
    void hamming_copies(const uint64_t*, size_t, uint64_t, uint32_t*, size_t, size_t, size_t, uint32_t*) nogil
    void hamming_find_keys(const hamming_keys*, const int64_t*, size_t, int64_t*) nogil
    size_t hamming_add_keys(const hamming_keys*, const uint32_t*, size_t) nogil
    size_t hamming_drop_keys(const hamming_keys*, const uint32_t*, size_t) nogil

cdef const int* in_use = level_in_use()

# Words of a code, rows of one search, and what a hit consists of.
MAX_WORDS = HAMMING_MAX_WORDS
MAX_BLOCKS = HAMMING_MAX_BLOCKS
MAX_BLOCK_BITS = HAMMING_MAX_BLOCK_BITS
MAX_ROWS = HAMMING_NO_ROW
MAX_QUERIES = HAMMING_MAX_QUERIES
NO_ROW = HAMMING_NO_ROW
ROW_BITS = HAMMING_ROW_BITS
DISTANCE_BITS = HAMMING_DISTANCE_BITS

cdef enum:
    STEP_CODES = 1 << 20  # codes of a building step between two calls of pause()
    STEP_WORDS = 1 << 25  # words that a scan compares between them
    STEP_QUERIES = 64  # queries of blocks between them
    FIRST_HITS = 1 << 10  # hits that there is room for at first


cdef inline const hamming_kernels* kernels() noexcept nogil:
    return hamming_levels[in_use[0]]


cdef int _check_codes(size_t n, size_t words, str name) except -1:
    if not 1 <= words <= HAMMING_MAX_WORDS:
        raise ValueError(f"{name} must have 1..{HAMMING_MAX_WORDS} words, not {words}")
    if n >= <size_t>HAMMING_NO_ROW:
        raise OverflowError(f"{name} can be at most {HAMMING_NO_ROW - 1} rows, not {n}")
    return 0


cdef int _check_queries(size_t m, size_t words, size_t wanted, long radius, size_t first_row, size_t n) except -1:
    if words != wanted:
        raise ValueError(f"queries must have {wanted} words, not {words}")
    if m > HAMMING_MAX_QUERIES:
        raise ValueError(f"at most {HAMMING_MAX_QUERIES} queries at a time, not {m}")
    if not 0 <= radius <= <long>(64 * wanted):
        raise ValueError(f"radius must be in 0..{64 * wanted}, not {radius}")
    if n >= <size_t>HAMMING_NO_ROW or first_row >= <size_t>HAMMING_NO_ROW - n:
        raise OverflowError(f"rows must be below {HAMMING_NO_ROW}, not {n} from {first_row} on")
    return 0


cdef const uint8_t* _live(const uint8_t[::1] live, size_t n) except? NULL:
    if live is None:
        return NULL
    if <size_t>len(live) != n:
        raise ValueError(f"live must have {n} elements, not {len(live)}")
    return &live[0] if n else NULL


@cython.auto_pickle(False)
cdef class _Hits:
    """Words that are appended, in an array that grows."""
    cdef uint64_t[::1] array
    cdef hamming_hits hits

    def __cinit__(self):
        self.array = np.empty(FIRST_HITS, np.uint64)
        self.hits = hamming_hits(&self.array[0], 0, FIRST_HITS)

    cdef int grow(self) except -1 nogil:
        with gil:
            larger = np.empty(product_of(self.hits.room, 2), np.uint64)
            larger[:self.hits.count] = np.asarray(self.array)[:self.hits.count]
            self.array = larger
            self.hits.at, self.hits.room = &self.array[0], len(self.array)
        return 0

    cdef taken(self):
        """Return the words in an array of their own."""
        return array_of(self.array)[:self.hits.count].copy()


# ---- kernels ----


cdef unsigned _ones(const uint64_t[::1] mask) noexcept:
    cdef uint64_t ones = 0
    cdef Py_ssize_t w
    for w in range(mask.shape[0]):
        ones += ones_of(mask[w])
    return <unsigned>ones


def select(const uint64_t[:, ::1] codes not None, const uint64_t[::1] mask not None):
    """Return the bits of codes, (n, words), at the positions of a mask of at most MAX_BLOCK_BITS ones: uint32 (n,)."""
    codes, mask = aligned_rows(codes), aligned(mask)
    cdef size_t n = codes.shape[0], words = codes.shape[1]
    _check_codes(n, words, "codes")
    _check_mask(mask, words)
    out = np.empty(n, np.uint32)
    cdef uint32_t[::1] values = out
    cdef const hamming_kernels* level = kernels()
    if n:
        with nogil:
            level.select(&codes[0, 0], n, words, &mask[0], &values[0])
    return out


cdef int _check_mask(const uint64_t[::1] mask, size_t words) except -1:
    if <size_t>mask.shape[0] != words:
        raise ValueError(f"a mask must have {words} words, not {mask.shape[0]}")
    if _ones(mask) > HAMMING_MAX_BLOCK_BITS:
        raise ValueError(f"a block can have at most {HAMMING_MAX_BLOCK_BITS} bits, not {_ones(mask)}")
    return 0


def distances(const uint64_t[:, ::1] codes not None, const uint64_t[::1] pairs not None):
    """Return the distance of each pair, row << 32 | row, of codes (n, words): uint16."""
    codes, pairs = aligned_rows(codes), aligned(pairs)
    cdef size_t n = codes.shape[0], words = codes.shape[1], count = pairs.shape[0], i, some
    cdef uint64_t last_pause = 0
    _check_codes(n, words, "codes")
    out = np.empty(count, np.uint16)
    cdef uint16_t[::1] found = out
    for i in range(count):
        if pairs[i] >> 32 >= n or (pairs[i] & 0xFFFFFFFF) >= n:
            raise ValueError(f"rows must be below {n}, not {pairs[i] >> 32} and {pairs[i] & 0xFFFFFFFF}")
    i = 0
    with nogil:
        while i < count:
            some = min(count - i, <size_t>STEP_CODES)
            hamming_distances(&codes[0, 0], words, &pairs[i], some, &found[i])
            i += some
            pause(&last_pause)
    return out


def ones(const uint64_t[:, ::1] codes not None):
    """Return the number of ones of each code, (n, words): uint16 (n,)."""
    codes = aligned_rows(codes)
    cdef size_t n = codes.shape[0], words = codes.shape[1], at = 0, some
    cdef uint64_t last_pause = 0
    _check_codes(n, words, "codes")
    out = np.empty(n, np.uint16)
    cdef uint16_t[::1] counts = out
    cdef const hamming_kernels* level = kernels()
    with nogil:
        while at < n:
            some = min(n - at, <size_t>STEP_CODES)
            level.ones(&codes[at, 0], some, words, &counts[at])
            at += some
            pause(&last_pause)
    return out


def similarities(const uint64_t[:, ::1] codes not None, const uint64_t[:, ::1] queries not None,
                 const uint64_t[::1] pairs not None):
    """Return the Tanimoto similarity of each pair, query << 32 | code: float64; 0 for two codes without ones."""
    codes, queries, pairs = aligned_rows(codes), aligned_rows(queries), aligned(pairs)
    cdef size_t n = codes.shape[0], words = codes.shape[1], m = queries.shape[0], count = pairs.shape[0], i, some
    cdef uint64_t last_pause = 0
    _check_codes(n, words, "codes")
    _check_codes(m, queries.shape[1], "queries")
    _check_queries(0, queries.shape[1], words, 0, 0, 0)
    out = np.empty(count, np.float64)
    cdef double[::1] found = out
    for i in range(count):
        if pairs[i] >> 32 >= m or (pairs[i] & 0xFFFFFFFF) >= n:
            raise ValueError(f"rows must be below {m} and {n}, not {pairs[i] >> 32} and {pairs[i] & 0xFFFFFFFF}")
    i = 0
    with nogil:
        while i < count:
            some = min(count - i, <size_t>STEP_CODES)
            hamming_similarities(&codes[0, 0], &queries[0, 0], words, &pairs[i], some, &found[i])
            i += some
            pause(&last_pause)
    return out


# ---- scan ----


def scan_within(const uint64_t[:, ::1] codes not None, const uint64_t[:, ::1] queries not None, long radius,
                const uint8_t[::1] live=None, uint64_t first_row=0):
    """Return the hits of the queries, (m, words), among codes, (n, words), which are rows from first_row on: uint64."""
    codes, queries = aligned_rows(codes), aligned_rows(queries)
    cdef size_t n = codes.shape[0], words = codes.shape[1], m = queries.shape[0], at = 0, done
    cdef _Hits found = _Hits()
    cdef uint64_t[::1] scratch = np.empty(HAMMING_SCRATCH, np.uint64)
    cdef hamming_scan scan = hamming_scan(kernels(), NULL, 0, words, NULL, NULL, first_row, &scratch[0])
    cdef const uint8_t* alive = _live(live, n)
    cdef uint64_t last_pause = 0
    _check_codes(n, words, "codes")
    _check_queries(m, queries.shape[1], words, radius, first_row, n)
    cdef size_t step = _scan_step(m, words)
    with nogil:
        while m and at < n:
            scan.codes, scan.n, scan.first_row = &codes[at, 0], min(n - at, step), first_row + at
            scan.live = alive + at if alive else NULL
            done = 0
            while not hamming_scan_within(&scan, &queries[0, 0], m, <unsigned>radius, 0, &done, &found.hits):
                found.grow()
            at += scan.n
            pause(&last_pause)
    return found.taken()


cdef size_t _scan_step(size_t m, size_t words) noexcept:
    """Return the codes that are scanned between two calls of pause()."""
    return max(<size_t>HAMMING_PIECE, STEP_WORDS // (max(m, <size_t>1) * words))


@cython.auto_pickle(False)
cdef class Counted:
    """Codes with their numbers of ones, for search by Tanimoto similarity.

    Parameters
    ----------
    codes : ndarray of uint64, shape (n, words)
        Referenced in place; do not write to it.
    ordered : bool
        Whether to order the codes by these numbers. Then a search reads only codes with a number near its own.
    """
    cdef hamming_counted c
    cdef const uint64_t[:, ::1] codes
    cdef const uint16_t[::1] counts  # by place
    cdef const uint32_t[::1] order

    def __cinit__(self, const uint64_t[:, ::1] codes not None, bint ordered):
        self.codes, self.order = aligned_rows(codes), None
        self.c.scan.n, self.c.scan.words = codes.shape[0], codes.shape[1]
        counts = ones(self.codes)
        if ordered:
            order = np.argsort(counts, kind="stable")
            counts, self.order = counts[order], order.astype(np.uint32)
        self.counts = counts
        if self.c.scan.n:
            self.c.scan.codes, self.c.counts = &self.codes[0, 0], &self.counts[0]
            self.c.scan.order = &self.order[0] if ordered else NULL

    def __len__(self):
        return self.c.scan.n

    @property
    def ones(self):
        """The numbers of ones in the order of a search: uint16 (n,); they ascend if the codes are ordered."""
        return array_of(self.counts)

    @property
    def nbytes(self):
        """Bytes of all arrays without the codes."""
        return self.counts.nbytes + (self.order.nbytes if self.order is not None else 0)

    def move(self, const uint64_t[:, ::1] codes not None):
        """Refer to a copy of the codes from now on; nobody else may search them meanwhile."""
        codes = aligned_rows(codes)
        if codes.shape[0] != self.codes.shape[0] or codes.shape[1] != self.codes.shape[1]:
            raise ValueError("the codes have another shape")
        self.codes = codes
        self.c.scan.codes = &self.codes[0, 0] if self.c.scan.n else NULL

    cdef hamming_counted ready(self, size_t m, size_t words, uint64_t first_row, const uint8_t* live,
                               uint64_t[::1] scratch) except *:
        """Return the codes for a search of m queries."""
        cdef hamming_counted c = self.c
        _check_queries(m, words, c.scan.words, 0, first_row, c.scan.n)
        c.scan.kernels, c.scan.live, c.scan.first_row, c.scan.scratch = kernels(), live, first_row, &scratch[0]
        return c

    def within(self, const uint64_t[:, ::1] queries not None, double least, const uint8_t[::1] live=None,
               uint64_t first_row=0):
        """Return the hits, as `scan_within` does, with a similarity of at least `least`, which is above 0."""
        queries = aligned_rows(queries)
        cdef size_t m = queries.shape[0], at = 0, done, n = self.c.scan.n
        cdef const uint16_t[::1] counts = ones(queries)
        cdef uint64_t[::1] scratch = np.empty(HAMMING_SCRATCH, np.uint64)
        cdef hamming_counted c = self.ready(m, queries.shape[1], first_row, _live(live, n), scratch)
        cdef size_t step = _scan_step(m, c.scan.words)
        cdef _Hits found = _Hits()
        cdef uint64_t last_pause = 0
        if not 0 < least <= 1:
            raise ValueError(f"least must be above 0 and at most 1, not {least}")
        with nogil:
            while m and at < n:
                c.scan.n, c.counts = min(n - at, step), self.c.counts + at
                if c.scan.order:
                    c.scan.order = self.c.scan.order + at
                else:
                    c.scan.codes, c.scan.first_row = self.c.scan.codes + at * c.scan.words, first_row + at
                done = 0
                while not hamming_similar_within(&c, &queries[0, 0], &counts[0], m, least, 0, &done, &found.hits):
                    found.grow()
                at += c.scan.n
                pause(&last_pause)
        return found.taken()


@cython.auto_pickle(False)
cdef class Best:
    """The k nearest rows of each of m queries, of all that are offered.

    Of rows at the same distance, or with the same similarity, the least are kept.
    """
    cdef uint64_t[:, ::1] found
    cdef hamming_best* best
    cdef readonly size_t m, k

    def __cinit__(self, size_t m, size_t k):
        if k < 1 or m > HAMMING_MAX_QUERIES:
            raise ValueError(f"k must be at least 1 and m at most {HAMMING_MAX_QUERIES}, not {k} and {m}")
        product_of(m, product_of(k, 66))  # at least m * HAMMING_BEST_ROOM(k)
        self.m, self.k = m, k
        self.found = np.empty((m, HAMMING_BEST_ROOM(k)), np.uint64)
        self.best = <hamming_best*>malloc((m + 1) * sizeof(hamming_best))
        if not self.best:
            raise MemoryError
        cdef size_t j
        for j in range(m):
            self.best[j] = hamming_best(&self.found[j, 0], 0, k, <uint64_t>-1)

    def __dealloc__(self):
        free(self.best)

    def scan(self, const uint64_t[:, ::1] codes not None, const uint64_t[:, ::1] queries not None,
             const uint8_t[::1] live=None, uint64_t first_row=0):
        """Offer codes, (n, words), to queries, (m, words); rows that were offered before must be less."""
        codes, queries = aligned_rows(codes), aligned_rows(queries)
        cdef size_t n = codes.shape[0], words = codes.shape[1], m = queries.shape[0], at = 0
        cdef uint64_t[::1] scratch = np.empty(HAMMING_SCRATCH, np.uint64)
        cdef hamming_scan scan = hamming_scan(kernels(), NULL, 0, words, NULL, NULL, first_row, &scratch[0])
        cdef const uint8_t* alive = _live(live, n)
        cdef uint64_t last_pause = 0
        _check_codes(n, words, "codes")
        _check_queries(m, queries.shape[1], words, 0, first_row, n)
        self._check(m)
        cdef size_t step = _scan_step(m, words)
        with nogil:
            while m and at < n:
                scan.codes, scan.n, scan.first_row = &codes[at, 0], min(n - at, step), first_row + at
                scan.live = alive + at if alive else NULL
                hamming_scan_nearest(&scan, &queries[0, 0], m, self.best)
                at += scan.n
                pause(&last_pause)

    def search(self, Blocks blocks not None, const uint64_t[:, ::1] queries not None, const uint8_t[::1] live=None,
               uint64_t first_row=0):
        """Offer the codes of blocks, as `scan` does; return the number of queries that scanned the codes."""
        queries = aligned_rows(queries)
        cdef size_t m = queries.shape[0], j = 0, some, scanned = 0
        cdef uint64_t[::1] scratch = np.empty(HAMMING_SCRATCH, np.uint64)
        cdef const uint8_t* alive = _live(live, blocks.c.n)
        cdef const hamming_kernels* level = kernels()
        cdef uint64_t last_pause = 0
        blocks.check_filled()
        _check_queries(m, queries.shape[1], blocks.c.words, 0, first_row, blocks.c.n)
        self._check(m)
        with nogil:
            while j < m:
                some = min(m - j, <size_t>STEP_QUERIES)
                hamming_nearest(level, &blocks.c, &queries[j, 0], some, alive, first_row, &scratch[0],
                                self.best + j, &scanned)
                j += some
                pause(&last_pause)
        return scanned

    def similar(self, Counted codes not None, const uint64_t[:, ::1] queries not None, const uint8_t[::1] live=None,
                uint64_t first_row=0):
        """Offer codes to queries, (m, words), by Tanimoto similarity; in any order.

        Instead of a distance, a hit has 2**31 - floor(2**31 * similarity), in 32 bits, and no number of a query.
        """
        queries = aligned_rows(queries)
        cdef size_t m = queries.shape[0], done = 0, place, n = codes.c.scan.n
        cdef const uint16_t[::1] counts = ones(queries)
        cdef uint64_t[::1] scratch = np.empty(HAMMING_SCRATCH, np.uint64)
        cdef hamming_counted c = codes.ready(m, queries.shape[1], first_row, _live(live, n), scratch)
        cdef uint64_t last_pause = 0
        cdef int over = not (m and n)
        self._check(m)
        if over:
            return
        place = min(np.searchsorted(codes.counts, np.median(counts)), n - 1) if codes.order is not None else 0
        with nogil:
            while not over:
                over = hamming_similar_nearest(&c, &queries[0, 0], &counts[0], m, place, &done, self.best)
                pause(&last_pause)

    cdef int _check(self, size_t m) except -1:
        if m != self.m:
            raise ValueError(f"there must be {self.m} queries, not {m}")
        return 0

    def hits(self):
        """Return (counts, int64 (m,); the hits of all queries, concatenated and ascending for each: uint64)."""
        cdef size_t j
        counts = np.empty(self.m, np.int64)
        cdef int64_t[::1] sizes = counts
        with nogil:
            for j in range(self.m):
                hamming_settle_best(self.best + j)
                sizes[j] = <int64_t>self.best[j].count
        found = array_of(self.found)[:, : self.k]
        unused = np.arange(self.k, dtype=np.int64) >= counts[:, None]
        found = np.sort(np.where(unused, np.uint64(2**64 - 1), found), axis=1)
        return counts, found[~unused]


# ---- blocks ----


@cython.auto_pickle(False)
cdef class Blocks:
    """Codes in the order of each of m blocks, for multi-index hashing.

    Parameters
    ----------
    codes : ndarray of uint64, shape (n, words)
        Referenced in place; do not write to it.
    masks : ndarray of uint64, shape (m, words)
        The bits of each block; no bit may be in two of them.

    Notes
    -----
    Call `fill` for a block before it is used; several threads may fill different blocks.
    """
    cdef hamming_blocks c
    cdef const uint64_t[:, ::1] codes, masks
    cdef list arrays  # (heads, folds, rows) of each block; None if it is not filled
    cdef set filling  # blocks that are being filled
    cdef bint consumed

    def __cinit__(self, const uint64_t[:, ::1] codes not None, const uint64_t[:, ::1] masks not None):
        self.codes, self.masks = aligned_rows(codes), aligned_rows(masks)
        cdef size_t n = codes.shape[0], words = codes.shape[1], m = masks.shape[0], i
        _check_codes(n, words, "codes")
        if not 1 <= m <= HAMMING_MAX_BLOCKS:
            raise ValueError(f"there must be 1..{HAMMING_MAX_BLOCKS} blocks, not {m}")
        self.c.codes = &self.codes[0, 0] if n else NULL
        self.c.n, self.c.words, self.c.m = n, words, m
        self.arrays, self.filling = [None] * m, set()
        for i in range(m):
            _check_mask(self.masks[i], words)
            self.c.block[i].mask = &self.masks[i, 0]
            self.c.block[i].bits = _ones(self.masks[i])
        taken = np.zeros(words, np.uint64)
        for mask in array_of(self.masks):
            if (taken & mask).any():
                raise ValueError("a bit is in two blocks")
            taken |= mask

    def __len__(self):
        return self.c.n

    def move(self, const uint64_t[:, ::1] codes not None):
        """Refer to a copy of the codes from now on; nobody else may use the blocks meanwhile."""
        codes = aligned_rows(codes)
        if codes.shape[0] != self.codes.shape[0] or codes.shape[1] != self.codes.shape[1]:
            raise ValueError("the codes have another shape")
        if self.consumed:
            raise RuntimeError("keepers have taken the blocks, and read the codes where they are")
        self.codes = codes
        self.c.codes = &self.codes[0, 0] if self.c.n else NULL

    @property
    def m(self):
        """The number of blocks."""
        return self.c.m

    @property
    def nbytes(self):
        """Bytes of all arrays without the codes."""
        return sum(array.nbytes for arrays in self.arrays if arrays is not None for array in arrays)

    def fill(self, size_t i):
        """Sort the codes by block i."""
        if i >= self.c.m or self.arrays[i] is not None or i in self.filling:
            raise ValueError(f"block {i} is filled already, or not below {self.c.m}")
        self.filling.add(i)
        try:
            self.arrays[i] = self._filled(i)
        finally:
            self.filling.remove(i)

    cdef tuple _filled(self, size_t i):
        """Return the arrays of block i, which is empty."""
        cdef const hamming_kernels* level = kernels()
        cdef uint64_t last_pause = 0
        cdef size_t at = 0, n = self.c.n
        cdef uint32_t[::1] heads, rows
        cdef uint64_t[::1] folds
        arrays = (np.zeros((1 << self.c.block[i].bits) + 2, np.uint32), large_empty((n,), np.uint64),
                  large_empty((n,), np.uint32))
        heads, folds, rows = arrays
        self.c.block[i].heads = &heads[0]
        self.c.block[i].folds = &folds[0] if n else NULL
        self.c.block[i].rows = &rows[0] if n else NULL
        with nogil:
            while at < self.c.n:
                hamming_count(level, &self.c, i, at, min(at + STEP_CODES, self.c.n))
                at += STEP_CODES
                pause(&last_pause)
            hamming_sum_heads(&self.c.block[i])
            at = 0
            while at < self.c.n:
                hamming_place(level, &self.c, i, at, min(at + STEP_CODES, self.c.n))
                at += STEP_CODES
                pause(&last_pause)
        return arrays

    def release(self, size_t i):
        """Release the memory of block i, which can be filled again; nobody else may use this block meanwhile."""
        self.check_block(i)
        self.arrays[i] = None

    cdef int check_filled(self) except -1:
        if self.consumed or any(arrays is None for arrays in self.arrays):
            raise RuntimeError("a block is not filled, or keepers have taken the blocks")
        return 0

    cdef int check_block(self, size_t i) except -1:
        if i >= self.c.m or self.consumed or self.arrays[i] is None:
            raise ValueError(f"block {i} is not filled, or not below {self.c.m}")
        return 0

    cdef const uint8_t* levels_of(self, const uint8_t[::1] levels) except NULL:
        if <size_t>len(levels) != self.c.m:
            raise ValueError(f"levels must have {self.c.m} elements, one for each block, not {len(levels)}")
        return &levels[0]

    def sizes(self, size_t i):
        """Return the number of codes in each bucket of block i: uint32."""
        self.check_block(i)
        return np.diff(self.arrays[i][0][:-1])

    def bucket(self, size_t i, size_t value):
        """Return the rows of a bucket: uint32, ascending."""
        self.check_block(i)
        heads, _, rows = self.arrays[i]
        if value + 2 >= <size_t>len(heads):
            raise ValueError(f"value must be below {len(heads) - 2}, not {value}")
        return rows[heads[value]:heads[value + 1]].copy()

    def within(self, const uint64_t[:, ::1] queries not None, long radius, const uint8_t[::1] levels not None,
               const uint8_t[::1] live=None, uint64_t first_row=0):
        """Return (hits, as `scan_within` does; the number of queries that scanned all codes)."""
        queries = aligned_rows(queries)
        cdef size_t m = queries.shape[0], done = 0, end, scanned = 0
        cdef uint64_t[::1] scratch = np.empty(HAMMING_SCRATCH, np.uint64)
        cdef const uint8_t* alive = _live(live, self.c.n)
        cdef const uint8_t* level_of = self.levels_of(levels)
        cdef _Hits found = _Hits()
        cdef const hamming_kernels* level = kernels()
        cdef uint64_t last_pause = 0
        self.check_filled()
        _check_queries(m, queries.shape[1], self.c.words, radius, first_row, self.c.n)
        with nogil:
            while done < m:
                end = min(m, done + STEP_QUERIES)
                while not hamming_within(level, &self.c, &queries[0, 0], end, <unsigned>radius, level_of, alive,
                                         first_row, 0, &scratch[0], &done, &found.hits, &scanned):
                    found.grow()
                pause(&last_pause)
        return found.taken(), scanned

    def pairs(self, size_t i, size_t value, size_t end, long radius, const uint8_t[::1] levels not None, size_t crowd):
        """Return the pairs of block i, row << 32 | row, whose lesser values are in value..end - 1: uint64.

        A pair is within the radius, differs in less than levels[i] bits of this block, and has not so few different
        bits in an earlier one. Two buckets with more than `crowd` codes together are left out.
        """
        cdef const uint8_t* level_of = self.levels_of(levels)
        cdef _Hits found = _Hits()
        cdef const hamming_kernels* level = kernels()
        cdef uint64_t last_pause = 0
        cdef int state = -1
        self.check_block(i)
        _check_queries(0, self.c.words, self.c.words, radius, 0, 0)
        if end > <size_t>1 << self.c.block[i].bits:
            raise ValueError(f"values must be below {1 << self.c.block[i].bits}, not {end}")
        with nogil:
            while value < end and state != 1:
                state = hamming_pairs(level, &self.c, i, &value, end, <unsigned>radius, level_of, crowd, &found.hits)
                if state == 0:
                    found.grow()
                pause(&last_pause)
        return found.taken()


@cython.auto_pickle(False)
cdef class Keepers:
    """The greedy choice of keepers among the codes of blocks, which nobody else may use afterwards.

    Parameters
    ----------
    blocks : Blocks
        Filled.
    radius : int
    levels : ndarray of uint8, shape (m,)
    """
    cdef Blocks blocks
    cdef hamming_keepers c
    cdef const uint8_t[::1] levels
    cdef list arrays
    cdef unsigned radius
    cdef size_t decided  # rows before it are settled; SIZE_MAX while rows are, and after an interrupt of that
    cdef size_t matched  # the end of the rows that are matched, and settled next

    def __cinit__(self, Blocks blocks not None, long radius, const uint8_t[::1] levels not None):
        cdef uint32_t[::1] kept, following, fresh
        cdef size_t i
        blocks.check_filled()
        blocks.levels_of(levels)
        _check_queries(0, blocks.c.words, blocks.c.words, radius, 0, 0)
        self.blocks, self.radius, self.levels, self.arrays = blocks, <unsigned>radius, levels.copy(), []
        self.c.blocks = blocks.c
        for i in range(blocks.c.m):
            heads = blocks.arrays[i][0]
            arrays = np.zeros(len(heads) - 2, np.uint32), heads[:-2].copy(), np.zeros(len(heads) - 2, np.uint32)
            self.arrays.append(arrays)
            kept, following, fresh = arrays
            self.c.kept[i] = &kept[0]
            self.c.next[i] = &following[0]
            self.c.fresh[i] = &fresh[0]
        blocks.consumed = True

    def match(self, size_t i, size_t value, size_t end, size_t low, size_t high, uint32_t[::1] keeper_of not None):
        """Lower keeper_of, (high - low,), to the keepers before `low` of the rows low..high - 1 with these values.

        Call it for all values of all blocks, then `settle`. Threads may do different values with arrays of their own
        for each block. `low` is the first row that is not settled, and `high` is the same for all of them.
        """
        cdef const hamming_kernels* level = kernels()
        cdef uint64_t last_pause = 0
        cdef int complete = 1
        self._check(low, high, keeper_of)
        if i >= self.c.blocks.m or end > <size_t>1 << self.c.blocks.block[i].bits:
            raise ValueError(f"block {i} has no values up to {end}")
        if low == high:
            return
        self.matched = high
        with nogil:
            while value < end and complete:
                complete = hamming_match_kept(level, &self.c, i, value, min(value + STEP_QUERIES, end), self.radius,
                                              &self.levels[0], low, high, &keeper_of[0])
                value += STEP_QUERIES
                pause(&last_pause)
        if not complete:
            raise ValueError(f"rows before {low} were settled, and not matched with all values of block {i}")

    def settle(self, size_t low, size_t high, uint32_t[::1] keeper_of not None):
        """Decide the rows low..high - 1, given their keepers before them; kept rows become their own keepers."""
        cdef const hamming_kernels* level = kernels()
        cdef uint64_t last_pause = 0
        cdef size_t at = low
        self._check(low, high, keeper_of)
        if low == high:
            return
        if self.matched != high:
            raise ValueError(f"rows {low} to {high} must be matched before they are settled")
        self.decided = SIZE_MAX
        for kept, _, fresh in self.arrays:
            fresh[:] = kept
        with nogil:
            while at < high:
                hamming_settle(level, &self.c, self.radius, &self.levels[0], at, min(at + STEP_QUERIES, high),
                               &keeper_of[at - low])
                at += STEP_QUERIES
                pause(&last_pause)
        self.decided = high

    cdef int _check(self, size_t low, size_t high, uint32_t[::1] keeper_of) except -1:
        if self.decided == SIZE_MAX:
            raise RuntimeError("rows are being settled, or an interrupt ended that: make new keepers")
        if low != self.decided or not low <= high <= self.c.blocks.n or <size_t>len(keeper_of) != high - low:
            raise ValueError(f"rows must be from {self.decided} to at most {self.c.blocks.n}, not {low} to {high}")
        if self.matched > low and high != self.matched:
            raise ValueError(f"rows must be to {self.matched}, to which others were matched, not {high}")
        if low < high:
            check_out(&keeper_of[0], sizeof(uint32_t))
        return 0


# ---- equal codes ----


def copies(const uint64_t[:, ::1] codes not None):
    """Return the first row with the same code, of each row of codes (n, words): uint32 (n,)."""
    codes = aligned_rows(codes)
    cdef size_t n = codes.shape[0], words = codes.shape[1], at = 0
    _check_codes(n, words, "codes")
    out, cells = np.empty(n, np.uint32), np.full(_table_size(n), NO_ROW, np.uint32)
    cdef uint32_t[::1] first = out, table = cells
    cdef size_t mask = len(cells) - 1
    cdef uint64_t last_pause = 0, secret = _secret
    with nogil:
        while at < n:
            hamming_copies(&codes[0, 0], words, secret, &table[0], mask, at, min(at + STEP_CODES, n), &first[0])
            at += STEP_CODES
            pause(&last_pause)
    return out


cdef uint64_t _secret = int.from_bytes(os.urandom(8), "little")  # so that nobody can choose keys that collide


cdef size_t _table_size(size_t n) except 0:
    """Return a power of two, at least 3 n / 2 and above n."""
    cdef size_t size = 16
    while size < product_of(n, 3) // 2 + 1:
        size *= 2
    return size


# ---- keys ----


@cython.auto_pickle(False)
cdef class IntKeys:
    """Rows by int64 keys, with the methods of `lshfast.kernels.keys.KeyTable`, in about 17 bytes per row.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.kernels.hamming import IntKeys
    >>> keys, live = IntKeys(), np.zeros(4, np.uint8)
    >>> keys.put(np.array([7, 5]), np.array([0, 1]), np.array([-1, -1]), live)
    >>> keys.find(np.array([5, 6])).tolist(), live.tolist()
    ([1, -1], [1, 1, 0, 0])
    """
    cdef int64_t[::1] keys  # of each row
    cdef uint8_t[::1] keyed  # of each row: whether it has a key
    cdef uint32_t[::1] table
    cdef size_t count

    def __cinit__(self):
        self.keys = np.zeros(16, np.int64)
        self.keyed = np.zeros(16, np.uint8)
        self.table = np.full(16, NO_ROW, np.uint32)

    def __len__(self):
        return self.count

    @property
    def nbytes(self):
        """Bytes of the keys and the table."""
        return self.keys.nbytes + self.keyed.nbytes + self.table.nbytes

    cdef hamming_keys c(self) noexcept:
        return hamming_keys(&self.keys[0], &self.table[0], len(self.table) - 1, _secret)

    def find(self, const int64_t[::1] keys not None):
        """Return the row of each key, -1 where it has none: int64 (n,)."""
        keys = aligned(keys)
        out = np.empty(len(keys), np.int64)
        cdef int64_t[::1] rows = out
        cdef hamming_keys c = self.c()
        if len(keys):
            with nogil:
                hamming_find_keys(&c, &keys[0], keys.shape[0], &rows[0])
        return out

    def put(self, const int64_t[::1] keys not None, const int64_t[::1] rows not None, const int64_t[::1] known not None,
            uint8_t[::1] live not None):
        """Give different keys new rows, which must be free: all of them or none.

        `known` are the rows that they have, -1 for none; `live` becomes 0 at these and 1 at the new ones.
        """
        keys, rows, known = aligned(keys), aligned(rows), aligned(known)
        cdef size_t i, n = len(keys), added, old
        if <size_t>len(rows) != n or <size_t>len(known) != n:
            raise ValueError(f"there must be a row for each key, not {len(rows)} for {n}")
        if <size_t>len(live) >= <size_t>HAMMING_NO_ROW:
            raise OverflowError(f"there can be at most {HAMMING_NO_ROW - 1} rows, not {len(live)}")
        for i in range(n):
            if not 0 <= rows[i] < len(live) or known[i] >= min(len(live), len(self.keys)):
                raise ValueError(f"rows must be below {len(live)}")
            if rows[i] < len(self.keys) and self.keyed[rows[i]] or known[i] >= 0 and not self.keyed[known[i]]:
                raise ValueError(f"row {rows[i]} must be free, and row {known[i]} must have a key")
        if n == 0:
            return
        replaced_rows = np.asarray(known)[np.asarray(known) >= 0]
        if len(np.unique(replaced_rows)) != len(replaced_rows):
            raise ValueError("a known row is there twice")
        self._reserve(len(live), self.count + n)
        new_array = np.array(rows, np.uint32)
        old_array = np.array(replaced_rows, np.uint32)
        cdef uint32_t[::1] new = new_array, replaced = old_array
        cdef hamming_keys c = self.c()
        old = len(replaced)
        for i in range(n):
            self.keys[rows[i]] = keys[i]
        if old:
            hamming_drop_keys(&c, &replaced[0], old)
        added = hamming_add_keys(&c, &new[0], n)
        if added < n:
            hamming_drop_keys(&c, &new[0], added)
            if old:
                hamming_add_keys(&c, &replaced[0], old)
            raise ValueError(f"key {keys[added]} has a row already")
        self.count += n - old
        for i in range(old):
            live[replaced[i]] = self.keyed[replaced[i]] = 0
        for i in range(n):
            live[rows[i]] = self.keyed[rows[i]] = 1

    def drop(self, const int64_t[::1] rows not None, uint8_t[::1] live not None):
        """Take these rows, no row twice, from their keys, and set `live` to 0 there."""
        rows = aligned(rows)
        cdef size_t i, n = len(rows)
        for i in range(n):
            if not 0 <= rows[i] < min(len(live), len(self.keys)) or not self.keyed[rows[i]]:
                raise ValueError(f"row {rows[i]} has no key")
        array = np.array(rows, np.uint32)
        cdef uint32_t[::1] old = array
        cdef hamming_keys c = self.c()
        if n:
            self.count -= hamming_drop_keys(&c, &old[0], n)
        for i in range(n):
            live[rows[i]] = self.keyed[rows[i]] = 0

    def take(self, const int64_t[::1] rows not None):
        """Return the keys of these rows, which have keys: int64 (n,)."""
        rows = aligned(rows)
        cdef size_t i
        for i in range(<size_t>len(rows)):
            if not 0 <= rows[i] < len(self.keys) or not self.keyed[rows[i]]:
                raise IndexError(f"row {rows[i]} has no key")
        return np.asarray(self.keys)[np.asarray(rows)]

    cdef _reserve(self, size_t rows, size_t count):
        """Have room for so many rows, and so many keys in the table."""
        cdef size_t size = _table_size(count)
        cdef hamming_keys c
        if rows > <size_t>len(self.keys):
            larger, larger_keyed = np.zeros(rows, np.int64), np.zeros(rows, np.uint8)
            larger[:len(self.keys)] = self.keys
            larger_keyed[:len(self.keys)] = self.keyed
            self.keys, self.keyed = larger, larger_keyed
        if size > <size_t>len(self.table):
            old = array_of(self.table)
            held = old[old != NO_ROW]
            self.table = np.full(size, NO_ROW, np.uint32)
            c = self.c()
            if len(held):
                _add(&c, held)


cdef _add(hamming_keys* c, const uint32_t[::1] rows):
    hamming_add_keys(c, &rows[0], rows.shape[0])
