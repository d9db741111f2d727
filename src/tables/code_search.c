/* Points come from all over memory, so each is prefetched some rows before its distance is computed. */
#include "tables/code_search_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SOON 12       /* prefetch distance of points, in rows; of each, LINES lines */
#define LINES 48

static inline const uint64_t *point_of(const struct code_search *search, const struct code_search_hit *hit) {
    const struct band_tables *index = search->tables[number_of(hit) >> 32];
    return band_tables_signature(index, (uint32_t)number_of(hit)) + index->slots;
}

/* ---- memory ---- */

enum tables_outcome code_search_begin(struct code_search *search) {
    const unsigned most = search->near[search->reach];
    search->rows = NULL;
    search->distances = NULL;
    search->units = search->with = search->low = search->high = NULL;
    search->live = NULL;
    search->groups = search->ordered = NULL;
    search->groups_capacity = search->ordered_capacity = 0;
    search->nearest = (struct nearest){NULL, 0, 0};
    search->sorted = NULL;
    search->used = search->capacity = search->sorted_capacity = 0;
    search->queries = search->hits = 0;
    const size_t head = search->tables[0]->head, rows = HAMMING_COLUMNS / head / HAMMING_GROUP * HAMMING_GROUP;
    search->piece = rows < HAMMING_PIECE ? rows : HAMMING_PIECE;
    search->query = calloc(CODE_SEARCH_GROUP, sizeof *search->query);
    search->found = malloc((MANY_FOUND + HAMMING_PIECE) * sizeof *search->found);
    search->more = malloc((MANY_FOUND + HAMMING_PIECE) * sizeof *search->more);
    search->parts = malloc(MANY_FOUND * sizeof *search->parts);
    search->found_count = search->parts_count = 0;
    search->levels = malloc((search->reach + 2) * sizeof *search->levels);
    search->levels_of_heads = malloc((most + 1) * sizeof *search->levels_of_heads);
    if (!search->query || !search->found || !search->more || !search->parts || !search->levels || !search->levels_of_heads) {
        code_search_end(search);
        return TABLES_NO_MEMORY;
    }
    for (unsigned bits = 0, level = 0; bits <= most; bits++) {
        while (search->near[level] < bits) level++;
        search->levels_of_heads[bits] = (uint16_t)level;
    }
    return TABLES_DONE;
}

void code_search_end(struct code_search *search) {
    for (size_t i = 0; search->query && i < CODE_SEARCH_GROUP; i++) free(search->query[i].hits);
    void *all[] = {search->query,  search->found,           search->more,    search->rows,  search->distances,
                   search->levels, search->levels_of_heads, search->nearest.distances, search->sorted,
                   search->units,  search->with,            search->low,     search->high,  search->live,
                   search->parts,  search->groups, search->ordered};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* ---- the hits of a query ---- */

/* Sort the hits by level, and those of a level as they are; levels[v + 1] becomes the end of level v. */
static int sort_hits(struct code_search *search, struct code_search_query *query) {
    size_t *ends = search->levels, levels = query->reach + 1;
    if (!have((void **)&search->sorted, &search->sorted_capacity, query->count, sizeof *search->sorted)) return 0;
    memset(ends, 0, (levels + 1) * sizeof *ends);
    for (size_t i = 0; i < query->count; i++) ends[level_of(query->hits + i) + 1]++;
    for (size_t level = 1; level <= levels; level++) ends[level] += ends[level - 1];
    /* Each level's start moves to its end while it is filled, and is the start of the next one then. */
    for (size_t i = 0; i < query->count; i++) search->sorted[ends[level_of(query->hits + i)]++] = query->hits[i];
    memmove(ends + 1, ends, levels * sizeof *ends);
    ends[0] = 0;
    struct code_search_hit *hits = query->hits;
    size_t capacity = query->capacity;
    query->hits = search->sorted;
    query->capacity = search->sorted_capacity;
    search->sorted = hits;
    search->sorted_capacity = capacity;
    return 1;
}

/* Compute the distance of a hit unless it is known, and prefetch what comes soon. */
static double examine(const struct code_search *search, struct code_search_query *query, size_t i,
                      const uint64_t *point) {
    struct code_search_hit *hit = query->hits + i;
    if (i + SOON < query->count && query->hits[i + SOON].distance < 0) {
        const struct band_tables *index = search->tables[0];
        const uint64_t *soon = point_of(search, query->hits + i + SOON);
        size_t payload = index->k - index->slots, words = payload < 8 * LINES ? payload : 8 * LINES;
        for (size_t word = 0; word < words; word += 8) prefetch(soon + word);
    }
    if (hit->distance < 0) {
        hit->distance = search->distance(point, point_of(search, hit), search->dim);
        query->examined++;
    }
    return hit->distance;
}

/* 1 if the row of a hit has an entry: this is not asked before a hit is examined, unless a limit counts hits, because it
 * reads memory from all over. */
static int has_entry(const struct code_search *search, const struct code_search_hit *hit) {
    return search->limit != SIZE_MAX || hit->distance >= 0 ||
           band_tables_has(search->tables[number_of(hit) >> 32], (uint32_t)number_of(hit));
}

static inline void prefetch_mark(const struct code_search *search, const struct code_search_query *query, size_t i) {
    if (i >= query->count || query->hits[i].distance >= 0) return;
    const struct band_tables *index = search->tables[number_of(query->hits + i) >> 32];
    prefetch_behind(index->fixed ? index->gone : index->alive, (uint32_t)number_of(query->hits + i));
}

int code_search_examine(struct code_search *search, struct code_search_query *query, const uint64_t *point) {
    size_t kept = 0, at = 0;
    if (!sort_hits(search, query)) return 0;
    search->nearest.held = 0;
    for (unsigned level = 0; level <= query->reach; level++) {
        for (; at < search->levels[level + 1]; at++) {
            prefetch_mark(search, query, at + 2 * SOON);
            if (!has_entry(search, query->hits + at) || examine(search, query, at, point) > search->within) continue;
            query->hits[kept++] = query->hits[at];
            if (search->most != SIZE_MAX && !nearest_note(&search->nearest, search->most, query->hits[kept - 1].distance)) return 0;
        }
        if (search->nearest.held == search->most && search->nearest.distances[0] <= search->enough[level]) {
            query->reach = level;
        }
    }
    /* A row beyond both is none of the nearest, and makes no level the last one. */
    if (search->nearest.held == search->most) {
        query->bound = fmin(search->within, fmax(search->nearest.distances[0], search->enough[query->reach]));
    }
    search->hits -= query->count - kept;
    query->count = kept;
    return 1;
}

/* Examine hits until the limit ends the query. 0: there is no memory. */
static int examine_some(struct code_search *search, struct code_search_query *query, const uint64_t *point) {
    size_t kept = 0, counted = 0;
    int ended = 0;
    if (!sort_hits(search, query)) return 0;
    search->nearest.held = 0;
    for (size_t at = 0; at < query->count && !ended; at++) {
        /* Before the first hit of a level: is what was found enough? */
        unsigned level = level_of(query->hits + at);
        if (level && search->nearest.held == search->most && at == search->levels[level] &&
            search->nearest.distances[0] <= search->enough[level - 1]) {
            break;
        }
        int is_near = examine(search, query, at, point) <= search->within;
        if (is_near) {
            query->hits[kept++] = query->hits[at];
            if (search->most != SIZE_MAX && !nearest_note(&search->nearest, search->most, query->hits[kept - 1].distance)) return 0;
        }
        counted += !search->first || !is_near;
        ended = (search->first && is_near) || counted >= search->limit;
    }
    search->hits -= query->count - kept;
    query->count = kept;
    return 1;
}

/* Leave out the hits, and the levels, that come after as many hits as the limit lets examine: in a crowd of equal codes,
 * hits of one level are as many as the rows. Later hits of a level come behind the earlier ones. 0: there is no memory. */
static int cut_hits(struct code_search *search, struct code_search_query *query) {
    if (query->count <= search->limit) return 1;
    if (!sort_hits(search, query)) return 0;
    unsigned level = 0;
    while (level < query->reach && search->levels[level + 1] <= search->limit) level++;
    search->hits -= query->count - search->limit;
    query->count = search->limit;
    query->reach = level;
    return 1;
}

int code_search_lessen(struct code_search *search, struct code_search_query *query, const uint64_t *point) {
    int done = search->limit == SIZE_MAX ? code_search_examine(search, query, point) : cut_hits(search, query);
    query->mark = query->count > LEAST ? 2 * query->count : LEAST;
    return done;
}

/* Examine what is left to examine, and append the answer. 0: there is no memory. */
static int answer(struct code_search *search, struct code_search_query *query, const uint64_t *point) {
    int done = search->limit == SIZE_MAX ? code_search_examine(search, query, point) : examine_some(search, query, point);
    size_t wanted = search->used + query->count, capacity = search->capacity;
    if (!done || !have((void **)&search->rows, &capacity, wanted, sizeof *search->rows)) return 0;
    if (!have((void **)&search->distances, &search->capacity, wanted, sizeof *search->distances)) return 0;
    double bound = search->nearest.held == search->most ? search->nearest.distances[0] : search->within;
    for (size_t i = 0; i < query->count; i++) {
        if (query->hits[i].distance > bound) continue;
        search->rows[search->used] = number_of(query->hits + i);
        search->distances[search->used++] = query->hits[i].distance;
    }
    return 1;
}

/* ---- searches ---- */

static void begin_group(struct code_search *search, size_t left) {
    search->queries = left < CODE_SEARCH_GROUP ? left : CODE_SEARCH_GROUP;
    search->table = search->row = search->hits = 0;
    search->approached = 0;
    for (size_t i = 0; i < search->queries; i++) {
        struct code_search_query *query = search->query + i;
        query->count = 0;
        query->examined = 0;
        query->mark = LEAST;
        query->floor = 0;
        query->reach = search->reach;
        query->bound = search->within;
    }
}

enum band_tables_outcome code_search_run(struct code_search *search, const uint64_t *codes, const uint64_t *points,
                                         size_t n, size_t *next, int64_t *examined, int64_t *offsets) {
    const size_t words = search->tables[0]->slots, payload = search->tables[0]->k - words;
    size_t done = 0;
    while (*next < n) {
        search->codes = codes + *next * words;
        search->points = points + *next * payload;
        if (!search->queries) begin_group(search, n - *next);
        for (; search->table < search->count; search->table++, search->row = 0, search->approached = 0) {
            enum band_tables_outcome outcome = code_search_cells(search, &done);
            if (outcome == BAND_TABLES_ANSWERED) outcome = code_search_rows(search, &done);
            if (outcome != BAND_TABLES_ANSWERED) return outcome;
        }
        for (size_t i = 0; i < search->queries; i++, ++*next) {
            if (!answer(search, search->query + i, points + *next * payload)) return BAND_TABLES_NO_ROOM;
            examined[*next] = search->query[i].examined;
            offsets[*next + 1] = (int64_t)search->used;
        }
        search->queries = 0;
        if (*next < n) return BAND_TABLES_UNFINISHED;
    }
    return BAND_TABLES_ANSWERED;
}
