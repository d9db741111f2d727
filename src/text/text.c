/* The portable text kernels, and the two passes that turn a text into shingles, a stretch at a time:
 * normalise (lower case unless it is kept, and a bit a byte that says "part of a word"), then hash what lies between the edges of the
 * bits. Nothing branches on single bytes in ASCII text. Other text is classified a block at a time where the CPU level
 * has that (blocks.h), and decoded character by character elsewhere. */
#include "text/text.h"

#include "text/blocks.h"
#include "text/utf8.h"

#include <string.h>

/* ---- tokens ---- */

#define LIMB_BYTES 7
#define LIMB_MASK (((uint64_t)1 << 56) - 1)

static inline uint64_t load_little_endian(const uint8_t *bytes) {
    uint64_t x;
    memcpy(&x, bytes, 8);
    return little_endian(x);
}

static inline void store_little_endian(uint8_t *bytes, uint64_t x) {
    x = little_endian(x);
    memcpy(bytes, &x, 8);
}

static inline uint64_t load_half(const uint8_t *bytes) {
    return bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 | (uint64_t)bytes[3] << 24;
}

/* A limb of 1 to 7 bytes with nothing read behind it, of parts that overlap: through memory it would wait for stores. */
static inline uint64_t load_limb(const uint8_t *bytes, size_t n) {
    if (n >= 4) return load_half(bytes) | load_half(bytes + n - 4) << 8 * (n - 4);
    return bytes[0] | (uint64_t)bytes[n / 2] << 8 * (n / 2) | (uint64_t)bytes[n - 1] << 8 * (n - 1);
}

struct hash_key text_hash_key_of(uint64_t seed) {
    struct hash_key key = {draw_multiplier(seed, DOMAIN_TOKEN, 0), draw_multiplier(seed, DOMAIN_NGRAM, 0),
                           draw_multiplier(seed, DOMAIN_CHARACTER, 0), draw(seed, DOMAIN_INTEGER, 0)};
    return key;
}

struct token_hasher text_hasher_under(const struct hash_key *key) {
    struct token_hasher hasher = {key->bytes, p61_product(key->bytes, key->bytes)};
    return hasher;
}

struct token_hasher text_hasher_of(uint64_t seed) {
    struct hash_key key = text_hash_key_of(seed);
    return text_hasher_under(&key);
}

/* One Horner step: below 2^61 + 8 for any sum below 2^62. */
static inline uint64_t add_limb(const struct token_hasher *hasher, uint64_t sum, uint64_t limb) {
    return p61_fold(wide_product(sum + limb, hasher->a));
}

/* Add the whole limbs of bytes[0..length) to sum. */
static uint64_t add_limbs(const struct token_hasher *hasher, uint64_t sum, const uint8_t *bytes, size_t length) {
    for (; length >= LIMB_BYTES; bytes += LIMB_BYTES, length -= LIMB_BYTES) {
        sum = add_limb(hasher, sum, load_limb(bytes, LIMB_BYTES));
    }
    return sum;
}

/* H of bytes whose first limbs, `before` bytes of them, are in sum already. */
static uint64_t finish_hash(const struct token_hasher *hasher, uint64_t sum, uint64_t before, const uint8_t *bytes,
                            size_t length) {
    size_t whole = length - length % LIMB_BYTES;
    sum = add_limbs(hasher, sum, bytes, whole);
    if (length > whole) sum = add_limb(hasher, sum, load_limb(bytes + whole, length - whole));
    return p61_of(sum + (before + length) % P61);
}

/* As finish_hash, in one pass: where more than a limb is left eight bytes can be read. */
uint64_t text_hash_of_bytes(const struct token_hasher *hasher, const uint8_t *bytes, size_t length) {
    uint64_t sum = 0;
    size_t left = length;
    for (; left > LIMB_BYTES; bytes += LIMB_BYTES, left -= LIMB_BYTES) {
        sum = add_limb(hasher, sum, load_little_endian(bytes) & LIMB_MASK);
    }
    if (left) sum = add_limb(hasher, sum, load_limb(bytes, left));
    return p61_of(sum + length); /* no length comes near 2^61 */
}

uint64_t text_token_of_bytes(const struct token_hasher *hasher, const uint8_t *bytes, size_t length) {
    return mix64(text_hash_of_bytes(hasher, bytes, length));
}

void text_two_tokens_of_bytes(const struct token_hasher hashers[2], const uint8_t *bytes, size_t length, uint64_t out[2]) {
    uint64_t first = 0, second = 0;
    size_t left = length;
    for (; left > LIMB_BYTES; bytes += LIMB_BYTES, left -= LIMB_BYTES) {
        uint64_t limb = load_little_endian(bytes) & LIMB_MASK;
        first = add_limb(&hashers[0], first, limb);
        second = add_limb(&hashers[1], second, limb);
    }
    if (left) {
        uint64_t limb = load_limb(bytes, left);
        first = add_limb(&hashers[0], first, limb);
        second = add_limb(&hashers[1], second, limb);
    }
    out[0] = mix64(p61_of(first + length));
    out[1] = mix64(p61_of(second + length));
}

void text_tokens_scalar(const struct token_hasher *hasher, const uint64_t *addresses, const int64_t *lengths, size_t n,
                        uint64_t *out) {
    for (size_t i = 0; i < n; i++) out[i] = text_token_of_bytes(hasher, text_at(addresses[i]), (size_t)lengths[i]);
}

void text_tokens_of_integers_under(const uint64_t *values, size_t n, const struct hash_key *key, uint64_t *out) {
    for (size_t i = 0; i < n; i++) out[i] = mix64(values[i] ^ key->integers);
}

void text_tokens_of_integers(const uint64_t *values, size_t n, uint64_t seed, uint64_t *out) {
    struct hash_key key = text_hash_key_of(seed);
    text_tokens_of_integers_under(values, n, &key, out);
}

/* ---- shinglers ---- */

static void shingler_of(struct shingler *shingler, size_t size, const struct hash_key *key, uint64_t base) {
    shingler->words = text_hasher_under(key);
    shingler->size = size;
    shingler->keep_case = 0;
    shingler->symbols = 0;
    shingler->stops = NULL;
    shingler->powers[0] = 1;
    for (size_t i = 1; i <= size; i++) shingler->powers[i] = p61_product(shingler->powers[i - 1], base);
}

void text_shingler_of_words(struct shingler *shingler, size_t size, const struct hash_key *key) {
    shingler_of(shingler, size, key, key->words);
}

void text_shingler_of_symbols(struct shingler *shingler, size_t size, const struct hash_key *key) {
    text_shingler_of_words(shingler, size, key);
    shingler->symbols = 1;
}

void text_shingler_of_characters(struct shingler *shingler, size_t size, const struct hash_key *key) {
    shingler_of(shingler, size, key, key->characters);
}

/* ---- stop words ---- */

/* The inverse of mix64. */
static inline uint64_t unmix64(uint64_t x) {
    x = (x ^ x >> 31 ^ x >> 62) * UINT64_C(0x319642B2D24D8EC3);
    x = (x ^ x >> 27 ^ x >> 54) * UINT64_C(0x96DE1B173F119089);
    return x ^ x >> 30 ^ x >> 60;
}

/* Eight places a word: few are more than one place behind their own. */
static unsigned stops_bits(size_t n) {
    unsigned bits = 4;
    while ((size_t)1 << bits < 8 * n) bits++;
    return bits;
}

static inline size_t own_place(const struct text_stops *stops, uint64_t hash) {
    return (size_t)(hash * UINT64_C(0x9E3779B97F4A7C15) >> stops->shift);
}

size_t text_stops_places(size_t n) { return ((size_t)1 << stops_bits(n)) + n; }

void text_stops_of(struct text_stops *stops, uint64_t *places, const uint64_t *tokens, size_t n) {
    const uint64_t none = UINT64_MAX; /* no hash mod p */
    size_t room = text_stops_places(n);
    stops->places = places;
    stops->shift = 64 - stops_bits(n);
    stops->reach = 0;
    for (size_t i = 0; i < room; i++) places[i] = none;
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = unmix64(tokens[i]), *own = places + own_place(stops, hash);
        size_t behind = 0;
        while (own[behind] != none && own[behind] != hash) behind++;
        own[behind] = hash;
        if (behind > stops->reach) stops->reach = behind;
    }
}

/* Of the shingles of windows over word hashes, keep those whose first word is in the table; return their number. */
static size_t keep_begun_by_stops(const struct text_stops *stops, const uint64_t *hashes, size_t windows, uint64_t *out) {
    size_t kept = 0, reach = stops->reach;
    for (size_t i = 0; i < windows; i++) {
        uint64_t hash = p61_of(hashes[i]);
        const uint64_t *own = stops->places + own_place(stops, hash);
        int found = own[0] == hash;
        for (size_t behind = 1; behind <= reach; behind++) found |= own[behind] == hash;
        out[kept] = out[i];
        kept += (size_t)found;
    }
    return kept;
}

/* ---- words ---- */

/* The longest part of an unfinished word that is carried to the next stretch as bytes; more of it goes as a sum. */
#define CARRY_BYTES 256
/* Normalised bytes of a stretch: a solo character of three bytes becomes four, a two-byte letter at most three after
 * a separator, a symbol of one byte two; a stretch ends at most 64 bytes late. */
#define NORMALISED_BYTES (2 * (TEXT_STRETCH_BYTES + 64) + 64)

struct words {
    uint8_t buffer[CARRY_BYTES + NORMALISED_BYTES +
                   TEXT_WORD_PADDING]; /* a carried word's bytes end at buffer + CARRY_BYTES, where a stretch begins */
    uint64_t mask[NORMALISED_BYTES / 64 + 2];
    uint64_t breaks[NORMALISED_BYTES / 64 + 2]; /* where words begin directly behind others */
    int broken;                                 /* whether there are breaks */
    size_t filled; /* bytes of this stretch */
    enum character_class open; /* what the word at the end is: SEPARATOR (there is none), LETTER, SOLO or SYMBOL */
    size_t carried;            /* bytes of the open word before buffer + CARRY_BYTES */
    uint64_t sum, summed;      /* the open word's limbs before these, and their bytes */
    int32_t edges[NORMALISED_BYTES + 74];
    uint64_t hashes[TEXT_MAX_SHINGLE + NORMALISED_BYTES / 2 + 8];
    size_t held; /* word hashes carried over, at most size - 1 */
};

/* Where the shingling of a text stands. */
struct text_walk {
    size_t at, held, made; /* bytes done; codes carried over; shingles written */
    union { /* for words or for characters */
        struct words words;
        uint64_t codes[TEXT_MAX_SHINGLE + TEXT_STRETCH_BYTES + 64 + 8]; /* a stretch may end a block late */
    };
};

/* Append the bits of n <= 64 bytes that stand at buffer + CARRY_BYTES + filled. */
static inline void append_bits(struct words *words, uint64_t bits, size_t n) {
    size_t word = words->filled >> 6, shift = words->filled & 63;
    words->mask[word] |= bits << shift;
    words->mask[word + 1] = shift ? bits >> (64 - shift) : 0;
    words->filled += n;
}

static inline void append_breaks(struct words *words, uint64_t bits) {
    size_t word = words->filled >> 6, shift = words->filled & 63;
    words->breaks[word] |= bits << shift;
    if (shift) words->breaks[word + 1] |= bits >> (64 - shift);
    words->broken |= bits != 0;
}

static inline void append_separator(struct words *words) {
    words->buffer[CARRY_BYTES + words->filled] = ' ';
    append_bits(words, 0, 1);
}

static inline void append_character(struct words *words, uint32_t code, const struct shingler *shingler) {
    size_t property = unicode_property(code);
    enum character_class class = (enum character_class)unicode_class[property];
    const int in_word = words->open == LETTER || words->open == SOLO;
    if (class == SEPARATOR || (class == MARK && !in_word)) {
        if (!shingler->symbols || is_white_space(code)) {
            if (words->open != SEPARATOR) append_separator(words);
            words->open = SEPARATOR;
            return;
        }
        class = SYMBOL;
    }
    if ((class >= SOLO && words->open != SEPARATOR) || (class == LETTER && words->open >= SOLO)) {
        append_separator(words);
    }
    if (class != MARK) words->open = class;
    if (!shingler->keep_case) code += (uint32_t)unicode_delta[property];
    size_t n = utf8_encode(code, words->buffer + CARRY_BYTES + words->filled);
    append_bits(words, ((uint64_t)1 << n) - 1, n);
}

/* Append a classified block whose lower case stands at buffer + CARRY_BYTES + filled; return its bytes. */
static inline size_t append_block(const struct text_kernels *kernels, struct words *words, struct text_block *block,
                                  const uint8_t *text, const struct shingler *shingler) {
    uint8_t *lower = words->buffer + CARRY_BYTES + words->filled;
    look_up_mixed(block, text);
    if (shingler->keep_case) memcpy(lower, text, 64);
    else lower_block(block, text, lower);
    if (!block->bytes) return 0;
    struct text_word_bits bits = words_of_block(block, words->open);
    if (shingler->symbols) add_symbols(&bits, block, text, words->open, kernels->white_space(text));
    words->open = bits.open;
    append_breaks(words, bits.breaks);
    append_bits(words, bits.inside, block->bytes);
    return block->bytes;
}

/* Append n > 0 ASCII bytes in lower case at buffer + CARRY_BYTES + filled, of which `letters` are parts of words. */
static inline void append_ascii_symbols(struct words *words, uint64_t letters, uint64_t white_space, size_t n) {
    uint64_t inside = ~white_space & lowest_bits(n), symbols = inside & ~letters;
    uint64_t behind_other = symbols << 1 | (words->open >= SOLO), behind = inside << 1 | (words->open != SEPARATOR);
    append_breaks(words, (symbols & behind) | (letters & behind_other));
    append_bits(words, inside, n);
    const uint64_t last = (uint64_t)1 << (n - 1);
    words->open = letters & last ? LETTER : symbols & last ? SYMBOL : SEPARATOR;
}

/* How far ahead of the walk text is asked for: 8 % of the time for 9-grams, 10 % for words. */
#define PREFETCHED_BYTES 1024

/* Normalise from text[at] until a stretch is done. Returns where it stopped, or SIZE_MAX with *bad set. */
static size_t normalise(const struct text_kernels *kernels, struct words *words, const uint8_t *text, size_t length,
                        size_t at, const struct shingler *shingler, size_t *bad) {
    size_t stop = length - at < TEXT_STRETCH_BYTES ? length : at + TEXT_STRETCH_BYTES;
    words->filled = 0;
    words->mask[0] = 0;
    words->broken = 0;
    memset(words->breaks, 0, sizeof words->breaks);
    while (at < stop) {
        uint8_t padded[64];
        const uint8_t *block = text + at;
        size_t n = length - at < 64 ? length - at : 64;
        if (n < 64) {
            memset(padded, 0, sizeof padded);
            memcpy(padded, block, n);
            block = padded;
        }
        prefetch_behind(text + at, PREFETCHED_BYTES);
        uint64_t other, bits = kernels->classify(block, words->buffer + CARRY_BYTES + words->filled, &other);
        if (!other) {
            if (shingler->symbols) {
                if (shingler->keep_case) memcpy(words->buffer + CARRY_BYTES + words->filled, block, 64);
                append_ascii_symbols(words, bits, kernels->white_space(block), n);
                at += n;
                continue;
            }
            if (words->open == SOLO && (bits & 1)) {
                append_separator(words);
                bits = kernels->classify(block, words->buffer + CARRY_BYTES + words->filled, &other);
            }
            if (shingler->keep_case) memcpy(words->buffer + CARRY_BYTES + words->filled, block, 64);
            words->open = bits >> (n - 1) & 1 ? LETTER : SEPARATOR;
            append_bits(words, bits, n);
            at += n;
            continue;
        }
        size_t end = at + n;
        if (kernels->classify_block) {
            struct text_block found;
            kernels->classify_block(block, words->buffer + CARRY_BYTES + words->filled, &found);
            if (found.bytes > n) found.bytes = n;
            at += append_block(kernels, words, &found, block, shingler);
            if (found.bytes) continue;
            end = at + 1;
        }
        while (at < end || (at < stop && text[at] >= 0xF0)) {
            uint32_t code;
            size_t taken = utf8_decode(text + at, length - at, &code);
            if (taken == 0) {
                *bad = at;
                return SIZE_MAX;
            }
            append_character(words, code, shingler);
            at += taken;
        }
    }
    return at;
}

size_t text_edges_scalar(const uint64_t *mask, const uint64_t *breaks, size_t bits, int open, int32_t *edges) {
    size_t count = 0;
    uint64_t before = (uint64_t)open;
    for (size_t word = 0; word * 64 < bits; word++) {
        uint64_t changes = mask[word] ^ (mask[word] << 1 | before), twice = breaks ? breaks[word] : 0;
        before = mask[word] >> 63;
        changes = (changes | twice) & lowest_bits(bits - word * 64);
        for (int32_t base = (int32_t)(word * 64); changes; changes &= changes - 1) {
            unsigned bit = lowest_bit(changes);
            edges[count] = edges[count + 1] = base + (int32_t)bit;
            count += 1 + (twice >> bit & 1);
        }
    }
    return count;
}

/* H of a word of more than TEXT_SHORT_BYTES; up to four limbs without a loop, whose end would be mispredicted. */
uint64_t text_long_word(const struct token_hasher *hasher, const uint8_t *word, size_t length) {
    if (length > 4 * LIMB_BYTES) return finish_hash(hasher, 0, 0, word, length);
    uint64_t mask = ((uint64_t)1 << 8 * ((length - 1) % LIMB_BYTES + 1)) - 1; /* of the last limb */
    wide first = wide_product(load_little_endian(word) & LIMB_MASK, hasher->a2);
    wide second = wide_product(load_little_endian(word + LIMB_BYTES) & LIMB_MASK, hasher->a);
    uint64_t sum = p61_fold(wide_add(first, second));
    int four = length > 3 * LIMB_BYTES;
    sum = add_limb(hasher, sum, load_little_endian(word + 2 * LIMB_BYTES) & (four ? LIMB_MASK : mask));
    uint64_t longer = add_limb(hasher, sum, load_little_endian(word + 3 * LIMB_BYTES) & mask);
    return (four ? longer : sum) + length;
}

/* Most words have at most 14 bytes: both limbs are loaded (the buffer is padded) and masked, and the two products added
 * without a branch on the length. */
void text_hash_words_scalar(const struct token_hasher *hasher, const uint8_t *base, const int32_t *edges, size_t words,
                            uint64_t *hashes) {
    uint64_t first_mask[15], second_mask[15], first_multiplier[15];
    for (unsigned n = 0; n < 15; n++) {
        first_mask[n] = n < LIMB_BYTES ? ((uint64_t)1 << 8 * n) - 1 : LIMB_MASK;
        second_mask[n] = n < LIMB_BYTES ? 0 : ((uint64_t)1 << 8 * (n - LIMB_BYTES)) - 1;
        first_multiplier[n] = n <= LIMB_BYTES ? hasher->a : hasher->a2;
    }
    for (size_t i = 0; i < words; i++) {
        const uint8_t *word = base + edges[2 * i];
        size_t n = (size_t)(edges[2 * i + 1] - edges[2 * i]);
        if (n > 2 * LIMB_BYTES) {
            hashes[i] = text_long_word(hasher, word, n);
            continue;
        }
        wide first = wide_product(load_little_endian(word) & first_mask[n], first_multiplier[n]);
        wide second = wide_product(load_little_endian(word + LIMB_BYTES) & second_mask[n], hasher->a);
        hashes[i] = p61_fold(wide_add(first, second)) + n;
    }
}

/* windows shingles of `size` consecutive hashes below 2^62, each a sum of products with no chain between them. */
static inline void sum_windows(const uint64_t *hashes, size_t windows, size_t size, const uint64_t *powers,
                               uint64_t *out) {
    for (size_t i = 0; i < windows; i++) {
        wide sum = wide_of(hashes[i + size - 1]);
        for (size_t j = 1; j < size; j++) {
            sum = wide_add(sum, wide_product(hashes[i + size - 1 - j], powers[j]));
        }
        out[i] = mix64(p61_of_wide(sum));
    }
}

static uint64_t horner(const uint64_t *hashes, size_t n, uint64_t multiplier) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum = p61_of_wide(wide_add(wide_product(sum, multiplier), wide_of(hashes[i])));
    return sum;
}

/* Long shingles roll: take the oldest hash out, multiply, add the newest. */
static void roll_windows(const uint64_t *hashes, size_t windows, size_t size, const uint64_t *powers, uint64_t *out) {
    uint64_t out_multiplier = P61 - powers[size], sum = horner(hashes, size, powers[1]);
    for (size_t i = 0;; i++) {
        out[i] = mix64(sum);
        if (i + 1 == windows) return;
        wide next = wide_add(wide_product(sum, powers[1]), wide_product(hashes[i], out_multiplier));
        sum = p61_of_wide(wide_add(next, wide_of(hashes[i + size])));
    }
}

void text_word_windows_scalar(const uint64_t *hashes, size_t windows, const struct shingler *shingler, uint64_t *out) {
    const uint64_t *powers = shingler->powers;
    switch (shingler->size) { /* constants, so that the inner loop is unrolled */
    case 1: sum_windows(hashes, windows, 1, powers, out); return;
    case 2: sum_windows(hashes, windows, 2, powers, out); return;
    case 3: sum_windows(hashes, windows, 3, powers, out); return;
    case 4: sum_windows(hashes, windows, 4, powers, out); return;
    case 5: sum_windows(hashes, windows, 5, powers, out); return;
    case 6: sum_windows(hashes, windows, 6, powers, out); return;
    case 7: sum_windows(hashes, windows, 7, powers, out); return;
    case 8: sum_windows(hashes, windows, 8, powers, out); return;
    default: roll_windows(hashes, windows, shingler->size, powers, out);
    }
}

/* Put the open word, which begins at `start` of the stretch, before the place where the next stretch begins. */
static void carry_word(const struct token_hasher *hasher, struct words *words, int32_t start) {
    uint8_t *word = words->buffer + CARRY_BYTES + start;
    size_t n = (size_t)((int32_t)words->filled - start);
    if (n > CARRY_BYTES - LIMB_BYTES) {
        size_t whole = n - n % LIMB_BYTES;
        words->sum = add_limbs(hasher, words->sum, word, whole);
        words->summed += whole;
        word += whole;
        n -= whole;
    }
    memmove(words->buffer + CARRY_BYTES - n, word, n);
    words->carried = n;
}

/* Shingle from walk->at to `end` or some bytes beyond; 0 with *bad set where the text is not UTF-8. As a part of its only
 * caller, GCC 12 makes it 3 % slower for text that is not ASCII. */
NOT_INLINED static int walk_words(const struct text_kernels *kernels, const struct shingler *shingler,
                                  const uint8_t *text, size_t length, struct text_walk *walk, size_t end,
                                  uint64_t *out, size_t *bad) {
    struct words *words = &walk->words;
    size_t at = walk->at, size = shingler->size, made = walk->made;
    while (at < end) {
        int open = words->open != SEPARATOR;
        at = normalise(kernels, words, text, length, at, shingler, bad);
        if (at == SIZE_MAX) return 0;
        if (at == length && words->open != SEPARATOR) {
            append_separator(words);
            words->open = SEPARATOR; /* a walk that was led to a mark goes on behind it */
        }

        size_t edges = 0;
        if (open) words->edges[edges++] = -(int32_t)words->carried;
        const uint64_t *breaks = words->broken ? words->breaks : NULL;
        edges += kernels->edges(words->mask, breaks, words->filled, open, words->edges + edges);
        size_t pairs = edges / 2;
        uint64_t *hashes = words->hashes + words->held;
        kernels->hash_words(&shingler->words, words->buffer + CARRY_BYTES, words->edges, pairs, hashes);
        if (open && words->summed && pairs) { /* the first word began long before */
            size_t n = (size_t)(words->edges[1] - words->edges[0]);
            const uint8_t *rest = words->buffer + CARRY_BYTES - words->carried;
            hashes[0] = finish_hash(&shingler->words, words->sum, words->summed, rest, n);
        }
        if (pairs) words->sum = words->summed = 0;
        if (edges % 2) carry_word(&shingler->words, words, words->edges[edges - 1]);

        size_t total = words->held + pairs;
        if (total >= size) {
            size_t windows = total - size + 1;
            kernels->word_windows(words->hashes, windows, shingler, out + made);
            made += shingler->stops ? keep_begun_by_stops(shingler->stops, words->hashes, windows, out + made) : windows;
            words->held = size - 1;
            memmove(words->hashes, words->hashes + windows, words->held * sizeof *words->hashes);
        } else {
            words->held = total;
        }
    }
    walk->at = at;
    walk->made = made;
    return 1;
}

/* ---- characters ---- */

/* The same rolling sum over characters, four stretches of the text side by side: each step waits for the reduction
 * before it, and four independent chains hide that. */
void text_character_windows_scalar(const uint64_t *codes, size_t windows, const struct shingler *shingler,
                                   uint64_t *out) {
    enum { LANES = 4 };
    const size_t size = shingler->size, lane = windows / LANES;
    if (lane < size) {
        roll_windows(codes, windows, size, shingler->powers, out);
        return;
    }
    const uint64_t multiplier = shingler->powers[1], out_multiplier = P61 - shingler->powers[size];
    uint64_t sum[LANES];
    for (size_t l = 0; l < LANES; l++) sum[l] = horner(codes + l * lane, size, multiplier);
    for (size_t i = 0; i < lane; i++) {
        for (size_t l = 0; l < LANES; l++) {
            const uint64_t *window = codes + l * lane + i;
            uint64_t value = sum[l] >= P61 ? sum[l] - P61 : sum[l];
            out[l * lane + i] = mix64(value);
            wide next = wide_add(wide_product(sum[l], multiplier), wide_product(window[0], out_multiplier));
            sum[l] = p61_fold(wide_add(next, wide_of(window[size])));
        }
    }
    if (LANES * lane < windows) {
        roll_windows(codes + LANES * lane, windows - LANES * lane, size, shingler->powers, out + LANES * lane);
    }
}

size_t text_decode_block_scalar(const uint8_t *bytes, const struct text_block *block, uint64_t *codes) {
    if (!(block->two | block->three)) {
        for (size_t i = 0; i < 64; i++) codes[i] = (uint64_t)bytes[i] + 1;
        return block->bytes;
    }
    size_t count = 0;
    for (size_t at = 0; at < block->bytes; count++) {
        uint32_t code = 0;
        at += utf8_decode(bytes + at, block->bytes - at, &code);
        codes[count] = (uint64_t)code + 1;
    }
    return count;
}

static int walk_characters(const struct text_kernels *kernels, const struct shingler *shingler, const uint8_t *text,
                           size_t length, struct text_walk *walk, size_t end, uint64_t *out, size_t *bad) {
    uint64_t *codes = walk->codes;
    size_t at = walk->at, held = walk->held, made = walk->made, size = shingler->size;
    const int keep_case = shingler->keep_case;
    while (at < end) {
        size_t total = held, stop = held + TEXT_STRETCH_BYTES;
        while (at < length && total < stop) {
            uint8_t padded[64], lower[64];
            const uint8_t *bytes = text + at;
            size_t n = length - at < 64 ? length - at : 64, taken = 0;
            if (n < 64) {
                memset(padded, 0, sizeof padded);
                memcpy(padded, bytes, n);
                bytes = padded;
            }
            struct text_block block = {.bytes = n};
            uint64_t other;
            prefetch_behind(text + at, PREFETCHED_BYTES);
            (void)kernels->classify(bytes, lower, &other);
            if (!other) {
                taken = n;
            } else if (kernels->classify_block) {
                kernels->classify_block(bytes, lower, &block);
                if (block.bytes > n) block.bytes = n;
                look_up_mixed(&block, bytes);
                if (!keep_case) lower_block(&block, bytes, lower);
                taken = block.bytes;
            }
            if (taken) {
                total += kernels->decode_block(keep_case ? bytes : lower, &block, codes + total);
                at += taken;
                continue;
            }
            for (size_t edge = at + (kernels->classify_block ? 1 : n); at < edge && total < stop;) {
                uint32_t code;
                taken = utf8_decode(text + at, length - at, &code);
                if (taken == 0) {
                    *bad = at;
                    return 0;
                }
                codes[total++] = (uint64_t)(keep_case ? code : unicode_lower(code)) + 1;
                at += taken;
            }
        }
        held = total;
        if (total >= size) {
            size_t windows = total - size + 1;
            kernels->character_windows(codes, windows, shingler, out + made);
            made += windows;
            held = size - 1;
            memmove(codes, codes + windows, held * sizeof *codes);
        }
    }
    walk->at = at;
    walk->held = held;
    walk->made = made;
    return 1;
}

/* ---- whole texts ---- */

size_t text_walk_size(void) { return sizeof(struct text_walk); }

void text_walk_begin(struct text_walk *walk) {
    walk->at = walk->held = walk->made = 0;
    walk->words.open = SEPARATOR;
    walk->words.carried = walk->words.held = 0;
    walk->words.sum = walk->words.summed = 0;
}

void text_prefetch(const uint8_t *text, size_t length) {
    size_t end = length < TEXT_STRETCH_BYTES ? length : TEXT_STRETCH_BYTES;
    for (size_t at = 0; at < end; at += 64) prefetch(text + at);
}

size_t text_shared(const uint8_t *a, size_t n, const uint8_t *b, size_t m) {
    size_t most = n < m ? n : m, i = 0;
    while (most - i >= 512 && memcmp(a + i, b + i, 512) == 0) i += 512;
    while (most - i >= 64 && memcmp(a + i, b + i, 64) == 0) i += 64;
    while (most - i >= 8 && memcmp(a + i, b + i, 8) == 0) i += 8;
    while (i < most && a[i] == b[i]) i++;
    return i;
}

static inline int is_word_byte(uint8_t byte) {
    return byte >= 0x80 || byte == '_' || (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

size_t text_cut_words(const uint8_t *text, size_t shared) {
    while (shared && is_word_byte(text[shared - 1])) shared--;
    return shared;
}

/* A character may be cut off at the end of what is shared: leave out the last one. */
size_t text_cut_characters(const uint8_t *text, size_t shared) {
    while (shared && (text[shared - 1] & 0xC0) == 0x80) shared--;
    return shared && text[shared - 1] >= 0x80 ? shared - 1 : shared;
}

void text_walk_mark(const struct text_walk *walk, int words, struct text_mark *mark) {
    mark->at = walk->at;
    mark->made = walk->made;
    mark->held = words ? walk->words.held : walk->held;
    memcpy(mark->hashes, words ? walk->words.hashes : walk->codes, mark->held * sizeof *mark->hashes);
}

void text_walk_resume(struct text_walk *walk, int words, const struct text_mark *mark, const uint64_t *before,
                      uint64_t *out) {
    text_walk_begin(walk);
    walk->at = mark->at;
    walk->made = mark->made;
    memcpy(out, before, mark->made * sizeof *out);
    *(words ? &walk->words.held : &walk->held) = mark->held;
    memcpy(words ? walk->words.hashes : walk->codes, mark->hashes, mark->held * sizeof *mark->hashes);
}

/* What a text of fewer words or characters than a shingle has is one shingle, but none with stop words. */
static size_t walk_end(const struct text_walk *walk, const struct shingler *shingler, const uint64_t *hashes, size_t held,
                       uint64_t *out) {
    if (walk->made || !held || shingler->stops) return walk->made;
    out[0] = mix64(horner(hashes, held, shingler->powers[1]));
    return 1;
}

size_t text_word_shingles(const struct text_kernels *kernels, const struct shingler *shingler, const uint8_t *text,
                          size_t length, struct text_walk *walk, size_t work, uint64_t *out, size_t *bad) {
    size_t end = length - walk->at < work ? length : walk->at + work;
    if (!walk_words(kernels, shingler, text, length, walk, end, out, bad)) return SIZE_MAX;
    return walk->at < length ? TEXT_UNFINISHED : walk_end(walk, shingler, walk->words.hashes, walk->words.held, out);
}

size_t text_character_shingles(const struct text_kernels *kernels, const struct shingler *shingler, const uint8_t *text,
                               size_t length, struct text_walk *walk, size_t work, uint64_t *out, size_t *bad) {
    size_t end = length - walk->at < work ? length : walk->at + work;
    if (!walk_characters(kernels, shingler, text, length, walk, end, out, bad)) return SIZE_MAX;
    return walk->at < length ? TEXT_UNFINISHED : walk_end(walk, shingler, walk->codes, walk->held, out);
}

/* ---- the portable level ---- */

/* Eight ASCII bytes in a word: adding 0x80 - low carries into a byte's top bit where the byte is at least low. */
#define EIGHT(byte) (UINT64_C(0x0101010101010101) * (uint64_t)(byte))

static inline uint64_t in_range(uint64_t bytes, unsigned low, unsigned high) {
    return (bytes + EIGHT(0x80 - low)) & ~(bytes + EIGHT(0x7F - high)) & EIGHT(0x80);
}

/* The top bits of the eight bytes, the first one lowest: each product bit lands in a place of its own. */
static inline uint64_t top_bits(uint64_t bytes) {
    return ((bytes >> 7 & EIGHT(1)) * UINT64_C(0x0102040810204080)) >> 56;
}

uint64_t text_white_space_scalar(const uint8_t *text) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64; i += 8) {
        uint64_t bytes = load_little_endian(text + i), ascii = bytes & EIGHT(0x7F);
        uint64_t white = in_range(ascii, '\t', '\r') | in_range(ascii, ' ', ' ');
        bits |= top_bits(white & ~bytes) << i;
    }
    return bits;
}

static uint64_t classify(const uint8_t *text, uint8_t *lower, uint64_t *other) {
    uint64_t bits = 0, high = 0;
    for (unsigned i = 0; i < 64; i += 8) {
        uint64_t bytes = load_little_endian(text + i), small = bytes | in_range(bytes, 'A', 'Z') >> 2;
        uint64_t part = in_range(small, 'a', 'z') | in_range(bytes, '0', '9') | in_range(bytes, '_', '_');
        store_little_endian(lower + i, small);
        bits |= top_bits(part) << i;
        high |= top_bits(bytes) << i;
    }
    *other = high;
    return bits;
}

const struct text_kernels text_scalar = {
    text_tokens_scalar, classify,           text_white_space_scalar, NULL, text_decode_block_scalar,
    text_edges_scalar,  text_hash_words_scalar, text_word_windows_scalar, text_character_windows_scalar};

const struct text_kernels *const text_levels[CPU_LEVELS] =
    CPU_TABLE(&text_scalar, &text_avx2, &text_avx512, &text_neon);
