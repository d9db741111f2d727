"""Signature files of sourmash: JSON (.sig, also .gz), and .zip collections of these.

A file is a list of signatures, each with sketches for several k. Only sketches of DNA with one k
are read. What is in a file is not trusted: sizes are limited before anything is parsed, and values
are checked.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from lshfast._common.atomic_files import atomic_file
from lshfast._common.checks import check_bytes, check_int
from lshfast._common.errors import FormatError
from lshfast._common.types import PathLike, UInt64Array
from lshfast._common.visible import printable
from lshfast.genomes.sketches import (
    MAX_UNPACKED,
    MOST_BOTTOM,
    MOST_HASH,
    MOST_SCALED,
    KmerSketches,
    Sampling,
    distinct_numbers,
    most_hash,
    put_together,
    sketches_of,
)
from lshfast.kernels.kmers import MOST_LETTERS

# The most bytes of JSON that are parsed at a time; they take some ten times as much memory.
MAX_SIGNATURE = 1 << 28

# The most characters of a name, and digits of a number that is a string.
MOST_NAME = 1 << 12
MOST_DIGITS = 20

CLASS = "sourmash_signature"
HASH_FUNCTION = "0.murmur64"
SEED = 42

# What early versions wrote as the number of smallest hashes of a scaled sketch: -1, also as an
# unsigned number.
NO_NUMBER = (2**32 - 1, 2**64 - 1)


def read_signatures(
    path: PathLike,
    *,
    k: int = 31,
    max_signature: int | str = MAX_SIGNATURE,
    max_unpacked: int | str = MAX_UNPACKED,
) -> KmerSketches:
    """Read the DNA sketches of sourmash with this k from a file.

    Parameters
    ----------
    path : path
        A signature file (.sig, also compressed by gzip), or a .zip collection; the first bytes tell
        which. What early versions wrote is read, too, such as a number of hashes of -1 (4294967295)
        in scaled sketches.
    k : int, default 31
        In 1..64. Sketches with another k, of proteins and others are left out.
    max_signature : int or str, default 256 MB
        The most bytes of JSON, also as a str like "1G": of a signature file after it is unpacked,
        or of each file in a collection. Parsing takes about ten times as much memory.
    max_unpacked : int or str, default 16 GB
        The most bytes of JSON in all files of a collection.

    Returns
    -------
    KmerSketches
        Scaled sketches with the greatest `scaled` of all, or sketches of the smallest hashes, which
        must have the same number (`bottom`). Abundances are left out. A sketch has the name of its
        signature, or else the name of the file that was sketched, or the MD5 sum of the sketch.

    Raises
    ------
    FormatError
        If the file is damaged, too large, no signature file, or has no DNA sketches with this k; it
        names the file.
    OSError
        If it cannot be read.

    See Also
    --------
    lshfast.genomes.write_signatures : Write sketches for sourmash.
    lshfast.genomes.sketch_files : Sketch the genomes of files.

    Examples
    --------
    >>> import os, tempfile
    >>> from lshfast import genomes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two.sig")
    ...     genomes.write_signatures(
    ...         path, genomes.sketch(["GATTACA" * 9, "ACGT" * 9], k=21, scaled=1)
    ...     )
    ...     found = genomes.read_signatures(path, k=21)
    >>> found.names, found.sets.counts
    (['0', '1'], array([7, 2]))
    """
    k = check_int("k", k, 1, MOST_LETTERS)
    most = check_bytes("max_signature", max_signature)
    name = printable(os.fspath(path))
    sketches: list[KmerSketches] = []
    for where, data in _documents(
        path, name, most, check_bytes("max_unpacked", max_unpacked)
    ):
        sketches += _sketches_in(_parsed(data, where), where, k)
    if not sketches:
        raise FormatError(f"{name}: has no DNA sketches with k={k}")
    try:
        return put_together(sketches)
    except ValueError as error:
        raise FormatError(f"{name}: {error}") from None


def _documents(
    path: PathLike, name: str, most: int, most_in_all: int
) -> Iterator[tuple[str, bytes]]:
    """Yield the JSON in a file, and where it is."""
    remaining = most_in_all
    with open(path, "rb") as file:
        head = file.read(4)
        file.seek(0)
        if head[:2] != b"PK":
            yield name, _unpacked(file, name, most)
            return
        try:
            with zipfile.ZipFile(file) as archive:
                for entry in archive.infolist():
                    if entry.filename.endswith((".sig", ".sig.gz", ".json")):
                        where = f"{name}: {printable(entry.filename)}"
                        if entry.flag_bits & 1 or entry.compress_type not in (
                            zipfile.ZIP_STORED,
                            zipfile.ZIP_DEFLATED,
                        ):
                            raise FormatError(
                                f"{where}: is encrypted, or compressed by another method than "
                                "deflate"
                            )
                        with archive.open(entry) as stream:
                            data = _unpacked(
                                io.BytesIO(_read(stream, where, most)), where, most
                            )
                        remaining -= len(data)
                        if remaining < 0:
                            limit = (
                                f"{most_in_all:,} bytes; max_unpacked (--max-unpacked) raises "
                                "this limit"
                            )
                            raise FormatError(f"{name}: unpacks to more than {limit}")
                        yield where, data
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            EOFError,
            zlib.error,
            UnicodeError,
        ) as error:
            raise FormatError(f"{name}: damaged zip file: {error}") from error
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise FormatError(
                f"{name}: damaged zip file: a place in it is negative"
            ) from error


def _unpacked(file: Any, where: str, most: int) -> bytes:
    """Return the content of a file that may be compressed by gzip."""
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if not packed:
        return _read(file, where, most)
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            return _read(stream, where, most)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(f"{where}: damaged or cut off gzip data: {error}") from error


def _read(stream: Any, where: str, most: int) -> bytes:
    data = bytes(stream.read(most + 1))
    if len(data) > most:
        raise FormatError(
            f"{where}: unpacks to more than {most:,} bytes; max_signature (--max-signature) "
            "raises this limit"
        )
    return data


def _parsed(data: bytes, where: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"{where}: not a signature file of sourmash: {error}"
        ) from error


def _sketches_in(document: Any, where: str, k: int) -> Iterator[KmerSketches]:
    """Yield the sketches of a parsed file, a list of signatures or one signature."""
    single = isinstance(document, dict) and "signatures" in document
    for number, signature in enumerate(
        [document] if single else _list(document, where, "a signature file")
    ):
        place = f"{where}: signature {number + 1}"
        if not isinstance(signature, dict) or signature.get("class", CLASS) != CLASS:
            raise FormatError(
                f"{place}: not a signature of sourmash: its class must be {CLASS!r}"
            )
        for sketch in _list(signature.get("signatures"), place, "signatures"):
            if not isinstance(sketch, dict):
                raise FormatError(f"{place}: a sketch must be an object")
            if (
                str(sketch.get("molecule") or "DNA").lower() != "dna"
                or _whole(sketch, "ksize", place) != k
            ):
                continue
            seed = _whole(sketch, "seed", place, SEED)
            if (
                signature.get("hash_function") or HASH_FUNCTION
            ) != HASH_FUNCTION or seed != SEED:
                raise FormatError(
                    f"{place}: the hash function must be {HASH_FUNCTION} with the seed {SEED}"
                )
            yield _sketch_of(sketch, k, _name(signature, sketch, place), place)


def _list(value: Any, place: str, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise FormatError(f"{place}: {what} must be a list")
    return value


def _name(signature: dict[str, Any], sketch: dict[str, Any], place: str) -> str:
    for value in (
        signature.get("name"),
        signature.get("filename"),
        sketch.get("md5sum"),
    ):
        if value:
            if not isinstance(value, str) or len(value) > MOST_NAME:
                raise FormatError(
                    f"{place}: a name must be a string of at most {MOST_NAME} characters"
                )
            return value.encode("utf-8", "backslashreplace").decode()
    return place


def _sketch_of(sketch: dict[str, Any], k: int, name: str, place: str) -> KmerSketches:
    most = _whole(sketch, "max_hash", place)
    bottom = 0 if sketch.get("num") in (-1, "-1") else _whole(sketch, "num", place)
    if bottom in NO_NUMBER:
        bottom = 0
    if (bottom == 0) == (most == 0) or bottom > MOST_BOTTOM:
        raise FormatError(
            f"{place}: either num, in 1..{MOST_BOTTOM}, or max_hash must be above 0, not "
            f"num={bottom} and "
            f"max_hash={most}"
        )
    scaled = 0 if bottom else max(1, round(MOST_HASH / most))
    if scaled > MOST_SCALED:
        raise FormatError(f"{place}: scaled must be in 1..{MOST_SCALED}, not {scaled}")
    values = _list(sketch.get("mins"), place, "mins")
    hashes = _hashes(values, place)
    limit = MOST_HASH if bottom else max(most, most_hash(scaled))
    if len(hashes) and int(hashes[-1]) > limit:
        raise FormatError(f"{place}: a hash must be at most {limit}, not {hashes[-1]}")
    if bottom and len(hashes) > bottom:
        raise FormatError(
            f"{place}: must have at most {bottom} hashes (num), not {len(hashes)}"
        )
    return KmerSketches([name], sketches_of([hashes]), Sampling(k, scaled, bottom))


def _whole(sketch: dict[str, Any], field: str, place: str, default: int = 0) -> int:
    """Return a field with a whole number, which early versions wrote as string or float."""
    value = sketch.get(field)
    if value is None:
        return default
    if (
        isinstance(value, str)
        and value.isascii()
        and value.isdigit()
        and len(value) <= MOST_DIGITS
    ):
        value = int(value)
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value <= MOST_HASH:
        raise FormatError(f"{place}: {field} must be a number in 0..2**64 - 1")
    return value


def _hashes(values: list[Any], place: str) -> UInt64Array:
    """Return hashes ascending, each once."""
    if not all(type(value) is int for value in values):
        raise FormatError(f"{place}: mins must be whole numbers")
    if values and not 0 <= min(values) <= max(values) <= MOST_HASH:
        raise FormatError(f"{place}: mins must be in 0..2**64 - 1")
    return distinct_numbers(np.array(values, np.uint64))


def write_signatures(
    path: PathLike, sketches: KmerSketches, *, overwrite: bool = False
) -> None:
    """Write sketches as a signature file that sourmash reads.

    Parameters
    ----------
    path : path
        .sig, or .sig.gz for compression by gzip.
    sketches : KmerSketches
    overwrite : bool, default False
        Whether an existing file is replaced.

    Raises
    ------
    ValueError
        If the path has another suffix.
    OSError
        If the file exists, or cannot be written; then there is no file of that name, or the one
        that was there.

    See Also
    --------
    lshfast.genomes.read_signatures : Read sketches of sourmash.

    Examples
    --------
    >>> import os, tempfile
    >>> from lshfast import genomes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "one.sig")
    ...     genomes.write_signatures(
    ...         path, genomes.sketch(["ACGTT"], names=["short"], k=5, scaled=1)
    ...     )
    ...     with open(path) as file:
    ...         print(file.read()[:90])
    [{"class":"sourmash_signature","email":"","hash_function":"0.murmur64","filename":"short",
    """
    check_signature_path(path)
    with atomic_file(path, overwrite) as file:
        if os.fspath(path).lower().endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                _write(packed, sketches)
        else:
            _write(file, sketches)


def is_signature_path(path: PathLike) -> bool:
    """Return whether a file is read as signatures, by its name."""
    return os.fspath(path).lower().endswith((".sig", ".sig.gz", ".sig.zip", ".zip"))


def check_signature_path(path: PathLike) -> None:
    """Raise ValueError unless signatures can be written to a file with this name."""
    if not os.fspath(path).lower().endswith((".sig", ".sig.gz")):
        raise ValueError(
            f"{printable(os.fspath(path))}: sketches are written as .sig or .sig.gz"
        )


def _write(file: Any, sketches: KmerSketches) -> None:
    sampling = sketches.sampling
    file.write(b"[")
    for row, name in enumerate(sketches.names):
        hashes = sketches.sets[row]
        document = {
            "class": CLASS,
            "email": "",
            "hash_function": HASH_FUNCTION,
            "filename": name,
            "name": name,
            "license": "CC0",
            "signatures": [
                {
                    "num": sampling.bottom,
                    "ksize": sampling.k,
                    "seed": SEED,
                    "max_hash": 0 if sampling.bottom else sampling.most,
                    "mins": hashes.tolist(),
                    "md5sum": _md5(sampling.k, hashes),
                    "molecule": "DNA",
                }
            ],
            "version": 0.4,
        }
        file.write(b"," if row else b"")
        file.write(json.dumps(document, separators=(",", ":")).encode())
    file.write(b"]")


def _md5(k: int, hashes: UInt64Array) -> str:
    """Return the sum by which sourmash names a sketch: of k and its hashes as decimal digits."""
    digest = hashlib.md5(str(k).encode(), usedforsecurity=False)
    digest.update("".join(map(str, hashes.tolist())).encode())
    return digest.hexdigest()
