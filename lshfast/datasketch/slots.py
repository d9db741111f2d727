"""Sketches in indexes: their slots as rows of uint64, and the form that all share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import UInt64Array
from lshfast.datasketch.schemes import SCHEMES, integers, little_endian, permutations_of
from lshfast.sketch.minhash import EMPTY

# The largest value of datasketch's 32-bit schemes, which is the value of each slot of an empty set.
EMPTY_32 = 2**32 - 1

# Replaces the slots of an empty set whose hash values are EMPTY. Indexes do not insert rows of
# EMPTY into buckets, but here empty sets are found like others.
NOTHING = np.uint64(2**64 - 2)

PAIRS = np.dtype(np.int64)


@dataclass(frozen=True)
class Form:
    """The properties that sketches must have in common to be compared.

    Attributes
    ----------
    scheme : str or None
        None for weighted sketches.
    seed : int or None
        None if unknown.
    dtype : dtype
        The dtype of the hash values: uint32, uint64, or int64 for the pairs (k, t) of weighted
        sketches.
    permutations : bytes or None
        The digest of given permutations; None for permutations drawn from the seed.
    """

    scheme: str | None
    seed: int | None
    dtype: np.dtype[Any]
    permutations: bytes | None = None

    @classmethod
    def of(cls, sketch: Any, values: npt.NDArray[Any]) -> Form:
        """Return the form of a sketch with these hash values."""
        plain = values.ndim == 1 and values.dtype in (np.uint32, np.uint64)
        if not plain and not (
            values.ndim == 2 and values.shape[1] == 2 and values.dtype == PAIRS
        ):
            raise TypeError(
                "hashvalues must be uint32 or uint64 (n,), or int64 (n, 2) of weighted sketches, "
                f"not {values.dtype} {values.shape}"
            )
        return cls(
            getattr(sketch, "scheme", None),
            sketch.seed,
            values.dtype,
            permutations_of(sketch),
        )

    @classmethod
    def of_state(cls, state: tuple[Any, ...]) -> Form:
        """Return the form whose `state` is in a pickle."""
        scheme, seed, dtype, *permutations = state
        return cls(scheme, seed, np.dtype(dtype), *permutations)

    @property
    def state(self) -> tuple[Any, ...]:
        """The form as part of a pickle of an index."""
        permutations = () if self.permutations is None else (self.permutations,)
        return self.scheme, self.seed, self.dtype.str, *permutations

    @cached_property
    def width(self) -> int:
        """The bytes of a slot in the names of buckets: 4, 8 or 16."""
        return 16 if self.dtype == PAIRS else self.dtype.itemsize

    @property
    def empty(self) -> int:
        """The value of each slot of an empty set."""
        return EMPTY_32 if self.width == 4 or self.scheme == "legacy" else int(EMPTY)

    def check_same(self, other: Form) -> None:
        """Raise a ValueError that names the difference unless sketches can be compared."""
        if (self.dtype == PAIRS) != (other.dtype == PAIRS):
            raise ValueError("weighted sketches and others cannot be compared")
        for name, of in (
            ("scheme", "scheme"),
            ("seed", "seed"),
            ("dtype", "hash values"),
        ):
            value = getattr(self, name)
            other_value = getattr(other, name)
            if value != other_value:
                raise ValueError(
                    f"the sketches here are of {of} {value!s}, not {other_value!s}: "
                    "these cannot be compared"
                )
        if self.permutations != other.permutations:
            raise ValueError(
                "the sketches here are of other permutations: these cannot be compared"
            )

    def values_of(self, rows: UInt64Array) -> npt.NDArray[Any]:
        """Return the hash values from which these rows were made."""
        if self.dtype == PAIRS:
            return np.stack(
                [rows >> np.uint64(32), rows.astype(np.uint32).view(np.int32)], axis=-1
            ).astype(np.int64)
        values = rows.astype(self.dtype)
        if self.empty == EMPTY:
            values[(rows == NOTHING).all(axis=-1)] = EMPTY
        return values

    def buckets_of(self, row: UInt64Array, bands: int, rows: int) -> list[bytes]:
        """Return the names of the buckets of a row: each band's hash values as big-endian bytes."""
        big, is_plain = self._named
        text = (row if is_plain else self.values_of(row)).astype(big).tobytes()
        size = rows * self.width
        return [text[start : start + size] for start in range(0, bands * size, size)]

    @cached_property
    def _named(self) -> tuple[np.dtype[Any], bool]:
        """The dtype of slots in the names of buckets, and whether rows are cast to it directly."""
        return self.dtype.newbyteorder(">"), self.dtype != PAIRS and self.empty != EMPTY

    def check_width(self, width: int | None) -> None:
        """Raise ValueError unless slots of this form have `width` bytes; None is always valid."""
        if width not in (None, self.width):
            raise ValueError(
                f"the sketches on the server are of {width} bytes a slot, not {self.width}"
            )

    def to_bytes(self, values: npt.NDArray[Any]) -> bytes:
        """Return hash values as bytes that do not depend on the machine."""
        return little_endian(values)

    def of_bytes(self, data: bytes, length: int) -> npt.NDArray[Any]:
        """Return the hash values in the result of `to_bytes`, a row for each sketch."""
        pair = (2,) if self.dtype == PAIRS else ()
        return (
            np.frombuffer(data, self.dtype.newbyteorder("<"))
            .astype(self.dtype)
            .reshape(-1, length, *pair)
        )

    def row_of(self, names: list[bytes]) -> UInt64Array:
        """Return the slots in the names of these buckets."""
        return rows_of(self.values_in(names), self)

    def values_in(self, names: list[bytes]) -> npt.NDArray[Any]:
        """Return the hash values in the names of these buckets."""
        values = np.frombuffer(b"".join(names), self._named[0]).astype(self.dtype)
        return values.reshape(-1, 2) if self.dtype == PAIRS else values


def rows_of(values: npt.NDArray[Any], form: Form) -> UInt64Array:
    """Return a copy of hash values as rows of uint64, none of which is all ones.

    Stores do not insert rows of ones into buckets, but empty sets must be found here.
    """
    if form.dtype == PAIRS:
        k = values[..., 0]
        t = values[..., 1]
        if (
            k.min(initial=0) < 0
            or max(k.max(initial=0), t.max(initial=0)) >= 2**31
            or t.min(initial=0) < -(2**31)
        ):
            raise ValueError(
                "hash values of weighted sketches must be k in 0..2**31 - 1 and t of 32 bits"
            )
        return np.asarray(k << 32 | (t & EMPTY_32)).view(np.uint64)
    rows = values.astype(np.uint64)
    if form.empty == EMPTY:
        rows[(rows == EMPTY).all(axis=-1)] = NOTHING
    return rows


class SketchReader:
    """The reader of an index's sketches, which refuses those that differ in form from the first.

    Parameters
    ----------
    length : int
        Slots of each sketch.
    longer : bool, default False
        Whether longer sketches are accepted too; their first slots are used.

    Attributes
    ----------
    form : Form or None
        The form of all sketches; None before the first.
    """

    __slots__ = (
        "_dtype",
        "_empty",
        "_form",
        "_given",
        "_kind",
        "_scheme",
        "_seed",
        "_shape",
        "length",
        "longer",
    )

    length: int
    longer: bool

    def __init__(self, length: int, longer: bool = False) -> None:
        self.length = length
        self._shape = (length,)
        self.longer = longer
        self.form = None
        # The class of the last sketch, if it has an attribute for its permutations.
        self._kind: type | None = None

    @property
    def form(self) -> Form | None:
        return self._form

    @form.setter
    def form(self, form: Form | None) -> None:
        # Attributes of this object are read faster than the attributes of the form.
        self._scheme = form.scheme if form else None
        self._seed = form.seed if form else None
        self._empty = form.empty if form else 0
        self._given = form.permutations if form else None
        self._dtype = form.dtype if form is not None and form.dtype != PAIRS else None
        self._form = form

    def row(self, sketch: Any) -> UInt64Array:
        """Return a sketch as a row of uint64.

        Raises
        ------
        TypeError
            If it is not a MinHash, LeanMinHash or WeightedMinHash.
        ValueError
            If it has another number of slots, or cannot be compared with the others of the index.
        """
        return self.read(sketch)[0]

    def read(self, sketch: Any) -> tuple[UInt64Array, Form]:
        """Return a sketch's row, and its form: the object of the index, if that has one."""
        try:
            values = sketch.hashvalues
            seed = sketch.seed
            form = self._form
            if (  # like the last sketch: calling `_check` would take longer than the rest
                type(sketch) is self._kind
                and values.dtype is self._dtype
                and seed == self._seed
                and values.shape == self._shape
                and getattr(sketch, "scheme", None) == self._scheme
                and getattr(sketch, "_given", None) == self._given
                and form is not None
            ):
                row = values.astype(np.uint64)
                if (
                    self._empty == EMPTY
                    and row.item(0) == EMPTY
                    and bool((row == EMPTY).all())
                ):
                    row.fill(NOTHING)
                return row, form
            length = len(sketch)
        except (AttributeError, TypeError):
            raise _no_sketch(sketch) from None
        return self._check(sketch, length, values)

    def _check(self, sketch: Any, length: int, values: Any) -> tuple[UInt64Array, Form]:
        if not hasattr(sketch, "jaccard"):
            raise _no_sketch(sketch)
        if length != self.length:
            if length < self.length or not self.longer:
                least = "at least " if self.longer else ""
                raise ValueError(
                    f"the sketch must have {least}{self.length} slots, not {length}"
                )
            values = values[: self.length]
        kind = SCHEMES.get(getattr(sketch, "scheme", None) or "")
        # The user set the values.
        if kind is not None and getattr(values, "dtype", None) != kind.dtype:
            values = integers(values, kind.dtype, kind.greatest, "hashvalues")
        values = np.asarray(values)
        index_form = self._form
        form = Form.of(sketch, values)
        if index_form is not None:
            index_form.check_same(form)
            form = index_form
        rows = rows_of(values, form)
        if hasattr(sketch, "_given") or not hasattr(sketch, "permutations"):
            self._kind = type(sketch)
        return rows, form


def forget(thing: Any, *names: str) -> None:
    """Delete values of cached properties, so that they are made again when they are read."""
    for name in names:
        vars(thing).pop(name, None)


def check_version(state: dict[str, Any], name: str, *versions: int) -> None:
    """Raise ValueError unless a state is in a pickle of a class and one of these formats."""
    if state.get("version") not in versions:
        formats = " or ".join(map(str, versions))
        raise ValueError(f"this is no pickle of an lshfast {name} of format {formats}")


def with_attributes(
    index: Any, parts: frozenset[str], state: dict[str, Any]
) -> dict[str, Any]:
    """Return the state of a pickle, with the attributes of an index that are not in `parts`."""
    attributes = {
        name: value for name, value in vars(index).items() if name not in parts
    }
    return {**state, "attributes": attributes} if attributes else state


def _no_sketch(thing: Any) -> TypeError:
    return TypeError(
        f"a MinHash, LeanMinHash or WeightedMinHash is needed, not {type(thing).__name__}"
    )
