/* Families of hash functions with proven guarantees, and perfect hashing.
 *
 * Functions map 64-bit keys into buckets 0 .. buckets - 1. Polynomials over a prime field end with the remainder modulo
 * the number of buckets, which keeps the bounds of the textbooks exact. The other families give uniform 64-bit words h,
 * and the bucket is floor(h buckets / 2^64); buckets = 0 stands for 2^64, where the bucket is h itself.
 *
 * Contract: n keys and n outputs, which may be the same array. Nothing is allocated or kept. All CPU levels share this
 * code: its steps are 64-bit products and lookups in tables. */
#ifndef LSHFAST_HASHING_H
#define LSHFAST_HASHING_H

#include "field.h"

/* The primes: P61, or any below 2^32, so that products fit into 64 bits. */
#define HASHING_SMALL_PRIMES ((uint64_t)1 << 32)

/* out[i] = (sum of c_j keys[i]^(k-1-j) mod prime) mod buckets; keys and coefficients are below the prime, k >= 1, and
 * buckets is in 1 .. prime. */
void hashing_polynomial(const uint64_t *keys, size_t n, const uint64_t *coefficients, size_t k, uint64_t prime,
                        uint64_t buckets, uint64_t *out);

/* out[i] = (a keys[i] mod 2^64) >> (64 - bits); a is odd, bits in 1 .. 64. */
void hashing_multiply_shift(const uint64_t *keys, size_t n, uint64_t a, unsigned bits, uint64_t *out);

/* x -> the upper word of (a x + b mod 2^128), a and b of two words each. */
struct hashing_line {
    uint64_t a_high, a_low, b_high, b_low;
};

static inline uint64_t hashing_on_line(const struct hashing_line *line, uint64_t x) {
    wide sum = wide_add(wide_product(line->a_low, x), wide_of(line->b_low));
    return line->a_high * x + line->b_high + wide_high(sum);
}

static inline uint64_t hashing_bucket(uint64_t h, uint64_t buckets) { return wide_high(wide_product(h, buckets)); }

void hashing_lines(const uint64_t *keys, size_t n, const struct hashing_line *line, uint64_t buckets, uint64_t *out);

/* Mixed tabulation: eight tables of 256 entries (a word, and a word whose lowest four bytes are derived characters), then
 * four tables of 256 words for the derived characters. */
#define HASHING_TABLE 256
#define HASHING_CHARACTERS 8
#define HASHING_DERIVED 4
#define HASHING_TABLE_WORDS (HASHING_TABLE * (2 * HASHING_CHARACTERS + HASHING_DERIVED))
void hashing_tabulation(const uint64_t *keys, size_t n, const uint64_t *tables, uint64_t buckets, uint64_t *out);

/* ---- Perfect hashing with two levels (Fredman, Komlos and Szemeredi 1984) ----
 *
 * Keys are mixed first: the mixer is a bijection, so it keeps the bounds, and with it the differences between keys of
 * different buckets are not equal. With equal differences, as in 0 .. n - 1, all buckets would collide in one draw or in
 * none. A first function maps n mixed keys to n buckets. A bucket of b keys has its own cells, 1 if b < 2 and 2 b (b - 1) otherwise,
 * and one of HASHING_SECOND_DRAWS second functions maps its keys to different cells. A word of the directory describes a
 * bucket:
 *
 *     bits 0-39: its first cell    40-55: b    56-63: which second function
 *
 * A cell is two words, key and value. A cell without a key of its own has one that belongs into another cell, so that it
 * answers no lookup and needs no mark. A lookup reads one word of the directory and one cell. */
#define HASHING_MOST_KEYS (((size_t)1 << 30) - 1)
#define HASHING_MOST_IN_BUCKET 0xFFFF
#define HASHING_SECOND_DRAWS 256

static inline uint64_t hashing_cells(uint64_t b) { return b < 2 ? 1 : 2 * b * (b - 1); }

/* Count the keys of each bucket: directory[h] is incremented, n words that begin as zeros. */
void hashing_count(const uint64_t *keys, size_t count, size_t n, const struct hashing_line *first, uint64_t *directory);

/* The sum of b^2 over the buckets, which begins in *squares; the cells of the buckets are added to *cells. Returns 0 if
 * a bucket has more than HASHING_MOST_IN_BUCKET keys. */
int hashing_measure(const uint64_t *directory, size_t n, uint64_t *squares, uint64_t *cells);

/* Replace the counts by the number of keys in the buckets before: from *before on, which moves past them. */
void hashing_begin(uint64_t *directory, size_t n, uint64_t *before);

/* Write pairs of keys and values to `grouped`, ordered by bucket; directory[h] moves to the end of bucket h. */
void hashing_group(const uint64_t *keys, const uint64_t *values, size_t count, size_t n,
                   const struct hashing_line *first, uint64_t *directory, uint64_t *grouped);

/* Give buckets their cells: those from *bucket to `stop`, whose keys begin at pair *pair of `grouped` and whose cells
 * begin at *cell; these move on. draws[t] counts the buckets of two keys or more that took second function t. Returns 0,
 * 1 if two keys of bucket *bucket are equal, or 2 if it has no function without collisions. */
int hashing_place(const uint64_t *grouped, const struct hashing_line *second, size_t stop, size_t *bucket, size_t *pair,
                  size_t *cell, uint64_t *directory, uint64_t *cells, uint64_t *draws);

/* found[i] is 1 and values[i] the value of keys[i], or 0 and values[i] is left as it is. `count` > 0 is the number of
 * cells; a damaged directory leads to no other memory. */
void hashing_look_up(const uint64_t *keys, size_t length, const struct hashing_line *first,
                     const struct hashing_line *second, const uint64_t *directory, size_t n, const uint64_t *cells,
                     size_t count, uint64_t *values, uint8_t *found);

#endif
