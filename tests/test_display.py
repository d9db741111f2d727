"""Results as a terminal and a notebook show them: a title and a table of figures."""

import re

import pytest

from lshfast import LSHForest, LSHIndex, dedup, passages, records, web
from lshfast.index import NearNeighbors

PEOPLE = [{"name": f"{first} {last}", "town": town, "year": year} for year, (first, last, town) in enumerate(
    (first, last, town) for first in ("anna", "bob", "carla") for last in ("berg", "dietz") for town in ("oslo", "rome")
)]  # fmt: skip
LINKS = records.match_records(
    PEOPLE, [person | {"town": float("nan")} for person in PEOPLE]
)


def index_of(texts):
    index = LSHIndex(shingles="word:2")
    for key, text in enumerate(texts):
        index.insert(key, text)
    return index


RESULTS = {
    "dedup": (
        lambda: dedup(["a b c", "A b c!"]),
        ["DedupResult of 2 rows", "removed 1"],
    ),
    "dedup of a row": (lambda: dedup(["a b c"]), ["DedupResult of 1 row"]),
    "passages": (
        lambda: passages.find(["one two three four", "x one two three"], length=3),
        [
            "SharedPassages of 2 texts",
            "passages 1 of at least 3 words",
            "words 8 in copies: 3, 37.50%",
        ],
    ),
    "passages of others": (
        lambda: passages.find(
            ["one two three"], against=["one two three", "four"], length=3
        ),
        ["SharedPassages of 1 text", "others 2 texts that share a passage: 1"],
    ),
    "links": (
        lambda: LINKS,
        [
            "LinkResult of 12 links",
            "records 24 12 and 12",
            "linked 24 records, 12 and 12",
        ],
    ),
    "links of one table": (
        lambda: records.dedup_records(PEOPLE * 2),
        ["records 24", "links 12"],
    ),
    "summary of links": (lambda: LINKS.summary, ["LinkSummary", "links 12"]),
    "mirrors": (
        lambda: web.find_mirrors(
            [f"http://{host}.com/{page}/x" for host in "ab" for page in range(9)]
        ),
        ["Mirrors of 2 hosts", "mirrors 1 of kept hosts", "urls 18"],
    ),
    "contraction": (
        lambda: web.contract([0, 0, 1, 1], [2, 3, 2, 3]),
        ["Contraction of 4 nodes", "merged 1 nodes, into others"],
    ),
    "index": (
        lambda: index_of(["a b c", "a b d"]).stats(),
        ["IndexStats of 2 entries", "bands", "buckets", "bytes"],
    ),
    "index without entries": (
        lambda: index_of([]).stats(),
        ["IndexStats of 0 entries", "bytes"],
    ),
    "forest": (lambda: LSHForest().stats(), ["EntryStats of 0 entries", "bytes"]),
    "neighbors": (
        lambda: NearNeighbors("angle", radius=0.1, dim=4, n=10).stats(),
        ["NeighborStats of 0 entries", "probes"],
    ),
}


@pytest.mark.parametrize(("make", "lines"), RESULTS.values(), ids=RESULTS)
def test_results_show_figures(make, lines):
    result = make()
    shown = [" ".join(line.split()) for line in repr(result).splitlines()]
    for line in lines:
        assert any(f"{found} ".startswith(f"{line} ") for found in shown), shown
    assert len(shown) < 15
    assert max(map(len, repr(result).splitlines())) <= 100
    html = result._repr_html_()
    lead, title, _ = html.partition(f"<p><b>{shown[0]}</b></p><table>")
    assert title
    assert re.fullmatch("(<p>[^<]+</p>)*", lead)  # sentences
    assert html.count("<tr>") == html.count("</tr>") >= 4


def test_explain_shows_missing_values():
    """A value that is missing is no value, whatever a table has in its place."""
    explained = LINKS.explain(0)
    assert "missing: 'oslo' | missing" in explained
    assert "nan" not in explained.replace("anna", "")
