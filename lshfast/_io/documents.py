"""The text of Word documents (.docx) and PDF files, of which a limited size is unpacked.

Of a Word document, the part with the text is found and read here, by constants of python-docx; its
own reader unpacks all parts. pypdf reads PDF files and limits each stream itself. Both packages
need no other program. Nothing is rendered, and no reference to another file is followed.
"""

from __future__ import annotations

import importlib.util
import io
import logging
import os
import posixpath
import zipfile
from collections.abc import Callable
from xml.parsers import expat

from lshfast._common.extras import optional
from lshfast._common.types import PathLike

# The extra with the packages.
EXTRA = "documents"

# The most bytes of a .docx file when all its parts are unpacked, of its parts of XML, and of those
# that relate parts, whose elements are held; and its most parts.
MOST_UNPACKED = 256 << 20
MOST_XML = 48 << 20
MOST_RELATIONS = 4 << 20
MOST_PARTS = 1 << 14

# The text is read as a stream. An element takes about a microsecond; a book of 1,000 pages has one
# million. The attributes of a tag are held together (one can be a whole drawing), and so are all
# different names of elements and attributes.
MOST_ELEMENTS = 1 << 22
MOST_DEPTH = 256
MOST_TAG = 1 << 20
MOST_NAMES = 1 << 12
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

# The parts with the types of the others, and with the relationships of the whole document.
_TYPES = "[Content_Types].xml"
_RELATIONS = "_rels/.rels"

# What separates paragraphs of a Word document, and pages of a PDF file.
PARAGRAPH_END = "\n"
PAGE_END = "\n\n"

# The namespaces of elements that are read, and their prefixes in the names below. Names of other
# namespaces begin with _OTHER. expat would copy the namespace into each name, however long it is.
_NAMESPACES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w:",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
}
_OTHER = ":"
_BODY = "w:body"
_PARAGRAPH = "w:p"
_TEXT = "w:t"
_BREAKS = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-"}

# The same text again, for other programs; text that was moved, at its old place; and formats of
# paragraphs, which have positions of tabs.
_SKIPPED = {"mc:Fallback", "w:moveFrom", "w:pPr"}


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
    """A document that is encrypted, is not written as it must be, or exceeds a limit."""


def _check(count: int, most: int, what: str) -> None:
    if count > most:
        raise _LimitError(f"a document with more than {most:,} {what} is not read")


# ---- Word ----


def _text_of_word(data: bytes) -> str:
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise _LimitError(
            "an encrypted or old Word document is not read: save it as .docx, without a password"
        )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_parts(archive.infolist())
        return _BodyText(_main_part(archive)).text.strip(PARAGRAPH_END)


def _check_parts(parts: list[zipfile.ZipInfo]) -> None:
    """Raise an error if the parts are encrypted, or more or larger than the limits allow."""
    _check(len(parts), MOST_PARTS, "parts")
    if any(part.flag_bits & 1 for part in parts):
        raise _LimitError("an encrypted document is not read")
    _check(sum(part.file_size for part in parts), MOST_UNPACKED, "bytes unpacked")
    for most, suffixes, what in (
        (MOST_XML, (".xml", ".rels"), "bytes of XML unpacked"),
        (MOST_RELATIONS, (".rels", _TYPES.lower()), "bytes of relationships unpacked"),
    ):
        xml_bytes = sum(
            part.file_size for part in parts if part.filename.lower().endswith(suffixes)
        )
        _check(xml_bytes, most, what)


def _main_part(archive: zipfile.ZipFile) -> bytes:
    """Return the XML of the part with the text of a document, without a walk through all parts."""
    constants = optional("docx.opc.constants", EXTRA)
    kinds = {}
    for row in _rows(_part(archive, _TYPES)):
        names = row.get("PartName") or row.get("Extension", "")
        kinds[names.lower()] = row.get("ContentType")
    for row in _rows(_part(archive, _RELATIONS)):
        is_inside = row.get("TargetMode") != "External"
        if is_inside and row.get("Type") == constants.RELATIONSHIP_TYPE.OFFICE_DOCUMENT:
            path = posixpath.normpath(posixpath.join("/", row.get("Target", "")))
            name = path.lstrip("/")
            extension = name.rpartition(".")[2].lower()
            kind = kinds.get(f"/{name.lower()}", kinds.get(extension))
            if kind == constants.CONTENT_TYPE.WML_DOCUMENT_MAIN:
                return _part(archive, name)
    raise ValueError("it has no text of a Word document")


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a part; one that is longer than it says is cut off there."""
    part = archive.getinfo(name)
    _check(part.file_size, MOST_XML, "bytes of XML unpacked")
    # Without a size, and always by other methods, zipfile unpacks a part before it cuts it off.
    if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _LimitError(
            "a document whose parts are not packed by deflate is not read"
        )
    with archive.open(part) as file:
        return file.read(part.file_size)


def _rows(xml: bytes) -> list[dict[str, str]]:
    """Return the attributes of each element."""
    rows: list[dict[str, str]] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda _, attributes: rows.append(attributes)
    _parse(parser, xml)
    return rows


def _parse(parser: expat.XMLParserType, xml: bytes) -> None:
    """Feed XML to a parser with handlers of elements, in pieces and within the limits."""
    encoding = None

    def declare(_version: str, name: str | None, _standalone: int) -> None:
        nonlocal encoding
        encoding = name

    parser.XmlDeclHandler = declare
    parser.StartDoctypeDeclHandler = _refuse_entities
    for start in range(0, len(xml), PIECE_BYTES):
        try:
            parser.Parse(xml[start : start + PIECE_BYTES])
        except _LimitError:
            raise
        except (LookupError, ValueError):  # pyexpat cannot read the encoding
            reason = f"its XML is in the encoding {encoding!r}, which is not read"
            raise ValueError(reason) from None
        unread_bytes = start + PIECE_BYTES - parser.CurrentByteIndex
        _check(unread_bytes, MOST_TAG, "bytes in a tag or comment")
        _check(len(parser.intern), MOST_NAMES, "names of elements and attributes")
    parser.Parse(b"", True)


def _refuse_entities(*_: object) -> None:
    raise _LimitError("a document that declares entities is not read")


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
        # What stands for the prefixes of names, and what stood for them outside of open elements.
        self._prefixes: dict[str, str | None] = {"": _OTHER, "xml": _OTHER}
        self._outside: list[tuple[int, str, str | None]] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add
        _parse(parser, xml)
        self.text = "".join(self._texts)

    def _begin(self, full_name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        depth = len(self._open) + 1
        if self._elements > MOST_ELEMENTS or depth > MOST_DEPTH:
            _check(self._elements, MOST_ELEMENTS, "elements")
            _check(depth, MOST_DEPTH, "elements in each other")
        for attribute in attributes:
            if attribute.startswith("xmlns"):
                self._declare(attribute, attributes[attribute], depth)
        name = self._resolved(full_name)
        self._open.append(name)
        if self._skipped_depth:
            return
        if not self._body_depth:
            if name == _BODY:
                self._body_depth = depth
        elif name in _SKIPPED:
            self._skipped_depth = depth
        elif name in _BREAKS:
            self._texts.append(_BREAKS[name])

    def _declare(self, attribute: str, namespace: str, depth: int) -> None:
        keyword, _, prefix = attribute.partition(":")
        if keyword == "xmlns":
            self._outside.append((depth, prefix, self._prefixes.get(prefix)))
            self._prefixes[prefix] = _NAMESPACES.get(namespace, _OTHER)

    def _resolved(self, full_name: str) -> str:
        prefix, _, name = full_name.rpartition(":")
        known = self._prefixes.get(prefix)
        if known is None:
            raise _LimitError("a document with a prefix of no namespace is not read")
        return known + name

    def _end(self, _: str) -> None:
        depth = len(self._open)
        name = self._open.pop()
        while self._outside and self._outside[-1][0] == depth:
            prefix, known = self._outside.pop()[1:]
            self._prefixes[prefix] = known
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
