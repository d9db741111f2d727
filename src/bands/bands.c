/* Candidate generation by sorting: a radix sort of (key, row) a band costs some ten nanoseconds a row, where a hash
 * table costs hundreds, and its buckets come out as runs. */
#include "bands/bands.h"

#include <string.h>

#define BANDS_TOGETHER 4 /* a key is a chain of products that wait for each other, so several are under way at once */
#define SPAN_BANDS 16

void bands_keys_scalar(const uint64_t *slots, const uint64_t *starts, size_t count, size_t rows, uint64_t *out) {
    size_t band = 0;
    for (; band + BANDS_TOGETHER <= count; band += BANDS_TOGETHER) {
        const uint64_t *slot = slots + band * rows;
        uint64_t a = starts[band], b = starts[band + 1], c = starts[band + 2], d = starts[band + 3];
        for (size_t row = 0; row < rows; row++, slot++) {
            a = mix64(a ^ slot[0]);
            b = mix64(b ^ slot[rows]);
            c = mix64(c ^ slot[2 * rows]);
            d = mix64(d ^ slot[3 * rows]);
        }
        out[band] = a, out[band + 1] = b, out[band + 2] = c, out[band + 3] = d;
    }
    for (; band < count; band++) {
        out[band] = starts[band];
        for (size_t row = 0; row < rows; row++) out[band] = mix64(out[band] ^ slots[band * rows + row]);
    }
    for (band = 0; band < count; band++) out[band] -= out[band] == EMPTY_SLOT;
}

band_key_kernel *const bands_levels[CPU_LEVELS] =
    CPU_TABLE(bands_keys_scalar, bands_keys_scalar, bands_keys_avx512, bands_keys_scalar);

void bands_starts(size_t first, size_t count, uint64_t *starts) {
    for (size_t i = 0; i < count; i++) starts[i] = draw(0, DOMAIN_BAND, first + i);
}

void bands_keys(band_key_kernel *kernel, const uint64_t *signatures, size_t n, size_t k, size_t bands, size_t rows,
                uint64_t *out) {
    uint64_t starts[SPAN_BANDS];
    for (size_t first = 0; first < bands; first += SPAN_BANDS) {
        size_t count = bands - first < SPAN_BANDS ? bands - first : SPAN_BANDS;
        bands_starts(first, count, starts);
        for (size_t i = 0; i < n; i++) {
            const uint64_t *signature = signatures + i * k;
            uint64_t *keys = out + i * bands + first;
            if (signature[0] == EMPTY_SLOT) memset(keys, 0xFF, count * sizeof *keys);
            else kernel(signature + first * rows, starts, count, rows, keys);
        }
    }
}

void bands_keys_apart(band_key_kernel *kernel, const uint64_t *signatures, size_t n, size_t k, size_t bands,
                      uint64_t *out) {
    uint64_t starts[SPAN_BANDS];
    for (size_t first = 0; first < bands; first += SPAN_BANDS) {
        size_t count = bands - first < SPAN_BANDS ? bands - first : SPAN_BANDS;
        bands_starts(first, count, starts);
        for (size_t i = 0; i < n; i++) {
            const uint64_t *slots = signatures + i * k + first;
            uint64_t *keys = out + i * bands + first;
            kernel(slots, starts, count, 1, keys);
            for (size_t band = 0; band < count; band++) {
                if (slots[band] == EMPTY_SLOT) keys[band] = EMPTY_SLOT;
            }
        }
    }
}

size_t bands_records(const uint64_t *keys, size_t bands, size_t band, const int64_t *members, size_t count,
                     uint64_t *out) {
    size_t made = 0;
    for (size_t m = 0; m < count; m++) {
        uint64_t key = keys[(size_t)members[m] * bands + band];
        out[made] = (mix64(key) >> 32 << 32) | m; /* mixed: keys may come from elsewhere and be small numbers */
        made += key != EMPTY_SLOT;
    }
    return made;
}

/* ---- sorting ---- */

#define PASSES 3 /* 33 bits, of which 32 count */
#define FEW_RECORDS 64

static void sort_few(uint64_t *records, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint64_t record = records[i];
        size_t j = i;
        for (; j > 0 && records[j - 1] > record; j--) records[j] = records[j - 1];
        records[j] = record;
    }
}

static inline size_t digit(uint64_t record, unsigned pass) {
    return record >> 32 >> BANDS_DIGIT_BITS * pass & (BANDS_DIGIT_VALUES - 1);
}

/* Bring n <= 2^32 records into the stable order of one digit; 0, and nothing is written, where all have the same one. The
 * places are below n, so numbers mod 2^32 do for them, and half the stack: threads may have little. */
static int sort_by_digit(const uint64_t *from, size_t n, unsigned pass, uint64_t *to) {
    uint32_t starts[BANDS_DIGIT_VALUES] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++) starts[digit(from[i], pass)]++;
    if (starts[digit(from[0], pass)] == (uint32_t)n) return 0;
    for (size_t d = 0; d < BANDS_DIGIT_VALUES; d++) {
        uint32_t count = starts[d];
        starts[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) to[starts[digit(from[i], pass)]++] = from[i];
    return 1;
}

void bands_sort_records(uint64_t *records, size_t n, uint64_t *scratch) {
    uint64_t *from = records, *to = scratch;
    if (n <= FEW_RECORDS) {
        sort_few(records, n);
        return;
    }
    for (unsigned pass = 0; pass < PASSES; pass++) {
        if (!sort_by_digit(from, n, pass, to)) continue;
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != records) memcpy(records, from, n * sizeof *records);
}

void bands_count_digits(const uint64_t *keys, size_t n, unsigned shift, size_t *counts) {
    for (size_t i = 0; i < n; i++) counts[keys[i] >> shift & (BANDS_DIGIT_VALUES - 1)]++;
}

void bands_starts_of_digits(size_t *counts) {
    size_t sum = 0;
    for (size_t d = 0; d < BANDS_DIGIT_VALUES; d++) {
        size_t count = counts[d];
        counts[d] = sum;
        sum += count;
    }
}

void bands_move_by_digit(const uint64_t *keys, const int64_t *places, size_t n, unsigned shift, size_t *starts,
                         uint64_t *to, int64_t *places_to) {
    if (!places) {
        for (size_t i = 0; i < n; i++) to[starts[keys[i] >> shift & (BANDS_DIGIT_VALUES - 1)]++] = keys[i];
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = starts[keys[i] >> shift & (BANDS_DIGIT_VALUES - 1)]++;
        to[at] = keys[i];
        places_to[at] = places[i];
    }
}

/* ---- buckets ---- */

struct band_keys_of {
    const int64_t *members;
    const uint64_t *keys;
    size_t bands, band;
};

static inline uint64_t key_of(const struct band_keys_of *of, uint64_t record) {
    return of->keys[(size_t)of->members[(uint32_t)record] * of->bands + of->band];
}

static inline int comes_before(const struct band_keys_of *of, uint64_t a, uint64_t b) {
    uint64_t key_a = key_of(of, a), key_b = key_of(of, b);
    return key_a < key_b || (key_a == key_b && a < b);
}

/* Sort the records of one half key by their whole keys: a heap, since whoever writes the texts can make halves clash. */
static void sort_by_keys(const struct band_keys_of *of, uint64_t *records, size_t n) {
    for (size_t start = n / 2, end = n; end > 1;) {
        uint64_t record;
        if (start > 0) {
            record = records[--start];
        } else {
            record = records[--end];
            records[end] = records[0];
        }
        size_t parent = start;
        for (size_t child; (child = 2 * parent + 1) < end; parent = child) {
            if (child + 1 < end && comes_before(of, records[child], records[child + 1])) child++;
            if (!comes_before(of, record, records[child])) break;
            records[parent] = records[child];
        }
        records[parent] = record;
    }
}

size_t bands_number_buckets(uint64_t *records, size_t n, const int64_t *members, const uint64_t *keys, size_t bands,
                            size_t band, int32_t *numbers) {
    const struct band_keys_of of = {members, keys, bands, band};
    int32_t made = 0;
    for (size_t start = 0, stop; start < n; start = stop) {
        int clash = 0;
        for (stop = start + 1; stop < n && records[stop] >> 32 == records[start] >> 32; stop++) {
            clash |= key_of(&of, records[stop]) != key_of(&of, records[start]);
        }
        if (clash) sort_by_keys(&of, records + start, stop - start);
        for (size_t first = start, last; first < stop; first = last) {
            for (last = first + 1; last < stop; last++) {
                if (clash && key_of(&of, records[last]) != key_of(&of, records[first])) break;
            }
            if (last - first < 2) continue;
            for (size_t i = first; i < last; i++) numbers[(uint32_t)records[i] * bands + band] = made;
            made++;
        }
    }
    return (size_t)made;
}

/* ---- pairs ---- */

/* 1 if two rows share the key of this band and none before it. */
static inline int meet_first(const uint64_t *a, const uint64_t *b, size_t band) {
    for (size_t earlier = 0; earlier < band; earlier++) {
        if (a[earlier] == b[earlier] && a[earlier] != EMPTY_SLOT) return 0;
    }
    return a[band] == b[band];
}

size_t bands_bucket_pairs(const uint64_t *records, size_t n, const int64_t *members, const uint64_t *keys, size_t bands,
                          size_t band, struct bucket_walk *walk, int64_t *left, int64_t *right, size_t capacity,
                          size_t work) {
    size_t made = 0;
    for (;;) {
        for (; walk->i < walk->last; walk->i++, walk->j = walk->i + 1) {
            int64_t row = members[(uint32_t)records[walk->i]];
            size_t some = walk->last - walk->j < work ? walk->last - walk->j : work, stop = walk->j + some;
            for (; walk->j < stop; walk->j++) {
                if (made == capacity) return made;
                int64_t other = members[(uint32_t)records[walk->j]];
                left[made] = row;
                right[made] = other;
                made += (size_t)meet_first(keys + (size_t)row * bands, keys + (size_t)other * bands, band);
            }
            if (some == work) return made;
            work -= some;
        }
        walk->done = walk->last == n;
        if (walk->done) return made;
        walk->i = walk->last;
        walk->j = walk->i + 1;
        do walk->last++;
        while (walk->last < n && records[walk->last] >> 32 == records[walk->i] >> 32);
        if (--work == 0) return made;
    }
}
