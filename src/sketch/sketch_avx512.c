/* MinHash kernels for AVX-512 with IFMA: 52-bit multiply-add, low and high halves, eight functions a register. */
#include "sketch/sketch.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

#include <string.h>

/* Eight functions a x + b, with a = a1 2^52 + a0, and their least values so far. */
struct functions {
    __m512i a0, a1, b, least;
};

TARGET_AVX512 static inline void apply(struct functions *f, __m512i x0, __m512i x1) {
    struct limbs sum = {f->b, _mm512_setzero_si512(), _mm512_setzero_si512()};
    add_product(&sum, f->a0, f->a1, x0, x1);
    f->least = _mm512_min_epu64(f->least, p61_of_limbs(sum.low, sum.middle, sum.high));
}

TARGET_AVX512 static inline struct functions load(const uint64_t *a, const uint64_t *b) {
    struct functions f;
    __m512i whole = _mm512_loadu_si512(a);
    f.a0 = _mm512_and_si512(whole, spread(LOW52));
    f.a1 = _mm512_srli_epi64(whole, 52);
    f.b = _mm512_loadu_si512(b);
    f.least = spread(UINT64_MAX);
    return f;
}

TARGET_AVX512 static inline void store_least(__m512i least, uint64_t *out, size_t left) {
    __mmask8 mask = first_lanes(left);
    _mm512_mask_storeu_epi64(out, mask, _mm512_min_epu64(least, _mm512_maskz_loadu_epi64(mask, out)));
}

TARGET_AVX512 static void classic(const uint64_t *tokens, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                                  uint64_t *out) {
    uint64_t low[SKETCH_BLOCK_TOKENS], high[SKETCH_BLOCK_TOKENS];
    memset(out, 0xFF, k * sizeof *out);
    for (size_t start = 0; start < n; start += SKETCH_BLOCK_TOKENS) {
        size_t count = n - start < SKETCH_BLOCK_TOKENS ? n - start : SKETCH_BLOCK_TOKENS;
        for (size_t t = 0; t < count; t++) {
            uint64_t x = p61_of(mix64(tokens[start + t]));
            low[t] = x & LOW52;
            high[t] = x >> 52;
        }
        for (size_t i = 0; i < k; i += 2 * LANES) {
            struct functions f = load(a + i, b + i), g = load(a + i + LANES, b + i + LANES);
            for (size_t t = 0; t < count; t++) {
                __m512i x0 = spread(low[t]), x1 = spread(high[t]);
                apply(&f, x0, x1);
                apply(&g, x0, x1);
            }
            store_least(f.least, out + i, k - i);
            if (k - i > LANES) store_least(g.least, out + i + LANES, k - i - LANES);
        }
    }
}

TARGET_AVX512 static inline __m512i hash_lanes(const uint64_t *tokens, __mmask8 mask, __m512i constant) {
    return mix64_lanes(_mm512_xor_si512(_mm512_maskz_loadu_epi64(mask, tokens), constant));
}

TARGET_AVX512 static void land(const uint64_t *tokens, size_t n, uint64_t round, uint64_t constant, size_t k,
                               uint64_t *values, uint32_t *slots) {
    const __m512i c = spread(constant), tag = spread(round << SKETCH_VALUE_BITS);
    const __m512i value_mask = spread(SKETCH_VALUE_MASK), width = spread(k);
    for (size_t t = 0; t < n; t += LANES) {
        __m512i hash = hash_lanes(tokens + t, first_lanes(n - t), c);
        __m512i scaled = _mm512_mul_epu32(_mm512_srli_epi64(hash, 32), width);
        _mm512_storeu_si512(values + t, _mm512_or_si512(tag, _mm512_and_si512(hash, value_mask)));
        _mm256_storeu_si256((__m256i *)(slots + t), _mm512_cvtepi64_epi32(_mm512_srli_epi64(scaled, 32)));
    }
}

TARGET_AVX512 static size_t land_below(const uint64_t *tokens, size_t n, uint64_t constant, size_t k, uint64_t limit,
                                       uint64_t *values, uint32_t *slots) {
    const __m512i c = spread(constant), value_mask = spread(SKETCH_VALUE_MASK), width = spread(k), most = spread(limit);
    size_t count = 0;
    for (size_t t = 0; t < n; t += LANES) {
        __mmask8 mask = first_lanes(n - t);
        __m512i hash = hash_lanes(tokens + t, mask, c), value = _mm512_and_si512(hash, value_mask);
        __mmask8 below = _mm512_mask_cmplt_epu64_mask(mask, value, most);
        __m512i slot = _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(hash, 32), width), 32);
        _mm512_storeu_si512(values + count, _mm512_maskz_compress_epi64(below, value));
        _mm256_storeu_si256((__m256i *)(slots + count),
                            _mm512_cvtepi64_epi32(_mm512_maskz_compress_epi64(below, slot)));
        count += (size_t)_mm_popcnt_u32(below);
    }
    return count;
}

TARGET_AVX512 static uint64_t least(const uint64_t *tokens, size_t n, uint64_t constant) {
    const __m512i c = spread(constant), value_mask = spread(SKETCH_VALUE_MASK);
    __m512i found = spread(UINT64_MAX);
    for (size_t t = 0; t < n; t += LANES) {
        __mmask8 mask = first_lanes(n - t);
        found = _mm512_mask_min_epu64(found, mask, found, _mm512_and_si512(hash_lanes(tokens + t, mask, c), value_mask));
    }
    return _mm512_reduce_min_epu64(found);
}

const struct sketch_kernels sketch_avx512 = {classic, land, land_below, least};
#endif
