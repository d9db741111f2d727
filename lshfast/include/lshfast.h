/* The kernels of lshfast for C and C++: hashing, shingling, sketching, banding and comparison, without Python objects.

   lshfast_import() returns a table of functions, which is valid as long as the process runs:

       const struct lshfast_kernels *lsh = lshfast_import();
       if (lsh == NULL) return NULL;                          // an exception is set
       uint64_t token = lsh->token_of_bytes(data, length, 1);

   Nothing is linked: compile with the folder that lshfast.get_include() names. lshfast.rs, beside this file, declares
   the same table for Rust. docs/reference/definitions.md specifies every value to the bit.

   What holds for all functions:
   - Ownership: the caller owns all memory. A function keeps no pointer, allocates nothing and has no state of its own.
   - Overlap: what is written overlaps nothing else, unless the comment allows it. `const` memory is only read.
   - Failure: none of them fails, raises or checks its arguments. Keep to the ranges; outside of them, the behaviour is
     undefined. Pointers are aligned for their type, and not NULL unless the comment allows it.
   - Empty input: a count of 0 is allowed where the comment says so; its items are then neither read nor written.
   - Threads: any number may call at the same time, with or without a Python thread state, also free-threaded. Scratch
     memory belongs to one call at a time.
   - The same bits come out on every processor.

   Letters: n items, k slots of a signature (1 to 65,536), tokens are 64-bit hashes of the elements of a set. A
   signature, a code or a bucket key of an empty set is all ones. (n, k) is an array of n rows of k numbers without
   gaps. */
#ifndef LSHFAST_H
#define LSHFAST_H

#include <stddef.h>
#include <stdint.h>

/* The version of the interface: it changes when a function is removed or gets another meaning. New functions are
   appended to the table, which changes only their number. */
#define LSHFAST_INTERFACE 1

struct lshfast_kernels {
    uint32_t interface_version; /* LSHFAST_INTERFACE of the lshfast that is installed */
    uint32_t functions;         /* how many functions follow */

    /* -- Tokens and shingles of texts -- */

    /* Return the token of `data`, `length` bytes, under a `seed`. data may be NULL if length is 0. */
    uint64_t (*token_of_bytes)(const uint8_t *data, size_t length, uint64_t seed);

    /* Write the tokens of `n` integers, `values`, under a `seed` to `out`, n tokens. n may be 0. */
    void (*tokens_of_numbers)(const uint64_t *values, size_t n, uint64_t seed, uint64_t *out);

    /* Return the number of 64-bit words of memory that the next two functions work in: some 80 KB, which is much for a
       stack. */
    size_t (*scratch_of_shingles)(void);

    /* Write the tokens of the shingles of `size` words, 1 to 256, of a UTF-8 `text` of `length` bytes under a `seed`
       to `out`, which has room for length / 2 + 1 tokens. Return their number, 0 where there is no word, or SIZE_MAX
       where the text is not UTF-8 or size is out of range; `out` may then be written in part. A text of fewer words
       has one shingle. text may be NULL if length is 0. `scratch` has scratch_of_shingles() words, which need not be
       prepared. */
    size_t (*word_tokens)(const uint8_t *text, size_t length, size_t size, uint64_t seed, uint64_t *scratch,
                          uint64_t *out);

    /* The same for shingles of `size` characters, 1 to 256, of a `text` of `length` bytes under a `seed`. `out` has
       room for length tokens. `scratch` and the number returned are as above. */
    size_t (*character_tokens)(const uint8_t *text, size_t length, size_t size, uint64_t seed, uint64_t *scratch,
                               uint64_t *out);

    /* -- MinHash signatures -- */

    /* Return the length of the arrays of constants for `k` slots of `classic`: k or a little more. */
    size_t (*classic_padding)(size_t k);

    /* Draw the constants of a `seed` for `k` slots to `a` and `b`, classic_padding(k) numbers each, with which any
       number of sets can be sketched. */
    void (*draw_classic)(uint64_t seed, size_t k, uint64_t *a, uint64_t *b);

    /* Write the signature of the `n` `tokens` of a set to `out`, `k` slots. `a` and `b` are those of draw_classic. n
       may be 0. */
    void (*sketch_classic)(const uint64_t *tokens, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                           uint64_t *out);

    /* Return the number of constants of rounds for `k` slots of `fast`. */
    size_t (*rounds_of_fast)(size_t k);

    /* Draw the constants of a `seed` for `k` slots: `rounds` holds rounds_of_fast(k) numbers, `slots` holds k. */
    void (*draw_fast)(uint64_t seed, size_t k, uint64_t *rounds, uint64_t *slots);

    /* Write the signature of the `n` `tokens` of a set to `out`, `k` slots. `rounds` and `slots` are those of
       draw_fast. n may be 0. */
    void (*sketch_fast)(const uint64_t *tokens, size_t n, const uint64_t *rounds, const uint64_t *slots, size_t k,
                        uint64_t *out);

    /* -- Bucket keys, and comparisons -- */

    /* Write the keys of `n` `signatures` of `k` slots, (n, k), to `out`, (n, bands): a key for each of the `bands`
       bands of `rows` slots. bands and rows are at least 1, and bands * rows is at most k. n may be 0. */
    void (*keys_of_bands)(const uint64_t *signatures, size_t n, size_t k, size_t bands, size_t rows, uint64_t *out);

    /* Return the number of equal slots of two signatures `a` and `b` of `k` slots; 0 if either is empty. They may be
       the same memory. */
    size_t (*equal_slots)(const uint64_t *a, const uint64_t *b, size_t k);

    /* Return the number of 64-bit words that a table for a set of `n` tokens needs, n at most 2^60: a power of two of
       at least 16. The content of a table need not be prepared, and means nothing afterwards. */
    size_t (*table_of_set)(size_t n);

    /* Write each different one of `n` `tokens` once to `out`, in order of first occurrence, and return their number.
       `table` has table_of_set(n) words. `out` holds n tokens, and may be `tokens`. n may be 0. */
    size_t (*distinct_tokens)(const uint64_t *tokens, size_t n, uint64_t *table, uint64_t *out);

    /* Return the exact Jaccard similarity of two sets: `a` has `n` and `b` has `m` tokens, each set without repeats,
       in any order. n and m may be 0; the similarity is 0 if both are. `table` has table_of_set(n) words. */
    double (*jaccard_of_sets)(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *table);

    /* -- SimHash codes and Hamming distance: a code has `words` words of 64 bits, 1 to 64 -- */

    /* Draw the `constants` of a `seed`, one for each of the `words`, with which any number of sets can be sketched. */
    void (*draw_simhash)(uint64_t seed, size_t words, uint64_t *constants);

    /* Write the code of the `n` `tokens` of a set, each of which counts 1, to `code`, `words` words. `constants` are
       those of draw_simhash. n may be 0. */
    void (*sketch_simhash)(const uint64_t *tokens, size_t n, const uint64_t *constants, size_t words, uint64_t *code);

    /* Write the sums from whose signs a code is made to `counters`, 64 for each of the `words` words. `n` `tokens`
       have `n` `weights`, whose absolute values add up to less than 2^63; NULL stands for ones. `constants` are as
       above. n may be 0. */
    void (*count_simhash)(const uint64_t *tokens, const int64_t *weights, size_t n, const uint64_t *constants,
                          size_t words, int64_t *counters);

    /* Return the number of bits in which the codes `a` and `b` differ, of (bits + 63) / 64 words each; `bits` is 1 to
       4,096, and bits of the last word beyond them are equal in both. bits + 1 where either is empty. They may be the
       same memory. */
    size_t (*distance_of_codes)(const uint64_t *a, const uint64_t *b, size_t bits);

    /* -- Signatures of one permutation, and of few bits a slot: `bits` is one of 1, 2, 4, 8, 16 -- */

    /* Return the constant of a `seed`, for sketch_groups. */
    uint64_t (*constant_of_groups)(uint64_t seed);

    /* Write the signature of the `n` `tokens` of a set to `out`, `k` slots, by the `constant` of a seed. Slots where
       no token fell are all ones. n may be 0. */
    void (*sketch_groups)(const uint64_t *tokens, size_t n, uint64_t constant, size_t k, uint64_t *out);

    /* Compare signature `one`, `k` slots, with each of the `n` `signatures`, (n, k). Write the numbers of slots of one
       value in both to `equal`, and those of slots that are all ones in both to `skipped`, n numbers each. `one` may
       be one of the signatures. n may be 0. */
    void (*compare_slots)(const uint64_t *one, const uint64_t *signatures, size_t n, size_t k, int32_t *equal,
                          int32_t *skipped);

    /* Return the words of a packed signature of `k` slots of `bits` bits. */
    size_t (*words_of_packed)(size_t k, unsigned bits);

    /* Pack `n` `signatures`, (n, k), of `k` slots into `bits` bits a slot: `out` is (n, words_of_packed(k, bits)). n
       may be 0. */
    void (*pack_slots)(const uint64_t *signatures, size_t n, size_t k, unsigned bits, uint64_t *out);

    /* Compare the packed signature `one`, words_of_packed(k, bits) words, with each of the `n` rows of `packed`, (n,
       words_of_packed(k, bits)), of `k` slots of `bits` bits. Write the numbers of equal slots to `equal`, n numbers;
       -1 where either set is empty. `one` may be one of the rows. n may be 0. */
    void (*compare_packed_slots)(const uint64_t *one, const uint64_t *packed, size_t n, size_t k, unsigned bits,
                                 int32_t *equal);

    /* -- Weighted sets -- */

    /* Return the natural logarithm of a finite `x` above 0, the same bits on every machine. */
    double (*log_of)(double x);

    /* Return the constant of a `seed`, for sketch_shells. */
    uint64_t (*draw_shells)(uint64_t seed);

    /* Write the signature of a set of `n` different `tokens` and their `n` `weights`, finite and above 0, to `out`,
       `k` slots, by the `constant` of a seed. n may be 0. */
    void (*sketch_shells)(const uint64_t *tokens, const double *weights, size_t n, uint64_t constant, size_t k,
                          uint64_t *out);

    /* Write the pairs (token, 1) ... (token, count) of a `token` and its `count` as tokens to `out`, count tokens.
       count may be 0. */
    void (*number_tokens)(uint64_t token, size_t count, uint64_t *out);

    /* -- Packed codes, (n, words): `n` codes of `words` words each, at least 1, the lowest bit first. n may be 0 -- */

    /* Write the bits of `codes`, (n, words), at `count` `positions`, each below 64 * words, packed: `out` is (n,
       (count + 63) / 64). `scratch` holds 64 * `words` numbers, which need not be prepared. `n` may be 0. */
    void (*sample_bits)(const uint64_t *codes, size_t n, size_t words, const uint64_t *positions, size_t count,
                        uint64_t *scratch, uint64_t *out);

    /* Write each group of `rows` bits, 1 to 63, of `codes`, (n, words), as one number: `out` is (n, bands). A code has
       at least bands * rows bits in its `words`, for `bands` groups. `n` may be 0. */
    void (*bands_of_bits)(const uint64_t *codes, size_t n, size_t words, size_t bands, size_t rows, uint64_t *out);

    /* Write the hashes of `codes`, (n, words), under `count` `masks`, (count, words): `out` is (n, count). None of
       them is all ones. `words` is that of codes and masks. `n` may be 0. */
    void (*hash_masked_bits)(const uint64_t *codes, size_t n, size_t words, const uint64_t *masks, size_t count,
                             uint64_t *out);

    /* -- Cells of vectors on random lines: `dim` and `count` are at least 1 -- */

    /* Draw `count` lines in `dim` dimensions from a `seed`: `lines` is (dim, count). */
    void (*draw_gaussian_lines)(uint64_t seed, size_t dim, size_t count, float *lines);
    void (*draw_cauchy_lines)(uint64_t seed, size_t dim, size_t count, float *lines);

    /* Draw the `offsets` of the `count` lines of a `seed`, one a line. */
    void (*offsets_of_lines)(uint64_t seed, size_t count, double *offsets);

    /* Return the number of doubles of memory that the next two functions work in, for `n` vectors and `count` lines.
       */
    size_t (*scratch_of_cells)(size_t n, size_t count);

    /* Write the values of the cells of `n` `vectors`, (n, dim), of `dim` coordinates on `count` `lines`, (dim, count),
       to `values`, (n, count). `offsets` holds `count` numbers in [0, 1); cells have the `width` given, which is
       finite and above 0. `scratch` holds scratch_of_cells(n, count) doubles, which need not be prepared. Return n, or
       the first vector that has no cell because a coordinate is NaN, infinite or too large; `values` from that vector
       on are not written. n may be 0. */
    size_t (*cells_of_floats)(const float *vectors, size_t n, size_t dim, const float *lines, const double *offsets,
                              size_t count, double width, double *scratch, uint64_t *values);
    size_t (*cells_of_doubles)(const double *vectors, size_t n, size_t dim, const float *lines, const double *offsets,
                               size_t count, double width, double *scratch, uint64_t *values);

    /* -- Numbers of distinct tokens -- */

    /* Return the constant of a `seed`, for update_registers. */
    uint64_t (*draw_registers)(uint64_t seed);

    /* Raise `registers`, 2^p bytes, zeros at first, by `n` `tokens`, with the `constant` of a seed; `p` is in 4..18. n
       may be 0. */
    void (*update_registers)(const uint64_t *tokens, size_t n, uint64_t constant, unsigned p, uint8_t *registers);

    /* Return the estimated number of the distinct tokens by which `registers`, 2^p bytes, were raised; `p` is in
       4..18. None of them is above 65 - p. */
    double (*estimate_registers)(const uint8_t *registers, unsigned p);

    /* Return the estimated number of distinct tokens in the set of a `signature` of `k` slots, here at least 3, which
       was made by sketch_classic or sketch_fast. */
    double (*estimate_classic)(const uint64_t *signature, size_t k);
    double (*estimate_fast)(const uint64_t *signature, size_t k);

    /* -- The hash values of datasketch, and codes of its forests -- */

    /* Return the first 8 bytes of the SHA-1 of `data`, `length` bytes, little-endian; the low 32 bits are the first 4
       bytes. length may be 0. */
    uint64_t (*sha1_of_bytes)(const uint8_t *data, size_t length);

    /* Lower the `k` hash values of a sketch, in place, by the `n` `hashes` of tokens: each of `values` becomes the
       least of itself and of what its function makes of the hashes. `a` and `b` are the functions' `k` multipliers and
       `k` summands. n may be 0. The values of an empty sketch are 2^32 - 1 for affine32 and legacy, and 2^64 - 1 for
       affine64. affine32 reads the low 32 bits of each hash. The multipliers of affine32 and affine64 are odd. */
    void (*lower_affine32)(const uint64_t *hashes, size_t n, const uint32_t *a, const uint32_t *b, size_t k,
                           uint32_t *values);
    void (*lower_affine64)(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                           uint64_t *values);
    void (*lower_legacy)(const uint64_t *hashes, size_t n, const uint64_t *a, const uint64_t *b, size_t k,
                         uint64_t *values);

    /* Write the codes of a `signature` of `k` slots in each of `trees` trees, 1 to k, to `out`, `trees` words. Tree t
       is over the first slots, at most 8, of the k / trees slots from t * (k / trees) on. */
    void (*codes_of_trees)(const uint64_t *signature, size_t k, size_t trees, uint64_t *out);
};

/* Without Python.h, define LSHFAST_NO_PYTHON: then the table is all that is declared. */
#ifndef LSHFAST_NO_PYTHON
#include <Python.h>

/* Import lshfast and return its table, or NULL with an exception set: an ImportError where lshfast is missing, has
   another version of the interface, or fewer functions than this header. The caller has a Python thread state. Only
   functions of the stable ABI are used. */
static inline const struct lshfast_kernels *lshfast_import(void) {
    const size_t head = offsetof(struct lshfast_kernels, token_of_bytes);
    const size_t needed = (sizeof(struct lshfast_kernels) - head) / sizeof(void *);
    const struct lshfast_kernels *table = NULL;
    PyObject *module = PyImport_ImportModule("lshfast.kernels.native");
    PyObject *capsule = module ? PyObject_GetAttrString(module, "TABLE") : NULL;
    if (capsule) table = (const struct lshfast_kernels *)PyCapsule_GetPointer(capsule, "lshfast.kernels.native.TABLE");
    Py_XDECREF(capsule); /* the table is static memory of its module, which stays loaded */
    Py_XDECREF(module);
    if (table && (table->interface_version != LSHFAST_INTERFACE || table->functions < needed)) {
        PyErr_Format(PyExc_ImportError,
                     "built for version %d of lshfast's interface with %zu functions; the installed lshfast has version "
                     "%u with %u functions: rebuild with its lshfast.h, or install a lshfast that has them",
                     LSHFAST_INTERFACE, needed, (unsigned)table->interface_version, (unsigned)table->functions);
        return NULL;
    }
    return table;
}
#endif

#endif
