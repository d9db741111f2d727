"""How much memory a run with a cap may use for what, and how much there is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from lshfast._common.value_codes import MOST_BYTES, MOST_VALUES, ValueCodes
from lshfast._engine.common_shingles import COUNT_BYTES
from lshfast._engine.plan import ROW_WORDS, SLACK, TEXT_OVERHEAD, WORK_BYTES, Plan

# Bytes that a long row takes for each of its tokens while it is compared: the tokens of three
# rows, and a table that says which tokens are new, with 10 to 20 bytes a token. To read and sketch
# a row takes less.
TOKEN_BYTES = 52

# Bytes of a value of `by` without its text: a string, its place in a dict and one in a list.
# Measured 140 to 160.
VALUE_BYTES = 192


@dataclass(frozen=True)
class MemoryCosts:
    """Bytes that a run takes, without its records and parts.

    Attributes
    ----------
    process : int
        The interpreter with numpy.
    parquet : int
        pyarrow with the pages of a Parquet file that is read, and a row group of one that is
        written.
    counts : int
        The hashes of shingles while they are counted.
    thread : int
        What a thread works on.
    row : int
        What is held of each row, whatever it holds: its line, order value, length, label, hash,
        part, keeper and similarity, and arrays that are in use while these are computed.
    id : int
        The place of the id of a row in a file.
    earlier : int
        A row that is removed for an entry of an index: the key of the entry, and the similarity to
        it.
    value : int
        The value of a row in the column of `by`.
    exact_key : int
        The length and two hashes of the exact key of a row, while rows with equal ones are found.
    values : int
        The different values of the column of `by`.
    pairs : int
        What a part takes more if all of its similar pairs are wanted: candidates of a batch and
        their similarities.
    least : int
        The least memory for records, and for a part.
    """

    process: int = 86 << 20
    parquet: int = 192 << 20
    counts: int = COUNT_BYTES
    thread: int = WORK_BYTES
    row: int = 128
    id: int = 24
    earlier: int = 160
    value: int = 4
    exact_key: int = 64
    values: int = MOST_VALUES * VALUE_BYTES + MOST_BYTES
    pairs: int = 192 << 20
    least: int = 32 << 20


COSTS = MemoryCosts()


@dataclass(frozen=True)
class Budget:
    """How the memory of a run is used.

    Attributes
    ----------
    memory : int
        Bytes of the process.
    plan : Plan
    pairs : bool
        Whether all similar pairs are wanted.
    ids : bool
        Whether rows have ids.
    parquet : bool
        Whether an input or an output is a Parquet file.
    against : bool
        Whether rows are compared with the entries of an index.
    by : bool
        Whether rows have values in a column of `by`.
    exact_key : bool
        Whether rows have exact keys.
    costs : MemoryCosts
        By default `COSTS`.
    """

    memory: int
    plan: Plan
    pairs: bool = False
    ids: bool = False
    parquet: bool = False
    against: bool = False
    by: bool = False
    exact_key: bool = False
    costs: MemoryCosts = field(default_factory=lambda: COSTS)

    @property
    def row_bytes(self) -> int:
        """Memory of a row in its part, without its text."""
        slots = self.plan.hasher.num_perm
        bands = self.plan.bands.bands
        return round(8 * slots * (1 + SLACK)) + 8 * (bands + ROW_WORDS) + TEXT_OVERHEAD

    def work(self, rows: int, longest: int = 0) -> int:
        """Return the memory for records or a part; ValueError if too little (see `least`)."""
        least = self.least(rows, longest)
        if self.memory < least:
            of_rows = f"{rows:,} rows and " if rows else ""
            of_rows += (
                f"a row of {longest:,} bytes and " if self.row_work(longest) else ""
            )
            threads = (
                f"{self.plan.threads} thread{'s' if self.plan.threads > 1 else ''}"
            )
            raise ValueError(
                f"memory must be at least {-(-least // 10**6):,} MB ({least} bytes) for "
                f"{of_rows}{threads}, "
                f"not {self.memory} bytes"
            )
        return self.memory - self._fixed(rows) - self.row_work(longest)

    def longest_row(self, rows: int) -> int:
        """Return the bytes of the longest row that a run over `rows` can hold."""
        return (
            max(0, self.memory - self.least(rows)) + self._of_threads
        ) // self._of_byte

    def row_work(self, nbytes: int) -> int:
        """Return the memory for work on a row; threads wait while a long row is processed."""
        return max(0, nbytes * self._of_byte - self._of_threads)

    @property
    def _of_threads(self) -> int:
        return self.costs.thread * self.plan.threads

    @property
    def _of_byte(self) -> int:
        """The memory for a byte of a row. Words of one letter take two bytes each, symbols one."""
        is_token = self.plan.shingles.unit in ("char", "symbol")
        return TOKEN_BYTES if is_token else TOKEN_BYTES // 2

    def records(self, longest: int = 0) -> int:
        """Return the memory for bucket records while rows are read, given the longest row's bytes.

        What is held of the rows, whose number is not known yet, takes the rest: most of it if they
        have ids, whose hashes are in memory while rows are read.
        """
        work = self.work(0, longest)
        return max(
            obtainable(work // 4 if self.ids else work * 3 // 4), self._join_memory
        )

    def least(self, rows: int, longest: int = 0) -> int:
        """Return the least memory for `rows`, of which the longest has `longest` bytes."""
        work = max(self.costs.least, self._join_memory * 4 // 3 + 1)
        return self._fixed(rows) + self.row_work(longest) + work

    @property
    def _join_memory(self) -> int:
        """The least memory of the join on disk."""
        from lshfast.join.external.bucket_runs import least_memory

        return least_memory(self.plan.bands.bands)

    def _fixed(self, rows: int) -> int:
        costs = self.costs
        of_rows = (
            costs.row
            + costs.id * self.ids
            + costs.earlier * self.against
            + costs.value * self.by
            + costs.exact_key * self.exact_key
        ) * rows
        of_process = (
            costs.process + costs.parquet * self.parquet + costs.pairs * self.pairs
        )
        of_process += costs.values * self.by
        of_process += costs.counts * (self.plan.ignore_common is not None)
        return of_process + self._of_threads + of_rows


def bytes_of_values(values: ValueCodes | None, rows: int) -> int:
    """Estimate the memory for the `by` values of all rows from the first ones; 0 without values.

    The share of the rows seen that have a value of their own is the chance that a further row has a
    new one (I. J. Good, Biometrika 1953).
    """
    if values is None:
        return 0
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.names))
    single_share = np.count_nonzero(counts == 1) / max(1, len(values))
    different = min(
        MOST_VALUES, len(values.names) + max(0, rows - len(values)) * single_share
    )
    texts = sum(map(len, values.names)) / max(1, len(values.names))
    return COSTS.value * rows + min(
        COSTS.values, round(different * (VALUE_BYTES + texts))
    )


def available_memory() -> int | None:
    """Return the bytes that this process may use; None where the system reports none."""
    limits = []
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            limits += [
                int(line.split()[1]) * 1024
                for line in file
                if line.startswith("MemAvailable:")
            ]
    except OSError:
        return None
    for limit in (
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ):
        with suppress(OSError, ValueError), open(limit, encoding="ascii") as file:
            limits.append(int(file.read()))
    return min(limits, default=None)


def obtainable(memory: int) -> int:
    """Return an amount of memory, at most the available memory."""
    free = available_memory()
    return memory if free is None else min(memory, free)
