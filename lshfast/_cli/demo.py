"""Real input that is available everywhere: the source files of the running Python's standard
library.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

OTHERS = {"site-packages", "dist-packages", "__pycache__"}


def standard_library() -> tuple[list[str], list[bytes]]:
    """Return the names and texts of the standard library's .py files, without files that are not
    UTF-8.
    """
    root = Path(sysconfig.get_path("stdlib"))
    names = []
    texts = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if OTHERS.isdisjoint(name.parts) and path.is_file():
            source = path.read_bytes()
            try:
                source.decode("utf-8")
            except UnicodeDecodeError:
                continue
            names.append(name.as_posix())
            texts.append(source)
    return names, texts
