/* Few matches are sorted by insertion, more of them by a heap, whose steps are n log n whatever the numbers are. Where
 * few are wanted of many, the heap holds these, and the others pass by its root: of n equally near entries, 10 take a step each. */
#include "matches/matches.h"

/* A query's matches are sorted by insertion up to this number. */
enum { FEW = 48 };

static inline int is_before(int64_t score, int64_t key, int64_t other_score, int64_t other_key) {
    return score > other_score || (score == other_score && key < other_key);
}

static void order_few(int64_t *keys, int64_t *scores, size_t n) {
    for (size_t i = 1; i < n; i++) {
        int64_t key = keys[i], score = scores[i];
        size_t j = i;
        for (; j > 0 && is_before(score, key, scores[j - 1], keys[j - 1]); j--) {
            keys[j] = keys[j - 1];
            scores[j] = scores[j - 1];
        }
        keys[j] = key;
        scores[j] = score;
    }
}

/* A heap whose root is the last in order: put a match in at `at` and let it down to its place. */
static void let_down(int64_t *keys, int64_t *scores, size_t n, size_t at, int64_t key, int64_t score) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_before(scores[child], keys[child], scores[child + 1], keys[child + 1]);
        if (!is_before(score, key, scores[child], keys[child])) break;
        keys[at] = keys[child];
        scores[at] = scores[child];
    }
    keys[at] = key;
    scores[at] = score;
}

static void order_many(int64_t *keys, int64_t *scores, size_t n, size_t most) {
    const size_t all = n;
    if (n > most) n = most;
    for (size_t at = n / 2; at-- > 0;) let_down(keys, scores, n, at, keys[at], scores[at]);
    for (size_t i = n; i < all; i++) {
        const int64_t key = keys[i], score = scores[i];
        if (!is_before(score, key, scores[0], keys[0])) continue;
        keys[i] = keys[0];
        scores[i] = scores[0];
        let_down(keys, scores, n, 0, key, score);
    }
    while (--n > 0) {
        int64_t key = keys[n], score = scores[n];
        keys[n] = keys[0];
        scores[n] = scores[0];
        let_down(keys, scores, n, 0, key, score);
    }
}

void matches_order(const int64_t *offsets, size_t queries, int64_t *keys, int64_t *scores, size_t most) {
    for (size_t i = 0; i < queries; i++) {
        size_t n = (size_t)(offsets[i + 1] - offsets[i]);
        if (n <= FEW) order_few(keys + offsets[i], scores + offsets[i], n);
        else order_many(keys + offsets[i], scores + offsets[i], n, most);
    }
}
