/* k-mers of DNA: sequences of FASTA and FASTQ read in pieces, and samples of the hashes of their canonical k-mers.
 *
 * A k-mer is k consecutive letters A, C, G, T; the canonical one of a k-mer and its reverse complement is the first in the
 * alphabet. Its hash is the first word of MurmurHash3_x64_128 (A. Appleby) of its ASCII letters with the seed 42, as in
 * Mash and sourmash. A sample is the hashes up to a bound: every k-mer is in all samples of the sequences that have it, or
 * in none (FracMinHash: L. Irber et al., "Lightweight compositional analysis of metagenomes with FracMinHash and minimum
 * metagenome covers", 2022).
 *
 * Nothing is packed into two bits: the k-mers of a block are read where they are, in the letters and in the reverse
 * complement of the whole block, in words of eight letters. So any k up to 64 takes the same steps.
 *
 * Contract: nothing is allocated, nothing fails but the parser, which says so; the arrays are the caller's. Behind the
 * letters, KMERS_SLACK bytes can be read, whatever they hold. */
#ifndef LSHFAST_KMERS_H
#define LSHFAST_KMERS_H

#include "cpu/cpu.h"

#include <stddef.h>
#include <stdint.h>

#define KMERS_MOST 64   /* the longest k-mer */
#define KMERS_SLACK 128 /* bytes */

/* The letters of a sequence or file that are looked at for amino acids. */
#define KMERS_LOOKED 1024

/* The k-mers that are hashed at a time. */
#define KMERS_BLOCK 1024

struct kmers_kernels {
    /* Write the hashes of n k-mers that are at most `most` to out, in order, and return how many these are. k-mer i begins
     * at letters + i, and its reverse complement at complement + (n - 1 - i). */
    size_t (*hash)(const uint8_t *letters, const uint8_t *complement, size_t n, unsigned k, uint64_t most, uint64_t *out);
};

extern const struct kmers_kernels kmers_scalar, kmers_avx512;
extern const struct kmers_kernels *const kmers_levels[CPU_LEVELS];

/* Write the hashes of the k-mers of n letters that are at most `most` to out, which has room for n, and return how many
 * these are. The letters are A, C, G, T, and 0, which is in no k-mer. 1 <= k <= KMERS_MOST. */
size_t kmers_sample(const struct kmers_kernels *kernels, const uint8_t *letters, size_t n, unsigned k, uint64_t most,
                    uint64_t *out);

/* Write the n characters of a sequence as letters: lower case as upper case, white space left out, and 0 for all others.
 * Return the number of letters. There is room for n + 1. */
size_t kmers_letters(const uint8_t *characters, size_t n, uint8_t *letters);

/* Compare two sketches of the smallest hashes, ascending and distinct: *all is the number of the smallest hashes of both
 * together, at most `bottom`, and *shared how many of these both have. Return the steps taken. */
size_t kmers_compare(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t bottom, size_t *shared, size_t *all);

enum kmers_event {
    KMERS_MORE,   /* all bytes are used */
    KMERS_RECORD, /* the header of a record has been read: the letters so far are of records before it */
    KMERS_FAULT
};

enum kmers_fault {
    KMERS_NO_FAULT,
    KMERS_NO_HEADER,    /* the first line begins with neither > nor @ */
    KMERS_NO_RECORD,    /* FASTQ: a line that must begin with @ does not */
    KMERS_NO_SEPARATOR, /* FASTQ: a record begins where the line + must be */
    KMERS_LONG_QUALITY  /* FASTQ: the quality has more characters than the sequence */
};

enum kmers_state {
    KMERS_START,
    KMERS_HEADER,
    KMERS_LINE,     /* the beginning of a line of a sequence */
    KMERS_SEQUENCE, /* inside of one */
    KMERS_PLUS,
    KMERS_QUALITY,
    KMERS_BETWEEN /* before a record of FASTQ */
};

/* What is known of a file so far; all zeros, but line 1 and what `name` is, in the beginning. */
struct kmers_parser {
    enum kmers_state state;
    enum kmers_fault fault;
    int fastq;
    uint64_t line, record_line;       /* from 1; the line of the last header */
    uint64_t letters;                 /* of all sequences */
    uint64_t length, quality;         /* letters of the last sequence, and characters of its quality */
    uint8_t *name;                    /* the last header without its mark, as far as there is room */
    size_t name_length, name_room;
    uint64_t header_length;           /* of all of it */
    uint64_t looked, amino;           /* letters at the beginning, up to KMERS_LOOKED, and those that only proteins have */
};

/* Read n bytes of FASTA or FASTQ, and write at most n letters, with room for n + 1 and a 0 between records; *used is the bytes that were
 * read, fewer than n only after a fault or, with `records`, after a header. A last byte '\n' ends a file: then the state is
 * KMERS_START for an empty file, and KMERS_PLUS, KMERS_QUALITY, or with `fastq` KMERS_LINE, for one that is cut off. */
enum kmers_event kmers_parse(struct kmers_parser *parser, const uint8_t *bytes, size_t n, int records, size_t *used,
                             uint8_t *letters, size_t *written);

/* What hash kernels share. */
#define KMERS_C1 UINT64_C(0x87C37B91114253D5)
#define KMERS_C2 UINT64_C(0x4CF5AD432745937F)
#define KMERS_SEED 42

#endif
