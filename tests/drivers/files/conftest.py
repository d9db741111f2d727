"""Fixtures of the tests of jobs."""

import pytest

from lshfast.drivers import budget
from lshfast.join.external import slot_file


@pytest.fixture
def small_parts(monkeypatch):
    """Let the memory of a run be that of its records and parts alone."""
    monkeypatch.setattr(budget, "PROCESS_BYTES", 0)
    monkeypatch.setattr(budget, "PARQUET_BYTES", 0)
    monkeypatch.setattr(budget, "COUNT_BYTES", 0)
    monkeypatch.setattr(budget, "WORK_BYTES", 0)
    monkeypatch.setattr(budget, "STATE_BYTES", 0)
    monkeypatch.setattr(budget, "LEAST_WORK", 0)
    monkeypatch.setattr(slot_file, "BLOCK_BYTES", 1 << 14)
