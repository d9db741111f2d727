"""Exact joins of sets: ranks of tokens, indexes of prefixes, and the search for pairs."""

cimport cython
from libc.stdint cimport SIZE_MAX, UINT32_MAX, int64_t, uint32_t, uint64_t
from libc.string cimport memset

import os

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, array_of, pause, product_of

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "setjoin/setjoin.h":
    const uint64_t SETJOIN_MOST_TOKENS
    const size_t SETJOIN_ROWS
    const size_t SETJOIN_WIDTH
    enum setjoin_kind:
        SETJOIN_KINDS
    struct setjoin_rule:
        setjoin_kind kind
        uint64_t p, q
        double threshold
    uint64_t setjoin_need(const setjoin_rule*, uint64_t, uint64_t) nogil
    size_t setjoin_indexed_prefix(const setjoin_rule*, uint64_t, bint) nogil
    size_t setjoin_longest_prefix(const setjoin_rule*, uint64_t, bint) nogil
    struct setjoin_table:
        uint64_t* slots
        unsigned bits
        size_t used
        uint64_t key
    size_t setjoin_count(setjoin_table*, const uint64_t*, size_t, size_t) nogil
    void setjoin_move(const setjoin_table*, size_t, size_t, setjoin_table*) nogil
    size_t setjoin_list(const setjoin_table*, size_t, size_t, uint64_t*, uint64_t*) nogil
    void setjoin_rank(setjoin_table*, const uint64_t*, size_t, uint32_t) nogil
    size_t setjoin_number(const setjoin_table*, const uint64_t*, size_t, size_t, uint32_t*) nogil
    size_t setjoin_unique(uint32_t*, size_t) nogil
    void setjoin_sort(uint32_t*, size_t, uint32_t*) nogil
    struct setjoin_set:
        uint64_t bits[2]
        uint64_t start
        uint32_t count, size
    void setjoin_bits(const uint32_t*, size_t, uint64_t*) nogil
    struct setjoin_posting:
        uint32_t row, rest
    struct setjoin_index:
        const setjoin_set* sets
        const uint32_t* ranks
        const uint32_t* class_of
        const uint32_t* class_sizes
        const uint32_t* class_starts
        size_t classes
        const uint64_t* starts
        const setjoin_posting* postings
        bint by_suffix
    size_t setjoin_in_prefix(const setjoin_set*, size_t) nogil
    void setjoin_count_postings(const setjoin_index*, const uint32_t*, size_t, size_t, uint64_t*) nogil
    void setjoin_post(const setjoin_index*, const uint32_t*, size_t, size_t, uint64_t*, setjoin_posting*) nogil
    void setjoin_order_by_suffix(const setjoin_index*, size_t, size_t, setjoin_posting*) nogil
    struct setjoin_found:
        uint32_t row, probe, overlap
    struct setjoin_window:
        uint32_t* needs
    struct setjoin_walk:
        size_t probe, end
        bint self
        uint32_t* stamps
        setjoin_window window
        uint64_t met, candidates
    struct setjoin_kernels:
        pass
    const setjoin_kernels** setjoin_levels
    bint setjoin_search(const setjoin_kernels*, const setjoin_rule*, const setjoin_index*, const setjoin_set*,
                        const uint32_t*, setjoin_walk*, size_t, setjoin_found*, size_t, size_t*) nogil
    struct setjoin_bitmaps:
        const uint64_t* words
        size_t stride, width
        const uint64_t* probes
        const uint32_t* probe_sizes
    struct setjoin_bits_walk:
        size_t probe, end
        bint self
        setjoin_window window
        uint64_t candidates
    bint setjoin_search_bits(const setjoin_kernels*, const setjoin_rule*, const setjoin_index*, const setjoin_bitmaps*,
                             setjoin_bits_walk*, size_t, setjoin_found*, size_t, size_t*) nogil

cdef const int* in_use = level_in_use()

cdef enum:
    FIRST_BITS = 11     # of the number of slots of a new table
    ROOM = 1 << 15      # pairs that a search writes before they are copied

MOST_TOKENS = SETJOIN_MOST_TOKENS
MOST_WORDS = SETJOIN_WIDTH

cdef uint64_t secret = int.from_bytes(os.urandom(8), "little") | 1


cdef setjoin_rule _rule_of(rule) except *:
    cdef setjoin_rule made
    kind, p, q, threshold = rule
    if not 0 <= kind < SETJOIN_KINDS or not 0 <= p < 2**32 or not 1 <= q < 2**32 or not 0 <= threshold <= 1:
        raise ValueError(f"rule must be (kind, p, q, threshold) with p, q below 2**32, not {rule!r}")
    made.kind, made.p, made.q, made.threshold = kind, p, q, threshold
    return made


cdef _check_sizes(const uint32_t[::1] sizes):
    cdef size_t i, n = len(sizes)
    cdef uint32_t before = 1
    if n >= UINT32_MAX:
        raise OverflowError(f"{n} sets are too many: there may be at most {UINT32_MAX - 1}")
    for i in range(n):
        if sizes[i] < before or sizes[i] > SETJOIN_MOST_TOKENS:
            raise ValueError(f"sizes must rise from 1 to at most {SETJOIN_MOST_TOKENS}")
        before = sizes[i]


def need(rule, uint64_t a, uint64_t b):
    """Return the least overlap that an indexed set of a tokens must have with a probing set of b tokens."""
    cdef setjoin_rule made = _rule_of(rule)
    if not (1 <= a <= SETJOIN_MOST_TOKENS and 1 <= b <= SETJOIN_MOST_TOKENS):
        raise ValueError(f"sizes must be in 1..{SETJOIN_MOST_TOKENS}, not {a} and {b}")
    return setjoin_need(&made, a, b)


def indexed_prefixes(rule, const uint32_t[::1] sizes not None, bint own):
    """Return the length of the prefix of indexed sets of ascending sizes, uint32; `own`: they are the probing sets too."""
    sizes = aligned(sizes)
    cdef setjoin_rule made = _rule_of(rule)
    cdef size_t i, n = len(sizes)
    _check_sizes(sizes)
    out_array = np.empty(n, np.uint32)
    cdef uint32_t[::1] out = out_array
    for i in range(n):
        out[i] = <uint32_t>setjoin_indexed_prefix(&made, sizes[i], own)
    return out_array


def longest_prefixes(rule, const uint32_t[::1] sizes not None, bint probing):
    """Return the longest prefix that sets of ascending sizes may need, uint32; `probing`: they will probe an index."""
    sizes = aligned(sizes)
    cdef setjoin_rule made = _rule_of(rule)
    cdef size_t i, n = len(sizes)
    _check_sizes(sizes)
    out_array = np.empty(n, np.uint32)
    cdef uint32_t[::1] out = out_array
    for i in range(n):
        out[i] = <uint32_t>setjoin_longest_prefix(&made, sizes[i], probing)
    return out_array


cdef size_t _checked_rows(const int64_t[::1] offsets, const uint64_t[::1] tokens, const int64_t[::1] rows) except? 0:
    if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, len(tokens)):
        raise ValueError(f"offsets must rise from 0 to at most {len(tokens)}, the number of tokens")
    if len(rows) and not are_below(&rows[0], len(rows), len(offsets) - 1):
        raise ValueError(f"rows must be below {len(offsets) - 1}")
    return len(rows)


@cython.auto_pickle(False)
cdef class TokenRanks:
    """Counts of tokens, and then their ranks."""

    cdef setjoin_table table
    cdef object slots_array

    def __cinit__(self):
        self._use_slots(FIRST_BITS)
        self.table.key = secret

    cdef _use_slots(self, unsigned bits):
        cdef uint64_t[::1] slots
        array = np.zeros(product_of(2, <size_t>1 << bits), np.uint64)
        slots = array
        self.table.slots, self.table.bits, self.table.used = &slots[0], bits, 0
        self.slots_array = array

    cdef _grow(self, uint64_t* last_pause):
        """Double the slots."""
        cdef setjoin_table before = self.table
        cdef size_t at, end = <size_t>1 << before.bits
        kept = self.slots_array
        self._use_slots(before.bits + 1)
        with nogil:
            for at in range(0, end, 1 << 20):
                setjoin_move(&before, at, min(end, at + (1 << 20)), &self.table)
                pause(last_pause)

    @property
    def distinct(self):
        """The number of tokens in the table."""
        return self.table.used

    def count(self, const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None,
              const int64_t[::1] rows not None, size_t most=UINT32_MAX - 1):
        """Count the tokens of rows; return False, and stop, where there are more than `most` different ones."""
        offsets, tokens, rows = aligned(offsets), aligned(tokens), aligned(rows)
        cdef size_t n = _checked_rows(offsets, tokens, rows), i = 0, first, some, at, end, done = 0, did
        cdef uint64_t last_pause = 0
        cdef const uint64_t* base = &tokens[0] if len(tokens) else NULL
        while i < n:
            first = i
            with nogil:
                at, end = offsets[rows[i]], offsets[rows[i] + 1]
                i += 1
                while i < n and <size_t>offsets[rows[i]] == end and end - at < WORK:
                    end = offsets[rows[i] + 1]
                    i += 1
                done += i - first
                while at < end:
                    some = min(end - at, <size_t>WORK)
                    did = setjoin_count(&self.table, base, at, at + some) - at
                    at += did
                    done += did
                    if done >= WORK:
                        done = 0
                        pause(&last_pause)
                    if did < some:
                        with gil:
                            if self.table.used > most:
                                return False
                            self._grow(&last_pause)
        return self.table.used <= most

    def entries(self):
        """Return the tokens and their counts, uint64."""
        cdef size_t at, made = 0, end = <size_t>1 << self.table.bits
        cdef uint64_t last_pause = 0
        tokens_array = np.empty(self.table.used + 1, np.uint64)
        counts_array = np.empty(self.table.used + 1, np.uint64)
        cdef uint64_t[::1] tokens = tokens_array, counts = counts_array
        with nogil:
            for at in range(0, end, 1 << 20):
                made += setjoin_list(&self.table, at, min(end, at + (1 << 20)), &tokens[made], &counts[made])
                pause(&last_pause)
        return tokens_array[:made], counts_array[:made]

    def assign(self, const uint64_t[::1] tokens not None):
        """Give these tokens of the table the ranks 0, 1, ..."""
        tokens = aligned(tokens)
        cdef size_t at, n = len(tokens)
        cdef uint64_t last_pause = 0
        if n > self.table.used:
            raise ValueError(f"there are {self.table.used} tokens in the table, not {n}")
        with nogil:
            for at in range(0, n, 1 << 20):
                setjoin_rank(&self.table, &tokens[at], min(n - at, <size_t>1 << 20), <uint32_t>at)
                pause(&last_pause)

    def number(self, const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None,
               const int64_t[::1] rows not None, rule, bint probing):
        """Return the sets of ranks of rows: (sizes, counts, ranks), uint32. Tokens without a rank must not be repeated.

        A row's size is its number of different tokens. Its ranks are ascending, without repetition. A row gets none, and
        its size is not computed, if no token of the longest prefix that it may need has a rank.
        """
        offsets, tokens, rows = aligned(offsets), aligned(tokens), aligned(rows)
        cdef setjoin_rule made_rule = _rule_of(rule)
        cdef size_t n = _checked_rows(offsets, tokens, rows), i, length, some, rare, total = 0, longest = 0, made = 0
        cdef size_t done = 0
        cdef uint64_t last_pause = 0
        cdef const uint64_t* base = &tokens[0] if len(tokens) else NULL
        for i in range(n):
            length = offsets[rows[i] + 1] - offsets[rows[i]]
            total += length
            longest = max(longest, length)
        if longest > SETJOIN_MOST_TOKENS:
            raise ValueError(f"a set may have at most {SETJOIN_MOST_TOKENS} tokens, not {longest}")
        sizes_array, counts_array = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
        ranks_array = np.empty(total + 1, np.uint32)
        cdef uint32_t[::1] sizes = sizes_array, counts = counts_array, ranks = ranks_array
        cdef uint32_t[::1] spare = np.empty(longest + 1, np.uint32)
        with nogil:
            for i in range(n):
                if done >= WORK:
                    done = 0
                    pause(&last_pause)
                length = offsets[rows[i] + 1] - offsets[rows[i]]
                some = setjoin_number(&self.table, base, offsets[rows[i]], offsets[rows[i] + 1], &ranks[made])
                done += length + 8 * some + 1
                rare = length - some
                # Longer sets have prefixes at least as long, so repeats need not be known to leave this row out.
                if rare and rare >= setjoin_longest_prefix(&made_rule, length, probing):
                    sizes[i] = <uint32_t>length
                    continue
                setjoin_sort(&ranks[made], some, &spare[0])
                some = setjoin_unique(&ranks[made], some)
                sizes[i] = <uint32_t>(rare + some)
                if some and (rare == 0 or rare < setjoin_longest_prefix(&made_rule, rare + some, probing)):
                    counts[i] = <uint32_t>some
                    made += some
        return sizes_array, counts_array, ranks_array[:made]


@cython.auto_pickle(False)
cdef class SetRecords:
    """Sets of ranks: sizes (ascending) and numbers of ranks, uint32 (n,); set i has ranks[starts[i]:starts[i] + counts[i]],
    ascending, of which there are `most`."""

    cdef readonly object sizes
    cdef object records, ranks_array
    cdef setjoin_set* sets
    cdef const uint32_t* ranks
    cdef readonly size_t n, most

    def __cinit__(self, sizes, const uint32_t[::1] counts not None, const uint64_t[::1] starts not None, ranks, size_t most):
        cdef const uint32_t[::1] all_sizes = aligned[uint32_t](sizes), all_ranks = aligned[uint32_t](ranks)
        cdef size_t i, k, n = len(all_sizes), made, total = len(all_ranks), done = 0
        cdef uint64_t last_pause = 0
        cdef bint bad = False
        counts, starts = aligned(counts), aligned(starts)
        _check_sizes(all_sizes)
        if <size_t>len(counts) != n or <size_t>len(starts) != n:
            raise ValueError(f"counts and starts must be {n}, one for each set, not {len(counts)} and {len(starts)}")
        if most >= UINT32_MAX:
            raise OverflowError(f"{most} different tokens are too many: there may be at most {UINT32_MAX - 1}")
        self.records = np.zeros((n + 1, sizeof(setjoin_set) // 8), np.uint64)
        self.ranks_array = array_of(all_ranks) if total else np.zeros(1, np.uint32)
        self.sizes = array_of(all_sizes)
        cdef uint64_t[:, ::1] records = self.records
        all_ranks = self.ranks_array
        self.sets, self.ranks = <setjoin_set*>&records[0, 0], &all_ranks[0]
        self.n, self.most = n, most
        with nogil:
            for i in range(n):
                made = starts[i]
                if counts[i] > all_sizes[i] or made > total or counts[i] > total - made:
                    bad = True
                    break
                for k in range(made, made + counts[i]):
                    bad |= all_ranks[k] >= most or k > made and all_ranks[k - 1] >= all_ranks[k]
                self.sets[i].start, self.sets[i].count, self.sets[i].size = made, counts[i], all_sizes[i]
                setjoin_bits(&all_ranks[0] + made, counts[i], self.sets[i].bits)
                done += counts[i] + 1
                if done >= WORK:
                    done = 0
                    pause(&last_pause)
        if bad:
            raise ValueError(f"each set must have at most its size of ranks, which rise below {most}")

    def bitmaps(self, bint by_words):
        """Return each set as bits, uint64: (words, n) or (n, words), bit r % 64 of word r // 64 for rank r."""
        cdef size_t i, k, width = max(1, (self.most + 63) // 64), rank
        cdef uint64_t last_pause = 0
        if width > SETJOIN_WIDTH:
            raise ValueError(f"there may be at most {64 * SETJOIN_WIDTH} ranks, not {self.most}")
        out = np.zeros((self.n + 1, width), np.uint64)
        cdef uint64_t[:, ::1] words = out
        with nogil:
            for i in range(self.n):
                for k in range(self.sets[i].count):
                    rank = self.ranks[self.sets[i].start + k]
                    words[i, rank // 64] |= <uint64_t>1 << (rank % 64)
                if i % WORK == 0:
                    pause(&last_pause)
        return np.ascontiguousarray(out.T) if by_words else out


@cython.auto_pickle(False)
cdef class SizeClasses:
    """Sets of ascending sizes, and which of them have one size."""

    cdef setjoin_rule rule
    cdef setjoin_index index
    cdef readonly SetRecords sets
    cdef object class_of, class_sizes, class_starts

    def __cinit__(self, rule, SetRecords sets not None, *others):
        self.rule, self.sets = _rule_of(rule), sets
        sizes = sets.sizes
        starts = np.flatnonzero(np.diff(sizes, prepend=np.uint32(0)))
        self.class_sizes = np.append(sizes[starts], np.uint32(0)).astype(np.uint32)
        self.class_starts = np.append(starts, len(sizes)).astype(np.uint32)
        self.class_of = np.repeat(np.arange(len(starts) + 1, dtype=np.uint32),
                                  np.append(np.diff(np.append(starts, len(sizes))), 1))
        cdef const uint32_t[::1] of = self.class_of, all_sizes = self.class_sizes, all_starts = self.class_starts
        self.index.class_of, self.index.class_sizes = &of[0], &all_sizes[0]
        self.index.class_starts, self.index.classes = &all_starts[0], len(starts)
        self.index.sets, self.index.ranks = sets.sets, sets.ranks


@cython.auto_pickle(False)
cdef class Prefixes(SizeClasses):
    """An index of the prefixes of sets.

    `own`: it is searched for its own sets only. `by_suffix`: sets of one size that have a token are ordered by the number of
    their tokens after it, so that a search looks at those with enough of them only.
    """

    cdef object starts_array, postings_array
    cdef readonly bint own
    cdef readonly size_t postings

    def __cinit__(self, rule, SetRecords sets not None, bint own, bint by_suffix=False):
        cdef size_t at, end, n = sets.n
        cdef uint64_t last_pause = 0
        prefixes_array = np.append(indexed_prefixes(rule, self.class_sizes[:-1], own), np.uint32(0)).astype(np.uint32)
        self.own, self.starts_array = own, np.zeros(sets.most + 2, np.uint64)
        cdef const uint32_t[::1] prefixes = prefixes_array
        cdef uint64_t[::1] starts = self.starts_array, postings
        with nogil:
            for at in range(0, n, 1 << 14):
                setjoin_count_postings(&self.index, &prefixes[0], at, min(n, at + (1 << 14)), &starts[1])
                pause(&last_pause)
        # Here starts[r + 2] is the number of postings of rank r; while they are written, starts[r + 1] rises to its end.
        np.cumsum(self.starts_array, dtype=np.uint64, out=self.starts_array)
        self.postings = int(self.starts_array[-1])
        self.postings_array = np.empty(self.postings + 1, np.uint64)
        postings = self.postings_array
        self.index.starts, self.index.postings = &starts[0], <setjoin_posting*>&postings[0]
        with nogil:
            for at in range(0, n, 1 << 14):
                setjoin_post(&self.index, &prefixes[0], at, min(n, at + (1 << 14)), &starts[1],
                             <setjoin_posting*>&postings[0])
                pause(&last_pause)
            self.index.by_suffix = by_suffix
            if by_suffix:
                for at in range(0, sets.most, 1 << 8):
                    setjoin_order_by_suffix(&self.index, at, min(sets.most, at + (1 << 8)), <setjoin_posting*>&postings[0])
                    pause(&last_pause)


@cython.auto_pickle(False)
cdef class Search:
    """A search for the pairs of probing sets in an index, for one thread at a time."""

    cdef readonly Prefixes index
    cdef readonly SetRecords probes
    cdef setjoin_walk walk
    cdef object stamps_array, needs_array
    cdef readonly bint under_way

    def __cinit__(self, Prefixes index not None, SetRecords probes not None):
        if probes.most != index.sets.most:
            raise ValueError(f"probing sets must have the ranks of the index, {index.sets.most}, not {probes.most}")
        if index.own and probes is not index.sets:
            raise ValueError("this index is searched for its own sets only")
        self.index, self.probes = index, probes
        self.stamps_array = np.zeros(index.sets.n + 1, np.uint32)
        self.needs_array = np.zeros(index.index.classes + 1, np.uint32)
        cdef uint32_t[::1] stamps = self.stamps_array, needs = self.needs_array
        memset(&self.walk, 0, sizeof(self.walk))
        self.walk.stamps, self.walk.window.needs, self.walk.self = &stamps[0], &needs[0], index.own

    @property
    def candidates(self):
        """The number of pairs that were compared."""
        return self.walk.candidates

    def steps(self, posting_cost, candidate_cost):
        """Return the cost of the search so far, given those of looking at a posting and of comparing a pair."""
        return posting_cost * self.walk.met + candidate_cost * self.walk.candidates

    def run(self, size_t first, size_t last, size_t most=SIZE_MAX):
        """Return the pairs of the probing sets first..last - 1, each once a Search: row, probe, overlap, uint32 (m, 3).

        It ends as soon as there are more pairs than `most`. Then the search cannot go on.
        """
        if not first <= last <= self.probes.n:
            raise ValueError(f"probing sets must be in 0..{self.probes.n}, not {first}..{last}")
        cdef uint64_t last_pause = 0
        cdef size_t found = 0, total = 0
        cdef bint done = False
        out_array = np.empty((ROOM, 3), np.uint32)
        cdef uint32_t[:, ::1] out = out_array
        parts = []
        if self.under_way:
            raise ValueError("a search that was interrupted or ended early cannot go on: make a new one")
        self.under_way = True
        self.walk.probe, self.walk.end = first, last
        while not done:
            with nogil:
                while True:
                    done = setjoin_search(setjoin_levels[in_use[0]], &self.index.rule, &self.index.index,
                                          self.probes.sets, self.probes.ranks, &self.walk, WORK,
                                          <setjoin_found*>&out[0, 0], ROOM, &found)
                    pause(&last_pause)
                    if done or found:
                        break
            parts.append(out_array[:found].copy())
            total += found
            if total > most:
                return np.concatenate(parts)
        self.under_way = False
        return np.concatenate(parts)


@cython.auto_pickle(False)
cdef class BitSearch:
    """A search for pairs of sets of a small universe, for one thread at a time; `own`: for pairs within one collection."""

    cdef readonly SizeClasses index
    cdef readonly SetRecords probes
    cdef setjoin_bits_walk walk
    cdef setjoin_bitmaps bitmaps
    cdef object needs_array, words_array, probes_array
    cdef readonly bint under_way

    def __cinit__(self, SizeClasses index not None, words, SetRecords probes not None, probe_words, bint own):
        cdef const uint64_t[:, ::1] by_words = aligned_rows[uint64_t](words), by_sets = aligned_rows[uint64_t](probe_words)
        cdef const uint32_t[::1] sizes = probes.sizes
        if own and probes is not index.sets:
            raise ValueError("pairs within one collection need the same sets twice")
        if <size_t>by_words.shape[1] != index.sets.n + 1 or <size_t>by_sets.shape[0] != probes.n + 1 or \
                by_words.shape[0] != by_sets.shape[1] or by_words.shape[0] > SETJOIN_WIDTH:
            raise ValueError("words must be the bitmaps of the sets")
        self.index, self.probes = index, probes
        self.words_array, self.probes_array = by_words, by_sets
        self.needs_array = np.zeros(index.index.classes + 1, np.uint32)
        cdef uint32_t[::1] needs = self.needs_array
        memset(&self.walk, 0, sizeof(self.walk))
        self.walk.self, self.walk.window.needs = own, &needs[0]
        self.bitmaps.words, self.bitmaps.stride = &by_words[0, 0], by_words.shape[1]
        self.bitmaps.width, self.bitmaps.probes = by_words.shape[0], &by_sets[0, 0]
        self.bitmaps.probe_sizes = &sizes[0] if len(sizes) else NULL

    @property
    def candidates(self):
        """The number of pairs that were compared."""
        return self.walk.candidates

    def steps(self, posting_cost, candidate_cost):
        """Return the cost of the search so far: the number of words that were compared."""
        return self.bitmaps.width * self.walk.candidates

    def run(self, size_t first, size_t last, size_t most=SIZE_MAX):
        """Return the pairs of the probing sets first..last - 1: row, probe, overlap, uint32 (m, 3).

        It ends as soon as there are more pairs than `most`. Then the search cannot go on.
        """
        if not first <= last <= self.probes.n:
            raise ValueError(f"probing sets must be in 0..{self.probes.n}, not {first}..{last}")
        cdef uint64_t last_pause = 0
        cdef size_t found = 0, total = 0
        cdef bint done = False
        out_array = np.empty((ROOM, 3), np.uint32)
        cdef uint32_t[:, ::1] out = out_array
        parts = []
        if self.under_way:
            raise ValueError("a search that was interrupted or ended early cannot go on: make a new one")
        self.under_way = True
        self.walk.probe, self.walk.end = first, last
        while not done:
            with nogil:
                while True:
                    done = setjoin_search_bits(setjoin_levels[in_use[0]], &self.index.rule, &self.index.index,
                                               &self.bitmaps, &self.walk, WORK, <setjoin_found*>&out[0, 0], ROOM, &found)
                    pause(&last_pause)
                    if done or found:
                        break
            parts.append(out_array[:found].copy())
            total += found
            if total > most:
                return np.concatenate(parts)
        self.under_way = False
        return np.concatenate(parts)
