"""What is run under faults: commands and calls of the library on small inputs, each in a folder of its own."""

import io
import json
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from typer.main import get_command

import lshfast.__main__
from lshfast import (
    HammingIndex,
    LmdbStore,
    LSHEnsemble,
    LSHForest,
    LSHIndex,
    MinHasher,
    NearNeighbors,
    RedisStore,
    TanimotoIndex,
    TokenSets,
    stages,
)
from lshfast.exact import PrefixIndex


class Failed(Exception):
    """A command ended with an error: its exit status, and what it printed."""

    def __init__(self, status, text):
        super().__init__(status, text)
        self.status = status
        self.text = text


import_commands = lshfast.__main__._commands


@cache
def built_commands(*names):
    """Return the command of these names, for the next runs too: to build it takes a fifth of a run."""
    return get_command(import_commands())


def command(*arguments, is_built=True):
    """Run a command in this process, which may be built before; raise `Failed` unless its exit status is 0."""
    output = io.StringIO()
    errors = io.StringIO()
    before = sys.argv
    sys.argv = ["lshfast", *map(str, arguments)]
    commands = partial(built_commands, *arguments[:2]) if is_built else import_commands
    try:
        with (
            redirect_stdout(output),
            redirect_stderr(errors),
            patch.object(lshfast.__main__, "_commands", commands),
        ):
            lshfast.__main__.main()
    except SystemExit as error:
        if error.code:
            raise Failed(error.code, errors.getvalue()) from None
    finally:
        sys.argv = before


class Scenario(NamedTuple):
    """A piece of work in a folder.

    Attributes
    ----------
    prepare : callable
        It writes the inputs, and outputs that are there before the work.
    run : callable
        It does the work.
    again : callable, optional
        What the user does after an error, if it is not the same work.
    left : tuple of str
        Folders that may be left after an error.
    ignored : tuple of str
        Folders that the user does not read.
    reading : dict
        By the names of outputs whose bytes differ from run to run: a function that returns what
        is the same in each.
    repeatable : bool
        Whether the same work on its own outputs writes the same.
    """

    prepare: object
    run: object
    again: object = None
    left: tuple = ()
    ignored: tuple = ()
    reading: dict | None = None
    repeatable: bool = True


def write_rows(path, rows):
    with open(path, "w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def texts(count, shift=0):
    """Return rows of which each fourth is similar to the one before it."""
    rows = []
    for number in range(count):
        base = (number - (number % 4 == 3)) + shift
        words = [f"w{(base * 7919 + at * 31) % 1009}" for at in range(24)]
        if number % 4 == 3:
            words[-1] = "changed"
        rows.append({"id": f"r{number + shift}", "text": " ".join(words)})
    return rows


def page(path):
    """Return a page without the time, the seconds of its stages, and an option of its command."""
    varying = rb">[0-9]+\.[0-9]{2}<|[0-9]{2}:[0-9]{2} UTC| --overwrite"
    return re.sub(varying, b"", path.read_bytes())


def number_of_entries(path):
    """Return the number of entries of an index, all of which is checked."""
    with LSHIndex.open(path, verify=True) as index:
        index.verify()
        return len(index)


# ---- dedup ----


def prepare_texts(folder):
    write_rows(folder / "in.jsonl", texts(16))
    write_rows(folder / "earlier.jsonl", texts(8, 4))


def dedup(folder, *options, rows="in.jsonl"):
    command("dedup", folder / rows, "--id-column", "id", *options, "--overwrite", "-q")


def prepare_with(outputs):
    """Return a function that writes the inputs, and the outputs of another run."""

    def prepare(folder):
        prepare_texts(folder)
        dedup(folder, *outputs(folder), rows="earlier.jsonl")

    return prepare


def all_outputs(folder):
    return (
        *("-o", folder / "out.jsonl"),
        *("--removed", folder / "removed.csv"),
        *("--pairs", folder / "pairs.parquet"),
        *("--html", folder / "page.html"),
        *("--save-index", folder / "seen.lsh"),
    )


def first_outputs(folder):
    """Write outputs that were not there."""
    rows = folder / "in.jsonl"
    command("dedup", rows, "--id-column", "id", *all_outputs(folder), "-q")


def clusters(folder):
    return (
        *("-o", folder / "out.csv"),
        *("--clusters", folder / "clusters.parquet"),
        *("--changes", folder / "changes.csv"),
    )


def capped(folder):
    return (
        *("-o", folder / "out.jsonl"),
        *("--removed", folder / "removed.csv"),
        *("--memory", "400M", "--threads", "1"),
    )


def resumable(folder):
    return (*capped(folder), "--work", folder / "parts")


def start_or_resume(folder):
    """Do the work, or go on with what is left of it."""
    parts = folder / "parts"
    is_begun = parts.exists() and any(parts.iterdir())
    dedup(folder, *resumable(folder), *["--resume"] * is_begun)


def prepare_index(folder):
    prepare_texts(folder)
    rows = folder / "earlier.jsonl"
    command(
        "index", "build", rows, "--id-column", "id", "-o", folder / "seen.lsh", "-q"
    )


def against(folder):
    """Rows against an index and texts; the index gets the rows that stay."""
    earlier = ("--against", folder / "seen.lsh", "--against", folder / "earlier.jsonl")
    outputs = ("-o", folder / "out.jsonl", "--save-index", folder / "more.lsh")
    dedup(folder, *earlier, *outputs)


DEDUP = {
    "dedup": Scenario(
        prepare_with(all_outputs),
        lambda folder: dedup(folder, *all_outputs(folder)),
        reading={"page.html": page, "seen.lsh": number_of_entries},
    ),
    "first outputs": Scenario(
        prepare_texts,
        first_outputs,
        again=lambda folder: dedup(folder, *all_outputs(folder)),
        reading={"page.html": page, "seen.lsh": number_of_entries},
    ),
    "clusters": Scenario(
        prepare_with(clusters),
        lambda folder: dedup(folder, *clusters(folder)),
        repeatable=False,
    ),
    "against": Scenario(
        prepare_index, against, reading={"more.lsh": number_of_entries}
    ),
    "capped": Scenario(
        prepare_with(capped), lambda folder: dedup(folder, *capped(folder))
    ),
    "resumed": Scenario(
        prepare_with(capped),
        lambda folder: dedup(folder, *resumable(folder)),
        again=start_or_resume,
        left=("parts",),
    ),
}

# ---- files of indexes ----


def points(count):
    """Return keys and what each index takes as items."""
    generator = np.random.default_rng(7)
    rows = [range(at % 7, at % 7 + 20 + at) for at in range(count)]
    sets = TokenSets.from_sets(rows)
    return {
        "keys": [f"k{at}" for at in range(count)],
        "rows": rows,
        "counts": sets.counts,
        "signatures": MinHasher(32).sketch(sets),
        "vectors": generator.standard_normal((count, 8)).astype(np.float32),
        "codes": generator.integers(0, 2**63, (count, 1)).astype(np.uint64),
        "wide codes": generator.integers(0, 2**63, (count, 32)).astype(np.uint64),
    }


def inserted(index, kind, low, high):
    """Insert rows into an index of a class."""
    rows = points(high)
    keys = rows["keys"][low:]
    if kind == "exact":
        index.insert(keys, TokenSets.from_sets(rows["rows"][low:]))
    elif kind == "ensemble":
        index.insert(keys, rows["signatures"][low:], rows["counts"][low:])
    else:
        index.insert(keys, rows[ITEMS[kind]][low:])


ITEMS = {
    "lsh": "signatures",
    "forest": "signatures",
    "neighbors": "vectors",
    "hamming": "codes",
    "tanimoto": "wide codes",
}
CLASSES = {
    "lsh": (LSHIndex, {"threshold": 0.5, "num_perm": 32}),
    "forest": (LSHForest, {"num_perm": 32}),
    "ensemble": (LSHEnsemble, {"num_perm": 32, "partitions": 4}),
    "neighbors": (
        NearNeighbors,
        {"metric": "angle", "radius": 0.5, "dim": 8, "n": 100},
    ),
    "hamming": (HammingIndex, {"bits": 64}),
    "tanimoto": (TanimotoIndex, {"bits": 2048}),
    "exact": (PrefixIndex, {"threshold": 0.5, "seed": 1}),
}
FIRST, SECOND = 30, 48


def held(index):
    """Return which keys an index holds, all of which it must find; it goes on."""
    index.verify()
    present = list(map(bool, index.contains(points(SECOND)["keys"])))
    assert len(index) == sum(present), f"{len(index)} entries, {sum(present)} found"
    return present


def state_of(index, *states):
    """Return the number of the state that an index is in."""
    return states.index(held(index))


BEFORE = [True] * FIRST + [False] * (SECOND - FIRST)
AFTER = [True] * SECOND
REDUCED = [False] * 10 + [True] * (SECOND - 10)


def built(kind, store=None):
    index_class, options = CLASSES[kind]
    if store is not None:
        options = {**options, "store": store}
    index = index_class(**options)
    inserted(index, kind, 0, FIRST)
    return index


def in_memory(kind):
    """Return a scenario: rows are inserted, some are removed, and the index is saved and opened."""

    def insert(index):
        inserted(index, kind, FIRST, SECOND)

    def remove(index):
        index.remove(points(SECOND)["keys"][:10])

    def run(folder):
        index = built(kind)
        for act, before, after in ((insert, BEFORE, AFTER), (remove, AFTER, REDUCED)):
            try:
                act(index)
            except (MemoryError, OSError):
                if state_of(index, before, after) == 0:
                    act(index)
                state_of(index, after)
                raise
        path = folder / "index.lsh"
        index.save(path, overwrite=True)
        state_of(opened(kind, path), REDUCED)

    return Scenario(lambda folder: built(kind).save(folder / "index.lsh"), run)


def opened(kind, path):
    index_class = CLASSES[kind][0]
    return index_class.open(path)


def entries(path):
    """Return the keys of an index of signatures, all of which is checked."""
    with LSHIndex.open(path, verify=True) as index:
        return held(index)


def changed_file(act):
    """Return a scenario: an index in a file is changed, and then `act` is called."""

    def run(folder):
        with LSHIndex.open(folder / "index.lsh", "r+", on_duplicate="replace") as index:
            inserted(index, "lsh", FIRST, SECOND)
            keys = np.array(points(SECOND)["keys"][:10])
            index.remove(keys[index.contains(keys)])
            act(index)

    return Scenario(
        lambda folder: built("lsh").save(folder / "index.lsh"),
        run,
        reading={"index.lsh": entries},
    )


def lmdb_index(folder):
    return LSHIndex.on(LmdbStore(folder / "store", map_size=1 << 24))


def keys_of_lmdb(path):
    """Return the keys of an index in LMDB, as far as its first file says."""
    with lmdb_index(path.parents[1]) as index:
        return held(index)


def changed_store(open_index):
    """Do to an index in a store what `in_memory` does."""

    def run(folder):
        with open_index(folder) as index:
            keys = np.array(points(SECOND)["keys"][FIRST:])
            index.remove(keys[index.contains(keys)])
            inserted(index, "lsh", FIRST, SECOND)
            state_of(index, AFTER)
            index.commit()

    return run


def with_lmdb(folder):
    with built("lsh", LmdbStore(folder / "store", map_size=1 << 24)) as index:
        index.commit()


REDIS = []  # the address of a server, which injection.py starts for its scenario


def redis_index(folder):
    return LSHIndex.on(RedisStore(REDIS[0], folder.parent.name))


def with_redis(folder):
    store = RedisStore(REDIS[0], folder.parent.name)
    store.clear()
    with built("lsh", store) as index:
        index.commit()


def add_to_index(folder):
    rows = folder / "in.jsonl"
    command(
        *("index", "add", folder / "seen.lsh", rows, "--id-column", "id", "-q"),
        is_built=False,
    )


def prepare_for_adding(folder):
    prepare_index(folder)
    write_rows(folder / "in.jsonl", texts(20, 100))


INDEXES = {
    **{f"index {kind}": in_memory(kind) for kind in CLASSES},
    "index commit": changed_file(lambda index: index.commit()),
    "index compact": changed_file(lambda index: index.compact()),
    "index add": Scenario(
        prepare_for_adding,
        add_to_index,
        again=lambda folder: None,
        reading={"seen.lsh": number_of_entries},
        repeatable=False,
    ),
    "lmdb": Scenario(
        with_lmdb,
        changed_store(lmdb_index),
        reading={"store/data.mdb": keys_of_lmdb, "store/lock.mdb": lambda _: None},
    ),
    "redis": Scenario(with_redis, changed_store(redis_index)),
}

# ---- applications ----


def prepare_records(folder):
    generator = np.random.default_rng(3)
    names = ["Anna", "Berta", "Carl", "Dora", "Emil", "Frida", "Gustav", "Hanna"]
    towns = ["Aachen", "Berlin", "Celle", "Dresden", "Erfurt"]
    rows = []
    for at in range(30):
        first, last = generator.choice(names, 2)
        row = {
            "name": f"{first} {last}son {at}",
            "town": towns[at % 5],
            "year": str(1900 + at),
        }
        rows.append({"id": f"a{at}", **row})
        if at % 3 == 0:
            rows.append({"id": f"b{at}", **row, "town": towns[(at + at % 2) % 5]})
    write_rows(folder / "records.jsonl", rows)


def records(folder):
    command(
        *("records", "dedup", folder / "records.jsonl", "--id-column", "id"),
        *("-o", folder / "links.csv", "--groups", folder / "groups.csv"),
        *("--merged", folder / "merged.csv", "--review", folder / "review.csv"),
        *("--html", folder / "page.html", "--overwrite", "-q"),
    )


def passages(folder):
    command(
        *("passages", folder / "in.jsonl", "--id-column", "id", "--min-words", "8"),
        *("-o", folder / "shared.csv", "--pairs", folder / "pairs.parquet"),
        *("--html", folder / "page.html", "--overwrite", "-q"),
    )


def prepare_images(folder):
    from tests.images.pictures import picture, save

    (folder / "images").mkdir()
    for seed in range(3):
        save(folder / "images", f"{seed}.png", picture(seed, (64, 48)))
        save(folder / "images", f"{seed}.jpg", picture(seed, (64, 48)), quality=80)
    (folder / "images" / "bad.png").write_bytes(b"no image")


def images(folder):
    command(
        *("images", folder / "images", "-o", folder / "copies.csv", "--threads", "1"),
        *("--save-hashes", folder / "hashes.parquet", "--html", folder / "page.html"),
        *("--overwrite", "-q"),
    )


def prepare_genomes(folder):
    generator = np.random.default_rng(5)
    base = generator.choice(list("ACGT"), 2000)
    for number in range(4):
        letters = base.copy()
        places = generator.integers(0, 2000, 8 * number)
        letters[places] = "A"
        text = f">g{number}\n{''.join(letters)}\n"
        (folder / f"g{number}.fa").write_text(text)


def genomes(folder):
    command(
        *("genomes", *sorted(folder.glob("*.fa")), "--scaled", "20"),
        *("-o", folder / "pairs.csv", "--save-sketches", folder / "all.sig.gz"),
        *("--html", folder / "page.html", "--overwrite", "-q"),
    )


def prepare_web(folder):
    paths = [f"/page{number}/index" for number in range(12)]
    hosts = ["one.example", "two.example", "three.example"]
    lines = [f"http://{host}{path}\n" for host in hosts for path in paths]
    (folder / "urls.txt").write_text("".join(lines))
    edges = [
        f"n{at},t{(at // 2 * 5 + to) % 40}\n" for at in range(20) for to in range(6)
    ]
    (folder / "edges.csv").write_text("source,target\n" + "".join(edges))


def web(folder):
    outputs = ("--overwrite", "-q")
    mirrors = ("-o", folder / "mirrors.csv", "--html", folder / "page.html")
    command("web", "mirrors", folder / "urls.txt", *mirrors, *outputs)
    contracted = ("-o", folder / "left.csv", "--labels", folder / "labels.csv")
    command("web", "contract", folder / "edges.csv", *contracted, *outputs)


def prepare_stages(folder):
    prepare_texts(folder)
    stages.plan(
        folder / "in.jsonl",
        work=folder / "parts",
        output=folder / "kept",
        removed=folder / "removed",
        id_column="id",
        shards=2,
        memory="256M",
    )


def run_stages(folder):
    """Run all tasks in this process; tasks that are done are not repeated."""
    command(
        "stage", "run", folder / "parts", "--executor", "inline", "--retries", "0", "-q"
    )


APPLICATIONS = {
    "records": Scenario(prepare_records, records, reading={"page.html": page}),
    "passages": Scenario(prepare_texts, passages, reading={"page.html": page}),
    "images": Scenario(prepare_images, images, reading={"page.html": page}),
    "genomes": Scenario(prepare_genomes, genomes, reading={"page.html": page}),
    "web": Scenario(prepare_web, web, reading={"page.html": page}),
    "stages": Scenario(
        prepare_stages, run_stages, left=("kept", "removed"), ignored=("parts",)
    ),
}

SCENARIOS = {**DEDUP, **INDEXES, **APPLICATIONS}


# ---- after a crash ----


def saved(folder):
    built("lsh").save(folder / "index.lsh")


CRASHES = {
    "index save": Scenario(
        lambda folder: None,
        saved,
        again=lambda folder: built("lsh").save(folder / "index.lsh", overwrite=True),
        reading={"index.lsh": entries},
    ),
    **{
        name: SCENARIOS[name]
        for name in (
            *("index commit", "index compact", "index add"),
            *("dedup", "first outputs", "clusters", "capped", "resumed", "against"),
            *("records", "images", "stages"),
        )
    },
}
