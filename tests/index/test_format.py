"""Each rule of file-format.md: the rule in the page's words, a file that breaks it, and that it is refused.

`opening` rules are found whenever a file is opened, without its checksums; the others when it is verified.
"""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from lshfast import LSHIndex
from lshfast._common.errors import FormatError
from lshfast.families import SimHashFamily
from tests.index.index_files import ROOT, shared, small
from tests.reference.index_file import FAMILY, HEAD, HEADER, NO_ENTRY, NO_ROW, SECTIONS
from tests.reference.tables import checksum

PAGE = " ".join(
    (ROOT / "docs" / "reference" / "file-format.md")
    .read_text()
    .replace("|", " ")
    .split()
)
INT, STR = list(range(30)), [f"key {i}" for i in range(30)]


@dataclass
class Draft:
    """A file as its values, which a damage changes before checksums are computed and it is written."""

    header: list  # all fields but the last, which is the checksum
    head: list  # of the directory
    family: list  # in version 2: payload, bytes of the family and of the measure, both texts; else nothing
    parts: list  # of dicts from a section's name to an array; "rows" is their number
    place: callable = lambda records: None  # changes where sections are said to be
    finish: callable = lambda data: None  # changes the bytes of the file

    @property
    def names(self):
        return SECTIONS[self.head[9].rstrip(b"\0").decode()]

    def pack(self):
        names = SECTIONS["str" if "starts" in self.parts[0] else "int"]
        data = bytearray(8192)
        records = []
        for part in self.parts:
            record = [part["rows"]]
            for name in names:
                data += bytes(-len(data) % 64)
                raw = part[name].tobytes()
                record.append([len(data), len(raw), checksum(raw)])
                data += raw
            records.append(record)
        self.place(records)
        directory = HEAD.pack(
            *self.head[:2],
            len(records) if self.head[2] is None else self.head[2],
            *self.head[3:],
        )
        if self.family:
            directory += FAMILY.pack(*self.family[:3]) + b"".join(self.family[3:])
        for rows, *sections in records:
            directory += struct.pack("<Q", rows) + b"".join(
                struct.pack("<QQQ", *section) for section in sections
            )
        directory += struct.pack("<Q", checksum(directory))
        self.header[4:7] = len(data), len(directory), checksum(directory)
        data += directory
        for at in (0, 4096):
            data[at : at + HEADER.size] = sealed(self.header)
        self.finish(data)
        return bytes(data)

    def table(self, number, part=0):
        """Return a view of the entries of one table, the one at its end included."""
        lengths = self.parts[part]["shape"].reshape(-1, 3)[:, 1].astype(int) + 1
        start = int(lengths[:number].sum())
        return self.parts[part]["tables"][start : start + lengths[number]]


def sealed(fields):
    """Return a header with its checksum."""
    raw = HEADER.pack(*fields, 0)[:-8]
    return raw + struct.pack("<Q", checksum(raw))


TYPES = {"deleted": "u1", "shape": "<u8", "tables": "<u8", "pool": "<u4", "signatures": "<u8",
         "integers": "<i8", "starts": "<i8", "lengths": "<u4", "bytes": "u1"}  # fmt: skip


def draft_of(path):
    """Return a file as a draft."""
    data = path.read_bytes()
    header = list(HEADER.unpack_from(data))[:-1]
    head = list(HEAD.unpack_from(data, header[4]))
    names = SECTIONS[head[9].rstrip(b"\0").decode()]
    at = header[4] + HEAD.size
    parts = []
    family = []
    if head[1] == 2:
        family, at = list(FAMILY.unpack_from(data, at)), at + FAMILY.size
        for length in family[1:]:
            family.append(data[at : at + length])
            at += length
    for _ in range(head[2]):
        part = {"rows": struct.unpack_from("<Q", data, at)[0]}
        for i, name in enumerate(names):
            where, nbytes, _ = struct.unpack_from("<QQQ", data, at + 8 + 24 * i)
            part[name] = np.frombuffer(data[where : where + nbytes], TYPES[name]).copy()
        parts.append(part)
        at += 8 + 24 * len(names)
    head[2] = None
    return Draft(header, head, family, parts)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the paths of files of two parts: rows that share buckets, an empty set, and rows that are gone."""
    folder, found = tmp_path_factory.mktemp("format"), {}
    for kind, keys in (("int", INT), ("str", STR)):
        rows = shared(30)
        rows[4] = 2**64 - 1
        index, path = small(), folder / kind
        index.insert(keys[:20], rows[:20])
        index.save(path)
        with LSHIndex.open(path, "r+") as index:
            index.insert(keys[20:], rows[20:])
            index.commit()
            index.remove(keys[3])
        found[kind] = path
    index = LSHIndex(family=SimHashFamily(), bands=8, rows_per_band=2)
    codes = shared(30, values=2**16)[:, :2]
    codes[4] = 2**64 - 1
    index.insert(INT, codes)
    index.save(folder / "family")
    return {**found, "family": folder / "family"}


RULES = []


def rule(sentence, opening=True, kind="int"):
    """Note a rule and a function that breaks it in a draft."""

    def note(damage):
        RULES.append(pytest.param(sentence, opening, kind, damage, id=damage.__name__))
        return damage

    return note


def gone_part(draft):
    """Return the place of the part that has a row that is gone."""
    return next(place for place, part in enumerate(draft.parts) if len(part["deleted"]))


# Headers


@rule("0 8 bytes `LSHFAST` and a zero byte")
def header_magic(draft):
    draft.header[0] = b"LSHFAST1"


@rule("8 uint32 version, 1 or 2")
def header_version(draft):
    draft.header[1] = 3


@rule("number of the state, from 1")
def state_0(draft):
    draft.header[3] = 0


@rule("never 2^64 − 1")
def last_state(draft):
    draft.header[3] = 2**64 - 1


@rule("All sections and directories begin at byte 8192 or later.")
def directory_between_headers(draft):
    def finish(data):
        where, nbytes, total = draft.header[4:7]
        data[1024 : 1024 + nbytes] = data[where : where + nbytes]
        for at in (0, 4096):
            data[at : at + HEADER.size] = sealed(
                [*draft.header[:4], 1024, nbytes, total]
            )

    draft.finish = finish


@rule("that the directory lies within the file")
def directory_beyond_the_end(draft):
    draft.finish = lambda data: data.__delitem__(slice(len(data) - 1, None))


@rule("40 uint64 checksum of the directory")
def directory_checksum(draft):
    draft.finish = lambda data: data.__setitem__(len(data) - 20, data[-20] ^ 1)


@rule("A header is valid only if its own checksum is right.")
def both_headers(draft):
    draft.finish = lambda data: (
        data.__setitem__(16, data[16] ^ 1),
        data.__setitem__(4112, data[4112] ^ 1),
    )


@rule("all checksums, and both headers", opening=False)
def one_header(draft):
    draft.finish = lambda data: data.__setitem__(4112, data[4112] ^ 1)


@rule("The two are equal except between the last two steps of a commit.", opening=False)
def headers_that_differ(draft):
    draft.finish = lambda data: data.__setitem__(
        slice(4096, 4096 + HEADER.size),
        sealed([*draft.header[:2], 7, *draft.header[3:]]),
    )


@rule("The first header is never older than the second.", opening=False)
def second_header_newer(draft):
    newer = [*draft.header[:3], draft.header[3] + 1]
    draft.finish = lambda data: data.__setitem__(
        slice(4096, 4096 + HEADER.size), sealed([*newer, *draft.header[4:7]])
    )


# The directory


def directory_rule(sentence, place, value, name, kind="int"):
    def damage(draft):
        draft.head[place] = value

    damage.__name__ = name
    rule(sentence, kind=kind)(damage)


directory_rule("`LSHFDIR` and a zero byte", 0, b"LSHFDIRS", "directory_magic")
directory_rule("8 uint32 version, that of the header", 1, 2, "directory_version")
directory_rule(
    "8 uint32 version, that of the header",
    1,
    1,
    "directory_version_of_a_family",
    "family",
)
directory_rule(
    "in version 2 zero bytes only", 8, b"fast", "scheme_of_a_family", "family"
)
directory_rule("number of segments, may be 0", 2, 3, "number_of_segments")
directory_rule("slots of a signature, 1 to 65,536", 3, 0, "no_slots")
directory_rule("slots of a signature, 1 to 65,536", 3, 65537, "too_many_slots")
directory_rule("bands, at least 1", 4, 0, "no_bands")
directory_rule(
    "rows (slots) a band, at least 1; bands × rows ≤ num_perm", 5, 0, "no_rows"
)
directory_rule(
    "rows (slots) a band, at least 1; bands × rows ≤ num_perm", 5, 3, "too_many_rows"
)
directory_rule("in (0, 1]; a NaN for none", 7, 0.0, "threshold_0")
directory_rule("in (0, 1]; a NaN for none", 7, 1.5, "threshold_above_1")
directory_rule("scheme: `fast` or `classic`, then zero bytes", 8, b"slow", "scheme")
directory_rule(
    "scheme: `fast` or `classic`, then zero bytes", 8, b"fast\0\0x", "scheme_with_more"
)
directory_rule(
    "kind of the keys: `int`, `uint` or `str`, then zero bytes",
    9,
    b"bytes",
    "kind_of_keys",
)
directory_rule(
    "printable ASCII, then zero bytes; may be empty",
    10,
    b"a\nb",
    "shingles_that_do_not_print",
)
directory_rule(
    "printable ASCII, then zero bytes; may be empty",
    10,
    b"a\0b",
    "shingles_with_a_zero",
)


def family_rule(sentence, name, **values):
    def damage(draft):
        for place, value in values.items():
            draft.family[int(place[1:])] = value

    damage.__name__ = name
    rule(sentence, kind="family")(damage)


OF_WORDS = "If there is a measure, the payload has the words of a point of this layout"
OF_MEASURES = "A measure is `NAME:LAYOUT:DIM`, such as `euclidean:float32:768`."
family_rule("num_perm + payload ≤ 65,536", "payload_too_large", _0=65536)
family_rule("num_perm + payload ≤ 65,536", "payload_far_too_large", _0=2**64 - 1)
family_rule(OF_WORDS, "payload_of_another_length", _0=2)
family_rule(OF_WORDS, "no_payload", _0=0)
family_rule(OF_WORDS, "measure_of_more_words", _4=b"hamming:bits:65")
family_rule(
    "bytes of the description of the family, f, 1 to 2^20", "no_family", _1=0, _3=b""
)
family_rule(
    "bytes of the description of the family, f, 1 to 2^20",
    "family_too_long",
    _1=2**20 + 1,
    _3=bytes(2**20 + 1),
)
family_rule(
    "bytes of the description of the family, f, 1 to 2^20",
    "family_beyond_the_end",
    _1=2**20,
)
family_rule("bytes of the measure, m", "measure_beyond_the_end", _2=2**32 - 1)
family_rule(
    "description of the family, in UTF-8",
    "family_that_is_no_text",
    _3=b"\xff" * 43,
    _1=43,
)
family_rule(
    "measure, in ASCII; may be empty",
    "measure_that_is_no_text",
    _4="hamming:bits:1é".encode(),
)
family_rule(OF_MEASURES, "no_measure_of_points", _4=b"hamming-bits-16")
family_rule(OF_MEASURES, "measure_that_is_not_known", _4=b"fammimg:bits:16")
family_rule(
    "`hamming` goes with `bits` only.",
    "measure_of_another_layout",
    _4=b"cosine:bits:016",
)
family_rule(
    "without leading zeros",
    "measure_with_a_leading_zero",
    _4=b"hamming:bits:016",
    _2=16,
)


@rule("checksum of the whole directory before this field")
def end_of_the_directory(draft):
    def finish(data):
        where, nbytes = draft.header[4:6]
        data[-1] ^= 1
        fields = [*draft.header[:6], checksum(bytes(data[where : where + nbytes]))]
        for at in (0, 4096):
            data[at : at + HEADER.size] = sealed(fields)

    draft.finish = finish


@rule("the number n of its rows (uint64, at most 2^31)")
def too_many_rows_of_a_part(draft):
    draft.parts[0]["rows"] = 2**31 + 1


@rule("The offset is a multiple of 64")
def offset(draft):
    draft.place = lambda records: records[0][5].__setitem__(0, records[0][5][0] + 8)


@rule("its end within the file")
def section_beyond_the_end(draft):
    draft.place = lambda records: records[-1][5].__setitem__(0, 1 << 40)


@rule("no two overlap")
def sections_overlap(draft):
    draft.place = lambda records: records[0][5].__setitem__(0, records[0][3][0])


@rule("no two overlap")
def a_part_twice(draft):
    draft.place = lambda records: records.append(records[0])


# Parts


@rule("No key has two rows that are not deleted.", opening=False)
def key_in_two_parts(draft):
    draft.parts.append(
        {
            name: array if name == "rows" else array.copy()
            for name, array in draft.parts[0].items()
        }
    )


@rule("No key has two rows that are not deleted.", opening=False)
def key_twice_in_a_part(draft):
    keys = draft.parts[1]["integers"]
    keys[0] = keys[1]


@rule("⌈n/8⌉ bytes, or none if no row is")
def length_of_gone(draft):
    draft.parts[0]["deleted"] = np.ones(1 + (draft.parts[0]["rows"] + 7) // 8, np.uint8)


@rule("⌈n/8⌉ bytes, or none if no row is", opening=False)
def gone_without_a_row(draft):
    draft.parts[0]["deleted"] = np.zeros((draft.parts[0]["rows"] + 7) // 8, np.uint8)


@rule("capacity, length and count of each table")
def length_of_shape(draft):
    draft.parts[0]["shape"] = draft.parts[0]["shape"][:-1]


@rule("a multiple of four words")
def length_of_the_pool(draft):
    draft.parts[0]["pool"] = np.append(draft.parts[0]["pool"], np.zeros(1, "<u4"))


@rule(
    "each band is judged alone: band j's table has the rows whose slot j is not 2^64 − 1",
    False,
    "family",
)
def row_without_a_value_in_a_band(draft):
    signatures = draft.parts[0]["signatures"].reshape(-1, 9)
    signatures[0, 3] = 2**64 - 1


@rule("n × (num_perm + payload) words, row after row", kind="family")
def number_of_payloads(draft):
    draft.parts[0]["signatures"] = (
        draft.parts[0]["signatures"].reshape(-1, 9)[:, :8].copy().reshape(-1)
    )


@rule("n × (num_perm + payload) words, row after row")
def number_of_signatures(draft):
    draft.parts[0]["signatures"] = draft.parts[0]["signatures"][:-8]


@rule("n keys")
def number_of_keys(draft):
    draft.parts[0]["integers"] = draft.parts[0]["integers"][:-1]


@rule("the offset of each row's key in `bytes`", kind="str")
def number_of_starts(draft):
    draft.parts[0]["starts"] = draft.parts[0]["starts"][:-1]


@rule("the length of each row's key in bytes", kind="str")
def number_of_lengths(draft):
    draft.parts[0]["lengths"] = draft.parts[0]["lengths"][:-1]


@rule("that the start of a key is not negative", opening=False, kind="str")
def negative_start(draft):
    draft.parts[0]["starts"][0] = -1


@rule("its end is within `bytes`", opening=False, kind="str")
def key_beyond_the_end(draft):
    draft.parts[0]["lengths"][0] = 10**6


@rule("its end is within `bytes`", opening=False, kind="str")
def key_of_a_row_that_is_gone_beyond_the_end(draft):
    part = draft.parts[gone_part(draft)]
    row = int(np.flatnonzero(np.unpackbits(part["deleted"], bitorder="little"))[0])
    part["lengths"][row] = 10**6


@rule("that the bytes are UTF-8", opening=False, kind="str")
def bytes_that_are_no_utf_8(draft):
    draft.parts[0]["bytes"][draft.parts[0]["starts"][0]] = 0xFF


# Tables


@rule("There are bands + 1 tables")
def number_of_tables(draft):
    draft.parts[0]["shape"] = draft.parts[0]["shape"][:-3]


@rule("Band j's table has each row under the tag `band key ≫ 32`", opening=False)
def row_under_another_tag(draft):
    draft.parts[0]["signatures"][0] ^= np.uint64(5)


@rule(
    "Rows of an empty set, whose first slot is 2^64 − 1, are in no band's table.",
    opening=False,
)
def empty_set_in_a_table(draft):
    draft.parts[0]["signatures"][:8] = 2**64 - 1


@rule("The table of keys has each row under the tag of its key", opening=False)
def key_under_another_tag(draft):
    draft.parts[0]["integers"][0] += 1000


@rule("The tables contain deleted rows too.", opening=False)
def key_of_a_row_that_is_gone_under_another_tag(draft):
    part = draft.parts[gone_part(draft)]
    row = int(np.flatnonzero(np.unpackbits(part["deleted"], bitorder="little"))[0])
    part["integers"][row] += 1000


@rule("A table has a capacity c (1 to 2^32)")
def capacity_0(draft):
    draft.parts[0]["shape"][0] = 0


@rule("and a length l ≥ c")
def length_below_the_capacity(draft):
    draft.parts[0]["shape"][0] = draft.parts[0]["shape"][1] + np.uint64(1)


@rule("the tables follow each other without gaps")
def entries_behind_the_tables(draft):
    draft.parts[0]["tables"] = np.append(
        draft.parts[0]["tables"], np.array([NO_ENTRY], "<u8")
    )


@rule("NO_ENTRY is always at place l.")
def no_end_of_a_table(draft):
    draft.table(1)[-1] = 0


@rule("Tags are strictly ascending from one entry to the next", opening=False)
def tags_that_fall(draft):
    table = draft.table(3)
    first, second = np.flatnonzero(table != NO_ENTRY)[:2]
    table[first], table[second] = table[second], table[first]


@rule("The entry of a tag is at the home bucket or later", opening=False)
def entry_before_its_home(draft):
    table, capacity = draft.table(3), int(draft.parts[0]["shape"][9])
    places = np.flatnonzero(table != NO_ENTRY)
    homes = (table[places] >> np.uint64(32)).astype(object) * capacity // 2**32 // 8 * 8
    place = next(
        int(p)
        for p, home in zip(places, homes, strict=True)
        if home == p and table[p - 1] == NO_ENTRY and p
    )
    table[place - 1], table[place] = table[place], NO_ENTRY


@rule("no NO_ENTRY between the two", opening=False)
def gap_before_an_entry(draft):
    table = draft.table(3)
    last = int(np.flatnonzero(table != NO_ENTRY)[-1])
    table[last], table[-2] = NO_ENTRY, table[last]


@rule("`count` is the number of entries.", opening=False)
def count_of_a_table(draft):
    draft.parts[0]["shape"][2] += np.uint64(1)


def block_of(draft):
    """Return the place in the pool of the first block that an entry of band 0 leads to."""
    entries = draft.table(0)
    several = entries[(entries != NO_ENTRY) & (entries & np.uint64(2**31) != 0)]
    return 4 * int(several[0] & np.uint64(2**31 - 1))


@rule("`count` of the slots hold a row", opening=False)
def count_of_a_block(draft):
    draft.parts[0]["pool"][block_of(draft)] += np.uint32(1)


@rule("`count` of the slots hold a row, each a different one", opening=False)
def row_twice_in_a_block(draft):
    pool, at = draft.parts[0]["pool"], block_of(draft)
    rows = [at + 2 + i for i in range(int(pool[at + 1])) if pool[at + 2 + i] != NO_ROW]
    pool[rows[0]] = pool[rows[1]]


@rule("so are all slots of its block", opening=False)
def block_beyond_the_pool(draft):
    draft.parts[0]["pool"][block_of(draft) + 1] = 10**6


@rule("that a unit is within the pool", opening=False)
def unit_beyond_the_pool(draft):
    table = draft.table(0)
    place = int(
        np.flatnonzero((table != NO_ENTRY) & (table & np.uint64(2**31) != 0))[0]
    )
    table[place] |= np.uint64(2**31 - 1)


@rule("that a row is below n", opening=False)
def row_beyond_the_last(draft):
    table = draft.table(3)
    place = int(
        np.flatnonzero((table != NO_ENTRY) & (table & np.uint64(2**31) == 0))[0]
    )
    table[place] = table[place] >> np.uint64(32) << np.uint64(32) | np.uint64(1000)


@rule("that each table has each row exactly once under its tag", opening=False)
def row_that_is_missing(draft):
    table = draft.table(3)
    place = int(np.flatnonzero(table != NO_ENTRY)[-1])
    table[place] = NO_ENTRY
    draft.parts[0]["shape"][11] -= np.uint64(1)


def checksum_rule(name):
    def damage(draft):
        part, at = gone_part(draft), draft.names.index(name) + 1
        draft.place = lambda records: records[part][at].__setitem__(
            2, records[part][at][2] ^ 1
        )

    damage.__name__ = f"checksum_of_{name}"
    kind = "int" if name == "integers" else "str"
    rule("three uint64: offset, bytes, and checksum", opening=False, kind=kind)(damage)


for _name in dict.fromkeys([*SECTIONS["int"], *SECTIONS["str"]]):
    checksum_rule(_name)


@pytest.mark.parametrize("kind", ["int", "str", "family"])
def test_a_draft_is_a_file(files, kind, tmp_path):
    """What the tests below change is accepted as it is."""
    (tmp_path / "index").write_bytes(draft_of(files[kind]).pack())
    with (
        LSHIndex.open(tmp_path / "index", verify=True) as index,
        LSHIndex.open(files[kind]) as other,
    ):
        index.verify()
        assert sorted(index) == sorted(other)


@pytest.mark.parametrize(("sentence", "opening", "kind", "damage"), RULES)
def test_a_file_that_breaks_a_rule_is_refused(
    files, tmp_path, sentence, opening, kind, damage
):
    assert sentence in PAGE
    path, draft = Path(tmp_path / "index"), draft_of(files[kind])
    damage(draft)
    path.write_bytes(draft.pack())
    said = f"^{re.escape(str(path))}: "
    if opening:
        with pytest.raises(FormatError, match=said):
            LSHIndex.open(path, verify=False)
    else:
        with (
            LSHIndex.open(path, verify=False) as index,
            pytest.raises(FormatError, match=said),
        ):
            index.verify()
    # The first leads to all that is needed.
    if damage not in (one_header, headers_that_differ, second_header_newer):
        with pytest.raises(FormatError, match=said):
            LSHIndex.open(path, verify=True)
