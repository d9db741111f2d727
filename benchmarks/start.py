"""What the start of the command costs: processor time of whole processes, in turns.

    python benchmarks/start.py [--repeat 31]

Each process imports numpy, imports typer, or runs `lshfast dedup` on a file of one text. Medians count.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median


def processor_time(command: list[str]) -> float:
    """Return the seconds of processor time that a process takes from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=31, help="turns")
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "one.jsonl")
        path.write_text('{"text": "one text"}\n', encoding="utf-8")
        commands = {
            "import numpy": ["-c", "import numpy"],
            "import typer": ["-c", "import typer"],
            "lshfast dedup": ["-m", "lshfast", "dedup", str(path), "--dry-run"],
        }
        turns = [
            {
                name: processor_time([sys.executable, *words])
                for name, words in commands.items()
            }
            for _ in range(repeat + 1)
        ]
    for name in commands:  # the first turn fills the caches
        print(
            f"{name:14}{median(turn[name] for turn in turns[1:]):8.3f} s of processor time"
        )


if __name__ == "__main__":
    main()
