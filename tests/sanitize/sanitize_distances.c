/* Distances (distances.h) of random points, in heap buffers of exactly the size of the points; each CPU level gives the
 * bits of the portable code. Prints a digest of all results, which no compiler may change. */
#include "distances/distances.h"
#include "sanitize_kit.h"

/* Fill the words of a point: numbers of about 1, or any words, as a damaged file may have them. */
static void fill(uint64_t *point, enum distances_layout layout, enum distances_measure measure, size_t dim, int any) {
    size_t words = distances_words(layout, measure, dim), norm = measure == DISTANCES_COSINE, at = norm;
    for (size_t i = 0; i < words; i++) point[i] = any ? anything() : 0;
    if (any || layout == DISTANCES_BITS) {
        for (size_t i = 0; i < words; i++) point[i] = anything();
        return;
    }
    if (layout == DISTANCES_SPARSE32 || layout == DISTANCES_SPARSE64) {
        uint32_t index = 0, *indices = (uint32_t *)(point + at + 1);
        point[at] = below(dim + 1);
        for (size_t i = 0; i < dim; i++) {
            index += 1 + (uint32_t)below(3);
            memcpy(indices + i, &index, sizeof index);
        }
        at += 1 + dim / 2 + dim % 2;
    }
    double square = 0;
    for (size_t i = 0; i < dim; i++) {
        double number = (double)(int64_t)below(2001) / 512 - 2;
        float small = (float)number;
        square += number * number;
        if (layout == DISTANCES_FLOAT32 || layout == DISTANCES_SPARSE32) memcpy((float *)(point + at) + i, &small, 4);
        else memcpy(point + at + i, &number, 8);
    }
    square += 1;
    if (norm) memcpy(point, &square, 8);
}

static void check_distances(void) {
    for (size_t round = 0; round < 3000; round++) {
        enum distances_layout layout = (enum distances_layout)below(DISTANCES_LAYOUTS);
        enum distances_measure measure = (enum distances_measure)below(DISTANCES_MEASURES);
        size_t dim = 1 + below(below(4) ? 80 : 400);
        int any = below(4) == 0;
        distances_function *portable = distances_scalar.of[layout][measure];
        if (!portable) continue;
        size_t words = distances_words(layout, measure, dim);
        uint64_t *a = buffer(words * sizeof *a), *b = buffer(words * sizeof *b), bits;
        fill(a, layout, measure, dim, any);
        fill(b, layout, measure, dim, any);
        double right = portable(a, b, dim);
        for EACH_LEVEL(level) {
            double found = distances_levels[level]->of[layout][measure](a, b, dim);
            CHECK(memcmp(&found, &right, sizeof right) == 0 || (found != found && right != right));
        }
        memcpy(&bits, &right, sizeof bits);
        note_all(&bits, right == right);
        free(a);
        free(b);
    }
}

int main(void) {
    check_distances();
    return print_digest();
}
