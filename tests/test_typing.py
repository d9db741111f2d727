"""Type checkers know every choice and every answer: they pass a user's programs, and refuse each misspelled choice."""

import json
import os
import re
import site
import subprocess
import sys
from pathlib import Path

import pytest

import lshfast
from tests.made_once import made_once

pytest.importorskip("mypy")
pytestmark = pytest.mark.slow

RIGHT = """
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
lines: int = lshfast.dedup_paragraphs("a.csv", split="line", keep="last", normalize="NFC").paragraphs.removed
unit, size, threshold = lshfast.recommend(texts)
sets: lshfast.TokenSets = lshfast.shingle(texts, unit, size)
index = lshfast.LSHIndex(threshold, on_duplicate="skip", scheme="fast", shingles="word:5")
index.insert(["a", "b"], texts)
print(index.query("one two three", k=1), index.query(texts, threshold=0.5))
lshfast.MinHasher(scheme="fast").sketch(sets)
print(lshfast.datasketch, lshfast.distances, lshfast.estimators, lshfast.exact, lshfast.families)
print(lshfast.fingerprints, lshfast.hashing, lshfast.images, lshfast.kernels, lshfast.passages, lshfast.records)
print(lshfast.spark, lshfast.stages, lshfast.textbook, lshfast.web)
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
lshfast.dedup_paragraphs("a.csv", split="word")
lshfast.dedup_files(5)
lshfast.LSHIndex(on_duplicate="ignore")
lshfast.LSHIndex(scheme="affine64")
lshfast.LSHIndex.open("index.lsh", "w")
lshfast.LSHIndex.open("index.lsh", on_duplicate="last")
lshfast.MinHasher(scheme="legacy")
lshfast.WeightedMinHasher(scheme="minhash")
lshfast.LSHIndex().query(None)
lshfast.LSHIndex().query("a text", k="1")
lshfast.LSHIndex().insert("key", None)
lshfast.LSHIndex().query("a text", k=1)[0].likeness
lshfast.LSHForest().query(None)
lshfast.LSHForest().query(lshfast.MinHasher().sketch(lshfast.shingle(["a"])), k=None)
lshfast.LSHEnsemble().query(lshfast.MinHasher().sketch(lshfast.shingle(["a"])), "5")
lshfast.LSHEnsemble().query([1], 5).offsets
lshfast.dedupe(["a"])
lshfast.familes.Hyperplanes(8)
lshfast.families.Hyperplane(8)
from lshfast import Dedup
from lshfast.records import dedup_record
"""

PROGRAM = Path(__file__).with_name("typed_program.py")
ROOT = Path(lshfast.__file__).parents[1]


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """What mypy --strict says of the programs, as (file, line) of each error, and all of it."""
    said = (made_once(tmp_path_factory, "user", check_programs) / "said.txt").read_text(
        "utf-8"
    )
    found = re.findall(r"^(\w+)\.py:(\d+): error:", said, re.MULTILINE)
    return [(file, int(line)) for file, line in found], said


def check_programs(folder):
    """Write the programs, and what mypy says of them, into a folder."""
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text(WRONG)
    (folder / "program.py").write_text(PROGRAM.read_text("utf-8"), "utf-8")
    path = {} if str(ROOT) in site.getsitepackages() else {"MYPYPATH": str(ROOT)}
    options = [
        "--strict",
        "--follow-imports=silent",
        "--no-error-summary",
        "--show-error-codes",
        "--no-pretty",
    ]
    command = [
        sys.executable,
        "-m",
        "mypy",
        *options,
        "--cache-dir",
        str(folder / "cache"),
    ]
    command += ["right.py", "wrong.py", "program.py"]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **path}, capture_output=True, text=True
    )
    assert done.stderr == ""
    (folder / "said.txt").write_text(done.stdout, "utf-8")


@pytest.mark.parametrize("program", ["right", "program"])
def test_a_right_program_passes(errors, program):
    assert [line for file, line in errors[0] if file == program] == [], errors[1]


def test_the_program_runs(tmp_path):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "error", str(PROGRAM)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "number",
    range(4, len(WRONG.splitlines()) + 1),
    ids=lambda n: WRONG.splitlines()[n - 1],
)
def test_each_wrong_line_is_refused(errors, number):
    assert ("wrong", number) in errors[0], errors[1]


def pyright(folder, *arguments):
    """Return what pyright (of the package basedpyright) says, decoded from JSON."""
    pytest.importorskip("basedpyright")
    settings = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT)],
        "reportUnnecessaryTypeIgnoreComment": True,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [
        sys.executable,
        "-m",
        "basedpyright",
        "--pythonpath",
        sys.executable,
        "--outputjson",
        *arguments,
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def test_pyright_passes_right_programs(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.read_text("utf-8"), "utf-8")
    (tmp_path / "right.py").write_text(RIGHT, "utf-8")
    said = pyright(tmp_path, "program.py", "right.py")
    assert said["summary"]["filesAnalyzed"] == 2
    assert [
        error for error in said["generalDiagnostics"] if error["severity"] == "error"
    ] == []


def test_all_public_types_are_known(tmp_path):
    """A checker has to infer no type of a public name, and hardly one of the others."""
    said = pyright(tmp_path, "--verifytypes", "lshfast", "--ignoreexternal")[
        "typeCompleteness"
    ]
    assert said["completenessScore"] > 0.99
    modules = (
        lshfast,
        lshfast.index,
        lshfast.index.hamming,
        lshfast.join,
        lshfast.sketch,
        lshfast.datasketch,
    )
    objects = [getattr(module, name) for module in modules for name in module.__all__]
    public = [
        f"{thing.__module__}.{thing.__qualname__}"
        for thing in objects
        if hasattr(thing, "__qualname__")
    ]
    wrong = [
        symbol
        for symbol in said["symbols"]
        if not symbol["isTypeKnown"] or symbol["isTypeAmbiguous"]
    ]
    named = [
        symbol
        for symbol in wrong
        if any(f"{symbol['name']}.".startswith(f"{name}.") for name in public)
    ]
    assert named == []
