"""Perceptual hashes of image files: PDQ, pHash and dHash, in all orientations if wanted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.choices import ImageHashKind, OnError
from lshfast._common.errors import DataError
from lshfast._common.extras import optional
from lshfast._common.image_hashes import image_hash
from lshfast._common.progress import Progress
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._common.visible import printable
from lshfast.families.packed import codes_of
from lshfast.images.decoding import (
    MAX_PIXELS,
    Decoded,
    ImageError,
    decode,
    formats,
    quiet_decoder,
)
from lshfast.images.pdq import Bits, pdq_hashes, pdq_quality
from lshfast.sketch.arrays import made_by

# How an image may be turned, relative to another one: rotations are clockwise. Behind them, the
# operations of Pillow that turn it back: the values of Image.Transpose, in the order of PDQ's eight
# hashes.
ORIENTATIONS = (
    "same",
    "rotated_90",
    "rotated_180",
    "rotated_270",
    "flipped",
    "mirrored",
    "transposed",
    "transverse",
)
TURNS_BACK = (None, 2, 3, 4, 1, 0, 5, 6)


class HashType(NamedTuple):
    """A kind of hash: its bits, the default radius, and a function.

    The function takes an image and operations of Pillow. It returns the bits of the hash of the
    image after each of them, and the quality. `stored` is that of `decode`.
    """

    bits: int
    radius: int
    function: Callable[[Decoded, Sequence[int | None]], tuple[Bits, int]]
    stored: bool = False


class BadImage(NamedTuple):
    """An image file that was skipped.

    Attributes
    ----------
    path : str
    reason : str

    See Also
    --------
    lshfast.images.hash_files : Hash image files.
    lshfast.images.ImageHashes : The hashes of images.
    """

    path: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class ImageHashes:
    """The hashes of n images.

    ``len(hashes)`` is n.

    Attributes
    ----------
    paths : list of str
    codes : ndarray of uint64, shape (n, k, words)
        k is 1, or 8 with all orientations: code 0 is the hash of the image as it is, and the others
        those of the image turned back from each of `ORIENTATIONS`. Bits are in the order of
        `lshfast.dedup_codes`. Rows and slices of it say of which hash they are, so indexes of other
        hashes refuse them: see `lshfast.HammingIndex`.
    quality : ndarray of int64, shape (n,)
        PDQ's measure of the content of an image, in 0..100: the sum of the differences between
        neighbours of 64 x 64 grey values. An image below 50 has too little content for any of the
        hashes.
    width, height : ndarray of int64, shape (n,)
        Pixels, as the image is shown.
    nbytes : ndarray of int64, shape (n,)
        Sizes of the files.
    hash : {"pdq", "phash", "dhash"}
    rejected : list of BadImage
        Files that were skipped.
    in_colour : ndarray of bool, shape (n,), or None
        Whether the image has colours, as a JPEG that stores them, be they all grey; None if it is
        not known.

    See Also
    --------
    lshfast.images.hash_files : Hash image files.
    lshfast.images.dedup : Find images that are copies of others.
    """

    paths: list[str]
    codes: UInt64Array
    quality: Int64Array
    width: Int64Array
    height: Int64Array
    nbytes: Int64Array
    hash: ImageHashKind
    rejected: list[BadImage]
    in_colour: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        n, k, _ = self.codes.shape
        return (
            f"ImageHashes({n:,} images, {self.hash}, {k} per image, {len(self.rejected):,} "
            "rejected)"
        )

    def hex(self, rows: Iterable[int] | None = None) -> list[str]:
        """Return the hashes of images, as they are, as hexadecimal digits.

        Those of PDQ are the text of ThreatExchange, and the others the text of imagehash.

        Parameters
        ----------
        rows : iterable of int, optional
            All by default.
        """
        codes = np.asarray(self.codes)
        row_codes = (
            codes[:, 0] if rows is None else codes[np.fromiter(rows, np.int64), 0]
        )
        data = np.ascontiguousarray(row_codes[:, ::-1]).astype(">u8").tobytes()
        size = 8 * row_codes.shape[1]
        return [data[at : at + size].hex() for at in range(0, len(data), size)]


def hash_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    hash: ImageHashKind = "pdq",
    orientations: bool = False,
    max_pixels: int = MAX_PIXELS,
    on_error: OnError = "skip",
    threads: int | None = None,
    progress: Progress | None = None,
) -> ImageHashes:
    """Compute perceptual hashes of image files.

    JPEG, PNG, GIF, WebP, TIFF, BMP, AVIF and JPEG 2000 are read, and HEIC with the package
    pillow-heif (``pip install "lshfast[heic]"``), whatever the names of the files say. The EXIF
    orientation is applied, and of an animation or of several pages the first is read. Transparent
    parts are white for pHash and dHash, and have the colours that are stored for PDQ. A JPEG is
    decoded at 1/2, 1/4 or 1/8 of its size if its shorter side then has 256 pixels or more.

    Parameters
    ----------
    paths : sequence of paths
        Files, such as those of `list_images`.
    hash : {"pdq", "phash", "dhash"}, default "pdq"
        PDQ has 256 bits; pHash and dHash, those of imagehash, have 64.
    orientations : bool, default False
        Whether to compute the hashes of all eight rotations and mirror images, too.
    max_pixels : int, default 178,956,970
        The most pixels of an image, at least 1. A larger one is refused before its pixels are
        decoded.
    on_error : {"skip", "stop"}, default "skip"
        Whether a file that cannot be hashed is recorded in `ImageHashes.rejected`, or raises
        DataError.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    progress : callable, optional
        Called from time to time with ("hash", files done, files in total).

    Returns
    -------
    ImageHashes
        Without those that were skipped.

    Raises
    ------
    DataError
        If a file cannot be hashed and `on_error` is "stop".
    TypeError, ValueError
        If an argument has the wrong type or is out of range.
    ImportError
        If Pillow, pdqhash or imagehash is missing.

    See Also
    --------
    lshfast.images.list_images : List the images of files and folders.
    lshfast.images.dedup : Choose which images to keep.

    Notes
    -----
    The hash of PDQ is the published one: that of the package pdqhash for all pixels, within 4 of
    256 bits (144 parts and sizes of two photographs), and equal to it for images of up to 65,536
    pixels. PDQ's own programs ignore the EXIF orientation, so they hash such a photograph as it is
    stored: use `orientations` to find it in a list of theirs. An image with a side below 5 pixels
    has a hash of zeros and the quality 0, as in PDQ. Other versions of Pillow and of its decoders
    may change single bits.

    References
    ----------
    Facebook, "The TMK+PDQF video-hashing algorithm and the PDQ image-hashing algorithm".

    Examples
    --------
    >>> import os, tempfile
    >>> from PIL import Image
    >>> from lshfast.images import hash_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = [os.path.join(folder, name) for name in ("a.png", "b.jpg", "c.gif")]
    ...     picture = Image.radial_gradient("L")
    ...     for name in names:
    ...         picture.save(name)
    ...     with open(names[2], "wb") as file:
    ...         _ = file.write(b"GIF89a")
    ...     hashes = hash_files(names, hash="dhash")
    >>> hashes
    ImageHashes(2 images, dhash, 1 per image, 1 rejected)
    >>> hashes.hex()
    ['0f0f0f0f0f0f0f0f', '0f0f0f0f0f0f0f0f']
    """
    kind = hash_type(hash)
    check_int("max_pixels", max_pixels, 1, 1 << 40)
    if on_error not in ("skip", "stop"):
        raise ValueError(f"on_error must be 'skip' or 'stop', not {on_error!r}")
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError(f"paths must be several paths, such as [{paths!r}], not one")
    names = [os.fspath(path) for path in paths]
    for package in ("PIL", "pdqhash", "imagehash"):
        optional(package, "images")
    formats()  # imported here and not by several threads at once
    turns = TURNS_BACK if orientations else TURNS_BACK[:1]
    count = len(turns)
    work = partial(_hash_file, kind=kind, turns=turns, max_pixels=max_pixels)
    threads = thread_count(threads)
    good = list[str]()
    rejected = list[BadImage]()
    codes = np.zeros((len(names), count, kind.bits // 8), np.uint8)
    figures = np.zeros((len(names), 5), np.int64)
    with quiet_decoder(max_pixels):
        for images_done, (path, outcome) in enumerate(
            zip(names, ordered_map(work, names, threads), strict=True), 1
        ):
            if isinstance(outcome, str):
                if on_error == "stop":
                    raise DataError(printable(path), None, outcome)
                rejected.append(BadImage(path, outcome))
            else:
                codes[len(good)], figures[len(good)] = outcome
                good.append(path)
            if progress:
                progress("hash", images_done, len(names))
    n = len(good)
    words = codes_of(codes[:n].reshape(n * count, codes.shape[2]), kind.bits).reshape(
        n, count, kind.bits // 64
    )
    quality, width, height, nbytes, in_colour = (
        np.ascontiguousarray(figures[:n, place]) for place in range(5)
    )
    words = made_by(image_hash(hash), words)
    return ImageHashes(
        good,
        words,
        quality,
        width,
        height,
        nbytes,
        hash,
        rejected,
        in_colour.astype(np.bool_),
    )


def hash_type(hash: str) -> HashType:
    """Return what is known of a kind of hash."""
    if hash not in HASHES:
        raise ValueError(f"hash must be one of {', '.join(HASHES)}, not {hash!r}")
    return HASHES[hash]


def checked_radius(hash: str, radius: int | None) -> int:
    """Return the radius of a kind of hash, by default the usual one, or raise an error."""
    kind = hash_type(hash)
    if radius is None:
        return kind.radius
    return check_int("radius", radius, 0, kind.bits)


def _hash_file(
    path: str, kind: HashType, turns: Sequence[int | None], max_pixels: int
) -> tuple[Bits, tuple[int, int, int, int, bool]] | str:
    """Return the hashes and the figures of an image, or why the file cannot be hashed."""
    try:
        decoded = decode(path, max_pixels, stored=kind.stored)
    except ImageError as error:
        return str(error)
    bits, quality = kind.function(decoded, turns)
    return np.packbits(bits, axis=1), (
        quality,
        decoded.width,
        decoded.height,
        decoded.nbytes,
        decoded.in_colour,
    )


def _imagehash(
    name: str, decoded: Decoded, turns: Sequence[int | None]
) -> tuple[Bits, int]:
    function = getattr(optional("imagehash"), name)
    image = decoded.image
    turned = (image if turn is None else image.transpose(turn) for turn in turns)
    bits = np.asarray([function(each).hash.ravel() for each in turned], np.uint8)
    return bits, pdq_quality(decoded)


# The radius of PDQ is that of its authors.
HASHES: dict[str, HashType] = {
    "pdq": HashType(256, 31, pdq_hashes, stored=True),
    "phash": HashType(64, 8, partial(_imagehash, "phash")),
    "dhash": HashType(64, 5, partial(_imagehash, "dhash")),
}
