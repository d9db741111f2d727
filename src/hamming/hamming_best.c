/* The k least hits of a query, of all that are offered. */
#include "hamming/hamming.h"

#include "hamming/hamming_parts.h"

#include <string.h>

/* So few words are sorted by insertion. */
#define FEW 16

static void sort_few(uint64_t *at, size_t n) {
    for (size_t i = 1; i < n; i++) {
        const uint64_t word = at[i];
        size_t j = i;
        for (; j && at[j - 1] > word; j--) at[j] = at[j - 1];
        at[j] = word;
    }
}

/* The range of some words in 256 equal parts, and how many words are in each. */
struct parts {
    uint64_t least, top; /* all words below `top` are in the parts before `part` or in it */
    unsigned shift;
    size_t part;
    uint32_t counts[256];
};

/* Find the part of the word that is the k-th least of n. */
static void divide(struct parts *parts, const uint64_t *at, size_t n, size_t k) {
    uint64_t least = UINT64_MAX, greatest = 0;
    for (size_t i = 0; i < n; i++) {
        least = at[i] < least ? at[i] : least;
        greatest = at[i] > greatest ? at[i] : greatest;
    }
    const uint64_t range = greatest - least;
    parts->least = least;
    parts->shift = range > 255 ? highest_bit(range) - 7 : 0;
    memset(parts->counts, 0, sizeof parts->counts);
    for (size_t i = 0; i < n; i++) parts->counts[(at[i] - least) >> parts->shift]++;
    size_t part = 0, sum = parts->counts[0];
    while (sum < k) sum += parts->counts[++part];
    parts->part = part;
    const uint64_t above = (uint64_t)(part + 1) << parts->shift;
    parts->top = above > UINT64_MAX - least ? UINT64_MAX : least + above;
}

/* Move words below a bound to the front; return how many. */
static size_t below(uint64_t *at, size_t n, uint64_t bound) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = at[i];
        at[i] = at[count];
        at[count] = word;
        count += word < bound;
    }
    return count;
}

/* Move the k least of more than k different words to the front, and perhaps some of the next ones, but no more than
 * `most`; return how many. *top is above all of them, and not above any other word. Each round takes eight of the bits in
 * which the words differ, so the time is linear whatever they are. */
static size_t select_least(uint64_t *at, size_t n, size_t k, size_t most, uint64_t *top) {
    if (n <= FEW) {
        sort_few(at, n);
        *top = at[k - 1] + 1;
        return k;
    }
    for (size_t done = 0;;) {
        struct parts parts;
        divide(&parts, at + done, n - done, k - done);
        n = done + below(at + done, n - done, parts.top);
        *top = parts.top;
        if (n <= most) return n;
        if (!parts.shift) return most; /* words that are equal */
        done += below(at + done, n - done, parts.least + ((uint64_t)parts.part << parts.shift));
    }
}

void hamming_offer(struct hamming_best *best, uint64_t hit) {
    if (hit >= best->bound) return;
    best->at[best->count++] = hit;
    if (best->count == HAMMING_BEST_ROOM(best->k)) hamming_tighten(best);
}

void hamming_tighten(struct hamming_best *best) {
    if (best->count < 2 * best->k) return;
    best->count = select_least(best->at, best->count, best->k, best->k + best->k / 4, &best->bound);
}

void hamming_settle_best(struct hamming_best *best) {
    if (best->count > best->k) best->count = select_least(best->at, best->count, best->k, best->k, &best->bound);
}
