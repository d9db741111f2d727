/* A radix sort that begins with the highest digit: keys are mixed, so two passes leave parts of some twenty records, and
 * all later steps are in the cache. It takes 15 to 50 ns a record, and no input takes more than 16 passes. */
#include "runs/runs.h"

#include <string.h>

#define DIGIT_BITS 8
#define DIGIT_VALUES (1 << DIGIT_BITS)
#define FEW_RECORDS 40

static inline int comes_before(struct runs_record a, struct runs_record b) {
    return a.first < b.first || (a.first == b.first && a.second < b.second);
}

static void sort_few(struct runs_record *records, size_t n) {
    for (size_t i = 1; i < n; i++) {
        struct runs_record record = records[i];
        size_t j = i;
        for (; j > 0 && comes_before(record, records[j - 1]); j--) records[j] = records[j - 1];
        records[j] = record;
    }
}

/* Bring records into the order of one digit of the first or the second word. starts: where each digit's records begin
 * in `to`, and at last where they end. */
static ALWAYS_INLINED void move_by_digit(const struct runs_record *from, size_t n, int second, unsigned shift,
                                         struct runs_record *to, size_t *starts) {
    memset(starts, 0, DIGIT_VALUES * sizeof *starts);
    for (size_t i = 0; i < n; i++) {
        starts[(second ? from[i].second : from[i].first) >> shift & (DIGIT_VALUES - 1)]++;
    }
    for (size_t d = 0, sum = 0; d < DIGIT_VALUES; d++) {
        size_t count = starts[d];
        starts[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        to[starts[(second ? from[i].second : from[i].first) >> shift & (DIGIT_VALUES - 1)]++] = from[i];
    }
}

/* Sort n records into `other` if `move`, else in place. Records that are sorted by a digit differ in lower bits only, so
 * this calls itself to a depth of 16 at most. */
static void sort_part(struct runs_record *records, size_t n, struct runs_record *other, int move) {
    uint64_t first = 0, second = 0;
    if (n <= FEW_RECORDS) {
        sort_few(records, n);
    } else {
        for (size_t i = 1; i < n; i++) {
            first |= records[i].first ^ records[0].first;
            second |= records[i].second ^ records[0].second;
        }
    }
    if (!first && !second) {
        if (move) memcpy(other, records, n * sizeof *records);
        return;
    }
    size_t ends[DIGIT_VALUES];
    unsigned highest = highest_bit(first ? first : second);
    unsigned shift = highest < DIGIT_BITS ? 0 : highest - (DIGIT_BITS - 1);
    if (first) move_by_digit(records, n, 0, shift, other, ends);
    else move_by_digit(records, n, 1, shift, other, ends);
    for (size_t d = 0, start = 0; d < DIGIT_VALUES; start = ends[d++]) {
        if (ends[d] > start) sort_part(other + start, ends[d] - start, records + start, !move);
    }
}

void runs_sort(struct runs_record *records, size_t n, struct runs_record *scratch) { sort_part(records, n, scratch, 0); }

int runs_are_sorted(const struct runs_record *records, size_t n) {
    for (size_t i = 1; i < n; i++) {
        if (comes_before(records[i], records[i - 1])) return 0;
    }
    return 1;
}

size_t runs_count_until(const struct runs_record *records, size_t n, struct runs_record last) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (comes_before(last, records[middle])) high = middle;
        else low = middle + 1;
    }
    return low;
}

size_t runs_of_band(const uint64_t *keys, size_t n, size_t bands, size_t band, uint64_t first_row, const uint8_t *chosen,
                    struct runs_record *out) {
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = keys[i * bands + band];
        out[made].first = mix64(key); /* keys may come from elsewhere and be small numbers */
        out[made].second = first_row + i;
        made += (size_t)(key != EMPTY_SLOT && (!chosen || chosen[i]));
    }
    return made;
}

size_t runs_pairs(const struct runs_record *records, size_t n, struct runs_walk *walk, struct runs_record *out,
                  size_t capacity, size_t work) {
    size_t made = 0;
    while (walk->i < n) {
        struct runs_record record = records[walk->i];
        for (; walk->j < n && records[walk->j].first == record.first; walk->j++) {
            if (made == capacity || work-- == 0) return made;
            out[made].first = record.second;
            out[made].second = records[walk->j].second;
            made += (size_t)(records[walk->j].second != record.second);
        }
        walk->i++;
        walk->j = walk->i + 1;
        if (work == 0) return made;
        work--;
    }
    return made;
}
