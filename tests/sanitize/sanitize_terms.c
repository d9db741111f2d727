/* Sparse vectors (terms.h) of random rows, in heap buffers of exactly the size that the contract states, so that the address
 * sanitizer sees each byte read or written beside them. Each product is checked by a merge, and the nearest rows by all
 * products. Prints a digest of all results, which no compiler may change. */
#include "sanitize_kit.h"
#include "terms/terms.h"

static double product_of_rows(struct terms_rows rows, int64_t left, int64_t right, const uint8_t *kept, int *met) {
    double sum = 0;
    *met = 0;
    for (int64_t at = rows.offsets[right]; at < rows.offsets[right + 1]; at++) {
        for (int64_t other = rows.offsets[left]; other < rows.offsets[left + 1]; other++) {
            if (rows.terms[other] != rows.terms[at] || (kept && !kept[rows.terms[at]])) continue;
            sum += rows.weights[other] * rows.weights[at];
            *met = 1;
        }
    }
    return sum;
}

static void check_terms(void) {
    size_t n = 1 + below(12), terms = 1 + below(9), m = 0;
    int64_t *offsets = buffer((n + 1) * sizeof *offsets);
    int32_t *ids = buffer(n * terms * sizeof *ids);
    double *weights = buffer(n * terms * sizeof *weights);
    for (size_t i = 0; i < n; i++) {
        offsets[i] = (int64_t)m;
        for (size_t term = 0; term < terms; term++) {
            if (!below(2)) continue;
            ids[m] = (int32_t)term;
            weights[m++] = (double)(1 + below(4)) / 3;
        }
    }
    offsets[n] = (int64_t)m;
    struct terms_rows rows = {offsets, ids, weights};

    int met;
    int64_t *left = buffer(n * sizeof *left), *right = buffer(n * sizeof *right), held = -1;
    double *dense = buffer(terms * sizeof *dense), *products = buffer(n * sizeof *products);
    for (size_t i = 0; i < terms; i++) dense[i] = 0;
    for (size_t i = 0; i < n; i++) {
        left[i] = i && below(2) ? left[i - 1] : (int64_t)below(n);
        right[i] = (int64_t)below(n);
    }
    for (size_t done = 0; done < n;) {
        done += terms_products(rows, left + done, right + done, n - done, dense, &held, 1 + below(20), products + done);
    }
    for (size_t i = 0; i < n; i++) CHECK(products[i] == product_of_rows(rows, left[i], right[i], NULL, &met));
    note_all((const uint64_t *)products, n);

    uint8_t *kept = buffer(terms);
    int64_t *starts = buffer((terms + 1) * sizeof *starts), *next = buffer((terms + 1) * sizeof *next);
    for (size_t i = 0; i < terms; i++) kept[i] = below(4) > 0;
    for (size_t i = 0; i <= terms; i++) starts[i] = 0;
    terms_count(rows, left, n, kept, starts);
    for (size_t i = 0; i < terms; i++) starts[i + 1] += starts[i];
    for (size_t i = 0; i <= terms; i++) next[i] = starts[i];
    int32_t *places = buffer((size_t)starts[terms] * sizeof *places);
    double *posted = buffer((size_t)starts[terms] * sizeof *posted);
    size_t half = n / 2;
    terms_post(rows, left, half, 0, kept, next, places, posted);
    terms_post(rows, left + half, n - half, half, kept, next, places, posted);
    for (size_t i = 0; i < terms; i++) CHECK(next[i] == starts[i + 1]);

    struct terms_index index = {starts, places, posted};
    struct terms_search search = {1 + below(n), buffer(n * sizeof(double)), buffer((n + 1) * sizeof(int32_t)), NULL};
    search.best = buffer(search.k * sizeof(double));
    int32_t *own = buffer(n * sizeof *own), *found = buffer(n * search.k * sizeof *found);
    int64_t *counts = buffer(n * sizeof *counts);
    for (size_t i = 0; i < n; i++) {
        own[i] = (int32_t)below(n + 1) - 1;
        search.sums[i] = 0;
    }
    for (size_t done = 0; done < n;) {
        done += terms_nearest(rows, index, right + done, own + done, n - done, search, 1 + below(40), found + done * search.k,
                              counts + done);
    }
    for (size_t i = 0; i < n; i++) {
        CHECK(search.sums[i] == 0);
        size_t near = 0;
        for (size_t place = 0; place < n; place++) {
            double sum = product_of_rows(rows, left[place], right[i], kept, &met);
            size_t before = 0, chosen = 0;
            for (size_t other = 0; other < n; other++) {
                int shares;
                double against = product_of_rows(rows, left[other], right[i], kept, &shares);
                before += shares && (int32_t)other != own[i] && (against > sum || (against == sum && other < place));
            }
            for (int64_t at = 0; at < counts[i]; at++) chosen += found[i * search.k + (size_t)at] == (int32_t)place;
            CHECK(chosen == (size_t)(met && (int32_t)place != own[i] && before < search.k));
            near += chosen;
        }
        CHECK(near == (size_t)counts[i]);
        note((uint64_t)counts[i]);
    }
    free(offsets), free(ids), free(weights), free(left), free(right), free(dense), free(products), free(kept);
    free(starts), free(next), free(places), free(posted), free(search.sums), free(search.touched), free(search.best);
    free(own), free(found), free(counts);
}

int main(void) {
    for EACH_ROUND(round, 400) check_terms();
    return print_digest();
}
