"""What a file contains, by its first bytes, for errors about wrong names and options."""

from __future__ import annotations

import re

from lshfast._io.files import Format, codec_of_bytes

HEAD_BYTES = 64  # that `content_of` looks at

_ZIP = rb"PK\x03\x04"

# The first bytes of files that are read with another option, and their formats.
_READ = (
    (rb"PAR1", "a Parquet file", "parquet"),
    (rb"ARROW1|\xff\xff\xff\xff.{3}\x00", "an Arrow file", "arrow"),
    (rb"\x93NUMPY", "an array of numpy", "npy"),
    (rb"\s*\{", "JSON", "jsonl"),
)
# And of files that are not read.
_UNREAD = (
    (
        _ZIP,
        "a ZIP archive, an Excel workbook or a Word document",
        "unpack it, save its sheet as CSV, or name it .docx",
    ),
    (
        rb"\xd0\xcf\x11\xe0",
        "an old Excel workbook or Word document",
        "save it as CSV or as text",
    ),
    (rb"%PDF-", "a PDF", "name it .pdf"),
    (rb"SQLite format 3\x00", "a SQLite database", "export its table as CSV first"),
    (rb"7z\xbc\xaf\x27\x1c|Rar!", "an archive", "unpack it first"),
    (rb"\s*<(!doctype|html|\?xml)", "HTML or XML", "extract its text first"),
)
# Files whose names say that they are not read.
_SUFFIXES = {
    **dict.fromkeys(
        (".xlsx", ".xls", ".xlsm", ".ods", ".numbers"), "save the sheet as CSV"
    ),
    **dict.fromkeys(
        (".doc", ".odt", ".html", ".htm", ".xml", ".epub"),
        "extract its text as .txt",
    ),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar"), "unpack it first"),
    **dict.fromkeys(
        (".db", ".sqlite", ".sqlite3", ".duckdb"), "export its table as CSV or Parquet"
    ),
    **dict.fromkeys((".pkl", ".pickle", ".h5", ".hdf5"), "write it as Parquet first"),
}


def content_of(head: bytes) -> tuple[str, str] | None:
    """Return what a file is by its first bytes, and what to do with it; None if these tell nothing.

    Examples
    --------
    >>> content_of(b"PAR1...")
    ('a Parquet file', 'format parquet (--format parquet) reads it')
    >>> content_of(b"one text") is None
    True
    """
    codec = codec_of_bytes(head)
    if codec is not None:
        return f"{codec} data", "name it by its compression, such as .gz or .zst"
    for start, what, format in _READ:
        if re.match(start, head, re.DOTALL | re.IGNORECASE):
            return what, f"format {format} (--format {format}) reads it"
    for start, what, advice in _UNREAD:
        if re.match(start, head, re.DOTALL | re.IGNORECASE):
            return what, advice
    return None


def has_format(head: bytes, format: Format) -> bool:
    """Return whether a file begins like files of a format; an .npz file is a ZIP archive."""
    starts = [start for start, _, kind in _READ if kind == format]
    starts += [_ZIP] if format == "npy" else []
    return any(re.match(start, head, re.DOTALL) for start in starts)


def not_compressed(codec: str, head: bytes) -> str:
    """Return why a file named as compressed is not; "" if its first bytes are the codec's.

    Examples
    --------
    >>> not_compressed("gzip", b'{"text": "a"}')
    'not gzip data but JSON; take the suffix of the compression off its name'
    """
    actual_codec = codec_of_bytes(head)
    if actual_codec == codec or len(head) < 10:
        return ""
    content = content_of(head)
    if (
        actual_codec is None
        and b"\0" not in head
        and (content is None or content[0] == "JSON")
    ):
        what = content[0] if content else "text"
        step = "take the suffix of the compression off its name"
    else:
        what, step = content or ("something else", "write or download it again")
    return f"not {codec} data but {what}; {step}"


def unknown_suffix(name: str) -> str:
    """Return what to do with a file that is not read because of its suffix; "" if unknown."""
    return next(
        (
            f"; {step}"
            for suffix, step in _SUFFIXES.items()
            if name.lower().endswith(suffix)
        ),
        "",
    )
