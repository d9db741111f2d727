"""Mirror hosts: against all pairs, planted mirrors with decoys, copies, contents, and errors."""

from urllib.parse import urljoin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.web import Mirror, find_mirrors, split_url
from lshfast.web import mirror_search as module
from tests.cli.commands import failing, run
from tests.reference import urls as reference

WORDS = [
    "docs",
    "guide",
    "news",
    "team",
    "shop",
    "img",
    "blog",
    "post",
    "faq",
    "help",
    "api",
    "list",
    "map",
    "tour",
]


def site(generator, pages, number=0):
    """Return different paths of three words each."""
    paths = set()
    while len(paths) < pages:
        first, second, third = generator.choice(WORDS, 3)
        paths.add(
            f"/{first}/{second}/{third}{'abcdefgh'[int(generator.integers(8))]}x{'yz'[number % 2] * number}.html"
        )
    return sorted(paths)


def urls_of(sites):
    return [f"http://{host}{path}" for host, paths in sites.items() for path in paths]


hosts = st.dictionaries(
    st.sampled_from([f"h{i}.example" for i in range(6)]),
    st.sets(
        st.sampled_from(
            [f"/{a}/{b}" for a in ("aa", "bb", "cc") for b in ("dd", "ee", "ff", "gg")]
        ),
        min_size=1,
    ),
    max_size=6,
)


@settings(max_examples=100)
@given(
    hosts,
    st.sampled_from([0.3, 0.5, 2 / 3, 1.0]),
    st.integers(1, 4),
    st.sampled_from(["jaccard", "containment"]),
    st.sampled_from([None, 0.5, 2 / 3, 0.9, 1.0]),
)
def test_against_all_pairs(sites, threshold, min_paths, measure, most):
    """Mirrors are those of all pairs, with exact figures, if the recall is nearly 1."""
    if most is not None:
        threshold = min(threshold, most)
    found = find_mirrors(
        urls_of(sites),
        threshold=threshold,
        measure=measure,
        most=most,
        min_paths=min_paths,
        recall=0.999999,
    )
    assert found.hosts == list(sites)
    expected = reference.mirrors(sites, threshold, min_paths, measure, most or 1)
    assert {
        host: found.hosts[row]
        for host, row in zip(found.hosts, found.keeper.tolist(), strict=True)
    } == expected
    for mirror in found.removed:
        own, other = sites[mirror.host], sites[mirror.mirror_of]
        exact = reference.similarity(own, other, measure)
        assert threshold <= mirror.similarity == exact <= (most or 1)
        assert (mirror.paths, mirror.common, mirror.agreement) == (
            len(own),
            len(own & other),
            1.0,
        )
        assert min_paths <= len(own) <= len(other)
    assert found.few == sum(len(paths) < min_paths for paths in sites.values())
    assert found.urls == sum(map(len, sites.values()))


def test_contents_of_repeated_urls():
    """A path with several contents is one common path, and agrees if one of its contents is on both hosts."""
    pages = {
        "a": {"/x": ["1", "2"], "/y": ["3", "4"], "/z": ["5"]},
        "b": {"/x": ["1", "2"], "/y": ["6"], "/z": ["5"]},
    }
    rows = [
        (f"{host}.example{path}", text)
        for host in pages
        for path in pages[host]
        for text in pages[host][path]
    ]
    found = find_mirrors(
        [url for url, _ in rows], [text for _, text in rows], threshold=0.4
    )
    assert found.removed == [Mirror("b.example", "a.example", 3 / 6, 3, 3, 2 / 3)]


def test_contents_of_pandas():
    pd = pytest.importorskip("pandas")
    urls = urls_of({host: ["/aa/bb", "/cc/dd", "/ee/ff"] for host in "ab"})
    contents = pd.Series(["1", "2", "3", "1", "2", "4"], index=range(10, 16))
    assert find_mirrors(pd.Series(urls), contents, threshold=0.4).removed[
        0
    ].agreement == pytest.approx(2 / 3)


@pytest.mark.slow
def test_planted_mirrors_among_hosts_with_the_same_software():
    """A mirror has nine tenths of the paths; a decoy has a third of its paths from the same software."""
    generator = np.random.default_rng(1)
    common = site(generator, 10)
    sites, truth = {}, {}
    for number in range(300):
        paths = site(generator, 30, 2 + number % 50) + common
        sites[f"site{number}.example"] = paths
        if number % 3 == 0:
            sites[f"mirror{number}.example"] = [
                path for path in paths if generator.random() < 0.9
            ]
            truth[f"mirror{number}.example"] = f"site{number}.example"
    found = {
        mirror.host: mirror.mirror_of
        for mirror in find_mirrors(urls_of(sites), threshold=0.7).removed
    }
    assert found.items() <= truth.items()
    assert len(found) >= 0.95 * len(truth)


def test_g2_suspects_of_an_earlier_crawl_first():
    generator = np.random.default_rng(6)
    sites = {f"h{number}.example": site(generator, 12, number) for number in range(40)}
    sites |= {
        f"m{number}.example": sites[f"h{number}.example"][:10]
        for number in range(0, 40, 4)
    }
    earlier = find_mirrors(urls_of(sites)).removed
    suspects = {host for mirror in earlier for host in (mirror.host, mirror.mirror_of)}
    assert len(suspects) == 20
    begun = urls_of({host: paths[:4] for host, paths in sites.items()})
    found = find_mirrors(url for url in begun if split_url(url).host in suspects)
    assert sorted(found.hosts) == sorted(suspects)
    assert {(mirror.host, mirror.mirror_of) for mirror in found.removed} <= {
        pair for mirror in earlier for pair in (mirror[:2], mirror[1::-1])
    }
    assert len(found.removed) == 10


@pytest.mark.parametrize("measure", ["jaccard", "containment"])
def test_g2_hosts_that_are_close_but_no_mirrors(measure):
    paths = site(np.random.default_rng(7), 20)
    sites = {
        "a.example": paths,
        "mirror.example": paths[:18],
        "copy.example": paths,
        "close.example": [*paths[:11], "/x/y/z", "/x/y/w"],
        "copy.of.close.example": [*paths[:11], "/x/y/z", "/x/y/w"],
    }
    bounds = {"jaccard": (0.3, 0.8), "containment": (0.8, 0.85)}[measure]
    close = {"jaccard": 11 / 22, "containment": 11 / 13}[measure]
    found = find_mirrors(
        urls_of(sites), measure=measure, threshold=bounds[0], most=bounds[1]
    )
    assert [mirror[:3] for mirror in found.removed] == [
        ("close.example", "a.example", close),
        ("copy.of.close.example", "a.example", close),
    ]


def test_g2_hosts_with_a_part_of_the_pages():
    """With containment, also by contents: pages that differ do not count."""
    pages = {f"/page/{name}": name for name in map(str, range(400))}
    part = dict(list(pages.items())[:20])
    sites = {"big.example": pages, "part.example": part}
    sites["other.example"] = dict.fromkeys(part, "another site")
    urls = urls_of(sites)
    contents = [text for paths in sites.values() for text in paths.values()]
    assert find_mirrors(urls, contents).removed == []
    found = find_mirrors(urls, contents, measure="containment", threshold=0.9)
    assert found.removed == [Mirror("part.example", "big.example", 1.0, 20, 20, 1.0)]


CROWD_WAYS = [{}, {"measure": "containment"}, {"most": 0.9}, {"most": 0.62}]


def crowd(hosts, kinds=1):
    """Return URLs of hosts that have 40 of 50 pages each; hosts of a kind are similar to each other."""
    generator = np.random.default_rng(3)
    return [
        f"http://h{host}.example/{host % kinds}/page{page}"
        for host in range(hosts)
        for page in generator.choice(50, 40, replace=False)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", CROWD_WAYS)
@pytest.mark.parametrize("kinds", [1, 5])
def test_a_crowd_of_similar_hosts_is_compared_with_kept_hosts(arguments, kinds):
    """Twice the hosts take a little more than twice the comparisons, not four times."""
    compared = [
        find_mirrors(crowd(n, kinds), threshold=0.5, **arguments).compared
        for n in (100, 200, 400, 800)
    ]
    growth = np.array(compared[1:]) / compared[:-1]
    assert (growth < 3).all()
    assert compared[-1] < 200 * 800


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": "cosine"}, "measure must be 'jaccard' or 'containment'"),
        ({"most": 0.4}, "most must be in 0.5..1, from the threshold, not 0.4"),
        ({"most": 1.5}, "most must be in 0.5..1"),
        ({"most": "high"}, "most must be a number, not 'high'"),
        ({"clean_urls": "yes"}, "clean_urls must be"),
    ],
)
def test_bounds_of_mirrors_are_checked(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        find_mirrors(["http://a.example/"], **arguments)


def test_bounds_on_the_command_line(tmp_path):
    pages = [f"/page/{name}" for name in "abcdefghij"]
    sites = {"a.example": pages, "b.example": pages[:4], "c.example": pages}
    (tmp_path / "urls.txt").write_text("\n".join(urls_of(sites)) + "\n")
    source, output = str(tmp_path / "urls.txt"), str(tmp_path / "out.csv")
    command = ["web", "mirrors", source, "-o", output, "--threshold", "0.3"]
    run(*command, "--most", "0.9")
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == [
        "b.example,a.example,0.4,4,4,1.0"
    ]
    run(*command, "--measure", "containment", "--overwrite")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3
    line = failing(2, *command, "--most", "0.2", "--overwrite")
    assert "most must be in 0.3..1" in line


@pytest.mark.parametrize("ways", ["python", "command"])
def test_g2_what_servers_write_into_urls(ways, tmp_path):
    """Session numbers make other paths, but not other bigrams; they are removed on request."""
    base = "http://a.example/docs/guide/"
    links = ["start.html", "../install/mac.html", "/news/launch", "more/faq.html"]
    urls = [urljoin(base, link) for link in links]
    sessions = [
        f"{url.replace('a.example', 'b.example')}?sid={number}"
        for number, url in enumerate(urls)
    ]
    if ways == "python":
        assert not find_mirrors(urls + sessions).removed
        assert len(find_mirrors(urls + sessions, clean_urls=True).removed) == 1
        return
    (tmp_path / "urls.txt").write_text("\n".join(urls + sessions) + "\n")
    source, output, page = (
        str(tmp_path / name) for name in ("urls.txt", "out.csv", "page.html")
    )
    run("web", "mirrors", source, "-o", output, "--clean-urls", "--html", page)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 2
    assert "sid=" not in (tmp_path / "page.html").read_text()


def test_contents_tell_hosts_with_equal_paths_apart():
    paths = site(np.random.default_rng(2), 20)
    sites = {"a.example": paths, "b.example": paths, "other.example": paths}
    contents = [
        f"{host[0] == 'o'}{path}" for host, own in sites.items() for path in own
    ]
    contents[20] = "changed on b"
    assert len(find_mirrors(urls_of(sites)).removed) == 2
    found = find_mirrors(urls_of(sites), contents)
    assert found.removed == [Mirror("b.example", "a.example", 19 / 21, 20, 20, 19 / 20)]
    numbers = [hash(content) for content in contents]
    assert find_mirrors(urls_of(sites), numbers).removed == found.removed


def test_the_host_with_the_most_paths_is_kept():
    paths = site(np.random.default_rng(3), 12)
    sites = {"small.example": paths[:9], "large.example": paths, "copy.example": paths}
    found = find_mirrors(urls_of(sites))
    assert found.keeper.tolist() == [1, 1, 1]
    assert found.keep.tolist() == [False, True, False]


def test_repeated_urls_and_other_spellings_count_once():
    urls = urls_of(
        {"a.example": ["/a/b", "/a/c", "/d"], "b.example": ["/a/b", "/a/c", "/d"]}
    )
    again = [
        *urls,
        *(url.replace("http://a", "HTTPS://user@A") + "#part" for url in urls),
    ]
    found = find_mirrors(again)
    assert found.urls == 12
    assert [mirror.paths for mirror in found.removed] == [3]


@pytest.mark.slow
def test_many_equal_hosts_are_not_compared_pair_by_pair():
    paths = ["/a/b", "/c/d", "/e/f"]
    found = find_mirrors(
        [f"h{number}.example{path}" for number in range(20_000) for path in paths]
    )
    assert found.keeper.max() == 0
    assert found.compared == 0


def test_hosts_whose_paths_have_no_words_are_compared_by_their_paths():
    sites = {
        host: [f"/{page if page < 18 else 100 * number + page}" for page in range(20)]
        for number, host in enumerate(("a.example", "b.example", "c.example"))
    }
    sites["c.example"] = [f"/{page}" for page in range(1000, 1020)]
    found = find_mirrors(urls_of(sites))
    assert found.removed == [Mirror("b.example", "a.example", 18 / 22, 20, 18, 1.0)]
    assert found.compared == 1


@pytest.mark.parametrize(
    ("common", "alone"),
    [
        ("/{number}", "/about-{host}"),
        ("/article/{number}", "/{number}/{number}"),
        ("/page-{number}.html", "/of/{host}/{number}"),
    ],
)
def test_mirrors_whose_paths_differ_in_numbers(common, alone):
    """What hosts have alone does not hide that they share 100 paths whose words are equal, or which have none."""
    sites = {}
    for rank, host in enumerate(("one", "two", "other")):
        first = 1000 * (host == "other")
        paths = [common.format(number=number) for number in range(first, first + 100)]
        numbers = range(5000 + 10 * rank, 5010 + 10 * rank)
        paths += [alone.format(host=host, number=number) for number in numbers]
        sites[f"{host}.example"] = paths
    (mirror,) = find_mirrors(urls_of(sites)).removed
    assert mirror[:2] == ("two.example", "one.example")
    assert mirror.common == 100


def test_hosts_with_few_pages_are_not_compared():
    urls = urls_of({"a.example": ["/", "/a/b"], "b.example": ["/", "/a/b"]})
    found = find_mirrors(urls)
    assert (found.removed, found.few) == ([], 2)
    assert len(find_mirrors(urls, min_paths=2).removed) == 1


def test_results_do_not_depend_on_threads_or_batches(monkeypatch):
    generator = np.random.default_rng(4)
    urls = urls_of(
        {f"h{number}.example": site(generator, 12, number % 4) for number in range(60)}
    )
    urls += [url.replace("h1", "m1") for url in urls if "h1" in url]
    first = find_mirrors(urls, threads=1)
    monkeypatch.setattr(module, "BATCH_URLS", 7)
    told = []
    second = find_mirrors(
        iter(urls), threads=3, progress=lambda *values: told.append(values)
    )
    assert first.removed == second.removed
    assert len(first.removed) == 11
    assert told[0] == ("read", 7, None)


def test_nothing():
    found = find_mirrors([])
    assert (found.hosts, found.removed, found.urls) == ([], [], 0)
    assert find_mirrors(["a.example"]).hosts == ["a.example"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: find_mirrors("http://a.example"),
            TypeError,
            "urls must be a sequence of URLs",
        ),
        (
            lambda: find_mirrors(["ftp://must be a str"]),
            ValueError,
            r"urls\[0\]: not a URL of http or https",
        ),
        (
            lambda: find_mirrors(["a.example", None]),
            TypeError,
            r"urls\[1\]: url must be a str, not None",
        ),
        (
            lambda: find_mirrors(["a.example", "x y"]),
            ValueError,
            r"urls\[1\]: not a URL of http or https: 'x y'",
        ),
        (
            lambda: find_mirrors(["a.example"], []),
            ValueError,
            "contents must have one entry for each of 1 URLs, not 0",
        ),
        (
            lambda: find_mirrors(["a.example"], [1.5]),
            TypeError,
            r"contents\[0\] must be str or bytes; .*, not 1.5",
        ),
        (
            lambda: find_mirrors(["a.example"] * 2, ["x", 1]),
            TypeError,
            r"contents\[1\] must be str or bytes",
        ),
        (
            lambda: find_mirrors(["a.example"] * 2, [1, "x"]),
            TypeError,
            r"contents\[1\] must be an int, .*, not 'x'",
        ),
        (
            lambda: find_mirrors(["a.example"], 5),
            TypeError,
            "contents must be a sequence of contents, not int",
        ),
        (
            lambda: find_mirrors(["a.example/\ud800"]),
            ValueError,
            r"urls\[0\]: url has a lone surrogate",
        ),
        (
            lambda: find_mirrors(["a.example"], ["\ud800"]),
            ValueError,
            r"urls\[0\]: content has a lone surrogate",
        ),
        (lambda: find_mirrors([], threshold=0), ValueError, "threshold must be in"),
        (
            lambda: find_mirrors([], min_paths=0),
            ValueError,
            "min_paths must be at least 1, not 0",
        ),
        (lambda: find_mirrors([], recall=1), ValueError, "recall must be in"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.one_case
@pytest.mark.parametrize("threshold", [0.02, 0.001, 1e-4])
def test_a_low_threshold_gets_the_slots_that_the_recall_needs(tmp_path, threshold):
    pages = [f"/docs/part{number}/page.html" for number in range(4)]
    urls = [
        f"http://{host}{page}"
        for host in ("a.example", "mirror.b.example")
        for page in pages
    ]
    found = find_mirrors(urls, threshold=threshold)
    assert [mirror.host for mirror in found.removed] == ["mirror.b.example"]
    source, out = tmp_path / "urls.txt", tmp_path / "mirrors.jsonl"
    source.write_text("\n".join(urls))
    done = run("web", "mirrors", source, "-o", out, "--threshold", threshold)
    assert done.exit_code == 0, done.stderr
    assert (
        float(done.stderr.split(f"at the threshold {threshold:g}: ")[1].split()[0])
        >= 0.95
    )
    assert "num_perm 128" in failing(
        2,
        "web",
        "mirrors",
        source,
        "-o",
        out,
        "--threshold",
        threshold,
        "--num-perm",
        128,
    )


@pytest.mark.parametrize("options", [{}, {"measure": "containment"}, {"most": 0.9}])
def test_a_host_is_not_compared_with_itself(options):
    paths = [f"/{word}/page" for word in ("one", "two", "three", "four")]
    alone = [f"http://a.example{path}" for path in paths]
    few = [f"http://b.example{path}" for path in paths[:2]]
    other = [f"http://c.example/other{path}" for path in paths]
    assert find_mirrors(alone, **options).compared == 0
    assert find_mirrors(alone + few + other, **options).compared == 0
