"""Files that are mapped into memory.

A map of Python keeps a second descriptor of its file before Python 3.13. So a reference that is lost, as in Python 3.11
where memory is refused, would leave the file open until the process ends.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.exc cimport PyErr_SetFromErrno

cdef extern from "filemap/filemap.h":
    void* filemap_begin(int, size_t)
    void filemap_end(void*, size_t)


@cython.auto_pickle(False)
cdef class FileMap:
    """The bytes of an open file, as a read-only buffer; the file may be closed. Not on Windows.

    Parameters
    ----------
    file : int
        The descriptor.
    nbytes : int
        The length of the file, at least 1. Bytes that are cut off later end the process if they are read.

    Raises
    ------
    OSError
        If the file cannot be mapped.
    """
    cdef void* start
    cdef size_t nbytes

    def __cinit__(self, int file, size_t nbytes):
        if nbytes < 1:
            raise ValueError("nbytes must be at least 1, not 0")
        self.start = filemap_begin(file, nbytes)
        if self.start == NULL:
            PyErr_SetFromErrno(OSError)
        self.nbytes = nbytes

    def __dealloc__(self):
        if self.start != NULL:
            filemap_end(self.start, self.nbytes)

    def __len__(self):
        return self.nbytes

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.start, <Py_ssize_t>self.nbytes, 1, flags)
