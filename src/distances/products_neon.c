/* Products with centres for NEON: four floats a register, eight registers of centres. */
#include "distances/products.h"

#if LSHFAST_NEON
#include <arm_neon.h>

enum { LANES = 4, REGISTERS = PRODUCTS_LANES / LANES, VECTORS = 2 /* whose sums are in registers, 16 of them */ };

static ALWAYS_INLINED void sum(const float *vectors, size_t n, const float *panel, size_t count, size_t dim, float *out) {
    float32x4_t sums[VECTORS][REGISTERS];
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < REGISTERS; r++) sums[i][r] = vdupq_n_f32(0);
    }
    for (size_t j = 0; j < dim; j++) {
        for (size_t r = 0; r < REGISTERS; r++) {
            const float32x4_t y = vld1q_f32(panel + j * PRODUCTS_LANES + r * LANES);
            for (size_t i = 0; i < n; i++) {
                sums[i][r] = vaddq_f32(sums[i][r], vmulq_f32(vdupq_n_f32(vectors[i * dim + j]), y));
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < REGISTERS; r++) vst1q_f32(out + i * count + r * LANES, sums[i][r]);
    }
}

static void multiply(const float *vectors, size_t n, const float *panels, size_t count, size_t dim, float *out) {
    for (size_t c = 0; c < count; c += PRODUCTS_LANES, panels += dim * PRODUCTS_LANES) {
        size_t i = 0;
        for (; i + VECTORS <= n; i += VECTORS) sum(vectors + i * dim, VECTORS, panels, count, dim, out + i * count + c);
        for (; i < n; i++) sum(vectors + i * dim, 1, panels, count, dim, out + i * count + c);
    }
}

static size_t greatest(const float *numbers, size_t n) {
    static const uint32_t first[LANES] = {0, 1, 2, 3};
    float32x4_t best = vld1q_f32(numbers);
    uint32x4_t at = vld1q_u32(first), where = at;
    for (size_t i = LANES; i < n; i += LANES) {
        const float32x4_t x = vld1q_f32(numbers + i);
        at = vaddq_u32(at, vdupq_n_u32(LANES));
        const uint32x4_t more = vcgtq_f32(x, best);
        best = vbslq_f32(more, x, best);
        where = vbslq_u32(more, at, where);
    }
    const uint32x4_t equal = vceqq_f32(best, vdupq_n_f32(vmaxvq_f32(best)));
    return vminvq_u32(vornq_u32(where, equal));
}

static inline float32x4_t sine_of(float32x4_t cosine) {
    const float32x4_t one = vdupq_n_f32(1);
    return vsqrtq_f32(vmulq_f32(vsubq_f32(one, cosine), vaddq_f32(one, cosine)));
}

static inline float32x4_t limited(float32x4_t cosine) {
    return vminq_f32(vmaxq_f32(cosine, vdupq_n_f32(-1)), vdupq_n_f32(1));
}

static size_t within(const float *products, const float *lowest, const float *highest, size_t n,
                     const struct products_angle *angle, uint32_t *cells, float *low, float *high) {
    const float32x4_t cosine = vdupq_n_f32(angle->cosine), sine = vdupq_n_f32(angle->sine);
    const float32x4_t error = vdupq_n_f32(angle->error), more = vdupq_n_f32(PRODUCTS_ERROR);
    size_t count = 0;
    for (size_t c = 0; c < n; c += LANES) {
        const float32x4_t product = vld1q_f32(products + c);
        const float32x4_t near = limited(vaddq_f32(product, error)), far = limited(vsubq_f32(product, error));
        float32x4_t most = vaddq_f32(vmulq_f32(near, cosine), vmulq_f32(sine_of(near), sine));
        float32x4_t least = vsubq_f32(vmulq_f32(far, cosine), vmulq_f32(sine_of(far), sine));
        most = vbslq_f32(vcltq_f32(near, cosine), vaddq_f32(most, more), vdupq_n_f32(2));
        least = vbslq_f32(vcgtq_f32(far, vnegq_f32(cosine)), vsubq_f32(least, more), vdupq_n_f32(-2));
        const uint32x4_t found = vandq_u32(vcleq_f32(vld1q_f32(lowest + c), most), vcgeq_f32(vld1q_f32(highest + c), least));
        if (!vmaxvq_u32(found)) continue;
        float lows[LANES], highs[LANES];
        uint32_t marks[LANES];
        vst1q_f32(lows, least);
        vst1q_f32(highs, most);
        vst1q_u32(marks, found);
        for (size_t l = 0; l < LANES; l++) {
            cells[count] = (uint32_t)(c + l);
            low[count] = lows[l];
            high[count] = highs[l];
            count += marks[l] & 1;
        }
    }
    return count;
}

const struct products_kernels products_neon = {multiply, greatest, within};
#endif
