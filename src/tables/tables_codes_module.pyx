"""The search of neighbors by the codes of an index's rows: of many points at once, or of one."""

cimport cython
from libc.math cimport isnan
from libc.stdint cimport SIZE_MAX, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from lshfast.kernels.arrays cimport doubles_of, floats_of
from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, pause
from lshfast.kernels.names cimport check_outcome, name_at
from lshfast.kernels.distances import LAYOUTS, MEASURES, words_of
from tables_declarations cimport *

cdef extern from "distances/distances.h":
    ctypedef double distances_function(const uint64_t*, const uint64_t*, size_t) noexcept nogil
    struct distances_kernels:
        distances_function* of[5][4]
    const distances_kernels** distances_levels

cdef extern from "hamming/hamming.h":
    struct hamming_kernels:
        pass
    const hamming_kernels** hamming_levels

cdef extern from "distances/products.h":
    size_t PRODUCTS_MOST_DIM
    struct products_kernels:
        pass
    const products_kernels** products_levels

cdef extern from "tables/code_cells.h":
    struct code_cells_making:
        const band_tables* index
        const products_kernels* kernels
        code_cells cells
    size_t code_cells_for(size_t, size_t) nogil
    bint code_cells_wanted(const band_tables*, size_t) nogil
    bint code_cells_begin(code_cells_making*) nogil
    bint code_cells_divide(code_cells_making*) nogil
    bint code_cells_end(code_cells_making*, code_cells*, bint) nogil

cdef extern from "rotations/rotations.h":
    const size_t ROTATIONS_ROUNDS, ROTATIONS_MAX_DIM
    struct rotations_kernels:
        pass
    const rotations_kernels** rotations_levels
    struct rotations_shape:
        size_t parts, block
    rotations_shape rotations_shape_of(size_t) nogil

cdef extern from "points/points.h":
    struct points_reader:
        const rotations_kernels* kernels
        distances_function* squared
        const float* factors
        size_t bits, dim
        bint wide
        double most, least
        uint64_t* code
        uint64_t* words
    bint points_begin(points_reader*) nogil
    void points_end(points_reader*) nogil
    bint points_read_floats(points_reader*, const float*) nogil
    bint points_read_doubles(points_reader*, const double*) nogil

cdef extern from "tables/code_search.h":
    struct code_search_query:
        size_t capacity
    struct code_search:
        const band_tables** tables
        size_t count
        const hamming_kernels* kernels
        const products_kernels* products
        distances_function* distance
        size_t dim, most, limit, work, used, capacity, sorted_capacity
        code_search_query* query
        unsigned reach
        const uint8_t* near
        const double* enough
        double within
        bint first, alone
        uint64_t* rows
        double* distances
    tables_outcome code_search_begin(code_search*) nogil
    void code_search_end(code_search*) nogil
    band_tables_outcome code_search_run(
        code_search*, const uint64_t*, const uint64_t*, size_t, size_t*, int64_t*, int64_t*) nogil

cdef const int* in_use = level_in_use()

cdef enum:
    MOST_SPARE = 1 << 16  # rows that there is always memory for in searches for one point


cdef bint arrange(void* tables, tuple measure, size_t least) except -1:
    """Return what `BandTables.arrange` does."""
    cdef band_tables* c = <band_tables*>tables
    cdef code_cells_making making
    cdef uint64_t last_pause = 0
    cdef bint made = False, done = False
    if not c.head or measure[0] != "cosine" or measure[1] not in ("float32", "float64"):
        return False
    if measure[2] > PRODUCTS_MOST_DIM or words_of(*measure) != c.k - c.slots or not code_cells_wanted(c, least):
        return False
    memset(&making, 0, sizeof(making))
    making.index, making.kernels = c, products_levels[in_use[0]]
    making.cells.distance = distances_levels[in_use[0]].of[<int>LAYOUTS.index(measure[1])][<int>MEASURES.index(measure[0])]
    making.cells.dim, making.cells.wide = measure[2], measure[1] == "float64"
    making.cells.count = code_cells_for(c.limit - c.free_count, least)
    try:
        with nogil:
            made = code_cells_begin(&making)
        while made and not done:
            with nogil:
                done = code_cells_divide(&making)
            pause(&last_pause)
    except BaseException:
        code_cells_end(&making, &c.cells, False)
        raise
    with nogil:
        made = code_cells_end(&making, &c.cells, made)
    return made


cdef tuple codes_search_of(const void** tables, size_t count, const uint64_t[:, ::1] codes,
                           const uint64_t[:, ::1] points, tuple measure, const uint8_t[::1] near,
                           const double[::1] enough, object most, object within, object limit, size_t room):
    """Return what `search_codes` does."""
    cdef code_search search
    cdef size_t m = codes.shape[0], answered = 0
    search.tables, search.count = <const band_tables**>tables, count
    check(&search, codes, points, measure, near, enough)
    search.kernels, search.products = hamming_levels[in_use[0]], products_levels[in_use[0]]
    search.distance = distances_levels[in_use[0]].of[<int>LAYOUTS.index(measure[1])][<int>MEASURES.index(measure[0])]
    search.dim, search.work = measure[2], WORK
    search.reach, search.near, search.enough = len(enough) - 1, &near[0], &enough[0]
    search.most = SIZE_MAX if most is None else most
    search.within = float("inf") if within is None else within
    search.first, search.alone, search.limit = False, False, SIZE_MAX
    if limit is not None:
        search.first, search.limit = limit[0] == "first", limit[1]
    if search.most < 1 or search.limit < 1 or isnan(search.within):
        raise ValueError(f"most and limit must be at least 1, and within a number, not {most}, {limit} and {within}")
    offsets_array, examined_array = np.zeros(m + 1, np.int64), np.zeros(m, np.int64)
    cdef int64_t[::1] offsets = offsets_array, examined = examined_array
    check_outcome(code_search_begin(&search))
    try:
        if m:
            answered = run(&search, &codes[0, 0], &points[0, 0], m, &examined[0], &offsets[0], room)
        rows, distances = np.empty(search.used, np.int64), np.empty(search.used)
        if search.used:
            rows[:] = <int64_t[:search.used]><int64_t*>search.rows
            distances[:] = <double[:search.used]>search.distances
        return offsets_array[:answered + 1], rows, distances, examined_array[:answered]
    finally:
        code_search_end(&search)


cdef check(code_search* search, const uint64_t[:, ::1] codes, const uint64_t[:, ::1] points, tuple measure,
           const uint8_t[::1] near, const double[::1] enough):
    cdef size_t m = codes.shape[0]
    cdef const band_tables* first = search.tables[0]
    check_tables(<const void**>search.tables, search.count, measure)
    if <size_t>codes.shape[1] != first.slots:
        raise ValueError(f"codes must be (m, {first.slots}), not ({m}, {codes.shape[1]})")
    if <size_t>points.shape[0] != m or <size_t>points.shape[1] != first.k - first.slots:
        raise ValueError(f"points must be ({m}, {first.k - first.slots}), not ({points.shape[0]}, {points.shape[1]})")
    check_levels(near, enough, 64 * first.slots)


cdef check_tables(const void** tables, size_t count, tuple measure):
    cdef const band_tables* first = <const band_tables*>tables[0]
    cdef const band_tables* each
    cdef size_t t
    for t in range(count):
        each = <const band_tables*>tables[t]
        if each.heads == NULL and each.limit:
            raise ValueError("only tables with codes can be searched by codes")
        if each.slots != first.slots or each.head != first.head or each.k != first.k:
            raise ValueError("the tables must have codes and payloads of the same lengths")
    if words_of(*measure) != first.k - first.slots:
        raise ValueError(f"{measure} needs a payload of {words_of(*measure)} words, not {first.k - first.slots}")


cdef check_levels(const uint8_t[::1] near, const double[::1] enough, size_t bits):
    if not 1 <= <size_t>len(enough) <= bits + 1:
        raise ValueError(f"enough must have 1 to {bits + 1} distances, not {len(enough)}")
    cdef size_t level, levels = enough.shape[0]
    cdef bint falls = <size_t>near.shape[0] != levels
    for level in range(1, 0 if falls else levels):
        falls = falls or near[level] < near[level - 1]
    if falls:
        raise ValueError(f"near must have {levels} numbers that do not fall")


cdef size_t run(code_search* search, const uint64_t* codes, const uint64_t* points, size_t m, int64_t* examined,
                int64_t* offsets, size_t room) except? 0:
    """Return how many queries were answered: all, or those up to where the answers took all of the room."""
    cdef size_t next = 0
    cdef uint64_t last_pause = 0
    cdef band_tables_outcome outcome = BAND_TABLES_UNFINISHED
    with nogil:
        while outcome == BAND_TABLES_UNFINISHED and (search.used < room or not next):
            outcome = code_search_run(search, codes, points, m, &next, examined, offsets)
            if outcome == BAND_TABLES_UNFINISHED:
                pause(&last_pause)
    if outcome == BAND_TABLES_NO_ROOM:
        raise MemoryError
    return next


@cython.auto_pickle(False)
cdef class _Desk:
    """The memory of a search for one point."""
    cdef points_reader reader
    cdef code_search search
    cdef size_t head  # words of the heads that the search is for; 0: it has not begun

    def __dealloc__(self):
        if self.head:
            code_search_end(&self.search)
        points_end(&self.reader)


@cython.auto_pickle(False)
cdef class CodeSearcher:
    """Searches for one point at a time by the signs of its rotations: what a search needs is made once, and used again.

    Threads may share it: each search has memory of its own.

    Parameters
    ----------
    measure : tuple of (str, str, int)
        "cosine", "float32" or "float64", and the coordinates of a point; see `lshfast.kernels.distances`.
    factors : ndarray of float32, shape (rotations, rounds * padded size)
        Of `lshfast.kernels.rotations.factors`, for all bits.
    bits : int
        Bits of a code, a multiple of 64.
    near, enough
        As for `lshfast.kernels.tables.search_codes`.
    most : float
        The greatest magnitude of a coordinate of float64.
    least : float
        The least sum of the squares of the coordinates.
    """
    cdef tuple measure
    cdef int layout
    cdef const float[:, ::1] factors
    cdef const uint8_t[::1] near
    cdef const double[::1] enough
    cdef size_t dim, bits
    cdef double most, least
    cdef list idle  # desks

    def __cinit__(self, tuple measure not None, const float[:, ::1] factors not None, size_t bits,
                  const uint8_t[::1] near not None, const double[::1] enough not None, double most, double least):
        if measure[0] != "cosine" or measure[1] not in ("float32", "float64"):
            raise ValueError(f"measure must be the cosine of dense points, not {measure}")
        if not 1 <= measure[2] <= ROTATIONS_MAX_DIM:
            raise ValueError(f"points must have 1 to {ROTATIONS_MAX_DIM} coordinates, not {measure[2]}")
        if not 64 <= bits <= 1 << 20 or bits % 64:
            raise ValueError(f"bits must be a multiple of 64 in 64..{1 << 20}, not {bits}")
        cdef rotations_shape shape = rotations_shape_of(measure[2])
        cdef size_t size = shape.parts * shape.block, rotations = (bits + size - 1) // size
        if <size_t>factors.shape[0] < rotations or <size_t>factors.shape[1] != ROTATIONS_ROUNDS * size:
            raise ValueError(f"factors must be ({rotations}, {ROTATIONS_ROUNDS * size}), "
                             f"not ({factors.shape[0]}, {factors.shape[1]})")
        check_levels(near, enough, bits)
        self.measure, self.layout = measure, LAYOUTS.index(measure[1])
        self.factors, self.near, self.enough = aligned_rows(factors), near, aligned(enough)
        self.dim, self.bits, self.most, self.least, self.idle = measure[2], bits, most, least, []

    cdef _Desk _take_desk(self, size_t head):
        """Return a desk for tables whose codes have heads of `head` words."""
        cdef _Desk desk = self.idle.pop() if self.idle else None
        if desk is not None and desk.head == head:
            return desk
        desk = _Desk.__new__(_Desk)
        desk.reader.factors, desk.reader.bits, desk.reader.dim = &self.factors[0, 0], self.bits, self.dim
        desk.reader.wide, desk.reader.most, desk.reader.least = self.measure[1] == "float64", self.most, self.least
        if not points_begin(&desk.reader):
            raise MemoryError
        desk.search.dim, desk.search.work = self.dim, WORK
        desk.search.first, desk.search.alone, desk.search.limit = False, True, SIZE_MAX
        desk.search.reach, desk.search.near, desk.search.enough = len(self.enough) - 1, &self.near[0], &self.enough[0]
        return desk

    cdef _leave_desk(self, _Desk desk):
        cdef code_search* search = &desk.search
        if search.capacity + search.sorted_capacity + search.query[0].capacity < MOST_SPARE:
            self.idle.append(desk)


cdef tuple measure_of(object searcher):
    return (<CodeSearcher?>searcher).measure


cdef tuple point_search_of(const void** tables, size_t count, object searcher, object point, object most, object within):
    cdef CodeSearcher one = <CodeSearcher?>searcher
    cdef const float* floats = floats_of(point, one.dim)
    cdef const double* doubles = doubles_of(point, one.dim)
    cdef const band_tables* first = <const band_tables*>tables[0]
    cdef int64_t examined = 0
    cdef int64_t[2] offsets
    cdef size_t i
    cdef _Desk desk
    cdef code_search* search
    if floats == NULL and doubles == NULL:
        return None
    check_tables(tables, count, one.measure)
    if 64 * first.slots != one.bits:
        raise ValueError(f"the tables must have codes of {one.bits} bits, not {64 * first.slots}")
    desk = one._take_desk(first.head)
    search = &desk.search
    desk.reader.kernels = rotations_levels[in_use[0]]
    desk.reader.squared = distances_levels[in_use[0]].of[one.layout][<int>MEASURES.index("euclidean")]
    if not (points_read_floats(&desk.reader, floats) if floats != NULL else points_read_doubles(&desk.reader, doubles)):
        return None
    search.tables, search.count, search.used = <const band_tables**>tables, count, 0
    search.kernels, search.products = hamming_levels[in_use[0]], products_levels[in_use[0]]
    search.distance = distances_levels[in_use[0]].of[one.layout][<int>MEASURES.index("cosine")]
    search.most, search.within = SIZE_MAX if most is None else most, float("inf") if within is None else within
    if search.most < 1 or isnan(search.within):
        raise ValueError(f"most must be at least 1, and within a number, not {most} and {within}")
    if not desk.head:
        check_outcome(code_search_begin(search))
        desk.head = first.head
    run(search, desk.reader.code, desk.reader.words, 1, &examined, offsets, SIZE_MAX)
    words_array = np.empty((1, first.k - first.slots), np.uint64)
    cdef uint64_t[:, ::1] words = words_array
    memcpy(&words[0, 0], desk.reader.words, words.shape[1] * sizeof(uint64_t))
    cdef list answers = []
    for i in range(search.used):
        answers.append((search.distances[i], name_at(tables[search.rows[i] >> 32], <uint32_t>search.rows[i])))
    one._leave_desk(desk)
    answers.sort()
    if search.used > search.most:
        del answers[most:]
    return [name for _, name in answers], [value for value, _ in answers], words_array
