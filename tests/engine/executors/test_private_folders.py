"""Work folders belong to one user: other users' folders, writable ones and links are refused, and files are private."""

import os
import stat
import sys
from contextlib import suppress

import pytest

from lshfast import dedup_files, stages
from tests.cli.commands import failing
from tests.engine.executors.capped_runs import Ended, corpus, end_at, write_jsonl

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has other permissions"
)

# Another user of this machine, and a group.
NOBODY = 65534


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", corpus(1, 300))


@pytest.fixture
def wide():
    """No permission is taken away by the umask."""
    before = os.umask(0)
    yield
    os.umask(before)


def capped(source, folder, **options):
    return dedup_files(
        source,
        source.parent / "out.jsonl",
        memory=300 << 20,
        work=folder,
        threads=1,
        **options,
    )


def planned(source, folder):
    return stages.plan([source], folder, source.parent / "kept", tasks=1)


def give_away(folder):
    try:
        os.chown(folder, NOBODY, -1)
    except PermissionError:
        pytest.skip("only root can give a folder to another user")


@pytest.mark.parametrize("run", [capped, planned])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_to_is_refused(source, tmp_path, run, mode):
    folder = tmp_path / "work"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(
        PermissionError,
        match=rf"other users can write to the work folder \(its mode is {mode:o}\)",
    ):
        run(source, folder)
    assert list(folder.iterdir()) == []
    folder.chmod(mode & 0o755)
    run(source, folder)


@pytest.mark.parametrize("run", [capped, planned])
def test_a_folder_of_another_user_is_refused(source, tmp_path, run):
    folder = tmp_path / "work"
    folder.mkdir(mode=0o700)
    give_away(folder)
    with pytest.raises(
        PermissionError,
        match=f"the work folder belongs to user {NOBODY}, not to user {os.geteuid()}",
    ):
        run(source, folder)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("run", [capped, planned])
def test_a_link_to_a_folder_is_refused(source, tmp_path, run):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "work").symlink_to("real")
    for name in ("work", "work/"):
        with pytest.raises(
            NotADirectoryError, match="the work folder is a symbolic link"
        ):
            run(source, str(tmp_path / name))
    assert list((tmp_path / "real").iterdir()) == []


def test_tasks_do_not_read_a_plan_in_a_folder_that_others_can_write_to(
    source, tmp_path
):
    planned(source, tmp_path / "work")
    (tmp_path / "work").chmod(0o757)
    with pytest.raises(PermissionError, match="other users can write"):
        stages.run(tmp_path / "work", "sketch", 0)


def test_the_command_line_says_what_to_do(source, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work").chmod(0o775)
    said = failing(
        1,
        "dedup",
        source,
        "-o",
        tmp_path / "o.jsonl",
        "--memory",
        "300M",
        "--work",
        tmp_path / "work",
    )
    assert said == (
        f"lshfast: error: {tmp_path / 'work'}: other users can write to the work folder (its mode is 775): "
        "`chmod go-w` forbids it"
    )


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("work", [True, False])
def test_files_of_a_run_are_private(source, tmp_path, small_parts, work):
    """Also those of a run without --work, whose folder is beside the output."""
    modes = {}

    def look(*_):
        for folder in tmp_path.iterdir():
            if folder.is_dir():
                for path in (folder, *folder.rglob("*")):
                    modes[path.name] = stat.S_IMODE(path.stat().st_mode)

    capped(
        source,
        tmp_path / "work" if work else None,
        progress=look,
        pairs=tmp_path / "pairs.csv",
    )
    assert len(modes) > 4
    assert {mode & 0o077 for mode in modes.values()} == {0}


@pytest.mark.parametrize(
    "name", [".manifest.json.part", "sketch-00000.data", "lock", "band-0-0.run"]
)
def test_links_in_a_work_folder_are_not_followed(source, tmp_path, name):
    """As if someone had planted them who could write there."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    with pytest.raises(Ended):
        capped(source, tmp_path / "work", progress=end_at(1)[0])
    (tmp_path / "work").mkdir(mode=0o700, exist_ok=True)
    for path in (tmp_path / "work" / name, tmp_path / "work" / "slots.bin"):
        path.unlink(missing_ok=True)
        path.symlink_to(victim)

    def plant(*_):
        path = tmp_path / "work" / name
        if not os.path.lexists(path):
            path.symlink_to(victim)

    with suppress(OSError):
        capped(source, tmp_path / "work", resume=True, progress=plant)
    assert victim.read_text() == "precious"
