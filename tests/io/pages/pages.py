"""What the tests of pages share: hostile values, and a parser that checks that a page is harmless and well-formed."""

import re
from html.parser import HTMLParser

HOSTILE = [
    "<script>alert(1)</script>", "javascript:alert(1)", "\u202egpj.exe", "a\ud800b", "x\0y", "\x1b[2Jz",
    '"><img src=x onerror=alert(1)>', "' onmouseover='x", "</title></style></svg>", "{{ 7 * 7 }}{% raw %}",
    "\u2028line",
]  # fmt: skip
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
VOID = {"meta", "link", "br", "img", "wbr"}
TAGS = re.compile(
    "html|head|meta|title|style|body|main|footer|section|h[1-4]|p|d[ltd]|div|small|strong|figure|figcaption|svg|rect|text|"
    "line|polyline|polygon|circle|g|table|caption|t(head|body|[rdh])|a|span|del|ins|mark|pre|br|wbr|details|summary"
)


THUMBNAIL = re.compile(r"data:image/jpeg;base64,[A-Za-z0-9+/]+=*")


class _Page(HTMLParser):
    def __init__(self, pictures):
        super().__init__()
        self.pictures = pictures
        self.goes_on = False
        self.text, self.open, self.tags, self.ids, self.links, self.numbers = (
            [],
            [],
            [],
            [],
            [],
            [],
        )

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        if tag == "img" and self.pictures:
            assert names.keys() == {"src", "alt"}
            assert names["alt"]
            assert THUMBNAIL.fullmatch(names.pop("src"))
        else:
            assert TAGS.fullmatch(tag), tag
        assert not [
            name
            for name in names
            if name.startswith("on") or name in ("style", "src", "formaction")
        ]
        if "href" in names:
            assert re.fullmatch(r"#[\w-]+", names["href"]), names["href"]
            self.links.append(names["href"][1:])
        if "id" in names:
            self.ids.append(names["id"])
        assert not any(
            CONTROL.search(str(value)) or "nan" in str(value).split()
            for value in names.values()
        ), names
        self.tags.append(tag)
        self.goes_on = tag == "wbr"  # the word goes on
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            if self.goes_on and self.text:
                data = self.text.pop() + data
            self.text.append(data)
        self.goes_on = False


def read_page(path, pictures=False):
    """Return the text of a page, after checks of its elements, links and size; some pages have pictures in them."""
    source = path.read_text(encoding="utf-8")
    assert len(source) < 5_000_000
    assert not CONTROL.search(source.replace("\n", ""))
    assert "default-src 'none'" in source
    assert ("img-src data:" in source) == pictures
    page = _Page(pictures)
    page.feed(source)
    page.close()
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert set(page.links) <= set(page.ids)
    return " ".join(" ".join(page.text).split())
