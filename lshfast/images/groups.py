"""Groups of images that look alike: which image of each is kept, and which are its copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.choices import ImageHashKind, ImageKeep
from lshfast._common.image_hashes import (
    ImageHash,
    check_version,
    hash_of_codes,
    image_hash,
)
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.threads import thread_count
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.images.hashing import ORIENTATIONS, ImageHashes, checked_radius
from lshfast.index.hamming import HammingIndex, dedup_codes
from lshfast.kernels.hamming import distances

# The quality below which an image has too little content to be compared: PDQ's authors advise
# against such hashes.
LEAST_QUALITY = 50

# Images that are compared with each other at once, and the most answers of their comparison with
# the kept ones.
BATCH = 512
MOST_ANSWERS = 1 << 24
LEAST_ROWS = 16


class ImageRemoval(NamedTuple):
    """Describe a removed image.

    Attributes
    ----------
    path : str
    kept_path : str
        The image that is kept in its place.
    distance : int
        Bits in which the hashes differ.
    orientation : str
        How the image is turned, relative to the kept one: "same", "rotated_90", "rotated_180" or
        "rotated_270" (clockwise), "flipped" (upside down), "mirrored" (left to right), "transposed"
        or "transverse" (mirrored at the diagonal from the upper left, or the other one).

    See Also
    --------
    lshfast.images.ImageDedup : What was kept and removed.
    """

    path: str
    kept_path: str
    distance: int
    orientation: str


@dataclass(frozen=True, eq=False)
class KnownHashes:
    """The hashes of images that were hashed before.

    Attributes
    ----------
    paths : sequence of str
        What is named as the kept image of a copy.
    codes : ndarray of uint64, shape (n, words)
    hash : {"pdq", "phash", "dhash"}
    version : int, optional
        The version in a list of saved hashes. In lists of `pdq` that lshfast saved without versions
        it is 1, which is another hash and is refused. By default, the hashes are those that lshfast
        computes now, or those of others.

    See Also
    --------
    lshfast.images.dedup : Find images that are copies of others.
    lshfast.images.ImageHashes : The hashes of images.
    """

    paths: Sequence[str]
    codes: UInt64Array
    hash: ImageHashKind
    version: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ImageDedup:
    """Hold the result of `dedup` for n images.

    ``len(result)`` is n.

    Attributes
    ----------
    hashes : ImageHashes
    keep : ndarray of bool, shape (n,)
        True for the images that are kept, among them those with too little content.
    compared : ndarray of bool, shape (n,)
        False for the images with too little content to be compared.
    keeper : ndarray of int64, shape (n,)
        The row that is kept in place of each row: the row itself if it is kept, -1 if a known image
        is.
    known : ndarray of int64, shape (n,)
        The row of the known image in place of which a row is removed, else -1.
    distance : ndarray of int64, shape (n,)
        Bits in which the hashes of a row and of what is kept differ; 0 if it is kept.
    orientation : ndarray of int64, shape (n,)
        A place in `lshfast.images.hashing.ORIENTATIONS`; 0 if the row is kept.
    radius : int
    against : KnownHashes or None
    preference : {"largest", "first"}
        Which image of a group is kept; see `lshfast.images.dedup`.

    See Also
    --------
    lshfast.images.dedup : Find images that are copies of others.
    lshfast.images.ImageHashes : The hashes of images.
    """

    hashes: ImageHashes
    keep: BoolArray
    compared: BoolArray
    keeper: Int64Array
    known: Int64Array
    distance: Int64Array
    orientation: Int64Array
    radius: int
    against: KnownHashes | None = None
    preference: ImageKeep = "largest"

    def __len__(self) -> int:
        return len(self.keep)

    def __repr__(self) -> str:
        kept_images = int(np.count_nonzero(self.keep))
        removed = len(self) - kept_images
        uncompared = int(np.count_nonzero(~self.compared))
        return (
            f"ImageDedup({len(self):,} images: {kept_images:,} kept, {removed:,} removed within "
            f"distance {self.radius}, {uncompared:,} not compared)"
        )

    @property
    def removed(self) -> list[ImageRemoval]:
        """One `ImageRemoval` for each removed image, in the order of the rows."""
        return list(self.iter_removed())

    @property
    def groups(self) -> list[Int64Array]:
        """The rows of each group, the kept one first; a known image's group has only copies."""
        groups: list[Int64Array] = []
        removed = np.flatnonzero(~self.keep)
        owner = np.where(
            self.known[removed] >= 0,
            len(self) + self.known[removed],
            self.keeper[removed],
        )
        order = np.argsort(owner, kind="stable")
        ends = np.flatnonzero(np.diff(owner[order])) + 1
        for places in np.split(order, ends) if len(order) else []:
            first = int(owner[places[0]])
            copies = removed[places]
            is_known = first >= len(self)
            groups.append(copies if is_known else np.append(np.int64(first), copies))
        return groups

    def kept_path(self, row: int) -> str:
        """Return the path of the image that is kept in place of a row."""
        if self.against is not None and self.known[row] >= 0:
            return self.against.paths[int(self.known[row])]
        return self.hashes.paths[int(self.keeper[row])]

    def iter_removed(self) -> Iterator[ImageRemoval]:
        """Yield one `ImageRemoval` for each removed image, in the order of the rows.

        Yields
        ------
        ImageRemoval
        """
        for row in np.flatnonzero(~self.keep).tolist():
            turned = ORIENTATIONS[int(self.orientation[row])]
            yield ImageRemoval(
                self.hashes.paths[row],
                self.kept_path(row),
                int(self.distance[row]),
                turned,
            )


def dedup(
    hashes: ImageHashes,
    radius: int | None = None,
    *,
    keep: ImageKeep = "largest",
    against: KnownHashes | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ImageDedup:
    """Choose which images to keep, so that each other image looks like a kept one.

    Images are processed in the order of preference. One is removed if its hash is within the radius
    of that of an image that was kept before; of several, the one preferred most is its keeper. With
    the hashes of all orientations, the nearest of the eight counts. Otherwise it is kept. The
    search is exact: it misses no hashes within the radius.

    Images with a quality below 50 are kept and not compared, since pictures without content have
    similar hashes.

    Parameters
    ----------
    hashes : ImageHashes
    radius : int, optional
        The most bits in which hashes of copies differ, at least 0 and at most the bits of a hash.
        By default 31 of 256 for PDQ, 8 of 64 for pHash and 5 of 64 for dHash.
    keep : {"largest", "first"}, default "largest"
        The order of preference: most pixels, then a file in colour, then most bytes, then the
        first; or the first. How an image is turned does not count.
    against : KnownHashes, optional
        Known images. An image that looks like one of them is removed for the nearest before the
        others are compared.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    progress : callable, optional
        Called from time to time with ("dedup", images done, images in total).

    Returns
    -------
    ImageDedup

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or known images have hashes of another kind or version.

    See Also
    --------
    lshfast.images.hash_files : Hash the images of files and folders.
    lshfast.dedup_codes : Remove near-duplicates from binary codes.

    Examples
    --------
    >>> import os, tempfile
    >>> from PIL import Image
    >>> from lshfast.images import dedup, hash_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     picture = Image.effect_mandelbrot((400, 300), (-1.5, -0.3, -0.9, 0.2), 40)
    ...     names = [
    ...         os.path.join(folder, name)
    ...         for name in ("small.png", "large.jpg", "turned.png")
    ...     ]
    ...     picture.resize((200, 150)).save(names[0])
    ...     picture.save(names[1])
    ...     picture.resize((200, 150)).rotate(-90, expand=True).save(names[2])
    ...     found = dedup(hash_files(names, orientations=True))
    >>> found
    ImageDedup(3 images: 1 kept, 2 removed within distance 31, 0 not compared)
    >>> [(os.path.basename(path), turned) for path, _, _, turned in found.removed]
    [('small.png', 'same'), ('turned.png', 'rotated_90')]
    """
    radius = checked_radius(hashes.hash, radius)
    threads = thread_count(threads)
    if keep not in ("largest", "first"):
        raise ValueError(f"keep must be 'largest' or 'first', not {keep!r}")
    _check_hashes(hashes, against)
    codes = np.asarray(hashes.codes)
    n, k, _ = codes.shape
    compared: BoolArray = hashes.quality >= LEAST_QUALITY
    keeper = int64_range(n)
    known_images = np.full(n, -1, np.int64)
    distance = np.zeros(n, np.int64)
    orientation = np.zeros(n, np.int64)
    if against is not None and len(against.paths):
        near_known = _near_known(
            hashes, np.flatnonzero(compared), against, radius, threads
        )
        known_images[near_known.rows] = near_known.known
        keeper[near_known.rows] = -1
        distance[near_known.rows] = near_known.distance
        orientation[near_known.rows] = near_known.orientation
    remaining = np.flatnonzero(compared & (known_images < 0))
    order = remaining[_preference(hashes, remaining, keep)]
    if k == 1:
        keepers = dedup_codes(
            codes[order, 0], radius, threads=threads, progress=progress
        ).keeper
    else:
        keepers = _oriented_keepers(codes[order], radius, threads, progress)
    keeper[order] = order[keepers]
    copies = remaining[keeper[remaining] != remaining]
    distance[copies], orientation[copies] = _nearest_turns(
        codes, copies, keeper[copies]
    )
    keep_mask: BoolArray = keeper == int64_range(n)
    return ImageDedup(
        hashes,
        keep_mask,
        compared,
        keeper,
        known_images,
        distance,
        orientation,
        radius,
        against,
        keep,
    )


def _check_hashes(hashes: ImageHashes, against: KnownHashes | None) -> None:
    """Raise ValueError if codes name another hash than the images, or another version."""
    computed = image_hash(hashes.hash)
    hashes_and_names = [("hashes", hash_of_codes(hashes.codes))]
    if against is not None:
        if against.hash != hashes.hash:
            raise ValueError(
                f"against must have hashes of the kind {hashes.hash}, not {against.hash}"
            )
        hashes_and_names.append(("against", hash_of_codes(against.codes)))
        if against.version is not None:
            version = check_int("against.version", against.version, 1)
            hashes_and_names.append(("against", ImageHash(against.hash, version)))
    for name, hash in hashes_and_names:
        if hash is not None and hash.kind != computed.kind:
            raise ValueError(f"{name} must have codes of {computed}, not of {hash}")
        if hash is not None:
            try:
                check_version(hash)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None


class _NearKnown(NamedTuple):
    """Rows that look like known images: these images, the distances, and the turns."""

    rows: Int64Array
    known: Int64Array
    distance: Int64Array
    orientation: Int64Array


def _near_known(
    hashes: ImageHashes,
    rows: Int64Array,
    against: KnownHashes,
    radius: int,
    threads: int,
) -> _NearKnown:
    """Return which of some rows are within the radius of known images, each with the nearest."""
    codes = np.asarray(hashes.codes)
    _, k, words = codes.shape
    index = HammingIndex(64 * words, radius=radius)
    index.insert(range(len(against.paths)), np.asarray(against.codes))
    answers = index.query(codes[rows].reshape(-1, words), k=1, threads=threads)
    distances_of_turns = answers.distance.reshape(-1, k)
    turned = distances_of_turns.argmin(axis=1).astype(np.int64)
    places = int64_range(len(rows))
    distance = distances_of_turns[places, turned]
    near_rows = np.flatnonzero(distance <= radius)
    known_rows = np.asarray(answers.keys, np.int64).reshape(-1, k)[
        near_rows, turned[near_rows]
    ]
    return _NearKnown(
        rows[near_rows], known_rows, distance[near_rows], turned[near_rows]
    )


def _preference(hashes: ImageHashes, rows: Int64Array, keep: ImageKeep) -> Int64Array:
    """Return places of rows, those that are preferred first."""
    if keep == "first":
        return int64_range(len(rows))
    pixels = hashes.width[rows] * hashes.height[rows]
    is_grey = np.zeros(len(rows), np.bool_)
    if hashes.in_colour is not None:
        is_grey = ~hashes.in_colour[rows]
    keys = (-hashes.nbytes[rows], is_grey, -pixels)  # the last one first
    return np.lexsort(keys).astype(np.int64)


def _oriented_keepers(
    codes: UInt64Array, radius: int, threads: int, progress: Progress | None
) -> Int64Array:
    """Return the keeper of each image, from codes (n, 8, words) in order of preference.

    A batch is compared with what was kept before it, then with itself.
    """
    n, k, words = codes.shape
    keeper = int64_range(n)
    index = HammingIndex(64 * words, radius=radius)
    low = 0
    while low < n:
        most = min(max(MOST_ANSWERS // (k * max(len(index), 1)), LEAST_ROWS), BATCH)
        batch = codes[low : low + most]
        earlier = _firsts(index, batch, threads)
        batch_keepers = _batch_keepers(batch, earlier < 0, radius, threads)
        keeper[low : low + len(batch)] = np.where(
            earlier >= 0, earlier, low + batch_keepers
        )
        numbers = int64_range(low, low + len(batch))
        kept_places = np.flatnonzero(keeper[numbers] == numbers)
        index.insert(low + kept_places, batch[kept_places, 0])
        low += len(batch)
        if progress:
            progress("dedup", low, n)
    return keeper


def _firsts(index: HammingIndex, codes: UInt64Array, threads: int) -> Int64Array:
    """Return the least key within the radius of a code of each image; -1 for none."""
    answers = index.within(codes.reshape(-1, codes.shape[2]), threads=threads)
    counts = np.diff(answers.offsets[:: codes.shape[1]])
    owner = np.repeat(int64_range(len(codes)), counts)
    least = np.full(len(codes), np.iinfo(np.int64).max, np.int64)
    np.minimum.at(least, owner, np.asarray(answers.keys, np.int64))
    return np.where(least == np.iinfo(np.int64).max, -1, least)


def _batch_keepers(
    codes: UInt64Array, free: BoolArray, radius: int, threads: int
) -> Int64Array:
    """Return the keepers, by place, of images of a batch without one; others keep themselves."""
    keeper = int64_range(len(codes))
    rows = np.flatnonzero(free)
    if len(rows) < 2:
        return keeper
    inside = HammingIndex(64 * codes.shape[2], radius=radius)
    inside.insert(rows, codes[rows, 0])
    answers = inside.within(codes[rows].reshape(-1, codes.shape[2]), threads=threads)
    near_places = np.asarray(answers.keys, np.int64)
    offsets = answers.offsets[:: codes.shape[1]]
    for place, row in enumerate(rows.tolist()):
        before = near_places[offsets[place] : offsets[place + 1]]
        before = before[before < row]
        before = before[keeper[before] == before]
        if len(before):
            keeper[row] = before.min()
    return keeper


def _nearest_turns(
    codes: UInt64Array, rows: Int64Array, keepers: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Return the least distance of each row's codes to its keeper's first code, and which."""
    k = codes.shape[1]
    flat = codes.reshape(-1, codes.shape[2])
    first = (rows * k)[:, None] + int64_range(k)
    pairs = (
        first.astype(np.uint64) << np.uint64(32)
        | (keepers * k).astype(np.uint64)[:, None]
    )
    all_distances = distances(flat, pairs.ravel()).astype(np.int64).reshape(-1, k)
    turned = all_distances.argmin(axis=1).astype(np.int64)
    return all_distances[int64_range(len(rows)), turned], turned
