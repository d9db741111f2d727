/* Token sets to MinHash signatures: the second stage. docs/reference/definitions.md gives both schemes to the bit.
 *
 * Contract: a set is n tokens (repeats change nothing, order changes nothing); n = 0 gives EMPTY_SLOT in every slot.
 * out holds k slots and overlaps nothing. Nothing is allocated or kept. */
#ifndef LSHFAST_SKETCH_H
#define LSHFAST_SKETCH_H

#include "cpu/cpu.h"
#include "field.h"

/* Functions are padded to a multiple of so many, so that no kernel has a tail: a and b must be readable (and out need
 * not be writable) up to it. */
#define SKETCH_CLASSIC_LANES 16

/* Tokens are hashed so many at a time. */
#define SKETCH_BLOCK_TOKENS 256

/* Bits of a value of `fast`, below the number of its round. */
#define SKETCH_VALUE_BITS 56
#define SKETCH_VALUE_MASK (((uint64_t)1 << SKETCH_VALUE_BITS) - 1)

#define SKETCH_MAX_SLOTS 65536

/* The arithmetic that a CPU level does in its own way. */
struct sketch_kernels {
    /* k functions a x + b mod p, a in [1, p), b in [0, p), both padded to SKETCH_CLASSIC_LANES. */
    void (*classic)(const uint64_t *tokens, size_t n, const uint64_t *a, const uint64_t *b, size_t k, uint64_t *out);
    /* Each token's value and slot in one round of `fast`, n at most SKETCH_BLOCK_TOKENS; values and slots hold as many,
     * and what is behind n in them is left undefined. */
    void (*land)(const uint64_t *tokens, size_t n, uint64_t round, uint64_t constant, size_t k, uint64_t *values,
                 uint32_t *slots);
    /* The same in round 0, of the values below `limit` alone; returns how many they are. NULL where that is not faster. */
    size_t (*land_below)(const uint64_t *tokens, size_t n, uint64_t constant, size_t k, uint64_t limit, uint64_t *values,
                         uint32_t *slots);
    /* The least mix64(token ^ constant) mod 2^SKETCH_VALUE_BITS; n > 0. */
    uint64_t (*least)(const uint64_t *tokens, size_t n, uint64_t constant);
};
extern const struct sketch_kernels sketch_scalar, sketch_avx2, sketch_avx512;
extern const struct sketch_kernels *const sketch_levels[CPU_LEVELS];

static inline size_t sketch_fast_rounds(size_t k) {
    size_t rounds = k / 4;
    return rounds < 1 ? 1 : rounds > 254 ? 254 : rounds;
}

/* The constants of a seed: a and b are padded with copies of (1, 0) to SKETCH_CLASSIC_LANES. */
void sketch_classic_constants(uint64_t seed, size_t k, uint64_t *a, uint64_t *b);
void sketch_fast_constants(uint64_t seed, size_t k, uint64_t *rounds, uint64_t *slots);

/* rounds: sketch_fast_rounds(k) constants; slots: k constants; k at most SKETCH_MAX_SLOTS. */
void sketch_fast_signature(const struct sketch_kernels *kernels, const uint64_t *tokens, size_t n,
                           const uint64_t *rounds, const uint64_t *slots, size_t k, uint64_t *out);

#endif
