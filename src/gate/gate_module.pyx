"""A lock for many readers or one writer.

The fields of a Gate are read and written under the interpreter lock, or in a critical section of the Gate where there is
none; `inside` and `readers` are also written only by the holder of `counter`.
"""

cimport cython
from cpython.pythread cimport (
    NOWAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_get_thread_ident,
    PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)
from libc.stdlib cimport free, realloc

import os
from weakref import WeakSet

from lshfast.kernels.guards cimport FREE_THREADED

_gates = WeakSet()  # all gates there are, for those that have to be renewed in a child process


@cython.auto_pickle(False)
cdef class _Side:
    """One side of a Gate as a context manager."""
    cdef Gate gate
    cdef bint writes

    def __cinit__(self, Gate gate not None, bint writes):
        self.gate, self.writes = gate, writes

    def __enter__(self):
        if self.writes:
            self.gate.enter_write()
        else:
            self.gate.enter_read()

    def __exit__(self, kind, error, traceback):
        if self.writes:
            self.gate.leave_write()
        else:
            self.gate.leave_read()


@cython.auto_pickle(False)
cdef class Gate:
    """A lock that many readers hold at once, or one writer; a waiting writer goes before readers that come later.

    A thread that reads may begin to read again. A thread that holds the lock and asks for it in any other way would
    wait for itself; it gets a RuntimeError.

    In a child process after a fork, the lock is held only by the thread that forked. If another thread was writing at
    that moment, what the lock guards may be half written, and whoever asks for it in the child gets a RuntimeError.

    Examples
    --------
    >>> from lshfast.kernels.gate import Gate
    >>> gate = Gate()
    >>> with gate.reading():
    ...     pass
    >>> with gate.writing():
    ...     pass
    """
    cdef PyThread_type_lock entrance, room, counter
    cdef unsigned long* inside  # the threads that read, each as often as it entered
    cdef size_t readers, space
    cdef unsigned long writer
    cdef bint written  # a writer holds it
    cdef bint torn  # the process was forked while another thread wrote
    cdef _Side _reading, _writing
    cdef object __weakref__

    def __cinit__(self):
        self._make_locks()
        self._reading, self._writing = _Side(self, False), _Side(self, True)
        _gates.add(self)

    def __dealloc__(self):
        if self.entrance:
            PyThread_free_lock(self.entrance)
        if self.room:
            PyThread_free_lock(self.room)
        if self.counter:
            PyThread_free_lock(self.counter)
        free(self.inside)

    cdef _make_locks(self):
        self.entrance, self.room, self.counter = \
            PyThread_allocate_lock(), PyThread_allocate_lock(), PyThread_allocate_lock()
        if not (self.entrance and self.room and self.counter):
            raise MemoryError

    def reading(self):
        """Return a context manager that holds the readers' side."""
        return self._reading

    def writing(self):
        """Return a context manager that holds the writer's side."""
        return self._writing

    cpdef enter_read(self):
        """Wait until no writer holds or awaits the lock, and hold it as a reader."""
        cdef unsigned long me = PyThread_get_thread_ident()
        if not self._reads(me):  # else a writer that awaits the lock waits for this thread
            acquire(self.entrance)
            PyThread_release_lock(self.entrance)
        acquire(self.counter)
        try:
            self._make_space()
            if self.readers == 0:
                acquire(self.room)
            with cython.critical_section(self):
                self.inside[self.readers] = me
                self.readers += 1
        finally:
            PyThread_release_lock(self.counter)

    cpdef leave_read(self):
        """Let go of the readers' side."""
        cdef size_t place
        acquire(self.counter)
        place = self._place(PyThread_get_thread_ident())
        if place == self.readers:
            PyThread_release_lock(self.counter)
            raise RuntimeError("this thread does not read the index")
        with cython.critical_section(self):
            self.readers -= 1
            if place < self.readers:
                self.inside[place] = self.inside[self.readers]
        if self.readers == 0:
            PyThread_release_lock(self.room)
        PyThread_release_lock(self.counter)

    cpdef enter_write(self):
        """Wait until nobody holds the lock, and hold it alone."""
        cdef unsigned long me = PyThread_get_thread_ident()
        if self._reads(me):
            raise RuntimeError("this thread is reading the index, and cannot change it before it has finished")
        acquire(self.entrance)
        acquire(self.room)
        with cython.critical_section(self):
            self.writer, self.written = me, True

    cpdef leave_write(self):
        """Let go of the writer's side."""
        with cython.critical_section(self):
            if not self.written:
                raise RuntimeError("no thread is changing the index")
            self.written = False
        PyThread_release_lock(self.room)
        PyThread_release_lock(self.entrance)

    cdef bint _reads(self, unsigned long me) except -1:
        """Tell whether a thread is among the readers; raise RuntimeError if it is the writer, or if nobody may enter."""
        cdef bint reads
        with cython.critical_section(self):
            if self.torn:
                raise RuntimeError(
                    "the process was forked while another thread was changing this index; open or build it in the child"
                )
            if self.written and self.writer == me:
                raise RuntimeError("this thread is changing the index, and cannot use it before it has finished")
            reads = self._place(me) < self.readers
        return reads

    cdef size_t _place(self, unsigned long thread) noexcept:
        """Return where a thread stands among the readers; their number if it is none of them."""
        cdef size_t i
        for i in range(self.readers):
            if self.inside[i] == thread:
                return i
        return self.readers

    cdef _make_space(self):
        """Have memory for one more reader."""
        if self.readers < self.space:
            return
        with cython.critical_section(self):
            inside = <unsigned long*>realloc(self.inside, 2 * (self.space + 4) * sizeof(unsigned long))
            if not inside:
                raise MemoryError
            self.inside, self.space = inside, 2 * (self.space + 4)

    cdef _after_fork(self):
        """Make new locks, held as the one thread that is left holds them: others may have held the old ones."""
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef size_t i, mine = 0
        self._make_locks()
        for i in range(self.readers):
            if self.inside[i] == me:
                self.inside[mine] = me
                mine += 1
        self.readers = mine
        if self.written and self.writer != me:
            self.torn, self.written = True, False
        if self.written:
            acquire(self.entrance)
        if self.written or self.readers:
            acquire(self.room)


def _renew_gates():
    for gate in _gates:
        (<Gate>gate)._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_gates)


cdef bint has_writer(object gate) except -1:
    return FREE_THREADED or (<Gate?>gate).written or (<Gate>gate).torn


cdef inline void acquire(PyThread_type_lock lock) noexcept:
    """Take a lock; let other threads run where it has to be waited for."""
    if not PyThread_acquire_lock(lock, NOWAIT_LOCK):
        with nogil:
            PyThread_acquire_lock(lock, WAIT_LOCK)
