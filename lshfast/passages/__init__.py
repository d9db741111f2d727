"""Passages that texts share: within a corpus, or of a corpus with other texts. passages.md explains
them.

>>> from lshfast import passages
>>> questions = ["What is the boiling point of water at sea level?"]
>>> corpus = ["Nothing.", "Q: what is the boiling point of water at sea level? A: 100"]
>>> [(found.i, found.j, found.text) for found in passages.find(corpus, questions, length=8)]
[(1, 0, 'What is the boiling point of water at sea level')]

``lshfast passages`` is the command for files.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.passages.api import find
    from lshfast.passages.result import Passage, SharedPassages

__all__ = ["Passage", "SharedPassages", "find"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, {"api": "find", "result": "Passage SharedPassages"})
