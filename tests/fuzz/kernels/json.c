/* Lines of JSON, as parts or as any bytes, and UTF-8. */
#include "sanitize_json.c"

static void check_input(void) {
    size_t kind = below(4);
    if (kind == 0) check_lines();
    if (kind == 1) check_utf8();
    if (kind < 2) return;
    size_t length;
    uint8_t *lines = rest_of_input(&length);
    uint64_t expected = scan(CPU_SCALAR, lines, length);
    for EACH_LEVEL(level) {
        CHECK(scan(level, lines, length) == expected);
        CHECK(json_levels[level]->is_utf8(lines, length) == json_is_utf8_scalar(lines, length));
    }
    free(lines);
}
