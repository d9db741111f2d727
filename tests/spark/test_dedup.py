"""`lshfast.spark.dedup` gives the rows of `lshfast.dedup`, and refuses what it cannot use."""

import datetime
import os
from dataclasses import replace

import pytest

import lshfast
import lshfast.spark
from lshfast.spark import Limits
from tests.spark.answers import corpus, distributed, native

SCHEMA = "id long, text string"


@pytest.fixture(scope="module")
def rows():
    return corpus(240)


@pytest.fixture(scope="module")
def frame(spark, rows):
    frame = (
        spark.createDataFrame(list(zip(*rows, strict=True)), SCHEMA)
        .repartition(7)
        .persist()
    )
    frame.count()  # stores it now rather than in the first test
    yield frame
    frame.unpersist()


@pytest.mark.parametrize(
    "partitions",
    [7, *(pytest.param(number, marks=pytest.mark.weekly) for number in (2, 20))],
)
def test_partitions_do_not_matter(spark, rows, partitions):
    names = (
        "spark.sql.shuffle.partitions",
        "spark.sql.adaptive.coalescePartitions.enabled",
    )
    before = [spark.conf.get(name) for name in names]
    try:
        for name, value in zip(names, (str(partitions), "false"), strict=True):
            spark.conf.set(name, value)
        frame = spark.createDataFrame(
            list(zip(*rows, strict=True)), SCHEMA
        ).repartition(partitions)
        assert distributed(frame) == native(*rows)
    finally:
        for name, value in zip(names, before, strict=True):
            spark.conf.set(name, value)


# The slow tests have runs within such limits in tests/engine/executors/test_same_answers.py.
@pytest.mark.weekly
@pytest.mark.parametrize(
    ("limits", "options"),
    [
        (Limits(0, 1, 0), {}),
        (Limits(1 << 20, 1), {}),
        (Limits(0, 1), {"groups": "components", "verify": "signature"}),
        (Limits(0, 1 << 20), {"groups": "components", "verify": "signature"}),
    ],
    ids=str,
)
def test_limits_do_not_matter(rows, frame, limits, options):
    found, summary = distributed(frame, limits=limits, **options)
    expected, figures = native(*rows, **options)
    assert found == expected
    assert summary.candidates <= figures.candidates


def test_ids_of_strings_and_values_that_choose_the_row(spark, rows):
    keys, texts = rows
    ids = [
        f"é{key}" if key % 3 else f"😀{key}" for key in keys
    ]  # in another order as UTF-16
    days = [datetime.date(2020, 1, 1 + abs(key) % 5) for key in keys]
    frame = spark.createDataFrame(
        list(zip(ids, texts, days, strict=True)), "doc string, body string, day date"
    )
    found = lshfast.spark.dedup(frame, "body", "doc", keep=frame.day)
    assert found.columns == ["doc", "keep", "kept_key", "similarity", "group"]
    assert sorted(map(tuple, found.collect())) == native(ids, texts, keep=days)[0]


def test_columns_and_ids_in_any_script(spark):
    """Names with spaces, quotes and letters outside the BMP; ids and texts that differ in such letters only."""
    body = " ".join(f"слово{number}" for number in range(60))
    rows = [
        ("😀", body),
        ("\uffff", body + " 😀"),
        ("é", body),
        ("e\u0301", "東京 " * 9),
        ("", None),
        ("ÿ", "東京 " * 9),
    ]
    frame = spark.createDataFrame(
        [(key, 1, text) for key, text in rows],
        "`身分 id` string, `'x'` int, `tëxt 😀` string",
    )
    found = lshfast.spark.dedup(frame, "tëxt 😀", "身分 id")
    assert found.columns == ["身分 id", "keep", "kept_key", "similarity", "group"]
    assert sorted(map(tuple, found.collect())) == native(*zip(*rows, strict=True))[0]
    found.unpersist()


@pytest.mark.parametrize("texts", [[], [None, "", "?"]], ids=str)
def test_frames_without_shingles(spark, texts):
    ids = list(range(len(texts)))
    frame = spark.createDataFrame(
        list(zip(ids, texts, strict=True)), "id int, text string"
    )
    assert distributed(frame) == native(ids, texts)


@pytest.mark.weekly
def test_a_worker_that_dies_once(spark, rows, frame, tmp_path):
    """Each kind of task runs in these workers; the first one ends its process."""
    mark = str(tmp_path / "died")

    def die_once(batches):
        if not os.path.exists(mark):
            with open(mark, "w"):
                pass
            os._exit(1)
        yield from batches

    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    assert distributed(frame.mapInArrow(die_once, SCHEMA)) == native(*rows)
    assert os.path.exists(mark)
    assert (
        spark.sparkContext._jsc.getPersistentRDDs().size() <= before
    )  # what earlier tests left may go


def test_bytes_that_are_not_utf8_are_named_by_id(spark):
    frame = spark.createDataFrame(
        [("a", b"one two"), ("b", b"one \xff")], "id string, text binary"
    )
    with pytest.raises(ValueError, match=r"^the text with id 'b' .*not UTF-8"):
        lshfast.spark.dedup(frame)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([3, 5, 5], "^the values of id must be different, and 5 occurs 2 times$"),
        ([3, None, 5], "^id must not be null, as it is in 1 of the rows$"),
    ],
    ids=str,
)
def test_ids_that_cannot_be_used(spark, ids, said):
    frame = spark.createDataFrame([(key, f"text {key}") for key in ids], SCHEMA)
    with pytest.raises(ValueError, match=said):
        lshfast.spark.dedup(frame)


def test_values_that_are_missing(spark):
    frame = spark.createDataFrame(
        [(1, "a", 1.0), (2, "b", float("nan")), (3, "c", None)],
        f"{SCHEMA}, score double",
    )
    with pytest.raises(
        ValueError,
        match=r"^keep: values must not be missing, as they are in 2 of the rows$",
    ):
        lshfast.spark.dedup(frame, keep=frame.score)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "said"),
    [
        (
            ["body"],
            {},
            ValueError,
            "^text: there is no column 'body' among id, text, score$",
        ),
        (
            ["text", "key"],
            {},
            ValueError,
            "^id: there is no column 'key' among id, text, score$",
        ),
        (
            ["score"],
            {},
            TypeError,
            "^text: column 'score' must be of type string, binary, array<float>, array<double>, not double$",
        ),
        (
            ["text", "score"],
            {},
            TypeError,
            "^id: column 'score' must be of type .*, string, not double$",
        ),
        ([5], {}, TypeError, "^text must be a name or a list of names, not 5$"),
        (
            [],
            {"keep": "best"},
            ValueError,
            "^keep must be one of first, last, longest, shortest, or a Column",
        ),
        (
            [],
            {"keep": 5},
            ValueError,
            "^keep must be one of first, last, longest, shortest, or a Column, not 5",
        ),
        ([], {"threshold": 1.5}, ValueError, "^threshold must be"),
        ([], {"seed": -1}, ValueError, "^seed must be"),
        ([], {"groups": "cliques"}, ValueError, "^groups must be"),
        (
            [],
            {"keep": "shortest", "measure": "containment", "exact": False},
            ValueError,
            "^keep must not be 'shortest' for",
        ),
        (
            [],
            {"exact": True},
            ValueError,
            "^exact is not an option of lshfast dedup --engine spark: .* give exact=False",
        ),
        (
            [],
            {"measure": "containment"},
            ValueError,
            "^measure='containment' has exact=True by default, .* exact=False",
        ),
        (
            [],
            {"against": ["a"]},
            TypeError,
            "^against must be a DataFrame of Spark, not list$",
        ),
        (
            [],
            {"against_column": "body"},
            ValueError,
            "^against_column names a column of earlier files, .* names none$",
        ),
        (
            [],
            {"exact_key": "no"},
            ValueError,
            "^exact_key: there is no column 'no' among id, text, score$",
        ),
        ([], {"exact_key": "url:"}, ValueError, "^exact_key must name a column"),
        ([], {"exact_key": 5}, TypeError, "^exact_key must be the name of a column"),
        ([], {"annotate": True}, TypeError, r"^dedup\(\) has no option 'annotate'"),
    ],
    ids=str,
)
def test_arguments_that_cannot_be_used(spark, arguments, options, error, said):
    frame = spark.createDataFrame([(1, "a", 1.0)], f"{SCHEMA}, score double")
    with pytest.raises(error, match=said):
        lshfast.spark.dedup_with_summary(frame, *arguments, **options)


@pytest.mark.parametrize("type_of_keys", ["year", "month", "year to month"])
def test_exact_keys_of_years_and_months(spark, type_of_keys):
    frame = spark.sql(
        f"""select id, concat("only ", id) as text, cast(term as interval {type_of_keys}) as term
        from values (0, interval '2' year), (1, interval '24' month), (2, null), (3, null),
        (4, interval '36' month) as rows (id, term)"""
    )
    result = lshfast.spark.dedup(frame, exact_key="term")
    kept = {row.id for row in result.filter("keep").collect()}
    assert kept == {0, 2, 3, 4}


# Keys of several types: a missing one, and numbers that are equal.
KEYS = [None, float("nan"), 1.0, 2.0, 0.5]


@pytest.mark.parametrize(
    ("limits", "options"),
    [
        (Limits(), {"keep": "longest"}),
        pytest.param(
            Limits(0, 1, 0),
            {"keep": "shortest", "threshold": 0.6},
            marks=pytest.mark.weekly,
        ),
        pytest.param(
            Limits(driver_records=1000),
            {"verify": "signature", "normalize": "NFKC"},
            marks=pytest.mark.weekly,
        ),
        pytest.param(Limits(1 << 20, 1), {"verify": "none"}, marks=pytest.mark.weekly),
    ],
    ids=str,
)
def test_earlier_rows_and_exact_keys(spark, rows, limits, options):
    """An earlier row has a key of another type; many have the same text, and some have none."""
    ids, texts = rows
    keys = [KEYS[key % 5] if key % 3 else float(key) for key in ids]
    near = texts[1].rpartition(" ")[0]
    earlier = {f"a{number:03}": near for number in range(300)}
    earlier |= {f"b{number}": text for number, text in enumerate(texts[:60:3])}
    earlier |= {"c": texts[1], "d": None, "e": "", "f": "words that no other text has"}
    frame = spark.createDataFrame(
        list(zip(ids, texts, keys, strict=True)), f"{SCHEMA}, link double"
    )
    of_earlier = spark.createDataFrame(
        list(earlier.items())[::-1], "name string, body string"
    )
    found, summary = distributed(
        frame.repartition(3),
        limits=limits,
        against=of_earlier.repartition(3),
        against_column="body",
        against_id_column="name",
        exact_key="link",
        **options,
    )
    expected, figures = native(ids, texts, against=earlier, exact_key=keys, **options)
    assert found == expected
    assert summary == figures
    assert min(figures.earlier, figures.same_key, figures.groups) > 10


def test_ids_of_earlier_rows_that_are_equal(spark, rows):
    """To each other, and to those of new rows; texts are bytes on one side."""
    ids, texts = rows
    earlier = [(7, texts[0]), (7, texts[5]), (7, texts[5]), (8, texts[9]), (9, None)]
    of_earlier = spark.createDataFrame(
        [(key, text and text.encode()) for key, text in earlier],
        "id int, text binary",
    )
    frame = spark.createDataFrame(list(zip(ids, texts, strict=True)), SCHEMA)
    found, summary = distributed(frame, against=of_earlier)
    expected, figures = native(ids, texts, against=[text for _, text in earlier])
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert summary == figures
    of_places = {row[0]: earlier[row[2]][0] if row[5] else row[2] for row in expected}
    assert {row[0]: row[2] for row in found} == of_places
    assert {row[2] for row in found if row[5]} == {7, 8}
    nothing = of_earlier.where("id > 9")
    found, summary = distributed(frame, against=nothing)
    assert found == [(*row, False) for row in native(ids, texts)[0]]
    assert (summary.earlier_texts.read, summary.earlier_texts.verify) == (0, "exact")


def test_earlier_rows_that_cannot_be_used(spark):
    frame = spark.createDataFrame([(1, "a", [0.5])], f"{SCHEMA}, v array<double>")
    rows = [(5, b"\xff"), (None, b"a")]
    of_bytes = spark.createDataFrame(rows, "key int, text binary")
    for options, said in [
        ({}, "^against: id: there is no column 'id' among key, text$"),
        ({"against_id_column": "text"}, "^against: id: column 'text' must be of type"),
        (
            {"against_column": "body", "against_id_column": "key"},
            "^against: text: there is no column 'body'",
        ),
        ({"against_id_column": "key", "groups": "components"}, "^groups must be star"),
        (
            {"against_id_column": "key", "ignore_common": 0.5},
            "^ignore_common must be None with an index or earlier rows",
        ),
        (
            {"against_id_column": "key", "text": "v", "against_column": "text"},
            "^against has earlier items, which are read for texts and sets, not for",
        ),
        (
            {"against_id_column": "key"},
            "^against: the text with id 5 .*not UTF-8|^against: ids must not be null",
        ),
    ]:
        with pytest.raises((TypeError, ValueError), match=said):
            lshfast.spark.dedup(frame, against=of_bytes, **options)
    nulls = of_bytes.where("key is null")
    with pytest.raises(ValueError, match=r"^against: ids must not be null, .* in 1 of"):
        lshfast.spark.dedup(frame, against=nulls, against_id_column="key")


def test_what_is_not_a_frame_of_spark(spark):
    with pytest.raises(TypeError, match=r"^df must be a DataFrame of Spark, not list$"):
        lshfast.spark.dedup([("a", "text")])
    with pytest.raises(ValueError, match=r"^df must not be a stream"):
        lshfast.spark.dedup(spark.readStream.format("rate").load())


@pytest.mark.parametrize("name", ["group", "Keep"])
def test_a_name_of_ids_that_the_result_uses(spark, name):
    """Spark takes names that differ in case only as one."""
    frame = spark.createDataFrame([(1, "a")], f"{name} int, text string")
    said = f"^id: the result has a column '{name.lower()}' of its own"
    with pytest.raises(ValueError, match=said):
        lshfast.spark.dedup(frame, id=name)


# Strings and integers are in tests/engine/executors/test_same_answers.py, too.
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("double", [1e16, 0.5, float("nan"), None, 1.0, 1.0, 1.0]),
        ("date", [None, *(datetime.date(2024, 5, i + 1) for i in range(6))]),
        *(
            pytest.param(kind, values, marks=pytest.mark.weekly)
            for kind, values in {
                "string": ["a", "", None, "x" * 300, "b", "b", "b"],
                "boolean": [True, False, None, True, True, True, True],
                "long": [1, 2, None, 2**62, 5, 5, 5],
            }.items()
        ),
    ],
)
def test_values_of_each_type(spark, kind, values):
    texts = [f"article {i} of {i * i}" for i in range(6)] + ["article 0 of 0"]
    rows = list(zip(range(7), texts, values, strict=True))
    frame = spark.createDataFrame(rows, f"id int, text string, value {kind}")
    found, summary = lshfast.spark.dedup_with_summary(frame, by="value")
    found.unpersist()
    assert summary.by == replace(
        lshfast.dedup(texts, by=values).summary.by, column="value"
    )


def test_columns_that_cannot_be_counted_by(spark):
    frame = spark.createDataFrame(
        [(1, "a", [1])], "id int, text string, several array<int>"
    )
    for by, error in (("no", ValueError), (5, TypeError), ("several", TypeError)):
        with pytest.raises(error, match="by"):
            lshfast.spark.dedup(frame, by=by)
    with pytest.raises(ValueError, match="max_removed"):
        lshfast.spark.dedup(frame, max_removed=2)


@pytest.mark.one_case
@pytest.mark.parametrize(("value", "other"), [(1e16, None), (None, 1e16)])
def test_a_value_of_which_too_many_rows_are_removed(spark, value, other):
    texts = ["the same words stand on each page of this site"] * 30 + [
        f"article {i} of {i * i}" for i in range(60)
    ]
    rows = [(i, text, value if i < 30 else other) for i, text in enumerate(texts)]
    frame = spark.createDataFrame(rows, "id int, text string, value double")
    with pytest.raises(lshfast.TooManyRemovedError) as caught:
        lshfast.spark.dedup(frame, by="value", max_removed=0.5)
    name = None if value is None else str(value)
    assert caught.value.excesses == (("value", name, 30, 29, ((0, 29),)),)
