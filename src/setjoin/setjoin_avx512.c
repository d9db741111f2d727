/* Candidates and bits for AVX-512, eight words at a time. */
#include "setjoin/setjoin_parts.h"

#if LSHFAST_X86
#include <immintrin.h>

#define LANES 8
#define TARGET_HERE TARGET("avx2,bmi,bmi2,popcnt,avx512f,avx512dq,avx512bw,avx512vl")

TARGET_HERE static size_t screen(const struct setjoin_set *sets, const struct setjoin_set *probe,
                                 struct setjoin_candidate *batch, size_t n) {
    return setjoin_screen(sets, probe, batch, n);
}

/* The ones of each byte, by a table of half bytes. */
TARGET_HERE static inline __m512i ones_of_bytes(__m512i x) {
    const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m512i half = _mm512_set1_epi8(15);
    __m512i low = _mm512_shuffle_epi8(table, _mm512_and_si512(x, half));
    return _mm512_add_epi8(low, _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(x, 4), half)));
}

/* At most 8 words a row, so that the sum of a byte's ones is at most 64. */
TARGET_HERE static size_t within(const uint64_t *words, size_t stride, size_t width, const uint64_t *row, size_t from,
                               size_t to, uint32_t most, uint32_t *out) {
    const __m512i limit = _mm512_set1_epi64(most), zero = _mm512_setzero_si512();
    size_t count = 0, i = from;
    /* The most frequent width, with one branch for two registers. */
    const __m512i own = _mm512_set1_epi64((long long)row[0]);
    for (; width == 1 && i + 2 * LANES <= to; i += 2 * LANES) {
        __m512i a = ones_of_bytes(_mm512_xor_si512(_mm512_loadu_si512(words + i), own));
        __m512i b = ones_of_bytes(_mm512_xor_si512(_mm512_loadu_si512(words + i + LANES), own));
        unsigned close = _mm512_cmple_epu64_mask(_mm512_sad_epu8(a, zero), limit);
        close |= (unsigned)_mm512_cmple_epu64_mask(_mm512_sad_epu8(b, zero), limit) << LANES;
        for (; close; close &= close - 1) out[count++] = (uint32_t)(i + lowest_bit(close));
    }
    for (; i + LANES <= to; i += LANES) {
        __m512i sum = zero;
        for (size_t w = 0; w < width; w++) {
            __m512i x = _mm512_xor_si512(_mm512_loadu_si512(words + w * stride + i), _mm512_set1_epi64((long long)row[w]));
            sum = _mm512_add_epi8(sum, ones_of_bytes(x));
        }
        unsigned close = _mm512_cmple_epu64_mask(_mm512_sad_epu8(sum, zero), limit);
        for (; close; close &= close - 1) out[count++] = (uint32_t)(i + lowest_bit(close));
    }
    return count + setjoin_within(words, stride, width, row, i, to, most, out + count);
}

const struct setjoin_kernels setjoin_avx512 = {screen, within};
#endif
