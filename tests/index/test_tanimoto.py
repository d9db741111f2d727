"""TanimotoIndex and tanimoto_pairs: against the reference, beside a dict, files and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast._common.container import sealed
from lshfast._common.errors import FormatError
from lshfast.index.hamming import rows as hamming_rows
from lshfast.index.hamming.hamming_index import HammingIndex
from lshfast.index.hamming.hits import rows_of
from lshfast.index.hamming.similar import pairs_similar, tanimoto_pairs
from lshfast.index.hamming.tanimoto_index import TanimotoIndex
from lshfast.kernels.checksum import checksum
from tests.index.hamming_codes import grow
from tests.reference import hamming as reference


def sparse_codes(n, words, seed=1):
    """Return codes with few ones, some of them near copies of others, some without ones."""
    rng = np.random.default_rng(seed)
    bits = rng.random((n, words, 64)) < 0.3 * rng.random((n, 1, 1))
    bits[n // 2 :] = bits[: n - n // 2] ^ (rng.random((n - n // 2, words, 64)) < 0.01)
    bits[3:n:40] = False
    return np.packbits(bits, axis=-1, bitorder="little").view(np.uint64)[..., 0]


def answers(matches):
    return [[(match.key, match.similarity) for match in answer] for answer in matches]


@pytest.mark.one_case
@pytest.mark.parametrize("bits", [64, 128, 2048, 4096])
@pytest.mark.parametrize("n", [0, 1, 33, 130])
def test_queries(level, bits, n):
    codes, queries = sparse_codes(n, bits // 64), sparse_codes(5, bits // 64)
    index = TanimotoIndex(bits)
    assert index.insert(range(n), codes) == n == len(index)
    for least in (0.01, 0.5, 0.7, 1):
        wanted = [
            reference.similar(codes.tolist(), query, least)
            for query in queries.tolist()
        ]
        assert answers(index.within(queries, least, threads=2)) == wanted
    for k in (1, 10, n + 5):
        wanted = [
            reference.similar(codes.tolist(), query)[:k] for query in queries.tolist()
        ]
        assert answers(index.query(queries, k)) == wanted
    assert answers(index.within(queries)) == answers(index.within(queries, 0.7))
    assert index.within(queries[0]) == index.within(queries[:1])[0]
    assert index.query(queries[0], 1) == index.query(queries[:1], 1)[0]
    assert (
        [*index.pairs(0.5)]
        == reference.similar_pairs(codes.tolist(), 0.5)
        == [*tanimoto_pairs(codes, 0.5)]
    )


@pytest.mark.slow
@pytest.mark.few_cases
@pytest.mark.parametrize("words", [1, 3])
def test_queries_of_several_segments(level, words, monkeypatch):
    """Rows that were inserted in many batches, some removed and some replaced, are in segments and in none."""
    monkeypatch.setattr(hamming_rows, "TAIL_ROWS", 16)
    codes = sparse_codes(300, words)
    index = TanimotoIndex(64 * words, threshold=0.4, on_duplicate="replace")
    model = grow(index, codes)
    assert len(index._entries.view().segments) > 1
    names, held, queries = [*model], [*model.values()], codes[::20]
    assert [*index] == names
    wanted = [
        [(names[row], s) for row, s in reference.similar(held, query, 0.4)]
        for query in queries.tolist()
    ]
    assert answers(index.within(queries)) == wanted
    for k in (1, 5, 1000):
        wanted = [
            [(names[row], s) for row, s in reference.similar(held, query)[:k]]
            for query in queries.tolist()
        ]
        assert answers(index.query(queries, k)) == wanted
    assert [*index.pairs()] == [
        (names[i], names[j], s) for i, j, s in reference.similar_pairs(held, 0.4)
    ]
    index.verify()
    assert index.stats().entries == len(model)


@pytest.mark.slow
def test_many_queries_are_answered_in_their_order(monkeypatch):
    """Queries are ordered by their numbers of ones, and searched in pieces by several threads."""
    for module in ("code_index", "tanimoto_index"):
        monkeypatch.setattr(f"lshfast.index.hamming.{module}.PIECE_QUERIES", 7)
    codes, index = sparse_codes(120, 4), TanimotoIndex(256)
    index.insert(range(120), codes)
    wanted = [reference.similar(codes.tolist(), query, 0.6) for query in codes.tolist()]
    for threads in (1, 2, 5):
        assert answers(index.within(codes, 0.6, threads=threads)) == wanted
        assert answers(index.query(codes, 2, threads=threads)) == [
            reference.similar(codes.tolist(), query)[:2] for query in codes.tolist()
        ]


@settings(max_examples=60)
@given(
    data=st.data(),
    words=st.sampled_from([1, 2, 4]),
    least=st.sampled_from([0.1, 1 / 3, 0.5, 2 / 3, 0.7, 0.9, 1]),
)
def test_pairs_of_any_codes(data, words, least):
    word = st.sampled_from([0, 1, 3, 7, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
    rows = data.draw(
        st.lists(st.lists(word, min_size=words, max_size=words), max_size=25)
    )
    codes = np.array(rows, np.uint64).reshape(-1, words)
    assert [*tanimoto_pairs(codes, least)] == reference.similar_pairs(
        codes.tolist(), least
    )


def test_pairs_of_several_pieces():
    codes, steps = sparse_codes(200, 2), []
    found = pairs_similar(codes, 0.6, 2, lambda *step: steps.append(step), piece=11)
    left, right = rows_of(found)
    wanted = [(i, j) for i, j, _ in reference.similar_pairs(codes.tolist(), 0.6)]
    assert [*zip(left.tolist(), right.tolist(), strict=True)] == wanted
    assert steps[-1] == ("pairs", len(steps), len(steps))
    assert len(steps) > 10


def test_codes_without_ones_are_never_found():
    index = TanimotoIndex(64)
    index.insert(["none", "one"], np.array([[0], [1]], np.uint64))
    assert index.query(np.array([[0], [1], [2]], np.uint64)).similarity.tolist() == [
        1.0
    ]
    assert index.within(np.array([[0]], np.uint64), 1e-9)[0] == []
    assert len(tanimoto_pairs(np.zeros(3, np.uint64), 0.5)) == 0


# Files


@pytest.mark.parametrize("keys", [[5, -7, 2**62], ["a", "", "schön"], []])
@pytest.mark.parametrize("bits", [60, 64, 130, 4096])
def test_files(tmp_path, keys, bits):
    codes = sparse_codes(len(keys), -(-bits // 64))
    codes[:, -1] &= np.uint64(2 ** (bits - 64 * (codes.shape[1] - 1)) - 1)
    index = TanimotoIndex(bits, threshold=0.9)
    index.insert(keys, codes)
    index.save(tmp_path / "codes.tan")
    index.save(tmp_path / "codes.tan")  # replaces it
    other = TanimotoIndex.open(tmp_path / "codes.tan")
    assert (other.bits, other.threshold, [*other]) == (bits, 0.9, keys)
    assert other.items()[1].tolist() == codes.tolist()
    with pytest.raises(FormatError, match="not a Hamming index"):
        HammingIndex.open(tmp_path / "codes.tan")
    with pytest.raises(FileExistsError):
        HammingIndex().save(tmp_path / "codes.tan")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bits": 0}, "0 bits"),
        ({"bits": 4097}, "4097 bits"),
        ({"bits": 60}, "one has bits at 60"),
        ({"threshold": 0.0}, r"threshold 0\.0"),
        ({"threshold": 1.5}, r"threshold 1\.5"),
        ({"threshold": float("nan")}, "threshold nan"),
        ({"n": 2**63}, "entries are out of range"),
        ({"n": 3}, "the header requires"),
    ],
)
def test_files_with_wrong_content_are_refused(tmp_path, changes, message):
    path = tmp_path / "codes.tan"
    index = TanimotoIndex(64)
    index.insert([5, 6], np.array([[2**63], [1]], np.uint64))
    index.save(path)
    header = TanimotoIndex._file.container.struct
    data = path.read_bytes()
    names = [
        "magic",
        "version",
        "kind",
        "bits",
        "threshold",
        "n",
        "key_bytes",
        "key_sum",
        "code_sum",
    ]
    fields = dict(zip(names, header.unpack(data[: header.size]), strict=True)) | changes
    path.write_bytes(
        sealed(header.pack(*fields.values())).ljust(128, b"\0") + data[128:]
    )
    with pytest.raises(FormatError, match=message):
        TanimotoIndex.open(path)


def test_every_damaged_byte_is_found(tmp_path):
    path = tmp_path / "codes.tan"
    index = TanimotoIndex(64)
    index.insert(["a", "bb"], np.array([[3], [1]], np.uint64))
    index.save(path)
    data = path.read_bytes()
    assert checksum(np.frombuffer(data[192:], np.uint8)) != checksum(b"")
    for at in [*range(64), *range(128, 128 + 27), *range(192, len(data))]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        with pytest.raises(
            FormatError, match=r"codes\.tan: (header|keys|codes|the file)"
        ):
            TanimotoIndex.open(path)


# Bad input

INDEX = TanimotoIndex(100)
CODE, CODES = np.zeros(2, np.uint64), np.zeros((3, 2), np.uint64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TanimotoIndex(0), ValueError, r"bits must be in 1\.\.4096, not 0"),
        (lambda: TanimotoIndex(4097), ValueError, r"bits must be in 1\.\.4096, not 4097"),
        (lambda: TanimotoIndex(threshold=0), ValueError, "threshold must be above 0 and at most 1, not 0"),
        (lambda: TanimotoIndex(threshold=1.01), ValueError, r"above 0 and at most 1, not 1\.01"),
        (lambda: TanimotoIndex(threshold="0.7"), TypeError, "threshold must be a number, not '0.7'"),
        (lambda: TanimotoIndex(on_duplicate="keep"), ValueError, "on_duplicate must be one of"),
        (lambda: INDEX.within(CODE, float("nan")), ValueError, "above 0 and at most 1, not nan"),
        (lambda: INDEX.within(CODE, True), TypeError, "threshold must be a number, not True"),
        (lambda: INDEX.within(CODES[:, :1]), ValueError, r"codes must have shape \(n, 2\) or \(2,\), not \(3, 1\)"),
        (lambda: INDEX.within(~CODES), ValueError, "zeros in bit 100 and above, but row 0 has not"),
        (lambda: INDEX.query(CODE, 0), ValueError, "k must be at least 1, not 0"),
        (lambda: INDEX.insert([1, 2], CODES), ValueError, "a key for each code, not 2 for 3"),
        (lambda: INDEX.pairs(-1), ValueError, "above 0 and at most 1, not -1"),
        (lambda: tanimoto_pairs(CODES, 0), ValueError, "above 0 and at most 1, not 0"),
        (lambda: tanimoto_pairs(CODES.astype(np.float32), 0.5), TypeError, "codes must be uint64, .* not float32"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
