"""URLs: hosts and paths, the words and bigrams of the text, against the reference, and errors."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.web import (
    clean_url,
    page_links,
    path_bigrams,
    split_url,
    virtual_hosts,
)
from tests.reference import urls as reference

PATH = "/cellblock16/inmates/dilbert/personal/foo.htm"


def test_a12_words_and_bigrams_of_the_text():
    assert reference.url_words("www6.infoseek.com") == ["www", "infoseek", "com"]
    expected = [
        ("cellblock", "inmates", 0),
        ("inmates", "dilbert", 1),
        ("dilbert", "personal", 2),
        ("personal", "foo", 3),
    ]
    assert reference.bigrams(PATH) == expected
    assert path_bigrams([PATH]).counts.tolist() == [4]
    host, words = path_bigrams(["www6.infoseek.com", "/www/infoseek/com"])
    assert host.tolist() == words.tolist()
    assert len(host) == 2


pieces = st.lists(
    st.sampled_from(
        [
            "a",
            "B",
            "é",
            "ab7",
            "index",
            "Home.html",
            "x_y",
            "/",
            "-",
            "中",
            "%20",
            "cgi-bin",
        ]
    )
)
paths = st.lists(pieces.map(lambda parts: "/" + "".join(parts)), max_size=8)


@given(paths, st.integers(0, 2**64 - 1))
@example(
    [
        PATH,
        PATH.upper(),
        "/x/inmates/dilbert",
        "/about.html",
        "/about",
        "/",
        "/index.html",
        "/a/a/a",
    ],
    1,
)
def test_bigrams_are_those_of_the_reference(lines, seed):
    """Two bigrams have the same token if and only if they are equal."""
    found = path_bigrams(lines, seed=seed)
    expected = [reference.bigrams(line) for line in lines]
    assert found.counts.tolist() == list(map(len, expected))
    token_of = {}
    for bigram, token in zip(
        (b for row in expected for b in row), found.tokens.tolist(), strict=True
    ):
        assert token_of.setdefault(bigram, token) == token
    assert len(set(token_of.values())) == len(token_of)


@pytest.mark.parametrize(
    ("url", "host", "path"),
    [
        ("http://a.example", "a.example", "/"),
        ("https://A.Example./Path?q=1#top", "a.example", "/Path?q=1"),
        ("//a.example/x", "a.example", "/x"),
        ("a.example/x", "a.example", "/x"),
        ("a.example", "a.example", "/"),
        ("http://a.example?x", "a.example", "/?x"),
        ("http://a.example#x", "a.example", "/"),
        (" http://user:pass@a.example:8080/ ", "a.example:8080", "/"),
        ("https://a.example:443/", "a.example", "/"),
        ("https://a.example:80/", "a.example:80", "/"),
        ("http://a.example:0080/", "a.example", "/"),
        ("http://[2001:DB8::1]:81/", "[2001:db8::1]:81", "/"),
        ("http://1.2.3.4/", "1.2.3.4", "/"),
        ("http://münchen.example/ü", "münchen.example", "/ü"),
        ("http://a_b.example/", "a_b.example", "/"),
    ],
)
def test_urls(url, host, path):
    assert split_url(url) == (host, path)


@pytest.mark.parametrize(
    "url",
    ["", "http://", "http:///path", "ftp://a.example/", "mailto:me@a.example", "http:a.example", "/path", "?x",
     "http://a b/", "http://a.example/a b", "http://a.example/\x00", "http://a.example:x/", "http://a.example:65536/", "http://.a/",
     "ab:",
     "http://a.example:99999999999/", "http://<a>/", "javascript:alert(1)", "http://a@b@/", "http://[::1/"],
)  # fmt: skip
def test_bad_urls(url):
    with pytest.raises(ValueError, match="not a URL of http or https"):
        split_url(url)


def test_errors():
    with pytest.raises(TypeError, match="url must be a str, not b'a'"):
        split_url(b"a")
    with pytest.raises(TypeError, match=r"paths\[1\] must be a str, not None"):
        path_bigrams(["/", None])
    with pytest.raises(TypeError, match="paths must be a sequence of paths, not '/a'"):
        path_bigrams("/a")
    with pytest.raises(ValueError, match="paths must be valid Unicode"):
        path_bigrams(["/\ud800"])
    with pytest.raises(ValueError, match="seed must be in"):
        path_bigrams(["/"], seed=-1)
    long = "http://a b/" + "x" * 1000
    with pytest.raises(ValueError, match=r"x\.\.\.'$"):
        split_url(long)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example", "http://a.example"),
        ("a.example?sid=1", "a.example"),
        ("http://a.example/?SID=1#top", "http://a.example/"),
        ("http://a.example/x;jsessionid=3/y;v=1?a=1", "http://a.example/x/y;v=1?a=1"),
        ("//A.example:80/p?PHPSESSID=1&b=2&a=1", "//A.example:80/p?b=2&a=1"),
        ("http://a.example/p?b=2;sid=4", "http://a.example/p?b=2"),
        ("http://a.example/(S(x1)F(y))/p", "http://a.example/p"),
        ("http://a.example/(S(x1))", "http://a.example/"),
        ("http://a.example/(abc)/f(x)/p", "http://a.example/(abc)/f(x)/p"),
        ("http://a.example/p?utm_source=a&UTM_x&q=utm_a", "http://a.example/p?q=utm_a"),
        ("http://a.example/p?side=1&xsid=2", "http://a.example/p?side=1&xsid=2"),
        ("http://a.example/p?", "http://a.example/p?"),
    ],
)
def test_g2_urls_without_sessions(url, expected):
    assert clean_url(url) == expected
    assert clean_url(expected) == expected


def test_g2_more_parameters_that_are_dropped():
    url = "http://a.example/p;REF=1?from=x&from2=y&b="
    assert clean_url(url, ["ref", "from*"]) == "http://a.example/p?b="
    assert clean_url(url, np.array(["ref", "from*"])) == "http://a.example/p?b="
    for drop, message in (
        ("ref", "in a list"),
        (None, "in a list, not None"),
        ([""], "not ''"),
        ([1], "not 1"),
    ):
        with pytest.raises(TypeError, match=message):
            clean_url(url, drop)
    with pytest.raises(ValueError, match="not a URL of http or https"):
        clean_url("ftp://a.example/")


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("", "http://a.example/d/x"),
        ('<base href="http://b.example/e/">', "http://b.example/e/x"),
        ('<base href="/f/"><base href="/g/">', "http://a.example/f/x"),
        ('<base target="_top"><BASE HREF="../h/">', "http://a.example/h/x"),
        ('<base href="mailto:me">', "http://a.example/d/x"),
    ],
)
@pytest.mark.parametrize("place", ["before", "behind"])
def test_g2_links_are_relative_to_the_base(base, expected, place):
    links = "<p><a href=' x#y '>x</a> <a name=z>z</a></p>"
    page = base + links if place == "before" else links + base
    assert page_links(page, "http://a.example/d/page.html") == [expected]


def test_links_of_a_page_in_their_order():
    page = """<!doctype html><a href="/b?x=1&amp;y=2">b<area href=a><iframe src="//c.example/p"></iframe>
    <a href="mailto:x@a.example">m</a><a href="javascript:go()">j</a><a href="http://[bad">n</a>
    <a href="/b?x=1&amp;y=2">again</a><script>"<a href=no>"</script><img src=i.png><a href"""
    assert page_links(page, "https://a.example/d/") == [
        "https://a.example/b?x=1&y=2",
        "https://a.example/d/a",
        "https://c.example/p",
        "https://a.example/b?x=1&y=2",
    ]
    assert page_links("", "http://a.example") == []
    with pytest.raises(TypeError, match="html must be a str, not bytes"):
        page_links(b"", "http://a.example")
    with pytest.raises(ValueError, match="not a URL of http or https"):
        page_links("", "file:///etc/passwd")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<!-- <a href=no> --><a href=x>", ["x"]),
        ("<!--><a href=x>--><!---><a href=y>", ["x", "y"]),
        ("<!-- <a href=no> --!><a href=x><!-- <a href=no>", ["x"]),
        ("<style><a href=no></STYLE ><a href=x>", ["x"]),
        ("<title><a href=no></titles><a href=no>", []),
        ("<a\n/href\t=\r'x>y' href=no><a href=z/>", ["x%3Ey", "z/"]),
        ("<a href=x<b>", ["x%3Cb"]),
        ("<ahref=no><1 href=no>< a href=no></a href=no><?a href=no><!a href=no>", []),
        ("<a title='>' href=&#120;><A HREF=''>", ["x", ""]),
        ("<a href='no><a href=no>", []),
        ("<a href", []),
    ],
)
def test_tags_are_those_of_html(page, expected):
    found = [
        link.replace(">", "%3E").replace("<", "%3C")
        for link in page_links(page, "http://a.example/")
    ]
    assert found == [f"http://a.example/{link}" for link in expected]


HOSTILE = [
    "<a ",
    "<!--",
    "<a href='",
    "<a a=",
    "<",
    "</a",
    "<?",
    "<![CDATA[",
    "<title>",
    "&#",
    "<a href=x ",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_pages_take_no_more_time_than_others(part):
    """Parsers that look for an end from each beginning would take hours."""
    assert len(page_links(part * 30_000, "http://a.example/")) <= 1
    assert page_links("<a href=x>" + part * 10, "http://a.example/")[0][-1] == "x"


def test_a_long_base_is_not_repeated_in_each_link():
    """A page of 250 kB would have 160 MB of links."""
    links = "<a href=x>" * 20_000 + "<a href='http://b.example/y'>"
    base = f"<base href='/{'b' * 8000}/'>"
    near = ["http://a.example/x"] * 20_000 + ["http://b.example/y"]
    assert page_links(base + links, "http://a.example/") == near
    far_url = f"http://a.example/{'b' * 8000}/"
    assert page_links(links, far_url) == ["http://b.example/y"]


def test_a_long_base_counts_for_few_links():
    page = f"<base href='/{'b' * 9000}/'>" + "<a href=x>" * 3
    link = f"http://a.example/{'b' * 9000}/x"
    assert page_links(page, "http://a.example/") == [link] * 3


@pytest.mark.parametrize("url", ["a.example/d/page", "//a.example/d/page"])
def test_links_of_a_page_whose_url_has_no_scheme(url):
    page = '<a href="b"><a href="/c"><a href="//c.example/">'
    assert page_links(page, url) == [
        "http://a.example/d/b",
        "http://a.example/c",
        "http://c.example/",
    ]


@pytest.mark.parametrize(
    ("written", "link"),
    [
        ("?a=1&copy=2&lt=3&copyx=4&amp;b", "?a=1&copy=2&lt=3&copyx=4&b"),
        ("&#65&#x42;&#67=&#68G&#;&", "ABC=DG&#;&"),
        (f"b&#{'9' * 5000};", "b\ufffd"),
        (f"b&#x{'9' * 5000}=", "b\ufffd="),
        (f"b&#{'0' * 5000}65;", "bA"),
    ],
)
def test_references_in_links(written, link):
    page = f"<a href='{written}'>"
    assert page_links(page, "http://a.example/") == [
        clean_url(f"http://a.example/{link}")
    ]


def test_g2_names_of_one_server():
    addresses = {
        "a": "192.0.2.1",
        "b": ["192.0.2.2", "192.0.2.3"],
        "c": ("192.0.2.3", "192.0.2.4"),
        "d": "192.0.2.9",
        "e": [],
        "f": {"192.0.2.4"},
        "www.a": "192.0.2.1",
    }
    assert virtual_hosts(addresses) == [["a", "www.a"], ["b", "c", "f"]]
    assert virtual_hosts({}) == []
    with pytest.raises(TypeError, match="must be a mapping of hosts, not list"):
        virtual_hosts(["a"])
    with pytest.raises(TypeError, match="an address of 'a' must be a str, not 7"):
        virtual_hosts({"a": [7]})
    with pytest.raises(TypeError, match="addresses of 'b' must be str, not None"):
        virtual_hosts({"a": "192.0.2.1", "b": None})
