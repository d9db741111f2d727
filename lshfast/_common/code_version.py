"""The version of the code: what all processes of one run have to agree on.

Two builds with one version number can compute different values. So processes that share a run
compare a digest of their code: of the Python modules as they are, and of the C and Cython sources
that the compiled modules were built from (setup.py writes it beside them). It does not depend on
the platform, the compiler or the version of Python.
"""

from __future__ import annotations

import sys
from functools import cache
from hashlib import blake2b
from pathlib import Path

from lshfast._common.errors import FormatError
from lshfast._common.version import VERSION

PACKAGE = Path(__file__).parents[1]

# The digest of the sources of the compiled modules; setup.py writes this file.
SOURCES_DIGEST = PACKAGE / "kernels" / "sources.digest"


@cache
def code_version() -> str:
    """Return the version number with a digest of the code, such as "0.1.0 (code 53ae01c7d2b94f60)".

    It takes 20 ms once a process.
    """
    digest = blake2b(digest_size=8)
    modules = sorted(
        (path.relative_to(PACKAGE).as_posix(), path) for path in PACKAGE.rglob("*.py")
    )
    for name, path in [*modules, ("kernels", SOURCES_DIGEST)]:
        content = path.read_bytes().replace(b"\r\n", b"\n") if path.exists() else b""
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return f"{VERSION} (code {digest.hexdigest()})"


def check_code_version(other: object, whose: str) -> None:
    """Raise FormatError if a process of the same run has other code than this one.

    Parameters
    ----------
    other : object
        What `code_version` returned there.
    whose : str
        What that process is, for the message: "the driver of the run".
    """
    if other != code_version():
        shown = other if isinstance(other, str) else "an earlier version"
        raise FormatError(
            f"{whose} has lshfast {shown}, and {sys.executable} has lshfast {code_version()}: "
            "all processes of a run need the same version, since others may compute other values"
        )
