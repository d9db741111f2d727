"""The bands and rows of other libraries' default settings, and where these are set.

`lshfast tune --like` prints them next to a plan. They were read in the released packages of these
versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from lshfast._common.types import Float64Array
    from lshfast.banding import Bands


@dataclass(frozen=True)
class LibraryDefaults:
    """The default settings of a library for MinHash and bands.

    Attributes
    ----------
    name, version : str
        The library, and its version that has these settings.
    num_perm, bands, rows_per_band : int
        Slots of a signature; b bands of r rows, of which b * r slots are used.
    unit : {"word", "char"} or None
        What shingles are made of; None if the caller passes sets.
    size : int or None
        Words or characters per shingle.
    shingles : str
        What the sets are that it compares.
    decision : {"candidate", "estimate", "exact"}
        What makes a pair similar: that it shares a band, or that its estimated or exact similarity
        reaches the threshold.
    threshold : float or None
        The threshold of the estimate, or for which bands and rows are chosen; None if there is
        none.
    source : str
        Where the settings are: a class or function, and its parameters.

    See Also
    --------
    lshfast.library_defaults : Return the default settings of another library.
    lshfast.dedup : Remove near-duplicates from texts in memory.

    Examples
    --------
    >>> import lshfast
    >>> found = lshfast.library_defaults("datatrove")
    >>> found.bands, found.rows_per_band, found.shingles.split(";")[0]
    (14, 8, '5 words')
    """

    name: str
    version: str
    num_perm: int
    bands: int
    rows_per_band: int
    unit: Literal["word", "char"] | None
    size: int | None
    shingles: str
    decision: Literal["candidate", "estimate", "exact"]
    threshold: float | None
    source: str

    @property
    def banding(self) -> Bands:
        """The bands, such as for `plot_curve`."""
        from lshfast.banding import Bands

        return Bands(self.bands, self.rows_per_band)

    @overload
    def probability(self, similarity: float) -> np.float64: ...
    @overload
    def probability(self, similarity: npt.ArrayLike) -> Float64Array: ...
    def probability(self, similarity: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the probability that a pair shares a band: 1 - (1 - s**r)**b.

        Parameters
        ----------
        similarity : array_like of float
            s, in [0, 1]: the Jaccard similarity of the library's own shingles.

        Returns
        -------
        float64, or ndarray of float64 with the shape of `similarity`

        Raises
        ------
        ValueError
            If a similarity is outside [0, 1].

        Examples
        --------
        >>> import lshfast
        >>> lshfast.library_defaults("curator").probability([0.7, 0.8, 0.9]).round(
        ...     3
        ... ).tolist()
        [0.177, 0.677, 0.997]
        """
        return self.banding.probability(similarity)


# data-juicer and text-dedup take datasketch's choice for their threshold and number of slots,
# computed at run time.
LIBRARIES: dict[str, LibraryDefaults] = {
    library.name: library
    for library in (
        LibraryDefaults(
            "datatrove",
            "0.10.1",
            112,
            14,
            8,
            "word",
            5,
            "5 words; case, punctuation and accents do not count, and all numbers are equal",
            "candidate",
            None,
            "datatrove.pipeline.dedup.minhash.MinhashConfig: num_buckets, hashes_per_bucket, "
            "n_grams",
        ),
        LibraryDefaults(
            "curator",
            "1.4.0",
            260,
            20,
            13,
            "char",
            24,
            "24 characters; case, punctuation and white space count",
            "candidate",
            None,
            "nemo_curator.stages.deduplication.fuzzy.workflow.FuzzyDeduplicationWorkflow: "
            "num_bands, "
            "minhashes_per_band, char_ngrams",
        ),
        LibraryDefaults(
            "text-dedup",
            "0.4.0",
            250,
            25,
            10,
            "word",
            5,
            "5 words; case does not count, and two separators have an empty word between them",
            "candidate",
            0.7,
            "text_dedup.utils.args.MinHashArgs: num_perm, threshold, ngram",
        ),
        LibraryDefaults(
            "data-juicer",
            "1.6.1",
            256,
            25,
            10,
            "word",
            5,
            "5 words between white space; case does not count, punctuation does",
            "candidate",
            0.7,
            "data_juicer.ops.deduplicator.document_minhash_deduplicator."
            "DocumentMinhashDeduplicator: "
            "num_permutations, jaccard_threshold, window_size",
        ),
        LibraryDefaults(
            "datasketch",
            "2.0.0",
            128,
            5,
            25,
            None,
            None,
            "the sets that are passed",
            "candidate",
            0.9,
            "datasketch.MinHashLSH: num_perm, threshold",
        ),
        LibraryDefaults(
            "rensa",
            "0.5.0",
            128,
            8,
            16,
            None,
            None,
            "the tokens that are passed",
            "estimate",
            0.8,
            "rensa.RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True) of its README: "
            "num_bands",
        ),
        LibraryDefaults(
            "gaoya",
            "0.2.2",
            100,
            20,
            5,
            "word",
            1,
            "words between white space; case and punctuation count",
            "estimate",
            0.75,
            "gaoya.minhash.MinHashStringIndex: num_bands, band_size, ngram_range, "
            "jaccard_threshold",
        ),
        LibraryDefaults(
            "spark",
            "4.3.0",
            1,
            1,
            1,
            None,
            None,
            "the features that are passed",
            "exact",
            None,
            "pyspark.ml.feature.MinHashLSH: numHashTables; a table is a band of one row",
        ),
    )
}


def library_defaults(library: str) -> LibraryDefaults:
    """Return the default settings of another library, and what they find.

    Parameters
    ----------
    library : str
        "datatrove", "curator", "text-dedup", "data-juicer", "datasketch", "rensa", "gaoya" or
        "spark".
        curator is NVIDIA NeMo Curator, and spark is the MinHashLSH of Spark's MLlib.

    Returns
    -------
    LibraryDefaults

    Raises
    ------
    ValueError
        If it is another library.

    See Also
    --------
    lshfast.LibraryDefaults : The default settings of a library.
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.recommend : Recommend shingles and a threshold for texts of a length.

    Examples
    --------
    What datatrove finds at a similarity of .8, and a run of lshfast:

    >>> import lshfast
    >>> round(float(lshfast.library_defaults("datatrove").probability(0.8)), 3)
    0.924
    >>> round(float(lshfast.choose_bands(0.8, recall=0.95).probability(0.8)), 3)
    0.986
    """
    if library not in LIBRARIES:
        raise ValueError(
            f"library must be one of {', '.join(LIBRARIES)}, not {library!r}"
        )
    return LIBRARIES[library]
