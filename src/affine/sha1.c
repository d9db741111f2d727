/* The portable SHA-1: the compression of FIPS 180-4 with its schedule in a ring of 16 words, and the padding. */
#include "affine/sha1.h"

#include <string.h>

#define BLOCK_BYTES 64

/* Fewer messages than these are quicker one at a time than in sixteen lanes. */
#define FEW_MESSAGES 8

static inline uint32_t rotated(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

static inline uint32_t load_big_endian(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline uint32_t swapped(uint32_t x) {
    return x << 24 | (x << 8 & 0xFF0000) | (x >> 8 & 0xFF00) | x >> 24;
}

static inline uint32_t choice(uint32_t b, uint32_t c, uint32_t d) { return d ^ (b & (c ^ d)); }
static inline uint32_t parity(uint32_t b, uint32_t c, uint32_t d) { return b ^ c ^ d; }
static inline uint32_t majority(uint32_t b, uint32_t c, uint32_t d) { return (b & c) | (d & (b | c)); }

static inline uint32_t scheduled(uint32_t w[16], int t) {
    if (t >= 16) w[t & 15] = rotated(w[(t + 13) & 15] ^ w[(t + 8) & 15] ^ w[(t + 2) & 15] ^ w[t & 15], 1);
    return w[t & 15];
}

static inline void step(uint32_t s[5], uint32_t mixed, uint32_t constant, uint32_t word) {
    uint32_t next = rotated(s[0], 5) + mixed + s[4] + constant + word;
    s[4] = s[3];
    s[3] = s[2];
    s[2] = rotated(s[1], 30);
    s[1] = s[0];
    s[0] = next;
}

void sha1_compress_scalar(uint32_t state[5], const uint8_t *blocks, size_t count) {
    for (; count; blocks += BLOCK_BYTES, count--) {
        uint32_t w[16], s[5];
        for (int i = 0; i < 16; i++) w[i] = load_big_endian(blocks + 4 * i);
        memcpy(s, state, sizeof s);
        int t = 0;
        for (; t < 20; t++) step(s, choice(s[1], s[2], s[3]), UINT32_C(0x5A827999), scheduled(w, t));
        for (; t < 40; t++) step(s, parity(s[1], s[2], s[3]), UINT32_C(0x6ED9EBA1), scheduled(w, t));
        for (; t < 60; t++) step(s, majority(s[1], s[2], s[3]), UINT32_C(0x8F1BBCDC), scheduled(w, t));
        for (; t < 80; t++) step(s, parity(s[1], s[2], s[3]), UINT32_C(0xCA62C1D6), scheduled(w, t));
        for (int i = 0; i < 5; i++) state[i] += s[i];
    }
}

#define SCALAR {sha1_compress_scalar, NULL}
#define NI {sha1_compress_ni, NULL}
#define SIXTEEN(compress) {compress, sha1_sixteen_avx512}

const struct sha1_kernels sha1_levels[2][CPU_LEVELS] = {
    CPU_TABLE(SCALAR, SCALAR, SIXTEEN(sha1_compress_scalar), SCALAR),
    CPU_TABLE(SCALAR, NI, SIXTEEN(sha1_compress_ni), SCALAR),
};

uint64_t sha1_head(sha1_compressor *compress, const uint8_t *data, size_t length) {
    uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    /* the rest, a one bit, and the length in bits, big-endian, at the end of a block */
    uint8_t tail[2 * BLOCK_BYTES] = {0};
    size_t whole = length / BLOCK_BYTES, rest = length % BLOCK_BYTES, blocks = rest + 9 <= BLOCK_BYTES ? 1 : 2;
    uint64_t bits = (uint64_t)length * 8;
    if (whole) compress(state, data, whole);
    if (rest) memcpy(tail, data + whole * BLOCK_BYTES, rest);
    tail[rest] = 0x80;
    for (size_t i = 0; i < 8; i++) tail[blocks * BLOCK_BYTES - 1 - i] = (uint8_t)(bits >> 8 * i);
    compress(state, tail, blocks);
    return (uint64_t)swapped(state[1]) << 32 | swapped(state[0]);
}

/* Short messages wait until there are sixteen, whatever long ones come between. With the last of them go empty ones, or
 * some of the sixteen before. */
void sha1_heads(const struct sha1_kernels *kernels, const uint8_t *const *starts, const size_t *lengths, size_t n,
                uint64_t *heads) {
    const uint8_t *waiting[SHA1_LANES] = {0};
    size_t sizes[SHA1_LANES] = {0}, places[SHA1_LANES], count = 0;
    uint64_t made[SHA1_LANES];
    for (size_t i = 0; i < n; i++) {
        if (!kernels->sixteen || lengths[i] > SHA1_ONE_BLOCK) {
            heads[i] = sha1_head(kernels->compress, starts[i], lengths[i]);
            continue;
        }
        waiting[count] = starts[i];
        sizes[count] = lengths[i];
        places[count] = i;
        if (++count == SHA1_LANES) {
            kernels->sixteen(waiting, sizes, made);
            for (size_t j = 0; j < SHA1_LANES; j++) heads[places[j]] = made[j];
            count = 0;
        }
    }
    if (count < FEW_MESSAGES) {
        for (size_t j = 0; j < count; j++) heads[places[j]] = sha1_head(kernels->compress, waiting[j], sizes[j]);
    } else {
        kernels->sixteen(waiting, sizes, made);
        for (size_t j = 0; j < count; j++) heads[places[j]] = made[j];
    }
}
