"""Zstandard data with windows above 128 MiB, as of `zstd --long=31`."""

import json

import pytest

import lshfast
from lshfast import DataError, stages
from tests.cli.commands import failing, run
from tests.stages.runs import run_all

pytest.importorskip("pyarrow")
zstandard = pytest.importorskip("zstandard")

ROWS = [
    {"text": " ".join(f"word{row}of{place}" for place in range(60))}
    for row in range(900)
]
DATA = "".join(json.dumps(row) + "\n" for row in [*ROWS, ROWS[0]]).encode()


def compressed(data, window_log):
    """Return a frame without a size, as of a pipe, whose window has 2**window_log bytes."""
    parameters = zstandard.ZstdCompressionParameters(window_log=window_log)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return compressor.compress(data) + compressor.flush()


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(compressed(DATA, 28))
    return path


def test_the_message_says_what_to_give(wide, tmp_path):
    message = failing(1, "dedup", wide, "--dry-run")
    assert "268,435,456 bytes" in message
    assert "(--zstd-window 256M) reads it" in message
    wide.write_bytes(
        compressed(b"{}\n", 28)[:5] + bytes([31 - 10 << 3 | 1]) + b"x" * 20
    )
    with pytest.raises(DataError, match="at most 2G are read"):
        lshfast.dedup_files(wide)


def test_all_ways_of_running_read_it(wide, tmp_path):
    out = tmp_path / "b.jsonl"
    for options in ((), ("--memory", "1G", "--no-exact")):
        arguments = "-q", "--overwrite", "--zstd-window", "256M", *options
        run("dedup", wide, "-o", out, *arguments)
        assert out.read_bytes() == DATA[: DATA.rindex(b"{")]
    folders = tmp_path / "work", tmp_path / "kept"
    stages.plan(wide, *folders, zstd_window=1 << 28, shards=1)
    run_all(folders[0])
    (part,) = folders[1].glob("*.jsonl*")
    assert part.stat().st_size


@pytest.mark.parametrize("window_log", [20, 28, 31])
def test_frames_one_after_another(tmp_path, window_log):
    path = tmp_path / "a.jsonl.zst"
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    frames = compressed(DATA, window_log), compressed(DATA, 20)
    path.write_bytes(frames[0] + skippable + frames[1])
    summary = lshfast.dedup_files(path, zstd_window="2G").summary
    assert (summary.read, summary.removed) == (2 * 901, 902)


@pytest.mark.parametrize("window", [None, "2G"])
def test_data_that_are_cut_off(tmp_path, window):
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(compressed(DATA, 20)[:-9])
    with pytest.raises(DataError, match="damaged or cut off zstd data"):
        lshfast.dedup_files(path, zstd_window=window)


def test_a_later_frame_with_a_larger_window(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(compressed(DATA, 20) + compressed(DATA, 28))
    with pytest.raises(DataError, match=r"\(--zstd-window\) allows larger windows"):
        lshfast.dedup_files(path)


@pytest.mark.parametrize("value", ["3G", 0, "x", -1], ids=str)
def test_bad_windows(wide, value):
    with pytest.raises(ValueError, match="zstd_window must be"):
        lshfast.dedup_files(wide, zstd_window=value)


def test_frames_of_a_known_size(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    for rows in (1, 3, 600):
        data = b"".join(DATA.splitlines(True)[:rows])
        path.write_bytes(zstandard.ZstdCompressor().compress(data))
        for window in (None, "256M"):
            assert lshfast.dedup_files(path, zstd_window=window).summary.read == rows
