/* The first bytes of SHA-1 (FIPS 180-4) of short tokens: what datasketch hashes with.
 *
 * Contract: data holds length bytes, length below 2^61; sha1_head gives the first 8 bytes of the digest as a
 * little-endian number, whose low 32 bits are the first 4. Nothing is allocated or kept. */
#ifndef LSHFAST_SHA1_H
#define LSHFAST_SHA1_H

#include "cpu/cpu.h"

#include <stddef.h>
#include <stdint.h>

/* Take so many blocks of 64 bytes into the state. */
typedef void sha1_compressor(uint32_t state[5], const uint8_t *blocks, size_t count);
sha1_compressor sha1_compress_scalar, sha1_compress_ni;

uint64_t sha1_head(sha1_compressor *compress, const uint8_t *data, size_t length);

/* The heads of sixteen messages of at most SHA1_ONE_BLOCK bytes, which are one block with their padding. An empty one
 * may be NULL. */
#define SHA1_LANES 16
#define SHA1_ONE_BLOCK 55
typedef void sha1_sixteen(const uint8_t *const starts[SHA1_LANES], const size_t lengths[SHA1_LANES],
                          uint64_t heads[SHA1_LANES]);
sha1_sixteen sha1_sixteen_avx512;

/* What a CPU level hashes with: `sixteen` is NULL where there are no sixteen lanes. */
struct sha1_kernels {
    sha1_compressor *compress;
    sha1_sixteen *sixteen;
};

/* By cpu_has_sha() and the level: the SHA instructions are a choice of the levels above the scalar one. */
extern const struct sha1_kernels sha1_levels[2][CPU_LEVELS];

/* The heads of n messages of any length; an empty one may be NULL. */
void sha1_heads(const struct sha1_kernels *kernels, const uint8_t *const *starts, const size_t *lengths, size_t n,
                uint64_t *heads);

#endif
