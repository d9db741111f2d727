/* Eight threads ask tables (band_tables.h) under the readers' side of a lock while one puts rows in and takes them out;
 * with an argument, without the lock, which the thread sanitizer must see. */
#include "tables/band_tables.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READERS = 8, ROWS = 400, K = 4, BANDS = 2, TURNS = 60, CAPACITY = 1000, UNITS = 4000, ROOM = BANDS * ROWS, ASKED = 16 };

static uint64_t signatures[ROWS * K], *blocks[1] = {signatures};
static uint64_t entries[BANDS][CAPACITY + 65];
static uint32_t words[UNITS * TABLES_UNIT_WORDS], tags[BANDS][ROWS];
static struct tables_table tables[BANDS];
static uint64_t starts[BANDS];
static struct band_tables tables_of_all = {
    .k = K, .bands = BANDS, .rows = K / BANDS, .starts = starts, .limit = ROWS, .blocks = blocks, .shift = 12,
    .tables = tables,
};
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t entrance = PTHREAD_MUTEX_INITIALIZER; /* so that a writer who waits goes before later readers */
static int locked = 1, done = 0;

static void check(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void *read_on(void *unused) {
    uint64_t keys[BANDS], found[BANDS * BAND_TABLES_UNDER_WAY], *records = malloc(2 * ROOM * sizeof *records);
    uint32_t query_tags[BANDS * BAND_TABLES_UNDER_WAY], *rows = malloc(ASKED * ROWS * sizeof *rows);
    uint32_t *agreements = malloc(ASKED * ROWS * sizeof *agreements);
    int64_t offsets[ASKED + 1] = {0};
    check(records && rows && agreements, "no memory");
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        struct band_tables_answers answers = {
            .keys = keys, .tags = query_tags, .entries = found, .records = records,
            .room = ROOM, .work = SIZE_MAX,
            .least = 1, .count = 1, .rows = rows, .agreements = agreements, .capacity = ASKED * ROWS, .offsets = offsets,
        };
        size_t next = 0;
        if (locked) {
            pthread_mutex_lock(&entrance);
            pthread_mutex_unlock(&entrance);
            pthread_rwlock_rdlock(&lock);
        }
        enum band_tables_outcome answer = band_tables_answer(&tables_of_all, signatures, ASKED, &next, &answers);
        if (locked) {
            pthread_rwlock_unlock(&lock);
            check(answer == BAND_TABLES_ANSWERED, "no answer");
        }
    }
    free(records);
    free(rows);
    free(agreements);
    return unused;
}

static void write_on(void) {
    static uint64_t records[ROWS];
    static int64_t rows[ROWS];
    static uint8_t skip[ROWS];
    for (size_t row = 0; row < ROWS; row++) rows[row] = (int64_t)row;
    for (size_t turn = 0; turn < TURNS; turn++) {
        if (locked) {
            pthread_mutex_lock(&entrance);
            pthread_rwlock_wrlock(&lock);
        }
        const struct tables_kernels *kernels = tables_levels[turn % 4 < 2 ? cpu_detect() : CPU_SCALAR];
        for (size_t row = 0; row < ROWS; row++) skip[row] = row % 3 != turn % 3;
        for (size_t band = 0; band < BANDS; band++) {
            size_t next = 0, n = tables_tag_order(tags[band], rows, skip, ROWS, records);
            if (turn / 3 % 2) kernels->take(tables + band, &tables_of_all.pool, records, n);
            else check(kernels->put(tables + band, &tables_of_all.pool, records, n, &next) == TABLES_DONE, "it is full");
        }
        for (size_t band = 0; band < BANDS; band++) check(tables_is_sound(tables + band, &tables_of_all.pool, ROWS), "it is not sound");
        if (locked) {
            pthread_rwlock_unlock(&lock);
            pthread_mutex_unlock(&entrance);
        }
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
}

int main(int count, char **arguments) {
    uint64_t keys[BANDS];
    pthread_t readers[READERS];
    locked = count < 2 || strcmp(arguments[1], "without") != 0;
    for (size_t i = 0; i < ROWS * K; i++) signatures[i] = mix64(i) % 5;
    tables_of_all.pool.words = words;
    tables_of_all.pool.length = UNITS;
    tables_pool_clear(&tables_of_all.pool);
    for (size_t band = 0; band < BANDS; band++) {
        tables[band] = (struct tables_table){entries[band], CAPACITY, CAPACITY + 64, 0};
        tables_clear(tables + band);
    }
    tables_of_all.keys = bands_levels[cpu_detect()];
    tables_of_all.kernels = tables_levels[cpu_detect()];
    bands_starts(0, BANDS, starts);
    for (size_t row = 0; row < ROWS; row++) band_tables_tags(&tables_of_all, signatures + row * K, keys, tags[0] + row, ROWS);
    for (size_t i = 0; i < READERS; i++) check(pthread_create(readers + i, NULL, read_on, NULL) == 0, "no thread");
    write_on();
    for (size_t i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
    return 0;
}
