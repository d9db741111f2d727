"""Fixtures of the tests of jobs."""

import pytest

from lshfast.jobs import cap
from lshfast.join.external import slot_file


@pytest.fixture
def small_parts(monkeypatch):
    """Let the memory of a run be that of its records and parts alone."""
    monkeypatch.setattr(cap, "PROCESS_BYTES", 0)
    monkeypatch.setattr(cap, "PARQUET_BYTES", 0)
    monkeypatch.setattr(cap, "WORK_BYTES", 0)
    monkeypatch.setattr(cap, "STATE_BYTES", 0)
    monkeypatch.setattr(cap, "LEAST_WORK", 0)
    monkeypatch.setattr(slot_file, "BLOCK_BYTES", 1 << 14)
