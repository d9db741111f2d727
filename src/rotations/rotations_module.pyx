"""Rotations of dense and sparse vectors, and the hash values of angles that are taken from them."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause, product_of

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "rotations/rotations.h":
    const size_t ROTATIONS_ROUNDS
    const size_t ROTATIONS_MAX_DIM
    struct rotations_kernels:
        void (*signs)(const float*, size_t, uint64_t*) noexcept nogil
        size_t (*farthest)(const float*, size_t) noexcept nogil
    const rotations_kernels** rotations_levels
    struct rotations_shape:
        size_t parts
        size_t block
    cdef enum rotations_row:
        ROTATIONS_ROW
        ROTATIONS_ZERO_ROW
        ROTATIONS_NOT_FINITE
    rotations_shape rotations_shape_of(size_t) nogil
    void rotations_factors(uint64_t, uint64_t, size_t, float*) nogil
    rotations_row rotations_load_floats(const rotations_kernels*, const float*, size_t, size_t, float*,
                                        const float**) nogil
    rotations_row rotations_load_doubles(const rotations_kernels*, const double*, size_t, size_t, float*,
                                         const float**) nogil
    void rotations_rotate(const rotations_kernels*, rotations_shape, const float*, const float*, float*,
                          size_t) nogil

cdef const int* in_use = level_in_use()

ctypedef fused real:
    float
    double

MAX_DIM = ROTATIONS_MAX_DIM

cdef enum:
    BLOCK_ROWS = 8  # rows that one rotation is applied to before the next, whose factors replace those of the first in the cache

# What becomes of the rotated rows: they are written, or the signs or the farthest coordinates of them.
cdef enum Result:
    COORDINATES
    SIGNS
    FARTHEST


cdef struct Task:
    const rotations_kernels* kernels
    rotations_shape shape
    const float* factors
    size_t dim
    size_t count    # coordinates that are taken, of all rotations together
    size_t outputs  # coordinates of which the farthest is taken
    size_t step     # 4-byte or 8-byte elements between rows of the result
    Result result
    void* out
    uint8_t* zero   # 1 for rows of zeros


cdef size_t _padded(size_t dim) except 0:
    if not 1 <= dim <= ROTATIONS_MAX_DIM:
        raise ValueError(f"dim must be in 1..{ROTATIONS_MAX_DIM}, not {dim}")
    cdef rotations_shape shape = rotations_shape_of(dim)
    return shape.parts * shape.block


def shape(size_t dim):
    """Return (parts, block): vectors of dim coordinates are padded to parts * block, which is at least 256."""
    _padded(dim)
    cdef rotations_shape found = rotations_shape_of(dim)
    return found.parts, found.block


def factors(uint64_t seed, size_t rotations, size_t dim):
    """Return the factors of the first rotations of a seed: float32 (rotations, rounds * padded size)."""
    cdef size_t size = _padded(dim), i
    array = np.empty((rotations, ROTATIONS_ROUNDS * size), np.float32)
    cdef float[:, ::1] out = array
    with nogil:
        for i in range(rotations):
            rotations_factors(seed, i, size, &out[i, 0])
    return array


def rotate(const real[::1] values not None, const int64_t[::1] offsets, const int64_t[::1] columns, size_t dim,
           const float[:, ::1] factors not None, float[:, ::1] out not None):
    """Write the first coordinates of vectors after rotations to out, (n, count); rows of zeros become zeros.

    The vectors are rows of dim values, or, with offsets and columns, sparse rows. Return the first row that has a NaN or
    an infinity, or -1; the rows from it on are not written.
    """
    cdef Task task = _task(dim, factors, out.shape[1])
    task.result, task.step = COORDINATES, out.shape[1]
    zero = np.empty(out.shape[0], np.uint8)
    cdef uint8_t[::1] zeros = zero
    if not out.shape[0] or not out.shape[1]:
        return -1
    check_out(&out[0, 0], sizeof(float))
    task.out, task.zero = &out[0, 0], &zeros[0]
    return _run(values, offsets, columns, aligned_rows(factors), task, out.shape[0])


def codes(const real[::1] values not None, const int64_t[::1] offsets, const int64_t[::1] columns, size_t dim,
          const float[:, ::1] factors not None, size_t count, uint64_t[:, ::1] out not None,
          uint8_t[::1] zero not None):
    """Write the signs of the first `count` coordinates after rotations to out, (n, words): bit 1 if it is above zero.

    Write which rows are zeros, of which all bits are 0, to zero. The arguments and the result are those of `rotate`.
    """
    cdef Task task = _task(dim, factors, count)
    cdef size_t words = (count + 63) // 64
    task.result, task.step = SIGNS, words
    if <size_t>out.shape[1] != words or out.shape[0] != zero.shape[0]:
        raise ValueError(f"out must have shape ({len(zero)}, {words}), not ({out.shape[0]}, {out.shape[1]})")
    if not out.shape[0] or not count:
        return -1
    check_out(&out[0, 0], sizeof(uint64_t))
    task.out, task.zero = &out[0, 0], &zero[0]
    return _run(values, offsets, columns, aligned_rows(factors), task, out.shape[0])


def farthest(const real[::1] values not None, const int64_t[::1] offsets, const int64_t[::1] columns, size_t dim,
             const float[:, ::1] factors not None, size_t outputs, uint64_t[:, ::1] out not None):
    """Write which of each `outputs` coordinates after rotations is the farthest from 0 to out, (n, functions).

    The number is increased by `outputs` if the coordinate is below 0. Rows of zeros become 2**64 - 1. The other
    arguments and the result are those of `rotate`. `outputs` must be a power of two in 2..padded size.
    """
    cdef size_t functions = out.shape[1]
    cdef Task task = _task(dim, factors, product_of(functions, outputs))
    task.result, task.step, task.outputs = FARTHEST, functions, outputs
    if outputs < 2 or outputs & (outputs - 1) or task.shape.parts * task.shape.block % outputs:
        raise ValueError(f"outputs must be a power of two that divides {task.shape.parts * task.shape.block}, not {outputs}")
    zero = np.empty(out.shape[0], np.uint8)
    cdef uint8_t[::1] zeros = zero
    if not out.shape[0] or not functions:
        return -1
    check_out(&out[0, 0], sizeof(uint64_t))
    task.out, task.zero = &out[0, 0], &zeros[0]
    return _run(values, offsets, columns, aligned_rows(factors), task, out.shape[0])


cdef Task _task(size_t dim, const float[:, ::1] factors, size_t count) except *:
    """Return a task without its result, after a check of what it reads of the factors."""
    cdef Task task
    memset(&task, 0, sizeof(Task))
    cdef size_t size = _padded(dim)
    if <size_t>factors.shape[1] != ROTATIONS_ROUNDS * size:
        raise ValueError(f"factors must have {ROTATIONS_ROUNDS * size} columns, not {factors.shape[1]}")
    if count > product_of(factors.shape[0], size):
        raise ValueError(f"{factors.shape[0]} rotations have {factors.shape[0] * size} coordinates, not {count}")
    task.kernels = rotations_levels[in_use[0]]
    task.shape = rotations_shape_of(dim)
    task.dim, task.count = dim, count
    return task


cdef _run(const real[::1] values, const int64_t[::1] offsets, const int64_t[::1] columns,
          const float[:, ::1] factors, Task task, size_t n):
    cdef size_t size = task.shape.parts * task.shape.block, m = values.shape[0], done = 0, start = 0, rows
    cdef size_t used = (task.count + size - 1) // size
    cdef uint64_t last_pause = 0
    cdef const int64_t* first_offset = NULL
    cdef const int64_t* column = NULL
    values = aligned(values)
    if offsets is None:
        if m != product_of(n, task.dim):
            raise ValueError(f"values must be {n} rows of {task.dim}, not {m}")
    else:
        offsets, columns = aligned(offsets), aligned(columns)
        if <size_t>offsets.shape[0] != n + 1 or not rows_are_valid(&offsets[0], n, m) or columns.shape[0] != values.shape[0]:
            raise ValueError(f"offsets must be {n + 1} numbers that rise from 0 to at most {m}, the number of values")
        first_offset = &offsets[0]
        if m:
            column = &columns[0]
            if not are_below(column + offsets[0], offsets[n] - offsets[0], task.dim):
                raise ValueError(f"columns must be in 0..{task.dim - 1}")
    cdef float[::1] x = np.empty(BLOCK_ROWS * size, np.float32)
    cdef float[::1] y = np.empty(2 * size, np.float32)
    cdef real[::1] dense = np.zeros(task.dim if offsets is not None else 0, np.float32 if real is float else np.float64)
    cdef real* row = &dense[0] if offsets is not None else NULL
    cdef const real* value = &values[0] if m else NULL
    cdef Py_ssize_t wrong = -1
    task.factors = &factors[0, 0]
    with nogil:
        while start < n:
            rows = min(<size_t>BLOCK_ROWS, n - start)
            wrong = _block(value, first_offset, column, row, &task, start, rows, &x[0], &y[0])
            if wrong >= 0:
                break
            start += rows
            done += rows * used * size * ROTATIONS_ROUNDS * 2
            if done >= WORK:
                done = 0
                pause(&last_pause)
    return wrong


cdef Py_ssize_t _block(const real* values, const int64_t* offsets, const int64_t* columns, real* dense,
                       const Task* task, size_t start, size_t rows, float* x, float* y) noexcept nogil:
    """Rotate some rows; return the first of them that is not finite, or -1."""
    cdef size_t size = task.shape.parts * task.shape.block, first = 0, rotation = 0, i, j, kept
    cdef const float* ready[BLOCK_ROWS]
    cdef const real* row
    cdef rotations_row kind
    for i in range(rows):
        if offsets == NULL:
            row = values + (start + i) * task.dim
        else:
            row = dense
            for j in range(<size_t>offsets[start + i], <size_t>offsets[start + i + 1]):
                dense[columns[j]] += values[j]
        if real is float:
            kind = rotations_load_floats(task.kernels, row, task.dim, size, x + i * size, &ready[i])
        else:
            kind = rotations_load_doubles(task.kernels, row, task.dim, size, x + i * size, &ready[i])
        if kind == ROTATIONS_NOT_FINITE:
            return start + i
        task.zero[start + i] = kind == ROTATIONS_ZERO_ROW
        if offsets != NULL:
            if kind == ROTATIONS_ROW and <const void*>ready[i] == <const void*>dense:
                memcpy(x + i * size, ready[i], size * sizeof(float))
                ready[i] = x + i * size
            for j in range(<size_t>offsets[start + i], <size_t>offsets[start + i + 1]):
                dense[columns[j]] = 0
    while first < task.count:
        kept = min(size, task.count - first)
        for i in range(rows):
            if not task.zero[start + i]:
                rotations_rotate(task.kernels, task.shape, task.factors + rotation * ROTATIONS_ROUNDS * size, ready[i], y,
                                 kept)
            _finish(task, start + i, first, kept, y)
        first += size
        rotation += 1
    return -1


cdef void _finish(const Task* task, size_t row, size_t first, size_t kept, float* y) noexcept nogil:
    """Write what the coordinates from the first on, `kept` of them, give for a row."""
    cdef bint zero = task.zero[row]
    cdef float* coordinates
    cdef uint64_t* words
    cdef size_t i, count
    if task.result == COORDINATES:
        coordinates = <float*>task.out + row * task.step + first
        if zero:
            memset(coordinates, 0, kept * sizeof(float))
        else:
            memcpy(coordinates, y, kept * sizeof(float))
    elif task.result == SIGNS:
        words = <uint64_t*>task.out + row * task.step + first // 64
        count = (kept + 63) // 64
        if zero:
            memset(words, 0, count * sizeof(uint64_t))
            return
        task.kernels.signs(y, 64 * count, words)
        if kept % 64:
            words[count - 1] &= (<uint64_t>1 << kept % 64) - 1
    else:
        words = <uint64_t*>task.out + row * task.step + first // task.outputs
        for i in range(kept // task.outputs):
            coordinates = y + i * task.outputs
            count = task.kernels.farthest(coordinates, task.outputs)
            words[i] = <uint64_t>-1 if zero else count + (task.outputs if coordinates[count] < 0 else 0)
