"""Bad files of indexes (damaged, hostile, cut short, of other versions) raise a named error; old ones are read."""

import contextlib
import errno
import math
import os
import re
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from lshfast import LSHIndex
from lshfast._common.errors import FormatError
from lshfast.families import SimHashFamily
from tests.fuzz.index_files import mended
from tests.index.index_files import content, held, posix, python, shared
from tests.index.index_machine import SMALL
from tests.index.index_model import EMPTY, IndexModel
from tests.index.make_golden_index import CASES, FAMILIES, FOLDER, code, row_of_code
from tests.reference import index_file
from tests.shares import SHARE

pytestmark = pytest.mark.slow

# Damage


@pytest.fixture(params=["int", "str"])
def grown(request, tmp_path):
    """Return the path of a small file of several parts, and what it holds."""
    path = tmp_path / "index"
    index = LSHIndex(num_perm=8, bands=2, rows_per_band=1, on_duplicate="replace")
    key_of = int if request.param == "int" else "key {}".format
    index.insert([key_of(i) for i in range(6)], shared(6))
    index.save(path)
    with LSHIndex.open(path, "r+", on_duplicate="replace") as index:
        index.insert([key_of(i) for i in (1, 9)], shared(2, seed=1))
        index.commit()
        index.remove(key_of(2))
        index.commit()
        expected = content(index)
    assert len(index_file.read(path.read_bytes()).parts) == 2
    return path, expected


def test_cut_at_each_length(grown):
    path, expected = grown
    whole = path.read_bytes()
    end = max(end for _, _, end in index_file.read(whole).layout)
    assert end == len(whole)
    said = f"^{re.escape(str(path))}: (header|directory): "
    for length in reversed(range(0, end, SHARE)):
        if 56 < length % 4096 < 4090 and length < 8192 and length % 61:
            continue  # between the headers
        os.truncate(path, length)
        with pytest.raises(FormatError, match=said):
            LSHIndex.open(path, verify=None if length % 2 else False)
    path.write_bytes(whole + b"more")
    assert held(path) == expected


def test_each_byte_changed(grown):
    """What a checksum covers is named; what none covers means nothing."""
    path, expected = grown
    whole = path.read_bytes()
    layout = index_file.read(whole).layout
    queries = shared(6)
    with LSHIndex.open(path) as index:
        answers = list(index.query(queries, threshold=0))
    sections = np.full(len(whole), -1)
    for number, (_, start, end) in enumerate(layout):
        sections[start:end] = number
    headers = {at for start in (0, 4096) for at in range(start, start + 56)}
    last = 0
    for at in range(0, len(whole), SHARE):
        if at < 8192 and at not in headers and at % 61:
            continue  # zeros
        with open(path, "r+b", buffering=0) as file:
            for place, byte in [
                (last, whole[last]),
                (at, whole[at] ^ (1 << at % 8 if at % 3 else 0xFF)),
            ]:
                file.seek(place)
                file.write(bytes([byte]))
        last = at
        if sections[at] >= 0:
            name = layout[sections[at]][0]
            with pytest.raises(
                FormatError,
                match=f"^{re.escape(str(path))}: {name}: its checksum is wrong$",
            ):
                LSHIndex.open(path)
        else:
            with LSHIndex.open(path) as index:
                assert content(index) == expected
                assert list(index.query(queries, threshold=0)) == answers
                if at in headers:
                    place = at - at % 4096
                    said = re.escape(
                        f"{path}: header: the one at byte {place} is damaged (compact repairs it)"
                    )
                    with pytest.raises(FormatError, match=said):
                        index.verify()
                else:
                    index.verify()


def test_both_headers_damaged(grown):
    path, _ = grown
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    data[4096 + 50] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"index: header: both copies are damaged$"):
        LSHIndex.open(path)


def test_a_damaged_header_is_mended(grown):
    path, expected = grown
    key = next(iter(expected))
    for mend in (
        lambda index: index.compact(),
        lambda index: (index.remove(key), index.commit()),
    ):
        data = bytearray(path.read_bytes())
        data[40] ^= 1
        path.write_bytes(data)
        with LSHIndex.open(path, "r+") as index:
            with pytest.raises(
                FormatError, match="header: the one at byte 0 is damaged"
            ):
                index.verify()
            mend(index)
            index.verify()
    del expected[key]
    assert held(path) == expected


@pytest.mark.parametrize("act", ["save", "compact", "commit"])
def test_damage_is_not_written_anew(grown, act):
    """A file whose sections are damaged, opened unchecked, is not copied under new checksums."""
    path, expected = grown
    whole = path.read_bytes()
    for name, start, end in index_file.read(whole).layout:
        if name == "signatures":
            data = bytearray(whole)
            data[end - 1] ^= 1
            assert start < end
            path.write_bytes(data)
            index = LSHIndex.open(path, "r+", verify=False)
            index.remove(
                list(expected)[1:]
            )  # so that a commit writes the rest of both parts anew
            save = partial(index.save, path.with_name("copy"))
            acts = {"save": save, "compact": index.compact, "commit": index.commit}
            with pytest.raises(
                FormatError,
                match=f"^{re.escape(str(path))}: signatures: its checksum is wrong",
            ):
                acts[act]()
            index.store.abandon()
            assert path.read_bytes() == bytes(data)
            assert not path.with_name("copy").exists()


@pytest.mark.parametrize("version", [0, 3, 2**32 - 1])
def test_other_versions(grown, version):
    for place in ("header", "directory"):
        with pytest.raises(
            FormatError,
            match=f": {place}: version {version}; this library reads versions 1 and 2$",
        ):
            open_with_version(grown, place, version)


def test_versions_that_differ(grown):
    with pytest.raises(
        FormatError, match=r": directory: version 1, but the header has version 2$"
    ):
        open_with_version(grown, "header", 2)
    with pytest.raises(
        FormatError,
        match=r": directory: signatures of scheme 'fast', but those of a family have none$",
    ):
        open_with_version(grown, "directory", 2)


def open_with_version(grown, place, version):
    path, whole = grown[0], grown[0].read_bytes()
    data = bytearray(whole)
    at = 8 if place == "header" else struct.unpack_from("<Q", whole, 24)[0] + 8
    struct.pack_into("<I", data, at, version)
    path.write_bytes(mended(data))
    try:
        LSHIndex.open(path).close()
    finally:
        path.write_bytes(whole)


def test_the_last_state(grown):
    path, _ = grown
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, 16, 2**64 - 1)
    path.write_bytes(mended(data))
    with pytest.raises(
        FormatError, match="header: state 18446744073709551615, which is too large"
    ):
        LSHIndex.open(path)


@pytest.mark.parametrize(
    ("at", "layout", "value", "message"),
    [
        (0, "<8s", b"LSHFDIR!", "directory: not that of an index"),
        (12, "<I", 3, "directory: .* bytes, not those of 3 segments"),
        (12, "<I", 2**32 - 1, "directory: .* bytes, not those of 4294967295 segments"),
        (16, "<Q", 65537, "directory: 2 bands of 1 rows over 65537 slots"),
        (16, "<Q", 0, "directory: 2 bands of 1 rows over 0 slots"),
        (24, "<Q", 0, "directory: 0 bands of 1 rows over 8 slots"),
        (32, "<Q", 5, "directory: 2 bands of 5 rows over 8 slots"),
        (
            32,
            "<Q",
            2**63,
            "directory: 2 bands of 9223372036854775808 rows over 8 slots",
        ),
        (48, "<d", 1.5, r"directory: threshold 1.5, not in \(0, 1\]"),
        (48, "<d", -math.inf, r"directory: threshold -inf, not in \(0, 1\]"),
        (
            56,
            "<16s",
            b"slow",
            "directory: signatures of scheme 'slow', not fast or classic",
        ),
        (
            56,
            "<16s",
            b"f\xffst",
            "directory: scheme, kind of keys or shingles is no ASCII",
        ),
        (
            72,
            "<8s",
            b"bytes",
            "directory: keys of kind 'bytes', not int or uint or str",
        ),
        (
            80,
            "<16s",
            b"a\nb",
            "directory: shingles must be at most 16 printable ASCII characters",
        ),
        (96, "<Q", 7, "signatures: .* slots, not 7 x 8"),
        (96, "<Q", 2**64 - 1, "signatures: .* slots, not 18446744073709551615 x 8"),
        (104, "<Q", 1, "a section lies at bytes 1 to "),
        (104, "<Q", 2**63, "a section lies at bytes 9223372036854775808 to "),
        (
            112,
            "<Q",
            2**40,
            "directory: [a-z]+ lies at byte [0-9]+, and [a-z]+ ends at byte ",
        ),
        (
            112,
            "<Q",
            5,
            "(deleted: 5 bytes for . rows|directory: [a-z]+ lies at byte [0-9]+, and [a-z]+ ends at byte )",
        ),
    ],
)
def test_impossible_directories(grown, at, layout, value, message):
    path, _ = grown
    data = bytearray(path.read_bytes())
    struct.pack_into(layout, data, struct.unpack_from("<Q", data, 24)[0] + at, value)
    path.write_bytes(mended(data))
    for verify in (None, False):
        with pytest.raises(FormatError, match=f"^{re.escape(str(path))}: {message}"):
            LSHIndex.open(path, verify=verify)


def refusal(use):
    """Return what a FormatError says, None if there is none."""
    try:
        use()
    except FormatError as error:
        return str(error)
    return None


def test_verify_finds_what_no_checksum_does(grown):
    """Sections with right checksums that do not belong together: verify says so, unless nothing is found otherwise."""
    path, expected = grown
    whole = path.read_bytes()
    layout = index_file.read(whole).layout
    for name, start, end in layout:
        for at in (
            range(start, end, 4)
            if name not in ("directory", "deleted", "bytes")
            else []
        ):
            if (
                name == "tables"
                and whole[at & -8 : (at & -8) + 8] == b"\xff" * 8
                and at % 5
            ):
                continue  # most entries are none
            data = bytearray(whole)
            data[at] ^= 1
            path.write_bytes(mended(data))
            said = None
            with contextlib.suppress(FormatError), LSHIndex.open(path) as index:
                said = refusal(index.verify)
                # The name of a row that is gone, a slot of no band, one band of
                # two, ...
                if said is None:
                    assert set(index) == set(expected)
                    assert name == "signatures" or content(index) == expected
            assert said is None or re.match(
                re.escape(str(path)) + ": (tables|bytes): ", said
            )


def without(data, table, place, leads):
    """Return a file of one part, one of whose tables leads elsewhere from an entry of one row; checksums are right."""
    data, layout = (
        bytearray(data),
        {name: start for name, start, _ in index_file.read(data).layout},
    )
    shape = [
        struct.unpack_from("<QQQ", data, layout["shape"] + 24 * i)
        for i in range(table + 1)
    ]
    start = layout["tables"] + 8 * sum(length + 1 for _, length, _ in shape[:-1])
    entries = [start + 8 * i for i in range(shape[-1][1])]
    single = [at for at in entries if not struct.unpack_from("<Q", data, at)[0] & 2**31]
    if (
        leads is None
    ):  # where a gap follows, so that no search for others ends too early
        single = [
            at
            for at in single
            if struct.unpack_from("<Q", data, at + 8)[0] == index_file.NO_ENTRY
        ]
    if leads is None:
        struct.pack_into("<Q", data, single[place], index_file.NO_ENTRY)
        struct.pack_into(
            "<Q", data, layout["shape"] + 24 * table + 16, shape[-1][2] - 1
        )
    else:
        struct.pack_into("<I", data, single[place], leads)
    return mended(data)


@pytest.mark.parametrize("key_of", [int, str])
@pytest.mark.parametrize("gone", [False, True])
def test_verify_counts_the_rows_of_a_table(tmp_path, key_of, gone):
    """A row that is missing in one band of several, or stands there twice, is found by no other check."""
    path = tmp_path / "index"
    index, rows = LSHIndex(**SMALL), shared(300, values=9)
    rows[7] = EMPTY
    index.insert([key_of(i) for i in range(300)], rows)
    index.save(path)
    if gone:
        with LSHIndex.open(path, "r+") as index:
            index.remove([key_of(5), key_of(7)])
    whole = path.read_bytes()
    expected = held(path)
    for table in range(4):
        for leads, said in [
            (None, r" has (298|299) rows, not each of (299|300) once"),
            (8, " rows, not each of "),
        ]:
            path.write_bytes(without(whole, table, -1, leads))
            what = "the table of keys" if table == 3 else f"band {table}"
            if table == 3:
                what = f"{what}|a key does not lead to its row"
            with LSHIndex.open(path) as index:
                assert content(index) == expected
                with pytest.raises(
                    FormatError, match=f"index: tables: ({what}({said}|))"
                ):
                    index.verify()
            with pytest.raises(FormatError, match=f"index: tables: ({what}({said}|))"):
                LSHIndex.open(path, verify=True)


@pytest.mark.parametrize("values", [1, 2, 10**6])
def test_verify_follows_buckets_of_all_sizes(tmp_path, values):
    """Of a few rows and of many thousands, which it goes over in pieces."""
    index, rows = LSHIndex(**SMALL), shared(20_000, values=values)
    rows[:3] = EMPTY
    index.insert(range(20_000), rows)
    index.save(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index", "r+") as index:
        index.remove(range(1, 20_000, 7))
        index.insert(range(30_000, 30_100), shared(100))
        index.commit()
        index.verify()


# Disks that fail and full disks


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_commit_whose_sync_fails(grown, monkeypatch, step):
    """The file is in its old state or in the new one, and the index holds what is new: a later commit writes it."""
    path, expected = grown
    key = next(iter(expected))
    sync, calls = os.fsync, []

    def fail(number):
        calls.append(number)
        if len(calls) == step:
            raise OSError(5, "Input/output error")
        sync(number)

    with LSHIndex.open(path, "r+") as index:
        index.remove(key)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            with pytest.raises(
                OSError, match=f"Input/output error: '{re.escape(str(path))}'"
            ):
                index.commit()
        with LSHIndex.open(path, verify=True) as other:
            assert (key in other) == (step == 1)
        new = content(index)
        assert new == {other: row for other, row in expected.items() if other != key}
        index.remove(next(iter(new)))
        index.commit()
        index.verify()
        assert content(index) == dict(list(new.items())[1:])
        now = content(index)
    assert held(path) == now


# A file may be no longer than a limit, which save and commit run into at each of their writes in
# turn.
FULL = """
import resource, signal, sys, os
from pathlib import Path
import numpy as np
from lshfast import LSHIndex
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
path, other = folder / "index", folder / "other"
SMALL = dict(num_perm=8, bands=3, rows_per_band=2)
rows = np.random.default_rng(0).integers(0, 3, (60, 8)).astype(np.uint64)

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

def check(path, keys):
    with LSHIndex.open(path, verify=True) as index:
        index.verify()
        assert sorted(index) == sorted(keys), (sorted(index), keys)

old = LSHIndex(**SMALL)
old.insert(range(20), rows[:20])
old.save(path)
before = path.read_bytes()
new = LSHIndex(**SMALL)
new.insert(range(60), rows)
new.save(other)
final = other.stat().st_size
other.unlink()
failed = 0
for size in [*range(0, final, 331), final - 1]:
    limit(size)
    try:
        new.save(path)
    except OSError as error:
        assert error.filename == str(path), error.filename
        failed += 1
    else:
        raise AssertionError(f"{final} bytes are written where {size} are allowed")
    limit(resource.RLIM_INFINITY)
    assert path.read_bytes() == before
    assert os.listdir(folder) == ["index"], os.listdir(folder)
    assert len(new) == 60
new.save(path)
check(path, range(60))

for act in ("commit", "compact"):
    for size in [*range(len(before) if act == "commit" else 0, 30000, 397)]:
        path.write_bytes(before)
        with LSHIndex.open(path, "r+", on_duplicate="replace") as index:
            index.remove([0, 1])
            index.insert(range(15, 60), rows[15:])
            limit(size)
            try:
                getattr(index, act)()
            except OSError as error:
                assert error.filename == str(path), error.filename
                failed += 1
                limit(resource.RLIM_INFINITY)
                assert path.read_bytes() == before
                assert os.listdir(folder) == ["index"], os.listdir(folder)
                check(path, range(20))
                assert sorted(index) == list(range(2, 60))
                assert [59] == [key for key in index.query(rows[59]) if key == 59]
                index.save(other)
                check(other, range(2, 60))
                other.unlink()
                index.insert(100, rows[0])
                index.commit()
                check(path, [*range(2, 60), 100])
            else:
                limit(resource.RLIM_INFINITY)
                check(path, range(2, 60))
print(failed)
"""


def test_a_file_that_another_program_damages_is_named_by_a_commit(tmp_path):
    path = tmp_path / "a"
    with LSHIndex(num_perm=16, bands=4, rows_per_band=4) as index:
        index.insert(["a"], np.arange(16, dtype=np.uint64)[None])
        index.save(path)
    index = LSHIndex.open(path, "r+")
    index.insert(["b"], np.arange(16, 32, dtype=np.uint64)[None])
    with path.open("r+b") as file:
        file.write(bytes(8192))  # over both headers
    with pytest.raises(FormatError, match=f"^{re.escape(str(path))}: header: not "):
        index.commit()
    index.store.abandon()


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_a_file_that_cannot_be_mapped_is_named(tmp_path):
    import resource

    path = tmp_path / "a"
    path.touch()
    os.truncate(path, 1 << 32)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28), limits[1]))
    try:
        with pytest.raises(OSError, match="memory") as caught:
            LSHIndex.open(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOMEM, str(path))


@posix
def test_files_that_may_grow_no_further(tmp_path):
    done = python(FULL, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


# The same on a disk that is full, in a namespace of mounts that ends with the process.
TMPFS = """
import errno, subprocess, sys, os
from pathlib import Path
import numpy as np
from lshfast import LSHIndex
folder = Path(sys.argv[1])

def mount(options):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True).returncode

if mount("size=64k"):
    print("no mount")
    sys.exit(0)
path = folder / "index"
rows = np.random.default_rng(0).integers(0, 3, (3000, 8)).astype(np.uint64)
index = LSHIndex(num_perm=8, bands=3, rows_per_band=2)
index.insert(range(20), rows[:20])
index.save(path)
before = path.read_bytes()
index.insert(range(20, 3000), rows[20:])
for _ in range(3):
    try:
        index.save(path)
    except OSError as error:
        assert (error.errno, error.filename) == (errno.ENOSPC, str(path)), error
    else:
        raise AssertionError("there is room")
    assert path.read_bytes() == before
    assert os.listdir(folder) == ["index"]
with LSHIndex.open(path, "r+") as index:
    index.insert(range(20, 3000), rows[20:])
    for act in (index.commit, index.compact, index.commit):
        try:
            act()
        except OSError as error:
            assert (error.errno, error.filename) == (errno.ENOSPC, str(path)), error
        else:
            raise AssertionError("there is room")
        assert path.read_bytes() == before
        assert os.listdir(folder) == ["index"]
        with LSHIndex.open(path, verify=True) as reader:
            reader.verify()
            assert len(reader) == 20
        assert len(index) == 3000
    assert not mount("remount,size=16m")
    index.commit()
with LSHIndex.open(path, verify=True) as reader:
    reader.verify()
    assert len(reader) == 3000
print("done")
"""


@posix
def test_a_full_disk(tmp_path):
    alone = ("unshare", "--mount")
    try:
        allowed = (
            subprocess.run(
                [*alone, "true"], capture_output=True, check=False
            ).returncode
            == 0
        )
    except FileNotFoundError:
        allowed = False
    done = python(TMPFS, tmp_path, command=alone) if allowed else None
    if done is None or done.stdout == "no mount\n":
        pytest.skip("no file system may be mounted")
    assert done.stdout == "done\n", done.stderr


# Golden files


@pytest.mark.parametrize("name", CASES)
def test_golden_files_are_read(name, tmp_path):
    expected = CASES[name](tmp_path / "index")
    assert held(FOLDER / name) == expected
    model = IndexModel(**SMALL, entries=expected)
    queries = np.array(
        [*expected.values(), *shared(20, values=4).tolist(), (EMPTY,) * 8], np.uint64
    )
    with LSHIndex.open(FOLDER / name) as index:
        for query in queries:
            assert index.query(query) == model.query(query)
            assert index.query(query, threshold=0.25) == model.query(
                query, threshold=0.25
            )
        with LSHIndex.open(tmp_path / "index") as again:
            assert index.parameters == again.parameters


@pytest.mark.parametrize("name", CASES)
def test_golden_files_are_written(name, tmp_path):
    """The same steps write the same bytes. Where this fails for a good reason, add cases and keep the files."""
    CASES[name](tmp_path / "index")
    assert (tmp_path / "index").read_bytes() == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", FAMILIES)
def test_golden_files_of_families(name, tmp_path):
    expected = FAMILIES[name](tmp_path / "index")
    assert held(FOLDER / name) == expected
    assert (tmp_path / "index").read_bytes() == (FOLDER / name).read_bytes()
    assert (
        index_file.read((FOLDER / name).read_bytes()).parameters["measure"]
        == "hamming:bits:16"
    )
    with LSHIndex.open(FOLDER / name) as index:
        assert index.family == SimHashFamily(seed=7)
        for number in range(60):
            row = row_of_code(code(number))
            found = index.query(np.array([code(number)], np.uint64), threshold=0)
            assert dict(found) == {
                key: 1 - (row[4] ^ other[4]).bit_count() / 16
                for key, other in expected.items()
                if any(a == b != EMPTY for a, b in zip(row[:4], other[:4], strict=True))
            }


def test_golden_files_can_be_written_to(tmp_path):
    for name in CASES:
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
        expected = held(tmp_path / name)
        key = "new" if any(isinstance(key, str) for key in expected) else 1000
        with LSHIndex.open(tmp_path / name, "r+") as index:
            index.insert(key, shared(1)[0])
        expected[key] = tuple(shared(1)[0].tolist())
        assert held(tmp_path / name) == expected
        with LSHIndex.open(tmp_path / name, "r+") as index:
            index.compact()
        assert held(tmp_path / name) == expected
