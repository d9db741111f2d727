/* The join of sets of a small universe. Their prefixes would say little, since each token is in many sets; a word holds
 * 64 tokens, so comparing all that the sizes allow is faster. */
#include "setjoin/setjoin_parts.h"

/* Compare the probing set with a block of rows of one class. Returns the number of steps. */
static size_t compare_block(const struct setjoin_kernels *kernels, const struct setjoin_index *index,
                            const struct setjoin_bitmaps *bitmaps, struct setjoin_bits_walk *walk,
                            struct setjoin_found *out, size_t *found) {
    uint32_t a = index->class_sizes[walk->class], b = walk->window.size, need = walk->window.needs[walk->class];
    uint32_t end = index->class_starts[walk->class + 1];
    if (end > walk->window.high) end = walk->window.high;
    if (end - walk->row > SETJOIN_ROWS) end = walk->row + SETJOIN_ROWS;
    const uint64_t *own = bitmaps->probes + walk->probe * bitmaps->width;
    size_t close = kernels->within(bitmaps->words, bitmaps->stride, bitmaps->width, own, walk->row, end, a + b - 2 * need,
                                   walk->rows);
    for (size_t i = 0; i < close; i++) {
        uint32_t overlap = 0;
        for (size_t w = 0; w < bitmaps->width; w++) {
            overlap += (uint32_t)ones_of(bitmaps->words[w * bitmaps->stride + walk->rows[i]] & own[w]);
        }
        struct setjoin_found pair = {walk->rows[i], (uint32_t)walk->probe, overlap};
        out[(*found)++] = pair;
    }
    size_t rows = end - walk->row;
    walk->candidates += rows;
    walk->row = end;
    walk->class += end == index->class_starts[walk->class + 1];
    return 1 + close + rows * bitmaps->width / 4;
}

int setjoin_search_bits(const struct setjoin_kernels *kernels, const struct setjoin_rule *rule,
                        const struct setjoin_index *index, const struct setjoin_bitmaps *bitmaps,
                        struct setjoin_bits_walk *walk, size_t work, struct setjoin_found *out, size_t room,
                        size_t *found) {
    size_t steps = 0;
    *found = 0;
    while (walk->probe < walk->end) {
        if (steps >= work || room - *found < SETJOIN_ROWS) return 0;
        if (!walk->begun) {
            uint32_t size = bitmaps->probe_sizes[walk->probe];
            steps += setjoin_find_window(rule, index, walk->self, walk->probe, size, &walk->window);
            walk->class = walk->window.first;
            walk->row = walk->window.low;
            walk->begun = 1;
        } else if (walk->class < walk->window.last && walk->row < walk->window.high) {
            steps += compare_block(kernels, index, bitmaps, walk, out, found);
        } else {
            walk->begun = 0;
            walk->probe++;
        }
    }
    return 1;
}
