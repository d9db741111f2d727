"""Sketches of the k-mers of sequences, with the hash values of sourmash and Mash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.growing import GrowingArray
from lshfast._common.rows import offsets_of
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import UInt64Array
from lshfast._io.files import Reject
from lshfast.kernels.kmers import MOST_LETTERS, KmerReader
from lshfast.tokens import TokenSets

MOST_HASH = 2**64 - 1

# The largest `scaled`, and the most hashes of a sketch of the smallest ones.
MOST_SCALED = 2**32
MOST_BOTTOM = 2**29

# The most bytes that a compressed file or a collection may unpack to.
MAX_UNPACKED = 16 << 30

# Letters that are hashed at a time, the first ones of a sequence, and hashes that are gathered
# before repeated ones are removed. The smallest hashes of the first letters leave few of the later
# ones to gather.
AT_ONCE = 1 << 20
FIRST = 1 << 16
GATHERED = FIRST - 1


def most_hash(scaled: int) -> int:
    """Return the largest hash of sketches with 1 / scaled of all hashes, as in sourmash."""
    return MOST_HASH if scaled == 1 else round(MOST_HASH / scaled)


@dataclass(frozen=True)
class Sampling:
    """Which k-mers a sketch holds.

    Parameters
    ----------
    k : int, default 31
        Letters of a k-mer, in 1..64.
    scaled : int, default 1000
        A sketch holds the k-mers whose hashes are at most 2**64 / scaled: about one in `scaled`
        (FracMinHash). In 1..2**32; 0 if `bottom` is given.
    bottom : int, default 0
        If it is not 0, a sketch holds this number of the smallest hashes instead (MinHash as in
        Mash), in 1..2**29.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.genomes.sketch : Sketch sequences in memory.
    lshfast.genomes.KmerSketches : Sketches of sequences.

    Examples
    --------
    >>> from lshfast.genomes import Sampling
    >>> Sampling(21).most, Sampling(21, bottom=1000)
    (18446744073709552, Sampling(k=21, scaled=0, bottom=1000))
    """

    k: int = 31
    scaled: int = 1000
    bottom: int = 0

    def __post_init__(self) -> None:
        bottom = check_int("bottom", self.bottom, 0, MOST_BOTTOM)
        object.__setattr__(self, "k", check_int("k", self.k, 1, MOST_LETTERS))
        object.__setattr__(self, "bottom", bottom)
        object.__setattr__(
            self,
            "scaled",
            0 if bottom else check_int("scaled", self.scaled, 1, MOST_SCALED),
        )

    @property
    def most(self) -> int:
        """The largest hash that a sketch may hold."""
        return MOST_HASH if self.bottom else most_hash(self.scaled)


@dataclass(frozen=True, eq=False)
class KmerSketches:
    """Sketches of sequences, which `sketch`, `sketch_files` and `read_signatures` make.

    Attributes
    ----------
    names : list of str
        A name for each sketch.
    sets : TokenSets
        The hashes of each sketch, ascending, each once. A sketch may be empty.
    sampling : Sampling
        Which k-mers they are of.
    letters : int
        Letters of all sequences; 0 if that is not known.
    rejected : list of Reject
        Files and records that were skipped.

    See Also
    --------
    lshfast.genomes.sketch : Sketch sequences in memory.
    lshfast.genomes.sketch_files : Sketch files of sequences.
    lshfast.genomes.read_signatures : Read sketches that sourmash wrote.
    lshfast.genomes.pairs : Find all pairs of similar sketches.

    Examples
    --------
    >>> from lshfast import genomes
    >>> found = genomes.sketch(["GATTACA" * 9], names=["repeats"], k=21, scaled=1)
    >>> found.names, found.sets[0][:2].tolist(), found.sampling
    (['repeats'], [...], Sampling(k=21, scaled=1, bottom=0))
    """

    names: list[str] = field(repr=False)
    sets: TokenSets
    sampling: Sampling
    letters: int = 0
    rejected: list[Reject] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if len(self.names) != len(self.sets):
            raise ValueError(
                f"names must be one for each of {len(self.sets)} sketches, not {len(self.names)}"
            )

    def __len__(self) -> int:
        return len(self.names)

    def at_scale(self, scaled: int) -> KmerSketches:
        """Return the sketches with a greater `scaled`, without hashes above 2**64 / scaled.

        Parameters
        ----------
        scaled : int
            From that of these sketches to 2**32.

        Returns
        -------
        KmerSketches

        Raises
        ------
        ValueError
            If it is out of range, or the sketches are of the smallest hashes.

        Examples
        --------
        >>> from lshfast import genomes
        >>> all_kmers = genomes.sketch(["GATTACA" * 100], k=21, scaled=1)
        >>> all_kmers.sets.counts, all_kmers.at_scale(2).sets.counts
        (array([7]), array([4]))
        """
        if self.sampling.bottom or scaled < self.sampling.scaled:
            if self.sampling.bottom:
                sizes = f"bottom={self.sampling.bottom}"
            else:
                sizes = f"scaled={self.sampling.scaled}"
            raise ValueError(
                f"sketches with {sizes} cannot be made into sketches with scaled={scaled}"
            )
        if scaled == self.sampling.scaled:
            return self
        sampling = replace(self.sampling, scaled=scaled)
        tokens = self.sets.tokens
        offsets = self.sets.offsets
        is_sampled = tokens <= np.uint64(sampling.most)
        before = offsets_of(is_sampled)
        return replace(
            self,
            sets=TokenSets(before[offsets] - before[offsets[0]], tokens[is_sampled]),
            sampling=sampling,
        )


def made_alike(parts: Sequence[KmerSketches]) -> list[KmerSketches]:
    """Return collections that can be compared: all scaled ones have the greatest `scaled`."""
    samplings = {(part.sampling.k, part.sampling.bottom) for part in parts}
    if len(samplings) > 1:
        kinds = " and ".join(
            f"k={k}, bottom={bottom}" for k, bottom in sorted(samplings)[:2]
        )
        raise ValueError(
            f"sketches that are compared must have the same k and bottom, not {kinds}"
        )
    scaled = max(part.sampling.scaled for part in parts)
    return list(parts) if scaled == 0 else [part.at_scale(scaled) for part in parts]


def put_together(parts: Sequence[KmerSketches]) -> KmerSketches:
    """Return the sketches of several collections as one."""
    if len(parts) == 1:
        return parts[0]
    parts = made_alike(parts)
    return KmerSketches(
        [name for part in parts for name in part.names],
        TokenSets.concatenate([part.sets for part in parts]),
        parts[0].sampling,
        sum(part.letters for part in parts),
        [reject for part in parts for reject in part.rejected],
    )


def distinct_numbers(numbers: UInt64Array) -> UInt64Array:
    """Return numbers ascending, each once; with few repeats ten times as fast as np.unique."""
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


class Gathering:
    """The sketch of one item, from hashes that come in parts."""

    def __init__(self, sampling: Sampling) -> None:
        self._bottom = sampling.bottom
        self.most: int = sampling.most
        self._hashes = GrowingArray(np.uint64)
        self._room = max(GATHERED, 2 * self._bottom)

    def add(self, hashes: UInt64Array) -> None:
        """Add hashes, which may be repeated; those above `most` may be omitted."""
        self._hashes.extend(hashes)
        if len(self._hashes) > self._room:
            self._remove_repeated()

    def _remove_repeated(self) -> None:
        distinct = distinct_numbers(self._hashes.rows())
        if self._bottom:
            distinct = distinct[: self._bottom]
            if len(distinct) == self._bottom:
                self.most = int(distinct[-1])
        self._hashes = GrowingArray(np.uint64)
        self._hashes.extend(distinct)
        self._room = max(GATHERED, 2 * len(distinct))

    def finished(self) -> UInt64Array:
        """Return the hashes of the sketch, ascending."""
        self._remove_repeated()
        return self._hashes.finished()


def sketches_of(parts: Iterable[UInt64Array]) -> TokenSets:
    """Return sketches as rows of hashes."""
    sizes = GrowingArray(np.int64)
    hashes = GrowingArray(np.uint64)
    for part in parts:
        sizes.extend(np.array([len(part)], np.int64))
        hashes.extend(part)
    offsets = offsets_of(sizes.finished())
    return TokenSets(offsets, hashes.finished())


def sketch(
    sequences: Iterable[str | bytes | Sequence[str | bytes]],
    *,
    names: Sequence[str] | None = None,
    k: int = 31,
    scaled: int = 1000,
    bottom: int = 0,
    threads: int | None = None,
) -> KmerSketches:
    """Sketch sequences in memory.

    The hash of a k-mer is the first 64 bits of MurmurHash3_x64_128 with seed 42 of the letters of
    the k-mer or of its reverse complement, whichever is the first in the alphabet. So sketches
    equal those of sourmash, and for k > 16 also those of Mash. Lower case counts as upper case,
    white space is left out, and no k-mer has letters other than A, C, G and T.

    Parameters
    ----------
    sequences : iterable of str, bytes, or sequences of these
        Each is a sequence, or several: the contigs of a genome, whose k-mers are put together.
    names : sequence of str, optional
        By default "0", "1", and so on.
    k, scaled, bottom
        See `Sampling`.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use.

    Returns
    -------
    KmerSketches

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.genomes.sketch_files : Sketch the genomes of files.
    lshfast.genomes.pairs : Find all pairs of similar sketches.

    References
    ----------
    B. D. Ondov et al., "Mash: fast genome and metagenome distance estimation using MinHash",
    Genome Biology 17:132, 2016. L. Irber et al., "Lightweight compositional analysis of
    metagenomes with FracMinHash and minimum metagenome covers", bioRxiv, 2022.

    Examples
    --------
    >>> from lshfast import genomes
    >>> found = genomes.sketch(["GATTACA", "tgtaatc", "GATNACA"], k=5, scaled=1)
    >>> found.sets[0].tolist() == found.sets[1].tolist()  # the reverse complement
    True
    >>> found.sets.counts
    array([3, 3, 0])
    """
    sampling = Sampling(k, scaled, bottom)
    if isinstance(sequences, (str, bytes)):
        raise TypeError(
            "sequences must be an iterable of sequences, not one str or bytes"
        )

    def work(contigs: list[bytes]) -> UInt64Array:
        gathering = Gathering(sampling)
        for contig in contigs:
            reader = KmerReader(sampling.k, gathering.most)
            start = 0
            size = FIRST
            while start < len(contig):
                part = memoryview(contig)[start : start + size]
                out = np.empty(len(part), np.uint64)
                reader.most = gathering.most
                gathering.add(out[: reader.sample(part, out, start == 0)])
                start = start + size
                size = min(AT_ONCE, 2 * size)
        return gathering.finished()

    sets = sketches_of(ordered_map(work, _contigs(sequences), thread_count(threads)))
    return KmerSketches(
        [str(row) for row in range(len(sets))] if names is None else list(names),
        sets,
        sampling,
    )


def _contigs(
    sequences: Iterable[str | bytes | Sequence[str | bytes]],
) -> Iterator[list[bytes]]:
    """Yield each item as a list of bytes."""
    for row, sequence in enumerate(sequences):
        parts = [sequence] if isinstance(sequence, (str, bytes)) else sequence
        yield [_letters_of(part, row) for part in parts]


def _letters_of(sequence: str | bytes, row: int) -> bytes:
    if isinstance(sequence, str):
        return sequence.encode("ascii", "replace")
    if not isinstance(sequence, bytes):
        raise TypeError(
            f"sequences must be str or bytes, or sequences of these; row {row} has {sequence!r}"
        )
    return sequence
