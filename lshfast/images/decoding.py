"""Images from unchecked files: first their headers, then the pixels that a hash needs.

Only formats that Pillow decodes itself, and HEIC, are read, whatever the name of a file says:
PostScript, for example, would start Ghostscript. The pixels of an image are limited by its header,
before they are decoded.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO, Literal

import numpy as np

from lshfast._common.choices import MAX_PIXELS as MAX_PIXELS
from lshfast._common.extras import optional
from lshfast._common.types import Float32Array

FORMATS = (
    "JPEG",
    "MPO",
    "PNG",
    "GIF",
    "WEBP",
    "TIFF",
    "BMP",
    "DIB",
    "AVIF",
    "HEIF",
    "JPEG2000",
)

# The beginning of files of HEIC, which a package decodes that Pillow does not have.
HEIC_START = re.compile(
    rb".{4}ftyp(heic|heix|hevc|hevx|heim|heis|hevm|hevs|mif1|msf1)", re.DOTALL
)
HEIC_PACKAGE = "pillow_heif"

# A JPEG is decoded at 1/2, 1/4 or 1/8 of its size if its shorter side then has at least this many
# pixels. Measured on 144 parts and sizes of two photographs: the distance of the hash to PDQ's of
# all pixels is 0.7 of 256 bits on average and 4 at most, and without it 0.5 and 4. Decoding takes
# 1/6 as long.
DECODED_SIDE = 256

# An image of at most this many pixels keeps its colours for PDQ: the package takes 0.9 ms for it,
# and is exact.
SMALL_PIXELS = 1 << 16

# The shorter side, in pixels, to which larger images are reduced by averages of whole blocks,
# before anything else.
REDUCED_SIDE = 512

# Images of which more pixels are decoded are decoded one at a time: with a copy in colours, they
# take 0.25 GB and more.
LARGE_PIXELS = 1 << 25

# Each scan of a JPEG passes over all of its pixels, which takes 1.8 ns for each (150 scans of 4 kB,
# of 144 million pixels). Above this product of pixels and scans, which takes 4 s, an image is
# refused; photographs have ten scans.
MOST_SCANNED_PIXELS = 1 << 31

# Pillow reads each chunk, segment and block of a file by itself, in 1 to 10 us. The most reads
# until the pixels begin, and until they end: a PNG of 430 MB in chunks of 8 kB has this many.
HEADER_READS = 1 << 14
MOST_READS = 1 << 18

# How often the bytes of a file may be read before its pixels, and bytes that may be read of a small
# one: the tags of a TIFF may be in the same place. Its strips are read in larger pieces than they
# have, up to this number of bytes.
MOST_PASSES = 4
LEAST_BYTES = 1 << 20
MOST_PIXEL_BYTES = 1 << 34

# The most strips or tiles of a TIFF file, for each of which Pillow makes an object: 11 us and 400
# bytes.
MOST_STRIPS = 1 << 17

# Markers of JPEG: the beginnings of a file and of a scan; frames of one scan if it has all colours;
# frames of other kinds, such as progressive ones; and markers without a length, which headers do
# not have.
JPEG_START = b"\xff\xd8"
SCAN = b"\xff\xda"
SEQUENTIAL = {0xC0, 0xC1, 0xC9}
OTHER_FRAMES = {0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
NO_LENGTH = {0x00, 0x01, *range(0xD0, 0xDA), 0xFF}

# How TIFF files begin, also those with places of 8 bytes; the tags of places and sizes of strips
# and tiles; and the most tags that are looked at, which is more than 2 bytes can say.
TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
STRIP_TAGS = (273, 279, 324, 325)
MOST_TAGS = 1 << 16

# EXIF orientations, and the operations of Pillow that turn such an image upright: the values of
# Image.Transpose.
UPRIGHT = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
ORIENTATION_TAG = 0x0112

# Operations after which rows are columns.
TRANSPOSING = (2, 4, 5, 6)

# Whether what was last, to the right and below, is first after each of these operations: across,
# and down.
REVERSED = {
    0: (True, False),
    1: (False, True),
    2: (False, True),
    3: (True, True),
    4: (True, False),
    5: (False, False),
    6: (True, True),
}

# Floating-point pixels are cut to this magnitude, so that differences are finite; and pixels with
# more than 8 bits that are converted at a time.
MOST_VALUE = 1e38
STRIP_PIXELS = 1 << 18

WIDE_MODES = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")
GREY_MODES = ("1", "L", "LA", "La", *WIDE_MODES)
RGB_MODES = ("P", "PA", "RGB", "RGBA")
# The greatest difference of two channels of a grey pixel, of 255: that of WebP, by rounding, is 1.
MOST_GREY = 2
SAMPLE_SIDE = 128  # of the pixels that are asked for colours

_large = threading.Lock()


@dataclass(frozen=True)
class Decoded:
    """An image of a file, upright, of the first frame only.

    Attributes
    ----------
    image : PIL.Image.Image
        Reduced, possibly by different factors in width and height: grey (mode L) or in colours
        (RGB), on white where it is transparent.
    width, height : int
        Pixels of the image in the file, as it is shown.
    nbytes : int
        Size of the file.
    in_colour : bool
        Whether the image has colours, by 128 x 128 of its pixels. A JPEG that stores colours has,
        be they all grey.
    blocks : (int, int)
        Pixels in the file, across and down, of which a pixel of `image` is the average.
    reversed : (bool, bool)
        Whether blocks with fewer pixels are the first ones, across and down, and not the last ones.
    """

    image: Any
    width: int
    height: int
    nbytes: int
    in_colour: bool
    blocks: tuple[int, int] = (1, 1)
    reversed: tuple[bool, bool] = (False, False)


class ImageError(ValueError):
    """A file that is no image, is damaged or too large; the message says why.

    It does not name the file.
    """


class _LimitedFile(io.BufferedReader):
    """A file with a limited number of reads, so that decoders end soon whatever it contains."""

    def __init__(self, path: str) -> None:
        super().__init__(io.FileIO(path, "rb", opener=_open_file))
        state = os.fstat(self.fileno())
        if not stat.S_ISREG(state.st_mode):
            self.close()
            raise ImageError("is no regular file")
        self.nbytes = state.st_size
        self.begin_metadata()

    def begin_metadata(self) -> None:
        """Limit what is read to metadata, which are small, and at different places of a file."""
        self.reads_left = HEADER_READS
        self.bytes_left = MOST_PASSES * self.nbytes + LEAST_BYTES

    def begin_pixels(self) -> None:
        """Limit what is read to pixels, which may be in many pieces."""
        self.reads_left = MOST_READS
        self.bytes_left = MOST_PIXEL_BYTES

    def read(self, size: int | None = -1, /) -> bytes:
        """Read bytes; raise ImageError if the limits are reached."""
        data = super().read(size)
        self.reads_left -= 1
        self.bytes_left -= len(data)
        if self.reads_left < 0:
            raise ImageError(
                "has too many chunks, segments, blocks or strips to decode"
            )
        if self.bytes_left < 0:
            raise ImageError("refers to its bytes too often to be decoded")
        return data


def decode(
    path: str, max_pixels: int = MAX_PIXELS, colour: bool = False, stored: bool = False
) -> Decoded:
    """Decode the first frame of an image file.

    Parameters
    ----------
    path : str
    max_pixels : int, default MAX_PIXELS
        The most pixels of an image, at least 1. A larger one is refused before its pixels are
        decoded.
    colour : bool, default False
        Whether the image has colours.
    stored : bool, default False
        Whether the values of transparent pixels count as they are stored, as in PDQ. A small image
        has colours then.

    Returns
    -------
    Decoded

    Raises
    ------
    ImageError
        If the file cannot be read, is no image or a damaged one, or has too many pixels.
    """
    try:
        return _decoded(path, max_pixels, colour, stored)
    except ImageError:
        raise
    except Exception:
        pass  # the file is damaged, or memory was refused, which may pass; decoders say the same
    try:
        return _decoded(path, max_pixels, colour, stored)
    except ImageError:
        raise
    except Exception as error:
        raise ImageError(_reason(error)) from error


def _decoded(path: str, max_pixels: int, colour: bool, stored: bool) -> Decoded:
    try:
        with _LimitedFile(path) as stream:
            return _decode(stream, max_pixels, colour, stored)
    except optional("PIL", "images").UnidentifiedImageError as error:
        raise ImageError("is no image of a known format, or a damaged one") from error


@contextmanager
def quiet_decoder(max_pixels: int) -> Iterator[None]:
    """Ignore Pillow's warnings in this block, and raise its limit to `max_pixels` if lower."""
    image = optional("PIL.Image", "images")
    before = image.MAX_IMAGE_PIXELS
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL(\.|$)")
        warnings.simplefilter("ignore", image.DecompressionBombWarning)
        if before is not None and max_pixels > 2 * before:
            image.MAX_IMAGE_PIXELS = max_pixels
        try:
            yield
        finally:
            image.MAX_IMAGE_PIXELS = before


def _open_file(path: str, flags: int) -> int:
    """Open a file without waiting for a writer, if it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _reason(error: Exception) -> str:
    bomb = optional("PIL.Image", "images").DecompressionBombError
    if isinstance(error, bomb):
        return "has more pixels than max_pixels (--max-pixels) allows"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    message = str(error).strip().partition("\n")[0]
    if isinstance(error, MemoryError):
        message = "out of memory"
    return f"cannot be decoded: {message or type(error).__name__}"[:200]


@cache
def decodes_heic() -> bool:
    """Return whether the package that decodes HEIC is installed."""
    return importlib.util.find_spec(HEIC_PACKAGE) is not None


@cache
def formats() -> list[str]:
    """Return the formats that this Pillow was built with, and HEIC if it can be decoded."""
    image = optional("PIL.Image", "images")
    image.init()
    if decodes_heic():
        optional(HEIC_PACKAGE, "heic").register_heif_opener(thumbnails=False)
    return [name for name in FORMATS if name in image.OPEN]


def _decode(
    stream: _LimitedFile, max_pixels: int, colour: bool, stored: bool
) -> Decoded:
    image = _opened(stream)
    width, height = image.size
    in_colour = image.mode not in GREY_MODES
    _check_size(width, height, max_pixels)
    is_jpeg = image.format in ("JPEG", "MPO")
    several = is_jpeg and not _has_one_scan(stream)
    if several:  # then all pixels are held, whatever size is decoded
        _check_scans(stream, width, height)
    colour = colour or (stored and width * height <= SMALL_PIXELS)
    image.draft("RGB" if colour else "L", (DECODED_SIDE, DECODED_SIDE))
    across, down = (width, height) if several else image.size
    with _large if across * down > LARGE_PIXELS else nullcontext():
        stream.begin_pixels()
        image.load()
        stream.begin_metadata()
        # A JPEG may be reduced; others may have been turned upright.
        if not is_jpeg:
            width, height = image.size
        turn = UPRIGHT.get(_orientation(image))
        scale = round(width / image.width)  # of a JPEG: 1, 2, 4 or 8
        if image.mode in RGB_MODES and not is_jpeg:
            in_colour = _has_colour(image)
        if stored:
            image = _opaque(image, colour)
        image, blocks = _reduced(image)
        image = _flat(image, colour)
    blocks = scale * blocks[0], scale * blocks[1]
    if turn is None:
        return Decoded(image, width, height, stream.nbytes, in_colour, blocks)
    image = image.transpose(turn)
    if turn in TRANSPOSING:
        width, height = height, width
        blocks = blocks[1], blocks[0]
    return Decoded(
        image, width, height, stream.nbytes, in_colour, blocks, REVERSED[turn]
    )


def _opened(stream: _LimitedFile) -> Any:
    """Return an image whose size is known, and whose pixels are not decoded."""
    strips = _strips(stream)
    if strips > MOST_STRIPS:
        raise ImageError(
            f"has {strips:,} strips or tiles, more than the {MOST_STRIPS:,} that are decoded"
        )
    if not decodes_heic() and HEIC_START.match(stream.peek(12)):
        raise ImageError('is HEIC, which needs a package: pip install "lshfast[heic]"')
    return optional("PIL.Image", "images").open(stream, formats=formats())


def _has_colour(image: Any) -> bool:
    """Return whether the channels of an image differ; formats without grey keep three like ones."""
    difference = optional("PIL.ImageChops", "images").difference
    sample = image.resize((SAMPLE_SIDE, SAMPLE_SIDE), 0)  # the nearest pixels
    red, green, blue = sample.convert("RGB").split()
    most = max(difference(green, channel).getextrema()[1] for channel in (red, blue))
    return bool(most > MOST_GREY)


def _check_size(width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise ImageError(
            f"has {width:,} x {height:,} pixels, more than the {max_pixels:,} that max_pixels "
            "(--max-pixels) allows"
        )
    if width * height == 0:
        raise ImageError("has no pixels")


def _check_scans(stream: BinaryIO, width: int, height: int) -> None:
    """Raise ImageError if a JPEG has too many scans, each of which passes all pixels."""
    scans = _scans(stream)
    if scans * width * height > MOST_SCANNED_PIXELS:
        raise ImageError(
            f"has {scans:,} scans of {width:,} x {height:,} pixels, too many to decode"
        )


def _has_one_scan(stream: BinaryIO) -> bool:
    """Return whether the decoder reads a single scan of a JPEG; the file position stays.

    It does so for a sequential frame whose first scan has all colours; not for bad headers.
    """
    place = stream.tell()
    stream.seek(0)
    try:
        return stream.read(2) == JPEG_START and _first_scan_is_whole(stream)
    finally:
        stream.seek(place)


def _first_scan_is_whole(stream: BinaryIO) -> bool:
    colours = b""
    while len(head := stream.read(4)) == 4 and head[0] == 0xFF:
        kind = head[1]
        size = int.from_bytes(head[2:], "big") - 2
        if kind in OTHER_FRAMES or kind in NO_LENGTH or size < 0:
            return False
        if head[:2] == SCAN:
            return stream.read(1) == colours != b""
        if kind in SEQUENTIAL:
            colours = stream.read(size)[5:6]
        else:
            stream.seek(size, os.SEEK_CUR)
    return False


def _strips(stream: BinaryIO) -> int:
    """Return the number of strips or tiles in a TIFF's header, else 0; rewind the file."""
    head = stream.read(16)
    stream.seek(0)
    if head[:4] not in TIFF_STARTS:
        return 0
    order: Literal["little", "big"] = "little" if head[:2] == b"II" else "big"
    word, size, entry = (8, 8, 20) if 43 in head[2:4] else (4, 2, 12)
    start = 8 if word == 8 else 4
    stream.seek(
        min(
            int.from_bytes(head[start : start + word], order),
            stream.seek(0, os.SEEK_END),
        )
    )
    entries = stream.read(
        min(int.from_bytes(stream.read(size), order), MOST_TAGS) * entry
    )
    stream.seek(0)
    tags = (entries[at : at + entry] for at in range(0, len(entries), entry))
    counts = (
        int.from_bytes(tag[4 : 4 + word], order)
        for tag in tags
        if int.from_bytes(tag[:2], order) in STRIP_TAGS
    )
    return max(counts, default=0)


def _scans(stream: BinaryIO) -> int:
    """Return how often the marker of a scan is in a file; the position in the file stays."""
    place = stream.tell()
    last = b""
    count = 0
    stream.seek(0)
    while block := stream.read(1 << 20):
        count += (last + block).count(SCAN)
        last = block[-1:]
    stream.seek(place)
    return count


def _orientation(image: Any) -> Any:
    """Return the EXIF orientation of a loaded image; None if it is missing or damaged."""
    try:
        value = image.getexif().get(ORIENTATION_TAG)
    except Exception:  # of damaged metadata, which are no reason to refuse the image
        return None
    return value if isinstance(value, int) else None


def _opaque(image: Any, colour: bool) -> Any:
    """Return an image without its transparency."""
    image.info.pop("transparency", None)
    if image.mode not in ("P", "PA", "LA", "RGBA"):
        return image
    return image.convert("RGB" if colour else "L")


def _reduced(image: Any) -> tuple[Any, tuple[int, int]]:
    """Return a large image with blocks of pixels averaged, and the size of a block."""
    if image.mode in WIDE_MODES:
        image = _eight_bits(image)
    elif image.mode in ("1", "P", "PA") or "transparency" in image.info:
        image = image.convert("RGBA" if image.mode != "1" else "L")
    across, down = (max(1, side // REDUCED_SIDE) for side in image.size)
    if across > 1 or down > 1:
        image = image.reduce((across, down))
    return image, (across, down)


def _eight_bits(image: Any) -> Any:
    """Return the grey values of an image with more bits as 8 bits.

    Values of 16 bits are divided by 257, others are stretched from the least to the most. Pixels of
    the transparent value are white.
    """
    across, down = image.size
    step = max(1, STRIP_PIXELS // across)
    strips = [(0, top, across, min(top + step, down)) for top in range(0, down, step)]
    least = 0.0
    most = 65535.0
    if not image.mode.startswith("I;16"):
        lows = []
        highs = []
        for strip in strips:
            values = _finite(image.crop(strip))
            lows.append(values.min())
            highs.append(values.max())
        least = float(min(lows))
        most = float(max(highs))
    grey = np.empty((down, across), np.uint8)
    clear = image.info.get("transparency")
    for strip in strips:
        part = image.crop(strip)
        scaled = (_finite(part) - least) * (255.0 / max(most - least, 1e-30))
        if isinstance(clear, int):
            scaled[np.asarray(part) == clear] = 255.0
        grey[strip[1] : strip[3]] = np.clip(scaled, 0, 255)
    return optional("PIL.Image", "images").fromarray(grey)


def _finite(image: Any) -> Float32Array:
    """Return pixels as numbers whose differences are finite."""
    values = np.nan_to_num(np.asarray(image).astype(np.float32), posinf=0.0, neginf=0.0)
    return np.clip(values, -MOST_VALUE, MOST_VALUE)


def _from_lab(image: Any) -> Any:
    """Return an image in CIE L*a*b*, which Pillow does not convert by itself, in sRGB."""
    cms = optional("PIL.ImageCms", "images")
    lab = cms.createProfile("LAB")
    rgb = cms.createProfile("sRGB")
    return cms.applyTransform(image, cms.buildTransform(lab, rgb, "LAB", "RGB"))


def _flat(image: Any, colour: bool) -> Any:
    """Return an image in mode RGB or L, on white where it is transparent."""
    mode = "RGB" if colour else "L"
    if image.mode == "LAB":
        image = _from_lab(image)
    if image.mode not in ("RGBA", "LA"):
        return image.convert(mode)
    white = optional("PIL.Image", "images").new(mode, image.size, "white")
    white.paste(image.convert(mode), mask=image.getchannel("A"))
    return white
