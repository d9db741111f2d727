/* Rows come from all over memory, so each is prefetched some rows before its distance is computed. */
#include "tables/band_tables_search.h"

#include <stdlib.h>
#include <string.h>

#define BAND_SEARCH_AHEAD 16 /* prefetch distance of buckets */
#define BAND_SEARCH_BATCH 32 /* rows that are met before their distances are computed */
#define BAND_SEARCH_SOON 2   /* prefetch distance of points, in rows; of each, BAND_SEARCH_LINES lines */
#define BAND_SEARCH_LINES 24
#define BAND_SEARCH_SPARE 64 /* answers beyond twice `most`, before those too far are left out */

/* ---- memory ---- */

enum tables_outcome band_search_begin(struct band_search *search, const struct band_tables *index) {
    size_t words = index->limit / 64 + 1, places = index->bands * search->probes;
    search->rows = NULL;
    search->distances = NULL;
    search->nearest = (struct nearest){NULL, 0, 0};
    search->met = NULL;
    search->used = search->capacity = search->met_capacity = search->met_count = 0;
    search->begun = 0;
    search->entries = malloc(places * sizeof *search->entries);
    search->marks = calloc(words, sizeof *search->marks);
    if (search->entries && search->marks) return TABLES_DONE;
    band_search_end(search);
    return TABLES_NO_MEMORY;
}

void band_search_end(struct band_search *search) {
    free(search->entries);
    free(search->marks);
    free(search->met);
    free(search->rows);
    free(search->distances);
    free(search->nearest.distances);
    search->entries = search->marks = NULL;
    search->met = search->rows = NULL;
    search->distances = NULL;
    search->nearest = (struct nearest){NULL, 0, 0};
}

/* Have memory for the answers and the met rows of a further batch. */
static int have_room(struct band_search *search) {
    size_t wanted = search->used + search->kept + BAND_SEARCH_BATCH, capacity = search->capacity;
    if (!have((void **)&search->rows, &capacity, wanted, sizeof *search->rows)) return 0;
    if (!have((void **)&search->distances, &search->capacity, wanted, sizeof *search->distances)) return 0;
    return have((void **)&search->met, &search->met_capacity, search->met_count + BAND_SEARCH_BATCH,
                sizeof *search->met);
}

/* ---- the nearest ---- */

/* The distance beyond which no further row is kept. */
static inline double bound_of(const struct band_search *search) {
    return search->nearest.held == search->most && search->nearest.held ? search->nearest.distances[0] : search->within;
}

/* Leave out the answers that are beyond the bound. */
static void tidy(struct band_search *search) {
    double bound = bound_of(search);
    size_t made = search->used;
    for (size_t i = search->used; i < search->used + search->kept; i++) {
        if (search->distances[i] > bound) continue;
        search->rows[made] = search->rows[i];
        search->distances[made++] = search->distances[i];
    }
    search->kept = made - search->used;
    search->next = 2 * search->kept + BAND_SEARCH_SPARE;
}

/* Keep a row; 0: there is no memory. */
static int keep(struct band_search *search, uint32_t row, double distance) {
    if (search->most != SIZE_MAX) {
        if (distance > bound_of(search)) return 1;
        if (search->kept == search->next) tidy(search);
        if (!nearest_note(&search->nearest, search->most, distance)) return 0;
    }
    search->rows[search->used + search->kept] = row;
    search->distances[search->used + search->kept++] = distance;
    return 1;
}

/* ---- the walk ---- */

/* The bucket at a place of the walk, which goes through all bands for each probe. */
static inline uint64_t bucket_at(const struct band_tables *index, const struct band_search *search,
                                 const uint64_t *buckets, size_t place) {
    return buckets[place % index->bands * search->probes + place / index->bands];
}

static inline uint32_t tag_of(const struct band_tables *index, uint64_t bucket, size_t band) {
    return (uint32_t)(bands_key_of_slot(index->starts[band], bucket) >> 32);
}

/* Look up the buckets of a query, whose lines are prefetched. */
static void begin_query(const struct band_tables *index, struct band_search *search, const uint64_t *buckets) {
    size_t places = index->bands * search->probes;
    for (size_t at = 0; at < places + BAND_SEARCH_AHEAD; at++) {
        if (at < places) {
            tables_prefetch_home(index->tables + at % index->bands,
                                 tag_of(index, bucket_at(index, search, buckets, at), at % index->bands));
        }
        if (at < BAND_SEARCH_AHEAD) continue;
        size_t place = at - BAND_SEARCH_AHEAD;
        const struct tables_table *table = index->tables + place % index->bands;
        uint64_t bucket = bucket_at(index, search, buckets, place), entry = TABLES_NO_ENTRY;
        if (bucket != EMPTY_SLOT) {
            size_t found = tables_find(table, tag_of(index, bucket, place % index->bands));
            if (found != TABLES_NO_PLACE) entry = table->entries[found];
        }
        search->entries[place] = entry;
        if (entry != TABLES_NO_ENTRY && (uint32_t)entry & TABLES_SHARED) {
            uint64_t unit = (uint32_t)entry & ~TABLES_SHARED;
            if (unit < index->pool.used) prefetch(index->pool.words + unit * TABLES_UNIT_WORDS);
        }
    }
    search->place = search->slot = search->kept = search->nearest.held = 0;
    search->next = BAND_SEARCH_SPARE;
    if (search->most != SIZE_MAX && search->most < SIZE_MAX / 4) search->next += 2 * search->most;
    search->begun = 1;
}

/* A row that was met, and the place of the walk where it was. */
struct meeting {
    uint32_t row;
    size_t place;
};

/* Meet the next rows that were not met before, BAND_SEARCH_BATCH at the most; *seen grows by the slots that were read.
 * TABLES_NO_PLACE if an entry leads nowhere. */
static size_t meet(const struct band_tables *index, struct band_search *search, struct meeting *batch, size_t *seen) {
    size_t made = 0, places = index->bands * search->probes, first = *seen;
    uint32_t one;
    const uint32_t *rows;
    for (; search->place < places; search->place++, search->slot = 0) {
        uint64_t entry = search->entries[search->place];
        ++*seen;
        if (entry == TABLES_NO_ENTRY) continue;
        size_t slots = tables_bucket_slots(&index->pool, entry, &one, &rows);
        if (slots == TABLES_NO_PLACE) return TABLES_NO_PLACE;
        for (; search->slot < slots; search->slot++, ++*seen) {
            uint32_t row = rows[search->slot];
            if (made == BAND_SEARCH_BATCH || *seen - first > search->work) return made;
            if (row == TABLES_NO_ROW) continue;
            if (row >= index->limit) return TABLES_NO_PLACE;
            if (search->marks[row / 64] >> row % 64 & 1 || (index->gone && index->gone[row])) continue;
            search->marks[row / 64] |= (uint64_t)1 << row % 64;
            search->met[search->met_count++] = row;
            batch[made++] = (struct meeting){row, search->place};
            prefetch(band_tables_signature(index, row) + search->place % index->bands);
        }
    }
    return made;
}

static inline int is_in(const struct band_tables *index, const struct band_search *search, const uint64_t *buckets,
                        const uint64_t *signature, size_t place) {
    uint64_t bucket = bucket_at(index, search, buckets, place);
    return bucket != EMPTY_SLOT && signature[place % index->bands] == bucket;
}

/* 1 if a row shares a bucket with the query: that in which it was met, or, if only the tags of that one are equal, any
 * other one, since no row is met twice. */
static int shares(const struct band_tables *index, const struct band_search *search, const uint64_t *buckets,
                  const uint64_t *signature, size_t place) {
    if (is_in(index, search, buckets, signature, place)) return 1;
    for (size_t other = 0; other < index->bands * search->probes; other++) {
        if (is_in(index, search, buckets, signature, other)) return 1;
    }
    return 0;
}

/* Compute the distances of a batch, until the limit ends the query; 0: there is no memory. */
static int examine(const struct band_tables *index, struct band_search *search, const uint64_t *buckets,
                   const uint64_t *point, const struct meeting *batch, size_t n,
                   struct band_search_progress *progress) {
    size_t payload = index->k - index->slots, lines = payload < 8 * BAND_SEARCH_LINES ? payload : 8 * BAND_SEARCH_LINES;
    for (size_t i = 0; i < n && !progress->ended; i++) {
        const uint64_t *signature = band_tables_signature(index, batch[i].row);
        if (i + BAND_SEARCH_SOON < n) {
            const uint64_t *soon = band_tables_signature(index, batch[i + BAND_SEARCH_SOON].row) + index->slots;
            for (size_t word = 0; word < lines; word += 8) prefetch(soon + word);
        }
        if (!shares(index, search, buckets, signature, batch[i].place)) continue;
        double distance = search->distance(point, signature + index->slots, search->dim);
        int is_near = distance <= search->within;
        progress->examined++;
        if (is_near && !keep(search, batch[i].row, distance)) return 0;
        if (search->limit == SIZE_MAX) continue;
        progress->counted += !search->first || !is_near;
        progress->ended = (search->first && is_near) || (size_t)progress->counted >= search->limit;
    }
    return 1;
}

/* Forget which rows were met. */
static void forget(const struct band_tables *index, struct band_search *search) {
    if (search->met_count > index->limit / 64) {
        memset(search->marks, 0, (index->limit / 64 + 1) * sizeof *search->marks);
    } else {
        for (size_t i = 0; i < search->met_count; i++) search->marks[search->met[i] / 64] = 0;
    }
    search->met_count = 0;
}

enum band_tables_outcome band_search_run(const struct band_tables *index, const uint64_t *buckets,
                                         const uint64_t *points, size_t n, size_t *next, struct band_search *search,
                                         struct band_search_progress *progress, int64_t *offsets) {
    struct meeting batch[BAND_SEARCH_BATCH];
    size_t places = index->bands * search->probes, payload = index->k - index->slots, done = 0;
    for (; *next < n; ++*next) {
        const uint64_t *own = buckets + *next * places, *point = points + *next * payload;
        struct band_search_progress *so_far = progress + *next;
        if (!search->begun) begin_query(index, search, own);
        while (search->place < places && !so_far->ended) {
            size_t seen = 0;
            if (done >= search->work) return BAND_TABLES_UNFINISHED;
            if (!have_room(search)) return BAND_TABLES_NO_ROOM;
            size_t made = meet(index, search, batch, &seen);
            if (made == TABLES_NO_PLACE) return BAND_TABLES_UNSOUND;
            if (!examine(index, search, own, point, batch, made, so_far)) return BAND_TABLES_NO_ROOM;
            done += seen + made * payload;
        }
        tidy(search);
        search->used += search->kept;
        search->kept = 0;
        search->begun = 0;
        offsets[*next + 1] = (int64_t)search->used;
        forget(index, search);
        done += places;
    }
    return BAND_TABLES_ANSWERED;
}
