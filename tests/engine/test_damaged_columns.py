"""Columns of Arrow whose offsets, sizes or indices lie outside of their buffers are errors in all functions."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("datasets")


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(pa, "list_view"), reason="pyarrow before 16 has no list views"
)
def test_damaged_columns_are_refused():
    """In one process for all, since those that are followed end it: then the last case is the one that did."""
    script = Path(__file__).with_name("damaged_columns.py")
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=300
    )
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0, (said[-1:], ran.stderr[-2000:])
    assert len(said) > 300
    for case, refused, message in said:
        assert refused, (case, message)
        if case.startswith("dedup_files"):
            assert (
                ".parquet: cannot be read as Parquet: Offset invariant failure"
                in message
            ), case
        else:
            assert "damaged" in message or "malformed" in message, (case, message)
        argument = case.partition(":")[0]
        if argument in ("keys", "by", "keep"):
            assert message.startswith(f"{argument}: the "), (case, message)
