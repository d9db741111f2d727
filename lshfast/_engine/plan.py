"""`Plan`: the checked parameters of a run, one frozen record that all stages receive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

import numpy.typing as npt

from lshfast._common.checks import Seed, check_int, check_most, check_number
from lshfast._common.choices import Grouping as Grouping
from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.choices import Verify as Verify
from lshfast._common.display import bands_and_rows
from lshfast._common.threads import thread_count
from lshfast._engine.options.declaration import Driver
from lshfast._engine.options.declared import NAMES, OPTIONS
from lshfast._items.sets import SetReader
from lshfast.banding.bands import Bands, check_recall, check_threshold, choose_bands
from lshfast.join.jaccard import PairMeasure, check_measure, equal_jaccard
from lshfast.shingling import (
    CommonShingles,
    Shingles,
    Unit,
    check_shingles,
    shingles_of_texts,
)
from lshfast.sketch.minhash import MinHasher, Scheme

if TYPE_CHECKING:
    from lshfast.index.stores.values import Parameters

Keep: TypeAlias = Literal["first", "last", "longest", "shortest"]


class _Array(Protocol):
    """A numpy array, or a column of pandas, polars or pyarrow."""

    def __array__(self) -> npt.NDArray[Any]: ...


# One value per row. This is numpy's array_like without str, so that a misspelled policy is an error
# of type.
KeepValues: TypeAlias = list[Any] | tuple[Any, ...] | range | _Array

# The least similarity, and the probability to find a pair that has it, by default.
THRESHOLD = 0.8
RECALL = 0.95

# The ways of running that have the exact join, as messages name them.
ONE_MACHINE = "lshfast.dedup, lshfast.pairs or lshfast dedup without --memory"

# The part of an array that waits for further rows while it grows.
SLACK = 1 / 16

# What an index of sets has in the place of the name of its shingles.
SETS = "set"

# For the estimate of memory: bytes of a str object and of its entry in the column; bytes of the
# place of a text that is read again; 64-bit words per row of fingerprints, copies and groups; bytes
# of the batches and tokens of one thread; bytes of the interpreter with pyarrow.
TEXT_OVERHEAD = 72
PLACE_BYTES = 24
ROW_WORDS = 24
WORK_BYTES = 48 << 20
BASE_BYTES = 120 << 20

# For the same estimate, bytes that an exact join takes for a token, and the bytes of text of a
# token of words.
EXACT_BYTES = 20
WORD_BYTES = 6


@dataclass(frozen=True)
class Plan:
    """The checked parameters of a run; `make_plan` creates it."""

    threshold: float
    shingles: Shingles
    hasher: MinHasher
    # None for an exact join; an index beside it chooses them when it needs them.
    chosen_bands: Bands | None
    verify: Verify
    groups: Grouping
    threads: int
    exact: bool = False  # the pairs come from an exact join instead of bands
    exact_by_default: bool = False  # the user did not choose the exact join
    sets: bool = False  # the rows are sets of elements; the shingles are not used
    measure: PairMeasure = "jaccard"
    capped: bool = False  # memory is limited, so long rows are worked on one at a time
    ignore_common: float | None = (
        None  # shingles in more than this share of the texts do not count
    )
    top: int | None = (
        None  # of the pairs that are listed, only those with the most similar rows of a row
    )
    most: float | None = (
        None  # of the pairs that are listed, only those that are not more similar
    )
    # By which an index beside an exact join is banded.
    recall_of_bands: float = field(default=RECALL, compare=False)

    @property
    def kind(self) -> Kind:
        """The kind of the rows, "text" or "set"."""
        return "set" if self.sets else "text"

    @property
    def of_texts(self) -> Plan | None:
        """This plan if the rows are texts, which can be shown and compared word by word."""
        return None if self.sets else self

    def reader(self, format: object = None, indexed: bool = False) -> SetReader | None:
        """Return what converts a column of files; texts are read as they are."""
        return SetReader() if self.sets else None

    @cached_property
    def bands(self) -> Bands:
        """The bands of a run, or of the index beside an exact join; ValueError if the index has too
        few slots.
        """
        if self.chosen_bands is not None:
            return self.chosen_bands
        return choose_bands(
            self.equal_jaccard, self.hasher.num_perm, recall=self.recall_of_bands
        )

    @property
    def equal_jaccard(self) -> float:
        """Jaccard similarity of two sets of one size whose similarity equals the threshold."""
        return equal_jaccard(self.measure, self.threshold)

    @property
    def recall(self) -> float:
        """Probability to find a pair whose similarity equals the threshold; with containment, of
        sets of one size.
        """
        return 1.0 if self.exact else float(self.bands.probability(self.equal_jaccard))

    @property
    def parameters(self) -> Parameters:
        """Parameters of an index for the signatures of this run."""
        from lshfast.index.stores.values import Parameters

        bands = self.bands
        hasher = self.hasher
        return Parameters(
            hasher.num_perm,
            bands.bands,
            bands.rows_per_band,
            hasher.scheme,
            hasher.seed,
            self.threshold,
            SETS if self.sets else self.shingles.name,
        )

    def ignoring(self, common: CommonShingles) -> Plan:
        """Return this plan for texts in which these shingles do not count."""
        return replace(self, shingles=self.shingles._replace(common=common))

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `make_plan` that give this plan again, as values of JSON, without the
        threads.
        """
        words = self.shingles.stop_words
        bands = self.chosen_bands
        arguments = {
            "threshold": self.threshold,
            "verify": self.verify,
            "groups": self.groups,
            "measure": self.measure,
            "unit": self.shingles.unit,
            "size": self.shingles.size,
            "stop_words": words and list(words.words),
            "num_perm": self.hasher.num_perm,
            "scheme": self.hasher.scheme,
            "seed": self.hasher.seed,
        }
        if bands is not None:
            arguments["bands"] = bands.bands
            arguments["rows_per_band"] = bands.rows_per_band
        if self.exact or self.measure == "containment":
            arguments["exact"] = self.exact
        for name in ("ignore_common", "top", "most"):
            if getattr(self, name) is not None:
                arguments[name] = getattr(self, name)
        return arguments

    @property
    def figures(self) -> dict[str, Any]:
        """What the summary of a run says of its plan."""
        bands, rows = (
            (0, 0) if self.exact else (self.bands.bands, self.bands.rows_per_band)
        )
        common = self.shingles.common
        return {
            "bands": bands,
            "rows_per_band": rows,
            "recall": self.recall,
            "verify": self.verify,
            "measure": self.measure,
            "ignored_shingles": None if common is None else len(common),
            "top": self.top,
            "most": self.most,
        }

    def described(self) -> dict[str, Any]:
        """Return the parameters as plans in files have them, which name rows_per_band "rows"; see
        `described_plan`.
        """
        return {
            "rows" if name == "rows_per_band" else name: value
            for name, value in self.arguments.items()
        }

    def memory(self, rows: int, nbytes: int, held: bool = True) -> dict[str, int]:
        """Estimate the peak memory of a run over `rows` texts with `nbytes` bytes in total; return
        bytes by kind.

        `held` tells whether the texts are held in memory, or are read again if they are needed
        again.
        """
        tokens = nbytes if self.shingles.unit == "char" else nbytes // WORD_BYTES
        bands = 0 if self.chosen_bands is None else self.chosen_bands.bands
        exact = {"exact join": EXACT_BYTES * tokens} if self.exact else {}
        return {
            "texts": nbytes + TEXT_OVERHEAD * rows if held else PLACE_BYTES * rows,
            "signatures": round(8 * self.hasher.num_perm * rows * (1 + SLACK)),
            "bucket keys": 8 * (bands + ROW_WORDS) * rows,
            **exact,
            "work": WORK_BYTES * self.threads,
            "Python and libraries": BASE_BYTES,
        }


def make_plan(
    *,
    threshold: float | None = None,
    unit: Unit = "word",
    size: int | None = None,
    stop_words: str | Iterable[str] | None = None,
    num_perm: int = 128,
    scheme: Scheme = "fast",
    recall: float | None = None,
    bands: int | None = None,
    rows_per_band: int | None = None,
    verify: Verify = "exact",
    groups: Grouping = "star",
    threads: int | None = None,
    seed: Seed = 1,
    exact: bool | None = False,
    measure: ItemMeasure | None = None,
    ignore_common: float | None = None,
    top: int | None = None,
    most: float | None = None,
) -> Plan:
    """Check all parameters of a run and return a Plan; errors name the argument, the value and the
    range.

    With exact=None, pairs by containment come from an exact join: bands find few pairs of very
    different sizes.
    """
    threshold = THRESHOLD if threshold is None else check_threshold(threshold)
    shingles = check_shingles(unit, size, stop_words)
    _check_choices(verify, groups)
    measure = _check_measure_of(measure, verify, bool(exact))
    if (
        ignore_common is not None
        and not 0 < check_number("ignore_common", ignore_common) < 1
    ):
        raise ValueError(f"ignore_common must be in (0, 1), not {ignore_common}")
    top = None if top is None else check_int("top", top, 1, 2**31 - 1)
    check_most(most, threshold)
    by_default = exact is None and measure == "containment"
    joins_exactly = by_default or bool(exact)
    hasher = MinHasher(num_perm, scheme, seed)
    recall = RECALL if recall is None else recall
    choice = None
    if joins_exactly and bands is None and rows_per_band is None:
        check_recall(recall)
    else:
        choice = Bands.choose(
            equal_jaccard(measure, threshold),
            num_perm,
            recall=recall,
            bands=bands,
            rows_per_band=rows_per_band,
        )
    return Plan(
        threshold,
        shingles,
        hasher,
        choice,
        verify,
        groups,
        thread_count(threads),
        joins_exactly,
        by_default,
        measure=measure,
        ignore_common=ignore_common,
        top=top,
        most=most,
        recall_of_bands=recall,
    )


def _check_choices(verify: Verify, groups: Grouping) -> None:
    for name, value, allowed in (
        ("verify", verify, Verify),
        ("groups", groups, Grouping),
    ):
        if value not in get_args(allowed):
            raise ValueError(
                f"{name} must be one of {', '.join(get_args(allowed))}, not {value!r}"
            )


def _check_measure_of(
    measure: ItemMeasure | None, verify: Verify, exact: bool
) -> PairMeasure:
    """Return the measure of a run; raise ValueError if its pairs cannot be verified so."""
    if exact and verify != "exact":
        raise ValueError(f"verify must be 'exact' for an exact join, not {verify!r}")
    checked = check_measure("jaccard" if measure is None else measure)
    if checked == "containment" and verify != "exact":
        raise ValueError(
            f"verify must be 'exact' for measure='containment', not {verify!r}: signatures "
            "estimate Jaccard"
        )
    return checked


def check_bands_only(plan: Plan, driver: Driver, command: str = "dedup") -> None:
    """Raise ValueError if a plan joins exactly, for a way of running that has bands only."""
    if not plan.exact:
        return
    name_of_driver = NAMES[driver].replace("lshfast dedup", f"lshfast {command}")
    default = (
        f"measure={plan.measure!r} has exact=True by default, and "
        if plan.exact_by_default
        else ""
    )
    missed = (
        "; they miss most pairs of very different sizes"
        if plan.measure == "containment"
        else ""
    )
    refusal = f"{default}exact is not an option of {name_of_driver}: {OPTIONS['exact'].without}"
    raise ValueError(
        f"{refusal}. Run {ONE_MACHINE} instead, or give exact=False (--no-exact): bands find the "
        f"pairs{missed}"
    )


def described_plan(parameters: Mapping[str, Any], threads: int) -> Plan:
    """Return the plan with these parameters, as `Plan.described` returns them: they name
    rows_per_band "rows".
    """
    given = {
        "rows_per_band" if name == "rows" else name: value
        for name, value in parameters.items()
    }
    return make_plan(**given, threads=threads)


def plan_of_index(
    parameters: Parameters,
    given: Mapping[str, Any] | None = None,
    *,
    kind: Kind | None = None,
    **others: Any,
) -> Plan:
    """Return the plan of a run against an index of texts or sets; the parameters of the index take
    effect.

    Parameters
    ----------
    parameters : Parameters
        Parameters of the index.
    given : mapping of str, optional
        Arguments of `make_plan` that the user has set. They must equal those of the index.
    kind : {"text", "set"}, optional
        What the items of the run are; by default what those of the index are. An index that does
        not name its shingles may be one of sets.
    **others
        Arguments of `make_plan` that an index does not store: verify, groups, threads, exact,
        measure.

    Raises
    ------
    ValueError
        If a given value differs from that of the index (the error names both), the index is of
        another family than MinHash or of another kind, or it does not name its shingles, or the
        name is not one of shingles of words or characters.
    """
    given = given or {}
    check_index_measure(others.get("measure") or "jaccard")
    if parameters.family:
        raise ValueError(
            f"this index is of the family {parameters.family}, and a run needs MinHash signatures"
        )
    stored = _stored_options(parameters, kind)
    for name, value in given.items():
        if stored.get(name, value) != value:
            raise ValueError(f"{name} is {stored[name]} in this index, not {value}")
    sets = "unit" not in stored
    plan = replace(make_plan(**{**given, **stored, **others}), sets=sets)
    if "recall" in given and "bands" not in given:
        _check_bands_reach(given["recall"], plan)
    check_same_run(parameters, plan)
    return plan


def _stored_options(parameters: Parameters, kind: Kind | None) -> dict[str, Any]:
    """Return the options that an index stores; those of sets have no unit.

    Raises
    ------
    ValueError
        If the index is of another kind than `kind`, or of texts whose shingles it does not name.
    """
    shingles = shingles_of_texts(parameters.shingles)
    sets = parameters.shingles == SETS or (shingles is None and kind == "set")
    if kind is not None and sets != (kind == "set") and (sets or shingles is not None):
        raise ValueError(
            f"this is an index of {'sets' if sets else 'texts'}, not of {kind}s"
        )
    if shingles is None and not sets:
        name = parameters.shingles
        said = f"names them {name!r}" if name else "does not name them"
        raise ValueError(
            "the shingles of this index are not known, so texts cannot be used with it: it "
            f"{said}; create it with a name such as LSHIndex(shingles='word:5')"
        )
    stored: dict[str, Any] = {
        "num_perm": parameters.num_perm,
        "scheme": parameters.scheme,
        "seed": parameters.seed,
        "bands": parameters.bands,
        "rows_per_band": parameters.rows_per_band,
    }
    if shingles is not None and not sets:
        words = shingles.stop_words
        stored["unit"] = shingles.unit
        stored["size"] = shingles.size
        stored["stop_words"] = words and words.language
    if parameters.threshold is not None:
        stored["threshold"] = parameters.threshold
    return stored


def _check_bands_reach(recall: float, plan: Plan) -> None:
    """Raise ValueError if the bands of an index are not those of a recall."""
    bands = plan.bands
    needed = choose_bands(plan.threshold, plan.hasher.num_perm, recall=recall)
    if needed != bands:
        raise ValueError(
            f"recall {recall} needs {bands_and_rows(needed.bands, needed.rows_per_band)}, but "
            f"this index has {bands.bands} of {bands.rows_per_band}"
        )


def check_index_measure(measure: PairMeasure) -> None:
    """Raise ValueError if a run with this measure cannot use an index."""
    if measure != "jaccard":
        raise ValueError(
            f"measure must be 'jaccard' with an index, not {measure!r}: an index stores the "
            "signatures of texts, which "
            "estimate the Jaccard similarity"
        )


def check_indexed(plan: Plan) -> None:
    """Raise ValueError if a run with this plan can neither be compared with an index nor be added
    to one.
    """
    check_index_measure(plan.measure)
    if plan.ignore_common is not None:
        raise ValueError(
            f"ignore_common must be None with an index, not {plan.ignore_common}: which shingles "
            "are common differs "
            "from run to run, and an index does not store it"
        )


def check_same_run(parameters: Parameters, plan: Plan) -> None:
    """Raise ValueError, with both values, if a parameter of a run differs from that of an index.

    If the index does not store its shingles or its threshold, these are not checked.
    """
    check_indexed(plan)
    if plan.groups != "star":
        raise ValueError(
            f"groups must be star against an index, not {plan.groups}: rows removed in earlier "
            "runs are not in the "
            "index, so components through them cannot be found"
        )
    own = plan.parameters
    if parameters.threshold not in (None, own.threshold):
        raise ValueError(
            f"threshold is {parameters.threshold} in this index, not {own.threshold}"
        )
    named = parameters.shingles
    if plan.sets and shingles_of_texts(named) is None:
        own = replace(
            own, shingles=named
        )  # the user chose this name; it cannot be checked
    parameters.check_same(own if named else replace(own, shingles=""))
