"""The page of groups of images, with thumbnails in it."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lshfast.common.atomic_files import printable
from lshfast.common.display import Figure, counted
from lshfast.common.threads import ordered_map
from lshfast.common.types import Int64Array
from lshfast.images.decoding import MAX_PIXELS, ImageError, decode, quiet_decoder
from lshfast.images.groups import LEAST_QUALITY, ImageDedup
from lshfast.images.hashing import ORIENTATIONS, hash_type
from lshfast.reports.page import render, short

# What is shown: groups; images of a group; images that were not compared; and the characters of all thumbnails.
MOST_GROUPS, MOST_OF_GROUP, MOST_BLANK = 60, 12, 24
MOST_THUMBNAILS = 4_500_000

# The longer side of a thumbnail in pixels, and its quality as a JPEG.
SIDE, JPEG_QUALITY = 200, 70

DESCRIPTIONS = dict(
    zip(
        ORIENTATIONS,
        ("", "rotated by 90°", "rotated by 180°", "rotated by 270°", "flipped upside down", "mirrored",
         "mirrored at the diagonal", "mirrored at the other diagonal"),
        strict=True,
    )
)  # fmt: skip


@dataclass(frozen=True)
class ShownImage:
    """An image of a page: its row, whether it is kept, what is said of it, and its thumbnail in base 64, or ""."""

    row: int
    kept: bool
    role: str
    name: str
    note: str
    data: str = ""
    absent: str = "not shown"

    @property
    def alt(self) -> str:
        """What the picture is, for those who do not see it."""
        return f"{self.role}: {self.name}"


@dataclass(frozen=True)
class ShownGroup:
    """A group of a page: the name of what is kept, how many copies there are, the images, and how many more."""

    name: str
    copies: str
    shown: list[ShownImage]
    more: int


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

    Thumbnails are read from the files again; together they take at most about 4.5 MB. Known images are only named,
    since their files may be anywhere.

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
    found = sorted(result.groups, key=lambda rows: (-len(rows), int(rows[0])))
    groups = [_group(result, rows) for rows in found[:MOST_GROUPS]]
    rows = np.flatnonzero(~result.compared)
    blank = [_blank(result, row) for row in rows[:MOST_BLANK].tolist()]
    if thumbnails:
        wanted = [shown.row for group in groups for shown in group.shown if shown.row >= 0]
        wanted += [shown.row for shown in blank]
        data = dict(zip(wanted, _thumbnails(result.hashes.paths, wanted, max_pixels, threads), strict=False))
        groups = [replace(group, shown=_with(group.shown, data)) for group in groups]
        blank = _with(blank, data)
    removed = int(np.count_nonzero(~result.keep))
    return render(
        "gallery.html",
        styles=("gallery.css",),
        title=title,
        cards=[
            ("images", f"{len(result):,}"),
            ("kept", f"{len(result) - removed:,}"),
            ("copies", f"{removed:,}"),
            ("groups", f"{len(found):,}"),
            ("not compared", f"{len(rows):,}"),
        ],
        groups=groups,
        more_groups=len(found) - len(groups),
        bits=hash_type(result.hashes.hash).bits,
        blank=blank,
        more_blank=len(rows) - len(blank),
        least_quality=LEAST_QUALITY,
        thumbnails=thumbnails,
        account=[*account],
        command=command,
    )


def _group(result: ImageDedup, rows: Int64Array) -> ShownGroup:
    """Return the first images of a group; of a known image, only the name."""
    first = int(rows[0])
    kept = printable(result.kept_path(first))
    copies = len(rows) - int(result.keep[first])
    shown = [] if result.keep[first] else [ShownImage(-1, True, "known", short(kept), "", absent="known image")]
    shown += [_shown(result, row) for row in rows[: MOST_OF_GROUP - len(shown)].tolist()]
    more = len(rows) - sum(each.row >= 0 for each in shown)
    return ShownGroup(short(os.path.basename(kept)), counted(copies, "copy", "copies"), shown, more)


def _shown(result: ImageDedup, row: int) -> ShownImage:
    hashes = result.hashes
    name, size = short(printable(hashes.paths[row])), f"{hashes.width[row]:,} x {hashes.height[row]:,}"
    if result.keep[row]:
        return ShownImage(row, True, "kept", name, size)
    turned = DESCRIPTIONS[ORIENTATIONS[int(result.orientation[row])]]
    note = ", ".join(filter(None, [size, f"distance {int(result.distance[row])}", turned]))
    return ShownImage(row, False, "copy", name, note)


def _blank(result: ImageDedup, row: int) -> ShownImage:
    hashes = result.hashes
    note = f"{hashes.width[row]:,} x {hashes.height[row]:,}, quality {int(hashes.quality[row])}"
    return ShownImage(row, False, "not compared", short(printable(hashes.paths[row])), note)


def _with(some: Sequence[ShownImage], data: dict[int, str]) -> list[ShownImage]:
    return [replace(shown, data=data.get(shown.row, "")) for shown in some]


def _thumbnails(paths: Sequence[str], rows: Sequence[int], max_pixels: int, threads: int) -> Iterator[str]:
    """Yield thumbnails of rows in base 64, "" if the file cannot be read any more, until they take too much."""
    total = 0
    with quiet_decoder(max_pixels):
        for data in ordered_map(partial(_thumbnail, max_pixels), [paths[row] for row in rows], threads):
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
