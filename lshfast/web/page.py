"""The page of a search for mirrors: the pairs of hosts, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from lshfast._common.display import Figure, counted
from lshfast._common.rows import int64_range
from lshfast._common.types import Float64Array, Int64Array
from lshfast._common.urls import compared_parts
from lshfast._io.pages.page import over_range, render, short
from lshfast._io.pages.svg import Bar, bars, bins_of_shares, histogram

# What is shown: pairs of hosts in the table, kept hosts by their mirrors, pairs with their paths,
# and of these the common paths, and those of one host alone. Of each host, at most PATHS_HELD
# paths are read.
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
    """A host and the host it mirrors: their paths, the common ones, the equal pages."""

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
    mirrors: FoundMirrors,
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
    mirrors : FoundMirrors
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
    removed = np.flatnonzero(mirrors.keeper != int64_range(len(mirrors.hosts)))
    ordered = removed[
        np.lexsort((-mirrors.similarity[removed], -mirrors.common[removed]))
    ]
    similarities = None
    if len(removed):
        similarities = _similarities(mirrors.similarity[removed], threshold)
    return render(
        "mirrors.html",
        title=title,
        sentences=_sentences(mirrors, removed, threshold),
        cards=[
            ("URLs", f"{mirrors.urls:,}"),
            ("hosts", f"{len(mirrors.hosts):,}"),
            ("kept", f"{len(mirrors.hosts) - len(removed):,}"),
            ("mirrors", f"{len(removed):,}"),
        ],
        similarities=similarities,
        mirrored=_mirrored(mirrors, removed) if len(removed) else None,
        pairs=[_pair(mirrors, row) for row in ordered[:MOST_PAIRS].tolist()],
        others=max(len(ordered) - MOST_PAIRS, 0),
        examples=_examples(mirrors, ordered, paths_of) if len(removed) else [],
        paths=paths_of is not None,
        contents=contents,
        account=[*account],
        command=command,
    )


def _sentences(
    mirrors: FoundMirrors, removed: Int64Array, threshold: float | None
) -> list[str]:
    """Return how many hosts mirror another one, and how similar these are to it."""
    hosts = counted(len(mirrors.hosts), "host")
    if not len(removed):
        return [f"None of the {hosts} mirrors another one."]
    verb = "mirrors" if len(removed) == 1 else "mirror"
    kept_count = len(np.unique(mirrors.keeper[removed]))
    sentences = [
        f"{len(removed):,} of {hosts} {verb} another one: "
        f"{counted(kept_count, 'host')} with mirrors {'is' if kept_count == 1 else 'are'} kept."
    ]
    if threshold is not None:
        sentences.append(
            f"The paths of each mirror are similar by at least {threshold:g} to those of the host "
            "that is kept in its place."
        )
    return sentences


def paths_of_hosts(
    urls: Iterable[str], hosts: Collection[str], clean_urls: bool = False
) -> dict[str, dict[str, None]]:
    """Return the first different paths of some hosts; what is no URL is left out."""
    host_paths: dict[str, dict[str, None]] = {host: {} for host in hosts}
    for url in urls:
        try:
            host, path = compared_parts(url, clean_urls)
        except (TypeError, ValueError):
            continue
        paths = host_paths.get(host)
        if paths is not None and len(paths) < PATHS_HELD:
            paths[path] = None
    return host_paths


def _similarities(similarity: Float64Array, threshold: float | None) -> Any:
    label = "similarity"
    if threshold is not None:
        label += f"; the dashed line is the threshold, {threshold:g}"
    return histogram(
        bins_of_shares(similarity, COLUMNS),
        "Mirrors by their similarity to the kept host",
        axis=(0.0, 1.0),
        x_label=label,
        mark=threshold,
    )


def _mirrored(mirrors: FoundMirrors, removed: Int64Array) -> Any:
    """Return the kept hosts with most mirrors."""
    counts = np.bincount(mirrors.keeper[removed], minlength=len(mirrors.hosts))
    most = np.argsort(-counts, kind="stable")[:MOST_HOSTS]
    rows = [
        Bar(short(mirrors.hosts[row], 28), int(counts[row]), f"{counts[row]:,}")
        for row in most.tolist()
        if counts[row]
    ]
    return bars(rows, "Mirrors of each kept host")


def _pair(mirrors: FoundMirrors, row: int) -> HostPair:
    keeper = int(mirrors.keeper[row])
    return HostPair(
        short(mirrors.hosts[row]),
        short(mirrors.hosts[keeper]),
        float(mirrors.similarity[row]),
        int(mirrors.paths[row]),
        int(mirrors.paths[keeper]),
        int(mirrors.common[row]),
        float(mirrors.agreement[row]),
    )


def _examples(
    mirrors: FoundMirrors, ordered: Int64Array, paths_of: PathsOf | None
) -> list[SharedPaths]:
    """Return the most similar pairs, and some over the range of similarities."""
    others_by_similarity = ordered[MOST_ALIKE:]
    others_by_similarity = others_by_similarity[
        np.argsort(mirrors.similarity[others_by_similarity], kind="stable")
    ]
    places = over_range(len(others_by_similarity), OVER_RANGE)
    rows = [*ordered[:MOST_ALIKE].tolist(), *others_by_similarity[places].tolist()]
    hosts = {
        mirrors.hosts[at] for row in rows for at in (row, int(mirrors.keeper[row]))
    }
    host_paths: Mapping[str, Collection[str]] = (
        {} if paths_of is None else paths_of(hosts)
    )
    return [_shared(mirrors, row, host_paths) for row in rows]


def _shared(
    mirrors: FoundMirrors, row: int, host_paths: Mapping[str, Collection[str]]
) -> SharedPaths:
    pair = _pair(mirrors, row)
    first, second = (
        host_paths.get(mirrors.hosts[at], ()) for at in (row, int(mirrors.keeper[row]))
    )
    # Otherwise, a path may be there and is not known.
    is_complete = max(len(first), len(second)) < PATHS_HELD
    rows = [
        Bar("both", pair.common, f"{pair.common:,}", "kept"),
        Bar("mirror only", pair.paths - pair.common, f"{pair.paths - pair.common:,}"),
        Bar(
            "kept only",
            pair.kept_paths - pair.common,
            f"{pair.kept_paths - pair.common:,}",
        ),
    ]
    return SharedPaths(
        pair,
        bars(
            rows,
            f"Paths: both {pair.common:,} of {pair.paths:,} and {pair.kept_paths:,}",
        ),
        _some(first, second, True, COMMON_PATHS),
        _some(first, second, False, OTHER_PATHS) if is_complete else [],
        _some(second, first, False, OTHER_PATHS) if is_complete else [],
    )


def _some(
    paths: Collection[str], other_paths: Collection[str], common: bool, most: int
) -> list[str]:
    """Return the first paths that others have too, or have not."""
    selection: Sequence[str] = [
        path for path in paths if (path in other_paths) == common
    ]
    return [short(path) for path in selection[:most]]
