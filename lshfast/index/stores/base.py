"""The interface between an index and its store, which holds keys, their signatures, and the bands over them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from lshfast.common.checks import check_int, check_number
from lshfast.common.progress import Progress
from lshfast.common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.index.keys import Column as Column
from lshfast.index.keys import as_column, concatenate, listed
from lshfast.index.measure import MOST_WORDS, Measure, measure_of

OnDuplicate: TypeAlias = Literal["error", "replace", "skip"]

# The most bytes of the description of a family.
MOST_FAMILY = 1 << 20


@dataclass(frozen=True)
class Parameters:
    """The parameters of an index, which are the same for all entries.

    Parameters
    ----------
    num_perm : int
        Slots of a signature, k.
    bands, rows : int
        Numbers of bands, and of rows (slots) per band; bands * rows is at most num_perm.
    scheme : str
        Scheme of the MinHasher.
    seed : int
        Seed of the MinHasher, in 0..2**64 - 1.
    threshold : float or None
        The similarity, in (0, 1], that the bands were chosen for; None if it is not known.
    shingles : str
        Name of the shingles: "word:5", "char:9", "stopword:3:en", another name of up to 16 ASCII characters, or "" if
        it is not known.
    family : str
        Description of the family of hash functions (`Family.describe`), at most 2**20 bytes of UTF-8. "" for MinHash,
        where scheme and seed say the same. With a family of 1 row per band, a slot is the value of a bucket.
    payload : int
        Words of a row after its num_perm slots, which belong to the entry and are in no bucket.
    measure : str
        What `search` computes from the payload (`Measure.text`), or "". With "hamming", `query` counts the equal bits
        of the payload instead of equal slots.
    """

    num_perm: int
    bands: int
    rows: int
    scheme: str
    seed: int
    threshold: float | None
    shingles: str = ""
    family: str = ""
    payload: int = 0
    measure: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.shingles, str):
            raise TypeError(f"shingles must be a str, not {self.shingles!r}")
        if len(self.shingles) > 16 or not (self.shingles.isascii() and self.shingles.isprintable()):
            raise ValueError(f"shingles must be at most 16 printable ASCII characters, not {self.shingles!r}")
        if len(self.family.encode()) > MOST_FAMILY:
            raise ValueError(f"the description of a family must be at most {MOST_FAMILY} bytes")
        if self.payload < 0 or (self.family and self.words > MOST_WORDS):
            raise ValueError(f"a row has at most {MOST_WORDS} words, not {self.num_perm} and {self.payload} of payload")
        if self.measure and measure_of(self.measure).words != self.payload:
            raise ValueError(
                f"measure {self.measure!r} needs {measure_of(self.measure).words} words, not {self.payload}"
            )

    @property
    def words(self) -> int:
        """64-bit words of a row: slots and payload."""
        return self.num_perm + self.payload

    @property
    def apart(self) -> bool:
        """Whether each band is judged alone: a slot of all ones is a value that is missing in one band."""
        return bool(self.family) and self.rows == 1

    @property
    def bits(self) -> int:
        """Bits of the payload whose equality `query` counts; 0 if it counts equal slots."""
        measure = measure_of(self.measure) if self.measure and self.apart else None
        return measure.dim if measure is not None and measure.name == "hamming" else 0

    @property
    def compared(self) -> int:
        """The most equal slots or bits of two rows; a similarity is a share of it."""
        return self.bits or self.num_perm

    def check_same(self, other: Parameters) -> None:
        """Raise ValueError, with the name of the parameter, if family, shingles, signatures, bands or payload differ.

        The threshold is not compared, because only the bands determine which entries are found.
        """
        for name in ("family", "num_perm", "scheme", "seed", "bands", "rows", "shingles", "payload", "measure"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                if name == "family":
                    name, mine, theirs = differing(mine, theirs)
                raise ValueError(f"{name} is {mine!r} in this index, not {theirs!r}")


def differing(family: str, other: str) -> tuple[str, Any, Any]:
    """Return what differs between two descriptions of families, and its two values; an empty one is of MinHash.

    >>> differing('{"dim":8,"family":"hyperplanes","seed":1}', '{"dim":8,"family":"hyperplanes","seed":2}')
    ('seed of hyperplanes', 1, 2)
    """
    name: str = "family"
    try:
        a, b = (json.loads(text or '{"family":"minhash"}') for text in (family, other))
        while isinstance(a, dict) and isinstance(b, dict):
            if a["family"] != b["family"] or a.keys() != b.keys():
                return name, a["family"], b["family"]
            key = next(key for key in a if a[key] != b[key])
            name, a, b = f"{key} of {a['family']}", a[key], b[key]
    except (ValueError, KeyError, RecursionError):  # a description that some other program has stored
        return "family", family[:200], other[:200]
    return name, a, b


class Found(NamedTuple):
    """The verified candidates of m queries; those of one query have no particular order.

    `offsets` is int64 (m + 1,). The candidates of query i are ``keys[offsets[i]:offsets[i + 1]]``. `agreements`, int64
    (offsets[m],), is the number of slots of each candidate that equal its query, or None if it was not requested.
    """

    offsets: Int64Array
    keys: Column
    agreements: Int64Array | None


@dataclass(frozen=True)
class Limit:
    """When `Store.search` ends the examination of a query; each row counts once, wherever it is met.

    Parameters
    ----------
    kind : {"first", "closest"}
        "first" ends at the first row at most `within` away, and counts only the rows beyond. "closest" counts all rows.
    count : int
        The most rows that count; at least 1.
    """

    kind: Literal["first", "closest"]
    count: int

    def __post_init__(self) -> None:
        if self.kind not in ("first", "closest"):
            raise ValueError(f"kind must be 'first' or 'closest', not {self.kind!r}")
        object.__setattr__(self, "count", check_int("count", self.count, 1, 2**62))


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """The arguments of `Store.search`, which checks them."""

    buckets: UInt64Array
    points: UInt64Array
    measure: Measure
    most: int | None
    within: float | None
    limit: Limit | None
    threads: int


class Neighbors(NamedTuple):
    """The neighbors of m queries, each query's nearest first; equally near ones are in the order of their keys.

    `offsets` is int64 (m + 1,). The neighbors of query i are ``keys[offsets[i]:offsets[i + 1]]``, at the same places of
    `distances`, float64. `examined`, int64 (m,), is the number of rows whose distance was computed for each query.
    """

    offsets: Int64Array
    keys: Column
    distances: Float64Array
    examined: Int64Array


Answers = TypeVar("Answers", Found, Neighbors)


def joined(parts: list[Answers]) -> Answers:
    """Return the answers to several batches of queries, at least one, as one."""
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
    columns = zip(*(part[2:] for part in parts), strict=True)
    values: list[Any] = [None if column[0] is None else np.concatenate(column) for column in columns]
    return type(parts[0])(offsets, concatenate([part.keys for part in parts]), *values)


class Store(ABC):
    """Base class of stores, which hold entries (keys and signatures) and the bands that find them.

    A candidate of a query is an entry that equals it in all rows of at least one band. The signature of an empty set,
    all ones, is stored, and is never a candidate.

    Attributes
    ----------
    parameters : Parameters or None
        Parameters of the entries; None until `bind` is called.
    """

    parameters: Parameters | None

    @property
    @abstractmethod
    def kind(self) -> str | None:
        """Type of the keys: "int", "str" or "object"; None if there are no keys, "object" if it is not known."""

    @abstractmethod
    def bind(self, parameters: Parameters) -> None:
        """Store the parameters, or compare them with those that are stored.

        Raises
        ------
        ValueError
            If they differ from the stored ones; the error names the parameter.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of entries."""

    @abstractmethod
    def contains(self, keys: Column) -> BoolArray:
        """Return which keys have an entry, bool (n,)."""

    @abstractmethod
    def insert(self, keys: Column, signatures: UInt64Array, on_duplicate: OnDuplicate, *, copy: bool = True) -> int:
        """Store entries, all of the batch or none.

        Parameters
        ----------
        keys : Column
            n keys.
        signatures : ndarray of uint64, shape (n, num_perm)
        on_duplicate : {"error", "replace", "skip"}
            What to do if a key is stored already, or twice in the batch: raise an error, store the last signature, or
            keep the first one.
        copy : bool
            False if the signatures will never change, so that the store need not copy them.

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        DuplicateKeyError
            If a key is a duplicate and `on_duplicate` is "error"; the error names the first one. Nothing is inserted.
        """

    def check_kind(self, kind: str) -> None:  # noqa: B027 (most stores accept keys of all types)
        """Raise TypeError if keys of this type ("int", "str", or "object" for all others) cannot be added."""

    @abstractmethod
    def remove(self, keys: Column) -> None:
        """Remove the entries of some keys; a key may be repeated.

        Raises
        ------
        KeyError
            With the first key that has no entry; nothing is removed.
        """

    @abstractmethod
    def query(self, signatures: UInt64Array, *, least: int | None, threads: int, most: int | None = None) -> Found:
        """Find the candidates of each query.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (m, num_perm)
        least : int or None
            Omit candidates with fewer equal slots; None returns all candidates without counting equal slots.
        threads : int
            At least 1; the result does not depend on it.
        most : int, optional
            With `least`: only so many candidates, those with the most equal slots, are wanted. A store may return more.
        """

    def search(
        self,
        buckets: UInt64Array,
        points: UInt64Array,
        *,
        most: int | None = None,
        within: float | None = None,
        limit: Limit | None = None,
        threads: int = 1,
    ) -> Neighbors:
        """Find the entries that share a bucket with each of m queries, and their distances to it.

        Each entry that shares a bucket is examined once: its distance is computed by the `measure` of the parameters,
        from its payload and that of the query.

        Parameters
        ----------
        buckets : ndarray of uint64, shape (m, bands, probes)
            The values of the buckets that are searched in each band, the most promising first; all ones for none. The
            first buckets of all bands are searched before the second ones.
        points : ndarray of uint64, shape (m, payload)
        most : int, optional
            Return only so many of the nearest entries; at least 1.
        within : float, optional
            Return only entries at this distance or less.
        limit : Limit, optional
            End the examination of a query early. Which entries are examined then depends on the store.
        threads : int
            At least 1; the result does not depend on it.
        """
        p = self.parameters
        if p is None or not p.measure or not p.apart:
            raise ValueError("the parameters of the store name no measure: its rows have no distances")
        if buckets.ndim != 3 or buckets.shape[1] != p.bands or not buckets.shape[2] or buckets.dtype != np.uint64:
            raise ValueError(f"buckets must be uint64 (m, {p.bands}, probes), not {buckets.dtype} {buckets.shape}")
        if points.shape != (len(buckets), p.payload) or points.dtype != np.uint64:
            raise ValueError(f"points must be uint64 {len(buckets), p.payload}, not {points.dtype} {points.shape}")
        if most is not None:
            most = check_int("most", most, 1, 2**62)
        if within is not None and np.isnan(check_number("within", within)):
            raise ValueError("within must be a number, not NaN")
        buckets, points = np.ascontiguousarray(buckets), np.ascontiguousarray(points)
        return self._search(SearchRequest(buckets, points, measure_of(p.measure), most, within, limit, threads))

    def _search(self, search: SearchRequest) -> Neighbors:
        """Do what `search` does, with checked arguments."""
        from lshfast.index.stores.searching import search_candidates

        assert self.parameters is not None
        return search_candidates(self, self.parameters, search)

    def entries_of(self, keys: Column) -> tuple[Column, UInt64Array]:
        """Return those of these keys that have an entry, and their signatures."""
        wanted = set(listed(keys))
        held = [(key, row) for some, rows in self.items() for key, row in zip(listed(some), rows, strict=True)]
        found = [(key, row) for key, row in held if key in wanted]
        assert self.parameters is not None
        rows = np.array([row for _, row in found], np.uint64).reshape(-1, self.parameters.words)
        return as_column([key for key, _ in found]), rows

    @abstractmethod
    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        """Yield all entries, in batches of keys and signatures."""

    @abstractmethod
    def stats(self) -> dict[str, int]:
        """Return figures of the store, by name."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections; afterwards, only this method may be called."""

    def insert_one(self, key: Any, signature: UInt64Array, on_duplicate: OnDuplicate) -> int:
        """Store one entry, with a signature (num_perm,)."""
        return self.insert(as_column([key]), signature[np.newaxis], on_duplicate)

    def contains_one(self, key: Any) -> bool:
        """Return whether a key has an entry."""
        return bool(self.contains(as_column([key]))[0])

    def remove_one(self, key: Any) -> None:
        """Remove the entry of one key, as `remove` does."""
        self.remove(as_column([key]))

    def query_one(self, signature: UInt64Array, least: int | None) -> tuple[list[Any], list[int] | None]:
        """Find the candidates of one signature, (num_perm,); return their keys and numbers of equal slots."""
        found = self.query(signature[np.newaxis], least=least, threads=1)
        return listed(found.keys), None if found.agreements is None else found.agreements.tolist()

    def all_keys(self) -> Iterator[Column]:
        """Yield all keys, in batches."""
        for keys, _ in self.items():
            yield keys

    def bucket_sizes(self) -> tuple[Int64Array, int, float]:
        """Return the numbers of buckets with 1, 2-3, 4-7, ... rows, the largest size, and the sum of the squared sizes.

        A store that cannot count them without reading all entries returns zeros.
        """
        return np.zeros(32, np.int64), 0, 0.0

    def commit(self, progress: Progress | None = None) -> None:  # noqa: B027 (most stores write immediately)
        """Make all changes persistent."""

    def compact(self, progress: Progress | None = None) -> None:  # noqa: B027
        """Release the space of removed entries."""

    def verify(self) -> None:  # noqa: B027
        """Check all stored data.

        Raises
        ------
        lshfast.FormatError
            If something is damaged; the error names it.
        """

    def abandon(self) -> None:
        """Close without a commit."""
        self.close()
