/* Hamming search (hamming.h) on random and edge inputs, code by code another way and on every CPU level, in heap buffers
 * of exactly the size that the contract states, so that the address sanitizer sees each byte read or written beside them.
 * Prints a digest of all results, which no compiler may change. */
#include "hamming/hamming.h"
#include "sanitize_kit.h"

/* Codes some of which are within a few bits of each other; few of them differ in the first bits. */
static uint64_t *codes_of(size_t n, size_t words) {
    uint64_t *codes = numbers(n * words);
    for (size_t i = 0; i < n; i++) {
        for (size_t w = 0; w < words; w++) codes[i * words + w] = edge_or_random();
        if (i && below(3)) memcpy(codes + i * words, codes + below(i) * words, words * sizeof *codes);
        for (size_t flips = below(4); flips; flips--) {
            size_t word = below(words);
            codes[i * words + word] ^= (uint64_t)1 << below(64);
        }
    }
    return codes;
}

static unsigned distance_of(const uint64_t *a, const uint64_t *b, size_t words) {
    unsigned sum = 0;
    for (size_t i = 0; i < 64 * words; i++) sum += ((a[i / 64] ^ b[i / 64]) >> i % 64 & 1) != 0;
    return sum;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort(uint64_t *values, size_t n) {
    if (n) qsort(values, n, sizeof *values, by_value);
}

/* ---- kernels ---- */

static void check_near(size_t n, size_t words) {
    uint64_t *codes = codes_of(n, words), *query = codes_of(1, words);
    const unsigned radii[] = {0, 1, (unsigned)(32 * words), (unsigned)(64 * words - 1), (unsigned)(64 * words)};
    const size_t groups = (n + HAMMING_GROUP - 1) / HAMMING_GROUP;
    uint64_t *wanted_columns = numbers(groups * HAMMING_GROUP * words);
    uint16_t *ones = buffer(n * sizeof *ones), *wanted_ones = buffer(n * sizeof *ones);
    uint32_t *order = buffer(groups * HAMMING_GROUP * sizeof *order);
    for (size_t i = 0; i < n; i++) {
        unsigned sum = 0;
        for (size_t bit = 0; bit < 64 * words; bit++) sum += (unsigned)(codes[i * words + bit / 64] >> bit % 64 & 1);
        wanted_ones[i] = (uint16_t)sum;
    }
    for (size_t i = 0; i < groups * HAMMING_GROUP; i++) {
        const uint64_t *code = codes + (order[i] = i < n ? (uint32_t)(n - 1 - i) : 0) * words;
        uint64_t *group = wanted_columns + i / HAMMING_GROUP * HAMMING_GROUP * words;
        for (size_t w = 0; w < words; w++) group[w * HAMMING_GROUP + i % HAMMING_GROUP] = code[w];
    }
    for EACH_LEVEL(level) {
        uint64_t *columns = numbers(groups * HAMMING_GROUP * words);
        for (size_t g = 0; g < groups; g++) {
            uint64_t *group = columns + g * HAMMING_GROUP * words;
            hamming_levels[level]->transpose(codes, order + g * HAMMING_GROUP, words, group);
        }
        CHECK(same_bytes(columns, wanted_columns, groups * HAMMING_GROUP * words * sizeof *columns));
        if (n % HAMMING_GROUP == 0) {
            for (size_t g = 0; g < groups; g++) {
                uint64_t *group = columns + g * HAMMING_GROUP * words;
                hamming_levels[level]->transpose(codes + g * HAMMING_GROUP * words, NULL, words, group);
            }
            for (size_t i = 0; i < n; i++) {
                const uint64_t *at = columns + i / HAMMING_GROUP * HAMMING_GROUP * words + i % HAMMING_GROUP;
                for (size_t w = 0; w < words; w++) CHECK(at[w * HAMMING_GROUP] == codes[i * words + w]);
            }
        }
        hamming_levels[level]->ones(codes, n, words, ones);
        CHECK(same_bytes(ones, wanted_ones, n * sizeof *ones));
        free(columns);
    }
    for (size_t r = 0; r < COUNT(radii); r++) {
        uint32_t *places = buffer(n * sizeof *places);
        uint64_t *found = numbers(n), *expected = numbers(n);
        size_t wanted = 0;
        for (size_t i = 0; i < n; i++) {
            unsigned distance = distance_of(codes + order[i] * words, query, words);
            if (distance <= radii[r]) expected[wanted++] = (uint64_t)distance << 32 | i;
        }
        for EACH_LEVEL(level) {
            const struct hamming_kernels *kernels = hamming_levels[level];
            uint64_t *positions = numbers(n);
            for (size_t i = 0; i < n; i++) positions[i] = positions[i] >> 32 << 32 | order[i];
            kernels->differences(codes, positions, n, words, query, places);
            for (size_t i = 0; i < n; i++) CHECK(places[i] == distance_of(codes + order[i] * words, query, words));
            free(positions);
            CHECK(kernels->near_columns(wanted_columns, n, words, query, radii[r], found) == wanted);
            CHECK(same_bytes(found, expected, wanted * sizeof *found));
            if (words == 1) {
                CHECK(kernels->near_words(codes, n, *query, radii[r], places) == wanted);
                for (size_t p = 0; p < wanted; p++) CHECK(places[p] == order[(uint32_t)expected[wanted - 1 - p]]);
            }
        }
        note_bytes(expected, wanted * sizeof *expected);
        free(places);
        free(found);
        free(expected);
    }
    free(wanted_columns);
    free(order);
    free(ones);
    free(wanted_ones);
    free(codes);
    free(query);
}

static void check_select(size_t n, size_t words) {
    uint64_t *codes = codes_of(n, words), *mask = numbers(words);
    uint32_t *values = buffer(n * sizeof *values), *expected = buffer(n * sizeof *expected);
    memset(mask, 0, words * sizeof *mask);
    unsigned bits = 0;
    for (size_t tries = below(40); tries && bits < HAMMING_MAX_BLOCK_BITS; tries--) {
        size_t bit = below(64 * words);
        bits += !(mask[bit / 64] >> bit % 64 & 1);
        mask[bit / 64] |= (uint64_t)1 << bit % 64;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t value = 0, at = 0;
        for (size_t bit = 0; bit < 64 * words; bit++) {
            if (mask[bit / 64] >> bit % 64 & 1) value |= (uint32_t)(codes[i * words + bit / 64] >> bit % 64 & 1) << at++;
        }
        expected[i] = value;
    }
    for EACH_LEVEL(level) {
        hamming_levels[level]->select(codes, n, words, mask, values);
        CHECK(same_bytes(values, expected, n * sizeof *values));
    }
    note_bytes(expected, n * sizeof *expected);
    free(codes);
    free(mask);
    free(values);
    free(expected);
}

/* ---- searches ---- */

/* m blocks of consecutive bits, built on one level. */
static void build(struct hamming_blocks *blocks, const struct hamming_kernels *kernels, const uint64_t *codes, size_t n,
                  size_t words, size_t m, unsigned bits) {
    *blocks = (struct hamming_blocks){.codes = codes, .n = n, .words = words, .m = m};
    for (size_t i = 0; i < m; i++) {
        uint64_t *mask = numbers(words);
        memset(mask, 0, words * sizeof *mask);
        for (size_t bit = i * bits; bit < (i + 1) * bits; bit++) mask[bit / 64] |= (uint64_t)1 << bit % 64;
        size_t heads = ((size_t)1 << bits) + 2;
        blocks->block[i] = (struct hamming_block){mask, bits, buffer(heads * sizeof(uint32_t)), numbers(n),
                                                  buffer(n * sizeof(uint32_t))};
        memset(blocks->block[i].heads, 0, heads * sizeof(uint32_t));
        hamming_count(kernels, blocks, i, 0, n / 2);
        hamming_count(kernels, blocks, i, n / 2, n);
        hamming_sum_heads(blocks->block + i);
        hamming_place(kernels, blocks, i, 0, n / 3);
        hamming_place(kernels, blocks, i, n / 3, n);
    }
}

static void demolish(struct hamming_blocks *blocks) {
    for (size_t i = 0; i < blocks->m; i++) {
        free((void *)blocks->block[i].mask);
        free(blocks->block[i].heads);
        free(blocks->block[i].folds);
        free(blocks->block[i].rows);
    }
}

/* Hits with as little room as there may be: it is doubled whenever there is too little. */
static void grow(struct hamming_hits *hits) {
    uint64_t *more = numbers(2 * hits->room + 1);
    if (hits->count) memcpy(more, hits->at, hits->count * sizeof *more);
    free(hits->at);
    hits->at = more;
    hits->room = 2 * hits->room + 1;
}

static void levels_for(uint8_t *levels, size_t m, unsigned radius) {
    for (size_t i = 0; i < m; i++) levels[i] = (uint8_t)((radius + 1) / m + (i < (radius + 1) % m));
}

static void check_search(size_t n, size_t words, size_t m, unsigned bits, unsigned radius) {
    const size_t queries = 5, first_row = 1000, k = 3;
    uint64_t *codes = codes_of(n, words), *asked = codes_of(queries, words), *expected = numbers(queries * n);
    uint8_t *live = buffer(n), *levels = buffer(m);
    if (n) memcpy(asked, codes + below(n) * words, words * sizeof *asked);
    for (size_t i = 0; i < n; i++) live[i] = below(5) != 0;
    levels_for(levels, m, radius);
    size_t wanted = 0;
    for (size_t j = 0; j < queries; j++) {
        for (size_t i = 0; i < n; i++) {
            unsigned distance = distance_of(codes + i * words, asked + j * words, words);
            if (distance <= radius && live[i]) expected[wanted++] = hamming_hit(7 + j, distance, first_row + i);
        }
    }
    sort(expected, wanted);
    for EACH_LEVEL(level) {
        const struct hamming_kernels *kernels = hamming_levels[level];
        struct hamming_blocks blocks;
        struct hamming_hits hits = {0};
        size_t done = 0, scanned = 0;
        uint64_t *scratch = numbers(HAMMING_SCRATCH);
        const struct hamming_scan scan = {kernels, codes, n, words, NULL, live, first_row, scratch};
        build(&blocks, kernels, codes, n, words, m, bits);
        while (!hamming_within(kernels, &blocks, asked, queries, radius, levels, live, first_row, 7, scratch, &done,
                               &hits, &scanned)) {
            grow(&hits);
        }
        sort(hits.at, hits.count);
        CHECK(hits.count == wanted && same_bytes(hits.at, expected, wanted * sizeof *expected));
        hits.count = done = 0;
        while (!hamming_scan_within(&scan, asked, queries, radius, 7, &done, &hits)) grow(&hits);
        sort(hits.at, hits.count);
        CHECK(hits.count == wanted && same_bytes(hits.at, expected, wanted * sizeof *expected));
        free(hits.at);

        struct hamming_best a[5], b[5];
        for (size_t j = 0; j < queries; j++) {
            a[j] = (struct hamming_best){numbers(HAMMING_BEST_ROOM(k)), 0, k, UINT64_MAX};
            b[j] = (struct hamming_best){numbers(HAMMING_BEST_ROOM(k)), 0, k, UINT64_MAX};
        }
        hamming_nearest(kernels, &blocks, asked, queries, live, first_row, scratch, a, &scanned);
        hamming_scan_nearest(&scan, asked, queries, b);
        for (size_t j = 0; j < queries; j++) {
            hamming_settle_best(a + j);
            hamming_settle_best(b + j);
            sort(a[j].at, a[j].count);
            sort(b[j].at, b[j].count);
            CHECK(a[j].count == b[j].count && same_bytes(a[j].at, b[j].at, a[j].count * sizeof *a[j].at));
            if (level == CPU_SCALAR) note_all(a[j].at, a[j].count);
            free(a[j].at);
            free(b[j].at);
        }
        demolish(&blocks);
        free(scratch);
    }
    note_all(expected, wanted);
    free(codes);
    free(asked);
    free(expected);
    free(live);
    free(levels);
}

/* ---- similarity ---- */

static unsigned ones_of_code(const uint64_t *code, size_t words) {
    unsigned sum = 0;
    for (size_t bit = 0; bit < 64 * words; bit++) sum += (unsigned)(code[bit / 64] >> bit % 64 & 1);
    return sum;
}

/* Codes in an order by counts, or in no order; every pair another way, and the k best by sorting all. */
static void check_similar(size_t n, size_t words, int ordered) {
    const size_t m = 6, k = 5, first_row = 40;
    const double least[] = {1e-9, 0.3, 0.5, 1.0};
    uint64_t *codes = codes_of(n, words), *asked = codes_of(m, words), *ranks = numbers(n), *pairs = numbers(n * m);
    uint64_t *rank_of_pair = numbers(n * m); /* 2^31 less the similarity in units of 2^-31, rounded down */
    uint8_t *live = buffer(n);
    uint16_t *counts = buffer(n * sizeof *counts), *asked_counts = buffer(m * sizeof *counts);
    uint32_t *order = buffer(n * sizeof *order);
    double *values = buffer(n * m * sizeof *values);
    for (size_t i = 0; i < n; i++) {
        if (below(9) == 0) memset(codes + i * words, 0, words * sizeof *codes);
        live[i] = below(6) != 0;
        ranks[i] = (uint64_t)ones_of_code(codes + i * words, words) << 32 | i;
    }
    if (ordered) sort(ranks, n);
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)ranks[i];
        counts[i] = (uint16_t)(ranks[i] >> 32);
    }
    if (n) memcpy(asked, codes + below(n) * words, words * sizeof *asked);
    for (size_t j = 0; j < m; j++) asked_counts[j] = (uint16_t)ones_of_code(asked + j * words, words);
    for (size_t j = 0; j < m; j++) {
        for (size_t i = 0; i < n; i++) pairs[j * n + i] = (uint64_t)j << 32 | i;
    }
    hamming_similarities(codes, asked, words, pairs, n * m, values);
    for (size_t j = 0; j < m; j++) {
        for (size_t i = 0; i < n; i++) {
            unsigned a = asked_counts[j], b = ones_of_code(codes + i * words, words);
            unsigned distance = distance_of(codes + i * words, asked + j * words, words), both = (a + b - distance) / 2;
            CHECK(values[j * n + i] == (both ? (double)both / (double)(a + b - both) : 0.0));
            rank_of_pair[j * n + i] = ((uint64_t)1 << 31) - (both ? ((uint64_t)both << 31) / (a + b - both) : 0);
        }
    }
    note_bytes(values, n * m * sizeof *values);
    for EACH_LEVEL(level) {
        const struct hamming_counted counted = {
            {hamming_levels[level], codes, n, words, ordered ? order : NULL, live, first_row, numbers(HAMMING_SCRATCH)},
            counts};
        for (size_t t = 0; t < COUNT(least); t++) {
            struct hamming_hits hits = {0};
            size_t done = 0, wanted = 0;
            while (!hamming_similar_within(&counted, asked, asked_counts, m, least[t], 7, &done, &hits)) grow(&hits);
            for (size_t p = 0; p < n * m; p++) wanted += values[p] >= least[t] && live[p % n];
            CHECK(hits.count == wanted);
            for (size_t h = 0; h < hits.count; h++) {
                size_t j = (hits.at[h] >> (HAMMING_ROW_BITS + HAMMING_DISTANCE_BITS)) - 7;
                size_t i = (uint32_t)hits.at[h] - first_row;
                CHECK(values[j * n + i] >= least[t] && live[i]);
            }
            free(hits.at);
        }
        struct hamming_best best[6];
        size_t done = 0;
        for (size_t j = 0; j < m; j++) {
            best[j] = (struct hamming_best){numbers(HAMMING_BEST_ROOM(k)), 0, k, UINT64_MAX};
        }
        while (!hamming_similar_nearest(&counted, asked, asked_counts, m, n / 2, &done, best)) continue;
        for (size_t j = 0; j < m; j++) {
            size_t wanted = 0;
            for (size_t i = 0; i < n; i++) {
                if (!live[i] || values[j * n + i] == 0) continue;
                ranks[wanted++] = rank_of_pair[j * n + i] << 32 | (first_row + i);
            }
            sort(ranks, wanted);
            hamming_settle_best(best + j);
            sort(best[j].at, best[j].count);
            CHECK(best[j].count == (wanted < k ? wanted : k));
            CHECK(same_bytes(best[j].at, ranks, best[j].count * sizeof *ranks));
            free(best[j].at);
        }
        free(counted.scan.scratch);
    }
    free(codes);
    free(asked);
    free(ranks);
    free(pairs);
    free(rank_of_pair);
    free(live);
    free(counts);
    free(asked_counts);
    free(order);
    free(values);
}

/* ---- pairs and keepers ---- */

static void check_pairs(size_t n, size_t words, size_t m, unsigned bits, unsigned radius) {
    uint64_t *codes = codes_of(n, words), *expected = numbers(n * n);
    uint8_t *levels = buffer(m);
    uint32_t *keeper = buffer(n * sizeof *keeper), *first = buffer(n * sizeof *first);
    size_t wanted = 0;
    levels_for(levels, m, radius);
    for (size_t i = 0; i < n; i++) {
        keeper[i] = first[i] = (uint32_t)i;
        for (size_t j = 0; j < n; j++) {
            unsigned distance = distance_of(codes + i * words, codes + j * words, words);
            if (i < j && distance <= radius) expected[wanted++] = (uint64_t)i << 32 | j;
            if (j < i && distance <= radius && keeper[j] == j && keeper[i] == i) keeper[i] = (uint32_t)j;
            if (j < first[i] && distance == 0) first[i] = (uint32_t)j;
        }
    }
    for EACH_LEVEL(level) {
        const struct hamming_kernels *kernels = hamming_levels[level];
        struct hamming_keepers keepers = {0};
        struct hamming_hits pairs = {0};
        build(&keepers.blocks, kernels, codes, n, words, m, bits);
        for (size_t i = 0; i < m; i++) {
            size_t value = 0;
            int state;
            while ((state = hamming_pairs(kernels, &keepers.blocks, i, &value, (size_t)1 << bits, radius, levels, 2 * n,
                                          &pairs)) != 1) {
                if (state == 0) grow(&pairs);
            }
        }
        sort(pairs.at, pairs.count);
        CHECK(pairs.count == wanted && same_bytes(pairs.at, expected, wanted * sizeof *expected));
        uint16_t *distances = buffer(wanted * sizeof *distances);
        hamming_distances(codes, words, pairs.at, wanted, distances);
        for (size_t p = 0; p < wanted; p++) {
            const uint64_t *x = codes + (expected[p] >> 32) * words, *y = codes + (uint32_t)expected[p] * words;
            CHECK(distances[p] == distance_of(x, y, words));
        }
        free(distances);
        free(pairs.at);

        const size_t values = (size_t)1 << bits, batch = n / 4 + 1;
        uint32_t *keeper_of = buffer(n * sizeof *keeper_of);
        for (size_t i = 0; i < m; i++) {
            keepers.kept[i] = calloc(values, sizeof(uint32_t));
            keepers.fresh[i] = buffer(values * sizeof(uint32_t));
            keepers.next[i] = copy_of(keepers.blocks.block[i].heads, values * sizeof(uint32_t));
        }
        for (size_t low = 0; low < n; low += batch) {
            size_t high = n - low < batch ? n : low + batch;
            uint32_t *found = buffer((high - low) * sizeof *found);
            memset(found, 0xFF, (high - low) * sizeof *found);
            for (size_t i = 0; i < m; i++) {
                hamming_match_kept(kernels, &keepers, i, 0, values, radius, levels, low, high, found);
                memcpy(keepers.fresh[i], keepers.kept[i], values * sizeof(uint32_t));
            }
            hamming_settle(kernels, &keepers, radius, levels, low, high, found);
            memcpy(keeper_of + low, found, (high - low) * sizeof *found);
            free(found);
        }
        CHECK(same_bytes(keeper_of, keeper, n * sizeof *keeper));
        for (size_t i = 0; i < m; i++) {
            free(keepers.kept[i]);
            free(keepers.fresh[i]);
            free(keepers.next[i]);
        }
        free(keeper_of);
        demolish(&keepers.blocks);
    }
    size_t places = 1;
    while (places <= n) places *= 2;
    uint32_t *table = buffer(places * sizeof *table), *found = buffer(n * sizeof *found);
    memset(table, 0xFF, places * sizeof *table);
    hamming_copies(codes, words, anything(), table, places - 1, 0, n / 2, found);
    hamming_copies(codes, words, 1, table, places - 1, n, n, found);
    free(table);
    table = buffer(places * sizeof *table);
    memset(table, 0xFF, places * sizeof *table);
    hamming_copies(codes, words, 1, table, places - 1, 0, n, found);
    CHECK(same_bytes(found, first, n * sizeof *first));
    note_all(expected, wanted);
    note_bytes(keeper, n * sizeof *keeper);
    free(table);
    free(found);
    free(codes);
    free(expected);
    free(levels);
    free(keeper);
    free(first);
}

/* ---- keys ---- */

static void check_keys(size_t n, size_t size) {
    int64_t *keys = buffer(n * sizeof *keys), *rows = buffer(n * sizeof *rows);
    uint32_t *own = buffer(n * sizeof *own), *cells = buffer(size * sizeof *cells);
    uint8_t *there = buffer(n);
    memset(cells, 0xFF, size * sizeof *cells);
    for (size_t i = 0; i < n; i++) {
        keys[i] = (int64_t)(below(2) ? i : (i << 40)) - 5;
        own[i] = (uint32_t)i;
    }
    struct hamming_keys table = {keys, cells, size - 1, 12345};
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (keys[j] == keys[i]) keys[i] = (int64_t)(UINT64_MAX / 2 - i);
        }
    }
    CHECK(hamming_add_keys(&table, own, n) == n);
    if (n) CHECK(hamming_add_keys(&table, own + n / 2, n - n / 2) == 0);
    memset(there, 1, n);
    for (size_t round = 0; round < 20 && n; round++) {
        uint32_t row = (uint32_t)below(n);
        if (there[row]) hamming_drop_keys(&table, &row, 1);
        else CHECK(hamming_add_keys(&table, &row, 1) == 1);
        there[row] = !there[row];
        hamming_find_keys(&table, keys, n, rows);
        for (size_t i = 0; i < n; i++) CHECK(rows[i] == (there[i] ? (int64_t)i : -1));
    }
    note_bytes(there, n);
    free(keys);
    free(rows);
    free(own);
    free(cells);
    free(there);
}

int main(void) {
    const size_t counts[] = {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, HAMMING_PIECE};
    for (size_t words = 1; words <= HAMMING_MAX_WORDS; words += words < 18 || words > 61 ? 1 : 3) {
        for (size_t c = 0; c < COUNT(counts); c++) {
            if (counts[c] * words > 4096) continue;
            check_near(counts[c], words);
            check_select(counts[c], words);
        }
    }
    const size_t words[] = {1, 2, 3, 64};
    for (size_t w = 0; w < COUNT(words); w++) {
        for (size_t c = 0; c < COUNT(counts); c += 3) {
            check_search(counts[c], words[w], 4, 8, 3);
            check_search(counts[c], words[w], 2, 10, 5);
            check_search(3 * counts[c], words[w], 1, 0, 4);
            check_search(3 * counts[c], words[w], 3, 2, 12);
            check_similar(counts[c], words[w], 0);
            check_similar(counts[c], words[w], 1);
            if (counts[c] > 100) continue;
            check_pairs(counts[c], words[w], 4, 8, 3);
            check_pairs(counts[c], words[w], 2, 10, 5);
            check_pairs(3 * counts[c], words[w], 1, 0, 4);
            check_pairs(3 * counts[c], words[w], 3, 2, 12);
        }
    }
    check_search(3000, 1, 4, 12, 3);
    check_search(3000, 2, 4, 12, 3);
    for (size_t n = 0; n < 16; n++) check_keys(n, 16);
    check_keys(100, 128);
    return print_digest();
}
