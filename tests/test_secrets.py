"""Keys of runs come from the system and stay in the process; no pickle is read from a file."""

import ast
import os
import random
from pathlib import Path

import pytest

import lshfast
from lshfast import DataError, dedup_files
from lshfast._common import run_key
from lshfast.stages.stage_plan import PLAN_FILE
from tests.faults.scenarios import SCENARIOS

PACKAGE = Path(lshfast.__file__).parent

# Modules that name `pickle.load` or `pickle.loads`, and why none of them reads a file.
READERS_OF_PICKLES = {
    "stages/worker.py": "a pipe from a process that it started",
    "spark/workers.py": "what the driver sends to its workers",
    "datasketch/lsh.py": "keys that this object has pickled itself; others have a reader of their own",
}


def test_keys_come_from_the_system(monkeypatch):
    """Seeds of other generators do not change what is drawn."""
    drawn = []
    system = os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: drawn.append(size) or system(size))
    random.seed(1)
    first = run_key.draw_hash_numbers()
    random.seed(1)
    assert run_key.draw_hash_numbers() != first
    assert len(drawn) >= 8


def spellings(number):
    """Return a number as texts and bytes in which it could be written."""
    hexadecimal = f"{number:x}".encode()
    return [
        str(number).encode(),
        hexadecimal,
        hexadecimal.upper(),
        number.to_bytes(8, "little"),
        number.to_bytes(8, "big"),
    ]


def drawn_numbers(monkeypatch):
    """Return a list that gets the numbers of all keys that are drawn from now on."""
    numbers = []
    real = run_key._drawn_below

    def drawn(n):
        number = real(n)
        if number >= 2**32:
            numbers.append(number)
        return number

    monkeypatch.setattr(run_key, "_drawn_below", drawn)
    return numbers


@pytest.mark.parametrize("capped", [False, True], ids=["in memory", "within a cap"])
def test_keys_are_in_no_file_and_no_error(tmp_path, monkeypatch, capped):
    """Neither in outputs, nor in what a run that fails leaves in its work folder."""
    numbers = drawn_numbers(monkeypatch)
    rows = [
        f'{{"id": "r{at}", "text": "one two three four five {at // 2}"}}\n'
        for at in range(40)
    ]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(rows))
    outputs = {"removed": tmp_path / "removed.csv", "pairs": tmp_path / "pairs.csv"}
    options = {"id_column": "id", "threads": 1, **outputs}
    if capped:
        options |= {"memory": "400M", "work": tmp_path / "parts"}

    def fail(stage, done, total):
        if stage == "write":
            raise KeyError(stage)

    with pytest.raises(KeyError):
        dedup_files(source, tmp_path / "out.jsonl", progress=fail, **options)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert capped == any(path.parent.name == "parts" for path in left)
    contents = [path.read_bytes() for path in left]
    if capped:
        options |= {"resume": True}
    dedup_files(source, tmp_path / "out.jsonl", **options)
    contents += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    source.write_text(source.read_text() + "no JSON\n")
    with pytest.raises(DataError) as caught:
        dedup_files(source, threads=1)
    contents.append(str(caught.value).encode())
    assert len(numbers) >= 4
    assert not any(shows(content, numbers) for content in contents)


def shows(content, numbers):
    """Return whether one of some numbers stands in bytes."""
    return any(
        spelling in content for number in numbers for spelling in spellings(number)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["clusters", "against", "records", "passages", "web", "stages"]
)
def test_keys_are_in_no_file_of_other_commands(tmp_path, monkeypatch, name):
    """But in the plan of stages, which only its owner can read."""
    numbers = drawn_numbers(monkeypatch)
    scenario = SCENARIOS[name]
    scenario.prepare(tmp_path)
    scenario.run(tmp_path)
    files = {
        path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    }
    with_keys = {name for name, content in files.items() if shows(content, numbers)}
    assert numbers
    assert with_keys == ({PLAN_FILE} if name == "stages" else set())
    if name == "stages" and os.name == "posix":
        (plan,) = tmp_path.rglob(PLAN_FILE)
        assert plan.stat().st_mode & 0o077 == 0


def test_keys_are_not_shown():
    """Neither of a run's key nor of its parts."""
    key = run_key.RunKey.draw()
    shown = repr(key) + repr(key.tokens)
    assert not any(str(number) in shown for number in key.fingerprints)


@pytest.mark.slow
def test_no_pickle_is_read_from_a_file():
    """Nor a format of others that runs code, nor a text as code."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword):
                assert node.arg != "allow_pickle" or ast.unparse(node.value) == "False"
            if isinstance(node, ast.Name):
                assert node.id not in ("eval", "exec", "Unpickler"), path
            if not isinstance(node, ast.Attribute) or not isinstance(
                node.value, ast.Name
            ):
                continue
            name = f"{node.value.id}.{node.attr}"
            if name in ("pickle.load", "pickle.loads", "marshal.loads", "shelve.open"):
                found.setdefault(path.relative_to(PACKAGE).as_posix(), set()).add(name)
            assert name not in (
                *("yaml.load", "joblib.load", "torch.load"),
                *("pickle.Unpickler", "pandas.read_pickle", "marshal.load"),
            ), path
    assert set(found) <= set(READERS_OF_PICKLES), found
