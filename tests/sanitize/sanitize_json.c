/* The scanner of JSON lines (json.h) on good, mutated and random lines, on every CPU level, in heap buffers of exactly the
 * size that the contract states, so that the address sanitizer sees each byte read or written beside them. What is behind
 * the lines differs from level to level. Prints a digest of all results, which no compiler may change. */
#include "json/json.h"
#include "sanitize_kit.h"

#define MOST 400 /* bytes of lines */

static const char *const PARTS[] = {
    "{", "}", "[", "]", ":", ",", "\"", " ", "\n", "\r", "\t", "\\", "\\n", "\\\"", "\\u00e9", "\\ud83d\\ude00", "\\ud83d",
    "\\u12", "\"text\":", "\"id\":", "{\"text\": \"", "\"}", "\", ", "null", "true", "false", "-1.5e3", "0", "NaN", "\x01",
    "\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\x80", "\xe6\xbc",
    "{\"id\": [1, {\"a\": \"b\"}], \"text\": \"some words of a text\"}\n", "a longer part of a string, without anything special in it",
};

/* Write a row of random parts, and return its length. */
static size_t make_lines(uint8_t *data) {
    size_t length = 0, count = below(30);
    for (size_t i = 0; i < count; i++) {
        const char *part = PARTS[below(COUNT(PARTS))];
        size_t more = strlen(part);
        if (length + more > MOST) break;
        memcpy(data + length, part, more);
        length += more;
    }
    for (size_t changes = below(3); changes && length; changes--) {
        size_t at = below(length);
        data[at] = (uint8_t)below(256);
    }
    return length;
}

/* Scan all lines, and note what is found. */
static uint64_t scan(int level, const uint8_t *lines, size_t length) {
    static const struct json_names NAMES = {
        {(const uint8_t *)"text", (const uint8_t *)"id", (const uint8_t *)"\xc3\xa9", (const uint8_t *)"text"},
        {4, 2, 2, 4}, 4};
    uint8_t *data = buffer(length + JSON_PADDING), *out = buffer(length + JSON_PADDING);
    uint64_t before = digest;
    digest = 0;
    memcpy(data, lines, length);
    for (size_t i = 0; i < JSON_PADDING; i++) data[length + i] = (uint8_t)"\"}\\\n\x80"[((size_t)level + i / 3) % 5];
    const uint8_t *at = data, *end = data + length;
    size_t used = 0;
    while (at < end) {
        struct json_row row;
        const uint8_t *next = json_line(json_levels[level], &NAMES, at, end, &row, out + used);
        CHECK(next > at && next <= end && (next == end || next[-1] == '\n'));
        CHECK(!memchr(at, '\n', (size_t)(next - at) - 1));
        CHECK(row.state == JSON_DECIDED || row.length == 0);
        CHECK(row.length <= (size_t)(next - at));
        note((uint64_t)row.state);
        note((uint64_t)(next - at));
        note_bytes(out + used, row.length);
        for (size_t i = 0; row.state == JSON_DECIDED && i < JSON_KEYS; i++) {
            const struct json_member *member = &row.keys[i];
            note((uint64_t)member->form);
            if (member->form == JSON_MISSING) continue;
            CHECK(member->start >= at && member->start <= member->stop && member->stop <= next);
            note_bytes(member->start, (size_t)(member->stop - member->start));
        }
        used += row.length;
        at = next;
    }
    uint64_t found = digest;
    digest = before;
    free(data);
    free(out);
    return found;
}

static void check_lines(void) {
    uint8_t lines[MOST];
    for EACH_ROUND(round, 20000) {
        size_t length = make_lines(lines);
        uint64_t expected = scan(CPU_SCALAR, lines, length);
        for EACH_LEVEL(level) CHECK(scan(level, lines, length) == expected);
        note(expected);
    }
}

/* The most levels that may be nested, one less and one more. */
static void check_depth(void) {
    for (size_t depth = JSON_DEPTH - 1; depth < JSON_DEPTH + 2; depth++) {
        uint8_t lines[2 * JSON_DEPTH + 40];
        size_t length = 0;
        memcpy(lines, "{\"text\":\"a\",\"b\":", 16);
        length = 16;
        memset(lines + length, '[', depth);
        memset(lines + length + depth, ']', depth);
        length += 2 * depth;
        lines[length++] = '}';
        uint64_t expected = scan(CPU_SCALAR, lines, length);
        for EACH_LEVEL(level) CHECK(scan(level, lines, length) == expected);
        note(expected);
    }
}

static void check_utf8(void) {
    for EACH_ROUND(round, 20000) {
        size_t n = below(100), filled = 0;
        uint8_t *text = buffer(n);
        while (filled < n) {
            const char *part = PARTS[30 + below(8)];
            size_t more = strlen(part) < n - filled ? strlen(part) : n - filled;
            if (below(4) == 0) text[filled] = (uint8_t)below(256), more = 1;
            else memcpy(text + filled, part, more);
            filled += more;
        }
        int expected = json_is_utf8_scalar(text, n);
        for EACH_LEVEL(level) CHECK(json_levels[level]->is_utf8(text, n) == expected);
        note((uint64_t)expected);
        free(text);
    }
}

int main(void) {
    check_lines();
    check_depth();
    check_utf8();
    return print_digest();
}
