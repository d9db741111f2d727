# For the tables module of this package: the keys of its rows, where these are any objects. `keys` is a KeyTable, and
# `rows` has `n` rows.
from libc.stdint cimport int64_t

# Return the keys of rows.
cdef list keys_of_rows(object keys, const int64_t[::1] rows)

# Make room for `rows` rows.
cdef int keys_reserve(object keys, size_t rows) except -1

# The functions below call no method of a key, except `keys_clean`, so they cannot fail half-way.

# Give the keys of the rows in `old` to those in `new`, which have none and for which there is room.
cdef int keys_move(object keys, const int64_t* old, const int64_t* new, size_t n) except -1

# Take rows from their keys. `keys_clean` takes the keys out of the dict.
cdef int keys_forget(object keys, const int64_t* rows, size_t n) except -1

# Undo the last `add`, of these rows.
cdef int keys_withdraw(object keys, const int64_t* rows, size_t n) except -1

# Take the keys in `absent`, which have no row, out of the dict. Only memory depends on it.
cdef int keys_clean(object keys, list absent) except -1
