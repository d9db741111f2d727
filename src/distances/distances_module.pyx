"""Exact distances between points, which are rows of 64-bit words: a kernel of nearest-neighbour search."""

from libc.stdint cimport uint32_t, uint64_t

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause

cdef extern from "compiler.h":
    void prefetch(const void*) nogil

cdef extern from "distances/distances.h":
    cdef enum distances_measure:
        pass
    cdef enum distances_layout:
        pass
    ctypedef double distances_function(const uint64_t*, const uint64_t*, size_t) noexcept nogil
    struct distances_kernels:
        distances_function* of[5][4]
    const distances_kernels** distances_levels
    size_t distances_words(distances_layout, distances_measure, size_t) nogil

cdef const int* in_use = level_in_use()

MEASURES = ("cosine", "euclidean", "manhattan", "hamming")
LAYOUTS = ("float32", "float64", "sparse32", "sparse64", "bits")


cdef distances_function* _function(str measure, str layout) except NULL:
    cdef distances_function* found = NULL
    if measure in MEASURES and layout in LAYOUTS:
        found = distances_levels[in_use[0]].of[<int>LAYOUTS.index(layout)][<int>MEASURES.index(measure)]
    if found == NULL:
        raise ValueError(f"there is no measure {measure!r} of points with the layout {layout!r}")
    return found


def words_of(str measure not None, str layout not None, size_t dim):
    """Return the number of words of a point; dim is the number of values, the most values, or the words of bits."""
    _function(measure, layout)
    if not 1 <= dim < 1 << 31:
        raise ValueError(f"dim must be in 1..2**31 - 1, not {dim}")
    cdef int row = LAYOUTS.index(layout), column = MEASURES.index(measure)
    return distances_words(<distances_layout>row, <distances_measure>column, dim)


def distances(const uint64_t[:, ::1] a not None, const uint64_t[:, ::1] b not None, str measure not None,
              str layout not None, size_t dim, double[::1] out not None):
    """Write the distance of each row of b, (n, words), to its row of a, or to the one row of a."""
    a, b = aligned_rows(a), aligned_rows(b)
    cdef distances_function* function = _function(measure, layout)
    cdef size_t words = words_of(measure, layout, dim), n = b.shape[0], i, step, done = 0
    cdef uint64_t last_pause = 0
    if <size_t>a.shape[1] != words or <size_t>b.shape[1] != words:
        raise ValueError(f"a and b must have rows of {words} words, not of {a.shape[1]} and {b.shape[1]}")
    if a.shape[0] != 1 and <size_t>a.shape[0] != n:
        raise ValueError(f"a must have 1 row or {n}, as b has, not {a.shape[0]}")
    if <size_t>len(out) != n:
        raise ValueError(f"out must have {n} elements, one for each row of b, not {len(out)}")
    if not n:
        return
    check_out(&out[0], sizeof(double))
    step = 0 if a.shape[0] == 1 else words
    with nogil:
        for i in range(n):
            out[i] = function(&a[0, 0] + i * step, &b[0, 0] + i * words, dim)
            done += words
            if done >= WORK:
                done = 0
                pause(&last_pause)


def distances_of_pairs(const uint64_t[:, ::1] points not None, const uint64_t[::1] pairs not None, str measure not None,
                       str layout not None, size_t dim, double[::1] out not None):
    """Write the distance of the rows of points, (n, words), of each pair: right << 32 | left."""
    points, pairs = aligned_rows(points), aligned(pairs)
    cdef distances_function* function = _function(measure, layout)
    cdef size_t words = words_of(measure, layout, dim), n = points.shape[0], i, m = len(pairs), done = 0
    cdef uint64_t last_pause = 0
    cdef const uint64_t* first
    if <size_t>points.shape[1] != words:
        raise ValueError(f"points must have rows of {words} words, not of {points.shape[1]}")
    if <size_t>len(out) != m:
        raise ValueError(f"out must have {m} elements, one for each pair, not {len(out)}")
    if not m:
        return
    check_out(&out[0], sizeof(double))
    for i in range(m):
        if pairs[i] >> 32 >= n or <uint32_t>pairs[i] >= n:
            raise ValueError(f"rows of pairs must be below {n}, the number of points, unlike those of pair {i}")
    first = &points[0, 0]
    with nogil:
        for i in range(m):
            if i + 4 < m:
                prefetch(first + (pairs[i + 4] >> 32) * words)
                prefetch(first + <uint32_t>pairs[i + 4] * words)
            out[i] = function(first + <uint32_t>pairs[i] * words, first + (pairs[i] >> 32) * words, dim)
            done += words
            if done >= WORK:
                done = 0
                pause(&last_pause)
