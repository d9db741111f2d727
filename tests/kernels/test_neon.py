"""The NEON kernels, and the portable code on AArch64, give the bits that this machine gives.

.ci/run calls neon.sh itself, with the digests of this machine that sanitize.sh has left.
"""

import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MISSING = 77  # what neon.sh ends with where there is no cross compiler or no qemu


@pytest.mark.weekly
def test_aarch64_gives_the_same_bits():
    """Programs that compare NEON with the portable code run under qemu, and print the digests of this machine."""
    if not (TESTS.parent / "src").is_dir():
        pytest.skip("there is no src/ beside the tests")
    done = subprocess.run(
        ["sh", str(TESTS / "sanitize" / "neon.sh")],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == MISSING:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
