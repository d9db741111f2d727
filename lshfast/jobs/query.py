"""Look up texts, in files or single texts, in the index in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from lshfast.common.display import Figure, counted, figure
from lshfast.common.progress import Progress
from lshfast.drivers.indexes import ARROW_KINDS, key_kind, naming, opened_index
from lshfast.drivers.inputs import Inputs, text_batches
from lshfast.engine.display import Account, empty_note
from lshfast.engine.plan import Plan, plan_of_index
from lshfast.engine.sketching import Sketched, sketched
from lshfast.jobs.frame import Job
from lshfast.readers import Reject, id_kind
from lshfast.shingling import shingle
from lshfast.sketch.minhash import EMPTY

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.index.matches import Match, Matches


class Answers(NamedTuple):
    """The matches of some texts as columns: the key of the text, the key of the entry, their estimated similarity."""

    keys: list[Any]
    matches: list[Any]
    similarity: list[float]


@dataclass(frozen=True, kw_only=True)
class QuerySummary(Account):
    """The figures of a run that queried an index.

    Attributes
    ----------
    empty : int
        Rows without shingles.
    matched : int
        Rows with at least one match.
    matches : int
        Matches of all rows.
    faults : sequence of Reject
        Rows that could not be read.
    threshold : float
        The least estimated similarity of a match.
    recall : float
        Probability that an entry whose similarity equals `threshold` becomes a candidate.
    """

    PARTS: ClassVar[tuple[str, ...]] = "accepted", "rejected"

    accepted: int
    empty: int
    matched: int
    matches: int
    faults: Sequence[Reject]
    threshold: float
    recall: float

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        rejected = f"{counted(self.rejected, 'row')} rejected" if self.rejected else ""
        least = f"estimated similarity: at least {self.threshold:g}" if self.threshold else ""
        yield figure("read", self.read, rejected, empty_note(self.empty))
        yield figure("matched", self.matched, "rows that are similar to an entry")
        yield figure("matches", self.matches, least)
        if self.threshold:
            recall = "of candidates exactly at that similarity, before estimates are compared"
            yield figure("recall", f"{self.recall:.4f}", recall)


def query_text(
    path: str,
    text: str,
    *,
    output: str | None = None,
    overwrite: bool = False,
    k: int | None = None,
    threshold: float | None = None,
) -> list[Match]:
    """Return the entries similar to one text, and write them to a table if `output` is given; see `query_files`."""
    job = Job([output], "stop", overwrite)
    with opened_index(path) as index:
        job.check(path)
        plan = _plan(path, index, 1)
        signatures = plan.hasher.sketch(shingle([text], *plan.shingles[:4], seed=plan.hasher.seed), threads=1)
        found: list[Match] = index.query(signatures, k=k, threshold=_least(index, k, threshold), threads=1)[0]
        kinds = {"similarity": "double", "match": ARROW_KINDS[key_kind(index)]}
    if output:
        columns = {"match": [match.key for match in found], "similarity": [match.similarity for match in found]}
        with job.writing():
            job.write(output, columns, kinds)
    return found


def query_files(
    path: str,
    inputs: Inputs,
    show: Callable[[Answers], object],
    *,
    output: str | None = None,
    overwrite: bool = False,
    k: int | None = None,
    threshold: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> QuerySummary:
    """Look up the texts of files in the index in a file.

    Parameters
    ----------
    path : path
        The file of the index.
    inputs : Inputs
    show : callable
        Called with `Answers` in pieces, in the order of the texts, with the best match of each text first.
    output : path, optional
        The file for a table of the answers, which are then not shown. Skipped rows are recorded in a file beside it.
    overwrite : bool
        Whether an existing file is replaced.
    k : int, optional
        Return only the k most similar entries of each text.
    threshold : float, optional
        Return only entries whose estimated similarity is at least this, in [0, 1]. By default the threshold of the
        index, or 0 if `k` is given.
    threads, progress
        As for `build_index`.
    """
    job = Job([output], inputs.on_error, overwrite)
    with opened_index(path) as index:
        plan = _plan(path, index, threads)
        least = _least(index, k, threshold)
        corpus = job.open(inputs)
        job.check(path)

        def ask(piece: Sketched) -> tuple[Matches[Match], int]:
            found: Matches[Match] = index.query(piece.signatures, k=k, threshold=least, threads=1)
            return found, int((piece.signatures[:, 0] == EMPTY).sum())

        table = Answers([], [], [])
        row = empty = matched = matches = 0
        batches = text_batches(corpus, progress)
        with job.reading(corpus), closing(sketched(batches, plan, job.clock, ask, progress)) as pieces:
            for found, without in pieces:
                counts = np.diff(found.offsets)
                rows = np.repeat(np.arange(row, row + len(found), dtype=np.int64), counts).tolist()
                keys = found.keys.tolist() if isinstance(found.keys, np.ndarray) else found.keys
                assert found.similarity is not None
                answers = Answers([corpus.key(row) for row in rows], keys, found.similarity.tolist())
                if output is None:
                    show(answers)
                else:
                    for column, more in zip(table, answers, strict=True):
                        column += more
                row += len(found)
                empty += without
                matched += int(np.count_nonzero(counts))
                matches += len(keys)
        if output:
            columns = {"key": table.keys, "match": table.matches, "similarity": table.similarity}
            kinds = {"key": id_kind(corpus), "match": ARROW_KINDS[key_kind(index)], "similarity": "double"}
            with job.writing():
                job.write(output, columns, kinds)
        return job.account(
            QuerySummary,
            accepted=corpus.accepted,
            empty=empty,
            matched=matched,
            matches=matches,
            faults=list(corpus.rejected),
            threshold=least or 0.0,
            recall=float(index.bands.probability(least or 0.0)),
        )


def _plan(path: str, index: LSHIndex, threads: int | None) -> Plan:
    with naming(path):
        return plan_of_index(index.parameters, threads=threads)


def _least(index: LSHIndex, k: int | None, threshold: float | None) -> float | None:
    return index.parameters.threshold or 0.0 if threshold is None and k is None else threshold
