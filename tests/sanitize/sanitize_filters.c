/* Bloom filters of bands (filters.h) beside a list of all bits, in heap buffers of exactly the size that the contract
 * states, so that the address sanitizer sees each byte read or written beside them. Prints a digest of all results, which
 * no compiler may change. */
#include "bands/filters.h"
#include "sanitize_kit.h"

static void run(band_key_kernel *kernel, struct band_filters shape) {
    size_t slots = shape.bands * shape.rows;
    uint8_t *bytes = buffer(shape.bands * shape.stride);
    memset(bytes, 0, shape.bands * shape.stride);
    uint64_t *given = buffer(slots * sizeof *given);
    for (int turn = 0; turn < 30; turn++) {
        for (size_t i = 0; i < slots; i++) given[i] = anything();
        note(filters_hold(kernel, &shape, bytes, given));
        filters_add(kernel, &shape, bytes, given);
        CHECK(filters_hold(kernel, &shape, bytes, given));
        for (size_t band = 0; band < shape.bands; band++) { /* each band alone holds its key */
            struct band_filters one = shape;
            one.bands = 1, one.first = shape.first + band;
            CHECK(filters_hold(kernel, &one, bytes + band * shape.stride, given + band * shape.rows));
        }
    }
    for (size_t i = 0; i < shape.bands * shape.stride; i++) note(bytes[i]);
    for (size_t band = 0; band < shape.bands; band++)
        for (uint64_t bit = shape.bits; bit < 8 * shape.stride; bit++)
            CHECK(!(bytes[band * shape.stride + (bit >> 3)] >> (bit & 7) & 1));
    free(bytes);
    free(given);
}

/* Each level gives the same. */
static void check_levels(struct band_filters shape) {
    uint64_t before = random_state, start = digest, first = 0;
    for EACH_LEVEL(level) {
        random_state = before;
        digest = start;
        run(bands_levels[level], shape);
        if (level == CPU_SCALAR) first = digest;
        CHECK(digest == first);
    }
}

/* Filters of single keys, beside a list of bits. */
static void check_keys(void) {
    for EACH_ROUND(round, 600) {
        uint64_t bits = 1 + below(300);
        size_t n = below(40), hashes = round % 9 ? 1 + below(9) : 1 + below(FILTERS_MOST_HASHES);
        size_t bytes = (size_t)(bits + 7) / 8;
        uint8_t *filter = buffer(bytes), *held = buffer(n), *before = buffer(n), *set = buffer(bits);
        uint64_t *keys = buffer(n * sizeof *keys);
        memset(filter, 0, bytes);
        memset(set, 0, bits);
        for (size_t i = 0; i < n; i++) keys[i] = below(3) && i ? keys[below(i)] : anything();
        filters_hold_keys(filter, bits, hashes, keys, n, before);
        filters_add_keys(filter, bits, hashes, keys, n, held);
        for (size_t k = 0; k < n; k++) {
            uint64_t x = mix64(keys[k]), step = mix64(x) | 1;
            uint8_t all = 1;
            for (size_t i = 0; i < hashes; i++, x += step) {
                uint64_t bit = wide_high(wide_product(x, bits));
                all &= set[bit];
                set[bit] = 1;
            }
            CHECK(held[k] == all && before[k] == 0);
        }
        for (uint64_t bit = 0; bit < 8 * bytes; bit++) {
            CHECK((filter[bit >> 3] >> (bit & 7) & 1) == (bit < bits ? set[bit] : 0));
        }
        filters_hold_keys(filter, bits, hashes, keys, n, held);
        for (size_t k = 0; k < n; k++) CHECK(held[k]);
        for (size_t i = 0; i < bytes; i++) note(filter[i]);
        free(filter);
        free(held);
        free(before);
        free(set);
        free(keys);
    }
}

int main(void) {
    check_keys();
    static const size_t bands[] = {1, 3, 4, 5, 9}, rows[] = {1, 2, 8, 13};
    static const uint64_t bits[] = {1, 7, 8, 9, 1001};
    for (size_t b = 0; b < COUNT(bands); b++)
        for (size_t r = 0; r < COUNT(rows); r++)
            for (size_t i = 0; i < COUNT(bits); i++) {
                struct band_filters shape = {bands[b], b, rows[r], (size_t)(bits[i] + 7) / 8, 1 + i, bits[i]};
                check_levels(shape);
            }
    return print_digest();
}
