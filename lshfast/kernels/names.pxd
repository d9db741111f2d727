# For the tables modules of this package. `tables` points to a struct band_tables.
from libc.stdint cimport int64_t, uint8_t

cdef int check_outcome(int outcome) except -1  # of the tables' C
cdef int admit_names(void* tables, object names, int64_t[::1] rows, uint8_t[::1] fresh) except -1
cdef int admit_keys(void* tables, object names, object keys, int64_t[::1] rows, uint8_t[::1] fresh) except -1
cdef object find_names(void* tables, object names)
cdef int gather_crowd(void* tables, size_t compared) except -1  # of fixed tables, if it is worth while by now
cdef object name_at(const void* tables, size_t row)
cdef object names_at(const void* tables, const int64_t[::1] rows)
cdef object tags_at(const void* tables, const int64_t[::1] rows)
