/* One row of weights is written to an array with a place for each term, and so is one row of sums: then a step is a load
 * and an addition without a branch, about 1 ns, where a merge of two rows mispredicts every other step. */
#include "terms/terms.h"

#include "compiler.h"

NO_CONTRACTION

static void hold(struct terms_rows rows, int64_t row, double *dense, int64_t *held) {
    if (*held >= 0) {
        for (int64_t at = rows.offsets[*held]; at < rows.offsets[*held + 1]; at++) dense[rows.terms[at]] = 0;
    }
    for (int64_t at = rows.offsets[row]; at < rows.offsets[row + 1]; at++) dense[rows.terms[at]] = rows.weights[at];
    *held = row;
}

size_t terms_products(struct terms_rows rows, const int64_t *left, const int64_t *right, size_t pairs, double *dense,
                      int64_t *held, size_t work, double *out) {
    size_t pair = 0, done = 0;
    while (pair < pairs && (pair == 0 || done < work)) {
        if (left[pair] != *held) {
            hold(rows, left[pair], dense, held);
            done += (size_t)(rows.offsets[left[pair] + 1] - rows.offsets[left[pair]]);
        }
        int64_t begin = rows.offsets[right[pair]], end = rows.offsets[right[pair] + 1];
        double sum = 0;
        for (int64_t at = begin; at < end; at++) sum += dense[rows.terms[at]] * rows.weights[at];
        out[pair++] = sum;
        done += (size_t)(end - begin) + 1;
    }
    return pair;
}

void terms_count(struct terms_rows rows, const int64_t *chosen, size_t n, const uint8_t *kept, int64_t *starts) {
    for (size_t i = 0; i < n; i++) {
        for (int64_t at = rows.offsets[chosen[i]]; at < rows.offsets[chosen[i] + 1]; at++) {
            starts[rows.terms[at] + 1] += kept[rows.terms[at]] != 0;
        }
    }
}

void terms_post(struct terms_rows rows, const int64_t *chosen, size_t n, size_t first, const uint8_t *kept, int64_t *next,
                int32_t *places, double *weights) {
    for (size_t i = 0; i < n; i++) {
        for (int64_t at = rows.offsets[chosen[i]]; at < rows.offsets[chosen[i] + 1]; at++) {
            if (!kept[rows.terms[at]]) continue;
            int64_t to = next[rows.terms[at]]++;
            places[to] = (int32_t)(first + i);
            weights[to] = rows.weights[at];
        }
    }
}

/* Add the products of a row and the indexed rows to the sums; return how many of these have a common term. */
static size_t add_products(struct terms_rows rows, struct terms_index index, int64_t row, struct terms_search search,
                           size_t *done) {
    size_t met = 0;
    for (int64_t at = rows.offsets[row]; at < rows.offsets[row + 1]; at++) {
        int64_t begin = index.starts[rows.terms[at]], end = index.starts[rows.terms[at] + 1];
        double weight = rows.weights[at];
        for (int64_t posting = begin; posting < end; posting++) {
            int32_t place = index.places[posting];
            double sum = search.sums[place];
            search.touched[met] = place;
            met += sum == 0;
            search.sums[place] = sum + weight * index.weights[posting];
        }
        *done += (size_t)(end - begin) + 1;
    }
    return met;
}

static inline int is_farther(double sum, int32_t place, double other_sum, int32_t other_place) {
    return sum < other_sum || (sum == other_sum && place > other_place);
}

/* A heap of n places whose root is the farthest: put one in at `at`, and let it down to its place. */
static void let_down(double *sums, int32_t *places, size_t n, size_t at, double sum, int32_t place) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_farther(sums[child + 1], places[child + 1], sums[child], places[child]);
        if (!is_farther(sums[child], places[child], sum, place)) break;
        sums[at] = sums[child];
        places[at] = places[child];
    }
    sums[at] = sum;
    places[at] = place;
}

/* Choose the nearest of the rows that were met, and set their sums to 0; return their number. */
static size_t choose(struct terms_search search, size_t met, int32_t own, int32_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < met; i++) {
        int32_t place = search.touched[i];
        double sum = search.sums[place];
        search.sums[place] = 0;
        if (place == own) continue;
        if (n < search.k) {
            search.best[n] = sum;
            out[n++] = place;
            if (n < search.k) continue;
            for (size_t at = n / 2; at-- > 0;) let_down(search.best, out, n, at, search.best[at], out[at]);
        } else if (is_farther(search.best[0], out[0], sum, place)) {
            let_down(search.best, out, n, 0, sum, place);
        }
    }
    return n;
}

size_t terms_nearest(struct terms_rows rows, struct terms_index index, const int64_t *probing, const int32_t *own, size_t n,
                     struct terms_search search, size_t work, int32_t *out, int64_t *counts) {
    size_t i = 0, done = 0;
    for (; i < n && (i == 0 || done < work); i++) {
        size_t met = add_products(rows, index, probing[i], search, &done);
        counts[i] = (int64_t)choose(search, met, own[i], out + i * search.k);
        done += met;
    }
    return i;
}
