"""Files of indexes: small valid ones, damaged ones, and all that is asked of one.

An input is a valid file with bits flipped, pieces cut out, doubled or swapped with those of another, or numbers at the
edge of what is possible, whose checksums are mostly made right again: so what lies behind them is reached. Each is
opened in all ways and everything is asked of it. A finding is any exception but FormatError, OSError and ValueError,
and an answer that is not a candidate of its query.

With sanitizers (tests/sanitize/modules.sh), each section has memory of its own, so that they see where it ends;
otherwise all lie in one map of the file.
"""

import os
import struct

import numpy as np

from lshfast import LSHIndex
from lshfast.families import SimHashFamily, WeightedMinHashFamily
from lshfast.index.stores import file_sections
from lshfast.index.stores.values import Limit
from lshfast.kernels.checksum import checksum
from tests.fuzz.damage import damage_span
from tests.index.index_model import EMPTY, IndexModel
from tests.reference import index_file
from tests.reference.index_file import FAMILY, HEAD, HEADER, HEADERS, SECTIONS

SMALL = {"num_perm": 8, "bands": 3, "rows_per_band": 2}


def sections_of(data):
    """Return where the records of sections lie in the directory that the first header names: (name, record)."""
    where, nbytes = struct.unpack_from("<QQ", data, 24)
    if where + nbytes > len(data) or nbytes < HEAD.size + 8:
        return []
    count, kind = (
        struct.unpack_from("<I", data, where + 12)[0],
        bytes(data[where + 72 : where + 80]).rstrip(b"\0"),
    )
    names = SECTIONS.get(kind.decode("latin-1"), SECTIONS["int"])
    each, first = 8 + 24 * len(names), HEAD.size
    if data[where + 8] == 2 and nbytes >= HEAD.size + FAMILY.size:
        first += FAMILY.size + sum(FAMILY.unpack_from(data, where + HEAD.size)[1:])
    count = max(0, min(count, (nbytes - first - 8) // each))
    starts = range(where + first, where + first + count * each, each)
    return [
        (name, start + 8 + 24 * number)
        for start in starts
        for number, name in enumerate(names)
    ]


def mended(data):
    """Return a file with all checksums made right, as far as they can be found."""
    data = bytearray(data)
    for _, record in sections_of(data):
        start, size = struct.unpack_from("<QQ", data, record)
        if start + size <= len(data):
            struct.pack_into(
                "<Q", data, record + 16, checksum(data[start : start + size])
            )
    if len(data) < HEADERS[1] + HEADER.size:
        return bytes(data)
    where, nbytes = struct.unpack_from("<QQ", data, 24)
    if where + nbytes <= len(data) and nbytes >= 8:
        struct.pack_into(
            "<Q", data, where + nbytes - 8, checksum(data[where : where + nbytes - 8])
        )
        struct.pack_into("<Q", data, 40, checksum(data[where : where + nbytes]))
    struct.pack_into("<Q", data, 48, checksum(data[:48]))
    data[HEADERS[1] : HEADERS[1] + HEADER.size] = data[: HEADER.size]
    return bytes(data)


def seeds(folder):
    """Return valid files: of ints and strs, of one part and of several, with shared buckets and rows that are gone."""
    rng, found = np.random.default_rng(0), []
    for key_of in (int, "key {}".format, lambda i: "é" * (i % 5) + str(i)):
        for n, values in [(1, 2), (8, 2), (30, 3), (60, 1)]:
            path = folder / "seed"
            rows = rng.integers(0, values, (n + 8, 8)).astype(np.uint64)
            rows[n // 2] = EMPTY
            index = LSHIndex(**SMALL)
            index.insert([key_of(i) for i in range(n)], rows[:n])
            index.save(path)
            found.append(path.read_bytes())
            with LSHIndex.open(path, "r+", on_duplicate="replace") as index:
                index.insert([key_of(i) for i in range(n - 1, n + 7)], rows[n:])
                index.commit()
                index.remove(key_of(0))
            found.append(path.read_bytes())
    for family, keys in (
        (SimHashFamily(), range(40)),
        (WeightedMinHashFamily(), [f"key {i}" for i in range(40)]),
    ):
        options = (
            {"num_perm": 8, "bands": 3, "rows_per_band": 2}
            if keys != range(40)
            else {"bands": 8, "rows_per_band": 2}
        )
        index = LSHIndex(family=family, **options)
        rows = rng.integers(0, 3, (40, 8)).astype(np.uint64)
        rows[7] = EMPTY
        index.insert(keys, rows)
        index.save(folder / "seed")
        found.append((folder / "seed").read_bytes())
    small = LSHIndex(**SMALL)
    small.save(folder / "seed")
    return [*found, (folder / "seed").read_bytes()]


def places(data):
    """Return what may be changed with effect: spans of bytes, the small ones as likely as the large ones."""
    where, nbytes = struct.unpack_from("<QQ", data, 24)
    found = [
        (0, 56),
        (4096, 4152),
        (where, where + nbytes),
        (where, where + HEAD.size),
        (0, len(data)),
    ]
    for _, record in sections_of(data):
        start, size = struct.unpack_from("<QQ", data, record)
        if size and start + size <= len(data):
            found += [(start, start + size), (record, record + 24)]
    return found


def mutated(data, others, chance):
    """Return a damaged file."""
    if len(data) < 80:
        return data
    spans = places(data)
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        damage_span(changed, chance.choice(spans), others, chance)
        if len(changed) < 80:
            break
    if chance.random() < 0.9 and len(changed) >= 80:
        return mended(changed)
    return bytes(changed)


def attempt(use, *arguments, **options):
    """Return what a call returns, or None where it refuses."""
    try:
        return use(*arguments, **options)
    except (
        OSError,
        ValueError,
        KeyError,
    ):  # a FormatError is a ValueError; a KeyError is `remove`'s
        return None


def ask(index, queries, keys):
    """Ask everything of an index; its answers must be true of what it holds."""
    for key in (0, 5, -1, 2**63 - 1, "key 5", "", "é1", *keys):
        attempt(index.__contains__, key)
    attempt(index.store.contains, [*range(40)])
    attempt(index.store.contains, [f"key {i}" for i in range(40)])
    attempt(list, index)
    attempt(index.stats)
    attempt(index.pairs, 0.5)
    attempt(len, index)
    p = index.parameters
    if not p.family and p.num_perm != queries.shape[1]:
        queries = np.ones((3, p.num_perm), np.uint64)
    if p.measure:
        buckets = np.zeros((3, p.bands, 2), np.uint64)
        attempt(
            index.store.search,
            buckets,
            np.zeros((3, p.payload), np.uint64),
            most=2,
            threads=2,
        )
        attempt(
            index.store.search,
            buckets,
            np.zeros((3, p.payload), np.uint64),
            limit=Limit("closest", 5),
        )
    found = attempt(index.query, queries, threshold=0)
    attempt(index.query, queries, k=2, threads=2)
    attempt(index.query, queries)
    for query in queries[:4]:
        attempt(index.query, query)
        attempt(index.query, query, k=1)
    items = attempt(
        lambda: [(keys, rows.tolist()) for keys, rows in index.store.items()]
    )
    if items is None or found is None:
        return
    names = [
        key
        for keys, _ in items
        for key in (keys.tolist() if isinstance(keys, np.ndarray) else keys)
    ]
    rows = [tuple(row) for _, rows in items for row in rows]
    if len(set(names)) == len(names) and p.num_perm == 8 and not p.family:
        model = IndexModel(
            p.num_perm, p.bands, p.rows_per_band, zip(names, rows, strict=True)
        )
        for query, answer in zip(queries[:6].tolist(), found, strict=False):
            true = model.similarities(query)
            for (
                key,
                similarity,
            ) in (
                answer
            ):  # an empty set's signature is empty in all slots, but here it may not be
                assert true.get(key) == similarity or model.entries[key][0] == EMPTY, (
                    "an answer that is no candidate"
                )


def change(index, queries):
    """Write to an index in all ways."""
    index.on_duplicate = "replace"
    kind = attempt(lambda: index.store.kind)
    name = (lambda i: f"key {i}") if kind == "str" else int
    if index.parameters.num_perm == queries.shape[1] or index.parameters.family:
        attempt(index.insert, [name(i) for i in range(6)], queries[:6])
    attempt(index.remove, name(1))
    attempt(index.commit)
    ask(index, queries, [])
    attempt(index.verify)
    attempt(index.compact)
    ask(index, queries, [])
    attempt(index.verify)


def queries_of_signatures():
    queries = np.random.default_rng(0).integers(0, 3, (12, 8)).astype(np.uint64)
    queries[3] = EMPTY
    return queries


def try_index(data, folder):
    """Open one input in all ways."""
    queries = queries_of_signatures()
    path = folder / "index"
    path.write_bytes(data)
    whole = None
    for verify in (False, True, None):
        index = attempt(LSHIndex.open, path, verify=verify)
        if index is not None:
            passed = attempt(lambda index=index: index.verify() or True)
            ask(index, queries, [])
            if verify and passed:
                whole = sorted(index, key=repr)
            attempt(index.save, folder / "copy")
            index.close()
    if whole is not None and len(set(whole)) == len(
        whole
    ):  # then it is one by the page as well, but for spare rows
        try:
            found = sorted(index_file.read(data).entries(), key=repr)
        except index_file.Damaged as damage:
            if str(damage) != "the rows of a table":
                raise
        else:
            assert found == whole, "other entries than the page says"
    index = attempt(LSHIndex.open, path, "r+", verify=False)
    if index is not None:
        change(index, queries)
        attempt(index.close)
        index.store.abandon()


if "SANITIZER_REPORTS" in os.environ:
    _section = file_sections.section_bytes
    file_sections.section_bytes = lambda data, record: _section(data, record).copy()
