"""Passages that texts share: within a corpus, or of a corpus with other texts. passages.md explains them."""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.passages.api import find
    from lshfast.passages.result import Passage, SharedPassages

__all__ = ["Passage", "SharedPassages", "find"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, {"api": "find", "result": "Passage SharedPassages"})
