"""The stages in a row: batches of texts or sets → signatures → bucket keys → candidates → pairs → groups.

Texts are referenced in place. Tokens exist only for the piece at work; verification shingles candidates again, under
the key of the run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lshfast.index.lsh_index import LSHIndex
from lshfast.join.banded import candidates, order_of_pairs
from lshfast.join.group_pairs import Comparison, pairs_for_groups
from lshfast.join.groups import Groups, component_groups, plain_list, preferred, star_groups
from lshfast.join.jaccard import PAIR, as_pairs, estimate, screen, verify
from lshfast.kernels import text
from lshfast.pipeline.against import NOTHING_EARLIER, find_earlier, insert_rows
from lshfast.pipeline.columns import Column, ShingledTexts, column_of
from lshfast.pipeline.plan import Grouping, Keep, KeepValues, Plan, Verify, check_same_run, make_plan
from lshfast.pipeline.report import DedupResult, Summary
from lshfast.pipeline.short_texts import ShortTextsWarning, advice_for
from lshfast.pipeline.sketching import Clock, Progress, Sketches, sketch_rows
from lshfast.shingling import Unit
from lshfast.sketch.minhash import Scheme
from lshfast.tokens import BoolArray, Int64Array, Seed, UInt64Array


def find_pairs(
    corpus: Sketches, plan: Plan, clock: Clock, progress: Progress | None = None
) -> tuple[npt.NDArray[np.void], int]:
    """Return the similar pairs of different rows, sorted, and the number of candidates they were chosen from."""
    nbytes = int(corpus.rows.column.nbytes.sum())
    met: list[int] = []

    def worth_a_look(i: Int64Array, j: Int64Array) -> BoolArray:
        met.append(len(i))
        if plan.verify == "exact":
            return screen(corpus.signatures, i, j, plan.threshold)
        least = plan.threshold if plan.verify == "signature" else 0.0
        return np.asarray(estimate(corpus.signatures, i, j) >= least)

    with clock.stage("match", 0):
        i, j = candidates(corpus.keys, copies=corpus.copies, screen=worth_a_look, threads=plan.threads)
    with clock.stage("verify", nbytes):
        if plan.verify != "exact":
            return as_pairs(i, j, estimate(corpus.signatures, i, j)), sum(met)
        tell = (lambda done, total: progress("verify", done, total)) if progress else None
        return verify(corpus.rows, i, j, plan.threshold, threads=plan.threads, progress=tell), sum(met)


def find_pairs_for_groups(
    corpus: Sketches, plan: Plan, preference: npt.ArrayLike | None, clock: Clock, progress: Progress | None = None
) -> tuple[npt.NDArray[np.void], int]:
    """Return the similar pairs that the groups rest on, sorted, and the number of pairs that were compared."""
    threshold = 0.0 if plan.verify == "none" else plan.threshold
    comparison = Comparison(threshold, plan.verify == "exact", plan.groups == "components", plan.threads)
    tell = (lambda done, total: progress("verify", done, total)) if progress else None
    with clock.stage("verify", int(corpus.rows.column.nbytes.sum())):
        return pairs_for_groups(
            corpus.rows, corpus.signatures, corpus.keys, comparison, copies=corpus.copies, preference=preference,
            progress=tell,
        )  # fmt: skip


def group(
    corpus: Sketches, similar: npt.NDArray[np.void], plan: Plan, preference: npt.ArrayLike | None, clock: Clock
) -> Groups:
    """Group the rows, and fill in the similarities to the keepers that no pair tells."""
    make = star_groups if plan.groups == "star" else component_groups
    with clock.stage("group", 0):
        groups = make(len(corpus), similar, copies=corpus.copies, preference=preference)
        unknown = np.flatnonzero(np.isnan(groups.similarity))
        if len(unknown):
            left = np.minimum(unknown, groups.keeper[unknown])
            right = np.maximum(unknown, groups.keeper[unknown])
            if plan.verify == "exact":
                found = verify(corpus.rows, left, right, 0.0, threads=plan.threads)
                groups.similarity[unknown] = found["similarity"]
            else:
                groups.similarity[unknown] = estimate(corpus.signatures, left, right)
        return groups


def copy_pairs(copies: Int64Array) -> npt.NDArray[np.void]:
    """Return (first copy, copy, 1) for each copy."""
    rows = np.flatnonzero(copies != np.arange(len(copies)))
    return as_pairs(copies[rows], rows, 1.0)


def with_copies(
    similar: npt.NDArray[np.void], copies: Int64Array, expand: Literal["first", "all"] = "first"
) -> npt.NDArray[np.void]:
    """Add the pairs of exact copies to those of different texts: with the first of a kind only, or all of them."""
    added = [similar, copy_pairs(copies)]
    if expand == "all":
        added = [_spread(similar, copies), _all_of_a_kind(copies)]
    pairs = np.concatenate(added)
    return pairs[order_of_pairs(pairs["i"], pairs["j"])]


def _members(copies: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return (start, count) of each row's kind, at the kind's first row, and all rows ordered by kind."""
    count = np.bincount(copies, minlength=len(copies))
    order = np.argsort(copies, kind="stable").astype(np.int64)
    return np.cumsum(count) - count, count, order


def _spread(similar: npt.NDArray[np.void], copies: Int64Array) -> npt.NDArray[np.void]:
    """Return each pair for all copies of its left and of its right row."""
    start, count, order = _members(copies)
    i, j = similar["i"], similar["j"]
    times = count[i] * count[j]
    pair = np.repeat(np.arange(len(similar)), times)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(times) - times, times)
    left = order[start[i][pair] + within // count[j][pair]]
    right = order[start[j][pair] + within % count[j][pair]]
    return as_pairs(np.minimum(left, right), np.maximum(left, right), similar["similarity"][pair])


def _all_of_a_kind(copies: Int64Array) -> npt.NDArray[np.void]:
    """Return all pairs of copies of one kind."""
    start, count, order = _members(copies)
    parts = [np.empty(0, PAIR)]
    for kind in np.flatnonzero(count > 1).tolist():
        rows = order[start[kind] : start[kind] + count[kind]]
        left, right = np.triu_indices(len(rows), 1)
        parts.append(as_pairs(rows[left], rows[right], 1.0))
    return np.concatenate(parts)


# The seed of the hash that orders texts of equal length. It is not the seed of the run, so that the texts kept do not
# depend on that.
TIE_SEED = 1


def preference_of(keep: Keep | KeepValues, column: Column) -> npt.ArrayLike | None:
    """Return the preference that a `keep` policy stands for: a row of a greater value is kept before others.

    Among texts of one length that of the greater hash comes first, and of equal texts the first row, so that which
    texts are kept does not depend on the order of the input. The author of a text can make it win, as by making it
    longer (shorter).
    """
    if not isinstance(keep, str):
        return keep
    if keep == "first":
        return None
    rows = np.arange(len(column))
    if keep == "last":
        return rows
    lengths = column.lengths if keep == "longest" else -column.lengths
    _, group, members = np.unique(lengths, return_inverse=True, return_counts=True)
    tied = np.flatnonzero(members[group] > 1)
    hashes = np.zeros(len(column), np.uint64)
    hashes[tied] = column.take(tied).hashes(TIE_SEED)
    preference = np.empty(len(column), np.int64)
    preference[np.lexsort((-rows, hashes, lengths))] = rows
    return preference


# What takes the rows that stay, and the signatures of all rows, and returns how many were put into an index.
Joining: TypeAlias = Callable[[Int64Array, UInt64Array], int]


def run(
    batches: Iterable[text.Texts | Column],
    plan: Plan,
    *,
    keep: Keep | KeepValues | Callable[[], KeepValues] = "first",
    keys: Sequence[Any] | None = None,
    read: Callable[[], int],
    rejected: Callable[[], int] = lambda: 0,
    against: LSHIndex | None = None,
    joining: Joining | None = None,
    every_pair: bool = False,
    progress: Progress | None = None,
) -> DedupResult:
    """Run the whole job over batches of texts, or over one column of sets.

    `read` and `rejected` return the numbers of rows that the source of the batches has read and refused. They are
    functions, as `keep` may be, because readers know this only after the last batch. Rows similar to an entry of
    `against` are removed first, and are not compared with other rows. `joining` is called with the rows that stay and
    the signatures of all rows, and returns how many entries of an index are new or replaced. With `every_pair` all
    similar pairs are found, not only those that the groups rest on.
    """
    clock = Clock()
    corpus = sketch_rows(batches, plan, clock, progress)
    earlier = NOTHING_EARLIER
    if against is not None:
        with clock.stage("earlier"):
            earlier = find_earlier(against, corpus.signatures, plan)
            corpus.set_aside(earlier.rows)
    preference = preference_of(keep() if callable(keep) else keep, corpus.rows.column)
    if every_pair:
        similar, found = find_pairs(corpus, plan, clock, progress)
    else:
        similar, found = find_pairs_for_groups(corpus, plan, preference, clock, progress)
    groups = group(corpus, similar, plan, preference, clock)
    fresh = np.ones(len(corpus), bool)
    fresh[earlier.rows] = False
    sizes = np.bincount(groups.labels[fresh], minlength=1)
    earlier.fill_in(groups)
    kept = groups.keeper == np.arange(len(corpus))
    named_pairs = with_copies(similar, corpus.copies)
    joined = None
    if joining is not None:
        with clock.stage("index"):
            joined = joining(np.flatnonzero(kept), corpus.signatures)
    summary = Summary(
        read=read(),
        kept=int(kept.sum()),
        removed=int((~kept).sum()),
        rejected=rejected(),
        empty=int(corpus.empty.sum()),
        copies=int((corpus.copies != np.arange(len(corpus))).sum()),
        candidates=found,
        pairs=len(named_pairs),
        groups=int((sizes > 1).sum()),
        largest_group=int(sizes.max()) if len(corpus) else 0,
        bands=plan.bands.bands,
        rows=plan.bands.rows,
        recall=plan.recall,
        verify=plan.verify,
        stages=clock.stages,
        seconds=clock.seconds,
        earlier=len(earlier.rows),
        indexed=joined,
        advice=advice_for(corpus.rows.column, plan),
    )
    named = None if against is None else earlier.column(len(corpus))
    return DedupResult(kept, groups.labels, groups.keeper, groups.similarity, named_pairs, summary, keys, named)


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
        Texts as for `shingle`. Sets are iterables of str, bytes or int elements (see `TokenSets.from_sets`). A null is
        a text without shingles, or an empty set: it is kept, and counted in `summary.empty`.
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
    joining = None
    if against is not None and add:
        joining = partial(insert_rows, against, range(len(column)) if names is None else names)
    result = run(
        [column], plan, keep=keep, keys=names, read=column.__len__, against=against, joining=joining,
        progress=progress,
    )  # fmt: skip
    warn_of(result.summary.advice)
    return result


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


def check_keep(keep: Keep | KeepValues, n: int) -> None:
    """Raise an error that names `keep` where it cannot be used, before the run that it would end."""
    if isinstance(keep, str):
        if keep not in get_args(Keep):
            raise ValueError(f"keep must be one of {', '.join(get_args(Keep))}, or a value a row, not {keep!r}")
        return
    try:
        preferred(n, keep)
    except (TypeError, ValueError) as error:
        raise type(error)(f"keep: {error}") from None


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
    corpus = sketch_rows([column_of(texts, unit, size)], plan, clock, progress)
    similar, _ = find_pairs(corpus, plan, clock, progress)
    warn_of(advice_for(corpus.rows.column, plan))
    return with_copies(similar, corpus.copies, copies)
