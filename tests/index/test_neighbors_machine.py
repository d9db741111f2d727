"""A state machine drives NearNeighbors beside a dict of points: distances are exact, removed points never return."""

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

from lshfast.index import DuplicateKeyError
from lshfast.index.neighbors.near_neighbors import NearNeighbors
from tests.index.neighbors_kit import SMALL, assert_distance, exact, packed

KEYS = st.integers(0, 12)
CASES = {metric: (metric, options) for metric, options in SMALL.items()}
CASES["codes"] = ("angle", {"radius": 0.5, "dim": 5, "method": "codes"})
# Few different points, so that many are near or equal.
COORDINATES = st.sampled_from([-2.0, -1.0, 0.25, 1.0, 1.25])


def machine_of(case, folder):
    metric, options = CASES[case]
    dim = options["dim"]

    def point_of(values):
        if metric != "hamming":
            return np.array(values, np.float32)
        bits = np.zeros((1, dim), np.uint8)
        bits[0, : len(values)] = np.array(values) > 0
        return packed(bits)[0]

    points = st.lists(COORDINATES, min_size=min(dim, 5), max_size=min(dim, 5)).map(
        point_of
    )
    batches = st.lists(st.tuples(KEYS, points), max_size=6)

    class Machine(RuleBasedStateMachine):
        @initialize()
        def begin(self):
            self.index = NearNeighbors(metric, n=20, **options)
            self.held = {}

        def teardown(self):
            self.index.close()

        def arrays(self, batch):
            rows = [point for _, point in batch] or [point_of([1.0] * min(dim, 5))][:0]
            shape = (0, 2 if metric == "hamming" else dim)
            dtype = np.uint64 if metric == "hamming" else np.float32
            return [key for key, _ in batch], np.stack(rows) if rows else np.zeros(
                shape, dtype
            )

        @rule(batch=batches)
        def insert(self, batch):
            keys, rows = self.arrays(batch)
            if len(set(keys)) < len(keys) or self.held.keys() & keys:
                with pytest.raises(DuplicateKeyError):
                    self.index.insert(keys, rows)
            else:
                assert self.index.insert(keys, rows) == len(keys)
                self.held |= dict(batch)

        @rule(batch=batches)
        def update(self, batch):
            assert self.index.update(*self.arrays(batch)) == len(dict(batch))
            self.held |= dict(batch)

        @rule(keys=st.lists(KEYS, max_size=4))
        def remove(self, keys):
            if set(keys) <= self.held.keys():
                self.index.remove(keys)
                self.held = {
                    key: point for key, point in self.held.items() if key not in keys
                }
            else:
                with pytest.raises(KeyError):
                    self.index.remove(keys)

        @rule(point=points, k=st.integers(1, 15))
        def query(self, point, k):
            answer = self.index.query(point, k=20)
            first = self.index.query(point, k=k)
            if case == "codes":  # codes need not be as near if fewer entries are wanted
                assert len(first) == min(k, len(answer))
                assert {*first} <= {*answer}
            else:
                assert first == answer[:k]
            assert len({neighbor.key for neighbor in answer}) == len(answer)
            assert [*answer] == sorted(
                answer, key=lambda neighbor: (neighbor.distance, neighbor.key)
            )
            for neighbor in answer:
                assert_distance(
                    metric,
                    neighbor.distance,
                    exact(metric, point, self.held[neighbor.key]),
                )
            equal = {
                key for key, held in self.held.items() if np.array_equal(held, point)
            }
            assert equal <= {neighbor.key for neighbor in answer}
            within = self.index.within(point)
            assert within == [
                neighbor
                for neighbor in answer
                if neighbor.distance <= options["radius"]
            ]
            near = self.index.near(point)
            assert near is None or (
                near in answer and near.distance <= 2 * options["radius"]
            )

        @rule()
        def save_and_open(self):
            """Entries that are inserted later are in a segment of their own."""
            self.index.save(folder / "index")
            self.index.close()
            self.index = NearNeighbors.open(folder / "index", "c")

        @rule()
        def pairs(self):
            for left, right, distance in self.index.pairs():
                assert left < right
                assert_distance(
                    metric, distance, exact(metric, self.held[left], self.held[right])
                )
                assert distance <= options["radius"]

        @invariant()
        def same_keys(self):
            assert sorted(self.index) == sorted(self.held)

    return Machine


@pytest.mark.one_case
@pytest.mark.parametrize("examples", [5, pytest.param(15, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", [*CASES])
def test_beside_a_dict(case, examples, tmp_path):
    run_state_machine_as_test(
        machine_of(case, tmp_path),
        settings=settings(max_examples=examples, stateful_step_count=20),
    )
