"""`Measure`: the distance that is computed from the payload of two rows of an index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lshfast._common.checks import check_int
from lshfast.kernels.distances import LAYOUTS, MEASURES, words_of

# The most words of a row.
MOST_WORDS = 1 << 16


@dataclass(frozen=True)
class Measure:
    """A distance between points, which are the payload of the rows of an index.

    Parameters
    ----------
    name : {"cosine", "euclidean", "manhattan", "hamming"}
        "cosine" is 1 - the cosine, and "euclidean" the square of the distance. "hamming" is the
        number of different bits, and the only one for the layout "bits".
    layout : {"float32", "float64", "sparse32", "sparse64", "bits"}
        The form of the words of a point; see src/distances/distances.h.
    dim : int
        Coordinates of a point, at least 1; for sparse points the most coordinates that are not
        zero.

    Examples
    --------
    >>> from lshfast.index.measure import Measure
    >>> Measure("hamming", "bits", 100).words, Measure("euclidean", "float32", 3).text
    (2, 'euclidean:float32:3')
    """

    name: str
    layout: str
    dim: int

    def __post_init__(self) -> None:
        if self.name not in MEASURES or self.layout not in LAYOUTS:
            raise ValueError(
                f"there is no measure {self.name!r} of points with the layout {self.layout!r}"
            )
        object.__setattr__(self, "dim", check_int("dim", self.dim, 1, 64 * MOST_WORDS))
        if self.words > MOST_WORDS:
            raise ValueError(
                f"a point of {self.dim} coordinates needs {self.words} words, more than "
                f"{MOST_WORDS}"
            )

    @property
    def words(self) -> int:
        """64-bit words of a point."""
        return words_of(*self.kernel)

    @property
    def kernel(self) -> tuple[str, str, int]:
        """The arguments that the kernels take: the words of bits stand for their dim."""
        size = -(-self.dim // 64) if self.layout == "bits" else self.dim
        return self.name, self.layout, size

    @property
    def text(self) -> str:
        """The measure as text, from which `measure_of` makes an equal measure."""
        return f"{self.name}:{self.layout}:{self.dim}"


@lru_cache(maxsize=64)
def measure_of(text: str) -> Measure:
    """Return the measure with this text.

    Raises
    ------
    ValueError
        If it is not the text of a measure.
    """
    parts = text.split(":")
    if len(parts) == 3:
        name, layout, dim = parts
        if dim.isascii() and dim.isdigit() and len(dim) < 10:
            measure = Measure(name, layout, int(dim))
            if measure.text == text:
                return measure
    raise ValueError(f"not a measure: {text[:100]!r}")
