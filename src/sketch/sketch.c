/* The portable MinHash kernels. */
#include "sketch/sketch.h"

#include <string.h>

void sketch_classic_constants(uint64_t seed, size_t k, uint64_t *a, uint64_t *b) {
    for (size_t i = 0; i < k; i++) {
        a[i] = draw_multiplier(seed, DOMAIN_CLASSIC, 2 * i);
        b[i] = draw(seed, DOMAIN_CLASSIC, 2 * i + 1) % P61;
    }
    for (size_t i = k; i % SKETCH_CLASSIC_LANES; i++) {
        a[i] = 1;
        b[i] = 0;
    }
}

void sketch_fast_constants(uint64_t seed, size_t k, uint64_t *rounds, uint64_t *slots) {
    for (size_t r = 0; r < sketch_fast_rounds(k); r++) rounds[r] = draw(seed, DOMAIN_FAST_ROUND, r);
    for (size_t i = 0; i < k; i++) slots[i] = draw(seed, DOMAIN_FAST_SLOT, i);
}

/* Four functions at a time stay in registers while the tokens stream by. */
static void classic(const uint64_t *tokens, size_t n, const uint64_t *a, const uint64_t *b, size_t k, uint64_t *out) {
    enum { HELD = 4 };
    uint64_t values[SKETCH_BLOCK_TOKENS];
    for (size_t i = 0; i < k; i++) out[i] = EMPTY_SLOT;
    for (size_t start = 0; start < n; start += SKETCH_BLOCK_TOKENS) {
        size_t count = n - start < SKETCH_BLOCK_TOKENS ? n - start : SKETCH_BLOCK_TOKENS;
        for (size_t t = 0; t < count; t++) values[t] = p61_of(mix64(tokens[start + t]));
        for (size_t i = 0; i < k; i += HELD) {
            uint64_t least[HELD] = {EMPTY_SLOT, EMPTY_SLOT, EMPTY_SLOT, EMPTY_SLOT};
            for (size_t t = 0; t < count; t++) {
                for (size_t j = 0; j < HELD; j++) {
                    uint64_t x = p61_fold(wide_add(wide_product(a[i + j], values[t]), wide_of(b[i + j])));
                    x = x >= P61 ? x - P61 : x;
                    least[j] = x < least[j] ? x : least[j];
                }
            }
            for (size_t j = 0; j < HELD && i + j < k; j++) {
                if (least[j] < out[i + j]) out[i + j] = least[j];
            }
        }
    }
}

static void land(const uint64_t *tokens, size_t n, uint64_t round, uint64_t constant, size_t k, uint64_t *values,
                 uint32_t *slots) {
    for (size_t t = 0; t < n; t++) {
        uint64_t hash = mix64(tokens[t] ^ constant);
        values[t] = round << SKETCH_VALUE_BITS | (hash & SKETCH_VALUE_MASK);
        slots[t] = (uint32_t)((hash >> 32) * k >> 32);
    }
}

static uint64_t least(const uint64_t *tokens, size_t n, uint64_t constant) {
    uint64_t found = EMPTY_SLOT;
    for (size_t t = 0; t < n; t++) {
        uint64_t value = mix64(tokens[t] ^ constant) & SKETCH_VALUE_MASK;
        found = value < found ? value : found;
    }
    return found;
}

/* So many tokens a slot make the values in the slots so small that few others are below the largest of them. */
#define SETTLED 8

/* Values get a tag in their upper bits. Take the minimum without a branch: whether a value wins cannot be foretold. */
static inline void scatter(const uint64_t *values, const uint32_t *slots, size_t n, uint64_t tag, uint64_t *out) {
    for (size_t t = 0; t < n; t++) {
        uint64_t value = values[t] | tag, held = out[slots[t]];
        out[slots[t]] = value < held ? value : held;
    }
}

static inline uint64_t largest(const uint64_t *values, size_t n) {
    uint64_t found = 0;
    for (size_t i = 0; i < n; i++) found = values[i] > found ? values[i] : found;
    return found;
}

/* Ask for what comes some blocks behind n tokens, mostly those of the sets that follow: the processor reads nothing ahead
 * while tokens are scattered. */
static inline void prefetch_ahead(const uint64_t *tokens, size_t n) {
    for (size_t t = 0; t < n; t += 8) prefetch_behind(tokens + t, 2 * SKETCH_BLOCK_TOKENS * sizeof *tokens);
}

/* In round 0 of a large set, values are first compared with the largest in the slots, which is taken anew at `next`. */
static void sketch_round(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n, size_t round,
                         uint64_t constant, size_t k, uint64_t *out) {
    uint64_t values[SKETCH_BLOCK_TOKENS], limit = EMPTY_SLOT;
    uint32_t slots[SKETCH_BLOCK_TOKENS];
    size_t next = kernels->land_below && round == 0 ? SETTLED * k : SIZE_MAX;
    for (size_t start = 0; start < n; start += SKETCH_BLOCK_TOKENS) {
        size_t block = n - start < SKETCH_BLOCK_TOKENS ? n - start : SKETCH_BLOCK_TOKENS;
        if (round == 0) prefetch_ahead(tokens + start, block);
        if (start >= next) {
            limit = largest(out, k);
            next = start + start / 4;
        }
        if (limit != EMPTY_SLOT) block = kernels->land_below(tokens + start, block, constant, k, limit, values, slots);
        else kernels->land(tokens + start, block, round, constant, k, values, slots);
        scatter(values, slots, block, 0, out);
    }
}

/* A set of at most SHORT tokens is hashed for several rounds or slots at once: registers are full, and calls are few. With AVX2
 * this takes .4 of the time for 1 token, .57 for 5, .88 for 8; from 16 tokens on it saves nothing. */
#define SHORT 12
#define GATHERED 128

/* Hash n tokens under `count` constants; n * count is at most GATHERED. */
static void land_gathered(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n,
                          const uint64_t *constants, size_t count, size_t k, uint64_t *values, uint32_t *slots) {
    uint64_t mixed[GATHERED + 1];
    mixed[0] = 0;
    for (size_t c = 0, at = 0; c < count; c++) {
        for (size_t t = 0; t < n; t++) mixed[at++] = tokens[t] ^ constants[c];
    }
    kernels->land(mixed, n * count, 0, 0, k, values, slots);
}

/* The next rounds of a short set, at most `most`; returns their number. A slot keeps the value of its first round, so it does
 * no harm to go on when all are filled. */
static size_t sketch_short_rounds(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n, size_t round,
                                  size_t most, const uint64_t *constants, size_t k, uint64_t *out) {
    uint64_t values[GATHERED];
    uint32_t slots[GATHERED];
    size_t count = GATHERED / n < most ? GATHERED / n : most;
    land_gathered(kernels, tokens, n, constants, count, k, values, slots);
    for (size_t r = 0; r < count; r++) {
        scatter(values + r * n, slots + r * n, n, (uint64_t)(round + r) << SKETCH_VALUE_BITS, out);
    }
    return count;
}

/* Fill the slots from `first` on that no round has filled, for a short set: n <= SHORT. */
static void fill_short(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n, const uint64_t *constants,
                       size_t first, size_t k, uint64_t tag, uint64_t *out) {
    uint64_t gathered[GATHERED], values[GATHERED];
    uint32_t places[GATHERED], slots[GATHERED];
    while (first < k) {
        size_t count = 0;
        do {
            places[count] = (uint32_t)first;
            gathered[count] = constants[first];
            count += out[first] == EMPTY_SLOT;
            first++;
        } while (first < k && (count + 1) * n <= GATHERED);
        land_gathered(kernels, tokens, n, gathered, count, k, values, slots);
        for (size_t c = 0; c < count; c++) {
            uint64_t lowest = values[c * n];
            for (size_t t = c * n + 1; t < (c + 1) * n; t++) lowest = values[t] < lowest ? values[t] : lowest;
            out[places[c]] = tag | lowest;
        }
    }
}

void sketch_fast_signature(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n,
                           const uint64_t *rounds, const uint64_t *slots, size_t k, uint64_t *out) {
    memset(out, 0xFF, k * sizeof *out);
    if (n == 0) return;
    size_t count = sketch_fast_rounds(k), filled = 0; /* slots before `filled` are filled, and stay so */
    int is_short = n <= SHORT;
    for (size_t r = 0; r < count;) {
        if (is_short) r += sketch_short_rounds(kernels, tokens, n, r, count - r, rounds + r, k, out);
        else sketch_round(kernels, tokens, n, r, rounds[r], k, out), r++;
        while (filled < k && out[filled] != EMPTY_SLOT) filled++;
        if (filled == k) return;
    }
    uint64_t tag = (uint64_t)count << SKETCH_VALUE_BITS;
    if (is_short) {
        fill_short(kernels, tokens, n, slots, filled, k, tag, out);
        return;
    }
    for (size_t i = filled; i < k; i++) {
        if (out[i] == EMPTY_SLOT) out[i] = tag | kernels->least(tokens, n, slots[i]);
    }
}

const struct sketch_kernels sketch_scalar = {classic, land, NULL, least};

/* NEON uses the portable kernels. It has no 64-bit products: two tokens are mixed by 18 vector instructions where the
 * scalar code takes 12 (GCC 12), and two values of `classic` take 20 where it takes 31 with mul and umulh, on cores that
 * have about half as many units for vectors as for integers. */
const struct sketch_kernels *const sketch_levels[CPU_LEVELS] =
    CPU_TABLE(&sketch_scalar, &sketch_avx2, &sketch_avx512, &sketch_scalar);
