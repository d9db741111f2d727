"""Worst inputs of `dedup`, `pairs`, `check`, `passages` and the joins."""

import random

import numpy as np

import lshfast
from lshfast import exact, passages
from lshfast.join.pair_arrays import PAIR
from tests.growth.cases import case

SECURITY = "docs/understand/security.md"
HOW_IT_WORKS = "docs/understand/how-it-works.md"


def words(prefix, count):
    return [f"{prefix}{at}" for at in range(count)]


def replaced(base, row, places):
    """Return a list with some entries replaced by ones of its own."""
    changed = list(base)
    for place in places:
        changed[place] = f"z{row}_{place}"
    return changed


def template(rows, size=100, changes=1, seed=1):
    """Return texts that differ from one text in a few words of their own."""
    chance = random.Random(seed)
    base = words("w", size)
    return [
        " ".join(replaced(base, row, chance.sample(range(size), changes)))
        for row in range(rows)
    ]


def dedup(rows, **options):
    """Return the work of `dedup`, which reports the pairs that it compared."""

    def work():
        result = lshfast.dedup(rows, threads=1, **options)
        return {"compared": result.summary.candidates}

    return work


def pairs(rows, **options):
    return lambda: {"output": len(lshfast.pairs(rows, threads=1, **options))}


# ---- dedup of texts ----


@case("dedup", 500)
def equal_texts(n):
    return dedup(["a b c d e f g h i j"] * n)


@case("dedup", 300, SECURITY, ("compared",))
def texts_of_few_characters(n):
    chance = random.Random(1)
    known = words("w", 500)
    rows = [" ".join(chance.choices(known, k=chance.randrange(1, 5))) for _ in range(n)]
    return dedup(rows, unit="char", size=4, threshold=0.5)


@case("dedup", 200)
def template_above_the_threshold(n):
    return dedup(template(n))


@case("dedup", 200)
def template_just_below_the_threshold(n):
    return dedup(template(n, 400, 14))


@case("dedup", 100)
def prefixes_of_a_text(n):
    base = words("w", 100)
    return dedup([" ".join([*base[: 5 + row % 95], f"z{row}"]) for row in range(n)])


@case("dedup --measure containment", 100)
def nested_texts_by_containment(n):
    base = words("w", 100)
    rows = [" ".join([*base[: 5 + row % 95], f"z{row}"]) for row in range(n)]
    return dedup(rows, measure="containment")


@case("dedup --measure containment", 500)
def texts_of_one_word_by_containment(n):
    chance = random.Random(1)
    rows = []
    for row in range(n):
        others = [f"z{chance.randrange(10**9)}" for _ in range(20)]
        rows.append("a" if row % 2 else " ".join(["a", *others]))
    return dedup(rows, measure="containment", size=1)


@case("dedup", 200)
def sliding_windows(n):
    base = words("w", n + 60)
    return dedup([" ".join(base[row : row + 60]) for row in range(n)])


@case("dedup --groups components", 200)
def chain_of_texts(n):
    base = words("w", n + 60)
    rows = [" ".join(base[row : row + 60]) for row in range(n)]
    return dedup(rows, groups="components")


@case("dedup --exact", 300)
def half_of_each_text_is_common(n):
    chance = random.Random(1)
    common = words("w", 30)
    rows = [
        " ".join(common + [f"z{chance.randrange(10**9)}" for _ in range(30)])
        for _ in range(n)
    ]
    return dedup(rows, exact=True, size=1, threshold=0.5)


@case("dedup", 20_000)
def one_long_text(n):
    return dedup(["ab " * n, "ab " * (n - 1) + "c"])


@case("dedup", 20_000)
def one_word_without_end(n):
    return dedup(["a" * n, "a" * n + "b"])


@case("dedup --normalize", 20_000)
def marks_to_be_ordered(n):
    rows = ["e" + "\u0301" * n, "a" + "\u0323\u0301" * (n // 2)]
    return dedup(rows, normalize="NFC")


@case("dedup --unit char", 4000)
def periodic_text(n):
    return dedup(["abcde" * n, "abcde" * n + "f"], unit="char", size=13)


@case("dedup --ignore-common", 200)
def common_shingles(n):
    return dedup(template(n, 60, 5), ignore_common=0.5)


@case("dedup --verify signature", 100, SECURITY, ("compared",))
def template_by_signatures(n):
    return dedup(template(n, 400, 14), verify="signature")


# ---- other kinds ----


@case("dedup --as set", 200, HOW_IT_WORKS, ("compared",))
def subsets_of_few_elements(n):
    rows = [[f"e{bit}" for bit in range(17) if row >> bit & 1] for row in range(n)]
    return dedup(rows, kind="set")


@case("dedup --as set", 300)
def one_element_in_all_sets(n):
    rows = [["u", *(f"{row}_{at}" for at in range(10))] for row in range(n)]
    return dedup(rows, kind="set", threshold=0.1)


@case(
    "dedup --as set --exact",
    100,
)
def sets_of_a_small_universe(n):
    chance = random.Random(2)
    rows = [[f"e{chance.randrange(40)}" for _ in range(12)] for _ in range(n)]
    return dedup(rows, kind="set", threshold=0.2, exact=True)


@case("dedup --as weighted", 50)
def equal_weighted_sets(n):
    return dedup(
        [{f"e{at}": 1.0 + at for at in range(20)} for _ in range(n)], kind="weighted"
    )


@case("dedup --as weighted", 50)
def weighted_sets_below_the_threshold(n):
    common = {f"e{at}": 1.0 for at in range(30)}
    rows = [{**common, **{f"z{row}_{at}": 1.0 for at in range(5)}} for row in range(n)]
    return dedup(rows, kind="weighted")


def points(n, spread, dim=64):
    generator = np.random.default_rng(0)
    center = generator.normal(size=(1, dim))
    return (center + spread * generator.normal(size=(n, dim))).astype(np.float32)


@case("dedup --as vector", 200)
def equal_vectors(n):
    return dedup(points(n, 0), kind="vector")


@case("dedup --as vector", 100, SECURITY, ("compared", "kernel bytes"))
def vectors_below_the_threshold(n):
    return dedup(points(n, 0.3, 128), kind="vector", threshold=0.95)


@case("dedup --as code", 500)
def equal_codes(n):
    return dedup(np.zeros((n, 4), np.uint64), kind="code", radius=5)


@case("dedup --as code", 500)
def codes_with_three_equal_words(n):
    codes = np.zeros((n, 4), np.uint64)
    codes[:, 0] = np.random.default_rng(0).integers(0, 2**63, n)
    return dedup(codes, kind="code", radius=5)


@case("dedup --as code", 500)
def codes_with_equal_beginnings(n):
    codes = np.random.default_rng(0).integers(0, 2**16, n, dtype=np.uint64)
    return dedup(codes, kind="code", radius=3)


# ---- pairs and joins ----


@case("pairs", 50)
def pairs_of_a_template(n):
    return pairs(template(n))


@case("pairs --top", 50)
def most_similar_pairs_of_a_template(n):
    return pairs(template(n), top=3)


@case("pairs --as vector", 200, SECURITY, ("kernel bytes",))
def pairs_of_vectors_below_the_threshold(n):
    return pairs(points(n, 0.3, 128), kind="vector", threshold=0.95)


def join(sets, **options):
    return lambda: {"output": len(exact.join(sets, threads=1, **options).pairs)}


@case("exact.join", 500)
def join_with_one_token_in_all_sets(n):
    sets = [[0, *range(10 * row + 1, 10 * row + 11)] for row in range(n)]
    return join(sets, threshold=0.5)


@case("exact.join", 300)
def join_of_short_sets_that_share_a_half(n):
    chance = random.Random(1)
    sets = [
        [0, 1, 2, *(chance.randrange(3, 10**9) for _ in range(3))] for _ in range(n)
    ]
    return join(sets, threshold=0.5)


@case("exact.join", 300)
def join_of_two_pools(n):
    """Each set has some elements of one small pool, and some of another one."""
    chance = random.Random(1)
    sets = [
        [*chance.sample(range(30), 4), *chance.sample(range(30, 60), 4)]
        for _ in range(n)
    ]
    return join(sets, threshold=0.8)


@case("exact.join", 300)
def join_of_copies(n):
    return join([list(range(10))] * n, copies="first")


@case("exact.join --measure containment", 150)
def join_of_nested_sets(n):
    sets = [[*range(1 + row % 20), 100 + row] for row in range(n)]
    return join(sets, measure="containment", threshold=0.9)


@case("exact.pairs", 5000)
def two_long_sets(n):
    sets = [list(range(n)), list(range(1, n + 1))]
    return lambda: {"output": len(exact.pairs(sets, threads=1))}


@case("candidates", 500)
def colliding_keys(n):
    """All rows share all buckets; the first row of each bucket meets the others."""
    sets = lshfast.TokenSets.from_sets([[1, 2, 3]] * n)
    signatures = lshfast.MinHasher(32).sketch(sets)
    keys = lshfast.choose_bands(0.8, 32).keys(signatures)
    copies = lshfast.find_copies(sets)
    return lambda: {"output": len(lshfast.candidates(keys, copies=copies)[0])}


def complete_graph(pairs):
    """Return a number of rows, and all pairs of them, which are about as many as `pairs`."""
    rows = int((2 * pairs) ** 0.5) + 1
    found = np.ones(rows * (rows - 1) // 2, PAIR)
    found["i"], found["j"] = np.triu_indices(rows, 1)
    return rows, found


@case("component_groups", 2000)
def components_of_a_dense_graph(n):
    rows, pairs = complete_graph(n)
    return lambda: lshfast.component_groups(rows, pairs) and None


@case("star_groups", 2000)
def stars_of_a_dense_graph(n):
    rows, pairs = complete_graph(n)
    return lambda: lshfast.star_groups(rows, pairs) and None


@case("recommend", 1000)
def short_texts(n):
    return lambda: lshfast.recommend(["a b"] * n) and None


@case("check", 100)
def check_of_equal_texts(n):
    return lambda: lshfast.check(["a b c d e f g h i j"] * n, threads=1) and None


@case("check", 60, is_weekly=True)
def check_of_a_template(n):
    rows = template(n)
    return lambda: lshfast.check(rows, threads=1, sample=50) and None


@case("check --as vector", 60)
def check_of_near_vectors(n):
    rows = points(n, 0.1)
    return lambda: lshfast.check(rows, kind="vector", threads=1, sample=50) and None


# ---- passages ----


def find(texts, against=None, **options):
    def work():
        return {"output": len(passages.find(texts, against, threads=1, **options))}

    return work


@case("passages", 2000)
def passages_of_a_periodic_text(n):
    return find(["a b c d e f g " * (n // 7)], length=20)


@case("passages", 2000)
def passages_of_one_word(n):
    return find(["a " * n, "a " * (n // 2) + "b " + "a " * (n // 2)], length=20)


@case("passages", 1500)
def passages_of_a_fibonacci_word(n):
    text = "a b"
    before = "a"
    while text.count(" ") < n:
        before, text = text, f"{text} {before}"
    return find([text, text[2:]], length=20)


@case("passages", 1500)
def passages_of_two_letters(n):
    chance = random.Random(1)
    letters = [chance.choice("ab") for _ in range(n)]
    swapped = ["b" if letter == "a" else "a" for letter in letters]
    return find([" ".join(letters), " ".join(swapped)], length=12)


@case("passages", 10)
def all_copies_of_a_passage(n):
    return find([" ".join(words("w", 60))] * n, length=20, most_copies=None)


@case("passages", 100)
def some_copies_of_a_passage(n):
    base = " ".join(words("w", 60))
    return find([f"{base} z{row}" for row in range(n)], length=20)


@case("passages", 100)
def blocks_in_any_order(n):
    chance = random.Random(1)
    blocks = [" ".join(words(f"b{block}_", 25)) for block in range(40)]
    return find([" ".join(chance.sample(blocks, 5)) for _ in range(n)], length=20)


@case("passages --unit char", 4000)
def passages_of_two_characters(n):
    return find(["ab" * n, "ab" * (n - 1) + "c"], length=30, unit="char")


@case("passages --against", 30)
def periodic_texts_against_others(n):
    texts = ["a b c d e f g " * 50] * n
    return find(texts, texts, length=20)
