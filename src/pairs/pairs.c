/* Merges and scores of pairs of records. */
#include "pairs/pairs.h"

#include "compiler.h"
#include "field.h"

#define BLOCK 64 /* pairs whose rows, or keys whose slots, are fetched before they are looked at */

size_t pairs_merge(struct pairs_list *a, struct pairs_list *b, size_t work, uint64_t *places, uint32_t *bits) {
    size_t i = a->at, j = b->at, count = 0;
    while (count < work && i < a->n && j < b->n) {
        uint64_t first = a->places[i], second = b->places[j];
        /* Without branches: which list comes first is random. */
        uint32_t from_a = first <= second, from_b = second <= first;
        places[count] = from_a ? first : second;
        bits[count++] = (a->bits[i] & (0 - from_a)) | (b->bits[j] & (0 - from_b));
        i += from_a;
        j += from_b;
    }
    for (; count < work && i < a->n && j == b->n; i++) places[count] = a->places[i], bits[count++] = a->bits[i];
    for (; count < work && j < b->n && i == a->n; j++) places[count] = b->places[j], bits[count++] = b->bits[j];
    a->at = i;
    b->at = j;
    return count;
}

void pairs_code(struct pairs_codes *table, const uint64_t *keys, size_t n, uint64_t none, int64_t row, int64_t *firsts,
                int64_t *codes) {
    uint64_t homes[BLOCK];
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        size_t some = n - begin < BLOCK ? n - begin : BLOCK;
        for (size_t p = 0; p < some; p++) {
            homes[p] = mix64(keys[begin + p] ^ table->secret) & table->mask;
            prefetch(table->slots + homes[p]);
        }
        for (size_t p = 0; p < some; p++) {
            uint64_t key = keys[begin + p], at = homes[p];
            codes[begin + p] = -1;
            if (key == none) continue;
            while (table->slots[at].number && table->slots[at].key != key) at = (at + 1) & table->mask;
            if (!table->slots[at].number && firsts) {
                firsts[table->count] = row + (int64_t)(begin + p);
                table->slots[at].key = key;
                table->slots[at].number = ++table->count;
            }
            codes[begin + p] = table->slots[at].number - 1;
        }
    }
}

void pairs_group(const int64_t *codes, size_t n, int64_t first, int64_t *next, int64_t *rows) {
    for (size_t i = 0; i < n; i++) {
        if (codes[i] >= 0) rows[next[codes[i]]++] = first + (int64_t)i;
    }
}

size_t pairs_score(const struct pairs_fields *own, const uint64_t *places, size_t n, uint64_t columns, double least,
                   int64_t first, int64_t *numbers, uint8_t *levels, size_t stride, double *known, double *open) {
    const int32_t *a[BLOCK], *b[BLOCK];
    size_t count = 0;
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        size_t some = n - begin < BLOCK ? n - begin : BLOCK;
        for (size_t p = 0; p < some; p++) {
            a[p] = own->a + places[begin + p] / columns * own->fields;
            b[p] = own->b + places[begin + p] % columns * own->fields;
            prefetch(b[p]);
            prefetch(b[p] + own->fields - 1);
        }
        for (size_t p = 0; p < some; p++) {
            double sum = 0, most = 0;
            for (size_t f = 0; f < own->fields; f++) {
                int32_t left = a[p][f], right = b[p][f];
                uint8_t level = PAIRS_DIFFERENT;
                if ((left | right) < 0) {
                    level = PAIRS_MISSING;
                    sum += own->missing[f];
                } else if (left == right) {
                    level = PAIRS_EQUAL;
                    sum += own->equal[own->starts[f] + left];
                } else {
                    most += own->unequal[f];
                }
                levels[f * stride + count] = level;
            }
            known[count] = sum;
            open[count] = most;
            numbers[count] = first + (int64_t)(begin + p);
            count += sum + most >= least;
        }
    }
    return count;
}

void pairs_letters(const uint32_t *points, const int64_t *starts, size_t n, uint64_t *masks) {
    for (size_t i = 0; i < n; i++) {
        uint64_t once = 0, twice = 0;
        for (int64_t at = starts[i]; at < starts[i + 1]; at++) {
            uint64_t bit = UINT64_C(1) << (points[at] & 31);
            twice |= once & bit;
            once |= bit;
        }
        masks[i] = once | twice << 32;
    }
}

/* How many letters of each of two strings the other does not have, at least. */
struct unshared {
    int64_t left, right;
};

static inline struct unshared unshared_of(const uint64_t *masks, int64_t left, int64_t right) {
    uint64_t first = masks[left], second = masks[right];
    struct unshared found = {(int64_t)ones_of(first & ~second), (int64_t)ones_of(second & ~first)};
    return found;
}

void pairs_least_edits(struct pairs_strings own, const int64_t *left, const int64_t *right, size_t n, int64_t *edits) {
    for (size_t p = 0; p < n; p++) {
        struct unshared letters = unshared_of(own.masks, left[p], right[p]);
        uint64_t longer = (uint64_t)own.lengths[left[p]] - (uint64_t)own.lengths[right[p]];
        uint64_t sign = 0 - (longer >> 63);
        int64_t most = (int64_t)((longer ^ sign) - sign); /* the absolute value */
        most = letters.left > most ? letters.left : most;
        edits[p] = letters.right > most ? letters.right : most;
    }
}

void pairs_most_similar(struct pairs_strings own, const int64_t *left, const int64_t *right, size_t n, double *similar) {
    NO_CONTRACTION
    for (size_t p = 0; p < n; p++) {
        struct unshared letters = unshared_of(own.masks, left[p], right[p]);
        int64_t first = own.lengths[left[p]], second = own.lengths[right[p]];
        first = first > 1 ? first : 1;
        second = second > 1 ? second : 1;
        int64_t of_first = first - letters.left, of_second = second - letters.right;
        double matches = (double)(of_first < of_second ? of_first : of_second);
        double jaro = matches > 0 ? (matches / (double)first + matches / (double)second + 1) / 3 : 0;
        /* Each of the first four letters that both begin with adds a tenth of what is missing to 1. */
        similar[p] = own.firsts[left[p]] == own.firsts[right[p]] ? jaro + 0.4 * (1 - jaro) : jaro;
    }
}
