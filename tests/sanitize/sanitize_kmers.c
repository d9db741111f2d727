/* k-mers (kmers.h) of random sequences on every CPU level, FASTA and FASTQ of random bytes in pieces, and comparisons of
 * sketches, in heap buffers of exactly the size that the contracts state. Prints a digest of all results. */
#include "kmers/kmers.h"
#include "sanitize_kit.h"

static void check_sample(size_t n, unsigned k, size_t letters_of) {
    uint8_t *letters = buffer(n + KMERS_SLACK);
    for (size_t i = 0; i < n; i++) letters[i] = below(60) ? (uint8_t)"ACGT"[below(letters_of)] : 0;
    uint64_t most = below(2) ? UINT64_MAX : anything();
    uint64_t *scalar = numbers(n);
    size_t found = kmers_sample(&kmers_scalar, letters, n, k, most, scalar);
    CHECK(found <= n);
    for EACH_LEVEL(level) {
        uint64_t *own = numbers(n);
        CHECK(kmers_sample(kmers_levels[level], letters, n, k, most, own) == found);
        CHECK(same_bytes(own, scalar, found * sizeof *own));
        free(own);
    }
    note_all(scalar, found);
    free(letters);
    free(scalar);
}

static void check_parser(size_t n, int records) {
    static const char BYTES[] = ">@+\n\n\r ACGTNacgt\n";
    uint8_t *name = buffer(5);
    struct kmers_parser parser = {.line = 1, .name = name, .name_room = 5};
    size_t lines = 1;
    while (n && parser.fault == KMERS_NO_FAULT) {
        size_t size = 1 + below(n), used = 0, written = 0;
        uint8_t *bytes = buffer(size), *letters = buffer(size + 1);
        for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)BYTES[below(sizeof BYTES - 1)];
        if (lines == 1 && parser.state == KMERS_START) bytes[0] = records ? '>' : '@';
        enum kmers_event event = kmers_parse(&parser, bytes, size, records, &used, letters, &written);
        CHECK(used <= size && written <= used && parser.name_length <= 5);
        CHECK(used == size || event == KMERS_FAULT || (records && event == KMERS_RECORD));
        for (size_t i = 0; i < used; i++) lines += bytes[i] == '\n';
        CHECK(parser.line == lines);
        note_bytes(letters, written);
        note(event);
        n -= used ? used : 1;
        free(bytes);
        free(letters);
    }
    note(parser.letters);
    free(name);
}

static void check_comparison(size_t n, size_t m, size_t bottom) {
    uint64_t *a = numbers(n), *b = numbers(m), last = 0;
    for (size_t i = 0; i < n; i++) a[i] = last += 1 + below(3);
    last = 0;
    for (size_t i = 0; i < m; i++) b[i] = last += 1 + below(3);
    size_t shared, all, seen = 0, both = 0;
    kmers_compare(a, n, b, m, bottom, &shared, &all);
    for (uint64_t value = 1; value <= 3 * (n + m) && seen < bottom; value++) {
        int in_a = 0, in_b = 0;
        for (size_t i = 0; i < n; i++) in_a |= a[i] == value;
        for (size_t i = 0; i < m; i++) in_b |= b[i] == value;
        seen += in_a || in_b;
        both += in_a && in_b;
    }
    CHECK(shared == both && all == seen);
    note(shared);
    note(all);
    free(a);
    free(b);
}

int main(void) {
    for (unsigned k = 1; k <= KMERS_MOST; k++) {
        for EACH_ROUND(round, 12) {
            size_t n = below(round ? 200 : 3000);
            check_sample(n, k, 1 + below(4));
        }
    }
    for EACH_ROUND(round, 3000) {
        size_t n = below(120);
        check_parser(n, round % 2);
        n = below(30);
        size_t m = below(30);
        check_comparison(n, m, 1 + below(40));
    }
    return print_digest();
}
