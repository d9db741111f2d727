/* The left rows of a bucket are taken in chunks, whose codes are copied to one place; each right row is compared with a
 * chunk at once. So a crowded bucket is read from the cache. */
#include "meetings/meetings.h"

#include <string.h>

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

/* Compare the next right row with the first `size` rows of the chunk, which are below its limit. */
static size_t compare(struct meetings *state, int32_t row, size_t size, uint64_t *pairs) {
    const int32_t *rows = state->left.rows + state->begun, *labels = state->labels;
    size_t made = 0;
    if (state->words) {
        const uint64_t *code = state->codes + (size_t)row * state->words;
        state->kernels->differ(code, 0, state->chunk, size, state->words, 1, state->unequal);
    }
    for (size_t i = 0; i < size; i++) {
        if (state->words && state->unequal[i] > state->most) continue;
        if (labels && labels[rows[i]] == labels[row]) continue;
        pairs[made++] = (uint64_t)row << 32 | (uint32_t)rows[i];
    }
    state->compared += size;
    return made;
}

size_t meetings_find(struct meetings *state, uint64_t *pairs, size_t room, size_t work) {
    size_t made = 0;
    look_at_labels(state, chunk_size(state)); /* they may have changed */
    while (work) {
        if (state->row == state->right.end) { /* also at the beginning, when both are 0 */
            state->begun += state->right.end > state->right.first ? chunk_size(state) : 0;
            if (state->begun == state->left.end && !next_bucket(state, &work)) break;
            state->row = state->right.first;
            if (state->words) gather(state, chunk_size(state));
            look_at_labels(state, chunk_size(state));
        }
        int32_t row = state->right.rows[state->row];
        size_t size = paired(state, row);
        if (made + size > room) break;
        if (size) made += compare(state, row, size, pairs + made);
        state->row++;
        work = work > size + 1 ? work - size - 1 : 0;
    }
    return made;
}
