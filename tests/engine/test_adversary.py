"""Texts made by lattice reduction against the default seed, and what the key of a run makes of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import (
    DistinctCounter,
    LSHForest,
    LSHIndex,
    MinHasher,
    SimHasher,
    TokenSets,
    WeightedMinHasher,
    dedup,
    find_copies,
    pairs,
    shingle,
)
from lshfast._engine.clock import Clock
from lshfast._engine.plan import make_plan
from lshfast._engine.sketching import sketch_rows
from lshfast.kernels.text import Texts
from lshfast.sketch import OnePermutation
from tests.reference import text as reference

# Each word of the forgery has the hash of the victim's word under seed 1.
VICTIM = "When in the course of human events it becomes necessary for one people to dissolve the bands"
FORGERY = (
    "upmpkjiploqmokljmnomm limnisiimlpplolklmjni oxlmlpoppjpiilojlmjgf onftqtqjktkiqqsniskmm opnqpqtsinijjkmilplmj "
    "okjnmxmmsnqllmrpmshpl oopoqjqkmrvhlrhirrqjk lpnmprqllnlcnkmlljpji qvmnqsnpowpclmskqnike lrlnkirsjmmgipqglnlmg "
    "npdosvlqmjnjjqsnmjhpg nkjtipmrmomioqvpkmijc sudwqzoqptjdjzsdmshob onkmqqhnoknngnopoqhll srllijqmshkqqqlkkvlij "
    "oxlmlpoppjpiilojlmjgf yqipuurvlopblznjnolng"
)
# Texts with fewer characters than a shingle are one shingle: these two have one token under seed 1.
SHORT_VICTIM, SHORT_FORGERY = "this text is mine alone", "oskfnlsgtrqlripknisnjin"

# Runs of 24 different words, (a a … a b b … b …): the shingles of both agree in their number, in
# the sum of their mixed tokens under seed 1 and in the sum of their squares, mod 2^64.
APPLES = [
    38,
    40,
    38,
    43,
    42,
    41,
    37,
    41,
    42,
    39,
    34,
    43,
    40,
    40,
    39,
    44,
    37,
    40,
    43,
    33,
    38,
    39,
    40,
    41,
]
STONES = [
    38,
    40,
    43,
    40,
    38,
    39,
    41,
    36,
    39,
    34,
    42,
    41,
    42,
    43,
    42,
    40,
    40,
    42,
    36,
    36,
    36,
    41,
    42,
    41,
]
RUNS = [
    " ".join(f"{word}{number} " * length for number, length in enumerate(lengths))
    for word, lengths in (("apple", APPLES), ("stone", STONES))
]
FORGED = {
    "words": (VICTIM, FORGERY, {"unit": "word", "size": 5}),
    "single words": (VICTIM, FORGERY, {"unit": "word", "size": 1}),
    "characters": (SHORT_VICTIM, SHORT_FORGERY, {"unit": "char", "size": 32}),
}
PAIRS = pytest.mark.parametrize(
    ("victim", "forgery", "shingles"), FORGED.values(), ids=FORGED
)


@PAIRS
def test_the_forgeries_are_good(victim, forgery, shingles):
    """They have the tokens that they were made for, and nothing else in common."""
    first, second = shingle([victim, forgery], **shingles)
    assert first.tolist() == second.tolist()
    assert not set(reference.words(victim)) & set(reference.words(forgery))


def test_the_sums_are_equal():
    def mixed(tokens):
        for shift, factor in (
            (30, 0xBF58476D1CE4E5B9),
            (27, 0x94D049BB133111EB),
            (31, 1),
        ):
            tokens = (tokens ^ tokens >> np.uint64(shift)) * np.uint64(factor)
        return tokens

    first, second = map(mixed, shingle(RUNS))
    for power in (0, 1, 2):
        assert (first**power).sum() == (second**power).sum()
    assert not np.isin(first, second).any()


@PAIRS
@pytest.mark.parametrize("verify", ["exact", "signature", "none"])
def test_a_forgery_is_no_copy(victim, forgery, shingles, verify):
    result = dedup(
        [victim, forgery, victim.upper(), f" {forgery}"],
        verify=verify,
        threshold=1,
        **shingles,
    )
    spaced = shingles["unit"] == "char"  # a blank is a character
    assert result.summary.copies == (1 if spaced else 2)
    if verify == "exact":
        assert result.keeper.tolist() == ([0, 1, 0, 3] if spaced else [0, 1, 0, 1])
        assert result.similarity.tolist() == [1.0] * 4


@PAIRS
@pytest.mark.parametrize("keep", ["first", "last", "longest", "shortest"])
@pytest.mark.parametrize("groups", ["star", "components"])
def test_a_forgery_removes_nobody(victim, forgery, shingles, keep, groups):
    for texts in ([victim, forgery], [forgery, victim]):
        assert dedup(
            texts, keep=keep, groups=groups, threshold=0.1, **shingles
        ).keep.all()
        assert len(pairs(texts, threshold=0.1, **shingles)) == 0


@pytest.mark.parametrize(
    "how",
    [{"exact": True}, {"exact": False, "bands": 128, "rows_per_band": 1}],
    ids=["exact", "bands"],
)
@pytest.mark.parametrize("groups", ["star", "components"])
def test_forged_words_do_not_make_a_set_smaller(groups, how):
    """Under seed 1 the forged words of the long text are those of the victim, so it has fewer tokens than the other."""
    short, long = f"{VICTIM} of all those", f"{VICTIM} {' '.join(FORGERY.split()[:12])}"
    assert (
        np.diff([len(set(row.tolist())) for row in shingle([short, long], size=1)])[0]
        < 0
    )
    for texts in ([short, long], [long, short]):
        result = dedup(
            texts, measure="containment", size=1, threshold=0.7, groups=groups, **how
        )
        assert [texts[row] for row in np.flatnonzero(result.keep)] == [long]


def test_runs_of_equal_sums_are_no_copies():
    assert find_copies(shingle(RUNS)).tolist() == [0, 1]
    for verify in ("exact", "signature", "none"):
        assert dedup(RUNS, verify=verify).keep.all()


def test_forged_elements_of_sets():
    """Sets of strings are hashed again, as texts are; of token sets the tokens are all there is."""
    victim, forgery = VICTIM.lower().split(), FORGERY.split()
    sets = [victim, forgery, [word.encode() for word in victim]]
    assert dedup(sets, threshold=0.1).keeper.tolist() == [0, 1, 0]
    assert dedup(TokenSets.from_sets(sets), threshold=0.1).keeper.tolist() == [0, 0, 0]


def test_results_do_not_depend_on_the_key():
    texts = [
        VICTIM,
        FORGERY,
        f"{VICTIM} asunder",
        VICTIM.upper(),
        *RUNS,
        "",
        f"{FORGERY} too",
        SHORT_VICTIM,
    ] * 3
    first, *others = [dedup(texts, threshold=0.7, size=3) for _ in range(12)]
    for other in others:
        for name in ("keep", "keeper", "labels", "similarity", "pairs"):
            assert np.array_equal(getattr(first, name), getattr(other, name)), name


# Words that are equal in lower case, and texts that differ only in what separates words or in the
# order of shingles.
WORDS = st.tuples(
    st.sampled_from(["a", "A", "b", "é", "É", "中"]), st.sampled_from([" ", ", ", "\n"])
)
LINES = st.lists(WORDS.map("".join), max_size=6).map("".join)


@given(
    st.lists(LINES, max_size=12),
    st.sampled_from(["word", "char"]),
    st.integers(1, 3),
    st.sampled_from([1, 2]),
)
def test_copies_are_texts_with_equal_multisets_of_shingles(texts, unit, size, threads):
    def multiset(line):
        items = (
            reference.words(line)
            if unit == "word"
            else [chr(reference.lower(ord(x))) for x in line]
        )
        width = min(size, len(items))
        return (
            sorted(
                tuple(items[at : at + width]) for at in range(len(items) - width + 1)
            )
            if items
            else []
        )

    seen, expected = {}, []
    for row, line in enumerate(texts):
        shingles = multiset(line)
        expected.append(seen.setdefault(tuple(shingles), row) if shingles else row)
    plan = make_plan(unit=unit, size=size, threads=threads)
    assert sketch_rows([Texts(texts)], plan, Clock()).copies.tolist() == expected


def test_copies_across_pieces_of_work():
    """Four megabytes of copies: of the same bytes, and in other dress, which are hashed again."""
    line = " ".join(f"word{number}" for number in range(2000))
    texts = [
        line,
        line.upper(),
        FORGERY,
        VICTIM,
        *[line] * 100,
        *[line.title()] * 100,
        FORGERY.upper(),
        VICTIM,
    ]
    result = dedup(texts, threads=2)
    assert result.keeper.tolist() == [0, 0, 2, 3, *[0] * 200, 2, 3]
    assert result.summary.copies == 203


# A phrase whose shingles win all slots of band 0 under seed 1: t0a t0b t0c t0d and a made word, t1a
# …
WINNERS = [
    "vpintskgkrqjkuwkpllje",
    "romksoipjjghktrjnnild",
    "tpfsmvnslpignlpopnllj",
    "mlmqrrnmpqkknmsmmtmmn",
    "yojppwmronsdotlfrmdgg",
    "momipnjpskjnnrohpkjnn",
    "wsmorritqrjgnoxepjjgh",
]
PHRASE = " ".join(
    f"t{slot}a t{slot}b t{slot}c t{slot}d {word}" for slot, word in enumerate(WINNERS)
)


def test_a_phrase_for_one_bucket():
    """Under the seed it was made for, each text with it meets all the others; under a random one it is any phrase."""
    words = np.random.default_rng(1).integers(0, 50_000, (30, 40)).tolist()
    texts = [" ".join(map(str, row)) + f" {PHRASE}" for row in words]
    assert dedup(texts).summary.candidates == 30 * 29 / 2
    for _ in range(5):
        assert dedup(texts, seed="random").summary.candidates < 400
    assert dedup(texts).keep.all()


# Seeds that nobody can know


def test_a_random_seed_is_a_number_that_is_kept():
    first, second = MinHasher(seed="random"), MinHasher(seed="random")
    assert first.seed != second.seed
    assert 0 <= first.seed < 2**64
    assert MinHasher(seed=first.seed) == first
    sets = TokenSets.from_sets([["a"], ["b"]], seed=first.seed)
    assert np.array_equal(MinHasher(seed=first.seed).sketch(sets), first.sketch(sets))


@pytest.mark.parametrize(
    "kind", [DistinctCounter, OnePermutation, SimHasher, WeightedMinHasher, LSHForest]
)
def test_random_seeds_of_others(kind):
    seeds = {
        getattr(made, "hasher", made).seed
        for made in (kind(seed="random"), kind(seed="random"), kind())
    }
    assert len(seeds) == 3
    assert 1 in seeds


def test_an_index_keeps_its_random_seed(tmp_path):
    index = LSHIndex(seed="random", shingles="word:5")
    dedup(
        [VICTIM, FORGERY],
        keys=["a", "b"],
        against=index,
        add=True,
        seed=index.hasher.seed,
    )
    index.save(tmp_path / "kept.lsh")
    with LSHIndex.open(tmp_path / "kept.lsh") as again:
        assert again.hasher == index.hasher
        assert dedup(
            [VICTIM.upper()], against=again, seed=again.hasher.seed
        ).removed == [(0, "a", 1.0)]
        with pytest.raises(
            ValueError, match=f"seed is {again.hasher.seed} in this index, not 1$"
        ):
            dedup([VICTIM], against=again)


def test_a_random_seed_in_runs():
    """The forgery was made for seed 1; under another it is not even a candidate, and true pairs are found as ever."""
    texts = [VICTIM, FORGERY, f"{VICTIM} asunder", VICTIM.upper()]
    for _ in range(5):
        result = dedup(texts, threshold=0.5, size=1, seed="random")
        assert result.keeper.tolist() == [0, 1, 0, 0]
        assert (
            pairs(texts, threshold=0.5, size=1, seed="random").tolist()
            == result.pairs.tolist()
        )
        assert result.summary.candidates == 1


@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        ("Random", TypeError, "seed must be an int or 'random', not 'Random'"),
        (None, TypeError, "seed must be an int or 'random', not None"),
        (-1, ValueError, r"seed must be in 0\.\.2\*\*64 - 1, not -1"),
    ],
)
def test_wrong_seeds(seed, error, message):
    for call in (
        lambda: MinHasher(seed=seed),
        lambda: LSHIndex(seed=seed),
        lambda: dedup([], seed=seed),
    ):
        with pytest.raises(error, match=message):
            call()


def test_functions_that_return_no_seed_take_numbers_only():
    for call in (
        lambda: shingle(["a"], seed="random"),
        lambda: TokenSets.from_sets([["a"]], seed="random"),
    ):
        with pytest.raises(TypeError, match="seed must be an int, not 'random'"):
            call()
