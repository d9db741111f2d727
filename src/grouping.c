/* A walk merges, for each row, the rows of its buckets in ascending order: the lists of a bucket grow at their end, so
 * that each is in the order of the walk already. Where that meets too many rows (pages that share a template), it looks
 * them up by the rarest tokens instead: a prefix filter (Chaudhuri, Ganti, Kaushik 2006; Bayardo, Ma, Srikant 2007). */
#include "grouping.h"

#include <limits.h>
#include <string.h>

/* ---- chains ---- */

static int32_t root_of(int32_t *parent, int32_t row) {
    while (parent[row] != row) {
        parent[row] = parent[parent[row]];
        row = parent[row];
    }
    return row;
}

static void join(int32_t *parent, int32_t a, int32_t b) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a < b) parent[b] = a;
    else parent[a] = b;
}

void join_buckets(const int32_t *buckets, size_t n, size_t bands, int32_t *last, size_t most, int64_t *labels) {
    for (size_t i = 0; i < n; i++) labels[i] = (int64_t)i;
    for (size_t band = 0; band < bands; band++) {
        for (size_t bucket = 0; bucket < most; bucket++) last[bucket] = NO_ROW;
        for (size_t i = 0; i < n; i++) {
            int32_t bucket = buckets[i * bands + band];
            if (bucket < 0) continue;
            if (last[bucket] >= 0) {
                int64_t a = last[bucket], b = (int64_t)i;
                while (labels[a] != a) a = labels[a] = labels[labels[a]];
                while (labels[b] != b) b = labels[b] = labels[labels[b]];
                if (a < b) labels[b] = a;
                else labels[a] = b;
            }
            last[bucket] = (int32_t)i;
        }
    }
    for (size_t i = 0; i < n; i++) labels[i] = labels[labels[i]]; /* parents come first and are roots by then */
}

/* ---- prefixes ---- */

void prefix_lengths(size_t tokens, double threshold, size_t *longest, size_t *shortest) {
    size_t least = (size_t)(threshold * (double)tokens); /* overlap with a row that has nothing else */
    while (least > 0 && (double)(least - 1) / (double)tokens >= threshold) least--;
    while (least < tokens && (double)least / (double)tokens < threshold) least++;
    size_t equal = overlap_needed(tokens, tokens, threshold);
    *longest = least ? tokens - least + 1 : tokens;
    *shortest = equal ? tokens - equal + 1 : tokens;
    if (*shortest > *longest) *shortest = *longest;
}

void count_tokens(const uint64_t *tokens, size_t n, uint8_t *counts) {
    for (size_t i = 0; i < n; i++) {
        uint8_t *count = counts + (tokens[i] >> (64 - COUNT_BITS));
        *count += *count < UINT8_MAX;
    }
}

static inline void swap(uint64_t *words, size_t a, size_t b) {
    uint64_t word = words[a];
    words[a] = words[b];
    words[b] = word;
}

/* Move the `wanted` smallest words to the front. Words are hashes: nobody arranges them, and a middle one divides well. */
static void select_smallest(uint64_t *words, size_t n, size_t wanted) {
    size_t low = 0, high = n;
    while (low < wanted && wanted < high) {
        uint64_t pivot = words[low + (high - low) / 2];
        size_t less = low, at = low, more = high;
        while (at < more) {
            if (words[at] < pivot) swap(words, less++, at++);
            else if (words[at] > pivot) swap(words, at, --more);
            else at++;
        }
        if (wanted <= less) high = less;
        else low = more;
        if (wanted > less && wanted <= more) return;
    }
}

static void sort_words(uint64_t *words, size_t n) {
    for (size_t step = n / 2; step > 0; step = step == 2 ? 1 : step * 5 / 11) {
        for (size_t i = step; i < n; i++) {
            uint64_t word = words[i];
            size_t j = i;
            for (; j >= step && words[j - step] > word; j -= step) words[j] = words[j - step];
            words[j] = word;
        }
    }
}

/* Write the row's `wanted` smallest words in ascending order: the count above the token's lower half. words has room for
 * all n. */
static void prefix_of(const uint8_t *counts, const uint64_t *tokens, size_t n, size_t wanted, uint64_t *words) {
    for (size_t i = 0; i < n; i++) {
        words[i] = (uint64_t)counts[tokens[i] >> (64 - COUNT_BITS)] << 32 | (uint32_t)tokens[i];
    }
    select_smallest(words, n, wanted);
    sort_words(words, wanted);
}

static inline size_t list_of(const struct prefixes *prefixes, uint32_t word) {
    return word * UINT32_C(0x9E3779B9) >> prefixes->shift;
}

static void add_to_list(struct prefixes *prefixes, size_t entry) {
    int32_t *head = (prefixes->rows[entry] < 0 ? prefixes->far : prefixes->near) + list_of(prefixes, prefixes->words[entry]);
    prefixes->next[entry] = *head;
    *head = (int32_t)entry;
}

void prefix_relist(struct prefixes *prefixes) {
    for (size_t list = 0; list < (size_t)1 << (32 - prefixes->shift); list++) prefixes->near[list] = prefixes->far[list] = NO_ROW;
    for (size_t entry = 0; entry < prefixes->filled; entry++) add_to_list(prefixes, entry);
}

/* Add a row by its prefix, which words holds. */
static void add_words(struct grouping *grouping, size_t row, const uint64_t *words) {
    struct prefixes *prefixes = &grouping->prefixes;
    size_t longest, shortest;
    prefix_lengths(grouping->counts[row], grouping->threshold, &longest, &shortest);
    for (size_t i = 0; i < longest; i++) {
        size_t entry = prefixes->filled++;
        prefixes->words[entry] = (uint32_t)words[i];
        prefixes->rows[entry] = i < shortest ? (int32_t)row : ~(int32_t)row;
        add_to_list(prefixes, entry);
    }
}

static int has_room(const struct grouping *grouping, size_t row) {
    return grouping->prefixes.capacity - grouping->prefixes.filled >= grouping->counts[row];
}

int prefix_add(struct grouping *grouping, size_t row, uint64_t *words) {
    size_t longest, shortest;
    if (!has_room(grouping, row)) return 0;
    prefix_lengths(grouping->counts[row], grouping->threshold, &longest, &shortest);
    prefix_of(grouping->prefixes.counts, grouping->tokens[row], grouping->counts[row], longest, words);
    add_words(grouping, row, words);
    return 1;
}

static void sort_rows(int32_t *rows, size_t n) {
    for (size_t step = n / 2; step > 0; step = step == 2 ? 1 : step * 5 / 11) { /* Shell's sort: few are found */
        for (size_t i = step; i < n; i++) {
            int32_t row = rows[i];
            size_t j = i;
            for (; j >= step && rows[j - step] > row; j -= step) rows[j] = rows[j - step];
            rows[j] = row;
        }
    }
}

static int share_bucket(const struct grouping *grouping, size_t a, size_t b) {
    const int32_t *left = grouping->buckets + a * grouping->bands, *right = grouping->buckets + b * grouping->bands;
    int share = 0;
    for (size_t band = 0; band < grouping->bands; band++) share |= left[band] == right[band] && left[band] >= 0;
    return share;
}

/* Add the rows of a list that have the word, no row twice, to those that were found, and return their number: those of
 * more tokens than n, or those of n and fewer, or both. */
static size_t find_in_list(struct grouping *grouping, int32_t entry, uint32_t word, size_t row, int more, int fewer,
                           int32_t *found, size_t made) {
    const struct prefixes *prefixes = &grouping->prefixes;
    size_t n = grouping->counts[row];
    for (; entry >= 0; entry = prefixes->next[entry]) {
        int32_t other = prefixes->rows[entry] < 0 ? ~prefixes->rows[entry] : prefixes->rows[entry];
        if (prefixes->words[entry] != word || grouping->seen[other] == grouping->stamp) continue;
        if (!(grouping->counts[other] > n ? more : fewer)) continue;
        grouping->seen[other] = grouping->stamp;
        if (share_bucket(grouping, row, (size_t)other)) found[made++] = other;
    }
    return made;
}

/* The rows that may be similar to this one by their prefixes, ascending, and their number. Of two similar rows the
 * smaller has the first common word among its `shortest`, the larger among its `longest`. */
static size_t prefix_find(struct grouping *grouping, size_t row, uint64_t *words, int32_t *found) {
    const struct prefixes *prefixes = &grouping->prefixes;
    size_t n = grouping->counts[row], longest, shortest, made = 0;
    grouping->stamp++;
    prefix_lengths(n, grouping->threshold, &longest, &shortest);
    prefix_of(prefixes->counts, grouping->tokens[row], n, longest, words);
    for (size_t i = 0; i < longest; i++) {
        uint32_t word = (uint32_t)words[i];
        size_t list = list_of(prefixes, word);
        made = find_in_list(grouping, prefixes->near[list], word, row, i < shortest, 1, found, made);
        if (i < shortest) made = find_in_list(grouping, prefixes->far[list], word, row, 1, 0, found, made);
    }
    sort_rows(found, made);
    return made;
}

/* ---- the walk ---- */

/* What is under way for one row. */
struct step {
    struct grouping *grouping;
    const struct grouping_scratch *scratch;
    size_t row;
    int hashed; /* whether set holds the row's tokens */
    struct token_set set;
};

enum answer { DIFFERENT, SIMILAR, MISSING };

static size_t equal_slots(const struct grouping *grouping, size_t row, int32_t other) {
    const uint64_t *signatures = grouping->signatures;
    size_t k = grouping->k;
    return agreement(signatures + (size_t)grouping->of[row] * k, signatures + (size_t)grouping->of[other] * k, k);
}

static enum answer compare(struct step *step, int32_t other, double *similarity) {
    struct grouping *grouping = step->grouping;
    size_t equal = equal_slots(grouping, step->row, other);
    if (!grouping->exact) {
        *similarity = (double)equal / (double)grouping->k;
        return *similarity >= grouping->threshold ? SIMILAR : DIFFERENT;
    }
    if (equal < grouping->least) return DIFFERENT;
    if (!grouping->tokens[other]) return MISSING;
    if (!step->hashed) {
        step->set = token_set_of(grouping->tokens[step->row], grouping->counts[step->row], step->scratch->table);
        step->hashed = 1;
    }
    *similarity = jaccard_with_row(&step->set, grouping->counts[step->row], grouping->tokens[other],
                                   grouping->counts[other], grouping->threshold);
    return *similarity >= 0 ? SIMILAR : DIFFERENT;
}

/* Tell whether all rows of a bucket are in the row's component. */
static int is_joined(const struct grouping *grouping, size_t bucket, size_t row) {
    int32_t one = grouping->whole[bucket];
    return one >= 0 && root_of(grouping->parent, one) == root_of(grouping->parent, (int32_t)row);
}

/* Add a row to its buckets. */
static void add_row(struct grouping *grouping, size_t row) {
    const int32_t *buckets = grouping->buckets + row * grouping->bands;
    int32_t *next = grouping->next + row * grouping->bands;
    for (size_t band = 0; band < grouping->bands; band++) {
        next[band] = NO_ROW;
        if (buckets[band] < 0) continue;
        size_t bucket = (size_t)(grouping->first[band] + buckets[band]);
        int32_t tail = grouping->tails[bucket];
        if (tail < 0) grouping->heads[bucket] = grouping->whole[bucket] = (int32_t)row;
        else grouping->next[(size_t)tail * grouping->bands + band] = (int32_t)row;
        if (grouping->chains && !is_joined(grouping, bucket, row)) grouping->whole[bucket] = NO_ROW;
        grouping->tails[bucket] = (int32_t)row;
    }
}

static void begin_lists(const struct grouping *grouping, size_t row, int32_t *cursors) {
    const int32_t *buckets = grouping->buckets + row * grouping->bands;
    for (size_t band = 0; band < grouping->bands; band++) {
        int32_t head = buckets[band] < 0 ? NO_ROW : grouping->heads[grouping->first[band] + buckets[band]];
        cursors[band] = head < 0 ? INT32_MAX : head;
    }
}

/* End the lists of buckets that are in the row's component as a whole. */
static void leave_joined(const struct grouping *grouping, size_t row, int32_t *cursors) {
    const int32_t *buckets = grouping->buckets + row * grouping->bands;
    for (size_t band = 0; band < grouping->bands; band++) {
        if (cursors[band] == INT32_MAX) continue;
        if (is_joined(grouping, (size_t)(grouping->first[band] + buckets[band]), row)) cursors[band] = INT32_MAX;
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

/* The rows that a row is to be compared with, in order. */
struct candidates {
    int by_prefix;
    size_t at, found; /* by prefix: which comes next, and how many there are */
};

static struct candidates candidates_of(struct grouping *grouping, size_t row, const struct grouping_scratch *scratch) {
    struct candidates candidates = {grouping->prefixes.counts != NULL, 0, 0};
    if (candidates.by_prefix) candidates.found = prefix_find(grouping, row, scratch->words, scratch->found);
    else begin_lists(grouping, row, scratch->cursors);
    return candidates;
}

/* INT32_MAX at the end. */
static int32_t next_candidate(const struct grouping *grouping, struct candidates *candidates,
                              const struct grouping_scratch *scratch) {
    if (!candidates->by_prefix) return next_of_lists(grouping, scratch->cursors);
    return candidates->at < candidates->found ? scratch->found[candidates->at++] : INT32_MAX;
}

static int is_known(const struct grouping *grouping, size_t row, int32_t other) {
    return grouping->chains && root_of(grouping->parent, other) == root_of(grouping->parent, (int32_t)row);
}

size_t grouping_missing(struct grouping *grouping, size_t row, size_t end, size_t most,
                        const struct grouping_scratch *scratch, int32_t *missing) {
    size_t made = 0;
    for (; row < end && grouping->tokens[row]; row++) {
        struct candidates candidates = candidates_of(grouping, row, scratch);
        for (size_t met = 0; met < most;) {
            int32_t other = next_candidate(grouping, &candidates, scratch);
            if (other == INT32_MAX) break;
            if (equal_slots(grouping, row, other) < grouping->least) continue;
            if (!grouping->tokens[other]) missing[made++] = other;
            met++;
        }
    }
    return made;
}

enum grouping_stop grouping_walk(struct grouping *grouping, struct grouping_place *place, size_t end,
                                 const struct grouping_scratch *scratch, size_t work) {
    int by_prefix = grouping->prefixes.counts != NULL;
    for (; place->row < end; place->row++, place->from = 0) {
        struct step step = {.grouping = grouping, .scratch = scratch, .row = place->row};
        if (grouping->exact && !grouping->tokens[place->row]) {
            place->needed = (int32_t)place->row;
            return GROUPING_MISSING;
        }
        if (by_prefix && !has_room(grouping, place->row)) return GROUPING_FULL;
        if (place->from == 0) grouping->parent[place->row] = (int32_t)place->row;
        struct candidates candidates = candidates_of(grouping, place->row, scratch);
        if (grouping->chains && place->from > 0 && !by_prefix) leave_joined(grouping, place->row, scratch->cursors);
        for (size_t met = 0;; met++) {
            double similarity;
            int32_t other = next_candidate(grouping, &candidates, scratch);
            if (other == INT32_MAX) break;
            if (other < place->from || is_known(grouping, place->row, other)) continue;
            if (!by_prefix && met > place->crowd) return GROUPING_CROWDED;
            place->from = other;
            if (work-- == 0) return GROUPING_PAUSED;
            enum answer answer = compare(&step, other, &similarity);
            if (answer == MISSING) {
                place->needed = other;
                return GROUPING_MISSING;
            }
            place->from = other + 1;
            place->compared++;
            if (answer == DIFFERENT) continue;
            grouping->left[place->made] = other;
            grouping->right[place->made] = (int32_t)place->row;
            grouping->similarity[place->made++] = similarity;
            if (grouping->chains) {
                join(grouping->parent, other, (int32_t)place->row);
                if (!by_prefix) leave_joined(grouping, place->row, scratch->cursors);
            } else {
                grouping->parent[place->row] = other;
                break;
            }
        }
        if (grouping->chains || grouping->parent[place->row] == (int32_t)place->row) {
            add_row(grouping, place->row);
            if (by_prefix) add_words(grouping, place->row, scratch->words);
        }
    }
    return GROUPING_DONE;
}
