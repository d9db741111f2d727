"""Runs over more text than fits into a given memory, beside runs without a cap, as whole processes.

    python benchmarks/scale.py make CORPUS.jsonl --gigabytes 2
    python benchmarks/scale.py cap CORPUS.jsonl --memory 512M [--threads 2] [--repeat 3] [--alone]
    python benchmarks/scale.py kill CORPUS.jsonl --memory 512M --kills 100
    python benchmarks/scale.py simulate --memory 1G [--records 100000000] [--bands 18]
    python benchmarks/scale.py forecast CORPUS.jsonl --memory 512M [--threads 2] [--repeat 3]
    python benchmarks/scale.py kinds FOLDER --memory 2G [--rows 1000000] [--repeat 3]

"make" writes documents from the Python files of this installation. The letters of each document are exchanged by a
permutation of its own, so documents of the same file have nothing in common; one in five is a copy of an earlier
document with some words inserted, and names it. "cap" compares `lshfast dedup` without and with --memory: the seconds,
the processor seconds, the peak of resident memory, and the outputs, which must be equal. The data segment of the
capped process is limited to 1.05 times the cap (RLIMIT_DATA), so it fails if it takes more. It prints the recall of the
copies whose exact similarity to their original is at least the threshold, in a sample, and exits with 1 if outputs
differ or the peak exceeds the cap by 5 %. With --alone there is no run without a cap. "kill" kills a capped run after a
random time (SIGKILL) and resumes it, again and again, and compares the outputs and the time in all. "simulate" draws
the bucket keys of so many rows, some of which share keys, sorts and links the records of each band and contracts the
links, in the given memory. It prints the processor seconds, the bytes and the keys that are equal by chance. "forecast"
prints what `lshfast tune --memory` says of rows, memory, disk and time beside what a run takes, with medians of the
times. The least memory taken is the least data segment (RLIMIT_DATA, in steps of 4 %) with which a run succeeds whose
cap is the memory that was said. "kinds" measures texts of 100 words, a quarter, a half and all of the rows: unrelated
ones, equal ones, different ones of which the first 60 or 80 words are the same, and different ones that are chosen to
share one bucket and hardly anything else, without and with a cap; the times are medians.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import orjson
from contest import compared, print_table, take_turns
from simulate import simulate

import lshfast
from lshfast._common.checks import check_bytes
from lshfast._engine.forecasts.texts import forecast as forecast_of
from lshfast._engine.inputs import Inputs
from lshfast._engine.plan import make_plan
from lshfast.kernels.text import Texts

MB = 1 << 20
CAPPED, UNCAPPED = "capped", "uncapped"
LETTERS = bytes(range(ord("a"), ord("z") + 1))
COPIES = 0.2  # the share of copies
LONGEST = 24 << 10  # bytes of a document
BETWEEN = 10  # kills between two runs that are not interrupted


def sources() -> list[bytes]:
    """Return pieces of the Python files of this installation, ASCII only."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    found = []
    for file in files:
        data = file.read_bytes()
        if data.isascii():
            found += [data[at : at + LONGEST] for at in range(0, len(data), LONGEST)]
    return [piece for piece in found if len(piece) > 200]


def make(path: str, nbytes: int) -> None:
    """Write documents of so many bytes."""
    rng, pieces, written, number = random.Random(1), sources(), 0, 0
    held: list[tuple[int, bytes]] = []
    with open(path, "wb") as file:
        while written < nbytes:
            copied = None
            if held and rng.random() < COPIES:
                copied, text = rng.choice(held)
                words = text.split(b" ")
                for _ in range(rng.randint(0, max(1, len(words) // 50))):
                    words.insert(rng.randrange(len(words)), b"inserted%d" % number)
                text = b" ".join(words)
            else:
                letters = bytearray(LETTERS)
                rng.shuffle(letters)
                text = rng.choice(pieces).translate(
                    bytes.maketrans(LETTERS, bytes(letters))
                )
                slot = (number, text)
                if len(held) < 2000:
                    held.append(slot)
                else:
                    held[rng.randrange(2000)] = slot
            line = (
                orjson.dumps({"id": number, "text": text.decode(), "copy_of": copied})
                + b"\n"
            )
            written += file.write(line)
            number += 1
    print(f"{number:,} documents, {written:,} bytes")


def run(
    arguments: Sequence[str], limit: int | None = None, kill_after: float | None = None
) -> tuple[int, float, resource.struct_rusage]:
    """Run lshfast, and return the exit status, the seconds and the figures of the process."""

    def prepare() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "lshfast", *arguments],
        preexec_fn=prepare,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(
            process.pid, signal.SIGKILL
        )  # Popen would take the figures of a process that has ended
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.perf_counter() - start, usage


def digest_of(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lines_of(path: str) -> int:
    with open(path, "rb") as file:
        return sum(part.count(b"\n") for part in iter(lambda: file.read(MB), b""))


def documents(path: str) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as file:
        for line in file:
            yield orjson.loads(line)


def recall(corpus: str, removed: str, most: int = 20_000) -> tuple[float, int]:
    """Return the share of similar copies that were removed, and how many were looked at."""
    with open(removed, encoding="utf-8") as file:
        next(file)
        gone = {int(line.split(",", 1)[0]) for line in file}
    originals: dict[int, str] = {}
    similar = found = 0
    for document in documents(corpus):
        if document["copy_of"] is None:
            originals[document["id"]] = document["text"]
            if len(originals) > 4 * 2000:
                originals.pop(next(iter(originals)))
        elif document["copy_of"] in originals:
            sets = lshfast.shingle(
                [originals[document["copy_of"]], document["text"]], threads=1
            )
            pair = lshfast.verify(sets, np.array([0]), np.array([1]), 0.8, threads=1)
            similar += len(pair)
            found += len(pair) and document["id"] in gone
            if similar == most:
                break
    return found / max(1, similar), similar


def cap(options: argparse.Namespace) -> int:
    """Compare a capped run with one without a cap."""
    memory = options.memory_bytes
    digests: set[str] = set()
    peaks: list[float] = []
    size, rows = os.path.getsize(options.corpus), lines_of(options.corpus)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        kept, removed = (
            os.path.join(folder, "kept.jsonl"),
            os.path.join(folder, "removed.csv"),
        )

        def once(name: str, turn: int) -> dict[str, float]:
            given = [
                "dedup",
                options.corpus,
                "-o",
                kept,
                "--removed",
                removed,
                "--id-column",
                "id",
                "--overwrite",
            ]
            given += ["--threads", str(options.threads), "--quiet"]
            limit = None
            if name == CAPPED:
                given += [
                    "--memory",
                    options.memory,
                    "--work",
                    os.path.join(folder, "work"),
                ]
                limit = memory + memory // 20
            status, seconds, usage = run(given, limit)
            if status:
                sys.exit(f"{name} failed with status {status}")
            digests.add(digest_of(kept) + digest_of(removed))
            peak = usage.ru_maxrss * 1024
            if name == CAPPED:
                peaks.append(peak)
            return {
                "time, s": seconds,
                "processor time, s": usage.ru_utime + usage.ru_stime,
                "text, MB/s": size / 1e6 / seconds,
                "peak memory, MB": peak / 1e6,
                "bytes a row beside 300 MB": (peak - 300e6) / rows,
            }

        took = take_turns(
            [CAPPED] if options.alone else [UNCAPPED, CAPPED], options.repeat, once
        )
        share, similar = recall(options.corpus, removed)
    print(f"{size / 1e6:,.0f} MB, {options.threads} threads, a cap of {options.memory}")
    print_table(["", *took], list(compared(took, next(iter(took)))), markdown=True)
    print(f"recall of {similar:,} similar copies: {share:.4f}")
    if len(digests) > 1:
        print("the outputs differ", file=sys.stderr)
    return int(len(digests) > 1 or max(peaks) > 1.05 * memory)


def kill(options: argparse.Namespace) -> int:
    """Kill and resume capped runs, and compare them with one that was not interrupted."""
    rng, times = random.Random(1), []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        kept, removed = (
            os.path.join(folder, "kept.jsonl"),
            os.path.join(folder, "removed.csv"),
        )
        given = [
            "dedup",
            options.corpus,
            "-o",
            kept,
            "--removed",
            removed,
            "--threads",
            str(options.threads),
            "--quiet",
        ]
        given += [
            "--memory",
            options.memory,
            "--work",
            os.path.join(folder, "work"),
            "--resume",
        ]
        run(given)
        wholes, wanted = [], digest_of(kept) + digest_of(removed)
        for number in range(options.kills):
            if number % BETWEEN == 0:
                wholes.append(run([*given, "--overwrite"])[1])
                whole = median(wholes)
            for path in (kept, removed):
                if os.path.exists(path):
                    os.unlink(path)
            moment = rng.uniform(0, whole)
            _, before, _ = run(given, kill_after=moment)
            status, after, _ = run(given) if not done(folder) else (0, 0.0, None)
            times.append(before + after)
            if status or digest_of(kept) + digest_of(removed) != wanted:
                print(
                    f"kill {number} after {moment:.2f} s: status {status}, or other outputs",
                    file=sys.stderr,
                )
                return 1
    print(
        f"{options.kills} kills, all outputs equal; {whole:.1f} s uninterrupted, {mean(times) / whole:.2f} x that "
        "in the mean"
    )
    return 0


def done(folder: str) -> bool:
    """Return whether the killed run had ended before."""
    return os.path.exists(os.path.join(folder, "kept.jsonl")) and not os.path.exists(
        os.path.join(folder, "work")
    )


def forecast(options: argparse.Namespace) -> int:
    """Print what is said of a run before it, and what it takes."""
    memory, plan = (
        check_bytes("memory", options.memory),
        make_plan(threads=options.threads),
    )
    inputs = Inputs([options.corpus])
    forecasts = [forecast_of(inputs, plan, memory) for _ in range(options.repeat)]
    said, rows = (
        forecasts[0],
        sum(len(batch.texts) for batch in inputs.open().batches()),
    )
    if said is None:
        sys.exit("there are no texts")
    told = median(found.seconds.value or 0.0 for found in forecasts if found)
    if said.disk.value is None:
        sys.exit("the sample does not tell how many texts share a bucket")
    least = -(-said.least_memory // MB) + 1  # in MB; the number of rows is an estimate
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        work, most, over = os.path.join(folder, "work"), 0, threading.Event()

        def watch() -> None:
            nonlocal most
            while not over.wait(0.01):
                with suppress(OSError):
                    most = max(
                        most, sum(entry.stat().st_size for entry in os.scandir(work))
                    )

        given = [
            "dedup",
            options.corpus,
            "-o",
            os.path.join(folder, "kept.jsonl"),
            "--quiet",
            "--overwrite",
        ]
        given += ["--threads", str(options.threads)]
        watching = threading.Thread(target=watch)
        watching.start()
        taken = list[float]()
        for _ in range(options.repeat):
            status, seconds, _ = run(
                [*given, "--memory", options.memory, "--work", work]
            )
            if status:
                break
            taken.append(seconds)
        over.set()
        watching.join()
        if status:
            sys.exit(f"the run failed with status {status}")
        limit = least * 107 // 100
        held = 0
        while not run([*given, "--memory", f"{least * 102 // 100}M"], limit * MB)[0]:
            held, limit = limit, limit * 96 // 100
    if not held:
        sys.exit(f"a run failed with {least} MB")
    table = [
        ("rows", said.rows, rows),
        ("least memory, MB", said.least_memory / 1e6, held * MB / 1e6),
        ("work folder, MB", said.disk.value / 1e6, most / 1e6),
        ("time, s", told, median(taken)),
    ]
    print(f"{'':22}{'said':>12}{'taken':>12}{'said / taken':>14}")
    for name, expected, found in table:
        digits = 1 if name == "time, s" else 0
        print(
            f"{name:22}{expected:12,.{digits}f}{found:12,.{digits}f}{expected / found:14.2f}"
        )
    print(f"the runs took {min(taken):.1f} to {max(taken):.1f} s")
    print(
        f"{said.sharing:.0%} of the texts share a bucket; with none and with all of them:"
    )
    print(
        f"work folder {said.disk.least / 1e6:,.0f} and {said.disk.most / 1e6:,.0f} MB, ",
        end="",
    )
    print(f"time {said.seconds.least:.1f} and {said.seconds.most:.1f} s")
    return 0


# The words that texts of a kind have in common, of WORDS. "one band" texts share as many shingles
# as a band has rows, each of which has the least value of many in its slot, so that all texts are
# in one bucket.
KINDS, WORDS = (
    {
        "unrelated": 0,
        "equal": 100,
        "60 words shared": 60,
        "80 words shared": 80,
        "one band": None,
    },
    100,
)


def write_kind(path: str, shared: int | None, rows: int) -> None:
    rng = np.random.default_rng(1)
    words = np.array([f"word{number}" for number in range(50_000)])
    template = [" ".join(words[rng.integers(0, len(words), shared)].tolist())]
    if shared is None:
        template = shingles_of_a_band(words, rng)
        shared = sum(len(part.split()) for part in template)
    gap = (WORDS - shared) // len(template)
    with open(path, "w", encoding="utf-8") as file:
        for at in range(0, rows, 10_000):
            for own in words[
                rng.integers(0, len(words), (min(10_000, rows - at), WORDS - shared))
            ].tolist():
                parts = [
                    word
                    for i, part in enumerate(template)
                    for word in (part, *own[i * gap : (i + 1) * gap])
                ]
                text = " ".join([*parts, *own[len(template) * gap :]])
                file.write(f'{{"text": "{text.strip()}"}}\n')


def shingles_of_a_band(words: Any, rng: np.random.Generator) -> list[str]:
    """Return, for each slot of the first band, the one of many random shingles that has the least value there."""
    plan = make_plan()
    shingles = [
        " ".join(row)
        for row in words[
            rng.integers(0, len(words), (1 << 18, plan.shingles.size))
        ].tolist()
    ]
    signatures = plan.hasher.sketch(
        plan.shingles.tokens_of(Texts(shingles), plan.hasher.seed)
    )
    return [
        shingles[row]
        for row in signatures[:, : plan.bands.rows_per_band].argmin(axis=0).tolist()
    ]


def kinds(options: argparse.Namespace) -> int:
    """Print the processor seconds of runs over texts of each kind, and the memory that they take for a row."""
    for rows in (options.rows // 4, options.rows // 2, options.rows):
        paths = {
            name: os.path.join(options.corpus, f"{name.replace(' ', '-')}.jsonl")
            for name in KINDS
        }
        for name, shared in KINDS.items():
            write_kind(paths[name], shared, rows)
        for capped in (False, True):
            how = ["--memory", options.memory] * capped
            taken: dict[str, list[Any]] = {name: [] for name in KINDS}
            for _ in range(options.repeat):
                for name, path in paths.items():
                    given = [
                        "dedup",
                        path,
                        "--dry-run",
                        "--quiet",
                        "--threads",
                        str(options.threads),
                        *how,
                    ]
                    status, _, usage = run(given)
                    if status:
                        sys.exit(f"the run failed with status {status}")
                    taken[name].append(usage)
            seconds = {
                name: median(each.ru_utime + each.ru_stime for each in taken[name])
                for name in KINDS
            }
            for name, took in seconds.items():
                ratio = took / next(iter(seconds.values()))
                of_row = (
                    max(each.ru_maxrss for each in taken[name]) * 1024 - 300e6
                ) / rows
                print(
                    f"{name:16} {rows:10,} {took:7.1f} s {ratio:5.2f} x {of_row:7,.0f} bytes a row {' '.join(how)}",
                    flush=True,
                )
        for path in paths.values():
            os.unlink(path)
    return 0


COMMANDS = {
    "cap": cap,
    "kill": kill,
    "forecast": forecast,
    "kinds": kinds,
    "simulate": simulate,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["make", *COMMANDS])
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--alone", action="store_true", help="only the capped run")
    parser.add_argument(
        "--records", type=int, default=100_000_000, help="the rows of a simulation"
    )
    parser.add_argument(
        "--bands", type=int, default=18, help="the bands of a simulation"
    )
    parser.add_argument(
        "--folder",
        help="where outputs and work folders are; by default the system's temporary folder",
    )
    options = parser.parse_args()
    options.memory_bytes = check_bytes("memory", options.memory)
    if options.corpus is None and options.command != "simulate":
        parser.error(f"{options.command} needs a corpus")
    if options.command == "make":
        make(options.corpus, int(options.gigabytes * 1e9))
        return 0
    return COMMANDS[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
