"""Vectors, codes and sets: the same answer from memory, from files of each format and from the command line.

A brute-force reference compares all rows with all others.
"""

import csv
import json
import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from lshfast import dedup_files
from lshfast._engine.inputs import Inputs
from lshfast._io import DataError
from tests.cli.commands import failing, read_jsonl, run, write_jsonl

N = 60
BOUNDS = {
    "cosine": {"threshold": 0.9},
    "angle": {"radius": 0.4},
    "euclidean": {"radius": 1.5},
    "manhattan": {"radius": 3.0},
    "hamming": {"radius": 9},
    "jaccard": {"threshold": 0.5},
    "weighted": {"threshold": 0.5},  # jaccard, of weighted sets
}
FORMATS = ["parquet", "arrow", "jsonl", "csv"]


# ---- the rows ----


def items_of(kind):
    """Return rows with copies, chains of similar ones, and one that is missing."""
    rng = np.random.default_rng(5)
    if kind == "vector":
        rows = np.repeat(
            rng.standard_normal((N // 6, 6)), 6, axis=0
        ) + 0.25 * rng.standard_normal((N, 6))
        rows = rows.astype(np.float32).tolist()
    elif kind == "code":
        codes = np.repeat(rng.integers(0, 2**64, N // 6, np.uint64), 6)
        rows = [
            f"{code ^ sum(1 << bit for bit in rng.choice(64, 4).tolist()):016x}"
            for code in codes.tolist()
        ]
    elif kind == "weighted":
        sizes = [
            [f"w{group}.{part}" for part in rng.choice(8, 7, replace=False).tolist()]
            for group in np.arange(N) // 6
        ]
        rows = [{element: float(weight) for element, weight in zip(own, rng.choice([0.3, 0.5, 0.7, 1], 7), strict=True)}
                for own in sizes]  # fmt: skip
    else:
        rows = [
            sorted({f"w{group}.{part}" for part in rng.choice(9, 7).tolist()})
            for group in np.arange(N) // 6
        ]
    for row in (9, 23, 44):
        rows[row] = rows[row - 5]
    rows[17] = None
    return rows


def kind_for(measure):
    return {"hamming": "code", "jaccard": "set", "weighted": "weighted"}.get(
        measure, "vector"
    )


def name_of(measure):
    """Return the name of a measure in options."""
    return "jaccard" if measure == "weighted" else measure


def write(path, items, kind, bad=None):
    """Write items as rows with id, number and source; `bad` is the value of a further row."""
    values = [*items, *([] if bad is None else [bad])]
    rows = [
        {"id": f"r{i}", "item": item, "number": i * 7 % 11, "source": "ab"[i % 2]}
        for i, item in enumerate(values)
    ]
    if path.suffix == ".jsonl":
        return write_jsonl(path, rows)
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            for row in rows:
                cell = "" if row["item"] is None else row["item"]
                table.writerow(
                    row | {"item": cell if isinstance(cell, str) else json.dumps(cell)}
                )
        return path
    types = {
        "vector": pa.list_(pa.float32()),
        "set": pa.list_(pa.string()),
        "code": pa.string(),
    }
    types["weighted"] = pa.map_(pa.string(), pa.float64())
    values = [
        list(value.items()) if isinstance(value, dict) else value for value in values
    ]
    table = pa.table(
        {name: [row[name] for row in rows] for name in ("id", "number", "source")}
    )
    table = table.append_column("item", pa.array(values, types[kind]))
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=13)
    else:
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table, max_chunksize=17)
    return path


# ---- the reference ----


def values_of(items, measure):
    """Return the similarities or distances of all pairs, NaN where a row is missing."""
    found = np.full((N, N), np.nan)
    for i, a in enumerate(items):
        for j, b in enumerate(items):
            if a is not None and b is not None:
                found[i, j] = value_of(a, b, measure)
    return found


def value_of(a, b, measure):
    if measure == "jaccard":
        return len({*a} & {*b}) / len({*a} | {*b})
    if measure == "weighted":
        both = [(a.get(element, 0), b.get(element, 0)) for element in {*a, *b}]
        return math.fsum(map(min, both)) / math.fsum(map(max, both))
    if measure == "hamming":
        return bin(int(a, 16) ^ int(b, 16)).count("1")
    x, y = np.array(a, np.float64), np.array(b, np.float64)
    if measure in ("cosine", "angle"):
        cosine = x @ y / np.sqrt((x @ x) * (y @ y))
        return cosine if measure == "cosine" else np.arccos(np.clip(cosine, -1, 1))
    return (
        np.abs(x - y).sum() if measure == "manhattan" else np.sqrt(((x - y) ** 2).sum())
    )


def similar(values, measure):
    bound = next(iter(BOUNDS[measure].values()))
    with np.errstate(invalid="ignore"):
        return (
            values >= bound - 1e-12
            if measure in ("cosine", "jaccard", "weighted")
            else values <= bound + 1e-12
        )


def keepers(near, order, groups):
    """Return the row that is kept in place of each row."""
    keeper = list(range(N))
    if groups == "star":
        kept = []
        for row in order:
            keeper[row] = next((other for other in kept if near[row, other]), row)
            if keeper[row] == row:
                kept.append(row)
        return keeper
    seen = set()
    for row in order:
        reached = [row] if row not in seen else []
        for member in reached:
            seen.add(member)
            keeper[member] = row
            reached += [
                other
                for other in np.flatnonzero(near[member]).tolist()
                if other not in {*seen, *reached}
            ]
    return keeper


def order_of(keep):
    if isinstance(keep, str) and ":" in keep:
        sign = -1 if keep.startswith("max") else 1
        return sorted(range(N), key=lambda row: (sign * (row * 7 % 11), row))
    return list(range(N)) if keep == "first" else list(range(N - 1, -1, -1))


def expected(items, measure, keep="first", groups="star"):
    values = values_of(items, measure)
    keeper = keepers(similar(values, measure), order_of(keep), groups)
    return {
        f"r{row}": (f"r{other}", values[row, other])
        for row, other in enumerate(keeper)
        if other != row
    }


def check(found, right):
    assert {key: kept for key, (kept, _) in found.items()} == {
        key: kept for key, (kept, _) in right.items()
    }
    assert [found[key][1] for key in right] == pytest.approx(
        [value for _, value in right.values()], abs=1e-6
    )


def removals(result):
    return {key: (kept, value) for key, kept, value in result.removed}


# ---- the same answer ----


@pytest.mark.few_cases
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("groups", ["star", "components"])
@pytest.mark.parametrize("keep", ["first", "last", "max:number", "min:number"])
@pytest.mark.parametrize("measure", BOUNDS)
def test_each_way_gives_the_answer_of_the_reference(
    measure, keep, groups, format, tmp_path
):
    kind = kind_for(measure)
    items = items_of(kind)
    source = write(tmp_path / f"in.{format}", items, kind)
    options = dict(
        measure=name_of(measure), groups=groups, exact=True, **BOUNDS[measure]
    )
    right = expected(items, measure, keep, groups)
    assert 10 < len(right) < N - 5

    values = [row * 7 % 11 * (1 if keep.startswith("max") else -1) for row in range(N)]
    given = [[] if item is None else item for item in items] if kind == "set" else items
    result = lshfast.dedup(
        given,
        kind=kind,
        keep=values if ":" in keep else keep,
        keys=[f"r{i}" for i in range(N)],
        **options,
    )
    check(removals(result), right)
    assert result.summary.empty == 1
    assert result.summary.kept == N - len(right)

    output = tmp_path / f"out.{format.replace('arrow', 'parquet')}"
    removed = tmp_path / "gone.jsonl"
    pairs = "p.jsonl"
    files = dedup_files(
        source, output, column="item", id_column="id", kind=kind, keep=keep, removed=removed, pairs=tmp_path / pairs,
        by="source", max_removed=1.0, **options,
    )  # fmt: skip
    check(removals(files), right)
    name = "distance" if "radius" in BOUNDS[measure] else "similarity"
    rows = read_jsonl(removed)
    check({row["key"]: (row["kept_key"], row[name]) for row in rows}, right)
    assert {count.value: count.read for count in files.summary.by.values} == {
        "a": N // 2,
        "b": N // 2,
    }
    written = [row["id"] for row in read_rows(output)]
    assert written == [f"r{i}" for i in range(N) if f"r{i}" not in right]

    flags = [f"--{option}={value}" for option, value in BOUNDS[measure].items()]
    common = [
        "--column",
        "item",
        "--id-column",
        "id",
        "--as",
        kind,
        "--measure",
        name_of(measure),
    ]
    common += ["--exact", *flags]
    again = tmp_path / "again.jsonl"
    found = run(
        "dedup",
        source,
        "-o",
        tmp_path / "cli.jsonl",
        "--removed",
        again,
        *common,
        "--keep",
        keep,
        "--groups",
        groups,
    )
    assert found.exit_code == 0, found.output
    assert again.read_bytes() == removed.read_bytes()


def read_rows(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return read_jsonl(path)
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("measure", BOUNDS)
def test_pairs_are_those_of_the_reference(measure):
    kind = kind_for(measure)
    items = items_of(kind)
    given = [[] if item is None else item for item in items] if kind == "set" else items
    values = values_of(items, measure)
    near = similar(values, measure)
    right = {
        (i, j): values[i, j] for i in range(N) for j in range(i + 1, N) if near[i, j]
    }
    name = "distance" if "radius" in BOUNDS[measure] else "similarity"

    def found(**options):
        pairs = lshfast.pairs(
            given,
            kind=kind,
            measure=name_of(measure),
            exact=True,
            **BOUNDS[measure] | options,
        )
        return {
            (i, j): value
            for i, j, value in zip(pairs["i"], pairs["j"], pairs[name], strict=True)
        }

    every = found(copies="all")
    assert every == pytest.approx(right, abs=1e-6)
    sign = 1 if name == "distance" else -1
    copies = {(i, j) for i, j in right if items[i] == items[j]}
    firsts = [row for row in range(N) if items[row] not in items[:row]]
    best = set()
    for row in firsts:
        others = [pair for pair in right if row in pair and {*pair} <= {*firsts}]
        best |= {
            *sorted(
                others, key=lambda pair: (sign * round(right[pair], 9), sum(pair) - row)
            )[:2]
        }
    assert {pair for pair in found(top=2) if pair not in copies} == best
    if name == "similarity":
        assert found(copies="all", most=0.95) == pytest.approx(
            {pair: value for pair, value in right.items() if value <= 0.95}, abs=1e-6
        )


@pytest.mark.parametrize("format", FORMATS)
def test_annotated_rows(format, tmp_path):
    items = items_of("vector")
    source = write(tmp_path / f"in.{format}", items, "vector")
    output = tmp_path / "out.jsonl"
    dedup_files(
        source, output, column="item", id_column="id", kind="vector", exact=True, annotate=True, output_format="jsonl",
        threshold=0.9,
    )  # fmt: skip
    rows = read_jsonl(output)
    assert len(rows) == N
    check(
        {
            row["id"]: (row["duplicate_of"], row["similarity"])
            for row in rows
            if row["duplicate_of"]
        },
        expected(items, "cosine"),
    )
    assert {"id", "number", "source", "duplicate_of", "similarity"} <= set(rows[0])


@pytest.mark.parametrize(
    ("kind", "bad"), [("vector", [0.5, 1.0]), ("code", "zz"), ("code", "0f")]
)
@pytest.mark.parametrize("format", FORMATS)
def test_bad_rows_are_rejected(kind, bad, format, tmp_path):
    items = items_of(kind)
    measure = "cosine" if kind == "vector" else "hamming"
    source = write(tmp_path / f"in.{format}", items, kind, bad)
    output = tmp_path / "out.jsonl"
    options = dict(
        column="item",
        id_column="id",
        kind=kind,
        exact=True,
        output_format="jsonl",
        **BOUNDS[measure],
    )
    with pytest.raises(DataError, match=rf"in\.{format}.*(vector|code|rows before)"):
        dedup_files(source, output, **options)
    assert not output.exists()
    result = dedup_files(source, output, on_error="skip", **options)
    assert (result.summary.read, result.summary.rejected) == (N + 1, 1)
    check(removals(result), expected(items, measure))
    assert len(read_jsonl(tmp_path / "out.jsonl.rejects.jsonl")) == 1


@pytest.mark.parametrize("bad", [["a", 1], [["a"]], 5, {"a": 1}])
def test_bad_sets_are_rejected(bad, tmp_path):
    items = items_of("set")
    source = write(tmp_path / "in.jsonl", items, "set", bad)
    output = tmp_path / "out.jsonl"
    options = dict(column="item", id_column="id", kind="set", **BOUNDS["jaccard"])
    with pytest.raises(DataError, match=r"in\.jsonl.*not a list"):
        dedup_files(source, output, **options)
    result = dedup_files(source, output, on_error="skip", **options)
    assert (result.summary.read, result.summary.rejected) == (N + 1, 1)
    check(removals(result), expected(items, "jaccard"))


BAD_WEIGHTS = [
    (
        {"red": 2, "blue": 0},
        "the weight of 'blue' must be above 0 and at most 1e+290, not 0: leave out an element",
    ),
    ({"red": -1.5}, "the weight of 'red' must be above 0 and at most 1e+290, not -1.5"),
    (
        {"red": 1e300},
        "the weight of 'red' must be above 0 and at most 1e+290, not 1e+300",
    ),
    (
        {"red": float("nan")},
        "the weight of 'red' must be above 0 and at most 1e+290, not nan",
    ),
    (
        {"red": float("inf")},
        "the weight of 'red' must be above 0 and at most 1e+290, not inf",
    ),
    ({"red": None}, "the weight of 'red' must be a number, not None"),
]


@pytest.mark.few_cases
@pytest.mark.parametrize(("bad", "reason"), BAD_WEIGHTS)
@pytest.mark.parametrize("format", FORMATS)
def test_bad_weights_are_rejected(bad, reason, format, tmp_path):
    items = items_of("weighted")
    source = write(tmp_path / f"in.{format}", items, "weighted", bad)
    output = tmp_path / "out.jsonl"
    options = dict(
        column="item",
        id_column="id",
        kind="set",
        exact=True,
        output_format="jsonl",
        threshold=0.5,
    )
    with pytest.raises(DataError, match=rf"in\.{format}.*{re.escape(reason)}"):
        dedup_files(source, output, **options)
    assert not output.exists()
    result = dedup_files(source, output, on_error="skip", **options)
    assert (result.summary.read, result.summary.rejected) == (N + 1, 1)
    check(removals(result), expected(items, "weighted"))
    (line,) = read_jsonl(tmp_path / "out.jsonl.rejects.jsonl")
    assert reason in line["reason"]


@pytest.mark.few_cases
@pytest.mark.parametrize("kind", ["set", "weighted", "vector", "code"])
@pytest.mark.parametrize("format", FORMATS)
def test_a_run_within_a_cap_of_memory_writes_the_same_bytes(kind, format, tmp_path):
    source = write(tmp_path / f"in.{format}", items_of(kind), kind)
    bound = {"radius": 9} if kind == "code" else {"threshold": 0.5}
    for name, more in (
        ("held", {}),
        ("capped", {"memory": "1G", "work": tmp_path / "work"}),
    ):
        dedup_files(
            source, tmp_path / f"{name}.jsonl", column="item", id_column="id", kind=kind, keep="max:number",
            removed=tmp_path / f"{name}.csv", pairs=tmp_path / f"{name}.tsv", output_format="jsonl", **bound, **more,
        )  # fmt: skip
    assert not (tmp_path / "work").exists()
    for suffix in ("jsonl", "csv", "tsv"):
        held = (tmp_path / f"held.{suffix}").read_bytes()
        assert held == (tmp_path / f"capped.{suffix}").read_bytes()
        assert len(held.splitlines()) > 5


@pytest.mark.parametrize("kind", ["set", "weighted"])
def test_sets_from_standard_input(kind, tmp_path):
    source = write(tmp_path / "in.csv", items_of(kind), kind)
    options = [
        "--format",
        "csv",
        "--column",
        "item",
        "--id-column",
        "id",
        "--as",
        "set",
        "--threshold",
        0.5,
        "--exact",
    ]
    for name, given in (("piped", "-"), ("file", source)):
        data = source.read_bytes() if given == "-" else None
        done = run("dedup", given, "-o", tmp_path / f"{name}.csv", *options, input=data)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "piped.csv").read_bytes() == (tmp_path / "file.csv").read_bytes()
    assert 5 < len((tmp_path / "piped.csv").read_text().splitlines()) < N


def test_runs_over_points_are_not_resumed(tmp_path):
    for kind, named in (("vector", "vectors"), ("weighted", "weighted sets")):
        source = write(tmp_path / "in.jsonl", items_of(kind), kind)
        with pytest.raises(
            ValueError, match=f"^resume is for texts and sets, not for {named}$"
        ):
            dedup_files(
                source, column="item", memory="1G", work=tmp_path / "work", resume=True
            )
        assert not (tmp_path / "work").exists()
        source.unlink()


@pytest.mark.one_case
@pytest.mark.parametrize(
    "measure", ["cosine", "euclidean", "hamming", "jaccard", "weighted"]
)
def test_removed_rows_are_explained_with_the_options_of_the_run(measure, tmp_path):
    kind = kind_for(measure)
    items = items_of(kind)
    for format, gone in (("jsonl", "gone.jsonl"), ("parquet", "gone.parquet")):
        source, removed = write(tmp_path / f"in.{format}", items, kind), tmp_path / gone
        dedup_files(
            source, column="item", id_column="id", kind=kind, measure=name_of(measure), exact=True, removed=removed,
            **BOUNDS[measure],
        )  # fmt: skip
        key, (kept, value) = next(iter(expected(items, measure).items()))
        found = run("explain", key, source, "--removed", removed)
        assert found.exit_code == 0, found.output
        assert key in found.output
        assert kept in found.output
        assert f"{value:.4f}" in found.output


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, [], [1, 0], [0.5, 1]], "vector"),
        ([[], ["a", "b"]], "set"),
        ([None, [1, 2], [2, 3]], "set"),
        ([[1, 2], "text", [0.5]], "set"),
        (["text", [0.5]], "text"),
        ([None, [], None], "text"),
        ([["a"], [0.5]], "set"),
        ([None, {}, {"a": 1}], "weighted"),
        ([{"a": "b"}, {"a": 1}], "text"),
    ],
)
def test_the_kind_follows_from_the_first_rows(values, kind, tmp_path):
    source = write_jsonl(tmp_path / "in.jsonl", [{"item": value} for value in values])
    assert Inputs([str(source)], "item").kind_of_items() == kind


# ---- refusals ----


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"unit": "char"}, "unit"),
        ({"size": 3}, "size"),
        ({"num_perm": 64}, "num_perm"),
        ({"scheme": "classic"}, "scheme"),
        ({"bands": 3, "rows_per_band": 2}, "bands"),
        ({"verify": "none"}, "verify"),
        ({"stop_words": "english"}, "stop_words"),
        ({"ignore_common": 0.5}, "ignore_common"),
        ({"radius": 1}, "radius"),
        ({"measure": "jaccard"}, "measure"),
        ({"keep": "longest"}, "keep"),
        ({"threshold": 2}, "threshold"),
    ],
)
def test_options_of_other_kinds_are_refused(options, name, tmp_path):
    source = write(tmp_path / "in.jsonl", items_of("vector"), "vector")
    with pytest.raises(ValueError, match=f"^{name} "):
        lshfast.dedup(items_of("vector"), **options)
    with pytest.raises(ValueError, match=f"^{name} "):
        dedup_files(source, column="item", **options)
    flags = [
        f"--{option.replace('_', '-')}={value}" for option, value in options.items()
    ]
    line = failing(
        2, "dedup", source, "--dry-run", "--column", "item", "--as", "vector", *flags
    )
    assert f" {name} " in line


def test_options_of_other_kinds():
    with pytest.raises(ValueError, match="radius is for"):
        lshfast.dedup(["a text"], radius=3)
    for verb in (lshfast.dedup, lshfast.pairs, lshfast.check):
        with pytest.raises(
            ValueError,
            match="kind must be one of text, set, weighted, vector, code, not 'image'",
        ):
            verb(["a text"], threshold=0.9, kind="image")


def test_too_many_removed_rows_write_nothing(tmp_path):
    source = write(tmp_path / "in.jsonl", items_of("vector"), "vector")
    output = tmp_path / "out.jsonl"
    with pytest.raises(lshfast.TooManyRemovedError):
        dedup_files(source, output, column="item", threshold=0.9, max_removed=0.01)
    assert not output.exists()


# ---- hostile inputs ----


HOSTILE = [
    "[" * 10_000 + "]" * 10_000,
    "[" + ", ".join(["0.5"] * 100_000) + "]",
    "[1e400, 1]",
    "[1" + "0" * 5000 + ", 1]",
    "[1e300, 1]",
    "[1e-200, 1e-200]",
    "[]",
    "[[]]",
    "[0, 0]",
    '"[1, 2"',
    '["\\u0000", "\\ud800"]',
    "{}",
    '{"a": 1e999}',
    '{"\\ud800": 1}',
    '{"a": {"b": 1}}',
    '{"a": 1' + "0" * 5000 + "}",
    "true",
    "-1",
]


@pytest.mark.parametrize("format", ["jsonl", "csv"])
@pytest.mark.parametrize("kind", ["vector", "code", "set", "weighted"])
def test_hostile_rows_are_rejected_alone(kind, format, tmp_path):
    """Whatever stands in a row, also in the first one, the good rows are read."""
    good = {
        "vector": [[1.0, 2.0]] * 2,
        "code": ["00ff"] * 2,
        "set": [[1, 2]] * 2,
        "weighted": [{"a": 1}] * 2,
    }[kind]
    hostile = [
        value for value in HOSTILE if kind == "vector" or value != "[0, 0]"
    ]  # which may be a set or bytes
    source, output = tmp_path / f"in.{format}", tmp_path / "out.jsonl"
    if format == "jsonl":
        lines = [f'{{"item": {value}}}' for value in (*hostile, *map(json.dumps, good))]
        source.write_text("\n".join(lines) + "\n")
    else:
        with source.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["item"])
            table.writerows(
                [value if isinstance(value, str) else json.dumps(value)]
                for value in (*hostile, *good)
            )
    bound = {"radius": 1} if kind == "code" else {}
    result = dedup_files(
        source,
        output,
        column="item",
        kind=kind,
        on_error="skip",
        output_format="jsonl",
        **bound,
    )
    assert result.summary.read == len(hostile) + 2
    assert (
        result.summary.read
        == result.summary.rejected + result.summary.kept + result.summary.removed
    )
    assert not result.keep[-1]
    # Vectors of zeros are empty rows.
    least = {"set": 7, "vector": len(hostile) - 2}.get(kind, len(hostile) - 1)
    assert result.summary.rejected >= least


@pytest.mark.slow
def test_many_copies_and_many_similar_vectors():
    """Neither time nor memory grows with the square of the rows."""
    n = 20_000
    rng = np.random.default_rng(1)
    copies = lshfast.dedup(np.repeat(rng.standard_normal((1, 32)), n, axis=0))
    assert (copies.summary.kept, copies.summary.candidates) == (1, 0)
    near = np.ones(32) + 1e-3 * rng.standard_normal((n, 32))
    for groups in ("star", "components"):
        found = lshfast.dedup(near, groups=groups, threads=2)
        assert found.summary.kept == 1
        assert found.summary.candidates < 1000 * n


@pytest.mark.slow
def test_components_of_many_similar_codes_need_no_list_of_pairs():
    codes = np.random.default_rng(1).integers(0, 2**16, (5000, 4), np.uint64)
    found = lshfast.dedup(codes, kind="code", radius=70, groups="components")
    assert found.summary.kept == 1
    assert found.summary.candidates < 1000 * len(codes)
    codes[::2, 1:] = ~codes[::2, 1:]  # two crowds that are far from each other
    found = lshfast.dedup(codes, kind="code", radius=70, groups="components")
    assert np.flatnonzero(found.keep).tolist() == [0, 1]
    codes[2] = np.uint64(2**48 - 1)  # between them
    pairs = lshfast.pairs(codes[:300], kind="code", radius=70)
    right = lshfast.component_groups(
        300, pairs.view([("i", "<i8"), ("j", "<i8"), ("similarity", "<f8")])
    )
    found = lshfast.dedup(codes[:300], kind="code", radius=70, groups="components")
    assert found.labels.tolist() == right.labels.tolist()


def test_vectors_just_below_the_threshold_are_kept():
    """Most pairs are near the threshold, and none is held."""
    rng = np.random.default_rng(1)
    vectors = np.eye(400)[rng.permutation(400)] + 0.145
    cosine = vectors[0] @ vectors[1] / (vectors[0] @ vectors[0])
    result = lshfast.dedup(vectors, threshold=float(cosine) + 1e-6)
    assert (result.summary.kept, result.summary.pairs) == (400, 0)
    assert (
        lshfast.dedup(vectors, threshold=float(cosine) - 1e-6, exact=True).summary.kept
        == 1
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "groups", ["star", pytest.param("components", marks=pytest.mark.weekly)]
)
def test_a_hundred_thousand_similar_vectors(groups):
    n = 100_000
    near = np.ones(32) + 1e-3 * np.random.default_rng(1).standard_normal((n, 32))
    found = lshfast.dedup(near, groups=groups)
    assert found.summary.kept == 1
    assert found.summary.candidates < 1000 * n
