/* The portable kernels of signatures of one permutation and of few bits. */
#include "bits/bits.h"

#include <string.h>

/* Rows that are compared before empty ones are told apart: their first words are then still in the cache. */
#define BLOCK_ROWS 256

void bits_group_signature(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n, uint64_t constant,
                          size_t k, uint64_t *out) {
    uint64_t values[SKETCH_BLOCK_TOKENS];
    uint32_t landed[SKETCH_BLOCK_TOKENS];
    memset(out, 0xFF, k * sizeof *out);
    for (size_t start = 0; start < n; start += SKETCH_BLOCK_TOKENS) {
        size_t block = n - start < SKETCH_BLOCK_TOKENS ? n - start : SKETCH_BLOCK_TOKENS;
        kernels->land(tokens + start, block, 0, constant, k, values, landed);
        for (size_t t = 0; t < block; t++) {
            uint64_t held = out[landed[t]];
            out[landed[t]] = values[t] < held ? values[t] : held;
        }
    }
}

/* ---- few bits a slot ---- */

void bits_pack_slots(const uint64_t *slots, size_t k, unsigned bits, uint64_t *out) {
    const size_t a_word = 64 / bits;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (size_t i = 0; i < k; i += a_word) {
        size_t count = k - i < a_word ? k - i : a_word;
        uint64_t word = 0;
        for (size_t j = 0; j < count; j++) word |= (mix64(slots[i + j]) & mask) << bits * j;
        *out++ = word;
    }
}

void bits_pack(const struct bits_kernels *kernels, const uint64_t *signatures, size_t n, size_t k, unsigned bits,
               uint64_t *out) {
    size_t words = bits_words(k, bits);
    for (size_t row = 0; row < n; row++, signatures += k, out += words) {
        if (signatures[0] == EMPTY_SLOT) {
            memset(out, 0xFF, words * sizeof *out);
        } else {
            kernels->pack(signatures, k, bits, out);
            out[0] -= out[0] == EMPTY_SLOT;
        }
    }
}

/* The lowest bit of each slot. */
static uint64_t lowest_bits(unsigned bits) { return UINT64_MAX / (((uint64_t)1 << bits) - 1); }

static void differ(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t words, unsigned bits,
                   int32_t *unequal) {
    const uint64_t lowest = lowest_bits(bits);
    for (size_t row = 0; row < n; row++, a += step, b += words) {
        int32_t count = 0;
        for (size_t i = 0; i < words; i++) {
            uint64_t x = a[i] ^ b[i];
            for (unsigned shift = 1; shift < bits; shift *= 2) x |= x >> shift; /* lowest bit of a slot: any of its */
            count += (int32_t)ones_of(x & lowest);
        }
        unequal[row] = count;
    }
}

void bits_compare(const struct bits_kernels *kernels, const uint64_t *a, size_t step, const uint64_t *b, size_t n,
                  size_t k, unsigned bits, int32_t *equal) {
    const size_t words = bits_words(k, bits);
    for (size_t start = 0; start < n; start += BLOCK_ROWS) {
        size_t count = n - start < BLOCK_ROWS ? n - start : BLOCK_ROWS;
        kernels->differ(a, step, b, count, words, bits, equal);
        for (size_t row = 0; row < count; row++, a += step, b += words, equal++) {
            *equal = a[0] == EMPTY_SLOT || b[0] == EMPTY_SLOT ? -1 : (int32_t)k - *equal;
        }
    }
}

const struct bits_kernels bits_scalar = {bits_pack_slots, differ};

const struct bits_kernels *const bits_levels[CPU_LEVELS] =
    CPU_TABLE(&bits_scalar, &bits_avx2, &bits_avx512, &bits_neon);
