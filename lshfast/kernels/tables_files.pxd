# For the tables module of this package. `tables` points to a struct band_tables.
from libc.stdint cimport uint8_t

# Return the arrays of tables of which no row is free. They are over memory of the tables, which is part of `owner`;
# `watchers` points to the number of such arrays. `kept` has the arrays of signatures that are kept.
cdef dict sections_of(object owner, const void* tables, dict kept, size_t* watchers)

# Let fixed tables read `sections`, whose shapes are checked, and the marks `gone`, one a row. The caller keeps both.
cdef int lie_over(void* tables, dict sections, const uint8_t[::1] gone) except -1

# Return the bytes of memory, (signatures, tables, names), and what `BandTables.bucket_sizes` does.
cdef tuple sizes_of(const void* tables)
cdef tuple buckets_of(const void* tables)
