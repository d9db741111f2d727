"""What a run is told to do: every choice checked once, in one frozen record that travels through all stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from lshfast.lsh.bands import Bands, check_threshold, choose_bands
from lshfast.shingling import Unit, check_shingle
from lshfast.sketch.minhash import MinHasher, Scheme
from lshfast.threads import thread_count

Verify: TypeAlias = Literal["exact", "signature", "none"]
Grouping: TypeAlias = Literal["star", "components"]
Keep: TypeAlias = Literal["first", "last", "longest", "shortest"]

# For the estimate of memory: a str object and its place in the column; fingerprints, copies and groups in 64-bit
# words; batches and tokens of one thread at work; the interpreter with pyarrow.
TEXT_OVERHEAD = 72
ROW_WORDS = 16
WORK_BYTES = 48 << 20
BASE_BYTES = 120 << 20


@dataclass(frozen=True)
class Plan:
    """The checked choices of a run; `make_plan` fills in what was left open."""

    threshold: float
    unit: Unit
    size: int
    hasher: MinHasher
    bands: Bands
    verify: Verify
    groups: Grouping
    threads: int

    @property
    def recall(self) -> float:
        """The probability that a pair exactly at the threshold is found."""
        return float(self.bands.probability(self.threshold))

    def memory(self, rows: int, nbytes: int) -> dict[str, int]:
        """Estimate the bytes that a run over `rows` texts of `nbytes` in all will hold at its peak, by kind.

        Signatures count twice: as the parts that they come in, and as the one array that they become.
        """
        return {
            "texts": nbytes + TEXT_OVERHEAD * rows,
            "signatures": 2 * 8 * self.hasher.num_perm * rows,
            "bucket keys": 8 * (self.bands.bands + ROW_WORDS) * rows,
            "work": WORK_BYTES * self.threads,
            "Python and libraries": BASE_BYTES,
        }


def make_plan(
    *,
    threshold: float = 0.8,
    unit: Unit = "word",
    size: int = 5,
    num_perm: int = 128,
    scheme: Scheme = "fast",
    recall: float = 0.95,
    bands: int | None = None,
    rows: int | None = None,
    verify: Verify = "exact",
    groups: Grouping = "star",
    threads: int | None = None,
    seed: int = 1,
) -> Plan:
    """Check all choices of a run and return them as a Plan; errors name the argument, the value and the range."""
    threshold = check_threshold(threshold)
    check_shingle(unit, size)
    for name, value, allowed in (("verify", verify, Verify), ("groups", groups, Grouping)):
        if value not in get_args(allowed):
            raise ValueError(f"{name} must be one of {', '.join(get_args(allowed))}, not {value!r}")
    hasher = MinHasher(num_perm, scheme, seed)
    if (bands is None) != (rows is None):
        raise ValueError("bands and rows go together: give both, or neither and a recall")
    if bands is None or rows is None:
        choice = choose_bands(threshold, num_perm, recall=recall)
    else:
        choice = Bands(bands, rows)
        if choice.slots > num_perm:
            raise ValueError(f"bands x rows must be at most num_perm = {num_perm}, not {bands} x {rows}")
    return Plan(threshold, unit, size, hasher, choice, verify, groups, thread_count(threads))
