/* The search of neighbors: the rows that share a bucket with a query, several buckets a band, and their distances to it.
 *
 * The buckets are walked lazily, the first of all bands before the second ones, some rows at a time, so that a limit ends
 * the walk early and a call can end anywhere. Each row counts once: a bit a row tells whether it was met.
 *
 * Contract: as in band_tables.h, of tables with `apart`. Nothing but the memory of the search is written. It may be used
 * for any number of queries, one after the other, as long as the tables do not change. */
#ifndef LSHFAST_BAND_TABLES_SEARCH_H
#define LSHFAST_BAND_TABLES_SEARCH_H

#include "tables/band_tables.h"
#include "tables/nearest.h"

typedef double band_search_distance(const uint64_t *a, const uint64_t *b, size_t dim);

/* What one query has come to in the segments so far. */
struct band_search_progress {
    int64_t examined; /* rows whose distance was computed */
    int64_t counted;  /* those that count against the limit */
    int64_t ended;    /* 1: no further row is examined */
};

struct band_search {
    /* the caller's */
    band_search_distance *distance;
    size_t dim;
    size_t probes; /* buckets a band */
    size_t most;   /* nearest rows that are kept, and those as near as the last; SIZE_MAX: all */
    double within; /* the greatest distance that is kept */
    size_t limit;  /* rows that count; SIZE_MAX: no limit */
    int first;     /* 1: only rows beyond `within` count, and the first other one ends the query */
    size_t work;   /* words that a call reads, about */

    /* the answers: the rows of the queries, one query after the other */
    uint32_t *rows;
    double *distances;
    size_t used, capacity;

    /* the walk of the present query */
    int begun;
    size_t place, slot;  /* the bucket, in the order of the walk, and the next of its slots */
    size_t kept, next;   /* answers of this query; how many there are when those too far are left out */
    uint64_t *entries;   /* of probes * bands buckets */
    uint64_t *marks;     /* a bit for each row that was met */
    uint32_t *met;       /* the rows that were met */
    size_t met_count, met_capacity;
    struct nearest nearest; /* the `most` least distances */
};

/* Have memory for searches in these tables; the fields of the caller are set. NO_MEMORY: nothing is held. */
enum tables_outcome band_search_begin(struct band_search *search, const struct band_tables *index);
void band_search_end(struct band_search *search);

/* Search for queries [*next, n). buckets: (n, bands, probes), EMPTY_SLOT for none; points: (n, k - slots); offsets[q + 1]
 * becomes the end of query q's rows. UNFINISHED: call again. NO_ROOM: there is no memory. UNSOUND: an entry leads
 * nowhere. */
enum band_tables_outcome band_search_run(const struct band_tables *index, const uint64_t *buckets,
                                         const uint64_t *points, size_t n, size_t *next, struct band_search *search,
                                         struct band_search_progress *progress, int64_t *offsets);

#endif
