"""What kernels check before they compute, and how long ones can be interrupted.

A kernel works on bounded slices and calls `pause` between them, which lets signal handlers run (Ctrl-C raises
KeyboardInterrupt) and ends workers whose results nobody will take.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport uint64_t

import threading

import numpy as np

cdef extern from "guards/guards.h":
    uint64_t milliseconds() nogil

cdef enum:
    PATIENCE = 50  # milliseconds between two looks for signals

cdef object _worker = threading.local()


class Stopped(Exception):
    """Raised by kernels in a worker thread whose run is over."""


def watch(over):
    """Let kernels of the calling thread raise Stopped once the threading.Event `over` is set; None: never."""
    _worker.over = over


def is_running(unsigned long thread):
    """Return whether a thread of an identifier, of `threading.get_ident`, is the calling one; this takes no memory."""
    return <unsigned long>PyThread_get_thread_ident() == thread


cdef int pause(uint64_t* last) except -1 nogil:
    cdef uint64_t now = milliseconds()
    if last[0] == 0 or now < last[0]:  # a clock may be set back
        last[0] = now
    if now - last[0] < PATIENCE:
        return 0
    last[0] = now
    return _look()


# A function of its own: with variables that are Python objects, `pause` would take the GIL at each call.
cdef int _look() except -1 with gil:
    PyErr_CheckSignals()
    over = getattr(_worker, "over", None)
    if over is not None and over.is_set():
        raise Stopped
    return 0


cdef object array_of(object view):
    array = np.asarray(view)
    if array.base is None:
        raise MemoryError
    return array


def sketch_in_pieces(kernel, offsets, columns, out, size_t step):
    """Write the signatures of rows longer than `step` to out, (n, k), from the signatures of pieces of `step` tokens.

    Each slot of the signature of a union is the least of the parts' slots. kernel(offsets, *columns, out) writes the
    signatures of short rows.
    """
    cdef uint64_t last_pause = 0
    piece = np.empty((1, out.shape[1]), out.dtype)
    for row in np.flatnonzero(np.diff(offsets) > step).tolist():
        first, last = int(offsets[row]), int(offsets[row + 1])
        out[row] = np.iinfo(out.dtype).max
        for start in range(first, last, step):
            kernel(np.array([start, min(start + step, last)], np.int64), *columns, piece)
            np.minimum(out[row], piece[0], out=out[row])
            pause(&last_pause)
