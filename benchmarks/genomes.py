"""Sketches and pairs of genomes: the command line beside sourmash's and Mash's, on the same files.

    python benchmarks/genomes.py [--genomes 50] [--letters 4000000] [--per-species 10] [--repeat 3] [--gzip]
                                 [--sourmash PATH] [--mash PATH] [--folder DIR]

Genomes are made with a fixed seed: each species has a random sequence in which repeats of 300 to 5,000 letters are a
tenth of all, and each of its genomes has substitutions at a rate between 0.1 and 6 %. Every contestant sketches all
files and compares all pairs, as one process or in a shell pipeline, on all CPUs that this process may use; the disk
cache is warm. sourmash sketches in one thread, so that it is started once for each CPU with its part of the files. Its
plugin branchwater takes part where it is installed. lshfast runs with the sampling of each other contestant: scaled
1000 with k=31, and Mash's 1,000 smallest hashes with k=21.

`pip install sourmash` and Debian's package `mash` give the others; in pip's environment of lshfast or another one.

Printed are medians of seconds and CPU seconds, and the greatest difference of the ANI of a pair from the others'.
Exits with 1 if it is 0.001 or more.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from contest import SEED, Figures, take_turns

K, SCALED, MASH_K, MASH_SIZE, LEAST = 31, 1000, 21, 1000, 0.9
LINE = 80
LETTERS = np.frombuffer(b"ACGT", np.uint8)
CPUS = (
    len(os.sched_getaffinity(0))
    if hasattr(os, "sched_getaffinity")
    else os.cpu_count() or 1
)
Anis = dict[tuple[str, str], float]


def species(rng: np.random.Generator, letters: int) -> np.ndarray:
    """Return a random sequence of numbers in 0..3, a tenth of which is repeats."""
    sequence = rng.integers(0, 4, letters, np.uint8)
    done = 0
    while done < letters // 10:
        length = min(int(rng.integers(300, 5001)), letters // 2)
        start, to = rng.integers(0, letters - length, 2)
        sequence[to : to + length] = sequence[start : start + length].copy()
        done += length
    return sequence


def make(
    folder: Path, genomes: int, letters: int, each: int, packed: bool
) -> list[str]:
    """Write genomes as FASTA of three contigs, and return their paths."""
    rng = np.random.default_rng(SEED)
    paths = []
    for number in range(genomes):
        if number % each == 0:
            base = species(rng, letters)
        genome = base.copy()
        places = rng.random(letters) < rng.uniform(0.001, 0.06)
        genome[places] = (
            genome[places] + rng.integers(1, 4, int(places.sum()), np.uint8)
        ) % 4
        path = folder / f"g{number:05}.fa{'.gz' if packed else ''}"
        text = b"".join(
            b">contig_%d\n" % contig
            + b"\n".join(
                part[at : at + LINE].tobytes() for at in range(0, len(part), LINE)
            )
            + b"\n"
            for contig, part in enumerate(np.array_split(LETTERS[genome], 3))
        )
        path.write_bytes(gzip.compress(text, 4, mtime=0) if packed else text)
        paths.append(str(path))
    return paths


def shell(commands: Sequence[Sequence[str]], log: Path) -> None:
    """Run commands at once, and wait for all."""
    with open(log, "ab") as output:
        running = [
            subprocess.Popen(command, stdout=output, stderr=output)
            for command in commands
        ]
        failed = [
            command[:3]
            for command, process in zip(commands, running, strict=True)
            if process.wait()
        ]
    if failed:
        raise RuntimeError(
            f"{' '.join(failed[0])} failed:\n{log.read_text(errors='replace')[-2000:]}"
        )


def lshfast(paths: list[str], out: Path, options: Sequence[str]) -> None:
    shell(
        [
            [
                sys.executable,
                "-m",
                "lshfast",
                "genomes",
                *paths,
                "-o",
                str(out / "pairs.csv"),
                *options,
            ]
        ],
        out / "log",
    )


def sourmash(command: str, paths: list[str], out: Path) -> None:
    parts = [
        (part, f"{out}/part{number}.zip")
        for number in range(CPUS)
        if (part := paths[number::CPUS])
    ]
    sketch = [command, "sketch", "dna", "-p", f"k={K},scaled={SCALED}"]
    shell([[*sketch, *part, "-o", made] for part, made in parts], out / "log")
    compare = [
        command,
        "compare",
        "-q",
        "-k",
        str(K),
        "--max-containment",
        "--ani",
        "-p",
        str(CPUS),
    ]
    shell(
        [[*compare, *(made for _, made in parts), "--csv", f"{out}/matrix.csv"]],
        out / "log",
    )


def branchwater(command: str, paths: list[str], out: Path) -> None:
    rows = "".join(f"{path},{path},\n" for path in paths)
    (out / "files.csv").write_text(f"name,genome_filename,protein_filename\n{rows}")
    scripts = [command, "scripts"]
    shell(
        [
            [
                *scripts,
                "manysketch",
                f"{out}/files.csv",
                "-o",
                f"{out}/all.zip",
                "-p",
                f"k={K},scaled={SCALED}",
            ]
        ],
        out / "log",
    )
    compare = [
        *scripts,
        "pairwise",
        f"{out}/all.zip",
        "-k",
        str(K),
        "-s",
        str(SCALED),
        "--ani",
        "-t",
        "0",
    ]
    shell([[*compare, "-o", f"{out}/pairs.csv"]], out / "log")


def mash(command: str, paths: list[str], out: Path) -> None:
    threads = ["-p", str(CPUS)]
    sketch = [
        command,
        "sketch",
        *threads,
        "-k",
        str(MASH_K),
        "-s",
        str(MASH_SIZE),
        "-o",
        f"{out}/all",
        *paths,
    ]
    shell([sketch], out / "log")
    with open(out / "distances.tsv", "wb") as table:
        subprocess.run(
            [command, "dist", *threads, f"{out}/all.msh", f"{out}/all.msh"],
            stdout=table,
            check=True,
        )


def own_anis(path: Path, column: str) -> Anis:
    with open(path, newline="") as file:
        return {
            (row["a"], row["b"]): float(row[column]) for row in csv.DictReader(file)
        }


def sourmash_anis(path: Path) -> Anis:
    with open(path, newline="") as file:
        names, *rows = csv.reader(file)
    found = {}
    for name, row in zip(names, rows, strict=True):
        found |= {
            tuple(sorted((name, other))): float(value)
            for other, value in zip(names, row, strict=True)
        }
    return {pair: value for pair, value in found.items() if pair[0] < pair[1]}


def mash_anis(path: Path) -> Anis:
    found = {}
    with open(path, newline="") as file:
        for one, other, distance, *_ in csv.reader(file, delimiter="\t"):
            if one < other:
                found[one, other] = 1 - float(distance)
    return found


def branchwater_anis(path: Path) -> Anis:
    with open(path, newline="") as file:
        return {
            tuple(sorted((row["query_name"], row["match_name"]))): float(
                row["max_containment_ani"]
            )
            for row in csv.DictReader(file)
        }


def greatest_difference(own: Anis, other: Anis) -> float:
    """Return the greatest difference of a pair that one of them has, at the threshold or above; a missing pair is 1."""
    pairs = own.keys() | {pair for pair, ani in other.items() if ani >= LEAST + 1e-9}
    return max(
        (abs(own.get(pair, 0.0) - other.get(pair, 0.0)) for pair in pairs), default=0.0
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--genomes", type=int, default=50)
    parser.add_argument("--letters", type=int, default=4_000_000)
    parser.add_argument("--per-species", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--sourmash", default=shutil.which("sourmash"))
    parser.add_argument("--mash", default=shutil.which("mash"))
    parser.add_argument(
        "--folder",
        type=Path,
        help="where the genomes are written, and stay; by default a temporary one",
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        paths = make(
            folder, given.genomes, given.letters, given.per_species, given.gzip
        )
        scaled = [
            "-k",
            str(K),
            "--scaled",
            str(SCALED),
            "--ani",
            str(LEAST),
            "-q",
            "--overwrite",
        ]
        bottom = [
            "-k",
            str(MASH_K),
            "--bottom",
            str(MASH_SIZE),
            "--ani",
            str(LEAST),
            "-q",
            "--overwrite",
        ]
        entrants = {"lshfast, scaled": partial(lshfast, paths, options=scaled)}
        if given.sourmash:
            entrants["sourmash"] = partial(sourmash, given.sourmash, paths)
            helped = subprocess.run(
                [given.sourmash, "scripts"], capture_output=True, text=True
            )
            if "manysketch" in helped.stdout + helped.stderr:
                entrants["branchwater"] = partial(branchwater, given.sourmash, paths)
        entrants["lshfast, bottom"] = partial(lshfast, paths, options=bottom)
        if given.mash:
            entrants["mash"] = partial(mash, given.mash, paths)
        outs = {name: Path(temporary, f"out {name}") for name in entrants}

        def run(name: str, turn: int) -> Figures:
            shutil.rmtree(outs[name], ignore_errors=True)
            outs[name].mkdir()
            before, clock = (
                resource.getrusage(resource.RUSAGE_CHILDREN),
                time.perf_counter(),
            )
            entrants[name](out=outs[name])
            seconds, after = (
                time.perf_counter() - clock,
                resource.getrusage(resource.RUSAGE_CHILDREN),
            )
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(
                f"{name}, turn {turn + 1}: {seconds:.2f} s, {cpu:.2f} s of CPU",
                file=sys.stderr,
                flush=True,
            )
            return {"seconds": seconds, "cpu": cpu}

        took = take_turns(entrants, given.repeat, run)
        own = own_anis(outs["lshfast, scaled"] / "pairs.csv", "ani")
        mash_own = own_anis(outs["lshfast, bottom"] / "pairs.csv", "mash_ani")
        others = {
            "sourmash": lambda: greatest_difference(
                own, sourmash_anis(outs["sourmash"] / "matrix.csv")
            ),
            "branchwater": lambda: greatest_difference(
                own, branchwater_anis(outs["branchwater"] / "pairs.csv")
            ),
            "mash": lambda: greatest_difference(
                mash_own, mash_anis(outs["mash"] / "distances.tsv")
            ),
        }
        differences = {
            name: find() for name, find in others.items() if name in entrants
        }
    print(
        f"{given.genomes:,} genomes of {given.letters:,} letters, {len(own):,} pairs with ANI {LEAST} or more; "
        f"{CPUS} CPUs"
    )
    print(
        f"{'':<20}{'seconds':>9}{'CPU':>9}{'times lshfast':>15}{'ANI differs by':>16}"
    )
    for name, turns in took.items():
        first = took[
            "lshfast, bottom"
            if name in ("mash", "lshfast, bottom")
            else "lshfast, scaled"
        ]
        ratio = median(
            one["seconds"] / base["seconds"]
            for one, base in zip(turns, first, strict=True)
        )
        seconds, cpu = (
            median(turn[what] for turn in turns) for what in ("seconds", "cpu")
        )
        different = f"{differences[name]:.2e}" if name in differences else ""
        print(f"{name:<20}{seconds:>9.2f}{cpu:>9.2f}{ratio:>15.2f}{different:>16}")
    return int(max(differences.values(), default=0.0) >= 0.001)


if __name__ == "__main__":
    sys.exit(main())
