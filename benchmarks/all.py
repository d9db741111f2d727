"""All tables of docs/understand/benchmarks.md, one after the other, in a page that names the machine and all versions.

    python benchmarks/all.py [PART ...] [--quick] [--data DIR] [--out benchmarks.md] [--list]

--quick takes smaller data and fewer turns; without it, the sizes are those of the
page, and the run takes hours. PART is a word of a title, such as vectors. The peers are those that are installed: pip
install ".[bench]" has all that pip can install. --data names a folder of public data sets, whose tables are left out
otherwise. The page says which scripts failed, and which missed a target of their own, whose status is 1 without a
traceback. The exit status is 1 if a script failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import distributions, requires
from pathlib import Path

from contest import ONE_THREAD

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Table:
    """A section of the page, the script that measures it, and what --quick passes to it besides."""

    title: str
    command: str
    quick: str = ""


# {sources} is a JSONL file of Python sources, {data} a folder of public data that is not part of
# the repository.
TABLES = (
    Table(
        "Whole runs on texts",
        "peers.py dedup {sources} --markdown",
        "--repeat 1 --threads 1",
    ),
    Table("Signatures", "peers.py signatures --markdown", "--repeat 3"),
    Table("The stages of texts", "stages.py --markdown", "--repeat 3"),
    Table("Texts of a template", "crowds.py", "--pages 20000"),
    Table("Recall on licence texts", "licensedb.py {data}/licensedb"),
    Table(
        "Indexes of signatures",
        "index.py --markdown",
        "batch single --n 100000 --small 20000 --repeat 1",
    ),
    Table(
        "Forests and ensembles",
        "forest.py --markdown",
        "--n 20000 --queries 500 --repeat 1",
    ),
    Table(
        "Recall of single indexes of near neighbours",
        "recall_spread.py",
        "--n 2000 --seeds 3 --data normal",
    ),
    Table(
        "Near neighbours of vectors",
        "neighbors.py",
        "--n 20000 --dim 128 --queries 200 --repeat 1",
    ),
    Table("Hyperplanes of vectors", "hyperplanes.py --markdown", "--n 5000 --repeat 3"),
    Table("Lines of vectors", "projections.py --markdown", "--repeat 3"),
    Table("Vectors, codes and sets in a run", "points.py codes", "--rows 100000"),
    Table(
        "Hamming search of codes",
        "hamming.py",
        "--n 1000000 --queries 10000 --pairs 200000 --wide 200000 --dedup 500000 --repeat 1",
    ),
    Table(
        "Scans of wide codes",
        "code_scans.py",
        "--n 100000 --bits 256 2048 --molecules 100000 --many 100000 --repeat 1",
    ),
    Table(
        "Exact joins of sets", "exact.py peer {sources}", "--thresholds .8 --repeat 1"
    ),
    Table("Exact joins of baskets", "exact.py baskets --thresholds .8", "--repeat 1"),
    Table(
        "Shared passages of texts",
        "passages.py",
        "--mb 20 --check 5 --stream 50 --questions 1000 --repeat 1",
    ),
    Table(
        "Hash functions and perfect maps",
        "hashing.py --markdown",
        "--n 500000 --repeat 3",
    ),
    Table(
        "Identical items",
        "identical.py --markdown",
        "--n 10000 --strings 200000 --repeat 3",
    ),
    Table("Records of people", "records.py people --markdown", "--rows 20000"),
    Table("Genomes", "genomes.py", "--genomes 10 --letters 500000 --repeat 1"),
    Table("Images", "images.py", "--n 60"),
    Table("The drop-in", "drop_in.py --markdown", "--repeat 3"),
    Table(
        "The drop-in's indexes",
        "datasketch_lsh.py memory forest --markdown",
        "--n 5000 --repeat 1",
    ),
    Table("Weighted sketches", "weighted.py --markdown", "--n 200 --repeat 1"),
    Table(
        "Sizes of sets",
        "cardinality.py --markdown",
        "--n 50000 --sketches 50 --repeat 1",
    ),
    Table(
        "SimHash of texts",
        "fingerprints.py --markdown",
        "--n 2000 --slow 100 --repeat 1",
    ),
    Table("Comparisons of signatures", "bits.py --markdown", "--repeat 1"),
)


def said(*command: str) -> str:
    """The first line that a program prints, or nothing if there is no such program."""
    try:
        done = subprocess.run(
            command, cwd=HERE, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip().partition("\n")[0]


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text("utf-8").splitlines() if cpuinfo.exists() else []
    names = [
        line.partition(":")[2].strip()
        for line in lines
        if line.startswith("model name")
    ]
    return names[0] if names else platform.processor() or platform.machine()


def heading() -> Iterator[str]:
    """What a reader has to know to compare: machine, commit, versions."""
    from lshfast.kernels import cpu

    found = {item.name.lower(): item.version for item in distributions() if item.name}
    peers = [
        re.split("[^A-Za-z0-9_-]", line)[0]
        for line in requires("lshfast") or []
        if re.search("extra == .bench.", line)
    ]
    missing = [name for name in peers if name.lower() not in found]
    changed = (
        " with changes"
        if said("git", "status", "--porcelain", "--untracked-files=no")
        else ""
    )
    cpus = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count()
    )
    commit = said("git", "rev-parse", "--short", "HEAD") + changed
    yield "# Benchmarks of lshfast\n"
    yield f"- {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC, commit {commit}"
    yield f"- {processor()}, {cpus} CPUs, {cpu.level()} kernels, {platform.system()} {platform.release()}"
    yield (
        f"- load of the machine at the start: {os.getloadavg()[0]:.1f}"
        if hasattr(os, "getloadavg")
        else ""
    )
    yield f"- Python {platform.python_version()}, " + ", ".join(
        f"{name} {found[name.lower()]}"
        for name in ["numpy", *peers]
        if name.lower() in found
    )
    yield f"- not installed, so left out: {', '.join(missing)}\n" if missing else ""


def measured(table: Table, quick: bool, places: dict[str, str]) -> tuple[str, bool]:
    """Run the script of a table, and return its section of the page and whether it did not fail."""
    words = f"{table.command} {table.quick if quick else ''}".format(**places).split()
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *words],
        cwd=HERE,
        capture_output=True,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    seconds = time.perf_counter() - start
    text = done.stdout.strip()
    shown = text if text.startswith("|") else f"```text\n{text}\n```"
    failed = done.returncode not in (0, 1) or "Traceback" in done.stderr
    what = f"Failed with status {done.returncode}" if failed else "A target was missed"
    ending = (
        f"\n{what}:\n\n```text\n{done.stderr[-2000:].strip()}\n```\n"
        if done.returncode
        else ""
    )
    command = f"python benchmarks/{' '.join(words)}"
    return (
        f"## {table.title}\n\n`{command}`, {seconds:.0f} s\n\n{shown}\n{ending}",
        not failed,
    )


def make_sources(folder: str, quick: bool) -> str:
    """Write the sources of Python's library, and without `quick` of all installed packages, as JSONL."""
    out = Path(folder, "sources.jsonl")
    paths = sysconfig.get_paths()
    root = paths["stdlib"] if quick else sys.prefix
    subprocess.run(
        [sys.executable, "data.py", "folder", root, str(out), "--suffix", ".py"],
        cwd=HERE,
        check=True,
    )
    return str(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="words of titles; all tables by default",
    )
    parser.add_argument(
        "--quick", action="store_true", help="smaller data and fewer turns"
    )
    parser.add_argument(
        "--data", type=Path, help="a folder of public data sets, such as licensedb"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("benchmarks.md"), help="the page"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="list the tables and their commands, and end",
    )
    options = parser.parse_args()
    chosen = [
        one
        for one in TABLES
        if not options.parts
        or any(part.lower() in one.title.lower() for part in options.parts)
    ]
    if not chosen:
        parser.error(
            f"no title has one of {', '.join(options.parts)}; --list lists them"
        )
    if options.list:
        for table in chosen:
            print(
                f"{table.title}: python benchmarks/{table.command} {table.quick if options.quick else ''}".rstrip()
            )
        return
    succeeded = True
    with (
        tempfile.TemporaryDirectory() as folder,
        options.out.open("w", encoding="utf-8") as page,
    ):
        print(*filter(None, heading()), sep="\n", file=page, flush=True)
        places = {
            "data": str(options.data.resolve()) if options.data else "",
            "sources": "",
        }
        if any("{sources}" in table.command for table in chosen):
            places["sources"] = make_sources(folder, options.quick)
        for number, table in enumerate(chosen, 1):
            print(
                f"{number} of {len(chosen)}: {table.title}", file=sys.stderr, flush=True
            )
            if "{data}" in table.command and not options.data:
                print(
                    f"## {table.title}\n\nLeft out without --data.\n",
                    file=page,
                    flush=True,
                )
                continue
            section, well = measured(table, options.quick, places)
            succeeded &= well
            print(section, file=page, flush=True)
    print(f"{options.out}{'' if succeeded else ': some tables failed'}")
    sys.exit(not succeeded)


if __name__ == "__main__":
    main()
