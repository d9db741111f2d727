/* The order of the answers of an index.
 *
 * Contract: match i is keys[i] with its score; offsets[0..queries] never fall. Nothing is allocated or kept. */
#ifndef LSHFAST_MATCHES_H
#define LSHFAST_MATCHES_H

#include <stddef.h>
#include <stdint.h>

/* Sort each query's matches, keys[offsets[i]..offsets[i + 1]) with their scores, by (score descending, key ascending). Of more
 * than `most` matches, at least 1, those after the first `most` are in any order. */
void matches_order(const int64_t *offsets, size_t queries, int64_t *keys, int64_t *scores, size_t most);

#endif
