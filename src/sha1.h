/* The first bytes of SHA-1 (FIPS 180-4) of short tokens: what datasketch hashes with.
 *
 * Contract: data holds length bytes, length below 2^61; sha1_head gives the first 8 bytes of the digest as a
 * little-endian number, whose low 32 bits are the first 4. Nothing is allocated or kept. */
#ifndef LSHFAST_SHA1_H
#define LSHFAST_SHA1_H

#include "cpu.h"

#include <stddef.h>
#include <stdint.h>

/* Take so many blocks of 64 bytes into the state. */
typedef void sha1_compressor(uint32_t state[5], const uint8_t *blocks, size_t count);
sha1_compressor sha1_compress_scalar, sha1_compress_ni;

/* Whether this processor has the SHA instructions (Goldmont, Zen, Ice Lake and later). */
int sha1_ni_detect(void);

/* The compressor of a CPU level: the SHA instructions above the scalar one, where there are any. */
sha1_compressor *sha1_compressor_of(enum cpu_level level);

uint64_t sha1_head(sha1_compressor *compress, const uint8_t *data, size_t length);

#endif
