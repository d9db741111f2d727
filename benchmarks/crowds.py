"""dedup of pages that share a template, beside as many unrelated pages: seconds and memory, one line a kind.

    python benchmarks/crowds.py [--pages 100000] [--groups star components] [--threads 1] [--only short]
    python benchmarks/crowds.py --tiny [100000 300000 1000000 3000000] [--groups star components] [--repeat 3]

A page has 400 words. Pages of a template have 20 words of their own, which makes them alike by about .9 and above the
threshold of .8; or 60, which makes them alike by about .75: nearly all meet in a bucket, and none is similar. Scattered
pages have a template of 400 words, of which each replaces three by words of its own, in places that hardly any two
have in common: at threshold .91 nearly all are just below it. Short texts have 16 words and nothing in common. Each
line is a process of its own; memory is what the run adds to the pages and their Python objects, per page, and seconds
are of all threads together.

"--tiny" has texts of 1 to 4 of the 5,644 words of the GPL, by 4-grams of characters at threshold .5, once by bands and
once by the exact join: median seconds, and their ratio.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import time

import lshfast

OWN_WORDS = {
    "unrelated": 420,
    "alike by .9": 20,
    "alike by .75": 60,
    "scattered": 400,
    "short": 16,
}


def pages(kind: str, count: int) -> list[str]:
    rng = random.Random(1)
    words = [f"word{number}" for number in range(50_000)]
    own = OWN_WORDS[kind]
    if kind == "scattered":
        template = rng.choices(words, k=400)
        return [" ".join(_scattered(template, number, rng)) for number in range(count)]
    template = rng.choices(words, k=400) if kind.startswith("alike") else []
    return [" ".join(template + rng.choices(words, k=own)) for _ in range(count)]


def _scattered(template: list[str], number: int, rng: random.Random) -> list[str]:
    page = list(template)
    for place in rng.sample(range(80), 3):
        page[5 * place] = f"own{number}x{place}"
    return page


def measure(kind: str, count: int, groups: str, threads: int) -> None:
    texts = pages(kind, count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    threshold = 0.91 if kind == "scattered" else 0.8
    summary = lshfast.dedup(
        texts, groups=groups, threads=threads, threshold=threshold
    ).summary
    seconds = time.process_time() - start
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / count
    print(
        f"{kind:<14} {groups:<12} {seconds:7.2f} s  {added:5.1f} KiB a page  {summary.kept:9,} kept  "
        f"{summary.candidates:11,} comparisons"
    )


def tiny_texts(count: int) -> list[str]:
    rng = random.Random(1)
    with open("/usr/share/common-licenses/GPL-3", encoding="ascii") as file:
        words = file.read().lower().split()
    return [" ".join(rng.choices(words, k=rng.randrange(1, 5))) for _ in range(count)]


def measure_tiny(count: int, groups: str, threads: int, repeat: int) -> None:
    texts = tiny_texts(count)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(repeat):
        for exact, taken in seconds.items():
            start = time.process_time()
            lshfast.dedup(
                texts,
                unit="char",
                size=4,
                threshold=0.5,
                exact=exact,
                groups=groups,
                threads=threads,
            )
            taken.append(time.process_time() - start)
    bands, join = map(statistics.median, seconds.values())
    print(
        f"{count:9,} {groups:<12} bands {bands:8.2f} s  exact {join:8.2f} s  ratio {bands / join:5.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--groups", nargs="+", default=["star", "components"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--only",
        choices=OWN_WORDS,
        nargs="+",
        default=list(OWN_WORDS)[:3],
        help="these kinds",
    )
    parser.add_argument(
        "--kind", choices=OWN_WORDS, help="this kind only, in this process"
    )
    parser.add_argument("--tiny", type=int, nargs="*", help="rows of tiny texts")
    parser.add_argument("--repeat", type=int, default=3, help="turns of --tiny")
    options = parser.parse_args()
    if options.tiny is not None:
        for groups in options.groups:
            for count in options.tiny or [100_000, 300_000, 1_000_000, 3_000_000]:
                measure_tiny(count, groups, options.threads, options.repeat)
        return
    if options.kind:
        measure(options.kind, options.pages, options.groups[0], options.threads)
        return
    for groups in options.groups:
        for kind in options.only:
            arguments = [
                "--pages",
                options.pages,
                "--groups",
                groups,
                "--threads",
                options.threads,
                "--kind",
                kind,
            ]
            subprocess.run([sys.executable, __file__, *map(str, arguments)], check=True)


if __name__ == "__main__":
    main()
