"""Tasks: in any order of attempts, killed, beside each other, with damaged files, changed inputs and a full disk."""

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from lshfast import DataError, FormatError, stages
from lshfast._common import atomic_files
from lshfast._engine.parts.spool import SpooledTexts
from lshfast.join.external import run_file
from lshfast.stages import MissingTasksError, sketching
from lshfast.stages.stage_plan import COLUMNS, read_stage_plan
from tests.stages.runs import (
    corpus,
    in_memory,
    in_stages,
    joined,
    rewritten,
    run_all,
    write_files,
)

SHARDS, TASKS = 3, 2
OUTPUTS = "kept", "removed", "pairs"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder with a run that is done."""
    folder = tmp_path_factory.mktemp("done")
    source = write_files(folder / "in", corpus(5, 400), 4)
    wanted = in_memory(
        folder, source, id_column="id", keep="max:number", ignore_common=0.05
    )
    plan(folder)
    run_all(folder / "work")
    assert outputs(folder)[:2] == wanted[1:]
    assert outputs(folder)[2]
    return folder


def plan(folder, **options):
    stages.plan(
        folder / "in", folder / "work", folder / "kept", removed=folder / "removed", shards=SHARDS, tasks=TASKS,
        pairs=folder / "pairs", id_column="id", keep="max:number", ignore_common=0.05, **options,
    )  # fmt: skip


def outputs(folder):
    return tuple(joined(folder / name) for name in OUTPUTS)


@pytest.fixture
def planned(done, tmp_path):
    """A folder with the inputs of that run, and a plan."""
    return planned_again(done, tmp_path)


def planned_again(done, folder):
    shutil.copytree(done / "in", folder / "in")
    plan(folder)
    return folder


@pytest.fixture(scope="module")
def other(done, tmp_path_factory):
    """A folder with another run of these inputs that is done."""
    folder = planned_again(done, tmp_path_factory.mktemp("other"))
    run_all(folder / "work")
    return folder


@pytest.fixture
def copied(done, tmp_path):
    """A copy of the work folder of that run, whose inputs and outputs are those of the other folder."""
    before = {
        path: path.read_bytes() for name in OUTPUTS for path in (done / name).iterdir()
    }
    shutil.copytree(done / "work", tmp_path / "copy")
    yield tmp_path / "copy"
    for (
        path,
        content,
    ) in before.items():  # tasks with values that nobody wrote may have written others
        path.write_bytes(content)


def everything(work):
    return [
        (stage, task)
        for stage in stages.STAGES
        for task in range(stages.tasks(work, stage))
    ]


def files_of(work):
    """Return the contents of all files, without seconds and without what is derived from them."""
    found = {}
    for path in sorted(work.iterdir()):
        if path.suffix == ".index":
            continue
        content = path.read_bytes()
        if path.suffix == ".json" and path.name != "plan.json":
            manifest = json.loads(content)["task"]
            content = {
                name: value for name, value in manifest.items() if name != "figures"
            }
        found[path.name] = content
    return found


@pytest.mark.slow
def test_the_order_of_attempts_does_not_matter(done, planned):
    """Tasks are tried in random order, also those that cannot run yet and those that are done."""
    work, rng = planned / "work", random.Random(1)
    left = everything(work)
    while left:
        stage, task = rng.choice(everything(work))
        with suppress(MissingTasksError):
            assert stages.run(work, stage, task) == ((stage, task) in left)
            left = [other for other in left if other != (stage, task)]
    assert outputs(planned) == outputs(done)


@pytest.mark.slow
def test_a_task_that_is_repeated_writes_the_same_files(planned):
    work = planned / "work"
    run_all(work)
    before = files_of(work)
    for stage, task in everything(work):
        assert not stages.run(work, stage, task)
        (work / f"{stage}-{task:05}.json").unlink()
        assert stages.run(work, stage, task)
    assert files_of(work) == before


def test_join_tasks_divide_the_keys_of_all_bands(tmp_path):
    """A task has parts of two bands, or less than a band."""
    source = write_files(tmp_path / "in", corpus(9, 200), 2)
    options = {"bands": 3, "rows_per_band": 2, "num_perm": 64, "threshold": 0.5}
    wanted = in_memory(tmp_path, source, exact=False, **options)
    assert in_stages(tmp_path, source, shards=2, tasks=5, **options) == wanted


@pytest.mark.slow
def test_attempts_beside_each_other(done, planned):
    work = planned / "work"
    with ThreadPoolExecutor(4) as pool:
        for stage in stages.STAGES:
            tasks = [
                task for task in range(stages.tasks(work, stage)) for _ in range(4)
            ]
            list(
                pool.map(lambda task, stage=stage: stages.run(work, stage, task), tasks)
            )
    assert outputs(planned) == outputs(done)
    assert not [path for path in work.iterdir() if path.name.startswith(".")]


def test_tasks_of_the_stage_before_are_needed(planned):
    work = planned / "work"
    for stage, needed in zip(stages.STAGES[1:], stages.STAGES, strict=False):
        stages.run(work, needed, 0)
        last = stages.tasks(work, needed) - 1
        if stage == "band":
            stages.run(work, "band", 0)
            stages.run(work, "sketch")
            (work / f"band-{0:05}.json").unlink()
            (work / f"sketch-{1:05}.json").unlink()
            with pytest.raises(
                ValueError, match=r"band 1 needs tasks that are not done: sketch 1$"
            ):
                stages.run(work, "band", 1)
            stages.run(work, "sketch")
        elif last:
            named = ", ".join(map(str, range(1, last + 1)))
            with pytest.raises(
                ValueError,
                match=f"{stage} 0 needs tasks that are not done: {needed} {named}$",
            ):
                stages.run(work, stage, 0)
        stages.run(work, needed)
    assert stages.status(work).done["verify"] == [0, 1]


def test_status(planned):
    work = planned / "work"
    for stage in ("count", "recount"):
        stages.run(work, stage)
    stages.run(work, "sketch", 1)
    found = stages.status(work)
    assert found.tasks == {
        "count": 3, "recount": 3, "sketch": 3, "band": 3, "join": 2, "group": 1, "collect": 3, "verify": 2, "apply": 3,
    }  # fmt: skip
    assert found.done["sketch"] == [1]
    assert found.summary is None
    for stage in stages.STAGES[:-1]:
        stages.run(work, stage)
    assert stages.status(work).summary.read == 400


def needing(stage):
    """Return the stages that read the data files of a stage."""
    return {
        "count": ["recount"], "recount": ["sketch", "verify"], "sketch": ["band", "group", "collect", "apply"],
        "band": ["join"], "join": ["group"], "group": ["collect"], "collect": ["verify"], "verify": ["apply"],
        "apply": [],
    }[stage]  # fmt: skip


def repeat(work, some):
    """Run the tasks of some stages again; their manifests are as before then."""
    for stage in some:
        manifests = {path: path.read_bytes() for path in work.glob(f"{stage}-*.json")}
        for path in manifests:
            path.unlink()
        try:
            stages.run(work, stage)
        finally:
            for path, content in manifests.items():
                path.write_bytes(content)


def failing_names(work, path, stage):
    """Check that each stage that reads a file fails with a FormatError that names it."""
    for other in needing(stage):
        with pytest.raises(FormatError, match=str(path)):
            repeat(work, [other])


@pytest.mark.some_cases
@pytest.mark.parametrize(
    "stage", [stage for stage in stages.STAGES if stage != "apply"]
)
def test_flipped_bytes_and_cut_files_are_named(copied, stage):
    path = copied / f"{stage}-00000.data"
    content = path.read_bytes()
    places = random.Random(3).sample(range(len(content)), 6)
    for place in [0, 9, 17, 30, *places, len(content) - 1]:
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        if stage != "sketch" or place < 24:
            failing_names(copied, path, stage)
        else:  # each stage reads another range of a sketch
            with pytest.raises(FormatError, match=str(path)):
                repeat(copied, needing(stage))
    for size in (0, 23, 24, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        failing_names(copied, path, stage)
    path.write_bytes(content + b"\0")
    failing_names(copied, path, stage)
    path.unlink()
    failing_names(copied, path, stage)


@pytest.mark.parametrize("stage", stages.STAGES)
def test_damaged_manifests_are_named(copied, stage):
    path = copied / f"{stage}-00000.json"
    content = path.read_bytes()
    task = json.loads(content)
    for text in (
        b"",
        content[:-9],
        content.replace(b'"figures"', b'"figure"'),
        b"[]",
        b'{"task": 1}',
    ):
        path.write_bytes(text)
        with pytest.raises(FormatError, match=f"{path}: damaged"):
            stages.status(copied)
    path.write_text(json.dumps(task | {"version": 1}))
    with pytest.raises(
        FormatError, match=f"{path}: version 1; this library reads version 5"
    ):
        stages.status(copied)


def test_plans_of_earlier_versions_are_refused(copied):
    path = copied / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2}))
    with pytest.raises(
        FormatError, match=f"{path}: version 2; this library reads version 7"
    ):
        stages.status(copied)


@pytest.mark.some_cases
@pytest.mark.parametrize("stage", [stage for stage in stages.STAGES if COLUMNS[stage]])
def test_files_of_another_run_are_named(copied, other, stage):
    """The runs have the same inputs and parameters, but not the same keys."""
    for suffix in ("data", "json"):
        name = f"{stage}-00000.{suffix}"
        before = (copied / name).read_bytes()
        shutil.copy(other / "work" / name, copied / name)
        if suffix == "data":
            failing_names(copied, copied / name, stage)
        else:
            with pytest.raises(
                FormatError, match=f"{copied / name}: it belongs to another plan"
            ):
                stages.status(copied)
        (copied / name).write_bytes(before)


def test_a_row_that_is_removed_twice_is_an_error(copied):
    def change(ranges):
        ranges.insert(0, ranges[0])

    rewritten(read_stage_plan(str(copied)), "verify", change)
    with pytest.raises(FormatError, match="remove a row of shard 0 twice"):
        repeat(copied, ["apply"])


NUMBERS = [-1, 0, 1, 3, 10**6, 2**40 + 1, 2**63 - 1, -(2**63)]


@pytest.mark.some_cases
@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "column"),
    [(stage, column) for stage in COLUMNS for column in COLUMNS[stage]],
)
def test_values_that_nobody_wrote(copied, stage, column):
    """Values are checked where they are used: right checksums around wrong values give an error and no crash."""
    plan, rng = read_stage_plan(str(copied)), random.Random(4)
    saved = {
        path: path.read_bytes() for path in copied.iterdir() if path.name != "plan.json"
    }

    def change(ranges):
        _, part = rng.choice([one for one in ranges if len(one[1][column])])
        values = part[column].copy()
        number = rng.choice(NUMBERS) % 2**64
        kind = rng.randrange(3)
        if kind == 0:
            values = values[: rng.randrange(len(values))]
        elif kind == 1:
            values = np.concatenate([values, values[:3]])
        else:
            some = np.array([number], np.uint64).view(values.dtype)
            values[rng.randrange(len(values))] = some[0]
        part[column] = values

    for _ in range(12):
        rewritten(plan, stage, change)
        for other in needing(stage):
            with suppress(FormatError, DataError):
                repeat(copied, [other])
        for path, content in saved.items():
            path.write_bytes(content)


@pytest.mark.one_case
@pytest.mark.parametrize("stage", ["sketch", "collect", "apply"])
@pytest.mark.parametrize("change", ["text", "time"])
def test_changed_inputs_are_named(planned, stage, change):
    work, path = planned / "work", planned / "in" / "00.jsonl"
    for before in stages.STAGES[: stages.STAGES.index(stage)]:
        stages.run(work, before)
    if change == "text":
        path.write_bytes(path.read_bytes().replace(b"word1", b"word2"))
    else:
        os.utime(path, ns=(1, 1))
    with pytest.raises(
        DataError, match=f"{path}: has changed since the plan of this run was made"
    ):
        stages.run(work, stage, 0)
    assert 0 not in stages.status(work).done[stage]


def error_of(function, *arguments):
    """Return the OSError that a call raises, or None."""
    try:
        function(*arguments)
    except OSError as error:
        return error


@pytest.mark.slow
def test_a_full_disk_at_each_write(done, planned, monkeypatch):
    """Each write of each task fails once; nothing gets its final name, and the next attempt goes on."""
    work, real = planned / "work", atomic_files._NamedFile.write
    left = None

    def write(file, data):
        nonlocal left
        if left == 0:
            with atomic_files.naming(file.final):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if left is not None:
            left -= 1
        return real(file, data)

    monkeypatch.setattr(atomic_files._NamedFile, "write", write)
    failures = 0
    for stage, task in everything(work):
        for number in range(100):
            before, left = names_of_tasks(work), number
            error = error_of(stages.run, work, stage, task)
            if error is None:
                break
            failures += 1
            assert error.errno == errno.ENOSPC
            assert error.filename.startswith(str(planned))
            assert set(names_of_tasks(work)) <= {*before, f"{stage}-{task:05}.data"}
    assert failures > 2 * len(everything(work))
    assert outputs(planned) == outputs(done)


# Runs all tasks; before each write, rename and removal of a file, one process is killed. Prints the
# number of kills.
KILLER = """
import os, signal, sys
from lshfast import stages
from lshfast._common import atomic_files

def killed_at(number, stage, task):
    pid = os.fork()
    if pid == 0:
        def counted(function):
            def call(*arguments, **named):
                nonlocal number
                if number == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                number -= 1
                return function(*arguments, **named)
            return call

        atomic_files._NamedFile.write = counted(atomic_files._NamedFile.write)
        os.replace, os.unlink = counted(os.replace), counted(os.unlink)
        stages.run(work, stage, task)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL), status
    return status != 0

work, kills = sys.argv[1], 0
for stage in stages.STAGES:
    for task in range(stages.tasks(work, stage)):
        number = 0
        while killed_at(number, stage, task):
            number += 1
        kills += number
print(kills)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_killed_tasks_are_repeated(done, planned, tmp_path):
    """Files that killed processes leave are removed by the next attempt, and the outputs are as without them."""
    # Temporary files of killed processes stay.
    held = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", KILLER, planned / "work"]
    run = subprocess.run(command, env=held, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 4 * len(everything(planned / "work"))
    assert outputs(planned) == outputs(done)
    for name in ("work", *OUTPUTS):
        assert not [
            path for path in (planned / name).iterdir() if path.name.startswith(".")
        ]


class Full:
    """A file on a full disk."""

    def __init__(self, file, write):
        self.write, self.close, self.fileno, self._file = (
            write,
            file.close,
            file.fileno,
            file,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def names_of_tasks(work):
    """Return the names of the files of tasks, without the indexes of finished stages."""
    return sorted(name for name in os.listdir(work) if not name.endswith(".index"))


@pytest.mark.one_case
@pytest.mark.parametrize("stage", ["band", "join", "collect", "verify"])
def test_a_full_temporary_folder(done, planned, monkeypatch, stage):
    """The error names the folder or the file; nothing gets its final name, and the next attempt goes on."""
    work = planned / "work"
    for before in stages.STAGES[: stages.STAGES.index(stage)]:
        stages.run(work, before)

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real, names = tempfile.TemporaryFile, names_of_tasks(work)
    with monkeypatch.context() as patch:
        patch.setattr(
            sketching, "BLOCK_RECORDS", 64
        )  # so many records are sorted in memory
        patch.setattr(sketching, "obtainable", lambda memory: 0)
        patch.setattr(run_file, "write_all", fail)
        patch.setattr(tempfile, "TemporaryFile", lambda: Full(real(), fail))
        patch.setattr(
            SpooledTexts,
            "add",
            lambda held, data: held._pieces.append(data) or held._spill(),
        )
        with pytest.raises(OSError, match=r"No space left on device: '.*tmp"):
            stages.run(work, stage)
    assert names_of_tasks(work) == names
    for after in stages.STAGES[stages.STAGES.index(stage) :]:
        stages.run(work, after)
    assert outputs(planned) == outputs(done)
