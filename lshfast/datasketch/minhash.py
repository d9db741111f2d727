"""MinHash with datasketch's face: a sketch that is updated, compared and merged, over the kernels of batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import ordered_map, thread_count
from lshfast.common.types import Int64Array, UInt64Array
from lshfast.datasketch.hashfunc import Hasher, sha1_hash32, sha1_hash64
from lshfast.datasketch.schemes import (
    SCHEMES,
    Permutations,
    SchemeName,
    Values,
    agreements,
    count,
    integers,
    is_empty,
    permutations_for,
    permutations_of,
    same_values,
    scheme_of,
)
from lshfast.kernels.affine import Tokens

__all__ = ["MinHash", "hashvalue_byte_size", "sha1_hash32", "sha1_hash64"]

Sketch = TypeVar("Sketch", bound="MinHash")

# Bytes of a hash value of the schemes of 64 bits, as datasketch has it.
hashvalue_byte_size = 8

# The most functions there can be, as a number of 4 bytes says how many.
MOST_FUNCTIONS = 2**32

# Tokens that `bulk` hashes at a time: enough to be worth a thread's while; fewer where there is one thread, as memory
# for more would come from the system, and go back to it, each time.
BATCH, SMALL_BATCH = 1 << 15, 1 << 13

GPU_MODES = ("disable", "detect", "always")

# The default hash functions, by the name of the scheme.
HASHERS = {scheme.name: Hasher(scheme.hashfunc, scheme.bits, scheme.name) for scheme in SCHEMES.values()}


class MinHash:
    """Estimate the Jaccard similarity of sets from a sketch that is updated token by token or batch by batch.

    The face is that of datasketch 2.0, and so are the hash values of its schemes, bit for bit: ``affine32`` (32 bits;
    the default, so that sketches stored by datasketch and made here after an import swap can be compared), ``affine64``
    (64 bits, for sets of 10**8 elements and more) and ``legacy`` (what datasketch made before 2.0; biased, for old
    values only). ``classic`` and ``fast`` are this library's own 64-bit signatures, equal to those of `MinHasher` for
    the same tokens; ``fast`` is many times faster. Sketches of different schemes, seeds or lengths are never compared.

    Parameters
    ----------
    num_perm : int, default 128
        Functions, and hash values, k; at most 65,536 for ``classic`` and ``fast``. Not used where hashvalues are given.
    seed : int, default 1
        What the functions are drawn from: in 0..2**32 - 1, or 0..2**64 - 1 for ``classic`` and ``fast``.
    gpu_mode : {"disable", "detect", "always"}, default "disable"
        There is no way over a GPU here: with ``always``, `update_batch` raises RuntimeError.
    hashfunc : callable, optional
        Takes a token and returns an int: below 2**32 for ``affine32``, below 2**64 for the others. By default
        `sha1_hash32` (`sha1_hash64` for ``affine64``) of bytes; for ``classic`` and ``fast`` the library's own hash of
        str, bytes and int, as `TokenSets.from_sets` takes it. The defaults run in C without a call for each token.
    hashobj : object, optional
        Without effect; deprecated.
    hashvalues : array_like of int, shape (num_perm,), optional
        Values of another sketch to begin with; scheme must be given with them.
    permutations : pair of array_like of int, shape (num_perm,), optional
        Multipliers and summands in place of drawn ones; scheme must be given with them. Sketches of others than those
        of the seed are compared only with their like.
    scheme : {"affine32", "affine64", "legacy", "classic", "fast"}, optional
        ``affine32`` by default.

    Attributes
    ----------
    hashvalues : ndarray of uint32 (``affine32``) or uint64, shape (num_perm,)
        An update puts a new array in its place, and so may you: integers of another dtype are taken as the scheme's.
    permutations : ndarray of the same dtype, shape (2, num_perm), or None
        Multipliers and summands; None for ``classic`` and ``fast``. They cannot be written to; others may be put in
        their place, and are checked when they are used.
    seed, num_perm, scheme, hashfunc
        As given.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> from lshfast.datasketch import MinHash
    >>> a, b = MinHash(num_perm=256), MinHash(num_perm=256)
    >>> a.update_batch([b"minhash", b"is", b"a", b"sketch"])
    >>> b.update_batch([b"minhash", b"is", b"a", b"summary"])
    >>> abs(a.jaccard(b) - 0.6) < 0.15
    True
    """

    scheme: SchemeName
    seed: int
    num_perm: int
    hashvalues: Values
    hashfunc: Callable[[Any], Any]
    permutations: Values | None
    _hasher: Hasher  # of the hashfunc, unless another was put in its place
    _used: Permutations  # with the array of the permutations, unless others were put in their place

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: Literal["disable", "detect", "always"] = "disable",
        hashfunc: Callable[[Any], Any] | None = None,
        hashobj: object = None,
        hashvalues: npt.ArrayLike | None = None,
        permutations: Any = None,
        scheme: SchemeName | None = None,
    ) -> None:
        if scheme is None:
            if hashvalues is not None or permutations is not None:
                raise ValueError(
                    "scheme must be given with hashvalues or permutations: that of the MinHash they come from, "
                    "'legacy' if datasketch before 2.0 made them"
                )
            scheme = "affine32"
        kind = scheme_of(scheme)
        self.scheme = scheme
        if hashobj is not None:
            warnings.warn("hashobj is deprecated and has no effect; give hashfunc", DeprecationWarning, stacklevel=2)
        if gpu_mode not in GPU_MODES:
            raise ValueError(f"gpu_mode must be one of {', '.join(GPU_MODES)}, not {gpu_mode!r}")
        if hashfunc is not None and not callable(hashfunc):
            raise ValueError(f"hashfunc must be callable, not {hashfunc!r}")
        if hashvalues is not None:
            hashvalues = integers(hashvalues, kind.dtype, kind.greatest, "hashvalues")
            num_perm = len(hashvalues)
        self.num_perm = check_num_perm(num_perm)
        self.seed = check_int(seed, "seed")
        self._gpu_mode = gpu_mode
        self._hasher = HASHERS[scheme] if hashfunc is None else Hasher(hashfunc, kind.bits, scheme)
        self.hashfunc = self._hasher.hashfunc
        self._used = permutations_for(scheme, self.seed, self.num_perm, permutations)
        self.permutations = self._used.array
        self.hashvalues = np.full(self.num_perm, kind.greatest, kind.dtype) if hashvalues is None else hashvalues

    @property
    def _given(self) -> bytes | None:
        """The digest of permutations that were given; None for those of the seed."""
        used = self._used
        return (used if used.array is self.permutations else self._refresh()[1]).given

    def _refresh(self) -> tuple[Hasher, Permutations]:
        """Return the hasher and the permutations, made anew for attributes that were replaced."""
        kind = SCHEMES[self.scheme]
        if self._hasher.hashfunc is not self.hashfunc:
            self._hasher = Hasher(self.hashfunc, kind.bits, self.scheme)
        if self._used.array is not self.permutations:
            self._used = permutations_for(self.scheme, self.seed, self.num_perm, self.permutations)
            self.permutations = self._used.array
        return self._hasher, self._used

    def _tools(self) -> tuple[Hasher, Permutations]:
        hasher, used = self._hasher, self._used
        if hasher.hashfunc is not self.hashfunc or used.array is not self.permutations:
            return self._refresh()
        return hasher, used

    def _copied(self) -> Values:
        """Return a copy of the hash values as the kernels take them."""
        values, kind = self.hashvalues, SCHEMES[self.scheme]
        if getattr(values, "dtype", None) is kind.dtype:
            return values.copy()
        return integers(values, kind.dtype, kind.greatest, "hashvalues")

    def update(self, b: Any) -> None:
        """Add a token.

        Parameters
        ----------
        b : bytes-like
            Or whatever `hashfunc` takes.

        Raises
        ------
        TypeError, ValueError
            If the token cannot be hashed, or `hashfunc` returns no int, or one out of range.
        """
        hasher, used = self._hasher, self._used
        if hasher.hashfunc is not self.hashfunc or used.array is not self.permutations:
            hasher, used = self._refresh()
        number = hasher.check(hasher.hashfunc(b))
        values = self._copied()
        used.functions.lower(number, values)
        self.hashvalues = values

    def update_batch(self, b: Iterable[Any]) -> None:
        """Add tokens; the result is that of an `update` with each.

        Parameters
        ----------
        b : iterable of bytes-like
            Or of whatever `hashfunc` takes. If one cannot be hashed none is added.

        Raises
        ------
        RuntimeError
            If gpu_mode is ``always``.
        TypeError, ValueError
            As `update`.
        """
        if b is None:
            raise TypeError("b must be an iterable of tokens, not None")
        hasher, used = self._tools()
        values = self._copied()
        if hasher.lower(used.functions, b, values):
            self._refuse_gpu()
            self.hashvalues = values

    def _refuse_gpu(self) -> None:
        if self._gpu_mode == "always":
            raise RuntimeError("gpu_mode 'always' asks for a GPU, which this library does not use")

    def jaccard(self, other: MinHash) -> float:
        """Estimate the Jaccard similarity of both sets.

        Parameters
        ----------
        other : MinHash
            Of the same scheme, seed and length; also a LeanMinHash, or one of datasketch.

        Returns
        -------
        float
            In [0, 1]; 1 where both sets are empty, and 0 where one is.

        Raises
        ------
        ValueError
            If the other is of another scheme, seed, length or set of permutations.
        """
        check_alike(self, other, "compared")
        return agreements(self.hashvalues, other.hashvalues) / len(self.hashvalues)

    def count(self) -> float:
        """Estimate the number of distinct tokens (Cohen 1997): 0 or more.

        Returns
        -------
        float
            Its standard error is about 1 / sqrt(num_perm) of it.
        """
        return count(SCHEMES[self.scheme], self.hashvalues, self.seed)

    def merge(self, other: MinHash) -> None:
        """Become the sketch of the union of both sets.

        Parameters
        ----------
        other : MinHash
            Of the same scheme, seed and length.

        Raises
        ------
        ValueError
            If it is not.
        """
        check_alike(self, other, "merged")
        self.hashvalues = np.minimum(other.hashvalues, self.hashvalues)

    def digest(self) -> Values:
        """Return a copy of the hash values."""
        return self.hashvalues.copy()

    def is_empty(self) -> bool:
        """Tell whether no token was added since the beginning."""
        return is_empty(SCHEMES[self.scheme], self.hashvalues)

    def clear(self) -> None:
        """Become the sketch of the empty set."""
        kind = SCHEMES[self.scheme]
        self.hashvalues = np.full(len(self), kind.greatest, kind.dtype)

    def copy(self: Sketch) -> Sketch:
        """Return a copy that is updated on its own."""
        return self._with(self.hashvalues.copy())

    def __copy__(self: Sketch) -> Sketch:
        return self._with(self.hashvalues)

    def __deepcopy__(self: Sketch, memo: dict[int, Any]) -> Sketch:
        memo[id(self)] = made = self.copy()
        for name, value in self.__dict__.items():
            if name not in SHARED:
                made.__dict__[name] = deepcopy(value, memo)
        return made

    def _with(self: Sketch, values: Values) -> Sketch:
        """Return the same with other hash values."""
        made = object.__new__(type(self))
        made.__dict__ = state = self.__dict__.copy()
        state["hashvalues"] = values
        return made

    def __len__(self) -> int:
        """Return the number of hash values."""
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        """Tell whether both are of one class, scheme and seed, and have the same hash values."""
        return (
            type(self) is type(other)
            and isinstance(other, MinHash)
            and self.scheme == other.scheme
            and self.seed == other.seed
            and same_values(self.hashvalues, other.hashvalues)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @classmethod
    def union(cls: type[Sketch], *mhs: MinHash) -> Sketch:
        """Return the sketch of the union of two sets or more.

        Parameters
        ----------
        *mhs : MinHash
            At least two, of the same scheme, seed and length.

        Raises
        ------
        ValueError
            If there are fewer, or they differ in that.
        """
        values, first = united(mhs), mhs[0]
        return cls(
            seed=first.seed,
            gpu_mode=getattr(first, "_gpu_mode", "disable"),
            hashfunc=getattr(first, "hashfunc", None),
            hashvalues=values,
            permutations=None if permutations_of(first) is None else first.permutations,
            scheme=first.scheme,
        )

    @classmethod
    def bulk(
        cls: type[Sketch], b: Iterable[Iterable[Any]], *, threads: int | None = None, **minhash_kwargs: Any
    ) -> list[Sketch]:
        """Return the sketches of many sets.

        Parameters
        ----------
        b : iterable of iterables of bytes-like
            The tokens of each set, or whatever `hashfunc` takes.
        threads : int, optional
            At least 1; the CPUs this process may use by default. The result does not depend on it.
        **minhash_kwargs
            What the sketches are made with.

        Returns
        -------
        list of MinHash

        Examples
        --------
        >>> from lshfast.datasketch import MinHash
        >>> [sketch.is_empty() for sketch in MinHash.bulk([[b"a", b"b"], []], num_perm=64)]
        [False, True]
        """
        threads = thread_count(threads)
        base = cls(**minhash_kwargs)
        if cls.update_batch is not MinHash.update_batch:
            return [base._updated(row) for row in b]
        batches = base._tools()[0].batches(b, BATCH if threads > 1 else SMALL_BATCH)
        first = next(batches, None)
        if first is None:
            return []
        second = next(batches, None)
        made = base._rows(first)
        if second is not None:
            for more in ordered_map(base._rows, _chained(second, batches), threads):
                made += more
        return made

    @classmethod
    def generator(cls: type[Sketch], b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Iterator[Sketch]:
        """Yield the sketches of many sets, each when it is asked for; nothing is read ahead.

        Parameters
        ----------
        b : iterable of iterables of bytes-like
            The tokens of each set, or whatever `hashfunc` takes.
        **minhash_kwargs
            What the sketches are made with.
        """
        base = cls(**minhash_kwargs)
        for row in b:
            yield base._updated(row)

    def _updated(self: Sketch, tokens: Iterable[Any]) -> Sketch:
        made = self.copy()
        made.update_batch(tokens)
        return made

    def _rows(self: Sketch, batch: tuple[Int64Array, UInt64Array | Tokens]) -> list[Sketch]:
        """Return a sketch for each row of a batch."""
        offsets, hashes = batch
        if offsets[-1]:
            self._refuse_gpu()
        if isinstance(hashes, Tokens):
            hashes = hashes.sha1(self._hasher.sha1)
        values = np.empty((len(offsets) - 1, len(self)), self.hashvalues.dtype)
        values[:] = self.hashvalues
        self._used.functions.lower_rows(offsets, hashes, values)
        made, kind, state, new = [], type(self), self.__dict__, object.__new__
        for row in values:
            one = new(kind)
            one.__dict__ = held = state.copy()
            held["hashvalues"] = row.copy()
            made.append(one)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return what each version of Python and numpy reads: hash values as bytes, no functions that were drawn."""
        hasher, used = self._tools()
        state = self.__dict__.copy()
        del state["_hasher"], state["_used"]
        state["hashfunc"] = None if hasher.hashfunc is SCHEMES[self.scheme].hashfunc else hasher.hashfunc
        state["hashvalues"] = _little_endian(self._copied())
        given = None if used.given is None else used.array
        state["permutations"] = None if given is None else [_little_endian(row) for row in given]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the state of a pickle: of one of datasketch too, which says no scheme if it was made before 2.0."""
        state = {"scheme": "legacy", "_gpu_mode": "disable", **state}
        kind = scheme_of(state["scheme"])
        hashfunc, permutations = state.pop("hashfunc"), state.pop("permutations")
        values = _read(state["hashvalues"], kind.dtype)
        state["hashvalues"] = integers(values, kind.dtype, kind.greatest, "hashvalues")
        self.__dict__.update(state)
        self._hasher = HASHERS[kind.name] if hashfunc is None else Hasher(hashfunc, kind.bits, kind.name)
        self.hashfunc = self._hasher.hashfunc
        given = None if permutations is None else [_read(row, kind.dtype) for row in permutations]
        self._used = permutations_for(kind.name, self.seed, len(self.hashvalues), given)
        self.permutations = self._used.array


# Attributes that copies share because they are immutable, or that copying makes anew.
SHARED = frozenset(
    ["scheme", "seed", "num_perm", "_gpu_mode", "hashfunc", "_hasher", "permutations", "_used", "hashvalues"]
)


def _little_endian(values: Values) -> bytes:
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


def _read(data: Any, dtype: np.dtype[Any]) -> Any:
    """Return the integers that `_little_endian` wrote; those of a pickle of datasketch are arrays already."""
    return np.frombuffer(data, dtype.newbyteorder("<")) if isinstance(data, bytes) else data


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def check_int(number: Any, name: str) -> int:
    """Return an integer as an int, or say what it is."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise TypeError(f"{name} must be an int, not {number!r}")
    return int(number)


def check_num_perm(num_perm: Any) -> int:
    """Return a number of functions as an int, or say what is wrong with it."""
    number = check_int(num_perm, "num_perm")
    if not 1 <= number <= MOST_FUNCTIONS:
        raise ValueError(f"num_perm must be in 1..{MOST_FUNCTIONS}, not {number}")
    return number


def united(sketches: tuple[MinHash, ...]) -> Values:
    """Return the hash values of the union of two sketches or more, or raise ValueError if they are not alike."""
    if len(sketches) < 2:
        raise ValueError(f"union takes two sketches or more, not {len(sketches)}")
    for other in sketches[1:]:
        check_alike(sketches[0], other, "united")
    values: Values = np.minimum.reduce([sketch.hashvalues for sketch in sketches])
    return values


def check_alike(a: MinHash, b: MinHash, what: str) -> None:
    """Raise ValueError unless two sketches are of one scheme, seed, length and set of functions."""
    try:
        if (
            isinstance(b, MinHash)
            and a.scheme == b.scheme
            and a.seed == b.seed
            and len(a.hashvalues) == len(b.hashvalues)
            and a._given == b._given
        ):
            return
    except AttributeError:  # of datasketch, or no sketch
        pass
    if getattr(b, "scheme", None) != a.scheme:
        raise ValueError(f"sketches of schemes {a.scheme!r} and {getattr(b, 'scheme', None)!r} cannot be {what}")
    if b.seed != a.seed:
        raise ValueError(f"sketches of seeds {a.seed} and {b.seed} cannot be {what}")
    if len(b) != len(a):
        raise ValueError(f"sketches of {len(a)} and {len(b)} hash values cannot be {what}")
    if permutations_of(a) != permutations_of(b):
        raise ValueError(f"sketches of different permutations cannot be {what}")
