"""The ways of running: each one runs a case, and gives its outputs in a form in which they can be compared.

A case is rows in files, and options of `dedup_files`. An answer is a dictionary of the outputs that a way of running
has: lines of text files, Arrow tables, or Python values, and the summary.
"""

from __future__ import annotations

import csv
import io
import json
import random
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lshfast
from lshfast import dedup_files, stages
from lshfast._common.exact_keys import OF_URLS, bytes_of_key, column_of_keys
from lshfast._engine.budget import Budget
from lshfast._engine.executors.local import capped
from lshfast._engine.options.declared import OPTIONS
from lshfast._engine.parts.components import divide
from lshfast._engine.plan import OF_SETS, make_plan
from tests.cli.commands import run as run_command
from tests.corpora import pack, similar_texts, unpack
from tests.engine.executors.capped_runs import Ended, end_at
from tests.spark.answers import distributed, distributed_pairs
from tests.stages.runs import run_all, tables

# Rows of JSON Lines; so many are in several parts.
MANY = 2600

FILES = 7


@dataclass(frozen=True)
class Case:
    """A run: how its rows are written, and the options that are not the defaults."""

    options: dict[str, Any] = field(default_factory=dict)
    data: str = "jsonl"
    ids: str | None = None
    pairs: bool = False

    def __str__(self) -> str:
        told = [self.data, self.ids or "", "pairs" * self.pairs]
        told += [f"{name}={value!r:.12}" for name, value in self.options.items()]
        return " ".join(filter(None, told))

    @property
    def suffix(self) -> str:
        """What the outputs are."""
        return self.options.get("output_format") or self.data.split(".")[0].rstrip(
            "_;#"
        )

    @property
    def names(self) -> set[str]:
        """The options that the run has."""
        given = {
            "removed",
            *(["id_column"] if self.ids else []),
            *(["pairs"] if self.pairs else []),
        }
        return given | set(self.options)


@cache
def corpus(n: int) -> list[dict[str, Any]]:
    """Return rows with similar texts, copies of bytes and of words, empty texts and nulls, and values to choose by."""
    rng = random.Random(3)
    # Some words are stop words.
    texts = [text.replace("7 ", " the ") for text in similar_texts(rng, n)]
    for i in range(3, n, 5):
        texts[i] = rng.choice([str, str.upper, "{}!".format])(texts[rng.randrange(i)])
    return [
        {
            "id": f"row{i:05}é",
            "number": i * 7,
            "text": text or None,
            "integer": rng.choice(
                [rng.randrange(-9, 9), rng.randrange(-(2**63), 2**63)]
            ),
            "float": rng.choice([rng.randrange(9), rng.random(), 2**53 + 1, 2.0**53]),
            "string": rng.choice(
                ["a", "aé", "a\ud800", "b" * 9, f"{'c' * 99}{rng.random()}"]
            ),
        }
        for i, text in enumerate(texts)
    ]


def rows_of(case: Case, n: int) -> list[dict[str, Any]]:
    """Return the rows of a case: those of `corpus`, or the sets of their words, or of numbers of them."""
    rows = corpus(n)
    if case.options.get("kind") != "set":
        return rows
    if case.data == "parquet":
        numbers: dict[str, int] = {}
        sets = [
            [
                numbers.setdefault(word, len(numbers))
                for word in (row["text"] or "").split()
            ]
            for row in rows
        ]
        return [
            row | {"text": own or None} for row, own in zip(rows, sets, strict=True)
        ]
    return [row | {"text": row["text"] and row["text"].split()} for row in rows]


def lines_of_json(rows: list[dict[str, Any]]) -> bytes:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    # A lone surrogate is written as JSON's escape.
    return "".join(lines).encode(errors="backslashreplace")


def table_of(rows: list[dict[str, Any]], delimiter: str) -> bytes:
    """Return rows as CSV; each fifth text has delimiters, quotes and line ends, and some cells are formulas."""
    lines = io.StringIO(newline="")
    writer = csv.writer(lines, delimiter=delimiter)
    writer.writerow(["id", "number", "text"])
    sets = any(isinstance(row["text"], list) for row in rows)
    for i, row in enumerate(rows):
        text = row["text"]
        if sets:
            text = text and json.dumps(
                text, indent=0 if i % 5 == 0 else None
            )  # with line ends
        elif i % 5 == 0:
            text = (text or "").replace(" ", ' "; \r\n,\t', 1)
        mark = "=" if i % 11 == 0 and not sets else ""
        writer.writerow([f"{mark}{row['id']}", row["number"], f"{mark}{text or ''}"])
    return lines.getvalue().encode()


def write_part(path: Path, rows: list[dict[str, Any]], case: Case, number: int) -> None:
    """Write some rows as a file; `data` of the case is a suffix, and a mark for what is special."""
    data = case.data
    if data == "parquet":
        names = ("id", "number", "text")
        kind = (
            pa.list_(pa.int64()) if case.options.get("kind") == "set" else pa.string()
        )
        schema = pa.schema(
            [("id", pa.string()), ("number", pa.int64()), ("text", kind)]
        )
        table = pa.Table.from_pylist(
            [{name: row[name] for name in names} for row in rows], schema
        )
        pq.write_table(table, path.with_suffix(".parquet"), row_group_size=70)
    elif "csv" in data or "tsv" in data:
        delimiter = {";": ",;|"[number % 3], "#": "#"}.get(
            data[-1], "\t" if "tsv" in data else ","
        )
        bad = b"too,few\n" if case.options.get("on_error") else b""
        pack(table_of(rows, delimiter) + bad, path.with_suffix(f".{data.rstrip(';#')}"))
    elif data == "txt":
        for i, row in enumerate(rows):
            path.with_name(f"{path.name}-{i:03}.txt").write_text(
                row["text"] or "", encoding="utf-8"
            )
    elif data == "jsonl_":  # texts inside of an object, other letters, and other names
        rows = [{"id": row["id"], "more": {"body": row["text"] or ""}} for row in rows]
        path.with_suffix(".data").write_bytes(
            lines_of_json(rows).decode().encode("latin-1")
        )
    else:
        lines = lines_of_json(rows)
        if case.options.get("on_error") == "skip":
            again = lines[: lines.find(b"\n") + 1]  # its id is taken
            lines = b"no JSON\n\n" + lines + again + b'{"id": "x"}\n{"text": 1}\n'
        pack(lines, path.with_suffix(f".{data}"))


def write_inputs(case: Case, folder: Path, rows: list[dict[str, Any]]) -> Path:
    """Write the rows of a case to files of a new folder; one of the files has none."""
    folder.mkdir()
    bounds = [number * len(rows) // (FILES - 1) for number in range(FILES)]
    for number, (low, high) in enumerate(pairwise(sorted([*bounds, bounds[3]]))):
        write_part(folder / f"{number:02}", rows[low:high], case, number)
    return folder


@dataclass
class Run:
    """A case with its rows in files, and a folder for outputs."""

    case: Case
    rows: list[dict[str, Any]]
    source: Path
    out: Path

    @property
    def options(self) -> dict[str, Any]:
        """The options for functions that read files."""
        given = self.case.options | (
            {"id_column": self.case.ids} if self.case.ids else {}
        )
        if given.get("against") == "texts":
            given["against"] = self.earlier()
        elif "against" in given:
            given["against"] = self.index()
        return given

    @property
    def earlier_names(self) -> dict[Any, Any]:
        """The names of the columns of earlier rows that the case may give another name."""
        options = self.case.options
        return {
            "text": options.get("against_column", "text"),
            self.case.ids: options.get("against_id_column", self.case.ids),
        }

    def earlier(self) -> Path:
        """Return a file of earlier rows: some of the same, with the columns that the case names."""
        path = self.source.parent / "earlier.jsonl"
        if not path.exists():
            names = self.earlier_names
            rows = [
                {names.get(name, name): value for name, value in row.items()}
                for row in self.rows[::7]
            ]
            path.write_bytes(lines_of_json(rows))
        return path

    def index(self) -> Path:
        """Return an index of earlier rows: some of the same, in other files."""
        path = self.source.parent / "index"
        if not path.exists():
            earlier = self.earlier()
            dedup_files(earlier, save_index=path, id_column=self.case.ids, threads=1)
        return path

    def earlier_texts(self) -> dict[Any, Any]:
        """Return the texts of earlier rows by their keys."""
        path = self.earlier()
        keys = [f"{path}:{n + 1}" for n in range(len(self.rows[::7]))]
        if self.case.ids:
            keys = [row[self.case.ids] for row in self.rows[::7]]
        texts = [row["text"] for row in self.rows[::7]]
        return dict(zip(keys, texts, strict=True))

    @property
    def keys(self) -> list[Any]:
        """The key of each row of JSON Lines."""
        if self.case.ids:
            return [row[self.case.ids] for row in self.rows]
        paths = sorted(self.source.iterdir())
        return [
            f"{path}:{n + 1}"
            for path in paths
            for n in range(path.read_bytes().count(b"\n"))
        ]


def content(paths: list[Path]) -> Any:
    """Return files, one after another, as one table or the lines of one file with one header."""
    if paths[0].suffix == ".parquet":
        return pa.concat_tables([pq.read_table(path) for path in paths])
    if paths[0].suffix == ".jsonl":
        return [
            line for path in paths for line in unpack(path).splitlines(keepends=True)
        ]
    parts = [path.read_bytes().split(b"\n") for path in paths]
    (header,) = {part[0] for part in parts}
    return [header, *(line for part in parts for line in part[1:-1])]


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer whose rows of JSON are tuples; of kept rows only the ids, and of removed ones three values."""
    names = {"kept", "removed", "pairs"} & answer.keys()
    rows = {
        name: [tuple(json.loads(line).values()) for line in answer[name]]
        for name in names
    }
    rows["kept"] = [key for key, *_ in rows["kept"]]
    return answer | rows | {"removed": [row[:3] for row in rows["removed"]]}


class Files:
    """`dedup_files` in memory: with its answers, all others are compared."""

    name = "files"
    given: ClassVar[set[str]] = {"exact"}  # options that each run has
    # Options that another function of the same way of running takes.
    also: ClassVar[set[str]] = set()
    plain: ClassVar[bool] = False  # whether its answers are as those of `plain`
    data: ClassVar[set[str]] = {
        "jsonl", "jsonl.gz", "jsonl_", "csv", "csv;", "csv#", "csv.gz", "csv.zst", "tsv", "parquet", "txt",
    }  # fmt: skip

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()}{getattr(self, 'shards', '')}"

    def takes(self, case: Case) -> bool:
        """Return whether this way of running has all options of a case, and reads its files."""
        taken = all(
            self.name in OPTIONS[name].drivers or name in self.also
            for name in case.options
        )
        off = [
            name
            for name, value in case.options.items()
            if value and self.name in OPTIONS[name].off_only
        ]
        return taken and not off and case.data in self.data

    def run(self, run: Run, **more: Any) -> dict[str, Any]:
        names = ["removed", *(["pairs"] if run.case.pairs else [])]
        suffix = "jsonl" if run.case.data in ("txt", "jsonl_") else run.case.suffix
        paths = {name: run.out / f"{name}.{suffix}" for name in ("kept", *names)}
        if "output_format" in run.case.options:
            paths["kept"] = run.out / "kept.out"
        options = {"threads": 1, "exact": False} | run.options | more
        result = self.call(
            run.source, paths["kept"], {name: paths[name] for name in names} | options
        )
        if "output_format" in run.case.options:
            paths["kept"] = paths["kept"].rename(run.out / f"kept.{suffix}")
        if run.case.options.get("on_error") == "skip":
            paths["rejected"] = run.out / f"kept.{suffix}.rejects.jsonl"
        answer = {name: content([path]) for name, path in paths.items()}
        return answer | (
            {} if result is None else {"result": result, "summary": result.summary}
        )

    def call(self, source: Path, kept: Path, options: dict[str, Any]) -> Any:
        result = dedup_files(source, kept, **options)
        # within a cap, the result has the pairs of the groups only
        return replace(result, pairs=result.pairs[:0]) if "pairs" in options else result


class CommandLine(Files):
    """`lshfast dedup`."""

    def takes(self, case: Case) -> bool:
        return super().takes(case) and not isinstance(
            case.options.get("stop_words"), tuple
        )

    def call(self, source: Path, kept: Path, options: dict[str, Any]) -> Any:
        flags = []
        for name, value in options.items():
            shown = "--no-exact" if value is False else OPTIONS[name].shown
            flags += [shown] if isinstance(value, bool) else [shown, value]
        done = run_command("dedup", source, "-o", kept, *flags)
        assert done.exit_code == 0, done.stderr


class Capped(Files):
    """`dedup_files` within a cap of memory, in several parts."""

    name = "cap"
    given: ClassVar[set[str]] = {"exact", "memory", "work"}

    def run(self, run: Run, **more: Any) -> dict[str, Any]:
        work, parts = run.out / "work", set()

        def look(*_: Any) -> None:
            parts.update(work.glob("part-*.texts"))

        given = {"memory": little_memory(run.case), "work": work, "progress": look}
        answer = super().run(run, **given | more)
        # Keys leave few rows to compare.
        is_small = len(run.rows) < MANY or "exact_key" in run.case.options
        assert len(parts) > 1 or is_small or "progress" in more
        assert not work.exists()
        return answer


@dataclass(frozen=True, repr=False)
class Resumed(Capped):
    """The same, with parts of at most so many bytes, which is ended at a call of its progress, and resumed."""

    ended: int
    most: int

    def run(self, run: Run, **more: Any) -> dict[str, Any]:
        given = {"resume": True, **more}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                capped,
                "divide",
                lambda labels, costs, most: divide(labels, costs, min(most, self.most)),
            )
            with suppress(Ended):
                return super().run(
                    run, progress=end_at(self.ended)[0], **given
                )  # it had fewer calls
            assert {path.name for path in run.out.iterdir()} <= {"work"}
            return super().run(run, progress=None, **given)


def little_memory(case: Case) -> int:
    """Return little more than the least memory of a run with the fixture `small_parts`: MANY rows take far more."""
    plan = make_plan(
        **{name: value for name, value in case.options.items() if name in OF_SETS}
    )
    return Budget(0, plan).least(0) * 9 // 8


@dataclass(frozen=True, repr=False)
class Stages(Files):
    """`lshfast.stages`, with so many shards, and tasks of a stage."""

    shards: int
    tasks: int
    name = "stages"
    given: ClassVar[set[str]] = {"exact", "memory", "work"}
    also: ClassVar[set[str]] = {"on_error"}  # as a folder for rejected rows
    data: ClassVar[set[str]] = Files.data - {"txt"}

    def run(self, run: Run, **more: Any) -> dict[str, Any]:
        names = ["removed", *(["pairs"] if run.case.pairs else [])]
        end = (
            f".{run.case.suffix}" if "output_format" in run.case.options else ""
        )  # that of the tables
        options = (
            {"exact": False}
            | run.options
            | {name: run.out / f"{name}{end}" for name in names}
            | more
        )
        if options.pop("on_error", None) == "skip":
            options["rejected"] = run.out / "rejected"
        work = run.out / "work"
        stages.plan(
            run.source,
            work,
            run.out / "kept",
            shards=self.shards,
            tasks=self.tasks,
            **options,
        )
        run_all(work)
        folders = {"kept": run.out / "kept"} | {
            name: options[name] for name in (*names, "rejected") if name in options
        }
        files = {name: tables(folder) for name, folder in folders.items()}
        for name, paths in files.items():
            own = self.tasks if name == "pairs" else self.shards
            assert [path.stem for path in paths] == [
                f"{number:05}" for number in range(own)
            ]
        answer = {
            name: content(paths) for name, paths in files.items() if name != "pairs"
        }
        if run.case.pairs:
            answer["pairs"] = merged_pairs(run, files["pairs"])
        return answer | {"summary": stages.status(work).summary}


def merged_pairs(run: Run, paths: list[Path]) -> Any:
    """Return the pairs of several files, each in the order of rows, in this order."""
    if len(paths) == 1:
        return content(paths)
    places = {key: i for i, key in enumerate(run.keys)}

    def place(line: bytes) -> tuple[int, int]:
        i, j, *_ = json.loads(line).values()
        return places[i], places[j]

    parts = [content([path]) for path in paths]
    assert all(part == sorted(part, key=place) for part in parts)
    return sorted((line for part in parts for line in part), key=place)


class Memory(Files):
    """`lshfast.dedup` and `lshfast.pairs`, given the texts."""

    name = "memory"
    plain = True
    also: ClassVar[set[str]] = {"top", "most"}
    data: ClassVar[set[str]] = {"jsonl"}

    def takes(self, case: Case) -> bool:
        # `pairs` has no earlier rows and no keys.
        return super().takes(case) and not (
            case.pairs and {"against", "exact_key"} & case.options.keys()
        )

    def run(self, run: Run, **more: Any) -> dict[str, Any]:
        texts, keys = [row["text"] for row in run.rows], run.keys
        options = {"exact": False} | run.case.options | more
        if options.get("against") == "texts":
            return self._answer(
                run, texts, keys, options | {"against": run.earlier_texts()}
            )
        if "against" in options:
            with lshfast.LSHIndex.open(run.index()) as index:
                return self._answer(run, texts, keys, options | {"against": index})
        return self._answer(run, texts, keys, options)

    def _answer(
        self, run: Run, texts: list[str], keys: list[Any], options: dict[str, Any]
    ) -> dict[str, Any]:
        keep, column = chosen(run.rows, options.pop("keep", "first")), options.get("by")
        if column is not None:
            options["by"] = [row[column] for row in run.rows]
        if "exact_key" in options:
            exact_key = options["exact_key"]
            is_url = exact_key.startswith(OF_URLS)
            values = [row[column_of_keys(exact_key)] for row in run.rows]
            options["exact_key"] = [bytes_of_key(value, is_url) for value in values]
        if run.case.pairs:
            for name in ("groups", "by"):
                options.pop(name, None)
            found = lshfast.pairs(texts, **options)
            return {
                "pairs": [
                    (keys[i], keys[j], similarity)
                    for i, j, similarity in found.tolist()
                ]
            }
        result = lshfast.dedup(texts, keys=keys, keep=keep, **options)
        if column is not None:  # the values have no name
            by = replace(result.summary.by, column=column)
            result = replace(result, summary=replace(result.summary, by=by))
        kept = [
            row["id"]
            for row, own in zip(run.rows, result.keep.tolist(), strict=True)
            if own
        ]
        removed = [tuple(row) for row in result.removed]
        return {
            "kept": kept,
            "removed": removed,
            "result": result,
            "summary": result.summary,
        }


def chosen(rows: list[dict[str, Any]], keep: str) -> Any:
    """Return values of which the greatest are kept, for max:COLUMN and min:COLUMN."""
    policy, _, column = keep.partition(":")
    if not column:
        return keep
    values = [
        float(row[column]) if column == "float" else row[column] for row in rows
    ]  # as files compare them
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return [ranks[value] * (1 if policy == "max" else -1) for value in values]


@dataclass(frozen=True, repr=False)
class Spark(Memory):
    """`lshfast.spark`, given a frame of the rows in any order; its rows are in the order of their ids."""

    session: Any
    limits: Any
    name = "spark"
    also: ClassVar[set[str]] = set()
    given: ClassVar[set[str]] = {"column", "exact"}

    def takes(self, case: Case) -> bool:
        keeps_least = str(case.options.get("keep")).startswith("min:")
        is_index = case.options.get("against") is True
        of_spark = case.ids is not None and not keeps_least and not is_index
        return of_spark and super().takes(case)

    def run(self, run: Run, **more: Any) -> dict[str, Any]:
        from pyspark.sql import functions as F

        options, id_column = {"exact": False} | run.case.options | more, run.case.ids
        policy, _, column = options.pop("keep", "first").partition(":")
        kinds = {"number": "long", "integer": "long", "float": "double"}
        key_column = column_of_keys(options.get("exact_key", ""))
        further = filter(None, (column, options.get("by"), key_column))
        names = list(dict.fromkeys(["id", "number", "text", *further]))
        schema = ", ".join(f"{name} {kinds.get(name, 'string')}" for name in names)
        rows = [
            tuple(value_for_spark(row[name], kinds.get(name)) for name in names)
            for row in run.rows
        ]
        rows = random.Random(1).sample(rows, len(rows))
        frame = self.session.createDataFrame(rows, schema).repartition(5)
        options["limits"] = self.limits
        if "against" in options:
            options["against"] = self._earlier(run)
        if run.case.pairs:
            for name in ("groups", "by"):
                options.pop(name, None)
            found, summary = distributed_pairs(frame, "text", id_column, **options)
            told = (
                summary.pairs,
                summary.read,
                summary.kept,
                summary.removed,
                summary.groups,
            )
            assert told == (len(found), len(rows), len(rows), 0, 0)
            return {"pairs": found}
        found, summary = distributed(
            frame,
            "text",
            id_column,
            keep=F.col(column) if column else policy,
            **options,
        )
        own = {row[id_column]: row["id"] for row in run.rows}
        kept = [own[key] for key, keep, *_ in found if keep]
        removed = [
            (key, other, similarity)
            for key, keep, other, similarity, *_ in found
            if not keep
        ]
        return {"kept": kept, "removed": removed, "summary": summary}

    def _earlier(self, run: Run) -> Any:
        """Return a frame of the earlier rows, in another order."""
        names = run.earlier_names
        kind = {"number": "long"}.get(run.case.ids, "string")
        rows = [
            (value_for_spark(row[run.case.ids], None), row["text"])
            for row in run.rows[::7]
        ]
        schema = f"{names[run.case.ids]} {kind}, {names['text']} string"
        return self.session.createDataFrame(rows[::-1], schema).repartition(3)


def value_for_spark(value: Any, kind: str | None) -> Any:
    """Return a value as Spark takes it; strings without the lone surrogate are in the same order."""
    if kind == "double":
        return float(value)
    return value.replace("\ud800", "\ud7ff") if isinstance(value, str) else value
