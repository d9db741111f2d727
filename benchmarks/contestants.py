"""The contestants of index.py: indexes behind one face, which loops where a contestant has no batches.

All are given the same signatures: rensa and datasketch, whose slots have 32 bits, the upper halves, as sketches of
their own kind. gaoya is missing: its index takes texts and tokens, and no signatures.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from contest import BANDS, PERMUTATIONS, ROWS, SEED, THRESHOLD

PIECE = 10_000  # sketches of rensa restored at a time
TOKENS = 16  # tokens a sketch of rensa's matrix


class Contestant:
    """An index of a peer: its own kind of sketches, and a loop wherever it has no batches."""

    index: Any
    exact = strings = (
        True  # its bands match in all slots or not at all; its keys may be str
    )

    def sketches(self, signatures: np.ndarray) -> Sequence[Any]:
        """Return what this contestant takes in place of signatures."""
        raise NotImplementedError

    def keys(self, rows: np.ndarray) -> Any:
        return rows.tolist()

    def insert(self, keys: Sequence[Any], sketches: Sequence[Any]) -> None:
        for key, sketch in zip(keys, sketches, strict=True):
            self.index.insert(key, sketch)

    def remove(self, keys: Sequence[Any]) -> None:
        for key in keys:
            self.index.remove(key)

    def query(self, sketches: Sequence[Any]) -> Any:
        return [*map(self.index.query, sketches)]

    def similar(self, sketches: Sequence[Any]) -> Any:
        """Return candidates with estimates of the threshold or more, of all sketches: their keys are their places."""
        found = zip(sketches, self.query(sketches), strict=True)
        return [
            [(key, s) for key in keys if (s := own.jaccard(sketches[key])) >= THRESHOLD]
            for own, keys in found
        ]

    def candidates(self, sketches: Sequence[Any]) -> list[Sequence[int]]:
        return self.query(sketches)

    def save(self, path: Path) -> None:
        with open(path, "wb") as file:
            pickle.dump(self.index, file, protocol=pickle.HIGHEST_PROTOCOL)

    def open(self, path: Path) -> None:
        with open(path, "rb") as file:
            self.index = pickle.load(file)


class Lshfast(Contestant):
    """It keeps the array of the signatures, as the peers' callers keep their sketches, unless it is to copy it."""

    def __init__(self, store: Any = None, copy: bool = False) -> None:
        from lshfast import LSHIndex

        self.copy = copy
        self.index = LSHIndex(
            THRESHOLD, PERMUTATIONS, bands=BANDS, rows_per_band=ROWS, store=store
        )

    def sketches(self, signatures: np.ndarray) -> np.ndarray:
        return np.array(signatures)

    def keys(self, rows: np.ndarray) -> np.ndarray:
        return rows

    def insert(self, keys: Sequence[Any], sketches: Sequence[Any]) -> None:
        self.index.insert(keys, sketches, copy=self.copy)

    def remove(self, keys: Sequence[Any]) -> None:
        self.index.remove(keys)

    def query(self, sketches: Sequence[Any]) -> Any:
        return self.index.query(sketches, threads=1)

    def similar(self, sketches: Sequence[Any]) -> Any:
        return self.index.query(sketches, threshold=THRESHOLD, threads=1)

    def candidates(self, sketches: Sequence[Any]) -> list[Sequence[int]]:
        found = self.query(sketches)
        return np.split(np.asarray(found.keys), found.offsets[1:-1])

    def save(self, path: Path) -> None:
        self.index.save(path)

    def open(self, path: Path) -> None:
        self.index = type(self.index).open(path)


class Rensa(Contestant):
    exact = strings = (
        False  # bands are compared by a hash, and keys are integers of 0 and above
    )

    def __init__(self) -> None:
        from rensa import RMinHashLSH

        self.index = RMinHashLSH(THRESHOLD, PERMUTATIONS, BANDS)

    def sketches(self, signatures: np.ndarray) -> list[Any]:
        """Restore sketches from their state, which ends in the slots: seven bits a byte, the lowest first.

        A slot has five bytes if it is 2**28 or more, as all of an empty sketch are.
        """
        from rensa import RMinHash

        head = RMinHash(PERMUTATIONS, SEED).__getstate__()[: -5 * PERMUTATIONS]
        shifts, more = (
            np.arange(32, 64, 7, dtype=np.uint64),
            np.array([128, 128, 128, 128, 0], np.uint8),
        )
        made = []
        for first in range(0, len(signatures), PIECE):
            slots = (signatures[first : first + PIECE, :, None] >> shifts).astype(
                np.uint8
            ) & 127 | more
            for state in slots.reshape(len(slots), -1):
                sketch = RMinHash(PERMUTATIONS, SEED)
                sketch.__setstate__(head + state.tobytes())
                made.append(sketch)
        if made[-1].digest() != (signatures[-1] >> np.uint64(32)).tolist():
            raise RuntimeError(
                "this version of rensa keeps the state of a sketch in another form"
            )
        return made

    def matrix(self, n: int) -> Any:
        from rensa import RMinHash

        tokens = np.random.default_rng(SEED).integers(
            0, 2**64, TOKENS * n, dtype=np.uint64
        )
        make = RMinHash.digest_matrix_from_flat_token_hashes
        return make(tokens, np.arange(n + 1) * TOKENS, PERMUTATIONS, SEED)

    def insert(self, keys: Sequence[Any], sketches: Sequence[Any]) -> None:
        """Insert a batch in the fastest way: keys in sequence are not passed."""
        if len(keys) == keys[-1] - keys[0] + 1 and all(
            a < b for a, b in pairwise(keys)
        ):
            self.index.insert_many(sketches, keys[0])
        else:
            self.index.insert_pairs(zip(keys, sketches, strict=True))

    def query(self, sketches: Sequence[Any]) -> Any:
        return self.index.query_all(sketches)


class Datasketch(Contestant):
    def __init__(self) -> None:
        from datasketch import MinHashLSH

        self.index = MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS))

    def sketches(self, signatures: np.ndarray) -> list[Any]:
        return lean_minhashes(signatures)


def lean_minhashes(signatures: np.ndarray) -> list[Any]:
    """Return sketches of datasketch, whose slots are the upper halves of the signatures'."""
    from datasketch import LeanMinHash

    halves = ((row >> np.uint64(32)).astype(np.uint32) for row in signatures)
    return [
        LeanMinHash(seed=SEED, hashvalues=half, scheme="affine32") for half in halves
    ]


CONTESTANTS: dict[str, Callable[[], Contestant]] = {
    "lshfast": Lshfast,
    "rensa": Rensa,
    "datasketch": Datasketch,
}
