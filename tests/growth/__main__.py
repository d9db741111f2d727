"""Print how the work of each case grows: ``python -m tests.growth``; see docs/understand/reliability.md.

It exits with status 1 if a counter grows too fast. Times of the processor are printed too, and judged
by the reader.
"""

import argparse
import sys
import time
import warnings
from itertools import pairwise

from tests.growth.growing import counts_of, excesses
from tests.growth.table import CASES


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.growth", description=__doc__)
    parser.add_argument(
        "cases", nargs="*", help="names, or beginnings of verbs; default: all"
    )
    parser.add_argument("--doublings", type=int, default=4)
    parser.add_argument(
        "--seconds", type=float, default=60, help="of a case, after which it ends"
    )
    return parser.parse_args(arguments)


def seconds_of(case, size):
    """Return the time of the processor that the work takes, without counters."""
    work = case.work_on(size)
    began = time.process_time()
    work()
    return time.process_time() - began


def chosen(names):
    return {
        name: case
        for name, case in CASES.items()
        if not names or name in names or case.verb.startswith(tuple(names))
    }


def main(arguments):
    options = parsed(arguments)
    warnings.simplefilter("ignore")
    failed = False
    for name, case in chosen(options.cases).items():
        seconds = []
        for doubling in range(options.doublings + 1):
            seconds.append(seconds_of(case, case.size << doubling))
            if sum(seconds) > options.seconds:
                break
        counts = counts_of(case, len(seconds) - 1)
        times = " ".join(f"{value:.2f}" for value in seconds)
        ratios = " ".join(
            f"{after / before:.1f}" for before, after in pairwise(seconds)
        )
        wrong = excesses(case, counts)
        print(
            f"{case.verb}: {name}, {case.size:,} and on: {times} s, growth {ratios}",
            flush=True,
        )
        for line in wrong:
            print(f"  {line}", flush=True)
        failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
