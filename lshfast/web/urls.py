"""URLs as hosts and paths, and paths as sets of positional bigrams of words.

A path is lower-cased and split into words at all that is not a letter:
"/cellblock16/inmates/dilbert/foo.htm" has the words cellblock, inmates, dilbert and foo, because
htm is a stop word. Each two neighbours and their position are a bigram: (cellblock, inmates, 0),
(inmates, dilbert, 1), (dilbert, foo, 2).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.checks import check_seed_number
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.kernels.text import Texts, tokens_of_integers, word_shingles
from lshfast.tokens import TokenSets

# Words that say nothing about a site.
STOP_WORDS = "htm", "html", "txt", "main", "index", "home", "bin", "cgi"

_URL = re.compile(
    r"(?P<front>(?:(?P<scheme>https?):)?//(?:[^/?#@]*@)?)?(?P<host>\[[0-9a-f:.]+\]|[^\W_][\w.-]*)(?::(?P<port>\d*))?"
    r"(?P<path>[/?][^#]*)?(?:#.*)?",
    re.IGNORECASE,
)
_NOT_IN_URLS = re.compile(r"[\s\x00-\x1f\x7f]")
_PORTS = {"http": 80, "https": 443, None: 80}

# Words of paths hold no digits and no underscores.
_LETTERS = bytes.maketrans(b"0123456789_", b" " * 11)

# Odd multipliers, which distinguish the words at the two places of a bigram, and both from the
# position.
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xD1B54A32D192ED03)


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


def path_bigrams(paths: Sequence[str], *, seed: int = 1) -> TokenSets:
    """Convert paths to their positional bigrams of words.

    A word is a maximal run of letters, in lower case: punctuation, digits and underscores separate
    words. The words htm, html, txt, main, index, home, bin and cgi are left out. Letters are those
    of definitions.md. A path of one word has this word alone at position 0, and a path without
    words has nothing.

    Parameters
    ----------
    paths : sequence of str
    seed : int, default 1
        Seed of the hash, in 0..2**64 - 1.

    Returns
    -------
    TokenSets
        One row for each path, with a token for each bigram, in the order of the path.

    Raises
    ------
    TypeError, ValueError
        If a path is not a str or has a lone surrogate, or the seed is not valid.

    See Also
    --------
    lshfast.web.split_url : Split a URL into host and path.
    lshfast.web.find_mirrors : Find hosts that mirror another host.

    References
    ----------
    A. Z. Broder, "Shingling URLs"; K. Bharat, A. Z. Broder, "Mirror, mirror on the web", WWW 1999.

    Examples
    --------
    >>> from lshfast.web import path_bigrams
    >>> path_bigrams(
    ...     ["/cellblock16/inmates/dilbert/personal/foo.htm", "/about.html", "/"]
    ... ).counts.tolist()
    [4, 1, 0]
    """
    seed = check_seed_number(seed)
    if isinstance(paths, (str, bytes)):
        raise TypeError(f"paths must be a sequence of paths, not {paths!r}")
    for row, path in enumerate(paths):
        if not isinstance(path, str):
            raise TypeError(f"paths[{row}] must be a str, not {path!r}")
    try:
        offsets, words = _words(paths, seed)
    except UnicodeEncodeError as error:
        raise ValueError(f"paths must be valid Unicode, not {error.object!r}") from None
    counts = np.diff(offsets)
    # A row of n words has n - 1 bigrams; a single word is followed by none, which has the token 0.
    bigram_counts = np.where(counts == 1, 1, np.maximum(counts - 1, 0))
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(bigram_counts, out=starts[1:])
    positions = int64_range(starts[-1]) - np.repeat(starts[:-1], bigram_counts)
    places = np.repeat(offsets[:-1], bigram_counts) + positions
    following = np.append(words, np.uint64(0))[places + 1]
    following[np.repeat(counts == 1, bigram_counts)] = 0
    return TokenSets(starts, joined_tokens(words[places], following, positions, seed))


def joined_tokens(
    first: UInt64Array, second: UInt64Array, number: Any, key: Any
) -> UInt64Array:
    """Return one token for each pair of tokens and its number."""
    return tokens_of_integers(
        first * _FIRST + second * _SECOND + np.asarray(number).astype(np.uint64), key
    )


def _words(paths: Sequence[str], seed: int) -> tuple[Int64Array, UInt64Array]:
    """Return the tokens of the words of paths without stop words, as (offsets, tokens)."""
    offsets, words = word_shingles(
        Texts([path.encode().translate(_LETTERS) for path in paths]), 1, seed
    )
    is_counted = np.isin(
        words, word_shingles(Texts(STOP_WORDS), 1, seed)[1], invert=True
    )
    before = np.zeros(len(words) + 1, np.int64)
    np.cumsum(is_counted, out=before[1:])
    return before[offsets], words[is_counted]
