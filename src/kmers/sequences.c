#include "kmers/kmers.h"

#include <string.h>

#define SPACE 1

static const uint8_t letter_of[256] = {
    ['A'] = 'A', ['C'] = 'C', ['G'] = 'G', ['T'] = 'T', ['a'] = 'A', ['c'] = 'C', ['g'] = 'G', ['t'] = 'T',
    [' '] = SPACE, ['\t'] = SPACE, ['\r'] = SPACE, ['\n'] = SPACE, ['\v'] = SPACE, ['\f'] = SPACE,
};

size_t kmers_letters(const uint8_t *characters, size_t n, uint8_t *letters) {
    size_t written = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t letter = letter_of[characters[i]];
        letters[written] = letter;
        written += letter != SPACE;
    }
    return written;
}

/* Amino acids whose letters stand for no nucleotide or group of nucleotides: about a third of a protein. */
static const uint8_t is_amino[256] = {
    ['E'] = 1, ['F'] = 1, ['I'] = 1, ['L'] = 1, ['P'] = 1, ['Q'] = 1,
    ['e'] = 1, ['f'] = 1, ['i'] = 1, ['l'] = 1, ['p'] = 1, ['q'] = 1,
};

/* Count letters of amino acids in a part of a sequence, unless enough letters have been looked at. */
static void look(struct kmers_parser *parser, const uint8_t *bytes, size_t n) {
    const size_t left = KMERS_LOOKED - parser->looked;
    if (n > left) n = left;
    for (size_t i = 0; i < n; i++) {
        parser->looked += bytes[i] > ' ';
        parser->amino += is_amino[bytes[i]];
    }
}

/* The characters of a line that are not white space. */
static uint64_t visible(const uint8_t *bytes, size_t n) {
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++) count += bytes[i] > ' ';
    return count;
}

static enum kmers_event fault(struct kmers_parser *parser, enum kmers_fault what) {
    parser->fault = what;
    return KMERS_FAULT;
}

/* Begin a record after its mark. A 0 takes the place of the mark among the letters. */
static void begin(struct kmers_parser *parser, uint8_t *letters, size_t *written) {
    parser->state = KMERS_HEADER;
    parser->record_line = parser->line;
    parser->name_length = 0;
    parser->header_length = parser->length = parser->quality = 0;
    letters[(*written)++] = 0;
}

/* Read a part of a line, which may end in it. */
static enum kmers_event read_line(struct kmers_parser *parser, const uint8_t *bytes, size_t n, int whole, uint8_t *letters,
                                  size_t *written) {
    size_t count;
    switch (parser->state) {
    case KMERS_HEADER:
        count = parser->name_room - parser->name_length;
        if (count > n) count = n;
        if (count) memcpy(parser->name + parser->name_length, bytes, count);
        parser->name_length += count;
        parser->header_length += n;
        if (whole) parser->state = KMERS_LINE;
        return whole ? KMERS_RECORD : KMERS_MORE;
    case KMERS_PLUS:
        if (whole) parser->state = KMERS_QUALITY;
        return KMERS_MORE;
    case KMERS_QUALITY:
        parser->quality += visible(bytes, n);
        if (parser->quality > parser->length) return fault(parser, KMERS_LONG_QUALITY);
        if (whole && parser->quality == parser->length) parser->state = KMERS_BETWEEN;
        return KMERS_MORE;
    default:
        if (parser->looked < KMERS_LOOKED) look(parser, bytes, n);
        count = kmers_letters(bytes, n, letters + *written);
        *written += count;
        parser->length += count;
        parser->letters += count;
        parser->state = whole ? KMERS_LINE : KMERS_SEQUENCE;
        return KMERS_MORE;
    }
}

/* Decide by the first byte of a line what it is. Return whether the byte is a part of it. */
static int begins_line(struct kmers_parser *parser, uint8_t byte, uint8_t *letters, size_t *written) {
    switch (parser->state) {
    case KMERS_START:
        parser->fastq = byte == '@';
        if (byte == '>' || byte == '@') begin(parser, letters, written);
        else fault(parser, KMERS_NO_HEADER);
        return 0;
    case KMERS_BETWEEN:
        if (byte == '@') begin(parser, letters, written);
        else fault(parser, KMERS_NO_RECORD);
        return 0;
    case KMERS_LINE:
        if (!parser->fastq && byte == '>') {
            begin(parser, letters, written);
            return 0;
        }
        if (parser->fastq && byte == '+') {
            parser->state = KMERS_PLUS;
            return 0;
        }
        if (parser->fastq && (byte == '@' || byte == '>')) fault(parser, KMERS_NO_SEPARATOR);
        return 1;
    default: return 1;
    }
}

enum kmers_event kmers_parse(struct kmers_parser *parser, const uint8_t *bytes, size_t n, int records, size_t *used,
                             uint8_t *letters, size_t *written) {
    enum kmers_event event = KMERS_MORE;
    size_t at = 0;
    *written = 0;
    while (at < n && event != KMERS_FAULT && !(records && event == KMERS_RECORD)) {
        const int between = parser->state == KMERS_START || parser->state == KMERS_BETWEEN;
        event = KMERS_MORE;
        if (between && bytes[at] <= ' ') {
            parser->line += bytes[at++] == '\n';
            continue;
        }
        if (!begins_line(parser, bytes[at], letters, written)) at++;
        if (parser->fault != KMERS_NO_FAULT) {
            event = KMERS_FAULT;
            break;
        }
        const uint8_t *end = memchr(bytes + at, '\n', n - at);
        size_t stop = end == NULL ? n : (size_t)(end - bytes);
        event = read_line(parser, bytes + at, stop - at, end != NULL, letters, written);
        at = stop;
        if (end != NULL && event != KMERS_FAULT) {
            at++;
            parser->line++;
        }
    }
    *used = at;
    return event;
}
