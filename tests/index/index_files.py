"""What the tests of saved indexes share: small ones to save, and what a file holds, read twice."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lshfast import LSHIndex
from tests.index.index_machine import SMALL
from tests.reference import index_file

ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(
    os.name != "posix", reason="files that are open are replaced"
)


def small(**options):
    return LSHIndex(**SMALL, **options)


def shared(n, values=3, seed=0):
    return np.random.default_rng(seed).integers(0, values, (n, 8)).astype(np.uint64)


def content(index):
    """Return all that an index holds."""
    items = [
        item
        for keys, rows in index.store.items()
        for item in zip(keys, rows.tolist(), strict=True)
    ]
    assert len(items) == len(index)
    return {key: tuple(row) for key, row in items}


def saved(path, n=20, key_of=int, overwrite=False, **options):
    """Save an index of n entries, and return what it holds."""
    index = small(**options)
    index.insert([key_of(i) for i in range(n)], shared(n))
    index.save(path, overwrite=overwrite)
    return content(index)


def held(path):
    """Return what a file holds, after all of it was checked twice."""
    with LSHIndex.open(path, verify=True) as index:
        index.verify()
        found = content(index)
    assert index_file.read(Path(path).read_bytes()).entries() == found
    return found


def python(code, *arguments, command=()):
    """Run Python code in a process of its own."""
    return subprocess.run(
        [*command, sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
