"""`CodeIndex`: the base class of the indexes of packed codes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int
from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.errors import FormatError
from lshfast._common.image_hashes import (
    ImageHash,
    check_same_hash,
    hash_named,
    hash_of_codes,
)
from lshfast._common.threads import thread_count
from lshfast._common.types import UInt64Array
from lshfast.families.packed import codes_of
from lshfast.index.apart import IsApart, answers_apart, nearest_apart
from lshfast.index.hamming.hits import rows_of
from lshfast.index.hamming.rows import PIECE_QUERIES, PIECE_ROWS, CodeRows
from lshfast.index.keys import Column, column_for, take
from lshfast.index.matches import AnswerLists
from lshfast.index.memory_index import MemoryIndex
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.protocol import PointsToIndex

# The bound of a search, an entry in an answer, and the answers to several queries.
Bound = TypeVar("Bound", int, float)
One = TypeVar("One")
Many = TypeVar("Many", bound=AnswerLists[Any])

ACodeIndex = TypeVar("ACodeIndex", bound="CodeIndex[Any, Any, Any]")


class CodeIndex(MemoryIndex, Generic[Bound, One, Many]):
    """Base class of `HammingIndex` and `TanimotoIndex`.

    Attributes
    ----------
    bits : int
    image_hash : str or None
        The hash and its version, such as "pdq 2", if the entries are hashes of images that say so:
        those of `ImageHashes.codes`, or of lists on the command line. Hashes of another kind are
        refused. Set it if other entries are such hashes.
    """

    bits: int
    _image_hash: ImageHash | None = None
    _entries: CodeRows[Any]
    # The parameter and attribute that is the bound of a search: "radius" or "threshold".
    _bound: ClassVar[str]

    @abstractmethod
    def _checked(self, bound: Bound) -> Bound:
        """Return a bound, or raise an error."""

    @abstractmethod
    def _within(self, queries: UInt64Array, bound: Bound, threads: int) -> Many:
        """Return the entries within a bound."""

    @abstractmethod
    def _nearest(self, queries: UInt64Array, k: int, piece: int, threads: int) -> Many:
        """Return the first k entries; `piece` queries are searched at a time."""

    def _bound_or(self, bound: Bound | None) -> Bound:
        """Return a checked bound, or the bound of the index."""
        default: Bound = getattr(self, self._bound)
        return default if bound is None else self._checked(bound)

    @property
    def image_hash(self) -> str | None:
        """The hash of images that the entries are, and its version; None if it is not known."""
        return None if self._image_hash is None else self._image_hash.name

    @image_hash.setter
    def image_hash(self, name: str | None) -> None:
        self._image_hash = None if name is None else hash_named(name)

    def _check_hash(self, codes: Any) -> ImageHash | None:
        """Return the image hash of codes; ValueError if the entries may have another one."""
        hash = hash_of_codes(codes)
        if len(self):
            check_same_hash(self._image_hash, hash)
        return hash

    # ---- writing ----

    def insert(self, keys: Any, codes: npt.ArrayLike) -> int:
        """Insert one entry, or a batch of entries: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of n hashable objects
            One key for one code; a batch for several.
        codes : array_like
            One code or n codes, in a form of `dedup_codes`. A list of strings, bytes or ints is a
            batch. An array of words has shape (n, words), or for one code (words,); in an index of
            at most 64 bits, shape (n,) is n codes, and shape (1,) is one code.

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        TypeError
            If a key cannot be stored, or the codes have another form.
        DuplicateKeyError
            If a key is a duplicate and `on_duplicate` is "error"; the error names the first one.
        ValueError
            If the numbers of keys and codes differ, or the codes have the wrong shape or bits
            beyond `bits`, or are hashes of images of another kind than `image_hash`.

        Warns
        -----
        DecimalCodesWarning
            If all codes are texts of decimal digits, which are read as hexadecimal.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import HammingIndex
        >>> index = HammingIndex()
        >>> index.insert(range(2), np.array([7, 8], np.uint64))
        2
        >>> index.insert(2, np.array([9], np.uint64))
        1
        """
        hash = self._check_hash(codes)
        array = codes_of(codes, self.bits)
        column = column_for(keys, single=array.ndim == 1)
        array = array.reshape(-1, self._entries.words)
        if len(column) != len(array):
            raise ValueError(
                f"there must be a key for each code, not {len(column)} for {len(array)}"
            )
        empty = not len(self)
        inserted = self._entries.insert(column, array, self.on_duplicate)
        if empty and hash is not None:
            self._image_hash = hash
        return inserted

    # ---- entries ----

    def items(self) -> tuple[Column, UInt64Array]:
        """Return the keys and codes of all entries, in the order of their insertion.

        Returns
        -------
        keys : ndarray of int64 or uint64, shape (n,), or list
        codes : ndarray of uint64, shape (n, words)
            Do not write to it.
        """
        with self._entries.gate.reading():
            rows = self._entries.rows()
            return self._entries.names(rows), self._entries.columns(rows)[0]

    def _pairs(
        self, find: Callable[[UInt64Array], UInt64Array]
    ) -> tuple[Column, Column, UInt64Array, UInt64Array]:
        """Return the keys of the pairs of rows that `find` returns, the codes, and the pairs."""
        keys, codes = self.items()
        row_pairs = find(codes)
        left_rows, right_rows = rows_of(row_pairs)
        return take(keys, left_rows), take(keys, right_rows), codes, row_pairs

    def __repr__(self) -> str:
        bound = f"{self._bound}={getattr(self, self._bound)}"
        hash = "" if self._image_hash is None else f", image_hash={self.image_hash!r}"
        return f"{type(self).__name__}({len(self):,} entries, bits={self.bits}, {bound}{hash})"

    # ---- queries ----

    def _answers(
        self,
        codes: npt.ArrayLike,
        threads: int | None,
        search: Callable[[UInt64Array, int], Many],
    ) -> list[One] | Many:
        """Return the answer to one code, or the answers to several, by a search."""
        array = self._plain_code(codes)
        if array is None:
            self._check_hash(codes)
            array = codes_of(codes, self.bits)
        threads = thread_count(threads)
        with self._entries.gate.reading():
            answers = search(array.reshape(-1, self._entries.words), threads)
        return answers[0] if array.ndim == 1 else answers

    def _plain_code(self, codes: Any) -> UInt64Array | None:
        """Return one code that is an array of words and needs no conversion, or None."""
        if type(codes) is not np.ndarray or codes.dtype != np.uint64:
            return None
        if codes.shape != (self._entries.words,) or not codes.flags.c_contiguous:
            return None
        if self.bits % 64 and int(codes[-1]) >> self.bits % 64:
            return None
        return codes

    @abstractmethod
    def _apart(self, limit: Bound | None, bound: Bound) -> IsApart | None:
        """Return which values are apart by a limit; an error names its range up to the bound."""

    def _all_within(
        self,
        codes: npt.ArrayLike,
        bound: Bound | None,
        limit: Bound | None,
        threads: int | None,
    ) -> list[One] | Many:
        """Return the entries within a bound that are apart, for one code or each of m codes."""
        checked = self._bound_or(bound)
        is_apart = self._apart(limit, checked)

        def search(queries: UInt64Array, threads: int) -> Many:
            return answers_apart(self._within(queries, checked, threads), is_apart)

        return self._answers(codes, threads, search)

    def _first(
        self,
        codes: npt.ArrayLike,
        k: int,
        is_apart: IsApart | None,
        threads: int | None,
    ) -> list[One] | Many:
        """Return the first k entries, or those that are apart, for one code or each of m codes."""
        k = check_int("k", k, 1)

        def first(queries: UInt64Array, count: int, threads: int) -> Many:
            most = max(min(count, len(self)), 1)
            piece = max(min(PIECE_QUERIES, PIECE_ROWS // most), 1)
            return self._nearest(queries, most, piece, threads)

        def search(queries: UInt64Array, threads: int) -> Many:
            return nearest_apart(
                lambda part, count: first(part, count, threads),
                queries,
                k,
                len(self),
                is_apart,
            )

        return self._answers(codes, threads, search)

    # ---- for runs: see `IndexOfPoints` ----

    @property
    def holds(self) -> Kind:
        return "code"

    @property
    def point_format(self) -> PointFormat:
        """The format of the entries."""
        return PointFormat("hamming", self.bits, "float32", None, self._image_hash)

    @classmethod
    def made_for(cls: type[ACodeIndex], points: PointsToIndex) -> ACodeIndex:
        """Return an empty index for points."""
        index = cls._empty(points.format.dim, cls._bound_from(points.bound))
        index.on_duplicate = points.on_duplicate
        index._image_hash = points.format.image_hash
        return index

    @classmethod
    @abstractmethod
    def _bound_from(cls, bound: float) -> Any:
        """Return a bound of the type of this index."""

    def insert_points(self, keys: Column, points: UInt64Array, threads: int) -> int:
        """Insert a batch of entries; see `insert`."""
        return self.insert(keys, points)

    def about(self) -> str:
        """Return what the index is, and how it searches, as text."""
        return f"{self}\n{self.describe()}"

    @abstractmethod
    def describe(self) -> str:
        """Return how the index searches, as text."""

    def bound_by(self, measure: ItemMeasure) -> float:
        """Return the bound of the index, by its measure."""
        return float(getattr(self, self._bound))

    def recall_at(self, distance: float) -> float:
        """Return 1: all entries are found."""
        return 1.0

    def check_promise(self, distance: float) -> None:
        """Do nothing: the entries within any bound are found."""

    def search_bound(
        self, points: UInt64Array, measure: ItemMeasure, bound: float, threads: int
    ) -> Many:
        """Return the entries within a bound, for each of m codes."""
        limit = self._bound_from(min(bound, self.bits))
        answers: Any = self._answers(
            points,
            threads,
            lambda queries, threads: self._within(queries, limit, threads),
        )
        return cast(Many, answers)

    def search_nearest(
        self,
        points: UInt64Array,
        k: int,
        is_apart: IsApart | None,
        unbounded: bool,
        threads: int,
    ) -> Many:
        """Return the k nearest entries of those that are apart, for each of m codes."""
        answers: Any = self._first(points, k, is_apart, threads)
        return cast(Many, answers)

    # ---- files ----

    def _fields(self) -> Sequence[Any]:
        return self.bits, getattr(self, self._bound), self.image_hash or ""

    @classmethod
    def _empty(cls: type[ACodeIndex], bits: int, bound: float) -> ACodeIndex:
        make: Callable[..., ACodeIndex] = cls
        return make(bits, **{cls._bound: bound})

    @classmethod
    def _widths(cls, *fields: Any) -> list[int]:
        bits, bound, image_hash = fields
        try:
            if image_hash:
                hash_named(image_hash)
        except ValueError as error:
            raise FormatError(f"header: {error}") from None
        try:
            return [cls._empty(bits, bound)._entries.words]
        except ValueError:
            raise FormatError(
                f"header: {bits} bits and {cls._bound} {bound} are out of range"
            ) from None

    @classmethod
    def _made(
        cls: type[ACodeIndex],
        fields: Sequence[Any],
        keys: Column,
        columns: list[UInt64Array],
    ) -> ACodeIndex:
        bits, bound, image_hash = fields
        (codes,) = columns
        if bits % 64 and (codes[:, -1] >> np.uint64(bits % 64)).any():
            raise FormatError(f"codes: one has bits at {bits} and above")
        index = cls._empty(bits, bound)
        index._entries.insert(keys, codes, "error")
        index.image_hash = image_hash or None
        return index
