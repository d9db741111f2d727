"""The pairs of rows that share a bucket, from their definition: all rows are compared with all others."""

NO_KEY = 2**64 - 1


def differing(a, b):
    """Return how many bits of two codes, lists of words, differ."""
    return sum(bin(x ^ y).count("1") for x, y in zip(a, b, strict=True))


def pairs(left, right, codes, most, limits, labels=None):
    """Return the set of (right row, left row) that are paired; `left` and `right` are lists of (key, row)."""
    return {
        (row, other)
        for key, row in right
        for shared, other in left
        if key == shared != NO_KEY
        and other < limits[row]
        and (labels is None or labels[other] != labels[row])
        and differing(codes[row], codes[other]) <= most
    }
