/* Hash functions and perfect maps (hashing.h) on random and edge inputs, in heap buffers of exactly the size that the
 * contract states. */
#include "sanitize_kit.h"

#include "hashing/hashing.h"

static uint64_t *words_of(size_t n) {
    uint64_t *words = malloc(n * sizeof *words + !n);
    for (size_t i = 0; i < n; i++) words[i] = edge_or_random();
    return words;
}

static void note_buckets(const uint64_t *words, size_t n, uint64_t buckets) {
    for (size_t i = 0; i < n; i++) {
        CHECK(buckets == 0 || words[i] < buckets);
        note(words[i]);
    }
}

static void check_polynomials(size_t n, uint64_t prime) {
    for (size_t k = 1; k <= 5; k++) {
        uint64_t buckets = k == 5 ? prime : 1 + anything() % prime;
        uint64_t *keys = words_of(n), *coefficients = words_of(k), *out = malloc(n * sizeof *out + !n);
        for (size_t i = 0; i < n; i++) keys[i] %= prime;
        for (size_t j = 0; j < k; j++) coefficients[j] = j % 2 ? prime - 1 : coefficients[j] % prime;
        hashing_polynomial(keys, n, coefficients, k, prime, buckets, out);
        for (size_t i = 0; i < n; i++) {
            uint64_t value = 0;
            for (size_t j = 0; j < k; j++) {
                uint64_t product = prime == P61 ? p61_product(value, keys[i]) : value * keys[i] % prime;
                value = (product + coefficients[j]) % prime;
            }
            CHECK(out[i] == value % buckets);
        }
        note_buckets(out, n, buckets);
        free(keys);
        free(coefficients);
        free(out);
    }
}

static void check_words(size_t n, uint64_t buckets) {
    uint64_t *keys = words_of(n), *out = malloc(n * sizeof *out + !n), *tables = words_of(HASHING_TABLE_WORDS);
    struct hashing_line line;
    line.a_high = edge_or_random();
    line.a_low = edge_or_random();
    line.b_high = edge_or_random();
    line.b_low = edge_or_random();
    hashing_lines(keys, n, &line, buckets, out);
    note_buckets(out, n, buckets);
    hashing_tabulation(keys, n, tables, buckets, out);
    note_buckets(out, n, buckets);
    for (unsigned bits = 1; bits <= 64; bits += 9) {
        hashing_multiply_shift(keys, n, line.a_low | 1, bits, out);
        note_buckets(out, n, bits == 64 ? 0 : (uint64_t)1 << bits);
    }
    free(keys);
    free(out);
    free(tables);
}

static void check_map(size_t n) {
    uint64_t *keys = malloc(n * sizeof *keys), *directory = calloc(n, sizeof *directory);
    uint64_t *grouped = malloc(2 * n * sizeof *grouped), *draws = calloc(HASHING_SECOND_DRAWS, sizeof *draws);
    uint64_t start = anything(), squares = 0, total = 0, before = 0;
    struct hashing_line first, *second = malloc(HASHING_SECOND_DRAWS * sizeof *second);
    size_t bucket = 0, pair = 0, cell = 0;
    for (size_t i = 0; i < n; i++) keys[i] = n % 2 ? start + i : mix64(start + i); /* different */
    first.a_high = anything();
    first.a_low = anything();
    first.b_high = anything();
    first.b_low = anything();
    for (size_t t = 0; t < HASHING_SECOND_DRAWS; t++) {
        second[t].a_high = anything();
        second[t].a_low = anything();
        second[t].b_high = anything();
        second[t].b_low = anything();
    }
    hashing_count(keys, n, n, &first, directory);
    CHECK(hashing_measure(directory, n, &squares, &total));
    CHECK(squares >= n && total <= 2 * squares);
    hashing_begin(directory, n, &before);
    CHECK(before == n);
    uint64_t *cells = malloc(2 * total * sizeof *cells), *values = malloc(n * sizeof *values);
    uint8_t *found = malloc(n);
    for (size_t i = 0; i < n; i++) values[i] = i;
    hashing_group(keys, values, n, n, &first, directory, grouped);
    CHECK(hashing_place(grouped, second, n / 2, &bucket, &pair, &cell, directory, cells, draws) == 0);
    CHECK(hashing_place(grouped, second, n, &bucket, &pair, &cell, directory, cells, draws) == 0);
    CHECK(bucket == n && pair == n && cell == total);
    memset(values, 0xFF, n * sizeof *values);
    hashing_look_up(keys, n, &first, second, directory, n, cells, total, values, found);
    for (size_t i = 0; i < n; i++) CHECK(found[i] == 1 && values[i] == i);
    for (size_t i = 0; i < n; i++) keys[i] = n % 2 ? start + n + i : mix64(start + n + i);
    hashing_look_up(keys, n, &first, second, directory, n, cells, total, values, found);
    for (size_t i = 0; i < n; i++) CHECK(found[i] == 0 && values[i] == i);
    note_all(directory, n);
    note_all(cells, 2 * total);
    for (size_t i = 0; i < n; i++) directory[i] = edge_or_random(); /* damaged */
    hashing_look_up(keys, n, &first, second, directory, n, cells, total, values, found);
    free(keys);
    free(directory);
    free(grouped);
    free(draws);
    free(second);
    free(cells);
    free(values);
    free(found);
}

static void check_equal_keys(void) {
    uint64_t grouped[] = {5, 0, 7, 1, 5, 2}, directory[] = {3, 3, 3}, cells[2 * 12], draws[HASHING_SECOND_DRAWS] = {0};
    struct hashing_line second[HASHING_SECOND_DRAWS] = {{0, 0, 0, 0}};
    size_t bucket = 0, pair = 0, cell = 0;
    CHECK(hashing_place(grouped, second, 3, &bucket, &pair, &cell, directory, cells, draws) == 1);
    grouped[4] = 6; /* all second functions are constant */
    CHECK(hashing_place(grouped, second, 3, &bucket, &pair, &cell, directory, cells, draws) == 2);
    CHECK(bucket == 0);
}

int main(void) {
    const size_t ns[] = {0, 1, 7, 8, 9, 63, 64, 65, 200};
    const uint64_t primes[] = {2, 3, 31, 65537, 4294967291u, P61}, buckets[] = {0, 1, 2, 1000, UINT64_MAX};
    for (size_t s = 0; s < COUNT(ns); s++) {
        for (size_t i = 0; i < COUNT(primes); i++) check_polynomials(ns[s], primes[i]);
        for (size_t i = 0; i < COUNT(buckets); i++) check_words(ns[s], buckets[i]);
    }
    for (size_t n = 1; n <= 200; n++) check_map(n);
    check_map(50000);
    check_equal_keys();
    return print_digest();
}
