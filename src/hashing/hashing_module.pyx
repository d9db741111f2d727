"""Families of hash functions with proven guarantees, and perfect hashing with two levels."""

from libc.stdint cimport uint8_t, uint64_t

import numpy as np

from lshfast.kernels.guards cimport aligned, aligned_rows, check_out, pause, product_of

cdef extern from "field.h":
    uint64_t P61
    cdef enum domain:
        pass
    uint64_t draw(uint64_t, domain, uint64_t) nogil

cdef extern from "hashing/hashing.h":
    uint64_t HASHING_SMALL_PRIMES
    size_t HASHING_MOST_KEYS
    enum: HASHING_TABLE_WORDS
    enum: HASHING_SECOND_DRAWS
    struct hashing_line:
        uint64_t a_high, a_low, b_high, b_low
    void hashing_polynomial(const uint64_t*, size_t, const uint64_t*, size_t, uint64_t, uint64_t, uint64_t*) nogil
    void hashing_multiply_shift(const uint64_t*, size_t, uint64_t, unsigned, uint64_t*) nogil
    void hashing_lines(const uint64_t*, size_t, const hashing_line*, uint64_t, uint64_t*) nogil
    void hashing_tabulation(const uint64_t*, size_t, const uint64_t*, uint64_t, uint64_t*) nogil
    void hashing_count(const uint64_t*, size_t, size_t, const hashing_line*, uint64_t*) nogil
    int hashing_measure(const uint64_t*, size_t, uint64_t*, uint64_t*) nogil
    void hashing_begin(uint64_t*, size_t, uint64_t*) nogil
    void hashing_group(const uint64_t*, const uint64_t*, size_t, size_t, const hashing_line*, uint64_t*,
                       uint64_t*) nogil
    int hashing_place(const uint64_t*, const hashing_line*, size_t, size_t*, size_t*, size_t*, uint64_t*, uint64_t*,
                      uint64_t*) nogil
    void hashing_look_up(const uint64_t*, size_t, const hashing_line*, const hashing_line*, const uint64_t*, size_t,
                         const uint64_t*, size_t, uint64_t*, uint8_t*) nogil

MOST_KEYS = HASHING_MOST_KEYS
SECOND_DRAWS = HASHING_SECOND_DRAWS
TABLE_WORDS = HASHING_TABLE_WORDS

cdef enum:
    STEP = 1 << 16  # keys between two calls of pause


def words(uint64_t seed, int number, uint64_t first, size_t count):
    """Return draw(seed, domain, i) for the domain of a number and i = first .. first + count - 1, uint64 (count,)."""
    product_of(count, sizeof(uint64_t))
    array = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = array
    cdef size_t i
    for i in range(count):
        out[i] = draw(seed, <domain>number, first + i)
    return array


cdef int _check_out(size_t n, uint64_t[::1] out) except -1:
    if <size_t>len(out) != n:
        raise ValueError(f"out must have {n} numbers, as keys has, not {len(out)}")
    if n:
        check_out(&out[0], sizeof(uint64_t))
    return 0


cdef int _read_line(str name, const uint64_t[::1] numbers, hashing_line* line) except -1:
    if len(numbers) != 4:
        raise ValueError(f"{name} must have 4 words, not {len(numbers)}")
    numbers = aligned(numbers)
    line.a_high, line.a_low, line.b_high, line.b_low = numbers[0], numbers[1], numbers[2], numbers[3]
    return 0


def polynomial(const uint64_t[::1] keys not None, const uint64_t[::1] coefficients not None, uint64_t prime,
               uint64_t buckets, uint64_t[::1] out not None):
    """Write the values of a polynomial, the highest power first, modulo the prime and then `buckets`, to out, (n,).

    Returns -1, or the first key that is not below the prime; then not all values are written.
    """
    keys, coefficients = aligned(keys), aligned(coefficients)
    cdef size_t n = len(keys), k = len(coefficients), at = 0, some, step, i
    cdef uint64_t last_pause = 0
    cdef bint outside = False
    _check_out(n, out)
    if prime != P61 and not 2 <= prime < HASHING_SMALL_PRIMES:
        raise ValueError(f"prime must be 2**61 - 1 or below 2**32, not {prime}")
    if not 1 <= buckets <= prime:
        raise ValueError(f"buckets must be in 1..{prime}, the prime, not {buckets}")
    if k == 0:
        raise ValueError("coefficients must have at least one number")
    for i in range(k):
        if coefficients[i] >= prime:
            raise ValueError(f"coefficients must be below the prime, {prime}, not {coefficients[i]}")
    if n == 0:
        return -1
    cdef const uint64_t* first = &keys[0]
    step = STEP // k // 8 * 8 + 8
    with nogil:
        while at < n and not outside:
            some = min(n - at, step)
            for i in range(at, at + some):
                if first[i] >= prime:
                    outside = True
                    break
            else:
                hashing_polynomial(&keys[at], some, &coefficients[0], k, prime, buckets, &out[at])
            at += some
            pause(&last_pause)
    return <Py_ssize_t>i if outside else -1


def multiply_shift(const uint64_t[::1] keys not None, uint64_t a, int bits, uint64_t[::1] out not None):
    """Write the highest `bits` bits, 1 to 64, of a x mod 2**64 of keys x to out, (n,); a is odd."""
    keys = aligned(keys)
    cdef size_t n = len(keys), at = 0, some
    cdef uint64_t last_pause = 0
    _check_out(n, out)
    if not 1 <= bits <= 64:
        raise ValueError(f"bits must be in 1..64, not {bits}")
    if a % 2 == 0:
        raise ValueError(f"a must be odd, not {a}")
    with nogil:
        while at < n:
            some = min(n - at, <size_t>STEP)
            hashing_multiply_shift(&keys[at], some, a, bits, &out[at])
            at += some
            pause(&last_pause)


def lines(const uint64_t[::1] keys not None, const uint64_t[::1] line not None, uint64_t buckets,
          uint64_t[::1] out not None):
    """Write the buckets of keys x to out, (n,): of the upper word of a x + b mod 2**128, a and b in `line`, (4,).

    `buckets` = 0 stands for 2**64.
    """
    keys = aligned(keys)
    cdef size_t n = len(keys), at = 0, some
    cdef uint64_t last_pause = 0
    cdef hashing_line used
    _check_out(n, out)
    _read_line("line", line, &used)
    with nogil:
        while at < n:
            some = min(n - at, <size_t>STEP)
            hashing_lines(&keys[at], some, &used, buckets, &out[at])
            at += some
            pause(&last_pause)


def tabulation(const uint64_t[::1] keys not None, const uint64_t[::1] tables not None, uint64_t buckets,
               uint64_t[::1] out not None):
    """Write the buckets of keys under mixed tabulation with tables of TABLE_WORDS words to out, (n,)."""
    keys, tables = aligned(keys), aligned(tables)
    cdef size_t n = len(keys), at = 0, some
    cdef uint64_t last_pause = 0
    _check_out(n, out)
    if len(tables) != HASHING_TABLE_WORDS:
        raise ValueError(f"tables must have {HASHING_TABLE_WORDS} words, not {len(tables)}")
    with nogil:
        while at < n:
            some = min(n - at, <size_t>STEP)
            hashing_tabulation(&keys[at], some, &tables[0], buckets, &out[at])
            at += some
            pause(&last_pause)


cdef const hashing_line* _second_functions(const uint64_t[:, ::1] second) except NULL:
    if second.shape[0] != HASHING_SECOND_DRAWS or second.shape[1] != 4:
        raise ValueError(f"second must be ({HASHING_SECOND_DRAWS}, 4), not ({second.shape[0]}, {second.shape[1]})")
    return <const hashing_line*>&second[0, 0]


def build(keys, values, const uint64_t[::1] first not None, const uint64_t[:, ::1] second not None, size_t most):
    """Return (sum of b**2, directory, cells, draws) of a perfect hash map of n keys and values, or None in their places.

    They are None if the sum of the squares of the sizes b of the buckets is above `most`, if two keys are equal, or if a
    bucket has no second function without collisions. directory is uint64 (n,), cells (m, 2); draws[t] is the number of
    buckets of two or more keys that took second function t.
    """
    # Copies: another thread may change the arrays of the caller between two passes over them.
    cdef const uint64_t[::1] of_keys = np.array(keys, np.uint64, order="C")
    cdef const uint64_t[::1] of_values = np.array(values, np.uint64, order="C")
    second = aligned_rows(second)
    cdef size_t n = len(of_keys), at = 0, some, bucket = 0, pair = 0, cell = 0
    cdef uint64_t squares = 0, total = 0, before = 0, last_pause = 0
    cdef hashing_line f
    cdef const hashing_line* g = _second_functions(second)
    cdef int failed = 0
    _read_line("first", first, &f)
    if n < 1 or n > HASHING_MOST_KEYS:
        raise ValueError(f"keys must be 1..{HASHING_MOST_KEYS} numbers, not {n}")
    if <size_t>len(of_values) != n:
        raise ValueError(f"values must have {n} numbers, as keys has, not {len(of_values)}")
    directory = np.zeros(n, np.uint64)
    cdef uint64_t[::1] buckets = directory
    with nogil:
        while at < n:
            some = min(n - at, <size_t>STEP)
            hashing_count(&of_keys[at], some, n, &f, &buckets[0])
            at += some
            pause(&last_pause)
        failed = not hashing_measure(&buckets[0], n, &squares, &total)
    if failed or squares > most:
        return (None if failed else squares), None, None, None
    grouped = np.empty((n, 2), np.uint64)
    cells = np.empty((total, 2), np.uint64)
    draws = np.zeros(HASHING_SECOND_DRAWS, np.uint64)
    cdef uint64_t[:, ::1] pairs = grouped, places = cells
    cdef uint64_t[::1] taken = draws
    with nogil:
        hashing_begin(&buckets[0], n, &before)
        at = 0
        while at < n:
            some = min(n - at, <size_t>STEP)
            hashing_group(&of_keys[at], &of_values[at], some, n, &f, &buckets[0], &pairs[0, 0])
            at += some
            pause(&last_pause)
        at = 0
        while at < n and not failed:
            at += min(n - at, <size_t>STEP // 4)
            failed = hashing_place(&pairs[0, 0], g, at, &bucket, &pair, &cell, &buckets[0], &places[0, 0], &taken[0])
            pause(&last_pause)
    if failed:
        return squares, None, None, None
    return squares, directory, cells, draws


def look_up(const uint64_t[::1] keys not None, const uint64_t[::1] first not None,
            const uint64_t[:, ::1] second not None, const uint64_t[::1] directory not None,
            const uint64_t[:, ::1] cells not None, uint64_t[::1] values not None, uint8_t[::1] found not None):
    """Write the values of keys to values, (n,), and whether the map of `build` has them to found, (n,).

    The values of keys that it does not have stay as they are.
    """
    keys, directory, second, cells = aligned(keys), aligned(directory), aligned_rows(second), aligned_rows(cells)
    cdef size_t n = len(keys), at = 0, some
    cdef uint64_t last_pause = 0
    cdef hashing_line f
    cdef const hashing_line* g = _second_functions(second)
    _check_out(n, values)
    _read_line("first", first, &f)
    if <size_t>len(found) != n:
        raise ValueError(f"found must have {n} numbers, as keys has, not {len(found)}")
    if len(directory) < 1 or cells.shape[0] < 1 or cells.shape[1] != 2:
        raise ValueError("directory and cells must be those of a map of at least one key")
    with nogil:
        while at < n:
            some = min(n - at, <size_t>STEP)
            hashing_look_up(&keys[at], some, &f, g, &directory[0], len(directory), &cells[0, 0], cells.shape[0],
                            &values[at], &found[at])
            at += some
            pause(&last_pause)
