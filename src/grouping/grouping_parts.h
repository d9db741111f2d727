/* What the files of a walk share: steps until the next look for signals, the forest of a chain, heaps, and how a row
 * is looked up in a crowd. */
#ifndef LSHFAST_GROUPING_PARTS_H
#define LSHFAST_GROUPING_PARTS_H

#include "grouping/grouping.h"

/* Simple steps between two calls of pause(). */
#define GROUPING_STRETCH ((size_t)1 << 16)

/* Count steps; 1 where what is under way is to stop. */
static inline int grouping_must_stop(struct grouping_scratch *scratch, size_t steps) {
    scratch->steps += steps;
    if (scratch->steps < GROUPING_STRETCH) return 0;
    scratch->steps = 0;
    return scratch->pause(scratch->last) != 0;
}

/* ---- chains ---- */

static inline int32_t grouping_root_of(int32_t *parent, int32_t row) {
    while (parent[row] != row) {
        parent[row] = parent[parent[row]];
        row = parent[row];
    }
    return row;
}

static inline void grouping_join(int32_t *parent, int32_t a, int32_t b) {
    a = grouping_root_of(parent, a);
    b = grouping_root_of(parent, b);
    if (a < b) parent[b] = a;
    else parent[a] = b;
}

static inline int grouping_are_joined(const struct grouping *grouping, int32_t a, int32_t b) {
    return grouping_root_of(grouping->parent, a) == grouping_root_of(grouping->parent, b);
}

/* ---- buckets ---- */

static inline int grouping_share_bucket(const struct grouping *grouping, size_t a, size_t b) {
    const int32_t *left = grouping->buckets + a * grouping->bands, *right = grouping->buckets + b * grouping->bands;
    int share = 0;
    for (size_t band = 0; band < grouping->bands; band++) share |= left[band] == right[band] && left[band] >= 0;
    return share;
}

/* ---- heaps, whose steps are n log n whatever somebody makes of the numbers ---- */

static inline void grouping_sift_down(uint64_t *heap, size_t n, size_t at, uint64_t number) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= number) break;
        heap[at] = heap[child];
    }
    heap[at] = number;
}

/* Returns 1 where pause stopped it. */
static inline int grouping_make_heap(uint64_t *heap, size_t n, struct grouping_scratch *scratch) {
    for (size_t at = n / 2; at-- > 0;) {
        grouping_sift_down(heap, n, at, heap[at]);
        if (grouping_must_stop(scratch, 4)) return 1;
    }
    return 0;
}

/* Take the smallest number out of a heap of n > 0. */
static inline uint64_t grouping_take_smallest(uint64_t *heap, size_t n) {
    uint64_t smallest = heap[0];
    grouping_sift_down(heap, n - 1, 0, heap[n - 1]);
    return smallest;
}

/* ---- crowds ---- */

/* What a crowd knows of a row; `listed` of its words, the rarest, are in scratch->words, its bitmap in scratch->bitmap. */
struct crowd_row {
    struct crowd_member member;
    size_t listed;
    int is_dense;
};

/* Returns 1 where pause stopped it. */
int crowd_describe(const struct grouping *grouping, size_t row, struct grouping_scratch *scratch,
                   struct crowd_row *described);

/* Write to scratch->found the rows of the crowd that may be similar to a row, share a bucket with it and are not joined to
 * it, and return their number, SIZE_MAX where pause stopped it. */
size_t crowd_find(struct grouping *grouping, const struct crowd_row *row, struct grouping_scratch *scratch);

/* Whether a row of so many tokens can be added. */
int crowd_has_room(const struct crowd *crowd, size_t tokens);

/* Add a row that was described, for which there is room. */
void crowd_append(struct crowd *crowd, const struct crowd_row *row, const struct grouping_scratch *scratch);

#endif
