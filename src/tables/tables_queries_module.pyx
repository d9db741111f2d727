"""Queries of an index's tables: many at once, or one."""

from libc.stdint cimport SIZE_MAX, int64_t, uint32_t, uint64_t

import numpy as np

from lshfast.kernels.arrays cimport int64_of
from lshfast.kernels.guards cimport WORK, pause
from lshfast.kernels.names cimport check_outcome, name_at
from tables_declarations cimport *

cdef enum:
    MOST_SPARE = 1 << 16  # candidates that there is always memory for


cdef tuple answers_of(const void* tables, const uint64_t[:, ::1] signatures, least, size_t room):
    """Return what `BandTables.query` does."""
    cdef const band_tables* c = <const band_tables*>tables
    cdef size_t m = signatures.shape[0]
    cdef band_tables_answers a
    offsets_array = np.zeros(m + 1, np.int64)
    cdef int64_t[::1] offsets = offsets_array
    check_outcome(band_tables_answers_begin(&a, c.bands, m))
    try:
        begin(&a, least, min(room, <size_t>WORK))
        if m:
            m = answer(c, &signatures[0, 0], m, &offsets[0], &a, room)
        rows = int64_of(a.rows, a.used)
        return offsets_array[:m + 1], rows, int64_of(a.agreements, a.used) if a.count else None
    finally:
        band_tables_answers_end(&a)


cdef int answer_one(
    const void* tables, void* answers, const uint64_t* signature, least, list names, list agreements
) except -1:
    """Add the answer to a query to lists, running no code of Python's: no other thread can come between."""
    cdef const band_tables* c = <const band_tables*>tables
    cdef band_tables_answers* a = <band_tables_answers*>answers
    cdef band_tables_answers spare
    cdef int64_t[2] offsets
    cdef size_t i
    begin(a, least, WORK)
    a.names = c.names.integers
    answer(c, signature, 1, offsets, a, SIZE_MAX)
    for i in range(a.used):
        names.append(name_at(tables, a.rows[i]))
        if agreements is not None:
            agreements.append(a.agreements[i])
    if a.capacity > MOST_SPARE and band_tables_answers_begin(&spare, c.bands, 1) == TABLES_DONE:
        band_tables_answers_end(a)
        a[0] = spare
    return 0


cdef begin(band_tables_answers* answers, least, size_t work):
    answers.work, answers.count, answers.used = work, least is not None, 0
    answers.least = 0 if least is None else least


cdef size_t answer(const band_tables* c, const uint64_t* signatures, size_t m, int64_t* offsets,
                   band_tables_answers* a, size_t room) except 0:
    """Return how many of m queries, at least one, were answered: all, or those until the answers took the room."""
    cdef size_t next = 0
    cdef uint64_t last_pause = 0
    cdef band_tables_outcome outcome = BAND_TABLES_NO_ROOM
    offsets[0] = 0
    a.offsets = offsets
    while True:
        if m == 1:
            outcome = band_tables_answer(c, signatures, m, &next, a)
        else:
            with nogil:
                outcome = band_tables_answer(c, signatures, m, &next, a)
                while outcome == BAND_TABLES_UNFINISHED and a.used < room:
                    pause(&last_pause)
                    outcome = band_tables_answer(c, signatures, m, &next, a)
        if outcome == BAND_TABLES_ANSWERED or outcome == BAND_TABLES_UNFINISHED:
            return next
        if outcome == BAND_TABLES_UNSOUND:
            raise ValueError("an entry of the tables leads out of them")
        check_outcome(band_tables_answers_grow(a))
        if m > 1:
            pause(&last_pause)
