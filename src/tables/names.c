/* Names are compared whole: a tag is a hint. A bucket is crowded while it has more than NAMES_CROWD rows, and then all of
 * them are in the crowd, so that what is done to a name never depends on how many others share its tag. */
#include "tables/names.h"

#include <string.h>

#define NAMES_SLOTS 30 /* that a block of NAMES_CROWD rows has, unless the pool was full when it was to shrink */
#define NAMES_WASTE ((size_t)1 << 20) /* bytes of removed names that are left where they are */

/* ---- tags ---- */

uint32_t names_tag_of_bytes(const uint8_t *name, size_t length) {
    uint64_t hash = mix64(length + 1);
    for (size_t at = 0; at < length; at += 8) {
        uint64_t limb = 0;
        size_t left = length - at < 8 ? length - at : 8;
        for (size_t i = 0; i < left; i++) limb |= (uint64_t)name[at + i] << 8 * i;
        hash = mix64(hash ^ limb);
    }
    return (uint32_t)(hash >> 32);
}

void names_set_key(struct names *names, uint64_t first, uint64_t second) {
    names->point = 1 + first % (P61 - 1);
    names->mask = second;
}

/* A polynomial mod p at the secret point, whose coefficients are the length and limbs of seven bytes: two different names
 * of at most n bytes are equal in it for at most n / 7 + 1 of the 2^61 points. */
static uint32_t secret_tag(const struct names *names, const struct names_one *one) {
    uint64_t hash = one->length;
    if (names->kind == NAMES_INTEGERS) {
        hash = p61_product((uint64_t)one->integer >> 32, names->point) + (uint32_t)one->integer;
        hash = p61_product(p61_of(hash), names->point);
    }
    for (size_t at = 0; at < one->length; at += 7) {
        uint64_t limb = 0;
        size_t left = one->length - at < 7 ? one->length - at : 7;
        for (size_t i = 0; i < left; i++) limb |= (uint64_t)one->text[at + i] << 8 * i;
        hash = p61_of(p61_product(hash, names->point) + limb);
    }
    return (uint32_t)(mix64(hash ^ names->mask) >> 32);
}

/* ---- reading ---- */

int names_text(const struct names *names, size_t row, const uint8_t **text) {
    int64_t start = names->starts[row];
    if (start < 0 || (uint64_t)start > names->size || names->size - (uint64_t)start < names->lengths[row]) return 0;
    *text = names->lengths[row] ? names->bytes + start : (const uint8_t *)"";
    return 1;
}

int names_of_row(const struct names *names, size_t row, struct names_one *one) {
    const uint8_t *text;
    if (names->kind == NAMES_INTEGERS) {
        *one = names_integer(names->integers[row]);
        return 1;
    }
    if (!names_text(names, row, &text)) return 0;
    *one = names_string(text, names->lengths[row]);
    return 1;
}

static inline int counts(const struct names *names, uint32_t row) {
    return row < names->limit && !(names->gone && names->gone[row]);
}

static inline int has_name(const struct names *names, enum names_kind kind, uint32_t row, const struct names_one *one) {
    if (kind == NAMES_INTEGERS) return names->integers[row] == one->integer;
    const uint8_t *text;
    if (names->lengths[row] != one->length || !names_text(names, row, &text)) return 0;
    return one->length == 0 || memcmp(text, one->text, one->length) == 0;
}

static inline uint32_t row_among(const struct names *names, enum names_kind kind, const uint32_t *rows, size_t slots,
                                 const struct names_one *one) {
    for (size_t s = 0; s < slots; s++) {
        if (counts(names, rows[s]) && has_name(names, kind, rows[s], one)) return rows[s];
    }
    return TABLES_NO_ROW;
}

static uint32_t find_in_crowd(const struct names *names, const struct names_one *one) {
    uint32_t alone;
    const uint32_t *rows;
    size_t at = tables_find(&names->crowd.table, secret_tag(names, one));
    if (at == TABLES_NO_PLACE) return TABLES_NO_ROW;
    size_t slots = tables_bucket_slots(&names->crowd.pool, names->crowd.table.entries[at], &alone, &rows);
    return slots == TABLES_NO_PLACE ? TABLES_NO_ROW : row_among(names, names->kind, rows, slots, one);
}

/* `kind` is names->kind, known where this is compiled. */
static inline uint32_t find(const struct names *names, enum names_kind kind, const struct names_one *one, size_t *met,
                            size_t *compared) {
    uint32_t alone;
    const uint32_t *rows;
    size_t at = tables_find(names->table, one->tag);
    *met = 0;
    if (at == TABLES_NO_PLACE) return TABLES_NO_ROW;
    uint64_t entry = names->table->entries[at];
    size_t slots = tables_bucket_slots(names->pool, entry, &alone, &rows);
    if (slots == TABLES_NO_PLACE) return TABLES_NO_ROW;
    *met = tables_bucket_count(names->pool, entry);
    if (*met > NAMES_CROWD && names->crowd.table.entries) return find_in_crowd(names, one);
    if (slots > NAMES_SLOTS) *compared += slots;
    return row_among(names, kind, rows, slots, one);
}

uint32_t names_find(const struct names *names, const struct names_one *one, size_t *met, size_t *compared) {
    if (names->kind == NAMES_INTEGERS) return find(names, NAMES_INTEGERS, one, met, compared);
    return find(names, NAMES_STRINGS, one, met, compared);
}

size_t names_find_strings(const struct names *names, const struct names_one *ones, size_t n, int64_t *rows, size_t most,
                          size_t *compared) {
    size_t i = 0, met;
    for (; i < n && *compared < most; i++) {
        if (i + NAMES_AHEAD < n) tables_prefetch_home(names->table, ones[i + NAMES_AHEAD].tag);
        uint32_t row = find(names, NAMES_STRINGS, ones + i, &met, compared);
        rows[i] = row == TABLES_NO_ROW ? -1 : (int64_t)row;
    }
    return i;
}

size_t names_find_integers(const struct names *names, const int64_t *integers, size_t n, int64_t *rows, size_t most,
                           size_t *compared) {
    uint32_t tags[NAMES_AHEAD];
    size_t i = 0, asked = 0, met;
    for (; i < n && *compared < most; i++) {
        for (; asked < n && asked < i + NAMES_AHEAD; asked++) {
            tags[asked % NAMES_AHEAD] = names_tag_of_integer(integers[asked]);
            tables_prefetch_home(names->table, tags[asked % NAMES_AHEAD]);
        }
        struct names_one one = {NULL, 0, integers[i], tags[i % NAMES_AHEAD]};
        uint32_t row = find(names, NAMES_INTEGERS, &one, &met, compared);
        rows[i] = row == TABLES_NO_ROW ? -1 : (int64_t)row;
    }
    return i;
}

/* ---- the crowd ---- */

static enum tables_outcome begin_crowd(struct tables_heap *heap, struct names_crowd *crowd) {
    enum tables_outcome outcome = tables_begin(heap, &crowd->table, 64, 64);
    if (outcome == TABLES_DONE) outcome = tables_pool_begin(heap, &crowd->pool, 16);
    if (outcome == TABLES_DONE) return TABLES_DONE;
    tables_memory_free(crowd->table.entries);
    crowd->table.entries = NULL;
    return outcome;
}

void names_end_crowd(struct names_crowd *crowd) {
    if (!crowd->table.entries) return;
    tables_memory_free(crowd->table.entries);
    tables_memory_free(crowd->pool.words);
    crowd->table.entries = NULL;
}

static enum tables_outcome add_row(const struct names *names, struct tables_heap *heap, struct names_crowd *crowd,
                                   uint32_t row) {
    struct names_one one;
    if (row >= names->limit || !names_of_row(names, row, &one)) return TABLES_DONE;
    return tables_add(heap, &crowd->table, &crowd->pool, secret_tag(names, &one), row);
}

static void take_row(struct names *names, uint32_t row) {
    struct names_one one;
    struct names_crowd *crowd = &names->crowd;
    if (row == TABLES_NO_ROW || !names_of_row(names, row, &one)) return;
    tables_take(&crowd->table, &crowd->pool, secret_tag(names, &one), row);
}

enum tables_outcome names_gather(const struct names *names, struct tables_heap *heap, struct names_crowd *crowd) {
    uint32_t alone;
    const uint32_t *rows;
    enum tables_outcome outcome = begin_crowd(heap, crowd);
    for (size_t i = 0; i < names->table->length && outcome == TABLES_DONE; i++) {
        uint64_t entry = names->table->entries[i];
        if (entry == TABLES_NO_ENTRY || tables_bucket_count(names->pool, entry) <= NAMES_CROWD) continue;
        size_t slots = tables_bucket_slots(names->pool, entry, &alone, &rows);
        for (size_t s = 0; s < slots && slots != TABLES_NO_PLACE && outcome == TABLES_DONE; s++) {
            outcome = add_row(names, heap, crowd, rows[s]);
        }
    }
    if (outcome != TABLES_DONE) names_end_crowd(crowd);
    return outcome;
}

/* The slots of the bucket of a tag: 0 if there is none. */
static size_t rows_of_tag(const struct names *names, uint32_t tag, uint32_t *alone, const uint32_t **rows) {
    size_t at = tables_find(names->table, tag);
    *rows = alone;
    if (at == TABLES_NO_PLACE) return 0;
    size_t slots = tables_bucket_slots(names->pool, names->table->entries[at], alone, rows);
    return slots == TABLES_NO_PLACE ? 0 : slots;
}

/* Add the rows of a bucket that has just become crowded, or the last of them where it was so before. */
static enum tables_outcome join_crowd(struct names *names, struct tables_heap *heap, uint32_t tag, uint32_t row,
                                      size_t met) {
    enum tables_outcome outcome = TABLES_DONE;
    if (!names->crowd.table.entries) outcome = begin_crowd(heap, &names->crowd);
    if (outcome != TABLES_DONE) return outcome;
    if (met > NAMES_CROWD) return add_row(names, heap, &names->crowd, row);
    uint32_t alone;
    const uint32_t *rows;
    size_t slots = rows_of_tag(names, tag, &alone, &rows), s = 0;
    for (; s < slots && outcome == TABLES_DONE; s++) {
        outcome = add_row(names, heap, &names->crowd, rows[s]);
    }
    while (outcome != TABLES_DONE && s-- > 0) take_row(names, rows[s]);
    return outcome;
}

/* Take a row of a crowded bucket out of the crowd, or all of them where the bucket will be crowded no more. */
static void leave_crowd(struct names *names, uint32_t tag, uint32_t row, size_t met) {
    uint32_t alone;
    const uint32_t *rows;
    size_t slots = rows_of_tag(names, tag, &alone, &rows);
    if (met > NAMES_CROWD + 1) take_row(names, row);
    for (size_t s = 0; met == NAMES_CROWD + 1 && s < slots; s++) take_row(names, rows[s]);
    if (names->crowd.table.count == 0) names_end_crowd(&names->crowd);
}

/* ---- writing ---- */

enum tables_outcome names_reserve(struct names *names, struct tables_heap *heap, size_t length) {
    size_t wanted = names->used + length;
    if (names->kind != NAMES_STRINGS || wanted <= names->size) return TABLES_DONE;
    size_t longer = names->size + names->size / 2;
    if (longer < wanted + 64) longer = wanted + 64;
    uint8_t *bytes = tables_memory_copy(heap, names->bytes, names->used, longer, 1);
    if (!bytes) return TABLES_NO_MEMORY;
    tables_heap_give(heap, names->bytes);
    names->bytes = bytes;
    names->size = longer;
    return TABLES_DONE;
}

void names_write(struct names *names, const struct names_one *one, size_t row) {
    if (names->kind == NAMES_INTEGERS) {
        names->integers[row] = one->integer;
        return;
    }
    if (one->length) memcpy(names->bytes + names->used, one->text, one->length);
    names->starts[row] = (int64_t)names->used;
    names->lengths[row] = (uint32_t)one->length;
    names->used += one->length;
}

enum tables_outcome names_put(struct names *names, struct tables_heap *heap, const struct names_one *one, uint32_t row,
                              size_t met) {
    enum tables_outcome outcome = tables_add(heap, names->table, names->pool, one->tag, row);
    if (outcome != TABLES_DONE || met < NAMES_CROWD) return outcome;
    outcome = join_crowd(names, heap, one->tag, row, met);
    if (outcome != TABLES_DONE) tables_take(names->table, names->pool, one->tag, row);
    return outcome;
}

void names_take(struct names *names, uint32_t row) {
    struct names_one one;
    if (names->kind == NAMES_NONE || !names_of_row(names, row, &one)) return;
    names->wasted += one.length;
    if (names->crowd.table.entries) {
        size_t at = tables_find(names->table, one.tag);
        size_t met = at == TABLES_NO_PLACE ? 0 : tables_bucket_count(names->pool, names->table->entries[at]);
        if (met > NAMES_CROWD && find_in_crowd(names, &one) == row) leave_crowd(names, one.tag, row, met);
    }
    tables_take(names->table, names->pool, one.tag, row);
}

void names_rename(struct names *names, uint32_t from, uint32_t to) {
    struct names_one one;
    if (names->kind == NAMES_NONE || !names_of_row(names, from, &one)) return;
    tables_rename(names->table, names->pool, one.tag, from, to);
    if (names->crowd.table.entries) {
        tables_rename(&names->crowd.table, &names->crowd.pool, secret_tag(names, &one), from, to);
    }
    if (names->kind == NAMES_INTEGERS) {
        names->integers[to] = names->integers[from];
    } else {
        names->starts[to] = names->starts[from];
        names->lengths[to] = names->lengths[from];
    }
}

void names_tidy(struct names *names, struct tables_heap *heap, const uint8_t *alive) {
    if (names->wasted <= names->used / 2 || names->wasted <= NAMES_WASTE) return;
    size_t size = names->used - names->wasted + NAMES_WASTE, used = 0;
    uint8_t *bytes = tables_memory_get(heap, size, 1);
    if (!bytes) return;
    for (size_t row = 0; row < names->limit; row++) {
        if (!alive[row]) continue;
        if (names->lengths[row]) memcpy(bytes + used, names->bytes + names->starts[row], names->lengths[row]);
        names->starts[row] = (int64_t)used;
        used += names->lengths[row];
    }
    tables_heap_give(heap, names->bytes);
    names->bytes = bytes;
    names->size = size;
    names->used = used;
    names->wasted = 0;
}
