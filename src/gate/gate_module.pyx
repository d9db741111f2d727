"""A lock for many readers or one writer.

Whoever leaves passes the lock on: it records the next threads as inside before it wakes them. So a thread that comes
later cannot overtake those that wait, and the order does not depend on which thread runs first. The fields of a Gate are
read and written under the interpreter lock, or in a critical section of the Gate where there is none.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport (
    NOWAIT_LOCK, PY_LOCK_INTR, PyLockStatus, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock,
    PyThread_get_thread_ident, PyThread_release_lock, PyThread_type_lock,
)
from libc.stdlib cimport free, realloc

import os
from weakref import WeakSet

from lshfast.kernels.guards cimport FREE_THREADED

cdef extern from "pythread.h":
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock, long long microseconds, int interruptible) nogil

cdef struct waiter:
    PyThread_type_lock turn  # held until the thread is inside
    unsigned long thread
    bint writes, inside
    waiter* next

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
    """A lock that many readers hold at once, or one writer.

    Readers that come while a writer waits are let in after it, all at once, and before the next writer. So neither
    readers nor writers can keep the others out. Writers are let in in the order in which they came.

    A thread that reads may begin to read again. A thread that holds the lock and asks for it in any other way would
    wait for itself; it gets a RuntimeError. A signal handler that raises an error ends the wait.

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
    cdef waiter* waiting_readers
    cdef waiter* waiting_writers  # the first that came is first
    cdef unsigned long* inside  # the threads that read, each as often as it entered
    cdef size_t readers, waiting, space  # of `inside`: used, needed by waiting readers, and in all
    cdef unsigned long writer  # 0 until the writer that was let in has woken
    cdef bint written  # a writer holds it
    cdef bint torn  # the process was forked while another thread wrote
    cdef _Side _reading, _writing
    cdef object __weakref__

    def __cinit__(self):
        self._reading, self._writing = _Side(self, False), _Side(self, True)
        _gates.add(self)

    def __dealloc__(self):
        free(self.inside)

    def reading(self):
        """Return a context manager that holds the readers' side."""
        return self._reading

    def writing(self):
        """Return a context manager that holds the writer's side."""
        return self._writing

    @property
    def waiting(self):
        """The numbers of readers and of writers that wait."""
        cdef size_t readers, writers = 0
        cdef waiter* next
        with cython.critical_section(self):
            readers, next = self.waiting, self.waiting_writers
            while next != NULL:
                writers, next = writers + 1, next.next
        return readers, writers

    cpdef enter_read(self):
        """Wait until no writer holds or awaits the lock, and hold it as a reader."""
        cdef waiter me
        _begin(&me, False)
        with cython.critical_section(self):
            reads = self._reads(me.thread)  # a writer that waits, waits for this thread
            self._make_space()
            me.inside = reads or not self.written and self.waiting_writers == NULL
            if me.inside:
                self._admit_reader(me.thread)
            else:
                _prepare(&me)
                me.next, self.waiting_readers = self.waiting_readers, &me
                self.waiting += 1
        if not me.inside:
            self._wait(&me)

    cpdef leave_read(self):
        """Release the readers' side."""
        with cython.critical_section(self):
            self._leave_read(PyThread_get_thread_ident())

    cpdef enter_write(self):
        """Wait until nobody holds the lock, and hold it alone."""
        cdef waiter me
        cdef waiter** last = &self.waiting_writers
        _begin(&me, True)
        with cython.critical_section(self):
            if self._reads(me.thread):
                raise RuntimeError("this thread is reading the index, and cannot change it before it has finished")
            me.inside = not self.written and self.readers == 0 and self.waiting_writers == NULL
            if me.inside:
                self.written, self.writer = True, me.thread
            else:
                _prepare(&me)
                while last[0] != NULL:
                    last = &last[0].next
                last[0] = &me
        if not me.inside:
            self._wait(&me)

    cpdef leave_write(self):
        """Release the writer's side."""
        with cython.critical_section(self):
            self._leave_write()

    cdef _leave_read(self, unsigned long thread):
        cdef size_t place = self._place(thread)
        if place == self.readers:
            raise RuntimeError("this thread does not read the index")
        self.readers -= 1
        self.inside[place] = self.inside[self.readers]
        self._admit_next(False)

    cdef _leave_write(self):
        if not self.written:
            raise RuntimeError("no thread is changing the index")
        self.written = False
        self._admit_next(True)

    cdef bint _reads(self, unsigned long me) except -1:
        """Tell whether a thread is among the readers; raise RuntimeError if it is the writer, or if nobody may enter."""
        if self.torn:
            raise RuntimeError(
                "the process was forked while another thread was changing this index; open or build it in the child"
            )
        if self.written and self.writer == me:
            raise RuntimeError("this thread is changing the index, and cannot use it before it has finished")
        return self._place(me) < self.readers

    cdef size_t _place(self, unsigned long thread) noexcept:
        """Return where a thread stands among the readers; their number if it is none of them."""
        cdef size_t i
        for i in range(self.readers):
            if self.inside[i] == thread:
                return i
        return self.readers

    cdef _make_space(self):
        """Have memory for one more reader, so that the others need none when they are let in."""
        if self.readers + self.waiting < self.space:
            return
        inside = <unsigned long*>realloc(self.inside, 2 * (self.space + 4) * sizeof(unsigned long))
        if not inside:
            raise MemoryError
        self.inside, self.space = inside, 2 * (self.space + 4)

    cdef void _admit_reader(self, unsigned long thread) noexcept:
        self.inside[self.readers] = thread
        self.readers += 1

    cdef void _admit_next(self, bint readers_first) noexcept:
        """Let in all readers that wait, or one writer, if nobody inside prevents it."""
        cdef waiter* next
        if self.written:
            return
        if self.waiting_readers != NULL and (readers_first or self.waiting_writers == NULL):
            while self.waiting_readers != NULL:
                next = self.waiting_readers
                self.waiting_readers = next.next
                self.waiting -= 1
                self._admit_reader(next.thread)
                _wake(next)
        elif self.waiting_writers != NULL and self.readers == 0:
            next = self.waiting_writers
            self.waiting_writers = next.next
            self.written, self.writer = True, 0
            _wake(next)

    cdef _wait(self, waiter* me):
        """Wait until this thread is inside; if a signal handler raises an error, leave the queue or the lock."""
        cdef PyLockStatus status
        try:
            while True:
                with nogil:
                    status = PyThread_acquire_lock_timed(me.turn, -1, True)
                if status != PY_LOCK_INTR:
                    break
                PyErr_CheckSignals()
        except BaseException:
            with cython.critical_section(self):
                self._withdraw(me)
            PyThread_free_lock(me.turn)
            raise
        with cython.critical_section(self):  # the thread that woke this one is done with `turn`
            if me.writes:
                self.writer = me.thread
        PyThread_free_lock(me.turn)

    cdef _withdraw(self, waiter* me):
        cdef waiter** place = &self.waiting_writers if me.writes else &self.waiting_readers
        if me.inside:
            if me.writes:
                self._leave_write()
            else:
                self._leave_read(me.thread)
            return
        while place[0] != me:
            place = &place[0].next
        place[0] = me.next
        self.waiting -= not me.writes
        self._admit_next(False)

    cdef _after_fork(self):
        """Keep what the one thread that is left holds; those that waited are no more."""
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef size_t i, mine = 0
        self.waiting_readers = self.waiting_writers = NULL
        self.waiting = 0
        for i in range(self.readers):
            if self.inside[i] == me:
                self.inside[mine] = me
                mine += 1
        self.readers = mine
        if self.written and self.writer != me:
            self.torn, self.written = self.torn or self.writer != 0, False


def _renew_gates():
    for gate in _gates:
        (<Gate>gate)._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_gates)


cdef bint has_writer(object gate) except -1:
    cdef Gate known = <Gate?>gate
    return FREE_THREADED or known.written or known.torn or known.waiting_writers != NULL


cdef void _begin(waiter* me, bint writes) noexcept:
    me.thread, me.writes, me.inside, me.next, me.turn = PyThread_get_thread_ident(), writes, False, NULL, NULL


cdef int _prepare(waiter* me) except -1:
    """Make the lock that a thread waits for."""
    me.turn = PyThread_allocate_lock()
    if me.turn == NULL:
        raise MemoryError
    PyThread_acquire_lock(me.turn, NOWAIT_LOCK)
    return 0


cdef void _wake(waiter* next) noexcept:
    next.inside = True
    PyThread_release_lock(next.turn)
