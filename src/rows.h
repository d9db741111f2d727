/* The one check that guards every (offsets, tokens) pair before a kernel follows it. */
#ifndef LSHFAST_ROWS_H
#define LSHFAST_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* 1 if offsets[0..n] start at 0 or above, never fall, and end within m tokens. */
static inline int rows_are_valid(const int64_t *offsets, size_t n, size_t m) {
    if (offsets[0] < 0 || offsets[n] < 0 || (uint64_t)offsets[n] > m) return 0;
    for (size_t i = 0; i < n; i++) {
        if (offsets[i] > offsets[i + 1]) return 0;
    }
    return 1;
}

/* The longest row. */
static inline size_t longest_row(const int64_t *offsets, size_t n) {
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = (size_t)(offsets[i + 1] - offsets[i]);
        most = length > most ? length : most;
    }
    return most;
}

/* How many of the first n > 0 rows hold at most `most` tokens together; at least 1. */
static inline size_t rows_within(const int64_t *offsets, size_t n, size_t most) {
    size_t rows = 1;
    while (rows < n && rows < most && (uint64_t)(offsets[rows + 1] - offsets[0]) <= most) rows++;
    return rows;
}

/* 1 if all of numbers[0..count) are in [0, n). */
static inline int are_below(const int64_t *numbers, size_t count, size_t n) {
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] < 0 || (uint64_t)numbers[i] >= n) return 0;
    }
    return 1;
}

/* 1 if numbers[0..count) rise, each below n. */
static inline int rise_below(const int64_t *numbers, size_t count, size_t n) {
    for (size_t i = 1; i < count; i++) {
        if (numbers[i - 1] >= numbers[i]) return 0;
    }
    return are_below(numbers, count, n);
}

#endif
