/* A walk merges, for each row, the rows of its buckets in ascending order: the lists of a bucket grow at their end, so
 * that each is in the order of the walk already. Where that meets too many rows (pages that share a template), they are
 * looked up in a crowd instead (crowd.c). */
#include "grouping/grouping_parts.h"

#include <limits.h>

/* ---- chains ---- */

static int64_t label_of(int64_t *labels, int64_t row) {
    while (labels[row] != row) row = labels[row] = labels[labels[row]];
    return row;
}

void grouping_join_buckets(const int32_t *buckets, size_t bands, size_t from, size_t to, int32_t *last,
                           int64_t *labels) {
    for (size_t i = from; i < to; i++) {
        int32_t bucket = buckets[i * bands];
        if (bucket < 0) continue;
        if (last[bucket] >= 0) {
            int64_t a = label_of(labels, last[bucket]), b = label_of(labels, (int64_t)i);
            if (a < b) labels[b] = a;
            else labels[a] = b;
        }
        last[bucket] = (int32_t)i;
    }
}

/* ---- lists of buckets ---- */

/* Add a row to its buckets. */
static void add_row(struct grouping *grouping, size_t row) {
    const int32_t *buckets = grouping->buckets + row * grouping->bands;
    for (size_t band = 0; band < grouping->bands; band++) {
        grouping->next[row * grouping->bands + band] = GROUPING_NO_ROW;
        if (grouping->chains) grouping->run[row * grouping->bands + band] = (int32_t)row;
        if (buckets[band] < 0) continue;
        size_t bucket = (size_t)(grouping->first[band] + buckets[band]);
        int32_t tail = grouping->tails[bucket];
        if (tail < 0) grouping->heads[bucket] = (int32_t)row;
        else grouping->next[(size_t)tail * grouping->bands + band] = (int32_t)row;
        grouping->tails[bucket] = (int32_t)row;
    }
}

/* The first row of a bucket from `at` on that is in another component; INT32_MAX at the end. What is behind `at` in one
 * component is looked at once, however often it is passed. */
static int32_t pass_joined(const struct grouping *grouping, size_t row, size_t band, int32_t at) {
    while (at >= 0 && grouping_are_joined(grouping, at, (int32_t)row)) {
        int32_t *run = grouping->run + (size_t)at * grouping->bands + band, last = *run, next;
        while ((next = grouping->next[(size_t)last * grouping->bands + band]) >= 0 &&
               grouping_are_joined(grouping, next, at)) {
            last = grouping->run[(size_t)next * grouping->bands + band];
        }
        *run = last;
        at = next;
    }
    return at < 0 ? INT32_MAX : at;
}

static void begin_lists(const struct grouping *grouping, size_t row, int32_t *cursors) {
    const int32_t *buckets = grouping->buckets + row * grouping->bands;
    for (size_t band = 0; band < grouping->bands; band++) {
        int32_t head = buckets[band] < 0 ? GROUPING_NO_ROW : grouping->heads[grouping->first[band] + buckets[band]];
        cursors[band] = head < 0 ? INT32_MAX : head;
    }
}

/* Let the cursors pass rows of the row's component, which may have grown. */
static void pass_all_joined(const struct grouping *grouping, size_t row, int32_t *cursors) {
    if (!grouping->chains || grouping->parent[row] == (int32_t)row) return; /* nothing is joined to it yet */
    for (size_t band = 0; band < grouping->bands; band++) {
        if (cursors[band] != INT32_MAX) cursors[band] = pass_joined(grouping, row, band, cursors[band]);
    }
}

/* The smallest row at the cursors, which move on from it; INT32_MAX at the end. */
static int32_t next_of_lists(const struct grouping *grouping, int32_t *cursors) {
    int32_t least = INT32_MAX;
    for (size_t band = 0; band < grouping->bands; band++) least = cursors[band] < least ? cursors[band] : least;
    if (least == INT32_MAX) return least;
    const int32_t *next = grouping->next + (size_t)least * grouping->bands;
    for (size_t band = 0; band < grouping->bands; band++) {
        if (cursors[band] == least) cursors[band] = next[band] < 0 ? INT32_MAX : next[band];
    }
    return least;
}

/* ---- the walk ---- */

/* The rows that a row is to be compared with, in order. */
struct candidates {
    int of_crowd;
    size_t found; /* of the crowd: how many are left */
};

/* Of a row that was compared with so many in vain, and described where there is a crowd. Returns 1 where pause stopped
 * it. */
static int begin_candidates(struct grouping *grouping, size_t row, size_t met, const struct crowd_row *described,
                            struct grouping_scratch *scratch, struct candidates *candidates) {
    candidates->of_crowd = grouping->crowd.counts && (!grouping->chains || met >= GROUPING_BEFORE_CROWD);
    candidates->found = 0;
    if (!candidates->of_crowd) {
        begin_lists(grouping, row, scratch->cursors);
        return 0;
    }
    candidates->found = crowd_find(grouping, described, scratch);
    return candidates->found == SIZE_MAX || grouping_make_heap(scratch->found, candidates->found, scratch);
}

/* INT32_MAX at the end. */
static int32_t next_candidate(const struct grouping *grouping, struct candidates *candidates,
                              struct grouping_scratch *scratch) {
    if (!candidates->of_crowd) return next_of_lists(grouping, scratch->cursors);
    return candidates->found ? (int32_t)grouping_take_smallest(scratch->found, candidates->found--) : INT32_MAX;
}

static size_t equal_slots(const struct grouping *grouping, const struct slots_kernels *slots, size_t row,
                          int32_t other) {
    const uint64_t *signatures = grouping->signatures;
    size_t k = grouping->k;
    const uint64_t *a = signatures + (size_t)grouping->of[row] * k, *b = signatures + (size_t)grouping->of[other] * k;
    return slots_agreement(slots, a, b, k);
}

enum answer { DIFFERENT, SIMILAR, MISSING, STOPPED };

/* So many tokens and no more are compared without a look for signals. */
#define GROUPING_AT_ONCE (GROUPING_STRETCH / 8)

/* Compare the tokens of rows that begin and end alike, as pages with a template do: these tokens are shared, and as no row
 * has a token twice, only those between them need a table. Returns 0 where the rows are not like that. */
static int compare_middles(const struct grouping *grouping, size_t row, int32_t other, struct grouping_scratch *scratch,
                           double *similarity) {
    const uint64_t *a = grouping->tokens[row], *b = grouping->tokens[other];
    size_t n = grouping->counts[row], m = grouping->counts[other], least = n < m ? n : m;
    if (n > GROUPING_AT_ONCE || m > GROUPING_AT_ONCE) return 0;
    size_t first = sets_equal_from_start(a, b, least), last = 0;
    while (last < least - first && a[n - 1 - last] == b[m - 1 - last]) last++;
    size_t shared = first + last;
    if (2 * shared < least || !shared) return 0;
    size_t overlap = shared + sets_overlap(a + first, n - shared, b + first, m - shared, scratch->table);
    *similarity = overlap < sets_overlap_needed(n, m, grouping->rule)
                      ? -1 : sets_similarity(grouping->rule.measure, overlap, n, m);
    return 1;
}

/* Compare the tokens of rows; held->begun is 0 until its set holds some of the row's tokens. */
static enum answer compare_tokens(const struct grouping *grouping, size_t row, int32_t other,
                                  struct grouping_scratch *scratch, struct pair_walk *held, double *similarity) {
    if (!grouping->tokens[other]) return MISSING;
    if (!held->begun && compare_middles(grouping, row, other, scratch, similarity)) {
        return grouping_must_stop(scratch, grouping->counts[row]) ? STOPPED : *similarity >= 0 ? SIMILAR : DIFFERENT;
    }
    held->count = grouping->counts[row];
    while (held->filled < held->count || !held->begun) {
        sets_fill(held, grouping->tokens[row], scratch->table, GROUPING_STRETCH / 8);
        if (grouping_must_stop(scratch, held->count < GROUPING_STRETCH / 8 ? 8 * held->count : GROUPING_STRETCH)) {
            return STOPPED;
        }
    }
    held->probed = held->overlap = 0;
    while (!sets_compare_with_row(held, grouping->tokens[other], grouping->counts[other], grouping->rule,
                                  GROUPING_STRETCH / 8, similarity)) {
        if (grouping_must_stop(scratch, GROUPING_STRETCH)) return STOPPED;
    }
    if (grouping_must_stop(scratch, 8 * (held->probed % (GROUPING_STRETCH / 8)))) return STOPPED;
    return *similarity >= 0 ? SIMILAR : DIFFERENT;
}

static enum answer compare(const struct grouping *grouping, size_t row, int32_t other, struct grouping_scratch *scratch,
                           struct pair_walk *held, double *similarity) {
    size_t equal = equal_slots(grouping, scratch->slots, row, other);
    if (grouping_must_stop(scratch, grouping->k)) return STOPPED;
    if (grouping->exact) {
        return equal < grouping->least ? DIFFERENT : compare_tokens(grouping, row, other, scratch, held, similarity);
    }
    *similarity = (double)equal / (double)grouping->k;
    return *similarity >= grouping->rule.threshold ? SIMILAR : DIFFERENT;
}

size_t grouping_missing(struct grouping *grouping, const struct grouping_place *place, size_t end, size_t most,
                        struct grouping_scratch *scratch, int32_t *missing) {
    size_t made = 0;
    for (size_t row = place->row; row < end && grouping->tokens[row]; row++) {
        struct candidates candidates;
        struct crowd_row described;
        int under_way = place->begun && row == place->row;
        size_t before = under_way ? place->met : GROUPING_BEFORE_CROWD;
        if (grouping->crowd.counts && crowd_describe(grouping, row, scratch, &described)) return SIZE_MAX;
        if (begin_candidates(grouping, row, before, &described, scratch, &candidates)) return SIZE_MAX;
        for (size_t met = 0, passed = 0; met < most && passed <= place->crowd; passed++) {
            int32_t other = next_candidate(grouping, &candidates, scratch);
            if (other == INT32_MAX) break;
            if (grouping_must_stop(scratch, grouping->bands + grouping->k)) return SIZE_MAX;
            if (under_way && other < place->from) continue;
            if (equal_slots(grouping, scratch->slots, row, other) < grouping->least) continue;
            if (!grouping->tokens[other]) missing[made++] = other;
            met++;
        }
    }
    return made;
}

/* Compare the row, which is described where there is a crowd, with its candidates from place->from on, as long as its group
 * is not known. */
static enum grouping_stop place_row(struct grouping *grouping, struct grouping_place *place,
                                    const struct crowd_row *described, struct grouping_scratch *scratch) {
    const int has_crowd = grouping->crowd.counts != NULL;
    struct candidates candidates;
    struct pair_walk held = {0};
    const size_t row = place->row;
    if (begin_candidates(grouping, row, place->met, described, scratch, &candidates)) return GROUPING_STOPPED;
    for (;;) {
        double similarity;
        if (!candidates.of_crowd) pass_all_joined(grouping, row, scratch->cursors);
        int32_t other = next_candidate(grouping, &candidates, scratch);
        if (other == INT32_MAX) return GROUPING_DONE;
        if (grouping_must_stop(scratch, 8 * grouping->bands)) return GROUPING_STOPPED;
        if (other < place->from || (grouping->chains && grouping_are_joined(grouping, other, (int32_t)row))) continue;
        if (grouping->exact && !has_crowd && place->met > place->crowd) return GROUPING_CROWDED;
        place->from = other;
        enum answer answer = compare(grouping, row, other, scratch, &held, &similarity);
        if (answer == STOPPED) return GROUPING_STOPPED;
        if (answer == MISSING) {
            place->needed = other;
            return GROUPING_MISSING;
        }
        place->from = other + 1;
        place->compared++;
        if (answer == DIFFERENT) {
            int is_enough = ++place->met == GROUPING_BEFORE_CROWD && has_crowd && grouping->chains;
            if (is_enough && begin_candidates(grouping, row, place->met, described, scratch, &candidates)) {
                return GROUPING_STOPPED;
            }
            continue;
        }
        grouping->left[place->made] = other;
        grouping->right[place->made] = (int32_t)row;
        grouping->similarity[place->made++] = similarity;
        if (!grouping->chains) {
            grouping->parent[row] = other;
            return GROUPING_DONE;
        }
        grouping_join(grouping->parent, other, (int32_t)row);
    }
}

enum grouping_stop grouping_walk(struct grouping *grouping, struct grouping_place *place, size_t end,
                                 struct grouping_scratch *scratch) {
    const int has_crowd = grouping->crowd.counts != NULL;
    for (; place->row < end; place->row++, place->begun = 0) {
        size_t row = place->row;
        if (grouping->exact && !grouping->tokens[row]) {
            place->needed = (int32_t)row;
            return GROUPING_MISSING;
        }
        if (has_crowd && !crowd_has_room(&grouping->crowd, grouping->counts[row])) return GROUPING_FULL;
        if (!place->begun) {
            if (grouping->parent[row] != GROUPING_NO_ROW) return GROUPING_PLACED;
            grouping->parent[row] = (int32_t)row;
            place->from = (int32_t)place->first;
            place->met = 0;
            place->begun = 1;
        }
        struct crowd_row described;
        if (has_crowd && crowd_describe(grouping, row, scratch, &described)) return GROUPING_STOPPED;
        enum grouping_stop stop = place_row(grouping, place, &described, scratch);
        if (stop != GROUPING_DONE) return stop;
        if (grouping_is_met(grouping, row)) {
            add_row(grouping, row);
            if (has_crowd) crowd_append(&grouping->crowd, &described, scratch);
        }
        if (grouping_must_stop(scratch, 8 * grouping->bands)) {
            place->row++;
            place->begun = 0;
            return GROUPING_STOPPED;
        }
    }
    return GROUPING_DONE;
}

/* ---- pairs that an exact join found ---- */

size_t grouping_meeting(const struct grouping *grouping, const struct slots_kernels *slots, const uint64_t *pairs,
                        size_t n, uint64_t *meeting) {
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        size_t right = pairs[i] >> 32, left = pairs[i] & UINT32_MAX;
        if (!grouping_share_bucket(grouping, left, right)) continue;
        if (equal_slots(grouping, slots, right, (int32_t)left) >= grouping->least) meeting[made++] = pairs[i];
    }
    return made;
}

void grouping_begin_again(struct grouping *grouping, size_t first, size_t end) {
    for (size_t row = first; row < end; row++) {
        grouping->parent[row] = (int32_t)row;
        grouping->left[row] = grouping->right[row] = GROUPING_NO_ROW;
    }
}

size_t grouping_place_pairs(struct grouping *grouping, const uint64_t *pairs, size_t n, size_t made) {
    for (size_t i = 0; i < n; i++) {
        int32_t right = (int32_t)(pairs[i] >> 32), left = (int32_t)(pairs[i] & UINT32_MAX);
        if (grouping->chains) {
            if (grouping_are_joined(grouping, left, right)) continue;
            grouping_join(grouping->parent, left, right);
        } else {
            if (grouping->parent[right] != right || !grouping_is_met(grouping, (size_t)left)) continue;
            grouping->parent[right] = left;
        }
        grouping->left[made] = left;
        grouping->right[made++] = right;
    }
    return made;
}
