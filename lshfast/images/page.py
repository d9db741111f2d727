"""The page of groups of images, with thumbnails in it."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lshfast._common.choices import ImageKeep
from lshfast._common.display import Figure, counted
from lshfast._common.threads import ordered_map
from lshfast._common.types import Int64Array
from lshfast._common.visible import printable
from lshfast._io.pages.page import render, short
from lshfast.images.decoding import MAX_PIXELS, ImageError, decode, quiet_decoder
from lshfast.images.groups import LEAST_QUALITY, ImageDedup
from lshfast.images.hashing import ORIENTATIONS, hash_type

# What is shown: copies that are least alike; groups; images of a group; images that were not
# compared; and the characters of all thumbnails, where those of the first may come twice.
MOST_LEAST_ALIKE = 12
MOST_GROUPS = 60
MOST_OF_GROUP = 12
MOST_BLANK = 24
MOST_THUMBNAILS = 3_800_000

# The longer side of a thumbnail in pixels, and its quality as a JPEG.
SIDE = 200
JPEG_QUALITY = 70

DESCRIPTIONS = dict(
    zip(
        ORIENTATIONS,
        (
            "",
            "rotated by 90°",
            "rotated by 180°",
            "rotated by 270°",
            "flipped upside down",
            "mirrored",
            "mirrored at the diagonal",
            "mirrored at the other diagonal",
        ),
        strict=True,
    )
)


@dataclass(frozen=True)
class ShownImage:
    """An image of a page: its row, whether it is kept, its caption, and its thumbnail or "".

    The thumbnail is in base 64.
    """

    row: int
    kept: bool
    role: str
    name: str
    notes: tuple[str, ...]
    data: str = ""
    absent: str = "not shown"

    @property
    def alt(self) -> str:
        """What the picture is, for those who do not see it."""
        return f"{self.role}: {self.name}"


# Which image of a group is kept, by the option.
PREFERRED: dict[ImageKeep, str] = {
    "largest": "the one with the most pixels; of one size, a file in colour before a grey "
    "one, then the one with the most bytes, then the first. How an image is turned does not count",
    "first": "the first one of the inputs",
}


@dataclass(frozen=True)
class ShownGroup:
    """Images of a page that are alike: a title, the images, and how many more there are."""

    title: str
    shown: list[ShownImage]
    more: int = 0


def gallery(
    result: ImageDedup,
    *,
    title: str,
    account: Iterable[Figure],
    command: str = "",
    thumbnails: bool = True,
    max_pixels: int = MAX_PIXELS,
    threads: int = 1,
) -> str:
    """Return the page of a result.

    Thumbnails are read from the files again; together they take less than 5 MB. Known images are
    only named, since their files may be anywhere.

    Parameters
    ----------
    result : ImageDedup
    title : str
    account : iterable of Figure
    command : str
        The command that repeats the run.
    thumbnails : bool, default True
        Whether pictures are shown.
    max_pixels : int
        As for `hash_files`.
    threads : int
    """
    sorted_groups = sorted(result.groups, key=lambda rows: (-len(rows), int(rows[0])))
    groups = [_group(result, rows) for rows in sorted_groups[:MOST_GROUPS]]
    pairs = [_pair(result, row) for row in _least_alike(result)]
    rows = np.flatnonzero(~result.compared)
    blank = [_blank(result, row) for row in rows[:MOST_BLANK].tolist()]
    if thumbnails:
        thumbnail_rows = [
            shown.row
            for group in [*pairs, *groups]
            for shown in group.shown
            if shown.row >= 0
        ]
        thumbnail_rows = list(
            dict.fromkeys([*thumbnail_rows, *(shown.row for shown in blank)])
        )
        data = dict(
            zip(
                thumbnail_rows,
                _thumbnails(result.hashes.paths, thumbnail_rows, max_pixels, threads),
                strict=False,
            )
        )
        pairs, groups = (
            [replace(one, shown=_with(one.shown, data)) for one in cards]
            for cards in (pairs, groups)
        )
        blank = _with(blank, data)
    removed = int(np.count_nonzero(~result.keep))
    return render(
        "gallery.html",
        styles=("gallery.css",),
        title=title,
        sentences=_sentences(result, len(sorted_groups), len(rows)),
        cards=[
            ("images", f"{len(result):,}"),
            ("kept", f"{len(result) - removed:,}"),
            ("copies", f"{removed:,}"),
            ("groups", f"{len(sorted_groups):,}"),
            ("not compared", f"{len(rows):,}"),
        ],
        pairs=pairs,
        groups=groups,
        more_groups=len(sorted_groups) - len(groups),
        bits=hash_type(result.hashes.hash).bits,
        preferred=PREFERRED[result.preference],
        radius=result.radius,
        blank=blank,
        more_blank=len(rows) - len(blank),
        least_quality=LEAST_QUALITY,
        thumbnails=thumbnails,
        account=[*account],
        command=command,
    )


def _sentences(result: ImageDedup, groups: int, blank: int) -> list[str]:
    """Return how many images look like a kept one, and how many were not compared."""
    images = counted(len(result), "image")
    copies = int(np.count_nonzero(~result.keep))
    bits = hash_type(result.hashes.hash).bits
    looks = "looks" if copies == 1 else "look"
    sentences = [f"No image of the {images} looks like another one."]
    if copies:
        sentences = [
            f"{copies:,} of {images} {looks} like an image that is kept, in "
            f"{counted(groups, 'group')}. Their hashes differ in at most {result.radius} of "
            f"{bits} bits."
        ]
    if blank:
        was = "was" if blank == 1 else "were"
        sentences.append(
            f"{counted(blank, 'image')} {was} not compared, for lack of content."
        )
    return sentences


def _group(result: ImageDedup, rows: Int64Array) -> ShownGroup:
    """Return the first images of a group; of a known image, only the name."""
    first = int(rows[0])
    copies = counted(len(rows) - int(result.keep[first]), "copy", "copies")
    shown = [] if result.keep[first] else [_kept(result, first)]
    shown += [
        _shown(result, row) for row in rows[: MOST_OF_GROUP - len(shown)].tolist()
    ]
    hidden_count = len(rows) - sum(each.row >= 0 for each in shown)
    return ShownGroup(
        f"{short(os.path.basename(printable(result.kept_path(first))))}: {copies}",
        shown,
        hidden_count,
    )


def _least_alike(result: ImageDedup) -> list[int]:
    """Return the copies with the greatest distances, which are above 0."""
    rows = np.flatnonzero(result.distance)
    order = np.argsort(-result.distance[rows], kind="stable")
    return [int(row) for row in rows[order[:MOST_LEAST_ALIKE]]]


def _pair(result: ImageDedup, row: int) -> ShownGroup:
    """Return what is kept in place of a copy, and the copy."""
    return ShownGroup(
        f"distance {int(result.distance[row])}",
        [_kept(result, row), _shown(result, row)],
    )


def _kept(result: ImageDedup, row: int) -> ShownImage:
    """Return what is kept in place of a row; of a known image, only the name."""
    if result.keeper[row] >= 0:
        return _shown(result, int(result.keeper[row]))
    return ShownImage(
        -1,
        True,
        "known",
        short(printable(result.kept_path(row))),
        (),
        absent="known image",
    )


def _shown(result: ImageDedup, row: int) -> ShownImage:
    hashes = result.hashes
    name = short(printable(hashes.paths[row]))
    size = f"{hashes.width[row]:,} x {hashes.height[row]:,}"
    if result.keep[row]:
        return ShownImage(row, True, "kept", name, (size,))
    turned = DESCRIPTIONS[ORIENTATIONS[int(result.orientation[row])]]
    notes = size, f"distance {int(result.distance[row])}", turned
    return ShownImage(row, False, "copy", name, tuple(filter(None, notes)))


def _blank(result: ImageDedup, row: int) -> ShownImage:
    hashes = result.hashes
    notes = (
        f"{hashes.width[row]:,} x {hashes.height[row]:,}",
        f"quality {int(hashes.quality[row])}",
    )
    return ShownImage(
        row, False, "not compared", short(printable(hashes.paths[row])), notes
    )


def _with(images: Sequence[ShownImage], data: dict[int, str]) -> list[ShownImage]:
    return [replace(shown, data=data.get(shown.row, "")) for shown in images]


def _thumbnails(
    paths: Sequence[str], rows: Sequence[int], max_pixels: int, threads: int
) -> Iterator[str]:
    """Yield thumbnails of rows in base 64, "" for unreadable files, up to a size in total."""
    total = 0
    with quiet_decoder(max_pixels):
        for data in ordered_map(
            partial(_thumbnail, max_pixels), [paths[row] for row in rows], threads
        ):
            total += len(data)
            if total > MOST_THUMBNAILS:
                return
            yield data


def _thumbnail(max_pixels: int, path: str) -> str:
    try:
        decoded = decode(path, max_pixels, colour=True)
    except ImageError:
        return ""
    scale = min(1.0, SIDE / max(decoded.width, decoded.height))
    size = (max(1, round(scale * decoded.width)), max(1, round(scale * decoded.height)))
    stream = io.BytesIO()
    decoded.image.resize(size).save(stream, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return base64.b64encode(stream.getvalue()).decode()
