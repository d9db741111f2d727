"""Record linkage judged: lshfast, splink and TF-IDF on the cases of linkage_cases.py, one process a case.

    python benchmarks/linkage_contest.py run --only people/A/3/20000/10 messy --out main.jsonl [--data FOLDER]
    python benchmarks/linkage_contest.py run --engine splink --python PYTHON --only ... --out splink.jsonl
    python benchmarks/linkage_contest.py run --engine tfidf --only public calibration --out tfidf.jsonl --data FOLDER
    python benchmarks/linkage_contest.py table main.jsonl model.jsonl --splink splink.jsonl --tfidf tfidf.jsonl
    python benchmarks/linkage_contest.py wrong CASE [--data FOLDER] [--count 10]
    python benchmarks/linkage_contest.py list [--only ...]

PYTHONPATH chooses the version of lshfast. Tables are generated once and kept as Parquet files in --cache, which must
be removed after a change of a generator. Seconds, processor seconds (cpu) and peak memory are those of a whole
process that reads the files and writes the links. --out is appended to, and the latest line of a case counts.

`table` marks what misses a target: F (F1), P (precision), R (recall), S (F1 of splink less .002), T (F1 of TF-IDF), M
(F1 of the first file), L (too many links), E (expected precision), I (its interval); w: the run warns. `wrong` shows
wrong and missed pairs of the last run of a case. Cases that are kept back take part with --kept-back.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ENGINES = ("lshfast", "splink", "tfidf")
SHOWN_CHARACTERS = 120  # of a value
Result = dict[str, Any]

# ---- in a process of its own ----


def link_by_lshfast(folder: Path, output: Path, threads: int) -> Result:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lshfast.records import dedup_records, match_records

    a = pq.read_table(folder / "a.parquet")
    refused = ""
    warnings: list[str] = []
    i = j = np.zeros(0, np.int64)
    probabilities = np.zeros(0)
    interval = None
    try:
        if (folder / "b.parquet").exists():
            found = match_records(
                a, pq.read_table(folder / "b.parquet"), threads=threads
            )
        else:
            found = dedup_records(a, threads=threads)
        i, j, probabilities = found.i, found.j, found.probabilities
        warnings = list(found.summary.warnings)
        interval = getattr(found.summary, "precision", None)
    except Exception as error:
        refused = f"{type(error).__name__}: {error}"
    if probabilities is None:
        probabilities = np.full(len(i), np.nan)
    links = pa.table(
        {
            "i": np.asarray(i, np.int64),
            "j": np.asarray(j, np.int64),
            "p": np.asarray(probabilities, float),
        }
    )
    pq.write_table(links, output)
    if interval is not None:
        interval = [
            float(value)
            for value in np.atleast_1d(np.asarray(interval, float)).tolist()
        ]
    return {"warnings": warnings, "refused": refused, "interval": interval}


def link_by_tfidf(folder: Path, output: Path, threads: int) -> Result:
    import linkage
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths = [
        path for path in (folder / "a.parquet", folder / "b.parquet") if path.exists()
    ]
    tables = [
        {
            name: [str(value or "") for value in values]
            for name, values in pq.read_table(path).to_pydict().items()
        }
        for path in paths
    ]
    data = linkage.DataSet(
        "",
        tables[0],
        tables[1] if len(tables) > 1 else None,
        None,
        np.zeros((0, 2), np.int64),
    )
    pairs = linkage.nearest_pairs(data)
    links = pa.table(
        {"i": pairs[:, 0], "j": pairs[:, 1], "p": np.full(len(pairs), np.nan)}
    )
    pq.write_table(links, output)
    return {}


# ---- the cases ----


def cached(case: Any, cache: Path) -> Path:
    """Return the folder with the tables of a case, which are made if they are not there."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = cache / case.name.replace("/", "_")
    if (folder / "true.npy").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    tables = case.make()
    for side, columns in (("a", tables.a), ("b", tables.b)):
        if columns is not None:
            table = pa.table(
                {name: pa.array(list(values)) for name, values in columns.items()}
            )
            pq.write_table(table, folder / f"{side}.parquet")
    (folder / "kinds.json").write_text(json.dumps(dict(tables.kinds)))
    np.save(folder / "true.npy", tables.true_pairs)
    return folder


def rows_in(folder: Path) -> list[int]:
    import pyarrow.parquet as pq

    paths = [folder / f"{side}.parquet" for side in "ab"]
    return [pq.read_metadata(path).num_rows for path in paths if path.exists()]


def codes(pairs: Any) -> Any:
    return pairs[:, 0].astype("int64") << 32 | pairs[:, 1].astype("int64")


def links_in(folder: Path, engine: str) -> tuple[Any, Any]:
    """Return the pairs and probabilities of the last run."""
    import numpy as np
    import pyarrow.parquet as pq

    links = pq.read_table(folder / f"links-{engine}.parquet")
    pairs = np.column_stack([links["i"].to_numpy(), links["j"].to_numpy()])
    if not (folder / "b.parquet").exists():
        pairs = np.sort(pairs, 1)
    return pairs, links["p"].to_numpy()


def figures(folder: Path, engine: str) -> Result:
    import numpy as np

    true_pairs = np.load(folder / "true.npy")
    pairs, probabilities = links_in(folder, engine)
    right = int(np.isin(codes(pairs), codes(true_pairs)).sum())
    precision = right / len(pairs) if len(pairs) else None
    known = len(pairs) and not np.isnan(probabilities).any()
    result = {
        "links": len(pairs),
        "right": right,
        "true": len(true_pairs),
        "precision": precision,
        "recall": right / len(true_pairs) if len(true_pairs) else None,
        "f1": 2 * right / (len(pairs) + len(true_pairs)) if len(true_pairs) else None,
        "expected": float(probabilities.mean()) if known else None,
    }
    if engine == "splink" and len(true_pairs):
        for least in (0.9, 0.99):
            part = pairs[probabilities >= least]
            good = int(np.isin(codes(part), codes(true_pairs)).sum())
            result[f"f1 at {least}"] = 2 * good / (len(part) + len(true_pairs))
    return result


def run_case(case: Any, options: argparse.Namespace) -> Result:
    """Run one case in a process of its own, and return its figures."""
    folder = cached(case, options.cache)
    result: Result = {
        "case": case.name,
        "engine": options.engine,
        "rows": rows_in(folder),
    }
    links = folder / f"links-{os.getpid()}.parquet"
    paths = [str(folder), str(links)]
    threads = str(options.threads)
    if options.engine == "splink":
        command = [options.python, str(HERE / "linkage_splink.py"), *paths, threads]
    else:
        command = [
            sys.executable,
            __file__,
            "link",
            *paths,
            "--engine",
            options.engine,
            "--threads",
            threads,
        ]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors, cwd=HERE)
        resource.prlimit(
            process.pid, resource.RLIMIT_CPU, (options.seconds, options.seconds + 5)
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        result["seconds"] = round(time.perf_counter() - start, 2)
        result["cpu"] = round(usage.ru_utime + usage.ru_stime, 2)
        result["peak_mb"] = round(usage.ru_maxrss * 1024 / 1e6)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            message = errors.read().decode(errors="replace")[-1500:]
            result["failed"] = (
                "too many processor seconds"
                if process.returncode == -signal.SIGXCPU
                else message
            )
            return result
        result |= json.loads(output.read().splitlines()[-1])
    links.rename(folder / f"links-{options.engine}.parquet")
    return result | figures(folder, options.engine)


# ---- the table ----


def latest(paths: Sequence[Path]) -> dict[str, Result]:
    """Return the latest result of each case."""
    results: dict[str, Result] = {}
    for path in paths:
        for line in path.read_text().splitlines():
            result = json.loads(line)
            results[result["case"]] = result
    return results


def misses(
    result: Result,
    target: Any,
    first: Result | None,
    splink: Result | None,
    tfidf: Result | None,
) -> str:
    """Return a letter for each target that a result misses."""
    if "failed" in result:
        return "failed"
    marks = []
    if (
        target.links is not None
        and not result.get("refused")
        and result["links"] > max(1, target.links * sum(result["rows"]))
    ):
        marks.append("L")
    if target.links is None and result.get("refused"):
        return "refused"
    for mark, name in (("F", "f1"), ("P", "precision"), ("R", "recall")):
        least = getattr(target, name)
        if least is not None and (result[name] or 0) < least - 5e-4:
            marks.append(mark)
    others = (
        ("S", splink, target.beside_splink, 0.002),
        ("T", tfidf, target.beside_tfidf, 0.0),
    )
    for mark, other, wanted, less in (*others, ("M", first, target.beside_main, 5e-4)):
        if (
            wanted
            and other is not None
            and other.get("f1") is not None
            and (result["f1"] or 0) < other["f1"] - less
        ):
            marks.append(mark)
    expected = result.get("expected")
    if target.expected is not None and expected is not None:
        chance = 2 * (expected * (1 - expected) / result["links"]) ** 0.5
        if abs(expected - result["precision"]) > max(target.expected, chance):
            marks.append("E")
        interval = result.get("interval")
        if interval and not min(interval) <= result["precision"] <= max(interval):
            marks.append("I")
    return "".join(marks)


def shown(value: Any, form: str = ".3f") -> str:
    return "-" if value is None else format(value, form)


def cells(result: Result | None, marks: str) -> list[str]:
    if result is None:
        return ["", "", "", "", "", "", "", ""]
    if "failed" in result:
        return [
            "failed",
            "",
            "",
            "",
            "",
            shown(result.get("cpu"), ".1f"),
            str(result["peak_mb"]),
            marks,
        ]
    figures = [
        shown(result[name]) for name in ("f1", "precision", "recall", "expected")
    ]
    links = "refused" if result.get("refused") else f"{result['links']:,}"
    note = f"{marks}{' w' * bool(result.get('warnings'))}"
    return [
        *figures,
        links,
        shown(result.get("cpu"), ".1f"),
        str(result["peak_mb"]),
        note,
    ]


def table(options: argparse.Namespace) -> int:
    from linkage_cases import chosen_cases

    files = [latest([path]) for path in options.files]
    splink = latest(options.splink)
    tfidf = latest(options.tfidf)
    names = {name for results in (*files, splink) for name in results}
    patterns = options.only or sorted(names)
    cases = [
        case
        for case in chosen_cases(options.data, patterns, True)
        if case.name in names
    ]
    header = ["case", "true"]
    for path in options.files:
        header += [path.stem[:8], "P", "R", "exp.P", "links", "cpu", "MB", "misses"]
    header += ["splink", "P", "R", "cpu", "MB", "TF-IDF"]
    lines = []
    missed = [0] * len(files)
    for case in cases:
        theirs = splink.get(case.name)
        nearest = tfidf.get(case.name)
        some = next(
            (
                results[case.name]
                for results in (*files, splink)
                if "true" in results.get(case.name, {})
            ),
            {},
        )
        line = [
            case.name + (" *" if case.kept_back else ""),
            shown(some.get("true"), ","),
        ]
        for place, results in enumerate(files):
            result = results.get(case.name)
            first = files[0].get(case.name) if place else None
            marks = (
                misses(result, case.target, first, theirs, nearest) if result else ""
            )
            missed[place] += bool(marks)
            line += cells(result, marks)
        if theirs is None:
            line += [""] * 5
        elif "failed" in theirs:
            line += [
                "failed",
                "",
                "",
                shown(theirs.get("cpu"), ".1f"),
                str(theirs["peak_mb"]),
            ]
        else:
            first_figure = (
                shown(theirs["f1"])
                if theirs["f1"] is not None
                else f"{theirs['links']:,}"
            )
            line += [first_figure, shown(theirs["precision"]), shown(theirs["recall"])]
            line += [shown(theirs.get("cpu"), ".1f"), str(theirs["peak_mb"])]
        line.append(shown(nearest.get("f1")) if nearest else "")
        if not options.misses or any(
            line[9 + 8 * place].strip(" w") for place in range(len(files))
        ):
            lines.append(line)
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    for line in [header, *lines]:
        parts = [
            line[0].ljust(widths[0]),
            *(
                cell.rjust(width)
                for cell, width in zip(line[1:], widths[1:], strict=True)
            ),
        ]
        print("  ".join(parts).rstrip())
    for path, count in zip(options.files, missed, strict=True):
        print(f"{path.stem}: {count} of {len(cases)} cases miss a target")
    return 0


def show_wrong(options: argparse.Namespace) -> int:
    """Show wrong and missed pairs of a case."""
    import numpy as np
    import pyarrow.parquet as pq
    from linkage_cases import chosen_cases

    case = chosen_cases(options.data, [options.case], True)[0]
    folder = cached(case, options.cache)
    a = pq.read_table(folder / "a.parquet")
    b = pq.read_table(folder / "b.parquet") if (folder / "b.parquet").exists() else a
    true_pairs = np.load(folder / "true.npy")
    pairs, probabilities = links_in(folder, options.engine)
    wrong = np.flatnonzero(~np.isin(codes(pairs), codes(true_pairs)))
    missed = true_pairs[~np.isin(codes(true_pairs), codes(pairs))]
    rng = np.random.default_rng(0)
    for title, some, chances in (
        ("wrong", pairs[wrong], probabilities[wrong]),
        ("missed", missed, np.full(len(missed), np.nan)),
    ):
        print(f"---- {title}: {len(some):,}")
        chosen = rng.permutation(len(some))[: options.count]
        for place in chosen.tolist():
            i, j = some[place].tolist()
            print(f"{i} {j}  p {chances[place]:.4f}")
            for side, row in ((a, i), (b, j)):
                print(
                    "   ",
                    " | ".join(
                        str(value)[:SHOWN_CHARACTERS]
                        for value in side.slice(row, 1).to_pylist()[0].values()
                    ),
                )
    return 0


def run(options: argparse.Namespace) -> int:
    from linkage_cases import chosen_cases

    for case in chosen_cases(options.data, options.only or ["*"], options.kept_back):
        if any(
            int(part) > options.most_rows
            for part in case.name.split("/")
            if part.isdigit()
        ):
            continue
        if options.engine == "splink" and not json.loads(
            (cached(case, options.cache) / "kinds.json").read_text()
        ):
            continue
        result = run_case(case, options)
        with options.out.open("a") as file:
            file.write(json.dumps(result) + "\n")
        marks = (
            misses(result, case.target, None, None, None)
            if options.engine == "lshfast"
            else ""
        )
        print(
            f"{case.name:34}",
            "  ".join(f"{cell:>7}" for cell in cells(result, marks)),
            flush=True,
        )
        for text in [
            result.get("failed"),
            result.get("refused"),
            *result.get("notes", ()),
        ]:
            if text:
                print("    ", text.strip().splitlines()[-1][:200], flush=True)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "linkage-cases"
    )
    parts = parser.add_subparsers(dest="what", required=True)
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("--data", type=Path, help="the folder of the public data sets")
    data.add_argument("--only", nargs="+", metavar="PATTERN")
    data.add_argument("--engine", choices=ENGINES, default="lshfast")
    runs = parts.add_parser("run", parents=[data])
    runs.add_argument("--out", type=Path, required=True)
    runs.add_argument(
        "--seconds", type=int, default=300, help="the most processor seconds of a case"
    )
    runs.add_argument(
        "--most-rows",
        type=int,
        default=40_000,
        help="leave out cases with larger tables",
    )
    runs.add_argument("--threads", type=int, default=2)
    runs.add_argument("--kept-back", action="store_true")
    runs.add_argument("--python", default=sys.executable, help="that of splink")
    tables = parts.add_parser("table", parents=[data])
    tables.add_argument("files", type=Path, nargs="+")
    tables.add_argument("--splink", type=Path, nargs="*", default=[])
    tables.add_argument("--tfidf", type=Path, nargs="*", default=[])
    tables.add_argument("--misses", action="store_true", help="only cases with a miss")
    wrong = parts.add_parser("wrong", parents=[data])
    wrong.add_argument("case")
    wrong.add_argument("--count", type=int, default=8)
    parts.add_parser("list", parents=[data])
    links = parts.add_parser("link")
    links.add_argument("folder", type=Path)
    links.add_argument("output", type=Path)
    links.add_argument("--engine", choices=ENGINES, default="lshfast")
    links.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(argv)
    if options.what == "link":
        engine = link_by_lshfast if options.engine == "lshfast" else link_by_tfidf
        print(json.dumps(engine(options.folder, options.output, options.threads)))
        return 0
    if options.what == "list":
        from linkage_cases import chosen_cases

        for case in chosen_cases(options.data, options.only or ["*"], True):
            print(case.name + (" *" if case.kept_back else ""))
        return 0
    return {"run": run, "table": table, "wrong": show_wrong}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
