"""Golden files of indexes that are read into memory: what they hold, and that the same steps write the same bytes."""

import pytest

from lshfast import (
    HammingIndex,
    LSHEnsemble,
    LSHForest,
    MinHasher,
    TanimotoIndex,
    TokenSets,
)
from lshfast.exact import PrefixIndex
from tests.index.make_golden_index import CODES, FOLDER, NUMBERED, PREFIX, SETS, TREES


@pytest.mark.parametrize("name", CODES)
def test_files_of_codes(name, tmp_path):
    expected = CODES[name](tmp_path / "index")
    assert (tmp_path / "index").read_bytes() == (FOLDER / name).read_bytes()
    kind, measure = (
        (HammingIndex, ("radius", 5))
        if "hamming" in name
        else (TanimotoIndex, ("threshold", 0.6))
    )
    index = kind.open(FOLDER / name)
    keys, codes = index.items()
    assert (index.bits, getattr(index, measure[0])) == (100, measure[1])
    assert {
        key: tuple(code) for key, code in zip(list(keys), codes.tolist(), strict=True)
    } == expected


def check_sets(index, expected):
    """Compare an index with its sets by key, whose Dice similarities are computed one by one."""
    assert list(index) == list(expected)
    found = index.query(TokenSets.from_sets(SETS, seed=index.seed))
    dice = {
        (i, key): 2 * len({*a} & {*b}) / (len(a) + len(b))
        for i, a in enumerate(SETS)
        for key, b in expected.items()
        if {*a} & {*b}
    }
    assert {(i, key): s for i, matches in enumerate(found) for key, s in matches} == {
        at: pytest.approx(s) for at, s in dice.items() if s >= float(index.threshold)
    }
    assert index.insert("new", ["new"]) == 1


@pytest.mark.parametrize("name", PREFIX)
def test_files_of_sets(name, tmp_path):
    expected = PREFIX[name](tmp_path / "index")
    assert (tmp_path / "index").read_bytes() == (FOLDER / name).read_bytes()
    check_sets(PrefixIndex.open(FOLDER / name), expected)


@pytest.mark.parametrize("name", NUMBERED)
def test_files_of_numbered_sets(name, tmp_path):
    """The keys of earlier files are numbers; a file that is written has the present version."""
    expected = {number: one for number, one in enumerate(SETS) if number != 1}
    index = PrefixIndex.open(FOLDER / name)
    index.save(tmp_path / "index")
    check_sets(index, expected)
    check_sets(PrefixIndex.open(tmp_path / "index"), expected)


@pytest.mark.parametrize("name", TREES)
def test_files_of_trees(name, tmp_path):
    expected = TREES[name](tmp_path / "index")
    assert (tmp_path / "index").read_bytes() == (FOLDER / name).read_bytes()
    index = (LSHForest if name.startswith("forest") else LSHEnsemble).open(
        FOLDER / name
    )
    assert (index.trees, index.recall, index.hasher) == (
        3,
        0.7,
        MinHasher(8, "classic", 2**64 - 1),
    )
    index.verify()
    held = {}
    for keys, (signatures, *sizes) in index._batches():
        for i, key in enumerate(list(keys)):
            held[key] = (
                tuple(signatures[i].tolist()),
                sizes[0][i, 0] if sizes else expected[key][1],
            )
    assert held == expected
