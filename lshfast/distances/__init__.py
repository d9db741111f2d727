"""Exact distances of n pairs of items: points, sets, sequences of equal length, and strings by edits.

All of these functions take two batches of n items, of which one may be a single item, and return an array of n numbers.

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

The distances of strings need the package rapidfuzz: ``pip install lshfast[records]``. `longest_common_subsequences`
takes two strings, and yields what insertions and deletions can leave as it is.
"""

from lshfast.distances.edits import damerau, indel, levenshtein, longest_common_subsequences, osa
from lshfast.distances.points import angles, minkowski, one_minus_cosines
from lshfast.distances.sequences import hamming, jaccard

__all__ = [
    "angles",
    "damerau",
    "hamming",
    "indel",
    "jaccard",
    "levenshtein",
    "longest_common_subsequences",
    "minkowski",
    "one_minus_cosines",
    "osa",
]
