#include "leaders/leaders.h"

static inline uint64_t ceiling(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/* What a set of n shares at least with a similar one, which has at least as many elements. */
static inline uint64_t least_shared(size_t n, uint64_t p, uint64_t q) { return ceiling(p * (uint64_t)n, q - p); }

size_t leaders_prefix(size_t n, uint64_t p, uint64_t q) {
    /* The most similar other set has one element more. */
    if (n == 0 || p * ((uint64_t)n + 1) > (q - p) * (uint64_t)n) return 0;
    return n - (size_t)least_shared(n, p, q) + 1;
}

/* Places are told apart up to 16, and then by their highest bit. */
#define EXACT_PLACES 16

static inline uint64_t class_of_place(uint64_t place) {
    uint64_t class = EXACT_PLACES;
    if (place < EXACT_PLACES) return place;
    if (place > INT32_MAX) place = INT32_MAX; /* no set has more elements */
    for (place /= EXACT_PLACES; place > 1; place /= 2) class++;
    return class;
}

/* The entry of the list of a rank and a class of places, or the empty one where it would be. */
static inline size_t entry_of(const struct leaders *leaders, uint64_t rank, uint64_t class) {
    uint64_t key = rank << 6 | class, mask = UINT64_MAX >> leaders->shift;
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> leaders->shift);
    while (leaders->first[at] != LEADERS_NONE && leaders->keys[at] != key) at = (at + 1) & (size_t)mask;
    return at;
}

/* Whether a row has at least `need` of the ranks held. The rarest come first, and are missed first. */
static int shares(const struct leaders *leaders, size_t row, uint32_t mark, uint64_t need, size_t *work) {
    const uint32_t *ranks = leaders->ranks + leaders->offsets[row];
    size_t n = (size_t)(leaders->offsets[row + 1] - leaders->offsets[row]), i = 0;
    uint64_t may_miss = n - need;
    for (; i < n; i++) {
        if (leaders->held[ranks[i]] != mark && may_miss-- == 0) break;
    }
    *work += i;
    return i == n;
}

/* Whether sets of n and m ranks that differ in at least `different` of them may be similar. */
static inline int may_be_similar(const struct leaders *leaders, size_t n, size_t m, size_t different) {
    const size_t sizes = n < m ? m - n : n - m;
    if (different < sizes) different = sizes;
    return leaders->q * different <= (leaders->q - 2 * leaders->p) * ((uint64_t)n + m);
}

/* The most ranks in which a set of n and a similar leader differ. */
static inline uint64_t most_different(const struct leaders *leaders, size_t n) {
    uint64_t m = (leaders->q - leaders->p) * (uint64_t)n / leaders->p;
    if (m > leaders->largest) m = leaders->largest;
    return (leaders->q - 2 * leaders->p) * (n + m) / leaders->q;
}

/* Flip the bits of ranks in a bitmap whose words are `stride` words apart. */
static void flip_bits(const struct leaders *leaders, const uint32_t *ranks, size_t n, uint64_t *bitmap, size_t stride) {
    const uint64_t bits = 64 * (uint64_t)leaders->words;
    for (size_t j = 0; j < n; j++) {
        const uint64_t hash = ranks[j] * leaders->secret >> 32 & UINT32_MAX;
        const uint64_t bit = leaders->exact ? ranks[j] : hash * bits >> 32;
        bitmap[bit / 64 * stride] ^= UINT64_C(1) << bit % 64;
    }
}

/* Return the first leader before row `end` that is similar to row i and was not compared with it, or `end`. */
static uint32_t scan_leaders(struct leaders *leaders, size_t i, uint32_t end, size_t *work) {
    const uint32_t *ranks = leaders->ranks + leaders->offsets[i], mark = (uint32_t)i + 1;
    const size_t n = (size_t)(leaders->offsets[i + 1] - leaders->offsets[i]), words = leaders->words;
    const unsigned radius = (unsigned)most_different(leaders, n);
    uint64_t bitmap[HAMMING_MAX_WORDS] = {0};
    flip_bits(leaders, ranks, n, bitmap, 1);
    for (size_t start = 0; start < leaders->count; start += HAMMING_PIECE) {
        const uint32_t *rows = leaders->leader_rows + start;
        const size_t size = leaders->count - start < HAMMING_PIECE ? leaders->count - start : HAMMING_PIECE;
        if (rows[0] >= end) break;
        const size_t near = leaders->kernels->near_columns(leaders->columns + start * words, size, words, bitmap, radius,
                                                           leaders->near);
        *work += size * words / 8;
        for (size_t t = 0; t < near; t++) {
            const uint32_t row = rows[(uint32_t)leaders->near[t]];
            const size_t m = (size_t)(leaders->offsets[row + 1] - leaders->offsets[row]);
            if (row >= end) break;
            if (leaders->met[row] == mark || !may_be_similar(leaders, n, m, (size_t)(leaders->near[t] >> 32))) continue;
            if (shares(leaders, row, mark, ceiling(leaders->p * ((uint64_t)n + m), leaders->q), work)) return row;
        }
    }
    return end;
}

/* The postings after which a search of row i scans the leaders: the time of a scan, in postings. Where hardly any bitmap
 * would differ in too many bits (unrelated ones differ in half of them), there is no scan. */
static size_t most_postings(const struct leaders *leaders, size_t n, int complete) {
    const uint64_t different = most_different(leaders, n);
    if (!complete || (!leaders->exact && different >= 24 * (uint64_t)leaders->words)) return SIZE_MAX;
    return 64 + leaders->count * leaders->words / 256;
}

static void add_leader(struct leaders *leaders, size_t i) {
    const uint32_t *ranks = leaders->ranks + leaders->offsets[i];
    const size_t n = (size_t)(leaders->offsets[i + 1] - leaders->offsets[i]), at = leaders->count++;
    const size_t group = at / HAMMING_GROUP * HAMMING_GROUP;
    leaders->leader_rows[at] = (uint32_t)i;
    if (leaders->largest < n) leaders->largest = n;
    flip_bits(leaders, ranks, n, leaders->columns + group * leaders->words + (at - group), HAMMING_GROUP);
}

size_t leaders_of_row(struct leaders *leaders, size_t i, size_t *work) {
    const uint64_t p = leaders->p, q = leaders->q;
    const uint32_t *ranks = leaders->ranks + leaders->offsets[i], mark = (uint32_t)i + 1;
    const size_t n = (size_t)(leaders->offsets[i + 1] - leaders->offsets[i]);
    size_t prefix = leaders_prefix(n, p, q), postings = 0;
    uint32_t found = LEADERS_NONE;
    *work += n;
    if (prefix == 0) return i;
    const int complete = ranks[prefix - 1] < leaders->common;
    const size_t most = most_postings(leaders, n, complete);
    while (prefix && ranks[prefix - 1] >= leaders->common) prefix--;
    for (size_t j = 0; j < n; j++) leaders->held[ranks[j]] = mark;
    for (size_t place = 0; place < prefix && postings <= most; place++) {
        uint64_t farthest = (uint64_t)(n - place) * (q - p) / p - n, last = class_of_place(farthest);
        for (uint64_t class = 0; class <= last && postings <= most; class++, ++*work) {
            uint32_t at = leaders->first[entry_of(leaders, ranks[place], class)];
            for (; at != LEADERS_NONE && leaders->rows[at] < found; at = leaders->next[at], ++*work) {
                uint32_t row = leaders->rows[at];
                if (++postings > most) break;
                if (leaders->met[row] == mark) continue;
                leaders->met[row] = mark;
                size_t m = (size_t)(leaders->offsets[row + 1] - leaders->offsets[row]);
                if (!may_be_similar(leaders, n, m, 0)) continue;
                if (shares(leaders, row, mark, ceiling(p * ((uint64_t)n + m), q), work)) found = row;
            }
        }
    }
    if (postings > most) found = scan_leaders(leaders, i, found, work);
    if (found != LEADERS_NONE) return found;
    for (size_t place = 0; place < prefix; place++) { /* ascending rows, so that a search can end at the first it finds */
        uint32_t at = (uint32_t)leaders->postings++;
        uint64_t class = class_of_place(place);
        size_t entry = entry_of(leaders, ranks[place], class);
        leaders->rows[at] = (uint32_t)i;
        leaders->next[at] = LEADERS_NONE;
        if (leaders->first[entry] == LEADERS_NONE) leaders->first[entry] = at;
        else leaders->next[leaders->last[entry]] = at;
        leaders->keys[entry] = (uint64_t)ranks[place] << 6 | class;
        leaders->last[entry] = at;
    }
    add_leader(leaders, i);
    return i;
}
