"""The row with the greatest or least value of a column is kept, as by `dedup_files`."""

import pytest

from lshfast import DataError, FormatError, stages
from lshfast.stages.sketching import OF_ORDERS
from lshfast.stages.stage_plan import read_stage_plan
from tests.stages.runs import (
    in_memory,
    in_stages,
    rewritten,
    run_all,
    write_files,
)


def test_parquet(tmp_path):
    """Dates are compared as strings; the integers of one shard and the doubles of another as doubles."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "in").mkdir()
    parts = [[(1 << 53) + 1, 5], [float(1 << 53), 5.5]]
    for number, values in enumerate(parts):
        dates = pa.array([18000 + number, 17000 + number], pa.int32()).cast(pa.date32())
        table = pa.table(
            {
                "text": ["a b c d e f", "g h i j k l"],
                "value": pa.array(values),
                "date": dates,
            }
        )
        pq.write_table(table, tmp_path / "in" / f"{number}.parquet")
    for column, wanted in (("value", ["0", "1"]), ("date", ["1", "1"])):
        work, removed = tmp_path / f"work-{column}", tmp_path / f"removed-{column}"
        stages.plan(
            tmp_path / "in",
            work,
            tmp_path / f"kept-{column}",
            removed=removed,
            keep=f"max:{column}",
            shards=2,
        )
        run_all(work)
        tables = [pq.read_table(path).to_pylist() for path in sorted(removed.iterdir())]
        found = sorted(
            (row["key"][-1], row["kept_key"]) for table in tables for row in table
        )
        assert [kept.split("/")[-1][0] for _, kept in found] == wanted


def test_csv(tmp_path):
    """The first value of a shard tells what its values are; so strings before numbers of another shard are an error."""
    for number, values in enumerate([("10", "9"), ("a", "9"), ("10", "b")]):
        (tmp_path / f"{number}.csv").write_text(
            "text,value\n" + "".join(f"a b c d e f,{value}\n" for value in values)
        )
    stages.plan(tmp_path / "0.csv", tmp_path / "w0", tmp_path / "k0", keep="max:value")
    run_all(tmp_path / "w0")
    assert (tmp_path / "k0" / "00000.csv").read_text() == "text,value\na b c d e f,10\n"
    for name, others, reason in (
        (
            "w1",
            (0, 1),
            "1.csv:2: order column 'value' holds 'a', a string, but those before it are not",
        ),
        (
            "w2",
            (2, 0),
            "2.csv:3: order column 'value' holds 'b', a string, but those before it are not",
        ),
        (
            "w3",
            (1, 0),
            "0.csv:2: order column 'value' holds 10, a number, but those before it are not",
        ),
    ):
        inputs = [tmp_path / f"{number}.csv" for number in others]
        stages.plan(
            inputs, tmp_path / name, tmp_path / f"k{name}", keep="max:value", shards=2
        )
        with pytest.raises(DataError, match=reason):
            run_all(tmp_path / name)


def test_long_values_with_equal_beginnings(tmp_path):
    """Values of a megabyte are compared at once, not 32 bytes at a time."""
    beginning = "é" * (1 << 19)
    endings = ["b", "a", "b", "b", "ab", "a"]
    rows = [
        {
            "text": "a b c d e f",
            "value": beginning[: 1 + (1 << 19) * (place % 3 > 0)] + ending,
        }
        for place, ending in enumerate(2 * endings)
    ]
    source = write_files(tmp_path / "in", rows, 3)
    options = {"keep": "min:value"}
    wanted = in_memory(tmp_path, source, **options)
    assert in_stages(tmp_path, source, shards=3, tasks=1, **options) == wanted


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda part: part["values"].__setitem__(0, 0x80),
            "its order values are damaged",
        ),
        (
            lambda part: part["orders"].__setitem__(0, 2**64 - 1),
            "its order values have other lengths",
        ),
        (
            lambda part: part["orders"].__setitem__(0, 1),
            "its order values have other lengths",
        ),
        (
            lambda part: part.update(orders=part["orders"][1:]),
            "it has not one order value for each row",
        ),
    ],
)
def test_strings_that_nobody_wrote(tmp_path, change, reason):
    rows = [{"text": "a b c d e f", "value": f"é{i}"} for i in range(9)]
    work = tmp_path / "work"
    stages.plan(
        write_files(tmp_path / "in", rows, 1), work, tmp_path / "kept", keep="max:value"
    )
    for stage in ("sketch", "band", "join"):
        stages.run(work, stage)

    def damage(ranges):
        (part,) = (part for number, part in ranges if number == OF_ORDERS)
        change(part)

    rewritten(read_stage_plan(str(work)), "sketch", damage)
    with pytest.raises(FormatError, match=f"sketch-00000.data: {reason}"):
        stages.run(work, "group")
