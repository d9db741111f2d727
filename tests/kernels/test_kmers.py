"""k-mers on every CPU level against the reference; FASTA and FASTQ in pieces; sketches of the smallest hashes."""

import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels.kmers import FAULTS, MOST_NAME_BYTES, KmerReader, bottom_shared
from tests.conftest import csr
from tests.reference import kmers

ALL = 2**64 - 1

# Letters of k-mers, around the words of eight letters and the blocks of 16 that are hashed.
LENGTHS = [
    1,
    2,
    7,
    8,
    9,
    15,
    16,
    17,
    21,
    23,
    24,
    25,
    31,
    32,
    33,
    40,
    47,
    48,
    49,
    51,
    55,
    56,
    63,
    64,
]

# Around the lanes (8), the block of k-mers (1024) and the piece of letters (32768).
SIZES = [0, 1, 7, 8, 9, 15, 16, 17, 1023, 1024, 1025, 2049]

# The first words of MurmurHash3_x64_128 with the seed 0, as other implementations publish them.
KNOWN = {"hello": 0xCBD8A7B341BD9B02, "hello, world": 0x342FAC623A5EBC8E}

characters = st.text(st.sampled_from("ACGTacgtNn- \t*xé"), max_size=90)


def letters_of(size, seed=1):
    return "".join(random.Random(seed).choices("ACGT", k=size))


def sampled(text, k, most=ALL, sizes=None):
    """Return the hashes of a sequence, given in parts of these sizes."""
    data, reader, found, at = text.encode("utf-8"), KmerReader(k, most), [], 0
    out = np.empty(len(data) + 1, np.uint64)
    for size in sizes or [len(data)]:
        part = data[at : at + size]
        found += out[: reader.sample(part, out, at == 0)].tolist()
        at += size
    return found


def test_known_values():
    """The reference gives them."""
    assert {text: kmers.murmur(text.encode(), 0) for text in KNOWN} == KNOWN
    assert kmers.murmur(b"", 0) == 0


@pytest.mark.parametrize("k", LENGTHS)
def test_all_lengths(level, k):
    for size in (k - 1, k, k + 6, k + 7, k + 8, k + 40):
        text = letters_of(size, k)
        assert sampled(text, k) == kmers.hashes(text, k)


@pytest.mark.parametrize("count", SIZES)
def test_all_sizes(level, count):
    text = letters_of(count + 20) if count else ""
    assert sampled(text, 21) == kmers.hashes(text, 21)


@given(characters, st.integers(1, 64))
@example("A" * 80, 8)
@example(
    "AT" * 40, 64
)  # palindromes: each k-mer equals its reverse complement, or the next one
@example("ACGT" * 20, 16)
@example("GATTACA" * 10 + "N" + "GATTACA" * 10, 31)
@example("NNN", 1)
def test_any_characters(level, text, k):
    assert sampled(text, k) == kmers.hashes(text, k)


def test_repeats_whose_first_words_are_equal(level):
    """The canonical k-mer is decided behind the first eight letters."""
    half = "ACGTTGCA"
    reverse = "".join(kmers.COMPLEMENT[c] for c in reversed(half))
    for middle in ("A", "C", "G", "T", "GATTACA"):
        text = half + middle + reverse
        assert sampled(text * 3, len(text)) == kmers.hashes(text * 3, len(text))


@given(st.data(), st.integers(1, 64))
def test_parts_of_a_sequence(level, data, k):
    text = data.draw(st.text(st.sampled_from("ACGTN \n"), max_size=200))
    sizes = data.draw(st.lists(st.integers(0, 70), max_size=6))
    assert sampled(text, k, sizes=[*sizes, len(text)]) == kmers.hashes(text, k)


def test_a_sequence_longer_than_a_piece(level):
    text = letters_of(70_000)
    found = sampled(text, 31, ALL // 50)
    assert found == [
        value
        for value in sampled(text[:35_000], 31) + sampled(text[34_970:], 31)
        if value <= ALL // 50
    ]
    assert len(found) == pytest.approx(1400, abs=4 * 1400**0.5)


def test_the_bound_is_included(level):
    values = sampled(letters_of(200), 21)
    for bound in sorted(values)[:3]:
        assert sampled(letters_of(200), 21, bound) == [
            value for value in values if value <= bound
        ]
    assert sampled(letters_of(200), 21, min(values) - 1) == []


def test_read_only_and_unaligned_characters(level):
    text = letters_of(100)
    buffer = np.frombuffer(b"x" + text.encode(), np.uint8)[1:]
    out = np.empty(100, np.uint64)
    assert out[
        : KmerReader(31, ALL).sample(buffer, out, True)
    ].tolist() == kmers.hashes(text, 31)


def read_in_pieces(data, k, sizes, records):
    """Return the records of a file as (name, line, hashes), or all of it as one; and what is wrong at its end."""
    reader, found, at = KmerReader(k, ALL), [], 0
    data += b"\n"
    own = None if records else [None, None, []]
    for size in [*sizes, len(data)]:
        part, place = data[at : at + size], 0
        out = np.empty(len(part), np.uint64)
        while place < len(part):
            place, count, begins = reader.read(part, place, out, records)
            if own is not None:
                own[2] += out[:count].tolist()
            else:
                assert count == 0
            if begins:
                own = [reader.name.removesuffix(b"\r"), reader.record_line, []]
                found.append(own)
        at += size
    reader.finish()
    return found if records else own[2]


names = st.text(st.sampled_from("ab >@+1"), max_size=8)
fasta_lines = st.lists(st.text(st.sampled_from("ACGTacgtN@+"), max_size=12), max_size=4)
ends = st.sampled_from(["\n", "\r\n"])


@given(
    st.lists(st.tuples(names, fasta_lines), min_size=1, max_size=5),
    ends,
    st.lists(st.integers(0, 9)),
    st.booleans(),
)
def test_fasta(level, records, end, sizes, separate):
    lines, line, expected = [], 1, []
    for name, sequence in records:
        expected.append([name.encode(), line, kmers.hashes("".join(sequence), 3)])
        lines += [f">{name}", *sequence]
        line += 1 + len(sequence)
    data = end.join(lines).encode()
    found = read_in_pieces(data, 3, sizes, separate)
    assert found == (
        expected if separate else [value for _, _, own in expected for value in own]
    )


bases = st.text(st.sampled_from("ACGTN"), max_size=12)


@given(
    st.lists(st.tuples(names, bases, st.sampled_from(["", " x", "@"]), st.data()), min_size=1, max_size=4),
    ends, st.lists(st.integers(0, 9)), st.booleans(), st.integers(1, 12),
)  # fmt: skip
def test_fastq(level, records, end, sizes, separate, width):
    """Also with sequences and qualities of several lines; a quality may begin with @ or +."""
    lines, expected = [], []
    for name, sequence, more, data in records:
        quality = data.draw(
            st.text(
                st.sampled_from("@+!I~>"),
                min_size=len(sequence),
                max_size=len(sequence),
            )
        )
        expected.append([name.encode(), len(lines) + 1, kmers.hashes(sequence, 3)])
        cut = [slice(at, at + width) for at in range(0, max(1, len(sequence)), width)]
        lines += [
            f"@{name}",
            *(sequence[part] for part in cut),
            f"+{more}",
            *(quality[part] for part in cut),
        ]
    found = read_in_pieces(end.join(lines).encode(), 3, sizes, separate)
    assert found == (
        expected if separate else [value for _, _, own in expected for value in own]
    )


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"", 2, "an empty file"),
        (b"\n \n", 4, "an empty file"),
        (b"ACGT\n", 1, "the first line must begin with > or @"),
        (b"\n\n;ACGT\n", 3, "the first line must begin with > or @"),
        (b"@a\nACGT\n", 4, "ends in the sequence"),
        (b"@a\nACGT\n+\n", 5, r"\(4\), not 0"),
        (
            b"@a\nACGT\n+\nIII\n",
            6,
            r"ends in the quality of this record; .* \(4\), not 3",
        ),
        (b"@a\nACGT\n+\nIIII\n@b\n", 7, "ends in the sequence"),
        (b"@a\nACGT\n+\nIIIII\n", 4, "more characters than the sequence"),
        (b"@a\nACGT\n+\nIIII\nACGT\n", 5, "must begin with @"),
        (b"@a\nACGT\n@b\n", 3, "must be between a sequence and its quality"),
        (b"@a\nACGT\n>b\n", 3, "must be between a sequence and its quality"),
    ],
)
def test_faults(data, line, reason):
    reader = KmerReader(3, ALL)
    with pytest.raises(ValueError, match=reason):  # noqa: PT012
        reader.read(data + b"\n", 0, np.empty(len(data) + 1, np.uint64), False)
        reader.finish()
    assert reader.line == line


def test_a_fault_remains():
    reader = KmerReader(3, ALL)
    for _ in range(2):
        with pytest.raises(ValueError, match="first line"):
            reader.read(b"ACGT", 0, np.empty(4, np.uint64), False)
    assert len(set(FAULTS.values())) == 4


def test_long_headers_are_cut():
    reader = KmerReader(3, ALL)
    data = b">" + b"n" * 5000 + b"\nACGT\n"
    assert reader.read(data, 0, np.empty(len(data), np.uint64), True) == (5002, 0, True)
    assert reader.name == b"n" * MOST_NAME_BYTES
    assert reader.cut
    assert reader.read(data, 5002, np.empty(len(data), np.uint64), True) == (
        len(data),
        2,
        False,
    )
    assert reader.letters == 4


def test_letters_and_lines_are_counted():
    reader = KmerReader(3, ALL)
    data = b">a b\r\nACGT\r\nNN\n\n>c\nA C\n"
    reader.read(data, 0, np.empty(len(data), np.uint64), False)
    assert (reader.letters, reader.line, reader.record_line) == (8, 7, 5)


sketches = st.lists(
    st.lists(st.integers(0, 30), unique=True, max_size=12).map(sorted),
    min_size=1,
    max_size=4,
)


@given(sketches, sketches, st.integers(1, 14))
def test_the_smallest_hashes_of_both(a, b, bottom):
    i, j = (
        side.ravel()
        for side in np.meshgrid(np.arange(len(a)), np.arange(len(b)), indexing="ij")
    )
    shared, together = bottom_shared(*csr(a), *csr(b), i, j, bottom)
    expected = [
        kmers.bottom_shared(a[x], b[y], bottom)
        for x, y in zip(i.tolist(), j.tolist(), strict=True)
    ]
    assert list(zip(shared.tolist(), together.tolist(), strict=True)) == expected


def test_errors():
    reader, out = KmerReader(21, ALL), np.empty(4, np.uint64)
    for k in (0, 65):
        with pytest.raises(ValueError, match=rf"k must be in 1..64, not {k}"):
            KmerReader(k, ALL)
    with pytest.raises(ValueError, match="room for 5 hashes, not 4"):
        reader.read(b"ACGTA", 0, out, False)
    with pytest.raises(ValueError, match="room for 5 hashes, not 4"):
        reader.sample(b"ACGTA", out, True)
    for start in (-1, 5):
        with pytest.raises(ValueError, match=r"start must be in 0\.\.4"):
            reader.read(b"ACGT", start, out, False)
    unaligned = np.frombuffer(bytearray(41), np.uint64, 5, 1)
    with pytest.raises(ValueError, match="out must be aligned"):
        reader.sample(b"ACGT", unaligned, True)
    one = csr([[1, 2]])
    row = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="bottom must be at least 1"):
        bottom_shared(*one, *one, row, row, 0)
    with pytest.raises(ValueError, match="must be rows"):
        bottom_shared(*one, *one, row, row + 1, 5)
    with pytest.raises(ValueError, match="same length"):
        bottom_shared(*one, *one, row, np.zeros(2, np.int64), 5)
    with pytest.raises(ValueError, match="offsets must ascend"):
        bottom_shared(np.array([0, 3]), one[1], *one, row, row, 5)


@settings(max_examples=20)
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_read_or_refused(level, data, records):
    for start in (b"", b">", b"@"):
        reader, at = KmerReader(2, ALL), 0
        whole = start + data + b"\n"
        out = np.empty(len(whole), np.uint64)
        try:
            while at < len(whole):
                at, count, _ = reader.read(whole, at, out, records)
                assert count <= len(whole)
            reader.finish()
        except ValueError as error:
            assert str(error)  # noqa: PT017
