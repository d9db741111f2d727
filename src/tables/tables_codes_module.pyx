"""The search of neighbors by the codes of an index's rows."""

from libc.math cimport isnan
from libc.stdint cimport SIZE_MAX, int64_t, uint8_t, uint64_t
from libc.string cimport memset

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, pause
from lshfast.kernels.names cimport check_outcome
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

cdef extern from "tables/code_search.h":
    struct code_search:
        const band_tables** tables
        size_t count
        const hamming_kernels* kernels
        const products_kernels* products
        distances_function* distance
        size_t dim, most, limit, work, used
        unsigned reach
        const uint8_t* near
        const double* enough
        double within
        bint first
        uint64_t* rows
        double* distances
    tables_outcome code_search_begin(code_search*) nogil
    void code_search_end(code_search*) nogil
    band_tables_outcome code_search_run(
        code_search*, const uint64_t*, const uint64_t*, size_t, size_t*, int64_t*, int64_t*) nogil

cdef const int* in_use = level_in_use()


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
    search.first, search.limit = False, SIZE_MAX
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
    cdef size_t t, m = codes.shape[0]
    cdef const band_tables* first = search.tables[0]
    for t in range(search.count):
        if search.tables[t].heads == NULL and search.tables[t].limit:
            raise ValueError("only tables with codes can be searched by codes")
        if (search.tables[t].slots, search.tables[t].head, search.tables[t].k) != (first.slots, first.head, first.k):
            raise ValueError("the tables must have codes and payloads of the same lengths")
    if words_of(*measure) != first.k - first.slots:
        raise ValueError(f"{measure} needs a payload of {words_of(*measure)} words, not {first.k - first.slots}")
    if <size_t>codes.shape[1] != first.slots:
        raise ValueError(f"codes must be (m, {first.slots}), not ({m}, {codes.shape[1]})")
    if <size_t>points.shape[0] != m or <size_t>points.shape[1] != first.k - first.slots:
        raise ValueError(f"points must be ({m}, {first.k - first.slots}), not ({points.shape[0]}, {points.shape[1]})")
    if not 1 <= <size_t>len(enough) <= 64 * first.slots + 1:
        raise ValueError(f"enough must have 1 to {64 * first.slots + 1} distances, not {len(enough)}")
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
