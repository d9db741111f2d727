/* Lines, positions, cells and probes (projections.h, and the lines of probes.h) of random and edge inputs on every CPU
 * level, in heap buffers of exactly the size that the contracts state. Prints a digest of all results, which no compiler
 * may change. */
#include "projections/projections.h"
#include "probes/probes.h"
#include "sanitize_kit.h"

/* A coordinate: often 0, sometimes subnormal or huge. */
static double coordinate(int is_float) {
    size_t kind = below(8);
    double x = (double)((int64_t)(anything() >> 11) - ((int64_t)1 << 52)) * 0x1p-50;
    if (kind < 2) return 0;
    if (kind == 2) return x * (is_float ? 0x1p-140 : 0x1p-1040);
    if (kind == 3) return x * (is_float ? 0x1p100 : 0x1p1000);
    return x;
}

static void check_variates(void) {
    for (size_t i = 0; i < 5000; i++) {
        uint64_t word = edge_or_random();
        note_double(projections_gaussian(word));
        note_double(projections_cauchy(word));
    }
}

/* The positions of rows by their definition, and whether all rows have cells. */
static int define(const struct lines *lines, const double *rows, size_t n, double *positions) {
    int all = 1;
    for (size_t r = 0; r < n; r++) {
        for (size_t f = 0; f < lines->count; f++) {
            volatile double sum = 0, product;
            for (size_t j = 0; j < lines->dim; j++) {
                product = rows[r * lines->dim + j] * lines->matrix[j * lines->step + f];
                sum += product;
            }
            product = sum / lines->width;
            double y = product + lines->offsets[f];
            positions[r * lines->count + f] = y;
            all &= y > -PROJECTIONS_END && y < PROJECTIONS_END;
        }
    }
    return all;
}

static void check_sparse(const struct projections_kernels *kernels, const struct lines *lines, const double *row,
                         int is_float, const double *expected, const uint64_t *values) {
    size_t dim = lines->dim, n = 0;
    double *scratch = buffer(projections_scratch(lines->count, 1) * sizeof *scratch);
    for (size_t j = 0; j < dim; j++) n += row[j] != 0;
    int64_t *columns = buffer(n * sizeof *columns);
    float *floats = buffer(n * sizeof *floats);
    double *doubles = buffer(n * sizeof *doubles), *positions = buffer(lines->count * sizeof *positions);
    uint64_t *found = numbers(lines->count);
    for (size_t j = 0, i = 0; j < dim; j++) {
        if (row[j] == 0) continue;
        columns[i] = (int64_t)j;
        floats[i] = is_float ? (float)row[j] : 0;
        doubles[i++] = row[j];
    }
    CHECK(projections_sparse(kernels, lines, columns, is_float ? floats : NULL, is_float ? NULL : doubles, n, scratch,
                             positions, NULL));
    CHECK(projections_sparse(kernels, lines, columns, is_float ? floats : NULL, is_float ? NULL : doubles, n, scratch,
                             NULL, found));
    CHECK(memcmp(positions, expected, lines->count * sizeof *positions) == 0);
    CHECK(memcmp(found, values, lines->count * sizeof *found) == 0);
    free(columns), free(floats), free(doubles), free(positions), free(found), free(scratch);
}

static void check_points(size_t n, size_t dim, size_t count, int is_float) {
    size_t step = count + below(3), cells = n * count;
    float *matrix = buffer(dim * step * sizeof *matrix), *floats = buffer(n * dim * sizeof *floats);
    double *offsets = buffer(count * sizeof *offsets), *rows = buffer(n * dim * sizeof *rows);
    double *expected = buffer(cells * sizeof *expected);
    projections_draw(n, count % 2 ? DOMAIN_CAUCHY : DOMAIN_GAUSSIAN, 0, dim, step, matrix);
    projections_offsets(n, count, offsets);
    for (size_t i = 0; i < n * dim; i++) {
        rows[i] = coordinate(is_float);
        floats[i] = is_float ? (float)rows[i] : 0;
        if (is_float) rows[i] = floats[i];
    }
    struct lines lines = {matrix, offsets, dim, step, count, n % 3 ? 0x1p60 : 0x1.8p1000};
    int all = define(&lines, rows, n, expected);
    note((uint64_t)all);
    for EACH_LEVEL(level) {
        const struct projections_kernels *kernels = projections_levels[level];
        double *scratch = buffer(projections_scratch(count, n) * sizeof *scratch);
        double *positions = buffer(cells * sizeof *positions);
        uint64_t *values = numbers(cells);
        const float *given = is_float ? floats : NULL;
        const double *given_doubles = is_float ? NULL : rows;
        size_t done = projections_dense(kernels, &lines, given, given_doubles, n, scratch, positions, NULL);
        CHECK(done == projections_dense(kernels, &lines, given, given_doubles, n, scratch, NULL, values));
        CHECK((done == n) == all);
        CHECK(done == 0 || memcmp(positions, expected, done * count * sizeof *positions) == 0);
        for (size_t i = 0; i < done * count; i++) {
            int64_t cell = projections_cell(expected[i]);
            CHECK((double)cell <= expected[i] && expected[i] - (double)cell <= 1 && values[i] == projections_value(cell));
        }
        for (size_t r = 0; r < done; r++) {
            check_sparse(kernels, &lines, rows + r * dim, is_float, expected + r * count, values + r * count);
        }
        if (level == CPU_SCALAR) note_all(values, done * count);
        free(scratch), free(positions), free(values);
    }
    free(matrix), free(floats), free(offsets), free(rows), free(expected);
}

static void check_probes(size_t rows, size_t probes) {
    struct probes_space space = {
        buffer((3 * probes + 2) * sizeof(struct probes_choice)), buffer((3 * probes + 2) * sizeof(uint32_t)),
        buffer(rows * sizeof(uint32_t)), buffer(3 * rows * sizeof(double)), numbers(3 * rows), numbers(rows), NULL};
    double *y = buffer(rows * sizeof *y);
    uint32_t *chosen = buffer(rows * probes * sizeof *chosen);
    uint64_t *out = numbers(probes);
    for (size_t i = 0; i < rows; i++) {
        y[i] = (double)((int64_t)(anything() >> 44) - ((int64_t)1 << 19)) / (below(2) ? 7 : 4);
        if (below(20) == 0) y[i] = below(2) ? 0x1.fffffffffffffp+62 : -0x1.fffffffffffffp+62;
    }
    struct probes_bucket bucket = {0, 5, rows == 1 ? NULL : bands_keys_scalar};
    probes_of_lines(&space, y, rows, probes, &bucket, chosen, out);
    for (size_t k = 0; k < probes; k++) {
        for (size_t i = 0; i < k; i++) CHECK(out[k] != out[i] || out[k] == EMPTY_SLOT);
    }
    note_all(out, probes);
    free(space.choices), free(space.heap), free(space.order), free(space.costs), free(space.values), free(space.slots);
    free(y), free(chosen), free(out);
}

int main(void) {
    static const size_t DIMS[] = {1, 2, 7, 95, 96, 97, 200}, COUNTS[] = {1, 4, 7, 8, 9, 31, 32, 33, 70};
    check_variates();
    for (size_t d = 0; d < COUNT(DIMS); d++) {
        for (size_t c = 0; c < COUNT(COUNTS); c++) {
            check_points(below(20), DIMS[d], COUNTS[c], 0);
            check_points(below(20), DIMS[d], COUNTS[c], 1);
        }
    }
    check_points(PROJECTIONS_CHUNK, 5, 3, 1);
    check_points(PROJECTIONS_CHUNK, 5, 3, 0);
    check_points(3, 100, 300, 1);
    for (size_t rows = 1; rows < 70; rows += 1 + rows / 8) {
        for (size_t probes = 1; probes < 300; probes *= 3) check_probes(rows, probes);
    }
    return print_digest();
}
