/* Each pair reads two signatures from anywhere in memory, so it is looked at only as far as it takes to decide it. */
#include "grouping/banded_pairs.h"

#include "grouping/grouping_parts.h"

/* Slots that are compared between two looks at their number. */
#define SLOTS_AT_ONCE 32

static int share_band(const struct banded_pairs *state, const uint64_t *a, const uint64_t *b) {
    for (size_t band = 0; band < state->bands; band++, a += state->rows, b += state->rows) {
        size_t row = 0;
        while (row < state->rows && a[row] == b[row]) row++;
        if (row == state->rows) return 1;
    }
    return 0;
}

static int agree(const struct banded_pairs *state, const uint64_t *a, const uint64_t *b) {
    size_t equal = 0;
    for (size_t at = 0; at < state->k && equal < state->least; at += SLOTS_AT_ONCE) {
        size_t some = state->k - at < SLOTS_AT_ONCE ? state->k - at : SLOTS_AT_ONCE;
        equal += state->slots->equal64(a + at, b + at, some);
    }
    return equal >= state->least;
}

size_t banded_pairs_find(struct banded_pairs *state, const uint64_t *pairs, size_t n, uint64_t *found) {
    size_t made = 0;
    int32_t *parent = state->parent;
    for (size_t i = 0; i < n; i++) {
        int32_t right = (int32_t)(pairs[i] >> 32), left = (int32_t)(pairs[i] & UINT32_MAX);
        if (state->chains ? grouping_root_of(parent, left) == grouping_root_of(parent, right)
                          : parent[right] != right || parent[left] != left) {
            continue;
        }
        const uint64_t *a = state->signatures + (size_t)left * state->k;
        const uint64_t *b = state->signatures + (size_t)right * state->k;
        if (a[0] == EMPTY_SLOT || !share_band(state, a, b) || !agree(state, a, b)) continue;
        if (state->chains) grouping_join(parent, left, right);
        else parent[right] = left;
        found[made++] = pairs[i];
    }
    return made;
}
