#include "text/samples.h"

#include <string.h>

#include "field.h"

void text_words_at(const uint8_t *text, size_t length, const uint64_t *points, size_t m, uint64_t *out) {
    if (length > 8 * m) {
        for (size_t i = 0; i < m; i++) {
            memcpy(out + i, text + wide_high(wide_product(points[i], length - 7)), sizeof *out);
        }
        return;
    }
    memset(out, 0, m * sizeof *out);
    if (length == 0) return;
    memcpy(out, text, length - length % 8);
    if (length < 8) memcpy(out, text, length);
    else if (length % 8) memcpy(out + length / 8, text + length - 8, 8);
}
