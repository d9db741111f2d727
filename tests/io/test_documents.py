"""Word documents and PDF files as texts: what is read of them, and damaged, encrypted and huge ones."""

import io
import json
import tracemalloc
import zipfile

import pytest

import lshfast
from lshfast import DataError, dedup_files
from lshfast._io import documents
from lshfast._io.documents import kind_of_document, text_of_document
from tests.cli.commands import run

docx = pytest.importorskip("docx")
pypdf = pytest.importorskip("pypdf")
RELATIONSHIP_TYPE = pytest.importorskip("docx.opc.constants").RELATIONSHIP_TYPE

TEXT = "the quick brown fox jumps over the lazy dog near the river bank " + " ".join(
    f"and then word {number}" for number in range(30)
)


def word_file(path, *paragraphs, cells=()):
    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if cells:
        table = document.add_table(1, len(cells))
        for cell, text in zip(table.rows[0].cells, cells, strict=True):
            cell.text = text
    document.save(path)
    return path


def pdf_file(path, *pages, contents=None, encrypted=None):
    """Write a PDF file with a line of text on each page, or with the same contents on all pages."""
    writer = pypdf.PdfWriter()
    font = pypdf.generic.DictionaryObject(
        {
            pypdf.generic.NameObject(f"/{name}"): pypdf.generic.NameObject(f"/{value}")
            for name, value in {
                "Type": "Font",
                "Subtype": "Type1",
                "BaseFont": "Helvetica",
            }.items()
        }
    )
    fonts = pypdf.generic.DictionaryObject({pypdf.generic.NameObject("/F1"): font})
    for text in pages:
        page = writer.add_blank_page(600, 800)
        stream = pypdf.generic.StreamObject()
        stream.set_data(contents or f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode())
        page[pypdf.generic.NameObject("/Contents")] = writer._add_object(
            stream.flate_encode()
        )
        page[pypdf.generic.NameObject("/Resources")] = pypdf.generic.DictionaryObject(
            {pypdf.generic.NameObject("/Font"): fonts}
        )
    if encrypted is not None:
        writer.encrypt(encrypted, algorithm="RC4-128")
    writer.write(path)
    return path


def reason(path):
    with pytest.raises(ValueError, match=r"document|cannot be read") as caught:
        text_of_document(path.read_bytes(), kind_of_document(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path):
    """A folder with the same text in each format, and with another one."""
    inside = tmp_path / "in"
    inside.mkdir()
    word_file(inside / "a.docx", TEXT, cells=("one cell", "another cell"))
    pdf_file(inside / "b.PDF", TEXT, "one cell another cell")
    (inside / "c.txt").write_text(f"{TEXT}\none cell another cell\n")
    word_file(inside / "d.docx", "something else is written on this page")
    return inside


def test_texts_of_a_folder(folder, tmp_path):
    out = tmp_path / "kept.jsonl"
    result = dedup_files(folder, out)
    names = [f"{folder}/{name}" for name in ("a.docx", "b.PDF", "c.txt", "d.docx")]
    assert result.removed == [(names[1], names[0], 1.0), (names[2], names[0], 1.0)]
    kept = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["path"] for row in kept] == [names[0], names[3]]
    assert kept[0]["text"] == f"{TEXT}\none cell\nanother cell"
    assert result.summary.lines == {}
    assert dedup_files(folder, memory="1G").keeper.tolist() == result.keeper.tolist()


@pytest.mark.parametrize("command", ["pairs", "check", "passages"])
def test_other_commands_read_documents(folder, tmp_path, command):
    out = ["-o", tmp_path / "out.jsonl"] if command != "check" else []
    done = run(command, folder, *out)
    assert done.exit_code == 0, done.stderr
    if out:
        assert "a.docx" in (tmp_path / "out.jsonl").read_text() + done.stdout


def test_text_of_word(tmp_path):
    document = docx.Document()
    paragraph = document.add_paragraph("a\tb")
    paragraph.add_run("\nc")
    document.add_table(1, 1).cell(0, 0).add_table(1, 1).cell(0, 0).text = "inner"
    deleted = docx.oxml.parse_xml(
        '<w:del xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        "<w:r><w:delText>gone</w:delText></w:r></w:del>"
    )
    paragraph._p.append(deleted)
    box = docx.oxml.parse_xml(
        '<w:r xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:AlternateContent>'
        "<mc:Choice><w:t>box</w:t></mc:Choice><mc:Fallback><w:t>box</w:t></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )
    document.add_paragraph()._p.append(box)
    path = tmp_path / "a.docx"
    document.save(path)
    text = text_of_document(path.read_bytes(), ".docx")
    assert [line for line in text.split("\n") if line] == ["a\tb", "c", "inner", "box"]


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (
            '<w:pPr><w:tabs><w:tab w:pos="720"/></w:tabs></w:pPr><w:r><w:t>a</w:t></w:r>',
            "a",
        ),
        ("<w:r><w:t>one <!-- no text -->two<?x y?> three</w:t></w:r>", "one two three"),
        (
            "<w:moveFrom><w:r><w:t>a</w:t></w:r></w:moveFrom>"
            "<w:moveTo><w:r><w:t>a</w:t></w:r></w:moveTo>",
            "a",
        ),
        ("<w:r><w:t>co</w:t><w:noBreakHyphen/><w:t>op</w:t></w:r>", "co-op"),
    ],
)
def test_text_of_a_paragraph_of_word(tmp_path, inner, text):
    document = docx.Document()
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    paragraph = docx.oxml.parse_xml(f'<w:p xmlns:w="{name}">{inner}</w:p>')
    document.element.body.insert(0, paragraph)
    path = tmp_path / "a.docx"
    document.save(path)
    assert text_of_document(path.read_bytes(), ".docx") == text


def test_a_document_without_text_is_an_empty_row(tmp_path):
    pdf_file(tmp_path / "scan.pdf", "", contents=b"0 0 m")
    word_file(tmp_path / "empty.docx")
    summary = dedup_files(tmp_path).summary
    assert (summary.read, summary.empty) == (2, 2)


# Documents that cannot be read


@pytest.mark.parametrize("suffix", [".docx", ".pdf"])
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.95])
def test_a_cut_off_document_is_a_bad_row(tmp_path, suffix, share):
    path = tmp_path / f"a{suffix}"
    if suffix == ".docx":
        word_file(path, TEXT)
    else:
        pdf_file(path, TEXT)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    word_file(tmp_path / "good.docx", TEXT)
    with pytest.raises(
        DataError, match=rf"a\{suffix}: cannot be read as a \{suffix} document: "
    ):
        dedup_files(tmp_path)
    summary = dedup_files(tmp_path, on_error="skip").summary
    assert (summary.read, summary.kept, summary.rejected) == (2, 1, 1)


def test_encrypted_documents_are_bad_rows(tmp_path):
    assert reason(pdf_file(tmp_path / "a.pdf", TEXT, encrypted="secret")) == (
        "an encrypted document is not read"
    )
    old = tmp_path / "old.docx"
    old.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    assert reason(old).startswith("an encrypted or old Word document is not read")
    path = word_file(tmp_path / "flag.docx", TEXT)
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    assert reason(path) == "an encrypted document is not read"


@pytest.mark.slow
def test_what_is_unpacked_is_limited(tmp_path, monkeypatch):
    path = word_file(tmp_path / "a.docx", TEXT)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/bomb.bin", bytes(documents.MOST_UNPACKED + 1))
    assert path.stat().st_size < 1 << 20
    assert "more than 268,435,456 bytes unpacked is not read" in reason(path)
    path = word_file(tmp_path / "b.docx", TEXT)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/more.xml", bytes(documents.MOST_XML))
    assert "bytes of XML unpacked is not read" in reason(path)
    monkeypatch.setattr(documents, "MOST_PARTS", 5)
    assert "more than 5 parts" in reason(word_file(tmp_path / "c.docx", TEXT))


WORD_XML = """<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">{}</w:document>"""


def with_part(path, name, content):
    """Write a Word document with another content of a part."""
    with zipfile.ZipFile(word_file(path, TEXT)) as archive:
        parts = {part.filename: archive.read(part) for part in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part_name, data in (parts | {name: content}).items():
            archive.writestr(part_name, data)
    return path


@pytest.mark.parametrize(
    ("xml", "what"),
    [
        (WORD_XML.format("<w:body>" + "<w:p/>" * 99 + "</w:body>"), "more than 99 elements"),
        (
            WORD_XML.format("<w:body>" + "<w:p>" * 9 + "</w:p>" * 9 + "</w:body>"),
            "more than 9 elements in each other",
        ),
        (
            WORD_XML.format(f'<w:body w:a="{"x" * 5000}"/>'),
            "more than 2,000 bytes in a tag or comment",
        ),
        (
            WORD_XML.format(f"<!--{'x' * 5000}--><w:body/>"),
            "more than 2,000 bytes in a tag or comment",
        ),
        (
            WORD_XML.format("".join(f"<w:a{n}/>" for n in range(20))),
            "more than 20 names of elements and attributes",
        ),
        (
            WORD_XML.format("<w:p " + " ".join(f'a{n}=""' for n in range(20)) + "/>"),
            "more than 20 names of elements and attributes",
        ),
        (WORD_XML.format("<w:p><v:b xmlns:v='a'/><v:b/></w:p>"), "a prefix of no namespace"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>' + WORD_XML.format("<w:body/>"), "declares entities"),
        ("<a>", "cannot be read as a .docx document: no element found"),
    ],
)  # fmt: skip
def test_the_xml_of_a_word_document_is_limited(tmp_path, monkeypatch, xml, what):
    for name, most in {"ELEMENTS": 99, "DEPTH": 9, "TAG": 2000, "NAMES": 20}.items():
        monkeypatch.setattr(documents, f"MOST_{name}", most)
    monkeypatch.setattr(documents, "PIECE_BYTES", 500)
    assert what in reason(with_part(tmp_path / "a.docx", "word/document.xml", xml))


def peak_bytes(function, *arguments):
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "inner",
    [
        "".join(f"<v:b{n}/>" for n in range(200)),
        "<b " + " ".join(f'v:b{n}=""' for n in range(200)) + "/>",
    ],
    ids=["elements", "attributes"],
)
def test_a_long_namespace_is_not_copied_into_names(tmp_path, inner):
    xml = WORD_XML.format(f'<a xmlns:v="{"A" * 900_000}">{inner}</a><w:body/>')
    data = with_part(tmp_path / "a.docx", "word/document.xml", xml).read_bytes()
    assert peak_bytes(text_of_document, data, ".docx") < 20 << 20


def test_prefixes_of_a_word_document(tmp_path):
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    xml = (
        f'<document xmlns="{name}" xmlns:b="{name}"><b:body><p><r><t>a</t>'
        f'<w:t xmlns:w="{name}">b<b:t xmlns:b="c">-</b:t></w:t><b:t>c</b:t>'
        '<t xmlns="c">-</t><tab xmlnsb="-"/><t xml:space="preserve">d</t></r></p></b:body></document>'
    )
    path = with_part(tmp_path / "a.docx", "word/document.xml", xml)
    assert text_of_document(path.read_bytes(), ".docx") == "abc\td"


@pytest.mark.parametrize("encoding", ["gb18030", "shift_jis", "nonsense"])
def test_an_unknown_encoding_is_named(tmp_path, encoding):
    xml = f'<?xml version="1.0" encoding="{encoding}"?>' + WORD_XML.format("<w:body/>")
    found = reason(with_part(tmp_path / "a.docx", "word/document.xml", xml))
    assert found.endswith(f"its XML is in the encoding '{encoding}', which is not read")


RELATIONS_XML = """<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>"""
RELATION_XML = (
    f'<Relationship Id="a" Type="{RELATIONSHIP_TYPE.OFFICE_DOCUMENT}" Target="{{}}"/>'
)


def test_only_the_part_with_the_text_is_read(tmp_path, monkeypatch):
    path = word_file(tmp_path / "a.docx", TEXT)
    read, open_part = [], zipfile.ZipFile.open

    def record(archive, part, *arguments, **options):
        read.append(getattr(part, "filename", part))
        return open_part(archive, part, *arguments, **options)

    monkeypatch.setattr(zipfile.ZipFile, "open", record)
    assert text_of_document(path.read_bytes(), ".docx") == TEXT
    assert read == ["[Content_Types].xml", "_rels/.rels", "word/document.xml"]


@pytest.mark.parametrize(
    "target", ["/word/document.xml", "./word/document.xml", "../word/a/../document.xml"]
)
def test_targets_of_a_word_document(tmp_path, target):
    relations = RELATION_XML.format("docProps/core.xml") + RELATION_XML.format(target)
    xml = RELATIONS_XML.format(relations)
    path = with_part(tmp_path / "a.docx", "_rels/.rels", xml)
    assert text_of_document(path.read_bytes(), ".docx") == TEXT


@pytest.mark.parametrize(
    ("relations", "what"),
    [
        (RELATION_XML.format("docProps/core.xml"), "it has no text of a Word document"),
        (
            RELATION_XML.format('word/document.xml" TargetMode="External'),
            "it has no text of a Word document",
        ),
        ("", "it has no text of a Word document"),
        ("<a", "cannot be read as a .docx document: not well-formed"),
    ],
)
def test_a_word_document_without_a_main_part(tmp_path, relations, what):
    xml = RELATIONS_XML.format(relations)
    assert what in reason(with_part(tmp_path / "a.docx", "_rels/.rels", xml))


def test_a_main_part_is_limited_whatever_its_name(tmp_path):
    xml = RELATIONS_XML.format(RELATION_XML.format("text.bin"))
    with zipfile.ZipFile(with_part(tmp_path / "a.docx", "_rels/.rels", xml)) as archive:
        types = archive.read("[Content_Types].xml").decode()
    with zipfile.ZipFile(tmp_path / "b.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", xml)
        archive.writestr(
            "[Content_Types].xml", types.replace("/word/document.xml", "/text.bin")
        )
        archive.writestr("text.bin", bytes(documents.MOST_XML + 1))
    assert "more than 50,331,648 bytes of XML unpacked" in reason(tmp_path / "b.docx")


def test_the_relations_of_a_word_document_are_limited(tmp_path):
    for name in ("word/_rels/document.xml.rels", "[Content_Types].xml"):
        content = bytes(documents.MOST_RELATIONS)
        found = reason(with_part(tmp_path / "a.docx", name, content))
        assert "more than 4,194,304 bytes of relationships unpacked" in found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_a_text_in_pieces(tmp_path, monkeypatch, encoding):
    text = "é" * 2000 + "a<!-- b -->c<![CDATA[&]]>"
    body = f"<w:t>-</w:t><w:body>-<w:p>-<w:r><w:t>{text}</w:t>-</w:r></w:p></w:body>"
    xml = f'<?xml version="1.0" encoding="{encoding}"?>' + WORD_XML.format(body)
    monkeypatch.setattr(documents, "PIECE_BYTES", 7)
    monkeypatch.setattr(documents, "MOST_TAG", 200)
    path = with_part(tmp_path / "a.docx", "word/document.xml", xml.encode(encoding))
    assert text_of_document(path.read_bytes(), ".docx") == "é" * 2000 + "ac&"


def test_a_part_that_is_longer_than_it_says_is_cut_off(tmp_path):
    out = io.BytesIO()
    with (
        zipfile.ZipFile(word_file(tmp_path / "a.docx", TEXT)) as archive,
        zipfile.ZipFile(out, "w") as changed,
    ):
        for part in archive.infolist():
            changed.writestr(part.filename, archive.read(part))
    data = bytearray(out.getvalue())
    place = data.index(b"word/document.xml", data.index(b"PK\1\2")) - 46
    data[place + 24 : place + 28] = (10).to_bytes(4, "little")
    (tmp_path / "a.docx").write_bytes(data)
    assert reason(tmp_path / "a.docx").startswith("cannot be read as a .docx document")


@pytest.mark.one_case
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_no_more_is_unpacked_than_a_part_says(tmp_path, method):
    out = io.BytesIO()
    with (
        zipfile.ZipFile(word_file(tmp_path / "a.docx", TEXT)) as archive,
        zipfile.ZipFile(out, "w", method) as changed,
    ):
        for part in archive.infolist():
            is_main = part.filename == "word/document.xml"
            content = bytes(40 << 20) if is_main else archive.read(part)
            changed.writestr(part.filename, content)
    data = bytearray(out.getvalue())
    place = data.index(b"word/document.xml", data.index(b"PK\1\2")) - 46
    data[place + 24 : place + 28] = (10).to_bytes(4, "little")
    (tmp_path / "a.docx").write_bytes(data)
    assert peak_bytes(reason, tmp_path / "a.docx") < 20 << 20


def test_pages_contents_and_operations_of_a_pdf_are_limited(tmp_path, monkeypatch):
    path = pdf_file(tmp_path / "a.pdf", *"abcd", contents=b"BT ET " * 1000)
    for name, most, what in [
        ("LEAST_OPERATIONS", 300, "drawing operations for its size is not read"),
        (
            "MOST_CONTENTS",
            2000,
            "more than 2,000 bytes of contents unpacked is not read",
        ),
        ("MOST_PAGES", 3, "more than 3 pages is not read"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(documents, name, most)
            assert what in reason(path)


def test_text_above_the_longest_row(tmp_path):
    word_file(tmp_path / "a.docx", TEXT * 3000)
    with pytest.raises(DataError, match="a row of more than 100,000 bytes"):
        dedup_files(tmp_path, max_row_bytes=100_000)


def test_without_the_packages(folder, tmp_path, monkeypatch):
    """Texts are read alone, the others are counted; documents alone name what to install."""
    monkeypatch.setattr(documents, "is_readable", lambda path: path.endswith(".txt"))
    assert dedup_files(folder).summary.unread == {".docx": 2, ".pdf": 1}
    (folder / "c.txt").unlink()

    def absent(module, extra):
        raise ImportError(f'{module} is missing: pip install "lshfast[{extra}]"')

    monkeypatch.setattr(documents, "optional", absent)
    with pytest.raises(ImportError, match=r'pip install "lshfast\[documents\]"'):
        dedup_files(folder)


def test_nothing_is_said_of_damaged_parts(tmp_path, capfd):
    path = pdf_file(tmp_path / "a.pdf", TEXT)
    path.write_bytes(path.read_bytes().replace(b"startxref", b"startxxxx"))
    lshfast.dedup_files(tmp_path, on_error="skip")
    assert capfd.readouterr().err == ""


def test_wrong_names(tmp_path):
    pdf = pdf_file(tmp_path / "a.pdf", TEXT)
    with pytest.raises(
        DataError, match=r"begins like a PDF, not like text; name it \.pdf"
    ):
        dedup_files(pdf.rename(tmp_path / "a.txt"))
