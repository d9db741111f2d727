"""A lock for many readers or one writer."""

cimport cython
from cpython.pythread cimport (
    NOWAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock,
    PyThread_type_lock, WAIT_LOCK,
)


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

    It is not reentrant: who holds a side must not ask for either again.

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
    cdef size_t readers
    cdef bint written  # a writer holds it
    cdef _Side _reading, _writing

    def __cinit__(self):
        self.entrance, self.room, self.counter = \
            PyThread_allocate_lock(), PyThread_allocate_lock(), PyThread_allocate_lock()
        if not (self.entrance and self.room and self.counter):
            raise MemoryError
        self._reading, self._writing = _Side(self, False), _Side(self, True)

    def __dealloc__(self):
        if self.entrance:
            PyThread_free_lock(self.entrance)
        if self.room:
            PyThread_free_lock(self.room)
        if self.counter:
            PyThread_free_lock(self.counter)

    def reading(self):
        """Return a context manager that holds the readers' side."""
        return self._reading

    def writing(self):
        """Return a context manager that holds the writer's side."""
        return self._writing

    cpdef enter_read(self):
        """Wait until no writer holds or awaits the lock, and hold it as a reader."""
        acquire(self.entrance)
        PyThread_release_lock(self.entrance)
        acquire(self.counter)
        self.readers += 1
        if self.readers == 1:
            acquire(self.room)
        PyThread_release_lock(self.counter)

    cpdef leave_read(self):
        """Let go of the readers' side."""
        acquire(self.counter)
        self.readers -= 1
        if self.readers == 0:
            PyThread_release_lock(self.room)
        PyThread_release_lock(self.counter)

    cpdef enter_write(self):
        """Wait until nobody holds the lock, and hold it alone."""
        acquire(self.entrance)
        acquire(self.room)
        self.written = True

    cpdef leave_write(self):
        """Let go of the writer's side."""
        self.written = False
        PyThread_release_lock(self.room)
        PyThread_release_lock(self.entrance)


cdef bint has_writer(object gate) except -1:
    return (<Gate?>gate).written


cdef inline void acquire(PyThread_type_lock lock) noexcept:
    """Take a lock; let other threads run where it has to be waited for."""
    if not PyThread_acquire_lock(lock, NOWAIT_LOCK):
        with nogil:
            PyThread_acquire_lock(lock, WAIT_LOCK)
