"""The parameters of a search for shared passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from lshfast._common.checks import check_int
from lshfast._common.choices import NormalForm
from lshfast._common.threads import thread_count
from lshfast.kernels.text import Texts
from lshfast.shingling import check_normal_form, normalized

PassageUnit: TypeAlias = Literal["word", "char"]
RemovedCopies: TypeAlias = Literal["first", "all"]

# The longest passage that may be asked for, in units: the distances inside a window are kept in 16
# bits.
MOST_LENGTH = 1 << 16

# The longest shingles, in units, whose hashes are sampled. Longer ones would hardly be rarer in
# texts that share no passage, and their windows are shorter, which means more samples.
MOST_SHINGLE: dict[PassageUnit, int] = {"word": 16, "char": 64}


@dataclass(frozen=True)
class PassagePlan:
    """What is searched for.

    Parameters
    ----------
    length : int
        Units of the shortest passage, 1 to 65,536.
    unit : {"word", "char"}
    most_copies : int or None
        The number of occurrences up to which all pairs of them are listed, 1 to 2**31 - 1; None for
        no limit.
    threads : int
    remove : {"first", "all"}
        Which copies of a passage are cut: all but the first, or all.
    more_than : int or None
        The number of places above which a run is cut, which is `most_copies` then; None cuts all
        that occur twice.
    normalize : {"none", "NFC", "NFKC"}
        The normal form of Unicode in which texts are compared.
    """

    length: int
    unit: PassageUnit
    most_copies: int | None
    threads: int
    remove: RemovedCopies = "first"
    more_than: int | None = None
    normalize: NormalForm = "none"

    def normalized(self, texts: Texts) -> Texts:
        """Return texts in the normal form that is compared; without one, as they are."""
        return normalized(texts, self.normalize)

    @property
    def size(self) -> int:
        """Units per shingle: half a passage, at most `MOST_SHINGLE`."""
        return max(1, min(self.length // 2, MOST_SHINGLE[self.unit]))

    @property
    def window(self) -> int:
        """Shingles per window: those of a shortest passage."""
        return self.length - self.size + 1


def make_passage_plan(
    length: int,
    unit: PassageUnit = "word",
    most_copies: int | None = 16,
    threads: int | None = None,
    remove: RemovedCopies = "first",
    more_than: int | None = None,
    normalize: NormalForm = "none",
) -> PassagePlan:
    """Check the parameters; see `PassagePlan`."""
    if remove not in get_args(RemovedCopies):
        raise ValueError(f"remove must be 'first' or 'all', not {remove!r}")
    if more_than is not None:
        more_than = check_int("more_than", more_than, 1, 2**31 - 1)
        most_copies = more_than
    if not isinstance(unit, str) or unit not in get_args(PassageUnit):
        raise ValueError(f"unit must be 'word' or 'char', not {unit!r}")
    if most_copies is not None:
        most_copies = check_int("most_copies", most_copies, 1, 2**31 - 1)
    return PassagePlan(
        check_int("length", length, 1, MOST_LENGTH),
        unit,
        most_copies,
        thread_count(threads),
        remove,
        more_than,
        check_normal_form(normalize),
    )
