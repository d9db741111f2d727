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

void hamming_transpose(const uint64_t *codes, const uint32_t *order, size_t words, uint64_t *columns) {
    for (size_t t = 0; t < HAMMING_GROUP; t++) {
        const uint64_t *row = hamming_row(codes, order, words, t);
        for (size_t w = 0; w < words; w++) columns[w * HAMMING_GROUP + t] = row[w];
    }
}

static size_t near_columns(const uint64_t *columns, size_t n, size_t words, const uint64_t *query, unsigned radius,
                           uint64_t *found) {
    size_t count = 0;
    for (size_t start = 0; start < n; start += HAMMING_GROUP, columns += HAMMING_GROUP * words) {
        const size_t size = n - start < HAMMING_GROUP ? n - start : HAMMING_GROUP;
        for (size_t t = 0; t < size; t++) {
            uint64_t sum = 0;
            for (size_t w = 0; w < words; w++) sum += ones_of(columns[w * HAMMING_GROUP + t] ^ query[w]);
            found[count] = sum << 32 | (start + t);
            count += sum <= radius;
        }
    }
    return count;
}

static void differences(const uint64_t *codes, const uint64_t *found, size_t n, size_t words, const uint64_t *query,
                        uint32_t *distances) {
    for (size_t p = 0; p < n; p++) {
        if (p + HAMMING_AHEAD < n) prefetch(codes + (uint32_t)found[p + HAMMING_AHEAD] * words);
        distances[p] = hamming_distance(codes + (uint32_t)found[p] * words, query, words);
    }
}

void hamming_ones(const uint64_t *codes, size_t n, size_t words, uint16_t *counts) {
    for (size_t i = 0; i < n; i++, codes += words) {
        uint64_t sum = 0;
        for (size_t w = 0; w < words; w++) sum += ones_of(codes[w]);
        counts[i] = (uint16_t)sum;
    }
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

const struct hamming_kernels hamming_scalar = {near_words,  hamming_transpose, near_columns,
                                               differences, hamming_ones,      hamming_select};

const struct hamming_kernels *const hamming_levels[CPU_LEVELS] =
    CPU_TABLE(&hamming_scalar, &hamming_avx2, &hamming_avx512, &hamming_neon);

/* ---- scan ---- */

void hamming_load(const struct hamming_scan *scan, size_t start, size_t size) {
    const size_t end = start + size, words = scan->words;
    uint64_t *columns = scan->scratch;
    uint32_t rest[HAMMING_GROUP];
    if (words > 1) {
        for (size_t at = start; at < end; at += HAMMING_GROUP, columns += HAMMING_GROUP * words) {
            const uint64_t *codes = scan->order ? scan->codes : scan->codes + at * words;
            const uint32_t *order = scan->order ? scan->order + at : NULL;
            if (end - at < HAMMING_GROUP) { /* the rows that are left over do not count */
                for (size_t t = 0; t < HAMMING_GROUP; t++) {
                    const size_t row = t < end - at ? t : 0;
                    rest[t] = order ? order[row] : (uint32_t)row;
                }
                order = rest;
            }
            for (size_t t = 0; scan->order && t < HAMMING_GROUP; t++) {
                for (size_t w = 0; w < words; w += 8) prefetch(scan->codes + order[t] * words + w);
            }
            scan->kernels->transpose(codes, order, words, columns);
        }
    } else if (scan->order) {
        for (size_t t = 0; t < size; t++) columns[t] = scan->codes[scan->order[start + t]];
    }
}

size_t hamming_near(const struct hamming_scan *scan, size_t start, size_t size, const uint64_t *query, unsigned radius,
                    uint64_t *found) {
    uint32_t places[HAMMING_PIECE];
    if (scan->words > 1) {
        return scan->kernels->near_columns(scan->scratch, size, scan->words, query, radius, found);
    }
    const uint64_t *codes = scan->order ? scan->scratch : scan->codes + start;
    size_t count = scan->kernels->near_words(codes, size, *query, radius, places);
    for (size_t p = 0; p < count; p++) found[p] = ones_of(codes[places[p]] ^ *query) << 32 | places[p];
    return count;
}

int hamming_scan_within(const struct hamming_scan *scan, const uint64_t *queries, size_t m, unsigned radius,
                        uint64_t first_query, size_t *done, struct hamming_hits *hits) {
    const size_t piece = hamming_piece(scan->words);
    if (!m) return 1;
    for (size_t loaded = scan->n; *done / m * piece < scan->n; ++*done) {
        const size_t start = *done / m * piece, j = *done % m;
        const size_t size = scan->n - start < piece ? scan->n - start : piece;
        if (hits->room - hits->count < size) return 0;
        if (loaded != start) hamming_load(scan, loaded = start, size);
        uint64_t *found = hits->at + hits->count;
        size_t count = hamming_near(scan, start, size, queries + j * scan->words, radius, found);
        for (size_t p = 0; p < count; p++) {
            const size_t code = hamming_code_at(scan, start + (uint32_t)found[p]);
            if (scan->live && !scan->live[code]) continue;
            hits->at[hits->count++] = hamming_hit(first_query + j, (unsigned)(found[p] >> 32), scan->first_row + code);
        }
    }
    return 1;
}

/* One piece for one query. Rows ascend, so a row as far as the last of the k best does not replace it. */
static void scan_piece(const struct hamming_scan *scan, size_t start, size_t size, const uint64_t *query,
                       struct hamming_best *best) {
    uint64_t *found = scan->scratch + HAMMING_COLUMNS;
    unsigned reach = hamming_reach(best, 64 * scan->words);
    if (best->bound != UINT64_MAX && reach-- == 0) return;
    size_t count = hamming_near(scan, start, size, query, reach, found);
    for (size_t p = 0; p < count; p++) {
        const size_t code = start + (uint32_t)found[p];
        if (scan->live && !scan->live[code]) continue;
        hamming_offer(best, hamming_hit(0, (unsigned)(found[p] >> 32), scan->first_row + code));
    }
    hamming_tighten(best);
}

void hamming_scan_nearest(const struct hamming_scan *scan, const uint64_t *queries, size_t m,
                          struct hamming_best *best) {
    const size_t piece = hamming_piece(scan->words);
    /* The first pieces are short: after each, fewer codes are close enough. */
    for (size_t start = 0, size = 64 < piece ? 64 : piece; start < scan->n; start += size) {
        if (start >= 2 * size) size = 2 * size < piece ? 2 * size : piece;
        const size_t some = scan->n - start < size ? scan->n - start : size;
        hamming_load(scan, start, some);
        for (size_t j = 0; j < m; j++) scan_piece(scan, start, some, queries + j * scan->words, best + j);
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

size_t hamming_drop_keys(const struct hamming_keys *table, const uint32_t *rows, size_t n) {
    uint32_t *at = table->table;
    size_t dropped = 0;
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
        dropped++;
    }
    return dropped;
}
