/* A walk merges, for each row, the rows of its buckets in ascending order: the lists of a bucket grow at their end, so
 * that each is in the order of the walk already. Where that meets too many rows (pages that share a template), it looks
 * them up by the rarest tokens instead: a prefix filter (Chaudhuri, Ganti, Kaushik 2006; Bayardo, Ma, Srikant 2007). */
#include "grouping/grouping.h"

#include "slots/slots.h"

#include <limits.h>
#include <string.h>

/* Simple steps between two calls of pause(). */
#define STRETCH ((size_t)1 << 16)

/* Count steps; 1 where what is under way is to stop. */
static inline int must_stop(struct grouping_scratch *scratch, size_t steps) {
    scratch->steps += steps;
    if (scratch->steps < STRETCH) return 0;
    scratch->steps = 0;
    return scratch->pause(scratch->last) != 0;
}

/* ---- chains ---- */

static int32_t root_of(int32_t *parent, int32_t row) {
    while (parent[row] != row) {
        parent[row] = parent[parent[row]];
        row = parent[row];
    }
    return row;
}

static int are_joined(const struct grouping *grouping, int32_t a, int32_t b) {
    return root_of(grouping->parent, a) == root_of(grouping->parent, b);
}

static void join(int32_t *parent, int32_t a, int32_t b) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a < b) parent[b] = a;
    else parent[a] = b;
}

static int64_t label_of(int64_t *labels, int64_t row) {
    while (labels[row] != row) row = labels[row] = labels[labels[row]];
    return row;
}

void join_bucket_rows(const int32_t *buckets, size_t bands, size_t from, size_t to, int32_t *last, int64_t *labels) {
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

/* ---- heaps, whose steps are n log n whatever somebody makes of the numbers ---- */

static void sift_down(uint64_t *heap, size_t n, size_t at, uint64_t number) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= number) break;
        heap[at] = heap[child];
    }
    heap[at] = number;
}

/* Returns 1 where pause stopped it. */
static int make_heap(uint64_t *heap, size_t n, struct grouping_scratch *scratch) {
    for (size_t at = n / 2; at-- > 0;) {
        sift_down(heap, n, at, heap[at]);
        if (must_stop(scratch, 4)) return 1;
    }
    return 0;
}

/* Take the smallest number out of a heap of n > 0. */
static uint64_t take_smallest(uint64_t *heap, size_t n) {
    uint64_t smallest = heap[0];
    sift_down(heap, n - 1, 0, heap[n - 1]);
    return smallest;
}

/* Bring the `wanted` smallest numbers to the front, ascending. Returns 1 where pause stopped it. */
static int sort_smallest(uint64_t *numbers, size_t n, size_t wanted, struct grouping_scratch *scratch) {
    if (make_heap(numbers, n, scratch)) return 1;
    for (size_t left = n; left > n - wanted; left--) {
        numbers[left - 1] = take_smallest(numbers, left);
        if (must_stop(scratch, 32)) return 1;
    }
    for (size_t i = 0, j = n; i < wanted && i + 1 < j; i++) {
        uint64_t number = numbers[--j];
        numbers[j] = numbers[i];
        numbers[i] = number;
    }
    return 0;
}

/* ---- prefixes ---- */

void prefix_lengths(size_t tokens, double threshold, size_t *longest, size_t *shortest) {
    size_t least = (size_t)(threshold * (double)tokens); /* overlap with a row that has nothing else */
    while (least > 0 && (double)(least - 1) / (double)tokens >= threshold) least--;
    while (least < tokens && (double)least / (double)tokens < threshold) least++;
    size_t equal = sets_overlap_needed(tokens, tokens, threshold);
    *longest = least ? tokens - least + 1 : tokens;
    *shortest = equal ? tokens - equal + 1 : tokens;
    if (*shortest > *longest) *shortest = *longest;
}

void count_tokens(const uint64_t *tokens, size_t n, uint8_t *counts) {
    for (size_t i = 0; i < n; i++) {
        uint8_t *count = counts + (tokens[i] >> (64 - COUNT_BITS));
        *count = (uint8_t)(*count + (*count < UINT8_MAX));
    }
}

/* Write the row's `wanted` smallest words in ascending order: the count above the token's lower half. Different tokens may
 * have one word. Returns 1 where pause stopped it. */
static int prefix_of(const struct grouping *grouping, size_t row, size_t wanted, struct grouping_scratch *scratch) {
    const uint64_t *tokens = grouping->tokens[row];
    const uint8_t *counts = grouping->prefixes.counts;
    size_t n = grouping->counts[row];
    for (size_t i = 0; i < n; i++) {
        scratch->words[i] = (uint64_t)counts[tokens[i] >> (64 - COUNT_BITS)] << 32 | (uint32_t)tokens[i];
        if (must_stop(scratch, 4)) return 1;
    }
    return sort_smallest(scratch->words, n, wanted, scratch);
}

static inline size_t list_of(const struct prefixes *prefixes, uint32_t word) {
    return word * prefixes->multiplier >> prefixes->shift;
}

void prefix_list(struct prefixes *prefixes, size_t from, size_t to) {
    for (size_t entry = from; entry < to; entry++) {
        int32_t *lists = prefixes->rows[entry] < 0 ? prefixes->far : prefixes->near;
        int32_t *head = lists + list_of(prefixes, prefixes->words[entry]);
        prefixes->next[entry] = *head;
        if (prefixes->past) prefixes->past[entry] = *head;
        *head = (int32_t)entry;
    }
}

/* Add a row by its prefix, which words holds: each word once, where it comes first. */
static void add_words(struct grouping *grouping, size_t row, const uint64_t *words) {
    struct prefixes *prefixes = &grouping->prefixes;
    size_t longest, shortest, before = prefixes->filled;
    prefix_lengths(grouping->counts[row], grouping->threshold, &longest, &shortest);
    for (size_t i = 0; i < longest; i++) {
        if (i > 0 && words[i] == words[i - 1]) continue;
        prefixes->words[prefixes->filled] = (uint32_t)words[i];
        prefixes->rows[prefixes->filled++] = i < shortest ? (int32_t)row : ~(int32_t)row;
    }
    prefix_list(prefixes, before, prefixes->filled);
}

static int has_room(const struct grouping *grouping, size_t row) {
    return grouping->prefixes.capacity - grouping->prefixes.filled >= grouping->counts[row];
}

int prefix_add(struct grouping *grouping, size_t row, struct grouping_scratch *scratch) {
    size_t longest, shortest;
    if (!has_room(grouping, row)) return 0;
    prefix_lengths(grouping->counts[row], grouping->threshold, &longest, &shortest);
    if (prefix_of(grouping, row, longest, scratch)) return -1;
    add_words(grouping, row, scratch->words);
    return 1;
}

static int share_bucket(const struct grouping *grouping, size_t a, size_t b) {
    const int32_t *left = grouping->buckets + a * grouping->bands, *right = grouping->buckets + b * grouping->bands;
    int share = 0;
    for (size_t band = 0; band < grouping->bands; band++) share |= left[band] == right[band] && left[band] >= 0;
    return share;
}

/* What a row is looked up for. */
struct lookup {
    struct grouping *grouping;
    struct grouping_scratch *scratch;
    size_t row, found;
};

static inline int32_t row_of(const struct prefixes *prefixes, int32_t entry) {
    return prefixes->rows[entry] < 0 ? ~prefixes->rows[entry] : prefixes->rows[entry];
}

/* The first entry behind this one whose row is in another component, or one before it. */
static int32_t pass_entries(const struct grouping *grouping, int32_t entry) {
    const struct prefixes *prefixes = &grouping->prefixes;
    int32_t row = row_of(prefixes, entry), past = prefixes->past[entry];
    while (past >= 0 && are_joined(grouping, row_of(prefixes, past), row)) past = prefixes->past[past];
    return prefixes->past[entry] = past;
}

/* Add the rows of a list that have the word, no row twice, to those that were found: those of more tokens than the row,
 * or those of as many and fewer, or both; none of the row's component. Returns 1 where pause stopped it. */
static int find_in_list(struct lookup *lookup, int32_t entry, uint32_t word, int more, int fewer) {
    struct grouping *grouping = lookup->grouping;
    const struct prefixes *prefixes = &grouping->prefixes;
    size_t n = grouping->counts[lookup->row];
    int32_t parent = grouping->parent[lookup->row];
    int joined = grouping->chains && parent != NO_ROW && parent != (int32_t)lookup->row;
    for (int32_t next; entry >= 0; entry = next) {
        if (must_stop(lookup->scratch, 8)) return 1;
        int32_t other = row_of(prefixes, entry);
        next = prefixes->next[entry];
        if (joined && are_joined(grouping, other, (int32_t)lookup->row)) {
            next = pass_entries(grouping, entry);
            continue;
        }
        if (prefixes->words[entry] != word || grouping->seen[other] == grouping->stamp) continue;
        if (!(grouping->counts[other] > n ? more : fewer)) continue;
        grouping->seen[other] = grouping->stamp;
        if (share_bucket(grouping, lookup->row, (size_t)other)) lookup->scratch->found[lookup->found++] = (uint64_t)other;
    }
    return 0;
}

/* Begin a search: no row has been found by it. */
static void new_stamp(struct grouping *grouping) {
    if (++grouping->stamp) return;
    memset(grouping->seen, 0, grouping->n * sizeof *grouping->seen);
    grouping->stamp = 1;
}

/* Make a heap of the rows that may be similar to this one by their prefixes, and return their number, SIZE_MAX where
 * pause stopped it. Of two similar rows the smaller has the first common word among its `shortest`, the larger among its
 * `longest`. */
static size_t prefix_find(struct grouping *grouping, size_t row, struct grouping_scratch *scratch) {
    const struct prefixes *prefixes = &grouping->prefixes;
    struct lookup lookup = {grouping, scratch, row, 0};
    size_t longest, shortest;
    new_stamp(grouping);
    prefix_lengths(grouping->counts[row], grouping->threshold, &longest, &shortest);
    if (prefix_of(grouping, row, longest, scratch)) return SIZE_MAX;
    for (size_t i = 0; i < longest; i++) {
        uint32_t word = (uint32_t)scratch->words[i];
        size_t list = list_of(prefixes, word);
        if (i > 0 && scratch->words[i] == scratch->words[i - 1]) continue;
        if (find_in_list(&lookup, prefixes->near[list], word, i < shortest, 1)) return SIZE_MAX;
        if (i < shortest && find_in_list(&lookup, prefixes->far[list], word, 1, 0)) return SIZE_MAX;
    }
    return make_heap(scratch->found, lookup.found, scratch) ? SIZE_MAX : lookup.found;
}

/* ---- lists of buckets ---- */

/* Add a row to its buckets. */
static void add_row(struct grouping *grouping, size_t row) {
    const int32_t *buckets = grouping->buckets + row * grouping->bands;
    for (size_t band = 0; band < grouping->bands; band++) {
        grouping->next[row * grouping->bands + band] = NO_ROW;
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
    while (at >= 0 && are_joined(grouping, at, (int32_t)row)) {
        int32_t *run = grouping->run + (size_t)at * grouping->bands + band, last = *run, next;
        while ((next = grouping->next[(size_t)last * grouping->bands + band]) >= 0 && are_joined(grouping, next, at)) {
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
        int32_t head = buckets[band] < 0 ? NO_ROW : grouping->heads[grouping->first[band] + buckets[band]];
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
    int by_prefix;
    size_t found; /* by prefix: how many are left */
};

/* Of a row that was compared with so many in vain. Returns 1 where pause stopped it. */
static int begin_candidates(struct grouping *grouping, size_t row, size_t met, struct grouping_scratch *scratch,
                            struct candidates *candidates) {
    candidates->by_prefix = grouping->prefixes.counts && (!grouping->chains || met >= BEFORE_PREFIX);
    candidates->found = 0;
    if (candidates->by_prefix) candidates->found = prefix_find(grouping, row, scratch);
    else begin_lists(grouping, row, scratch->cursors);
    return candidates->found == SIZE_MAX;
}

/* INT32_MAX at the end. */
static int32_t next_candidate(const struct grouping *grouping, struct candidates *candidates,
                              struct grouping_scratch *scratch) {
    if (!candidates->by_prefix) return next_of_lists(grouping, scratch->cursors);
    return candidates->found ? (int32_t)take_smallest(scratch->found, candidates->found--) : INT32_MAX;
}

static size_t equal_slots(const struct grouping *grouping, size_t row, int32_t other) {
    const uint64_t *signatures = grouping->signatures;
    size_t k = grouping->k;
    const uint64_t *a = signatures + (size_t)grouping->of[row] * k, *b = signatures + (size_t)grouping->of[other] * k;
    return slots_agreement(&slots_scalar, a, b, k);
}

enum answer { DIFFERENT, SIMILAR, MISSING, STOPPED };

/* Compare the tokens of rows; held->begun is 0 until its set holds some of the row's tokens. */
static enum answer compare_tokens(const struct grouping *grouping, size_t row, int32_t other,
                                  struct grouping_scratch *scratch, struct pair_walk *held, double *similarity) {
    if (!grouping->tokens[other]) return MISSING;
    held->count = grouping->counts[row];
    while (held->filled < held->count || !held->begun) {
        sets_fill(held, grouping->tokens[row], scratch->table, STRETCH / 8);
        if (must_stop(scratch, 8 * (held->count < STRETCH / 8 ? held->count : STRETCH / 8))) return STOPPED;
    }
    held->probed = held->overlap = 0;
    while (!sets_jaccard_with_row(held, grouping->tokens[other], grouping->counts[other], grouping->threshold,
                                  STRETCH / 8, similarity)) {
        if (must_stop(scratch, STRETCH)) return STOPPED;
    }
    if (must_stop(scratch, 8 * (held->probed % (STRETCH / 8)))) return STOPPED;
    return *similarity >= 0 ? SIMILAR : DIFFERENT;
}

static enum answer compare(const struct grouping *grouping, size_t row, int32_t other, struct grouping_scratch *scratch,
                           struct pair_walk *held, double *similarity) {
    size_t equal = equal_slots(grouping, row, other);
    if (must_stop(scratch, grouping->k)) return STOPPED;
    if (grouping->exact) {
        return equal < grouping->least ? DIFFERENT : compare_tokens(grouping, row, other, scratch, held, similarity);
    }
    *similarity = (double)equal / (double)grouping->k;
    return *similarity >= grouping->threshold ? SIMILAR : DIFFERENT;
}

size_t grouping_missing(struct grouping *grouping, const struct grouping_place *place, size_t end, size_t most,
                        struct grouping_scratch *scratch, int32_t *missing) {
    size_t made = 0;
    for (size_t row = place->row; row < end && grouping->tokens[row]; row++) {
        struct candidates candidates;
        int under_way = place->begun && row == place->row;
        if (begin_candidates(grouping, row, under_way ? place->met : BEFORE_PREFIX, scratch, &candidates)) return SIZE_MAX;
        for (size_t met = 0, passed = 0; met < most && passed <= place->crowd; passed++) {
            int32_t other = next_candidate(grouping, &candidates, scratch);
            if (other == INT32_MAX) break;
            if (must_stop(scratch, grouping->bands + grouping->k)) return SIZE_MAX;
            if (under_way && other < place->from) continue;
            if (equal_slots(grouping, row, other) < grouping->least) continue;
            if (!grouping->tokens[other]) missing[made++] = other;
            met++;
        }
    }
    return made;
}

/* Compare the row with its candidates, from place->from on, as long as its group is not known, and have its prefix in
 * scratch->words where prefixes are in use. */
static enum grouping_stop place_row(struct grouping *grouping, struct grouping_place *place,
                                    struct grouping_scratch *scratch) {
    const int has_prefixes = grouping->prefixes.counts != NULL;
    struct candidates candidates;
    struct pair_walk held = {0};
    const size_t row = place->row;
    if (begin_candidates(grouping, row, place->met, scratch, &candidates)) return GROUPING_STOPPED;
    for (;;) {
        double similarity;
        if (!candidates.by_prefix) pass_all_joined(grouping, row, scratch->cursors);
        int32_t other = next_candidate(grouping, &candidates, scratch);
        if (other == INT32_MAX) {
            if (!has_prefixes || candidates.by_prefix) return GROUPING_DONE;
            size_t longest, shortest;
            prefix_lengths(grouping->counts[row], grouping->threshold, &longest, &shortest);
            return prefix_of(grouping, row, longest, scratch) ? GROUPING_STOPPED : GROUPING_DONE;
        }
        if (must_stop(scratch, 8 * grouping->bands)) return GROUPING_STOPPED;
        if (other < place->from || (grouping->chains && are_joined(grouping, other, (int32_t)row))) continue;
        if (grouping->exact && !has_prefixes && place->met > place->crowd) return GROUPING_CROWDED;
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
            int is_enough = ++place->met == BEFORE_PREFIX && has_prefixes && grouping->chains;
            if (is_enough && begin_candidates(grouping, row, place->met, scratch, &candidates)) return GROUPING_STOPPED;
            continue;
        }
        grouping->left[place->made] = other;
        grouping->right[place->made] = (int32_t)row;
        grouping->similarity[place->made++] = similarity;
        if (!grouping->chains) {
            grouping->parent[row] = other;
            return GROUPING_DONE;
        }
        join(grouping->parent, other, (int32_t)row);
    }
}

enum grouping_stop grouping_walk(struct grouping *grouping, struct grouping_place *place, size_t end,
                                 struct grouping_scratch *scratch) {
    int by_prefix = grouping->prefixes.counts != NULL;
    for (; place->row < end; place->row++, place->begun = 0) {
        size_t row = place->row;
        if (grouping->exact && !grouping->tokens[row]) {
            place->needed = (int32_t)row;
            return GROUPING_MISSING;
        }
        if (by_prefix && !has_room(grouping, row)) return GROUPING_FULL;
        if (!place->begun) {
            if (grouping->parent[row] != NO_ROW) return GROUPING_PLACED;
            grouping->parent[row] = (int32_t)row;
            place->from = (int32_t)place->first;
            place->met = 0;
            place->begun = 1;
        }
        enum grouping_stop stop = place_row(grouping, place, scratch);
        if (stop != GROUPING_DONE) return stop;
        if (grouping->chains || grouping->parent[row] == (int32_t)row) {
            add_row(grouping, row);
            if (by_prefix) add_words(grouping, row, scratch->words);
        }
        if (must_stop(scratch, 8 * grouping->bands)) {
            place->row++;
            place->begun = 0;
            return GROUPING_STOPPED;
        }
    }
    return GROUPING_DONE;
}
