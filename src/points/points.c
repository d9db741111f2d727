#include "points/points.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

int points_begin(struct points_reader *reader) {
    reader->shape = rotations_shape_of(reader->dim);
    const size_t size = reader->shape.parts * reader->shape.block;
    const size_t words = distances_words(reader->wide ? DISTANCES_FLOAT64 : DISTANCES_FLOAT32, DISTANCES_COSINE, reader->dim);
    reader->code = malloc(reader->bits / 64 * sizeof *reader->code);
    reader->words = calloc(words, sizeof *reader->words);
    reader->origin = calloc(words, sizeof *reader->origin);
    reader->padded = malloc(size * sizeof *reader->padded);
    reader->rotated = malloc(2 * size * sizeof *reader->rotated);
    if (reader->code && reader->words && reader->origin && reader->padded && reader->rotated) return 1;
    points_end(reader);
    return 0;
}

void points_end(struct points_reader *reader) {
    free(reader->code);
    free(reader->words);
    free(reader->origin);
    free(reader->padded);
    free(reader->rotated);
    reader->code = reader->words = reader->origin = NULL;
    reader->padded = reader->rotated = NULL;
}

/* Write the norm and the code; the coordinates are written. */
static int finish(struct points_reader *reader) {
    const size_t size = reader->shape.parts * reader->shape.block;
    const uint64_t *coordinates = reader->words + 1;
    const float *ready, *factors = reader->factors;
    enum rotations_row row;
    if (reader->wide) {
        row = rotations_load_doubles(reader->kernels, (const double *)coordinates, reader->dim, size, reader->padded, &ready);
    } else {
        row = rotations_load_floats(reader->kernels, (const float *)coordinates, reader->dim, size, reader->padded, &ready);
    }
    if (row != ROTATIONS_ROW) return 0;
    const double norm = reader->squared(reader->origin, coordinates, reader->dim);
    if (!(norm >= reader->least)) return 0;
    memcpy(reader->words, &norm, sizeof norm);
    for (size_t first = 0; first < reader->bits; first += size, factors += ROTATIONS_ROUNDS * size) {
        const size_t kept = reader->bits - first < size ? reader->bits - first : size;
        rotations_rotate(reader->kernels, reader->shape, factors, ready, reader->rotated, kept);
        reader->kernels->signs(reader->rotated, kept, reader->code + first / 64);
    }
    return 1;
}

int points_read_floats(struct points_reader *reader, const float *coordinates) {
    if (!reader->wide) {
        memcpy(reader->words + 1, coordinates, reader->dim * sizeof *coordinates);
        return finish(reader);
    }
    double *wide = (double *)(reader->words + 1);
    for (size_t i = 0; i < reader->dim; i++) wide[i] = coordinates[i];
    return finish(reader);
}

int points_read_doubles(struct points_reader *reader, const double *coordinates) {
    const double most = reader->wide ? reader->most : FLT_MAX;
    int is_small = 1;
    for (size_t i = 0; i < reader->dim; i++) is_small &= fabs(coordinates[i]) <= most;
    if (!is_small) return 0;
    if (reader->wide) {
        memcpy(reader->words + 1, coordinates, reader->dim * sizeof *coordinates);
        return finish(reader);
    }
    float *narrow = (float *)(reader->words + 1);
    for (size_t i = 0; i < reader->dim; i++) narrow[i] = (float)coordinates[i];
    return finish(reader);
}
