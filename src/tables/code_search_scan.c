/* Near heads are found first, and their tails are compared some heads later, when they are in a cache. */
#include "tables/code_search_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MANY 16      /* so many queries read most of the tails of a piece */
#define FIRST 2     /* times k: so many rows of the nearest cell are examined first */
#define FIRST_CELLS 16 /* the nearest cells are scanned until k rows are found; at most so many, one at least */
/* A query that comes alone reads codes from memory. It scans so many cells first, which bounds better what it reads of the others:
 * that takes .85 of the time for 500,000 x 128 on a curved surface, .97 for 200,000 x 256 of topics, and as long for fewer. */
#define LONE_CELLS 3

/* The cells of the present table, or cells without rows where they would leave out little. A limit counts rows that are
 * farther away, so that none are left out. */
static const struct code_cells *cells_of(const struct code_search *search) {
    static const struct code_cells none;
    const struct code_cells *cells = &search->tables[search->table]->cells;
    const double last = search->most == SIZE_MAX || search->enough[search->reach] < 0 ? INFINITY : search->enough[search->reach];
    const int useful = search->distance == cells->distance && fmin(last, search->within) <= cells->useful;
    return search->limit == SIZE_MAX && useful ? cells : &none;
}

static inline const uint64_t *code_of(const struct code_search *search, size_t query) {
    return search->codes + query * search->tables[0]->slots;
}

static inline const uint64_t *query_point(const struct code_search *search, size_t query) {
    return search->points + query * (search->tables[0]->k - search->tables[0]->slots);
}

/* The row at a place of the cells, or of the table, or TABLES_NO_ROW if there is none, or it is scanned elsewhere. */
static inline uint32_t row_at(const struct code_cells *cells, int in_cells, uint32_t place) {
    if (!in_cells) return code_cells_have(cells, place) ? TABLES_NO_ROW : place;
    const uint32_t row = cells->rows[place];
    return cells->changed && row != TABLES_NO_ROW && cells->moved[row] ? TABLES_NO_ROW : row;
}

/* Compare the tails of the near heads of a query, and add the hits; 0: there is no memory. */
static int add_hits(struct code_search *search, size_t i, const uint64_t *found, size_t count, int in_cells) {
    const struct band_tables *index = search->tables[search->table];
    const struct code_cells *cells = cells_of(search);
    struct code_search_query *query = search->query + i;
    const uint64_t *tails = in_cells ? cells->tails : index->tails, number = (uint64_t)search->table << 32;
    /* As many hits as the limit lets examine come before further ones of the last level. */
    const int full = query->count >= search->limit;
    if (full && !query->reach) return 1;
    const unsigned last = query->reach - (full ? 1 : 0);
    if (!have_hits(query, count)) return 0;
    search->kernels->differences(tails, found, count, index->slots - index->head, code_of(search, i) + index->head, search->more);
    const size_t before = query->count;
    size_t after = before;
    for (size_t p = 0; p < count; p++) {
        const unsigned head = (unsigned)(found[p] >> 32), least = search->levels_of_heads[head];
        const unsigned sum = head + search->more[p], level = sum < least ? least : sum;
        const uint32_t row = row_at(cells, in_cells, (uint32_t)found[p]);
        query->hits[after] = (struct code_search_hit){(uint64_t)level << LEVEL_BITS | number | row, -1};
        after += level >= query->floor && level <= last && row != TABLES_NO_ROW;
    }
    if (search->limit == SIZE_MAX) query->count = after;
    else for (size_t hit = before; hit < after; hit++) {
        if (band_tables_has(index, (uint32_t)query->hits[hit].place)) query->hits[query->count++] = query->hits[hit];
    }
    search->hits += query->count - before;
    return query->count < query->mark || code_search_lessen(search, query, query_point(search, i));
}

/* Add the hits among what was found, of queries that are still searched for; 0: there is no memory. */
static int add_found(struct code_search *search, int in_cells) {
    const uint64_t *found = search->found;
    int done = 1;
    for (size_t part = 0; done && part < search->parts_count; part++) {
        const size_t query = search->parts[part].query, count = search->parts[part].count;
        done = query >= search->queries || add_hits(search, query, found, count, in_cells);
        found += count;
    }
    search->found_count = search->parts_count = 0;
    return done;
}

/* Find the near heads of a query among `size` codes from a place on, and prefetch their tails. */
static void find_heads(struct code_search *search, size_t i, size_t place, size_t size, int in_cells) {
    const struct band_tables *index = search->tables[search->table];
    const struct code_cells *cells = cells_of(search);
    const uint64_t *heads = (in_cells ? cells->heads : index->heads) + place * index->head;
    const uint64_t *tails = in_cells ? cells->tails : index->tails;
    const size_t tail = index->slots - index->head;
    uint64_t *found = search->found + search->found_count;
    const size_t count = search->kernels->near_columns(heads, size, index->head, code_of(search, i),
                                                       search->near[search->query[i].reach], found);
    for (size_t p = 0; p < count; p++) {
        found[p] += place;
        prefetch(tails + (uint32_t)found[p] * tail);
        if (in_cells) prefetch(cells->rows + (uint32_t)found[p]);
    }
    if (!count) return;
    search->parts[search->parts_count++] = (struct code_search_part){(uint32_t)i, (uint32_t)count};
    search->found_count += count;
}

/* ---- cells ---- */

/* Scan groups [first, end) of the cells; hits are added at the latest by add_found. 0: there is no memory. */
static int scan_groups(struct code_search *search, size_t i, size_t first, size_t end, size_t *done) {
    const size_t most = search->piece / HAMMING_GROUP;
    for (; first < end; first += most) {
        const size_t size = (end - first < most ? end - first : most) * HAMMING_GROUP;
        find_heads(search, i, first * HAMMING_GROUP, size, 1);
        if (search->found_count >= MANY_FOUND && !add_found(search, 1)) return 0;
        *done += size;
    }
    return 1;
}

/* Let the last half of a group go, to be searched for later. */
static void halve(struct code_search *search) {
    size_t left = search->queries / 2;
    for (size_t i = left; i < search->queries; i++) {
        struct code_search_query *query = search->query + i;
        search->hits -= query->count;
        free(query->hits);
        query->hits = NULL;
        query->count = query->capacity = 0;
    }
    search->queries = left;
}

/* Have memory for cells; 0 if there is none. */
static int have_cells(struct code_search *search) {
    const size_t room = CODE_CELLS_MOST + PRODUCTS_LANES;
    if (search->units) return 1;
    search->with = malloc(CODE_CELLS_BLOCK * CODE_CELLS_MOST * sizeof *search->with);
    search->live = malloc(room * sizeof *search->live);
    search->low = malloc(room * sizeof *search->low);
    search->high = malloc(room * sizeof *search->high);
    search->units = malloc(CODE_CELLS_BLOCK * search->dim * sizeof *search->units);
    return search->with && search->live && search->low && search->high && search->units;
}

/* Scan a cell for a query to the end. */
static int scan_cell(struct code_search *search, size_t i, size_t cell, size_t *done) {
    const struct code_cells *cells = cells_of(search);
    return scan_groups(search, i, cells->starts[cell], cells->starts[cell + 1], done) && add_found(search, 1);
}

/* Scan the cell for the first rows of a query. Those with the nearest codes are found and examined first, which bounds what else is
 * near enough. 0: there is no memory. */
static int scan_first(struct code_search *search, size_t i, size_t cell, size_t *done) {
    struct code_search_query *query = search->query + i;
    const unsigned whole = query->reach;
    query->mark = SIZE_MAX;
    query->reach = whole / 2;
    while (1) {
        if (!scan_cell(search, i, cell, done)) return 0;
        query->floor = query->reach + 1;
        if (query->count >= FIRST * search->most || query->reach == whole) break;
        query->reach += whole / 8 + 1;
        if (query->reach > whole) query->reach = whole;
    }
    if (query->count >= search->most && query->reach < whole) {
        if (!code_search_examine(search, query, query_point(search, i))) return 0;
        const unsigned reach = query->reach;
        const int known = search->nearest.held == search->most;
        while (query->reach < whole && !(known && search->nearest.distances[0] <= search->enough[query->reach])) query->reach++;
        if (query->reach >= query->floor && !scan_cell(search, i, cell, done)) return 0;
        if (query->reach > reach) query->bound = search->within;
    }
    query->floor = 0;
    query->mark = query->count > LEAST / 2 ? 2 * query->count : LEAST;
    return 1;
}

/* Scan the nearest cells of a query, which bounds what is near enough, and choose groups of the others. `products` are those of
 * the query with the centres, and change. 0: there is no memory. */
static int approach(struct code_search *search, size_t i, float *products, int is_unit, size_t *done) {
    const struct code_cells *cells = cells_of(search);
    struct code_search_query *query = search->query + i;
    const size_t least = search->alone ? LONE_CELLS : 1;
    size_t nearest[FIRST_CELLS], n = 0, first, end;
    for (; is_unit && search->most != SIZE_MAX && n < (query->count < search->most ? FIRST_CELLS : least); n++) {
        const size_t cell = nearest[n] = search->products->greatest(products, cells->count);
        if (!(query->count ? scan_cell : scan_first)(search, i, cell, done)) return 0;
        products[cell] = -INFINITY;
    }
    if (query->count >= search->most && !code_search_lessen(search, query, query_point(search, i))) return 0;
    const struct products_angle angle = code_cells_angle(cells, is_unit ? query->bound : 2);
    const size_t count = search->products->within(products, cells->bounds, cells->bounds + cells->count, cells->count, &angle,
                                                  search->live, search->low, search->high);
    if (!have((void **)&search->groups, &search->groups_capacity, search->groups_count + count, sizeof *search->groups)) return 0;
    for (size_t c = 0; c < count; c++) {
        const uint32_t cell = search->live[c];
        int scanned = 0;
        for (size_t j = 0; j < n; j++) scanned |= cell == nearest[j];
        code_cells_groups(cells, cell, search->low[c], search->high[c], &first, &end);
        search->groups[search->groups_count] = (struct code_search_groups){(uint32_t)first, (uint32_t)end, cell, (uint32_t)i};
        search->groups_count += first < end && !scanned;
    }
    return 1;
}

/* Order the groups by cell, so that the codes of a cell are in a cache while they are compared with all queries. 0: there is no
 * memory. */
static int order_groups(struct code_search *search) {
    const size_t cells = cells_of(search)->count, n = search->groups_count;
    uint32_t *ends = search->live;
    if (!have((void **)&search->ordered, &search->ordered_capacity, n, sizeof *search->ordered)) return 0;
    memset(ends, 0, (cells + 1) * sizeof *ends);
    for (size_t i = 0; i < n; i++) ends[search->groups[i].cell + 1]++;
    for (size_t cell = 1; cell <= cells; cell++) ends[cell] += ends[cell - 1];
    for (size_t i = 0; i < n; i++) search->ordered[ends[search->groups[i].cell]++] = search->groups[i];
    return 1;
}

/* Choose the groups of all queries. 0: there is no memory. */
static int choose_groups(struct code_search *search, size_t *done) {
    const struct code_cells *cells = cells_of(search);
    int units[CODE_CELLS_BLOCK];
    search->groups_count = search->next = 0;
    if (!cells->count) return 1;
    if (!have_cells(search)) return 0;
    for (size_t first = 0; first < search->queries; first += CODE_CELLS_BLOCK) {
        const size_t n = search->queries - first < CODE_CELLS_BLOCK ? search->queries - first : CODE_CELLS_BLOCK;
        for (size_t i = 0; i < n; i++) {
            units[i] = products_unit(query_point(search, first + i), cells->dim, cells->wide, search->units + i * cells->dim);
        }
        search->products->multiply(search->units, n, cells->panels, cells->count, cells->dim, search->with);
        for (size_t i = 0; i < n && first + i < search->queries; i++) {
            if (!approach(search, first + i, search->with + i * cells->count, units[i], done)) return 0;
            if (search->hits > CODE_SEARCH_MOST && search->queries > 1) halve(search);
        }
    }
    return order_groups(search);
}

/* 1 if rows are scanned where they are: one of them is in no cell. */
static int have_others(const struct code_cells *cells, size_t row, size_t size) {
    if (row + size > cells->limit) return 1;
    return cells->changed && memchr(cells->moved + row, 1, size);
}

static void prefetch_tails(const struct code_search *search, size_t size) {
    const struct band_tables *index = search->tables[search->table];
    const size_t tail = index->slots - index->head;
    const uint64_t *tails = index->tails + search->row * tail;
    for (size_t word = 0; word < size * tail; word += 8) prefetch(tails + word);
}

enum band_tables_outcome code_search_cells(struct code_search *search, size_t *done) {
    if (!search->approached && !choose_groups(search, done)) return BAND_TABLES_NO_ROOM;
    search->approached = 1;
    for (; search->next < search->groups_count; search->next++) {
        const struct code_search_groups *groups = search->ordered + search->next;
        if (*done >= search->work) return BAND_TABLES_UNFINISHED;
        if (groups->query >= search->queries) continue;
        if (!scan_groups(search, groups->query, groups->first, groups->end, done)) return BAND_TABLES_NO_ROOM;
        if (search->hits > CODE_SEARCH_MOST && search->queries > 1) halve(search);
    }
    return add_found(search, 1) ? BAND_TABLES_ANSWERED : BAND_TABLES_NO_ROOM;
}

enum band_tables_outcome code_search_rows(struct code_search *search, size_t *done) {
    const struct code_cells *cells = cells_of(search);
    const size_t limit = search->tables[search->table]->limit;
    for (; search->row < limit; search->row += search->piece) {
        if (*done >= search->work) return BAND_TABLES_UNFINISHED;
        const size_t size = limit - search->row < search->piece ? limit - search->row : search->piece;
        if (!have_others(cells, search->row, size)) continue;
        if (search->queries >= MANY) prefetch_tails(search, size);
        for (size_t i = 0; i < search->queries; i++) {
            find_heads(search, i, search->row, size, 0);
            if (!add_found(search, 0)) return BAND_TABLES_NO_ROOM;
            if (search->hits > CODE_SEARCH_MOST && search->queries > 1) halve(search);
        }
        *done += search->queries * size;
    }
    return BAND_TABLES_ANSWERED;
}
