/* Candidates and bits for AVX2: four words at a time; every processor with AVX2 counts ones in one instruction. */
#include "setjoin/setjoin_parts.h"

#if LSHFAST_X86
#include <immintrin.h>

#define LANES 4
#define TARGET_HERE TARGET("avx2,bmi,bmi2,popcnt")

TARGET_HERE static size_t screen(const struct setjoin_set *sets, const struct setjoin_set *probe,
                                 struct setjoin_candidate *batch, size_t n) {
    return setjoin_screen(sets, probe, batch, n);
}

/* The ones of each byte, by a table of half bytes. */
TARGET_HERE static inline __m256i ones_of_bytes(__m256i x) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2,
                                           3, 2, 3, 3, 4);
    const __m256i half = _mm256_set1_epi8(15);
    __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, half));
    return _mm256_add_epi8(low, _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), half)));
}

/* At most 8 words a row, so that the sum of a byte's ones is at most 64. */
TARGET_HERE static size_t within(const uint64_t *words, size_t stride, size_t width, const uint64_t *row, size_t from,
                               size_t to, uint32_t most, uint32_t *out) {
    const __m256i limit = _mm256_set1_epi64x(most), zero = _mm256_setzero_si256();
    size_t count = 0, i = from;
    for (; i + LANES <= to; i += LANES) {
        __m256i sum = zero;
        for (size_t w = 0; w < width; w++) {
            __m256i x = _mm256_loadu_si256((const __m256i *)(words + w * stride + i));
            sum = _mm256_add_epi8(sum, ones_of_bytes(_mm256_xor_si256(x, _mm256_set1_epi64x((long long)row[w]))));
        }
        __m256i beyond = _mm256_cmpgt_epi64(_mm256_sad_epu8(sum, zero), limit);
        unsigned close = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(beyond)) ^ 15;
        for (; close; close &= close - 1) out[count++] = (uint32_t)(i + lowest_bit(close));
    }
    return count + setjoin_within(words, stride, width, row, i, to, most, out + count);
}

const struct setjoin_kernels setjoin_avx2 = {screen, within};
#endif
