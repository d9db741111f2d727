"""Arrow columns as addresses of their texts, or as lists: what `lshfast.kernels.text` reads them with.

Nothing is copied but integers: the owners that are returned with addresses keep the memory that these refer to.
"""

cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset, strcmp

import sys

import numpy as np

cdef extern from "text/arrow_abi.h":
    struct ArrowSchema:
        const char *format, *name
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*)
    struct ArrowArray:
        int64_t length, null_count, offset, n_buffers, n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*)
    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*)
        int (*get_next)(ArrowArrayStream*, ArrowArray*)
        const char* (*get_last_error)(ArrowArrayStream*)
        void (*release)(ArrowArrayStream*)

# Where a null lies: kernels add a length of 0 to the address, which is undefined for NULL.
cdef object NO_BYTES = np.uint64(<uint64_t><const char*>"")


def is_arrow(source):
    """Tell whether this has the Arrow C interface, or is of chunks that have it."""
    return (
        hasattr(source, "__arrow_c_stream__")
        or hasattr(source, "__arrow_c_array__")
        or (hasattr(source, "chunks") and hasattr(source, "num_chunks"))
    )


def checked_source(source, name="texts"):
    """Return the object that exports a column, after pyarrow has compared its offsets with the lengths of its buffers.

    The C interface does not say how long buffers are, so this has to be done before the export: for arrays, tables and
    readers of pyarrow, and for columns of pandas that hold arrays of pyarrow. Other objects are returned as they are.
    Each chunk takes .01 ms: only the ends are compared. What is between them is checked where it is read. `name` is the
    argument that errors name.

    Raises
    ------
    ValueError
        If a buffer is too short.
    """
    pa = sys.modules.get("pyarrow")
    if pa is None:
        return source
    source = _pandas_values(source)
    if isinstance(source, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(source.schema, (_validated(batch, name) for batch in source))
    known = isinstance(source, (pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table))
    return _validated(source, name) if known else source


def _pandas_values(source):
    """Return the array of pyarrow in a column of pandas, or in a frame of one column; other objects as they are."""
    if not hasattr(source, "iloc") or (source.ndim == 2 and source.shape[1] != 1):
        return source
    values = (source.iloc[:, 0] if source.ndim == 2 else source).array
    return values.__arrow_array__() if hasattr(values, "__arrow_array__") else source


def _validated(source, name):
    """Return an array or a table of pyarrow, or raise ValueError if its buffers are too short."""
    try:
        source.validate()
    except (ValueError, IndexError) as error:
        raise ValueError(f"{name}: the Arrow column is damaged: {error}") from error
    return source


def read_texts(source):
    """Return (addresses, lengths, owners) of a column of texts; nulls have no bytes.

    Raises
    ------
    TypeError
        If it holds no texts.
    ValueError
        If it is malformed.
    """
    return _read_texts_of_column(_ArrowColumn(source))


def read_texts_in_parts(source, int64_t rows):
    """Yield what `read_texts` returns for at most so many rows at a time; of a dictionary-encoded chunk, for all rows.

    Raises the errors of `read_texts`. The parts of one chunk have the same owner.
    """
    cdef _ArrowColumn column = _ArrowColumn(source)
    layout = _layout(column.type(), column.source)
    first_row = 0
    for chunk in column:
        start, length = 0, _length_of(column, chunk)
        while start < length:
            addresses, lengths = _read_rows(column, chunk, layout, start, rows, first_row + start)
            yield addresses, lengths, [chunk]
            start += len(lengths)
        first_row += length


def read_column(source, bint one_length=False):
    """Return (None, texts) of a column of texts or, where it is one of lists, (offsets, elements).

    texts are as of `read_texts`. The elements of all rows are texts, too, or integers of the type of the column. Those
    of row i begin at offsets[i] and end before offsets[i + 1]. Raises the errors of `read_texts`, and TypeError where a
    list holds a null, or where the type of the lists says their length, unless `one_length`.
    """
    cdef _ArrowColumn column = _ArrowColumn(source)
    name = _format_of(column.type()).partition(":")[0]
    if name in LIST_LAYOUTS and (one_length or name != "+w"):
        return _read_lists(column)
    return None, _read_texts_of_column(column)


@cython.auto_pickle(False)
cdef class _Chunk:
    """One Arrow array, released with this object."""
    cdef ArrowArray array

    def __cinit__(self):
        memset(&self.array, 0, sizeof(ArrowArray))

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)


@cython.auto_pickle(False)
cdef class _ArrowColumn:
    """What an object with the Arrow C interface holds: its schema, and its chunks, which can be read once."""
    cdef ArrowSchema schema
    cdef object stream  # a capsule, None if there is one chunk only
    cdef _Chunk chunk
    cdef str source

    def __cinit__(self, source):
        memset(&self.schema, 0, sizeof(ArrowSchema))
        self.source = type(source).__name__
        source = checked_source(source)
        if hasattr(source, "__arrow_c_stream__"):
            self._open_stream(source.__arrow_c_stream__(None))  # polars before 1.11 has no default
            return
        if not hasattr(source, "__arrow_c_array__"):  # chunks of pyarrow before 16, which have no stream
            source = source.combine_chunks()
        schema, array = source.__arrow_c_array__(None)
        self._open_array(schema, array)

    def __dealloc__(self):
        if self.schema.release != NULL:
            self.schema.release(&self.schema)

    cdef _open_stream(self, capsule):
        cdef ArrowArrayStream* stream = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
        if stream.release == NULL:
            raise ValueError("the Arrow stream has been released: it can be read once")
        if stream.get_schema == NULL or stream.get_next == NULL or stream.get_last_error == NULL:
            raise ValueError("a malformed Arrow stream: missing functions")
        if stream.get_schema(stream, &self.schema) != 0:
            raise ValueError(_stream_error(stream))
        self.stream = capsule

    cdef _open_array(self, schema_capsule, array_capsule):
        cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(schema_capsule, "arrow_schema")
        cdef ArrowArray* array = <ArrowArray*>PyCapsule_GetPointer(array_capsule, "arrow_array")
        if schema.release == NULL or array.release == NULL:
            raise ValueError("the Arrow array has been released: it can be read once")
        self.chunk = _Chunk()
        self.schema, self.chunk.array = schema[0], array[0]
        schema.release = array.release = NULL  # moved: this object releases them

    cdef bint is_table(self):
        """Tell whether this is a struct of one column, as a data frame or a relation with one column gives it."""
        return self.schema.format != NULL and strcmp(self.schema.format, b"+s") == 0 and self.schema.n_children == 1

    cdef const ArrowSchema* type(self) except NULL:
        """Return the type of the column."""
        return _child_of(&self.schema, 0) if self.is_table() else &self.schema

    cdef ArrowArray array_of(self, _Chunk chunk) except *:
        """Return the rows of the column in a chunk, which keeps their memory."""
        cdef ArrowArray array = chunk.array, part
        if not self.is_table():
            return array
        if array.n_children != 1 or array.length < 0 or array.offset < 0:
            raise ValueError("a malformed Arrow struct: negative length or missing columns")
        if _validity(&array, 1 if array.n_buffers > 0 else 0) != NULL:
            raise TypeError(f"texts is of type {self.source}, a struct that may be null; pass its column")
        if array.children == NULL or array.children[0] == NULL:
            raise ValueError("a malformed Arrow struct: missing columns")
        part = array.children[0][0]
        if array.length > part.length - array.offset:
            raise ValueError("a malformed Arrow struct: its column is too short")
        part.offset, part.length, part.null_count = part.offset + array.offset, array.length, -1 if part.null_count else 0
        return part

    def __iter__(self):
        """Yield the chunks, and release the stream that they come from."""
        cdef ArrowArrayStream* stream
        cdef _Chunk chunk
        if self.stream is None:
            yield self.chunk
            return
        stream = <ArrowArrayStream*>PyCapsule_GetPointer(self.stream, "arrow_array_stream")
        try:
            while True:
                chunk = _Chunk()
                if stream.get_next(stream, &chunk.array) != 0:
                    raise ValueError(_stream_error(stream))
                if chunk.array.release == NULL:
                    return
                yield chunk
        finally:
            stream.release(stream)


cdef str _stream_error(ArrowArrayStream* stream):
    cdef const char* message = stream.get_last_error(stream)
    return "the Arrow stream failed" + (f": {message.decode('utf-8', 'replace')}" if message != NULL else "")


# How the texts of an Arrow column are stored, by its format: with 32-bit or 64-bit offsets, as views, or all null.
cdef dict LAYOUTS = {"u": "offsets32", "z": "offsets32", "U": "offsets64", "Z": "offsets64",
                     "vu": "views", "vz": "views", "n": "nulls"}
# How the lists of an Arrow column are stored: with offsets, as views with offsets and sizes, or all of one length.
cdef dict LIST_LAYOUTS = {"+l": "offsets32", "+L": "offsets64", "+vl": "views32", "+vL": "views64", "+w": "one length"}
cdef dict INTEGERS = {"c": np.int8, "C": np.uint8, "s": np.int16, "S": np.uint16, "i": np.int32, "I": np.uint32,
                      "l": np.int64, "L": np.uint64}
# Arrow's names of its types, by their format up to the first colon; {} stands for what follows it.
cdef dict TYPE_NAMES = {
    "n": "null", "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64", "e": "float16", "f": "float32", "g": "float64", "z": "binary", "Z": "large_binary",
    "vz": "binary_view", "u": "string", "U": "large_string", "vu": "string_view", "w": "fixed_size_binary[{}]",
    "d": "decimal({})", "tdD": "date32[day]", "tdm": "date64[ms]", "tts": "time32[s]", "ttm": "time32[ms]",
    "ttu": "time64[us]", "ttn": "time64[ns]", "tss": "timestamp[s]", "tsm": "timestamp[ms]", "tsu": "timestamp[us]",
    "tsn": "timestamp[ns]", "tDs": "duration[s]", "tDm": "duration[ms]", "tDu": "duration[us]", "tDn": "duration[ns]",
    "tiM": "month_interval", "tiD": "day_time_interval", "tin": "month_day_nano_interval", "+l": "list",
    "+L": "large_list", "+vl": "list_view", "+vL": "large_list_view", "+w": "fixed_size_list[{}]", "+s": "struct",
    "+m": "map", "+ud": "dense_union", "+us": "sparse_union", "+r": "run-end encoded",
}


cdef str _type_name(str format):
    """Return Arrow's name of the type of a format."""
    head, _, rest = format.partition(":")
    name = TYPE_NAMES.get(head, f"of Arrow format {format!r}")
    if head == "d":
        precision, _, scale_and_bits = rest.partition(",")
        scale, _, bits = scale_and_bits.partition(",")
        return f"decimal{bits or 128}({precision}, {scale})"
    if head.startswith("ts") and rest:
        return f"{name[:-1]}, tz={rest}]"
    return name.replace("{}", rest)


cdef str _format_of(const ArrowSchema* schema):
    """Return the format of a type."""
    if schema.format == NULL:
        raise ValueError("a malformed Arrow schema: a type without a format")
    return schema.format.decode()


cdef const ArrowSchema* _child_of(const ArrowSchema* schema, int64_t at) except NULL:
    """Return the type of a column or of the elements, of which there are `n_children`."""
    if schema.children == NULL or schema.children[at] == NULL:
        raise ValueError("a malformed Arrow schema: missing types of columns or elements")
    return schema.children[at]


cdef str _name_of_type(const ArrowSchema* schema):
    """Return Arrow's name of a type; of lists, with that of their elements."""
    format = _format_of(schema)
    name = _type_name(format)
    if format in LIST_LAYOUTS and schema.n_children == 1:
        return f"{name}<{_type_name(_format_of(_child_of(schema, 0)))}>"
    return name


cdef str _one_column(const ArrowSchema* schema, str source):
    """Say which column of a struct to pass: "text", else the first that holds texts, else the first."""
    cdef int64_t i
    cdef const ArrowSchema* column
    names = []
    of_texts = []
    for i in range(schema.n_children):
        column = _child_of(schema, i)
        name = column.name.decode() if column.name != NULL else ""
        names.append(name)
        if _format_of(column) in LAYOUTS:
            of_texts.append(name)
    found = "text" if "text" in names else (of_texts or names or ["text"])[0]
    return f"texts is of type {source}, with columns (struct); pass one of them, such as {found!r}"


cdef tuple _layout(const ArrowSchema* schema, str source):
    """Return (how the texts of an Arrow column are stored, the format of its indices if it is dictionary-encoded)."""
    format = _format_of(schema)
    if schema.dictionary != NULL:
        if schema.dictionary.dictionary != NULL or format not in INTEGERS:
            raise ValueError(f"a malformed Arrow dictionary, with indices of format {format!r}")
        return _layout(schema.dictionary, source)[0], format
    if format == "+s":
        raise TypeError(_one_column(schema, source))
    if format not in LAYOUTS:
        raise TypeError(
            f"texts is of type {source}, with {_name_of_type(schema)} values; pass a column of strings or binary"
        )
    return LAYOUTS[format], None


cdef inline int64_t _int16_at(const void* memory, int64_t i) noexcept nogil:
    """Read a number of an Arrow buffer, which may begin anywhere."""
    cdef int16_t value
    memcpy(&value, <const char*>memory + 2 * i, 2)
    return value


cdef inline int64_t _int32_at(const void* memory, int64_t i) noexcept nogil:
    cdef int32_t value
    memcpy(&value, <const char*>memory + 4 * i, 4)
    return value


cdef inline int64_t _int64_at(const void* memory, int64_t i) noexcept nogil:
    cdef int64_t value
    memcpy(&value, <const char*>memory + 8 * i, 8)
    return value


cdef _read_array(ArrowArray* array, tuple layout, first_row):
    """Return the addresses and lengths of an Arrow array's texts; nulls have neither."""
    kind, indices = layout
    if indices is None:
        return _read_texts(array, kind, first_row)
    if array.dictionary == NULL:
        raise ValueError("a malformed Arrow dictionary: there are no values")
    addresses, lengths = _read_texts(array.dictionary, kind, 0)
    return _read_indices(array, ord(indices), addresses, lengths, first_row)


cdef int64_t _length_of(_ArrowColumn column, _Chunk chunk) except -1:
    cdef ArrowArray array = column.array_of(chunk)
    _validity(&array, 0)
    return array.length


cdef _read_rows(_ArrowColumn column, _Chunk chunk, tuple layout, int64_t start, int64_t rows, first_row):
    """Return the addresses and lengths of `rows` rows of a chunk from `start` on, if it has so many; see `_length_of`."""
    cdef ArrowArray array = column.array_of(chunk)
    if layout[1] is None:  # else the texts of the dictionary would be read for each part
        array.offset += start
        array.length = min(rows, array.length - start)
        array.null_count = -1 if array.null_count else 0
    return _read_array(&array, layout, first_row)


cdef const uint8_t* _validity(const ArrowArray* array, int64_t buffers) except? NULL:
    """Return the bitmap of an array that has at least so many buffers, or NULL where nothing is null."""
    if array.length < 0 or array.offset < 0 or array.n_buffers < buffers or (buffers > 0 and array.buffers == NULL):
        raise ValueError("a malformed Arrow array: negative length or missing buffers")
    return <const uint8_t*>array.buffers[0] if buffers and array.null_count != 0 else NULL


cdef inline bint _is_valid(const uint8_t* valid, int64_t at) noexcept nogil:
    return valid == NULL or valid[at >> 3] >> (at & 7) & 1


cdef inline int64_t _integer(const void* values, char format, int64_t at) noexcept nogil:
    """Return an integer of an Arrow format, -1 where it is 2**63 or more."""
    if format == c"c":
        return (<const int8_t*>values)[at]
    if format == c"C":
        return (<const uint8_t*>values)[at]
    if format == c"s":
        return _int16_at(values, at)
    if format == c"S":
        return <uint16_t>_int16_at(values, at)
    if format == c"i":
        return _int32_at(values, at)
    if format == c"I":
        return <uint32_t>_int32_at(values, at)
    return max(_int64_at(values, at), <int64_t>-1)


cdef _read_indices(const ArrowArray* array, char format, own_addresses, own_lengths, first_row):
    """Return the addresses and lengths of the texts that a dictionary-encoded array points to."""
    cdef const uint8_t* valid = _validity(array, 2)
    cdef int64_t i, at, n = array.length, most = len(own_lengths)
    rows_array = np.full(n, most, np.int64)  # of a null: behind the values
    cdef int64_t[::1] rows = rows_array
    for i in range(n):
        if _is_valid(valid, array.offset + i):
            if array.buffers[1] == NULL:
                raise ValueError("a malformed Arrow array: missing buffers")
            at = _integer(array.buffers[1], format, array.offset + i)
            if not 0 <= at < most:
                raise ValueError(f"texts[{first_row + i}]: a malformed Arrow dictionary index")
            rows[i] = at
    return np.append(own_addresses, NO_BYTES)[rows_array], np.append(own_lengths, 0)[rows_array]


cdef inline int64_t _offset_at(const void* offsets, bint narrow, int64_t at) noexcept nogil:
    return _int32_at(offsets, at) if narrow else _int64_at(offsets, at)


cdef _read_texts(const ArrowArray* array, str kind, first_row):
    """Return the addresses and lengths of the texts of an Arrow array that is not dictionary-encoded.

    Offsets must rise from 0; how long the data is, the interface tells for views only.
    """
    cdef const uint8_t* valid = _validity(array, 0 if kind == "nulls" else 3)
    cdef int64_t i, at, n = array.length, start, stop, first, wrong, total = 0
    if n == 0 or kind == "nulls":
        return np.full(n, NO_BYTES), np.zeros(n, np.int64)
    address_array, length_array = np.empty(n, np.uint64), np.empty(n, np.int64)
    cdef uint64_t[::1] addresses = address_array
    cdef int64_t[::1] lengths = length_array
    cdef uint64_t nowhere = NO_BYTES
    cdef const void* offsets
    cdef bint narrow
    cdef const uint8_t* data
    cdef const uint8_t* view
    cdef const void* sizes
    if array.buffers[1] == NULL:
        raise ValueError("a malformed Arrow array: missing buffers")
    if kind == "views":
        sizes = array.buffers[array.n_buffers - 1]
        for i in range(n):
            if not _is_valid(valid, array.offset + i):
                addresses[i], lengths[i] = nowhere, 0
                continue
            view = <const uint8_t*>array.buffers[1] + 16 * (array.offset + i)
            total = _int32_at(view, 0)
            lengths[i] = total
            if total < 0:
                raise ValueError(f"texts[{first_row + i}]: a malformed Arrow view")
            if total <= 12:
                addresses[i] = <uint64_t>(view + 4)
                continue
            at, start = _int32_at(view, 2), _int32_at(view, 3)
            if at < 0 or at >= array.n_buffers - 3 or start < 0:
                raise ValueError(f"texts[{first_row + i}]: a malformed Arrow view")
            if sizes == NULL or array.buffers[2 + at] == NULL:
                raise ValueError("a malformed Arrow array: missing buffers")
            if start + total > _int64_at(sizes, at):
                raise ValueError(f"texts[{first_row + i}]: a malformed Arrow view")
            addresses[i] = <uint64_t>(<const uint8_t*>array.buffers[2 + at] + start)
        return address_array, length_array
    offsets, narrow = array.buffers[1], kind == "offsets32"
    data = <const uint8_t*>array.buffers[2]
    first = stop = wrong = _offset_at(offsets, narrow, array.offset)
    for i in range(0 if valid else n):  # without a branch for each row
        start = stop
        stop = _offset_at(offsets, narrow, array.offset + i + 1)
        addresses[i] = <uint64_t>data + <uint64_t>start
        lengths[i] = <int64_t>(<uint64_t>stop - <uint64_t>start)
        wrong |= stop | lengths[i]
    if data == NULL and _offset_at(offsets, narrow, array.offset + n) != first:
        raise ValueError("a malformed Arrow array: missing buffers")
    if not valid and wrong >= 0:
        return address_array, length_array
    stop = first
    for i in range(n):
        at = array.offset + i
        start = stop
        stop = _offset_at(offsets, narrow, at + 1)
        if start < 0 or stop < start:  # of nulls too: else those before them may end behind the data
            raise ValueError(f"texts[{first_row + i}]: a malformed Arrow offset")
        if not _is_valid(valid, at):
            addresses[i], lengths[i] = nowhere, 0
            continue
        addresses[i] = <uint64_t>(data + start)
        lengths[i] = stop - start
    return address_array, length_array


cdef tuple _read_texts_of_column(_ArrowColumn column):
    layout = _layout(column.type(), column.source)
    parts, owners = [], []
    rows = 0
    cdef ArrowArray array
    for chunk in column:
        array = column.array_of(chunk)
        parts.append(_read_array(&array, layout, rows))
        rows += len(parts[-1][1])
        owners.append(chunk)
    return (*_joined(parts), owners)


cdef tuple _joined(parts):
    """Return the addresses and the lengths of all parts."""
    if len(parts) == 1:
        return parts[0]
    return (
        np.concatenate([addresses for addresses, _ in parts] or [np.zeros(0, np.uint64)]),
        np.concatenate([lengths for _, lengths in parts] or [np.zeros(0, np.int64)]),
    )


cdef _read_lists(_ArrowColumn column):
    """Return (offsets, elements) of a column of lists."""
    cdef const ArrowSchema* lists = column.type()
    if lists.n_children != 1:
        raise ValueError("a malformed Arrow list: there must be one type of elements")
    cdef const ArrowSchema* item = _child_of(lists, 0)
    cdef ArrowArray array
    dtype = INTEGERS.get(_format_of(item)) if item.dictionary == NULL else None
    layout = None if dtype is not None else _element_layout(lists, item, column.source)
    name, _, length = _format_of(lists).partition(":")
    lists_layout = LIST_LAYOUTS[name], int(length or 0)
    counts = [np.zeros(0, np.int64)]
    elements = []
    rows = 0
    owners = []
    for chunk in column:
        array = column.array_of(chunk)
        found = _read_list_chunk(&array, lists_layout, dtype, layout, rows)
        counts.append(found[0])
        elements.append(found[1])
        rows += len(found[0])
        owners.append(chunk)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(np.concatenate(counts), out=offsets[1:])
    if dtype is not None:
        return offsets, np.concatenate([np.zeros(0, dtype), *elements])
    return offsets, (*_joined(elements), owners)


cdef tuple _element_layout(const ArrowSchema* lists, const ArrowSchema* item, str source):
    """Return the layout of the texts that are elements of lists, as `_layout` does."""
    held = item if item.dictionary == NULL else item.dictionary
    if _format_of(held) not in LAYOUTS:
        raise TypeError(
            f"texts is of type {source}, with {_name_of_type(lists)} values; "
            "pass a column of strings or binary, or of lists of strings, binary or integers"
        )
    return _layout(item, source)


cdef tuple _places_of_lists(const ArrowArray* array, tuple layout, first_row):
    """Return (the first element of each row, how many it has) of an array of lists; nulls have none."""
    kind, width = layout
    cdef bint narrow = kind in ("offsets32", "views32")
    cdef bint views = kind in ("views32", "views64")
    cdef bint one_length = kind == "one length"
    cdef const uint8_t* valid = _validity(array, 1 if one_length else 3 if views else 2)
    cdef int64_t i, at, n = array.length, start, stop, each = width, most
    if array.n_children != 1 or array.children == NULL or array.children[0] == NULL:
        raise ValueError("a malformed Arrow list: missing elements")
    if n and not one_length and array.buffers[1] == NULL:
        raise ValueError("a malformed Arrow list: missing offsets")
    if n and views and array.buffers[2] == NULL:
        raise ValueError("a malformed Arrow list: missing sizes")
    most = array.children[0].length
    if one_length and int(width) * (int(array.offset) + n) > most:
        raise ValueError("a malformed Arrow list: there are too few elements")
    start_array, count_array = np.zeros(n, np.int64), np.zeros(n, np.int64)
    cdef int64_t[::1] starts = start_array, counts = count_array
    for i in range(n):
        at = array.offset + i
        if views and not _is_valid(valid, at):
            continue
        if one_length:
            start = at * each
            stop = start + each
        elif views:
            start = _offset_at(array.buffers[1], narrow, at)
            stop = _offset_at(array.buffers[2], narrow, at)
            stop = start + stop if 0 <= start <= most and 0 <= stop <= most else -1
        else:
            start = _offset_at(array.buffers[1], narrow, at)
            stop = _offset_at(array.buffers[1], narrow, at + 1)
        if not 0 <= start <= stop <= most:
            raise ValueError(f"texts[{first_row + i}]: a malformed Arrow offset")
        starts[i] = start
        if _is_valid(valid, at):
            counts[i] = stop - start
    return start_array, count_array


cdef tuple _read_list_chunk(const ArrowArray* array, tuple lists_layout, dtype, layout, first_row):
    """Return (the number of each row's elements, the elements) of one array of lists.

    Elements are integers where a dtype is given, else (addresses, lengths) as of `_read_texts`.
    """
    start_array, count_array = _places_of_lists(array, lists_layout, first_row)
    ends = np.cumsum(count_array)
    filled = np.flatnonzero(count_array)
    starts, counts = start_array[filled], count_array[filled]
    cdef int64_t first = starts.min(initial=array.children[0].length), last = (starts + counts).max(initial=first)
    cdef ArrowArray part = array.children[0][0]  # the elements that the rows refer to, which may be few of all
    part.offset, part.length, part.null_count = part.offset + first, last - first, -1 if part.null_count else 0
    places = slice(None)
    if not np.array_equal(starts - first, ends[filled] - counts):  # nulls have elements, too, or views have any order
        places = np.repeat(starts - first - ends[filled] + counts, counts) + np.arange(counts.sum(), dtype=np.int64)
    if dtype is not None:
        values, nulls = _read_integers(&part, dtype)
        elements, nulls = values[places], nulls[places]
    else:
        addresses, lengths = _read_array(&part, layout, 0)
        elements = addresses[places], lengths[places]
        nulls = elements[0] == NO_BYTES
    if nulls.any():
        row = first_row + int(np.searchsorted(ends, np.argmax(nulls), side="right"))
        raise TypeError(f"texts[{row}] holds a null; elements are str, bytes or int")
    return count_array, elements


cdef tuple _read_integers(const ArrowArray* array, dtype):
    """Return (values, which are null) of an array of integers; the values are valid as long as the array."""
    cdef const uint8_t* valid = _validity(array, 2)
    cdef int64_t i, n = array.length, size = np.dtype(dtype).itemsize
    null_array = np.zeros(n, np.uint8)
    cdef uint8_t[::1] nulls = null_array
    if n == 0:
        return np.zeros(0, dtype), null_array.view(np.bool_)
    if array.buffers[1] == NULL:
        raise ValueError("a malformed Arrow array: missing buffers")
    if valid != NULL:
        for i in range(n):
            nulls[i] = not _is_valid(valid, array.offset + i)
    cdef const uint8_t* memory = <const uint8_t*>array.buffers[1] + array.offset * size
    return np.frombuffer(<const uint8_t[:n * size]>memory, dtype), null_array.view(np.bool_)
