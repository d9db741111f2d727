/* The order of matches (matches.h) on random answers, in heap buffers of exactly the size that the contract states, so that
 * the address sanitizer sees each byte read or written beside them. Prints a digest of all results, which no compiler may
 * change. */
#include "matches/matches.h"
#include "sanitize_kit.h"

static void check_matches(void) {
    for EACH_ROUND(round, 500) {
        size_t queries = below(6), n = 0;
        int64_t *offsets = buffer((queries + 1) * sizeof *offsets);
        for (size_t i = 0; i <= queries; i++) {
            offsets[i] = (int64_t)n;
            n += i < queries ? below(below(2) ? 8 : 150) : 0;
        }
        int64_t *keys = buffer(n * sizeof *keys), *scores = buffer(n * sizeof *scores), sum = 0, again = 0;
        for (size_t i = 0; i < n; i++) {
            keys[i] = (int64_t)below(40) - 20;
            scores[i] = (int64_t)below(5);
            sum += keys[i] * 7 + scores[i];
        }
        const size_t most = below(2) ? 1 + below(20) : SIZE_MAX;
        matches_order(offsets, queries, keys, scores, most);
        for (size_t i = 0; i < queries; i++) {
            for (int64_t j = offsets[i] + 1; j < offsets[i + 1]; j++) {
                const int64_t sorted = offsets[i] + (int64_t)(most < 1000 ? most : 1000);
                const int64_t last = j < sorted ? j - 1 : sorted - 1; /* of those in order, before match j */
                CHECK(scores[last] > scores[j] || (scores[last] == scores[j] && keys[last] <= keys[j]));
            }
        }
        for (size_t i = 0; i < n; i++) again += keys[i] * 7 + scores[i];
        CHECK(sum == again);
        note_all((const uint64_t *)keys, n);
        free(offsets);
        free(keys);
        free(scores);
    }
}

int main(void) {
    check_matches();
    return print_digest();
}
