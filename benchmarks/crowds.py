"""dedup of pages that share a template, beside as many unrelated pages: seconds and memory, one line a kind.

    python benchmarks/crowds.py [--pages 100000] [--groups star components] [--threads 1] [--only short]

A page has 400 words. Pages of a template have 20 words of their own, which makes them alike by about .9 and above the
threshold of .8; or 60, which makes them alike by about .75: nearly all meet in a bucket, and none is similar. Scattered
pages have a template of 400 words, of which each replaces three by words of its own, in places that hardly any two
have in common: at threshold .91 nearly all are just below it. Short texts have 16 words and nothing in common. Each
line is a process of its own; memory is what the run adds to the pages and their Python objects, per page, and seconds
are of all threads together.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time

import lshfast

OWN_WORDS = {"unrelated": 420, "alike by .9": 20, "alike by .75": 60, "scattered": 400, "short": 16}


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
    summary = lshfast.dedup(texts, groups=groups, threads=threads, threshold=threshold).summary
    seconds = time.process_time() - start
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / count
    print(
        f"{kind:<14} {groups:<12} {seconds:7.2f} s  {added:5.1f} KiB a page  {summary.kept:9,} kept  "
        f"{summary.candidates:11,} comparisons"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--groups", nargs="+", default=["star", "components"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=OWN_WORDS, nargs="+", default=list(OWN_WORDS)[:3], help="these kinds")
    parser.add_argument("--kind", choices=OWN_WORDS, help="this kind only, in this process")
    options = parser.parse_args()
    if options.kind:
        measure(options.kind, options.pages, options.groups[0], options.threads)
        return
    for groups in options.groups:
        for kind in options.only:
            arguments = ["--pages", options.pages, "--groups", groups, "--threads", options.threads, "--kind", kind]
            subprocess.run([sys.executable, __file__, *map(str, arguments)], check=True)


if __name__ == "__main__":
    main()
