"""The pinned values of golden.json: what the reference computes today, and what every CPU level computes."""

import json

import numpy as np
import pytest

from lshfast import (
    Bands,
    DistinctCounter,
    LeanMinHash,
    MinHash,
    MinHasher,
    SimHasher,
    TokenSets,
    WeightedMinHasher,
    WeightedSets,
    shingle,
)
from lshfast.families import CauchyLines, CrossPolytope, GaussianLines, Hyperplanes
from lshfast.kernels import sets
from lshfast.kernels import weighted as weighted_kernels
from lshfast.sketch import BBits, OnePermutation, SignSketcher, estimate_sizes
from tests.make_golden import PATH, cases

GOLDEN = json.loads(PATH.read_text(encoding="ascii"))


def numbers(hexadecimal):
    return [int(number, 16) for number in hexadecimal]


def one_row(tokens):
    return TokenSets([0, len(tokens)], np.array(tokens, np.uint64))


@pytest.mark.slow
def test_the_reference_still_computes_them():
    """Where this fails a definition has changed, and with it the format."""
    assert cases() == GOLDEN


@pytest.mark.parametrize(
    "case", GOLDEN["strings"], ids=lambda case: f"{case['string'][:8]!r} {case['seed']}"
)
def test_strings(case):
    rows = [[case["string"]], [case["string"].encode()]]
    assert (
        TokenSets.from_sets(rows, seed=int(case["seed"], 16)).tokens.tolist()
        == [int(case["token"], 16)] * 2
    )


@pytest.mark.parametrize(
    "case", GOLDEN["integers"], ids=lambda case: f"{case['integer']} {case['seed']}"
)
def test_integers(case):
    tokens = TokenSets.from_sets(
        [[int(case["integer"])]], seed=int(case["seed"], 16)
    ).tokens
    assert tokens.tolist() == [int(case["token"], 16)]


@pytest.mark.parametrize("number", range(len(GOLDEN["shingles"])))
def test_shingles(level, number):
    case = GOLDEN["shingles"][number]
    found = shingle(
        [case["text"]], case["unit"], case["size"], seed=int(case["seed"], 16)
    )
    assert found.tokens.tolist() == numbers(case["tokens"])


@pytest.mark.parametrize("number", range(len(GOLDEN["signatures"])))
def test_signatures_and_band_keys(level, number):
    case = GOLDEN["signatures"][number]
    hasher = MinHasher(len(case["signature"]), case["scheme"], int(case["seed"], 16))
    signatures = hasher.sketch(one_row(numbers(case["tokens"])))
    assert signatures[0].tolist() == numbers(case["signature"])
    assert Bands(case["bands"], case["rows"]).keys(signatures)[0].tolist() == numbers(
        case["keys"]
    )


@pytest.mark.parametrize(
    "case", GOLDEN["fingerprints"], ids=lambda case: f"{len(case['tokens'])} tokens"
)
def test_fingerprints(case):
    rows = one_row(numbers(case["tokens"]))
    found = sets.fingerprints(rows.offsets, rows.tokens, numbers(case["key"]))
    assert found[0].tolist() == numbers(case["fingerprint"])


@pytest.mark.parametrize("number", range(len(GOLDEN["simhash"])))
def test_simhash(level, number):
    case = GOLDEN["simhash"][number]
    hasher = SimHasher(128, int(case["seed"], 16))
    sets = one_row(numbers(case["tokens"]))
    assert hasher.counters(sets, case["weights"])[0].tolist() == case["counters"]
    assert hasher.sketch(sets, case["weights"])[0].tolist() == numbers(case["code"])


@pytest.mark.parametrize("number", range(len(GOLDEN["signs"])))
def test_signs(level, number):
    case = GOLDEN["signs"][number]
    assert SignSketcher(4, 64, 1, case["zero"]).sketch(
        case["vector"]
    ).tolist() == numbers(case["code"])


@pytest.mark.parametrize("number", range(len(GOLDEN["one_permutation"])))
def test_one_permutation(level, number):
    case = GOLDEN["one_permutation"][number]
    signature = OnePermutation(16, int(case["seed"], 16)).sketch(
        one_row(numbers(case["tokens"]))
    )[0]
    assert signature.tolist() == numbers(case["signature"])


@pytest.mark.parametrize("number", range(len(GOLDEN["packed"])))
def test_packed(level, number):
    case = GOLDEN["packed"][number]
    packed = BBits(case["bits"], MinHasher(case["slots"], case["scheme"])).sketch(
        one_row(numbers(case["tokens"]))
    )[0]
    assert packed.tolist() == numbers(case["words"])


@pytest.mark.parametrize("number", range(len(GOLDEN["lines"])))
def test_lines(level, number):
    case = GOLDEN["lines"][number]
    kind = {"gaussian-lines": GaussianLines, "cauchy-lines": CauchyLines}[
        case["family"]
    ]
    point = [float.fromhex(coordinate) for coordinate in case["coordinates"]]
    family = kind(len(point), float.fromhex(case["width"]), int(case["seed"], 16))
    assert family.hash(point, 6)[0].tolist() == numbers(case["values"])
    assert family.buckets(point, 2, 3)[0].tolist() == numbers(case["buckets"])


@pytest.mark.parametrize("number", range(len(GOLDEN["rotations"])))
def test_rotations(level, number):
    case = GOLDEN["rotations"][number]
    vector = [float.fromhex(coordinate) for coordinate in case["coordinates"]]
    seed = int(case["seed"], 16)
    bits = Hyperplanes(len(vector), seed).hash(vector, 400)[0].tolist()
    assert hex(sum(bit << j for j, bit in enumerate(bits))) == case["hyperplanes"]
    corners = CrossPolytope(len(vector), 16, seed).hash(vector, 30)[0].tolist()
    assert corners == case["cross-polytope"]


@pytest.mark.parametrize(
    "case",
    GOLDEN["weighted"],
    ids=lambda case: f"{case['set']}-{case['scheme']}-{case['seed']}",
)
def test_weighted(case):
    tokens = np.array([int(token, 16) for token in case["tokens"]], np.uint64)
    weights = [float.fromhex(weight) for weight in case["weights"]]
    hasher = WeightedMinHasher(16, case["scheme"], int(case["seed"], 16))
    [signature] = hasher.sketch(
        WeightedSets([0, len(tokens)], tokens, weights)
    ).tolist()
    assert [f"{slot:016x}" for slot in signature] == case["signature"]


def test_logarithms_and_exponentials():
    for case in GOLDEN["logarithms"]:
        assert weighted_kernels.exact_log(float.fromhex(case["x"])).hex() == case["log"]
    for case in GOLDEN["exponentials"]:
        assert (
            weighted_kernels.exact_exponential(int(case["v"], 16)).hex()
            == case["exponential"]
        )


def test_multisets():
    for case in GOLDEN["multisets"]:
        pairs = WeightedSets(
            [0, 1], np.array([int(case["token"], 16)], np.uint64), [4]
        ).pairs()
        assert [f"{token:016x}" for token in pairs.tokens.tolist()] == case["tokens"]


@pytest.mark.parametrize("number", range(len(GOLDEN["registers"])))
def test_registers(level, number):
    case = GOLDEN["registers"][number]
    counter = DistinctCounter(case["p"], int(case["seed"], 16))
    registers = counter.sketch(TokenSets.from_sets([range(case["tokens"])], seed=1))
    assert registers[0].tobytes().hex() == case["registers"]
    assert counter.count(registers)[0] == pytest.approx(case["estimate"], abs=1e-8)


@pytest.mark.parametrize("number", range(len(GOLDEN["sizes"])))
def test_sizes(level, number):
    case = GOLDEN["sizes"][number]
    sets = TokenSets.from_sets([range(case["tokens"])], seed=1)
    signatures = MinHasher(case["num_perm"], case["scheme"]).sketch(sets)
    assert estimate_sizes(signatures)[0] == pytest.approx(case["estimate"], rel=1e-9)


@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy"])
def test_sketches_of_the_drop_in(level, scheme):
    case = GOLDEN["affine"][scheme]
    sketch = MinHash(8, scheme=scheme)
    sketch.update_batch([bytes.fromhex(token) for token in GOLDEN["affine"]["tokens"]])
    assert sketch.hashvalues.tolist() == case["values"]
    lean = LeanMinHash(sketch)
    data = bytearray(lean.bytesize("<"))
    lean.serialize(data, "<")
    assert data.hex() == case["lean"]
