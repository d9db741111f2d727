/* Centres: some rounds of k-means with the unit vectors of a sample (spherical k-means). */
#include "tables/code_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tables/band_tables.h"
#include "tables/tables_memory.h"

#define CELLS 8          /* of n rows: the root of n / CELLS */
#define SAMPLE_ROWS 32   /* of a cell, from which its centre is made */
#define ROUNDS 4         /* more leave out hardly more */
#define STEP_ROWS 1024   /* rows that one call divides */
#define NO_CELL UINT32_MAX
#define TRIALS 32        /* rows as queries, which find out where cells are useful */
#define TRIAL_STEP 0.05  /* of their angles */
#define MOST_SHARE 0.5   /* of the groups, that cells are useful for */
#define NEARER 0.7       /* the nearest rows are usually within this part of the angle that a search is for */

struct code_cells_place {
    float value;
    uint32_t row, cell;
};

/* Zeros that begin with a cache line. */
static void *zeros(size_t count, size_t width) {
    struct tables_heap heap = {malloc, 0, NULL};
    void *memory = tables_memory_get(&heap, count, width);
    return memory ? memset(memory, 0, count * width) : NULL;
}

void code_cells_free(struct code_cells *cells) {
    void *all[] = {cells->starts, cells->rows, cells->lowest, cells->highest, cells->bounds, cells->moved};
    void *lines[] = {cells->panels, cells->heads, cells->tails};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) tables_memory_free(lines[i]);
    memset(cells, 0, sizeof *cells);
}

size_t code_cells_for(size_t rows, size_t least) {
    size_t count = PRODUCTS_LANES;
    if (rows < least) return 0;
    while (count < CODE_CELLS_MOST && CELLS * count * count < rows) count += PRODUCTS_LANES;
    return count;
}

int code_cells_wanted(const struct band_tables *index, size_t least) {
    const size_t limit = index->limit, placed = index->cells.limit < limit ? index->cells.limit : limit;
    if (!code_cells_for(limit - index->free_count, least)) return 0;
    return !index->cells.count || limit - placed > placed / 2 || index->cells.changed > placed / 8;
}

/* ---- centres ---- */

/* Make units and products of up to CODE_CELLS_BLOCK rows; `angles` says which are units. */
static void multiply(struct code_cells_making *making, const uint32_t *rows, size_t n, int *angles) {
    const struct code_cells *cells = &making->cells;
    for (size_t i = 0; i < n; i++) {
        const uint64_t *point = band_tables_signature(making->index, rows[i]) + making->index->slots;
        angles[i] = products_unit(point, cells->dim, cells->wide, making->units + i * cells->dim);
    }
    making->kernels->multiply(making->units, n, cells->panels, cells->count, cells->dim, making->products);
}

static void write_centre(struct code_cells *cells, size_t cell, const double *sums, double scale) {
    float *column = products_column(cells->panels, cells->dim, cell);
    for (size_t j = 0; j < cells->dim; j++) column[j * PRODUCTS_LANES] = (float)(sums[j] * scale);
}

/* Make the centres the mean directions of the sample's rows of each cell. A cell without a direction keeps its centre. */
static void refine(struct code_cells_making *making, const uint32_t *sample, size_t n, double *sums) {
    struct code_cells *cells = &making->cells;
    const size_t dim = cells->dim;
    int angles[CODE_CELLS_BLOCK];
    memset(sums, 0, cells->count * dim * sizeof *sums);
    for (size_t first = 0; first < n; first += CODE_CELLS_BLOCK) {
        const size_t size = n - first < CODE_CELLS_BLOCK ? n - first : CODE_CELLS_BLOCK;
        multiply(making, sample + first, size, angles);
        for (size_t i = 0; i < size; i++) {
            double *mine = sums + making->kernels->greatest(making->products + i * cells->count, cells->count) * dim;
            for (size_t j = 0; j < dim; j++) mine[j] += (double)making->units[i * dim + j];
        }
    }
    for (size_t cell = 0; cell < cells->count; cell++) {
        double length = 0;
        for (size_t j = 0; j < dim; j++) length += sums[cell * dim + j] * sums[cell * dim + j];
        if (length > 1e-6) write_centre(cells, cell, sums + cell * dim, 1 / sqrt(length));
    }
}

/* Rows at equal steps; how many. */
static size_t take_sample(const struct band_tables *index, uint32_t *sample, size_t most) {
    const size_t step = index->limit / most + 1;
    size_t n = 0;
    for (size_t row = 0; row < index->limit; row += step) {
        if (band_tables_has(index, row)) sample[n++] = (uint32_t)row;
    }
    return n;
}

int code_cells_begin(struct code_cells_making *making) {
    struct code_cells *cells = &making->cells;
    const size_t count = cells->count, dim = cells->dim, most = count * SAMPLE_ROWS;
    uint32_t *sample = malloc(most * sizeof *sample);
    double *sums = malloc(count * dim * sizeof *sums);
    making->units = malloc(CODE_CELLS_BLOCK * dim * sizeof *making->units);
    making->products = malloc(CODE_CELLS_BLOCK * count * sizeof *making->products);
    making->places = malloc(making->index->limit * sizeof *making->places);
    cells->panels = zeros(count * dim, sizeof *cells->panels);
    int done = sample && sums && making->units && making->products && making->places && cells->panels;
    const size_t n = done ? take_sample(making->index, sample, most) : 0;
    done = done && n;
    for (size_t cell = 0; done && cell < count; cell++) {
        const uint64_t *point = band_tables_signature(making->index, sample[cell * n / count]) + making->index->slots;
        products_unit(point, dim, cells->wide, making->units);
        for (size_t j = 0; j < dim; j++) sums[j] = (double)making->units[j];
        write_centre(cells, cell, sums, 1);
    }
    for (int round = 0; done && round < ROUNDS; round++) refine(making, sample, n, sums);
    free(sample);
    free(sums);
    return done;
}

/* ---- rows ---- */

int code_cells_divide(struct code_cells_making *making) {
    const struct band_tables *index = making->index;
    const size_t count = making->cells.count;
    const size_t end = index->limit - making->row < STEP_ROWS ? index->limit : making->row + STEP_ROWS;
    uint32_t rows[CODE_CELLS_BLOCK];
    int angles[CODE_CELLS_BLOCK];
    while (making->row < end) {
        size_t n = 0;
        for (; making->row < end && n < CODE_CELLS_BLOCK; making->row++) {
            making->places[making->row] = (struct code_cells_place){0, (uint32_t)making->row, NO_CELL};
            if (band_tables_has(index, making->row)) rows[n++] = (uint32_t)making->row;
        }
        multiply(making, rows, n, angles);
        for (size_t i = 0; i < n; i++) {
            const float *products = making->products + i * count;
            struct code_cells_place *place = making->places + rows[i];
            if (!angles[i]) {
                making->cells.changed++;
                continue;
            }
            place->cell = (uint32_t)making->kernels->greatest(products, count);
            place->value = products[place->cell];
        }
    }
    return making->row == index->limit;
}

/* By cell; in a cell, the greatest cosines first. */
static int compare(const void *a, const void *b) {
    const struct code_cells_place *x = a, *y = b;
    if (x->cell != y->cell) return x->cell < y->cell ? -1 : 1;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Copy the rows of a cell, which are sorted, to its groups. */
static void fill(struct code_cells *cells, const struct band_tables *index, const struct code_cells_place *places, size_t rows) {
    const size_t head = index->head, tail = index->slots - head, first = cells->starts[places->cell];
    const float error = products_error(cells->dim);
    for (size_t i = 0; i < rows; i++) {
        const size_t own = first + i / BAND_TABLES_GROUP, t = i % BAND_TABLES_GROUP;
        const uint64_t *code = band_tables_signature(index, places[i].row);
        uint64_t *heads = cells->heads + own * BAND_TABLES_GROUP * head;
        for (size_t word = 0; word < head; word++) heads[word * BAND_TABLES_GROUP + t] = code[word];
        memcpy(cells->tails + (own * BAND_TABLES_GROUP + t) * tail, code + head, tail * sizeof *code);
        cells->rows[own * BAND_TABLES_GROUP + t] = places[i].row;
        cells->moved[places[i].row] = 0;
        if (!t) cells->highest[own] = places[i].value + error;
        cells->lowest[own] = places[i].value - error;
    }
    cells->bounds[places->cell] = places[rows - 1].value - error;
    cells->bounds[cells->count + places->cell] = places->value + error;
}

static int sort_rows(struct code_cells_making *making) {
    const struct band_tables *index = making->index;
    struct code_cells *cells = &making->cells;
    const size_t count = cells->count, limit = index->limit;
    const struct code_cells_place *places = making->places;
    cells->starts = calloc(count + 1, sizeof *cells->starts);
    cells->bounds = malloc(2 * count * sizeof *cells->bounds);
    if (!cells->starts || !cells->bounds) return 0;
    qsort(making->places, limit, sizeof *places, compare);
    for (size_t i = 0; i < limit && places[i].cell != NO_CELL; i++) cells->starts[places[i].cell + 1]++;
    for (size_t cell = 0; cell < count; cell++) {
        const size_t rows = cells->starts[cell + 1];
        cells->starts[cell + 1] = cells->starts[cell] + (rows + BAND_TABLES_GROUP - 1) / BAND_TABLES_GROUP;
        cells->bounds[cell] = 2;
        cells->bounds[count + cell] = -2;
    }
    cells->groups = cells->starts[count];
    if (cells->groups > UINT32_MAX / BAND_TABLES_GROUP) return 0; /* a place is a number of 32 bits */
    const size_t room = cells->groups * BAND_TABLES_GROUP + 1;
    cells->heads = zeros(room * index->head, sizeof *cells->heads);
    cells->tails = zeros(room * (index->slots - index->head), sizeof *cells->tails);
    cells->rows = malloc(room * sizeof *cells->rows);
    cells->lowest = malloc((cells->groups + 1) * sizeof *cells->lowest);
    cells->highest = malloc((cells->groups + 1) * sizeof *cells->highest);
    cells->moved = malloc(limit + 1);
    if (!cells->heads || !cells->tails || !cells->rows || !cells->lowest || !cells->highest || !cells->moved) return 0;
    memset(cells->rows, 0xFF, room * sizeof *cells->rows);
    memset(cells->moved, 1, limit + 1);
    for (size_t i = 0, first = 0; i < limit && places[i].cell != NO_CELL; first = i) {
        for (i = first; i < limit && places[i].cell == places[first].cell; i++) continue;
        fill(cells, index, places + first, i - first);
    }
    cells->limit = limit;
    return 1;
}

/* The share of the groups that may have rows within an angle of some rows, whose products are computed. */
static double share_within(const struct code_cells_making *making, size_t n, double angle, uint32_t *live, float *low, float *high) {
    const struct code_cells *cells = &making->cells;
    const struct products_angle within = code_cells_angle(cells, 1 - cos(angle));
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t count = making->kernels->within(making->products + i * cells->count, cells->bounds,
                                                     cells->bounds + cells->count, cells->count, &within, live, low, high);
        for (size_t c = 0; c < count; c++) {
            size_t first, end;
            code_cells_groups(cells, live[c], low[c], high[c], &first, &end);
            left += end - first;
        }
    }
    return (double)left / (double)(n * cells->groups);
}

/* Find the greatest distance at which cells are useful. 0: there is no memory. */
static int try_cells(struct code_cells_making *making) {
    struct code_cells *cells = &making->cells;
    const size_t room = cells->count + PRODUCTS_LANES, places = cells->groups * BAND_TABLES_GROUP;
    uint32_t trials[TRIALS], *live = malloc(room * sizeof *live);
    float *low = malloc(room * sizeof *low), *high = malloc(room * sizeof *high);
    const int done = live && low && high;
    int angles[TRIALS];
    size_t n = 0;
    double angle = 0;
    for (size_t at = 0; at < places; at += places / TRIALS + 1) {
        if (cells->rows[at] != TABLES_NO_ROW) trials[n++] = cells->rows[at];
    }
    multiply(making, trials, n, angles);
    while (done && n && angle < NEARER * acos(-1.0) &&
           share_within(making, n, angle + TRIAL_STEP, live, low, high) <= MOST_SHARE) {
        angle += TRIAL_STEP;
    }
    cells->useful = angle > 0 ? 1 - cos(fmin(angle / NEARER, acos(-1.0))) : -1;
    free(live);
    free(low);
    free(high);
    return done;
}

int code_cells_end(struct code_cells_making *making, struct code_cells *cells, int made) {
    made = made && sort_rows(making) && try_cells(making);
    if (made) {
        code_cells_free(cells);
        *cells = making->cells;
    } else {
        code_cells_free(&making->cells);
    }
    free(making->units);
    free(making->products);
    free(making->places);
    return made;
}

/* ---- searches ---- */

struct products_angle code_cells_angle(const struct code_cells *cells, double within) {
    const float error = products_error(cells->dim);
    if (!(within < 2)) return (struct products_angle){-1, 0, error};
    if (within < 0) within = 0;
    return (struct products_angle){(float)(1 - within), (float)sqrt(within * (2 - within)), error};
}

/* How many of n numbers, which do not rise, are above a bound. */
static inline size_t above(const float *numbers, size_t n, float bound) {
    size_t count = 0;
    for (; n > 1; n -= n / 2) count += numbers[count + n / 2 - 1] > bound ? n / 2 : 0;
    return count + (n && numbers[count] > bound);
}

void code_cells_groups(const struct code_cells *cells, size_t cell, float low, float high, size_t *first, size_t *end) {
    const size_t start = cells->starts[cell], n = cells->starts[cell + 1] - start;
    *first = start + above(cells->lowest + start, n, high);
    *end = start + above(cells->highest + start, n, low);
    if (*end < *first) *end = *first;
}
