"""MinHashLSHBloom: whether a similar set was inserted before, by a Bloom filter for each band.

A folder holds one file, "bands.lshbloom", which is mapped into memory. Numbers are little-endian.

    8 bytes      b"lshbloom"
    uint32 x 6   format (1), num_perm, b, r, hashes of a key, bytes of a slot (4, 8, 16; 0 before
                 the first)
    uint64 x 3   bits of a filter, seed, whether the seed is known (0, 1)
    8 bytes      scheme, padded with zeros
    8 bytes      digest of given permutations; zeros for those drawn from the seed
    b filters    each rounded up to whole bytes

`Bands.keys` computes the 64-bit key of a band. The bits of a key are (x + i y) mod bits for i in
0..hashes - 1, where x is the mix of the key, and y is the mix of x, made odd.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import threading
import warnings
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.atomic_files import atomic_file
from lshfast._common.checks import check_number
from lshfast._common.errors import FormatError
from lshfast._common.types import UInt64Array
from lshfast.datasketch.lsh_parameters import (
    bands_and_rows,
    check_num_perm,
    ranges_of,
)
from lshfast.datasketch.minhash import check_int, check_least
from lshfast.datasketch.slots import (
    PAIRS,
    Form,
    SketchReader,
    check_version,
    rows_of,
    with_attributes,
)
from lshfast.kernels.bands import filters_add, filters_hold

MAGIC = b"lshbloom"
FORMAT = 1
NAME = "bands.lshbloom"
DTYPES: dict[int, np.dtype[Any]] = {
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
    16: PAIRS,
}
HEADER = struct.Struct("<8s6I3Q8s8s")


class FilterHeader(NamedTuple):
    """The fields of a file after its format."""

    num_perm: int
    bands: int
    rows: int
    hashes: int
    width: int
    bits: int
    seed: int = 0
    has_seed: bool = False
    scheme: bytes = b""
    permutations: bytes = b""

    def pack(self) -> bytes:
        """Return the header of a file."""
        return HEADER.pack(MAGIC, FORMAT, *self)

    @classmethod
    def unpack(cls, data: bytes, place: str | None, kind: str) -> FilterHeader:
        """Return the header of a file; FormatError names the place and the class that wrote it."""
        if len(data) < HEADER.size or data[: len(MAGIC)] != MAGIC:
            raise FormatError(f"{place}: is no file of a {kind}")
        _, version, *fields = HEADER.unpack_from(data)
        if version != FORMAT:
            raise FormatError(f"{place}: is of format {version}, not {FORMAT}")
        return cls(*fields)


class MinHashLSHBloom:
    """Report whether a similar set was inserted before, with a few bytes per set.

    Each band has a Bloom filter of the keys of its buckets (LSHBloom, Khan et al. 2024). A query
    reports a set if it shares a bucket with an inserted set. False positives have the probability
    `fp` in each band after n insertions. Sets cannot be removed, and a query does not return keys.

    Parameters
    ----------
    threshold, num_perm, weights, params
        As for `MinHashLSH`.
    n : int
        The expected number of sets, at least 1. Required, like `fp`.
    fp : float
        The false positive rate of each band's filter, in (0, 1).
    save_dir : path, optional
        The folder of the filters, created if necessary; existing filters in it are opened. Without
        it the filters are in memory, and a RuntimeWarning is given. The file format is the
        library's own: datasketch's files cannot be read.

    Attributes
    ----------
    h, b, r : int
        num_perm, bands, and slots per band.
    bits, hashes : int
        The bits of a band's filter, and the number of bits that a key sets.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or the filters in the folder were created with other
        arguments.
    FormatError
        If the file in the folder is damaged, or the folder contains filters of datasketch.

    See Also
    --------
    lshfast.datasketch.MinHashLSH : Find similar sketches by bands.
    lshfast.join.ItemFilter : Tell which items of a stream are certainly new.

    Notes
    -----
    No further package is required. Several threads may query while one thread inserts. Empty sets
    are similar to each other. The system writes insertions to the disk at some time, `sync` writes
    them immediately. A folder may be open in several objects and processes, which find each other's
    insertions. Only one of them may insert at a time, because there is no lock between processes.
    After `close`, `insert`, `query` and `sync` raise ValueError.

    Examples
    --------
    >>> from lshfast.datasketch import MinHash, MinHashLSHBloom
    >>> import tempfile
    >>> a, b = MinHash(), MinHash()
    >>> a.update_batch([str(token).encode() for token in range(100)])
    >>> b.update_batch([str(token).encode() for token in range(2, 100)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     seen = MinHashLSHBloom(threshold=0.5, n=1000, fp=0.001, save_dir=folder)
    ...     seen.query(b)
    ...     seen.insert(a)
    ...     seen.query(b)
    ...     seen.close()
    False
    True
    """

    h: int
    b: int
    r: int
    bits: int
    hashes: int
    save_dir: str | None

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        n: int | None = None,
        fp: float | None = None,
        save_dir: str | os.PathLike[str] | None = None,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
    ) -> None:
        self.h = check_num_perm(num_perm)
        self.b, self.r = bands_and_rows(threshold, num_perm, weights, params)
        self.bits, self.hashes = size_of(n, fp, "n")
        self.save_dir = None if save_dir is None else os.fspath(save_dir)
        if self.save_dir is None:
            warnings.warn(
                "without save_dir, this index is in memory only",
                RuntimeWarning,
                stacklevel=2,
            )
        self._make()

    def _make(self) -> None:
        self._lock = threading.Lock()
        self._sketches = SketchReader(self.h)
        self._map: mmap.mmap | None = None
        self._closed = False
        size = self.b * -(-self.bits // 8)
        if self.save_dir is None:
            self._filters = np.zeros((self.b, size // self.b), np.uint8)
            return
        os.makedirs(self.save_dir, exist_ok=True)
        path = os.path.join(self.save_dir, NAME)
        if not os.path.exists(path) and os.path.exists(
            os.path.join(self.save_dir, "band-0.bf")
        ):
            raise FormatError(
                f"{self.save_dir}: holds filters of datasketch, which are not read: insert the "
                "sets anew"
            )
        with open(path, "r+b" if os.path.exists(path) else "x+b") as file:
            if os.fstat(file.fileno()).st_size == 0:
                file.truncate(HEADER.size + size)
                file.write(self._header())
                file.flush()
            self._read_header(file.read(HEADER.size) if file.seek(0) == 0 else b"")
            if os.fstat(file.fileno()).st_size != HEADER.size + size:
                raise FormatError(f"{path}: must be of {HEADER.size + size} bytes")
            self._map = mmap.mmap(file.fileno(), 0)
        self._filters = np.frombuffer(self._map, np.uint8, size, HEADER.size).reshape(
            self.b, -1
        )

    def _header(self) -> bytes:
        header = FilterHeader(self.h, self.b, self.r, self.hashes, 0, self.bits)
        form = self._sketches.form
        if form is not None:
            header = header._replace(
                width=form.width,
                seed=form.seed or 0,
                has_seed=form.seed is not None,
                scheme=(form.scheme or "").encode(),
                permutations=form.permutations or b"",
            )
        return header.pack()

    def _read_header(self, data: bytes) -> None:
        path = "the pickle"
        if self.save_dir is not None:
            path = os.path.join(self.save_dir, NAME)
        header = FilterHeader.unpack(data, path, "MinHashLSHBloom")
        check_same(
            path,
            ("num_perm", self.h, header.num_perm),
            ("b", self.b, header.bands),
            ("r", self.r, header.rows),
            ("bits of a filter, by n and fp", self.bits, header.bits),
            ("hashes of a key, by fp", self.hashes, header.hashes),
        )
        scheme = header.scheme.rstrip(b"\0")
        are_valid = header.width in (0, *DTYPES) and header.has_seed <= 1
        if not are_valid or (header.width and not scheme.isascii()):
            raise FormatError(f"{path}: its header is damaged")
        if header.width:
            self._sketches.form = Form(
                scheme.decode() or None,
                header.seed if header.has_seed else None,
                DTYPES[header.width],
                header.permutations if any(header.permutations) else None,
            )

    @property
    def hashranges(self) -> list[tuple[int, int]]:
        """The first slot of each band, and the slot after its last."""
        return ranges_of(self.b, self.r)

    @property
    def hashtables(self) -> list[BloomTable]:
        """The filters of the b bands, which share the memory or the file of this object."""
        shape = self.r, self.bits, self.hashes
        return [
            BloomTable._of(self._filters[band : band + 1], *shape, band)
            for band in range(self.b)
        ]

    def _open_filters(self) -> npt.NDArray[np.uint8]:
        """Return the filters; read the form of sketches first if another object set it."""
        if self._closed:
            raise ValueError("the filter is closed")
        if self._map is not None and self._sketches.form is None:
            self._read_header(self._map[: HEADER.size])
        return self._filters

    def insert(self, minhash: Any) -> None:
        """Insert a sketch.

        Parameters
        ----------
        minhash : MinHash, LeanMinHash or WeightedMinHash
            A sketch with num_perm slots.

        Raises
        ------
        TypeError, ValueError
            If it is not a sketch, has another number of slots, or cannot be compared with the
            sketches inserted before, here or by another object or process that has the folder open;
            also if the filter is closed.
        """
        with self._lock:
            filters = self._open_filters()
            row, form = self._sketches.read(minhash)
            if self._sketches.form is None:
                self._sketches.form = form
                if self._map is not None:
                    self._map[: HEADER.size] = self._header()
            filters_add(filters, row, self.r, self.bits, self.hashes)

    def query(self, minhash: Any) -> bool:
        """Return whether a similar set was probably inserted.

        Parameters
        ----------
        minhash : MinHash, LeanMinHash or WeightedMinHash
            A sketch with num_perm slots.

        Returns
        -------
        bool
            True if the sketch shares a band with an inserted sketch. Otherwise True with a
            probability of at most about ``b * fp``, until n sets are inserted.

        Raises
        ------
        TypeError, ValueError
            If it is not a sketch, has another number of slots, or cannot be compared with the
            inserted sketches; also if the filter is closed.
        """
        with self._lock:
            filters = self._open_filters()
        return filters_hold(
            filters, self._sketches.row(minhash), self.r, self.bits, self.hashes
        )

    def sync(self) -> None:
        """Write the filters to the disk; without a folder, give a RuntimeWarning.

        Raises
        ------
        ValueError
            If the filter is closed.
        """
        with self._lock:
            self._open_filters()
            if self._map is not None:
                self._map.flush()
        if self.save_dir is None:
            warnings.warn(
                "an index in memory is not saved: give it a save_dir",
                RuntimeWarning,
                stacklevel=2,
            )

    def close(self) -> None:
        """Write the filters to the disk and close the file; closing again has no effect."""
        with self._lock:
            self._closed = True
            if self._map is not None:
                self._map.flush()
                self._filters = np.zeros((self.b, 0), np.uint8)
                # `hashtables` or a query refers to it: closed when they are deleted.
                with suppress(BufferError):
                    self._map.close()
                self._map = None

    def __repr__(self) -> str:
        place = "in memory" if self.save_dir is None else f"save_dir={self.save_dir!r}"
        closed = ", closed" if self._closed else ""
        return f"{type(self).__name__}({place}, num_perm={self.h}, params={self.b, self.r}{closed})"

    def __getstate__(self) -> dict[str, Any]:
        state = {
            "version": 1,
            "shape": (self.h, self.b, self.r, self.bits, self.hashes),
            "save_dir": self.save_dir,
            "header": self._header(),
            "filters": self._filters.tobytes() if self.save_dir is None else b"",
        }
        return with_attributes(self, PARTS, state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_version(state, "MinHashLSHBloom", 1)
        self.h, self.b, self.r, self.bits, self.hashes = state["shape"]
        self.save_dir = state["save_dir"]
        self._make()
        if self.save_dir is None:
            self._read_header(state["header"])
            self._filters = (
                np.frombuffer(state["filters"], np.uint8).reshape(self.b, -1).copy()
            )
        vars(self).update(state.get("attributes", {}))


# The attributes of an index. All others were set by the user, and are pickled with it.
PARTS = frozenset(("h", "b", "r", "bits", "hashes", "save_dir")) | {
    "_lock",
    "_sketches",
    "_map",
    "_closed",
    "_filters",
}


class BloomTable:
    """A Bloom filter of bands of sketches, like ``datasketch.lsh_bloom.BloomTable``.

    Parameters
    ----------
    item_count : int
        The expected number of bands, at least 1.
    fp : float
        The false positive rate after `item_count` insertions, in (0, 1).
    band_size : int
        Hash values of a band, at least 1.
    fname : path, optional
        The file that `sync` writes. If it exists, its filter is read first. The format is the
        library's own.

    Attributes
    ----------
    r : int
        band_size.
    bits, hashes : int
        The bits of the filter, and the number of bits that a band sets.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range, or the filter in the file has other
        arguments.
    FormatError
        If the file does not contain a filter.

    Examples
    --------
    >>> from lshfast.datasketch.lsh_bloom import BloomTable
    >>> table = BloomTable(10, 0.01, band_size=3)
    >>> table.insert([2, 3, 31])
    >>> table.query([2, 3, 31]), table.query([2, 3, 30])
    (True, False)
    """

    r: int
    bits: int
    hashes: int
    fname: str | None

    def __init__(
        self,
        item_count: int,
        fp: float,
        band_size: int,
        fname: str | os.PathLike[str] | None = None,
    ) -> None:
        self.r = check_least(band_size, "band_size")
        self.bits, self.hashes = size_of(item_count, fp, "item_count")
        self.fname = None if fname is None else os.fspath(fname)
        self._first = 0
        self._filter = np.zeros((1, -(-self.bits // 8)), np.uint8)
        if self.fname is not None and os.path.exists(self.fname):
            with open(self.fname, "rb") as file:
                self._read(file.read())

    @classmethod
    def _of(
        cls, filters: npt.NDArray[np.uint8], r: int, bits: int, hashes: int, band: int
    ) -> BloomTable:
        """Return a table that refers to the filter of a band, uint8 (1, bytes), in place."""
        table = cls.__new__(cls)
        table.r = r
        table.bits = bits
        table.hashes = hashes
        table.fname = None
        table._filter = filters
        table._first = band
        return table

    def _header(self) -> bytes:
        return FilterHeader(self.r, 1, self.r, self.hashes, 0, self.bits).pack()

    def _read(self, data: bytes) -> None:
        header = FilterHeader.unpack(data, self.fname, "BloomTable")
        check_same(
            self.fname,
            ("band_size", self.r, header.rows),
            ("bits of a filter, by item_count and fp", self.bits, header.bits),
            ("hashes of a band, by fp", self.hashes, header.hashes),
        )
        if data[: HEADER.size] != self._header():
            raise FormatError(f"{self.fname}: its header is damaged")
        if len(data) != HEADER.size + self._filter.size:
            raise FormatError(
                f"{self.fname}: must be of {HEADER.size + self._filter.size} bytes, not {len(data)}"
            )
        self._filter = (
            np.frombuffer(data, np.uint8, offset=HEADER.size).reshape(1, -1).copy()
        )

    def _slots(self, hashvalues: Any) -> UInt64Array:
        values = np.asarray(hashvalues)
        self.assert_size(values)
        if values.ndim == 2:
            return rows_of(values.astype(PAIRS), Form(None, None, PAIRS))
        return values.astype(np.uint64)

    def assert_size(self, hashvalues: Any) -> None:
        """Raise RuntimeError unless there are as many hash values as a band has."""
        if len(hashvalues) != self.r:
            raise RuntimeError(
                f"a band has {self.r} hash values, not {len(hashvalues)}"
            )

    def insert(self, hashvalues: Any) -> None:
        """Insert the hash values of a band.

        They are array_like of int, shape (r,), or (r, 2) for a weighted sketch.

        Raises
        ------
        RuntimeError
            If the number of hash values is not r.
        """
        filters_add(self._filter, self._slots(hashvalues), *self._shape)

    def query(self, hashvalues: Any) -> bool:
        """Return whether these hash values were probably inserted; see `insert` for errors."""
        return filters_hold(self._filter, self._slots(hashvalues), *self._shape)

    @property
    def _shape(self) -> tuple[int, int, int, int]:
        return self.r, self.bits, self.hashes, self._first

    def sync(self) -> None:
        """Write the filter to its file; without a file, give a RuntimeWarning."""
        if self.fname is None:
            warnings.warn(
                "a filter in memory is not saved: give it an fname",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        with atomic_file(self.fname, overwrite=True) as file:
            file.write(self._header() + self._filter.tobytes())


def check_same(path: str | None, *numbers: tuple[str, int, int]) -> None:
    """Raise an error that names the first (name, expected, found) with different numbers."""
    for name, mine, theirs in numbers:
        if mine != theirs:
            raise ValueError(f"{path}: has {name} = {theirs}, not {mine}")


def size_of(n: Any, fp: Any, name: str) -> tuple[int, int]:
    """Return the bits of a filter, and the bits that each entry sets, for n entries.

    Errors name the range; `name` is the name of the argument n.
    """
    if n is None or check_int(n, name) < 1:
        raise ValueError(f"{name}, the number of sets, must be at least 1, not {n}")
    if fp is None or not 0 < check_number("fp", fp) < 1:
        raise ValueError(f"fp must be in (0, 1), not {fp}")
    each = -math.log(fp) / math.log(2) ** 2
    return max(math.ceil(n * each), 8), max(round(each * math.log(2)), 1)
