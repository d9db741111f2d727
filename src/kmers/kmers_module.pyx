"""Samples of the hashes of k-mers: of sequences, and of FASTA and FASTQ that is read in pieces."""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memmove, memset

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, check_out, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil

cdef extern from "kmers/kmers.h":
    const size_t KMERS_SLACK
    const unsigned KMERS_MOST
    struct kmers_kernels:
        pass
    const kmers_kernels* const* kmers_levels
    size_t kmers_sample(const kmers_kernels*, const uint8_t*, size_t, unsigned, uint64_t, uint64_t*) nogil
    size_t kmers_letters(const uint8_t*, size_t, uint8_t*) nogil
    size_t kmers_compare(const uint64_t*, size_t, const uint64_t*, size_t, size_t, size_t*, size_t*) nogil
    enum kmers_event:
        KMERS_MORE
        KMERS_RECORD
        KMERS_FAULT
    enum kmers_fault:
        KMERS_NO_FAULT
        KMERS_NO_HEADER
        KMERS_NO_RECORD
        KMERS_NO_SEPARATOR
        KMERS_LONG_QUALITY
    enum kmers_state:
        KMERS_START
        KMERS_LINE
        KMERS_PLUS
        KMERS_QUALITY
    struct kmers_parser:
        kmers_state state
        kmers_fault fault
        int fastq
        uint64_t line, record_line, letters, length, quality
        uint8_t* name
        size_t name_length, name_room
        uint64_t header_length, looked, amino
    kmers_event kmers_parse(kmers_parser*, const uint8_t*, size_t, int, size_t*, uint8_t*, size_t*) nogil

cdef enum:
    PIECE = 1 << 15  # characters that are read, and whose k-mers are hashed, at a time
    NAME_BYTES = 1024  # of a header that are kept

# The longest k-mer, and the most bytes of a name.
MOST_LETTERS = KMERS_MOST
MOST_NAME_BYTES = NAME_BYTES

FAULTS = {
    KMERS_NO_HEADER: "neither FASTA nor FASTQ: the first line must begin with > or @",
    KMERS_NO_RECORD: "FASTQ: the line of a new record must begin with @",
    KMERS_NO_SEPARATOR: "FASTQ: a line that begins with + must be between a sequence and its quality",
    KMERS_LONG_QUALITY: "FASTQ: the quality has more characters than the sequence",
}


@cython.auto_pickle(False)
cdef class KmerReader:
    """Read sequences in pieces, and sample the hashes of their canonical k-mers.

    Parameters
    ----------
    k : int
        In 1..64.
    most : int
        Hashes up to this are sampled; an attribute, which may be changed.
    """

    cdef readonly unsigned k
    cdef public uint64_t most
    cdef kmers_parser _parser
    cdef uint8_t[::1] _letters, _name
    cdef size_t _kept

    def __cinit__(self, unsigned k, uint64_t most):
        if not 1 <= k <= KMERS_MOST:
            raise ValueError(f"k must be in 1..{KMERS_MOST}, not {k}")
        self.k, self.most, self._kept = k, most, 0
        self._letters = np.zeros(KMERS_MOST + PIECE + KMERS_SLACK + 1, np.uint8)
        self._name = np.zeros(NAME_BYTES, np.uint8)
        memset(&self._parser, 0, sizeof(self._parser))
        self._parser.line = 1
        self._parser.name, self._parser.name_room = &self._name[0], NAME_BYTES

    @property
    def line(self):
        """The line that is read, from 1."""
        return self._parser.line

    @property
    def record_line(self):
        """The line of the header of the record; 0 before the first."""
        return self._parser.record_line

    @property
    def letters(self):
        """The characters of all sequences, without white space."""
        return self._parser.letters

    @property
    def name(self):
        """The header of the record without its mark, bytes; at most `MOST_NAME_BYTES`."""
        return bytes(self._name[: self._parser.name_length])

    @property
    def cut(self):
        """Whether the header of the record is longer than `name`."""
        return self._parser.header_length > self._parser.name_length

    @property
    def amino_acids(self):
        """The share of the first letters since `look_again` that only proteins have, in 0..1; 0 without letters."""
        return self._parser.amino / self._parser.looked if self._parser.looked else 0.0

    def look_again(self):
        """Count amino acids in the letters that follow."""
        self._parser.looked = self._parser.amino = 0

    def read(self, const uint8_t[::1] data not None, Py_ssize_t start, uint64_t[::1] out not None, bint records):
        """Read FASTA or FASTQ from data[start:], and write hashes to `out`, which has room for one for each byte.

        Return how far the data was read, the number of hashes, and whether a record begins there (only with `records`):
        then its header has been read, and the hashes are of the record before it. ValueError says what is wrong in
        `line`. No k-mer is part of two records.
        """
        cdef size_t at, used = 0, written = 0, size, found = 0
        cdef uint64_t last_pause = 0
        cdef kmers_event event = KMERS_MORE
        if not 0 <= start <= len(data):
            raise ValueError(f"start must be in 0..{len(data)}, not {start}")
        if len(out) < len(data) - start:
            raise ValueError(f"out must have room for {len(data) - start} hashes, not {len(out)}")
        if self._parser.fault != KMERS_NO_FAULT:
            raise ValueError(FAULTS[self._parser.fault])
        if start == len(data):
            return start, 0, False
        check_out(&out[0], sizeof(uint64_t))
        cdef const kmers_kernels* kernels = kmers_levels[level_in_use()[0]]
        with nogil:
            at = start
            while at < <size_t>len(data):
                size = min(<size_t>PIECE, <size_t>len(data) - at)
                event = kmers_parse(&self._parser, &data[at], size, records, &used, &self._letters[self._kept], &written)
                at += used
                found += self._sample(kernels, written, &out[0] + found)
                if event == KMERS_FAULT or (records and event == KMERS_RECORD):
                    break
                pause(&last_pause)
        if event == KMERS_FAULT:
            raise ValueError(FAULTS[self._parser.fault])
        return at, found, bool(records and event == KMERS_RECORD)

    def finish(self):
        """Raise ValueError unless the file may end here; its last byte that was read was a line end.

        The error says what is wrong in the record of `record_line`.
        """
        if self._parser.state == KMERS_START:
            raise ValueError("an empty file; FASTA and FASTQ have at least one record")
        if self._parser.fastq and self._parser.state in (KMERS_LINE, KMERS_PLUS, KMERS_QUALITY):
            part = "sequence" if self._parser.state == KMERS_LINE else "quality"
            raise ValueError(
                f"FASTQ: the file ends in the {part} of this record; the quality must have as many characters as the "
                f"sequence ({self._parser.length}), not {self._parser.quality}"
            )

    def sample(self, const uint8_t[::1] characters not None, uint64_t[::1] out not None, bint begins):
        """Write the hashes of a part of a sequence to `out`, which has room for one for each character.

        The sequence begins, or is continued. Return the number of hashes.
        """
        cdef size_t at, size, written, found = 0
        cdef uint64_t last_pause = 0
        if len(out) < len(characters):
            raise ValueError(f"out must have room for {len(characters)} hashes, not {len(out)}")
        if len(characters) == 0:
            return 0
        check_out(&out[0], sizeof(uint64_t))
        cdef const kmers_kernels* kernels = kmers_levels[level_in_use()[0]]
        if begins:
            self._kept = 0
        with nogil:
            at = 0
            while at < <size_t>len(characters):
                size = min(<size_t>PIECE, <size_t>len(characters) - at)
                written = kmers_letters(&characters[at], size, &self._letters[self._kept])
                found += self._sample(kernels, written, &out[0] + found)
                at += size
                pause(&last_pause)
        return found

    cdef size_t _sample(self, const kmers_kernels* kernels, size_t written, uint64_t* out) noexcept nogil:
        """Hash the k-mers of the letters kept and written, and keep those that begin the next k-mers."""
        cdef size_t have = self._kept + written
        cdef size_t found = kmers_sample(kernels, &self._letters[0], have, self.k, self.most, out)
        self._kept = min(have, <size_t>(self.k - 1))
        memmove(&self._letters[0], &self._letters[have - self._kept], self._kept)
        return found


def bottom_shared(const int64_t[::1] offsets not None, const uint64_t[::1] hashes not None,
                  const int64_t[::1] other_offsets not None, const uint64_t[::1] other_hashes not None,
                  const int64_t[::1] i not None, const int64_t[::1] j not None, Py_ssize_t bottom):
    """Compare sketches of the smallest hashes, row i of one collection with row j of the other, ascending and distinct.

    Return two arrays of int64: how many of the smallest hashes of both together both have, and how many of these there
    are, at most `bottom`.
    """
    cdef Py_ssize_t at, count = len(i), n = len(offsets) - 1, m = len(other_offsets) - 1
    cdef size_t work = 0, shared, every
    cdef uint64_t last_pause = 0
    if bottom < 1:
        raise ValueError(f"bottom must be at least 1, not {bottom}")
    if n < 0 or m < 0:
        raise ValueError("offsets must hold at least one number: n + 1 for n rows")
    if len(j) != count:
        raise ValueError(f"i and j must have the same length, not {count} and {len(j)}")
    offsets, other_offsets, i, j = aligned(offsets), aligned(other_offsets), aligned(i), aligned(j)
    hashes, other_hashes = aligned(hashes), aligned(other_hashes)
    if not (rows_are_valid(&offsets[0], n, len(hashes)) and rows_are_valid(&other_offsets[0], m, len(other_hashes))):
        raise ValueError("offsets must ascend within the hashes")
    for at in range(count):
        if not (0 <= i[at] < n and 0 <= j[at] < m):
            raise ValueError(f"i and j must be rows, below {n} and {m}, not {i[at]} and {j[at]}")
    shared_array, all_array = np.empty(count, np.int64), np.empty(count, np.int64)
    cdef int64_t[::1] both = shared_array, together = all_array
    cdef const uint64_t* a = &hashes[0] if len(hashes) else NULL
    cdef const uint64_t* b = &other_hashes[0] if len(other_hashes) else NULL
    with nogil:
        for at in range(count):
            work += 1 + kmers_compare(
                a + offsets[i[at]] if a else NULL, offsets[i[at] + 1] - offsets[i[at]],
                b + other_offsets[j[at]] if b else NULL, other_offsets[j[at] + 1] - other_offsets[j[at]],
                bottom, &shared, &every)
            both[at], together[at] = shared, every
            if work >= WORK:
                work = 0
                pause(&last_pause)
    return shared_array, all_array
