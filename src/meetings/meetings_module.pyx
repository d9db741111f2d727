"""Pairs of rows that share a bucket and have near codes: candidates of points, without a list of all pairs."""

cimport cython
from libc.math cimport nextafterf
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.distances import words_of
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause

cdef extern from "bits/bits.h":
    struct bits_kernels:
        pass
    const bits_kernels** bits_levels

cdef extern from "distances/products.h":
    struct products_kernels:
        pass
    const products_kernels** products_levels
    const float PRODUCTS_ERROR
    float products_error(size_t dim) noexcept nogil

cdef extern from "meetings/meetings.h":
    enum: MEETINGS_CHUNK, MEETINGS_BLOCK, MEETINGS_MOST_DIM
    struct meetings_list:
        const uint64_t* keys
        const int32_t* rows
        size_t n, first, end
    struct meetings_points:
        const uint64_t* words
        const int64_t* order
        size_t width, dim, screened
        bint wide
        float least
        const products_kernels* kernels
        float* panels
        float* units
        float* products
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
        meetings_points points
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

    With points, (m, words), their measure, and the point of each row, `order`, pairs are left out that the points show
    to be beyond `value`: some of them, where many codes are near. Only dense points with the measure "cosine" do so.
    """

    cdef meetings state
    cdef readonly object _held
    cdef uint64_t[::1] _chunk
    cdef int32_t[::1] _unequal
    cdef float[::1] _panels, _units, _products

    def __cinit__(self, const uint64_t[::1] left_keys not None, const int32_t[::1] left_rows not None,
                  const uint64_t[::1] right_keys not None, const int32_t[::1] right_rows not None,
                  const uint64_t[:, ::1] codes not None, int32_t most, const int32_t[::1] limits not None,
                  const int32_t[::1] labels=None, const uint64_t[:, ::1] points=None, tuple measure=None,
                  const int64_t[::1] order=None, double value=2):
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
        if points is not None and n:
            self._use_points(aligned_rows(points), measure, order, value, n)

    cdef _use_points(self, const uint64_t[:, ::1] points, tuple measure, const int64_t[::1] order, double value, size_t n):
        cdef meetings_points* used = &self.state.points
        cdef size_t words = words_of(*measure), dim = measure[2], i
        if <size_t>points.shape[1] != words:
            raise ValueError(f"points must have rows of {words} words, not of {points.shape[1]}")
        if order is None or <size_t>len(order) != n:
            raise ValueError(f"order must have {n} elements, one for each code")
        order = aligned(order)
        for i in range(n):
            if order[i] < 0 or order[i] >= points.shape[0]:
                raise ValueError(f"order must be within 0..{points.shape[0] - 1}, not {order[i]}")
        if measure[0] != "cosine" or measure[1] not in ("float32", "float64") or dim > MEETINGS_MOST_DIM:
            return
        self._held += (points, order)
        self._panels = np.empty(MEETINGS_CHUNK * dim, np.float32)
        self._units = np.empty(MEETINGS_BLOCK * dim, np.float32)
        self._products = np.empty(MEETINGS_BLOCK * MEETINGS_CHUNK, np.float32)
        used.words, used.order, used.width, used.dim = &points[0, 0], &order[0], words, dim
        used.wide = measure[1] == "float64"
        used.panels, used.units, used.products = &self._panels[0], &self._units[0], &self._products[0]
        # The last term is for the rounding of this bound.
        used.least = nextafterf(<float>(1 - value - products_error(dim) - PRODUCTS_ERROR), -4)

    @property
    def done(self):
        """Whether all pairs were written."""
        return bool(self.state.done)

    @property
    def compared(self):
        """The number of pairs whose codes were compared."""
        return self.state.compared

    @property
    def screened(self):
        """The number of pairs with near codes that were left out for their points."""
        return self.state.points.screened

    def find(self, uint64_t[::1] out not None):
        """Write the next pairs, right << 32 | left, and return their number: as many as fit, and all if `done`.

        Pairs that points leave out take room, so that a call reads the points of at most len(out) pairs.
        """
        cdef size_t made = 0, taken = 0, room = len(out), before = self.state.points.screened
        cdef uint64_t last_pause = 0
        if room < MEETINGS_CHUNK:
            raise ValueError(f"out must have at least {MEETINGS_CHUNK} elements, not {room}")
        check_out(&out[0], sizeof(uint64_t))
        self.state.kernels = bits_levels[in_use[0]]
        self.state.points.kernels = products_levels[in_use[0]]
        with nogil:
            while not self.state.done and room - taken >= MEETINGS_CHUNK:
                made += meetings_find(&self.state, &out[made], room - taken, WORK)
                taken = made + self.state.points.screened - before
                pause(&last_pause)
        return made


cdef meetings_list _list(const uint64_t[::1] keys, const int32_t[::1] rows) noexcept:
    cdef meetings_list made
    made.n, made.first, made.end = len(keys), 0, 0
    made.keys, made.rows = NULL, NULL
    if made.n:
        made.keys, made.rows = &keys[0], &rows[0]
    return made
