/* What the programs of sanitize.sh share: random inputs, heap buffers of exactly the size that a contract states, so that
 * the address sanitizer sees each byte read or written beside them, and a digest of all results, which is printed at the
 * end and which no compiler and no CPU level may change.
 *
 * With FUZZING, random numbers are read from an input of libFuzzer: the programs of ../fuzz/kernels include those of this
 * folder, and check one case of each input.
 *
 * Compilers choose the order of operands, so no expression may draw two random numbers. */
#ifndef LSHFAST_SANITIZE_KIT_H
#define LSHFAST_SANITIZE_KIT_H

#include "cpu/cpu.h"
#include "field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FUZZING
#define FAIL() abort() /* libFuzzer prints the stack */
#else
#define FAIL() exit(1)
#endif

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
            FAIL();                                                              \
        }                                                                        \
    } while (0)

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- CPU levels ---- */

static inline int top_level(void) {
    static int top = -1;
    if (top < 0) top = (int)cpu_detect();
    return top;
}

#define EACH_LEVEL(level) (int level = CPU_SCALAR; level <= top_level(); level++)

/* ---- inputs ---- */

/* Programs set it back to draw the same numbers again. */
static uint64_t random_state = 1;

#ifdef FUZZING
static const uint8_t *fuzzed = NULL; /* the input; random_state is how many bytes of it have been read */
static size_t fuzzed_bytes = 0;
static uint64_t fuzzed_hash = 0; /* of the input: numbers behind its end depend on all of it */

static inline uint64_t drawn(size_t bytes) {
    uint64_t value = 0;
    if (random_state + bytes > fuzzed_bytes) value = mix64(fuzzed_hash + random_state * UINT64_C(0x9E3779B97F4A7C15));
    else memcpy(&value, fuzzed + random_state, bytes);
    random_state += bytes;
    return value;
}

static inline uint64_t anything(void) { return drawn(8); }

/* A number below n of as few bytes as it needs, so that most changes of an input change one number. */
static inline size_t below(uint64_t n) {
    return n < 2 ? 0 : (size_t)(drawn(n <= 256 ? 1 : n <= 65536 ? 2 : 8) % n);
}

/* The bytes that have not been read, in memory of exactly their size. */
static inline uint8_t *rest_of_input(size_t *length) {
    *length = random_state < fuzzed_bytes ? fuzzed_bytes - (size_t)random_state : 0;
    uint8_t *rest = malloc(*length);
    if (*length) memcpy(rest, fuzzed + random_state, *length);
    random_state += *length;
    return rest;
}

/* A size of a case, which is at most `small` but for one of 64, so that many cases are tried in a second. */
static inline size_t case_size(size_t size, size_t small) { return size > small && below(64) ? 1 + size % small : size; }

/* A case of many: one, drawn. */
#define EACH_ROUND(round, n) (size_t round = below(n), round##_end = round + 1; round < round##_end; round++)

/* Call one function of several. */
#define CHECK_ONE_OF(...)                                                        \
    do {                                                                         \
        static void (*const checks_[])(void) = {__VA_ARGS__};                    \
        checks_[below(COUNT(checks_))]();                                        \
    } while (0)
#else
static inline uint64_t anything(void) { return mix64(random_state += UINT64_C(0x9E3779B97F4A7C15)); }

static inline size_t below(uint64_t n) { return (size_t)(anything() % n); }

/* A size of a case; fuzzed ones are small. */
static inline size_t case_size(size_t size, size_t small) {
    (void)small;
    return size;
}

/* Cases that are drawn: `for EACH_ROUND(round, n)`. */
#define EACH_ROUND(round, n) (size_t round = 0; round < (n); round++)
#endif

/* The number whose mix64 is y. */
static inline uint64_t unmix64(uint64_t y) {
    y ^= y >> 31 ^ y >> 62;
    y *= UINT64_C(0x319642B2D24D8EC3);
    y ^= y >> 27 ^ y >> 54;
    y *= UINT64_C(0x96DE1B173F119089);
    return y ^ y >> 30 ^ y >> 60;
}

/* A number at which arithmetic mod p, or one of its limbs, turns over, or any number. */
static inline uint64_t edge_or_random(void) {
    static const uint64_t EDGES[] = {
        0, 1, 2, 7, 8, P61 - 1, P61, P61 + 1, 2 * P61, 7 * P61, 8 * P61, 8 * P61 + 7, UINT32_MAX, UINT64_C(1) << 32,
        (UINT64_C(1) << 52) - 1, UINT64_C(1) << 52, (UINT64_C(1) << 62) - 1, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX,
    };
    return below(3) ? anything() : EDGES[below(COUNT(EDGES))];
}

/* ---- exact buffers ---- */

/* So many bytes, filled with what no result may depend on. */
static inline void *buffer(size_t bytes) {
    void *made = malloc(bytes);
    CHECK(made || bytes == 0);
    if (bytes) memset(made, 0xA5, bytes);
    return made;
}

static inline uint64_t *numbers(size_t n) { return buffer(n * sizeof(uint64_t)); }

static inline void *copy_of(const void *source, size_t bytes) {
    void *made = buffer(bytes);
    if (bytes) memcpy(made, source, bytes);
    return made;
}

/* 1 if n bytes are equal; both may be NULL where n is 0. */
static inline int same_bytes(const void *a, const void *b, size_t n) { return n == 0 || memcmp(a, b, n) == 0; }

/* ---- the digest ---- */

static uint64_t digest = 0;

static inline void note(uint64_t value) { digest = mix64(digest ^ value); }

static inline void note_all(const uint64_t *values, size_t n) {
    note(n);
    for (size_t i = 0; i < n; i++) note(values[i]);
}

static inline void note_bytes(const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) note(((const uint8_t *)bytes)[i]);
}

/* A double by its bits. */
static inline void note_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    note(bits);
}

/* Print the digest: the last line of main. */
static inline int print_digest(void) {
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}

#ifdef FUZZING
/* ---- an input ---- */

/* Check one case; each program of ../fuzz/kernels has its own. */
static void check_input(void);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzzed = data;
    fuzzed_bytes = size;
    fuzzed_hash = size;
    for (size_t i = 0; i < size; i++) fuzzed_hash = mix64(fuzzed_hash ^ data[i]);
    random_state = 0;
    digest = 0;
    check_input();
    return 0;
}
#endif

#endif
