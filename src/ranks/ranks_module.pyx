"""The tokens of many sets as ranks, the rarest token first, for a join."""

cimport cython
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t

import os

import numpy as np

from lshfast.kernels.guards cimport WORK, aligned, array_of, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "ranks/ranks.h":
    const size_t RANKS_CLASSES
    struct ranks_filter:
        uint8_t* counters
        unsigned bits
        uint64_t key
    void ranks_note(const ranks_filter*, const uint64_t*, size_t, uint64_t, uint64_t) nogil
    size_t ranks_pick(const ranks_filter*, const uint64_t*, size_t, uint64_t*) nogil
    void ranks_prefetch(const ranks_filter*, const uint64_t*, size_t) nogil
    void ranks_count_parts(const uint64_t*, size_t, unsigned, uint64_t*) nogil
    void ranks_divide(const uint64_t*, size_t, uint32_t, unsigned, uint64_t*, uint64_t*, uint32_t*) nogil
    struct ranks_scratch:
        uint32_t* table
        unsigned bits
        uint64_t* hashes
        uint32_t* ids
        uint32_t* counts
        uint32_t* lasts
        uint32_t* starts
        uint32_t* postings
    size_t ranks_group(const uint64_t*, uint32_t*, size_t, unsigned, const ranks_scratch*, uint64_t*) nogil
    void ranks_count(const uint32_t*, size_t, uint32_t*) nogil
    uint32_t ranks_place(const uint32_t*, size_t, uint32_t, uint64_t*, uint32_t*) nogil

cdef enum:
    PART = 1 << 15  # hashes of a part, about: its table then fits into the L2 cache
    MOST_BITS = 12  # of the number of parts
    ROWS_AHEAD = 8  # the counters of the first tokens of a row are prefetched so many rows before
    TOKENS_AHEAD = 16
    LEAST_STEP = 4  # tokens of a row that are picked at once, at least

MOST_SETS = 2**31 - 1

cdef inline unsigned _bits_of_table(size_t n) noexcept nogil:
    """Return b for which a table of 2^b places serves a part of n hashes."""
    cdef unsigned bits = 1
    while <size_t>1 << bits < 2 * n:
        bits += 1
    return bits


cdef uint64_t secret = int.from_bytes(os.urandom(8), "little") | 1


cdef size_t _checked_rows(const int64_t[::1] offsets, const uint64_t[::1] tokens, const int64_t[::1] rows) except? 0:
    if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, len(tokens)):
        raise ValueError(f"offsets must rise from 0 to at most {len(tokens)}, the number of tokens")
    if len(rows) and not are_below(&rows[0], len(rows), len(offsets) - 1):
        raise ValueError(f"rows must be below {len(offsets) - 1}")
    return len(rows)


@cython.auto_pickle(False)
cdef class TokenFilter:
    """Notes about `noted` tokens, and tells which of them may have been noted twice."""

    cdef ranks_filter filter
    cdef object counters

    def __cinit__(self, size_t noted):
        cdef unsigned bits = 10
        while bits < 40 and (<size_t>1 << bits) // 4 < noted:
            bits += 1
        self.counters = np.zeros(<size_t>1 << (bits - 2), np.uint8)
        cdef uint8_t[::1] counters = self.counters
        self.filter.counters, self.filter.bits, self.filter.key = &counters[0], bits, secret

    def note(self, const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None,
             const int64_t[::1] rows not None, size_t slice=0, size_t slices=1):
        """Note the tokens of rows that belong to one of the slices, which may be noted at the same time."""
        offsets, tokens, rows = aligned(offsets), aligned(tokens), aligned(rows)
        cdef size_t n = _checked_rows(offsets, tokens, rows), i = 0, at, end, some, done = 0
        cdef uint64_t last_pause = 0
        cdef const uint64_t* base = &tokens[0] if len(tokens) else NULL
        if not slice < slices <= 2**16:
            raise ValueError(f"slice must be below slices, and slices at most 65536, not {slice} and {slices}")
        with nogil:
            while i < n:
                at, end = offsets[rows[i]], offsets[rows[i] + 1]
                i += 1
                while i < n and <size_t>offsets[rows[i]] == end and end - at < WORK:
                    end = offsets[rows[i] + 1]
                    i += 1
                while at < end:
                    some = min(end - at, <size_t>WORK)
                    ranks_note(&self.filter, base + at, some, slice, slices)
                    at += some
                    done += some
                    if done >= WORK:
                        done = 0
                        pause(&last_pause)

    def pick(self, const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None,
             const int64_t[::1] rows not None, const uint64_t[::1] limits not None):
        """Return the rows of which fewer tokens than their limit were noted once, and their tokens that may have been
        noted twice.

        Returns
        -------
        kept : ndarray of bool, shape (n,)
        once, counts : ndarray of uint32, shape (m,)
            For each row that is kept, the number of tokens that were noted once, and that of the others.
        hashes : ndarray of uint64
            The hashes of the others, row by row; repeated tokens of a row are repeated.
        """
        offsets, tokens, rows, limits = aligned(offsets), aligned(tokens), aligned(rows), aligned(limits)
        cdef size_t n = _checked_rows(offsets, tokens, rows), i, at, end, some, start, total = 0, made = 0, kept = 0
        cdef size_t done = 0, rare, picked, room, longest = 0
        cdef uint64_t last_pause = 0
        cdef const uint64_t* base = &tokens[0] if len(tokens) else NULL
        if <size_t>len(limits) != n:
            raise ValueError(f"limits must be {n}, one for each row, not {len(limits)}")
        for i in range(n):
            some = offsets[rows[i] + 1] - offsets[rows[i]]
            if some >= UINT32_MAX:
                raise OverflowError(f"a row may have at most {UINT32_MAX - 1} tokens, not {some}")
            total += some
            longest = max(longest, some)
        is_kept_array, once_array, counts_array = np.zeros(n, np.uint8), np.empty(n, np.uint32), np.empty(n, np.uint32)
        # Most rows are left out, so room for all tokens would mostly be cleared by the system in vain.
        room = min(total, total // 16 + longest) + 1
        hashes_array = np.empty(room, np.uint64)
        cdef uint8_t[::1] is_kept = is_kept_array
        cdef uint32_t[::1] once = once_array, counts = counts_array
        cdef uint64_t[::1] hashes = hashes_array
        with nogil:
            for i in range(n):
                if i + ROWS_AHEAD < n:
                    at = offsets[rows[i + ROWS_AHEAD]]
                    some = min(<size_t>offsets[rows[i + ROWS_AHEAD] + 1] - at, limits[i + ROWS_AHEAD])
                    ranks_prefetch(&self.filter, base + at, min(some, <size_t>TOKENS_AHEAD))
                at, end, start, rare = offsets[rows[i]], offsets[rows[i] + 1], made, 0
                if end - at >= room - made:
                    with gil:
                        room = min(total, 2 * room + longest) + 1
                        hashes_array = np.concatenate([hashes_array[:made], np.empty(room - made, np.uint64)])
                        hashes = hashes_array
                # Most rows are left out for their first tokens.
                while at < end and rare < limits[i]:
                    some = min(end - at, max(limits[i] - rare, <size_t>LEAST_STEP), <size_t>WORK)
                    picked = ranks_pick(&self.filter, base + at, some, &hashes[made])
                    rare += some - picked
                    made += picked
                    at += some
                    done += some
                    if done >= WORK:
                        done = 0
                        pause(&last_pause)
                if rare < limits[i]:
                    is_kept[i] = 1
                    once[kept], counts[kept] = <uint32_t>rare, <uint32_t>(made - start)
                    kept += 1
                else:
                    made = start
        return is_kept_array.view(bool), once_array[:kept], counts_array[:kept], hashes_array[:made].copy()


@cython.auto_pickle(False)
cdef class TokenParts:
    """The tokens of sets, divided by their hashes: `divide` each piece, then `group` each part, then take the `ranks`.

    Parameters
    ----------
    pieces : sequence of (ndarray of uint32, ndarray of uint64)
        The numbers of hashes of some sets, and these hashes, as `TokenFilter.pick` returns them.
    """

    cdef object pieces, places, hashes_array, sets_array, postings_array, divided, grouped
    cdef readonly size_t parts, sets
    cdef unsigned bits
    cdef uint64_t[::1] starts
    cdef uint64_t[:, ::1] ends

    def __cinit__(self, pieces):
        cdef const uint64_t[::1] hashes
        cdef uint64_t last_pause = 0
        cdef size_t piece, at, total, n
        self.pieces = list(pieces)
        self.places = np.cumsum([0, *(len(counts) for counts, _ in self.pieces)], dtype=np.int64)
        total, self.sets = sum(len(each) for _, each in self.pieces), int(self.places[-1])
        if self.sets > <size_t>MOST_SETS:
            raise OverflowError(f"{self.sets} sets are too many: there may be at most {MOST_SETS}")
        while self.bits < MOST_BITS and total >> self.bits > PART:
            self.bits += 1
        self.parts = <size_t>1 << self.bits
        counts_of_parts = np.zeros((len(self.pieces) + 1, self.parts), np.uint64)
        self.ends = counts_of_parts
        for piece in range(<size_t>len(self.pieces)):
            counts, hashes = self.pieces[piece]
            hashes = aligned(hashes)
            if int(counts.sum(dtype=np.uint64)) != len(hashes):
                raise ValueError("the counts of a piece must add up to the number of its hashes")
            n = len(hashes)
            with nogil:
                for at in range(0, n, 1 << 20):
                    ranks_count_parts(&hashes[at], min(n - at, <size_t>1 << 20), self.bits, &self.ends[piece, 0])
                    pause(&last_pause)
        # The hashes of a part lie together, those of the first piece first.
        of_parts = counts_of_parts.sum(axis=0, dtype=np.uint64)
        starts = np.concatenate([np.zeros(1, np.uint64), np.cumsum(of_parts, dtype=np.uint64)])
        if len(self.pieces) and of_parts.max() > MOST_SETS:
            raise OverflowError(f"{of_parts.max()} tokens are too many for a part: there may be at most {MOST_SETS}")
        counts_of_parts[1:] = np.cumsum(counts_of_parts[:-1], axis=0, dtype=np.uint64)
        counts_of_parts[0] = 0
        counts_of_parts += starts[:-1]
        self.starts = starts
        self.hashes_array, self.sets_array = np.empty(total + 1, np.uint64), np.empty(total + 1, np.uint32)
        self.postings_array = np.zeros((self.parts, RANKS_CLASSES), np.uint64)
        self.divided, self.grouped = [False] * len(self.pieces), [False] * self.parts

    def divide(self, size_t piece):
        """Write the hashes of a piece to their parts; the piece is not held any longer."""
        if piece >= <size_t>len(self.pieces) or self.divided[piece]:
            raise ValueError(f"piece {piece} is divided already, or there is none")
        self.divided[piece] = True
        counts_array, hashes_array = self.pieces[piece]
        self.pieces[piece] = None
        cdef const uint32_t[::1] counts = aligned[uint32_t](counts_array)
        cdef const uint64_t[::1] hashes = aligned[uint64_t](hashes_array)
        cdef uint64_t[::1] to_hashes = self.hashes_array
        cdef uint32_t[::1] to_sets = self.sets_array
        cdef size_t row, at = 0, end, some, n = len(counts), done = 0
        cdef uint32_t first_set = self.places[piece]
        cdef uint64_t last_pause = 0
        with nogil:
            for row in range(n):
                end = at + counts[row]
                while at < end:
                    some = min(end - at, <size_t>WORK)
                    ranks_divide(&hashes[at], some, first_set + <uint32_t>row, self.bits, &self.ends[piece, 0], &to_hashes[0],
                                 &to_sets[0])
                    at += some
                    done += some
                    if done >= WORK:
                        done = 0
                        pause(&last_pause)

    def group(self, size_t first, size_t last):
        """Count the tokens of the parts first..last - 1, after all pieces were divided."""
        cdef ranks_scratch scratch
        cdef size_t part, n, most = 1
        cdef uint64_t last_pause = 0
        if not first <= last <= self.parts or not all(self.divided) or any(self.grouped[first:last]):
            raise ValueError(f"parts {first}..{last} are grouped already, or there are none, or pieces are not divided")
        for part in range(first, last):
            self.grouped[part] = True
            most = max(most, self.starts[part + 1] - self.starts[part])
        table_array, hashes_array = np.empty(<size_t>1 << _bits_of_table(most), np.uint32), np.empty(most, np.uint64)
        columns_array = np.empty((5, most), np.uint32)
        cdef uint32_t[::1] table = table_array, sets = self.sets_array
        cdef uint64_t[::1] own = hashes_array, hashes = self.hashes_array
        cdef uint32_t[:, ::1] columns = columns_array
        cdef uint64_t[:, ::1] postings = self.postings_array
        scratch.table, scratch.hashes = &table[0], &own[0]
        scratch.ids, scratch.counts, scratch.lasts = &columns[0, 0], &columns[1, 0], &columns[2, 0]
        scratch.starts, scratch.postings = &columns[3, 0], &columns[4, 0]
        with nogil:
            for part in range(first, last):
                n = self.starts[part + 1] - self.starts[part]
                scratch.bits = _bits_of_table(n)  # parts with a frequent token are much larger than the others
                ranks_group(&hashes[self.starts[part]], &sets[self.starts[part]], n, self.bits, &scratch,
                            &postings[part, 0])
                pause(&last_pause)

    def ranks(self):
        """Return the ranks of all sets, after all parts were grouped. This can be called once.

        Returns
        -------
        once, counts : ndarray of uint32, shape (sets,)
            The number of tokens of each set that are in no other, and of the tokens that have a rank.
        ranks : ndarray of uint32, shape (counts.sum(),)
            The ranks of each set, ascending.
        most : int
            The number of ranks.
        """
        if not all(self.grouped):
            raise ValueError("all parts must be grouped before")
        self.grouped, self.hashes_array = [False], None
        cdef size_t part, at, of_class
        cdef uint32_t next = 0
        cdef uint64_t last_pause = 0
        cdef uint32_t[::1] postings = self.sets_array, ranks
        cdef uint64_t[:, ::1] sizes = self.postings_array, begins
        once_array, counts_array = np.zeros(self.sets + 1, np.uint32), np.zeros(self.sets + 1, np.uint32)
        cdef uint32_t[::1] once = once_array, counts = counts_array
        begins_array = np.zeros((self.parts, RANKS_CLASSES), np.uint64)
        np.cumsum(self.postings_array[:, :-1], axis=1, dtype=np.uint64, out=begins_array[:, 1:])
        begins_array += array_of(self.starts)[:-1, np.newaxis]
        begins = begins_array
        if int(self.postings_array[:, 2:].sum(dtype=np.uint64)) // 2 >= UINT32_MAX:
            raise OverflowError(f"there may be at most {UINT32_MAX - 1} different tokens")
        with nogil:
            for part in range(self.parts):
                ranks_count(&postings[begins[part, 1]], sizes[part, 1], &once[0])
                for of_class in range(2, RANKS_CLASSES):
                    ranks_count(&postings[begins[part, of_class]], sizes[part, of_class], &counts[0])
                pause(&last_pause)
        ends_array = np.cumsum(counts_array, dtype=np.uint64) - counts_array
        ranks_array = np.empty(int(ends_array[-1]) + 1, np.uint32)
        cdef uint64_t[::1] ends = ends_array
        ranks = ranks_array
        with nogil:
            for of_class in range(2, RANKS_CLASSES):
                for part in range(self.parts):
                    next = ranks_place(&postings[begins[part, of_class]], sizes[part, of_class], next, &ends[0], &ranks[0])
                    if part % 64 == 0:
                        pause(&last_pause)
        return once_array[:-1], counts_array[:-1], ranks_array[:-1], next
