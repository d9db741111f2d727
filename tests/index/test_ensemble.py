"""LSHEnsemble beside brute force and a dict, its recall as a statistic, and what it says is out of reach."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lshfast import MinHasher, TokenSets
from lshfast.index import entries
from lshfast.index.ensemble import LSHEnsemble
from lshfast.index.matches import Match
from tests.reference import forest as reference
from tests.reference.hashing import EMPTY
from tests.shares import share_of

K = 8

KEYS = st.one_of(
    st.integers(-3, 30), st.sampled_from([2**63 - 1, -(2**63), 2**63, 2**64 - 1])
)
SIZES = st.one_of(st.integers(1, 12), st.sampled_from([100, 1000, 2**53]))
FILLED = st.tuples(
    st.lists(st.integers(0, 2), min_size=K, max_size=K).map(tuple), SIZES
)
SETS = st.one_of(FILLED, FILLED, FILLED, st.just(((EMPTY,) * K, 0)))


def array_of(rows, k=K):
    return np.array(rows, np.uint64).reshape(len(rows), k)


class EnsembleMachine(RuleBasedStateMachine):
    """An ensemble and a dict: each step is done to both. Partitions are made anew and runs merged often."""

    @initialize(partitions=st.sampled_from([1, 3, 16]), trees=st.sampled_from([2, 8]))
    def begin(self, partitions, trees):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(entries, "UNSORTED_ROWS", 4)
        self.patch.setattr(entries, "RATIO", 2)
        self.complete = trees == K
        self.ensemble, self.model = (
            LSHEnsemble(0.6, K, partitions=partitions, trees=trees, recall=0.999999999),
            {},
        )

    def teardown(self):
        if hasattr(self, "patch"):
            self.patch.undo()

    @rule(data=st.data(), mode=st.sampled_from(["error", "replace", "skip"]))
    def insert(self, data, mode):
        keys = data.draw(st.lists(KEYS, max_size=10))
        sets = data.draw(st.lists(SETS, min_size=len(keys), max_size=len(keys)))
        rows, sizes = array_of([row for row, _ in sets]), [size for _, size in sets]
        self.ensemble.on_duplicate = mode
        if mode == "error" and (
            len(set(keys)) < len(keys) or not self.model.keys().isdisjoint(keys)
        ):
            with pytest.raises(
                ValueError, match="is in the index already, or twice in the batch"
            ):
                self.ensemble.insert(keys, rows, sizes)
            return
        chosen = {}
        for key, one in zip(keys, sets, strict=True):
            if mode == "replace" or (key not in self.model and key not in chosen):
                chosen[key] = one
        assert self.ensemble.insert(keys, rows, sizes) == len(chosen)
        self.model |= chosen

    @rule(data=st.data(), one=SETS)
    def insert_one(self, data, one):
        key = data.draw(KEYS)
        self.ensemble.on_duplicate = "replace"
        assert self.ensemble.insert(key, array_of([one[0]])[0], one[1]) == 1
        self.model[key] = one

    @rule(data=st.data())
    def remove(self, data):
        if self.model:
            keys = data.draw(st.lists(st.sampled_from(list(self.model)), max_size=8))
            self.ensemble.remove(keys)
            for key in set(keys):
                del self.model[key]

    @rule(
        data=st.data(),
        threshold=st.sampled_from([None, 0.05, 0.3, 1.0]),
        k=st.sampled_from([None, 1, 3]),
    )
    def query(self, data, threshold, k):
        held = [st.sampled_from(list(self.model.values()))] if self.model else []
        queries = data.draw(st.lists(st.one_of(SETS, *held), max_size=4))
        rows = array_of([row for row, _ in queries])
        sizes = [size for _, size in queries]
        answers = self.ensemble.query(rows, sizes, threshold=threshold, k=k)
        assert len(answers) == len(queries)
        for i, (query, answer) in enumerate(zip(queries, answers, strict=True)):
            assert answer == self.ensemble.query(
                rows[i], sizes[i], threshold=threshold, k=k
            )
            self.check(query, answer, threshold or 0.6, k)

    def check(self, query, answer, threshold, k):
        """Each match is an entry with its estimate, in order, and none is missing if each slot has a tree."""
        row, size = query
        true = {}
        for key, (other, other_size) in self.model.items():
            equal = reference.agreement(row, other)
            if equal:
                true[key] = float(reference.containment(equal, K, size, other_size))
        assert all(isinstance(match, Match) for match in answer)
        for key, share in answer:
            assert share == pytest.approx(true[key], rel=1e-12)
            assert threshold <= share <= 1
        ranks = [(-share, key) for key, share in answer]
        assert ranks == sorted(ranks)
        assert len({key for key, _ in answer}) == len(answer)
        clear = sorted(
            (share for share in true.values() if share > threshold * (1 + 1e-12)),
            reverse=True,
        )
        if self.complete:
            found = [share for _, share in answer]
            assert found[: len(clear[:k])] == pytest.approx(clear[:k], rel=1e-12)
        if k is not None:
            assert len(answer) <= k

    @invariant()
    def same_keys(self):
        if hasattr(self, "ensemble"):
            assert len(self.ensemble) == len(self.model)
            assert sorted(self.ensemble) == sorted(self.model)
            assert all(key in self.ensemble for key in self.model)


TestEnsembleMachine = pytest.mark.slow(EnsembleMachine.TestCase)
TestEnsembleMachine.settings = settings(
    max_examples=share_of(80), stateful_step_count=25
)


# The promise


def nested(count, factors, held, size=100, seed=1):
    """Return sets that hold the given share of `count` queries of `size` elements, of `factor` times their size.

    Sets of one query come one after the other, in the order of the factors.
    """
    generator = np.random.default_rng(seed)
    queries = generator.integers(0, 2**63, (count, size), dtype=np.uint64)
    sets = [
        np.concatenate(
            [
                query[: round(held * size)],
                generator.integers(0, 2**63, round(size * (factor - held)), np.uint64),
            ]
        )
        for query in queries
        for factor in factors
    ]
    return tokens_of(sets), tokens_of(queries)


def tokens_of(rows):
    return TokenSets(np.cumsum([0, *map(len, rows)]), np.concatenate(rows))


FACTORS = [1, 1.5, 2, 3, 4, 6, 8]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["fast", "classic"])
@pytest.mark.parametrize(
    ("recall", "threshold"), [(0.95, 0.8), (0.6, 0.8), (0.95, 0.5)]
)
def test_recall(scheme, recall, threshold):
    """Entries that reach the threshold by their slots are found as promised, in sets of each size; nothing else is."""
    sets, queries = nested(250, FACTORS, 0.9)
    hasher = MinHasher(128, scheme)
    signatures, asked = hasher.sketch(sets), hasher.sketch(queries)
    ensemble = LSHEnsemble(threshold, recall=recall, scheme=scheme)
    ensemble.insert(range(len(sets)), signatures, sets.counts)
    answers = ensemble.query(asked, queries.counts)
    trials = dict.fromkeys(FACTORS, 0)
    found = dict.fromkeys(FACTORS, 0)
    for i, answer in enumerate(answers):
        keys = {match.key for match in answer}
        for j, factor in enumerate(FACTORS):
            row = i * len(FACTORS) + j
            equal = int((signatures[row] == asked[i]).sum())
            share = float(reference.containment(equal, 128, 100, int(sets.counts[row])))
            if share > threshold:
                trials[factor] += 1
                found[factor] += row in keys
            elif share < threshold:
                assert row not in keys
    plan = {part.upper: part.recall for part in ensemble.plan(100)}
    for factor in FACTORS:
        promised = min(
            recall, *(share for upper, share in plan.items() if upper >= 100 * factor)
        )
        least = promised - 4 * math.sqrt(promised * (1 - promised) / trials[factor])
        assert trials[factor] > 50
        assert found[factor] / trials[factor] >= least
    assert ensemble.expected_recall(100) == min(plan.values())


def test_what_is_far_larger_than_the_query():
    """A query in a set a hundred times as large shares about one slot; each slot is looked up by itself then."""
    sets, queries = nested(300, [100], 1.0)
    hasher = MinHasher(128)
    signatures, asked = hasher.sketch(sets), hasher.sketch(queries)
    ensemble = LSHEnsemble(0.8)
    ensemble.insert(range(len(sets)), signatures, sets.counts)
    (part,) = ensemble.plan(100)
    assert (part.upper, part.depth) == (10_000, 1)
    assert part.trees > 32
    assert part.similarity == pytest.approx(0.8 / (100 + 1 - 0.8))
    assert part.recall == ensemble.expected_recall(100) >= 0.95
    assert ensemble.expected_recall(100, threshold=0.2) >= 0.95
    assert ensemble.expected_recall(5000) >= 0.95
    # No set is large enough to hold four fifths of it.
    assert ensemble.plan(12_501) == []
    assert ensemble.expected_recall(12_501) == 1
    reach = [(signatures[i] == asked[i]).sum() for i in range(300)]
    answers = ensemble.query(asked, queries.counts)
    found = [
        any(match.key == i for match in answer) for i, answer in enumerate(answers)
    ]
    wanted = [
        reference.containment(int(equal), 128, 100, 10_000) >= 0.8 for equal in reach
    ]
    share = np.mean([f for f, w in zip(found, wanted, strict=True) if w])
    assert share >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / sum(wanted))


@pytest.mark.parametrize(
    ("slack", "least"), [(0.0, 0.3), (1.0, 0.8), (1.65, 0.93), (3.0, 0.98)]
)
def test_slack(slack, least):
    """Sets that just reach the threshold: half of them by their estimate, and more with a slack."""
    sets, queries = nested(200, [1, 2, 5, 10], 0.6)
    hasher = MinHasher(128)
    ensemble = LSHEnsemble(0.6, slack=slack, recall=0.999)
    ensemble.insert(range(len(sets)), hasher.sketch(sets), sets.counts)
    answers = ensemble.query(hasher.sketch(queries), queries.counts)
    keys = [{match.key for match in answer} for answer in answers]
    found = np.mean(
        [key in keys[i] for i in range(200) for key in range(4 * i, 4 * i + 4)]
    )
    assert found >= least
    if slack == 0:
        assert found < 0.7
        assert all(share >= 0.6 for share in answers.similarity)


@given(
    st.integers(1, 10**6),
    st.floats(0.05, 1),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=8),
)
def test_plan(q, threshold, uppers):
    """A set of the greatest size that reaches the threshold has the slots that the plan counts on."""
    ensemble = LSHEnsemble(threshold, 64)
    least = ensemble._least(np.array(uppers), np.array([[q]]), threshold)[0].tolist()
    for upper, equal in zip(uppers, least, strict=True):
        shares = [float(reference.containment(m, 64, q, upper)) for m in range(65)]
        reaching = [m for m, share in enumerate(shares) if share >= threshold]
        if reaching:
            assert max(1, min(reaching) - 1) <= equal <= max(1, min(reaching))


def test_error_of_the_estimate():
    """The docstring's standard errors, which are those of independent slots: at most these, and nearly without bias."""
    hasher = MinHasher(128, "classic")
    for factor, said in ((2, 0.06), (10, 0.24)):
        sets, queries = nested(400, [factor], 1.0)
        equal = (hasher.sketch(sets) == hasher.sketch(queries)).sum(axis=1)
        shares = equal * (100 + 100 * factor) / ((128 + equal) * 100)
        assert np.sqrt(np.mean((shares - 1) ** 2)) == pytest.approx(said, rel=0.15)
        assert abs(shares.mean() - 1) <= 4 * said / math.sqrt(400) + said**2 / 5


# Partitions


def test_partitions_follow_the_sizes():
    """Sets that grow as they come, and many of one size, lie in partitions that differ little in number."""
    ensemble = LSHEnsemble(0.5, 16, partitions=8)
    signatures = np.random.default_rng(1).integers(
        0, 2**63, (20_000, 16), dtype=np.uint64
    )
    for start in range(0, 20_000, 500):
        ensemble.insert(
            range(start, start + 500),
            signatures[start : start + 500],
            np.arange(start + 1, start + 501),
        )
    uppers = [part.upper for part in ensemble.plan(1, threshold=0.5)]
    assert len(uppers) == 8
    assert uppers[-1] == 20_000
    assert max(np.diff([0, *uppers])) <= 3 * 20_000 / 8
    for start in range(20_000, 40_000, 500):
        ensemble.insert(
            range(start, start + 500),
            signatures[start - 20_000 : start - 19_500],
            np.full(500, 7),
        )
    assert 7 in [part.upper for part in ensemble.plan(1, threshold=0.5)]
    answers = ensemble.query(signatures[:1000], np.full(1000, 7), k=2)
    assert (np.isin(np.arange(20_000, 21_000), answers.keys)).all()


def test_sets_of_one_size_are_one_partition():
    ensemble = LSHEnsemble(0.5, 16, partitions=8)
    signatures = np.random.default_rng(1).integers(
        0, 2**63, (5000, 16), dtype=np.uint64
    )
    ensemble.insert(range(5000), signatures, [100] * 5000)
    assert [part.upper for part in ensemble.plan(100)] == [100]
    assert ensemble.query(signatures, [100] * 5000).keys.tolist() == list(range(5000))


def test_what_was_removed_is_forgotten():
    generator = np.random.default_rng(1)
    signatures = generator.integers(0, 2**63, (6000, 16), dtype=np.uint64)
    sizes = generator.integers(1, 10**6, 6000)
    ensemble = LSHEnsemble(0.5, 16)
    ensemble.insert(range(6000), signatures, sizes)
    full = ensemble.nbytes
    ensemble.remove(range(5900))
    assert ensemble.nbytes < full / 10
    answers = ensemble.query(signatures, sizes)
    assert answers.keys.tolist() == list(range(5900, 6000))


# Entries


@pytest.fixture
def hasher():
    return MinHasher(256)


@pytest.fixture
def sets():
    """The first holds nine tenths of range(100), the second all of it, the third less than half; and an empty set."""
    return TokenSets.from_sets(
        [range(90), range(150), range(40), range(1000, 1100), []]
    )


@pytest.fixture
def ensemble(hasher, sets):
    made = LSHEnsemble(0.7, 256)
    made.insert(
        ["most", "all", "some", "other", "none"], hasher.sketch(sets), sets.counts
    )
    return made


@pytest.fixture
def query(hasher):
    return hasher.sketch(TokenSets.from_sets([range(100)]))[0]


def test_answers(ensemble, query, hasher, sets):
    answer = ensemble.query(query, 100)
    assert [match.key for match in answer] == ["all", "most"]
    similarity = hasher.similarity(query, hasher.sketch(sets))
    shares = np.minimum(
        similarity * (100 + sets.counts) / ((1 + similarity) * 100), sets.counts / 100
    )
    assert [match.similarity for match in answer] == pytest.approx(
        np.minimum(shares[[1, 0]], 1)
    )
    assert ensemble.query(query, 100, k=1) == answer[:1]
    assert [match.key for match in ensemble.query(query, 100, threshold=0.2)] == [
        "all",
        "most",
        "some",
    ]
    assert ensemble.query(query, 100, threshold=1) == [
        match for match in answer if match.similarity == 1
    ]


def test_a_small_set_holds_no_more_than_it_has(hasher):
    """A set of 30 elements, all of them the query's, holds three tenths of it, however many slots are equal."""
    sets = TokenSets.from_sets([range(30)])
    ensemble = LSHEnsemble(0.25, 256)
    ensemble.insert(["part"], hasher.sketch(sets), sets.counts)
    ((_, share),) = ensemble.query(
        hasher.sketch(TokenSets.from_sets([range(100)]))[0], 100
    )
    assert share <= 0.3
    assert ensemble.query(hasher.sketch(sets)[0], 100) == [("part", 0.3)]


def test_empty_sets_match_nothing(ensemble, hasher, sets):
    assert "none" in ensemble
    answers = ensemble.query(hasher.sketch(sets), sets.counts, threshold=0.01)
    assert [len(answer) for answer in answers] == [3, 3, 3, 1, 0]
    assert ensemble.query(hasher.sketch(sets)[4], 0) == []
    ensemble.remove("none")
    assert len(ensemble) == 4


def test_no_entries(query, hasher):
    ensemble = LSHEnsemble(num_perm=256)
    assert ensemble.query(query, 100) == []
    assert len(ensemble.query(query[None][:0], [])) == len(ensemble) == 0
    assert [len(answer) for answer in ensemble.query(query[None], [100])] == [0]
    assert ensemble.insert([], query[None][:0], []) == 0
    assert ensemble.plan(100) == []


def test_answers_do_not_depend_on_pieces_and_threads():
    sets, queries = nested(300, FACTORS, 0.9)
    hasher = MinHasher(64)
    ensemble = LSHEnsemble(0.6, 64)
    ensemble.insert(range(len(sets)), hasher.sketch(sets), sets.counts)
    asked = np.concatenate([hasher.sketch(queries)] * 2)
    wanted = [ensemble.query(query, 100) for query in asked]
    for threads in (1, 3, None):
        answers = ensemble.query(asked, [100] * 600, threads=threads)
        assert answers.offsets[-1] > 1000
        assert list(answers) == wanted


# What is refused, and that nothing of it is left


@pytest.mark.parametrize(
    ("keys", "sizes", "error", "message"),
    [
        (["x", None], [5, 5], TypeError, "keys[1] is None"),
        (
            ["x", {}],
            [5, 5],
            TypeError,
            "keys[1] is of type dict, which cannot be hashed",
        ),
        (["x", "all"], [5, 5], ValueError, "keys[1] = 'all' is in the index already"),
        (
            ["x"],
            [5, 5],
            ValueError,
            "there must be a key for each signature, not 1 for 2",
        ),
        (
            ["x", "y"],
            [5],
            ValueError,
            "there must be a size for each signature, not 1 for 2",
        ),
        (
            ["x", "y"],
            5,
            ValueError,
            "sizes must be a number for each signature, not of shape ()",
        ),
        (["x", "y"], [[5, 5]], ValueError, "not of shape (1, 2)"),
        (["x", "y"], [5.0, 5.0], TypeError, "sizes must be ints, not float64"),
        (["x", "y"], [5, None], TypeError, "sizes must be ints, not object"),
        (
            ["x", "y"],
            [5, -1],
            ValueError,
            "sizes must be in 0..2**53, not sizes[1] = -1",
        ),
        (["x", "y"], [5, 2**53 + 1], ValueError, "not sizes[1] = 9007199254740993"),
        (
            ["x", "y"],
            np.array([5, 2**64 - 1], np.uint64),
            ValueError,
            "not sizes[1] = 18446744073709551615",
        ),
        (
            ["x", "y"],
            [5, 0],
            ValueError,
            "sizes[1] is 0, but its signature is not that of an empty set",
        ),
    ],
)
def test_bad_entries(ensemble, query, keys, sizes, error, message):
    with pytest.raises(error, match=re.escape(message)):
        ensemble.insert(keys, np.array([query, query]), sizes)
    assert sorted(ensemble) == ["all", "most", "none", "other", "some"]
    assert [match.key for match in ensemble.query(query, 100)] == ["all", "most"]


def test_sizes_of_empty_sets(ensemble, hasher, sets):
    empty = hasher.sketch(sets)[4]
    for call in (
        lambda: ensemble.insert("x", empty, 3),
        lambda: ensemble.query(empty, 3),
    ):
        with pytest.raises(
            ValueError,
            match=re.escape("sizes[0] is 3, but its signature is that of an empty set"),
        ):
            call()
    assert "x" not in ensemble


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"sizes": [100]},
            ValueError,
            "sizes must be one number, as there is one signature, not of shape (1,)",
        ),
        ({"sizes": "x"}, TypeError, "sizes must be ints"),
        (
            {"sizes": 0},
            ValueError,
            "sizes[0] is 0, but its signature is not that of an empty set",
        ),
        ({"threshold": 0}, ValueError, "threshold must be in (0, 1], not 0"),
        ({"threshold": 1.1}, ValueError, "threshold must be in (0, 1], not 1.1"),
        ({"threshold": "x"}, TypeError, "threshold must be a number"),
        ({"k": 0}, ValueError, "k must be at least 1, not 0"),
        ({"k": 1.5}, TypeError, "k must be an int, not 1.5"),
        ({"threads": 0}, ValueError, "threads must be at least 1"),
    ],
)
def test_bad_queries(ensemble, query, arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        ensemble.query(query, **({"sizes": 100} | arguments))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"threshold": 0}, ValueError, "threshold must be in (0, 1]"),
        ({"threshold": None}, TypeError, "threshold must be a number"),
        ({"num_perm": 0}, ValueError, "num_perm must be in"),
        ({"partitions": 0}, ValueError, "partitions must be at least 1, not 0"),
        ({"partitions": 2.0}, TypeError, "partitions must be an int"),
        ({"recall": 1.0}, ValueError, "recall must be in (0, 1), not 1.0"),
        ({"trees": 200}, ValueError, "trees must be in 1..128, not 200"),
        ({"seed": 2**64}, ValueError, "seed must be"),
        ({"on_duplicate": None}, ValueError, "on_duplicate must be one of"),
        ({"slack": -0.1}, ValueError, "slack must be at least 0 and finite, not -0.1"),
        ({"slack": np.nan}, ValueError, "slack must be"),
        ({"slack": "x"}, TypeError, "slack must be a number"),
    ],
)
def test_bad_parameters(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        LSHEnsemble(**arguments)


def test_signatures_of_another_kind(ensemble, query):
    for hasher, message in (
        (MinHasher(128), "num_perm = 256"),
        (MinHasher(256, seed=5), "seed 5; 1 is needed"),
        (MinHasher(256, "classic"), "scheme 'classic'; 'fast' is needed"),
    ):
        other = hasher.sketch(TokenSets.from_sets([range(100)]))
        with pytest.raises(ValueError, match=message):
            ensemble.insert(["x"], other, [100])
        with pytest.raises(ValueError, match=message):
            ensemble.query(other[0], 100)
    assert len(ensemble) == 5


@pytest.mark.parametrize(
    ("size", "error"), [(0, ValueError), (2**53 + 1, ValueError), (1.5, TypeError)]
)
def test_bad_sizes_of_plans(ensemble, size, error):
    for call in (ensemble.plan, ensemble.expected_recall):
        with pytest.raises(error, match="size must be"):
            call(size)


def test_absent_keys(ensemble):
    with pytest.raises(KeyError) as caught:
        ensemble.remove(["all", "x"])
    assert caught.value.args == ("x",)
    assert len(ensemble) == 5


def test_ensemble_says_what_it_is(ensemble):
    assert repr(ensemble) == (
        "LSHEnsemble(5 entries, threshold=0.7, num_perm=256, trees=64, recall=0.95, scheme='fast', seed=1)"
    )
