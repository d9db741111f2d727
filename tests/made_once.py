"""Folders that take long to make and that all processes of a run of the tests use: the first one makes them."""

import os
import shutil

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None


def made_once(tmp_path_factory, name, make):
    """Return a folder that `make` has filled, in this process or in another one of the same run."""
    if fcntl is None or "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tmp_path_factory.mktemp(name)
        make(folder)
        return folder
    run_folder = tmp_path_factory.getbasetemp().parent
    folder = run_folder / name
    finished = run_folder / f"{name}.finished"
    with open(run_folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not finished.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            finished.touch()
    return folder
