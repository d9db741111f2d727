/* Ranks and places of eight tokens at a time; the registers themselves are raised one after the other. */
#include "cardinality/cardinality.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

/* The lowest bit as a double is a power of two, whose exponent (above 1023) is the bit's place. */
TARGET_AVX512 void cardinality_registers_avx512(const uint64_t *tokens, size_t n, uint64_t constant, unsigned p,
                                                uint8_t *registers) {
    const __m512i c = spread(constant), stop = spread((uint64_t)1 << (64 - p)), zero = _mm512_setzero_si512();
    const __m128i shift = _mm_cvtsi32_si128((int)(64 - p));
    for (size_t t = 0; t < n; t += LANES) {
        uint64_t places[LANES], ranks[LANES];
        size_t count = n - t < LANES ? n - t : LANES;
        __m512i hash = mix64_lanes(_mm512_xor_si512(_mm512_maskz_loadu_epi64(first_lanes(count), tokens + t), c));
        __m512i rest = _mm512_or_si512(hash, stop);
        __m512i lowest = _mm512_and_si512(rest, _mm512_sub_epi64(zero, rest));
        __m512i exponent = _mm512_srli_epi64(_mm512_castpd_si512(_mm512_cvtepu64_pd(lowest)), 52);
        _mm512_storeu_si512(places, _mm512_srl_epi64(hash, shift));
        _mm512_storeu_si512(ranks, _mm512_sub_epi64(exponent, spread(1022)));
        for (size_t i = 0; i < count; i++) {
            if (ranks[i] > registers[places[i]]) registers[places[i]] = (uint8_t)ranks[i];
        }
    }
}
#endif
