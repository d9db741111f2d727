/* Groups of similar rows without a list of all pairs: the last stage of a run.
 *
 * Rows are walked in order of preference. Stars: a row is compared with the kept rows (centres) that it shares a bucket
 * with, the most preferred first, until one is similar; otherwise it is kept. Chains: it is compared with all earlier
 * rows it shares a bucket with, except those that are in its component already. Climbs: as stars, but it is compared with
 * all earlier rows until one is similar, so that a path of first similar rows leads from each row to one that has none.
 * Each comparison is one that the definition of the groups needs, and no pair is held.
 *
 * Contract: rows are numbered 0..n in the order of the walk, n < 2^31. All arrays are owned by the caller, and nothing is
 * allocated. Rows of different components of buckets share no state: threads may walk them at the same time. */
#ifndef LSHFAST_GROUPING_H
#define LSHFAST_GROUPING_H

#include "bits/bits.h"
#include "sets/sets.h"
#include "slots/slots.h"

#define GROUPING_NO_ROW (-1)

/* A row that later rows are compared with, in a crowd. */
struct crowd_member {
    int32_t row;
    size_t tokens;   /* how many the row has */
    size_t frequent; /* of these, those that have a bit of the row's bitmap */
    size_t lost;     /* those that are frequent and have no bit of their own */
    size_t later;    /* the others that the row is not listed under: behind `last` in the order of words */
    uint64_t last;   /* the last that it is listed under, below its count; UINT64_MAX where no word is later */
};

/* A word that a member is listed under. */
struct crowd_entry {
    uint32_t word;
    int32_t member;
    int32_t next; /* the entry before it in its list, or GROUPING_NO_ROW */
};

/* Rows that share buckets with too many others, looked up by upper bounds of their overlap with another row. A token counts
 * by its word, the upper half of its product with the multiplier. Words that are frequent in a sample of the rows have a
 * bit each in a bitmap; a row is listed under the rarest of its other words. The overlap of two rows is at most
 * shared bits + shared listed words + lost tokens of either row + tokens behind the last listed word of the row that is
 * listed no further (docs/understand/how-it-works.md). */
struct crowd {
    const uint8_t *counts; /* of words by their upper CROWD_COUNT_BITS; NULL where there is no crowd */
    const uint16_t *bits;  /* of words by the same: 1 + the bit of a frequent word, or 0 if there was no bit left */
    uint8_t frequent;      /* the count from which on words are frequent, at least 1 */
    uint64_t multiplier;   /* odd, and random: nobody can choose tokens of one word */
    size_t width;          /* words of 64 bits that a bitmap has */
    const struct bits_kernels *kernels;
    const uint32_t *overlaps; /* the least overlap of similar sets, by the sum of their sizes, or by the smaller size where
                               * the measure is containment; `sums` of them */
    size_t sums;

    struct crowd_member *members; /* in the order of their rows; `count` of them, with room for `room` */
    uint64_t *bitmaps;      /* (room, width) */
    int32_t *dense;         /* those members whose shortest prefix has frequent words; `crowded` of them */
    uint32_t *shared;       /* by member: listed words shared with the row that is looked up; zeros between searches */
    size_t count, crowded, room;

    int32_t *lists;  /* by a hash of a word: the last entry that was added, or GROUPING_NO_ROW */
    unsigned shift;  /* 32 less the logarithm of their number to base 2, in 1..31 */
    struct crowd_entry *entries; /* `filled` of them, with room for `capacity` */
    int32_t *past;   /* chains, by entry: skip pointer; all entries before it are in one component */
    size_t filled, capacity;
};
#define CROWD_COUNT_BITS 20

/* Bits that a bitmap has at most; words of 64 bits come eight at a time. */
#define CROWD_MOST_BITS 16384

struct grouping {
    size_t n;
    const int32_t *buckets; /* (n, bands): number of the row's bucket in its band, GROUPING_NO_ROW where it is alone */
    const int64_t *first;   /* by band: where its buckets begin in heads and tails */
    size_t bands;
    const uint64_t *signatures; /* of all rows there are; row i's is signatures[of[i] * k..] */
    const int64_t *of;
    size_t k, least; /* slots, and how many of them must agree before tokens are compared */
    struct sets_rule rule;
    int exact;  /* compare tokens; otherwise a pair's similarity is the share of slots that agree */
    int chains; /* chains instead of stars */
    int climbs; /* not with chains: a row is compared with all earlier rows, and not with centres only */

    const uint64_t **tokens; /* by row: its different tokens, or NULL where they are not held */
    size_t *counts;          /* by row: how many tokens */
    int32_t *heads, *tails;  /* by bucket: the first and the last row that was added, or GROUPING_NO_ROW */
    int32_t *next;           /* (n, bands): the row that was added to the same bucket after it, or GROUPING_NO_ROW */
    int32_t *run;            /* (n, bands), of chains: a row of the bucket up to which all are in the row's component */
    int32_t *parent;         /* by row: a centre's is itself, another row's what it is similar to; or, of chains, of a forest;
                              * GROUPING_NO_ROW of a row that is not placed yet */
    int32_t *left, *right;   /* pairs that were found similar, from the place on where a walk begins */
    double *similarity;
    struct crowd crowd;
};

/* Whether later rows are compared with a row that is placed. */
static inline int grouping_is_met(const struct grouping *grouping, size_t row) {
    return grouping->chains || grouping->climbs || grouping->parent[row] == (int32_t)row;
}

/* Compare a row with this many rows of a chain before the lookup in the crowd: most rows find their component here. */
#define GROUPING_BEFORE_CROWD 3

/* Where a walk stands, and where it began: it compares rows with those from there on. */
struct grouping_place {
    size_t first, row, made; /* where it began; the next row to place; where the next pair is written */
    int begun;               /* whether the next row is under way */
    int32_t from;            /* the first row that it has not been compared with */
    size_t met;              /* rows that it was compared with, all of them in vain */
    int32_t needed;          /* whose tokens are needed */
    size_t compared;         /* rows that were met and compared, by signatures at least */
    size_t crowd;            /* a row that meets more rows than this makes its component a crowd */
};

enum grouping_stop {
    GROUPING_DONE,
    GROUPING_MISSING, /* the tokens of row `needed` are not held: provide them and call again */
    GROUPING_CROWDED, /* the row meets more than `crowd` others: make a crowd of its component and call again */
    GROUPING_FULL,    /* there is no room for the row in the crowd: provide it and call again */
    GROUPING_PLACED,  /* the next row has been placed before */
    GROUPING_STOPPED = -1 /* `pause` asked for it; the walk may be continued */
};

/* What a walk works with: a table for the longest row's tokens, one number a band, and for a crowd one number a row of the
 * grouping, room for the tokens of the longest row, and a bitmap. */
struct grouping_scratch {
    const struct slots_kernels *slots;
    uint64_t *table;
    int32_t *cursors;
    uint64_t *found, *words, *bitmap;
    int (*pause)(uint64_t *last); /* called every few milliseconds; anything but 0 stops what is under way */
    uint64_t *last;
    size_t steps; /* since the last call of pause */
};

/* Place rows from place->row up to end. */
enum grouping_stop grouping_walk(struct grouping *grouping, struct grouping_place *place, size_t end,
                                 struct grouping_scratch *scratch);

/* Write which of the first `most` candidates of each of the rows place->row..end are not held, as long as the rows
 * themselves are, and return how many that are, or SIZE_MAX where `pause` stopped it: what a walk is likely to miss.
 * missing has room for most * (end - place->row); rows may be there twice. */
size_t grouping_missing(struct grouping *grouping, const struct grouping_place *place, size_t end, size_t most,
                        struct grouping_scratch *scratch, int32_t *missing);

/* Write those of n pairs that a walk would compare: rows that share a bucket and agree in enough slots. A pair is
 * right << 32 | left, with left < right. Returns their number; `meeting` may be `pairs`. */
size_t grouping_meeting(const struct grouping *grouping, const struct slots_kernels *slots, const uint64_t *pairs,
                        size_t n, uint64_t *meeting);

/* Let each of the rows first..end be a group, whatever a walk made of them. */
void grouping_begin_again(struct grouping *grouping, size_t first, size_t end);

/* Place rows by all similar pairs that a walk would compare, ascending, each once: the next n of them. Writes left and
 * right of the pairs that the walk would find from the place `made` on, and returns where they end. */
size_t grouping_place_pairs(struct grouping *grouping, const uint64_t *pairs, size_t n, size_t made);

/* How many of a row's rarest tokens must be looked up (longest), and how many are enough where the other row has no
 * fewer tokens (shortest). The threshold is above 0: a prefix tells nothing of rows that have no token in common. */
void crowd_prefix_lengths(size_t tokens, struct sets_rule rule, size_t *longest, size_t *shortest);

/* Count words of tokens: counts holds 2^CROWD_COUNT_BITS. */
void crowd_count_tokens(const uint64_t *tokens, size_t n, uint64_t multiplier, uint8_t *counts);

/* Number those of 2^CROWD_COUNT_BITS counts that are at least `frequent`, from 1 up, and write 0 for the others and for
 * those beyond `most`. Returns how many have a number. */
size_t crowd_number_frequent(const uint8_t *counts, uint8_t frequent, size_t most, uint16_t *bits);

/* Write the least overlap of similar sets whose sizes sum to 0, 1, 2, ... sums - 1, or of which the smaller has so many
 * tokens where the measure is containment. */
void crowd_least_overlaps(struct sets_rule rule, size_t sums, uint32_t *overlaps);

/* Add the entries from..to to lists, which hold GROUPING_NO_ROW before the first is added. */
void crowd_list(struct crowd *crowd, size_t from, size_t to);

/* Add a row whose tokens are held. Returns 0 where there is no room, -1 where `pause` stopped it. */
int crowd_add(struct grouping *grouping, size_t row, struct grouping_scratch *scratch);

/* Join the rows from..to that share a bucket of one band: in a forest of labels, which are 0, 1, 2, ... at first and by
 * sets_label_components (sets.h) become the smallest row that each row is joined to. buckets is the band's column of
 * (n, bands), and last holds a number for each of its buckets, GROUPING_NO_ROW at first. */
void grouping_join_buckets(const int32_t *buckets, size_t bands, size_t from, size_t to, int32_t *last,
                           int64_t *labels);

#endif
