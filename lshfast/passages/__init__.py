"""Passages that texts share, in a corpus or with other texts; passages.md explains them.

>>> from lshfast import passages
>>> questions = ["What is the boiling point of water at sea level?"]
>>> corpus = ["Nothing.", "Q: what is the boiling point of water at sea level? A: 100"]
>>> [
...     (found.i, found.j, found.text)
...     for found in passages.find(corpus, questions, length=8)
... ]
[(1, 0, 'What is the boiling point of water at sea level')]

``lshfast passages`` is the command for files.

Files:

- plan.py, api.py, run.py, result.py: the parameters; `find`; its stages; its result.
- units.py, sampling.py: texts as units; their samples.
- groups.py, windows.py, search.py: groups of equal samples; windows of crowded samples; the search.
- spans.py, places.py, pairs.py: spans and their places; all places of passages; what pairs of texts
  share.
- command.py, job.py, page.py: the command and its options; its job; the page of a search.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.passages.api import find
    from lshfast.passages.result import Passage, SharedPassages

__all__ = ["Passage", "SharedPassages", "find"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__, {"api": "find", "result": "Passage SharedPassages"}
    )
