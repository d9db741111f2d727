"""The compiled kernels, one module per stage, and the choice of their CPU level.

The levels are scalar, avx2 and avx512 on x86, and scalar and neon on AArch64. All levels return
identical results; `use` is meant for tests and benchmarks.

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
    """Return the names of the compiled modules (those with a stub) that have no file for this
    Python.
    """
    files = set(os.listdir(os.path.dirname(__file__)))
    stubs = sorted(name.removesuffix(".pyi") for name in files if name.endswith(".pyi"))
    suspects = [
        name
        for name in stubs
        if not any(name + suffix in files for suffix in EXTENSION_SUFFIXES)
    ]
    return [name for name in suspects if find_spec(f"{__name__}.{name}") is None]


def _advice(missing: list[str]) -> ImportError:
    """Return the error that says how to build the missing modules."""
    names = ", ".join(missing) if len(missing) < 4 else f"{', '.join(missing[:3])}, ..."
    return ImportError(
        f"the compiled modules of lshfast for this Python are not in {os.path.dirname(__file__)} "
        f"(missing: {names}): "
        "build them with `pip install -e .` in the checkout, or leave the checkout to import an "
        "installed lshfast"
    )


if _absent := _missing():
    raise _advice(_absent)
try:
    from lshfast.kernels import cpu
except ModuleNotFoundError as error:  # _cython has no stub
    if not str(error.name).startswith(__name__):
        raise
    raise _advice([str(error.name).rpartition(".")[2]]) from None


def get_include() -> str:
    """Return the folder of lshfast.h and lshfast.rs, the declarations of the kernels for C, C++ and
    Rust.

    See Also
    --------
    lshfast.kernels : The compiled modules, which other Cython modules can cimport.

    Examples
    --------
    >>> import lshfast
    >>> lshfast.get_include()  # doctest: +ELLIPSIS
    '...include'
    """
    return os.path.join(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "include"
    )


def available() -> tuple[str, ...]:
    """Return the CPU levels that this machine supports, slowest first."""
    return cpu.available()


def level() -> str:
    """Return the CPU level in use."""
    return cpu.level()


class use:
    """Use the kernels of one CPU level from now on, or within a with statement.

    The setting applies to the whole process. Do not change it while other threads sketch.

    Parameters
    ----------
    name : str
        One of `available()`.

    Raises
    ------
    ValueError
        If this machine does not support the level.
    """

    def __init__(self, name: str) -> None:
        self._before = cpu.level()
        cpu.use_level(name)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        cpu.use_level(self._before)
