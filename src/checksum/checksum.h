/* A sum of 64 bits over bytes, by which the sections of files are checked: any change within one word of eight bytes
 * changes it, and any other with a probability of about 1 - 2^-64. docs/reference/file-format.md gives it to the bit.
 *
 * Contract: begin, feed the bytes in pieces of any size, and end; what was fed is not kept. */
#ifndef LSHFAST_CHECKSUM_H
#define LSHFAST_CHECKSUM_H

#include "field.h"

#define CHECKSUM_BLOCK 32
struct checksum {
    uint64_t sums[4], fed;
    uint8_t rest[CHECKSUM_BLOCK];
};
void checksum_begin(struct checksum *sum);
void checksum_feed(struct checksum *sum, const uint8_t *bytes, size_t n);
uint64_t checksum_end(const struct checksum *sum);

#endif
