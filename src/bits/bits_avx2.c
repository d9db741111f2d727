/* Comparison of packed signatures for AVX2, four words at a time. */
#include "bits/bits.h"

#if LSHFAST_X86
#include "lanes_avx2.h"

/* Bytes whose sum is the number of slots that differ: of the narrow ones a table knows it for each half byte. */
TARGET_AVX2 static inline __m256i differing_bytes(__m256i x, unsigned bits, __m256i table) {
    const __m256i half = _mm256_set1_epi8(15);
    if (bits == 16) return _mm256_min_epu16(x, _mm256_set1_epi16(1));
    if (bits == 8) return _mm256_min_epu8(x, _mm256_set1_epi8(1));
    __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, half));
    return _mm256_add_epi8(low, _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), half)));
}

TARGET_AVX2 static void differ(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t words, unsigned bits,
                               int32_t *unequal) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)bits_differing(bits)));
    const size_t whole = words / LANES * LANES, left = words - whole;
    const __m256i rest = _mm256_cmpgt_epi64(spread(left), _mm256_setr_epi64x(0, 1, 2, 3));
    for (size_t row = 0; row < n; row++, a += step, b += words) {
        __m256i sum = zero;
        for (size_t i = 0; i < whole; i += LANES) {
            __m256i x = _mm256_xor_si256(load_lanes(a + i), load_lanes(b + i));
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(differing_bytes(x, bits, table), zero));
        }
        if (left) {
            __m256i x = _mm256_maskload_epi64((const long long *)(a + whole), rest);
            x = _mm256_xor_si256(x, _mm256_maskload_epi64((const long long *)(b + whole), rest));
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(differing_bytes(x, bits, table), zero));
        }
        unequal[row] = (int32_t)sum_of_lanes(sum);
    }
}

const struct bits_kernels bits_avx2 = {bits_pack_slots, differ};
#endif
