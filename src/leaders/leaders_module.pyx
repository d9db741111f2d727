"""Leaders of sets: each set joins the first earlier leader that is similar enough, or becomes a leader itself."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

import os

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, pause

cdef extern from "hamming/hamming.h":
    const size_t HAMMING_GROUP, HAMMING_MAX_WORDS, HAMMING_PIECE
    struct hamming_kernels:
        pass
    const hamming_kernels** hamming_levels

cdef extern from "leaders/leaders.h":
    const uint32_t LEADERS_NONE
    struct leaders:
        const int64_t* offsets
        const uint32_t* ranks
        uint64_t common, p, q
        uint64_t* keys
        uint32_t* first
        uint32_t* last
        unsigned shift
        uint32_t* rows
        uint32_t* next
        size_t postings
        uint32_t* met
        uint32_t* held
        const hamming_kernels* kernels
        uint64_t* columns
        size_t words
        uint64_t secret
        int exact
        uint32_t* leader_rows
        size_t count, largest
        uint64_t* near
    size_t leaders_prefix(size_t, uint64_t, uint64_t) nogil
    size_t leaders_of_row(leaders*, size_t, size_t*) nogil

# Nobody can choose ranks whose bits in bitmaps coincide. Results do not depend on it.
cdef uint64_t secret = int.from_bytes(os.urandom(8), "little") | 1

# Bits of a bitmap for each rank of an average set. Those of two disjoint sets of n ranks differ in 1.65 n bits on average.
cdef size_t BITS_OF_RANK = 10


def leaders_of_sets(const int64_t[::1] offsets not None, const uint32_t[::1] ranks not None, size_t universe,
                    uint64_t p, uint64_t q, common=None):
    """Return the leader of each set, int64 (n,): the first earlier leader that is similar to it, or the set itself.

    Row i is ``ranks[offsets[i]:offsets[i + 1]]``, ascending and distinct, below `universe`, the rarest first. Sets of a
    and b elements are similar if they share at least p / q * (a + b), with 0 < p <= q / 2 and q < 2**32. No two rows
    may be equal.
    """
    if len(offsets) == 0:
        raise ValueError("offsets must hold at least one number: n + 1 for n rows")
    cdef Py_ssize_t n = len(offsets) - 1, i, j, m = len(ranks)
    cdef size_t room = 0, work = 0, places = 2
    cdef uint64_t last_pause = 0
    cdef leaders state
    if not (0 < p and 2 * p <= q < 2**32):
        raise ValueError(f"p and q must be 0 < p <= q / 2 < 2**31, not {p} and {q}")
    if n >= LEADERS_NONE or universe > LEADERS_NONE:
        raise ValueError(f"there must be below 2**32 - 1 rows and ranks, not {n} and {universe}")
    offsets = aligned(offsets)
    ranks = aligned(ranks)
    if offsets[0] < 0 or offsets[n] > m:
        raise ValueError(f"offsets must be in 0..{m}, not {offsets[0]}..{offsets[n]}")
    for i in range(n):
        if not 0 <= offsets[i] <= offsets[i + 1] <= m or offsets[i + 1] - offsets[i] >= 2**31:
            raise ValueError(f"offsets must ascend by less than 2**31, not from {offsets[i]} to {offsets[i + 1]}")
        for j in range(offsets[i], offsets[i + 1]):
            if ranks[j] >= universe or (j > offsets[i] and ranks[j] <= ranks[j - 1]):
                raise ValueError(f"ranks of row {i} must ascend, below {universe}, not be {ranks[j]}")
        room += leaders_prefix(offsets[i + 1] - offsets[i], p, q)
    if room >= LEADERS_NONE:
        raise ValueError("there are too many ranks: the prefixes of all rows must be below 2**32 - 1")
    found_array = np.empty(n, np.int64)
    cdef int64_t[::1] found = found_array
    cdef unsigned log_places = 1
    while places < 2 * room:
        places, log_places = 2 * places, log_places + 1
    cdef uint64_t[::1] keys = np.empty(places, np.uint64)
    cdef uint32_t[::1] first = np.full(places, LEADERS_NONE, np.uint32)
    cdef uint32_t[::1] last = np.empty(places, np.uint32)
    cdef uint32_t[::1] rows = np.empty(room + 1, np.uint32)
    cdef uint32_t[::1] following = np.empty(room + 1, np.uint32)
    cdef uint32_t[::1] met = np.zeros(n + 1, np.uint32)
    cdef uint32_t[::1] held = np.zeros(universe + 1, np.uint32)
    state.offsets, state.ranks = &offsets[0], (&ranks[0] if m else NULL)
    state.p, state.q, state.postings = p, q, 0
    state.keys, state.first, state.last, state.shift = &keys[0], &first[0], &last[0], 64 - log_places
    state.rows, state.next = &rows[0], &following[0]
    state.met, state.held = &met[0], &held[0]
    cdef size_t bits = min(universe, BITS_OF_RANK * <size_t>(m // max(n, 1) + 1))
    state.words = min(max((bits + 63) // 64, 2), HAMMING_MAX_WORDS)
    cdef uint64_t[::1] columns = np.zeros((n + HAMMING_GROUP) // HAMMING_GROUP * HAMMING_GROUP * state.words, np.uint64)
    cdef uint32_t[::1] leader_rows = np.empty(n + 1, np.uint32)
    cdef uint64_t[::1] near = np.empty(HAMMING_PIECE, np.uint64)
    state.kernels = hamming_levels[level_in_use()[0]]
    state.columns, state.leader_rows, state.near = &columns[0], &leader_rows[0], &near[0]
    state.secret, state.exact = secret, universe <= 64 * state.words
    state.common = universe if common is None else common
    state.count = state.largest = 0
    with nogil:
        for i in range(n):
            found[i] = leaders_of_row(&state, i, &work)
            if work >= WORK:
                work = 0
                pause(&last_pause)
    return found_array
