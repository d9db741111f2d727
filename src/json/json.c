/* The scanner of lines, and the portable kernels. Strings are read 64 bytes at a time: one mask says where a quote, an
 * escape or a control character is, and what lies between them is copied in whole blocks. Names and the structure around
 * strings are read byte by byte. */
#include "json/json.h"

#include "text/utf8.h"

#include <string.h>

/* ---- the portable kernels ---- */

#define EACH_BYTE(x) (UINT64_C(0x0101010101010101) * (x))
#define HIGH_BITS EACH_BYTE(0x80)

/* The high bit of each byte that is 0, of bytes below 0x80. */
static inline uint64_t zeros_of(uint64_t x) { return ~(x + EACH_BYTE(0x7F)) & HIGH_BITS; }

/* The high bits of eight bytes, as eight bits. */
static inline uint64_t gathered(uint64_t high) { return (high >> 7) * UINT64_C(0x0102040810204080) >> 56; }

static uint64_t special_scalar(const uint8_t *text, uint64_t *high) {
    uint64_t special = 0, other = 0;
    for (unsigned i = 0; i < 64; i += 8) {
        uint64_t x;
        memcpy(&x, text + i, 8);
        x = little_endian(x);
        uint64_t above = x & HIGH_BITS, low = x & ~HIGH_BITS;
        uint64_t found = zeros_of(low & EACH_BYTE(0x60)) | zeros_of(low ^ EACH_BYTE('"')) | zeros_of(low ^ EACH_BYTE('\\'));
        special |= gathered(found & ~above) << i;
        other |= gathered(above) << i;
    }
    *high = other;
    return special;
}

int json_is_utf8_scalar(const uint8_t *text, size_t n) {
    size_t at = 0;
    while (at < n) {
        uint64_t x;
        while (n - at >= 8 && (memcpy(&x, text + at, 8), !(x & HIGH_BITS))) at += 8;
        if (at == n) break;
        uint32_t code;
        size_t length = utf8_decode(text + at, n - at, &code);
        if (!length) return 0;
        at += length;
    }
    return 1;
}

const struct json_kernels json_scalar = {special_scalar, json_is_utf8_scalar};
const struct json_kernels *const json_levels[CPU_LEVELS] = CPU_TABLE(&json_scalar, &json_avx2, &json_avx512, &json_neon);

/* ---- strings ---- */

/* What a backslash and this character stand for; 0 for what is no escape, or one with digits. */
static const uint8_t ESCAPES[256] = {['"'] = '"', ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                     ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

/* The value of four hexadecimal digits; more than 0xFFFF where they are not. */
static uint32_t hexadecimal(const uint8_t *digits) {
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t digit = digits[i], letter = digit | 0x20;
        if (digit - '0' > 9 && letter - 'a' > 5) return UINT32_MAX;
        value = value << 4 | (digit - '0' <= 9 ? digit - '0' : letter - 'a' + 10);
    }
    return value;
}

/* Decode the escape \uXXXX at `at`, or two that are a pair of surrogates. Returns the bytes that it takes, 0 if it stands
 * for no character. */
static size_t escaped_code(const uint8_t *at, const uint8_t *end, uint32_t *code) {
    if (end - at < 6) return 0;
    *code = hexadecimal(at + 2);
    if (*code - 0xD800 > 0x7FF) return *code <= 0xFFFF ? 6 : 0;
    if (*code >= 0xDC00 || end - at < 12 || at[6] != '\\' || at[7] != 'u') return 0;
    uint32_t low = hexadecimal(at + 8);
    if (low - 0xDC00 > 0x3FF) return 0;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return 12;
}

/* Read a string from behind its first quote to behind its last one, and return that place; NULL if it is malformed. Where
 * `copied` is true its characters are written to out, and their number of bytes to *length. */
static ALWAYS_INLINED const uint8_t *string(const struct json_kernels *kernels, const uint8_t *at, const uint8_t *end,
                                            int copied, uint8_t *out, size_t *length, int *escaped) {
    const uint8_t *const first = at;
    uint8_t *to = out;
    uint64_t others = 0;
    *escaped = 0;
    while (at < end) {
        uint64_t high, special = kernels->special(at, &high);
        size_t done = 0;
        others |= high;
        while (special) {
            const size_t place = lowest_bit(special);
            if (place >= (size_t)(end - at)) return NULL;
            if (copied) {
                memcpy(to, at + done, 64); /* of which place - done bytes are wanted: of a fixed size, it is no call */
                to += place - done;
            }
            const uint8_t *found = at + place;
            if (*found < 0x20) return NULL;
            if (*found == '"') {
                if (others && !kernels->is_utf8(first, (size_t)(found - first))) return NULL;
                if (copied) *length = (size_t)(to - out);
                return found + 1;
            }
            *escaped = 1;
            if (end - found < 2) return NULL;
            size_t taken = 2;
            uint8_t plain = ESCAPES[found[1]];
            if (plain) {
                if (copied) *to++ = plain;
            } else {
                uint32_t code;
                if (found[1] != 'u' || !(taken = escaped_code(found, end, &code))) return NULL;
                if (copied) to += utf8_encode(code, to);
            }
            done = place + taken;
            if (done >= 64) break;
            special &= ~UINT64_C(0) << done;
        }
        if (done < 64) {
            if (copied) {
                memcpy(to, at + done, 64);
                to += 64 - done;
            }
            done = 64;
        }
        at += done;
    }
    return NULL;
}

static const uint8_t *decode(const struct json_kernels *kernels, const uint8_t *at, const uint8_t *end, uint8_t *out,
                             size_t *length, int *escaped) {
    return string(kernels, at, end, 1, out, length, escaped);
}

static const uint8_t *skip_string(const struct json_kernels *kernels, const uint8_t *at, const uint8_t *end,
                                  int *escaped) {
    return string(kernels, at, end, 0, NULL, NULL, escaped);
}

/* ---- values ---- */

/* Skip white space but for LF, which ends a line. */
static inline const uint8_t *blanks(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
    return at;
}

static inline const uint8_t *digits(const uint8_t *at, const uint8_t *end) {
    const uint8_t *first = at;
    while (at < end && (uint8_t)(*at - '0') <= 9) at++;
    return at == first ? NULL : at;
}

static const uint8_t *number(const uint8_t *at, const uint8_t *end) {
    const uint8_t *const first = at;
    if (*at == '-') at++;
    if (at < end && *at == '0') {
        at++;
    } else if (!(at = digits(at, end))) {
        return NULL;
    }
    if (at < end && *at == '.' && !(at = digits(at + 1, end))) return NULL;
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        if (!(at = digits(at, end))) return NULL;
    }
    return at - first <= JSON_NUMBER ? at : NULL;
}

static inline const uint8_t *literal(const uint8_t *at, const uint8_t *end, const char *word, size_t length) {
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

/* Read a value that is neither an array nor an object; NULL if it is malformed or a number that is too long. */
static const uint8_t *scalar_value(const struct json_kernels *kernels, const uint8_t *at, const uint8_t *end) {
    int escaped;
    switch (*at) {
    case '"': return skip_string(kernels, at + 1, end, &escaped);
    case 't': return literal(at, end, "true", 4);
    case 'f': return literal(at, end, "false", 5);
    case 'n': return literal(at, end, "null", 4);
    default: return *at == '-' || (uint8_t)(*at - '0') <= 9 ? number(at, end) : NULL;
    }
}

/* Read a name and the colon behind it, and return where its value begins; NULL if it is malformed. */
static const uint8_t *skip_name(const struct json_kernels *kernels, const uint8_t *at, const uint8_t *end,
                                int *escaped, const uint8_t **stop) {
    if (at == end || *at != '"' || !(at = skip_string(kernels, at + 1, end, escaped))) return NULL;
    *stop = at - 1;
    at = blanks(at, end);
    if (at == end || *at != ':') return NULL;
    at = blanks(at + 1, end);
    return at < end ? at : NULL;
}

/* Skip a value that begins at `at` < end; NULL if it is malformed or nested too deep. */
static const uint8_t *skip_value(const struct json_kernels *kernels, const uint8_t *at, const uint8_t *end) {
    uint64_t is_object[JSON_DEPTH / 64] = {0};
    size_t depth = 0;
    int escaped;
    const uint8_t *stop;
    for (;;) {
        if (*at == '{' || *at == '[') {
            const uint64_t object = *at == '{', bit = UINT64_C(1) << depth % 64;
            if (depth == JSON_DEPTH) return NULL;
            is_object[depth / 64] = (is_object[depth / 64] & ~bit) | (object ? bit : 0);
            depth++;
            at = blanks(at + 1, end);
            if (at == end) return NULL;
            if (*at != (object ? '}' : ']')) {
                if (object && !(at = skip_name(kernels, at, end, &escaped, &stop))) return NULL;
                continue;
            }
            depth--;
            at++;
        } else if (!(at = scalar_value(kernels, at, end))) {
            return NULL;
        }
        for (;;) { /* behind a value */
            if (depth == 0) return at;
            const int object = is_object[(depth - 1) / 64] >> (depth - 1) % 64 & 1;
            at = blanks(at, end);
            if (at == end) return NULL;
            if (*at == ',') {
                at = blanks(at + 1, end);
                if (at == end || (object && !(at = skip_name(kernels, at, end, &escaped, &stop)))) return NULL;
                break;
            }
            if (*at != (object ? '}' : ']')) return NULL;
            depth--;
            at++;
        }
    }
}

/* ---- lines ---- */

enum { TEXT_MISSING, TEXT_FOUND, TEXT_OF_ANOTHER_KIND };

/* Read the object at `at` < end and return the place behind it; NULL where it is malformed or its text is no string. */
static const uint8_t *object(const struct json_kernels *kernels, const struct json_names *names, const uint8_t *at,
                             const uint8_t *end, struct json_row *row, uint8_t *out) {
    int text = TEXT_MISSING, escaped;
    if (*at != '{') return NULL;
    for (size_t i = 0; i < JSON_KEYS; i++) row->keys[i].form = JSON_MISSING;
    do {
        const uint8_t *name = blanks(at + 1, end), *stop, *value;
        value = skip_name(kernels, name, end, &escaped, &stop);
        if (!value || escaped) return NULL;
        name++;
        unsigned wanted = 0; /* a bit for each of the names: several may be equal */
        for (size_t i = 0; i < names->count; i++) {
            const int equal = names->length[i] == (size_t)(stop - name) && !memcmp(names->name[i], name, names->length[i]);
            wanted |= (unsigned)equal << i;
        }
        escaped = 1;
        if (wanted && *value == '"') {
            at = wanted & 1 ? decode(kernels, value + 1, end, out, &row->length, &escaped)
                            : skip_string(kernels, value + 1, end, &escaped);
        } else {
            at = skip_value(kernels, value, end);
        }
        if (!at) return NULL;
        if (wanted & 1) {
            text = *value == '"' || *value == 'n' ? TEXT_FOUND : TEXT_OF_ANOTHER_KIND;
            if (*value == 'n') row->length = 0;
        }
        for (size_t i = 0; i < JSON_KEYS; i++) {
            if (!(wanted >> (i + 1) & 1)) continue;
            row->keys[i] = escaped ? (struct json_member){value, at, JSON_VALUE}
                                   : (struct json_member){value + 1, at - 1, JSON_PLAIN_STRING};
        }
        at = blanks(at, end);
        if (at == end) return NULL;
    } while (*at == ',');
    return *at == '}' && text == TEXT_FOUND ? at + 1 : NULL;
}

const uint8_t *json_line(const struct json_kernels *kernels, const struct json_names *names, const uint8_t *at,
                         const uint8_t *end, struct json_row *row, uint8_t *out) {
    const uint8_t *behind = at;
    while (behind < end && (*behind == ' ' || (*behind >= '\t' && *behind <= '\r' && *behind != '\n'))) behind++;
    row->state = JSON_BLANK;
    row->length = 0;
    if (behind < end && *behind != '\n') {
        behind = object(kernels, names, blanks(at, end), end, row, out);
        if (behind) behind = blanks(behind, end);
        row->state = behind && (behind == end || *behind == '\n') ? JSON_DECIDED : JSON_UNDECIDED;
    }
    if (row->state == JSON_UNDECIDED) {
        row->length = 0;
        behind = memchr(at, '\n', (size_t)(end - at));
    }
    return behind && behind < end ? behind + 1 : end;
}
