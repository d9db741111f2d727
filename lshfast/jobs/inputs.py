"""The rows of a run over files, as batches of texts; errors name files and lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from lshfast.kernels.text import TextError, Texts
from lshfast.readers import Corpus, open_corpus
from lshfast.readers.files import MAX_ROW_BYTES, Format, OnError


@dataclass(frozen=True)
class Inputs:
    """The inputs and the options of reading; see `lshfast.readers.open_corpus`."""

    paths: Sequence[str]
    column: str = "text"
    id_column: str | None = None
    glob: str | None = None
    on_error: OnError = "stop"
    encoding: str = "utf-8"
    format: Format | None = None
    max_row_bytes: int = MAX_ROW_BYTES

    def open(self, **others: Any) -> Corpus:
        """List the inputs as a corpus; `others` are further arguments of `open_corpus`."""
        options = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "paths"}
        return open_corpus(self.paths, **options | others)


def text_batches(corpus: Corpus, progress: Callable[[str, int, int | None], None] | None = None) -> Iterator[Texts]:
    """Read a corpus once; `progress` is called with ("read", bytes of input read, total bytes)."""
    done = 0
    for batch in corpus.batches():
        yield Texts(batch.texts)
        done += batch.source_bytes
        if progress:
            progress("read", done, corpus.total_bytes)


@contextmanager
def faults_of(corpus: Corpus) -> Iterator[None]:
    """Convert the error of a text that cannot be shingled to an error with its file and line."""
    try:
        yield
    except TextError as error:
        raise corpus.fault(error.row, error.reason) from None
