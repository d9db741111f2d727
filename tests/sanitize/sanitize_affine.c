/* datasketch's hash values, signatures in place and SHA-1 on random and edge inputs, in heap buffers of exactly the size
 * that the contract states. Every CPU level must equal the scalar one. Prints a digest of all results, which no compiler
 * may change. */
#include "affine/update.h"
#include "affine/sha1.h"
#include "sanitize_kit.h"

static void fail(const char *what, int level, size_t n, size_t k) {
    fprintf(stderr, "%s: level %d differs for n = %zu, k = %zu\n", what, level, n, k);
    FAIL();
}

static size_t constants_of(enum update_scheme scheme, size_t k, int second) {
    if (scheme == UPDATE_CLASSIC) return (k + SKETCH_CLASSIC_LANES - 1) / SKETCH_CLASSIC_LANES * SKETCH_CLASSIC_LANES;
    return scheme == UPDATE_FAST && !second ? sketch_fast_rounds(k) : k;
}

static void check_scheme(enum update_scheme scheme, size_t n, size_t k) {
    const size_t width = scheme == UPDATE_AFFINE32 ? sizeof(uint32_t) : sizeof(uint64_t);
    size_t counts[2] = {constants_of(scheme, k, 0), constants_of(scheme, k, 1)};
    uint64_t *hashes = numbers(n);
    uint8_t *first = buffer(counts[0] * width), *second = buffer(counts[1] * width);
    uint8_t *scalar = buffer(k * width), *level = buffer(k * width), *before = buffer(k * width);
    for (size_t t = 0; t < n; t++) hashes[t] = edge_or_random();
    if (scheme == UPDATE_CLASSIC) {
        sketch_classic_constants(anything(), k, (uint64_t *)first, (uint64_t *)second);
    } else if (scheme == UPDATE_FAST) {
        sketch_fast_constants(anything(), k, (uint64_t *)first, (uint64_t *)second);
    } else {
        for (size_t i = 0; i < k; i++) {
            for (int j = 0; j < 2; j++) {
                uint64_t constant = edge_or_random();
                uint32_t low = (uint32_t)constant;
                memcpy((j ? second : first) + i * width, width == 4 ? (void *)&low : (void *)&constant, width);
            }
        }
    }
    memset(before, 0xFF, k * width);
    struct update_functions functions = {scheme, k, first, second};
    struct update_kernels levels = {affine_levels[CPU_SCALAR], sketch_levels[CPU_SCALAR]};
    memcpy(scalar, before, k * width);
    update_signature(&levels, &functions, hashes, n, scalar);
    note_bytes(scalar, k * width);
    for EACH_LEVEL(i) {
        levels.affine = affine_levels[i];
        levels.sketch = sketch_levels[i];
        memcpy(level, before, k * width);
        update_signature(&levels, &functions, hashes + n / 3, n - n / 3, level); /* in two parts */
        update_signature(&levels, &functions, hashes, n / 3, level);
        if (memcmp(scalar, level, k * width)) fail("lower", i, n, k);
    }
    free(hashes);
    free(first);
    free(second);
    free(scalar);
    free(level);
    free(before);
}

enum { MOST_MESSAGES = 40 };

/* Sixteen lanes for machines that have none, so that how messages are collected for them is checked everywhere. */
static void sixteen_by_one(const uint8_t *const starts[SHA1_LANES], const size_t lengths[SHA1_LANES],
                           uint64_t heads[SHA1_LANES]) {
    for (size_t i = 0; i < SHA1_LANES; i++) {
        CHECK(lengths[i] <= SHA1_ONE_BLOCK);
        heads[i] = sha1_head(sha1_compress_scalar, starts[i], lengths[i]);
    }
}

/* n messages of 0 to `longest` bytes, each at the end of its own buffer, at any address. */
static void check_sha1(size_t n, size_t longest) {
    uint8_t *buffers[MOST_MESSAGES];
    const uint8_t *starts[MOST_MESSAGES];
    size_t lengths[MOST_MESSAGES];
    uint64_t scalar[MOST_MESSAGES], level[MOST_MESSAGES];
    for (size_t i = 0; i < n; i++) {
        size_t shift = anything() % 64;
        lengths[i] = anything() % (longest + 1);
        buffers[i] = buffer(shift + lengths[i]);
        starts[i] = buffers[i] + shift;
        for (size_t j = 0; j < lengths[i]; j++) buffers[i][shift + j] = (uint8_t)anything();
        scalar[i] = sha1_head(sha1_compress_scalar, starts[i], lengths[i]);
    }
    note_bytes(scalar, n * sizeof *scalar);
    for EACH_LEVEL(i) {
        for (int sha = 0; sha <= cpu_has_sha(); sha++) {
            const struct sha1_kernels *kernels = &sha1_levels[sha][i];
            sha1_heads(kernels, starts, lengths, n, level);
            if (memcmp(scalar, level, n * sizeof *scalar)) fail("sha1", i, n, longest);
            for (size_t j = 0; j < n; j++) {
                CHECK(sha1_head(kernels->compress, starts[j], lengths[j]) == scalar[j]);
            }
        }
    }
    const struct sha1_kernels collected = {sha1_compress_scalar, sixteen_by_one};
    sha1_heads(&collected, starts, lengths, n, level);
    if (memcmp(scalar, level, n * sizeof *scalar)) fail("sha1 of sixteen", CPU_SCALAR, n, longest);
    for (size_t i = 0; i < n; i++) free(buffers[i]);
}

int main(void) {
    static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 129, 256, 257, 300};
    static const size_t counts[] = {0, 1, 2, 3, 8, 17, 255, 256, 257, 600};
    for (int scheme = UPDATE_AFFINE32; scheme <= UPDATE_FAST; scheme++) {
        for (size_t i = 0; i < COUNT(sizes); i++) {
            for (size_t j = 0; j < COUNT(counts); j++) {
                check_scheme((enum update_scheme)scheme, counts[j], sizes[i]);
            }
        }
    }
    for (size_t n = 0; n <= MOST_MESSAGES; n++) {
        for (size_t longest = 0; longest < 300; longest += 9) check_sha1(n, longest);
    }
    return print_digest();
}
