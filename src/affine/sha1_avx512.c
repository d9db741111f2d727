/* SHA-1 of sixteen messages of one block at a time, a message a lane. */
#include "affine/sha1.h"

#if LSHFAST_X86
#include <immintrin.h>

/* Each word with its bytes turned round. */
TARGET_AVX512 static inline __m512i swapped(__m512i words) {
    const __m128i order = _mm_set_epi64x(0x0C0D0E0F08090A0B, 0x0405060700010203);
    return _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(order));
}

/* The words of a message, but for its length. No byte behind the message is read. */
TARGET_AVX512 static inline __m512i padded(const uint8_t *data, size_t length) {
    __mmask64 end = (__mmask64)1 << length;
    __m512i bytes = _mm512_maskz_loadu_epi8(end - 1, data);
    return swapped(_mm512_mask_blend_epi8(end, bytes, _mm512_set1_epi8((char)0x80)));
}

/* Make of sixteen messages, a row each, their words, a row each. */
TARGET_AVX512 static inline void transpose(__m512i w[16]) {
    __m512i pairs[16], fours[16], halves[16];
    for (int i = 0; i < 16; i += 2) {
        pairs[i] = _mm512_unpacklo_epi32(w[i], w[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_epi32(w[i], w[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        fours[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
        fours[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
        fours[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        fours[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 16; j += 8) {
            halves[j + i] = _mm512_shuffle_i32x4(fours[j + i], fours[j + i + 4], 0x88);
            halves[j + i + 4] = _mm512_shuffle_i32x4(fours[j + i], fours[j + i + 4], 0xDD);
        }
    }
    for (int i = 0; i < 8; i++) {
        w[i] = _mm512_shuffle_i32x4(halves[i], halves[i + 8], 0x88);
        w[i + 8] = _mm512_shuffle_i32x4(halves[i], halves[i + 8], 0xDD);
    }
}

/* Truth tables of three inputs. */
#define CHOICE 0xCA
#define PARITY 0x96
#define MAJORITY 0xE8

#define SUM(x, y) _mm512_add_epi32(x, y)

/* Step t, whose word is made of those of 3, 8, 14 and 16 steps ago. The sum with a, which is the last to be known, comes
 * last. Written out, as all sixteen words stay in registers only where t is a constant. */
#define STEP(a, b, c, d, e, t, which)                                                                            \
    do {                                                                                                         \
        if ((t) >= 16) {                                                                                         \
            __m512i old = _mm512_xor_si512(w[((t) + 2) & 15], w[(t) & 15]);                                      \
            w[(t) & 15] = _mm512_rol_epi32(_mm512_ternarylogic_epi32(w[((t) + 13) & 15], w[((t) + 8) & 15], old, \
                                                                     PARITY), 1);                                \
        }                                                                                                        \
        e = SUM(SUM(e, SUM(w[(t) & 15], constant)),                                                              \
                SUM(_mm512_ternarylogic_epi32(b, c, d, which), _mm512_rol_epi32(a, 5)));                         \
        b = _mm512_rol_epi32(b, 30);                                                                             \
    } while (0)

#define FIVE(t, which)                       \
    do {                                     \
        STEP(a, b, c, d, e, t, which);       \
        STEP(e, a, b, c, d, (t) + 1, which); \
        STEP(d, e, a, b, c, (t) + 2, which); \
        STEP(c, d, e, a, b, (t) + 3, which); \
        STEP(b, c, d, e, a, (t) + 4, which); \
    } while (0)

#define TWENTY(t, which, of_steps)                                           \
    do {                                                                     \
        const __m512i constant = _mm512_set1_epi32((int)UINT32_C(of_steps)); \
        FIVE(t, which);                                                      \
        FIVE((t) + 5, which);                                                \
        FIVE((t) + 10, which);                                               \
        FIVE((t) + 15, which);                                               \
    } while (0)

TARGET_AVX512 static inline __m512i head_of(__m256i first, __m256i second) {
    return _mm512_or_si512(_mm512_cvtepu32_epi64(first), _mm512_slli_epi64(_mm512_cvtepu32_epi64(second), 32));
}

TARGET_AVX512 void sha1_sixteen_avx512(const uint8_t *const starts[SHA1_LANES], const size_t lengths[SHA1_LANES],
                                       uint64_t heads[SHA1_LANES]) {
    const __m512i a_before = _mm512_set1_epi32(0x67452301), b_before = _mm512_set1_epi32((int)UINT32_C(0xEFCDAB89));
    __m512i a = a_before, b = b_before, c = _mm512_set1_epi32((int)UINT32_C(0x98BADCFE));
    __m512i d = _mm512_set1_epi32(0x10325476), e = _mm512_set1_epi32((int)UINT32_C(0xC3D2E1F0));
    __m512i w[16];
    uint32_t bits[SHA1_LANES];
    for (int i = 0; i < SHA1_LANES; i++) {
        w[i] = padded(starts[i], lengths[i]);
        bits[i] = (uint32_t)lengths[i] * 8;
    }
    transpose(w);
    w[15] = _mm512_loadu_si512(bits);
    TWENTY(0, CHOICE, 0x5A827999);
    TWENTY(20, PARITY, 0x6ED9EBA1);
    TWENTY(40, MAJORITY, 0x8F1BBCDC);
    TWENTY(60, PARITY, 0xCA62C1D6);
    a = swapped(SUM(a, a_before));
    b = swapped(SUM(b, b_before));
    _mm512_storeu_si512(heads, head_of(_mm512_castsi512_si256(a), _mm512_castsi512_si256(b)));
    _mm512_storeu_si512(heads + 8, head_of(_mm512_extracti64x4_epi64(a, 1), _mm512_extracti64x4_epi64(b, 1)));
}
#endif
