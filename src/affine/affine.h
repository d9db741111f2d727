/* The hash values of datasketch: tokens' hashes, permuted by k functions whose least values are kept.
 *
 * Contract: hashes are n numbers, of which affine32 reads the low 32 bits. values holds k numbers and is lowered in
 * place: each becomes the least of itself and of what its function makes of the hashes, so that n = 0 changes nothing,
 * and neither order nor repeats do. a and b hold k constants. values overlaps nothing. Nothing is allocated or kept. */
#ifndef LSHFAST_AFFINE_H
#define LSHFAST_AFFINE_H

#include "cpu/cpu.h"
#include "field.h"

/* Hashes are mixed so many at a time. */
#define AFFINE_BLOCK_HASHES 256

/* The arithmetic that a CPU level does in its own way. */
struct affine_kernels {
    /* a affine_mix32(hash) + b mod 2^32. */
    void (*affine32)(const uint64_t *hashes, size_t n, const uint32_t *a, const uint32_t *b, size_t k,
                     uint32_t *values);
    /* a affine_mix64(hash) + b mod 2^64. */
    void (*affine64)(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                     uint64_t *values);
    /* The low 32 bits of (a hash + b mod 2^64) mod 2^61 - 1: the product wraps before it is reduced. */
    void (*legacy)(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                   uint64_t *values);
};
extern const struct affine_kernels affine_scalar, affine_avx2, affine_avx512;
extern const struct affine_kernels *const affine_levels[CPU_LEVELS];

/* The finalisers of MurmurHash3 (Appleby, public domain). */
static inline uint32_t affine_mix32(uint32_t x) {
    x = (x ^ (x >> 16)) * UINT32_C(0x85EBCA6B);
    x = (x ^ (x >> 13)) * UINT32_C(0xC2B2AE35);
    return x ^ (x >> 16);
}

static inline uint64_t affine_mix64(uint64_t x) {
    x = (x ^ (x >> 33)) * UINT64_C(0xFF51AFD7ED558CCD);
    x = (x ^ (x >> 33)) * UINT64_C(0xC4CEB9FE1A85EC53);
    return x ^ (x >> 33);
}

#endif
