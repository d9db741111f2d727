"""How much more similar values weigh if one of them is rare."""

import numpy as np
import pytest

from lshfast.records import match_records
from lshfast.records.weights.similar_values import SimilarValues, power_of

LEVEL = 2
FREQUENCIES = 1 / np.arange(1, 201, dtype=np.float64)
FREQUENCIES /= FREQUENCIES.sum()


def drawn_pairs(rng, size, power):
    """Return the logarithm of the rarity of pairs, drawn like strangers times this power of the rarity."""
    rarity = 1 / FREQUENCIES[:, None] + 1 / FREQUENCIES
    chances = np.outer(FREQUENCIES, FREQUENCIES) * rarity**power
    chosen = rng.choice(chances.size, size, p=(chances / chances.sum()).ravel())
    return np.log2(rarity.ravel()[chosen])


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_the_power_of_the_rarity_is_found(power):
    rng = np.random.default_rng(1)
    bits = np.concatenate(
        [drawn_pairs(rng, 4000, power), drawn_pairs(rng, 20_000, 0.0)]
    )
    probabilities = np.repeat([1.0, 0.0], [4000, 20_000])
    levels = np.full(len(bits), LEVEL, np.uint8)
    # Four standard errors, which are 0.015 at most.
    assert power_of(bits, levels, probabilities) == pytest.approx(power, abs=0.06)


def test_few_pairs_are_hardly_believed():
    rng = np.random.default_rng(2)
    bits = np.concatenate([drawn_pairs(rng, 5, 1.0), drawn_pairs(rng, 20_000, 0.0)])
    probabilities = np.repeat([1.0, 0.0], [5, 20_000])
    levels = np.full(len(bits), LEVEL, np.uint8)
    assert power_of(bits, levels, probabilities) <= 5 / 25


def test_matches_that_are_commoner_than_strangers_say_nothing():
    rng = np.random.default_rng(3)
    bits = np.concatenate([drawn_pairs(rng, 1000, 0.0), drawn_pairs(rng, 1000, 1.0)])
    probabilities = np.repeat([1.0, 0.0], [1000, 1000])
    levels = np.full(len(bits), LEVEL, np.uint8)
    assert power_of(bits, levels, probabilities) == 0.0


def test_levels_of_other_values_get_nothing_and_new_values_are_the_rarest():
    mean_bits = np.array([np.nan, np.nan, 2.0, np.nan])
    values = SimilarValues(np.array([2.0, 14.0]), 0.5, mean_bits)
    levels = np.array([0, 1, 2, 2, 3], np.uint8)
    a = np.array([-1, 0, 0, 1, 0], np.int32)
    b = np.array([0, 0, 1, 1, 1], np.int32)
    assert values.bits(levels, a, b).tolist() == pytest.approx(
        [0, 0, 0, 0.5 * np.log2(28) - 2, 0]
    )
    assert values.most == pytest.approx(0.5 * np.log2(28) - 2)
    longer = values.extended(3)
    assert longer.rarity.tolist() == [2.0, 14.0, 14.0]
    assert longer.bits(levels[3:4], a[3:4], b[3:4] + 1) == values.bits(
        levels[3:4], a[3:4], b[3:4]
    )
    assert values.scaled(2).most == pytest.approx(2 * values.most)


def surname_bits(result, row_a, row_b):
    """Return what the surnames of two records weigh, and how they compare."""
    [line] = [
        line
        for line in result.explain_pair(row_a, row_b).split("\n")
        if line.startswith("  surname")
    ]
    _, bits, how = line.split(maxsplit=2)
    return float(bits), how.split(":")[0]


def test_a_typing_error_weighs_more_than_two_common_names():
    """Two surnames each differ in one letter, as Marina and Marino; some copies have a wrong one."""
    rng = np.random.default_rng(4)
    stems = ["".join(rng.choice(list("bcdfglmnprst"), 6)) for _ in range(40)]
    surnames = np.array([stem + end for stem in stems for end in ("a", "o")])
    frequencies = 1 / np.arange(1, 81)
    size = 3000
    shared = 600
    people = 2 * size - shared
    surname = rng.choice(surnames, people, p=frequencies / frequencies.sum()).tolist()
    given = rng.choice([f"given{number:03}" for number in range(200)], people).tolist()
    born = np.datetime64("1950-01-01") + rng.integers(0, 12_000, people)
    copied = [
        name[:4] + "qxz"[row % 9 // 3] + name[5:] if row % 3 == 0 else name
        for row, name in enumerate(surname[:shared])
    ]
    days = list(map(str, born))
    a = {"surname": surname[:size], "given": given[:size], "born": days[:size]}
    b = {
        "surname": copied + surname[size:],
        "given": given[:shared] + given[size:],
        "born": days[:shared] + days[size:],
    }
    fields = ["surname:name", "given:code", "born:date"]
    result = match_records(a, b, fields=fields)
    common = a["surname"].index(surnames[0]), b["surname"].index(surnames[1])
    bits_of_common, level = surname_bits(result, *common)
    errors = [surname_bits(result, row, row) for row in range(0, shared, 3)]
    same_level = [bits for bits, how in errors if how == level]
    assert len(same_level) > 100
    assert min(same_level) > bits_of_common + 3
