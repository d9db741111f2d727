"""The warning that some texts are composed and others decomposed, so that equal ones differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from lshfast._common.choices import NormalForm
from lshfast._common.rows import evenly_spaced
from lshfast.kernels import unicode
from lshfast.kernels.text import Texts

ADVICE = (
    "the texts are in different normal forms of Unicode: some have letters with marks as one "
    "character, others as several, and words that look alike then differ. Compare them in one "
    'form: normalize="NFC" (--normalize NFC)'
)

# Of the texts with composed or decomposed letters, the least share of each that is advised about.
# Fewer are in at most one of a hundred pairs of such texts.
LEAST_SHARE = 0.01

# Texts of a batch that a search or an index looks at, and their bytes in all, so that long texts
# take no time that shows.
BATCH_TEXTS = 64
BATCH_BYTES = 1 << 15

BatchT = TypeVar("BatchT")


class MixedFormsWarning(UserWarning):
    r"""Some texts have letters with marks as one character, and others as several.

    Such words look alike and differ. `dedup`, `pairs`, `check` and `passages.find` warn with it if
    they find both in a sample of the texts; ``normalize="NFC"`` compares the texts in one form.

    See Also
    --------
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.shingle : Convert texts to sets of shingles.

    Examples
    --------
    >>> import warnings
    >>> import lshfast
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = lshfast.dedup(["un caf\u00e9 noir", "un cafe\u0301 noir"])
    >>> caught[0].category.__name__
    'MixedFormsWarning'
    """


class FormCounts(NamedTuple):
    """The texts of a sample with composed letters, and those with letters that NFC composes."""

    composed: int
    decomposed: int

    def advice(self, normalize: NormalForm) -> str:
        """Return the advice to compare texts in one form, or ""; `normalize` is that of the run."""
        if normalize != "none":
            return ""
        fewer = min(self.composed, self.decomposed)
        total = self.composed + self.decomposed
        return ADVICE if fewer and fewer >= LEAST_SHARE * total else ""


def form_counts(texts: Texts) -> FormCounts:
    """Count the texts with letters of each form."""
    forms = unicode.forms_in(texts)
    return FormCounts(int((forms & 1 > 0).sum()), int((forms & 2 > 0).sum()))


class FormSample:
    """The normal forms of some texts of each batch that passes by, for runs that hold no texts.

    Parameters
    ----------
    normalize : {"none", "NFC", "NFKC"}
        The form in which the run compares texts. Texts are looked at without one only.
    """

    def __init__(self, normalize: NormalForm) -> None:
        self._normalize = normalize
        self._counts = FormCounts(0, 0)

    def of(self, batches: Iterable[BatchT]) -> Iterator[BatchT]:
        """Yield batches unchanged, and count the forms of some of their texts."""
        for batch in batches:
            if self._normalize == "none" and isinstance(batch, Texts):
                self._add(batch)
            yield batch

    def _add(self, texts: Texts) -> None:
        rows = evenly_spaced(len(texts), BATCH_TEXTS)
        rows = rows[texts.lengths[rows] <= BATCH_BYTES]
        counts = form_counts(
            texts.take(
                rows[np.cumsum(texts.lengths[rows], dtype=np.int64) <= BATCH_BYTES]
            )
        )
        self._counts = FormCounts(
            self._counts.composed + counts.composed,
            self._counts.decomposed + counts.decomposed,
        )

    @property
    def advice(self) -> str:
        """The advice to compare texts in one form, or ""."""
        return self._counts.advice(self._normalize)
