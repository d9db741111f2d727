/* Rows of a crowd are looked up by the rarest words that they share (a prefix filter: Chaudhuri, Ganti, Kaushik 2006;
 * Bayardo, Ma, Srikant 2007). Where a row has so few rare words that it may share none with a similar one, all bitmaps are
 * compared, one after the other, at a few nanoseconds each. In both cases the words shared bound the overlap, so that
 * hardly any row is found that is not similar, whoever chose the tokens. */
#include "compiler.h"
#include "grouping/grouping_parts.h"

#include <string.h>

/* Members whose bitmaps are compared at once. */
#define BLOCK 256

/* Entries whose lists are fetched ahead. */
#define AHEAD 16

void crowd_prefix_lengths(size_t tokens, struct sets_rule rule, size_t *longest, size_t *shortest) {
    size_t least = 1; /* overlap with any row; one token of containment, as the other row may have no more */
    size_t equal = sets_overlap_needed(tokens, tokens, rule);
    if (rule.measure == SETS_JACCARD) { /* with a row that has nothing else */
        least = (size_t)(rule.threshold * (double)tokens);
        while (least > 0 && (double)(least - 1) / (double)tokens >= rule.threshold) least--;
        while (least < tokens && (double)least / (double)tokens < rule.threshold) least++;
    }
    *longest = least ? tokens - least + 1 : tokens;
    *shortest = equal ? tokens - equal + 1 : tokens;
    if (*shortest > *longest) *shortest = *longest;
}

/* The place in a table of least overlaps. */
static inline size_t place_of_sizes(size_t a, size_t b, enum sets_measure measure) {
    return measure == SETS_CONTAINMENT ? (a < b ? a : b) : a + b;
}

void crowd_least_overlaps(struct sets_rule rule, size_t sums, uint32_t *overlaps) {
    for (size_t place = 0; place < sums; place++) {
        size_t a = rule.measure == SETS_CONTAINMENT ? place : place / 2;
        size_t b = rule.measure == SETS_CONTAINMENT ? place : place - a;
        overlaps[place] = (uint32_t)sets_overlap_needed(a, b, rule);
    }
}

/* ---- words ---- */

static inline uint32_t word_of(uint64_t token, uint64_t multiplier) { return (uint32_t)(token * multiplier >> 32); }

static inline uint32_t kind_of(uint32_t word) { return word >> (32 - CROWD_COUNT_BITS); }

void crowd_count_tokens(const uint64_t *tokens, size_t n, uint64_t multiplier, uint8_t *counts) {
    for (size_t i = 0; i < n; i++) {
        uint8_t *count = counts + kind_of(word_of(tokens[i], multiplier));
        *count = (uint8_t)(*count + (*count < UINT8_MAX));
    }
}

size_t crowd_number_frequent(const uint8_t *counts, uint8_t frequent, size_t most, uint16_t *bits) {
    size_t numbered = 0;
    for (size_t kind = 0; kind < (size_t)1 << CROWD_COUNT_BITS; kind++) {
        bits[kind] = counts[kind] >= frequent && numbered < most ? (uint16_t)++numbered : 0; /* bit 0 is none */
    }
    return numbered;
}

/* Bring the `wanted` smallest numbers to the front, ascending. Returns 1 where pause stopped it. */
static int sort_smallest(uint64_t *numbers, size_t n, size_t wanted, struct grouping_scratch *scratch) {
    if (grouping_make_heap(numbers, n, scratch)) return 1;
    for (size_t left = n; left > n - wanted; left--) {
        numbers[left - 1] = grouping_take_smallest(numbers, left);
        if (grouping_must_stop(scratch, 32)) return 1;
    }
    for (size_t i = 0, j = n; i < wanted && i + 1 < j; i++) {
        uint64_t number = numbers[--j];
        numbers[j] = numbers[i];
        numbers[i] = number;
    }
    return 0;
}

/* Set the bits of a row's frequent words, write its other words below their counts, and return their number; SIZE_MAX
 * where pause stopped it. */
static size_t sort_out(const struct grouping *grouping, size_t row, struct grouping_scratch *scratch,
                       struct crowd_member *member) {
    const struct crowd *crowd = &grouping->crowd;
    const uint64_t *tokens = grouping->tokens[row];
    size_t rare = 0;
    memset(scratch->bitmap, 0, crowd->width * sizeof *scratch->bitmap);
    for (size_t i = 0; i < member->tokens; i++) {
        uint32_t word = word_of(tokens[i], crowd->multiplier), kind = kind_of(word);
        if (grouping_must_stop(scratch, 4)) return SIZE_MAX;
        if (crowd->counts[kind] < crowd->frequent) {
            scratch->words[rare++] = (uint64_t)crowd->counts[kind] << 32 | word;
            continue;
        }
        size_t bit = crowd->bits[kind];
        uint64_t mask = (uint64_t)1 << bit % 64;
        if (bit == 0 || scratch->bitmap[bit / 64] & mask) {
            member->lost++;
        } else {
            scratch->bitmap[bit / 64] |= mask;
            member->frequent++;
        }
    }
    return rare;
}

int crowd_describe(const struct grouping *grouping, size_t row, struct grouping_scratch *scratch,
                   struct crowd_row *described) {
    size_t longest, shortest, rare;
    struct crowd_row made = {{(int32_t)row, grouping->counts[row], 0, 0, 0, UINT64_MAX}, 0, 0};
    crowd_prefix_lengths(made.member.tokens, grouping->rule, &longest, &shortest);
    rare = sort_out(grouping, row, scratch, &made.member);
    if (rare == SIZE_MAX) return 1;
    made.listed = rare < longest ? rare : longest;
    made.is_dense = rare < shortest;
    made.member.later = rare - made.listed;
    if (made.member.later) {
        if (sort_smallest(scratch->words, rare, made.listed, scratch)) return 1;
        made.member.last = made.listed ? scratch->words[made.listed - 1] : 0;
    }
    *described = made;
    return 0;
}

/* ---- adding rows ---- */

static inline size_t list_of(const struct crowd *crowd, uint32_t word) {
    return word * UINT32_C(0x9E3779B1) >> crowd->shift;
}

void crowd_list(struct crowd *crowd, size_t from, size_t to) {
    for (size_t entry = from; entry < to; entry++) {
        if (to - entry > AHEAD) prefetch(crowd->lists + list_of(crowd, crowd->entries[entry + AHEAD].word));
        int32_t *head = crowd->lists + list_of(crowd, crowd->entries[entry].word);
        crowd->entries[entry].next = *head;
        if (crowd->past) crowd->past[entry] = *head;
        *head = (int32_t)entry;
    }
}

int crowd_has_room(const struct crowd *crowd, size_t tokens) {
    return crowd->capacity - crowd->filled >= tokens && crowd->count < crowd->room;
}

void crowd_append(struct crowd *crowd, const struct crowd_row *row, const struct grouping_scratch *scratch) {
    size_t member = crowd->count++, before = crowd->filled;
    crowd->members[member] = row->member;
    crowd->shared[member] = 0;
    if (crowd->width) {
        memcpy(crowd->bitmaps + member * crowd->width, scratch->bitmap, crowd->width * sizeof *scratch->bitmap);
    }
    if (row->is_dense) crowd->dense[crowd->crowded++] = (int32_t)member;
    for (size_t i = 0; i < row->listed; i++) {
        struct crowd_entry *entry = crowd->entries + crowd->filled++;
        entry->word = (uint32_t)scratch->words[i];
        entry->member = (int32_t)member;
    }
    crowd_list(crowd, before, crowd->filled);
}

int crowd_add(struct grouping *grouping, size_t row, struct grouping_scratch *scratch) {
    struct crowd_row described;
    if (!crowd_has_room(&grouping->crowd, grouping->counts[row])) return 0;
    if (crowd_describe(grouping, row, scratch, &described)) return -1;
    crowd_append(&grouping->crowd, &described, scratch);
    return 1;
}

/* ---- searches ---- */

/* A search under way. */
struct search {
    struct grouping *grouping;
    const struct crowd_row *row;
    struct grouping_scratch *scratch;
    int joined; /* whether the row is joined to others already */
    size_t found;
};

static int is_joined(const struct search *search, size_t member) {
    const struct crowd *crowd = &search->grouping->crowd;
    return search->joined && grouping_are_joined(search->grouping, crowd->members[member].row, search->row->member.row);
}

/* The first entry behind this one whose row is in another component, or one before it. */
static int32_t pass_entries(const struct grouping *grouping, int32_t entry) {
    const struct crowd *crowd = &grouping->crowd;
    int32_t row = crowd->members[crowd->entries[entry].member].row, past = crowd->past[entry];
    while (past >= 0 && grouping_are_joined(grouping, crowd->members[crowd->entries[past].member].row, row)) {
        past = crowd->past[past];
    }
    return crowd->past[entry] = past;
}

/* Fetch the first entries of the lists of a row's words into the cache. */
static void fetch_lists(const struct crowd *crowd, const uint64_t *words, size_t n) {
    for (size_t i = 0; i < n; i++) prefetch(crowd->lists + list_of(crowd, (uint32_t)words[i]));
    for (size_t i = 0; i < n; i++) {
        int32_t entry = crowd->lists[list_of(crowd, (uint32_t)words[i])];
        if (entry >= 0) prefetch(crowd->entries + entry);
    }
}

/* Count the members of a list that have the word, none of the row's component, and write each once behind those that
 * `touched` counts. Returns 1 where pause stopped it. */
static int count_list(const struct search *search, uint32_t word, size_t *touched) {
    const struct crowd *crowd = &search->grouping->crowd;
    int32_t next, number = crowd->lists[list_of(crowd, word)];
    for (; number >= 0; number = next) {
        const struct crowd_entry *entry = crowd->entries + number;
        size_t member = (size_t)entry->member;
        if (grouping_must_stop(search->scratch, 8)) return 1;
        next = entry->next;
        if (is_joined(search, member)) {
            next = pass_entries(search->grouping, number);
            continue;
        }
        if (entry->word != word) continue;
        if (crowd->shared[member]++ == 0) search->scratch->found[(*touched)++] = member;
    }
    return 0;
}

/* The least overlap of similar sets of a and b tokens; more than both have if there is none. */
static inline size_t least_overlap(const struct grouping *grouping, size_t a, size_t b) {
    const struct crowd *crowd = &grouping->crowd;
    size_t place = place_of_sizes(a, b, grouping->rule.measure);
    return place < crowd->sums ? crowd->overlaps[place] : sets_overlap_needed(a, b, grouping->rule);
}

static inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Whether a member may be similar whose bitmap differs in so many bits and that shares so many listed words. */
static inline int may_be_similar(const struct search *search, const struct crowd_member *other, size_t bits_differing,
                                 size_t shared) {
    const struct crowd_member *row = &search->row->member;
    size_t bits = (row->frequent + other->frequent - bits_differing) / 2;
    size_t later = row->last <= other->last ? row->later : other->later;
    size_t rest = shared + smaller(row->lost, other->lost) + later;
    size_t most = smaller(row->tokens - row->frequent, other->tokens - other->frequent);
    return bits + smaller(rest, most) >= least_overlap(search->grouping, row->tokens, other->tokens);
}

/* Compare `some` members that follow each other, and write those that are found. */
static void compare_block(struct search *search, size_t start, size_t some) {
    struct grouping *grouping = search->grouping;
    struct crowd *crowd = &grouping->crowd;
    int32_t bits_differing[BLOCK];
    crowd->kernels->differ(search->scratch->bitmap, 0, crowd->bitmaps + start * crowd->width, some, crowd->width, 1,
                           bits_differing);
    for (size_t i = 0; i < some; i++) {
        const struct crowd_member *other = crowd->members + start + i;
        size_t shared = crowd->shared[start + i];
        crowd->shared[start + i] = 0;
        if (!may_be_similar(search, other, (size_t)bits_differing[i], shared)) continue;
        if (is_joined(search, start + i)) continue;
        if (!grouping_share_bucket(grouping, (size_t)search->row->member.row, (size_t)other->row)) continue;
        search->scratch->found[search->found++] = (uint64_t)other->row;
    }
}

/* Compare all members. Returns 1 where pause stopped it. */
static int compare_all(struct search *search) {
    const struct crowd *crowd = &search->grouping->crowd;
    for (size_t start = 0; start < crowd->count; start += BLOCK) {
        size_t some = crowd->count - start < BLOCK ? crowd->count - start : BLOCK;
        compare_block(search, start, some);
        if (grouping_must_stop(search->scratch, some * (4 + crowd->width))) return 1;
    }
    return 0;
}

/* Compare the members that were touched, and those that are dense. Returns 1 where pause stopped it. */
static int compare_some(struct search *search, size_t touched) {
    const struct crowd *crowd = &search->grouping->crowd;
    const uint64_t *found = search->scratch->found;
    for (size_t i = 0; i < touched; i++) {
        compare_block(search, (size_t)found[i], 1); /* writes no further than it has read */
        if (grouping_must_stop(search->scratch, 16 + crowd->width)) return 1;
    }
    return 0;
}

size_t crowd_find(struct grouping *grouping, const struct crowd_row *row, struct grouping_scratch *scratch) {
    struct crowd *crowd = &grouping->crowd;
    int32_t parent = grouping->parent[row->member.row];
    struct search search = {grouping, row, scratch, 0, 0};
    size_t touched = 0;
    int stopped = 0;
    search.joined = grouping->chains && parent != GROUPING_NO_ROW && parent != row->member.row;
    fetch_lists(crowd, scratch->words, row->listed);
    for (size_t i = 0; i < row->listed && !stopped; i++) {
        stopped = count_list(&search, (uint32_t)scratch->words[i], &touched);
    }
    if (!stopped && !row->is_dense) { /* the dense ones may share no listed word with it: let none be left out */
        for (size_t i = 0; i < crowd->crowded; i++) {
            if (crowd->shared[crowd->dense[i]]) continue;
            scratch->found[touched++] = (uint64_t)crowd->dense[i];
        }
    }
    if (!stopped) stopped = row->is_dense ? compare_all(&search) : compare_some(&search, touched);
    if (!stopped) return search.found;
    memset(crowd->shared, 0, crowd->count * sizeof *crowd->shared);
    return SIZE_MAX;
}
