"""A reader of docs/reference/file-format.md on plain Python integers. What the page says is to be checked, is."""

import math
import re
import struct
from dataclasses import dataclass, field

from tests.reference.hashing import EMPTY
from tests.reference.minhash import band_keys, is_empty
from tests.reference.tables import checksum, tag_of_bytes, tag_of_integer

VERSIONS = 1, 2
HEADERS = 0, 4096
HEADER = struct.Struct("<8sIIQQQQQ")
HEAD = struct.Struct("<8sIIQQQQd16s8s16s")
FAMILY = struct.Struct("<QII")
MEASURES = re.compile(
    "((cosine|euclidean|manhattan):(float|sparse)(32|64)|hamming:bits):([1-9][0-9]*)"
)
NO_ENTRY, NO_ROW = 2**64 - 1, 2**32 - 1
SECTIONS = {
    "uint": ("deleted", "shape", "tables", "pool", "signatures", "integers"),
    "int": ("deleted", "shape", "tables", "pool", "signatures", "integers"),
    "str": (
        "deleted",
        "shape",
        "tables",
        "pool",
        "signatures",
        "starts",
        "lengths",
        "bytes",
    ),
}
LETTERS = {
    "deleted": "B", "shape": "Q", "tables": "Q", "pool": "I", "signatures": "Q",
    "integers": "q", "starts": "q", "lengths": "I", "bytes": "B",
}  # fmt: skip


class Damaged(Exception):
    """The file is not what the page describes."""


def need(condition, what):
    if not condition:
        raise Damaged(what)


def name_tag(name):
    """Return the tag of a key: of an int of 64 bits, or of a str."""
    return (
        tag_of_integer(name) if isinstance(name, int) else tag_of_bytes(name.encode())
    )


@dataclass
class Table:
    """One table: its capacity and its entries, the one at the end left out."""

    capacity: int
    count: int
    entries: list

    def find(self, tag):
        """Return the lower half of a tag's entry, or None."""
        at = (tag * self.capacity >> 32) // 8 * 8
        while at < len(self.entries) and self.entries[at] >> 32 < tag:
            at += 1
        if (
            at == len(self.entries)
            or self.entries[at] == NO_ENTRY
            or self.entries[at] >> 32 != tag
        ):
            return None
        return self.entries[at] & 0xFFFFFFFF


@dataclass
class Part:
    """One part: its sections as lists of numbers, and its tables."""

    n: int
    sections: dict
    names: list
    tables: list
    gone: list

    def bucket(self, to):
        """Return the rows that an entry leads to, those that are gone included."""
        if to < 2**31:
            rows = [to]
        else:
            pool, unit = self.sections["pool"], to - 2**31
            need(4 * unit + 4 <= len(pool), "an entry leads out of the pool")
            count, slots = pool[4 * unit : 4 * unit + 2]
            need(4 * unit + 2 + slots <= len(pool), "a block ends outside of the pool")
            rows = [
                row
                for row in pool[4 * unit + 2 : 4 * unit + 2 + slots]
                if row != NO_ROW
            ]
            need(len(rows) == count, "a block's count is wrong")
        need(all(row < self.n for row in rows), "a row that is not there")
        return rows

    def rows(self, table, tag):
        """Return the rows in use in the bucket of a tag."""
        to = self.tables[table].find(tag)
        return (
            [] if to is None else [row for row in self.bucket(to) if not self.gone[row]]
        )


@dataclass
class IndexFile:
    """What a file says."""

    state: int
    parameters: dict
    kind: str
    parts: list = field(default_factory=list)
    layout: list = field(
        default_factory=list
    )  # (name, first byte, end) of all that a checksum covers

    @property
    def words(self):
        """The words of a row."""
        return self.parameters["num_perm"] + self.parameters["payload"]

    @property
    def is_apart(self):
        """Whether each band is judged alone."""
        return bool(self.parameters["family"]) and self.parameters["rows_per_band"] == 1

    def keys(self, row):
        """Return the band keys of a row, None for a band in which it has none."""
        bands, rows = self.parameters["bands"], self.parameters["rows_per_band"]
        if self.is_apart:
            full = [slot if slot != EMPTY else 0 for slot in row[:bands]]
            return [
                None if row[j] == EMPTY else key
                for j, key in enumerate(band_keys(full, bands, rows))
            ]
        return [None] * bands if is_empty(row) else band_keys(row, bands, rows)

    def entries(self):
        """Return the words of the row of each key."""
        found = {}
        for part in self.parts:
            k = self.words
            for row in range(part.n):
                if not part.gone[row]:
                    need(part.names[row] not in found, "a key comes twice")
                    found[part.names[row]] = tuple(
                        part.sections["signatures"][row * k : (row + 1) * k]
                    )
        return found

    def candidates(self, query):
        """Return the keys of the entries that equal a query in all slots of some band, ascending."""
        k, rows = self.words, self.parameters["rows_per_band"]
        found = set()
        for part in self.parts:
            for band, key in enumerate(self.keys(query)):
                slots = slice(band * rows, (band + 1) * rows)
                for row in part.rows(band, key >> 32) if key is not None else []:
                    if (
                        part.sections["signatures"][row * k : (row + 1) * k][slots]
                        == list(query)[slots]
                    ):
                        found.add(part.names[row])
        return sorted(found)

    def has(self, key):
        """Tell whether a key has an entry, by the tables of names."""
        return any(
            part.names[row] == key
            for part in self.parts
            for row in part.rows(len(part.tables) - 1, name_tag(key))
        )


def read(data):
    """Read a whole file, and check all of it but that its tables are complete."""
    headers = []
    for place in HEADERS:
        raw = data[place : place + HEADER.size]
        if len(raw) == HEADER.size and checksum(raw[:-8]) == HEADER.unpack(raw)[-1]:
            headers.append(HEADER.unpack(raw))
    need(headers, "no header is whole")
    magic, version, _, state, where, nbytes, total, _ = max(
        headers, key=lambda header: header[3]
    )
    need(magic == b"LSHFAST\0", "another magic")
    need(version in VERSIONS, f"version {version}")
    need(state < 2**64 - 1, "the last state")
    need(where + nbytes <= len(data), "the directory ends outside of the file")
    directory = data[where : where + nbytes]
    need(checksum(directory) == total, "the directory's checksum is wrong")
    found = read_directory(directory, state, version)
    found.layout.append(("directory", where, where + nbytes))
    parts, found.parts = found.parts, []
    for n, sections in parts:
        found.parts.append(read_part(data, found, n, sections))
    return found


def read_directory(data, state, expected):
    """Return an IndexFile whose parts are the places of their sections."""
    need(
        len(data) >= HEAD.size + 8
        and struct.unpack("<Q", data[-8:])[0] == checksum(data[:-8]),
        "the directory's end",
    )
    magic, version, count, num_perm, bands, rows, seed, threshold, *names = (
        HEAD.unpack_from(data)
    )
    need(
        magic == b"LSHFDIR\0" and version == expected,
        "the directory's magic or version",
    )
    scheme, kind, shingles = (name.rstrip(b"\0").decode("ascii") for name in names)
    need(
        scheme in (("fast", "classic") if version == 1 else ("",))
        and kind in SECTIONS
        and shingles.isprintable(),
        "a name in the directory",
    )
    need(min(bands, rows) >= 1 and bands * rows <= num_perm <= 65536, "the bands")
    need(math.isnan(threshold) or 0 < threshold <= 1, "the threshold")
    start, (family, payload, measure) = HEAD.size, ("", 0, "")
    if version == 2:
        start, family, payload, measure = read_family(data)
        need(num_perm + payload <= 65536, "the payload")
    each = 8 + 24 * len(SECTIONS[kind])
    need(len(data) == start + count * each + 8, "the directory's length")
    parts = []
    for at in range(start, start + count * each, each):
        numbers = struct.unpack_from(f"<{each // 8}Q", data, at)
        parts.append(
            (numbers[0], [numbers[i : i + 3] for i in range(1, len(numbers), 3)])
        )
    parameters = {
        "num_perm": num_perm, "bands": bands, "rows_per_band": rows, "scheme": scheme, "seed": seed,
        "threshold": None if math.isnan(threshold) else threshold, "shingles": shingles,
        "family": family, "payload": payload, "measure": measure,
    }  # fmt: skip
    return IndexFile(state, parameters, kind, parts)


def read_family(data):
    """Return where the segments begin, the family, the payload and the measure of a directory of version 2."""
    need(len(data) >= HEAD.size + FAMILY.size + 8, "the directory's length")
    payload, f, m = FAMILY.unpack_from(data, HEAD.size)
    start = HEAD.size + FAMILY.size
    need(1 <= f <= 2**20 and start + f + m <= len(data) - 8, "the family's length")
    try:
        family = data[start : start + f].decode()
        measure = data[start + f : start + f + m].decode("ascii")
    except UnicodeDecodeError:
        raise Damaged("the text of the family or of the measure") from None
    need(measure == "" or words_of(measure) == payload, "the measure")
    return start + f + m, family, payload, measure


def words_of(measure):
    """Return the words of a point."""
    found = MEASURES.fullmatch(measure)
    need(found, "the measure")
    dim, half = int(found[5]), -(-int(found[5]) // 2)
    if measure.startswith("hamming"):
        return -(-dim // 64)
    values = half if found[4] == "32" else dim
    return (found[2] == "cosine") + (
        1 + half + values if found[3] == "sparse" else values
    )


def read_part(data, file, n, records):
    """Return a part, all of whose sections are checked."""
    sections, k = {}, file.words
    for name, (where, nbytes, total) in zip(SECTIONS[file.kind], records, strict=True):
        need(where % 64 == 0 and where + nbytes <= len(data), f"the place of {name}")
        raw = data[where : where + nbytes]
        need(checksum(raw) == total, f"the checksum of {name}")
        size = struct.calcsize("<" + LETTERS[name])
        need(nbytes % size == 0, f"the length of {name}")
        sections[name] = list(struct.unpack(f"<{nbytes // size}{LETTERS[name]}", raw))
        file.layout.append((name, where, where + nbytes))
    need(
        n <= 2**31 and len(sections["signatures"]) == n * k, "the number of signatures"
    )
    need(len(sections["deleted"]) in (0, (n + 7) // 8), "the length of deleted")
    gone = [
        bool(sections["deleted"] and sections["deleted"][row // 8] >> row % 8 & 1)
        for row in range(n)
    ]
    part = Part(
        n,
        sections,
        names_of(file.kind, n, sections, gone),
        tables_of(file, sections),
        gone,
    )
    check_tables(file, part)
    return part


def names_of(kind, n, sections, gone):
    """Return the names of the rows that are not gone, None for the others."""
    if kind in ("int", "uint"):
        need(len(sections["integers"]) == n, "the number of integers")
        return [
            None if gone[row] else name % 2**64 if kind == "uint" else name
            for row, name in enumerate(sections["integers"])
        ]
    starts = sections["starts"]
    lengths = sections["lengths"]
    whole = bytes(sections["bytes"])
    need(len(starts) == len(lengths) == n, "the number of starts and lengths")
    names = []
    for start, size, left_out in zip(starts, lengths, gone, strict=True):
        need(left_out or (start >= 0 and start + size <= len(whole)), "a name's place")
        names.append(None if left_out else whole[start : start + size].decode())
    return names


def tables_of(file, sections):
    shape, entries, tables, at = sections["shape"], sections["tables"], [], 0
    need(len(shape) == 3 * (file.parameters["bands"] + 1), "the number of tables")
    need(len(sections["pool"]) % 4 == 0, "the length of the pool")
    for capacity, length, count in zip(
        shape[0::3], shape[1::3], shape[2::3], strict=True
    ):
        need(
            1 <= capacity <= 2**32 and capacity <= length < len(entries) - at,
            "a table's shape",
        )
        need(entries[at + length] == NO_ENTRY, "a table's end")
        tables.append(Table(capacity, count, entries[at : at + length]))
        at += length + 1
    need(at == len(entries), "the length of all tables")
    return tables


def check_tables(file, part):
    """Check the order of all tables, and that every row that is not gone stands exactly where its tags lead."""
    k, bands = file.words, file.parameters["bands"]
    expected = [set() for _ in part.tables]
    for row in (row for row in range(part.n) if not part.gone[row]):
        signature = part.sections["signatures"][row * k : (row + 1) * k]
        for band, key in enumerate(file.keys(signature)):
            if key is not None:
                expected[band].add((key >> 32, row))
        expected[bands].add((name_tag(part.names[row]), row))
    for table, wanted in zip(part.tables, expected, strict=True):
        held = [entry for entry in table.entries if entry != NO_ENTRY]
        tags = [entry >> 32 for entry in held]
        need(
            len(held) == table.count and tags == sorted(set(tags)),
            "the order of a table",
        )
        need(
            all(table.find(entry >> 32) == entry & 0xFFFFFFFF for entry in held),
            "an entry that is not found",
        )
        found = [
            (tag, row)
            for tag, entry in zip(tags, held, strict=True)
            for row in part.bucket(entry & 0xFFFFFFFF)
        ]
        found = [(tag, row) for tag, row in found if not part.gone[row]]
        need(len(found) == len(wanted) and set(found) == wanted, "the rows of a table")
