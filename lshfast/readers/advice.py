"""What to do about a file that cannot be read: the encoding to try, or the command that makes JSON Lines of it."""

from __future__ import annotations

import codecs
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lshfast.common.atomic_files import printable
from lshfast.readers.files import DataError, File
from lshfast.readers.lines import opened
from lshfast.readers.sources import LocalFile

SAMPLE_BYTES = 4 << 20  # from the beginning of a file
_ENCODINGS = "cp1252", "latin-1"
_ARRAY = re.compile(rb'"([^"\\\x00-\x1f]+)"\s*:\s*\[\s*\{')  # a member that holds an array of objects


@contextmanager
def advising(file: File) -> Iterator[None]:
    """Add advice to an error of reading this file, if it is in another encoding, or is JSON but not JSON Lines."""
    try:
        yield
    except DataError as error:
        advice = _advice(file, error) if error.path == file.name and not file.columnar else ""
        if not advice:
            raise
        raise file.fault(error.line, f"{error.reason}; {advice}") from error


def _advice(file: File, error: DataError) -> str:
    sample = b""
    with suppress(DataError), opened(file) as (stream, _):
        while len(sample) < SAMPLE_BYTES and (more := stream.read(SAMPLE_BYTES - len(sample))):
            sample += more
    if file.layout.encoding == "utf-8":
        encoding = _utf16(sample) or (_one_byte(sample) if error.reason.startswith("not UTF-8") else None)
        if encoding:
            return f"try encoding {encoding} (--encoding {encoding})"
    return _conversion(file, sample, error.line) if file.format == "jsonl" else ""


def _decodes(sample: bytes, encoding: str) -> bool:
    """Return whether a sample decodes; it may end inside a character."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _utf16(sample: bytes) -> str | None:
    """Return UTF-16 without a byte order mark if every second byte of most characters is zero."""
    low, high = sample[::2].count(0), sample[1::2].count(0)
    name, zeros, others = ("utf-16-le", high, low) if high > low else ("utf-16-be", low, high)
    return name if 2 * zeros > len(sample) // 2 and 4 * others < zeros and _decodes(sample, name) else None


def _one_byte(sample: bytes) -> str | None:
    """Return an encoding of one byte a character; None for UTF-8 with some damage, and for data that are no text."""
    characters = re.sub(rb"\xed[\xa0-\xbf][\x80-\xbf]", b"", sample)  # lone surrogates, written as if in UTF-8
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(characters)
    wrong, right = text.count("\ufffd"), len(re.findall("[^\0-\x7f\ufffd]", text))
    if b"\0" in sample or right >= wrong:
        return None
    return next(name for name in _ENCODINGS if _decodes(sample, name))


def _conversion(file: File, sample: bytes, line: int | None) -> str:
    """Return the command of jq that makes JSON Lines, if the error is in the first row of a file of other JSON."""
    text = sample.removeprefix(codecs.BOM_UTF8).lstrip()
    program = _program(text) if line == sample[: len(sample) - len(text)].count(b"\n") + 1 else ""
    if not program:
        return ""
    command = f"jq -c {shlex.quote(program)}"
    if file.codec is None and isinstance(file.source, LocalFile):
        name = file.name.removesuffix(".json") + ".jsonl"
        command += f" {shlex.quote(file.name)} > {shlex.quote(name)}"
    return f"`{command}` makes JSON Lines, one object a line"


def _program(text: bytes) -> str:
    """Return the program by which jq makes lines of the objects in a file, "" if the file may be JSON Lines."""
    if text.startswith(b"["):
        return ".[]"
    line, _, rest = text.partition(b"\n")
    try:
        json.loads(line)
        whole = True
    except (ValueError, RecursionError):
        whole = False
    pretty = not whole and line.rstrip().endswith((b"{", b"[", b",", b":"))
    if not text.startswith(b"{") or (rest.strip() and not pretty):
        return ""
    array = None if re.search(rb"^\}\s*\{", text, re.MULTILINE) else _ARRAY.search(text)
    if array is None:
        return "." if pretty else ""
    name = printable(array[1].decode("utf-8", "replace"))
    return f".{name}[]" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f'.["{name}"][]'
