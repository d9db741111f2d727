/* Weighted sets to signatures whose slots agree with probability sum min / sum max of the weights.
 *
 * Contract: a set is n different tokens with weights that are finite and above 0, in any order; n = 0 gives EMPTY_SLOT
 * in every slot. out overlaps nothing. Nothing is allocated or kept.
 * Logarithms are made of +, -, * and / alone, each rounded to a double: the same bits everywhere, if the compiler joins
 * no product and sum into one rounding (-ffp-contract=off) and computes with no more digits than asked. */
#ifndef LSHFAST_WEIGHTED_H
#define LSHFAST_WEIGHTED_H

#include "cpu/cpu.h"
#include "field.h"

#include <float.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "weighted sketches need doubles and floats that are rounded to their own width (SSE2, not x87)"
#endif

/* Shells are looked up so many at a time, and so many times below that of the weight itself. */
#define WEIGHTED_GROUP_SHELLS 8
#define WEIGHTED_SHELL_GROUPS 8

/* 1 if all weights are finite and above 0; the first that is not is written to *at. */
int weighted_are_valid(const double *weights, size_t m, size_t *at);

/* ln x of a finite x > 0. */
double weighted_log(double x);

/* -ln(1 - v / 2^63) of an odd v < 2^63: an exponential of mean 1 of 63 random bits. */
double weighted_exponential(uint64_t v);

/* The points of a Poisson process over the weights that are least in their slots. `points`, above 0, is how many are
 * looked at before it is seen whether all slots have one: a matter of speed alone, about k (ln k + 2) is good. */
void weighted_shells(const uint64_t *tokens, const double *weights, size_t n, uint64_t constant, double points,
                     size_t k, uint64_t *out);

/* Improved consistent weighted sampling (Ioffe 2010): n k steps. slots: k constants. */
void weighted_icws(const uint64_t *tokens, const double *weights, size_t n, uint64_t constant, const uint64_t *slots,
                   size_t k, uint64_t *out);

/* The pairs (token, 1) ... (token, count) as tokens; the first is the token itself. */
void weighted_multiset_tokens(uint64_t token, size_t count, uint64_t *out);

/* An element of a weighted set is so many words: two hashes, and the bits of its weight, a double. The elements of a set
 * are different and sorted by their hashes. */
#define WEIGHTED_ELEMENT_WORDS 3

/* sum min / sum max of the weights of sets of n and of m elements, finite and above 0; 0 if both are empty. Weights
 * are added in the order of the first hashes, with compensation; neither sum may overflow. */
double weighted_similarity(const uint64_t *a, size_t n, const uint64_t *b, size_t m);

/* The single-precision form of icws that datasketch computes, with its tables: samples come in blocks of
 * WEIGHTED_SAMPLE_LANES, and a table holds, for each block, that many numbers a dimension. */
#define WEIGHTED_SAMPLE_LANES 16

/* Elements are tested against the best value so far in batches of this many, without branches: which of them come near it
 * is unpredictable. Those that do are computed. */
#define WEIGHTED_STEP_ELEMENTS 32
struct samples {
    const float *r, *ln_c, *beta; /* of one block: dim x WEIGHTED_SAMPLE_LANES */
    const float *least;           /* ln_c - r */
    float margin;                 /* above all rounding errors: no sample's ln a is below least - log - margin */
    int shifted;                  /* 1: ln a = ln_c - (t - beta + 1) r; 0: ln_c - (t - beta) r - r */
};
struct weighted_kernels {
    /* out[(i k + l) 2] and the next become the column and the t of the least ln a, the first column of several, for row
     * i < n of (offsets, columns, logs) and sample l < lanes <= WEIGHTED_SAMPLE_LANES of the block; zeros for an empty
     * row. */
    void (*sample)(const struct samples *block, const int64_t *offsets, const int32_t *columns, const float *logs,
                   size_t n, size_t lanes, size_t k, int64_t *out);
};
extern const struct weighted_kernels weighted_scalar, weighted_avx2, weighted_avx512;
extern const struct weighted_kernels *const weighted_levels[CPU_LEVELS];

/* The number of l < k with both numbers of a[l] and b[l] equal. */
size_t weighted_equal_samples(const int64_t *a, const int64_t *b, size_t k);

#endif
