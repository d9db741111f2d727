/* Rotations (rotations.h) and the probes of signs and cross-polytopes (probes.h) of random and edge inputs on every CPU
 * level, in heap buffers of exactly the size that the contracts state. Prints a digest of all results, which no compiler
 * may change. */
#include "probes/probes.h"
#include "rotations/rotations.h"
#include "sanitize_kit.h"

#include <math.h>

/* A coordinate: often 0 or 1, sometimes subnormal or huge. */
static double coordinate(int is_float) {
    size_t kind = below(16);
    double x = (double)((int64_t)(anything() >> 11) - ((int64_t)1 << 52)) * 0x1p-50;
    if (kind < 3) return 0;
    if (kind < 5) return below(2) ? 1 : -1;
    if (kind == 5) return x * (is_float ? 0x1p-140 : 0x1p-1040);
    if (kind == 6) return x * (is_float ? 0x1p-60 : 0x1p-400);
    if (kind == 7 && !below(20)) return x * (is_float ? 0x1p100 : 0x1p1000);
    return x;
}

struct rotated {
    float *y;
    uint64_t *signs;
    size_t farthest;
};

static struct rotated rotate(const struct rotations_kernels *kernels, const void *row, int is_float, size_t dim,
                             const float *factors, size_t kept) {
    struct rotations_shape shape = rotations_shape_of(dim);
    size_t size = shape.parts * shape.block, words = (kept + 63) / 64;
    struct rotated found = {buffer(2 * size * sizeof(float)), numbers(words), 0};
    float *x = buffer(size * sizeof *x);
    const float *ready = NULL;
    CHECK((is_float ? rotations_load_floats(kernels, row, dim, size, x, &ready)
                    : rotations_load_doubles(kernels, row, dim, size, x, &ready)) == ROTATIONS_ROW);
    rotations_rotate(kernels, shape, factors, ready, found.y, kept);
    kernels->signs(found.y, 64 * words, found.signs);
    found.farthest = kernels->farthest(found.y, kept);
    free(x);
    return found;
}

static void check_rotation(size_t dim, size_t kept, int is_float) {
    struct rotations_shape shape = rotations_shape_of(dim);
    size_t size = shape.parts * shape.block, width = is_float ? sizeof(float) : sizeof(double);
    CHECK(size >= dim && size >= ROTATIONS_MIN_SIZE && size % ROTATIONS_MIN_BLOCK == 0);
    float *factors = buffer(ROTATIONS_ROUNDS * size * sizeof *factors);
    void *row = buffer(dim * width);
    rotations_factors(7, below(5), size, factors);
    for (size_t i = 0; i < dim; i++) {
        double x = i ? coordinate(is_float) : 1;
        if (is_float) ((float *)row)[i] = (float)x;
        else ((double *)row)[i] = x;
    }
    kept = kept < size ? kept : size;
    struct rotated first = {0};
    for EACH_LEVEL(level) {
        struct rotated found = rotate(rotations_levels[level], row, is_float, dim, factors, kept);
        if (level == CPU_SCALAR) {
            first = found;
            note_bytes(found.signs, (kept + 63) / 64 * 8);
            note_bytes(found.y, kept * sizeof(float));
            note(found.farthest);
            continue;
        }
        CHECK(same_bytes(found.y, first.y, kept * sizeof(float)));
        CHECK(same_bytes(found.signs, first.signs, kept / 64 * 8));
        CHECK(found.farthest == first.farthest);
        free(found.y), free(found.signs);
    }
    free(first.y), free(first.signs), free(row), free(factors);
}

/* Rows of zeros, of one number, and with a NaN or an infinity in one place. */
static void check_rows(size_t dim) {
    struct rotations_shape shape = rotations_shape_of(dim);
    size_t size = shape.parts * shape.block, at = below(dim);
    static const double wrong[] = {(double)INFINITY, -(double)INFINITY, (double)NAN};
    for EACH_LEVEL(level) {
        const struct rotations_kernels *kernels = rotations_levels[level];
        float *floats = buffer(dim * sizeof *floats), *x = buffer(size * sizeof *x);
        double *doubles = buffer(dim * sizeof *doubles);
        const float *ready;
        for (size_t i = 0; i < dim; i++) floats[i] = i % 2 ? -0.0f : 0.0f, doubles[i] = i % 2 ? -0.0 : 0.0;
        CHECK(rotations_load_floats(kernels, floats, dim, size, x, &ready) == ROTATIONS_ZERO_ROW);
        CHECK(rotations_load_doubles(kernels, doubles, dim, size, x, &ready) == ROTATIONS_ZERO_ROW);
        for (size_t i = 0; i < COUNT(wrong); i++) {
            floats[at] = (float)wrong[i], doubles[at] = wrong[i];
            CHECK(rotations_load_floats(kernels, floats, dim, size, x, &ready) == ROTATIONS_NOT_FINITE);
            CHECK(rotations_load_doubles(kernels, doubles, dim, size, x, &ready) == ROTATIONS_NOT_FINITE);
        }
        for EACH_ROUND(exponent, 1074 + 1024) {
            const int power = (int)exponent - 1074;
            doubles[at] = power < -1022 ? 0x1p-1074 * (double)((uint64_t)1 << (power + 1074)) : 1;
            for (int i = 0; power >= -1022 && i < (power < 0 ? -power : power); i++) doubles[at] *= power < 0 ? 0.5 : 2;
            CHECK(rotations_load_doubles(kernels, doubles, dim, size, x, &ready) == ROTATIONS_ROW);
            CHECK(ready[at] == (power >= -40 && power <= 40 ? (float)doubles[at] : 1.0f));
            if (power < -149 || power > 127) continue;
            floats[at] = (float)doubles[at];
            CHECK(rotations_load_floats(kernels, floats, dim, size, x, &ready) == ROTATIONS_ROW);
            CHECK(ready[at] == (power >= -40 && power <= 40 ? floats[at] : 1.0f));
        }
        free(floats), free(doubles), free(x);
    }
}

/* Numbers that are often equal: the first of the greatest counts. */
static void check_farthest(size_t n) {
    float *y = buffer(n * sizeof *y);
    for (size_t i = 0; i < n; i++) y[i] = (float)below(5) - 2;
    size_t first = 0;
    for (size_t i = 0; i < n; i++) first = y[i] * y[i] > y[first] * y[first] ? i : first;
    for EACH_LEVEL(level) CHECK(rotations_levels[level]->farthest(y, n) == first);
    free(y);
}

static void check_probes(size_t outputs, size_t rows, size_t probes, int hashed) {
    size_t ranks = outputs == 1 ? 2 : probes < 2 * outputs ? probes : 2 * outputs;
    struct probes_space space = {
        buffer((3 * probes + 2) * sizeof(struct probes_choice)), buffer((3 * probes + 2) * sizeof(uint32_t)),
        buffer(rows * sizeof(uint32_t)), buffer(rows * ranks * sizeof(double)), numbers(rows * ranks), numbers(rows),
        numbers(outputs)};
    uint32_t *chosen = buffer(rows * probes * sizeof *chosen);
    uint64_t *out = numbers(probes);
    float *y = buffer(rows * outputs * sizeof *y);
    for (size_t i = 0; i < rows * outputs; i++) y[i] = below(4) ? (float)coordinate(1) : (float)below(3);
    struct probes_bucket bucket = {1, 5, hashed ? bands_keys_scalar : NULL};
    while (outputs > 1 && (size_t)1 << bucket.bits < 2 * outputs) bucket.bits++;
    if (outputs == 1) probes_of_signs(&space, y, rows, probes, &bucket, chosen, out);
    else probes_of_polytopes(&space, y, outputs, rows, ranks, probes, &bucket, chosen, out);
    note_all(out, probes);
    for (size_t k = 0; k < probes; k++) {
        for (size_t j = 0; j < k && out[k] != EMPTY_SLOT; j++) CHECK(out[k] != out[j]);
    }
    free(space.choices), free(space.heap), free(space.order), free(space.costs), free(space.values);
    free(space.slots), free(space.sorted), free(chosen), free(out), free(y);
}

int main(void) {
    for (size_t dim = 1; dim < 2600; dim += dim < 40 ? 1 : 61) {
        for (int is_float = 0; is_float < 2; is_float++) check_rotation(dim, 1 + below(2 * dim + 64), is_float);
    }
    check_rotation(768, 256, 1), check_rotation(3000, 3000, 1), check_rotation(4096, 1, 0);
    for (size_t dim = 1; dim < 40; dim += 3) check_rows(dim);
    check_rows(256);
    for (size_t n = 1; n < 300; n++) check_farthest(n);
    for (size_t rows = 1; rows < 12; rows++) {
        for (size_t probes = 1; probes < 90; probes += 11) {
            for (int hashed = 0; hashed < 2; hashed++) {
                check_probes(1, rows, probes, hashed);
                check_probes(2, rows, probes, hashed);
                check_probes(16, rows, probes, hashed || rows > 11);
            }
        }
    }
    return print_digest();
}
