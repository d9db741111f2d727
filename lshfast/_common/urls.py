"""URLs as hosts and paths, without what servers write into them for a session."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_URL = re.compile(
    r"(?P<front>(?:(?P<scheme>https?):)?//(?:[^/?#@]*@)?)?(?P<host>\[[0-9a-f:.]+\]|[^\W_][\w.-]*)(?::(?P<port>\d*))?"
    r"(?P<path>[/?][^#]*)?(?:#.*)?",
    re.IGNORECASE,
)
_NOT_IN_URLS = re.compile(r"[\s\x00-\x1f\x7f]")
_PORTS = {"http": 80, "https": 443, None: 80}

NO_NAMES: tuple[str, ...] = ()

# Parameters that say who reads a page and where they come from, and not which page it is, in lower
# case; * stands for any end. Servers write the first ones into all links of a page.
SESSION_PARAMETERS = (
    "jsessionid",
    "phpsessid",
    "aspsessionid*",
    "asp.net_sessionid",
    "sid",
    "sess",
    "sessid",
    "session",
    "session_id",
    "sessionid",
    "cfid",
    "cftoken",
    "oscsid",
    "zenid",
    "utm_*",
    "gclid",
    "dclid",
    "fbclid",
    "msclkid",
    "mc_cid",
    "mc_eid",
    "_ga",
)

# The session of ASP.NET as a folder: /(S(lit3py55t21z5v55vlm25s55))/, without the S in version 1.
_SESSION_FOLDER = re.compile(
    r"/\((?:[A-Z]\([^()/]*\))+\)(?=/|$)|/\([0-9a-z]{24}\)(?=/|$)"
)


class HostPath(NamedTuple):
    """The parts of a URL that its server sees: the host with an unusual port, and the path.

    See Also
    --------
    lshfast.web.split_url : Split a URL into host and path.
    """

    host: str
    path: str


def split_url(url: str) -> HostPath:
    """Split a URL into its host and its path.

    The host is in lower case, without user and without the last dot. The path keeps its case and
    its query, but not its fragment; an empty path is "/".

    Parameters
    ----------
    url : str
        With the scheme http or https, or without a scheme. White space around it is ignored.

    Returns
    -------
    HostPath

    Raises
    ------
    TypeError
        If it is not a str.
    ValueError
        If it has another scheme, no host, white space or control characters inside, or a port above
        65535.

    See Also
    --------
    lshfast.web.path_bigrams : Convert paths to bigrams of words.

    Examples
    --------
    >>> from lshfast.web import split_url
    >>> split_url("HTTP://User@Www6.Infoseek.COM:80/A/b.htm?c=1#d")
    HostPath(host='www6.infoseek.com', path='/A/b.htm?c=1')
    """
    if not isinstance(url, str):
        raise TypeError(f"url must be a str, not {url!r}")
    url = url.strip()
    match = _URL.fullmatch(url)
    if (
        match is None
        or (match["port"] == "" and not match["front"])
        or _NOT_IN_URLS.search(url)
    ):
        raise ValueError(f"not a URL of http or https: {_shortened(url)}")
    host = match["host"].lower()
    port = match["port"]
    if host[-1] == ".":
        host = host.rstrip(".")
    if port:
        if len(port) > 9 or int(port) > 65535:
            raise ValueError(
                f"not a URL of http or https, since its port is above 65535: {_shortened(url)}"
            )
        scheme = match["scheme"]
        if int(port) != _PORTS[scheme and scheme.lower()]:
            host = f"{host}:{int(port)}"
    path = match["path"] or "/"
    return HostPath(host, path if path[0] == "/" else f"/{path}")


def _shortened(url: str) -> str:
    return repr(url if len(url) <= 100 else f"{url[:100]}...")


def clean_url(url: str, drop: Iterable[str] = NO_NAMES) -> str:
    """Return a URL without what servers write into it for a session or for tracking.

    It loses its fragment, the parameters of sessions (``;jsessionid=...`` behind a path, and
    ``PHPSESSID=...``, ``sid=...``, ``utm_source=...`` and the like in a query), and folders that
    hold a session of ASP.NET. All else stays as it is, in its order.

    Parameters
    ----------
    url : str
        As for `split_url`.
    drop : iterable of str, optional
        Names of more parameters that are dropped, in any case. A name that ends in ``*`` stands for
        all that begin so.

    Returns
    -------
    str

    Raises
    ------
    TypeError, ValueError
        If it is not a URL (see `split_url`), or `drop` has anything but names.

    See Also
    --------
    lshfast.web.find_mirrors : Find hosts that mirror another host; it takes `clean_urls`.
    lshfast.web.page_links : The links of a page, as URLs.

    Examples
    --------
    >>> from lshfast.web import clean_url
    >>> clean_url(
    ...     "http://a.example/shop/item.jsp;jsessionid=0A1B?id=7&utm_source=news#top"
    ... )
    'http://a.example/shop/item.jsp?id=7'
    >>> clean_url(
    ...     "http://a.example/(S(lit3py55t21z5v55vlm25s55))/list?ref=home", ["ref"]
    ... )
    'http://a.example/list'
    """
    split_url(url)
    url = url.strip()
    match = _URL.fullmatch(url)
    assert match is not None
    path = match["path"] or ""
    front = url[: match.start("path")] if path else url.partition("#")[0]
    if not path:
        return front
    cleaned = clean_path(path if path[0] == "/" else f"/{path}", drop)
    return front + (cleaned if path[0] == "/" else cleaned[1:])


def clean_path(path: str, drop: Iterable[str] = NO_NAMES) -> str:
    """Return a path with its query as `clean_url` does it."""
    dropped = _SESSIONS if drop is NO_NAMES else _names_of_parameters(drop)
    folders, mark, query = path.partition("?")
    if "(" in folders:
        folders = _SESSION_FOLDER.sub("", folders) or "/"
    if ";" in folders:
        segments = []
        for segment in folders.split("/"):
            name, *parameters = segment.split(";")
            segments.append(";".join([name, *_kept(parameters, dropped)]))
        folders = "/".join(segments)
    if not mark:
        return folders
    separator = "&" if "&" in query or ";" not in query else ";"
    kept_query = separator.join(_kept(query.split(separator), dropped))
    return f"{folders}?{kept_query}" if kept_query or not query else folders


def compared_parts(url: str, clean: bool) -> HostPath:
    """Return the host and the path of a URL, without parts of sessions if `clean` is true."""
    host, path = split_url(url)
    return HostPath(host, clean_path(path) if clean else path)


def _kept(parameters: list[str], dropped: re.Pattern[str]) -> list[str]:
    return [
        parameter
        for parameter in parameters
        if not dropped.fullmatch(parameter.partition("=")[0])
    ]


def _names_of_parameters(drop: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the names of parameters that are dropped."""
    if isinstance(drop, (str, bytes)) or not isinstance(drop, Iterable):
        raise TypeError(f"drop must be names of parameters in a list, not {drop!r}")
    names = [*SESSION_PARAMETERS, *drop]
    for name in names:
        if not isinstance(name, str) or not name.rstrip("*"):
            raise TypeError(f"drop must be names of parameters, not {name!r}")
    patterns = [
        re.escape(name[:-1]) + ".*" if name.endswith("*") else re.escape(name)
        for name in names
    ]
    return re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL)


_SESSIONS = _names_of_parameters(())
