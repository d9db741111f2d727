/* Sets are compared by hashing one and probing with the other: tokens are hashes already, the table of a text stays
 * in the L1 or L2 cache, and neither side has to be sorted. Slot value 0 means free; token 0 is kept beside. */
#include "sets/sets.h"

#include <string.h>

/* Secret, so that nobody can choose tokens by their places. Multiply-shift is universal (Dietzfelbinger et al. 1997): tokens
 * chosen without the multiplier share a home as rarely as random ones, to a factor of 2, and at half load runs stay short; at
 * four fifths, that of large sets, a search takes three steps on average for a token that is there, and 13 for a new one. */
static uint64_t multiplier = UINT64_C(0x9E3779B97F4A7C15);

void sets_use_key(uint64_t key) {
    static int drawn;
    if (!drawn) multiplier = key | 1;
    drawn = 1;
}

struct token_set sets_empty_in(uint64_t *table, size_t n) {
    size_t size = sets_table_size(n);
    struct token_set set = {table, 64, size - 1, 0, multiplier};
    while (size >>= 1) set.shift--;
    memset(table, 0, (set.mask + 1) * sizeof *table);
    return set;
}

/* The slot that holds the token, or the free one where it would go. */
static inline size_t set_find(const struct token_set *set, uint64_t token) {
    size_t at = (size_t)(token * set->multiplier >> set->shift);
    while (set->slots[at] && set->slots[at] != token) at = (at + 1) & set->mask;
    return at;
}

/* Returns 1 where the token is new. */
static inline int set_add(struct token_set *set, uint64_t token) {
    if (token == 0) {
        int added = !set->has_zero;
        set->has_zero = 1;
        return added;
    }
    size_t at = set_find(set, token);
    int added = set->slots[at] == 0;
    set->slots[at] = token;
    return added;
}

static inline int set_has(const struct token_set *set, uint64_t token) {
    return token ? set->slots[set_find(set, token)] != 0 : set->has_zero;
}

size_t sets_add_all(struct token_set *into, const uint64_t *tokens, size_t n, uint64_t *out) {
    struct token_set set = *into;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t token = tokens[i];
        out[count] = token;
        count += (size_t)set_add(&set, token);
    }
    into->has_zero = set.has_zero;
    return count;
}

size_t sets_distinct(const uint64_t *tokens, size_t n, uint64_t *table, uint64_t *out) {
    struct token_set set = sets_empty_in(table, n);
    return sets_add_all(&set, tokens, n, out);
}

size_t sets_equal_from_start(const uint64_t *a, const uint64_t *b, size_t n) {
    size_t i = 0;
    while (n - i >= 64 && memcmp(a + i, b + i, 64 * sizeof *a) == 0) i += 64;
    while (i < n && a[i] == b[i]) i++;
    return i;
}

/* Fewer tokens are added again rather than taken out. */
#define SETS_LEAST_SHARED 64

/* Take tokens out again, the last one that was added first: each leaves the slots as it found them. */
static void take_out(struct token_set *set, const uint64_t *added, size_t n, int has_zero) {
    while (n-- > 0) {
        if (added[n]) set->slots[set_find(set, added[n])] = 0;
    }
    set->has_zero = has_zero;
}

size_t sets_distinct_next(struct sets_rows *rows, const uint64_t *before, size_t m, const uint64_t *out_before,
                          const uint64_t *tokens, size_t n, uint64_t *table, uint64_t *out) {
    size_t shared = sets_equal_from_start(before, tokens, m < n ? m : n);
    if (rows->first > shared || n > (rows->set.mask + 1) / 2) rows->first = 0;
    if (rows->first) {
        memcpy(out, out_before, rows->made * sizeof *out);
    } else {
        rows->set = sets_empty_in(table, n);
        rows->first = shared < SETS_LEAST_SHARED ? 0 : shared;
        rows->made = sets_add_all(&rows->set, tokens, rows->first, out);
    }
    int has_zero = rows->set.has_zero;
    size_t more = sets_add_all(&rows->set, tokens + rows->first, n - rows->first, out + rows->made);
    if (rows->first) take_out(&rows->set, out + rows->made, more, has_zero);
    return rows->made + more;
}

struct sets_divisor sets_divisor_of(uint64_t one_in) {
    struct sets_divisor divisor = {0, UINT64_MAX / one_in, 0};
    while (one_in % 2 == 0) one_in /= 2, divisor.shift++;
    divisor.inverse = one_in; /* right in three bits; each step of Newton's method doubles them */
    for (int i = 0; i < 5; i++) divisor.inverse *= 2 - one_in * divisor.inverse;
    return divisor;
}

size_t sets_sample(const uint64_t *tokens, size_t n, const struct sets_divisor *divisor, uint64_t *out) {
    uint64_t inverse = divisor->inverse, most = divisor->most;
    unsigned right = divisor->shift, left = (64 - right) % 64;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t token = tokens[i], product = token * inverse;
        out[count] = token;
        count += (product >> right | (right ? product << left : 0)) <= most;
    }
    return count;
}

/* A number x + y·i of the field of p^2 elements, i^2 = -1, both parts below 2^61 + 8. */
struct field_pair {
    uint64_t x, y;
};

/* a (b + c·i) = a.x b + a.y (p - c) + (a.x c + a.y b)·i, for b and c below p. */
static inline struct field_pair pair_product(struct field_pair a, uint64_t b, uint64_t c) {
    wide x = wide_add(wide_product(a.x, b), wide_product(a.y, P61 - c));
    wide y = wide_add(wide_product(a.x, c), wide_product(a.y, b));
    struct field_pair product = {p61_fold(x), p61_fold(y)};
    return product;
}

static inline struct field_pair times_token(struct field_pair a, const uint64_t key[2], uint64_t token) {
    return pair_product(a, key[0] - (uint32_t)token, key[1] - (token >> 32));
}

/* Two chains of products, since each product waits for the one before it. */
void sets_fingerprint(const uint64_t *tokens, size_t n, const uint64_t key[2], uint64_t out[3]) {
    struct field_pair even = {1, 0}, odd = {1, 0};
    for (size_t i = 0; i + 1 < n; i += 2) {
        even = times_token(even, key, tokens[i]);
        odd = times_token(odd, key, tokens[i + 1]);
    }
    if (n % 2) even = times_token(even, key, tokens[n - 1]);
    even = pair_product(even, p61_of(odd.x), p61_of(odd.y));
    out[0] = n;
    out[1] = p61_of(even.x);
    out[2] = p61_of(even.y);
}

size_t sets_overlap_needed(size_t a, size_t b, struct sets_rule rule) {
    size_t most = a < b ? a : b;
    double both = (double)a + (double)b, t = rule.threshold;
    size_t needed = (size_t)(rule.measure == SETS_CONTAINMENT ? t * (double)most : t * both / (1 + t));
    if (needed > most) needed = most;
    while (needed > 0 && sets_similarity(rule.measure, needed - 1, a, b) >= t) needed--;
    while (needed <= most && sets_similarity(rule.measure, needed, a, b) < t) needed++;
    return needed;
}

size_t sets_overlap(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *table) {
    struct token_set set = sets_empty_in(table, n);
    size_t overlap = 0;
    for (size_t i = 0; i < n; i++) set_add(&set, a[i]);
    for (size_t i = 0; i < m; i++) overlap += (size_t)set_has(&set, b[i]);
    return overlap;
}

double sets_jaccard(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *table) {
    return sets_similarity(SETS_JACCARD, sets_overlap(a, n, b, m, table), n, m);
}

/* Where a step of `work` at most ends that begins at `from` and may go to `to`. */
static inline size_t step_end(size_t from, size_t to, size_t work) { return to - from < work ? to : from + work; }

int sets_fill(struct pair_walk *walk, const uint64_t *tokens, uint64_t *table, size_t work) {
    if (!walk->begun) {
        walk->begun = 1;
        walk->set = sets_empty_in(table, walk->count);
    }
    struct token_set set = walk->set;
    size_t end = step_end(walk->filled, walk->count, work);
    for (size_t i = walk->filled; i < end; i++) set_add(&set, tokens[i]);
    walk->set = set;
    walk->filled = end;
    return end == walk->count;
}

/* Put tokens of the left row of a pair into the set. Returns how many, at most `work`. */
static size_t fill_left(struct pair_walk *walk, const int64_t *offsets, const uint64_t *tokens, int64_t left,
                        uint64_t *table, size_t work) {
    if (!walk->begun || left != walk->held) {
        walk->begun = 0;
        walk->held = left;
        walk->count = (size_t)(offsets[left + 1] - offsets[left]);
        walk->filled = 0;
    }
    size_t first = walk->filled;
    if (walk->count) tokens += offsets[left];
    sets_fill(walk, tokens, table, work);
    return walk->filled - first;
}

/* Look for tokens of the right row in the set, at most `work` of them. Returns 1 where the pair's similarity is known. */
static int probe_right(struct pair_walk *walk, const uint64_t *row, size_t count, struct sets_rule rule, size_t work,
                       double *out) {
    struct token_set set = walk->set;
    size_t set_count = walk->count, needed = sets_overlap_needed(set_count, count, rule);
    size_t most = set_count < count ? set_count : count, overlap = walk->overlap, i = walk->probed;
    *out = -1;
    if (needed > most) return 1;
    size_t end = step_end(i, count, work), misses_allowed = count - needed;
    /* After every eight tokens, see whether those left can still make up the overlap. */
    while (i < end) {
        size_t stop = end - i < 8 ? end : i + 8;
        for (; i < stop; i++) overlap += (size_t)set_has(&set, row[i]);
        if (i - overlap > misses_allowed) {
            walk->probed = i;
            return 1;
        }
    }
    walk->overlap = overlap;
    walk->probed = i;
    if (i < count) return 0;
    if (overlap >= needed) *out = sets_similarity(rule.measure, overlap, set_count, count);
    return 1;
}

int sets_compare_with_row(struct pair_walk *walk, const uint64_t *row, size_t m, struct sets_rule rule, size_t work,
                          double *out) {
    if (walk->count && m) return probe_right(walk, row, m, rule, work, out);
    *out = rule.threshold > 0 ? -1 : 0;
    return 1;
}

int sets_compare_pairs(const int64_t *offsets, const uint64_t *tokens, const int64_t *left, const int64_t *right,
                       size_t pairs, struct sets_rule rule, uint64_t *table, struct pair_walk *walk, size_t work,
                       double *out) {
    while (walk->pair < pairs) {
        size_t p = walk->pair;
        if (!walk->begun || left[p] != walk->held || walk->filled < walk->count) {
            size_t done = fill_left(walk, offsets, tokens, left[p], table, work);
            work -= done;
            if (work == 0) return 0;
        }
        size_t count = (size_t)(offsets[right[p] + 1] - offsets[right[p]]), before = walk->probed;
        const uint64_t *row = count ? tokens + offsets[right[p]] : NULL;
        if (!sets_compare_with_row(walk, row, count, rule, work, out + p)) return 0;
        size_t done = walk->probed - before + 1;
        walk->pair++;
        walk->probed = walk->overlap = 0;
        if (done >= work) return walk->pair == pairs;
        work -= done;
    }
    return 1;
}

static int64_t root_of(int64_t *parent, int64_t i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The smaller root wins, so that a root is its component's smallest row; halving the paths keeps them short. */
void sets_join_components(const int64_t *left, const int64_t *right, size_t pairs, int64_t *labels) {
    for (size_t p = 0; p < pairs; p++) {
        int64_t a = root_of(labels, left[p]), b = root_of(labels, right[p]);
        if (a < b) labels[b] = a;
        else labels[a] = b;
    }
}

void sets_label_components(size_t n, int64_t *labels) {
    for (size_t i = 0; i < n; i++) labels[i] = labels[labels[i]]; /* parents come first and are roots by then */
}

void sets_stars(const int64_t *order, size_t n, const int64_t *offsets, const int64_t *neighbours, int64_t *keeper,
                int64_t *by) {
    for (size_t o = 0; o < n; o++) {
        int64_t row = order[o];
        if (keeper[row] >= 0) continue;
        keeper[row] = row;
        for (int64_t e = offsets[row]; e < offsets[row + 1]; e++) {
            int64_t other = neighbours[e];
            if (keeper[other] < 0) {
                keeper[other] = row;
                by[other] = e;
            }
        }
    }
}
