"""Texts from wherever they lie, tokens and shingles: the kernels of the first stage.

`Texts` holds pointers to UTF-8 and keeps their owners alive; nothing is copied but the non-ASCII str objects of a list.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.unicode cimport PyUnicode_AsUTF8String
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from collections.abc import Mapping, Set

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, pause, sum_of

cdef extern from "Python.h":
    int PyUnicode_IS_COMPACT_ASCII(object)
    void* PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)

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

cdef extern from "text/text.h":
    const size_t TEXT_MAX_SHINGLE
    const size_t SIZE_MAX
    struct hash_key:
        uint64_t bytes, words, characters, integers
    struct token_hasher:
        pass
    struct shingler:
        pass
    struct text_kernels:
        void (*tokens)(const token_hasher*, const uint8_t**, const size_t*, size_t, uint64_t*) noexcept nogil
    const text_kernels** text_levels
    hash_key text_hash_key_of(uint64_t seed) nogil
    token_hasher text_hasher_of(uint64_t seed) nogil
    token_hasher text_hasher_under(const hash_key*) nogil
    uint64_t text_token_of_bytes(const token_hasher*, const uint8_t*, size_t) nogil
    void text_tokens_of_integers(const uint64_t*, size_t, uint64_t, uint64_t*) nogil
    void text_tokens_of_integers_under(const uint64_t*, size_t, const hash_key*, uint64_t*) nogil
    void text_shingler_of_words(shingler*, size_t, const hash_key*) nogil
    void text_shingler_of_characters(shingler*, size_t, const hash_key*) nogil
    size_t text_most_words(size_t) nogil
    const size_t TEXT_UNFINISHED
    struct text_walk:
        pass
    size_t text_walk_size() nogil
    void text_walk_begin(text_walk*) nogil
    size_t text_word_shingles(const text_kernels*, const shingler*, const uint8_t*, size_t, text_walk*, size_t,
                              uint64_t*, size_t*) nogil
    size_t text_character_shingles(const text_kernels*, const shingler*, const uint8_t*, size_t,
                                   text_walk*, size_t, uint64_t*, size_t*) nogil

cdef extern from "field.h":
    const uint64_t P61

cdef const int* in_use = level_in_use()


cdef inline const text_kernels* kernels() noexcept nogil:
    return text_levels[in_use[0]]


cdef enum:
    LONG_BYTES = 4 * WORK  # bytes of a text that is shingled step by step
    BATCH_TEXTS = 256  # texts whose tokens are made at a time

# Where a null lies: kernels add a length of 0 to the address, which is undefined for NULL.
cdef object NO_BYTES = np.uint64(<uint64_t><const char*>"")

MAX_SIZE = TEXT_MAX_SHINGLE



@cython.auto_pickle(False)
@cython.final
cdef class HashKey:
    """What tokens are hashed under, in place of what a seed gives: see struct hash_key in text.h.

    The multipliers of bytes, words and characters are in 1..2**61 - 2, the mask of integers in 0..2**64 - 1. Nothing
    reads them back, prints them or pickles them.
    """
    cdef hash_key held

    def __init__(self, uint64_t bytes, uint64_t words, uint64_t characters, uint64_t integers):
        if not (1 <= bytes < P61 and 1 <= words < P61 and 1 <= characters < P61):
            raise ValueError("multipliers must be in 1..2**61 - 2")
        self.held.bytes, self.held.words, self.held.characters = bytes, words, characters
        self.held.integers = integers

    def __reduce__(self):
        raise TypeError("a HashKey is not pickled: it is secret")


cdef hash_key _key_of(seed) except *:
    """Return what a seed gives, or what a HashKey holds."""
    return (<HashKey>seed).held if isinstance(seed, HashKey) else text_hash_key_of(seed)


class TextError(ValueError):
    """A text that cannot be used: `row` is its number in the column, `reason` says why, without the row."""

    def __init__(self, row, reason):
        super().__init__(f"texts[{row}]: {reason}")
        self.row = row
        self.reason = reason

    def __reduce__(self):
        return type(self), (self.row, self.reason)


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

    def __cinit__(self):
        memset(&self.schema, 0, sizeof(ArrowSchema))

    def __dealloc__(self):
        if self.schema.release != NULL:
            self.schema.release(&self.schema)

    def __init__(self, source):
        self.source = type(source).__name__
        if hasattr(source, "__arrow_c_stream__"):
            self._open_stream(source.__arrow_c_stream__())
            return
        if not hasattr(source, "__arrow_c_array__"):  # chunks of pyarrow before 16, which have no stream
            source = source.combine_chunks()
        schema, array = source.__arrow_c_array__()
        self._open_array(schema, array)

    cdef _open_stream(self, capsule):
        cdef ArrowArrayStream* stream = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
        if stream.release == NULL:
            raise ValueError("the Arrow stream has been released: it can be read once")
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


cdef class Texts:
    """A column of UTF-8 texts, wherever they lie.

    Built from a sequence of str or bytes, a numpy array of them, or anything with the Arrow C interface
    (a pyarrow, polars or pandas column of strings, large strings, string views or binary, dictionary-encoded or not).
    A null (None, NaN, pandas' NA) is a text of no bytes. Immutable, and safe to share between threads. That bytes are
    UTF-8 is checked when they are shingled.
    """
    cdef readonly object addresses, lengths
    cdef object owners

    def __init__(self, source):
        if self.owners is not None:
            raise TypeError("Texts is immutable")
        if isinstance(source, (str, bytes)):
            raise TypeError("texts must be a column of texts, not one str or bytes")
        if isinstance(source, (Mapping, Set)):
            raise TypeError(f"texts must be a column of texts in order, not {type(source).__name__}")
        _refuse_frame(source)
        self.owners = []
        if isinstance(source, Texts):
            other = <Texts>source
            self.addresses, self.lengths, self.owners = other.addresses, other.lengths, other.owners
        elif isinstance(source, _ArrowColumn):
            self._read_arrow(source)
        elif not isinstance(source, (list, tuple)) and is_arrow(source):
            self._read_arrow(_ArrowColumn(source))
        else:
            self._read_objects(source)
        self._seal()

    cdef _seal(self):
        """Keep the addresses from being written: kernels follow them."""
        self.addresses.flags.writeable = self.lengths.flags.writeable = False
        self.addresses, self.lengths = self.addresses.view(), self.lengths.view()  # whose flags cannot be raised again

    def __reduce__(self):
        return Texts, ([self[row] for row in range(len(self))],)

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, row):
        """Return one text as bytes."""
        cdef int64_t length = self.lengths[row]
        cdef uint64_t address = self.addresses[row]
        return (<const char*>address)[:length] if length else b""

    @property
    def nbytes(self):
        """The bytes of all texts together."""
        return int(self.lengths.sum())

    def take(self, rows):
        """Return the texts of the given rows (a slice, or an array of row numbers or bools), sharing their bytes."""
        cdef Texts part = Texts.__new__(Texts)
        part.addresses, part.lengths = (np.ascontiguousarray(column[rows]) for column in (self.addresses, self.lengths))
        part.owners = self.owners
        part._seal()
        return part

    def equal(self, const int64_t[::1] left not None, const int64_t[::1] right not None):
        """Tell which texts left[i] and right[i] have the same bytes, bool (m,)."""
        cdef const uint64_t[::1] addresses = self.addresses
        cdef const int64_t[::1] lengths = self.lengths
        cdef Py_ssize_t i, m = len(left), n = len(lengths)
        if len(right) != m:
            raise ValueError(f"as many lefts as rights are needed, not {m} and {len(right)}")
        out_array = np.empty(m, np.uint8)
        cdef uint8_t[::1] out = out_array
        for i in range(m):
            if not (0 <= left[i] < n and 0 <= right[i] < n):
                raise IndexError(f"rows must be in 0..{n - 1}, not {left[i]} and {right[i]}")
        with nogil:
            for i in range(m):
                out[i] = lengths[left[i]] == lengths[right[i]] and (
                    lengths[left[i]] == 0
                    or memcmp(<const void*>addresses[left[i]], <const void*>addresses[right[i]], lengths[left[i]]) == 0)
        return out_array.view(np.bool_)

    @staticmethod
    def concatenate(parts):
        """Return all texts of several columns as one, sharing their bytes."""
        cdef Texts whole = Texts.__new__(Texts)
        parts = [Texts(part) for part in parts] or [Texts([])]
        whole.addresses = np.concatenate([(<Texts>part).addresses for part in parts])
        whole.lengths = np.concatenate([(<Texts>part).lengths for part in parts])
        whole.owners = [(<Texts>part).owners for part in parts]
        whole._seal()
        return whole

    cdef _read_objects(self, source):
        cdef list owners
        try:
            owners = list(source)  # a copy: other threads may change a list meanwhile
        except TypeError:
            raise TypeError(f"texts must be a column of texts, not {type(source).__name__}") from None
        self.owners = owners
        cdef Py_ssize_t i, n = len(owners)
        self.addresses = np.full(n, NO_BYTES)
        self.lengths = np.zeros(n, np.int64)
        cdef uint64_t[::1] addresses = self.addresses
        cdef int64_t[::1] lengths = self.lengths
        for i in range(n):
            text = owners[i]
            if isinstance(text, str):
                if PyUnicode_IS_COMPACT_ASCII(text):
                    addresses[i] = <uint64_t>PyUnicode_DATA(text)
                    lengths[i] = PyUnicode_GET_LENGTH(text)
                    continue
                try:
                    text = owners[i] = PyUnicode_AsUTF8String(text)
                except UnicodeEncodeError as error:
                    code = f"U+{ord(text[error.start]):04X}"
                    raise TextError(i, f"lone surrogate {code} at character {error.start}") from None
            elif not isinstance(text, bytes):
                if _is_null(text):
                    continue
                raise TypeError(f"texts[{i}] is of type {type(text).__name__}, not str or bytes")
            addresses[i] = <uint64_t>PyBytes_AS_STRING(text)
            lengths[i] = PyBytes_GET_SIZE(text)

    cdef _read_arrow(self, _ArrowColumn column):
        layout = _layout(&column.schema, column.source)
        parts = []
        rows = 0
        for chunk in column:
            parts.append(_read_column(&(<_Chunk>chunk).array, layout, rows))
            rows += len(parts[-1][1])
            self.owners.append(chunk)
        self._join(parts)

    cdef _join(self, parts):
        empty = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self.addresses = np.concatenate([addresses for addresses, _ in parts] or [empty[0]])
        self.lengths = np.concatenate([lengths for _, lengths in parts] or [empty[1]])


cdef bint _is_null(value):
    """Tell None, NaN, and the NA and NaT of pandas."""
    if isinstance(value, (float, np.floating)):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")


cdef str _stream_error(ArrowArrayStream* stream):
    cdef const char* message = stream.get_last_error(stream)
    return "the Arrow stream failed" + (f": {message.decode('utf-8', 'replace')}" if message != NULL else "")


cdef _refuse_frame(source):
    """Raise TypeError, and say how to take a column, where this is a data frame."""
    kind = type(source)
    if not (hasattr(kind, "columns") or hasattr(kind, "column_names")):
        return
    if hasattr(kind, "collect") and hasattr(kind, "collect_schema"):
        raise TypeError(
            f"texts is of type {kind.__name__}, which holds no rows yet; collect it and pass one column, such as "
            "df.collect()['text']"
        )
    names = list(getattr(source, "column_names", None) or getattr(source, "columns", ()))
    column = "text" if "text" in names or not names else names[0]
    raise TypeError(f"texts is of type {kind.__name__}; pass one column of it, such as df[{column!r}]")


def is_arrow(source):
    """Tell whether this has the Arrow C interface, or is of chunks that have it."""
    return (
        hasattr(source, "__arrow_c_stream__")
        or hasattr(source, "__arrow_c_array__")
        or (hasattr(source, "chunks") and hasattr(source, "num_chunks"))
    )


# How the texts of an Arrow column are stored, by its format: with 32-bit or 64-bit offsets, as views, or all null.
cdef dict LAYOUTS = {"u": "offsets32", "z": "offsets32", "U": "offsets64", "Z": "offsets64",
                     "vu": "views", "vz": "views", "n": "nulls"}
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


cdef str _name_of_type(const ArrowSchema* schema):
    """Return Arrow's name of a type; of lists, with that of their elements."""
    format = schema.format.decode()
    name = _type_name(format)
    if format in ("+l", "+L") and schema.n_children == 1:
        return f"{name}<{_type_name(schema.children[0].format.decode())}>"
    return name


cdef str _one_column(const ArrowSchema* schema, str source):
    """Say which column of a struct to pass: "text", else the first that holds texts, else the first."""
    cdef int64_t i
    names = []
    of_texts = []
    for i in range(schema.n_children):
        name = schema.children[i].name.decode() if schema.children[i].name != NULL else ""
        names.append(name)
        if schema.children[i].format.decode() in LAYOUTS:
            of_texts.append(name)
    found = "text" if "text" in names else (of_texts or names or ["text"])[0]
    return f"texts is of type {source}, with several columns (struct); pass one of them, such as {found!r}"


cdef tuple _layout(const ArrowSchema* schema, str source):
    """Return (how the texts of an Arrow column are stored, the format of its indices if it is dictionary-encoded)."""
    format = schema.format.decode()
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


cdef _read_column(ArrowArray* array, tuple layout, first_row):
    """Return the addresses and lengths of an Arrow array's texts; nulls have neither."""
    kind, indices = layout
    if indices is None:
        return _read_texts(array, kind, first_row)
    if array.dictionary == NULL:
        raise ValueError("a malformed Arrow dictionary: there are no values")
    addresses, lengths = _read_texts(array.dictionary, kind, 0)
    return _read_indices(array, ord(indices), addresses, lengths, first_row)


cdef const uint8_t* _validity(const ArrowArray* array, int64_t buffers) except? NULL:
    """Return the bitmap of an array that has at least so many buffers, or NULL where nothing is null."""
    if array.length < 0 or array.offset < 0 or array.n_buffers < buffers:
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
            at = _integer(array.buffers[1], format, array.offset + i)
            if not 0 <= at < most:
                raise ValueError(f"texts[{first_row + i}]: a malformed Arrow dictionary index")
            rows[i] = at
    return np.append(own_addresses, NO_BYTES)[rows_array], np.append(own_lengths, 0)[rows_array]


cdef _read_texts(const ArrowArray* array, str kind, first_row):
    """Return the addresses and lengths of the texts of an Arrow array that is not dictionary-encoded.

    Offsets must rise from 0; how long the data is, the interface tells for views only.
    """
    cdef const uint8_t* valid = _validity(array, 0 if kind == "nulls" else 3)
    cdef int64_t i, at, n = array.length, start, stop, total = 0
    address_array, length_array = np.full(n, NO_BYTES), np.zeros(n, np.int64)
    cdef uint64_t[::1] addresses = address_array
    cdef int64_t[::1] lengths = length_array
    cdef const void* offsets
    cdef bint narrow
    cdef const uint8_t* data
    cdef const uint8_t* view
    cdef const void* sizes
    if n == 0 or kind == "nulls":
        return address_array, length_array
    if kind == "views":
        sizes = array.buffers[array.n_buffers - 1]
        for i in range(n):
            if not _is_valid(valid, array.offset + i):
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
            if at < 0 or at >= array.n_buffers - 3 or start < 0 or start + total > _int64_at(sizes, at):
                raise ValueError(f"texts[{first_row + i}]: a malformed Arrow view")
            addresses[i] = <uint64_t>(<const uint8_t*>array.buffers[2 + at] + start)
        return address_array, length_array
    offsets, narrow = array.buffers[1], kind == "offsets32"
    data = <const uint8_t*>array.buffers[2]
    for i in range(n):
        at = array.offset + i
        if not _is_valid(valid, at):
            continue
        start = _int32_at(offsets, at) if narrow else _int64_at(offsets, at)
        stop = _int32_at(offsets, at + 1) if narrow else _int64_at(offsets, at + 1)
        if start < 0 or stop < start:
            raise ValueError(f"texts[{first_row + i}]: a malformed Arrow offset")
        addresses[i] = <uint64_t>(data + start)
        lengths[i] = stop - start
    return address_array, length_array


def arrow_column(source):
    """Return an Arrow column as Texts or, where it is one of lists, as (offsets, elements).

    The elements of row i are ``elements[offsets[i]:offsets[i + 1]]``: Texts, referenced in place, or integers mod 2^64,
    uint64. A null row has none.

    Raises
    ------
    TypeError
        If it holds neither texts nor lists of texts or integers, or a list holds a null.
    ValueError
        If it is malformed.
    """
    _refuse_frame(source)
    column = _ArrowColumn(source)
    return _read_lists(column) if column.schema.format.decode() in ("+l", "+L") else Texts(column)


cdef _read_lists(_ArrowColumn column):
    """Return (offsets, elements) of a column of lists."""
    cdef Texts texts
    if column.schema.n_children != 1:
        raise ValueError("a malformed Arrow list: there must be one type of elements")
    cdef const ArrowSchema* item = column.schema.children[0]
    dtype = INTEGERS.get(item.format.decode()) if item.dictionary == NULL else None
    layout = None if dtype is not None else _element_layout(&column.schema, item, column.source)
    wide = column.schema.format.decode() == "+L"
    counts = [np.zeros(0, np.int64)]
    elements = []
    rows = 0
    owners = []
    for chunk in column:
        found = _read_list_chunk(&(<_Chunk>chunk).array, wide, dtype, layout, rows)
        counts.append(found[0])
        elements.append(found[1])
        rows += len(found[0])
        owners.append(chunk)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(np.concatenate(counts), out=offsets[1:])
    if dtype is not None:
        return offsets, np.concatenate([np.zeros(0, np.uint64), *elements])
    texts = Texts.__new__(Texts)
    texts.owners = owners
    texts._join(elements)
    texts._seal()
    return offsets, texts


cdef tuple _element_layout(const ArrowSchema* lists, const ArrowSchema* item, str source):
    """Return the layout of the texts that are elements of lists, as `_layout` does."""
    held = item if item.dictionary == NULL else item.dictionary
    if held.format.decode() not in LAYOUTS:
        raise TypeError(
            f"texts is of type {source}, with {_name_of_type(lists)} values; "
            "pass a column of strings or binary, or of lists of strings, binary or integers"
        )
    return _layout(item, source)


cdef tuple _read_list_chunk(const ArrowArray* array, bint wide, dtype, layout, first_row):
    """Return (the number of each row's elements, the elements) of one array of lists.

    Elements are uint64 where a dtype is given, else (addresses, lengths) as of `_read_texts`.
    """
    cdef const uint8_t* valid = _validity(array, 2)
    cdef int64_t i, at, n = array.length, start, stop, first = 0, last = 0
    cdef ArrowArray part
    if array.n_children != 1 or (n and array.buffers[1] == NULL):
        raise ValueError("a malformed Arrow list: missing elements or offsets")
    start_array, count_array = np.zeros(n, np.int64), np.zeros(n, np.int64)
    cdef int64_t[::1] starts = start_array, counts = count_array
    for i in range(n):
        at = array.offset + i
        start = _int64_at(array.buffers[1], at) if wide else _int32_at(array.buffers[1], at)
        stop = _int64_at(array.buffers[1], at + 1) if wide else _int32_at(array.buffers[1], at + 1)
        if not 0 <= start <= stop <= array.children[0].length:
            raise ValueError(f"texts[{first_row + i}]: a malformed Arrow offset")
        if i == 0:
            first = start
        last = stop
        starts[i] = start
        if _is_valid(valid, at):
            counts[i] = stop - start
    part = array.children[0][0]  # the elements that the rows refer to, which may be few of all
    part.offset, part.length, part.null_count = part.offset + first, last - first, -1 if part.null_count else 0
    ends = np.cumsum(count_array)
    places = slice(None)
    if n and ends[-1] < last - first:  # a null row has elements, too
        places = np.repeat(start_array - first - ends + count_array, count_array) + np.arange(ends[-1], dtype=np.int64)
    if dtype is not None:
        values, nulls = _read_integers(&part, dtype)
        elements, nulls = values[places], nulls[places]
    else:
        addresses, lengths = _read_column(&part, layout, 0)
        elements = addresses[places], lengths[places]
        nulls = elements[0] == NO_BYTES
    if nulls.any():
        row = first_row + int(np.searchsorted(ends, np.argmax(nulls), side="right"))
        raise TypeError(f"texts[{row}] holds a null; elements are str, bytes or int")
    return count_array, elements


cdef tuple _read_integers(const ArrowArray* array, dtype):
    """Return (values mod 2^64, which are null) of an array of integers."""
    cdef const uint8_t* valid = _validity(array, 2)
    cdef int64_t i, n = array.length, size = np.dtype(dtype).itemsize
    null_array = np.zeros(n, np.uint8)
    cdef uint8_t[::1] nulls = null_array
    if n == 0:
        return np.zeros(0, np.uint64), null_array.view(np.bool_)
    if array.buffers[1] == NULL:
        raise ValueError("a malformed Arrow array: missing buffers")
    if valid != NULL:
        for i in range(n):
            nulls[i] = not _is_valid(valid, array.offset + i)
    cdef const uint8_t* memory = <const uint8_t*>array.buffers[1] + array.offset * size
    return np.frombuffer(<const uint8_t[:n * size]>memory, dtype).astype(np.uint64), null_array.view(np.bool_)


cdef enum Unit:
    WORDS
    CHARACTERS


cdef int _shingle(const text_kernels* level, const shingler* how, Unit unit, const uint8_t* text, size_t length,
                  text_walk* walk, uint64_t* out, size_t* made, size_t* bad) except -1 nogil:
    """Write the shingles of one text; made becomes what word_shingles of text.h returns. Long ones can be interrupted."""
    cdef uint64_t last_pause = 0
    text_walk_begin(walk)
    while True:
        if unit == WORDS:
            made[0] = text_word_shingles(level, how, text, length, walk, LONG_BYTES, out, bad)
        else:
            made[0] = text_character_shingles(level, how, text, length, walk, LONG_BYTES, out, bad)
        if made[0] != TEXT_UNFINISHED:
            return 0
        pause(&last_pause)


cdef _shingles(Texts texts, Unit unit, size_t size, seed):
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef Py_ssize_t i = 0, n = len(texts)
    cdef size_t capacity = 0, made = 0, got = 0, bad = 0, done = 0
    cdef hash_key key = _key_of(seed)
    cdef uint64_t last_pause = 0
    cdef shingler how
    cdef const text_kernels* level = kernels()
    cdef text_walk* walk
    if not 1 <= size <= TEXT_MAX_SHINGLE:
        raise ValueError(f"size must be in 1..{TEXT_MAX_SHINGLE}, not {size}")
    for i in range(n):
        capacity = sum_of(capacity, text_most_words(lengths[i]) if unit == WORDS else <size_t>lengths[i])
    offsets_array, tokens_array = np.zeros(n + 1, np.int64), np.empty(capacity + 1, np.uint64)
    cdef int64_t[::1] offsets = offsets_array
    cdef uint64_t[::1] tokens = tokens_array
    walk = <text_walk*>malloc(text_walk_size())
    if walk == NULL:
        raise MemoryError
    try:
        with nogil:
            if unit == WORDS:
                text_shingler_of_words(&how, size, &key)
            else:
                text_shingler_of_characters(&how, size, &key)
            for i in range(n):
                _shingle(level, &how, unit, <const uint8_t*>addresses[i], lengths[i], walk, &tokens[made], &got, &bad)
                if got == SIZE_MAX:
                    break
                made += got
                offsets[i + 1] = <int64_t>made
                done += lengths[i] + 1
                if done >= WORK:
                    done = 0
                    pause(&last_pause)
            else:
                bad = SIZE_MAX
    finally:
        free(walk)
    if bad != SIZE_MAX:
        raise TextError(i, f"not UTF-8 at byte {bad}")
    if made < capacity // 8:
        return offsets_array, tokens_array[:made].copy()  # hardly filled: do not hold all of it
    return offsets_array, tokens_array[:made]


def word_shingles(Texts texts not None, size_t size, seed):
    """Return (offsets, tokens) of the texts' shingles of `size` words; seed is an int or a HashKey."""
    return _shingles(texts, WORDS, size, seed)


def character_shingles(Texts texts not None, size_t size, seed):
    """Return (offsets, tokens) of the texts' shingles of `size` characters; seed is an int or a HashKey."""
    return _shingles(texts, CHARACTERS, size, seed)


def tokens_of_texts(Texts texts not None, seed):
    """Return the token of each text's bytes, uint64 (n,); seed is an int or a HashKey."""
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef const uint8_t* starts[BATCH_TEXTS]
    cdef size_t[BATCH_TEXTS] sizes
    cdef Py_ssize_t i, count, first = 0, n = len(texts)
    cdef uint64_t last_pause = 0
    out_array = np.empty(n, np.uint64)
    cdef uint64_t[::1] out = out_array
    cdef hash_key key = _key_of(seed)
    cdef token_hasher hasher = text_hasher_under(&key)
    with nogil:
        while first < n:
            count = min(n - first, <Py_ssize_t>BATCH_TEXTS)
            for i in range(count):
                starts[i], sizes[i] = <const uint8_t*>addresses[first + i], lengths[first + i]
            kernels().tokens(&hasher, starts, sizes, count, &out[first])
            first += count
            pause(&last_pause)
    return out_array


def tokens_of_integers(const uint64_t[::1] values not None, seed):
    """Return the token of each integer, uint64 (n,); negative ones as two's complement. seed is an int or a HashKey."""
    values = aligned(values)
    out_array = np.empty(len(values), np.uint64)
    cdef uint64_t[::1] out = out_array
    cdef Py_ssize_t n = len(values)
    cdef hash_key key = _key_of(seed)
    if n:
        with nogil:
            text_tokens_of_integers_under(&values[0], n, &key, &out[0])
    return out_array


cdef uint64_t token_of_bytes(const uint8_t* data, size_t length, uint64_t seed) noexcept nogil:
    cdef token_hasher hasher = text_hasher_of(seed)
    return text_token_of_bytes(&hasher, data, length)


cdef size_t scratch_of_shingles() noexcept nogil:
    return (text_walk_size() + sizeof(uint64_t) - 1) // sizeof(uint64_t)


cdef size_t word_tokens(const uint8_t* text, size_t length, size_t size, uint64_t seed, uint64_t* scratch,
                        uint64_t* out) noexcept nogil:
    cdef shingler how
    cdef hash_key key = text_hash_key_of(seed)
    cdef size_t bad
    if size < 1 or size > TEXT_MAX_SHINGLE:
        return SIZE_MAX
    text_shingler_of_words(&how, size, &key)
    text_walk_begin(<text_walk*>scratch)
    return text_word_shingles(kernels(), &how, text, length, <text_walk*>scratch, SIZE_MAX, out, &bad)


cdef size_t character_tokens(const uint8_t* text, size_t length, size_t size, uint64_t seed, uint64_t* scratch,
                             uint64_t* out) noexcept nogil:
    cdef shingler how
    cdef hash_key key = text_hash_key_of(seed)
    cdef size_t bad
    if size < 1 or size > TEXT_MAX_SHINGLE:
        return SIZE_MAX
    text_shingler_of_characters(&how, size, &key)
    text_walk_begin(<text_walk*>scratch)
    return text_character_shingles(kernels(), &how, text, length, <text_walk*>scratch, SIZE_MAX, out, &bad)


cdef void tokens_of_numbers(const uint64_t* values, size_t n, uint64_t seed, uint64_t* out) noexcept nogil:
    text_tokens_of_integers(values, n, seed, out)
