"""The components of links beyond memory, against the union-find in memory."""

import errno
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import FormatError
from lshfast.join import contract_links
from lshfast.join.external import run_file
from lshfast.join.external.contraction import LEAST_CONTRACTION, StarContraction
from lshfast.join.external.sorted_runs import LEAST_MEMORY
from lshfast.kernels import sets

MANY = 60_000  # links of which many files are written under the least memory


def wanted(u, v):
    """Return [(node, label)] of all nodes that links name."""
    nodes, places = np.unique(np.concatenate([u, v]), return_inverse=True)
    left, right = np.split(places.reshape(-1), 2)
    return list(
        zip(
            nodes.tolist(),
            nodes[sets.components(left, right, len(nodes))].tolist(),
            strict=True,
        )
    )


def pairs_of(parts):
    return [
        pair
        for part in parts
        for pair in zip(*(column.tolist() for column in part), strict=True)
    ]


def parts(u, v, count=5):
    return zip(np.array_split(u, count), np.array_split(v, count), strict=True)


@st.composite
def graphs(draw):
    """Paths, stars, cycles and any links, over nodes with small and large numbers in any order."""
    n = draw(st.integers(1, 30))
    names = draw(st.permutations(range(n)))
    kind = draw(st.sampled_from(["path", "star", "cycle", "any"]))
    if kind == "any":
        pairs = draw(
            st.lists(
                st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60
            )
        )
    else:
        pairs = {
            "path": [(i, i + 1) for i in range(n - 1)],
            "star": [(0, i) for i in range(1, n)],
            "cycle": [(i, (i + 1) % n) for i in range(n)],
        }[kind]
        pairs += draw(st.lists(st.sampled_from(pairs), max_size=5)) if pairs else []
    step = draw(st.sampled_from([1, 1 << 40]))
    links = np.array(
        [(names[i] * step, names[j] * step) for i, j in pairs], np.int64
    ).reshape(-1, 2)
    return np.ascontiguousarray(links[:, 0]), np.ascontiguousarray(links[:, 1])


@settings(deadline=None)
@given(graphs(), st.integers(4, 24))
def test_equals_the_union_find_with_few_records_in_memory(
    tmp_path_factory, graph, records
):
    folder = tmp_path_factory.mktemp("work")
    with StarContraction(str(folder), "links", records, LEAST_MEMORY) as contraction:
        assert pairs_of(contraction.run(parts(*graph))) == wanted(*graph)
    assert os.listdir(folder) == []


def path(n):
    return np.arange(n - 1), np.arange(1, n)


def random_links(n, seed=1):
    return tuple(np.random.default_rng(seed).integers(0, n, (2, n)))


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize(
    "kind",
    [
        "shuffled path",
        "star",
        "random",
        *(
            pytest.param(kind, marks=pytest.mark.slow)
            for kind in ("path", "cycle", "groups")
        ),
    ],
)
def test_equals_the_union_find_with_many_files(tmp_path, kind):
    n, rng = MANY, np.random.default_rng(1)
    u, v = random_links(n) if kind == "random" else path(n)
    if kind == "cycle":
        u, v = np.append(u, 0), np.append(v, n - 1)
    elif kind == "star":
        u = np.zeros(len(v), np.int64)
    elif kind == "groups":
        u, v = u[u % 5 != 0], v[u % 5 != 0]
    if kind != "path":
        order, names = rng.permutation(len(u)), rng.permutation(n)
        u, v = names[u[order]], names[v[order]]
    assert pairs_of(
        contract_links(parts(u, v, 50), str(tmp_path), "links", LEAST_CONTRACTION)
    ) == wanted(u, v)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "records", "most_rounds"),
    [("path", 800, 8, 20), ("path", 200_000, 4096, 12), ("star", 200_000, 4096, 8)],
)
def test_rounds_are_few_where_little_is_contracted_in_memory(
    tmp_path, kind, n, records, most_rounds
):
    u, v = path(n)
    u = u * (kind == "path")
    names = np.random.default_rng(2).permutation(n)
    order = np.random.default_rng(1).permutation(len(u))
    u = names[u[order]]
    v = names[v[order]]
    with StarContraction(str(tmp_path), "links", records, LEAST_MEMORY) as contraction:
        labelled = list(contraction.run(parts(u, v, 50)))
        assert 1 <= contraction.rounds <= most_rounds
        assert contraction.written > 0
    nodes, labels = (np.concatenate(column) for column in zip(*labelled, strict=True))
    assert np.array_equal(nodes, np.arange(n))
    assert not labels.any()


def test_links_whose_nodes_fit_are_not_written(tmp_path):
    u, v = np.random.default_rng(1).integers(0, 1000, (2, 10 * MANY))
    with StarContraction(str(tmp_path), "links", 8192, LEAST_MEMORY) as contraction:
        assert pairs_of(contraction.run(parts(u, v, 50))) == wanted(u, v)
        assert contraction.written == contraction.rounds == 0


def test_no_links_and_nodes_that_are_linked_with_themselves(tmp_path):
    folder, empty = str(tmp_path), np.empty(0, np.int64)
    assert list(contract_links([], folder, "links", LEAST_CONTRACTION)) == []
    assert (
        list(contract_links([(empty, empty)], folder, "links", LEAST_CONTRACTION)) == []
    )
    own = np.arange(MANY)
    found = pairs_of(contract_links([(own, own)], folder, "links", LEAST_CONTRACTION))
    assert found == [(node, node) for node in range(MANY)]


def test_bad_arguments(tmp_path):
    def run(u, v, memory=LEAST_CONTRACTION):
        return list(contract_links([(u, v)], str(tmp_path), "links", memory))

    one = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="memory must be at least"):
        run(one, one, LEAST_CONTRACTION - 1)
    with pytest.raises(ValueError, match="nodes must be at least 0, not -7"):
        run(one, one - 7)
    for u, v in (
        (one, np.zeros(2, np.int64)),
        (one, one.astype(np.uint64)),
        (one[None], one[None]),
        ([0], [0]),
    ):
        with pytest.raises(TypeError, match="two arrays of int64 of the same length"):
            run(u, v)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        list(
            contract_links(
                [random_links(MANY)],
                str(tmp_path / "nowhere"),
                "links",
                LEAST_CONTRACTION,
            )
        )
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_a_full_disk_at_any_write_is_one_error_and_leaves_nothing(
    tmp_path, monkeypatch
):
    write, left = run_file.write_all, -1

    def limited(file, data):
        nonlocal left
        left -= 1
        if left == -1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(file, data)

    monkeypatch.setattr(run_file, "write_all", limited)
    u, v = random_links(MANY)
    list(contract_links([(u, v)], str(tmp_path), "links", LEAST_CONTRACTION))
    writes = -1 - left
    assert writes > 100
    for number in [*range(20), *range(20, writes, 61), writes - 1]:
        left = number
        with pytest.raises(OSError, match=re.escape(str(tmp_path))) as caught:
            list(contract_links([(u, v)], str(tmp_path), "links", LEAST_CONTRACTION))
        assert caught.value.errno == errno.ENOSPC
        assert os.listdir(tmp_path) == []


def test_an_interrupt_and_an_early_end_leave_nothing(tmp_path):
    def interrupted():
        yield random_links(MANY)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(contract_links(interrupted(), str(tmp_path), "links", LEAST_CONTRACTION))
    assert os.listdir(tmp_path) == []
    found = contract_links(
        [random_links(MANY)], str(tmp_path), "links", LEAST_CONTRACTION
    )
    next(found)
    assert os.listdir(tmp_path)
    found.close()
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_damaged_meanwhile_is_named(tmp_path):
    def links():
        yield random_links(MANY)
        file = min(tmp_path.iterdir())
        file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(FormatError, match=re.escape(str(tmp_path))):
        list(contract_links(links(), str(tmp_path), "links", LEAST_CONTRACTION))
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_the_memory_is_held(tmp_path):
    import tracemalloc

    memory, n = 8 << 20, 250_000
    tracemalloc.start()
    try:
        links = ((u.copy(), v.copy()) for u, v in parts(*random_links(n), 400))
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in contract_links(links, str(tmp_path), "links", memory):
            pass
        peak = tracemalloc.get_traced_memory()[1] - held
    finally:
        tracemalloc.stop()
    assert memory / 2 < peak <= 1.05 * memory
