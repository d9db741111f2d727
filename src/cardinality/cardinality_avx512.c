/* Ranks and places of eight tokens at a time; the registers themselves are raised one after the other. */
#include "cardinality/cardinality.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

/* The lowest bit as a double is a power of two, whose exponent (above 1023) is the bit's place. Few ranks of many tokens are
 * above their registers, which are looked up together, four at a place. */
TARGET_AVX512 void cardinality_registers_avx512(const uint64_t *tokens, size_t n, uint64_t constant, unsigned p,
                                                uint8_t *registers) {
    const __m512i c = spread(constant), stop = spread((uint64_t)1 << (64 - p)), zero = _mm512_setzero_si512();
    const __m128i shift = _mm_cvtsi32_si128((int)(64 - p));
    for (size_t t = 0; t < n; t += LANES) {
        uint64_t places[LANES], ranks[LANES];
        __mmask8 held = first_lanes(n - t);
        __m512i hash = mix64_lanes(_mm512_xor_si512(_mm512_maskz_loadu_epi64(held, tokens + t), c));
        __m512i rest = _mm512_or_si512(hash, stop);
        __m512i lowest = _mm512_and_si512(rest, _mm512_sub_epi64(zero, rest));
        __m512i exponent = _mm512_srli_epi64(_mm512_castpd_si512(_mm512_cvtepu64_pd(lowest)), 52);
        __m512i rank = _mm512_sub_epi64(exponent, spread(1022)), place = _mm512_srl_epi64(hash, shift);
        __m512i four = _mm512_cvtepu32_epi64(_mm512_i64gather_epi32(_mm512_srli_epi64(place, 2), registers, 4));
        __m512i byte = _mm512_slli_epi64(_mm512_and_si512(place, spread(3)), 3);
        __m512i now = _mm512_and_si512(_mm512_srlv_epi64(four, byte), spread(UINT8_MAX));
        __mmask8 higher = _mm512_mask_cmpgt_epu64_mask(held, rank, now);
        if (!higher) continue;
        _mm512_storeu_si512(places, place);
        _mm512_storeu_si512(ranks, rank);
        for (; higher; higher &= higher - 1) {
            unsigned i = _tzcnt_u32(higher);
            if (ranks[i] > registers[places[i]]) registers[places[i]] = (uint8_t)ranks[i];
        }
    }
}
#endif
