"""`Measure`: which distance is computed from the payload of two rows of an index."""

from __future__ import annotations

from dataclasses import dataclass

from lshfast.common.checks import check_int

# The bits of a coordinate in the payload.
COORDINATE_BITS = {"bit": 1, "float32": 32, "float64": 64}

# The most words of a row.
MOST_WORDS = 1 << 16


@dataclass(frozen=True)
class Measure:
    """A distance between points, which are the payload of the rows of an index.

    Parameters
    ----------
    name : str
        Name of the distance: "hamming" for points of bits, "cosine", "euclidean" or "manhattan" for others.
    dim : int
        Coordinates of a point, at least 1.
    dtype : {"bit", "float32", "float64"}
        Type of a coordinate. The coordinates of a point follow each other in its payload, bits from the lowest on. The
        rest of the last word is zero.

    Examples
    --------
    >>> from lshfast.index.measure import Measure
    >>> Measure("hamming", 100, "bit").words, Measure("euclidean", 3, "float32").text
    (2, 'euclidean:3:float32')
    """

    name: str
    dim: int
    dtype: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.replace("-", "").isalpha() or not self.name.isascii():
            raise ValueError(f"the name of a measure must be ASCII letters and hyphens, not {self.name!r}")
        if self.dtype not in COORDINATE_BITS:
            raise ValueError(f"dtype must be one of {', '.join(COORDINATE_BITS)}, not {self.dtype!r}")
        object.__setattr__(self, "dim", check_int("dim", self.dim, 1, MOST_WORDS * 64 // COORDINATE_BITS[self.dtype]))

    @property
    def words(self) -> int:
        """64-bit words of a point."""
        return -(-self.dim * COORDINATE_BITS[self.dtype] // 64)

    @property
    def text(self) -> str:
        """The measure as text, from which `measure_of` makes an equal measure."""
        return f"{self.name}:{self.dim}:{self.dtype}"


def measure_of(text: str) -> Measure:
    """Return the measure with this text.

    Raises
    ------
    ValueError
        If it is not the text of a measure.
    """
    parts = text.split(":")
    try:
        if len(parts) == 3 and parts[1].isascii() and parts[1].isdigit() and len(parts[1]) < 10:
            measure = Measure(parts[0], int(parts[1]), parts[2])
            if measure.text == text:
                return measure
    except ValueError as error:
        raise ValueError(f"not a measure: {text!r} ({error})") from None
    raise ValueError(f"not a measure: {text!r}")
