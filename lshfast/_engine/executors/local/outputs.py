"""The outputs of a run over files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lshfast._io.output import output_format, rejects_beside
from lshfast._io.sources import is_url
from lshfast._io.streams import is_stream

if TYPE_CHECKING:
    from lshfast._engine.clusters.file import ClusterOutput
    from lshfast._engine.pages.run_pages import PageOutput


@dataclass(frozen=True)
class Outputs:
    """The outputs of a run; None for those that it does not write.

    They are written if no larger share of the rows than `max_removed` is removed; the page is
    written in any case.
    """

    rows: str | None = None
    pairs: str | None = None
    removed: str | None = None
    annotate: bool = False
    overwrite: bool = False
    page: PageOutput | None = None
    max_removed: float | None = None
    clusters: ClusterOutput | None = None

    @property
    def dry(self) -> Outputs:
        """No outputs, under the same conditions."""
        clusters = None if self.clusters is None else self.clusters.undone
        return Outputs(
            overwrite=self.overwrite, max_removed=self.max_removed, clusters=clusters
        )

    @property
    def changes(self) -> str | None:
        """The path for the table of changes of groups."""
        return None if self.clusters is None else self.clusters.changes

    @property
    def listing(self) -> bool:
        """Whether the run is for pairs, and removes no rows."""
        return self.pairs is not None and self.rows is None and self.removed is None

    @property
    def options(self) -> str | None:
        """The path for the options, beside the table of removed rows, if it has such a file."""
        if self.removed is None:
            return None
        from lshfast._engine.options.stored import beside

        return beside(self.removed)

    @property
    def rejects(self) -> str | None:
        """The path for the skipped rows, beside the first output; None without outputs."""
        return rejects_beside(
            self.rows or self.pairs or self.removed or self.changes or self._groups
        )

    @property
    def _groups(self) -> str | None:
        """The file of groups, if it is written."""
        return (
            None if self.clusters is None or self.clusters.dry else self.clusters.path
        )

    @property
    def formats(self) -> list[str]:
        """The formats of the outputs."""
        return [
            output_format(path)[0]
            for path in (self.rows, self.pairs, self.removed)
            if path is not None
        ]

    @property
    def paths(self) -> list[str]:
        """The absolute paths and the URLs of the files, without the file of skipped rows."""
        page = None if self.page is None else self.page.path
        outputs = (
            self.rows,
            self.pairs,
            self.removed,
            self.options,
            page,
            self.changes,
            self._groups,
        )
        paths = [path for path in outputs if path is not None]
        return [
            path if is_url(path) else os.path.abspath(path)
            for path in paths
            if not is_stream(path)
        ]

    @property
    def first_local(self) -> str | None:
        """The path of the first output that is a local file, None if there is none."""
        return next((path for path in self.paths if not is_url(path)), None)
