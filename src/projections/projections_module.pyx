"""Cells of vectors on random lines: p-stable projections."""

from libc.stdint cimport int64_t, uint64_t

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    bint rise_below(const int64_t*, size_t, size_t) nogil

cdef extern from "field.h":
    cdef enum domain:
        DOMAIN_GAUSSIAN
        DOMAIN_CAUCHY

cdef extern from "projections/projections.h":
    enum: PROJECTIONS_CHUNK
    struct projections_kernels:
        pass
    const projections_kernels** projections_levels
    struct c_lines "lines":
        const float* matrix
        const double* offsets
        size_t dim, step, count
        double width
    double projections_gaussian(uint64_t) nogil
    double projections_cauchy(uint64_t) nogil
    void projections_draw(uint64_t, domain, uint64_t, size_t, size_t, float*) nogil
    void projections_offsets(uint64_t, size_t, double*) nogil
    size_t projections_scratch(size_t, size_t) nogil
    size_t projections_dense(const projections_kernels*, const c_lines*, const float*, const double*, size_t, double*,
                             double*, uint64_t*) nogil
    int projections_sparse(const projections_kernels*, const c_lines*, const int64_t*, const float*, const double*,
                           size_t, double*, double*, uint64_t*) nogil

cdef const int* in_use = level_in_use()

# A matrix has the numbers of so many coordinates and so many functions at most.
MOST_COORDINATES = 0x7FFFFFFF
MOST_FUNCTIONS = 0x7FFFFFFF

cdef enum:
    DRAWN_STEPS = 32  # simple steps that a variate takes
    PRODUCTS = 64 * WORK  # added up between two calls of pause

ctypedef fused real:
    float
    double


def gaussian(uint64_t word):
    """Return the Gaussian variate of a word of random bits, before it is rounded to a float32."""
    return projections_gaussian(word)


def cauchy(uint64_t word):
    """Return the Cauchy variate of a word of random bits, before it is rounded to a float32."""
    return projections_cauchy(word)


def draw_lines(uint64_t seed, bint cauchy, float[:, ::1] out not None):
    """Write the numbers of the lines of a seed, Gaussian or Cauchy, to out, (dim, count)."""
    cdef size_t dim = out.shape[0], count = out.shape[1], j = 0, some
    cdef uint64_t last_pause = 0
    cdef domain drawn = DOMAIN_CAUCHY if cauchy else DOMAIN_GAUSSIAN
    if dim > <size_t>MOST_COORDINATES or count > <size_t>MOST_FUNCTIONS:
        raise ValueError(f"out must be at most ({MOST_COORDINATES}, {MOST_FUNCTIONS}), not ({dim}, {count})")
    if dim == 0 or count == 0:
        return
    check_out(&out[0, 0], sizeof(float))
    with nogil:
        while j < dim:
            some = min(dim - j, WORK // DRAWN_STEPS // count + 1)
            projections_draw(seed, drawn, j, some, count, &out[j, 0])
            j += some
            pause(&last_pause)


def offsets(uint64_t seed, size_t count):
    """Return the offsets of the first `count` lines of a seed, in cells: float64 (count,) in [0, 1)."""
    if count > <size_t>MOST_FUNCTIONS:
        raise ValueError(f"count must be at most {MOST_FUNCTIONS}, not {count}")
    array = np.empty(count, np.float64)
    cdef double[::1] out = array
    if count:
        projections_offsets(seed, count, &out[0])
    return array


cdef _check_lines(const float[:, ::1] matrix, const double[::1] offsets, double width, size_t dim, c_lines* lines):
    """Fill *lines in, with `matrix` and `offsets` that are aligned."""
    if len(offsets) < 1 or offsets.shape[0] > matrix.shape[1]:
        raise ValueError(f"offsets must be 1..{matrix.shape[1]}, the columns of the matrix, not {len(offsets)}")
    if <size_t>matrix.shape[0] != dim or dim < 1:
        raise ValueError(f"vectors must have {matrix.shape[0]} coordinates, the rows of the matrix, not {dim}")
    if not 0 < width < float("inf"):
        raise ValueError(f"width must be finite and above 0, not {width}")
    lines.matrix, lines.offsets = &matrix[0, 0], &offsets[0]
    lines.dim, lines.step, lines.count, lines.width = dim, matrix.shape[1], len(offsets), width


cdef _check_outputs(size_t n, size_t count, double[:, ::1] positions, uint64_t[:, ::1] values):
    if positions is not None:
        if <size_t>positions.shape[0] != n or <size_t>positions.shape[1] != count:
            raise ValueError(f"positions must be ({n}, {count}), not ({positions.shape[0]}, {positions.shape[1]})")
        if n:
            check_out(&positions[0, 0], sizeof(double))
    if values is not None:
        if <size_t>values.shape[0] != n or <size_t>values.shape[1] != count:
            raise ValueError(f"values must be ({n}, {count}), not ({values.shape[0]}, {values.shape[1]})")
        if n:
            check_out(&values[0, 0], sizeof(uint64_t))


def dense(const real[:, ::1] vectors not None, const float[:, ::1] matrix not None, const double[::1] offsets not None,
          double width, double[:, ::1] positions, uint64_t[:, ::1] values):
    """Write the positions of vectors, (n, dim), on lines, and the values of their cells, both (n, count) or None.

    The lines are the first `count` columns of the matrix, (dim, columns), with their offsets, (count,). Returns -1, or
    the first row with a position that has no cell; then not all rows are written.
    """
    vectors, matrix, offsets = aligned_rows(vectors), aligned_rows(matrix), aligned(offsets)
    cdef size_t n = vectors.shape[0], dim = vectors.shape[1], count = len(offsets), at = 0, some, most, done = 0
    cdef uint64_t last_pause = 0
    cdef c_lines lines
    _check_lines(matrix, offsets, width, dim, &lines)
    _check_outputs(n, count, positions, values)
    cdef double[::1] scratch = np.empty(projections_scratch(count, n), np.float64)
    cdef const projections_kernels* level = projections_levels[in_use[0]]
    cdef const float* floats = NULL
    cdef const double* doubles = NULL
    most = max(<size_t>1, <size_t>PRODUCTS // dim // count)
    with nogil:
        while at < n:
            some = min(n - at, min(<size_t>PROJECTIONS_CHUNK, most))
            if real is float:
                floats = &vectors[at, 0]
            else:
                doubles = &vectors[at, 0]
            done = projections_dense(level, &lines, floats, doubles, some, &scratch[0],
                                     NULL if positions is None else &positions[at, 0],
                                     NULL if values is None else &values[at, 0])
            if done < some:
                break
            at += some
            pause(&last_pause)
    return -1 if at == n else <Py_ssize_t>(at + done)


def rising(const int64_t[::1] starts not None, const int64_t[::1] columns not None, size_t dim):
    """Return whether the columns of each row of (starts, columns) rise, each below dim."""
    starts, columns = aligned(starts), aligned(columns)
    cdef size_t i = 0, n
    cdef const int64_t* first = &columns[0] if len(columns) else NULL
    if len(starts) < 1 or not rows_are_valid(&starts[0], len(starts) - 1, len(columns)):
        raise ValueError(f"starts must rise from 0 to at most {len(columns)}, the number of columns")
    n = len(starts) - 1
    with nogil:
        while i < n and rise_below(first + starts[i], starts[i + 1] - starts[i], dim):
            i += 1
    return i == n


def sparse(const int64_t[::1] starts not None, const int64_t[::1] columns not None, const real[::1] data not None,
           const float[:, ::1] matrix not None, const double[::1] offsets not None, double width,
           double[:, ::1] positions, uint64_t[:, ::1] values):
    """Do the same as `dense` for sparse vectors whose columns rise: row i is (columns, data) from starts[i] on."""
    starts, columns, data = aligned(starts), aligned(columns), aligned(data)
    matrix, offsets = aligned_rows(matrix), aligned(offsets)
    cdef size_t count = len(offsets), n, i = 0, start, size, done = 0
    cdef uint64_t last_pause = 0
    cdef c_lines lines
    cdef bint given = len(data) > 0
    _check_lines(matrix, offsets, width, matrix.shape[0], &lines)
    if len(data) != len(columns):
        raise ValueError(f"data must have {len(columns)} elements, as columns has, not {len(data)}")
    if not rising(starts, columns, matrix.shape[0]):
        raise ValueError(f"the columns of each row must rise, each below {matrix.shape[0]}")
    n = len(starts) - 1
    _check_outputs(n, count, positions, values)
    cdef double[::1] scratch = np.empty(projections_scratch(count, 1), np.float64)
    cdef const projections_kernels* level = projections_levels[in_use[0]]
    cdef const float* floats = NULL
    cdef const double* doubles = NULL
    cdef const int64_t* first = &columns[0] if given else NULL
    with nogil:
        while i < n:
            start, size = starts[i], starts[i + 1] - starts[i]
            if size:
                if real is float:
                    floats = &data[start]
                else:
                    doubles = &data[start]
            if not projections_sparse(level, &lines, first + start, floats, doubles, size, &scratch[0],
                                      NULL if positions is None else &positions[i, 0],
                                      NULL if values is None else &values[i, 0]):
                break
            i += 1
            done += (size + 1) * count
            if done >= WORK:
                done = 0
                pause(&last_pause)
    return -1 if i == n else <Py_ssize_t>i


cdef void draw_gaussian_lines(uint64_t seed, size_t dim, size_t count, float* lines) noexcept nogil:
    projections_draw(seed, DOMAIN_GAUSSIAN, 0, dim, count, lines)


cdef void draw_cauchy_lines(uint64_t seed, size_t dim, size_t count, float* lines) noexcept nogil:
    projections_draw(seed, DOMAIN_CAUCHY, 0, dim, count, lines)


cdef void offsets_of_lines(uint64_t seed, size_t count, double* offsets) noexcept nogil:
    projections_offsets(seed, count, offsets)


cdef size_t scratch_of_cells(size_t n, size_t count) noexcept nogil:
    return projections_scratch(count, n)


cdef size_t _cells(const float* floats, const double* doubles, size_t n, const c_lines* lines, double* scratch,
                   uint64_t* values) noexcept nogil:
    cdef size_t at = 0, some, done
    while at < n:
        some = min(n - at, <size_t>PROJECTIONS_CHUNK)
        done = projections_dense(projections_levels[in_use[0]], lines,
                                 floats + at * lines.dim if floats != NULL else NULL,
                                 doubles + at * lines.dim if doubles != NULL else NULL,
                                 some, scratch, NULL, values + at * lines.count)
        at += done
        if done < some:
            break
    return at


cdef size_t cells_of_floats(const float* vectors, size_t n, size_t dim, const float* lines, const double* offsets,
                            size_t count, double width, double* scratch, uint64_t* values) noexcept nogil:
    cdef c_lines used
    used.matrix, used.offsets, used.dim, used.step, used.count, used.width = lines, offsets, dim, count, count, width
    return _cells(vectors, NULL, n, &used, scratch, values)


cdef size_t cells_of_doubles(const double* vectors, size_t n, size_t dim, const float* lines, const double* offsets,
                             size_t count, double width, double* scratch, uint64_t* values) noexcept nogil:
    cdef c_lines used
    used.matrix, used.offsets, used.dim, used.step, used.count, used.width = lines, offsets, dim, count, count, width
    return _cells(NULL, vectors, n, &used, scratch, values)
