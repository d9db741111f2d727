"""The search for passages that texts in memory share."""

from __future__ import annotations

from typing import Any

from lshfast._common.choices import NormalForm
from lshfast._common.progress import Progress
from lshfast._engine.account.normal_forms import FormSample
from lshfast._engine.account.short_texts import warn_of
from lshfast._engine.clock import Clock
from lshfast.kernels.text import Texts
from lshfast.passages.plan import PassageUnit, RemovedCopies, make_passage_plan
from lshfast.passages.result import SharedPassages
from lshfast.passages.run import find_against, find_within, hold_texts


def find(
    texts: Any,
    against: Any = None,
    *,
    length: int = 50,
    unit: PassageUnit = "word",
    most_copies: int | None = 16,
    remove: RemovedCopies = "first",
    more_than: int | None = None,
    normalize: NormalForm = "none",
    threads: int | None = None,
    progress: Progress | None = None,
) -> SharedPassages:
    """Find all passages that two texts share: the longest equal runs of words or characters.

    Two runs are equal if their words are, in lower case; what is between words does not count.
    Characters are compared in lower case, one by one. definitions.md defines both. The result is
    exact, and does not depend on the number of threads.

    Parameters
    ----------
    texts : sequence of str or bytes, or Arrow column
        As for `shingle`.
    against : sequence of str or bytes, or Arrow column, optional
        Other texts: then passages that a text shares with one of these are found, and no others.
        Without it, passages are found that two of `texts` share, or that one text has twice.
    length : int, default 50
        Words or characters of the shortest passage, in 1..65536.
    unit : {"word", "char"}, default "word"
    most_copies : int or None, default 16
        1 to 2**31 - 1. If a run of `length` units occurs more often (in `against`, if there is
        one), its occurrences are paired with the first of them only, and not with each other. None
        pairs all: n occurrences are n (n - 1) / 2 passages.
    remove : {"first", "all"}, default "first"
        What `SharedPassages.without_copies` leaves out: all copies of a passage but the first, or
        all copies, which is for boilerplate.
    more_than : int, optional
        1 to 2**31 - 1. Leave out only runs of `length` units that occur at more places than this.
        It takes the place of `most_copies`, and is not for a search against other texts.
    normalize : {"none", "NFC", "NFKC"}, default "none"
        The normal form of Unicode in which texts are compared, as for `shingle`. Words and
        characters are counted in this form; the places of passages are those in the texts as they
        are. A passage that begins or ends within what several characters became together, or one
        character became several, gets all of it.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use.
    progress : callable, optional
        Called with (stage, done, total): within texts, pairs of places in "compare"; otherwise
        bytes of text.

    Returns
    -------
    SharedPassages

    Raises
    ------
    TypeError
        If a text is not str or bytes.
    ValueError
        If a text is not UTF-8 or has a lone surrogate, or an argument is out of range.

    Warns
    -----
    MixedFormsWarning
        If some texts have letters with marks as one character and others as several, and
        `normalize` is "none".

    See Also
    --------
    lshfast.dedup : Remove near-duplicates from texts in memory.
    lshfast.pairs : Find all pairs of similar items.

    Notes
    -----
    Memory beside the texts, in bytes: 72 for each sample, of which a text has about 2 / (length -
    size + 2) a unit, where size is the lesser of length / 2 and 16 (characters: 64); 100 more for
    each sample that occurs twice; 4 for each word or character of texts with such a sample; 104 for
    each passage. With `against`, the samples, words and characters are those of these texts alone.

    References
    ----------
    S. Schleimer, D. S. Wilkerson and A. Aiken, "Winnowing: local algorithms for document
    fingerprinting", 2003. K. Lee et al., "Deduplicating training data makes language models
    better", 2022.

    Examples
    --------
    >>> from lshfast import passages
    >>> questions = ["What is the boiling point of water at sea level?"]
    >>> corpus = [
    ...     "Nothing.",
    ...     "Q: what is the boiling point of water at sea level? A: 100",
    ... ]
    >>> [(p.i, p.j, p.text) for p in passages.find(corpus, questions, length=8)]
    [(1, 0, 'What is the boiling point of water at sea level')]

    Remove what more than two pages have:

    >>> pages = [
    ...     f"{text} Follow us on all channels" for text in ("One.", "Two.", "Three.")
    ... ]
    >>> found = passages.find(pages, length=4, remove="all", more_than=2)
    >>> found.without_copies(pages)
    ['One. ', 'Two. ', 'Three. ']
    """
    plan = make_passage_plan(
        length, unit, most_copies, threads, remove, more_than, normalize
    )
    if more_than is not None and against is not None:
        raise ValueError(
            "more_than counts the places of a run in texts, and is not for a search against "
            "other texts"
        )
    forms = FormSample(normalize)
    batches = forms.of([Texts(texts)])
    clock = Clock()
    if against is None:
        found_passages = find_within(batches, plan, clock, progress)
    else:
        held_texts = hold_texts(forms.of([Texts(against)]), plan, clock)
        found_passages = find_against(batches, held_texts, plan, clock, progress)
    warn_of(forms.advice)
    return SharedPassages(found_passages, plan)
