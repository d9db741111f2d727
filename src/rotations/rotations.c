/* The portable kernels of rotations, and the order of the steps, which all CPU levels share. */
#include "rotations/rotations.h"

#include <string.h>

NO_CONTRACTION

#define COMFORTABLE_EXPONENT 40

static const uint32_t sign_bit = (uint32_t)1 << 31;

static inline uint32_t bits_of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline uint64_t bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float multiplied(float x, const float *factors, size_t i) { return factors ? x * factors[i] : x; }

static uint32_t greatest_float(const float *x, size_t n) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = bits_of_float(x[i]) & ~sign_bit;
        most = bits > most ? bits : most;
    }
    return most;
}

static uint64_t greatest_double(const double *x, size_t n) {
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = bits_of_double(x[i]) & ~((uint64_t)1 << 63);
        most = bits > most ? bits : most;
    }
    return most;
}

static void narrow(const double *x, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = (float)x[i];
}

static void fold(const float *x, const float *factors, size_t half, float *y) {
    for (size_t i = 0; i < half; i++) y[i] = multiplied(x[i], factors, i) + multiplied(x[i + half], factors, i + half);
}

static void reflect(const float *x, const float *factors, size_t parts, size_t block, size_t kept, float *y) {
    const float share = 2.0f / (float)parts;
    for (size_t i = 0; i < block; i++) {
        float part[ROTATIONS_MAX_PARTS], sum = multiplied(x[i], factors, i);
        part[0] = sum;
        for (size_t p = 1; p < parts; p++) {
            part[p] = multiplied(x[p * block + i], factors, p * block + i);
            sum += part[p];
        }
        sum *= share;
        for (size_t p = 0; p < kept; p++) y[p * block + i] = part[p] - sum;
    }
}

static void hadamard(const float *x, const float *factors, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = multiplied(x[i], factors, i);
    for (size_t stride = n / 2; stride; stride /= 2) {
        for (size_t start = 0; start < n; start += 2 * stride) {
            for (size_t i = start; i < start + stride; i++) {
                float a = y[i], b = y[i + stride];
                y[i] = a + b;
                y[i + stride] = a - b;
            }
        }
    }
}

static void signs(const float *y, size_t n, uint64_t *words) {
    for (size_t start = 0; start < n; start += 64) {
        uint64_t word = 0;
        for (size_t i = 0; i < 64; i++) word |= (uint64_t)(y[start + i] > 0) << i;
        words[start / 64] = word;
    }
}

static size_t farthest(const float *y, size_t n) {
    size_t place = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = bits_of_float(y[i]) & ~sign_bit;
        place = bits > most ? i : place;
        most = bits > most ? bits : most;
    }
    return place;
}

const struct rotations_kernels rotations_scalar = {greatest_float, greatest_double, narrow, fold,
                                                   reflect,        hadamard,        signs,  farthest};

const struct rotations_kernels *const rotations_levels[CPU_LEVELS] =
    CPU_TABLE(&rotations_scalar, &rotations_avx2, &rotations_avx512, &rotations_neon);

struct rotations_shape rotations_shape_of(size_t dim) {
    struct rotations_shape best = {0, 0};
    for (size_t parts = 1; parts <= ROTATIONS_MAX_PARTS; parts += 2) {
        size_t block = ROTATIONS_MIN_BLOCK;
        while (parts * block < dim || parts * block < ROTATIONS_MIN_SIZE) block *= 2;
        if (!best.parts || parts * block < best.parts * best.block) {
            best.parts = parts;
            best.block = block;
        }
    }
    return best;
}

void rotations_factors(uint64_t seed, uint64_t rotation, size_t size, float *factors) {
    for (size_t round = 0; round < ROTATIONS_ROUNDS; round++, factors += size) {
        uint64_t word = 0, first = (rotation * ROTATIONS_ROUNDS + round) << 20;
        const unsigned bits = round == 1 ? 8 : 1;
        for (size_t i = 0; i < size; i++, word >>= bits) {
            if (i % (64 / bits) == 0) word = draw(seed, DOMAIN_ROTATION, first + i / (64 / bits));
            float factor = round == 1 ? 0.75f + (float)(word >> 1 & 127) / 256 : 1;
            factors[i] = word & 1 ? -factor : factor;
        }
    }
}

/* 2^power, for powers of normal numbers. */
static double two_to(int power) {
    uint64_t bits = (uint64_t)(1023 + power) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x 2^shift, rounded once: a product of doubles that is not exact is below all floats. */
static inline float scaled(double x, double half, double other_half) { return (float)(x * half * other_half); }

enum rotations_row rotations_load_floats(const struct rotations_kernels *kernels, const float *row, size_t dim,
                                         size_t size, float *x, const float **ready) {
    uint32_t most = kernels->greatest_float(row, dim);
    if (!most) return ROTATIONS_ZERO_ROW;
    if (most >> 23 == 255) return ROTATIONS_NOT_FINITE;
    int exponent = most >> 23 ? (int)(most >> 23) - 127 : (int)highest_bit(most) - 149;
    *ready = x;
    if (exponent < -COMFORTABLE_EXPONENT || exponent > COMFORTABLE_EXPONENT) {
        double factor = two_to(-exponent);
        for (size_t i = 0; i < dim; i++) x[i] = scaled(row[i], factor, 1);
    } else if (dim == size) {
        *ready = row;
    } else {
        memcpy(x, row, dim * sizeof *x);
    }
    memset(x + dim, 0, (size - dim) * sizeof *x);
    return ROTATIONS_ROW;
}

enum rotations_row rotations_load_doubles(const struct rotations_kernels *kernels, const double *row, size_t dim,
                                          size_t size, float *x, const float **ready) {
    uint64_t most = kernels->greatest_double(row, dim);
    if (!most) return ROTATIONS_ZERO_ROW;
    if (most >> 52 == 2047) return ROTATIONS_NOT_FINITE;
    int exponent = most >> 52 ? (int)(most >> 52) - 1023 : (int)highest_bit(most) - 1074;
    *ready = x;
    if (exponent < -COMFORTABLE_EXPONENT || exponent > COMFORTABLE_EXPONENT) {
        double half = two_to(-exponent / 2), other_half = two_to(-exponent - -exponent / 2);
        for (size_t i = 0; i < dim; i++) x[i] = scaled(row[i], half, other_half);
    } else {
        kernels->narrow(row, dim, x);
    }
    memset(x + dim, 0, (size - dim) * sizeof *x);
    return ROTATIONS_ROW;
}

/* The first `kept` numbers of a Hadamard transform of n. */
static void first_of_hadamard(const struct rotations_kernels *kernels, const float *x, const float *factors, size_t n,
                              float *y, size_t kept) {
    while (n / 2 >= kept && n / 2 >= ROTATIONS_MIN_BLOCK) {
        n /= 2;
        kernels->fold(x, factors, n, y);
        x = y;
        factors = NULL;
    }
    kernels->hadamard(x, factors, n, y);
}

static void rotate_once(const struct rotations_kernels *kernels, struct rotations_shape shape, const float *factors,
                        const float *x, float *y, size_t kept) {
    const size_t block = shape.block;
    if (shape.parts == 1) {
        first_of_hadamard(kernels, x, factors, block, y, kept);
        return;
    }
    kernels->reflect(x, factors, shape.parts, block, (kept + block - 1) / block, y);
    for (size_t start = 0; start < kept; start += block) {
        first_of_hadamard(kernels, y + start, NULL, block, y + start, kept - start);
    }
}

/* Deal the numbers to the parts. */
static void deal(const float *x, struct rotations_shape shape, float *y) {
    for (size_t i = 0; i < shape.block; i += ROTATIONS_DEALT) {
        for (size_t p = 0; p < shape.parts; p++, x += ROTATIONS_DEALT) {
            memcpy(y + p * shape.block + i, x, ROTATIONS_DEALT * sizeof *y);
        }
    }
}

void rotations_rotate(const struct rotations_kernels *kernels, struct rotations_shape shape, const float *factors,
                      const float *x, float *y, size_t kept) {
    const size_t size = shape.parts * shape.block;
    float *dealt = y + size;
    for (size_t round = 0; round + 1 < ROTATIONS_ROUNDS; round++, factors += size) {
        rotate_once(kernels, shape, factors, x, y, size);
        x = y;
        if (shape.parts > 1) {
            deal(y, shape, dealt);
            x = dealt;
        }
    }
    rotate_once(kernels, shape, factors, x, y, kept);
}
