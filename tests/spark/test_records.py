"""`lshfast.spark.match_records` and `dedup_records` give the links of one machine."""

import random

import pyarrow as pa
import pytest

import lshfast.spark
from lshfast.records import RecordTable, dedup_records, match_records
from lshfast.records.linking import linked_run
from lshfast.records.options import LinkOptions
from lshfast.spark import RecordLimits, record_tasks
from lshfast.spark.record_model import RecordModel
from lshfast.spark.record_run import RecordFrame, sample_shares
from lshfast.spark.record_tasks import ScoreTask

GIVEN = [
    "ann",
    "eve",
    "ivan",
    "vera",
    "william",
    "john",
    "mary",
    "tom",
    "lucy",
    "nina",
    "olga",
]
SYLLABLES = ["ka", "lo", "mi", "re", "su", "ta", "vo", "ne", "pi", "du"]
RULES = ["key:surname", "key:born", "key:zip+given"]
SCHEMA = "id {}, given string, surname string, born string, zip string, price double"
FAR = RecordLimits(driver_rows=0)


def people(n, seed=1):
    """Return two tables of people, half of whom are in both, with typing errors and exchanged names."""
    rng = random.Random(seed)
    surnames = [
        "".join(rng.choice(SYLLABLES) for _ in range(3)) for _ in range(n // 4 + 5)
    ]
    first = [
        {
            "given": rng.choice(GIVEN),
            "surname": rng.choice(surnames),
            "born": f"19{rng.randrange(40, 99)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
            "zip": f"{rng.randrange(10_000, 10_000 + n // 3)}",
            "price": rng.choice([None, rng.randrange(5_000) / 4]),
        }
        for _ in range(n)
    ]
    second = []
    for row in first[: n // 2]:
        row = dict(row)
        name = rng.choice(["given", "surname", "zip", None, None])
        if name:
            place = rng.randrange(len(row[name]))
            row[name] = row[name][:place] + "x" + row[name][place + 1 :]
        if rng.random() < 0.1:
            row["given"], row["surname"] = row["surname"], row["given"]
        second.append(row)
    second += [{**rng.choice(first), "born": "1950-05-05"} for _ in range(n // 2)]
    rng.shuffle(second)
    return first, second


def tables_of(n, single):
    first, second = people(n)
    if single:
        return [RecordTable(pa.Table.from_pylist(first + second))]
    return [RecordTable(pa.Table.from_pylist(rows)) for rows in (first, second)]


def struct_of(table, names, rows):
    columns = [pa.array(table.column(name)).take(pa.array(rows)) for name in names]
    return pa.StructArray.from_arrays(columns, names)


def scored(model, tables, rows):
    """Return the scores of pairs of rows by a worker, which gets 300 pairs at a time."""
    i, j = rows
    sides = {"a": struct_of(tables[0], model.columns(0), i)}
    sides["b"] = struct_of(tables[-1], model.columns(1), j)
    table = pa.table({"id_a": i, "id_b": j, **sides})
    batches = list(ScoreTask(model)(iter(table.to_batches(max_chunksize=300))))
    columns = [column.to_pylist() for column in pa.Table.from_batches(batches).columns]
    return {(i, j): score for i, j, score in zip(*columns, strict=True)}


@pytest.mark.parametrize(
    ("scoring", "single"),
    [
        ("weights", False),
        ("points", True),
        pytest.param("weights", True, marks=pytest.mark.slow),
    ],
)
def test_workers_score_pairs_as_one_machine(scoring, single):
    tables = tables_of(100, single)
    run = linked_run(tables, LinkOptions(rules=RULES, scoring=scoring))
    rows = run.linkage.rows_of(run.candidates.compared.places)
    found = scored(RecordModel.of(run), tables, rows)
    scores = run.scores
    enough = scores.scores >= scores.least
    pairs = [rows[side][scores.index[enough]].tolist() for side in (0, 1)]
    expected = dict(
        zip(zip(*pairs, strict=True), scores.scores[enough].tolist(), strict=True)
    )
    assert found == pytest.approx(expected)
    assert len(found) > 40


def test_scores_of_values_that_the_sample_does_not_have_depend_on_no_other_pair(
    monkeypatch,
):
    first, second = people(160)
    sample = [RecordTable(pa.Table.from_pylist(rows[::2])) for rows in (first, second)]
    model = RecordModel.of(linked_run(sample, LinkOptions(rules=RULES)))
    tables = tables_of(160, False)
    run = linked_run(tables, LinkOptions(rules=RULES))
    rows = run.linkage.rows_of(run.candidates.compared.places)
    together = scored(model, tables, rows)
    monkeypatch.setattr(record_tasks, "PAIRS_AT_ONCE", 1)
    assert scored(model, tables, rows) == pytest.approx(together, abs=1e-9)
    assert len(together) > 40


def frame_of(spark, rows, kind):
    """Return a DataFrame in random order, and the same rows in the order of the ids."""
    keys = [f"é{row}" if kind == "string" else row for row in range(len(rows))]
    with_ids = sorted(
        ({"id": key, **row} for key, row in zip(keys, rows, strict=True)),
        key=lambda row: row["id"],
    )
    tuples = [tuple(row.values()) for row in with_ids]
    random.Random(1).shuffle(tuples)
    return spark.createDataFrame(tuples, SCHEMA.format(kind)), pa.Table.from_pylist(
        with_ids
    )


@pytest.mark.one_case
@pytest.mark.parametrize("limits", [None, FAR], ids=["driver", "cluster"])
def test_links_are_those_of_one_machine(spark, limits):
    """In the second case the sample is all rows."""
    first, second = people(160)
    frame_a, a = frame_of(spark, first, "string")
    frame_b, b = frame_of(spark, second, "int")
    found = lshfast.spark.match_records(
        frame_a.repartition(3), frame_b, rules=RULES, limits=limits
    )
    expected = match_records(a, b, rules=RULES, id_column="id")
    keys = zip(*expected.keys(), strict=True)
    values = zip(expected.scores, expected.probabilities, strict=True)
    expected_rows = dict(zip(keys, values, strict=True))
    rows = {tuple(row[:2]): tuple(row[2:]) for row in found.collect()}
    assert rows.keys() == expected_rows.keys()
    for key, pair in rows.items():
        assert pair == pytest.approx(expected_rows[key], abs=1e-9)
    assert len(rows) > 50
    assert found.schema["id_b"].dataType.simpleString() == "int"


def test_groups_are_those_of_one_machine(spark):
    first, second = people(120)
    frame, table = frame_of(spark, first + second, "long")
    rules = ["key:surname", "key:born"]
    found = lshfast.spark.dedup_records(
        frame, rules=rules, scoring="points", limits=FAR
    )
    expected = dedup_records(table, rules=rules, scoring="points", id_column="id")
    groups = expected.groups()
    ids = table.column("id").to_pylist()
    expected_rows = {
        (ids[i], ids[j], ids[groups[i]], ids[groups[j]])
        for i, j in zip(expected.i.tolist(), expected.j.tolist(), strict=True)
    }
    rows = found.select("id_a", "id_b", "group_a", "group_b").collect()
    assert {tuple(row) for row in rows} == expected_rows
    assert len(rows) > 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "^rules are needed for tables of more than 0 rows together"),
        ({"rules": ["sort:born"]}, "^rules: sort:born:window=5 is not a key of fields"),
        ({"rules": RULES, "labels": [(1, 2, "same")]}, "^labels are not for tables of"),
        ({"rules": RULES, "fields": ["surname:text", "born", "zip", "given"]}, "text"),
    ],
    ids=["no rules", "sort", "labels", "text"],
)
def test_options_that_large_tables_do_not_have(spark, options, message):
    first, second = people(60)
    frames = [frame_of(spark, rows, "int")[0] for rows in (first, second)]
    with pytest.raises(ValueError, match=message):
        lshfast.spark.match_records(*frames, limits=FAR, **options)


def test_ids_of_records_that_cannot_be_used(spark):
    frame = spark.createDataFrame([(1, "a"), (1, "b")], "id int, name string")
    with pytest.raises(
        ValueError, match=r"^the values of id of a must be different, and 1"
    ):
        lshfast.spark.dedup_records(frame)


def test_the_case_of_the_name_of_the_ids_does_not_matter(spark):
    rows = [(1, "Ann Lee"), (2, "Ann Lee")]
    frame = spark.createDataFrame(rows, "`Row Id` int, name string")
    found = lshfast.spark.dedup_records(frame, id="row ID", scoring="points")
    assert [tuple(row) for row in found.select("id_a", "id_b").collect()] == [(1, 2)]


@pytest.mark.parametrize("name", ["person.id", "`name`"])
def test_ids_of_records_that_are_no_column(spark, name):
    frame = spark.sql("select named_struct('id', 1) person, 'a' name")
    with pytest.raises(
        ValueError, match=f"^id: '{name}' is not the name of a column of b,"
    ):
        lshfast.spark.match_records(
            frame.select("person.id", "name"), frame, id=("id", name)
        )


def test_a_rule_of_a_column_that_is_called_id(spark):
    """The ids are in another column; its name has a backtick and a dot, as that of a field has."""
    first, second = people(60)
    frame, table = frame_of(spark, first + second, "long")
    names = ["row`.", "given", "id", "born", "z`.ip", "price"]
    frame = frame.toDF(*names)
    table = table.rename_columns(names)
    options = {"rules": ["key:id", "key:z`.ip"], "scoring": "points"}
    found = lshfast.spark.dedup_records(frame, id="row`.", limits=FAR, **options)
    expected = dedup_records(table, id_column="row`.", **options)
    ids = table.column("row`.").to_pylist()
    pairs = zip(expected.i.tolist(), expected.j.tolist(), strict=True)
    rows = found.select("id_a", "id_b").collect()
    assert set(map(tuple, rows)) == {(ids[i], ids[j]) for i, j in pairs}
    assert rows


def test_equal_ids_of_two_tables_are_drawn_independently(spark):
    frame = spark.range(2000)
    samples = [set(RecordFrame.of(frame, "id", name).sampled(0.2).ids) for name in "ab"]
    assert [len(sample) for sample in samples] == pytest.approx([400, 400], abs=80)
    assert len(samples[0] & samples[1]) == pytest.approx(80, abs=40)


@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        ([1000], [100]),
        ([1000, 1000], [50, 50]),
        ([10, 1000], [10, 90]),
        ([1000, 0], [100, 0]),
        ([40, 60], [40, 60]),
    ],
    ids=str,
)
def test_a_small_table_is_in_the_sample_as_a_whole(sizes, rows):
    shares = sample_shares(sizes, 100)
    sampled = [size * min(1, share) for size, share in zip(sizes, shares, strict=True)]
    assert sampled == pytest.approx(rows)


def test_values_are_read_alike_in_each_batch():
    """Half of the decimals end in .0, so these are no whole numbers, whatever a batch has."""
    first, second = people(60)
    for row, person in enumerate([*first, *second]):
        person["code"] = f"{row % 20}.{'0' if row % 2 else '5'}"
        person["number"] = f"{row % 30}.0"
    tables = [RecordTable(pa.Table.from_pylist(rows)) for rows in (first, second)]
    rules = ["key:code", "key:number"]
    fields = ["code:code", "number:code", "surname", "born"]
    options = LinkOptions(rules=rules, fields=fields, scoring="points")
    model = RecordModel.of(linked_run(tables, options))

    def keys(rows):
        ids = list(range(len(tables[0])))
        struct = struct_of(tables[0], model.key_columns(0), ids)
        table = pa.table({"id": ids, "row": struct})
        task = record_tasks.RecordKeyTask(model, 0)
        batches = task(iter(table.to_batches(max_chunksize=rows)))
        return sorted(
            (row["id"], row["rule"], row["key"])
            for batch in batches
            for row in batch.to_pylist()
        )

    assert keys(1) == keys(1000)
    assert len(keys(1000)) == 120
