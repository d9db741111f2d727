/* The portable SimHash kernels. */
#include "simhash/simhash.h"

#include <string.h>

void simhash_constants(uint64_t seed, size_t words, uint64_t *constants) {
    for (size_t w = 0; w < words; w++) constants[w] = draw(seed, DOMAIN_SIMHASH, w);
}

static void hash(const uint64_t *tokens, size_t n, uint64_t constant, uint64_t *hashes) {
    for (size_t t = 0; t < n; t++) hashes[t] = mix64(tokens[t] ^ constant);
}

/* Add b and c to *a: *a takes the ones, the twos come back. */
static inline uint64_t carry_save(uint64_t *a, uint64_t b, uint64_t c) {
    uint64_t either = *a ^ b, twos = (*a & b) | (either & c);
    *a = either ^ c;
    return twos;
}

static void count(const uint64_t *tokens, size_t n, uint64_t constant, uint64_t *planes) {
    enum { GROUP = 8 };
    uint64_t ones = 0, twos = 0, fours = 0;
    memset(planes, 0, SIMHASH_COUNT_PLANES * sizeof *planes);
    for (size_t start = 0; start < n; start += GROUP) {
        uint64_t h[GROUP] = {0};
        size_t group = n - start < GROUP ? n - start : GROUP;
        for (size_t t = 0; t < group; t++) h[t] = mix64(tokens[start + t] ^ constant);
        uint64_t two[4], four[2];
        for (size_t i = 0; i < 4; i++) two[i] = carry_save(&ones, h[2 * i], h[2 * i + 1]);
        for (size_t i = 0; i < 2; i++) four[i] = carry_save(&twos, two[2 * i], two[2 * i + 1]);
        uint64_t carry = carry_save(&fours, four[0], four[1]);
        for (size_t p = 3; p < SIMHASH_COUNT_PLANES; p++) {
            uint64_t both = planes[p] & carry;
            planes[p] ^= carry;
            carry = both;
        }
    }
    planes[0] = ones;
    planes[1] = twos;
    planes[2] = fours;
}

static void add(const uint64_t *masks, size_t stride, const int64_t *weights, size_t n, uint64_t *sums) {
    for (size_t t = 0; t < n; t++) {
        uint64_t mask = masks[t * stride], weight = (uint64_t)weights[t];
        for (size_t i = 0; i < 64; i++) sums[i] += weight & (0 - (mask >> i & 1));
    }
}

static void add_doubles(const uint64_t *masks, size_t stride, const double *weights, size_t n, double *sums) {
    for (size_t t = 0; t < n; t++) {
        uint64_t mask = masks[t * stride];
        const double term[2] = {-weights[t], weights[t]};
        for (size_t i = 0; i < 64; i++) sums[i] += term[mask >> i & 1];
    }
}

/* Add a number of SIMHASH_COUNT_PLANES planes to one of 64. */
static void add_planes(const uint64_t *planes, uint64_t *total) {
    uint64_t carry = 0;
    for (size_t p = 0; p < 64 && (p < SIMHASH_COUNT_PLANES || carry); p++) {
        carry = carry_save(&total[p], p < SIMHASH_COUNT_PLANES ? planes[p] : 0, carry);
    }
}

static void count_all(const struct simhash_kernels *kernels, const uint64_t *tokens, size_t n, uint64_t constant,
                      uint64_t *total) {
    kernels->count(tokens, n < SIMHASH_COUNT_TOKENS ? n : SIMHASH_COUNT_TOKENS, constant, total);
    if (n <= SIMHASH_COUNT_TOKENS) return;
    memset(total + SIMHASH_COUNT_PLANES, 0, (64 - SIMHASH_COUNT_PLANES) * sizeof *total);
    for (size_t start = SIMHASH_COUNT_TOKENS; start < n; start += SIMHASH_COUNT_TOKENS) {
        uint64_t planes[SIMHASH_COUNT_PLANES];
        kernels->count(tokens + start, n - start < SIMHASH_COUNT_TOKENS ? n - start : SIMHASH_COUNT_TOKENS, constant,
                       planes);
        add_planes(planes, total);
    }
}

/* The planes that count_all may have set. */
static size_t planes_of(size_t n) {
    size_t planes = SIMHASH_COUNT_PLANES;
    if (n <= SIMHASH_COUNT_TOKENS) return planes;
    while (planes < 64 && (uint64_t)n >> planes) planes++;
    return planes;
}

void simhash_code(const struct simhash_kernels *kernels, const uint64_t *tokens, size_t n, const uint64_t *constants,
                  size_t words, uint64_t *code) {
    uint64_t total[64], zero[SIMHASH_MAX_WORDS];
    size_t half = n / 2, planes = planes_of(n);
    for (size_t w = 0; w < words; w++) {
        count_all(kernels, tokens, n, constants[w], total);
        uint64_t more = 0, equal = ~(uint64_t)0;
        for (size_t p = 0; p < planes; p++) {
            uint64_t bit = 0 - ((uint64_t)half >> p & 1), differs = total[p] ^ bit;
            more = (total[p] & differs) | (more & ~differs);
            equal &= ~differs;
        }
        code[w] = more;
        zero[w] = n % 2 ? 0 : equal;
    }
    simhash_settle(code, zero, 64 * words, SIMHASH_ZERO_IS_MINUS, 0);
}

void simhash_counters(const struct simhash_kernels *kernels, const uint64_t *tokens, const int64_t *weights, size_t n,
                      const uint64_t *constants, size_t words, int64_t *counters) {
    uint64_t sums[64], total[64], hashes[SIMHASH_BLOCK_TOKENS];
    int64_t powers[64];
    uint64_t whole = n;
    if (weights) {
        whole = 0;
        for (size_t t = 0; t < n; t++) whole += (uint64_t)weights[t];
    } else {
        for (size_t p = 0; p < 64; p++) powers[p] = (int64_t)((uint64_t)1 << p);
    }
    for (size_t w = 0; w < words; w++) {
        memset(sums, 0, sizeof sums);
        if (!weights) {
            count_all(kernels, tokens, n, constants[w], total);
            kernels->add(total, 1, powers, planes_of(n), sums);
        }
        for (size_t start = 0; weights && start < n; start += SIMHASH_BLOCK_TOKENS) {
            size_t block = n - start < SIMHASH_BLOCK_TOKENS ? n - start : SIMHASH_BLOCK_TOKENS;
            kernels->hash(tokens + start, block, constants[w], hashes);
            kernels->add(hashes, 1, weights + start, block, sums);
        }
        for (size_t i = 0; i < 64; i++) counters[64 * w + i] = (int64_t)(2 * sums[i] - whole);
    }
}

void simhash_dots(const struct simhash_kernels *kernels, const uint64_t *masks, size_t words, const int64_t *x,
                  size_t n, int64_t *dots) {
    uint64_t sums[64], whole = 0;
    for (size_t j = 0; j < n; j++) whole += (uint64_t)x[j];
    for (size_t w = 0; w < words; w++) {
        memset(sums, 0, sizeof sums);
        kernels->add(masks + w, words, x, n, sums);
        for (size_t i = 0; i < 64; i++) dots[64 * w + i] = (int64_t)(2 * sums[i] - whole);
    }
}

void simhash_dots_of_doubles(const struct simhash_kernels *kernels, const uint64_t *masks, size_t words,
                             const double *x, size_t n, double *dots) {
    for (size_t w = 0; w < words; w++) {
        for (size_t i = 0; i < 64; i++) dots[64 * w + i] = 0;
        kernels->add_doubles(masks + w, words, x, n, dots + 64 * w);
    }
}

int simhash_weights_fit(const int64_t *weights, size_t n) {
    uint64_t sum = 0;
    for (size_t t = 0; t < n; t++) {
        sum += weights[t] < 0 ? 0 - (uint64_t)weights[t] : (uint64_t)weights[t];
        if (sum >> 63) return 0;
    }
    return 1;
}

/* Bits of a word below `bits`, word w of a code. */
static inline uint64_t used(size_t bits, size_t w) {
    return bits - 64 * w >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << (bits - 64 * w)) - 1;
}

/* The bits at zero are drawn from the signs of the others, after these are turned so that the first of them is
 * positive: parallel vectors have the same code, opposite ones opposite codes. */
static void draw_zeros(uint64_t *code, const uint64_t *zero, size_t bits, size_t words, uint64_t seed) {
    uint64_t turned = 0, state = draw(seed, DOMAIN_SIMHASH_ZERO, 0);
    for (size_t w = 0; w < words; w++) {
        uint64_t others = used(bits, w) & ~zero[w], first = others & (0 - others);
        if (!first) continue;
        turned = code[w] & first ? 0 : ~(uint64_t)0;
        break;
    }
    for (size_t w = 0; w < words; w++) {
        state = mix64(state ^ ((code[w] ^ turned) & used(bits, w) & ~zero[w]));
        state = mix64(state ^ zero[w]);
    }
    for (size_t w = 0; w < words; w++) {
        code[w] |= zero[w] & (mix64(state ^ draw(seed, DOMAIN_SIMHASH_ZERO, w + 1)) ^ turned);
    }
}

void simhash_settle(uint64_t *code, const uint64_t *zero, size_t bits, enum simhash_zero_rule rule, uint64_t seed) {
    size_t words = (bits + 63) / 64;
    int empty = 1, full = 1;
    uint64_t any = 0;
    for (size_t w = 0; w < words; w++) {
        empty &= zero[w] == used(bits, w);
        any |= zero[w];
    }
    if (empty) {
        memset(code, 0xFF, words * sizeof *code);
        return;
    }
    if (any && rule == SIMHASH_ZERO_IS_DRAWN) draw_zeros(code, zero, bits, words, seed);
    for (size_t w = 0; w < words; w++) {
        if (rule == SIMHASH_ZERO_IS_PLUS) code[w] |= zero[w];
        full &= code[w] == SIMHASH_EMPTY_WORD;
    }
    if (full) code[0] ^= 1;
}

size_t simhash_distance(const uint64_t *a, const uint64_t *b, size_t bits) {
    uint64_t every_a = SIMHASH_EMPTY_WORD, every_b = SIMHASH_EMPTY_WORD, distance = 0;
    for (size_t w = 0; w < (bits + 63) / 64; w++) {
        every_a &= a[w];
        every_b &= b[w];
        distance += ones_of(a[w] ^ b[w]);
    }
    return every_a == SIMHASH_EMPTY_WORD || every_b == SIMHASH_EMPTY_WORD ? bits + 1 : (size_t)distance;
}

const struct simhash_kernels simhash_scalar = {hash, count, add, add_doubles};

const struct simhash_kernels *const simhash_levels[CPU_LEVELS] =
    CPU_TABLE(&simhash_scalar, &simhash_avx2, &simhash_avx512, &simhash_scalar);
