/* Hashes of k-mers for AVX-512, eight k-mers at a time: one load and one permutation give a word of each. */
#include "kmers/kmers.h"

#if LSHFAST_X86
#include "lanes_avx512.h"

#include <string.h>

/* 16 letters, four times. */
TARGET_AVX512 static inline __m512i four_times(const uint8_t *letters) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)letters));
}

/* Where the letters of the word at place i of lane i are among 16: i..i + 7, or i + 7..i, as they are compared. */
TARGET_AVX512 static __m512i places(int backward, int compared) {
    uint8_t at[64];
    for (unsigned lane = 0; lane < LANES; lane++) {
        for (unsigned i = 0; i < 8; i++) {
            at[8 * lane + i] = (uint8_t)((backward ? LANES - 1 - lane : lane) + (compared ? 7 - i : i));
        }
    }
    return _mm512_loadu_si512(at);
}

TARGET_AVX512 static inline __m512i mixed(__m512i x, uint64_t first, int rotation, uint64_t second) {
    x = _mm512_mullo_epi64(x, spread(first));
    x = rotation == 31 ? _mm512_rol_epi64(x, 31) : _mm512_rol_epi64(x, 33);
    return _mm512_mullo_epi64(x, spread(second));
}

TARGET_AVX512 static inline __m512i five_times(__m512i x, uint64_t more) {
    return _mm512_add_epi64(_mm512_add_epi64(_mm512_slli_epi64(x, 2), x), spread(more));
}

TARGET_AVX512 static inline __m512i finished(__m512i x) {
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 33)), spread(UINT64_C(0xFF51AFD7ED558CCD)));
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 33)), spread(UINT64_C(0xC4CEB9FE1A85EC53)));
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 33));
}

/* What eight k-mers and their complements are read by. */
struct eight {
    const uint8_t *letters, *complement;
    __mmask8 reversed; /* of which the complement is the canonical one */
    __m512i forward, backward;
};

TARGET_AVX512 static inline __m512i word(const struct eight *kmers, unsigned at) {
    __m512i own = _mm512_shuffle_epi8(four_times(kmers->letters + at), kmers->forward);
    __m512i other = _mm512_shuffle_epi8(four_times(kmers->complement + at), kmers->backward);
    return _mm512_mask_blend_epi64(kmers->reversed, own, other);
}

TARGET_AVX512 static ALWAYS_INLINED size_t hash_blocks(const uint8_t *letters, const uint8_t *complement, size_t n,
                                                       unsigned k, unsigned blocks, uint64_t most, uint64_t *out) {
    const unsigned left = k % 16;
    const __m512i low = spread(left >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * left) - 1);
    const __m512i high = spread(left > 8 ? UINT64_MAX >> 8 * (16 - left) : 0);
    const __m512i ahead = places(0, 1), behind = places(1, 1);
    struct eight kmers = {letters, complement + n - LANES, 0, places(0, 0), places(1, 0)};
    size_t found = 0, i = 0;
    for (; i + LANES <= n; i += LANES, kmers.letters += LANES, kmers.complement -= LANES) {
        __m512i own = _mm512_shuffle_epi8(four_times(kmers.letters), ahead);
        __m512i other = _mm512_shuffle_epi8(four_times(kmers.complement), behind);
        __mmask8 unsure = k < 8 ? 0xFF : _mm512_cmpeq_epi64_mask(own, other);
        kmers.reversed = _mm512_cmplt_epu64_mask(other, own);
        if (unsure) {
            for (unsigned lane = 0; lane < LANES; lane++) {
                if (!(unsure >> lane & 1)) continue;
                int later = memcmp(kmers.complement + (LANES - 1 - lane), kmers.letters + lane, k) < 0;
                kmers.reversed = (__mmask8)((kmers.reversed & ~(1u << lane)) | (unsigned)later << lane);
            }
        }
        __m512i a = spread(KMERS_SEED), b = a;
        for (unsigned block = 0; block < blocks; block++) {
            a = _mm512_xor_si512(a, mixed(word(&kmers, 16 * block), KMERS_C1, 31, KMERS_C2));
            a = five_times(_mm512_add_epi64(_mm512_rol_epi64(a, 27), b), 0x52DCE729);
            b = _mm512_xor_si512(b, mixed(word(&kmers, 16 * block + 8), KMERS_C2, 33, KMERS_C1));
            b = five_times(_mm512_add_epi64(_mm512_rol_epi64(b, 31), a), 0x38495AB5);
        }
        if (left > 8) {
            __m512i last = _mm512_and_si512(word(&kmers, 16 * blocks + 8), high);
            b = _mm512_xor_si512(b, mixed(last, KMERS_C2, 33, KMERS_C1));
        }
        if (left) {
            __m512i last = _mm512_and_si512(word(&kmers, 16 * blocks), low);
            a = _mm512_xor_si512(a, mixed(last, KMERS_C1, 31, KMERS_C2));
        }
        a = _mm512_xor_si512(a, spread(k));
        b = _mm512_xor_si512(b, spread(k));
        a = _mm512_add_epi64(a, b);
        b = _mm512_add_epi64(b, a);
        a = _mm512_add_epi64(finished(a), finished(b));
        __mmask8 taken = _mm512_cmple_epu64_mask(a, spread(most));
        if (taken) {
            _mm512_storeu_si512(out + found, _mm512_maskz_compress_epi64(taken, a)); /* there is room for those to come */
            found += (size_t)ones_of(taken);
        }
    }
    return found + kmers_scalar.hash(letters + i, complement, n - i, k, most, out + found);
}

TARGET_AVX512 static size_t hash(const uint8_t *letters, const uint8_t *complement, size_t n, unsigned k, uint64_t most,
                                 uint64_t *out) {
    switch (k / 16) {
    case 0: return hash_blocks(letters, complement, n, k, 0, most, out);
    case 1: return hash_blocks(letters, complement, n, k, 1, most, out);
    case 2: return hash_blocks(letters, complement, n, k, 2, most, out);
    case 3: return hash_blocks(letters, complement, n, k, 3, most, out);
    default: return hash_blocks(letters, complement, n, k, 4, most, out);
    }
}

const struct kmers_kernels kmers_avx512 = {hash};
#endif
