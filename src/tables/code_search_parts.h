/* What the parts of the search by codes share: code_search.c has the hits of queries and the answers, code_search_scan.c finds
 * hits in cells and among the other rows. */
#ifndef LSHFAST_CODE_SEARCH_PARTS_H
#define LSHFAST_CODE_SEARCH_PARTS_H

#include "tables/code_search.h"

#define MANY_FOUND 64 /* near heads, after which their tails are compared */
#define LEAST 64    /* hits of a query before they are examined for the first time */
#define LEVEL_BITS 48

static inline unsigned level_of(const struct code_search_hit *hit) { return (unsigned)(hit->place >> LEVEL_BITS); }

static inline uint64_t number_of(const struct code_search_hit *hit) {
    return hit->place & (((uint64_t)1 << LEVEL_BITS) - 1);
}

static inline int have_hits(struct code_search_query *query, size_t more) {
    return have((void **)&query->hits, &query->capacity, query->count + more, sizeof *query->hits);
}

/* Examine hits level by level, and leave those of the levels that were not needed out. 0: there is no memory. */
int code_search_examine(struct code_search *search, struct code_search_query *query, const uint64_t *point);

/* Make do with fewer hits of a query that has many. 0: there is no memory. */
int code_search_lessen(struct code_search *search, struct code_search_query *query, const uint64_t *point);

/* Find the hits of the group in the cells of the present table, and among its other rows. UNFINISHED: call again. */
enum band_tables_outcome code_search_cells(struct code_search *search, size_t *done);
enum band_tables_outcome code_search_rows(struct code_search *search, size_t *done);

#endif
