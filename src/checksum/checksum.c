/* Four sums go over the words of eight bytes in turn, so that none waits for the product of the one before. */
#include "checksum/checksum.h"

#include <string.h>

static inline uint64_t word_at(const uint8_t *bytes, size_t n) {
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

/* One to one in the sum and in the word. */
static inline uint64_t stir(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return sum ^ sum >> 32;
}

void checksum_begin(struct checksum *sum) {
    for (unsigned lane = 0; lane < 4; lane++) sum->sums[lane] = lane + 1;
    sum->fed = 0;
}

static void feed_blocks(uint64_t *sums, const uint8_t *bytes, size_t blocks) {
    uint64_t a = sums[0], b = sums[1], c = sums[2], d = sums[3]; /* four chains that do not wait for each other */
    for (; blocks; blocks--, bytes += CHECKSUM_BLOCK) {
        a = stir(a, word_at(bytes, 8));
        b = stir(b, word_at(bytes + 8, 8));
        c = stir(c, word_at(bytes + 16, 8));
        d = stir(d, word_at(bytes + 24, 8));
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

void checksum_feed(struct checksum *sum, const uint8_t *bytes, size_t n) {
    size_t held = sum->fed % CHECKSUM_BLOCK;
    sum->fed += n;
    if (held) {
        size_t wanted = CHECKSUM_BLOCK - held < n ? CHECKSUM_BLOCK - held : n;
        memcpy(sum->rest + held, bytes, wanted);
        bytes += wanted, n -= wanted, held += wanted;
        if (held < CHECKSUM_BLOCK) return;
        feed_blocks(sum->sums, sum->rest, 1);
    }
    feed_blocks(sum->sums, bytes, n / CHECKSUM_BLOCK);
    if (n % CHECKSUM_BLOCK) memcpy(sum->rest, bytes + n / CHECKSUM_BLOCK * CHECKSUM_BLOCK, n % CHECKSUM_BLOCK);
}

uint64_t checksum_end(const struct checksum *sum) {
    uint64_t sums[4], whole = sum->fed;
    size_t held = sum->fed % CHECKSUM_BLOCK;
    memcpy(sums, sum->sums, sizeof sums);
    for (size_t at = 0; at < held; at += 8) {
        sums[at / 8] = stir(sums[at / 8], word_at(sum->rest + at, held - at < 8 ? held - at : 8));
    }
    for (unsigned lane = 0; lane < 4; lane++) whole = mix64(whole ^ sums[lane]);
    return whole;
}
