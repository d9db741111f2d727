# For the tables module of this package. `tables` points to a struct band_tables.
from libc.stdint cimport uint8_t

# *watchers counts the arrays over memory of the tables, which is part of `owner`.
cdef dict sections_of(object owner, const void* tables, dict kept, size_t* watchers)
cdef int lie_over(void* tables, dict sections, const uint8_t[::1] gone) except -1
cdef tuple sizes_of(const void* tables)
cdef tuple buckets_of(const void* tables)
