"""The warning that some texts are composed and others decomposed, so that equal ones differ."""

from __future__ import annotations

from typing import NamedTuple

from lshfast._engine.plan import Plan
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


class MixedFormsWarning(UserWarning):
    r"""Some texts have letters with marks as one character, and others as several.

    Such words look alike and differ. `dedup`, `pairs` and `check` warn with it if they find both in
    a sample of the texts; ``normalize="NFC"`` compares the texts in one form.

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

    def advice(self, plan: Plan) -> str:
        """Return the advice to compare texts in one form, or ""."""
        if plan.shingles.normalize != "none":
            return ""
        fewer = min(self.composed, self.decomposed)
        total = self.composed + self.decomposed
        return ADVICE if fewer and fewer >= LEAST_SHARE * total else ""


def form_counts(texts: Texts) -> FormCounts:
    """Count the texts with letters of each form."""
    forms = unicode.forms_in(texts)
    return FormCounts(int((forms & 1 > 0).sum()), int((forms & 2 > 0).sum()))
