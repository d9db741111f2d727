"""Exact distances and similarities of points, sets, sequences of equal length, and strings.

All of these functions take two batches of n items, of which one may be a single item, and return an
array of n numbers. For two single items they return one number.

| function | items | metric |
|---|---|---|
| `minkowski` | points, L_r for r in 1..inf | yes |
| `angles` | points other than 0 | yes, of directions |
| `one_minus_cosines` | points other than 0 | no: the triangle inequality fails |
| `jaccard` | Python sets, or TokenSets | yes |
| `hamming` | sequences of equal length | yes |
| `indel` | strings; insertions and deletions | yes |
| `levenshtein` | strings; substitutions too | yes |
| `damerau` | strings; transpositions of neighbours too | yes |
| `osa` | strings; the same, but no part is edited twice | no: the triangle inequality fails |

| function | similarity |
|---|---|
| `jaccard_similarity` | of sets: the share of all elements that both have |
| `containment` | of sets: the share of the first that the second contains |
| `overlap` | of sets: the number of elements that both have |
| `cosine_similarity` | of points other than 0: the cosine of their angle |

The distances of strings need the package rapidfuzz: ``pip install lshfast[records]``.
`longest_common_subsequences` takes two strings, and yields the parts that insertions and deletions
can leave unchanged.

Files: points.py, sets.py, sequences.py and edits.py have the functions; batches.py has the batches
of items and their pairs.
"""

from lshfast.distances.edits import (
    damerau,
    indel,
    levenshtein,
    longest_common_subsequences,
    osa,
)
from lshfast.distances.points import (
    angles,
    cosine_similarity,
    minkowski,
    one_minus_cosines,
)
from lshfast.distances.sequences import hamming
from lshfast.distances.sets import containment, jaccard, jaccard_similarity, overlap

__all__ = [
    "angles",
    "containment",
    "cosine_similarity",
    "damerau",
    "hamming",
    "indel",
    "jaccard",
    "jaccard_similarity",
    "levenshtein",
    "longest_common_subsequences",
    "minkowski",
    "one_minus_cosines",
    "osa",
    "overlap",
]
