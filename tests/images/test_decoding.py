"""Images as they are shown, and files that are damaged or made to take much memory or time."""

import io
import os
import struct
import tracemalloc
import zlib
from contextlib import suppress

import numpy as np
import pytest

from lshfast.images import decoding
from lshfast.images.decoding import (
    HEADER_READS,
    MAX_PIXELS,
    MOST_READS,
    MOST_SCANNED_PIXELS,
    MOST_STRIPS,
    ImageError,
    decode,
    quiet_decoder,
)
from tests.images.pictures import Image, picture, save, with_size


def pixels(image):
    return np.asarray(image.convert("L").resize((64, 64)), np.int64)


def near(image, other, most=8):
    return np.abs(pixels(image) - pixels(other)).max() <= most


@pytest.mark.few_cases
@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "tiff"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_exif_orientation_is_applied(tmp_path, suffix, orientation):
    from PIL import ImageOps

    shown = picture(1)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = save(tmp_path, f"a.{suffix}", shown, exif=exif)
    decoded = decode(path)
    with Image.open(path) as stored:
        upright = ImageOps.exif_transpose(stored)
    assert (
        (decoded.width, decoded.height)
        == upright.size
        == (shown.size if orientation < 5 else shown.size[::-1])
    )
    assert near(decoded.image, upright)
    assert decoded.nbytes == os.path.getsize(path)


def heic(folder, name, image, **options):
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.register_heif_opener()
    return save(folder, name, image, quality=95, **options)


@pytest.mark.one_case
@pytest.mark.parametrize("orientation", range(1, 9))
def test_heic_is_upright(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    small = picture(1, (128, 96))
    path = heic(tmp_path, "a.heic", small, exif=exif.tobytes())
    other = save(tmp_path, "a.png", small, exif=exif)
    decoded = decode(path)
    upright = decode(other)
    assert (decoded.width, decoded.height) == (upright.width, upright.height)
    assert near(decoded.image, upright.image, 24)


@pytest.mark.slow
def test_heic_that_is_damaged_or_too_large(tmp_path, monkeypatch):
    path = heic(tmp_path, "a.heic", picture(1, (128, 96)))
    with pytest.raises(ImageError, match=r"pixels, more than the 100 that max_pixels"):
        decode(path, max_pixels=100)
    data = (tmp_path / "a.heic").read_bytes()
    for share in (0.02, 0.2, 0.6, 0.99):
        (tmp_path / "cut.heic").write_bytes(data[: int(share * len(data))])
        with pytest.raises(ImageError) as caught:
            decode(str(tmp_path / "cut.heic"))
        assert "\n" not in str(caught.value)
    monkeypatch.setattr(decoding, "decodes_heic", lambda: False)
    with pytest.raises(ImageError, match=r'is HEIC, .* pip install "lshfast\[heic\]"'):
        decode(path)


def test_damaged_metadata_are_no_reason_to_refuse_an_image(tmp_path):
    path = save(
        tmp_path, "a.jpg", picture(1), exif=b"Exif\0\0II*\0\xff\xff\xff\xff junk"
    )
    with quiet_decoder(MAX_PIXELS):
        assert near(decode(path).image, picture(1))


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparent_parts_are_white(tmp_path, mode, colour):
    image = picture(1).convert("RGBA")
    mask = Image.new("L", image.size, 255)
    mask.paste(0, (0, 0, 160, 240))
    image.putalpha(mask)
    path = save(
        tmp_path,
        "a.gif" if mode == "P" else "a.png",
        image if mode == "P" else image.convert(mode),
    )
    decoded = decode(path, colour=colour)
    assert decoded.image.mode == ("RGB" if colour else "L")
    assert (pixels(decoded.image)[:, :30] >= 254).all()
    # GIF has 256 colours.
    assert (
        np.abs(pixels(decoded.image)[:, 34:] - pixels(picture(1))[:, 34:]).max() <= 40
    )


def test_a_transparent_colour_is_white(tmp_path):
    image = picture(1)
    image.paste((1, 2, 3), (0, 0, 160, 240))
    decoded = decode(save(tmp_path, "a.png", image, transparency=(1, 2, 3)))
    assert (pixels(decoded.image)[:, :30] == 255).all()


def test_a_transparent_value_of_16_bits_is_white(tmp_path):
    """Pillow writes no such file: the chunk is added, 33 bytes from the start."""
    values = np.asarray(picture(1).convert("L")).astype(np.uint16) * 256 + 7
    values[:, :160] = 258
    path = save(tmp_path, "a.png", Image.fromarray(values))
    with open(path, "r+b") as file:
        data = file.read()
        chunk = b"tRNS" + (258).to_bytes(2, "big")
        file.seek(33)
        file.write(
            b"\0\0\0\2" + chunk + zlib.crc32(chunk).to_bytes(4, "big") + data[33:]
        )
    image = np.asarray(decode(path).image).astype(int)
    assert (image[:, :160] == 255).all()
    assert np.abs(image[:, 160:] - (values[:, 160:] >> 8).astype(int)).max() <= 1


@pytest.mark.parametrize("suffix", ["gif", "png", "webp", "tiff"])
def test_the_first_frame_is_read(tmp_path, suffix):
    path = save(
        tmp_path,
        f"a.{suffix}",
        picture(1, (96, 64)),
        save_all=True,
        append_images=[picture(2, (96, 64)), picture(3, (96, 64))],
    )
    assert near(decode(path).image, picture(1, (96, 64)), 40)


def test_many_bits_and_other_colours(tmp_path):
    grey = picture(1).convert("L")
    wide = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    assert near(decode(save(tmp_path, "wide.png", wide)).image, grey, 1)
    scale = np.array(grey, np.float32)
    for name, values in (
        ("f.tiff", scale * 1e-3),
        ("i.tiff", (scale * 1000).astype(np.int32)),
    ):
        image = decode(save(tmp_path, name, Image.fromarray(values))).image
        assert np.corrcoef(pixels(image).ravel(), pixels(grey).ravel())[0, 1] > 0.999
    far = decode(
        save(tmp_path, "far.tiff", Image.fromarray((scale - 128) * np.float32(2e36)))
    ).image
    assert np.corrcoef(pixels(far).ravel(), pixels(grey).ravel())[0, 1] > 0.9
    scale[:9] = np.nan
    scale[9:12] = np.inf
    assert decode(save(tmp_path, "nan.tiff", Image.fromarray(scale))).image.mode == "L"
    assert near(
        decode(
            save(tmp_path, "cmyk.jpg", picture(1).convert("CMYK"), quality=95)
        ).image,
        picture(1),
        12,
    )
    assert decode(save(tmp_path, "1.png", picture(1).convert("1"))).image.mode == "L"


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.uint16])
def test_images_of_many_bits_are_converted_in_strips(tmp_path, kind):
    """The first strip has the least value and the last one the most: the scale is that of the whole image."""
    values = np.arange(4000, dtype=kind)[:, None] * np.ones(3000, kind) * kind(16)
    path = save(tmp_path, "a.tiff", Image.fromarray(values), compression="tiff_deflate")
    del values
    tracemalloc.start()
    image = decode(path).image
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 45_000_000  # 12 million pixels: one byte each, twice, and a strip
    wanted = np.linspace(0, 255 if kind != np.uint16 else 3999 * 16 / 257, image.height)
    assert np.abs(np.asarray(image)[:, 0].astype(float) - wanted).max() < 2


@pytest.mark.slow
@pytest.mark.parametrize("size", [(480, 360), (1500, 1200)])
def test_images_in_lab_colours(tmp_path, size):
    from PIL import ImageCms

    profiles = [ImageCms.createProfile(name) for name in ("sRGB", "LAB")]
    shown = Image.merge("RGB", [picture(seed, size).convert("L") for seed in (1, 2, 3)])
    lab = ImageCms.profileToProfile(shown, *profiles, outputMode="LAB")
    path = save(tmp_path, "a.tiff", lab)
    with Image.open(path) as stored:
        assert stored.mode == "LAB"
    assert near(decode(path).image, shown, 12)
    for found, channel in zip(
        decode(path, colour=True).image.split(), shown.split(), strict=True
    ):
        # Some colours of sRGB need more than the 8 bits of a and b.
        assert near(found, channel, 30)


@pytest.mark.slow
def test_large_images_are_reduced(tmp_path):
    large = picture(1, (2400, 1800))
    for name in ("a.jpg", "a.png"):
        decoded = decode(save(tmp_path, name, large))
        assert (decoded.width, decoded.height) == (2400, 1800)
        assert max(decoded.image.size) < 1000
        assert near(decoded.image, large)
    long = decode(save(tmp_path, "long.png", Image.new("L", (20_000, 3))))
    assert long.image.size[1] == 3


def test_files_that_are_no_images(tmp_path):
    data = io.BytesIO()
    picture(1).save(data, "JPEG")
    postscript = (
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
    )
    for name, content, said in (
        ("empty.jpg", b"", "is no image of a known format"),
        ("text.jpg", b"hello", "is no image of a known format"),
        ("script.jpg", postscript, "is no image of a known format"),
        ("cut.jpg", data.getvalue()[:4000], "cannot be decoded: .*truncated"),
        ("head.png", b"\x89PNG\r\n\x1a\n", "cannot be decoded|is no image"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ImageError, match=said):
            decode(str(path))
    with pytest.raises(ImageError, match="cannot be read: No such file"):
        decode(str(tmp_path / "none.jpg"))
    with pytest.raises(ImageError, match=r"cannot be read|regular file"):
        decode(str(tmp_path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_a_pipe_that_replaced_a_file_does_not_stop_the_run(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(ImageError, match="is no regular file"):
        decode(str(tmp_path / "pipe.png"))


@pytest.mark.some_cases
@pytest.mark.parametrize("suffix", ["png", "jpg", "gif", "webp", "tiff", "bmp"])
def test_damaged_files_raise_one_kind_of_error(tmp_path, suffix):
    """Each file is damaged at random places, or cut; the image may still be readable."""
    data, generator = io.BytesIO(), np.random.default_rng(1)
    picture(1, (96, 64)).save(data, "JPEG" if suffix == "jpg" else suffix.upper())
    whole, path = np.frombuffer(data.getvalue(), np.uint8), tmp_path / f"a.{suffix}"
    refused = 0
    with quiet_decoder(MAX_PIXELS):
        for number in range(60):
            damaged = whole.copy()
            places = generator.integers(
                0, min(len(whole), 400 if number % 2 else len(whole)), 8
            )
            damaged[places] = generator.integers(0, 256, 8)
            path.write_bytes(
                damaged[
                    : len(whole) - (number % 3) * generator.integers(0, len(whole))
                ].tobytes()
            )
            with suppress(ImageError):
                refused += 1
                assert decode(str(path), 10_000_000).image.mode == "L"
                refused -= 1
    assert refused > 10


def test_too_many_pixels_are_refused_by_the_header(tmp_path):
    data = io.BytesIO()
    picture(1).save(data, "PNG")
    path = tmp_path / "bomb.png"
    path.write_bytes(with_size(data.getvalue(), 100_000, 100_000))
    with (
        quiet_decoder(MAX_PIXELS),
        pytest.raises(
            ImageError, match=r"more pixels than max_pixels \(--max-pixels\) allows"
        ),
    ):
        decode(str(path))
    path.write_bytes(with_size(data.getvalue(), 13_000, 10_000))
    with (
        quiet_decoder(100_000_000),
        pytest.raises(
            ImageError,
            match=r"has 13,000 x 10,000 pixels, more than the 100,000,000 that max_pixels",
        ),
    ):
        decode(str(path), 100_000_000)


def test_the_limit_of_pillow_is_raised_for_a_run_only():
    before = Image.MAX_IMAGE_PIXELS
    with quiet_decoder(MAX_PIXELS):
        assert before == Image.MAX_IMAGE_PIXELS
    with quiet_decoder(1 << 32):
        assert Image.MAX_IMAGE_PIXELS >= 1 << 31
    assert before == Image.MAX_IMAGE_PIXELS


def test_a_jpeg_of_many_scans_is_refused(tmp_path):
    data = io.BytesIO()
    Image.new("L", (1000, 1000), 128).save(data, "JPEG", progressive=True)
    whole = data.getvalue()
    last = whole[whole.rindex(b"\xff\xda") : -2]
    path = tmp_path / "scans.jpg"
    path.write_bytes(whole)
    assert decode(str(path)).width == 1000
    path.write_bytes(
        whole[:-2] + last * (MOST_SCANNED_PIXELS // 10**6 + 1) + whole[-2:]
    )
    with pytest.raises(
        ImageError, match="scans of 1,000 x 1,000 pixels, too many to decode"
    ):
        decode(str(path))


def test_150_scans_of_140_million_pixels_are_refused(tmp_path):
    """They take 40 s, in a file of 0.6 MB; ten scans of the most pixels are decoded."""
    data = io.BytesIO()
    Image.new("L", (64, 64), 128).save(data, "JPEG", progressive=True)
    whole = bytearray(data.getvalue())
    frame = whole.index(b"\xff\xc2")
    whole[frame + 5 : frame + 9] = struct.pack(">HH", 12_000, 12_000)
    last = bytes(whole[whole.rindex(b"\xff\xda") : -2])
    path = tmp_path / "scans.jpg"
    path.write_bytes(bytes(whole[:-2]) + last * 150 + bytes(whole[-2:]))
    with (
        quiet_decoder(MAX_PIXELS),
        pytest.raises(
            ImageError, match="156 scans of 12,000 x 12,000 pixels, too many"
        ),
    ):
        decode(str(path))
    assert 10 * MAX_PIXELS < MOST_SCANNED_PIXELS


def scan_by_scan(side, scans):
    """Return a JPEG that is not progressive, with scans of one colour each, without data."""
    data = io.BytesIO()
    Image.new("RGB", (16, 16)).save(data, "JPEG", subsampling=0)
    head = bytearray(data.getvalue()[: data.getvalue().index(b"\xff\xda")])
    frame = head.index(b"\xff\xc0")
    head[frame + 5 : frame + 9] = side.to_bytes(2, "big") * 2
    tables = (0, 0x11, 0x11)
    each = [
        bytes([0xFF, 0xDA, 0, 8, 1, 1 + place % 3, tables[place % 3], 0, 63, 0, 0, 0])
        for place in range(scans)
    ]
    return bytes(head) + b"".join(each) + b"\xff\xd9"


def test_a_sequential_jpeg_of_many_scans_is_refused(tmp_path):
    """Its scans cost as much as those of a progressive one, and all of its pixels are held."""
    path = tmp_path / "scans.jpg"
    path.write_bytes(scan_by_scan(1000, 3))
    assert decode(str(path)).width == 1000
    path.write_bytes(scan_by_scan(1000, MOST_SCANNED_PIXELS // 10**6 + 1))
    with pytest.raises(
        ImageError, match="scans of 1,000 x 1,000 pixels, too many to decode"
    ):
        decode(str(path))


@pytest.mark.parametrize(
    "options", [{}, {"subsampling": 2}, {"optimize": True}, {"restart_marker_rows": 1}]
)
@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_markers_behind_a_single_scan_do_not_count(tmp_path, mode, options):
    """A video behind a photograph has the bytes of the marker, too."""
    path = tmp_path / "photo.jpg"
    data = io.BytesIO()
    picture(1).convert(mode).save(data, "JPEG", **options)
    path.write_bytes(data.getvalue() + b"\xff\xda" * (MOST_SCANNED_PIXELS // 10**5))
    assert decode(str(path)).nbytes > 2 * (MOST_SCANNED_PIXELS // 10**5)


@pytest.mark.slow
def test_large_images_are_decoded_one_at_a_time(tmp_path, monkeypatch):
    """In several threads; a JPEG at a part of its size is not large, unless it has several scans."""
    from lshfast.images import decoding

    entered = []

    class Lock:
        def __enter__(self):
            entered.append(True)

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(decoding, "_large", Lock())
    monkeypatch.setattr(decoding, "LARGE_PIXELS", 1_000_000)
    large = picture(1, (1400, 1100))
    for name, options, count in (
        ("a.png", {}, 1), ("a.jpg", {}, 0), ("b.jpg", {"progressive": True}, 1), ("a.webp", {}, 1)
    ):  # fmt: skip
        entered.clear()
        decode(save(tmp_path, name, large, **options))
        assert len(entered) == count, name
    (tmp_path / "scans.jpg").write_bytes(scan_by_scan(1100, 3))
    entered.clear()
    decode(str(tmp_path / "scans.jpg"))
    assert entered


def test_a_decoder_without_memory_refuses_one_file(tmp_path, monkeypatch):
    path = save(tmp_path, "a.png", picture(1))
    monkeypatch.setattr(
        "PIL.PngImagePlugin.PngImageFile.load",
        lambda self: (_ for _ in ()).throw(MemoryError),
    )
    with pytest.raises(ImageError, match="cannot be decoded: out of memory"):
        decode(path)


@pytest.mark.parametrize("error", [MemoryError(), OSError("broken data stream")])
def test_memory_that_is_refused_once(tmp_path, monkeypatch, error):
    """Decoders say the same of a damaged file and of refused memory: the second of them is meant if it passes."""
    path = save(tmp_path, "a.png", picture(1))
    read = decoding._LimitedFile.read
    errors = [error]

    def read_or_fail(self, size=-1):
        if errors:
            raise errors.pop()
        return read(self, size)

    monkeypatch.setattr(decoding._LimitedFile, "read", read_or_fail)
    assert near(decode(path).image, picture(1))
    assert not errors


def chunk(name, data):
    return (
        struct.pack(">I", len(data))
        + name
        + data
        + struct.pack(">I", zlib.crc32(name + data))
    )


def stored(suffix, **options):
    """Return the bytes of a small image in a format."""
    data = io.BytesIO()
    Image.new("L", (64, 64), 128).save(data, suffix, **options)
    return data.getvalue()


def inserted(data, place, parts):
    return data[:place] + parts + data[place:]


def gif_of_blocks(size, count):
    data = stored("GIF")
    return inserted(
        data, data.index(b","), b"!\xfe" + (bytes([size]) + b"a" * size) * count + b"\0"
    )


def png_of_chunks(name, data, place, count):
    whole = stored("PNG")
    return inserted(whole, whole.index(place) - 4, chunk(name, data) * count)


def tiff_of_tags(tags, values=b""):
    """Return a TIFF of tags, types, counts and values or places; `values` begin at 8."""
    entries = b"".join(struct.pack("<HHII", *tag) for tag in sorted(tags))
    head = b"II*\0" + struct.pack("<I", 8 + len(values))
    return head + values + struct.pack("<H", len(tags)) + entries + bytes(4)


def tiff_of_strips(count, big=False):
    word, kind = ("<Q", 16) if big else ("<I", 4)
    places = struct.pack(word, 16) * count + struct.pack(word, 1) * count
    sizes = 16 if big else 8
    tags = {256: 1, 257: count, 258: 8, 259: 1, 262: 1, 277: 1, 278: 1}
    if not big:
        rows = [(tag, 4, 1, value) for tag, value in tags.items()]
        return tiff_of_tags(
            [*rows, (273, kind, count, sizes), (279, kind, count, sizes + 4 * count)],
            places,
        )
    rows = [(tag, 4, 1, value) for tag, value in tags.items()]
    rows += [(273, kind, count, sizes), (279, kind, count, sizes + 8 * count)]
    entries = b"".join(struct.pack("<HHQQ", *tag) for tag in sorted(rows))
    head = b"II+\0" + struct.pack("<HHQ", 8, 0, 16 + len(places))
    return head + places + struct.pack("<Q", len(rows)) + entries + bytes(8)


MANY = {
    "gif blocks": lambda: gif_of_blocks(1, HEADER_READS),
    "gif large blocks": lambda: gif_of_blocks(255, HEADER_READS),
    "png texts": lambda: png_of_chunks(b"tEXt", b"a\0b", b"IDAT", HEADER_READS),
    "png texts behind": lambda: png_of_chunks(b"tEXt", b"a\0b", b"IEND", MOST_READS),
    "png empty data": lambda: png_of_chunks(b"IDAT", b"", b"IDAT", MOST_READS),
    "jpeg comments": lambda: inserted(
        stored("JPEG"), 2, b"\xff\xfe\0\2" * HEADER_READS
    ),
    "jpeg profiles": lambda: inserted(
        stored("JPEG"), 2, b"\xff\xe2\0\x10ICC_PROFILE\0\1\1" * HEADER_READS
    ),
    "tiff strips": lambda: tiff_of_strips(MOST_STRIPS + 1),
    "tiff strips of 64 bits": lambda: tiff_of_strips(MOST_STRIPS + 1, big=True),
}


@pytest.mark.some_cases
@pytest.mark.parametrize("name", MANY)
def test_files_of_many_parts_are_refused(tmp_path, name):
    """Each part takes a step of a decoder, and some are copied again for each further one."""
    path = tmp_path / "a"
    path.write_bytes(MANY[name]())
    with (
        quiet_decoder(MAX_PIXELS),
        pytest.raises(ImageError, match=r"too many|more than the"),
    ):
        decode(str(path))


FEW = {
    "gif blocks": lambda: gif_of_blocks(255, 1000),
    "png texts": lambda: png_of_chunks(b"tEXt", b"a\0b", b"IDAT", 1000),
    "png empty data": lambda: png_of_chunks(b"IDAT", b"", b"IDAT", 10_000),
    "jpeg comments": lambda: inserted(stored("JPEG"), 2, b"\xff\xfe\0\2" * 1000),
    "tiff strips": lambda: tiff_of_strips(5000),
    "tiff strips of 64 bits": lambda: tiff_of_strips(5000, big=True),
    "gif frames": lambda: stored(
        "GIF", save_all=True, append_images=[picture(1, (64, 64))] * 30
    ),
    "tiff pages": lambda: stored(
        "TIFF", save_all=True, append_images=[picture(1, (64, 64))] * 30
    ),
    "webp frames": lambda: stored(
        "WEBP", save_all=True, append_images=[picture(1, (64, 64))] * 30
    ),
}


@pytest.mark.some_cases
@pytest.mark.parametrize("name", FEW)
def test_files_of_some_parts_are_decoded(tmp_path, name):
    path = tmp_path / "a"
    path.write_bytes(FEW[name]())
    with quiet_decoder(MAX_PIXELS):
        assert decode(str(path)).width in (1, 64)


@pytest.mark.slow
def test_tags_in_the_same_place_are_not_read_again_and_again(tmp_path):
    size, path = 100_000, tmp_path / "a.tiff"
    tags = {
        256: 64,
        257: 64,
        258: 8,
        259: 1,
        262: 1,
        273: 8,
        277: 1,
        278: 64,
        279: 4096,
    }
    rows = [(tag, 4, 1, value) for tag, value in tags.items()]
    path.write_bytes(
        tiff_of_tags(
            [*rows, *((40_000 + tag, 7, size, 8) for tag in range(2000))], bytes(size)
        )
    )
    tracemalloc.start()
    with quiet_decoder(MAX_PIXELS), suppress(ImageError):
        decode(str(path))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * size
