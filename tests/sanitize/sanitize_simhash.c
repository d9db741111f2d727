/* SimHash codes, counters and dot products (simhash.h) of random and edge inputs on every CPU level, codes bit by bit
 * another way, in heap buffers of exactly the size that the contract states. Prints a digest of all results, which no
 * compiler may change. */
#include "simhash/simhash.h"
#include "sanitize_kit.h"

#define MOST 3 /* words */
#define BITS (64 * MOST)

struct results {
    uint64_t *code;
    int64_t *counters, *weighed, *products;
    double *dots;
};

/* A code by its definition: from the counters, bit by bit. */
static void check_code(const struct results *found, size_t words, size_t n) {
    for (size_t i = 0; i < 64 * words && n; i++) {
        int one = found->code[i / 64] >> i % 64 & 1;
        CHECK(one == (found->counters[i] > 0));
    }
    CHECK(simhash_distance(found->code, found->code, 64 * words) == (n ? 0 : 64 * words + 1));
}

static void check(size_t n, size_t words, const uint64_t *constants) {
    uint64_t *tokens = buffer(n * sizeof *tokens), *masks = buffer(n * words * sizeof *masks);
    int64_t *weights = buffer(n * sizeof *weights);
    double *x = buffer(n * sizeof *x);
    struct results first = {0};
    for (size_t t = 0; t < n; t++) {
        tokens[t] = anything();
        weights[t] = (int64_t)(anything() >> 20) - ((int64_t)1 << 43);
        x[t] = (double)weights[t] / 7;
    }
    for (size_t t = 0; t < n * words; t++) masks[t] = anything();
    CHECK(simhash_weights_fit(weights, n));
    for EACH_LEVEL(level) {
        const struct simhash_kernels *kernels = simhash_levels[level];
        struct results found = {buffer(words * 8), buffer(words * 512), buffer(words * 512), buffer(words * 512),
                                buffer(words * 512)};
        simhash_code(kernels, tokens, n, constants, words, found.code);
        simhash_counters(kernels, tokens, NULL, n, constants, words, found.counters);
        simhash_counters(kernels, tokens, weights, n, constants, words, found.weighed);
        simhash_dots(kernels, masks, words, weights, n, found.products);
        simhash_dots_of_doubles(kernels, masks, words, x, n, found.dots);
        check_code(&found, words, n);
        if (level == CPU_SCALAR) {
            note_bytes(found.code, words * 8);
            note_bytes(found.weighed, words * 512);
            note_bytes(found.products, words * 512);
            note_bytes(found.dots, words * 512);
            first = found;
            continue;
        }
        CHECK(memcmp(found.code, first.code, words * 8) == 0);
        CHECK(memcmp(found.counters, first.counters, words * 512) == 0);
        CHECK(memcmp(found.weighed, first.weighed, words * 512) == 0);
        CHECK(memcmp(found.products, first.products, words * 512) == 0);
        CHECK(memcmp(found.dots, first.dots, words * 512) == 0);
        free(found.code), free(found.counters), free(found.weighed), free(found.products), free(found.dots);
    }
    free(first.code), free(first.counters), free(first.weighed), free(first.products), free(first.dots);
    free(tokens), free(masks), free(weights), free(x);
}

/* Bits at zero that are drawn: the others stay, and opposite vectors have opposite codes. */
static void check_drawn_zeros(size_t bits) {
    const size_t words = (bits + 63) / 64;
    uint64_t *zero = numbers(words), *code = numbers(words), *opposite = numbers(words);
    int empty = 1;
    for (size_t w = 0; w < words; w++) {
        const uint64_t used = bits - 64 * w >= 64 ? UINT64_MAX : ((uint64_t)1 << (bits - 64 * w)) - 1;
        zero[w] = anything() & used;
        code[w] = anything() & used & ~zero[w];
        opposite[w] = used & ~zero[w] & ~code[w];
        empty &= zero[w] == used;
    }
    uint64_t *signs = copy_of(code, words * sizeof *code);
    uint64_t seed = anything();
    simhash_settle(code, zero, bits, SIMHASH_ZERO_IS_DRAWN, seed);
    simhash_settle(opposite, zero, bits, SIMHASH_ZERO_IS_DRAWN, seed);
    for (size_t w = 0; w < words && !empty; w++) {
        const uint64_t used = bits - 64 * w >= 64 ? UINT64_MAX : ((uint64_t)1 << (bits - 64 * w)) - 1;
        CHECK((code[w] & ~zero[w]) == signs[w]);
        CHECK((code[w] ^ opposite[w]) == used);
    }
    note_all(code, words);
    free(zero);
    free(code);
    free(opposite);
    free(signs);
}

int main(void) {
    for (size_t bits = 1; bits < 300; bits++) check_drawn_zeros(bits);
    uint64_t constants[MOST];
    simhash_constants(5, MOST, constants);
    for (size_t words = 1; words <= MOST; words++) {
        for (size_t n = 0; n < 1100; n += n < 70 ? 1 : 37) check(n, words, constants);
        check(SIMHASH_COUNT_TOKENS, words, constants);
        check(SIMHASH_COUNT_TOKENS + 1, words, constants);
    }
    return print_digest();
}
