"""The names of datasketch that this package does not have, and their replacements."""

from __future__ import annotations

import sys

ADVICE = {
    "HNSW": "a graph index of vectors is what hnswlib and faiss are for; of MinHash sketches, MinHashLSHForest returns "
    "the most similar",
    "experimental": "AsyncMinHashLSH is in lshfast.datasketch.aio, as in datasketch 2.0",
}


def missing(name: str) -> ImportError:
    """Return the error for importing a name of datasketch that this package does not have."""
    return ImportError(f"lshfast.datasketch has no {name}: {ADVICE[name]}")


def no_attribute(module: str, name: str) -> AttributeError:
    """Return the error for a missing attribute of a package, for its ``__getattr__``.

    ``from package import HNSW`` must raise an error that names the replacement, and ``hasattr(package, "HNSW")`` must
    be False. Both call the package's ``__getattr__``; the first does so from ``_handle_fromlist`` of the import system.

    Raises
    ------
    ImportError
        If the name is imported and has a replacement.
    """
    if name in ADVICE and sys._getframe(2).f_code.co_name == "_handle_fromlist":
        raise missing(name)
    advice = f": {ADVICE[name]}" if name in ADVICE else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{advice}")
