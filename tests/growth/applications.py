"""Worst inputs of records, images, genomes, web and fingerprints."""

import random
from typing import get_args

import numpy as np

from lshfast import fingerprints, genomes, images, records, web
from lshfast.families import GridSquares
from lshfast.records.tables.fields import Kind
from tests.growth.cases import case

SECURITY = "docs/understand/security.md"

# ---- records ----


def dedup(table, **options):
    def work():
        result = records.dedup_records(table, threads=1, **options)
        return {"compared": result.summary.compared, "output": len(result.i)}

    return work


def match(table, other, **options):
    def work():
        result = records.match_records(table, other, threads=1, **options)
        return {"compared": result.summary.compared, "output": len(result.i)}

    return work


@case("records dedup", 300, is_weekly=True)
def one_record_many_times(n):
    return dedup({"name": ["bob smith"] * n, "city": ["x"] * n})


@case("records dedup", 300, is_weekly=True)
def names_that_differ_in_a_number(n):
    return dedup({"name": [f"bob smith {row}" for row in range(n)], "city": ["x"] * n})


@case("records dedup", 200, is_weekly=True)
def titles_with_frequent_words(n):
    chance = random.Random(1)
    titles = []
    for _ in range(n):
        others = " ".join(f"w{chance.randrange(n)}" for _ in range(6))
        titles.append(f"the of and {others}")
    return dedup({"title": titles})


@case("records dedup", 300, is_weekly=True)
def blocks_as_large_as_may_be(n):
    numbers = range(n)
    return dedup(
        {
            "name": [f"n{row // 141} k{row}" for row in numbers],
            "zip": [f"{row // 141:05d}" for row in numbers],
            "city": [f"{row % 97}" for row in numbers],
        }
    )


@case("records dedup", 300, is_weekly=True)
def one_huge_block(n):
    """All records share one value; their names make some pairs."""
    table = {"name": [f"n{row // 2} k" for row in range(n)], "city": ["x"] * n}
    return dedup(table, rules=["key:city", "key:name"])


@case("records dedup", 300, is_weekly=True)
def running_numbers(n):
    return dedup(
        {
            "ref": [f"inv{row:06d}" for row in range(n)],
            "day": [f"2024-01-{row % 28 + 1:02d}" for row in range(n)],
        }
    )


@case("records dedup", 300, is_weekly=True)
def windows_of_a_sorted_name(n):
    names = [f"{'a' * 40}{row}" for row in range(n)]
    return dedup({"name": names}, rules=["sort:name:window=20"])


@case("records dedup", 200, is_weekly=True)
def nearest_of_frequent_words(n):
    chance = random.Random(1)
    titles = [
        " ".join(["shared"] * 3 + [f"w{chance.randrange(20)}" for _ in range(10)])
        for _ in range(n)
    ]
    return dedup({"title": titles}, rules=["nearest"])


@case("records match", 150, is_weekly=True)
def one_to_one_among_equal_scores(n):
    chance = random.Random(1)
    names = [f"bob smith{chance.randrange(3)}" for _ in range(n)]
    table = {"name": names, "block": [str(row // 50) for row in range(n)]}
    return match(table, table, rules=["key:block"])


@case("records dedup", 150, is_weekly=True)
def chained_synonyms(n):
    chance = random.Random(1)
    synonyms = records.Synonyms([[f"a{at}", f"a{at + 1}"] for at in range(n)])
    names = [" ".join(f"a{chance.randrange(n)}" for _ in range(8)) for _ in range(n)]
    table = {"name": names, "block": [str(row // 50) for row in range(n)]}
    return dedup(table, rules=["key:block"], synonyms=synonyms)


@case("records match", 2, is_weekly=True)
def many_fields(n):
    chance = random.Random(1)

    def records_of(rows):
        return [[str(chance.randrange(30 + 20 * f)) for f in range(n)] for _ in rows]

    both = records_of(range(60))
    tables = [
        {f"f{f}": [record[f] for record in rows] for f in range(n)}
        for rows in (both + records_of(range(60)), both + records_of(range(60)))
    ]
    return match(*tables)


# Values that patterns, parsers and comparisons read again and again, if they are not written with care.
LONG_VALUES = (
    lambda n: "x" * n,
    lambda n: "ab " * (n // 3),
    lambda n: "0" * n + "x",
    lambda n: "7" * n + "x",
    lambda n: "T" + " " * n + "x",
    lambda n: "\n" * n + "x",
    lambda n: "1." * (n // 2) + "x",
    lambda n: "1" + ",000" * (n // 4) + "x",
    lambda n: "[" * n,
    lambda n: "(" * n,
    lambda n: "+" * n,
    lambda n: "1/1/" * (n // 4),
    lambda n: "a" + "\u0301" * n,
    lambda n: "a@" * (n // 2),
    lambda n: "1 a st, " * (n // 8),
    lambda n: "apt 1 " * (n // 6),
    lambda n: "a." * (n // 2) + "@b",
)
KINDS = get_args(Kind)


def declare_long_values():
    """Declare a case for each kind of a field: some records have values of n characters."""
    for kind in KINDS:

        def work_on(n, kind=kind):
            long_values = [value(n) for value in LONG_VALUES]
            values = [str(row) for row in range(30)] + long_values
            values += [f"{value}y" for value in long_values]
            numbers = range(len(values))
            table = {
                "name": [f"name {row}" for row in numbers],
                "value": values,
                "block": [str(row % 8) for row in numbers],
            }
            fields = ["name", records.Field("value", kind=kind), "block"]
            return dedup(table, fields=fields, rules=["key:block"])

        work_on.__name__ = f"long_values_of_kind_{kind}"
        case("records dedup", 4_000, is_weekly=True)(work_on)


declare_long_values()

# ---- images ----


def image_hashes(codes):
    count = len(codes)
    return images.ImageHashes(
        paths=[f"{row}.png" for row in range(count)],
        codes=codes[:, np.newaxis],
        quality=np.full(count, 100, np.int64),
        width=np.full(count, 64, np.int64),
        height=np.full(count, 64, np.int64),
        nbytes=np.full(count, 1000, np.int64),
        hash="pdq",
        rejected=[],
    )


def image_copies(codes):
    hashes = image_hashes(codes)

    def work():
        images.dedup(hashes, threads=1)

    return work


@case("images", 100)
def images_of_one_hash(n):
    return image_copies(np.full((n, 4), 0x5555555555555555, np.uint64))


@case("images", 100)
def images_around_one_hash(n):
    """Most pairs differ in a little more bits than copies do."""
    generator = np.random.default_rng(0)
    flips = generator.random((n, 256)) < 0.08
    packed = np.packbits(flips, axis=1).view(np.uint64)
    return image_copies(packed ^ np.uint64(0x5555555555555555))


# ---- genomes ----


def letters(count, seed=1):
    return "".join(random.Random(seed).choices("ACGT", k=count))


def genome_pairs(sequences, scaled, **options):
    names = [f"g{row}" for row in range(len(sequences))]

    def work():
        sketches = genomes.sketch(
            sequences, names=names, k=21, scaled=scaled, threads=1
        )
        return {"output": len(genomes.pairs(sketches, threads=1, **options))}

    return work


@case("genomes", 20)
def equal_genomes(n):
    return genome_pairs([letters(2000)] * n, 10)


@case("genomes", 50, SECURITY, ("kernel bytes",))
def genomes_with_a_common_part(n):
    chance = random.Random(2)
    common = letters(300)
    sequences = [common + "".join(chance.choices("ACGT", k=700)) for _ in range(n)]
    return genome_pairs(sequences, 5, containment=0.5)


@case("genomes", 5000)
def periodic_genomes(n):
    return genome_pairs(["A" * n, "ACGT" * (n // 4)], 1)


# ---- web ----


def mirrors(urls, **options):
    return lambda: {"compared": web.find_mirrors(urls, threads=1, **options).compared}


@case("web mirrors", 20)
def equal_hosts(n):
    urls = [f"http://h{host}.com/p{page}" for host in range(n) for page in range(20)]
    return mirrors(urls)


@case("web mirrors", 20)
def hosts_with_half_of_their_paths_in_common(n):
    urls = []
    for host in range(n):
        for page in range(20):
            name = f"p/q/r{page}" if page < 12 else f"x{host}/y{page}"
            urls.append(f"http://h{host}.com/{name}")
    return mirrors(urls)


@case("web mirrors", 20)
def hosts_with_the_same_words(n):
    """Their words are those of all, and their paths are their own."""
    urls = [
        f"http://h{host}.com/page/{host}/{page}"
        for host in range(n)
        for page in range(20)
    ]
    return mirrors(urls)


@case("web mirrors", 20)
def hosts_whose_paths_have_no_letters(n):
    urls = [
        f"http://h{host}.com/{page if page < 12 else 100 * host + page}"
        for host in range(n)
        for page in range(20)
    ]
    return mirrors(urls)


@case("web mirrors --measure containment", 20)
def nested_hosts(n):
    urls = []
    for host in range(n):
        urls.append(f"http://h{host}.com/own{host}")
        urls += [f"http://h{host}.com/p{page}" for page in range(3 + host % 20)]
    return mirrors(urls, measure="containment")


def contracted(source, target, **options):
    source = np.asarray(source)
    target = np.asarray(target)

    def work():
        web.contract(source, target, **options)

    return work


@case("web contract", 40)
def chains_that_merge_one_by_one(n):
    """Two chains whose pages also link to ten hubs: one pair of pages merges a round."""
    first = np.arange(n)
    second = n + first
    both = np.concatenate([first, second])
    hubs = 2 * n + np.arange(10)
    end = 2 * n + 10
    source = np.concatenate(
        [first[:-1], second[:-1], np.repeat(both, 10), [n - 1, 2 * n - 1]]
    )
    target = np.concatenate([first[1:], second[1:], np.tile(hubs, 2 * n), [end, end]])
    return contracted(source, target)


@case("web contract", 40, SECURITY, ("kernel bytes",))
def pages_with_the_same_few_links(n):
    source = np.repeat(np.arange(n), 12)
    own = n + 8 + np.arange(4 * n).reshape(n, 4)
    shared = np.broadcast_to(n + np.arange(8), (n, 8))
    return contracted(source, np.concatenate([shared, own], axis=1).ravel())


@case("web contract --max-block", 40)
def pages_with_the_same_few_links_and_a_limit(n):
    source = np.repeat(np.arange(n), 12)
    own = n + 8 + np.arange(4 * n).reshape(n, 4)
    shared = np.broadcast_to(n + np.arange(8), (n, 8))
    target = np.concatenate([shared, own], axis=1).ravel()
    return contracted(source, target, max_block=50)


def links(html, url="http://a.example/b/"):
    return lambda: {"length": sum(map(len, web.page_links(html, url)))}


@case("web.page_links", 500)
def unfinished_tags(n):
    return links("<a " * n)


@case("web.page_links", 500)
def unfinished_quotes(n):
    return links('<a href="x' * n)


@case("web.page_links", 500)
def unfinished_comments(n):
    return links("<!--" * n)


@case("web.page_links", 500)
def unfinished_scripts(n):
    return links("<script></script" * n)


@case("web.page_links", 500)
def attributes_of_a_tag(n):
    return links("<a " + "".join(f"x{at}=y " for at in range(n)) + ">")


@case("web.page_links", 500)
def references_without_end(n):
    return links('<a href="/' + "&am" * n + "&" + "a" * n + "&#" + "1" * n + '">')


@case("web.page_links", 500)
def links_to_parents(n):
    return links(
        '<a href="' + "../" * n + '">' + '<a href="x">' * 50,
        "http://a.example/" + "b/" * 500,
    )


@case("web.page_links", 200)
def base_as_long_as_the_links(n):
    base = "http://b.example/" + "b" * 10 * n + "/"
    return links(f'<base href="{base}">' + '<a href="x">' * n)


@case("web.page_links", 200)
def address_as_long_as_the_links(n):
    return links('<a href="x">' * n, "http://b.example/" + "b" * 10 * n + "/")


@case("web.clean_url", 2000)
def parameters_of_a_url(n):
    url = (
        "http://a.example/"
        + "/(A(b)" * n
        + "?"
        + "&".join(f"sid{at}=1" for at in range(n))
    )
    return lambda: {"length": len(web.clean_url(url))}


@case("web.virtual_hosts", 500)
def hosts_with_chained_addresses(n):
    hosts = {f"h{row}": [f"a{row}", f"a{row + 1}"] for row in range(n)}
    return lambda: {"output": len(web.virtual_hosts(hosts))}


@case("web.path_bigrams", 2000)
def a_long_path(n):
    return lambda: {"output": len(web.path_bigrams(["/a" * n]).tokens)}


# ---- fingerprints ----


@case("fingerprints match", 50)
def equal_prints(n):
    generator = np.random.default_rng(0)
    minutiae = 30
    owners = np.repeat(np.arange(n), minutiae)
    x = np.tile(generator.uniform(0, 20, minutiae), n)
    y = np.tile(generator.uniform(0, 20, minutiae), n)
    prints = fingerprints.FingerprintGrid(1.0).prints(owners, x, y, n)
    matcher = fingerprints.FingerprintMatcher(GridSquares(400), 64)
    return lambda: {"output": len(matcher.match(prints))}


@case("fingerprints match", 50)
def full_prints(n):
    """Each print has a minutia in most squares, so it shares the squares of all functions."""
    generator = np.random.default_rng(0)
    squares = 400
    has_minutia = generator.random((n, squares)) < 0.3
    owners, places = np.nonzero(has_minutia)
    grid = fingerprints.FingerprintGrid(1.0)
    prints = grid.prints(owners, places % 20 + 0.5, places // 20 + 0.5, n)
    matcher = fingerprints.FingerprintMatcher(GridSquares(squares), 64)
    return lambda: {"output": len(matcher.match(prints))}
