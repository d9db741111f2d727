"""The text of Word documents (.docx) and PDF files, of which a limited size is unpacked.

python-docx and pypdf read them. Both are well kept and need no other program, and pypdf limits each
stream itself. Nothing is rendered, and no reference to another file is followed.
"""

from __future__ import annotations

import importlib.util
import io
import logging
import os
from collections.abc import Callable
from xml.parsers import expat

from lshfast._common.extras import optional
from lshfast._common.types import PathLike

# The extra with the packages.
EXTRA = "documents"

# The most bytes of a .docx file when all its parts are unpacked, of its parts of XML, and of those
# that relate parts, whose tree is built; and its most parts.
MOST_UNPACKED = 256 << 20
MOST_XML = 48 << 20
MOST_RELATIONS = 4 << 20
MOST_PARTS = 1 << 14

# The text is read as a stream. An element takes about a microsecond; a book of 1,000 pages has one
# million. The attributes of a tag are held together.
MOST_ELEMENTS = 1 << 22
MOST_DEPTH = 256
MOST_TAG = 1 << 20
PIECE_BYTES = 1 << 16

# The most bytes of the contents of all pages of a PDF file when they are unpacked, and its most
# pages.
MOST_CONTENTS = 48 << 20
MOST_PAGES = 1 << 15

# The drawing operations of a PDF file, each of which takes some 50 microseconds, grow with its
# bytes: forms can repeat some without end, and a small file can unpack to millions. A book of 1,000
# pages has 20 MB and 1 million.
LEAST_OPERATIONS = 1 << 16
BYTES_OF_OPERATION = 4

# The part with the types of the others.
_TYPES = "[content_types].xml"

# What separates paragraphs of a Word document, and pages of a PDF file.
PARAGRAPH_END = "\n"
PAGE_END = "\n\n"

# Names of elements, as expat gives them.
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BODY = f"{_WORD}body"
_PARAGRAPH = f"{_WORD}p"
_TEXT = f"{_WORD}t"
_BREAKS = {
    f"{_WORD}tab": "\t",
    f"{_WORD}br": "\n",
    f"{_WORD}cr": "\n",
    f"{_WORD}noBreakHyphen": "-",
}

# The same text again, for other programs; text that was moved, at its old place; and formats of
# paragraphs, which have positions of tabs.
_SKIPPED = {_FALLBACK, f"{_WORD}moveFrom", f"{_WORD}pPr"}


class _TooManyOperationsError(BaseException):
    """Ends the extraction of a page; pypdf goes on after other errors of a form."""


def kind_of_document(path: PathLike) -> str | None:
    """Return the suffix of a document, which is a key of PACKAGES; None for another file."""
    from lshfast._io.files import codec_of

    stem = os.fspath(path)
    if codec_of(path):
        stem = os.path.splitext(stem)[0]
    suffix = os.path.splitext(stem)[1].lower()
    return suffix if suffix in PACKAGES else None


def is_readable(path: PathLike) -> bool:
    """Return whether a file is no document, or the package that reads it is installed."""
    kind = kind_of_document(path)
    return kind is None or importlib.util.find_spec(PACKAGES[kind]) is not None


def text_of_document(data: bytes, kind: str) -> str:
    """Return the text of a document.

    Raises
    ------
    ImportError
        If the package that reads it is not installed.
    ValueError
        If it is damaged, encrypted, or has more than the limits allow; the message says why.
    """
    optional(PACKAGES[kind], EXTRA)
    what = f"a {kind} document"
    try:
        text = _READERS[kind](data)
    except _TooManyOperationsError as error:
        raise ValueError(f"{what} {error} is not read") from None
    except (ImportError, MemoryError, _LimitError):
        raise
    except Exception as error:  # damaged bytes raise errors of many kinds
        from lshfast._io.files import content_reason

        raise ValueError(
            f"cannot be read as {what}: {content_reason(error)}"
        ) from error
    return text.encode("utf-8", "replace").decode()  # lone surrogates


class _LimitError(ValueError):
    """A document that is encrypted, or has more than a limit allows."""


def _check(count: int, most: int, what: str) -> None:
    if count > most:
        raise _LimitError(f"a document with more than {most:,} {what} is not read")


# ---- Word ----


def _text_of_word(data: bytes) -> str:
    import zipfile

    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise _LimitError(
            "an encrypted or old Word document is not read: save it as .docx, without a password"
        )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
    _check(len(parts), MOST_PARTS, "parts")
    if any(part.flag_bits & 1 for part in parts):
        raise _LimitError("an encrypted document is not read")
    # A part that is longer than it says is cut off there.
    _check(sum(part.file_size for part in parts), MOST_UNPACKED, "bytes unpacked")
    for most, suffixes, what in (
        (MOST_XML, (".xml", ".rels"), "bytes of XML unpacked"),
        (MOST_RELATIONS, (".rels", _TYPES), "bytes of relationships unpacked"),
    ):
        xml_bytes = sum(
            part.file_size for part in parts if part.filename.lower().endswith(suffixes)
        )
        _check(xml_bytes, most, what)
    return _BodyText(_body_of_word(data)).text.strip(PARAGRAPH_END)


def _body_of_word(data: bytes) -> bytes:
    """Return the XML of the part with the text of a document."""
    constants = optional("docx.opc.constants", EXTRA)
    package = optional("docx.opc.pkgreader", EXTRA).PackageReader
    for _, kind, relation, content in package.from_file(io.BytesIO(data)).iter_sparts():
        is_main = relation == constants.RELATIONSHIP_TYPE.OFFICE_DOCUMENT
        if is_main and kind == constants.CONTENT_TYPE.WML_DOCUMENT_MAIN:
            return bytes(content)
    raise ValueError("it has no text of a Word document")


class _BodyText:
    """The text of all paragraphs, in tables and boxes too, without deleted and moved text.

    Attributes
    ----------
    text : str
    """

    def __init__(self, xml: bytes) -> None:
        self._elements = 0
        self._open: list[str] = []
        self._skipped_depth = 0
        self._body_depth = 0
        self._texts: list[str] = []
        parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add
        parser.StartDoctypeDeclHandler = self._refuse_entities
        for start in range(0, len(xml), PIECE_BYTES):
            parser.Parse(xml[start : start + PIECE_BYTES])
            unread_bytes = start + PIECE_BYTES - parser.CurrentByteIndex
            _check(unread_bytes, MOST_TAG, "bytes in a tag")
        parser.Parse(b"", True)
        self.text = "".join(self._texts)

    def _begin(self, name: str, _: object) -> None:
        self._elements += 1
        self._open.append(name)
        if self._elements > MOST_ELEMENTS or len(self._open) > MOST_DEPTH:
            _check(self._elements, MOST_ELEMENTS, "elements")
            _check(len(self._open), MOST_DEPTH, "elements in each other")
        if self._skipped_depth:
            return
        if not self._body_depth:
            if name == _BODY:
                self._body_depth = len(self._open)
        elif name in _SKIPPED:
            self._skipped_depth = len(self._open)
        elif name in _BREAKS:
            self._texts.append(_BREAKS[name])

    def _end(self, name: str) -> None:
        depth = len(self._open)
        self._open.pop()
        if self._skipped_depth:
            if depth == self._skipped_depth:
                self._skipped_depth = 0
        elif depth == self._body_depth:
            self._body_depth = 0
        elif self._body_depth and name == _PARAGRAPH:
            self._texts.append(PARAGRAPH_END)

    def _add(self, characters: str) -> None:
        is_read = self._body_depth and not self._skipped_depth
        if is_read and self._open[-1] == _TEXT:
            self._texts.append(characters)

    def _refuse_entities(self, *_: object) -> None:
        raise _LimitError("a document that declares entities is not read")


# ---- PDF ----


def _text_of_pdf(data: bytes) -> str:
    pypdf = optional("pypdf", EXTRA)
    # Remarks about damaged files are not for the terminal.
    logging.getLogger("pypdf").addHandler(_SILENT)
    logging.getLogger("pypdf").propagate = False
    reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
    if reader.is_encrypted:
        raise _LimitError("an encrypted document is not read")
    pages = reader.pages
    _check(len(pages), MOST_PAGES, "pages")
    most_operations = LEAST_OPERATIONS + len(data) // BYTES_OF_OPERATION
    operations = 0
    nbytes = 0

    def count(*_: object) -> None:
        nonlocal operations
        operations += 1
        if operations > most_operations:
            raise _TooManyOperationsError(
                f"with more than {most_operations:,} drawing operations for its size"
            )

    texts = []
    for page in pages:
        contents = page.get_contents()
        nbytes += 0 if contents is None else len(contents.get_data())
        _check(nbytes, MOST_CONTENTS, "bytes of contents unpacked")
        texts.append(page.extract_text(visitor_operand_before=count))
    return PAGE_END.join(texts)


_SILENT = logging.NullHandler()

# The packages that read documents, by the suffixes of the files.
PACKAGES = {".docx": "docx", ".pdf": "pypdf"}
_READERS: dict[str, Callable[[bytes], str]] = {
    ".docx": _text_of_word,
    ".pdf": _text_of_pdf,
}
