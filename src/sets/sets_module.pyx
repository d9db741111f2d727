"""Comparing token sets and signatures, and grouping what is alike: the kernels of the last stages."""

cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

import os

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    size_t longest_row(const int64_t*, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "field.h":
    const uint64_t P61

cdef extern from "sets/sets.h":
    const uint64_t SETS_KEY_LEAST
    size_t sets_table_size(size_t) nogil
    void sets_use_key(uint64_t) nogil
    struct token_set:
        pass
    token_set sets_empty_in(uint64_t*, size_t) nogil
    size_t sets_add_all(token_set*, const uint64_t*, size_t, uint64_t*) nogil
    size_t sets_distinct(const uint64_t*, size_t, uint64_t*, uint64_t*) nogil
    struct sets_rows:
        size_t first
    size_t sets_distinct_next(sets_rows*, const uint64_t*, size_t, const uint64_t*, const uint64_t*, size_t, uint64_t*,
                              uint64_t*) nogil
    struct sets_divisor:
        pass
    sets_divisor sets_divisor_of(uint64_t) nogil
    size_t sets_sample(const uint64_t*, size_t, const sets_divisor*, uint64_t*) nogil
    void sets_fingerprint(const uint64_t*, size_t, const uint64_t*, uint64_t*) nogil
    enum sets_measure:
        SETS_JACCARD, SETS_CONTAINMENT
    struct sets_rule:
        sets_measure measure
        double threshold
    struct pair_walk:
        pass
    bint sets_compare_pairs(const int64_t*, const uint64_t*, const int64_t*, const int64_t*, size_t, sets_rule, uint64_t*,
                            pair_walk*, size_t, double*) nogil
    double sets_jaccard(const uint64_t*, size_t, const uint64_t*, size_t, uint64_t*) nogil
    void sets_join_components(const int64_t*, const int64_t*, size_t, int64_t*) nogil
    void sets_label_components(size_t, int64_t*) nogil
    void sets_stars(const int64_t*, size_t, const int64_t*, const int64_t*, int64_t*, int64_t*) nogil

cdef extern from "slots/slots.h":
    struct slots_kernels:
        pass
    const slots_kernels** slots_levels
    size_t slots_agreement(const slots_kernels*, const uint64_t*, const uint64_t*, size_t) nogil

cdef const int* in_use = level_in_use()

cdef enum:
    ROWS = 1 << 12  # whose neighbours are looked at between two calls of pause()

sets_use_key(int.from_bytes(os.urandom(8), "little"))


cdef size_t _checked_rows(const int64_t[::1] offsets, const uint64_t[::1] tokens) except? 0:
    if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, len(tokens)):
        raise ValueError(f"offsets must rise from 0 to at most {len(tokens)}, the number of tokens")
    return len(offsets) - 1


cdef _check_pairs(const int64_t[::1] left, const int64_t[::1] right, size_t n):
    if len(left) != len(right):
        raise ValueError(f"as many lefts as rights are needed, not {len(left)} and {len(right)}")
    if len(left) and not (are_below(&left[0], len(left), n) and are_below(&right[0], len(right), n)):
        raise ValueError(f"rows of pairs must be below {n}")


cdef _check_threshold(double threshold):
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be in [0, 1], not {threshold}")


def distinct(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None):
    """Return (offsets, tokens) with each row's different tokens, in order of first occurrence."""
    offsets, tokens = aligned(offsets), aligned(tokens)
    cdef size_t i, at, count, begun, n = _checked_rows(offsets, tokens), made = 0, done = 0, before = 0, last = 0
    cdef uint64_t last_pause = 0
    cdef token_set held
    cdef sets_rows rows
    out_offsets_array = np.zeros(n + 1, np.int64)
    out_array = np.empty(len(tokens) + 1, np.uint64)
    table_array = np.empty(sets_table_size(longest_row(&offsets[0], n)), np.uint64)
    cdef int64_t[::1] out_offsets = out_offsets_array
    cdef uint64_t[::1] out = out_array, table = table_array
    cdef const uint64_t* first = &tokens[0] if len(tokens) else NULL
    memset(&rows, 0, sizeof(rows))
    with nogil:
        for i in range(n):
            at, count = offsets[i], offsets[i + 1] - offsets[i]
            if count <= WORK:
                begun = sets_distinct_next(
                    &rows, first + at - last, last, &out[before], first + at, count, &table[0], &out[made])
                before, last = made, count
                made += begun
            else:
                memset(&rows, 0, sizeof(rows))
                before, last = made, 0
                held = sets_empty_in(&table[0], count)
                begun = 0
                while begun < count:
                    made += sets_add_all(&held, first + at + begun, min(count - begun, <size_t>WORK), &out[made])
                    begun += WORK
                    pause(&last_pause)
            done += count
            if done >= WORK:
                done = 0
                pause(&last_pause)
            out_offsets[i + 1] = <int64_t>made
    return out_offsets_array, out_array[:made]


def sample(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None, uint64_t one_in):
    """Return (offsets, tokens) with those tokens of each row that are multiples of `one_in`, at least 1, in order."""
    offsets, tokens = aligned(offsets), aligned(tokens)
    cdef size_t i, at, some, count, n = _checked_rows(offsets, tokens), made = 0, done = 0
    cdef uint64_t last_pause = 0
    if one_in < 1:
        raise ValueError(f"one_in must be at least 1, not {one_in}")
    cdef sets_divisor divisor = sets_divisor_of(one_in)
    out_offsets_array = np.zeros(n + 1, np.int64)
    out_array = np.empty(len(tokens) + 1, np.uint64)
    cdef int64_t[::1] out_offsets = out_offsets_array
    cdef uint64_t[::1] out = out_array
    with nogil:
        for i in range(n):
            at, count = offsets[i], offsets[i + 1] - offsets[i]
            while count:
                some = min(count, <size_t>WORK)
                made += sets_sample(&tokens[at], some, &divisor, &out[made])
                at, count, done = at + some, count - some, done + some
                if done >= WORK:
                    done = 0
                    pause(&last_pause)
            out_offsets[i + 1] = <int64_t>made
    return out_offsets_array, out_array[:made].copy()


def fingerprints(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None, key not None):
    """Return each row's number of tokens and the product of key - token over them, uint64 (n, 3).

    `key` is two numbers in 2**32..2**61 - 2. Equal multisets have equal fingerprints under every key, and different
    multisets of n tokens under at most n - 1 of the keys.
    """
    offsets, tokens = aligned(offsets), aligned(tokens)
    cdef size_t i, n = _checked_rows(offsets, tokens), done = 0
    cdef uint64_t last_pause = 0
    cdef uint64_t[2] at
    at[0], at[1] = key
    if not (SETS_KEY_LEAST <= at[0] < P61 and SETS_KEY_LEAST <= at[1] < P61):
        raise ValueError("key must be two numbers in 2**32..2**61 - 2")
    out_array = np.empty((n, 3), np.uint64)
    cdef uint64_t[:, ::1] out = out_array
    cdef const uint64_t* first = &tokens[0] if len(tokens) else NULL
    with nogil:
        for i in range(n):
            sets_fingerprint(first + offsets[i], offsets[i + 1] - offsets[i], at, &out[i, 0])
            done += offsets[i + 1] - offsets[i] + 1
            if done >= WORK:
                done = 0
                pause(&last_pause)
    return out_array


cdef sets_rule _rule(double threshold, bint containment) except *:
    cdef sets_rule rule
    _check_threshold(threshold)
    rule.measure, rule.threshold = SETS_CONTAINMENT if containment else SETS_JACCARD, threshold
    return rule


def similarities(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None,
                 const int64_t[::1] left not None, const int64_t[::1] right not None, double threshold,
                 bint containment=False):
    """Return the similarity of each pair of rows, float64; -1 where it is below the threshold.

    For rows of a and b tokens that share o it is o / (a + b - o), the Jaccard similarity, or o / min(a, b), the
    containment. Each row must hold different tokens. Pairs sorted by `left` are fastest.
    """
    offsets, tokens, left, right = aligned(offsets), aligned(tokens), aligned(left), aligned(right)
    cdef size_t n = _checked_rows(offsets, tokens), pairs = len(left)
    cdef uint64_t last_pause = 0
    cdef pair_walk walk
    memset(&walk, 0, sizeof(walk))
    _check_pairs(left, right, n)
    cdef sets_rule rule = _rule(threshold, containment)
    out_array = np.empty(pairs, np.float64)
    if pairs == 0:
        return out_array
    table_array = np.empty(sets_table_size(longest_row(&offsets[0], n)), np.uint64)
    cdef double[::1] out = out_array
    cdef uint64_t[::1] table = table_array
    cdef const uint64_t* first = &tokens[0] if len(tokens) else NULL
    with nogil:
        while not sets_compare_pairs(&offsets[0], first, &left[0], &right[0], pairs, rule, &table[0], &walk, WORK,
                                     &out[0]):
            pause(&last_pause)
    return out_array


def agreements(const uint64_t[:, ::1] signatures not None, const int64_t[::1] left not None,
               const int64_t[::1] right not None):
    """Return the number of equal slots of each pair of signatures, int64; 0 where one is empty."""
    signatures, left, right = aligned_rows(signatures), aligned(left), aligned(right)
    cdef size_t n = signatures.shape[0], k = signatures.shape[1], p, pairs = len(left), done = 0
    cdef uint64_t last_pause = 0
    _check_pairs(left, right, n)
    if k < 1:
        raise ValueError("signatures must have at least one slot")
    cdef const slots_kernels* level = slots_levels[in_use[0]]
    out_array = np.empty(pairs, np.int64)
    cdef int64_t[::1] out = out_array
    with nogil:
        for p in range(pairs):
            out[p] = <int64_t>slots_agreement(level, &signatures[left[p], 0], &signatures[right[p], 0], k)
            done += k
            if done >= WORK:
                done = 0
                pause(&last_pause)
    return out_array


@cython.auto_pickle(False)
cdef class Components:
    """The components of a graph over n rows, to which pairs are added in any number of steps."""

    cdef object array
    cdef int64_t[::1] labels

    def __cinit__(self, size_t n):
        self.array = np.arange(n, dtype=np.int64)
        self.labels = self.array

    def join(self, const int64_t[::1] left not None, const int64_t[::1] right not None):
        """Join the two rows of each pair."""
        left, right = aligned(left), aligned(right)
        cdef int64_t[::1] labels = self.labels
        cdef size_t at = 0, some, pairs = len(left)
        cdef uint64_t last_pause = 0
        _check_pairs(left, right, len(labels))
        with nogil:
            while at < pairs:
                some = min(pairs - at, <size_t>WORK)
                sets_join_components(&left[at], &right[at], some, &labels[0])
                at += some
                pause(&last_pause)

    def finished(self):
        """Return the smallest row of each row's component, int64 (n,); nothing may be joined after this."""
        cdef int64_t[::1] labels = self.labels
        cdef size_t n = len(labels)
        if n:
            with nogil:
                sets_label_components(n, &labels[0])
        self.labels = np.empty(0, np.int64)
        return self.array


def components(const int64_t[::1] left not None, const int64_t[::1] right not None, size_t n):
    """Return the smallest row of each row's component, int64 (n,)."""
    graph = Components(n)
    graph.join(left, right)
    return graph.finished()


def stars(const int64_t[::1] order not None, const int64_t[::1] offsets not None,
          const int64_t[::1] neighbours not None):
    """Return (keeper, by), int64 (n,): the row kept in each row's place, and which entry of neighbours says so.

    Rows are gone through in the given order, a permutation; row i's neighbours are neighbours[offsets[i]:offsets[i+1]].
    """
    order, offsets, neighbours = aligned(order), aligned(offsets), aligned(neighbours)
    cdef size_t n = len(order), at = 0, some
    cdef uint64_t last_pause = 0
    if <size_t>len(offsets) != n + 1 or not rows_are_valid(&offsets[0], n, len(neighbours)):
        raise ValueError(f"offsets must be {n + 1} and rise from 0 to at most {len(neighbours)}")
    if n and not are_below(&order[0], n, n) or len(neighbours) and not are_below(&neighbours[0], len(neighbours), n):
        raise ValueError(f"rows must be below {n}")
    keeper_array, by_array = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    cdef int64_t[::1] keeper = keeper_array, by = by_array
    if n:
        with nogil:
            while at < n:
                some = min(n - at, <size_t>ROWS)
                sets_stars(&order[at], some, &offsets[0], &neighbours[0] if neighbours.shape[0] else NULL, &keeper[0],
                        &by[0])
                at += some
                pause(&last_pause)
        if keeper_array.min() < 0:
            raise ValueError(f"order must hold each of the {n} rows once")
    return keeper_array, by_array


cdef size_t equal_slots(const uint64_t* a, const uint64_t* b, size_t k) noexcept nogil:
    return slots_agreement(slots_levels[in_use[0]], a, b, k)


cdef size_t table_of_set(size_t n) noexcept nogil:
    return sets_table_size(n)


cdef size_t distinct_tokens(const uint64_t* tokens, size_t n, uint64_t* table, uint64_t* out) noexcept nogil:
    return sets_distinct(tokens, n, table, out)


cdef double jaccard_of_sets(const uint64_t* a, size_t n, const uint64_t* b, size_t m, uint64_t* table) noexcept nogil:
    return sets_jaccard(a, n, b, m, table)
