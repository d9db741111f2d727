# For the tables module of this package: the keys of its rows, where these are any objects. `keys` is a KeyTable.
from libc.stdint cimport int64_t

cdef list keys_of_rows(object keys, const int64_t[::1] rows)
cdef int keys_reserve(object keys, size_t rows) except -1  # have room for so many rows
# These ask no key anything, so they cannot fail half-way.
cdef int keys_move(object keys, const int64_t* old, const int64_t* new, size_t n) except -1
cdef int keys_forget(object keys, const int64_t* rows, size_t n) except -1  # `keys_clean` takes the keys out of the dict
cdef int keys_withdraw(object keys, const int64_t* rows, size_t n) except -1  # undo the last `add`, of these rows
cdef int keys_clean(object keys, list absent) except -1
