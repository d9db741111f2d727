/* SHA-1 by the SHA instructions of x86: four rounds an instruction, four words of the schedule another. */
#include "affine/sha1.h"

#if LSHFAST_X86
#include <immintrin.h>

/* The next four words of the schedule from the last sixteen, w0 the oldest. */
TARGET_SHA static inline __m128i scheduled(__m128i w0, __m128i w1, __m128i w2, __m128i w3) {
    return _mm_sha1msg2_epu32(_mm_xor_si128(_mm_sha1msg1_epu32(w0, w1), w2), w3);
}

/* Four rounds by the function `which`. The e of four rounds is the a of four rounds ago, rotated. */
#define ROUNDS(words, which)                          \
    do {                                              \
        __m128i sum = _mm_sha1nexte_epu32(e, words);  \
        e = abcd;                                     \
        abcd = _mm_sha1rnds4_epu32(abcd, sum, which); \
    } while (0)

/* The same with the next four words, which take the place of the oldest. */
#define NEXT(w0, w1, w2, w3, which)     \
    do {                                \
        w0 = scheduled(w0, w1, w2, w3); \
        ROUNDS(w0, which);              \
    } while (0)

TARGET_SHA void sha1_compress_ni(uint32_t state[5], const uint8_t *blocks, size_t count) {
    const __m128i big_endian = _mm_set_epi64x(0x0001020304050607, 0x08090A0B0C0D0E0F);
    __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0x1B);
    __m128i e = _mm_set_epi32((int)state[4], 0, 0, 0);
    for (; count; blocks += 64, count--) {
        __m128i abcd_before = abcd, e_before = e, w[4];
        for (int i = 0; i < 4; i++) {
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(blocks + 16 * i)), big_endian);
        }
        { /* e itself, for once */
            __m128i sum = _mm_add_epi32(e, w[0]);
            e = abcd;
            abcd = _mm_sha1rnds4_epu32(abcd, sum, 0);
        }
        ROUNDS(w[1], 0);
        ROUNDS(w[2], 0);
        ROUNDS(w[3], 0);
        NEXT(w[0], w[1], w[2], w[3], 0);
        NEXT(w[1], w[2], w[3], w[0], 1);
        NEXT(w[2], w[3], w[0], w[1], 1);
        NEXT(w[3], w[0], w[1], w[2], 1);
        NEXT(w[0], w[1], w[2], w[3], 1);
        NEXT(w[1], w[2], w[3], w[0], 1);
        NEXT(w[2], w[3], w[0], w[1], 2);
        NEXT(w[3], w[0], w[1], w[2], 2);
        NEXT(w[0], w[1], w[2], w[3], 2);
        NEXT(w[1], w[2], w[3], w[0], 2);
        NEXT(w[2], w[3], w[0], w[1], 2);
        NEXT(w[3], w[0], w[1], w[2], 3);
        NEXT(w[0], w[1], w[2], w[3], 3);
        NEXT(w[1], w[2], w[3], w[0], 3);
        NEXT(w[2], w[3], w[0], w[1], 3);
        NEXT(w[3], w[0], w[1], w[2], 3);
        e = _mm_sha1nexte_epu32(e, e_before);
        abcd = _mm_add_epi32(abcd, abcd_before);
    }
    _mm_storeu_si128((__m128i *)state, _mm_shuffle_epi32(abcd, 0x1B));
    state[4] = (uint32_t)_mm_extract_epi32(e, 3);
}
#endif
