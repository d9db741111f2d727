"""Builds of a part of the tree, in a folder of their own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]

needs_the_tree = pytest.mark.skipif(
    not (TREE / "setup.py").exists(), reason="there is no setup.py beside the tests"
)
needs_a_compiler = pytest.mark.skipif(
    shutil.which("cc") is None, reason="no C compiler is installed"
)


def part_of_tree(folder, modules):
    """Copy what some modules of kernels are built from; compilers do not optimize it, which takes less time."""
    for file in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(TREE / file, folder / file)
    setup = folder / "setup.py"
    setup.write_text(re.sub('"-O[23]"', '"-O0"', setup.read_text("utf-8")), "utf-8")
    shutil.copytree(TREE / "src", folder / "src")
    for pyx in folder.glob("src/*/*_module.pyx"):
        if pyx.name.removesuffix("_module.pyx") not in modules:
            pyx.unlink()
    (folder / "lshfast" / "kernels").mkdir(parents=True)
    for pxd in TREE.glob("lshfast/kernels/*.pxd"):
        shutil.copy(pxd, folder / "lshfast" / "kernels")


def build(folder, *options, **variables):
    """Build the modules in the folder, beside their .pxd."""
    pytest.importorskip("Cython", reason="Cython is not installed")
    command = [sys.executable, "setup.py", "build_ext", "--inplace", *options]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
