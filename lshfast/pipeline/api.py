"""Texts or sets in memory: `dedup` and `pairs`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lshfast.common.progress import Progress
from lshfast.index.lsh_index import LSHIndex
from lshfast.join.copies import with_copies
from lshfast.join.groups import plain_list
from lshfast.pipeline.against import insert_rows
from lshfast.pipeline.columns import ShingledTexts, column_of
from lshfast.pipeline.plan import Grouping, Keep, KeepValues, Plan, Verify, check_same_run, make_plan
from lshfast.pipeline.preference import check_keep, preference_of
from lshfast.pipeline.report import DedupResult
from lshfast.pipeline.run import find_duplicates, remove_earlier
from lshfast.pipeline.short_texts import ShortTextsWarning, advice_for
from lshfast.pipeline.similar_pairs import SimilarPairs, joined_pairs
from lshfast.pipeline.sketching import Clock, sketch_rows
from lshfast.shingling import Unit
from lshfast.sketch.minhash import Scheme
from lshfast.tokens import Seed


def dedup(
    texts: Any,
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
    keep: Keep | KeepValues = "first",
    keys: Sequence[Any] | None = None,
    against: LSHIndex | None = None,
    add: bool = False,
    threads: int | None = None,
    seed: Seed = 1,
    progress: Progress | None = None,
) -> DedupResult:
    """Find the near-duplicates among texts, and which of them to keep.

    Two texts are similar if the Jaccard similarity of their sets of shingles reaches the threshold. Candidates come
    from banded MinHash signatures; by default each is verified exactly, so that no pair is reported that is not one,
    and a pair exactly at the threshold is found with probability at least `recall`, a more similar one with more.

    Parameters
    ----------
    texts : sequence of str or bytes, Arrow column, sequence of sets, or TokenSets
        Texts as for `shingle`. Sets are iterables of str, bytes or int elements (see `TokenSets.from_sets`), or the
        lists of an Arrow column of lists of strings, binary or integers. A null is a text without shingles, or an empty
        set: it is kept, and counted in `summary.empty`. A null in a list is refused.
    threshold : float, default 0.8
        In (0, 1].
    unit, size : {"word", "char"} and int
        Shingles: `size` words or characters, 1 to 256. For sets they must be left at their defaults.
    num_perm, scheme, seed : int, {"fast", "classic"}, int or "random"
        The signatures, as for `MinHasher`. A random seed keeps others from writing texts that are missed on purpose.
    recall : float, default 0.95
        In (0, 1): what bands and rows are chosen by (see `choose_bands`).
    bands, rows : int, optional
        Bands and rows instead; at most num_perm slots together.
    verify : {"exact", "signature", "none"}, default "exact"
        Compute each candidate's exact similarity; or take the signatures' estimate; or take all candidates.
    groups : {"star", "components"}, default "star"
        Each removed text is itself similar to the one kept in its place; or to some text of a chain that leads there.
    keep : {"first", "last", "longest", "shortest"} or array_like of shape (n,), default "first"
        Which of a group to keep, by length in bytes of UTF-8 (of sets, the number of elements), or by an array's
        greatest value. Among texts of one length a hash of the text decides, so that the order of the input does not;
        among equal values, and equal texts, the first.
    keys : sequence, optional
        The texts' names in `removed`; their numbers by default. No two may be equal.
    against : LSHIndex, optional
        Earlier texts. Each text similar to one of them, as far as signatures tell, is removed for the most similar one
        before the others are compared with each other. The index must have been made with the same choices; that its
        signatures are of the same shingles is checked where it says so (``LSHIndex(shingles="word:5")``). If its seed
        was random, give the number: ``seed=index.hasher.seed``.
    add : bool, default False
        Insert the texts that stay into `against`, under their keys, at the end of the run.
    threads : int, optional
        At least 1; the CPUs this process may use by default. The result does not depend on it.
    progress : callable, optional
        Called with (stage, done, total) now and then; done is bytes in "sketch" (total None) and rows in "verify"
        (in `pairs`, pairs).

    Returns
    -------
    DedupResult

    Raises
    ------
    TypeError, ValueError
        If a text or an argument cannot be used; the error names it, its row and the range. If `against` was made with
        other choices (both are named), or already has a key that is to be added; then nothing is added.

    Warns
    -----
    ShortTextsWarning
        If most of at least 100 texts are so short that one changed word leaves a similarity below the threshold. The
        warning and `summary.advice` name better values (see `recommend`).

    Examples
    --------
    >>> import lshfast
    >>> result = lshfast.dedup(
    ...     ["the cat sat on the mat today", "The cat sat on the mat, today!", "a dog", ""], keys=["a", "b", "c", "d"]
    ... )
    >>> result.keep.tolist()
    [True, False, True, True]
    >>> result.removed
    [Removal(key='b', kept_key='a', similarity=1.0)]

    Sets instead of texts:

    >>> lshfast.dedup([{"red", "green", "blue"}, {"red", "green"}, {"white"}], threshold=0.6).keep.tolist()
    [True, False, True]

    Day by day, against all days before:

    >>> seen = lshfast.LSHIndex(shingles="word:5")
    >>> days = [["the cat sat on the mat today", "a dog"], ["A dog!", "a bird sat there"]]
    >>> for number, day in enumerate(days):
    ...     names = [f"{number}/{row}" for row in range(len(day))]
    ...     print(lshfast.dedup(day, keys=names, against=seen, add=True).removed)
    []
    [Removal(key='1/0', kept_key='0/1', similarity=1.0)]
    """
    plan = make_plan(
        threshold=threshold, unit=unit, size=size, num_perm=num_perm, scheme=scheme, recall=recall, bands=bands,
        rows=rows, verify=verify, groups=groups, threads=threads, seed=seed,
    )  # fmt: skip
    column = column_of(texts, unit, size)
    plan = replace(plan, sets=not isinstance(column, ShingledTexts))
    check_against(against, add, plan)
    names = None if keys is None else key_list(keys, len(column))
    check_keep(keep, len(column))
    clock = Clock()
    sketched_rows = sketch_rows([column], plan, clock, progress)
    earlier = remove_earlier(sketched_rows, plan, clock, against)
    preference = preference_of(keep, sketched_rows.rows.column)
    found = find_duplicates(sketched_rows, plan, clock, preference=preference, earlier=earlier, progress=progress)
    indexed = None
    if against is not None and add:
        with clock.stage("index"):
            own = range(len(column)) if names is None else names
            indexed = insert_rows(against, own, found.kept_rows, sketched_rows.signatures)
    result = found.result(clock, keys=names, read=len(column), indexed=indexed)
    warn_of(result.summary.advice)
    return result


def pairs(
    texts: Any,
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
    copies: Literal["first", "all"] = "first",
    threads: int | None = None,
    seed: Seed = 1,
    progress: Progress | None = None,
) -> npt.NDArray[np.void]:
    """Find all pairs of similar texts or sets; parameters, errors and warnings as for `dedup`.

    Parameters
    ----------
    copies : {"first", "all"}, default "first"
        Pair an exact copy with the first of its kind only, or pair it with whatever that one is paired with too: a
        thousand copies are then half a million pairs.

    Returns
    -------
    structured ndarray with fields i, j (int64, i < j) and similarity (float64)
        Sorted by (i, j).

    Examples
    --------
    >>> import lshfast
    >>> lshfast.pairs(["one two three four", "two three four five", "One two three four."], threshold=0.3, size=2)
    array([(0, 1, 0.5), (0, 2, 1. )],
          dtype=[('i', '<i8'), ('j', '<i8'), ('similarity', '<f8')])
    """
    plan = make_plan(
        threshold=threshold, unit=unit, size=size, num_perm=num_perm, scheme=scheme, recall=recall, bands=bands,
        rows=rows, verify=verify, threads=threads, seed=seed,
    )  # fmt: skip
    if copies not in ("first", "all"):
        raise ValueError(f"copies must be 'first' or 'all', not {copies!r}")
    clock = Clock()
    found = sketch_rows([column_of(texts, unit, size)], plan, clock, progress)
    warn_of(advice_for(found.rows.column, plan))
    every = SimilarPairs(found, plan, clock, progress)
    if copies == "all":
        return with_copies(joined_pairs(every.of_different_rows()), found.copies, copies)
    return joined_pairs(every.batches())


def warn_of(advice: str) -> None:
    """Warn the caller of a public function, unless the advice is empty."""
    if advice:
        warnings.warn(advice, ShortTextsWarning, stacklevel=3)


def check_against(against: LSHIndex | None, add: bool, plan: Plan) -> None:
    """Raise an error that names the argument unless a run by this plan can be held against the index."""
    if against is None:
        if add:
            raise ValueError("add needs an index to add to: against=LSHIndex(...)")
        return
    if not isinstance(against, LSHIndex):
        raise TypeError(f"against must be an LSHIndex, not {against!r}")
    check_same_run(against.parameters, plan)


def key_list(keys: Any, n: int) -> list[Any]:
    """Return keys as a list of Python objects, or raise an error where they are not one a row or two are equal."""
    try:
        names = plain_list(keys)
    except TypeError:
        raise TypeError(f"keys must be a sequence of one key a text, not {keys!r}") from None
    if len(names) != n:
        raise ValueError(f"one key a text is needed: {n} keys, not {len(names)}")
    seen: dict[Any, int] = {}
    for row, key in enumerate(names):
        try:
            first = seen.setdefault(key, row)
        except TypeError:
            raise TypeError(f"keys must be hashable, not {key!r}, that of texts[{row}]") from None
        if first != row:
            raise ValueError(f"keys must differ: {key!r} is the key of texts {first} and {row}")
    return names
