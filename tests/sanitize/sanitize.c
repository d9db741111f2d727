/* Every C function of the headers of src/ on random and edge inputs, in heap buffers of exactly the size that its contract states,
 * so that the address sanitizer sees each byte read or written beside them. Every CPU level must equal the scalar one,
 * and what is easy to compute another way is. Prints a digest of all results, which no compiler may change. */
#include "bands/bands.h"
#include "cpu/cpu.h"
#include "field.h"
#include "rows.h"
#include "sets/sets.h"
#include "sketch/sketch.h"
#include "slots/slots.h"
#include "text/blocks.h"
#include "text/samples.h"
#include "text/text.h"
#include "text/utf8.h"
#include "sanitize_kit.h"

static uint64_t *tokens_of(size_t n) {
    uint64_t *tokens = numbers(n);
    for (size_t i = 0; i < n; i++) tokens[i] = i && below(8) == 0 ? tokens[below(i)] : edge_or_random();
    return tokens;
}

/* ---- field.h ---- */

static uint64_t slow_remainder(uint64_t high, uint64_t low) {
    uint64_t remainder = 0;
    for (int bit = 127; bit >= 0; bit--) {
        uint64_t next = bit >= 64 ? high >> (bit - 64) & 1 : low >> bit & 1;
        remainder = 2 * remainder + next;
        if (remainder >= P61) remainder -= P61;
    }
    return remainder;
}

static uint64_t slow_product(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    for (a %= P61, b %= P61; b; b >>= 1, a = a * 2 % P61) {
        if (b & 1) sum = (sum + a) % P61;
    }
    return sum;
}

static void check_field(void) {
    for EACH_ROUND(round, 40000) {
        uint64_t a = edge_or_random(), b = edge_or_random(), c = edge_or_random();
        wide w = wide_add(wide_product(a, b), wide_of(c));
        uint64_t high = wide_high(w), low = wide_low(w);
        CHECK(p61_of(a) == a % P61);
        CHECK(wide_low(wide_product(a, b)) == a * b);
        CHECK(p61_of_wide(w) == slow_remainder(high, low));
        CHECK(p61_of_wide(w) == (slow_product(a, b) + c % P61) % P61);
        CHECK(p61_product(a, b) == slow_product(a, b));
        if (high >> 60 == 0) {
            uint64_t folded = p61_fold(w);
            CHECK(folded < P61 + 9 && folded % P61 == slow_remainder(high, low));
        }
        uint64_t multiplier = draw_multiplier(a, (enum domain)(1 + below(8)), b);
        CHECK(multiplier >= 1 && multiplier < P61);
        note(p61_of_wide(w));
        note(multiplier);
    }
}

/* ---- utf8.h ---- */

/* Whatever is accepted must be what encoding its code point gives, and every code point must be accepted. */
static void check_decoded(const uint8_t *text, size_t left) {
    uint32_t code = 0;
    uint8_t again[4];
    size_t n = utf8_decode(text, left, &code);
    if (n == 0) return;
    CHECK(n <= left && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF));
    CHECK(utf8_encode(code, again) == n && memcmp(again, text, n) == 0);
}

static void check_utf8(void) {
    uint8_t *exact[5];
    for (size_t n = 1; n <= 4; n++) exact[n] = buffer(n);
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        uint8_t bytes[4];
        uint32_t found = UINT32_MAX;
        size_t n = utf8_encode(code, bytes);
        for (size_t left = 1; left <= n; left++) {
            memcpy(exact[left], bytes, left);
            size_t taken = utf8_decode(exact[left], left, &found);
            int surrogate = code >= 0xD800 && code <= 0xDFFF;
            CHECK(taken == (left == n && !surrogate ? n : 0));
            CHECK(taken == 0 || found == code);
        }
        CHECK(unicode_class[unicode_property(code)] <= SOLO);
        CHECK(unicode_lower(code) <= 0x10FFFF && unicode_lower(unicode_lower(code)) == unicode_lower(code));
        note((uint64_t)unicode_class[unicode_property(code)] << 32 | unicode_lower(code));
    }
    for (unsigned first = 0; first < 256; first++) {
        exact[1][0] = exact[2][0] = exact[3][0] = exact[4][0] = (uint8_t)first;
        check_decoded(exact[1], 1);
        for (unsigned rest = 0; rest < 65536; rest++) {
            exact[2][1] = exact[3][1] = exact[4][1] = (uint8_t)(rest >> 8);
            exact[3][2] = exact[4][2] = (uint8_t)rest;
            if (rest % 256 == 0) check_decoded(exact[2], 2);
            check_decoded(exact[3], 3);
            for (unsigned last = 0x7F; last < 0x100 && first >= 0xE0; last += last == 0x80 ? 0x3F : 1) {
                exact[4][3] = (uint8_t)last; /* 7F, 80, BF, C0 and on */
                check_decoded(exact[4], 4);
                if (last > 0xC0) break;
            }
        }
    }
    for (size_t n = 1; n <= 4; n++) free(exact[n]);
}

/* ---- text.h ---- */

static void check_classify(void) {
    for EACH_ROUND(round, 4000) {
        uint8_t *text = buffer(64), *lower = buffer(64), *expected = buffer(64);
        for (size_t i = 0; i < 64; i++) text[i] = (uint8_t)(round < 256 ? round + i : below(round % 2 ? 128 : 256));
        uint64_t other, bits = text_scalar.classify(text, expected, &other);
        for (size_t i = 0; i < 64; i++) CHECK((other >> i & 1) == (text[i] >> 7));
        if (!other) note(bits);
        for EACH_LEVEL(level) {
            uint64_t found_other, found = text_levels[level]->classify(text, lower, &found_other);
            CHECK(found_other == other);
            CHECK(other || (found == bits && memcmp(lower, expected, 64) == 0));
        }
        free(text);
        free(lower);
        free(expected);
    }
}

/* Two tokens in one pass are those of two passes. */
static void check_two_tokens(void) {
    const struct token_hasher hashers[2] = {text_hasher_of(7), text_hasher_of(8)};
    for (size_t n = 0; n < 70; n++) {
        uint8_t *bytes = buffer(n);
        uint64_t out[2];
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)anything();
        text_two_tokens_of_bytes(hashers, bytes, n, out);
        CHECK(out[0] == text_token_of_bytes(&hashers[0], bytes, n));
        CHECK(out[1] == text_token_of_bytes(&hashers[1], bytes, n));
        free(bytes);
    }
}

static void check_tokens(void) {
    for EACH_ROUND(round, 600) {
        size_t n = round < 300 ? round : below(20000), shift = below(16);
        struct token_hasher hasher = text_hasher_of(edge_or_random());
        CHECK(hasher.a2 == slow_product(hasher.a, hasher.a));
        uint8_t *bytes = buffer(n + shift);
        for (size_t i = 0; i < n + shift; i++) bytes[i] = (uint8_t)(round % 3 ? anything() : 255);
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i += 7) {
            uint64_t limb = 0;
            for (size_t j = i; j < n && j < i + 7; j++) limb |= (uint64_t)bytes[shift + j] << 8 * (j - i);
            sum = p61_product((sum + limb) % P61, hasher.a);
        }
        uint64_t token = text_token_of_bytes(&hasher, bytes + shift, n);
        CHECK(token == mix64((sum + n) % P61));
        note(token);
        free(bytes);
    }
    struct token_hasher hasher = text_hasher_of(1);
    CHECK(text_token_of_bytes(&hasher, NULL, 0) == 0);
    check_two_tokens();
    for (size_t n = 0; n < 40; n++) {
        uint64_t *values = tokens_of(n), *out = numbers(n);
        text_tokens_of_integers(n ? values : NULL, n, n, n ? out : NULL);
        for (size_t i = 0; i < n; i++) CHECK(out[i] == mix64(values[i] ^ draw(n, DOMAIN_INTEGER, 0)));
        note_all(out, n);
        free(values);
        free(out);
    }
}

/* Batches of strings, each in memory of its own length: nothing behind one may be read. */
static void check_batches_of_tokens(void) {
    enum { MOST = 200 };
    static const size_t LONGEST[] = {15, 60, 15, 15, 60, 300, 15, 2000};
    for EACH_ROUND(round, 400) {
        size_t n = round < MOST ? round : below(MOST), longest = LONGEST[round % COUNT(LONGEST)];
        struct token_hasher hasher = text_hasher_of(edge_or_random());
        uint8_t *strings[MOST];
        uint64_t addresses[MOST];
        int64_t lengths[MOST];
        for (size_t i = 0; i < n; i++) {
            size_t length = below(longest + 1);
            strings[i] = length ? buffer(length) : NULL;
            for (size_t j = 0; j < length; j++) strings[i][j] = (uint8_t)(round % 3 ? anything() : 255);
            addresses[i] = (uint64_t)(uintptr_t)strings[i], lengths[i] = (int64_t)length;
        }
        for EACH_LEVEL(level) {
            uint64_t *out = numbers(n);
            text_levels[level]->tokens(&hasher, addresses, lengths, n, out);
            for (size_t i = 0; i < n; i++) {
                CHECK(out[i] == text_token_of_bytes(&hasher, strings[i], (size_t)lengths[i]));
            }
            if (level == CPU_SCALAR) note_all(out, n);
            free(out);
        }
        for (size_t i = 0; i < n; i++) free(strings[i]);
    }
}

static size_t some_size(void) {
    static const size_t SIZES[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,   10,
                                   15, 16, 17, 18, 31, 32, 33, 100, 255, TEXT_MAX_SHINGLE};
    return SIZES[below(COUNT(SIZES))];
}

/* Windows read up to eight numbers behind the last one: these are there, and as large as they can be. */
static void check_windows(void) {
    for EACH_ROUND(round, 3000) {
        int words = round % 2;
        size_t size = some_size(), windows = 1 + below(round % 50 ? 40 : 5000), n = windows + size - 1;
        uint64_t base, seed = anything(), *in = numbers(n + 8), *expected = numbers(windows), *out = numbers(windows);
        struct shingler *shingler = buffer(sizeof *shingler);
        struct hash_key key = text_hash_key_of(seed);
        if (words) text_shingler_of_words(shingler, size, &key);
        else text_shingler_of_characters(shingler, size, &key);
        base = draw_multiplier(seed, words ? DOMAIN_NGRAM : DOMAIN_CHARACTER, 0);
        const uint64_t most = words ? (UINT64_C(1) << 61) + (UINT64_C(1) << 31) - 1 : 0x110000;
        for (size_t i = 0; i < n; i++) in[i] = round % 5 == 0 ? most : words ? anything() >> 3 : 1 + below(0x110000);
        memset(in + n, 0xFF, 8 * sizeof *in);
        for (size_t i = 0; i < windows; i++) {
            uint64_t sum = 0;
            for (size_t j = 0; j < size; j++) sum = (p61_product(sum, base) + in[i + j] % P61) % P61;
            expected[i] = mix64(sum);
        }
        note_all(expected, windows);
        for EACH_LEVEL(level) {
            const struct text_kernels *kernels = text_levels[level];
            memset(out, 0, windows * sizeof *out);
            (words ? kernels->word_windows : kernels->character_windows)(in, windows, shingler, out);
            CHECK(memcmp(out, expected, windows * sizeof *out) == 0);
        }
        (words ? text_word_windows_scalar : text_character_windows_scalar)(in, windows, shingler, out);
        CHECK(memcmp(out, expected, windows * sizeof *out) == 0);
        free(in);
        free(expected);
        free(out);
        free(shingler);
    }
}

/* Characters of each class and length, and lower cases that are longer or shorter than the upper. */
static const uint32_t POOL[] = {
    'a', 'Z', '_', '0', ' ', '-', 0, 0xE9, 0x301, 0x429, 0x906, 0x93F, 0x4E2D, 0x304B, 0xE33, 0xFE0F, 0x1F600, 0x10400,
    0x20000, 0x1E8D0, 0x130, 0x23A, 0x212A, 0x2126, 0x1E9E, 0x2C64, 0x10A0, 0x13A0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF,
    0x10000, 0x10FFFF,
};

enum texture {
    BYTES, ASCII, SPARSE, POOLED, ANY, ONE_WORD, LONG_WORDS, GROWING, GROWING_MOST, SHRINKING, SOLO_ONLY, MOST_WORDS,
    SOLO_AND_LETTER, CYRILLIC, ARABIC, INDIC, CHINESE, TEXTURES
};

static uint32_t some_character(enum texture texture, size_t i) {
    switch (texture) {
    case ASCII: return (uint32_t)(below(6) ? 'A' + below(58) : below(128));
    case SPARSE: return below(40) ? ' ' : POOL[below(COUNT(POOL))];
    case POOLED: return POOL[below(COUNT(POOL))];
    case ONE_WORD: return (uint32_t)('a' + below(26));
    case LONG_WORDS: return (uint32_t)(below(500) ? 'a' + below(26) : ' ');
    case GROWING: return 0x23A;
    case GROWING_MOST: return i % 2 ? 0x4E2D : 0x23A;
    case SHRINKING: return 0x212A;
    case SOLO_ONLY: return below(2) ? 0x4E2D : 0x20000;
    case MOST_WORDS: return i % 2 ? ' ' : 'w';
    case CYRILLIC: return (uint32_t)(below(7) ? 0x400 + below(0x90) : ' ');
    case ARABIC: return (uint32_t)(below(7) ? 0x5F0 + below(0x90) : ' ');
    case INDIC: return (uint32_t)(below(7) ? 0x900 + below(0x80) : 0x1E00 + below(0x100));
    case CHINESE: return (uint32_t)(below(9) ? 0x4E00 + below(0x5200) : 0x3000 + below(0x100));
    case SOLO_AND_LETTER: return i % 2 ? 0x4E2D : 'w';
    default: {
        uint32_t code = (uint32_t)below(0x110000);
        return code >= 0xD800 && code <= 0xDFFF ? 'x' : code;
    }
    }
}

/* Write about `length` bytes of some texture and return how many; out holds length + 4. */
static size_t fill(enum texture texture, uint8_t *out, size_t length) {
    size_t made = 0;
    if (texture == BYTES) {
        for (; made < length; made++) out[made] = (uint8_t)anything();
        return made;
    }
    for (size_t i = 0; made < length; i++) made += utf8_encode(some_character(texture, i), out + made);
    size_t harm = below(4), at = below(made + 1); /* a byte that may spoil the text, or a character cut in two */
    if (harm == 0 && at < made) out[at] = (uint8_t)anything();
    if (harm == 1) made = length;
    return made;
}

/* What utf8.h says of the characters of up to three bytes that a block begins with. */
static struct text_block block_of(const uint8_t *text, uint64_t *codes, size_t *characters) {
    struct text_block block = {0};
    uint32_t code;
    *characters = 0;
    for (size_t n; block.bytes < 64; block.bytes += n) {
        n = utf8_decode(text + block.bytes, 64 - block.bytes, &code);
        if (n == 0 || n == 4) break;
        uint64_t bit = (uint64_t)1 << block.bytes;
        unsigned class = unicode_class[unicode_property(code)];
        if (n == 2) block.two |= bit;
        if (n == 3) block.three |= bit;
        if (class == LETTER) block.letters |= bit;
        if (class == MARK) block.marks |= bit;
        if (class == SOLO) block.solos |= bit;
        if (n > 1 && unicode_lower(code) != code) block.changes |= bit;
        codes[(*characters)++] = (uint64_t)(n == 1 && code >= 'A' && code <= 'Z' ? code + 32 : code) + 1;
    }
    return block;
}

static void check_blocks(void) {
    for EACH_ROUND(round, 20000) {
        uint8_t *text = buffer(64), *lower = buffer(64), filled[68];
        uint64_t codes[64], *found_codes = numbers(64);
        size_t characters, shift = below(4);
        fill((enum texture)(round % TEXTURES), filled, 64);
        memmove(filled, filled + shift, 64 - shift);
        memcpy(text, filled, 64);
        const struct text_block expected = block_of(text, codes, &characters);
        const uint64_t whole = lowest_bits(expected.bytes);
        note(expected.letters + 3 * expected.marks + 5 * expected.solos + 7 * expected.changes);
        for EACH_LEVEL(level) {
            const struct text_kernels *kernels = text_levels[level];
            struct text_block found = expected;
            if (kernels->classify_block) {
                kernels->classify_block(text, lower, &found);
                CHECK(found.bytes == expected.bytes);
                look_up_mixed(&found, text);
            } else {
                for (size_t i = 0; i < 64; i++) lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i];
            }
            CHECK((found.two & whole) == expected.two && (found.three & whole) == expected.three);
            CHECK((found.letters & whole) == expected.letters && (found.marks & whole) == expected.marks);
            CHECK((found.solos & whole) == expected.solos && (found.changes & whole) == expected.changes);
            if (!characters) continue;
            CHECK(kernels->decode_block(lower, &found, found_codes) == characters);
            CHECK(memcmp(found_codes, codes, characters * sizeof *codes) == 0);
        }
        free(text);
        free(lower);
        free(found_codes);
    }
}

/* Edges of random bits, and the hashes of the words between them, in a buffer that ends with its padding. */
static void check_words_between_edges(void) {
    for EACH_ROUND(round, 4000) {
        size_t bits = 1 + below(round % 8 ? 300 : 2000), n = (bits + 63) / 64, count = 0;
        int open = (int)below(2), broken = (int)below(2);
        uint64_t *mask = numbers(n), *breaks = numbers(n), inside = (uint64_t)open, kind = below(3);
        int32_t *expected = buffer((2 * bits + 66) * sizeof *expected), *found = buffer((2 * bits + 66) * sizeof *found);
        for (size_t i = 0; i < n; i++) {
            mask[i] = anything();
            if (kind) mask[i] |= anything();
            if (kind == 2) mask[i] |= anything() | anything();
            breaks[i] = anything() & mask[i] & (mask[i] << 1 | (i ? mask[i - 1] >> 63 : (uint64_t)open));
        }
        for (size_t i = 0; i < bits; i++) {
            uint64_t bit = mask[i / 64] >> i % 64 & 1;
            if (bit != inside) expected[count++] = (int32_t)i;
            else if (broken && breaks[i / 64] >> i % 64 & 1) expected[count++] = (int32_t)i, expected[count++] = (int32_t)i;
            inside = bit;
        }
        for EACH_LEVEL(level) {
            CHECK(text_levels[level]->edges(mask, broken ? breaks : NULL, bits, open, found) == count);
            CHECK(memcmp(found, expected, count * sizeof *found) == 0);
        }
        size_t skipped = (size_t)open, words = count > skipped ? (count - skipped) / 2 : 0;
        struct token_hasher hasher = text_hasher_of(edge_or_random());
        uint8_t *text = buffer(bits + TEXT_WORD_PADDING);
        uint64_t *hashes = numbers(words);
        for (size_t i = 0; i < bits + TEXT_WORD_PADDING; i++) text[i] = (uint8_t)(round % 3 ? anything() : 255);
        for EACH_LEVEL(level) {
            text_levels[level]->hash_words(&hasher, text, expected + skipped, words, hashes);
            for (size_t i = 0; i < words; i++) {
                const int32_t *edge = expected + skipped + 2 * i;
                uint64_t token = text_token_of_bytes(&hasher, text + edge[0], (size_t)(edge[1] - edge[0]));
                CHECK(hashes[i] >> 62 == 0 && mix64(p61_of(hashes[i])) == token);
                if (level == CPU_SCALAR) note(token);
            }
        }
        free(mask);
        free(breaks);
        free(expected);
        free(found);
        free(text);
        free(hashes);
    }
}

static size_t some_length(size_t round) {
    static const size_t AROUND[] = {64, 128, TEXT_STRETCH_BYTES, 2 * TEXT_STRETCH_BYTES, 3 * TEXT_STRETCH_BYTES};
    if (round < 150 * TEXTURES) return round / TEXTURES;
    size_t around = AROUND[below(COUNT(AROUND))];
    switch (below(3)) {
    case 0: return around + below(9) - 4;
    case 1: return below(600);
    default: return below(5 * TEXT_STRETCH_BYTES);
    }
}

/* Take every third word of a text, 200 at most, for stop words; NULL where it is not UTF-8. */
static uint64_t *stops_of(struct text_stops *stops, const uint8_t *text, size_t length, const struct hash_key *key) {
    uint64_t *tokens = numbers(text_most_words(length)), *places = NULL;
    struct shingler *shingler = buffer(sizeof *shingler);
    struct text_walk *walk = buffer(text_walk_size());
    size_t bad, n = 0;
    text_shingler_of_words(shingler, 1, key);
    text_walk_begin(walk);
    size_t made = text_word_shingles(&text_scalar, shingler, text, length, walk, SIZE_MAX, tokens, &bad);
    if (made != SIZE_MAX) {
        for (size_t i = 0; i < made && n < 200; i += 3) tokens[n++] = tokens[i];
        places = numbers(text_stops_places(n));
        text_stops_of(stops, places, tokens, n);
        CHECK(stops->reach <= n);
    }
    free(walk);
    free(shingler);
    free(tokens);
    return places;
}

static void check_text(const uint8_t *text, size_t length, int words, size_t size, uint64_t seed) {
    const int symbols = words && seed % 3 == 0;
    size_t capacity = words && !symbols ? text_most_words(length) : length, bad = SIZE_MAX;
    uint64_t *expected = numbers(capacity), *out = numbers(capacity);
    struct shingler *shingler = buffer(sizeof *shingler);
    struct text_walk *walk = buffer(text_walk_size());
    struct hash_key key = text_hash_key_of(seed);
    size_t (*shingle)(const struct text_kernels *, const struct shingler *, const uint8_t *, size_t, struct text_walk *,
                      size_t, uint64_t *, size_t *) = words ? text_word_shingles : text_character_shingles;
    if (symbols) text_shingler_of_symbols(shingler, size, &key);
    else if (words) text_shingler_of_words(shingler, size, &key);
    else text_shingler_of_characters(shingler, size, &key);
    shingler->keep_case = seed % 2;
    struct text_stops stops;
    uint64_t *places = words && !symbols && length % 3 == 0 ? stops_of(&stops, text, length, &key) : NULL;
    if (places) shingler->stops = &stops;
    text_walk_begin(walk);
    size_t made = shingle(&text_scalar, shingler, text, length, walk, SIZE_MAX, expected, &bad);
    CHECK(made == SIZE_MAX ? bad < length : made <= capacity);
    note(made == SIZE_MAX ? UINT64_MAX : made); /* the same at each width of size_t */
    if (made == SIZE_MAX) note(bad);
    else note_all(expected, made);
    for EACH_LEVEL(level) { /* in one step, and in several */
        for (size_t work = SIZE_MAX; work; work = work == SIZE_MAX ? 1 + length % 5000 / (size_t)(level + 1) : 0) {
            size_t found = TEXT_UNFINISHED, found_bad = SIZE_MAX;
            text_walk_begin(walk);
            while (found == TEXT_UNFINISHED) {
                found = shingle(text_levels[level], shingler, text, length, walk, work, out, &found_bad);
            }
            CHECK(found == made && found_bad == bad);
            CHECK(made == SIZE_MAX || same_bytes(out, expected, made * sizeof *out));
        }
    }
    /* Again from a mark, which a text that shares some bytes leaves. */
    size_t shared = text_shared(text, length, text, below(length + 1)), found_bad = SIZE_MAX;
    size_t cut = words ? text_cut_words(text, shared) : text_cut_characters(text, shared);
    CHECK(shared <= length && cut <= shared);
    text_walk_begin(walk);
    if (cut && shingle(&text_scalar, shingler, text, cut, walk, SIZE_MAX, out, &found_bad) != SIZE_MAX) {
        struct text_mark *mark = buffer(sizeof *mark);
        uint64_t *before = copy_of(out, capacity * sizeof *out);
        text_walk_mark(walk, words, mark);
        CHECK(mark->at == cut);
        text_walk_resume(walk, words, mark, before, out);
        CHECK(shingle(&text_scalar, shingler, text, length, walk, SIZE_MAX, out, &found_bad) == made);
        CHECK(made == SIZE_MAX ? found_bad == bad : same_bytes(out, expected, made * sizeof *out));
        free(mark);
        free(before);
    }
    free(walk);
    free(places);
    free(expected);
    free(out);
    free(shingler);
}

static void check_shingles(void) {
    check_text(NULL, 0, 0, 1, 1);
    check_text(NULL, 0, 1, 1, 1);
    for EACH_ROUND(round, 5000) {
        size_t shift = below(16), length = some_length(round);
        uint8_t *drawn = buffer(length + 4);
        length = fill((enum texture)(round % TEXTURES), drawn, length);
        uint8_t *text = buffer(length + shift);
        if (length) memcpy(text + shift, drawn, length);
        size_t size = some_size();
        check_text(text + shift, length, 0, size, round);
        size = some_size();
        check_text(text + shift, length, 1, size, round);
        free(drawn);
        free(text);
    }
    uint8_t *longest = buffer(300000);
    memset(longest, 'x', 300000);
    check_text(longest, 300000, 1, 2, 1);
    free(longest);
}

/* ---- sketch.h ---- */

/* Signatures of n tokens in k slots, those of few slots by their definition too. */
static void check_sketch(size_t k, size_t n) {
    size_t padded = (k + SKETCH_CLASSIC_LANES - 1) / SKETCH_CLASSIC_LANES * SKETCH_CLASSIC_LANES;
    uint64_t seed = anything(), *a = numbers(padded), *b = numbers(padded);
    uint64_t *rounds = numbers(sketch_fast_rounds(k)), *slots = numbers(k);
    sketch_classic_constants(seed, k, a, b);
    sketch_fast_constants(seed, k, rounds, slots);
    for (size_t i = 0; i < padded; i++) CHECK(a[i] >= 1 && a[i] < P61 && b[i] < P61);
    uint64_t *tokens = tokens_of(n), *expected = numbers(k), *out = numbers(k);
    for (size_t i = 0; i < k && k <= 33; i++) {
        expected[i] = EMPTY_SLOT;
        for (size_t t = 0; t < n; t++) {
            uint64_t value = (p61_product(a[i], mix64(tokens[t])) + b[i]) % P61;
            if (value < expected[i]) expected[i] = value;
        }
    }
    if (k > 33) sketch_scalar.classic(tokens, n, a, b, k, expected);
    note_all(expected, k);
    for EACH_LEVEL(level) {
        memset(out, 0, k * sizeof *out);
        sketch_levels[level]->classic(n ? tokens : NULL, n, a, b, k, out);
        CHECK(memcmp(out, expected, k * sizeof *out) == 0);
    }
    sketch_fast_signature(&sketch_scalar, tokens, n, rounds, slots, k, expected);
    note_all(expected, k);
    for (size_t i = 0; i < k; i++) CHECK((expected[i] == EMPTY_SLOT) == (n == 0));
    for EACH_LEVEL(level) {
        memset(out, 0, k * sizeof *out);
        sketch_fast_signature(sketch_levels[level], n ? tokens : NULL, n, rounds, slots, k, out);
        CHECK(memcmp(out, expected, k * sizeof *out) == 0);
    }
    free(a);
    free(b);
    free(rounds);
    free(slots);
    free(tokens);
    free(expected);
    free(out);
}

static void check_sketches(void) {
    static const size_t SLOTS[] = {1,  2,  3,  4,  7,   8,   9,   15,   16,   17,
                                   24, 31, 32, 33, 100, 128, 129, 1000, 1024, SKETCH_MAX_SLOTS};
    static const size_t COUNTS[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 255, 256, 257, 511, 512, 600};
    for (size_t s = 0; s < COUNT(SLOTS); s++) {
        size_t counts = SLOTS[s] == SKETCH_MAX_SLOTS ? 4 : COUNT(COUNTS);
        for (size_t c = 0; c < counts; c++) check_sketch(SLOTS[s], COUNTS[c]);
    }
}

static void check_rounds(void) {
    for (size_t n = 0; n <= SKETCH_BLOCK_TOKENS; n++) {
        uint64_t *tokens = tokens_of(n), constant = edge_or_random(), round = below(255);
        size_t k = below(3) ? 1 + below(SKETCH_MAX_SLOTS) : SKETCH_MAX_SLOTS;
        uint64_t drawn = anything();
        if (drawn % 4 == 0) drawn = 0;
        for EACH_LEVEL(level) {
            const struct sketch_kernels *kernels = sketch_levels[level];
            uint64_t *values = numbers(SKETCH_BLOCK_TOKENS), least = EMPTY_SLOT;
            uint32_t *slots = buffer(SKETCH_BLOCK_TOKENS * sizeof *slots);
            kernels->land(tokens, n, round, constant, k, values, slots);
            for (size_t t = 0; t < n; t++) {
                uint64_t hash = mix64(tokens[t] ^ constant);
                CHECK(values[t] == ((round << SKETCH_VALUE_BITS) | (hash & SKETCH_VALUE_MASK)));
                CHECK(slots[t] == (hash >> 32) * k >> 32 && slots[t] < k);
                if ((hash & SKETCH_VALUE_MASK) < least) least = hash & SKETCH_VALUE_MASK;
            }
            if (n) CHECK(kernels->least(tokens, n, constant) == least);
            if (kernels->land_below) {
                uint64_t limit = drawn ? drawn & SKETCH_VALUE_MASK : least;
                size_t count = kernels->land_below(tokens, n, constant, k, limit, values, slots), expected = 0;
                for (size_t t = 0; t < n; t++) {
                    uint64_t hash = mix64(tokens[t] ^ constant), value = hash & SKETCH_VALUE_MASK;
                    if (value >= limit) continue;
                    CHECK(expected < count && values[expected] == value && slots[expected] == (hash >> 32) * k >> 32);
                    expected++;
                }
                CHECK(count == expected);
            }
            free(values);
            free(slots);
        }
        free(tokens);
    }
}

/* ---- bands.h ---- */

static void check_band_keys(void) {
    for EACH_ROUND(round, 500) {
        size_t n = below(6), k = 1 + below(70), rows = 1 + below(k), bands = 1 + below(k / rows);
        uint64_t *signatures = tokens_of(n * k), *out = numbers(n * bands), *other = numbers(n * bands);
        for (size_t i = 0; i < n; i++) {
            if (below(4) == 0) memset(signatures + i * k, 0xFF, k * sizeof *signatures);
            else signatures[i * k] &= P61;
        }
        bands_keys(bands_levels[CPU_SCALAR], signatures, n, k, bands, rows, out);
        for EACH_LEVEL(level) {
            bands_keys(bands_levels[level], signatures, n, k, bands, rows, other);
            CHECK(n == 0 || memcmp(out, other, n * bands * sizeof *out) == 0);
        }
        for (size_t i = 0; i < n; i++) {
            int empty = signatures[i * k] == EMPTY_SLOT;
            for (size_t band = 0; band < bands; band++) CHECK((out[i * bands + band] == EMPTY_SLOT) == empty);
        }
        note_all(out, n * bands);
        free(signatures);
        free(out);
        free(other);
    }
}

/* Keys in slots, starts and keys that end where the last band does; some keys would be all ones. */
static void check_keys_of(size_t bands, size_t rows) {
    const uint64_t unmixed = UINT64_C(0xCF9A04AFFA6BADC0); /* whose mix64 is all ones */
    CHECK(mix64(unmixed) == EMPTY_SLOT);
    uint64_t *slots = tokens_of(bands * rows), *starts = numbers(bands), *out = numbers(bands);
    size_t first = below(50);
    bands_starts(first, bands, starts);
    for (size_t band = below(3); band < bands && rows == 1; band += 1 + below(3)) slots[band] = unmixed ^ starts[band];
    for EACH_LEVEL(level) {
        bands_levels[level](slots, starts, bands, rows, out);
        for (size_t band = 0; band < bands; band++) {
            uint64_t key = draw(0, DOMAIN_BAND, first + band);
            for (size_t row = 0; row < rows; row++) key = mix64(key ^ slots[band * rows + row]);
            CHECK(out[band] == (key == EMPTY_SLOT ? EMPTY_SLOT - 1 : key));
        }
    }
    note_all(out, bands);
    free(slots);
    free(starts);
    free(out);
}

static void check_keys_of_bands(void) {
    for (size_t bands = 1; bands <= 40; bands++) {
        for (size_t rows = 1; rows <= 17; rows++) check_keys_of(bands, rows);
    }
}

static uint64_t few_keys(size_t round) {
    size_t digit = below(6);
    switch (round % 5) {
    case 0: return below(3);
    case 1: return below(40);
    case 2: return (uint64_t)below(2048) << 11 * digit;
    case 3: return UINT64_MAX - 1 - below(5);
    default: return anything();
    }
}

static int shares_earlier(const uint64_t *a, const uint64_t *b, size_t band) {
    for (size_t e = 0; e < band; e++) {
        if (a[e] == b[e]) return 1;
    }
    return 0;
}

static void check_pairs(void) {
    static const size_t ROWS[] = {0, 1, 2, 3, 10, 63, 64, 65, 66, 129, 300};
    for EACH_ROUND(round, 600) {
        size_t n = ROWS[below(COUNT(ROWS))], bands = 1 + below(4), band = below(bands), members = 0;
        uint64_t *keys = numbers(n * bands);
        int64_t *chosen = buffer(n * sizeof *chosen);
        for (size_t i = 0; i < n; i++) {
            int empty = below(9) == 0;
            for (size_t c = 0; c < bands; c++) keys[i * bands + c] = empty ? EMPTY_SLOT : few_keys(round);
            if (round % 3 == 0 || below(5)) chosen[members++] = (int64_t)i;
        }
        int64_t *exact = copy_of(chosen, members * sizeof *exact);
        uint64_t *records = buffer(members * sizeof *records);
        size_t count = bands_records(keys, bands, band, exact, members, records);
        CHECK(count <= members);
        uint64_t *sorted = copy_of(records, count * sizeof *sorted);
        uint64_t *scratch = buffer(count * sizeof *scratch);
        bands_sort_records(sorted, count, scratch);
        for (size_t i = 0; i < count; i++) {
            uint64_t key = keys[(size_t)exact[(uint32_t)sorted[i]] * bands + band];
            CHECK(key != EMPTY_SLOT && sorted[i] >> 32 == mix64(key) >> 32);
            CHECK(i == 0 || sorted[i - 1] < sorted[i]);
        }
        size_t expected = 0, found = 0, capacity = 1 + below(round % 2 ? 7 : 3000), made;
        size_t work = 1 + (round % 3 ? round % 50 : 1000000);
        for (size_t x = 0; x < members; x++) {
            for (size_t y = x + 1; y < members; y++) {
                const uint64_t *a = keys + (size_t)exact[x] * bands, *b = keys + (size_t)exact[y] * bands;
                expected += a[band] != EMPTY_SLOT && a[band] == b[band] && !shares_earlier(a, b, band);
            }
        }
        uint8_t *seen = buffer(n * n);
        if (n) memset(seen, 0, n * n);
        struct bucket_walk walk = {0, 0, 0, 0};
        do {
            int64_t *left = buffer(capacity * sizeof *left), *right = buffer(capacity * sizeof *right);
            made = bands_bucket_pairs(sorted, count, exact, keys, bands, band, &walk, left, right, capacity, work);
            CHECK(made <= capacity);
            for (size_t p = 0; p < made; p++) {
                const uint64_t *a = keys + (size_t)left[p] * bands, *b = keys + (size_t)right[p] * bands;
                CHECK(left[p] < right[p] && a[band] == b[band] && !shares_earlier(a, b, band));
                CHECK(!seen[(size_t)left[p] * n + (size_t)right[p]]++);
            }
            found += made;
            free(left);
            free(right);
        } while (!walk.done);
        CHECK(found == expected);
        note(found);
        free(keys);
        free(chosen);
        free(exact);
        free(records);
        free(sorted);
        free(scratch);
        free(seen);
    }
}

/* Rows of equal keys have equal numbers, and others do not, where keys share the half that is in their records. */
static void check_buckets(void) {
    for EACH_ROUND(round, 60) {
        size_t n = below(150), bands = 1 + below(3), band = below(bands);
        uint64_t *keys = numbers(n * bands), *records = numbers(n), *scratch = numbers(n);
        int64_t *members = buffer(n * sizeof *members);
        int32_t *found = buffer(n * bands * sizeof *found);
        for (size_t i = 0; i < n; i++) {
            members[i] = (int64_t)(n - 1 - i);
            for (size_t c = 0; c < bands; c++) {
                uint64_t half = below(4);
                found[i * bands + c] = -1;
                keys[i * bands + c] = unmix64(half << 32 | below(round % 2 ? 5 : 40));
            }
        }
        size_t count = bands_records(keys, bands, band, members, n, records);
        bands_sort_records(records, count, scratch);
        size_t buckets = bands_number_buckets(records, count, members, keys, bands, band, found);
        for (size_t x = 0; x < n; x++) {
            size_t alike = 0;
            int32_t number = found[x * bands + band];
            for (size_t y = 0; y < n; y++) {
                int equal = keys[(size_t)members[x] * bands + band] == keys[(size_t)members[y] * bands + band];
                alike += equal && x != y;
                CHECK(x == y || number < 0 || equal == (number == found[y * bands + band]));
            }
            CHECK(alike ? number >= 0 && (size_t)number < buckets : number == -1);
        }
        note(buckets);
        free(keys);
        free(records);
        free(scratch);
        free(members);
        free(found);
    }
}

/* Keys of single slots that are judged apart, by those of bands of one row. */
static void check_keys_apart(void) {
    for EACH_ROUND(round, 60) {
        size_t n = below(5), k = 1 + below(300), bands = 1 + below(k);
        uint64_t *signatures = numbers(n * k), *alike = numbers(k), *expected = numbers(bands);
        uint64_t *keys = numbers(n * bands);
        for (size_t i = 0; i < n * k; i++) signatures[i] = below(4) ? anything() : EMPTY_SLOT;
        for EACH_LEVEL(level) {
            bands_keys_apart(bands_levels[level], signatures, n, k, bands, keys);
            for (size_t i = 0; i < n; i++) {
                memcpy(alike, signatures + i * k, k * sizeof *alike);
                if (alike[0] == EMPTY_SLOT) alike[0] = 0; /* a row that begins with it has no keys otherwise */
                bands_keys(bands_levels[CPU_SCALAR], alike, 1, k, bands, 1, expected);
                for (size_t b = 0; b < bands; b++) {
                    int empty = signatures[i * k + b] == EMPTY_SLOT;
                    CHECK(keys[i * bands + b] == (empty ? EMPTY_SLOT : expected[b]));
                }
            }
        }
        note_all(keys, n * bands);
        free(signatures);
        free(alike);
        free(expected);
        free(keys);
    }
}

static void check_sorting(void) {
    for EACH_ROUND(round, 20) {
        size_t n = 4000 + below(3000);
        uint64_t *records = buffer(n * sizeof *records), *scratch = buffer(n * sizeof *scratch);
        for (size_t i = 0; i < n; i++) records[i] = few_keys(round) << 32 | i;
        bands_sort_records(records, n, scratch);
        for (size_t i = 1; i < n; i++) CHECK(records[i - 1] < records[i]);
        free(records);
        free(scratch);
    }
}

/* By all digits, in two steps each. */
static void check_digits(void) {
    for EACH_ROUND(round, 40) {
        size_t n = round < 4 ? round : below(3000), *starts = buffer(BANDS_DIGIT_VALUES * sizeof *starts);
        uint64_t *keys = numbers(n), *sorted = numbers(n);
        int64_t *places = buffer(n * sizeof *places), *moved = buffer(n * sizeof *moved);
        for (size_t i = 0; i < n; i++) {
            keys[i] = round % 2 ? few_keys(round) : anything();
            places[i] = (int64_t)i;
        }
        uint64_t *given = copy_of(keys, n * sizeof *keys);
        for (unsigned shift = 0; shift < 64; shift += BANDS_DIGIT_BITS) {
            memset(starts, 0, BANDS_DIGIT_VALUES * sizeof *starts);
            bands_count_digits(keys, n / 3, shift, starts);
            bands_count_digits(keys + n / 3, n - n / 3, shift, starts);
            bands_starts_of_digits(starts);
            bands_move_by_digit(keys, places, n / 3, shift, starts, sorted, moved);
            bands_move_by_digit(keys + n / 3, places + n / 3, n - n / 3, shift, starts, sorted, moved);
            CHECK(starts[BANDS_DIGIT_VALUES - 1] == n);
            memcpy(keys, sorted, n * sizeof *keys);
            memcpy(places, moved, n * sizeof *places);
        }
        for (size_t i = 0; i < n; i++) {
            CHECK(keys[i] == given[places[i]]);
            CHECK(i == 0 || keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && places[i - 1] < places[i]));
        }
        free(starts);
        free(keys);
        free(sorted);
        free(places);
        free(moved);
        free(given);
    }
}

/* ---- sets.h and rows.h ---- */

static size_t find(const uint64_t *tokens, size_t n, uint64_t token) {
    size_t i = 0;
    while (i < n && tokens[i] != token) i++;
    return i;
}

static uint64_t structured(size_t round, uint64_t i) {
    switch (round % 4) {
    case 0: return i;
    case 1: return i << 40;
    case 2: return i * UINT64_C(0xF1DE83E19937733D); /* the inverse of the table's multiplier: all want one slot */
    default: return edge_or_random();
    }
}

static void check_distinct(void) {
    CHECK(UINT64_C(0xF1DE83E19937733D) * UINT64_C(0x9E3779B97F4A7C15) == 1);
    for EACH_ROUND(round, 800) {
        if (round >= 500)
            sets_use_key(round % 2 ? 1 : anything()); /* the first key counts, and nothing depends on it */
        size_t n = round < 200 ? round / 4 : below(300), wanted = 0;
        uint64_t *tokens = numbers(n), *expected = numbers(n), *out = numbers(n), prints[3], x = 1, y = 0;
        uint64_t key[2] = {SETS_KEY_LEAST + anything() % (P61 - SETS_KEY_LEAST), round % 2 ? SETS_KEY_LEAST : P61 - 1};
        uint64_t *table = numbers(sets_table_size(n));
        for (size_t i = 0; i < n; i++) {
            tokens[i] = structured(round, below(1 + n));
            uint64_t b = key[0] - (tokens[i] & UINT32_MAX), c = key[1] - (tokens[i] >> 32);
            uint64_t next = p61_of(p61_product(x, b) + P61 - p61_product(y, c));
            y = p61_of(p61_product(x, c) + p61_product(y, b));
            x = next;
            if (find(expected, wanted, tokens[i]) == wanted) expected[wanted++] = tokens[i];
        }
        sets_fingerprint(n ? tokens : NULL, n, key, prints);
        CHECK(prints[0] == n && prints[1] == x && prints[2] == y);
        CHECK(sets_distinct(n ? tokens : NULL, n, table, out) == wanted);
        CHECK(wanted == 0 || memcmp(out, expected, wanted * sizeof *out) == 0);
        struct token_set set = sets_empty_in(table, n);
        size_t made = sets_add_all(&set, tokens, n / 2, out);
        made += sets_add_all(&set, tokens + n / 2, n - n / 2, out + made);
        CHECK(made == wanted && (wanted == 0 || memcmp(out, expected, wanted * sizeof *out) == 0));
        CHECK(sets_distinct(tokens, n, table, tokens) == wanted); /* in place */
        CHECK(wanted == 0 || memcmp(tokens, expected, wanted * sizeof *out) == 0);
        note_all(out, wanted);
        note_all(prints, 3);
        free(tokens);
        free(expected);
        free(out);
        free(table);
    }
}

static void check_rows_that_begin_alike(void) {
    for EACH_ROUND(round, 400) {
        size_t longest = 1 + below(400), m = 0;
        uint64_t *table = numbers(sets_table_size(longest)), *before = NULL, *out_before = NULL;
        struct sets_rows rows = {{NULL, 0, 0, 0, 0}, 0, 0};
        for (size_t row = 0; row < 12; row++) {
            size_t n = below(longest + 1), shared = m && below(4) ? m - below(m < 9 ? m : 9) : 0;
            shared = shared < n ? shared : n;
            uint64_t *tokens = numbers(n), *out = numbers(n), *expected = numbers(n), *other = numbers(sets_table_size(n));
            if (shared) memcpy(tokens, before, shared * sizeof *tokens);
            for (size_t i = shared; i < n; i++) tokens[i] = structured(round, below(1 + n));
            size_t wanted = sets_distinct(tokens, n, other, expected);
            CHECK(sets_distinct_next(&rows, before, m, out_before, tokens, n, table, out) == wanted);
            CHECK(wanted == 0 || memcmp(out, expected, wanted * sizeof *out) == 0);
            note_all(out, wanted);
            free(before);
            free(out_before);
            free(expected);
            free(other);
            before = tokens;
            out_before = out;
            m = n;
        }
        free(before);
        free(out_before);
        free(table);
    }
}

static const double THRESHOLDS[] = {0, 0.05, 1.0 / 3, 0.5, 0.6, 2.0 / 3, 0.7, 0.8, 0.9, 1};

static void check_words_at(void) {
    for (size_t length = 0; length < 300; length++) {
        size_t m = 1 + below(10);
        uint8_t *text = buffer(length);
        uint64_t *points = buffer(m * sizeof *points), *out = buffer(m * sizeof *out), word;
        for (size_t i = 0; i < length; i++) text[i] = (uint8_t)anything();
        for (size_t i = 0; i < m; i++) points[i] = below(4) ? anything() : UINT64_MAX * below(2);
        text_words_at(text, length, points, m, out);
        for (size_t i = 0; i < m; i++) {
            size_t at = (size_t)wide_high(wide_product(points[i], length - 7));
            word = 0;
            if (length <= 8 * m) {
                at = 8 * i + 8 <= length || length < 8 ? 8 * i : length - 8;
                if (8 * i < length) memcpy(&word, text + at, length < 8 ? length : 8);
            } else {
                CHECK(at <= length - 8);
                memcpy(&word, text + at, 8);
            }
            CHECK(out[i] == word);
            note(out[i]);
        }
        free(text);
        free(points);
        free(out);
    }
}

static void check_samples(void) {
    for EACH_ROUND(round, 500) {
        size_t n = below(60), made = 0, shift = below(64);
        uint64_t one_in = round % 3 ? 1 + below(100) : anything() >> shift;
        one_in += one_in == 0;
        uint64_t *tokens = numbers(n), *out = buffer(n * sizeof *out);
        for (size_t i = 0; i < n; i++) tokens[i] = below(2) ? anything() : one_in * below(1000);
        struct sets_divisor divisor = sets_divisor_of(one_in);
        size_t count = sets_sample(tokens, n, &divisor, out);
        for (size_t i = 0; i < n; i++) {
            if (tokens[i] % one_in == 0) CHECK(made < count && out[made++] == tokens[i]);
        }
        CHECK(made == count && sets_sample(tokens, n, &divisor, tokens) == count);
        for (size_t i = 0; i < count; i++) CHECK(tokens[i] == out[i]);
        note(count);
        free(tokens);
        free(out);
    }
}

static void check_overlap(void) {
    for (size_t t = 0; t < COUNT(THRESHOLDS); t++) {
        for (size_t a = 0; a < 60; a++) {
            for (size_t b = a == 0; b < 60; b++) {
                size_t needed = 0, inside = 0, most = a < b ? a : b;
                struct sets_rule jaccard = {SETS_JACCARD, THRESHOLDS[t]}, containment = {SETS_CONTAINMENT, THRESHOLDS[t]};
                while (needed <= most && (double)needed / (double)(a + b - needed) < THRESHOLDS[t]) needed++;
                CHECK(sets_overlap_needed(a, b, jaccard) == needed);
                if (most == 0) continue;
                while (inside <= most && (double)inside / (double)most < THRESHOLDS[t]) inside++;
                CHECK(sets_overlap_needed(a, b, containment) == inside);
            }
        }
    }
    for EACH_ROUND(round, 20000) {
        size_t a = 1 + below(UINT64_C(1) << below(41)), b = 1 + below(UINT64_C(1) << below(41)), most = a < b ? a : b;
        struct sets_rule rule = {SETS_JACCARD, (double)below(1000001) / 1e6};
        size_t needed = sets_overlap_needed(a, b, rule);
        CHECK(needed <= most + 1);
        CHECK(needed > most || (double)needed / (double)(a + b - needed) >= rule.threshold);
        CHECK(needed == 0 || (double)(needed - 1) / (double)(a + b - needed + 1) < rule.threshold);
    }
}

static void check_similarities(void) {
    for EACH_ROUND(round, 1500) {
        size_t n = 1 + below(8), pairs = below(20), m = 0, longest = 0;
        int64_t *offsets = buffer((n + 1) * sizeof *offsets);
        int64_t *left = buffer(pairs * sizeof *left), *right = buffer(pairs * sizeof *right);
        uint64_t *drawn = numbers(n * 48);
        offsets[0] = 0;
        for (size_t i = 0; i < n; i++) {
            size_t wanted = below(5) ? below(40) : 0, start = m;
            for (size_t j = 0; j < wanted; j++) {
                uint64_t token = structured(round % 3, below(45));
                if (find(drawn + start, m - start, token) == m - start) drawn[m++] = token;
            }
            offsets[i + 1] = (int64_t)m;
            if (m - start > longest) longest = m - start;
        }
        uint64_t *tokens = copy_of(drawn, m * sizeof *tokens);
        CHECK(rows_are_valid(offsets, n, m) && longest_row(offsets, n) == longest);
        size_t longest_left = 0;
        for (size_t p = 0; p < pairs; p++) {
            left[p] = (int64_t)(below(3) && p ? (size_t)left[p - 1] : below(n));
            right[p] = (int64_t)below(n);
            size_t length = (size_t)(offsets[left[p] + 1] - offsets[left[p]]);
            if (length > longest_left) longest_left = length;
        }
        uint64_t *table = numbers(sets_table_size(longest_left));
        double *out = buffer(pairs * sizeof *out), threshold = THRESHOLDS[below(COUNT(THRESHOLDS))];
        struct sets_rule rule = {below(2) ? SETS_CONTAINMENT : SETS_JACCARD, threshold};
        struct pair_walk walk = {0};
        size_t work = 1 + (round % 3 ? round % 40 : 1000000), calls = 0;
        while (!sets_compare_pairs(offsets, tokens, left, right, pairs, rule, table, &walk, work, out)) calls++;
        CHECK(calls <= 2 * (m + 40 * pairs) + 1);
        for (size_t p = 0; p < pairs; p++) {
            const uint64_t *a = tokens + offsets[left[p]], *b = tokens + offsets[right[p]];
            size_t size_a = (size_t)(offsets[left[p] + 1] - offsets[left[p]]), overlap = 0;
            size_t size_b = (size_t)(offsets[right[p] + 1] - offsets[right[p]]);
            for (size_t j = 0; j < size_b; j++) overlap += find(a, size_a, b[j]) < size_a;
            size_t least = size_a < size_b ? size_a : size_b;
            size_t all = rule.measure == SETS_CONTAINMENT ? least : size_a + size_b - overlap;
            double true_value = all ? (double)overlap / (double)all : 0;
            if (all == 0) CHECK(out[p] == (threshold > 0 ? -1 : 0));
            else CHECK(out[p] == (true_value >= threshold ? true_value : -1));
        }
        free(offsets);
        free(left);
        free(right);
        free(drawn);
        free(tokens);
        free(table);
        free(out);
    }
}

static void check_agreement(void) {
    for EACH_ROUND(round, 500) {
        size_t k = 1 + below(40), equal = 0;
        uint64_t *a = numbers(k), *b = numbers(k);
        int empty_a = below(6) == 0, empty_b = below(6) == 0;
        for (size_t i = 0; i < k; i++) {
            a[i] = empty_a ? EMPTY_SLOT : below(3);
            b[i] = empty_b ? EMPTY_SLOT : below(3);
            equal += a[i] == b[i] && !empty_a;
        }
        for EACH_LEVEL(level) CHECK(slots_agreement(slots_levels[level], a, b, k) == equal);
        free(a);
        free(b);
    }
}

static void check_groups(void) {
    for EACH_ROUND(round, 800) {
        size_t n = below(40), pairs = n ? below(50) : 0;
        int64_t *left = buffer(pairs * sizeof *left), *right = buffer(pairs * sizeof *right);
        int64_t *labels = buffer(n * sizeof *labels), *order = buffer(n * sizeof *order);
        int64_t *offsets = buffer((n + 1) * sizeof *offsets), *neighbours = buffer(2 * pairs * sizeof *neighbours);
        int64_t *keeper = buffer(n * sizeof *keeper), *by = buffer(n * sizeof *by);
        for (size_t p = 0; p < pairs; p++) {
            left[p] = (int64_t)below(n);
            right[p] = (int64_t)below(n);
        }
        CHECK(are_below(left, pairs, n) && are_below(right, pairs, n));
        for (size_t i = 0; i < n; i++) labels[i] = (int64_t)i;
        sets_join_components(left, right, pairs / 3, labels);
        sets_join_components(left + pairs / 3, right + pairs / 3, pairs - pairs / 3, labels);
        sets_label_components(n, labels);
        for (size_t p = 0; p < pairs; p++) CHECK(labels[left[p]] == labels[right[p]]);
        for (size_t i = 0; i < n; i++) CHECK(labels[i] <= (int64_t)i && labels[labels[i]] == labels[i]);
        for (size_t i = 0; i < n; i++) note((uint64_t)labels[i]);

        offsets[0] = 0;
        for (size_t i = 0; i < n; i++) {
            int64_t at = offsets[i];
            for (size_t p = 0; p < pairs; p++) {
                if (left[p] == (int64_t)i) neighbours[at++] = right[p];
                if (right[p] == (int64_t)i) neighbours[at++] = left[p];
            }
            offsets[i + 1] = at;
            order[i] = (int64_t)i;
        }
        for (size_t i = n; i > 1; i--) {
            size_t other = below(i);
            int64_t swap = order[i - 1];
            order[i - 1] = order[other];
            order[other] = swap;
        }
        for (size_t i = 0; i < n; i++) keeper[i] = by[i] = -1;
        sets_stars(order, n / 2, offsets, neighbours, keeper, by);
        sets_stars(order + n / 2, n - n / 2, offsets, neighbours, keeper, by);
        for (size_t i = 0; i < n; i++) {
            int64_t kept = keeper[i];
            CHECK(kept >= 0 && (size_t)kept < n && keeper[kept] == kept && (by[i] == -1) == (kept == (int64_t)i));
            if (by[i] >= 0) CHECK(by[i] >= offsets[kept] && by[i] < offsets[kept + 1]);
            if (by[i] >= 0) CHECK(neighbours[by[i]] == (int64_t)i);
            note((uint64_t)kept);
        }
        free(left);
        free(right);
        free(labels);
        free(order);
        free(offsets);
        free(neighbours);
        free(keeper);
        free(by);
    }
}

static void check_rows(void) {
    static const struct {
        int64_t offsets[4];
        size_t n, m;
        int valid;
    } CASES[] = {
        {{0}, 0, 0, 1},           {{5}, 0, 5, 1},        {{6}, 0, 5, 0},           {{-1}, 0, 5, 0},
        {{0, 2, 2, 5}, 3, 5, 1},  {{1, 2, 2, 5}, 3, 5, 1}, {{0, 3, 2, 5}, 3, 5, 0}, {{0, 2, 2, 6}, 3, 5, 0},
        {{-1, 0, 0, 1}, 3, 5, 0}, {{0, 9, 9, 5}, 3, 5, 0}, {{0, -1, 0, 5}, 3, 5, 0}, {{0, 1, INT64_MIN}, 2, 5, 0},
        {{0, INT64_MAX}, 1, 5, 0}, {{0, INT64_MAX, 5}, 2, 5, 0},
    };
    for (size_t c = 0; c < COUNT(CASES); c++) {
        int64_t *offsets = copy_of(CASES[c].offsets, (CASES[c].n + 1) * sizeof *offsets);
        CHECK(rows_are_valid(offsets, CASES[c].n, CASES[c].m) == CASES[c].valid);
        free(offsets);
    }
    int64_t *one = buffer(sizeof *one);
    const int64_t tried[] = {INT64_MIN, -1, 0, 4, 5, INT64_MAX};
    for (size_t t = 0; t < COUNT(tried); t++) {
        *one = tried[t];
        CHECK(are_below(one, 1, 5) == (tried[t] >= 0 && tried[t] < 5));
    }
    CHECK(are_below(one, 0, 0));
    CHECK(!are_below(one, 1, 0));
    free(one);
}

int main(void) {
    static void (*const checks[])(void) = {
        check_field, check_utf8, check_classify, check_tokens, check_batches_of_tokens, check_blocks,
        check_words_between_edges, check_windows, check_shingles, check_sketches,
        check_rounds, check_band_keys, check_keys_of_bands, check_pairs, check_buckets, check_keys_apart,
        check_sorting, check_digits, check_distinct,
        check_rows_that_begin_alike,
        check_words_at, check_samples, check_overlap, check_similarities, check_agreement, check_groups, check_rows,
    };
    for (size_t c = 0; c < COUNT(checks); c++) checks[c]();
    return print_digest();
}
