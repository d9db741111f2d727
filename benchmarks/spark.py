"""The Spark engine and the native engine on the same Parquet files, in turns; Spark's session has started and run once.

    python benchmarks/spark.py DIR [--megabytes 200] [--partitions 2 7 200] [--exactly] [--repeat 3] [--master M]
        [--broadcast-rows N] [--passages 50]

DIR is created with a corpus if it does not exist: the Python sources that this interpreter can import, repeated with
mutations until there are so many megabytes of text. A third of the repetitions are near-duplicates with up to one word
in fifty replaced; in the others every third word is renamed, so they share no shingles with the original. The rows are
in the order of their ids, so both engines keep the same rows; the results are compared row by row.

With --broadcast-rows 0, small corpora are joined as those with more than a million texts in components are: with a
filter, and without broadcasts of Spark's own. The bytes that each run shuffles are printed, as Spark compresses them.

With --passages, shared passages of that length are searched for instead: within the corpus, and those of its first
hundred texts.
"""

from __future__ import annotations

import argparse
import re
import sysconfig
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from data import decoded, raw_files

import lshfast
import lshfast.passages
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


def compare_passages(session: Any, files: list[str], length: int, repeat: int) -> None:
    """Print the seconds of searches for shared passages in turns, and compare the passages."""
    texts = pa.concat_tables(pq.read_table(file) for file in files).column("text")
    frame = session.read.parquet(*files)
    for name, against in (("corpus", None), ("against", texts[:100])):
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            native = lshfast.passages.find(texts, against, length=length, threads=2)
            middle = time.perf_counter()
            found = lshfast.spark.passages(frame, against=against, length=length)
            times.append((middle - start, time.perf_counter() - middle))
        table = found.orderBy("id_i", "i_unit", "id_j", "j_unit").toArrow()
        found.unpersist()
        for column in ("i", "j", "units", "i_start_byte", "j_end_byte"):
            expected = native.spans[column]
            values = table.column(f"id_{column}" if len(column) == 1 else column)
            assert np.array_equal(values.to_numpy(), expected), column
        native_time, spark_time = (median(each) for each in zip(*times, strict=True))
        print(
            f"passages, {name}: {len(native):,}; native {native_time:.2f} s, Spark {spark_time:.2f} s",
            flush=True,
        )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Compare the Spark engine with the native one."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--partitions", type=int, nargs="+", default=[2, 7, 200])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--driver-memory", default="3g")
    parser.add_argument(
        "--passages", type=int, help="search for passages of so many words"
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
    if not a.folder.exists():
        write_corpus(a.folder, a.megabytes)
    files = sorted(str(path) for path in a.folder.glob("*.parquet"))
    nbytes = sum(
        pq.read_table(file, columns=["text"]).column("text").nbytes for file in files
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
    lshfast.spark.dedup(
        session.read.parquet(files[0])
    ).unpersist()  # starts the Python workers, and warms up the JVM
    if a.passages:
        compare_passages(session, files, a.passages, a.repeat)
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
