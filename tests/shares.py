"""The share of its examples that a long test takes: all of them where EXAMPLES is set, as in the weekly workflow."""

import os

SHARE = 1 if "EXAMPLES" in os.environ else 4


def share_of(count):
    """Return how many of so many examples a test takes."""
    return max(1, count // SHARE)
