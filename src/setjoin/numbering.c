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

/* Where the block of 64 tokens ends in which `at` is, or `to`. */
static inline size_t block_end(size_t at, size_t to) {
    size_t end = (at / SETJOIN_BLOCK + 1) * SETJOIN_BLOCK;
    return end < to ? end : to;
}

/* Some tokens with their hashes; `end` is where their block ends, `marks` a bit for each token of it. */
struct block {
    size_t end, count;
    uint64_t marks, tokens[SETJOIN_BLOCK], hashes[SETJOIN_BLOCK];
};

/* Hash the block from `at`, which may be empty, and ask for its counters in the filter. */
static void ask_for_counters(const struct setjoin_table *table, const uint64_t *tokens, size_t at, size_t to,
                             struct block *block) {
    block->end = block_end(at, to);
    block->count = block->end - at;
    for (size_t i = 0; i < block->count; i++) block->hashes[i] = place_of(tokens[at + i], table->key);
    if (!table->filter) return;
    for (size_t i = 0; i < block->count; i++) prefetch(filter_byte(table, block->hashes[i]));
}

void setjoin_note(const struct setjoin_table *table, const uint64_t *tokens, size_t n) {
    struct block blocks[2];
    ask_for_counters(table, tokens, 0, n, blocks);
    for (size_t k = 0; blocks[k].count; k ^= 1) {
        const struct block *block = blocks + k;
        ask_for_counters(table, tokens, block->end, n, blocks + (k ^ 1));
        for (size_t i = 0; i < block->count; i++) {
            uint8_t *byte = filter_byte(table, block->hashes[i]);
            unsigned shift = filter_shift(table, block->hashes[i]);
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

static void ask_for_slots(const struct setjoin_table *table, const struct block *block) {
    for (size_t i = 0; i < block->count; i++) prefetch(table->slots + 2 * home_of(table, block->hashes[i]));
}

/* Keep those of a block's tokens that the filter lets pass, and ask for their slots. Which pass cannot be foreseen, so
 * there is no branch on it. */
static void pass_filter(const struct setjoin_table *table, const uint64_t *tokens, const struct block *all,
                        struct block *passed) {
    size_t count = 0;
    passed->end = all->end;
    passed->marks = table->filter ? 0 : UINT64_MAX;
    for (size_t i = 0; i < all->count; i++) {
        uint64_t hash = all->hashes[i], passes = 1;
        if (table->filter) passes = *filter_byte(table, hash) >> filter_shift(table, hash) >> 1 & 1;
        passed->tokens[count] = tokens[i];
        passed->hashes[count] = hash;
        passed->marks |= passes << i;
        count += passes;
    }
    passed->count = count;
    ask_for_slots(table, passed);
}

static void count_block(struct setjoin_table *table, const struct block *block) {
    for (size_t i = 0; i < block->count; i++) {
        uint64_t *slot = slot_of(table, block->tokens[i], block->hashes[i]);
        table->used += slot[1] == 0;
        slot[0] = block->tokens[i];
        slot[1]++;
    }
}

/* While the slots of one block come from memory, the block before is counted, and so it is with the filter. */
size_t setjoin_count(struct setjoin_table *table, const uint64_t *tokens, size_t from, size_t to, uint64_t *marks) {
    struct block all[2], passed[2];
    const size_t most = ((size_t)3 << table->bits >> 2) - 2 * SETJOIN_BLOCK;
    size_t at = from, k = 0;
    passed[1].count = 0;
    ask_for_counters(table, tokens, at, to, all);
    for (; all[k].count && table->used <= most; k ^= 1) {
        ask_for_counters(table, tokens, all[k].end, to, all + (k ^ 1));
        pass_filter(table, tokens + at, all + k, passed + k);
        if (marks) marks[at / SETJOIN_BLOCK] |= passed[k].marks << at % SETJOIN_BLOCK;
        count_block(table, passed + (k ^ 1));
        at = all[k].end;
    }
    count_block(table, passed + (k ^ 1));
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
    struct block block;
    for (size_t at = 0; at < n; at = block.end) {
        block.end = block_end(at, n);
        block.count = block.end - at;
        for (size_t i = 0; i < block.count; i++) block.hashes[i] = place_of(tokens[at + i], table->key);
        ask_for_slots(table, &block);
        for (size_t i = 0; i < block.count; i++) {
            uint64_t *slot = slot_of(table, tokens[at + i], block.hashes[i]);
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

/* Take those of the tokens of the block from `at` that are marked, and ask for their slots. */
static void take_marked(const struct setjoin_table *table, const uint64_t *tokens, size_t at, size_t to,
                        const uint64_t *marks, struct block *block) {
    size_t count = 0;
    block->end = block_end(at, to);
    if (at < to) {
        uint64_t left = UINT64_MAX >> (SETJOIN_BLOCK - (block->end - at));
        if (marks) left &= marks[at / SETJOIN_BLOCK] >> at % SETJOIN_BLOCK;
        for (; left; left &= left - 1) {
            uint64_t token = tokens[at + lowest_bit(left)];
            block->tokens[count] = token;
            block->hashes[count++] = place_of(token, table->key);
        }
    }
    block->count = count;
    ask_for_slots(table, block);
}

size_t setjoin_number(const struct setjoin_table *table, const uint64_t *tokens, size_t from, size_t to,
                      const uint64_t *marks, uint32_t *ranks) {
    struct block blocks[2];
    size_t made = 0, k = 0;
    take_marked(table, tokens, from, to, marks, blocks);
    for (size_t at = from; at < to; k ^= 1) {
        const struct block *block = blocks + k;
        at = block->end;
        take_marked(table, tokens, at, to, marks, blocks + (k ^ 1));
        for (size_t i = 0; i < block->count; i++) {
            uint64_t value = slot_of(table, block->tokens[i], block->hashes[i])[1];
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
