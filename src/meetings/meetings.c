/* The left rows of a bucket are taken in chunks, whose codes are copied to one place; each right row is compared with a
 * chunk at once. So a crowded bucket is read from the cache. */
#include "meetings/meetings.h"

#include <string.h>

#define LEAST_NEAR 128           /* near codes of a row in a chunk, from which products are computed, */
#define NEAR_SHARE 4             /* if at least one in so many codes is near: products are those of the whole chunk */
#define NOT_PAIRED INT32_MAX     /* more than all bits of a code */
#define TRIED ((size_t)1 << 16)  /* pairs with products, after which these must leave out at least a quarter */

static void find_end(struct meetings_list *list) {
    list->end = list->first;
    while (list->end < list->n && list->keys[list->end] == list->keys[list->first]) list->end++;
}

/* Move both lists to their next common bucket; 0 at the end, or where that takes more than `work` steps. */
static int next_bucket(struct meetings *state, size_t *work) {
    struct meetings_list *left = &state->left, *right = &state->right;
    left->first = left->end;
    right->first = right->end;
    while (left->first < left->n && right->first < right->n) {
        uint64_t a = left->keys[left->first], b = right->keys[right->first];
        if (a == b && a != MEETINGS_NO_KEY) {
            find_end(left);
            find_end(right);
            state->begun = left->first;
            state->row = right->first;
            return 1;
        }
        if (a <= b) left->first++;
        if (b <= a) right->first++;
        if (--*work == 0) {
            state->begun = left->end = left->first;
            state->row = right->end = right->first;
            return 0;
        }
    }
    state->done = 1;
    return 0;
}

static size_t chunk_size(const struct meetings *state) {
    size_t left = state->left.end - state->begun;
    return left < MEETINGS_CHUNK ? left : MEETINGS_CHUNK;
}

/* Copy the codes of a chunk to one place. */
static void gather(const struct meetings *state, size_t size) {
    for (size_t i = 0; i < size; i++) {
        const uint64_t *code = state->codes + (size_t)state->left.rows[state->begun + i] * state->words;
        memcpy(state->chunk + i * state->words, code, state->words * sizeof(uint64_t));
    }
}

/* See whether all rows of a chunk have one label. So a crowd that is connected is passed in n²/512 steps. */
static void look_at_labels(struct meetings *state, size_t size) {
    const int32_t *rows = state->left.rows + state->begun, *labels = state->labels;
    state->uniform = labels && size;
    for (size_t i = 1; i < size && state->uniform; i++) state->uniform = labels[rows[i]] == labels[rows[0]];
}

/* The number of rows of the chunk that are paired with a row: the first ones, since rows rise. */
static size_t paired(const struct meetings *state, int32_t row) {
    const int32_t *rows = state->left.rows + state->begun, limit = state->limits[row];
    size_t size = chunk_size(state), low = 0;
    if (size == 0 || rows[0] >= limit) return 0;
    if (state->uniform && state->labels[rows[0]] == state->labels[row]) return 0;
    if (rows[size - 1] < limit) return size;
    while (low < size) {
        size_t middle = (low + size) / 2;
        if (rows[middle] < limit) low = middle + 1;
        else size = middle;
    }
    return low;
}

static const uint64_t *point_of(const struct meetings_points *points, int32_t row) {
    return points->words + (size_t)points->order[row] * points->width;
}

/* Write the points of the chunk to the panels. */
static void fill_panels(struct meetings *state) {
    struct meetings_points *points = &state->points;
    const size_t size = chunk_size(state), dim = points->dim;
    const int32_t *rows = state->left.rows + state->begun;
    float *unit = points->units;
    points->count = (size + PRODUCTS_LANES - 1) / PRODUCTS_LANES * PRODUCTS_LANES;
    points->usable = 1;
    for (size_t i = 0; i < points->count; i++) {
        float *column = products_column(points->panels, dim, i);
        if (i < size) points->usable &= products_unit(point_of(points, rows[i]), dim, points->wide, unit);
        for (size_t j = 0; j < dim; j++) column[j * PRODUCTS_LANES] = i < size ? unit[j] : 0;
    }
}

/* Compute the products of the next right rows that are paired with the chunk. */
static void fill_block(struct meetings *state) {
    struct meetings_points *points = &state->points;
    size_t n = 0;
    for (size_t place = state->row; place < state->right.end && n < MEETINGS_BLOCK; place++) {
        const int32_t row = state->right.rows[place];
        if (!paired(state, row)) continue;
        points->units_usable[n] = products_unit(point_of(points, row), points->dim, points->wide, points->units + n * points->dim);
        points->places[n++] = place;
    }
    points->kernels->multiply(points->units, n, points->panels, points->count, points->dim, points->products);
    points->places_count = n;
}

/* The products of the next right row with the chunk; NULL if there are none. */
static const float *products_with_chunk(struct meetings *state) {
    struct meetings_points *points = &state->points;
    if (!points->count) fill_panels(state);
    if (!points->usable) return NULL;
    size_t i = 0;
    while (i < points->places_count && points->places[i] != state->row) i++;
    if (i == points->places_count) {
        fill_block(state);
        i = 0;
    }
    return points->units_usable[i] ? points->products + i * points->count : NULL;
}

/* 1 if products are likely to leave out many of the near rows of a chunk. */
static inline int need_products(const struct meetings_points *points, size_t near, size_t size) {
    if (!points->words || near < LEAST_NEAR || near < size / NEAR_SHARE) return 0;
    return !(points->tried >= TRIED && points->screened < points->tried / 4);
}

static inline size_t count_near(const int32_t *unequal, size_t size, int32_t most) {
    size_t near = 0;
    for (size_t i = 0; i < size; i++) near += unequal[i] <= most;
    return near;
}

/* Mark the rows of the chunk that have the label of a row. */
static void mark_label(const struct meetings *state, int32_t label, size_t size) {
    const int32_t *rows = state->left.rows + state->begun, *labels = state->labels;
    for (size_t i = 0; i < size; i++) {
        if (labels[rows[i]] == label) state->unequal[i] = NOT_PAIRED;
    }
}

/* Mark the rows of the chunk whose products are too small. */
static void mark_small(int32_t *unequal, const float *products, size_t size, float least) {
    for (size_t i = 0; i < size; i++) unequal[i] = products[i] < least ? NOT_PAIRED : unequal[i];
}

/* Compare the next right row with the first `size` rows of the chunk, which are below its limit. */
static size_t compare(struct meetings *state, int32_t row, size_t size, uint64_t *pairs) {
    struct meetings_points *points = &state->points;
    const int32_t *rows = state->left.rows + state->begun;
    const int32_t most = state->most < NOT_PAIRED ? state->most : NOT_PAIRED - 1;
    int32_t *unequal = state->unequal;
    state->compared += size;
    if (state->words) {
        const uint64_t *code = state->codes + (size_t)row * state->words;
        state->kernels->differ(code, 0, state->chunk, size, state->words, 1, unequal);
    } else {
        for (size_t i = 0; i < size; i++) unequal[i] = INT32_MIN;
    }
    if (state->labels) mark_label(state, state->labels[row], size);
    size_t near = count_near(unequal, size, most);
    const float *products = need_products(points, near, size) ? products_with_chunk(state) : NULL;
    if (products) {
        points->tried += near;
        points->screened += near;
        mark_small(unequal, products, size, points->least);
        near = count_near(unequal, size, most);
        points->screened -= near;
    }
    /* Written without a branch, since in a crowd it is not known which rows are near. */
    size_t made = 0;
    for (size_t i = 0; i < size && made < near; i++) {
        pairs[made] = (uint64_t)row << 32 | (uint32_t)rows[i];
        made += unequal[i] <= most;
    }
    return made;
}

size_t meetings_find(struct meetings *state, uint64_t *pairs, size_t room, size_t work) {
    const size_t before = state->points.screened;
    size_t made = 0;
    look_at_labels(state, chunk_size(state)); /* they may have changed */
    while (work) {
        if (state->row == state->right.end) { /* also at the beginning, when both are 0 */
            state->begun += state->right.end > state->right.first ? chunk_size(state) : 0;
            if (state->begun == state->left.end && !next_bucket(state, &work)) break;
            state->row = state->right.first;
            if (state->words) gather(state, chunk_size(state));
            state->points.count = state->points.places_count = 0;
            look_at_labels(state, chunk_size(state));
        }
        int32_t row = state->right.rows[state->row];
        size_t size = paired(state, row);
        if (made + (state->points.screened - before) + size > room) break;
        if (size) made += compare(state, row, size, pairs + made);
        state->row++;
        work = work > size + 1 ? work - size - 1 : 0;
    }
    return made;
}
