"""What to do about a file that cannot be read: an encoding, a delimiter, or a command of jq."""

from __future__ import annotations

import codecs
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lshfast._common.nearest import no_column
from lshfast._io.contents import HEAD_BYTES, content_of, has_format
from lshfast._io.files import DataError, File, Layout
from lshfast._io.lines import opened
from lshfast._io.sources import LocalFile

SAMPLE_BYTES = 4 << 20  # from the beginning of a file
_ENCODINGS = "cp1252", "latin-1"
# Options to change if nothing is wrong with the file.
_ID_IS_TAKEN = r"id .* is taken by "
_WITHOUT_IDS = "without id_column (--id-column), ids are the places of rows"
_SPACE = re.compile(r"[ \t\n\r]*")


def option_for(reason: str, layout: Layout) -> str:
    """Return which option may help against an error if nothing is wrong with the file, or ""."""
    if re.match(_ID_IS_TAKEN, reason):
        return _WITHOUT_IDS
    if not reason.startswith("no column "):
        return ""
    option = "column"
    for name, column in layout.columns_of_options.items():
        if reason.startswith(f"no column {column!r}") and column not in layout.columns:
            option = name
    return f"choose another with {option} (--{option.replace('_', '-')})"


@contextmanager
def advising(file: File) -> Iterator[None]:
    """Add advice to an error of reading this file.

    That is what the file holds instead, an encoding, a delimiter, the columns that there are, or a
    command that makes JSON Lines.
    """
    try:
        yield
    except DataError as error:
        from lshfast._io.documents import kind_of_document

        if error.path != file.name or kind_of_document(file.path) is not None:
            raise
        other = _content(file, error)
        if other:
            raise file.fault(None, other) from error
        advice = "" if file.columnar else _advice(file, error)
        reason, question, _ = error.reason.partition("; did you mean")
        if not advice and not question:
            advice = option_for(reason, file.layout)
        if not advice:
            raise
        raise error.with_reason(f"{reason}; {advice}") from error


def _content(file: File, error: DataError) -> str:
    """Return what a file holds, if its first bytes tell that it is not of its format; else ""."""
    if file.columnar and not error.reason.startswith("cannot be read as"):
        return ""
    if not file.columnar and error.line not in (None, 1):
        return ""
    with suppress(DataError), opened(file) as (stream, _):
        head = stream.read(HEAD_BYTES)
        content = None if has_format(head, file.format) else content_of(head)
        if content and not (
            content[0] == "JSON" and file.delimited and "column" not in error.reason
        ):
            return f"begins like {content[0]}, not like {file.format}; {content[1]}"
    return ""


def _advice(file: File, error: DataError) -> str:
    sample = b""
    with suppress(DataError), opened(file) as (stream, _):
        while len(sample) < SAMPLE_BYTES and (
            chunk := stream.read(SAMPLE_BYTES - len(sample))
        ):
            sample += chunk
    if file.layout.encoding == "utf-8":
        encoding = _utf16(sample) or (
            _one_byte(sample) if error.reason.startswith("not UTF-8") else None
        )
        if encoding:
            return f"try encoding {encoding} (--encoding {encoding})"
    if file.delimited and error.line is None and error.reason.startswith("no column"):
        return delimiter_advice(file)
    if file.format == "jsonl" and re.match(
        "(id|order) column .* missing", error.reason
    ):
        return _columns(file, sample, error.line or 0)
    return _conversion(file, sample, error.line) if file.format == "jsonl" else ""


def _columns(file: File, sample: bytes, line: int) -> str:
    """Return the columns of a row that lacks a key column, and the one that may be meant."""
    with suppress(ValueError, RecursionError, IndexError):
        record = json.loads(sample.split(b"\n", line)[line - 1])
        for column in file.layout.keys:
            if isinstance(record, dict) and column not in record and "." not in column:
                return no_column(column, record).partition("; ")[2]
    return ""


def delimiter_advice(file: File) -> str:
    """Return the option that divides a file of one column; "" without a known delimiter."""
    if not file.delimited:
        return ""
    from lshfast._io.delimiters import delimiter_to_try

    delimiter = delimiter_to_try(file)
    if delimiter:
        return f"try --delimiter {'tab' if delimiter.isspace() else shlex.quote(delimiter)}"
    return ""


def _decodes(sample: bytes, encoding: str) -> bool:
    """Return whether a sample decodes; it may end inside a character."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _utf16(sample: bytes) -> str | None:
    """Return UTF-16 without a byte order mark if every second byte of most characters is zero."""
    even_zeros = sample[::2].count(0)
    odd_zeros = sample[1::2].count(0)
    name = "utf-16-le" if odd_zeros > even_zeros else "utf-16-be"
    fewer, zeros = sorted((even_zeros, odd_zeros))
    is_utf16 = 2 * zeros > len(sample) // 2 and 4 * fewer < zeros
    return name if is_utf16 and _decodes(sample, name) else None


def _one_byte(sample: bytes) -> str | None:
    """Return an encoding of one byte a character; None for damaged UTF-8 and binary data."""
    # Lone surrogates, written as if in UTF-8.
    characters = re.sub(rb"\xed[\xa0-\xbf][\x80-\xbf]", b"", sample)
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(characters)
    wrong = text.count("\ufffd")
    right = len(re.findall("[^\0-\x7f\ufffd]", text))
    if b"\0" in sample or right >= wrong:
        return None
    return next(name for name in _ENCODINGS if _decodes(sample, name))


def _conversion(file: File, sample: bytes, line: int | None) -> str:
    """Return the command of jq that makes JSON Lines, if the first row is other JSON."""
    text = sample.removeprefix(codecs.BOM_UTF8).lstrip()
    first = line == sample[: len(sample) - len(text)].count(b"\n") + 1
    program = (
        _program(text.decode("utf-8", "replace"), file.layout.columns[0])
        if first
        else ""
    )
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
    """Return the program of jq that makes a line of each object; "" if it may be JSON Lines."""
    line, _, remainder = text.partition("\n")
    try:
        json.loads(line)
        is_complete = True
    except (ValueError, RecursionError):
        is_complete = False
    if text.startswith("["):
        first = text[1:].lstrip()[:1]
        strings = first == '"' and not (
            is_complete and remainder.strip()
        )  # and not a row of arrays
        return (
            f".[] | {{{json.dumps(column)}: .}}"
            if strings
            else ".[]"
            if first == "{"
            else ""
        )
    pretty = not is_complete and line.rstrip().endswith(("{", "[", ",", ":"))
    if not text.startswith("{") or (remainder.strip() and not pretty):
        return ""
    name = None if re.search(r"^\}\s*\{", text, re.MULTILINE) else _array(text, column)
    if name is None:
        return "." if pretty else ""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return f".{name}[]"
    return f".[{json.dumps(name)}][]"


def _array(text: str, column: str) -> str | None:
    """Return the first member that is an array of objects with this column; None without any."""
    decode = json.JSONDecoder().raw_decode
    at = 0

    def after(place: int) -> int:
        space = _SPACE.match(text, place)
        return space.end() if space else place

    with suppress(
        ValueError, RecursionError
    ):  # at the end of the object, or of the sample
        while True:
            name, at = decode(text, after(at + 1))  # behind the brace or comma
            value = after(after(at) + 1)  # behind the colon
            if text.startswith("[", value) and text.startswith("{", after(value + 1)):
                row, _ = decode(text, after(value + 1))
                if column in row or column.partition(".")[0] in row:
                    return str(name)
            at = after(decode(text, value)[1])
    return None
