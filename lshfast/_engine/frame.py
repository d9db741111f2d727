"""The frame of jobs over files: checked outputs, written all or none, and an account.

A job opens its inputs, checks its outputs, works, writes, and gives an account::

    job = Job([output], inputs.on_error, overwrite)
    corpus = job.open(inputs)
    job.check()
    with job.reading(corpus):
        ...
    with job.writing():
        job.write(output, {"id": ids})
    return job.account(JobSummary, ids=len(ids))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lshfast._common.atomic_files import all_or_none
from lshfast._common.display import Figure, figure
from lshfast._common.progress import Progress
from lshfast._common.threads import quick_switches
from lshfast._common.types import BoolArray
from lshfast._engine.account.display import Account
from lshfast._engine.clock import Clock, naming_stage
from lshfast._engine.inputs import Inputs, faults_of, input_notes, item_batches
from lshfast._engine.pages.run_pages import PageOutput, check_page_output
from lshfast._io import (
    Corpus,
    Edits,
    check_different,
    check_outputs,
    check_rows,
    rejects_beside,
    write_rejects,
    write_rows,
    write_table,
    write_tables,
)
from lshfast._io.files import OnError, Reject
from lshfast._io.output import output_format
from lshfast._io.pages.page import write_page
from lshfast._io.selection import Columns
from lshfast._io.string_file import RejectFile

if TYPE_CHECKING:
    from lshfast._items.items import PointBatch


class InputFile(Protocol):
    """A file that a job reads."""

    @property
    def location(self) -> str:
        """Its path or URL."""
        ...


class RowSource(Protocol):
    """Inputs of a job: a corpus, for example, or another reader of rows."""

    @property
    def files(self) -> Sequence[InputFile]:
        """All input files, which are no outputs."""
        ...

    @property
    def rejected(self) -> list[Reject] | RejectFile:
        """Bad rows that were skipped."""
        ...

    @property
    def read(self) -> int:
        """The number of all rows that were read."""
        ...


SourceT = TypeVar("SourceT", bound=RowSource)
AccountT = TypeVar("AccountT", bound=Account)


class Job:
    """A job over files, whose time begins when this is made.

    Parameters
    ----------
    outputs : iterable of path or None
        None stands for an output that is not wanted.
    on_error : {"stop", "skip"}
        If bad rows are skipped, they are written to a file next to the first output, or the page.
    overwrite : bool
        Whether existing files are replaced.
    rejects : path, optional
        Where bad rows are written instead.
    page : PageOutput, optional
        A page that is written besides.

    Attributes
    ----------
    clock : Clock
        The stages that the job measures.
    sources : list of RowSource
        The inputs.
    paths : list of path
        The outputs that are wanted, and the path for bad rows.
    """

    def __init__(
        self,
        outputs: Iterable[str | None],
        on_error: OnError,
        overwrite: bool,
        rejects: str | None = None,
        page: PageOutput | None = None,
    ) -> None:
        self.clock: Clock = Clock()
        self.sources: list[RowSource] = []
        self.paths: list[str] = [path for path in outputs if path is not None]
        self._overwrite = overwrite
        self._page = page
        # With the files that their rows are written to.
        self._rows: list[tuple[Corpus, str]] = []
        first = next(iter(self.paths), None if page is None else page.path)
        self._rejects = (
            (rejects or rejects_beside(first)) if on_error == "skip" else None
        )
        if self._rejects is not None:
            self.paths.append(self._rejects)

    def open(self, inputs: Inputs, rows: str | None = None, **options: Any) -> Corpus:
        """Open files as a corpus; `rows` is the output for rows, `options` go to `Inputs.open`."""
        if rows is None:
            return self.add(inputs.open(**options))
        corpus = self.add(inputs.open(output=output_format(rows)[0], **options))
        self._rows.append((corpus, rows))
        return corpus

    def add(self, source: SourceT) -> SourceT:
        """Return inputs, which the job accounts for from now on."""
        self.sources.append(source)
        return source

    def check(self, *other_files: str) -> None:
        """Check that the outputs can be written, and differ from each other and the inputs."""
        inputs = [
            *other_files,
            *(file.location for source in self.sources for file in source.files),
        ]
        check_outputs(self.paths, inputs, self._overwrite)
        if self._page is not None:
            check_page_output(self._page, inputs, self._overwrite)
            check_different([*self.paths, self._page.path])
        for corpus, rows in self._rows:
            check_rows(corpus, rows)

    @contextmanager
    def reading(self, corpus: Corpus) -> Iterator[None]:
        """Work on the texts of a corpus in this block; errors name the file and line of a text."""
        with faults_of(corpus), quick_switches():
            yield

    def points(self, corpus: Corpus, progress: Progress | None) -> Iterator[PointBatch]:
        """Read a corpus of vectors or codes once, which is the stage "read"."""
        batches = item_batches(corpus, progress)
        while True:
            with self.clock.stage("read"):
                batch = next(batches, None)
            if batch is None:
                return
            self.clock.add("read", 0, batch.nbytes)
            yield batch

    @contextmanager
    def writing(self, stage: str | None = None) -> Iterator[None]:
        """Write the outputs in this block, all or none; `stage` names the measured time."""
        with self.clock.stage(stage) if stage else naming_stage("write"), all_or_none():
            yield
            self.write_rejects()

    def write(
        self,
        path: str,
        table: Columns | Iterator[Columns],
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        """Write a table, whole or in parts; `kinds` are Arrow's names for the types of columns."""
        if isinstance(table, Mapping):
            write_table(path, table, self._overwrite, kinds)
        else:
            write_tables(path, table, self._overwrite, kinds)

    def write_page(self, make: Callable[[PageOutput], str]) -> None:
        """Write the page that `make` returns, if one is wanted."""
        if self._page is not None:
            write_page(self._page.path, make(self._page), self._overwrite)

    def write_rows(
        self,
        keep: BoolArray,
        changed: BoolArray,
        new_text: Callable[[int, str], str],
        threads: int,
        progress: Progress | None,
    ) -> None:
        """Write the rows to keep, those that are changed with a new text, if rows are wanted.

        Bad rows are written before.
        """
        for corpus, path in self._rows:
            self.write_rejects()
            written_bytes = 0

            def tell(nbytes: int, total: int = corpus.total_bytes) -> None:
                nonlocal written_bytes
                written_bytes += nbytes
                if progress:
                    progress("write", written_bytes, total)

            write_rows(
                corpus,
                path,
                keep=keep,
                overwrite=self._overwrite,
                progress=tell,
                threads=threads,
                edits=Edits(changed, new_text),
            )

    def write_rejects(self) -> None:
        """Write the bad rows, if that has not been done; `writing` does it at the end."""
        if self._rejects is not None:
            rejected = (row for source in self.sources for row in source.rejected)
            write_rejects(self._rejects, rejected, self._overwrite)
            self._rejects = None

    def account(self, kind: Callable[..., AccountT], /, **figures: Any) -> AccountT:
        """Return an account of all inputs; `figures` adds to the common attributes."""
        common = {
            "read": sum(source.read for source in self.sources),
            "rejected": sum(len(source.rejected) for source in self.sources),
            "stages": self.clock.stages,
            "seconds": self.clock.seconds,
            **input_notes(*self.sources),
        }
        return kind(**common | figures)


@dataclass(frozen=True, kw_only=True)
class ShortenedRows(Account):
    """The account of a job that removes parts of texts, and rows of which nothing remains.

    Attributes
    ----------
    kept, removed : int
        read = kept + removed + rejected.
    shortened : int
        Kept rows of which parts were removed.
    """

    kept: int
    removed: int
    shortened: int

    def removal(self) -> Iterator[Figure]:
        """Yield the lines of what became of the rows."""
        yield figure(
            "kept",
            self.kept,
            f"{self.shortened:,} of them shortened" if self.shortened else "",
        )
        yield figure(
            "removed", self.removed, "of which nothing remained" if self.removed else ""
        )
        yield figure("rejected", self.rejected)
        yield figure("", "", f"{self.parts} = {self.read:,} read")
