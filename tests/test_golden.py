"""The pinned values of golden.json: what the reference computes today, and what every CPU level computes."""

import json

import numpy as np
import pytest

from lshfast import Bands, BBits, MinHasher, OnePermutation, SignSketcher, SimHasher, TokenSets, shingle
from lshfast.kernels import sets
from tests.make_golden import PATH, cases

GOLDEN = json.loads(PATH.read_text(encoding="ascii"))


def numbers(hexadecimal):
    return [int(number, 16) for number in hexadecimal]


def one_row(tokens):
    return TokenSets([0, len(tokens)], np.array(tokens, np.uint64))


def test_the_reference_still_computes_them():
    """Where this fails a definition has changed, and with it the format."""
    assert cases() == GOLDEN


@pytest.mark.parametrize("case", GOLDEN["strings"], ids=lambda case: f"{case['string'][:8]!r} {case['seed']}")
def test_strings(case):
    rows = [[case["string"]], [case["string"].encode()]]
    assert TokenSets.from_sets(rows, seed=int(case["seed"], 16)).tokens.tolist() == [int(case["token"], 16)] * 2


@pytest.mark.parametrize("case", GOLDEN["integers"], ids=lambda case: f"{case['integer']} {case['seed']}")
def test_integers(case):
    tokens = TokenSets.from_sets([[int(case["integer"])]], seed=int(case["seed"], 16)).tokens
    assert tokens.tolist() == [int(case["token"], 16)]


@pytest.mark.parametrize("number", range(len(GOLDEN["shingles"])))
def test_shingles(level, number):
    case = GOLDEN["shingles"][number]
    found = shingle([case["text"]], case["unit"], case["size"], seed=int(case["seed"], 16))
    assert found.tokens.tolist() == numbers(case["tokens"])


@pytest.mark.parametrize("number", range(len(GOLDEN["signatures"])))
def test_signatures_and_band_keys(level, number):
    case = GOLDEN["signatures"][number]
    hasher = MinHasher(len(case["signature"]), case["scheme"], int(case["seed"], 16))
    signatures = hasher.sketch(one_row(numbers(case["tokens"])))
    assert signatures[0].tolist() == numbers(case["signature"])
    assert Bands(case["bands"], case["rows"]).keys(signatures)[0].tolist() == numbers(case["keys"])


@pytest.mark.parametrize("case", GOLDEN["fingerprints"], ids=lambda case: f"{len(case['tokens'])} tokens")
def test_fingerprints(case):
    rows = one_row(numbers(case["tokens"]))
    assert sets.fingerprints(rows.offsets, rows.tokens)[0].tolist() == numbers(case["fingerprint"])


@pytest.mark.parametrize("number", range(len(GOLDEN["simhash"])))
def test_simhash(level, number):
    case = GOLDEN["simhash"][number]
    hasher, sets = SimHasher(128, int(case["seed"], 16)), one_row(numbers(case["tokens"]))
    assert hasher.counters(sets, case["weights"])[0].tolist() == case["counters"]
    assert hasher.sketch(sets, case["weights"])[0].tolist() == numbers(case["code"])


@pytest.mark.parametrize("number", range(len(GOLDEN["signs"])))
def test_signs(level, number):
    case = GOLDEN["signs"][number]
    assert SignSketcher(4, 64, 1, case["zero"]).sketch(case["vector"]).tolist() == numbers(case["code"])


@pytest.mark.parametrize("number", range(len(GOLDEN["one_permutation"])))
def test_one_permutation(level, number):
    case = GOLDEN["one_permutation"][number]
    signature = OnePermutation(16, int(case["seed"], 16)).sketch(one_row(numbers(case["tokens"])))[0]
    assert signature.tolist() == numbers(case["signature"])


@pytest.mark.parametrize("number", range(len(GOLDEN["packed"])))
def test_packed(level, number):
    case = GOLDEN["packed"][number]
    packed = BBits(case["bits"], MinHasher(case["slots"], case["scheme"])).sketch(one_row(numbers(case["tokens"])))[0]
    assert packed.tolist() == numbers(case["words"])
