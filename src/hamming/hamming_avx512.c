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

/* Write (sum << 32 | position) of the marked lanes, the lowest 8 of a mask; the words of all lanes are overwritten. */
TARGET_POPCNT static inline uint64_t *write_marked(uint64_t *out, __m512i sums, size_t start, unsigned marked) {
    const __m512i at = _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), spread(start));
    const __m512i found = _mm512_or_si512(_mm512_slli_epi64(sums, 32), at);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi64((__mmask8)marked, found));
    return out + _mm_popcnt_u32(marked & 0xFF);
}

/* The distances of a group. */
struct sums {
    __m512i a, b, c, d;
};

/* Write (distance << 32 | position) of the lanes of a group whose distance is at most `most`. */
TARGET_POPCNT static inline uint64_t *write_group(uint64_t *out, struct sums x, __m512i most, size_t start, size_t n) {
    unsigned marked = near_mask(x.a, x.b, x.c, x.d, most);
    if (n - start >= HAMMING_GROUP) { /* without branches that depend on the codes */
        out = write_marked(out, x.a, start, marked);
        out = write_marked(out, x.b, start + LANES, marked >> LANES);
        out = write_marked(out, x.c, start + 2 * LANES, marked >> 2 * LANES);
        return write_marked(out, x.d, start + 3 * LANES, marked >> 3 * LANES);
    }
    uint64_t sums[HAMMING_GROUP];
    _mm512_storeu_si512(sums, x.a);
    _mm512_storeu_si512(sums + LANES, x.b);
    _mm512_storeu_si512(sums + 2 * LANES, x.c);
    _mm512_storeu_si512(sums + 3 * LANES, x.d);
    return hamming_write(out, sums, marked, start, n);
}

TARGET_POPCNT static inline __m512i two_words(const uint64_t *at, __m512i q, __m512i r) {
    return _mm512_add_epi64(distances(at, q), distances(at + HAMMING_GROUP, r));
}

TARGET_POPCNT static inline struct sums sums_of_two(const uint64_t *at, __m512i q, __m512i r) {
    return (struct sums){two_words(at, q, r), two_words(at + LANES, q, r), two_words(at + 2 * LANES, q, r),
                         two_words(at + 3 * LANES, q, r)};
}

/* near_columns of two words, the heads of longer codes. A fourth of the groups have a near row, which no branch prediction
 * foresees: so these groups are listed first, without a branch, and their distances are computed again. */
TARGET_POPCNT static size_t near_pairs(const uint64_t *columns, size_t n, const uint64_t *query, unsigned radius,
                                       uint64_t *found) {
    const __m512i most = spread(radius), q = spread(query[0]), r = spread(query[1]);
    uint64_t *out = found;
    for (size_t first = 0; first < n; first += HAMMING_PIECE) {
        const size_t stop = n - first < HAMMING_PIECE ? n : first + HAMMING_PIECE;
        size_t near[HAMMING_PIECE / HAMMING_GROUP + 1], count = 0;
        for (size_t start = first; start < stop; start += HAMMING_GROUP) {
            const struct sums x = sums_of_two(columns + 2 * start, q, r);
            __m512i least = _mm512_min_epu8(_mm512_min_epu8(x.a, x.b), _mm512_min_epu8(x.c, x.d));
            near[count] = start;
            count += _mm512_cmple_epu64_mask(least, most) != 0;
        }
        for (size_t i = 0; i < count; i++) {
            out = write_group(out, sums_of_two(columns + 2 * near[i], q, r), most, near[i], n);
        }
    }
    return (size_t)(out - found);
}

TARGET_POPCNT static size_t near_columns(const uint64_t *columns, size_t n, size_t words, const uint64_t *query,
                                         unsigned radius, uint64_t *found) {
    if (words == 2) return near_pairs(columns, n, query, radius, found);
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
        out = write_group(out, (struct sums){a, b, c, d}, most, start, n);
    next:;
    }
    return (size_t)(out - found);
}

TARGET_POPCNT static inline uint32_t sum_of(__m256i x) {
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (uint32_t)(_mm_extract_epi64(two, 0) + _mm_extract_epi64(two, 1));
}

TARGET_POPCNT static void differences(const uint64_t *codes, const uint64_t *found, size_t n, size_t words,
                                      const uint64_t *query, uint32_t *distances) {
    const __m256i four = _mm256_maskz_loadu_epi64(first_lanes(words < 4 ? words : 4), query);
    for (size_t p = 0; p < n; p++) {
        const uint64_t *code = codes + (uint32_t)found[p] * words;
        if (p + HAMMING_AHEAD < n) prefetch(codes + (uint32_t)found[p + HAMMING_AHEAD] * words);
        if (words == 1) {
            distances[p] = (uint32_t)_mm_popcnt_u64(*code ^ *query);
        } else if (words <= 4) {
            __m256i x = _mm256_maskz_loadu_epi64(first_lanes(words), code);
            distances[p] = sum_of(_mm256_popcnt_epi64(_mm256_xor_si256(x, four)));
        } else {
            __m512i sum = _mm512_setzero_si512();
            for (size_t w = 0; w < words; w += LANES) {
                const __mmask8 there = first_lanes(words - w);
                __m512i x = _mm512_maskz_loadu_epi64(there, code + w), y = _mm512_maskz_loadu_epi64(there, query + w);
                sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_xor_si512(x, y)));
            }
            distances[p] = sum_of(_mm256_add_epi64(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1)));
        }
    }
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

const struct hamming_kernels hamming_avx512 = {near_words,  transpose,  near_columns,
                                               differences, count_ones, select_bits};
#endif
