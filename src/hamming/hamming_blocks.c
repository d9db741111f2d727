/* Multi-index hashing: building the blocks, searches, and pairs. */
#include "hamming/hamming.h"

#include "hamming/hamming_parts.h"

/* What reading the head of a bucket costs, in codes of a scan. */
#define LOOKUP_CODES 64

/* Comparisons after which `hamming_pairs` returns: about a tenth of a second. */
#define MOST_COMPARISONS ((uint64_t)1 << 28)

/* Codes whose values are computed at once. */
#define SELECT_CODES 256

/* ---- building ---- */

void hamming_count(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, size_t i, size_t low,
                   size_t high) {
    const struct hamming_block *block = blocks->block + i;
    uint32_t values[SELECT_CODES];
    for (size_t start = low; start < high; start += SELECT_CODES) {
        size_t size = high - start < SELECT_CODES ? high - start : SELECT_CODES;
        kernels->select(blocks->codes + start * blocks->words, size, blocks->words, block->mask, values);
        for (size_t t = 0; t < size; t++) block->heads[values[t] + (size_t)2]++;
    }
}

/* Numbers become positions, one place further on: placing advances heads[v + 1] from the start of v to its end. */
void hamming_sum_heads(const struct hamming_block *block) {
    for (size_t v = 2; v < hamming_buckets(block) + 2; v++) block->heads[v] += block->heads[v - 1];
}

void hamming_place(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, size_t i, size_t low,
                   size_t high) {
    const struct hamming_block *block = blocks->block + i;
    uint32_t values[SELECT_CODES];
    for (size_t start = low; start < high; start += SELECT_CODES) {
        size_t size = high - start < SELECT_CODES ? high - start : SELECT_CODES;
        kernels->select(blocks->codes + start * blocks->words, size, blocks->words, block->mask, values);
        for (size_t t = 0; t < size; t++) {
            uint32_t position = block->heads[values[t] + (size_t)1]++;
            block->folds[position] = hamming_fold(blocks->codes + (start + t) * blocks->words, blocks->words);
            block->rows[position] = (uint32_t)(start + t);
        }
    }
}

/* ---- one query ---- */

/* A query, and what its search has read so far, in codes of a scan. */
struct search {
    const struct hamming_kernels *kernels;
    const struct hamming_blocks *blocks;
    const uint64_t *query;
    uint64_t fold;
    uint32_t values[HAMMING_MAX_BLOCKS];
    uint64_t read;
};

static void begin(struct search *s, const struct hamming_kernels *kernels, const struct hamming_blocks *blocks,
                  const uint64_t *query) {
    *s = (struct search){.kernels = kernels, .blocks = blocks, .query = query};
    s->fold = hamming_fold(query, blocks->words);
    for (size_t i = 0; i < blocks->m; i++) {
        kernels->select(query, 1, blocks->words, blocks->block[i].mask, s->values + i);
        prefetch(blocks->block[i].heads + s->values[i]);
    }
}

/* Ask for the first lines of the buckets that the query itself is in. */
static void prefetch_buckets(const struct search *s) {
    for (size_t i = 0; i < s->blocks->m; i++) {
        const struct hamming_block *block = s->blocks->block + i;
        uint32_t start = block->heads[s->values[i]];
        if (start < s->blocks->n) {
            prefetch(block->folds + start);
            prefetch((const char *)(block->folds + start) + 64);
        }
    }
}

/* Whether a scan of all codes would have read less. */
static int reads_too_much(const struct search *s) { return s->read > s->blocks->n; }

/* 1 if a code differs in less than levels[j] bits of some block j < i, or j > i too if `all`. */
static int in_other_block(const struct hamming_blocks *blocks, const uint64_t *a, const uint64_t *b,
                          const uint8_t *levels, size_t i, size_t end) {
    for (size_t j = 0; j < end; j++) {
        if (j != i && levels[j] && hamming_differing(a, b, blocks->words, blocks->block[j].mask) < levels[j]) return 1;
    }
    return 0;
}

/* What is done with the codes of a bucket whose folds are near; 0 ends the search of the bucket. */
struct answer {
    unsigned radius;
    const uint8_t *levels; /* codes in another block within these are known already */
    size_t known_end;      /* of the blocks that count for that */
    const uint8_t *live;
    uint64_t first_row, first_query;
    uint64_t *scratch;         /* of a scan */
    struct hamming_hits *hits; /* either these */
    struct hamming_best *best; /* or these */
};

static int answer_row(const struct search *s, struct answer *to, size_t i, size_t row) {
    const struct hamming_blocks *blocks = s->blocks;
    const uint64_t *code = blocks->codes + row * blocks->words;
    unsigned distance = hamming_distance(code, s->query, blocks->words);
    if (distance > to->radius || (to->live && !to->live[row])) return 1;
    if (in_other_block(blocks, code, s->query, to->levels, i, to->known_end)) return 1;
    uint64_t hit = hamming_hit(to->first_query, distance, to->first_row + row);
    if (to->best) {
        hamming_offer(to->best, hit);
        hamming_tighten(to->best);
        to->radius = hamming_reach(to->best, 64 * blocks->words);
    } else {
        if (to->hits->count == to->hits->room) return 0;
        to->hits->at[to->hits->count++] = hit;
    }
    return 1;
}

static int search_bucket(struct search *s, struct answer *to, size_t i, uint32_t value) {
    const struct hamming_block *block = s->blocks->block + i;
    const size_t start = block->heads[value], end = block->heads[value + (size_t)1];
    uint32_t places[HAMMING_PIECE];
    s->read += LOOKUP_CODES + (end - start);
    if (reads_too_much(s)) return 1;
    for (size_t at = start; at < end; at += HAMMING_PIECE) {
        size_t size = end - at < HAMMING_PIECE ? end - at : HAMMING_PIECE;
        size_t count = s->kernels->near_words(block->folds + at, size, s->fold, to->radius, places);
        for (size_t p = 0; p < count; p++) {
            if (!answer_row(s, to, i, block->rows[at + places[p]])) return 0;
        }
    }
    return 1;
}

/* All buckets whose values differ from the query's in exactly `flips` bits. */
static int search_level(struct search *s, struct answer *to, size_t i, unsigned flips) {
    const struct hamming_block *block = s->blocks->block + i;
    if (flips == 0) return search_bucket(s, to, i, s->values[i]);
    if (flips > block->bits) return 1;
    for (uint64_t flip = ((uint64_t)1 << flips) - 1; flip < hamming_buckets(block); flip = hamming_next_flip(flip)) {
        if (!search_bucket(s, to, i, s->values[i] ^ (uint32_t)flip)) return 0;
        if (reads_too_much(s)) return 1;
    }
    return 1;
}

/* All codes, in the order of their rows. */
static struct hamming_scan all_codes(const struct search *s, const struct answer *to) {
    return (struct hamming_scan){s->kernels, s->blocks->codes, s->blocks->n, s->blocks->words, NULL, to->live,
                                 to->first_row, to->scratch};
}

static int search_within(struct search *s, struct answer *to, const uint8_t *levels, size_t *scanned) {
    const struct hamming_blocks *blocks = s->blocks;
    const size_t before = to->hits->count;
    int has_room = 1;
    for (size_t i = 0; has_room && i < blocks->m && !reads_too_much(s); i++) {
        to->known_end = i;
        for (unsigned flips = 0; has_room && flips < levels[i] && !reads_too_much(s); flips++) {
            has_room = search_level(s, to, i, flips);
        }
    }
    if (has_room && reads_too_much(s)) {
        const struct hamming_scan scan = all_codes(s, to);
        size_t done = 0;
        to->hits->count = before;
        has_room = hamming_scan_within(&scan, s->query, 1, to->radius, to->first_query, &done, to->hits);
        *scanned += has_room != 0;
    }
    if (!has_room) to->hits->count = before;
    return has_room;
}

int hamming_within(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, const uint64_t *queries,
                   size_t m, unsigned radius, const uint8_t *levels, const uint8_t *live, uint64_t first_row,
                   uint64_t first_query, uint64_t *scratch, size_t *done, struct hamming_hits *hits, size_t *scanned) {
    struct search tile[HAMMING_TILE];
    while (*done < m) {
        const size_t start = *done, size = m - start < HAMMING_TILE ? m - start : HAMMING_TILE;
        for (size_t t = 0; t < size; t++) begin(tile + t, kernels, blocks, queries + (start + t) * blocks->words);
        for (size_t t = 0; t < size; t++) {
            if (t == 0) prefetch_buckets(tile);
            if (t + 1 < size) prefetch_buckets(tile + t + 1);
            struct answer to = {.radius = radius, .levels = levels, .live = live, .first_row = first_row,
                                .first_query = first_query + start + t, .scratch = scratch, .hits = hits};
            if (!search_within(tile + t, &to, levels, scanned)) return 0;
            ++*done;
        }
    }
    return 1;
}

/* ---- the nearest ---- */

/* Take the rows from first_row on out of the best. */
static void forget_from(struct hamming_best *best, uint64_t first_row) {
    const size_t count = best->count;
    best->count = 0;
    best->bound = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if ((best->at[i] & UINT32_MAX) < first_row) best->at[best->count++] = best->at[i];
    }
}

static void search_nearest(struct search *s, struct answer *to, size_t *scanned) {
    const struct hamming_blocks *blocks = s->blocks;
    uint8_t levels[HAMMING_MAX_BLOCKS] = {0};
    to->levels = levels;
    to->known_end = blocks->m;
    to->radius = hamming_reach(to->best, 64 * blocks->words);
    /* After step j, all codes within distance j are found: the levels add up to j + 1. */
    for (size_t j = 0; j <= 64 * blocks->words && !reads_too_much(s); j++) {
        hamming_settle_best(to->best);
        if (to->best->count == to->best->k && hamming_reach(to->best, 64 * blocks->words) < j) return;
        search_level(s, to, j % blocks->m, levels[j % blocks->m]);
        levels[j % blocks->m]++;
    }
    if (!reads_too_much(s)) return;
    forget_from(to->best, to->first_row);
    const struct hamming_scan scan = all_codes(s, to);
    hamming_scan_nearest(&scan, s->query, 1, to->best);
    ++*scanned;
}

void hamming_nearest(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks,
                     const uint64_t *queries, size_t m, const uint8_t *live, uint64_t first_row, uint64_t *scratch,
                     struct hamming_best *best, size_t *scanned) {
    struct search tile[HAMMING_TILE];
    for (size_t start = 0; start < m; start += HAMMING_TILE) {
        size_t size = m - start < HAMMING_TILE ? m - start : HAMMING_TILE;
        for (size_t t = 0; t < size; t++) begin(tile + t, kernels, blocks, queries + (start + t) * blocks->words);
        for (size_t t = 0; t < size; t++) {
            if (t + 1 < size) prefetch_buckets(tile + t + 1);
            struct answer to = {.live = live, .first_row = first_row, .scratch = scratch, .best = best + start + t};
            search_nearest(tile + t, &to, scanned);
        }
    }
}

/* ---- pairs ---- */

int hamming_cross(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, size_t i, size_t a,
                  size_t a_end, size_t b, size_t b_end, unsigned radius, const uint8_t *levels,
                  struct hamming_hits *pairs) {
    const struct hamming_block *block = blocks->block + i;
    const size_t words = blocks->words, before = pairs->count;
    uint32_t places[HAMMING_PIECE];
    for (size_t piece = b; piece < b_end; piece += HAMMING_PIECE) {
        const size_t piece_end = b_end - piece < HAMMING_PIECE ? b_end : piece + HAMMING_PIECE;
        for (size_t p = a; p < a_end && p + 1 < piece_end; p++) {
            const size_t from = p + 1 > piece ? p + 1 : piece, row = block->rows[p];
            size_t count = kernels->near_words(block->folds + from, piece_end - from, block->folds[p], radius, places);
            for (size_t h = 0; h < count; h++) {
                const size_t other = block->rows[from + places[h]];
                const uint64_t *x = blocks->codes + row * words, *y = blocks->codes + other * words;
                if (words > 1 && hamming_distance(x, y, words) > radius) continue;
                if (in_other_block(blocks, x, y, levels, i, i)) continue;
                if (pairs->count == pairs->room) {
                    pairs->count = before;
                    return 0;
                }
                pairs->at[pairs->count++] = row < other ? (uint64_t)row << 32 | other : (uint64_t)other << 32 | row;
            }
        }
    }
    return 1;
}

int hamming_pairs(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks, size_t i, size_t *value,
                  size_t end, unsigned radius, const uint8_t *levels, size_t crowd, struct hamming_hits *pairs) {
    const struct hamming_block *block = blocks->block + i;
    const uint32_t *heads = block->heads;
    uint64_t compared = 0;
    for (; *value < end; ++*value) {
        const size_t v = *value, start = heads[v], stop = heads[v + 1], size = stop - start, before = pairs->count;
        if (!size) continue;
        if (compared > MOST_COMPARISONS) return -1;
        if (size <= crowd) {
            compared += LOOKUP_CODES + size * size / 2;
            if (!hamming_cross(kernels, blocks, i, start, stop, start, stop, radius, levels, pairs)) return 0;
        }
        for (unsigned flips = 1; flips < levels[i] && flips <= block->bits; flips++) {
            uint64_t flip = ((uint64_t)1 << flips) - 1;
            for (; flip < hamming_buckets(block); flip = hamming_next_flip(flip)) {
                const size_t w = v ^ (size_t)flip, other = heads[w + 1] - heads[w];
                compared += LOOKUP_CODES + size * other;
                if (w < v || !other || size + other > crowd) continue;
                if (!hamming_cross(kernels, blocks, i, start, stop, heads[w], heads[w + 1], radius, levels, pairs)) {
                    pairs->count = before;
                    return 0;
                }
            }
        }
    }
    return 1;
}
