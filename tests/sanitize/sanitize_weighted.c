/* Runs the weighted kernels on sets of many sizes and weights, each array just as long as the contract says: every
 * level against the portable code. Prints a digest. */
#include "weighted/weighted.h"
#include "sanitize_kit.h"

#include <float.h>
#include <math.h>

/* Any positive double, subnormal ones and the greatest included. */
static double weight(void) {
    uint64_t bits = anything() >> 1;
    double x;
    if (bits >> 52 == 0x7FF) bits -= (uint64_t)1 << 52;
    bits = bits ? bits : 1;
    memcpy(&x, &bits, sizeof x);
    return anything() % 8 ? x : anything() % 2 ? DBL_MAX : ldexp(1, -1074);
}

static void sketches(size_t n, size_t k) {
    uint64_t *tokens = buffer(8 * n), *slots = buffer(8 * k), *out = buffer(8 * k);
    double *weights = buffer(8 * n);
    size_t at;
    for (size_t i = 0; i < n; i++) tokens[i] = anything(), weights[i] = weight();
    for (size_t i = 0; i < k; i++) slots[i] = anything();
    CHECK(weighted_are_valid(weights, n, &at));
    weighted_shells(tokens, weights, n, 5, 1 + (double)k, k, out);
    note_all(out, k);
    weighted_icws(tokens, weights, n, 5, slots, k, out);
    note_all(out, k);
    weighted_multiset_tokens(5, k, out);
    note_all(out, k);
    free(tokens), free(slots), free(out), free(weights);
}

static void samples(size_t dim, size_t rows, size_t lanes, int shifted) {
    size_t most = rows * dim, k = lanes + 3;
    float *tables[4], *logs = buffer(4 * most);
    for (size_t t = 0; t < 4; t++) tables[t] = buffer(4 * dim * WEIGHTED_SAMPLE_LANES);
    for (size_t i = 0; i < dim * WEIGHTED_SAMPLE_LANES; i++) {
        tables[0][i] = (float)(anything() % 1000 + 1) / 250;
        tables[1][i] = (float)(anything() % 1000) / 300 - 2;
        tables[2][i] = (float)(anything() % 1000) / 1000;
        tables[3][i] = tables[1][i] - tables[0][i];
    }
    struct samples block = {tables[0], tables[1], tables[2], tables[3], 1e-3f, shifted};
    int64_t *offsets = buffer(8 * (rows + 1)), at = 0;
    int32_t *columns = buffer(4 * most);
    for (size_t i = 0; i < rows; i++) {
        offsets[i] = at;
        for (size_t c = 0; c < dim && i % 4; c++) {
            if (anything() % 3) columns[at] = (int32_t)c, logs[at++] = (float)(anything() % 2000) / 10 - 100;
        }
    }
    offsets[rows] = at;
    size_t bytes = 8 * (rows ? 2 * (k * (rows - 1) + lanes) : 0);
    int64_t *out = buffer(bytes), *other = buffer(bytes);
    if (bytes) memset(out, 0, bytes), memset(other, 0, bytes);
    weighted_scalar.sample(&block, offsets, columns, logs, rows, lanes, k, out);
    for EACH_LEVEL(level) {
        weighted_levels[level]->sample(&block, offsets, columns, logs, rows, lanes, k, other);
        CHECK(same_bytes(out, other, bytes));
    }
    CHECK(!rows || weighted_equal_samples(out, other, lanes) <= lanes);
    note_all((uint64_t *)out, bytes / 8);
    for (size_t t = 0; t < 4; t++) free(tables[t]);
    free(logs), free(offsets), free(columns), free(out), free(other);
}

static uint64_t *elements(size_t n) {
    uint64_t *set = buffer(8 * WEIGHTED_ELEMENT_WORDS * n), hash = 0;
    for (size_t i = 0; i < n; i++) {
        double x = (double)(anything() % 1000 + 1);
        hash += 1 + anything() % 2;
        set[3 * i] = hash / 2, set[3 * i + 1] = hash;
        memcpy(&set[3 * i + 2], &x, sizeof x);
    }
    return set;
}

static void similarities(size_t n, size_t m) {
    uint64_t *a = elements(n), *b = elements(m), bits;
    double found = weighted_similarity(a, n, b, m), other = weighted_similarity(b, m, a, n);
    CHECK(found >= 0 && found <= 1 && found == other);
    CHECK(!n || weighted_similarity(a, n, a, n) == 1);
    memcpy(&bits, &found, sizeof bits);
    note_all(&bits, 1);
    free(a), free(b);
}

int main(void) {
    for (size_t n = 0; n < 20; n++) {
        for (size_t m = 0; m < 20; m++) similarities(n, m);
    }
    for (size_t n = 0; n < 40; n += n < 5 ? 1 : 7) {
        for (size_t k = 1; k < 200; k += k < 5 ? 1 : 61) sketches(n, k);
    }
    for (size_t dim = 1; dim < 140; dim += dim < 3 ? 1 : 15) {
        for (size_t lanes = 1; lanes <= WEIGHTED_SAMPLE_LANES; lanes++) samples(dim, lanes % 9, lanes, (int)(dim % 2));
    }
    return print_digest();
}
