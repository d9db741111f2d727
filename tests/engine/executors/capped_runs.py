"""Corpora and runs that the tests of runs within a cap of memory share."""

import json
import random

from lshfast import dedup_files
from tests.corpora import similar_texts


def corpus(seed, n):
    """Return rows with the texts of `similar_texts`."""
    rng = random.Random(seed)
    return [
        {"id": f"row{i}", "text": text, "rank": rng.randrange(9)}
        for i, text in enumerate(similar_texts(rng, n))
    ]


def write_jsonl(path, rows):
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
        encoding="utf-8",
    )
    return path


# The memory of a run with the fixture `small_parts`.
MEMORY = 7 << 19


def outputs(folder, name, source, **options):
    """Run, and return the result and the bytes of its outputs."""
    kept, removed = folder / f"{name}.jsonl", folder / f"{name}.csv"
    result = dedup_files(source, kept, removed=removed, **{"threads": 1, **options})
    return result, kept.read_bytes(), removed.read_bytes()


class Ended(Exception):
    pass


def end_at(call):
    """Return a progress callback that raises at its n-th call, and the number of its calls."""
    calls = [0]

    def tell(*_):
        calls[0] += 1
        if calls[0] == call:
            raise Ended

    return tell, calls
