"""A process with another version of lshfast has no part in a run: not in its tasks, and not after an interruption."""

import pickle
import re
import shutil

import pytest

import lshfast
from lshfast._common.code_version import PACKAGE, SOURCES_DIGEST, code_version
from tests import corpora
from tests.engine.executors.other_version import copy_package, run_other

pytest.importorskip("pyarrow")

VERSION = "import lshfast._common.code_version as module; print(module.code_version())"


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return copy_package(tmp_path_factory.mktemp("other"))


@pytest.fixture
def source(tmp_path):
    rows = [
        {"text": f"row {i // 2} of a corpus, in which every row is there twice"}
        for i in range(40)
    ]
    return corpora.make(tmp_path / "in.jsonl", rows)


def stage(folder, *words):
    return run_other(
        folder, "from lshfast.__main__ import process; process()", "stage", *words
    )


def test_the_version_is_that_of_the_code(other, tmp_path):
    assert re.fullmatch(
        re.escape(lshfast.__version__) + r" \(code [0-9a-f]{16}\)", code_version()
    )
    changed = run_other(other, VERSION).stdout.strip()
    assert changed.startswith(lshfast.__version__)
    assert changed != code_version()


@pytest.mark.one_case
@pytest.mark.parametrize(
    "name", ["kernels/sources.digest", "_common/run_key.py", "index/stores/lmdb.py"]
)
def test_each_part_of_the_code_counts(tmp_path, name):
    shutil.copytree(
        PACKAGE, tmp_path / "lshfast", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert run_other(tmp_path, VERSION).stdout.strip() == code_version()
    with open(tmp_path / "lshfast" / name, "a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    assert run_other(tmp_path, VERSION).stdout.strip() != code_version()


def test_the_digest_of_the_compiled_sources_is_there():
    assert re.fullmatch(r"[0-9a-f]{64}", SOURCES_DIGEST.read_text("ascii"))


@pytest.mark.slow
def test_a_task_refuses_the_plan_of_another_version(other, source, tmp_path):
    work = tmp_path / "work"
    planned = stage(
        other,
        "plan",
        "--work",
        work,
        source,
        "-o",
        tmp_path / "out",
        "--memory",
        "500M",
    )
    assert planned.returncode == 0, planned.stderr
    assert stage(other, "sketch", work, "--task", "0").returncode == 0
    files = sorted(path.name for path in work.iterdir())
    refused = stage(PACKAGE.parent, "sketch", work, "--task", "0")
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "plan.json: the maker of this plan has lshfast" in refused.stderr
    assert code_version() in refused.stderr
    assert sorted(path.name for path in work.iterdir()) == files


INTERRUPTED = """
import sys
import lshfast
from lshfast import dedup_files

def progress(stage, done, total):
    if stage == "verify":
        raise KeyboardInterrupt

try:
    dedup_files(sys.argv[1], memory="500M", work=sys.argv[2], progress=progress)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
def test_a_run_is_not_resumed_by_another_version(other, source, tmp_path):
    work = tmp_path / "work"
    begun = run_other(other, INTERRUPTED, source, work)
    assert begun.stdout == "interrupted\n", begun.stderr
    with pytest.raises(
        ValueError, match="belongs to another run: version of lshfast was"
    ) as refused:
        lshfast.dedup_files(source, memory="500M", work=work, resume=True)
    assert code_version() in str(refused.value)
    resumed = run_other(other, RESUMED, source, work)
    assert resumed.returncode == 0, resumed.stderr


RESUMED = """
import sys
import lshfast

lshfast.dedup_files(sys.argv[1], memory="500M", work=sys.argv[2], resume=True)
"""

SENT = """
import pickle, sys
from lshfast.spark.tasks import ChainTask, RecordTask, ScreenTask

tasks = {"chain": ChainTask(), "record": RecordTask(), "screen": ScreenTask(3)}
print(pickle.dumps(tasks[sys.argv[1]]).hex())
"""


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("name", ["chain", "record", "screen"])
def test_a_worker_refuses_a_task_of_another_version(other, name):
    same_version = bytes.fromhex(run_other(PACKAGE.parent, SENT, name).stdout)
    assert callable(pickle.loads(same_version))
    other_version = bytes.fromhex(run_other(other, SENT, name).stdout)
    with pytest.raises(lshfast.FormatError, match="the driver of the run has lshfast"):
        pickle.loads(other_version)
