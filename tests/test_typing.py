"""A type checker knows every choice: mypy passes a user's program, and refuses each misspelled choice."""

import os
import re
import site
import subprocess
import sys
from pathlib import Path

import pytest

import lshfast

pytest.importorskip("mypy")

RIGHT = """
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import lshfast

texts: list[str] = ["one two three", "One, two, three!"]
result = lshfast.dedup(texts, unit="char", size=5, scheme="classic", verify="signature", groups="components")
kept: list[bool] = result.keep.tolist()
count: int = len(result) + result.summary.kept
same: bool = result == result
for key, kept_key, similarity in result.removed:
    print(key, kept_key, similarity + 0.5)
lshfast.dedup(texts, keep="first", keys=["a", "b"])
lshfast.dedup(texts, keep="longest")
lshfast.dedup(texts, keep=[1, 2])
lshfast.dedup(texts, keep=(1.5, 2.5))
lshfast.dedup(texts, keep=range(2))
lshfast.dedup(texts, keep=np.array([1, 2]))
lshfast.dedup(texts, keep=["2024", "2025"])
lshfast.dedup(np.array(texts), **lshfast.recommend(texts)._asdict())
lshfast.pairs([b"one", None], copies="all", verify="none")["similarity"].max()
lshfast.dedup_files(Path("in.jsonl"), "out.jsonl", on_error="skip", on_duplicate="replace", keep="max:score")
lshfast.dedup_files(["a.csv", Path("b.csv")], removed=Path("removed.csv"), groups="star", verify="exact")
unit, size, threshold = lshfast.recommend(texts)
sets: lshfast.TokenSets = lshfast.shingle(texts, unit, size)
index = lshfast.LSHIndex(threshold, on_duplicate="skip", scheme="fast", shingles="word:5")
index.insert(["a", "b"], texts)
print(index.query("one two three", k=1), index.query(texts, threshold=0.5))
lshfast.MinHasher(scheme="fast").sketch(sets)
"""

WRONG = """
import lshfast
policy: str = "first"
lshfast.dedup(["a"], keep="newest")
lshfast.dedup(["a"], keep=policy)
lshfast.dedup(["a"], keep=b"first")
lshfast.dedup(["a"], keep=5)
lshfast.dedup(["a"], unit="line")
lshfast.dedup(["a"], scheme="slow")
lshfast.dedup(["a"], verify="no")
lshfast.dedup(["a"], groups="stars")
lshfast.dedup(["a"], size="5")
lshfast.dedup(["a"], against="index.lsh")
lshfast.pairs(["a"], unit="words")
lshfast.pairs(["a"], copies="none")
lshfast.pairs(["a"], verify="sig")
lshfast.shingle(["a"], "letter")
lshfast.shingle(["a"], unit="words")
lshfast.dedup_files("a.csv", on_error="ignore")
lshfast.dedup_files("a.csv", on_duplicate="keep")
lshfast.dedup_files("a.csv", verify="yes")
lshfast.dedup_files("a.csv", groups="chains")
lshfast.dedup_files("a.csv", unit="words")
lshfast.dedup_files("a.csv", scheme="affine")
lshfast.dedup_files(5)
lshfast.LSHIndex(on_duplicate="ignore")
lshfast.LSHIndex(scheme="affine64")
lshfast.LSHIndex.open("index.lsh", "w")
lshfast.LSHIndex.open("index.lsh", on_duplicate="last")
lshfast.MinHasher(scheme="legacy")
lshfast.WeightedMinHasher(scheme="minhash")
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """What mypy --strict says of both programs, as (file, line) of each error, and all of it."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text(WRONG)
    root = Path(lshfast.__file__).parents[1]
    path = {} if str(root) in site.getsitepackages() else {"MYPYPATH": str(root)}
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", "--show-error-codes", "--no-pretty"]
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", str(folder / "cache"), "right.py", "wrong.py"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **path}, capture_output=True, text=True)
    assert done.stderr == ""
    found = re.findall(r"^(\w+)\.py:(\d+): error:", done.stdout, re.MULTILINE)
    return [(file, int(line)) for file, line in found], done.stdout


def test_a_right_program_passes(errors):
    assert [line for file, line in errors[0] if file == "right"] == [], errors[1]


@pytest.mark.parametrize("number", range(4, len(WRONG.splitlines()) + 1), ids=lambda n: WRONG.splitlines()[n - 1])
def test_each_wrong_line_is_refused(errors, number):
    assert ("wrong", number) in errors[0], errors[1]
