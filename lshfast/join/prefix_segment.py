"""Sets that are indexed by their prefixes, and the exact search in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lshfast._common.threads import ordered_map
from lshfast._common.types import PairArray, UInt32Array
from lshfast.join.copies import spread_across
from lshfast.join.exact_join import ROWS
from lshfast.join.pair_arrays import as_pairs
from lshfast.join.set_ranks import Collection, RankedSets, RankedTokens
from lshfast.join.thresholds import Rule
from lshfast.kernels import setjoin
from lshfast.tokens import TokenSets


@dataclass(frozen=True)
class PrefixSegment:
    """Sets that were indexed together. It never changes."""

    collection: Collection
    tokens: RankedTokens
    indexed: RankedSets
    index: setjoin.Prefixes

    @classmethod
    def of(cls, sets: TokenSets, rule: Rule, threads: int) -> PrefixSegment:
        """Index sets."""
        collection = Collection.of(sets)
        tokens = RankedTokens([collection])
        indexed = tokens.ranked(collection, rule, False, threads)
        index = setjoin.Prefixes(rule.of_kernels, indexed.records, False)
        return cls(collection, tokens, indexed, index)

    def matches(self, queries: Collection, rule: Rule, threads: int) -> PairArray:
        """Return the pairs of a row of the segment and a query, as i, j and similarity."""
        probes = self.tokens.ranked(queries, rule, True, threads)
        n = len(probes.rows)

        def work(first: int) -> UInt32Array:
            return setjoin.Search(self.index, probes.records).run(
                first, min(n, first + ROWS)
            )

        parts = [
            np.empty((0, 3), np.uint32),
            *ordered_map(work, range(0, n, ROWS), threads),
        ]
        row, probe, overlap = np.concatenate(parts).T
        similarity = rule.similarity(
            overlap, self.indexed.records.sizes[row], probes.records.sizes[probe]
        )
        pairs = as_pairs(self.indexed.rows[row], probes.rows[probe], similarity)
        return spread_across(pairs, self.collection.copies, queries.copies)
