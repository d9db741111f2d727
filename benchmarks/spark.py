"""The Spark engine and the native engine on the same Parquet files, in turns; Spark's session has started and run once.

    python benchmarks/spark.py DIR [--megabytes 200] [--partitions 2 7 200] [--exactly] [--repeat 3] [--master M]
        [--broadcast-rows N] [--passages 50] [--vectors 100000 [--coordinates 128]] [--records 100000]

DIR is created with a corpus if it does not exist: the Python sources that this interpreter can import, repeated with
mutations until there are so many megabytes of text. A third of the repetitions are near-duplicates with up to one word
in fifty replaced; in the others every third word is renamed, so they share no shingles with the original. The rows are
in the order of their ids, so both engines keep the same rows; the results are compared row by row.

With --broadcast-rows 0, small corpora are joined as those with more than a million texts in components are: with a
filter, and without broadcasts of Spark's own. The bytes that each run shuffles are printed, as Spark compresses them.

With --passages, shared passages of that length are searched for instead: within the corpus, and those of its first
hundred texts. With --vectors, so many random vectors are deduplicated, of which a fifth are near to others; with
--records, two tables of so many people are linked, of which half are the same, on the cluster and with a model from a
fifth of them; both need no DIR. These print seconds, and processor seconds of all processes.
"""

from __future__ import annotations

import argparse
import re
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from data import decoded, raw_files
from processes import seconds_of_all

import lshfast
import lshfast.passages
import lshfast.records
import lshfast.spark

WORD = re.compile(r"\w+")
FILES = 16


def sources() -> list[str]:
    """Return the Python sources of the standard library and of the installed packages, in the order of their names."""
    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}
    files = sorted({path for folder in folders for path in Path(folder).rglob("*.py")})
    return [text for _, text in decoded(raw_files(files, ())) if len(text) < 200_000]


def corpus(megabytes: int, seed: int = 1) -> Iterator[str]:
    """Yield texts with so many megabytes in total."""
    rng = np.random.default_rng(seed)
    originals, made, turn = sources(), 0, 0
    while True:
        for text in originals:
            words = WORD.split(text) if turn else []
            if turn:
                found = WORD.findall(text)
                if rng.random() < 1 / 3:
                    for place in rng.integers(
                        0, max(1, len(found)), int(len(found) * rng.uniform(0, 0.02))
                    ):
                        found[place] = f"changed{place}"
                else:
                    found[::3] = [f"{word}_{turn}" for word in found[::3]]
                text = "".join(
                    part
                    for pair in zip(words, [*found, ""], strict=True)
                    for part in pair
                )
            yield text
            made += len(text.encode())
            if made >= megabytes * 1_000_000:
                return
        turn += 1


def write_corpus(folder: Path, megabytes: int) -> None:
    """Write a corpus as about FILES Parquet files with the columns id and text."""
    folder.mkdir(parents=True)
    texts: list[str] = []
    rows = files = held = 0

    def write() -> None:
        nonlocal rows, files, held
        table = pa.table(
            {"id": np.arange(rows, rows + len(texts), dtype=np.int64), "text": texts}
        )
        pq.write_table(table, folder / f"{files:03}.parquet", row_group_size=1 << 12)
        rows, files, held = rows + len(texts), files + 1, 0
        texts.clear()

    for text in corpus(megabytes):
        texts.append(text)
        held += len(text)
        if held >= megabytes * 1_000_000 // FILES:
            write()
    write()


def shuffled_bytes(session: Any) -> int:
    """Return how many bytes all stages until now have written for shuffles, compressed."""
    context = session.sparkContext
    java_context = context._jsc.sc()
    java_context.listenerBus().waitUntilEmpty()
    none = context._gateway.new_array(context._jvm.double, 0)
    statuses = context._jvm.java.util.ArrayList()
    stages = java_context.statusStore().stageList(None, False, False, none, statuses)
    return sum(
        stages.apply(number).shuffleWriteBytes() for number in range(stages.size())
    )


Result = TypeVar("Result")


def timed(call: Callable[[], Result]) -> tuple[Result, tuple[float, float]]:
    """Make a call, and return its seconds and the processor seconds of all processes."""
    start = time.perf_counter()
    processor_start = seconds_of_all()
    result = call()
    return result, (time.perf_counter() - start, seconds_of_all() - processor_start)


def print_times(
    name: str, native: list[tuple[float, float]], spark: list[tuple[float, float]]
) -> None:
    """Print the medians of seconds and of processor seconds, and their ratios."""
    columns = []
    for place, unit in enumerate(("s", "CPU s")):
        native_time, spark_time = (
            median(times[place] for times in turns) for turns in (native, spark)
        )
        columns.append(
            f"native {native_time:.2f} {unit}, Spark {spark_time:.2f} {unit} ({spark_time / native_time:.1f} x)"
        )
    print(f"{name}: {'; '.join(columns)}", flush=True)


def compare_passages(session: Any, files: list[str], length: int, repeat: int) -> None:
    """Print the seconds of searches for shared passages in turns, and compare the passages."""
    texts = pa.concat_tables(pq.read_table(file) for file in files).column("text")
    frame = session.read.parquet(*files)
    for name, against in (("corpus", None), ("against", texts[:100])):
        native_times = []
        spark_times = []
        for _ in range(repeat):
            native, taken = timed(
                partial(lshfast.passages.find, texts, against, length=length, threads=2)
            )
            native_times.append(taken)
            found, taken = timed(
                partial(lshfast.spark.passages, frame, against=against, length=length)
            )
            spark_times.append(taken)
        table = found.orderBy("id_i", "i_unit", "id_j", "j_unit").toArrow()
        found.unpersist()
        for column in ("i", "j", "units", "i_start_byte", "j_end_byte"):
            expected = native.spans[column]
            values = table.column(f"id_{column}" if len(column) == 1 else column)
            assert np.array_equal(values.to_numpy(), expected), column
        print_times(f"{len(native):,} passages, {name}", native_times, spark_times)


def compare_vectors(session: Any, rows: int, coordinates: int, repeat: int) -> None:
    """Print the seconds of deduplications of vectors in turns, and compare the rows."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((rows, coordinates)).astype(np.float32)
    near = rng.permutation(rows)[: rows // 5]
    noise = rng.standard_normal((len(near), coordinates)) * rng.uniform(
        0, 0.3, (len(near), 1)
    )
    vectors[near] = vectors[rng.integers(0, rows, len(near))] + noise
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), coordinates)
    table = pa.table(
        {"id": np.arange(rows), "vector": lists.cast(pa.list_(pa.float32()))}
    )
    native_times = []
    spark_times = []
    with TemporaryDirectory() as folder:
        pq.write_table(
            table, f"{folder}/vectors.parquet", row_group_size=max(1, rows // 8)
        )
        frame = session.read.parquet(folder)
        for _ in range(repeat):
            native, taken = timed(partial(lshfast.dedup, vectors, threads=2))
            native_times.append(taken)
            found, taken = timed(partial(lshfast.spark.dedup, frame, "vector"))
            spark_times.append(taken)
            kept = found.orderBy("id").toArrow().column("keep").to_numpy()
            found.unpersist()
            assert np.array_equal(kept, native.keep)
    print_times(f"{rows:,} vectors of {coordinates}", native_times, spark_times)


def people(rows: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return random records of people."""
    letters = np.array(list("abcdefghiklmnoprstuv"))
    names = ["".join(letters[rng.integers(0, 20, 7)]) for _ in range(4000)]
    records = []
    for given, surname, city, year, day, phone in rng.integers(
        0, 1 << 30, (rows, 6)
    ).tolist():
        record = {
            "given": names[given % 400],
            "surname": names[surname % 4000],
            "city": names[city % 500],
        }
        record["born"] = f"{1940 + year % 66}-{1 + day % 12:02}-{1 + day // 12 % 28:02}"
        record["phone"] = f"0{phone % 10**9:09}"
        records.append(record)
    return records


def compare_records(session: Any, rows: int, repeat: int) -> None:
    """Print the seconds of links of two tables in turns; Spark has a model of its own, so links may differ."""
    rng = np.random.default_rng(1)
    ours = people(rows, rng)
    theirs = [*ours[: rows // 2], *people(rows - rows // 2, rng)]
    theirs = [
        record | ({"surname": record["surname"][::-1]} if row % 10 == 0 else {})
        for row, record in enumerate(theirs)
    ]
    rules = ["key:surname+born", "key:phone"]
    tables = [
        pa.Table.from_pylist([{"id": row, **record} for row, record in enumerate(side)])
        for side in (ours, theirs)
    ]
    native_times = []
    spark_times = []
    limits = lshfast.spark.RecordLimits(driver_rows=0, sample_rows=2 * rows // 5)
    with TemporaryDirectory() as folder:
        frames = []
        for name, table in zip("ab", tables, strict=True):
            pq.write_table(table, f"{folder}/{name}.parquet")
            frames.append(session.read.parquet(f"{folder}/{name}.parquet"))
        for _ in range(repeat):
            native, taken = timed(
                partial(lshfast.records.match_records, *tables, rules=rules)
            )
            native_times.append(taken)
            found, taken = timed(
                partial(
                    lshfast.spark.match_records, *frames, rules=rules, limits=limits
                )
            )
            spark_times.append(taken)
            links = found.count()
    name = f"2 x {rows:,} records, {len(native.i):,} links, {links:,} on Spark"
    print_times(name, native_times, spark_times)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Compare the Spark engine with the native one."
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--partitions", type=int, nargs="+", default=[2, 7, 200])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--driver-memory", default="3g")
    parser.add_argument(
        "--passages", type=int, help="search for passages of so many words"
    )
    parser.add_argument("--vectors", type=int, help="deduplicate so many vectors")
    parser.add_argument("--coordinates", type=int, default=128)
    parser.add_argument(
        "--records", type=int, help="link two tables of so many records"
    )
    parser.add_argument(
        "--broadcast-rows", type=int, help="Limits.broadcast_rows of the runs"
    )
    parser.add_argument(
        "--exactly",
        action="store_true",
        help="keep Spark from joining small partitions",
    )
    a = parser.parse_args(argv)
    if a.folder is None and not (a.vectors or a.records):
        parser.error("DIR is needed")
    files: list[str] = []
    if a.folder is not None:
        if not a.folder.exists():
            write_corpus(a.folder, a.megabytes)
        files = sorted(str(path) for path in a.folder.glob("*.parquet"))
        nbytes = sum(
            pq.read_table(file, columns=["text"]).column("text").nbytes
            for file in files
        )
        rows = sum(pq.read_metadata(file).num_rows for file in files)
        print(f"{nbytes / 1e6:,.0f} MB of text, {rows:,} rows", flush=True)

    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(a.master).config(
        "spark.driver.memory", a.driver_memory
    )
    session = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    first_texts = [(row, f"text {row} of the first run") for row in range(100)]
    first_rows = (
        session.read.parquet(files[0])
        if files
        else session.createDataFrame(first_texts, ["id", "text"])
    )
    lshfast.spark.dedup(
        first_rows
    ).unpersist()  # starts the Python workers, and warms up the JVM
    if a.passages:
        compare_passages(session, files, a.passages, a.repeat)
    if a.vectors:
        compare_vectors(session, a.vectors, a.coordinates, a.repeat)
    if a.records:
        compare_records(session, a.records, a.repeat)
    if a.passages or a.vectors or a.records:
        session.stop()
        return
    limits = {}
    if a.broadcast_rows is not None:
        limits["limits"] = lshfast.spark.Limits(broadcast_rows=a.broadcast_rows)
        session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    times: dict[str, list[float]] = {}
    for _ in range(a.repeat):
        start = time.perf_counter()
        native = lshfast.dedup_files(files, id_column="id", threads=2)
        times.setdefault("native, two threads", []).append(time.perf_counter() - start)
        print(
            "native",
            times["native, two threads"][-1],
            native.summary.stages,
            flush=True,
        )
        for partitions in a.partitions:
            session.conf.set("spark.sql.shuffle.partitions", partitions)
            session.conf.set(
                "spark.sql.adaptive.coalescePartitions.enabled",
                str(not a.exactly).lower(),
            )
            frame = session.read.parquet(*files)
            shuffled_before = shuffled_bytes(session)
            start = time.perf_counter()
            found, summary = lshfast.spark.dedup_with_summary(frame, **limits)
            times.setdefault(f"Spark, {partitions} partitions", []).append(
                time.perf_counter() - start
            )
            shuffled = shuffled_bytes(session) - shuffled_before
            table = found.orderBy("id").toArrow()
            found.unpersist()
            assert np.array_equal(table.column("keep").to_numpy(), native.keep)
            assert np.array_equal(table.column("kept_key").to_numpy(), native.keeper)
            assert np.array_equal(
                table.column("similarity").to_numpy(), native.similarity
            )
            print(
                partitions,
                {
                    name: round(stage.seconds, 2)
                    for name, stage in summary.stages.items()
                },
                f"{shuffled / 1e6:,.0f} MB shuffled",
                flush=True,
            )
    base = times["native, two threads"]
    for name, seconds in times.items():
        ratio = median(own / other for own, other in zip(seconds, base, strict=True))
        print(
            f"{name:24} {median(seconds):6.2f} s  {nbytes / 1e6 / median(seconds):6.0f} MB/s  {ratio:5.2f} x"
        )
    session.stop()


if __name__ == "__main__":
    main()
