"""The compiled kernels, one module a stage, and the choice of the CPU level they run on.

Each level gives the same bits; `use` is there for tests and benchmarks.

>>> from lshfast import kernels
>>> kernels.available()[0]
'scalar'
>>> with kernels.use("scalar"):
...     kernels.level()
'scalar'
"""

from __future__ import annotations

import os
from importlib.util import find_spec

try:
    from lshfast.kernels import affine, bands, bits, cardinality, simhash, sketch, tables, text, weighted
except ImportError:
    if find_spec("lshfast.kernels.text") is not None:
        raise
    raise ImportError(
        f"the compiled modules of lshfast for this Python are not in {os.path.dirname(__file__)}: build them with "
        "`pip install -e .` in the checkout, or leave the checkout to import an installed lshfast"
    ) from None

_LEVELS = ("scalar", "avx2", "avx512")
_level = _LEVELS[text.detect()]


def available() -> tuple[str, ...]:
    """Return the CPU levels that this machine can run, the slowest first."""
    return _LEVELS[: text.detect() + 1]


def level() -> str:
    """Return the CPU level in use."""
    return _level


def _switch(name: str) -> None:
    global _level
    if name not in available():
        raise ValueError(f"CPU level must be one of {', '.join(available())} here, not {name!r}")
    for module in (text, sketch, bands, tables, bits, simhash, cardinality, weighted, affine):
        module.use_level(_LEVELS.index(name))
    _level = name


class use:
    """Run the kernels of one CPU level from now on, or for the length of a with statement.

    The choice holds for the whole process: do not change it while other threads sketch.

    Parameters
    ----------
    name : str
        One of `available()`.

    Raises
    ------
    ValueError
        If this machine cannot run that level.
    """

    def __init__(self, name: str) -> None:
        self._before = _level
        _switch(name)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _switch(self._before)
