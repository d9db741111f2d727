"""Copies among generated images: what they take, and which are found, beside imagehash with a comparison of all pairs.

    python benchmarks/images.py [--n 1000] [--pixels 1000000] [--threads 1] [--seed 1] [--hashes pdq,phash,dhash]

--n JPEG images of --pixels pixels are made: a sixth are pictures of random fields of colour, edges and shapes, and the
others their copies: one at half the size, one as a JPEG of quality 40, one without 1 % at each side, one without 2 % at
the left and the top, and one rotated by 90°. Every picture is in the style of another one, so that there are pictures
that are alike without being copies.

`lshfast` hashes all and removes copies, with and without --orientations. The share of decoding is the time of Pillow
for the same files, without hashes. `imagehash` computes the hashes of whole images with that package, and the same
choice of keepers from the distances of all pairs. A removed image is right if what is kept in its place shows the same
picture: precision is the share of right ones among the removed, and recall the share of copies that were removed for a
right one, by the kind of the copy. With one thread, times are CPU times, which hardly depend on what else runs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from lshfast.images import ImageHashes, dedup, hash_files
from lshfast.images.decoding import decode, quiet_decoder
from lshfast.images.hashing import hash_type

EDITS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "resized": lambda image: image.resize(
        (image.width // 2, image.height // 2), Image.Resampling.LANCZOS
    ),
    "JPEG 40": lambda image: image,
    "crop 1 %": lambda image: image.crop(_box(image, 0.01, 0.01, 0.99, 0.99)),
    "crop 2 %": lambda image: image.crop(_box(image, 0.02, 0.02, 1.0, 1.0)),
    "rotated": lambda image: image.transpose(Image.Transpose.ROTATE_90),
}


def _box(image: Image.Image, *shares: float) -> tuple[int, ...]:
    return tuple(
        round(share * side) for share, side in zip(shares, image.size * 2, strict=True)
    )


def picture(number: int, pixels: int, seed: int) -> Image.Image:
    """Make a picture: coloured fields whose strength falls with their frequency, and shapes. Two have one style."""
    style, own = (
        np.random.default_rng([seed, number // 2]),
        np.random.default_rng([seed, number, 1]),
    )
    ratio = style.uniform(0.6, 1.7)
    width, height = round((pixels * ratio) ** 0.5), round((pixels / ratio) ** 0.5)
    image = Image.new(
        "RGB", (width, height), tuple(style.integers(60, 200, 3).tolist())
    )
    for octave in range(1, 7):
        cells = own.normal(0, 1, (2**octave + 1, 2**octave + 1, 3)) * 90 / octave
        layer = Image.fromarray(np.clip(128 + cells, 0, 255).astype(np.uint8))
        layer = layer.resize((width, height), Image.Resampling.BICUBIC)
        image = Image.blend(image, layer, 0.35)
    draw = ImageDraw.Draw(image)
    for _ in range(int(style.integers(3, 14))):
        x, y = own.uniform(0, width), own.uniform(0, height)
        a, b = own.uniform(0.03, 0.25, 2) * (width, height)
        colour = tuple(own.integers(0, 256, 3).tolist())
        if own.random() < 0.5:
            draw.ellipse((x - a, y - b, x + a, y + b), fill=colour)
        else:
            draw.polygon(
                [(x - a, y), (x, y - b), (x + a, y + b * own.random())], fill=colour
            )
    noise = Image.effect_noise((width, height), 40).convert("RGB")
    return Image.blend(image.filter(ImageFilter.GaussianBlur(1)), noise, 0.08)


@dataclass
class Files:
    """The files, the number of the picture that each shows, and its edit, "" for a picture itself."""

    paths: list[str]
    picture: np.ndarray
    edit: list[str]


def make(folder: str, n: int, pixels: int, seed: int) -> Files:
    files = Files([], np.arange(n) // (len(EDITS) + 1), [])
    for number in range(n):
        base, edit = divmod(number, len(EDITS) + 1)
        if edit == 0:
            image = picture(base, pixels, seed)
        name = ["", *EDITS][edit]
        path = os.path.join(folder, f"{base:06}-{edit}.jpg")
        (EDITS[name](image) if name else image).save(
            path, quality=40 if name == "JPEG 40" else 88
        )
        files.paths.append(path)
        files.edit.append(name)
    return files


def timed(work: Callable[[], object], threads: int = 1) -> tuple[float, object]:
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    result = work()
    return clock() - start, result


def decode_all(paths: Sequence[str]) -> None:
    with quiet_decoder(1 << 30):
        for path in paths:
            decode(path)


def whole_hashes(paths: Sequence[str], kind: str) -> np.ndarray:
    """Compute hashes of whole images as booleans, with imagehash or pdqhash."""
    import imagehash
    import pdqhash

    def one(path: str) -> np.ndarray:
        with Image.open(path) as image:
            if kind == "pdq":
                return np.asarray(
                    pdqhash.compute(np.asarray(image.convert("RGB")))[0], bool
                )
            return np.asarray(getattr(imagehash, kind)(image).hash.ravel(), bool)

    return np.array([one(path) for path in paths])


def brute_force(bits: np.ndarray, order: np.ndarray, radius: int) -> np.ndarray:
    """Return the keeper of each row, from the distances to all rows that were kept before."""
    signs = 1.0 - 2.0 * bits.astype(np.float32)
    keeper, kept = np.arange(len(bits)), np.zeros(0, np.int64)
    for row in order.tolist():
        distances = (bits.shape[1] - signs[kept] @ signs[row]) / 2
        near = np.flatnonzero(distances <= radius)
        if len(near):
            keeper[row] = kept[near[0]]
        else:
            kept = np.append(kept, row)
    return keeper


def table_row(
    name: str, seconds: float, n: int, files: Files, keeper: np.ndarray
) -> str:
    removed = np.flatnonzero(keeper != np.arange(n))
    right = files.picture[keeper[removed]] == files.picture[removed]
    found = np.zeros(n, bool)
    found[removed[right]] = True
    found[keeper[removed[right]]] = True  # the copy may be the one that is kept
    edits = np.array(files.edit)
    shares = " | ".join(f"{found[edits == edit].mean():.3f}" for edit in EDITS)
    precision = right.mean() if len(removed) else float("nan")
    return f"| {name} | {1e3 * seconds / n:.2f} | {precision:.4f} | {shares} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--pixels", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hashes", default="pdq,phash,dhash")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = make(folder, given.n, given.pixels, given.seed)
        decode_all(files.paths[:10])
        decoding, _ = timed(partial(decode_all, files.paths))
        print(
            f"decoding, as lshfast does it, one thread: {1e3 * decoding / given.n:.2f} ms an image\n"
        )
        print(
            "| | ms an image | precision | "
            + " | ".join(EDITS)
            + " |\n|"
            + "---|" * (3 + len(EDITS))
        )
        for kind in given.hashes.split(","):
            radius = hash_type(kind).radius
            for turned in (False, True):
                work = partial(
                    hash_files,
                    files.paths,
                    hash=kind,
                    orientations=turned,
                    threads=given.threads,
                )
                seconds, hashes = timed(work, given.threads)
                assert isinstance(hashes, ImageHashes)
                more, result = timed(
                    partial(dedup, hashes, threads=given.threads), given.threads
                )
                name = f"lshfast {kind}{', orientations' if turned else ''}"
                print(
                    table_row(name, seconds + more, given.n, files, result.keeper),
                    flush=True,
                )
                if given.threads == 1 and not turned:
                    share, compared = decoding / seconds, 1e3 * more / given.n
                    blank = int((~result.compared).sum())
            order = np.lexsort((-hashes.nbytes, -hashes.width * hashes.height))
            seconds, bits = timed(partial(whole_hashes, files.paths, kind))
            more, keeper = timed(partial(brute_force, bits, order, radius))
            other = "pdqhash" if kind == "pdq" else "imagehash"
            print(
                table_row(
                    f"{other} {kind}, whole images",
                    seconds + more,
                    given.n,
                    files,
                    keeper,
                ),
                flush=True,
            )
            if given.threads == 1:
                took = f"comparing takes {compared:.3f} ms an image; {blank} were not compared"
                print(f"<!-- {kind}: {share:.0%} of hashing is decoding; {took} -->")


if __name__ == "__main__":
    main()
