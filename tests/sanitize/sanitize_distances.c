/* Distances (distances.h) of random points, in heap buffers of exactly the size of the points; each CPU level gives the
 * bits of the portable code. Prints a digest of all results, which no compiler may change. */
#include "distances/distances.h"
#include "distances/products.h"
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
    for EACH_ROUND(round, 3000) {
        enum distances_layout layout = (enum distances_layout)below(DISTANCES_LAYOUTS);
        enum distances_measure measure = (enum distances_measure)below(DISTANCES_MEASURES);
        size_t dim = 1 + case_size(below(below(4) ? 80 : 400), 40);
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

static float *floats(size_t n) { return buffer(n * sizeof(float)); }

static void fill_unit(float *unit, size_t dim, size_t step) {
    double square = 0;
    for (size_t j = 0; j < dim; j++) {
        const double x = (double)(int64_t)below(2001) / 1000 - 1 + (j == 0) * 0.5;
        unit[j * step] = (float)x;
        square += (double)(float)x * (double)(float)x;
    }
    if (square == 0) square = unit[0] = 1;
    for (size_t j = 0; j < dim; j++) unit[j * step] = (float)((double)unit[j * step] / sqrt(square));
}

/* Cells have cosines around those of random angles; a point is at the angle `b` of its centre, and the vector at `a`. */
static void check_within(const float *products, size_t n, float error) {
    float *lowest = floats(n), *highest = floats(n);
    const double r = (double)below(1000) / 318;
    const struct products_angle angle = {(float)cos(r), (float)sin(r), error};
    for (size_t c = 0; c < n; c++) {
        const float x = (float)below(2001) / 1000 - 1, width = (float)below(100) / 500;
        const int has_rows = below(8) != 0;
        lowest[c] = has_rows ? x - width : 2;
        highest[c] = has_rows ? x + width : -2;
    }
    const size_t room = n + PRODUCTS_LANES;
    uint32_t *right = buffer(room * sizeof *right), *cells = buffer(room * sizeof *cells);
    float *low = floats(room), *high = floats(room), *lows = floats(room), *highs = floats(room);
    const size_t count = products_scalar.within(products, lowest, highest, n, &angle, right, lows, highs);
    for EACH_LEVEL(level) {
        CHECK(products_levels[level]->within(products, lowest, highest, n, &angle, cells, low, high) == count);
        CHECK(!memcmp(cells, right, count * sizeof *cells) && !memcmp(low, lows, count * sizeof *low) &&
              !memcmp(high, highs, count * sizeof *high));
    }
    for (size_t c = 0, i = 0; c < n; c++) {
        const double a = acos(fmin(fmax((double)products[c], -1), 1));
        const int found = i < count && right[i] == c;
        for (double x = (double)lowest[c]; x <= (double)highest[c]; x += 0.01) {
            if (fabs(a - acos(fmin(fmax(x, -1), 1))) > r) continue;
            CHECK(found && (double)lows[i] <= x && x <= (double)highs[i]);
        }
        i += (size_t)found;
    }
    void *all[] = {lowest, highest, right, cells, low, high, lows, highs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void check_products(void) {
    for EACH_ROUND(round, 300) {
        const size_t n = case_size(below(20), 2), count = PRODUCTS_LANES * (1 + below(4)), dim = 1 + case_size(below(70), 20);
        float *vectors = floats(n * dim + 1), *panels = floats(count * dim), *right = floats(n * count + 1);
        float *found = floats(n * count + 1);
        for (size_t i = 0; i < n; i++) fill_unit(vectors + i * dim, dim, 1);
        for (size_t c = 0; c < count; c++) {
            fill_unit(panels + c / PRODUCTS_LANES * dim * PRODUCTS_LANES + c % PRODUCTS_LANES, dim, PRODUCTS_LANES);
        }
        products_scalar.multiply(vectors, n, panels, count, dim, right);
        for EACH_LEVEL(level) {
            products_levels[level]->multiply(vectors, n, panels, count, dim, found);
            CHECK(!memcmp(found, right, n * count * sizeof *found));
        }
        for (size_t i = 0; i < n; i++) {
            size_t best = 0;
            for (size_t c = 0; c < count; c++) {
                const float *panel = panels + c / PRODUCTS_LANES * dim * PRODUCTS_LANES + c % PRODUCTS_LANES;
                double sum = 0;
                for (size_t j = 0; j < dim; j++) sum += (double)vectors[i * dim + j] * (double)panel[j * PRODUCTS_LANES];
                CHECK(fabs(sum - (double)right[i * count + c]) < (double)products_error(dim));
                if (below(3) == 0) right[i * count + c] = right[i * count + best]; /* equal ones: the first is found */
                if (right[i * count + c] > right[i * count + best]) best = c;
            }
            for EACH_LEVEL(level) CHECK(products_levels[level]->greatest(right + i * count, count) == best);
            check_within(right + i * count, count, products_error(dim));
            note_double((double)right[i * count + best]);
        }
        void *all[] = {vectors, panels, right, found};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    }
}

/* A point becomes a vector of length 1, or zeros if its norm is wrong. */
static void check_units(void) {
    for (size_t dim = 1; dim < 40; dim++) {
        const int wide = (int)below(2);
        double norm = 0;
        uint64_t *point = numbers(1 + dim);
        float *unit = floats(dim);
        for (size_t i = 0; i < dim; i++) {
            const double x = (double)below(1000) / 8 + 1;
            const float small = (float)x;
            norm += x * x;
            if (wide) memcpy(point + 1 + i, &x, sizeof x);
            else memcpy((float *)(point + 1) + i, &small, sizeof small);
        }
        const double norms[] = {norm, norm * 1.001, 0, -norm, (double)INFINITY, (double)NAN};
        for (size_t i = 0; i < COUNT(norms); i++) {
            double square = 0;
            memcpy(point, norms + i, sizeof norm);
            CHECK(products_unit(point, dim, wide, unit) == (i == 0));
            for (size_t j = 0; j < dim; j++) square += (double)unit[j] * (double)unit[j];
            CHECK(fabs(square - (i == 0)) < 1e-5);
        }
        note_double(norm);
        free(point), free(unit);
    }
}

int main(void) {
    check_distances();
    check_units();
    check_products();
    return print_digest();
}
