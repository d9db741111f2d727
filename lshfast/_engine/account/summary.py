"""The figures of a deduplication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from lshfast._common.choices import ItemMeasure, Kind, NormalForm, PairMeasure
from lshfast._common.display import Figure, counted, figure
from lshfast._engine.account.display import (
    SIMILARITY_KINDS,
    SIMILARITY_NAMES,
    Account,
    contents_of,
    empty_note,
    groups_figure,
    normal_form_figures,
    place_of_recall,
)
from lshfast._engine.plan import Verify

if TYPE_CHECKING:
    from lshfast._engine.account.by_value import RemovedBy
    from lshfast._engine.account.crowds import Limited
    from lshfast._engine.account.earlier import EarlierFigures
    from lshfast._engine.clusters.lasting import ClusterFigures

INDEXED = "kept rows that are new or replaced in the index"
IGNORED = "different shingles that are common and did not count"


@dataclass(frozen=True, repr=False, kw_only=True)
class Summary(Account):
    """Hold the figures of a deduplication.

    Two summaries are equal if all attributes except `candidates`, `index_change`, `stages` and
    `seconds` are equal. A notebook shows a table.

    Attributes
    ----------
    read, kept, removed, rejected, empty : int
        Numbers of rows. read = kept + removed + rejected. Empty rows have no shingles, or no item,
        and are kept.
    earlier : int
        Rows that were removed for an earlier entry of an index, or for an earlier row. `copies`,
        `candidates`, `pairs`, `groups` and `largest_group` describe the other rows.
    earlier_verify : {"exact", "signature", "none", ""}
        How rows were compared with earlier ones, as `verify`: an index alone allows estimates, and
        texts of earlier rows allow exact similarities. "" if no row was removed for an earlier one
        and no earlier texts were read.
    earlier_texts : EarlierFigures or None
        The earlier rows whose texts were read; None without.
    same_key : int
        Rows that were removed because they have the exact key of a row that is preferred to them,
        whatever their items. `copies`, `candidates` and `pairs` describe the other rows.
    copies : int
        Rows with exactly the same tokens as an earlier row.
    candidates : int
        Pairs that were compared. Where rows are short, or many share buckets, hashes under the key
        of the run decide which pairs need no comparison, so this figure can differ a little from
        run to run. With `memory`, the pairs of rows that are ruled out before the second reading
        are not counted.
    pairs : int
        Similar pairs in `DedupResult.pairs`.
    groups : int
        Groups of two or more rows.
    largest_group : int
        Rows in the largest group.
    bands, rows_per_band : int
        b and r of the banding; 0 for an exact join.
    recall : float
        Probability, in (0, 1], that a pair whose similarity equals the threshold is found; with
        containment, a pair of sets of one size.
    verify : {"exact", "signature", "none"}
        Kind of the similarities: exact, estimated, or estimated without a comparison with the
        threshold.
    measure : {"jaccard", "containment", "cosine", "angle", "euclidean", "manhattan", "hamming"}
        What the similarities, or distances, are.
    stages : dict of str to Stage
        Seconds and bytes of each stage. With several threads, reading and sketching overlap; for
        each, the time that the run waited for it is counted.
    seconds : float
        Time from the first row to the last group, in seconds.
    indexed : int or None
        Entries of the index that are new or replaced; None if no rows were inserted into an index.
    index_change : str
        What the run did with the files of indexes, such as adding the kept rows to one, or
        replacing one; "" without.
    advice : str
        Better shingles (see `recommend`) if most texts are too short for those of the run;
        otherwise "".
    delimiters : dict of str to str
        The delimiters of CSV and TSV inputs that are not the comma, or the tab of TSV, by the names
        of the files.
    unread : dict of str to int
        How many files of folders were not read, by the end of their names, such as ".docx"; ""
        stands for none.
    lines : dict of str to int
        Files that were read as one text each and may have a text on each line, with their numbers
        of lines.
    normalize : {"none", "NFC", "NFKC"}
        The normal form of Unicode in which texts were compared.
    ignored_shingles : int or None
        Different shingles that did not count because they are common; None without `ignore_common`.
    max_candidates, limited, left_out : int or None
        The limit of candidates; the rows that had more; and about how many comparisons of these
        were left out, where a pair counts in each bucket that it shares. None without
        `max_candidates`.
    top, most : int or None, float or None
        Which pairs are listed and counted in `pairs`; None for all.
    by : RemovedBy or None
        The rows of each value of the column of `by`; None without it.
    clusters : ClusterFigures or None
        What has changed in groups with lasting ids; None without `clusters`.
    items : {"text", "set", "weighted", "vector", "code"}
        The kind of the items.

    Raises
    ------
    RuntimeError
        If `read` is not kept + removed + rejected.

    See Also
    --------
    lshfast.DedupResult : What a deduplication returns.
    lshfast.dedup : Remove near-duplicates from texts in memory.

    Examples
    --------
    >>> import lshfast
    >>> summary = lshfast.dedup(["one two three", "One, two, three!", ""]).summary
    >>> summary.read, summary.kept, summary.removed, summary.empty
    (3, 2, 1, 1)
    """

    AFTERWARDS: ClassVar[tuple[str, ...]] = "write", "save"

    kept: int
    removed: int
    empty: int
    copies: int
    candidates: int = field(compare=False)
    pairs: int
    groups: int
    largest_group: int
    bands: int
    rows_per_band: int
    recall: float
    verify: Verify
    earlier: int = 0
    earlier_verify: Verify | Literal[""] = ""
    earlier_texts: EarlierFigures | None = None
    same_key: int = 0
    indexed: int | None = None
    index_change: str = field(default="", compare=False)
    measure: ItemMeasure = "jaccard"
    normalize: NormalForm = "none"
    ignored_shingles: int | None = None
    max_candidates: int | None = None
    limited: int | None = None
    left_out: int | None = None
    top: int | None = None
    most: float | None = None
    by: RemovedBy | None = None
    clusters: ClusterFigures | None = None
    items: Kind = "text"

    @property
    def limits(self) -> Limited | None:
        """The rows that had too many candidates; None if the run had no limit."""
        if self.max_candidates is None:
            return None
        from lshfast._engine.account.crowds import Limited

        return Limited(self.max_candidates, self.limited or 0, self.left_out or 0)

    def figures(self, removing: bool = True) -> Iterator[Figure]:
        """Yield the lines of a table; the lines about removed rows only if `removing`."""
        yield from self._row_figures(removing)
        yield from self._pair_figures(removing)
        yield from normal_form_figures(self.normalize)
        if self.ignored_shingles is not None:
            yield figure("ignored", self.ignored_shingles, IGNORED)
        if self.limits is not None:
            yield figure("limited", self.limits.rows, self.limits.note)
        if removing and self.by is not None:
            yield from self.by.figures()

    def _row_figures(self, removing: bool) -> Iterator[Figure]:
        """Yield what became of the rows."""
        copies = counted(self.copies, "exact copy", "exact copies")
        of_earlier = f"{copies} of earlier rows" if self.copies else ""
        yield figure(
            "read",
            self.read,
            empty_note(self.empty, self.measure, self.items),
            of_earlier,
        )
        if removing:
            yield figure("kept", self.kept)
            yield figure("removed", self.removed, self._key_note, self._earlier_note)
            if self.earlier_texts is not None:
                yield from self.earlier_texts.figures()
        yield figure("rejected", self.rejected)
        if removing:
            yield figure("", "", f"{self.parts} = {self.read:,} read")
        if self.indexed is not None:
            yield figure("indexed", self.indexed, self.index_change or INDEXED)

    def _pair_figures(self, removing: bool) -> Iterator[Figure]:
        """Yield how many pairs and groups there are, and how they were found."""
        kind = f"{SIMILARITY_NAMES[self.measure]}: {SIMILARITY_KINDS[self.verify]}"
        yield figure("candidates", self.candidates)
        yield figure("pairs", self.pairs, *self._pair_notes, kind)
        # A run on Spark that finds pairs only has no groups.
        if removing or self.largest_group:
            yield groups_figure(self.groups, self.largest_group, "row")
        if self.clusters is not None:
            yield from self.clusters.figures()
        if self.bands:
            of_candidates = " of candidates, before estimates are compared,"
            of = of_candidates if self.verify == "signature" else ""
            recall = f"recall{of} {place_of_recall(self.measure, self.items)}: {self.recall:.4f}"
            yield figure("bands x rows", f"{self.bands} x {self.rows_per_band}", recall)
        else:
            yield figure("join", "exact", "every similar pair is found")

    @property
    def near_duplicates(self) -> int:
        """Rows that were removed because they are similar to a row of the run, and no copies."""
        return self.removed - self.copies - self.earlier - self.same_key

    @property
    def _key_note(self) -> str:
        """The rows that were removed by their exact keys."""
        if not self.same_key:
            return ""
        return f"{self.same_key:,} of them with the key of another row"

    @property
    def _earlier_note(self) -> str:
        """The rows that were removed for an earlier entry."""
        if not self.earlier:
            return ""
        note = f"{self.earlier:,} of them for an earlier entry"
        if self.measure not in get_args(PairMeasure):
            return note
        if self.earlier_verify != "exact":
            note += ", by estimates"
            if self.earlier_verify == "signature":
                note += ", which miss about half of the rows exactly at the threshold"
            if self.earlier_texts is None:
                note += "; with their file in --against too, exactly"
            return note
        note += ", by exact similarities"
        estimated = 0 if self.earlier_texts is None else self.earlier_texts.estimated
        return note + (f", {estimated:,} by estimates" if estimated else "")

    @property
    def _pair_notes(self) -> tuple[str, str, str]:
        """The bound, the number for a row, and the copies of the listed pairs, each may be ""."""
        most = "" if self.most is None else f"of at most {self.most:g}"
        top = (
            ""
            if self.top is None
            else f"those with the {self.top} most similar of a row"
        )
        lists_copies = self.copies and self.most in (None, 1)
        return most, top, f"{self.copies:,} with exact copies" if lists_copies else ""

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        return "Summary", short_figures(self), self.advice


def short_figures(s: Summary) -> Iterator[Figure]:
    """Yield the lines of the table; counts that are 0 in most runs are omitted if they are 0."""
    yield Figure(
        "read", f"{s.read:,}", f"without {contents_of(s.measure, s.items)}: {s.empty:,}"
    )
    yield Figure("kept", f"{s.kept:,}")
    earlier = f"; for earlier entries: {s.earlier:,}" if s.earlier else ""
    same_key = f"; with the key of another row: {s.same_key:,}" if s.same_key else ""
    copies = f"copies of earlier rows: {s.copies:,}"
    yield Figure("removed", f"{s.removed:,}", f"{copies}{same_key}{earlier}")
    if s.earlier_texts is not None:
        yield from s.earlier_texts.figures()
    if s.rejected:
        yield Figure("rejected", f"{s.rejected:,}")
    if s.indexed is not None:
        yield Figure("indexed", f"{s.indexed:,}", s.index_change or INDEXED)
    kind = f"{SIMILARITY_NAMES[s.measure]}: {SIMILARITY_KINDS[s.verify]}"
    yield Figure("pairs", f"{s.pairs:,}", f"{kind}; candidates: {s.candidates:,}")
    yield Figure("groups", f"{s.groups:,}", f"rows of the largest: {s.largest_group:,}")
    if s.clusters is not None:
        yield from s.clusters.figures()
    if s.bands:
        recall = f"recall {place_of_recall(s.measure, s.items)}: {s.recall:.4f}"
        yield Figure("bands x rows", f"{s.bands} x {s.rows_per_band}", recall)
    else:
        yield Figure("join", "exact", "every similar pair is found")
    yield from normal_form_figures(s.normalize)
    if s.ignored_shingles is not None:
        yield Figure("ignored", f"{s.ignored_shingles:,}", IGNORED)
    if s.limits is not None:
        yield Figure("limited", f"{s.limits.rows:,}", s.limits.note)
    if s.by is not None:
        yield from s.by.figures()
    yield from s.input_figures()
    yield Figure("seconds", f"{s.seconds:,.2f}")
