/* The kernels of families of packed codes. */
#include "sampling/sampling.h"

#include <string.h>

#include "field.h"

enum {
    BLOCK = 64,   /* codes whose bits are transposed together */
    LEAST = 12,   /* codes from which on that is faster than taking one bit at a time, at 64 positions of one word */
};

/* Make bit j of rows[i] bit i of rows[j] (Warren, "Hacker's Delight", section 7-3). */
static void transpose(uint64_t rows[BLOCK]) {
    uint64_t mask = UINT32_MAX;
    for (unsigned half = 32; half; half >>= 1, mask ^= mask << half) {
        for (unsigned i = 0; i < BLOCK; i = ((i | half) + 1) & ~half) {
            uint64_t swapped = ((rows[i] >> half) ^ rows[i | half]) & mask;
            rows[i] ^= swapped << half;
            rows[i | half] ^= swapped;
        }
    }
}

static void bits_of_block(const uint64_t *codes, size_t n, size_t words, const uint64_t *positions, size_t count,
                          uint64_t *columns, uint64_t *out) {
    size_t width = (count + 63) / 64;
    for (size_t w = 0; w < words; w++) {
        uint64_t *block = columns + BLOCK * w;
        memset(block, 0, BLOCK * sizeof *block);
        for (size_t i = 0; i < n; i++) block[i] = codes[i * words + w];
        transpose(block);
    }
    for (size_t w = 0; w < width; w++) {
        uint64_t block[BLOCK] = {0};
        size_t some = count - 64 * w < 64 ? count - 64 * w : 64;
        for (size_t j = 0; j < some; j++) block[j] = columns[positions[64 * w + j]];
        transpose(block);
        for (size_t i = 0; i < n; i++) out[i * width + w] = block[i];
    }
}

static void bits_of_code(const uint64_t *code, const uint64_t *positions, size_t count, uint64_t *out) {
    for (size_t first = 0; first < count; first += 64) {
        size_t some = count - first < 64 ? count - first : 64;
        uint64_t bits = 0;
        for (size_t j = 0; j < some; j++) {
            uint64_t position = positions[first + j];
            bits |= (code[position / 64] >> position % 64 & 1) << j;
        }
        out[first / 64] = bits;
    }
}

void sampling_bits(const uint64_t *codes, size_t n, size_t words, const uint64_t *positions, size_t count,
                   uint64_t *scratch, uint64_t *out) {
    size_t width = (count + 63) / 64;
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t some = n - start < BLOCK ? n - start : BLOCK;
        if (some >= LEAST && some * count >= LEAST * 64 * words) {
            bits_of_block(codes + start * words, some, words, positions, count, scratch, out + start * width);
            continue;
        }
        for (size_t i = start; i < start + some; i++) {
            bits_of_code(codes + i * words, positions, count, out + i * width);
        }
    }
}

void sampling_buckets(const uint64_t *codes, size_t n, size_t words, size_t bands, size_t rows, uint64_t *out) {
    const uint64_t mask = ((uint64_t)1 << rows) - 1;
    for (size_t i = 0; i < n; i++) {
        const uint64_t *code = codes + i * words;
        for (size_t b = 0; b < bands; b++) {
            size_t word = b * rows / 64, shift = b * rows % 64;
            uint64_t bits = code[word] >> shift;
            if (shift + rows > 64) bits |= code[word + 1] << (64 - shift);
            out[i * bands + b] = bits & mask;
        }
    }
}

void sampling_masked(const uint64_t *codes, size_t n, size_t words, const uint64_t *masks, size_t count,
                     uint64_t *out) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t *code = codes + i * words;
        for (size_t t = 0; t < count; t++) {
            const uint64_t *mask = masks + t * words;
            uint64_t hash = 0;
            for (size_t w = 0; w < words; w++) hash = mix64(hash ^ (code[w] & mask[w]));
            out[i * count + t] = hash - (hash == EMPTY_SLOT);
        }
    }
}

void sampling_distances(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t words, int64_t *out) {
    for (size_t i = 0; i < n; i++) {
        uint64_t ones = 0;
        for (size_t w = 0; w < words; w++) ones += ones_of(a[i * step + w] ^ b[i * words + w]);
        out[i] = (int64_t)ones;
    }
}
