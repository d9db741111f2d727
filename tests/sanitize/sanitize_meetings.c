/* Pairs of rows that share a bucket (meetings.h) on every CPU level, in heap buffers of exactly the size that the contract
 * states, with little work and room a call; against all pairs by their definition. Prints a digest of all results, which
 * no compiler may change. */
#include "meetings/meetings.h"
#include "sanitize_kit.h"

struct list {
    uint64_t *keys;
    int32_t *rows;
    size_t n;
};

/* About half of the rows, in few buckets, of which one is none: by key, then by row. */
static struct list list_of(size_t n, uint64_t buckets) {
    uint64_t *of_row = numbers(n);
    size_t chosen = 0;
    for (size_t row = 0; row < n; row++) {
        of_row[row] = below(2) ? below(buckets) : UINT64_MAX - 1;
        chosen += of_row[row] != UINT64_MAX - 1;
    }
    struct list made = {numbers(chosen), buffer(chosen * sizeof(int32_t)), 0};
    for (uint64_t key = 0; key < buckets; key++) {
        for (size_t row = 0; row < n; row++) {
            if (of_row[row] != key) continue;
            made.keys[made.n] = key + 1 == buckets ? MEETINGS_NO_KEY : key;
            made.rows[made.n++] = (int32_t)row;
        }
    }
    CHECK(made.n == chosen);
    free(of_row);
    return made;
}

static size_t bits_of(const uint64_t *a, const uint64_t *b, size_t words) {
    size_t bits = 0;
    for (size_t i = 0; i < 64 * words; i++) bits += (a[i / 64] ^ b[i / 64]) >> i % 64 & 1;
    return bits;
}

#define DIM 5

/* Points around one direction, each with a norm before its floats. */
static uint64_t *points_of(size_t n, size_t width) {
    uint64_t *points = numbers(n * width);
    memset(points, 0, n * width * sizeof *points);
    for (size_t i = 0; i < n; i++) {
        float *values = (float *)(points + i * width + 1);
        double norm = 0;
        for (size_t j = 0; j < DIM; j++) {
            values[j] = 1 + (float)below(100) / 100;
            norm += (double)values[j] * (double)values[j];
        }
        memcpy(points + i * width, &norm, sizeof norm);
    }
    return points;
}

static double cosine(const uint64_t *a, const uint64_t *b) {
    const float *x = (const float *)(a + 1), *y = (const float *)(b + 1);
    double xx = 0, yy = 0, xy = 0;
    for (size_t j = 0; j < DIM; j++) {
        xx += (double)x[j] * (double)x[j];
        yy += (double)y[j] * (double)y[j];
        xy += (double)x[j] * (double)y[j];
    }
    return xy / sqrt(xx * yy);
}

static void check(size_t n, size_t words, uint64_t buckets, int labelled) {
    const size_t width = 1 + (DIM + 1) / 2;
    uint64_t *points = points_of(n, width);
    int64_t *order = buffer(n * sizeof(int64_t));
    for (size_t i = 0; i < n; i++) order[i] = (int64_t)(n - 1 - i);
    struct list left = list_of(n, buckets), right = list_of(n, buckets);
    uint64_t *codes = numbers(n * words);
    int32_t *limits = buffer(n * sizeof(int32_t)), *labels = labelled ? buffer(n * sizeof(int32_t)) : NULL;
    for (size_t i = 0; i < n * words; i++) codes[i] = below(2) ? 0 : UINT64_C(1) << below(64);
    for (size_t i = 0; i < n; i++) limits[i] = (int32_t)below(n + 2) - 1;
    for (size_t i = 0; i < n && labelled; i++) labels[i] = labelled == 1 ? 7 : (int32_t)below(3);
    for EACH_LEVEL(level) {
        uint8_t *met = buffer(n * n + 1);
        memset(met, 0, n * n + 1);
        struct meetings state = {0};
        state.left = (struct meetings_list){left.keys, left.rows, left.n, 0, 0};
        state.right = (struct meetings_list){right.keys, right.rows, right.n, 0, 0};
        state.codes = codes, state.words = words, state.most = (int32_t)words;
        state.limits = limits, state.labels = labels, state.kernels = bits_levels[level];
        state.chunk = numbers(MEETINGS_CHUNK * words);
        state.unequal = buffer(MEETINGS_CHUNK * sizeof(int32_t));
        const float least = 0.97f;
        if (n % 2 || n > 2000) {
            state.points.words = points, state.points.order = order, state.points.width = width, state.points.dim = DIM;
            state.points.least = least, state.points.kernels = products_levels[level];
            state.points.panels = buffer(MEETINGS_CHUNK * DIM * sizeof(float));
            state.points.units = buffer(MEETINGS_BLOCK * DIM * sizeof(float));
            state.points.products = buffer(MEETINGS_BLOCK * MEETINGS_CHUNK * sizeof(float));
        }
        uint64_t *pairs = numbers(MEETINGS_CHUNK);
        size_t missed = 0;
        while (!state.done) {
            size_t made = meetings_find(&state, pairs, MEETINGS_CHUNK, 700);
            for (size_t i = 0; i < made; i++) met[(pairs[i] >> 32) * n + (uint32_t)pairs[i]]++;
        }
        for (size_t i = 0; i < right.n; i++) {
            for (size_t j = 0; j < left.n; j++) {
                size_t row = (size_t)right.rows[i], other = (size_t)left.rows[j];
                int paired = right.keys[i] == left.keys[j] && left.keys[j] != MEETINGS_NO_KEY &&
                             (int32_t)other < limits[row] && !(labels && labels[row] == labels[other]) &&
                             bits_of(codes + row * words, codes + other * words, words) <= words;
                int beyond = 0;
                if (state.points.words && paired && !met[row * n + other]) {
                    beyond = cosine(points + order[row] * (int64_t)width, points + order[other] * (int64_t)width) < (double)least + 1e-6;
                }
                missed += (size_t)beyond;
                CHECK(met[row * n + other] + beyond == paired);
            }
        }
        CHECK(missed == state.points.screened);
        free(state.points.panels), free(state.points.units), free(state.points.products);
        if (level == CPU_SCALAR) note_bytes(met, n * n);
        free(met), free(state.chunk), free(state.unequal), free(pairs);
    }
    free(left.keys), free(left.rows), free(right.keys), free(right.rows), free(codes), free(limits), free(labels);
    free(points), free(order);
}

int main(void) {
    static const size_t COUNTS[] = {0, 1, 2, 9, 64, 1025, 2100};
    for (size_t i = 0; i < COUNT(COUNTS); i++) {
        for (size_t words = 0; words <= 5; words++) {
            for (int labelled = 0; labelled < 3; labelled++) {
                if (COUNTS[i] > 100 && words > 1 && words != 5 - (size_t)labelled) continue;
                check(COUNTS[i], words, 2, labelled);
                if (COUNTS[i] < 100) check(COUNTS[i], words, 5, labelled);
            }
        }
    }
    return print_digest();
}
