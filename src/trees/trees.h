/* Sorted trees over signatures: searches that begin with the closest rows and go on until enough is known.
 *
 * Tree t of L is over slots t * (k / L) and following, `levels` of them. Its code of a row has some bits of each slot,
 * the first slot's highest,
 *
 *     63                              0
 *     | slot 0 | slot 1 | slot 2 | ... |
 *
 * so that rows which share their first d slots share the first bits of the code, and lie side by side once the codes
 * are sorted. A search follows a list of STEPS, the same for all queries: each meets the rows that share so many levels
 * with the query in one tree. The steps that few but close rows pass come first, and the search ends as soon as what it
 * has found is enough. A row met by a code that is equal by chance costs a comparison and no more: what counts is the
 * number of equal slots of the two signatures.
 *
 * Behind these L trees, which are deep, there may be single trees: one for each slot that is not the first of a deep
 * tree, in the order of the slots, to be searched to depth 1. A search of all trees at depth 1 meets every row that
 * shares a slot with the query, which matters where a row that counts has few equal slots.
 *
 * Contract: nothing is allocated or kept, inputs are not written, outputs overlap no input. Rows are numbered below
 * TREES_MOST_ROWS, and every row that a run or a list names is within the arrays of rows. An empty row (its first slot
 * EMPTY_SLOT) is in no run and not loose; an empty query finds nothing. */
#ifndef LSHFAST_TREES_H
#define LSHFAST_TREES_H

#include "field.h"

#define TREES_MOST_LEVELS 8
#define TREES_MOST_ROWS (UINT32_MAX - 2)

struct tree_shape {
    size_t k;      /* slots of a signature, 1..65536 */
    size_t deep;   /* L, 1..k */
    size_t levels; /* trees_levels_of(k, L) */
    size_t trees;  /* all trees: L, or k with the single ones */
};

/* Slots that a tree looks at: all of its k / L, but at most TREES_MOST_LEVELS. */
static inline size_t trees_levels_of(size_t k, size_t trees) {
    size_t levels = k / trees;
    return levels < TREES_MOST_LEVELS ? levels : TREES_MOST_LEVELS;
}

/* Bits of a code that the first `depth` of the levels take. The first level has many, since it alone keeps strangers
 * away: of n rows that share no slot with the query, n / 2^22 are met in a tree. The others need only tell apart the few
 * that share the first. */
static inline unsigned trees_code_bits(size_t levels, size_t depth) {
    unsigned first = 64 / (unsigned)levels > 22 ? 64 / (unsigned)levels : 22;
    return depth ? first + (levels > 1 ? (64 - first) / (unsigned)(levels - 1) * (unsigned)(depth - 1) : 0) : 0;
}

/* The codes of one signature: tree t's goes to out[t * stride]. */
void trees_codes(const struct tree_shape *shape, const uint64_t *signature, uint64_t *out, size_t stride);

/* The marks of a signature, eight bits a slot: the lower four of all slots first, sixteen to a word, then the upper
 * four. Equal slots have equal marks, others by a chance of 1 in 256. So the lower halves, one cache line of 128 slots instead of
 * sixteen, rule out a row that cannot count. Slots that fill up the last word have mark 0. */
static inline size_t trees_mark_words(size_t k) { return (k + 15) / 16 * 2; }
void trees_marks(const uint64_t *signature, size_t k, uint64_t *out);

/* At least the number of equal slots: the number of equal marks, or of equal lower halves. */
size_t trees_equal_marks(const uint64_t *a, const uint64_t *b, size_t k);
size_t trees_equal_low_marks(const uint64_t *a, const uint64_t *b, size_t k);

/* ---- runs: rows in the order of each tree ---- */

/* Fences are what a lookup reads before the codes: for each tree every eighth code, every eighth of these, and so on
 * until at most eight are left; the shortest list first, each filled up to a multiple of eight with UINT64_MAX. So a
 * lookup reads eight words of each list, whatever the codes are, and the first lists are in the cache. */
#define TREES_BLOCK_CODES 8
#define TREES_MOST_LISTS 11

struct run {
    const uint64_t *codes;  /* (trees, n), ascending in a tree */
    const uint32_t *rows;   /* (trees, n) */
    const uint64_t *fences; /* (trees, fence_words) */
    size_t n;
    size_t group;                                   /* trees_within searches each group to a depth of its own */
    size_t lists, list_at[TREES_MOST_LISTS], fence_words; /* how the fences of n codes are laid out */
};

/* Fill in how the fences of run->n codes are laid out. */
void trees_lay_out_fences(struct run *run);

/* Write the fences of one tree. */
void trees_set_fences(const struct run *run, const uint64_t *codes, uint64_t *fences);

/* Sort one tree's codes with their rows; equal codes keep their order. Both scratches hold n. */
void trees_sort_codes(uint64_t *codes, uint32_t *rows, size_t n, uint64_t *scratch_codes, uint32_t *scratch_rows);

/* Merge one tree's codes of two runs, less the rows that are not live. Returns how many were written. */
size_t trees_merge_codes(const uint64_t *codes_a, const uint32_t *rows_a, size_t a, const uint64_t *codes_b,
                         const uint32_t *rows_b, size_t b, const uint8_t *live, uint64_t *codes, uint32_t *rows);

/* How many codes share their upper bits (1..64 of them) with a code of one tree, itself included, in the mean over its
 * n > 0 codes. */
double trees_mean_group(const uint64_t *codes, size_t n, unsigned bits);

/* ---- searches ---- */

struct forest {
    struct tree_shape shape;
    const uint64_t *signatures; /* (rows, k) */
    const uint64_t *marks;      /* (rows, trees_mark_words(k)) */
    const uint8_t *live;        /* (rows,): 1, or 0 for rows that no search may give */
    const int64_t *sizes;       /* (rows,): of the sets, positive; NULL if only trees_top is called */
    size_t row_count;
    const struct run *runs;
    size_t run_count;
    const uint32_t *loose; /* rows that are in no run: each is compared with every query */
    size_t loose_count;
};

/* Meet the rows that share `depth` levels (1..levels) with the query in one tree. `enough` is for trees_top. */
struct step {
    uint32_t tree, depth, enough;
};

/* Words that one search at a time works in: room need not be prepared; seen must be zeros, and is left so. */
size_t trees_room_words(const struct forest *forest);
size_t trees_seen_words(const struct forest *forest);

/* A row and its number of equal slots in one word: greater words are better, and of rows as good the smaller is. */
static inline uint64_t trees_match_of(size_t agreement, uint32_t row) {
    return (uint64_t)agreement << 32 | (uint32_t)~row;
}
static inline uint32_t trees_match_row(uint64_t match) { return ~(uint32_t)match; }
static inline size_t trees_match_agreement(uint64_t match) { return (size_t)(match >> 32); }

/* The `most` best rows (at least 1) among those met, written best first; returns their number. Rows without an equal
 * slot are left out. The search ends after a step for which the last of `most` rows found so far has `enough` equal
 * slots or more; before the first step it takes k of them. */
size_t trees_top(const struct forest *forest, const uint64_t *query, const struct step *steps, size_t step_count,
                 size_t most, uint64_t *best, uint64_t *room, uint64_t *seen);

/* The part of a query set of q > 0 elements that is in a set of x > 0, as their equal slots have it: J (q + x) / (1 + J)
 * elements in common at J = agreement / k, and no more than both have. */
static inline double trees_containment(size_t agreement, size_t k, int64_t q, int64_t x) {
    double part = (double)agreement * ((double)q + (double)x) / ((double)(k + agreement) * (double)q);
    double most = x < q ? (double)x / (double)q : 1;
    return part < most ? part : most;
}

/* 1 if an estimate of the containment from so many equal slots reaches the threshold, or falls short of it by no more
 * than `slack` standard errors of the number of equal slots of a set that just reaches the threshold. A set that is too
 * small to reach it never does. */
static inline int trees_reaches(size_t agreement, size_t k, int64_t q, int64_t x, double threshold, double slack) {
    if (trees_containment(agreement, k, q, x) >= threshold) return 1;
    double wanted = threshold * (double)q;
    if (slack <= 0 || (double)x < wanted * (1 - 1e-12)) return 0;
    double similarity = wanted / ((double)q + (double)x - wanted);
    double shortfall = (double)k * similarity - (double)agreement;
    return shortfall * shortfall <= slack * slack * (double)k * similarity * (1 - similarity);
}

/* The rows that reach the threshold and have an equal slot, among those that the first counts[g] steps meet in the runs
 * of group g. Writes up to `capacity`, in no order, and returns how many there are. */
size_t trees_within(const struct forest *forest, const uint64_t *query, int64_t q, const struct step *steps,
                    const uint32_t *counts, double threshold, double slack, uint32_t *rows, double *containments,
                    size_t capacity, uint64_t *room, uint64_t *seen);

#endif
