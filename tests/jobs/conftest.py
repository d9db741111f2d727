"""What the tests of jobs share: estimates are made of few draws, and times are measured on few rows."""

import pytest

from lshfast._engine.forecasts import texts as forecast
from lshfast.quality import labels


@pytest.fixture(autouse=True)
def little_work(monkeypatch):
    monkeypatch.setattr(labels, "DRAWS", 200)  # for each question; tests/engine/test_labels.py has the full number
    monkeypatch.setattr(forecast, "BENCH_ROWS", 1 << 12)
