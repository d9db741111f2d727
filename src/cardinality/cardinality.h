/* Counting distinct tokens: the registers of HyperLogLog, and estimates from them and from MinHash signatures.
 * docs/reference/definitions.md has all of it to the bit.
 *
 * A register keeps the highest rank of the hashes that fell to it, 0 for none. The rank of a hash is the place of the
 * first one among its bits, so that rank j comes once in 2^j hashes:
 *
 *     64 bits of hash:  | index: the top p |        the rest: q = 64 - p        |
 *                                             . . . . . 1 0 0   rank 3, from the lowest bit; q + 1 if there is no one
 *
 * Contract: registers are 2^p bytes, p in CARDINALITY_MIN_PRECISION..CARDINALITY_MAX_PRECISION, and overlap nothing
 * else. Order and repeats of tokens change nothing; n may be 0. Nothing is allocated or kept. */
#ifndef LSHFAST_CARDINALITY_H
#define LSHFAST_CARDINALITY_H

#include "cpu/cpu.h"
#include "field.h"

#define CARDINALITY_MIN_PRECISION 4
#define CARDINALITY_MAX_PRECISION 18

/* Registers of hashes of `width` bits go up to width - p + 1. */
#define CARDINALITY_MAX_REGISTER (64 - CARDINALITY_MIN_PRECISION + 1)

/* Signatures with fewer slots give no estimate of finite error. */
#define CARDINALITY_MIN_SLOTS 3

/* Raise the registers by tokens; constant is cardinality_constant(seed). */
typedef void register_kernel(const uint64_t *tokens, size_t n, uint64_t constant, unsigned p, uint8_t *registers);
register_kernel cardinality_registers_scalar, cardinality_registers_avx512;
extern register_kernel *const cardinality_levels[CPU_LEVELS];

uint64_t cardinality_constant(uint64_t seed);

/* Raise registers by hashes below 2^width, width > p, as datasketch reads them: the lowest p bits are the index, the
 * rank counts from the highest of the width - p bits above. */
void cardinality_registers_by_hashes(const uint64_t *hashes, size_t n, unsigned width, unsigned p, uint8_t *registers);

uint8_t cardinality_highest_register(const uint8_t *registers, size_t n);

/* How many registers have each value; those above CARDINALITY_MAX_REGISTER are not counted. */
void cardinality_count_registers(const uint8_t *registers, unsigned p, uint32_t counts[CARDINALITY_MAX_REGISTER + 1]);

/* The estimated number of distinct hashes of `width` bits, p < width <= 64; counts are those of 2^p registers, none
 * above width - p + 1. 0 for none at all; infinite if all registers are as high as they go. */
double cardinality_of_registers(const uint32_t counts[CARDINALITY_MAX_REGISTER + 1], unsigned width, unsigned p);

/* The estimated number of distinct tokens of a signature of k slots, k in CARDINALITY_MIN_SLOTS..SKETCH_MAX_SLOTS of
 * sketch.h; 0 if its first slot is EMPTY_SLOT. Any slots at all give a number. */
double cardinality_of_classic(const uint64_t *signature, size_t k);
double cardinality_of_fast(const uint64_t *signature, size_t k);

/* k times the squared relative standard error of cardinality_of_fast for n > 0 tokens: from 1/2 to 1. */
double cardinality_variance_of_fast(double n, size_t k);

#endif
