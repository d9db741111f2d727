"""Runs of words or characters that occur in two texts: samples, texts as numbers of 32 bits, and their comparison."""

cimport cython
from libc.stdint cimport PTRDIFF_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memset

import numpy as np

from lshfast.kernels.guards cimport WORK, aligned, pause, sum_of
from lshfast.kernels.text import Texts

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil

cdef extern from "field.h":
    const uint64_t P61
    uint64_t p61_product(uint64_t, uint64_t) nogil

cdef extern from "text/text.h":
    struct hash_key:
        uint64_t bytes, words, characters, integers
    struct token_hasher:
        pass
    token_hasher text_hasher_under(const hash_key*) nogil

cdef extern from "passages/passages.h":
    const size_t SIZE_MAX
    const uint32_t PASSAGES_NO_UNIT
    size_t passages_most_lower(size_t) nogil
    size_t passages_winnow(const uint64_t*, size_t, size_t, size_t, size_t*, int64_t*, int64_t*) nogil
    struct passages_place:
        size_t at, characters, units
    struct passages_dictionary:
        token_hasher hasher
        uint64_t* slots
        size_t mask
        uint64_t* ends
        uint8_t* bytes
        size_t words, most_words, filled, room
    enum passages_outcome:
        PASSAGES_DONE
        PASSAGES_UNFINISHED
        PASSAGES_FULL
        PASSAGES_BAD
    passages_outcome passages_number_words(passages_dictionary*, int, const uint8_t*, size_t, passages_place*, size_t,
                                           uint8_t*, uint32_t*, size_t) nogil
    void passages_fill_slots(passages_dictionary*) nogil
    passages_outcome passages_number_characters(const uint8_t*, size_t, passages_place*, size_t, uint32_t*,
                                                size_t) nogil
    struct passages_bounds:
        int64_t start, end, first_character, end_character
    passages_outcome passages_locate_words(const uint8_t*, size_t, passages_place*, size_t, const int64_t*, size_t,
                                           size_t*, passages_bounds*) nogil
    passages_outcome passages_locate_characters(const uint8_t*, size_t, passages_place*, size_t, const int64_t*, size_t,
                                                size_t*, passages_bounds*) nogil
    struct passages_two_places:
        passages_place a, b
    passages_outcome passages_same_words(const uint8_t*, size_t, const uint8_t*, size_t, passages_two_places*, size_t,
                                         uint8_t*) nogil
    struct passages_match:
        int64_t x, y, length
    struct passages_seeds:
        const int64_t* x
        const int64_t* y
        const int64_t* low
        const int64_t* high
        size_t count
    struct passages_extension:
        size_t done
        passages_match last
        int written
    size_t passages_extend(const uint32_t*, size_t, const uint32_t*, size_t, const passages_seeds*, size_t, size_t,
                           passages_extension*, size_t, passages_match*) nogil
    struct passages_runs:
        const int64_t* x
        const int64_t* y
        const int64_t* count
        size_t runs
    struct passages_covering:
        size_t run, cover
        int64_t reach
    size_t passages_cover(const uint32_t*, size_t, const uint32_t*, size_t, const passages_runs*, const int64_t*,
                          const int64_t*, size_t, size_t, passages_covering*, passages_match*, size_t) nogil
    void passages_hash_windows(const uint32_t*, size_t, size_t, uint64_t, uint64_t, uint64_t*) nogil
    int passages_equal(const uint32_t*, const uint32_t*, size_t) nogil

NO_UNIT = PASSAGES_NO_UNIT
MATCH = np.dtype([("x", np.int64), ("y", np.int64), ("length", np.int64)])

cdef enum:
    FIRST_WORDS = 1 << 12  # of a dictionary: words for which there is room at first
    WORD_BYTES = 8  # bytes of a word for which there is room
    MOST_WORDS = 1 << 30
    ROOM = 1 << 16  # matches that passages_cover writes at a time


def winnow(const int64_t[::1] offsets not None, const uint64_t[::1] hashes not None, size_t window):
    """Return the samples of each row's windows of so many hashes: offsets (n + 1,), places in the row, first windows.

    A row with fewer hashes than a window has no samples.
    """
    offsets, hashes = aligned(offsets), aligned(hashes)
    cdef Py_ssize_t n = len(offsets) - 1, row
    cdef size_t first, windows, stop, last, total = 0, made = 0, held = len(hashes)
    cdef uint64_t last_pause = 0
    if window < 1:
        raise ValueError(f"window must be at least 1, not {window}")
    if n < 0 or not rows_are_valid(&offsets[0], n, held):
        raise ValueError(f"offsets must rise from 0 or more to at most the number of hashes, {held}")
    for row in range(n):
        windows = <size_t>(offsets[row + 1] - offsets[row])
        total += windows - window + 1 if windows >= window else 0
    starts_array = np.zeros(n + 1, np.int64)
    places_array, lows_array = np.empty(total + 1, np.int64), np.empty(total + 1, np.int64)
    cdef int64_t[::1] starts = starts_array, places = places_array, lows = lows_array
    with nogil:
        for row in range(n):
            windows = <size_t>(offsets[row + 1] - offsets[row])
            windows = windows - window + 1 if windows >= window else 0
            first, last = 0, SIZE_MAX
            while first < windows:
                stop = min(windows, first + WORK)
                made += passages_winnow(&hashes[offsets[row]], first, stop, window, &last, &places[made], &lows[made])
                first = stop
                pause(&last_pause)
            starts[row + 1] = made
            pause(&last_pause)
    return starts_array, places_array[:made].copy(), lows_array[:made].copy()


@cython.auto_pickle(False)
@cython.final
cdef class Vocabulary:
    """The different words of some texts, numbered from 0, in lower case.

    `multiplier` is a secret in 1..2**61 - 2 under which the words are hashed; their numbers do not depend on it. Threads
    may share a vocabulary while none adds words.
    """
    cdef passages_dictionary held
    cdef object slots, ends, bytes

    def __cinit__(self, uint64_t multiplier):
        if not 1 <= multiplier < P61:
            raise ValueError("multiplier must be in 1..2**61 - 2")
        cdef hash_key key
        key.bytes, key.words, key.characters, key.integers = multiplier, 1, 1, 0
        self.held.hasher = text_hasher_under(&key)
        self.held.words = self.held.filled = self.held.room = self.held.most_words = 0
        self.slots = self.ends = self.bytes = None
        self._grow(0)

    def __reduce__(self):
        raise TypeError("a Vocabulary is not pickled: its key is secret")

    def __len__(self):
        return self.held.words

    @property
    def nbytes(self):
        """Bytes of memory."""
        return self.slots.nbytes + self.ends.nbytes + self.bytes.nbytes

    cdef _grow(self, size_t least):
        """Make room for another word of `least` bytes."""
        cdef uint64_t[::1] slots, ends
        cdef uint8_t[::1] held
        cdef size_t words = self.held.words, filled = self.held.filled, most, room
        most, room = self.held.most_words, self.held.room
        if words == most:
            most = max(2 * words, <size_t>FIRST_WORDS)
            if most > <size_t>MOST_WORDS:
                raise MemoryError(f"more than {MOST_WORDS} different words")
            slots_array, ends_array = np.zeros(2 * most, np.uint64), np.empty(most, np.uint64)
            if words:
                ends_array[:words] = self.ends[:words]
            slots, ends = slots_array, ends_array
            self.slots, self.ends = slots_array, ends_array
            self.held.slots, self.held.ends = &slots[0], &ends[0]
            self.held.mask, self.held.most_words = 2 * most - 1, most
            with nogil:
                passages_fill_slots(&self.held)
        if room - filled < least or not room:
            room = sum_of(max(2 * room, <size_t>FIRST_WORDS * WORD_BYTES), least)
            bytes_array = np.empty(room, np.uint8)
            if filled:
                bytes_array[:filled] = self.bytes[:filled]
            held = bytes_array
            self.bytes = bytes_array
            self.held.bytes, self.held.room = &held[0], room


def units_of(texts, const int64_t[::1] counts not None, Vocabulary vocabulary, bint unique):
    """Return texts as units, uint32: the numbers of words in a vocabulary or, if that is None, characters in lower case.

    `counts` are the numbers of units of each text. One number stands before each text and one behind the last. Where
    `unique`, these numbers are all different, and words that are new are added to the vocabulary; otherwise these numbers
    and those of unknown words are NO_UNIT.
    """
    texts = Texts(texts)
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef Py_ssize_t row = 0, n = len(texts)
    cdef size_t total = n + 1, longest = 0, at = 1
    cdef uint64_t last_pause = 0
    cdef passages_place place
    cdef passages_outcome outcome = PASSAGES_DONE
    cdef uint8_t* scratch
    counts = aligned(counts)
    if len(counts) != n:
        raise ValueError(f"as many counts as texts are needed, not {len(counts)} and {n}")
    for row in range(n):
        if counts[row] < 0:
            raise ValueError(f"counts must not be negative, not {counts[row]}")
        total, longest = sum_of(total, counts[row]), max(longest, <size_t>lengths[row])
    if <size_t>n >= PASSAGES_NO_UNIT - <size_t>MOST_WORDS - 1:
        raise MemoryError(f"{n} texts are too many to be compared at once")
    units_array = np.empty(total, np.uint32)
    cdef uint32_t[::1] units = units_array
    units[0] = PASSAGES_NO_UNIT - 1 if unique else PASSAGES_NO_UNIT
    scratch = <uint8_t*>malloc(passages_most_lower(longest))
    if scratch == NULL:
        raise MemoryError
    try:
        with nogil:
            for row in range(n):
                place.at = place.characters = place.units = 0
                outcome = PASSAGES_UNFINISHED
                while outcome != PASSAGES_DONE:
                    if vocabulary is None:
                        outcome = passages_number_characters(<const uint8_t*>addresses[row], lengths[row], &place, WORK,
                                                             &units[at], counts[row])
                    else:
                        outcome = passages_number_words(&vocabulary.held, unique, <const uint8_t*>addresses[row],
                                                        lengths[row], &place, WORK, scratch, &units[at], counts[row])
                    if outcome == PASSAGES_FULL:
                        with gil:
                            vocabulary._grow(passages_most_lower(lengths[row]))
                    elif outcome == PASSAGES_BAD:
                        break
                    pause(&last_pause)
                if outcome == PASSAGES_BAD or place.units != <size_t>counts[row]:
                    break
                at += counts[row]
                units[at] = PASSAGES_NO_UNIT - 2 - <uint32_t>row if unique else PASSAGES_NO_UNIT
                at += 1
    finally:
        free(scratch)
    if at != total:
        raise ValueError(f"texts[{row}] does not have {counts[row]} units of UTF-8")
    return units_array


cdef _check_places(const int64_t[::1] places, size_t least, size_t n, str name):
    """Raise ValueError unless at least so many units follow each place."""
    cdef Py_ssize_t i
    for i in range(len(places)):
        if places[i] < 0 or least > n or <size_t>places[i] > n - least:
            raise ValueError(f"{name} must be in 0..{n} - {least}, not {places[i]}")


def extend(const uint32_t[::1] a not None, const uint32_t[::1] b not None, x, y, low, high, size_t k, size_t least):
    """Return the maximal matches, MATCH (m,), of at least `least` units, that seeds of k equal units have: see passages.h.

    x, y, low and high are int64 (n,), sorted by (x - y, y).
    """
    cdef const int64_t[::1] xs = np.require(x, np.int64, "CA"), ys = np.require(y, np.int64, "CA")
    cdef const int64_t[::1] lows = np.require(low, np.int64, "CA"), highs = np.require(high, np.int64, "CA")
    cdef size_t n = len(a), m = len(b), count = len(xs), made = 0
    cdef uint64_t last_pause = 0
    cdef passages_seeds seeds
    cdef passages_extension state
    a, b = aligned(a), aligned(b)
    if not len(ys) == len(lows) == len(highs) == <Py_ssize_t>count:
        raise ValueError("x, y, low and high must be of one length")
    _check_places(xs, k, n, "x")
    _check_places(ys, k, m, "y")
    least = min(least, <size_t>PTRDIFF_MAX)  # no match is longer
    found = np.empty(count, MATCH)
    if not count or not k:
        return found[:0]
    cdef passages_match[::1] out = found
    seeds.x, seeds.y, seeds.low, seeds.high, seeds.count = &xs[0], &ys[0], &lows[0], &highs[0], count
    state.done, state.written = 0, 0
    state.last.x = state.last.y = state.last.length = 0
    with nogil:
        while state.done < count:
            made += passages_extend(&a[0], n, &b[0], m, &seeds, k, least, &state, WORK, &out[made])
            pause(&last_pause)
    return found[:made].copy()


def cover(const uint32_t[::1] a not None, const uint32_t[::1] b not None, x, y, counts, starts, ends, size_t least):
    """Return matches, MATCH (m,), that cover runs of equal windows which the given ranges do not cover: see passages.h.

    x, y and counts are int64 (n,), sorted by y; starts and ends are int64 (c,), sorted by starts.
    """
    cdef const int64_t[::1] xs = np.require(x, np.int64, "CA"), ys = np.require(y, np.int64, "CA")
    cdef const int64_t[::1] sizes = np.require(counts, np.int64, "CA")
    cdef const int64_t[::1] begins = np.require(starts, np.int64, "CA"), stops = np.require(ends, np.int64, "CA")
    cdef size_t n = len(a), m = len(b), count = len(xs), covers = len(begins), made
    cdef uint64_t last_pause = 0
    cdef passages_runs runs
    cdef passages_covering state
    cdef Py_ssize_t i
    a, b = aligned(a), aligned(b)
    if not len(ys) == len(sizes) == <Py_ssize_t>count or len(stops) != <Py_ssize_t>covers:
        raise ValueError("x, y and counts must be of one length, and so must starts and ends")
    for i in range(len(xs)):
        if sizes[i] < 1 or least < 1:
            raise ValueError(f"counts and least must be at least 1, not {sizes[i]} and {least}")
        _check_window(xs[i], sizes[i], least, n)
        _check_window(ys[i], sizes[i], least, m)
    parts = []
    if not count:
        return np.empty(0, MATCH)
    cdef passages_match[::1] out
    runs.x, runs.y, runs.count, runs.runs = &xs[0], &ys[0], &sizes[0], count
    state.run, state.cover, state.reach = 0, 0, 0
    while state.run < count:
        part = np.empty(ROOM, MATCH)
        out = part
        with nogil:
            made = passages_cover(&a[0], n, &b[0], m, &runs, &begins[0] if covers else NULL,
                                  &stops[0] if covers else NULL, covers, least, &state, &out[0], ROOM)
            pause(&last_pause)
        parts.append(part[:made].copy())
    return np.concatenate(parts)


cdef _check_window(int64_t place, int64_t count, size_t length, size_t n):
    """Raise ValueError unless so many windows follow a place."""
    if place < 0 or count < 0 or length > n or <size_t>place > n - length or <size_t>count > n - length - place + 1:
        raise ValueError(f"{count} windows of {length} units from {place} on do not fit in {n}")


def hash_windows(const uint32_t[::1] units not None, first, counts, size_t length, uint64_t multiplier):
    """Return the hashes of counts[i] windows of `length` units from first[i] on, uint64 (sum of counts,)."""
    cdef const int64_t[::1] begins = np.require(first, np.int64, "CA")
    cdef const int64_t[::1] sizes = np.require(counts, np.int64, "CA")
    cdef size_t n = len(units), total = 0, at = 0, done, some
    cdef uint64_t last_pause = 0, power = 1
    cdef Py_ssize_t i, runs = len(begins)
    units = aligned(units)
    if len(sizes) != runs or length < 1 or not 1 <= multiplier < P61:
        raise ValueError("first and counts must be of one length, length at least 1, multiplier in 1..2**61 - 2")
    for i in range(runs):
        _check_window(begins[i], sizes[i], length, n)
        total = sum_of(total, sizes[i])
    if total == 0:
        return np.empty(0, np.uint64)
    for done in range(length):
        power = p61_product(power, multiplier)
    out_array = np.empty(total, np.uint64)
    cdef uint64_t[::1] out = out_array
    with nogil:
        for i in range(runs):
            done = 0
            while done < <size_t>sizes[i]:
                some = min(<size_t>sizes[i] - done, <size_t>WORK)
                passages_hash_windows(&units[begins[i] + done], some, length, multiplier, power, &out[at])
                done += some
                at += some
                pause(&last_pause)
    return out_array


cdef _check_ranges(const int64_t[::1] first, const int64_t[::1] lengths, size_t n):
    """Raise ValueError unless each range has units, and lies in n units."""
    cdef Py_ssize_t i
    if len(first) != len(lengths):
        raise ValueError(f"as many places as lengths are needed, not {len(first)} and {len(lengths)}")
    for i in range(len(first)):
        if lengths[i] < 1:
            raise ValueError(f"lengths must be at least 1, not {lengths[i]}")
        _check_window(first[i], 1, lengths[i], n)


def are_equal(const uint32_t[::1] a not None, const uint32_t[::1] b not None, x, y, lengths):
    """Tell which ranges of lengths[i] > 0 units at a[x[i]] and b[y[i]] are equal, bool (n,)."""
    cdef const int64_t[::1] xs = np.require(x, np.int64, "CA"), ys = np.require(y, np.int64, "CA")
    cdef const int64_t[::1] sizes = np.require(lengths, np.int64, "CA")
    cdef Py_ssize_t i, count = len(xs)
    cdef uint64_t last_pause = 0
    a, b = aligned(a), aligned(b)
    _check_ranges(xs, sizes, len(a))
    _check_ranges(ys, sizes, len(b))
    out_array = np.empty(count, np.uint8)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(count):
            out[i] = passages_equal(&a[xs[i]], &b[ys[i]], sizes[i])
            if i % 1024 == 0:
                pause(&last_pause)
    return out_array.view(np.bool_)


def locate(texts, const int64_t[::1] rows not None, const int64_t[::1] units not None, bint words):
    """Return where units begin and end, int64 (n, 4): first byte, end byte, first character, end character.

    (rows[i], units[i]) rise. A unit is a word, or else a character.
    """
    texts = Texts(texts)
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef Py_ssize_t i = 0, stop, n = len(texts), count = len(rows)
    cdef size_t found
    cdef uint64_t last_pause = 0
    cdef int64_t row = -1
    cdef passages_place place
    cdef passages_outcome outcome = PASSAGES_DONE
    rows, units = aligned(rows), aligned(units)
    if len(units) != count:
        raise ValueError(f"as many units as rows are needed, not {len(units)} and {count}")
    for i in range(count):
        if not 0 <= rows[i] < n or units[i] < 0:
            raise ValueError(f"rows must be in 0..{n - 1} and units at least 0, not {rows[i]} and {units[i]}")
        if i and (rows[i - 1] > rows[i] or (rows[i - 1] == rows[i] and units[i - 1] >= units[i])):
            raise ValueError("(rows, units) must rise")
    out_array = np.empty((count, 4), np.int64)
    cdef int64_t[:, ::1] out = out_array
    i = 0
    with nogil:
        while i < count and outcome != PASSAGES_BAD:
            row, stop = rows[i], i
            while stop < count and rows[stop] == row:
                stop += 1
            place.at = place.characters = place.units = 0
            found, outcome = 0, PASSAGES_UNFINISHED
            while outcome == PASSAGES_UNFINISHED:
                if words:
                    outcome = passages_locate_words(<const uint8_t*>addresses[row], lengths[row], &place, WORK, &units[i],
                                                    stop - i, &found, <passages_bounds*>&out[i, 0])
                else:
                    outcome = passages_locate_characters(<const uint8_t*>addresses[row], lengths[row], &place, WORK,
                                                         &units[i], stop - i, &found, <passages_bounds*>&out[i, 0])
                pause(&last_pause)
            i = stop
    if outcome == PASSAGES_BAD:
        raise ValueError(f"texts[{row}] has no unit {units[stop - 1]}, or is not UTF-8")
    return out_array


def have_same_words(texts, i, i_start, i_end, j, j_start, j_end):
    """Return whether the bytes i_start[k]..i_end[k] - 1 of texts[i[k]] have the words of j_start[k]..j_end[k] - 1 of
    texts[j[k]], for each k. Words are compared in lower case.
    """
    texts = Texts(texts)
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    columns = []
    for column in (i, i_start, i_end, j, j_start, j_end):
        columns.append(np.require(column, np.int64, "CA"))
    cdef const int64_t[::1] first = columns[0], first_start = columns[1], first_end = columns[2]
    cdef const int64_t[::1] second = columns[3], second_start = columns[4], second_end = columns[5]
    cdef Py_ssize_t k, n = len(texts), count = len(first)
    cdef size_t longest = 0, other_longest = 0, length, other_length
    cdef uint64_t last_pause = 0
    cdef passages_two_places places
    cdef passages_outcome outcome = PASSAGES_DONE
    cdef const uint8_t* a
    cdef const uint8_t* b
    cdef uint8_t* scratch
    if {len(column) for column in columns} != {count}:
        raise ValueError("all columns must be of one length")
    for k in range(count):
        if not (0 <= first[k] < n and 0 <= second[k] < n):
            raise ValueError(f"rows must be in 0..{n - 1}, not {first[k]} and {second[k]}")
        if not 0 <= first_start[k] <= first_end[k] <= lengths[first[k]]:
            raise ValueError(f"texts[{first[k]}] has no bytes from {first_start[k]} to {first_end[k]}")
        if not 0 <= second_start[k] <= second_end[k] <= lengths[second[k]]:
            raise ValueError(f"texts[{second[k]}] has no bytes from {second_start[k]} to {second_end[k]}")
        longest = max(longest, <size_t>(first_end[k] - first_start[k]))
        other_longest = max(other_longest, <size_t>(second_end[k] - second_start[k]))
    scratch = <uint8_t*>malloc(passages_most_lower(longest) + passages_most_lower(other_longest))
    if scratch == NULL:
        raise MemoryError
    try:
        with nogil:
            for k in range(count):
                a, length = <const uint8_t*>addresses[first[k]] + first_start[k], first_end[k] - first_start[k]
                b, other_length = <const uint8_t*>addresses[second[k]] + second_start[k], second_end[k] - second_start[k]
                if length != other_length or memcmp(a, b, length) != 0:
                    memset(&places, 0, sizeof(places))
                    outcome = PASSAGES_UNFINISHED
                    while outcome == PASSAGES_UNFINISHED:
                        outcome = passages_same_words(a, length, b, other_length, &places, WORK, scratch)
                        pause(&last_pause)
                    if outcome == PASSAGES_BAD:
                        break
                pause(&last_pause)
    finally:
        free(scratch)
    return outcome == PASSAGES_DONE


def slices(texts, const int64_t[::1] rows not None, const int64_t[::1] starts not None, const int64_t[::1] ends not None):
    """Return the bytes starts[i]..ends[i] - 1 of texts[rows[i]], as a list of bytes."""
    texts = Texts(texts)
    cdef const uint64_t[::1] addresses = texts.addresses
    cdef const int64_t[::1] lengths = texts.lengths
    cdef Py_ssize_t i, n = len(texts), count = len(rows)
    rows, starts, ends = aligned(rows), aligned(starts), aligned(ends)
    if not len(starts) == len(ends) == count:
        raise ValueError("rows, starts and ends must be of one length")
    found = []
    for i in range(count):
        if not 0 <= rows[i] < n:
            raise IndexError(f"rows must be in 0..{n - 1}, not {rows[i]}")
        if not 0 <= starts[i] <= ends[i] <= lengths[rows[i]]:
            raise ValueError(f"texts[{rows[i]}] has {lengths[rows[i]]} bytes, and none from {starts[i]} to {ends[i]}")
        found.append((<const char*>addresses[rows[i]] + starts[i])[:ends[i] - starts[i]])
    return found
