"""The plan of a run against an index of texts or sets, whose parameters take effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lshfast._common.choices import Kind, PairMeasure
from lshfast._common.display import bands_and_rows
from lshfast._engine.plan import SETS, Plan, make_plan
from lshfast.banding.bands import choose_bands
from lshfast.shingling import shingles_of_texts

if TYPE_CHECKING:
    from lshfast.index.stores.values import Parameters


def plan_of_index(
    parameters: Parameters,
    user_options: Mapping[str, Any] | None = None,
    *,
    kind: Kind | None = None,
    **run_options: Any,
) -> Plan:
    """Return the plan of a run against an index, whose parameters take effect.

    Parameters
    ----------
    parameters : Parameters
        Parameters of the index.
    user_options : mapping of str, optional
        Arguments of `make_plan` that the user has set. They must equal the stored arguments.
    kind : {"text", "set"}, optional
        What the items of the run are; by default as in the index. An index that does
        not name its shingles may be one of sets.
    **run_options
        Arguments of `make_plan` that an index does not store: verify, groups, threads, exact,
        measure.

    Raises
    ------
    ValueError
        If a given value differs from the value of the index (the error names both), the index is of
        another family than MinHash or of another kind, or it does not name its shingles, or the
        name is not one of shingles of words or characters.
    """
    user_options = user_options or {}
    check_index_measure(run_options.get("measure") or "jaccard")
    if parameters.family:
        raise ValueError(
            f"this index is of the family {parameters.family}, and a run needs MinHash signatures"
        )
    stored = _stored_options(parameters, kind)
    for name, value in user_options.items():
        if stored.get(name, value) != value:
            raise ValueError(f"{name} is {stored[name]} in this index, not {value}")
    items: Kind = "text" if "unit" in stored else "set"
    plan = replace(make_plan(**{**user_options, **stored, **run_options}), kind=items)
    if "recall" in user_options and "bands" not in user_options:
        _check_bands_reach(user_options["recall"], plan)
    check_same_run(parameters, plan)
    return plan


def _stored_options(parameters: Parameters, kind: Kind | None) -> dict[str, Any]:
    """Return the options that an index stores; an index of sets has no unit.

    Raises
    ------
    ValueError
        If the index is of another kind than `kind`, or of texts whose shingles it does not name.
    """
    shingles = shingles_of_texts(parameters.shingles)
    of_sets = parameters.shingles == SETS or (shingles is None and kind == "set")
    is_known = of_sets or shingles is not None
    if kind is not None and is_known and of_sets != (kind == "set"):
        raise ValueError(
            f"this is an index of {'sets' if of_sets else 'texts'}, not of {kind}s"
        )
    if not is_known:
        name = parameters.shingles
        naming = f"names them {name!r}" if name else "does not name them"
        raise ValueError(
            "the shingles of this index are not known, so texts cannot be used with it: it "
            f"{naming}; create it with a name such as LSHIndex(shingles='word:5')"
        )
    stored: dict[str, Any] = {
        "num_perm": parameters.num_perm,
        "scheme": parameters.scheme,
        "seed": parameters.seed,
        "bands": parameters.bands,
        "rows_per_band": parameters.rows_per_band,
    }
    if shingles is not None and not of_sets:
        words = shingles.stop_words
        stored["unit"] = shingles.unit
        stored["size"] = shingles.size
        stored["stop_words"] = words and words.language
        stored["normalize"] = shingles.normalize
    if parameters.threshold is not None:
        stored["threshold"] = parameters.threshold
    return stored


def _check_bands_reach(recall: float, plan: Plan) -> None:
    """Raise ValueError if a recall needs other bands than an index has."""
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
            f"measure must be 'jaccard' with an index or earlier rows, not {measure!r}: these are "
            "found by signatures, which estimate the Jaccard similarity"
        )


def check_indexed(plan: Plan) -> None:
    """Raise ValueError if a run with this plan cannot have an index."""
    check_index_measure(plan.measure)
    if plan.ignore_common is not None:
        raise ValueError(
            "ignore_common must be None with an index or earlier rows, not "
            f"{plan.ignore_common}: which shingles are common differs from run to run"
        )


def check_earlier(plan: Plan) -> None:
    """Raise ValueError if a run with this plan cannot be compared with earlier rows."""
    check_indexed(plan)
    if plan.groups != "star":
        raise ValueError(
            f"groups must be star against earlier rows, not {plan.groups}: components through "
            "rows that earlier runs removed cannot be found"
        )


def check_same_run(parameters: Parameters, plan: Plan) -> None:
    """Raise ValueError, with both values, if a run and an index differ in a parameter.

    If the index does not store its shingles or its threshold, these are not checked.
    """
    check_earlier(plan)
    plan_parameters = plan.parameters
    if parameters.threshold not in (None, plan_parameters.threshold):
        raise ValueError(
            f"threshold is {parameters.threshold} in this index, not {plan_parameters.threshold}"
        )
    shingles = parameters.shingles
    if plan.kind == "set" and shingles_of_texts(shingles) is None:
        # A name that the user chose for the sets cannot be checked.
        plan_parameters = replace(plan_parameters, shingles=shingles)
    parameters.check_same(
        plan_parameters if shingles else replace(plan_parameters, shingles="")
    )
