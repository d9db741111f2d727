/* Signatures of one permutation and of few bits (bits.h) on random and edge inputs, slot by slot another way and on
 * every CPU level, in heap buffers of exactly the size that the contract states, so that the address sanitizer sees each byte
 * read or written beside them. Prints a digest of all results, which no compiler may change. */
#include "bits/bits.h"
#include "slots/slots.h"
#include "sanitize_kit.h"

/* ---- one permutation ---- */

static void check_group(size_t k, size_t n) {
    uint64_t *tokens = numbers(n), *expected = numbers(k), *out = numbers(k), constant = anything();
    memset(expected, 0xFF, k * sizeof *expected);
    for (size_t t = 0; t < n; t++) {
        tokens[t] = below(4) ? anything() : below(2) ? 0 : UINT64_MAX;
        uint64_t hash = mix64(tokens[t] ^ constant), *slot = expected + (size_t)((hash >> 32) * k >> 32);
        if ((hash & SKETCH_VALUE_MASK) < *slot) *slot = hash & SKETCH_VALUE_MASK;
    }
    for EACH_LEVEL(level) {
        bits_group_signature(sketch_levels[level], n ? tokens : NULL, n, constant, k, out);
        CHECK(memcmp(out, expected, k * sizeof *out) == 0);
    }
    for (size_t i = 0; i < k; i++) note(out[i]);
    free(tokens);
    free(expected);
    free(out);
}

static void check_groups(void) {
    const size_t slots[] = {1, 2, 3, 7, 8, 9, 16, 100, 128, 1000, SKETCH_MAX_SLOTS};
    const size_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 255, 256, 257, 600};
    for (size_t s = 0; s < COUNT(slots); s++) {
        for (size_t c = 0; c < COUNT(counts); c++) check_group(slots[s], counts[c]);
    }
}

/* ---- comparison ---- */

/* Rows of few different values, so that slots agree; some slots and some whole rows have none. */
static uint64_t *signatures_of(size_t n, size_t k) {
    uint64_t *rows = numbers(n * k);
    for (size_t i = 0; i < n * k; i++) rows[i] = below(5) == 0 ? EMPTY_SLOT : below(3);
    for (size_t row = 0; row < n; row += 1 + below(4)) memset(rows + row * k, 0xFF, k * sizeof *rows);
    return rows;
}

static uint64_t slot_of(const uint64_t *packed, size_t i, unsigned bits) {
    return packed[i * bits / 64] >> i * bits % 64 & (((uint64_t)1 << bits) - 1);
}

static void check_equal32(const uint64_t *a, const uint64_t *b, size_t n) {
    uint32_t *x = buffer(n * sizeof *x), *y = buffer(n * sizeof *y);
    size_t same = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = (uint32_t)a[i];
        y[i] = (uint32_t)b[i];
        same += x[i] == y[i];
    }
    for EACH_LEVEL(level) CHECK(slots_levels[level]->equal32(x, y, n) == same);
    free(x);
    free(y);
}

static void check_slots(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t k) {
    int32_t *equal = buffer(n * sizeof *equal), *skipped = buffer(n * sizeof *skipped);
    for EACH_LEVEL(level) {
        slots_levels[level]->compare(a, step, b, n, k, equal, skipped);
        for (size_t row = 0; row < n; row++) {
            int32_t same = 0, none = 0;
            for (size_t i = 0; i < k; i++) {
                uint64_t x = a[row * step + i], y = b[row * k + i];
                same += x == y && x != EMPTY_SLOT;
                none += x == y && x == EMPTY_SLOT;
            }
            CHECK(equal[row] == same && skipped[row] == none);
            CHECK(slots_levels[level]->equal64(a + row * step, b + row * k, k) == (size_t)same + (size_t)none);
        }
    }
    for (size_t row = 0; row < n; row++) note((uint64_t)equal[row] << 32 | (uint64_t)skipped[row]);
    for (size_t row = 0; row < n; row++) check_equal32(a + row * step, b + row * k, k);
    free(equal);
    free(skipped);
}

static void check_packed(const uint64_t *a, const uint64_t *b, size_t n, size_t k, unsigned bits) {
    const size_t words = bits_words(k, bits);
    uint64_t *short_a = numbers(n * words), *short_b = numbers(n * words);
    int32_t *equal = buffer(n * sizeof *equal);
    for EACH_LEVEL(level) {
        const struct bits_kernels *kernels = bits_levels[level];
        bits_pack(kernels, a, n, k, bits, short_a);
        bits_pack(kernels, b, n, k, bits, short_b);
        for (size_t row = 0; row < n; row++) {
            const uint64_t *slots = a + row * k, *packed = short_a + row * words;
            if (slots[0] == EMPTY_SLOT) {
                for (size_t i = 0; i < words; i++) CHECK(packed[i] == EMPTY_SLOT);
                continue;
            }
            for (size_t i = k; i < words * 64 / bits; i++) CHECK(slot_of(packed, i, bits) == 0);
            for (size_t i = 0; i < k; i++) {
                uint64_t kept = mix64(slots[i]) & (((uint64_t)1 << bits) - 1);
                CHECK(slot_of(packed, i, bits) == kept || (i == 0 && packed[0] == EMPTY_SLOT - 1));
            }
        }
        for (size_t step = 0; step <= words; step += words) {
            bits_compare(kernels, short_a, step, short_b, n, k, bits, equal);
            for (size_t row = 0; row < n; row++) {
                const uint64_t *x = short_a + row * step, *y = short_b + row * words;
                int32_t same = 0;
                for (size_t i = 0; i < k; i++) same += slot_of(x, i, bits) == slot_of(y, i, bits);
                CHECK(equal[row] == (x[0] == EMPTY_SLOT || y[0] == EMPTY_SLOT ? -1 : same));
            }
        }
    }
    for (size_t i = 0; i < n * words; i++) note(short_a[i]);
    for (size_t row = 0; row < n; row++) note((uint64_t)(equal[row] + 1));
    free(short_a);
    free(short_b);
    free(equal);
}

static void check_rows(size_t k, size_t n) {
    uint64_t *a = signatures_of(n, k), *b = signatures_of(n, k);
    check_slots(a, k, b, n, k);
    check_slots(a, 0, b, n, k);
    for (unsigned bits = 1; bits <= 16; bits *= 2) check_packed(a, b, n, k, bits);
    free(a);
    free(b);
}

static void check_comparison(void) {
    const size_t slots[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300, 520};
    const size_t counts[] = {0, 1, 2, 5, 300};
    for (size_t s = 0; s < COUNT(slots); s++) {
        for (size_t c = 0; c < COUNT(counts); c++) check_rows(slots[s], counts[c]);
    }
}

/* A first word of all ones: 64 times the slot whose mixed value has no zeros. */
static void check_all_ones(void) {
    uint64_t ones = UINT64_MAX, slots[64], packed[16];
    const uint64_t first = UINT64_C(0x96DE1B173F119089), second = UINT64_C(0x319642B2D24D8EC3); /* of mix64, inverted */
    ones ^= ones >> 31 ^ ones >> 62;
    ones *= second;
    ones ^= ones >> 27 ^ ones >> 54;
    ones *= first;
    ones ^= ones >> 30 ^ ones >> 60;
    CHECK(mix64(ones) == UINT64_MAX);
    for (size_t i = 0; i < COUNT(slots); i++) slots[i] = ones;
    for EACH_LEVEL(level) {
        for (unsigned bits = 1; bits <= 16; bits *= 2) {
            bits_pack(bits_levels[level], slots, 1, COUNT(slots), bits, packed);
            CHECK(packed[0] == EMPTY_SLOT - 1);
            for (size_t i = 1; i < bits_words(COUNT(slots), bits); i++) CHECK(packed[i] == UINT64_MAX);
        }
    }
}

static void check_widths(void) {
    for (unsigned bits = 0; bits < 70; bits++) {
        int known = bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
        CHECK(bits_is_width(bits) == known);
    }
    CHECK(bits_words(1, 1) == 1 && bits_words(64, 1) == 1 && bits_words(65, 1) == 2);
    CHECK(bits_words(SKETCH_MAX_SLOTS, 16) == 16384);
}

int main(void) {
    check_groups();
    check_comparison();
    check_all_ones();
    check_widths();
    return print_digest();
}
