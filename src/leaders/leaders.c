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

size_t leaders_of_row(struct leaders *leaders, size_t i, size_t *work) {
    const uint64_t p = leaders->p, q = leaders->q;
    const uint32_t *ranks = leaders->ranks + leaders->offsets[i], mark = (uint32_t)i + 1;
    const size_t n = (size_t)(leaders->offsets[i + 1] - leaders->offsets[i]), prefix = leaders_prefix(n, p, q);
    const uint64_t least = least_shared(n, p, q);
    uint32_t found = LEADERS_NONE;
    *work += n;
    if (prefix == 0) return i;
    for (size_t j = 0; j < n; j++) leaders->held[ranks[j]] = mark;
    for (size_t place = 0; place < prefix; place++) {
        uint64_t most = (uint64_t)(n - place) * (q - p) / p - n, last = class_of_place(most);
        for (uint64_t class = 0; class <= last; class++, ++*work) {
            uint32_t at = leaders->first[entry_of(leaders, ranks[place], class)];
            for (; at != LEADERS_NONE && leaders->rows[at] < found; at = leaders->next[at], ++*work) {
                uint32_t row = leaders->rows[at];
                if (leaders->met[row] == mark) continue;
                leaders->met[row] = mark;
                size_t m = (size_t)(leaders->offsets[row + 1] - leaders->offsets[row]);
                if (m < least || least_shared(m, p, q) > n) continue;
                if (shares(leaders, row, mark, ceiling(p * ((uint64_t)n + m), q), work)) found = row;
            }
        }
    }
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
    return i;
}
