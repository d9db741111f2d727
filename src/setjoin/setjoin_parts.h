/* What the files of the CPU levels share. */
#ifndef LSHFAST_SETJOIN_PARTS_H
#define LSHFAST_SETJOIN_PARTS_H

#include "setjoin/setjoin.h"

/* Find the classes, and the sets, that can reach the threshold with the probing set of this number and size. Returns the
 * number of steps. */
size_t setjoin_find_window(const struct setjoin_rule *rule, const struct setjoin_index *index, int self, size_t probe,
                           uint32_t size, struct setjoin_window *window);

/* A bit that differs is a token that only one set has, so at most count + count - 2 need bits differ. Compiled for a
 * level with an instruction that counts ones, ones_of becomes this instruction. */
static inline size_t setjoin_screen(const struct setjoin_set *sets, const struct setjoin_set *probe,
                                    struct setjoin_candidate *batch, size_t n) {
    size_t kept = 0;
    for (size_t c = 0; c < n; c++) {
        struct setjoin_candidate candidate = batch[c];
        const struct setjoin_set *set = sets + candidate.row;
        uint64_t differ = ones_of(set->bits[0] ^ probe->bits[0]) + ones_of(set->bits[1] ^ probe->bits[1]);
        batch[kept] = candidate;
        kept += differ + 2 * (uint64_t)candidate.need <= (uint64_t)set->count + probe->count;
    }
    return kept;
}

/* The rows of [from, to), one by one. */
static inline size_t setjoin_within(const uint64_t *words, size_t stride, size_t width, const uint64_t *row, size_t from,
                                  size_t to, uint32_t most, uint32_t *out) {
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        uint64_t differ = 0;
        for (size_t w = 0; w < width; w++) differ += ones_of(words[w * stride + i] ^ row[w]);
        out[count] = (uint32_t)i;
        count += differ <= most;
    }
    return count;
}

#endif
