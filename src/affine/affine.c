/* The portable kernels of datasketch's hash values: the law that the other levels follow. */
#include "affine/affine.h"

static void affine32(const uint64_t *hashes, size_t n, const uint32_t *a, const uint32_t *b, size_t k,
                     uint32_t *values) {
    for (size_t t = 0; t < n; t++) {
        uint32_t x = affine_mix32((uint32_t)hashes[t]);
        for (size_t i = 0; i < k; i++) {
            uint32_t value = a[i] * x + b[i];
            values[i] = value < values[i] ? value : values[i];
        }
    }
}

static void affine64(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                     uint64_t *values) {
    for (size_t t = 0; t < n; t++) {
        uint64_t x = affine_mix64(hashes[t]);
        for (size_t i = 0; i < k; i++) {
            uint64_t value = a[i] * x + b[i];
            values[i] = value < values[i] ? value : values[i];
        }
    }
}

static void legacy(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                   uint64_t *values) {
    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < k; i++) {
            uint64_t value = (uint32_t)p61_of(a[i] * hashes[t] + b[i]);
            values[i] = value < values[i] ? value : values[i];
        }
    }
}

const struct affine_kernels affine_scalar = {affine32, affine64, legacy};

const struct affine_kernels *const affine_levels[CPU_LEVELS] =
    CPU_TABLE(&affine_scalar, &affine_avx2, &affine_avx512, &affine_scalar);
