"""One or two columns of names in tables, or in text with a name or a pair a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lshfast._common.progress import Progress
from lshfast._engine.inputs import Inputs
from lshfast._io import Corpus
from lshfast._io.advice import advising
from lshfast._io.files import File, Reject, long_row
from lshfast._io.lines import Lines, whole_lines

# The bytes that bytes.split() takes for white space.
_WHITE = np.isin(
    np.arange(256, dtype=np.uint8), np.frombuffer(b" \t\n\r\v\f", np.uint8)
)

# Bytes of lines that are split at a time.
BLOCK_BYTES = 1 << 20


@dataclass
class Names:
    """Consecutive rows of a file: their names, their second values, and their line numbers."""

    file: File
    first: list[str]
    second: list[Any]
    lines: Sequence[int]


@dataclass
class ColumnReader:
    """Reads columns of files in batches, and counts `accepted` and `rejected` rows.

    In a table, the columns are `Inputs.column` and, if it is wanted, `Inputs.id_column`. In plain
    text (.txt, or the format "lines"), a row is a line: a name, or two names between which there is
    white space. Blank lines, and lines that begin with #, are not rows.
    """

    inputs: Inputs
    accepted: int = 0
    rejected: list[Reject] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._corpus = self.inputs.open(unique_ids=False)
        self.files: list[File] = self._corpus.files
        self._pair = self.inputs.id_column is not None

    @property
    def read(self) -> int:
        """The number of all rows that were read."""
        return self.accepted + len(self.rejected)

    def again(self) -> ColumnReader:
        """Return a reader of the same rows with counts of its own."""
        other = copy(self)
        other.accepted = 0
        other.rejected = []
        return other

    def refuse(self, names: Names, place: int, reason: str) -> None:
        """Count a row of a batch as rejected, or raise DataError if bad rows stop the run."""
        self.accepted -= 1
        self._refuse(names.file, names.lines[place], reason)

    def _refuse(self, file: File, line: int | None, reason: str) -> None:
        fault = file.fault(line, reason)
        self.rejected.append(Reject.of(fault, self.inputs.on_error))

    def batches(self, progress: Progress | None = None) -> Iterator[Names]:
        """Read all files once; `progress` is called with ("input", bytes read, total bytes)."""
        bytes_read = 0
        total = self._corpus.total_bytes
        for file in self._corpus.files:
            before = bytes_read
            bytes_read = bytes_read + file.size

            def tell(position: int, before: int = before) -> None:
                if progress:
                    progress("input", before + position, total)

            is_text = file.format in ("text", "lines")
            rows = (
                self._text_rows(file, tell) if is_text else self._table_rows(file, tell)
            )
            # A corpus gives advice itself.
            with advising(file) if is_text else nullcontext():
                for names in rows:
                    self.accepted += len(names.first)
                    yield names

    def _table_rows(self, file: File, tell: Callable[[int], None]) -> Iterator[Names]:
        corpus = Corpus(self._corpus.layout, [file])
        first = 0
        position = 0
        for batch in corpus.batches():  # which has read more rows than it has yielded
            texts = batch.strings()
            rows = range(first, first + len(texts))
            first = rows.stop
            position = position + batch.source_bytes
            tell(position)
            ids = (
                list(corpus.ids[rows.start : rows.stop])
                if corpus.ids is not None
                else []
            )
            yield Names(file, texts, ids, [corpus.place(row)[1] or 0 for row in rows])
        self.rejected += corpus.rejected

    def _text_rows(self, file: File, tell: Callable[[int], None]) -> Iterator[Names]:
        lines = Lines(file, BLOCK_BYTES)
        number = 0
        for buffer, start, end, position in whole_lines(lines):
            if end == 0:
                number += 1
                self._refuse(file, number, long_row(file))
                continue
            block = bytes(memoryview(buffer)[start:end])
            names = self._plain_pairs(file, block, number)
            if names is not None:
                number += len(names.first)
                tell(position)
                yield names
                continue
            names = Names(file, [], [], [])
            numbers: list[int] = []
            for line in block.removesuffix(b"\n").split(b"\n"):
                number += 1
                lines.count = number
                parts = line.split() if self._pair else [line.strip()]
                if not parts or not parts[0] or parts[0][:1] == b"#":
                    continue
                reason = self._take(parts, names)
                if reason:
                    self._refuse(file, number, reason)
                else:
                    numbers.append(number)
            names.lines = numbers
            tell(position)
            yield names

    def _plain_pairs(self, file: File, block: bytes, number: int) -> Names | None:
        """Return the pairs of a block of lines if each is plainly one, or else None."""
        if not self._pair or b"#" in block:
            return None
        code = np.frombuffer(block, np.uint8)
        white = _WHITE[code]
        begins = np.flatnonzero(white[:-1] & ~white[1:]) + 1
        ends = np.flatnonzero(code == ord("\n"))
        counts = np.diff(np.searchsorted(begins, ends), prepend=0)
        if white[0] or code[-1] != ord("\n"):
            return None
        counts[0] += (
            1  # the first name of the block, before which there is no white space
        )
        if (counts != 2).any():
            return None
        try:
            texts = b"\n".join(block.split()).decode().split("\n")
        except UnicodeDecodeError:
            return None
        return Names(
            file, texts[::2], texts[1::2], range(number + 1, number + 1 + len(ends))
        )

    def _take(self, parts: list[bytes], names: Names) -> str:
        """Append the names of a line, or return why it is bad."""
        if self._pair and len(parts) != 2:
            return f"a line must have two names with white space between them, not {len(parts)}"
        try:
            texts = [part.decode() for part in parts]
        except UnicodeDecodeError as error:
            return f"not UTF-8: {error.reason}"
        names.first.append(texts[0])
        if self._pair:
            names.second.append(texts[1])
        return ""
