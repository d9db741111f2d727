"""datasketch's module of tables of bias, which `HyperLogLogPlusPlus` does not need."""

from __future__ import annotations


def __getattr__(name: str) -> object:
    if name in ("_thresholds", "_raw_estimate", "_bias"):
        raise ImportError(
            f"there is no {name}: HyperLogLogPlusPlus.count uses an estimator without tables of "
            "bias (Ertl 2017)"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
