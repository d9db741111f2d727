/* Hamming search for AVX2: the ones of each half byte from a table, four words at a time. */
#include "hamming/hamming.h"

#if LSHFAST_X86
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

TARGET_AVX2 static size_t near_codes(const uint64_t *codes, size_t n, size_t words, const uint64_t *query,
                                     unsigned radius, uint32_t *places) {
    const __m256i zero = _mm256_setzero_si256();
    const size_t whole = words / LANES * LANES, left = words - whole;
    const __m256i rest = _mm256_cmpgt_epi64(spread(left), _mm256_setr_epi64x(0, 1, 2, 3));
    const __m256i tail = left ? _mm256_maskload_epi64((const long long *)(query + whole), rest) : zero;
    size_t count = 0;
    for (size_t i = 0; i < n; i++, codes += words) {
        __m256i bytes = zero; /* at most 8 * 4 in each */
        for (size_t w = 0; w < whole; w += LANES) {
            __m256i x = _mm256_xor_si256(load_lanes(codes + w), load_lanes(query + w));
            bytes = _mm256_add_epi8(bytes, ones_of_bytes(x));
        }
        if (left) {
            __m256i x = _mm256_xor_si256(_mm256_maskload_epi64((const long long *)(codes + whole), rest), tail);
            bytes = _mm256_add_epi8(bytes, ones_of_bytes(x));
        }
        places[count] = (uint32_t)i;
        count += (uint64_t)sum_of_lanes(_mm256_sad_epu8(bytes, zero)) <= radius;
    }
    return count;
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

const struct hamming_kernels hamming_avx2 = {near_words, near_codes, select_bits};
#endif
