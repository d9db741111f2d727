/* Rows of a crowd are looked up by the first words that they share (a prefix filter: Chaudhuri, Ganti, Kaushik 2006;
 * Bayardo, Ma, Srikant 2007), and by their places (a positional filter: Xiao, Wang, Lin, Yu 2008). Where these words are
 * in so many rows that their lists are longer than the crowd, all bitmaps are compared, one after the other, at a few
 * nanoseconds each. In both cases the words shared bound the overlap, so that hardly any row is found that is not similar,
 * whoever chose the tokens. */
#include "compiler.h"
#include "grouping/grouping_parts.h"

#include <string.h>

/* Members whose bitmaps are compared at once. */
#define BLOCK 256

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

void crowd_count_tokens(const uint64_t *tokens, size_t n, uint64_t multiplier, uint16_t *counts) {
    for (size_t i = 0; i < n; i++) {
        uint16_t *count = counts + kind_of(word_of(tokens[i], multiplier));
        *count = (uint16_t)(*count + (*count < UINT16_MAX));
    }
}

size_t crowd_number_frequent(const uint16_t *counts, uint16_t frequent, size_t most, uint16_t *bits) {
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

/* Set the bits of a row's frequent words, write its rare words below their counts from the first place of scratch->words
 * on, and its frequent words that rows are listed under from the last of as many places as it has tokens back. Writes the
 * number of these, and returns the number of rare words; SIZE_MAX where pause stopped it. */
static size_t sort_out(const struct grouping *grouping, struct crowd_row *row, struct grouping_scratch *scratch,
                       size_t *behind) {
    const struct crowd *crowd = &grouping->crowd;
    struct crowd_member *member = &row->member;
    const uint64_t *tokens = grouping->tokens[member->row];
    size_t rare = 0, free = member->tokens;
    memset(scratch->bitmap, 0, crowd->width * sizeof *scratch->bitmap);
    for (size_t i = 0; i < member->tokens; i++) {
        uint32_t word = word_of(tokens[i], crowd->multiplier), kind = kind_of(word);
        uint64_t number = (uint64_t)crowd->counts[kind] << 32 | word;
        if (grouping_must_stop(scratch, 4)) return SIZE_MAX;
        row->sketch ^= (uint64_t)1 << word % 64;
        if (crowd->counts[kind] < crowd->frequent) {
            scratch->words[rare++] = number;
            continue;
        }
        if (crowd->counts[kind] < crowd->unlisted && row->is_short) scratch->words[--free] = number;
        size_t bit = crowd->bits[kind];
        uint64_t mask = (uint64_t)1 << bit % 64;
        if (bit == 0 || scratch->bitmap[bit / 64] & mask) {
            member->lost++;
        } else {
            scratch->bitmap[bit / 64] |= mask;
            member->frequent++;
        }
    }
    *behind = member->tokens - free;
    return rare;
}

int crowd_describe(const struct grouping *grouping, size_t row, struct grouping_scratch *scratch,
                   struct crowd_row *described) {
    size_t longest, behind;
    struct crowd_row made = {{(int32_t)row, grouping->counts[row], 0, 0, 0, UINT64_MAX}, 0, 0, 0, 0, 0, 0, 0};
    made.is_short = made.member.tokens <= CROWD_SHORT;
    crowd_prefix_lengths(made.member.tokens, grouping->rule, &longest, &made.shortest);
    made.rare = sort_out(grouping, &made, scratch, &behind);
    if (made.rare == SIZE_MAX) return 1;
    made.listed = made.rare < longest ? made.rare : longest;
    made.member.later = made.rare - made.listed;
    if ((made.member.later || made.is_short) && sort_smallest(scratch->words, made.rare, made.listed, scratch)) return 1;
    if (made.member.later) made.member.last = made.listed ? scratch->words[made.listed - 1] : 0;
    if (made.rare < longest && behind) {
        size_t more = longest - made.rare < behind ? longest - made.rare : behind;
        uint64_t *first = scratch->words + made.member.tokens - behind;
        if (sort_smallest(first, behind, more, scratch)) return 1;
        memmove(scratch->words + made.rare, first, more * sizeof *first);
        made.listed += more;
    }
    made.is_dense = made.rare < made.shortest;
    made.is_open = made.listed < made.shortest;
    *described = made;
    return 0;
}

/* ---- lists ---- */

/* Lists that are fetched ahead of those that are copied. */
#define AHEAD 16

/* The lists of a word: of rare words, and of frequent ones within the shortest prefix of a member and after it. A row shares
 * a word of these prefixes with each similar one that has no fewer tokens. */
enum list_kind { OF_RARE, OF_SHORTEST, OF_LONGEST };

static inline uint32_t key_of(uint64_t word, enum list_kind kind) {
    return (uint32_t)word + (uint32_t)kind * UINT32_C(0x85EBCA6B);
}

static inline size_t list_of(const struct crowd *crowd, uint32_t key) {
    return key * UINT32_C(0x9E3779B1) >> crowd->shift;
}

/* Slots of the chunk that follows one of so many. */
static inline size_t more_slots(size_t slots) { return slots < CROWD_MOST_SLOTS ? 2 * slots : slots; }

static void begin_chunk(struct crowd *crowd, struct crowd_chain *list, size_t slots, int32_t next) {
    struct crowd_chunk chunk = {next, next, (uint8_t)slots, 0, 0};
    list->first = (int32_t)crowd->filled;
    crowd->slots[crowd->filled].chunk = chunk;
    crowd->filled += slots;
}

static inline void add_to_chunk(union crowd_slot *chunk, struct crowd_entry entry) {
    chunk[++chunk->chunk.used].entry = entry;
}

static void add_entry(struct crowd *crowd, struct crowd_entry entry) {
    struct crowd_chain *list = crowd->lists + list_of(crowd, entry.key);
    crowd->entries++;
    if (list->length++ == 0) {
        list->first = (int32_t)crowd->filled;
        crowd->slots[crowd->filled++].entry = entry;
        return;
    }
    if (list->length == 2) {
        struct crowd_entry first = crowd->slots[list->first].entry;
        begin_chunk(crowd, list, CROWD_LEAST_SLOTS, GROUPING_NO_ROW);
        add_to_chunk(crowd->slots + list->first, first);
    }
    struct crowd_chunk last = crowd->slots[list->first].chunk;
    if (last.used + 1 == last.slots) begin_chunk(crowd, list, more_slots(last.slots), list->first);
    add_to_chunk(crowd->slots + list->first, entry);
}

void crowd_relist(struct crowd *crowd, const union crowd_slot *slots, const struct crowd_chain *lists, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (n - i > 2 * AHEAD && lists[i + 2 * AHEAD].length) prefetch(slots + lists[i + 2 * AHEAD].first);
        if (n - i > AHEAD && lists[i + AHEAD].length == 1) {
            prefetch(crowd->lists + list_of(crowd, slots[lists[i + AHEAD].first].entry.key));
        }
        if (lists[i].length == 1) add_entry(crowd, slots[lists[i].first].entry);
        if (lists[i].length < 2) continue;
        for (int32_t at = lists[i].first; at >= 0; at = slots[at].chunk.next) {
            for (size_t j = 1; j <= slots[at].chunk.used; j++) add_entry(crowd, slots[at + (int32_t)j].entry);
        }
    }
}

static enum list_kind kind_of_list(const struct crowd_row *row, size_t place) {
    return place < row->rare ? OF_RARE : place < row->shortest ? OF_SHORTEST : OF_LONGEST;
}

int crowd_has_room(struct crowd *crowd, const struct crowd_row *row, const struct grouping_scratch *scratch) {
    crowd->needed = 0;
    if (crowd->count == crowd->room) return 0;
    if (crowd->capacity - crowd->filled >= 2 * CROWD_MOST_SLOTS * row->listed) return 1;
    for (size_t i = 0; i < row->listed; i++) {
        struct crowd_chain list = crowd->lists[list_of(crowd, key_of(scratch->words[i], kind_of_list(row, i)))];
        size_t slots = list.length > 1 ? crowd->slots[list.first].chunk.slots : CROWD_LEAST_SLOTS;
        crowd->needed += 2 * more_slots(slots); /* enough if several words are of one list, too */
    }
    return crowd->capacity - crowd->filled >= crowd->needed;
}

void crowd_append(struct crowd *crowd, const struct crowd_row *row, const struct grouping_scratch *scratch) {
    size_t member = crowd->count++;
    crowd->members[member] = row->member;
    crowd->sketches[member] = row->sketch;
    if (crowd->width) {
        memcpy(crowd->bitmaps + member * crowd->width, scratch->bitmap, crowd->width * sizeof *scratch->bitmap);
    }
    if (row->is_dense) crowd->dense[crowd->crowded++] = (int32_t)member;
    if (row->is_open) crowd->open[crowd->opened++] = (int32_t)member;
    for (size_t i = 0; i < row->listed; i++) {
        struct crowd_entry entry = {
            key_of(scratch->words[i], kind_of_list(row, i)), (int32_t)member,
            row->is_short ? (uint16_t)row->member.tokens : UINT16_MAX,
            row->is_short ? (uint16_t)(row->member.tokens - i - 1) : UINT16_MAX,
        };
        add_entry(crowd, entry);
    }
}

int crowd_add(struct grouping *grouping, size_t row, struct grouping_scratch *scratch) {
    struct crowd_row described;
    if (crowd_describe(grouping, row, scratch, &described)) return -1;
    if (!crowd_has_room(&grouping->crowd, &described, scratch)) return 0;
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
    size_t found; /* in scratch->found: members that were touched, and then rows */
};

static int is_joined(const struct search *search, size_t member) {
    const struct crowd *crowd = &search->grouping->crowd;
    return search->joined && grouping_are_joined(search->grouping, crowd->members[member].row, search->row->member.row);
}

static inline int is_joined_to(const struct grouping *grouping, const struct crowd_entry *entry, int32_t row) {
    return grouping_are_joined(grouping, grouping->crowd.members[entry->member].row, row);
}

/* Whether all entries of a chunk are in the component of a row. */
static int is_chunk_joined(const struct grouping *grouping, union crowd_slot *chunk, int32_t row) {
    struct crowd_chunk *head = &chunk->chunk;
    if (!is_joined_to(grouping, &chunk[1].entry, row)) return 0;
    while (head->joined < head->used && is_joined_to(grouping, &chunk[head->joined + 1].entry, row)) head->joined++;
    return head->joined == head->used;
}

/* The first chunk behind one that is in the component of a row, and not all in it, or one before it. Only the last chunk of
 * a list grows, and nothing leads past it before it is full. */
static int32_t pass_chunks(const struct grouping *grouping, int32_t at, int32_t row) {
    union crowd_slot *slots = grouping->crowd.slots;
    int32_t past = slots[at].chunk.past;
    while (past >= 0 && is_chunk_joined(grouping, slots + past, row)) past = slots[past].chunk.past;
    return slots[at].chunk.past = past;
}

/* Fetch what is first in the lists of a row's words into the cache. */
static void fetch_lists(const struct crowd *crowd, const uint64_t *words, size_t n, enum list_kind kind) {
    for (size_t i = 0; i < n; i++) prefetch(crowd->lists + list_of(crowd, key_of(words[i], kind)));
    for (size_t i = 0; i < n; i++) {
        struct crowd_chain list = crowd->lists[list_of(crowd, key_of(words[i], kind))];
        if (list.length) prefetch(crowd->slots + list.first);
        if (list.length > CROWD_LEAST_SLOTS) prefetch(crowd->slots + list.first + CROWD_LEAST_SLOTS);
    }
}

static inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static inline int is_touched(const struct crowd *crowd, size_t member) {
    return crowd->touched[member / 8] >> member % 8 & 1;
}

/* Write a member behind those that `found` counts, unless it is there. */
static inline void touch(struct search *search, size_t member) {
    struct crowd *crowd = &search->grouping->crowd;
    if (is_touched(crowd, member)) return;
    crowd->touched[member / 8] |= (uint8_t)(1 << member % 8);
    crowd->shared[member] = 0;
    search->scratch->found[search->found++] = member;
}

/* The least overlap of similar sets of a and b tokens; more than both have if there is none. */
static inline size_t least_overlap(const struct grouping *grouping, size_t a, size_t b) {
    const struct crowd *crowd = &grouping->crowd;
    size_t place = place_of_sizes(a, b, grouping->rule.measure);
    return place < crowd->sums ? crowd->overlaps[place] : sets_overlap_needed(a, b, grouping->rule);
}

/* Look at n entries that follow each other: touch the members that have the key and may be similar, and count the rare words
 * that touched ones share. The first word that a member shares has the most tokens after it, so no member is touched later.
 * Most entries are passed over, without a branch. */
static void look_at(struct search *search, const union crowd_slot *slots, size_t n, uint32_t key, size_t rest, int is_rare) {
    struct crowd *crowd = &search->grouping->crowd;
    const struct crowd_member *row = &search->row->member;
    const enum sets_measure measure = search->grouping->rule.measure;
    uint32_t kept[CROWD_MOST_SLOTS], most[CROWD_MOST_SLOTS];
    const int is_short = search->row->is_short;
    size_t some = 0;
    for (size_t i = 0; i < n; i++) {
        struct crowd_entry entry = slots[i].entry;
        int both_short = is_short && entry.size <= CROWD_SHORT;
        size_t need = both_short ? crowd->overlaps[place_of_sizes(row->tokens, entry.size, measure)] : 0;
        kept[some] = (uint32_t)entry.member;
        most[some] = need ? (uint32_t)(row->tokens + entry.size - 2 * need) : UINT32_MAX; /* tokens that one row has only */
        some += (entry.key == key) & ((smaller(rest, entry.rest) + 1 >= need) | (is_rare & is_touched(crowd, kept[some])));
    }
    for (size_t i = 0; i < some; i++) {
        if (!is_touched(crowd, kept[i])) {
            if (ones_of(crowd->sketches[kept[i]] ^ search->row->sketch) > most[i]) continue;
            touch(search, kept[i]);
        }
        crowd->shared[kept[i]] += (uint32_t)is_rare;
    }
    search->scratch->looked_at += n;
}

/* Look at the members that are listed under the word at this place of the row, and pass chunks of the row's component.
 * Returns 1 where pause stopped it. */
static int visit_list(struct search *search, size_t place, enum list_kind kind) {
    const struct crowd *crowd = &search->grouping->crowd;
    const uint32_t key = key_of(search->scratch->words[place], kind);
    const size_t rest = search->row->member.tokens - place - 1;
    const int32_t row = search->row->member.row;
    struct crowd_chain list = crowd->lists[list_of(crowd, key)];
    if (list.length == 1) look_at(search, crowd->slots + list.first, 1, key, rest, kind == OF_RARE);
    if (list.length < 2) return 0;
    for (int32_t at = list.first, next; at >= 0; at = next) {
        union crowd_slot *chunk = crowd->slots + at;
        next = chunk->chunk.next;
        for (size_t ahead = 0; next >= 0 && ahead < CROWD_MOST_SLOTS; ahead += CROWD_LEAST_SLOTS) {
            prefetch(crowd->slots + next + ahead); /* as the processor does not foresee it: a third of the time */
        }
        if (search->joined && is_chunk_joined(search->grouping, chunk, row)) {
            next = pass_chunks(search->grouping, at, row);
        } else {
            look_at(search, chunk + 1, chunk->chunk.used, key, rest, kind == OF_RARE);
        }
        if (grouping_must_stop(search->scratch, 8 + 2 * (size_t)chunk->chunk.used)) return 1;
    }
    return 0;
}

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

static int share_bucket(const struct grouping *grouping, size_t a, size_t b) {
    const int32_t *left = grouping->buckets + a * grouping->bands, *right = grouping->buckets + b * grouping->bands;
    int share = 0;
    for (size_t band = 0; band < grouping->bands; band++) share |= left[band] == right[band] && left[band] >= 0;
    return share;
}

/* Compare `some` members that follow each other, and write those that are found. */
static void compare_block(struct search *search, size_t start, size_t some) {
    struct grouping *grouping = search->grouping;
    struct crowd *crowd = &grouping->crowd;
    int32_t bits_differing[BLOCK];
    search->scratch->looked_at += some;
    crowd->kernels->differ(search->scratch->bitmap, 0, crowd->bitmaps + start * crowd->width, some, crowd->width, 1,
                           bits_differing);
    for (size_t i = 0; i < some; i++) {
        const struct crowd_member *other = crowd->members + start + i;
        size_t shared = is_touched(crowd, start + i) ? crowd->shared[start + i] : 0;
        if (!may_be_similar(search, other, (size_t)bits_differing[i], shared)) continue;
        if (is_joined(search, start + i)) continue;
        if (!share_bucket(grouping, (size_t)search->row->member.row, (size_t)other->row)) continue;
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
    memset(crowd->touched, 0, (crowd->count + 7) / 8);
    return 0;
}

/* Compare the members that were touched. Returns 1 where pause stopped it. */
static int compare_touched(struct search *search) {
    const struct crowd *crowd = &search->grouping->crowd;
    const uint64_t *found = search->scratch->found;
    size_t touched = search->found;
    search->found = 0;
    for (size_t i = 0; i < touched; i++) {
        size_t member = (size_t)found[i];
        compare_block(search, member, 1); /* writes no further than it has read */
        crowd->touched[member / 8] &= (uint8_t)~(1 << member % 8);
        if (grouping_must_stop(search->scratch, 16 + crowd->width)) return 1;
    }
    return 0;
}

/* How many entries of lists of frequent words have to be looked at. */
static size_t entries_of_frequent(const struct search *search) {
    const struct crowd *crowd = &search->grouping->crowd;
    const struct crowd_row *row = search->row;
    size_t entries = 0;
    for (size_t i = row->rare; i < row->listed; i++) {
        uint64_t word = search->scratch->words[i];
        entries += crowd->lists[list_of(crowd, key_of(word, OF_SHORTEST))].length;
        if (i < row->shortest) entries += crowd->lists[list_of(crowd, key_of(word, OF_LONGEST))].length;
    }
    return entries;
}

/* Touch members that may share no rare word of the prefixes with the row: by frequent words, or all that are dense where
 * that takes fewer steps. Writes whether all members have to be compared instead. Returns 1 where pause stopped it. */
static int touch_dense(struct search *search, int *all) {
    const struct crowd *crowd = &search->grouping->crowd;
    const struct crowd_row *row = search->row;
    size_t members = row->is_dense ? crowd->count : crowd->crowded;
    int by_words = !row->is_open && entries_of_frequent(search) <= members;
    *all = row->is_dense && !by_words;
    if (*all) return 0;
    for (size_t i = row->rare; by_words && i < row->listed; i++) {
        if (visit_list(search, i, OF_SHORTEST)) return 1;
        if (i < row->shortest && visit_list(search, i, OF_LONGEST)) return 1;
    }
    const int32_t *others = by_words ? crowd->open : crowd->dense;
    size_t n = by_words ? crowd->opened : crowd->crowded;
    for (size_t i = 0; i < n; i++) touch(search, (size_t)others[i]);
    return grouping_must_stop(search->scratch, n);
}

/* Returns 1 where pause stopped it. */
static int search_crowd(struct search *search) {
    const struct crowd *crowd = &search->grouping->crowd;
    const struct crowd_row *row = search->row;
    const uint64_t *words = search->scratch->words;
    size_t rare = smaller(row->rare, row->listed);
    int all = 0;
    fetch_lists(crowd, words, rare, OF_RARE);
    fetch_lists(crowd, words + rare, row->listed - rare, OF_SHORTEST);
    for (size_t i = 0; i < rare; i++) {
        if (visit_list(search, i, OF_RARE)) return 1;
    }
    if (touch_dense(search, &all)) return 1;
    if (!all) return compare_touched(search);
    search->found = 0;
    return compare_all(search);
}

size_t crowd_find(struct grouping *grouping, const struct crowd_row *row, struct grouping_scratch *scratch) {
    struct crowd *crowd = &grouping->crowd;
    int32_t parent = grouping->parent[row->member.row];
    struct search search = {grouping, row, scratch, 0, 0};
    search.joined = grouping->chains && parent != GROUPING_NO_ROW && parent != row->member.row;
    if (!search_crowd(&search)) return search.found;
    memset(crowd->touched, 0, (crowd->count + 7) / 8);
    return SIZE_MAX;
}
