/* Sorted arrays instead of trees of nodes: going up a level is a step to either side, building is a sort, adding is a
 * merge. What is left of a search is waiting for memory: lookups are under way for several steps at a time, and rows are
 * gathered before they are compared. */
#include "trees/trees.h"

#include <string.h>

#include "cpu/cpu.h"

/* ---- codes and marks ---- */

void trees_codes(const struct tree_shape *shape, const uint64_t *signature, uint64_t *out, size_t stride) {
    const unsigned first = trees_code_bits(shape->levels, 1), other = trees_code_bits(shape->levels, 2) - first;
    const size_t slots = shape->k / shape->deep;
    for (size_t t = 0; t < shape->deep; t++) {
        const uint64_t *slot = signature + t * slots;
        unsigned shift = 64 - first;
        uint64_t code = mix64(slot[0]) >> shift << shift;
        for (size_t level = 1; level < shape->levels; level++) {
            shift -= other;
            code |= mix64(slot[level]) >> (64 - other) << shift;
        }
        out[t * stride] = code;
    }
    for (size_t t = shape->deep, slot = 0; t < shape->trees; slot++) {
        if (slot % slots == 0 && slot / slots < shape->deep) continue;
        out[t++ * stride] = mix64(signature[slot]);
    }
}

void trees_marks(const uint64_t *signature, size_t k, uint64_t *out) {
    uint64_t *upper = out + trees_mark_words(k) / 2;
    memset(out, 0, trees_mark_words(k) * sizeof *out);
    for (size_t i = 0; i < k; i++) {
        uint64_t mark = mix64(signature[i]);
        out[i / 16] |= (mark & 15) << i % 16 * 4;
        upper[i / 16] |= (mark >> 4 & 15) << i % 16 * 4;
    }
}

/* A one in each nibble that two words share. */
static inline uint64_t equal_nibbles(uint64_t a, uint64_t b) {
    uint64_t differ = a ^ b;
    differ |= differ >> 2;
    return ~(differ | differ >> 1) & UINT64_C(0x1111111111111111);
}

static inline size_t sum_of_nibbles(uint64_t nibbles) {
    uint64_t low = UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (size_t)(((nibbles & low) + (nibbles >> 4 & low)) * UINT64_C(0x0101010101010101) >> 56);
}

/* A nibble can count fifteen words, and all of them together no more than 240. */
#define COUNTED 15

size_t trees_equal_low_marks(const uint64_t *a, const uint64_t *b, size_t k) {
    size_t words = trees_mark_words(k) / 2, equal = 0;
    for (size_t i = 0; i < words;) {
        size_t stop = words - i < COUNTED ? words : i + COUNTED;
        uint64_t counts = 0;
        for (; i < stop; i++) counts += equal_nibbles(a[i], b[i]);
        equal += sum_of_nibbles(counts);
    }
    return equal - (words * 16 - k);
}

size_t trees_equal_marks(const uint64_t *a, const uint64_t *b, size_t k) {
    size_t words = trees_mark_words(k) / 2, equal = 0;
    for (size_t i = 0; i < words;) {
        size_t stop = words - i < COUNTED ? words : i + COUNTED;
        uint64_t counts = 0;
        for (; i < stop; i++) counts += equal_nibbles(a[i], b[i]) & equal_nibbles(a[words + i], b[words + i]);
        equal += sum_of_nibbles(counts);
    }
    return equal - (words * 16 - k);
}

/* ---- runs ---- */

void trees_lay_out_fences(struct run *run) {
    size_t counts[TREES_MOST_LISTS], at = 0;
    run->lists = 0;
    for (size_t n = run->n; n > TREES_BLOCK_CODES;) {
        counts[run->lists++] = n = (n + TREES_BLOCK_CODES - 1) / TREES_BLOCK_CODES;
    }
    for (size_t list = 0; list < run->lists; list++) {
        run->list_at[list] = at;
        at += (counts[run->lists - 1 - list] + TREES_BLOCK_CODES - 1) / TREES_BLOCK_CODES * TREES_BLOCK_CODES;
    }
    run->fence_words = at;
}

void trees_set_fences(const struct run *run, const uint64_t *codes, uint64_t *fences) {
    size_t n = run->n, end = run->fence_words;
    for (size_t list = run->lists; list-- > 0;) {
        uint64_t *made = fences + run->list_at[list];
        for (size_t i = 0; i < n; i += TREES_BLOCK_CODES) *made++ = codes[i];
        for (; made < fences + end; made++) *made = UINT64_MAX;
        n = (n + TREES_BLOCK_CODES - 1) / TREES_BLOCK_CODES;
        end = run->list_at[list];
        codes = fences + end;
    }
}

#define DIGIT_BITS 11
#define PASSES 6 /* 66 bits, of which 64 count */
#define DIGIT_VALUES (1 << DIGIT_BITS)
#define FEW_CODES 48

static void sort_few(uint64_t *codes, uint32_t *rows, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint64_t code = codes[i];
        uint32_t row = rows[i];
        size_t j = i;
        for (; j > 0 && codes[j - 1] > code; j--) {
            codes[j] = codes[j - 1];
            rows[j] = rows[j - 1];
        }
        codes[j] = code;
        rows[j] = row;
    }
}

struct coded {
    uint64_t *codes;
    uint32_t *rows;
};

/* Bring n codes with their rows into the stable order of one digit; 0, and nothing is written, where all have the same
 * one. The counts are of 32 bits: threads may have small stacks. */
static int sort_by_digit(struct coded from, size_t n, unsigned shift, struct coded to) {
    uint32_t starts[DIGIT_VALUES] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++) starts[from.codes[i] >> shift & (DIGIT_VALUES - 1)]++;
    if (starts[from.codes[0] >> shift & (DIGIT_VALUES - 1)] == n) return 0;
    for (size_t d = 0; d < DIGIT_VALUES; d++) {
        uint32_t count = starts[d];
        starts[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = starts[from.codes[i] >> shift & (DIGIT_VALUES - 1)]++;
        to.codes[at] = from.codes[i];
        to.rows[at] = from.rows[i];
    }
    return 1;
}

void trees_sort_codes(uint64_t *codes, uint32_t *rows, size_t n, uint64_t *scratch_codes, uint32_t *scratch_rows) {
    struct coded from = {codes, rows}, to = {scratch_codes, scratch_rows};
    if (n <= FEW_CODES) {
        sort_few(codes, rows, n);
        return;
    }
    for (unsigned pass = 0; pass < PASSES; pass++) {
        if (!sort_by_digit(from, n, DIGIT_BITS * pass, to)) continue;
        struct coded swap = from;
        from = to;
        to = swap;
    }
    if (from.codes != codes) {
        memcpy(codes, from.codes, n * sizeof *codes);
        memcpy(rows, from.rows, n * sizeof *rows);
    }
}

size_t trees_merge_codes(const uint64_t *codes_a, const uint32_t *rows_a, size_t a, const uint64_t *codes_b,
                         const uint32_t *rows_b, size_t b, const uint8_t *live, uint64_t *codes, uint32_t *rows) {
    size_t i = 0, j = 0, made = 0;
    while (i < a || j < b) {
        int from_a = j == b || (i < a && codes_a[i] <= codes_b[j]);
        uint64_t code = from_a ? codes_a[i] : codes_b[j];
        uint32_t row = from_a ? rows_a[i] : rows_b[j];
        i += (size_t)from_a;
        j += (size_t)!from_a;
        if (!live[row]) continue;
        codes[made] = code;
        rows[made++] = row;
    }
    return made;
}

double trees_mean_group(const uint64_t *codes, size_t n, unsigned bits) {
    double squares = 0;
    for (size_t i = 0, first = 0; i < n; i++) {
        if (i + 1 < n && (codes[i + 1] ^ codes[i]) >> (64 - bits) == 0) continue;
        double size = (double)(i + 1 - first);
        squares += size * size;
        first = i + 1;
    }
    return squares / (double)n;
}

/* ---- searches ---- */

/* Prefetch distance, in lookups, of the last fences; codes are prefetched at half of it. */
#define AHEAD_ROWS 8

/* Rows are gathered up to the first number and compared from the second on, so that their marks have time to arrive. */
#define MOST_GATHERED 32
#define WORTH_COMPARING 16

/* The codes from low to high are of rows met already. Before that, low says how far the lookup has come, to block `high`
 * of what was prefetched. */
struct span {
    uint32_t low, high;
};
#define NOT_YET UINT32_MAX
#define FENCES_ASKED (UINT32_MAX - 1)
#define CODES_ASKED (UINT32_MAX - 2)

struct search {
    const struct forest *forest;
    const uint64_t *query, *codes, *marks;
    uint64_t *seen, *touched; /* a bit a row, and which words of them are not zero */
    size_t touched_count;
    struct span *spans; /* (trees, runs) */
    uint32_t gathered[MOST_GATHERED];
    size_t gathered_count;
    size_t found;
    /* trees_top: a heap, its root the worst of the `most` best so far */
    uint64_t *best;
    size_t most, enough;
    int done;
    /* trees_within */
    int64_t q;
    double threshold, slack;
    uint32_t *rows;
    double *containments;
    size_t capacity;
};

size_t trees_seen_words(const struct forest *forest) { return forest->row_count / 64 + 1; }

size_t trees_room_words(const struct forest *forest) {
    return forest->shape.trees * (1 + forest->run_count) + trees_mark_words(forest->shape.k) + trees_seen_words(forest);
}

static struct search search_for(const struct forest *forest, const uint64_t *query, uint64_t *room, uint64_t *seen) {
    struct search search = {0};
    uint64_t *marks = room + forest->shape.trees;
    trees_codes(&forest->shape, query, room, 1);
    trees_marks(query, forest->shape.k, marks);
    search.forest = forest;
    search.query = query;
    search.codes = room;
    search.marks = marks;
    search.seen = seen;
    search.touched = marks + trees_mark_words(forest->shape.k);
    search.spans = (struct span *)(search.touched + trees_seen_words(forest));
    memset(search.spans, 0xFF, forest->shape.trees * forest->run_count * sizeof(struct span)); /* NOT_YET */
    return search;
}

static void forget(struct search *search) {
    for (size_t i = 0; i < search->touched_count; i++) search->seen[search->touched[i]] = 0;
}

static void sift_down(uint64_t *heap, size_t n, uint64_t match) {
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= match) break;
        heap[at] = heap[child];
    }
    heap[at] = match;
}

static void keep(struct search *search, uint64_t match) {
    uint64_t *heap = search->best;
    size_t at = search->found;
    if (at == search->most) {
        sift_down(heap, at, match);
        return;
    }
    for (; at && heap[(at - 1) / 2] > match; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = match;
    search->found++;
}

static void put_down(struct search *search, uint32_t row, double containment) {
    if (search->found < search->capacity) {
        search->rows[search->found] = row;
        search->containments[search->found] = containment;
    }
    search->found++;
}

static inline double containment_of(const struct search *search, uint32_t row, size_t agreement) {
    return trees_containment(agreement, search->forest->shape.k, search->q, search->forest->sizes[row]);
}

/* 1 if a row of so many equal slots belongs to the answer so far. */
static inline int is_wanted(const struct search *search, uint32_t row, size_t agreement) {
    if (agreement == 0) return 0;
    if (search->best) return search->found < search->most || trees_match_of(agreement, row) > search->best[0];
    return trees_reaches(agreement, search->forest->shape.k, search->q, search->forest->sizes[row], search->threshold,
                   search->slack);
}

static inline int is_done(const struct search *search) {
    return search->best && search->found == search->most && trees_match_agreement(search->best[0]) >= search->enough;
}

static inline size_t equal_slots(const uint64_t *a, const uint64_t *b, size_t k) {
    uint64_t unequal = 0; /* without a comparison, which compilers make sums of vectors of only from SSE4.1 on */
    for (size_t i = 0; i < k; i++) {
        uint64_t differ = a[i] ^ b[i];
        unequal += (differ | (0 - differ)) >> 63;
    }
    return k - (size_t)unequal;
}

static inline void ask_for_slots(const struct forest *forest, uint32_t row) {
    const uint64_t *slots = forest->signatures + row * forest->shape.k;
    for (size_t slot = 0; slot < forest->shape.k && slot < 128; slot += 8) prefetch(slots + slot);
}

/* Compare the rows gathered: by the lower halves of their marks, which are here or on their way, by all of their marks,
 * and those that are most similar by these by their slots, as long as the others may still be wanted. */
static void compare(struct search *search) {
    const struct forest *forest = search->forest;
    const size_t k = forest->shape.k, words = trees_mark_words(k);
    uint32_t *rows = search->gathered;
    uint64_t likely[MOST_GATHERED]; /* as matches, the best first */
    size_t possible = 0, count = 0;
    for (size_t i = 0; i < search->gathered_count; i++) {
        const uint64_t *marks = forest->marks + rows[i] * words;
        if (!is_wanted(search, rows[i], trees_equal_low_marks(search->marks, marks, k))) continue;
        prefetch(marks + words / 2);
        rows[possible++] = rows[i];
    }
    for (size_t i = 0; i < possible; i++) {
        size_t most = trees_equal_marks(search->marks, forest->marks + rows[i] * words, k), at = count;
        if (!is_wanted(search, rows[i], most) || !forest->live[rows[i]]) continue;
        uint64_t match = trees_match_of(most, rows[i]);
        for (; at && likely[at - 1] < match; at--) likely[at] = likely[at - 1];
        likely[at] = match;
        count++;
    }
    for (size_t i = 0; i < count && i < 4; i++) ask_for_slots(forest, trees_match_row(likely[i]));
    for (size_t i = 0; i < count; i++) {
        const uint32_t row = trees_match_row(likely[i]);
        if (!is_wanted(search, row, trees_match_agreement(likely[i]))) break;
        if (i + 4 < count) ask_for_slots(forest, trees_match_row(likely[i + 4]));
        size_t agreement = equal_slots(search->query, forest->signatures + row * k, k);
        if (!is_wanted(search, row, agreement)) continue;
        if (search->best) keep(search, trees_match_of(agreement, row));
        else put_down(search, row, containment_of(search, row, agreement));
    }
    search->gathered_count = 0;
    search->done = is_done(search);
}

static inline void meet(struct search *search, uint32_t row) {
    uint64_t *word = search->seen + row / 64, bit = (uint64_t)1 << row % 64;
    if (*word & bit) return;
    if (*word == 0) search->touched[search->touched_count++] = row / 64;
    *word |= bit;
    const uint64_t *marks = search->forest->marks + row * trees_mark_words(search->forest->shape.k);
    prefetch(marks);
    if (search->found < search->most) prefetch(marks + trees_mark_words(search->forest->shape.k) / 2);
    if (!search->best) prefetch(search->forest->sizes + row);
    search->gathered[search->gathered_count++] = row;
    if (search->gathered_count == MOST_GATHERED) compare(search);
}

static void meet_loose(struct search *search) {
    const struct forest *forest = search->forest;
    for (size_t i = 0; i < forest->loose_count && !search->done; i++) meet(search, forest->loose[i]);
}

/* The block of the next list in which the first number from `code` on is, or is the first behind. */
static inline size_t next_block(const uint64_t *list, size_t block, uint64_t code) {
    size_t below = 0;
    for (size_t i = 0; i < TREES_BLOCK_CODES; i++) below += list[block * TREES_BLOCK_CODES + i] < code;
    return block * TREES_BLOCK_CODES + below - (below > 0);
}

/* Go on with a lookup as far as memory that may have to be waited for. At its end the span is the empty one before the
 * first code that is not below the query's. */
static void approach(const struct run *run, size_t t, uint64_t code, struct span *span) {
    const uint64_t *codes = run->codes + t * run->n, *fences = run->fences + t * run->fence_words;
    const size_t last = run->lists - 1;
    size_t block = 0, at;
    switch (span->low) {
    case NOT_YET:
        if (run->lists) {
            for (size_t list = 0; list < last; list++) block = next_block(fences + run->list_at[list], block, code);
            prefetch(fences + run->list_at[last] + block * TREES_BLOCK_CODES);
        }
        span->low = FENCES_ASKED;
        break;
    case FENCES_ASKED:
        if (run->lists) block = next_block(fences + run->list_at[last], span->high, code);
        prefetch(codes + block * TREES_BLOCK_CODES);
        prefetch(run->rows + t * run->n + block * TREES_BLOCK_CODES);
        span->low = CODES_ASKED;
        break;
    default:
        at = (size_t)span->high * TREES_BLOCK_CODES;
        while (at < run->n && codes[at] < code) at++;
        block = span->low = (uint32_t)at;
    }
    span->high = (uint32_t)block;
}

static inline struct span *span_of(const struct search *search, size_t r, const struct step *step) {
    return search->spans + step->tree * search->forest->run_count + r;
}

/* Go on with the lookup of a step in run r if it is at this stage. */
static inline void ask(struct search *search, size_t r, const struct step *step, uint32_t stage) {
    struct span *span = span_of(search, r, step);
    if (span->low == stage) approach(search->forest->runs + r, step->tree, search->codes[step->tree], span);
}

static void ask_for_first(struct search *search, size_t r, const struct step *steps, size_t count) {
    for (size_t i = 0; i < count && i < AHEAD_ROWS; i++) ask(search, r, steps + i, NOT_YET);
    for (size_t i = 0; i < count && i < AHEAD_ROWS / 2; i++) ask(search, r, steps + i, FENCES_ASKED);
}

/* Take the first of `count` steps in one run: meet the rows beside the tree's span whose codes begin as the query's. */
static void take_step(struct search *search, size_t r, const struct step *steps, size_t count) {
    const struct run *run = search->forest->runs + r;
    const size_t t = steps->tree;
    const unsigned shift = 64 - trees_code_bits(search->forest->shape.levels, steps->depth);
    const uint64_t *codes = run->codes + t * run->n, code = search->codes[t];
    const uint32_t *rows = run->rows + t * run->n;
    if (count > AHEAD_ROWS) ask(search, r, steps + AHEAD_ROWS, NOT_YET);
    if (count > AHEAD_ROWS / 2) ask(search, r, steps + AHEAD_ROWS / 2, FENCES_ASKED);
    struct span span = *span_of(search, r, steps);
    while (span.low >= CODES_ASKED) approach(run, t, code, &span);
    while (span.low > 0 && (codes[span.low - 1] ^ code) >> shift == 0 && !search->done) meet(search, rows[--span.low]);
    while (span.high < run->n && (codes[span.high] ^ code) >> shift == 0 && !search->done) {
        meet(search, rows[span.high++]);
    }
    *span_of(search, r, steps) = span;
}

/* 1 if the rows gathered may end the search, and it pays to see: they are many, some steps have passed since the last
 * time, or the next one will meet more. */
static int is_time_to_compare(const struct search *search, const struct step *steps, const struct step *next,
                              const struct step *end) {
    if (search->found + search->gathered_count < search->most) return 0;
    return search->gathered_count >= WORTH_COMPARING || (next - steps) % 4 == 0 ||
           (next < end && next->depth < next[-1].depth);
}

size_t trees_top(const struct forest *forest, const uint64_t *query, const struct step *steps, size_t step_count,
                 size_t most, uint64_t *best, uint64_t *room, uint64_t *seen) {
    if (query[0] == EMPTY_SLOT) return 0;
    struct search search = search_for(forest, query, room, seen);
    search.best = best;
    search.most = most;
    search.enough = forest->shape.k;
    for (size_t r = 0; r < forest->run_count; r++) ask_for_first(&search, r, steps, step_count);
    meet_loose(&search);
    for (const struct step *step = steps, *end = steps + step_count; step < end && !search.done;) {
        for (size_t r = 0; r < forest->run_count && !search.done; r++) {
            take_step(&search, r, step, (size_t)(end - step));
        }
        search.enough = step++->enough;
        search.done = is_done(&search);
        if (!search.done && is_time_to_compare(&search, steps, step, end)) compare(&search);
    }
    compare(&search);
    forget(&search);
    for (size_t n = search.found; n > 1; n--) {
        uint64_t worst = best[0];
        sift_down(best, n - 1, best[n - 1]);
        best[n - 1] = worst;
    }
    return search.found;
}

size_t trees_within(const struct forest *forest, const uint64_t *query, int64_t q, const struct step *steps,
                    const uint32_t *counts, double threshold, double slack, uint32_t *rows, double *containments,
                    size_t capacity, uint64_t *room, uint64_t *seen) {
    if (query[0] == EMPTY_SLOT) return 0;
    struct search search = search_for(forest, query, room, seen);
    search.q = q;
    search.threshold = threshold;
    search.slack = slack;
    search.rows = rows;
    search.containments = containments;
    search.capacity = capacity;
    meet_loose(&search);
    for (size_t r = 0; r < forest->run_count; r++) {
        const size_t count = counts[forest->runs[r].group];
        ask_for_first(&search, r, steps, count);
        for (size_t i = 0; i < count; i++) take_step(&search, r, steps + i, count - i);
    }
    compare(&search);
    forget(&search);
    return search.found;
}
