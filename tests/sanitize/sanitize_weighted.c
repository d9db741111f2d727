/* Runs the weighted kernels on sets of many sizes and weights, each array just as long as the contract says: every
 * level against the portable code. Prints a digest. */
#include "weighted/weighted.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t digest, state = 7;

static uint64_t next(void) { return mix64(state += UINT64_C(0x9E3779B97F4A7C15)); }

static void *hold(size_t count, size_t size) {
    void *block = malloc(count * size + 1);
    if (!block) abort();
    return block;
}

static void digest_words(const uint64_t *words, size_t n) {
    for (size_t i = 0; i < n; i++) digest = mix64(digest ^ words[i]);
}

/* Any positive double, subnormal ones and the greatest included. */
static double weight(void) {
    uint64_t bits = next() >> 1;
    double x;
    if (bits >> 52 == 0x7FF) bits -= (uint64_t)1 << 52;
    bits = bits ? bits : 1;
    memcpy(&x, &bits, sizeof x);
    return next() % 8 ? x : next() % 2 ? DBL_MAX : ldexp(1, -1074);
}

static void sketches(size_t n, size_t k) {
    uint64_t *tokens = hold(n, 8), *slots = hold(k, 8), *out = hold(k, 8);
    double *weights = hold(n, 8);
    size_t at;
    for (size_t i = 0; i < n; i++) tokens[i] = next(), weights[i] = weight();
    for (size_t i = 0; i < k; i++) slots[i] = next();
    if (!weights_are_valid(weights, n, &at)) abort();
    shells_sketch(tokens, weights, n, 5, 1 + (double)k, k, out);
    digest_words(out, k);
    icws_sketch(tokens, weights, n, 5, slots, k, out);
    digest_words(out, k);
    multiset_tokens(5, k, out);
    digest_words(out, k);
    free(tokens), free(slots), free(out), free(weights);
}

static void samples(size_t dim, size_t rows, size_t lanes, int shifted) {
    size_t most = rows * dim, k = lanes + 3;
    float *tables[4], *logs = hold(most, 4);
    for (size_t t = 0; t < 4; t++) tables[t] = hold(dim * SAMPLE_LANES, 4);
    for (size_t i = 0; i < dim * SAMPLE_LANES; i++) {
        tables[0][i] = (float)(next() % 1000 + 1) / 250;
        tables[1][i] = (float)(next() % 1000) / 300 - 2;
        tables[2][i] = (float)(next() % 1000) / 1000;
        tables[3][i] = tables[1][i] - tables[0][i];
    }
    struct samples block = {tables[0], tables[1], tables[2], tables[3], 1e-3f, shifted};
    int64_t *offsets = hold(rows + 1, 8), at = 0;
    int32_t *columns = hold(most, 4);
    for (size_t i = 0; i < rows; i++) {
        offsets[i] = at;
        for (size_t c = 0; c < dim && i % 4; c++) {
            if (next() % 3) columns[at] = (int32_t)c, logs[at++] = (float)(next() % 2000) / 10 - 100;
        }
    }
    offsets[rows] = at;
    size_t bytes = 8 * (rows ? 2 * (k * (rows - 1) + lanes) : 0);
    int64_t *out = hold(bytes, 1), *other = hold(bytes, 1);
    memset(out, 0, bytes), memset(other, 0, bytes);
    weighted_scalar.sample(&block, offsets, columns, logs, rows, lanes, k, out);
    for (int level = 1; level <= (int)cpu_detect(); level++) {
        weighted_kernels_of((enum cpu_level)level)->sample(&block, offsets, columns, logs, rows, lanes, k, other);
        if (memcmp(out, other, bytes)) {
            printf("level %d differs: %zu dimensions, %zu rows, %zu lanes\n", level, dim, rows, lanes);
            exit(1);
        }
    }
    if (rows && equal_samples(out, other, lanes) > lanes) abort();
    digest_words((uint64_t *)out, bytes / 8);
    for (size_t t = 0; t < 4; t++) free(tables[t]);
    free(logs), free(offsets), free(columns), free(out), free(other);
}

int main(void) {
    for (size_t n = 0; n < 40; n += n < 5 ? 1 : 7) {
        for (size_t k = 1; k < 200; k += k < 5 ? 1 : 61) sketches(n, k);
    }
    for (size_t dim = 1; dim < 140; dim += dim < 3 ? 1 : 15) {
        for (size_t lanes = 1; lanes <= SAMPLE_LANES; lanes++) samples(dim, lanes % 9, lanes, (int)(dim % 2));
    }
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
