# For the tables module of this package: arrays and buffers.
from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

# Get the memory of a `signature`, a uint64 array of `k` slots, in `slots`, to be released by PyBuffer_Release.
cdef int get_slots(object signature, size_t k, Py_buffer* slots) except -1

# Return the slots of `signature` if it is a numpy array, of no subclass, with `k` aligned slots side by side; else NULL.
# They are valid until Python code runs. It is always NULL where there is no interpreter lock.
cdef const uint64_t* slots_of(object signature, size_t k) noexcept

# The same for the `dim` coordinates of a `point`, a float32 or a float64 array.
cdef const float* floats_of(object point, size_t dim) noexcept
cdef const double* doubles_of(object point, size_t dim) noexcept

# Return the UTF-8 of a str, `name`, which keeps it, and write its number of bytes to `length`.
cdef const uint8_t* text_of(object name, Py_ssize_t* length) except NULL

# Return a new int64 array of `n` `numbers`.
cdef object int64_of(const uint32_t* numbers, size_t n)

# Return whether the `n` `rows` are consecutive numbers, rising.
cdef bint are_consecutive(const int64_t* rows, size_t n) noexcept nogil

# Return arrays of signatures, `pieces`, with those that are adjacent in one array as one.
cdef list joined_rows(list pieces)

# Return the marks to be set for `gone`, pairs of marks (uint8) and rows (int64). They are checked, so that `set_marks`
# cannot fail.
cdef list markings_of(object gone)

# Set the marks of `markings`, from `markings_of`.
cdef int set_marks(list markings) except -1
