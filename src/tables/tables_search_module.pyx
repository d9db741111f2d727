"""The search of neighbors in an index's tables."""

from libc.math cimport isnan
from libc.stdint cimport SIZE_MAX, int64_t, uint32_t, uint64_t

import numpy as np

from lshfast.kernels.arrays cimport int64_of
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

cdef extern from "tables/band_tables_search.h":
    struct band_search_progress:
        int64_t examined, counted, ended
    struct band_search:
        distances_function* distance
        size_t dim, probes, most, limit, work, used
        double within
        bint first
        uint32_t* rows
        double* distances
    tables_outcome band_search_begin(band_search*, const band_tables*) nogil
    void band_search_end(band_search*) nogil
    band_tables_outcome band_search_run(
        const band_tables*, const uint64_t*, const uint64_t*, size_t, size_t*, band_search*, band_search_progress*,
        int64_t*) nogil

cdef const int* in_use = level_in_use()


cdef tuple search_of(const void* tables, const uint64_t[:, :, ::1] buckets, const uint64_t[:, ::1] points,
                     tuple measure, most, within, limit, int64_t[:, ::1] progress, size_t room):
    """Return what `BandTables.search` does."""
    cdef const band_tables* c = <const band_tables*>tables
    cdef band_search search
    cdef size_t m = buckets.shape[0], answered = 0
    check(c, buckets, points, measure, progress)
    search.distance = distances_levels[in_use[0]].of[<int>LAYOUTS.index(measure[1])][<int>MEASURES.index(measure[0])]
    search.dim, search.probes, search.work = measure[2], buckets.shape[2], min(room, <size_t>WORK)
    search.most = SIZE_MAX if most is None else most
    search.within = float("inf") if within is None else within
    search.first, search.limit = False, SIZE_MAX
    if limit is not None:
        search.first, search.limit = limit[0] == "first", limit[1]
    if search.most < 1 or search.limit < 1 or isnan(search.within):
        raise ValueError(f"most and limit must be at least 1, and within a number, not {most}, {limit} and {within}")
    offsets_array = np.zeros(m + 1, np.int64)
    cdef int64_t[::1] offsets = offsets_array
    check_outcome(band_search_begin(&search, c))
    try:
        if m:
            answered = run(c, &buckets[0, 0, 0], &points[0, 0], m, &search,
                           <band_search_progress*>&progress[0, 0], &offsets[0], room)
        distances = np.empty(search.used)
        if search.used:
            distances[:] = <double[:search.used]>search.distances
        return offsets_array[:answered + 1], int64_of(search.rows, search.used), distances
    finally:
        band_search_end(&search)


cdef check(const band_tables* c, const uint64_t[:, :, ::1] buckets, const uint64_t[:, ::1] points, tuple measure,
           int64_t[:, ::1] progress):
    cdef size_t m = buckets.shape[0], payload = c.k - c.slots
    if not c.apart:
        raise ValueError("only tables whose bands are judged apart can be searched")
    if words_of(*measure) != payload:
        raise ValueError(f"{measure} needs a payload of {words_of(*measure)} words, not {payload}")
    if <size_t>buckets.shape[1] != c.bands or buckets.shape[2] < 1:
        raise ValueError(f"buckets must be (m, {c.bands}, probes), not {tuple([n for n in buckets.shape[:3]])}")
    if <size_t>points.shape[0] != m or <size_t>points.shape[1] != payload:
        raise ValueError(f"points must be ({m}, {payload}), not ({points.shape[0]}, {points.shape[1]})")
    if <size_t>progress.shape[0] != m or progress.shape[1] != 3:
        raise ValueError(f"progress must be ({m}, 3), not ({progress.shape[0]}, {progress.shape[1]})")


cdef size_t run(const band_tables* c, const uint64_t* buckets, const uint64_t* points, size_t m, band_search* search,
                band_search_progress* progress, int64_t* offsets, size_t room) except? 0:
    """Return how many queries were answered: all, or those up to where the answers took all of the room."""
    cdef size_t next = 0
    cdef uint64_t last_pause = 0
    cdef band_tables_outcome outcome = BAND_TABLES_UNFINISHED
    with nogil:
        while outcome == BAND_TABLES_UNFINISHED and (search.used < room or not next):
            outcome = band_search_run(c, buckets, points, m, &next, search, progress, offsets)
            if outcome == BAND_TABLES_UNFINISHED:
                pause(&last_pause)
    if outcome == BAND_TABLES_UNSOUND:
        raise ValueError("an entry of the tables leads out of them")
    if outcome == BAND_TABLES_NO_ROOM:
        raise MemoryError
    return next
