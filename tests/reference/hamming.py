"""Hamming search from its definition: every code is compared with every query, as Python integers."""


def number(code):
    """Return the words of a code, the lowest first, as one integer."""
    return sum(word << 64 * i for i, word in enumerate(code))


def distance(a, b):
    return bin(number(a) ^ number(b)).count("1")


def within(codes, query, radius):
    """Return (row, distance) of all codes within the radius, the nearest first, then the first rows."""
    found = [(row, distance(code, query)) for row, code in enumerate(codes)]
    return sorted(
        (pair for pair in found if pair[1] <= radius),
        key=lambda pair: (pair[1], pair[0]),
    )


def nearest(codes, query, k):
    return within(codes, query, 64 * len(query))[:k]


def pairs(codes, radius):
    """Return (i, j, distance) of all pairs i < j within the radius."""
    n = len(codes)
    found = [
        (i, j, distance(codes[i], codes[j])) for i in range(n) for j in range(i + 1, n)
    ]
    return [pair for pair in found if pair[2] <= radius]


def similarity(a, b):
    """Return the Tanimoto similarity: common ones, divided by bits that are one in either; 0 without ones."""
    either = bin(number(a) | number(b)).count("1")
    return bin(number(a) & number(b)).count("1") / either if either else 0.0


def similar(codes, query, least=0.0):
    """Return (row, similarity) of all codes with at least this similarity, above 0; the most similar first."""
    found = [(row, similarity(code, query)) for row, code in enumerate(codes)]
    return sorted(
        (pair for pair in found if pair[1] >= least and pair[1] > 0),
        key=lambda pair: (-pair[1], pair[0]),
    )


def similar_pairs(codes, least):
    """Return (i, j, similarity) of all pairs i < j with at least this similarity."""
    n = len(codes)
    found = [
        (i, j, similarity(codes[i], codes[j]))
        for i in range(n)
        for j in range(i + 1, n)
    ]
    return [pair for pair in found if pair[2] >= least]


def keepers(codes, radius, order=None):
    """Return the keeper of each row: the first kept row, in the order of preference, within the radius; or itself."""
    kept, keeper = [], {}
    for row in range(len(codes)) if order is None else order:
        keeper[row] = next(
            (other for other in kept if distance(codes[row], codes[other]) <= radius),
            row,
        )
        if keeper[row] == row:
            kept.append(row)
    return [keeper[row] for row in range(len(codes))]


def selected(code, mask):
    """Return the bits of a code at the ones of a mask, the lowest first, as an integer."""
    places = [i for i in range(64 * len(mask)) if number(mask) >> i & 1]
    return sum((number(code) >> place & 1) << i for i, place in enumerate(places))
