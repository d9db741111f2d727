"""The rows of a run: texts, sets of the user's elements, or sets of tokens.

A column hashes the requested rows: once with the seed, for signatures, and again with the secret
key of the run for rows that are compared exactly. Hashing again takes less time and memory than
keeping all tokens. The key is drawn for each run, so that texts or elements with colliding tokens
cannot be constructed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast._common.choices import Kind
from lshfast._common.elements import words_of_array
from lshfast._common.rows import int64_range
from lshfast._common.run_key import RunKey
from lshfast._common.threads import ordered_map, pieces
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._io.stored_texts import ReadTexts, StoredTexts
from lshfast._items.kind import choice_of_kind, is_missing, kinds_of_numbers
from lshfast._items.packed_sets import WORD_BYTES, counts_of, unpack
from lshfast.join.copies import confirm_copies
from lshfast.kernels import sets
from lshfast.kernels.arrow import is_arrow
from lshfast.kernels.text import (
    HashKey,
    Texts,
    arrow_column,
    tokens_of_integers,
    tokens_of_texts,
)
from lshfast.shingling import (
    BYTES_OF_TOKEN,
    DEFAULT_SIZES,
    PIECE_BYTES,
    Shingles,
)
from lshfast.tokens import TokenSets, hash_rows, places_of_rows

Result = TypeVar("Result")

# So many times as long as a piece is a row that is processed alone, as far as that takes tokens.
VERY_LONG = 4

if TYPE_CHECKING:
    from typing_extensions import Self

Chosen: TypeAlias = slice | Int64Array

# The size of an element of a set in bytes, used to divide work into pieces: the size of its token.
ELEMENT_BYTES = 8


class Column(Protocol):
    """The rows of a run, and their conversion to token sets."""

    def __len__(self) -> int: ...

    @property
    def lengths(self) -> Int64Array:
        """The length of each row, for `keep`: bytes of a text, elements of a set."""

    @property
    def nbytes(self) -> Int64Array:
        """The bytes of each row, used to divide work into pieces and to measure progress."""

    @property
    def sizes(self) -> Int64Array:
        """The approximate number of tokens of each row."""

    def take(self, rows: Chosen) -> Column:
        """Return the chosen rows."""

    def released(self) -> Column:
        """Return the same rows; those that can be read again are not held in memory."""

    def tokens(self, key: int | HashKey) -> TokenSets:
        """Return the token sets of all rows, hashed with a seed or a secret key."""

    def hashes(self, seed: int) -> UInt64Array:
        """Return a hash of each text's bytes, or of each set's elements in any order."""

    def equal(self, i: Int64Array, j: Int64Array) -> BoolArray:
        """Return which pairs of rows are known to be equal; other pairs may be equal too."""


@dataclass(frozen=True)
class ShingledTexts:
    """Texts, converted to the sets of their shingles."""

    texts: Texts | StoredTexts
    shingles: Shingles

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def lengths(self) -> Int64Array:
        return self.texts.lengths

    @property
    def nbytes(self) -> Int64Array:
        return self.texts.lengths

    @property
    def sizes(self) -> Int64Array:
        unit = self.shingles.unit
        if unit == "char":
            return self.lengths
        return np.asarray(self.lengths // BYTES_OF_TOKEN[unit] + 1)

    def take(self, rows: Chosen) -> ShingledTexts:
        return ShingledTexts(self.texts.take(rows), self.shingles)

    def released(self) -> ShingledTexts:
        return (
            ShingledTexts(self.texts.stored, self.shingles)
            if isinstance(self.texts, ReadTexts)
            else self
        )

    def tokens(self, key: int | HashKey) -> TokenSets:
        return self.shingles.tokens_of(self._read(), key)

    def hashes(self, seed: int) -> UInt64Array:
        return tokens_of_texts(self._read(), seed)

    def _read(self) -> Texts:
        return (
            self.texts
            if isinstance(self.texts, Texts)
            else self.texts.take(slice(None))
        )

    def equal(self, i: Int64Array, j: Int64Array) -> BoolArray:
        return self.texts.equal(i, j)


class _Sets:
    """The common base of columns of sets."""

    @property
    def lengths(self) -> Int64Array:
        raise NotImplementedError

    @property
    def nbytes(self) -> Int64Array:
        return self.lengths * ELEMENT_BYTES

    @property
    def sizes(self) -> Int64Array:
        return self.lengths

    def released(self) -> Self:
        return self

    def tokens(self, key: int | HashKey) -> TokenSets:
        raise NotImplementedError

    def hashes(self, seed: int) -> UInt64Array:
        """Return the sum of each row's tokens mod 2^64."""
        sets = self.tokens(seed)
        sums = np.zeros(len(sets.tokens) + 1, np.uint64)
        np.cumsum(sets.tokens, out=sums[1:])
        return np.asarray(sums[sets.offsets[1:]] - sums[sets.offsets[:-1]])

    def equal(self, i: Int64Array, j: Int64Array) -> BoolArray:
        return np.zeros(len(i), bool)


@dataclass(frozen=True)
class Elements(_Sets):
    """Sets of str, bytes and int objects, not copied; `first_row` is the first set's number."""

    rows: Sequence[Collection[Any]]
    first_row: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> Int64Array:
        return np.fromiter(map(len, self.rows), np.int64, len(self.rows))

    def take(self, rows: Chosen) -> Elements:
        if isinstance(rows, slice):
            return Elements(self.rows[rows], self.first_row + (rows.start or 0))
        return Elements([self.rows[row] for row in rows.tolist()])

    def tokens(self, key: int | HashKey) -> TokenSets:
        return hash_rows(self.rows, key, self.first_row)


@dataclass(frozen=True)
class ArrowLists(_Sets):
    """Sets in an Arrow column of lists: row i is ``elements[offsets[i]:offsets[i + 1]]``."""

    offsets: Int64Array
    elements: Texts | UInt64Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Int64Array:
        return np.diff(self.offsets)

    def take(self, rows: Chosen) -> ArrowLists:
        if isinstance(rows, slice):
            offsets = self.offsets[rows.start : rows.stop + 1]
            return ArrowLists(
                offsets - offsets[0],
                self._elements(slice(int(offsets[0]), int(offsets[-1]))),
            )
        offsets, places = places_of_rows(self.offsets, rows)
        return ArrowLists(offsets, self._elements(places))

    def _elements(self, places: Chosen) -> Texts | UInt64Array:
        if isinstance(self.elements, Texts):
            return self.elements.take(places)
        return self.elements[places]

    def tokens(self, key: int | HashKey) -> TokenSets:
        if isinstance(self.elements, Texts):
            return TokenSets(self.offsets, tokens_of_texts(self.elements, key))
        return TokenSets(self.offsets, tokens_of_integers(self.elements, key))


@dataclass(frozen=True)
class PackedSets(_Sets):
    """Packed sets: sets of files, which may wait in other files."""

    texts: Texts

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def lengths(self) -> Int64Array:
        return counts_of(self.texts)

    @property
    def nbytes(self) -> Int64Array:
        return self.texts.lengths

    @property
    def sizes(self) -> Int64Array:
        return self.texts.lengths // WORD_BYTES

    def take(self, rows: Chosen) -> PackedSets:
        return PackedSets(self.texts.take(rows))

    def tokens(self, key: int | HashKey) -> TokenSets:
        return ArrowLists(*unpack(self.texts)).tokens(key)

    def equal(self, i: Int64Array, j: Int64Array) -> BoolArray:
        return self.texts.equal(i, j)


@dataclass(frozen=True)
class Tokens(_Sets):
    """Sets of tokens. The tokens do not depend on the key: equal tokens are equal elements."""

    sets: TokenSets

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def lengths(self) -> Int64Array:
        return self.sets.counts

    def take(self, rows: Chosen) -> Tokens:
        if isinstance(rows, slice):
            return Tokens(
                TokenSets(
                    self.sets.offsets[rows.start : rows.stop + 1], self.sets.tokens
                )
            )
        return Tokens(self.sets.take(rows))

    def tokens(self, key: int | HashKey) -> TokenSets:
        return self.sets


@dataclass(frozen=True)
class KeyedRows:
    """Rows whose tokens are computed again with the key of a run, for `verify`."""

    column: Column
    key: RunKey

    @property
    def sizes(self) -> Int64Array:
        return self.column.sizes

    def take(self, rows: Int64Array) -> TokenSets:
        return self.column.take(rows).tokens(self.key.tokens)

    def in_pieces(
        self, work: Callable[[Int64Array], Result], rows: Int64Array, threads: int
    ) -> Iterator[Result]:
        """Yield the result of `work` for pieces of the rows, in order; threads share the pieces.

        A very long row is processed alone.
        """
        nbytes = self.column.nbytes
        parts = (rows[part] for part in pieces(nbytes[rows], PIECE_BYTES))
        return ordered_map(
            work,
            parts,
            threads,
            lambda part: int(nbytes[part].sum()) > VERY_LONG * PIECE_BYTES,
        )

    def confirmed(self, copies: Int64Array, threads: int) -> Int64Array:
        """Return the first copy of each row, given for each row the row it may be a copy of."""

        def of_part(rows: Int64Array) -> UInt64Array:
            tokens = self.take(rows)
            return sets.fingerprints(
                tokens.offsets, tokens.tokens, self.key.fingerprints
            )

        def fingerprints(rows: Int64Array) -> UInt64Array:
            return np.concatenate(list(self.in_pieces(of_part, rows, threads)))

        rows = np.flatnonzero(copies != int64_range(len(copies)))
        if not len(rows):
            return copies
        # Then a part takes each first copy once.
        rows = rows[np.argsort(copies[rows], kind="stable")]
        equal = self.in_pieces(
            lambda part: self.column.equal(part, copies[part]), rows, threads
        )
        doubtful = rows[~np.concatenate(list(equal))]
        return confirm_copies(copies, doubtful, fingerprints)


def joined_columns(columns: Sequence[Column], shingles: Shingles) -> Column:
    """Return the rows of columns of texts or packed sets as one column; no texts without any."""
    if not columns:
        return ShingledTexts(Texts([]), shingles)
    if len(columns) == 1:
        return columns[0]
    if isinstance(columns[0], PackedSets):
        return PackedSets(
            Texts.concatenate(
                [column.texts for column in columns if isinstance(column, PackedSets)]
            )
        )
    shingled = [column for column in columns if isinstance(column, ShingledTexts)]
    texts = [column.texts for column in shingled]
    texts_in_memory = [part for part in texts if isinstance(part, Texts)]
    if len(texts_in_memory) == len(texts):
        return ShingledTexts(Texts.concatenate(texts_in_memory), shingles)
    return ShingledTexts(StoredTexts.concatenate(texts), shingles)


def column_of(source: Any, shingles: Shingles, kind: Kind | None = None) -> Column:
    """Return the user's data as a column: TokenSets, a sequence of sets of elements, or texts.

    A sequence contains sets if its first item that is not missing is an iterable other than a str
    or bytes, or if it is an Arrow column of lists. A missing set (null, None or NaN) is an empty
    set. `kind` is what the user says.

    Raises
    ------
    TypeError
        If an item of a sequence of sets is not a set, or an Arrow column holds neither texts nor
        lists of elements.
    ValueError
        If the data are sets, and the unit or the size is not the default, or lists of integers that
        can be several kinds of items.
    """
    if isinstance(source, TokenSets):
        _check_no_shingles(shingles)
        return Tokens(source)
    if is_arrow(source) and not _holds_objects(source):
        source = arrow_column(source, one_length=kind == "set")
        if not isinstance(source, Texts):
            _check_no_shingles(shingles)
            offsets, elements = source
            return _arrow_lists(offsets, elements, kind)
    elif _may_hold_sets(source):
        first = next((item for item in source if not is_missing(item)), None)
        if isinstance(first, Iterable) and not isinstance(first, (str, bytes)):
            _check_no_shingles(shingles)
            return Elements([_set_of(item, row) for row, item in enumerate(source)])
    if _holds_objects(source):
        # The Arrow interface does not say which row has another type.
        source = np.asarray(source)
    return ShingledTexts(Texts(source), shingles)


def _arrow_lists(
    offsets: Int64Array,
    elements: Texts | npt.NDArray[np.integer[Any]],
    kind: Kind | None,
) -> ArrowLists:
    """Return the sets of an Arrow column of lists; ValueError if they may be something else."""
    if isinstance(elements, Texts):
        return ArrowLists(offsets, elements)
    kinds = kinds_of_numbers(elements.dtype, one_length=False)
    if kind is None and len(kinds) > 1:
        raise ValueError(
            choice_of_kind(f"texts is a column of lists of {elements.dtype}", kinds)
        )
    return ArrowLists(offsets, words_of_array(elements))


def _holds_objects(source: Any) -> bool:
    """Return whether this is a pandas column of objects, whose Arrow type would be a guess."""
    dtype = getattr(source, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _may_hold_sets(source: Any) -> bool:
    """Return whether this is a sequence of objects, or an array of several dimensions."""
    dtype = getattr(source, "dtype", None)  # of numpy or pandas
    if getattr(dtype, "kind", None) == "O" or isinstance(source, (list, tuple)):
        return True
    return isinstance(source, np.ndarray) and source.ndim > 1


def _check_no_shingles(shingles: Shingles) -> None:
    for name, value, default in (
        ("unit", shingles.unit, "word"),
        ("size", shingles.size, DEFAULT_SIZES["word"]),
    ):
        if value != default:
            raise ValueError(
                f"{name} is for texts, and these are sets, compared by their elements: not "
                f"{value!r}"
            )


def _set_of(item: Any, row: int) -> Collection[Any]:
    """Return a set as it is if it can be iterated several times, else as a list."""
    if is_missing(item):
        return ()
    if isinstance(item, Mapping):
        raise TypeError(
            f"texts[{row}] is of type {type(item).__name__}; pass its texts, [row['text'] for row "
            "in rows]"
        )
    if isinstance(item, (str, bytes)) or not isinstance(item, Iterable):
        raise TypeError(
            f"texts[{row}] is of type {type(item).__name__}, not a set of elements as others are"
        )
    return item if isinstance(item, Collection) else list(item)
