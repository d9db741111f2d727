/* Arithmetic mod p = 2^61 - 1, the 64-bit mixer and the drawing of constants: the ground of every kernel.
 * Products are exact, with a 128-bit intermediate; docs/reference/definitions.md is the law. */
#ifndef LSHFAST_FIELD_H
#define LSHFAST_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

#define P61 (((uint64_t)1 << 61) - 1)
#define EMPTY_SLOT UINT64_MAX

enum domain {
    DOMAIN_TOKEN = 1,
    DOMAIN_NGRAM,
    DOMAIN_CHARACTER,
    DOMAIN_INTEGER,
    DOMAIN_CLASSIC,
    DOMAIN_FAST_ROUND,
    DOMAIN_FAST_SLOT,
    DOMAIN_BAND,
    DOMAIN_GROUP,
    DOMAIN_SIMHASH = 20,
    DOMAIN_SIMHASH_ZERO,
    DOMAIN_REGISTER,
    DOMAIN_WEIGHTED = 24,
    DOMAIN_ROTATION = 26,
    DOMAIN_GAUSSIAN = 30,
    DOMAIN_CAUCHY,
    DOMAIN_LINE_OFFSET
};

static inline uint64_t mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static inline uint64_t draw(uint64_t seed, enum domain domain, uint64_t index) {
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);
    return mix64(mix64(seed + golden * (uint64_t)domain) + golden * (index + 1));
}

/* A multiplier in [1, p - 1]. */
static inline uint64_t draw_multiplier(uint64_t seed, enum domain domain, uint64_t index) {
    return 1 + draw(seed, domain, index) % (P61 - 1);
}

/* x mod p of any 64-bit x. */
static inline uint64_t p61_of(uint64_t x) {
    x = (x & P61) + (x >> 61);
    return x >= P61 ? x - P61 : x;
}

/* A 128-bit sum of products. */
#if LSHFAST_INT128
typedef wide_integer wide;
static inline wide wide_of(uint64_t x) { return x; }
static inline wide wide_add(wide a, wide b) { return a + b; }
static inline wide wide_product(uint64_t a, uint64_t b) { return (wide)a * b; }
static inline uint64_t wide_low(wide a) { return (uint64_t)a; }
static inline uint64_t wide_high(wide a) { return (uint64_t)(a >> 64); }
#else
typedef struct {
    uint64_t low, high;
} wide;
static inline wide wide_of(uint64_t x) {
    wide w = {x, 0};
    return w;
}
static inline wide wide_add(wide a, wide b) {
    wide w;
    w.low = a.low + b.low;
    w.high = a.high + b.high + (w.low < a.low);
    return w;
}
static inline wide wide_product(uint64_t a, uint64_t b) {
    wide w;
    w.low = product_of_words(a, b, &w.high);
    return w;
}
static inline uint64_t wide_low(wide a) { return a.low; }
static inline uint64_t wide_high(wide a) { return a.high; }
#endif

/* Something congruent to w mod p and below 2^61 + 8, for w < 2^124: 2^61 is 1, so the halves add up. */
static inline uint64_t p61_fold(wide w) {
    uint64_t sum = (wide_low(w) & P61) + (wide_high(w) << 3 | wide_low(w) >> 61);
    return (sum & P61) + (sum >> 61);
}

/* w mod p, for any w. */
static inline uint64_t p61_of_wide(wide w) {
    uint64_t middle = (wide_high(w) << 3 | wide_low(w) >> 61) & P61;
    return p61_of((wide_low(w) & P61) + middle + (wide_high(w) >> 58));
}

static inline uint64_t p61_product(uint64_t a, uint64_t b) { return p61_of_wide(wide_product(a, b)); }

#endif
