"""The names of datasketch that this package does not have, and what to use in their place."""

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
    """Return the error for an attribute that a package does not have, for its ``__getattr__``.

    ``from package import HNSW`` shall say what to use, and ``hasattr(package, "HNSW")`` shall be False. Both ask the
    package's ``__getattr__``; the first does so from the import system's ``_handle_fromlist``.

    Raises
    ------
    ImportError
        If it is imported, and there is advice.
    """
    if name in ADVICE and sys._getframe(2).f_code.co_name == "_handle_fromlist":
        raise missing(name)
    advice = f": {ADVICE[name]}" if name in ADVICE else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{advice}")
