"""Groups with lasting ids, beside a dict of each group's id that follows the definition word by word."""

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lshfast._engine.clusters import lasting as clusters
from lshfast._engine.clusters.lasting import (
    ClusterFigures,
    ClusterTable,
    update_clusters,
)


def components_of(keys, edges):
    """Return the groups of keys that edges connect, as sets."""
    groups = {key: {key} for key in keys}
    for one, other in edges:
        if one in groups and other in groups and groups[one] is not groups[other]:
            joined = groups[one] | groups[other]
            groups.update(dict.fromkeys(joined, joined))
    return {frozenset(group) for group in groups.values()}


def labels_of(keys, groups):
    """Return for each key the place of the first key of its group."""
    first = {
        key: min(map(keys.index, group & set(keys)))
        for group in groups
        for key in group
    }
    return np.array([first[key] for key in keys], np.int64)


def reference(earlier, arrivals, groups, next_id):
    """Return {key: id} in the order in which keys were first seen, and {key: change}.

    `earlier` is the same before the run, `arrivals` are the keys that may be new, in their order.
    """
    group_of = {key: group for group in groups for key in group}
    order = [
        key
        for key in [*earlier, *(key for key in arrivals if key not in earlier)]
        if key in group_of
    ]
    claimant = {}
    for key, old in earlier.items():
        if key in group_of:
            claimant.setdefault(old, group_of[key])
    named = {}
    for key in order:
        group = group_of[key]
        if group not in named:
            claims = [old for old, other in claimant.items() if other == group]
            named[group] = min(claims) if claims else next_id
            next_id += not claims
    changes = {}
    for key in [*earlier, *order]:
        if key not in group_of:
            changes[key] = "removed"
        elif key not in earlier:
            changes[key] = "joined" if group_of[key] & earlier.keys() else "new"
        elif named[group_of[key]] != earlier[key]:
            changes[key] = (
                "merged" if claimant[earlier[key]] == group_of[key] else "split"
            )
    return {key: named[group_of[key]] for key in order}, changes, next_id


def rows_of(update):
    """Return the rows of the table of changes."""
    return [
        row for part in update.changes() for row in zip(*part.values(), strict=True)
    ]


KEYS = st.sampled_from([f"k{number}" for number in range(12)])
EDGES = st.lists(st.tuples(KEYS, KEYS), max_size=16)
RUNS = st.lists(st.tuples(st.lists(KEYS, unique=True), EDGES), max_size=6)


def check(update, expected, changes, before, run):
    """Compare an update with the ids and changes of the reference."""
    table = update.table
    assert dict(zip(table.keys, table.ids.tolist(), strict=True)) == expected
    assert table.keys == list(expected)
    assert table.runs == run
    rows = rows_of(update)
    assert {key: change for _, change, _, key in rows} == changes
    # the table of changes leads from the ids before to those after
    ids = dict(before)
    for new, change, old, key in rows:
        assert ids.get(key) == old
        assert (new is None) == (change == "removed")
        if new is None:
            del ids[key]
        else:
            ids[key] = new
    assert ids == expected
    figures = update.figures
    assert (figures.run, figures.rows, figures.clusters) == (
        run,
        len(expected),
        len(set(expected.values())),
    )
    for name in clusters.CHANGES:
        assert getattr(figures, name) == list(changes.values()).count(name)


@given(RUNS)
def test_any_arrivals_removals_and_groups(runs):
    """The groups of a run are those of its edges, whatever was before."""
    table, before, next_id, seen = ClusterTable(), {}, 1, {}
    for run, (keys, edges) in enumerate(runs, 1):
        groups = components_of(keys, edges)
        update = update_clusters(table, keys, labels_of(keys, groups))
        expected, changes, next_id = reference(before, keys, groups, next_id)
        check(update, expected, changes, before, run)
        assert update.table.next_id == next_id
        found = defaultdict(set)
        for key, number in expected.items():
            found[number].add(key)
        assert {frozenset(group) for group in found.values()} == groups
        seen = {key: seen.get(key, run) for key in expected}
        assert update.table.first_seen.tolist() == list(seen.values())
        table, before = update.table, expected


@given(st.lists(st.lists(KEYS, unique=True), max_size=6), EDGES)
def test_new_rows_alone_lead_to_the_components_of_one_run_over_everything(runs, edges):
    """If all pairs of a new row with earlier rows, and those among new rows, are known."""
    table, before, next_id = ClusterTable(), {}, 1
    for run, keys in enumerate(runs, 1):
        groups = components_of(keys, edges)
        pairs = [
            pair
            for pair in [*edges, *((b, a) for a, b in edges)]
            if pair[0] in keys and pair[1] in before
        ]
        links = (
            np.array([keys.index(key) for key, _ in pairs], np.int64),
            [entry for _, entry in pairs],
        )
        update = update_clusters(table, keys, labels_of(keys, groups), links)
        everything = components_of([*before, *keys], edges)
        expected, changes, next_id = reference(before, keys, everything, next_id)
        check(update, expected, changes, before, run)
        table, before = update.table, expected


def test_a_group_keeps_its_id_while_its_members_stay():
    first = update_clusters(ClusterTable(), [5, 6, 7, 8], np.array([0, 0, 2, 2]))
    assert first.table.ids.tolist() == [1, 1, 2, 2]
    again = update_clusters(first.table, [8, 7, 6, 5], np.array([0, 0, 2, 2]))
    assert (again.table.keys, again.table.ids.tolist()) == ([5, 6, 7, 8], [1, 1, 2, 2])
    assert rows_of(again) == []
    assert again.figures == ClusterFigures(2, 4, 2)
    assert again.figures.note == "of 4 rows in run 2; nothing changed"


def test_no_id_is_given_twice():
    table = update_clusters(ClusterTable(), [1, 2], np.array([0, 1])).table
    table = update_clusters(table, [1], np.array([0])).table
    table = update_clusters(table, [], np.empty(0, np.int64)).table
    update = update_clusters(table, [1, 2], np.array([0, 1]))
    assert update.table.ids.tolist() == [3, 4]
    assert update.table.first_seen.tolist() == [4, 4]


def test_the_id_of_a_group_whose_first_member_left_it():
    """Of 1 = {a, b} and 2 = {c}, b and c are one group now: it cannot have 1, which is a's, and has 2."""
    table = update_clusters(ClusterTable(), ["a", "b", "c"], np.array([0, 0, 2])).table
    update = update_clusters(table, ["a", "b", "c"], np.array([0, 1, 1]))
    assert update.table.ids.tolist() == [1, 2, 2]
    assert rows_of(update) == [(2, "split", 1, "b")]


def test_an_entry_that_no_run_has_recorded_is_recorded_first():
    update = update_clusters(
        ClusterTable(), ["a", "b"], np.array([0, 0]), (np.array([1]), ["z"])
    )
    assert (update.table.keys, update.table.ids.tolist()) == (
        ["z", "a", "b"],
        [1, 1, 1],
    )
    # the same rows again change nothing
    again = update_clusters(
        update.table, ["a", "b"], np.array([0, 0]), (np.array([1]), ["z"])
    )
    assert rows_of(again) == []


def test_the_changes_come_in_parts():
    update = update_clusters(ClusterTable(), list(range(5)), np.arange(5))
    assert [len(part["key"]) for part in update.changes(at_once=2)] == [2, 2, 1]
    assert rows_of(update) == [(number + 1, "new", None, number) for number in range(5)]
