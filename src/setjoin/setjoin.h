/* Exact joins of sets: all pairs whose overlap reaches what a threshold needs. Tokens are numbered, the rarest first; a
 * pair at the threshold then shares a token among the first few of both sets (AllPairs: Bayardo, Ma, Srikant 2007; PPJoin:
 * Xiao et al. 2008), and only the sets that do are compared.
 *
 * Contract: memory belongs to the caller and is as large as is said here; nothing is allocated, nothing fails. Sets have
 * at most SETJOIN_MOST_TOKENS tokens, collections fewer than 2^32 sets and 2^32 different tokens. */
#ifndef LSHFAST_SETJOIN_H
#define LSHFAST_SETJOIN_H

#include "cpu/cpu.h"

#include <stddef.h>

#define SETJOIN_MOST_TOKENS ((uint64_t)1 << 29)

/* ---- The rule: how many tokens must a set of a tokens, which is in the index, share with a probing set of b tokens? */

enum setjoin_kind {
    SETJOIN_SUM,     /* p / q of a + b: Jaccard, Dice */
    SETJOIN_SMALLER, /* p / q of the smaller size: containment in either direction */
    SETJOIN_INDEXED, /* p / q of a */
    SETJOIN_PROBING, /* p / q of b */
    SETJOIN_COUNT,   /* p */
    SETJOIN_COSINE,  /* overlap / sqrt(a b), as doubles, is at least the threshold */
    SETJOIN_KINDS
};

/* p and q are below 2^32, q is not 0. */
struct setjoin_rule {
    enum setjoin_kind kind;
    uint64_t p, q;
    double threshold;
};

/* The least overlap, at least 1, of sets of a > 0 and b > 0 tokens; more than either size if none is enough. It never
 * falls while a or b grows. */
uint64_t setjoin_need(const struct setjoin_rule *rule, uint64_t a, uint64_t b);

/* ---- Numbers of tokens: a table from tokens to counts, and then to ranks. */

#define SETJOIN_BLOCK 64 /* tokens that are looked up together */

/* Two words a slot: a token, and its count or what became of it; 0 is a free slot. */
struct setjoin_table {
    uint64_t *slots;
    unsigned bits; /* 2^bits slots, bits in 10..63 */
    size_t used;
    uint64_t key; /* odd and secret, so that nobody can choose tokens by their places */
};

/* Count tokens[from..to). Returns where it ended: before `to` where the table became three quarters full. */
size_t setjoin_count(struct setjoin_table *table, const uint64_t *tokens, size_t from, size_t to);

/* Move slots [from, to) into a table of more slots. */
void setjoin_move(const struct setjoin_table *table, size_t from, size_t to, struct setjoin_table *into);

/* Write tokens and counts of slots in [from, to), and return their number. */
size_t setjoin_list(const struct setjoin_table *table, size_t from, size_t to, uint64_t *tokens, uint64_t *counts);

/* Give n tokens of the table the ranks from `first` on. */
void setjoin_rank(struct setjoin_table *table, const uint64_t *tokens, size_t n, uint32_t first);

/* Write the ranks of those of tokens[from..to) that are in the table, in the order of the tokens, and return their number. */
size_t setjoin_number(const struct setjoin_table *table, const uint64_t *tokens, size_t from, size_t to, uint32_t *ranks);

/* Leave out repeated ones of n ascending numbers; return how many are left. */
size_t setjoin_unique(uint32_t *numbers, size_t n);

/* Sort n numbers; spare holds n. */
void setjoin_sort(uint32_t *numbers, size_t n, uint32_t *spare);

/* ---- The index of prefixes, and the search in it. */

/* A set: `count` ascending ranks from `start` on, after size - count tokens that are rarer than all of them and in no
 * other set. Each rank flips one of the bits. */
struct setjoin_set {
    uint64_t bits[2];
    uint64_t start;
    uint32_t count, size;
};

/* The bits of ranks. */
void setjoin_bits(const uint32_t *ranks, size_t n, uint64_t bits[2]);

/* A set that has a token in its prefix, and the number of its tokens after that one. */
struct setjoin_posting {
    uint32_t row, rest;
};

/* Sets by ascending size; those of one size are a class. */
struct setjoin_index {
    const struct setjoin_set *sets;
    const uint32_t *ranks;
    const uint32_t *class_of;     /* of each set */
    const uint32_t *class_sizes;  /* ascending */
    const uint32_t *class_starts; /* the first set of each class, and the number of sets */
    size_t classes;
    const uint64_t *starts; /* of each rank's postings, and the end of the last */
    const struct setjoin_posting *postings; /* of one rank by ascending row; by_suffix: by class, then as is said below */
    int by_suffix;
};

/* How many of a set's ranks are in the first `prefix` of its tokens. */
static inline size_t setjoin_in_prefix(const struct setjoin_set *set, size_t prefix) {
    size_t rare = set->size - set->count;
    return prefix <= rare ? 0 : prefix - rare;
}

/* The length of the prefix of an indexed set of a > 0 tokens that shares a token with the prefix of each probing set that
 * it reaches the threshold with; 0 where there can be none. `self`: it is searched for by sets of at least its size. */
size_t setjoin_indexed_prefix(const struct setjoin_rule *rule, uint64_t a, int self);

/* The same of a probing set of b > 0 tokens, where the smallest indexed set that can do has `least`. */
size_t setjoin_probing_prefix(const struct setjoin_rule *rule, uint64_t b, uint64_t least);

/* The longest prefix of a set of `size` > 0 tokens that any partner may need; `probing`: of a probing set. */
size_t setjoin_longest_prefix(const struct setjoin_rule *rule, uint64_t size, int probing);

/* Count postings: counts[rank + 1] for the sets [from, to), whose prefixes have prefixes[class] tokens. */
void setjoin_count_postings(const struct setjoin_index *index, const uint32_t *prefixes, size_t from, size_t to,
                            uint64_t *counts);

/* Write postings at ends[rank], which rises. */
void setjoin_post(const struct setjoin_index *index, const uint32_t *prefixes, size_t from, size_t to, uint64_t *ends,
                  struct setjoin_posting *postings);

/* Order the postings of the ranks [from, to) by class, and within a class by the number of tokens after the one that they
 * are of, the greatest first: where one has too few for an overlap, so have all behind it in its class. */
void setjoin_order_by_suffix(const struct setjoin_index *index, size_t from, size_t to, struct setjoin_posting *postings);

/* What was found: a row of the index, a probing row, and their overlap. */
struct setjoin_found {
    uint32_t row, probe, overlap;
};

#define SETJOIN_BATCH 64

/* A candidate: the tokens after the first that both share, and how many must be shared with it. */
struct setjoin_candidate {
    uint32_t row, need, rest, probe_rest;
};

/* The sets whose sizes can reach the threshold with a probing set. */
struct setjoin_window {
    uint32_t *needs;    /* for each class, the overlap that is needed with it */
    uint32_t size;      /* of the probing set; 0 at first */
    size_t first, last; /* the classes */
    uint32_t low, high; /* the sets */
};

/* Where a search stands. At first all is zero but for `probe`, `end`, `self`, `stamps` and `window.needs`. */
struct setjoin_walk {
    size_t probe, end;  /* the next probing set, and after the last */
    int self;           /* the probing sets are those of the index: search those before */
    uint32_t *stamps;   /* one for each set of the index, zeros at first: the last probing set, plus 1, that met it */
    struct setjoin_window window;
    int begun;          /* with this probing set */
    size_t rank, ranks; /* the next rank of the prefix, and how many there are */
    size_t posting, postings_end;
    struct setjoin_candidate batch[SETJOIN_BATCH];
    size_t held, compared; /* in the batch */
    int comparing, merging;
    uint32_t at, probe_at, overlap;
    int64_t misses, probe_misses; /* that are allowed still */
    uint64_t met, candidates; /* postings that were looked at, and pairs that were compared */
};

struct setjoin_kernels {
    /* Keep those of n > 0 candidates whose bits leave enough in common with the probing set's; return their number. */
    size_t (*screen)(const struct setjoin_set *sets, const struct setjoin_set *probe, struct setjoin_candidate *batch,
                     size_t n);
    /* Write the rows in [from, to) whose words differ from `row` in at most `most` bits, and return their number. Word w
     * of row i is words[w * stride + i]. */
    size_t (*within)(const uint64_t *words, size_t stride, size_t width, const uint64_t *row, size_t from, size_t to,
                   uint32_t most, uint32_t *out);
};
extern const struct setjoin_kernels setjoin_scalar, setjoin_avx2, setjoin_avx512, setjoin_neon;
extern const struct setjoin_kernels *const setjoin_levels[CPU_LEVELS];

/* Search for the pairs of the probing sets. Writes at most `room` > 0 to out, and their number to *found; does about `work`
 * steps. Returns 1 where all is done, 0 where it has to be called again. */
int setjoin_search(const struct setjoin_kernels *kernels, const struct setjoin_rule *rule,
                   const struct setjoin_index *index, const struct setjoin_set *probes, const uint32_t *probe_ranks,
                   struct setjoin_walk *walk, size_t work, struct setjoin_found *out, size_t room, size_t *found);

/* ---- Small universes: every set is compared with all whose sizes can do, a bit for each rank. */

#define SETJOIN_WIDTH 8   /* words of a set at most */
#define SETJOIN_ROWS 1024 /* sets that are compared at a time */

/* Sets as bits. Those of the index lie word by word: word w of a set is words[w * stride + set]. */
struct setjoin_bitmaps {
    const uint64_t *words;
    size_t stride, width;
    const uint64_t *probes;      /* word w of a probing set is probes[set * width + w] */
    const uint32_t *probe_sizes; /* ascending is fastest */
};

/* Where a search stands. At first all is zero but for `probe`, `end`, `self` and `window.needs`. */
struct setjoin_bits_walk {
    size_t probe, end;
    int self, begun;
    struct setjoin_window window;
    size_t class;
    uint32_t row; /* the next one to compare with */
    uint32_t rows[SETJOIN_ROWS];
    uint64_t candidates; /* pairs that were compared */
};

/* As setjoin_search, of sets as bits: the index needs its classes only. `room` is at least SETJOIN_ROWS. */
int setjoin_search_bits(const struct setjoin_kernels *kernels, const struct setjoin_rule *rule,
                        const struct setjoin_index *index, const struct setjoin_bitmaps *bitmaps,
                        struct setjoin_bits_walk *walk, size_t work, struct setjoin_found *out, size_t room,
                        size_t *found);

#endif
