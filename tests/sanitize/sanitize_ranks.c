/* Ranks of the tokens of sets (ranks.h) beside a comparison of each set with each, in heap buffers of exactly the size that
 * the contract states. Prints a digest of all results, which no compiler may change. */
#include "ranks/ranks.h"
#include "sanitize_kit.h"

#define MOST_SETS 40

/* Rows of tokens, repeats included; row i is tokens[starts[i]..starts[i + 1]). */
struct rows {
    size_t n, starts[MOST_SETS + 1];
    uint64_t *tokens;
};

static struct rows draw_rows(void) {
    struct rows rows = {0};
    size_t different = 1 + below(below(2) ? 30 : 3000), total = 0;
    rows.n = case_size(below(MOST_SETS + 1), 10);
    for (size_t i = 0; i < rows.n; i++) {
        total += case_size(below(below(4) ? 20 : 300), 20);
        rows.starts[i + 1] = total;
    }
    rows.tokens = numbers(total);
    for (size_t i = 0; i < total; i++) {
        uint64_t token = below(different);
        rows.tokens[i] = token % 3 ? mix64(token) : token;
    }
    return rows;
}

static int has(const struct rows *rows, size_t row, uint64_t token) {
    for (size_t i = rows->starts[row]; i < rows->starts[row + 1]; i++) {
        if (rows->tokens[i] == token) return 1;
    }
    return 0;
}

/* Whether the token at this place is the first of its row, and how many rows have it. */
static size_t held(const struct rows *rows, size_t row, size_t at, int *is_first) {
    size_t count = 0;
    *is_first = 1;
    for (size_t i = rows->starts[row]; i < at; i++) *is_first &= rows->tokens[i] != rows->tokens[at];
    for (size_t other = 0; other < rows->n; other++) count += (size_t)has(rows, other, rows->tokens[at]);
    return count;
}

/* Note and pick the tokens of all rows. Returns their hashes, and the number of those of each row. */
static uint64_t *pick(const struct rows *rows, size_t picked[MOST_SETS]) {
    unsigned bits = 10 + (unsigned)below(6);
    struct ranks_filter filter = {buffer((size_t)1 << (bits - 2)), bits, anything() | 1};
    memset(filter.counters, 0, (size_t)1 << (bits - 2));
    size_t total = rows->starts[rows->n], slices = 1 + below(5), made = 0;
    for (size_t slice = 0; slice < slices; slice++) ranks_note(&filter, rows->tokens, total, slice, slices);
    uint64_t *hashes = numbers(total);
    for (size_t row = 0; row < rows->n; row++) {
        size_t n = rows->starts[row + 1] - rows->starts[row];
        uint64_t *own = numbers(n);
        picked[row] = ranks_pick(&filter, rows->tokens + rows->starts[row], n, own);
        for (size_t i = 0; i < picked[row]; i++) hashes[made++] = own[i];
        free(own);
    }
    free(filter.counters);
    uint64_t *exact = copy_of(hashes, made * sizeof *hashes);
    free(hashes);
    return exact;
}

static size_t group(const uint64_t *hashes, uint32_t *sets, size_t n, unsigned bits, uint64_t *class_postings) {
    unsigned table_bits = 1;
    while ((size_t)1 << table_bits < 2 * n) table_bits++;
    struct ranks_scratch scratch = {buffer(sizeof(uint32_t) << table_bits), table_bits, numbers(n), buffer(4 * n),
                                    buffer(4 * n), buffer(4 * n), buffer(4 * n), buffer(4 * n)};
    size_t kept = ranks_group(hashes, sets, n, bits, &scratch, class_postings);
    free(scratch.table);
    free(scratch.hashes);
    free(scratch.ids);
    free(scratch.counts);
    free(scratch.lasts);
    free(scratch.starts);
    free(scratch.postings);
    return kept;
}

static void check_rows(void) {
    struct rows rows = draw_rows();
    size_t picked[MOST_SETS], total = 0;
    uint64_t *hashes = pick(&rows, picked);
    for (size_t row = 0; row < rows.n; row++) total += picked[row];
    unsigned bits = (unsigned)below(4);
    size_t parts = (size_t)1 << bits;
    uint64_t *starts = numbers(parts + 1), *ends = numbers(parts), *classes = numbers(parts * RANKS_CLASSES);
    memset(starts, 0, (parts + 1) * sizeof *starts);
    ranks_count_parts(hashes, total, bits, starts + 1);
    for (size_t part = 0; part < parts; part++) {
        ends[part] = starts[part];
        starts[part + 1] += starts[part];
    }
    CHECK(starts[parts] == total);
    uint64_t *divided = numbers(total);
    uint32_t *sets = buffer(total * sizeof *sets);
    for (size_t row = 0, at = 0; row < rows.n; at += picked[row++]) {
        ranks_divide(hashes + at, picked[row], (uint32_t)row, bits, ends, divided, sets);
    }
    uint32_t once[MOST_SETS] = {0}, counts[MOST_SETS] = {0}, next = 0;
    for (size_t part = 0; part < parts; part++) {
        uint64_t *own = classes + part * RANKS_CLASSES;
        CHECK(ends[part] == starts[part + 1]);
        size_t n = starts[part + 1] - starts[part], kept = group(divided + starts[part], sets + starts[part], n, bits, own);
        ranks_count(sets + starts[part], own[1], once);
        ranks_count(sets + starts[part] + own[1], kept - own[1], counts);
    }
    uint64_t row_ends[MOST_SETS], row_starts[MOST_SETS], all = 0;
    for (size_t row = 0; row < rows.n; row++) {
        row_starts[row] = row_ends[row] = all;
        all += counts[row];
    }
    uint32_t *ranks = buffer(all * sizeof *ranks);
    for (unsigned class = 2; class < RANKS_CLASSES; class++) {
        for (size_t part = 0; part < parts; part++) {
            const uint64_t *own = classes + part * RANKS_CLASSES;
            uint64_t at = starts[part];
            for (unsigned c = 1; c < class; c++) at += own[c];
            next = ranks_place(sets + at, own[class], next, row_ends, ranks);
        }
    }
    for (size_t row = 0; row < rows.n; row++) {
        size_t shared = 0;
        CHECK(row_ends[row] == row_starts[row] + counts[row]);
        for (size_t at = rows.starts[row]; at < rows.starts[row + 1]; at++) {
            int is_first;
            size_t count = held(&rows, row, at, &is_first);
            shared += is_first && count > 1;
        }
        CHECK(counts[row] == shared);
        for (uint64_t i = row_starts[row]; i < row_ends[row]; i++) {
            CHECK(ranks[i] < next && (i == row_starts[row] || ranks[i - 1] < ranks[i]));
        }
        note(shared);
    }
    note(next);
    free(ranks);
    free(sets);
    free(divided);
    free(classes);
    free(ends);
    free(starts);
    free(hashes);
    free(rows.tokens);
}

int main(void) {
    for EACH_ROUND(round, 300) check_rows();
    return print_digest();
}
