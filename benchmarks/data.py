"""Corpora for the benchmarks, all as JSONL with "id" and "text": folders of texts, licences, and made-up
documents whose near-duplicates are known exactly. All of it streams, so a corpus may be larger than memory.
For indexes, signatures with near-duplicates and their true candidates, and signatures in groups, as arrays.

    python benchmarks/data.py folder DIR OUT.jsonl [--suffix .py ...]
    python benchmarks/data.py licensedb TARBALL OUT.jsonl
    python benchmarks/data.py synthetic --documents N --words W --duplicates F --jaccard J,J,... OUT.jsonl
                                        --truth TRUTH.tsv
    python benchmarks/data.py copies --copies N --others M --words W [--distinct] OUT.jsonl
"""

from __future__ import annotations

import argparse
import gzip
import json
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

try:
    from orjson import loads
except ImportError:
    from json import loads

VOCABULARY = 50_000
# Originals that wait for their near-duplicate: what a stream keeps in memory.
POOL = 1024
Documents = Iterator[tuple[str, str]]  # ids and texts


def iter_jsonl(path: str | Path) -> Documents:
    """Yield id and text, line by line."""
    with open(path, "rb") as lines:
        for line in lines:
            record = loads(line)
            yield record["id"], record["text"]


def read_jsonl(path: str | Path) -> tuple[list[str], list[str]]:
    """Read the ids and the texts of a corpus."""
    ids, texts = [], []
    for key, text in iter_jsonl(path):
        ids.append(key)
        texts.append(text)
    return ids, texts


def write_jsonl(out: Path, documents: Documents) -> int:
    """Write ids and texts and return how many."""
    count = 0
    with open(out, "w", encoding="utf-8", newline="\n") as lines:
        for key, text in documents:
            lines.write(
                json.dumps({"id": key, "text": text}, ensure_ascii=False) + "\n"
            )
            count += 1
    return count


def jsonl_of(
    folder_or_files: str | Path | Iterable[Path],
    out: Path,
    suffixes: Sequence[str] = (),
) -> int:
    """Make a corpus of a folder (with those below it) or of a list of files.

    Files ending in .gz are decompressed, and their suffix is the one before it. Links, empty files and files
    that are not UTF-8 or cannot be read are left out. No suffix means every file.
    """
    if isinstance(folder_or_files, (str, Path)):
        folder_or_files = sorted(Path(folder_or_files).rglob("*"))
    return write_jsonl(out, decoded(raw_files(folder_or_files, tuple(suffixes))))


def raw_files(
    files: Iterable[Path], suffixes: tuple[str, ...]
) -> Iterator[tuple[str, bytes]]:
    for path in files:
        if path.is_symlink() or not path.is_file():
            continue
        if suffixes and not path.name.removesuffix(".gz").endswith(suffixes):
            continue
        try:
            yield (
                str(path),
                gzip.decompress(path.read_bytes())
                if path.suffix == ".gz"
                else path.read_bytes(),
            )
        except (OSError, EOFError, zlib.error):
            continue


def raw_members(tarball: str | Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(tarball) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                yield member.name.removeprefix("./"), content.read()


def decoded(raw: Iterable[tuple[str, bytes]]) -> Documents:
    for key, content in raw:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if text:
            yield key, text


class Planted(NamedTuple):
    """A near-duplicate that was planted: its Jaccard similarity to the original is exactly shared / union."""

    original: str
    copy: str
    shared: int
    union: int


def synthetic(
    n: int,
    words: int,
    duplicates: float,
    jaccard: Sequence[float],
    seed: int = 1,
    size: int = 5,
) -> Iterator[tuple[str, str, Planted | None]]:
    """Make documents some of which are near-duplicates of earlier ones.

    Parameters
    ----------
    n : int
        Documents in all.
    words : int
        Words a document on average, at least 2 * size; lengths are uniform between a half and one and a half
        of it.
    duplicates : float
        Fraction of the documents that are near-duplicates, in [0, .5]: each original has at most one.
    jaccard : sequence of float
        Similarities to plant, in [0, 1], taken in turn; each is met to within one shingle.
    seed : int
        Documents are a function of the arguments alone.
    size : int
        Words a shingle.

    Yields
    ------
    (id, text, Planted or None)
        What was planted is counted on the two sets of word n-grams. Two documents that were not planted
        together share no more than chance gives them.
    """
    if not 0 <= duplicates <= 0.5:
        raise ValueError(f"duplicates must be in [0, .5], not {duplicates}")
    if words < 2 * size:
        raise ValueError(
            f"words must be at least {2 * size} for shingles of {size} words, not {words}"
        )
    if not jaccard or not all(0 <= target <= 1 for target in jaccard):
        raise ValueError(
            f"jaccard must be one or more similarities in [0, 1], not {list(jaccard)}"
        )
    rng = np.random.default_rng(seed)
    draw = zipf(rng)
    waiting: list[tuple[str, list[str]]] = []
    planted = 0
    for number in range(n):
        key = f"doc-{number}"
        if int((number + 1) * duplicates) > planted:
            original, source = waiting.pop(int(rng.integers(len(waiting))))
            copy = near_copy(source, jaccard[planted % len(jaccard)], size, rng)
            planted += 1
            yield key, " ".join(copy), counted(original, source, key, copy, size)
        else:
            document = draw(
                int(rng.integers(words - words // 2, words + words // 2 + 1))
            )
            if len(waiting) == POOL:
                waiting.pop(int(rng.integers(POOL)))
            waiting.append((key, document))
            yield key, " ".join(document), None


def copies(
    n_copies: int, n_other: int, words: int, seed: int = 1, distinct: bool = False
) -> Documents:
    """Spread copies of one text among other texts of the same length.

    ``distinct`` makes the counterpart, in which each copy is a text of its own. The two corpora differ
    in nothing else, so the difference in time is the price of the copies.
    """
    rng = np.random.default_rng(seed)
    draw = zipf(rng)
    total = n_copies + n_other
    text = " ".join(draw(words))
    for number in range(total):
        if (number + 1) * n_copies // total > number * n_copies // total:
            yield f"copy-{number}", " ".join(draw(words)) if distinct else text
        else:
            yield f"other-{number}", " ".join(draw(words))


def zipf(rng: np.random.Generator) -> Callable[[int], list[str]]:
    """Return a function that draws words with the frequencies 1 / (rank + 2.7) of natural text."""
    vocabulary = [spell(rank) for rank in range(VOCABULARY)]
    cumulative = np.cumsum(1 / (np.arange(VOCABULARY) + 2.7))
    cumulative /= cumulative[-1]
    return lambda count: [
        vocabulary[rank] for rank in np.searchsorted(cumulative, rng.random(count))
    ]


def spell(rank: int) -> str:
    """Spell a number in syllables: a different word for each, the short ones first."""
    word = ""
    rank += 1
    while rank:
        rank, syllable = divmod(rank - 1, 85)
        word = "bcdfghjklmnprstvz"[syllable // 5] + "aeiou"[syllable % 5] + word
    return word


def near_copy(
    source: list[str], target: float, size: int, rng: np.random.Generator
) -> list[str]:
    """Replace single words, ``size`` or more apart, until the shingles left give the target similarity.

    A word inside a document is in ``size`` shingles and the word q of its beginning in q + 1, so changing
    d = N (1 - J) / (1 + J) of N shingles takes d // size words inside and one at the beginning.
    """
    shingles = len(source) - size + 1
    inside, rest = divmod(round(shingles * (1 - target) / (1 + target)), size)
    first = rest + size - 1
    free = len(source) - size + 1 - first - (size - 1) * (inside - 1)
    at = sorted(rng.choice(free, inside, replace=False).tolist()) if inside else []
    places = [first + place + (size - 1) * number for number, place in enumerate(at)]
    copy = list(source)
    for place in places + ([rest - 1] if rest else []):
        while copy[place] == source[place]:
            copy[place] = spell(int(rng.integers(VOCABULARY)))
    return copy


def counted(
    original: str, source: list[str], key: str, copy: list[str], size: int
) -> Planted:
    """Count what two documents share, from the sets of their word n-grams."""
    a, b = (
        set(zip(*(words[start:] for start in range(size)), strict=False))
        for words in (source, copy)
    )
    return Planted(original, key, len(a & b), len(a | b))


def write_synthetic(
    out: Path, truth: Path, documents: Iterable[tuple[str, str, Planted | None]]
) -> int:
    """Write a synthetic corpus and the table of its planted pairs."""
    with open(truth, "w", encoding="utf-8", newline="\n") as table:
        table.write("original\tcopy\tshared\tunion\tjaccard\n")

        def stream() -> Documents:
            for key, text, planted in documents:
                if planted:
                    table.write(
                        "\t".join(map(str, planted))
                        + f"\t{planted.shared / planted.union!r}\n"
                    )
                yield key, text

        return write_jsonl(out, stream())


def planted_signatures(n: int, num_perm: int, seed: int = 1) -> np.ndarray:
    """Make n signatures, each tenth of which agrees with an earlier one in a share of slots drawn from .5 to 1.

    The others are random. Slots are uint64 of 2**60 or more, and never those of an empty set.
    """
    rng = np.random.default_rng(seed)
    signatures = rng.integers(2**60, 2**64 - 1, (n, num_perm), dtype=np.uint64)
    copies = np.arange(9, n, 10)
    originals = (rng.random(len(copies)) * copies).astype(np.int64)
    originals -= originals % 10 == 9
    agree = rng.random((len(copies), num_perm)) < rng.uniform(0.5, 1, (len(copies), 1))
    signatures[copies] = np.where(agree, signatures[originals], signatures[copies])
    return signatures


def grouped_signatures(
    shares: np.ndarray, num_perm: int, background: float = 0.01, seed: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make groups of signatures that agree with their group's centre in given shares of their slots.

    Parameters
    ----------
    shares : ndarray of float64, shape (groups, size)
        The probability with which a signature has the centre's value in a slot.
    num_perm : int
    background : float
        The probability with which two signatures of different groups agree in a slot, in [0, 1].
    seed : int

    Returns
    -------
    signatures : ndarray of uint64, shape (groups * size, num_perm)
        In random order. Slots are 2**60 or more, and never those of an empty set.
    places : ndarray of int64, shape (groups, size)
        Where each of them is.
    centres : ndarray of uint64, shape (groups, num_perm)
    """
    rng = np.random.default_rng(seed)

    def draw(count: int, values: np.ndarray | None = None) -> np.ndarray:
        if values is None:
            return rng.integers(2**60, 2**64 - 1, (count, num_perm), dtype=np.uint64)
        return np.take_along_axis(
            values, rng.integers(0, len(values), (count, num_perm)), 0
        )

    values = draw(round(1 / background)) if background else None
    centres, signatures = draw(len(shares), values), draw(shares.size, values)
    places = rng.permutation(shares.size).reshape(shares.shape)
    for own, chosen, centre in zip(places, shares, centres, strict=True):
        signatures[own] = np.where(
            rng.random((len(own), num_perm)) < chosen[:, None], centre, signatures[own]
        )
    return signatures, places, centres


def nth_agreements(signatures: np.ndarray, queries: np.ndarray, nth: int) -> np.ndarray:
    """Return for each query how many slots it shares with the nth most similar signature, by looking up every slot."""
    columns, wanted = np.ascontiguousarray(signatures.T), queries.T
    orders = np.argsort(columns, axis=1).astype(np.int32)
    bounds = []
    for slots, order, own in zip(columns, orders, wanted, strict=True):
        ordered = slots[order]
        bounds.append(
            (np.searchsorted(ordered, own), np.searchsorted(ordered, own, side="right"))
        )
    found = []
    for query in range(len(queries)):
        same = [
            order[low[query] : high[query]]
            for order, (low, high) in zip(orders, bounds, strict=True)
        ]
        agreements = np.bincount(np.concatenate(same), minlength=len(signatures))
        found.append(np.partition(agreements, -nth)[-nth])
    return np.array(found)


def band_matches(
    signatures: np.ndarray, queries: np.ndarray, bands: int, rows: int
) -> np.ndarray:
    """Return query * n + row, ascending, for all rows that equal that query's in all slots of some band."""
    codes = [np.empty(0, np.int64)]
    for first in range(0, bands * rows, rows):
        band = signatures[:, first : first + rows]
        order = np.argsort(band[:, 0])
        slots, wanted = band[order, 0], band[queries, 0]
        bounds = (
            np.searchsorted(slots, wanted),
            np.searchsorted(slots, wanted, side="right"),
        )
        for query, low, high in zip(queries, *bounds, strict=True):
            same = order[low:high]
            codes.append(
                query * len(signatures)
                + same[np.all(band[same] == band[query], axis=1)]
            )
    return np.unique(np.concatenate(codes))


def numbers(text: str) -> list[float]:
    """Read a list of numbers with commas between them."""
    return [float(part) for part in text.split(",")]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make a corpus for the benchmarks.")
    commands = parser.add_subparsers(dest="command", required=True)
    folder = commands.add_parser(
        "folder", help="the texts of a folder and of those below it"
    )
    folder.add_argument("directory", type=Path)
    folder.add_argument(
        "--suffix",
        nargs="+",
        default=[],
        help="only files that end so (.gz not counted)",
    )
    licences = commands.add_parser(
        "licensedb", help="the texts of a tar file of licences"
    )
    licences.add_argument("tarball", type=Path)
    made = commands.add_parser(
        "synthetic", help="made-up documents with near-duplicates known exactly"
    )
    made.add_argument("--documents", type=int, required=True)
    made.add_argument(
        "--words", type=int, default=300, help="words a document, on average"
    )
    made.add_argument(
        "--duplicates",
        type=float,
        default=0.1,
        help="fraction of near-duplicates, to .5",
    )
    made.add_argument(
        "--jaccard", type=numbers, default=[0.7, 0.8, 0.9], help="to plant, as .7,.8,.9"
    )
    made.add_argument("--size", type=int, default=5, help="words a shingle")
    made.add_argument(
        "--truth", type=Path, required=True, help="table of the planted pairs (TSV)"
    )
    same = commands.add_parser("copies", help="many copies of one text among others")
    same.add_argument("--copies", type=int, required=True)
    same.add_argument("--others", type=int, required=True)
    same.add_argument("--words", type=int, default=300)
    same.add_argument(
        "--distinct",
        action="store_true",
        help="the counterpart: as many texts, all different",
    )
    for command in (made, same):
        command.add_argument("--seed", type=int, default=1)
    for command in (folder, licences, made, same):
        command.add_argument("out", type=Path)
    a = parser.parse_args(argv)
    if a.command == "folder":
        count = jsonl_of(a.directory, a.out, a.suffix)
    elif a.command == "licensedb":
        count = write_jsonl(a.out, decoded(raw_members(a.tarball)))
    elif a.command == "synthetic":
        documents = synthetic(
            a.documents, a.words, a.duplicates, a.jaccard, a.seed, a.size
        )
        count = write_synthetic(a.out, a.truth, documents)
    else:
        count = write_jsonl(
            a.out, copies(a.copies, a.others, a.words, a.seed, a.distinct)
        )
    print(f"{a.out}: {count:,} texts, {a.out.stat().st_size / 1e6:,.1f} MB")


if __name__ == "__main__":
    main()
