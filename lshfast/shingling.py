"""Texts to TokenSets: shingles of words or of characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import ordered_map, pieces, thread_count
from lshfast.kernels import text
from lshfast.tokens import TokenSets, check_seed_number

Unit: TypeAlias = Literal["word", "char"]


class ArrowStream(Protocol):
    """What gives an Arrow stream, such as columns of polars and pandas and chunked ones of pyarrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


class ArrowArray(Protocol):
    """What gives an Arrow array, such as those of pyarrow."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]: ...


TextColumn: TypeAlias = (
    Sequence[str | bytes | None] | npt.NDArray[np.str_] | npt.NDArray[np.bytes_] | text.Texts | ArrowStream | ArrowArray
)

KERNELS = {"word": text.word_shingles, "char": text.character_shingles}

# Text of a piece of work: its tokens stay in the cache between shingling and sketching.
PIECE_BYTES = 1 << 21

# Portions of a column a thread, where nothing but shingling is done: few enough to be large, enough to even out.
PORTIONS = 4


def check_shingle(unit: str, size: int) -> None:
    """Raise an error that names the range where the unit or the size of a shingle is wrong."""
    if not isinstance(unit, str) or unit not in KERNELS:
        raise ValueError(f"unit must be 'word' or 'char', not {unit!r}")
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
        raise TypeError(f"size must be an int, not {size!r}")
    if not 1 <= size <= text.MAX_SIZE:
        raise ValueError(f"size must be in 1..{text.MAX_SIZE}, not {size}")


def shingles_of_texts(name: str) -> tuple[Unit, int] | None:
    """Return (unit, size) of shingles by the name that an index gives them, "word:5"; None where it is another name."""
    unit, _, size = name.partition(":")
    return (cast(Unit, unit), int(size)) if unit in KERNELS and size.isdecimal() else None


def are_texts(source: Any) -> bool:
    """Tell whether this is a str, bytes or a column of texts, and no array of numbers; an empty list counts as one."""
    kind = source.dtype.kind if isinstance(source, np.ndarray) else ""
    if kind == "O" or isinstance(source, (list, tuple)):
        return len(source) == 0 or source[0] is None or isinstance(source[0], (str, bytes))
    if kind:
        return kind in "US"
    others = "__arrow_c_stream__", "__arrow_c_array__", "to_list"  # of columns of Arrow, and of pandas before 3
    return isinstance(source, (str, bytes, text.Texts)) or any(hasattr(source, name) for name in others)


def shingle(texts: Any, unit: Unit = "word", size: int = 5, *, seed: int = 1, threads: int | None = None) -> TokenSets:
    """Cut texts into shingles of words or characters, hashed to tokens.

    Words are maximal runs of letters, marks, digits and underscores, in lower case; in scripts written without spaces
    each character is a word. Characters are code points in lower case, white space included. A text shorter than
    `size` has one shingle, of all it has; a text without words (characters) has none, and so has a null (None, NaN,
    pandas' NA). Rows list their shingles in text order, repeats included. docs/definitions.md has all of it to the bit.

    Parameters
    ----------
    texts : sequence of str or bytes, or Arrow column
        A list, a numpy array, or anything with the Arrow C interface: a pyarrow, polars or pandas column of strings,
        binary or categories, whose texts are read in place. Bytes are UTF-8.
    unit : {"word", "char"}, default "word"
    size : int, default 5
        Words or characters a shingle, 1 to 256.
    seed : int, default 1
        Seed of the hash, in 0..2**64 - 1. Only sets of one seed can be compared. For a seed that nobody can know,
        draw one number, ``MinHasher(seed="random").seed``, and give it here and to the sketcher.
    threads : int, optional
        At least 1; the CPUs this process may use by default. The result does not depend on it.

    Returns
    -------
    TokenSets
        One row a text.

    Raises
    ------
    TypeError
        If a text is not str or bytes; the error for a data frame or another column says what to pass.
    ValueError
        If a text is not UTF-8 or has a lone surrogate (the error names its row and place), or if an argument is
        out of range.

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

    # Pieces as large as may be: each is written once, and copied once where there are several.
    portions = pieces(column.lengths, column.nbytes // (PORTIONS * threads) + 1 if threads > 1 else column.nbytes + 1)
    parts = list(ordered_map(work, portions, threads))
    return parts[0] if len(parts) == 1 else TokenSets.concatenate(parts)
