"""The interface between an index and what it keeps its entries in: keys, their signatures, and the bands over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from lshfast.common.progress import Progress
from lshfast.index.keys import Column as Column
from lshfast.index.keys import as_column, listed
from lshfast.tokens import BoolArray, Int64Array, UInt64Array

OnDuplicate: TypeAlias = Literal["error", "replace", "skip"]



@dataclass(frozen=True)
class Parameters:
    """What all entries of an index have in common.

    Parameters
    ----------
    num_perm : int
        Slots of a signature, k.
    bands, rows : int
        Bands and slots a band; bands x rows is at most num_perm.
    scheme : str
        That of the MinHasher, as is `seed`.
    seed : int
        In 0..2**64 - 1.
    threshold : float or None
        The similarity, in (0, 1], that the bands were chosen for; None if they were given.
    shingles : str
        What the sets' tokens are, if that was said: "word:5", "char:9", or another name of up to 16 ASCII characters.
    """

    num_perm: int
    bands: int
    rows: int
    scheme: str
    seed: int
    threshold: float | None
    shingles: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.shingles, str):
            raise TypeError(f"shingles must be a str, not {self.shingles!r}")
        if len(self.shingles) > 16 or not (self.shingles.isascii() and self.shingles.isprintable()):
            raise ValueError(f"shingles must be at most 16 printable ASCII characters, not {self.shingles!r}")

    def check_same(self, other: Parameters) -> None:
        """Raise ValueError, naming what differs, unless the other's shingles, signatures and bands are the same.

        The threshold does not matter: what the bands are is what finds.
        """
        for name in ("num_perm", "scheme", "seed", "bands", "rows", "shingles"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise ValueError(f"{name} is {mine!r} in this index, not {theirs!r}")


class Found(NamedTuple):
    """The verified candidates of m queries, in no order within a query.

    `offsets` is int64 (m + 1,): the candidates of query i are ``keys[offsets[i]:offsets[i + 1]]``; `agreements`, int64
    (offsets[m],), is the number of slots in which each equals its query, or None if it was not asked for.
    """

    offsets: Int64Array
    keys: Column
    agreements: Int64Array | None


class Store(ABC):
    """Entries (a key and its signature) and the bands that find them.

    A candidate of a query is an entry that equals it in all rows of some band. An empty set's signature, all ones, is
    stored and is nobody's candidate.

    Attributes
    ----------
    parameters : Parameters or None
        Those of the entries; None if nothing was stored yet.
    """

    parameters: Parameters | None

    @property
    @abstractmethod
    def kind(self) -> str | None:
        """What the keys are: "int", "str" or "object"; None while there are none, "object" where that is not known."""

    @abstractmethod
    def bind(self, parameters: Parameters) -> None:
        """Take these parameters, or check them against those stored.

        Raises
        ------
        ValueError
            Naming what differs from those stored.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Count the entries."""

    @abstractmethod
    def contains(self, keys: Column) -> BoolArray:
        """Tell which keys have an entry, bool (n,)."""

    @abstractmethod
    def insert(self, keys: Column, signatures: UInt64Array, on_duplicate: OnDuplicate, *, copy: bool = True) -> int:
        """Store entries, all of the batch or none.

        Parameters
        ----------
        keys : Column
            n keys.
        signatures : ndarray of uint64, shape (n, num_perm)
        on_duplicate : {"error", "replace", "skip"}
            What becomes of a key that is stored already or comes twice: an error; the last signature counts; the first
            counts.
        copy : bool
            False: the signatures will never change, so that they may be kept where they are.

        Returns
        -------
        int
            The number of entries that are new or replaced.

        Raises
        ------
        DuplicateKeyError
            For "error", with the first duplicate; nothing was inserted.
        """

    def check_kind(self, kind: str) -> None:  # noqa: B027 (where keys of all kinds join those stored)
        """Raise TypeError unless keys of this kind ("int", "str", or "object" for all others) can join those stored."""

    @abstractmethod
    def remove(self, keys: Column) -> None:
        """Remove the entries of these keys, a key that is repeated once.

        Raises
        ------
        KeyError
            With the first key that has no entry; nothing was removed.
        """

    @abstractmethod
    def query(self, signatures: UInt64Array, *, least: int | None, threads: int) -> Found:
        """Find the candidates of each query.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (m, num_perm)
        least : int or None
            Leave out candidates that equal their query in fewer slots; None: keep all and do not count.
        threads : int
            At least 1; the result does not depend on it.
        """

    @abstractmethod
    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        """Give all entries, in batches of keys and signatures."""

    @abstractmethod
    def stats(self) -> dict[str, int]:
        """Return the store's own figures."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; nothing may be called afterwards but this."""

    def insert_one(self, key: Any, signature: UInt64Array, on_duplicate: OnDuplicate) -> int:
        """Store one entry, of a signature (num_perm,)."""
        return self.insert(as_column([key]), signature[np.newaxis], on_duplicate)

    def contains_one(self, key: Any) -> bool:
        """Tell whether a key has an entry."""
        return bool(self.contains(as_column([key]))[0])

    def remove_one(self, key: Any) -> None:
        """Remove the entry of one key, as `remove` does."""
        self.remove(as_column([key]))

    def query_one(self, signature: UInt64Array, least: int | None) -> tuple[list[Any], list[int] | None]:
        """Find the candidates of one signature, (num_perm,): their keys and equal slots."""
        found = self.query(signature[np.newaxis], least=least, threads=1)
        return listed(found.keys), None if found.agreements is None else found.agreements.tolist()

    def all_keys(self) -> Iterator[Column]:
        """Give all keys, in batches."""
        for keys, _ in self.items():
            yield keys

    def bucket_sizes(self) -> tuple[Int64Array, int, float]:
        """Return how many buckets hold 1, 2-3, 4-7, ... rows, the most rows of one, and the sum of their squares.

        A store that cannot tell without a walk over everything returns nothing but zeros.
        """
        return np.zeros(32, np.int64), 0, 0.0

    def commit(self, progress: Progress | None = None) -> None:  # noqa: B027 (where each call writes through)
        """Make what was written last."""

    def compact(self, progress: Progress | None = None) -> None:  # noqa: B027
        """Give back the space of what was removed."""

    def verify(self) -> None:  # noqa: B027
        """Check all that is stored.

        Raises
        ------
        lshfast.FormatError
            Naming what is damaged.
        """

    def abandon(self) -> None:
        """Close without a commit."""
        self.close()
