/* The search of neighbors by codes (code_search.h) beside its definition: several tables, rows that are gone, limits, and
 * calls that end after every few rows, cells. Prints a digest of all results, which no compiler may change. */
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

/* The payload is a vector in the plane, as of the measure "cosine" of float32. */
static double cosine_of(const uint64_t *a, const uint64_t *b, size_t dim) {
    float x[PAYLOAD], y[PAYLOAD];
    double norms[2], dot = 0;
    memcpy(norms, a, sizeof *norms);
    memcpy(norms + 1, b, sizeof *norms);
    memcpy(x, a + 1, sizeof x);
    memcpy(y, b + 1, sizeof y);
    for (size_t i = 0; i < dim; i++) dot += (double)x[i] * (double)y[i];
    return fmin(fmax(1 - dot / sqrt(norms[0] * norms[1]), 0), 2);
}

static void write_point(uint64_t *point, int cosine) {
    float x[PAYLOAD];
    double norm = 0;
    for (size_t i = 0; i < PAYLOAD; i++) x[i] = (float)below(1000) / 10 + (i == 0);
    for (size_t i = 0; i < PAYLOAD; i++) norm += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < PAYLOAD; i++) point[i] = below(40);
    if (!cosine) return;
    memcpy(point, &norm, sizeof norm);
    memcpy(point + 1, x, sizeof x);
}

struct world {
    int cosine;
    struct band_tables index[TABLES];
    size_t n[TABLES];
    uint64_t *rows[TABLES], codes[QUERIES * WORDS], points[QUERIES * PAYLOAD];
};

/* A code that differs from another one in some bits. */
static void write_code(uint64_t *code, const uint64_t *base) {
    for (size_t w = 0; w < WORDS; w++) code[w] = base[w];
    for (size_t flips = case_size(below(60), 12); flips; flips--) {
        size_t bit = below(64 * WORDS);
        code[bit / 64] ^= (uint64_t)1 << bit % 64;
    }
}

static void make_cells(struct band_tables *index) {
    struct code_cells_making making = {.index = index, .kernels = products_levels[below(2) ? top_level() : 0]};
    making.cells.distance = cosine_of;
    making.cells.dim = PAYLOAD;
    making.cells.count = code_cells_for(index->limit, 1);
    CHECK(code_cells_wanted(index, 1));
    int made = code_cells_begin(&making);
    CHECK(made);
    while (!code_cells_divide(&making)) continue;
    if (below(4) == 0) made = 0; /* as where there is no memory for the rest */
    CHECK(code_cells_end(&making, &index->cells, made) == made && (index->cells.count > 0) == made);
    if (made) index->cells.useful = 2;
}

/* Write rows that are free again. */
static void write_again(struct world *world, size_t t, struct band_tables_batch *batch, const uint64_t *base, size_t n) {
    static int64_t rows[MOST_ROWS];
    static uint64_t words[MOST_ROWS * K];
    size_t done = 0;
    band_tables_allot(world->index + t, n, rows);
    for (size_t i = 0; i < n; i++) {
        write_code(words + i * K, base);
        write_point(words + i * K + WORDS, world->cosine);
        memcpy(world->rows[t] + (size_t)rows[i] * K, words + i * K, K * sizeof *words);
    }
    CHECK(band_tables_prepare(world->index + t, rows, n) == TABLES_DONE);
    while (done < n) CHECK(band_tables_write(world->index + t, batch, rows, words, n, &done) == TABLES_DONE);
}

static void begin_table(struct world *world, size_t t, const uint64_t *base) {
    struct band_tables *index = world->index + t;
    struct band_tables_batch batch;
    static int64_t rows[MOST_ROWS];
    size_t done = 0, n = world->n[t] = 1 + case_size(below(MOST_ROWS), 40);
    world->rows[t] = numbers(n * K);
    for (size_t i = 0; i < n; i++) {
        write_code(world->rows[t] + i * K, base);
        write_point(world->rows[t] + i * K + WORDS, world->cosine);
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
    const int celled = world->cosine && below(4);
    if (celled && below(2)) make_cells(index);
    size_t gone = 0;
    for (size_t i = 0; i < n; i++) {
        if (below(5) == 0) rows[gone++] = (int64_t)i;
    }
    CHECK(band_tables_turn(index, rows, gone, BAND_TABLES_IN_USE, BAND_TABLES_FREE) == gone);
    band_tables_erase(index, &batch, rows, gone);
    band_tables_release(index, rows, gone);
    if (celled && !index->cells.count && index->limit > index->free_count) make_cells(index);
    if (gone && index->limit == n) write_again(world, t, &batch, base, below(gone + 1));
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
            distances[n++] = search->distance(world->points + query * PAYLOAD, row + WORDS, PAYLOAD);
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
        enough[level] = world->cosine ? 1 - cos((double)level / 60) : (double)level / 6 - 1;
    }
    struct code_search search = {.tables = tables, .count = TABLES, .distance = world->cosine ? cosine_of : distance_of, .dim = PAYLOAD,
                                 .reach = REACH, .near = near, .enough = enough, .work = 1 + below(9000)};
    static int64_t offsets[QUERIES + 1], examined[QUERIES];
    enum band_tables_outcome outcome = BAND_TABLES_UNFINISHED;
    size_t next = 0, queries = case_size(QUERIES, 4);
    search.kernels = hamming_levels[below(2) ? top_level() : 0];
    search.products = products_levels[below(2) ? top_level() : 0];
    search.most = below(2) ? SIZE_MAX : 1 + below(20);
    search.within = below(2) ? INFINITY : world->cosine ? 1 - cos((double)below(30) / 20) : (double)below(30);
    search.limit = below(2) ? SIZE_MAX : 1 + below(60);
    search.first = (int)below(2);
    search.alone = (int)below(2);
    CHECK(code_search_begin(&search) == TABLES_DONE);
    for (int again = (int)below(2); again >= 0; again--) { /* its memory can be used for another search */
        outcome = BAND_TABLES_UNFINISHED;
        search.used = next = 0;
        while (outcome == BAND_TABLES_UNFINISHED) {
            outcome = code_search_run(&search, world->codes, world->points, queries, &next, examined, offsets);
        }
        CHECK(outcome == BAND_TABLES_ANSWERED && next == queries);
    }
    for (size_t query = 0; query < queries; query++) {
        const uint64_t *point = world->points + query * PAYLOAD;
        const unsigned last = last_level(world, query, &search);
        double farthest = -1;
        size_t count = 0, near_rows = 0;
        for (int64_t i = query ? offsets[query] : 0; i < offsets[query + 1]; i++, count++) {
            const size_t t = search.rows[i] >> 32, row = (uint32_t)search.rows[i];
            CHECK(t < TABLES && row < world->n[t] && world->index[t].alive[row]);
            const uint64_t *words = world->rows[t] + row * K;
            CHECK(search.distances[i] == search.distance(point, words + WORDS, PAYLOAD));
            CHECK(search.distances[i] <= search.within && level_of(words, world->codes + query * WORDS, near) <= last);
            farthest = search.distances[i] > farthest ? search.distances[i] : farthest;
            note_double(search.distances[i]);
        }
        for (size_t t = 0; t < TABLES; t++) {
            for (size_t i = 0; i < world->n[t]; i++) {
                const uint64_t *words = world->rows[t] + i * K;
                if (i >= world->index[t].limit || !world->index[t].alive[i]) continue;
                if (level_of(words, world->codes + query * WORDS, near) > last) continue;
                near_rows += search.distance(point, words + WORDS, PAYLOAD) <= (search.most == SIZE_MAX ? search.within : farthest);
            }
        }
        if (search.limit == SIZE_MAX) CHECK(count == near_rows);
        else CHECK(count <= search.limit + 1);
    }
    code_search_end(&search);
}

/* Tables of points and their codes, and searches of them. */
static void check_world(int cosine) {
    struct world *world = buffer(sizeof *world);
    uint64_t base[WORDS];
    world->cosine = cosine;
    for (size_t w = 0; w < WORDS; w++) base[w] = edge_or_random();
    for (size_t t = 0; t < TABLES; t++) begin_table(world, t, base);
    for (size_t query = 0; query < QUERIES; query++) {
        write_code(world->codes + query * WORDS, base);
        write_point(world->points + query * PAYLOAD, world->cosine);
    }
    for EACH_ROUND(i, 4) search(world);
    for (size_t t = 0; t < TABLES; t++) {
        band_tables_end(world->index + t);
        free(world->rows[t]);
    }
    free(world);
}

int main(void) {
    for (int round = 0; round < 60; round++) check_world(round % 2);
    return print_digest();
}
