/* Sorted trees (trees.h) beside a search that compares all codes with all, in heap buffers of exactly the size that the
 * contract states, so that the address sanitizer sees each byte read or written beside them. Prints a digest of all
 * results, which no compiler may change. */
#include "trees/trees.h"
#include "sanitize_kit.h"

/* ---- rows ---- */

struct table {
    struct tree_shape shape;
    size_t rows;
    uint64_t *signatures, *marks;
    uint8_t *live;
    int64_t *sizes;
};

/* Rows of few values or of many, a few of them copies; none is empty. */
static struct table new_table(size_t k, size_t trees, size_t rows) {
    struct table table = {{k, trees, trees_levels_of(k, trees), below(2) ? k : trees},
                          rows,
                          numbers(rows * k),
                          numbers(rows * trees_mark_words(k)),
                          buffer(rows),
                          buffer(rows * sizeof(int64_t))};
    uint64_t values = below(3) ? 3 : UINT64_MAX;
    for (size_t row = 0; row < rows; row++) {
        uint64_t *slots = table.signatures + row * k;
        size_t copied = row && below(8) == 0 ? below(row) : row;
        for (size_t i = 0; i < k; i++) slots[i] = copied < row ? table.signatures[copied * k + i] : anything() % values;
        trees_marks(slots, k, table.marks + row * trees_mark_words(k));
        table.live[row] = below(8) != 0;
        table.sizes[row] = (int64_t)(1 + below(50));
        for (size_t i = 0; i < trees_mark_words(k); i++) note(table.marks[row * trees_mark_words(k) + i]);
    }
    return table;
}

static void free_table(struct table *table) {
    free(table->signatures);
    free(table->marks);
    free(table->live);
    free(table->sizes);
}

static size_t equal(const struct table *table, const uint64_t *query, size_t row) {
    size_t count = 0;
    for (size_t i = 0; i < table->shape.k; i++) count += query[i] == table->signatures[row * table->shape.k + i];
    return count;
}

/* ---- runs ---- */

struct built {
    struct run run;
    uint64_t *codes, *fences;
    uint32_t *rows;
};

static struct built new_run(const struct tree_shape *shape, size_t n) {
    struct built built;
    memset(&built, 0, sizeof built);
    built.run.n = n;
    trees_lay_out_fences(&built.run);
    built.run.codes = built.codes = numbers(shape->trees * n);
    built.run.rows = built.rows = buffer(shape->trees * n * sizeof(uint32_t));
    built.run.fences = built.fences = numbers(shape->trees * built.run.fence_words);
    return built;
}

static void finish(struct built *built, const struct tree_shape *shape) {
    const size_t n = built->run.n;
    for (size_t t = 0; t < shape->trees; t++) {
        trees_set_fences(&built->run, built->codes + t * n, built->fences + t * built->run.fence_words);
        for (size_t i = 1; i < n; i++) CHECK(built->codes[t * n + i - 1] <= built->codes[t * n + i]);
        for (size_t i = 0; i < n; i++) note(built->codes[t * n + i] ^ built->rows[t * n + i]);
        for (unsigned bits = 1; n && bits <= 64; bits += 21) {
            size_t pairs = 0;
            for (size_t i = 0; i < n; i++) {
                uint64_t code = built->codes[t * n + i];
                for (size_t j = 0; j < n; j++) pairs += (built->codes[t * n + j] ^ code) >> (64 - bits) == 0;
            }
            CHECK(trees_mean_group(built->codes + t * n, n, bits) == (double)pairs / (double)n);
        }
    }
}

static struct built build(const struct table *table, size_t first, size_t n) {
    struct built built = new_run(&table->shape, n);
    uint64_t *scratch_codes = numbers(n);
    uint32_t *scratch_rows = buffer(n * sizeof *scratch_rows);
    for (size_t i = 0; i < n; i++) {
        trees_codes(&table->shape, table->signatures + (first + i) * table->shape.k, built.codes + i, n);
    }
    for (size_t t = 0; t < table->shape.trees; t++) {
        for (size_t i = 0; i < n; i++) built.rows[t * n + i] = (uint32_t)(first + i);
        trees_sort_codes(built.codes + t * n, built.rows + t * n, n, scratch_codes, scratch_rows);
    }
    free(scratch_codes);
    free(scratch_rows);
    finish(&built, &table->shape);
    return built;
}

/* The two runs as one, without what is dead. */
static struct built merged(const struct table *table, const struct built *a, const struct built *b) {
    size_t n = 0;
    for (size_t i = 0; i < a->run.n; i++) n += table->live[a->rows[i]];
    for (size_t i = 0; i < b->run.n; i++) n += table->live[b->rows[i]];
    struct built built = new_run(&table->shape, n);
    for (size_t t = 0; t < table->shape.trees; t++) {
        CHECK(trees_merge_codes(a->codes + t * a->run.n, a->rows + t * a->run.n, a->run.n, b->codes + t * b->run.n,
                                b->rows + t * b->run.n, b->run.n, table->live, built.codes + t * n,
                                built.rows + t * n) == n);
    }
    finish(&built, &table->shape);
    return built;
}

static void free_run(struct built *built) {
    free(built->codes);
    free(built->rows);
    free(built->fences);
}

/* ---- searches ---- */

static int meets(const struct table *table, const uint64_t *codes, size_t row, const struct step *step) {
    uint64_t *own = numbers(table->shape.trees);
    trees_codes(&table->shape, table->signatures + row * table->shape.k, own, 1);
    unsigned shift = 64 - trees_code_bits(table->shape.levels, step->depth);
    int met = (own[step->tree] ^ codes[step->tree]) >> shift == 0;
    free(own);
    return met;
}

static void search(const struct forest *forest, const struct table *table, const size_t *starts, const uint64_t *query,
                   struct step *steps, size_t count) {
    const size_t rows = table->rows, k = table->shape.k, most = 1 + below(12);
    const int64_t q = (int64_t)(1 + below(60));
    const double threshold = (double)(1 + below(100)) / 100;
    const double slack = (double)below(3);
    uint64_t *codes = numbers(table->shape.trees), *best = numbers(most), *room = numbers(trees_room_words(forest));
    uint64_t *seen = calloc(trees_seen_words(forest), sizeof *seen), *met = calloc(rows + 1, sizeof *met);
    uint32_t counts[2];
    for (size_t g = 0; g < 2; g++) counts[g] = (uint32_t)below(count + 1);
    CHECK(seen && met);
    trees_codes(&table->shape, query, codes, 1);
    for (size_t row = 0; row < rows; row++) {
        size_t group = row < starts[1] ? 0 : row < starts[2] ? 1 : 2; /* the third is loose */
        for (size_t i = 0; i < count && group < 2; i++) {
            if (meets(table, codes, row, steps + i)) met[row] |= i < counts[group] ? 3 : 1;
        }
        if (group == 2) met[row] = 3;
        if (!table->live[row]) met[row] = 0;
    }

    size_t found = trees_top(forest, query, steps, count, most, best, room, seen), wanted = 0;
    for (size_t row = 0; row < rows; row++) wanted += (met[row] & 1) && equal(table, query, row);
    CHECK(found == (wanted < most ? wanted : most));
    for (size_t i = 0; i < found; i++) {
        uint32_t row = trees_match_row(best[i]);
        CHECK(row < rows && (met[row] & 1) && trees_match_agreement(best[i]) == equal(table, query, row));
        CHECK(i == 0 || best[i - 1] > best[i]);
        note(best[i]);
    }
    /* All that was met is there or no better; of rows that equal the query in all slots any will do. */
    for (size_t row = 0; row < rows && found && trees_match_agreement(best[found - 1]) < k; row++) {
        uint64_t match = trees_match_of(equal(table, query, row), (uint32_t)row);
        int given = 0;
        for (size_t i = 0; i < found; i++) given |= best[i] == match;
        CHECK(given || !(met[row] & 1) || trees_match_agreement(match) == 0 || match < best[found - 1]);
    }
    for (size_t i = 0; i < count; i++) steps[i].enough = (uint32_t)below(k + 2);
    size_t ended = trees_top(forest, query, steps, count, most, best, room, seen);
    CHECK(ended <= found);
    for (size_t i = 0; i < count; i++) steps[i].enough = UINT32_MAX;

    size_t all = 0, capacity = below(rows + 1);
    for (size_t row = 0; row < rows; row++) {
        size_t agreement = equal(table, query, row);
        all += (met[row] & 2) && agreement && trees_reaches(agreement, k, q, table->sizes[row], threshold, slack);
    }
    uint32_t *given = buffer(capacity * sizeof *given);
    double *shares = buffer(capacity * sizeof *shares);
    CHECK(trees_within(forest, query, q, steps, counts, threshold, slack, given, shares, capacity, room, seen) == all);
    for (size_t i = 0; i < capacity && i < all; i++) {
        CHECK(given[i] < rows && (met[given[i]] & 2));
        CHECK(shares[i] == trees_containment(equal(table, query, given[i]), k, q, table->sizes[given[i]]));
        note(given[i]);
    }
    for (size_t i = 0; i < trees_seen_words(forest); i++) CHECK(seen[i] == 0);
    free(codes);
    free(best);
    free(room);
    free(seen);
    free(met);
    free(given);
    free(shares);
}

static void check_searches(void) {
    static const size_t SHAPES[][2] = {{1, 1}, {2, 1}, {4, 2}, {8, 1}, {9, 1}, {16, 4}, {17, 2}, {40, 8}, {64, 40}};
    static const size_t SIZES[] = {0, 1, 7, 8, 9, 20, 63, 64, 65, 100, 300, 520};
    for EACH_ROUND(round, 5 * COUNT(SHAPES) * COUNT(SIZES)) {
        const size_t *shape = SHAPES[round % COUNT(SHAPES)], rows = case_size(SIZES[round / COUNT(SHAPES) % COUNT(SIZES)], 65);
        struct table table = new_table(shape[0], shape[1], rows);
        size_t starts[4] = {0, below(rows + 1), 0, rows};
        starts[2] = starts[1] + below(rows - starts[1] + 1);
        size_t loose_count = rows - starts[2], made = 0;
        uint32_t *loose = buffer(loose_count * sizeof *loose);
        for (size_t i = 0; i < loose_count; i++) loose[i] = (uint32_t)(starts[2] + i);
        struct built a = build(&table, 0, starts[1]), b = build(&table, starts[1], starts[2] - starts[1]);
        struct built both = merged(&table, &a, &b);
        CHECK(both.run.n <= starts[2]);
        struct run *runs = buffer(2 * sizeof *runs);
        runs[0] = a.run;
        runs[1] = b.run;
        runs[1].group = 1;
        struct step *steps = buffer(2 * table.shape.trees * sizeof *steps);
        size_t lowest = 1 + below(table.shape.levels);
        for (size_t turn = 0; turn < 2; turn++) {
            for (size_t t = 0; t < table.shape.trees; t++) {
                size_t depth = turn || t >= table.shape.deep ? lowest : table.shape.levels;
                if (turn && depth == table.shape.levels) continue;
                struct step step = {(uint32_t)t, (uint32_t)depth, UINT32_MAX};
                steps[made++] = step;
            }
        }
        struct forest forest = {table.shape, table.signatures, table.marks, table.live, table.sizes, rows, runs, 2,
                                loose, loose_count};
        uint64_t *query = numbers(shape[0]);
        for (size_t i = 0; i < 4; i++) {
            size_t like = rows ? below(rows) : 0, changes = below(shape[0] + 1);
            for (size_t slot = 0; slot < shape[0]; slot++) {
                query[slot] = rows && slot >= changes ? table.signatures[like * shape[0] + slot] : anything() % 4;
            }
            search(&forest, &table, starts, query, steps, made);
        }
        for (size_t slot = 0; slot < shape[0]; slot++) query[slot] = EMPTY_SLOT;
        CHECK(trees_top(&forest, query, steps, made, 1, NULL, NULL, NULL) == 0);
        free(query);
        free(steps);
        free(runs);
        free(loose);
        free_run(&a);
        free_run(&b);
        free_run(&both);
        free_table(&table);
    }
}

/* ---- marks, sorting and answers ---- */

static void check_marks(void) {
    for EACH_ROUND(round, 2000) {
        size_t k = 1 + below(600), words = trees_mark_words(k), slots = 0, low = 0, all = 0;
        uint64_t *a = numbers(k), *b = numbers(k), *marks_a = numbers(words), *marks_b = numbers(words);
        for (size_t i = 0; i < k; i++) {
            a[i] = anything();
            b[i] = below(3) ? a[i] : anything();
            slots += a[i] == b[i];
            low += ((mix64(a[i]) ^ mix64(b[i])) & 15) == 0;
            all += ((mix64(a[i]) ^ mix64(b[i])) & 255) == 0;
        }
        trees_marks(a, k, marks_a);
        trees_marks(b, k, marks_b);
        CHECK(trees_equal_low_marks(marks_a, marks_b, k) == low && trees_equal_marks(marks_a, marks_b, k) == all);
        CHECK(low >= all && all >= slots);
        free(a);
        free(b);
        free(marks_a);
        free(marks_b);
    }
}

static void check_sorting(void) {
    for EACH_ROUND(round, 300) {
        size_t n = case_size(round < 100 ? round : below(4000), 100);
        uint64_t *codes = numbers(n), *scratch = numbers(n), *before = numbers(n), mask = UINT64_MAX << below(64);
        uint32_t *rows = buffer(n * sizeof *rows), *scratch_rows = buffer(n * sizeof *rows);
        if (below(2)) mask >>= below(60);
        for (size_t i = 0; i < n; i++) {
            before[i] = codes[i] = anything() & mask;
            rows[i] = (uint32_t)i;
        }
        trees_sort_codes(codes, rows, n, scratch, scratch_rows);
        for (size_t i = 0; i < n; i++) {
            CHECK(rows[i] < n && codes[i] == before[rows[i]]);
            CHECK(i == 0 || codes[i - 1] < codes[i] || (codes[i - 1] == codes[i] && rows[i - 1] < rows[i]));
            note(codes[i]);
        }
        free(codes);
        free(scratch);
        free(before);
        free(rows);
        free(scratch_rows);
    }
}

int main(void) {
    check_marks();
    check_sorting();
    check_searches();
    return print_digest();
}
