"""What outputs say of removed rows: a table of them, and annotations of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.options.stored import KEY, StoredOptions, write_beside
from lshfast._engine.pairs.tables import Table, portions
from lshfast._engine.plan import AnyPlan
from lshfast._io import Corpus, write_tables
from lshfast._io.selection import SparseColumn

# Columns of removed rows in a run that is compared with an index: whether the kept key is that of
# an entry, and whether the similarity is estimated.
EARLIER_COLUMNS = "earlier", "estimated"

# The column of removed rows in a run with exact keys: whether a row was removed by its key.
SAME_KEY = "same_key"

# The column of the table of removed rows with the texts of earlier rows, if these were read.
EARLIER_TEXT = "earlier_text"

# The characters of earlier texts that are in memory at a time, where they are written.
TEXT_CHARACTERS_AT_ONCE = 8 << 20


@dataclass(frozen=True)
class Removals:
    """The removed rows of a corpus, and why each is removed.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Ascending.
    kept_keys : callable
        Returns the keys of what is kept instead of some of them, given their places in `rows`.
    similarity : ndarray of float64, shape (m,)
    earlier : ndarray of bool, shape (m,), or None
        Whether an entry of an index is kept instead; None in a run without an index.
    kinds : mapping of str
        Arrow's names for the types of the columns; see `kinds_of`.
    kept_rows : ndarray of int64, shape (m,), or None
        The rows of the corpus that are kept instead, if their keys are read from it.
    estimated : ndarray of bool, shape (m,), or None
        Whether an earlier entry is known by an estimate; None if each of them is, with `jaccard`.
    earlier_text : callable, optional
        Returns the text of the entry that is kept instead of one of them, given its place in
        `rows`, or None if it was not read. By default the table has no column of texts.
    same_key : ndarray of bool, shape (m,), or None
        Whether a row was removed by its exact key; None in a run without exact keys.
    """

    rows: Int64Array
    kept_keys: Callable[[Int64Array], Sequence[Any]]
    similarity: Float64Array
    earlier: BoolArray | None
    kinds: Mapping[str, str]
    kept_rows: Int64Array | None = None
    estimated: BoolArray | None = None
    earlier_text: Callable[[int], str | None] | None = None
    same_key: BoolArray | None = None

    def account(self, places: Int64Array, plan: AnyPlan) -> Table:
        """Return the columns that describe some of the rows."""
        kept_keys = list(self.kept_keys(places))
        if self.kinds["kept_key"] == "string":
            kept_keys = list(map(str, kept_keys))
        account: Table = {
            "kept_key": kept_keys,
            SIMILARITY_NAMES[plan.measure]: self.similarity[places],
        }
        if self.earlier is not None:
            earlier = self.earlier[places]
            by_estimate = earlier & (plan.measure == "jaccard")
            if self.estimated is not None:
                by_estimate &= self.estimated[places]
            estimated = by_estimate | (plan.verify != "exact")
            if self.same_key is not None:
                estimated &= ~self.same_key[places]
            account |= dict(zip(EARLIER_COLUMNS, (earlier, estimated), strict=True))
        if self.same_key is not None:
            account[SAME_KEY] = self.same_key[places]
        return account

    def write(
        self,
        path: str,
        corpus: Corpus,
        plan: AnyPlan,
        stored: StoredOptions,
        overwrite: bool,
    ) -> None:
        """Write the table of the rows, and with it the options of the run."""
        places = int64_range(len(self.rows))
        keyed_rows = [self.rows]
        if self.kept_rows is not None:
            keyed_rows.append(self.kept_rows)
        tables = (
            {
                "key": corpus.keys_of(self.rows[part]),
                **self.account(places[part], plan),
                **texts,
            }
            for portion in portions(corpus, *keyed_rows)
            for part, texts in self._with_texts(portion)
        )
        write_tables(path, tables, overwrite, self.kinds, {KEY: stored.as_json()})
        write_beside(path, stored, overwrite)

    def _with_texts(self, portion: slice) -> Iterator[tuple[slice, Table]]:
        """Yield parts of a portion of the rows, with the column of earlier texts if there is one.

        The texts of a part have about TEXT_CHARACTERS_AT_ONCE; the last part may be empty.
        """
        if self.earlier_text is None:
            yield portion, {}
            return
        start = portion.start
        texts: list[str | None] = []
        characters = 0
        for place in range(start, min(portion.stop, len(self.rows))):
            texts.append(self.earlier_text(place))
            characters += len(texts[-1] or "")
            if characters >= TEXT_CHARACTERS_AT_ONCE:
                yield slice(start, place + 1), {EARLIER_TEXT: texts}
                start = place + 1
                texts = []
                characters = 0
        yield slice(start, portion.stop), {EARLIER_TEXT: texts}

    def annotations(self, n: int, plan: AnyPlan) -> dict[str, SparseColumn]:
        """Return the columns that are added to n rows, of which these are removed."""

        def column(name: str) -> SparseColumn:
            def values(places: Int64Array) -> Any:
                return self.account(places, plan)[name]

            return SparseColumn(self.rows, values, n)

        names = self.account(self.rows[:0], plan)
        return {
            "duplicate_of" if name == "kept_key" else name: column(name)
            for name in names
        }


def added_columns(plan: AnyPlan, against: bool, exact_keys: bool = False) -> list[str]:
    """Return the names of the columns that annotations add to the rows."""
    names = ["duplicate_of", SIMILARITY_NAMES[plan.measure]]
    if against:
        names += EARLIER_COLUMNS
    if exact_keys:
        names.append(SAME_KEY)
    return names


def kinds_of(ids: str, entries: str | None = None) -> dict[str, str]:
    """Return Arrow's names for the types of all columns that a run adds or writes.

    `ids` is that of the ids, and `entries` that of the keys of an index, None without one. Kept
    keys are strings if the two differ.
    """
    kept_kind = ids if entries in (None, ids) else "string"
    return {
        **dict.fromkeys(("key", "key_i", "key_j"), ids),
        **dict.fromkeys(("kept_key", "duplicate_of"), kept_kind),
        **dict.fromkeys(SIMILARITY_NAMES.values(), "double"),
        **dict.fromkeys((*EARLIER_COLUMNS, SAME_KEY), "bool"),
        EARLIER_TEXT: "string",
    }
