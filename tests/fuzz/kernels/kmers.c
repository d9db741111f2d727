/* k-mers, FASTA and FASTQ in pieces, and comparisons of sketches. */
#include "sanitize_kmers.c"

static void check_input(void) {
    size_t kind = below(4), n = below(200), m = below(30);
    unsigned k = 1 + (unsigned)below(KMERS_MOST);
    if (kind == 0) check_sample(n, k, 1 + below(4));
    if (kind == 1) check_parser(n, 0);
    if (kind == 2) check_parser(n, 1);
    if (kind == 3) check_comparison(n % 30, m, 1 + below(40));
}
