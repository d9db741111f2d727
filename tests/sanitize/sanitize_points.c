/* Points that are read one at a time (points.h), on every CPU level, in heap buffers of exactly the size of their
 * coordinates, beside the rotations and the distances that their code and their norm are made of. Prints a digest of all
 * results, which no compiler may change. */
#include "points/points.h"
#include "sanitize_kit.h"

#include <float.h>
#include <math.h>

/* A coordinate: often 0 or small, sometimes beyond the floats or not a number. */
static double coordinate(void) {
    const size_t kind = below(64);
    const double x = (double)((int64_t)(anything() >> 11) - ((int64_t)1 << 52)) * 0x1p-50;
    if (kind < 8) return 0;
    if (kind == 8 && !below(20)) return below(2) ? NAN : -INFINITY;
    if (kind == 9 && !below(20)) return below(2) ? 1e39 : -1e76;
    return kind == 10 ? x * 0x1p-140 : x;
}

/* The same as points_read of a reader of its own; 0: the point is refused. */
static int read_by_parts(const struct points_reader *reader, const void *row, int doubles, uint64_t *words, uint64_t *code) {
    const size_t size = reader->shape.parts * reader->shape.block;
    float *x = buffer(size * sizeof *x), *y = buffer(2 * size * sizeof *y);
    const float *ready = NULL;
    int kept = 1;
    for (size_t i = 0; i < reader->dim; i++) {
        const double value = doubles ? ((const double *)row)[i] : (double)((const float *)row)[i];
        kept &= fabs(value) <= (reader->wide && doubles ? reader->most : doubles ? FLT_MAX : DBL_MAX);
        if (!kept) break;
        if (reader->wide) memcpy(words + 1 + i, &value, sizeof value);
        else ((float *)(words + 1))[i] = (float)value;
    }
    kept = kept && (reader->wide ? rotations_load_doubles(reader->kernels, (double *)(words + 1), reader->dim, size, x, &ready)
                                 : rotations_load_floats(reader->kernels, (float *)(words + 1), reader->dim, size, x, &ready)) == ROTATIONS_ROW;
    uint64_t *origin = numbers(reader->dim + 1);
    memset(origin, 0, (reader->dim + 1) * sizeof *origin);
    const double norm = kept ? reader->squared(words + 1, origin, reader->dim) : 0;
    memcpy(words, &norm, sizeof norm);
    kept = kept && norm >= reader->least;
    for (size_t first = 0; kept && first < reader->bits; first += 64) {
        const float *factors = reader->factors + first / size * ROTATIONS_ROUNDS * size;
        rotations_rotate(reader->kernels, reader->shape, factors, ready, y, size);
        reader->kernels->signs(y + first % size, 64, code + first / 64);
    }
    free(x);
    free(y);
    free(origin);
    return kept;
}

static void check_point(size_t dim, size_t bits, int wide, int doubles) {
    const struct rotations_shape shape = rotations_shape_of(dim);
    const size_t size = shape.parts * shape.block, rotations = (bits + size - 1) / size;
    const size_t words = distances_words(wide ? DISTANCES_FLOAT64 : DISTANCES_FLOAT32, DISTANCES_COSINE, dim);
    float *factors = buffer(rotations * ROTATIONS_ROUNDS * size * sizeof *factors);
    for (size_t i = 0; i < rotations; i++) rotations_factors(3, i, size, factors + i * ROTATIONS_ROUNDS * size);
    void *row = buffer(dim * (doubles ? sizeof(double) : sizeof(float)));
    for (size_t i = 0; i < dim; i++) {
        const double x = coordinate();
        if (doubles) ((double *)row)[i] = x;
        else ((float *)row)[i] = fabs(x) > FLT_MAX ? INFINITY : (float)x;
    }
    for EACH_LEVEL(level) {
        struct points_reader reader = {.kernels = rotations_levels[level], .factors = factors, .bits = bits, .dim = dim,
                                       .wide = wide, .most = 1e75, .least = wide ? 1e-150 : DBL_MIN};
        reader.squared = distances_levels[level]->of[wide ? DISTANCES_FLOAT64 : DISTANCES_FLOAT32][DISTANCES_EUCLIDEAN];
        CHECK(points_begin(&reader));
        uint64_t *right = numbers(dim + 2), *code = numbers(bits / 64);
        memset(right, 0, (dim + 2) * sizeof *right);
        const int kept = read_by_parts(&reader, row, doubles, right, code);
        CHECK((doubles ? points_read_doubles(&reader, row) : points_read_floats(&reader, row)) == kept);
        CHECK(!kept || !memcmp(reader.words, right, words * sizeof *right));
        CHECK(!kept || !memcmp(reader.code, code, bits / 8));
        if (level == CPU_SCALAR && kept) {
            note_all(reader.words, words);
            note_all(reader.code, bits / 64);
        }
        points_end(&reader);
        free(right);
        free(code);
    }
    free(row);
    free(factors);
}

int main(void) {
    for (int i = 0; i < 400; i++) {
        const size_t most = below(4) ? 40 : 700;
        const size_t dim = 1 + below(most);
        const size_t words = 1 + below(20);
        const int wide = (int)below(2);
        check_point(dim, 64 * words, wide, i % 2);
    }
    return print_digest();
}
