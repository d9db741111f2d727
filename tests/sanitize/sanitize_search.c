/* The search of neighbors (band_tables_search.h) beside a search of all rows: bands judged apart, several buckets a band,
 * limits, calls that end after every few steps, and tables whose entries are damaged. Prints a digest of all results,
 * which no compiler may change. */
#include "tables/band_tables_search.h"
#include "sanitize_kit.h"

#include <math.h>

enum { BANDS = 3, PAYLOAD = 2, K = BANDS + PAYLOAD, PROBES = 2, PLACES = BANDS * PROBES, MOST_ROWS = 300, QUERIES = 5 };

static void *source(size_t bytes) { return buffer(bytes); }

static double distance_of(const uint64_t *a, const uint64_t *b, size_t dim) {
    double sum = 0;
    for (size_t i = 0; i < dim; i++) sum += a[i] < b[i] ? (double)(b[i] - a[i]) : (double)(a[i] - b[i]);
    return sum;
}

/* One of few buckets, or none. */
static uint64_t bucket(size_t values) { return below(5) ? below(values) : EMPTY_SLOT; }

struct world {
    struct band_tables index;
    size_t n;
    uint64_t *rows, *buckets, *points;
};

static void begin(struct world *world, size_t n, size_t values) {
    struct band_tables *index = &world->index;
    struct band_tables_batch batch;
    int64_t rows[MOST_ROWS];
    size_t done = 0;
    world->n = n;
    world->rows = numbers(n * K);
    world->buckets = numbers(QUERIES * PLACES);
    world->points = numbers(QUERIES * PAYLOAD);
    for (size_t i = 0; i < n * K; i++) world->rows[i] = i % K < BANDS ? bucket(values) : below(9);
    for (size_t i = 0; i < QUERIES * PLACES; i++) world->buckets[i] = bucket(values);
    for (size_t i = 0; i < QUERIES * PAYLOAD; i++) world->points[i] = below(9);
    CHECK(band_tables_begin(index, source, K, BANDS, 1, NAMES_NONE, 16 * K * sizeof(uint64_t)) == TABLES_DONE);
    index->slots = BANDS;
    index->apart = 1;
    index->keys = bands_levels[top_level()];
    index->kernels = tables_levels[top_level()];
    CHECK(band_tables_batch_begin(&batch, index, n) == TABLES_DONE);
    CHECK(band_tables_reserve(index, n) == TABLES_DONE);
    band_tables_allot(index, n, rows);
    CHECK(band_tables_prepare(index, rows, n) == TABLES_DONE);
    while (done < n) CHECK(band_tables_write(index, &batch, rows, world->rows, n, &done) == TABLES_DONE);
    band_tables_batch_end(&batch);
}

static void end(struct world *world) {
    band_tables_end(&world->index);
    free(world->rows);
    free(world->buckets);
    free(world->points);
}

static int meets(const struct world *world, size_t query, size_t row) {
    for (size_t place = 0; place < PLACES; place++) {
        uint64_t value = world->rows[row * K + place / PROBES];
        if (value != EMPTY_SLOT && value == world->buckets[query * PLACES + place]) return 1;
    }
    return 0;
}

/* Search with limits that are drawn, in calls of little work, and check each answer; `damaged`: only that it ends. */
static void search(const struct world *world, int damaged) {
    struct band_search search = {.distance = distance_of, .dim = PAYLOAD, .probes = PROBES, .work = 1 + below(200)};
    struct band_search_progress progress[QUERIES] = {{0, 0, 0}};
    int64_t offsets[QUERIES + 1] = {0};
    enum band_tables_outcome outcome;
    size_t next = 0, calls = 0;
    search.most = below(2) ? SIZE_MAX : 1 + below(20);
    search.within = below(2) ? INFINITY : (double)below(9);
    search.limit = below(2) ? SIZE_MAX : 1 + below(60);
    search.first = (int)below(2);
    CHECK(band_search_begin(&search, &world->index) == TABLES_DONE);
    do {
        outcome = band_search_run(&world->index, world->buckets, world->points, QUERIES, &next, &search, progress, offsets);
        CHECK(calls++ < 1000000 && outcome != BAND_TABLES_NO_ROOM);
    } while (outcome == BAND_TABLES_UNFINISHED);
    CHECK(damaged || outcome == BAND_TABLES_ANSWERED);
    for (size_t query = 0; query < QUERIES && outcome == BAND_TABLES_ANSWERED; query++) {
        const uint64_t *point = world->points + query * PAYLOAD;
        double farthest = -1;
        size_t met = 0, near = 0, count = (size_t)(offsets[query + 1] - offsets[query]);
        for (size_t i = (size_t)offsets[query]; i < (size_t)offsets[query + 1]; i++) {
            CHECK(search.rows[i] < world->n && meets(world, query, search.rows[i]));
            CHECK(search.distances[i] == distance_of(point, world->rows + search.rows[i] * K + BANDS, PAYLOAD));
            CHECK(search.distances[i] <= search.within);
            farthest = search.distances[i] > farthest ? search.distances[i] : farthest;
            if (!damaged) note_double(search.distances[i]);
        }
        if (damaged) continue;
        for (size_t row = 0; row < world->n; row++) {
            double distance = distance_of(point, world->rows + row * K + BANDS, PAYLOAD);
            if (!meets(world, query, row)) continue;
            met++;
            near += distance <= search.within && distance <= farthest;
        }
        CHECK((size_t)progress[query].examined <= met);
        if (search.limit == SIZE_MAX) CHECK((size_t)progress[query].examined == met && count == near);
        else CHECK((size_t)progress[query].counted <= search.limit);
        note((uint64_t)progress[query].examined);
    }
    band_search_end(&search);
}

/* Entries and blocks of the pool that lead anywhere. */
static void damage(struct world *world) {
    struct band_tables *index = &world->index;
    for (size_t band = 0; band < BANDS; band++) {
        for (size_t i = 0; i < index->tables[band].length; i++) {
            uint64_t *entry = index->tables[band].entries + i;
            if (*entry != TABLES_NO_ENTRY && below(4) == 0) *entry = *entry >> 32 << 32 | (uint32_t)edge_or_random();
        }
    }
    for (size_t i = 0; i < index->pool.used * TABLES_UNIT_WORDS; i++) {
        if (below(6) == 0) index->pool.words[i] = (uint32_t)(below(2) ? below(400) : edge_or_random());
    }
}

static void check_world(void) {
    struct world world;
    size_t n = 1 + case_size(below(MOST_ROWS), 40);
    begin(&world, n, 1 + below(40));
    for EACH_ROUND(i, 4) search(&world, 0);
    damage(&world);
    for EACH_ROUND(i, 4) search(&world, 1);
    end(&world);
}

int main(void) {
    for (size_t round = 0; round < 300; round++) check_world();
    return print_digest();
}
