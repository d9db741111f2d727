"""Samples of shingles: the same in every text, and unbiased."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast import TokenSets, exact, shingle
from lshfast.kernels import sets
from tests.conftest import csr, rows_of
from tests.reference.text import word_shingles

WORDS = [f"w{number}" for number in range(600)]


@given(
    st.lists(
        st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 300), max_size=40),
        max_size=6,
    ),
    st.integers(1, 100) | st.integers(1, 2**64 - 1),
)
@example([[0, 2**64 - 1, 2**63, 2**32]], 2**63)
@example([[0, 25, 50, 51, 2**64 - 16, 2**64 - 1]], 25)
@example([[], [3, 3, 1], []], 1)
def test_kernel_keeps_the_multiples(rows, one_in):
    found = rows_of(*sets.sample(*csr(rows), one_in))
    assert found == [[token for token in row if token % one_in == 0] for row in rows]


def test_kernel_refuses_zero_and_bad_rows():
    with pytest.raises(ValueError, match="one_in must be at least 1, not 0"):
        sets.sample(*csr([[1]]), 0)
    with pytest.raises(ValueError, match="offsets must rise"):
        sets.sample(np.array([0, 2, 1]), np.zeros(2, np.uint64), 3)


@pytest.mark.one_case
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sample", [1, 2, 6, 25])
def test_the_sample_depends_on_the_shingle_only(sample, threads):
    """Also of texts that begin alike, whose beginnings are shingled once."""
    page = " ".join(WORDS)
    texts = [
        page,
        page + " and more",
        "before " + page,
        "",
        "one",
        *(page[: 40 * part] for part in range(40)),
    ]
    found = shingle(texts, size=10, sample=sample, threads=threads)
    kept = [
        [token for token in word_shingles(text, 10, 1) if token % sample == 0]
        for text in texts
    ]
    assert rows_of(found.offsets, found.tokens) == kept
    assert set(kept[0]) <= set(kept[1])
    assert set(kept[0]) <= set(kept[2])


def test_the_similarity_of_samples_is_unbiased():
    """Over the seeds whose samples of the union are not empty; and one in 25 shingles is kept."""
    a, b = " ".join(WORDS[:400]), " ".join(WORDS[100:560])
    of_a, of_b = (shingle([text], size=3) for text in (a, b))
    both = np.intersect1d(of_a.tokens, of_b.tokens).size
    union = of_a.counts[0] + of_b.counts[0] - both
    found, kept, trials = [], 0, 1500
    for seed in range(trials):
        sampled = shingle([a, b], size=3, sample=25, seed=seed, threads=1)
        rows = [set(row) for row in rows_of(sampled.offsets, sampled.tokens)]
        kept += len(rows[0] | rows[1])
        if rows[0] | rows[1]:
            found.append(len(rows[0] & rows[1]) / len(rows[0] | rows[1]))
    assert abs(np.mean(found) - both / union) < 4 * np.std(found) / len(found) ** 0.5
    assert (
        abs(kept / trials - union / 25)
        < 4 * (union / 25 * (1 - 1 / 25) / trials) ** 0.5
    )


def test_c11_a_join_of_samples_is_the_syntactic_clustering_of_1997():
    """List (document, tuple) for the sampled tuples, sort by tuple, count the tuples of each pair of documents."""
    rng = np.random.default_rng(5)
    texts = []
    for _ in range(20):
        words = [f"w{number}" for number in rng.integers(0, 5000, 700)]
        texts += [" ".join(words), " ".join(words[: rng.integers(500, 700)])]
    sampled = shingle(texts, size=10, sample=25)
    rows = [set(row) for row in rows_of(sampled.offsets, sampled.tokens)]
    of_tuple = {}
    for document, row in enumerate(rows):
        for token in row:
            of_tuple.setdefault(token, []).append(document)
    counts = {}
    for documents in of_tuple.values():
        for at, j in enumerate(documents):
            for i in documents[:at]:
                counts[i, j] = counts.get((i, j), 0) + 1
    alike = {
        (i, j): o / (len(rows[i]) + len(rows[j]) - o) for (i, j), o in counts.items()
    }
    expected = sorted(
        (i, j, similarity) for (i, j), similarity in alike.items() if similarity >= 0.5
    )
    assert exact.pairs(sampled, threshold=0.5).tolist() == expected
    assert len(expected) >= 15


@pytest.mark.parametrize(
    ("sample", "error", "message"),
    [
        (0, ValueError, r"sample must be in 1\.\.4294967296, not 0"),
        (2**32 + 1, ValueError, r"sample must be in 1\.\.4294967296, not 4294967297"),
        (2.0, TypeError, r"sample must be an int, not 2\.0"),
        (True, TypeError, "sample must be an int, not True"),
    ],
)
def test_bad_samples_are_refused(sample, error, message):
    with pytest.raises(error, match=message):
        shingle(["a b"], sample=sample)


def test_a_sample_of_a_short_text_may_be_empty():
    found = shingle(["a b c", "d e f"], size=3, sample=2**32)
    assert isinstance(found, TokenSets)
    assert found.counts.tolist() == [0, 0]


TEXTS = ["the cat sat on the mat and ran", "", "one", "the cat sat on the mat"] * 3
WAYS = [("word", 2), ("char", 5), ("stopword", 2)]


@pytest.mark.parametrize(("unit", "size"), WAYS)
@pytest.mark.parametrize(("sample", "threads"), [(1, 1), (3, 1), (2**31, 2)])
def test_tokens_of_32_bits(unit, size, sample, threads):
    """They are the upper halves of the tokens of 64 bits, in rows of the same lengths."""
    arguments = {"unit": unit, "size": size, "sample": sample, "threads": threads}
    long, short = (shingle(TEXTS, **arguments, bits=bits) for bits in (64, 32))
    assert short.tokens.dtype == np.uint64
    assert short.offsets.tolist() == long.offsets.tolist()
    assert short.tokens.tolist() == [token >> 32 for token in long.tokens.tolist()]


@pytest.mark.parametrize("bits", [0, 16, 33, 128, -32])
def test_tokens_have_32_or_64_bits(bits):
    with pytest.raises(ValueError, match=f"bits must be .*32.*64.* not {bits}"):
        shingle(["a b c"], bits=bits)
    with pytest.raises(TypeError, match="bits must be an int"):
        shingle(["a b c"], bits=float(bits))
