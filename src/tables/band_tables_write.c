/* Signatures into the tables and out of them, batch by batch. A batch that cannot be finished is taken out again. */
#include <stdlib.h>
#include <string.h>

#include "tables/band_tables.h"

/* ---- batches ---- */

enum tables_outcome band_tables_batch_begin(struct band_tables_batch *batch, const struct band_tables *index,
                                            size_t n) {
    size_t most = n < BAND_TABLES_BATCH ? n : BAND_TABLES_BATCH, bands = index->bands;
    most = most ? most : 1;
    memset(batch, 0, sizeof *batch);
    batch->most = most;
    batch->skip_step = index->apart ? most : 0;
    batch->keys = malloc((2 * bands + most) * sizeof *batch->keys + bands * most * sizeof *batch->tags +
                         (index->apart ? bands : 1) * most * sizeof *batch->skip);
    if (!batch->keys) return TABLES_NO_MEMORY;
    batch->before = batch->keys + bands;
    batch->records = batch->before + bands;
    batch->tags = (uint32_t *)(batch->records + most);
    batch->skip = (uint8_t *)(batch->tags + bands * most);
    return TABLES_DONE;
}

void band_tables_batch_end(struct band_tables_batch *batch) {
    free(batch->keys);
    batch->keys = NULL;
}

static void tag_row(const struct band_tables *index, struct band_tables_batch *batch, const uint64_t *signature,
                    size_t i) {
    batch->skip[i] = signature[0] == EMPTY_SLOT;
    for (size_t band = 1; band < index->bands && index->apart; band++) {
        batch->skip[band * batch->skip_step + i] = signature[band] == EMPTY_SLOT;
    }
    band_tables_tags(index, signature, batch->keys, batch->tags + i, batch->most);
}

/* Bring the rows of the batch into the order of their tags of one band. */
static void order(struct band_tables_batch *batch, size_t band, const int64_t *rows) {
    const uint8_t *skip = batch->skip + band * batch->skip_step;
    batch->count = tables_tag_order(batch->tags + band * batch->most, rows, skip, batch->n, batch->records);
}

/* Ask for the lines of all bands of a single row at once, and then for the next lines where those are full. */
static void ask(const struct band_tables *index, const struct band_tables_batch *batch) {
    for (size_t band = 0; band < index->bands; band++) {
        tables_prefetch_home(index->tables + band, batch->tags[band * batch->most]);
    }
}

static void ask_on(const struct band_tables *index, const struct band_tables_batch *batch) {
    for (size_t band = 0; band < index->bands; band++) {
        tables_prefetch_next(index->tables + band, batch->tags[band * batch->most]);
    }
}

/* The same for all next lines, without waiting for the first ones. */
static void ask_behind(const struct band_tables *index, const struct band_tables_batch *batch) {
    for (size_t band = 0; band < index->bands; band++) {
        const struct tables_table *table = index->tables + band;
        const uint64_t *line = table->entries + tables_home(table, batch->tags[band * batch->most]);
        prefetch_behind(line, TABLES_LINE * sizeof *line);
    }
}

/* ---- into the tables ---- */

/* Copy signatures to their rows unless they lie there, and get their tags. */
static void lay_down(struct band_tables *index, struct band_tables_batch *batch, const int64_t *rows,
                     const uint64_t *signatures) {
    size_t k = index->k;
    for (size_t i = 0; i < batch->n; i++) {
        const uint64_t *signature = signatures + i * k;
        uint64_t *place = band_tables_signature(index, (size_t)rows[i]);
        if (i + BAND_TABLES_SOON < batch->n) band_tables_prefetch(index, signature + BAND_TABLES_SOON * k);
        if (place != signature) memcpy(place, signature, k * sizeof *place);
        band_tables_lay_code(index, (size_t)rows[i], signature);
        tag_row(index, batch, signature, i);
    }
    if (batch->n == 1) {
        ask(index, batch);
        ask_on(index, batch);
    }
}

/* Put the batch into the tables from *band on, from record *next on. A table that may be too small counts as full: rows
 * come in sorted, and while a table grows they would all crowd at its front. */
static enum tables_outcome put(struct band_tables *index, struct band_tables_batch *batch, const int64_t *rows,
                               size_t *band, size_t *next) {
    for (; *band < index->bands; ++*band, *next = 0) {
        struct tables_table *table = index->tables + *band;
        if (*next == 0) {
            order(batch, *band, rows);
            if (tables_is_crowded(table, batch->count)) return TABLES_FULL;
        }
        enum tables_outcome outcome = index->kernels->put(table, &index->pool, batch->records, batch->count, next);
        if (outcome != TABLES_DONE) return outcome;
    }
    return TABLES_DONE;
}

/* How many entries a band's table will need for this batch and for the `left` rows after it: what the `done` rows have
 * needed tells what the rest will need, so that memory is touched once only. */
static size_t expected(const struct band_tables *index, const struct band_tables_batch *batch, size_t band, size_t done,
                       size_t left) {
    uint64_t so_far = index->tables[band].count - batch->before[band];
    return batch->count + (done ? (size_t)((double)left * ((double)so_far / (double)done)) : 0);
}

static void take(struct band_tables *index, struct band_tables_batch *batch, const int64_t *rows, size_t n,
                 size_t bands) {
    for (size_t done = 0; done < n; done += batch->n) {
        batch->n = n - done < batch->most ? n - done : batch->most;
        for (size_t i = done; i < done + batch->n; i++) {
            if (i + BAND_TABLES_SOON < n) {
                band_tables_prefetch(index, band_tables_signature(index, (size_t)rows[i + BAND_TABLES_SOON]));
            }
            tag_row(index, batch, band_tables_signature(index, (size_t)rows[i]), i - done);
        }
        if (batch->n == 1) {
            ask(index, batch);
            ask_on(index, batch);
        }
        for (size_t band = 0; band < bands; band++) {
            order(batch, band, rows + done);
            index->kernels->take(index->tables + band, &index->pool, batch->records, batch->count);
        }
    }
}

/* Put the batch, whose rows are laid down and tagged, into all tables. */
static enum tables_outcome put_all(struct band_tables *index, struct band_tables_batch *batch, const int64_t *rows,
                                   size_t done, size_t left) {
    size_t band = 0, next = 0;
    for (;;) {
        enum tables_outcome outcome = put(index, batch, rows, &band, &next);
        if (outcome == TABLES_DONE) return TABLES_DONE;
        struct tables_table *table = index->tables + band;
        if (next == 0 && tables_is_crowded(table, batch->count)) {
            outcome = tables_grow(&index->heap, table, expected(index, batch, band, done, left), 1);
        } else {
            outcome = tables_make_room(&index->heap, table, &index->pool, outcome);
        }
        if (outcome == TABLES_DONE) continue;
        index->kernels->take(table, &index->pool, batch->records, next);
        take(index, batch, rows, batch->n, band);
        return outcome;
    }
}

enum tables_outcome band_tables_write(struct band_tables *index, struct band_tables_batch *batch, const int64_t *rows,
                                      const uint64_t *signatures, size_t n, size_t *done) {
    size_t left = n - *done;
    /* the first of several parts is small: the tables grow to the size of all after it */
    const size_t part = *done || left <= batch->most ? batch->most : (batch->most + 3) / 4;
    batch->n = left < part ? left : part;
    for (size_t band = 0; band < index->bands && *done == 0; band++) batch->before[band] = index->tables[band].count;
    lay_down(index, batch, rows + *done, signatures + *done * index->k);
    size_t written = batch->n;
    enum tables_outcome outcome = put_all(index, batch, rows + *done, *done, left - written);
    if (outcome == TABLES_DONE) *done += written;
    return outcome;
}

/* ---- out of the tables, and from one row to another ---- */

void band_tables_erase(struct band_tables *index, struct band_tables_batch *batch, const int64_t *rows, size_t n) {
    take(index, batch, rows, n, index->bands);
}

void band_tables_hand_over(struct band_tables *index, struct band_tables_batch *batch, const int64_t *old,
                           const int64_t *new, size_t n) {
    take(index, batch, old, n, index->bands);
    for (size_t i = 0; i < n; i++) names_rename(&index->names, (uint32_t)old[i], (uint32_t)new[i]);
    band_tables_give_back(index, old, n);
}

/* ---- one row ---- */

enum tables_outcome band_tables_insert_one(struct band_tables *index, struct band_tables_batch *batch,
                                           const struct names_one *one, const uint64_t *signature, int64_t *row) {
    size_t done = 0;
    uint8_t fresh = 0;
    tables_prefetch_home(index->names.table, one->tag);
    batch->n = 1;
    tag_row(index, batch, signature, 0);
    ask(index, batch);
    enum tables_outcome outcome = band_tables_admit(index, one, 1, row, &fresh, &done);
    if (outcome != TABLES_DONE) return outcome;
    if (!fresh) {
        *row = -1;
        return TABLES_DONE;
    }
    ask_behind(index, batch);
    band_tables_prefetch_behind(index, signature);
    outcome = band_tables_prepare(index, row, 1);
    if (outcome == TABLES_DONE) {
        memcpy(band_tables_signature(index, (size_t)*row), signature, index->k * sizeof *signature);
        band_tables_lay_code(index, (size_t)*row, signature);
        outcome = put_all(index, batch, row, 0, 0);
    }
    if (outcome != TABLES_DONE) band_tables_release(index, row, 1);
    return outcome;
}
