/* The search of neighbors by codes (code_search.h) beside its definition: several tables, rows that are gone, limits, and
 * calls that end after every few rows. Prints a digest of all results, which no compiler may change. */
#include "tables/code_search.h"
#include "sanitize_kit.h"

#include <math.h>

enum { WORDS = 4, HEAD = 2, PAYLOAD = 2, K = WORDS + PAYLOAD, MOST_ROWS = 700, QUERIES = 40, TABLES = 2, REACH = 70 };

static void *source(size_t bytes) { return buffer(bytes); }

static double distance_of(const uint64_t *a, const uint64_t *b, size_t dim) {
    double sum = 0;
    for (size_t i = 0; i < dim; i++) sum += a[i] < b[i] ? (double)(b[i] - a[i]) : (double)(a[i] - b[i]);
    return sum;
}

struct world {
    struct band_tables index[TABLES];
    size_t n[TABLES];
    uint64_t *rows[TABLES], codes[QUERIES * WORDS], points[QUERIES * PAYLOAD];
};

/* A code that differs from another one in some bits. */
static void write_code(uint64_t *code, const uint64_t *base) {
    for (size_t w = 0; w < WORDS; w++) code[w] = base[w];
    for (size_t flips = below(60); flips; flips--) {
        size_t bit = below(64 * WORDS);
        code[bit / 64] ^= (uint64_t)1 << bit % 64;
    }
}

static void begin_table(struct world *world, size_t t, const uint64_t *base) {
    struct band_tables *index = world->index + t;
    struct band_tables_batch batch;
    static int64_t rows[MOST_ROWS];
    size_t done = 0, n = world->n[t] = 1 + below(MOST_ROWS);
    world->rows[t] = numbers(n * K);
    for (size_t i = 0; i < n; i++) {
        write_code(world->rows[t] + i * K, base);
        for (size_t w = WORDS; w < K; w++) world->rows[t][i * K + w] = below(40);
    }
    CHECK(band_tables_begin(index, source, K, 1, 1, NAMES_NONE, 16 * K * sizeof(uint64_t)) == TABLES_DONE);
    index->slots = WORDS;
    index->apart = 1;
    index->head = HEAD;
    index->keys = bands_levels[top_level()];
    index->kernels = tables_levels[top_level()];
    CHECK(band_tables_batch_begin(&batch, index, n) == TABLES_DONE);
    CHECK(band_tables_reserve(index, n) == TABLES_DONE);
    band_tables_allot(index, n, rows);
    CHECK(band_tables_prepare(index, rows, n) == TABLES_DONE);
    while (done < n) CHECK(band_tables_write(index, &batch, rows, world->rows[t], n, &done) == TABLES_DONE);
    size_t gone = 0;
    for (size_t i = 0; i < n; i++) {
        if (below(5) == 0) rows[gone++] = (int64_t)i;
    }
    CHECK(band_tables_claim(index, rows, gone) == gone);
    band_tables_erase(index, &batch, rows, gone);
    band_tables_release(index, rows, gone);
    band_tables_batch_end(&batch);
}

static unsigned level_of(const uint64_t *row, const uint64_t *code, const uint8_t *near) {
    unsigned head = hamming_distance(row, code, HEAD), all = hamming_distance(row, code, WORDS), level = 0;
    while (level <= REACH && near[level] < head) level++;
    return level < all ? all : level;
}

/* Without a limit: after each level, the nearest so far may be enough. Returns the last level that is examined. */
static unsigned last_level(const struct world *world, size_t query, const struct code_search *search) {
    static unsigned levels[TABLES * MOST_ROWS];
    static double distances[TABLES * MOST_ROWS];
    size_t n = 0;
    if (search->most == SIZE_MAX) return REACH;
    for (size_t t = 0; t < TABLES; t++) {
        for (size_t i = 0; i < world->n[t]; i++) {
            const uint64_t *row = world->rows[t] + i * K;
            if (i >= world->index[t].limit || !world->index[t].alive[i]) continue;
            levels[n] = level_of(row, world->codes + query * WORDS, search->near);
            distances[n++] = distance_of(world->points + query * PAYLOAD, row + WORDS, PAYLOAD);
        }
    }
    for (unsigned level = 0; level < REACH; level++) {
        size_t near = 0;
        for (size_t i = 0; i < n; i++) {
            near += levels[i] <= level && distances[i] <= search->within && distances[i] <= search->enough[level];
        }
        if (near >= search->most) return level;
    }
    return REACH;
}

static void search(const struct world *world) {
    const struct band_tables *const tables[TABLES] = {world->index, world->index + 1};
    uint8_t near[REACH + 1];
    double enough[REACH + 1];
    for (size_t level = 0; level <= REACH; level++) {
        near[level] = (uint8_t)(level * 6 / 10 + 1);
        enough[level] = (double)level / 6 - 1;
    }
    struct code_search search = {.tables = tables, .count = TABLES, .distance = distance_of, .dim = PAYLOAD,
                                 .reach = REACH, .near = near, .enough = enough, .work = 1 + below(9000)};
    static int64_t offsets[QUERIES + 1], examined[QUERIES];
    enum band_tables_outcome outcome = BAND_TABLES_UNFINISHED;
    size_t next = 0;
    search.kernels = hamming_levels[below(2) ? top_level() : 0];
    search.most = below(2) ? SIZE_MAX : 1 + below(20);
    search.within = below(2) ? INFINITY : (double)below(30);
    search.limit = below(2) ? SIZE_MAX : 1 + below(60);
    search.first = (int)below(2);
    CHECK(code_search_begin(&search) == TABLES_DONE);
    while (outcome == BAND_TABLES_UNFINISHED) {
        outcome = code_search_run(&search, world->codes, world->points, QUERIES, &next, examined, offsets);
    }
    CHECK(outcome == BAND_TABLES_ANSWERED && next == QUERIES);
    for (size_t query = 0; query < QUERIES; query++) {
        const uint64_t *point = world->points + query * PAYLOAD;
        const unsigned last = last_level(world, query, &search);
        double farthest = -1;
        size_t count = 0, near_rows = 0;
        for (int64_t i = query ? offsets[query] : 0; i < offsets[query + 1]; i++, count++) {
            const size_t t = search.rows[i] >> 32, row = (uint32_t)search.rows[i];
            CHECK(t < TABLES && row < world->n[t] && world->index[t].alive[row]);
            const uint64_t *words = world->rows[t] + row * K;
            CHECK(search.distances[i] == distance_of(point, words + WORDS, PAYLOAD));
            CHECK(search.distances[i] <= search.within && level_of(words, world->codes + query * WORDS, near) <= last);
            farthest = search.distances[i] > farthest ? search.distances[i] : farthest;
            note_double(search.distances[i]);
        }
        for (size_t t = 0; t < TABLES; t++) {
            for (size_t i = 0; i < world->n[t]; i++) {
                const uint64_t *words = world->rows[t] + i * K;
                if (i >= world->index[t].limit || !world->index[t].alive[i]) continue;
                if (level_of(words, world->codes + query * WORDS, near) > last) continue;
                near_rows += distance_of(point, words + WORDS, PAYLOAD) <= (search.most == SIZE_MAX ? search.within : farthest);
            }
        }
        if (search.limit == SIZE_MAX) CHECK(count == near_rows);
        else CHECK(count <= search.limit + 1);
    }
    code_search_end(&search);
}

int main(void) {
    for (size_t round = 0; round < 60; round++) {
        struct world *world = buffer(sizeof *world);
        uint64_t base[WORDS];
        for (size_t w = 0; w < WORDS; w++) base[w] = edge_or_random();
        for (size_t t = 0; t < TABLES; t++) begin_table(world, t, base);
        for (size_t query = 0; query < QUERIES; query++) {
            write_code(world->codes + query * WORDS, base);
            for (size_t w = 0; w < PAYLOAD; w++) world->points[query * PAYLOAD + w] = below(40);
        }
        for (int i = 0; i < 3; i++) search(world);
        for (size_t t = 0; t < TABLES; t++) {
            band_tables_end(world->index + t);
            free(world->rows[t]);
        }
        free(world);
    }
    return print_digest();
}
