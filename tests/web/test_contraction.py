"""Contraction of link graphs: against the definition, the toy graph of the text, cascades, hubs, copies, errors."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels.leaders import leaders_of_sets
from lshfast.web import contract, link_graphs
from tests.reference import contraction as reference


def as_lists(found):
    return (
        found.labels.tolist(),
        list(zip(found.source.tolist(), found.target.tolist(), strict=True)),
        found.rounds,
    )


def contracted(links, **options):
    source, target = np.array(list(links), np.int64).reshape(-1, 2).T
    return contract(source, target, **options)


def assert_equals_reference(links, nodes, threshold=0.9, same=(), min_links=1, size=1):
    options = {"threshold": threshold, "min_links": min_links, "size": size}
    found = contracted(links, nodes=nodes, same=list(same), **options)
    expected = reference.contract(links, nodes=nodes, same=same, **options)
    assert as_lists(found) == expected
    assert found.kept + found.removed == nodes
    return found


small = st.integers(2, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=2),
    )
)
thresholds = st.sampled_from(
    [0.9, 0.5, 1.0, 0.3, 2 / 3, Fraction(2, 3), Fraction(3, 4), 1e-9]
)


@settings(max_examples=80)
@given(small, thresholds, st.integers(1, 3), st.sampled_from([1, 1, 2, 3]))
@example((5, [(0, 2), (1, 3), (2, 4), (3, 4)], []), 0.9, 1, 1)
@example((2, [(0, 1), (1, 0), (0, 0)], [(0, 1)]), 0.9, 1, 1)
@example((6, [(0, 2), (0, 3), (0, 4), (1, 2), (1, 4)], [(2, 3)]), 0.9, 1, 2)
def test_against_the_definition(graph, threshold, min_links, size):
    nodes, links, same = graph
    assert_equals_reference(links, nodes, threshold, same, min_links, size)


@pytest.mark.parametrize(
    ("threshold", "size"), [(0.5, 1), (0.7, 1), (0.85, 1), (0.4, 2), (0.6, 2)]
)
@pytest.mark.parametrize("seed", range(4))
def test_larger_graphs(threshold, size, seed):
    """Few kinds of link sets with few differences, so that there are many rounds, with large and with small changes."""
    generator = np.random.default_rng(seed)
    nodes, links = 220, []
    for node in range(nodes):
        kind = np.random.default_rng([seed, int(generator.integers(25))])
        own = kind.choice(nodes, int(kind.integers(1, 14)), replace=False)
        links += [(node, int(link)) for link in own if generator.random() < 0.93]
    found = assert_equals_reference(links, nodes, threshold, size=size)
    assert found.rounds > 0


def test_a11_toy_graph_of_the_text():
    """u1 -> v1, u2 -> v2: once v1 and v2 are the same, so are u1 and u2."""
    u1, u2, v1, v2 = range(4)
    assert contracted([(u1, v1), (u2, v2)]).removed == 0
    found = contracted([(u1, v1), (u2, v2)], same=[(v1, v2)])
    assert as_lists(found) == ([0, 0, 2, 2], [(0, 2)], 1)


@pytest.mark.slow
def test_cascades_take_a_round_for_each_step():
    """Two chains with one end: the collapse starts at the end and goes back link by link."""
    n = 300
    chains = [
        (2 * i + side, 2 * (i + 1) + side) for i in range(n - 1) for side in (0, 1)
    ]
    ends = [(2 * (n - 1), 2 * n), (2 * (n - 1) + 1, 2 * n)]
    found = contracted(chains + ends)
    assert found.rounds == n
    assert found.labels.tolist() == [i - i % 2 for i in range(2 * n)] + [2 * n]
    assert len(found.source) == n


@pytest.mark.slow
def test_long_cascades():
    n = 1000
    chain = np.arange(2 * n, dtype=np.int64)
    found = contract(chain, np.minimum(chain + 2, 2 * n))
    assert found.rounds == n
    assert found.removed == n


def looked_at(links, monkeypatch):
    """Contract, and return the result and how many links of sets were compared in all rounds."""
    compared = []

    def leaders(offsets, ranks, *others):
        compared.append(len(ranks))
        return leaders_of_sets(offsets, ranks, *others)

    monkeypatch.setattr(link_graphs, "leaders_of_sets", leaders)
    return contracted(links), sum(compared)


def chains_with_hubs(n):
    """Two chains with one end, whose pages also link to ten hubs."""
    chains = [
        (2 * i + side, 2 * (i + 1) + side if i < n - 1 else 2 * n)
        for i in range(n)
        for side in (0, 1)
    ]
    return [
        *chains,
        *((page, 2 * n + 1 + hub) for page in range(2 * n) for hub in range(10)),
    ]


def growing_class(n):
    """One class takes up one page after the other, and another one the pages that link there."""
    return [
        (0, 1),
        (1, 0),
        *((2 * k + 1, 2 * k - 2) for k in range(1, n)),
        *((2 * k, 2 * k + 1) for k in range(1, n)),
    ]


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("graph", [chains_with_hubs, growing_class])
def test_rounds_of_one_merge_look_at_few_sets(graph, monkeypatch):
    """What is compared grows with the number of rounds, not with its square."""
    for n in (100, 400):
        links = graph(n)
        found, compared = looked_at(links, monkeypatch)
        assert found.rounds >= n
        assert compared < 8 * len(links)


def crowd_and_twins(n):
    """Links of n pages to 12 of 40 hubs, and of two similar pages to the same 9 rare nodes and to the first hub.

    Pages are 0..n + 1, hubs n + 2..n + 41, rare nodes the last ones.
    """
    generator = np.random.default_rng(n)
    hubs = [
        (page, n + 2 + int(hub))
        for page in range(n)
        for hub in generator.choice(40, 12, replace=False)
    ]
    twins = [(page, n + 42 + rare) for page in (n, n + 1) for rare in range(9)]
    return [*hubs, *twins, (n, n + 2)]


def test_a11_sequences_of_links():
    """Pages with the same links in another order are different, and become equal where their links are merged."""
    links = [(0, 2), (0, 3), (0, 4), (1, 4), (1, 3), (1, 2)]
    assert contracted(links).removed == 1
    assert contracted(links, size=2).removed == 0
    # 2, 3 and 4 are one class: each page has one link.
    cascade = [*links, *((node, 5) for node in (2, 3, 4))]
    assert contracted(cascade, size=2).labels.tolist() == [0, 0, 2, 2, 2, 5]
    # The navigation at the end of each page is shared, and a part of the articles before.
    pages = [(page, 10 + page) for page in range(4)]
    pages += [(page, 20 + link) for page in range(4) for link in range(20)]
    assert contracted(pages, size=3, threshold=0.8).removed == 3
    for size, message in ((0, "in 1..256, not 0"), (257, "in 1..256, not 257")):
        with pytest.raises(ValueError, match=message.replace(".", r"\.")):
            contracted(links, size=size)
    with pytest.raises(ValueError, match="max_block is for link sets: size must be 1"):
        contracted(links, size=2, max_block=9)


@pytest.mark.parametrize("size", [1, 2])
def test_a_class_that_grows_by_one_node_a_round(size):
    """Two chains whose pages link to each other in turn, and are merged into two classes."""
    n = 30
    links = [(0, n), (n, 0)]
    links += [link for at in range(1, n) for link in ((at, n + at), (n + at, at - 1))]
    found = assert_equals_reference(links, 2 * n, threshold=1.0, size=size)
    assert (found.rounds, found.removed) == (2 * n - 2, 2 * n - 2)


@pytest.mark.slow
def test_a_cascade_of_sequences_is_not_compared_anew():
    """Two chains of 800 pages, which are merged from their ends, one pair a round."""
    n = 800
    links = [
        (chain * n + page, link)
        for chain in range(2)
        for page in range(n)
        for link in (
            2 * n,
            2 * n + 1,
            chain * n + page + 1 if page + 1 < n else 2 * n + 2,
        )
    ]
    links += [(page, 2 * n + 3 + page % n) for page in range(2 * n)]
    found = contracted(links, size=2, threshold=1)
    assert (found.rounds, found.removed) == (n, n)


def test_larger_blocks_are_left_out_and_counted():
    n = 300
    links = crowd_and_twins(n)
    complete = contracted(links, threshold=0.4)
    assert len(complete.left_out) == len(complete.partly_compared) == 0
    capped = contracted(links, threshold=0.4, max_block=1000)
    assert set(capped.left_out.tolist()) < set(range(n + 2, n + 42))
    assert len(capped.left_out) > 30
    assert capped.partly_compared.tolist() == list(range(n))
    assert complete.removed > 100
    assert np.flatnonzero(capped.labels != np.arange(len(capped.labels))).tolist() == [
        n + 1
    ]
    assert capped.labels[n + 1] == n
    assert "left out" in str(capped)
    assert "left out" not in str(complete)


@pytest.mark.parametrize("threshold", [0.3, 0.5, Fraction(3, 4), 0.9])
@pytest.mark.parametrize("max_block", [1, 10, 100, 10**6])
def test_what_a_largest_block_misses_is_named(threshold, max_block):
    """Merges are those of similar sets, and if two similar classes are left, both have links that were left out."""
    generator = np.random.default_rng(max_block)
    links = [
        (page, 200 + int(link))
        for page in range(200)
        for link in {
            *generator.choice(12, 3),
            *(page // 4 * 5 + generator.choice(5, 3) + 12),
        }
    ]
    capped = contracted(links, threshold=threshold, max_block=max_block)
    again = contracted(
        np.column_stack([capped.source, capped.target]),
        threshold=threshold,
        nodes=len(capped.labels),
    )
    missed = np.flatnonzero(again.labels != np.arange(len(again.labels)))
    assert set(missed.tolist()) <= set(capped.partly_compared.tolist())
    if max_block == 10**6:
        complete = contracted(links, threshold=threshold)
        assert as_lists(capped) == as_lists(complete)
        assert len(capped.left_out) == len(capped.partly_compared) == 0


def test_a_site_and_its_mirror():
    """Two copies of a site that link within themselves and to the same pages outside become one."""
    generator = np.random.default_rng(9)
    pages, outside = 400, 4000
    inside = np.column_stack(
        [np.arange(pages).repeat(5), generator.integers(0, pages, 5 * pages)]
    )
    outward = np.column_stack(
        [
            np.arange(pages).repeat(12),
            2 * pages + generator.integers(0, outside, 12 * pages),
        ]
    )
    links = np.concatenate(
        [inside, outward, inside + pages, outward + np.array([pages, 0])]
    )
    found = contract(
        links[:, 0], links[:, 1], threshold=0.55, nodes=2 * pages + outside
    )
    assert found.labels[pages : 2 * pages].tolist() == list(range(pages))
    assert found.removed == pages


def test_links_back_and_forth_are_dropped():
    """The two pages of a class link to each other; the class has no link to itself."""
    found = contracted([(0, 1), (1, 0), (0, 2), (1, 2), (0, 3), (1, 3)], threshold=0.5)
    assert as_lists(found) == ([0, 0, 2, 3], [(0, 2), (0, 3)], 1)


def test_pages_with_few_links():
    links = [(page, 9) for page in range(5)]
    assert contracted(links, nodes=10).labels.tolist() == [0] * 5 + [5, 6, 7, 8, 9]
    assert contracted(links, nodes=10, min_links=2).removed == 0


def test_classes_without_links_stay():
    assert contracted([], nodes=4).labels.tolist() == [0, 1, 2, 3]
    assert contracted([]).labels.tolist() == []
    assert contracted([(0, 0), (1, 1)]).removed == 0


@pytest.mark.slow
def test_many_equal_link_sets_and_hubs_are_not_compared_pair_by_pair():
    """100,000 equal sets, and as many that share a hub and all but one of ten links with each other: 10**10 pairs."""
    n = 100_000
    equal = np.column_stack(
        [np.arange(n).repeat(3), np.tile([2 * n, 2 * n + 1, 2 * n + 2], n)]
    )
    common = np.column_stack(
        [np.arange(n, 2 * n).repeat(9), np.tile(2 * n + 10 + np.arange(9), n)]
    )
    own = np.column_stack([np.arange(n, 2 * n), 2 * n + 100 + np.arange(n)])
    links = np.concatenate([equal, common, own])
    found = contract(links[:, 0], links[:, 1], threshold=Fraction(9, 11))
    assert found.labels[: 2 * n].tolist() == [0] * n + [n] * n


@pytest.mark.slow
def test_pages_of_a_template_that_are_not_similar_are_not_compared_pair_by_pair():
    """100,000 pages have nine links in common, which are frequent, and two of their own, which are not: 9 / 13 < .8."""
    n = 100_000
    common = np.column_stack([np.arange(n).repeat(9), np.tile(n + np.arange(9), n)])
    own = np.column_stack([np.arange(n).repeat(2), 2 * n + np.arange(2 * n)])
    assert contract(*np.concatenate([common, own]).T, threshold=0.8).removed == 0


def test_the_order_of_links_does_not_matter():
    generator = np.random.default_rng(2)
    links = generator.integers(0, 40, (400, 2))
    again = generator.permutation(np.concatenate([links, links[:100]]))
    assert as_lists(contract(*links.T, threshold=0.4)) == as_lists(
        contract(*again.T, threshold=0.4)
    )
    reported = []
    found = contract(
        *links.T, threshold=0.2, progress=lambda *told: reported.append(told)
    )
    assert reported[-1] == ("merge", found.removed, None)
    assert len(reported) == found.rounds


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: contract([0.5], [1]),
            TypeError,
            "source must be integers, not float64",
        ),
        (lambda: contract([0], ["a"]), TypeError, "target must be integers"),
        (lambda: contract([0, 1], [1]), ValueError, "same length, not 2 and 1"),
        (
            lambda: contract([[0]], [[1]]),
            ValueError,
            "source must have one dimension, not 2",
        ),
        (
            lambda: contract([-1], [1]),
            ValueError,
            r"source must be in 0\.\.2147483647, not -1",
        ),
        (
            lambda: contract([1], [2**40]),
            ValueError,
            r"target must be in 0\.\.2147483647, not 1099511627776",
        ),
        (
            lambda: contract([1], [2], nodes=2),
            ValueError,
            r"nodes must be in 0\.\.1, not 2",
        ),
        (
            lambda: contract([1], [0], nodes=2, same=[[0, 2]]),
            ValueError,
            r"nodes must be in 0\.\.1, not 2",
        ),
        (
            lambda: contract([1], [0], same=[0, 1]),
            ValueError,
            r"same must be pairs of nodes.* not \(2,\)",
        ),
        (lambda: contract([1], [0], threshold=0), ValueError, "threshold must be in"),
        (
            lambda: contract([1], [0], threshold=float("nan")),
            ValueError,
            "threshold must be finite",
        ),
        (
            lambda: contract([1], [0], min_links=0),
            ValueError,
            "min_links must be at least 1, not 0",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
