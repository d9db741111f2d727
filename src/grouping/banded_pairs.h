/* Groups from all similar pairs, where buckets are bands of slots: the pairs that a walk (grouping.h) would find.
 *
 * A walk compares two rows only if all slots of one of their bands are equal, and enough slots altogether. The groups
 * follow from some of the pairs, and only these are looked at.
 *
 * Contract: rows are numbered 0..n in the order of the walk, n < 2^31; bands * rows <= k. All arrays are owned by the
 * caller, and nothing is allocated. */
#ifndef LSHFAST_BANDED_PAIRS_H
#define LSHFAST_BANDED_PAIRS_H

#include "slots/slots.h"

struct banded_pairs {
    const uint64_t *signatures;   /* (n, k) */
    size_t k, bands, rows, least; /* slots; bands, and slots of each; how many slots must be equal */
    int chains;                   /* chains instead of stars */
    const struct slots_kernels *slots;
    int32_t *parent; /* by row: 0, 1, 2, ... at first; see struct grouping */
};

/* Go on with the next n similar pairs, right << 32 | left with left < right, ascending and each once. Writes those that
 * the walk would find, and returns their number; found may be pairs. */
size_t banded_pairs_find(struct banded_pairs *state, const uint64_t *pairs, size_t n, uint64_t *found);

#endif
