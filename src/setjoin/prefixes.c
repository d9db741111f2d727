/* The index of prefixes and the search in it. A candidate is compared when its first common token is met, from there on:
 * tokens come in ascending order on both sides, so nothing before can be shared, and nothing has to be counted. */
#include "setjoin/setjoin_parts.h"

void setjoin_bits(const uint32_t *ranks, size_t n, uint64_t bits[2]) {
    bits[0] = bits[1] = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bit = ranks[i] * UINT32_C(0x9E3779B1) >> 25;
        bits[bit >> 6] ^= (uint64_t)1 << (bit & 63);
    }
}

void setjoin_count_postings(const struct setjoin_index *index, const uint32_t *prefixes, size_t from, size_t to,
                            uint64_t *counts) {
    for (size_t row = from; row < to; row++) {
        const struct setjoin_set *set = index->sets + row;
        size_t n = setjoin_in_prefix(set, prefixes[index->class_of[row]]);
        for (size_t i = 0; i < n; i++) counts[index->ranks[set->start + i] + 1]++;
    }
}

void setjoin_post(const struct setjoin_index *index, const uint32_t *prefixes, size_t from, size_t to, uint64_t *ends,
                  struct setjoin_posting *postings) {
    for (size_t row = from; row < to; row++) {
        const struct setjoin_set *set = index->sets + row;
        size_t n = setjoin_in_prefix(set, prefixes[index->class_of[row]]);
        for (size_t i = 0; i < n; i++) {
            struct setjoin_posting posting = {(uint32_t)row, (uint32_t)(set->count - i - 1)};
            postings[ends[index->ranks[set->start + i]]++] = posting;
        }
    }
}

static inline int comes_before(struct setjoin_posting a, struct setjoin_posting b) {
    return a.rest != b.rest ? a.rest > b.rest : a.row < b.row;
}

/* The gaps of Shell's sort for which it takes O(n^(4/3)) steps (Sedgewick 1982). */
static size_t gap_of(unsigned step) {
    return step ? ((size_t)1 << 2 * step) + ((size_t)3 << (step - 1)) + 1 : 1;
}

static void order_class(struct setjoin_posting *postings, size_t n) {
    unsigned step = 0;
    while (gap_of(step) < n) step++;
    while (step-- > 0) {
        size_t gap = gap_of(step);
        for (size_t i = gap; i < n; i++) {
            struct setjoin_posting posting = postings[i];
            size_t at = i;
            for (; at >= gap && comes_before(posting, postings[at - gap]); at -= gap) postings[at] = postings[at - gap];
            postings[at] = posting;
        }
    }
}

void setjoin_order_by_suffix(const struct setjoin_index *index, size_t from, size_t to, struct setjoin_posting *postings) {
    for (size_t rank = from; rank < to; rank++) {
        size_t at = index->starts[rank], end = index->starts[rank + 1];
        while (at < end) {
            uint32_t class_end = index->class_starts[index->class_of[postings[at].row] + 1];
            size_t first = at;
            while (at < end && postings[at].row < class_end) at++;
            order_class(postings + first, at - first);
        }
    }
}

/* A class can reach the threshold if the overlap it needs is at most its size, which holds from some class on, and at most
 * `size`, up to some class. */
static void find_classes(const struct setjoin_rule *rule, const struct setjoin_index *index, uint32_t size,
                         struct setjoin_window *window) {
    size_t low = 0, high = index->classes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t a = index->class_sizes[middle];
        if (setjoin_need(rule, a, size) > a) low = middle + 1;
        else high = middle;
    }
    window->first = low;
    high = index->classes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (setjoin_need(rule, index->class_sizes[middle], size) > size) high = middle;
        else low = middle + 1;
    }
    window->last = low;
}

size_t setjoin_find_window(const struct setjoin_rule *rule, const struct setjoin_index *index, int self, size_t probe,
                           uint32_t size, struct setjoin_window *window) {
    size_t steps = 1;
    if (window->size != size) {
        find_classes(rule, index, size, window);
        for (size_t c = window->first; c < window->last; c++) {
            window->needs[c] = (uint32_t)setjoin_need(rule, index->class_sizes[c], size);
        }
        steps += window->last - window->first;
        window->size = size;
    }
    window->low = index->class_starts[window->first];
    window->high = self ? (uint32_t)probe : index->class_starts[window->last];
    return steps;
}

static size_t begin_probe(const struct setjoin_rule *rule, const struct setjoin_index *index,
                          const struct setjoin_set *probe, struct setjoin_walk *walk) {
    struct setjoin_window *window = &walk->window;
    walk->begun = 1;
    walk->rank = walk->ranks = walk->posting = walk->postings_end = 0;
    if (probe->count == 0) return 1;
    size_t steps = setjoin_find_window(rule, index, walk->self, walk->probe, probe->size, window);
    if (window->first < window->last) {
        size_t prefix = setjoin_probing_prefix(rule, probe->size, index->class_sizes[window->first]);
        walk->ranks = setjoin_in_prefix(probe, prefix);
    }
    return steps;
}

/* The first posting of a row at or after `row`, which begins a class where postings are ordered by suffix. */
static size_t first_from(const struct setjoin_posting *postings, size_t low, size_t high, uint32_t row) {
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (postings[middle].row < row) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Put sets that have the probing set's current token, and tokens enough after it, into the batch. Returns how many
 * postings were looked at, at most `work` > 0. */
static size_t meet(const struct setjoin_index *index, const struct setjoin_set *probe, struct setjoin_walk *walk,
                   size_t work) {
    const struct setjoin_posting *postings = index->postings;
    const uint32_t probe_rest = (uint32_t)(probe->count - walk->rank), stamp = (uint32_t)walk->probe + 1;
    uint32_t *stamps = walk->stamps, class_end = 0, need = 0, high = walk->window.high;
    size_t from = walk->posting, to = walk->postings_end, at = from, held = walk->held, skipped = 0;
    if (to - at > work) to = at + work;
    for (; at < to && held < SETJOIN_BATCH; at++) {
        uint32_t row = postings[at].row, rest = postings[at].rest;
        if (row >= high) {
            if (index->by_suffix) continue;
            walk->postings_end = at;
            break;
        }
        if (row >= class_end) {
            uint32_t class = index->class_of[row];
            class_end = index->class_starts[class + 1];
            need = walk->window.needs[class];
        }
        uint32_t most = rest < probe_rest ? rest : probe_rest;
        if (most + 1 < need) {
            if (!index->by_suffix) continue;
            size_t next = first_from(postings, at, to, class_end);
            skipped += next - at - 1;
            at = next - 1;
            continue;
        }
        if (stamps[row] == stamp) continue;
        stamps[row] = stamp;
        prefetch(index->sets + row);
        struct setjoin_candidate candidate = {row, need, rest, probe_rest};
        walk->batch[held++] = candidate;
    }
    walk->held = held;
    walk->posting = at;
    walk->met += at - from - skipped;
    return at - from - skipped + 1;
}

static void begin_merge(const struct setjoin_candidate *candidate, const struct setjoin_set *set,
                        const struct setjoin_set *probe, struct setjoin_walk *walk) {
    walk->merging = 1;
    walk->at = set->count - candidate->rest;
    walk->probe_at = probe->count - candidate->probe_rest;
    walk->overlap = 1;
    walk->misses = (int64_t)candidate->rest + 1 - candidate->need;
    walk->probe_misses = (int64_t)candidate->probe_rest + 1 - candidate->need;
}

/* Go on comparing, at most about `work` steps. Returns 1 where the overlap is known, or too small (a number of misses is
 * below 0 then). */
static int merge(const uint32_t *a, size_t n, const uint32_t *b, size_t m, struct setjoin_walk *walk, size_t work) {
    size_t i = walk->at, j = walk->probe_at, overlap = walk->overlap, start = i + j;
    int64_t misses = walk->misses, probe_misses = walk->probe_misses;
    int done = 0;
    while (i + j - start < work) {
        size_t shared = overlap, i0 = i, j0 = j;
        for (size_t step = 0; step < 16 && i < n && j < m; step++) {
            uint32_t x = a[i], y = b[j];
            overlap += x == y;
            i += x <= y;
            j += y <= x;
        }
        shared = overlap - shared;
        misses -= (int64_t)(i - i0 - shared);
        probe_misses -= (int64_t)(j - j0 - shared);
        if (misses < 0 || probe_misses < 0 || i == n || j == m) {
            done = 1;
            break;
        }
    }
    walk->at = (uint32_t)i;
    walk->probe_at = (uint32_t)j;
    walk->overlap = (uint32_t)overlap;
    walk->misses = misses;
    walk->probe_misses = probe_misses;
    return done;
}

/* Compare the candidates of the batch. Returns the steps it took; the batch is empty where there was work and room. */
static size_t compare(const struct setjoin_index *index, const struct setjoin_set *probe, const uint32_t *probe_ranks,
                      struct setjoin_walk *walk, size_t work, struct setjoin_found *out, size_t room, size_t *found) {
    size_t steps = 0;
    while (walk->compared < walk->held && *found < room && steps < work) {
        const struct setjoin_candidate *candidate = walk->batch + walk->compared;
        const struct setjoin_set *set = index->sets + candidate->row;
        if (!walk->merging) begin_merge(candidate, set, probe, walk);
        size_t before = (size_t)walk->at + walk->probe_at;
        int done = merge(index->ranks + set->start, set->count, probe_ranks + probe->start, probe->count, walk,
                         work - steps);
        steps += (size_t)walk->at + walk->probe_at - before + 1;
        if (!done) continue;
        walk->merging = 0;
        walk->compared++;
        walk->candidates++;
        if (walk->misses >= 0 && walk->probe_misses >= 0) {
            struct setjoin_found pair = {candidate->row, (uint32_t)walk->probe, walk->overlap};
            out[(*found)++] = pair;
        }
    }
    if (walk->compared == walk->held) walk->compared = walk->held = 0;
    return steps;
}

/* Screen the batch, and ask for the tokens of those left. */
static void screen(const struct setjoin_kernels *kernels, const struct setjoin_index *index,
                   const struct setjoin_set *probe, struct setjoin_walk *walk) {
    walk->held = kernels->screen(index->sets, probe, walk->batch, walk->held);
    for (size_t c = 0; c < walk->held; c++) {
        const struct setjoin_set *set = index->sets + walk->batch[c].row;
        prefetch(index->ranks + set->start + set->count - walk->batch[c].rest);
    }
    walk->comparing = walk->held > 0;
}

static void open_postings(const struct setjoin_index *index, const struct setjoin_set *probe,
                          const uint32_t *probe_ranks, struct setjoin_walk *walk) {
    uint32_t rank = probe_ranks[probe->start + walk->rank++];
    walk->postings_end = index->starts[rank + 1];
    walk->posting = first_from(index->postings, index->starts[rank], walk->postings_end, walk->window.low);
    if (index->by_suffix && walk->window.high > 0) {
        uint32_t class = index->class_of[walk->window.high - 1];
        walk->postings_end = first_from(index->postings, walk->posting, walk->postings_end, index->class_starts[class + 1]);
    }
}

int setjoin_search(const struct setjoin_kernels *kernels, const struct setjoin_rule *rule,
                   const struct setjoin_index *index, const struct setjoin_set *probes, const uint32_t *probe_ranks,
                   struct setjoin_walk *walk, size_t work, struct setjoin_found *out, size_t room, size_t *found) {
    size_t steps = 0;
    *found = 0;
    while (walk->probe < walk->end) {
        const struct setjoin_set *probe = probes + walk->probe;
        if (steps >= work || *found == room) return 0;
        if (!walk->begun) {
            steps += begin_probe(rule, index, probe, walk);
        } else if (walk->comparing) {
            steps += compare(index, probe, probe_ranks, walk, work - steps, out, room, found);
            walk->comparing = walk->held > 0;
        } else if (walk->held == SETJOIN_BATCH) {
            screen(kernels, index, probe, walk);
        } else if (walk->posting < walk->postings_end) {
            steps += meet(index, probe, walk, work - steps);
        } else if (walk->rank < walk->ranks) {
            open_postings(index, probe, probe_ranks, walk);
            steps++;
        } else if (walk->held > 0) {
            screen(kernels, index, probe, walk);
        } else {
            walk->begun = 0;
            walk->probe++;
        }
    }
    return 1;
}
