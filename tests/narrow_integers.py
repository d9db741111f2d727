"""A plugin of pytest: numpy makes 32-bit integers where numpy before 2 does on Windows.

There, what is made of Python's ints without a dtype has 32 bits, and so have sums of bools. Run tests with this plugin
to find where 64 bits were meant: pytest -p tests.narrow_integers. Methods of arrays (`sum`, `cumsum`) are not changed.
"""

import functools

import numpy as np

INT32 = range(-(2**31), 2**31)


def _wide(value):
    """Tell whether numpy needs 64 bits: an array or number of it has them, or an int does not fit into 32."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype == np.int64
    if isinstance(value, (list, tuple)):
        return any(map(_wide, value))
    return isinstance(value, int) and value not in INT32


def _narrowed(function, dtype_place):
    @functools.wraps(function)
    def call(*args, **options):
        made = function(*args, **options)
        dtype = args[dtype_place] if len(args) > dtype_place else options.get("dtype")
        told = (dtype is not None and dtype is not int) or options.get(
            "out"
        ) is not None
        if told or getattr(made, "dtype", None) != np.int64:
            return made
        return (
            made.astype(np.int32) if dtype is int or not any(map(_wide, args)) else made
        )

    return call


def pytest_configure(config):
    """Put the functions that choose a type themselves in place of numpy's: where their dtype comes as an argument."""
    makers = dict.fromkeys(
        ["array", "asarray", "ascontiguousarray", "zeros", "ones", "empty"], 1
    )
    others = {"arange": 3} | dict.fromkeys(
        ["full", "cumsum", "sum", "prod", "cumprod"], 2
    )
    for name, place in (makers | others).items():
        setattr(np, name, _narrowed(getattr(np, name), place))
