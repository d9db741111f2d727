/* Each access to the filter misses the cache, so blocks of tokens ask for their lines first. */
#include "ranks/ranks.h"

#include <string.h>

#define BLOCK 64

static inline uint64_t hash_of(uint64_t token, uint64_t key) {
    uint64_t x = token * key;
    return (x ^ x >> 32) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline uint64_t byte_of(const struct ranks_filter *filter, uint64_t hash) {
    return hash >> (64 - filter->bits) >> 2;
}

static inline unsigned shift_of(const struct ranks_filter *filter, uint64_t hash) {
    return (unsigned)(hash >> (64 - filter->bits) & 3) * 2;
}

/* Hashes of some tokens. */
struct block {
    size_t count;
    uint64_t hashes[BLOCK];
};

/* Hash a block of n tokens, which may be none, keep those of the slice, and ask for their counters. Which are kept cannot
 * be foreseen, so there is no branch on it. */
static void ask(const struct ranks_filter *filter, const uint64_t *tokens, size_t n, uint64_t slice, uint64_t slices,
                struct block *block) {
    size_t count = 0;
    if (n > BLOCK) n = BLOCK;
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hash_of(tokens[i], filter->key);
        block->hashes[count] = hash;
        count += byte_of(filter, hash) * slices >> (filter->bits - 2) == slice;
    }
    for (size_t i = 0; i < count; i++) prefetch(filter->counters + byte_of(filter, block->hashes[i]));
    block->count = count;
}

void ranks_note(const struct ranks_filter *filter, const uint64_t *tokens, size_t n, uint64_t slice, uint64_t slices) {
    struct block blocks[2];
    ask(filter, tokens, n, slice, slices, blocks);
    for (size_t at = 0, k = 0; at < n; k ^= 1) {
        const struct block *block = blocks + k;
        at = n - at < BLOCK ? n : at + BLOCK;
        ask(filter, tokens + at, n - at, slice, slices, blocks + (k ^ 1));
        for (size_t i = 0; i < block->count; i++) {
            uint8_t *byte = filter->counters + byte_of(filter, block->hashes[i]);
            unsigned shift = shift_of(filter, block->hashes[i]);
            *byte = (uint8_t)(*byte + (((*byte >> shift & 3) < 2) << shift));
        }
    }
}

size_t ranks_pick(const struct ranks_filter *filter, const uint64_t *tokens, size_t n, uint64_t *hashes) {
    struct block blocks[2];
    size_t made = 0;
    ask(filter, tokens, n, 0, 1, blocks);
    for (size_t at = 0, k = 0; at < n; k ^= 1) {
        const struct block *block = blocks + k;
        at = n - at < BLOCK ? n : at + BLOCK;
        ask(filter, tokens + at, n - at, 0, 1, blocks + (k ^ 1));
        for (size_t i = 0; i < block->count; i++) {
            uint64_t hash = block->hashes[i];
            hashes[made] = hash;
            made += filter->counters[byte_of(filter, hash)] >> shift_of(filter, hash) >> 1 & 1;
        }
    }
    return made;
}

void ranks_prefetch(const struct ranks_filter *filter, const uint64_t *tokens, size_t n) {
    for (size_t i = 0; i < n; i++) prefetch(filter->counters + byte_of(filter, hash_of(tokens[i], filter->key)));
}

void ranks_count_parts(const uint64_t *hashes, size_t n, unsigned bits, uint64_t *counts) {
    for (size_t i = 0; i < n; i++) counts[ranks_part(hashes[i], bits)]++;
}

void ranks_divide(const uint64_t *hashes, size_t n, uint32_t set, unsigned bits, uint64_t *ends, uint64_t *to_hashes,
                  uint32_t *to_sets) {
    for (size_t i = 0; i < n; i++) {
        uint64_t at = ends[ranks_part(hashes[i], bits)]++;
        to_hashes[at] = hashes[i];
        to_sets[at] = set;
    }
}

static inline unsigned class_of(uint32_t count) {
    unsigned power = 0;
    if (count < 16) return count;
    for (uint32_t x = count; x >= 16; x >>= 1) power++;
    return 8 + 8 * power + (count >> power & 7);
}

/* Number the tokens of a part, and count the sets of each. Writes a number and a set for each posting; returns the number
 * of tokens, and that of postings in *kept. */
static uint32_t number(const uint64_t *hashes, uint32_t *sets, size_t n, unsigned bits,
                       const struct ranks_scratch *scratch, size_t *kept) {
    const size_t mask = ((size_t)1 << scratch->bits) - 1;
    uint32_t *table = scratch->table, tokens = 0;
    size_t made = 0;
    memset(table, 0, sizeof *table << scratch->bits);
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hashes[i];
        size_t at = (size_t)(hash << bits >> (64 - scratch->bits));
        while (table[at] && scratch->hashes[table[at] - 1] != hash) at = (at + 1) & mask;
        uint32_t id = table[at], set = sets[i];
        if (!id) {
            id = table[at] = ++tokens;
            scratch->hashes[id - 1] = hash;
            scratch->counts[id - 1] = 0;
            scratch->lasts[id - 1] = UINT32_MAX;
        }
        id--;
        uint32_t is_new = scratch->lasts[id] != set;
        scratch->counts[id] += is_new;
        scratch->lasts[id] = set;
        scratch->ids[made] = id;
        sets[made] = set;
        made += is_new;
    }
    *kept = made;
    return tokens;
}

size_t ranks_group(const uint64_t *hashes, uint32_t *sets, size_t n, unsigned bits, const struct ranks_scratch *scratch,
                   uint64_t class_postings[RANKS_CLASSES]) {
    uint32_t nexts[RANKS_CLASSES], next = 0;
    size_t kept;
    const uint32_t tokens = number(hashes, sets, n, bits, scratch, &kept);
    memset(class_postings, 0, RANKS_CLASSES * sizeof *class_postings);
    for (uint32_t id = 0; id < tokens; id++) class_postings[class_of(scratch->counts[id])] += scratch->counts[id];
    for (unsigned class = 0; class < RANKS_CLASSES; class++) {
        nexts[class] = next;
        next += (uint32_t)class_postings[class];
    }
    for (uint32_t id = 0; id < tokens; id++) {
        uint32_t *start = nexts + class_of(scratch->counts[id]);
        scratch->starts[id] = scratch->lasts[id] = *start;
        *start += scratch->counts[id];
    }
    for (size_t i = 0; i < kept; i++) {
        uint32_t id = scratch->ids[i], at = scratch->starts[id]++;
        scratch->postings[at] = sets[i] | (at == scratch->lasts[id] ? RANKS_FIRST : 0);
    }
    if (kept) memcpy(sets, scratch->postings, kept * sizeof *sets);
    return kept;
}

void ranks_count(const uint32_t *postings, size_t n, uint32_t *counts) {
    for (size_t i = 0; i < n; i++) counts[postings[i] & ~RANKS_FIRST]++;
}

uint32_t ranks_place(const uint32_t *postings, size_t n, uint32_t next, uint64_t *ends, uint32_t *ranks) {
    for (size_t i = 0; i < n; i++) {
        next += postings[i] >> 31;
        ranks[ends[postings[i] & ~RANKS_FIRST]++] = next - 1;
    }
    return next;
}
