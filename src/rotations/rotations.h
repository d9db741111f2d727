/* Pseudo-random rotations of vectors, and what hash functions of angles take from them: signs and greatest coordinates.
 *
 * The idea: a random orthogonal matrix of dim x dim takes dim^2 products a vector. Signs drawn at random, followed by a
 * Hadamard transform, take dim log dim sums; after three such rounds the coordinates have nearly the distribution that
 * they have after a random rotation (A. Andoni et al., "Practical and Optimal LSH for Angular Distance", NIPS 2015).
 * Transforms need powers of two, and padding 768 coordinates to 1,024 would waste a quarter of the work. So the padded
 * size is parts * block, where block is a power of two and parts is 1, 3, 5 or 7, and the parts are mixed by the
 * reflection I - (2 / parts) J, whose numbers are as even as it gets:
 *
 *     round:  x -> (reflection of parts) x (Hadamard transform of block), of signs * x
 *
 * A reflection leaves a share of a part in its place, (1 - 4 / parts) of its products with other vectors. So between
 * rounds the numbers are dealt, 16 at a time, one group to each part in turn. Otherwise, vectors that differ in one part
 * only would keep an angle in this part that is not theirs.
 *
 * Sums of a few equal numbers are few different numbers, often zero: vectors with few coordinates would lie on the same
 * side of too many hyperplanes. So the signs of the second round are multiplied by numbers from 0.75 to 1.25.
 *
 * A function that needs the first few coordinates only skips most of the last round, since the greatest strides come
 * first: the sums that it does not need are left out.
 *
 * Contract: rows are float32, scaled by a power of two so that nothing overflows; each coordinate is computed by the same
 * sums and products in the same order on every CPU level, so all bits are equal. Norms grow by sqrt(block) a round.
 * Nothing is allocated or kept. */
#ifndef LSHFAST_ROTATIONS_H
#define LSHFAST_ROTATIONS_H

#include "cpu/cpu.h"
#include "field.h"

#include <stddef.h>

enum { ROTATIONS_ROUNDS = 3, ROTATIONS_MIN_BLOCK = 128, ROTATIONS_MIN_SIZE = 256, ROTATIONS_MAX_PARTS = 7 };
enum { ROTATIONS_DEALT = 16 }; /* a divisor of ROTATIONS_MIN_BLOCK */
#define ROTATIONS_MAX_DIM ((size_t)1 << 20)

/* What a CPU level does in its own way. Arrays of y may be those of x; n is a multiple of 64. */
struct rotations_kernels {
    /* The greatest of the numbers without their signs, as bits: it compares as the number does, and NaN is above all. */
    uint32_t (*greatest_float)(const float *x, size_t n);
    uint64_t (*greatest_double)(const double *x, size_t n);
    /* y[i] = (float)x[i]; of any n. */
    void (*narrow)(const double *x, size_t n, float *y);
    /* These three multiply x by the factors first, unless these are NULL. y[i] = x[i] + x[i + half], for i < half. */
    void (*fold)(const float *x, const float *factors, size_t half, float *y);
    /* Parts of `block` numbers: each of the first `kept` of them less 2 / parts of the sum of all. */
    void (*reflect)(const float *x, const float *factors, size_t parts, size_t block, size_t kept, float *y);
    /* The Hadamard transform of n numbers, n a power of two from ROTATIONS_MIN_BLOCK on. For strides n / 2, n / 4, .. 1:
     * (a, b) becomes (a + b, a - b). */
    void (*hadamard)(const float *x, const float *factors, size_t n, float *y);
    /* Bit i is 1 if y[i] > 0. */
    void (*signs)(const float *y, size_t n, uint64_t *words);
    /* The first place of the greatest number without its sign; of any n > 0. */
    size_t (*farthest)(const float *y, size_t n);
};
extern const struct rotations_kernels rotations_scalar, rotations_avx2, rotations_avx512, rotations_neon;
extern const struct rotations_kernels *const rotations_levels[CPU_LEVELS];

struct rotations_shape {
    size_t parts, block; /* parts * block is the padded size, a multiple of 128, at least ROTATIONS_MIN_SIZE */
};

/* The least padded size for a dim in 1..ROTATIONS_MAX_DIM. */
struct rotations_shape rotations_shape_of(size_t dim);

/* The factors of one rotation: ROTATIONS_ROUNDS * size numbers. */
void rotations_factors(uint64_t seed, uint64_t rotation, size_t size, float *factors);

enum rotations_row { ROTATIONS_ROW, ROTATIONS_ZERO_ROW, ROTATIONS_NOT_FINITE };

/* A row of dim numbers as it is rotated: float32, times a power of two if its greatest number is outside of
 * [2^-40, 2^41), and padded with zeros. *ready points to x, which has room for `size` numbers, or to the row itself. */
enum rotations_row rotations_load_floats(const struct rotations_kernels *kernels, const float *row, size_t dim,
                                         size_t size, float *x, const float **ready);
enum rotations_row rotations_load_doubles(const struct rotations_kernels *kernels, const double *row, size_t dim,
                                          size_t size, float *x, const float **ready);

/* Rotate x, of as many numbers as the shape says, to y, which has room for twice as many; only the first `kept` numbers of
 * y are of use then. */
void rotations_rotate(const struct rotations_kernels *kernels, struct rotations_shape shape, const float *factors,
                      const float *x, float *y, size_t kept);

#endif
