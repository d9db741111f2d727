"""The plan of a run: it describes itself, and is read back from its description."""

import json
from dataclasses import replace

import pytest

from lshfast._engine.plan import described_plan, make_plan


@pytest.mark.parametrize(
    "given",
    [
        {},
        {
            "unit": "char",
            "size": 4,
            "scheme": "classic",
            "seed": 2**64 - 1,
            "bands": 4,
            "rows_per_band": 9,
        },
        {"unit": "stopword", "stop_words": ["a", "b"]},
        {"exact": True, "measure": "containment"},
        {
            "verify": "none",
            "groups": "components",
            "seed": "random",
            "recall": 0.5,
            "threshold": 0.1,
        },
    ],
)
def test_a_plan_is_read_back_from_its_description(given):
    plan = make_plan(**given, threads=1)
    assert described_plan(json.loads(json.dumps(plan.described())), 1) == plan


def test_stop_words_are_described_word_by_word():
    """A later version may have other words of a language, and must not go on with a run of this one."""
    plan = make_plan(unit="stopword", stop_words="german", threads=1)
    again = described_plan(plan.described(), 1)
    assert again.shingles.stop_words.words == plan.shingles.stop_words.words
    assert replace(again, shingles=plan.shingles) == plan
