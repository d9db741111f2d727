/* Leaders of sets: one after the other, each set joins the first leader that is similar enough, or becomes a leader.
 *
 * Only leaders are compared with, and only those that share a token among the rarest of both sets, so a crowd of similar
 * sets takes one comparison each, and a token that most sets have costs nothing where they have rarer ones. (Chaudhuri,
 * Ganti, Kaushik, "A primitive operator for similarity joins in data cleaning", 2006: prefixes.) Postings are also found
 * by the place that the token has in the leader: if the first token that two sets have in common is at place i of a set of
 * n and at place j of the other one, their similarity is at most (n - i) / (n + j). So sets that have the same frequent
 * tokens behind different rare ones do not meet. (Xiao, Wang, Lin, Yu, "Efficient similarity joins for near duplicate
 * detection", WWW 2008: positions.)
 *
 * Sets without rare tokens have long lists of postings. When a search has looked at more postings than a scan of all leaders
 * costs, it scans the leaders instead. Each leader has a bitmap: token x flips bit hash(x), so two bitmaps differ in at most as
 * many bits as the sets have tokens that the other one lacks. Leaders whose bitmaps differ in too many bits are not compared.
 * (Sandes, Teodoro, Melo, "Bitmap filter: speeding up exact set similarity joins with bitwise operations", 2017.)
 *
 * Contract: sets are rows of ranks, ascending and distinct, the rarest first, below `universe`; there are below 2^32 - 1
 * rows of below 2^31 ranks. Nothing is allocated; the arrays are the caller's. With `common` = universe the answer does not
 * depend on how it is found; sets that only share ranks from `common` on in their prefixes are not compared. */
#ifndef LSHFAST_LEADERS_H
#define LSHFAST_LEADERS_H

#include "hamming/hamming.h"

#define LEADERS_NONE UINT32_MAX

struct leaders {
    const int64_t *offsets; /* row i: ranks[offsets[i]..offsets[i + 1]] */
    const uint32_t *ranks;
    uint64_t common; /* ranks from here on are not looked up */
    /* Sets of a and b ranks are similar if they share at least p / q * (a + b), 0 < p <= q / 2 < 2^32: a Jaccard
     * similarity of at least p / (q - p). */
    uint64_t p, q;
    /* Lists of postings, by rank and place: open addressing with 2^(64 - shift) entries, more than there are postings.
     * first is LEADERS_NONE in the beginning. */
    uint64_t *keys;
    uint32_t *first, *last;
    unsigned shift;
    uint32_t *rows, *next; /* of each posting: a leader that has the rank in its prefix, and the next posting */
    size_t postings;       /* so many are used; leaders_prefix gives the room for each row */
    uint32_t *met;          /* of each row: the last row that it was compared with, plus 1; zeros in the beginning */
    uint32_t *held;         /* of each rank: the last row that has it, plus 1; zeros in the beginning */
    /* Bitmaps of the leaders that have a prefix, in groups of columns as hamming.h defines them, zeros in the beginning. */
    const struct hamming_kernels *kernels;
    uint64_t *columns;
    size_t words;    /* of a bitmap: 2..HAMMING_MAX_WORDS */
    uint64_t secret; /* odd: bits of ranks are hashes with this number, if there are more ranks than bits */
    int exact;       /* there are not more ranks than bits */
    uint32_t *leader_rows; /* ascending */
    size_t count;          /* leaders that have a bitmap */
    size_t largest;        /* the most ranks of one of them */
    uint64_t *near;        /* HAMMING_PIECE words, written by a scan */
};

/* The number of ranks of a set of n by which it is found: a similar set of another set has one of them. 0 where only an
 * equal set is similar; the caller passes equal sets once, so such a set is a leader of its own. */
size_t leaders_prefix(size_t n, uint64_t p, uint64_t q);

/* Return the first leader that row i is similar to, or i, and add about the steps taken to *work. Rows are passed in
 * ascending order, each once. */
size_t leaders_of_row(struct leaders *leaders, size_t i, size_t *work);

#endif
