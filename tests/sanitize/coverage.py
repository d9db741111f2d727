"""Which lines of the C of src/ the programs of sanitize.sh reach: ``python -m tests.sanitize.coverage``.

It prints, for each file with lines that are not reached, their share and numbers. A CPU level that this machine has not
is not reached. Needs GCC and gcov.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLAGS = ["-std=gnu11", "-ffp-contract=off", "-O1", "-Isrc", "--coverage"]


def compiled(*arguments: str | Path) -> None:
    subprocess.run(["gcc", *FLAGS, *map(str, arguments)], cwd=ROOT, check=True)


def run_programs(folder: Path) -> None:
    """Build the programs in a folder, and run them there."""
    objects = []
    for source in sorted((ROOT / "src").glob("*/*.c")):
        if not source.stem.endswith("_module"):
            objects.append(folder / f"{source.stem}.o")
            compiled("-c", source.relative_to(ROOT), "-o", objects[-1])
    for source in sorted(Path(__file__).parent.glob("sanitize*.c")):
        program = folder / source.stem
        compiled(source.relative_to(ROOT), *objects, "-lm", "-o", program)
        subprocess.run([program], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def lines_of(folder: Path) -> dict[str, dict[int, int]]:
    """Return how often each line of each file of src/ was run; headers are part of several programs."""
    lines: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for data in sorted(folder.glob("*.gcda")):
        command = ["gcov", "--json-format", "--stdout", str(data)]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
        for record in done.stdout.splitlines():
            for file in json.loads(record)["files"]:
                name = os.path.relpath(ROOT / file["file"], ROOT)
                for line in file["lines"]:
                    lines[name][line["line_number"]] += line["count"]
    return {name: lines[name] for name in sorted(lines) if name.startswith("src")}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_programs(Path(folder))
        lines = lines_of(Path(folder))
    for name, counts in lines.items():
        missing = [line for line in sorted(counts) if not counts[line]]
        share = 1 - len(missing) / len(counts)
        if missing:
            print(f"{name}: {share:.0%} of {len(counts)} lines, without {missing}")


if __name__ == "__main__":
    main()
