"""Lists of hashes of images: tables with the columns path, hash and kind.

Lists that lshfast saves have the figures of the images too. The first ones have no version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lshfast._common.image_hashes import VERSIONS, ImageHash, check_version, image_hash
from lshfast._common.value_codes import ValueCodes
from lshfast._io.corpus import Corpus
from lshfast._io.files import File, Layout
from lshfast._io.readers import columns_of

# The columns of each list, and of lists that lshfast saves: the figures of an image, and the
# version of its hash.
PATH, HASH, KIND = LIST_COLUMNS = "path", "hash", "kind"
FIGURES = ("quality", "width", "height", "bytes")
VERSION = "version"


def hash_of_lists(files: Sequence[File]) -> ImageHash | None:
    """Return the hash in lists of hashes of images; None if files are no such lists, or empty.

    Raises
    ------
    DataError
        If rows have different hashes, or one that is none of this version of lshfast.
    """
    hashes: list[ImageHash | None] = []
    for file in files:
        columns = columns_of(file) if file.layout.column == HASH else []
        if not set(LIST_COLUMNS) <= set(columns):
            continue
        for corpus, row, hash in _hashes(
            file, set(FIGURES) <= set(columns), VERSION in columns
        ):
            hashes.append(hash)
            if hash is not None:
                try:
                    check_version(hash)
                except ValueError as error:
                    raise corpus.fault(row, str(error)) from None
            if hash != hashes[0]:
                kind, before = (
                    "not known" if each is None else each.kind
                    for each in (hash, hashes[0])
                )
                reason = (
                    f"the kind of the hash is {kind}, and of those before {before}: these "
                    "cannot be compared"
                )
                raise corpus.fault(row, reason)
    return hashes[0] if hashes else None


def _hashes(
    file: File, saved: bool, versioned: bool
) -> Iterator[tuple[Corpus, int, ImageHash | None]]:
    """Yield each hash of a list, and the first row that has it; None for rows without a known kind.

    `saved` is whether lshfast has saved the list, and `versioned` whether it then wrote versions.
    """
    layout = Layout(
        column=KIND,
        by=VERSION if saved and versioned else None,
        on_error="skip",
        encoding=file.layout.encoding,
        max_row_bytes=file.layout.max_row_bytes,
        delimiter=file.layout.delimiter,
    )
    corpus = Corpus(layout, [replace(file, layout=layout)])
    pairs = set[tuple[str, int]]()
    row = 0
    for batch in corpus.batches():
        kinds = batch.strings()
        if corpus.by is None:
            versions = [-1] * len(kinds)
        else:
            versions = corpus.by.codes[row : row + len(kinds)].tolist()
        for place, pair in enumerate(zip(kinds, versions, strict=True)):
            if pair not in pairs:
                pairs.add(pair)
                yield (
                    corpus,
                    row + place,
                    _hash(pair[0], _version(corpus.by, pair[1]), saved),
                )
        row += len(kinds)


def _hash(kind: str | None, version: int | None, saved: bool) -> ImageHash | None:
    """Return the hash of a row; the hashes of others are those that lshfast computes now."""
    if kind not in VERSIONS:
        return None
    if version is None:
        return ImageHash(kind, 1) if saved else image_hash(kind)
    return ImageHash(kind, version)


def _version(versions: ValueCodes | None, code: int) -> int | None:
    """Return a version; None if it is missing, and 0 if it is no version."""
    if versions is None or code == -1:
        return None
    try:
        return int(float(versions.names[code])) if code >= 0 else 0
    except (ValueError, OverflowError):
        return 0
