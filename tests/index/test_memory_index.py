"""What LSHForest, LSHEnsemble, HammingIndex and TanimotoIndex have in common: files, damage, figures and pairs."""

from types import SimpleNamespace

import numpy as np
import pytest

from lshfast import (
    FormatError,
    HammingIndex,
    LSHEnsemble,
    LSHForest,
    LSHIndex,
    MinHasher,
    TanimotoIndex,
    TokenSets,
)
from lshfast._common.container import sealed

ROWS = [range(i, i + 50 + i % 7) for i in range(0, 900, 3)]
SETS = TokenSets.from_sets(ROWS)
SIGNATURES = MinHasher(64).sketch(SETS)
NAMES = {"ints": [*range(7, 307)], "strs": [f"schön {i}" for i in range(300)]}


def made(kind, keys, chosen=slice(None)):
    """Return an index, its keys, and a function that returns its answers."""
    if kind == "forest":
        index = LSHForest(64, recall=0.99)
        index.insert(keys, SIGNATURES[chosen])
        return index, lambda index: [*index.query(SIGNATURES, 5)]
    if kind == "ensemble":
        index = LSHEnsemble(0.6, 64, recall=0.99, slack=0.5, partitions=3)
        index.insert(keys, SIGNATURES[chosen], SETS.counts[chosen])
        return index, lambda index: [*index.query(SIGNATURES, SETS.counts)]
    index = TanimotoIndex(64, threshold=0.5) if kind == "tanimoto" else HammingIndex(64)
    index.insert(keys, SIGNATURES[chosen, :1])
    return index, lambda index: [*index.query(SIGNATURES[:, :1], 3)]


KINDS = ["forest", "ensemble", "hamming", "tanimoto"]


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_index_is_the_same(kind, names, tmp_path):
    index, answers = made(kind, NAMES[names])
    index.save(tmp_path / "index")
    index.save(tmp_path / "index")  # replaces it
    other = type(index).open(tmp_path / "index")
    assert repr(other) == repr(index)
    assert [*other] == [*index] == NAMES[names]
    assert answers(other) == answers(index)
    assert [*other.pairs()] == [*index.pairs()]
    assert other.describe() == index.describe()
    with pytest.raises(ValueError, match="in the index already"):
        other.insert(*other_arguments(kind, NAMES[names][:1]))
    replacing = type(index).open(tmp_path / "index", on_duplicate="replace")
    assert replacing.insert(*other_arguments(kind, NAMES[names][:1])) == 1
    with pytest.raises(ValueError, match="on_duplicate must be one of"):
        type(index).open(tmp_path / "index", on_duplicate="keep")


def other_arguments(kind, keys):
    if kind in ("hamming", "tanimoto"):
        return keys, SIGNATURES[:1, :1]
    return (keys, SIGNATURES[:1], SETS.counts[:1])[: 3 if kind == "ensemble" else 2]


@pytest.mark.parametrize("kind", KINDS)
def test_entries_after_changes_are_saved(kind, tmp_path):
    index, _ = made(kind, NAMES["ints"])
    index.remove(NAMES["ints"][::3])
    index.insert(*other_arguments(kind, [5]))
    index.verify()
    index.save(tmp_path / "index")
    other = type(index).open(tmp_path / "index")
    other.verify()
    rows = [
        {
            key: row.tolist()
            for keys, columns in each._batches()
            for key, row in zip(keys, columns[0], strict=True)
        }
        for each in (index, other)
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == len(other) == 201
    assert index.nbytes == index.stats().nbytes >= other.stats().nbytes > 0
    assert other.stats().entries == 201


@pytest.mark.one_case
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_found(kind, tmp_path):
    path = tmp_path / "index"
    index, _ = made(kind, NAMES["strs"][:2], slice(2))
    index.save(path)
    data = path.read_bytes()
    head = type(index)._file.container.size
    # What is between the sections is checked, too.
    places = [*range(max(head, 128) + 40), len(data) - 1]
    for at in places:
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        with pytest.raises(
            FormatError,
            match=r"index: (header|keys|codes|signatures|sizes|the file|the bytes)",
        ):
            type(index).open(path)
    for length in (0, 5, head - 1, head, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(FormatError, match="index: "):
            type(index).open(path)
    LSHIndex().save(path, overwrite=True)
    with pytest.raises(FormatError, match="header: not a"):
        type(index).open(path)
    with pytest.raises(FileExistsError):
        index.save(path)


@pytest.mark.parametrize(
    ("kind", "place", "value", "message"),
    [
        ("forest", 3, 0, "0 slots of scheme"),
        ("forest", 3, 2**17, "131072 slots of scheme"),
        ("forest", 4, 65, "65 trees"),
        ("forest", 6, 1.5, "recall 1.5"),
        ("forest", 6, float("nan"), "recall nan"),
        ("forest", 7, b"slow", "scheme 'slow'"),
        ("forest", 7, b"\xff", "scheme"),
        ("ensemble", 8, 0, "partitions must be"),
        ("ensemble", 9, 1.5, "threshold must be"),
        ("ensemble", 10, -1.0, "slack must be"),
    ],
)
def test_fields_out_of_range_are_refused(kind, place, value, message, tmp_path):
    index, _ = made(kind, NAMES["ints"])
    index.save(tmp_path / "index")
    data, head = (tmp_path / "index").read_bytes(), type(index)._file.container
    fields = [*head.struct.unpack_from(data)]
    fields[place] = value
    (tmp_path / "index").write_bytes(
        sealed(head.struct.pack(*fields)) + data[head.size :]
    )
    with pytest.raises(FormatError, match=message):
        type(index).open(tmp_path / "index")


@pytest.mark.parametrize("kind", ["hamming", "tanimoto"])
def test_the_image_hash_of_the_entries_is_saved(kind, tmp_path):
    """A file without one has version 1, as before; damage of its name is found."""
    index, answers = made(kind, NAMES["strs"])
    index.save(tmp_path / "plain")
    assert type(index).open(tmp_path / "plain").image_hash is None
    index.image_hash = "phash 1"
    index.save(tmp_path / "named")
    other = type(index).open(tmp_path / "named")
    assert (other.image_hash, answers(other)) == ("phash 1", answers(index))
    assert "image_hash='phash 1'" in repr(other)
    plain, named = ((tmp_path / name).read_bytes() for name in ("plain", "named"))
    assert (plain[8], named[8], plain[128:]) == (1, 2, named[128:])
    for at in range(128):
        (tmp_path / "named").write_bytes(
            named[:at] + bytes([named[at] ^ 0x10]) + named[at + 1 :]
        )
        with pytest.raises(FormatError):
            type(index).open(tmp_path / "named")
    for name in ("pdq", "pdq x", "md5 1", "pdq 2\n", ""):
        with pytest.raises(ValueError, match="such as 'pdq 2'"):
            index.image_hash = name


def test_sizes_that_do_not_fit_their_signatures_are_refused(tmp_path):
    file, path = LSHEnsemble._file, tmp_path / "index"
    index, _ = made("ensemble", [1, 2], slice(2))
    for sizes, message in (
        ([0, 1], "not that of an empty set"),
        ([2**63, 1], r"sizes must be in 0..2\*\*53"),
    ):
        columns = [SIGNATURES[:2], np.array(sizes, np.uint64).reshape(-1, 1)]
        file.write(
            path, index._fields(), np.array([1, 2], np.int64), columns, True, None
        )
        with pytest.raises(FormatError, match=message):
            LSHEnsemble.open(path)
    file.write(
        path,
        index._fields(),
        np.array([1, 1], np.int64),
        [SIGNATURES[:2], SETS.counts[:2, None]],
        True,
        None,
    )
    with pytest.raises(FormatError, match="in the index already, or twice"):
        LSHEnsemble.open(path)


@pytest.mark.slow
def test_pairs_of_a_forest_are_those_of_all_comparisons():
    index, _ = made("forest", NAMES["ints"])
    equal = (SIGNATURES[:, None] == SIGNATURES).mean(axis=2)
    np.fill_diagonal(equal, -1)
    found = {(left, right): value for left, right, value in index.pairs(2)}
    assert all(left < right for left, right in found)
    assert all(
        value == equal[left - 7, right - 7] for (left, right), value in found.items()
    )
    near = {
        (i, j)
        for i in range(300)
        for j in range(300)
        if (equal[i] > equal[i, j]).sum() < 2 and equal[i, j] > 0.5
    }
    wanted = {
        (min(i, j) + 7, max(i, j) + 7)
        for i, j in near
        if (equal[i] >= equal[i, j]).sum() <= 2
    }
    assert len(wanted - found.keys()) <= 0.05 * len(wanted)
    assert len(wanted) > 200


def test_pairs_of_an_ensemble_are_its_answers():
    index, answers = made("ensemble", NAMES["strs"])
    wanted = [
        (key, match.key, match.similarity)
        for key, found in zip(NAMES["strs"], answers(index), strict=True)
        for match in found
        if match.key != key
    ]
    assert [*index.pairs()] == wanted
    assert len(wanted) > 300
    strict = [pair for pair in index.pairs(0.9)]
    assert 0 < len(strict) < len(wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_that_a_file_cannot_hold(kind, tmp_path):
    index, _ = made(kind, [(1, 2), "a"], slice(2))
    with pytest.raises(TypeError, match="all ints of 64 bits or all strs"):
        index.save(tmp_path / "index")
    assert list(tmp_path.iterdir()) == []
    assert all({left, right} == {(1, 2), "a"} for left, right, _ in index.pairs())


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_table_is_found(kind):
    index, _ = made(kind, NAMES["ints"])
    entries = index._entries
    if kind in ("hamming", "tanimoto"):
        entries._segments = [SimpleNamespace(first=5, end=9)]
    else:
        entries._order.unsorted[5] = None
    with pytest.raises(FormatError, match="they do not hold each"):
        index.verify()
