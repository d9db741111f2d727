"""Try inputs of a target of Python in this process.

    python -m tests.fuzz.worker NAME SEED SECONDS INPUTS FOLDER [--blind]

The input that is tried lies in FOLDER/input, in case that it ends the process. Coverage guides the changes where
atheris is installed; with --blind, an input depends on the seed and its number only. The last line counts the inputs.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any


class Trial:
    """Tries inputs one after the other."""

    def __init__(self, name: str, folder: Path, seed: int) -> None:
        from tests.fuzz.targets import TARGETS

        self.target = TARGETS[name]
        self.count = 0
        self.chance = Random(seed)
        self._kept = folder / "input"
        self._place = Path(tempfile.mkdtemp(dir=folder))
        self.seeds = self.target.seeds(self._place)
        stored = Path(__file__).parent / "seeds" / name
        self.seeds += [path.read_bytes() for path in sorted(stored.glob("*"))]

    def attempt(self, data: bytes) -> None:
        self._kept.write_bytes(data)
        self.target.attempt(data, self._place)
        self.count += 1

    def changed(self, data: bytes, chance: Random) -> bytes:
        """Change an input; from time to time, one of the seeds."""
        base = data if data and chance.random() < 0.8 else chance.choice(self.seeds)
        return self.target.damaged(base, self.seeds, chance)


def run_blind(trial: Trial, seed: int, seconds: float, inputs: int) -> None:
    end = time.process_time() + seconds
    for number in range(inputs):
        if time.process_time() > end:
            break
        if number < len(trial.seeds):
            trial.attempt(trial.seeds[number])
            continue
        chance = Random(f"{seed}.{number}")
        trial.attempt(trial.changed(b"", chance))


def run_guided(
    trial: Trial, atheris: Any, folder: Path, seed: int, seconds: float, inputs: int
) -> None:
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, data in enumerate(trial.seeds):
        (corpus / f"seed-{number}").write_bytes(data)

    def mutate(data: bytes, most: int, number: int) -> bytes:
        chance = Random(number)
        if chance.random() < 0.3:
            return bytes(atheris.Mutate(data, most))
        return trial.changed(data, chance)[:most]

    arguments = [
        "fuzz",
        f"-max_total_time={int(seconds)}",
        f"-runs={inputs}",
        f"-seed={seed + 1}",
        "-max_len=65536",
        "-timeout=120",
        "-rss_limit_mb=4000",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/",
        str(corpus),
    ]
    atheris.Setup(arguments, trial.attempt, custom_mutator=mutate)
    atheris.Fuzz()


def main(arguments: list[str]) -> None:
    name, seed, seconds, inputs, folder, *blind = arguments
    guided = None
    if not blind:
        with contextlib.suppress(ImportError):
            import atheris as guided
    if guided is not None:
        with guided.instrument_imports(include=["lshfast"]):
            trial = Trial(name, Path(folder), int(seed))
        run_guided(trial, guided, Path(folder), int(seed), float(seconds), int(inputs))
    else:
        trial = Trial(name, Path(folder), int(seed))
        run_blind(trial, int(seed), float(seconds), int(inputs))
        print(f"stat::number_of_executed_units: {trial.count}")


if __name__ == "__main__":
    main(sys.argv[1:])
