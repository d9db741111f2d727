"""What is allowed: over two doublings, work per row of input and output grows by half at most."""

from tests.growth.counting import counted

# Of work per row in two doublings; n log n has 1.3 at most, n² has 4.
MOST_GROWTH = 1.5
# Doublings between two counts.
STEP = 2
# Counts below these are of no growth: what a call takes at least, and pieces of fixed size.
LEAST = {"calls": 1000, "peak bytes": 4_000_000, "kernel bytes": 100_000}


def counts_of(case, doublings):
    """Return the counters for the largest size, and for a fourth of it."""
    case.work_on(case.size)()  # what is imported, and what is kept
    sizes = case.size << doublings - STEP, case.size << doublings
    return [counted(case.work_on(size)) for size in sizes]


def excesses(case, counts):
    """Return a line for each counter that grows too fast."""
    before, after = counts
    rows = 1 << STEP
    output_growth = after.get("output", 0) / max(before.get("output", 0), 1)
    most = MOST_GROWTH * max(rows, output_growth)
    lines = []
    for name, count in after.items():
        if name == "output" or name in case.unbounded:
            continue
        if count > most * max(before.get(name, 0), LEAST.get(name, 1)):
            lines.append(f"{name} grows from {before.get(name, 0):,} to {count:,}")
    return lines
