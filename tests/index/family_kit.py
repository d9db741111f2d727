"""What the tests of indexes of families share: two families, and stages for the machine that plays beside a model."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from hypothesis import strategies as st

from lshfast import (
    LSHIndex,
)
from lshfast.families import (
    NO_VALUE,
    BitCodes,
    BitFamily,
    Family,
)
from tests.index.index_machine import Stage
from tests.index.index_model import EMPTY, IndexModel


@dataclass(frozen=True)
class Places(Family):
    """Items are rows of numbers, and the value under function j is number j; all ones for none."""

    name: ClassVar[str] = "test-places"

    shift: int = 0

    def hash(self, items, count, *, threads=None):
        return np.ascontiguousarray(items[:, :count])

    def distance(self, a, b):
        return np.count_nonzero(a != b, axis=1).astype(float)

    def collision_probability(self, distance):
        return 1 - np.asarray(distance) / 8


@dataclass(frozen=True)
class Digits(BitFamily):
    """Items are rows of zeros and ones, and the value under function j is number j; a row of all ones has none."""

    name: ClassVar[str] = "test-digits"

    def codes(self, items, count, *, threads=None):
        octets = np.packbits(items[:, :count].astype(bool), axis=1, bitorder="little")
        words = np.zeros((len(items), -(-count // 64) * 8), np.uint8)
        words[:, : octets.shape[1]] = octets
        without = (items == NO_VALUE).all(axis=1)
        words[without] = 0
        return BitCodes(words.view(np.uint64), without)

    def distance(self, a, b):
        return np.count_nonzero(a != b, axis=1).astype(float)

    def collision_probability(self, distance):
        return 1 - np.asarray(distance) / 8


class PlacesModel(IndexModel):
    """Entries with eight values each, some of them missing."""

    def agreement(self, query, key):
        count = sum(
            a == b != EMPTY for a, b in zip(query, self.entries[key], strict=True)
        )
        return count or None

    def buckets(self):
        sizes = {}
        for row in self.entries.values():
            for bucket in enumerate(row):
                if bucket[1] != EMPTY:
                    sizes[bucket] = sizes.get(bucket, 0) + 1
        return sizes


class PlacesStage(Stage):
    options: ClassVar[dict] = {"family": Places(), "bands": 8}
    rows = st.one_of(
        st.lists(st.sampled_from([0, 1, 2, EMPTY]), min_size=8, max_size=8),
        st.lists(st.sampled_from([0, 2**63, EMPTY - 1, EMPTY]), min_size=8, max_size=8),
        st.just([EMPTY] * 8),
    ).map(tuple)

    def in_memory(self, **options):
        return LSHIndex(**self.options, **options)

    def model(self):
        return PlacesModel(8, 8, 1)


class DigitsStage(PlacesStage):
    options: ClassVar[dict] = {"family": Digits(), "bands": 4, "rows_per_band": 2}
    rows = st.one_of(
        st.lists(st.integers(0, 1), min_size=8, max_size=8), st.just([EMPTY] * 8)
    ).map(tuple)
    words = 5

    def model(self):
        return IndexModel(8, 4, 2)

    def stored(self, row):
        if row[0] == EMPTY:
            return (EMPTY,) * 4 + (0,)
        return (
            *(row[2 * j] + 2 * row[2 * j + 1] for j in range(4)),
            sum(bit << j for j, bit in enumerate(row)),
        )
