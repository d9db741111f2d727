"""dedup against the texts of earlier rows, beside a comparison of each new row with each earlier one."""

import csv
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from lshfast import DataError, LSHIndex, dedup, dedup_files
from lshfast._engine import earlier_texts
from tests.cli.commands import failing, run, write_jsonl
from tests.engine.test_against import ALL, SIZE, THRESHOLD, days, exact, new_index

WORDS = [f"w{i}" for i in range(400)]


def at_threshold(n, threshold=0.6):
    """Return n pairs of texts whose similarity by words is exactly the threshold."""
    rng = np.random.default_rng(7)
    total = 40
    common = round(threshold * total)
    pairs = []
    for number in range(n):
        words = [f"{word}x{number}" for word in rng.choice(WORDS, total, replace=False)]
        own = (total - common) // 2
        pairs.append(
            (
                " ".join(words[: common + own]),
                " ".join(words[:common] + words[common + own :]),
            )
        )
    return pairs


def most_similar(new, earlier):
    """Return for each new text the first earlier text of the greatest similarity, or None."""
    answers = []
    for text in new:
        similarities = [exact(text, other) for other in earlier]
        best = max(similarities, default=0.0)
        answers.append(None if best < THRESHOLD else (similarities.index(best), best))
    return answers


def forms(texts):
    """Yield the ways to give earlier texts in memory, and their keys."""
    keys = [f"k{row:03}" for row in range(len(texts))]
    by_key = dict(zip(keys, texts, strict=True))
    index = new_index()
    index.insert(keys, texts)
    return {
        "list": (texts, range(len(texts))),
        "arrow": (pa.array(texts), range(len(texts))),
        "mapping": (by_key, keys),
        "index": ((index, by_key), keys),
    }


@pytest.fixture(scope="module")
def texts_and_answers():
    """Two days of texts, and the most similar earlier text of each text of the second day."""
    first, second = ([text for _, text in day] for day in days(9, 2))
    second.append(second[1])
    return first, second, most_similar(second, first)


@pytest.mark.parametrize("form", ["list", "arrow", "mapping", "index"])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_most_similar_earlier_text_by_exact_similarities(
    texts_and_answers, form, threads
):
    first, second, wanted = texts_and_answers
    against, keys = forms(first)[form]
    result = dedup(second, against=against, threads=threads, **ALL)
    named = [None if one is None else keys[one[0]] for one in wanted]
    assert result.earlier == named
    assert sum(key is not None for key in named) > 3
    assert result.earlier_texts == [
        None if one is None else first[one[0]] for one in wanted
    ]
    similar = [row for row, one in enumerate(wanted) if one is not None]
    assert result.similarity[similar].tolist() == [wanted[row][1] for row in similar]
    assert not result.estimated.any()
    summary = result.summary
    assert (summary.earlier, summary.earlier_verify) == (len(similar), "exact")
    assert (summary.earlier_texts.read, summary.earlier_texts.unread) == (len(first), 0)


def test_no_pair_at_the_threshold_is_missed_more_often_than_promised():
    pairs = at_threshold(300)
    first, second = map(list, zip(*pairs, strict=True))
    options = {"threshold": 0.6, "unit": "word", "size": 1, "recall": 0.99}
    verified = dedup(second, against=first, **options)
    assert verified.summary.earlier >= 290
    bands = {
        "bands": verified.summary.bands,
        "rows_per_band": verified.summary.rows_per_band,
    }
    options = {"threshold": 0.6, "size": 1} | bands
    index = LSHIndex(0.6, shingles="word:1", **bands)
    index.insert(list(range(300)), first)
    estimated = dedup(second, against=index, **options)
    assert estimated.summary.earlier < 240
    assert (estimated.summary.earlier_verify, estimated.summary.earlier_texts) == (
        "signature",
        None,
    )
    both = dedup(second, against=(index, dict(enumerate(first))), **options)
    assert both.summary.earlier >= 290


@pytest.mark.parametrize(
    ("verify", "estimated"), [("exact", False), ("signature", True), ("none", True)]
)
def test_the_choice_of_the_comparison_holds_for_earlier_texts(verify, estimated):
    text = " ".join(WORDS[:60])
    near = " ".join([*WORDS[:57], "x", "y", "z"])
    result = dedup([near, "another text"], against=[text], verify=verify, **ALL)
    assert result.earlier == [0, None]
    assert result.estimated.tolist() == [estimated, False]
    assert result.summary.earlier_verify == verify


def test_entries_without_texts_are_compared_by_estimates():
    first, _ = map(list, zip(*at_threshold(6), strict=True))
    index = new_index()
    index.insert(list("abcdef"), first)
    texts = {"a": first[0], "b": first[1], "z": "not an entry of the index"}
    result = dedup(first, against=(index, texts), **ALL)
    assert result.earlier == list("abcdef")
    assert result.estimated.tolist() == [False, False, True, True, True, True]
    assert result.earlier_texts == [*first[:2], None, None, None, None]
    figures = result.summary.earlier_texts
    assert (figures.read, figures.unknown, figures.unread, figures.estimated) == (
        3,
        1,
        4,
        4,
    )
    shown = " ".join(figure.note for figure in result.summary.figures())
    assert (
        "6 of them for an earlier entry, by exact similarities, 4 by estimates" in shown
    )
    assert "1 not in the index" in shown


@pytest.mark.parametrize(
    "sets",
    [
        lambda sets: sets,
        lambda sets: [[str(element) for element in each] for each in sets],
        lambda sets: lshfast.TokenSets.from_sets(sets),
    ],
)
def test_earlier_sets(sets):
    earlier = [set(range(10)), set(range(20, 30)), set()]
    new = [set(range(9)), set(range(50, 60)), set(), {20, 21}]
    result = dedup(sets(new), against=sets(earlier), threshold=0.5)
    assert result.earlier == [0, None, None, None]
    assert result.similarity[0] == 0.9


def test_kept_rows_are_added_to_the_index_beside_the_texts():
    index = new_index()
    texts = {"a": " ".join(WORDS[:20])}
    index.insert(list(texts), list(texts.values()))
    other = " ".join(WORDS[100:120])
    new = [texts["a"], other]
    result = dedup(new, keys=["b", "c"], against=(index, texts), add=True, **ALL)
    assert result.keep.tolist() == [False, True]
    assert sorted(index) == ["a", "c"]


@pytest.mark.parametrize("earlier", [[], {}, ["..."]])
def test_no_earlier_text_removes_nothing(earlier):
    assert dedup(["one two three four"], against=earlier).keep.tolist() == [True]


@pytest.mark.parametrize(
    ("against", "options", "error", "said"),
    [
        ([{1, 2}, {3}], {}, TypeError, "against: "),
        (7, {}, TypeError, "against must be an LSHIndex, texts or sets"),
        ((LSHIndex(), ["a"]), {}, TypeError, "an index and a mapping of its keys"),
        (["a"], {"groups": "components"}, ValueError, "groups must be star against"),
        (
            ["a"],
            {"measure": "containment"},
            ValueError,
            "measure must be 'jaccard' with",
        ),
        (["a"], {"ignore_common": 0.5}, ValueError, "ignore_common must be None with"),
        (["a"], {"add": True}, ValueError, "add needs an index to add to"),
        (["a", "b\ud800"], {}, ValueError, "against"),
    ],
)
def test_earlier_texts_that_cannot_be_used(against, options, error, said):
    with pytest.raises(error, match=said):
        dedup(["a text"], against=against, **options)


def test_vectors_have_no_earlier_items_but_in_an_index():
    vectors = np.eye(3, dtype=np.float32)
    with pytest.raises(ValueError, match="for texts and sets, not for vectors"):
        dedup(vectors, kind="vector", measure="cosine", against=vectors)


# Files

FIRST = [
    {"id": f"j{row}", "text": one} for row, (one, _) in enumerate(at_threshold(40))
]
SECOND = [
    {"id": f"f{row}", "text": two} for row, (_, two) in enumerate(at_threshold(40))
]
RUN = ("--id-column", "id", "--threshold", "0.6", "--size", "1")


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "text"])
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_parquet(path, rows):
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def write_folder(path, rows):
    path.mkdir()
    write_jsonl(path / "a.jsonl", rows[:10])
    write_jsonl(path / "b.jsonl", rows[10:])
    return path


WRITERS = {
    "first.jsonl": write_jsonl,
    "first.csv": write_csv,
    "first.parquet": write_parquet,
    "first": write_folder,
}


@pytest.fixture
def second(tmp_path):
    return write_jsonl(tmp_path / "second.jsonl", SECOND)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("indexed", [False, True])
def test_files_of_earlier_rows(tmp_path, second, name, indexed):
    first = WRITERS[name](tmp_path / name, FIRST)
    against = [first]
    if indexed:
        index = tmp_path / "seen.lsh"
        assert run("index", "build", first, "-o", index, *RUN).exit_code == 0
        against.insert(0, index)
    out, removed, page = (tmp_path / end for end in ("o.jsonl", "r.jsonl", "p.html"))
    options = [option for path in against for option in ("--against", path)]
    result = run(
        "dedup", second, *options, "-o", out, "--removed", removed, "--html", page, *RUN
    )
    assert result.exit_code == 0
    rows = list(map(json.loads, removed.read_text().splitlines()))
    assert len(rows) >= 36
    for row in rows:
        number = int(row["key"][1:])
        assert row == {
            "key": f"f{number}",
            "kept_key": f"j{number}",
            "similarity": 0.6,
            "earlier": True,
            "estimated": False,
            "earlier_text": FIRST[number]["text"],
        }
    assert (
        f"{len(rows)} of them for an earlier entry, by exact similarities"
        in result.stderr
    )
    html = page.read_text()
    assert "by exact similarities" in html
    assert "stores no texts" not in html
    earlier_words = {word for row in FIRST for word in row["text"].split()}
    new_words = {word for row in SECOND for word in row["text"].split()}
    assert any(word in html for word in earlier_words - new_words)
    told = dedup_files(second, id_column="id", against=against, threshold=0.6, size=1)
    assert told.summary.earlier == len(rows)
    assert told.earlier_texts is None  # nothing shows them


def test_an_index_alone_says_what_to_give(tmp_path, second):
    first = write_jsonl(tmp_path / "first.jsonl", FIRST + SECOND[:2])
    index, page = tmp_path / "seen.lsh", tmp_path / "p.html"
    assert run("index", "build", first, "-o", index, *RUN).exit_code == 0
    result = run(
        "dedup", second, "--against", index, "-o", tmp_path / "o.jsonl", "--html", page,
        "--id-column", "id",
    )  # fmt: skip
    assert "by estimates, which miss about half of the rows exactly" in result.stderr
    assert "with their file in --against too, exactly" in result.stderr
    assert "a second --against, with the file that has the text" in page.read_text()


def test_explain_shows_the_earlier_text(tmp_path, second):
    first = write_jsonl(tmp_path / "first.jsonl", FIRST)
    removed = tmp_path / "r.csv"
    run(
        "dedup", second, "--against", first, "-o", tmp_path / "o.jsonl", "--removed",
        removed, *RUN,
    )  # fmt: skip
    with removed.open() as file:
        row = next(csv.DictReader(file))
    result = run(
        "explain", row["key"], second, "--removed", removed, "--id-column", "id"
    )
    assert "shingles              24   in both" in result.output
    texts = [row["text"] for row in SECOND]
    told = dedup(texts, against=[row["text"] for row in FIRST], threshold=0.6, size=1)
    key = told.removed[0].key
    assert told.explain(key, texts).shared.similarity == 0.6


@pytest.mark.parametrize("type_of_cell", [int, float])
def test_keys_of_an_index_that_are_numbers_and_ids_of_csv(tmp_path, type_of_cell):
    """pandas writes an integer column with a gap as 1.0, 2.0, ..."""
    rows = [{"id": row, "text": one["text"]} for row, one in enumerate(FIRST)]
    numbers = write_jsonl(tmp_path / "numbers.jsonl", rows)
    later = write_csv(
        tmp_path / "first.csv", [{**row, "id": type_of_cell(row["id"])} for row in rows]
    )
    second = write_csv(tmp_path / "second.csv", SECOND)
    index = tmp_path / "seen.lsh"
    assert run("index", "build", numbers, "-o", index, *RUN).exit_code == 0
    result = dedup_files(second, id_column="id", against=[index, later])
    assert result.summary.earlier_texts.unknown == 0
    assert result.summary.earlier >= 36
    add = "index", "add", index, later, "--id-column", "id", "--on-duplicate", "skip"
    assert "0 added" in run(*add).stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--against-column", "body"), "column 'body'"),
        (("--against-id-column", "number"), "number"),
        (
            ("--save-index", "new.lsh"),
            "names only files of texts: name their index too",
        ),
        (("--split", "paragraph"), "paragraphs are deduplicated without"),
        (("--groups", "components"), "groups must be star against earlier rows"),
        (("--engine", "spark"), "id_column is needed"),
        (("--against", "none.jsonl"), "none.jsonl"),
        (("--against", "a.lsh", "--against", "b.lsh"), "against must name one index"),
    ],
)
def test_runs_that_read_no_earlier_texts_say_why(tmp_path, second, options, said):
    first = write_jsonl(tmp_path / "first.jsonl", FIRST)
    out = tmp_path / "o.jsonl"
    line = failing(
        1 if {"none.jsonl", "body", "number"} & set(options) else 2,
        "dedup",
        second,
        "--against",
        first,
        "-o",
        out,
        *options,
    )
    assert said in line
    assert not out.exists()


def run_in(way, source, folder, **options):
    """Run in one of the ways that read earlier files."""
    if way == "stages":
        lshfast.stages.plan(source, folder / "work", folder / "out", **options)
        lshfast.stages.run_all(folder / "work", executor="inline")
    else:
        memory = "250M" if way == "cap" else None
        dedup_files(source, folder / "o.jsonl", memory=memory, **options)


@pytest.mark.parametrize("way", ["memory", "cap", "stages"])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*FIRST[:2], {"id": "x", "text": 7}], "first.jsonl:3"),
        ([*FIRST[:2], {"id": 7, "text": "a"}], "first.jsonl:3"),
        ([*FIRST[:2], {"id": "", "text": "a"}], "first.jsonl:3"),
        ([{"id": "x"}], "first.jsonl:1"),
    ],
)
def test_a_bad_earlier_row_is_named(tmp_path, second, way, rows, said):
    first = write_jsonl(tmp_path / "first.jsonl", rows)
    with pytest.raises(DataError, match=said):
        run_in(way, second, tmp_path, against=first, id_column="id")


@pytest.mark.parametrize("way", ["cap", "stages"])
def test_an_index_with_its_texts_is_for_runs_in_memory(tmp_path, second, way):
    first = write_jsonl(tmp_path / "first.jsonl", FIRST)
    index = tmp_path / "seen.lsh"
    assert run("index", "build", first, "-o", index, *RUN).exit_code == 0
    with pytest.raises(ValueError, match=r"name the texts alone \(.*first.jsonl\)"):
        run_in(way, second, tmp_path, against=[index, first], id_column="id")


@pytest.mark.parametrize("options", [{}, {"against": "seen.lsh"}])
@pytest.mark.parametrize("name", ["against_column", "against_id_column"])
def test_columns_of_earlier_files_need_such_files(tmp_path, second, options, name):
    index = tmp_path / "seen.lsh"
    assert run("index", "build", second, "-o", index, *RUN).exit_code == 0
    given = {name: tmp_path / path for name, path in options.items()}
    with pytest.raises(ValueError, match=f"{name} names a column of earlier files"):
        dedup_files(second, **given, **{name: "body"})


def test_columns_of_earlier_files(tmp_path, second):
    rows = [{"key": number, "body": row["text"]} for number, row in enumerate(FIRST)]
    first = write_jsonl(tmp_path / "first.jsonl", rows)
    result = run(
        "dedup", second, "--against", first, "--against-column", "body",
        "--against-id-column", "key", "--removed", tmp_path / "r.jsonl", "-o",
        tmp_path / "o.jsonl", *RUN,
    )  # fmt: skip
    assert result.exit_code == 0
    removed = list(map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines()))
    # Kept keys are strings, as ids of the two files have different types.
    assert all(row["key"] == f"f{row['kept_key']}" for row in removed)
    assert len(removed) >= 36


@pytest.mark.parametrize("indexed", [False, True])
def test_of_many_similar_earlier_texts_the_first_256_are_compared(indexed):
    template = " ".join(WORDS[:80])
    earlier = [f"{template} e{row}" for row in range(300)]
    new = [f"{template} n{row}" for row in range(300)]
    new.append(earlier[255] + " ...")
    new.append(earlier[256] + " ...")
    against = earlier
    if indexed:
        index = LSHIndex(threshold=0.8, shingles=f"word:{SIZE}")
        index.insert(range(300), earlier)
        against = (index, dict(enumerate(earlier)))
    result = dedup(new, against=against, size=SIZE)
    assert result.earlier == [0] * 300 + [255, 0]
    assert result.similarity[300] == 1.0
    assert result.similarity[301] == exact(new[301], earlier[0])


def test_texts_of_a_crowd_are_hashed_once_for_many_earlier_rows(monkeypatch):
    """Each of 300 new rows is a candidate of each of 300 earlier ones, and none is similar."""
    hashed_rows = []

    def counted(sides, *arguments, **options):
        hashed_rows.append(len(sides.new_rows))
        return lshfast.verify(sides, *arguments, **options)

    def changed(name):
        return [
            " ".join([*WORDS[:80], *(f"{name}{row}x{word}" for word in range(12))])
            for row in range(300)
        ]

    monkeypatch.setattr(earlier_texts, "verify", counted)
    options = {"threshold": 0.8, "size": 1, "threads": 1, "exact": False}
    result = dedup(changed("new"), against=changed("earlier"), **options)
    assert result.summary.removed == 0
    assert 200 < sum(hashed_rows) <= 300 * 2


def test_unread_entries_of_a_crowd_are_found_behind_those_that_were_read():
    """300 entries have equal signatures, and texts that are not similar to the new row."""
    text = " ".join(WORDS[:80])
    other = " ".join(WORDS[200:280])
    index = LSHIndex(threshold=0.8, shingles=f"word:{SIZE}")
    index.insert(range(300), [text] * 300)
    read = dict.fromkeys(range(299), other)
    result = dedup([text, f"{text} w0"], against=(index, read), size=SIZE)
    assert result.earlier == [299, 299]
    assert result.estimated.tolist() == [True, True]
    assert result.summary.earlier_texts.estimated == 2


@pytest.mark.parametrize("key", ["--5", "07", "+7", "7_0", " 7", "9" * 5000, 2.5])
def test_an_id_that_is_no_integer_is_no_key_of_an_index_of_integers(key):
    index = LSHIndex(threshold=0.8, shingles="word:2")
    index.insert([7, 70], ["a b c d", "e f g h"])
    earlier = {"7": "a b c d", key: "e f g h"}
    result = dedup(["A b c d!", "E f g h!"], against=(index, earlier), size=2)
    assert result.earlier == [7, 70]
    assert result.estimated.tolist() == [False, True]
    assert result.summary.earlier_texts.unknown == 1


def test_ids_that_are_no_keys_of_the_index(tmp_path, second):
    first = write_jsonl(tmp_path / "first.jsonl", FIRST)
    index = tmp_path / "seen.lsh"
    assert run("index", "build", first, "-o", index, *RUN).exit_code == 0
    with pytest.raises(ValueError, match="none of its 40 ids is a key of the index"):
        dedup_files(second, against=[index, first])


@pytest.mark.parametrize("indexed", [False, True])
def test_an_id_may_be_in_the_files_of_several_months(tmp_path, second, indexed):
    months = [write_jsonl(tmp_path / f"{number}.jsonl", FIRST) for number in range(2)]
    against = list(months)
    if indexed:
        index = tmp_path / "seen.lsh"
        assert run("index", "build", months[0], "-o", index, *RUN).exit_code == 0
        against.append(index)
    result = dedup_files(second, id_column="id", against=against, threshold=0.6, size=1)
    assert result.summary.earlier >= 36
    assert result.summary.earlier_texts.read == 80


def test_earlier_texts_of_standard_input(tmp_path, second):
    out = tmp_path / "o.jsonl"
    text = "".join(json.dumps(row) + "\n" for row in FIRST)
    options = ("--against", "-", "--format", "jsonl", "-o", out)
    result = run("dedup", second, *options, *RUN, input=text)
    assert result.exit_code == 0
    assert "40   texts of earlier rows" in result.stderr


def test_an_earlier_file_is_no_output_and_its_bad_rows_are_named(tmp_path, second):
    first = write_jsonl(tmp_path / "first.jsonl", FIRST)
    with pytest.raises(ValueError, match=r"first\.jsonl"):
        dedup_files(second, first, against=first, overwrite=True)
    with first.open("a") as file:
        file.write('{"id": "j99", "text": 7}\n')
    with pytest.raises(DataError, match=r"first\.jsonl:41"):
        dedup_files(second, id_column="id", against=first)
    skipping = dedup_files(second, id_column="id", against=first, on_error="skip")
    assert skipping.summary.earlier_texts.rejected == 1


@pytest.mark.parametrize("most_tokens", [1, 2500, 1 << 19])
@pytest.mark.parametrize("threshold", [0.6, 0.75, 0.9])
def test_candidates_of_a_template_are_those_of_single_comparisons(
    monkeypatch, threshold, most_tokens
):
    """Rows of a template, of which some pairs are similar and some are copies, and other rows."""
    rng = random.Random(1)

    def row():
        words = [f"word{number}" for number in range(40)]
        for _ in range(rng.choice([0, 1, 3, 8, 40])):
            words[rng.randrange(40)] = f"x{rng.randrange(10**6)}"
        return " ".join(words)

    new = [row() for _ in range(150)]
    earlier = {number: row() for number in range(60)}
    options = {"against": earlier, "threshold": threshold, "size": 2, "threads": 1}
    wanted = dedup(new, **options)
    monkeypatch.setattr(earlier_texts, "LEAST_JOINED", 1)
    monkeypatch.setattr(earlier_texts, "MOST_JOINED_TOKENS", most_tokens)
    calls = []
    join = earlier_texts.join
    monkeypatch.setattr(
        earlier_texts,
        "join",
        lambda *args, **more: calls.append(1) or join(*args, **more),
    )
    found = dedup(new, **options)
    assert bool(calls) == (most_tokens > 1)
    assert found.earlier == wanted.earlier
    assert found.keep.tolist() == wanted.keep.tolist()
    assert found.similarity.tolist() == wanted.similarity.tolist()
    assert 15 < found.summary.earlier < 150
