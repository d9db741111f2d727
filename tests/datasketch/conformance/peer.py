"""The peer: the installed datasketch, with an exact set for each Bloom filter, which it takes from elsewhere."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

if importlib.util.find_spec("datasketch") is None or not version(
    "datasketch"
).startswith("2.0."):
    pytest.skip("datasketch 2.0 is not installed", allow_module_level=True)


class BloomFilter:
    """A filter of integers that errs never; it is in its file after `sync`."""

    def __init__(
        self, capacity: int, error_rate: float, filename: str | None = None
    ) -> None:
        self.filename = filename
        self.members: set[int] = set()

    @classmethod
    def open(cls, filename: str) -> BloomFilter:
        found = cls(1, 0.5, filename)
        found.members = set(json.loads(Path(filename).read_text(encoding="utf-8")))
        return found

    def add(self, member: int) -> None:
        self.members.add(member)

    def __contains__(self, member: Any) -> bool:
        return member in self.members

    def sync(self) -> None:
        assert self.filename is not None
        Path(self.filename).write_text(
            json.dumps(sorted(self.members)), encoding="utf-8"
        )


stand_in = ModuleType("pybloomfilter")
stand_in.BloomFilter = BloomFilter  # type: ignore[attr-defined]
sys.modules["pybloomfilter"] = stand_in

import datasketch  # noqa: E402
from datasketch import lsh_bloom  # noqa: E402

if lsh_bloom.pybloomfilter is not stand_in:  # another test has imported it before
    importlib.reload(lsh_bloom)
    datasketch.MinHashLSHBloom = lsh_bloom.MinHashLSHBloom

__all__ = ["datasketch"]
