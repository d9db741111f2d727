"""Pairs of rows that share a bucket and have near codes: candidates of points, without a list of all pairs."""

cimport cython
from libc.stdint cimport int32_t, uint64_t

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause

cdef extern from "bits/bits.h":
    struct bits_kernels:
        pass
    const bits_kernels** bits_levels

cdef extern from "meetings/meetings.h":
    enum: MEETINGS_CHUNK
    struct meetings_list:
        const uint64_t* keys
        const int32_t* rows
        size_t n, first, end
    struct meetings:
        meetings_list left, right
        const uint64_t* codes
        size_t words
        int32_t most
        const int32_t* limits
        const int32_t* labels
        const bits_kernels* kernels
        uint64_t* chunk
        int32_t* unequal
        size_t begun, row, compared
        bint done
    size_t meetings_find(meetings*, uint64_t*, size_t, size_t) nogil

cdef const int* in_use = level_in_use()

# The least room for pairs of one call.
LEAST_ROOM = MEETINGS_CHUNK


cdef _check_list(str side, const uint64_t[::1] keys, const int32_t[::1] rows, size_t n):
    cdef size_t i, m = len(keys)
    cdef int wrong = 0
    if <size_t>len(rows) != m:
        raise ValueError(f"{side}_rows must have {m} elements, one for each key, not {len(rows)}")
    with nogil:
        for i in range(m):
            if rows[i] < 0 or <size_t>rows[i] >= n:
                wrong = 1
            elif i and (keys[i] < keys[i - 1] or (keys[i] == keys[i - 1] and rows[i] <= rows[i - 1])):
                wrong = 2
            if wrong:
                break
    if wrong == 1:
        raise ValueError(f"{side}_rows must be within 0..{<Py_ssize_t>n - 1}, not {rows[i]}")
    if wrong == 2:
        raise ValueError(f"{side}_keys must rise, and rows of one key too, unlike place {i}")


@cython.final
@cython.auto_pickle(False)
cdef class Meetings:
    """The pairs of two lists of rows that share a bucket of one band, a batch at a time.

    Keys rise, and rows of one key too; 2**64 - 1 is the key of no bucket. A row of the right list is paired with rows
    of the left list below limits[row] and with another label, where codes, (rows, words), differ in at most `most`
    bits; words may be 0. Arrays must not change, except limits and labels between two calls of `find`.
    """

    cdef meetings state
    cdef readonly object _held
    cdef uint64_t[::1] _chunk
    cdef int32_t[::1] _unequal

    def __init__(self, const uint64_t[::1] left_keys not None, const int32_t[::1] left_rows not None,
                 const uint64_t[::1] right_keys not None, const int32_t[::1] right_rows not None,
                 const uint64_t[:, ::1] codes not None, int32_t most, const int32_t[::1] limits not None,
                 const int32_t[::1] labels=None):
        cdef size_t n = codes.shape[0]
        if <size_t>len(limits) != n:
            raise ValueError(f"limits must have {n} elements, one for each code, not {len(limits)}")
        if labels is not None and <size_t>len(labels) != n:
            raise ValueError(f"labels must have {n} elements, one for each code, not {len(labels)}")
        if n:
            check_out(&limits[0], sizeof(int32_t))
        if n and labels is not None:
            check_out(&labels[0], sizeof(int32_t))
        left_keys, right_keys, codes = aligned(left_keys), aligned(right_keys), aligned_rows(codes)
        left_rows, right_rows = aligned(left_rows), aligned(right_rows)
        _check_list("left", left_keys, left_rows, n)
        _check_list("right", right_keys, right_rows, n)
        self._held = (left_keys, left_rows, right_keys, right_rows, codes, limits, labels)
        self.state.left = _list(left_keys, left_rows)
        self.state.right = _list(right_keys, right_rows)
        self.state.words = codes.shape[1]
        self.state.codes = &codes[0, 0] if n and codes.shape[1] else NULL
        self.state.most = most
        self.state.limits = &limits[0] if n else NULL
        self.state.labels = &labels[0] if labels is not None and n else NULL
        self._chunk = np.empty(max(1, MEETINGS_CHUNK * codes.shape[1]), np.uint64)
        self._unequal = np.empty(MEETINGS_CHUNK, np.int32)
        self.state.chunk, self.state.unequal = &self._chunk[0], &self._unequal[0]

    @property
    def done(self):
        """Whether all pairs were written."""
        return bool(self.state.done)

    @property
    def compared(self):
        """The number of pairs whose codes were compared."""
        return self.state.compared

    def find(self, uint64_t[::1] out not None):
        """Write the next pairs, right << 32 | left, and return their number: as many as fit, and all if `done`."""
        cdef size_t made = 0, room = len(out), found
        cdef uint64_t last_pause = 0
        if room < MEETINGS_CHUNK:
            raise ValueError(f"out must have at least {MEETINGS_CHUNK} elements, not {room}")
        check_out(&out[0], sizeof(uint64_t))
        self.state.kernels = bits_levels[in_use[0]]
        with nogil:
            while not self.state.done and room - made >= MEETINGS_CHUNK:
                made += meetings_find(&self.state, &out[made], room - made, WORK)
                pause(&last_pause)
        return made


cdef meetings_list _list(const uint64_t[::1] keys, const int32_t[::1] rows) noexcept:
    cdef meetings_list made
    made.n, made.first, made.end = len(keys), 0, 0
    made.keys, made.rows = NULL, NULL
    if made.n:
        made.keys, made.rows = &keys[0], &rows[0]
    return made
