/* Registers and estimates on random and edge inputs, in heap buffers of exactly the size that the contract states. Every
 * CPU level must equal the scalar one. Prints a digest of all results, which no compiler may change: doubles by their
 * bits. */
#include "cardinality/cardinality.h"
#include "sketch/sketch.h"
#include "sanitize_kit.h"

static void note_registers(const uint8_t *registers, unsigned width, unsigned p) {
    uint32_t counts[CARDINALITY_MAX_REGISTER + 1];
    cardinality_count_registers(registers, p, counts);
    note(cardinality_highest_register(registers, (size_t)1 << p));
    note_double(cardinality_of_registers(counts, width, p));
}

static void check_registers(unsigned p, size_t n) {
    size_t m = (size_t)1 << p;
    uint64_t *tokens = malloc(n * sizeof *tokens + !n), constant = cardinality_constant(anything());
    uint8_t *scalar = calloc(m, 1), *level = malloc(m);
    for (size_t i = 0; i < n; i++) tokens[i] = anything();
    cardinality_registers_scalar(tokens, n, constant, p, scalar);
    note_registers(scalar, 64, p);
    for EACH_LEVEL(i) {
        memset(level, 0, m);
        cardinality_levels[i](tokens, n, constant, p, level);
        if (memcmp(scalar, level, m)) {
            fprintf(stderr, "level %d differs for p = %u, n = %zu\n", i, p, n);
            FAIL();
        }
    }
    memset(level, 0, m);
    cardinality_registers_by_hashes(tokens, n, 64, p, level);
    note_registers(level, 64, p);
    memset(level, 0, m);
    for (size_t i = 0; i < n; i++) tokens[i] >>= 32;
    cardinality_registers_by_hashes(tokens, n, 32, p, level);
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
        note_double(cardinality_of_classic(slots, k));
        note_double(cardinality_of_fast(slots, k));
    }
    memset(slots, 0xFF, k * sizeof *slots);
    if (cardinality_of_classic(slots, k) != 0 || cardinality_of_fast(slots, k) != 0) FAIL();
    uint64_t n = anything(), shift = anything() % 60;
    note_double(cardinality_variance_of_fast((double)(n >> shift) + 1, k));
    free(slots);
}

int main(void) {
    for (unsigned p = CARDINALITY_MIN_PRECISION; p <= CARDINALITY_MAX_PRECISION; p++) {
        for (size_t n = 0; n < 40; n++) check_registers(p, n);
    }
    for (size_t k = CARDINALITY_MIN_SLOTS; k < 400; k++) check_signatures(k);
    check_signatures(SKETCH_MAX_SLOTS);
    return print_digest();
}
