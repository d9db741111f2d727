"""The checksum of files."""

from libc.stdint cimport uint8_t, uint64_t

cdef extern from "checksum/checksum.h":
    struct c_checksum "checksum":
        pass
    void checksum_begin(c_checksum*) nogil
    void checksum_feed(c_checksum*, const uint8_t*, size_t) nogil
    uint64_t checksum_end(const c_checksum*) nogil


def checksum(*pieces):
    """Return the checksum of some pieces of bytes, one after the other, as files carry it: in 0..2**64 - 1."""
    cdef c_checksum sum
    cdef const uint8_t[::1] data
    checksum_begin(&sum)
    for piece in pieces:
        whole = memoryview(piece)
        if whole.nbytes:
            data = whole.cast("B")
            with nogil:
                checksum_feed(&sum, &data[0], len(data))
    return checksum_end(&sum)
