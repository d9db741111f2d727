"""Fuzz targets, each in a process of its own: ``python -m tests.fuzz``; see docs/understand/reliability.md.

It prints the inputs, inputs per second and findings of each, and exits with status 1 if there are findings. The input
of a finding is kept.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.programs import CLANG, ROOT, kernel_names, program
from tests.fuzz.targets import TARGETS

MOST_INPUTS = 2**31 - 1  # of libFuzzer
# The most characters of the output of a finding.
MOST_OUTPUT = 4000
ENVIRONMENT = {
    # Leaks cannot be looked for where ptrace is forbidden; frames on a fake stack are not aligned for wide registers.
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    names = [*TARGETS, *kernel_names()]
    parser.add_argument(
        "targets", nargs="*", help=f"default: all of {', '.join(names)}"
    )
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument(
        "--inputs", type=int, default=MOST_INPUTS, help="of each target"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--blind", action="store_true", help="repeatable, no coverage")
    parser.add_argument("--keep", type=Path, help="folder of the inputs of findings")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.targets if name not in names]
    if unknown:
        parser.error(f"no target {unknown[0]!r}; there are {', '.join(names)}")
    options.targets = options.targets or names
    return options


def command_of(name: str, options: argparse.Namespace, folder: Path) -> list[str]:
    """Return the command that tries inputs of a target, and leaves those of findings in a folder."""
    limits = [str(options.seed), str(options.seconds), str(options.inputs), str(folder)]
    if name in TARGETS:
        worker = [sys.executable, "-W", "error", "-m", "tests.fuzz.worker", name]
        return [*worker, *limits, *(["--blind"] if options.blind else [])]
    corpus = folder / "corpus"
    corpus.mkdir()
    stored = Path(__file__).parent / "seeds" / name
    return [
        str(program(name)),
        f"-max_total_time={options.seconds}",
        f"-runs={options.inputs}",
        f"-seed={options.seed + 1}",
        "-max_len=1024",
        "-len_control=0",
        "-entropic=0",  # it took a third of the time, for few edges
        "-timeout=120",
        "-rss_limit_mb=4000",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/",
        str(corpus),
        *([str(stored)] if stored.exists() else []),
    ]


def run(name: str, options: argparse.Namespace) -> bool:
    """Fuzz a target, print a line, and return whether nothing was found."""
    with tempfile.TemporaryDirectory(prefix="lshfast-fuzz-") as name_of_folder:
        folder = Path(name_of_folder)
        command = command_of(name, options, folder)
        began = time.monotonic()
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        seconds = time.monotonic() - began
        counts = re.findall(r"number_of_executed_units: +(\d+)", done.stdout)
        edges = re.findall(r"cov: (\d+)", done.stdout)
        inputs = int(counts[-1]) if counts else 0
        covered = f", {edges[-1]} edges" if edges else ""
        print(
            f"{name}: {inputs:,} inputs, {inputs / seconds:,.0f} a second{covered}, "
            f"{int(done.returncode != 0)} findings",
            flush=True,
        )
        if done.returncode:
            print(done.stdout[-MOST_OUTPUT:], flush=True)
            keep(name, folder, options.keep)
        return done.returncode == 0


def keep(name: str, folder: Path, place: Path | None) -> None:
    """Copy the inputs of a finding to where they stay."""
    target = place or Path(tempfile.gettempdir()) / "lshfast-findings"
    target.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_file() and re.match("input|crash|timeout|oom|leak", path.name):
            shutil.copy(path, target / f"{name}-{path.name}")
            print(f"kept: {target / f'{name}-{path.name}'}", flush=True)


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    sound = True
    for name in options.targets:
        if name not in TARGETS and CLANG is None:
            print(f"{name}: skipped, there is no clang", flush=True)
            continue
        sound = run(name, options) and sound
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
