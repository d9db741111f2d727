"""What the page of a run costs: `lshfast dedup` with and without --html, in turns, as whole processes.

    python benchmarks/pages.py CORPUS.jsonl [--memory 1G] [--repeat 5]

`benchmarks/scale.py make` writes a corpus. Each line has the median processor seconds, seconds and peak of resident
memory of a run that writes the kept rows, without and with the page, and the ratio of both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(
    corpus: Path, options: list[str], page: bool, folder: Path
) -> tuple[float, float, float]:
    """Run once; return processor seconds, seconds, and the peak of resident memory in MB."""
    outputs = ["-o", str(folder / "kept.jsonl"), "--overwrite", "--quiet"]
    outputs += ["--html", str(folder / "page.html")] if page else []
    start = time.perf_counter()
    run = subprocess.Popen(
        [sys.executable, "-m", "lshfast", "dedup", str(corpus), *outputs, *options]
    )
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        sys.exit(run.returncode)
    return (
        used.ru_utime + used.ru_stime,
        time.perf_counter() - start,
        used.ru_maxrss / 1e3,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--memory", help="also within this memory")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    print(f"{'':<10}{'':>8}{'CPU s':>10}{'s':>10}{'peak MB':>10}")
    for options in [[], *([["--memory", given.memory]] if given.memory else [])]:
        with tempfile.TemporaryDirectory(dir=given.corpus.parent) as name:
            took: dict[bool, list[tuple[float, float, float]]] = {False: [], True: []}
            measure(
                given.corpus, options, True, Path(name)
            )  # what is read once is then in memory
            for _ in range(given.repeat):
                for page in took:
                    took[page].append(measure(given.corpus, options, page, Path(name)))
        medians = {
            page: [statistics.median(column) for column in zip(*runs, strict=True)]
            for page, runs in took.items()
        }
        for page, figures in medians.items():
            shown = "".join(f"{figure:>10.2f}" for figure in figures)
            print(
                f"{' '.join(options) or 'no cap':<10}{'page' if page else '':>8}{shown}"
            )
        ratios = (
            with_page / without
            for without, with_page in zip(medians[False], medians[True], strict=True)
        )
        print(f"{'':<10}{'ratio':>8}{''.join(f'{ratio:>10.3f}' for ratio in ratios)}")


if __name__ == "__main__":
    main()
