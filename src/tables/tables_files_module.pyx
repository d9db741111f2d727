"""What the tables of an index are in files, and their figures."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from lshfast.kernels.arrays cimport joined_rows
from tables_declarations cimport *


@cython.no_gc_clear
@cython.auto_pickle(False)
cdef class _Memory:
    """Bytes of the memory of tables, to be read. As long as it exists, they free no memory."""
    cdef object owner
    cdef const void* first
    cdef Py_ssize_t size
    cdef size_t* watchers

    def __dealloc__(self):
        if self.watchers:
            with cython.critical_section(self.owner):
                self.watchers[0] -= 1

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, <void*>self.first, self.size, True, flags)


@cython.auto_pickle(False)
cdef class _Reader:
    """Makes arrays over the memory of tables."""
    cdef object owner
    cdef size_t* watchers

    cdef array(self, const void* first, size_t n, dtype):
        """Return an array of n numbers, read-only."""
        cdef _Memory memory = _Memory.__new__(_Memory)
        memory.owner, memory.first, memory.size = self.owner, first, n * np.dtype(dtype).itemsize
        with cython.critical_section(self.owner):
            memory.watchers = self.watchers
            self.watchers[0] += 1
        return np.frombuffer(memory, dtype)


cdef inline size_t tables_of(const band_tables* c) noexcept:
    return c.bands + (c.names.kind != NAMES_NONE)


cdef dict sections_of(owner, const void* tables, dict kept, size_t* watchers):
    """Return the arrays of tables of which no row is free, as `BandTables.sections` does."""
    cdef const band_tables* c = <const band_tables*>tables
    cdef const c_names* names = &c.names
    cdef _Reader reader = _Reader.__new__(_Reader)
    cdef size_t i, n = c.limit
    reader.owner, reader.watchers = owner, watchers
    shape, entries = [], []
    for i in range(tables_of(c)):
        shape.append([c.tables[i].capacity, c.tables[i].length, c.tables[i].count])
        entries.append(reader.array(c.tables[i].entries, c.tables[i].length + 1, np.uint64))
    found = {
        "shape": [np.array(shape, np.uint64)],
        "tables": entries,
        "pool": [reader.array(c.pool.words, c.pool.used * TABLES_UNIT_WORDS, np.uint32)],
        "signatures": signature_pieces(c, kept, reader),
    }
    if names.kind == NAMES_INTEGERS:
        found["integers"] = [reader.array(names.integers, n, np.int64)]
    elif names.kind == NAMES_STRINGS:
        found["starts"] = [reader.array(names.starts, n, np.int64)]
        found["lengths"] = [reader.array(names.lengths, n, np.uint32)]
        found["bytes"] = [reader.array(names.bytes, names.used, np.uint8)]
    return found


cdef list signature_pieces(const band_tables* c, dict kept, _Reader reader):
    """Return the signatures of the rows below the limit, in few arrays; those never written are zeros."""
    cdef size_t at, rows, block = <size_t>1 << c.shift
    cdef list pieces = []
    for at in range((c.limit + block - 1) >> c.shift):
        rows = min(block, c.limit - at * block)
        if c.kept[at].rows:
            pieces.append(kept[at][:rows])
            rows -= len(pieces[-1])
        elif c.blocks[at] != NULL:
            pieces.append(reader.array(c.blocks[at], rows * c.k, np.uint64).reshape(rows, c.k))
            rows = 0
        if rows:
            pieces.append(np.zeros((rows, c.k), np.uint64))
    return joined_rows(pieces)


cdef int lie_over(void* tables, dict sections, const uint8_t[::1] gone) except -1:
    """Let fixed tables, which have their signatures, read sections, whose shapes are checked, and marks."""
    cdef band_tables* c = <band_tables*>tables
    if <size_t>len(gone) != c.limit:
        raise ValueError(f"gone must have {c.limit} marks, not {len(gone)}")
    c.gone = c.names.gone = &gone[0] if len(gone) else NULL
    lie_over_tables(c, sections["shape"], sections["tables"], sections["pool"])
    lie_over_names(&c.names, sections)
    return 0


cdef lie_over_tables(
    band_tables* c, const uint64_t[:, ::1] shape, const uint64_t[::1] entries, const uint32_t[::1] words
):
    cdef size_t i, at = 0, tables = tables_of(c)
    cdef tables_table* table
    if <size_t>shape.shape[0] != tables or shape.shape[1] != 3:
        raise ValueError(f"shape must be ({tables}, 3), not ({shape.shape[0]}, {shape.shape[1]})")
    for i in range(tables):
        table = &c.tables[i]
        table.capacity, table.length, table.count = shape[i, 0], shape[i, 1], shape[i, 2]
        if (
            not 1 <= table.capacity <= TABLES_MOST_CAPACITY
            or not table.capacity <= table.length < len(entries) - at
        ):
            raise ValueError(f"table {i} has capacity {table.capacity} and length {table.length}, "
                             f"with {len(entries) - at} entries left")
        table.entries = <uint64_t*>&entries[at]
        at += table.length + 1
        if entries[at - 1] != UINT64_MAX:
            raise ValueError(f"table {i} has no end")
    if at != <size_t>len(entries):
        raise ValueError(f"tables must have {at} entries, not {len(entries)}")
    if len(words) % TABLES_UNIT_WORDS or len(words) // TABLES_UNIT_WORDS > TABLES_MOST_ROWS:
        raise ValueError(f"the pool must have whole blocks, not {len(words)} words")
    c.pool.words = <uint32_t*>&words[0] if len(words) else NULL
    c.pool.length = c.pool.used = len(words) // TABLES_UNIT_WORDS


cdef lie_over_names(c_names* names, dict sections):
    cdef const int64_t[::1] integers, starts
    cdef const uint32_t[::1] lengths
    cdef const uint8_t[::1] text
    cdef size_t n = names.limit
    if names.kind == NAMES_INTEGERS:
        integers = sections["integers"]
        if <size_t>len(integers) != n:
            raise ValueError(f"there must be {n} integers, not {len(integers)}")
        names.integers = <int64_t*>&integers[0] if n else NULL
    elif names.kind == NAMES_STRINGS:
        starts, lengths, text = sections["starts"], sections["lengths"], sections["bytes"]
        if <size_t>len(starts) != n or <size_t>len(lengths) != n:
            raise ValueError(f"there must be {n} starts and lengths, not {len(starts)} and {len(lengths)}")
        if n:
            names.starts, names.lengths = <int64_t*>&starts[0], <uint32_t*>&lengths[0]
        names.bytes, names.size = <uint8_t*>&text[0] if len(text) else NULL, len(text)


# ---- figures ----


cdef tuple sizes_of(const void* tables):
    """Return the bytes of memory: (signatures, without those that are kept in arrays, tables, names)."""
    cdef const band_tables* c = <const band_tables*>tables
    cdef size_t i, entries = c.pool.length * TABLES_UNIT_WORDS * sizeof(uint32_t), names = 0, blocks = 0
    cdef size_t room = c.limit if c.fixed else c.room
    for i in range(c.bands):
        entries += (c.tables[i].length + 1) * sizeof(uint64_t)
    if c.names.kind != NAMES_NONE:
        names = (c.tables[c.bands].length + 1) * sizeof(uint64_t) + c.names.size + room * sizeof(int64_t)
    if c.names.kind == NAMES_STRINGS:
        names += room * sizeof(uint32_t)
    if c.heads != NULL:
        entries += room * c.slots * sizeof(uint64_t)
    entries += c.cells.groups * (BAND_TABLES_GROUP * (c.slots * sizeof(uint64_t) + sizeof(uint32_t)) + 2 * sizeof(float))
    entries += c.cells.limit + c.cells.count * (c.cells.dim + 2) * sizeof(float)
    if c.fixed:
        return c.limit * c.k * sizeof(uint64_t), entries, names
    for i in range(c.capacity >> c.shift):
        blocks += c.blocks[i] != NULL and not c.kept[i].rows
    return (blocks << c.shift) * c.k * sizeof(uint64_t), entries + room * (sizeof(uint8_t) + sizeof(uint32_t)), names


cdef tuple buckets_of(const void* tables):
    """Return what `BandTables.bucket_sizes` does."""
    cdef const band_tables* c = <const band_tables*>tables
    cdef size_t band, i, count, largest = 0, kind
    cdef double squares = 0
    cdef const tables_table* table
    sizes_array = np.zeros(32, np.int64)
    cdef int64_t[::1] sizes = sizes_array
    with nogil:
        for band in range(c.bands):
            table = &c.tables[band]
            for i in range(table.length):
                if table.entries[i] == UINT64_MAX:
                    continue
                count = tables_bucket_count(&c.pool, table.entries[i])
                largest = max(largest, count)
                squares += <double>count * count
                kind = 0
                while count > 1:
                    count >>= 1
                    kind += 1
                sizes[min(kind, <size_t>31)] += 1
    return sizes_array, largest, squares
