"""Texts from wherever they lie, tokens and shingles: the kernels of the first stage.

`Texts` holds pointers to UTF-8 and keeps their owners alive; nothing is copied but the non-ASCII str objects of a list.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8String
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from collections.abc import Mapping, Set

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, pause, sum_of

from lshfast.kernels.arrow import is_arrow, read_column, read_texts, read_texts_in_parts

# A name, as Cython takes an error of `isinstance` for a yes where the classes are listed.
_WITHOUT_ORDER = (Mapping, Set)

cdef extern from "Python.h":
    int PyUnicode_IS_COMPACT_ASCII(object)
    void* PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)

cdef extern from "text/text.h":
    const size_t TEXT_MAX_SHINGLE
    const size_t SIZE_MAX
    struct hash_key:
        uint64_t bytes, words, characters, integers
    struct token_hasher:
        pass
    struct text_stops:
        pass
    struct shingler:
        int keep_case
        const text_stops* stops
    const size_t TEXT_MAX_STOPS
    size_t text_stops_places(size_t) nogil
    void text_stops_of(text_stops*, uint64_t*, const uint64_t*, size_t) nogil
    struct text_kernels:
        void (*tokens)(const token_hasher*, const uint64_t*, const int64_t*, size_t, uint64_t*) noexcept nogil
    const text_kernels** text_levels
    hash_key text_hash_key_of(uint64_t seed) nogil
    token_hasher text_hasher_of(uint64_t seed) nogil
    token_hasher text_hasher_under(const hash_key*) nogil
    uint64_t text_token_of_bytes(const token_hasher*, const uint8_t*, size_t) nogil
    void text_two_tokens_of_bytes(const token_hasher*, const uint8_t*, size_t, uint64_t*) nogil
    void text_tokens_of_integers(const uint64_t*, size_t, uint64_t, uint64_t*) nogil
    void text_tokens_of_integers_under(const uint64_t*, size_t, const hash_key*, uint64_t*) nogil
    void text_shingler_of_words(shingler*, size_t, const hash_key*) nogil
    void text_shingler_of_symbols(shingler*, size_t, const hash_key*) nogil
    void text_shingler_of_characters(shingler*, size_t, const hash_key*) nogil
    size_t text_most_words(size_t) nogil
    const size_t TEXT_UNFINISHED
    struct text_walk:
        pass
    struct text_mark:
        size_t at
    const size_t TEXT_LEAST_SHARED
    void text_prefetch(const uint8_t*, size_t) nogil
    size_t text_shared(const uint8_t*, size_t, const uint8_t*, size_t) nogil
    size_t text_cut_words(const uint8_t*, size_t) nogil
    size_t text_cut_characters(const uint8_t*, size_t) nogil
    void text_walk_mark(const text_walk*, int, text_mark*) nogil
    void text_walk_resume(text_walk*, int, const text_mark*, const uint64_t*, uint64_t*) nogil
    size_t text_walk_size() nogil
    void text_walk_begin(text_walk*) nogil
    size_t text_word_shingles(const text_kernels*, const shingler*, const uint8_t*, size_t, text_walk*, size_t,
                              uint64_t*, size_t*) nogil
    size_t text_character_shingles(const text_kernels*, const shingler*, const uint8_t*, size_t,
                                   text_walk*, size_t, uint64_t*, size_t*) nogil

cdef extern from "text/samples.h":
    void text_words_at(const uint8_t*, size_t, const uint64_t*, size_t, uint64_t*) nogil

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil

cdef extern from "field.h":
    const uint64_t P61

cdef const int* in_use = level_in_use()


cdef inline const text_kernels* kernels() noexcept nogil:
    return text_levels[in_use[0]]


cdef enum:
    LONG_BYTES = 4 * WORK  # bytes of a text that is shingled step by step
    BATCH_TEXTS = 1024  # texts whose tokens are made between two calls of pause()

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

    def __cinit__(self, uint64_t bytes, uint64_t words, uint64_t characters, uint64_t integers):
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


cdef class Texts:
    """A column of UTF-8 texts, wherever they lie.

    Built from a sequence of str or bytes, a numpy array of them, or anything with the Arrow C interface
    (a pyarrow, polars or pandas column of strings, large strings, string views or binary, dictionary-encoded or not; or
    a table of one such column, such as a relation of DuckDB).
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
        if isinstance(source, _WITHOUT_ORDER):
            raise TypeError(f"texts must be a column of texts in order, not {type(source).__name__}")
        _refuse_frame(source)
        self.owners = []
        if isinstance(source, Texts):
            other = <Texts>source
            self.addresses, self.lengths, self.owners = other.addresses, other.lengths, other.owners
        elif not isinstance(source, (list, tuple)) and is_arrow(source):
            self.addresses, self.lengths, self.owners = read_texts(source)
        else:
            self._read_objects(source)
        self._seal()

    cdef _seal(self):
        """Keep the addresses from being written: kernels follow them."""
        self.addresses.flags.writeable = self.lengths.flags.writeable = False
        self.addresses, self.lengths = self.addresses.view(), self.lengths.view()  # whose flags cannot be raised again

    def __reduce__(self):
        return Texts, (list(self),)

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
        addresses, lengths = (np.ascontiguousarray(column[rows]) for column in (self.addresses, self.lengths))
        return _texts_at(addresses, lengths, self.owners)

    def packed(self):
        """Return the bytes of all texts, one text behind the other."""
        cdef const uint64_t[::1] addresses = self.addresses
        cdef const int64_t[::1] lengths = self.lengths
        cdef bytes out = PyBytes_FromStringAndSize(NULL, self.nbytes)
        cdef char* place = PyBytes_AS_STRING(out)
        cdef Py_ssize_t i
        with nogil:
            for i in range(lengths.shape[0]):
                if lengths[i]:
                    memcpy(place, <const void*>addresses[i], lengths[i])
                    place += lengths[i]
        return out

    def equal(self, const int64_t[::1] left not None, const int64_t[::1] right not None):
        """Tell which texts left[i] and right[i] have the same bytes, bool (m,)."""
        left, right = aligned(left), aligned(right)
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
        parts = list(map(Texts, parts)) or [Texts([])]
        return _texts_at(
            np.concatenate([(<Texts>part).addresses for part in parts]),
            np.concatenate([(<Texts>part).lengths for part in parts]),
            [(<Texts>part).owners for part in parts],
        )

    @staticmethod
    def of_buffer(const uint8_t[::1] data not None, const int64_t[::1] offsets not None):
        """Return the texts data[offsets[i]:offsets[i + 1]] of a buffer in place, which must not change."""
        offsets = aligned(offsets)
        cdef size_t n = len(offsets) - 1 if len(offsets) else 0
        if len(offsets) == 0 or not rows_are_valid(&offsets[0], n, len(data)):
            raise ValueError(f"offsets must rise from 0 to at most {len(data)}")
        starts = np.asarray(offsets)
        lengths = np.diff(starts)
        addresses = starts[:-1].astype(np.uint64) + np.uint64(<uint64_t>&data[0] if len(data) else 0)
        addresses[lengths == 0] = NO_BYTES
        return _texts_at(addresses, lengths, [data])

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


cdef bint _is_null(value):
    """Tell None, NaN, and the NA and NaT of pandas."""
    if isinstance(value, (float, np.floating)):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")


cdef _refuse_frame(source):
    """Raise TypeError, and say how to take a column, where this is a data frame of several columns."""
    kind = type(source)
    if not (hasattr(kind, "columns") or hasattr(kind, "column_names")):
        return
    if hasattr(kind, "collect") and hasattr(kind, "collect_schema"):
        raise TypeError(
            f"texts is of type {kind.__name__}, which holds no rows yet; collect it and pass one column, such as "
            "df.collect()['text']"
        )
    names = list(getattr(source, "column_names", None) or getattr(source, "columns", ()))
    if len(names) == 1 and hasattr(kind, "__arrow_c_stream__"):
        return
    column = "text" if "text" in names or not names else names[0]
    raise TypeError(f"texts is of type {kind.__name__}; pass one column of it, such as df[{column!r}]")


def arrow_column(source, one_length=False):
    """Return an Arrow column as Texts or, where it is one of lists, as (offsets, elements).

    The elements of row i are ``elements[offsets[i]:offsets[i + 1]]``: Texts, referenced in place, or integers of the
    type of the column. A null row has none. Lists whose type says their length are read if `one_length`.

    Raises
    ------
    TypeError
        If it holds neither texts nor lists of texts or integers, or a list holds a null.
    ValueError
        If it is malformed.
    """
    _refuse_frame(source)
    offsets, elements = read_column(source, one_length)
    if isinstance(elements, tuple):
        addresses, lengths, owners = elements
        elements = _texts_at(addresses, lengths, owners)
    return elements if offsets is None else (offsets, elements)


cdef Texts _texts_at(addresses, lengths, owners):
    """Return the texts at some addresses, whose memory the owners hold."""
    cdef Texts texts = Texts.__new__(Texts)
    texts.addresses, texts.lengths, texts.owners = addresses, lengths, owners
    texts._seal()
    return texts


def texts_in_parts(source, Py_ssize_t rows):
    """Yield the `Texts` of a source in parts of at most `rows` > 0 rows, so that addresses of all rows are not held.

    Of a dictionary-encoded Arrow column, a part has the rows of a chunk.
    """
    if isinstance(source, (Texts, list, tuple)) or not is_arrow(source):
        texts = Texts(source)
        for start in range(0, len(texts), rows):
            yield texts.take(slice(start, start + rows))
        return
    _refuse_frame(source)
    for addresses, lengths, owners in read_texts_in_parts(source, rows):
        yield _texts_at(addresses, lengths, owners)


cdef enum Unit:
    WORDS
    SYMBOLS
    CHARACTERS


cdef struct Run:  # texts that are shingled one after the other
    const text_kernels* level
    shingler how
    Unit unit
    text_walk* walk
    text_mark mark  # in the text before
    size_t bad


cdef size_t _walk(Run* run, const uint8_t* text, size_t length, uint64_t* out) except? 0 nogil:
    """Continue with the walk of a text, and return what word_shingles of text.h returns. Long ones can be interrupted."""
    cdef uint64_t last_pause = 0
    cdef size_t made
    while True:
        if run.unit != CHARACTERS:
            made = text_word_shingles(run.level, &run.how, text, length, run.walk, LONG_BYTES, out, &run.bad)
        else:
            made = text_character_shingles(run.level, &run.how, text, length, run.walk, LONG_BYTES, out, &run.bad)
        if made != TEXT_UNFINISHED:
            return made
        pause(&last_pause)


cdef size_t _shingle(Run* run, const uint8_t* text, size_t length, size_t shared, const uint64_t* before,
                     uint64_t* out) except? 0 nogil:
    """Write the shingles of one text, which begins with `shared` bytes of the text whose shingles are `before`."""
    cdef bint words = run.unit != CHARACTERS
    cdef size_t done = 0, cut
    if run.mark.at > shared:
        run.mark.at = 0
    if run.mark.at:
        text_walk_resume(run.walk, words, &run.mark, before, out)
        done = run.mark.at
    else:
        text_walk_begin(run.walk)
    if shared - done >= TEXT_LEAST_SHARED:
        cut = text_cut_words(text, shared) if words else text_cut_characters(text, shared)
        if cut > done:
            if _walk(run, text, cut, out) == SIZE_MAX:
                return SIZE_MAX
            text_walk_mark(run.walk, words, &run.mark)
    return _walk(run, text, length, out)


cdef uint64_t* _stops_of(text_stops* stops, Texts words, seed) except NULL:
    """Make the table of the words of some texts, in memory that the caller frees."""
    tokens_array = _shingles(words, WORDS, 1, seed)[1]
    cdef const uint64_t[::1] tokens = tokens_array
    cdef size_t n = len(tokens)
    if not 1 <= n <= TEXT_MAX_STOPS:
        raise ValueError(f"stop words must be 1 to {TEXT_MAX_STOPS} words, not {n}")
    cdef uint64_t* places = <uint64_t*>malloc(text_stops_places(n) * sizeof(uint64_t))
    if places == NULL:
        raise MemoryError
    text_stops_of(stops, places, &tokens[0], n)
    return places


cdef _shingles(Texts texts, Unit unit, size_t size, seed, Texts stop_words=None, bint lowercase=True):
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef Py_ssize_t i = 0, n = len(texts)
    cdef size_t capacity = 0, made = 0, got = 0, before = 0, done = 0, shared
    cdef hash_key key = _key_of(seed)
    cdef uint64_t last_pause = 0
    cdef const uint8_t* text
    cdef const uint8_t* last = NULL
    cdef Run run
    cdef text_stops stops
    cdef uint64_t* places = NULL
    run.level, run.unit, run.mark.at, run.bad = kernels(), unit, 0, SIZE_MAX
    if not 1 <= size <= TEXT_MAX_SHINGLE:
        raise ValueError(f"size must be in 1..{TEXT_MAX_SHINGLE}, not {size}")
    for i in range(n):
        capacity = sum_of(capacity, text_most_words(lengths[i]) if unit == WORDS else <size_t>lengths[i])
    offsets_array, tokens_array = np.zeros(n + 1, np.int64), np.empty(capacity + 1, np.uint64)
    cdef int64_t[::1] offsets = offsets_array
    cdef uint64_t[::1] tokens = tokens_array
    if stop_words is not None:
        places = _stops_of(&stops, stop_words, seed)
    run.walk = <text_walk*>malloc(text_walk_size())
    try:
        if run.walk == NULL:
            raise MemoryError
        with nogil:
            if unit == WORDS:
                text_shingler_of_words(&run.how, size, &key)
            elif unit == SYMBOLS:
                text_shingler_of_symbols(&run.how, size, &key)
            else:
                text_shingler_of_characters(&run.how, size, &key)
            run.how.keep_case = not lowercase
            if places != NULL:
                run.how.stops = &stops
            for i in range(n):
                text = <const uint8_t*>addresses[i]
                shared = 0 if last == NULL else text_shared(last, lengths[i - 1], text, lengths[i])
                if i + 1 < n and shared >= TEXT_LEAST_SHARED:
                    text_prefetch(<const uint8_t*>addresses[i + 1], lengths[i + 1])
                got = _shingle(&run, text, lengths[i], shared, &tokens[before], &tokens[made])
                if got == SIZE_MAX:
                    break
                before, last = made, text
                made += got
                offsets[i + 1] = <int64_t>made
                done += lengths[i] + 1
                if done >= WORK:
                    done = 0
                    pause(&last_pause)
    finally:
        free(run.walk)
        free(places)
    if run.bad != SIZE_MAX:
        raise TextError(i, f"not UTF-8 at byte {run.bad}")
    if made < capacity // 8:
        return offsets_array, tokens_array[:made].copy()  # hardly filled: do not hold all of it
    return offsets_array, tokens_array[:made]


def word_shingles(Texts texts not None, size_t size, seed, bint lowercase=True):
    """Return (offsets, tokens) of the texts' shingles of `size` words; seed is an int or a HashKey."""
    return _shingles(texts, WORDS, size, seed, None, lowercase)


def stop_word_shingles(Texts texts not None, Texts stop_words not None, size_t size, seed):
    """Return (offsets, tokens) of those shingles of `size` words of which the first is a word of `stop_words`.

    A word near the end, with fewer than size - 1 words behind it, begins no shingle. seed is an int or a HashKey.
    """
    return _shingles(texts, WORDS, size, seed, stop_words)


def symbol_shingles(Texts texts not None, size_t size, seed, bint lowercase=True):
    """Return (offsets, tokens) of the texts' shingles of `size` symbols; seed is an int or a HashKey.

    A symbol is a word, or another character than white space.
    """
    return _shingles(texts, SYMBOLS, size, seed, None, lowercase)


def character_shingles(Texts texts not None, size_t size, seed, bint lowercase=True):
    """Return (offsets, tokens) of the texts' shingles of `size` characters; seed is an int or a HashKey."""
    return _shingles(texts, CHARACTERS, size, seed, None, lowercase)


def tokens_of_texts(Texts texts not None, seed):
    """Return the token of each text's bytes, uint64 (n,); seed is an int or a HashKey."""
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef Py_ssize_t count, first = 0, n = len(texts)
    cdef uint64_t last_pause = 0
    out_array = np.empty(n, np.uint64)
    cdef uint64_t[::1] out = out_array
    cdef hash_key key = _key_of(seed)
    cdef token_hasher hasher = text_hasher_under(&key)
    with nogil:
        while first < n:
            count = min(n - first, <Py_ssize_t>BATCH_TEXTS)
            kernels().tokens(&hasher, &addresses[first], &lengths[first], count, &out[first])
            first += count
            pause(&last_pause)
    return out_array


def words_at(Texts texts not None, const uint64_t[::1] points not None):
    """Return words of 8 bytes of each text, uint64 (n, m): at one place for each point, the same in texts of one length.

    Texts of at most 8 m bytes are read as a whole; samples.h says at which places others are read.
    """
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    points = aligned(points)
    cdef size_t i, m = len(points), n = len(lengths), done = 0
    cdef uint64_t last_pause = 0
    if not m:
        raise ValueError("points must be at least one")
    out_array = np.empty((n, m), np.uint64)
    cdef uint64_t[:, ::1] out = out_array
    with nogil:
        for i in range(n):
            text_words_at(<const uint8_t*>addresses[i], lengths[i], &points[0], m, &out[i, 0])
            done += m
            if done >= WORK:
                done = 0
                pause(&last_pause)
    return out_array


def two_tokens_of_texts(Texts texts not None, seed, other):
    """Return the tokens of each text's bytes under two seeds or HashKeys, uint64 (n, 2)."""
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef Py_ssize_t i, n = len(texts)
    cdef size_t done = 0
    cdef uint64_t last_pause = 0
    cdef token_hasher[2] hashers
    cdef hash_key key = _key_of(seed)
    hashers[0] = text_hasher_under(&key)
    key = _key_of(other)
    hashers[1] = text_hasher_under(&key)
    out_array = np.empty((n, 2), np.uint64)
    if n == 0:
        return out_array
    cdef uint64_t[:, ::1] out_rows = out_array
    cdef uint64_t* out = &out_rows[0, 0]
    with nogil:
        for i in range(n):
            text_two_tokens_of_bytes(hashers, <const uint8_t*>addresses[i], lengths[i], out + 2 * i)
            done += lengths[i] + 1
            if done >= WORK:
                done = 0
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
