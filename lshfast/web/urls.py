"""URLs as hosts and paths, and paths as sets of positional bigrams of words.

A path is lower-cased and split into words at all that is not a letter:
"/cellblock16/inmates/dilbert/foo.htm" has the words cellblock, inmates, dilbert and foo, because
htm is a stop word. Each two neighbours and their position are a bigram: (cellblock, inmates, 0),
(inmates, dilbert, 1), (dilbert, foo, 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lshfast._common.checks import check_seed_number
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._common.urls import HostPath as HostPath
from lshfast._common.urls import clean_url as clean_url
from lshfast._common.urls import split_url as split_url
from lshfast.kernels.text import Texts, tokens_of_integers, word_shingles
from lshfast.tokens import TokenSets

# Words that say nothing about a site.
STOP_WORDS = "htm", "html", "txt", "main", "index", "home", "bin", "cgi"

# Words of paths hold no digits and no underscores.
_LETTERS = bytes.maketrans(b"0123456789_", b" " * 11)

# Odd multipliers, which distinguish the words at the two places of a bigram, and both from the
# position.
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xD1B54A32D192ED03)


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
    starts = offsets_of(bigram_counts)
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
    before = offsets_of(is_counted)
    return before[offsets], words[is_counted]
