/* Each row's buckets are lists of later rows; merged, they give its pairs once and in order. */
#include "grouping/row_pairs.h"

#include <limits.h>

void row_pairs_link_buckets(int32_t *buckets, size_t bands, size_t n, int32_t *last) {
    for (size_t row = n; row-- > 0;) {
        int32_t *place = buckets + row * bands, bucket = *place;
        if (bucket < 0) continue;
        *place = last[bucket];
        last[bucket] = (int32_t)row;
    }
}

static void begin_row(struct row_pairs *pairs) {
    const int32_t *next = pairs->next + pairs->row * pairs->bands;
    for (size_t band = 0; band < pairs->bands; band++) pairs->cursors[band] = next[band] < 0 ? INT32_MAX : next[band];
    pairs->begun = 1;
}

/* The smallest row at the cursors, which move on from it; INT32_MAX at the end. */
static int32_t next_row(struct row_pairs *pairs) {
    int32_t least = INT32_MAX, *cursors = pairs->cursors;
    for (size_t band = 0; band < pairs->bands; band++) least = cursors[band] < least ? cursors[band] : least;
    if (least == INT32_MAX) return least;
    const int32_t *next = pairs->next + (size_t)least * pairs->bands;
    for (size_t band = 0; band < pairs->bands; band++) {
        if (cursors[band] == least) cursors[band] = next[band] < 0 ? INT32_MAX : next[band];
    }
    return least;
}

size_t row_pairs_next(struct row_pairs *pairs, int64_t *left, int64_t *right, size_t capacity, size_t work) {
    size_t made = 0;
    for (; work > 0 && made < capacity && pairs->row < pairs->n; work--) {
        if (!pairs->begun) begin_row(pairs);
        int32_t other = next_row(pairs);
        if (other == INT32_MAX) {
            pairs->begun = 0;
            pairs->row++;
            continue;
        }
        int64_t i = pairs->of[pairs->row], j = pairs->of[other];
        pairs->met++;
        if (pairs->least) {
            const uint64_t *signatures = pairs->signatures;
            size_t k = pairs->k;
            const uint64_t *a = signatures + (size_t)i * k, *b = signatures + (size_t)j * k;
            if (slots_agreement(pairs->slots, a, b, k) < pairs->least) continue;
        }
        left[made] = i;
        right[made++] = j;
    }
    return made;
}
