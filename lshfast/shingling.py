"""Shingling: texts to TokenSets, by words or by characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from lshfast.common.checks import check_int, check_seed_number
from lshfast.common.threads import ordered_map, pieces, thread_count
from lshfast.kernels import text
from lshfast.tokens import TokenSets

Unit: TypeAlias = Literal["word", "char"]


class ArrowStream(Protocol):
    """An object that exports an Arrow stream: a column of polars or pandas, or a chunked array of pyarrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


class ArrowArray(Protocol):
    """An object that exports an Arrow array, such as an array of pyarrow."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]: ...


TextColumn: TypeAlias = (
    Sequence[str | bytes | None] | npt.NDArray[np.str_] | npt.NDArray[np.bytes_] | text.Texts | ArrowStream | ArrowArray
)

KERNELS = {"word": text.word_shingles, "char": text.character_shingles}

# Bytes of text in one piece of work. Its tokens stay in the cache between shingling and sketching.
PIECE_BYTES = 1 << 21

# Slices of a column per thread when the only work is shingling: few, so that each is large, and more than one, so that
# threads finish at about the same time.
PORTIONS = 4


def check_shingle(unit: str, size: int) -> None:
    """Raise an error that names the allowed values if the unit or the size of shingles is wrong."""
    if not isinstance(unit, str) or unit not in KERNELS:
        raise ValueError(f"unit must be 'word' or 'char', not {unit!r}")
    check_int("size", size, 1, text.MAX_SIZE)


def shingles_of_texts(name: str) -> tuple[Unit, int] | None:
    """Parse the name that an index gives its shingles, such as "word:5", to (unit, size); None for any other name."""
    unit, _, size = name.partition(":")
    return (cast(Unit, unit), int(size)) if unit in KERNELS and size.isdecimal() else None


def are_texts(source: Any) -> bool:
    """Return whether this is a str, bytes or a column of texts; an empty list is, an array of numbers is not."""
    kind = source.dtype.kind if isinstance(source, np.ndarray) else ""
    if kind == "O" or isinstance(source, (list, tuple)):
        return len(source) == 0 or source[0] is None or isinstance(source[0], (str, bytes))
    if kind:
        return kind in "US"
    others = "__arrow_c_stream__", "__arrow_c_array__", "to_list"  # Arrow columns, and columns of pandas before 3
    return isinstance(source, (str, bytes, text.Texts)) or any(hasattr(source, name) for name in others)


def shingle(texts: Any, unit: Unit = "word", size: int = 5, *, seed: int = 1, threads: int | None = None) -> TokenSets:
    """Split texts into shingles of words or characters, and hash each shingle to a token.

    A word is a maximal sequence of letters, marks, digits and underscores, in lower case. In scripts without spaces
    between words, each character is a word. A character is a code point in lower case; white space counts. A text
    with fewer than `size` words (characters) has one shingle, which contains all of them. A text without words
    (characters) has no shingles; neither has a null (None, NaN, or NA of pandas). A row contains the shingles in text
    order, repeats included. docs/definitions.md defines the tokens bit by bit.

    Parameters
    ----------
    texts : sequence of str or bytes, or Arrow column
        A list, a numpy array, or an object with the Arrow C interface, such as a pyarrow, polars or pandas column of
        strings, binary values or categories. Arrow columns are read in place. Bytes must be UTF-8.
    unit : {"word", "char"}, default "word"
    size : int, default 5
        Words or characters per shingle, in 1..256.
    seed : int, default 1
        Seed of the hash, in 0..2**64 - 1. Only sets with the same seed can be compared. For a secret seed, draw one
        number, ``MinHasher(seed="random").seed``, and pass it both here and to the sketcher.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not depend on it.

    Returns
    -------
    TokenSets
        One row per text.

    Raises
    ------
    TypeError
        If a text is not str or bytes. For a data frame or an unsupported column, the error says what to pass.
    ValueError
        If a text is not UTF-8 or has a lone surrogate (the error names its row and position), or an argument is out of
        range.

    References
    ----------
    A. Z. Broder, "On the resemblance and containment of documents", 1997.

    Examples
    --------
    >>> from lshfast import shingle
    >>> shingle(["A rose is a rose is a rose", "Rose?", "..."], size=4).counts.tolist()
    [5, 1, 0]
    """
    check_shingle(unit, size)
    column, kernel, seed = text.Texts(texts), KERNELS[unit], check_seed_number(seed)
    threads = thread_count(threads)

    def work(rows: slice) -> TokenSets:
        try:
            return TokenSets(*kernel(column.take(rows), size, seed))
        except text.TextError as error:
            raise text.TextError(error.row + rows.start, error.reason) from None

    # Large slices: each result is written once, and copied once more if there are several.
    portions = pieces(column.lengths, column.nbytes // (PORTIONS * threads) + 1 if threads > 1 else column.nbytes + 1)
    parts = list(ordered_map(work, portions, threads))
    return parts[0] if len(parts) == 1 else TokenSets.concatenate(parts)
