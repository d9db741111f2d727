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
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec


def _missing() -> list[str]:
    """Return the names of the compiled modules, those with a stub, that have no file for this Python."""
    files = set(os.listdir(os.path.dirname(__file__)))
    stubs = sorted(name.removesuffix(".pyi") for name in files if name.endswith(".pyi"))
    suspects = [name for name in stubs if not any(name + suffix in files for suffix in EXTENSION_SUFFIXES)]
    return [name for name in suspects if find_spec(f"{__name__}.{name}") is None]


def _advice(missing: list[str]) -> ImportError:
    """Make the error that says how to build modules that are missing."""
    names = ", ".join(missing) if len(missing) < 4 else f"{', '.join(missing[:3])}, ..."
    return ImportError(
        f"the compiled modules of lshfast for this Python are not in {os.path.dirname(__file__)} (missing: {names}): "
        "build them with `pip install -e .` in the checkout, or leave the checkout to import an installed lshfast"
    )


if _absent := _missing():
    raise _advice(_absent)
try:
    from lshfast.kernels import affine, bands, bits, cardinality, simhash, sketch, tables, text, weighted
except ModuleNotFoundError as error:  # _cython has no stub
    if not str(error.name).startswith(__name__):
        raise
    raise _advice([str(error.name).rpartition(".")[2]]) from None

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
