# For the tables modules of this package. `tables` points to a struct band_tables, and `names` are int64 (n,) or a list of
# str, as the tables have them.
from libc.stdint cimport int64_t, uint8_t

# Raise the error of an `outcome` of the tables' C; return 0 if there is none.
cdef int check_outcome(int outcome) except -1

# Write the row of each name to `rows`, (n,), and 1 to `fresh`, (n,), zeros at first, where it is new. With `keys`, a
# KeyTable, names are any keys, and all or none are admitted.
cdef int admit_names(void* tables, object names, int64_t[::1] rows, uint8_t[::1] fresh) except -1
cdef int admit_keys(void* tables, object names, object keys, int64_t[::1] rows, uint8_t[::1] fresh) except -1

# Return the row of each name, -1 where there is none: int64 (n,).
cdef object find_names(void* tables, object names)

# Gather the crowd of fixed tables if searches have `compared` enough names for that by now.
cdef int gather_crowd(void* tables, size_t compared) except -1

# Return the name of a `row` below the limit of the tables; its number if the tables have no names.
cdef object name_at(const void* tables, size_t row)

# Return the names, or the tags, of `rows` below the limit of the tables.
cdef object names_at(const void* tables, const int64_t[::1] rows)
cdef object tags_at(const void* tables, const int64_t[::1] rows)
