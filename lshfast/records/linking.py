"""Link the records of two tables, or the duplicates within one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lshfast._common.progress import Progress
from lshfast.records.link_run import LinkRun
from lshfast.records.options import LinkOptions, takes_link_options
from lshfast.records.results.result import LinkResult
from lshfast.records.tables.record_table import RecordTable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lshfast.records.options import LinkOptionTypes


@takes_link_options
def match_records(
    a: Any,
    b: Any,
    *,
    id_column: str | tuple[str, str] | None = None,
    progress: Progress | None = None,
    **options: Unpack[LinkOptionTypes],
) -> LinkResult:
    """Link the records of two tables that describe the same thing.

    Blocking rules choose pairs of records. Each pair is scored field by field. Pairs that score
    enough are assigned.

    Parameters
    ----------
    a, b : mapping of str to columns, data frame, Arrow table, sequence of mappings, or RecordTable
        The tables; see `RecordTable`.
    id_column : str or (str, str), optional
        Column of the ids, or the columns of the two tables; the default ids are row numbers.
    fields : sequence of Field or str, optional
        What is compared: ``name``, ``name:kind`` or ``name=other:kind``; see `Field`. By default,
        the columns that both tables have, without row numbers and codes that say nothing about the
        other table (`LinkResult.left_out`), and without those that follow from others, as a full
        name from its parts (`LinkResult.dependent`; only blocking rules use them). A kind that is
        not given is guessed from the values.
    ignore : sequence of str
        Columns that are not compared.
    rules : sequence of KeyBlocks, SortBlocks, LshBlocks, EveryPair or str, optional
        Which pairs are compared; strings as for `parse_rule`. By default, rules are chosen by the
        values of the fields. All pairs are compared if they are at most 20,000, or 1,000,000 within
        one table. If nothing tells matches from other pairs, keys of given rules that name one
        record each, such as those of accounts, link records alone.
    scoring : {"weights", "points"}
        weights: log2 of likelihood ratios, whose distributions are estimated from the data without
        labels. points: the points of each field, less a penalty that grows with the square of the
        edits; a missing value has half of the points.
    threshold : float, optional
        The least score of a link. For weights, the probability of a match, in (0, 1), by default
        0.5. For points, by default three quarters of all points.
    assign : {"one-to-one", "many-to-one", "one-to-many", "many-to-many"}, optional
        By default one-to-one, unless many pairs that score enough are lost by it: then one-to-many
        or many-to-one, or many-to-many, as these pairs show; a warning of the summary says so.
        many-to-one: each record of `a` has at most one link, the best; one-to-many: each record of
        `b`. one-to-one: both, with the greatest sum of scores above the threshold among records
        that chains of pairs connect, or, if these are too many, chosen greedily, the best first
        (`LinkSummary.greedy`). many-to-many: all pairs that score enough.
    synonyms : Synonyms, optional
        Words that count as nearly equal; by default those of `Synonyms.english`.
    frequencies : bool, default True
        Whether agreement on a rare value weighs more than on a frequent one, with scoring by
        weights.
    held_out : str or Field, optional
        A field that takes no part in blocking and scoring, from which the rate of true matches at
        each score is estimated (`LinkResult.rates`).
    held_out_window : float, optional
        The greatest difference of this field that a match may have, above 0, such as 90 days. The
        rate is then estimated from the pairs within this window, and from random pairs within it.
    labels : table, or sequence of (id_a, id_b, answer), optional
        Pairs that a person has marked: a table with the columns id_a, id_b and answer, as
        `LinkResult.review` returns, or tuples of them. A pair that is marked "same" is a link,
        whatever its score is and whether a rule brought it. A pair that is marked "different" is no
        link, and within one table its records are in different groups. Marked pairs also improve
        the weights, except those of one table that all candidates decide. "unsure" and missing
        answers do not count.
    seed : int or "random", default 1
        In 0..2**64 - 1. It chooses samples and hash functions.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    missing : sequence of str, or mapping of str to sequence of str, optional
        Values that count as missing, such as ``"9999"``, or ``"phone=0"`` for one column, besides
        those that are recognised: words such as N/A, NULL and unknown, and numbers and dates such
        as 9999999999 and 1900-01-01, by their form and by how often they occur
        (`CodedField.markers`). ``"none"`` among them ends the recognition, and ``"=none"`` is this
        value.
    progress : callable, optional
        Called with (stage, steps done, all steps).

    Returns
    -------
    LinkResult

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or value, there is no such column, or an id is missing or
        occurs twice.
    DataError
        If labels name an unknown id, have another answer, or contradict each other; the message
        names the row.
    OverflowError
        If a rule brings more than 2**27 pairs.
    ImportError
        If rapidfuzz is not installed.

    See Also
    --------
    lshfast.records.dedup_records : Find duplicate records of one table.
    lshfast.records.parse_rule : Read a blocking rule from a string.
    lshfast.records.assigned : Choose the pairs that become links.

    References
    ----------
    I. P. Fellegi, A. B. Sunter, "A theory for record linkage", JASA 1969. J. Leskovec, A.
    Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.8.

    Examples
    --------
    >>> from lshfast.records import match_records
    >>> a = {
    ...     "name": ["William Jones", "Ann Lee", "Eve Stone"],
    ...     "phone": ["555 0123", "555 0199", "555 0100"],
    ... }
    >>> b = {"name": ["Ann Lee", "Bill Jones"], "phone": ["555-0198", "555-0123"]}
    >>> match_records(a, b, scoring="points").pairs()
    [(0, 1), (1, 0)]
    """
    link_options = LinkOptions.of("match_records", options)
    if id_column is not None and not isinstance(id_column, (str, tuple)):
        raise TypeError(f"id_column must be a name or two names, not {id_column!r}")
    if isinstance(id_column, tuple) and len(id_column) != 2:
        raise ValueError(
            f"id_column must be a name or two names, not {len(id_column)} names"
        )
    columns = id_column if isinstance(id_column, tuple) else (id_column, id_column)
    table_a = as_table(a, columns[0], "a")
    table_b = as_table(b, columns[1], "b")
    return link_tables([table_a, table_b], link_options, progress)


@takes_link_options
def dedup_records(
    a: Any,
    *,
    id_column: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[LinkOptionTypes],
) -> LinkResult:
    """Link the records of one table that describe the same thing.

    The parameters are those of `match_records`. With ``assign="one-to-one"``, a record has at most
    one duplicate; the default is many-to-many.

    Returns
    -------
    LinkResult
        Its `groups` gives each record the first record of its group. Links that other pairs of a
        group contradict do not join groups.

    See Also
    --------
    lshfast.records.match_records : Link the records of two tables.
    lshfast.records.parse_rule : Read a blocking rule from a string.

    Examples
    --------
    >>> from lshfast.records import dedup_records
    >>> people = {
    ...     "name": ["Ann Lee", "Eve Stone", "Anne Lee"],
    ...     "born": ["1980-05-01", "1971-11-30", "1980-05-01"],
    ... }
    >>> result = dedup_records(people, scoring="points")
    >>> result.pairs(), result.groups().tolist()
    ([(0, 2)], [0, 1, 0])
    """
    link_options = LinkOptions.of("dedup_records", options)
    assign = link_options.assign
    if assign in ("many-to-one", "one-to-many"):
        raise ValueError(
            f"assign must be 'one-to-one' or 'many-to-many' within one table, not {assign!r}"
        )
    return link_tables([as_table(a, id_column, "a")], link_options, progress)


def as_table(source: Any, id_column: str | None, name: str) -> RecordTable:
    """Return a RecordTable of a source."""
    if isinstance(source, RecordTable) and id_column in (None, source.id_column):
        return source
    return RecordTable(source, id_column, name)


def link_tables(
    tables: Sequence[RecordTable],
    options: LinkOptions,
    progress: Progress | None = None,
) -> LinkResult:
    """Link two tables, or one with itself; see `match_records` and `dedup_records`."""
    return linked_run(tables, options, progress).result()


def linked_run(
    tables: Sequence[RecordTable],
    options: LinkOptions,
    progress: Progress | None = None,
) -> LinkRun:
    """Return a run after all its steps: it has the links, and the model that they are from."""
    run = LinkRun.begin(tables, options, progress)
    run.learn()
    run.assign()
    run.seek_hidden_matches()
    run.doubt_seeds()
    run.learn_from_seeds()
    run.link_by_rules()
    run.link_copies()
    run.trust_patterns()
    return run
