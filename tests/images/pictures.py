"""Pictures for tests: fields of colour and squares from a seed, and files of them."""

import struct
import zlib

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="needs Pillow: install lshfast[images]")
pytest.importorskip("pdqhash", reason="needs pdqhash: install lshfast[images]")
pytest.importorskip("imagehash", reason="needs imagehash: install lshfast[images]")


def picture(seed, size=(320, 240)):
    """Return a picture in colours; those of other seeds look different. PDQ takes time for each pixel."""
    generator = np.random.default_rng(seed)
    fields = Image.fromarray(
        generator.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    ).resize(size, Image.Resampling.BICUBIC)
    shapes = Image.fromarray(
        generator.integers(0, 256, (9, 12, 3), dtype=np.uint8)
    ).resize(size, Image.Resampling.NEAREST)
    return Image.blend(fields, shapes, 0.3)


def save(folder, name, image, **options):
    path = folder / name
    image.save(path, **options)
    return str(path)


def bits_between(hashes, i, j):
    """Return the distance of two hashes."""
    first, second = hashes.hex([i, j])
    return bin(int(first, 16) ^ int(second, 16)).count("1")


def with_size(data, width, height):
    """Return a PNG whose header says another size."""
    header = b"IHDR" + struct.pack(">II", width, height) + data[24:29]
    return data[:12] + header + struct.pack(">I", zlib.crc32(header)) + data[33:]
