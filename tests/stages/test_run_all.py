"""`run_all` and `lshfast stage run`: all tasks, wherever they run, also where some fail."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lshfast import DataError, TooManyRemovedError, stages
from lshfast.stages import worker
from tests.cli.commands import failing, run
from tests.stages.runs import corpus, in_memory, joined, write_files
from tests.stages.slurm_cluster import PROGRAMS, program, slurm_cluster


@pytest.fixture
def folder(tmp_path):
    write_files(tmp_path / "in", corpus(8, 600), 5)
    return tmp_path


def planned(folder, **options):
    """Plan a run of more shards and tasks than there are CPUs."""
    options = {"shards": 5, "tasks": 2} | options
    stages.plan(folder / "in", folder / "work", folder / "kept", **options)
    return folder / "work"


def workers():
    """Return the process ids of the workers that this process started."""
    ids = subprocess.run(
        ["ps", "ww", "--ppid", str(os.getpid()), "-o", "pid=,args="],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [line.split(maxsplit=1) for line in ids.splitlines()]
    return [int(number) for number, arguments in lines if "stages.worker" in arguments]


@pytest.mark.one_case
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_outputs_are_those_of_dedup(folder, executor):
    calls = []
    summary = stages.run_all(
        planned(folder),
        executor=executor,
        workers=2,
        progress=lambda *call: calls.append(call),
    )
    in_one, kept, _ = in_memory(folder, folder / "in")
    assert joined(folder / "kept") == kept
    assert (summary.read, summary.removed) == (in_one.read, in_one.removed)
    assert [call for call in calls if call[0] == "sketch"] == [
        ("sketch", done, 5) for done in range(1, 6)
    ]
    assert calls[-1] == ("apply", 5, 5)
    assert workers() == []


def test_a_run_goes_on_where_it_ended(folder):
    work = planned(folder)
    stages.run(work, "sketch", 0)
    stages.run(work, "sketch", 3)
    calls = []
    stages.run_all(work, executor="inline", progress=lambda *call: calls.append(call))
    assert calls[0] == ("sketch", 3, 5)
    calls.clear()
    stages.run_all(work, executor="inline", progress=lambda *call: calls.append(call))
    assert calls == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_killed_processes_leave_no_temporary_files(tmp_path, monkeypatch):
    """Nor do those that end by themselves."""
    program = (
        "import os, sys, tempfile; path = tempfile.mkdtemp(); open(path + '/file', 'w'); "
        "print(path, file=sys.stderr); sys.stdin.readline(); os.kill(os.getpid(), {signal})"
    )
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for number in (signal.SIGKILL, signal.SIGTERM):
        monkeypatch.setattr(worker, "_PROGRAM", program.format(signal=int(number)))
        with (
            pytest.raises(worker.WorkerEndedError),
            worker.WorkerProcess("") as process,
        ):
            process.run("sketch", 0)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_tasks_of_killed_processes_are_repeated(folder):
    killed = {}

    def kill(stage, done, _):
        if stage in ("sketch", "collect") and done == 1 and stage not in killed:
            killed[stage] = workers()
            for number in killed[stage]:
                os.kill(number, signal.SIGKILL)

    stages.run_all(planned(folder), workers=2, progress=kill)
    assert list(map(len, killed.values())) == [2, 2]
    assert joined(folder / "kept") == in_memory(folder, folder / "in")[1]


@pytest.mark.one_case
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_a_task_that_always_fails_ends_the_run(folder, executor):
    work = planned(folder)
    blocked = work / "sketch-00003.data"
    blocked.mkdir()
    with pytest.raises(stages.TasksFailedError) as failure:
        stages.run_all(work, executor=executor, workers=1, retries=1)
    assert str(failure.value).startswith(f"{work}: sketch 3 failed in 2 attempts: ")
    assert str(blocked) in str(failure.value)
    assert stages.status(work).done["sketch"] == [0, 1, 2, 4]
    blocked.rmdir()
    stages.run_all(work, executor=executor, workers=1)
    assert joined(folder / "kept") == in_memory(folder, folder / "in")[1]


@pytest.mark.one_case
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_errors_that_last_end_the_run_at_once(folder, executor):
    work = planned(folder, max_removed=0.01)
    calls = []
    with pytest.raises(TooManyRemovedError) as refused:
        stages.run_all(
            work,
            executor=executor,
            workers=1,
            progress=lambda *call: calls.append(call),
        )
    assert refused.value.limit == 0.01
    assert refused.value.excesses[0].removed > 0
    assert calls[-1][0] == "verify"


@pytest.mark.one_case
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_errors_name_the_input(folder, executor):
    work = planned(folder)
    with (folder / "in" / "03.jsonl").open("a") as file:
        file.write("{")
    with pytest.raises(DataError, match=r"03\.jsonl: has changed since the plan"):
        stages.run_all(work, executor=executor, workers=1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"executor": "threads"}, "executor must be one of inline, processes"),
        ({"retries": -1}, "retries must be in 0..100, not -1"),
        ({"workers": 0}, "workers must be at least 1, not 0"),
    ],
)
def test_wrong_arguments(folder, options, reason):
    with pytest.raises(ValueError, match=reason):
        stages.run_all(planned(folder), **options)


@pytest.mark.slow
def test_command(folder):
    work = planned(folder)
    shown = run("stage", "run", work, "--workers", 2).stderr
    in_one, kept, _ = in_memory(folder, folder / "in")
    assert f"{in_one.kept:,} kept + {in_one.removed:,} removed" in shown
    assert joined(folder / "kept") == kept
    assert "600" in run("stage", "run", work).stderr


def test_arguments_of_sbatch_that_do_not_end(folder):
    options = "--executor", "slurm", "--sbatch", "'--partition"
    reason = failing(2, "stage", "run", planned(folder), *options)
    assert 'sbatch: "\'--partition" has no end' in reason


def test_without_slurm(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    reason = failing(1, "stage", "run", planned(folder), "--executor", "slurm")
    assert reason.endswith(
        "sbatch was not found: start the run where jobs of Slurm are submitted"
    )


@pytest.mark.slow
def test_watching_ends_with_the_last_task(folder):
    """Another process runs the tasks."""
    work = planned(folder)
    command = [sys.executable, "-m", "lshfast", "stage", "run", work, "-q"]
    calls = []
    with subprocess.Popen([*command, "--executor", "inline"]) as process:
        stages.watch(work, lambda *call: calls.append(call))
        assert process.wait() == 0
    assert [call[:2] for call in calls if call[1] == call[2]][-1] == ("apply", 5)
    calls.clear()
    stages.watch(work, lambda *call: calls.append(call))
    assert [done for _, done, count in calls] == [count for *_, count in calls]
    shown = run("stage", "status", work, "--watch").stdout
    assert "apply" in shown


@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(program, PROGRAMS)), reason="Slurm and munge are not installed"
)
def test_slurm(folder, monkeypatch):
    """A job is cancelled; arrays have at most four tasks, and there are five shards."""
    work = planned(folder, tasks=1, memory="300M")
    cancelled = []

    def cancel(stage, done, _):
        if stage == "collect" and done == 1 and not cancelled:
            jobs = subprocess.run(
                ["squeue", "-h", "-o", "%A"], capture_output=True, text=True
            )
            cancelled.extend(jobs.stdout.split())
            subprocess.run(["scancel", *cancelled], check=True)

    other = folder / "other"
    stages.plan(folder / "in", other, folder / "others")
    with (
        tempfile.TemporaryDirectory(prefix="slurm") as place,
        slurm_cluster(Path(place) / "cluster") as environment,
    ):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        summary = stages.run_all(
            work, executor="slurm", sbatch=["--time=10"], progress=cancel
        )
        with pytest.raises(ValueError, match="sbatch refused the tasks of"):
            stages.run_all(other, executor="slurm", sbatch=["--partition=none"])
    assert summary.read == 600
    assert joined(folder / "kept") == in_memory(folder, folder / "in")[1]


@pytest.mark.slow
def test_dask(folder):
    distributed = pytest.importorskip(
        "distributed", reason="Dask is missing: install lshfast[test]"
    )
    work = planned(folder)
    with pytest.raises(ValueError, match="needs the address of a scheduler"):
        stages.run_all(work, executor="dask")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
    ):
        stages.run_all(work, executor="dask", address=cluster.scheduler_address)
    assert joined(folder / "kept") == in_memory(folder, folder / "in")[1]


# Ray starts two workers on this machine alone, and sends no statistics. The process of the tests
# does not start it, since it changes how that process ends.
ON_RAY = """
import sys
import ray
from lshfast import stages
ray.init(num_cpus=2, object_store_memory=100 << 20, include_dashboard=False)
print(stages.run_all(sys.argv[1], executor="ray"))
"""
RAY = {
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    "RAY_USAGE_STATS_ENABLED": "0",
    # On Linux too, this is what keeps Ray to the loopback interface.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}


@pytest.mark.weekly  # the slow test of Dask runs tasks in the workers of another library, too
def test_ray(folder):
    pytest.importorskip("ray", reason="Ray is missing: install lshfast[test]")
    work = planned(folder, shards=2, tasks=1)
    with tempfile.TemporaryDirectory(prefix="ray") as place:  # it makes sockets there
        done = subprocess.run(
            [sys.executable, "-c", ON_RAY, work],
            env=os.environ | RAY | {"HOME": place, "RAY_TMPDIR": place},
            capture_output=True,
            text=True,
            timeout=600,
        )
    assert done.returncode == 0, done.stderr
    assert "removed" in done.stdout
    assert joined(folder / "kept") == in_memory(folder, folder / "in")[1]
