"""Estimators of scikit-learn, which the extra `sklearn` installs."""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.estimators.lsh_neighbors import LSHNeighbors

__all__ = ["LSHNeighbors"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, {"lsh_neighbors": "LSHNeighbors"})
