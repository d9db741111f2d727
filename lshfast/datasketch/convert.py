"""Convert objects of an installed datasketch to objects of this library.

Pickles of datasketch are loaded with datasketch, in a process where it is installed, and the
objects are passed to `from_datasketch`. This module does not read pickles from files. It does not
import datasketch: objects are recognised by the names of their classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lshfast.datasketch.b_bit_minhash import bBitMinHash
from lshfast.datasketch.hashfunc import sha1_hash32, sha1_hash64
from lshfast.datasketch.hyperloglog import HyperLogLog, HyperLogLogPlusPlus
from lshfast.datasketch.key_pickles import plain_loads
from lshfast.datasketch.lean_minhash import LeanMinHash
from lshfast.datasketch.lsh import MinHashLSH
from lshfast.datasketch.lshforest import MinHashLSHForest
from lshfast.datasketch.minhash import MinHash
from lshfast.datasketch.schemes import SCHEMES, Values
from lshfast.datasketch.slots import PAIRS, Form
from lshfast.datasketch.weighted_minhash import (
    WeightedMinHash,
    WeightedMinHashGenerator,
)

# The value of slots that an index did not keep. Almost no set has this value, so similarities are
# not overestimated.
UNKNOWN = 0


def from_datasketch(thing: Any, *, seed: int = 1) -> Any:
    """Return this library's equivalent of an object of datasketch.

    Parameters
    ----------
    thing : object of datasketch
        A MinHash, LeanMinHash, bBitMinHash, WeightedMinHash, WeightedMinHashGenerator,
        HyperLogLog, HyperLogLogPlusPlus, MinHashLSH or MinHashLSHForest.
        Hash values and keys are not changed. datasketch's own hash functions are replaced by this
        library's; others are kept. An index must be in memory and have no hashfunc. (An index on
        Redis needs no conversion: open it with a `MinHashLSH` with the same storage_config.)
        datasketch does not keep slots that are in no band, so that the similarities of `query`
        with_scores are too low by the share of these slots.
    seed : int, default 1
        The seed of the sketches in an index, which does not store it.

    Raises
    ------
    TypeError
        If it is none of these. An ensemble does not store sizes and a Bloom filter does not store
        slots: index their sketches again.
    ValueError
        If an index is on a server or has a hashfunc, or the kind of its sketches cannot be
        determined.

    Examples
    --------
    >>> import datasketch  # doctest: +SKIP
    >>> with open("sketches.pickle", "rb") as file:  # doctest: +SKIP
    ...     sketches = [from_datasketch(sketch) for sketch in pickle.load(file)]
    """
    for kind in type(thing).__mro__:
        if (
            kind.__module__.split(".")[0] == "datasketch"
            and kind.__name__ in CONVERTERS
        ):
            return CONVERTERS[kind.__name__](thing, seed)
    raise TypeError(
        f"from_datasketch takes {', '.join(CONVERTERS)} of datasketch, not {type(thing).__name__}"
    )


def _hashfunc(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return this library's equivalent if a function is one of datasketch's."""
    if getattr(function, "__module__", None) == "datasketch.hashfunc":
        return {"sha1_hash32": sha1_hash32, "sha1_hash64": sha1_hash64}.get(
            function.__name__, function
        )
    return function


def _minhash(thing: Any, seed: int) -> MinHash:
    return MinHash(
        seed=thing.seed,
        gpu_mode=getattr(thing, "_gpu_mode", "disable"),
        hashfunc=_hashfunc(thing.hashfunc),
        hashvalues=thing.hashvalues,
        permutations=thing.permutations,
        scheme=thing.scheme,
    )


def _lean(thing: Any, seed: int) -> LeanMinHash:
    return LeanMinHash(thing)


def _b_bit(thing: Any, seed: int) -> bBitMinHash:
    sketch = object.__new__(bBitMinHash)
    sketch.__setstate__(thing.__getstate__())
    return sketch


def _weighted(thing: Any, seed: int) -> WeightedMinHash:
    return WeightedMinHash(thing.seed, thing.hashvalues)


def _generator(thing: Any, seed: int) -> WeightedMinHashGenerator:
    return WeightedMinHashGenerator(thing.dim, thing.sample_size, thing.seed)


def _hyperloglog(thing: Any, seed: int) -> HyperLogLog:
    return HyperLogLog(reg=np.array(thing.reg), hashfunc=_hashfunc(thing.hashfunc))


def _plus_plus(thing: Any, seed: int) -> HyperLogLogPlusPlus:
    return HyperLogLogPlusPlus(
        reg=np.array(thing.reg), hashfunc=_hashfunc(thing.hashfunc)
    )


def _index(thing: Any, seed: int) -> MinHashLSH:
    if (
        type(thing.keys).__module__.split(".")[0] == "datasketch"
        and type(thing.keys).__name__ != "DictListStorage"
    ):
        raise ValueError(
            "the index is on a server: open it with MinHashLSH and the same storage_config"
        )
    if thing.hashfunc is not None:
        raise ValueError(
            "the index has a hashfunc, so that its slots are lost: insert the sketches anew"
        )
    index = MinHashLSH(
        num_perm=thing.h, params=(thing.b, thing.r), prepickle=thing.prepickle
    )
    for stored in list(thing.keys):
        names = list(thing.keys.get(stored))
        key = plain_loads(stored) if thing.prepickle else stored
        for start in range(0, len(names), thing.b):
            sketch = _sketch(
                names[start : start + thing.b], thing.r, thing.h, thing, seed
            )
            index.insert(key, sketch, check_duplication=False)
    return index


def _forest(thing: Any, seed: int) -> MinHashLSHForest:
    slots = thing.k * thing.l
    forest = MinHashLSHForest(slots, thing.l)
    for key, names in thing.keys.items():
        forest.add(key, _sketch(names, thing.k, slots, thing, seed))
    if any(thing.sorted_hashtables):
        forest.index()
    return forest


def _sketch(
    names: list[bytes], rows: int, length: int, index: Any, seed: int
) -> LeanMinHash | WeightedMinHash:
    """Return a sketch with the slots in the names of an entry's buckets, which are big-endian."""
    scheme = getattr(index, "_minhash_scheme", None)
    width = len(names[0]) // rows
    if width == 16:
        values = Form(None, seed, PAIRS).values_in(names)
        return WeightedMinHash(seed, _filled(values, length, False))
    if scheme is None and width == 8:
        # Before indexes stored their scheme, this was the only one of this width.
        scheme = "legacy"
    if scheme not in SCHEMES or width != SCHEMES[scheme].dtype.itemsize:
        raise ValueError(
            f"the index holds sketches of scheme {scheme!r} and {width} bytes a slot, which are "
            "not known"
        )
    kind = SCHEMES[scheme]
    values = Form(scheme, seed, kind.dtype).values_in(names)
    values = _filled(values, length, bool(np.all(values == kind.greatest)))
    return LeanMinHash(seed=seed, hashvalues=values, scheme=scheme)


def _filled(values: Values, length: int, is_empty: bool) -> Values:
    """Return hash values, followed by the value for unknown slots up to `length`."""
    slots = np.full(
        (length, *values.shape[1:]), values[0] if is_empty else UNKNOWN, values.dtype
    )
    slots[: len(values)] = values
    return slots


CONVERTERS: dict[str, Callable[[Any, int], Any]] = {
    "LeanMinHash": _lean,
    "MinHash": _minhash,
    "bBitMinHash": _b_bit,
    "WeightedMinHash": _weighted,
    "WeightedMinHashGenerator": _generator,
    "HyperLogLogPlusPlus": _plus_plus,
    "HyperLogLog": _hyperloglog,
    "MinHashLSH": _index,
    "MinHashLSHForest": _forest,
}
