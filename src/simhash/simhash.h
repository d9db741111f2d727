/* Token sets and vectors to SimHash codes: one bit a vector of +1s and -1s, the sign of the dot product with it.
 *
 * The idea: a token has a word of hash for each 64 bits of the code, and adds its weight where a bit is one and takes
 * it off where it is zero. Without weights only the tokens with the bit are counted, for 64 bits at once: plane p is a
 * word, and holds bit p of all 64 numbers. Three words are added to one of ones and one of twos by a carry-save adder,
 * so that seven of these count eight tokens, and the majority is found by comparing planes, without taking the numbers
 * out. docs/reference/definitions.md has it to the bit.
 *
 * Contract: order changes nothing but in sums of doubles, which go from the first to the last. Outputs overlap nothing.
 * Nothing is allocated or kept. Sums of integers are taken mod 2^64: the caller sees to it that they fit. */
#ifndef LSHFAST_SIMHASH_H
#define LSHFAST_SIMHASH_H

#include "cpu/cpu.h"
#include "field.h"

/* Words of a code. */
#define SIMHASH_MAX_WORDS 64

/* Tokens counted at once, and the planes of such a number: below 2^6 in each of eight lanes. */
#define SIMHASH_COUNT_TOKENS 504
#define SIMHASH_COUNT_PLANES 9

/* Tokens weighed at once. */
#define SIMHASH_BLOCK_TOKENS 256

/* A code that no vector has: that of an empty set, or of zeros. */
#define SIMHASH_EMPTY_WORD UINT64_MAX

/* What becomes of a bit whose dot product is zero. */
enum simhash_zero_rule { SIMHASH_ZERO_IS_MINUS, SIMHASH_ZERO_IS_PLUS, SIMHASH_ZERO_IS_DRAWN };

/* What a CPU level does in its own way. */
struct simhash_kernels {
    /* hashes[t] = mix64(tokens[t] ^ constant); they may be the tokens. */
    void (*hash)(const uint64_t *tokens, size_t n, uint64_t constant, uint64_t *hashes);
    /* The numbers of tokens whose hash has bit 0, 1, .. 63, as SIMHASH_COUNT_PLANES planes; n at most
     * SIMHASH_COUNT_TOKENS. */
    void (*count)(const uint64_t *tokens, size_t n, uint64_t constant, uint64_t *planes);
    /* sums[i] += weights[t] for all t whose masks[t * stride] has bit i; 64 sums. */
    void (*add)(const uint64_t *masks, size_t stride, const int64_t *weights, size_t n, uint64_t *sums);
    /* For t = 0, 1, ..: sums[i] += weights[t], or -= where masks[t * stride] lacks bit i; 64 sums. */
    void (*add_doubles)(const uint64_t *masks, size_t stride, const double *weights, size_t n, double *sums);
};
extern const struct simhash_kernels simhash_scalar, simhash_avx2, simhash_avx512;
extern const struct simhash_kernels *const simhash_levels[CPU_LEVELS];

void simhash_constants(uint64_t seed, size_t words, uint64_t *constants);

/* The code of n tokens, each of weight 1. */
void simhash_code(const struct simhash_kernels *kernels, const uint64_t *tokens, size_t n, const uint64_t *constants,
                  size_t words, uint64_t *code);

/* The counters of n tokens, 64 a word; weights may be NULL, for ones. */
void simhash_counters(const struct simhash_kernels *kernels, const uint64_t *tokens, const int64_t *weights, size_t n,
                      const uint64_t *constants, size_t words, int64_t *counters);

/* The dot products of x, of n numbers, with 64 words vectors: of the bits i, where 1 is +1 and 0 is -1, of
 * masks[j * words], j = 0 .. n - 1, with i below 64, and so on for each word. */
void simhash_dots(const struct simhash_kernels *kernels, const uint64_t *masks, size_t words, const int64_t *x,
                  size_t n, int64_t *dots);
void simhash_dots_of_doubles(const struct simhash_kernels *kernels, const uint64_t *masks, size_t words,
                             const double *x, size_t n, double *dots);

/* 1 if the numbers without their signs add up to less than 2^63. */
int simhash_weights_fit(const int64_t *weights, size_t n);

/* Make a code of the bits whose dot product is above zero; `zero` are those at zero, none of them in both and none in
 * either at `bits` and above. The code is empty if all are at zero. */
void simhash_settle(uint64_t *code, const uint64_t *zero, size_t bits, enum simhash_zero_rule rule, uint64_t seed);

/* The bits in which two codes differ; bits + 1 where one is empty. */
size_t simhash_distance(const uint64_t *a, const uint64_t *b, size_t bits);

#endif
