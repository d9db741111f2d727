/* Centres: the most common bits of a sample's codes, twice refined; then the mean directions of the sample's points. */
#include "tables/code_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hamming/hamming.h"
#include "tables/band_tables.h"

#define CELLS 16         /* a fourth of the root of the number of rows, or up to twice as many */
#define SAMPLE_ROWS 32   /* of a cell, from which its centre is made */
#define ROUNDS 2         /* of refining; more do not leave out more */
#define STEP_ROWS 4096   /* rows that one call divides */
#define NO_CELL UINT32_MAX
#define TRIALS 32        /* rows as queries, which find out where cells are useful */
#define TRIAL_STEP 0.05  /* of their angles */
#define MOST_SHARE 0.5   /* of the groups, that cells are useful for */
#define NEARER 0.7       /* the nearest rows are usually within this part of the angle that a search is for */

struct code_cells_place {
    double value;
    uint32_t row, cell;
};

void code_cells_free(struct code_cells *cells) {
    void *all[] = {cells->starts, cells->heads, cells->tails, cells->rows, cells->least, cells->most, cells->centres, cells->moved};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    memset(cells, 0, sizeof *cells);
}

size_t code_cells_for(size_t rows, size_t least) {
    size_t count = 16;
    if (rows < least) return 0;
    while (count < CODE_CELLS_MOST && CELLS * count * count < rows) count *= 2;
    return count < rows ? count : rows;
}

int code_cells_wanted(const struct band_tables *index, size_t least) {
    const size_t limit = index->limit, placed = index->cells.limit < limit ? index->cells.limit : limit;
    if (!code_cells_for(limit - index->free_count, least)) return 0;
    return !index->cells.count || limit - placed > placed / 2 || index->cells.changed > placed / 8;
}

/* ---- centres ---- */

static const uint64_t *point_of(const struct code_cells_making *making, size_t row) {
    return band_tables_signature(making->index, row) + making->index->slots;
}

static double coordinate(const struct code_cells_making *making, const uint64_t *point, size_t i) {
    return making->wide ? ((const double *)(point + 1))[i] : (double)((const float *)(point + 1))[i];
}

/* The cell with the centre whose code is nearest. */
static uint32_t nearest_cell(struct code_cells_making *making, const uint64_t *code) {
    const size_t count = making->count;
    uint32_t best = 0;
    making->kernels->differences(making->codes, making->numbers, count, making->index->slots, code, making->differences);
    for (uint32_t cell = 1; cell < count; cell++) {
        if (making->differences[cell] < making->differences[best]) best = cell;
    }
    return best;
}

/* Make the bits of the centres' codes those that most rows of the sample have; a cell without rows keeps its own. */
static void refine_codes(struct code_cells_making *making, const uint32_t *sample, size_t n, uint32_t *votes) {
    const size_t words = making->index->slots, width = 64 * words + 1; /* the last number: rows */
    memset(votes, 0, making->count * width * sizeof *votes);
    for (size_t i = 0; i < n; i++) {
        const uint64_t *code = band_tables_signature(making->index, sample[i]);
        uint32_t *mine = votes + nearest_cell(making, code) * width;
        for (size_t bit = 0; bit < 64 * words; bit++) mine[bit] += (uint32_t)(code[bit / 64] >> bit % 64 & 1);
        mine[64 * words]++;
    }
    for (size_t cell = 0; cell < making->count; cell++) {
        const uint32_t *mine = votes + cell * width, rows = mine[64 * words];
        uint64_t *code = making->codes + cell * words;
        if (!rows) continue;
        memset(code, 0, words * sizeof *code);
        for (size_t bit = 0; bit < 64 * words; bit++) code[bit / 64] |= (uint64_t)(2 * mine[bit] > rows) << bit % 64;
    }
}

/* Write a point in the direction of these coordinates, rounded to their type, and its norm; 0 if there is no direction. */
static int write_centre(const struct code_cells_making *making, const double *sums, uint64_t *centre) {
    double length = 0, norm = 0;
    for (size_t i = 0; i < making->dim; i++) length += sums[i] * sums[i];
    length = sqrt(length);
    for (size_t i = 0; i < making->dim; i++) {
        if (making->wide) ((double *)(centre + 1))[i] = sums[i] / length;
        else ((float *)(centre + 1))[i] = (float)(sums[i] / length);
        norm += coordinate(making, centre, i) * coordinate(making, centre, i);
    }
    memcpy(centre, &norm, sizeof norm);
    return norm > 0.1 && norm < 10;
}

/* Make the centres the mean directions of the sample's rows of each cell. A cell without rows takes the point of one. */
static void write_centres(struct code_cells_making *making, const uint32_t *sample, size_t n, double *sums) {
    const size_t payload = making->index->k - making->index->slots, dim = making->dim;
    memset(sums, 0, making->count * dim * sizeof *sums);
    for (size_t i = 0; i < n; i++) {
        const uint64_t *point = point_of(making, sample[i]);
        double *mine = sums + nearest_cell(making, band_tables_signature(making->index, sample[i])) * dim, norm = 0;
        memcpy(&norm, point, sizeof norm);
        if (!(norm > 0)) continue;
        for (size_t j = 0; j < dim; j++) mine[j] += coordinate(making, point, j) / sqrt(norm);
    }
    for (size_t cell = 0; cell < making->count; cell++) {
        double *mine = sums + cell * dim;
        const uint64_t *point = point_of(making, sample[cell * n / making->count]);
        uint64_t *centre = making->cells.centres + cell * payload;
        if (write_centre(making, mine, centre)) continue;
        for (size_t j = 0; j < dim; j++) mine[j] = coordinate(making, point, j);
        if (write_centre(making, mine, centre)) continue;
        for (size_t j = 0; j < dim; j++) mine[j] = j == 0;
        write_centre(making, mine, centre);
    }
}

/* Rows at equal steps; how many. */
static size_t take_sample(const struct code_cells_making *making, uint32_t *sample, size_t most) {
    const struct band_tables *index = making->index;
    const size_t step = index->limit / most + 1;
    size_t n = 0;
    for (size_t row = 0; row < index->limit; row += step) {
        if (band_tables_has(index, row)) sample[n++] = (uint32_t)row;
    }
    return n;
}

int code_cells_begin(struct code_cells_making *making) {
    const struct band_tables *index = making->index;
    const size_t count = making->count, words = index->slots, most = count * SAMPLE_ROWS;
    uint32_t *sample = malloc(most * sizeof *sample), *votes = malloc(count * (64 * words + 1) * sizeof *votes);
    double *sums = malloc(count * making->dim * sizeof *sums);
    making->codes = malloc(count * words * sizeof *making->codes);
    making->numbers = malloc(count * sizeof *making->numbers);
    making->differences = malloc(count * sizeof *making->differences);
    making->places = malloc(index->limit * sizeof *making->places);
    making->cells.centres = calloc(count * (index->k - words), sizeof *making->cells.centres);
    int done = sample && votes && sums && making->codes && making->numbers && making->differences && making->places &&
               making->cells.centres;
    size_t n = done ? take_sample(making, sample, most) : 0;
    done = done && n >= count;
    for (size_t cell = 0; done && cell < count; cell++) {
        making->numbers[cell] = cell;
        memcpy(making->codes + cell * words, band_tables_signature(index, sample[cell * n / count]), words * sizeof *making->codes);
    }
    for (int round = 0; done && round < ROUNDS; round++) refine_codes(making, sample, n, votes);
    if (done) write_centres(making, sample, n, sums);
    free(sample);
    free(votes);
    free(sums);
    return done;
}

/* ---- rows ---- */

/* 1 if the norm of a point is that of its coordinates: a damaged file may have others, and their distances are no angles. */
static int has_norm(const struct code_cells_making *making, const uint64_t *point) {
    double norm, sum = 0;
    memcpy(&norm, point, sizeof norm);
    for (size_t i = 0; i < making->dim; i++) sum += coordinate(making, point, i) * coordinate(making, point, i);
    return fabs(sum - norm) < CODE_CELLS_ERROR / 4 * norm;
}

int code_cells_divide(struct code_cells_making *making) {
    const struct band_tables *index = making->index;
    const size_t payload = index->k - index->slots;
    const size_t end = index->limit - making->row < STEP_ROWS ? index->limit : making->row + STEP_ROWS;
    for (; making->row < end; making->row++) {
        struct code_cells_place *place = making->places + making->row;
        *place = (struct code_cells_place){0, (uint32_t)making->row, NO_CELL};
        if (!band_tables_has(index, making->row)) continue;
        const uint32_t cell = nearest_cell(making, band_tables_signature(index, making->row));
        const uint64_t *point = point_of(making, making->row);
        place->value = making->distance(making->cells.centres + cell * payload, point, making->dim);
        if (place->value >= 0 && has_norm(making, point)) place->cell = cell;
        else making->cells.changed++;
    }
    return making->row == index->limit;
}

static int compare(const void *a, const void *b) {
    const struct code_cells_place *x = a, *y = b;
    if (x->cell != y->cell) return x->cell < y->cell ? -1 : 1;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Copy the rows of a cell, which are sorted, to its groups. */
static void fill(struct code_cells *cells, const struct band_tables *index, const struct code_cells_place *places,
                 size_t rows, size_t group) {
    const size_t head = index->head, tail = index->slots - head;
    for (size_t i = 0; i < rows; i++) {
        const size_t own = group + i / BAND_TABLES_GROUP, t = i % BAND_TABLES_GROUP;
        const uint64_t *code = band_tables_signature(index, places[i].row);
        uint64_t *heads = cells->heads + own * BAND_TABLES_GROUP * head;
        for (size_t word = 0; word < head; word++) heads[word * BAND_TABLES_GROUP + t] = code[word];
        memcpy(cells->tails + (own * BAND_TABLES_GROUP + t) * tail, code + head, tail * sizeof *code);
        cells->rows[own * BAND_TABLES_GROUP + t] = places[i].row;
        cells->moved[places[i].row] = 0;
        if (!t) cells->least[own] = places[i].value;
        cells->most[own] = places[i].value;
    }
}

static int sort_rows(struct code_cells_making *making) {
    const struct band_tables *index = making->index;
    struct code_cells *cells = &making->cells;
    const size_t count = making->count, limit = index->limit;
    const struct code_cells_place *places = making->places;
    cells->starts = calloc(count + 1, sizeof *cells->starts);
    if (!cells->starts) return 0;
    qsort(making->places, limit, sizeof *places, compare);
    for (size_t i = 0; i < limit && places[i].cell != NO_CELL; i++) cells->starts[places[i].cell + 1]++;
    for (size_t cell = 0; cell < count; cell++) {
        const size_t rows = cells->starts[cell + 1];
        cells->starts[cell + 1] = cells->starts[cell] + (rows + BAND_TABLES_GROUP - 1) / BAND_TABLES_GROUP;
    }
    cells->groups = cells->starts[count];
    const size_t room = cells->groups * BAND_TABLES_GROUP + 1;
    cells->heads = calloc(room * index->head, sizeof *cells->heads);
    cells->tails = calloc(room * (index->slots - index->head), sizeof *cells->tails);
    cells->rows = malloc(room * sizeof *cells->rows);
    cells->least = malloc((cells->groups + 1) * sizeof *cells->least);
    cells->most = malloc((cells->groups + 1) * sizeof *cells->most);
    cells->moved = malloc(limit + 1);
    if (!cells->heads || !cells->tails || !cells->rows || !cells->least || !cells->most || !cells->moved) return 0;
    memset(cells->rows, 0xFF, room * sizeof *cells->rows);
    memset(cells->moved, 1, limit + 1);
    for (size_t i = 0, first = 0; i < limit && places[i].cell != NO_CELL; first = i) {
        for (i = first; i < limit && places[i].cell == places[first].cell; i++) continue;
        fill(cells, index, places + first, i - first, cells->starts[places[first].cell]);
    }
    cells->count = count;
    cells->limit = limit;
    cells->distance = making->distance;
    return 1;
}

/* The share of the groups that may have rows within an angle of some rows. */
static double share_within(const struct code_cells *cells, const double *far, size_t trials, double angle) {
    size_t first, end, left = 0;
    for (size_t trial = 0; trial < trials; trial++) {
        for (size_t cell = 0; cell < cells->count; cell++) {
            code_cells_within(cells, cell, far[trial * cells->count + cell], 1 - cos(angle), &first, &end);
            left += end - first;
        }
    }
    return (double)left / (double)(trials * cells->groups);
}

/* Find the greatest distance at which cells are useful. 0: there is no memory. */
static int try_cells(struct code_cells_making *making) {
    struct code_cells *cells = &making->cells;
    const size_t payload = making->index->k - making->index->slots, places = cells->groups * BAND_TABLES_GROUP;
    double *far = malloc(TRIALS * cells->count * sizeof *far), angle = 0;
    size_t trials = 0;
    if (!far) return 0;
    for (size_t at = 0; at < places; at += places / TRIALS + 1) {
        if (cells->rows[at] == TABLES_NO_ROW) continue;
        for (size_t cell = 0; cell < cells->count; cell++) {
            const uint64_t *centre = cells->centres + cell * payload;
            far[trials * cells->count + cell] = making->distance(centre, point_of(making, cells->rows[at]), making->dim);
        }
        trials++;
    }
    while (trials && angle < NEARER * acos(-1.0) &&
           share_within(cells, far, trials, angle + TRIAL_STEP) <= MOST_SHARE) {
        angle += TRIAL_STEP;
    }
    cells->useful = angle > 0 ? 1 - cos(fmin(angle / NEARER, acos(-1.0))) : -1;
    free(far);
    return 1;
}

int code_cells_end(struct code_cells_making *making, struct code_cells *cells, int made) {
    made = made && sort_rows(making) && try_cells(making);
    if (made) {
        code_cells_free(cells);
        *cells = making->cells;
    } else {
        code_cells_free(&making->cells);
    }
    free(making->codes);
    free(making->numbers);
    free(making->differences);
    free(making->places);
    return made;
}

/* ---- searches ---- */

void code_cells_within(const struct code_cells *cells, size_t cell, double far, double within, size_t *first, size_t *end) {
    size_t low = cells->starts[cell], high = cells->starts[cell + 1];
    *first = low;
    *end = high;
    if (!(within < 2) || low == high) return;
    const double a = 1 - far, b = 1 - within;
    const double product = a * b, crossed = sqrt(fmax(0, far * (2 - far)) * fmax(0, within * (2 - within)));
    const double least = a >= b ? 0 : 1 - (product + crossed) - CODE_CELLS_ERROR;
    const double most = a <= -b ? 2 : 1 - (product - crossed) + CODE_CELLS_ERROR;
    if (cells->most[high - 1] < least || cells->least[low] > most) {
        *end = low;
        return;
    }
    for (size_t middle; low < high;) { /* the first group that reaches `least` */
        middle = low + (high - low) / 2;
        if (cells->most[middle] < least) low = middle + 1;
        else high = middle;
    }
    *first = low;
    for (high = *end; low < high;) { /* the first group beyond `most` */
        size_t middle = low + (high - low) / 2;
        if (cells->least[middle] > most) high = middle;
        else low = middle + 1;
    }
    *end = low;
}
