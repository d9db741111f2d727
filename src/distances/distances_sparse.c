/* Distances of sparse points: two ascending lists of indices are merged, and the terms added in their order. */
#include "distances/distances.h"

struct point {
    size_t n;
    const uint32_t *indices;
    const void *values;
};

static inline struct point point_at(const uint64_t *words, size_t dim) {
    size_t half = dim / 2 + dim % 2;
    return (struct point){words[0] < dim ? (size_t)words[0] : dim, (const uint32_t *)(words + 1), words + 1 + half};
}

static inline double value32(struct point x, size_t i) { return (double)((const float *)x.values)[i]; }

static inline double value64(struct point x, size_t i) { return ((const double *)x.values)[i]; }

static inline double sum_of(struct point x, struct point y, double value(struct point, size_t),
                            enum distances_measure measure) {
    double sum = 0;
    size_t i = 0, j = 0;
    while (i < x.n && j < y.n) {
        uint32_t p = x.indices[i], q = y.indices[j];
        double left = p <= q ? value(x, i) : 0, right = q <= p ? value(y, j) : 0, difference = left - right;
        sum += measure == DISTANCES_COSINE      ? left * right
               : measure == DISTANCES_EUCLIDEAN ? difference * difference
                                                : fabs(difference);
        i += p <= q;
        j += q <= p;
    }
    if (measure == DISTANCES_COSINE) return sum;
    for (; i < x.n; i++) sum += measure == DISTANCES_EUCLIDEAN ? value(x, i) * value(x, i) : fabs(value(x, i));
    for (; j < y.n; j++) sum += measure == DISTANCES_EUCLIDEAN ? value(y, j) * value(y, j) : fabs(value(y, j));
    return sum;
}

double distances_sparse32_cosine(const uint64_t *a, const uint64_t *b, size_t dim) {
    return distances_of_dot(sum_of(point_at(a + 1, dim), point_at(b + 1, dim), value32, DISTANCES_COSINE), a, b);
}

double distances_sparse32_euclidean(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum_of(point_at(a, dim), point_at(b, dim), value32, DISTANCES_EUCLIDEAN);
}

double distances_sparse32_manhattan(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum_of(point_at(a, dim), point_at(b, dim), value32, DISTANCES_MANHATTAN);
}

double distances_sparse64_cosine(const uint64_t *a, const uint64_t *b, size_t dim) {
    return distances_of_dot(sum_of(point_at(a + 1, dim), point_at(b + 1, dim), value64, DISTANCES_COSINE), a, b);
}

double distances_sparse64_euclidean(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum_of(point_at(a, dim), point_at(b, dim), value64, DISTANCES_EUCLIDEAN);
}

double distances_sparse64_manhattan(const uint64_t *a, const uint64_t *b, size_t dim) {
    return sum_of(point_at(a, dim), point_at(b, dim), value64, DISTANCES_MANHATTAN);
}
