/* Numbers of tokens. Most shingles of texts are in one text only: two bits for each token tell so, and such tokens never
 * enter the table. Each access misses the cache, so blocks of tokens ask for their lines first. */
#include "setjoin/setjoin.h"

#include <string.h>

#define NO_RANK ((uint64_t)1 << 63)

static inline uint64_t place_of(uint64_t token, uint64_t key) {
    uint64_t x = token * key;
    return (x ^ x >> 32) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline uint8_t *filter_byte(const struct setjoin_table *table, uint64_t hash) {
    return table->filter + (hash >> (64 - table->filter_bits) >> 2);
}

static inline unsigned filter_shift(const struct setjoin_table *table, uint64_t hash) {
    return (unsigned)(hash >> (64 - table->filter_bits) & 3) * 2;
}

static size_t block_of(size_t left) { return left < SETJOIN_BLOCK ? left : SETJOIN_BLOCK; }

void setjoin_note(const struct setjoin_table *table, const uint64_t *tokens, size_t n) {
    uint64_t hashes[SETJOIN_BLOCK];
    for (size_t at = 0; at < n; at += SETJOIN_BLOCK) {
        size_t block = block_of(n - at);
        for (size_t i = 0; i < block; i++) {
            hashes[i] = place_of(tokens[at + i], table->key);
            prefetch(filter_byte(table, hashes[i]));
        }
        for (size_t i = 0; i < block; i++) {
            uint8_t *byte = filter_byte(table, hashes[i]);
            unsigned shift = filter_shift(table, hashes[i]);
            *byte = (uint8_t)(*byte + (((*byte >> shift & 3) < 2) << shift));
        }
    }
}

static inline size_t home_of(const struct setjoin_table *table, uint64_t hash) { return hash >> (64 - table->bits); }

/* The slot of the token, or the free one where it would be. */
static inline uint64_t *slot_of(const struct setjoin_table *table, uint64_t token, uint64_t hash) {
    size_t at = home_of(table, hash), mask = ((size_t)1 << table->bits) - 1;
    while (table->slots[2 * at + 1] && table->slots[2 * at] != token) at = (at + 1) & mask;
    return table->slots + 2 * at;
}

/* Where the block of 64 tokens ends in which `at` is, or `to`. */
static inline size_t block_end(size_t at, size_t to) {
    size_t end = (at / SETJOIN_BLOCK + 1) * SETJOIN_BLOCK;
    return end < to ? end : to;
}

static void ask_for_slots(const struct setjoin_table *table, const uint64_t *hashes, size_t n) {
    for (size_t i = 0; i < n; i++) prefetch(table->slots + 2 * home_of(table, hashes[i]));
}

/* Write those of a block's tokens that the filter lets pass, and their hashes; return their number, and a bit for each of
 * the block's tokens in *marks. Which pass cannot be foreseen, so there is no branch on it. */
static size_t filtered(const struct setjoin_table *table, const uint64_t *tokens, size_t block, uint64_t *passed,
                       uint64_t *hashes, uint64_t *marks) {
    size_t count = 0;
    uint64_t all[SETJOIN_BLOCK];
    for (size_t i = 0; i < block; i++) all[i] = place_of(tokens[i], table->key);
    for (size_t i = 0; i < block; i++) prefetch(filter_byte(table, all[i]));
    *marks = 0;
    for (size_t i = 0; i < block; i++) {
        uint64_t passes = *filter_byte(table, all[i]) >> filter_shift(table, all[i]) >> 1 & 1;
        passed[count] = tokens[i];
        hashes[count] = all[i];
        count += passes;
        *marks |= passes << i;
    }
    return count;
}

size_t setjoin_count(struct setjoin_table *table, const uint64_t *tokens, size_t from, size_t to, uint64_t *marks) {
    uint64_t passed[SETJOIN_BLOCK], hashes[SETJOIN_BLOCK], block_marks = UINT64_MAX;
    const size_t most = ((size_t)3 << table->bits >> 2) - SETJOIN_BLOCK;
    size_t at = from;
    while (at < to && table->used <= most) {
        size_t end = block_end(at, to), count = end - at;
        const uint64_t *counted = passed;
        if (table->filter) {
            count = filtered(table, tokens + at, count, passed, hashes, &block_marks);
        } else {
            counted = tokens + at;
            for (size_t i = 0; i < count; i++) hashes[i] = place_of(counted[i], table->key);
        }
        ask_for_slots(table, hashes, count);
        if (marks) marks[at / SETJOIN_BLOCK] |= block_marks << at % SETJOIN_BLOCK;
        for (size_t i = 0; i < count; i++) {
            uint64_t *slot = slot_of(table, counted[i], hashes[i]);
            table->used += slot[1] == 0;
            slot[0] = counted[i];
            slot[1]++;
        }
        at = end;
    }
    return at;
}

void setjoin_move(const struct setjoin_table *table, size_t from, size_t to, struct setjoin_table *into) {
    for (size_t i = from; i < to; i++) {
        const uint64_t *old = table->slots + 2 * i;
        if (!old[1]) continue;
        uint64_t *slot = slot_of(into, old[0], place_of(old[0], into->key));
        memcpy(slot, old, 2 * sizeof *old);
        into->used++;
    }
}

size_t setjoin_noted_twice(const uint8_t *filter, size_t bytes) {
    size_t count = 0;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t counters;
        memcpy(&counters, filter + i, sizeof counters);
        count += ones_of(counters & UINT64_C(0xAAAAAAAAAAAAAAAA));
    }
    return count;
}

size_t setjoin_list(struct setjoin_table *table, size_t from, size_t to, uint64_t least, uint64_t *tokens,
                    uint64_t *counts) {
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        uint64_t *slot = table->slots + 2 * i;
        if (slot[1] >= least) {
            tokens[count] = slot[0];
            counts[count++] = slot[1];
        } else if (slot[1]) {
            slot[1] = NO_RANK;
        }
    }
    return count;
}

void setjoin_rank(struct setjoin_table *table, const uint64_t *tokens, size_t n, uint32_t first) {
    uint64_t hashes[SETJOIN_BLOCK];
    for (size_t at = 0; at < n; at += SETJOIN_BLOCK) {
        size_t block = block_of(n - at);
        for (size_t i = 0; i < block; i++) {
            hashes[i] = place_of(tokens[at + i], table->key);
            prefetch(table->slots + 2 * home_of(table, hashes[i]));
        }
        for (size_t i = 0; i < block; i++) {
            uint64_t *slot = slot_of(table, tokens[at + i], hashes[i]);
            if (slot[1]) slot[1] = 1 + (uint64_t)first + at + i;
        }
    }
}

size_t setjoin_unique(uint32_t *numbers, size_t n) {
    size_t made = n > 0;
    for (size_t i = 1; i < n; i++) {
        uint32_t number = numbers[i], last = numbers[made - 1];
        numbers[made] = number;
        made += number != last;
    }
    return made;
}

size_t setjoin_number(const struct setjoin_table *table, const uint64_t *tokens, size_t from, size_t to,
                      const uint64_t *marks, uint32_t *ranks) {
    uint64_t counted[SETJOIN_BLOCK], hashes[SETJOIN_BLOCK];
    size_t made = 0;
    for (size_t at = from; at < to; at = block_end(at, to)) {
        size_t first = at % SETJOIN_BLOCK, block = block_end(at, to) - at, count = 0;
        uint64_t left = UINT64_MAX >> (SETJOIN_BLOCK - block);
        if (marks) left &= marks[at / SETJOIN_BLOCK] >> first;
        for (; left; left &= left - 1) {
            uint64_t token = tokens[at + lowest_bit(left)];
            counted[count] = token;
            hashes[count++] = place_of(token, table->key);
        }
        ask_for_slots(table, hashes, count);
        for (size_t i = 0; i < count; i++) {
            uint64_t value = slot_of(table, counted[i], hashes[i])[1];
            ranks[made] = (uint32_t)(value - 1);
            made += value - 1 < NO_RANK - 1;
        }
    }
    return made;
}

static void sort_few(uint32_t *numbers, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint32_t number = numbers[i];
        size_t at = i;
        for (; at > 0 && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

#define MOST_DIGITS 1024

/* Stable, by one digit of the numbers. Returns 0, and moves nothing, where all have the same. */
static int sort_by_digit(const uint32_t *numbers, size_t n, unsigned shift, uint32_t digits, uint32_t *out) {
    uint32_t starts[MOST_DIGITS], sum = 0, mask = digits - 1;
    memset(starts, 0, digits * sizeof *starts);
    for (size_t i = 0; i < n; i++) starts[numbers[i] >> shift & mask]++;
    if (starts[numbers[0] >> shift & mask] == n) return 0;
    for (uint32_t digit = 0; digit < digits; digit++) {
        uint32_t count = starts[digit];
        starts[digit] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) out[starts[numbers[i] >> shift & mask]++] = numbers[i];
    return 1;
}

/* Few numbers have small digits: as many counters as numbers cost as much as moving them. */
void setjoin_sort(uint32_t *numbers, size_t n, uint32_t *spare) {
    if (n <= 48) {
        sort_few(numbers, n);
        return;
    }
    unsigned bits = n < 512 ? 8 : 10;
    uint32_t *from = numbers, *to = spare;
    for (unsigned shift = 0; shift < 32; shift += bits) {
        if (!sort_by_digit(from, n, shift, (uint32_t)1 << bits, to)) continue;
        uint32_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != numbers) memcpy(numbers, from, n * sizeof *numbers);
}
