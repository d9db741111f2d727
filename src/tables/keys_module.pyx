"""Keys that are any hashable objects, and the rows of their entries.

A key's own methods (__hash__, __eq__) may raise or be interrupted wherever a dict asks them. So each key's row is kept in
a slot of its own, and giving a row to another key, or to none, changes slots only and asks no key. A key whose slot has
no row counts as absent.
"""

cimport cython
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t

import sys

import numpy as np

from lshfast.kernels.guards cimport aligned

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

# No index numbers more rows; the lists of a table are as long as the greatest row.
cdef int64_t MOST_ROWS = <int64_t>1 << 32


@cython.auto_pickle(False)
cdef class _Slot:
    """The row of a key; -1 for none."""
    cdef int64_t row


@cython.auto_pickle(False)
cdef class KeyTable:
    """Which row a key has, and which key a row has, for keys of any kind.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.kernels.keys import KeyTable
    >>> table = KeyTable()
    >>> table.add(["a", "b"], np.array([0, 4]))
    >>> table.find(["b", "c"]).tolist(), table.take(np.array([0]))
    ([4, -1], ['a'])
    """
    cdef dict slots  # of each key
    cdef list keys, places  # of each row: its key and the slot of that
    cdef size_t count

    def __cinit__(self):
        self.slots, self.keys, self.places = {}, [], []

    def __len__(self):
        return self.count

    @property
    def nbytes(self):
        """An estimate: the dict, the lists and the slots, not the keys themselves."""
        return sys.getsizeof(self.slots) + sys.getsizeof(self.keys) + sys.getsizeof(self.places) + 32 * self.count

    def find(self, keys):
        """Return the row of each key, -1 where it has none: int64 (n,)."""
        cdef list wanted = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
        cdef size_t i
        found = np.empty(len(wanted), np.int64)
        cdef int64_t[::1] rows = found
        for i in range(<size_t>len(wanted)):
            slot = self.slots.get(wanted[i])
            rows[i] = -1 if slot is None else (<_Slot>slot).row
        return found

    def add(self, keys, const int64_t[::1] rows not None):
        """Give keys, which must be absent and different, these rows, which must be free: all of them or none."""
        cdef list new = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
        rows = aligned(rows)
        cdef size_t i, n = len(rows), done = 0, before = len(self.slots)
        cdef int64_t most = -1
        cdef _Slot slot
        if <size_t>len(new) != n:
            raise ValueError(f"there must be a row for each key, not {n} for {len(new)}")
        for i in range(n):
            if not 0 <= rows[i] < MOST_ROWS:
                raise ValueError(f"rows must be in 0..{MOST_ROWS - 1}, not {rows[i]}")
            most = max(most, rows[i])
        self.reserve(<size_t>(most + 1))
        try:
            for i in range(n):
                slot = _Slot.__new__(_Slot)
                slot.row = rows[i]
                slot = self.slots.setdefault(new[i], slot)
                slot.row = rows[i]
                self.keys[rows[i]], self.places[rows[i]] = new[i], slot
                done += 1
        except BaseException:
            if done:
                self.forget(&rows[0], done)
            while <size_t>len(self.slots) > before:  # the last of them is the newest
                self.slots.popitem()
            raise
        self.count += n

    def put(self, keys, const int64_t[::1] rows not None, const int64_t[::1] known not None, uint8_t[::1] live not None):
        """Give different keys new rows, which must be free: all of them or none.

        `known` are the rows that they have, -1 for none; `live` becomes 0 at these and 1 at the new ones.
        """
        cdef list new = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
        rows, known = aligned(rows), aligned(known)
        cdef size_t i, n = len(rows)
        cdef list absent = []
        cdef list places = []
        if <size_t>len(new) != n or <size_t>len(known) != n:
            raise ValueError(f"there must be a row for each key, not {n} for {len(new)}")
        for i in range(n):
            if not 0 <= rows[i] < len(live) or known[i] >= min(len(live), len(self.places)):
                raise ValueError(f"rows must be below {len(live)}")
            if known[i] < 0:
                absent.append(new[i])
                places.append(rows[i])
        self.reserve(len(live))
        self.add(absent, np.array(places, np.int64))
        for i in range(n):
            if known[i] >= 0:
                self.move(&known[i], &rows[i], 1)
                live[known[i]] = 0
            live[rows[i]] = 1

    def drop(self, const int64_t[::1] rows not None, uint8_t[::1] live=None):
        """Take these rows, no row twice, from their keys, and set `live` to 0 there.

        If a key raises an error, that is done nevertheless.
        """
        rows = aligned(rows)
        cdef list absent = self.keys_of(rows)
        cdef size_t i
        for i in range(<size_t>len(rows)):
            if self.places[rows[i]] is None or live is not None and rows[i] >= len(live):
                raise ValueError(f"row {rows[i]} has no key, or is not below the length of live")
        if live is not None:
            for i in range(<size_t>len(rows)):
                live[rows[i]] = 0
        if len(rows):
            self.count -= self.forget(&rows[0], len(rows))
        self.clean(absent)

    def take(self, const int64_t[::1] rows not None):
        """Return the keys of these rows: int64 or uint64 (n,) if all are ints that fit into it, else a list."""
        cdef list found = self.keys_of(aligned(rows))
        cdef int beyond = 0
        cdef bint has_negative = False, has_unsigned = False
        for key in found:
            if type(key) is not int:
                return found
            if PyLong_AsLongLongAndOverflow(key, &beyond) < 0 and not beyond:
                has_negative = True
            has_unsigned = has_unsigned or beyond > 0
            if beyond < 0 or has_negative and has_unsigned or beyond > 0 and key > UINT64_MAX:
                return found
        return np.array(found, np.uint64 if has_unsigned else np.int64) if found else found

    cdef list keys_of(self, const int64_t[::1] rows):
        cdef size_t i
        cdef list found = []
        for i in range(<size_t>len(rows)):
            if not 0 <= rows[i] < len(self.keys):
                raise IndexError(f"rows must be in 0..{len(self.keys) - 1}, not {rows[i]}")
            found.append(self.keys[rows[i]])
        return found

    cdef reserve(self, size_t rows):
        """Make room for `rows` rows."""
        if rows > <size_t>len(self.keys):
            self.keys.extend([None] * (rows - len(self.keys)))
        if rows > <size_t>len(self.places):
            self.places.extend([None] * (rows - len(self.places)))

    # None of these asks a key anything, so they cannot fail half-way.

    cdef size_t forget(self, const int64_t* rows, size_t n) except? 0:
        """Take rows from their keys, which stay in the dict; return how many had one."""
        cdef size_t i, forgotten = 0
        cdef _Slot slot
        for i in range(n):
            slot = self.places[rows[i]]
            if slot is not None:
                slot.row = -1
                forgotten += 1
            self.keys[rows[i]] = self.places[rows[i]] = None
        return forgotten

    cdef move(self, const int64_t* old, const int64_t* new, size_t n):
        """Give the keys of rows to others, which there is room for and which have none."""
        cdef size_t i
        cdef _Slot slot
        for i in range(n):
            slot = self.places[old[i]]
            if slot is not None:
                slot.row = new[i]
            self.keys[new[i]], self.places[new[i]] = self.keys[old[i]], slot
            self.keys[old[i]] = self.places[old[i]] = None

    cdef withdraw(self, const int64_t* rows, size_t n):
        """Undo the last `add`, of these rows."""
        self.count -= self.forget(rows, n)
        self.forget_last()

    cdef forget_last(self):
        while self.slots and (<_Slot>next(reversed(self.slots.values()))).row < 0:
            self.slots.popitem()

    cdef clean(self, list absent):
        """Remove keys without a row from the dict, which only gives back memory."""
        self.forget_last()
        for key in absent:
            self.slots.pop(key, None)


# ---- for tables whose rows have their names in a KeyTable ----


cdef list keys_of_rows(keys, const int64_t[::1] rows):
    return (<KeyTable?>keys).keys_of(rows)


cdef int keys_reserve(keys, size_t rows) except -1:
    (<KeyTable?>keys).reserve(rows)
    return 0


cdef int keys_move(keys, const int64_t* old, const int64_t* new, size_t n) except -1:
    (<KeyTable?>keys).move(old, new, n)
    return 0


cdef int keys_forget(keys, const int64_t* rows, size_t n) except -1:
    cdef KeyTable table = keys
    table.count -= table.forget(rows, n)
    return 0


cdef int keys_withdraw(keys, const int64_t* rows, size_t n) except -1:
    (<KeyTable?>keys).withdraw(rows, n)
    return 0


cdef int keys_clean(keys, list absent) except -1:
    (<KeyTable?>keys).clean(absent)
    return 0
