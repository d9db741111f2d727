"""How often the intervals of `lshfast.check` hold the truth, on texts whose pairs are all known.

    python benchmarks/check.py DATA_DIR [--seeds 200]
    python benchmarks/check.py --time TEXTS.jsonl [--turns 9]

DATA_DIR holds licensedb/licensedb_texts.tar.gz and dedupe_examples/chicago_early_childhood_with_true_ids.csv; the
sources of Python's standard library are the third real data set, and the others are made. An exact join finds all
pairs. With each seed, signatures are made and rows are drawn anew; of all pairs, those of the drawn rows are estimated
from, by the functions that `check` uses, and the recall of the run with this seed is compared with the interval. On
each data set, `check` itself is compared with this on the first seed. The last lines are of checks after a run: of the
texts that a run with the same seed keeps. Exits with 1 if the intervals of recall hold
less than 94 % of the truths, or less than 90 % on one data set, or `check` estimates something else.

With --time, the CPU time and the wall time of `lshfast check` are compared with those of `lshfast dedup --dry-run`, in
turns; the last line has the medians.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data import decoded, raw_members
from processes import described_run

import lshfast
from lshfast._cli.demo import standard_library
from lshfast._engine.plan import make_plan
from lshfast.quality.estimates import measured, rows_with_pairs
from lshfast.quality.near_pairs import Near, Tally, finder
from lshfast.quality.run import edges_of
from lshfast.quality.sampling import degrees, draw

TARBALL = "licensedb/licensedb_texts.tar.gz"
CHICAGO = "dedupe_examples/chicago_early_childhood_with_true_ids.csv"
MADE_ROWS, VOCABULARY = 3000, 20_000
LEAST, LEAST_OF_ONE = 0.94, 0.90
COLUMNS = [
    "data",
    "rows",
    "sample",
    "t",
    "bands",
    "pairs",
    "recall",
    "in interval",
    "below",
    "above",
    "width",
]
COLUMNS += ["pairs in interval", "rows in interval"]


class Case(NamedTuple):
    """Texts, and the options of a check of them."""

    name: str
    texts: list[Any]
    sample: int
    options: dict[str, Any]


def made(kind: str, rng: np.random.Generator) -> list[str]:
    """Return made-up texts."""

    def document(words: int, vocabulary: int = VOCABULARY) -> list[int]:
        return rng.integers(0, vocabulary, words).tolist()

    def edited(words: list[int], edits: int) -> list[int]:
        words = list(words)
        for _ in range(edits):
            words[rng.integers(len(words))] = int(rng.integers(VOCABULARY))
        return words

    rows: list[list[int]] = []
    if kind == "few duplicates":
        rows = [document(rng.integers(60, 200)) for _ in range(MADE_ROWS)]
        rows[-60:] = [edited(words, 1 + rng.integers(4)) for words in rows[:60]]
    elif kind == "templates":
        frames = [document(80) for _ in range(40)]
        rows = [
            edited(frames[rng.integers(40)], rng.integers(5)) for _ in range(MADE_ROWS)
        ]
    elif kind == "chains":
        while len(rows) < MADE_ROWS:
            words = document(80)
            for _ in range(12):
                rows.append(words)
                words = edited(words, 1 + rng.integers(2))
    elif kind == "huge group":
        words = document(120)
        rows = [edited(words, rng.integers(5)) for _ in range(MADE_ROWS // 2)]
        rows += [document(80) for _ in range(MADE_ROWS // 2)]
    else:
        rows = [document(rng.integers(2, 7), 120) for _ in range(MADE_ROWS)]
    return [" ".join(f"w{word}" for word in row) for row in rows]


def cases(folder: Path) -> Iterator[Case]:
    """Yield the data sets: three real ones at three thresholds and with a low recall, and made-up ones."""
    with open(folder / CHICAGO, encoding="utf-8", newline="") as lines:
        records = [" ".join(list(row.values())[2:]) for row in csv.DictReader(lines)]
    real = [
        (
            "licences",
            [text for _, text in decoded(raw_members(folder / TARBALL))],
            300,
            {"size": 3},
            (0.5, 0.7, 0.8),
        ),
        ("Python sources", standard_library()[1], 400, {"size": 3}, (0.4, 0.5, 0.6)),
        ("records", records, 300, {"unit": "char", "size": 3}, (0.6, 0.7, 0.8)),
    ]
    for name, texts, sample, options, thresholds in real:
        for threshold in thresholds:
            yield Case(name, texts, sample, {**options, "threshold": threshold})
    for name, texts, sample, options, thresholds in real:
        low = {"threshold": thresholds[1], "recall": 0.5}
        yield Case(f"{name}, low recall", texts, sample, {**options, **low})
    rng = np.random.default_rng(1)
    few, templates, chains, huge, short = (
        made(kind, rng)
        for kind in (
            "few duplicates",
            "templates",
            "chains",
            "huge group",
            "short texts",
        )
    )
    yield Case("few duplicates", few, 60, {"threshold": 0.8, "recall": 0.7})
    yield Case("templates", templates, 300, {"threshold": 0.8})
    yield Case(
        "templates, low recall", templates, 300, {"threshold": 0.7, "recall": 0.4}
    )
    yield Case("chains", chains, 300, {"threshold": 0.7})
    yield Case("huge group", huge, 300, {"threshold": 0.8})
    yield Case("huge group, low recall", huge, 300, {"threshold": 0.8, "recall": 0.4})
    yield Case("short texts", short, 400, {"threshold": 0.6, "size": 1, "recall": 0.8})


class Outcome(NamedTuple):
    """What happened with one seed: the recall of the run, and the estimates."""

    recall: float
    estimate: lshfast.quality.Estimate
    pairs: lshfast.quality.Estimate
    rows: lshfast.quality.Estimate


class Truth:
    """All pairs of some texts, from which each seed estimates."""

    def __init__(self, case: Case) -> None:
        self.options = {
            name: value
            for name, value in case.options.items()
            if name in ("unit", "size")
        }
        sets = lshfast.shingle(case.texts, **self.options)
        copies = lshfast.find_copies(sets)
        rows = np.flatnonzero((copies == np.arange(len(sets))) & (sets.counts > 0))
        self.case, self.sets, self.rows, self.n = case, sets.take(rows), rows, len(sets)
        self.pairs = lshfast.exact.pairs(self.sets, threshold=case.options["threshold"])
        self.ends = len(np.unique(np.concatenate([self.pairs["i"], self.pairs["j"]])))

    def with_seed(self, seed: int) -> Outcome:
        """Draw rows and signatures, and estimate from the pairs of the drawn rows."""
        case, n, i, j = self.case, len(self.sets), self.pairs["i"], self.pairs["j"]
        plan = make_plan(**case.options, seed=seed)
        signatures = plan.hasher.sketch(
            lshfast.shingle(case.texts, **self.options, seed=seed).take(self.rows)
        )
        members = np.arange(n)
        met = degrees(signatures, members, plan.threshold, plan.threads)
        sample = draw(self.n, members, met, case.sample, seed)
        found = finder(signatures, [plan.bands])(i, j)
        place = np.full(n, -1)
        place[sample.rows] = np.arange(len(sample.rows))
        tally = Tally(sample, edges_of(plan.threshold), [plan.bands])
        for own, other in ((i, j), (j, i)):
            drawn = place[own] >= 0
            similar = self.pairs["similarity"][drawn]
            tally.add(Near(place[own[drawn]], other[drawn], similar, found[drawn]))
        bins = slice(tally.bin_at(plan.threshold), None)
        estimates, (rows, _) = (
            measured(tally, sample, bins),
            rows_with_pairs(tally, sample, bins),
        )
        recall = float(found.mean()) if len(found) else float("nan")
        return Outcome(recall, estimates.recall, estimates.pairs, rows)


def is_same(truth: Truth, outcome: Outcome) -> bool:
    """Return whether `check` estimates the same."""
    result = lshfast.check(
        truth.case.texts, **truth.case.options, sample=truth.case.sample, seed=0
    )
    ours = [outcome.estimate, outcome.pairs, outcome.rows]
    theirs = [result.recall, result.pairs, result.near_rows]
    return np.allclose(
        [(e.value, e.low, e.high) for e in ours],
        [(e.value, e.low, e.high) for e in theirs],
    )


def holds(interval: lshfast.quality.Estimate, truth: float) -> bool:
    """Return whether a number is in an interval."""
    return interval.low - 1e-9 <= truth <= interval.high + 1e-9


def measure(case: Case, seeds: int) -> tuple[list[str], float, bool]:
    """Return a line of the table, the share of intervals of recall that hold the truth, and whether `check` agrees."""
    truth = Truth(case)
    outcomes = [truth.with_seed(seed) for seed in range(seeds)]
    share = float(np.mean([holds(each.estimate, each.recall) for each in outcomes]))
    plan = make_plan(**case.options)
    line = [case.name, f"{len(truth.sets):,}", f"{case.sample}", f"{plan.threshold:g}"]
    line += [
        f"{plan.bands.bands} x {plan.bands.rows_per_band}",
        f"{len(truth.pairs):,}",
    ]
    line += [f"{np.mean([each.recall for each in outcomes]):.4f}", f"{share:.1%}"]
    line += [
        f"{np.mean([each.recall < each.estimate.low - 1e-9 for each in outcomes]):.1%}"
    ]
    line += [
        f"{np.mean([each.recall > each.estimate.high + 1e-9 for each in outcomes]):.1%}"
    ]
    line += [
        f"{np.mean([each.estimate.high - each.estimate.low for each in outcomes]):.4f}"
    ]
    line += [
        f"{np.mean([holds(each.pairs, len(truth.pairs)) for each in outcomes]):.1%}"
    ]
    line += [f"{np.mean([holds(each.rows, truth.ends) for each in outcomes]):.1%}"]
    return line, share, is_same(truth, outcomes[0])


def rows_left(case: Case, seed: int) -> Case:
    """Return the texts that a run with this seed keeps."""
    kept = lshfast.dedup(case.texts, **case.options, seed=seed).keep
    return case._replace(
        texts=[text for text, keep in zip(case.texts, kept, strict=True) if keep]
    )


def measure_left(case: Case, seeds: int) -> list[str]:
    """Return a line of the table for checks after a run, with its seed: the pairs and rows that are left."""
    pairs_held, rows_held, numbers, sizes = [], [], [], []
    for seed in range(seeds):
        truth = Truth(rows_left(case, seed))
        outcome = truth.with_seed(seed)
        pairs_held.append(holds(outcome.pairs, len(truth.pairs)))
        rows_held.append(holds(outcome.rows, truth.ends))
        numbers.append(len(truth.pairs))
        sizes.append(len(truth.sets))
    plan = make_plan(**case.options)
    line = [
        f"{case.name}, left",
        f"{np.mean(sizes):,.0f}",
        f"{case.sample}",
        f"{plan.threshold:g}",
    ]
    line += [
        f"{plan.bands.bands} x {plan.bands.rows_per_band}",
        f"{np.mean(numbers):,.1f}",
    ]
    return [*line, *[""] * 5, f"{np.mean(pairs_held):.1%}", f"{np.mean(rows_held):.1%}"]


def cases_of_runs() -> Iterator[Case]:
    """Yield texts of which a run leaves some similar pairs."""
    rng = np.random.default_rng(2)
    for kind in ("templates", "chains", "short texts"):
        size = 1 if kind == "short texts" else 3
        yield Case(
            kind, made(kind, rng), 300, {"threshold": 0.7, "recall": 0.4, "size": size}
        )


def seconds_of(command: str, *options: str) -> tuple[float, float]:
    """Return the CPU time and the wall time of a command of lshfast."""
    import resource

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before, start = used(), time.perf_counter()
    words = [sys.executable, "-m", "lshfast", command, *options, "--quiet"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return used() - before, time.perf_counter() - start


def compare_times(path: Path, turns: int) -> None:
    """Print the CPU time and the wall time of a check and of a run, in turns, and the medians."""
    print(
        "dedup --dry-run, CPU and wall s | check, CPU and wall s | ratio of CPU | ratio of wall"
    )
    found = []
    for _ in range(turns):
        run, check = (
            seconds_of("dedup", str(path), "--dry-run"),
            seconds_of("check", str(path)),
        )
        found.append([*run, *check, check[0] / run[0], check[1] / run[1]])
        print(
            "{:.2f} {:.2f} | {:.2f} {:.2f} | {:.2f} | {:.2f}".format(*found[-1]),
            flush=True,
        )
    print(
        "medians: {:.2f} {:.2f} | {:.2f} {:.2f} | {:.2f} | {:.2f}".format(
            *np.median(found, axis=0)
        )
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="How often the intervals of a check hold the truth."
    )
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="DATA_DIR",
        help=f"holds {TARBALL} and {CHICAGO}",
    )
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument(
        "--time",
        type=Path,
        metavar="JSONL",
        help="compare the time with that of a run, and end",
    )
    parser.add_argument(
        "--turns", type=int, default=9, help="how often the times are compared"
    )
    arguments = parser.parse_args(argv)
    if arguments.time is not None:
        compare_times(arguments.time, arguments.turns)
        return 0
    if arguments.folder is None:
        parser.error("DATA_DIR or --time is needed")
    for name in (TARBALL, CHICAGO):
        if not (arguments.folder / name).is_file():
            parser.error(f"{arguments.folder / name} is missing")
    print(f"{described_run()}, {arguments.seeds} seeds")
    print(" | ".join(COLUMNS), flush=True)
    shares, right, start = [], True, time.perf_counter()
    for case in cases(arguments.folder):
        line, share, same = measure(case, arguments.seeds)
        print(" | ".join([*line, *([] if same else ["DIFFERS"])]), flush=True)
        shares.append(share)
        right &= same
    for case in cases_of_runs():
        print(" | ".join(measure_left(case, arguments.seeds)), flush=True)
    print(
        f"of all intervals, {np.mean(shares):.1%} hold the recall; {time.perf_counter() - start:.0f} s"
    )
    right &= float(np.mean(shares)) >= LEAST and min(shares) >= LEAST_OF_ONE
    if not right:
        print("FAILED", file=sys.stderr)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
