/* The portable distances of dense points and of bits. */
#include "distances/distances.h"

#define LANES DISTANCES_LANES

static inline double term(enum distances_measure measure, double x, double y) {
    if (measure == DISTANCES_COSINE) return x * y;
    double difference = x - y;
    return measure == DISTANCES_EUCLIDEAN ? difference * difference : fabs(difference);
}

static inline double sum32(const float *x, const float *y, size_t dim, enum distances_measure measure) {
    double lanes[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= dim; i += LANES) {
        for (size_t l = 0; l < LANES; l++) lanes[l] += term(measure, (double)x[i + l], (double)y[i + l]);
    }
    for (size_t l = 0; l < dim - i; l++) lanes[l] += term(measure, (double)x[i + l], (double)y[i + l]);
    return distances_fold(lanes);
}

static inline double sum64(const double *x, const double *y, size_t dim, enum distances_measure measure) {
    double lanes[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= dim; i += LANES) {
        for (size_t l = 0; l < LANES; l++) lanes[l] += term(measure, x[i + l], y[i + l]);
    }
    for (size_t l = 0; l < dim - i; l++) lanes[l] += term(measure, x[i + l], y[i + l]);
    return distances_fold(lanes);
}

static double cosine32(const uint64_t *a, const uint64_t *b, size_t dim) {
    return distances_of_dot(sum32((const float *)(a + 1), (const float *)(b + 1), dim, DISTANCES_COSINE), a, b);
}

static double euclidean32(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum32((const float *)a, (const float *)b, dim, DISTANCES_EUCLIDEAN);
}

static double manhattan32(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum32((const float *)a, (const float *)b, dim, DISTANCES_MANHATTAN);
}

static double cosine64(const uint64_t *a, const uint64_t *b, size_t dim) {
    return distances_of_dot(sum64((const double *)(a + 1), (const double *)(b + 1), dim, DISTANCES_COSINE), a, b);
}

static double euclidean64(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum64((const double *)a, (const double *)b, dim, DISTANCES_EUCLIDEAN);
}

static double manhattan64(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum64((const double *)a, (const double *)b, dim, DISTANCES_MANHATTAN);
}

static double hamming(const uint64_t *a, const uint64_t *b, size_t words) {
    uint64_t different = 0;
    for (size_t i = 0; i < words; i++) different += ones_of(a[i] ^ b[i]);
    return (double)different;
}

const struct distances_kernels distances_scalar = {{{cosine32, euclidean32, manhattan32, NULL},
                                                    {cosine64, euclidean64, manhattan64, NULL},
                                                    DISTANCES_SPARSE_ROWS,
                                                    {NULL, NULL, NULL, hamming}}};

const struct distances_kernels *const distances_levels[CPU_LEVELS] =
    CPU_TABLE(&distances_scalar, &distances_avx2, &distances_avx512, &distances_neon);
