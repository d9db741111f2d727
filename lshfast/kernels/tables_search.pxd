# For the tables module of this package. `tables` points to a struct band_tables.
from libc.stdint cimport int64_t, uint64_t

# Return what `BandTables.search` does: the neighbours of m `points`, (m, words), in their `buckets`, (m, bands, probes), by
# `measure`, (distance, layout, dim). `most`, `within` and `limit` are None or end a search. `progress`, (m, 3), is
# written. At least one point is searched, and further ones until the answers have `room` rows.
cdef tuple search_of(const void* tables, const uint64_t[:, :, ::1] buckets, const uint64_t[:, ::1] points,
                     tuple measure, object most, object within, object limit, int64_t[:, ::1] progress, size_t room)
