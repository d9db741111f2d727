"""MinHash and LeanMinHash beside datasketch's: the same calls on the same tokens, in turns, in one process.

    python benchmarks/drop_in.py [update jaccard ...] [--tokens 200] [--rows 200] [--repeat 7] [--markdown]

One CPU, one thread. Both libraries take turns that last some milliseconds each, so that a busy machine slows both; the
median over the turns counts, in microseconds a sketch (or a call, for what has no tokens), and behind it stands the
median ratio to datasketch's in the same turn: how many times faster. `fast` and `classic` are this library's schemes
with its own hash; datasketch, which has neither, runs its default.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import datasketch
from contest import installed, keep_to_one_cpu, label, print_table, show

import lshfast.datasketch as ours

TURN = 0.01  # seconds a turn, at the least
Call = Callable[[], object]


def lasts(call: Call, times: int) -> float:
    """Return the seconds a call takes, of so many."""
    before = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - before) / times


def calls(tokens: int, rows: int) -> dict[str, tuple[float, Call, dict[str, Call]]]:
    """Return of each measure: what a call is divided by, datasketch's call, and ours by their names."""
    words = [b"token-%d" % i for i in range(tokens)]
    many = [[b"token-%d" % (i + row) for i in range(tokens)] for row in range(rows)]
    theirs = datasketch.MinHash()
    mine = {
        scheme: ours.MinHash(scheme=scheme)
        for scheme in ("affine32", "fast", "classic")
    }
    theirs.update_batch(words)
    for sketch in mine.values():
        sketch.update_batch(words)
    lean_theirs, lean = (
        datasketch.LeanMinHash(theirs),
        ours.LeanMinHash(mine["affine32"]),
    )
    to_theirs, to_ours = bytearray(lean_theirs.bytesize()), bytearray(lean.bytesize())
    lean_theirs.serialize(to_theirs)
    own = mine["affine32"]

    def of_schemes(call: Callable[[ours.MinHash], object]) -> dict[str, Call]:
        return {
            scheme: lambda sketch=sketch: call(sketch)
            for scheme, sketch in mine.items()
        }

    def bulk(scheme: str) -> Call:
        return lambda: ours.MinHash.bulk(many, threads=1, scheme=scheme)

    return {
        "MinHash()": (1, datasketch.MinHash, {"affine32": ours.MinHash}),
        "update": (
            1,
            lambda: theirs.update(b"token"),
            of_schemes(lambda sketch: sketch.update(b"token")),
        ),
        "update_batch": (
            1,
            lambda: theirs.update_batch(words),
            of_schemes(lambda sketch: sketch.update_batch(words)),
        ),
        "bulk": (
            rows,
            lambda: datasketch.MinHash.bulk(many),
            {scheme: bulk(scheme) for scheme in mine},
        ),
        "jaccard": (
            1,
            lambda: theirs.jaccard(theirs),
            of_schemes(lambda sketch: sketch.jaccard(sketch)),
        ),
        "merge": (
            1,
            lambda: theirs.merge(theirs),
            {"affine32": lambda: own.merge(own)},
        ),
        "count": (1, theirs.count, {"affine32": own.count}),
        "copy": (1, theirs.copy, {"affine32": own.copy}),
        "LeanMinHash()": (
            1,
            lambda: datasketch.LeanMinHash(theirs),
            {"affine32": lambda: ours.LeanMinHash(own)},
        ),
        "lean jaccard": (
            1,
            lambda: lean_theirs.jaccard(lean_theirs),
            {"affine32": lambda: lean.jaccard(lean)},
        ),
        "lean serialize": (
            1,
            lambda: lean_theirs.serialize(to_theirs),
            {"affine32": lambda: lean.serialize(to_ours)},
        ),
        "lean deserialize": (
            1,
            lambda: datasketch.LeanMinHash.deserialize(to_theirs),
            {"affine32": lambda: ours.LeanMinHash.deserialize(to_theirs)},
        ),
    }


def main() -> None:
    measures = [*calls(1, 1)]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "measures", nargs="*", metavar="measure", help=", ".join(measures)
    )
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    for name in options.measures:
        if name not in measures:
            parser.error(f"there is no measure {name!r}")
    keep_to_one_cpu()
    rows = []
    for name, (parts, theirs, mine) in calls(options.tokens, options.rows).items():
        if options.measures and name not in options.measures:
            continue
        entrants = {"datasketch": theirs, **mine}
        times = {
            entrant: max(1, round(TURN / max(lasts(call, 3), 1e-9)))
            for entrant, call in entrants.items()
        }
        took: dict[str, list[float]] = {entrant: [] for entrant in entrants}
        for _ in range(options.repeat):
            for entrant, call in entrants.items():
                took[entrant].append(lasts(call, times[entrant]) / parts * 1e6)
        cells = [show(median(took["datasketch"]))]
        for scheme in ("affine32", "fast", "classic"):
            if scheme not in took:
                cells.append("-")
                continue
            ratio = median(
                a / b for a, b in zip(took["datasketch"], took[scheme], strict=True)
            )
            cells.append(f"{show(median(took[scheme]))} ({ratio:.3g})")
        rows.append([name, *cells])
    print_table(
        ["µs", label("datasketch"), "affine32", "fast", "classic"],
        rows,
        options.markdown,
    )


if __name__ == "__main__":
    if not installed("datasketch"):
        raise SystemExit("datasketch is not installed: pip install 'lshfast[bench]'")
    main()
