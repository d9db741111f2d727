/* Leaders of sets (leaders.h) on random sets, in heap buffers of exactly the size that the contract states, beside a
 * comparison of all pairs. Prints a digest of all results, which no compiler may change. */
#include "leaders/leaders.h"
#include "sanitize_kit.h"

static size_t overlap(const uint32_t *a, size_t n, const uint32_t *b, size_t m) {
    size_t i = 0, j = 0, both = 0;
    while (i < n && j < m) {
        if (a[i] == b[j]) both++, i++, j++;
        else if (a[i] < b[j]) i++;
        else j++;
    }
    return both;
}

static int equal_to_another(const int64_t *offsets, const uint32_t *ranks, size_t row) {
    size_t n = (size_t)(offsets[row + 1] - offsets[row]);
    for (size_t i = 0; i < row; i++) {
        if ((size_t)(offsets[i + 1] - offsets[i]) == n &&
            same_bytes(ranks + offsets[i], ranks + offsets[row], n * sizeof *ranks)) return 1;
    }
    return 0;
}

static void check_leaders(size_t rows, size_t universe, uint64_t p, uint64_t q, int level) {
    int64_t *offsets = buffer((rows + 1) * sizeof *offsets);
    uint32_t *drawn = buffer(rows * universe * sizeof *drawn);
    size_t made = 0, row = 0, room = 0, work = 0;
    offsets[0] = 0;
    for (size_t tries = 0; row < rows && tries < 20 * rows; tries++) {
        size_t n = made, rare = below(5);
        for (size_t rank = 0; rank < universe; rank++) {
            if (below(5) >= rare) drawn[n++] = (uint32_t)rank;
        }
        offsets[row + 1] = (int64_t)n;
        if (equal_to_another(offsets, drawn, row)) continue;
        room += leaders_prefix(n - made, p, q);
        made = n;
        row++;
    }
    rows = row;
    uint32_t *ranks = copy_of(drawn, made * sizeof *drawn);
    struct leaders leaders = {.offsets = offsets, .ranks = ranks, .common = universe, .p = p, .q = q};
    const size_t groups = (rows + HAMMING_GROUP - 1) / HAMMING_GROUP;
    leaders.kernels = hamming_levels[level];
    leaders.words = 2 + below(2);
    leaders.secret = UINT64_C(0x9E3779B97F4A7C15);
    leaders.exact = universe <= 64 * leaders.words;
    leaders.columns = calloc(groups * HAMMING_GROUP * leaders.words, sizeof(uint64_t));
    leaders.leader_rows = buffer(rows * sizeof(uint32_t));
    leaders.near = buffer(HAMMING_PIECE * sizeof(uint64_t));
    unsigned bits = 1;
    while ((size_t)1 << bits <= room) bits++;
    leaders.shift = 64 - bits;
    leaders.keys = buffer(sizeof(uint64_t) << bits);
    leaders.first = buffer(sizeof(uint32_t) << bits);
    leaders.last = buffer(sizeof(uint32_t) << bits);
    leaders.rows = buffer(room * sizeof(uint32_t));
    leaders.next = buffer(room * sizeof(uint32_t));
    leaders.met = calloc(rows + 1, sizeof(uint32_t));
    leaders.held = calloc(universe + 1, sizeof(uint32_t));
    CHECK(leaders.met && leaders.held && leaders.columns);
    for (size_t i = 0; i < (size_t)1 << bits; i++) leaders.first[i] = LEADERS_NONE;
    size_t *found = buffer(rows * sizeof *found);
    for (size_t i = 0; i < rows; i++) {
        size_t n = (size_t)(offsets[i + 1] - offsets[i]), expected = i;
        found[i] = leaders_of_row(&leaders, i, &work);
        for (size_t j = 0; j < i && expected == i; j++) {
            size_t m = (size_t)(offsets[j + 1] - offsets[j]);
            uint64_t both = overlap(ranks + offsets[i], n, ranks + offsets[j], m);
            if (found[j] == j && n && m && both * q >= p * (n + m)) expected = j;
        }
        CHECK(found[i] == expected);
        note(found[i]);
    }
    CHECK(leaders.postings <= room);
    free(offsets);
    free(drawn);
    free(ranks);
    free(leaders.keys);
    free(leaders.first);
    free(leaders.last);
    free(leaders.rows);
    free(leaders.next);
    free(leaders.met);
    free(leaders.held);
    free(leaders.columns);
    free(leaders.leader_rows);
    free(leaders.near);
    free(found);
}

int main(void) {
    for EACH_ROUND(round, 300) {
        uint64_t p = 1 + below(9), q = 2 * p + below(9);
        size_t rows = 1 + below(round % 30 ? 60 : 1500), universe = 1 + below(round % 10 ? 24 : 250);
        check_leaders(rows, universe, p, q, (int)round % (top_level() + 1));
    }
    return print_digest();
}
