/* Kernels of lines of JSON for AVX-512: compares of 64 bytes straight into masks. UTF-8 is checked as by AVX2, which is
 * faster than memory already. */
#include "json/json.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

TARGET_AVX512 static uint64_t special(const uint8_t *text, uint64_t *high) {
    const __m512i x = _mm512_loadu_si512(text);
    *high = _mm512_movepi8_mask(x);
    return _mm512_cmplt_epu8_mask(x, _mm512_set1_epi8(0x20)) | _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('"')) |
           _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\\'));
}

const struct json_kernels json_avx512 = {special, json_is_utf8_avx2};
#endif
