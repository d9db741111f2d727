# Included by tables_module.pyx: the names of rows.


cdef struct one_name:
    int64_t integer  # or:
    const uint8_t* text
    Py_ssize_t length
    uint32_t tag


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
cdef class _Names(_Memory):
    """Rows that are found by their names, integers or strings."""

    def allot(self, size_t n):
        """Take n rows without names; return their numbers, int64 (n,)."""
        self._check_writable()
        rows_array = np.empty(n, np.int64)
        cdef int64_t[::1] rows = rows_array
        cdef size_t i
        self._reserve(n)
        for i in range(n):
            rows[i] = self._allot()
            if self.kind == INTEGERS:
                self.integers[rows[i]] = 0
            elif self.kind == STRINGS:
                self.starts[rows[i]], self.lengths[rows[i]] = 0, 0
        return rows_array

    def admit(self, names, KeyTable keys=None):
        """Give each name a row, unless it has one: all of them or, if an error is raised, none.

        Parameters
        ----------
        names : ndarray of int64, or list of str; any column of keys with `keys`
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

    cdef _admit(self, names, KeyTable keys, _Admitted to):
        self._check_writable()
        if keys is not None:
            self._admit_keys(names, keys, to)
            return
        if self.kind == NAMELESS:
            raise ValueError("rows of this index have no names")
        cdef size_t done = 0, count, more
        cdef table* table = &self.c.tables[self.c.bands]
        cdef uint64_t before = table.count
        try:
            while done < to.n:
                count = min(to.n - done, <size_t>NAMES)
                self._reserve(count)
                if done:  # what the names so far have needed tells what the rest will need
                    PyErr_CheckSignals()
                    more = <size_t>((to.n - done) * ((table.count - before) / <double>done))
                    if is_crowded(table, more):
                        self._grow_table(self.c.bands, more, 1)
                if self.kind == INTEGERS:
                    self._admit_integers(names[done:done + count], &to.rows[done], &to.fresh[done])
                else:
                    self._admit_strings(names[done:done + count], &to.rows[done], &to.fresh[done])
                done += count
        except BaseException:
            self._dismiss(to, None)
            raise

    cdef _admit_keys(self, names, KeyTable keys, _Admitted to):
        """Do what `_admit` does for rows that have their names in a KeyTable."""
        cdef list column = names.tolist() if isinstance(names, np.ndarray) else list(names)
        cdef dict first = {}
        cdef list new = [], places = []
        cdef size_t i, place
        cdef int64_t[::1] known = keys.find(column)
        for i in range(to.n):
            place = first.setdefault(column[i], i)
            places.append(place)
            if place == i and known[i] < 0:
                new.append(column[i])
        rows_array = self.allot(len(new))
        try:
            self._number(to, places, known, rows_array)
            keys.add(new, rows_array)
        except BaseException:
            self.release(rows_array)
            raise

    cdef _number(self, _Admitted to, list places, const int64_t[::1] known, const int64_t[::1] new):
        """Say which row each name has: that known, the next new one, or that of its first occurrence."""
        cdef size_t i, done = 0
        for i in range(to.n):
            to.rows[i] = to.rows[<size_t>places[i]]
            if <size_t>places[i] != i:
                continue
            to.rows[i] = known[i]
            if known[i] < 0:
                to.rows[i], to.fresh[i] = new[done], 1
                done += 1

    cdef _dismiss(self, _Admitted admitted, KeyTable keys):
        """Free the rows that `_admit` took; it needs no memory. `admitted` cannot be used afterwards."""
        cdef size_t i, n = 0
        for i in range(admitted.n):
            if admitted.fresh[i]:
                admitted.rows[n] = admitted.rows[i]
                n += 1
        if n:
            if keys is not None:
                keys.withdraw(&admitted.rows[0], n)
            self._release(&admitted.rows[0], n)

    cdef _admit_integers(self, const int64_t[::1] names, int64_t* rows, uint8_t* fresh):
        names = aligned(names)
        cdef size_t i = 0, n = len(names), asked = 0
        cdef table* table = &self.c.tables[self.c.bands]
        cdef uint32_t[NAMES] tags
        cdef uint32_t row
        cdef outcome outcome = DONE
        while i < n:
            with nogil:
                while i < n:
                    while asked < n and asked < i + GROUP:
                        tags[asked] = tag_of_integer(names[asked])
                        prefetch(&table.entries[table_home(table, tags[asked])])
                        asked += 1
                    row = row_of_integer(table, &self.pool, &self.names, tags[i], names[i])
                    if row == NO_ROW:
                        row = self._allot()
                        self.integers[row] = names[i]
                        rows[i], fresh[i] = row, 1
                        outcome = table_put(table, &self.pool, tags[i], row)
                        if outcome != DONE:
                            break
                    rows[i] = row
                    i += 1
            if outcome != DONE:
                self._put_name(tags[i], row, outcome)
                outcome = DONE
                i += 1

    cdef _admit_strings(self, list names, int64_t* rows, uint8_t* fresh):
        cdef size_t i
        cdef Py_ssize_t length
        cdef const uint8_t* text
        cdef uint32_t row, tag
        cdef table* table = &self.c.tables[self.c.bands]
        for i in range(len(names)):
            text = utf8_of(names[i], &length)
            tag = tag_of_bytes(text, length)
            row = row_of_bytes(table, &self.pool, &self.names, tag, text, length)
            if row == NO_ROW:
                row = <uint32_t>self._allot_bytes(text, length)
                rows[i], fresh[i] = row, 1
                self._put_name(tag, row, table_put(table, &self.pool, tag, row))
            rows[i] = row

    cdef bint _read(self, name, one_name* held) except -1:
        """Tell what a name is in the tables; False if it cannot be one of these rows."""
        cdef int beyond = 0
        if self.kind == INTEGERS and type(name) is int:
            held.integer = PyLong_AsLongLongAndOverflow(name, &beyond)
            held.tag = tag_of_integer(held.integer)
            return not beyond
        if self.kind == STRINGS and type(name) is str:
            held.text = utf8_of(name, &held.length)
            held.tag = tag_of_bytes(held.text, held.length)
            return True
        return False

    cdef uint32_t _row_of(self, const one_name* held) noexcept:
        """Return the row of a name, NO_ROW if there is none."""
        cdef table* table = &self.c.tables[self.c.bands]
        if self.kind == INTEGERS:
            return row_of_integer(table, &self.pool, &self.names, held.tag, held.integer)
        return row_of_bytes(table, &self.pool, &self.names, held.tag, held.text, held.length)

    cdef int64_t _allot_bytes(self, const uint8_t* text, size_t length) except -1:
        """Take a row, which there must be memory for, and keep its name."""
        cdef uint32_t row
        if self.bytes_used + length > self.names.size:
            self._set_bytes(_grown(self.bytes_array, self.bytes_used, self.bytes_used + length + 64))
        row = self._allot()
        if length:
            memcpy(&self.arena[self.bytes_used], text, length)
        self.starts[row], self.lengths[row] = self.bytes_used, length
        self.bytes_used += length
        return row

    cdef _put_name(self, uint32_t tag, uint32_t row, outcome outcome):
        """Bring a name into its table, as long as the outcome so far is not that it is there."""
        while outcome != DONE:
            self._make_room(outcome, self.c.bands)
            outcome = table_put(&self.c.tables[self.c.bands], &self.pool, tag, row)

    cdef uint32_t _tag_of_row(self, size_t row) noexcept nogil:
        if self.kind == INTEGERS:
            return tag_of_integer(self.integers[row])
        return tag_of_bytes(self.names.bytes + self.starts[row], self.lengths[row])

    def release(self, const int64_t[::1] rows not None):
        """Free rows and their names; their signatures must not be in the tables (see `erase`). No row may come twice."""
        rows = aligned(rows)
        self._check_writable()
        self._claim(rows)
        if len(rows):
            self._release(&rows[0], len(rows))

    cdef _claim(self, const int64_t[::1] rows):
        """Mark rows as no longer in use, or raise ValueError where one is not or comes twice."""
        cdef size_t i, j
        self._check_in_use(rows)
        for i in range(<size_t>len(rows)):
            if not self.alive[rows[i]]:
                for j in range(i):
                    self.alive[rows[j]] = 1
                raise ValueError(f"row {rows[i]} comes twice")
            self.alive[rows[i]] = 0

    cdef _release(self, const int64_t* rows, size_t n):
        cdef size_t i
        cdef table* table = &self.c.tables[self.c.bands]
        if self.kind != NAMELESS:
            with nogil:
                for i in range(n):
                    if i + GROUP < n:
                        prefetch(&table.entries[table_home(table, self._tag_of_row(rows[i + GROUP]))])
                    table_take(table, &self.pool, self._tag_of_row(rows[i]), <uint32_t>rows[i])
                    if self.kind == STRINGS:
                        self.wasted += self.lengths[rows[i]]
        self._give_back(rows, n)
        if self.wasted > self.bytes_used // 2 and self.wasted > WASTE:
            try:
                self._close_ranks()
            except MemoryError:
                pass  # the next release tries again

    cdef _close_ranks(self):
        """Bring the bytes of all names together."""
        cdef size_t row, used = 0
        array = np.empty(self.bytes_used - self.wasted + WASTE, np.uint8)
        cdef uint8_t[::1] to = array
        with nogil:
            for row in range(self.c.limit):
                if not self.alive[row]:
                    continue
                if self.lengths[row]:
                    memcpy(&to[used], &self.arena[self.starts[row]], self.lengths[row])
                self.starts[row] = used
                used += self.lengths[row]
        self._set_bytes(array)
        self.bytes_used, self.wasted = used, 0

    def find(self, names):
        """Return the row of each name (int64 array or list of str), -1 where there is none: int64 (n,)."""
        cdef size_t i, n = len(names), asked = 0, bands = self.c.bands
        cdef table* table = &self.c.tables[bands]
        cdef uint32_t[GROUP] tags
        cdef uint32_t row
        cdef uint64_t last_pause = 0
        cdef const int64_t[::1] integers
        cdef Py_ssize_t length
        cdef const uint8_t* text
        cdef list strings  # a list keeps them, and they keep their bytes
        rows_array = np.empty(n, np.int64)
        cdef int64_t[::1] rows = rows_array
        if self.kind == INTEGERS:
            integers = names
            integers = aligned(integers)
            with nogil:
                for i in range(n):
                    while asked < n and asked < i + GROUP:
                        tags[asked % GROUP] = tag_of_integer(integers[asked])
                        prefetch(&table.entries[table_home(table, tags[asked % GROUP])])
                        asked += 1
                    row = row_of_integer(table, &self.pool, &self.names, tags[i % GROUP], integers[i])
                    rows[i] = -1 if row == NO_ROW else <int64_t>row
                    if i % SOME_NAMES == SOME_NAMES - 1:
                        pause(&last_pause)
        elif self.kind == STRINGS:
            strings = names
            for i in range(n):
                text = utf8_of(strings[i], &length)
                row = row_of_bytes(table, &self.pool, &self.names, tag_of_bytes(text, length), text, length)
                rows[i] = -1 if row == NO_ROW else <int64_t>row
                if i % SOME_NAMES == SOME_NAMES - 1:
                    pause(&last_pause)
        else:
            raise ValueError("rows of this index have no names")
        return rows_array

    def find_one(self, name):
        """Return the row of a name, -1 if there is none, None if it cannot be a name of these rows."""
        cdef one_name held
        cdef uint32_t row
        if not self._read(name, &held):
            return None
        row = self._row_of(&held)
        return -1 if row == NO_ROW else row

    def names_of(self, const int64_t[::1] rows not None):
        """Return the names of rows: int64 (n,), or a list of str."""
        rows = aligned(rows)
        self._check_rows(rows)
        cdef size_t i
        if self.kind == NAMELESS:
            raise ValueError("rows of this index have no names")
        if self.kind == INTEGERS:
            return np.asarray(self.integers_array)[np.asarray(rows)]
        found = []
        for i in range(<size_t>len(rows)):
            found.append(self._name_of(rows[i]))
        return found

    def tags_of(self, const int64_t[::1] rows not None):
        """Return the tags of the names of rows: uint32 (n,)."""
        self._check_rows(rows)
        cdef size_t i, n = len(rows)
        tags_array = np.empty(n, np.uint32)
        cdef uint32_t[::1] tags = tags_array
        if self.kind == NAMELESS:
            raise ValueError("rows of this index have no names")
        for i in range(n):
            if self.kind == INTEGERS:
                tags[i] = tag_of_integer(self.names.integers[rows[i]])
            else:
                tags[i] = tag_of_bytes(self._text_of(rows[i]), self.names.lengths[rows[i]])
        return tags_array

    cdef const uint8_t* _text_of(self, size_t row) except? NULL:
        """Return where the name of a row begins, a string that lies among the bytes of all names."""
        cdef int64_t start = self.names.starts[row]
        if start < 0 or <uint64_t>start > self.names.size or self.names.size - start < self.names.lengths[row]:
            raise ValueError(f"the name of row {row} lies outside of all names")
        return self.names.bytes + start

    cdef _name_of(self, size_t row):
        """Return the name of a row; its number if it has none."""
        if self.kind == INTEGERS:
            return self.names.integers[row]
        if self.kind == NAMELESS:
            return row
        return (<const char*>self._text_of(row))[:self.names.lengths[row]].decode()

    def rows_in_use(self):
        """Return the rows in use, ascending: int64 (n,)."""
        if self.fixed:
            return np.flatnonzero(np.asarray(self.gone_array) == 0)
        return np.flatnonzero(self.alive_array[:self.c.limit])


cdef const uint8_t* utf8_of(name, Py_ssize_t* length) except NULL:
    """Return the UTF-8 of a str, which the str itself keeps."""
    if not isinstance(name, str):
        raise TypeError(f"names must be str, not {type(name).__name__}")
    cdef const char* text
    try:
        text = PyUnicode_AsUTF8AndSize(name, length)
    except UnicodeEncodeError:
        raise ValueError(f"{name!r} has a lone surrogate and no UTF-8") from None
    if length[0] > LONGEST_NAME:
        raise ValueError(f"a name must be at most {LONGEST_NAME} bytes long, not {length[0]}")
    return <const uint8_t*>text
