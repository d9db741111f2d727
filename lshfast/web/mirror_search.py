"""The search for mirror hosts among the URLs of a crawl: `find_mirrors`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lshfast._common.checks import Seed
from lshfast._common.choices import PairMeasure
from lshfast._common.progress import Progress
from lshfast.web.host_sets import HostSets, is_int, mirror_plan
from lshfast.web.mirrors import Mirrors, check_urls

# URLs that are hashed at a time.
BATCH_URLS = 1 << 16


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
        checked = list(check_urls(urls))
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
    numbers = urls > 0 and is_int(values[0])
    for row, value in enumerate(values):
        if not (is_int(value) if numbers else isinstance(value, (str, bytes))):
            expected = (
                "an int, as the first one is"
                if numbers
                else "str or bytes; all may be ints"
            )
            raise TypeError(f"contents[{row}] must be {expected}, not {value!r}")
    return values
