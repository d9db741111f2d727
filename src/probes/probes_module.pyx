"""Multi-probe: the most promising buckets of rotated vectors."""

cimport cython
from libc.stdint cimport uint32_t, uint64_t

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned_rows, check_out, pause, product_of, sum_of

cdef extern from "bands/bands.h":
    ctypedef void band_key_kernel(const uint64_t*, const uint64_t*, size_t, size_t, uint64_t*) noexcept nogil
    band_key_kernel** bands_levels
    void bands_starts(size_t, size_t, uint64_t*) nogil

cdef extern from "probes/probes.h":
    struct probes_choice:
        double cost
        uint32_t prefix, place, rank
    struct probes_space:
        probes_choice* choices
        uint32_t* heap
        uint32_t* order
        double* costs
        uint64_t* values
        uint64_t* slots
        uint64_t* sorted
    struct probes_bucket:
        unsigned bits
        uint64_t start
        band_key_kernel* hash
    size_t probes_cheapest(const probes_space*, size_t, size_t, size_t, uint32_t*) nogil
    void probes_of_signs(const probes_space*, const float*, size_t, size_t, const probes_bucket*, uint32_t*,
                         uint64_t*) nogil
    void probes_of_polytopes(const probes_space*, const float*, size_t, size_t, size_t, size_t, const probes_bucket*,
                             uint32_t*, uint64_t*) nogil
    void probes_of_lines(const probes_space*, const double*, size_t, size_t, const probes_bucket*, uint32_t*,
                         uint64_t*) nogil

cdef extern from "projections/projections.h":
    const double PROJECTIONS_END

cdef const int* in_use = level_in_use()

cdef enum:
    MAX_PROBES = 1 << 20
    MAX_ROWS = 1 << 12  # which are sorted by insertion
    MAX_OUTPUTS = 1 << 20


@cython.auto_pickle(False)
@cython.final
cdef class _Space:
    """The memory that a search works in."""

    cdef probes_space space
    cdef uint32_t* chosen
    cdef list arrays

    def __cinit__(self, size_t rows, size_t ranks, size_t probes, size_t outputs):
        if not 1 <= probes <= MAX_PROBES:
            raise ValueError(f"probes must be in 1..{MAX_PROBES}, not {probes}")
        if not 1 <= rows <= MAX_ROWS:
            raise ValueError(f"rows must be in 1..{MAX_ROWS}, not {rows}")
        self.arrays = []
        self.space.choices = <probes_choice*>self.room(product_of(3 * probes + 2, sizeof(probes_choice)))
        self.space.heap = <uint32_t*>self.room(product_of(3 * probes + 2, 4))
        self.space.order = <uint32_t*>self.room(product_of(rows, 4))
        self.space.costs = <double*>self.room(product_of(product_of(rows, ranks), 8))
        self.space.values = <uint64_t*>self.room(product_of(product_of(rows, ranks), 8))
        self.space.slots = <uint64_t*>self.room(product_of(rows, 8))
        self.space.sorted = <uint64_t*>self.room(product_of(outputs, 8))
        self.chosen = <uint32_t*>self.room(product_of(product_of(rows, probes), 4))

    cdef void* room(self, size_t size) except NULL:
        array = np.empty(sum_of(size, 8) // 8 + 1, np.uint64)
        cdef uint64_t[::1] words = array
        self.arrays.append(array)
        return &words[0]


def cheapest(const double[:, :, ::1] costs not None, size_t probes, uint32_t[:, :, ::1] chosen=None):
    """Return the costs of the cheapest choices of one number in each row, for n matrices: float64 (n, probes).

    The costs are (n, rows, ranks), ascending in each row from 0. Write the columns that are chosen to chosen,
    (n, probes, rows). Where there are less than `probes` choices, the cost is infinite and no column is written.
    """
    cdef size_t n = costs.shape[0], rows = costs.shape[1], ranks = costs.shape[2], i, j, k, found, done = 0
    cdef const double* cost
    cdef double sum
    cdef uint64_t last_pause = 0
    cdef _Space space = _Space(rows, ranks, probes, 0)
    if ranks < 1 or n < 1:
        raise ValueError(f"costs must have at least one matrix and one rank, not shape ({n}, {rows}, {ranks})")
    if chosen is not None and (<size_t>chosen.shape[0] != n or <size_t>chosen.shape[1] != probes
                               or <size_t>chosen.shape[2] != rows):
        raise ValueError(f"chosen must have shape ({n}, {probes}, {rows})")
    if <size_t>&costs[0, 0, 0] % sizeof(double):
        costs = costs.copy()
    if chosen is not None:
        check_out(&chosen[0, 0, 0], sizeof(uint32_t))
    array = np.full((n, probes), np.inf)
    cdef double[:, ::1] out = array
    with nogil:
        for i in range(n):
            cost = &costs[i, 0, 0]
            for j in range(rows * ranks):
                if not (cost[j] == 0 if j % ranks == 0 else cost[j] >= cost[j - 1]):
                    with gil:
                        raise ValueError("costs must ascend in each row, from 0 on")
                space.space.costs[j] = cost[j]
            found = probes_cheapest(&space.space, rows, ranks, probes, space.chosen)
            for k in range(found):
                sum = 0
                for j in range(rows):
                    sum += cost[j * ranks + space.chosen[k * rows + j]]
                    if chosen is not None:
                        chosen[i, k, j] = space.chosen[k * rows + j]
                out[i, k] = sum
            done += rows * ranks + 16 * probes * (rows + 8)
            if done >= WORK:
                done = 0
                pause(&last_pause)
    return array


def signs(const float[:, ::1] coordinates not None, size_t rows, uint64_t[:, :, ::1] out not None):
    """Write the most promising buckets of bands of signs to out, (n, bands, probes).

    The coordinates are (n, bands * rows), and finite.
    """
    _probe(coordinates, 1, rows, out)


def polytopes(const float[:, ::1] coordinates not None, size_t outputs, size_t rows, uint64_t[:, :, ::1] out not None):
    """Write the most promising buckets of bands of farthest coordinates to out, (n, bands, probes).

    The coordinates are (n, bands * rows * outputs), and finite; `outputs` is a power of two from 2 on.
    """
    if outputs < 2 or outputs & (outputs - 1) or outputs > MAX_OUTPUTS:
        raise ValueError(f"outputs must be a power of two in 2..{MAX_OUTPUTS}, not {outputs}")
    _probe(coordinates, outputs, rows, out)


cdef _probe(const float[:, ::1] coordinates, size_t outputs, size_t rows, uint64_t[:, :, ::1] out):
    coordinates = aligned_rows(coordinates)
    cdef size_t n = out.shape[0], bands = out.shape[1], probes = out.shape[2], width = outputs * rows, i, band
    cdef size_t ranks = 2 if outputs == 1 else min(probes, 2 * outputs), done = 0
    cdef uint64_t last_pause = 0
    cdef probes_bucket bucket
    if <size_t>coordinates.shape[0] != n or <size_t>coordinates.shape[1] != product_of(bands, width):
        raise ValueError(f"coordinates must have shape ({n}, {bands * width}), "
                         f"not ({coordinates.shape[0]}, {coordinates.shape[1]})")
    cdef _Space space = _Space(rows, ranks, probes, outputs)
    cdef uint64_t[::1] starts = np.empty(bands, np.uint64)
    if not n or not bands:
        return
    check_out(&out[0, 0, 0], sizeof(uint64_t))
    bands_starts(0, bands, &starts[0])
    bucket.bits = 1
    while outputs > 1 and <size_t>1 << bucket.bits < 2 * outputs:
        bucket.bits += 1
    bucket.hash = NULL if rows == 1 or rows * bucket.bits < 64 else bands_levels[in_use[0]]
    with nogil:
        for i in range(n):
            for band in range(bands):
                bucket.start = starts[band]
                if outputs == 1:
                    probes_of_signs(&space.space, &coordinates[i, band * width], rows, probes, &bucket, space.chosen,
                                    &out[i, band, 0])
                else:
                    probes_of_polytopes(&space.space, &coordinates[i, band * width], outputs, rows, ranks, probes,
                                        &bucket, space.chosen, &out[i, band, 0])
                done += width + 16 * probes * (rows + 8)
                if done >= WORK:
                    done = 0
                    pause(&last_pause)


def lines(const double[:, ::1] positions not None, size_t rows, uint64_t[:, :, ::1] out not None):
    """Write the most promising buckets of bands of cells to out, (n, bands, probes).

    The positions on the lines, in cells, are (n, bands * rows), each above -2**63 and below 2**63.
    """
    positions = aligned_rows(positions)
    cdef size_t n = out.shape[0], bands = out.shape[1], probes = out.shape[2], i, j, band, done = 0
    cdef uint64_t last_pause = 0
    cdef probes_bucket bucket
    if <size_t>positions.shape[0] != n or <size_t>positions.shape[1] != product_of(bands, rows):
        raise ValueError(f"positions must have shape ({n}, {bands * rows}), "
                         f"not ({positions.shape[0]}, {positions.shape[1]})")
    cdef _Space space = _Space(rows, 3, probes, 0)
    cdef uint64_t[::1] starts = np.empty(bands, np.uint64)
    if not n or not bands:
        return
    check_out(&out[0, 0, 0], sizeof(uint64_t))
    bands_starts(0, bands, &starts[0])
    bucket.bits = 0
    bucket.hash = NULL if rows == 1 else bands_levels[in_use[0]]
    with nogil:
        for i in range(n):
            for j in range(bands * rows):
                if not -PROJECTIONS_END < positions[i, j] < PROJECTIONS_END:
                    with gil:
                        raise ValueError(f"positions must be in (-2**63, 2**63), and row {i} has {positions[i, j]}")
            for band in range(bands):
                bucket.start = starts[band]
                probes_of_lines(&space.space, &positions[i, band * rows], rows, probes, &bucket, space.chosen,
                                &out[i, band, 0])
                done += 16 * probes * (rows + 8)
                if done >= WORK:
                    done = 0
                    pause(&last_pause)
