"""The tables of an index: signatures in numbered rows, found by their bands and by name."""

cimport cython
from cython cimport view
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from lshfast.kernels.gate cimport has_writer

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef extern from "rows.h":
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "cpu.h":
    cdef enum cpu_level:
        pass
    cpu_level cpu_detect() nogil

cdef extern from "bands.h":
    ctypedef void band_key_kernel(const uint64_t*, const uint64_t*, size_t, size_t, uint64_t*) nogil
    band_key_kernel* band_key_kernel_of(cpu_level level) nogil
    void band_starts(size_t, size_t, uint64_t*) nogil

cdef extern from "tables.h":
    const uint32_t NO_ROW
    const size_t NO_PLACE
    const size_t MOST_ROWS
    const uint64_t MOST_CAPACITY
    const size_t UNIT_WORDS
    struct table:
        uint64_t* entries
        uint64_t capacity, length, count
    struct c_pool "pool":
        uint32_t* words
        uint64_t length, used, wanted
    enum outcome:
        DONE, TABLE_IS_FULL, POOL_IS_FULL
    void prefetch(const void*) nogil
    size_t table_home(const table*, uint32_t) nogil
    void table_clear(table*) nogil
    outcome table_put(table*, c_pool*, uint32_t, uint32_t) nogil
    bint table_take(table*, c_pool*, uint32_t, uint32_t) nogil
    bint table_move(const table*, table*) nogil
    bint table_rename(table*, c_pool*, uint32_t, uint32_t, uint32_t) nogil
    size_t tag_order(const uint32_t*, const int64_t*, const uint8_t*, size_t, uint64_t*) nogil
    struct table_kernels:
        outcome (*put)(table*, c_pool*, const uint64_t*, size_t, size_t*) nogil
        void (*take)(table*, c_pool*, const uint64_t*, size_t) nogil
        void (*find)(const table*, const uint64_t*, size_t, uint64_t*) nogil
    const table_kernels* table_kernels_of(cpu_level level) nogil
    void pool_clear(c_pool*) nogil
    size_t bucket_count(const c_pool*, uint64_t) nogil
    bint table_is_sound(const table*, const c_pool*, size_t) nogil

cdef extern from "band_tables.h":
    const size_t QUERIES, SOON
    struct band_tables:
        size_t k, bands, rows, limit
        const uint64_t* starts
        band_key_kernel* keys
        const table_kernels* kernels
        uint64_t** blocks
        unsigned shift
        table* tables
        c_pool* pool
        const uint8_t* gone
    enum answer:
        ANSWERED, NO_ROOM, UNSOUND
    struct c_answers "answers":
        uint64_t* keys
        uint32_t* tags
        uint64_t* entries
        uint64_t* order
        uint64_t* records
        size_t room, needed, least
        int count
        const int64_t* names
        uint32_t* rows
        uint32_t* agreements
        size_t capacity, used
        int64_t* offsets
    struct c_names "names":
        const int64_t* integers
        const uint8_t* bytes
        const int64_t* starts
        const uint32_t* lengths
        size_t size, limit
        const uint8_t* gone
    uint64_t* signature_of(const band_tables*, size_t) nogil
    void prefetch_signature(const band_tables*, const uint64_t*) nogil
    void band_tags(const band_tables*, const uint64_t*, uint64_t*, uint32_t*, size_t) nogil
    void prefetch_tags(const table*, const uint32_t*, size_t) nogil
    answer answer_queries(const band_tables*, const uint64_t*, size_t, size_t*, c_answers*) nogil
    uint32_t tag_of_integer(int64_t) nogil
    uint32_t tag_of_bytes(const uint8_t*, size_t) nogil
    uint32_t row_of_integer(const table*, const c_pool*, const c_names*, uint32_t, int64_t) nogil
    uint32_t row_of_bytes(const table*, const c_pool*, const c_names*, uint32_t, const uint8_t*, size_t) nogil

# Signatures of a block, in bytes, about; at most 4,096 of them. (numpy has arrays from 4 MB on in huge pages, which take
# longer to come by where memory is filled little by little.)
BLOCK_BYTES = 1 << 21

# Entries beyond a table's capacity, at first, and rows that are looked at side by side.
cdef enum:
    NAMELESS, INTEGERS, STRINGS  # the kinds of names: None, "int" and "str" outside
    SLACK = 64
    GROUP = 16
    BATCH = 1 << 17
    NAMES = 4096  # are admitted in one go
    WASTE = 1 << 20  # bytes of removed names that may always lie about
    LONGEST_NAME = 1 << 30
    MOST_SLOTS = 1 << 16
    MOST_SPARE = 1 << 16  # candidates that there is always memory for


cdef const table_kernels* kernels = table_kernels_of(cpu_detect())
cdef band_key_kernel* key_kernel = band_key_kernel_of(cpu_detect())


def use_level(int level):
    """Use the kernels of a CPU level, which must be one this machine has."""
    global kernels, key_kernel
    kernels = table_kernels_of(<cpu_level>level)
    key_kernel = band_key_kernel_of(<cpu_level>level)


cdef inline bint is_crowded(const table* table, size_t more) noexcept nogil:
    """Tell whether a table is too small for so many more entries: seven eighths of it may be in use."""
    return table.count + more > table.capacity - table.capacity // 8


def _entries(size_t n):
    """Return memory for n entries, in small pages: they fill faster than the huge ones that numpy asks for."""
    return np.asarray(view.array(shape=(n,), itemsize=8, format="Q", mode="c")).view(np.uint64)


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
        cdef size_t most = min(queries, <size_t>QUERIES), slots = most * bands
        self.begin(least)
        self.c.room, self.c.capacity = 4 * bands + 64, 2 * queries + 64
        self.c.keys = <uint64_t*>malloc((bands + most + slots) * sizeof(uint64_t) + slots * sizeof(uint32_t))
        self.c.records = <uint64_t*>malloc(2 * self.c.room * sizeof(uint64_t))
        self.c.rows = <uint32_t*>malloc(2 * self.c.capacity * sizeof(uint32_t))
        if not self.c.keys or not self.c.records or not self.c.rows:
            raise MemoryError
        self.c.order = self.c.keys + bands
        self.c.entries = self.c.order + most
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
        cdef size_t capacity = self.c.used + self.c.needed + self.c.capacity // 2
        cdef uint32_t* rows
        if self.c.needed > self.c.room:
            free(self.c.records)
            self.c.room = 0  # where memory runs out: the next query may ask here, too
            self.c.records = <uint64_t*>malloc(2 * (self.c.needed + self.c.needed // 2) * sizeof(uint64_t))
            if not self.c.records:
                raise MemoryError
            self.c.room = self.c.needed + self.c.needed // 2
        if self.c.needed > self.c.capacity - self.c.used:
            rows = <uint32_t*>malloc(2 * capacity * sizeof(uint32_t))
            if not rows:
                raise MemoryError
            memcpy(rows, self.c.rows, self.c.used * sizeof(uint32_t))
            memcpy(rows + capacity, self.c.agreements, self.c.used * sizeof(uint32_t))
            free(self.c.rows)
            self.c.rows, self.c.agreements, self.c.capacity = rows, rows + capacity, capacity


@cython.auto_pickle(False)
cdef class BandTables:
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
    cdef _Batch one
    cdef _Answers asking  # of single queries
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
        band_starts(0, bands, self.key_starts)
        self.c.starts, self.c.keys, self.c.kernels = self.key_starts, key_kernel, kernels
        self.c.pool = &self.pool
        self.c.shift = 12
        while self.c.shift and (num_perm * 8) << self.c.shift > <size_t>BLOCK_BYTES:
            self.c.shift -= 1
        self.blocks, self.kept, self.entries = [], {}, [None] * (bands + 1)
        self.one, self.asking = _Batch(bands, 1), _Answers(bands, 1, None)
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
        array = _entries(capacity + slack + 1)
        cdef uint64_t[::1] entries = array
        self.c.tables[i].entries = &entries[0]
        self.c.tables[i].capacity, self.c.tables[i].length = capacity, capacity + slack
        table_clear(&self.c.tables[i])
        self.entries[i] = array

    cdef _grow_table(self, size_t i, size_t more, size_t longer):
        """Move a table to where it holds `more` entries, by steps of a third; its end is `longer` times as long."""
        cdef table* now = &self.c.tables[i]
        cdef table larger
        cdef uint64_t[::1] entries
        cdef uint64_t slack = (now.length - now.capacity) * longer
        cdef bint moved = False
        larger.capacity, larger.count = now.capacity, now.count
        while is_crowded(&larger, more):
            if larger.capacity == MOST_CAPACITY:
                raise OverflowError(f"a table holds at most {MOST_CAPACITY - MOST_CAPACITY // 8} entries")
            larger.capacity = min(larger.capacity + larger.capacity // 3, MOST_CAPACITY)
        while not moved:
            larger.length = larger.capacity + slack
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

    cdef _check_written(self, const int64_t[::1] rows):
        """Raise ValueError where a row's signature has no memory."""
        cdef size_t i, at, block = <size_t>1 << self.c.shift
        for i in range(<size_t>len(rows)):
            at = rows[i] >> self.c.shift
            if self.c.blocks[at] == NULL or (self.kept_rows[at] and rows[i] % block >= self.kept_rows[at]):
                raise ValueError(f"row {rows[i]} has no signature")

    # ---- rows and their names ----

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

    def admit(self, names):
        """Give each name a row, unless it has one.

        Parameters
        ----------
        names : ndarray of int64, or list of str

        Returns
        -------
        rows : ndarray of int64, shape (n,)
        fresh : ndarray of bool, shape (n,)
            True where this call took the row: at the first occurrence of a new name.
        """
        self._check_writable()
        if self.kind == NAMELESS:
            raise ValueError("rows of this index have no names")
        cdef size_t n = len(names), done = 0, count
        rows_array, fresh_array = np.empty(n, np.int64), np.zeros(n, bool)
        cdef int64_t[::1] rows = rows_array
        cdef uint8_t[::1] fresh = fresh_array.view(np.uint8)
        try:
            while done < n:
                count = min(n - done, <size_t>NAMES)
                self._reserve(count)
                if self.kind == INTEGERS:
                    self._admit_integers(names[done:done + count], &rows[done], &fresh[done])
                else:
                    self._admit_strings(names[done:done + count], &rows[done], &fresh[done])
                done += count
        except BaseException:
            self.release(rows_array[fresh_array])
            raise
        return rows_array, fresh_array

    cdef _admit_integers(self, const int64_t[::1] names, int64_t* rows, uint8_t* fresh):
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

    def hand_over(self, const int64_t[::1] old not None, const int64_t[::1] new not None):
        """Give the names of rows to as many others, which have none, and free them with their signatures.

        Nothing is allocated, so it cannot fail half-way. No row may come twice.
        """
        cdef size_t i, n = len(old)
        self._check_writable()
        self._check_in_use(new)
        if <size_t>len(new) != n:
            raise ValueError(f"there must be as many new rows as old ones, not {len(new)} for {n}")
        self._check_in_use(old)
        self._check_written(old)
        self._claim(old)
        if n == 0:
            return
        self._take(&old[0], n, self.c.bands, self._batch(n))
        for i in range(n):
            if self.kind != NAMELESS:
                table_rename(&self.c.tables[self.c.bands], &self.pool, self._tag_of_row(old[i]), old[i], new[i])
            if self.kind == INTEGERS:
                self.integers[new[i]] = self.integers[old[i]]
            elif self.kind == STRINGS:
                self.starts[new[i]], self.lengths[new[i]] = self.starts[old[i]], self.lengths[old[i]]
        self._give_back(&old[0], n)

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
        cdef const int64_t[::1] integers
        cdef Py_ssize_t length
        cdef const uint8_t* text
        cdef list strings  # a list keeps them, and they keep their bytes
        rows_array = np.empty(n, np.int64)
        cdef int64_t[::1] rows = rows_array
        if self.kind == INTEGERS:
            integers = names
            with nogil:
                for i in range(n):
                    while asked < n and asked < i + GROUP:
                        tags[asked % GROUP] = tag_of_integer(integers[asked])
                        prefetch(&table.entries[table_home(table, tags[asked % GROUP])])
                        asked += 1
                    row = row_of_integer(table, &self.pool, &self.names, tags[i % GROUP], integers[i])
                    rows[i] = -1 if row == NO_ROW else <int64_t>row
        elif self.kind == STRINGS:
            strings = names
            for i in range(n):
                text = utf8_of(strings[i], &length)
                row = row_of_bytes(table, &self.pool, &self.names, tag_of_bytes(text, length), text, length)
                rows[i] = -1 if row == NO_ROW else <int64_t>row
        else:
            raise ValueError("rows of this index have no names")
        return rows_array

    def names_of(self, const int64_t[::1] rows not None):
        """Return the names of rows: int64 (n,), or a list of str."""
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

    cdef _name_of(self, size_t row):
        """Return the name of a row; its number if it has none."""
        cdef int64_t start
        cdef size_t length
        if self.kind == INTEGERS:
            return self.names.integers[row]
        if self.kind == NAMELESS:
            return row
        start, length = self.names.starts[row], self.names.lengths[row]
        if start < 0 or <uint64_t>start > self.names.size or self.names.size - start < length:
            raise ValueError(f"the name of row {row} lies outside of all names")
        return (<const char*>self.names.bytes + start)[:length].decode()

    def rows_in_use(self):
        """Return the rows in use, ascending: int64 (n,)."""
        if self.fixed:
            return np.flatnonzero(np.asarray(self.gone_array) == 0)
        return np.flatnonzero(self.alive_array[:self.c.limit])

    # ---- signatures ----

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
        if not tagged:
            self._ask(batch)

    cdef void _tag(self, const uint64_t* signature, size_t i, _Batch batch) noexcept nogil:
        batch.skip[i] = signature[0] == UINT64_MAX
        band_tags(&self.c, signature, batch.keys, batch.tags + i, batch.most)

    cdef void _ask(self, _Batch batch) noexcept nogil:
        """Ask for the first entries of all bands at once; in a batch of one they are all there are."""
        cdef size_t band
        for band in range(self.c.bands):
            prefetch_tags(&self.c.tables[band], batch.tags + band * batch.most, min(batch.n, <size_t>2))

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
        cdef int64_t row, integer
        cdef int beyond
        cdef uint32_t tag
        cdef Py_ssize_t length
        cdef const uint8_t* text
        if self.kind == INTEGERS and type(name) is int:
            integer = PyLong_AsLongLongAndOverflow(name, &beyond)
            if beyond:
                return False
            tag = tag_of_integer(integer)
        elif self.kind == STRINGS and type(name) is str:
            text = utf8_of(name, &length)
            tag = tag_of_bytes(text, length)
        else:
            return False
        prefetch_tags(table, &tag, 1)
        self.one.n = 1
        self._tag(signature, 0, self.one)
        self._ask(self.one)
        self._reserve(1)
        if self.kind == INTEGERS:
            if row_of_integer(table, &self.pool, &self.names, tag, integer) != NO_ROW:
                return False
            row = self._allot()
            self.integers[row] = integer
        else:
            if row_of_bytes(table, &self.pool, &self.names, tag, text, length) != NO_ROW:
                return False
            row = self._allot_bytes(text, length)
        try:
            self._put_name(tag, <uint32_t>row, table_put(table, &self.pool, tag, <uint32_t>row))
            self._find_places(&row, 1, None, True)
            self._write(&row, signature, 1, True)
        except BaseException:
            self._release(&row, 1)
            raise
        return True

    def erase(self, const int64_t[::1] rows not None):
        """Take the signatures of rows out of the tables; the rows stay in use. No row may come twice."""
        self._check_writable()
        self._check_in_use(rows)
        self._check_written(rows)
        if len(rows):
            self._take(&rows[0], len(rows), self.c.bands, self._batch(len(rows)))

    def discard(self, const int64_t[::1] rows not None):
        """Take rows out of the tables and free them and their names; a row may come twice."""
        self._check_writable()
        self._check_in_use(rows)
        cdef size_t i, n = 0
        cdef int64_t[::1] once = np.sort(rows)  # in their order memory is quicker at them, too
        for i in range(<size_t>len(once)):
            if self.alive[once[i]]:
                self.alive[once[i]] = 0
                once[n] = once[i]
                n += 1
        if n:
            self._take(&once[0], n, self.c.bands, self._batch(n))
            self._release(&once[0], n)

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
            self._ask(batch)
            for band in range(bands):
                batch.order(band, rows + done)
                self.c.kernels.take(&self.c.tables[band], &self.pool, batch.records, batch.count)
            done += batch.n

    def signatures_of(self, const int64_t[::1] rows not None, out=None):
        """Return the signatures of rows, uint64 (n, num_perm), in `out` if that is given."""
        self._check_rows(rows)
        cdef size_t i, n = len(rows)
        out_array = np.empty((n, self.c.k), np.uint64) if out is None else out
        cdef uint64_t[:, ::1] to = out_array
        self._check_signatures(to, n)
        if not self.fixed:
            self._check_written(rows)
        with nogil:
            for i in range(n):
                memcpy(&to[i, 0], signature_of(&self.c, rows[i]), self.c.k * sizeof(uint64_t))
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
        cdef size_t m = signatures.shape[0]
        cdef _Answers a = _Answers(self.c.bands, m, least)
        self._check_signatures(signatures, m)
        offsets_array = np.zeros(m + 1, np.int64)
        cdef int64_t[::1] offsets = offsets_array
        if m:
            self._answer(&signatures[0, 0], m, &offsets[0], a)
        rows = _int64_of(a.c.rows, a.c.used)
        return offsets_array, rows, _int64_of(a.c.agreements, a.c.used) if a.c.count else None

    def query_one(self, signature not None, least=None, gate=None):
        """Return what `query` does for one signature of num_perm slots, as lists: (names or rows, agreements or None).

        It takes less time than locking does, so the interpreter lock is held throughout. Of the `Gate` that writers come
        through, the readers' side is entered only where one is inside.
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
        cdef _Answers a = self.asking
        cdef int64_t[2] offsets
        cdef size_t i
        a.begin(least)
        a.c.names = self.names.integers
        self._answer(signature, 1, offsets, a)
        for i in range(a.c.used):
            names.append(self._name_of(a.c.rows[i]))
            if agreements is not None:
                agreements.append(a.c.agreements[i])
        if a.c.capacity > MOST_SPARE:
            self.asking = _Answers(self.c.bands, 1, None)

    cdef _answer(self, const uint64_t* signatures, size_t m, int64_t* offsets, _Answers a):
        cdef size_t next = 0
        cdef answer outcome = NO_ROOM
        offsets[0] = 0
        a.c.offsets = offsets
        while True:
            if m == 1:
                outcome = answer_queries(&self.c, signatures, m, &next, &a.c)
            else:
                with nogil:
                    outcome = answer_queries(&self.c, signatures, m, &next, &a.c)
            if outcome == ANSWERED:
                return
            if outcome == UNSOUND:
                raise ValueError("an entry of the tables leads out of them")
            a.make_room()

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

    # ---- files ----

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

    @staticmethod
    def over(size_t num_perm, size_t bands, size_t rows, kind, dict sections, gone=None):
        """Make fixed tables over the arrays of `sections`, each in one piece, which stay where they are.

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
        made._lie_over(sections, gone)
        return made

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

    def unsound(self):
        """Return the number of the first table that is not what `write` and `admit` make, None if there is none."""
        cdef size_t i, tables = self.c.bands + (self.kind != NAMELESS)
        cdef bint sound
        for i in range(tables):
            with nogil:
                sound = table_is_sound(&self.c.tables[i], &self.pool, self.c.limit)
            if not sound:
                return i
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
    cdef bint is_uint64 = (
        slots.ndim == 1 and slots.itemsize == sizeof(uint64_t)
        and (slots.format[0] == b"L" or slots.format[0] == b"Q") and slots.format[1] == 0
    )
    cdef size_t length = slots.shape[0] if slots.ndim == 1 else 0
    if not is_uint64 or length != k:
        PyBuffer_Release(slots)
        raise ValueError(f"signature must be of {k} slots, not {length}" if is_uint64 else "signature must be uint64")
    return 0


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
