"""Pairs of similar genomes in files of sequences and of sourmash's sketches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

from lshfast._common.display import Figure, counted, figure
from lshfast._common.progress import Progress
from lshfast._common.rows import names_of, parts_of_rows
from lshfast._common.types import AnyArray, RecordArray
from lshfast._common.visible import printable
from lshfast._engine.account.display import Account
from lshfast._engine.frame import Job
from lshfast._engine.pages.run_pages import PageOutput, named
from lshfast._io import check_different, check_place
from lshfast._io.files import OnError
from lshfast.genomes.ani import LEAST_HASHES
from lshfast.genomes.page import page_of
from lshfast.genomes.reading import SequenceFiles
from lshfast.genomes.search import (
    GENOME_PAIR,
    Least,
    Thresholds,
    least_of,
    similar_pairs,
)
from lshfast.genomes.signatures import (
    MAX_SIGNATURE,
    check_signature_path,
    is_signature_path,
    read_signatures,
    write_signatures,
)
from lshfast.genomes.sketches import MAX_UNPACKED, KmerSketches, Sampling, put_together

Table: TypeAlias = dict[str, "list[Any] | AnyArray"]

# Pairs of the table that are in memory as names at a time.
PAIRS_AT_ONCE = 1 << 15

# The names of columns in tables, where they are not those of `pairs`.
COLUMNS = {"containment_i": "containment_a", "containment_j": "containment_b"}


@dataclass(frozen=True)
class GenomeInputs:
    """Files of sequences and sketches, and how they are read; see `sketch_files`."""

    paths: Sequence[str]
    sampling: Sampling
    records: bool = False
    glob: str | None = None
    on_error: OnError = "stop"
    max_unpacked: int | str = MAX_UNPACKED
    max_signature: int | str = MAX_SIGNATURE


@dataclass(frozen=True)
class GenomeOutputs:
    """A table of pairs; or None: the sketches of the inputs as .sig or .sig.gz, and a page."""

    table: str
    sketches: str | None = None
    overwrite: bool = False
    page: PageOutput | None = None


@dataclass(frozen=True, kw_only=True)
class GenomesSummary(Account):
    """The figures of a comparison of genomes.

    Attributes
    ----------
    sketched : int
        Genomes, or records, that were compared: read = sketched + rejected.
    empty : int
        Those of them whose sketch has no hash; they are in no pair.
    letters, hashes : int
        Letters of the sequences, and hashes of the sketches.
    sampling : Sampling
    against : int or None
        Sketches of other files, with which these were compared; None for a comparison with each
        other.
    against_rejected : int
        Bad items of these files.
    pairs : int
    unknown : int
        Pairs that were left out because a sketch has too few hashes for an ANI.
    least : Least
        The threshold.
    """

    PARTS: ClassVar[tuple[str, ...]] = "sketched", "rejected"

    sketched: int
    empty: int
    letters: int
    hashes: int
    sampling: Sampling
    against: int | None
    against_rejected: int
    pairs: int
    unknown: int
    least: Least

    @property
    def finding_more(self) -> str:
        """What finds less similar pairs, as options of the command."""
        sampling = "a larger --bottom" if self.sampling.bottom else "a smaller --scaled"
        return (
            f"a lower --{self.least.column.removeprefix('mash_')} finds less similar ones, and "
            f"{sampling} samples more"
        )

    @property
    def refused(self) -> int:
        """Bad items of all inputs."""
        return self.rejected + self.against_rejected

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        sampling = self.sampling
        if sampling.bottom:
            kind = f"the {sampling.bottom:,} smallest"
        else:
            kind = f"one in {sampling.scaled:,}"
        empty = f"{self.empty:,} without a hash, in no pair" if self.empty else ""
        yield figure("read", self.read, self.parts)
        yield figure("letters", self.letters)
        yield figure(
            "hashes",
            self.hashes,
            f"{kind}, of k-mers of {counted(sampling.k, 'letter')}",
            empty,
        )
        if self.against is not None:
            rejected = (
                f"{self.against_rejected:,} rejected" if self.against_rejected else ""
            )
            yield figure("against", self.against, "sketches", rejected)
        note = ""
        if self.sketched < 2 and self.against is None:
            note = "a file is one genome; --records compares the records of a file"
        elif self.unknown:
            note = (
                f"{self.unknown:,} left out: fewer than {LEAST_HASHES} hashes of a sketch give no "
                "ANI; a smaller "
                "--scaled samples more"
            )
        yield figure(
            "pairs",
            self.pairs,
            f"{self.least.column} at least {self.least.value:g}",
            note,
        )


class _Opened:
    """Inputs whose files are listed, and not yet read."""

    def __init__(self, inputs: GenomeInputs, job: Job) -> None:
        self._inputs = inputs
        self.signatures: list[str] = list(filter(is_signature_path, inputs.paths))
        paths = [path for path in inputs.paths if not is_signature_path(path)]
        self.sequences: SequenceFiles | None = None
        if paths or not self.signatures:
            sequence_files = SequenceFiles.listed(
                paths,
                inputs.sampling,
                records=inputs.records,
                glob=inputs.glob,
                on_error=inputs.on_error,
                max_unpacked=inputs.max_unpacked,
            )
            self.sequences = job.add(sequence_files)

    def sketches(self, threads: int | None, progress: Progress | None) -> KmerSketches:
        """Read all files: those of sequences, and then those of sketches."""
        parts = (
            []
            if self.sequences is None
            else [self.sequences.sketches(threads, progress)]
        )
        inputs = self._inputs
        for path in self.signatures:
            parts.append(
                read_signatures(
                    path,
                    k=inputs.sampling.k,
                    max_signature=inputs.max_signature,
                    max_unpacked=inputs.max_unpacked,
                )
            )
        sketches = put_together(parts)
        sketch_size = inputs.sampling.bottom
        kind = sketches.sampling
        if sketch_size and kind.bottom != sketch_size:
            other = f"bottom={kind.bottom}" if kind.bottom else f"scaled={kind.scaled}"
            raise ValueError(
                f"{printable(self.signatures[0])}: sketches with {other}, not bottom={sketch_size}"
            )
        return sketches


def compare_genomes(
    inputs: GenomeInputs,
    outputs: GenomeOutputs,
    thresholds: Thresholds,
    *,
    against: Sequence[str] = (),
    threads: int | None = None,
    progress: Progress | None = None,
) -> GenomesSummary:
    """Compare genomes with each other, or with other ones, and write the similar pairs to a table.

    Parameters
    ----------
    inputs : GenomeInputs
        Files of FASTA, FASTQ, or sketches of sourmash (.sig, .sig.gz, .zip).
    outputs : GenomeOutputs
        The columns of the table: a, b, shared, jaccard, containment, containment_a, containment_b,
        ani, ani_low, ani_high and mash_ani (see `lshfast.genomes.pairs`); with `bottom`, without
        the containments and what follows from them.
    thresholds : Thresholds
    against : sequence of path
        Files of the same kinds; then pairs are of one genome of `inputs` and one of these.
    threads : int, optional
    progress : callable, optional
        Called with ("read", bytes of input read, total) and ("join", sketches done, total).

    Returns
    -------
    GenomesSummary

    Raises
    ------
    DataError
        If a file or record is bad, and bad ones stop the run.
    FormatError
        If a file of sketches is damaged, too large, or has no sketches with this k.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is
        created.
    """
    least = least_of(thresholds, inputs.sampling.bottom)
    save_sketches = outputs.sketches
    page = outputs.page
    job = Job([outputs.table], inputs.on_error, outputs.overwrite, page=page)
    opened = _Opened(inputs, job)
    other = _Opened(replace(inputs, paths=against), job) if against else None
    signatures = [*opened.signatures, *(other.signatures if other else [])]
    job.check(*signatures)
    if save_sketches is not None:
        check_signature_path(save_sketches)
        read_paths = [
            *signatures,
            *(file.location for source in job.sources for file in source.files),
        ]
        check_place(save_sketches, read_paths, outputs.overwrite)
        check_different(
            [*job.paths, save_sketches, *([] if page is None else [page.path])]
        )
    sketches = opened.sketches(threads, progress)
    other_sketches = None if other is None else other.sketches(threads, progress)
    similar, unknown = similar_pairs(
        sketches, other_sketches, thresholds, threads, progress
    )
    rejected = len(sketches.rejected)
    summary = job.account(
        GenomesSummary,
        read=len(sketches) + rejected,
        rejected=rejected,
        sketched=len(sketches),
        empty=int((sketches.sets.counts == 0).sum()),
        letters=sketches.letters,
        hashes=len(sketches.sets.tokens),
        sampling=sketches.sampling,
        against=None if other_sketches is None else len(other_sketches),
        against_rejected=0 if other_sketches is None else len(other_sketches.rejected),
        pairs=len(similar),
        unknown=unknown,
        least=least,
    )
    with job.writing():
        job.write(
            outputs.table,
            _tables(similar, sketches, other_sketches),
            {"a": "string", "b": "string"},
        )
        if save_sketches is not None:
            write_signatures(save_sketches, sketches, overwrite=outputs.overwrite)
        job.write_page(
            partial(_page, inputs, similar, sketches, other_sketches, summary)
        )
    return replace(summary, seconds=job.clock.seconds)


def _page(
    inputs: GenomeInputs,
    similar: RecordArray,
    sketches: KmerSketches,
    other_sketches: KmerSketches | None,
    summary: GenomesSummary,
    page: PageOutput,
) -> str:
    """Return the page of a comparison."""
    return page_of(
        similar,
        sketches,
        other_sketches,
        summary.least,
        title=f"Similar genomes in {named([printable(path) for path in inputs.paths], 'input')}",
        account=summary.figures(),
        command=page.command,
    )


def _tables(
    similar: RecordArray,
    sketches: KmerSketches,
    other_sketches: KmerSketches | None,
) -> Iterator[Table]:
    """Return the table of pairs in parts, the first of which may be empty."""
    names = sketches.names
    other_names = (sketches if other_sketches is None else other_sketches).names
    columns = [name for name in GENOME_PAIR.names or () if name not in ("i", "j")]
    if sketches.sampling.bottom:
        columns = [
            name for name in columns if name in ("shared", "jaccard", "mash_ani")
        ]
    for rows in parts_of_rows(max(1, len(similar)), PAIRS_AT_ONCE):
        part = similar[rows]
        table: Table = {"a": names_of(names, part["i"])}
        table["b"] = names_of(other_names, part["j"])
        yield table | {COLUMNS.get(name, name): part[name] for name in columns}
