# Included by tables_module.pyx: rows, and the memory of their signatures, tables and names.


cdef inline bint is_crowded(const table* table, size_t more) noexcept nogil:
    """Tell whether a table is too small for so many more entries."""
    return table.count + more > most_entries(table)


cdef inline uint64_t whole_lines(uint64_t length) noexcept nogil:
    """Return a length for a table that fills its lines with the entry at its end, so that the next one may follow it."""
    return length | (LINE - 1)


def _entries(size_t n):
    """Return memory for n entries that begins with a cache line.

    It is in small pages: they fill faster than the huge ones that numpy asks for.
    """
    cdef uint64_t[::1] memory = view.array(shape=(n + LINE - 1,), itemsize=sizeof(uint64_t), format="Q", mode="c")
    cdef size_t first = (LINE - <size_t>&memory[0] // sizeof(uint64_t) % LINE) % LINE
    return np.asarray(memory[first:first + n]).view(np.uint64)


def _grown(array, size_t used, size_t wanted):
    """Return a longer array with the same beginning."""
    longer = np.empty(max(wanted, len(array) + len(array) // 2), array.dtype)
    longer[:used] = array[:used]
    return longer


def _lengthened(array, size_t wanted):
    """Return an array with at least so many numbers, zeros where it had none."""
    if wanted <= <size_t>len(array):
        return array
    longer = np.zeros(wanted + wanted // 2, np.uint32)
    longer[:len(array)] = array
    return longer


@cython.auto_pickle(False)
cdef class _Memory:
    """Rows and what they lie in: signatures, tables and names, in this module's memory or over sections of a file."""
    cdef band_tables c
    cdef uint64_t* key_starts
    cdef c_pool pool
    cdef c_names names
    cdef size_t free_count, idle, capacity  # rows: free ones, those not in use of kept blocks, those there is room for
    cdef uint64_t wasted, bytes_used  # bytes of removed names, and of all
    cdef int kind
    cdef readonly bint fixed  # over memory that is not ours: never written
    cdef list blocks, entries
    cdef dict kept  # blocks of signatures in arrays that are not ours
    cdef uint32_t[::1] kept_rows, kept_used  # of each block: the rows that it has in such an array, and those in use
    cdef dict given  # sections that are not ours
    cdef object words, alive_array, free_array, integers_array, bytes_array, starts_array, lengths_array, gone_array
    cdef uint8_t[::1] alive
    cdef uint32_t[::1] free_rows
    cdef int64_t[::1] integers, starts
    cdef uint32_t[::1] lengths
    cdef uint8_t[::1] arena

    def __cinit__(self, size_t num_perm, size_t bands, size_t rows, kind=None):
        cdef size_t i
        if bands < 1 or rows < 1 or bands > num_perm // rows:
            raise ValueError(f"bands x rows must be in 1..{num_perm}, the length of the signatures, not {bands} x {rows}")
        if num_perm > MOST_SLOTS:
            raise ValueError(f"signatures must have at most {MOST_SLOTS} slots, not {num_perm}")
        if kind not in (None, "int", "str"):
            raise ValueError(f"kind must be 'int', 'str' or None, not {kind!r}")
        self.c.k, self.c.bands, self.c.rows = num_perm, bands, rows
        self.kind = INTEGERS if kind == "int" else STRINGS if kind == "str" else NAMELESS
        self.c.tables = <table*>calloc(bands + 1, sizeof(table))  # the last one is that of the names
        self.key_starts = <uint64_t*>malloc(bands * sizeof(uint64_t))
        if not self.c.tables or not self.key_starts:
            raise MemoryError
        bands_starts(0, bands, self.key_starts)
        self.c.starts = self.key_starts
        self.c.keys, self.c.kernels = bands_levels[in_use[0]], tables_levels[in_use[0]]
        self.c.pool = &self.pool
        self.c.shift = 12
        while self.c.shift and (num_perm * 8) << self.c.shift > <size_t>BLOCK_BYTES:
            self.c.shift -= 1
        self.blocks, self.kept, self.entries = [], {}, [None] * (bands + 1)
        pool_clear(&self.pool)
        self._set_pool(np.empty(16 * UNIT_WORDS, np.uint32))
        for i in range(bands + (self.kind != NAMELESS)):
            # each table starts a little larger than the last, so that not all of them grow at the same insertion
            self._new_table(i, 48 + 16 * i // bands, SLACK)
        self._set_alive(np.zeros(0, np.uint8))
        self.kept_rows = self.kept_used = np.zeros(0, np.uint32)
        self._set_free(np.empty(0, np.uint32))
        self._set_integers(np.empty(0, np.int64))
        self._set_strings(np.empty(0, np.int64), np.empty(0, np.uint32))
        self._set_bytes(np.empty(0, np.uint8))

    def __dealloc__(self):
        free(self.c.tables)
        free(self.key_starts)
        free(self.c.blocks)

    # ---- memory: arrays that numpy owns, and the pointers into them ----

    cdef _set_pool(self, words):
        cdef uint32_t[::1] view = words
        self.words = words
        self.pool.words, self.pool.length = &view[0], len(words) // UNIT_WORDS

    cdef _set_alive(self, array):
        self.alive_array = array
        self.alive = array

    cdef _set_free(self, array):
        self.free_array = array
        self.free_rows = array

    cdef _set_integers(self, array):
        self.integers_array = array
        self.integers = array
        self.names.integers = &self.integers[0] if len(array) else NULL

    cdef _set_strings(self, starts, lengths):
        self.starts_array, self.lengths_array = starts, lengths
        self.starts, self.lengths = starts, lengths
        self.names.starts = &self.starts[0] if len(starts) else NULL
        self.names.lengths = &self.lengths[0] if len(lengths) else NULL

    cdef _set_bytes(self, array):
        self.bytes_array = array
        self.arena = array
        self.names.bytes, self.names.size = &self.arena[0] if len(array) else NULL, len(array)

    cdef _new_table(self, size_t i, uint64_t capacity, uint64_t slack):
        if capacity > MOST_CAPACITY:
            raise OverflowError(f"a table holds at most {MOST_CAPACITY} entries")
        cdef uint64_t length = whole_lines(capacity + slack)
        array = _entries(length + 1)
        cdef uint64_t[::1] entries = array
        self.c.tables[i].entries = &entries[0]
        self.c.tables[i].capacity, self.c.tables[i].length = capacity, length
        table_clear(&self.c.tables[i])
        self.entries[i] = array

    cdef _grow_table(self, size_t i, size_t more, size_t longer):
        """Move a table to where it holds `more` entries, by steps of a third; its end is `longer` times as long."""
        cdef table* now = &self.c.tables[i]
        cdef table larger
        cdef uint64_t[::1] entries
        cdef uint64_t slack = (now.length - now.capacity) // LINE * LINE * longer
        cdef bint moved = False
        larger.capacity, larger.count = now.capacity, now.count
        while is_crowded(&larger, more):
            if larger.capacity == MOST_CAPACITY:
                raise OverflowError(f"a table holds at most {most_entries(&larger)} entries")
            larger.capacity = min(larger.capacity + larger.capacity // 3, MOST_CAPACITY)
        while not moved:
            larger.length = whole_lines(larger.capacity + slack)
            array = _entries(larger.length + 1)
            entries = array
            larger.entries = &entries[0]
            with nogil:
                moved = table_move(now, &larger)
            slack *= 2
        self.c.tables[i] = larger
        self.entries[i] = array

    cdef _make_room(self, outcome full, size_t i):
        if full == TABLE_IS_FULL:
            if is_crowded(&self.c.tables[i], 1):
                self._grow_table(i, 1, 1)
            else:
                self._grow_table(i, 0, 2)
        else:
            if self.pool.length >= MOST_ROWS:
                raise OverflowError(f"the buckets of several rows take at most {MOST_ROWS} units of memory")
            units = self.pool.length + max(self.pool.length // 2, 1024, self.pool.wanted)
            self._set_pool(_grown(self.words, self.pool.used * UNIT_WORDS, units * UNIT_WORDS))

    cdef _reserve(self, size_t more):
        """Have memory for so many more rows."""
        cdef size_t wanted = self.c.limit + more - min(more, self.free_count)
        cdef size_t block = <size_t>1 << self.c.shift, had = self.capacity >> self.c.shift, blocks, i
        cdef uint64_t** pointers
        cdef uint64_t[:, ::1] view
        if wanted <= self.capacity:
            return
        if wanted > MOST_ROWS:
            raise OverflowError(f"an index holds at most {MOST_ROWS} entries, not {wanted}")
        blocks = (wanted + block - 1) >> self.c.shift
        pointers = <uint64_t**>realloc(self.c.blocks, blocks * sizeof(uint64_t*))
        if not pointers:
            raise MemoryError
        self.c.blocks = pointers
        if len(self.alive_array) < <Py_ssize_t>(blocks * block):
            longer = _grown(self.alive_array, self.c.limit, blocks * block)
            longer[self.c.limit:] = 0
            self._set_alive(longer)
        if len(self.free_array) < len(self.alive_array):  # so that giving back cannot fail
            self._set_free(_grown(self.free_array, self.free_count, len(self.alive_array)))
        if self.kind == INTEGERS and len(self.integers_array) < <Py_ssize_t>(blocks * block):
            self._set_integers(_grown(self.integers_array, self.c.limit, blocks * block))
        if self.kind == STRINGS and len(self.starts_array) < <Py_ssize_t>(blocks * block):
            self._set_strings(_grown(self.starts_array, self.c.limit, blocks * block),
                              _grown(self.lengths_array, self.c.limit, blocks * block))
        self.kept_rows, self.kept_used = _lengthened(self.kept_rows, blocks), _lengthened(self.kept_used, blocks)
        self.blocks.extend([None] * (blocks - had))
        for i in range(had, blocks):
            self.c.blocks[i] = NULL
        self.capacity = blocks * block

    cdef _find_places(self, const int64_t* rows, size_t n, signatures, bint copy):
        """Have memory for the signatures of rows; those that need not be copied lie where they are, block by block."""
        cdef size_t i = 0, at, some, block = <size_t>1 << self.c.shift
        while i < n:
            at = rows[i] >> self.c.shift
            some = min(block - rows[i] % block, self.c.limit - rows[i])
            if not copy and n - i >= some and are_consecutive(&rows[i], some):
                if self._keep(at, rows[i] % block, signatures[i:i + some]):
                    i += some
                    continue
            if self.c.blocks[at] == NULL:
                self._new_block(at)
            elif self.kept_rows[at]:
                self._own(at)
            with nogil:
                while i < n and <size_t>rows[i] >> self.c.shift == at:
                    i += 1

    cdef bint _keep(self, size_t at, size_t start, signatures) except -1:
        """Let a block lie in an array that is not ours, from a row of it on, if those before lie in front of that."""
        cdef const uint64_t[:, ::1] view
        cdef list pieces = [signatures]
        if start:
            if self.kept_rows[at] != start:
                return False
            pieces = _joined([self.kept[at], signatures])
            if len(pieces) > 1:
                return False
        elif self.kept_rows[at]:
            self._let_go(at)
        view = pieces[0]
        self.kept[at], self.blocks[at] = pieces[0], None
        self.kept_rows[at], self.kept_used[at] = len(pieces[0]), self.kept_used[at] + len(signatures)
        self.c.blocks[at] = <uint64_t*>&view[0, 0]
        return True

    cdef _new_block(self, size_t at):
        cdef uint64_t[:, ::1] view
        array = np.empty((<size_t>1 << self.c.shift, self.c.k), np.uint64)
        view = array
        self.blocks[at] = array
        self.c.blocks[at] = &view[0, 0]

    cdef _own(self, size_t at):
        """Copy a block that is not ours, so that it can be written to."""
        cdef uint64_t* before = self.c.blocks[at]
        cdef size_t nbytes = self.kept_rows[at] * self.c.k * sizeof(uint64_t)
        kept = self.kept[at]
        self._new_block(at)
        memcpy(self.c.blocks[at], before, nbytes)
        self._let_go(at)

    cdef _let_go(self, size_t at):
        """Forget a block that is not ours; its rows that are not in use are free."""
        cdef size_t row, first = at << self.c.shift
        for row in range(first, first + self.kept_rows[at]):
            if not self.alive[row]:
                self._free(row)
        self.idle -= self.kept_rows[at] - self.kept_used[at]
        self.kept_rows[at] = self.kept_used[at] = 0
        if self.blocks[at] is None:
            self.c.blocks[at] = NULL
        del self.kept[at]

    cdef _check_written(self, const int64_t* rows, size_t n):
        """Raise ValueError where a row's signature has no memory."""
        cdef size_t i, at, block = <size_t>1 << self.c.shift
        for i in range(n):
            at = rows[i] >> self.c.shift
            if self.c.blocks[at] == NULL or (self.kept_rows[at] and rows[i] % block >= self.kept_rows[at]):
                raise ValueError(f"row {rows[i]} has no signature")

    # ---- rows in use ----

    cdef uint32_t _allot(self) noexcept nogil:
        """Take a row, which there must be memory for."""
        cdef uint32_t row
        if self.free_count:
            self.free_count -= 1
            row = self.free_rows[self.free_count]
        else:
            row = <uint32_t>self.c.limit
            self.c.limit += 1
            self.names.limit = self.c.limit
        self.alive[row] = 1
        return row

    cdef _give_back(self, const int64_t* rows, size_t n):
        """Free rows; the first of them is taken first again.

        One of an array that is not ours is used again when the whole block is free, so as not to copy it.
        """
        cdef size_t i, at, block = <size_t>1 << self.c.shift
        for i in reversed(range(n)):
            at = rows[i] >> self.c.shift
            self.alive[rows[i]] = 0
            if self.kept_rows[at] <= rows[i] % block:
                self._free(rows[i])
                continue
            self.kept_used[at] -= 1
            self.idle += 1
            if self.kept_used[at] == 0:
                self._let_go(at)
        if self.free_count == self.c.limit:  # all are free: begin anew
            self.free_count = self.c.limit = self.names.limit = 0

    cdef void _free(self, size_t row) noexcept nogil:
        self.free_rows[self.free_count] = <uint32_t>row
        self.free_count += 1

    # ---- checks ----

    cdef _check_writable(self):
        if self.fixed:
            raise ValueError("these tables are fixed: they cannot be written to")

    cdef _check_rows(self, const int64_t[::1] rows):
        if len(rows) and not are_below(&rows[0], len(rows), self.c.limit):
            raise ValueError(f"rows must be below {self.c.limit}")

    cdef _check_in_use(self, const int64_t[::1] rows):
        cdef size_t i
        self._check_rows(rows)
        for i in range(<size_t>len(rows)):
            if not self.alive[rows[i]]:
                raise ValueError(f"row {rows[i]} is not in use")

    cdef _check_signatures(self, const uint64_t[:, ::1] signatures, size_t n):
        if <size_t>signatures.shape[0] != n or <size_t>signatures.shape[1] != self.c.k:
            raise ValueError(f"signatures must be ({n}, {self.c.k}), not ({signatures.shape[0]}, {signatures.shape[1]})")

    # ---- files ----

    def tidy(self):
        """Bring the buckets of several rows together, so that none of their memory is free."""
        self._check_writable()
        cdef c_pool scattered = self.pool
        cdef size_t i
        words = self.words  # is read until the end
        self._set_pool(np.empty(max(scattered.used, <uint64_t>16) * UNIT_WORDS, np.uint32))
        pool_clear(&self.pool)
        with nogil:
            for i in range(self.c.bands + (self.kind != NAMELESS)):
                table_move_blocks(&self.c.tables[i], &scattered, &self.pool)

    def sections(self):
        """Return what these tables consist of, for `over`: by name, the arrays that make it up one after the other.

        Each row below the limit must be in use.
        """
        if self.fixed:
            return {name: [array] for name, array in self.given.items()}
        if self.free_count or self.idle:
            raise ValueError(f"{self.free_count + self.idle} rows are free: the tables must be built anew")
        cdef size_t i, n = self.c.limit, tables = self.c.bands + (self.kind != NAMELESS)
        found = {
            "shape": [np.array([[self.c.tables[i].capacity, self.c.tables[i].length, self.c.tables[i].count]
                                for i in range(tables)], np.uint64)],
            "tables": [np.asarray(self.entries[i]) for i in range(tables)],
            "pool": [self.words[:self.pool.used * UNIT_WORDS]],
            "signatures": self._signature_pieces(),
        }
        if self.kind == INTEGERS:
            found["integers"] = [self.integers_array[:n]]
        elif self.kind == STRINGS:
            found["starts"], found["lengths"] = [self.starts_array[:n]], [self.lengths_array[:n]]
            found["bytes"] = [self.bytes_array[:self.bytes_used]]
        return found

    def _signature_pieces(self):
        """Return the signatures of the rows below the limit, in few arrays; those never written are zeros."""
        cdef size_t at, rows, block = <size_t>1 << self.c.shift
        pieces = []
        for at in range((self.c.limit + block - 1) >> self.c.shift):
            rows = min(block, self.c.limit - at * block)
            array = self.kept.get(at, self.blocks[at])
            if array is not None:
                pieces.append(array[:rows])
                rows -= len(pieces[-1])
            if rows:
                pieces.append(np.zeros((rows, self.c.k), np.uint64))
        return _joined(pieces)

    cdef _lie_over(self, dict sections, gone):
        cdef const uint64_t[:, ::1] signatures = sections["signatures"]
        cdef const uint64_t[:, ::1] shape = sections["shape"]
        cdef const uint64_t[::1] entries = sections["tables"]
        cdef const uint32_t[::1] words = sections["pool"]
        cdef const int64_t[::1] integers, starts
        cdef const uint32_t[::1] lengths
        cdef const uint8_t[::1] text, marks
        cdef size_t i, n = len(signatures), at = 0, tables = self.c.bands + (self.kind != NAMELESS), blocks
        cdef table* table
        self.fixed = True
        if <size_t>signatures.shape[1] != self.c.k:
            raise ValueError(f"signatures must have {self.c.k} slots, not {signatures.shape[1]}")
        if n > MOST_ROWS:
            raise ValueError(f"there must be at most {MOST_ROWS} rows, not {n}")
        if <size_t>shape.shape[0] != tables or shape.shape[1] != 3:
            raise ValueError(f"shape must be ({tables}, 3), not ({shape.shape[0]}, {shape.shape[1]})")
        for i in range(tables):
            table = &self.c.tables[i]
            table.capacity, table.length, table.count = shape[i, 0], shape[i, 1], shape[i, 2]
            if not 1 <= table.capacity <= MOST_CAPACITY or not table.capacity <= table.length < len(entries) - at:
                raise ValueError(f"table {i} has capacity {table.capacity} and length {table.length}, "
                                 f"with {len(entries) - at} entries left")
            table.entries = <uint64_t*>&entries[at]
            at += table.length + 1
            if entries[at - 1] != UINT64_MAX:
                raise ValueError(f"table {i} has no end")
        if at != <size_t>len(entries):
            raise ValueError(f"tables must have {at} entries, not {len(entries)}")
        if len(words) % UNIT_WORDS or len(words) // UNIT_WORDS > MOST_ROWS:
            raise ValueError(f"the pool must have whole blocks, not {len(words)} words")
        self.pool.words = <uint32_t*>&words[0] if len(words) else NULL
        self.pool.length = self.pool.used = len(words) // UNIT_WORDS
        self.c.limit = self.names.limit = n
        blocks = (n + ((<size_t>1 << self.c.shift) - 1)) >> self.c.shift
        self.c.blocks = <uint64_t**>malloc(max(blocks, <size_t>1) * sizeof(uint64_t*))
        if not self.c.blocks:
            raise MemoryError
        for i in range(blocks):
            self.c.blocks[i] = <uint64_t*>&signatures[i << self.c.shift, 0]
        self.given = dict(sections)
        self.gone_array = np.zeros(n, np.uint8) if gone is None else gone
        marks = self.gone_array
        if <size_t>len(marks) != n:
            raise ValueError(f"gone must have {n} marks, not {len(marks)}")
        self.c.gone = self.names.gone = &marks[0] if n else NULL
        if self.kind == INTEGERS:
            integers = self.integers_array = sections["integers"]
            if <size_t>len(integers) != n:
                raise ValueError(f"there must be {n} integers, not {len(integers)}")
            self.names.integers = &integers[0] if n else NULL
        elif self.kind == STRINGS:
            starts, lengths, text = sections["starts"], sections["lengths"], sections["bytes"]
            self.starts_array, self.lengths_array, self.bytes_array = sections["starts"], sections["lengths"], sections["bytes"]
            if <size_t>len(starts) != n or <size_t>len(lengths) != n:
                raise ValueError(f"there must be {n} starts and lengths, not {len(starts)} and {len(lengths)}")
            if n:
                self.names.starts, self.names.lengths = &starts[0], &lengths[0]
            self.names.bytes, self.names.size = &text[0] if len(text) else NULL, len(text)

    def room(self):
        """Return how many more entries fit into each band's table before one grows."""
        cdef size_t i, least = MOST_ROWS
        cdef uint64_t most
        for i in range(self.c.bands):
            most = most_entries(&self.c.tables[i])
            least = min(least, most - min(self.c.tables[i].count, most))
        return least

    def unsound(self):
        """Return the number of the first table that is not what `write` and `admit` make, None if there is none."""
        cdef size_t i, tables = self.c.bands + (self.kind != NAMELESS)
        cdef bint sound
        cdef uint64_t last_pause = 0
        for i in range(tables):
            with nogil:
                sound = table_is_sound(&self.c.tables[i], &self.pool, self.c.limit)
            if not sound:
                return i
            pause(&last_pause)
        return None


cdef inline bint are_consecutive(const int64_t* rows, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n):
        if rows[i] != rows[0] + <int64_t>i:
            return False
    return True


cdef _joined(list pieces):
    """Return arrays of signatures with those that lie side by side in one array as one."""
    joined = pieces[:1]
    for piece in pieces[1:]:
        last, base = joined[-1], piece.base
        start = last.ctypes.data
        if (
            base is last.base and isinstance(base, np.ndarray) and base.flags.c_contiguous and base.ndim == 2
            and base.dtype == piece.dtype and base.shape[1] == piece.shape[1]
            and start + last.nbytes == piece.ctypes.data and (start - base.ctypes.data) % base.strides[0] == 0
        ):
            first = (start - base.ctypes.data) // base.strides[0]
            joined[-1] = base[first:first + len(last) + len(piece)]
        else:
            joined.append(piece)
    return joined
