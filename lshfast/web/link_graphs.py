"""Graphs whose nodes are merged: by sets of links, and by sequences of links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lshfast._common.rows import (
    concatenated,
    int64_range,
    inverse,
    offsets_of,
    run_begins,
)
from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import Int64Array, UInt32Array, UInt64Array
from lshfast.join.copies import find_copies
from lshfast.join.thresholds import Rule
from lshfast.kernels.bands import sorted_numbers
from lshfast.kernels.leaders import leaders_of_sets
from lshfast.tokens import TokenSets, places_of_rows
from lshfast.web.prefixes import Prefixes, prefix_places
from lshfast.web.urls import joined_tokens

# Bits of a hash in the rank of a shingle, which has 32.
_HASH_BITS = 27
_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


class LinkRows(NamedTuple):
    """The link sets of classes as CSR; links are ascending, in the order of the classes."""

    classes: Int64Array
    offsets: Int64Array
    links: Int64Array


class SetGraph:
    """A graph whose nodes are being merged.

    The links are stored as they were at the last compaction, between the classes of that time,
    which are its nodes. `members` are the nodes of the classes that were merged since then, and
    `links` their links. `now` is the class of each of these nodes, and at a compaction of all
    nodes. A compaction costs as much as the whole graph, so it is repeated after as many links were
    looked at. `prefixes` lists the present link sets, once a round looks at a part of the graph
    only. `left_out` and `partly_compared` mark what `max_block` has left out so far.
    """

    def __init__(
        self,
        source: Int64Array,
        target: Int64Array,
        now: Int64Array,
        rule: Rule,
        min_links: int,
        max_block: int | None,
    ) -> None:
        self.now = now
        self.left_out = np.zeros(len(now), bool)
        self.partly_compared = np.zeros(len(now), bool)
        self._rule = rule
        self._min_links = min_links
        self._max_block = max_block
        # Elements of sets are below this.
        self._elements = len(now)
        self._compact(source, target)

    def links(self) -> tuple[Int64Array, Int64Array]:
        """Return the links of the last compaction, sorted."""
        nodes = int64_range(len(self.now))
        return np.repeat(nodes, np.diff(self._out.offsets)), self._out.links

    def compact(self) -> None:
        """Store the links between the present classes."""
        self._compact(*self.links())

    def _compact(self, source: Int64Array, target: Int64Array) -> None:
        n = len(self.now)
        self.now = self.now[self.now]
        numbers = _distinct(_joined(self.now[source], self.now[target]))
        self._out = _rows_of(numbers, n)
        self._in = _rows_of(_sorted(numbers << _HALF | numbers >> _HALF), n)
        self._members: dict[int, list[Int64Array]] = {}
        self._links: dict[int, list[Int64Array]] = {}
        self._prefixes: Prefixes | None = None
        self._merged = np.zeros(n, bool)  # classes that have members
        self._work = 0

    def merges(self, changed: Int64Array | None) -> Int64Array:
        """Return the merges of a round, (k, 2): classes, and the classes that are merged into them.

        `changed` are the classes whose link sets have changed since they were compared; None: all.
        """
        if changed is not None:
            if self._work > len(self._out.links):
                self.compact()
            near_classes = self._near(changed)
            if near_classes is not None:
                return self._leaders(self._rows(near_classes))
        if self._work or self._members:
            self.compact()
        return self._leaders(self._all_rows())

    def _all_rows(self) -> LinkRows:
        """Return the link sets of all nodes of the last compaction."""
        return LinkRows(int64_range(len(self.now)), *self._out[1:])

    def merge(self, merges: Int64Array) -> Int64Array:
        """Merge classes, and return the classes whose link sets may have changed."""
        into, merged = merges.T
        if self._prefixes is not None:
            self._prefixes.drop(merged)
        nodes, owners = self._nodes(merged)
        self.now[nodes] = into[owners]
        _, places = places_of_rows(self._in.offsets, nodes)
        self._work += len(places)
        changed = np.unique(np.concatenate([into, self.now[self._in.links[places]]]))
        for label, names in _by_first(merges):
            members = self._members.setdefault(label, [np.array([label], np.int64)])
            links = self._links.setdefault(label, [self._links_of(members[0])])
            for name in names[self._merged[names]].tolist():
                members += self._members.pop(name)
                links += self._links.pop(name)
            single = names[~self._merged[names]]
            members.append(single)
            links.append(self._links_of(single))
        self._merged[merged] = False
        self._merged[into] = True
        return changed

    def _nodes(self, classes: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the nodes of classes, and for each node the place of its class."""
        places = int64_range(len(classes))
        several = self._merged[classes]
        if not several.any():
            return classes, places
        nodes = [classes[~several]]
        owners = [places[~several]]
        for place in places[several].tolist():
            members = np.concatenate(self._members[int(classes[place])])
            self._members[int(classes[place])] = [members]
            nodes.append(members)
            owners.append(np.full(len(members), place, np.int64))
        return np.concatenate(nodes), np.concatenate(owners)

    def _links_of(self, nodes: Int64Array) -> Int64Array:
        """Return the stored links of nodes."""
        _, places = places_of_rows(self._out.offsets, nodes)
        return self._out.links[places]

    def _rows(self, classes: Int64Array) -> LinkRows:
        """Return the present link sets of classes."""
        several = self._merged[classes]
        single = np.flatnonzero(~several)
        offsets, places = places_of_rows(self._out.offsets, classes[single])
        owners = [np.repeat(single, np.diff(offsets))]
        parts = [self._out.links[places]]
        merged = np.flatnonzero(several).tolist()
        for place in merged:
            parts.append(np.concatenate(self._links[int(classes[place])]))
            owners.append(np.full(len(parts[-1]), place, np.int64))
        rows = np.concatenate(owners)
        links = self.now[np.concatenate(parts)]
        self._work += len(links)
        other = links != classes[rows]
        numbers = _distinct(_joined(rows[other], links[other], same=True))
        _, offsets, links = _rows_of(numbers, len(classes))
        for place in merged:
            links_of_class = links[offsets[place] : offsets[place + 1]].copy()
            self._links[int(classes[place])] = [links_of_class]
        return LinkRows(classes, offsets, links)

    def _near(self, changed: Int64Array) -> Int64Array | None:
        """Return these classes and all with possibly similar link sets; None if too many."""
        n = len(self.now)
        prefixes = self._prefixes
        if prefixes is None:
            nodes = int64_range(n)
            prefixes = self._prefixes = Prefixes(n, self._rule, self._min_links)
            all_rows = self._all_rows()
            self._rank_elements(all_rows)
            prefixes.put(all_rows.classes, all_rows.offsets, self._ranks(all_rows))
            prefixes.drop(nodes[self.now != nodes])
        rows = self._rows(changed)
        ranks = self._ranks(rows)
        prefixes.put(changed, rows.offsets, ranks)
        near_names, count = prefixes.near(
            rows.offsets, ranks, len(self._out.links) // 2
        )
        self._work += count
        return None if near_names is None else np.union1d(changed, near_names)

    def _rank_elements(self, all_rows: LinkRows) -> None:
        """Order the elements of sets, the rarest first."""
        self._rank = inverse(np.argsort(np.diff(self._in.offsets), kind="stable"))

    def _ranks(self, rows: LinkRows) -> Int64Array:
        """Return the ranks of the links of rows, ascending: the rarest links come first."""
        owners = np.repeat(int64_range(len(rows.offsets) - 1), np.diff(rows.offsets))
        return (
            _sorted(_joined(owners, self._rank[rows.links], same=True)) & _LOW
        ).astype(np.int64)

    def _leaders(self, rows: LinkRows) -> Int64Array:
        """Return the merges of a round among some classes, in ascending order."""
        sizes = np.diff(rows.offsets)
        compared = np.flatnonzero(sizes >= self._min_links)
        offsets, places = places_of_rows(rows.offsets, compared)
        sets = TokenSets(offsets, rows.links[places].astype(np.uint64))
        copies = find_copies(sets)
        kinds = np.flatnonzero(copies == int64_range(len(copies)))
        leaders = int64_range(len(copies))
        ranked = _RankedSets.of(sets.take(kinds), self._elements, self._max_block)
        leaders[kinds] = kinds[ranked.leaders(self._rule)]
        if ranked.common < len(ranked.nodes):
            rows_left, nodes_left = ranked.left_out(self._rule)
            self.left_out[nodes_left] = True
            self.partly_compared[rows.classes[compared[kinds[rows_left]]]] = True
        leaders = leaders[copies]
        merged = np.flatnonzero(leaders != int64_range(len(leaders)))
        names = rows.classes[compared]
        return np.column_stack([names[leaders[merged]], names[merged]])


class SequenceGraph(SetGraph):
    """A graph whose nodes are being merged by the shingles of their sequences of links.

    The sequences stay as they were given, and are read with the present classes. An element of a
    set is a shingle: a hash of its classes, under a key of its own for each graph.
    """

    def __init__(
        self,
        source: Int64Array,
        target: Int64Array,
        now: Int64Array,
        rule: Rule,
        min_links: int,
        size: int,
    ) -> None:
        n = len(now)
        self._size = size
        self._key = draw_hash_key()
        self._starts = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(source, minlength=n), out=self._starts[1:])
        self._sequences = target[np.argsort(source, kind="stable")]
        self._nodes_of: dict[int, Int64Array] = {}
        merged = np.flatnonzero(now != int64_range(n))
        for label, nodes in _by_first(np.column_stack([now[merged], merged])):
            self._nodes_of[label] = np.append(nodes, np.int64(label))
        super().__init__(source, target, now, rule, min_links, None)
        self._elements = 2**63

    def merge(self, merges: Int64Array) -> Int64Array:
        """Merge classes, and return the classes whose shingles may have changed."""
        for into, merged in _by_first(merges):
            parts = [self._all_nodes(label) for label in (into, *merged.tolist())]
            self._nodes_of[into] = np.concatenate(parts)
            for label in merged.tolist():
                self._nodes_of.pop(label, None)
        return super().merge(merges)

    def _all_nodes(self, label: int) -> Int64Array:
        """Return the nodes of a class, since the beginning."""
        return self._nodes_of.get(label, np.array([label], np.int64))

    def _all_rows(self) -> LinkRows:
        nodes = int64_range(len(self.now))
        work = self._work
        all_rows = self._rows(nodes[self.now == nodes])
        # Compactions are repeated after as much work beside them.
        self._work = work
        return all_rows

    def _rows(self, classes: Int64Array) -> LinkRows:
        """Return the present sets of shingles of classes."""
        parts = [self._all_nodes(label) for label in classes.tolist()]
        nodes = concatenated(parts)
        owners = np.repeat(int64_range(len(parts)), list(map(len, parts)))
        offsets, places = places_of_rows(self._starts, nodes)
        runs = np.repeat(int64_range(len(nodes)), np.diff(offsets))
        self._work += len(places)
        links = self.now[self.now[self._sequences[places]]]
        other = links != classes[owners[runs]]
        runs = runs[other]
        links = links[other]
        begins = run_begins(runs, links)
        runs = runs[begins]
        links = links[begins]
        self._forget_copies(classes, nodes, owners, runs, links)
        runs, shingles = self._shingles(runs, links)
        rows = owners[runs]
        order = np.lexsort((shingles, rows))
        rows = rows[order]
        shingles = shingles[order]
        is_first = run_begins(rows, shingles)
        starts = offsets_of(np.bincount(rows[is_first], minlength=len(classes)))
        return LinkRows(classes, starts, shingles[is_first])

    def _forget_copies(
        self,
        classes: Int64Array,
        nodes: Int64Array,
        owners: Int64Array,
        runs: Int64Array,
        links: Int64Array,
    ) -> None:
        """Forget the nodes of classes whose sequence is that of another node, or empty.

        Equal sequences stay equal, so a class that grows by one node a round is read again with
        its different sequences only.
        """
        lengths = np.bincount(runs)
        begins = np.cumsum(lengths, dtype=np.int64) - lengths
        places = int64_range(len(links)) - begins[runs]
        terms = joined_tokens(
            links.astype(np.uint64), places.astype(np.uint64), 0, self._key
        )
        starts = np.flatnonzero(run_begins(runs))
        sequences = np.add.reduceat(terms, starts) if len(starts) else terms
        runs = runs[starts]
        order = np.lexsort((sequences, owners[runs]))
        runs = runs[order]
        different = runs[run_begins(owners[runs], sequences[order])]
        counts = np.bincount(owners, minlength=len(classes))
        left = np.bincount(owners[different], minlength=len(classes))
        order = np.argsort(owners[different], kind="stable")
        ends = np.cumsum(left, dtype=np.int64)
        for place in np.flatnonzero((counts > 1) & (left < counts)).tolist():
            kept = different[order[ends[place] - left[place] : ends[place]]]
            self._nodes_of[int(classes[place])] = nodes[kept]

    def _shingles(
        self, runs: Int64Array, links: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """Return the shingles of sequences, and the sequence of each; links are in their order."""
        lengths = np.bincount(runs)
        last = np.cumsum(lengths, dtype=np.int64)[runs]
        places = int64_range(len(links))
        left = last - places
        starts = np.flatnonzero((left >= self._size) | (left == lengths[runs]))
        shingles = np.zeros(len(starts), np.uint64)
        following = np.append(links + 1, np.zeros(self._size, np.int64))
        for step in range(self._size):
            inside = starts + step < last[starts]
            links_here = np.where(inside, following[starts + step], 0)
            shingles = joined_tokens(
                shingles, links_here.astype(np.uint64), step, self._key
            )
        return runs[starts], (shingles >> np.uint64(1)).astype(np.int64)

    def _rank_elements(self, all_rows: LinkRows) -> None:
        shingles, counts = np.unique(all_rows.links, return_counts=True)
        several = counts > 1
        self._shared = shingles[several]
        self._levels = np.log2(counts[several]).astype(np.int64)

    def _ranks(self, rows: LinkRows) -> Int64Array:
        """Return the ranks of the shingles of rows, ascending; new ones count as the rarest.

        A rank is the number of bits of the number of sets, and then upper bits of the hash.
        """
        levels = np.zeros(len(rows.links), np.int64)
        if len(self._shared):
            places = np.searchsorted(self._shared, rows.links)
            places = np.minimum(places, len(self._shared) - 1)
            is_shared = self._shared[places] == rows.links
            levels[is_shared] = self._levels[places[is_shared]]
        owners = np.repeat(int64_range(len(rows.classes)), np.diff(rows.offsets))
        order = np.lexsort((rows.links, levels, owners))
        return levels[order] << _HASH_BITS | rows.links[order] >> 63 - _HASH_BITS


def _by_first(merges: Int64Array) -> Iterator[tuple[int, Int64Array]]:
    """Yield the classes that others are merged into, and these others."""
    if not len(merges):
        return
    into, merged = merges.T
    order = np.argsort(into, kind="stable")
    starts = np.flatnonzero(run_begins(into[order]))
    yield from zip(
        into[order][starts].tolist(), np.split(merged[order], starts[1:]), strict=True
    )


class _RankedSets(NamedTuple):
    """Different sets of nodes as ascending ranks: the rarest nodes come first.

    `nodes` are the nodes by rank. Those from rank `common` on are in so many sets that these are
    not compared for them.
    """

    offsets: Int64Array
    ranks: UInt32Array
    nodes: Int64Array
    common: int

    @classmethod
    def of(cls, sets: TokenSets, nodes: int, max_block: int | None) -> _RankedSets:
        """Rank the nodes of sets of nodes below `nodes`."""
        links = sets.tokens.astype(np.int64)
        names = None
        if 4 * len(links) < nodes:
            names, links = np.unique(links, return_inverse=True)
            nodes = len(names)
        counts = np.bincount(links, minlength=nodes)
        order = np.argsort(counts, kind="stable")
        rank_of = inverse(order)
        rows = np.repeat(int64_range(len(sets)), sets.counts)
        numbers = _sorted(_joined(rows, rank_of[links], same=True))
        common = nodes
        if max_block is not None:
            pairs = counts * (counts - 1) // 2
            common = int(np.count_nonzero(pairs <= max_block))
        nodes_by_rank = order if names is None else names[order]
        return cls(
            sets.offsets, (numbers & _LOW).astype(np.uint32), nodes_by_rank, common
        )

    def leaders(self, rule: Rule) -> Int64Array:
        """Return the leader of each set."""
        return leaders_of_sets(
            self.offsets, self.ranks, len(self.nodes), rule.p, rule.q, self.common
        )

    def left_out(self, rule: Rule) -> tuple[Int64Array, Int64Array]:
        """Return sets that were not looked up by all of their rarest nodes, and these nodes."""
        sizes = np.diff(self.offsets)
        rows, places = prefix_places(sizes, rule, 1)
        ranks = self.ranks[self.offsets[rows] + places]
        # A set with one node more.
        other_is_similar = rule.p * (sizes + 1) <= (rule.q - rule.p) * sizes
        is_left_out = other_is_similar[rows] & (ranks >= self.common)
        return np.unique(rows[is_left_out]), np.unique(self.nodes[ranks[is_left_out]])


def _joined(high: Int64Array, low: Int64Array, same: bool = False) -> UInt64Array:
    """Return pairs as numbers, and pairs of equal numbers only if `same` is true."""
    if not same:
        other = high != low
        high = high[other]
        low = low[other]
    return np.asarray(high.astype(np.uint64) << _HALF | low.astype(np.uint64))


def _sorted(numbers: UInt64Array) -> UInt64Array:
    """Return numbers in ascending order; their memory is used."""
    ordered: UInt64Array = sorted_numbers(np.ascontiguousarray(numbers))
    return ordered


def _distinct(numbers: UInt64Array) -> UInt64Array:
    """Return different numbers in ascending order; their memory is used."""
    numbers = _sorted(numbers)
    return np.asarray(numbers[np.diff(numbers, prepend=~numbers[:1]) != 0])


def _rows_of(numbers: UInt64Array, n: int) -> LinkRows:
    """Return sorted pairs as rows 0..n - 1."""
    rows = (numbers >> _HALF).astype(np.int64)
    offsets = offsets_of(np.bincount(rows, minlength=n))
    return LinkRows(np.empty(0, np.int64), offsets, (numbers & _LOW).astype(np.int64))
