"""Runs in stages over sets; tests/engine/executors compares their answers."""

import re

import pytest

from lshfast import DataError, stages
from tests.stages.runs import run_all, write_files


def planned(folder, rows, **options):
    source = write_files(folder / "in", rows, 3)
    stages.plan(source, folder / "work", folder / "kept", shards=3, **options)
    return folder / "work"


@pytest.mark.parametrize("order", [1, -1])
def test_strings_in_some_shards_and_integers_in_others_are_refused(tmp_path, order):
    sets = [["a", "b"], ["a", "b"], [1, 2]][::order]
    work = planned(tmp_path, [{"text": one} for one in sets])
    names = ["strings", "integers"][::order]
    place = tmp_path / "in" / ("02.jsonl" if order > 0 else "01.jsonl")
    reason = f"sets from here on have {names[1]}, and those before it {names[0]}"
    with pytest.raises(DataError, match=f"^{re.escape(str(place))}:1: {reason}"):
        run_all(work)


def test_vectors_are_refused(tmp_path):
    with pytest.raises(ValueError, match="is for texts and sets, and 'v' has items of"):
        planned(tmp_path, [{"v": [0.5, 0.25]}] * 3, column="v")
    assert not (tmp_path / "work").exists()
