"""The tables of an index: signatures in numbered rows, found by their bands and by name.

C owns the memory. This module checks arguments, turns keys into names, and keeps the arrays that signatures lie in.
"""

cimport cython
from cpython.buffer cimport PyBuffer_Release
from cpython.exc cimport PyErr_CheckSignals, PyErr_Clear
from libc.stdint cimport SIZE_MAX, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import os
import threading

import numpy as np

from lshfast.kernels.arrays cimport (
    are_consecutive, get_slots, joined_rows, markings_of, set_marks, slots_of, text_of,
)
from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.gate cimport has_writer
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause
from lshfast.kernels.keys cimport keys_clean, keys_forget, keys_move, keys_of_rows, keys_reserve, keys_withdraw
from lshfast.kernels.names cimport (
    admit_keys, admit_names, check_outcome, find_names, gather_crowd, names_at, tags_at,
)
from lshfast.kernels.tables_codes cimport arrange, codes_search_of, measure_of, point_search_of
from lshfast.kernels.tables_files cimport buckets_of, lie_over, sections_of, sizes_of
from lshfast.kernels.tables_queries cimport answer_one, answers_of
from lshfast.kernels.tables_search cimport search_of
from tables_declarations cimport *

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(object) except? 0xFFFFFFFFFFFFFFFF
    const char* utf8_or_null "PyUnicode_AsUTF8AndSize"(object, Py_ssize_t*)

# Signatures of a block, in bytes, about; at most 4,096 of them.
BLOCK_BYTES = 1 << 21

# Rows from which tables with codes have cells.
CELLS_FROM = CODE_CELLS_LEAST

cdef enum:
    MOST_SLOTS = 1 << 16
    MOST_CODE_WORDS = 64

cdef const int* in_use = level_in_use()
cdef uint64_t[2] secret = [int.from_bytes(os.urandom(8), "little") for _ in range(2)]  # hashes names that share a public hash


@cython.auto_pickle(False)
cdef class _Admitted:
    """The row of each name of a batch, and 1 where it was taken for it."""
    cdef size_t n
    cdef object rows_array, fresh_array
    cdef int64_t[::1] rows
    cdef uint8_t[::1] fresh

    def __cinit__(self, size_t n):
        self.n = n
        self.rows = self.rows_array = np.empty(n, np.int64)
        self.fresh = self.fresh_array = np.zeros(n, np.uint8)


@cython.auto_pickle(False)
cdef class BandTables:
    """Signatures of k slots in numbered rows; a table a band over them, and one of their names.

    Rows below `limit` are in use or free; a free one is used again. This class checks lengths and ranges but does not
    lock: its owner lets many readers in (`find`, `query`, `names_of`, `signatures_of` and the figures) or one writer.

    Parameters
    ----------
    num_perm, bands, rows : int
        Slots of a signature; bands, and slots a band.
    kind : {"int", "uint", "str"}, optional
        What the names of rows are: signed or unsigned integers of 64 bits, or strings; rows have none by default.
    payload : int
        Words after the slots of each row, which belong to the entry. A signature has num_perm + payload words.
    apart : bool
        Whether each band is judged alone: a slot of all ones has no bucket, and the others of its row have theirs.
        Then `rows` must be 1. Otherwise a signature is in no bucket if its first slot is all ones.
    bits : int
        Bits of the code in the payload, if bands are judged apart; queries count its equal bits. With 0 they count
        equal slots.
    head : int
        With bands apart: the slots of a row are the words of a code, by which `search_codes` finds rows, and this is the
        number of words of its head. With 0, they are no code.
    """
    cdef band_tables c
    cdef band_tables_batch one
    cdef band_tables_answers asking  # of single queries
    cdef readonly bint fixed  # over memory that is not ours: never written
    cdef size_t watchers  # arrays over the memory of these tables
    cdef dict kept  # blocks of signatures in arrays that are not ours
    cdef dict given  # sections that are not ours
    cdef object gone_array

    def __cinit__(self, size_t num_perm, size_t bands, size_t rows, kind=None, size_t payload=0, bint apart=False,
                  size_t bits=0, size_t head=0):
        if bands < 1 or rows < 1 or bands > num_perm // rows:
            raise ValueError(f"bands x rows must be in 1..{num_perm}, the length of the signatures, not {bands} x {rows}")
        if num_perm > MOST_SLOTS or payload > MOST_SLOTS - num_perm:
            raise ValueError(f"signatures must have at most {MOST_SLOTS} slots, not {num_perm + payload}")
        if apart and rows != 1:
            raise ValueError(f"rows must be 1 if bands are judged apart, not {rows}")
        if head and not (apart and head < num_perm <= MOST_CODE_WORDS):
            raise ValueError(f"a code must have {head + 1} to {MOST_CODE_WORDS} slots of bands apart, not {num_perm}")
        if bits > 64 * payload or (bits and not apart):
            raise ValueError(f"bits must be at most {64 * payload * apart}, those of a payload of bands apart, not {bits}")
        if kind not in (None, "int", "uint", "str"):
            raise ValueError(f"kind must be 'int', 'uint', 'str' or None, not {kind!r}")
        self.kept = {}
        check_outcome(band_tables_begin(
            &self.c, malloc, num_perm + payload, bands, rows,
            NAMES_INTEGERS if kind in ("int", "uint") else NAMES_STRINGS if kind == "str" else NAMES_NONE, BLOCK_BYTES))
        self.c.names.is_unsigned = kind == "uint"
        names_set_key(&self.c.names, secret[0], secret[1])
        self.c.keys, self.c.kernels = bands_levels[in_use[0]], tables_levels[in_use[0]]
        self.c.slots, self.c.apart, self.c.bits, self.c.bits_kernels = num_perm, apart, bits, bits_levels[in_use[0]]
        self.c.head = head
        check_outcome(band_tables_batch_begin(&self.one, &self.c, 1))
        check_outcome(band_tables_answers_begin(&self.asking, bands, 1))

    def __dealloc__(self):
        band_tables_answers_end(&self.asking)
        band_tables_batch_end(&self.one)
        band_tables_end(&self.c)

    # ---- checks ----

    cdef _check_writable(self):
        if self.fixed:
            raise ValueError("these tables are fixed: they cannot be written to")
        self.c.heap.watched = self.watchers > 0
        if not self.watchers:
            tables_heap_sweep(&self.c.heap)

    cdef _check_rows(self, const int64_t[::1] rows):
        if len(rows) and not are_below(&rows[0], len(rows), self.c.limit):
            raise ValueError(f"rows must be below {self.c.limit}")

    cdef _check_in_use(self, const int64_t[::1] rows):
        cdef size_t first, n = len(rows)
        self._check_rows(rows)
        if n:
            first = band_tables_unused(&self.c, &rows[0], n)
            if first < n:
                raise ValueError(f"row {rows[first]} is not in use")

    cdef _check_written(self, const int64_t* rows, size_t n):
        cdef size_t first = band_tables_unwritten(&self.c, rows, n)
        if first < n:
            raise ValueError(f"row {rows[first]} has no signature")

    cdef inline void _note_written(self, int64_t row) noexcept:
        if row >= 0:
            self.c.alive[row] = BAND_TABLES_WRITTEN

    cdef _check_in_tables(self, const int64_t* rows, size_t n):
        cdef size_t i
        for i in range(n):
            if self.c.alive[rows[i]] != BAND_TABLES_WRITTEN:
                raise ValueError(f"row {rows[i]} has no signature")

    cdef _check_signatures(self, const uint64_t[:, ::1] signatures, size_t n):
        if <size_t>signatures.shape[0] != n or <size_t>signatures.shape[1] != self.c.k:
            raise ValueError(f"signatures must be ({n}, {self.c.k}), not ({signatures.shape[0]}, {signatures.shape[1]})")

    cdef _turn(self, const int64_t[::1] rows, uint8_t state, uint8_t other):
        """Change the state of rows, or raise ValueError where one has another state or comes twice."""
        cdef size_t first, n = len(rows)
        cdef uint8_t found
        self._check_in_use(rows)
        if n == 0:
            return
        first = band_tables_turn(&self.c, &rows[0], n, state, other)
        if first == n:
            return
        found = self.c.alive[rows[first]]
        if found == state:
            raise ValueError(f"row {rows[first]} comes twice")
        if state == BAND_TABLES_IN_USE:
            raise ValueError(f"row {rows[first]} has a signature in the tables: erase it before")
        raise ValueError(f"row {rows[first]} has no signature")

    # ---- rows and names ----

    def allot(self, size_t n):
        """Take n rows without names; return their numbers, int64 (n,)."""
        self._check_writable()
        rows_array = np.empty(n, np.int64)
        cdef int64_t[::1] rows = rows_array
        check_outcome(band_tables_reserve(&self.c, n))
        if n:
            band_tables_allot(&self.c, n, &rows[0])
        return rows_array

    def admit(self, names, keys=None):
        """Give each name a row, unless it has one: all of them or, if an error is raised, none.

        Parameters
        ----------
        names : ndarray of int64 or uint64, as the kind is, or list of str; any column of keys with `keys`
        keys : KeyTable, optional
            Where rows without names of their own have them.

        Returns
        -------
        rows : ndarray of int64, shape (n,)
        fresh : ndarray of bool, shape (n,)
            True where this call took the row: at the first occurrence of a new name.
        """
        cdef _Admitted admitted = _Admitted(len(names))
        self._admit(names, keys, admitted)
        return admitted.rows_array, admitted.fresh_array.view(bool)

    cdef _admit(self, names, keys, _Admitted to):
        self._check_writable()
        if keys is not None:
            admit_keys(&self.c, names, keys, to.rows, to.fresh)
            return
        try:
            admit_names(&self.c, names, to.rows, to.fresh)
        except BaseException:
            self._dismiss(to, None)
            raise

    cdef _dismiss(self, _Admitted admitted, keys):
        """Free the rows that `_admit` took; it needs no memory. `admitted` cannot be used afterwards."""
        cdef size_t i, n = 0
        for i in range(admitted.n):
            if admitted.fresh[i]:
                admitted.rows[n] = admitted.rows[i]
                n += 1
        if n:
            if keys is not None:
                keys_withdraw(keys, &admitted.rows[0], n)
            self._release(&admitted.rows[0], n)

    def release(self, const int64_t[::1] rows not None):
        """Free rows and their names; their signatures must not be in the tables (see `erase`). No row may come twice."""
        rows = aligned(rows)
        self._check_writable()
        self._turn(rows, BAND_TABLES_IN_USE, BAND_TABLES_FREE)
        if len(rows):
            self._release(&rows[0], len(rows))

    cdef _release(self, const int64_t* rows, size_t n):
        if n == 1:
            band_tables_release(&self.c, rows, n)
        else:
            with nogil:
                band_tables_release(&self.c, rows, n)
        self._let_go()

    def find(self, names):
        """Return the row of each name (an array of the kind, or list of str), -1 where there is none: int64 (n,)."""
        return find_names(&self.c, names)

    def find_one(self, name):
        """Return the row of a name, -1 if there is none, None if it cannot be a name of these rows."""
        cdef names_one one
        if not read_name(&self.c.names, name, &one):
            return None
        return find_name(&self.c, &one)

    def is_either(self):
        """Return whether the names of all rows in use are integers in 0..2**63 - 1, which any of both kinds can be."""
        cdef const uint8_t* gone = self.c.gone
        cdef const uint8_t* alive = self.c.alive
        cdef const int64_t* integers = self.c.names.integers
        cdef size_t row, n = self.c.limit
        if self.c.names.kind != NAMES_INTEGERS:
            return False
        with nogil:
            for row in range(n):
                if integers[row] < 0 and (gone[row] == 0 if self.fixed else alive[row] != 0):
                    with gil:
                        return False
        return True

    def read_as(self, kind not None):
        """Read names, which are `is_either`, as "int" or "uint" from now on; fixed tables are only read otherwise, too."""
        if kind not in ("int", "uint") or not self.is_either():
            raise ValueError(f"the names of rows must be integers in 0..2**63 - 1 to be read as {kind!r}")
        self.c.names.is_unsigned = kind == "uint"

    def names_of(self, const int64_t[::1] rows not None):
        """Return the names of rows: int64 or uint64 (n,), or a list of str."""
        rows = aligned(rows)
        self._check_rows(rows)
        return names_at(&self.c, rows)

    def tags_of(self, const int64_t[::1] rows not None):
        """Return the tags of the names of rows: uint32 (n,)."""
        rows = aligned(rows)
        self._check_rows(rows)
        return tags_at(&self.c, rows)

    def rows_in_use(self):
        """Return the rows in use, ascending: int64 (n,)."""
        if self.fixed:
            return np.flatnonzero(np.asarray(self.gone_array) == 0)
        if self.c.limit == 0:
            return np.empty(0, np.int64)
        return np.flatnonzero(<uint8_t[:self.c.limit]>self.c.alive)

    # ---- where signatures lie ----

    cdef _place(self, const int64_t* rows, size_t n, signatures, bint copy):
        """Have memory for the signatures of rows; those that need not be copied stay where they are, block by block."""
        cdef size_t i = 0, some, whole
        while i < n:
            some = n - i
            if not copy:
                some = band_tables_same_block(&self.c, rows + i, n - i)
                whole = band_tables_rest_of_block(&self.c, rows[i])
                if some == whole and are_consecutive(rows + i, some) and self._keep(rows[i], signatures[i:i + some]):
                    i += some
                    continue
            check_outcome(band_tables_prepare(&self.c, rows + i, some))
            i += some
        self._let_go()

    cdef bint _keep(self, size_t row, signatures) except -1:
        """Let a block lie in an array that is not ours, from a row of it on, if those before lie in front of that."""
        cdef size_t block = row >> self.c.shift, start = row - (block << self.c.shift)
        cdef const uint64_t[:, ::1] view
        cdef list pieces = [signatures]
        if start:
            if self.c.kept[block].rows != start:
                return False
            pieces = joined_rows([self.kept[block], signatures])
            if len(pieces) > 1:
                return False
        view = pieces[0]
        before = self.kept.get(block)  # lives until C does not point to it any more
        self.kept[block] = pieces[0]
        band_tables_keep(&self.c, block, &view[0, 0], view.shape[0], len(signatures))
        return True

    cdef _let_go(self):
        """Forget arrays that C does not point to any more."""
        cdef size_t block = band_tables_let_go(&self.c)
        while block != TABLES_NO_PLACE:
            self.kept.pop(block, None)
            block = band_tables_let_go(&self.c)

    # ---- signatures ----

    def write(self, const int64_t[::1] rows not None, signatures not None, bint copy=True):
        """Put signatures into rows that are in use and have none in the tables. No row may come twice.

        Where memory runs out, the tables are as before.

        Parameters
        ----------
        rows : ndarray of int64, shape (n,)
        signatures : ndarray of uint64, shape (n, num_perm)
        copy : bool
            False: the array never changes, and may be kept.
        """
        cdef const uint64_t[:, ::1] given = signatures
        if given.shape[0] and given.shape[1] and <size_t>&given[0, 0] % sizeof(uint64_t):
            signatures = given = np.array(signatures, np.uint64)
        rows = aligned(rows)
        self._check_writable()
        self._check_in_use(rows)
        self._check_signatures(given, len(rows))
        self._turn(rows, BAND_TABLES_IN_USE, BAND_TABLES_WRITTEN)
        if len(rows) == 0:
            return
        try:
            self._place(&rows[0], len(rows), signatures, copy)
            self._write(&rows[0], &given[0, 0], len(rows))
        except BaseException:
            band_tables_turn(&self.c, &rows[0], len(rows), BAND_TABLES_WRITTEN, BAND_TABLES_IN_USE)
            raise

    cdef _write(self, const int64_t* rows, const uint64_t* signatures, size_t n):
        """Put signatures into rows, which there is memory for, and into the tables."""
        cdef size_t done = 0
        cdef tables_outcome outcome = TABLES_DONE
        cdef band_tables_batch many
        cdef band_tables_batch* batch = self._batch(n, &many)
        try:
            while done < n:
                if done:  # an interrupt is undone like any error
                    PyErr_CheckSignals()
                if n == 1:  # shorter than to let others run and to wait for them
                    outcome = band_tables_write(&self.c, batch, rows, signatures, n, &done)
                else:
                    with nogil:
                        outcome = band_tables_write(&self.c, batch, rows, signatures, n, &done)
                check_outcome(outcome)
        except BaseException:
            band_tables_erase(&self.c, batch, rows, done)
            raise
        finally:
            if batch == &many:
                band_tables_batch_end(&many)

    cdef band_tables_batch* _batch(self, size_t n, band_tables_batch* many) noexcept:
        """Return what to work on n rows with: row by row where there is no memory for more at once."""
        if n == 1 or band_tables_batch_begin(many, &self.c, n) != TABLES_DONE:
            return &self.one
        return many

    def insert_one(self, name, signature not None):
        """Give a new name a row with this signature; False if it has one already, None if it cannot be a name here."""
        cdef Py_buffer slots
        cdef names_one one
        cdef int64_t row
        self._check_writable()
        get_slots(signature, self.c.k, &slots)
        try:
            if not read_name(&self.c.names, name, &one):
                return None
            check_outcome(band_tables_insert_one(&self.c, &self.one, &one, <const uint64_t*>slots.buf, &row))
            self._note_written(row)
            self._let_go()
        finally:
            PyBuffer_Release(&slots)
        return row >= 0

    def insert_plain(self, name, signature):
        """Do what `insert_one` does for a signature that is a plain array; return whether the name was new.

        It returns False also for anything else, for which `insert_one` then finds the answer or the error.
        """
        cdef names_one one
        cdef int64_t row = -1
        self._check_writable()
        cdef const uint64_t* slots = slots_of(signature, self.c.k)
        if slots != NULL and read_name(&self.c.names, name, &one):
            check_outcome(band_tables_insert_one(&self.c, &self.one, &one, slots, &row))
            self._note_written(row)
            self._let_go()
        return row >= 0

    def insert(self, names, signatures not None, on_duplicate, known=None, bint copy=True, gone=(), keys=None):
        """Give names rows with these signatures and mark rows of other tables as gone: all of it or nothing.

        No signal handler runs between two steps that belong together, since this is one call of compiled code. What can
        fail or be interrupted (memory, the methods of keys, functions of numpy) comes before the steps that cannot, and
        is undone.

        Parameters
        ----------
        names : ndarray of int64 or uint64, list of str, or with `keys` any column
            n names.
        signatures : ndarray of uint64, shape (n, num_perm)
        on_duplicate : {"error", "replace", "skip"}
            What becomes of a name that has a row or comes twice: see the result; the last signature counts; the first.
        known : ndarray of bool, shape (n,), optional
            For "error": names that are in other tables.
        copy : bool
            As for `write`.
        gone : iterable of (ndarray of uint8, ndarray of int64)
            Marks, and which of them are to be set.
        keys : KeyTable, optional
            As for `admit`.

        Returns
        -------
        int
            The rows that were written; for "error", if a name is a duplicate, -1 - the place of the first, and nothing
            was changed.
        """
        cdef const uint64_t[:, ::1] given = signatures
        cdef const uint8_t[::1] stored = None if known is None else known.view(np.uint8)
        cdef list marks = markings_of(gone)
        cdef _Admitted admitted = _Admitted(len(names))
        cdef size_t i, n = admitted.n, count = 0
        self._check_writable()
        self._check_signatures(given, n)
        if stored is not None and <size_t>len(stored) != n:
            raise ValueError(f"known must have {n} values, not {len(stored)}")
        self._admit(names, keys, admitted)
        if on_duplicate == "error":
            for i in range(n):
                if not admitted.fresh[i] or (stored is not None and stored[i]):
                    self._dismiss(admitted, keys)
                    return -1 - <Py_ssize_t>i
        for i in range(n):
            count += admitted.fresh[i]
        try:
            if count == n:
                self.write(admitted.rows_array, signatures, copy)
            elif on_duplicate == "replace":
                count = self._replace(admitted, signatures, keys)
            else:
                fresh = admitted.fresh_array.view(bool)
                self.write(admitted.rows_array[fresh], signatures[fresh], copy)
        except BaseException:
            self._dismiss(admitted, keys)
            raise
        set_marks(marks)
        return count

    cdef size_t _replace(self, _Admitted admitted, signatures, keys) except? 0:
        """Write the last signature of each row; new rows take the place of those that were there before."""
        cdef const int64_t[::1] before, after
        rows = admitted.rows_array
        distinct, last = np.unique(np.asarray(rows, np.int64)[::-1], return_index=True)
        old = np.setdiff1d(distinct, rows[admitted.fresh_array.view(bool)])
        places = np.searchsorted(distinct, old)
        signatures = signatures[len(rows) - 1 - last]
        before = old
        new = self.allot(len(old))
        try:
            if keys is not None:
                keys_reserve(keys, self.c.limit)
            after = new
            distinct[places] = new
            self.write(distinct, signatures)
        except BaseException:
            self.release(new)
            raise
        if len(before):
            self._hand_over(&before[0], &after[0], len(before), keys)
        return len(distinct)

    def hand_over(self, const int64_t[::1] old not None, const int64_t[::1] new not None):
        """Give the names of rows to as many others, which have none, and free them with their signatures.

        It cannot fail half-way, as it needs no memory. No row may come twice.
        """
        old, new = aligned(old), aligned(new)
        cdef size_t n = len(old)
        self._check_writable()
        self._check_in_use(new)
        if <size_t>len(new) != n:
            raise ValueError(f"there must be as many new rows as old ones, not {len(new)} for {n}")
        self._turn(old, BAND_TABLES_WRITTEN, BAND_TABLES_FREE)
        if n == 0:
            return
        try:
            self._turn(new, BAND_TABLES_WRITTEN, BAND_TABLES_CHECKED)
        except BaseException:
            band_tables_turn(&self.c, &old[0], n, BAND_TABLES_FREE, BAND_TABLES_WRITTEN)
            raise
        band_tables_turn(&self.c, &new[0], n, BAND_TABLES_CHECKED, BAND_TABLES_WRITTEN)
        self._hand_over(&old[0], &new[0], n, None)

    cdef _hand_over(self, const int64_t* old, const int64_t* new, size_t n, keys):
        cdef band_tables_batch many
        cdef band_tables_batch* batch = self._batch(n, &many)
        if keys is not None:
            keys_move(keys, old, new, n)
        with nogil:
            band_tables_hand_over(&self.c, batch, old, new, n)
            if batch == &many:
                band_tables_batch_end(&many)
        self._let_go()

    def erase(self, const int64_t[::1] rows not None):
        """Take the signatures of rows out of the tables; the rows stay in use. No row may come twice."""
        rows = aligned(rows)
        self._check_writable()
        self._turn(rows, BAND_TABLES_WRITTEN, BAND_TABLES_IN_USE)
        if len(rows):
            self._erase(&rows[0], len(rows))

    cdef _erase(self, const int64_t* rows, size_t n):
        cdef band_tables_batch many
        cdef band_tables_batch* batch = self._batch(n, &many)
        with nogil:
            band_tables_erase(&self.c, batch, rows, n)
            if batch == &many:
                band_tables_batch_end(&many)

    def discard(self, const int64_t[::1] rows not None, gone=(), keys=None):
        """Take rows out of the tables, free them and their names, and mark rows of others as gone: all of it or nothing.

        A row may come twice; `gone` and `keys` are as for `insert`. If a key raises an error, all is done nevertheless.
        """
        cdef list marks = markings_of(gone), absent = []
        rows = aligned(rows)
        cdef size_t n
        # With their type: where memory is refused, numpy reads a buffer as a sequence, and one without rows as floats.
        sorted_rows = np.array(rows, np.int64)
        sorted_rows.sort()  # in their order memory is quicker at them, too
        cdef int64_t[::1] once = sorted_rows
        self._check_writable()
        self._check_in_use(rows)
        if len(rows):
            self._check_in_tables(&rows[0], len(rows))
            if keys is not None:
                absent = keys_of_rows(keys, rows)
            n = band_tables_claim_once(&self.c, &once[0], len(once))
            self._erase(&once[0], n)
            if keys is not None:
                keys_forget(keys, &once[0], n)
            self._release(&once[0], n)
        set_marks(marks)
        if keys is not None:
            keys_clean(keys, absent)

    def discard_one(self, name):
        """Take the row of a name out, with both; False if there is none, or it cannot be a name of these rows."""
        cdef names_one one
        cdef int64_t row
        self._check_writable()
        if not read_name(&self.c.names, name, &one):
            return False
        row = find_name(&self.c, &one)
        if row < 0:
            return False
        self._check_in_tables(&row, 1)
        band_tables_erase(&self.c, &self.one, &row, 1)
        self._release(&row, 1)
        return True

    def signatures_of(self, const int64_t[::1] rows not None, out=None):
        """Return the signatures of rows, uint64 (n, num_perm), in `out` if that is given."""
        rows = aligned(rows)
        self._check_rows(rows)
        cdef size_t i, n = len(rows), done = 0
        cdef uint64_t last_pause = 0
        out_array = np.empty((n, self.c.k), np.uint64) if out is None else out
        cdef uint64_t[:, ::1] to = out_array
        self._check_signatures(to, n)
        if n:
            check_out(&to[0, 0], sizeof(uint64_t))
        if n and not self.fixed:
            self._check_written(&rows[0], n)
        with nogil:
            for i in range(n):
                memcpy(&to[i, 0], band_tables_signature(&self.c, rows[i]), self.c.k * sizeof(uint64_t))
                done += self.c.k
                if done >= WORK:
                    done = 0
                    pause(&last_pause)
        return out_array

    # ---- queries ----

    def query(self, const uint64_t[:, ::1] signatures not None, least=None, room=None):
        """Return the rows that agree with each query in all slots of some band, ascending.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (m, num_perm)
        least : int, optional
            Count equal slots, and leave out rows with fewer.
        room : int, optional
            End once there are so many rows. Then only the first a of the m queries are answered, at least one.

        Returns
        -------
        offsets : ndarray of int64, shape (a + 1,)
        rows : ndarray of int64, shape (offsets[a],)
        agreements : ndarray of int64, shape (offsets[a],), or None

        Raises
        ------
        ValueError
            If an entry of tables in foreign memory leads nowhere.
        """
        signatures = aligned_rows(signatures)
        self._check_signatures(signatures, signatures.shape[0])
        return answers_of(&self.c, signatures, least, SIZE_MAX if room is None else room)

    def query_one(self, signature not None, least=None, gate=None):
        """Return what `query` does for one signature of num_perm slots, as lists: (names or rows, agreements or None).

        It takes less time than locking does, so the interpreter lock is held throughout. Of the `Gate` that writers come
        through, the readers' side is entered only where one may be inside.
        """
        cdef Py_buffer slots
        cdef list names = [], agreements = None if least is None else []  # here already: memory may be tidied up for them
        get_slots(signature, self.c.k, &slots)
        try:
            if gate is None or not has_writer(gate):
                with cython.critical_section(self):  # without an interpreter lock, threads share `asking`
                    answer_one(&self.c, &self.asking, <const uint64_t*>slots.buf, least, names, agreements)
            else:
                with gate.reading(), cython.critical_section(self):
                    answer_one(&self.c, &self.asking, <const uint64_t*>slots.buf, least, names, agreements)
        finally:
            PyBuffer_Release(&slots)
        return names, agreements

    def query_plain(self, signature, gate not None):
        """Return what `query_one` finds for a signature that is a plain array, the names in order; None for anything else.

        It is None also if the rows have no names, or a writer may be inside.
        """
        cdef list names = []
        cdef const uint64_t* slots = slots_of(signature, self.c.k)
        if slots == NULL or self.c.names.kind == NAMES_NONE or has_writer(gate):
            return None
        answer_one(&self.c, &self.asking, slots, None, names, None)
        if len(names) > 1:
            names.sort()
        return names

    def search(self, const uint64_t[:, :, ::1] buckets not None, const uint64_t[:, ::1] points not None,
               tuple measure not None, most=None, within=None, limit=None, int64_t[:, ::1] progress=None, room=None):
        """Return the rows that share a bucket with each query, and their distances to it.

        Parameters
        ----------
        buckets : ndarray of uint64, shape (m, bands, probes)
            The values of the buckets of each band, the most promising first; all ones for none.
        points : ndarray of uint64, shape (m, payload)
        measure : tuple of (str, str, int)
            Measure, layout and dim: see `lshfast.kernels.distances`.
        most : int, optional
            Only so many of the nearest rows, and those as near as the last of them.
        within : float, optional
            Only rows at this distance or less.
        limit : (str, int), optional
            ("closest", n): examine n rows. ("first", n): end at the first row within `within`, or after n beyond it.
        progress : ndarray of int64, shape (m, 3), optional
            Rows examined, rows that count against the limit, and 1 for a query that has ended: those of other tables,
            to which those of these are added.
        room : int, optional
            End once there are so many rows. Then only the first a of the m queries are answered, at least one, and the
            progress of the others does not count.

        Returns
        -------
        offsets : ndarray of int64, shape (a + 1,)
        rows : ndarray of int64, shape (offsets[a],)
            In no particular order.
        distances : ndarray of float64, shape (offsets[a],)
        """
        if <size_t>points.shape[1] and points.shape[0] and <size_t>&points[0, 0] % sizeof(uint64_t):
            points = np.array(points, np.uint64)
        if buckets.shape[0] and buckets.shape[2] and <size_t>&buckets[0, 0, 0] % sizeof(uint64_t):
            buckets = np.array(buckets, np.uint64)
        if progress is None:
            progress = np.zeros((buckets.shape[0], 3), np.int64)
        if progress.shape[0] and progress.shape[1]:
            check_out(&progress[0, 0], sizeof(int64_t))
        return search_of(&self.c, buckets, points, measure, most, within, limit, progress,
                         SIZE_MAX if room is None else room)

    # ---- files ----

    def tidy(self):
        """Bring the buckets of several rows together, so that none of their memory is free."""
        self._check_writable()
        with nogil:
            outcome = band_tables_tidy(&self.c)
        check_outcome(outcome)

    def sections(self):
        """Return what these tables consist of, for `over`: by name, the arrays that make it up one after the other.

        Each row below the limit must be in use. The arrays lie over the memory of the tables; as long as one of them
        exists, the tables free no memory, but they may write to it.
        """
        if self.fixed:
            return {name: [array] for name, array in self.given.items()}
        if self.c.free_count or self.c.idle:
            raise ValueError(f"{self.c.free_count + self.c.idle} rows are free: the tables must be built anew")
        return sections_of(self, &self.c, self.kept, &self.watchers)

    @staticmethod
    def over(size_t num_perm, size_t bands, size_t rows, kind, dict sections, gone=None, size_t payload=0,
             bint apart=False, size_t bits=0, size_t head=0):
        """Make fixed tables over the arrays of `sections`, each in one piece, which stay where they are if aligned.

        They may be a file's: shapes are checked here, and what leads from one to the other whenever it is followed.

        Parameters
        ----------
        num_perm, bands, rows, kind, payload, apart, bits, head
            As for the constructor.
        sections : dict of str to ndarray
            "shape" uint64 (tables, 3); "tables", all entries in a row, uint64; "pool" uint32; "signatures" uint64
            (n, num_perm); "integers" int64 (n,), or "starts" int64 (n,), "lengths" uint32 (n,) and "bytes" uint8.
        gone : ndarray of uint8, shape (n,), optional
            1 where a row does not count; may change later.
        """
        cdef BandTables made = BandTables.__new__(BandTables, num_perm, bands, rows, kind, payload, apart, bits,
                                                     head)
        made.given = {name: np.require(array, requirements="A") for name, array in sections.items()}
        made.gone_array = np.zeros(len(made.given["signatures"]), np.uint8) if gone is None else gone
        made._fix(made.given["signatures"])
        lie_over(&made.c, made.given, made.gone_array)
        return made

    cdef _fix(self, const uint64_t[:, ::1] signatures):
        cdef size_t n = len(signatures)
        if <size_t>signatures.shape[1] != self.c.k:
            raise ValueError(f"signatures must have {self.c.k} slots, not {signatures.shape[1]}")
        if n > TABLES_MOST_ROWS:
            raise ValueError(f"there must be at most {TABLES_MOST_ROWS} rows, not {n}")
        check_outcome(band_tables_fix(&self.c, &signatures[0, 0] if n else NULL, n))
        self.fixed = True

    cdef _lay_codes(self, tuple measure):
        """Copy the codes of fixed tables to memory, and arrange them."""
        with _coding:
            if self.c.heads == NULL:
                arrange(&self.c, measure, CODE_CELLS_LEAST)
                with nogil:
                    outcome = band_tables_code(&self.c)
                check_outcome(outcome)

    def arrange(self, tuple measure not None, size_t least=CODE_CELLS_LEAST):
        """Divide the rows into cells of near points, if there are many that are in none; searches by codes skip cells.

        The results do not depend on it. Fixed tables are arranged by the first search.

        Parameters
        ----------
        measure : tuple
            As for `search`. Only "cosine" of "float32" or "float64" has cells.
        least : int
            Rows, below which there are no cells.

        Returns
        -------
        bool
            Whether the cells are new. They are the old ones if there is no memory for others.
        """
        self._check_writable()
        return arrange(&self.c, measure, max(1, least))

    def unsound(self):
        """Return the number of the first table that is not what `write` and `admit` make, None if there is none."""
        cdef size_t i
        cdef bint sound
        cdef uint64_t last_pause = 0
        for i in range(self.c.bands + (self.c.names.kind != NAMES_NONE)):
            with nogil:
                sound = tables_is_sound(&self.c.tables[i], &self.c.pool, self.c.limit)
            if not sound:
                return i
            pause(&last_pause)
        return None

    # ---- figures ----

    @property
    def limit(self):
        """Rows below it are in use or free."""
        return self.c.limit

    def __len__(self):
        """Count the rows in use."""
        if self.fixed:
            return self.c.limit - int(np.count_nonzero(self.gone_array))
        return self.c.limit - self.c.free_count - self.c.idle

    def room(self):
        """Return how many more entries fit into each band's table before one grows."""
        cdef size_t i, least = TABLES_MOST_ROWS
        cdef uint64_t most
        for i in range(self.c.bands):
            most = tables_most_entries(&self.c.tables[i])
            least = min(least, most - min(self.c.tables[i].count, most))
        return least

    def nbytes(self):
        """Return the bytes of memory in use: (signatures, tables, names)."""
        signatures, entries, names = sizes_of(&self.c)
        if self.fixed:
            return signatures, entries + self.gone_array.nbytes, names
        return signatures + sum(block.nbytes for block in self.kept.values()), entries, names

    def bucket_sizes(self):
        """Return how many buckets of all bands hold 1, 2-3, 4-7, ... rows, the most rows of one, and the sum of squares."""
        return buckets_of(&self.c)


cdef inline bint read_name(const c_names* names, name, names_one* one) except -1:
    """Tell what a name is among these; False if it cannot be one of them."""
    cdef names_kind kind = names.kind
    cdef int beyond = 0
    cdef long long integer
    cdef Py_ssize_t length
    cdef const uint8_t* text
    if kind == NAMES_INTEGERS and type(name) is int:
        integer = PyLong_AsLongLongAndOverflow(name, &beyond)
        if names.is_unsigned:
            if beyond > 0 and name <= UINT64_MAX:
                integer, beyond = <long long>PyLong_AsUnsignedLongLong(name), 0
            elif integer < 0:
                return False
        one[0] = names_integer(integer)
        return not beyond
    if kind == NAMES_STRINGS and type(name) is str:
        text = <const uint8_t*>utf8_or_null(name, &length)
        if not text or <size_t>length > NAMES_LONGEST:
            PyErr_Clear()
            text = text_of(name, &length)  # raises the error
        one[0] = names_string(text, length)
        return True
    return False


cdef inline int64_t find_name(band_tables* c, const names_one* one) except? -1:
    """Return the row of a name, -1 if there is none."""
    cdef size_t met, compared = 0
    cdef uint32_t row = names_find(&c.names, one, &met, &compared)
    if compared:
        gather_crowd(c, compared)
    return -1 if row == TABLES_NO_ROW else <int64_t>row


_coding = threading.Lock()


def search_codes(list tables not None, const uint64_t[:, ::1] codes not None, const uint64_t[:, ::1] points not None,
                 tuple measure not None, const uint8_t[::1] near not None, const double[::1] enough not None, most=None,
                 within=None, limit=None, room=None):
    """Return the rows of several tables that have near codes, and their distances to each query.

    The level of a row is the least v such that its code differs from that of the query in at most v bits, and in at most
    near[v] bits of its head. Rows are examined level by level. The codes of fixed tables are copied to memory by the
    first search.

    Parameters
    ----------
    tables : list of BandTables
        At least one. They have codes, and their rows have the same lengths.
    codes : ndarray of uint64, shape (m, num_perm)
    points, measure, most, within, limit
        As for `BandTables.search`.
    near : ndarray of uint8, shape (r + 1,)
        Numbers that do not fall. Rows of the levels 0..r are examined.
    enough : ndarray of float64, shape (r + 1,)
        Numbers that do not fall. With `most`, no row of a level above v is examined if the last of the nearest rows is at the distance enough[v] or
        less.
    room : int, optional
        As for `BandTables.search`.

    Returns
    -------
    offsets : ndarray of int64, shape (a + 1,)
    rows : ndarray of int64, shape (offsets[a],)
        In no particular order: rows of table t are increased by t * 2**32.
    distances : ndarray of float64, shape (offsets[a],)
    examined : ndarray of int64, shape (a,)
        Number of rows whose distance was computed.
    """
    cdef const void** pointers = coded(tables, measure)
    try:
        return codes_search_of(pointers, len(tables), aligned_rows(codes), aligned_rows(points), measure, near, enough,
                               most, within, limit, SIZE_MAX if room is None else room)
    finally:
        free(pointers)


def search_point(list tables not None, searcher not None, point, most=None, within=None):
    """Return what `search_codes` finds for one point, with names, in order; None if the point is not a plain array.

    It is None also for a point that has no code or cannot be stored; `search_codes` is then preceded by an error.

    Parameters
    ----------
    tables : list of BandTables
        As for `search_codes`.
    searcher : CodeSearcher
        Of `lshfast.kernels.tables_codes`, for these tables.
    point : ndarray of float32 or float64, shape (dim,)
    most, within
        As for `search_codes`; of equally near rows, those with the least names are returned.

    Returns
    -------
    names : list
        By distance, and by name where that is equal. Numbers of rows if they have no names.
    distances : list of float
    words : ndarray of uint64, shape (1, payload)
        Of the point.
    """
    cdef const void** pointers = coded(tables, measure_of(searcher))
    try:
        return point_search_of(pointers, len(tables), searcher, point, most, within)
    finally:
        free(pointers)


cdef const void** coded(list tables, tuple measure) except NULL:
    """Return pointers to tables, to be freed; the codes of fixed ones are in memory then."""
    cdef size_t t, count = len(tables)
    cdef BandTables one
    if not 1 <= count < MOST_SLOTS:
        raise ValueError(f"there must be 1 to {MOST_SLOTS - 1} tables, not {count}")
    cdef const void** pointers = <const void**>malloc(count * sizeof(void*))
    if not pointers:
        raise MemoryError
    try:
        for t in range(count):
            one = tables[t]
            if not one.c.head:
                raise ValueError("only tables with codes can be searched by codes")
            if one.fixed:
                one._lay_codes(measure)
            pointers[t] = &one.c
    except BaseException:
        free(pointers)
        raise
    return pointers


def mark(gone):
    """Set marks of several arrays, all of them or none; `gone` is as for `BandTables.insert`."""
    set_marks(markings_of(gone))
