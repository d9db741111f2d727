/* Groups of similar rows without a list of all pairs: the last stage of a run.
 *
 * Rows are walked in order of preference. Stars: a row is compared with the kept rows (centres) that it shares a bucket
 * with, the most preferred first, until one is similar; otherwise it is kept. Chains: it is compared with all earlier
 * rows it shares a bucket with, except those that are in its component already. Each comparison is one that the
 * definition of the groups needs, and no pair is held.
 *
 * Contract: rows are numbered 0..n in the order of the walk, n < 2^31. All arrays are owned by the caller, and nothing is
 * allocated. Rows of different components of buckets share no state: threads may walk them at the same time. */
#ifndef LSHFAST_GROUPING_H
#define LSHFAST_GROUPING_H

#include "sets/sets.h"

#define NO_ROW (-1)

/* Tokens of a row in ascending order of how many rows of a sample have them, the first of them only, as one word each:
 * a pair at the threshold has one among those that `prefix_lengths` tells of both (docs/definitions.md). */
struct prefixes {
    const uint8_t *counts;  /* of tokens by their upper COUNT_BITS; NULL where prefixes are not in use */
    int32_t *near, *far;    /* by a hash of a word: the last entry that was added, or NO_ROW; of words among the
                             * `shortest` of their row, and of the others, where a template's tokens are */
    unsigned shift;         /* 32 less the logarithm of their length to base 2, in 1..31 */
    uint32_t multiplier;    /* odd, and random: nobody can choose words that are all in one list */
    uint32_t *words;        /* by entry: the lower half of a word */
    int32_t *rows;          /* by entry: whose it is, or the complement of that if it is in a far list */
    int32_t *next;          /* by entry */
    int32_t *past;          /* by entry, of chains: one behind it in its list, all before that in one component */
    size_t filled, capacity;
};
#define COUNT_BITS 20

struct grouping {
    size_t n;
    const int32_t *buckets; /* (n, bands): number of the row's bucket within its band, NO_ROW where it is alone */
    const int64_t *first;   /* by band: where its buckets begin in heads and tails */
    size_t bands;
    const uint64_t *signatures; /* of all rows there are; row i's is signatures[of[i] * k..] */
    const int64_t *of;
    size_t k, least; /* slots, and how many of them must agree before tokens are compared */
    double threshold;
    int exact;  /* compare tokens; otherwise a pair's similarity is the share of slots that agree */
    int chains; /* chains instead of stars */

    const uint64_t **tokens; /* by row: its different tokens, or NULL where they are not at hand */
    size_t *counts;          /* by row: how many tokens */
    int32_t *heads, *tails;  /* by bucket: the first and the last row that was added, or NO_ROW */
    int32_t *next;           /* (n, bands): the row that was added to the same bucket after it, or NO_ROW */
    int32_t *run;            /* (n, bands), of chains: a row of the bucket up to which all are in the row's component */
    int32_t *parent;         /* by row: a centre's is itself, another row's its centre; or, of chains, of a forest;
                              * NO_ROW of a row that is not placed yet */
    uint32_t *seen, stamp;   /* by row: the last search by prefix that found it; zeros at the start */
    int32_t *left, *right;   /* pairs that were found similar, from the place on where a walk begins */
    double *similarity;
    struct prefixes prefixes;
};

/* So many rows of a chain are compared with one before it is looked up by its prefix: most find their component soon, and
 * need not be looked up in vain among all of it. */
#define BEFORE_PREFIX 16

/* Where a walk stands, and where it began: it compares rows with those from there on. */
struct grouping_place {
    size_t first, row, made; /* where it began; the next row to place; where the next pair is written */
    int begun;               /* whether the next row is under way */
    int32_t from;            /* the first row that it has not been compared with */
    size_t met;              /* rows that it was compared with, all of them in vain */
    int32_t needed;          /* whose tokens are needed */
    size_t compared;         /* rows that were met and compared, by signatures at least */
    size_t crowd;            /* a row that meets more rows than this is to be looked up by its prefix */
};

enum grouping_stop {
    GROUPING_DONE,
    GROUPING_MISSING, /* the tokens of row `needed` are not at hand: provide them and call again */
    GROUPING_CROWDED, /* the row meets more than `crowd` others: make prefixes of its component and call again */
    GROUPING_FULL,    /* there is no room for the row's prefix: provide it and call again */
    GROUPING_PLACED,  /* the next row has been placed before */
    GROUPING_STOPPED = -1 /* `pause` asked for it; the walk may be continued */
};

/* What a walk works with: a table for the longest row's tokens, one number a band, and for prefixes one number a row of
 * the grouping and room for the tokens of the longest row. */
struct grouping_scratch {
    uint64_t *table;
    int32_t *cursors;
    uint64_t *found, *words;
    int (*pause)(uint64_t *last); /* called every few milliseconds; anything but 0 stops what is under way */
    uint64_t *last;
    size_t steps; /* since the last call of pause */
};

/* Place rows from place->row up to end. */
enum grouping_stop grouping_walk(struct grouping *grouping, struct grouping_place *place, size_t end,
                                 struct grouping_scratch *scratch);

/* Write which of the first `most` candidates of each of the rows place->row..end are not at hand, as long as the rows
 * themselves are, and return how many that are, or SIZE_MAX where `pause` stopped it: what a walk is likely to miss.
 * missing has room for most * (end - place->row); rows may be there twice. */
size_t grouping_missing(struct grouping *grouping, const struct grouping_place *place, size_t end, size_t most,
                        struct grouping_scratch *scratch, int32_t *missing);

/* How many of a row's rarest tokens must be looked up (longest), and how many are enough where the other row has no
 * fewer tokens (shortest). The threshold is above 0: a prefix tells nothing of rows that have no token in common. */
void prefix_lengths(size_t tokens, double threshold, size_t *longest, size_t *shortest);

/* Count tokens: counts holds 2^COUNT_BITS. */
void count_tokens(const uint64_t *tokens, size_t n, uint8_t *counts);

/* Add the entries from..to to near and far, which hold NO_ROW before the first is added. */
void prefix_list(struct prefixes *prefixes, size_t from, size_t to);

/* Add the prefix of a row whose tokens are at hand. Returns 0 where there is no room, -1 where `pause` stopped it. */
int prefix_add(struct grouping *grouping, size_t row, struct grouping_scratch *scratch);

/* Join the rows from..to that share a bucket of one band: in a forest of labels, which are 0, 1, 2, ... at first and by
 * sets_label_components (sets.h) become the smallest row that each row is joined to. buckets is the band's column of
 * (n, bands), and last holds a number for each of its buckets, NO_ROW at first. */
void join_bucket_rows(const int32_t *buckets, size_t bands, size_t from, size_t to, int32_t *last, int64_t *labels);

#endif
