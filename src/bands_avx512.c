/* Band keys for AVX-512, eight bands of a signature at a time. */
#include "bands.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

/* Go on by one row with the keys of eight bands, whose slots stand `rows` apart. */
TARGET_AVX512 static inline __m512i next_keys(__m512i keys, const uint64_t *slots, __m512i places) {
    return mix64_lanes(_mm512_xor_si512(keys, _mm512_i64gather_epi64(places, slots, 8)));
}

TARGET_AVX512 static inline void store_keys(__m512i keys, uint64_t *out) {
    __mmask8 empty = _mm512_cmpeq_epi64_mask(keys, spread(EMPTY_SLOT));
    _mm512_storeu_si512(out, _mm512_mask_sub_epi64(keys, empty, keys, spread(1)));
}

TARGET_AVX512 void keys_of_bands_avx512(const uint64_t *slots, const uint64_t *starts, size_t count, size_t rows,
                                        uint64_t *out) {
    __m512i places = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), spread(rows));
    size_t band = 0;
    for (; band + 2 * LANES <= count; band += 2 * LANES) { /* two chains that do not wait for each other */
        const uint64_t *slot = slots + band * rows, *other = slot + LANES * rows;
        __m512i a = _mm512_loadu_si512(starts + band), b = _mm512_loadu_si512(starts + band + LANES);
        for (size_t row = 0; row < rows; row++) {
            a = next_keys(a, slot + row, places);
            b = next_keys(b, other + row, places);
        }
        store_keys(a, out + band);
        store_keys(b, out + band + LANES);
    }
    for (; band + LANES <= count; band += LANES) {
        __m512i a = _mm512_loadu_si512(starts + band);
        for (size_t row = 0; row < rows; row++) a = next_keys(a, slots + band * rows + row, places);
        store_keys(a, out + band);
    }
    keys_of_bands(slots + band * rows, starts + band, count - band, rows, out + band);
}
#endif
