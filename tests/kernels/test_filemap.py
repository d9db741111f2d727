"""Files that are mapped into memory."""

import os
import sys

import pytest

from lshfast.kernels.filemap import FileMap

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Python maps files on Windows"
)


@pytest.mark.parametrize("nbytes", [1, 4095, 4096, 10_000])
def test_the_bytes_outlive_the_file(tmp_path, nbytes):
    path = tmp_path / "a"
    content = os.urandom(nbytes)
    path.write_bytes(content)
    with open(path, "rb") as file:
        mapped = FileMap(file.fileno(), nbytes)
    path.unlink()
    view = memoryview(mapped)
    assert len(mapped) == nbytes
    assert view.readonly
    assert bytes(view) == content


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
def test_a_map_keeps_no_descriptor(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    with open(path, "rb") as file:
        before = os.listdir("/proc/self/fd")
        mapped = FileMap(file.fileno(), 3)
        assert os.listdir("/proc/self/fd") == before
    assert bytes(mapped) == b"abc"


def test_files_that_cannot_be_mapped(tmp_path):
    with pytest.raises(OSError, match="Bad file descriptor"):
        FileMap(-1, 1)
    with open(tmp_path / "a", "wb") as file, pytest.raises(PermissionError):
        FileMap(file.fileno(), 1)  # it is open for writing only
    with pytest.raises(ValueError, match="nbytes must be at least 1, not 0"):
        FileMap(0, 0)
    with pytest.raises(OverflowError):
        FileMap(0, -1)
