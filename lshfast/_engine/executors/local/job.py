"""A run over files from its options: what it reads, finds and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lshfast._common.choices import Split
from lshfast._common.progress import Progress
from lshfast._engine.account.report import DedupResult
from lshfast._engine.executors.local.cap import Cap, cap_of
from lshfast._engine.executors.local.outputs import Outputs
from lshfast._engine.executors.local.run import run_files
from lshfast._engine.indexes.run_indexes import Indexes, plan_of_items
from lshfast._engine.inputs import Inputs, output_of
from lshfast._engine.options.declaration import Options
from lshfast._engine.pairs.listed import check_listing
from lshfast._engine.plan import AnyPlan

if TYPE_CHECKING:
    from lshfast._engine.pages.run_pages import PageOutput
    from lshfast._engine.paragraphs import ParagraphsSummary


@dataclass(frozen=True)
class FileJob:
    """A run over files that is checked, and can begin."""

    source: Inputs
    plan: AnyPlan
    outputs: Outputs
    indexes: Indexes
    cap: Cap | None
    keep: str

    @classmethod
    def of_rows(
        cls, paths: Sequence[str], options: Options, page: PageOutput | None = None
    ) -> FileJob:
        """Return the run that writes the rows that stay to `options.output`."""
        if not options.given.isdisjoint(("top", "most")):
            check_listing(options.pairs)
        source = Inputs.of(paths, options)
        indexes = Indexes.of(source, options)
        plan = plan_of_items(source, options, options.given)
        defuse = options.defuse_formulas
        changes = output_of(options.changes, source, None, defuse)
        outputs = Outputs(
            output_of(options.output, source, options.output_format, defuse),
            output_of(options.pairs, source, None, defuse),
            output_of(options.removed, source, None, defuse),
            options.annotate,
            options.overwrite,
            page,
            options.max_removed,
        )
        if options.clusters is not None or changes is not None:
            from lshfast._engine.clusters.file import cluster_output

            clusters = cluster_output(options.clusters, changes)
            outputs = replace(outputs, clusters=clusters)
        if options.dry_run:
            outputs = outputs.dry
        return cls(
            source, plan, outputs, indexes, cap_of_options(options), options.keep
        )

    @classmethod
    def of_pairs(
        cls, paths: Sequence[str], options: Options, page: PageOutput | None = None
    ) -> FileJob:
        """Return the run that writes the similar pairs to `options.output`, and no rows."""
        source = Inputs.of(paths, options)
        plan = plan_of_items(source, options, options.given)
        table = output_of(
            options.output, source, options.output_format, options.defuse_formulas
        )
        outputs = Outputs(pairs=table, overwrite=options.overwrite, page=page)
        return cls(source, plan, outputs, Indexes(), cap_of_options(options), "first")

    def run(self, progress: Progress | None = None) -> DedupResult:
        """Find near-duplicates, and write all outputs or none."""
        return run_files(
            self.source,
            self.outputs,
            self.plan,
            keep=self.keep,
            indexes=self.indexes,
            cap=self.cap,
            progress=progress,
        )

    def run_paragraphs(
        self, split: Split, progress: Progress | None = None
    ) -> ParagraphsSummary:
        """Remove near-duplicate paragraphs, lines or sentences; write all outputs or none."""
        from lshfast._engine.paragraphs import run_paragraphs

        plan = self.plan.of_texts
        assert plan is not None  # split is refused for other kinds
        return run_paragraphs(
            self.source,
            self.outputs,
            plan,
            unit=split,
            keep=self.keep,
            indexes=self.indexes,
            cap=self.cap,
            progress=progress,
        )


def cap_of_options(options: Options) -> Cap | None:
    """Return the memory of a run, None if it is not limited."""
    return cap_of(options.memory, options.work, options.resume)
