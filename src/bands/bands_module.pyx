"""Band keys, and candidate pairs by sorting them: the kernels of the third stage."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, array_of, check_out, pause

cdef extern from "rows.h":
    bint rise_below(const int64_t*, size_t, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "bands/bands.h":
    const uint64_t BANDS_MOST_MEMBERS
    ctypedef void band_key_kernel(const uint64_t*, const uint64_t*, size_t, size_t, uint64_t*) nogil
    band_key_kernel** bands_levels
    enum: BANDS_DIGIT_BITS
    enum: BANDS_DIGIT_VALUES
    void bands_count_digits(const uint64_t*, size_t, unsigned, size_t*) nogil
    void bands_starts_of_digits(size_t*) nogil
    void bands_move_by_digit(const uint64_t*, const int64_t*, size_t, unsigned, size_t*, uint64_t*, int64_t*) nogil
    struct bucket_walk:
        size_t last, i, j
        bint done
    void bands_keys(band_key_kernel*, const uint64_t*, size_t, size_t, size_t, size_t, uint64_t*) nogil
    void bands_keys_apart(band_key_kernel*, const uint64_t*, size_t, size_t, size_t, uint64_t*) nogil
    size_t bands_records(const uint64_t*, size_t, size_t, const int64_t*, size_t, uint64_t*) nogil
    void bands_sort_records(uint64_t*, size_t, uint64_t*) nogil
    size_t bands_number_buckets(uint64_t*, size_t, const int64_t*, const uint64_t*, size_t, size_t,
                                int32_t*) nogil
    size_t bands_bucket_pairs(const uint64_t*, size_t, const int64_t*, const uint64_t*, size_t, size_t, bucket_walk*,
                              int64_t*, int64_t*, size_t, size_t) nogil

cdef extern from "bands/filters.h":
    struct band_filters:
        size_t bands, first, rows, stride, hashes
        uint64_t bits
    bint c_filters_hold "filters_hold"(band_key_kernel*, const band_filters*, const uint8_t*, const uint64_t*) nogil
    void c_filters_add "filters_add"(band_key_kernel*, const band_filters*, uint8_t*, const uint64_t*) nogil
    const size_t FILTERS_MOST_HASHES
    void filters_hold_keys(const uint8_t*, uint64_t, size_t, const uint64_t*, size_t, uint8_t*) nogil
    void filters_add_keys(uint8_t*, uint64_t, size_t, const uint64_t*, size_t, uint8_t*) nogil

# Pairs are written in pieces of this size first, each further piece twice as long.
FIRST_PIECE = 1 << 12
LONGEST_PIECE = 1 << 22

cdef enum:
    FEW = 1 << 22  # numbers that are left to numpy to sort
    MOST_HASHES = 1 << 16  # bits of a key in a filter

cdef const int* in_use = level_in_use()


cdef inline band_key_kernel* kernel() noexcept nogil:
    return bands_levels[in_use[0]]


def band_keys(const uint64_t[:, ::1] signatures not None, size_t bands, size_t rows, uint64_t[:, ::1] out not None,
              bint apart=False):
    """Write the keys of `bands` bands of `rows` slots of the signatures, (n, k), to out, (n, bands).

    If the bands are judged apart, `rows` must be 1, and only the slots of all ones have keys of all ones. Otherwise all
    keys are all ones if the first slot is.
    """
    signatures = aligned_rows(signatures)
    cdef size_t n = signatures.shape[0], k = signatures.shape[1], at = 0, some
    cdef uint64_t last_pause = 0
    if bands < 1 or rows < 1 or bands > k // rows:
        raise ValueError(f"bands x rows must be in 1..{k}, the length of the signatures, not {bands} x {rows}")
    if apart and rows != 1:
        raise ValueError(f"rows must be 1 if bands are judged apart, not {rows}")
    if <size_t>out.shape[0] != n or <size_t>out.shape[1] != bands:
        raise ValueError(f"out must be ({n}, {bands}), not ({out.shape[0]}, {out.shape[1]})")
    if n:
        check_out(&out[0, 0], sizeof(uint64_t))
    with nogil:
        while at < n:
            some = min(n - at, WORK // k + 1)
            if apart:
                bands_keys_apart(kernel(), &signatures[at, 0], some, k, bands, &out[at, 0])
            else:
                bands_keys(kernel(), &signatures[at, 0], some, k, bands, rows, &out[at, 0])
            at += some
            if at < n:
                pause(&last_pause)


def number_buckets(const uint64_t[:, ::1] keys not None, size_t band, const int64_t[::1] members not None,
                   int32_t[:, ::1] out not None):
    """Number the buckets of a band that hold two members or more, from 0, and return how many there are.

    out, (members, bands), takes the number of each member's bucket in this band's column; it stays as it is where a
    member is alone, and is to be filled with -1 before. Members are rows in any order, each once.
    """
    keys, members = aligned_rows(keys), aligned(members)
    cdef size_t n = len(members), bands = keys.shape[1], count = 0, made = 0
    if band >= bands:
        raise ValueError(f"band must be below {bands}, the number of bands, not {band}")
    if <size_t>out.shape[0] != n or <size_t>out.shape[1] != bands:
        raise ValueError(f"out must be ({n}, {bands}), not ({out.shape[0]}, {out.shape[1]})")
    if n == 0:
        return 0
    check_out(&out[0, 0], sizeof(int32_t))
    if not are_below(&members[0], n, keys.shape[0]):
        raise ValueError(f"members must be within 0..{keys.shape[0] - 1}")
    if n >= 1 << 31:
        raise ValueError(f"members must be fewer than 2**31, not {n}")
    records_array, scratch_array = np.empty(n, np.uint64), np.empty(n, np.uint64)
    cdef uint64_t[::1] records = records_array, scratch = scratch_array
    with nogil:
        count = bands_records(&keys[0, 0], bands, band, &members[0], n, &records[0])
        bands_sort_records(&records[0], count, &scratch[0])
        made = bands_number_buckets(&records[0], count, &members[0], &keys[0, 0], bands, band, &out[0, 0])
    return made


def pairs_of_band(const uint64_t[:, ::1] keys not None, size_t band, const int64_t[::1] members not None, limit,
                  screen=None):
    """Return (i, j), int64, of the members (ascending rows) that share this band's key and none of an earlier band.

    `screen(i, j)` tells of some pairs at a time which to keep. Raises OverflowError as soon as there are more than
    `limit` pairs of those kept.
    """
    keys, members = aligned_rows(keys), aligned(members)
    cdef size_t n = len(members), bands = keys.shape[1], count = 0, made = 0, capacity = FIRST_PIECE
    cdef size_t work
    cdef uint64_t last_pause = 0
    cdef bucket_walk walk = [0, 0, 0, False]
    cdef int64_t[::1] left, right
    if band >= bands:
        raise ValueError(f"band must be below {bands}, the number of bands, not {band}")
    work = WORK // (band + 1) + 1
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    found = 0
    if n == 0:
        return parts[0]
    if not rise_below(&members[0], n, keys.shape[0]):
        raise ValueError(f"members must rise within 0..{keys.shape[0] - 1}")
    if n > BANDS_MOST_MEMBERS:
        raise ValueError(f"members must be at most {BANDS_MOST_MEMBERS}, not {n}")
    records_array, scratch_array = np.empty(n, np.uint64), np.empty(n, np.uint64)
    cdef uint64_t[::1] records = records_array, scratch = scratch_array
    with nogil:
        count = bands_records(&keys[0, 0], bands, band, &members[0], n, &records[0])
        bands_sort_records(&records[0], count, &scratch[0])
    while not walk.done:
        parts.append((np.empty(capacity, np.int64), np.empty(capacity, np.int64)))
        left, right = parts[-1]
        made = 0
        with nogil:
            while not walk.done and made < capacity:
                made += bands_bucket_pairs(&records[0], count, &members[0], &keys[0, 0], bands, band, &walk,
                                           &left[made], &right[made], capacity - made, work)
                pause(&last_pause)
        parts[-1] = parts[-1][0][:made], parts[-1][1][:made]
        if screen is not None:
            kept = screen(*parts[-1])
            parts[-1] = parts[-1][0][kept], parts[-1][1][kept]
        found += len(parts[-1][0])
        if found > limit:
            raise OverflowError(f"band {band} alone holds more than {limit} candidate pairs")
        capacity = min(2 * capacity, LONGEST_PIECE)
    return _joined([i for i, _ in parts], found), _joined([j for _, j in parts], found)


cdef _joined(list parts, size_t n):
    """Return arrays of int64 as one; between two of them a signal may come."""
    cdef uint64_t last_pause = 0
    cdef size_t at = 0
    whole = np.empty(n, np.int64)
    for part in parts:
        whole[at:at + len(part)] = part
        at += len(part)
        pause(&last_pause)
    return whole


def sorted_numbers(uint64_t[::1] numbers not None):
    """Return numbers in ascending order, uint64 (n,); their memory is used. Unlike numpy's, this can be interrupted."""
    if len(numbers):
        check_out(&numbers[0], sizeof(uint64_t))
    array = array_of(numbers)
    return _sorted_below(array, int(array.max()).bit_length() if len(array) else 0)


cdef _sorted_below(numbers, int bits):
    """Return numbers that are equal above their lowest bits in ascending order, by their highest digit and by numpy."""
    cdef size_t[::1] ends = np.zeros(BANDS_DIGIT_VALUES, np.uintp)
    cdef size_t first = 0, digit
    cdef uint64_t last_pause = 0
    cdef unsigned shift = max(bits - BANDS_DIGIT_BITS, 0)
    if len(numbers) <= FEW:
        numbers.sort()
        return numbers
    digits = np.empty_like(numbers)
    _move_by_digit(numbers, None, shift, digits, None, &ends[0])
    for digit in range(BANDS_DIGIT_VALUES):
        part = digits[first:ends[digit]]
        if len(part) > FEW and shift:
            part[:] = _sorted_below(part, shift)
        elif len(part) > 1 and shift:
            part.sort()
            pause(&last_pause)
        first = ends[digit]
    return digits


def order(const uint64_t[::1] numbers not None):
    """Return the stable order that sorts numbers, int64 (n,); this can be interrupted."""
    cdef size_t[::1] ends = np.zeros(BANDS_DIGIT_VALUES, np.uintp)
    cdef unsigned shift = 0
    keys, places = np.array(numbers, np.uint64), np.arange(len(numbers), dtype=np.int64)
    cdef uint64_t highest = keys.max() if len(keys) else 0
    spare, spare_places = np.empty_like(keys), np.empty_like(places)
    while shift < 64 and highest >> shift:
        _move_by_digit(keys, places, shift, spare, spare_places, &ends[0])
        keys, spare = spare, keys
        places, spare_places = spare_places, places
        shift += BANDS_DIGIT_BITS
    return places


cdef _move_by_digit(const uint64_t[::1] numbers, const int64_t[::1] places, unsigned shift, uint64_t[::1] to,
                    int64_t[::1] places_to, size_t* ends):
    """Bring numbers, and their places unless that is None, into the stable order of a digit; tell where each ends."""
    cdef size_t n = len(numbers), at = 0, some
    cdef uint64_t last_pause = 0
    cdef int64_t* placed = NULL if places is None else &places_to[0]
    memset(ends, 0, BANDS_DIGIT_VALUES * sizeof(size_t))
    with nogil:
        while at < n:
            some = min(n - at, <size_t>WORK)
            bands_count_digits(&numbers[at], some, shift, ends)
            at += some
            pause(&last_pause)
        bands_starts_of_digits(ends)
        at = 0
        while at < n:
            some = min(n - at, <size_t>WORK)
            bands_move_by_digit(&numbers[at], &places[at] if placed else NULL, some, shift, ends, &to[0], placed)
            at += some
            pause(&last_pause)


cdef void keys_of_bands(const uint64_t* signatures, size_t n, size_t k, size_t bands, size_t rows,
                        uint64_t* out) noexcept nogil:
    bands_keys(kernel(), signatures, n, k, bands, rows, out)


cdef band_filters shape_of(const uint8_t[:, ::1] filters, size_t slots, size_t first, size_t rows, uint64_t bits,
                           size_t hashes) except *:
    """Return the shape of Bloom filters of bands, after checking it against the arrays."""
    cdef band_filters shape
    shape.bands, shape.stride = filters.shape[0], filters.shape[1]
    shape.first, shape.rows, shape.bits, shape.hashes = first, rows, bits, hashes
    if shape.bands < 1 or rows < 1 or rows > slots or shape.bands > slots // rows:
        raise ValueError(f"{shape.bands} filters of bands of {rows} rows need as many slots, not {slots}")
    if bits < 1 or (bits - 1) // 8 >= shape.stride:
        raise ValueError(f"bits must be in 1..{8 * shape.stride}, the length of the filters, not {bits}")
    if hashes > MOST_HASHES:
        raise ValueError(f"hashes must be at most {MOST_HASHES}, not {hashes}")
    return shape


def filters_hold(const uint8_t[:, ::1] filters not None, const uint64_t[::1] slots not None, size_t rows, uint64_t bits,
                 size_t hashes, size_t first=0):
    """Tell whether any of the Bloom filters (n, bytes), of the bands from `first` on, holds the key of its band.

    slots are those of these bands, (at least n * rows,): the first belongs to band `first`.
    """
    slots = aligned(slots)
    cdef band_filters shape = shape_of(filters, slots.shape[0], first, rows, bits, hashes)
    return c_filters_hold(kernel(), &shape, &filters[0, 0], &slots[0])


def filters_add(uint8_t[:, ::1] filters not None, const uint64_t[::1] slots not None, size_t rows, uint64_t bits,
                size_t hashes, size_t first=0):
    """Set the bits of the keys of the bands in their Bloom filters: the arguments are those of `filters_hold`."""
    slots = aligned(slots)
    cdef band_filters shape = shape_of(filters, slots.shape[0], first, rows, bits, hashes)
    c_filters_add(kernel(), &shape, &filters[0, 0], &slots[0])


MOST_HASHES_OF_KEYS = FILTERS_MOST_HASHES


cdef _look_up(const uint8_t[::1] filter, uint8_t* written, const uint64_t[::1] keys, uint64_t bits, size_t hashes):
    """Return which keys the filter holds, and add them if it is written, one after the other."""
    cdef size_t at = 0, some, n = len(keys)
    cdef uint64_t last_pause = 0
    if bits < 1 or (bits - 1) // 8 >= <size_t>len(filter):
        raise ValueError(f"bits must be in 1..{8 * len(filter)}, the length of the filter, not {bits}")
    if not 1 <= hashes <= FILTERS_MOST_HASHES:
        raise ValueError(f"hashes must be in 1..{FILTERS_MOST_HASHES}, not {hashes}")
    keys = aligned(keys)
    held_array = np.empty(n, np.uint8)
    cdef uint8_t[::1] held = held_array
    with nogil:
        while at < n:
            some = min(n - at, WORK // 64 + 1)
            if written == NULL:
                filters_hold_keys(&filter[0], bits, hashes, &keys[at], some, &held[at])
            else:
                filters_add_keys(written, bits, hashes, &keys[at], some, &held[at])
            at += some
            pause(&last_pause)
    return held_array.view(np.bool_)


def hold_keys(const uint8_t[::1] filter not None, const uint64_t[::1] keys not None, uint64_t bits, size_t hashes):
    """Return which keys a Bloom filter of single keys holds, bool (n,)."""
    return _look_up(filter, NULL, keys, bits, hashes)


def add_keys(uint8_t[::1] filter not None, const uint64_t[::1] keys not None, uint64_t bits, size_t hashes):
    """Add keys to a Bloom filter of single keys, one after the other, and return which it held before, bool (n,)."""
    return _look_up(filter, &filter[0] if len(filter) else NULL, keys, bits, hashes)
