"""Perceptual hashes of files: those of other packages, copies, orientations, and files that are skipped."""

import subprocess
import sys

import numpy as np
import pytest

from lshfast import DataError
from lshfast.families.packed import codes_of
from lshfast.images import BadImage, hash_files
from lshfast.images.hashing import ORIENTATIONS, TURNS_BACK
from tests.images.pictures import Image, bits_between, picture, save, with_size

KINDS = {"pdq": 256, "phash": 64, "dhash": 64}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the files of some pictures and of their copies: small, as a JPEG, cropped."""
    folder = tmp_path_factory.mktemp("pictures")
    paths = []
    for seed in range(6):
        image = picture(seed)
        paths += [
            save(folder, f"{seed}.png", image),
            save(folder, f"{seed} small.png", image.resize((160, 120))),
            save(folder, f"{seed}.jpg", image, quality=40),
            save(folder, f"{seed} cropped.png", image.crop((3, 3, 317, 237))),
        ]
    return paths


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("kind", KINDS)
def test_copies_are_near_and_others_far(files, kind):
    hashes = hash_files(files, hash=kind)
    assert hashes.codes.shape == (24, 1, KINDS[kind] // 64)
    assert (hashes.quality >= 50).all()
    assert (hashes.width[:2].tolist(), hashes.height[:2].tolist()) == (
        [320, 160],
        [240, 120],
    )
    codes = [int(text, 16) for text in hashes.hex()]
    distances = np.array(
        [[(first ^ second).bit_count() for second in codes] for first in codes]
    )
    same = np.arange(24)[:, None] // 4 == np.arange(24) // 4
    assert (
        distances[same].max()
        < KINDS[kind] // 5
        < KINDS[kind] // 4
        < distances[~same].min()
    )


@pytest.mark.slow
def test_pdq_is_near_that_of_pdqhash(files):
    """The hash of a whole image differs in a few bits."""
    import pdqhash

    large = [path for path in files if "small" not in path]
    hashes = hash_files(large)
    whole = []
    for path in large:
        with Image.open(path) as image:
            whole.append(
                pdqhash.compute(np.asarray(image.convert("RGB")))[0].astype(bool)
            )
    known = codes_of(np.array(whole), 256)
    different = np.array(
        [
            [bin(int(word)).count("1") for word in row]
            for row in known ^ hashes.codes[:, 0]
        ]
    )
    assert different.sum(axis=1).mean() < 16
    assert different.sum(axis=1).max() < 31


def test_pdq_of_64_pixels_is_exactly_that_of_pdqhash(tmp_path):
    import pdqhash

    small = picture(1, (64, 64)).convert("L")
    found, quality = pdqhash.compute(
        np.repeat(np.asarray(small)[:, :, None], 3, axis=2)
    )
    hashes = hash_files([save(tmp_path, "a.png", small)])
    assert hashes.hex() == [np.packbits(found.astype(np.uint8)).tobytes().hex()]
    assert hashes.quality.tolist() == [quality]


@pytest.mark.parametrize("kind", ["phash", "dhash"])
def test_the_others_are_those_of_imagehash(tmp_path, kind):
    """Of a grey image that is not reduced."""
    import imagehash

    image = picture(1).convert("L")
    hashes = hash_files([save(tmp_path, "a.png", image)], hash=kind)
    assert hashes.hex() == [str(getattr(imagehash, kind)(image))]


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("kind", KINDS)
def test_the_eight_hashes_are_those_of_turned_images(tmp_path, kind):
    image = picture(1)
    path = save(tmp_path, "a.png", image)
    turned = [image if turn is None else image.transpose(turn) for turn in TURNS_BACK]
    eight = hash_files([path], hash=kind, orientations=True)
    each = hash_files(
        [save(tmp_path, f"{i}.png", one) for i, one in enumerate(turned)], hash=kind
    )
    assert eight.codes.shape == (1, len(ORIENTATIONS), KINDS[kind] // 64)
    for place in range(8):
        assert (
            sum(
                bin(int(word)).count("1")
                for word in eight.codes[0, place] ^ each.codes[place, 0]
            )
            <= 6
        )
    assert len(set(each.hex())) == 8


@pytest.mark.slow
def test_a_jpeg_at_reduced_size_has_about_the_same_hash(tmp_path):
    large = picture(1, (1600, 1200))
    paths = [save(tmp_path, "a.png", large), save(tmp_path, "a.jpg", large, quality=95)]
    for kind in KINDS:
        assert bits_between(hash_files(paths, hash=kind), 0, 1) <= 6


@pytest.fixture(scope="module")
def small_images(files):
    """Return some of the files, and their hashes in all orientations."""
    paths = [path for path in files if "small" in path]
    return paths, hash_files(paths, orientations=True)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_changes_nothing(small_images, threads):
    paths, expected = small_images
    seen = []
    hashes = hash_files(
        paths,
        orientations=True,
        threads=threads,
        progress=lambda *given: seen.append(given),
    )
    assert hashes.paths == paths
    assert np.array_equal(hashes.codes, expected.codes)
    assert seen == [("hash", done, 6) for done in range(1, 7)]


def test_pictures_without_content_have_a_low_quality(tmp_path):
    plain = save(tmp_path, "plain.png", Image.new("RGB", (300, 200), "red"))
    sky = save(tmp_path, "sky.png", Image.linear_gradient("L"))
    tiny = save(tmp_path, "tiny.png", Image.new("L", (1, 1)))
    for kind in KINDS:
        assert hash_files([plain, sky, tiny], hash=kind).quality.max() < 50


def test_files_that_cannot_be_hashed_are_skipped_or_stop(tmp_path, files):
    bad = tmp_path / "a\x1bb.png"
    bad.write_bytes(b"GIF89a")
    bomb = tmp_path / "bomb.png"
    with open(files[0], "rb") as file:
        bomb.write_bytes(with_size(file.read(), 1 << 20, 1 << 20))
    hashes = hash_files([str(bad), files[0], str(bomb)])
    assert hashes.paths == [files[0]]
    assert hashes.hex() == hash_files(files[:1]).hex()
    assert [path for path, _ in hashes.rejected] == [str(bad), str(bomb)]
    assert all(isinstance(one, BadImage) for one in hashes.rejected)
    assert repr(hashes) == "ImageHashes(1 images, pdq, 1 per image, 2 rejected)"
    with pytest.raises(DataError, match=r"a\\x1bb\.png: is no image"):
        hash_files([files[0], bad], on_error="stop")
    assert len(hash_files([])) == len(hash_files([str(bad)])) == 0
    assert hash_files([files[0]], max_pixels=320 * 240).rejected == []
    assert (
        "320 x 240 pixels"
        in hash_files([files[0]], max_pixels=320 * 240 - 1).rejected[0].reason
    )


def test_arguments_are_checked():
    with pytest.raises(
        TypeError, match=r"paths must be several paths, such as \['a\.png'\], not one"
    ):
        hash_files("a.png")
    for error, options, said in (
        (
            ValueError,
            {"hash": "ahash"},
            "hash must be one of pdq, phash, dhash, not 'ahash'",
        ),
        (
            ValueError,
            {"on_error": "ignore"},
            "on_error must be 'skip' or 'stop', not 'ignore'",
        ),
        (ValueError, {"max_pixels": 0}, "max_pixels must be"),
        (TypeError, {"max_pixels": 1.5}, "max_pixels must be"),
        (ValueError, {"threads": 0}, "threads must be at least 1"),
    ):
        with pytest.raises(error, match=said):
            hash_files([], **options)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("package", ["PIL", "pdqhash", "imagehash"])
def test_a_missing_package_is_named_with_its_extra(package):
    code = f"import sys; sys.modules[{package!r}] = None; from lshfast.images import hash_files; hash_files([])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        f'ImportError: {package} is missing: pip install "lshfast[images]"'
        in done.stderr
    )
