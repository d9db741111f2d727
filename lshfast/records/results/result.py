"""The result of linking: links with their scores and parts, and the figures of the run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt

from lshfast._common.checks import check_bool, check_int
from lshfast._common.display import Figure, Shown, counted
from lshfast._common.types import Int64Array
from lshfast._common.visible import visible
from lshfast._io.pages.drawing import Drawing
from lshfast._io.pages.page import check_page, short, write_page
from lshfast.kernels.sets import components
from lshfast.records.choices import KEEP_RECORD, REVIEWED
from lshfast.records.results.display import fields_text, rules_text, weights_text
from lshfast.records.results.explain import explanation, verdict_of
from lshfast.records.results.merged import merged_columns
from lshfast.records.results.outlook import steps_text
from lshfast.records.results.overview import overview_text
from lshfast.records.results.page import drawing_of, page_of
from lshfast.records.results.run_view import Linked, RunView
from lshfast.records.tables.record_table import PairIds


@dataclass(frozen=True, repr=False)
class LinkResult(Linked, Shown):
    """The links between two tables, or the links within one.

    A terminal and a notebook show the figures.

    Attributes
    ----------
    i, j : ndarray of int64, shape (n,)
        The rows of the links, sorted by (i, j). Within one table, i < j.
    scores : ndarray of float64, shape (n,)
        Sums of the scores of the fields: log2 of likelihood ratios (bits), or points.
    probabilities : ndarray of float64, shape (n,), or None
        The probability that a pair is a match, given its score, by the estimated weights. For
        one-to-one links of two tables it also counts other pairs of the two records, and how many
        records are left without a match; it is at most about 1 / k if k pairs are equally good.
        None for points.
    parts : ndarray of float64, shape (n, fields)
        The score of each field.
    fields : list of CodedField
        The fields that are compared, with their kinds.
    weights : LinkWeights or None
        The estimated weights; None for points.
    rates : RateTable or None
        The rate of true matches at each score, if a field was held out.
    summary : LinkSummary
    options : LinkOptions
        The options of the run, with the assignment that was chosen.
    left_out : list of LeftOut
        The columns that are not compared because they number the records, and why.
    dependent : tuple of DependentField
        The fields that are not compared because they follow from others.
    unpaired : (list of str, list of str)
        The columns of each table that are not compared because the other has none of their name.
    labels : PairLabels
        The marks of people that bind the links.

    See Also
    --------
    lshfast.records.match_records : Link the records of two tables.
    lshfast.records.dedup_records : Find the records of one table that are the same.
    lshfast.records.LinkSummary : The figures of a run.
    """

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        advice = "explain(link) shows one of them, explain_pair(id_a, id_b) any pair"
        warnings = self.summary.warnings
        if warnings:
            advice += f"; summary has {counted(len(warnings), 'warning')}"
        return (
            f"LinkResult of {counted(len(self), 'link')}",
            self.summary.figures(),
            advice,
        )

    def keys(self, links: slice = slice(None)) -> tuple[list[Any], list[Any]]:
        """Return the ids of both records of each link, or of some links."""
        first, second = (table.ids for table in self.tables)
        keys_a = [first[row] for row in self.i[links].tolist()]
        keys_b = [second[row] for row in self.j[links].tolist()]
        return keys_a, keys_b

    def pairs(self) -> list[tuple[Any, Any]]:
        """Return the ids of the links as tuples."""
        return list(zip(*self.keys(), strict=True))

    def columns(
        self, links: slice = slice(None)
    ) -> dict[str, npt.NDArray[Any] | list[Any]]:
        """Return the links, or some, as columns of a table.

        These are ids, score, probability, and the score of each field. Scores are rounded to four
        decimals.
        """
        first, second = self.keys(links)
        columns: dict[str, npt.NDArray[Any] | list[Any]] = {
            "id_a": first,
            "id_b": second,
            "score": self.scores[links].round(4),
        }
        if self.probabilities is not None:
            columns["probability"] = self.probabilities[links].round(6)
        for place, name in enumerate(self.names):
            columns[f"score_{name}"] = self.parts[links, place].round(4)
        return columns

    def groups(self, *, closure: bool = False) -> Int64Array:
        """Return for each row of one table the smallest row of its group.

        Links connect rows. A chain of links that the scores of other pairs in it contradict is cut:
        groups are joined if the mean evidence of the pairs between them is above the threshold; see
        `lshfast.records.links.clusters`.

        Parameters
        ----------
        closure : bool, default False
            Whether chains are never cut: all rows that links and chains of links connect are one
            group, but for pairs that are marked different.

        Raises
        ------
        ValueError
            If two tables were linked.
        """
        if self.summary.clusters is None:
            raise ValueError(
                "groups are those of one table; these links are between two tables"
            )
        if check_bool("closure", closure):
            chains = components(self.i, self.j, len(self.tables[0]))
            return self.labels.bind_groups(chains, self.i, self.j, self.scores)
        return self.summary.clusters.labels

    def explain(self, link: int) -> str:
        """Return one link as lines of text: both values of each field, and how they compare."""
        if not -len(self) <= link < len(self):
            raise IndexError(
                f"link must be in {-len(self)}..{len(self) - 1}, not {link}"
            )
        view = self._view
        return explanation(view, view.link(range(len(self))[link]))

    def explain_pair(self, id_a: Any, id_b: Any) -> str:
        """Return why two records were linked or not, as lines with their values and scores.

        The pair was not a candidate of a blocking rule, its score is below the threshold, other
        links of its records were better, or it was linked. The score is computed in any case.

        Parameters
        ----------
        id_a, id_b : str or int
            The ids of a record of the first and of the second table; of one table, of any two
            records. A string is also the id that is written so, such as "7" for the integer 7.
            Without a column of ids, they are row numbers.

        Raises
        ------
        ValueError
            If no record has one of the ids, or both are the same record.

        Examples
        --------
        >>> from lshfast.records import match_records
        >>> a = {"name": ["Ann Lee", "Eve Stone"], "born": ["1980-05-01", "1971-11-30"]}
        >>> b = {"name": ["Anne Lee", "Eve Orr"], "born": ["1980-05-01", "1990-09-09"]}
        >>> print(match_records(a, b, scoring="points").explain_pair(1, 1))
        1 - 1: 84.00 points
          not linked: the score is below the threshold of 150.00
          compared because of all
          name                  +84.00  4 edits: 'Eve Stone' | 'Eve Orr'
          born                   +0.00  6858 edits: '1971-11-30' | '1990-09-09'
        """
        rows = PairIds(self._scored.linkage.tables).rows_of(id_a, id_b)
        view = self._view
        pair = view.pair(rows)
        return explanation(view, pair, verdict_of(view, pair))

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        texts: bool = True,
        title: str | None = None,
        command: str = "",
        overwrite: bool = False,
    ) -> None:
        """Write a page that shows what was found: no scripts, and nothing from elsewhere.

        It has the scores and what another threshold would change, the weights of the fields, the
        pairs of the blocking rules, some links with the values of both records, and the largest
        groups of one table.

        Parameters
        ----------
        path, overwrite
            As for `lshfast.DedupResult.to_html`.
        texts : bool, default True
            Whether values of records are shown. Ids are shown in any case.
        title : str, optional
            The title of the page; by default, it names the tables.
        command : str
            A command that repeats the run, which the page shows.

        Raises
        ------
        ImportError, ValueError, OSError
            As for `lshfast.DedupResult.to_html`.

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast.records import dedup_records
        >>> path = os.path.join(tempfile.mkdtemp(), "page.html")
        >>> dedup_records({"name": ["Ann Lee", "Anne Lee"]}, scoring="points").to_html(
        ...     path
        ... )
        >>> os.path.getsize(path) > 5000
        True
        """
        check_page(path)
        write_page(
            path, self.page(texts=texts, title=title, command=command), overwrite
        )

    def plot(self) -> Drawing:
        """Draw the scores of links and of pairs below the threshold, and what each field added.

        If there was a held-out field, the rate of true matches by score is drawn, too.

        Returns
        -------
        Drawing
            A notebook shows it; ``save("scores.svg")`` writes it.

        Raises
        ------
        ImportError
            If jinja2 is not installed (``pip install "lshfast[cli]"``); matplotlib is not needed.

        Examples
        --------
        >>> from lshfast.records import dedup_records
        >>> dedup_records({"name": ["Ann Lee", "Anne Lee"]}, scoring="points").plot()
        <Drawing: Links, and pairs below the threshold, by score; The mean score of each field in
        the links>
        """
        return drawing_of(self._view)

    def page(
        self, *, texts: bool = True, title: str | None = None, command: str = ""
    ) -> str:
        """Return the page that `to_html` writes."""
        if title is None:
            first, second = (short(table.name) for table in self.tables)
            title = f"Links between {first} and {second}"
            if self.single:
                title = f"Duplicates in {first}"
        return page_of(self._view, title=title, command=command, texts=texts)

    def review(self, most: int = REVIEWED) -> dict[str, list[Any]]:
        """Return the pairs nearest to the threshold, for a person to mark, as columns of a table.

        Parameters
        ----------
        most : int, default 100
            Links just above the threshold, and pairs just below it that a lower one would link: of
            each at most so many.

        Returns
        -------
        dict of str to list
            ``answer`` (None), ``id_a``, ``id_b``, ``linked`` (bool), ``score``, ``probability``
            (not for points), and for each field ``a.NAME`` and ``b.NAME``, or ``b.NAME=OTHER`` if
            its column has another name in the second table, as strings or None. The greatest score
            comes first. Pairs that are marked already are left out. With answers "same" and
            "different", the table is the argument `labels` of the next run.

        Examples
        --------
        >>> from lshfast.records import match_records
        >>> a = {"name": ["Ann Lee", "Eve Stone"], "born": ["1980-05-01", "1971-11-30"]}
        >>> b = {"name": ["Anne Lee", "Eve Orr"], "born": ["1980-05-01", "1990-09-09"]}
        >>> match_records(a, b, scoring="points").review()["a.name"]
        ['Ann Lee']
        """
        return self._view.review(check_int("most", most, 1))

    def merged(self, keep_record: str = KEEP_RECORD) -> dict[str, list[Any]]:
        """Return one list of all records: a row for each entity, and for each unlinked record.

        An entity is a group of one table, or all records of two tables that links connect.

        Parameters
        ----------
        keep_record : str, default "most-complete"
            Which record of a table a row has the values of, if its entity has several:
            "most-complete", the one with the most values; "newest:COLUMN", the one with the latest
            date or the greatest number in a column, and the most values if these are equal; or
            "first". The first one in the table is kept if the rule prefers none.

        Returns
        -------
        dict of str to list
            Of one table: ``id`` of the kept record, ``ids`` of all records of the group (a list,
            the kept one first), ``records``, their number, and the columns of the table. Names that
            the table has get a ``_``. Of two tables: ``id_a`` and ``id_b``, ``a.NAME`` and
            ``b.NAME`` for the columns of both, with None where an entity has no record of a table;
            also ``ids_a`` and ``ids_b``, all ids as lists, unless links are one to one.

        Raises
        ------
        ValueError
            If there is no such rule or column, or the column has neither dates nor numbers.

        Examples
        --------
        >>> from lshfast.records import dedup_records
        >>> people = {
        ...     "name": ["Ann Lee", "Eve Stone", "Anne Lee"],
        ...     "phone": [None, "555 0100", "555 0199"],
        ... }
        >>> merged = dedup_records(people, fields=["name"], scoring="points").merged()
        >>> merged["ids"], merged["name"]
        ([[2, 0], [1]], ['Anne Lee', 'Eve Stone'])
        """
        return merged_columns(self, keep_record)

    @cached_property
    def _view(self) -> RunView:
        return RunView(self, self._scored)

    def overview(self, width: int = 80) -> str:
        """Return the links in sentences, other thresholds, and the most doubtful pairs, as text.

        Parameters
        ----------
        width : int, default 80
            The most columns of a line, but for the sentences.

        Examples
        --------
        >>> from lshfast.records import dedup_records
        >>> print(
        ...     dedup_records(
        ...         {"name": ["Ann Lee", "Anne Lee"]}, scoring="points"
        ...     ).overview()
        ... )
        2 of 2 records of a are linked, in 1 group.
        <BLANKLINE>
        threshold    links
        73.75            1
        75.00 (now)      1
        76.25            1
        <BLANKLINE>
        the most doubtful pairs (--review FILE writes more of them):
          99.00  0  Ann Lee
          link   1  Anne Lee
        """
        return overview_text(self._view, check_int("width", width, 20))

    def describe(self) -> str:
        """Return the fields, weights, blocking rules and other thresholds as lines of text."""
        parts = [
            fields_text(self),
            rules_text(self.summary.rules, self.summary.reach),
        ]
        if self.weights is not None:
            parts.insert(1, weights_text(self.weights))
        if self.summary.telling_steps:
            parts.append(steps_text(self.summary.telling_steps))
        return visible("\n\n".join(parts), lines=True)
