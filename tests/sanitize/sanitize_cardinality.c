/* Registers and estimates on random and edge inputs, in heap buffers of exactly the size that the contract states. Every
 * CPU level must equal the scalar one. Prints a digest of all results, which no compiler may change: doubles by their
 * bits. */
#include "cardinality/cardinality.h"
#include "sketch/sketch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1, digest = 0;

static uint64_t anything(void) { return mix64(state += UINT64_C(0x9E3779B97F4A7C15)); }

static void note(uint64_t value) { digest = mix64(digest ^ value); }

static void note_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    note(bits);
}

static void note_registers(const uint8_t *registers, unsigned width, unsigned p) {
    uint32_t counts[MAX_REGISTER + 1];
    count_registers(registers, p, counts);
    note(highest_register(registers, (size_t)1 << p));
    note_double(estimate_of_registers(counts, width, p));
}

static void check_registers(unsigned p, size_t n) {
    size_t m = (size_t)1 << p;
    uint64_t *tokens = malloc(n * sizeof *tokens + !n), constant = register_constant(anything());
    uint8_t *scalar = calloc(m, 1), *level = malloc(m);
    for (size_t i = 0; i < n; i++) tokens[i] = anything();
    registers_scalar(tokens, n, constant, p, scalar);
    note_registers(scalar, 64, p);
    for (int i = CPU_SCALAR; i <= (int)cpu_detect(); i++) {
        memset(level, 0, m);
        register_kernel_of((enum cpu_level)i)(tokens, n, constant, p, level);
        if (memcmp(scalar, level, m)) {
            fprintf(stderr, "level %d differs for p = %u, n = %zu\n", i, p, n);
            exit(1);
        }
    }
    memset(level, 0, m);
    registers_by_hashes(tokens, n, 64, p, level);
    note_registers(level, 64, p);
    memset(level, 0, m);
    for (size_t i = 0; i < n; i++) tokens[i] >>= 32;
    registers_by_hashes(tokens, n, 32, p, level);
    note_registers(level, 32, p);

    unsigned width = p + 1 + (unsigned)(anything() % (64 - p)), top = width - p + 1;
    for (size_t i = 0; i < m; i++) { /* most of them as high as they go */
        uint64_t drawn = anything();
        level[i] = (uint8_t)(drawn & 3 ? top : (drawn >> 2) % (top + 1));
    }
    note_registers(level, width, p);
    memset(level, (int)top, m);
    note_registers(level, width, p);
    free(tokens);
    free(scalar);
    free(level);
}

/* Slots at random, at random in the first rounds, the least and the greatest: each gives a number. */
static void check_signatures(size_t k) {
    uint64_t *slots = malloc(k * sizeof *slots);
    for (int kind = 0; kind < 4; kind++) {
        for (size_t i = 0; i < k; i++) {
            uint64_t drawn = anything();
            slots[i] = kind == 0 ? drawn : kind == 1 ? drawn >> 6 : kind == 2 ? 0 : UINT64_MAX - 1;
        }
        note_double(estimate_of_classic(slots, k));
        note_double(estimate_of_fast(slots, k));
    }
    memset(slots, 0xFF, k * sizeof *slots);
    if (estimate_of_classic(slots, k) != 0 || estimate_of_fast(slots, k) != 0) exit(1);
    uint64_t n = anything(), shift = anything() % 60;
    note_double(variance_of_fast((double)(n >> shift) + 1, k));
    free(slots);
}

int main(void) {
    for (unsigned p = MIN_PRECISION; p <= MAX_PRECISION; p++) {
        for (size_t n = 0; n < 40; n++) check_registers(p, n);
    }
    for (size_t k = MIN_SLOTS; k < 400; k++) check_signatures(k);
    check_signatures(MAX_SLOTS);
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
