/* Bytes and texts to 64-bit tokens: the first stage.
 *
 * Contract of every function: texts are given as pointers and lengths, may be NULL when the length is 0 and need no
 * padding; nothing is read outside them; nothing is allocated or kept; out must hold the stated number of tokens and
 * may not overlap the text. A text that is not UTF-8 stops the call: the offset of its first bad byte is told. */
#ifndef LSHFAST_TEXT_H
#define LSHFAST_TEXT_H

#include "cpu/cpu.h"
#include "field.h"

struct text_block; /* blocks.h */

/* The largest shingle, in words or characters: window hashes of a stretch start with this many carried over. */
#define TEXT_MAX_SHINGLE 256

/* Bytes of text that are normalised at a time: small enough that all working buffers stay in the L1/L2 cache. */
#define TEXT_STRETCH_BYTES 4096

/* What all hashes depend on: multipliers of bytes, of words and of characters, each in [1, p), and a mask of integers.
 * Drawn from a seed, the tokens are the same in every run; drawn independently of each other and kept secret, nobody who
 * writes texts can make two shingles collide (docs/understand/security.md). */
struct hash_key {
    uint64_t bytes, words, characters, integers;
};

struct token_hasher {
    uint64_t a, a2; /* the multiplier and its square mod p */
};

/* Words that alone begin a shingle: a table of their hashes with open addressing. No hash is more than `reach` places
 * behind its own, so that a lookup compares reach + 1 of them and has no branch to mispredict. */
struct text_stops {
    const uint64_t *places; /* 2^(64 - shift) + reach of them */
    unsigned shift;
    size_t reach;
};

struct shingler {
    struct token_hasher words;
    size_t size;                     /* words or characters a shingle, 1 to TEXT_MAX_SHINGLE */
    uint64_t powers[TEXT_MAX_SHINGLE + 1]; /* powers[i] = c^i (words) or e^i (characters) mod p */
    int keep_case;                   /* 0: characters are lower-cased */
    int symbols;                     /* of words only: whether other characters than white space are words as well */
    const struct text_stops *stops;  /* of words only; NULL where every word begins a shingle. The caller's, kept by it */
};

/* Bytes of a token that are two limbs at most. */
#define TEXT_SHORT_BYTES 14

/* What hash_words may read behind a word. */
#define TEXT_WORD_PADDING 16

static inline const uint8_t *text_at(uint64_t address) { return (const uint8_t *)(uintptr_t)address; }

struct text_kernels {
    /* The tokens of n strings of bytes, at addresses as a column of texts has them. */
    void (*tokens)(const struct token_hasher *hasher, const uint64_t *addresses, const int64_t *lengths, size_t n,
                   uint64_t *out);
    /* Classify and lower 64 ASCII bytes: bit i of the result says that text[i] is a letter, digit or underscore.
     * *other says which bytes are not ASCII; where it is not 0, the rest of the answer means nothing. */
    uint64_t (*classify)(const uint8_t *text, uint8_t *lower, uint64_t *other);
    /* Bit i of the result says that text[i], of 64 bytes, is white space of ASCII. */
    uint64_t (*white_space)(const uint8_t *text);
    /* Classify the characters of at most three bytes that text[0..64) begins with, and lower the ASCII ones; block->bytes
     * is 0 where there is none. NULL where such blocks are not faster than single characters. */
    void (*classify_block)(const uint8_t *text, uint8_t *lower, struct text_block *block);
    /* Write 1 more than the code points of a block whose characters have the given bytes, and return how many they are; the
     * numbers behind them, up to 64 in all, are left undefined. */
    size_t (*decode_block)(const uint8_t *bytes, const struct text_block *block, uint64_t *codes);
    /* The edges of words: where a bit of `mask` differs from the one before it (`open` before the first), and twice where
     * `breaks`, unless NULL, says that a word begins directly behind another. Writes up to 64 numbers more than it returns. */
    size_t (*edges)(const uint64_t *mask, const uint64_t *breaks, size_t bits, int open, int32_t *edges);
    /* Numbers below 2^61 + 2^31 that are H of base[edges[2 i]..edges[2 i + 1]) mod p, of words that are not empty; up to
     * TEXT_WORD_PADDING bytes behind each are readable. */
    void (*hash_words)(const struct token_hasher *hasher, const uint8_t *base, const int32_t *edges, size_t words,
                       uint64_t *hashes);
    /* The shingles of `windows` > 0 consecutive windows over windows + size - 1 word hashes, each below
     * 2^61 + 2^31. */
    void (*word_windows)(const uint64_t *hashes, size_t windows, const struct shingler *shingler, uint64_t *out);
    /* The same over code points + 1. Both may read (and not use) up to 8 numbers behind the last window. */
    void (*character_windows)(const uint64_t *codes, size_t windows, const struct shingler *shingler, uint64_t *out);
};
extern const struct text_kernels text_scalar, text_avx2, text_avx512, text_neon;
extern const struct text_kernels *const text_levels[CPU_LEVELS];

struct hash_key text_hash_key_of(uint64_t seed);

struct token_hasher text_hasher_of(uint64_t seed);
struct token_hasher text_hasher_under(const struct hash_key *key);

/* H of some bytes, below p; and their token, the mixed H. */
uint64_t text_hash_of_bytes(const struct token_hasher *hasher, const uint8_t *bytes, size_t length);
uint64_t text_token_of_bytes(const struct token_hasher *hasher, const uint8_t *bytes, size_t length);

/* The tokens of some bytes under two keys, in the time of one: each is a chain of products that wait for each other. */
void text_two_tokens_of_bytes(const struct token_hasher hashers[2], const uint8_t *bytes, size_t length, uint64_t out[2]);

void text_tokens_of_integers(const uint64_t *values, size_t n, uint64_t seed, uint64_t *out);
void text_tokens_of_integers_under(const uint64_t *values, size_t n, const struct hash_key *key, uint64_t *out);

/* size must be in 1..TEXT_MAX_SHINGLE. The shinglers lower-case; the caller may set keep_case. */
void text_shingler_of_words(struct shingler *shingler, size_t size, const struct hash_key *key);
void text_shingler_of_symbols(struct shingler *shingler, size_t size, const struct hash_key *key);
void text_shingler_of_characters(struct shingler *shingler, size_t size, const struct hash_key *key);

/* Words of text_stops at most. */
#define TEXT_MAX_STOPS 65536

/* How many places a table of n <= TEXT_MAX_STOPS words needs; and the table, from their tokens under the key of the
 * shingler. A token may be given repeatedly. The places are the caller's, and must outlive the table. */
size_t text_stops_places(size_t n);
void text_stops_of(struct text_stops *stops, uint64_t *places, const uint64_t *tokens, size_t n);

/* At most so many shingles come out of a text of so many bytes: a word takes two bytes with its separator, or three
 * bytes where it needs none. So much room is needed with stop words as well. */
static inline size_t text_most_words(size_t length) { return length / 2 + 1; }

/* Write the shingles of a text and return their number, or SIZE_MAX with *bad = offset where it is not UTF-8.
 * out: text_most_words(length) tokens for words, length tokens for symbols and characters.
 * The walk is text_walk_size() bytes of the caller's, aligned for uint64_t: some 80 KB, more than a small stack has.
 * Begin it before each text. A call goes on for about `work` > 0 bytes; TEXT_UNFINISHED: call again with the same
 * arguments. */
#define TEXT_UNFINISHED (SIZE_MAX - 1)
struct text_walk;
size_t text_walk_size(void);
void text_walk_begin(struct text_walk *walk);
size_t text_word_shingles(const struct text_kernels *kernels, const struct shingler *shingler, const uint8_t *text,
                          size_t length, struct text_walk *walk, size_t work, uint64_t *out, size_t *bad);
size_t text_character_shingles(const struct text_kernels *kernels, const struct shingler *shingler, const uint8_t *text,
                               size_t length, struct text_walk *walk, size_t work, uint64_t *out, size_t *bad);

/* Texts that begin alike are shingled alike up to a place where no word is open, so the walk of a text may begin behind it.
 * A mark is such a place of the text before, with the state of the walk there. */
struct text_mark {
    size_t at, made, held; /* bytes, 0 for no mark; shingles of them; hashes carried over */
    uint64_t hashes[TEXT_MAX_SHINGLE];
};

/* At least so many bytes are worth a mark. */
#define TEXT_LEAST_SHARED 256

/* Ask for the beginning of a text that is shingled soon, so that a comparison need not wait for it. */
void text_prefetch(const uint8_t *text, size_t length);

/* How many bytes two texts begin with in common. */
size_t text_shared(const uint8_t *a, size_t n, const uint8_t *b, size_t m);

/* The last place in text[0..shared] where words are shingled on alike, whatever follows; and the same of characters. */
size_t text_cut_words(const uint8_t *text, size_t shared);
size_t text_cut_characters(const uint8_t *text, size_t shared);

/* Mark where a walk stands that was led to such a place, by a call with it as the length of the text. */
void text_walk_mark(const struct text_walk *walk, int words, struct text_mark *mark);

/* Begin a walk at a mark; `before` holds the shingles of a text with the same bytes up to there. */
void text_walk_resume(struct text_walk *walk, int words, const struct text_mark *mark, const uint64_t *before,
                      uint64_t *out);

/* The portable tokens, words and windows, which the other levels use for the sizes that they have no faster way for. */
void text_tokens_scalar(const struct token_hasher *hasher, const uint64_t *addresses, const int64_t *lengths, size_t n,
                        uint64_t *out);
uint64_t text_white_space_scalar(const uint8_t *text);
size_t text_decode_block_scalar(const uint8_t *bytes, const struct text_block *block, uint64_t *codes);
size_t text_edges_scalar(const uint64_t *mask, const uint64_t *breaks, size_t bits, int open, int32_t *edges);
uint64_t text_long_word(const struct token_hasher *hasher, const uint8_t *word, size_t length); /* > TEXT_SHORT_BYTES */
void text_hash_words_scalar(const struct token_hasher *hasher, const uint8_t *base, const int32_t *edges, size_t words,
                            uint64_t *hashes);
void text_word_windows_scalar(const uint64_t *hashes, size_t windows, const struct shingler *shingler, uint64_t *out);
void text_character_windows_scalar(const uint64_t *codes, size_t windows, const struct shingler *shingler,
                                   uint64_t *out);

#endif
