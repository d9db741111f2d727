/* Band keys for AVX-512, sixteen bands of a signature at a time; fewer go the portable way, which is as quick. */
#include "bands/bands.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

/* The next slots, eight at the most, of each of eight bands whose slots stand `rows` apart: slot s of all of them goes to
 * column[s]. (Gathers take five times as long as this.) */
TARGET_AVX512 static inline void columns(const uint64_t *slots, size_t rows, size_t n, __m512i *column) {
    const __mmask8 some = first_lanes(n);
    __m512i row[LANES], even[LANES / 2], odd[LANES / 2];
    for (size_t i = 0; i < LANES; i++) row[i] = _mm512_maskz_loadu_epi64(some, slots + i * rows);
    for (size_t i = 0; i < LANES / 2; i++) {
        even[i] = _mm512_unpacklo_epi64(row[2 * i], row[2 * i + 1]);
        odd[i] = _mm512_unpackhi_epi64(row[2 * i], row[2 * i + 1]);
    }
    for (size_t i = 0; i < 2; i++) {
        const __m512i *half = i ? odd : even;
        __m512i a = _mm512_shuffle_i64x2(half[0], half[1], 0x44), b = _mm512_shuffle_i64x2(half[0], half[1], 0xEE);
        __m512i c = _mm512_shuffle_i64x2(half[2], half[3], 0x44), d = _mm512_shuffle_i64x2(half[2], half[3], 0xEE);
        column[i] = _mm512_shuffle_i64x2(a, c, 0x88);
        column[i + 2] = _mm512_shuffle_i64x2(a, c, 0xDD);
        column[i + 4] = _mm512_shuffle_i64x2(b, d, 0x88);
        column[i + 6] = _mm512_shuffle_i64x2(b, d, 0xDD);
    }
}

TARGET_AVX512 static inline void store_keys(__m512i keys, uint64_t *out) {
    __mmask8 empty = _mm512_cmpeq_epi64_mask(keys, spread(EMPTY_SLOT));
    _mm512_storeu_si512(out, _mm512_mask_sub_epi64(keys, empty, keys, spread(1)));
}

TARGET_AVX512 void bands_keys_avx512(const uint64_t *slots, const uint64_t *starts, size_t count, size_t rows,
                                     uint64_t *out) {
    __m512i these[LANES], those[LANES];
    size_t band = 0;
    for (; band + 2 * LANES <= count; band += 2 * LANES) { /* two chains that do not wait for each other */
        const uint64_t *slot = slots + band * rows, *other = slot + LANES * rows;
        __m512i a = _mm512_loadu_si512(starts + band), b = _mm512_loadu_si512(starts + band + LANES);
        for (size_t row = 0; row < rows; row += LANES) {
            size_t n = rows - row < LANES ? rows - row : LANES;
            columns(slot + row, rows, n, these);
            columns(other + row, rows, n, those);
            for (size_t i = 0; i < n; i++) {
                a = mix64_lanes(_mm512_xor_si512(a, these[i]));
                b = mix64_lanes(_mm512_xor_si512(b, those[i]));
            }
        }
        store_keys(a, out + band);
        store_keys(b, out + band + LANES);
    }
    bands_keys_scalar(slots + band * rows, starts + band, count - band, rows, out + band);
}
#endif
