/* In how many slots a row of many has a value that another one of them has, too. A row that shares fewer slots with all
 * others together than similar rows share is similar to none, which takes no comparison of pairs to see.
 *
 * Values are counted by their hashes, so a slot whose value no other row has may count as shared, and no shared slot is
 * left out. All arrays are owned by the caller. */
#ifndef LSHFAST_SHARED_SLOTS_H
#define LSHFAST_SHARED_SLOTS_H

#include <stddef.h>
#include <stdint.h>

/* Slots whose hashes are gathered at once: those of two lines of memory. */
#define SHARED_SLOTS_AT_ONCE 16

/* Write hashes[slot * n + i] for some slots of each row begin <= i < end: `slots` of them, the slot `first` and each
 * `step`th after it, all of them below k. The signature of row i is signatures[of[i] * k..], and the multiplier is odd. */
void shared_slots_hash(const uint64_t *signatures, const int64_t *of, size_t k, size_t first, size_t step, size_t slots,
                       uint64_t multiplier, size_t n, size_t begin, size_t end, uint32_t *hashes);

/* Count n hashes of a slot by their first 1 <= bits <= 32 bits: seen has two bits for each value of these, 0, 1, or 2 for
 * more, and zeros at first. */
void shared_slots_count(const uint32_t *hashes, size_t n, unsigned bits, uint8_t *seen);

/* Add 1 to shared[i] for each hash i of n that was counted twice. */
void shared_slots_add(const uint32_t *hashes, size_t n, unsigned bits, const uint8_t *seen, uint32_t *shared);

#endif
