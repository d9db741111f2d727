/* One strictly checked UTF-8 character, and its class and lower case from the pinned tables. */
#ifndef LSHFAST_UTF8_H
#define LSHFAST_UTF8_H

#include "text/unicode_tables.h"

#include <stddef.h>
#include <stdint.h>

/* The tables have the first four. SYMBOL is what separators other than white space, and marks that follow no word, are
 * where symbols are shingled. */
enum character_class { SEPARATOR, LETTER, MARK, SOLO, SYMBOL };

/* Whether a code point has the property White_Space, which has not changed since Unicode 6.3. */
static inline int is_white_space(uint32_t code) {
    if (code < 0x80) return code == ' ' || (code >= 0x09 && code <= 0x0D);
    if (code < 0x2000) return code == 0x85 || code == 0xA0 || code == 0x1680;
    return code <= 0x200A || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

/* Decode the character at text[0..left), left > 0. Returns its length in bytes, or 0 where it is not UTF-8:
 * a stray or missing continuation, an overlong form, a surrogate, or more than U+10FFFF. */
static inline size_t utf8_decode(const uint8_t *text, size_t left, uint32_t *code) {
    uint32_t first = text[0];
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    if (first < 0xC2 || left < 2 || (text[1] & 0xC0) != 0x80) return 0;
    uint32_t second = text[1] & 0x3F;
    if (first < 0xE0) {
        *code = (first & 0x1F) << 6 | second;
        return 2;
    }
    if (left < 3 || (text[2] & 0xC0) != 0x80) return 0;
    uint32_t third = text[2] & 0x3F;
    if (first < 0xF0) {
        *code = (first & 0x0F) << 12 | second << 6 | third;
        return *code >= 0x800 && (*code < 0xD800 || *code > 0xDFFF) ? 3 : 0;
    }
    if (first > 0xF4 || left < 4 || (text[3] & 0xC0) != 0x80) return 0;
    *code = (first & 0x07) << 18 | second << 12 | third << 6 | (text[3] & 0x3F);
    return *code >= 0x10000 && *code <= 0x10FFFF ? 4 : 0;
}

/* Write a code point as UTF-8; out holds 4 bytes. Returns the length. */
static inline size_t utf8_encode(uint32_t code, uint8_t *out) {
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xC0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (code & 0x3F));
    return 4;
}

static inline size_t unicode_property(uint32_t code) {
    return unicode_stage2[(size_t)unicode_stage1[code >> 7] * 128 + (code & 127)];
}

static inline uint32_t unicode_lower(uint32_t code) {
    return code + (uint32_t)unicode_delta[unicode_property(code)];
}

#endif
