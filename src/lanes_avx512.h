/* What the AVX-512 kernels share: the mixer, and the last reduction mod p, eight 64-bit lanes at a time. */
#ifndef LSHFAST_LANES_AVX512_H
#define LSHFAST_LANES_AVX512_H

#include "cpu/cpu.h"
#include "field.h"

#include <immintrin.h>

#define LANES 8
#define LANES32 16

TARGET_AVX512 static inline __m512i spread(uint64_t x) { return _mm512_set1_epi64((long long)x); }

static inline __mmask8 first_lanes(size_t n) { return n >= LANES ? 0xFF : (__mmask8)((1u << n) - 1); }

static inline __mmask16 first_lanes32(size_t n) { return n >= LANES32 ? 0xFFFF : (__mmask16)((1u << n) - 1); }

TARGET_AVX512 static inline __m512i mix64_lanes(__m512i x) {
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 30));
    x = _mm512_mullo_epi64(x, spread(UINT64_C(0xBF58476D1CE4E5B9)));
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 27));
    x = _mm512_mullo_epi64(x, spread(UINT64_C(0x94D049BB133111EB)));
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}

/* rest + middle 2^52 + high 2^104 mod p: 2^61 is 1, so middle 2^52 is (middle >> 9) + (middle mod 2^9) 2^52 and
 * high 2^104 is (high >> 18) + (high mod 2^18) 2^43. For rest below 2^63 and middle, high below 2^60: no overflow.
 * The lesser of x and x - p mod 2^64 is x mod p, for x below 2p. */
TARGET_AVX512 static inline __m512i p61_of_limbs(__m512i rest, __m512i middle, __m512i high) {
    const __m512i p = spread(P61);
    __m512i sum = _mm512_add_epi64(rest, _mm512_srli_epi64(middle, 9));
    __m512i low = _mm512_slli_epi64(_mm512_and_si512(middle, spread(511)), 52);
    low = _mm512_add_epi64(low, _mm512_slli_epi64(_mm512_and_si512(high, spread((1 << 18) - 1)), 43));
    sum = _mm512_add_epi64(sum, _mm512_add_epi64(low, _mm512_srli_epi64(high, 18)));
    sum = _mm512_add_epi64(_mm512_and_si512(sum, p), _mm512_srli_epi64(sum, 61));
    return _mm512_min_epu64(sum, _mm512_sub_epi64(sum, p));
}

/* Add the limbs of x y, x = x1 2^52 + x0 and y likewise, both below 2^62: seven 52-bit multiply-adds. */
struct limbs {
    __m512i low, middle, high;
};

TARGET_AVX512 static inline void add_product(struct limbs *sum, __m512i x0, __m512i x1, __m512i y0, __m512i y1) {
    sum->low = _mm512_madd52lo_epu64(sum->low, x0, y0);
    sum->middle = _mm512_madd52hi_epu64(sum->middle, x0, y0);
    sum->middle = _mm512_madd52lo_epu64(sum->middle, x0, y1);
    sum->middle = _mm512_madd52lo_epu64(sum->middle, x1, y0);
    sum->high = _mm512_madd52hi_epu64(sum->high, x0, y1);
    sum->high = _mm512_madd52hi_epu64(sum->high, x1, y0);
    sum->high = _mm512_madd52lo_epu64(sum->high, x1, y1);
}

#define LOW52 (((uint64_t)1 << 52) - 1)

#endif
