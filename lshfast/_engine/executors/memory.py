"""`dedup` and `pairs`: near-duplicates among texts or sets in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import objects_of
from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.exact_keys import ExactKeys
from lshfast._common.progress import Progress
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._common.value_codes import ValueCodes
from lshfast._engine.account.findings import ReadRows
from lshfast._engine.account.guard import check_max_removed, check_result
from lshfast._engine.account.report import DedupResult
from lshfast._engine.account.short_texts import warn_of
from lshfast._engine.clock import Clock
from lshfast._engine.earlier_texts import EarlierRowsOf, EarlierRowsRead
from lshfast._engine.kinds import item_kind
from lshfast._engine.kinds.kind import ItemsInMemory, Request
from lshfast._engine.options.declaration import Options
from lshfast._engine.options.rules import NAMES_OF_PLAN, options_of, takes_options
from lshfast._engine.plan import Grouping, Keep, KeepValues, plan_for
from lshfast._engine.preference import check_keep
from lshfast._items.kind import check_kind, collected, kind_in_memory
from lshfast.kernels.text import TextError
from lshfast.shingling import Unit

if TYPE_CHECKING:
    from typing import TypeAlias

    from typing_extensions import Unpack

    from lshfast._engine.options.types import DedupOptions, PairOptions
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.kernels.text import Texts
    from lshfast.shingling import ArrowArray, ArrowStream
    from lshfast.tokens import TokenSets

    # A str is a sequence of str, and no earlier texts.
    AnyEarlier: TypeAlias = (
        LSHIndex
        | list[Any]
        | tuple[Any, ...]
        | Mapping[Any, Any]
        | npt.NDArray[Any]
        | Texts
        | TokenSets
        | ArrowArray
        | ArrowStream
    )


@takes_options("dedup")
def dedup(
    texts: Any,
    *,
    kind: Kind | None = None,
    threshold: float | None = None,
    unit: Unit = "word",
    size: int | None = None,
    groups: Grouping = "star",
    keep: Keep | KeepValues = "first",
    keys: Sequence[Any] | None = None,
    against: AnyEarlier | None = None,
    add: bool = False,
    threads: int | None = None,
    exact: bool | None = None,
    measure: ItemMeasure | None = None,
    progress: Progress | None = None,
    **options: Unpack[DedupOptions],
) -> DedupResult:
    """Find near-duplicates among texts, sets, vectors or codes, and choose the items to keep.

    Two texts are similar if the Jaccard similarity of their sets of shingles is at least the
    threshold. Candidates come from banded MinHash signatures. By default, the exact similarity of
    each candidate is computed, so no dissimilar pair is reported. A pair whose similarity equals
    the threshold is found with probability at least `recall`, and a more similar pair with a higher
    probability.

    Parameters
    ----------
    texts : sequence of str or bytes, Arrow column, sequence of sets, or TokenSets
        Texts as for `shingle`. Sets are iterables of str, bytes or int elements (see
        `TokenSets.from_sets`), or the lists of an Arrow column of lists of strings, binary values
        or integers; a null inside a list is an error. A null is a text without shingles, or an
        empty set. Such rows are kept, and `summary.empty` counts them. Also weighted sets, vectors
        and codes (docs/how-to/kinds.md).
    kind : {"text", "set", "weighted", "vector", "code"}, optional
        What the items are. The default follows from their type. Lists of integers of 8 bits, and
        integers of other widths than int64 in an array of two dimensions, can be several kinds:
        without `kind`, they are an error.
    threshold : float, default 0.8
        Least similarity of a pair, in (0, 1].
    unit : {"word", "char", "symbol", "stopword"}, default "word"
        Unit of the shingles (see `shingle`). For sets, leave the default.
    size : int, optional
        Words or characters per shingle, in 1..256; by default 5, and 3 for unit "stopword". For
        sets, leave the default.
    groups : {"star", "components"}, default "star"
        With "star", each removed text is similar to the text that is kept instead of it. With
        "components", a chain of similar texts connects the two; with measure="containment", a chain
        in which no text is shorter than the one before it, and each contains the one before it.
    keep : {"first", "last", "longest", "shortest"} or array_like of shape (n,), default "first"
        The text of a group to keep: by row number, by length in bytes of UTF-8 (for sets, the
        number of elements), or by the greatest value of an array. Among texts of the same length, a
        hash of the text decides, so the result does not depend on the order of the input. Among
        equal values, and equal texts, the first row is kept.
    keys : sequence, optional
        Keys of the texts in `removed`, all different. The default is the row number.
    against : LSHIndex, sequence or mapping of texts or sets, or (LSHIndex, mapping), optional
        Earlier texts or sets. Before the texts are compared with each other, each text that is
        similar to an earlier one is removed for the most similar one, of earlier texts that are
        given the most similar of the first 256 similar ones. Earlier texts, like `texts`,
        are compared exactly, and are found with the probability `recall`; a mapping has their keys,
        which are row numbers otherwise. An index stores no texts, so by itself it is compared by
        the estimate from the signatures, which misses about half of the texts exactly at the
        threshold; with a mapping of its keys to their texts, exactly. The index must have the same
        parameters. Its shingles are checked if it names them (``LSHIndex(shingles="word:5")``). If
        its seed is random, pass the number: ``seed=index.hasher.seed``. For weighted sets, an index
        alone, with the family `WeightedMinHashFamily` of this seed, whose threshold is not above
        that of the run.
    add : bool, default False
        Insert the kept texts into the index of `against`, under their keys, at the end of the run.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    exact : bool, optional
        If true, find all similar pairs by an exact join (`lshfast.exact`) instead of bands: no pair
        is missed, so `recall`, `bands` and `rows_per_band` have no effect, except for `against`. It
        needs verify="exact", memory for the tokens of all texts, and mostly more time. If there are
        more than 64 similar pairs for each text, the join ends, and texts are compared one after
        the other until each has a keeper; the groups are the same. The default is False for
        measure="jaccard", and True for "containment".
    measure : str, optional
        "jaccard", the default, or "containment" for texts and sets; "cosine", the default, "angle",
        "euclidean" or "manhattan" for vectors; "hamming", the default, or "tanimoto" for codes.
        With "containment", a text is removed only if a text that is not shorter contains at least
        the threshold of its shingles: |A ∩ B| / |B| for the removed text B and the kept text A,
        which has at least as many different shingles. Of two texts with equally many shingles,
        `keep` decides which one is kept, and keep="shortest" is an error. It needs verify="exact",
        and no index. With exact=False, `recall` is the probability for two texts with equally many
        shingles at the threshold, and few pairs of very different lengths are found
        (docs/understand/how-it-works.md has the measured shares).
    progress : callable, optional
        Called from time to time with (stage, done, total). In stage "sketch", `done` counts bytes
        and `total` is None. In stage "verify", they count rows (in `pairs`, pairs).

    Returns
    -------
    DedupResult

    Raises
    ------
    TypeError
        If a text or an argument has the wrong type; the error names the argument and the row.
    ValueError
        If a text is not valid, or an argument is out of range; the error names the value, its row
        and the range; if the items can be several kinds, or the offsets of an Arrow column lie
        outside of its data. Also if a parameter of `against` differs from that of the run (the
        error names both), or `against` contains a key that would be added; then nothing is added.
    TooManyRemovedError
        If more would be removed than `max_removed`.

    Warns
    -----
    CrowdWarning
        If rows have more candidates than `max_candidates`, so that comparisons were left out.
    ShortTextsWarning
        If there are at least 100 texts, and most are so short that a change of one word leaves a
        similarity below the threshold. The warning and `summary.advice` name better values (see
        `recommend`).
    CodeTextsWarning
        If most of at least 100 texts have as many operators and punctuation as code or URLs, and
        `unit` is "word" or "stopword".
    MixedFormsWarning
        If some texts have letters with marks as one character and others as several, and
        `normalize` is "none".
    DecimalCodesWarning
        If all codes are texts of decimal digits, which are read as hexadecimal.

    See Also
    --------
    lshfast.pairs : Find all pairs of similar items.
    lshfast.dedup_files : Remove near-duplicate rows of files.
    lshfast.check : Measure what a deduplication finds and misses.
    lshfast.recommend : Recommend shingles and a threshold for texts of a length.
    lshfast.LSHIndex : An index of signatures, in memory or in a file.
    lshfast.hf.dedup : Remove near-duplicate rows of a data set of Hugging Face.
    lshfast.spark.dedup : Remove near-duplicate rows of a DataFrame of Spark.

    References
    ----------
    A. Z. Broder, "On the resemblance and containment of documents", 1997; J. Leskovec, A.
    Rajaraman, J. D. Ullman, "Mining of Massive Datasets", chapter 3.

    Examples
    --------
    >>> import lshfast
    >>> result = lshfast.dedup(
    ...     [
    ...         "the cat sat on the mat today",
    ...         "The cat sat on the mat, today!",
    ...         "a dog",
    ...         "",
    ...     ],
    ...     keys=["a", "b", "c", "d"],
    ... )
    >>> result.keep.tolist()
    [True, False, True, True]
    >>> result.removed
    [Removal(key='b', kept_key='a', similarity=1.0)]

    Remove texts that longer texts contain:

    >>> page = "we moved our office to a bigger house near the station in May and invite you all"
    >>> lshfast.dedup([page[:50], page], measure="containment", size=2).removed
    [Removal(key=0, kept_key=1, similarity=0.9)]

    Sets instead of texts:

    >>> lshfast.dedup(
    ...     [{"red", "green", "blue"}, {"red", "green"}, {"white"}], threshold=0.6
    ... ).keep.tolist()
    [True, False, True]

    Remove the duplicates of each day's texts, and of the texts of all days before:

    >>> seen = lshfast.LSHIndex(shingles="word:5")
    >>> days = [
    ...     ["the cat sat on the mat today", "a dog"],
    ...     ["A dog!", "a bird sat there"],
    ... ]
    >>> for number, day in enumerate(days):
    ...     names = [f"{number}/{row}" for row in range(len(day))]
    ...     print(lshfast.dedup(day, keys=names, against=seen, add=True).removed)
    []
    [Removal(key='1/0', kept_key='0/1', similarity=1.0)]

    Remove what earlier texts have, by exact similarities:

    >>> lshfast.dedup(
    ...     ["a big dog sat here", "a bird sat there"],
    ...     against={"may/7": "A big dog sat there"},
    ...     threshold=0.3,
    ...     size=2,
    ... ).removed
    [Removal(key=0, kept_key='may/7', similarity=0.6)]
    """
    record = options_of("dedup", locals(), options)
    items = _items_of(texts, record)
    earlier = _earlier_of(against, add, items)
    if record.max_removed is not None:
        check_max_removed(record.max_removed)
    rows = _read_rows(items, keys, record.by)
    policy = keep if isinstance(keep, str) else "values"
    if policy != "first":
        check_keep(keep, rows.read, items.plan.measure)
    clock = Clock()
    request = Request(
        keep=None if policy == "first" else keep,
        against=earlier,
        exact_keys=_exact_keys_of(record.exact_key, rows.read),
        format_of=lambda: items.format,
        progress=progress,
    )
    part = items.kind.run([items.batch], items.plan, clock, request)
    if record.max_removed is not None:
        check_result(record.max_removed, part.result(clock, rows), rows.by)
    indexed = None
    index = _index_of(against) if add else None
    if index is not None:
        with clock.stage("index"):
            names = range(rows.read) if rows.keys is None else rows.keys
            indexed = items.kind.insert_kept(index, part, names)
    result: DedupResult = part.result(clock, rows, indexed)
    summary = result.summary
    if summary.advice or summary.limited:
        warn_of(summary.advice, summary.limits if summary.limited else None)
    return replace(result, options=result.options | {"keep": policy})


@takes_options("pairs")
def pairs(
    texts: Any,
    *,
    kind: Kind | None = None,
    threshold: float | None = None,
    unit: Unit = "word",
    size: int | None = None,
    copies: Literal["first", "all"] = "first",
    threads: int | None = None,
    exact: bool | None = None,
    measure: ItemMeasure | None = None,
    progress: Progress | None = None,
    **options: Unpack[PairOptions],
) -> npt.NDArray[np.void]:
    """Find all pairs of similar texts, sets, vectors or codes.

    Parameters
    ----------
    texts, kind, threshold, unit, size, exact, threads, progress
        As for `dedup`.
    measure : str, optional
        As for `dedup`. With "containment", the similarity of a pair is the share of the text with
        fewer shingles that the other text contains.
    copies : {"first", "all"}, default "first"
        With "first", an exact copy is paired only with the first row that has the same tokens. With
        "all", it is also paired with every row that this first row is paired with; a thousand
        copies then give half a million pairs.

    Returns
    -------
    ndarray of shape (m,) with fields i, j (int64, i < j) and similarity (float64)
        The pairs, sorted by (i, j); similarities are in [0, 1].

    Raises
    ------
    TypeError, ValueError
        As for `dedup`.

    Warns
    -----
    CrowdWarning, ShortTextsWarning, MixedFormsWarning, CodeTextsWarning, DecimalCodesWarning
        As for `dedup`.

    See Also
    --------
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.candidates : Find the pairs of rows that share a bucket.
    lshfast.exact.pairs : Find all similar pairs of sets, exactly.
    lshfast.hamming_pairs : Find all pairs of codes within a Hamming distance.

    Examples
    --------
    >>> import lshfast
    >>> lshfast.pairs(
    ...     ["one two three four", "two three four five", "One two three four."],
    ...     threshold=0.3,
    ...     size=2,
    ... )
    array([(0, 1, 0.5), (0, 2, 1. )],
          dtype=[('i', '<i8'), ('j', '<i8'), ('similarity', '<f8')])

    The most similar text of each text, without copies:

    >>> texts = ["a b c d e", "a b c d f", "a b c g h", "a b c d e"]
    >>> lshfast.pairs(texts, threshold=0.2, size=1, top=1, most=0.99).tolist()
    [(0, 1, 0.6666666666666666), (0, 2, 0.42857142857142855)]
    """
    items = _items_of(texts, options_of("pairs", locals(), options))
    if copies not in ("first", "all"):
        raise ValueError(f"copies must be 'first' or 'all', not {copies!r}")
    similar = items.kind.pairs(items, copies, progress)
    warn_of(similar.advice, similar.limited)
    return similar.pairs


def _items_of(source: Any, options: Options) -> ItemsInMemory:
    """Return the items of a caller, with the plan of a run over them."""
    kind_name = options.kind
    if kind_name is not None:
        check_kind(kind_name)
    source = collected(source)
    plan_options = options.picked(NAMES_OF_PLAN)
    kind = item_kind(kind_in_memory(source, kind_name))
    plan = plan_for(kind.name, plan_options)
    return kind.hold(source, plan, kind_name)


def _read_rows(items: ItemsInMemory, keys: Sequence[Any] | None, by: Any) -> ReadRows:
    """Return the rows of items with their keys and the values of `by`."""
    n = len(items.batch)
    names = None if keys is None else key_list(keys, n)
    values = None if by is None else value_codes(by, n)
    notes = {"advice": items.advice} if items.advice else {}
    return ReadRows(names, n, by=values, notes=notes)


def _exact_keys_of(keys: Any, n: int) -> Callable[[], UInt64Array] | None:
    """Return what returns the hashes of the exact keys of n rows; None without keys."""
    if keys is None:
        return None
    prints = ExactKeys(values_of_rows(keys, n, "exact_key")).prints
    return lambda: prints


def _index_of(against: Any) -> LSHIndex | None:
    """Return the index among earlier rows, None without one."""
    if against is None:
        return None
    from lshfast.index.lsh_index import as_lsh_index

    return as_lsh_index(
        against[0] if isinstance(against, tuple) and against else against
    )


def _earlier_of(against: Any, add: bool, items: ItemsInMemory) -> Any:
    """Return the earlier rows of a run as a `Request` has them; None without.

    Raises
    ------
    TypeError, ValueError
        If a run over the items cannot be compared with them; the error names the argument.
    """
    index = _index_of(against)
    if index is None and add:
        raise ValueError("add needs an index to add to: against=LSHIndex(...)")
    texts = against
    if index is not None:
        from lshfast.index.lsh_index import check_lsh_index

        check_lsh_index("against", index)
        items.kind.check_index(index, items.plan)
        texts = against[1:] if isinstance(against, tuple) else ()
        if not texts:
            return items.kind.earlier(index)
        if len(texts) != 1 or not isinstance(texts[0], Mapping):
            raise TypeError(
                "against must be an index and a mapping of its keys to texts: (index, {key: text})"
            )
        texts = texts[0]
    if texts is None:
        return None
    items.kind.check_earlier_texts(items.plan)
    return EarlierRowsOf(_held_earlier(texts, items), index)


def _held_earlier(texts: Any, items: ItemsInMemory) -> EarlierRowsRead:
    """Return earlier items of a caller, which have the kind of the items of the run."""
    keys: Sequence[Any] | None = None
    if isinstance(texts, Mapping):
        keys = list(texts)
        texts = list(texts.values())
    if isinstance(texts, (str, bytes)) or not isinstance(texts, (Iterable, Sized)):
        raise TypeError(
            "against must be an LSHIndex, texts or sets, or a mapping of keys to these, not "
            f"{texts!r}"
        )
    kind_name = items.kind.name
    try:
        earlier = items.kind.hold(collected(texts), items.plan, kind_name)
    except TypeError as error:
        raise TypeError(f"against: {error}") from None
    except ValueError as error:
        raise ValueError(f"against: {error}") from None

    def keys_of(rows: Int64Array) -> list[Any]:
        row_list: list[int] = rows.tolist()
        return row_list if keys is None else [keys[row] for row in row_list]

    return EarlierRowsRead([earlier.batch], keys_of, faults=_naming_against)


@contextmanager
def _naming_against() -> Iterator[None]:
    """Add the argument to the error of an earlier text."""
    try:
        yield
    except TextError as error:
        raise ValueError(f"against[{error.row}] {error.reason}") from None


def value_codes(by: Any, n: int) -> ValueCodes:
    """Return the values of `by`, or raise an error if there are not n of them."""
    return ValueCodes("value", values_of_rows(by, n, "by"))


def values_of_rows(source: Any, n: int, name: str) -> list[Any]:
    """Return n values as Python objects, or raise an error that names the argument."""
    try:
        values = objects_of(None if isinstance(source, (str, bytes)) else source, name)
    except TypeError:
        raise TypeError(
            f"{name} must be a sequence with one value per text, not {source!r}"
        ) from None
    if len(values) != n:
        raise ValueError(
            f"{name} must have one value per text: {n} values, not {len(values)}"
        )
    return values


def key_list(keys: Any, n: int) -> list[Any]:
    """Return n keys as Python objects; raise an error if two are equal or the number differs."""
    try:
        names = objects_of(keys, "keys")
    except TypeError:
        raise TypeError(
            f"keys must be a sequence with one key per text, not {keys!r}"
        ) from None
    if len(names) != n:
        raise ValueError(f"keys must have one key per text: {n} keys, not {len(names)}")
    row_of_key: dict[Any, int] = {}
    for row, key in enumerate(names):
        try:
            first = row_of_key.setdefault(key, row)
        except TypeError:
            raise TypeError(
                f"keys must be hashable, not {key!r}, that of texts[{row}]"
            ) from None
        if first != row:
            raise ValueError(
                f"keys must differ: {key!r} is the key of texts {first} and {row}"
            )
    return names
