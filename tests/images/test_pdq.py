"""PDQ is the published hash: that of the package pdqhash for all pixels, whatever the size and the kind of a file."""

import numpy as np
import pytest

from lshfast.images import hash_files
from lshfast.images.hashing import TURNS_BACK
from tests.images.pictures import Image, picture, save

# The most bits in which hashes differ here; PDQ's own test of its programs allows 16.
MOST = 4


def published(image):
    """Return the hash of all pixels, as hexadecimal digits, and the quality."""
    import pdqhash

    bits, quality = pdqhash.compute(np.asarray(image.convert("RGB")))
    return np.packbits(bits.astype(np.uint8)).tobytes().hex(), quality


def bits_between(first, second):
    return (int(first, 16) ^ int(second, 16)).bit_count()


def bits_from(words, hash):
    """Return in how many bits the words of a hash differ from hexadecimal digits."""
    return bits_between(
        np.ascontiguousarray(words[::-1]).astype(">u8").tobytes().hex(), hash
    )


@pytest.fixture(scope="module")
def photographs():
    """Return the photographs of scikit-learn, which are 640 x 427 pixels."""
    return [
        Image.fromarray(pixels)
        for pixels in pytest.importorskip("sklearn.datasets")
        .load_sample_images()
        .images
    ]


def pictures_of(photographs, size):
    if size[0] * size[1] > 1 << 19:  # pdqhash takes 0.1 s for each
        photographs = photographs[:1]
    return [image.resize(size, Image.Resampling.BICUBIC) for image in photographs] + [
        picture(1, size)
    ]


@pytest.mark.parametrize("suffix", ["png", "jpg", "tiff"])
@pytest.mark.parametrize(
    "size",
    [
        *[
            (5, 5),
            (8, 6),
            (17, 90),
            (64, 64),
            (256, 256),
            (257, 300),
            (640, 427),
            (1023, 511),
            (1100, 1700),
        ],
        pytest.param((2900, 700), marks=pytest.mark.slow),
    ],
)
def test_the_hash_is_pdqs(tmp_path, photographs, suffix, size):
    for place, image in enumerate(pictures_of(photographs, size)):
        path = save(tmp_path, f"{place}.{suffix}", image)
        hashes = hash_files([path])
        with Image.open(path) as whole:
            hash, quality = published(whole)
        assert bits_between(hashes.hex()[0], hash) <= (
            0 if size[0] * size[1] <= 1 << 16 else MOST
        )
        assert abs(hashes.quality[0] - quality) <= 1


@pytest.mark.weekly
def test_a_large_photograph(tmp_path, photographs):
    for suffix in ("jpg", "png"):
        path = save(tmp_path, f"a.{suffix}", photographs[0].resize((4000, 3000)))
        with Image.open(path) as whole:
            assert (
                bits_between(hash_files([path]).hex()[0], published(whole)[0]) <= MOST
            )


@pytest.mark.parametrize("size", [(200, 150), (700, 560)])
@pytest.mark.parametrize("mode", ["L", "1", "P", "LA", "RGBA", "CMYK"])
def test_kinds_of_pixels(tmp_path, photographs, mode, size):
    """PDQ ignores transparency: what is stored under it counts."""
    for place, image in enumerate(pictures_of(photographs, size)):
        image = image.convert(mode)
        if mode in ("LA", "RGBA"):
            image.putalpha(Image.linear_gradient("L").resize(size))
        suffix = "tiff" if mode == "CMYK" else "png"
        path = save(tmp_path, f"{place}.{suffix}", image)
        assert bits_between(hash_files([path]).hex()[0], published(image)[0]) <= MOST


@pytest.mark.slow
def test_a_transparent_colour_of_a_palette_counts(tmp_path, photographs):
    image = photographs[1].convert("P", palette=Image.Palette.ADAPTIVE)
    path = save(
        tmp_path,
        "a.png",
        image,
        transparency=int(np.bincount(np.asarray(image).ravel()).argmax()),
    )
    assert bits_between(hash_files([path]).hex()[0], published(image)[0]) <= MOST


@pytest.mark.few_cases
@pytest.mark.parametrize("size", [(120, 90), (640, 427), (1600, 1201)])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_exif_orientation_is_applied(tmp_path, photographs, orientation, size):
    """The hash is that of the upright image; that of the image as it is stored is among all orientations."""
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    path = save(tmp_path, "a.jpg", photographs[0].resize(size), exif=exif)
    hashes = hash_files([path], orientations=True)
    with Image.open(path) as stored:
        assert (
            bits_between(hashes.hex()[0], published(ImageOps.exif_transpose(stored))[0])
            <= MOST
        )
        stored_hash = published(stored)[0]
    assert min(bits_from(words, stored_hash) for words in hashes.codes[0]) <= MOST


@pytest.mark.one_case
@pytest.mark.parametrize("size", [(120, 91), (641, 427), (1301, 1290)])
def test_the_eight_hashes_are_those_of_turned_files(tmp_path, photographs, size):
    image = photographs[1].resize(size)
    hashes = hash_files([save(tmp_path, "a.png", image)], orientations=True)
    for place, turn in enumerate(TURNS_BACK):
        hash, _ = published(image if turn is None else image.transpose(turn))
        assert bits_from(hashes.codes[0, place], hash) <= MOST


@pytest.mark.parametrize("size", [(4, 100), (100, 4), (1, 1), (4, 3000)])
def test_images_below_5_pixels_have_a_hash_of_zeros(tmp_path, size):
    noise = Image.fromarray(
        np.random.default_rng(1).integers(0, 256, (*size[::-1], 3), dtype=np.uint8)
    )
    hashes = hash_files([save(tmp_path, "a.png", noise)], orientations=True)
    assert not hashes.codes.any()
    assert hashes.quality[0] == 0


def test_a_very_long_image(tmp_path):
    """Weights are computed in steps of many pixels; each quarter of the image is another grey value."""
    values = np.repeat(np.array([30, 220, 90, 160], np.uint8), 15_000)
    image = Image.fromarray(np.tile(values, (6, 1)))
    path = save(tmp_path, "a.png", image)
    assert hash_files([path]).quality[0] == published(image)[1]
