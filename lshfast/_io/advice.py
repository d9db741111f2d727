"""What to do about a file that cannot be read: the encoding or delimiter to try, or a command that
makes JSON Lines.
"""

from __future__ import annotations

import codecs
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lshfast._common.nearest import no_column
from lshfast._io.contents import HEAD_BYTES, content_of, has_format
from lshfast._io.delimiters import delimiter_to_try
from lshfast._io.files import DataError, File
from lshfast._io.lines import opened
from lshfast._io.sources import LocalFile

SAMPLE_BYTES = 4 << 20  # from the beginning of a file
_ENCODINGS = "cp1252", "latin-1"
# Options to change if nothing is wrong with the file.
_OPTIONS = {
    r"no column ": "column (--column) names another one",
    r"id .* is taken by ": "without id_column (--id-column), ids are the places of rows",
}
_SPACE = re.compile(r"[ \t\n\r]*")


def option_for(reason: str) -> str:
    """Return which option may help against an error if nothing is wrong with the file, or ""."""
    return next((step for start, step in _OPTIONS.items() if re.match(start, reason)), "")


@contextmanager
def advising(file: File) -> Iterator[None]:
    """Add advice to an error of reading this file.

    That is what the file holds instead, an encoding, a delimiter, the columns that there are, or a
    command that makes JSON Lines.
    """
    try:
        yield
    except DataError as error:
        if error.path != file.name:
            raise
        other = _content(file, error)
        if other:
            raise file.fault(None, other) from error
        advice = "" if file.columnar else _advice(file, error)
        reason, question, _ = error.reason.partition("; did you mean")
        if not advice and not question:
            advice = option_for(reason)
        if not advice:
            raise
        raise file.fault(error.line, f"{reason}; {advice}") from error


def _content(file: File, error: DataError) -> str:
    """Return what a file holds, if its first bytes tell that it is not of its format; else ""."""
    if file.columnar and not error.reason.startswith("cannot be read as"):
        return ""
    if not file.columnar and error.line not in (None, 1):
        return ""
    with suppress(DataError), opened(file) as (stream, _):
        head = stream.read(HEAD_BYTES)
        found = None if has_format(head, file.format) else content_of(head)
        if found and not (found[0] == "JSON" and file.delimited and "column" not in error.reason):
            return f"begins like {found[0]}, not like {file.format}; {found[1]}"
    return ""


def _advice(file: File, error: DataError) -> str:
    sample = b""
    with suppress(DataError), opened(file) as (stream, _):
        while len(sample) < SAMPLE_BYTES and (more := stream.read(SAMPLE_BYTES - len(sample))):
            sample += more
    if file.layout.encoding == "utf-8":
        encoding = _utf16(sample) or (
            _one_byte(sample) if error.reason.startswith("not UTF-8") else None
        )
        if encoding:
            return f"try encoding {encoding} (--encoding {encoding})"
    if file.delimited and error.line is None and error.reason.startswith("no column"):
        return delimiter_advice(file)
    if file.format == "jsonl" and re.match("(id|order) column .* missing", error.reason):
        return _columns(file, sample, error.line or 0)
    return _conversion(file, sample, error.line) if file.format == "jsonl" else ""


def _columns(file: File, sample: bytes, line: int) -> str:
    """Return the columns of a row that lacks the column of ids or of the order, and the one that
    may be meant.
    """
    with suppress(ValueError, RecursionError, IndexError):
        record = json.loads(sample.split(b"\n", line)[line - 1])
        for wanted in file.layout.keys:
            if isinstance(record, dict) and wanted not in record and "." not in wanted:
                return no_column(wanted, record).partition("; ")[2]
    return ""


def delimiter_advice(file: File) -> str:
    """Return the option that divides a file of one column, "" if its header holds no known
    delimiter.
    """
    delimiter = delimiter_to_try(file) if file.delimited else None
    return (
        f"try --delimiter {'tab' if delimiter.isspace() else shlex.quote(delimiter)}"
        if delimiter
        else ""
    )


def _decodes(sample: bytes, encoding: str) -> bool:
    """Return whether a sample decodes; it may end inside a character."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _utf16(sample: bytes) -> str | None:
    """Return UTF-16 without a byte order mark if every second byte of most characters is zero."""
    low = sample[::2].count(0)
    high = sample[1::2].count(0)
    name, zeros, others = ("utf-16-le", high, low) if high > low else ("utf-16-be", low, high)
    return (
        name
        if 2 * zeros > len(sample) // 2 and 4 * others < zeros and _decodes(sample, name)
        else None
    )


def _one_byte(sample: bytes) -> str | None:
    """Return an encoding of one byte a character; None for UTF-8 with some damage, and for data
    that are no text.
    """
    # Lone surrogates, written as if in UTF-8.
    characters = re.sub(rb"\xed[\xa0-\xbf][\x80-\xbf]", b"", sample)
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(characters)
    wrong = text.count("\ufffd")
    right = len(re.findall("[^\0-\x7f\ufffd]", text))
    if b"\0" in sample or right >= wrong:
        return None
    return next(name for name in _ENCODINGS if _decodes(sample, name))


def _conversion(file: File, sample: bytes, line: int | None) -> str:
    """Return the command of jq that makes JSON Lines, if the error is in the first row of a file of
    other JSON.
    """
    text = sample.removeprefix(codecs.BOM_UTF8).lstrip()
    first = line == sample[: len(sample) - len(text)].count(b"\n") + 1
    program = _program(text.decode("utf-8", "replace"), file.layout.column) if first else ""
    if not program:
        return ""
    command = f"jq -c {shlex.quote(program)}"
    exact = (
        file.name == file.path
        and file.name.isprintable()
        and " ".join(file.name.split()) == file.name
    )
    if file.codec is None and isinstance(file.source, LocalFile) and exact:
        path = f"./{file.name}" if file.name.startswith("-") else file.name
        command += f" {shlex.quote(path)} > {shlex.quote(path.removesuffix('.json') + '.jsonl')}"
    return f"`{command}` makes JSON Lines, one object a line"


def _program(text: str, column: str) -> str:
    """Return the program by which jq makes a line of each object or string, "" if the file may be
    JSON Lines.
    """
    line, _, rest = text.partition("\n")
    try:
        json.loads(line)
        whole = True
    except (ValueError, RecursionError):
        whole = False
    if text.startswith("["):
        first = text[1:].lstrip()[:1]
        strings = first == '"' and not (whole and rest.strip())  # and not a row of arrays
        return f".[] | {{{json.dumps(column)}: .}}" if strings else ".[]" if first == "{" else ""
    pretty = not whole and line.rstrip().endswith(("{", "[", ",", ":"))
    if not text.startswith("{") or (rest.strip() and not pretty):
        return ""
    name = None if re.search(r"^\}\s*\{", text, re.MULTILINE) else _array(text, column)
    if name is None:
        return "." if pretty else ""
    return (
        f".{name}[]"
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        else f".[{json.dumps(name)}][]"
    )


def _array(text: str, column: str) -> str | None:
    """Return the first member of an object that is an array whose first object has this column,
    None without any.
    """
    decode = json.JSONDecoder().raw_decode
    at = 0

    def after(place: int) -> int:
        found = _SPACE.match(text, place)
        return found.end() if found else place

    with suppress(ValueError, RecursionError):  # at the end of the object, or of the sample
        while True:
            name, at = decode(text, after(at + 1))  # behind the brace or comma
            value = after(after(at) + 1)  # behind the colon
            if text.startswith("[", value) and text.startswith("{", after(value + 1)):
                row, _ = decode(text, after(value + 1))
                if column in row or column.partition(".")[0] in row:
                    return str(name)
            at = after(decode(text, value)[1])
    return None
