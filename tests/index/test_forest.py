"""LSHForest beside brute force and a dict, its promise of recall as a statistic, and the steps that keep it."""

import math
import re
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lshfast import MinHasher, TokenSets
from lshfast.index import entries
from lshfast.index.entries import UNSORTED_ROWS
from lshfast.index.forest import LSHForest
from lshfast.index.matches import Match, Matches, best_first, best_of
from lshfast.index.search_plan import choose_steps, gains, missed
from tests.reference import forest as reference
from tests.reference.hashing import EMPTY
from tests.shares import share_of

K = 8

INTS = st.one_of(st.integers(-3, 30), st.sampled_from([2**63 - 1, -(2**63)]))
UINTS = st.one_of(st.integers(0, 30), st.sampled_from([2**63 - 1, 2**63, 2**64 - 1]))
STRS = st.sampled_from(["", "a", "b", "ab", "ä", "\0", "10", "9"])
OTHERS = st.one_of(
    INTS,
    STRS,
    st.tuples(st.integers(0, 3)),
    st.sampled_from([2**64, 0.5, b"a", frozenset([1])]),
)
KEYS = {
    "int": INTS,
    "uint": UINTS,
    "integer": st.one_of(INTS, UINTS),
    "str": STRS,
    "mixed": OTHERS,
}
ROWS = st.one_of(
    st.lists(st.integers(0, 2), min_size=K, max_size=K), st.just([EMPTY] * K)
).map(tuple)


def array_of(rows, k=K):
    return np.array(rows, np.uint64).reshape(len(rows), k)


def agreement(a, b):
    return reference.agreement(a, b)


# Beside a dict


class ForestMachine(RuleBasedStateMachine):
    """A forest and a dict: each step is done to both. Rows are sorted after every fifth, and merged often."""

    @initialize(
        kind=st.sampled_from([*KEYS]),
        trees=st.sampled_from([1, 2, 4, 8]),
        recall=st.sampled_from([0.5, 0.999999]),
    )
    def begin(self, kind, trees, recall):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(entries, "UNSORTED_ROWS", 4)
        self.patch.setattr(entries, "RATIO", 2)
        self.kind, self.complete = kind, trees == K and recall > 0.9
        self.forest, self.model = LSHForest(K, trees=trees, recall=recall), {}

    def teardown(self):
        if hasattr(self, "patch"):
            self.patch.undo()

    @rule(data=st.data(), mode=st.sampled_from(["error", "replace", "skip"]))
    def insert(self, data, mode):
        keys = data.draw(st.lists(KEYS[self.kind], max_size=8))
        rows = data.draw(st.lists(ROWS, min_size=len(keys), max_size=len(keys)))
        self.forest.on_duplicate = mode
        bad = [i for i, key in enumerate(keys) if key in self.model or key in keys[:i]]
        if mode == "error" and bad:
            said = f"keys[{bad[0]}] = {keys[bad[0]]!r} is in the index already, or twice in the batch"
            with pytest.raises(ValueError, match=re.escape(said)):
                self.forest.insert(keys, array_of(rows))
            return
        held = {} if mode == "replace" else dict(self.model)
        chosen = {}
        for key, row in zip(keys, rows, strict=True):
            if mode == "replace" or (key not in held and key not in chosen):
                chosen[key] = row
        assert self.forest.insert(keys, array_of(rows)) == len(chosen)
        self.model |= chosen

    @rule(data=st.data(), row=ROWS)
    def insert_one(self, data, row):
        key = data.draw(KEYS[self.kind])
        self.forest.on_duplicate = "replace"
        assert self.forest.insert(key, array_of([row])[0]) == 1
        self.model[key] = row

    @rule(data=st.data())
    def remove(self, data):
        held = [st.sampled_from(list(self.model))] if self.model else []
        keys = data.draw(
            st.lists(st.one_of(*held, *held, *held, KEYS[self.kind]), max_size=8)
        )
        absent = [key for key in keys if key not in self.model]
        if absent:
            with pytest.raises(KeyError) as caught:
                self.forest.remove(keys)
            assert caught.value.args == (absent[0],)
        else:
            self.forest.remove(keys)
            for key in set(keys):
                del self.model[key]

    @rule(data=st.data())
    def remove_one(self, data):
        if self.model:
            key = data.draw(st.sampled_from(list(self.model)))
            self.forest.remove(key)
            del self.model[key]

    @rule(data=st.data(), k=st.integers(1, 12), threads=st.sampled_from([1, 2]))
    def query(self, data, k, threads):
        held = [st.sampled_from(list(self.model.values()))] if self.model else []
        queries = data.draw(st.lists(st.one_of(ROWS, *held), max_size=4))
        answers = self.forest.query(array_of(queries), k, threads=threads)
        assert isinstance(answers, Matches)
        assert len(answers) == len(queries)
        for query, answer in zip(queries, answers, strict=True):
            assert answer == self.forest.query(array_of([query])[0], k)
            self.check(query, answer, k)

    def check(self, query, answer, k):
        """Each match is an entry with its similarity, in order; nothing better was met, and copies always are."""
        true = {key: agreement(query, row) for key, row in self.model.items()}
        assert all(isinstance(match, Match) for match in answer)
        assert len({match.key for match in answer}) == len(answer) <= k
        assert [match.similarity for match in answer] == [
            true[match.key] / K for match in answer
        ]
        assert all(match.similarity > 0 for match in answer)
        ranks = [(-match.similarity, match.key) for match in answer]
        if self.kind == "mixed":
            assert [rank for rank, _ in ranks] == sorted(rank for rank, _ in ranks)
        else:
            assert ranks == sorted(ranks)
        best = sorted(filter(None, true.values()), reverse=True)[:k]
        met = [round(match.similarity * K) for match in answer]
        assert met == best if self.complete else met.count(K) == best.count(K)

    @invariant()
    def same_keys(self):
        if hasattr(self, "forest"):
            assert len(self.forest) == len(self.model)
            assert sorted(map(repr, self.forest)) == sorted(map(repr, self.model))
            assert all(key in self.forest for key in self.model)
            assert (2**40 in self.forest) is ("no such key" in self.forest) is False


TestForestMachine = pytest.mark.slow(ForestMachine.TestCase)
TestForestMachine.settings = settings(
    max_examples=share_of(100), stateful_step_count=30
)


# The promise


def planted(count, similarities, background, size=100, seed=1):
    """Return sets, queries, and for each query the rows of its neighbours, the most similar first.

    Neighbours have the similarities exactly, all else nearly none.
    """
    generator = np.random.default_rng(seed)
    base = generator.integers(0, 2**63, (count, size), dtype=np.uint64)
    near = []
    for similarity in similarities:
        common = round(2 * size * similarity / (1 + similarity))
        other = generator.integers(0, 2**63, (count, size), dtype=np.uint64)
        near.append(np.concatenate([base[:, :common], other[:, common:]], axis=1))
    near = np.stack(near, axis=1).reshape(-1, size)
    rows = np.concatenate(
        [near, generator.integers(0, 2**63, (background, size), dtype=np.uint64)]
    )
    sets = [
        TokenSets(np.arange(len(part) + 1) * size, part.ravel())
        for part in (rows, base)
    ]
    order = np.argsort(similarities)[::-1]
    return *sets, np.arange(len(near)).reshape(count, -1)[:, order]


def share_found(truth, answers):
    """Return the share of queries that found their first neighbour, their second, and so on."""
    return np.mean(
        [
            np.isin(true, keys_of(answer))
            for true, answer in zip(truth, answers, strict=True)
        ],
        axis=0,
    )


def shortfall(recall, trials):
    """Return what four standard errors allow a share of so many trials to fall short of."""
    return recall - 4 * math.sqrt(recall * (1 - recall) / trials)


@pytest.mark.one_case
@pytest.mark.parametrize("scheme", ["fast", "classic"])
@pytest.mark.parametrize(
    ("recall", "trees"), [(0.9, None), (0.5, None), (0.9, 16), (0.8, 64)]
)
def test_recall_of_planted_neighbours(scheme, recall, trees):
    """Each of the ten neighbours most similar by exact Jaccard is found as often as promised."""
    similarities = np.linspace(0.3, 0.95, 10)
    sets, queries, truth = planted(300, similarities, 3000)
    hasher = MinHasher(128, scheme)
    forest = LSHForest(128, trees=trees, recall=recall, scheme=scheme)
    forest.insert(range(len(sets)), hasher.sketch(sets))
    answers = forest.query(hasher.sketch(queries), 10)
    found = share_found(truth, answers)
    assert (found >= shortfall(recall, len(truth))).all()


@pytest.mark.one_case
@pytest.mark.parametrize("scheme", ["fast", "classic"])
@pytest.mark.parametrize("recall", [0.5, 0.9])
def test_recall_where_many_are_alike(scheme, recall):
    """Of 400 entries of one similarity the best ten by their slots are found as promised, and not all of them.

    Searches end long before they have met all entries, so that this is the promise at its edge.
    """
    sets, queries, truth = planted(60, [0.5] * 400, 0, size=60)
    hasher = MinHasher(64, scheme)
    signatures, asked = hasher.sketch(sets), hasher.sketch(queries)
    forest = LSHForest(64, recall=recall, scheme=scheme)
    forest.insert(range(len(sets)), signatures)
    shares = []
    for query, own, answer in zip(asked, truth, forest.query(asked, 10), strict=True):
        equal = (signatures[own] == query).sum(axis=1)
        tenth = np.sort(equal)[-10]
        better = own[equal > tenth]  # of those as good as the tenth any may be given
        if len(better):
            shares.append(np.isin(better, [match.key for match in answer]).mean())
    error = np.std(shares, ddof=1) / math.sqrt(len(shares))
    assert np.mean(shares) >= recall - 4 * error
    assert np.mean(shares) < 1


def test_recall_stays_while_entries_come_and_go():
    """Entries in runs of many sizes, and after most were replaced and removed, are found as before."""
    sets, queries, truth = planted(200, np.linspace(0.3, 0.95, 10), 2000)
    signatures = MinHasher().sketch(sets)
    forest = LSHForest(on_duplicate="replace")
    generator = np.random.default_rng(1)
    for part in np.array_split(generator.permutation(len(sets)), 40):
        forest.insert(
            part, signatures[generator.permutation(len(sets))[: len(part)]]
        )  # others in their place
        forest.insert(part, signatures[part])
        forest.insert(-1 - part, signatures[part])
    forest.remove(-1 - np.arange(len(sets)))
    answers = forest.query(MinHasher().sketch(queries), 10)
    found = share_found(truth, answers)
    assert (found >= shortfall(0.9, len(truth))).all()


def test_reach_and_expected_recall():
    forest = LSHForest(128, recall=0.9)
    assert forest.trees == 32
    found = [1 - float(reference.miss(equal, 128, 32, [1] * 32)) for equal in range(20)]
    assert (
        forest.reach
        == next(equal for equal, share in enumerate(found) if share >= 0.9) / 128
    )
    assert forest.expected_recall(0.5) == forest.expected_recall(forest.reach) == 0.9
    assert forest.expected_recall(3 / 128) == pytest.approx(found[3])
    assert found[3] == pytest.approx(1 - (1 - 3 / 128) ** 32, abs=0.06)
    assert forest.expected_recall(0) == 0
    assert (
        LSHForest(128, trees=128).reach < forest.reach < LSHForest(128, trees=8).reach
    )


# Steps


@given(
    st.integers(1, 12).flatmap(lambda k: st.tuples(st.just(k), st.integers(1, k))),
    st.data(),
)
def test_the_bound_holds(shape, data):
    """What several trees miss is no more than the product of what each misses: against counting all cases."""
    k, trees = shape
    levels = reference.levels_of(k, trees)
    depths = data.draw(st.lists(st.integers(1, levels), max_size=trees))
    for equal in range(k + 1):
        assert reference.miss(equal, k, trees, depths) <= reference.miss_bound(
            equal, k, depths
        )


@pytest.mark.parametrize(("k", "levels"), [(1, 1), (8, 8), (128, 4), (130, 5)])
def test_gains(k, levels):
    found = gains(k, levels)
    assert found.shape == (levels + 1, k + 1)
    for depth in range(1, levels + 1):
        for equal in range(k):
            bound = reference.miss_bound(equal, k, [depth])
            assert math.exp(-found[depth, equal]) == pytest.approx(
                float(bound), rel=1e-9
            )
    assert (found[0] == 0).all()
    assert np.isinf(found[1:, k]).all()


@given(
    st.sampled_from([(1, 1), (9, 2), (12, 12), (17, 3), (20, 5), (30, 10)]), st.data()
)
def test_what_is_missed(shape, data):
    k, trees = shape
    levels = reference.levels_of(k, trees)
    depths = data.draw(st.lists(st.integers(1, levels), max_size=trees))
    counts = [depths.count(depth) for depth in range(1, levels + 1)]
    found = missed(k, trees, counts)
    assert found.tolist() == pytest.approx(
        [float(reference.miss(m, k, trees, depths)) for m in range(k + 1)], rel=1e-9
    )
    bound = missed(k, trees, counts, counted=0)
    assert bound.tolist() == pytest.approx(
        [float(reference.miss_bound(m, k, depths)) for m in range(k + 1)], rel=1e-9
    )


@settings(max_examples=50)
@given(
    st.sampled_from([(1, 1), (8, 1), (8, 8), (9, 2), (16, 4), (64, 16)]),
    st.sampled_from([0.05, 0.5, 0.9, 0.99]),
    st.lists(st.integers(0, 40), min_size=8, max_size=8).map(
        lambda found: sorted(found, reverse=True)
    ),
    st.integers(0, 5),
)
def test_steps(shape, recall, crowds, runs):
    """Each tree goes up to its first level in the end, and after each step `enough` is what is found often enough."""
    k, trees = shape
    levels = reference.levels_of(k, trees)
    depths, last = {}, k + 1
    for tree, depth, enough in choose_steps(
        k, trees, recall, tuple(crowds[:levels]), runs
    ).tolist():
        assert depth < depths.get(tree, levels + 1)
        depths[tree] = depth
        assert float(reference.miss(enough, k, trees, [*depths.values()])) <= (
            1 - recall
        ) * (1 + 1e-9)
        if enough:
            assert float(reference.miss(enough - 1, k, trees, [*depths.values()])) >= (
                1 - recall
            ) * (1 - 1e-9)
        assert enough <= last
        last = enough
    assert depths == dict.fromkeys(range(trees), 1)


def test_steps_depend_on_how_crowded_trees_are():
    """Where strangers share nothing, searches look for one slot at once; where they share some, for several first."""
    sparse, dense = (
        choose_steps(128, 32, 0.9, crowds, 1)
        for crowds in ((0, 0, 0, 0), (28, 20, 12, 4))
    )
    assert sparse[:, 1].tolist() == [1] * 32
    assert dense[:10, 1].tolist() == [4] * 10


# Entries


@pytest.fixture
def hasher():
    return MinHasher(32)


@pytest.fixture
def signatures(hasher):
    """Five sets, the last one empty: the first and the second are alike, the third holds half of the first."""
    return hasher.sketch(
        TokenSets.from_sets(
            [range(60), range(15, 60), range(30), range(1000, 1060), []]
        )
    )


@pytest.fixture
def forest(signatures):
    made = LSHForest(32)
    made.insert(["a", "b", "c", "d", "e"], signatures)
    return made


def keys_of(answer):
    return [match.key for match in answer]


def test_empty_sets_are_stored_and_match_nothing(forest, signatures):
    assert len(forest) == 5
    assert "e" in forest
    assert forest.query(signatures[4], 5) == []
    assert [len(answer) for answer in forest.query(signatures, 9)] == [3, 3, 3, 1, 0]
    forest.remove("e")
    assert "e" not in forest


def test_answers(forest, signatures, hasher):
    answer = forest.query(signatures[0], 5)
    assert keys_of(answer) == ["a", "b", "c"]
    assert [match.similarity for match in answer] == hasher.similarity(
        signatures[0], signatures[:3]
    ).tolist()
    assert forest.query(signatures[0], 1) == answer[:1]
    assert forest.query(signatures[0], 10**12) == answer
    answers = forest.query(signatures[:2], 2)
    assert answers.keys == ["a", "b", "b", "a"]
    assert answers.offsets.tolist() == [0, 2, 4]
    assert answers.similarity.dtype == np.float64


def test_no_entries(signatures):
    forest = LSHForest(32)
    assert forest.query(signatures[0]) == []
    assert [len(answer) for answer in forest.query(signatures)] == [0] * 5
    assert len(forest.query(signatures[:0])) == len(forest) == len(list(forest)) == 0
    assert forest.insert([], signatures[:0]) == 0
    forest.remove([])


@pytest.mark.parametrize(
    "n", [UNSORTED_ROWS - 1, UNSORTED_ROWS, UNSORTED_ROWS + 1, 3 * UNSORTED_ROWS]
)
def test_entries_are_found_whether_they_wait_or_are_sorted(n):
    signatures = MinHasher(16).sketch(
        TokenSets.from_sets([[i, -i, 7] for i in range(n)])
    )
    forest, one = LSHForest(16), LSHForest(16)
    forest.insert(np.arange(n), signatures)
    for i in range(n):
        one.insert(i, signatures[i])
    for made in (forest, one):
        answers = made.query(signatures, 1)
        assert answers.keys.tolist() == list(range(n))
        assert (answers.similarity == 1).all()
        assert sorted(made) == list(range(n))


def test_ties_are_in_the_order_of_keys():
    signatures = np.ones((6, 32), np.uint64)
    for keys in (
        [5, 1, 4, 2, 3, 0],
        list("fbdeca"),
        [(2,), (1,), (4,), (3,), (5,), (0,)],
    ):
        forest = LSHForest(32)
        forest.insert(keys, signatures)
        assert (
            keys_of(forest.query(signatures[0], 6))
            == keys_of(forest.query(signatures, 6)[3])
            == sorted(keys)
        )


def test_keys_that_do_not_compare_stay_as_inserted():
    signatures = np.ones((4, 32), np.uint64)
    forest = LSHForest(32)
    forest.insert([3, "x", (1,), 2], signatures)
    assert (
        keys_of(forest.query(signatures[0], 4))
        == keys_of(forest.query(signatures, 4)[0])
        == [3, "x", (1,), 2]
    )


def test_keys_of_another_kind_may_join_ints(signatures):
    forest = LSHForest(32)
    forest.insert([1, 2], signatures[:2])
    assert forest.query(signatures[:2], 2).keys.tolist() == [1, 2, 2, 1]
    forest.insert(["x", 2**70], signatures[2:4])
    assert forest.query(signatures[:1], 3).keys == [1, 2, "x"]
    forest.remove([1, 2, "x", 2**70])
    forest.insert(range(4), signatures[:4])
    assert forest.query(signatures[:1], 3).keys.tolist() == [0, 1, 2]


def test_replace_and_skip(signatures):
    for mode, found in (("replace", ["x"]), ("skip", [])):
        forest = LSHForest(32, on_duplicate=mode)
        assert forest.insert(["x", "y"], signatures[:2]) == 2
        assert forest.insert(["x", "x"], signatures[[0, 3]]) == len(found)
        assert len(forest) == 2
        assert keys_of(forest.query(signatures[3], 5)) == found
        assert keys_of(forest.query(signatures[0], 5)) == (
            ["y"] if found else ["x", "y"]
        )
        assert forest.insert("x", signatures[2]) == len(found)


def test_answers_do_not_depend_on_pieces_and_threads():
    sets, queries, _ = planted(700, [0.4, 0.7], 300)
    hasher = MinHasher(64)
    forest = LSHForest(64)
    forest.insert(range(len(sets)), hasher.sketch(sets))
    asked = hasher.sketch(queries)
    wanted = [forest.query(query, 3) for query in asked]
    for threads in (1, 2, 5, None):
        assert list(forest.query(asked, 3, threads=threads)) == wanted


# Memory


@pytest.mark.slow
def test_memory_is_flat_while_entries_come_and_go():
    generator = np.random.default_rng(1)
    signatures = generator.integers(0, 2**63, (3000, 32), dtype=np.uint64)
    forest = LSHForest(32)
    forest.insert(range(3000), signatures)
    forest.remove(range(0, 3000, 2))
    most, held = 0, list(range(1, 3000, 2))
    for turn in range(1, 60):
        gone = generator.permutation(held)[:500].tolist()
        forest.remove(gone)
        new = [turn * 10_000 + i for i in range(500)]
        forest.insert(new, generator.integers(0, 2**63, (500, 32), dtype=np.uint64))
        held = [*set(held).difference(gone), *new]
        most = max(most, forest.nbytes)
        assert len(forest) == 1500
    fresh = LSHForest(32)
    fresh.insert(held, generator.integers(0, 2**63, (1500, 32), dtype=np.uint64))
    assert most <= 3 * fresh.nbytes
    forest.remove(held)
    assert forest.nbytes < fresh.nbytes / 2
    assert list(forest) == []


def test_one_entry_replaced_again_and_again_takes_no_memory():
    signatures = np.random.default_rng(1).integers(
        0, 2**63, (2000, 16), dtype=np.uint64
    )
    forest = LSHForest(16, on_duplicate="replace")
    forest.insert(["x"], signatures[:1])
    before = forest.nbytes
    for signature in signatures:
        forest.insert("x", signature)
    assert forest.nbytes <= before + 2 * 16 * 8 * UNSORTED_ROWS
    assert keys_of(forest.query(signatures[-1])) == ["x"]


# Threads


@pytest.mark.slow
def test_a_batch_appears_at_once_to_readers():
    """Batches of fifty equal signatures come and go while readers count them, fixed entries beside them."""
    hasher = MinHasher(32)
    still = hasher.sketch(
        TokenSets.from_sets([range(i, i + 40) for i in range(0, 4000, 40)])
    )
    moving = np.repeat(hasher.sketch(TokenSets.from_sets([["moving"]])), 50, axis=0)
    forest = LSHForest(32)
    forest.insert(range(100), still)
    counts, errors, done = [], [], threading.Event()

    def read():
        try:
            while not done.is_set():
                counts.append(len(forest.query(moving[0], 60)))
                assert keys_of(forest.query(still[7], 1)) == [7]
                answers = forest.query(
                    np.concatenate([still[:9], moving[:1]]), 60, threads=1
                )
                assert answers.keys[answers.offsets[3]] == 3
                assert len(answers[9]) in (0, 50)
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(150):
        keys = range(1000 + 50 * turn, 1050 + 50 * turn)
        forest.insert(keys, moving)
        forest.remove(keys)
    done.set()
    for reader in readers:
        reader.join()
    assert not errors
    assert set(counts) <= {0, 50}
    assert len(forest) == 100


@pytest.mark.slow
def test_several_writers():
    signatures = np.random.default_rng(1).integers(
        0, 2**63, (4, 1000, 16), dtype=np.uint64
    )
    forest, errors = LSHForest(16), []

    def write(number):
        try:
            for i in range(1000):
                forest.insert((number, i), signatures[number, i])
                if i % 3 == 0:
                    forest.remove([(number, i)])
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not errors
    assert sorted(forest) == [
        (number, i) for number in range(4) for i in range(1000) if i % 3
    ]
    for number in range(4):
        answers = forest.query(signatures[number, 1::3], 1)
        assert answers.keys == [(number, i) for i in range(1, 1000, 3)]


# What is refused, and that nothing of it is left


@pytest.mark.parametrize(
    ("keys", "rows", "error", "message"),
    [
        (["x", None], [0, 1], TypeError, "keys[1] is None"),
        (
            ["x", ["y"]],
            [0, 1],
            TypeError,
            "keys[1] is of type list, which cannot be hashed",
        ),
        ("xy", [0, 1], TypeError, "keys must be a batch of keys, not one str"),
        (7, [0, 1], TypeError, "keys must be a batch of keys, not one int"),
        (
            ["x"],
            [0, 1],
            ValueError,
            "there must be a key for each signature, not 1 for 2",
        ),
        (
            ["x", "y", "x"],
            [0, 1, 2],
            ValueError,
            "keys[2] = 'x' is in the index already, or twice in the batch",
        ),
        (
            ["x", "b", "y"],
            [0, 1, 2],
            ValueError,
            "keys[1] = 'b' is in the index already",
        ),
        (None, 0, TypeError, "None"),
        ([1], 0, TypeError, "cannot be hashed"),
    ],
)
def test_bad_keys(forest, signatures, keys, rows, error, message):
    with pytest.raises(error, match=re.escape(message)):
        forest.insert(keys, signatures[rows])
    assert sorted(forest) == ["a", "b", "c", "d", "e"]
    assert keys_of(forest.query(signatures[0])) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda s: s.astype(np.int64),
            TypeError,
            "signatures must be uint64, not int64",
        ),
        (lambda s: s[:, :31], ValueError, "num_perm = 32 slots each"),
        (lambda s: s.reshape(1, 5, 32), ValueError, "num_perm = 32 slots each"),
        (
            lambda s: MinHasher(32, seed=9).sketch(TokenSets.from_sets([[1]] * 5)),
            ValueError,
            "seed 9; 1 is needed",
        ),
        (
            lambda s: MinHasher(32, "classic").sketch(TokenSets.from_sets([[1]] * 5)),
            ValueError,
            "scheme 'classic'; 'fast' is needed",
        ),
        (
            lambda s: MinHasher(64).sketch(TokenSets.from_sets([[1]] * 5)),
            ValueError,
            "num_perm = 32",
        ),
    ],
)
def test_bad_signatures(forest, signatures, change, error, message):
    with pytest.raises(error, match=re.escape(message)):
        forest.insert(["v", "w", "x", "y", "z"], change(signatures))
    with pytest.raises(error, match=re.escape(message)):
        forest.query(change(signatures))
    assert len(forest) == 5


def test_absent_keys(forest):
    with pytest.raises(KeyError) as caught:
        forest.remove(["a", "x", "y"])
    assert caught.value.args == ("x",)
    with pytest.raises(KeyError):
        forest.remove("x")
    assert len(forest) == 5
    forest.remove(["a", "a"])
    assert len(forest) == 4


def test_what_fails_half_way_leaves_nothing(forest, signatures, monkeypatch):
    """Memory that runs out while entries are sorted."""

    def build(*_):
        raise MemoryError

    many = np.random.default_rng(1).integers(0, 2**63, (1000, 32), dtype=np.uint64)
    with monkeypatch.context() as patch:
        patch.setattr(entries.TreeEntries, "_with", build)
        with pytest.raises(MemoryError):
            forest.insert(range(1000), many)
    assert sorted(forest) == ["a", "b", "c", "d", "e"]
    assert forest.query(many, 1).offsets[-1] == 0
    assert forest.insert(range(1000), many) == 1000
    assert list(forest.query(many, 1).keys) == list(range(1000))
    assert keys_of(forest.query(signatures[0])) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_perm": 0}, ValueError, "num_perm must be in 1..65536, not 0"),
        ({"num_perm": "x"}, TypeError, "num_perm must be an int"),
        ({"trees": 0}, ValueError, "trees must be in 1..128, not 0"),
        ({"trees": 129}, ValueError, "trees must be in 1..128, not 129"),
        ({"trees": 1.5}, TypeError, "trees must be an int, not 1.5"),
        ({"trees": True}, TypeError, "trees must be an int, not True"),
        ({"recall": 0}, ValueError, "recall must be in (0, 1), not 0"),
        ({"recall": 1}, ValueError, "recall must be in (0, 1), not 1"),
        ({"recall": math.nan}, ValueError, "recall must be in (0, 1), not nan"),
        ({"recall": "x"}, TypeError, "recall must be a number, not 'x'"),
        ({"scheme": "x"}, ValueError, "scheme must be"),
        ({"seed": -1}, ValueError, "seed must be"),
        (
            {"on_duplicate": "x"},
            ValueError,
            "on_duplicate must be one of error, replace, skip, not 'x'",
        ),
    ],
)
def test_bad_parameters(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        LSHForest(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1, not 0"),
        ({"k": 2.5}, TypeError, "k must be an int, not 2.5"),
        ({"k": None}, TypeError, "k must be an int, not None"),
        ({"threads": 0}, ValueError, "threads must be at least 1, not 0"),
        ({"threads": "x"}, TypeError, "threads must be an int"),
    ],
)
def test_bad_queries(forest, signatures, arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        forest.query(signatures, **arguments)


@pytest.mark.parametrize(
    ("similarity", "error"), [(-0.1, ValueError), (1.1, ValueError), ("x", TypeError)]
)
def test_bad_similarities(similarity, error):
    with pytest.raises(error, match="similarity must be"):
        LSHForest().expected_recall(similarity)


def test_forest_says_what_it_is(forest):
    assert (
        repr(forest)
        == "LSHForest(5 entries, num_perm=32, trees=8, recall=0.9, scheme='fast', seed=1)"
    )
    with pytest.raises(TypeError, match="None"):
        assert None in forest
    with pytest.raises(TypeError, match="cannot be hashed"):
        assert [] in forest


# Matches


def test_matches_are_a_sequence_of_answers():
    matches = Matches(
        np.array([0, 2, 2, 3]), np.array([5, 3, 9]), np.array([0.5, 0.25, 1.0])
    )
    assert len(matches) == 3
    assert (
        list(matches)
        == [matches[0], matches[1], matches[2]]
        == [[(5, 0.5), (3, 0.25)], [], [(9, 1.0)]]
    )
    assert matches[-1] == [Match(9, 1.0)]
    assert type(matches[0][0].key) is int
    assert repr(matches) == "Matches(3 queries, 3 matches)"
    for query in (3, -4):
        with pytest.raises(
            IndexError, match=f"query {query} is out of range: there are 3 queries"
        ):
            matches[query]
    assert list(Matches(np.array([0, 1, 3]), ["a", "b", "c"], None)) == [
        ["a"],
        ["b", "c"],
    ]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), max_size=12),
        max_size=5,
    ),
    st.sampled_from([None, 1, 2, 5]),
    st.sampled_from([int, str, float, "none"]),
)
def test_best_first(answers, k, kind):
    """By score and key, keys being ints, strs, others, or nothing but keys; and one answer as many."""
    turn = {int: int, str: lambda key: f"{key + 9:02}", float: float, "none": int}[kind]
    answers = [[(turn(key), score) for key, score in answer] for answer in answers]
    matches = [match for answer in answers for match in answer]
    keys = [key for key, _ in matches]
    scores = np.array([score for _, score in matches], np.int64)
    column = np.array(keys, np.int64) if kind in (int, "none") else keys
    offsets = np.cumsum([0, *map(len, answers)], dtype=np.int64)
    before = (offsets.tolist(), list(keys), scores.tolist())
    got = best_first(offsets, column, None if kind == "none" else scores, k)
    best = [
        sorted(
            answer,
            key=(lambda m: m[0]) if kind == "none" else (lambda m: (-m[1], m[0])),
        )[:k]
        for answer in answers
    ]
    assert got[0].tolist() == np.cumsum([0, *map(len, best)]).tolist()
    assert list(got[1]) == [key for answer in best for key, _ in answer]
    assert (
        got[2] is None
        if kind == "none"
        else got[2].tolist() == [score for answer in best for _, score in answer]
    )
    assert before == (offsets.tolist(), list(column), scores.tolist())
    if kind != "none":
        doubles = best_first(offsets, column, scores / 8, k)
        assert (doubles[2] * 8).tolist() == got[2].tolist()
        assert list(doubles[1]) == list(got[1])
        for answer, expected in zip(answers, best, strict=True):
            own = dict(answer)
            one = best_of([*own], [*own.values()], 8, k)
            if len(own) == len(answer):
                assert one == [(key, score / 8) for key, score in expected]
