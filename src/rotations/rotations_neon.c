/* Rotations for NEON: four numbers a register, a transform of 64 numbers at a time in registers. */
#include "rotations/rotations.h"

#if LSHFAST_NEON
#include <arm_neon.h>

enum { LANES = 4, CHUNK = 64 };

static inline float32x4_t multiplied(const float *x, const float *factors, size_t i) {
    float32x4_t v = vld1q_f32(x + i);
    return factors ? vmulq_f32(v, vld1q_f32(factors + i)) : v;
}

static inline uint32x4_t size_of(const float *x) {
    return vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x)));
}

static uint32_t greatest_float(const float *x, size_t n) {
    uint32x4_t a = vdupq_n_u32(0), b = a;
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        a = vmaxq_u32(a, size_of(x + i));
        b = vmaxq_u32(b, size_of(x + i + LANES));
    }
    uint32_t most = vmaxvq_u32(vmaxq_u32(a, b)), rest = rotations_scalar.greatest_float(x + i, n - i);
    return rest > most ? rest : most;
}

static uint64_t greatest_double(const double *x, size_t n) {
    uint64x2_t most = vdupq_n_u64(0);
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        uint64x2_t v = vreinterpretq_u64_f64(vabsq_f64(vld1q_f64(x + i)));
        most = vbslq_u64(vcgtq_u64(v, most), v, most);
    }
    uint64_t all = rotations_scalar.greatest_double(x + i, n - i);
    all = vgetq_lane_u64(most, 0) > all ? vgetq_lane_u64(most, 0) : all;
    return vgetq_lane_u64(most, 1) > all ? vgetq_lane_u64(most, 1) : all;
}

static void narrow(const double *x, size_t n, float *y) {
    size_t i = 0;
    for (; i + 2 <= n; i += 2) vst1_f32(y + i, vcvt_f32_f64(vld1q_f64(x + i)));
    for (; i < n; i++) y[i] = (float)x[i];
}

static void fold(const float *x, const float *factors, size_t half, float *y) {
    for (size_t i = 0; i < half; i += LANES) {
        vst1q_f32(y + i, vaddq_f32(multiplied(x, factors, i), multiplied(x, factors, i + half)));
    }
}

static ALWAYS_INLINED void reflect_parts(const float *x, const float *factors, size_t parts, size_t block, size_t kept,
                                 float *y) {
    const float32x4_t share = vdupq_n_f32(2.0f / (float)parts);
    for (size_t i = 0; i < block; i += LANES) {
        float32x4_t part[ROTATIONS_MAX_PARTS], sum = multiplied(x, factors, i);
        part[0] = sum;
        for (size_t p = 1; p < parts; p++) {
            part[p] = multiplied(x, factors, p * block + i);
            sum = vaddq_f32(sum, part[p]);
        }
        sum = vmulq_f32(sum, share);
        for (size_t p = 0; p < parts; p++) {
            if (p < kept) vst1q_f32(y + p * block + i, vsubq_f32(part[p], sum));
        }
    }
}

static void reflect(const float *x, const float *factors, size_t parts, size_t block, size_t kept, float *y) {
    if (parts == 3) reflect_parts(x, factors, 3, block, kept, y);
    else if (parts == 5) reflect_parts(x, factors, 5, block, kept, y);
    else reflect_parts(x, factors, 7, block, kept, y);
}

static inline float32x4_t negated(float32x4_t x, uint64_t even, uint64_t odd) {
    uint64x2_t mask = vcombine_u64(vcreate_u64(even), vcreate_u64(odd));
    return vreinterpretq_f32_u64(veorq_u64(vreinterpretq_u64_f32(x), mask));
}

/* Butterflies between lanes that are 2 and 1 apart: x with the lanes exchanged, plus x whose upper lanes are negated. */
static inline float32x4_t within(float32x4_t x) {
    const uint64_t both = UINT64_C(0x8000000080000000), upper = UINT64_C(0x8000000000000000);
    x = vaddq_f32(vextq_f32(x, x, 2), negated(x, 0, both));
    return vaddq_f32(vrev64q_f32(x), negated(x, upper, upper));
}

static ALWAYS_INLINED void chunk(const float *x, float *y) {
    float32x4_t v[CHUNK / LANES];
    for (size_t i = 0; i < CHUNK / LANES; i++) v[i] = vld1q_f32(x + i * LANES);
    for (size_t stride = CHUNK / LANES / 2; stride; stride /= 2) {
        for (size_t i = 0; i < CHUNK / LANES; i++) {
            if (i & stride) continue;
            float32x4_t a = v[i], b = v[i + stride];
            v[i] = vaddq_f32(a, b);
            v[i + stride] = vsubq_f32(a, b);
        }
    }
    for (size_t i = 0; i < CHUNK / LANES; i++) vst1q_f32(y + i * LANES, within(v[i]));
}

/* Butterflies between numbers that are `stride` and then `stride` / 2 apart. */
static void two_strides(const float *x, const float *factors, size_t n, size_t stride, float *y) {
    const size_t half = stride / 2;
    for (size_t start = 0; start < n; start += 2 * stride) {
        for (size_t i = start; i < start + half; i += LANES) {
            float32x4_t a = multiplied(x, factors, i), b = multiplied(x, factors, i + half);
            float32x4_t c = multiplied(x, factors, i + stride), d = multiplied(x, factors, i + stride + half);
            float32x4_t ac = vaddq_f32(a, c), bd = vaddq_f32(b, d);
            a = vsubq_f32(a, c), b = vsubq_f32(b, d);
            vst1q_f32(y + i, vaddq_f32(ac, bd));
            vst1q_f32(y + i + half, vsubq_f32(ac, bd));
            vst1q_f32(y + i + stride, vaddq_f32(a, b));
            vst1q_f32(y + i + stride + half, vsubq_f32(a, b));
        }
    }
}

static void one_stride(const float *x, const float *factors, size_t half, float *y) {
    for (size_t i = 0; i < half; i += LANES) {
        float32x4_t a = multiplied(x, factors, i), b = multiplied(x, factors, i + half);
        vst1q_f32(y + i, vaddq_f32(a, b));
        vst1q_f32(y + i + half, vsubq_f32(a, b));
    }
}

static void hadamard(const float *x, const float *factors, size_t n, float *y) {
    size_t stride = n / 2;
    if (highest_bit(n / CHUNK) % 2) {
        one_stride(x, factors, stride, y);
        x = y, factors = NULL, stride /= 2;
    }
    for (; stride >= 2 * CHUNK; stride /= 4) {
        two_strides(x, factors, n, stride, y);
        x = y, factors = NULL;
    }
    for (size_t start = 0; start < n; start += CHUNK) chunk(x + start, y + start);
}

static void signs(const float *y, size_t n, uint64_t *words) {
    static const uint32_t bits[LANES] = {1, 2, 4, 8};
    const uint32x4_t places = vld1q_u32(bits);
    for (size_t start = 0; start < n; start += 64) {
        uint64_t word = 0;
        for (size_t i = 0; i < 64; i += LANES) {
            uint32x4_t more = vcgtzq_f32(vld1q_f32(y + start + i));
            word |= (uint64_t)vaddvq_u32(vandq_u32(more, places)) << i;
        }
        words[start / 64] = word;
    }
}

static size_t farthest(const float *y, size_t n) {
    static const uint32_t first[LANES] = {0, 1, 2, 3};
    const uint32x4_t step = vdupq_n_u32(LANES);
    uint32x4_t at = vld1q_u32(first), most = vdupq_n_u32(0), place = at;
    size_t whole = n / LANES * LANES;
    if (!whole) return rotations_scalar.farthest(y, n);
    for (size_t i = 0; i < whole; i += LANES) {
        uint32x4_t v = size_of(y + i), more = vcgtq_u32(v, most);
        most = vbslq_u32(more, v, most);
        place = vbslq_u32(more, at, place);
        at = vaddq_u32(at, step);
    }
    uint32_t size = vmaxvq_u32(most);
    uint32_t best = vminvq_u32(vbslq_u32(vceqq_u32(most, vdupq_n_u32(size)), place, vdupq_n_u32(UINT32_MAX)));
    if (whole == n) return best;
    size_t rest = whole + rotations_scalar.farthest(y + whole, n - whole);
    return rotations_scalar.greatest_float(y + rest, 1) > size ? rest : best;
}

const struct rotations_kernels rotations_neon = {greatest_float, greatest_double, narrow, fold,
                                                 reflect,        hadamard,        signs,  farthest};
#endif
