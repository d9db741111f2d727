"""A copy of the package that differs in one line, as another version does which has the same number."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import lshfast

PACKAGE = Path(lshfast.__file__).parent


def copy_package(folder):
    """Copy the package to a folder, change one of its modules, and return the folder, for PYTHONPATH."""
    shutil.copytree(
        PACKAGE, folder / "lshfast", ignore=shutil.ignore_patterns("__pycache__")
    )
    with open(folder / "lshfast" / "shingling.py", "a", encoding="utf-8") as module:
        module.write("\nCHANGED = True\n")
    return folder


def run_other(folder, program, *arguments):
    """Run a program with the package in a folder, outside the tree, and return the finished process."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
