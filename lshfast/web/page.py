"""The page of a search for mirrors: the pairs of hosts, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from lshfast._common.display import Figure
from lshfast._common.types import Float64Array, Int64Array
from lshfast._io.pages.page import render, short
from lshfast._io.pages.svg import Bar, Bin, bars, histogram
from lshfast.web.urls import split_url

# What is shown: pairs of hosts in the table, kept hosts by their mirrors, pairs with their paths,
# and of these the common paths, and those of one host alone. Of each host, at most so many paths
# are looked at.
MOST_PAIRS = 200
MOST_HOSTS = 12
MOST_ALIKE = 6
OVER_RANGE = 6
COMMON_PATHS = 10
OTHER_PATHS = 5
PATHS_HELD = 5000

COLUMNS = 20  # of the histogram of similarities

PathsOf: TypeAlias = Callable[[Collection[str]], Mapping[str, Collection[str]]]


class FoundMirrors(Protocol):
    """What a page shows of `Mirrors`."""

    @property
    def hosts(self) -> list[str]: ...
    @property
    def keeper(self) -> Int64Array: ...
    @property
    def similarity(self) -> Float64Array: ...
    @property
    def paths(self) -> Int64Array: ...
    @property
    def common(self) -> Int64Array: ...
    @property
    def agreement(self) -> Float64Array: ...
    @property
    def urls(self) -> int: ...


class HostPair(NamedTuple):
    """A host and the host that it mirrors: their paths, those that both have, and how many of these
    are equal pages.
    """

    host: str
    mirror_of: str
    similarity: float
    paths: int
    kept_paths: int
    common: int
    agreement: float


class SharedPaths(NamedTuple):
    """A pair of hosts with some paths that both have, and that one of them has alone."""

    pair: HostPair
    picture: Any
    common: list[str]
    first: list[str]
    second: list[str]


def page_of(
    found: FoundMirrors,
    paths_of: PathsOf | None,
    *,
    title: str,
    account: Iterable[Figure],
    threshold: float | None = None,
    contents: bool = False,
    command: str = "",
) -> str:
    """Return the page of a search.

    Parameters
    ----------
    found : FoundMirrors
    paths_of : callable, optional
        Returns the paths of some hosts, in their order. Without it, no paths are shown.
    title : str
    account : iterable of Figure
    threshold : float, optional
        The least similarity of a mirror.
    contents : bool
        Whether the contents of pages were compared.
    command : str
        The command that repeats the search.
    """
    removed = np.flatnonzero(found.keeper != np.arange(len(found.hosts), dtype=np.int64))
    ordered = removed[np.lexsort((-found.similarity[removed], -found.common[removed]))]
    return render(
        "mirrors.html",
        title=title,
        cards=[
            ("URLs", f"{found.urls:,}"),
            ("hosts", f"{len(found.hosts):,}"),
            ("kept", f"{len(found.hosts) - len(removed):,}"),
            ("mirrors", f"{len(removed):,}"),
        ],
        similarities=_similarities(found.similarity[removed], threshold) if len(removed) else None,
        mirrored=_mirrored(found, removed) if len(removed) else None,
        pairs=[_pair(found, row) for row in ordered[:MOST_PAIRS].tolist()],
        others=max(len(ordered) - MOST_PAIRS, 0),
        examples=_examples(found, ordered, paths_of) if len(removed) else [],
        paths=paths_of is not None,
        contents=contents,
        account=[*account],
        command=command,
    )


def paths_of_hosts(urls: Iterable[str], hosts: Collection[str]) -> dict[str, dict[str, None]]:
    """Return the first different paths of some hosts; what is no URL is left out."""
    found: dict[str, dict[str, None]] = {host: {} for host in hosts}
    for url in urls:
        try:
            host, path = split_url(url)
        except (TypeError, ValueError):
            continue
        own = found.get(host)
        if own is not None and len(own) < PATHS_HELD:
            own[path] = None
    return found


def _similarities(similarity: Float64Array, threshold: float | None) -> Any:
    counts = np.bincount(
        np.clip(np.floor(similarity * COLUMNS), 0, COLUMNS - 1).astype(np.int64), minlength=COLUMNS
    ).tolist()
    columns = [Bin(at / COLUMNS, (at + 1) / COLUMNS, count) for at, count in enumerate(counts)]
    label = "similarity" + (
        "" if threshold is None else f"; the dashed line is the threshold, {threshold:g}"
    )
    return histogram(
        columns,
        "Mirrors by their similarity to the kept host",
        axis=(0.0, 1.0),
        x_label=label,
        mark=threshold,
    )


def _mirrored(found: FoundMirrors, removed: Int64Array) -> Any:
    """Return the kept hosts with most mirrors."""
    counts = np.bincount(found.keeper[removed], minlength=len(found.hosts))
    most = np.argsort(-counts, kind="stable")[:MOST_HOSTS]
    rows = [
        Bar(short(found.hosts[row], 30), int(counts[row]), f"{counts[row]:,}")
        for row in most.tolist()
        if counts[row]
    ]
    return bars(rows, "Mirrors of each kept host", names=220)


def _pair(found: FoundMirrors, row: int) -> HostPair:
    keeper = int(found.keeper[row])
    return HostPair(
        short(found.hosts[row]),
        short(found.hosts[keeper]),
        float(found.similarity[row]),
        int(found.paths[row]),
        int(found.paths[keeper]),
        int(found.common[row]),
        float(found.agreement[row]),
    )


def _examples(
    found: FoundMirrors, ordered: Int64Array, paths_of: PathsOf | None
) -> list[SharedPaths]:
    """Return the pairs with most in common, and some over the range of similarities, from the least
    on.
    """
    rest = ordered[MOST_ALIKE:]
    rest = rest[np.argsort(found.similarity[rest], kind="stable")]
    spread = np.linspace(0, len(rest) - 1, min(len(rest), OVER_RANGE)).round().astype(np.int64)
    rows = [*ordered[:MOST_ALIKE].tolist(), *rest[np.unique(spread)].tolist()]
    hosts = {found.hosts[at] for row in rows for at in (row, int(found.keeper[row]))}
    known: Mapping[str, Collection[str]] = {} if paths_of is None else paths_of(hosts)
    return [_shared(found, row, known) for row in rows]


def _shared(found: FoundMirrors, row: int, known: Mapping[str, Collection[str]]) -> SharedPaths:
    pair = _pair(found, row)
    first, second = (known.get(found.hosts[at], ()) for at in (row, int(found.keeper[row])))
    # Otherwise, a path may be there and is not known.
    whole = max(len(first), len(second)) < PATHS_HELD
    rows = [
        Bar("both", pair.common, f"{pair.common:,}", "kept"),
        Bar("mirror only", pair.paths - pair.common, f"{pair.paths - pair.common:,}"),
        Bar("kept only", pair.kept_paths - pair.common, f"{pair.kept_paths - pair.common:,}"),
    ]
    return SharedPaths(
        pair,
        bars(
            rows, f"Paths: both {pair.common:,} of {pair.paths:,} and {pair.kept_paths:,}", names=90
        ),
        _some(first, second, True, COMMON_PATHS),
        _some(first, second, False, OTHER_PATHS) if whole else [],
        _some(second, first, False, OTHER_PATHS) if whole else [],
    )


def _some(paths: Collection[str], others: Collection[str], common: bool, most: int) -> list[str]:
    """Return the first paths that others have too, or have not."""
    chosen: Sequence[str] = [path for path in paths if (path in others) == common]
    return [short(path) for path in chosen[:most]]
