/* Sets are compared by hashing one and probing with the other: tokens are hashes already, the table of a text stays
 * in the L1 or L2 cache, and neither side has to be sorted. Slot value 0 means free; token 0 is kept beside. */
#include "sets.h"

#include <string.h>

static struct token_set set_in(uint64_t *table, size_t n) {
    size_t size = table_size(n);
    struct token_set set = {table, 64, size - 1, 0, 0};
    while (size >>= 1) set.shift--;
    memset(table, 0, (set.mask + 1) * sizeof *table);
    return set;
}

/* The slot that holds the token, or the free one where it would go. The multiplier spreads tokens that are not
 * hashes: raw integers may come here too. */
static inline size_t set_find(const struct token_set *set, uint64_t token) {
    size_t at = (size_t)(token * UINT64_C(0x9E3779B97F4A7C15) >> set->shift);
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

size_t distinct_tokens(const uint64_t *tokens, size_t n, uint64_t *table, uint64_t *out) {
    struct token_set set = set_in(table, n);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t token = tokens[i];
        out[count] = token;
        count += (size_t)set_add(&set, token);
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
void fingerprint(const uint64_t *tokens, size_t n, const uint64_t key[2], uint64_t out[3]) {
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

size_t overlap_needed(size_t a, size_t b, double threshold) {
    double both = (double)a + (double)b;
    size_t most = a < b ? a : b;
    size_t needed = (size_t)(threshold * both / (1 + threshold));
    if (needed > most) needed = most;
    while (needed > 0 && (double)(needed - 1) / (both - (double)(needed - 1)) >= threshold) needed--;
    while (needed <= most && (double)needed / (both - (double)needed) < threshold) needed++;
    return needed;
}

double jaccard_of_sets(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *table) {
    struct token_set set = set_in(table, n);
    size_t overlap = 0;
    for (size_t i = 0; i < n; i++) set_add(&set, a[i]);
    for (size_t i = 0; i < m; i++) overlap += (size_t)set_has(&set, b[i]);
    return overlap ? (double)overlap / ((double)n + (double)m - (double)overlap) : 0;
}

struct token_set token_set_of(const uint64_t *tokens, size_t n, uint64_t *table) {
    struct token_set set = set_in(table, n);
    for (size_t i = 0; i < n; i++) set_add(&set, tokens[i]);
    set.count = n;
    return set;
}

double jaccard_with_row(const struct token_set *set, const uint64_t *row, size_t m, double threshold) {
    if (m + set->count == 0) return threshold > 0 ? -1 : 0;
    size_t needed = overlap_needed(set->count, m, threshold);
    size_t most = set->count < m ? set->count : m, overlap = 0, i = 0;
    if (needed > most) return -1;
    /* After every eight tokens, see whether those left can still make up the overlap. */
    for (size_t misses_allowed = m - needed; i < m;) {
        size_t stop = m - i < 8 ? m : i + 8;
        for (; i < stop; i++) overlap += (size_t)set_has(set, row[i]);
        if (i - overlap > misses_allowed) return -1;
    }
    return overlap >= needed ? (double)overlap / (double)(set->count + m - overlap) : -1;
}

void jaccard_pairs(const int64_t *offsets, const uint64_t *tokens, const int64_t *left, const int64_t *right,
                   size_t pairs, double threshold, uint64_t *table, double *out) {
    struct token_set set = {0};
    int64_t held = -1;
    for (size_t p = 0; p < pairs; p++) {
        if (left[p] != held) {
            held = left[p];
            set = token_set_of(tokens + offsets[held], (size_t)(offsets[held + 1] - offsets[held]), table);
        }
        int64_t start = offsets[right[p]];
        out[p] = jaccard_with_row(&set, tokens + start, (size_t)(offsets[right[p] + 1] - start), threshold);
    }
}

size_t agreement(const uint64_t *a, const uint64_t *b, size_t k) {
    size_t equal = 0;
    if (a[0] == EMPTY_SLOT) return 0;
    for (size_t i = 0; i < k; i++) equal += a[i] == b[i];
    return equal;
}

static int64_t root_of(int64_t *parent, int64_t i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The smaller root wins, so that a root is its component's smallest row; halving the paths keeps them short. */
void components(const int64_t *left, const int64_t *right, size_t pairs, size_t n, int64_t *labels) {
    for (size_t i = 0; i < n; i++) labels[i] = (int64_t)i;
    for (size_t p = 0; p < pairs; p++) {
        int64_t a = root_of(labels, left[p]), b = root_of(labels, right[p]);
        if (a < b) labels[b] = a;
        else labels[a] = b;
    }
    for (size_t i = 0; i < n; i++) labels[i] = labels[labels[i]]; /* parents come first and are roots by then */
}

void stars(const int64_t *order, size_t n, const int64_t *offsets, const int64_t *neighbours, int64_t *keeper,
           int64_t *by) {
    for (size_t i = 0; i < n; i++) keeper[i] = by[i] = -1;
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
