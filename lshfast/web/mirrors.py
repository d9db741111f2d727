"""The mirror hosts that a search found, and how they are shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from lshfast._common.display import Figure, Shown, counted
from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast._io.pages.page import check_page, write_page
from lshfast.web.page import PathsOf, page_of, paths_of_hosts


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
        paths = None if urls is None else partial(paths_of_hosts, check_urls(urls))
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


def check_urls(urls: Iterable[str]) -> Iterable[str]:
    """Return URLs, or raise TypeError for one URL or a value that is no iterable."""
    if isinstance(urls, (str, bytes)) or not isinstance(urls, Iterable):
        raise TypeError(f"urls must be a sequence of URLs, not {urls!r}")
    return urls
