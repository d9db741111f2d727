/* The portable products with centres.
 *
 * A vector at the angle a of a centre and a point at the angle b of it are at least |a - b| apart. So points within the
 * angle r of the vector have a - r <= b <= a + r, and their cosines are cos(a + r) to cos(a - r). */
#include "distances/products.h"

#include <math.h>

static void multiply(const float *vectors, size_t n, const float *panels, size_t count, size_t dim, float *out) {
    for (size_t c = 0; c < count; c += PRODUCTS_LANES, panels += dim * PRODUCTS_LANES) {
        for (size_t i = 0; i < n; i++) {
            float sums[PRODUCTS_LANES] = {0};
            for (size_t j = 0; j < dim; j++) {
                const float x = vectors[i * dim + j], *y = panels + j * PRODUCTS_LANES;
                for (size_t l = 0; l < PRODUCTS_LANES; l++) sums[l] += x * y[l];
            }
            for (size_t l = 0; l < PRODUCTS_LANES; l++) out[i * count + c + l] = sums[l];
        }
    }
}

static size_t greatest(const float *numbers, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (numbers[i] > numbers[best]) best = i;
    }
    return best;
}

static float limited(float cosine) { return cosine < -1 ? -1 : cosine > 1 ? 1 : cosine; }

static float sine_of(float cosine) { return sqrtf((1 - cosine) * (1 + cosine)); }

static size_t within(const float *products, const float *lowest, const float *highest, size_t n,
                     const struct products_angle *angle, uint32_t *cells, float *low, float *high) {
    size_t count = 0;
    for (size_t c = 0; c < n; c++) {
        const float near = limited(products[c] + angle->error), far = limited(products[c] - angle->error);
        const float most = near * angle->cosine + sine_of(near) * angle->sine + PRODUCTS_ERROR;
        const float least = far * angle->cosine - sine_of(far) * angle->sine - PRODUCTS_ERROR;
        high[count] = near < angle->cosine ? most : 2;
        low[count] = far > -angle->cosine ? least : -2;
        cells[count] = (uint32_t)c;
        count += lowest[c] <= high[count] && highest[c] >= low[count];
    }
    return count;
}

const struct products_kernels products_scalar = {multiply, greatest, within};

const struct products_kernels *const products_levels[CPU_LEVELS] =
    CPU_TABLE(&products_scalar, &products_avx2, &products_avx512, &products_neon);
