/* Hamming search for AVX2: the ones of each half byte from a table, four words at a time. */
#include "hamming/hamming.h"

#if LSHFAST_X86
#include "hamming/hamming_parts.h"
#include "lanes_avx2.h"

/* The number of ones in each byte. */
TARGET_AVX2 static inline __m256i ones_of_bytes(__m256i x) {
    const __m256i half = _mm256_set1_epi8(15);
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, half));
    __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), half));
    return _mm256_add_epi8(low, high);
}

TARGET_AVX2 static inline unsigned marks(__m256i x) { return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(x)); }

/* All ones in the words that differ in at most `radius` bits; above is radius + 1 in each. */
TARGET_AVX2 static inline __m256i near_lanes(const uint64_t *codes, __m256i query, __m256i above) {
    __m256i bytes = ones_of_bytes(_mm256_xor_si256(load_lanes(codes), query));
    return _mm256_cmpgt_epi64(above, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
}

TARGET_AVX2 static inline uint32_t *write_places(uint32_t *places, size_t first, unsigned found) {
    for (; found; found &= found - 1) *places++ = (uint32_t)(first + lowest_bit(found));
    return places;
}

TARGET_AVX2 static size_t near_words(const uint64_t *codes, size_t n, uint64_t query, unsigned radius,
                                     uint32_t *places) {
    const __m256i q = spread(query), above = spread((uint64_t)radius + 1);
    uint32_t *out = places;
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        __m256i a = near_lanes(codes + i, q, above), b = near_lanes(codes + i + LANES, q, above);
        __m256i c = near_lanes(codes + i + 2 * LANES, q, above), d = near_lanes(codes + i + 3 * LANES, q, above);
        __m256i any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
        if (_mm256_testz_si256(any, any)) continue;
        out = write_places(out, i, marks(a) | marks(b) << 4 | marks(c) << 8 | marks(d) << 12);
    }
    for (; i + LANES <= n; i += LANES) out = write_places(out, i, marks(near_lanes(codes + i, q, above)));
    for (; i < n; i++) {
        *out = (uint32_t)i;
        out += ones_of(codes[i] ^ query) <= radius;
    }
    return (size_t)(out - places);
}

/* Two words of row a, then two words of row c. */
TARGET_AVX2 static inline __m256i load_pairs(const uint64_t *a, const uint64_t *c) {
    __m128i low = _mm_loadu_si128((const __m128i *)a);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), _mm_loadu_si128((const __m128i *)c), 1);
}

TARGET_AVX2 static void transpose(const uint64_t *codes, const uint32_t *order, size_t words, uint64_t *columns) {
    for (size_t t = 0; t < HAMMING_GROUP; t += LANES) {
        const uint64_t *rows[LANES];
        for (size_t i = 0; i < LANES; i++) rows[i] = hamming_row(codes, order, words, t + i);
        uint64_t *out = columns + t;
        size_t w = 0;
        for (; w + LANES <= words; w += LANES, out += LANES * HAMMING_GROUP) {
            __m256i a = load_lanes(rows[0] + w), b = load_lanes(rows[1] + w);
            __m256i c = load_lanes(rows[2] + w), d = load_lanes(rows[3] + w);
            __m256i ab = _mm256_unpacklo_epi64(a, b), cd = _mm256_unpacklo_epi64(c, d);
            store_lanes(out, _mm256_permute2x128_si256(ab, cd, 0x20));
            store_lanes(out + 2 * HAMMING_GROUP, _mm256_permute2x128_si256(ab, cd, 0x31));
            ab = _mm256_unpackhi_epi64(a, b), cd = _mm256_unpackhi_epi64(c, d);
            store_lanes(out + HAMMING_GROUP, _mm256_permute2x128_si256(ab, cd, 0x20));
            store_lanes(out + 3 * HAMMING_GROUP, _mm256_permute2x128_si256(ab, cd, 0x31));
        }
        if (w + 2 <= words) {
            __m256i ac = load_pairs(rows[0] + w, rows[2] + w), bd = load_pairs(rows[1] + w, rows[3] + w);
            store_lanes(out, _mm256_unpacklo_epi64(ac, bd));
            store_lanes(out + HAMMING_GROUP, _mm256_unpackhi_epi64(ac, bd));
            w += 2, out += 2 * HAMMING_GROUP;
        }
        if (w < words) {
            for (size_t i = 0; i < LANES; i++) out[i] = rows[i][w];
        }
    }
}

TARGET_AVX2 static inline __m256i distances(const uint64_t *codes, __m256i query) {
    return ones_of_bytes(_mm256_xor_si256(load_lanes(codes), query));
}

TARGET_AVX2 static inline __m256i sums_of_bytes(__m256i x) { return _mm256_sad_epu8(x, _mm256_setzero_si256()); }

TARGET_AVX2 static size_t near_columns(const uint64_t *columns, size_t n, size_t words, const uint64_t *query,
                                       unsigned radius, uint64_t *found) {
    const __m256i above = spread((uint64_t)radius + 1), zero = _mm256_setzero_si256();
    const size_t step = hamming_step(words);
    uint64_t *out = found;
    /* Half a group at a time, for which there are enough registers. */
    for (size_t start = 0; start < n; start += HAMMING_GROUP / 2) {
        const uint64_t *at = columns + start / HAMMING_GROUP * HAMMING_GROUP * words + start % HAMMING_GROUP;
        __m256i a = zero, b = zero, c = zero, d = zero;
        unsigned near = 0;
        for (size_t w = 0; w < words;) {
            __m256i e = zero, f = zero, g = zero, h = zero; /* at most 8 in a byte for each word of a step */
            for (const size_t end = words - w < step ? words : w + step; w < end; w++, at += HAMMING_GROUP) {
                const __m256i q = spread(query[w]);
                e = _mm256_add_epi8(e, distances(at, q));
                f = _mm256_add_epi8(f, distances(at + LANES, q));
                g = _mm256_add_epi8(g, distances(at + 2 * LANES, q));
                h = _mm256_add_epi8(h, distances(at + 3 * LANES, q));
            }
            a = _mm256_add_epi64(a, sums_of_bytes(e));
            b = _mm256_add_epi64(b, sums_of_bytes(f));
            c = _mm256_add_epi64(c, sums_of_bytes(g));
            d = _mm256_add_epi64(d, sums_of_bytes(h));
            near = marks(_mm256_cmpgt_epi64(above, a)) | marks(_mm256_cmpgt_epi64(above, b)) << 4;
            near |= marks(_mm256_cmpgt_epi64(above, c)) << 8 | marks(_mm256_cmpgt_epi64(above, d)) << 12;
            if (!near) break;
        }
        if (!near) continue;
        uint64_t sums[HAMMING_GROUP / 2];
        store_lanes(sums, a);
        store_lanes(sums + LANES, b);
        store_lanes(sums + 2 * LANES, c);
        store_lanes(sums + 3 * LANES, d);
        out = hamming_write(out, sums, near, start, n);
    }
    return (size_t)(out - found);
}

TARGET_AVX2 static void differences(const uint64_t *codes, const uint64_t *found, size_t n, size_t words,
                                    const uint64_t *query, uint32_t *distances) {
    for (size_t p = 0; p < n; p++) {
        const uint64_t *code = codes + (uint32_t)found[p] * words;
        uint64_t sum = 0;
        if (p + HAMMING_AHEAD < n) prefetch(codes + (uint32_t)found[p + HAMMING_AHEAD] * words);
        for (size_t w = 0; w < words; w++) sum += (uint64_t)_mm_popcnt_u64(code[w] ^ query[w]);
        distances[p] = (uint32_t)sum;
    }
}

TARGET_AVX2 static void count_ones(const uint64_t *codes, size_t n, size_t words, uint16_t *counts) {
    for (size_t i = 0; i < n; i++, codes += words) {
        __m256i sum = _mm256_setzero_si256();
        uint64_t rest = 0;
        size_t w = 0;
        for (; w + LANES <= words; w += LANES) {
            sum = _mm256_add_epi64(sum, sums_of_bytes(ones_of_bytes(load_lanes(codes + w))));
        }
        for (; w < words; w++) rest += ones_of(codes[w]);
        counts[i] = (uint16_t)((uint64_t)sum_of_lanes(sum) + rest);
    }
}

TARGET_AVX2 static void select_bits(const uint64_t *codes, size_t n, size_t words, const uint64_t *mask,
                                    uint32_t *values) {
    for (size_t i = 0; i < n; i++, codes += words) {
        uint64_t value = 0;
        unsigned at = 0;
        for (size_t w = 0; w < words; w++) {
            if (!mask[w]) continue;
            value |= _pext_u64(codes[w], mask[w]) << at;
            at += (unsigned)ones_of(mask[w]);
        }
        values[i] = (uint32_t)value;
    }
}

const struct hamming_kernels hamming_avx2 = {near_words,  transpose,  near_columns,
                                             differences, count_ones, select_bits};
#endif
