"""Products of sparse vectors, and the nearest rows by their products, from their definitions."""


def product(left, right):
    """Return the product of two rows, dicts of term: weight; the terms of the right row are added in their order."""
    total = 0.0
    for term, weight in sorted(right.items()):
        total += left.get(term, 0.0) * weight
    return total


def nearest(row, others, kept, own, neighbors):
    """Return the places of the others with the greatest products by kept terms, but `own`; the nearest comes first."""
    row = {term: weight for term, weight in row.items() if term in kept}
    found = [
        (-product(other, row), place)
        for place, other in enumerate(others)
        if place != own and row.keys() & other.keys()
    ]
    return [place for _, place in sorted(found)[:neighbors]]
