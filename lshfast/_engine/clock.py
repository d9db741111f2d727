"""The seconds and bytes of the stages of a run, and the stage in which memory ran out."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# The activity of each stage, for error messages.
DOING = {
    "read": "reading",
    "count": "counting shingles",
    "sketch": "making signatures",
    "hold": "sampling the texts that are held",
    "sample": "sampling texts",
    "compare": "comparing texts",
    "locate": "finding the places of passages",
    "match": "finding candidates",
    "texts": "reading texts again",
    "earlier": "looking up earlier entries",
    "verify": "verifying pairs",
    "group": "grouping rows",
    "index": "adding rows to the index",
    "insert": "adding rows to the index",
    "write": "writing the outputs",
    "save": "writing the index",
}


@dataclass(frozen=True)
class Stage:
    """The seconds that a stage took, and the bytes of text that it processed."""

    seconds: float
    nbytes: int

    @property
    def mb_per_second(self) -> float:
        """Megabytes (10**6 bytes) of text per second; 0 if the stage took no time."""
        return self.nbytes / 1e6 / self.seconds if self.seconds else 0.0


class OutOfMemoryError(MemoryError):
    """A MemoryError whose message names the stage of the run."""


@contextmanager
def naming_stage(name: str) -> Iterator[None]:
    """Turn a MemoryError, or OSError with ENOMEM, into an OutOfMemoryError with the stage."""
    try:
        yield
    except OutOfMemoryError:
        raise
    except (MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            raise
        detail = f" ({error})" if str(error) else ""
        raise OutOfMemoryError(f"out of memory while {DOING[name]}{detail}") from error


class Clock:
    """The seconds and bytes of each stage of a run."""

    began: float

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.stages: dict[str, Stage] = {}

    @contextmanager
    def stage(self, name: str, nbytes: int = 0) -> Iterator[None]:
        """Measure a with statement as a stage, or as a further portion of it."""
        start = time.perf_counter()
        with naming_stage(name):
            yield
        self.add(name, time.perf_counter() - start, nbytes)

    def add(self, name: str, seconds: float, nbytes: int) -> None:
        """Add seconds and bytes to a stage."""
        before = self.stages.get(name, Stage(0.0, 0))
        self.stages[name] = Stage(before.seconds + seconds, before.nbytes + nbytes)

    @property
    def seconds(self) -> float:
        """Seconds since this clock was created."""
        return time.perf_counter() - self.began
