/* Sorting, counting and pairing of records (runs.h) on random and edge inputs, checked another way, in heap buffers of
 * exactly the size that the contract states. Prints a digest of all results, which no compiler may change. */
#include "runs/runs.h"
#include "sanitize_kit.h"

static int comes_before(struct runs_record a, struct runs_record b) {
    return a.first < b.first || (a.first == b.first && a.second < b.second);
}

static struct runs_record *records_of(size_t n, uint64_t firsts, uint64_t seconds) {
    struct runs_record *records = buffer(n * sizeof *records);
    for (size_t i = 0; i < n; i++) {
        records[i].first = firsts ? below(firsts) : edge_or_random();
        records[i].second = seconds ? below(seconds) : edge_or_random();
    }
    return records;
}

static void check_sort(size_t n, uint64_t firsts, uint64_t seconds) {
    struct runs_record *records = records_of(n, firsts, seconds), *scratch = buffer(n * sizeof *scratch);
    uint64_t before = 0, after = 0;
    for (size_t i = 0; i < n; i++) before += mix64(records[i].first + mix64(records[i].second));
    runs_sort(records, n, scratch);
    for (size_t i = 0; i < n; i++) {
        after += mix64(records[i].first + mix64(records[i].second));
        CHECK(i == 0 || !comes_before(records[i], records[i - 1]));
        note(records[i].first);
        note(records[i].second);
    }
    CHECK(before == after);
    CHECK(runs_are_sorted(records, n));
    for (size_t i = 0; i < n; i += 1 + n / 7) {
        size_t count = runs_count_until(records, n, records[i]);
        CHECK(count > i && (count == n || comes_before(records[i], records[count])));
    }
    free(records);
    free(scratch);
}

static void check_pairs(size_t n, uint64_t firsts, size_t capacity, size_t work) {
    struct runs_record *records = records_of(n, firsts, 9), *scratch = buffer(n * sizeof *scratch);
    struct runs_record *out = buffer(capacity * sizeof *out);
    struct runs_walk walk = {0, 1};
    size_t made = 0, wanted = 0;
    runs_sort(records, n, scratch);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            wanted += records[i].first == records[j].first && records[i].second != records[j].second;
        }
    }
    while (walk.i < n) {
        size_t some = runs_pairs(records, n, &walk, out, capacity, work);
        CHECK(some <= capacity);
        for (size_t i = 0; i < some; i++) {
            CHECK(out[i].first < out[i].second);
            note(out[i].first ^ mix64(out[i].second));
        }
        made += some;
    }
    CHECK(made == wanted);
    free(records);
    free(scratch);
    free(out);
}

static void check_band(size_t n, size_t bands) {
    uint64_t *keys = numbers(n * bands);
    uint8_t *chosen = buffer(n);
    struct runs_record *out = buffer(n * sizeof *out);
    for (size_t i = 0; i < n * bands; i++) keys[i] = edge_or_random();
    for (size_t i = 0; i < n; i++) chosen[i] = (uint8_t)below(2);
    for (size_t band = 0; band < bands; band++) {
        size_t made = runs_of_band(keys, n, bands, band, 7, band % 2 ? chosen : NULL, out), at = 0;
        for (size_t i = 0; i < n; i++) {
            uint64_t key = keys[i * bands + band];
            if (key == EMPTY_SLOT || (band % 2 && !chosen[i])) continue;
            CHECK(out[at].first == mix64(key) && out[at].second == 7 + i);
            at++;
        }
        CHECK(made == at);
        note(made);
    }
    free(keys);
    free(chosen);
    free(out);
}

int main(void) {
    static const size_t sizes[] = {0, 1, 2, 39, 40, 41, 300, 5000};
    for (size_t s = 0; s < COUNT(sizes); s++) {
        check_sort(sizes[s], 0, 0);
        check_sort(sizes[s], 3, 0);
        check_sort(sizes[s], 1, 5);
        check_sort(sizes[s], 1, 1);
        check_band(sizes[s], 3);
        if (sizes[s] > 300) continue;
        check_pairs(sizes[s], 5, 1, 1);
        check_pairs(sizes[s], 50, 7, 3);
        check_pairs(sizes[s], 1, 1000, 100000);
    }
    return print_digest();
}
