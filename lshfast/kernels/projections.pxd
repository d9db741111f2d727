# Cells of vectors on random lines for other projects' Cython. `dim` and `count` are at least 1.
from libc.stdint cimport uint64_t

# Draw `count` lines in `dim` dimensions from a `seed`: `lines` is (dim, count).
cdef void draw_gaussian_lines(uint64_t seed, size_t dim, size_t count, float* lines) noexcept nogil
cdef void draw_cauchy_lines(uint64_t seed, size_t dim, size_t count, float* lines) noexcept nogil

# Draw the `offsets` of the `count` lines of a `seed`, one a line.
cdef void offsets_of_lines(uint64_t seed, size_t count, double* offsets) noexcept nogil

# Return the number of doubles of memory that the next two functions work in, for `n` vectors and `count` lines.
cdef size_t scratch_of_cells(size_t n, size_t count) noexcept nogil

# Write the values of the cells of `n` `vectors`, (n, dim), on `count` `lines`, (dim, count), to `values`, (n, count).
# `offsets` holds `count` numbers in [0, 1); cells have the `width` given, which is finite and above 0. `scratch` holds
# scratch_of_cells(n, count) doubles, which need not be prepared; threads need separate ones. `values` and `scratch`
# overlap nothing. Return n, or the first vector that has no cell because a coordinate is NaN, infinite or too large;
# `values` from that vector on are not written.
cdef size_t cells_of_floats(const float* vectors, size_t n, size_t dim, const float* lines, const double* offsets,
                            size_t count, double width, double* scratch, uint64_t* values) noexcept nogil
cdef size_t cells_of_doubles(const double* vectors, size_t n, size_t dim, const float* lines, const double* offsets,
                             size_t count, double width, double* scratch, uint64_t* values) noexcept nogil
