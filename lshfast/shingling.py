"""Shingling: texts to TokenSets, by words, by words after a stop word, by characters or by symbols.

>>> from lshfast.shingling import shingle
>>> sets = shingle(
...     ["a dog and a cat"], size=2
... )  # "a dog", "dog and", "and a" and "a cat"
>>> len(sets[0])
4
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import (
    check_bool,
    check_int,
    check_number,
    check_seed_number,
)
from lshfast._common.choices import NormalForm as NormalForm
from lshfast._common.choices import Unit as Unit
from lshfast._common.rows import offsets_of
from lshfast._common.threads import ordered_map, pieces, thread_count
from lshfast._common.types import BoolArray, UInt64Array
from lshfast.kernels import sets, text, unicode
from lshfast.kernels.text import TextError as TextError
from lshfast.tokens import TokenSets

if TYPE_CHECKING:
    from lshfast._common.stop_words import StopWords


class ArrowStream(Protocol):
    """An object that exports an Arrow stream, such as a column of polars or pandas.

    See Also
    --------
    lshfast.shingling.ArrowArray : An object that exports an Arrow array.
    lshfast.shingling.are_texts : Whether a value is a column of texts.
    """

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


class ArrowArray(Protocol):
    """An object that exports an Arrow array, such as an array of pyarrow.

    See Also
    --------
    lshfast.shingling.ArrowStream : An object that exports an Arrow stream.
    lshfast.shingling.are_texts : Whether a value is a column of texts.
    """

    def __arrow_c_array__(
        self, requested_schema: Any = None
    ) -> tuple[object, object]: ...


TextColumn: TypeAlias = (
    Sequence[str | bytes | None]
    | npt.NDArray[np.str_]
    | npt.NDArray[np.bytes_]
    | text.Texts
    | ArrowStream
    | ArrowArray
)

DEFAULT_SIZES: dict[Unit, int] = {"word": 5, "char": 5, "symbol": 5, "stopword": 3}

# About the bytes of a text for each of its tokens; English has six for each word.
BYTES_OF_TOKEN: dict[Unit, int] = {"word": 6, "char": 1, "symbol": 3, "stopword": 6}

KERNELS: dict[Unit, Any] = {
    "word": text.word_shingles,
    "char": text.character_shingles,
    "symbol": text.symbol_shingles,
}

# In the name of shingles with a normal form: other names of units, and the forms by their names.
SHORT_NAMES: dict[Unit, str] = {"stopword": "stop"}
FORMS_BY_NAME: dict[str, NormalForm] = {"nfc": "NFC", "nfkc": "NFKC"}

# Bytes of text in one piece of work. Its tokens stay in the cache between shingling and sketching.
PIECE_BYTES = 1 << 21

# Slices of a column per thread when the only work is shingling: few, so that each is large, and
# more than one, so that threads finish at about the same time.
PORTIONS = 4


# The greatest value of `sample`.
MOST_SAMPLE = 2**32

# The bits of a token. Tokens of 32 bits are the upper halves of those of 64.
BITS = 32, 64

# The highest bits of a token, which exclude most tokens before they are searched among the common
# ones.
FILTER_BITS = 20


@dataclass(frozen=True, eq=False)
class CommonShingles:
    """Shingles that do not count, because they occur in too many texts.

    Attributes
    ----------
    numbers : tuple of int
        The secret numbers of the `HashKey` of their tokens. Nobody can write other shingles with
        these tokens.
    tokens : ndarray of uint64, shape (m,)
        Ascending.

    See Also
    --------
    lshfast.shingling.Shingles : Checked arguments of `shingle`.
    lshfast.shingle : Convert texts to sets of shingles.
    """

    numbers: tuple[int, int, int, int]
    tokens: UInt64Array

    def __reduce__(
        self,
    ) -> tuple[type[CommonShingles], tuple[tuple[int, int, int, int], UInt64Array]]:
        return CommonShingles, (self.numbers, self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def key(self) -> text.HashKey:
        """The key of the tokens."""
        return text.HashKey(*self.numbers)

    @cached_property
    def _filter(self) -> BoolArray:
        marks = np.zeros(1 << FILTER_BITS, np.bool_)
        marks[self.tokens >> np.uint64(64 - FILTER_BITS)] = True
        return marks

    def contains(self, tokens: UInt64Array) -> BoolArray:
        """Return whether each token is a common shingle."""
        is_common = self._filter[tokens >> np.uint64(64 - FILTER_BITS)]
        places = np.flatnonzero(is_common)
        candidates = tokens[places]
        positions = np.searchsorted(self.tokens, candidates)
        is_common[places] = (
            self.tokens[np.minimum(positions, len(self.tokens) - 1)] == candidates
        )
        return np.asarray(is_common)

    def left_out(self, sets_of_texts: TokenSets, same: TokenSets) -> TokenSets:
        """Return token sets without common shingles; `same` are the same texts under `key`."""
        stays = ~self.contains(same.tokens)
        before = offsets_of(stays)
        return TokenSets(before[sets_of_texts.offsets], sets_of_texts.tokens[stays])


class Shingles(NamedTuple):
    """The checked arguments of `shingle`, and the common shingles that do not count, if any.

    See Also
    --------
    lshfast.shingling.check_shingles : Check the arguments that say what a shingle is.
    lshfast.shingling.CommonShingles : Shingles that do not count.
    lshfast.shingle : Convert texts to sets of shingles.
    """

    unit: Unit
    size: int
    stop_words: StopWords | None = None
    lowercase: bool = True
    normalize: NormalForm = "none"
    common: CommonShingles | None = None

    @property
    def name(self) -> str:
        """The name in an index: "word:5", "char:9", "symbol:5" or "stopword:3:en".

        A normal form is the last part: "word:5:nfc", "stop:3:en:nfkc". With it, the unit "stopword"
        is "stop", because a name has at most 16 characters.
        """
        if not self.lowercase:
            raise ValueError("lowercase must be True for an index")
        parts = [self.unit, str(self.size)]
        if self.stop_words is not None:
            if not self.stop_words.code:
                raise ValueError(
                    "stop_words must be those of a language for an index, which stores the "
                    "language only"
                )
            parts.append(self.stop_words.code)
        if self.normalize != "none":
            parts[0] = SHORT_NAMES.get(self.unit, self.unit)
            parts.append(self.normalize.lower())
        return ":".join(parts)

    def normalized(self, texts: text.Texts) -> text.Texts:
        """Return texts in the normal form that is compared; without one, as they are."""
        return normalized(texts, self.normalize)

    def tokens_of(self, texts: text.Texts, key: int | text.HashKey) -> TokenSets:
        """Return the token sets of texts, hashed with a seed or a secret key."""
        texts = self.normalized(texts)
        token_sets = self._tokens_of_form(texts, key)
        if self.common is None:
            return token_sets
        return self.common.left_out(
            token_sets, self._tokens_of_form(texts, self.common.key)
        )

    def all_tokens_of(self, texts: text.Texts, key: int | text.HashKey) -> TokenSets:
        """Return the token sets of texts with the common shingles."""
        return self._tokens_of_form(self.normalized(texts), key)

    def _tokens_of_form(self, texts: text.Texts, key: int | text.HashKey) -> TokenSets:
        """Return all token sets of texts that are in the normal form."""
        if self.stop_words is not None:
            stop_words = self.normalized(self.stop_words.texts)
            return TokenSets(
                *text.stop_word_shingles(texts, stop_words, self.size, key)
            )
        kernel = KERNELS[self.unit]
        return TokenSets(*kernel(texts, self.size, key, self.lowercase))


def check_shingles(
    unit: str,
    size: int | None = None,
    stop_words: str | Iterable[str] | StopWords | None = None,
    lowercase: bool = True,
    normalize: NormalForm | None = "none",
) -> Shingles:
    """Return checked shingles, or raise an error that names the argument and the allowed values.

    See Also
    --------
    lshfast.shingling.Shingles : Checked arguments of `shingle`.
    lshfast.shingling.shingles_of_texts : The shingles that the name in an index stands for.
    """
    if not isinstance(unit, str) or unit not in DEFAULT_SIZES:
        raise ValueError(
            f"unit must be 'word', 'char', 'symbol' or 'stopword', not {unit!r}"
        )
    size = check_int(
        "size", DEFAULT_SIZES[unit] if size is None else size, 1, text.MAX_SIZE
    )
    lowercase = check_bool("lowercase", lowercase)
    form = check_normal_form(normalize)
    if unit == "stopword":
        if not lowercase:
            raise ValueError(
                "lowercase must be True for unit 'stopword': stop words are compared in lower case"
            )
        from lshfast._common.stop_words import stop_words_of

        return Shingles(unit, size, stop_words_of(stop_words), normalize=form)
    if stop_words is not None:
        raise ValueError(f"stop_words is for unit 'stopword', not {unit!r}")
    return Shingles(unit, size, lowercase=lowercase, normalize=form)


def normalized(texts: text.Texts, form: NormalForm) -> text.Texts:
    """Return texts in a normal form, "none" for as they are.

    A text that is not UTF-8 stays as it is.

    See Also
    --------
    lshfast.shingling.check_normal_form : Check the name of a normal form.
    lshfast.shingle : Convert texts to sets of shingles.
    """
    return texts if form == "none" else unicode.normalized(texts, form)


def check_normal_form(normalize: Any) -> NormalForm:
    """Return a checked normal form; None stands for "none".

    See Also
    --------
    lshfast.shingling.normalized : Texts in a normal form.

    Examples
    --------
    >>> from lshfast.shingling import check_normal_form
    >>> check_normal_form("NFC"), check_normal_form(None)
    ('NFC', 'none')
    """
    if normalize is None:
        return "none"
    forms = get_args(NormalForm)
    if normalize not in forms:
        raise ValueError(
            f"normalize must be one of {', '.join(forms)}, not {normalize!r}"
        )
    form: NormalForm = normalize
    return form


def shingles_of_texts(name: str) -> Shingles | None:
    """Parse the name that an index gives its shingles, such as "word:5"; None for any other name.

    See Also
    --------
    lshfast.shingling.check_shingles : Check the arguments that say what a shingle is.
    lshfast.shingling.Shingles : Checked arguments of `shingle`.
    """
    unit, _, parameters = name.partition(":")
    form = FORMS_BY_NAME.get(parameters.rpartition(":")[2], "none")
    if form != "none":
        parameters = parameters.rpartition(":")[0]
        unit = {short: full for full, short in SHORT_NAMES.items()}.get(unit, unit)
    size, _, language = parameters.partition(":")
    if (
        unit not in DEFAULT_SIZES
        or not size.isdecimal()
        or bool(language) != (unit == "stopword")
    ):
        return None
    return check_shingles(unit, int(size), language or None, normalize=form)


def are_texts(source: Any) -> bool:
    """Return whether this is a str, bytes or a column of texts; an empty list is one.

    An array of numbers is not.

    See Also
    --------
    lshfast.shingle : Convert texts to sets of shingles.
    lshfast.shingling.ArrowStream : An object that exports an Arrow stream.
    """
    kind = source.dtype.kind if isinstance(source, np.ndarray) else ""
    if kind == "O" or isinstance(source, (list, tuple)):
        return (
            len(source) == 0 or source[0] is None or isinstance(source[0], (str, bytes))
        )
    if kind:
        return kind in "US"
    # Arrow columns, and columns of pandas before 3.
    column_methods = ("__arrow_c_stream__", "__arrow_c_array__", "to_list")
    if isinstance(source, (str, bytes, text.Texts)):
        return True
    return any(hasattr(source, name) for name in column_methods)


def shingle(
    texts: Any,
    unit: Unit = "word",
    size: int | None = None,
    stop_words: str | Iterable[str] | StopWords | None = None,
    lowercase: bool = True,
    normalize: NormalForm = "none",
    *,
    seed: int = 1,
    sample: int = 1,
    bits: int = 64,
    threads: int | None = None,
) -> TokenSets:
    r"""Split texts into shingles of words, characters or symbols, and hash each shingle to a token.

    A word is a maximal sequence of letters, marks, digits and underscores, in lower case. In
    scripts without spaces between words, each character is a word. A character is a code point in
    lower case; white space counts. A symbol is a word, or another character that is not white
    space, so that the operators and punctuation of code and URLs count. A text with fewer than
    `size` words (characters, symbols) has one shingle, which contains all of them. A text without
    words (characters, symbols) has no shingles; neither has a null (None, NaN, or NA of pandas). A
    row contains the shingles in text order, repeats included. docs/reference/definitions.md defines
    the tokens bit by bit.

    With unit "stopword", only the shingles of words that begin with a stop word are kept: a stop
    word and the next size - 1 words. A stop word with fewer words behind it begins none, so a text
    without stop words has no shingles. Running text has many stop words, while menus, headlines and
    advertisements have few, so the similarity of two web pages is mostly that of their articles
    (docs/how-to/news.md).

    Parameters
    ----------
    texts : sequence of str or bytes, or Arrow column
        A list, a numpy array, or an object with the Arrow C interface, such as a pyarrow, polars or
        pandas column of strings, binary values or categories. Arrow columns are read in place.
        Bytes must be UTF-8.
    unit : {"word", "char", "symbol", "stopword"}, default "word"
    size : int, optional
        Words, characters or symbols per shingle, in 1..256. The default is 5, and 3 for unit
        "stopword".
    stop_words : str or iterable of str, optional
        For unit "stopword", a language: "danish", "dutch", "english", "french", "german",
        "italian", "norwegian", "polish", "portuguese", "russian", "spanish" or "swedish". Or the
        stop words, in any case; an entry of several words stands for each of them. The default is
        "english".
    lowercase : bool, default True
        False keeps the case of words and characters, so that "The" and "the" are different words.
        It must be True for unit "stopword". `dedup`, `pairs` and indexes of texts always use lower
        case.
    normalize : {"none", "NFC", "NFKC"}, default "none"
        The normal form of Unicode that is shingled (UAX #15, of the pinned Unicode 15.1.0). In NFC,
        a letter with marks is the same text whether it is one character or several: many Vietnamese
        and Korean texts are in both forms. NFKC also replaces ligatures, full width and other
        variants of characters by the plain ones. It takes time for texts that are not ASCII only.
    seed : int, default 1
        Seed of the hash, in 0..2**64 - 1. Only sets with the same seed can be compared. For a
        secret seed, draw one number, ``MinHasher(seed="random").seed``, and pass it both here and
        to the sketcher.
    sample : int, default 1
        Keep the shingles whose token is a multiple of this number, in 1..2**32: one in `sample` on
        average, and the same ones in every text that has them, wherever they are. So similarities
        of samples estimate the similarities of the sets. A text with few shingles may have none in
        the sample.
    bits : {64, 32}, default 64
        Bits of a token. With 32, a token is the upper half of the token of 64 bits, a number below
        2**32 in the same array of uint64, for programs that store tokens in 4 bytes. Different
        shingles then have equal tokens more often: two texts of 50,000 different shingles share 0.6
        tokens by chance (docs/understand/hashing.md). `sample` takes the same shingles in both
        cases. `dedup`, `pairs` and indexes of texts always use 64 bits.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.

    Returns
    -------
    TokenSets
        One row per text.

    Raises
    ------
    TypeError
        If a text is not str or bytes. For a data frame or an unsupported column, the error says
        what to pass.
    ValueError
        If a text is not UTF-8 or has a lone surrogate (the error names its row and position), or an
        argument is out of range.

    See Also
    --------
    lshfast.TokenSets : Sets of tokens, as two arrays.
    lshfast.recommend : Recommend shingles and a threshold for texts of a length.
    lshfast.MinHasher : Compute MinHash signatures of sets.

    References
    ----------
    A. Z. Broder, "On the resemblance and containment of documents", 1997; A. Z. Broder, S. C.
    Glassman, M. S. Manasse, G. Zweig, "Syntactic clustering of the web", 1997, for `sample`. Stop
    words: M. Theobald, J. Siddharth, A. Paepcke, "SpotSigs", SIGIR 2008; J. Leskovec, A. Rajaraman,
    J. D. Ullman, "Mining of Massive Datasets", 3.2.4.

    Examples
    --------
    >>> from lshfast import shingle
    >>> shingle(["A rose is a rose is a rose", "Rose?", "..."], size=4).counts.tolist()
    [5, 1, 0]
    >>> shingle(["/page?id=1"], "symbol", 2).counts.tolist()  # / page ? id = 1
    [5]
    >>> shingle(
    ...     ["I recommend that you buy Sudzo for your laundry today", "Buy Sudzo"],
    ...     "stopword",
    ... ).counts.tolist()
    [5, 0]
    >>> shingle(
    ...     ["The dog which chased the cat"], "char", 3, lowercase=False
    ... ).distinct().counts.tolist()
    [25]
    >>> short = shingle(["A rose is a rose"], size=4, bits=32)
    >>> short.tokens.dtype, bool(short.tokens.max() < 2**32)
    (dtype('uint64'), True)
    >>> composed, decomposed = "caf\u00e9", "cafe\u0301"
    >>> len(set(shingle([composed, decomposed]).tokens.tolist()))
    2
    >>> len(set(shingle([composed, decomposed], normalize="NFC").tokens.tolist()))
    1
    """
    shingles = check_shingles(unit, size, stop_words, lowercase, normalize)
    column = text.Texts(texts)
    seed = check_seed_number(seed)
    sample = check_int("sample", sample, 1, MOST_SAMPLE)
    bits = check_int("bits", bits, *BITS)
    if bits not in BITS:
        raise ValueError(f"bits must be 32 or 64, not {bits}")
    threads = thread_count(threads)

    def work(rows: slice) -> TokenSets:
        try:
            token_sets = shingles.tokens_of(column.take(rows), seed)
        except text.TextError as error:
            raise text.TextError(error.row + rows.start, error.reason) from None
        if sample > 1:
            token_sets = TokenSets(
                *sets.sample(token_sets.offsets, token_sets.tokens, sample)
            )
        if bits == 64:
            return token_sets
        return TokenSets(token_sets.offsets, token_sets.tokens >> np.uint64(64 - bits))

    # Large slices: each result is written once, and copied once more if there are several.
    # Samples are taken from small slices, so that few tokens outside the sample are in memory.
    portion = column.nbytes // (PORTIONS * threads) if threads > 1 else column.nbytes
    portions = pieces(column.lengths, PIECE_BYTES if sample > 1 else portion + 1)
    parts = list(ordered_map(work, portions, threads))
    return parts[0] if len(parts) == 1 else TokenSets.concatenate(parts)


def expected_occurrences(length: int, size: int, *, symbols: float = 20) -> float:
    """Return the expected occurrences of a shingle of characters in a text by chance.

    It is length / symbols**size. If it is not well below 1, most texts have most of the common
    shingles, so that unrelated texts are similar. Texts have 27 different characters or more, but
    some are rare: about as many shingles are likely as with 20 equally frequent ones.

    A token of b bits counts as a shingle of b symbols out of 2. So two texts of n and m shingles,
    with none in common, are expected to share ``n * expected_occurrences(m, b, symbols=2)`` tokens
    by chance.

    Parameters
    ----------
    length : int
        The number of characters of the text, in 0..2**63 - 1.
    size : int
        The number of characters of a shingle, in 1..256.
    symbols : float, default 20
        The number of equally frequent characters, at least 1.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.shingle : Convert texts to sets of shingles.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.2.2.

    Examples
    --------
    A message of 2,000 characters, and shingles of 1, 5 and 9 characters:

    >>> from lshfast.shingling import expected_occurrences
    >>> [round(expected_occurrences(2000, size), 9) for size in (1, 5, 9)]
    [100.0, 0.000625, 4e-09]

    Two texts of 50,000 shingles, as tokens of 4 and of 8 bytes:

    >>> [
    ...     round(50_000 * expected_occurrences(50_000, bits, symbols=2), 10)
    ...     for bits in (32, 64)
    ... ]
    [0.5820766091, 1e-10]
    """
    length = check_int("length", length, 0, 2**63 - 1)
    size = check_int("size", size, 1, text.MAX_SIZE)
    symbols = check_number("symbols", symbols)
    if not symbols >= 1:
        raise ValueError(f"symbols must be at least 1, not {symbols}")
    return length * symbols**-size
