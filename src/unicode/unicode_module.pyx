"""Normal forms of columns of texts, and the ends of sentences: pinned tables of Unicode."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import numpy as np

from lshfast.kernels.guards cimport WORK, aligned, pause, sum_of

from lshfast.kernels.text import Texts

cdef extern from "unicode/normal_forms.h":
    enum normal_form:
        NORMAL_NFC, NORMAL_NFKC
    struct normal_items:
        uint32_t* items
        size_t room
    const size_t NORMAL_BAD
    const size_t NORMAL_NO_ROOM
    size_t normal_span(normal_form, const uint8_t*, size_t, size_t) nogil
    size_t normal_segment(normal_form, const uint8_t*, size_t, size_t, const normal_items*, size_t*) nogil
    int normal_is_same(const uint32_t*, size_t, const uint8_t*, size_t) nogil
    size_t normal_encode(const uint32_t*, size_t, uint8_t*) nogil
    void normal_forms_in(const uint8_t*, size_t, unsigned*) nogil

cdef extern from "unicode/sentences.h":
    struct sentence_walk:
        size_t at, characters
    size_t sentence_ends(const uint8_t*, size_t, sentence_walk*, size_t*, size_t) nogil

cdef enum:
    FIRST_ITEMS = 256  # code points of a segment; more are made room for
    ENDS = 512  # sentences whose ends are found at a time

cdef dict FORMS = {"NFC": NORMAL_NFC, "NFKC": NORMAL_NFKC}


cdef normal_form _form_of(form) except *:
    if form not in FORMS:
        raise ValueError(f"form must be 'NFC' or 'NFKC', not {form!r}")
    return FORMS[form]


@cython.auto_pickle(False)
@cython.final
cdef class _Room:
    """Room for the code points of a segment, and for the bytes that are made; both grow."""
    cdef normal_items codes
    cdef uint8_t* data
    cdef size_t size, made

    def __dealloc__(self):
        free(self.codes.items)
        free(self.data)

    cdef int grow_items(self) except -1 nogil:
        cdef size_t room = max(2 * self.codes.room, <size_t>FIRST_ITEMS)
        cdef uint32_t* items = <uint32_t*>realloc(self.codes.items, 2 * room * sizeof(uint32_t))
        if items == NULL:
            _no_memory()
        self.codes.items, self.codes.room = items, room
        return 0

    cdef int reserve(self, size_t more) except -1 nogil:
        """Make room for more bytes behind those that were made."""
        if more <= self.size - self.made:
            return 0
        cdef size_t size = max(2 * self.size, self.made + more)
        cdef uint8_t* data = <uint8_t*>realloc(self.data, size)
        if data == NULL:
            _no_memory()
        self.data, self.size = data, size
        return 0

    cdef int copy(self, const uint8_t* text, size_t length) except -1 nogil:
        if length:
            self.reserve(length)
            memcpy(self.data + self.made, text, length)
            self.made += length
        return 0

    cdef size_t segment(self, normal_form form, const uint8_t* text, size_t length, size_t at,
                        size_t* count) except? 0 nogil:
        """Return normal_segment of normal_forms.h, with as much room as it needs."""
        cdef size_t end = NORMAL_NO_ROOM
        while end == NORMAL_NO_ROOM:
            if self.codes.room:
                end = normal_segment(form, text, length, at, &self.codes, count)
            if end == NORMAL_NO_ROOM:
                self.grow_items()
        return end


cdef int _no_memory() except -1 with gil:
    raise MemoryError


cdef bint _normalise(_Room room, normal_form form, const uint8_t* text, size_t length) except? -1 nogil:
    """Append the form of a text to the room, and return whether it differs; else nothing is appended.

    A text that is not UTF-8 counts as one that does not differ.
    """
    cdef size_t begin = room.made, end, count = 0, at = normal_span(form, text, length, 0)
    cdef bint differs = False
    cdef uint64_t last_pause = 0
    cdef size_t looked = at
    while at < length:
        end = room.segment(form, text, length, at, &count)
        if end == NORMAL_BAD:
            room.made = begin
            return False
        if not differs and not normal_is_same(room.codes.items, count, text + at, end - at):
            differs = True
            room.copy(text, at)
        if differs:
            room.reserve(4 * count)
            room.made += normal_encode(room.codes.items, count, room.data + room.made)
        at = normal_span(form, text, length, end)
        if differs:
            room.copy(text + end, at - end)
        if at - looked >= WORK:
            looked = at
            pause(&last_pause)
    return differs


def normalized(texts not None, form not None):
    """Return the texts in the normal form "NFC" or "NFKC"; those that are in it are referenced in place.

    A text that is not UTF-8 stays as it is. All work is linear in the bytes of the texts and of their forms.
    """
    texts = Texts(texts)
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef normal_form of_form = _form_of(form)
    cdef Py_ssize_t i, changed = 0, n = len(texts)
    cdef size_t done = 0
    cdef uint64_t last_pause = 0
    cdef _Room room = _Room()
    rows_array, ends_array = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    cdef int64_t[::1] rows = rows_array, ends = ends_array
    with nogil:
        for i in range(n):
            if _normalise(room, of_form, <const uint8_t*>addresses[i], lengths[i]):
                rows[changed] = i
                changed += 1
                ends[changed] = <int64_t>room.made
            done += lengths[i] + 1
            if done >= WORK:
                done = 0
                pause(&last_pause)
    if not changed:
        return texts
    made = Texts.of_buffer(PyBytes_FromStringAndSize(<const char*>room.data, room.made), ends_array[:changed + 1])
    order = np.arange(n, dtype=np.int64)
    order[rows_array[:changed]] = np.arange(n, n + changed, dtype=np.int64)
    return Texts.concatenate([texts, made]).take(order)


cdef size_t _characters(const uint8_t* text, size_t length) noexcept nogil:
    cdef size_t i, count = 0
    for i in range(length):
        count += (text[i] & 0xC0) != 0x80
    return count


def origins(texts not None, form not None, const int64_t[::1] rows not None, const int64_t[:, ::1] bounds not None):
    """Return where ranges of the bytes of normal forms are in the texts, int64 (n, 4).

    Range i is bounds[i, 0]..bounds[i, 1] - 1 of the form of texts[rows[i]]. The result is its first byte, end byte, first
    character and end character. A range that divides what a segment of the text became gets the whole segment.
    (rows[i], bounds[i, 0], bounds[i, 1]) rise.
    """
    texts = Texts(texts)
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef normal_form of_form = _form_of(form)
    cdef Py_ssize_t i, n = len(texts), count = len(rows), first = 0, last
    cdef _Room room = _Room()
    rows, bounds = aligned(rows), np.require(bounds, np.int64, "CA")
    if bounds.shape[0] != count or bounds.shape[1] < 2:
        raise ValueError(f"bounds must be ({count}, 2) or wider, not {bounds.shape[0]} x {bounds.shape[1]}")
    for i in range(count):
        if not (0 <= rows[i] < n and 0 <= bounds[i, 0] < bounds[i, 1]):
            raise ValueError(f"texts[{rows[i]}] of {n} has no bytes from {bounds[i, 0]} to {bounds[i, 1]}")
        if i and (rows[i] < rows[i - 1] or (rows[i] == rows[i - 1] and (bounds[i, 0] < bounds[i - 1, 0] or
                                                                        bounds[i, 1] < bounds[i - 1, 1]))):
            raise ValueError("(rows, bounds) must rise")
    out_array = np.zeros((count, 4), np.int64)
    cdef int64_t[:, ::1] out = out_array
    cdef bint is_whole = True
    with nogil:
        while first < count:
            last = first
            while last < count and rows[last] == rows[first]:
                last += 1
            is_whole = _origins(room, of_form, <const uint8_t*>addresses[rows[first]], lengths[rows[first]],
                                bounds[first:last], out[first:last])
            if not is_whole:
                break
            first = last
    if not is_whole:
        raise ValueError(f"texts[{rows[first]}] has no form of {bounds[last - 1, 1]} bytes, or is not UTF-8")
    return out_array


cdef bint _origins(_Room room, normal_form form, const uint8_t* text, size_t length, const int64_t[:, ::1] bounds,
                   int64_t[:, ::1] out) except? -1 nogil:
    """Write the origins of ranges of a text, and return whether it has them all."""
    cdef Py_ssize_t begins = 0, ends = 0, n = bounds.shape[0]
    cdef size_t at = 0, made = 0, end, length_made, count = 0
    cdef bint is_copy = True
    cdef uint64_t last_pause = 0
    while at < length and ends < n:
        if is_copy:
            end = normal_span(form, text, length, at)
            length_made = end - at
        else:
            end = room.segment(form, text, length, at, &count)
            if end == NORMAL_BAD:
                return False
            room.made = 0
            room.reserve(4 * count)
            length_made = normal_encode(room.codes.items, count, room.data)
        while begins < n and <size_t>bounds[begins, 0] < made + length_made:
            out[begins, 0] = <int64_t>(at + bounds[begins, 0] - made if is_copy else at)
            begins += 1
        while ends < n and <size_t>bounds[ends, 1] <= made + length_made:
            out[ends, 1] = <int64_t>(at + bounds[ends, 1] - made if is_copy else end)
            ends += 1
        at, made, is_copy = end, made + length_made, not is_copy
        pause(&last_pause)
    if ends < n:
        return False
    _count_characters(text, out)
    return True


cdef void _count_characters(const uint8_t* text, int64_t[:, ::1] out) noexcept nogil:
    """Write the characters before the bytes of out[:, :2], which rise, to out[:, 2:]."""
    cdef size_t begin = 0, before_begin = 0
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        before_begin += _characters(text + begin, <size_t>out[i, 0] - begin)
        begin = <size_t>out[i, 0]
        out[i, 2] = <int64_t>before_begin
        out[i, 3] = <int64_t>(before_begin + _characters(text + begin, <size_t>(out[i, 1] - out[i, 0])))


def forms_in(texts not None):
    """Return what texts have, uint8 (n,): 1 composed characters, 2 sequences that NFC would compose, 3 both, 0 neither."""
    texts = Texts(texts)
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef Py_ssize_t i, n = len(texts)
    cdef size_t done = 0
    cdef unsigned found
    cdef uint64_t last_pause = 0
    out_array = np.empty(n, np.uint8)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(n):
            found = 0
            normal_forms_in(<const uint8_t*>addresses[i], lengths[i], &found)
            out[i] = <uint8_t>found
            done += lengths[i] + 1
            if done >= WORK:
                done = 0
                pause(&last_pause)
    return out_array


def sentences(str text not None):
    """Return the sentences of a text by UAX #29, which make up the text; an empty text is one sentence."""
    cdef bytes data = text.encode()
    cdef const uint8_t* place = data
    cdef size_t length = len(data), begin = 0, count, i
    cdef size_t[ENDS] ends
    cdef sentence_walk walk
    cdef uint64_t last_pause = 0
    memset(&walk, 0, sizeof(walk))
    found = []
    while True:
        with nogil:
            count = sentence_ends(place, length, &walk, ends, ENDS)
            pause(&last_pause)
        for i in range(count):
            found.append(text[begin:ends[i]])
            begin = ends[i]
        if walk.at == length and count < ENDS - 1:
            break
    if <Py_ssize_t>begin < len(text) or not found:
        found.append(text[begin:])
    return found
