"""Estimators of scikit-learn, which the extra `sklearn` installs.

>>> from lshfast.estimators import LSHNeighbors
>>> points = [[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0]]
>>> distances, places = (
...     LSHNeighbors(n_neighbors=1, radius=2.0)
...     .fit(points)
...     .kneighbors([[0.9, 0.0], [5.0, 5.5]])
... )
>>> places.tolist()
[[1], [2]]
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.estimators.lsh_neighbors import LSHNeighbors

__all__ = ["LSHNeighbors"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, {"lsh_neighbors": "LSHNeighbors"})
