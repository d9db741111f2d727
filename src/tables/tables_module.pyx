"""The tables of an index: signatures in numbered rows, found by their bands and by name."""

cimport cython
from cython cimport view
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import sys

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.gate cimport has_writer
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause, product_of, sum_of

include "tables_declarations.pxi"

cdef const int* in_use = level_in_use()


include "tables_memory.pxi"
include "tables_keys.pxi"
include "tables_names.pxi"


@cython.auto_pickle(False)
cdef class _Batch:
    """What a batch of rows is put into the tables with: as many of them at once as `most`."""
    cdef size_t most, n, count
    cdef uint64_t* keys
    cdef uint64_t* before  # entries that each table had
    cdef uint64_t* records
    cdef uint32_t* tags
    cdef uint8_t* skip

    def __cinit__(self, size_t bands, size_t n):
        cdef size_t most = max(<size_t>1, min(n, <size_t>BATCH))
        self.most = most
        self.keys = <uint64_t*>malloc(
            (2 * bands + most) * sizeof(uint64_t) + bands * most * sizeof(uint32_t) + most * sizeof(uint8_t))
        if not self.keys:
            raise MemoryError
        self.before = self.keys + bands
        self.records = self.before + bands
        self.tags = <uint32_t*>(self.records + most)
        self.skip = <uint8_t*>(self.tags + bands * most)

    def __dealloc__(self):
        free(self.keys)

    cdef void order(self, size_t band, const int64_t* rows) noexcept nogil:
        """Bring the rows of the batch into the order of their tags of one band."""
        self.count = tag_order(self.tags + band * self.most, rows, self.skip, self.n, self.records)


@cython.auto_pickle(False)
cdef class _Answers:
    """What queries are worked on with, and their answers."""
    cdef c_answers c

    def __cinit__(self, size_t bands, size_t queries, least):
        cdef size_t slots = UNDER_WAY * bands
        self.begin(least)
        self.c.work = WORK
        self.c.room, self.c.capacity = 4 * bands + 64, sum_of(product_of(2, queries), 64)
        self.c.keys = <uint64_t*>malloc((bands + slots) * sizeof(uint64_t) + slots * sizeof(uint32_t))
        self.c.records = <uint64_t*>malloc(2 * self.c.room * sizeof(uint64_t))
        self.c.rows = <uint32_t*>malloc(product_of(self.c.capacity, 2 * sizeof(uint32_t)))
        if not self.c.keys or not self.c.records or not self.c.rows:
            raise MemoryError
        self.c.entries = self.c.keys + bands
        self.c.tags = <uint32_t*>(self.c.entries + slots)
        self.c.agreements = self.c.rows + self.c.capacity

    cdef begin(self, least):
        self.c.count, self.c.least, self.c.used = least is not None, 0 if least is None else least, 0

    def __dealloc__(self):
        free(self.c.keys)
        free(self.c.records)
        free(self.c.rows)

    cdef make_room(self):
        """Make room for the next query's answer, which `needed` says."""
        cdef size_t capacity = sum_of(sum_of(self.c.used, self.c.needed), self.c.capacity // 2)
        cdef uint32_t* rows
        if self.c.needed > self.c.room:
            free(self.c.records)
            self.c.room = 0  # where memory runs out: the next query may ask here, too
            self.c.records = <uint64_t*>malloc(product_of(self.c.needed + self.c.needed // 2, 2 * sizeof(uint64_t)))
            if not self.c.records:
                raise MemoryError
            self.c.room = self.c.needed + self.c.needed // 2
        if self.c.needed > self.c.capacity - self.c.used:
            rows = <uint32_t*>malloc(product_of(capacity, 2 * sizeof(uint32_t)))
            if not rows:
                raise MemoryError
            memcpy(rows, self.c.rows, self.c.used * sizeof(uint32_t))
            memcpy(rows + capacity, self.c.agreements, self.c.used * sizeof(uint32_t))
            free(self.c.rows)
            self.c.rows, self.c.agreements, self.c.capacity = rows, rows + capacity, capacity


@cython.auto_pickle(False)
cdef class BandTables(_Names):
    """Signatures of k slots in numbered rows; a table a band over them, and one of their names.

    Rows below `limit` are in use or free; a free one is used again. This class checks lengths and ranges but does not
    lock: its owner lets many readers in (`find`, `query`, `names_of`, `signatures_of` and the figures) or one writer.

    Parameters
    ----------
    num_perm, bands, rows : int
        Slots of a signature; bands, and slots a band.
    kind : {"int", "str"}, optional
        What the names of rows are: integers of 64 bits, or strings; rows have none by default.
    """
    cdef _Batch one
    cdef _Answers asking  # of single queries

    def __cinit__(self, size_t num_perm, size_t bands, size_t rows, kind=None):
        self.one, self.asking = _Batch(bands, 1), _Answers(bands, 1, None)

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
            signatures = given = np.array(signatures)
        rows = aligned(rows)
        self._check_writable()
        self._check_in_use(rows)
        self._check_signatures(given, len(rows))
        if len(rows):
            self._find_places(&rows[0], len(rows), signatures, copy)
            self._write(&rows[0], &given[0, 0], len(rows))

    cdef _write(self, const int64_t* rows, const uint64_t* signatures, size_t n, bint tagged=False):
        """Put signatures into rows and tables; the tags of a single one may be in its batch already."""
        cdef size_t done = 0, band = 0, next = 0, bands = self.c.bands
        cdef outcome outcome = DONE
        cdef _Batch batch = self._batch(n)
        for band in range(bands):
            batch.before[band] = self.c.tables[band].count
        try:
            while done < n:
                batch.n = min(n - done, batch.most)
                band = next = 0
                if done:  # an interrupt is undone like any error
                    PyErr_CheckSignals()
                if n == 1:  # shorter than to let others run and to wait for them
                    self._lay_down(rows, signatures, batch, tagged)
                    outcome = self._put(rows, batch, &band, &next)
                else:
                    with nogil:
                        self._lay_down(rows + done, signatures + done * self.c.k, batch, False)
                        outcome = self._put(rows + done, batch, &band, &next)
                while outcome != DONE:
                    if next == 0 and is_crowded(&self.c.tables[band], batch.count):
                        self._grow_table(band, self._expected(band, batch, done, n), 1)
                    else:
                        self._make_room(outcome, band)
                    with nogil:
                        outcome = self._put(rows + done, batch, &band, &next)
                done += batch.n
        except BaseException:
            self.c.kernels.take(&self.c.tables[band], &self.pool, batch.records, next)
            self._take(rows + done, batch.n, band, batch)
            self._take(rows, done, bands, batch)
            raise

    cdef outcome _put(self, const int64_t* rows, _Batch batch, size_t* band, size_t* next) noexcept nogil:
        """Put the batch into the tables from *band on, from record *next on; a table that may be too small counts as full.

        Sorted rows come in, and while a table grows they would all crowd at its front.
        """
        cdef outcome outcome = DONE
        cdef table* table
        while band[0] < self.c.bands:
            table = &self.c.tables[band[0]]
            if next[0] == 0:
                batch.order(band[0], rows)
                if is_crowded(table, batch.count):
                    return TABLE_IS_FULL
            outcome = self.c.kernels.put(table, &self.pool, batch.records, batch.count, next)
            if outcome != DONE:
                return outcome
            band[0] += 1
            next[0] = 0
        return DONE

    cdef size_t _expected(self, size_t band, _Batch batch, size_t done, size_t n):
        """Return how many entries a band's table will need for this batch and for the rest.

        What the rows so far have needed tells what the rest will need, so that memory is touched once only.
        """
        cdef size_t so_far = self.c.tables[band].count - batch.before[band]
        return batch.count + <size_t>((n - done - batch.n) * (so_far / <double>done)) if done else batch.count

    cdef void _lay_down(self, const int64_t* rows, const uint64_t* signatures, _Batch batch, bint tagged) noexcept nogil:
        """Copy signatures to their rows unless they lie there, and get their tags unless they are known."""
        cdef size_t i, k = self.c.k
        cdef uint64_t* place
        for i in range(batch.n):
            if i + SOON < batch.n:
                prefetch_signature(&self.c, signatures + (i + SOON) * k)
            place = signature_of(&self.c, rows[i])
            if place != signatures + i * k:
                memcpy(place, signatures + i * k, k * sizeof(uint64_t))
            if not tagged:
                self._tag(signatures + i * k, i, batch)
        if batch.n == 1 and not tagged:
            self._ask(batch)
            self._ask_on(batch)

    cdef void _tag(self, const uint64_t* signature, size_t i, _Batch batch) noexcept nogil:
        batch.skip[i] = signature[0] == UINT64_MAX
        band_tags(&self.c, signature, batch.keys, batch.tags + i, batch.most)

    cdef void _ask(self, _Batch batch) noexcept nogil:
        """Ask for the lines of all bands of a single row at once."""
        cdef size_t band
        for band in range(self.c.bands):
            prefetch_home(&self.c.tables[band], batch.tags[band * batch.most])

    cdef void _ask_on(self, _Batch batch) noexcept nogil:
        """Ask for the next lines, too, where those are full."""
        cdef size_t band
        for band in range(self.c.bands):
            prefetch_next(&self.c.tables[band], batch.tags[band * batch.most])

    def insert_one(self, name, signature not None):
        """Give a new name a row with this signature; False if it has one already, or cannot be a name of these rows."""
        cdef Py_buffer slots
        self._check_writable()
        get_slots(signature, self.c.k, &slots)
        try:
            return self._insert_one(name, <const uint64_t*>slots.buf)
        finally:
            PyBuffer_Release(&slots)

    cdef bint _insert_one(self, name, const uint64_t* signature) except -1:
        cdef table* table = &self.c.tables[self.c.bands]
        cdef int64_t row
        cdef one_name held
        if not self._read(name, &held):
            return False
        prefetch_home(table, held.tag)
        self.one.n = 1
        self._tag(signature, 0, self.one)
        self._ask(self.one)
        self._reserve(1)
        if self._row_of(&held) != NO_ROW:
            return False
        self._ask_on(self.one)
        if self.kind == INTEGERS:
            row = self._allot()
            self.integers[row] = held.integer
        else:
            row = self._allot_bytes(held.text, held.length)
        try:
            self._put_name(held.tag, <uint32_t>row, table_put(table, &self.pool, held.tag, <uint32_t>row))
            self._find_places(&row, 1, None, True)
            self._write(&row, signature, 1, True)
        except BaseException:
            self._release(&row, 1)
            raise
        return True

    def insert(self, names, signatures not None, on_duplicate, known=None, bint copy=True, gone=(), KeyTable keys=None):
        """Give names rows with these signatures and mark rows of other tables as gone: all of it or nothing.

        No signal handler runs between two steps that belong together, since this is one call of compiled code. What can
        fail or be interrupted (memory, the methods of keys, functions of numpy) comes before the steps that cannot, and
        is undone.

        Parameters
        ----------
        names : ndarray of int64, list of str, or with `keys` any column
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
        cdef list marks = _markings(gone)
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
        _set(marks)
        return count

    cdef size_t _replace(self, _Admitted admitted, signatures, KeyTable keys) except? 0:
        """Write the last signature of each row; new rows take the place of those that were there before."""
        cdef const int64_t[::1] before, after
        rows = admitted.rows_array
        distinct, last = np.unique(rows[::-1], return_index=True)
        old = np.setdiff1d(distinct, rows[admitted.fresh_array.view(bool)])
        places = np.searchsorted(distinct, old)
        signatures = signatures[len(rows) - 1 - last]
        before = old
        new = self.allot(len(old))
        try:
            if keys is not None:
                keys.reserve(self.c.limit)
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

        Nothing is allocated, so it cannot fail half-way. No row may come twice.
        """
        old, new = aligned(old), aligned(new)
        cdef size_t n = len(old)
        self._check_writable()
        self._check_in_use(new)
        if <size_t>len(new) != n:
            raise ValueError(f"there must be as many new rows as old ones, not {len(new)} for {n}")
        self._check_in_use(old)
        if n == 0:
            return
        self._check_written(&old[0], n)
        self._claim(old)
        self._hand_over(&old[0], &new[0], n, None)

    cdef _hand_over(self, const int64_t* old, const int64_t* new, size_t n, KeyTable keys):
        cdef size_t i
        self._take(old, n, self.c.bands, self._batch(n))
        if keys is not None:
            keys.move(old, new, n)
        for i in range(n):
            if self.kind != NAMELESS:
                table_rename(&self.c.tables[self.c.bands], &self.pool, self._tag_of_row(old[i]), old[i], new[i])
            if self.kind == INTEGERS:
                self.integers[new[i]] = self.integers[old[i]]
            elif self.kind == STRINGS:
                self.starts[new[i]], self.lengths[new[i]] = self.starts[old[i]], self.lengths[old[i]]
        self._give_back(old, n)

    def erase(self, const int64_t[::1] rows not None):
        """Take the signatures of rows out of the tables; the rows stay in use. No row may come twice."""
        rows = aligned(rows)
        self._check_writable()
        self._check_in_use(rows)
        if len(rows):
            self._check_written(&rows[0], len(rows))
            self._take(&rows[0], len(rows), self.c.bands, self._batch(len(rows)))

    def discard(self, const int64_t[::1] rows not None, gone=(), KeyTable keys=None):
        """Take rows out of the tables, free them and their names, and mark rows of others as gone: all of it or nothing.

        A row may come twice; `gone` and `keys` are as for `insert`. If a key raises an error, all is done nevertheless.
        """
        cdef list marks = _markings(gone), absent = []
        rows = aligned(rows)
        cdef size_t i, n = 0
        cdef int64_t[::1] once = np.sort(rows)  # in their order memory is quicker at them, too
        cdef _Batch batch
        self._check_writable()
        self._check_in_use(rows)
        if len(rows):
            self._check_written(&rows[0], len(rows))
            batch = self._batch(len(rows))
            if keys is not None:
                absent = keys.keys_of(rows)
            for i in range(<size_t>len(once)):
                if self.alive[once[i]]:
                    self.alive[once[i]] = 0
                    once[n] = once[i]
                    n += 1
            self._take(&once[0], n, self.c.bands, batch)
            if keys is not None:
                keys.forget(&once[0], n)
                keys.count -= n
            self._release(&once[0], n)
        _set(marks)
        if keys is not None:
            keys.clean(absent)

    def discard_one(self, name):
        """Take the row of a name out, with both; False if there is none, or it cannot be a name of these rows."""
        cdef int64_t row
        cdef one_name held
        self._check_writable()
        if not self._read(name, &held):
            return False
        row = self._row_of(&held)
        if row == NO_ROW:
            return False
        self._check_written(&row, 1)
        self._take(&row, 1, self.c.bands, self.one)
        self._release(&row, 1)
        return True

    cdef _Batch _batch(self, size_t n):
        """Return what to work on n rows with: row by row where there is no memory for more at once."""
        try:
            return self.one if n == 1 else _Batch(self.c.bands, n)
        except MemoryError:
            return self.one

    cdef void _take(self, const int64_t* rows, size_t n, size_t bands, _Batch batch) noexcept nogil:
        """Take rows out of the tables of the first bands."""
        cdef size_t done = 0, i, band
        while done < n:
            batch.n = min(n - done, batch.most)
            for i in range(batch.n):
                if done + i + SOON < n:
                    prefetch_signature(&self.c, signature_of(&self.c, rows[done + i + SOON]))
                self._tag(signature_of(&self.c, rows[done + i]), i, batch)
            if batch.n == 1:
                self._ask(batch)
                self._ask_on(batch)
            for band in range(bands):
                batch.order(band, rows + done)
                self.c.kernels.take(&self.c.tables[band], &self.pool, batch.records, batch.count)
            done += batch.n

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
                memcpy(&to[i, 0], signature_of(&self.c, rows[i]), self.c.k * sizeof(uint64_t))
                done += self.c.k
                if done >= WORK:
                    done = 0
                    pause(&last_pause)
        return out_array

    def query(self, const uint64_t[:, ::1] signatures not None, least=None):
        """Return the rows that agree with each query in all slots of some band, ascending.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (m, num_perm)
        least : int, optional
            Count equal slots, and leave out rows with fewer.

        Returns
        -------
        offsets : ndarray of int64, shape (m + 1,)
        rows : ndarray of int64, shape (offsets[m],)
        agreements : ndarray of int64, shape (offsets[m],), or None

        Raises
        ------
        ValueError
            If an entry of tables in foreign memory leads nowhere.
        """
        signatures = aligned_rows(signatures)
        cdef size_t m = signatures.shape[0]
        self._check_signatures(signatures, m)
        cdef _Answers a = _Answers(self.c.bands, m, least)
        offsets_array = np.zeros(m + 1, np.int64)
        cdef int64_t[::1] offsets = offsets_array
        if m:
            self._answer(&signatures[0, 0], m, &offsets[0], a)
        rows = _int64_of(a.c.rows, a.c.used)
        return offsets_array, rows, _int64_of(a.c.agreements, a.c.used) if a.c.count else None

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
                self._answer_one(<const uint64_t*>slots.buf, least, names, agreements)
            else:
                with gate.reading():
                    self._answer_one(<const uint64_t*>slots.buf, least, names, agreements)
        finally:
            PyBuffer_Release(&slots)
        return names, agreements

    cdef _answer_one(self, const uint64_t* signature, least, list names, list agreements):
        """Answer a query, running no code of Python's: no other thread can come between."""
        cdef _Answers a
        cdef int64_t[2] offsets
        cdef size_t i
        with cython.critical_section(self):  # where there is no interpreter lock, several threads may ask
            a, self.asking = self.asking, None
        if a is None:
            a = _Answers(self.c.bands, 1, None)
        a.begin(least)
        a.c.names = self.names.integers
        self._answer(signature, 1, offsets, a)
        for i in range(a.c.used):
            names.append(self._name_of(a.c.rows[i]))
            if agreements is not None:
                agreements.append(a.c.agreements[i])
        if a.c.capacity <= MOST_SPARE:
            with cython.critical_section(self):
                self.asking = a

    cdef _answer(self, const uint64_t* signatures, size_t m, int64_t* offsets, _Answers a):
        cdef size_t next = 0
        cdef uint64_t last_pause = 0
        cdef answer outcome = NO_ROOM
        offsets[0] = 0
        a.c.offsets = offsets
        while True:
            if m == 1:
                outcome = answer_queries(&self.c, signatures, m, &next, &a.c)
            else:
                with nogil:
                    outcome = answer_queries(&self.c, signatures, m, &next, &a.c)
                    while outcome == UNFINISHED:
                        pause(&last_pause)
                        outcome = answer_queries(&self.c, signatures, m, &next, &a.c)
            if outcome == ANSWERED:
                return
            if outcome == UNSOUND:
                raise ValueError("an entry of the tables leads out of them")
            a.make_room()
            if m > 1:
                pause(&last_pause)

    @staticmethod
    def over(size_t num_perm, size_t bands, size_t rows, kind, dict sections, gone=None):
        """Make fixed tables over the arrays of `sections`, each in one piece, which stay where they are if aligned.

        They may be a file's: shapes are checked here, and what leads from one to the other whenever it is followed.

        Parameters
        ----------
        num_perm, bands, rows, kind : int
        sections : dict of str to ndarray
            "shape" uint64 (tables, 3); "tables", all entries in a row, uint64; "pool" uint32; "signatures" uint64
            (n, num_perm); "integers" int64 (n,), or "starts" int64 (n,), "lengths" uint32 (n,) and "bytes" uint8.
        gone : ndarray of uint8, shape (n,), optional
            1 where a row does not count; may change later.
        """
        cdef BandTables made = BandTables.__new__(BandTables, num_perm, bands, rows, kind)
        made._lie_over({name: np.require(array, requirements="A") for name, array in sections.items()}, gone)
        return made

    # ---- figures ----

    @property
    def limit(self):
        """Rows below it are in use or free."""
        return self.c.limit

    def __len__(self):
        """Count the rows in use."""
        if self.fixed:
            return self.c.limit - int(np.count_nonzero(self.gone_array))
        return self.c.limit - self.free_count - self.idle

    def nbytes(self):
        """Return the bytes of memory in use: (signatures, tables, names)."""
        cdef size_t i, entries = 0
        for i in range(self.c.bands):
            entries += (self.c.tables[i].length + 1) * sizeof(uint64_t)
        entries += self.pool.length * UNIT_WORDS * sizeof(uint32_t)
        names = 0
        if self.kind != NAMELESS:
            names = (self.c.tables[self.c.bands].length + 1) * sizeof(uint64_t)
            for array in (self.integers_array, self.starts_array, self.lengths_array, self.bytes_array):
                names += 0 if array is None else array.nbytes
        for array in (self.alive_array, self.free_array, self.gone_array):
            entries += 0 if array is None else array.nbytes
        signatures = self.c.limit * self.c.k * sizeof(uint64_t)
        if not self.fixed:
            signatures = sum(block.nbytes for block in self.blocks if block is not None)
            signatures += sum(block.nbytes for block in self.kept.values())
        return signatures, entries, names

    def bucket_sizes(self):
        """Return how many buckets of all bands hold 1, 2-3, 4-7, ... rows, the most rows of one, and the sum of squares."""
        cdef size_t band, i, count, largest = 0, kind
        cdef double squares = 0
        cdef table* table
        sizes_array = np.zeros(32, np.int64)
        cdef int64_t[::1] sizes = sizes_array
        with nogil:
            for band in range(self.c.bands):
                table = &self.c.tables[band]
                for i in range(table.length):
                    if table.entries[i] == UINT64_MAX:
                        continue
                    count = bucket_count(&self.pool, table.entries[i])
                    largest = max(largest, count)
                    squares += <double>count * count
                    kind = 0
                    while count > 1:
                        count >>= 1
                        kind += 1
                    sizes[min(kind, <size_t>31)] += 1
        return sizes_array, largest, squares


@cython.auto_pickle(False)
cdef class _Marking:
    """Marks that are to be set."""
    cdef uint8_t[::1] marks
    cdef const int64_t[::1] rows

    def __cinit__(self, marks not None, rows not None):
        self.marks, self.rows = marks, rows
        if len(rows) and not are_below(&self.rows[0], len(rows), len(marks)):
            raise ValueError(f"rows must be below {len(marks)}")


cdef list _markings(gone):
    return [_Marking(marks, rows) for marks, rows in gone]


cdef _set(list markings):
    cdef size_t i
    cdef _Marking marking
    for marking in markings:
        for i in range(<size_t>len(marking.rows)):
            marking.marks[marking.rows[i]] = 1


def mark(gone):
    """Set marks of several arrays, all of them or none; `gone` is as for `BandTables.insert`."""
    _set(_markings(gone))


cdef _int64_of(const uint32_t* numbers, size_t n):
    array = np.empty(n, np.int64)
    cdef int64_t[::1] out = array
    cdef size_t i
    with nogil:
        for i in range(n):
            out[i] = numbers[i]
    return array


cdef int get_slots(signature, size_t k, Py_buffer* slots) except -1:
    """Get the memory of a signature of k slots, to be released; it takes a third of the time of a memoryview."""
    PyObject_GetBuffer(signature, slots, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    if slots.format[0] == b"=" and slots.format[1] == b"Q" and slots.format[2] == 0:  # in memory that is not aligned
        PyBuffer_Release(slots)
        return get_slots(np.array(signature), k, slots)
    cdef bint is_uint64 = (
        slots.ndim == 1 and slots.itemsize == sizeof(uint64_t)
        and (slots.format[0] == b"L" or slots.format[0] == b"Q") and slots.format[1] == 0
    )
    cdef size_t length = slots.shape[0] if slots.ndim == 1 else 0
    if not is_uint64 or length != k:
        PyBuffer_Release(slots)
        raise ValueError(f"signature must be of {k} slots, not {length}" if is_uint64 else "signature must be uint64")
    return 0
