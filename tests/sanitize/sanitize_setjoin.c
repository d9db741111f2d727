/* Exact joins (setjoin.h) beside a comparison of each set with each, in heap buffers of exactly the size that the contract
 * states, so that the address sanitizer sees each byte read or written beside them. Prints a digest of all results, which
 * no compiler may change. */
#include "setjoin/setjoin.h"
#include "sanitize_kit.h"

/* ---- ranks of tokens ---- */

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static struct setjoin_table new_table(unsigned bits, uint64_t key) {
    struct setjoin_table table = {numbers((size_t)2 << bits), bits, 0, key};
    memset(table.slots, 0, (size_t)16 << bits);
    return table;
}

/* Count tokens in a table that is doubled where it becomes full. */
static void count_all(struct setjoin_table *table, const uint64_t *tokens, size_t n) {
    size_t first = below(n + 1), at = setjoin_count(table, tokens, 0, first);
    if (at == first) at = setjoin_count(table, tokens, first, n);
    while (at < n) {
        struct setjoin_table larger = new_table(table->bits + 1, table->key);
        size_t middle = below(((uint64_t)1 << table->bits) + 1);
        setjoin_move(table, 0, middle, &larger);
        setjoin_move(table, middle, (size_t)1 << table->bits, &larger);
        CHECK(larger.used == table->used);
        free(table->slots);
        *table = larger;
        at = setjoin_count(table, tokens, at, n);
    }
}

static void check_ranks(size_t round) {
    size_t n = case_size(below(round % 10 ? 200 : 4000), 60), different = 1 + below(n + 1);
    uint64_t *tokens = numbers(n), key = anything() | 1;
    for (size_t i = 0; i < n; i++) {
        size_t token = below(different);
        tokens[i] = token % 3 ? mix64(token) : token;
    }
    struct setjoin_table table = new_table(10, key);
    count_all(&table, tokens, n);
    size_t slots = (size_t)1 << table.bits;
    uint64_t *listed = numbers(table.used), *counts = numbers(table.used);
    size_t listed_n = setjoin_list(&table, 0, slots, listed, counts);
    CHECK(listed_n == table.used);
    for (size_t i = 0; i < listed_n; i++) {
        uint64_t count = 0;
        for (size_t j = 0; j < n; j++) count += tokens[j] == listed[i];
        CHECK(count == counts[i]);
    }
    setjoin_rank(&table, listed, listed_n, 5);
    uint32_t *ranks = buffer(n * sizeof *ranks), *spare = buffer(n * sizeof *spare), *sorted;
    size_t first = below(n + 1), made = setjoin_number(&table, tokens, 0, first, ranks);
    made += setjoin_number(&table, tokens, first, n, ranks + made);
    CHECK(made == n);
    for (size_t j = 0; j < n; j++) CHECK(listed[ranks[j] - 5] == tokens[j]);
    sorted = copy_of(ranks, made * sizeof *ranks);
    if (made) qsort(sorted, made, sizeof *sorted, by_value);
    setjoin_sort(ranks, made, spare);
    CHECK(same_bytes(ranks, sorted, made * sizeof *ranks));
    size_t unique = setjoin_unique(ranks, made);
    CHECK(unique == listed_n);
    note(made);
    note(unique);
    free(sorted);
    free(spare);
    free(ranks);
    free(counts);
    free(listed);
    free(table.slots);
    free(tokens);
}

/* ---- joins ---- */

struct collection {
    size_t n, total;
    struct setjoin_set *sets;
    uint32_t *ranks, *sizes;
};

/* Sets by ascending size of ranks below `universe`, each after `rare` tokens that have none. */
static struct collection draw_sets(size_t universe, int rare) {
    struct collection c = {0};
    c.n = case_size(below(60), 16);
    c.sets = buffer(c.n * sizeof *c.sets);
    c.sizes = buffer(c.n * sizeof *c.sizes);
    uint32_t *all = buffer(c.n * universe * sizeof *all);
    size_t size = 1;
    for (size_t row = 0; row < c.n; row++) {
        size += below(3) == 0;
        size_t most = size < universe ? size : universe, count = rare ? below(most + 1) : most, made = 0;
        if (!rare) size = most;
        uint32_t *own = all + c.total;
        const struct setjoin_set *model = row ? c.sets + below(row) : NULL;
        for (size_t i = 0; model && below(2) && i < model->count && made < count; i++) {
            if (below(8)) own[made++] = all[model->start + i];
        }
        while (made < count) {
            uint32_t rank = (uint32_t)below(universe);
            size_t i = 0;
            while (i < made && own[i] != rank) i++;
            if (i == made) own[made++] = rank;
        }
        if (made) qsort(own, made, sizeof *own, by_value);
        struct setjoin_set set = {{0, 0}, c.total, (uint32_t)made, (uint32_t)size};
        setjoin_bits(own, made, set.bits);
        c.sets[row] = set;
        c.sizes[row] = (uint32_t)size;
        c.total += made;
    }
    c.ranks = copy_of(all, c.total * sizeof *all);
    free(all);
    return c;
}

static void free_sets(struct collection *c) {
    free(c->sets);
    free(c->ranks);
    free(c->sizes);
}

static uint32_t overlap_of(const struct collection *a, size_t i, const struct collection *b, size_t j) {
    const struct setjoin_set *x = a->sets + i, *y = b->sets + j;
    uint32_t overlap = 0;
    for (size_t k = 0; k < x->count; k++) {
        for (size_t l = 0; l < y->count; l++) overlap += a->ranks[x->start + k] == b->ranks[y->start + l];
    }
    return overlap;
}

static struct setjoin_rule draw_rule(void) {
    struct setjoin_rule rule = {(enum setjoin_kind)below(SETJOIN_KINDS), 0, 1, 0};
    uint64_t q = 1 + below(20), p = 1 + below(q);
    rule.p = p;
    rule.q = rule.kind == SETJOIN_COUNT ? 1 : rule.kind == SETJOIN_SUM ? 2 * q : q;
    rule.threshold = (double)p / (double)q;
    return rule;
}

static struct setjoin_index new_index(const struct collection *c) {
    struct setjoin_index index = {0};
    uint32_t *of = buffer((c->n + 1) * sizeof *of), *sizes = buffer((c->n + 1) * sizeof *sizes);
    uint32_t *starts = buffer((c->n + 1) * sizeof *starts);
    for (size_t row = 0; row < c->n; row++) {
        if (row == 0 || c->sizes[row] != c->sizes[row - 1]) {
            sizes[index.classes] = c->sizes[row];
            starts[index.classes++] = (uint32_t)row;
        }
        of[row] = (uint32_t)(index.classes - 1);
    }
    starts[index.classes] = (uint32_t)c->n;
    index.class_of = of;
    index.class_sizes = copy_of(sizes, index.classes * sizeof *sizes);
    index.class_starts = copy_of(starts, (index.classes + 1) * sizeof *starts);
    index.sets = c->sets;
    index.ranks = c->ranks;
    free(sizes);
    free(starts);
    return index;
}

static void post(struct setjoin_index *index, const struct collection *c, const struct setjoin_rule *rule, int self,
                 size_t universe) {
    uint32_t *prefixes = buffer(index->classes * sizeof *prefixes);
    for (size_t k = 0; k < index->classes; k++) {
        prefixes[k] = (uint32_t)setjoin_indexed_prefix(rule, index->class_sizes[k], self);
        CHECK(prefixes[k] <= setjoin_longest_prefix(rule, index->class_sizes[k], 0));
    }
    uint64_t *starts = numbers(universe + 2);
    memset(starts, 0, (universe + 2) * sizeof *starts);
    setjoin_count_postings(index, prefixes, 0, c->n, starts + 1);
    for (size_t rank = 1; rank < universe + 2; rank++) starts[rank] += starts[rank - 1];
    struct setjoin_posting *postings = buffer(starts[universe + 1] * sizeof *postings);
    setjoin_post(index, prefixes, 0, c->n, starts + 1, postings);
    index->starts = copy_of(starts, (universe + 1) * sizeof *starts);
    index->by_suffix = (int)below(2);
    if (index->by_suffix) {
        size_t middle = below(universe + 1);
        setjoin_order_by_suffix(index, middle, universe, postings);
        setjoin_order_by_suffix(index, 0, middle, postings);
    }
    index->postings = postings;
    free(starts);
    free(prefixes);
}

/* Mark what was found, each pair once, with the right overlap. */
static void mark(uint8_t *seen, const struct collection *a, const struct collection *b, const struct setjoin_found *found,
                 size_t n) {
    for (size_t i = 0; i < n; i++) {
        CHECK(found[i].overlap == overlap_of(a, found[i].row, b, found[i].probe));
        CHECK(!seen[found[i].row * b->n + found[i].probe]);
        seen[found[i].row * b->n + found[i].probe] = 1;
    }
}

/* Returns the number of pairs. */
static size_t check_seen(const uint8_t *seen, const struct collection *a, const struct collection *b,
                         const struct setjoin_rule *rule, int self) {
    size_t count = 0;
    for (size_t i = 0; i < a->n; i++) {
        for (size_t j = 0; j < b->n; j++) {
            uint32_t overlap = overlap_of(a, i, b, j);
            int expected = (!self || i < j) && overlap >= setjoin_need(rule, a->sizes[i], b->sizes[j]);
            CHECK(seen[i * b->n + j] == expected);
            count += (size_t)expected;
        }
    }
    return count;
}

/* How a search is cut into calls; drawn once for all levels. */
struct cut {
    size_t room, work, middle;
};

static void search(int level, struct setjoin_index *index, const struct collection *a, const struct collection *b,
                   const struct setjoin_rule *rule, int self, struct cut cut, uint8_t *seen) {
    struct setjoin_walk walk;
    size_t found;
    struct setjoin_found *out = buffer(cut.room * sizeof *out);
    memset(&walk, 0, sizeof walk);
    walk.self = self;
    walk.stamps = buffer(a->n * sizeof *walk.stamps);
    if (a->n) memset(walk.stamps, 0, a->n * sizeof *walk.stamps);
    walk.window.needs = buffer(index->classes * sizeof *walk.window.needs);
    for (size_t part = 0; part < 2; part++) {
        walk.probe = part ? cut.middle : 0;
        walk.end = part ? b->n : cut.middle;
        for (int done = 0; !done;) {
            done = setjoin_search(setjoin_levels[level], rule, index, b->sets, b->ranks, &walk, cut.work, out, cut.room,
                                  &found);
            CHECK(found <= cut.room);
            mark(seen, a, b, out, found);
        }
    }
    free(walk.stamps);
    free(walk.window.needs);
    free(out);
}

static uint64_t *words_of(const struct collection *c, size_t width, int by_words) {
    uint64_t *words = numbers(c->n * width);
    if (c->n) memset(words, 0, c->n * width * sizeof *words);
    for (size_t row = 0; row < c->n; row++) {
        for (size_t i = 0; i < c->sets[row].count; i++) {
            uint32_t rank = c->ranks[c->sets[row].start + i];
            words[by_words ? rank / 64 * c->n + row : row * width + rank / 64] |= (uint64_t)1 << rank % 64;
        }
    }
    return words;
}

static void search_bits(int level, struct setjoin_index *index, const struct collection *a, const struct collection *b,
                        const struct setjoin_rule *rule, int self, size_t universe, struct cut cut, uint8_t *seen) {
    struct setjoin_bits_walk walk;
    size_t width = (universe + 63) / 64, found, room = SETJOIN_ROWS + cut.room;
    struct setjoin_found *out = buffer(room * sizeof *out);
    uint64_t *words = words_of(a, width, 1), *probes = words_of(b, width, 0);
    struct setjoin_bitmaps bitmaps = {words, a->n, width, probes, b->sizes};
    memset(&walk, 0, sizeof walk);
    walk.self = self;
    walk.end = b->n;
    walk.window.needs = buffer(index->classes * sizeof *walk.window.needs);
    for (int done = 0; !done;) {
        done = setjoin_search_bits(setjoin_levels[level], rule, index, &bitmaps, &walk, cut.work, out, room, &found);
        CHECK(found <= room);
        mark(seen, a, b, out, found);
    }
    free(walk.window.needs);
    free(words);
    free(probes);
    free(out);
}

static void check_join(void) {
    size_t universe = 1 + below(below(2) ? 40 : 512);
    int rare = (int)below(2), self = (int)below(2);
    struct collection a = draw_sets(universe, rare), b = self ? a : draw_sets(universe, rare);
    struct setjoin_rule rule = draw_rule();
    if (self && (rule.kind == SETJOIN_INDEXED || rule.kind == SETJOIN_PROBING)) rule.kind = SETJOIN_SMALLER;
    struct setjoin_index index = new_index(&a);
    post(&index, &a, &rule, self, universe);
    size_t room = 1 + below(5), work = 1 + below(300), pairs = 0;
    struct cut cut = {room, work, below(b.n + 1)};
    for EACH_LEVEL(level) {
        uint8_t *seen = buffer(a.n * b.n);
        if (a.n && b.n) memset(seen, 0, a.n * b.n);
        search(level, &index, &a, &b, &rule, self, cut, seen);
        pairs = check_seen(seen, &a, &b, &rule, self);
        if (!rare) {
            if (a.n && b.n) memset(seen, 0, a.n * b.n);
            search_bits(level, &index, &a, &b, &rule, self, universe, cut, seen);
            CHECK(pairs == check_seen(seen, &a, &b, &rule, self));
        }
        free(seen);
    }
    note(pairs);
    free((void *)index.class_of);
    free((void *)index.class_sizes);
    free((void *)index.class_starts);
    free((void *)index.starts);
    free((void *)index.postings);
    free_sets(&a);
    if (!self) free_sets(&b);
}

/* Sizes at the ends of their range. */
static void check_needs(void) {
    struct setjoin_rule rule = {SETJOIN_SUM, SETJOIN_MOST_TOKENS * 2, SETJOIN_MOST_TOKENS * 4 - 1, 1};
    CHECK(setjoin_need(&rule, SETJOIN_MOST_TOKENS, SETJOIN_MOST_TOKENS) == SETJOIN_MOST_TOKENS + 1);
    rule.p--;
    CHECK(setjoin_need(&rule, SETJOIN_MOST_TOKENS, SETJOIN_MOST_TOKENS) == SETJOIN_MOST_TOKENS);
    struct setjoin_rule cosine = {SETJOIN_COSINE, 0, 1, 1};
    CHECK(setjoin_need(&cosine, SETJOIN_MOST_TOKENS, SETJOIN_MOST_TOKENS) == SETJOIN_MOST_TOKENS);
    CHECK(setjoin_longest_prefix(&cosine, SETJOIN_MOST_TOKENS, 1) == 1);
}

int main(void) {
    check_needs();
    for EACH_ROUND(round, 300) check_ranks(round);
    for EACH_ROUND(round, 400) check_join();
    return print_digest();
}
