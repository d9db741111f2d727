"""Words and shingles of docs/reference/definitions.md, with the running interpreter's Unicode data.

lshfast pins Unicode 15.1.0; where the interpreter has another version, the two agree on the code
points that both assign, so compare on those only.
"""

import unicodedata

from tests.reference.hashing import Key, horner, key_of, mix64, polynomial

SOLO_NAMES = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC",
    "HIRAGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "HENTAIGANA",
    "BOPOMOFO",
    "YI SYLLABLE",
    "TANGUT",
    "NUSHU",
    "KHITAN",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
    "NEW TAI LUE",
    "TAI LE",
    "TAI THAM",
    "TAI VIET",
    "JAVANESE",
    "BALINESE",
)


# The property White_Space (PropList.txt).
WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def name_of(code_point: int) -> str:
    """Return the Unicode name; CPython's `unicodedata` knows none for Tangut ideographs."""
    if 0x17000 <= code_point <= 0x187FF or 0x18D00 <= code_point <= 0x18D7F:
        return f"TANGUT IDEOGRAPH-{code_point:X}"
    return unicodedata.name(chr(code_point), "")


def classify(code_point: int) -> str:
    """Return the class of a code point: "separator", "letter", "mark" or "solo"."""
    category = unicodedata.category(chr(code_point))
    if category[0] == "M":
        return "mark"
    if (category[0] == "L" or category == "Nl") and name_of(code_point).startswith(
        SOLO_NAMES
    ):
        return "solo"
    if category[0] in "LN" or code_point == ord("_"):
        return "letter"
    return "separator"


def lower(code_point: int) -> int:
    """Return the simple lower-case mapping.

    `str.lower` applies the full mapping, which for one character alone is longer than the simple
    one for U+0130 only; there the simple mapping is its first character.
    """
    return ord(chr(code_point).lower()[0])


def words(text: str, lowercase: bool = True) -> list[str]:
    """Return the words of a text in order, lower-cased or as they are."""
    return _words(text, lowercase, symbols=False)


def symbols(text: str, lowercase: bool = True) -> list[str]:
    """Return the words of a text and its other characters but white space, in order."""
    return _words(text, lowercase, symbols=True)


def _words(text: str, lowercase: bool, symbols: bool) -> list[str]:
    found: list[str] = []
    begun_by = ""  # the class that began the open word, "" where none is open
    for character in text:
        kind = classify(ord(character))
        kept = chr(lower(ord(character))) if lowercase else character
        if kind == "separator" or (kind == "mark" and not begun_by):
            begun_by = ""
            if symbols and character not in WHITE_SPACE:
                found.append(kept)
        elif kind == "mark" or (kind == "letter" and begun_by == "letter"):
            found[-1] += kept
        else:
            found.append(kept)
            begun_by = kind
    return found


def word_shingles(
    text: str, size: int, seed: "int | Key", lowercase: bool = True
) -> list[int]:
    """Return the tokens of a text's word shingles, in text order, with repetitions."""
    hashes = [polynomial(word.encode("utf-8"), seed) for word in words(text, lowercase)]
    return _shingles(hashes, size, key_of(seed).words)


def symbol_shingles(
    text: str, size: int, seed: "int | Key", lowercase: bool = True
) -> list[int]:
    """Return the tokens of a text's shingles of symbols, in text order, with repetitions."""
    hashes = [
        polynomial(symbol.encode("utf-8"), seed) for symbol in symbols(text, lowercase)
    ]
    return _shingles(hashes, size, key_of(seed).words)


def stop_word_shingles(
    text: str, stop_words: list[str], size: int, seed: "int | Key"
) -> list[int]:
    """Return the tokens of the windows of `size` words whose first word is a stop word, in text order."""
    found = words(text)
    stops = {word for entry in stop_words for word in words(entry)}
    hashes = [polynomial(word.encode("utf-8"), seed) for word in found]
    starts = [start for start in range(len(found) - size + 1) if found[start] in stops]
    return [
        mix64(horner(hashes[start : start + size], key_of(seed).words))
        for start in starts
    ]


def character_shingles(
    text: str, size: int, seed: "int | Key", lowercase: bool = True
) -> list[int]:
    """Return the tokens of a text's character shingles, in text order, with repetitions."""
    values = [
        (lower(ord(character)) if lowercase else ord(character)) + 1
        for character in text
    ]
    return _shingles(values, size, key_of(seed).characters)


def _shingles(values: list[int], size: int, base: int) -> list[int]:
    """Return the tokens of the windows of `size` values, or of the one shorter window there is."""
    if size < 1:
        raise ValueError(f"size {size} is below 1")
    if not values:
        return []
    size = min(size, len(values))
    return [
        mix64(horner(values[start : start + size], base))
        for start in range(len(values) - size + 1)
    ]
