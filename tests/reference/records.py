"""Record linkage by its definitions, on lists and strings."""

from itertools import combinations, pairwise
from math import log1p, sqrt


def osa(a, b):
    """Least insertions, deletions, replacements and exchanges of neighbours; no substring is edited twice."""
    rows = [
        [max(i, j) if not (i and j) else 0 for j in range(len(b) + 1)]
        for i in range(len(a) + 1)
    ]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            rows[i][j] = min(
                rows[i - 1][j] + 1,
                rows[i][j - 1] + 1,
                rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
            )
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


def jaro_winkler(a, b):
    """Jaro's similarity, increased for a common prefix of up to four characters if it is above .7."""
    if not a or not b:
        return float(a == b)
    reach = max(0, max(len(a), len(b)) // 2 - 1)
    used, left = set(), []
    for i, letter in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if b[j] == letter and j not in used:
                used.add(j)
                left.append(letter)
                break
    if not left:
        return 0.0
    right = [b[j] for j in sorted(used)]
    exchanged = sum(x != y for x, y in zip(left, right, strict=True)) // 2
    found = (
        len(left) / len(a) + len(left) / len(b) + (len(left) - exchanged) / len(left)
    ) / 3
    prefix = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y),
        min(len(a), len(b)),
    )
    return found + min(4, prefix) * 0.1 * (1 - found) if found > 0.7 else found


def words(text):
    return set(text.split())


def trigrams(text):
    return {text[i : i + 3] for i in range(max(1, len(text) - 2))} if text else set()


def numbers(text):
    """Return the words with digits, and those joined with a word of up to three characters before them."""
    words = text.split()
    found = {word for word in words if any(map(str.isdigit, word))}
    return found | {a + b for a, b in pairwise(words) if b in found and len(a) <= 3}


def cosine(a, b, texts, counts, terms):
    """The cosine of the terms of two texts, each weighted by log(1 + N / n) if n of N records have it."""
    total = sum(counts)

    def weight(term):
        return log1p(
            total
            / sum(
                count
                for text, count in zip(texts, counts, strict=True)
                if term in terms(text)
            )
        )

    both = sum(weight(term) ** 2 for term in terms(a) & terms(b))
    lengths = [sqrt(sum(weight(term) ** 2 for term in terms(text))) for text in (a, b)]
    return both / (lengths[0] * lengths[1]) if both else 0.0


def text_similarity(a, b, texts, counts):
    found = (
        cosine(a, b, texts, counts, words) + cosine(a, b, texts, counts, trigrams)
    ) / 2
    if numbers(a) and numbers(b):
        found *= (1 + cosine(a, b, texts, counts, numbers)) / 2
    return found


def block_pairs(keys_a, keys_b, most):
    """The pairs with equal keys, and the keys of blocks that have more than `most` pairs; None is no key.

    Without `keys_b`, the pairs i < j of one table.
    """
    pairs, skipped = set(), set()
    for key in {key for key in keys_a if key is not None}:
        rows = [row for row, own in enumerate(keys_a) if own == key]
        if keys_b is None:
            found = set(combinations(rows, 2))
        else:
            found = {(i, j) for i in rows for j, own in enumerate(keys_b) if own == key}
        if len(found) > most:
            skipped.add(key)
        else:
            pairs |= found
    return pairs, skipped


def neighbour_pairs(values_a, values_b, window):
    """The pairs of the sorted-neighbourhood method; None is no value."""
    rows = [(value, 0, row) for row, value in enumerate(values_a) if value is not None]
    if values_b is not None:
        rows += [
            (value, 1, row) for row, value in enumerate(values_b) if value is not None
        ]
    rows.sort()
    pairs = set()
    for place, (_, table, row) in enumerate(rows):
        for _, other_table, other in rows[place + 1 : place + window]:
            if values_b is None:
                pairs.add((min(row, other), max(row, other)))
            elif table != other_table:
                pairs.add((row, other) if table == 0 else (other, row))
    return pairs


def best_matching(pairs):
    """The greatest sum of gains of (i, j, gain) such that no row occurs twice; rows are any hashable names."""
    best = 0.0
    for size in range(1, len(pairs) + 1):
        for chosen in combinations(pairs, size):
            rows = [row for i, j, _ in chosen for row in (i, j)]
            if len(set(rows)) == len(rows):
                best = max(best, sum(gain for _, _, gain in chosen))
    return best


def best_bipartite_sum(pairs, n, m):
    """The same sum for (i, j, gain) with i in 0..n-1 and j in 0..m-1, by the Hungarian method.

    n further columns without gain stand for rows without a pair; p[column] is the row of a column, u and v the
    potentials, and each round adds a row along a shortest path.
    """
    inf = float("inf")
    m += n
    cost = [[0.0] * m for _ in range(n)]
    for i, j, gain in pairs:
        cost[i][j] = -gain
    u, v, p, way = [0.0] * (n + 1), [0.0] * (m + 1), [0] * (m + 1), [0] * (m + 1)
    for row in range(1, n + 1):
        p[0], column = row, 0
        least, used = [inf] * (m + 1), [False] * (m + 1)
        while p[column]:
            used[column], at, delta, following = True, p[column], inf, 0
            for other in range(1, m + 1):
                if not used[other]:
                    reduced = cost[at - 1][other - 1] - u[at] - v[other]
                    if reduced < least[other]:
                        least[other], way[other] = reduced, column
                    if least[other] < delta:
                        delta, following = least[other], other
            for other in range(m + 1):
                if used[other]:
                    u[p[other]] += delta
                    v[other] -= delta
                else:
                    least[other] -= delta
            column = following
        while column:
            p[column], column = p[way[column]], way[column]
    return -sum(
        cost[p[column] - 1][column - 1] for column in range(1, m + 1) if p[column]
    )


def greedy_matching(pairs):
    """The pairs that a walk takes, the best first, each unless one of its rows is taken."""
    taken, chosen = set(), set()
    for i, j, _ in sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1])):
        if not {i, j} & taken:
            taken |= {i, j}
            chosen.add((i, j))
    return chosen


def points(fields, full=100.0, penalty=1.0):
    """The points of a pair: for each field the number of edits, or None if a value is missing (half of the points)."""
    return sum(
        full / 2 if d is None else max(0.0, full - penalty * d * d) for d in fields
    )


def rewritten(a, b, lines):
    """a with words replaced by words of b in the same line of synonyms, each word of b once, and their number."""
    related = {(line[0], other) for line in lines for other in line[1:]}
    related |= {(other, word) for word, other in related}
    words, left, count = a.split(), b.split(), 0
    for word in words:
        if word in left:
            left.remove(word)
    for at, word in enumerate(words):
        found = next((other for other in left if (word, other) in related), None)
        if found is not None and word not in b.split():
            words[at], count = found, count + 1
            left.remove(found)
    return " ".join(words), count
