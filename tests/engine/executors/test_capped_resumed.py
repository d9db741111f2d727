"""Runs within a cap of memory that end early, at any place and for any reason: no output, one error, and resumption."""

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import lshfast._engine.sketching
from lshfast import FormatError, dedup_files
from lshfast._engine import budget, inputs
from lshfast._engine.executors.local.input_sums import InputSums
from lshfast._engine.executors.local.work_folder import VERSION
from lshfast._engine.inputs import Inputs
from lshfast._io import open_corpus
from lshfast.join.external import slot_file
from tests.corpora import WORDS
from tests.engine.executors.capped_runs import (
    MEMORY,
    Ended,
    corpus,
    end_at,
    outputs,
    write_jsonl,
)
from tests.engine.executors.full_disk import FullDisk


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "more"),
    [
        (19, {}),
        pytest.param(19, {"ignore_common": 0.02}, marks=pytest.mark.weekly),
        pytest.param(1, {}, marks=pytest.mark.weekly),
        pytest.param(
            11, {"ignore_common": 0.02}, marks=pytest.mark.weekly
        ),  # two more readings, so there are more places
        pytest.param(5, {"ignore_common": 0.02}, marks=pytest.mark.weekly),
    ],
)
def test_a_run_that_was_ended_anywhere_is_resumed(
    tmp_path, small_parts, monkeypatch, step, more
):
    rows = corpus(11, 2500)
    source = write_jsonl(tmp_path / "in.jsonl", [*rows, {"id": "x"}, rows[9]])
    work = tmp_path / "work"
    options = {"id_column": "id", "keep": "max:id", "on_error": "skip"} | more
    wanted = outputs(tmp_path, "a", source, **options)
    tell, calls = end_at(0)
    outputs(tmp_path, "b", source, memory=MEMORY, work=work, progress=tell, **options)
    assert calls[0] > 8
    for call in range(1, calls[0] + 1, step):
        name = f"c{call}"
        with pytest.raises(Ended):
            outputs(
                tmp_path,
                name,
                source,
                memory=MEMORY,
                work=work,
                progress=end_at(call)[0],
                **options,
            )
        assert not (tmp_path / f"{name}.jsonl").exists()
        found = outputs(
            tmp_path, name, source, memory=MEMORY, work=work, resume=True, **options
        )
        assert found == wanted
        assert found[0].summary == wanted[0].summary
        assert not work.exists()


def batches_of(monkeypatch, nbytes):
    """Let the batches and pieces of a run have so many bytes."""
    monkeypatch.setattr(
        Inputs,
        "open",
        lambda own, **others: OPEN(own, **{"batch_bytes": nbytes, **others}),
    )
    monkeypatch.setattr(lshfast._engine.sketching, "PIECE_BYTES", nbytes // 3)


OPEN = Inputs.open


@pytest.mark.slow
@pytest.mark.parametrize(
    ("threads", "nbytes"),
    [pytest.param(1, 999, marks=pytest.mark.weekly), (2, 40_000), (3, 1 << 20)],
)
def test_threads_and_batches_do_not_matter(
    tmp_path, small_parts, monkeypatch, threads, nbytes
):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(21, 2500))
    work = tmp_path / "work"
    wanted = outputs(tmp_path, "a", source)
    for memory in (MEMORY, 2 * MEMORY):
        for ended in (
            1,
            2,
            4,
        ):  # while texts are read first, and again; while parts are run
            stages, name = [], f"b{memory}.{ended}"

            def tell(stage, *_, stages=stages, ended=ended):
                stages += [stage] if stage not in stages else []
                if len(stages) == ended:
                    raise Ended

            with monkeypatch.context() as patch:
                batches_of(patch, 1 << 16)
                with pytest.raises(Ended):
                    outputs(
                        tmp_path,
                        name,
                        source,
                        memory=memory,
                        work=work,
                        threads=4 - threads,
                        progress=tell,
                    )
            with monkeypatch.context() as patch:
                batches_of(patch, nbytes)
                found = outputs(
                    tmp_path,
                    name,
                    source,
                    memory=memory,
                    work=work,
                    resume=True,
                    threads=threads,
                )
            assert found == wanted


@pytest.mark.slow
def test_a_run_with_other_threads_or_memory_is_resumed_in_the_same_parts(
    tmp_path, small_parts, monkeypatch
):
    # Threads take memory from the parts.
    costs = replace(budget.COSTS, thread=MEMORY // 4)
    monkeypatch.setattr(budget, "COSTS", costs)
    source = write_jsonl(tmp_path / "in.jsonl", corpus(21, 4000))
    wanted = outputs(tmp_path, "a", source)
    for before, now, memory in (
        (1, 2, MEMORY),
        (2, 1, MEMORY),
        (1, 1, 2 * MEMORY),
        (1, 1, MEMORY - MEMORY // 4),
    ):
        name = f"b{before}{now}{memory}"
        work = begun(
            tmp_path, source, parts=1, threads=before, output=tmp_path / f"{name}.jsonl"
        )
        assert len(list(work.glob("part-*.texts"))) > 1
        assert (
            outputs(
                tmp_path,
                name,
                source,
                memory=memory,
                work=work,
                resume=True,
                threads=now,
            )
            == wanted
        )


def begun(tmp_path, source, parts=0, **options):
    """Begin a run that ends after pass two and so many parts, and return its work folder."""
    work = tmp_path / "work"

    def tell(stage, done, _):
        if stage == "verify" and len(list(work.glob("part-*.json"))) == parts:
            raise Ended

    with pytest.raises(Ended):
        dedup_files(
            source,
            **{
                "memory": MEMORY,
                "work": work,
                "progress": tell,
                "threads": 1,
                **options,
            },
        )
    return work


def test_another_run_is_refused(tmp_path, small_parts):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(13, 300))
    work = begun(tmp_path, source)
    with pytest.raises(
        ValueError,
        match=r"work: this work folder is not empty; resume \(--resume\) continues its run",
    ):
        dedup_files(source, memory=MEMORY, work=work)
    for options, reason in (
        ({"threshold": 0.7}, r"threshold was 0\.8, and is 0\.7"),
        ({"seed": 5}, "seed was 1, and is 5"),
        ({"keep": "last"}, "keep was first, and is last"),
        ({"column": "id"}, "column was text, and is id"),
    ):
        with pytest.raises(ValueError, match=reason):
            dedup_files(
                source, **{"memory": MEMORY, "work": work, "resume": True, **options}
            )
    other = write_jsonl(tmp_path / "other.jsonl", corpus(13, 5))
    with pytest.raises(
        ValueError, match=r"other run: .*other\.jsonl is not one of its inputs"
    ):
        dedup_files([source, other], memory=MEMORY, work=work, resume=True)
    source.write_bytes(source.read_bytes().replace(b"word", b"wort", 1))
    with pytest.raises(ValueError, match=re.escape(f"{source} has changed since")):
        dedup_files(source, memory=MEMORY, work=work, resume=True)


def test_an_input_that_has_changed_inside_is_refused(
    tmp_path, small_parts, monkeypatch
):
    """Its size, its time, and the bytes at its ends are the same."""
    monkeypatch.setattr(inputs, "END_BYTES", 64)
    sources = [
        write_jsonl(tmp_path / name, corpus(seed, 300))
        for seed, name in enumerate(("a.jsonl", "b.jsonl"))
    ]
    work = begun(tmp_path, sources)
    before = sources[1].read_bytes()
    state = sources[1].stat()
    sources[1].write_bytes(before[:5000] + before[5000:].replace(b"word", b"wort", 1))
    os.utime(sources[1], ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(ValueError, match=re.escape(f"{sources[1]} has changed since")):
        dedup_files(sources, memory=MEMORY, work=work, resume=True)
    sources[1].write_bytes(before)
    os.utime(sources[1], ns=(state.st_atime_ns, state.st_mtime_ns))
    compared = []

    def tell(stage, done, total):
        if stage == "input":
            compared.append((done, total))

    assert dedup_files(
        sources, memory=MEMORY, work=work, resume=True, progress=tell
    ) == dedup_files(sources)
    total = sum(source.stat().st_size for source in sources)
    assert compared == [(0, total), (total, total)]


def test_checksums_of_a_file_that_grows_end(tmp_path):
    """They end where the file ended when it was listed, whatever is written behind it meanwhile."""
    source = write_jsonl(tmp_path / "in.jsonl", corpus(13, 20))
    files = open_corpus(source).files
    with open(source, "ab") as more:
        more.write(b"x" * 100)
        more.flush()
        found = InputSums(files)
        found.follow(files[0].size)
        grown = found.finished()
    os.truncate(source, files[0].size)
    assert grown == InputSums(files).finished() != {}


def test_a_temporary_work_folder_needs_no_checksums_of_inputs(
    tmp_path, small_parts, monkeypatch
):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(13, 300))
    monkeypatch.setattr("lshfast._engine.executors.local.input_sums.checksum", None)
    with pytest.raises(TypeError):
        dedup_files(source, memory=MEMORY, work=tmp_path / "work")
    dedup_files(source, memory=MEMORY)


def test_inputs_in_another_order_are_refused(tmp_path, small_parts):
    sources = [
        write_jsonl(tmp_path / name, corpus(13, 200)) for name in ("a.jsonl", "b.jsonl")
    ]
    work = begun(tmp_path, sources)
    with pytest.raises(ValueError, match="its inputs are in another order"):
        dedup_files(sources[::-1], memory=MEMORY, work=work, resume=True)
    with pytest.raises(
        ValueError, match=r"b\.jsonl is one of its inputs, and is missing now"
    ):
        dedup_files(sources[0], memory=MEMORY, work=work, resume=True)
    assert dedup_files(sources, memory=MEMORY, work=work, resume=True) == dedup_files(
        sources
    )


def test_a_file_is_no_work_folder(tmp_path, small_parts):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(13, 5))
    with pytest.raises(
        NotADirectoryError, match=r"the work folder is a file: .*in\.jsonl"
    ):
        dedup_files(source, memory=MEMORY, work=source)


def damaged(content, rng):
    """Yield versions of the content of a file that is damaged: cut, with a changed bit, longer, and missing (None)."""
    for place in (
        0,
        9,
        25,
        *range(99, len(content), 1 + len(content) // 4),
        len(content) - 30,
        len(content) - 1,
    ):
        yield (
            content[:place]
            + bytes([content[place] ^ 1 << rng.randrange(8)])
            + content[place + 1 :]
        )
    for place in (0, 1, len(content) // 2, len(content) - 1):
        yield content[:place]
    yield content + b"\0"
    yield None


@pytest.mark.slow
@pytest.mark.parametrize("parts", [0, 1])
def test_each_damaged_file_is_named(tmp_path, small_parts, parts):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(17, 3000))
    pairs = tmp_path / "pairs.csv"
    work, rng = begun(tmp_path, source, parts, pairs=pairs), random.Random(1)
    files = sorted(path for path in work.iterdir() if path.name != "lock")
    held = {path: path.read_bytes() for path in files}
    names = {"manifest.json", "sketch-00000.data", "texts-00000.data"}
    names |= {"sketch-00000.json", f"part-{parts}.texts"}
    assert names | ({"part-00000.data", "pairs-0.run"} if parts else set()) <= {
        path.name for path in files
    }
    for path in files:
        for bad in damaged(held[path], rng):
            if bad is None and path.suffix == ".json":
                continue  # then that has not been done
            if bad is None:
                path.unlink()
            else:
                path.write_bytes(bad)
            with pytest.raises(
                (FormatError, FileNotFoundError), match=re.escape(str(path))
            ):
                dedup_files(
                    source,
                    pairs=pairs,
                    memory=MEMORY,
                    work=work,
                    resume=True,
                    threads=1,
                )
            assert not pairs.exists()
            for later in set(work.iterdir()) - {*files, work / "lock"}:
                later.unlink()  # the parts that were run before the damage was found
            for other in files:
                other.write_bytes(held[other])
    dedup_files(source, pairs=pairs, memory=MEMORY, work=work, resume=True, threads=1)


def test_work_folders_of_others(tmp_path, small_parts):
    source = write_jsonl(tmp_path / "in.jsonl", corpus(17, 100))
    work = begun(tmp_path, source)
    manifest = json.loads((work / "manifest.json").read_text())
    (work / "manifest.json").write_text(json.dumps(manifest | {"version": VERSION + 1}))
    (work / "rows.npz").write_bytes(b"")  # as versions before 7 have it
    with pytest.raises(
        FormatError,
        match=f"version {VERSION + 1}; this library reads version {VERSION}",
    ):
        dedup_files(source, memory=MEMORY, work=work, resume=True)
    (work / "manifest.json").write_text(json.dumps(manifest))
    (work / "rows.npz").unlink()
    (work / "mine.txt").write_text("mine")
    with pytest.raises(FormatError, match="which is no file of a run"):
        dedup_files(source, memory=MEMORY, work=work, resume=True)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "mine.txt").write_text("mine")
    with pytest.raises(FormatError, match="which is no file of a run"):
        dedup_files(source, memory=MEMORY, work=mine, resume=True)
    assert os.listdir(mine) == ["mine.txt"]


def crowd(n):
    """Return rows that share their first words: one component; 120 take more than the memory of `small_parts`."""
    rng = random.Random(1)
    common = " ".join(rng.choices(WORDS, k=3000))
    return [
        {
            "id": f"crowd{i}",
            "text": f"{common} {' '.join(rng.choices(WORDS, k=800))}",
            "rank": 1,
        }
        for i in range(n)
    ]


class AllBuckets:
    """Counters to which all buckets are crowded."""

    def crowded(self, keys):
        return np.ones(len(keys), np.bool_)


def failure(run):
    """Return the OSError that a run raises, or None."""
    try:
        run()
    except OSError as error:
        return error
    return None


def ends_of_repetitions(calls):
    """Return the numbers of calls, but of those that two calls before and two behind are like: in files named alike."""
    kinds, file = [], ""
    for name, path in calls:
        file = os.path.basename(path) if path else file
        kinds.append((name, re.sub(r"\d", "", file)))
    inside = {
        n for n in range(2, len(kinds) - 2) if kinds[n - 2] == kinds[n] == kinds[n + 2]
    }
    return [n for n in range(len(kinds)) if n not in inside]


CASES = 16  # of the calls that need space on the disk
NOTES = 11  # of these, the last ones, which note in the folder that the run is over


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no posix_fallocate")
@pytest.mark.parametrize(
    ("resumed", "first"),
    [
        pytest.param(False, 0, id="temporary"),
        pytest.param(True, 1, id="resumed"),
        *(
            pytest.param(
                first % 2 == 1, first, id=f"further {first}", marks=pytest.mark.weekly
            )
            for first in range(2, CASES)
        ),
    ],
)
def test_a_full_disk_at_each_write_is_one_error_and_the_run_goes_on(
    tmp_path, small_parts, monkeypatch, resumed, first
):
    """The disk is full from the n-th call on that needs space, for each n but those amid many of the same kind.

    Each case takes every sixteenth n; the last calls are in all cases.
    """
    monkeypatch.setattr(slot_file, "CrowdedBuckets", AllBuckets)
    source = write_jsonl(tmp_path / "in.jsonl", [*corpus(19, 700), *crowd(120)])
    folder = tmp_path / "out"
    work = tmp_path / "work" if resumed else None
    folder.mkdir()

    def run(progress=None):
        result = outputs(
            folder, "b", source, pairs=folder / "pairs.csv", id_column="id", keep="max:rank", memory=MEMORY, work=work,
            resume=resumed, progress=progress,
        )  # fmt: skip
        return result[0], written()

    def written():
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    suffixes = set()

    def look(*_):
        hidden = folder if work is None else tmp_path
        suffixes.update(path.suffix for path in hidden.rglob("*"))

    with monkeypatch.context() as patch:
        disk = FullDisk(patch)
        wanted = run(look)
    calls = disk.calls
    assert {".run", ".texts", ".signatures", ".bin"} <= suffixes
    assert (".data" in suffixes) == resumed
    assert {"b.jsonl", "b.csv", "b.csv.options.json", "pairs.csv"} == set(wanted[1])
    final = [path.name for path in folder.iterdir()]
    renaming = next(
        room
        for room, (_, path) in enumerate(calls)
        if path and os.path.basename(path) in final
    )
    over = []
    rooms = ends_of_repetitions(calls)
    for room in [*rooms[first:-NOTES:CASES], *rooms[-NOTES:]]:
        for path in folder.iterdir():
            path.unlink()
        with monkeypatch.context() as patch:
            FullDisk(patch, room)
            error = failure(run)
        if error is None:
            over.append(room)
        else:
            assert error.errno == errno.ENOSPC
            assert str(tmp_path) in error.filename
            assert "\n" not in str(error)
        assert written() == {} or room > renaming
        assert written().items() <= wanted[1].items()
        if resumed and not over:
            assert run() == wanted
        assert work is None or not work.exists()
    # It is no error that the run cannot note in its folder that it is over.
    assert over == (rooms[-NOTES:] if resumed else [])


@pytest.mark.weekly
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_runs_are_resumed(tmp_path):
    """A run is killed after random times until it ends; the outputs are those of a run in memory."""
    source = write_jsonl(tmp_path / "in.jsonl", corpus(23, 30_000))
    rng = random.Random(1)
    dedup_files(source, tmp_path / "a.jsonl", removed=tmp_path / "a.csv")
    arguments = [
        sys.executable, "-m", "lshfast", "dedup", source, "-o", tmp_path / "b.jsonl", "--removed", tmp_path / "b.csv",
        "--memory", "300M", "--work", tmp_path / "work", "--resume", "--threads", "1", "--quiet",
        "--overwrite",  # a run that is killed in its last moment has written its outputs
    ]  # fmt: skip
    start, killed = time.perf_counter(), 0
    subprocess.run(arguments, check=True)
    whole = time.perf_counter() - start
    for path in tmp_path.glob("b.*"):
        path.unlink()
    for attempt in range(40):
        with subprocess.Popen(arguments, stderr=subprocess.PIPE) as run:
            try:
                errors = run.communicate(
                    timeout=rng.uniform(0.2, 0.6) * whole * 1.1**attempt
                )[1]
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                killed += 1
                continue
        assert run.returncode == 0, errors
        break
    assert killed
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert not (tmp_path / "work").exists()
