# For the tables module of this package. `tables` are pointers to structs band_tables.
from libc.stdint cimport uint8_t, uint64_t

# Make the cells of one table, of at least `least` rows, and return whether it has new ones. `measure` is as below.
cdef bint arrange(void* tables, tuple measure, size_t least) except -1

# Return what `search_codes` does for `count` tables: the neighbours of m `points`, (m, words), with `codes`, (m, slots), by
# `measure`, (distance, layout, dim). Rows of the levels of `near` and `enough`, (r + 1,), are examined. `most`, `within`
# and `limit` are None or end a search. At least one point is searched, and further ones until the answers have `room`
# rows.
cdef tuple codes_search_of(const void** tables, size_t count, const uint64_t[:, ::1] codes,
                           const uint64_t[:, ::1] points, tuple measure, const uint8_t[::1] near,
                           const double[::1] enough, object most, object within, object limit, size_t room)

# Return the measure of a `searcher`, a CodeSearcher.
cdef tuple measure_of(object searcher)

# Return what `search_point` does for `count` `tables`: the neighbours of a `point` by a `searcher`, a CodeSearcher; `most` and
# `within` are None or end the search.
cdef tuple point_search_of(const void** tables, size_t count, object searcher, object point, object most, object within)
