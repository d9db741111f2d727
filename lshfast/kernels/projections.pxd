# Cells of vectors on random lines for other projects' Cython.
from libc.stdint cimport uint64_t

# Draw the lines of a seed once, (dim, count), and their offsets, one a line; dim and count are at least 1.
cdef void draw_gaussian_lines(uint64_t seed, size_t dim, size_t count, float* lines) noexcept nogil
cdef void draw_cauchy_lines(uint64_t seed, size_t dim, size_t count, float* lines) noexcept nogil
cdef void offsets_of_lines(uint64_t seed, size_t count, double* offsets) noexcept nogil

# Write the values of the cells of n vectors, (n, dim), on `count` lines to values, (n, count); width is above 0. scratch
# holds scratch_of_cells(n, count) doubles. Returns n, or the first vector that has no cell, because a coordinate is NaN,
# infinite or too large; the values from that vector on are not written.
cdef size_t scratch_of_cells(size_t n, size_t count) noexcept nogil
cdef size_t cells_of_floats(const float* vectors, size_t n, size_t dim, const float* lines, const double* offsets,
                            size_t count, double width, double* scratch, uint64_t* values) noexcept nogil
cdef size_t cells_of_doubles(const double* vectors, size_t n, size_t dim, const float* lines, const double* offsets,
                             size_t count, double width, double* scratch, uint64_t* values) noexcept nogil
