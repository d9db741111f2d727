"""Each way of running gives the answer of a run over files in memory, for each option that it takes, or refuses it.

Which way takes which option is declared in `lshfast._engine.options.declared`. An option that is
added there needs a case here.
"""

import re
import unicodedata
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lshfast
from lshfast._engine.options.declared import NAMES, OPTIONS
from lshfast._engine.options.rules import taken_by
from lshfast.spark import Limits
from tests.cli.commands import failing
from tests.engine.executors.drivers import (
    MANY,
    Capped,
    Case,
    CommandLine,
    Files,
    Memory,
    Resumed,
    Run,
    Spark,
    Stages,
    plain,
    rows_of,
    write_inputs,
)
from tests.run_fixtures import little_costs

CASES = [
    Case(),
    Case({"keep": "last"}, ids="id"),
    Case({"keep": "longest", "groups": "components"}, ids="number"),
    Case({"keep": "shortest", "verify": "signature"}, ids="id"),
    Case(
        {
            "groups": "components",
            "verify": "signature",
            "scheme": "classic",
            "num_perm": 64,
        },
        ids="number",
    ),
    Case(
        {
            "groups": "components",
            "verify": "none",
            "keep": "last",
            "recall": 0.5,
            "threshold": 0.6,
        },
        ids="id",
    ),
    Case({"verify": "none", "seed": 7, "bands": 20, "rows_per_band": 5}, ids="id"),
    Case({"measure": "containment", "threshold": 0.9, "keep": "last"}, ids="id"),
    Case({"ignore_common": 0.05, "threshold": 0.5, "size": 2}, ids="id"),
    Case({"normalize": "NFC", "threshold": 0.6, "unit": "char"}, ids="id"),
    Case({"exact": True, "threshold": 0.7}),
    Case({"against": True}, ids="id"),
    Case({"against": "texts"}, ids="id"),
    Case(
        {"against": "texts", "against_column": "body", "against_id_column": "name"},
        ids="id",
        pairs=True,
    ),
    Case(
        {
            "against": "texts",
            "against_column": "body",
            "against_id_column": "name",
            "keep": "longest",
        },
        ids="id",
    ),
    Case({"against": "texts", "annotate": True, "keep": "last"}, "csv"),
    Case({"against": "texts", "verify": "signature", "by": "number"}, ids="number"),
    Case({"against": "texts", "kind": "set"}, ids="id"),
    Case({"kind": "text"}, ids="id"),
    Case({"kind": "set"}, ids="id"),
    Case({"kind": "set", "keep": "longest", "threshold": 0.6}, "parquet", ids="number"),
    Case({"kind": "set", "threshold": 0.5, "top": 2}, ids="id", pairs=True),
    Case({"keep": "max:integer"}, ids="id"),
    Case({"keep": "min:float", "groups": "components"}),
    Case({"keep": "max:string"}, ids="id"),
    # the account by the values of a column, and a limit that is not reached
    Case({"by": "integer", "max_removed": 0.99}, ids="id"),
    Case({"by": "number", "keep": "max:integer", "max_removed": 1.0}, ids="id"),
    Case({"by": "string", "keep": "min:float"}),
    Case({"by": "number", "groups": "components"}, ids="number"),
    Case({"by": "number", "against": True}, ids="id"),
    Case({"by": "id", "delimiter": "#", "on_error": "skip"}, "csv#"),
    Case({"by": "number"}, "parquet", ids="number"),
    # of the rows with equal keys, one is compared
    Case({"exact_key": "integer", "keep": "longest"}, ids="id"),
    Case({"exact_key": "integer", "keep": "max:float", "against": True}, ids="id"),
    Case({"exact_key": "url:string", "annotate": True, "groups": "components"}),
    Case({"exact_key": "integer", "keep": "max:float", "by": "number"}, ids="id"),
    Case({"exact_key": "integer", "kind": "set", "keep": "shortest"}, ids="number"),
    Case({"exact_key": "text", "keep": "last"}, "csv.gz"),
    Case({"unit": "symbol", "size": 2, "threshold": 0.5}, ids="id"),
    Case(ids="id", pairs=True),
    Case({"verify": "none", "unit": "char", "threads": 2}, pairs=True),
    Case({"measure": "containment", "threshold": 0.9}, ids="id", pairs=True),
    Case(
        {"top": 1, "most": 0.95, "threshold": 0.5, "keep": "last"}, ids="id", pairs=True
    ),
    Case({"top": 2, "threshold": 0.5, "ignore_common": 0.03}, pairs=True),
    Case({"annotate": True, "measure": "containment", "groups": "components"}),
    Case({"annotate": True, "keep": "min:id", "against": True}, ids="id"),
    Case(
        {
            "format": "jsonl",
            "encoding": "latin-1",
            "column": "more.body",
            "glob": "*[1-5].data",
        },
        "jsonl_",
    ),
    Case({"on_error": "skip", "max_row_bytes": 1000}, "jsonl.gz", ids="id"),
    Case({"max_columns": 6, "output_format": "csv"}),
    Case({"keep": "max:number"}, "csv;", ids="id"),
    Case({"delimiter": "#", "on_error": "skip"}, "csv#"),
    Case({"annotate": True, "defuse_formulas": True}, "csv.gz"),
    Case({"groups": "components", "zstd_window": "256M"}, "csv.zst"),
    Case({"annotate": True, "keep": "min:id"}, "tsv", ids="number"),
    Case({"annotate": True}, "parquet", ids="id"),
    Case({"keep": "max:number"}, "parquet", ids="number"),
    Case(data="txt"),
]
MORE_CASES = [  # slow
    Case(
        {
            "kind": "set",
            "groups": "components",
            "keep": "shortest",
            "verify": "signature",
        },
        ids="number",
    ),
    Case({"kind": "set", "measure": "containment", "annotate": True, "keep": "last"}),
    Case({"kind": "set", "keep": "last"}, "csv.gz"),
    Case({"verify": "none", "unit": "char", "threads": 2}),
    Case({"keep": "last", "verify": "signature", "unit": "char", "size": 9}, ids="id"),
    Case(
        {
            "measure": "containment",
            "groups": "components",
            "unit": "stopword",
            "stop_words": ("the",),
        },
        ids="id",
    ),
    Case(
        {"threshold": 0.5, "unit": "stopword", "stop_words": "english"},
        ids="id",
        pairs=True,
    ),
    Case({"against": True, "keep": "last", "verify": "signature"}, ids="number"),
    Case({"against": True, "keep": "longest", "verify": "none"}),
    Case({"against": "texts", "keep": "longest", "verify": "none"}),
    Case({"against": "texts", "keep": "max:integer", "threshold": 0.5}, ids="id"),
    Case({"against": True}, ids="id", pairs=True),
    *(
        Case({"keep": f"min:{column}", "annotate": True})
        for column in ("integer", "string")
    ),
    *(
        Case({"keep": f"max:{column}", "groups": "components"}, ids="id")
        for column in ("integer", "float", "string")
    ),
    Case({"keep": "last", "groups": "components"}, ids="number", pairs=True),
    Case({"keep": "longest", "verify": "signature"}, ids="id", pairs=True),
    Case({"verify": "none", "bands": 20, "rows_per_band": 5}, ids="id", pairs=True),
    Case({"most": 0.9, "ignore_common": 0.1, "keep": "shortest"}, ids="id", pairs=True),
    Case({"annotate": True}),
    Case({"annotate": True, "keep": "last"}, ids="number"),
    Case(data="csv"),
    Case({"format": "tsv", "column": "text"}, "tsv"),
    Case(data="parquet"),
]
EVERY = [*CASES, *MORE_CASES]
SLOW = pytest.mark.slow
WEEKLY = pytest.mark.weekly

# Runs within a cap need many rows, so that there are several parts; they come first, since the runs
# that the others are compared with have fewer.
LOCAL = [
    Capped(),
    Resumed(20, 1 << 30),
    Memory(),
    CommandLine(),
    Stages(1, 1),
    Stages(5, 3),
]
# Each takes every eighth case of JSON Lines in the tests that are not slow.
LONG = [LOCAL[0], LOCAL[-1]]
FEW = 400  # rows

LIMITS = [
    Limits(),
    Limits(driver_records=1000),
    Limits(0, 1, 0),
    Limits(1 << 20, 1),
]
OF_SPARK = [case for case in EVERY if Spark(None, None).takes(case)]

# Options that change no answer, or that are about other outputs or kinds of items; they have tests
# of their own.
NOT_COMPARED = {
    "radius",
    "group_by",
    "item",
    "weight",
    "max_candidates",  # of vectors, weighted sets and codes; see tests/items/test_crowds.py
    "overwrite",
    "dry_run",
    "resume",
    "save_index",
    "on_duplicate",
    "clusters",
    "changes",
    "split",
    "html",
    "html_texts",
    "html_column",
}


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """Runs over files in memory: their files, and their answers."""
    made = {}

    def of(case, n):
        rows = rows_of(case, n if case.data == "jsonl" else FEW)
        if (str(case), n) not in made:
            folder = tmp_path_factory.mktemp("case")
            run = Run(
                case, rows, write_inputs(case, folder / "in", rows), folder / "out"
            )
            run.out.mkdir()
            made.clear()  # the cases come one after another
            made[str(case), n] = run, Files().run(run)
            check_size(case, made[str(case), n][1]["summary"])
        return made[str(case), n]

    return of


def check_size(case, summary):
    """Check that a case has something to compare."""
    assert summary.removed > 15
    assert summary.copies > 5
    assert (summary.rejected > 5) == ("on_error" in case.options)
    assert (summary.earlier > 5) == ("against" in case.options)
    assert summary.pairs > 10


def check(run, wanted, driver, out):
    found = driver.run(Run(run.case, run.rows, run.source, out))
    expected = plain(wanted) if driver.plain else wanted
    assert found.keys() >= {"pairs" if run.case.pairs and driver.plain else "kept"}
    for name in found:
        assert found[name] == expected[name], name


def is_slow(case, driver):
    """Return whether a case is slow in a way of running, as seven of eight of those that take long are."""
    if case in MORE_CASES or driver in (Stages(1, 1), Resumed(20, 1 << 30)):
        return True
    if case.data != "jsonl":
        return False
    if driver in LONG:
        return (EVERY.index(case) + 4 * LONG.index(driver)) % 8 != 0
    return isinstance(driver, CommandLine)


def params():
    """Return the cases with each way of running that takes them.

    Those that are slow in a way are weekly if other cases of the way have their values of all options.
    """
    chosen_cases = {}
    for driver in LOCAL:
        slow_cases = [
            case for case in EVERY if driver.takes(case) and is_slow(case, driver)
        ]
        plain_cases = [
            case for case in EVERY if driver.takes(case) and case not in slow_cases
        ]
        chosen_cases[driver] = all_values(slow_cases, plain_cases)
    for case in EVERY:
        for driver in LOCAL:
            slow = is_slow(case, driver)
            weekly = slow and case not in chosen_cases[driver]
            if driver.takes(case):
                yield pytest.param(
                    case,
                    driver,
                    id=f"{case}-{driver}",
                    marks=[SLOW] * slow + [WEEKLY] * weekly,
                )


def all_values(cases, others=()):
    """Return few of the cases, in which each value of each option occurs that all cases have and others have not.

    All numbers are one value, and so are the columns whose largest value is kept.
    """

    def values(case):
        named_values = [
            *case.options.items(),
            ("data", case.data),
            ("ids", case.ids),
            ("", case.pairs),
        ]
        return {
            (name, value.split(":")[0])
            if isinstance(value, str)
            else (name, value if isinstance(value, bool) else type(value))
            for name, value in named_values
        }

    chosen_cases = []
    missing = set().union(*map(values, cases)) - set().union(*map(values, others))
    while missing:
        chosen_cases.append(max(cases, key=lambda case: len(values(case) & missing)))
        missing -= values(chosen_cases[-1])
    return chosen_cases


def params_of_spark():
    """Return the cases that Spark takes; those whose values other cases have are weekly."""
    slow_cases = all_values(OF_SPARK)
    for case in OF_SPARK:
        yield pytest.param(
            case, id=str(case), marks=[WEEKLY] * (case not in slow_cases)
        )


@pytest.mark.some_cases
@pytest.mark.parametrize(("case", "driver"), list(params()))
def test_the_answer_is_that_of_a_run_in_memory(
    tmp_path, small_parts, reference, case, driver
):
    run, wanted = reference(case, MANY if isinstance(driver, Capped) else FEW)
    check(run, wanted, driver, tmp_path)


@pytest.mark.some_cases
@pytest.mark.parametrize("case", list(params_of_spark()))
def test_the_answer_of_spark_is_that_of_a_run_in_memory(
    tmp_path, spark, reference, case
):
    run, wanted = reference(case, FEW)
    check(
        run, wanted, Spark(spark, LIMITS[OF_SPARK.index(case) % len(LIMITS)]), tmp_path
    )


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("normalize", ["NFC", "NFKC"])
@pytest.mark.parametrize("verb", ["dedup", "pairs"])
def test_texts_in_several_forms(tmp_path, small_parts, normalize, verb):
    """Each row is in one form; the answers are those of a run in memory, which finds copies across forms."""
    records = [
        {
            "id": f"é{number:03}",
            "number": number,
            "text": unicodedata.normalize(
                ("NFC", "NFD", "NFKD")[number % 3],
                " ".join(f"é{number // 4}ự{word}ﬁ" for word in range(60)),
            ),
        }
        for number in range(120)
    ]
    case = Case({"normalize": normalize}, ids="id", pairs=verb == "pairs")
    run = Run(
        case, records, write_inputs(case, tmp_path / "in", records), tmp_path / "out"
    )
    run.out.mkdir()
    wanted = Files().run(run)
    assert wanted["summary"].groups == {"NFC": 40, "NFKC": 30}[normalize]
    for driver in (Memory(), Capped(), Resumed(5, 2000), Stages(3, 4)):
        (tmp_path / str(driver)).mkdir()
        check(run, wanted, driver, tmp_path / str(driver))


# Copies of bytes, of words and of normal forms, chains of texts that differ in some words, texts
# without words, and values to choose by, or that are keys.
STYLES = [str, str.upper, "{}!".format, partial(unicodedata.normalize, "NFD")]
SMALL_ROWS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 12),
        st.sampled_from(STYLES),
        st.integers(-2, 2),
    ),
    max_size=40,
)
SMALL_OPTIONS = st.fixed_dictionaries(
    {
        "threshold": st.just(0.6),
        "groups": st.sampled_from(["star", "components"]),
        "keep": st.sampled_from(
            [
                "first",
                "last",
                "longest",
                "shortest",
                "max:number",
                "min:string",
                "max:float",
            ]
        ),
        "verify": st.sampled_from(["exact", "signature", "none"]),
    },
    optional={
        "annotate": st.just(True),
        "by": st.sampled_from(["string", "number"]),
        "top": st.integers(1, 3),
        "ignore_common": st.sampled_from([0.2, 0.6]),
        "normalize": st.sampled_from(["NFC", "NFKC"]),
        "exact_key": st.sampled_from(["string", "url:string", "float"]),
        "against": st.just("texts"),
    },
)


@SLOW
@pytest.mark.filterwarnings("ignore::lshfast.MixedFormsWarning")
@settings(max_examples=50)
@given(
    SMALL_ROWS,
    SMALL_OPTIONS,
    st.sampled_from([None, "id", "number"]),
    st.booleans(),
    st.data(),
)
def test_small_corpora(tmp_path_factory, rows, options, ids, pairs, data):
    """Also with files without rows."""
    folder = tmp_path_factory.mktemp("case")
    records = [
        {
            "id": f"é{i:02}",
            "number": -i,
            "text": style(
                " ".join(
                    f"ŵ{kind}.{word if word < 30 - cut else word + kind * 100}"
                    for word in range(30)
                )
            )
            if kind
            else data.draw(st.sampled_from([None, ""])),
            "float": float(value),
            "string": str(value),
        }
        for i, (kind, cut, style, value) in enumerate(rows)
    ]
    refused = set() if pairs else {"top"}
    if "against" in options:
        options = options | {"groups": "star"}
        refused.add("ignore_common")
    case = Case(
        {name: options[name] for name in options if name not in refused},
        ids=ids,
        pairs=pairs,
    )
    run = Run(case, records, write_inputs(case, folder / "in", records), folder / "out")
    run.out.mkdir()
    wanted = Files().run(run)
    stages = Stages(data.draw(st.integers(1, 7)), data.draw(st.integers(1, 5)))
    resumed = Resumed(
        data.draw(st.integers(1, 12)), data.draw(st.sampled_from([1, 2000, 1 << 30]))
    )
    with little_costs():
        for driver in (Memory(), Capped(), resumed, stages):
            if driver.takes(case):
                (folder / str(driver)).mkdir()
                check(run, wanted, driver, folder / str(driver))


# Values with which an option is refused, if there is no case that has it.
VALUES = {"html": "page.html", "html_texts": True, "html_column": "id", "radius": 1.0, "group_by": "id", "item": "text",
    "weight": "number",
    "pairs": "pairs.csv", "removed": "removed.csv", "id_column": "id", "split": "paragraph", "save_index": "index.lsh",
    "clusters": "groups.parquet", "changes": "changes.csv",
    "on_duplicate": "skip", "memory": "1G", "work": "work", "resume": True, "overwrite": True, "dry_run": True,
    "glob": "*", "against": "index.lsh", "max_candidates": 1000,
}  # fmt: skip
COMMANDS = {
    "files": ["dedup", "-o", "kept.jsonl"],
    "cap": ["dedup", "-o", "kept.jsonl", "--memory", "1G"],
    "stages": ["stage", "plan", "--work", "work", "-o", "kept"],
    "spark": ["dedup", "-o", "kept.jsonl", "--engine", "spark", "--id-column", "id"],
}


def value_of(name):
    """Return a value of an option that is not its default."""
    return VALUES.get(name) or next(
        case.options[name] for case in EVERY if name in case.options
    )


@pytest.mark.parametrize(
    ("driver", "name"),
    [
        (driver, name)
        for driver in NAMES
        for name, option in OPTIONS.items()
        if (driver not in option.drivers or driver in option.off_only)
        and (driver, name) != ("files", "memory")  # with it, there is a cap
    ],
)
def test_other_options_are_refused_by_name(tmp_path, monkeypatch, driver, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"id": 1, "text": "a b c d e f"}\n')
    value = value_of(name)
    if driver == "memory":
        with pytest.raises(TypeError, match=f"'{name}': .* takes it"):
            lshfast.dedup(["a"], **{name: value})
    else:
        shown = OPTIONS[name].shown
        said = failing(
            2, *COMMANDS[driver], "in.jsonl", shown, *([] if value is True else [value])
        )
        assert re.search(rf"\b({name}|{shown[2:]})\b", said)
        if driver == "files" or (driver, name) == ("cap", "changes"):
            return  # the message names the option that is missing
        reason = OPTIONS[name].without[driver]
        assert reason in said
        if driver == "stages" and name not in ("exact", "html_texts"):
            with pytest.raises(TypeError, match=f"'{name}': {re.escape(reason)}$"):
                lshfast.stages.plan("in.jsonl", "work", "kept", **{name: value})
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("driver", [Files(), *LOCAL, Spark(None, None)], ids=str)
def test_each_option_is_in_a_case_of_each_way_of_running_that_takes_it(driver):
    compared = driver.given.union(*(case.names for case in EVERY if driver.takes(case)))
    assert set(taken_by(driver.name)) - NOT_COMPARED <= compared


ERRORS = [
    (
        {"id_column": "id"},
        {"id": ["a", "b", "c", "d", "b", "f"]},
        "id 'b' is taken by .*",
    ),
    ({"id_column": "id"}, {"id": [1, 2, 3, 4, 5, 1]}, "id 1 is taken by .*"),
    (
        {"id_column": "id"},
        {"id": ["a", "b", "c", 4, 5, 6]},
        "id 4 is a number, the ids before it are not",
    ),
    ({"keep": "max:value"}, {"value": [1, 2, 3, "a"]}, "order column 'value' .*"),
    ({"keep": "max:value"}, {"value": ["a", "b", 1.5, 2]}, "order column 'value' .*"),
    (
        {"keep": "max:value"},
        {"value": ["a", "b", "c", None]},
        "order column 'value' .*",
    ),
    ({"keep": "max:value"}, {"value": [1, 2, [], 4]}, "order column 'value' .*"),
    ({"keep": "max:value"}, {"value": [0, 1, 2, "x" * 99]}, "order column 'value' .*"),
    (
        {"annotate": True},
        {"similarity": [..., 1]},
        "there is a column 'similarity' already.*",
    ),
    *(
        ({"keep": keep}, {"value": [1]}, "keep must be .*")
        for keep in ("longer", "max", "max:", "first:a", "Max:a")
    ),
]


@pytest.mark.few_cases
@pytest.mark.parametrize("driver", [Capped(), Stages(7, 2)], ids=str)
@pytest.mark.parametrize(("options", "columns", "reason"), ERRORS)
def test_errors_are_those_of_a_run_in_memory(
    tmp_path, small_parts, driver, options, columns, reason
):
    ((name, values),) = columns.items()
    rows = [
        {"text": f"text {i}"} | ({} if value is ... else {name: value})
        for i, value in enumerate(values)
    ]
    source = write_inputs(Case(), tmp_path / "in", rows)
    with pytest.raises(ValueError, match=rf"^(.*: )?{reason}$") as wanted:
        Files().run(Run(Case(options), rows, source, tmp_path))
    with pytest.raises(type(wanted.value), match=f"^{re.escape(str(wanted.value))}$"):
        driver.run(Run(Case(options), rows, source, tmp_path))
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []
