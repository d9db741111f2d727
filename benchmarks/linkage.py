"""Quality of record linkage with the defaults, on many labelled data sets: public ones and generated ones.

    python benchmarks/linkage.py FOLDER [--only NAME ...] [--baseline] [--ids | --no-ids]

FOLDER holds dedupe_examples/, amazon_google/, cora/, dblp_acm/, febrl/ and restaurants/; "-" leaves these public data
sets out. The generated tables (benchmarks/linkage_tables.py) have a fixed seed; those of sentences also depend on the
version of Python, whose docstrings they are made from. Each data set is linked twice: with the column of the ids named
(--ids for these runs only), and without (--no-ids), so that the ids look like any other column. Labels are used for the
figures only. "F1", "precision" and "recall" are those of the links. "groups" is the F1 of all pairs of records in the
same group, for data sets of one table. "warnings" counts the warnings of the run. --baseline adds the F1 of TF-IDF: the
vectors of character trigrams over all common fields except the ids, and pairs that are the nearest of both records,
with a cosine of at least 0.3.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
from linkage_tables import GENERATED, Table

from lshfast.records import LinkResult, dedup_records, match_records

LEAST_COSINE = 0.3
BLOCK_ROWS = 500  # rows of the first table whose cosines are computed at once
HEADER = (
    "data",
    "rows",
    "pairs",
    "ids",
    "F1",
    "precision",
    "recall",
    "groups",
    "seconds",
    "warnings",
    "TF-IDF",
)
WIDTHS = (18, 15, 8, 5, 6, 9, 6, 6, 8, 8, 6)

Pairs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DataSet:
    """Tables with labels.

    Attributes
    ----------
    name : str
    a, b : dict of str to list of str
        The tables as columns; an empty string is a missing value. b is None if duplicates within a are sought.
    id_column : str, or None
        The column of the ids in both tables.
    true_pairs : ndarray of int64, shape (n, 2)
        The rows of each true match, sorted. Within one table, these are all pairs of the same entity, the smaller row
        first.
    """

    name: str
    a: Table
    b: Table | None
    id_column: str | None
    true_pairs: Pairs

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of rows of both tables; those of the first twice if there is one."""
        first = len(next(iter(self.a.values())))
        return first, first if self.b is None else len(next(iter(self.b.values())))


def read(path: Path) -> Table:
    """Read a CSV file as columns."""
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    rows = list(csv.reader(text.splitlines(keepends=True), skipinitialspace=True))
    names = rows[0]
    return {
        name: [row[place] if place < len(row) else "" for row in rows[1:]]
        for place, name in enumerate(names)
    }


def without(table: Table, *names: str) -> Table:
    return {name: values for name, values in table.items() if name not in names}


def sorted_pairs(pairs: Iterable[tuple[int, int]]) -> Pairs:
    """Return pairs of rows as an array, each once, sorted."""
    return np.array(sorted(set(pairs)), np.int64).reshape(-1, 2)


def same_entity(entities: Iterable[object]) -> Pairs:
    """Return all pairs of rows with the same entity."""
    members: dict[object, list[int]] = defaultdict(list)
    for row, entity in enumerate(entities):
        members[entity].append(row)
    return sorted_pairs(
        pair for found in members.values() for pair in combinations(found, 2)
    )


def rows_of(ids: Sequence[str], keys: Iterable[str]) -> list[int]:
    """Return the row of each key."""
    place = {key: row for row, key in enumerate(ids)}
    return [place[key] for key in keys]


def two_files(name: str, a: Path, b: Path, truth: Path) -> DataSet:
    """Read two tables with ids in "id", and the file of the matches, whose columns are ids of a and of b."""
    first, second = read(a), read(b)
    left, right = read(truth).values()
    pairs = zip(rows_of(first["id"], left), rows_of(second["id"], right), strict=True)
    return DataSet(name, first, second, "id", sorted_pairs(pairs))


def abt_buy(folder: Path) -> DataSet:
    path = folder / "dedupe_examples"
    return two_files(
        "Abt-Buy",
        *(path / f"AbtBuy_jedai_{part}.csv" for part in ("a", "b", "matches")),
    )


def amazon_google(folder: Path) -> DataSet:
    path = folder / "amazon_google"
    return two_files(
        "Amazon-Google",
        *(path / f"{part}.csv" for part in ("Amazon", "Google", "matches")),
    )


def dblp_acm(folder: Path) -> DataSet:
    path = folder / "dblp_acm"
    return two_files(
        "DBLP-ACM",
        *(path / f"{part}.csv" for part in ("DBLP2", "ACM", "DBLP-ACM_perfectMapping")),
    )


def cora(folder: Path) -> DataSet:
    table, matches = (
        read(folder / "cora" / "cora.csv"),
        read(folder / "cora" / "matches.csv"),
    )
    first, second = (rows_of(table["Entity Id"], keys) for keys in matches.values())
    pairs = ((min(pair), max(pair)) for pair in zip(first, second, strict=True))
    return DataSet("cora", table, None, "Entity Id", sorted_pairs(pairs))


def febrl(folder: Path, number: int) -> DataSet:
    """Read a data set of FEBRL. Its ids tell the matches; without the ids, row numbers stand in their place."""
    tables = [
        read(path) for path in sorted((folder / "febrl").glob(f"dataset{number}*.csv"))
    ]
    entities = [[key.split("-")[1] for key in table["rec_id"]] for table in tables]
    for table in tables:
        table["rec_id"] = [str(row) for row in range(len(table["rec_id"]))]
    if len(tables) == 1:
        return DataSet(
            f"FEBRL {number}", tables[0], None, "rec_id", same_entity(entities[0])
        )
    pairs = sorted_pairs(enumerate(rows_of(entities[1], entities[0])))
    return DataSet(f"FEBRL {number}", tables[0], tables[1], "rec_id", pairs)


def restaurants(folder: Path) -> DataSet:
    table = read(folder / "restaurants" / "restaurant-nophone-training.csv")
    return DataSet(
        "restaurants",
        without(table, "unique_id"),
        None,
        None,
        same_entity(table["unique_id"]),
    )


def chicago(folder: Path) -> DataSet:
    table = read(
        folder / "dedupe_examples" / "chicago_early_childhood_with_true_ids.csv"
    )
    return DataSet(
        "Chicago", without(table, "True Id"), None, "Id", same_entity(table["True Id"])
    )


def patstat(folder: Path) -> DataSet:
    """Read applicants of patents, and the entity of each from the reference."""
    table = read(folder / "dedupe_examples" / "patstat_input.csv.gz")
    reference = read(folder / "dedupe_examples" / "patstat_reference.csv")
    entity = dict(zip(reference["person_id"], reference["leuven_id"], strict=True))
    return DataSet(
        "patstat",
        table,
        None,
        "person_id",
        same_entity(entity[key] for key in table["person_id"]),
    )


PUBLIC: dict[str, Callable[[Path], DataSet]] = {
    "Abt-Buy": abt_buy,
    "Amazon-Google": amazon_google,
    "cora": cora,
    "DBLP-ACM": dblp_acm,
    **{
        f"FEBRL {number}": lambda folder, number=number: febrl(folder, number)
        for number in range(1, 5)
    },
    "restaurants": restaurants,
    "Chicago": chicago,
    "patstat": patstat,
}


def generated(name: str) -> DataSet:
    a, b, truth = GENERATED[name]()
    return DataSet(
        name, a, b, "id", same_entity(truth) if b is None else sorted_pairs(truth)
    )


def data_sets(
    folder: Path | str | None, only: Sequence[str] | None = None
) -> Iterator[DataSet]:
    """Yield the data sets one after another; each is read or generated when it is needed.

    Parameters
    ----------
    folder : path, or None
        The folder of the public data sets; None for generated tables only.
    only : sequence of str, optional
        Names, or beginnings of names, of the data sets. Case, spaces and punctuation do not count.
    """
    names = [*(PUBLIC if folder is not None else ()), *GENERATED]
    plain = {name: re.sub(r"\W", "", name).lower() for name in names}
    wanted = [re.sub(r"\W", "", name).lower() for name in only or [""]]
    for name in names:
        if any(plain[name].startswith(start) for start in wanted):
            yield (
                PUBLIC[name](Path(folder))
                if folder is not None and name in PUBLIC
                else generated(name)
            )


# ---- figures ----


def figures(found: Pairs, true: Pairs) -> tuple[float, float, float]:
    """Return F1, precision and recall of pairs, each pair once in both."""
    good = len(
        np.intersect1d(*(pairs[:, 0] << 32 | pairs[:, 1] for pairs in (found, true)))
    )
    return (
        2 * good / max(1, len(found) + len(true)),
        good / max(1, len(found)),
        good / max(1, len(true)),
    )


def linked(data: DataSet, with_ids: bool) -> LinkResult:
    """Link a data set with the defaults."""
    id_column = data.id_column if with_ids else None
    if data.b is None:
        return dedup_records(data.a, id_column=id_column)
    return match_records(data.a, data.b, id_column=id_column)


def texts(data: DataSet) -> list[list[str]]:
    """Return the records of both tables, or of one, as texts: their common fields, joined by spaces."""
    tables = [data.a] if data.b is None else [data.a, data.b]
    names = [name for name in data.a if name in tables[-1] and name != data.id_column]
    return [
        [" ".join(row) for row in zip(*(table[name] for name in names), strict=True)]
        for table in tables
    ]


def nearest_pairs(data: DataSet) -> Pairs:
    """Return the pairs of the baseline: the nearest of both records by TF-IDF of trigrams, with a sufficient cosine."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    all_texts = texts(data)
    vectorizer = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True, dtype=np.float32
    )
    vectorizer.fit([text for table in all_texts for text in table])
    first, second = (
        vectorizer.transform(all_texts[0]),
        vectorizer.transform(all_texts[-1]).T.tocsc(),
    )
    best_b, value_b = (
        np.zeros(first.shape[0], int),
        np.zeros(first.shape[0], np.float32),
    )
    best_a, value_a = (
        np.zeros(second.shape[1], int),
        np.zeros(second.shape[1], np.float32),
    )
    for start in range(0, first.shape[0], BLOCK_ROWS):
        cosines = (first[start : start + BLOCK_ROWS] @ second).toarray()
        rows = np.arange(start, start + len(cosines))
        if data.b is None:
            cosines[rows - start, rows] = -1  # the record itself
        best_b[rows], value_b[rows] = cosines.argmax(1), cosines.max(1)
        place, value = cosines.argmax(0), cosines.max(0)
        better = value > value_a
        best_a[better], value_a[better] = place[better] + start, value[better]
    rows = np.flatnonzero(
        (best_a[best_b] == np.arange(len(best_b))) & (value_b >= LEAST_COSINE)
    )
    pairs = np.column_stack([rows, best_b[rows]])
    return pairs if data.b is not None else pairs[pairs[:, 0] < pairs[:, 1]]


def report(data: DataSet, with_ids: bool, baseline: str) -> bool:
    """Link one data set and print its line of the table; return whether the run succeeded."""
    first, second = data.sizes
    rows = f"{first:,}" if data.b is None else f"{first:,} x {second:,}"
    line = [
        data.name,
        rows,
        f"{len(data.true_pairs):,}",
        "" if data.id_column is None else "yes" if with_ids else "no",
    ]
    start = time.perf_counter()
    try:
        found = linked(data, with_ids)
    except Exception as error:
        print_line([*line, f"failed: {error!r}"])
        return False
    seconds = time.perf_counter() - start
    line += [
        f"{value:.3f}"
        for value in figures(np.column_stack([found.i, found.j]), data.true_pairs)
    ]
    if data.b is None:
        line.append(
            f"{figures(same_entity(found.groups().tolist()), data.true_pairs)[0]:.3f}"
        )
    else:
        line.append("")
    print_line([*line, f"{seconds:.1f}", str(len(found.summary.warnings)), baseline])
    return True


def print_line(cells: Sequence[str]) -> None:
    """Print one line of the table as soon as it is known."""
    others = (
        cell.rjust(width) for cell, width in zip(cells[1:], WIDTHS[1:], strict=False)
    )
    print("  ".join([cells[0].ljust(WIDTHS[0]), *others]), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="names of data sets, or their beginnings",
    )
    parser.add_argument("--baseline", action="store_true", help="add the F1 of TF-IDF")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--ids",
        action="store_true",
        help="only the runs with the column of the ids named",
    )
    which.add_argument("--no-ids", action="store_true", help="only the runs without")
    options = parser.parse_args(argv)
    good = True
    print_line(HEADER)
    for data in data_sets(
        None if options.folder == "-" else options.folder, options.only
    ):
        baseline = (
            f"{figures(nearest_pairs(data), data.true_pairs)[0]:.3f}"
            if options.baseline
            else ""
        )
        if not options.no_ids or data.id_column is None:
            good &= report(data, True, baseline)
        if not options.ids and data.id_column is not None:
            good &= report(data, False, baseline)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
