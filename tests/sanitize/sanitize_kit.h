/* What the programs of sanitize.sh share: random inputs, heap buffers of exactly the size that a contract states, so that
 * the address sanitizer sees each byte read or written beside them, and a digest of all results, which is printed at the
 * end and which no compiler and no CPU level may change.
 *
 * Compilers choose the order of operands, so no expression may draw two random numbers. */
#ifndef LSHFAST_SANITIZE_KIT_H
#define LSHFAST_SANITIZE_KIT_H

#include "cpu/cpu.h"
#include "field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
            exit(1);                                                             \
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

static uint64_t random_state = 1;

static inline uint64_t anything(void) { return mix64(random_state += UINT64_C(0x9E3779B97F4A7C15)); }

/* The number whose mix64 is y. */
static inline uint64_t unmix64(uint64_t y) {
    y ^= y >> 31 ^ y >> 62;
    y *= UINT64_C(0x319642B2D24D8EC3);
    y ^= y >> 27 ^ y >> 54;
    y *= UINT64_C(0x96DE1B173F119089);
    return y ^ y >> 30 ^ y >> 60;
}

static inline size_t below(uint64_t n) { return (size_t)(anything() % n); }

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

#endif
