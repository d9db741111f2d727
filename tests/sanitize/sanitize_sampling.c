/* Kernels of packed codes (sampling.h) on random and edge inputs, bit by bit another way, in heap buffers of exactly the
 * size that the contract states, so that the address sanitizer sees each byte read or written beside them. Prints a digest
 * of all results, which no compiler may change. */
#include "sampling/sampling.h"
#include "sanitize_kit.h"

static uint64_t *codes_of(size_t n, size_t words) {
    uint64_t *codes = numbers(n * words);
    for (size_t i = 0; i < n * words; i++) codes[i] = edge_or_random();
    return codes;
}

static uint64_t bit_of(const uint64_t *code, size_t i) { return code[i / 64] >> i % 64 & 1; }

static void check_bits(const uint64_t *codes, size_t n, size_t words, size_t count) {
    size_t width = (count + 63) / 64;
    uint64_t *positions = numbers(count), *scratch = numbers(64 * words), *out = numbers(n * width);
    for (size_t j = 0; j < count; j++) positions[j] = below(64 * words);
    sampling_bits(codes, n, words, positions, count, scratch, out);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < 64 * width; j++) {
            CHECK(bit_of(out + i * width, j) == (j < count ? bit_of(codes + i * words, positions[j]) : 0));
        }
    }
    for (size_t i = 0; i < n * width; i++) note(out[i]);
    free(positions);
    free(scratch);
    free(out);
}

static void check_buckets(const uint64_t *codes, size_t n, size_t words, size_t rows) {
    size_t bands = 64 * words / rows;
    uint64_t *out = numbers(n * bands);
    sampling_buckets(codes, n, words, bands, rows, out);
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < bands; b++) {
            CHECK(out[i * bands + b] >> rows == 0);
            for (size_t r = 0; r < rows; r++) {
                CHECK((out[i * bands + b] >> r & 1) == bit_of(codes + i * words, b * rows + r));
            }
            note(out[i * bands + b]);
        }
    }
    free(out);
}

static void check_hashes(const uint64_t *codes, size_t n, size_t words, size_t count) {
    uint64_t *masks = codes_of(count, words), *out = numbers(n * count);
    sampling_masked(codes, n, words, masks, count, out);
    for (size_t i = 0; i < n * count; i++) {
        CHECK(out[i] != EMPTY_SLOT);
        note(out[i]);
    }
    free(masks);
    free(out);
}

static void check_distances(const uint64_t *a, size_t step, const uint64_t *b, size_t n, size_t words) {
    int64_t *out = buffer(n * sizeof *out);
    sampling_distances(a, step, b, n, words, out);
    for (size_t i = 0; i < n; i++) {
        int64_t ones = 0;
        for (size_t j = 0; j < 64 * words; j++) ones += bit_of(a + i * step, j) != bit_of(b + i * words, j);
        CHECK(out[i] == ones);
        note((uint64_t)out[i]);
    }
    free(out);
}

int main(void) {
    const size_t ns[] = {0, 1, 11, 12, 13, 63, 64, 65, 130}, counts[] = {1, 2, 63, 64, 65, 200};
    for (size_t words = 1; words <= 3; words++) {
        for (size_t s = 0; s < COUNT(ns); s++) {
            uint64_t *codes = codes_of(ns[s], words), *others = codes_of(ns[s], words), *one = codes_of(1, words);
            for (size_t c = 0; c < COUNT(counts); c++) {
                check_bits(codes, ns[s], words, counts[c]);
                check_hashes(codes, ns[s], words, counts[c]);
            }
            for (size_t rows = 1; rows < 64; rows++) check_buckets(codes, ns[s], words, rows);
            check_distances(codes, words, others, ns[s], words);
            check_distances(one, 0, others, ns[s], words);
            free(codes);
            free(others);
            free(one);
        }
    }
    return print_digest();
}
