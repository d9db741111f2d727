"""What a search for shared passages returns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.display import Figure, Shown, counted
from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.types import BoolArray, Int64Array
from lshfast._engine.clock import Stage
from lshfast._io.pages.page import check_page, write_page
from lshfast.kernels import passages
from lshfast.kernels.text import Texts
from lshfast.passages.page import FileRow, PageSide, page_of, unlisted_figures
from lshfast.passages.pairs import TextPairs, text_pairs
from lshfast.passages.places import Places, all_places
from lshfast.passages.plan import PassagePlan
from lshfast.passages.run import FoundPassages
from lshfast.passages.spans import Cuts, Ranges, Spans, union_of


class Passage(NamedTuple):
    """Describe a passage that two texts share.

    Attributes
    ----------
    i, j : int
        The texts, as row numbers. Within one corpus, i <= j, and the passage of j is the later one.
        In a search against other texts, i is a text and j one of the others.
    units : int
        Its length in words or characters.
    i_start, i_end, j_start, j_end : int
        The characters that it takes in each text: from start to end - 1.
    text : str
        The passage as it stands in text j.

    See Also
    --------
    lshfast.passages.SharedPassages : All passages that were found.
    lshfast.passages.find : Find the passages that texts share.

    Examples
    --------
    >>> from lshfast import passages
    >>> list(passages.find(["one two three four", "zero, one, TWO, three"], length=3))
    [Passage(i=0, j=1, units=3, i_start=0, i_end=13, j_start=6, j_end=21, text='one, TWO, three')]
    """

    i: int
    j: int
    units: int
    i_start: int
    i_end: int
    j_start: int
    j_end: int
    text: str


class SharedPassages(Shown):
    """The passages that texts share. A terminal and a notebook show the figures.

    Iterating yields `Passage`. `find` creates it.

    Attributes
    ----------
    spans : structured ndarray of shape (m,)
        One row a passage, sorted by (i, i_unit, j, j_unit), all int64: ``i``, ``j``, ``units`` as
        for `Passage`; ``i_unit``, ``j_unit``, its first word or character in each text, from 0;
        ``i_start``, ``i_end``, ``j_start``, ``j_end`` in characters, and ``i_start_byte``,
        ``i_end_byte``, ``j_start_byte``, ``j_end_byte`` in bytes of UTF-8.
    cuts : structured ndarray of shape (c,)
        ``row``, ``start``, ``end``, int64, sorted: the bytes of the texts that `without_copies`
        leaves out, which `remove` and `more_than` of the search decide.
    units : int64 array of shape (n,)
        Words or characters of each text; 0 for texts with fewer than `length`, which have no
        passages.
    covered : int64 array of shape (n,)
        How many of them are in a later copy of a passage; in a search against other texts, in a
        passage.
    against_units, against_covered : int64 array of shape (k,), or None
        The same for the other texts, in a search against others.
    pairs : structured ndarray of shape (p,)
        One row a pair of different texts that share passages of `spans`, the greatest share of one
        of the two texts first: ``i`` and ``j``; ``passages``, their number; ``i_units`` and
        ``j_units``, the words or characters of each text in these, and ``i_share`` and ``j_share``,
        the parts of the texts that they are, float64 in [0, 1]; ``longest``, the words or
        characters of the longest passage, and ``span``, its number in `spans`; ``texts``, the
        number of texts that share exactly this passage, and ``first``, the first of them (in a
        search against other texts, the first of these). All others int64.
        Neither text is taken for the source of the other. Of a passage at more than `most_copies`
        places, each text is paired with the first one that has it.
    unlisted, against_unlisted : int64 array of shape (n,), and of shape (k,) or None
        How many of the covered words or characters are in no passage of `spans`, since all runs
        that cover them occur at more than `most_copies` places, of which the first is listed.
    plan : PassagePlan
        The parameters of the search.
    stages : dict of str to Stage
        The seconds and bytes of text of each stage.

    See Also
    --------
    lshfast.passages.find : Find the passages that texts share.
    lshfast.passages.Passage : One of the passages.
    """

    spans: Spans
    cuts: Cuts
    units: Int64Array
    covered: Int64Array
    against_units: Int64Array | None
    against_covered: Int64Array | None
    plan: PassagePlan
    stages: dict[str, Stage]

    def __init__(self, passages: FoundPassages, plan: PassagePlan) -> None:
        self.spans = passages.spans
        self.cuts = passages.cuts
        self.units = passages.units
        self.covered = passages.covered
        self._cut = passages.cut
        self.against_units = passages.other_units
        self.against_covered = passages.other_covered
        self.plan = plan
        self.stages = passages.stages
        self._held = passages.held
        self._held_side = passages.held_side
        self._held_ranges = passages.held_ranges
        self._first_cuts = np.searchsorted(
            self.cuts["row"], int64_range(len(self.units) + 1)
        )

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        plan = self.plan
        units = int(self.units.sum())
        covered = int(self.covered.sum())
        kind = "copies" if self.against_covered is None else "passages"
        figures = [
            Figure(
                "passages",
                f"{len(self):,}",
                f"of at least {plan.length:,} {plan.unit}s",
            ),
            Figure(
                "texts",
                f"{len(self.units):,}",
                f"too short: {int((self.units == 0).sum()):,}",
            ),
            Figure(
                "sharing", f"{int((self.covered > 0).sum()):,}", f"texts with {kind}"
            ),
            Figure(
                f"{plan.unit}s",
                f"{units:,}",
                f"in {kind}: {covered:,}, {covered / units:.2%}" if units else "",
            ),
        ]
        if self.against_covered is not None:
            shared = f"that share a passage: {int((self.against_covered > 0).sum()):,}"
            figures.append(
                Figure("others", f"{len(self.against_covered):,}", f"texts {shared}")
            )
        figures += unlisted_figures(self)
        return f"SharedPassages of {counted(len(self.units), 'text')}", figures, ""

    def __len__(self) -> int:
        return len(self.spans)

    def places(self, side: str) -> Ranges:
        """Return the ranges of units of the texts i or j that passages cover, listed or not."""
        return (
            self._held_ranges if side == self._held_side else self._listed_places(side)
        )

    @cached_property
    def pairs(self) -> TextPairs:
        return text_pairs(self.spans, self.units, self.against_units)

    @cached_property
    def unlisted(self) -> Int64Array:
        return self.covered - self._listed("j" if self.against_units is None else "i")

    @cached_property
    def against_unlisted(self) -> Int64Array | None:
        return (
            None
            if self.against_covered is None
            else self.against_covered - self._listed("j")
        )

    def _listed(self, side: str) -> Int64Array:
        """Return how many units of each text of a side are in passages that are listed."""
        return self._listed_places(side).units(len(self._units_of(side)))

    def _listed_places(self, side: str) -> Ranges:
        spans = self.spans
        return union_of(
            self._units_of(side), spans[side], spans[f"{side}_unit"], spans["units"]
        )

    def _units_of(self, side: str) -> Int64Array:
        return (
            self.units
            if side == "i" or self.against_units is None
            else self.against_units
        )

    def all_places(self) -> Places:
        """Return all places of each passage that texts share with each other.

        `spans` has pairs of places, and a passage inside of a longer one is in several of them.

        Returns
        -------
        structured ndarray of shape (m,)
            One row a place, all int64: ``passage``, the number of the passage, from the one with
            most places on (of equally many, the longest first); ``span``, a span in `spans` with
            its text; ``row``, the text; ``unit`` and ``units``, its first word or character and
            their number; ``start``, ``end`` in characters, and ``start_byte``, ``end_byte``. Sorted
            by passage, row and unit.

        Raises
        ------
        ValueError
            After a search against other texts, in which `spans` has all places in the texts.

        Examples
        --------
        >>> from lshfast import passages
        >>> found = passages.find(["a b c d e", "x a b c d y", "now a b c"], length=3)
        >>> for place in found.all_places():
        ...     text = found.texts(place["span"].reshape(1))[0]
        ...     print(place["passage"], text, place["row"], place["start"])
        0 a b c 0 0
        0 a b c 1 2
        0 a b c 2 4
        1 a b c d 0 0
        1 a b c d 1 2
        """
        if self.against_units is not None:
            raise ValueError(
                "all_places is for a search within texts: after one against other texts, `spans` "
                "has all places in the texts"
            )
        return all_places(self.spans, self._held, self.units, self.plan)

    def __iter__(self) -> Iterator[Passage]:
        for rows in parts_of_rows(len(self.spans), 1024):
            part = self.spans[rows]
            columns = [part[name].tolist() for name in Passage._fields[:-1]]
            for row, text in zip(
                zip(*columns, strict=True),
                self.texts(rows),
                strict=True,
            ):
                yield Passage._make((*row, text))

    def texts(self, which: slice | Int64Array = slice(None)) -> list[str]:
        """Return some of the passages as they are in the texts j, or i if only these are stored.

        Parameters
        ----------
        which : slice or ndarray of int64
            Numbers of spans; all by default.
        """
        part = self.spans[which]
        rows, starts, ends = (
            np.ascontiguousarray(part[f"{self._held_side}{name}"])
            for name in ("", "_start_byte", "_end_byte")
        )
        return [
            data.decode() for data in passages.slices(self._held, rows, starts, ends)
        ]

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        searched: Any = None,
        texts: bool = True,
        title: str = "Shared passages",
        command: str = "",
        overwrite: bool = False,
    ) -> None:
        """Write a page that shows what was found: no scripts, and nothing from elsewhere.

        It has how much of the texts passages cover, where they lie, and some texts beside each
        other.

        Parameters
        ----------
        path, title, overwrite
            As for `lshfast.DedupResult.to_html`.
        searched : sequence of str or bytes, or Arrow column, optional
            After a search against other texts: the texts that were searched. Without them, only the
            others are shown.
        texts : bool, default True
            Whether texts are shown.
        command : str
            A command that repeats the search, which the page shows.

        Raises
        ------
        ImportError, OSError
            As for `lshfast.DedupResult.to_html`.
        ValueError
            As there, or if there are not as many texts as were searched.

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast.passages import find
        >>> path = os.path.join(tempfile.mkdtemp(), "passages.html")
        >>> find(
        ...     ["one two three four five", "zero one two three four"], length=4
        ... ).to_html(path)
        >>> os.path.getsize(path) > 5000
        True
        """
        check_page(path)
        side = PageSide(texts=partial(_texts_of, self._held))
        first = (
            side if self.against_units is None or self._held_side == "i" else PageSide()
        )
        if searched is not None:
            column = Texts(searched)
            if len(column) != len(self.units):
                raise ValueError(
                    f"{len(self.units)} texts were searched, not {len(column)}"
                )
            first = PageSide(texts=partial(_texts_of, column))
        second = side if self._held_side == "j" else PageSide()
        write_page(
            path,
            self.page((first, second), texts=texts, title=title, command=command),
            overwrite,
        )

    def page(
        self,
        sides: tuple[PageSide, PageSide],
        *,
        texts: bool = True,
        title: str = "Shared passages",
        command: str = "",
        files: Sequence[FileRow] = (),
    ) -> str:
        """Return a page, see `lshfast.passages.page.page_of`."""
        account = self._shown()[1]
        return page_of(
            self,
            sides,
            title=title,
            account=account,
            files=files,
            command=command,
            texts=texts,
        )

    @property
    def emptied(self) -> BoolArray:
        """Whether all words or characters of a text are cut, bool (n,)."""
        emptied: BoolArray = (self._cut == self.units) & (self.units > 0)
        return emptied

    def without_copies(self, texts: Any) -> list[str]:
        """Return texts without later copies of passages.

        After a search against other texts, all their passages are removed. After a search with
        ``remove="all"``, all copies are, the first ones too; with ``more_than``, only those of runs
        that occur at more places.

        What is left out begins with the first word of a passage and ends where the next word begins
        that is in no passage, or with the text.

        Parameters
        ----------
        texts : sequence of str or bytes, or Arrow column
            The texts that were searched.

        Raises
        ------
        ValueError
            If their number or lengths are not those of the texts that were searched.

        Examples
        --------
        >>> from lshfast import passages
        >>> texts = ["One two three. Four.", "Five! One, two, three (and six)."]
        >>> passages.find(texts, length=3).without_copies(texts)
        ['One two three. Four.', 'Five! and six).']
        """
        column = Texts(texts)
        if len(column) != len(self.units):
            raise ValueError(
                f"{len(self.units)} texts were searched, not {len(column)}"
            )
        return [
            self.without_cuts(row, column[row]).decode() for row in range(len(column))
        ]

    @property
    def shortened(self) -> BoolArray:
        """Whether a text changes without what is cut, bool (n,)."""
        return self._cut > 0

    def without_cuts(self, row: int, text: bytes) -> bytes:
        """Return the text of a row without its cuts.

        Raises
        ------
        ValueError
            If the text is shorter than the one that was searched.
        """
        first = self._first_cuts[row]
        last = self._first_cuts[row + 1]
        if first == last:
            return text
        cuts = self.cuts[first:last]
        if cuts["end"][-1] > len(text):
            raise ValueError(
                f"text {row} has {len(text)} bytes: it is not the one that was searched"
            )
        starts = [0, *cuts["end"].tolist()]
        ends = [*cuts["start"].tolist(), len(text)]
        return b"".join(
            text[start:end] for start, end in zip(starts, ends, strict=True)
        )


def _texts_of(column: Texts, rows: Int64Array) -> dict[int, str]:
    return {row: column[row].decode("utf-8", "replace") for row in rows.tolist()}
