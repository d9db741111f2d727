"""Pairs of similar sketches, by an exact join of their hashes."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from lshfast._common.checks import check_number
from lshfast._common.display import counted
from lshfast._common.progress import Progress
from lshfast._common.threads import ordered_map, pieces, thread_count
from lshfast._common.types import Int64Array, RecordArray
from lshfast.genomes.ani import (
    LEAST_HASHES,
    ani_interval,
    ani_of_containment,
    ani_of_jaccard,
)
from lshfast.genomes.sketches import KmerSketches, Sampling, made_alike
from lshfast.join.exact_join import join
from lshfast.join.thresholds import Measure, Threshold
from lshfast.kernels.kmers import bottom_shared
from lshfast.tokens import TokenSets

GENOME_PAIR = np.dtype(
    [
        ("i", np.int64),
        ("j", np.int64),
        ("shared", np.int64),
        ("jaccard", np.float64),
        ("containment", np.float64),
        ("containment_i", np.float64),
        ("containment_j", np.float64),
        ("ani", np.float64),
        ("ani_low", np.float64),
        ("ani_high", np.float64),
        ("mash_ani", np.float64),
    ]
)

# The least ANI of a pair, unless another threshold is given: about that of genomes of one species.
LEAST_ANI = 0.95

# Pairs slightly below the threshold are found too, and then compared with it as they are reported.
# Below the least threshold of a join, pairs that share a hash are found instead.
MARGIN = 1e-9
LEAST_JOINED = 1e-6

# Pairs of sketches of the smallest hashes that are compared at a time.
COMPARED = 1 << 12

# More than the hashes of a sketch that can be joined.
COUNTS = 2**30

_SHARING = np.dtype([("i", np.int64), ("j", np.int64), ("shared", np.int64)])


class Least(NamedTuple):
    """The threshold: what is compared with it, and its value."""

    column: str
    value: float


class Thresholds(NamedTuple):
    """The least ANI, Jaccard similarity or containment of a pair, see `pairs`; one may be given."""

    ani: float | None = None
    jaccard: float | None = None
    containment: float | None = None


def least_of(thresholds: Thresholds, bottom: int = 0) -> Least:
    """Return the threshold, which is one of three; raise an error if it is out of range."""
    given_thresholds = {
        name: value for name, value in thresholds._asdict().items() if value is not None
    }
    if len(given_thresholds) > 1:
        names = " and ".join(given_thresholds)
        raise ValueError(
            f"only one of ani, jaccard and containment may be given, not {names}"
        )
    name, value = next(iter(given_thresholds.items()), ("ani", LEAST_ANI))
    value = check_number(name, value)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be in 0..1, not {value:g}")
    if bottom and name == "containment":
        raise ValueError(
            "sketches of the smallest hashes (bottom) do not estimate a containment: give ani or "
            "jaccard"
        )
    return Least("mash_ani" if bottom and name == "ani" else name, value)


def pairs(
    sketches: KmerSketches,
    others: KmerSketches | None = None,
    *,
    ani: float | None = None,
    jaccard: float | None = None,
    containment: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> RecordArray:
    """Find all pairs of similar sketches, by an exact join of their hashes.

    Parameters
    ----------
    sketches : KmerSketches
    others : KmerSketches, optional
        Sketches with which these are compared; by default, they are compared with each other.
        Sketches with different `scaled` are compared with the greater one.
    ani, jaccard, containment : float, optional
        The least value of a pair, in [0, 1]. One of them may be given; the default is ani=0.95. A
        pair shares at least one hash, whatever the threshold is. A pair without an ANI is left out
        if `ani` is the threshold.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    progress : callable, optional
        Called with ("join", sketches done, sketches).

    Returns
    -------
    ndarray of shape (m,), sorted by (i, j), with fields
        i, j : int64
            Sketch i, and sketch j of `others`, or of the same sketches with i < j.
        shared : int64
            Hashes that both have. With `bottom`, among the smallest hashes of both together.
        jaccard : float64
            The share of them in all hashes of both; with `bottom`, in the smallest ones.
        containment_i, containment_j, containment : float64
            The share of them in the hashes of i and of j, and the greater one, which is that of the
            smaller sketch; NaN with `bottom`.
        ani, ani_low, ani_high : float64
            The ANI by `containment` (see `ani_of_containment`), and its interval of 95 %; NaN with
            `bottom`. `ani` is NaN, too, if the smaller sketch has fewer than 8 hashes: so few may
            be shared by accident. This does not hold for ``scaled=1``, with which sketches have all
            k-mers.
        mash_ani : float64
            The ANI by `jaccard` (see `ani_of_jaccard`); NaN if the smaller of two scaled sketches
            has fewer than 8 hashes.

    Warns
    -----
    UserWarning
        If pairs are left out that have no ANI, but whose shared hashes would be one of at least the
        threshold.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range, or the sketches are of different
        k-mers.

    See Also
    --------
    lshfast.genomes.sketch_files : Sketch the genomes of files.
    lshfast.genomes.sketch : Sketch sequences in memory.

    Examples
    --------
    >>> import random
    >>> from lshfast import genomes
    >>> first = "".join(random.Random(1).choices("ACGT", k=100_000))
    >>> second = "".join(
    ...     random.Random(2 + at).choice("ACGT") if at % 60 == 0 else c
    ...     for at, c in enumerate(first)
    ... )
    >>> found = genomes.pairs(genomes.sketch([first, second], k=21, scaled=10))
    >>> found[["i", "j"]].tolist(), found["ani"].round(3).tolist()
    ([(0, 1)], [0.986])
    """
    thresholds = Thresholds(ani, jaccard, containment)
    similar = similar_pairs(sketches, others, thresholds, threads, progress)
    if similar.unknown:
        warnings.warn(
            f"{counted(similar.unknown, 'pair')} left out that have no ANI, because a sketch has "
            f"fewer than {LEAST_HASHES} hashes; a smaller scaled samples more, and jaccard or "
            "containment as the threshold keeps such pairs",
            stacklevel=2,
        )
    return similar.pairs


class GenomePairs(NamedTuple):
    """Similar pairs, and how many were left out because a sketch has too few hashes for an ANI."""

    pairs: RecordArray
    unknown: int


def similar_pairs(
    sketches: KmerSketches,
    other_sketches: KmerSketches | None,
    thresholds: Thresholds,
    threads: int | None,
    progress: Progress | None,
) -> GenomePairs:
    """Return the pairs that `pairs` returns, without a warning."""
    if not isinstance(sketches, KmerSketches) or not isinstance(
        other_sketches, (KmerSketches, type(None))
    ):
        raise TypeError(
            "sketches and others must be KmerSketches, as sketch and sketch_files return them"
        )
    least = least_of(thresholds, sketches.sampling.bottom)
    if other_sketches is not None:
        sketches, other_sketches = made_alike([sketches, other_sketches])
    sampling = sketches.sampling
    first_sets = sketches.sets
    second_sets = first_sets if other_sketches is None else other_sketches.sets
    other_sets = None if other_sketches is None else second_sets
    similar = _joined(first_sets, other_sets, _rule(least, sampling), threads, progress)
    if sampling.bottom:
        result = _with_bottom(
            similar, first_sets, second_sets, sampling.bottom, thread_count(threads)
        )
    else:
        result = _with_containment(similar, first_sets, second_sets, sampling)
    result["mash_ani"] = ani_of_jaccard(result["jaccard"], sampling.k)
    result = result[result[least.column] >= least.value]
    if sampling.bottom or sampling.scaled == 1:
        return GenomePairs(result, 0)
    few = (
        np.minimum(first_sets.counts[result["i"]], second_sets.counts[result["j"]])
        < LEAST_HASHES
    )
    if least.column == "ani":
        return GenomePairs(result[~few], int(few.sum()))
    result["ani"][few] = result["mash_ani"][few] = np.nan
    return GenomePairs(result, 0)


def _joined(
    sets: TokenSets,
    other_sets: TokenSets | None,
    rule: tuple[Measure, Threshold],
    threads: int | None,
    progress: Progress | None,
) -> RecordArray:
    """Return the pairs that may reach the threshold, by (i, j): i, j and their common hashes."""
    measure, threshold = rule
    sides = [(sets, other_sets)]
    # Of one in the other, and the other way round.
    if other_sets is not None and measure == "containment":
        sides.append((other_sets, sets))
    parts = []
    for number, (first_sets, second_sets) in enumerate(sides):
        joined_pairs = join(
            first_sets,
            second_sets,
            measure=measure,
            threshold=threshold,
            threads=threads,
            progress=progress,
        ).pairs
        a = first_sets.counts[joined_pairs["i"]]
        b = (first_sets if second_sets is None else second_sets).counts[
            joined_pairs["j"]
        ]
        part = np.empty(len(joined_pairs), _SHARING)
        sides_of_pair = ("j", "i") if number else ("i", "j")
        part["i"] = joined_pairs[sides_of_pair[0]]
        part["j"] = joined_pairs[sides_of_pair[1]]
        if measure == "containment":
            bounds = np.minimum(a, b) if second_sets is None else a
            part["shared"] = np.rint(joined_pairs["similarity"] * bounds)
        elif measure == "jaccard":
            part["shared"] = np.rint(
                joined_pairs["similarity"] * (a + b) / (1 + joined_pairs["similarity"])
            )
        else:
            part["shared"] = joined_pairs["similarity"]
        parts.append(part)
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))


def _rule(least: Least, sampling: Sampling) -> tuple[Measure, Threshold]:
    """Return the measure of the join, and a threshold slightly below that of the pairs."""
    value = least.value**sampling.k if least.column == "ani" else least.value
    value *= 1 - MARGIN
    # The smallest hashes of both are not all of both.
    if value < LEAST_JOINED or sampling.bottom:
        return "overlap", 1
    return ("jaccard" if least.column == "jaccard" else "containment"), value


def _with_containment(
    candidate_pairs: RecordArray,
    first_sets: TokenSets,
    second_sets: TokenSets,
    sampling: Sampling,
) -> RecordArray:
    """Return pairs of scaled sketches with all columns but `mash_ani`."""
    result = np.empty(len(candidate_pairs), GENOME_PAIR)
    for name in ("i", "j", "shared"):
        result[name] = candidate_pairs[name]
    shared = candidate_pairs["shared"]
    a = first_sets.counts[candidate_pairs["i"]]
    b = second_sets.counts[candidate_pairs["j"]]
    result["jaccard"] = shared / (a + b - shared)
    result["containment_i"], result["containment_j"] = shared / a, shared / b
    smaller = np.minimum(a, b)
    # Many pairs have the same two.
    numbers, rows = np.unique(shared * COUNTS + smaller, return_inverse=True)
    shared, smaller = np.divmod(numbers, COUNTS)
    containment = shared / smaller
    result["containment"] = containment[rows]
    result["ani"] = ani_of_containment(containment, sampling.k)[rows]
    low, high = ani_interval(containment, smaller, sampling.k, sampling.scaled)
    result["ani_low"], result["ani_high"] = low[rows], high[rows]
    return result


def _with_bottom(
    candidate_pairs: RecordArray,
    first_sets: TokenSets,
    second_sets: TokenSets,
    bottom: int,
    threads: int,
) -> RecordArray:
    """Return pairs of sketches of the smallest hashes with all columns but `mash_ani`."""
    result = np.empty(len(candidate_pairs), GENOME_PAIR)
    result["i"], result["j"] = candidate_pairs["i"], candidate_pairs["j"]

    def work(rows: slice) -> tuple[Int64Array, Int64Array]:
        i, j = (
            np.ascontiguousarray(candidate_pairs[name][rows]) for name in ("i", "j")
        )
        return bottom_shared(
            first_sets.offsets,
            first_sets.tokens,
            second_sets.offsets,
            second_sets.tokens,
            i,
            j,
            bottom,
        )

    at = 0
    for shared, all_hashes in ordered_map(
        work, pieces(np.ones(len(candidate_pairs), np.int64), COMPARED), threads
    ):
        rows = slice(at, at + len(shared))
        result["shared"][rows], result["jaccard"][rows] = shared, shared / all_hashes
        at = rows.stop
    for name in (
        "containment",
        "containment_i",
        "containment_j",
        "ani",
        "ani_low",
        "ani_high",
    ):
        result[name] = np.nan
    return result
