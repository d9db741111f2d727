"""The memory that a run over files may take, and its work folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lshfast._common.checks import check_bytes
from lshfast._common.private_files import TemporaryFolder
from lshfast._engine.budget import Budget, available_memory, bytes_of_values
from lshfast._engine.indexes.run_indexes import Indexes
from lshfast._engine.inputs import Inputs, measure_inputs, state_of
from lshfast._engine.plan import AnyPlan, Plan
from lshfast._io import Corpus
from lshfast._io.sources import check_local

if TYPE_CHECKING:
    from lshfast._engine.executors.local.work_folder import WorkFolder

# Inputs rarely expand by more than this when they are read.
MOST_GROWTH = 16

# The part of the memory that a row of a run over points may have as bytes. Written as JSON, a row
# of 16 MB of float64 takes 9 to 12 times as much, and one of float32 twice that.
ROW_PART = 32


@dataclass(frozen=True)
class Cap:
    """The memory of a run, and where it keeps what does not fit.

    Attributes
    ----------
    memory : int
        Bytes that the process takes; `Budget` says how much is needed.
    work : str or None
        The work folder; None for a temporary one, with which the run cannot be resumed.
    resume : bool
        Go on with an earlier run in this work folder.
    """

    memory: int
    work: str | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        if self.work is not None:
            check_local(self.work, "the work folder must be a local folder")

    @property
    def longest_row(self) -> int:
        """The most bytes of a row of a run over points."""
        return self.memory // ROW_PART

    def check(
        self,
        plan: Plan,
        *,
        pairs: bool = False,
        parquet: bool = False,
        against: bool = False,
        by: bool = False,
        exact_key: bool = False,
    ) -> None:
        """Raise ValueError if the memory is too little, or there is nothing to resume."""
        if self.resume and self.work is None:
            raise ValueError("resume needs the work folder of the run")
        Budget(
            self.memory,
            plan,
            pairs,
            parquet=parquet,
            against=against,
            by=by,
            exact_key=exact_key,
        ).work(0)

    @contextmanager
    def folder(
        self,
        inputs: Inputs,
        corpus: Corpus,
        plan: AnyPlan,
        keep: str,
        output: str | None,
        pairs: bool,
        indexes: Indexes,
        earlier: Corpus | None = None,
    ) -> Iterator[WorkFolder]:
        """Open the work folder of a run; a temporary one is beside the output, or where the system
        has such files.
        """
        from lshfast._engine.executors.local.work_folder import WorkFolder

        run: dict[str, Any] = {
            "keep": keep,
            "pairs": pairs,
            **{
                name: value for name, value in asdict(inputs).items() if name != "paths"
            },
            "output": corpus.layout.output,
            "added": list(corpus.layout.added),
            **plan.described(),
            "inputs": {file.path: state_of(file) for file in corpus.files},
        }
        if earlier is not None:
            run["earlier"] = {file.path: state_of(file) for file in earlier.files}
            layout = earlier.layout
            run["earlier columns"] = [layout.column, layout.id_column]
        if indexes.against is not None:
            run["against"] = indexes.state()
        if "rows" in run:
            run["bands"] = [run["bands"], run.pop("rows")]
        if self.work is not None:
            earlier_paths = [] if indexes.texts is None else indexes.texts.paths
            if "-" in (*inputs.paths, *earlier_paths):
                raise ValueError(
                    "standard input cannot be read again, so a run over it can have no work folder"
                )
            from lshfast._common.code_version import code_version

            run["version of lshfast"] = code_version()
            with WorkFolder.opened(self.work, run, self.resume) as folder:
                yield folder
            return
        place = None if output is None else os.path.dirname(os.path.abspath(output))
        with (
            TemporaryFolder(place, ".lshfast-") as path,
            WorkFolder.opened(path, run, False, temporary=True) as folder,
        ):
            yield folder


def reads_parquet(corpus: Corpus) -> bool:
    """Return whether pyarrow reads an input, a Parquet or Arrow file."""
    return any(file.columnar for file in corpus.files)


def cap_for(
    inputs: Inputs,
    corpus: Corpus,
    plan: Plan,
    *,
    pairs: bool = False,
    parquet: bool = False,
) -> Cap | None:
    """Return a cap for a run that needs more memory than is available, None if it fits or this is
    not known.
    """
    free = available_memory()
    if free is None or corpus.total_bytes < free // MOST_GROWTH or "-" in inputs.paths:
        return None
    sample = inputs.sample(plan)
    rows, nbytes = measure_inputs(sample)
    needed = sum(plan.memory(rows, nbytes, corpus.held).values()) + bytes_of_values(
        sample.by, rows
    )
    cap = Cap(free * 3 // 4)
    least = Budget(0, plan, pairs, parquet=parquet, by=inputs.by is not None).least(0)
    return cap if needed > free and cap.memory >= least else None


def cap_for_points(corpus: Corpus, inputs: Inputs) -> Cap | None:
    """Return a cap for a run over points that may need more memory than is available, None if it
    fits.
    """
    free = available_memory()
    if free is None or corpus.total_bytes < free // 2 or "-" in inputs.paths:
        return None
    return Cap(free * 3 // 4)


def cap_of(
    memory: int | str | None, work: str | os.PathLike[str] | None, resume: bool
) -> Cap | None:
    """Return the cap of a run from plain arguments, None for a run without one."""
    if memory is None:
        if work is not None or resume:
            raise ValueError(
                "work and resume are for runs with a cap: memory is needed"
            )
        return None
    return Cap(
        check_bytes("memory", memory), None if work is None else os.fspath(work), resume
    )
