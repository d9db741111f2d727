"""Groups with lasting ids, as a user has them: month after month, of all kinds of items, and what is refused."""

import csv
import random
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from lshfast import FormatError, dedup_files
from lshfast._engine.clusters.file import ClusterOutput, read_clusters
from tests.cli.commands import failing, run, write_jsonl
from tests.corpora import similar_texts

FOX = "the quick brown fox jumps over the lazy dog near the old river bank today"
CAT = "a cat sat on a mat and saw that it was not a mat but a hat of some size"
OPTIONS = {"id_column": "id", "size": 2, "threshold": 0.6, "threads": 1}


def rows_of(**texts):
    return [{"id": key, "text": text} for key, text in texts.items()]


def ids_of(path):
    """Return {key: id}."""
    return {row["key"]: row["cluster"] for row in pq.read_table(path).to_pylist()}


def groups_of(ids):
    """Return the groups of {key: id} as sets."""
    found = {}
    for key, number in ids.items():
        found.setdefault(number, set()).add(key)
    return {frozenset(group) for group in found.values()}


def changes_of(path):
    """Return (id, change, old_id, key) of each row of a table of changes in CSV."""
    return [
        tuple(row.values()) for row in csv.DictReader(path.read_text().splitlines())
    ]


@pytest.fixture
def month(tmp_path):
    """Run over the rows of a month; return the result and the changes."""
    groups = tmp_path / "groups.parquet"
    changes = tmp_path / "changes.csv"
    source = tmp_path / "month.jsonl"

    def run_month(rows, **options):
        write_jsonl(source, rows)
        given = (
            OPTIONS
            | {"clusters": groups, "changes": changes, "overwrite": True}
            | options
        )
        return dedup_files(source, **given), changes_of(changes)

    run_month.groups, run_month.changes, run_month.source = groups, changes, source
    return run_month


def test_three_months_of_all_rows(month):
    result, changes = month(rows_of(a=FOX, b=f"{FOX} again", c=CAT))
    assert changes == [
        ("1", "new", "", "a"),
        ("1", "new", "", "b"),
        ("2", "new", "", "c"),
    ]
    figures = result.summary.clusters
    assert (
        figures.run,
        figures.rows,
        figures.clusters,
        figures.new,
        figures.joined,
    ) == (1, 3, 2, 3, 0)
    assert "clusters               2   of 3 rows in run 1; 3 rows new" in repr(result)
    # d comes first in the file, and joins; the first row is another one, and the ids are the same
    result, changes = month(
        rows_of(d=f"{CAT} or not", b=f"{FOX} again", a=FOX, c=CAT, e="new")
    )
    assert changes == [("2", "joined", "", "d"), ("3", "new", "", "e")]
    assert ids_of(month.groups) == {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3}
    assert pq.read_table(month.groups)["first_seen"].to_pylist() == [1, 1, 1, 2, 2]
    # a, the first-seen member, and c are not there any more, and the others keep their ids
    _, changes = month(rows_of(b=f"{FOX} again", d=f"{CAT} or not", e="new"))
    assert changes == [("", "removed", "1", "a"), ("", "removed", "2", "c")]
    assert ids_of(month.groups) == {"b": 1, "d": 2, "e": 3}


def test_groups_that_a_row_connects_and_that_fall_apart(month):
    one, other = "w1 w2 w3 w4 w5 w6 w7 w8", "w5 w6 w7 w8 w9 w10 w11 w12"
    bridge = "w3 w4 w5 w6 w7 w8 w9 w10"
    options = {"groups": "components", "threshold": 0.5, "exact": True}
    month(rows_of(a=one, b=other), **options)
    assert ids_of(month.groups) == {"a": 1, "b": 2}
    _, changes = month(rows_of(a=one, b=other, c=bridge), **options)
    assert changes == [("1", "merged", "2", "b"), ("1", "joined", "", "c")]
    _, changes = month(rows_of(a=one, b=other), **options)
    assert changes == [("3", "split", "1", "b"), ("", "removed", "1", "c")]


@pytest.mark.parametrize("groups", ["star", "components"])
def test_the_groups_are_those_of_the_run_whatever_was_before(month, groups):
    """With all rows, a run over them gives its groups; the ids only name them."""
    texts = similar_texts(random.Random(5), 120)
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    rng = random.Random(6)
    before = {}
    for _ in range(4):
        some = rng.sample(rows, 80)
        result, _ = month(some, groups=groups, threshold=0.7)
        ids = ids_of(month.groups)
        labels = {
            row["id"]: label
            for row, label in zip(some, result.labels.tolist(), strict=True)
        }
        assert groups_of(ids) == groups_of(labels)
        assert any(len(group) > 1 for group in groups_of(ids))
        unchanged = groups_of(ids) & groups_of(before)
        assert all(ids[key] == before[key] for group in unchanged for key in group)
        before = ids


@pytest.mark.one_case
@pytest.mark.parametrize(
    "options", [{}, {"exact": True}, {"verify": "signature"}], ids=str
)
def test_components_do_not_depend_on_the_order_of_rows_and_months(
    month, tmp_path, options
):
    texts = similar_texts(random.Random(9), 150)
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    options = {"groups": "components", "threshold": 0.6} | options
    wanted = dedup_files(write_jsonl(tmp_path / "all.jsonl", rows), **OPTIONS | options)
    groups = groups_of(dict(enumerate(wanted.labels.tolist())))
    for seed in range(2):
        month.groups.unlink(missing_ok=True)
        order = random.Random(seed).sample(rows, len(rows))
        for number in (40, 70, 150):
            month(random.Random(number).sample(order[:number], number), **options)
        assert groups_of(ids_of(month.groups)) == groups
    assert max(map(len, groups)) > 3


def monthly(month, tmp_path, parts, **options):
    """Run over parts one after another, each with new rows only; return the ids."""
    index = tmp_path / "seen.lsh"
    for number, rows in enumerate(parts):
        given = {"against": index} if number else {}
        month(rows, save_index=index, on_duplicate="skip", **given, **options)
    return ids_of(month.groups)


def test_new_rows_alone_lead_to_the_groups_of_one_run_if_these_are_clear(
    month, tmp_path
):
    """All rows of a group are similar to each other, and to no other row: here, they are copies."""
    originals = [
        text for text in dict.fromkeys(similar_texts(random.Random(7), 60)) if text
    ]
    originals = [
        text.replace(" ", f" {number} ") for number, text in enumerate(originals)
    ]
    rng = random.Random(8)
    rows = [
        {"id": number, "text": rng.choice([str, str.upper])(rng.choice(originals))}
        for number in range(150)
    ]
    ids = monthly(month, tmp_path, [rows[:50], rows[50:60], rows[60:]], threshold=0.95)
    whole = dedup_files(
        write_jsonl(tmp_path / "all.jsonl", rows), **OPTIONS | {"threshold": 0.95}
    )
    assert groups_of(ids) == groups_of(dict(enumerate(whole.labels.tolist())))
    assert len(set(ids.values())) < 100
    assert list(dict.fromkeys(ids.values())) == sorted(
        set(ids.values())
    )  # in the order of their first rows


def test_a_new_row_joins_the_group_of_the_most_similar_entry_and_connects_no_groups(
    month, tmp_path
):
    """Where one run over everything has another answer: c is similar to a and b, and more so to b."""
    one, other = "w1 w2 w3 w4 w5 w6 w7 w8", "w5 w6 w7 w8 w9 w10 w11 w12"
    first, new = rows_of(a=one, b=other), rows_of(c="w4 w5 w6 w7 w8 w9 w10 w11")
    options = {"threshold": 0.3, "bands": 128, "rows_per_band": 1}
    assert monthly(month, tmp_path, [first, new], **options) == {"a": 1, "b": 2, "c": 2}
    month.groups.unlink()
    month([*first, *new], **options)
    assert ids_of(month.groups) == {"a": 1, "b": 2, "c": 1}
    month.groups.unlink()
    month([*first, *new], groups="components", **options)
    assert ids_of(month.groups) == {"a": 1, "b": 1, "c": 1}


def test_new_rows_that_come_twice_change_nothing(month, tmp_path):
    index = tmp_path / "seen.lsh"
    month(rows_of(a=FOX, c=CAT), save_index=index)
    new = rows_of(b=f"{FOX} again", d="new")
    _, changes = month(new, against=index)
    assert changes == [("1", "joined", "", "b"), ("3", "new", "", "d")]
    before = ids_of(month.groups)
    _, changes = month(new, against=index)
    assert changes == []
    assert ids_of(month.groups) == before


def test_a_known_key_with_another_text_connects_groups_against_an_index_and_moves_without(
    month, tmp_path
):
    index, first = tmp_path / "seen.lsh", rows_of(a=FOX, b=f"{FOX} again", c=CAT)
    month(first, save_index=index)
    before = month.groups.read_bytes()
    _, changes = month(rows_of(b=f"{CAT} or not"), against=index)
    assert changes == [("1", "merged", "2", "c")]
    month.groups.write_bytes(before)
    _, changes = month(rows_of(a=FOX, b=f"{CAT} or not", c=CAT))
    assert changes == [("2", "split", "1", "b")]


def items(kind):
    """Return the items of a kind, of which 0 and 1, and 2 and 3 are similar."""
    rng = np.random.default_rng(1)
    if kind == "set":
        return pa.array([[1, 2, 3, 4], [1, 2, 3, 4, 5], [7, 8, 9], [9, 8, 7]])
    if kind == "vector":
        points = (
            rng.normal(size=(2, 8)).repeat(2, axis=0) + rng.normal(size=(4, 8)) * 1e-3
        )
        return pa.array(points.tolist(), pa.list_(pa.float64(), 8))
    codes = rng.integers(0, 256, (2, 8), np.uint8).repeat(2, axis=0)
    return pa.array([row.tobytes() for row in codes], pa.binary(8))


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("set", {"threshold": 0.7}),
        ("vector", {}),
        ("code", {"radius": 2}),
        ("set", {"exact": True, "threshold": 0.7}),
    ],
)
def test_other_kinds_of_items(tmp_path, kind, options):
    column, groups = items(kind), tmp_path / "groups.parquet"
    for rows in ([0, 2], [3, 2, 1, 0], [3, 1]):
        path = tmp_path / "in.parquet"
        pq.write_table(
            pa.table({"id": pa.array(rows), "text": column.take(pa.array(rows))}), path
        )
        dedup_files(path, id_column="id", kind=kind, clusters=groups, **options)
        found = ids_of(groups)
        assert found == {row: 1 + row // 2 for row in rows}


def test_sets_that_are_spread_over_rows(tmp_path):
    groups, changes = tmp_path / "groups.parquet", tmp_path / "changes.jsonl"
    for sets in (
        {"x": "abcd", "y": "abcde", "z": "pq"},
        {"y": "abcde", "z": "pq", "v": "pq"},
    ):
        rows = [
            {"group": key, "item": item}
            for key, members in sets.items()
            for item in members
        ]
        result = dedup_files(
            write_jsonl(tmp_path / "in.jsonl", rows), group_by="group", item="item", threshold=0.7, clusters=groups,
            changes=changes, overwrite=True,
        )  # fmt: skip
    assert ids_of(groups) == {"y": 1, "z": 2, "v": 2}
    assert (result.summary.clusters.joined, result.summary.clusters.removed) == (1, 1)


def test_a_run_that_fails_leaves_the_groups_as_they_were(month, tmp_path):
    month(rows_of(a=FOX, b=f"{FOX} again"))
    before, new = month.groups.read_bytes(), rows_of(a=FOX, b=FOX, c=FOX)
    with pytest.raises(lshfast.TooManyRemovedError):
        month(new, max_removed=0.1)
    with pytest.raises(FileExistsError):
        month(new, overwrite=False)
    with pytest.raises(ValueError, match="id column 'id' is missing"):
        month([*new, {"text": "no id"}])
    with pytest.raises(
        ValueError,
        match="the keys of earlier rows are strings, those of this run integers",
    ):
        month([{"id": 1, "text": FOX}])
    assert month.groups.read_bytes() == before
    month(new, dry_run=True)
    assert month.groups.read_bytes() == before
    assert (
        dedup_files(
            month.source, **OPTIONS, clusters=month.groups, dry_run=True
        ).summary.clusters.joined
        == 1
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "changes.csv",
        "groups.parquet",
        "month.jsonl",
    ]


def test_a_damaged_file_is_refused_before_anything_is_written(month, tmp_path):
    month.groups.write_bytes(b"no parquet")
    write_jsonl(month.source, rows_of(a=FOX))
    with pytest.raises(
        FormatError, match=r"groups\.parquet: cannot be read as Parquet"
    ):
        dedup_files(
            month.source, tmp_path / "out.jsonl", clusters=month.groups, **OPTIONS
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "groups.parquet",
        "month.jsonl",
    ]
    assert month.groups.read_bytes() == b"no parquet"


def test_rejected_rows_are_written_beside_the_first_output(month, tmp_path):
    month.source.write_text('{"id": "a", "text": "b c"}\nno JSON\n')
    result = dedup_files(
        month.source, clusters=month.groups, on_error="skip", **OPTIONS
    )
    assert result.summary.clusters.rows == 1
    assert (tmp_path / "groups.parquet.rejects.jsonl").exists()


def test_the_command(month, tmp_path):
    write_jsonl(month.source, rows_of(a=FOX, b=f"{FOX} again", c=CAT))
    flags = ["--id-column", "id", "--size", 2, "--threshold", 0.6]
    done = run(
        "dedup",
        month.source,
        "--clusters",
        month.groups,
        "--changes",
        month.changes,
        *flags,
    )
    assert done.exit_code == 0
    assert (
        "clusters                   2   of 3 rows in run 1; 3 rows new" in done.stderr
    )
    assert [row[1] for row in changes_of(month.changes)] == ["new"] * 3
    done = run(
        "dedup",
        month.source,
        "-o",
        tmp_path / "kept.jsonl",
        "--clusters",
        month.groups,
        *flags,
    )
    assert done.exit_code == 0
    assert "of 3 rows in run 2; nothing changed" in done.stderr
    with ClusterOutput(str(month.groups)).opened():
        said = failing(2, "dedup", month.source, "--clusters", month.groups, *flags)
    assert said.endswith("groups.parquet: another run uses this file")
    assert read_clusters(str(month.groups)).runs == 2


@pytest.mark.parametrize(
    ("status", "flags", "reason"),
    [
        (
            2,
            ["--changes", "changes.csv", "-o", "out.jsonl"],
            r"changes \(--changes\) needs clusters",
        ),
        (2, ["--clusters", "groups.csv"], "clusters must be a file named .parquet"),
        (2, ["--clusters", "groups"], "unknown kind of output"),
        (
            2,
            ["--clusters", "groups.parquet", "-o", "groups.parquet"],
            "two outputs of one name",
        ),
        (
            2,
            ["--clusters", "groups.parquet", "--changes", "./groups.parquet"],
            "two outputs of one name",
        ),
        (
            2,
            ["--clusters", "groups.parquet", "--save-index", "groups.parquet"],
            "two outputs of one name",
        ),
        (2, ["--clusters", "in.parquet"], "the output is one of the inputs"),
        (
            1,
            ["--clusters", "none/groups.parquet"],
            "the folder of the output does not exist",
        ),
        (
            2,
            ["--clusters", "groups.parquet", "--memory", "1G"],
            "clusters is not an option of lshfast dedup --memory",
        ),
        (
            2,
            ["--clusters", "groups.parquet", "--split", "paragraph"],
            "clusters are groups of rows, not of paragraphs",
        ),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, status, flags, reason):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"text": ["a b c"]}), "in.parquet")
    before = (tmp_path / "in.parquet").read_bytes()
    said = failing(status, "dedup", "in.parquet", *flags)
    assert re.search(reason, said)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
    assert (tmp_path / "in.parquet").read_bytes() == before
