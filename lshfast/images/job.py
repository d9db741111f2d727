"""Near-duplicate images of files and folders: a table of copies, saved hashes, and a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.choices import MAX_PIXELS, ImageHashKind, ImageKeep
from lshfast._common.decimal_codes import DecimalDigits
from lshfast._common.display import Figure, counted, figure
from lshfast._common.hex_codes import hex_digits
from lshfast._common.image_hashes import image_hash
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.threads import thread_count
from lshfast._common.types import Int64Array
from lshfast._common.visible import printable
from lshfast._engine.account.display import Account, groups_figure
from lshfast._engine.frame import Job
from lshfast._engine.inputs import Inputs
from lshfast._engine.pages.run_pages import PageOutput, named
from lshfast._io import Corpus, Reject
from lshfast._io.files import OnError
from lshfast._io.hash_lists import FIGURES, HASH, KIND, PATH, VERSION, hash_of_lists
from lshfast.families.packed import codes_of
from lshfast.images.groups import LEAST_QUALITY, ImageDedup, KnownHashes, dedup
from lshfast.images.hashing import (
    ORIENTATIONS,
    checked_radius,
    hash_files,
    hash_type,
)
from lshfast.images.listing import list_images
from lshfast.images.page import gallery
from lshfast.index.index_file import is_index

# The columns of text. Of saved hashes, the path, the hash and its kind are read again.
STRINGS = dict.fromkeys(("path", "kept_path", "orientation", "hash", "kind"), "string")


@dataclass(frozen=True)
class ImageOptions:
    """The options of a run; see `lshfast.images.hash_files` and `lshfast.images.dedup`."""

    hash: ImageHashKind = "pdq"
    radius: int | None = None
    orientations: bool = False
    keep: ImageKeep = "largest"
    max_pixels: int = MAX_PIXELS
    on_error: OnError = "skip"
    threads: int | None = None


@dataclass(frozen=True)
class ImageOutputs:
    """The outputs; None for none: copies, images that were not compared, hashes, and a page."""

    copies: str | None = None
    blank: str | None = None
    hashes: str | None = None
    overwrite: bool = False
    page: PageOutput | None = None


@dataclass(frozen=True, kw_only=True)
class ImagesSummary(Account):
    """The figures of a run.

    Attributes
    ----------
    kept, removed : int
        Images: read = kept + removed + rejected.
    blank : int
        Kept images that had too little content to be compared.
    groups, largest : int
        Groups of more than one image, and the images of the largest.
    known, found : int
        Known images, and images that were removed for one of them.
    other : int
        Files in folders whose suffix is not that of an image.
    hash : str
    radius : int
    """

    kept: int
    removed: int
    blank: int
    groups: int
    largest: int
    known: int
    found: int
    other: int
    hash: str
    radius: int

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        other = f"{counted(self.other, 'other file')} in folders" if self.other else ""
        yield figure("images", self.read, other)
        if self.blank:
            blank = f"{self.blank:,} of them not compared, with a quality below {LEAST_QUALITY}"
        else:
            blank = ""
        yield figure("kept", self.kept, blank)
        yield figure(
            "copies", self.removed, f"{self.hash}, distance at most {self.radius}"
        )
        yield figure("rejected", self.rejected)
        yield figure("", "", f"{self.parts} = {self.read:,} read")
        yield groups_figure(self.groups, self.largest, "image")
        if self.known:
            yield figure(
                "known", self.known, f"{counted(self.found, 'copy', 'copies')} of them"
            )


class ImagePath(NamedTuple):
    """An input file of a job."""

    location: str


@dataclass
class ImageSource:
    """The images of a job."""

    files: list[ImagePath]
    rejected: list[Reject] = field(default_factory=list)

    @property
    def read(self) -> int:
        """The number of all files."""
        return len(self.files)


def dedup_images(
    inputs: Sequence[str],
    outputs: ImageOutputs,
    options: ImageOptions | None = None,
    *,
    against: Inputs | None = None,
    progress: Progress | None = None,
) -> ImagesSummary:
    """Find the copies among the images of files and folders.

    Parameters
    ----------
    inputs : sequence of paths
    outputs : ImageOutputs
        Copies: path, kept_path, distance, orientation, quality, width, height, bytes. Images that
        were not compared: path, quality, width, height, bytes. Hashes of those that were compared
        and are kept: path, hash, kind, version, quality, width, height, bytes. Files that are
        skipped are written beside the first output.
    options : ImageOptions, optional
    against : Inputs, optional
        Saved hashes; see `known_inputs`.
    progress : callable, optional
        Called with ("hash", files done, total) and ("dedup", images done, total).

    Returns
    -------
    ImagesSummary

    Raises
    ------
    DataError
        If an input is missing, a file is no image and bad files stop the run, or a saved hash is
        not of this kind.
    ValueError, OSError
        If an option is invalid, or an output cannot be written; then no file with its name is
        created.
    """
    options = options or ImageOptions()
    paths = [outputs.copies, outputs.blank, outputs.hashes]
    if not (any(paths) or outputs.page):
        raise ValueError(
            "an output is needed: -o FILE, --save-hashes FILE or --html FILE"
        )
    checked_radius(options.hash, options.radius)
    images = list_images(inputs)
    job = Job(paths, options.on_error, outputs.overwrite, page=outputs.page)
    source = job.add(ImageSource([ImagePath(path) for path in images.paths]))
    corpus = None if against is None else job.open(against, unique_ids=False)
    job.check()
    known_hashes = None
    advice = ""
    if corpus is not None:
        with job.clock.stage("known", corpus.total_bytes):
            known_hashes, advice = read_known(corpus, options.hash)
    start = job.clock.seconds
    hashes = hash_files(
        images.paths,
        hash=options.hash,
        orientations=options.orientations,
        max_pixels=options.max_pixels,
        on_error=options.on_error,
        threads=options.threads,
        progress=progress,
    )
    job.clock.add("hash", job.clock.seconds - start, int(hashes.nbytes.sum()))
    source.rejected += [
        Reject(printable(path), None, reason) for path, reason in hashes.rejected
    ]
    with job.clock.stage("compare", hashes.codes.nbytes):
        result = dedup(
            hashes,
            options.radius,
            keep=options.keep,
            against=known_hashes,
            threads=options.threads,
            progress=progress,
        )
    removed = np.flatnonzero(~result.keep)
    sizes = [len(rows) + int(not result.keep[rows[0]]) for rows in result.groups]
    figures: dict[str, Any] = dict(
        read=source.read,
        rejected=len(source.rejected),
        kept=len(hashes) - len(removed),
        removed=len(removed),
        blank=int(np.count_nonzero(~result.compared)),
        groups=len(sizes),
        largest=max(sizes, default=0),
        known=0 if known_hashes is None else len(known_hashes.paths),
        found=int(np.count_nonzero(result.known >= 0)),
        other=images.other,
        unread=images.left_out,
        hash=options.hash,
        radius=result.radius,
        advice=advice,
    )
    account = list(job.account(ImagesSummary, **figures).figures())
    with job.writing("write"):
        for path, rows, columns in (
            (outputs.copies, removed, ("kept_path", "distance", "orientation")),
            (outputs.blank, np.flatnonzero(~result.compared), ()),
            (
                outputs.hashes,
                np.flatnonzero(result.compared & result.keep),
                (HASH, KIND, VERSION),
            ),
        ):
            if path is not None:
                job.write(path, _table(result, rows, columns), STRINGS)
        threads = thread_count(options.threads)
        job.write_page(
            lambda page: _page(
                inputs, result, account, page, options.max_pixels, threads
            )
        )
    return job.account(ImagesSummary, **figures)


def known_inputs(paths: Sequence[str]) -> Inputs:
    """Return the inputs of saved hashes: tables with the columns path, hash and kind."""
    for path in paths:
        if is_index(path):
            raise ValueError(
                f"{path}: this is an index, and images are compared with lists of hashes: give "
                "the table that "
                "lshfast images --save-hashes wrote, of which the index was made"
            )
    return Inputs(paths, column=HASH, id_column=PATH, by=KIND)


def read_known(corpus: Corpus, hash: ImageHashKind) -> tuple[KnownHashes, str]:
    """Read saved hashes, and return what may be meant otherwise by them; see `DecimalDigits`.

    Raise DataError if one is not of this kind or of another version, or is no hash.
    """
    digits = hash_type(hash).bits // 4
    valid = re.compile(rf"[0-9a-fA-F]{{{digits}}}")
    texts: list[str] = []
    for batch in corpus.batches():
        for cell in batch.strings():
            text = None if cell is None else hex_digits(cell)
            if text is None or not valid.fullmatch(text):
                raise corpus.fault(
                    len(texts), f"not a hash of {digits} hexadecimal digits"
                )
            texts.append(text)
    kinds = corpus.by
    assert kinds is not None
    numbers = kinds.codes
    wrong = np.flatnonzero(
        numbers
        != (kinds.names.index(hash) if hash in kinds.names else len(kinds.names))
    )
    if len(wrong):
        kind = kinds.names[numbers[wrong[0]]] if numbers[wrong[0]] >= 0 else "(none)"
        raise corpus.fault(
            int(wrong[0]),
            f"the kind of the hash is {kind}, not {hash}: --hash chooses it",
        )
    hash_of_lists(corpus.files)
    rows = int64_range(len(texts))
    decimal = DecimalDigits()
    codes = codes_of(texts, 4 * digits, decimal=decimal)
    return KnownHashes(
        [str(key) for key in corpus.keys_of(rows)], codes, hash
    ), decimal.advice


def _table(
    result: ImageDedup, rows: Int64Array, columns: Sequence[str]
) -> Mapping[str, Any]:
    """Return the rows of a table, with these columns behind the paths."""
    hashes = result.hashes
    row_numbers = rows.tolist()
    table: dict[str, Any] = {"path": [_text(hashes.paths[row]) for row in row_numbers]}
    if "kept_path" in columns:
        table["kept_path"] = [_text(result.kept_path(row)) for row in row_numbers]
    if "distance" in columns:
        table["distance"] = result.distance[rows]
        table["orientation"] = [
            ORIENTATIONS[turned] for turned in result.orientation[rows].tolist()
        ]
    if HASH in columns:
        table[HASH] = hashes.hex(row_numbers)
        table[KIND] = [hashes.hash] * len(row_numbers)
        table[VERSION] = np.full(
            len(row_numbers), image_hash(hashes.hash).version, np.int64
        )
    figures = (hashes.quality, hashes.width, hashes.height, hashes.nbytes)
    return table | {
        name: values[rows] for name, values in zip(FIGURES, figures, strict=True)
    }


def _text(path: str) -> str:
    """Return a path as it is; with escapes if it is not Unicode."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return printable(path)
    return path


def _page(
    inputs: Sequence[str],
    result: ImageDedup,
    account: list[Figure],
    page: PageOutput,
    max_pixels: int,
    threads: int,
) -> str:
    return gallery(
        result,
        title=f"Images that look alike in {named([printable(path) for path in inputs], 'input')}",
        account=account,
        command=page.command,
        thumbnails=page.texts,
        max_pixels=max_pixels,
        threads=threads,
    )
