"""Find candidates by bucket keys, verify them as pairs, and form groups from pairs."""

from lshfast.join.banded import candidates, find_copies
from lshfast.join.groups import component_groups, star_groups
from lshfast.join.jaccard import PAIR, verify

__all__ = ["PAIR", "candidates", "component_groups", "find_copies", "star_groups", "verify"]
