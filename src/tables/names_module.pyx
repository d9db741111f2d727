"""The names of an index's rows: batches of them are given rows, looked up, and read."""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from lshfast.kernels.arrays cimport text_of
from lshfast.kernels.guards cimport FREE_THREADED, WORK, aligned, array_of, pause
from tables_declarations cimport *

cdef enum:
    ADMITTED = 4096  # names that are admitted between two looks for signals
    FOUND = 1 << 16  # names that are looked up between two calls of pause()
    STRINGS = 256  # names that are read at once

cdef int check_outcome(int outcome) except -1:
    """Raise the error that an outcome of the tables' C stands for."""
    if outcome == TABLES_DONE:
        return 0
    if outcome == TABLES_NO_MEMORY:
        raise MemoryError("no memory for the tables of an index")
    if outcome == TABLES_TOO_LONG:
        raise OverflowError(f"a table spreads its entries over at most {TABLES_MOST_CAPACITY} places")
    if outcome == TABLES_POOL_TOO_LONG:
        raise OverflowError(f"the buckets of several rows take at most {TABLES_MOST_ROWS} units of memory")
    raise OverflowError(f"an index holds at most {TABLES_MOST_ROWS} entries")


@cython.auto_pickle(False)
cdef class _Column:
    """A batch of names: integers, or strings, which it keeps."""
    cdef const int64_t[::1] integers
    cdef list strings
    cdef names_one[STRINGS] ones

    def __cinit__(self, names, bint integers, bint is_unsigned):
        cdef const int64_t[::1] given
        cdef const uint64_t[::1] unsigned_given
        if integers:
            if is_unsigned:
                unsigned_given = names
                names = array_of(unsigned_given).view(np.int64)
            given = names
            self.integers = aligned(given)
        else:
            self.strings = names
            self.strings = self.strings[:]  # whatever another thread does to the list

    cdef size_t read(self, size_t first, size_t end) except? 0:
        """Read strings from place `first` on, as many as there is room for; return how many."""
        cdef size_t i, count = min(end - first, <size_t>STRINGS)
        cdef Py_ssize_t length
        cdef const uint8_t* text
        for i in range(count):
            text = text_of(self.strings[first + i], &length)
            self.ones[i] = names_string(text, length)
        return count


cdef _Column column_of(const c_names* held, names):
    if held.kind == NAMES_NONE:
        raise ValueError("rows of this index have no names")
    return _Column.__new__(_Column, names, held.kind == NAMES_INTEGERS, held.is_unsigned)


cdef int admit_names(void* tables, names, int64_t[::1] rows, uint8_t[::1] fresh) except -1:
    """Give each name a row unless it has one, and mark the rows that are fresh. If it raises, some may be marked."""
    cdef band_tables* c = <band_tables*>tables
    cdef _Column column = column_of(&c.names, names)
    cdef size_t done = 0, admitted, end, count, n = len(rows)
    cdef uint64_t before = c.names.table.count
    cdef tables_outcome outcome = TABLES_DONE
    while done < n:
        if done:
            PyErr_CheckSignals()
            check_outcome(band_tables_expect(c, before, done, n - done))
        end = min(n, done + ADMITTED)
        while done < end and outcome == TABLES_DONE:
            admitted = 0
            if column.strings is None:
                with nogil:
                    outcome = band_tables_admit_integers(
                        c, &column.integers[done], end - done, &rows[done], &fresh[done], &admitted)
            else:
                count = column.read(done, end)
                with nogil:
                    outcome = band_tables_admit(c, column.ones, count, &rows[done], &fresh[done], &admitted)
            done += admitted
        check_outcome(outcome)
    return 0


cdef int admit_keys(void* tables, names, keys, int64_t[::1] rows, uint8_t[::1] fresh) except -1:
    """Do what `admit_names` does for rows that have their names in a KeyTable: all of them or none."""
    cdef band_tables* c = <band_tables*>tables
    cdef list column = names.tolist() if isinstance(names, np.ndarray) else list(names)
    cdef dict first = {}
    cdef list new = [], places = []
    cdef size_t i, place, n = len(rows), taken
    cdef int64_t[::1] known = keys.find(column)
    cdef int64_t[::1] own
    for i in range(n):
        place = first.setdefault(column[i], i)
        places.append(place)
        if place == i and known[i] < 0:
            new.append(column[i])
    own_array = np.empty(len(new), np.int64)
    own, taken = own_array, len(new)
    check_outcome(band_tables_reserve(c, taken))
    if taken:
        band_tables_allot(c, taken, &own[0])
    try:
        number(rows, fresh, places, known, own)
        keys.add(new, own_array)
    except BaseException:
        fresh[:] = 0
        if taken:
            band_tables_release(c, &own[0], taken)
        raise
    return 0


cdef number(int64_t[::1] rows, uint8_t[::1] fresh, list places, const int64_t[::1] known, const int64_t[::1] new):
    """Say which row each name has: that known, the next new one, or that of its first occurrence."""
    cdef size_t i, done = 0
    for i in range(<size_t>len(rows)):
        rows[i] = rows[<size_t>places[i]]
        if <size_t>places[i] != i:
            continue
        rows[i] = known[i]
        if known[i] < 0:
            rows[i], fresh[i] = new[done], 1
            done += 1


cdef object find_names(void* tables, names):
    """Return the row of each name, -1 where there is none: int64 (n,)."""
    cdef band_tables* c = <band_tables*>tables
    cdef _Column column = column_of(&c.names, names)
    rows_array = np.empty(len(names), np.int64)
    cdef int64_t[::1] rows = rows_array
    cdef c_names held
    cdef size_t done = 0, n = len(rows), count, compared
    cdef uint64_t last_pause = 0
    while done < n:
        held, compared = c.names, 0  # another reader may gather the crowd meanwhile
        if column.strings is None:
            count = min(n - done, <size_t>FOUND)
            with nogil:
                done += names_find_integers(&held, &column.integers[done], count, &rows[done], WORK, &compared)
        else:
            count = column.read(done, n)
            with nogil:
                done += names_find_strings(&held, column.ones, count, &rows[done], WORK, &compared)
        if compared:
            gather_crowd(c, compared)
        if done < n:
            pause(&last_pause)
    return rows_array


cdef int gather_crowd(void* tables, size_t compared) except -1:
    """Gather the crowd of fixed tables once searching crowded buckets has cost about as much.

    The interpreter lock keeps other readers away while the crowd is put in place. Without one, buckets are searched.
    """
    cdef band_tables* c = <band_tables*>tables
    cdef names_crowd crowd
    cdef tables_outcome outcome
    if FREE_THREADED:
        return 0
    c.names.compared += compared
    if not c.fixed or c.names.crowd.table.entries or c.names.compared < c.names.table.length:
        return 0
    with nogil:
        outcome = names_gather(&c.names, &c.heap, &crowd)
    if outcome != TABLES_DONE:
        return 0  # without memory for it, buckets are searched
    if c.names.crowd.table.entries:  # another thread has gathered it
        names_end_crowd(&crowd)
    else:
        c.names.crowd = crowd
    return 0


cdef object name_at(const void* tables, size_t row):
    """Return the name of a row; its number if it has none."""
    cdef const c_names* names = &(<const band_tables*>tables).names
    cdef const uint8_t* text
    if names.kind == NAMES_INTEGERS:
        return <uint64_t>names.integers[row] if names.is_unsigned else names.integers[row]
    if names.kind == NAMES_NONE:
        return row
    if not names_text(names, row, &text):
        raise ValueError(f"the name of row {row} lies outside of all names")
    return (<const char*>text)[:names.lengths[row]].decode()


cdef object names_at(const void* tables, const int64_t[::1] rows):
    """Return the names of rows: int64 or uint64 (n,), or a list of str."""
    cdef const c_names* names = &(<const band_tables*>tables).names
    cdef size_t i, n = len(rows)
    cdef int64_t[::1] integers
    cdef list strings = []
    if names.kind == NAMES_NONE:
        raise ValueError("rows of this index have no names")
    if names.kind == NAMES_INTEGERS:
        found = np.empty(n, np.int64)
        integers = found
        with nogil:
            for i in range(n):
                integers[i] = names.integers[rows[i]]
        return found.view(np.uint64) if names.is_unsigned else found
    for i in range(n):
        strings.append(name_at(tables, rows[i]))
    return strings


cdef object tags_at(const void* tables, const int64_t[::1] rows):
    """Return the tags of the names of rows: uint32 (n,)."""
    cdef const c_names* names = &(<const band_tables*>tables).names
    cdef size_t i, n = len(rows)
    cdef names_one one
    tags_array = np.empty(n, np.uint32)
    cdef uint32_t[::1] tags = tags_array
    if names.kind == NAMES_NONE:
        raise ValueError("rows of this index have no names")
    for i in range(n):
        if not names_of_row(names, rows[i], &one):
            raise ValueError(f"the name of row {rows[i]} lies outside of all names")
        tags[i] = one.tag
    return tags_array
