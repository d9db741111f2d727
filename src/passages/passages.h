/* Shared passages: runs of units that occur in two texts. A unit is a word or a character (docs/reference/definitions.md), and a
 * text is the sequence of its units, each a number of 32 bits: equal numbers for equal words, or the lower case of a
 * code point. Before the first and behind each text stands a number that equals no other unit, so that no run leaves its
 * text.
 *
 * Contract of every function: nothing is allocated or kept, nothing is read or written outside of what is given, texts
 * may be NULL when their length is 0, and outputs may not overlap inputs. Functions over a whole text or a long array do
 * a bounded amount of work in a call; call them again with the same arguments until they are done. */
#ifndef LSHFAST_PASSAGES_H
#define LSHFAST_PASSAGES_H

#include "text/text.h"

/* A unit that equals no unit of other texts: a word that is not in the dictionary, or the place between two texts. */
#define PASSAGES_NO_UNIT UINT32_MAX

/* Bytes of lower case that a word of so many bytes may have: two bytes become at most three. */
static inline size_t passages_most_lower(size_t length) { return length + length / 2 + 4; }

/* ---- samples ---- */

/* Winnowing (Schleimer, Wilkerson and Aiken 2003): the samples of the windows first..stop - 1, the window q being
 * hashes[q..q + window). The sample of a window is its least hash, the last one among equals. A place that is the sample
 * of several windows is written once, with the first of these windows. *last is the sample of the window before `first`,
 * SIZE_MAX for none. places and lows hold stop - first numbers. Returns how many are written.
 * Each window has one sample, which depends on the hashes inside the window only. */
size_t passages_winnow(const uint64_t *hashes, size_t first, size_t stop, size_t window, size_t *last, int64_t *places,
                       int64_t *lows);

/* ---- texts to units ---- */

/* Where a text has been read to. Begin with zeros. */
struct passages_place {
    size_t at, characters, units; /* bytes, characters and units before this place */
};

/* Different words, numbered from 0 in the order of their first occurrence; each is kept in lower case, so that equal
 * numbers stand for equal words whatever their hashes are. */
struct passages_dictionary {
    struct token_hasher hasher; /* under a secret key, or a writer of texts could choose words that share a slot */
    uint64_t *slots;            /* of a power of two: the hash's high half, then the number + 1; 0 for none */
    size_t mask;                /* slots - 1 */
    uint64_t *ends;             /* where the bytes of each word end */
    uint8_t *bytes;
    size_t words, most_words; /* at most half the slots, and below 2^31 */
    size_t filled, room;      /* bytes */
};

enum passages_outcome {
    PASSAGES_DONE,       /* the text has ended */
    PASSAGES_UNFINISHED, /* `work` bytes were read */
    PASSAGES_FULL,       /* the dictionary has no room for the next word */
    PASSAGES_BAD         /* the text is not UTF-8, or has more than `most` units */
};

/* Write the numbers of a text's words to out[place->units], which holds `most` numbers, from a place on. Where `adding`,
 * new words are added to the dictionary; otherwise they are PASSAGES_NO_UNIT and the dictionary is only read. scratch
 * holds passages_most_lower(length) bytes. */
enum passages_outcome passages_number_words(struct passages_dictionary *dictionary, int adding, const uint8_t *text,
                                            size_t length, struct passages_place *place, size_t work, uint8_t *scratch,
                                            uint32_t *out, size_t most);

/* Put all words into new slots, which are zeros. */
void passages_fill_slots(struct passages_dictionary *dictionary);

/* Write the characters of a text in lower case. */
enum passages_outcome passages_number_characters(const uint8_t *text, size_t length, struct passages_place *place,
                                                 size_t work, uint32_t *out, size_t most);

/* Where a unit begins and ends. */
struct passages_bounds {
    int64_t start, end;                     /* bytes */
    int64_t first_character, end_character; /* characters */
};

/* Find the units wanted[*found..count), which rise, from a place on that is not behind the first of them; DONE if all are
 * found, BAD if the text has fewer. */
enum passages_outcome passages_locate_words(const uint8_t *text, size_t length, struct passages_place *place,
                                            size_t work, const int64_t *wanted, size_t count, size_t *found,
                                            struct passages_bounds *out);
enum passages_outcome passages_locate_characters(const uint8_t *text, size_t length, struct passages_place *place,
                                                 size_t work, const int64_t *wanted, size_t count, size_t *found,
                                                 struct passages_bounds *out);

/* Where passages_same_words has read to in two texts. Begin with zeros. */
struct passages_two_places {
    struct passages_place a, b;
};

/* Compare the words of two texts in lower case, from places on: DONE if all are equal, BAD where they differ or a text is not
 * UTF-8. scratch holds passages_most_lower(a_length) + passages_most_lower(b_length) bytes. */
enum passages_outcome passages_same_words(const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length,
                                          struct passages_two_places *places, size_t work, uint8_t *scratch);

/* ---- comparison ---- */

/* A run of `length` units at a[x] and at b[y]. */
struct passages_match {
    int64_t x, y, length;
};

/* Places that may begin equal runs: the k units at a[x[i]] and b[y[i]], and the windows low[i]..high[i] of `least` units
 * of b, with y[i] being inside each. Sorted by (x - y, y). */
struct passages_seeds {
    const int64_t *x, *y, *low, *high;
    size_t count;
};

/* Where passages_extend stands. Begin with zeros. */
struct passages_extension {
    size_t done; /* seeds */
    struct passages_match last;
    int written; /* whether `last` is in the output */
};

/* Write, for each seed, the longest equal run of a and b that contains its k units, once, if it contains one of its
 * windows. Runs end at the ends of a[0..n) and b[0..m). out holds `seeds` matches. Returns how many this call has written;
 * it is done when extension->done is the number of seeds. A call compares about `work` units, but each run whole. */
size_t passages_extend(const uint32_t *a, size_t n, const uint32_t *b, size_t m, const struct passages_seeds *seeds,
                       size_t k, size_t least, struct passages_extension *extension, size_t work,
                       struct passages_match *out);

/* Windows of b that have equal ones in a: run i is the windows of `least` units at b[y[i] + t] and a[x[i] + t], for
 * t < count[i]. The runs rise by y and do not overlap. */
struct passages_runs {
    const int64_t *x, *y, *count;
    size_t runs;
};

/* Where passages_cover stands. Begin with zeros. */
struct passages_covering {
    size_t run, cover; /* runs and covers done */
    int64_t reach;     /* the furthest end of a match that begins no later than the window in hand */
};

/* From left to right, write a match for each window of the runs that lies in none of the ranges starts[i]..ends[i] of b,
 * which are sorted by their starts, and in no match written before: the longest equal run that begins at the window.
 * out holds `room` > 0 matches. Returns how many are written; it is done when covering->run is the number of runs. */
size_t passages_cover(const uint32_t *a, size_t n, const uint32_t *b, size_t m, const struct passages_runs *runs,
                      const int64_t *starts, const int64_t *ends, size_t covers, size_t least,
                      struct passages_covering *covering, struct passages_match *out, size_t room);

/* The hashes of `count` > 0 windows of `length` units, the first of them at units[0]: sums of (unit + 1) * c^i mod p,
 * where power is c^length. */
void passages_hash_windows(const uint32_t *units, size_t count, size_t length, uint64_t c, uint64_t power,
                           uint64_t *out);

/* 1 if the units at a and at b are equal. */
int passages_equal(const uint32_t *a, const uint32_t *b, size_t length);

#endif
