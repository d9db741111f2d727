/* Perfect hashing with two levels: counting, grouping by bucket, cells, and lookups a block at a time.
 *
 * The passes over the keys go to random places of the directory. Each hashes a block of keys and asks for their memory
 * before it uses it, so that the reads of a block overlap. */
#include "hashing/hashing.h"

#include <string.h>

enum { BLOCK = 64 };

#define START_BITS 40
#define START_MASK (((uint64_t)1 << START_BITS) - 1)
#define FUNCTION_SHIFT 56

void hashing_count(const uint64_t *keys, size_t count, size_t n, const struct hashing_line *first,
                   uint64_t *directory) {
    uint64_t places[BLOCK];
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t block = count - start < BLOCK ? count - start : BLOCK;
        for (size_t i = 0; i < block; i++) {
            places[i] = hashing_bucket(hashing_on_line(first, mix64(keys[start + i])), n);
            prefetch(directory + places[i]);
        }
        for (size_t i = 0; i < block; i++) directory[places[i]]++;
    }
}

int hashing_measure(const uint64_t *directory, size_t n, uint64_t *squares, uint64_t *cells) {
    for (size_t i = 0; i < n; i++) {
        uint64_t b = directory[i];
        if (b > HASHING_MOST_IN_BUCKET) return 0;
        *squares += b * b;
        if (b) *cells += hashing_cells(b);
    }
    return 1;
}

void hashing_begin(uint64_t *directory, size_t n, uint64_t *before) {
    for (size_t i = 0; i < n; i++) {
        uint64_t b = directory[i];
        directory[i] = *before;
        *before += b;
    }
}

void hashing_group(const uint64_t *keys, const uint64_t *values, size_t count, size_t n,
                   const struct hashing_line *first, uint64_t *directory, uint64_t *grouped) {
    uint64_t places[BLOCK];
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t block = count - start < BLOCK ? count - start : BLOCK;
        for (size_t i = 0; i < block; i++) {
            places[i] = hashing_bucket(hashing_on_line(first, mix64(keys[start + i])), n);
            prefetch(directory + places[i]);
        }
        for (size_t i = 0; i < block; i++) {
            places[i] = directory[places[i]]++;
            prefetch(grouped + 2 * places[i]);
        }
        for (size_t i = 0; i < block; i++) {
            grouped[2 * places[i]] = keys[start + i];
            grouped[2 * places[i] + 1] = values[start + i];
        }
    }
}

/* Cells are empty while they hold the first key of the bucket: it is placed last. Returns 0 at a collision. */
static int try_function(const uint64_t *pairs, uint64_t b, const struct hashing_line *function, uint64_t *cells) {
    uint64_t number = hashing_cells(b), first = pairs[0];
    for (uint64_t i = 0; i < number; i++) {
        cells[2 * i] = first;
        cells[2 * i + 1] = 0;
    }
    for (uint64_t i = b; i-- > 0;) {
        uint64_t *cell = cells + 2 * hashing_bucket(hashing_on_line(function, mix64(pairs[2 * i])), number);
        if (cell[0] != first) return 0;
        cell[0] = pairs[2 * i];
        cell[1] = pairs[2 * i + 1];
    }
    return 1;
}

static int has_equal_keys(const uint64_t *pairs, uint64_t b) {
    for (uint64_t i = 1; i < b; i++) {
        for (uint64_t j = 0; j < i; j++) {
            if (pairs[2 * i] == pairs[2 * j]) return 1;
        }
    }
    return 0;
}

int hashing_place(const uint64_t *grouped, const struct hashing_line *second, size_t stop, size_t *bucket, size_t *pair,
                  size_t *cell, uint64_t *directory, uint64_t *cells, uint64_t *draws) {
    for (; *bucket < stop; ++*bucket) {
        const uint64_t *pairs = grouped + 2 * *pair;
        uint64_t b = directory[*bucket] - *pair, function = 0;
        if (b == 0) {
            directory[*bucket] = 0; /* cell 0, whose key belongs to another bucket */
            continue;
        }
        if (b == 1) {
            memcpy(cells + 2 * *cell, pairs, 2 * sizeof *pairs);
        } else {
            if (has_equal_keys(pairs, b)) return 1;
            while (!try_function(pairs, b, &second[function], cells + 2 * *cell)) {
                if (++function == HASHING_SECOND_DRAWS) return 2;
            }
            draws[function]++;
        }
        directory[*bucket] = *cell | b << START_BITS | function << FUNCTION_SHIFT;
        *pair += b;
        *cell += hashing_cells(b);
    }
    return 0;
}

void hashing_look_up(const uint64_t *keys, size_t length, const struct hashing_line *first,
                     const struct hashing_line *second, const uint64_t *directory, size_t n, const uint64_t *cells,
                     size_t count, uint64_t *values, uint8_t *found) {
    uint64_t places[BLOCK], points[BLOCK];
    for (size_t start = 0; start < length; start += BLOCK) {
        size_t block = length - start < BLOCK ? length - start : BLOCK;
        for (size_t i = 0; i < block; i++) {
            points[i] = mix64(keys[start + i]);
            places[i] = hashing_bucket(hashing_on_line(first, points[i]), n);
            prefetch(directory + places[i]);
        }
        for (size_t i = 0; i < block; i++) {
            uint64_t entry = directory[places[i]], b = entry >> START_BITS & HASHING_MOST_IN_BUCKET;
            uint64_t h = hashing_on_line(&second[entry >> FUNCTION_SHIFT], points[i]);
            uint64_t cell = (entry & START_MASK) + hashing_bucket(h, hashing_cells(b));
            places[i] = cell < count ? cell : 0;
            prefetch(cells + 2 * places[i]);
        }
        for (size_t i = 0; i < block; i++) {
            const uint64_t *cell = cells + 2 * places[i];
            uint8_t same = cell[0] == keys[start + i];
            found[start + i] = same;
            if (same) values[start + i] = cell[1];
        }
    }
}
