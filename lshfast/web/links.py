"""Links of a page as URLs, and hosts that are names of one server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

import numpy as np

from lshfast.kernels.sets import components
from lshfast.web.urls import split_url

# Elements that link to a page, and the attribute that has the URL.
LINKS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}


def page_links(html: str, url: str) -> list[str]:
    """Return the links of a page in their order, as absolute URLs.

    The links are those of ``<a>``, ``<area>``, ``<frame>`` and ``<iframe>``. They are relative to
    the first ``<base href>`` of the page, wherever it is; without one, to the URL of the page.
    Fragments are left out, and so are links that are no URLs of http or https.

    Parameters
    ----------
    html : str
        The page, complete or not.
    url : str
        The URL that the page was read from.

    Returns
    -------
    list of str
        Repeated links are repeated.

    Raises
    ------
    TypeError, ValueError
        If the page is not a str, or the URL is not one of http or https.

    See Also
    --------
    lshfast.web.contract : Merge pages with nearly equal links.
    lshfast.web.clean_url : Remove the numbers of sessions from a URL.

    References
    ----------
    RFC 3986, section 5: reference resolution.

    Examples
    --------
    >>> from lshfast.web import page_links
    >>> page = '<base href="/docs/"><a href="guide.html#top">Guide</a> <a href="?q=1">1</a>'
    >>> page_links(page, "http://a.example/index.html")
    ['http://a.example/docs/guide.html', 'http://a.example/docs/?q=1']
    """
    if not isinstance(html, str):
        raise TypeError(f"html must be a str, not {type(html).__name__}")
    split_url(url)
    page = _Page()
    page.feed(html)
    page.close()
    base = _joined(url, page.base)
    resolved = [_joined(base or url, link) for link in page.links]
    return [link for link in resolved if link]


class _Page(HTMLParser):
    """The links of a page, as they are written, and its base."""

    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self._has_base = False
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the link of an element."""
        attribute = "href" if tag == "base" else LINKS.get(tag)
        # Of a repeated attribute, the first one counts.
        value = next((value for name, value in attrs if name == attribute), None)
        if value is None:
            return
        if tag != "base":
            self.links.append(value)
        elif not self._has_base:
            self._has_base = True
            self.base = value


def _joined(base: str, link: str) -> str:
    """Return a link as an absolute URL without its fragment; "" if it is none of http or https."""
    try:
        joined = urldefrag(urljoin(base, link.strip())).url
        split_url(joined)
    except ValueError:
        return ""
    return joined if joined.lower().startswith(("http://", "https://")) else ""


def virtual_hosts(addresses: Mapping[str, str | Iterable[str]]) -> list[list[str]]:
    """Group host names by the addresses of their servers.

    Hosts that have an address in common, directly or by a chain of others, are names of one server.
    Those with the same pages are names of one site, and not copies of a site on another server;
    those with different pages are different sites. `find_mirrors` says which pages are the same.

    Parameters
    ----------
    addresses : mapping of str to str, or to iterable of str
        The address, or the addresses, of each host. A crawler knows them; nothing is looked up.

    Returns
    -------
    list of list of str
        The servers with at least two names, in the order of the mapping.

    Raises
    ------
    TypeError
        If it is not a mapping of names to addresses.

    See Also
    --------
    lshfast.web.find_mirrors : Find hosts that mirror another host.

    Examples
    --------
    >>> from lshfast.web import virtual_hosts
    >>> virtual_hosts(
    ...     {
    ...         "a.example": "192.0.2.1",
    ...         "b.example": ["192.0.2.7", "2001:db8::7"],
    ...         "www.a.example": "192.0.2.1",
    ...     }
    ... )
    [['a.example', 'www.a.example']]
    """
    if not isinstance(addresses, Mapping):
        raise TypeError(
            f"addresses must be a mapping of hosts, not {type(addresses).__name__}"
        )
    hosts = list(addresses)
    first_host: dict[str, int] = {}
    pairs = []
    for row, host in enumerate(hosts):
        own = addresses[host]
        for address in [own] if isinstance(own, str) else own:
            if not isinstance(address, str):
                raise TypeError(
                    f"an address of {host!r} must be a str, not {address!r}"
                )
            pairs.append((first_host.setdefault(address, row), row))
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    labels = components(
        np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1]), len(hosts)
    )
    groups: dict[int, list[str]] = {}
    for host, label in zip(hosts, labels.tolist(), strict=True):
        groups.setdefault(label, []).append(host)
    return [group for group in groups.values() if len(group) > 1]
