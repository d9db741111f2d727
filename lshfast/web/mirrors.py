"""Mirror hosts of a crawl: candidates by bigrams of their paths, checked by the paths.

The bigrams of a host are the elements of its signature, because the paths of a mirror are often
moved or renamed in part. So are the paths that bigrams do not tell apart: those with digits, and
those without words. What is reported rests on the paths, and on the contents of the pages if they
are known: both are hashed under a secret key of the run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.checks import Seed, check_bool, check_int, check_most
from lshfast._common.display import Figure, Shown, counted
from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.run_key import draw_hash_key
from lshfast._common.threads import thread_count
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._common.urls import compared_parts
from lshfast._common.visible import is_writable
from lshfast._io.pages.page import check_page, write_page
from lshfast.banding.bands import Bands, check_recall, check_threshold, least_slots
from lshfast.families.set_distances import overlaps
from lshfast.join.copies import find_copies
from lshfast.join.group_pairs import pairs_for_groups
from lshfast.join.groups import Groups, by_preference, smallest, star_groups
from lshfast.join.jaccard import Comparison, PairMeasure, check_measure
from lshfast.join.star_join import star_pairs
from lshfast.join.thresholds import rule_of
from lshfast.kernels.sketch import MAX_NUM_PERM
from lshfast.kernels.text import Texts, tokens_of_integers, tokens_of_texts
from lshfast.sketch.minhash import EMPTY, MinHasher
from lshfast.tokens import TokenSets
from lshfast.web.page import PathsOf, page_of, paths_of_hosts
from lshfast.web.urls import joined_tokens, path_bigrams

# Slots of a signature, unless the recall at a low threshold needs more.
NUM_PERM = 128

# URLs that are hashed at a time.
BATCH_URLS = 1 << 16

# What the words of paths leave out, and paths differ in.
DIGIT = re.compile("[0-9]")


class Mirror(NamedTuple):
    """A host that mirrors another one.

    Attributes
    ----------
    host, mirror_of : str
        The host, and the host that is kept in its place.
    similarity : float
        Jaccard similarity of their paths, or the containment; with contents, of their paths with
        contents.
    paths : int
        Different paths of the host.
    common : int
        Paths that both have.
    agreement : float
        The share of the common paths that have equal contents on both; 1 if contents are not known.

    See Also
    --------
    lshfast.web.Mirrors : All mirrors that were found.
    lshfast.web.find_mirrors : Find hosts that mirror another host.
    """

    host: str
    mirror_of: str
    similarity: float
    paths: int
    common: int
    agreement: float


@dataclass(frozen=True, repr=False)
class Mirrors(Shown):
    """The result of `find_mirrors`. A terminal and a notebook show the figures.

    Attributes
    ----------
    hosts : list of str
        The hosts, in the order of their first URLs.
    keeper : ndarray of int64, shape (n,)
        For each host, the row in `hosts` of the host that is kept in its place; its own if it is
        kept.
    similarity : ndarray of float64, shape (n,)
        The similarity to that host, in [0, 1].
    paths, common : ndarray of int64, shape (n,)
        Different paths of the host, and those that its keeper has too.
    agreement : ndarray of float64, shape (n,)
        The share of these common paths with equal contents.
    urls : int
        URLs that were read.
    few : int
        Hosts with fewer than `min_paths` paths, which were not compared.
    compared : int
        Pairs of hosts that were compared. With containment or `most`, a pair may be compared from
        both sides, and counts twice.

    See Also
    --------
    lshfast.web.find_mirrors : Find hosts that mirror another host.
    lshfast.web.Mirror : One of the mirrors.
    """

    hosts: list[str]
    keeper: Int64Array
    similarity: Float64Array
    paths: Int64Array
    common: Int64Array
    agreement: Float64Array
    urls: int
    few: int
    compared: int

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        kept_count = int(self.keep.sum())
        figures = [
            Figure("urls", f"{self.urls:,}"),
            Figure(
                "hosts",
                f"{len(self.hosts):,}",
                f"with too few paths to be compared: {self.few:,}",
            ),
            Figure("kept", f"{kept_count:,}"),
            Figure("mirrors", f"{len(self.hosts) - kept_count:,}", "of kept hosts"),
            Figure("compared", counted(self.compared, "pair"), "of hosts"),
        ]
        return f"Mirrors of {counted(len(self.hosts), 'host')}", figures, ""

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        urls: Iterable[str] | None = None,
        title: str = "Mirror hosts",
        command: str = "",
        overwrite: bool = False,
    ) -> None:
        """Write a page that shows the mirrors: no scripts, and nothing from elsewhere.

        Parameters
        ----------
        path, title, overwrite
            As for `lshfast.DedupResult.to_html`.
        urls : iterable of str, optional
            The URLs that were searched, as they were compared. With them, the page shows some paths
            of pairs of hosts.
        command : str
            A command that repeats the search, which the page shows.

        Raises
        ------
        ImportError, ValueError, OSError
            As for `lshfast.DedupResult.to_html`.

        Examples
        --------
        >>> import os, tempfile
        >>> from lshfast.web import find_mirrors
        >>> urls = [
        ...     f"http://{host}.example/{page}/index.html"
        ...     for host in ("a", "b")
        ...     for page in range(20)
        ... ]
        >>> path = os.path.join(tempfile.mkdtemp(), "mirrors.html")
        >>> find_mirrors(urls).to_html(path, urls=urls)
        >>> os.path.getsize(path) > 5000
        True
        """
        check_page(path)
        paths = None if urls is None else partial(paths_of_hosts, _each(urls))
        write_page(path, self.page(paths, title=title, command=command), overwrite)

    def page(
        self,
        paths_of: PathsOf | None,
        *,
        title: str = "Mirror hosts",
        threshold: float | None = None,
        contents: bool = False,
        command: str = "",
    ) -> str:
        """Return a page, see `lshfast.web.page.page_of`."""
        return page_of(
            self,
            paths_of,
            title=title,
            account=self._shown()[1],
            threshold=threshold,
            contents=contents,
            command=command,
        )

    @property
    def keep(self) -> BoolArray:
        """Whether each host is kept: bool (n,)."""
        return np.asarray(self.keeper == int64_range(len(self.hosts)))

    @property
    def removed(self) -> list[Mirror]:
        """The hosts that mirror another one, in order."""
        return list(self.iter_removed())

    def iter_removed(self) -> Iterator[Mirror]:
        """Yield the hosts that mirror another one, in order."""
        for row in np.flatnonzero(~self.keep).tolist():
            yield Mirror(
                self.hosts[row],
                self.hosts[int(self.keeper[row])],
                float(self.similarity[row]),
                int(self.paths[row]),
                int(self.common[row]),
                float(self.agreement[row]),
            )


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


def find_mirrors(
    urls: Iterable[str],
    contents: Sequence[str | bytes] | Sequence[int] | None = None,
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
    progress: Progress | None = None,
) -> Mirrors:
    """Find the hosts that mirror another host, from the URLs of a crawl.

    Candidates are hosts with similar sets of positional bigrams of their paths (see
    `path_bigrams`), found by banded MinHash signatures. A path with digits or without words is in
    the set itself, too, because other paths have its bigrams. A candidate is a mirror if the
    Jaccard similarity of the sets of paths of both hosts is at least `threshold`; with `contents`,
    of the sets of pairs of a path and its content. This is computed exactly. Of similar hosts, the
    one with the most paths is kept, and among these the one that occurs first. Each removed host is
    itself similar to the host kept in its place.

    With ``measure="containment"``, a host that has a part of the paths of a larger host is a mirror
    of it, and with `most`, hosts are close but no copies. In both cases all hosts are compared, by
    an exact join of their paths.

    Parameters
    ----------
    urls : iterable of str
        URLs of pages, in any order; repeated ones count once.
    contents : sequence of str or bytes, or of int, optional
        The content of each page, or a checksum of it. Of ints, the lowest 64 bits count.
    threshold : float, default 0.5
        Least similarity, in (0, 1].
    measure : {"jaccard", "containment"}, default "jaccard"
        For hosts with a and b paths, of which o are on both: o / (a + b - o), or o / min(a, b), how
        much of the smaller host the larger one has.
    most : float, optional
        Greatest similarity, from the threshold to 1. Pairs of hosts above it do not count, so that
        copies of one host are kept beside each other, and each may be close to another host.
    min_paths : int, default 3
        Hosts with fewer different paths are kept and not compared, because equal paths of few pages
        say little.
    clean_urls : bool, default False
        Compare URLs as `clean_url` returns them: without numbers of sessions and tracking.
    num_perm : int, optional
        Slots of a signature, in 1..65,536. By default 128, or as many as the recall needs at a low
        threshold.
    recall : float, default 0.95
        Probability, in (0, 1), that two hosts are compared if the similarity of these sets equals
        the threshold. It does not matter with containment or `most`, which find all pairs.
    seed : int or "random", default 1
        Seed of the signatures, in 0..2**64 - 1.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    progress : callable, optional
        Called with ("read", URLs done, None) and ("verify", hosts done, total).

    Returns
    -------
    Mirrors

    Raises
    ------
    TypeError
        If a URL is not a str, or contents are neither all str or bytes nor all int.
    ValueError
        If a URL or content is not valid (the error names its row), there is not one content for
        each URL, or an argument is out of range.

    See Also
    --------
    lshfast.web.contract : Merge the nodes of a link graph.
    lshfast.web.path_bigrams : Convert paths to bigrams of words.

    References
    ----------
    K. Bharat, A. Z. Broder, "Mirror, mirror on the web: a study of host pairs with replicated
    content", WWW 1999.

    Examples
    --------
    >>> from lshfast.web import find_mirrors
    >>> pages = [
    ...     "/docs/install/linux.html",
    ...     "/docs/install/mac.html",
    ...     "/docs/guide/start.html",
    ... ]
    >>> urls = [
    ...     f"http://{host}{page}"
    ...     for host in ("a.example", "mirror.b.example")
    ...     for page in pages
    ... ]
    >>> [tuple(mirror) for mirror in find_mirrors(urls).removed]
    [('mirror.b.example', 'a.example', 1.0, 3, 3, 1.0)]

    A host with 3 of 60 pages of another one:

    >>> urls += [f"http://a.example/page{number}" for number in range(57)]
    >>> find_mirrors(urls).removed
    []
    >>> found = find_mirrors(urls, measure="containment")
    >>> [(mirror.host, mirror.similarity) for mirror in found.removed]
    [('mirror.b.example', 1.0)]
    """
    plan = mirror_plan(
        threshold=threshold,
        measure=measure,
        most=most,
        min_paths=min_paths,
        clean_urls=clean_urls,
        num_perm=num_perm,
        recall=recall,
        seed=seed,
        threads=threads,
    )
    hosts = HostSets(plan, contents is not None)
    if isinstance(urls, Sequence) and not isinstance(urls, (str, bytes)):
        checked = urls
    else:
        checked = list(_each(urls))
    if contents is not None:
        contents = _checked_contents(contents, len(checked))
    for start in range(0, len(checked), BATCH_URLS):
        stop = min(start + BATCH_URLS, len(checked))
        bad = hosts.add(
            checked[start:stop], None if contents is None else contents[start:stop]
        )
        if bad:
            row, reason = next(iter(bad.items()))
            kind = ValueError if isinstance(checked[start + row], str) else TypeError
            raise kind(f"urls[{start + row}]: {reason}")
        if progress:
            progress("read", stop, None)
    return hosts.mirrors(progress)


def _each(urls: Iterable[str]) -> Iterable[str]:
    if isinstance(urls, (str, bytes)) or not isinstance(urls, Iterable):
        raise TypeError(f"urls must be a sequence of URLs, not {urls!r}")
    return urls


def _checked_contents(contents: Any, urls: int) -> Sequence[Any]:
    if (
        isinstance(contents, (str, bytes))
        or not hasattr(contents, "__len__")
        or not hasattr(contents, "__getitem__")
    ):
        raise TypeError(
            f"contents must be a sequence of contents, not {type(contents).__name__}"
        )
    if len(contents) != urls:
        raise ValueError(
            f"contents must have one entry for each of {urls} URLs, not {len(contents)}"
        )
    # Pandas finds by label.
    values: Sequence[Any] = (
        contents if isinstance(contents, Sequence) else list(contents)
    )
    numbers = urls > 0 and _is_int(values[0])
    for row, value in enumerate(values):
        if not (_is_int(value) if numbers else isinstance(value, (str, bytes))):
            expected = (
                "an int, as the first one is"
                if numbers
                else "str or bytes; all may be ints"
            )
            raise TypeError(f"contents[{row}] must be {expected}, not {value!r}")
    return values


def _is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


@dataclass
class HostSets:
    """The sets of hosts, from batches of URLs: their bigrams, and their paths with contents."""

    plan: MirrorPlan
    with_contents: bool
    urls: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._key = draw_hash_key()
        self._owners, self._paths, self._elements = (
            GrowingArray(kind) for kind in (np.int64, np.uint64, np.uint64)
        )
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
        if all(map(_is_int, contents)):
            values = [int(value) & (2**64 - 1) for value in contents]
            return tokens_of_integers(np.array(values, np.uint64), self._key)
        return tokens_of_texts(Texts(contents), self._key)

    def mirrors(self, progress: Progress | None = None) -> Mirrors:
        """Compare the hosts; nothing can be added afterwards."""
        plan = self.plan
        n = len(self._numbers)
        owners = self._owners.finished()
        pages = self._elements.finished(), self._paths.finished()
        elements = _sets_of(owners, pages[0], n).distinct()
        paths = (
            _sets_of(owners, pages[1], n).distinct() if self.with_contents else elements
        )
        few = paths.counts < plan.min_paths
        copies = find_copies(elements)
        copies[few] = np.flatnonzero(few)
        find_groups = self._groups_of_join if plan.exact else self._groups_of_bands
        report = (
            (lambda done, total: progress("verify", done, total)) if progress else None
        )
        groups, compared = find_groups(elements, paths.counts, few, copies, report)
        removed = np.flatnonzero(groups.keeper != int64_range(n))
        keepers = groups.keeper[removed]
        shared, common = (
            overlaps(sets.take(removed), sets.take(keepers))[0]
            for sets in (elements, paths)
        )
        # These hosts have several contents of a path.
        repeated = elements.counts > paths.counts
        several = np.flatnonzero(repeated[removed] & repeated[keepers])
        if len(several):
            shared[several] = _equal_paths(
                elements, *pages, removed[several], keepers[several]
            )
        columns = paths.counts, np.ones(n)
        columns[0][removed] = common
        columns[1][removed] = shared / np.maximum(common, 1)
        return Mirrors(
            list(self._numbers),
            groups.keeper,
            groups.similarity,
            paths.counts,
            *columns,
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
    sets: TokenSets,
    elements: UInt64Array,
    paths: UInt64Array,
    rows: Int64Array,
    other_rows: Int64Array,
) -> Int64Array:
    """Return for pairs of sets how many different paths their common elements have."""
    distinct, first = np.unique(elements, return_index=True)
    counts = np.empty(len(rows), np.int64)
    for place, (row, other) in enumerate(
        zip(rows.tolist(), other_rows.tolist(), strict=True)
    ):
        both = np.intersect1d(sets[row], sets[other], assume_unique=True)
        counts[place] = len(np.unique(paths[first[np.searchsorted(distinct, both)]]))
    return counts


def _sets_of(owners: Int64Array, tokens: UInt64Array, n: int) -> TokenSets:
    """Return the tokens of each of n owners as a row."""
    offsets = offsets_of(np.bincount(owners, minlength=n))
    return TokenSets(offsets, tokens[np.argsort(owners, kind="stable")])
