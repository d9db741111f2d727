/* The search of neighbors by codes: all codes are scanned, and the distances of the rows with near codes are computed.
 *
 * The slots of a row are the words of its code. The heads, the first words of all codes, are scanned first. The level of
 * a row is the least v such that its code differs from that of the query in at most v bits, and its head in at most
 * near[v]. Rows are examined level by level, up to the last one, `reach`. After level v, no more rows are examined if the
 * k-th least distance is at most enough[v]: a row that is nearer than that is of level v or a lower one with the
 * probability that was promised. So the answer does not depend on the order of the rows, nor on the number of tables that
 * they are in.
 *
 * If a query has many hits before all codes are scanned, those so far are examined in this way. They end at the same
 * level as all hits will, or at a later one, so later hits need no more than that level.
 *
 * Where a table has cells (code_cells.h), a query is compared with the nearest cell first. Once k rows are found, a row that is
 * farther away than enough[reach] and than all of them changes nothing, nor does one beyond `within`; so such rows of other cells
 * are skipped. The groups of cells that are left are compared cell by cell with all queries.
 *
 * A piece of the codes is compared with several queries while it is in the first cache.
 *
 * Contract: as in band_tables.h, of tables with codes. Nothing but the memory of the search is written, and it is used by
 * one thread. A row has a number among those of all tables. */
#ifndef LSHFAST_CODE_SEARCH_H
#define LSHFAST_CODE_SEARCH_H

#include "hamming/hamming.h"
#include "tables/band_tables.h"
#include "tables/band_tables_search.h"

#define CODE_SEARCH_GROUP 256 /* queries that are compared with a piece of the codes */
#define CODE_SEARCH_MOST ((size_t)1 << 22) /* hits of a group; if there are more, it gets fewer queries */

struct code_search_hit {
    uint64_t place;  /* level << 48 | number of the row */
    double distance; /* below 0: not computed */
};

/* Groups of a cell that may have rows which are near enough to a query. */
struct code_search_groups {
    uint32_t first, end;
    uint32_t cell, query;
};

/* Near heads of one query, whose tails are compared later, when they are in a cache. */
struct code_search_part {
    uint32_t query, count;
};

/* The hits of a query so far. */
struct code_search_query {
    struct code_search_hit *hits;
    size_t count, capacity;
    size_t mark; /* examine the hits when there are so many */
    unsigned floor, reach; /* levels that are looked for */
    double bound; /* rows beyond it are of no use */
    int64_t examined;
};

struct code_search {
    /* the caller's */
    const struct band_tables *const *tables;
    size_t count; /* of tables; row 0 of table t has the number t << 32 */
    const struct hamming_kernels *kernels;
    const struct products_kernels *products;
    band_search_distance *distance;
    size_t dim;
    unsigned reach;
    const uint8_t *near;  /* reach + 1 numbers that do not fall */
    const double *enough; /* reach + 1 distances that ascend */
    size_t most;   /* nearest rows that are kept, and those as near as the last; SIZE_MAX: all, of all levels */
    double within; /* the greatest distance that is kept */
    size_t limit;  /* rows that count; SIZE_MAX: no limit */
    int first;     /* 1: only rows beyond `within` count, and the first other one ends the query */
    size_t work;   /* words that a call reads, about */
    int alone;     /* 1: there is one query, which may examine other rows than it would among others, with the same answer */

    /* the answers: numbers of rows, of one query after the other */
    uint64_t *rows;
    double *distances;
    size_t used, capacity;

    /* the present group */
    size_t queries; /* 0: none has begun */
    const uint64_t *codes, *points;
    size_t table, row;
    int approached;   /* 1: the groups are chosen */
    size_t next;      /* of the groups */
    size_t piece; /* rows that are compared at once */
    size_t hits;
    float *units, *with; /* CODE_CELLS_BLOCK queries, and their products with all centres */
    uint32_t *live;      /* cells of a query, and their bounds */
    float *low, *high;
    struct code_search_groups *groups, *ordered; /* of all queries, by cell */
    size_t groups_count, groups_capacity, ordered_capacity;
    struct code_search_query *query; /* CODE_SEARCH_GROUP */
    struct code_search_hit *sorted;
    size_t sorted_capacity;
    size_t *levels;  /* reach + 2 */
    struct nearest nearest; /* the `most` least distances */
    uint64_t *found; /* places of near heads, and the bits in which their tails differ */
    uint32_t *more;
    size_t found_count, parts_count;
    struct code_search_part *parts; /* of `found` */
    uint16_t *levels_of_heads; /* near[reach] + 1: the least level of a head that differs in so many bits */
};

/* Have memory for searches; the fields of the caller are set. NO_MEMORY: nothing is held. */
enum tables_outcome code_search_begin(struct code_search *search);
void code_search_end(struct code_search *search);

/* Search for queries [*next, n). codes: (n, slots); points: (n, k - slots); offsets[q + 1] becomes the end of query q's
 * rows, and examined[q] the number of distances. UNFINISHED: call again. NO_ROOM: there is no memory. */
enum band_tables_outcome code_search_run(struct code_search *search, const uint64_t *codes, const uint64_t *points,
                                         size_t n, size_t *next, int64_t *examined, int64_t *offsets);

#endif
