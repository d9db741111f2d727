"""Encodings of inputs: all inputs are converted to UTF-8 before rows are parsed.

A byte that is invalid in the encoding becomes a lone surrogate in UTF-8, which no decoder accepts.
The row that contains the byte is therefore parsed as usual and rejected, and the rows around it are
not affected.
"""

from __future__ import annotations

import codecs
from typing import Any

from lshfast._common.nearest import did_you_mean

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",  # after UTF-32, whose mark begins with this mark
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}


def checked_encoding(name: str) -> str:
    """Return Python's name of a text encoding; raise ValueError if Python has no such encoding."""
    try:
        codec = codecs.lookup(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError):
        from encodings.aliases import aliases

        other = did_you_mean(
            name, sorted({one.replace("_", "-") for one in aliases.values()})
        )
        raise ValueError(
            f"unknown encoding {name!r}; Python's are listed in the documentation of codecs{other}"
        ) from None
    if not codec._is_text_encoding:
        raise ValueError(f"{name!r} is no encoding of texts")
    return "utf-8" if codec.name == "utf-8-sig" else codec.name


def actual_encoding(start: bytes, expected: str) -> str:
    """Return the encoding whose byte order mark begins a file, or else the expected one.

    It is "utf-8-sig" for UTF-8 that was not expected.
    """
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            is_expected = encoding == "utf-8-sig" and expected == "utf-8"
            return expected if is_expected else encoding
    return expected


def decode_whole(data: bytes, expected: str, where: str) -> str:
    """Decode a text without its byte order mark; an error names the first bad byte."""
    encoding = actual_encoding(data[:4], expected).removesuffix("-sig")
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"not {_shown(encoding)}: {_byte(error)} of {where}") from None
    except UnicodeError as error:
        raise ValueError(f"not {encoding}: {error}") from None


def undecodable(error: UnicodeDecodeError, where: str, encoding: str = "utf-8") -> str:
    """Return a message with the position at which a row does not decode."""
    if encoding == "utf-8":
        return f"not UTF-8: {_byte(error)} of {where}"
    character = len(error.object[: error.start].decode())
    mark = error.object[error.start : error.start + 3].decode("utf-8", "surrogatepass")
    place = f"at character {character} of {where}"
    return f"not {_shown(encoding)}: byte 0x{ord(mark) & 0xFF:02x} {place}"


class Utf8Stream:
    """A binary stream in another encoding, read as UTF-8."""

    def __init__(self, stream: Any, start: bytes, encoding: str) -> None:
        self._stream = stream
        self._start = start
        self._decoder = codecs.getincrementaldecoder(encoding)("lshfast.mark")
        self._ready = memoryview(b"")
        self._ended = False

    def readinto(self, target: memoryview) -> int:
        while not self._ready and not self._ended:
            data = self._start or self._stream.read(1 << 18)
            self._start = b""
            self._ended = not data
            self._ready = memoryview(
                self._decoder.decode(data, final=not data).encode(
                    "utf-8", "surrogatepass"
                )
            )
        size = min(len(target), len(self._ready))
        target[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Replace undecodable bytes by U+DC00 + byte.

    In encodings whose characters begin at any byte, one byte is replaced at a time.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wide = error.encoding.lower().startswith(("utf-16", "utf-32"))
    end = error.end if wide else error.start + 1
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : end]), end


codecs.register_error("lshfast.mark", _mark)


def _byte(error: UnicodeDecodeError) -> str:
    return f"byte 0x{error.object[error.start]:02x} at offset {error.start}"


def _shown(encoding: str) -> str:
    name = encoding.removesuffix("-sig")
    return name.upper() if name.startswith("utf") else name
