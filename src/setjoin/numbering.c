/* Numbers of tokens. Each access misses the cache, so blocks of tokens ask for their slots first. */
#include "setjoin/setjoin.h"

#include <string.h>

static inline uint64_t place_of(uint64_t token, uint64_t key) {
    uint64_t x = token * key;
    return (x ^ x >> 32) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline size_t home_of(const struct setjoin_table *table, uint64_t hash) { return hash >> (64 - table->bits); }

/* The slot of the token, or the free one where it would be. */
static inline uint64_t *slot_of(const struct setjoin_table *table, uint64_t token, uint64_t hash) {
    size_t at = home_of(table, hash), mask = ((size_t)1 << table->bits) - 1;
    while (table->slots[2 * at + 1] && table->slots[2 * at] != token) at = (at + 1) & mask;
    return table->slots + 2 * at;
}

/* Hashes of some tokens. */
struct block {
    size_t count;
    uint64_t hashes[SETJOIN_BLOCK];
};

/* Hash a block of n tokens, which may be none, and ask for their slots. */
static void ask(const struct setjoin_table *table, const uint64_t *tokens, size_t n, struct block *block) {
    block->count = n < SETJOIN_BLOCK ? n : SETJOIN_BLOCK;
    for (size_t i = 0; i < block->count; i++) block->hashes[i] = place_of(tokens[i], table->key);
    for (size_t i = 0; i < block->count; i++) prefetch(table->slots + 2 * home_of(table, block->hashes[i]));
}

/* While the slots of one block come from memory, the block before is counted. */
size_t setjoin_count(struct setjoin_table *table, const uint64_t *tokens, size_t from, size_t to) {
    struct block blocks[2];
    const size_t most = ((size_t)3 << table->bits >> 2) - SETJOIN_BLOCK;
    size_t at = from;
    ask(table, tokens + from, to - from, blocks);
    for (size_t k = 0; blocks[k].count && table->used <= most; k ^= 1) {
        const size_t n = blocks[k].count;
        ask(table, tokens + at + n, to - at - n, blocks + (k ^ 1));
        for (size_t i = 0; i < n; i++) {
            uint64_t *slot = slot_of(table, tokens[at + i], blocks[k].hashes[i]);
            table->used += slot[1] == 0;
            slot[0] = tokens[at + i];
            slot[1]++;
        }
        at += n;
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

size_t setjoin_list(const struct setjoin_table *table, size_t from, size_t to, uint64_t *tokens, uint64_t *counts) {
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        const uint64_t *slot = table->slots + 2 * i;
        if (!slot[1]) continue;
        tokens[count] = slot[0];
        counts[count++] = slot[1];
    }
    return count;
}

void setjoin_rank(struct setjoin_table *table, const uint64_t *tokens, size_t n, uint32_t first) {
    struct block block;
    for (size_t at = 0; at < n; at += block.count) {
        ask(table, tokens + at, n - at, &block);
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

size_t setjoin_number(const struct setjoin_table *table, const uint64_t *tokens, size_t from, size_t to, uint32_t *ranks) {
    struct block blocks[2];
    size_t made = 0;
    ask(table, tokens + from, to - from, blocks);
    for (size_t at = from, k = 0; at < to; k ^= 1) {
        const size_t n = blocks[k].count;
        ask(table, tokens + at + n, to - at - n, blocks + (k ^ 1));
        for (size_t i = 0; i < n; i++) {
            uint64_t rank = slot_of(table, tokens[at + i], blocks[k].hashes[i])[1];
            ranks[made] = (uint32_t)(rank - 1);
            made += rank > 0;
        }
        at += n;
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
