"""FASTA and FASTQ files as sketches: each file is read once, in pieces, by one thread."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from typing import NamedTuple

import numpy as np

from lshfast._common.checks import check_bool, check_bytes
from lshfast._common.progress import Progress
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import PathLike, UInt64Array
from lshfast._common.visible import printable
from lshfast._io.files import DataError, File, Layout, OnError, Reject
from lshfast._io.lines import opened
from lshfast._io.listing import list_files
from lshfast._io.sources import LocalFile
from lshfast.genomes.sketches import (
    AT_ONCE,
    FIRST,
    MAX_UNPACKED,
    Gathering,
    KmerSketches,
    Sampling,
    sketches_of,
)
from lshfast.kernels.kmers import MOST_NAME_BYTES, KmerReader

# The share of letters that only amino acids have from which a sequence is a protein: they are a
# third of most proteins.
AMINO_ACIDS = 0.1


class _Item(NamedTuple):
    """A file or record: its name, its line (None: the whole file), its hashes, and its letters."""

    name: str
    line: int | None
    hashes: UInt64Array
    letters: int


@dataclass
class _Open:
    """A file or record being read: its name, its fault or "", and the letters before it."""

    sampling: InitVar[Sampling]
    name: str
    fault: str = ""
    line: int | None = None
    letters: int = 0
    gathering: Gathering = field(init=False)

    def __post_init__(self, sampling: Sampling) -> None:
        self.gathering = Gathering(sampling)

    def closed(self, file: File, reader: KmerReader) -> _Item | DataError:
        """Return the item after its last letter, or its fault."""
        if not self.fault and reader.amino_acids >= AMINO_ACIDS:
            self.fault = "proteins (amino acids): only DNA can be compared, letters A, C, G and T"
        if self.fault:
            return file.fault(self.line, self.fault)
        return _Item(
            self.name,
            self.line,
            self.gathering.finished(),
            reader.letters - self.letters,
        )


@dataclass
class SequenceFiles:
    """Files of sequences, which are sketched once.

    Parameters
    ----------
    files : list of File
    sampling : Sampling
    records : bool
        Whether each record is sketched, and not each file.
    max_unpacked : int
        The most bytes that a compressed file may unpack to.

    Attributes
    ----------
    read : int
        Items that were read, good and bad.
    rejected : list of Reject
        Bad items that were skipped.
    """

    files: list[File]
    sampling: Sampling
    records: bool = False
    max_unpacked: int = MAX_UNPACKED
    read: int = 0
    rejected: list[Reject] = field(default_factory=list)

    @classmethod
    def listed(
        cls,
        paths: Iterable[PathLike],
        sampling: Sampling,
        *,
        records: bool = False,
        glob: str | None = None,
        on_error: OnError = "stop",
        max_unpacked: int | str = MAX_UNPACKED,
    ) -> SequenceFiles:
        """List files, folders (with `glob`), patterns and URLs.

        Errors are as in `sketch_files`.
        """
        limit = check_bytes("max_unpacked", max_unpacked)
        places = [os.fspath(path) for path in paths]
        for place in places:
            if place == "-":
                raise ValueError(
                    "standard input (-) cannot be read as sequences: name files"
                )
            if glob is None and os.path.isdir(place):
                raise ValueError(
                    f"{printable(place)}: a folder needs glob (--glob), such as '*.fa.gz', or "
                    "'**/*.fa.gz' for its folders too"
                )
        files = list_files(places, Layout(format="text", glob=glob, on_error=on_error))
        return cls(
            _without_links(files), sampling, check_bool("records", records), limit
        )

    def sketches(
        self, threads: int | None = None, progress: Progress | None = None
    ) -> KmerSketches:
        """Read all files; `progress` is called with ("read", bytes of input read, total bytes)."""
        names: dict[str, str] = {}  # with where each is
        letters = 0
        bytes_before = 0
        total = sum(file.size for file in self.files)
        sketches: list[UInt64Array] = []
        work = ordered_map(self._sketched, self.files, thread_count(threads))
        for file, items in zip(self.files, work, strict=True):
            for item in items:
                self.read += 1
                if isinstance(item, DataError):
                    self._refuse(file, item)
                elif item.name in names:
                    reason = (
                        f"a record named {item.name!r} is already in {names[item.name]}; "
                        "names must be different"
                    )
                    self._refuse(file, file.fault(item.line, reason))
                else:
                    names[item.name] = (
                        f"{file.name}:{item.line}" if item.line else file.name
                    )
                    sketches.append(item.hashes)
                    letters += item.letters
            bytes_before += file.size
            if progress:
                progress("read", bytes_before, total)
        return KmerSketches(
            list(names), sketches_of(sketches), self.sampling, letters, self.rejected
        )

    def _refuse(self, file: File, fault: DataError) -> None:
        self.rejected.append(Reject.of(fault, file.layout.on_error))

    def _sketched(self, file: File) -> list[_Item | DataError]:
        """Return the items of a file, with the fault of a bad one; none after a stop."""
        items: list[_Item | DataError] = []
        try:
            for item in self._items(file):
                items.append(item)
                if isinstance(item, DataError) and file.layout.on_error == "stop":
                    break
        except DataError as error:
            reason = (
                f"{error.reason}; records after it are not read"
                if self.records
                else error.reason
            )
            items.append(file.fault(error.line, reason))
        return items

    def _items(self, file: File) -> Iterator[_Item | DataError]:
        """Yield the items of a file; what makes the rest of the file unreadable is raised."""
        reader = KmerReader(self.sampling.k, self.sampling.most)
        out = np.empty(AT_ONCE, np.uint64)
        item = None if self.records else _Open(self.sampling, file.name)
        try:
            for data in self._pieces(file):
                at = 0
                while at < len(data):
                    if item is not None:
                        reader.most = item.gathering.most
                    at, count, begins = reader.read(data, at, out, self.records)
                    if item is not None:
                        item.gathering.add(out[:count])
                    if begins:
                        if item is not None:
                            yield item.closed(file, reader)
                        reader.look_again()
                        item = _Open(
                            self.sampling,
                            *_name_of(reader),
                            reader.record_line,
                            reader.letters,
                        )
        except DataError:
            raise
        except ValueError as error:
            raise file.fault(reader.line, str(error)) from None
        if fault := _header_fault(reader):
            raise file.fault(reader.record_line or None, fault)
        try:
            reader.finish()
        except ValueError as error:
            raise file.fault(reader.record_line or None, str(error)) from None
        if item is not None:
            yield item.closed(file, reader)

    def _pieces(self, file: File) -> Iterator[memoryview]:
        """Yield the bytes of a file, and a line end; a piece is valid until the next one."""
        buffer = memoryview(bytearray(AT_ONCE))
        unpacked = 0
        size = FIRST
        with opened(file) as (stream, raw):
            while got := stream.readinto(buffer[:size]):
                unpacked = unpacked + got
                size = min(AT_ONCE, 2 * size)
                if stream is not raw and unpacked > self.max_unpacked:
                    limit = (
                        f"{self.max_unpacked:,} bytes; max_unpacked (--max-unpacked) raises "
                        "this limit"
                    )
                    raise file.fault(None, f"unpacks to more than {limit}")
                yield buffer[:got]
        yield memoryview(b"\n")


def _without_links(files: list[File]) -> list[File]:
    """Return files without links to the same file: each genome counts once.

    Of a file and a symbolic link to it, the file is kept, and of hard links the first one.
    """
    first_files: dict[tuple[int, int] | str, File] = {}
    for file in files:
        identity = _identity(file)
        first = first_files.get(identity)
        if first is None or (
            os.path.islink(first.path) and not os.path.islink(file.path)
        ):
            first_files[identity] = file
    return list(first_files.values())


def _identity(file: File) -> tuple[int, int] | str:
    """Return what is equal for all names of a file."""
    if not isinstance(file.source, LocalFile):
        return file.name
    state = os.stat(file.path)
    return (state.st_dev, state.st_ino) if state.st_ino else os.path.realpath(file.path)


def _header_fault(reader: KmerReader) -> str:
    """Return the fault of the line end of a header, whose letters would join the header; or ""."""
    if b"\r" in reader.name.rstrip():
        return "a line ends with CR alone; lines must end with LF or CR LF"
    return ""


def _name_of(reader: KmerReader) -> tuple[str, str]:
    """Return the first word of a header, and what is wrong with it or ""."""
    header = reader.name
    words = header.split(maxsplit=1)
    if fault := _header_fault(reader):
        return "", fault
    if not words or header[:1].isspace():
        return "", "a record without a name: it is the first word after > or @"
    if reader.cut and len(words) == 1 and not header[-1:].isspace():
        return "", f"the name of a record is longer than {MOST_NAME_BYTES} bytes"
    return words[0].decode("utf-8", "backslashreplace"), ""


def sketch_files(
    paths: Sequence[PathLike],
    *,
    k: int = 31,
    scaled: int = 1000,
    bottom: int = 0,
    records: bool = False,
    glob: str | None = None,
    on_error: OnError = "stop",
    max_unpacked: int | str = MAX_UNPACKED,
    threads: int | None = None,
    progress: Progress | None = None,
) -> KmerSketches:
    """Sketch files of FASTA or FASTQ, plain or compressed (.gz, .bz2, .xz, .zst).

    A file is read in pieces, so neither it nor one of its lines is held in memory. The first
    character tells FASTA from FASTQ; names of files do not matter.

    Parameters
    ----------
    paths : sequence of path
        Files, patterns, URLs (with fsspec), or folders with `glob`. A file with several names in a
        folder, by links, is read once.
    k, scaled, bottom
        See `Sampling`; for what is hashed, see `sketch`.
    records : bool, default False
        Sketch each record, named by the first word of its header, of at most 1,024 bytes; names
        must be different. By default, each file is sketched, named by its path.
    glob : str, optional
        Files of a folder to read, such as ``"*.fa.gz"``.
    on_error : {"stop", "skip"}, default "stop"
        With "skip", bad files and records are left out and listed in `KmerSketches.rejected`.
    max_unpacked : int or str, default 16 GB
        The most bytes that a compressed file may unpack to, also as a str like "64G".
    threads : int, optional
        At least 1, each of which reads a file. The default is the number of CPUs that this process
        may use.
    progress : callable, optional
        Called with ("read", bytes of input read, total).

    Returns
    -------
    KmerSketches

    Raises
    ------
    DataError
        If a file is neither FASTA nor FASTQ, empty, damaged, cut off, of proteins, or unpacks to
        too much; it names file and line.
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.genomes.sketch : Sketch sequences in memory.
    lshfast.genomes.pairs : Find all pairs of similar sketches.
    lshfast.genomes.read_signatures : Read sketches of sourmash.

    Examples
    --------
    >>> import os, tempfile
    >>> from lshfast import genomes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two.fa")
    ...     with open(path, "w") as file:
    ...         _ = file.write(">first of two\\nGATT\\nACA\\n>second\\nCCCCCC\\n")
    ...     found = genomes.sketch_files([path], k=5, scaled=1, records=True)
    >>> found.names, found.sets.counts
    (['first', 'second'], array([3, 1]))
    """
    sampling = Sampling(k, scaled, bottom)
    source = SequenceFiles.listed(
        paths,
        sampling,
        records=records,
        glob=glob,
        on_error=on_error,
        max_unpacked=max_unpacked,
    )
    return source.sketches(threads, progress)
