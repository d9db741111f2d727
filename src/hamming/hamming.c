/* The portable kernels of Hamming search, the scan, distances of pairs, and equal codes and keys. */
#include "hamming/hamming.h"

#include "hamming/hamming_parts.h"

#include <string.h>

/* ---- kernels ---- */

static size_t near_words(const uint64_t *codes, size_t n, uint64_t query, unsigned radius, uint32_t *places) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        places[count] = (uint32_t)i;
        count += ones_of(codes[i] ^ query) <= radius;
    }
    return count;
}

static size_t near_codes(const uint64_t *codes, size_t n, size_t words, const uint64_t *query, unsigned radius,
                         uint32_t *places) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++, codes += words) {
        places[count] = (uint32_t)i;
        count += hamming_distance(codes, query, words) <= radius;
    }
    return count;
}

void hamming_select(const uint64_t *codes, size_t n, size_t words, const uint64_t *mask, uint32_t *values) {
    memset(values, 0, n * sizeof *values);
    unsigned at = 0;
    for (size_t w = 0; w < words; w++) {
        for (uint64_t rest = mask[w]; rest;) {
            unsigned from = lowest_bit(rest);
            uint64_t above = ~(rest >> from);
            unsigned length = above ? lowest_bit(above) : 64 - from; /* of a run of ones: one step takes all of it */
            uint64_t run = length < 64 ? ((uint64_t)1 << length) - 1 : UINT64_MAX;
            for (size_t i = 0; i < n; i++) values[i] |= (uint32_t)((codes[i * words + w] >> from & run) << at);
            at += length;
            rest &= ~(run << from);
        }
    }
}

const struct hamming_kernels hamming_scalar = {near_words, near_codes, hamming_select};

const struct hamming_kernels *const hamming_levels[CPU_LEVELS] =
    CPU_TABLE(&hamming_scalar, &hamming_avx2, &hamming_avx512, &hamming_neon);

/* ---- the k best ---- */

void hamming_offer(struct hamming_best *best, uint64_t hit) {
    uint64_t *heap = best->at;
    size_t i;
    if (best->count < best->k) {
        for (i = best->count++; i && heap[(i - 1) / 2] < hit; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    } else {
        if (hit >= heap[0]) return;
        for (i = 0;;) {
            size_t child = 2 * i + 1;
            if (child >= best->count) break;
            child += child + 1 < best->count && heap[child] < heap[child + 1];
            if (heap[child] <= hit) break;
            heap[i] = heap[child];
            i = child;
        }
    }
    heap[i] = hit;
}

/* ---- scan ---- */

int hamming_scan_within(const struct hamming_kernels *kernels, const uint64_t *codes, size_t n, size_t words,
                        const uint64_t *queries, size_t m, unsigned radius, const uint8_t *live, uint64_t first_row,
                        uint64_t first_query, size_t *done, struct hamming_hits *hits) {
    uint32_t places[HAMMING_PIECE];
    if (!m) return 1;
    for (; *done / m * HAMMING_PIECE < n; ++*done) {
        const size_t start = *done / m * HAMMING_PIECE, j = *done % m;
        const size_t size = n - start < HAMMING_PIECE ? n - start : HAMMING_PIECE;
        const uint64_t *piece = codes + start * words, *query = queries + j * words;
        size_t count = hamming_near(kernels, piece, size, words, query, radius, places);
        if (hits->room - hits->count < count) return 0;
        for (size_t p = 0; p < count; p++) {
            if (live && !live[start + places[p]]) continue;
            unsigned distance = hamming_distance(piece + places[p] * words, query, words);
            hits->at[hits->count++] = hamming_hit(first_query + j, distance, first_row + start + places[p]);
        }
    }
    return 1;
}

/* One piece for one query. Rows ascend, so a row as far as the last of k best does not replace it. */
static void scan_piece(const struct hamming_kernels *kernels, const uint64_t *codes, size_t n, size_t words,
                       const uint64_t *query, const uint8_t *live, uint64_t first_row, struct hamming_best *best) {
    uint32_t places[HAMMING_PIECE];
    unsigned reach = hamming_reach(best, words);
    if (best->count == best->k && reach-- == 0) return;
    size_t count = hamming_near(kernels, codes, n, words, query, reach, places);
    for (size_t p = 0; p < count; p++) {
        if (live && !live[places[p]]) continue;
        hamming_offer(best, hamming_hit(0, hamming_distance(codes + places[p] * words, query, words),
                                        first_row + places[p]));
    }
}

void hamming_scan_nearest(const struct hamming_kernels *kernels, const uint64_t *codes, size_t n, size_t words,
                          const uint64_t *queries, size_t m, const uint8_t *live, uint64_t first_row,
                          struct hamming_best *best) {
    /* The first pieces are short: after each, fewer codes are close enough. */
    for (size_t start = 0, size = 64; start < n; start += size) {
        if (start >= 2 * size && size < HAMMING_PIECE) size *= 2;
        size_t some = n - start < size ? n - start : size;
        for (size_t j = 0; j < m; j++) {
            scan_piece(kernels, codes + start * words, some, words, queries + j * words, live ? live + start : NULL,
                       first_row + start, best + j);
        }
    }
}

void hamming_distances(const uint64_t *codes, size_t words, const uint64_t *pairs, size_t n, uint16_t *distances) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t *a = codes + (pairs[i] >> 32) * words, *b = codes + (uint32_t)pairs[i] * words;
        distances[i] = (uint16_t)hamming_distance(a, b, words);
    }
}

/* ---- equal codes ---- */

static uint64_t place_of_code(const uint64_t *code, size_t words, uint64_t secret) {
    uint64_t hash = secret;
    for (size_t w = 0; w < words; w++) hash = mix64(hash ^ code[w]) + secret;
    return mix64(hash);
}

void hamming_copies(const uint64_t *codes, size_t words, uint64_t secret, uint32_t *table, size_t mask, size_t low,
                    size_t high, uint32_t *first) {
    size_t places[HAMMING_TILE];
    for (size_t start = low; start < high; start += HAMMING_TILE) {
        size_t size = high - start < HAMMING_TILE ? high - start : HAMMING_TILE;
        for (size_t t = 0; t < size; t++) {
            places[t] = place_of_code(codes + (start + t) * words, words, secret) & mask;
            prefetch(table + places[t]);
        }
        for (size_t t = 0; t < size; t++) {
            const size_t row = start + t;
            size_t place = places[t];
            while (table[place] != HAMMING_NO_ROW &&
                   memcmp(codes + table[place] * words, codes + row * words, words * sizeof *codes) != 0) {
                place = (place + 1) & mask;
            }
            if (table[place] == HAMMING_NO_ROW) table[place] = (uint32_t)row;
            first[row] = table[place];
        }
    }
}

/* ---- integer keys ---- */

static size_t place_of_key(const struct hamming_keys *table, int64_t key) {
    return (size_t)(mix64(mix64((uint64_t)key ^ table->secret) + table->secret) & table->mask);
}

void hamming_find_keys(const struct hamming_keys *table, const int64_t *keys, size_t n, int64_t *rows) {
    size_t places[HAMMING_TILE];
    for (size_t start = 0; start < n; start += HAMMING_TILE) {
        size_t size = n - start < HAMMING_TILE ? n - start : HAMMING_TILE;
        for (size_t t = 0; t < size; t++) {
            places[t] = place_of_key(table, keys[start + t]);
            prefetch(table->table + places[t]);
        }
        for (size_t t = 0; t < size; t++) {
            size_t place = places[t];
            uint32_t row;
            while ((row = table->table[place]) != HAMMING_NO_ROW && table->keys[row] != keys[start + t]) {
                place = (place + 1) & table->mask;
            }
            rows[start + t] = row == HAMMING_NO_ROW ? -1 : (int64_t)row;
        }
    }
}

size_t hamming_add_keys(const struct hamming_keys *table, const uint32_t *rows, size_t n) {
    size_t places[HAMMING_TILE];
    for (size_t start = 0; start < n; start += HAMMING_TILE) {
        size_t size = n - start < HAMMING_TILE ? n - start : HAMMING_TILE;
        for (size_t t = 0; t < size; t++) {
            places[t] = place_of_key(table, table->keys[rows[start + t]]);
            prefetch(table->table + places[t]);
        }
        for (size_t t = 0; t < size; t++) {
            const int64_t key = table->keys[rows[start + t]];
            size_t place = places[t];
            while (table->table[place] != HAMMING_NO_ROW) {
                if (table->keys[table->table[place]] == key) return start + t;
                place = (place + 1) & table->mask;
            }
            table->table[place] = rows[start + t];
        }
    }
    return n;
}

void hamming_drop_keys(const struct hamming_keys *table, const uint32_t *rows, size_t n) {
    uint32_t *at = table->table;
    for (size_t i = 0; i < n; i++) {
        size_t hole = place_of_key(table, table->keys[rows[i]]);
        while (at[hole] != rows[i]) {
            if (at[hole] == HAMMING_NO_ROW) break;
            hole = (hole + 1) & table->mask;
        }
        if (at[hole] == HAMMING_NO_ROW) continue;
        /* Move rows back into the hole whose own place is not after it, so that no search ends too early. */
        for (size_t next = (hole + 1) & table->mask; at[next] != HAMMING_NO_ROW; next = (next + 1) & table->mask) {
            size_t own = place_of_key(table, table->keys[at[next]]);
            if (((next - own) & table->mask) >= ((next - hole) & table->mask)) {
                at[hole] = at[next];
                hole = next;
            }
        }
        at[hole] = HAMMING_NO_ROW;
    }
}
