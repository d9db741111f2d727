/* Text kernels for AVX-512: eight short tokens or words at a time with 52-bit multiply-adds, one compare for a block of 64
 * bytes, straight into a mask register, eight windows at a time, and characters of up to three bytes by tables that are
 * looked up in registers. */
#include "text/text.h"

#if LSHFAST_X86
#include "lanes_avx512.h"
#include "text/blocks.h"

TARGET_AVX512 static inline __m512i four_of(const __m128i parts[4]) {
    __m512i four = _mm512_castsi128_si512(parts[0]);
    four = _mm512_inserti32x4(four, parts[1], 1);
    four = _mm512_inserti32x4(four, parts[2], 2);
    return _mm512_inserti32x4(four, parts[3], 3);
}

/* H of eight strings of `n` bytes, at most TEXT_SHORT_BYTES of them. What is behind them in the 16 bytes does not count. */
TARGET_AVX512 static inline __m512i short_hashes(const struct token_hasher *hasher, const __m128i bytes[LANES], __m512i n) {
    const __m512i evens = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odds = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const __m512i ones = spread(UINT64_MAX), low_limb = spread(((uint64_t)1 << 56) - 1);
    const __mmask8 two = _mm512_cmpgt_epu64_mask(n, spread(7)); /* of two limbs */
    __m512i four = four_of(bytes), other = four_of(bytes + 4);
    __m512i low = _mm512_permutex2var_epi64(four, evens, other), high = _mm512_permutex2var_epi64(four, odds, other);
    __m512i bits = _mm512_slli_epi64(n, 3); /* a shift by 64 or more leaves zeros */
    __m512i limb = _mm512_and_si512(_mm512_andnot_si512(_mm512_sllv_epi64(ones, bits), low), low_limb);
    __m512i a = spread(hasher->a), power = _mm512_mask_mov_epi64(a, two, spread(hasher->a2));
    struct limbs sum = {n, _mm512_setzero_si512(), _mm512_setzero_si512()};
    add_product(&sum, limb, _mm512_srli_epi64(limb, 52), power, _mm512_srli_epi64(power, 52));
    if (two) {
        __m512i last = _mm512_or_si512(_mm512_srli_epi64(low, 56), _mm512_slli_epi64(high, 8));
        __m512i behind = _mm512_sllv_epi64(ones, _mm512_sub_epi64(bits, spread(56)));
        last = _mm512_maskz_andnot_epi64(two, behind, last);
        add_product(&sum, last, _mm512_srli_epi64(last, 52), a, _mm512_srli_epi64(a, 52));
    }
    return p61_of_limbs(sum.low, sum.middle, sum.high);
}

#define LIMB_BYTES 7
#define LANE_BYTES (LANES * LIMB_BYTES) /* of a string that are hashed at once in a lane: a limb for each word of a register */
#define MOST_LANE_BYTES (32 * LANE_BYTES)
#define BATCH_WORDS 64

/* a, a^2, ..., a^8 mod p. */
TARGET_AVX512 static __m512i powers_of(const struct token_hasher *hasher) {
    uint64_t powers[LANES] = {hasher->a};
    for (size_t i = 1; i < LANES; i++) powers[i] = p61_product(powers[i - 1], hasher->a);
    return _mm512_loadu_si512(powers);
}

/* Eight rows of eight words: rows[i][k] becomes rows[k][i]. */
TARGET_AVX512 static inline void transpose(__m512i rows[LANES]) {
    __m512i pairs[LANES];
    for (size_t i = 0; i < LANES; i += 2) {
        pairs[i] = _mm512_unpacklo_epi64(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_epi64(rows[i], rows[i + 1]);
    }
    for (size_t k = 0; k < 2; k++) {
        __m512i evens = _mm512_shuffle_i64x2(pairs[k], pairs[k + 2], 0x88);
        __m512i odds = _mm512_shuffle_i64x2(pairs[k], pairs[k + 2], 0xDD);
        __m512i other_evens = _mm512_shuffle_i64x2(pairs[k + 4], pairs[k + 6], 0x88);
        __m512i other_odds = _mm512_shuffle_i64x2(pairs[k + 4], pairs[k + 6], 0xDD);
        rows[k] = _mm512_shuffle_i64x2(evens, other_evens, 0x88);
        rows[k + 2] = _mm512_shuffle_i64x2(odds, other_odds, 0x88);
        rows[k + 4] = _mm512_shuffle_i64x2(evens, other_evens, 0xDD);
        rows[k + 6] = _mm512_shuffle_i64x2(odds, other_odds, 0xDD);
    }
}

/* Add the limbs of the next bytes of `count` strings, at most eight: sizes[i] of string i, at most LANE_BYTES, which are
 * `some`. They are multiplied by powers, and so is the sum before, so that no limb waits for another. */
TARGET_AVX512 static ALWAYS_INLINED __m512i add_limbs(__m512i powers, const uint64_t *addresses, const int64_t *sizes,
                                                      size_t count, size_t offset, __m512i some, __m512i before) {
    /* byte 8 k + b of a row is byte 7 k + b of the string, and the last byte of each word 0 */
    const __m512i sevens = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), spread(UINT64_C(0x0707070707070707)));
    const __m512i from = _mm512_add_epi8(sevens, spread(UINT64_C(0x0706050403020100)));
    const __m512i none = _mm512_setzero_si512(), high_powers = _mm512_srli_epi64(powers, 52);
    __m512i limbs[LANES];
    for (size_t i = 0; i < LANES; i++) {
        size_t at = i < count ? i : 0;
        const uint8_t *start = text_at(addresses[at]) + (sizes[at] ? offset : 0);
        __m512i bytes = _mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, (unsigned)sizes[at]), start);
        limbs[i] = _mm512_maskz_permutexvar_epi8(UINT64_C(0x7F7F7F7F7F7F7F7F), from, bytes);
    }
    transpose(limbs);
    __m512i have = _mm512_srli_epi64(_mm512_mullo_epi64(_mm512_add_epi64(some, spread(6)), spread(37)), 8); /* ceil(some / 7) */
    struct limbs sum = {none, none, none}, other = {none, none, none};
    if (offset) {
        __m512i place = _mm512_sub_epi64(have, spread(1));
        add_product(&sum, before, _mm512_srli_epi64(before, 52), _mm512_permutexvar_epi64(place, powers),
                    _mm512_permutexvar_epi64(place, high_powers));
    } else {
        sum.low = before;
    }
    /* behind the last limb of a string, the limb is 0, and the power any */
    for (uint64_t k = 0; k < LANES && (k == 0 || _mm512_cmpgt_epu64_mask(have, spread(k))); k += 2) {
        __m512i place = _mm512_sub_epi64(have, spread(k + 1)), next = _mm512_sub_epi64(have, spread(k + 2));
        add_product(&sum, limbs[k], _mm512_srli_epi64(limbs[k], 52), _mm512_permutexvar_epi64(place, powers),
                    _mm512_permutexvar_epi64(place, high_powers));
        add_product(&other, limbs[k + 1], _mm512_srli_epi64(limbs[k + 1], 52), _mm512_permutexvar_epi64(next, powers),
                    _mm512_permutexvar_epi64(next, high_powers));
    }
    return p61_of_limbs(_mm512_add_epi64(sum.low, other.low), _mm512_add_epi64(sum.middle, other.middle),
                        _mm512_add_epi64(sum.high, other.high));
}

/* H of `count` strings, at most eight; that of a string of more than MOST_LANE_BYTES is any number. */
TARGET_AVX512 static __m512i long_hashes(__m512i powers, const uint64_t *addresses, const int64_t *lengths, size_t count) {
    const __m512i n = _mm512_maskz_loadu_epi64(first_lanes(count), lengths), none = _mm512_setzero_si512();
    __m512i left = _mm512_mask_mov_epi64(n, _mm512_cmpgt_epu64_mask(n, spread(MOST_LANE_BYTES)), none), hash = none;
    for (size_t offset = 0; _mm512_test_epi64_mask(left, left); offset += LANE_BYTES) {
        int64_t sizes[LANES];
        __m512i some = _mm512_min_epu64(left, spread(LANE_BYTES));
        _mm512_storeu_si512(sizes, some);
        __m512i found = add_limbs(powers, addresses, sizes, count, offset, some, hash);
        hash = _mm512_mask_mov_epi64(hash, _mm512_test_epi64_mask(some, some), found);
        left = _mm512_sub_epi64(left, some);
    }
    hash = _mm512_add_epi64(hash, n);
    return _mm512_min_epu64(hash, _mm512_sub_epi64(hash, spread(P61)));
}

TARGET_AVX512 static ALWAYS_INLINED __m512i lane_hashes(__m512i powers, const uint64_t *addresses, const int64_t *lengths,
                                                        size_t count) {
    const __m512i n = _mm512_maskz_loadu_epi64(first_lanes(count), lengths);
    if (_mm512_cmpgt_epu64_mask(n, spread(LANE_BYTES))) return long_hashes(powers, addresses, lengths, count);
    return add_limbs(powers, addresses, lengths, count, 0, n, n);
}

/* A batch's words of more than TEXT_SHORT_BYTES, bit i of `longer` for word i: H of each. */
TARGET_AVX512 static void longer_hashes(const struct token_hasher *hasher, const uint8_t *base, const int32_t *edges,
                                        uint64_t longer, uint64_t *hashes) {
    const __m512i powers = powers_of(hasher);
    while (longer) {
        uint64_t addresses[LANES], found[LANES];
        int64_t sizes[LANES];
        size_t places[LANES], count = 0;
        for (; longer && count < LANES; longer &= longer - 1) {
            size_t i = _tzcnt_u64(longer);
            const uint8_t *start = base + edges[2 * i];
            int64_t size = edges[2 * i + 1] - edges[2 * i];
            if (size > MOST_LANE_BYTES) {
                hashes[i] = text_hash_of_bytes(hasher, start, (size_t)size);
                continue;
            }
            addresses[count] = (uint64_t)(uintptr_t)start, sizes[count] = size, places[count++] = i;
        }
        if (count) _mm512_storeu_si512(found, lane_hashes(powers, addresses, sizes, count));
        for (size_t i = 0; i < count; i++) hashes[places[i]] = found[i];
    }
}

#define CACHE_LINE 64
#define AHEAD (8 * LANES) /* strings that are prefetched, as a processor itself does so within a page of memory only */

TARGET_AVX512 static inline void prefetch_strings(const uint64_t *addresses, const int64_t *lengths) {
    __mmask8 more = _mm512_cmpgt_epu64_mask(_mm512_loadu_si512(lengths), spread(CACHE_LINE));
    for (size_t i = 0; i < LANES; i++) prefetch(text_at(addresses[i]));
    for (; more; more &= more - 1) {
        size_t i = _tzcnt_u32(more);
        for (int64_t at = CACHE_LINE; at < lengths[i] && at < MOST_LANE_BYTES; at += CACHE_LINE) {
            prefetch(text_at(addresses[i]) + at);
        }
    }
}

/* Strings are loaded through masks, as nothing may be read behind them. */
TARGET_AVX512 static void tokens(const struct token_hasher *hasher, const uint64_t *addresses, const int64_t *lengths,
                                 size_t n, uint64_t *out) {
    const __m512i powers = powers_of(hasher);
    for (size_t first = 0; first < n; first += LANES) {
        size_t count = n - first < LANES ? n - first : LANES;
        __mmask8 held = first_lanes(count);
        __m512i sizes = _mm512_maskz_loadu_epi64(held, lengths + first);
        __mmask8 far = _mm512_cmpgt_epu64_mask(sizes, spread(MOST_LANE_BYTES));
        __m512i found;
        if (first + AHEAD + LANES <= n) prefetch_strings(addresses + first + AHEAD, lengths + first + AHEAD);
        if (!_mm512_cmpgt_epu64_mask(sizes, spread(TEXT_SHORT_BYTES))) {
            __m128i bytes[LANES];
            for (size_t i = 0; i < LANES; i++) {
                size_t at = first + (i < count ? i : 0);
                __mmask16 some = (__mmask16)_bzhi_u32((1 << TEXT_SHORT_BYTES) - 1, (unsigned)lengths[at]);
                bytes[i] = _mm_maskz_loadu_epi8(some, text_at(addresses[at]));
            }
            found = short_hashes(hasher, bytes, sizes);
        } else {
            found = lane_hashes(powers, addresses + first, lengths + first, count);
        }
        _mm512_mask_storeu_epi64(out + first, held, mix64_lanes(found));
        for (; far; far &= far - 1) {
            size_t i = first + _tzcnt_u32(far);
            out[i] = text_token_of_bytes(hasher, text_at(addresses[i]), (size_t)lengths[i]);
        }
    }
}

/* Sixteen bytes of a word are loaded whatever its length, and those of its neighbours masked out. */
TARGET_AVX512 static void hash_words(const struct token_hasher *hasher, const uint8_t *base, const int32_t *edges,
                                     size_t words, uint64_t *hashes) {
    const __m512i low32 = spread(UINT32_MAX);
    for (size_t first = 0; first < words; first += BATCH_WORDS, edges += 2 * BATCH_WORDS, hashes += BATCH_WORDS) {
        size_t count = words - first < BATCH_WORDS ? words - first : BATCH_WORDS;
        uint64_t longer = 0;
        for (size_t i = 0; i < count; i += LANES) {
            __mmask8 held = first_lanes(count - i);
            __m128i bytes[LANES];
            for (size_t j = 0; j < LANES; j++) {
                bytes[j] = _mm_loadu_si128((const __m128i *)(base + edges[2 * (i + j < count ? i + j : i)]));
            }
            __m512i pair = _mm512_maskz_loadu_epi64(held, edges + 2 * i);
            __m512i n = _mm512_and_si512(_mm512_sub_epi32(_mm512_srli_epi64(pair, 32), pair), low32);
            longer |= (uint64_t)_mm512_cmpgt_epu64_mask(n, spread(TEXT_SHORT_BYTES)) << i;
            _mm512_mask_storeu_epi64(hashes + i, held, short_hashes(hasher, bytes, n));
        }
        if (longer) longer_hashes(hasher, base, edges, longer, hashes);
    }
}

/* Write 0 to 64 numbers, base + numbers[i] for each bit i, and return how many they are. */
TARGET_AVX512 static inline size_t write_numbers(uint64_t bits, __m512i numbers, size_t base, int32_t *out) {
    __m512i found = _mm512_maskz_compress_epi8(bits, numbers), first = _mm512_set1_epi32((int32_t)base);
    size_t count = (size_t)_mm_popcnt_u64(bits);
    _mm512_storeu_si512(out, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found))));
    _mm512_storeu_si512(out + 16, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 1))));
    if (count > 32) {
        _mm512_storeu_si512(out + 32, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 2))));
        _mm512_storeu_si512(out + 48, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 3))));
    }
    return count;
}

/* With breaks, half a word of bits at a time, each bit doubled: the second one is set where there is a break. */
TARGET_AVX512 static size_t edges(const uint64_t *mask, const uint64_t *breaks, size_t bits, int open, int32_t *edges) {
    const uint64_t evens = UINT64_C(0x5555555555555555), odds = evens << 1;
    uint8_t once[64], twice[64];
    for (unsigned i = 0; i < 64; i++) {
        once[i] = (uint8_t)i;
        twice[i] = (uint8_t)(i / 2);
    }
    const __m512i each = _mm512_loadu_si512(once), pairs = _mm512_loadu_si512(twice);
    size_t count = 0;
    uint64_t before = (uint64_t)open;
    for (size_t at = 0; at < bits; at += 64, mask++) {
        const uint64_t held = lowest_bits(bits - at);
        uint64_t changes = (*mask ^ (*mask << 1 | before)) & held;
        before = *mask >> 63;
        if (!breaks) {
            count += write_numbers(changes, each, at, edges + count);
            continue;
        }
        uint64_t again = breaks[at / 64] & held, any = changes | again;
        uint64_t low = _pdep_u64(any, evens) | _pdep_u64(again, odds);
        uint64_t high = _pdep_u64(any >> 32, evens) | _pdep_u64(again >> 32, odds);
        count += write_numbers(low, pairs, at, edges + count);
        count += write_numbers(high, pairs, at + 32, edges + count);
    }
    return count;
}

TARGET_AVX512 static inline __mmask64 in_range(__m512i x, char low, char width) {
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(x, _mm512_set1_epi8(low)), _mm512_set1_epi8(width));
}

TARGET_AVX512 static uint64_t classify(const uint8_t *text, uint8_t *lower, uint64_t *other) {
    __m512i x = _mm512_loadu_si512(text);
    __m512i small = _mm512_mask_add_epi8(x, in_range(x, 'A', 25), x, _mm512_set1_epi8(0x20));
    _mm512_storeu_si512(lower, small);
    *other = _mm512_movepi8_mask(x);
    return in_range(small, 'a', 25) | in_range(x, '0', 9) | _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('_'));
}

TARGET_AVX512 static uint64_t white_space(const uint8_t *text) {
    __m512i x = _mm512_loadu_si512(text);
    return in_range(x, '\t', '\r' - '\t') | _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(' '));
}

/* Which bytes' bits are set in a table of 256 bytes: bit y & 7 of the byte at `index`. */
TARGET_AVX512 static inline __mmask64 look_up_bits(const uint8_t *table, __m512i index, __m512i bit) {
    __m512i first = _mm512_permutex2var_epi8(_mm512_loadu_si512(table), index, _mm512_loadu_si512(table + 64));
    __m512i second = _mm512_permutex2var_epi8(_mm512_loadu_si512(table + 128), index, _mm512_loadu_si512(table + 192));
    return _mm512_test_epi8_mask(_mm512_mask_mov_epi8(first, _mm512_movepi8_mask(index), second), bit);
}

/* The byte behind each byte. */
static const uint8_t NEXT[64] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
                                 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
                                 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 0};

/* Each byte is looked up as if a character began there, and bits of other bytes are dropped. */
TARGET_AVX512 static void classify_block(const uint8_t *text, uint8_t *lower, struct text_block *block) {
    __m512i x = _mm512_loadu_si512(text), y = _mm512_permutexvar_epi8(_mm512_loadu_si512(NEXT), x);
    __m512i small = _mm512_mask_add_epi8(x, in_range(x, 'A', 25), x, _mm512_set1_epi8(0x20));
    _mm512_storeu_si512(lower, small);
    uint64_t letters = in_range(small, 'a', 25) | in_range(x, '0', 9) | _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('_'));

    uint64_t continuations = _mm512_cmplt_epi8_mask(x, _mm512_set1_epi8((char)0xC0));
    uint64_t two = in_range(x, (char)0xC2, 0x1D), three = in_range(x, (char)0xE0, 15);
    uint64_t wrong = continuations ^ ((two | three) << 1 | three << 2); /* also where a character of four bytes begins */
    wrong |= in_range(x, (char)0xC0, 1) | _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8((char)0xF0));
    __mmask64 low = _mm512_cmplt_epu8_mask(y, _mm512_set1_epi8((char)0xA0));
    wrong |= _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8((char)0xE0)) & low;   /* overlong */
    wrong |= _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8((char)0xED)) & ~low;  /* surrogates */
    size_t end = wrong ? _tzcnt_u64(wrong) : 64;
    if (end >= 1 && (two | three) >> (end - 1) & 1) end -= 1; /* characters that go on behind the end */
    else if (end >= 2 && three >> (end - 2) & 1) end -= 2;

    /* Two bytes: 110aaaaa 10bbbccc has bit c of byte aaaaabbb. */
    __m512i index = _mm512_and_si512(_mm512_slli_epi16(x, 3), _mm512_set1_epi8((char)0xF8));
    index = _mm512_or_si512(index, _mm512_and_si512(_mm512_srli_epi16(y, 3), _mm512_set1_epi8(7)));
    __m512i bit = _mm512_shuffle_epi8(spread(UINT64_C(0x8040201008040201)), _mm512_and_si512(y, _mm512_set1_epi8(7)));
    block->bytes = end;
    block->two = two;
    block->three = three;
    block->letters = letters | (two & look_up_bits(unicode_two_letters, index, bit));
    block->marks = two & look_up_bits(unicode_two_marks, index, bit);
    block->changes = two & look_up_bits(unicode_two_changes, index, bit);
    block->solos = block->mixed = 0;
    if (!three) return;

    /* Three bytes: 1110aaab 10cccccc has row bcccccc of the table aaa. */
    const __m512i pair = _mm512_and_si512(_mm512_srli_epi16(x, 1), _mm512_set1_epi8(0x7F));
    index = _mm512_and_si512(_mm512_slli_epi16(x, 6), _mm512_set1_epi8(0x40));
    index = _mm512_or_si512(index, _mm512_and_si512(y, _mm512_set1_epi8(0x3F)));
    __m512i rows = _mm512_setzero_si512();
    for (unsigned a = 0; a < 8; a++) {
        const uint8_t *table = unicode_rows + 128 * a;
        __mmask64 here = _mm512_cmpeq_epi8_mask(pair, _mm512_set1_epi8((char)(0x70 + a)));
        __m512i found = _mm512_permutex2var_epi8(_mm512_loadu_si512(table), index, _mm512_loadu_si512(table + 64));
        rows = _mm512_mask_mov_epi8(rows, here, found);
    }
    block->letters |= three & _mm512_cmpeq_epi8_mask(rows, _mm512_set1_epi8(LETTER));
    block->marks |= three & _mm512_cmpeq_epi8_mask(rows, _mm512_set1_epi8(MARK));
    block->solos = three & _mm512_cmpeq_epi8_mask(rows, _mm512_set1_epi8(SOLO));
    block->mixed = three & _mm512_cmpeq_epi8_mask(rows, _mm512_set1_epi8(UNICODE_MIXED));
}

/* One more than the numbers in 16-bit lanes, as 64-bit numbers. */
TARGET_AVX512 static inline void write_codes(__m512i codes, uint64_t *out) {
    const __m512i one = spread(1);
    _mm512_storeu_si512(out, _mm512_add_epi64(_mm512_cvtepu16_epi64(_mm512_castsi512_si128(codes)), one));
    _mm512_storeu_si512(out + 8, _mm512_add_epi64(_mm512_cvtepu16_epi64(_mm512_extracti32x4_epi32(codes, 1)), one));
    _mm512_storeu_si512(out + 16, _mm512_add_epi64(_mm512_cvtepu16_epi64(_mm512_extracti32x4_epi32(codes, 2)), one));
    _mm512_storeu_si512(out + 24, _mm512_add_epi64(_mm512_cvtepu16_epi64(_mm512_extracti32x4_epi32(codes, 3)), one));
}

/* Characters of which 16-bit lanes have the first, second and third byte. */
TARGET_AVX512 static inline __m512i join_bytes(__m256i first, __m256i second, __m256i third, __mmask32 two,
                                               __mmask32 three) {
    const __m512i low6 = _mm512_set1_epi16(0x3F);
    __m512i a = _mm512_cvtepu8_epi16(first), b = _mm512_and_si512(_mm512_cvtepu8_epi16(second), low6);
    __m512i c = _mm512_and_si512(_mm512_cvtepu8_epi16(third), low6);
    __m512i of_two = _mm512_or_si512(_mm512_slli_epi16(_mm512_and_si512(a, _mm512_set1_epi16(0x1F)), 6), b);
    __m512i of_three = _mm512_or_si512(_mm512_slli_epi16(a, 12), _mm512_or_si512(_mm512_slli_epi16(b, 6), c));
    return _mm512_mask_mov_epi16(_mm512_mask_mov_epi16(a, two, of_two), three, of_three);
}

TARGET_AVX512 static size_t decode_block(const uint8_t *bytes, const struct text_block *block, uint64_t *codes) {
    __m512i x = _mm512_loadu_si512(bytes);
    if (!(block->two | block->three)) {
        write_codes(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(x)), codes);
        write_codes(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(x, 1)), codes + 32);
        return block->bytes;
    }
    const __m512i next = _mm512_loadu_si512(NEXT);
    __m512i y = _mm512_permutexvar_epi8(next, x), z = _mm512_permutexvar_epi8(next, y);
    uint64_t first = lowest_bits(block->bytes) & ~((block->two | block->three) << 1 | block->three << 2);
    uint64_t two = _pext_u64(block->two, first), three = _pext_u64(block->three, first);
    size_t count = (size_t)_mm_popcnt_u64(first);
    x = _mm512_maskz_compress_epi8(first, x);
    y = _mm512_maskz_compress_epi8(first, y);
    z = _mm512_maskz_compress_epi8(first, z);
    write_codes(join_bytes(_mm512_castsi512_si256(x), _mm512_castsi512_si256(y), _mm512_castsi512_si256(z),
                           (__mmask32)two, (__mmask32)three), codes);
    if (count > 32) {
        write_codes(join_bytes(_mm512_extracti64x4_epi64(x, 1), _mm512_extracti64x4_epi64(y, 1),
                               _mm512_extracti64x4_epi64(z, 1), (__mmask32)(two >> 32), (__mmask32)(three >> 32)),
                    codes + 32);
    }
    return count;
}

/* Each product has seven multiply-adds; the sums of up to seven products are reduced once. */
TARGET_AVX512 static inline void sum_windows(const uint64_t *hashes, size_t windows, size_t size,
                                             const uint64_t *powers, uint64_t *out) {
    for (size_t i = 0; i < windows; i += LANES) {
        struct limbs sum = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
        for (size_t j = 1; j < size; j++) {
            __m512i x = _mm512_loadu_si512(hashes + i + size - 1 - j);
            add_product(&sum, _mm512_and_si512(x, spread(LOW52)), _mm512_srli_epi64(x, 52),
                        spread(powers[j] & LOW52), spread(powers[j] >> 52));
        }
        __m512i rest = _mm512_add_epi64(sum.low, _mm512_loadu_si512(hashes + i + size - 1));
        __m512i token = mix64_lanes(p61_of_limbs(rest, sum.middle, sum.high));
        _mm512_mask_storeu_epi64(out + i, first_lanes(windows - i), token);
    }
}

TARGET_AVX512 static void word_windows(const uint64_t *hashes, size_t windows, const struct shingler *shingler,
                                       uint64_t *out) {
    const uint64_t *powers = shingler->powers;
    switch (shingler->size) { /* constants, so that the inner loop is unrolled */
    case 2: sum_windows(hashes, windows, 2, powers, out); return;
    case 3: sum_windows(hashes, windows, 3, powers, out); return;
    case 4: sum_windows(hashes, windows, 4, powers, out); return;
    case 5: sum_windows(hashes, windows, 5, powers, out); return;
    case 6: sum_windows(hashes, windows, 6, powers, out); return;
    case 7: sum_windows(hashes, windows, 7, powers, out); return;
    case 8: sum_windows(hashes, windows, 8, powers, out); return;
    default: text_word_windows_scalar(hashes, windows, shingler, out);
    }
}

/* A code point and 1 has at most 21 bits, so that its product with 31 bits of a power is one multiply-add. Up to this size
 * sixteen of them fit, and beat the rolling sum. */
#define MOST_DIRECT_CHARACTERS 16
#define LOW31 (((uint64_t)1 << 31) - 1)

TARGET_AVX512 static ALWAYS_INLINED void sum_characters(const uint64_t *codes, size_t windows, size_t size,
                                                        const uint64_t *powers, uint64_t *out) {
    __m512i low_power[MOST_DIRECT_CHARACTERS], high_power[MOST_DIRECT_CHARACTERS];
    for (size_t j = 1; j < size; j++) {
        low_power[j] = spread(powers[j] & LOW31);
        high_power[j] = spread(powers[j] >> 31);
    }
    const __m512i p = spread(P61), low30 = spread(LOW31 >> 1);
    for (size_t i = 0; i < windows; i += LANES) {
        __m512i low = _mm512_loadu_si512(codes + i + size - 1), middle = _mm512_setzero_si512();
        for (size_t j = 1; j < size; j++) {
            __m512i x = _mm512_loadu_si512(codes + i + size - 1 - j);
            low = _mm512_madd52lo_epu64(low, x, low_power[j]);
            middle = _mm512_madd52lo_epu64(middle, x, high_power[j]);
        }
        /* middle 2^31 is (middle >> 30) + (middle mod 2^30) 2^31 */
        __m512i sum = _mm512_add_epi64(low, _mm512_srli_epi64(middle, 30));
        sum = _mm512_add_epi64(sum, _mm512_slli_epi64(_mm512_and_si512(middle, low30), 31));
        sum = _mm512_add_epi64(_mm512_and_si512(sum, p), _mm512_srli_epi64(sum, 61));
        __m512i token = mix64_lanes(_mm512_min_epu64(sum, _mm512_sub_epi64(sum, p)));
        if (windows - i >= LANES) _mm512_storeu_si512(out + i, token);
        else _mm512_mask_storeu_epi64(out + i, first_lanes(windows - i), token);
    }
}

TARGET_AVX512 static void character_windows(const uint64_t *codes, size_t windows, const struct shingler *shingler,
                                            uint64_t *out) {
    const uint64_t *powers = shingler->powers;
    switch (shingler->size) { /* constants, so that the powers stay in registers */
    case 4: sum_characters(codes, windows, 4, powers, out); return;
    case 5: sum_characters(codes, windows, 5, powers, out); return;
    case 8: sum_characters(codes, windows, 8, powers, out); return;
    case 9: sum_characters(codes, windows, 9, powers, out); return;
    case 10: sum_characters(codes, windows, 10, powers, out); return;
    default:
        if (shingler->size > MOST_DIRECT_CHARACTERS) text_character_windows_scalar(codes, windows, shingler, out);
        else sum_characters(codes, windows, shingler->size, powers, out);
    }
}

const struct text_kernels text_avx512 = {tokens,     classify,     white_space,      classify_block, decode_block, edges,
                                         hash_words, word_windows, character_windows};
#endif
