"""The campaign of faults: ``python -m tests.faults``; see docs/understand/reliability.md.

It exits with status 1 if something was wrong.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, closing
from pathlib import Path

from tests.faults.preload import LIBRARY, Preloaded, run_with_library

# The lines of a finding that are shown: the first and the last ones.
FIRST_LINES = 12
LAST_LINES = 16


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("scenarios", nargs="*", help="names; default: all")
    parser.add_argument("--kinds", default="calls,memory,objects")
    parser.add_argument(
        "--crashes", action="store_true", help="states after crashes, instead of faults"
    )
    parser.add_argument(
        "--unsynced",
        type=int,
        default=0,
        help="all states after crashes where at most so many changes are not synced",
    )
    parser.add_argument(
        "--most", type=int, default=1000, help="faults of a scenario and kind"
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="each place in one scenario, if there are more than --most",
    )
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="keep what came of each fault in a file, and try what it does not hold",
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    return parser.parse_args(arguments)


def main(arguments):
    options = parsed(arguments)
    library = Preloaded()

    if options.crashes:
        return crashes(options, library)

    from tests.faults import scenarios
    from tests.faults.campaign import Log, campaign
    from tests.faults.injection import ours
    from tests.index.redis_server import MISSING, RedisServer

    wrong_count = 0
    totals = Counter()
    with ExitStack() as stack:
        log = stack.enter_context(closing(Log(options.resume)))
        folder_of_all = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="faults-")
        )
        for name in options.scenarios or scenarios.SCENARIOS:
            tempfile.tempdir = None  # that of the last scenario is gone
            if name == "redis":
                if MISSING:
                    print(f"{name}: left out, {MISSING}")
                    continue
                scenarios.REDIS.append(stack.enter_context(RedisServer()).url)
            for kind in options.kinds.split(","):
                began = time.perf_counter()
                with tempfile.TemporaryDirectory(dir=folder_of_all) as folder:
                    counts, wrong = campaign(
                        name,
                        scenarios.SCENARIOS[name],
                        library,
                        kind,
                        folder,
                        options,
                        log,
                    )
                totals.update(counts)
                seconds = time.perf_counter() - began
                print(f"{name}, {kind}: {listed(counts)}, {seconds:.0f} s", flush=True)
                show(
                    (fault, ours(report.where), report.faults)
                    for fault, report in wrong
                )
                wrong_count += len(wrong)
    print(f"all: {listed(totals)}")
    return 1 if wrong_count else 0


def listed(counts):
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())


def crashes(options, library):
    from tests.faults.crashes import crash_campaign
    from tests.faults.scenarios import CRASHES

    wrong_count = 0
    with tempfile.TemporaryDirectory(prefix="faults-") as folder_of_all:
        for name in options.scenarios or CRASHES:
            began = time.perf_counter()
            with tempfile.TemporaryDirectory(dir=folder_of_all) as folder:
                counts, wrong = crash_campaign(name, library, Path(folder), options)
            seconds = time.perf_counter() - began
            print(f"{name}, crashes: {listed(counts)}, {seconds:.0f} s", flush=True)
            show((names, "", faults) for names, faults in wrong)
            wrong_count += len(wrong)
    return 1 if wrong_count else 0


def show(wrong):
    """Print what went wrong, equal findings once."""
    alike = defaultdict(list)
    for example, where, faults in wrong:
        lines = "\n".join(faults).splitlines()
        first = lines[:FIRST_LINES]
        last = lines[FIRST_LINES:][-LAST_LINES:]
        text = "\n".join([where, *first, *last])
        alike[text].append(example)
    for text, faults in alike.items():
        print(f"WRONG, {len(faults)} times; {faults[0]}")
        print("  " + text.replace("\n", "\n  "), flush=True)


if __name__ == "__main__":
    if LIBRARY in os.environ:
        sys.exit(main(sys.argv[1:]))
    sys.exit(run_with_library("tests.faults", sys.argv[1:]).returncode)
