"""The parameters of MinHashLSH: their checks, and the bands and rows that datasketch chooses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from lshfast._common.checks import check_number
from lshfast.banding.bands import choose_bands
from lshfast.datasketch.minhash import check_least


def check_num_perm(num_perm: int) -> int:
    """Return a number of slots as an int; raise an error if it is invalid."""
    return check_least(num_perm, "num_perm", 2)


def ranges_of(bands: int, rows: int) -> list[tuple[int, int]]:
    """Return for each band its first slot, and the slot after its last."""
    return [(start, start + rows) for start in range(0, bands * rows, rows)]


def bands_and_rows(
    threshold: float,
    num_perm: int,
    weights: tuple[float, float],
    params: tuple[int, int] | None,
) -> tuple[int, int]:
    """Return the bands and rows that datasketch chooses, or `params` if given and valid.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from lshfast.datasketch.lsh_parameters import bands_and_rows
    >>> bands_and_rows(0.9, 128, (0.5, 0.5), None)
    (5, 25)
    """
    check_weights(threshold, weights)
    if params is None:
        return _chosen(float(threshold), int(num_perm), tuple(map(float, weights)))
    b, r = params
    b = check_least(b, "b of params")
    r = check_least(r, "r of params")
    if b * r > num_perm:
        raise ValueError(
            f"params (b, r) = ({b}, {r}) need b x r = {b * r} slots, but num_perm is {num_perm}: "
            f"choose smaller params, or give num_perm={b * r} and sketches of as many slots"
        )
    return b, r


def check_weights(threshold: float, weights: Iterable[float]) -> None:
    """Raise ValueError unless the threshold and both weights are in [0, 1], and these sum to 1."""
    if not 0 <= check_number("threshold", threshold) <= 1:
        raise ValueError(f"threshold must be in [0, 1], not {threshold}")
    positive, negative = (check_number("weights", weight) for weight in weights)
    if not (
        0 <= positive <= 1
        and 0 <= negative <= 1
        and abs(positive + negative - 1) < 1e-9
    ):
        raise ValueError(
            f"weights must be two numbers in [0, 1] whose sum is 1, not {weights}"
        )


@lru_cache(maxsize=256)
def _chosen(
    threshold: float, num_perm: int, weights: tuple[float, float]
) -> tuple[int, int]:
    if threshold == 0:  # all entries must be found
        return num_perm, 1
    choice = choose_bands(threshold, num_perm, weights=weights)
    return choice.bands, choice.rows_per_band


def optimal_param(
    threshold: float,
    num_perm: int,
    false_positive_weight: float,
    false_negative_weight: float,
) -> tuple[int, int]:
    """Return the bands and rows for a threshold; the name is datasketch's."""
    return bands_and_rows(
        threshold, num_perm, (false_positive_weight, false_negative_weight), None
    )
