/* Polynomials over prime fields, multiply-shift and mixed tabulation. */
#include "hashing/hashing.h"

/* Keys that go through the polynomial together, so that their products overlap. */
enum { GROUP = 8 };

/* x mod buckets without a division: the quotient from the inverse, floor((2^64 - 1) / buckets), is right or one less. */
static inline uint64_t remainder_of(uint64_t x, uint64_t buckets, uint64_t inverse) {
    uint64_t rest = x - wide_high(wide_product(x, inverse)) * buckets;
    return rest >= buckets ? rest - buckets : rest;
}

static ALWAYS_INLINED void group_mod_p61(const uint64_t *keys, size_t group, const uint64_t *coefficients, size_t k,
                                         uint64_t *values) {
    for (size_t i = 0; i < group; i++) values[i] = coefficients[0];
    for (size_t j = 1; j < k; j++) {
        const wide c = wide_of(coefficients[j]);
        for (size_t i = 0; i < group; i++) values[i] = p61_fold(wide_add(wide_product(values[i], keys[i]), c));
    }
    for (size_t i = 0; i < group; i++) values[i] = p61_of(values[i]);
}

static void group_mod_small(const uint64_t *keys, size_t group, const uint64_t *coefficients, size_t k, uint64_t prime,
                            uint64_t *values) {
    for (size_t i = 0; i < group; i++) values[i] = coefficients[0];
    for (size_t j = 1; j < k; j++) {
        for (size_t i = 0; i < group; i++) values[i] = (values[i] * keys[i] + coefficients[j]) % prime;
    }
}

void hashing_polynomial(const uint64_t *keys, size_t n, const uint64_t *coefficients, size_t k, uint64_t prime,
                        uint64_t buckets, uint64_t *out) {
    const uint64_t inverse = UINT64_MAX / buckets;
    uint64_t values[GROUP];
    for (size_t start = 0; start < n; start += GROUP) {
        size_t group = n - start < GROUP ? n - start : GROUP;
        if (prime != P61) {
            group_mod_small(keys + start, group, coefficients, k, prime, values);
        } else if (group == GROUP) {
            group_mod_p61(keys + start, GROUP, coefficients, k, values);
        } else {
            group_mod_p61(keys + start, group, coefficients, k, values);
        }
        for (size_t i = 0; i < group; i++) out[start + i] = remainder_of(values[i], buckets, inverse);
    }
}

void hashing_multiply_shift(const uint64_t *keys, size_t n, uint64_t a, unsigned bits, uint64_t *out) {
    for (size_t i = 0; i < n; i++) out[i] = a * keys[i] >> (64 - bits);
}

void hashing_lines(const uint64_t *keys, size_t n, const struct hashing_line *line, uint64_t buckets, uint64_t *out) {
    const struct hashing_line used = *line;
    if (buckets) {
        for (size_t i = 0; i < n; i++) out[i] = hashing_bucket(hashing_on_line(&used, keys[i]), buckets);
    } else {
        for (size_t i = 0; i < n; i++) out[i] = hashing_on_line(&used, keys[i]);
    }
}

static inline uint64_t tabulated(uint64_t x, const uint64_t *tables) {
    uint64_t h = 0, derived = 0;
    for (size_t c = 0; c < HASHING_CHARACTERS; c++) {
        const uint64_t *entry = tables + 2 * (HASHING_TABLE * c + (x >> 8 * c & 0xFF));
        h ^= entry[0];
        derived ^= entry[1];
    }
    tables += 2 * HASHING_TABLE * HASHING_CHARACTERS;
    for (size_t c = 0; c < HASHING_DERIVED; c++) h ^= tables[HASHING_TABLE * c + (derived >> 8 * c & 0xFF)];
    return h;
}

void hashing_tabulation(const uint64_t *keys, size_t n, const uint64_t *tables, uint64_t buckets, uint64_t *out) {
    for (size_t i = 0; i < n; i++) {
        uint64_t h = tabulated(keys[i], tables);
        out[i] = buckets ? hashing_bucket(h, buckets) : h;
    }
}
