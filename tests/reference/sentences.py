"""Sentences by UAX #29 of Unicode 15.1.0: the property Sentence_Break and the rules, as they are worded.

The property is derived from `unicodedata` and from the lists of characters that the annex and PropList.txt
name. Where the interpreter has another version of Unicode, compare on the code points that both assign.
"""

import unicodedata

SEPARATORS = ("CR", "LF", "Sep")


def codes(ranges: str) -> set[int]:
    """Return the code points of ranges in hexadecimal."""
    found = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return found


A_TERMINATORS = codes("2e 2024 fe52 ff0e")
# Sentence_Terminal of PropList.txt without A_TERMINATORS.
TERMINATORS = codes(
    "21 3f 589 61d-61f 6d4 700-702 7f9 837 839 83d-83e 964-965 104a-104b 1362 1367-1368 166e 1735-1736 17d4-17d5 "
    "1803 1809 1944-1945 1aa8-1aab 1b5a-1b5b 1b5e-1b5f 1b7d-1b7e 1c3b-1c3c 1c7e-1c7f 203c-203d 2047-2049 2e2e "
    "2e3c 2e53-2e54 3002 a4ff a60e-a60f a6f3 a6f7 a876-a877 a8ce-a8cf a92f a9c8-a9c9 aa5d-aa5f aaf0-aaf1 abeb "
    "fe56-fe57 ff01 ff1f ff61 10a56-10a57 10f55-10f59 10f86-10f89 11047-11048 110be-110c1 11141-11143 111c5-111c6 "
    "111cd 111de-111df 11238-11239 1123b-1123c 112a9 1144b-1144c 115c2-115c3 115c9-115d7 11641-11642 1173c-1173e "
    "11944 11946 11a42-11a43 11a9b-11a9c 11c41-11c42 11ef7-11ef8 11f43-11f44 16a6e-16a6f 16af5 16b37-16b38 16b44 "
    "16e98 1bc9f 1da88"
)
CONTINUES = codes(
    "2c-2d 3a 55d 60c-60d 7f8 1802 1808 2013-2014 3001 fe10-fe11 fe13 fe31-fe32 fe50-fe51 fe55 fe58 fe63 ff0c-ff0d "
    "ff1a ff64"
)
# Quotation marks of LineBreak.txt that are neither brackets nor initial or final punctuation.
QUOTATION = codes("22 27 275b-2760 2e00-2e01 2e06-2e08 2e0b 1f676-1f678")
# Letters of Prepended_Concatenation_Mark that Line_Break calls numeric.
NUMERIC_SIGNS = codes("600-605 66b-66c 6dd 890-891 8e2 110bd 110cd")
# Other_Grapheme_Extend that are no marks.
EXTENDERS = codes("200c-200d ff9e-ff9f e0020-e007f")
# Georgian letters: no sentence begins with an upper case one.
GEORGIAN = codes("10d0-10fa 10fd-10ff 1c90-1cba 1cbd-1cbf")
# Letters that are lower case since Unicode 15.
LATER_LOWER = codes("10fc a7f2-a7f4 ab69")
SPACES = codes("9 b-c 20 a0 1680 2000-200a 202f 205f 3000")


def class_of(character: str) -> str:
    """Return the value of Sentence_Break."""
    code, category = ord(character), unicodedata.category(character)
    if code in (0x0D, 0x0A):
        return "CR" if code == 0x0D else "LF"
    if code in (0x85, 0x2028, 0x2029):
        return "Sep"
    if category[0] == "M" or code in EXTENDERS:
        return "Extend"
    if code in NUMERIC_SIGNS:
        return "Numeric"
    if category == "Cf":
        return "Format"
    if code in SPACES:
        return "Sp"
    if code in GEORGIAN:
        return "OLetter"
    if character.islower() or code in LATER_LOWER:
        return "Lower"
    if category == "Lt" or character.isupper():
        return "Upper"
    if category[0] == "L" or category == "Nl" or code == 0x5F3:
        return "OLetter"
    if category == "Nd":
        return "Numeric"
    if code in A_TERMINATORS:
        return "ATerm"
    if code in TERMINATORS:
        return "STerm"
    if category in ("Ps", "Pe", "Pi", "Pf") or code in QUOTATION:
        return "Close"
    return "SContinue" if code in CONTINUES else "Other"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; each rule is tried at each place."""
    kinds = [class_of(character) for character in text]
    found = [""]
    for place, character in enumerate(text):
        if place and is_border(kinds, place):
            found.append("")
        found[-1] += character
    return found


def is_border(kinds: list[str], place: int) -> bool:
    """Return whether a sentence ends before a place, by the classes of all characters."""
    if kinds[place - 1] == "CR" and kinds[place] == "LF":  # SB3
        return False
    if kinds[place - 1] in SEPARATORS:  # SB4
        return True
    if kinds[place] in ("Extend", "Format"):  # SB5
        return False
    before, after = without_ignored(kinds[:place]), without_ignored(kinds[place:])
    if before[-1:] == ["ATerm"] and after[0] == "Numeric":  # SB6
        return False
    is_cased = len(before) > 1 and before[-2] in ("Upper", "Lower")
    if before[-1:] == ["ATerm"] and is_cased and after[0] == "Upper":  # SB7
        return False
    without_spaces = stripped(before, "Sp")
    without_closing = stripped(without_spaces, "Close")
    terminator = without_closing[-1] if without_closing else ""
    if terminator == "ATerm" and decides_lower(after):  # SB8
        return False
    # SB998, but for what SB11 has before a separator.
    if terminator not in ("ATerm", "STerm"):
        return False
    if after[0] in ("SContinue", "ATerm", "STerm"):  # SB8a
        return False
    # SB9.
    if len(without_spaces) == len(before) and after[0] in ("Close", "Sp", *SEPARATORS):
        return False
    return after[0] not in ("Sp", *SEPARATORS)  # SB10, SB11


def without_ignored(kinds: list[str]) -> list[str]:
    """Return classes without Extend and Format behind a character that they belong to."""
    found: list[str] = []
    for kind in kinds:
        if kind not in ("Extend", "Format"):
            found.append(kind)
        elif not found or found[-1] in SEPARATORS:
            found.append("Other")
    return found


def stripped(kinds: list[str], kind: str) -> list[str]:
    """Return classes without those of one kind at the end."""
    end = len(kinds)
    while end and kinds[end - 1] == kind:
        end -= 1
    return kinds[:end]


def decides_lower(after: list[str]) -> bool:
    """Return whether the first class that decides is Lower."""
    for kind in after:
        if kind in ("OLetter", "Upper", "Lower", "ATerm", "STerm", *SEPARATORS):
            return kind == "Lower"
    return False
