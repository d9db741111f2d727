/* Functions of the families of packed codes: bits at chosen positions, groups of bits, and hashes of
 * the bits under masks.
 *
 * Contract: codes are (n, words), row-major, with words > 0. Nothing is allocated or kept; outputs overlap no input.
 * All CPU levels share this code, whose words of 64 bits are the lanes. */
#ifndef LSHFAST_SAMPLING_H
#define LSHFAST_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

/* out, (n, ceil(count / 64)): bit j % 64 of word j / 64 of a row is the bit positions[j] of its code; the bits after
 * the last are zeros. Positions are below 64 * words. scratch holds 64 * words numbers. */
void sampling_bits(const uint64_t *codes, size_t n, size_t words, const uint64_t *positions, size_t count,
                   uint64_t *scratch, uint64_t *out);

/* out, (n, bands): number b of a row is the `rows` bits of its code from bit b * rows on; rows is in 1..63, and the
 * code has at least bands * rows bits. */
void sampling_buckets(const uint64_t *codes, size_t n, size_t words, size_t bands, size_t rows, uint64_t *out);

/* out, (n, count): number t of a row is the hash of its code under mask t of masks, (count, words). It is never
 * EMPTY_SLOT. Codes of one word that differ under the mask have different hashes, but for one pair of them. */
void sampling_masked(const uint64_t *codes, size_t n, size_t words, const uint64_t *masks, size_t count, uint64_t *out);

/* out, (n,): the bits in which the codes differ. a has one code if step is 0, and n codes if it is `words`. */
void sampling_distances(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t words, int64_t *out);

#endif
