/* MinHash kernels for AVX2: 32-bit products, four functions a register. */
#include "sketch/sketch.h"

#if LSHFAST_X86
#include "lanes_avx2.h"

#include <string.h>

/* Four functions a x + b, with a = a1 2^32 + a0 and a1 < 2^29, and their least values so far. */
struct functions {
    __m256i a0, a1, b, least;
};

/* The product is a0 x0 + middle 2^32 + a1 x1 2^64, and 2^64 is 8 mod p; below 2^62 signed compares are right. */
TARGET_AVX2 static inline void apply(struct functions *f, __m256i x0, __m256i x1) {
    __m256i low = _mm256_mul_epu32(f->a0, x0);
    __m256i middle = _mm256_add_epi64(_mm256_mul_epu32(f->a1, x0), _mm256_mul_epu32(f->a0, x1));
    __m256i rest = _mm256_add_epi64(f->b, _mm256_slli_epi64(_mm256_mul_epu32(f->a1, x1), 3));
    rest = _mm256_add_epi64(rest, _mm256_and_si256(low, spread(P61)));
    rest = _mm256_add_epi64(rest, _mm256_srli_epi64(low, 61));
    __m256i value = p61_of_limbs(rest, middle);
    f->least = _mm256_blendv_epi8(f->least, value, _mm256_cmpgt_epi64(f->least, value));
}

TARGET_AVX2 static inline struct functions load(const uint64_t *a, const uint64_t *b) {
    struct functions f;
    f.a0 = load_lanes(a); /* a product reads the low 32 bits alone */
    f.a1 = _mm256_srli_epi64(f.a0, 32);
    f.b = load_lanes(b);
    f.least = spread(INT64_MAX);
    return f;
}

TARGET_AVX2 static inline void store_least(__m256i least, uint64_t *out, size_t left) {
    uint64_t lanes[LANES];
    store_lanes(lanes, least);
    for (size_t l = 0; l < LANES && l < left; l++) out[l] = lanes[l] < out[l] ? lanes[l] : out[l];
}

TARGET_AVX2 static void classic(const uint64_t *tokens, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                                uint64_t *out) {
    uint64_t values[SKETCH_BLOCK_TOKENS];
    memset(out, 0xFF, k * sizeof *out);
    for (size_t start = 0; start < n; start += SKETCH_BLOCK_TOKENS) {
        size_t count = n - start < SKETCH_BLOCK_TOKENS ? n - start : SKETCH_BLOCK_TOKENS;
        for (size_t t = 0; t < count; t++) values[t] = p61_of(mix64(tokens[start + t]));
        for (size_t i = 0; i < k; i += 2 * LANES) {
            struct functions f = load(a + i, b + i), g = load(a + i + LANES, b + i + LANES);
            for (size_t t = 0; t < count; t++) {
                __m256i x0 = spread(values[t]), x1 = _mm256_srli_epi64(x0, 32);
                apply(&f, x0, x1);
                apply(&g, x0, x1);
            }
            store_least(f.least, out + i, k - i);
            if (k - i > LANES) store_least(g.least, out + i + LANES, k - i - LANES);
        }
    }
}

TARGET_AVX2 static inline __m256i hash_lanes(const uint64_t *tokens, size_t left, __m256i constant) {
    uint64_t lanes[LANES] = {0};
    if (left < LANES) tokens = memcpy(lanes, tokens, left * sizeof *tokens);
    return mix64_lanes(_mm256_xor_si256(load_lanes(tokens), constant));
}

TARGET_AVX2 static void land(const uint64_t *tokens, size_t n, uint64_t round, uint64_t constant, size_t k,
                             uint64_t *values, uint32_t *slots) {
    const __m256i c = spread(constant), width = spread(k);
    const __m256i tag = spread(round << SKETCH_VALUE_BITS);
    const __m256i value_mask = spread(SKETCH_VALUE_MASK);
    const __m256i odd_halves = _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7);
    for (size_t t = 0; t < n; t += LANES) {
        __m256i hash = hash_lanes(tokens + t, n - t, c);
        __m256i scaled = _mm256_mul_epu32(_mm256_srli_epi64(hash, 32), width);
        store_lanes(values + t, _mm256_or_si256(tag, _mm256_and_si256(hash, value_mask)));
        _mm_storeu_si128((__m128i *)(slots + t),
                         _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(scaled, odd_halves)));
    }
}

TARGET_AVX2 static uint64_t least(const uint64_t *tokens, size_t n, uint64_t constant) {
    const __m256i c = spread(constant), value_mask = spread(SKETCH_VALUE_MASK);
    __m256i found = spread(INT64_MAX);
    uint64_t lanes[LANES], lowest = EMPTY_SLOT;
    for (; n >= LANES; tokens += LANES, n -= LANES) {
        __m256i value = _mm256_and_si256(hash_lanes(tokens, LANES, c), value_mask);
        found = _mm256_blendv_epi8(found, value, _mm256_cmpgt_epi64(found, value));
    }
    store_lanes(lanes, found);
    for (size_t l = 0; l < LANES; l++) lowest = lanes[l] < lowest ? lanes[l] : lowest;
    for (size_t t = 0; t < n; t++) {
        uint64_t value = mix64(tokens[t] ^ constant) & SKETCH_VALUE_MASK;
        lowest = value < lowest ? value : lowest;
    }
    return lowest;
}

const struct sketch_kernels sketch_avx2 = {classic, land, NULL, least};
#endif
