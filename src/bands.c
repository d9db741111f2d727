/* Candidate generation by sorting: a radix sort of (key, row) per band costs some tens of nanoseconds a row, where a
 * hash table costs hundreds, and its buckets come out as runs. */
#include "bands.h"

#include <string.h>

void band_keys(const uint64_t *signatures, size_t n, size_t k, size_t bands, size_t rows, uint64_t *out) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t *slot = signatures + i * k;
        if (slot[0] == EMPTY_SLOT) {
            memset(out + i * bands, 0xFF, bands * sizeof *out);
            continue;
        }
        for (size_t band = 0; band < bands; band++) {
            uint64_t key = draw(0, DOMAIN_BAND, band);
            for (size_t row = 0; row < rows; row++) key = mix64(key ^ *slot++);
            out[i * bands + band] = key - (key == EMPTY_SLOT);
        }
    }
}

size_t band_records(const uint64_t *keys, size_t bands, size_t band, const int64_t *members, size_t count,
                    struct record *out) {
    size_t made = 0;
    for (size_t m = 0; m < count; m++) {
        struct record record = {keys[(size_t)members[m] * bands + band], members[m]};
        out[made] = record;
        made += record.key != EMPTY_SLOT;
    }
    return made;
}

/* ---- sorting ---- */

#define DIGIT 11
#define PASSES 6 /* 66 bits */
#define BUCKETS (1 << DIGIT)
#define FEW 64

static void sort_few(struct record *records, size_t n) {
    for (size_t i = 1; i < n; i++) {
        struct record record = records[i];
        size_t j = i;
        for (; j > 0 && records[j - 1].key > record.key; j--) records[j] = records[j - 1];
        records[j] = record;
    }
}

static inline size_t digit(uint64_t key, unsigned pass) { return key >> (DIGIT * pass) & (BUCKETS - 1); }

void sort_records(struct record *records, size_t n, struct record *scratch) {
    size_t starts[BUCKETS]; /* of one pass: threads may have small stacks */
    if (n <= FEW) {
        sort_few(records, n);
        return;
    }
    struct record *from = records, *to = scratch;
    for (unsigned pass = 0; pass < PASSES; pass++) {
        size_t sum = 0;
        memset(starts, 0, sizeof starts);
        for (size_t i = 0; i < n; i++) starts[digit(from[i].key, pass)]++;
        if (starts[digit(from[0].key, pass)] == n) continue; /* one digit: nothing to do */
        for (size_t d = 0; d < BUCKETS; d++) {
            size_t count = starts[d];
            starts[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) to[starts[digit(from[i].key, pass)]++] = from[i];
        struct record *swap = from;
        from = to;
        to = swap;
    }
    if (from != records) memcpy(records, from, n * sizeof *records);
}

/* ---- pairs ---- */

static inline int met_before(const uint64_t *a, const uint64_t *b, size_t band) {
    for (size_t earlier = 0; earlier < band; earlier++) {
        if (a[earlier] == b[earlier] && a[earlier] != EMPTY_SLOT) return 1;
    }
    return 0;
}

size_t bucket_pairs(const struct record *records, size_t n, const uint64_t *keys, size_t bands, size_t band,
                    struct bucket_walk *walk, int64_t *left, int64_t *right, size_t capacity) {
    size_t made = 0;
    for (;;) {
        for (; walk->i < walk->last; walk->i++, walk->j = walk->i + 1) {
            const uint64_t *a = keys + (size_t)records[walk->i].row * bands;
            for (; walk->j < walk->last; walk->j++) {
                if (made == capacity) return made;
                left[made] = records[walk->i].row;
                right[made] = records[walk->j].row;
                made += !met_before(a, keys + (size_t)records[walk->j].row * bands, band);
            }
        }
        if (walk->last == n) return made;
        walk->first = walk->i = walk->last;
        walk->j = walk->i + 1;
        do walk->last++;
        while (walk->last < n && records[walk->last].key == records[walk->first].key);
    }
}
