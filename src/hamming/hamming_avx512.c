/* Hamming search for AVX-512 with VPOPCNTDQ: eight words at a time. */
#include "hamming/hamming.h"

#if LSHFAST_X86
#include "hamming/hamming_parts.h"
#include "lanes_avx512.h"

#define TARGET_POPCNT TARGET("avx2,bmi,bmi2,avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vpopcntdq")

TARGET_POPCNT static inline __m512i distances(const uint64_t *codes, __m512i query) {
    return _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(codes), query));
}

TARGET_POPCNT static inline unsigned near_mask(__m512i a, __m512i b, __m512i c, __m512i d, __m512i most) {
    unsigned found = _mm512_cmple_epu64_mask(a, most) | (unsigned)_mm512_cmple_epu64_mask(b, most) << 8;
    return found | (unsigned)_mm512_cmple_epu64_mask(c, most) << 16 | (unsigned)_mm512_cmple_epu64_mask(d, most) << 24;
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
        out = write_places(out, i, near_mask(a, b, c, d, most));
    }
    for (; i < n; i += LANES) {
        __mmask8 there = first_lanes(n - i);
        __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi64(there, codes + i), q);
        out = write_places(out, i, _mm512_mask_cmple_epu64_mask(there, _mm512_popcnt_epi64(x), most));
    }
    return (size_t)(out - places);
}

TARGET_POPCNT static void transpose(const uint64_t *codes, const uint32_t *order, size_t words, uint64_t *columns) {
    hamming_avx2.transpose(codes, order, words, columns);
}

TARGET_POPCNT static size_t near_columns(const uint64_t *columns, size_t n, size_t words, const uint64_t *query,
                                         unsigned radius, uint64_t *found) {
    const __m512i most = spread(radius);
    const size_t step = hamming_step(words);
    uint64_t *out = found;
    for (size_t start = 0; start < n; start += HAMMING_GROUP, columns += HAMMING_GROUP * words) {
        __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
        const uint64_t *at = columns;
        for (size_t w = 0; w < words;) {
            for (const size_t end = words - w < step ? words : w + step; w < end; w++, at += HAMMING_GROUP) {
                const __m512i q = spread(query[w]);
                a = _mm512_add_epi64(a, distances(at, q));
                b = _mm512_add_epi64(b, distances(at + LANES, q));
                c = _mm512_add_epi64(c, distances(at + 2 * LANES, q));
                d = _mm512_add_epi64(d, distances(at + 3 * LANES, q));
            }
            /* A sum is in the lowest 16 bits. */
            __m512i least = _mm512_min_epu16(_mm512_min_epu16(a, b), _mm512_min_epu16(c, d));
            if (_mm512_cmple_epu64_mask(least, most) == 0) goto next;
        }
        uint64_t sums[HAMMING_GROUP];
        _mm512_storeu_si512(sums, a);
        _mm512_storeu_si512(sums + LANES, b);
        _mm512_storeu_si512(sums + 2 * LANES, c);
        _mm512_storeu_si512(sums + 3 * LANES, d);
        out = hamming_write(out, sums, near_mask(a, b, c, d, most), start, n);
    next:;
    }
    return (size_t)(out - found);
}

TARGET_POPCNT static void count_ones(const uint64_t *codes, size_t n, size_t words, uint16_t *counts) {
    for (size_t i = 0; i < n; i++, codes += words) {
        __m512i sum = _mm512_setzero_si512();
        for (size_t w = 0; w < words; w += LANES) {
            __m512i x = _mm512_maskz_loadu_epi64(first_lanes(words - w), codes + w);
            sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(x));
        }
        counts[i] = (uint16_t)_mm512_reduce_add_epi64(sum);
    }
}

TARGET_POPCNT static void select_bits(const uint64_t *codes, size_t n, size_t words, const uint64_t *mask,
                                      uint32_t *values) {
    hamming_avx2.select(codes, n, words, mask, values);
}

const struct hamming_kernels hamming_avx512 = {near_words, transpose, near_columns, count_ones, select_bits};
#endif
