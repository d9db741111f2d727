"""A state machine that drives an LSHIndex on any store beside the brute-force model: give it a Stage and run it."""

import re

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from lshfast import LSHIndex
from lshfast.index.matches import Match, Matches
from tests.index.index_model import EMPTY, IndexModel, check_answer, compare
from tests.shares import share_of

SMALL = {"num_perm": 8, "bands": 3, "rows_per_band": 2}  # two slots are in no band

INTS = st.one_of(st.integers(-3, 12), st.sampled_from([2**63 - 1, -(2**63), 2**32]))
UINTS = st.one_of(
    st.integers(0, 12), st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 2**64 - 3])
)
STRS = st.sampled_from(
    [
        "",
        "a",
        "b",
        "ab",
        "a\0",
        "\0",
        "ä",
        "eight by",
        "nine byte",
        "\U0001f600",
        "0",
        "1",
    ]
)
TUPLES = st.tuples(st.integers(0, 3), st.sampled_from("ab"))
OTHERS = st.one_of(
    INTS,
    STRS,
    TUPLES,
    UINTS,
    st.sampled_from([2**64, -(2**70), b"a", 0.5, frozenset([1]), frozenset([2])]),
)
KEYS = {
    "int": INTS,
    "uint": UINTS,
    "integer": st.one_of(INTS, UINTS),
    "str": STRS,
    "tuple": TUPLES,
    "mixed": st.one_of(INTS, STRS, OTHERS),
}

# Few values, so that buckets are shared; empty sets; values whose band keys differ in a few bits
# only.
ROWS = st.one_of(
    st.lists(st.integers(0, 2), min_size=8, max_size=8),
    st.lists(st.sampled_from([0, 1, 2**63, EMPTY - 1]), min_size=8, max_size=8),
    st.just([EMPTY] * 8),
).map(tuple)

MODES = st.sampled_from(["error", "replace", "skip"])


def array_of(rows):
    """Return signatures of 8 slots as an array."""
    return np.array(rows, np.uint64).reshape(len(rows), 8)


class Stage:
    """Where the machine plays: in memory. Other stores make their own, and say which kinds of keys they take."""

    kinds = ("int", "uint", "str", "integer", "tuple", "mixed")
    exact_stats = True
    rows = ROWS
    words = 8  # of a row
    absent = (-17, "absent", (7, "c"), 2**65)

    def make(self):
        """Return an empty index."""
        return self.in_memory()

    def in_memory(self, **options):
        """Return an empty index in memory, as `make` makes it elsewhere."""
        return LSHIndex(**SMALL, **options)

    def model(self):
        """Return the model of an empty index."""
        return IndexModel(**SMALL)

    def stored(self, row):
        """Return the words that an entry has in the store."""
        return row

    def renew(self, index):
        """Return an index with the same entries: read again, opened anew, or what else the store can do."""
        other = self.make()
        assert other.merge(index) == len(index)
        return other

    def close(self, index):
        """Let go of an index at the end of a run."""
        index.close()


class IndexMachine(RuleBasedStateMachine):
    """An index and its model: each step is done to both, and after each they hold and answer the same."""

    stage: Stage

    @initialize(data=st.data())
    def begin(self, data):
        self.kind = data.draw(st.sampled_from(self.stage.kinds))
        self.index, self.model = self.stage.make(), self.stage.model()

    def teardown(self):
        if hasattr(self, "index"):
            self.stage.close(self.index)

    def batch(self, data, most=6):
        """Draw keys, all of one type as often as not, and as many signatures."""
        kind = (
            data.draw(st.sampled_from(["int", "uint", "str", "mixed"]))
            if self.kind == "mixed"
            else self.kind
        )
        keys = data.draw(st.lists(KEYS[kind], max_size=most))
        return keys, data.draw(
            st.lists(self.stage.rows, min_size=len(keys), max_size=len(keys))
        )

    @rule(data=st.data(), mode=MODES)
    def insert(self, data, mode):
        keys, rows = self.batch(data)
        self.index.on_duplicate = mode
        place = self.model.first_duplicate(keys)
        if mode == "error" and place is not None:
            said = f"keys[{place}] = {keys[place]!r} is in the index already, or twice in the batch"
            with pytest.raises(ValueError, match=re.escape(said)):
                self.index.insert(keys, array_of(rows))
        else:
            dtype = {"int": np.int64, "uint": np.uint64}.get(self.kind)
            given = (
                np.array(keys, dtype)
                if dtype is not None and data.draw(st.booleans())
                else keys
            )
            assert self.index.insert(given, array_of(rows)) == self.model.insert(
                keys, rows, mode
            )

    @rule(data=st.data(), mode=MODES)
    def insert_one(self, data, mode):
        key, row = data.draw(KEYS[self.kind]), data.draw(self.stage.rows)
        self.index.on_duplicate = mode
        if mode == "error" and key in self.model.entries:
            with pytest.raises(
                ValueError, match=re.escape(f"{key!r} is in the index already")
            ):
                self.index.insert(key, array_of([row])[0])
        else:
            assert self.index.insert(key, array_of([row])[0]) == self.model.insert(
                [key], [row], mode
            )

    @rule(data=st.data())
    def remove(self, data):
        held = [st.sampled_from(list(self.model.entries))] if self.model.entries else []
        keys = data.draw(st.lists(st.one_of(*held, *held, KEYS[self.kind]), max_size=6))
        absent = [key for key in keys if key not in self.model.entries]
        if absent:
            with pytest.raises(KeyError) as caught:
                self.index.remove(keys)
            assert caught.value.args == (absent[0],)
        else:
            self.index.remove(keys)
            self.model.remove(keys)

    @rule(data=st.data())
    def remove_one(self, data):
        key = data.draw(KEYS[self.kind])
        if key in self.model.entries:
            self.index.remove(key)
            self.model.remove([key])
        else:
            with pytest.raises(KeyError) as caught:
                self.index.remove(key)
            assert caught.value.args == (key,)

    @rule(data=st.data(), mode=MODES)
    def merge(self, data, mode):
        keys, rows = self.batch(data, most=4)
        other = self.stage.in_memory(on_duplicate="skip")
        entries = dict(zip(reversed(keys), reversed(rows), strict=True))
        assert other.insert(keys, array_of(rows)) == len(entries)
        self.index.on_duplicate = mode
        shared = self.model.entries.keys() & entries.keys()
        if mode == "error" and shared:
            with pytest.raises(ValueError, match="is in both indexes") as caught:
                self.index.merge(other)
            assert any(str(caught.value).startswith(f"{key!r} ") for key in shared)
        else:
            merged = self.model.insert(list(entries), list(entries.values()), mode)
            assert self.index.merge(other) == merged

    @rule()
    def renew(self):
        self.index = self.stage.renew(self.index)

    @rule(
        data=st.data(),
        k=st.sampled_from([None, 1, 2, 100]),
        threshold=st.sampled_from([None, 0, 0.25, 0.3, 0.5, 1]),
        threads=st.sampled_from([None, 1, 2]),
    )
    def query(self, data, k, threshold, threads):
        rows = data.draw(st.lists(self.stage.rows, max_size=3))
        if self.model.entries:
            rows = rows + data.draw(
                st.lists(st.sampled_from(list(self.model.entries.values())), max_size=3)
            )
        kind = type(None) if k is None and threshold is None else Match
        found = self.index.query(
            array_of(rows), k=k, threshold=threshold, threads=threads
        )
        assert isinstance(found, Matches)
        assert len(found) == len(list(found)) == len(rows)
        for row, answer, i in zip(rows, found, range(len(rows)), strict=True):
            check_answer(answer, self.model, row, k, threshold)
            assert found[i] == answer
            check_answer(
                self.index.query(array_of([row])[0], k=k, threshold=threshold),
                self.model,
                row,
                k,
                threshold,
            )
            assert kind is type(None) or all(
                isinstance(match, Match) for match in answer
            )

    @rule(
        threshold=st.sampled_from([0, 0.3, 0.5, 0.75]), threads=st.sampled_from([1, 2])
    )
    def pairs(self, threshold, threads):
        found = list(self.index.pairs(threshold, threads=threads))
        expected = self.model.pairs(threshold)
        assert {
            frozenset((left, right)): similarity for left, right, similarity in found
        } == expected
        assert len(found) == len(expected)
        if compare(self.model.entries):
            assert all(left < right for left, right, _ in found)
            assert found == sorted(found)

    @invariant()
    def holds_the_same(self):
        entries = self.model.entries
        assert len(self.index) == len(entries)
        keys = list(self.index)
        assert len(keys) == len(entries)
        assert set(keys) == set(entries)
        assert {type(key) for key in keys} == {type(key) for key in entries}
        for key in [*list(entries)[:3], *self.stage.absent]:
            assert (key in self.index) is (key in entries)
        items = [
            item
            for keys, rows in self.index.store.items()
            for item in zip(keys, rows.tolist(), strict=True)
        ]
        assert {key: tuple(row) for key, row in items} == {
            key: self.stage.stored(row) for key, row in entries.items()
        }
        assert len(items) == len(entries)

    @invariant()
    def has_figures_that_fit(self):
        figures = self.index.stats()
        bands, rows = self.model.bands, self.model.rows_per_band
        assert (figures.entries, figures.bands, figures.rows_per_band) == (
            len(self.model.entries),
            bands,
            rows,
        )
        assert figures.nbytes >= len(self.model.entries) * 8 * self.stage.words
        if self.stage.exact_stats:
            buckets = list(self.model.buckets().values())
            sizes = {}
            for size in buckets:
                power = 1 << size.bit_length() - 1
                sizes[power] = sizes.get(power, 0) + 1
            assert figures.bucket_sizes == sizes
            assert figures.largest_bucket == max(buckets, default=0)
            mean = sum(size * size for size in buckets) / (len(self.model.entries) or 1)
            assert figures.expected_candidates == pytest.approx(max(0.0, mean - bands))


def run(stage, machine=IndexMachine, examples=60, steps=25):
    """Run a machine on a stage."""
    chosen = type("Chosen", (machine,), {"stage": stage})
    run_state_machine_as_test(
        chosen,
        settings=settings(
            settings(), max_examples=share_of(examples), stateful_step_count=steps
        ),
    )
