"""Normal forms of docs/reference/definitions.md (UAX #15), with the running interpreter's Unicode data.

lshfast pins Unicode 15.1.0; where the interpreter has another version, the two agree on the code
points that both assign, so compare on those only. `unicodedata.normalize` itself is not used.
"""

import unicodedata
from functools import cache

HANGUL, LEADING, VOWEL, TRAILING = 0xAC00, 0x1100, 0x1161, 0x11A7


def mapping(character: str, compatible: bool) -> str:
    """Return the decomposition of a character, one step."""
    number = ord(character) - HANGUL
    if 0 <= number < 19 * 21 * 28:
        parts = [LEADING + number // 588, VOWEL + number // 28 % 21]
        if number % 28:
            parts.append(TRAILING + number % 28)
        return "".join(map(chr, parts))
    kind, *codes = unicodedata.decomposition(character).split() or [""]
    if not kind:
        return character
    if not kind.startswith("<"):
        codes = [kind, *codes]
    elif not compatible:
        return character
    return "".join(chr(int(code, 16)) for code in codes)


def decomposed(text: str, compatible: bool) -> str:
    """Return the full decomposition of a text, its marks in canonical order."""
    found = ""
    for character in text:
        parts = mapping(character, compatible)
        found += parts if parts == character else decomposed(parts, compatible)
    characters = list(found)
    # A bubble sort, as the standard words it.
    for stop in range(len(characters), 0, -1):
        for place in range(1, stop):
            before, order = map(
                unicodedata.combining, characters[place - 1 : place + 1]
            )
            if before > order > 0:
                pair = characters[place - 1 : place + 1]
                characters[place - 1 : place + 1] = pair[::-1]
    return "".join(characters)


@cache
def composites() -> dict[str, str]:
    """Return the primary composites by their decompositions, without those of Hangul.

    Singletons and code points that are excluded from composition are none; `unicodedata` knows the
    latter as those whose form is not themselves.
    """
    found = {}
    for character in map(chr, range(0x110000)):
        parts = unicodedata.decomposition(character) and mapping(character, False)
        is_excluded = unicodedata.normalize("NFC", character) != character
        if len(parts) == 2 and not is_excluded:
            found[parts] = character
    return found


def composite(first: str, second: str) -> str:
    """Return what two characters compose, or ""."""
    leading, vowel = ord(first) - LEADING, ord(second) - VOWEL
    if 0 <= leading < 19 and 0 <= vowel < 21:
        return chr(HANGUL + (leading * 21 + vowel) * 28)
    syllable, trailing = ord(first) - HANGUL, ord(second) - TRAILING
    if 0 <= syllable < 19 * 21 * 28 and syllable % 28 == 0 and 0 < trailing < 28:
        return chr(ord(first) + trailing)
    return composites().get(first + second, "")


def normal_form(text: str, form: str) -> str:
    """Return a text in the form "NFC" or "NFKC"."""
    made: list[str] = []
    for character in decomposed(text, form == "NFKC"):
        order = unicodedata.combining(character)
        starters = [
            place for place, one in enumerate(made) if not unicodedata.combining(one)
        ]
        if starters:
            between = made[starters[-1] + 1 :]
            is_blocked = any(unicodedata.combining(one) >= order for one in between)
            both = "" if is_blocked else composite(made[starters[-1]], character)
            if both:
                made[starters[-1]] = both
                continue
        made.append(character)
    return "".join(made)
