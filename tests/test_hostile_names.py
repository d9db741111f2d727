"""Keys, texts and names of columns with control characters: what results and errors show is escaped."""

import json
import re

import numpy as np
import pytest
from PIL import Image

import lshfast
from lshfast import LSHForest, LSHIndex, genomes, images, passages, records, web
from lshfast.records.tables.dependent import DependentField
from lshfast.records.tables.keys import LeftOut

MARKS = "\x1b]52;c;aGk=\x07\x9b31m\r\x7f\u202e\u2066\u2028\u200f<b>&"
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
NAME = f"{MARKS}\nforged"  # ends a line, too
KEYS = [f"{letter}{NAME}" for letter in "abcd"]
TEXTS = [
    f"a rose is a rose is a rose and so on {MARKS}", f"A rose is a rose is a rose, and so on! {MARKS}",
    f"a rose is a rose is a rose and so on {MARKS}", "something else",
]  # fmt: skip


def shown(result):
    """Return everything that a result shows."""
    yield repr(result)
    yield str(result)
    for name in ("_repr_html_", "_repr_markdown_", "describe"):
        show = getattr(result, name, None)
        if callable(show):
            yield show() or ""


def result_of_dedup():
    return lshfast.dedup(TEXTS, keys=KEYS, by=[f"v{MARKS}", None, f"w{MARKS}", "x"])


def of_dedup():
    result = result_of_dedup()
    yield from (result, result.summary, result.removed, list(result.iter_removed()))
    yield from (result.explain(key) for key in KEYS)
    surrogates = lshfast.dedup(TEXTS, keys=[f"{key}\ud800" for key in KEYS])
    yield from (surrogates, surrogates.explain(f"{KEYS[1]}\ud800"))


def of_indexes():
    texts = LSHIndex(shingles="word:2")
    for key, text in zip(KEYS, TEXTS, strict=True):
        texts.insert(key, text)
    yield from (texts, texts.stats(), texts.query(TEXTS[0]))
    codes = lshfast.HammingIndex(64, radius=3)
    codes.insert(KEYS, np.zeros((4, 1), np.uint64))
    yield from (codes, codes.query(np.zeros((1, 1), np.uint64)))
    forest = LSHForest()
    yield from (forest, forest.stats())


def of_records():
    people = [
        {f"name{NAME}": f"ann{row} berg {NAME}", f"town{NAME}": f"oslo{row}", f"year{NAME}": str(1900 + row)}
        for row in range(30)
    ]  # fmt: skip
    links = records.dedup_records(people * 2, threads=1)
    yield from (
        links,
        links.summary,
        links.rates,
        links.weights,
        links.rates,
        *links.left_out,
        *links.dependent,
    )
    yield from (
        *links.summary.warnings,
        *links.fields,
        links.explain(0) if callable(links.explain) else "",
    )
    yield from (
        DependentField(f"name{NAME}", (f"town{NAME}",)),
        LeftOut(f"name{NAME}", "row numbers"),
    )


def of_files(folder):
    path, clusters = folder / f"a{NAME}.jsonl", folder / "c.parquet"
    rows = [
        {f"id{NAME}": key, "text": text, "by": f"v{NAME}"}
        for key, text in zip(KEYS, TEXTS, strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number in range(2):
        result = lshfast.dedup_files(
            path, folder / f"o{number}.jsonl", id_column=f"id{NAME}", by="by", clusters=clusters,
            changes=folder / f"c{number}.csv", overwrite=True,
        )  # fmt: skip
        yield from (result, result.summary, result.summary.clusters)
    texts = folder / f"texts{NAME}"
    texts.mkdir()
    (texts / f"a{NAME}.txt").write_text("one line\n" * 2000)
    (texts / f"a.doc{NAME}").write_text("")
    yield lshfast.dedup_files(texts, folder / "o.jsonl").summary


def of_passages():
    texts = [
        f"{' '.join(f'word{i}' for i in range(60))} {end}"
        for end in (NAME, "and", NAME)
    ]
    found = passages.find(texts, length=10)
    yield from (found, *found)


def of_images(folder):
    for name in "ab":
        Image.effect_mandelbrot((64, 64), (-2, -1, 1, 1), 20).save(
            folder / f"{name}{NAME}.png"
        )
    (folder / f"broken{NAME}.png").write_bytes(b"no image")
    listed = images.list_images(folder)
    hashes = images.hash_files(listed.paths)
    known = images.KnownHashes([f"known{NAME}"], hashes.codes[:1, 0], "pdq")
    for result in (images.dedup(hashes), images.dedup(hashes, against=known)):
        yield from (result, *result.removed)
    yield from (listed, hashes, *hashes.rejected, known)


def of_genomes():
    sketches = genomes.sketch(
        ["ACGTTGCATGTC" * 100] * 2, names=[f"a{NAME}", f"b{NAME}"], k=5, scaled=1
    )
    yield from (sketches, genomes.pairs(sketches))


def of_web():
    urls = [
        f"http://h{host}.org/a{path}/b{path}/{MARKS[:1]}c"
        for host in range(2)
        for path in range(20)
    ]
    found = web.find_mirrors([url.replace("\x1b", "%1b") for url in urls])
    yield from (found, *found.removed)
    contraction = web.contract([0, 0, 1, 1], [2, 3, 2, 3])
    yield contraction


@pytest.mark.parametrize(
    "make",
    [
        of_dedup,
        of_indexes,
        of_records,
        of_files,
        of_passages,
        of_images,
        of_genomes,
        of_web,
    ],
)
def test_results_show_no_control_characters(make, tmp_path):
    for result in make(tmp_path) if make in (of_files, of_images) else make():
        for text in shown(result):
            assert not RAW.search(text), ascii(text)
            assert not [
                line for line in text.split("\n") if line.strip().startswith("forged")
            ], ascii(text)


@pytest.mark.parametrize("html", [of_dedup])
def test_results_show_no_markup_of_keys_as_html(html):
    for result in html():
        assert "<b>&" not in getattr(result, "_repr_html_", lambda: "")()


def test_a_line_end_in_a_key_begins_no_line():
    result = lshfast.dedup(["a b c", "a b c"], keys=["one\nremoved 0", "two\nkept 9"])
    lines = repr(result.explain("two\nkept 9")).splitlines()
    assert not any(line.strip().startswith(("removed 0", "kept 9")) for line in lines)


def faults(folder):
    """Yield calls that fail and quote what they were given."""
    rows = folder / "rows.jsonl"
    rows.write_text('{"text": 5}\n')
    table = folder / f"t{MARKS.replace('/', '')}.jsonl"
    table.write_text('{"a": "b"}\n')
    yield lambda: lshfast.dedup(TEXTS, keys=KEYS[:1] * 4).explain("x")
    yield lambda: result_of_dedup().explain(f"missing{MARKS}")
    yield lambda: lshfast.dedup_files(table, folder / "out.jsonl")
    yield lambda: lshfast.dedup_files(rows, folder / "out.jsonl", column=f"c{MARKS}")
    yield lambda: lshfast.dedup_files(
        folder / f"missing{MARKS}.jsonl", folder / "out.jsonl"
    )
    yield lambda: lshfast.dedup_files(rows, folder / f"missing{MARKS}" / "out.jsonl")
    yield lambda: records.dedup_records([{f"name{MARKS}": "a"}] * 3, fields=["none"])
    yield lambda: lshfast.LSHIndex.open(str(folder / f"missing{MARKS}"))


@pytest.mark.parametrize("number", range(8))
def test_errors_show_no_control_characters(tmp_path, number):
    call = list(faults(tmp_path))[number]
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    assert not RAW.search(str(caught.value)), ascii(str(caught.value))
