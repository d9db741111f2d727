/* Exact search of packed codes by Hamming distance or Tanimoto similarity: a scan, and multi-index hashing.
 *
 * A scan compares many queries with a piece of the codes that fits in the first cache. Codes of several words are first
 * transposed in groups of HAMMING_GROUP rows: the first words of all rows, the second words, and so on. So a lane of a
 * vector is a row, no sums within a vector are needed, and all CPU levels read the same columns.
 *
 * The idea of multi-index hashing (M. Norouzi, A. Punjani, D. J. Fleet, "Fast search in Hamming space with multi-index
 * hashing", CVPR 2012): m blocks are disjoint sets of bit positions. If block i differs in more than a_i bits, for all
 * i, then the codes differ in at least the sum of (a_i + 1) bits. So the codes within radius r are found if all codes
 * are compared that differ in at most a_i bits of some block i, where the sum of (a_i + 1) is r + 1. `levels` holds
 * a_i + 1 of each block; 0 leaves a block out.
 *
 * A block stores its codes in the order of their values in it, so that a bucket is read sequentially:
 *
 *     heads   2^bits + 2 positions; bucket v is at positions heads[v] .. heads[v + 1] - 1
 *     folds   n words: the exclusive or of the words of each code
 *     rows    n numbers: which code it is; ascending in a bucket
 *
 * Folds of two codes differ in at most as many bits as the codes, so few codes of several words are read themselves. The
 * fold of one word is the code.
 *
 * A hit is one word: the number of the query, the distance, and the row, so that sorted hits are sorted answers.
 *
 * Contract: codes are row-major, 1..HAMMING_MAX_WORDS words each, n below 2^32. Nothing is allocated or kept. Outputs
 * overlap nothing. `live` has a byte per row, 0 for a row that is not found; NULL if there is none. */
#ifndef LSHFAST_HAMMING_H
#define LSHFAST_HAMMING_H

#include "cpu/cpu.h"
#include "field.h"

#define HAMMING_MAX_WORDS 64
#define HAMMING_MAX_BLOCKS 16
#define HAMMING_MAX_BLOCK_BITS 26

/* The most codes that are compared with one query after the other. */
#define HAMMING_PIECE 1024

/* Rows of a group of columns, the words of all columns of a piece, and words that a scan writes to besides its hits. */
#define HAMMING_GROUP 32
#define HAMMING_COLUMNS 2048
#define HAMMING_SCRATCH (HAMMING_COLUMNS + HAMMING_PIECE)

/* Bits of the row and of the distance in a hit. */
#define HAMMING_ROW_BITS 32
#define HAMMING_DISTANCE_BITS 13
#define HAMMING_MAX_QUERIES (UINT64_C(1) << (64 - HAMMING_ROW_BITS - HAMMING_DISTANCE_BITS))

#define HAMMING_NO_ROW UINT32_MAX

/* What a CPU level does in its own way; n is at most HAMMING_PIECE in the first two. */
struct hamming_kernels {
    /* Write the positions, ascending, of the words that differ from `query` in at most `radius` bits. */
    size_t (*near_words)(const uint64_t *codes, size_t n, uint64_t query, unsigned radius, uint32_t *places);
    /* Write the columns of a group: word w of code order[t], of code t if there is no order, becomes
     * columns[w * HAMMING_GROUP + t]. */
    void (*transpose)(const uint64_t *codes, const uint32_t *order, size_t words, uint64_t *columns);
    /* The same as near_words for the columns of n codes of several words: write (distance << 32 | position). The columns are those of
     * whole groups; rows from n on are never found. */
    size_t (*near_columns)(const uint64_t *columns, size_t n, size_t words, const uint64_t *query, unsigned radius,
                           uint64_t *found);
    /* Write the number of bits in which each code at a position, the lower half of found[p], differs from `query`. */
    void (*differences)(const uint64_t *codes, const uint64_t *found, size_t n, size_t words, const uint64_t *query,
                        uint32_t *distances);
    /* Write the number of ones of each code. */
    void (*ones)(const uint64_t *codes, size_t n, size_t words, uint16_t *counts);
    /* Write the bits of each code at the positions of a mask, the lowest first. */
    void (*select)(const uint64_t *codes, size_t n, size_t words, const uint64_t *mask, uint32_t *values);
};
extern const struct hamming_kernels hamming_scalar, hamming_avx2, hamming_avx512, hamming_neon;
extern const struct hamming_kernels *const hamming_levels[CPU_LEVELS];

/* ---- words and hits ---- */

static inline unsigned hamming_distance(const uint64_t *a, const uint64_t *b, size_t words) {
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i++) sum += ones_of(a[i] ^ b[i]);
    return (unsigned)sum;
}

static inline uint64_t hamming_fold(const uint64_t *code, size_t words) {
    uint64_t fold = 0;
    for (size_t i = 0; i < words; i++) fold ^= code[i];
    return fold;
}

static inline uint64_t hamming_hit(uint64_t query, unsigned distance, uint64_t row) {
    return query << (HAMMING_ROW_BITS + HAMMING_DISTANCE_BITS) | (uint64_t)distance << HAMMING_ROW_BITS | row;
}

/* Hits that a caller has room for; `count` of `room` words are written. */
struct hamming_hits {
    uint64_t *at;
    size_t count, room;
};

/* The k least hits of one query are among the first `count` words, in any order; their query number is 0. When there are
 * many, those that are not among the k least are removed, so a hit takes constant time, whatever k is. A hit from `bound`
 * on is not among the k least. At first `count` is 0 and `bound` UINT64_MAX. */
struct hamming_best {
    uint64_t *at; /* HAMMING_BEST_ROOM(k) words */
    size_t count, k;
    uint64_t bound;
};
#define HAMMING_BEST_ROOM(k) (2 * (k) + 64)

/* Leave the k least hits only, if there are more. */
void hamming_settle_best(struct hamming_best *best);

/* ---- scan ---- */

/* What a scan reads: n codes in the order of their places. */
struct hamming_scan {
    const struct hamming_kernels *kernels;
    const uint64_t *codes;
    size_t n, words;
    const uint32_t *order; /* n: which code is at each place; NULL if code i is at place i */
    const uint8_t *live;   /* by code, not by place */
    uint64_t first_row;    /* the row of code 0 */
    uint64_t *scratch;     /* HAMMING_SCRATCH words */
};

/* Append the hits of m queries, numbered from `first_query`. Return 0 if there is no room; then call it again with more
 * room, at least HAMMING_PIECE words. *done is 0 at first. */
int hamming_scan_within(const struct hamming_scan *scan, const uint64_t *queries, size_t m, unsigned radius,
                        uint64_t first_query, size_t *done, struct hamming_hits *hits);

/* Offer the codes to the k best of each of m queries. There is no order, and all rows offered before were less. */
void hamming_scan_nearest(const struct hamming_scan *scan, const uint64_t *queries, size_t m,
                          struct hamming_best *best);

/* ---- Tanimoto similarity ---- */

/* The similarity of codes with a and b ones, c of them in common, is c / (a + b - c); it is 0 if c is, also for two codes
 * without ones. At the distance d = a + b - 2 c it is (a + b - d) / (a + b + d). So codes with counts of at most a, whose
 * similarity to b is t or more, are within (a + b) (1 - t) / (1 + t), and a search by similarity is a search by distance
 * in which each piece of the codes has a radius of its own. If the codes are in the order of their counts, the pieces with
 * counts below t b or above b / t are not read (S. J. Swamidass, P. Baldi, "Bounds and Algorithms for Fast Exact Searches
 * of Chemical Fingerprints in Linear and Sublinear Time", J. Chem. Inf. Model. 47, 2007).
 *
 * A rank is 2^31 - floor(2^31 similarity): fractions with denominators of at most 2^12 have different ranks. */

/* Codes by place, and their numbers of ones. */
struct hamming_counted {
    struct hamming_scan scan;
    const uint16_t *counts; /* n, by place, in any order */
};

/* Append the hits of m queries with a similarity of at least `least`, which is above 0, as hamming_scan_within does. */
int hamming_similar_within(const struct hamming_counted *codes, const uint64_t *queries, const uint16_t *query_counts,
                           size_t m, double least, uint64_t first_query, size_t *done, struct hamming_hits *hits);

/* Offer (rank << 32 | row) of the codes with a similarity above 0 to the k best of each query, beginning at a place and
 * going outward from it. Return 0 after much work, then call it again; *done is 0 at first. */
int hamming_similar_nearest(const struct hamming_counted *codes, const uint64_t *queries, const uint16_t *query_counts,
                            size_t m, size_t place, size_t *done, struct hamming_best *best);

/* The similarity of each pair, query << 32 | code. */
void hamming_similarities(const uint64_t *codes, const uint64_t *queries, size_t words, const uint64_t *pairs, size_t n,
                          double *similarities);

/* ---- multi-index hashing ---- */

struct hamming_block {
    const uint64_t *mask; /* `words` words, with `bits` ones */
    unsigned bits;        /* 0..HAMMING_MAX_BLOCK_BITS */
    uint32_t *heads;      /* 2^bits + 2 */
    uint64_t *folds;      /* n */
    uint32_t *rows;       /* n */
};

struct hamming_blocks {
    const uint64_t *codes;
    size_t n, words, m;
    struct hamming_block block[HAMMING_MAX_BLOCKS];
};

/* Building a block: heads are zeros at first; count all codes, sum, place all codes in order, [low, high) at a time. */
void hamming_count(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, size_t i, size_t low,
                   size_t high);
void hamming_sum_heads(const struct hamming_block *block);
void hamming_place(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, size_t i, size_t low,
                   size_t high);

/* Append the hits of queries [*done, m), or return 0 where there is no room. A query for which the buckets contain more
 * codes than a scan reads is scanned; *scanned counts these. */
int hamming_within(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, const uint64_t *queries,
                   size_t m, unsigned radius, const uint8_t *levels, const uint8_t *live, uint64_t first_row,
                   uint64_t first_query, uint64_t *scratch, size_t *done, struct hamming_hits *hits, size_t *scanned);

/* Offer the codes to the k best of each query: radii 0, 1, .. are searched until k rows are found within one. */
void hamming_nearest(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks,
                     const uint64_t *queries, size_t m, const uint8_t *live, uint64_t first_row, uint64_t *scratch,
                     struct hamming_best *best, size_t *scanned);

/* ---- pairs ---- */

/* A pair is (lower row << 32 | greater row). */

/* Append the pairs within the radius that differ in less than levels[i] bits of block i, but in no earlier block's, and
 * whose lower value is *value or greater and less than `end`. Two buckets with more than `crowd` codes together are left
 * out. Return 1 at the end, 0 if there is no room, -1 after much work; *value is where to go on then. */
int hamming_pairs(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, size_t i, size_t *value,
                  size_t end, unsigned radius, const uint8_t *levels, size_t crowd, struct hamming_hits *pairs);

/* The same between the entries [a, a_end) and [b, b_end) of block i; of each two entries, only if the second position is
 * greater. Return 0 if there is no room; then `pairs` is as before. */
int hamming_cross(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, size_t i, size_t a,
                  size_t a_end, size_t b, size_t b_end, unsigned radius, const uint8_t *levels,
                  struct hamming_hits *pairs);

/* The distance of each pair. */
void hamming_distances(const uint64_t *codes, size_t words, const uint64_t *pairs, size_t n, uint16_t *distances);

/* ---- keepers ---- */

/* The greedy choice of keepers: a row is kept unless an earlier kept row is within the radius. The entries of each bucket
 * are divided in place: those of kept rows first, then those that may be overwritten, then those not reached yet. */
struct hamming_keepers {
    struct hamming_blocks blocks;
    uint32_t *kept[HAMMING_MAX_BLOCKS];  /* 2^bits: kept entries at the start of each bucket */
    uint32_t *next[HAMMING_MAX_BLOCKS];  /* 2^bits: the first position not reached yet; heads at first */
    uint32_t *fresh[HAMMING_MAX_BLOCKS]; /* 2^bits: `kept` before the rows that `settle` decides */
};

/* Lower keeper_of[row - low] to the first row kept before `low` that is within the radius and in less than levels[i] bits
 * of block i, for the rows [low, high) with values [value, end) in this block. Moves `next` of these buckets to `high`.
 * Call it for all values of all blocks, then settle [low, high). Returns 0, and stops, at a bucket with a row before `low`
 * for which that was not done; otherwise 1. */
int hamming_match_kept(const struct hamming_kernels *kernels, struct hamming_keepers *keepers, size_t i, size_t value,
                        size_t end, unsigned radius, const uint8_t *levels, size_t low, size_t high,
                        uint32_t *keeper_of);

/* Decide the rows [low, high): keeper_of[0] is the keeper of row `low`, HAMMING_NO_ROW if no row before the batch is one.
 * A kept row becomes its own keeper. `fresh` equals `kept` before the first call for a batch. */
void hamming_settle(const struct hamming_kernels *kernels, struct hamming_keepers *keepers, unsigned radius,
                    const uint8_t *levels, size_t low, size_t high, uint32_t *keeper_of);

/* ---- equal codes and integer keys ---- */

/* first[i] = the least row whose code equals that of row i, for i in [low, high). table has mask + 1 numbers, a power of
 * two above the number of rows, all HAMMING_NO_ROW at first. The secret key decides the places only. */
void hamming_copies(const uint64_t *codes, size_t words, uint64_t secret, uint32_t *table, size_t mask, size_t low,
                    size_t high, uint32_t *first);

/* A table of rows by key: open addressing, at least one place free. keys[row] is the key of a row in the table. */
struct hamming_keys {
    const int64_t *keys;
    uint32_t *table;
    size_t mask;
    uint64_t secret;
};
void hamming_find_keys(const struct hamming_keys *table, const int64_t *keys, size_t n, int64_t *rows);
/* Add the keys of rows, which are not in the table; return how many were added before one whose key is there already, or n. */
size_t hamming_add_keys(const struct hamming_keys *table, const uint32_t *rows, size_t n);
/* Take rows out; return how many were in the table. */
size_t hamming_drop_keys(const struct hamming_keys *table, const uint32_t *rows, size_t n);

#endif
