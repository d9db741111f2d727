/* Search by Tanimoto similarity: a radius for each piece of the codes, then the exact similarity of what is within it. */
#include "hamming/hamming.h"

#include "hamming/hamming_parts.h"

/* Words that are compared before `hamming_similar_nearest` returns: about a tenth of a second. */
#define MOST_WORDS ((uint64_t)1 << 30)

#define ONE ((uint64_t)1 << 31)

static double similarity_of(unsigned both, unsigned distance) {
    return distance < both ? (double)(both - distance) / (double)(both + distance) : 0.0;
}

static uint64_t rank_of(unsigned both, unsigned distance) {
    return distance < both ? ONE - (both - distance) * ONE / (both + distance) : ONE;
}

/* The least and the greatest count of a piece. */
struct counts {
    unsigned least, most;
};

static struct counts counts_of(const uint16_t *counts, size_t n) {
    struct counts all = {counts[0], counts[0]};
    for (size_t i = 1; i < n; i++) {
        if (counts[i] < all.least) all.least = counts[i];
        if (counts[i] > all.most) all.most = counts[i];
    }
    return all;
}

/* The count in a piece that is nearest to a query's, and the distance that such codes have at least. */
static unsigned nearest_count(struct counts piece, unsigned count, unsigned *distance) {
    unsigned nearest = count < piece.least ? piece.least : count > piece.most ? piece.most : count;
    *distance = nearest < count ? count - nearest : nearest - count;
    return nearest;
}

int hamming_similar_within(const struct hamming_counted *codes, const uint64_t *queries, const uint16_t *query_counts,
                           size_t m, double least, uint64_t first_query, size_t *done, struct hamming_hits *hits) {
    const struct hamming_scan *scan = &codes->scan;
    const size_t piece = hamming_piece(scan->words);
    if (!m) return 1;
    struct counts range = {0, 0};
    for (size_t loaded = scan->n, known = scan->n; *done / m * piece < scan->n; ++*done) {
        const size_t start = *done / m * piece, j = *done % m;
        const size_t size = scan->n - start < piece ? scan->n - start : piece;
        if (known != start) range = counts_of(codes->counts + (known = start), size);
        unsigned distance, nearest = nearest_count(range, query_counts[j], &distance);
        if (similarity_of(nearest + query_counts[j], distance) < least) continue;
        if (hits->room - hits->count < size) return 0;
        if (loaded != start) hamming_load(scan, loaded = start, size);
        /* One more than the bound, which is rounded. */
        const unsigned both = range.most + query_counts[j];
        const unsigned radius = (unsigned)(both * (1 - least) / (1 + least)) + 1;
        uint64_t *found = hits->at + hits->count;
        size_t count = hamming_near(scan, start, size, queries + j * scan->words, radius, found);
        for (size_t p = 0; p < count; p++) {
            const size_t place = start + (uint32_t)found[p], code = hamming_code_at(scan, place);
            distance = (unsigned)(found[p] >> 32);
            if (similarity_of(codes->counts[place] + (unsigned)query_counts[j], distance) < least) continue;
            if (scan->live && !scan->live[code]) continue;
            hits->at[hits->count++] = hamming_hit(first_query + j, distance, scan->first_row + code);
        }
    }
    return 1;
}

/* The greatest distance at which a sum of counts has at most a rank. */
static unsigned reach_of(unsigned both, uint64_t rank) {
    return (unsigned)(both * rank / (2 * ONE - rank));
}

/* The i-th of n pieces, from the first one on outward. */
static size_t outward(size_t i, size_t first, size_t n) {
    const size_t left = first, right = n - 1 - first, around = 2 * (left < right ? left : right);
    if (i <= around) return i % 2 ? first + (i + 1) / 2 : first - i / 2;
    return left < right ? i : n - 1 - i;
}

/* One piece for one query; *loaded says whether its columns are there. */
static void similar_piece(const struct hamming_counted *codes, size_t start, size_t size, struct counts range,
                          const uint64_t *query, unsigned query_count, struct hamming_best *best, int *loaded) {
    const struct hamming_scan *scan = &codes->scan;
    const unsigned both = range.most + query_count;
    const uint64_t worst = hamming_reach(best, ONE - 1);
    unsigned distance, nearest = nearest_count(range, query_count, &distance);
    if (rank_of(nearest + query_count, distance) > worst) return;
    if (!*loaded) hamming_load(scan, start, size);
    *loaded = 1;
    uint64_t *found = scan->scratch + HAMMING_COLUMNS;
    size_t count = hamming_near(scan, start, size, query, reach_of(both, worst), found);
    for (size_t p = 0; p < count; p++) {
        const size_t place = start + (uint32_t)found[p], code = hamming_code_at(scan, place);
        const uint64_t rank = rank_of(codes->counts[place] + query_count, (unsigned)(found[p] >> 32));
        if (rank == ONE || (scan->live && !scan->live[code])) continue;
        hamming_offer(best, rank << HAMMING_ROW_BITS | (scan->first_row + code));
    }
    hamming_tighten(best);
}

int hamming_similar_nearest(const struct hamming_counted *codes, const uint64_t *queries, const uint16_t *query_counts,
                            size_t m, size_t place, size_t *done, struct hamming_best *best) {
    const struct hamming_scan *scan = &codes->scan;
    const size_t piece = hamming_piece(scan->words), pieces = (scan->n + piece - 1) / piece;
    uint64_t read = 0;
    for (; *done < pieces; ++*done) {
        if (read > MOST_WORDS) return 0;
        const size_t start = outward(*done, place / piece, pieces) * piece;
        const size_t size = scan->n - start < piece ? scan->n - start : piece;
        const struct counts range = counts_of(codes->counts + start, size);
        int loaded = 0;
        for (size_t j = 0; j < m; j++) {
            similar_piece(codes, start, size, range, queries + j * scan->words, query_counts[j], best + j, &loaded);
        }
        read += size + (loaded ? m * size * scan->words : m);
    }
    return 1;
}

void hamming_similarities(const uint64_t *codes, const uint64_t *queries, size_t words, const uint64_t *pairs, size_t n,
                          double *similarities) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t *a = queries + (pairs[i] >> 32) * words, *b = codes + (uint32_t)pairs[i] * words;
        uint64_t common = 0, all = 0;
        for (size_t w = 0; w < words; w++) {
            common += ones_of(a[w] & b[w]);
            all += ones_of(a[w] | b[w]);
        }
        similarities[i] = all ? (double)common / (double)all : 0.0;
    }
}
