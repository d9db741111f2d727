/* Groups without a list of all pairs (grouping.h) beside a comparison of each row with all before it, in heap buffers of
 * exactly the size that the contract states, so that the address sanitizer sees each byte read or written beside them.
 * Prints a digest of all results, which no compiler may change. */
#include "grouping/banded_pairs.h"
#include "grouping/crowded_buckets.h"
#include "grouping/grouping.h"
#include "grouping/row_pairs.h"
#include "grouping/shared_slots.h"
#include "sanitize_kit.h"

static size_t any_level(void) { return below((uint64_t)top_level() + 1); }

static int32_t *no_rows(size_t n) {
    int32_t *rows = buffer(n * sizeof *rows);
    if (n) memset(rows, 0xFF, n * sizeof *rows);
    return rows;
}

/* ---- rows ---- */

static const double THRESHOLDS[] = {0, 0.1, 0.3, 0.5, 2.0 / 3, 0.8, 1};

struct corpus {
    size_t n, bands, k, longest, buckets_in_all;
    uint64_t **tokens;
    size_t *counts;
    int32_t *buckets;
    int64_t *first, *of;
    uint64_t *signatures;
};

/* The token of an element: hashes, small numbers, and numbers of which many have one word. */
static uint64_t token_of(size_t kind, size_t element) {
    if (kind == 0) return mix64(element);
    if (kind == 1) return element;
    return (uint64_t)(element / 2) << 44 | (uint64_t)(element % 2 ? 5 : element);
}

static void draw_row(struct corpus *c, size_t row, size_t kind, size_t elements, size_t long_rows) {
    size_t n = case_size(row < long_rows ? 20000 + below(3) : below(24), 100), made = 0, missing = 1 + below(4);
    if (row < long_rows) elements = n + 200;
    uint64_t *tokens = buffer(n * sizeof *tokens);
    for (size_t element = 0; element < elements && made < n; element++) {
        if (below(missing + 1) == 0 && elements - element > n - made) continue;
        tokens[made++] = token_of(kind, element);
    }
    for (size_t i = made; i > 1; i--) { /* in any order */
        size_t other = below(i);
        uint64_t token = tokens[i - 1];
        tokens[i - 1] = tokens[other];
        tokens[other] = token;
    }
    c->tokens[row] = realloc(tokens, made ? made * sizeof *tokens : 1);
    CHECK(c->tokens[row]);
    c->counts[row] = made;
    if (made > c->longest) c->longest = made;
}

static struct corpus new_corpus(size_t round) {
    struct corpus c = {0};
    size_t long_rows = round % 50 == 49 ? 3 : 0, kind = below(3), elements = 12 + below(24);
    c.n = long_rows + case_size(below(round % 8 ? 40 : 200), 16);
    c.bands = 1 + below(4);
    c.k = 1 + below(6);
    c.tokens = buffer(c.n * sizeof *c.tokens);
    c.counts = buffer(c.n * sizeof *c.counts);
    c.of = buffer(c.n * sizeof *c.of);
    c.buckets = no_rows(c.n * c.bands);
    c.first = buffer((c.bands + 1) * sizeof *c.first);
    c.signatures = buffer((c.n + 1) * c.k * sizeof *c.signatures);
    for (size_t band = 0; band < c.bands; band++) {
        size_t count = 1 + below(3);
        c.first[band] = (int64_t)c.buckets_in_all;
        c.buckets_in_all += count;
        for (size_t row = 0; row < c.n; row++) {
            int32_t bucket = (int32_t)below(count);
            if (below(5)) c.buckets[row * c.bands + band] = bucket;
        }
    }
    c.first[c.bands] = (int64_t)c.buckets_in_all;
    for (size_t i = 0; i < (c.n + 1) * c.k; i++) c.signatures[i] = below(6) ? 1 : below(2) ? 2 : EMPTY_SLOT;
    for (size_t row = 0; row < c.n; row++) {
        c.of[row] = (int64_t)below(c.n + 1);
        draw_row(&c, row, kind, elements, long_rows);
    }
    return c;
}

static void drop(struct corpus *c) {
    for (size_t row = 0; row < c->n; row++) free(c->tokens[row]);
    free(c->tokens);
    free(c->counts);
    free(c->of);
    free(c->buckets);
    free(c->first);
    free(c->signatures);
}

/* ---- each row beside all before it ---- */

struct rules {
    size_t least;
    struct sets_rule sets;
    int exact, chains, climbs;
};

struct pairs {
    size_t n, compared;
    int32_t *left, *right, *group; /* group: the row's centre, or the smallest row of its component */
    double *similarity;
};

static struct pairs room_for_pairs(size_t n) {
    struct pairs pairs = {0, 0, no_rows(n), no_rows(n), no_rows(n), buffer(n * sizeof(double))};
    return pairs;
}

static void drop_pairs(struct pairs *pairs) {
    free(pairs->left);
    free(pairs->right);
    free(pairs->group);
    free(pairs->similarity);
}

static int meet(const struct corpus *c, size_t a, size_t b) {
    for (size_t band = 0; band < c->bands; band++) {
        int32_t bucket = c->buckets[a * c->bands + band];
        if (bucket >= 0 && bucket == c->buckets[b * c->bands + band]) return 1;
    }
    return 0;
}

static double similarity_of(const struct corpus *c, const struct rules *rules, size_t a, size_t b) {
    const uint64_t *left = c->signatures + (size_t)c->of[a] * c->k, *right = c->signatures + (size_t)c->of[b] * c->k;
    size_t equal = 0, overlap = 0;
    for (size_t i = 0; i < c->k; i++) equal += left[0] != EMPTY_SLOT && left[i] == right[i];
    double similarity = (double)equal / (double)c->k;
    if (rules->exact) {
        if (equal < rules->least) return -1;
        uint64_t *table = buffer(sets_table_size(c->counts[a]) * sizeof *table);
        similarity = sets_jaccard(c->tokens[a], c->counts[a], c->tokens[b], c->counts[b], table);
        for (size_t i = 0; c->counts[a] < 100 && i < c->counts[a]; i++) {
            for (size_t j = 0; j < c->counts[b]; j++) overlap += c->tokens[a][i] == c->tokens[b][j];
        }
        if (rules->sets.measure == SETS_CONTAINMENT) {
            overlap = sets_overlap(c->tokens[a], c->counts[a], c->tokens[b], c->counts[b], table);
            similarity = sets_similarity(SETS_CONTAINMENT, overlap, c->counts[a], c->counts[b]);
        } else if (c->counts[a] < 100 && overlap) {
            CHECK(similarity == (double)overlap / (double)(c->counts[a] + c->counts[b] - overlap));
        }
        free(table);
    }
    return similarity >= rules->sets.threshold ? similarity : -1;
}

static struct pairs compare_all(const struct corpus *c, const struct rules *rules) {
    struct pairs pairs = room_for_pairs(c->n);
    for (size_t row = 0; row < c->n; row++) {
        pairs.group[row] = (int32_t)row;
        for (size_t other = 0; other < row; other++) {
            int known = rules->chains ? pairs.group[other] == pairs.group[row] : pairs.group[other] != (int32_t)other;
            if ((known && !rules->climbs) || !meet(c, row, other)) continue;
            double similarity = similarity_of(c, rules, row, other);
            pairs.compared++;
            if (similarity < 0) continue;
            pairs.left[pairs.n] = (int32_t)other;
            pairs.right[pairs.n] = (int32_t)row;
            pairs.similarity[pairs.n++] = similarity;
            int32_t kept = pairs.group[other], gone = pairs.group[row];
            if (!rules->chains) {
                pairs.group[row] = kept;
                break;
            }
            if (kept > gone) kept = gone, gone = pairs.group[other];
            for (size_t i = 0; i <= row; i++) pairs.group[i] = pairs.group[i] == gone ? kept : pairs.group[i];
        }
    }
    return pairs;
}

/* ---- a walk ---- */

static int stops, stops_left;

/* Stops at times, but not for ever: what was stopped begins again. */
static int stop_at_times(uint64_t *last) {
    int stop = below(4) == 0 && stops_left > 0;
    ++*last;
    stops += stop;
    stops_left -= stop;
    return stop;
}

struct walk {
    const struct corpus *c;
    struct grouping grouping;
    struct grouping_place place;
    struct grouping_scratch scratch;
    uint64_t last;
    int32_t *missing;
    uint8_t *counts;
    uint16_t *bits;
    uint32_t overlaps[64];
};

static void *grown(void *old, size_t size, size_t held, size_t room) {
    void *made = buffer(room * size);
    if (held) memcpy(made, old, held * size);
    free(old);
    return made;
}

/* Room for so many members, as for so many entries. */
static void make_room(struct walk *walk, size_t room, size_t capacity) {
    struct crowd *c = &walk->grouping.crowd;
    unsigned bits = 1 + (unsigned)below(6) + (capacity > 1000 ? 10 : 0);
    size_t half = c->filled / 2, width = c->width;
    c->room = room;
    c->capacity = capacity;
    c->members = grown(c->members, sizeof *c->members, c->count, room);
    c->bitmaps = grown(c->bitmaps, width * sizeof *c->bitmaps, c->count, room);
    c->dense = grown(c->dense, sizeof *c->dense, c->crowded, room);
    free(c->shared);
    c->shared = calloc(room ? room : 1, sizeof *c->shared);
    CHECK(c->shared);
    c->entries = grown(c->entries, sizeof *c->entries, c->filled, capacity);
    free(c->past);
    free(c->lists);
    c->past = walk->grouping.chains ? buffer(capacity * sizeof *c->past) : NULL;
    c->shift = 32 - bits;
    c->lists = no_rows((size_t)1 << bits);
    crowd_list(c, 0, half);
    crowd_list(c, half, c->filled);
}

static void make_more_room(struct walk *walk, size_t row) {
    const struct crowd *c = &walk->grouping.crowd;
    make_room(walk, 2 * c->room + 1, 2 * c->capacity + walk->grouping.counts[row]);
}

static void have(struct walk *walk, size_t row) {
    walk->grouping.tokens[row] = walk->c->tokens[row];
    walk->grouping.counts[row] = walk->c->counts[row];
}

static void make_crowd(struct walk *walk) {
    struct grouping *g = &walk->grouping;
    struct crowd *c = &g->crowd;
    c->multiplier = anything() | 1;
    c->frequent = (uint8_t)(1 + below(20));
    c->kernels = bits_levels[any_level()];
    c->sums = below(COUNT(walk->overlaps));
    crowd_least_overlaps(g->rule, c->sums, walk->overlaps);
    c->overlaps = walk->overlaps;
    walk->counts = buffer((size_t)1 << CROWD_COUNT_BITS);
    walk->bits = buffer(((size_t)1 << CROWD_COUNT_BITS) * sizeof *walk->bits);
    memset(walk->counts, 0, (size_t)1 << CROWD_COUNT_BITS);
    for (size_t row = 0; row < walk->c->n; row += 1 + below(4)) {
        crowd_count_tokens(walk->c->tokens[row], walk->c->counts[row], c->multiplier, walk->counts);
    }
    size_t most = below(2) ? below(90) : CROWD_MOST_BITS - 1;
    c->width = crowd_number_frequent(walk->counts, c->frequent, most, walk->bits) / 64 + 1;
    c->bits = walk->bits;
    free(walk->scratch.bitmap);
    walk->scratch.bitmap = buffer(c->width * sizeof *walk->scratch.bitmap);
    size_t room = below(20), capacity = below(60);
    make_room(walk, room, capacity);
    c->counts = walk->counts;
    for (size_t row = 0; row < walk->place.row;) {
        have(walk, row);
        int added = !grouping_is_met(g, row) ? 1 : crowd_add(g, row, &walk->scratch);
        if (added == 0) make_more_room(walk, row);
        row += added > 0;
    }
}

/* Forget some rows, and have the one that is needed and perhaps the likely ones. */
static void provide(struct walk *walk) {
    struct grouping *g = &walk->grouping;
    size_t most = below(4), end = walk->place.row + below(walk->c->n - walk->place.row + 1), made;
    int likely = below(2) == 0;
    for (size_t row = 0; row < walk->c->n; row++) {
        if (row != walk->place.row && below(3) == 0) g->tokens[row] = NULL;
    }
    made = grouping_missing(g, &walk->place, end, most, &walk->scratch, walk->missing);
    if (made != SIZE_MAX) {
        CHECK(made <= most * (end - walk->place.row));
        for (size_t i = 0; i < made; i++) {
            size_t row = (size_t)walk->missing[i];
            CHECK(row < end && !g->tokens[row]);
            note(row);
        }
        for (size_t i = 0; likely && i < made; i++) have(walk, (size_t)walk->missing[i]);
    }
    have(walk, (size_t)walk->place.needed);
    have(walk, walk->place.row);
}

/* All similar pairs, some at a time, give the pairs that the walk found. */
static void place_all(struct walk *walk, const struct rules *rules, const struct pairs *found) {
    const struct corpus *c = walk->c;
    struct grouping *g = &walk->grouping;
    size_t similar = 0, met = 0, made = 0, most = c->n * c->n / 2;
    uint64_t *all = buffer(most * sizeof *all), *meeting = buffer(most * sizeof *meeting);
    int32_t *left = buffer(c->n * sizeof *left), *right = buffer(c->n * sizeof *right);
    for (size_t row = 0; row < c->n; row++) {
        for (size_t other = 0; other < row; other++) {
            if (similarity_of(c, rules, row, other) >= 0) all[similar++] = (uint64_t)row << 32 | other;
        }
    }
    for (size_t at = 0, some; at < similar; at += some) {
        some = 1 + below(similar - at);
        met += grouping_meeting(g, walk->scratch.slots, all + at, some, meeting + met);
    }
    memcpy(left, found->left, c->n * sizeof *left);
    memcpy(right, found->right, c->n * sizeof *right);
    grouping_begin_again(g, 0, c->n);
    for (size_t at = 0, some; at < met; at += some) {
        some = 1 + below(met - at);
        made = grouping_place_pairs(g, meeting + at, some, made);
    }
    CHECK(made == found->n);
    CHECK(!memcmp(left, found->left, c->n * sizeof *left) && !memcmp(right, found->right, c->n * sizeof *right));
    free(all);
    free(meeting);
    free(left);
    free(right);
}

static struct pairs walk_rows(const struct corpus *c, const struct rules *rules) {
    struct walk walk = {.c = c};
    struct grouping *g = &walk.grouping;
    struct pairs pairs = room_for_pairs(c->n);
    int in_crowd = 0;
    g->n = c->n, g->bands = c->bands, g->k = c->k, g->least = rules->least;
    g->buckets = c->buckets, g->first = c->first, g->signatures = c->signatures, g->of = c->of;
    g->rule = rules->sets, g->exact = rules->exact, g->chains = rules->chains, g->climbs = rules->climbs;
    g->tokens = calloc(c->n + 1, sizeof *g->tokens);
    g->counts = calloc(c->n + 1, sizeof *g->counts);
    g->heads = no_rows(c->buckets_in_all);
    g->tails = no_rows(c->buckets_in_all);
    g->next = buffer(c->n * c->bands * sizeof *g->next);
    g->run = rules->chains ? buffer(c->n * c->bands * sizeof *g->run) : NULL;
    g->parent = no_rows(c->n);
    g->left = pairs.left, g->right = pairs.right, g->similarity = pairs.similarity;
    walk.scratch.slots = slots_levels[any_level()];
    walk.scratch.table = buffer(sets_table_size(c->longest) * sizeof(uint64_t));
    walk.scratch.cursors = buffer(c->bands * sizeof(int32_t));
    walk.scratch.found = buffer(c->n * sizeof(uint64_t));
    walk.scratch.words = buffer(c->longest * sizeof(uint64_t));
    walk.scratch.pause = stop_at_times;
    walk.scratch.last = &walk.last;
    walk.missing = buffer(3 * c->n * sizeof *walk.missing);
    walk.counts = NULL;
    walk.bits = NULL;
    stops_left = 20;
    walk.place.crowd = below(3) ? below(6) : SIZE_MAX;
    for (size_t end = below(c->n + 1); walk.place.row < c->n; end += below(c->n - end + 1)) {
        walk.scratch.steps = below((size_t)1 << 16); /* so that a stop may come anywhere */
        switch (grouping_walk(g, &walk.place, end, &walk.scratch)) {
        case GROUPING_DONE: CHECK(walk.place.row == end); break;
        case GROUPING_MISSING: provide(&walk); break;
        case GROUPING_FULL: make_more_room(&walk, walk.place.row); break;
        case GROUPING_CROWDED:
            CHECK(!in_crowd && rules->exact);
            in_crowd = rules->sets.threshold > 0;
            if (in_crowd) make_crowd(&walk);
            else walk.place.crowd = SIZE_MAX;
            break;
        case GROUPING_PLACED: CHECK(0); break;
        case GROUPING_STOPPED: break;
        }
    }
    if (c->n) { /* a row that is placed is not placed again */
        walk.place.row = below(c->n);
        have(&walk, walk.place.row);
        if (in_crowd) make_room(&walk, g->crowd.count + 1, g->crowd.filled + c->longest);
        CHECK(grouping_walk(g, &walk.place, c->n, &walk.scratch) == GROUPING_PLACED);
    }
    pairs.n = walk.place.made;
    if (rules->exact && c->n <= 40) place_all(&walk, rules, &pairs);
    pairs.compared = in_crowd ? SIZE_MAX : walk.place.compared;
    if (!in_crowd) note(walk.place.compared);
    free(g->tokens);
    free(g->counts);
    free(g->heads);
    free(g->tails);
    free(g->next);
    free(g->run);
    free(g->parent);
    free(g->crowd.members);
    free(g->crowd.bitmaps);
    free(g->crowd.dense);
    free(g->crowd.shared);
    free(g->crowd.entries);
    free(g->crowd.past);
    free(g->crowd.lists);
    free(walk.scratch.table);
    free(walk.scratch.cursors);
    free(walk.scratch.found);
    free(walk.scratch.words);
    free(walk.missing);
    free(walk.scratch.bitmap);
    free(walk.counts);
    free(walk.bits);
    return pairs;
}

/* Bands of slots, some pairs at a time, beside a look at all of them. */
static void check_banded_pairs(const struct corpus *c, size_t least, int chains) {
    size_t n = c->n < 60 ? c->n : 60, number = 0, made = 0, expected = 0, rows = 1 + below(c->k);
    size_t bands = 1 + below(c->k / rows);
    uint64_t *pairs = buffer(n * n / 2 * sizeof *pairs);
    int32_t *parent = buffer(n * sizeof *parent), *group = buffer(n * sizeof *group);
    struct banded_pairs state = {.signatures = c->signatures, .k = c->k, .bands = bands, .rows = rows, .least = least,
                                 .chains = chains, .slots = slots_levels[any_level()], .parent = parent};
    for (size_t row = 0; row < n; row++) {
        parent[row] = group[row] = (int32_t)row;
        for (size_t other = 0; other < row; other++) {
            if (below(3)) pairs[number++] = (uint64_t)row << 32 | other;
        }
    }
    uint64_t *found = buffer(number * sizeof *found);
    for (size_t at = 0, some; at < number; at += some) {
        some = 1 + below(number - at);
        made += banded_pairs_find(&state, pairs + at, some, found + made);
    }
    for (size_t i = 0; i < number; i++) {
        size_t right = pairs[i] >> 32, left = pairs[i] & UINT32_MAX, equal = 0, in_band = 0, shared = 0;
        const uint64_t *a = c->signatures + left * c->k, *b = c->signatures + right * c->k;
        for (size_t slot = 0; slot < c->k; slot++) {
            equal += a[slot] == b[slot];
            in_band = slot % rows ? in_band + (a[slot] == b[slot]) : a[slot] == b[slot];
            shared += slot < bands * rows && in_band == rows;
        }
        if (!shared || a[0] == EMPTY_SLOT || equal < least) continue;
        if (chains ? group[left] == group[right]
                   : group[left] != (int32_t)left || group[right] != (int32_t)right) {
            continue;
        }
        int32_t label = group[right];
        for (size_t row = 0; row < n; row++) group[row] = group[row] == label ? group[left] : group[row];
        CHECK(expected < made && found[expected] == pairs[i]);
        expected++;
    }
    CHECK(expected == made);
    note(made);
    free(pairs);
    free(parent);
    free(group);
    free(found);
}

/* All pairs in batches of any size, beside a look at each pair. */
static void check_row_pairs(const struct corpus *c, size_t least) {
    size_t capacity = 1 + below(9), work = 1 + below(30), met = 0;
    int32_t *next = buffer(c->n * c->bands * sizeof *next), *cursors = buffer(c->bands * sizeof *cursors);
    int64_t *left = buffer(capacity * sizeof *left), *right = buffer(capacity * sizeof *right);
    struct row_pairs pairs = {.n = c->n, .bands = c->bands, .next = next, .signatures = c->signatures, .of = c->of,
                              .k = c->k, .least = least, .slots = slots_levels[any_level()],
                              .cursors = cursors};
    if (c->n) memcpy(next, c->buckets, c->n * c->bands * sizeof *next);
    for (size_t band = 0; band < c->bands && c->n; band++) {
        int32_t *last = no_rows((size_t)(c->first[band + 1] - c->first[band]));
        row_pairs_link_buckets(next + band, c->bands, c->n, last);
        free(last);
    }
    size_t made = 0, at = 0;
    for (size_t row = 0; row < c->n; row++) {
        for (size_t other = row + 1; other < c->n; other++) {
            const uint64_t *a = c->signatures + (size_t)c->of[row] * c->k;
            const uint64_t *b = c->signatures + (size_t)c->of[other] * c->k;
            if (!meet(c, row, other)) continue;
            met++;
            if (slots_agreement(&slots_scalar, a, b, c->k) < least) continue;
            while (at == made) {
                CHECK(pairs.row < pairs.n);
                made = row_pairs_next(&pairs, left, right, capacity, work);
                at = 0;
            }
            CHECK(left[at] == c->of[row] && right[at] == c->of[other]);
            at++;
        }
    }
    CHECK(at == made);
    while (pairs.row < pairs.n) CHECK(row_pairs_next(&pairs, left, right, capacity, work) == 0);
    CHECK(pairs.met == met);
    free(next);
    free(cursors);
    free(left);
    free(right);
}

/* Buckets of signatures as keys, in as many rounds as fill some counters, beside a count of each key. With 32 bits, the few
 * different keys hardly share a counter. */
static void check_crowded_buckets(const struct corpus *c) {
    unsigned bits = (unsigned)case_size(below(8) ? 1 + below(12) : case_size(22, 12), 8);
    uint64_t multiplier = anything() | 1;
    uint8_t *counts = calloc((size_t)1 << bits, 1), *crowded = buffer(c->n);
    size_t rounds = 1 + case_size(below(300), 10);
    CHECK(counts);
    for (size_t round = 0; round < rounds; round++) {
        crowded_buckets_count(c->signatures, c->k, c->n, multiplier, bits, counts, crowded);
    }
    for (size_t row = 0; row < c->n; row++) {
        size_t most = 0;
        for (size_t band = 0; band < c->k; band++) {
            uint64_t key = c->signatures[row * c->k + band];
            size_t same = 0;
            for (size_t other = 0; other < c->n; other++) same += c->signatures[other * c->k + band] == key;
            if (key != EMPTY_SLOT && same > most) most = same;
        }
        CHECK(crowded[row] <= 1 && crowded[row] >= (most * (rounds - 1) >= 255));
    }
    crowded_buckets_halve(counts, bits);
    for (size_t at = 0; at < (size_t)1 << bits; at++) CHECK(counts[at] <= 127);
    free(counts);
    free(crowded);
}

/* Shared slots beside a look at all pairs: with as many hashes as there are values, none counts by chance. */
static void check_shared_slots(const struct corpus *c) {
    unsigned bits = 1 + (unsigned)below(12);
    size_t first = below(c->k), step = 1 + below(3), most = (c->k - first - 1) / step + 1;
    size_t slots = 1 + below(most < 16 ? most : 16), half = below(c->n + 1);
    uint64_t multiplier = anything() | 1;
    uint32_t *hashes = buffer(slots * c->n * sizeof *hashes), *shared = calloc(c->n ? c->n : 1, sizeof *shared);
    uint8_t *seen = buffer(((size_t)1 << bits) / 4 + 1);
    CHECK(shared);
    shared_slots_hash(c->signatures, c->of, c->k, first, step, slots, multiplier, c->n, 0, half, hashes);
    shared_slots_hash(c->signatures, c->of, c->k, first, step, slots, multiplier, c->n, half, c->n, hashes);
    for (size_t slot = 0; slot < slots; slot++) {
        const uint32_t *column = hashes + slot * c->n;
        memset(seen, 0, ((size_t)1 << bits) / 4 + 1);
        shared_slots_count(column, half, bits, seen);
        shared_slots_count(column + half, c->n - half, bits, seen);
        shared_slots_add(column, c->n, bits, seen, shared);
    }
    for (size_t row = 0; row < c->n; row++) {
        size_t same_value = 0, same_hash = 0;
        for (size_t slot = 0; slot < slots; slot++) {
            int by_value = 0, by_hash = 0;
            for (size_t other = 0; other < c->n; other++) {
                const uint64_t *a = c->signatures + (size_t)c->of[row] * c->k + first;
                const uint64_t *b = c->signatures + (size_t)c->of[other] * c->k + first;
                if (other == row) continue;
                by_value |= a[slot * step] == b[slot * step];
                by_hash |= (hashes[slot * c->n + row] ^ hashes[slot * c->n + other]) >> (32 - bits) == 0;
            }
            same_value += (size_t)by_value;
            same_hash += (size_t)by_hash;
        }
        CHECK(same_value <= same_hash && shared[row] == same_hash);
        note(shared[row]);
    }
    free(hashes);
    free(shared);
    free(seen);
}

/* Walk over the rows of a corpus in all ways; return whether some were in a crowd. */
static int check_walk(size_t round) {
    struct corpus c = new_corpus(round);
    struct sets_rule sets = {below(3) ? SETS_JACCARD : SETS_CONTAINMENT, THRESHOLDS[below(COUNT(THRESHOLDS))]};
    int exact = sets.measure == SETS_CONTAINMENT || below(8);
    struct rules rules = {below(c.k + 1), sets, exact, round % 2 == 0, round % 4 == 1};
    if (below(2)) rules.least = 0;
    struct pairs found = walk_rows(&c, &rules), wanted = compare_all(&c, &rules);
    CHECK(found.n == wanted.n);
    const int in_crowd = found.compared == SIZE_MAX;
    CHECK(found.compared == SIZE_MAX || found.compared == wanted.compared);
    for (size_t p = 0; p < found.n; p++) {
        CHECK(found.left[p] == wanted.left[p] && found.right[p] == wanted.right[p]);
        CHECK(found.similarity[p] == wanted.similarity[p]);
        note((uint64_t)found.left[p] << 32 | (uint64_t)found.right[p]);
        note_double(found.similarity[p]);
    }
    drop_pairs(&found);
    drop_pairs(&wanted);
    check_row_pairs(&c, rules.least);
    check_banded_pairs(&c, rules.least, rules.chains);
    check_shared_slots(&c);
    check_crowded_buckets(&c);
    drop(&c);
    return in_crowd;
}

static void check_walks(void) {
    size_t in_crowd = 0;
    for (size_t round = 0; round < 600; round++) in_crowd += (size_t)check_walk(round);
    CHECK(in_crowd > 200 && stops > 50);
}

/* ---- what walks rest on ---- */

/* Of two rows with enough in common, both have the first common token within their lengths, whatever the order. */
static void check_lengths(void) {
    for (size_t t = 1; t < COUNT(THRESHOLDS); t++) {
        for (size_t n = 0; n < 60; n++) {
            size_t longest, shortest, few_longest, few_shortest;
            struct sets_rule rule = {SETS_JACCARD, THRESHOLDS[t]}, contained = {SETS_CONTAINMENT, THRESHOLDS[t]};
            crowd_prefix_lengths(n, rule, &longest, &shortest);
            CHECK(shortest <= longest && longest <= n);
            note(longest);
            note(shortest);
            for (size_t m = 0; m <= n; m++) {
                crowd_prefix_lengths(m, rule, &few_longest, &few_shortest);
                for (size_t overlap = 1; overlap <= m; overlap++) {
                    if ((double)overlap / (double)(n + m - overlap) < THRESHOLDS[t]) continue;
                    CHECK(n - overlap < longest && m - overlap < few_shortest);
                }
                size_t all, of_contained, of_few;
                crowd_prefix_lengths(n, contained, &all, &of_contained);
                crowd_prefix_lengths(m, contained, &of_few, &few_shortest);
                CHECK(all == n && of_few == m && few_shortest <= m);
                for (size_t overlap = 1; overlap <= m; overlap++) {
                    if ((double)overlap / (double)m < THRESHOLDS[t]) continue;
                    CHECK(n - overlap < all && m - overlap < few_shortest);
                }
            }
        }
    }
}

static void check_joined(void) {
    for EACH_ROUND(round, 300) {
        struct corpus c = new_corpus(0);
        int64_t *labels = buffer(c.n * sizeof *labels);
        int32_t *groups = buffer(c.n * sizeof *groups);
        for (size_t i = 0; i < c.n; i++) labels[i] = groups[i] = (int32_t)i;
        for (size_t band = 0; band < c.bands; band++) {
            int32_t *last = no_rows((size_t)(c.first[band + 1] - c.first[band]));
            size_t half = below(c.n + 1);
            grouping_join_buckets(c.buckets + (c.n ? band : 0), c.bands, 0, half, last, labels);
            grouping_join_buckets(c.buckets + (c.n ? band : 0), c.bands, half, c.n, last, labels);
            free(last);
        }
        sets_label_components(c.n, labels);
        for (size_t a = 0; a < c.n; a++) {
            for (size_t b = 0; b < a; b++) {
                if (groups[a] == groups[b] || !meet(&c, a, b)) continue;
                int32_t kept = groups[a] < groups[b] ? groups[a] : groups[b];
                int32_t gone = groups[a] < groups[b] ? groups[b] : groups[a];
                for (size_t i = 0; i < c.n; i++) groups[i] = groups[i] == gone ? kept : groups[i];
            }
        }
        for (size_t i = 0; i < c.n; i++) CHECK(labels[i] == groups[i]);
        free(labels);
        free(groups);
        drop(&c);
    }
}

int main(void) {
    check_lengths();
    check_joined();
    check_walks();
    return print_digest();
}
