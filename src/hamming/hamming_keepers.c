/* The greedy choice of keepers, a batch of rows at a time. */
#include "hamming/hamming.h"

#include "hamming/hamming_parts.h"

/* ---- rows kept before the batch ---- */

/* The first kept entry of a bucket that is near to an entry; HAMMING_NO_ROW if there is none. Kept rows ascend. */
static uint32_t first_near(const struct hamming_kernels *kernels, const struct hamming_blocks *blocks,
                           const struct hamming_block *block, size_t start, size_t end, uint64_t fold,
                           const uint64_t *code, unsigned radius) {
    uint32_t places[HAMMING_PIECE];
    for (size_t at = start; at < end; at += HAMMING_PIECE) {
        size_t size = end - at < HAMMING_PIECE ? end - at : HAMMING_PIECE;
        size_t count = kernels->near_words(block->folds + at, size, fold, radius, places);
        for (size_t p = 0; p < count; p++) {
            uint32_t row = block->rows[at + places[p]];
            if (blocks->words == 1) return row;
            if (hamming_distance(blocks->codes + row * blocks->words, code, blocks->words) <= radius) return row;
        }
    }
    return HAMMING_NO_ROW;
}

int hamming_match_kept(const struct hamming_kernels *kernels, struct hamming_keepers *keepers, size_t i, size_t value,
                       size_t end, unsigned radius, const uint8_t *levels, size_t low, size_t high,
                       uint32_t *keeper_of) {
    const struct hamming_blocks *blocks = &keepers->blocks;
    const struct hamming_block *block = blocks->block + i;
    const uint32_t *heads = block->heads, *kept = keepers->kept[i];
    for (size_t v = value; v < end; v++) {
        const size_t start = keepers->next[i][v];
        size_t stop = start;
        while (stop < heads[v + 1] && block->rows[stop] < high) stop++;
        if (start == stop) continue;
        if (block->rows[start] < low) return 0;
        keepers->next[i][v] = (uint32_t)stop;
        for (unsigned flips = 0; flips < levels[i] && flips <= block->bits; flips++) {
            uint64_t flip = ((uint64_t)1 << flips) - 1;
            do {
                const size_t w = v ^ (size_t)flip, from = heads[w], to = from + kept[w];
                for (size_t p = start; p < stop && from < to; p++) {
                    const uint32_t row = block->rows[p];
                    uint32_t *keeper = keeper_of + (row - low);
                    uint32_t found = first_near(kernels, blocks, block, from, to, block->folds[p],
                                                blocks->codes + row * blocks->words, radius);
                    if (found < *keeper) *keeper = found;
                }
                if (flips == 0) break;
                flip = hamming_next_flip(flip);
            } while (flip < hamming_buckets(block));
        }
    }
    return 1;
}

/* ---- rows of the batch ---- */

/* A row that no earlier keeper removes, and its places. */
struct undecided {
    size_t row;
    uint64_t fold;
    uint32_t values[HAMMING_MAX_BLOCKS];
};

static uint32_t first_fresh(const struct hamming_kernels *kernels, const struct hamming_keepers *keepers,
                            const struct undecided *u, size_t i, unsigned radius, unsigned levels) {
    const struct hamming_blocks *blocks = &keepers->blocks;
    const struct hamming_block *block = blocks->block + i;
    const uint64_t *code = blocks->codes + u->row * blocks->words;
    uint32_t first = HAMMING_NO_ROW;
    for (unsigned flips = 0; flips < levels && flips <= block->bits; flips++) {
        uint64_t flip = ((uint64_t)1 << flips) - 1;
        do {
            const size_t w = u->values[i] ^ (size_t)flip;
            const uint32_t from = keepers->fresh[i][w], to = keepers->kept[i][w];
            if (from < to) {
                const size_t head = block->heads[w];
                uint32_t found = first_near(kernels, blocks, block, head + from, head + to, u->fold, code, radius);
                first = found < first ? found : first;
            }
            if (flips == 0) break;
            flip = hamming_next_flip(flip);
        } while (flip < hamming_buckets(block));
    }
    return first;
}

static void decide(const struct hamming_kernels *kernels, struct hamming_keepers *keepers, const struct undecided *u,
                   unsigned radius, const uint8_t *levels, uint32_t *keeper) {
    const struct hamming_blocks *blocks = &keepers->blocks;
    for (size_t i = 0; i < blocks->m; i++) {
        uint32_t found = first_fresh(kernels, keepers, u, i, radius, levels[i]);
        *keeper = found < *keeper ? found : *keeper;
    }
    if (*keeper != HAMMING_NO_ROW) return;
    *keeper = (uint32_t)u->row;
    for (size_t i = 0; i < blocks->m; i++) {
        const struct hamming_block *block = blocks->block + i;
        size_t position = block->heads[u->values[i]] + (size_t)keepers->kept[i][u->values[i]]++;
        block->folds[position] = u->fold;
        block->rows[position] = (uint32_t)u->row;
    }
}

void hamming_settle(const struct hamming_kernels *kernels, struct hamming_keepers *keepers, unsigned radius,
                    const uint8_t *levels, size_t low, size_t high, uint32_t *keeper_of) {
    const struct hamming_blocks *blocks = &keepers->blocks;
    struct undecided tile[HAMMING_TILE];
    for (size_t row = low; row < high;) {
        size_t size = 0;
        for (; row < high && size < HAMMING_TILE; row++) {
            if (keeper_of[row - low] != HAMMING_NO_ROW) continue;
            struct undecided *u = tile + size++;
            const uint64_t *code = blocks->codes + row * blocks->words;
            u->row = row;
            u->fold = hamming_fold(code, blocks->words);
            for (size_t i = 0; i < blocks->m; i++) {
                kernels->select(code, 1, blocks->words, blocks->block[i].mask, u->values + i);
                prefetch(keepers->kept[i] + u->values[i]);
                prefetch(keepers->fresh[i] + u->values[i]);
                prefetch(blocks->block[i].heads + u->values[i]);
            }
        }
        for (size_t t = 0; t < size; t++) {
            for (size_t i = 0; i < blocks->m; i++) {
                const struct hamming_block *block = blocks->block + i;
                size_t position = block->heads[tile[t].values[i]] + (size_t)keepers->fresh[i][tile[t].values[i]];
                prefetch(block->folds + position);
                prefetch(block->rows + position);
            }
        }
        for (size_t t = 0; t < size; t++) {
            decide(kernels, keepers, tile + t, radius, levels, keeper_of + (tile[t].row - low));
        }
    }
}
