"""Record linkage by splink on DuckDB, as a careful user runs it: `linkage_splink.py FOLDER OUTPUT THREADS`.

FOLDER holds a.parquet, maybe b.parquet, and kinds.json, which says what each column holds. Writes a Parquet file with
the rows i of a and j of b (or of a) and the probability. Prints a line of JSON with version, threshold and estimates.
The comparisons are those that splink documents for such columns. The blocking rules are pairs of columns and single
codes; the prior comes from deterministic rules; u from random pairs; m from expectation maximisation on two blocking
rules. For two tables the links are the pairs that are the best of both records. Needs splink 5 only.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from itertools import combinations, product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import splink
import splink.comparison_library as cl
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

SINGLE = (
    "phone",
    "email",
    "code",
)  # kinds whose equal values are rare enough for a rule of their own
MOST_BLOCK_PAIRS = 30_000_000  # of one blocking rule
MOST_TRAINING_PAIRS = 10_000_000
THRESHOLD = 0.5


def comparisons(kinds: dict[str, str]) -> list[Any]:
    """Return splink's comparison of each column."""
    by_kind = {kind: name for name, kind in kinds.items()}
    chosen = []
    if "given" in by_kind and "surname" in by_kind:
        names = cl.ForenameSurnameComparison(
            by_kind["given"],
            by_kind["surname"],
            forename_surname_concat_col_name="whole_name",
        )
        chosen.append(names)
    for name, kind in kinds.items():
        if kind in ("given", "surname") and "given" in by_kind and "surname" in by_kind:
            continue
        if kind in ("given", "surname", "name"):
            chosen.append(
                cl.NameComparison(name).configure(term_frequency_adjustments=True)
            )
        elif kind == "date":
            chosen.append(cl.DateOfBirthComparison(name, input_is_string=True))
        elif kind == "email":
            chosen.append(cl.EmailComparison(name))
        elif kind in ("phone", "code"):
            chosen.append(cl.DamerauLevenshteinAtThresholds(name, [1, 2]))
        elif kind == "postcode":
            chosen.append(
                cl.LevenshteinAtThresholds(name, [1]).configure(
                    term_frequency_adjustments=True
                )
            )
        elif kind == "town":
            chosen.append(
                cl.JaroWinklerAtThresholds(name, [0.9]).configure(
                    term_frequency_adjustments=True
                )
            )
        elif kind in ("street", "text"):
            chosen.append(cl.JaroWinklerAtThresholds(name, [0.92, 0.8]))
        elif kind in ("category", "number"):
            chosen.append(
                cl.ExactMatch(name).configure(term_frequency_adjustments=True)
            )
    return chosen


class Blocks:
    """Candidates for blocking rules, and how many pairs each has."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        tables: list[str],
        kinds: dict[str, str],
    ) -> None:
        self.connection = connection
        self.tables = tables
        self.kinds = kinds

    def pairs(self, columns: tuple[str, ...]) -> float:
        keys = ", ".join(columns)
        known = " and ".join(f"{name} is not null" for name in columns)
        counts = [
            f"(select {keys}, count(*) n from {table} where {known} group by all)"
            for table in self.tables
        ]
        if len(counts) == 1:
            query = f"select sum(n * (n - 1) / 2) from {counts[0]}"
        else:
            query = f"select sum(x.n * y.n) from {counts[0]} x join {counts[1]} y using ({keys})"
        return float(self.connection.execute(query).fetchall()[0][0] or 0)

    def least_prior(self) -> float:
        """Return the prior of one match among all pairs."""
        sizes = [
            self.connection.execute(f"select count(*) from {table}").fetchall()[0][0]
            for table in self.tables
        ]
        return 1 / max(2, sizes[0] * sizes[-1])

    def rules(self) -> list[tuple[str, ...]]:
        """Return rules for prediction: single codes, and pairs of columns that are not too frequent."""
        singles = [(name,) for name, kind in self.kinds.items() if kind in SINGLE]
        chosen = [rule for rule in singles if self.pairs(rule) <= MOST_BLOCK_PAIRS / 10]
        taken = {name for rule in chosen for name in rule}
        useful = [
            name
            for name in self.kinds
            if name not in taken and self.kinds[name] != "category"
        ]
        if self.of_kind("given") and self.of_kind("surname"):
            pairs = list(combinations(self.of_kind("given", "surname", "date"), 2))
            pairs += product(self.of_kind("surname"), self.of_kind("street")[:1])
            pairs += product(self.of_kind("date"), self.of_kind("postcode", "town")[:1])
        else:
            pairs = list(combinations(useful, 2))
        chosen += [rule for rule in pairs if self.pairs(rule) <= MOST_BLOCK_PAIRS]
        chosen += [
            (name,)
            for name in useful
            if self.kinds[name] == "date" and self.pairs((name,)) <= 100_000
        ]
        return chosen or [(name,) for name in useful]

    def of_kind(self, *kinds: str) -> list[str]:
        return [
            name
            for kind in kinds
            for name, other in self.kinds.items()
            if other == kind
        ]

    def training(self) -> list[tuple[str, ...]]:
        """Return two rules for EM: names, and what else tells a person."""
        names = tuple(self.of_kind("given", "surname", "name", "text")[:2])
        others = self.of_kind(
            "date", "code", "phone", "email", "postcode", "street", "town", "number"
        )
        rules = [names] if names else []
        for name in others:
            if self.pairs((name,)) <= MOST_TRAINING_PAIRS or len(others) == 1:
                rules.append((name,))
            if len(rules) == 2:
                break
        return rules[:2]

    def certain(self) -> list[tuple[str, ...]]:
        """Return deterministic rules for the prior."""
        names = tuple(self.of_kind("given", "surname", "name")[:2])
        others = self.of_kind("date", "phone", "email", "code")
        rules = (
            [(*names, name) for name in others]
            if names
            else list(combinations(others, 2))
        )
        return rules or [tuple(self.kinds)]


def plain(name: str) -> str:
    """Return the name of a column as SQL takes it without quotes."""
    return re.sub(r"\W", "_", name)


def prepared(
    folder: Path, kinds: dict[str, str], connection: duckdb.DuckDBPyConnection
) -> list[str]:
    """Load the tables, with missing values as null, row numbers as ids, and the whole name."""
    by_kind = {kind: name for name, kind in kinds.items()}
    columns = ", ".join(
        f"nullif(trim(\"{name}\"), '') as {plain(name)}" for name in kinds
    )
    if "given" in by_kind and "surname" in by_kind:
        columns += f", nullif(trim(\"{by_kind['given']}\" || ' ' || \"{by_kind['surname']}\"), '') as whole_name"
    tables = []
    for side in "ab":
        path = folder / f"{side}.parquet"
        if path.exists():
            query = f"select row_number() over () - 1 as unique_id, {columns} from read_parquet('{path}')"
            connection.execute("set preserve_insertion_order=true")
            connection.execute(f"create table table_{side} as {query}")
            tables.append(f"table_{side}")
    return tables


def link(folder: Path, output: Path, threads: int) -> dict[str, Any]:
    kinds = json.loads((folder / "kinds.json").read_text())
    kinds = {name: kind for name, kind in kinds.items() if kind != "ignore"}
    connection = duckdb.connect()
    connection.execute(f"set threads={threads}")
    tables = prepared(folder, kinds, connection)
    kinds = {plain(name): kind for name, kind in kinds.items()}
    blocks = Blocks(connection, tables, kinds)
    rules = blocks.rules()
    settings = SettingsCreator(
        link_type="link_only" if len(tables) == 2 else "dedupe_only",
        comparisons=comparisons(kinds),
        probability_two_random_records_match=blocks.least_prior(),
        blocking_rules_to_generate_predictions=[block_on(*rule) for rule in rules],
        retain_intermediate_calculation_columns=False,
        retain_matching_columns=False,
    )
    api = DuckDBAPI(connection=connection)
    linker = Linker([api.register(table) for table in tables], settings)
    notes = []
    certain = blocks.certain()
    if any(blocks.pairs(rule) for rule in certain):
        rules_of_prior = [block_on(*rule) for rule in certain]
        linker.training.estimate_probability_two_random_records_match(
            rules_of_prior, recall=0.7
        )
    else:  # splink fails with a prior of zero
        notes.append("no pair agrees in the deterministic rules")
    linker.training.estimate_u_using_random_sampling(max_pairs=2e6, seed=1)
    for rule in blocks.training():
        try:
            linker.training.estimate_parameters_using_expectation_maximisation(
                block_on(*rule)
            )
        except Exception as error:  # no pairs agree
            notes.append(f"EM {rule}: {error}")
    found = linker.inference.predict(threshold_match_probability=THRESHOLD)
    name = found.physical_name
    query = f"select unique_id_l i, unique_id_r j, match_probability p, match_weight w from {name}"
    if len(tables) == 2:
        best = "row_number() over (partition by {} order by w desc, i, j) = 1"
        query = (
            f"select * from ({query}) qualify {best.format('i')} and {best.format('j')}"
        )
    links = connection.sql(f"select i, j, p from ({query})").to_arrow_table()
    pq.write_table(
        links.cast(
            pa.schema([("i", pa.int64()), ("j", pa.int64()), ("p", pa.float64())])
        ),
        output,
    )
    return {
        "version": splink.__version__,
        "rules": [" + ".join(rule) for rule in rules],
        "notes": notes,
    }


def main() -> int:
    logging.disable(logging.WARNING)
    folder, output, threads = sys.argv[1:]
    print(json.dumps(link(Path(folder), Path(output), int(threads))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
