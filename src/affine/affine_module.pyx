"""What datasketch's sketches are made of: SHA-1 of tokens, the permutations of its three schemes, equal slots."""

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_AsUTF8String
from libc.stdint cimport SIZE_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from lshfast.kernels.cpu cimport has_sha, level_in_use
from lshfast.kernels.guards cimport FREE_THREADED, WORK, aligned, check_out, pause, product_of, sum_of

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object)
    bint is_bytes "PyBytes_CheckExact"(PyObject*)
    const char* start_of "PyBytes_AS_STRING"(PyObject*)
    size_t length_of "PyBytes_GET_SIZE"(PyObject*)
    bint is_str "PyUnicode_CheckExact"(PyObject*)
    bint is_ascii "PyUnicode_IS_COMPACT_ASCII"(PyObject*)
    const void* text_of "PyUnicode_DATA"(PyObject*)
    size_t characters_of "PyUnicode_GET_LENGTH"(PyObject*)
    int PyLong_CheckExact(object)
    int PyUnicode_Check(object)
    int PyUnicode_IS_COMPACT_ASCII(object)
    void* PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(object) except? 0xFFFFFFFFFFFFFFFF

cdef extern from "field.h":
    uint64_t mix64(uint64_t) nogil

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil

cdef extern from "text/text.h":
    struct token_hasher:
        pass
    struct text_kernels:
        void (*tokens)(const token_hasher*, const uint64_t*, const int64_t*, size_t, uint64_t*) noexcept nogil
    const text_kernels** text_levels
    token_hasher text_hasher_of(uint64_t seed) nogil
    uint64_t text_token_of_bytes(const token_hasher*, const uint8_t*, size_t) nogil
    void text_tokens_of_integers(const uint64_t*, size_t, uint64_t, uint64_t*) nogil

cdef extern from "affine/sha1.h":
    ctypedef void sha1_compressor(uint32_t*, const uint8_t*, size_t) noexcept nogil
    struct sha1_kernels:
        sha1_compressor* compress
    const sha1_kernels** sha1_levels
    uint64_t sha1_head(sha1_compressor*, const uint8_t*, size_t) nogil
    void sha1_heads(const sha1_kernels*, const uint8_t**, const size_t*, size_t, uint64_t*) nogil

cdef extern from "sketch/sketch.h":
    const size_t SKETCH_CLASSIC_LANES
    const size_t SKETCH_MAX_SLOTS
    struct sketch_kernels:
        pass
    const sketch_kernels** sketch_levels
    size_t sketch_fast_rounds(size_t k) nogil

cdef extern from "affine/affine.h":
    struct affine_kernels:
        void (*affine32)(const uint64_t*, size_t, const uint32_t*, const uint32_t*, size_t, uint32_t*) noexcept nogil
        void (*affine64)(const uint64_t*, size_t, const uint64_t*, const uint64_t*, size_t, uint64_t*) noexcept nogil
        void (*legacy)(const uint64_t*, size_t, const uint64_t*, const uint64_t*, size_t, uint64_t*) noexcept nogil
    const affine_kernels** affine_levels

cdef extern from "slots/slots.h":
    struct slots_kernels:
        size_t (*equal32)(const uint32_t*, const uint32_t*, size_t) noexcept nogil
        size_t (*equal64)(const uint64_t*, const uint64_t*, size_t) noexcept nogil
    const slots_kernels** slots_levels

cdef extern from "affine/update.h":
    enum update_scheme:
        UPDATE_AFFINE32, UPDATE_AFFINE64, UPDATE_LEGACY, UPDATE_CLASSIC, UPDATE_FAST
    struct update_functions:
        update_scheme scheme
        size_t k
        const void* first
        const void* second
    struct update_kernels:
        const affine_kernels* affine
        const sketch_kernels* sketch
    void update_signature(const update_kernels*, const update_functions*, const uint64_t*, size_t, void*) nogil

cdef const int* in_use = level_in_use()
cdef bint sha = has_sha()

cdef enum:
    STRETCH_TOKENS = 256  # tokens whose places are noted before they are hashed
    PIECE_TOKENS = 1 << 14  # tokens hashed between two calls of pause()
    LONG_HASHES = 1024  # hashes at a time that are worth giving the interpreter lock away


cdef inline const sha1_kernels* hashing() noexcept nogil:
    return &sha1_levels[sha][in_use[0]]


cdef inline void _update(const update_functions* how, const uint64_t* hashes, size_t n, void* values) noexcept nogil:
    cdef update_kernels kernels
    kernels.affine, kernels.sketch = affine_levels[in_use[0]], sketch_levels[in_use[0]]
    update_signature(&kernels, how, hashes, n, values)


# ---- tokens ----


cdef int _open(object token, Py_buffer* view) except -1:
    """Open the bytes of a token that is anything hashlib takes."""
    if isinstance(token, str):
        raise TypeError("a str must be encoded before it is hashed")
    if not PyObject_CheckBuffer(token):
        raise TypeError(f"tokens must be bytes-like, not {type(token).__name__}")
    PyObject_GetBuffer(token, view, PyBUF_SIMPLE)
    if view.ndim > 1:
        ndim = view.ndim
        PyBuffer_Release(view)
        raise BufferError(f"a token must have one dimension, not {ndim}")
    return 0


cdef uint64_t _head(object token) except? 0:
    cdef Py_buffer view
    cdef uint64_t head
    if PyBytes_CheckExact(token):
        return sha1_head(hashing().compress, <const uint8_t*>PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))
    _open(token, &view)
    head = sha1_head(hashing().compress, <const uint8_t*>view.buf, view.len)
    PyBuffer_Release(&view)
    return head


def sha1_hash32(data):
    """Return the first 4 bytes of the SHA-1 of some bytes as a little-endian number.

    See Also
    --------
    lshfast.datasketch.sha1_hash64 : The 64-bit hash.
    """
    return <uint32_t>_head(data)


def sha1_hash64(data):
    """Return the first 8 bytes of the SHA-1 of some bytes as a little-endian number.

    See Also
    --------
    lshfast.datasketch.sha1_hash32 : The 32-bit hash.
    """
    return _head(data)


cdef uint64_t _mask(int bits) except 0:
    if bits not in (32, 64):
        raise ValueError(f"bits must be 32 or 64, not {bits}")
    return 0xFFFFFFFF if bits == 32 else 0xFFFFFFFFFFFFFFFF


cdef int _heads(tuple tokens, uint64_t mask, uint64_t* out) except -1:
    """Write the hash of each token: those of bytes a stretch at a time, and those of others one by one."""
    cdef const uint8_t* starts[STRETCH_TOKENS]
    cdef size_t[STRETCH_TOKENS] lengths
    cdef PyObject** items = PySequence_Fast_ITEMS(tokens)
    cdef size_t i, count, first = 0, n = len(tokens)
    cdef uint64_t last_pause = 0
    cdef bint others
    while first < n:
        count = min(n - first, <size_t>STRETCH_TOKENS)
        others = False
        for i in range(count):
            if is_bytes(items[first + i]):
                starts[i] = <const uint8_t*>start_of(items[first + i])
                lengths[i] = length_of(items[first + i])
            else:
                others, starts[i], lengths[i] = True, NULL, 0
        sha1_heads(hashing(), starts, lengths, count, out + first)
        for i in range(first, first + count):
            if others and not is_bytes(items[i]):
                out[i] = _head(<object>items[i])
            out[i] &= mask
        first += count
        if first < n:
            pause(&last_pause)
    return 0


def sha1(tokens not None, int bits):
    """Return sha1_hash32 or sha1_hash64 of each token, uint64 (n,)."""
    cdef tuple held = tuple(tokens)
    out_array = np.empty(len(held), np.uint64)
    cdef uint64_t[::1] out = out_array
    _heads(held, _mask(bits), &out[0] if len(held) else NULL)
    return out_array


cdef tuple _kept(object tokens):
    """Return a tuple of bytes-like tokens as bytes: copies, except of those that cannot change."""
    cdef tuple held = tuple(tokens)
    cdef PyObject** items = PySequence_Fast_ITEMS(held)
    cdef Py_ssize_t i
    for i in range(len(held)):
        if not is_bytes(items[i]):
            kept = []
            for token in held:
                kept.append(token if PyBytes_CheckExact(token) else _bytes_of(token))
            return tuple(kept)
    return held


cdef bytes _bytes_of(object token):
    cdef Py_buffer view
    _open(token, &view)
    try:
        return (<const char*>view.buf)[:view.len] if view.len else b""
    finally:
        PyBuffer_Release(&view)


@cython.auto_pickle(False)
cdef class Tokens:
    """Rows of bytes-like tokens whose bytes lie where they lie, or are copied if they can change. Immutable.

    Of an iterator no more rows are taken than it takes to have `size` tokens or rows. `offsets`, int64 (n + 1,), says
    where each row begins.
    """
    cdef list owners
    cdef const uint8_t** starts
    cdef size_t* lengths
    cdef size_t count, room
    cdef readonly object offsets

    def __cinit__(self, rows, size_t size=SIZE_MAX):
        cdef list offsets = [0]
        self.owners = []
        for row in rows:
            self._add(_kept(row))
            offsets.append(self.count)
            if self.count >= size or <size_t>len(self.owners) >= size:
                break
        self.offsets = np.array(offsets, np.int64)
        self.offsets.flags.writeable = False

    cdef int _add(self, tuple row) except -1:
        cdef PyObject** items = PySequence_Fast_ITEMS(row)
        cdef size_t i, n = len(row)
        cdef size_t wanted = sum_of(self.count, n)
        cdef void* larger
        if wanted > self.room:
            wanted = product_of(wanted, 2)
            larger = realloc(self.starts, product_of(wanted, sizeof(uint8_t*)))
            if larger == NULL:
                raise MemoryError
            self.starts = <const uint8_t**>larger
            larger = realloc(self.lengths, product_of(wanted, sizeof(size_t)))
            if larger == NULL:
                raise MemoryError
            self.lengths, self.room = <size_t*>larger, wanted
        for i in range(n):
            self.starts[self.count + i] = <const uint8_t*>start_of(items[i])
            self.lengths[self.count + i] = length_of(items[i])
        self.count += n
        self.owners.append(row)
        return 0

    def __dealloc__(self):
        free(self.starts)
        free(self.lengths)

    def __len__(self):
        return len(self.offsets) - 1

    def sha1(self, int bits):
        """Return sha1_hash32 or sha1_hash64 of each token of all rows, uint64 (m,)."""
        cdef uint64_t mask = _mask(bits)
        out_array = np.empty(self.count, np.uint64)
        cdef uint64_t[::1] out = out_array
        cdef size_t i, at = 0, some
        cdef uint64_t last_pause = 0
        with nogil:
            while at < self.count:
                some = min(self.count - at, <size_t>PIECE_TOKENS)
                sha1_heads(hashing(), self.starts + at, self.lengths + at, some, &out[at])
                at += some
                pause(&last_pause)
            for i in range(self.count):
                out[i] &= mask
        return out_array


cdef bint _native(object token, const token_hasher* hasher, uint64_t seed, uint64_t* out) except -1:
    """Write the token of a str, bytes or int and return 1, or 0 where it is something else or out of range."""
    cdef uint64_t number
    cdef long long integer
    cdef int overflow
    if PyBytes_Check(token):
        out[0] = text_token_of_bytes(hasher, <const uint8_t*>PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))
    elif PyUnicode_Check(token):
        if PyUnicode_IS_COMPACT_ASCII(token):
            out[0] = text_token_of_bytes(hasher, <const uint8_t*>PyUnicode_DATA(token), PyUnicode_GET_LENGTH(token))
            return True
        try:
            encoded = PyUnicode_AsUTF8String(token)
        except UnicodeEncodeError:
            return False
        out[0] = text_token_of_bytes(hasher, <const uint8_t*>PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded))
    elif PyLong_CheckExact(token):
        integer = PyLong_AsLongLongAndOverflow(token, &overflow)
        if overflow < 0:
            return False
        # The bits of a negative integer are those of a large one, so they are mixed (lshfast/_common/elements.py).
        number = mix64(<uint64_t>integer) if integer < 0 else <uint64_t>integer
        if overflow > 0:
            try:
                number = PyLong_AsUnsignedLongLong(token)
            except OverflowError:
                return False
        text_tokens_of_integers(&number, 1, seed, out)
    else:
        return False
    return True


def native_hash(token, uint64_t seed):
    """Return what `native` is of one token, as an int, or None."""
    cdef token_hasher hasher = text_hasher_of(seed)
    cdef uint64_t found
    return found if _native(token, &hasher, seed, &found) else None


def native(tokens not None, uint64_t seed):
    """Return the tokens that TokenSets.from_sets makes of str, bytes and int, uint64 (n,), or None if others occur."""
    cdef tuple held = tuple(tokens)
    out_array = np.empty(len(held), np.uint64)
    cdef uint64_t[::1] out = out_array
    return out_array if _natives(held, len(held), seed, &out[0] if len(held) else NULL) else None


@cython.auto_pickle(False)
cdef class NativeRows:
    """Rows of tokens, hashed as `native` does when they are added, one thread at a time."""
    cdef object array
    cdef uint64_t* hashes
    cdef size_t count, room
    cdef uint64_t seed
    cdef list offsets

    def __cinit__(self, uint64_t seed):
        self.seed = seed
        self.offsets = [0]
        self.array = np.empty(0, np.uint64)

    def __len__(self):
        return len(self.offsets) - 1

    @property
    def size(self):
        """The number of tokens."""
        return self.count

    cdef int _make_room(self, size_t n) except -1:
        cdef uint64_t[::1] larger
        cdef size_t wanted = sum_of(self.count, n)
        if wanted > self.room:
            wanted = product_of(wanted, 2)
            array = np.empty(wanted, np.uint64)
            larger = array
            if self.count:
                memcpy(&larger[0], self.hashes, self.count * sizeof(uint64_t))
            self.array, self.hashes, self.room = array, &larger[0], wanted
        return 0

    def fill(self, rows not None, size_t size):
        """Add rows of an iterator until there are `size` tokens or rows.

        Return the row it ends at if `native` cannot hash that, which is a list, str, bytes or array, and else None.
        """
        cdef Py_ssize_t n
        while self.count < size and <size_t>len(self.offsets) <= size:
            try:
                row = next(rows)
            except StopIteration:
                break
            if type(row) is not list:
                if isinstance(row, (str, bytes, np.ndarray)):
                    return row
                row = list(row)
            held = _unchanging(row)
            n = len(held)
            self._make_room(n)
            if not _natives(held, n, self.seed, self.hashes + self.count):
                return row
            self.count += n
            self.offsets.append(self.count)
        return None

    def add_hashes(self, const uint64_t[::1] row not None):
        """Add a row of hashes that others made."""
        row = aligned(row)
        self._make_room(len(row))
        if len(row):
            memcpy(self.hashes + self.count, &row[0], len(row) * sizeof(uint64_t))
        self.count += len(row)
        self.offsets.append(self.count)

    def rows(self):
        """Return (offsets, hashes) of all rows, which rows that are added later do not change."""
        return np.array(self.offsets, np.int64), self.array[:self.count]


cdef object _unchanging(object tokens):
    """Return a list or tuple of tokens that `_natives` can read."""
    return tokens if isinstance(tokens, list) and not FREE_THREADED else tuple(tokens)


cdef bint _natives(object tokens, Py_ssize_t n, uint64_t seed, uint64_t* out) except -1:
    """Write the tokens of the n elements of what `_unchanging` returned.

    Nothing here runs Python, which might change a list. Without an interpreter lock any thread might: there it is a tuple.
    """
    cdef uint64_t[STRETCH_TOKENS] addresses
    cdef int64_t[STRETCH_TOKENS] lengths
    cdef token_hasher hasher = text_hasher_of(seed)
    cdef PyObject** items = PySequence_Fast_ITEMS(tokens)
    cdef Py_ssize_t i, count, others, first = 0
    while first < n:
        count, others = min(n - first, <Py_ssize_t>STRETCH_TOKENS), 0
        for i in range(count):
            if not _place(items[first + i], &addresses[i], &lengths[i]):
                addresses[i], lengths[i] = 0, 0
                others += 1
        if others < count:
            text_levels[in_use[0]].tokens(&hasher, addresses, lengths, count, out + first)
        for i in range(first, first + count if others else first):
            if addresses[i - first] == 0 and not _native(<object>items[i], &hasher, seed, &out[i]):
                return False
        first += count
    return True


cdef inline bint _place(PyObject* token, uint64_t* address, int64_t* length) noexcept:
    """Tell where the bytes of a token lie, and whether they lie anywhere: those of bytes and of ASCII str do."""
    if is_bytes(token):
        address[0], length[0] = <uint64_t>start_of(token), length_of(token)
        return True
    if is_str(token) and is_ascii(token):
        address[0], length[0] = <uint64_t>text_of(token), characters_of(token)
        return True
    return False


# ---- hash values ----

SCHEMES = {
    "affine32": UPDATE_AFFINE32,
    "affine64": UPDATE_AFFINE64,
    "legacy": UPDATE_LEGACY,
    "classic": UPDATE_CLASSIC,
    "fast": UPDATE_FAST,
}


cdef bint _is_unsigned(const Py_buffer* view, size_t width) noexcept:
    """Tell whether what is open, with its format, is aligned unsigned integers of so many bytes."""
    return (view.format != NULL and view.format[0] in (b"I", b"L", b"Q") and view.format[1] == 0
            and <size_t>view.itemsize == width and <size_t>view.buf % width == 0)


@cython.auto_pickle(False)
cdef class Functions:
    """The k functions of a scheme, which lower hash values by hashes. Immutable, and safe to share between threads.

    first and second are the multipliers and summands of the affine schemes, (k,), uint32 for affine32 and else uint64;
    those of classic_constants(seed, k); or the rounds and slots of fast_constants(seed, k). Values, (k,) or (n, k),
    have the type of the multipliers, uint64 for classic and fast.

    affine32 reads 32 bits of a hash and gives a mixed32(hash) + b mod 2^32; affine64 a mixed64(hash) + b mod 2^64;
    legacy (a hash + b mod 2^64) mod 2^61 - 1 mod 2^32; classic and fast take hashes for tokens.
    """
    cdef update_functions held
    cdef size_t width
    cdef readonly object first, second

    def __cinit__(self, str scheme not None, size_t k, first not None, second not None):
        cdef const uint32_t[::1] a32, b32
        cdef const uint64_t[::1] a64, b64
        cdef size_t count, other
        if k < 1:
            raise ValueError("k must be at least 1, not 0")
        self.held.scheme = SCHEMES[scheme]
        self.held.k = k
        self.width = 4 if scheme == "affine32" else 8
        if scheme == "affine32":
            a32, b32 = first, second
            a32, b32 = aligned(a32), aligned(b32)
            count, other = len(a32), len(b32)
        else:
            a64, b64 = first, second
            a64, b64 = aligned(a64), aligned(b64)
            count, other = len(a64), len(b64)
        if scheme in ("classic", "fast") and k > SKETCH_MAX_SLOTS:
            raise ValueError(f"k must be in 1..{SKETCH_MAX_SLOTS}, not {k}")
        needed = (-(-k // SKETCH_CLASSIC_LANES) * SKETCH_CLASSIC_LANES,) * 2 if scheme == "classic" else (k, k)
        if scheme == "fast":
            needed = sketch_fast_rounds(k), k
        if (count, other) != needed:
            raise ValueError(f"{scheme} of {k} functions takes {needed} constants, not {(count, other)}")
        if scheme == "affine32":
            self.first, self.second, self.held.first, self.held.second = a32, b32, &a32[0], &b32[0]
        else:
            self.first, self.second, self.held.first, self.held.second = a64, b64, &a64[0], &b64[0]

    cdef int _open(self, object values, Py_buffer* view) except -1:
        """Open values (k,) to write them."""
        PyObject_GetBuffer(values, view, PyBUF_WRITABLE | PyBUF_FORMAT)
        if not _is_unsigned(view, self.width) or <size_t>view.len != self.held.k * self.width:
            size = view.len
            PyBuffer_Release(view)
            raise ValueError(f"values must be {self.held.k} unsigned integers of {self.width} bytes, not {size} bytes")
        return 0

    cdef int _lower(self, const uint64_t* hashes, size_t n, object values) except -1:
        cdef Py_buffer view
        self._open(values, &view)
        try:
            if n > WORK // self.held.k + LONG_HASHES:
                self._lower_many(hashes, n, view.buf)
            elif n >= LONG_HASHES:
                with nogil:
                    _update(&self.held, hashes, n, view.buf)
            else:
                _update(&self.held, hashes, n, view.buf)
        finally:
            PyBuffer_Release(&view)
        return 0

    cdef int _lower_many(self, const uint64_t* hashes, size_t n, void* values) except -1:
        """Lower values by all of the hashes or, where a signal handler raises, by none."""
        cdef size_t nbytes = self.held.k * self.width, at = 0, some, step = WORK // self.held.k + LONG_HASHES
        cdef uint64_t last_pause = 0
        cdef void* lowered = malloc(nbytes)
        if lowered == NULL:
            raise MemoryError
        try:
            memcpy(lowered, values, nbytes)
            with nogil:
                while at < n:
                    some = min(n - at, step)
                    _update(&self.held, hashes + at, some, lowered)
                    at += some
                    pause(&last_pause)
            memcpy(values, lowered, nbytes)
        finally:
            free(lowered)
        return 0

    def lower(self, hashes not None, values not None):
        """Lower values (k,) in place by an int or by hashes, uint64 (n,)."""
        cdef uint64_t one
        cdef const uint64_t[::1] many
        if PyLong_CheckExact(hashes):
            one = hashes
            self._lower(&one, 1, values)
        else:
            many = hashes
            many = aligned(many)
            self._lower(&many[0] if len(many) else NULL, len(many), values)

    def lower_sha1(self, tokens not None, int bits, values not None):
        """Lower values (k,) in place by sha1_hash32 or sha1_hash64 of each token, and return how many there are."""
        cdef tuple held = tuple(tokens)
        cdef uint64_t mask = _mask(bits)
        cdef Py_ssize_t n = len(held)
        cdef uint64_t* hashes = <uint64_t*>_room(n)
        try:
            _heads(held, mask, hashes)
            self._lower(hashes, n, values)
        finally:
            free(hashes)
        return n

    def lower_native(self, tokens not None, uint64_t seed, values not None):
        """Lower values (k,) in place by what `native` is of the tokens; return False, and leave them, if it is None."""
        held = _unchanging(tokens)
        cdef Py_ssize_t n = len(held)
        cdef uint64_t* hashes = <uint64_t*>_room(n)
        try:
            if not _natives(held, n, seed, hashes):
                return False
            self._lower(hashes, n, values)
        finally:
            free(hashes)
        return True

    def lower_rows(self, const int64_t[::1] offsets not None, const uint64_t[::1] hashes not None, values not None):
        """Lower each row of values, (n, k), in place by the same row of (offsets, hashes)."""
        offsets, hashes = aligned(offsets), aligned(hashes)
        cdef uint32_t[:, ::1] values32
        cdef uint64_t[:, ::1] values64
        cdef Py_ssize_t i, n, k
        cdef size_t at, some, step = WORK // self.held.k + LONG_HASHES, done = 0
        cdef uint64_t last_pause = 0
        cdef char* to = NULL
        if self.width == 4:
            values32 = values
            n, k = values32.shape[0], values32.shape[1]
            to = <char*>&values32[0, 0] if n and k else NULL
        else:
            values64 = values
            n, k = values64.shape[0], values64.shape[1]
            to = <char*>&values64[0, 0] if n and k else NULL
        if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, len(hashes)):
            raise ValueError(f"offsets must rise from 0 to at most {len(hashes)}, the number of hashes")
        if n != len(offsets) - 1 or <size_t>k != self.held.k:
            raise ValueError(f"values must be {(len(offsets) - 1, self.held.k)} numbers, not {(n, k)}")
        if n == 0 or len(hashes) == 0:
            return
        check_out(to, self.width)
        with nogil:
            for i in range(n):
                at = offsets[i]
                while at < <size_t>offsets[i + 1]:
                    some = min(<size_t>offsets[i + 1] - at, step)
                    _update(&self.held, &hashes[0] + at, some, to + <size_t>i * self.held.k * self.width)
                    at += some
                    done += some
                    if done >= step:
                        done = 0
                        pause(&last_pause)


cdef void* _room(size_t n) except NULL:
    """Return room for so many hashes."""
    cdef void* room = malloc(product_of(n, sizeof(uint64_t)) or 1)
    if room == NULL:
        raise MemoryError
    return room


def equal(a not None, b not None):
    """Return how many numbers of two contiguous arrays of one length agree; both uint32, or both uint64, and aligned.

    Raises ValueError or BufferError where they are of different lengths or not contiguous, TypeError where their
    numbers are others.
    """
    cdef Py_buffer x, y
    cdef size_t n, found
    PyObject_GetBuffer(a, &x, PyBUF_FORMAT)
    try:
        PyObject_GetBuffer(b, &y, PyBUF_FORMAT)
        try:
            if not (_is_unsigned(&x, 4) and _is_unsigned(&y, 4)) and not (_is_unsigned(&x, 8) and _is_unsigned(&y, 8)):
                raise TypeError("arrays must be both uint32 or both uint64, native and aligned")
            if x.len != y.len:
                raise ValueError(f"arrays must be of one length, not of {x.len} and {y.len} bytes")
            n = x.len // x.itemsize
            if x.itemsize == 4:
                found = slots_levels[in_use[0]].equal32(<const uint32_t*>x.buf, <const uint32_t*>y.buf, n)
            else:
                found = slots_levels[in_use[0]].equal64(<const uint64_t*>x.buf, <const uint64_t*>y.buf, n)
        finally:
            PyBuffer_Release(&y)
    finally:
        PyBuffer_Release(&x)
    return found


# ---- for other projects' Cython ----


cdef uint64_t sha1_of_bytes(const uint8_t* data, size_t length) noexcept nogil:
    return sha1_head(hashing().compress, data, length)


cdef void lower_affine32(const uint64_t* hashes, size_t n, const uint32_t* a, const uint32_t* b, size_t k,
                         uint32_t* values) noexcept nogil:
    affine_levels[in_use[0]].affine32(hashes, n, a, b, k, values)


cdef void lower_affine64(const uint64_t* hashes, size_t n, const uint64_t* a, const uint64_t* b, size_t k,
                         uint64_t* values) noexcept nogil:
    affine_levels[in_use[0]].affine64(hashes, n, a, b, k, values)


cdef void lower_legacy(const uint64_t* hashes, size_t n, const uint64_t* a, const uint64_t* b, size_t k,
                       uint64_t* values) noexcept nogil:
    affine_levels[in_use[0]].legacy(hashes, n, a, b, k, values)
