"""Contraction of a link graph by its definition: every round compares all pairs of classes."""

from fractions import Fraction


def shingles(sequence, size):
    """Return the shingles of a sequence, without repeated neighbours: runs of `size`, or all if there are fewer."""
    sequence = [
        link
        for place, link in enumerate(sequence)
        if sequence[place - 1 : place] != [link]
    ]
    if len(sequence) < size:
        return {tuple(sequence)} if sequence else set()
    return {tuple(sequence[at : at + size]) for at in range(len(sequence) - size + 1)}


def contract(links, threshold, nodes, same=(), min_links=1, size=1):
    """Return the label of each node, the links between classes, and the number of rounds with a merge.

    `links` and `same` are pairs of nodes; the threshold is a Fraction, or a float that similarities are rounded to.
    """
    label = list(range(nodes))

    def rename(old, new):
        for node in range(nodes):
            if label[node] == old:
                label[node] = new

    for a, b in same:
        first, second = sorted((label[a], label[b]))
        if first != second:
            rename(second, first)
    rounds = 0
    while True:
        sets = {name: set() for name in label}
        for a, b in links:
            if label[a] != label[b]:
                sets[label[a]].add(label[b])
        leaders, merges, linked = [], [], sets
        if size > 1:
            sets = {name: set() for name in label}
            for node in range(nodes):
                name = label[node]
                others = [label[b] for a, b in links if a == node and label[b] != name]
                sets[name] |= shingles(others, size)
        for name in sorted(sets):
            own = sets[name]
            if len(own) < max(min_links, 1):
                continue
            for leader in leaders:
                common, either = len(own & sets[leader]), len(own | sets[leader])
                similarity = (
                    Fraction(common, either)
                    if isinstance(threshold, Fraction)
                    else common / either
                )
                if similarity >= threshold:
                    merges.append((name, leader))
                    break
            else:
                leaders.append(name)
        if not merges:
            return label, sorted((a, b) for a in linked for b in linked[a]), rounds
        for name, leader in merges:
            rename(name, leader)
        rounds += 1
