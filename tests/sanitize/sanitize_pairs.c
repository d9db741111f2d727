/* Pairs of records (pairs.h) of random tables, in heap buffers of exactly the size that the contract states, so that the
 * address sanitizer sees each byte read or written beside them. Merges, codes and scores are checked by plain loops. Prints a
 * digest of all results, which no compiler may change. */
#include "sanitize_kit.h"
#include "pairs/pairs.h"

/* Make n ascending places, each once, with bits. */
static struct pairs_list random_list(size_t n) {
    uint64_t *places = buffer(n * sizeof *places), last = below(3);
    uint32_t *bits = buffer(n * sizeof *bits);
    for (size_t i = 0; i < n; i++) {
        places[i] = last;
        bits[i] = 1 + (uint32_t)below(7);
        last += 1 + below(3);
    }
    struct pairs_list made = {places, bits, n, 0};
    return made;
}

static uint32_t bits_of(struct pairs_list list, uint64_t place) {
    for (size_t i = 0; i < list.n; i++) {
        if (list.places[i] == place) return list.bits[i];
    }
    return 0;
}

static void check_merge(void) {
    struct pairs_list a = random_list(below(20)), b = random_list(below(20));
    size_t room = a.n + b.n, made = 0, different = a.n;
    uint64_t *places = buffer(room * sizeof *places);
    uint32_t *bits = buffer(room * sizeof *bits);
    while (a.at < a.n || b.at < b.n) {
        size_t left = a.n - a.at + b.n - b.at, work = 1 + below(9);
        made += pairs_merge(&a, &b, work < left ? work : left, places + made, bits + made);
    }
    for (size_t i = 0; i < b.n; i++) different += !bits_of(a, b.places[i]);
    CHECK(made == different);
    for (size_t i = 0; i < made; i++) {
        CHECK(!i || places[i] > places[i - 1]);
        CHECK(bits[i] == (bits_of(a, places[i]) | bits_of(b, places[i])));
    }
    note_all(places, made);
    free((void *)a.places), free((void *)a.bits), free((void *)b.places), free((void *)b.bits), free(places), free(bits);
}

static void check_codes(void) {
    size_t n = below(200), slots = 1;
    uint64_t none = below(9);
    while (slots < 2 * n) slots *= 2;
    struct pairs_codes table = {buffer(slots * sizeof(struct pairs_slot)), slots - 1, anything(), 0};
    for (size_t i = 0; i < slots; i++) table.slots[i].number = 0;
    uint64_t *keys = buffer(n * sizeof *keys);
    int64_t *codes = buffer(n * sizeof *codes), *again = buffer(n * sizeof *again), *firsts = buffer(n * sizeof *firsts);
    for (size_t i = 0; i < n; i++) keys[i] = below(1 + n / 2);
    size_t half = n / 2;
    pairs_code(&table, keys, half, none, 0, firsts, codes);
    pairs_code(&table, keys + half, n - half, none, (int64_t)half, firsts, codes + half);
    pairs_code(&table, keys, n, none, 0, NULL, again);
    int64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        while (keys[first] != keys[i]) first++;
        CHECK(codes[i] == again[i]);
        CHECK(codes[i] == (keys[i] == none ? -1 : first < i ? codes[first] : count));
        count += codes[i] == count;
        CHECK(codes[i] < 0 || firsts[codes[i]] == (int64_t)first);
    }
    CHECK(count == table.count);
    note((uint64_t)count);

    int64_t *next = buffer((size_t)count * sizeof *next), placed = 0;
    for (int64_t code = 0; code < count; code++) {
        next[code] = placed;
        for (size_t i = 0; i < n; i++) placed += codes[i] == code;
    }
    int64_t *rows = buffer((size_t)placed * sizeof *rows);
    pairs_group(codes, half, 0, next, rows);
    pairs_group(codes + half, n - half, (int64_t)half, next, rows);
    for (int64_t at = 1; at < placed; at++) {
        int64_t before = codes[rows[at - 1]], own = codes[rows[at]];
        CHECK(before < own || (before == own && rows[at - 1] < rows[at]));
    }
    note_all((const uint64_t *)rows, (size_t)placed);
    free(table.slots), free(keys), free(codes), free(again), free(firsts), free(next), free(rows);
}

static void check_scores(void) {
    enum { VALUES = 3 };
    size_t fields = 1 + below(5), rows_a = 1 + below(9), rows_b = 1 + below(9), n = below(200);
    int32_t *a = buffer(rows_a * fields * sizeof *a), *b = buffer(rows_b * fields * sizeof *b);
    for (size_t i = 0; i < rows_a * fields; i++) a[i] = (int32_t)below(VALUES + 1) - 1;
    for (size_t i = 0; i < rows_b * fields; i++) b[i] = (int32_t)below(VALUES + 1) - 1;
    double *equal = buffer(fields * VALUES * sizeof *equal), *unequal = buffer(fields * sizeof *unequal);
    double *missing = buffer(fields * sizeof *missing), *known = buffer(n * sizeof *known), *open = buffer(n * sizeof *open);
    int64_t *starts = buffer(fields * sizeof *starts), *numbers = buffer(n * sizeof *numbers);
    for (size_t f = 0; f < fields; f++) {
        starts[f] = (int64_t)(f * VALUES);
        unequal[f] = -(double)below(5);
        missing[f] = (double)below(2) / 4;
    }
    for (size_t i = 0; i < fields * VALUES; i++) equal[i] = (double)below(9);
    uint64_t *places = buffer(n * sizeof *places);
    for (size_t p = 0; p < n; p++) places[p] = below(rows_a * rows_b);
    uint8_t *levels = buffer(fields * n);
    struct pairs_fields own = {a, b, fields, equal, starts, unequal, missing};
    double least = (double)below(9);
    size_t found = pairs_score(&own, places, n, rows_b, least, 5, numbers, levels, n, known, open), at = 0;
    for (size_t p = 0; p < n; p++) {
        double sum = 0, most = 0;
        for (size_t f = 0; f < fields; f++) {
            int32_t left = a[places[p] / rows_b * fields + f], right = b[places[p] % rows_b * fields + f];
            if (left < 0 || right < 0) sum += missing[f];
            else if (left == right) sum += equal[f * VALUES + (size_t)left];
            else most += unequal[f];
            if (at < found && numbers[at] == (int64_t)p + 5) {
                int level = left < 0 || right < 0 ? PAIRS_MISSING : left == right ? PAIRS_EQUAL : PAIRS_DIFFERENT;
                CHECK(levels[f * n + at] == level);
            }
        }
        if (sum + most < least) continue;
        CHECK(at < found && numbers[at] == (int64_t)p + 5 && known[at] == sum && open[at] == most);
        at++;
    }
    CHECK(at == found);
    note_all((const uint64_t *)known, found);
    free(a), free(b), free(equal), free(unequal), free(missing), free(known), free(open), free(starts), free(numbers);
    free(places), free(levels);
}

static void check_letters(void) {
    size_t n = 1 + below(20), pairs = below(40), letters = 0;
    int64_t *starts = buffer((n + 1) * sizeof *starts), *lengths = buffer(n * sizeof *lengths);
    for (size_t i = 0; i < n; i++) {
        starts[i] = (int64_t)letters;
        lengths[i] = (int64_t)below(6);
        letters += (size_t)lengths[i];
    }
    starts[n] = (int64_t)letters;
    uint32_t *points = buffer(letters * sizeof *points), *firsts = buffer(n * sizeof *firsts);
    for (size_t at = 0; at < letters; at++) points[at] = (uint32_t)below(70);
    for (size_t i = 0; i < n; i++) firsts[i] = lengths[i] ? points[starts[i]] : 0;
    uint64_t *masks = buffer(n * sizeof *masks);
    pairs_letters(points, starts, n, masks);
    for (size_t i = 0; i < n; i++) {
        for (uint32_t class = 0; class < 32; class++) {
            int count = 0;
            for (int64_t at = starts[i]; at < starts[i + 1]; at++) count += points[at] % 32 == class;
            CHECK((masks[i] >> class & 1) == (count > 0));
            CHECK((masks[i] >> (32 + class) & 1) == (count > 1));
        }
    }
    int64_t *left = buffer(pairs * sizeof *left), *right = buffer(pairs * sizeof *right), *edits = buffer(pairs * sizeof *edits);
    double *similar = buffer(pairs * sizeof *similar);
    for (size_t p = 0; p < pairs; p++) {
        left[p] = (int64_t)below(n);
        right[p] = (int64_t)below(n);
    }
    struct pairs_strings own = {masks, lengths, firsts};
    pairs_least_edits(own, left, right, pairs, edits);
    pairs_most_similar(own, left, right, pairs, similar);
    for (size_t p = 0; p < pairs; p++) {
        CHECK(edits[p] >= 0 && edits[p] <= 6);
        CHECK(similar[p] >= 0 && similar[p] <= 1);
        CHECK(left[p] != right[p] || (!edits[p] && (!lengths[left[p]] || similar[p] == 1)));
    }
    note_all((const uint64_t *)edits, pairs);
    note_all((const uint64_t *)similar, pairs);
    free(starts), free(lengths), free(points), free(firsts), free(masks), free(left), free(right), free(edits), free(similar);
}

int main(void) {
    for EACH_ROUND(round, 300) {
        check_merge();
        check_codes();
        check_scores();
        check_letters();
    }
    return print_digest();
}
