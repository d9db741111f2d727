/* Hamming search for AVX-512 with VPOPCNTDQ: eight words at a time. */
#include "hamming/hamming.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

#define TARGET_POPCNT TARGET("avx2,bmi,bmi2,avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vpopcntdq")

TARGET_POPCNT static inline __m512i distances(const uint64_t *codes, __m512i query) {
    return _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(codes), query));
}

TARGET_POPCNT static inline uint32_t *write_places(uint32_t *places, size_t first, unsigned found) {
    for (; found; found &= found - 1) *places++ = (uint32_t)(first + lowest_bit(found));
    return places;
}

TARGET_POPCNT static size_t near_words(const uint64_t *codes, size_t n, uint64_t query, unsigned radius,
                                       uint32_t *places) {
    const __m512i q = spread(query), most = spread(radius);
    uint32_t *out = places;
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        __m512i a = distances(codes + i, q), b = distances(codes + i + LANES, q);
        __m512i c = distances(codes + i + 2 * LANES, q), d = distances(codes + i + 3 * LANES, q);
        /* One comparison for four: a distance is in the lowest byte, and the least of bytes has one port more. */
        __m512i least = _mm512_min_epu8(_mm512_min_epu8(a, b), _mm512_min_epu8(c, d));
        if (_mm512_cmple_epu64_mask(least, most) == 0) continue;
        unsigned found = _mm512_cmple_epu64_mask(a, most) | (unsigned)_mm512_cmple_epu64_mask(b, most) << 8;
        found |= (unsigned)_mm512_cmple_epu64_mask(c, most) << 16 | (unsigned)_mm512_cmple_epu64_mask(d, most) << 24;
        out = write_places(out, i, found);
    }
    for (; i < n; i += LANES) {
        __mmask8 there = first_lanes(n - i);
        __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi64(there, codes + i), q);
        out = write_places(out, i, _mm512_mask_cmple_epu64_mask(there, _mm512_popcnt_epi64(x), most));
    }
    return (size_t)(out - places);
}

/* Codes of two words: four in a register. */
TARGET_POPCNT static size_t near_double(const uint64_t *codes, size_t n, const uint64_t *query, unsigned radius,
                                        uint32_t *places) {
    const __m512i q = _mm512_broadcast_i64x2(_mm_loadu_si128((const __m128i *)query)), most = spread(radius);
    uint32_t *out = places;
    for (size_t i = 0; i < n; i += LANES / 2) {
        __mmask8 there = first_lanes(2 * (n - i));
        __m512i ones = _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_maskz_loadu_epi64(there, codes + 2 * i), q));
        ones = _mm512_add_epi64(ones, _mm512_shuffle_epi32(ones, _MM_PERM_BADC));
        for (unsigned found = _mm512_mask_cmple_epu64_mask(there & 0x55, ones, most); found; found &= found - 1) {
            *out++ = (uint32_t)(i + lowest_bit(found) / 2);
        }
    }
    return (size_t)(out - places);
}

TARGET_POPCNT static size_t near_codes(const uint64_t *codes, size_t n, size_t words, const uint64_t *query,
                                       unsigned radius, uint32_t *places) {
    if (words == 2) return near_double(codes, n, query, radius, places);
    const size_t whole = words < LANES ? 0 : LANES;
    const __mmask8 rest = first_lanes(words - whole);
    const __m512i first = _mm512_loadu_si512(whole ? query : (const uint64_t[LANES]){0});
    const __m512i tail = _mm512_maskz_loadu_epi64(rest, query + whole);
    size_t count = 0;
    for (size_t i = 0; i < n; i++, codes += words) {
        __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi64(rest, codes + whole), tail);
        __m512i ones = _mm512_popcnt_epi64(x);
        if (whole) ones = _mm512_add_epi64(ones, distances(codes, first));
        places[count] = (uint32_t)i;
        count += (uint64_t)_mm512_reduce_add_epi64(ones) <= radius;
    }
    return count;
}

TARGET_POPCNT static void select_bits(const uint64_t *codes, size_t n, size_t words, const uint64_t *mask,
                                      uint32_t *values) {
    hamming_avx2.select(codes, n, words, mask, values);
}

const struct hamming_kernels hamming_avx512 = {near_words, near_codes, select_bits};
#endif
