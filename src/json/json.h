/* Lines of JSON objects, of which a few members are wanted: the text decoded, others as they stand in the line.
 *
 * A line is decided if it is one object by RFC 8259 whose text is a string or null. Others are left undecided, and the
 * caller has another parser decide; so are lines that hold what parsers treat in different ways: a lone surrogate, a name
 * with escapes, more than JSON_DEPTH nested values, a number of more than JSON_NUMBER bytes.
 *
 * Contract: nothing is allocated or kept. The JSON_PADDING bytes behind the end of the data are read, and nothing depends
 * on them. The memory for decoded texts overlaps no input. */
#ifndef LSHFAST_JSON_H
#define LSHFAST_JSON_H

#include "cpu/cpu.h"

#include <stddef.h>

#define JSON_PADDING 64
#define JSON_DEPTH 128
#define JSON_NUMBER 640 /* Python may refuse integers of more digits */
#define JSON_KEYS 4

struct json_kernels {
    /* Of 64 bytes: bit i of the result says that text[i] is below 0x20, a quote or a backslash, and that of *high that it
     * is not ASCII. */
    uint64_t (*special)(const uint8_t *text, uint64_t *high);
    /* Whether text[0..n) is UTF-8. Nothing is read behind it. */
    int (*is_utf8)(const uint8_t *text, size_t n);
};
extern const struct json_kernels json_scalar, json_avx2, json_avx512, json_neon;
extern const struct json_kernels *const json_levels[CPU_LEVELS];

/* The names of the wanted members, in UTF-8: of the text, and of up to JSON_KEYS others. */
struct json_names {
    const uint8_t *name[1 + JSON_KEYS];
    size_t length[1 + JSON_KEYS], count;
};

/* Where a value stands. A string without escapes stands between its quotes. */
enum json_form { JSON_MISSING, JSON_PLAIN_STRING, JSON_VALUE };
struct json_member {
    const uint8_t *start, *stop;
    enum json_form form;
};

/* A blank line holds ASCII's white space, if anything. */
enum json_state { JSON_BLANK, JSON_UNDECIDED, JSON_DECIDED };
struct json_row {
    enum json_state state;
    size_t length;                        /* bytes of the decoded text; 0 for null */
    struct json_member keys[JSON_KEYS];
};

/* Read the line that begins at `at` < end, and return where the next one begins, end for none. The last member of a name
 * counts. A decided text is in `out`, which must hold JSON_PADDING bytes more than are left of the data. */
const uint8_t *json_line(const struct json_kernels *kernels, const struct json_names *names, const uint8_t *at,
                         const uint8_t *end, struct json_row *row, uint8_t *out);

/* The portable check, which levels without a faster one use. */
int json_is_utf8_scalar(const uint8_t *text, size_t n);
#if LSHFAST_X86
int json_is_utf8_avx2(const uint8_t *text, size_t n);
#endif

#endif
