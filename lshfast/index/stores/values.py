"""What passes between an index and its store: parameters, limits of a search, and answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.choices import OnDuplicate as OnDuplicate
from lshfast._common.rows import offsets_of
from lshfast._common.types import Float64Array, Int64Array, UInt8Array, UInt64Array
from lshfast.index.keys import Column, concatenate, duplicate
from lshfast.index.measure import MOST_WORDS, Measure, measure_of

# The most bytes of the description of a family.
MOST_FAMILY = 1 << 20

# Words of the head of a code, which a search by codes scans.
HEAD_WORDS = 2


@dataclass(frozen=True)
class Parameters:
    """The parameters of an index, which are the same for all entries.

    Parameters
    ----------
    num_perm : int
        Slots of a signature, k.
    bands, rows_per_band : int
        Numbers of bands, and of rows (slots) per band; bands * rows_per_band is at most num_perm.
    scheme : str
        Scheme of the MinHasher.
    seed : int
        Seed of the MinHasher, in 0..2**64 - 1.
    threshold : float or None
        The similarity, in (0, 1], that the bands were chosen for; None if it is not known.
    shingles : str
        Name of the shingles: "word:5", "char:9", "symbol:5", "stopword:3:en", with a normal form
        "word:5:nfc" or "stop:3:en:nfkc", another name of up to 16 ASCII characters, or "" if it is
        not known.
    family : str
        Description of the family of hash functions (`Family.describe`), at most 2**20 bytes of
        UTF-8. "" for MinHash, where scheme and seed say the same. With a family of 1 row per band,
        a slot is the value of a bucket.
    payload : int
        Words of a row after its num_perm slots, which belong to the entry and are in no bucket.
    measure : str
        What `search` computes from the payload (`Measure.text`), or "". With "hamming", `query`
        counts the equal bits of the payload instead of equal slots.
    """

    num_perm: int
    bands: int
    rows_per_band: int
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
        if len(self.shingles) > 16 or not (
            self.shingles.isascii() and self.shingles.isprintable()
        ):
            raise ValueError(
                f"shingles must be at most 16 printable ASCII characters, not {self.shingles!r}"
            )
        if len(self.family.encode()) > MOST_FAMILY:
            raise ValueError(
                f"the description of a family must be at most {MOST_FAMILY} bytes"
            )
        if self.payload < 0 or (self.family and self.words > MOST_WORDS):
            raise ValueError(
                f"a row has at most {MOST_WORDS} words, not {self.num_perm} and {self.payload} of "
                "payload"
            )
        if self.measure and measure_of(self.measure).words != self.payload:
            raise ValueError(
                f"measure {self.measure!r} needs {measure_of(self.measure).words} words, not "
                f"{self.payload}"
            )

    @property
    def words(self) -> int:
        """64-bit words of a row: slots and payload."""
        return self.num_perm + self.payload

    @property
    def apart(self) -> bool:
        """Whether each band is judged alone: a slot of all ones is a missing value of its band."""
        return bool(self.family) and self.rows_per_band == 1

    @property
    def head(self) -> int:
        """Words of the head of a code, if the slots of a row are a code."""
        return (
            HEAD_WORDS
            if self.apart
            and self.measure
            and self.num_perm > max(self.bands, HEAD_WORDS)
            else 0
        )

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
        """Raise ValueError with the name of the first parameter that differs.

        The threshold is not compared, because only the bands determine which entries are found.
        """
        for name in (
            "family",
            "num_perm",
            "scheme",
            "seed",
            "bands",
            "rows_per_band",
            "shingles",
            "payload",
            "measure",
        ):
            mine = getattr(self, name)
            theirs = getattr(other, name)
            if mine != theirs:
                if name == "family":
                    name, mine, theirs = differing(mine, theirs)
                raise ValueError(f"{name} is {mine!r} in this index, not {theirs!r}")


def differing(family: str, other: str) -> tuple[str, Any, Any]:
    """Return the difference between two descriptions of families, and its two values.

    >>> differing(
    ...     '{"dim":8,"family":"hyperplanes","seed":1}',
    ...     '{"dim":8,"family":"hyperplanes","seed":2}',
    ... )
    ('seed of hyperplanes', 1, 2)
    """
    name: str = "family"
    # A description that some other program has stored.
    try:
        a, b = (json.loads(text or '{"family":"minhash"}') for text in (family, other))
        while isinstance(a, dict) and isinstance(b, dict):
            if a["family"] != b["family"]:
                return name, a["family"], b["family"]
            # Some parameters are stored only if they are given.
            key = next(key for key in sorted({*a, *b}) if a.get(key) != b.get(key))
            name = f"{key} of {a['family']}"
            a = a.get(key)
            b = b.get(key)
    except (
        ValueError,
        KeyError,
        RecursionError,
    ):
        return "family", family[:200], other[:200]
    return name, a, b


def check_on_duplicate(on_duplicate: OnDuplicate) -> OnDuplicate:
    """Return the argument, or raise an error that names the allowed values."""
    if on_duplicate not in get_args(OnDuplicate):
        raise ValueError(
            f"on_duplicate must be one of {', '.join(get_args(OnDuplicate))}, not {on_duplicate!r}"
        )
    return on_duplicate


def places_to_insert(
    keys: Column, old_rows: Int64Array, on_duplicate: OnDuplicate
) -> Int64Array:
    """Return the positions of the keys to insert, ascending, or raise an error for a duplicate.

    `old_rows` are the rows that the keys have. "replace" takes the last of equal keys, "skip" the
    first.
    """
    n = len(keys)
    if isinstance(keys, np.ndarray) and (keys[1:] > keys[:-1]).all():
        again = np.zeros(n, np.bool_)
    elif isinstance(keys, np.ndarray):
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        # Whether an equal key is before it, or after it for "replace".
        again = np.zeros(n, np.bool_)
        if n and on_duplicate == "replace":
            again[order[:-1]] = ordered[1:] == ordered[:-1]
        elif n:
            again[order[1:]] = ordered[1:] == ordered[:-1]
    else:
        keys_before = set[Any]()
        again = np.zeros(n, np.bool_)
        for place in range(n - 1, -1, -1) if on_duplicate == "replace" else range(n):
            again[place] = keys[place] in keys_before
            keys_before.add(keys[place])
    if on_duplicate == "error":
        again |= old_rows >= 0
        if again.any():
            raise duplicate(keys, int(np.argmax(again)))
    elif on_duplicate == "skip":
        again |= old_rows >= 0
    return np.flatnonzero(~again).astype(np.int64, copy=False)


class Found(NamedTuple):
    """The verified candidates of m queries, for each query in no particular order.

    `offsets` is int64 (m + 1,). The candidates of query i are ``keys[offsets[i]:offsets[i + 1]]``.
    `agreements`, int64 (offsets[m],), is the number of slots of each candidate that equal its
    query, or None if it was not requested.
    """

    offsets: Int64Array
    keys: Column
    agreements: Int64Array | None


@dataclass(frozen=True)
class Limit:
    """The end of the examination of a query in `Store.search`; each row counts once.

    Parameters
    ----------
    kind : {"first", "closest"}
        "first" ends at the first row at most `within` away, and counts only the rows beyond.
        "closest" counts all rows.
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


@dataclass(frozen=True, eq=False)
class CodesRequest:
    """The arguments of `Store.search_codes`, which checks them."""

    codes: UInt64Array
    points: UInt64Array
    near: UInt8Array
    enough: Float64Array
    measure: Measure
    most: int | None
    within: float | None
    limit: Limit | None
    threads: int


class Neighbors(NamedTuple):
    """The neighbors of m queries, the nearest first, equally near ones by their keys.

    `offsets` is int64 (m + 1,). The neighbors of query i are ``keys[offsets[i]:offsets[i + 1]]``,
    at the same places of `distances`, float64. `examined`, int64 (m,), is the number of rows whose
    distance was computed for each query.
    """

    offsets: Int64Array
    keys: Column
    distances: Float64Array
    examined: Int64Array


# The neighbors of one point, in the order of `Neighbors`: keys and distances, and the words of
# the point, uint64 (1, payload).
PointAnswer: TypeAlias = tuple[list[Any], list[float], UInt64Array]

FoundOrNeighbors = TypeVar("FoundOrNeighbors", Found, Neighbors)


def joined(parts: list[FoundOrNeighbors]) -> FoundOrNeighbors:
    """Return the answers to several batches of queries, at least one, as one."""
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = offsets_of(counts)
    columns = zip(*(part[2:] for part in parts), strict=True)
    values: list[Any] = [
        None if column[0] is None else np.concatenate(column) for column in columns
    ]
    return type(parts[0])(offsets, concatenate([part.keys for part in parts]), *values)
