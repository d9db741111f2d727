# For the tables module of this package: arrays and buffers.
from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef int get_slots(object signature, size_t k, Py_buffer* slots) except -1  # to be released by PyBuffer_Release
cdef const uint8_t* text_of(object name, Py_ssize_t* length) except NULL
cdef object int64_of(const uint32_t* numbers, size_t n)
cdef bint are_consecutive(const int64_t* rows, size_t n) noexcept nogil
cdef list joined_rows(list pieces)
cdef list markings_of(object gone)  # checked, so that `set_marks` cannot fail
cdef int set_marks(list markings) except -1
