"""What a run is told to do: every choice checked once, in one frozen record that travels through all stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy.typing as npt

from lshfast.banding.bands import Bands, check_threshold, choose_bands
from lshfast.common.threads import thread_count
from lshfast.index.stores.base import Parameters
from lshfast.shingling import Unit, check_shingle, shingles_of_texts
from lshfast.sketch.minhash import MinHasher, Scheme
from lshfast.tokens import Seed

Verify: TypeAlias = Literal["exact", "signature", "none"]
Grouping: TypeAlias = Literal["star", "components"]
Keep: TypeAlias = Literal["first", "last", "longest", "shortest"]


class _Array(Protocol):
    """A numpy array, or a column of pandas, polars or pyarrow."""

    def __array__(self) -> npt.NDArray[Any]: ...


# One value a row: what numpy calls array_like, but for a str, which would take in every misspelled policy.
KeepValues: TypeAlias = list[Any] | tuple[Any, ...] | range | _Array

# The part of an array that waits for further rows while it grows.
SLACK = 1 / 16

# For the estimate of memory: a str object and its place in the column; fingerprints, copies and groups in 64-bit
# words; batches and tokens of one thread at work; the interpreter with pyarrow.
TEXT_OVERHEAD = 72
ROW_WORDS = 24
WORK_BYTES = 48 << 20
BASE_BYTES = 120 << 20


@dataclass(frozen=True)
class Plan:
    """The checked choices of a run; `make_plan` fills in what was left open."""

    threshold: float
    unit: Unit
    size: int
    hasher: MinHasher
    bands: Bands
    verify: Verify
    groups: Grouping
    threads: int
    sets: bool = False  # the rows are sets of elements, and unit and size mean nothing

    @property
    def recall(self) -> float:
        """The probability that a pair exactly at the threshold is found."""
        return float(self.bands.probability(self.threshold))

    @property
    def parameters(self) -> Parameters:
        """What an index of this run's signatures is made with."""
        bands, hasher = self.bands, self.hasher
        return Parameters(
            hasher.num_perm, bands.bands, bands.rows, hasher.scheme, hasher.seed, self.threshold,
            "" if self.sets else f"{self.unit}:{self.size}",
        )  # fmt: skip

    def memory(self, rows: int, nbytes: int) -> dict[str, int]:
        """Estimate the bytes that a run over `rows` texts of `nbytes` in all will hold at its peak, by kind."""
        return {
            "texts": nbytes + TEXT_OVERHEAD * rows,
            "signatures": round(8 * self.hasher.num_perm * rows * (1 + SLACK)),
            "bucket keys": 8 * (self.bands.bands + ROW_WORDS) * rows,
            "work": WORK_BYTES * self.threads,
            "Python and libraries": BASE_BYTES,
        }


def make_plan(
    *,
    threshold: float = 0.8,
    unit: Unit = "word",
    size: int = 5,
    num_perm: int = 128,
    scheme: Scheme = "fast",
    recall: float = 0.95,
    bands: int | None = None,
    rows: int | None = None,
    verify: Verify = "exact",
    groups: Grouping = "star",
    threads: int | None = None,
    seed: Seed = 1,
) -> Plan:
    """Check all choices of a run and return them as a Plan; errors name the argument, the value and the range."""
    threshold = check_threshold(threshold)
    check_shingle(unit, size)
    for name, value, allowed in (("verify", verify, Verify), ("groups", groups, Grouping)):
        if value not in get_args(allowed):
            raise ValueError(f"{name} must be one of {', '.join(get_args(allowed))}, not {value!r}")
    hasher = MinHasher(num_perm, scheme, seed)
    choice = Bands.choose(threshold, num_perm, recall=recall, bands=bands, rows=rows)
    return Plan(threshold, unit, size, hasher, choice, verify, groups, thread_count(threads))


def plan_of_index(parameters: Parameters, given: Mapping[str, Any] | None = None, **others: Any) -> Plan:
    """Return the plan of a run over an index of texts: its choices, which those given must not contradict.

    Parameters
    ----------
    parameters : Parameters
        Those of the index.
    given : mapping of str, optional
        Arguments of `make_plan` that the user insists on.
    **others
        Arguments of `make_plan` that an index does not know: verify, groups, threads.

    Raises
    ------
    ValueError
        Naming both values, where one given is not that of the index; or if the index does not say what its shingles
        are, or they are no words or characters.
    """
    given = given or {}
    shingles = shingles_of_texts(parameters.shingles)
    if shingles is None:
        said = f"says that it is of {parameters.shingles!r}" if parameters.shingles else "does not say of which"
        raise ValueError(f"this index is not known to be of shingles of texts, LSHIndex(shingles='word:5'): it {said}")
    p = parameters
    unit, size = shingles
    own: dict[str, Any] = {"unit": unit, "size": size, "num_perm": p.num_perm, "scheme": p.scheme, "seed": p.seed}
    own |= {"bands": p.bands, "rows": p.rows} | ({} if p.threshold is None else {"threshold": p.threshold})
    for name, value in given.items():
        if own.get(name, value) != value:
            raise ValueError(f"{name} is {own[name]} in this index, not {value}")
    plan = make_plan(**{**given, **own, **others})
    if "recall" in given and "bands" not in given:
        choice = choose_bands(plan.threshold, p.num_perm, recall=given["recall"])
        if choice != plan.bands:
            wanted = f"recall {given['recall']} takes {choice.bands} bands of {choice.rows} rows"
            raise ValueError(f"{wanted}, and this index has {p.bands} of {p.rows}")
    check_same_run(parameters, plan)
    return plan


def check_same_run(parameters: Parameters, plan: Plan) -> None:
    """Raise ValueError, naming both values, where the choices of a run are not those that an index was made with.

    What the index does not say, its shingles or its threshold, is taken on trust.
    """
    if plan.groups != "star":
        raise ValueError(
            f"groups must be star against an index, not {plan.groups}: chains through rows removed earlier are unknown"
        )
    own = plan.parameters
    if parameters.threshold not in (None, own.threshold):
        raise ValueError(f"threshold is {parameters.threshold} in this index, not {own.threshold}")
    named = parameters.shingles
    if plan.sets and shingles_of_texts(named) is None:
        own = replace(own, shingles=named)  # a name of the user's own, which says nothing that could be checked
    parameters.check_same(own if named else replace(own, shingles=""))
