"""Outputs that are URLs: in a file system of fsspec, and in a server that answers as the Hugging Face Hub does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lshfast
from lshfast._engine.options.stored import BESIDE
from lshfast._io import check_outputs, write_table
from tests.io.hub import Hub, running_hub

fsspec = pytest.importorskip("fsspec")

ROWS = [
    {"text": text}
    for text in ("one two three four five",) * 3 + ("six seven eight nine ten",)
]


@pytest.fixture
def memory() -> Iterator[Any]:
    """Return the file system in memory, which examples of docstrings may have written to."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files."""
    folder = tmp_path / "held"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> str:
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(path)


@pytest.mark.parametrize(
    "kind", [".jsonl", ".csv.gz", ".tsv", ".jsonl.zst", ".parquet"]
)
def test_a_url_gets_the_bytes_of_a_local_file(
    tmp_path: Path, held: Path, memory: Any, texts: str, kind: str
) -> None:
    local = [str(tmp_path / f"{name}{kind}") for name in ("kept", "removed")]
    urls = [f"memory://bucket/{name}{kind}" for name in ("kept", "removed")]
    lshfast.dedup_files([texts], local[0], removed=local[1])
    lshfast.dedup_files([texts], urls[0], removed=urls[1])
    made = {name: data.getvalue() for name, data in memory.store.items()}
    wanted = {
        f"/bucket/{os.path.basename(path)}": Path(path).read_bytes() for path in local
    }
    if kind != ".parquet":
        wanted[f"/bucket/removed{kind}{BESIDE}"] = Path(local[1] + BESIDE).read_bytes()
    assert made == wanted
    assert not list(held.iterdir())


def test_a_url_of_a_local_file(tmp_path: Path, held: Path, texts: str) -> None:
    url = f"file://{tmp_path}/kept.jsonl"
    lshfast.dedup_files([texts], url)
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 2
    with pytest.raises(FileExistsError, match="exists already"):
        lshfast.dedup_files([texts], url)
    with pytest.raises(ValueError, match="one of the inputs"):
        lshfast.dedup_files([texts], f"file://{texts}", overwrite=True)


def test_what_cannot_be_written(tmp_path: Path, memory: Any, texts: str) -> None:
    memory.pipe("/b/texts.jsonl", Path(texts).read_bytes())
    memory.pipe("/b/d/x.jsonl", b"")
    for url, given, reason in (
        (
            "memory://b/texts.jsonl",
            texts,
            "memory://b/texts.jsonl: the output exists already; overwrite=True replaces it",
        ),
        (
            "memory:///b/texts.jsonl",
            "memory://b/texts.jsonl",
            "the output is one of the inputs",
        ),
        ("memory://b/d", texts, "unknown kind of output"),
        (
            "https://x.org/a.jsonl",
            texts,
            "https://x.org/a.jsonl: a URL of this kind cannot be written to",
        ),
        (
            "simplecache::memory://b/a.jsonl",
            texts,
            "a URL of this kind cannot be written to",
        ),
        ("nosuch://b/a.jsonl", texts, "nosuch://b/a.jsonl: Protocol not known"),
        ("nosuch://b/a\x1b.jsonl", texts, r"nosuch://b/a\\x1b.jsonl: "),
    ):
        with pytest.raises((OSError, ValueError), match=reason):
            lshfast.dedup_files([given], url)
    with pytest.raises(ValueError, match="two outputs of one name"):
        check_outputs(["memory://b/a.csv", "memory:///b/a.csv"])
    with pytest.raises(ValueError, match="must be a local file, not a URL"):
        lshfast.dedup_files([texts], save_index="memory://b/index.lsh")
    with pytest.raises(ValueError, match="must be a local file, not a URL"):
        lshfast.dedup_files(
            [texts], str(tmp_path / "a.jsonl"), html="memory://b/page.html"
        )
    with pytest.raises(ValueError, match="the work folder must be a local folder"):
        lshfast.dedup_files([texts], memory=1 << 30, work="memory://b/work")
    assert set(memory.store) == {"/b/texts.jsonl", "/b/d/x.jsonl"}


@pytest.mark.parametrize(
    "name", ["work", "output", "pairs", "removed", "rejected", "against"]
)
def test_folders_and_index_of_stages_are_local(tmp_path: Path, name: str) -> None:
    """URLs are refused by name before anything is opened; nothing listens at this port."""
    url = "http://127.0.0.1:9/folder"
    places = {"work": tmp_path / "work", "output": tmp_path / "kept"}
    arguments: dict[str, Any] = {**places, name: url}
    with pytest.raises(ValueError, match=f"^{url}: .* local .*, not a URL$"):
        lshfast.stages.plan("http://127.0.0.1:9/in.jsonl", **arguments)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=f"^{url}: .*, not a URL$"):
        lshfast.stages.status(url)


def test_a_server_that_does_not_answer_is_named() -> None:
    url = "http://127.0.0.1:9/texts.lsh"
    with pytest.raises(OSError, match=f"^{url}: "):
        lshfast.LSHIndex.open(url)


def test_what_cannot_be_uploaded_is_kept(
    held: Path, memory: Any, texts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any, local: str, path: str, **options: Any) -> None:
        raise RuntimeError("quota\nexceeded")

    monkeypatch.setattr(type(memory), "put_file", refuse)
    with pytest.raises(
        OSError,
        match=r"memory://b/kept\.jsonl: RuntimeError: quota exceeded; its content is in ",
    ) as error:
        lshfast.dedup_files([texts], "memory://b/kept.jsonl")
    kept = Path(str(error.value).rpartition(" is in ")[2])
    assert [json.loads(line) for line in kept.read_text().splitlines()] == [
        ROWS[0],
        ROWS[3],
    ]
    assert list(held.iterdir()) == [kept.parent]
    assert not memory.store


def test_nothing_is_kept_of_an_upload_that_is_interrupted(
    held: Path, memory: Any, texts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: Any, local: str, path: str, **options: Any) -> None:
        assert [*held.iterdir()]
        raise KeyboardInterrupt

    monkeypatch.setattr(type(memory), "put_file", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lshfast.dedup_files([texts], "memory://b/kept.jsonl")
    assert not list(held.iterdir())
    assert not memory.store


def test_nothing_is_uploaded_by_a_run_that_fails(
    held: Path, memory: Any, texts: str
) -> None:
    with pytest.raises(lshfast.TooManyRemovedError):
        lshfast.dedup_files(
            [texts],
            "memory://b/kept.jsonl",
            removed="memory://b/removed.csv",
            max_removed=0.1,
        )
    assert not memory.store
    assert not list(held.iterdir())


def test_other_file_systems_get_a_file_by_its_rename(
    held: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lshfast._io import remote_output

    seen: list[list[str]] = []
    move = type(memory).mv

    def watched(self: Any, old: str, new: str, **options: Any) -> None:
        seen.append(sorted(self.store))
        move(self, old, new, **options)

    monkeypatch.setattr(remote_output, "_OBJECT_STORES", frozenset())
    monkeypatch.setattr(type(memory), "mv", watched)
    write_table("memory://b/t.csv", {"a": [1, 2]})
    assert [len(names) for names in seen] == [1]
    assert re.fullmatch(r"/b/\.t\.csv\.[0-9a-f]{16}\.part", seen[0][0])
    assert {name: data.getvalue() for name, data in memory.store.items()} == {
        "/b/t.csv": b"a\n1\n2\n"
    }


# The Hugging Face Hub


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    pytest.importorskip("huggingface_hub")
    with running_hub() as server:
        yield server


def told(hub: Hub, *arguments: str) -> tuple[int, str]:
    """Run a command with this server; return the status and what it printed to standard error."""
    known = {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_token", "HF_HUB_DISABLE_XET": "1"}
    made = subprocess.run(
        [sys.executable, "-m", "lshfast", *arguments],
        env=os.environ | known,
        capture_output=True,
        text=True,
    )
    return made.returncode, made.stderr


@pytest.mark.weekly
def test_a_data_set_of_the_hub(hub: Hub, texts: str, tmp_path: Path) -> None:
    folder = "hf://datasets/owner/texts/data"
    command = [
        "dedup",
        texts,
        "-o",
        f"{folder}/kept.jsonl",
        "--removed",
        f"{folder}/removed.parquet",
        "-q",
    ]
    assert told(hub, *command) == (0, "")
    assert sorted(hub.files) == ["data/kept.jsonl", "data/removed.parquet"]
    assert hub.files["data/kept.jsonl"].decode().splitlines() == [
        json.dumps(ROWS[i]) for i in (0, 3)
    ]
    status, said = told(hub, *command)
    assert (status, "exists already; --overwrite replaces it" in said) == (
        2,
        True,
    )
    assert told(hub, *command, "--overwrite") == (0, "")
    again = str(tmp_path / "again.jsonl")
    assert told(hub, "dedup", f"{folder}/kept.jsonl", "-o", again, "-q") == (0, "")
    assert Path(again).read_bytes() == hub.files["data/kept.jsonl"]


@pytest.mark.slow
def test_who_may_not_write_is_told_before_the_run(hub: Hub, texts: str) -> None:
    commits = len(hub.commits)
    hub.writable = False
    try:
        status, said = told(
            hub, "dedup", texts, "-o", "hf://datasets/owner/texts/other.jsonl"
        )
    finally:
        hub.writable = True
    assert status != 0
    assert said.startswith("lshfast: error: hf://datasets/owner/texts/other.jsonl: 403")
    status, said = told(
        hub, "dedup", texts, "-o", "hf://datasets/owner/none/other.jsonl"
    )
    assert status != 0
    assert "repository not found" in said
    assert len(hub.commits) == commits
