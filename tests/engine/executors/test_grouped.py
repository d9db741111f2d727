"""Sets that are spread over rows, by --group-by and --item."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from tests.cli.commands import failing, run


def purchases(customers=60):
    """Return rows (customer, product, number): the customers from 40 on buy what earlier ones bought, without one."""
    rng = np.random.default_rng(1)
    sets = [rng.choice(500, 12, replace=False).tolist() for _ in range(40)]
    sets += [sets[number][1:] for number in range(customers - 40)]
    rows = [
        (f"c{number}", product, place)
        for number, own in enumerate(sets)
        for place, product in enumerate(own)
    ]
    return [rows[place] for place in rng.permutation(len(rows)).tolist()], sets


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "product", "number"])
        writer.writerows(rows)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_groups_are_kept_or_removed_as_a_whole(tmp_path, suffix):
    rows, sets = purchases()
    source, kept, removed = (
        tmp_path / f"{name}.{suffix}" for name in ("in", "kept", "removed")
    )
    if suffix == "csv":
        write_csv(source, rows)
    else:
        pq.write_table(
            pa.table(
                dict(
                    zip(
                        ("customer", "product", "number"),
                        zip(*rows, strict=True),
                        strict=True,
                    )
                )
            ),
            source,
        )
    result = lshfast.dedup_files(
        source,
        kept,
        group_by="customer",
        item="product",
        threshold=0.9,
        exact=True,
        removed=removed,
        pairs=tmp_path / "pairs.csv",
    )
    order = list(dict.fromkeys(customer for customer, _, _ in rows))
    wanted = lshfast.dedup(
        [set(map(str, sets[int(name[1:])])) for name in order],
        keys=order,
        threshold=0.9,
        exact=True,
    )
    assert result.removed == wanted.removed
    assert len(result.removed) == 20
    assert {removal.similarity for removal in result.removed} == {11 / 12}
    gone = {removal.key for removal in result.removed}
    left = [row for row in rows if row[0] not in gone]
    if suffix == "csv":
        assert kept.read_text().splitlines()[1:] == [
            ",".join(map(str, row)) for row in left
        ]
        assert removed.read_text().splitlines()[0] == "key,kept_key,similarity"
    else:
        assert [tuple(row.values()) for row in pq.read_table(kept).to_pylist()] == left
        assert pq.read_table(removed)["key"].to_pylist() == [
            removal.key for removal in result.removed
        ]
    assert len((tmp_path / "pairs.csv").read_text().splitlines()) == 1 + 20
    last = lshfast.dedup_files(
        source,
        group_by="customer",
        item="product",
        threshold=0.9,
        exact=True,
        keep="longest",
    )
    assert {removal.kept_key for removal in last.removed} == {
        f"c{number}" for number in range(20)
    }


def counted(tmp_path, suffix, weights=lambda n: n):
    """Write rows (customer, product, number), in which some products are in several rows, and return the sets."""
    rows, _ = purchases()
    rng = np.random.default_rng(2)
    rows = [
        (customer, product, weights(int(rng.integers(1, 4))))
        for customer, product, _ in [*rows, *rows[::3]]
    ]
    sets = {}
    for customer, product, number in rows:
        own = sets.setdefault(customer, {})
        own[str(product)] = own.get(str(product), 0) + (
            0 if isinstance(number, str) else number
        )
    source = tmp_path / f"in.{suffix}"
    if suffix == "csv":
        write_csv(source, rows)
    elif suffix == "jsonl":
        names = ("customer", "product", "number")
        source.write_text(
            "".join(
                json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows
            )
        )
    else:
        names = ("customer", "product", "number")
        pq.write_table(
            pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), source
        )
    return source, sets


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("groups", ["star", "components"])
def test_items_with_weights_are_weighted_sets(tmp_path, suffix, groups):
    source, sets = counted(
        tmp_path, suffix, lambda n: n if suffix != "jsonl" else n / 2
    )
    options = {"threshold": 0.5, "exact": True, "keep": "longest", "groups": groups}
    removed, pairs = tmp_path / "gone.jsonl", tmp_path / "pairs.jsonl"
    result = lshfast.dedup_files(
        source, tmp_path / f"kept.{suffix}", group_by="customer", item="product", weight="number", removed=removed,
        pairs=pairs, **options,
    )  # fmt: skip
    wanted = lshfast.dedup(list(sets.values()), keys=list(sets), **options)
    assert result.removed == wanted.removed
    assert len(result.removed) > 10
    rows = [json.loads(line) for line in removed.read_text().splitlines()]
    assert [(row["key"], row["kept_key"], row["similarity"]) for row in rows] == [
        tuple(row) for row in wanted.removed
    ]
    found = lshfast.pairs(list(sets.values()), threshold=0.5, exact=True)
    names = list(sets)
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert [(row["key_i"], row["key_j"], row["similarity"]) for row in rows] == [
        (names[i], names[j], value) for i, j, value in found.tolist()
    ]
    assert result.summary.read == len(sets)


@pytest.mark.one_case
@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "1e300", "much", ""])
def test_bad_weights_of_items(tmp_path, bad):
    source, _ = counted(tmp_path, "csv", lambda n: bad if n == 3 else n)
    options = {"group_by": "customer", "item": "product", "weight": "number"}
    allowed = "must be (a number|above 0 and at most 1e.290), not"
    with pytest.raises(
        lshfast.DataError, match=rf"in\.csv:\d+: weight column 'number' {allowed}"
    ):
        lshfast.dedup_files(source, tmp_path / "kept.csv", **options)
    assert not (tmp_path / "kept.csv").exists()
    result = lshfast.dedup_files(
        source, tmp_path / "kept.csv", on_error="skip", **options
    )
    kept = (tmp_path / "kept.csv").read_text().splitlines()[1:]
    assert kept
    assert all(line.rsplit(",", 1)[1] in ("1", "2") for line in kept)
    assert len(result) <= 60


def test_a_row_without_an_item_is_bad(tmp_path):
    (tmp_path / "in.jsonl").write_text(
        '{"g": 1, "i": "a"}\n{"g": 1, "i": null}\n{"g": 2, "i": ["a"]}\n{"g": 2, "i": 5}\n'
    )
    options = {"group_by": "g", "item": "i"}
    with pytest.raises(lshfast.DataError, match=r"in\.jsonl:2: the item is missing"):
        lshfast.dedup_files(tmp_path / "in.jsonl", **options)
    result = lshfast.dedup_files(
        tmp_path / "in.jsonl", tmp_path / "kept.jsonl", on_error="skip", **options
    )
    assert len(result) == 2
    assert len((tmp_path / "kept.jsonl.rejects.jsonl").read_text().splitlines()) == 2


def test_what_a_run_over_groups_refuses(tmp_path):
    write_csv(tmp_path / "in.csv", purchases()[0])
    command = ["dedup", tmp_path / "in.csv", "-o", tmp_path / "kept.csv"]
    groups = ["--group-by", "customer", "--item", "product"]
    assert "item" in failing(2, *command, "--group-by", "customer")
    assert "group_by" in failing(2, *command, "--weight", "number")
    assert "memory" in failing(
        2, *command, *groups, "--weight", "number", "--memory", "1G"
    )
    assert "group_by" in failing(2, *command, "--item", "product")
    assert "kind" in failing(2, *command, *groups, "--as", "vector")
    for option in (["--annotate"], ["--id-column", "number"], ["--by", "number"], ["--html", tmp_path / "page.html"],
                   ["--memory", "1G"], ["--save-index", tmp_path / "x.lsh"], ["--keep", "max:number"]):  # fmt: skip
        said = failing(2, *command, *groups, *option)
        assert option[0][2:].split("-")[0] in said.replace("_", "-")
    assert "no column 'nothing'" in failing(
        1, *command, "--group-by", "customer", "--item", "nothing"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
    assert run(*command, *groups).exit_code == 0


def test_limits_hold_for_groups(tmp_path):
    write_csv(tmp_path / "in.csv", purchases()[0])
    options = {
        "group_by": "customer",
        "item": "product",
        "threshold": 0.9,
        "exact": True,
    }
    with pytest.raises(lshfast._common.errors.TooManyRemovedError):
        lshfast.dedup_files(
            tmp_path / "in.csv", tmp_path / "kept.csv", max_removed=0.3, **options
        )
    assert not (tmp_path / "kept.csv").exists()
    assert (
        lshfast.dedup_files(
            tmp_path / "in.csv", max_removed=0.34, **options
        ).summary.removed
        == 20
    )
