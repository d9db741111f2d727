"""The sets of hosts of a crawl, and the mirrors among them.

The bigrams of the paths of a host are the elements of its signature, because the paths of a mirror
are often moved or renamed in part. So are the paths that bigrams do not tell apart: those with
digits, and those without words. Signatures only find candidates. Whether a host is a mirror depends
on the paths, and on the contents of the pages if they are known: both are hashed under a secret key
of the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.checks import Seed, check_bool, check_int, check_most
from lshfast._common.choices import PairMeasure
from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.run_key import draw_hash_key
from lshfast._common.threads import thread_count
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._common.urls import compared_parts
from lshfast._common.visible import is_writable
from lshfast.banding.bands import Bands, check_recall, check_threshold, least_slots
from lshfast.families.set_distances import overlaps
from lshfast.join.comparison import Comparison
from lshfast.join.copies import find_copies
from lshfast.join.group_pairs import pairs_for_groups
from lshfast.join.groups import Groups, by_preference, smallest, star_groups
from lshfast.join.jaccard import check_measure
from lshfast.join.star_join import star_pairs
from lshfast.join.thresholds import rule_of
from lshfast.kernels.sketch import MAX_NUM_PERM
from lshfast.kernels.text import Texts, tokens_of_integers, tokens_of_texts
from lshfast.sketch.minhash import EMPTY, MinHasher
from lshfast.tokens import TokenSets
from lshfast.web.mirrors import Mirrors
from lshfast.web.urls import joined_tokens, path_bigrams

# Slots of a signature, unless the recall at a low threshold needs more.
NUM_PERM = 128

# What the words of paths leave out, and paths differ in.
DIGIT = re.compile("[0-9]")


@dataclass(frozen=True)
class MirrorPlan:
    """The checked parameters of a search for mirrors; `mirror_plan` creates it."""

    threshold: float
    measure: PairMeasure
    most: float | None
    min_paths: int
    hasher: MinHasher
    bands: Bands
    threads: int
    clean_urls: bool

    @property
    def exact(self) -> bool:
        """Whether all hosts are compared by an exact join, and not those with similar bigrams.

        Signatures tell little of sets of very different sizes, and have no greatest similarity.
        """
        return self.measure == "containment" or self.most is not None

    @property
    def recall(self) -> float:
        """The probability that two hosts at the threshold are compared."""
        return 1.0 if self.exact else float(self.bands.probability(self.threshold))


def mirror_plan(
    *,
    threshold: float = 0.5,
    measure: PairMeasure = "jaccard",
    most: float | None = None,
    min_paths: int = 3,
    clean_urls: bool = False,
    num_perm: int | None = None,
    recall: float = 0.95,
    seed: Seed = 1,
    threads: int | None = None,
) -> MirrorPlan:
    """Check the parameters of `find_mirrors`; errors name the argument, the value and the range."""
    threshold = check_threshold(threshold)
    recall = check_recall(recall)
    if num_perm is None:
        num_perm = min(max(NUM_PERM, least_slots(threshold, recall)), MAX_NUM_PERM)
    hasher = MinHasher(num_perm, "fast", seed)
    bands = Bands.choose(threshold, num_perm, recall=recall)
    return MirrorPlan(
        threshold,
        check_measure(measure),
        check_most(most, threshold),
        check_int("min_paths", min_paths, 1),
        hasher,
        bands,
        thread_count(threads),
        check_bool("clean_urls", clean_urls),
    )


class Pages(NamedTuple):
    """For each page, the token of its path with its content, and of its path: uint64 (m,)."""

    elements: UInt64Array
    paths: UInt64Array


@dataclass
class HostSets:
    """The sets of hosts, from batches of URLs: their bigrams, and their paths with contents."""

    plan: MirrorPlan
    with_contents: bool
    urls: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._key = draw_hash_key()
        # The host of each page, its path, and its path with its content.
        self._owners = GrowingArray(np.int64)
        self._paths = GrowingArray(np.uint64)
        self._elements = GrowingArray(np.uint64)
        self._sketched_owners = GrowingArray(np.int64)
        self._sketched_tokens = GrowingArray(np.uint64)

    def add(
        self, urls: Sequence[str], contents: Sequence[Any] | None = None
    ) -> dict[int, str]:
        """Add URLs, and return the reasons why some were not added, by their places."""
        bad: dict[int, str] = {}
        owners = []
        paths = []
        good = []
        numbers = self._numbers
        for place, url in enumerate(urls):
            try:
                host, path = compared_parts(url, self.plan.clean_urls)
            except (TypeError, ValueError) as error:
                bad[place] = str(error)
                continue
            for name, text in (
                ("url", path),
                ("content", None if contents is None else contents[place]),
            ):
                if isinstance(text, str) and not is_writable(text):
                    bad[place] = f"{name} has a lone surrogate"
            if place in bad:
                continue
            owners.append(numbers.setdefault(host, len(numbers)))
            paths.append(path)
            good.append(place)
        rows = np.array(owners, np.int64)
        tokens = tokens_of_texts(Texts(paths), self._key)
        elements = tokens
        if contents is not None:
            elements = joined_tokens(
                tokens,
                self._content_tokens([contents[place] for place in good]),
                0,
                self._key,
            )
        self._owners.extend(rows)
        self._paths.extend(tokens)
        self._elements.extend(elements)
        if not self.plan.exact:
            self._add_sketched(rows, paths)
        self.urls += len(good)
        return bad

    def _add_sketched(self, rows: Int64Array, paths: list[str]) -> None:
        """Add the bigrams of paths to their hosts, and the paths that these do not tell apart."""
        seed = self.plan.hasher.seed
        bigrams = path_bigrams(paths, seed=seed)
        self._sketched_owners.extend(np.repeat(rows, bigrams.counts))
        self._sketched_tokens.extend(bigrams.tokens)
        is_alike = bigrams.counts == 0
        is_alike |= np.array([DIGIT.search(path) is not None for path in paths], bool)
        self._sketched_owners.extend(rows[is_alike])
        alike_paths = list(compress(paths, is_alike.tolist()))
        self._sketched_tokens.extend(tokens_of_texts(Texts(alike_paths), seed))

    def _content_tokens(self, contents: list[Any]) -> UInt64Array:
        if all(map(is_int, contents)):
            values = [int(value) & (2**64 - 1) for value in contents]
            return tokens_of_integers(np.array(values, np.uint64), self._key)
        return tokens_of_texts(Texts(contents), self._key)

    def mirrors(self, progress: Progress | None = None) -> Mirrors:
        """Compare the hosts; nothing can be added afterwards."""
        n = len(self._numbers)
        owners = self._owners.finished()
        pages = Pages(self._elements.finished(), self._paths.finished())
        elements = _sets_of(owners, pages.elements, n).distinct()
        path_counts = elements.counts
        if self.with_contents:
            paths = _sets_of(owners, pages.paths, n).distinct()
            path_counts = paths.counts
        few = path_counts < self.plan.min_paths
        copies = find_copies(elements)
        copies[few] = np.flatnonzero(few)
        find_groups = self._groups_of_join if self.plan.exact else self._groups_of_bands
        report = partial(progress, "verify") if progress else None
        groups, compared = find_groups(elements, path_counts, few, copies, report)
        removed = np.flatnonzero(groups.keeper != int64_range(n))
        keepers = groups.keeper[removed]
        equal = _equal_paths(elements, path_counts, pages, removed, keepers)
        common = path_counts.copy()
        agreement = np.ones(n)
        common[removed] = equal
        if self.with_contents:
            common[removed] = _overlaps(paths, removed, keepers)
        agreement[removed] = equal / np.maximum(common[removed], 1)
        return Mirrors(
            list(self._numbers),
            groups.keeper,
            groups.similarity,
            path_counts,
            common,
            agreement,
            self.urls,
            int(few.sum()),
            compared,
        )

    def _groups_of_bands(
        self,
        elements: TokenSets,
        path_counts: Int64Array,
        few: BoolArray,
        copies: Int64Array,
        report: Callable[[int, int], None] | None,
    ) -> tuple[Groups, int]:
        """Group the hosts that share a bucket of signatures of their bigrams and paths."""
        plan = self.plan
        n = len(elements)
        sketched_sets = _sets_of(
            self._sketched_owners.finished(), self._sketched_tokens.finished(), n
        )
        signatures = plan.hasher.sketch(sketched_sets, threads=plan.threads)
        signatures[few] = EMPTY
        pairs, compared = pairs_for_groups(
            elements,
            signatures,
            plan.bands.keys(signatures),
            Comparison(plan.threshold, threads=plan.threads),
            copies=copies,
            preference=path_counts,
            progress=report,
        )
        return star_groups(n, pairs, copies=copies, preference=path_counts), compared

    def _groups_of_join(
        self,
        elements: TokenSets,
        path_counts: Int64Array,
        few: BoolArray,
        copies: Int64Array,
        report: Callable[[int, int], None] | None,
    ) -> tuple[Groups, int]:
        """Group the hosts by a join of their elements."""
        plan = self.plan
        n = len(elements)
        first_rows = np.flatnonzero((copies == int64_range(n)) & ~few)
        pairs, compared = star_pairs(
            elements,
            by_preference(first_rows, copies, path_counts),
            rule_of(plan.measure, plan.threshold),
            most=plan.most,
            threads=plan.threads,
            progress=report,
        )
        if plan.most is None or plan.most == 1:
            return star_groups(
                n, pairs, copies=copies, preference=path_counts
            ), compared
        # Copies are too similar to each other, and each one is as similar to others as the first.
        groups = star_groups(n, pairs, preference=path_counts)
        keeper = groups.keeper[copies]
        similarity = groups.similarity[copies]
        is_kept = keeper == copies
        keeper[is_kept] = np.flatnonzero(is_kept)
        return Groups(keeper, similarity, smallest(keeper)), compared


def _equal_paths(
    elements: TokenSets,
    path_counts: Int64Array,
    pages: Pages,
    rows: Int64Array,
    other_rows: Int64Array,
) -> Int64Array:
    """Return how many paths with equal contents pairs of hosts have."""
    counts = _overlaps(elements, rows, other_rows)
    # Two hosts with several contents of one path may have several of them in common.
    has_several = elements.counts > path_counts
    places = np.flatnonzero(has_several[rows] & has_several[other_rows])
    if not len(places):
        return counts
    distinct, first = np.unique(pages.elements, return_index=True)
    for place in places.tolist():
        both = np.intersect1d(
            elements[rows[place]], elements[other_rows[place]], assume_unique=True
        )
        paths = pages.paths[first[np.searchsorted(distinct, both)]]
        counts[place] = len(np.unique(paths))
    return counts


def _overlaps(sets: TokenSets, rows: Int64Array, other_rows: Int64Array) -> Int64Array:
    """Return how many elements pairs of sets have in common."""
    counts, _ = overlaps(sets.take(rows), sets.take(other_rows))
    return counts


def _sets_of(owners: Int64Array, tokens: UInt64Array, n: int) -> TokenSets:
    """Return the tokens of each of n owners as a row."""
    offsets = offsets_of(np.bincount(owners, minlength=n))
    return TokenSets(offsets, tokens[np.argsort(owners, kind="stable")])


def is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
