/* Signatures to bucket keys, and bucket keys to candidate pairs by sorting: the third stage.
 *
 * Contract: keys is (n, b), row-major; a key of EMPTY_SLOT belongs to an empty row and matches nothing. Rows are
 * numbered below 2^63. Nothing is allocated or kept; outputs overlap no input. */
#ifndef LSHFAST_BANDS_H
#define LSHFAST_BANDS_H

#include "cpu/cpu.h"
#include "field.h"

/* The keys of `count` bands of one signature that is not empty, from what they start with and from the slots of the first
 * of them on; a CPU level does it in its own way. */
typedef void band_key_kernel(const uint64_t *slots, const uint64_t *starts, size_t count, size_t rows, uint64_t *out);
band_key_kernel bands_keys_scalar, bands_keys_avx512;
extern band_key_kernel *const bands_levels[CPU_LEVELS];

/* The key of a band of one slot that is not EMPTY_SLOT. */
static inline uint64_t bands_key_of_slot(uint64_t start, uint64_t slot) {
    uint64_t key = mix64(start ^ slot);
    return key - (key == EMPTY_SLOT);
}

/* What the keys of bands [first, first + count) start with. */
void bands_starts(size_t first, size_t count, uint64_t *starts);

/* out: n * bands keys; signatures are (n, k) with bands * rows <= k. */
void bands_keys(band_key_kernel *kernel, const uint64_t *signatures, size_t n, size_t k, size_t bands, size_t rows,
                uint64_t *out);

/* The same for bands of one slot each that are judged apart: the key of a slot of EMPTY_SLOT is EMPTY_SLOT, and those of
 * the other slots are what they are. */
void bands_keys_apart(band_key_kernel *kernel, const uint64_t *signatures, size_t n, size_t k, size_t bands,
                      uint64_t *out);

/* A record is one number: half of the mixed key above the row's place among the members, so at most 2^32 members. Rows
 * of one key come together by sorting; that two keys share a half is told by looking at the keys again. */
#define BANDS_MOST_MEMBERS ((uint64_t)1 << 32)

/* The records of one band for the given members (ascending row numbers below n), empty rows left out.
 * out holds count records; returns how many it wrote. */
size_t bands_records(const uint64_t *keys, size_t bands, size_t band, const int64_t *members, size_t count,
                     uint64_t *out);

/* Sort ascending n <= BANDS_MOST_MEMBERS records whose lower halves rise already. scratch holds n records too. */
void bands_sort_records(uint64_t *records, size_t n, uint64_t *scratch);

/* A stable radix sort by digits of BANDS_DIGIT_BITS, the lowest first, in steps of any size: add up how often each
 * digit of the keys occurs in BANDS_DIGIT_VALUES counts; turn them into where each digit's keys begin; move the keys
 * there, with their places unless that is NULL. */
#define BANDS_DIGIT_BITS 11
#define BANDS_DIGIT_VALUES (1 << BANDS_DIGIT_BITS)
void bands_count_digits(const uint64_t *keys, size_t n, unsigned shift, size_t *counts);
void bands_starts_of_digits(size_t *counts);
void bands_move_by_digit(const uint64_t *keys, const int64_t *places, size_t n, unsigned shift, size_t *starts,
                         uint64_t *to, int64_t *places_to);

/* Number the buckets of one band from 0, those of two members or more, from its sorted records: numbers[m * bands + band]
 * becomes the number of member m's bucket, and stays what it is for members that are alone in theirs. Rows whose keys
 * share a half only are told apart. Returns how many buckets there are. The records are left in another order. */
size_t bands_number_buckets(uint64_t *records, size_t n, const int64_t *members, const uint64_t *keys, size_t bands,
                            size_t band, int32_t *numbers);

/* Where a walk over the sorted records of one band stands; all zero at the start. */
struct bucket_walk {
    size_t last; /* the bucket ends before records[last] */
    size_t i, j; /* the next pair to look at */
    int done;
};

/* Write up to `capacity` pairs of rows that share this band's key and none of an earlier band, and return their
 * number. Looks at about `work` pairs at most (at least 1 of each); call it again until walk->done. */
size_t bands_bucket_pairs(const uint64_t *records, size_t n, const int64_t *members, const uint64_t *keys, size_t bands,
                          size_t band, struct bucket_walk *walk, int64_t *left, int64_t *right, size_t capacity,
                          size_t work);

#endif
