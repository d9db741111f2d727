"""Record linkage: quality on public data sets, and speed beside splink and goldenmatch on synthetic people.

    python benchmarks/records.py quality FOLDER
    python benchmarks/records.py people [--rows 1000000 ...] [--threads 2] [--repeat 1] [--peers splink,goldenmatch]

"quality" links the data sets of FOLDER with the defaults: dblp_acm/ (ACM.csv, DBLP2.csv and
DBLP-ACM_perfectMapping.csv), restaurants/restaurant-nophone-training.csv and febrl/dataset1.csv to dataset4b.csv.
Labels are used for the figures only. Records of restaurants and of FEBRL 4 have at most one duplicate each, and are
assigned one to one. "people" makes two tables of people (benchmarks/people.py), of which four fifths are in both, and
lets each contestant link them in a process of its own. Seconds are from the tables in memory to the links, with all
estimates. splink has the DuckDB backend, blocking rules that suit these fields, and comparisons by Jaro-Winkler and
Damerau-Levenshtein; its links are the pairs with a probability of at least .5, and "one to one" those that are the best
of both records. goldenmatch has `match_df` without options, which chooses all by itself, with its compiled parts, and
returns one match a record. With several numbers of rows, a table shows the processor seconds of splink and lshfast and
their F1 at each. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from contest import (
    compared,
    in_own_process,
    installed,
    label,
    memory,
    names,
    print_table,
    take_turns,
)
from people import two_tables

from lshfast.records import LinkResult, dedup_records, match_records

PEERS = ("splink", "goldenmatch")
TARGETS = {"DBLP-ACM": 0.97, "restaurants": 0.96} | {
    f"FEBRL {k}": 0.98 for k in range(1, 5)
}
MOST_COMPARED = 0.02
LEAST_RECALL, LEAST_RATIO = 0.95, 3.0
PROCESSOR, BEST = "linking, processor s", "F1 one to one"

Pair = tuple[Any, Any]


def read(path: Path) -> list[dict[str, str]]:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        text = path.read_text("latin-1")
    return list(csv.DictReader(text.splitlines(), skipinitialspace=True))


def pairs_of_groups(keys: Iterable[Any], groups: Iterable[Any]) -> set[Pair]:
    """Return all pairs of keys in the same group, in their order."""
    members: dict[Any, list[Any]] = defaultdict(list)
    for key, group in zip(keys, groups, strict=True):
        members[group].append(key)
    return {pair for found in members.values() for pair in combinations(found, 2)}


def scores(found: set[Pair], true: set[Pair]) -> tuple[float, float, float]:
    """Return precision, recall and F1."""
    good = len(found & true)
    return (
        good / max(1, len(found)),
        good / len(true),
        2 * good / (len(found) + len(true)),
    )


def data_sets(folder: Path) -> Iterable[tuple[str, LinkResult, set[Pair], float]]:
    """Link each data set with the defaults; yield its name, the result, the true pairs and the seconds."""
    a, b = (read(folder / "dblp_acm" / name) for name in ("DBLP2.csv", "ACM.csv"))
    mapping = read(folder / "dblp_acm" / "DBLP-ACM_perfectMapping.csv")
    start = time.perf_counter()
    found = match_records(a, b, id_column="id")
    yield (
        "DBLP-ACM",
        found,
        {(row["idDBLP"], row["idACM"]) for row in mapping},
        time.perf_counter() - start,
    )
    rows = read(folder / "restaurants" / "restaurant-nophone-training.csv")
    start = time.perf_counter()
    found = dedup_records(rows, ignore=["unique_id"], assign="one-to-one")
    true = pairs_of_groups(range(len(rows)), [row["unique_id"] for row in rows])
    yield "restaurants", found, true, time.perf_counter() - start
    for number in range(1, 4):
        rows = read(folder / "febrl" / f"dataset{number}.csv")
        start = time.perf_counter()
        found = dedup_records(rows, id_column="rec_id")
        keys = [row["rec_id"] for row in rows]
        true = pairs_of_groups(keys, [key.split("-")[1] for key in keys])
        yield f"FEBRL {number}", found, true, time.perf_counter() - start
    a, b = (read(folder / "febrl" / f"dataset4{side}.csv") for side in "ab")
    start = time.perf_counter()
    found = match_records(a, b, id_column="rec_id")
    true = {(row["rec_id"], row["rec_id"].replace("org", "dup-0")) for row in a}
    yield "FEBRL 4", found, true, time.perf_counter() - start


def quality(folder: Path, markdown: bool) -> bool:
    """Print the figures of all data sets; return whether all targets are reached."""
    rows, good = [], True
    for name, found, true, seconds in data_sets(folder):
        precision, recall, f1 = scores(set(found.pairs()), true)
        share = found.summary.compared_share
        good &= f1 >= TARGETS[name] and (name != "DBLP-ACM" or share <= MOST_COMPARED)
        figures = [f"{value:.4f}" for value in (precision, recall, f1)]
        rows.append(
            [name, f"{len(true):,}", *figures, f"{share:.3%}", f"{seconds:.1f}"]
        )
    print_table(
        ["data", "matches", "precision", "recall", "F1", "compared", "seconds"],
        rows,
        markdown,
    )
    return good


# ---- beside splink ----


def link_by_lshfast(
    a: Any, b: Any, threads: int
) -> dict[str, tuple[list[Any], list[Any]]]:
    found = match_records(a, b, id_column="id", threads=threads)
    return {"links": found.keys()}


def link_by_splink(
    a: Any, b: Any, threads: int
) -> dict[str, tuple[list[Any], list[Any]]]:
    import logging

    import duckdb
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    logging.disable(logging.WARNING)
    connection = duckdb.connect()
    connection.execute(f"set threads={threads}")
    columns = [name for name in a.column_names if name != "id"]
    empty_as_null = "id, " + ", ".join(
        f"nullif({name}, '') as {name}" for name in columns
    )
    connection.register("raw_a", a)
    connection.register("raw_b", b)
    tables = [
        connection.sql(f"select {empty_as_null} from raw_{side}").to_arrow_table()
        for side in "ab"
    ]
    by_letters, codes = (
        ("given_name", "surname", "address_1", "address_2", "suburb"),
        ("date_of_birth", "soc_sec_id"),
    )
    by_name = [cl.JaroWinklerAtThresholds(name, [0.92, 0.85]) for name in by_letters]
    for place in (0, 1, 4):
        by_name[place] = by_name[place].configure(term_frequency_adjustments=True)
    rules = [
        ("soc_sec_id",), ("given_name", "surname"), ("surname", "date_of_birth"), ("given_name", "date_of_birth"),
        ("address_1", "suburb"), ("date_of_birth", "postcode"), ("surname", "suburb"),
    ]  # fmt: skip
    settings = SettingsCreator(
        link_type="link_only",
        unique_id_column_name="id",
        comparisons=[
            *by_name,
            *(cl.DamerauLevenshteinAtThresholds(name, [1, 2]) for name in codes),
            *(
                cl.DamerauLevenshteinAtThresholds(name, [1])
                for name in ("street_number", "postcode")
            ),
            cl.ExactMatch("state"),
        ],
        blocking_rules_to_generate_predictions=[block_on(*rule) for rule in rules],
        retain_intermediate_calculation_columns=False,
        retain_matching_columns=False,
    )
    api = DuckDBAPI(connection=connection)
    linker = Linker([api.register(table) for table in tables], settings)
    training = linker.training
    sure = [block_on("soc_sec_id"), block_on("given_name", "surname", "date_of_birth")]
    training.estimate_probability_two_random_records_match(sure, recall=0.8)
    training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    training.estimate_parameters_using_expectation_maximisation(block_on("soc_sec_id"))
    training.estimate_parameters_using_expectation_maximisation(
        block_on("surname", "date_of_birth")
    )
    found = (
        linker.inference.predict(threshold_match_probability=0.5)
        .as_duckdbpyrelation()
        .df()
    )
    best = found.sort_values(["match_weight", "id_l", "id_r"], ascending=False)
    best = best.drop_duplicates("id_l").drop_duplicates("id_r")
    return {
        name: (part["id_l"].tolist(), part["id_r"].tolist())
        for name, part in (("links", found), ("best", best))
    }


def link_by_goldenmatch(
    a: Any, b: Any, threads: int
) -> dict[str, tuple[list[Any], list[Any]]]:
    import goldenmatch
    import polars

    tables = [polars.from_arrow(table) for table in (a, b)]
    found = goldenmatch.match_df(
        *tables, confidence_required=False, exclude_columns=["id"]
    ).matched
    return {"links": (found["target_id"].to_pylist(), found["ref_id"].to_pylist())}


def run(name: str, folder: str, threads: int) -> dict[str, float]:
    """Link two tables, and return the figures of one contestant in this process."""
    import pyarrow.parquet as pq

    a, b = (pq.read_table(Path(folder) / f"{side}.parquet") for side in "ab")
    true = len(np.intersect1d(a["id"].to_numpy(), b["id"].to_numpy()))
    start, used = time.perf_counter(), time.process_time()
    contestants = {
        "lshfast": link_by_lshfast,
        "splink": link_by_splink,
        "goldenmatch": link_by_goldenmatch,
    }
    found = contestants[name](a, b, threads)
    figures = {
        "linking, s": time.perf_counter() - start,
        PROCESSOR: time.process_time() - used,
    }
    figures["peak memory, GB"] = memory("VmHWM") / 1e9
    for kind, (first, second) in found.items():
        good = int((np.array(first) == np.array(second)).sum())
        end = "" if kind == "links" else " one to one"
        figures |= {
            f"recall{end}": good / true,
            f"F1{end}": 2 * good / (len(first) + true),
        }
    return figures


def beside_peers(
    rows: int, threads: int, repeat: int, peers: Sequence[str]
) -> dict[str, list[dict[str, float]]]:
    """Link people by all contestants in turn, and return what each measured."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        for side, columns in zip("ab", two_tables(rows), strict=True):
            table = pa.table(
                {name: pa.array(values.tolist()) for name, values in columns.items()}
            )
            pq.write_table(table, Path(folder) / f"{side}.parquet")

        def turn(name: str, _: int) -> dict[str, float]:
            arguments = ["run", folder, "--name", name, "--threads", str(threads)]
            return in_own_process(__file__, arguments, name)

        return take_turns(["lshfast", *peers], repeat, turn)


def ratio(
    theirs: list[dict[str, float]], ours: list[dict[str, float]], what: str
) -> float:
    return float(
        np.median([b[what] / a[what] for a, b in zip(ours, theirs, strict=True)])
    )


def reached(took: dict[str, list[dict[str, float]]]) -> bool:
    """Return whether all targets beside each peer are reached."""
    ours = took["lshfast"]
    good = ours[0]["recall"] >= LEAST_RECALL
    for theirs in (took[name] for name in took if name != "lshfast"):
        best = max(theirs[0]["F1"], theirs[0].get(BEST, 0.0))
        good &= (
            ours[0]["F1"] >= best and ratio(theirs, ours, "linking, s") >= LEAST_RATIO
        )
    return good


def by_size(sizes: Sequence[int], threads: int, repeat: int, markdown: bool) -> bool:
    """Print the processor seconds and the F1 at several sizes beside splink; return whether all targets are reached."""
    rows, good = [], True
    for size in sizes:
        took = beside_peers(size, threads, repeat, ["splink"])
        ours, theirs = took["lshfast"], took["splink"]
        seconds = (
            float(np.median([turn[PROCESSOR] for turn in turns]))
            for turns in (ours, theirs)
        )
        row = [
            f"{size:,}",
            *(f"{value:.1f}" for value in seconds),
            f"{ratio(theirs, ours, PROCESSOR):.1f}",
        ]
        rows.append(
            [*row, *(f"{value:.4f}" for value in (ours[0]["F1"], theirs[0][BEST]))]
        )
        good &= reached(took)
    name = label("splink")
    header = [
        "people in each table",
        "lshfast",
        name,
        "ratio",
        "F1 of lshfast",
        "F1 of splink, best links",
    ]
    print_table(header, rows, markdown)
    return good


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["quality", "people", "run"])
    parser.add_argument("path", nargs="?", default="", metavar="FOLDER")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument(
        "--peers",
        type=names,
        default=[*PEERS],
        help="those that are installed take part",
    )
    parser.add_argument("--name", default="lshfast", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.what != "people" and not options.path:
        parser.error("a folder is needed")
    if options.what == "run":
        print(json.dumps(run(options.name, options.path, options.threads)))
        return 0
    if options.what == "quality":
        return 0 if quality(Path(options.path), options.markdown) else 1
    if len(options.rows) > 1:
        return (
            0
            if by_size(options.rows, options.threads, options.repeat, options.markdown)
            else 1
        )
    peers = [name for name in options.peers if installed(name)]
    rows, threads = options.rows[0], options.threads
    took = beside_peers(rows, threads, options.repeat, peers)
    header = [f"{rows:,} x {rows:,} people", *(label(name, threads) for name in took)]
    print_table(header, list(compared(took, "lshfast")), options.markdown)
    return 0 if reached(took) else 1


if __name__ == "__main__":
    sys.exit(main())
