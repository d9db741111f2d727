"""Links of a page as URLs, and hosts that are names of one server.

Tags are found by the rules of HTML, in a time that is proportional to the length of the page: the
parser of Python 3.11 takes 50 s for "<a " 20,000 times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from html.entities import html5
from urllib.parse import urldefrag, urljoin

import numpy as np

from lshfast._common.urls import split_url
from lshfast.kernels.sets import components

# Each link of a page may repeat the URL that it is relative to. All together repeat at most so many
# characters for each character of the page: a link of a real page has some tens of them.
MOST_REPEATED = 64

# Elements that link to a page, and the attribute that has the URL.
LINKS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}
SCHEMES = "http://", "https://"

# Elements whose content has no tags: it ends where they do.
_RAW_TEXT = {
    name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "xmp", "iframe", "noembed")
}
_COMMENT_END = re.compile("--!?>")
_TAG_NAME = re.compile(r"[a-zA-Z][^ \t\n\f\r/>]*")
_BETWEEN = re.compile(r"[ \t\n\f\r/]*")
_NAME = re.compile(r"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*")
_EQUALS = re.compile(r"[ \t\n\f\r]*=[ \t\n\f\r]*")
_VALUE = re.compile(r"[^ \t\n\f\r>]*")
_REFERENCE = re.compile(r"&(?:#[xX]?[0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*)[;=]?")
_NUMBER = re.compile(r"&#(?:0*([0-9]+)|([xX])0*([0-9a-fA-F]+))")
# More digits are of no character; Python refuses numbers of some thousands.
_MOST_DIGITS = 7


def page_links(html: str, url: str) -> list[str]:
    """Return the links of a page in their order, as absolute URLs.

    The links are those of ``<a>``, ``<area>``, ``<frame>`` and ``<iframe>``. They are relative to
    the first ``<base href>`` of the page, wherever it is; without one, to the URL of the page.
    Fragments are left out, and so are links that are no URLs of http or https.

    A base does not count if it is so long that all links together would repeat more than 64 times
    as many characters as the page has. If the URL of the page is, relative links are left out.

    Parameters
    ----------
    html : str
        The page, complete or not.
    url : str
        The URL that the page was read from; without a scheme, it is one of http.

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
    page_url = url.strip()
    if not page_url.lower().startswith(SCHEMES):
        page_url = f"http://{page_url.removeprefix('//')}"
    base = None
    links = []
    for tag, attributes in _tags(html):
        link = attributes.get("href" if tag == "base" else LINKS.get(tag, ""))
        if link is None:
            continue
        if tag != "base":
            links.append(_text_of(link))
        elif base is None:
            base = _text_of(link)
    longest = MOST_REPEATED * len(html) // max(len(links), 1)
    bases = [] if base is None else [_joined(page_url, base)]
    bases.append(page_url)
    base_url = next((url for url in bases if url and len(url) <= longest), "")
    resolved = [_joined(base_url, link) for link in links]
    return [link for link in resolved if link]


def _tags(html: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the start tags of a page with their attributes, names in lower case.

    A tag or a comment that does not end is left out, and with it all that follows.
    """
    at = html.find("<")
    while at >= 0:
        name = _TAG_NAME.match(html, at + 1)
        if name:
            tag = name[0].lower()
            attributes, at = _attributes(html, name.end())
            if at < 0:
                return
            yield tag, attributes
            if tag in _RAW_TEXT:
                end = _RAW_TEXT[tag].search(html, at)
                at = end.start() if end else len(html)
        elif html.startswith("<!--", at):
            # A comment may end at once: <!-->.
            end = _COMMENT_END.search(html, at + 2)
            at = end.end() if end else len(html)
        elif html.startswith(("<!", "<?", "</"), at):
            end_of_tag = html.find(">", at)
            at = end_of_tag if end_of_tag >= 0 else len(html)
        else:
            at += 1
        at = html.find("<", at)


def _attributes(html: str, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of a tag, and the place after it, or -1 if it does not end."""
    attributes: dict[str, str] = {}
    while True:
        between = _BETWEEN.match(html, at)
        at = between.end() if between else at
        name = _NAME.match(html, at)
        if name is None:
            return attributes, at + 1 if at < len(html) else -1
        at = name.end()
        value = ""
        equals = _EQUALS.match(html, at)
        if equals:
            at = equals.end()
            quote = html[at : at + 1]
            if quote in ('"', "'"):
                end = html.find(quote, at + 1)
                if end < 0:
                    return attributes, -1
                value = html[at + 1 : end]
                at = end + 1
            else:
                unquoted = _VALUE.match(html, at)
                value = unquoted[0] if unquoted else ""
                at += len(value)
        # Of a repeated attribute, the first one counts.
        attributes.setdefault(name[0].lower(), value)


def _text_of(value: str) -> str:
    """Return an attribute without references.

    A name before "=", or without its semicolon inside a word, stays: ``?a=1&copy=2``.
    """
    return _REFERENCE.sub(_character, value)


def _character(reference: re.Match[str]) -> str:
    text = reference[0]
    if text[1] != "#":
        return unescape(text) if text[1:] in html5 else text
    number = _NUMBER.match(text)
    if number is None:
        return text
    base = number[2] or ""
    digits = number[1] or number[3]
    following_text = text[number.end() :].removeprefix(";")
    if len(digits) > _MOST_DIGITS:
        return f"\ufffd{following_text}"
    return unescape(f"&#{base}{digits};") + following_text


def _joined(base: str, link: str) -> str:
    """Return a link as an absolute URL without its fragment; "" if it is none of http or https."""
    try:
        absolute_url = urldefrag(urljoin(base, link.strip())).url
        split_url(absolute_url)
    except ValueError:
        return ""
    return absolute_url if absolute_url.lower().startswith(SCHEMES) else ""


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
        host_addresses = addresses[host]
        if isinstance(host_addresses, str):
            host_addresses = [host_addresses]
        elif not isinstance(host_addresses, Iterable):
            raise TypeError(
                f"the addresses of {host!r} must be str, not {host_addresses!r}"
            )
        for address in host_addresses:
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
