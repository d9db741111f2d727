"""What the tables of an index do with arrays and buffers: signatures, names, and marks of rows that are gone."""

cimport cython
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from lshfast.kernels.guards cimport FREE_THREADED

cdef extern from "rows.h":
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "tables/plain_arrays.h":
    const uint64_t* plain_slots(object, object, size_t)
    const void* plain_numbers(object, object, size_t, size_t)

cdef enum:
    LONGEST = 1 << 30  # bytes of a name


cdef int get_slots(signature, size_t k, Py_buffer* slots) except -1:
    """Get the memory of a signature of k slots, to be released; it takes a third of the time of a memoryview."""
    PyObject_GetBuffer(signature, slots, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    if slots.format[0] == b"=" and slots.format[1] == b"Q" and slots.format[2] == 0:  # in memory that is not aligned
        PyBuffer_Release(slots)
        return get_slots(np.array(signature, np.uint64), k, slots)
    cdef bint is_uint64 = (
        slots.ndim == 1 and slots.itemsize == sizeof(uint64_t)
        and (slots.format[0] == b"L" or slots.format[0] == b"Q") and slots.format[1] == 0
    )
    cdef size_t length = slots.shape[0] if slots.ndim == 1 else 0
    if not is_uint64 or length != k:
        PyBuffer_Release(slots)
        raise ValueError(f"signature must be of {k} slots, not {length}" if is_uint64 else "signature must be uint64")
    return 0


cdef const uint64_t* slots_of(signature, size_t k) noexcept:
    return plain_slots(signature, _uint64, k) if type(signature) is _array and _has_known_layout else NULL


cdef const float* floats_of(point, size_t dim) noexcept:
    if type(point) is not _array or not _has_known_layout:
        return NULL
    return <const float*>plain_numbers(point, _float32, sizeof(float), dim)


cdef const double* doubles_of(point, size_t dim) noexcept:
    if type(point) is not _array or not _has_known_layout:
        return NULL
    return <const double*>plain_numbers(point, _float64, sizeof(double), dim)


cdef bint has_known_layout():
    """Return whether arrays are laid out as this module was told, and no other thread can change one that is read."""
    array = np.arange(8, dtype=np.uint64)
    cdef size_t at = array.ctypes.data
    return (
        not FREE_THREADED and <size_t>plain_slots(array, _uint64, 8) == at
        and <size_t>plain_slots(array[2:5], _uint64, 3) == at + 2 * sizeof(uint64_t)
        and <size_t>plain_slots(array[7:], _uint64, 1) == at + 7 * sizeof(uint64_t)
        and not plain_slots(array, _uint64, 7) and not plain_slots(array[::2], _uint64, 4)
        and not plain_slots(array.view(np.int64), _uint64, 8) and not plain_slots(array.reshape(2, 4), _uint64, 2)
    )


cdef object _array = np.ndarray, _uint64 = np.dtype(np.uint64)
cdef object _float32 = np.dtype(np.float32), _float64 = np.dtype(np.float64)
cdef bint _has_known_layout = has_known_layout()


cdef const uint8_t* text_of(name, Py_ssize_t* length) except NULL:
    """Return the UTF-8 of a str, which the str itself keeps."""
    if not isinstance(name, str):
        raise TypeError(f"names must be str, not {type(name).__name__}")
    cdef const char* text
    try:
        text = PyUnicode_AsUTF8AndSize(name, length)
    except UnicodeEncodeError:
        raise ValueError(f"{name!r} has a lone surrogate and no UTF-8") from None
    if length[0] > LONGEST:
        raise ValueError(f"a name must be at most {LONGEST} bytes long, not {length[0]}")
    return <const uint8_t*>text


cdef int64_of(const uint32_t* numbers, size_t n):
    array = np.empty(n, np.int64)
    cdef int64_t[::1] out = array
    cdef size_t i
    with nogil:
        for i in range(n):
            out[i] = numbers[i]
    return array


cdef bint are_consecutive(const int64_t* rows, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n):
        if rows[i] != rows[0] + <int64_t>i:
            return False
    return True


cdef list joined_rows(list pieces):
    """Return arrays of signatures with those that lie side by side in one array as one."""
    joined = pieces[:1]
    for piece in pieces[1:]:
        last, base = joined[-1], piece.base
        start = last.ctypes.data
        if (
            base is last.base and isinstance(base, np.ndarray) and base.flags.c_contiguous and base.ndim == 2
            and base.dtype == piece.dtype and base.shape[1] == piece.shape[1]
            and start + last.nbytes == piece.ctypes.data and (start - base.ctypes.data) % base.strides[0] == 0
        ):
            first = (start - base.ctypes.data) // base.strides[0]
            joined[-1] = base[first:first + len(last) + len(piece)]
        else:
            joined.append(piece)
    return joined


# ---- marks of rows that are gone ----


@cython.auto_pickle(False)
cdef class _Marking:
    """Marks that are to be set."""
    cdef uint8_t[::1] marks
    cdef const int64_t[::1] rows

    def __cinit__(self, marks not None, rows not None):
        self.marks, self.rows = marks, rows
        if len(rows) and not are_below(&self.rows[0], len(rows), len(marks)):
            raise ValueError(f"rows must be below {len(marks)}")


cdef list markings_of(gone):
    markings = []
    for marks, rows in gone:
        markings.append(_Marking(marks, rows))
    return markings


cdef int set_marks(list markings) except -1:
    cdef size_t i
    cdef _Marking marking
    for marking in markings:
        for i in range(<size_t>len(marking.rows)):
            marking.marks[marking.rows[i]] = 1
    return 0
