"""The stages in a row: batches of texts → signatures → bucket keys → candidates → pairs → groups.

Texts are held where they lie, tokens only for the piece at work: those of candidates are made again when they are
verified, which takes less time than writing all of them to memory and less memory than keeping them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.dedup.plan import Grouping, Keep, Plan, Verify, make_plan
from lshfast.dedup.report import DedupResult, Stage, Summary
from lshfast.join.candidates import candidates, find_copies
from lshfast.join.cluster import Groups, component_groups, plain_list, preferred, star_groups
from lshfast.join.verify import PAIR, as_pairs, estimate, screen, verify
from lshfast.kernels import sets, text
from lshfast.shingling import KERNELS, Unit, pieces
from lshfast.sketch.minhash import EMPTY, Scheme
from lshfast.threads import ordered_map
from lshfast.tokens import BoolArray, Int64Array, TokenSets, UInt64Array

Progress: TypeAlias = Callable[[str, int, "int | None"], None]


class Clock:
    """Seconds and bytes of each stage of a run."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.stages: dict[str, Stage] = {}

    @contextmanager
    def stage(self, name: str, nbytes: int = 0) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - start, nbytes)

    def add(self, name: str, seconds: float, nbytes: int) -> None:
        before = self.stages.get(name, Stage(0.0, 0))
        self.stages[name] = Stage(before.seconds + seconds, before.nbytes + nbytes)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began


@dataclass
class Sketches:
    """What is known of the texts after one pass over them."""

    texts: text.Texts
    signatures: UInt64Array
    keys: UInt64Array
    copies: Int64Array
    empty: BoolArray

    def __len__(self) -> int:
        return len(self.signatures)


@dataclass(frozen=True)
class ShingledTexts:
    """The token sets of texts, made anew for the rows that are asked for."""

    texts: text.Texts
    plan: Plan

    @property
    def sizes(self) -> Int64Array:
        lengths = self.texts.lengths
        return np.asarray(lengths // 6 + 1 if self.plan.unit == "word" else lengths)  # English has six bytes a word

    def take(self, rows: Int64Array) -> TokenSets:
        return TokenSets(*KERNELS[self.plan.unit](self.texts.take(rows), self.plan.size, self.plan.hasher.seed))


class _Piece(NamedTuple):
    """What one piece of work makes of some texts."""

    texts: text.Texts
    signatures: UInt64Array
    keys: UInt64Array
    prints: UInt64Array


def sketch_texts(batches: Iterable[text.Texts], plan: Plan, clock: Clock, progress: Progress | None = None) -> Sketches:
    """Run one pass over batches of texts: shingle, sketch, band and fingerprint each, several at a time."""
    parts: list[_Piece] = []
    row, done, reading, start = 0, 0, 0.0, time.perf_counter()

    def portions() -> Iterator[tuple[int, text.Texts]]:
        """Cut the batches into pieces of work, with the number of each one's first row."""
        nonlocal row, reading
        source = iter(batches)
        while True:
            before = time.perf_counter()
            batch = next(source, None)
            reading += time.perf_counter() - before
            if batch is None:
                return
            for rows in pieces(batch.lengths):
                yield row + rows.start, batch.take(rows)
            row += len(batch)

    def work(portion: tuple[int, text.Texts]) -> _Piece:
        first_row, texts = portion
        try:
            offsets, tokens = KERNELS[plan.unit](texts, plan.size, plan.hasher.seed)
        except text.TextError as error:
            raise text.TextError(error.row + first_row, error.reason) from None
        signatures = plan.hasher.sketch(TokenSets(offsets, tokens), threads=1)
        return _Piece(texts, signatures, plan.bands.keys(signatures), sets.fingerprints(offsets, tokens))

    for part in ordered_map(work, portions(), plan.threads):
        parts.append(part)
        done += part.texts.nbytes
        if progress:
            progress("sketch", done, None)
    clock.add("read", reading, done)
    clock.add("sketch", time.perf_counter() - start - reading, done)

    with clock.stage("match", done):
        texts = text.Texts.concatenate([part.texts for part in parts])
        prints = np.concatenate([np.empty((0, 3), np.uint64), *(part.prints for part in parts)])
        keys = np.concatenate([np.empty((0, plan.bands.bands), np.uint64), *(part.keys for part in parts)])
        signatures = np.concatenate([plan.hasher.sketch(TokenSets([0], [])), *(part.signatures for part in parts)])
        return Sketches(texts, signatures, keys, find_copies(prints), signatures[:, 0] == EMPTY)


def find_pairs(
    corpus: Sketches, plan: Plan, clock: Clock, progress: Progress | None = None
) -> tuple[npt.NDArray[np.void], int]:
    """Return the similar pairs of different texts, sorted, and the number of candidates they were chosen from."""
    nbytes = corpus.texts.nbytes
    with clock.stage("match", 0):
        i, j = candidates(corpus.keys, copies=corpus.copies, threads=plan.threads)
        found = len(i)
    with clock.stage("verify", nbytes):
        if plan.verify == "exact":
            stay = screen(corpus.signatures, i, j, plan.threshold)
            rows = ShingledTexts(corpus.texts, plan)
            tell = (lambda done, total: progress("verify", done, total)) if progress else None
            return verify(rows, i[stay], j[stay], plan.threshold, threads=plan.threads, progress=tell), found
        similarity = estimate(corpus.signatures, i, j)
        stay = similarity >= plan.threshold if plan.verify == "signature" else np.ones(found, bool)
        return as_pairs(i[stay], j[stay], similarity[stay]), found


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
                found = verify(ShingledTexts(corpus.texts, plan), left, right, 0.0, threads=plan.threads)
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
    return pairs[np.lexsort((pairs["j"], pairs["i"]))]


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


def preference_of(keep: Keep | npt.ArrayLike, lengths: Int64Array) -> npt.ArrayLike | None:
    """Return the preference that a `keep` policy stands for: the greater, the rather a row is kept."""
    if isinstance(keep, str):
        if keep == "first":
            return None
        ways = {"last": np.arange(len(lengths)), "longest": lengths, "shortest": -lengths}
        if keep not in ways:
            raise ValueError(f"keep must be one of first, {', '.join(ways)}, or a value a row, not {keep!r}")
        return ways[keep]
    return keep


def run(
    batches: Iterable[text.Texts],
    plan: Plan,
    *,
    keep: Keep | npt.ArrayLike | Callable[[], npt.ArrayLike] = "first",
    keys: Sequence[Any] | None = None,
    read: Callable[[], int],
    rejected: Callable[[], int] = lambda: 0,
    progress: Progress | None = None,
) -> DedupResult:
    """Run the whole job over batches of texts.

    `read` and `rejected` tell the rows that the source of the batches met and refused, by its own count, and `keep` may
    be a function too: readers know only after the last batch.
    """
    clock = Clock()
    corpus = sketch_texts(batches, plan, clock, progress)
    similar, found = find_pairs(corpus, plan, clock, progress)
    preference = preference_of(keep() if callable(keep) else keep, corpus.texts.lengths)
    groups = group(corpus, similar, plan, preference, clock)
    kept = groups.keeper == np.arange(len(corpus))
    all_pairs = with_copies(similar, corpus.copies)
    sizes = np.bincount(groups.labels, minlength=1)
    summary = Summary(
        read=read(),
        kept=int(kept.sum()),
        removed=int((~kept).sum()),
        rejected=rejected(),
        empty=int(corpus.empty.sum()),
        copies=int((corpus.copies != np.arange(len(corpus))).sum()),
        candidates=found,
        pairs=len(all_pairs),
        groups=int((sizes > 1).sum()),
        largest_group=int(sizes.max()) if len(corpus) else 0,
        bands=plan.bands.bands,
        rows=plan.bands.rows,
        recall=plan.recall,
        verify=plan.verify,
        stages=clock.stages,
        seconds=clock.seconds,
    )
    return DedupResult(kept, groups.labels, groups.keeper, groups.similarity, all_pairs, summary, keys)


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
    keep: Keep | npt.ArrayLike = "first",
    keys: Sequence[Any] | None = None,
    threads: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> DedupResult:
    """Find the near-duplicates among texts, and which of them to keep.

    Two texts are similar if the Jaccard similarity of their sets of shingles reaches the threshold. Candidates come
    from banded MinHash signatures; by default each is verified exactly, so that no pair is reported that is not one,
    and a pair exactly at the threshold is found with probability at least `recall`, a more similar one with more.

    Parameters
    ----------
    texts : sequence of str or bytes, or Arrow column
        As for `shingle`.
    threshold : float, default 0.8
        In (0, 1].
    unit, size : {"word", "char"} and int
        Shingles: `size` words or characters, 1 to 256.
    num_perm, scheme, seed : int, {"fast", "classic"}, int
        The signatures, as for `MinHasher`.
    recall : float, default 0.95
        In (0, 1): what bands and rows are chosen by (see `choose_bands`).
    bands, rows : int, optional
        Bands and rows instead; at most num_perm slots together.
    verify : {"exact", "signature", "none"}, default "exact"
        Compute each candidate's exact similarity; or take the signatures' estimate; or take all candidates.
    groups : {"star", "components"}, default "star"
        Each removed text is itself similar to the one kept in its place; or to some text of a chain that leads there.
    keep : {"first", "last", "longest", "shortest"} or array_like of shape (n,), default "first"
        Which of a group to keep, by length in bytes of UTF-8, or by an array's greatest value.
    keys : sequence, optional
        The texts' names in `removed`; their numbers by default. No two may be equal.
    threads : int, optional
        At least 1; the CPUs this process may use by default. The result does not depend on it.
    progress : callable, optional
        Called with (stage, done, total) now and then; done is bytes in "sketch" (total None) and pairs in "verify".

    Returns
    -------
    DedupResult

    Raises
    ------
    TypeError, ValueError
        If a text or an argument cannot be used; the error names it, its row and the range.
    OverflowError
        If there are more than 2**28 candidates.

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
    """
    plan = make_plan(
        threshold=threshold, unit=unit, size=size, num_perm=num_perm, scheme=scheme, recall=recall, bands=bands,
        rows=rows, verify=verify, groups=groups, threads=threads, seed=seed,
    )  # fmt: skip
    column = text.Texts(texts)
    names = None if keys is None else key_list(keys, len(column))
    preference = checked_keep(keep, len(column))
    return run([column], plan, keep=preference, keys=names, read=column.__len__, progress=progress)


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


def checked_keep(keep: Keep | npt.ArrayLike, n: int) -> Keep | npt.ArrayLike:
    """Return `keep`, or raise an error that names it, before the run that it would end."""
    try:
        preferred(n, preference_of(keep, np.zeros(n, np.int64)))
    except (TypeError, ValueError) as error:
        message = str(error)
        raise type(error)(message if message.startswith("keep") else f"keep: {message}") from None
    return keep


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
    seed: int = 1,
    progress: Progress | None = None,
) -> npt.NDArray[np.void]:
    """Find the pairs of similar texts; parameters as for `dedup`.

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
    corpus = sketch_texts([text.Texts(texts)], plan, clock, progress)
    similar, _ = find_pairs(corpus, plan, clock, progress)
    return with_copies(similar, corpus.copies, copies)
