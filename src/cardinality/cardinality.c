/* The portable kernels of HyperLogLog's registers. */
#include "cardinality/cardinality.h"

#include <string.h>

static inline unsigned bit_length(uint64_t x) { return x ? highest_bit(x) + 1 : 0; }

uint64_t cardinality_constant(uint64_t seed) { return draw(seed, DOMAIN_REGISTER, 0); }

/* A register rises some log2(n / 2^p) times, so the branch is nearly always predicted. */
static inline void raise_to(uint8_t *reg, uint8_t rank) {
    if (rank > *reg) *reg = rank;
}

void cardinality_registers_scalar(const uint64_t *tokens, size_t n, uint64_t constant, unsigned p, uint8_t *registers) {
    const uint64_t stop = (uint64_t)1 << (64 - p);
    for (size_t t = 0; t < n; t++) {
        uint64_t hash = mix64(tokens[t] ^ constant);
        raise_to(registers + (hash >> (64 - p)), (uint8_t)(lowest_bit(hash | stop) + 1));
    }
}

void cardinality_registers_by_hashes(const uint64_t *hashes, size_t n, unsigned width, unsigned p, uint8_t *registers) {
    const uint64_t mask = ((uint64_t)1 << p) - 1;
    for (size_t t = 0; t < n; t++) {
        raise_to(registers + (hashes[t] & mask), (uint8_t)(width - p + 1 - bit_length(hashes[t] >> p)));
    }
}

uint8_t cardinality_highest_register(const uint8_t *registers, size_t n) {
    uint8_t highest = 0;
    for (size_t i = 0; i < n; i++) highest = registers[i] > highest ? registers[i] : highest;
    return highest;
}

/* Equal neighbours would wait for each other's sums, so they are counted in four places; whatever the bytes are, and
 * should they change meanwhile, each has its place. Most registers of a small set are zeros, which are counted sixteen at
 * a time: 16,384 registers of 60 tokens take a fifth of the time. */
void cardinality_count_registers(const uint8_t *registers, unsigned p, uint32_t counts[CARDINALITY_MAX_REGISTER + 1]) {
    uint32_t held[4][UINT8_MAX + 1];
    memset(held, 0, sizeof held);
    for (size_t i = 0; i < (size_t)1 << p; i += 16) {
        uint8_t some[16];
        uint64_t words[2];
        memcpy(some, registers + i, sizeof some);
        memcpy(words, some, sizeof words);
        if ((words[0] | words[1]) == 0) {
            held[0][0] += 16;
            continue;
        }
        for (size_t j = 0; j < 16; j++) held[j % 4][some[j]]++;
    }
    for (size_t i = 0; i <= CARDINALITY_MAX_REGISTER; i++) {
        counts[i] = held[0][i] + held[1][i] + held[2][i] + held[3][i];
    }
}

register_kernel *const cardinality_levels[CPU_LEVELS] =
    CPU_TABLE(cardinality_registers_scalar, cardinality_registers_scalar, cardinality_registers_avx512,
              cardinality_registers_scalar);
