"""Pairs of records: the merge of lists of pairs, their scores before strings are compared, and bounds by letters."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import os

import numpy as np

from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, pause, sum_of

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "pairs/pairs.h":
    struct pairs_list:
        const uint64_t* places
        const uint32_t* bits
        size_t n, at
    size_t pairs_merge(pairs_list*, pairs_list*, size_t, uint64_t*, uint32_t*) nogil
    struct pairs_slot:
        uint64_t key
        int64_t number
    struct pairs_codes:
        pairs_slot* slots
        uint64_t mask, secret
        int64_t count
    void pairs_code(pairs_codes*, const uint64_t*, size_t, uint64_t, int64_t, int64_t*, int64_t*) nogil
    void pairs_group(const int64_t*, size_t, int64_t, int64_t*, int64_t*) nogil
    struct pairs_fields:
        const int32_t* a
        const int32_t* b
        size_t fields
        const double* equal
        const int64_t* starts
        const double* unequal
        const double* missing
    size_t pairs_score(const pairs_fields*, const uint64_t*, size_t, uint64_t, double, int64_t, int64_t*, uint8_t*, size_t,
                       double*, double*) nogil
    void pairs_letters(const uint32_t*, const int64_t*, size_t, uint64_t*) nogil
    struct pairs_strings:
        const uint64_t* masks
        const int64_t* lengths
        const uint32_t* firsts
    void pairs_least_edits(pairs_strings, const int64_t*, const int64_t*, size_t, int64_t*) nogil
    void pairs_most_similar(pairs_strings, const int64_t*, const int64_t*, size_t, double*) nogil
    enum:
        PAIRS_MISSING, PAIRS_EQUAL, PAIRS_DIFFERENT

cdef uint64_t secret = int.from_bytes(os.urandom(8), "little")

MISSING, EQUAL, DIFFERENT = PAIRS_MISSING, PAIRS_EQUAL, PAIRS_DIFFERENT


def merged(const uint64_t[::1] places not None, const uint32_t[::1] bits not None,
           const uint64_t[::1] others not None, const uint32_t[::1] other_bits not None):
    """Return (places, bits) of two lists of ascending places, each once: a place of both has the bits of both."""
    places, bits, others, other_bits = aligned(places), aligned(bits), aligned(others), aligned(other_bits)
    if len(bits) != len(places) or len(other_bits) != len(others):
        raise ValueError(f"as many bits as places are needed, not {len(bits)} and {len(other_bits)} for {len(places)} and "
                         f"{len(others)}")
    cdef pairs_list a, b
    cdef size_t made = 0, room = len(places) + len(others)
    cdef uint64_t last_pause = 0
    a.n, a.at, b.n, b.at = len(places), 0, len(others), 0
    found_array, marks_array = np.empty(room, np.uint64), np.empty(room, np.uint32)
    if not room:
        return found_array, marks_array
    cdef uint64_t[::1] found = found_array
    cdef uint32_t[::1] marks = marks_array
    if a.n:
        a.places, a.bits = &places[0], &bits[0]
    if b.n:
        b.places, b.bits = &others[0], &other_bits[0]
    with nogil:
        while a.at < a.n or b.at < b.n:
            made += pairs_merge(&a, &b, min(room - made, <size_t>WORK), &found[made], &marks[made])
            pause(&last_pause)
    return found_array[:made], marks_array[:made]


def codes_of_keys(const uint64_t[::1] keys not None, const uint64_t[::1] others not None, uint64_t none):
    """Return (codes, codes of others, firsts): the number of each key among the different ones of `keys`, all int64.

    They are numbered in the order of the rows in which they come first, which are `firsts`. The code is -1 for `none`, and
    for others that are not among `keys`.
    """
    keys, others = aligned(keys), aligned(others)
    cdef pairs_codes table
    cdef size_t n = len(keys), m = len(others), done = 0, some
    cdef uint64_t last_pause = 0, slots = 2
    while slots < 2 * n:
        slots *= 2
    cdef uint64_t[:, ::1] made = np.zeros((slots, 2), np.uint64)  # keys and numbers
    table.slots, table.mask, table.secret, table.count = <pairs_slot*>&made[0, 0], slots - 1, secret, 0
    codes_array, other_codes_array, firsts_array = np.empty(n, np.int64), np.empty(m, np.int64), np.empty(n, np.int64)
    cdef int64_t[::1] codes = codes_array, other_codes = other_codes_array, firsts = firsts_array
    with nogil:
        while done < n:
            some = min(n - done, <size_t>WORK)
            pairs_code(&table, &keys[done], some, none, <int64_t>done, &firsts[0], &codes[done])
            done += some
            pause(&last_pause)
        done = 0
        while done < m:
            some = min(m - done, <size_t>WORK)
            pairs_code(&table, &others[done], some, none, 0, NULL, &other_codes[done])
            done += some
            pause(&last_pause)
    return codes_array, other_codes_array, firsts_array[:table.count]


def rows_by_code(const int64_t[::1] codes not None, size_t count):
    """Return (rows, starts): the rows with code c, ascending, are rows[starts[c]:starts[c + 1]]; both are int64.

    Codes are below `count`; rows with a negative code are left out.
    """
    codes = aligned(codes)
    cdef size_t n = len(codes), row, done = 0, some
    cdef uint64_t last_pause = 0
    cdef bint fits = True
    starts_array = np.zeros(sum_of(count, 2), np.int64)
    cdef int64_t[::1] starts = starts_array, rows
    cdef const int64_t* code = &codes[0] if n else NULL
    cdef int64_t* number = &starts[0] + 2  # one place further: each start becomes the next one, as rows are placed
    with nogil:
        for row in range(n):
            if code[row] >= 0:
                fits = fits and <size_t>code[row] < count
                if not fits:
                    break
                number[code[row]] += 1
    if not fits:
        raise ValueError(f"codes must be below {count}, not {codes[row]}")
    np.cumsum(starts_array, dtype=np.int64, out=starts_array)
    rows_array = np.empty(starts_array[count + 1], np.int64)
    rows = rows_array
    with nogil:
        while done < n and rows.shape[0]:
            some = min(n - done, <size_t>WORK)
            pairs_group(code + done, some, <int64_t>done, &starts[1], &rows[0])
            done += some
            pause(&last_pause)
    return rows_array, starts_array[:count + 1]


cdef _check_codes(const int32_t[:, ::1] codes, const int64_t[::1] starts):
    cdef size_t row = 0, f = 0, rows = codes.shape[0], fields = codes.shape[1]
    cdef const int32_t* code = &codes[0, 0] if rows else NULL
    cdef const int64_t* start = &starts[0]
    cdef bint fits = True
    with nogil:
        while row < rows and fits:
            for f in range(fields):
                fits = fits and code[f] < start[f + 1] - start[f]
            code += fields
            row += 1
    if not fits:
        raise ValueError(f"codes must be below the number of values of their field, unlike those of row {row - 1}")


@cython.final
@cython.auto_pickle(False)
cdef class FieldCodes:
    """The codes of the values of two tables, int32 (rows, fields), and what the fields of pairs score.

    Equal values of field f score equal[starts[f] + code], different ones at most unequal[f], and missing ones, whose code is
    negative, missing[f]; all are float64, and starts, int64 (fields + 1,), rises to the length of `equal`. The arrays must
    not change.
    """

    cdef pairs_fields own
    cdef readonly size_t rows_a
    cdef readonly size_t rows_b
    cdef object _held

    def __cinit__(self, const int32_t[:, ::1] a not None, const int32_t[:, ::1] b not None,
                  const double[::1] equal not None, const int64_t[::1] starts not None,
                  const double[::1] unequal not None, const double[::1] missing not None):
        cdef size_t fields = a.shape[1], f
        a, b, equal, starts = aligned_rows(a), aligned_rows(b), aligned(equal), aligned(starts)
        unequal, missing = aligned(unequal), aligned(missing)
        if not fields or <size_t>b.shape[1] != fields:
            raise ValueError(f"both tables must have the same fields, at least one, not {fields} and {b.shape[1]}")
        if <size_t>len(unequal) != fields or <size_t>len(missing) != fields or <size_t>len(starts) != fields + 1:
            raise ValueError(f"scores of {fields} fields are needed, not {len(unequal)}, {len(missing)} and "
                             f"{len(starts) - 1}")
        if starts[0] != 0 or starts[fields] != len(equal):
            raise ValueError(f"starts must rise from 0 to {len(equal)}, not from {starts[0]} to {starts[fields]}")
        for f in range(fields):
            if starts[f] > starts[f + 1]:
                raise ValueError(f"starts must rise, unlike {starts[f]} and {starts[f + 1]}")
        _check_codes(a, starts)
        _check_codes(b, starts)
        self._held = a, b, equal, starts, unequal, missing
        self.rows_a, self.rows_b, self.own.fields = a.shape[0], b.shape[0], fields
        self.own.starts, self.own.unequal, self.own.missing = &starts[0], &unequal[0], &missing[0]
        if self.rows_a:
            self.own.a = &a[0, 0]
        if self.rows_b:
            self.own.b = &b[0, 0]
        if len(equal):
            self.own.equal = &equal[0]

    def scores(self, const uint64_t[::1] places not None, double least):
        """Return (numbers, levels, known, open) of those of the pairs (i, j) that may score at least `least`.

        The places of the pairs are i * rows_b + j. numbers, int64 (found,), are those among them, ascending; levels, uint8
        (fields, found), are MISSING, EQUAL or DIFFERENT; known, float64 (found,), sums the scores of missing and equal
        values; and open, float64 (found,), what different ones score at most.
        """
        places = aligned(places)
        cdef size_t n = len(places), p, done = 0, made = 0, some, step = max(<size_t>1, <size_t>WORK // self.own.fields)
        cdef uint64_t most = 0, last_pause = 0
        numbers_array, levels_array = np.empty(n, np.int64), np.empty((self.own.fields, n), np.uint8)
        known_array, open_array = np.empty(n), np.empty(n)
        cdef int64_t[::1] numbers = numbers_array
        cdef uint8_t[:, ::1] levels = levels_array
        cdef double[::1] known = known_array, open_scores = open_array
        for p in range(n):
            most = max(most, places[p])
        if n and (not self.rows_b or most // self.rows_b >= self.rows_a):
            raise ValueError(f"places must be below {self.rows_a} * {self.rows_b}, not {most}")
        with nogil:
            while done < n:
                some = min(n - done, step)
                made += pairs_score(&self.own, &places[done], some, self.rows_b, least, <int64_t>done, &numbers[made],
                                    &levels[0, made], n, &known[made], &open_scores[made])
                done += some
                pause(&last_pause)
        return numbers_array[:made], levels_array[:, :made], known_array[:made], open_array[:made]


def letters(const uint32_t[::1] points not None, const int64_t[::1] starts not None):
    """Return a mask of the letters of each string, uint64 (n,); its code points are points[starts[i]:starts[i + 1]].

    A mask has a bit for each class of which a string has one letter, and another one for two or more. The last five bits of
    a code point are its class.
    """
    points, starts = aligned(points), aligned(starts)
    cdef size_t n = len(starts) - 1
    if len(starts) < 1 or not rows_are_valid(&starts[0], n, len(points)):
        raise ValueError(f"starts must rise from 0 to at most {len(points)}, the number of code points")
    masks_array = np.empty(n, np.uint64)
    cdef uint64_t[::1] masks = masks_array
    if n:
        with nogil:
            pairs_letters(&points[0] if points.shape[0] else NULL, &starts[0], n, &masks[0])
    return masks_array


cdef pairs_strings _strings(const uint64_t[::1] masks, const int64_t[::1] lengths, const uint32_t[::1] firsts,
                            const int64_t[::1] left, const int64_t[::1] right) except *:
    """Return the strings of pairs, after all that is read was checked; `firsts` may be None."""
    cdef pairs_strings own
    cdef size_t n = len(masks)
    own.masks, own.lengths, own.firsts = NULL, NULL, NULL
    if <size_t>len(lengths) != n or (firsts is not None and <size_t>len(firsts) != n):
        raise ValueError(f"{n} strings must have as many lengths and first letters, not {len(lengths)} lengths")
    if len(left) != len(right):
        raise ValueError(f"as many lefts as rights are needed, not {len(left)} and {len(right)}")
    if not n:
        if len(left):
            raise ValueError("places must be below 0, the number of strings")
        return own
    if len(left) and not (are_below(&left[0], len(left), n) and are_below(&right[0], len(right), n)):
        raise ValueError(f"places must be below {n}, the number of strings")
    own.masks, own.lengths = &masks[0], &lengths[0]
    if firsts is not None:
        own.firsts = &firsts[0]
    return own


def least_edits(const uint64_t[::1] masks not None, const int64_t[::1] lengths not None,
                const int64_t[::1] left not None, const int64_t[::1] right not None):
    """Return for pairs of strings, by their places, how many edits they are apart at least, int64 (pairs,).

    Strings have the masks of `letters`, and their lengths. An edit changes, adds, takes away or exchanges letters.
    """
    masks, lengths, left, right = aligned(masks), aligned(lengths), aligned(left), aligned(right)
    cdef pairs_strings own = _strings(masks, lengths, None, left, right)
    cdef size_t n = len(left), done = 0, some
    cdef uint64_t last_pause = 0
    edits_array = np.empty(n, np.int64)
    cdef int64_t[::1] edits = edits_array
    with nogil:
        while done < n:
            some = min(n - done, <size_t>WORK)
            pairs_least_edits(own, &left[done], &right[done], some, &edits[done])
            done += some
            pause(&last_pause)
    return edits_array


def most_similar(const uint64_t[::1] masks not None, const int64_t[::1] lengths not None,
                 const uint32_t[::1] firsts not None, const int64_t[::1] left not None,
                 const int64_t[::1] right not None):
    """Return for pairs of strings, by their places, a bound of their Jaro-Winkler similarity, float64 (pairs,).

    Strings have the masks of `letters`, their lengths, and their first code points, which are 0 for empty strings.
    """
    masks, lengths, firsts = aligned(masks), aligned(lengths), aligned(firsts)
    left, right = aligned(left), aligned(right)
    cdef pairs_strings own = _strings(masks, lengths, firsts, left, right)
    cdef size_t n = len(left), done = 0, some
    cdef uint64_t last_pause = 0
    similar_array = np.empty(n, np.float64)
    cdef double[::1] similar = similar_array
    with nogil:
        while done < n:
            some = min(n - done, <size_t>WORK)
            pairs_most_similar(own, &left[done], &right[done], some, &similar[done])
            done += some
            pause(&last_pause)
    return similar_array
