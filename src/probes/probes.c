/* The search for the cheapest choices, and the alternatives of signs, of cross-polytopes and of lines. */
#include "probes/probes.h"
#include "projections/projections.h"

#include <math.h>
#include <string.h>

NO_CONTRACTION

#define NO_PREFIX UINT32_MAX

struct search {
    const struct probes_space *space;
    size_t ranks, made, waiting;
};

/* Whether choice a comes before b: the cheaper one, and of two that cost the same, the one that was made first. */
static inline int before(const struct probes_choice *choices, uint32_t a, uint32_t b) {
    return choices[a].cost < choices[b].cost || (choices[a].cost == choices[b].cost && a < b);
}

/* Add the choice of `prefix` with an alternative, unless there is none of that rank. */
static void add(struct search *search, uint32_t prefix, uint32_t place, uint32_t rank) {
    const struct probes_space *space = search->space;
    if (rank >= search->ranks) return;
    double step = space->costs[space->order[place] * search->ranks + rank];
    if (step == INFINITY) return;
    uint32_t made = (uint32_t)search->made++;
    struct probes_choice choice = {space->choices[prefix].cost + step, prefix, place, rank};
    space->choices[made] = choice;
    size_t at = search->waiting++;
    for (; at && before(space->choices, made, space->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        space->heap[at] = space->heap[(at - 1) / 2];
    }
    space->heap[at] = made;
}

static uint32_t take_cheapest(struct search *search) {
    uint32_t *heap = search->space->heap, taken = heap[0], last = heap[--search->waiting];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < search->waiting) {
        child += child + 1 < search->waiting && before(search->space->choices, heap[child + 1], heap[child]);
        if (!before(search->space->choices, heap[child], last)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return taken;
}

/* The functions by the cost of their first step. */
static void sort_functions(const struct probes_space *space, size_t rows, size_t ranks) {
    for (size_t i = 0; i < rows; i++) {
        size_t at = i;
        for (; at && space->costs[i * ranks + 1] < space->costs[space->order[at - 1] * ranks + 1]; at--) {
            space->order[at] = space->order[at - 1];
        }
        space->order[at] = (uint32_t)i;
    }
}

size_t probes_cheapest(const struct probes_space *space, size_t rows, size_t ranks, size_t probes, uint32_t *chosen) {
    struct search search = {space, ranks, 1, 0};
    const struct probes_choice first = {0, NO_PREFIX, 0, 0};
    memset(chosen, 0, rows * sizeof *chosen);
    if (ranks < 2) return 1;
    sort_functions(space, rows, ranks);
    space->choices[0] = first;
    add(&search, 0, 0, 1);
    for (size_t k = 1; k < probes; k++) {
        if (!search.waiting) return k;
        uint32_t taken = take_cheapest(&search);
        const struct probes_choice choice = space->choices[taken];
        uint32_t *ranks_of = chosen + k * rows;
        memset(ranks_of, 0, rows * sizeof *ranks_of);
        for (uint32_t at = taken; at; at = space->choices[at].prefix) {
            ranks_of[space->order[space->choices[at].place]] = space->choices[at].rank;
        }
        add(&search, choice.prefix, choice.place, choice.rank + 1);
        if (choice.place + 1 == rows) continue;
        add(&search, taken, choice.place + 1, 1);
        if (choice.rank == 1) add(&search, choice.prefix, choice.place + 1, 1);
    }
    return probes;
}

/* The buckets of the cheapest choices of the alternatives in space->costs and space->values. */
static void buckets_of_choices(const struct probes_space *space, size_t rows, size_t ranks, size_t probes,
                               const struct probes_bucket *bucket, uint32_t *chosen, uint64_t *out) {
    size_t found = probes_cheapest(space, rows, ranks, probes, chosen);
    for (size_t k = 0; k < found; k++) {
        uint64_t joined = 0;
        for (size_t i = 0; i < rows; i++) {
            space->slots[i] = space->values[i * ranks + chosen[k * rows + i]];
            if (!bucket->hash) joined |= space->slots[i] << bucket->bits * i;
        }
        out[k] = joined;
        if (bucket->hash) bucket->hash(space->slots, &bucket->start, 1, rows, out + k);
    }
    memset(out + found, 0xFF, (probes - found) * sizeof *out);
}

void probes_of_signs(const struct probes_space *space, const float *y, size_t rows, size_t probes,
                     const struct probes_bucket *bucket, uint32_t *chosen, uint64_t *out) {
    for (size_t i = 0; i < rows; i++) {
        space->costs[2 * i] = 0;
        space->costs[2 * i + 1] = (double)y[i] * y[i];
        space->values[2 * i] = y[i] > 0;
        space->values[2 * i + 1] = !(y[i] > 0);
    }
    buckets_of_choices(space, rows, 2, probes, bucket, chosen, out);
}

/* A number that is greater for a greater coordinate, without its sign, and for the first of equal ones. */
static inline uint64_t key_of(float y, size_t place) {
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    return (uint64_t)(bits & INT32_MAX) << 32 | (UINT32_MAX - (uint32_t)place);
}

static void sift(uint64_t *heap, size_t at, size_t n) {
    uint64_t key = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] > heap[child];
        if (heap[child] <= key) break;
        heap[at] = heap[child];
    }
    heap[at] = key;
}

/* The alternatives of one function, of which `ranks` are of use. */
static void alternatives(const float *y, size_t outputs, size_t ranks, uint64_t *sorted, double *costs,
                         uint64_t *values) {
    size_t left = outputs;
    for (size_t i = 0; i < outputs; i++) sorted[i] = key_of(y[i], i);
    for (size_t i = outputs / 2; i--;) sift(sorted, i, outputs);
    double most = 0;
    for (size_t rank = 0; rank < ranks && rank < outputs; rank++) {
        uint64_t key = sorted[0];
        size_t place = UINT32_MAX - (uint32_t)key;
        double size = y[place] < 0 ? -(double)y[place] : (double)y[place];
        if (!rank) most = size;
        costs[rank] = (most - size) * (most - size);
        values[rank] = place + (y[place] < 0 ? outputs : 0);
        sorted[0] = sorted[--left];
        sorted[left] = key; /* in the end, all are ascending */
        sift(sorted, 0, left);
    }
    for (size_t rank = outputs; rank < ranks; rank++) {
        size_t place = UINT32_MAX - (uint32_t)sorted[rank - outputs];
        double size = y[place] < 0 ? -(double)y[place] : (double)y[place];
        costs[rank] = (most + size) * (most + size);
        values[rank] = place + (y[place] < 0 ? 0 : outputs);
    }
}

void probes_of_polytopes(const struct probes_space *space, const float *y, size_t outputs, size_t rows, size_t ranks,
                         size_t probes, const struct probes_bucket *bucket, uint32_t *chosen, uint64_t *out) {
    for (size_t i = 0; i < rows; i++) {
        alternatives(y + i * outputs, outputs, ranks, space->sorted, space->costs + i * ranks,
                     space->values + i * ranks);
    }
    buckets_of_choices(space, rows, ranks, probes, bucket, chosen, out);
}

void probes_of_lines(const struct probes_space *space, const double *y, size_t rows, size_t probes,
                     const struct probes_bucket *bucket, uint32_t *chosen, uint64_t *out) {
    for (size_t i = 0; i < rows; i++) {
        int64_t cell = projections_cell(y[i]);
        double below = y[i] - (double)cell, above = 1.0 - below;
        int down = below <= above;
        double near = down ? below : above, far = down ? above : below;
        double *costs = space->costs + 3 * i;
        uint64_t *values = space->values + 3 * i;
        costs[0] = 0, costs[1] = near * near, costs[2] = far * far;
        values[0] = projections_value(cell);
        values[1] = projections_value(cell + (down ? -1 : 1));
        values[2] = projections_value(cell + (down ? 1 : -1));
    }
    buckets_of_choices(space, rows, 3, probes, bucket, chosen, out);
}
