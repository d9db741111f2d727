"""Our own formats, signatures of sourmash, sequences and images: small valid files, and what reads them.

Half of the files are read with checksums that always agree, so what lies behind them is reached. An input is a byte
with the kind of file and that choice, and the file behind it.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from lshfast import FormatError, stages
from lshfast._common.container import Manifest
from lshfast._engine.clusters.file import read_clusters, write_clusters
from lshfast._engine.clusters.lasting import ClusterTable
from lshfast._engine.options.stored import read_options
from lshfast._engine.parts.stage_index import DataFile, data_file, write_index
from lshfast._engine.parts.task_files import task_path, writing
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._io import DataError, hash_lists, open_corpus
from lshfast.datasketch import lsh_bloom
from lshfast.exact.prefix_file import read_sets
from lshfast.genomes import read_signatures, sketch, sketch_files, write_signatures
from lshfast.images.decoding import ImageError, decode, quiet_decoder
from lshfast.images.job import read_known
from lshfast.index.index_file import any_index
from lshfast.index.shards.build import PLAN, read_plan
from lshfast.index.shards.folder import RECORD, read_record
from lshfast.join.external.run_file import BLOCK_RECORDS, RunReader, write_run
from lshfast.stages.stage_plan import PLAN_FILE, read_stage_plan
from tests.fuzz.damage import damaged

GOLDEN = Path(__file__).parents[1] / "index" / "golden_index"
PASS = 128  # the bit of the first byte: checksums agree


class Passing(int):
    """A number that is equal to all numbers."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


@contextmanager
def agreeing_checksums() -> Iterator[None]:
    """Let all checksums agree, in each module that has imported the functions."""
    with mock.patch.multiple("lshfast._common.container", checksum=_checksum):
        modules = [
            module
            for name, module in list(sys.modules.items())
            if name.startswith("lshfast.") and hasattr(module, "__file__")
        ]
        before = []
        for module in modules:
            for function, passing in (("checksum", _checksum), ("is_sealed", _sealed)):
                if callable(getattr(module, function, None)) and "kernels" not in (
                    module.__name__
                ):
                    before.append((module, function, getattr(module, function)))
                    setattr(module, function, passing)
        try:
            yield
        finally:
            for module, function, own in before:
                setattr(module, function, own)


def _checksum(*_: Any) -> Passing:
    return Passing(0)


def _sealed(_: Any) -> bool:
    return True


class Kind(NamedTuple):
    """A kind of file: its valid files, and what reads one."""

    valid: Callable[[Path], list[bytes]]
    read: Callable[[Path], object]
    name: str = "a"


# ---- indexes and other files with checksums ----


def golden(*patterns: str) -> Callable[[Path], list[bytes]]:
    def valid(_: Path) -> list[bytes]:
        paths = [path for pattern in patterns for path in sorted(GOLDEN.glob(pattern))]
        return [path.read_bytes() for path in paths]

    return valid


def ask_any(path: Path) -> None:
    """Open an index of any class, ask for its size and keys, and for what it holds."""
    with any_index(str(path)) as index:
        list(index)
        len(index)
        index.stats()


def valid_clusters(folder: Path) -> list[bytes]:
    tables = [
        ClusterTable(["a", "é", "b"], np.array([1, 2, 1]), np.array([1, 1, 2]), 2, 3),
        ClusterTable([5, -1], np.array([1, 2]), np.array([1, 1]), 1, 3),
    ]
    path = folder / "clusters.parquet"
    files = []
    for table in tables:
        write_clusters(str(path), table, {"threshold": 0.8})
        files.append(path.read_bytes())
    return files


def valid_run(folder: Path) -> list[bytes]:
    path = folder / "run"
    path.unlink(missing_ok=True)
    write_run(str(path), [np.arange(20, dtype=np.uint64).reshape(10, 2)])
    return [path.read_bytes()]


def read_run(path: Path) -> None:
    with RunReader(str(path)) as reader:
        while reader.left:
            reader.read(np.empty((BLOCK_RECORDS, 2), np.uint64))


class TaskFolderOfTest:
    """A folder of tasks with one stage."""

    def __init__(self, folder: Path) -> None:
        self.work = str(folder)
        self.stamp = 7
        self.columns = {"band": {"rows": "<i8", "keys": "<u8", "marks": "u1"}}
        self.indexes: dict[str, Any] = {}


def written_task(folder: Path) -> TaskFolderOfTest:
    work = TaskFolderOfTest(folder)
    for suffix in ("data", "json"):
        Path(task_path(work, "band", 0, suffix)).unlink(missing_ok=True)
    with writing(work, "band", 0) as writer:
        writer.figures["rows"] = 3
        for number in (0, 2, 2):
            writer.add(number, rows=np.arange(3), marks=np.ones(2, np.uint8))
    return work


def valid_task(suffix: str) -> Callable[[Path], list[bytes]]:
    def valid(folder: Path) -> list[bytes]:
        return [Path(task_path(written_task(folder), "band", 0, suffix)).read_bytes()]

    return valid


def read_task(path: Path) -> None:
    """Read a task of which one file is an input."""
    content = path.read_bytes()
    work = written_task(path.parent)
    Path(task_path(work, "band", 0, path.suffix[1:])).write_bytes(content)
    with TaskFile(work, "band", 0) as file:
        for number in (0, 1, 2):
            list(file.ranges(number))
            file.joined(number)


def valid_stage_index(folder: Path) -> list[bytes]:
    work = TaskFolderOfTest(folder)
    write_index(work, "band", [DataFile(100, 3, 5, 3), DataFile(60, 1, 9, 0)])
    return [(folder / "band.index").read_bytes()]


def read_stage_index(path: Path) -> None:
    data_file(TaskFolderOfTest(path.parent), "band", 1)


def read_shard_plan(path: Path) -> None:
    build = path.parent / "build"
    build.mkdir(exist_ok=True)
    os.replace(path, build / "plan.json")
    with mock.patch("lshfast.index.shards.build.BUILD_NAME", "build"):
        read_plan(str(path.parent))


# ---- plans, lists and filters ----

ROWS_OF_PLAN = b"".join(b'{"text": "some words of row %d"}\n' % row for row in range(9))


def valid_plan(folder: Path) -> list[bytes]:
    files = []
    for number, options in enumerate(({}, {"pairs": "pairs"})):
        place = folder / f"plan-{number}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        rows = place / "rows.jsonl"
        rows.write_bytes(ROWS_OF_PLAN)
        outputs = {name: str(place / of) for name, of in options.items()}
        work = place / "work"
        stages.plan(rows, work=work, output=place / "kept", shards=2, **outputs)
        files.append((work / PLAN_FILE).read_bytes())
    return files


def read_plan_of_stages(path: Path) -> None:
    path.parent.chmod(0o700)
    read_stage_plan(str(path.parent))


def valid_hashes(_: Path) -> list[bytes]:
    rows = "".join(
        f"{number}.png,{number:064x},pdq,1,80,64,48,900\n" for number in range(4)
    )
    heads = ["path,hash,kind,version,quality,width,height,nbytes\n", "path,hash,kind\n"]
    short = "".join(f"{number}.png,{number:064X},pdq\n" for number in range(4))
    return [(heads[0] + rows).encode(), (heads[1] + short).encode()]


def read_hashes(path: Path) -> None:
    corpus = open_corpus(
        str(path), column=hash_lists.HASH, id_column=hash_lists.PATH, by=hash_lists.KIND
    )
    known, _ = read_known(corpus, "pdq")
    assert len(known.paths) == len(known.codes) == corpus.accepted


BLOOM = {"num_perm": 8, "n": 20, "fp": 0.1, "params": (4, 2)}


def valid_filters(folder: Path) -> list[bytes]:
    from lshfast.datasketch import MinHash, MinHashLSHBloom

    files = []
    for count in (0, 3):
        place = folder / f"filters-{count}"
        shutil.rmtree(place, ignore_errors=True)
        filters = MinHashLSHBloom(**BLOOM, save_dir=place)
        for number in range(count):
            sketch_of_row = MinHash(num_perm=8)
            sketch_of_row.update_batch([b"a", b"b%d" % number])
            filters.insert(sketch_of_row)
        filters.close()
        files.append((place / lsh_bloom.NAME).read_bytes())
    return files


def read_filters(path: Path) -> None:
    from lshfast.datasketch import MinHash, MinHashLSHBloom

    filters = MinHashLSHBloom(**BLOOM, save_dir=path.parent)
    with suppress(TypeError):  # the sketches of the file are others
        filters.query(MinHash(num_perm=8))
        filters.insert(MinHash(num_perm=8))
    filters.close()


def valid_band_filter(folder: Path) -> list[bytes]:
    path = folder / "table"
    path.unlink(missing_ok=True)
    table = lsh_bloom.BloomTable(20, 0.1, band_size=2, fname=path)
    table.insert([3, 4])
    table.sync()
    return [path.read_bytes()]


def read_band_filter(path: Path) -> None:
    lsh_bloom.BloomTable(20, 0.1, band_size=2, fname=path).query([3, 4])


def manifest(
    record: Manifest, *values: dict[str, Any]
) -> Callable[[Path], list[bytes]]:
    return lambda _: [record.pack(*values)]


def valid_options(_: Path) -> list[bytes]:
    return [
        b'{"options": {"threshold": 0.8, "bands": 20, "keep": "first"},'
        b' "reading": {"column": "text", "id_column": null, "max_row_bytes": 9}}'
    ]


OWN: list[Kind] = [
    Kind(golden("*integers.lsh", "*strings.lsh"), ask_any, "index.lsh"),
    Kind(golden("prefix-*.lsh"), lambda path: read_sets(path), "sets.lsh"),
    Kind(valid_clusters, lambda path: read_clusters(str(path)), "clusters.parquet"),
    Kind(valid_run, read_run, "sorted"),
    Kind(valid_task("data"), read_task, "task.data"),
    Kind(valid_task("json"), read_task, "task.json"),
    Kind(valid_stage_index, read_stage_index, "band.index"),
    Kind(
        manifest(RECORD, {"shards": 2, "build": "0123456789abcdef"}),
        lambda path: read_record(path.parent),
        "shards.json",
    ),
    Kind(
        manifest(
            PLAN,
            {"shards": 2, "build": "0123456789abcdef", "on_duplicate": "error"},
            {"num_perm": 8, "bands": 3, "rows_per_band": 2},
        ),
        read_shard_plan,
        "given.json",
    ),
    Kind(
        valid_options,
        lambda path: read_options(str(path.parent / "t.jsonl")),
        "t.jsonl.options.json",
    ),
    Kind(valid_plan, read_plan_of_stages, PLAN_FILE),
    Kind(valid_hashes, read_hashes, "hashes.csv"),
    Kind(valid_filters, read_filters, lsh_bloom.NAME),
    Kind(valid_band_filter, read_band_filter, "table.bloom"),
]


def own_seeds(folder: Path) -> list[bytes]:
    return [
        bytes([number | choice]) + data
        for number, kind in enumerate(OWN)
        for data in kind.valid(folder)
        for choice in (0, PASS)
    ]


def damaged_own(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """Change a file, mostly with pieces of others of its kind."""
    alike = [other[1:] for other in others if other[:1] == data[:1]]
    choice = bytes([data[0] ^ PASS * (chance.random() < 0.1)])
    return choice + damaged(data[1:], alike, chance)


def try_own(data: bytes, folder: Path) -> None:
    if not data:
        return
    kind = OWN[(data[0] & ~PASS) % len(OWN)]
    path = folder / kind.name
    path.write_bytes(data[1:])
    try:
        if data[0] & PASS:
            with agreeing_checksums():
                kind.read(path)
        else:
            kind.read(path)
    except (FormatError, OSError, ValueError, OverflowError):
        # A FormatError names the file; a file whose checksums are made to agree may ask for any memory.
        pass
    except MemoryError:
        if not data[0] & PASS:
            raise


# ---- genomes ----


def signature_seeds(folder: Path) -> list[bytes]:
    sequences = ["ACGTTGCAAC" * 20, "TTGACCATGA" * 30]
    files = []
    for options in ({"scaled": 2}, {"bottom": 20}):
        sketches = sketch(sequences, names=["one", "é"], k=21, **options)
        for name in ("a.sig", "a.sig.gz"):
            path = folder / name
            write_signatures(path, sketches, overwrite=True)
            files.append(path.read_bytes())
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("signatures/a.sig.gz", files[-1])
        files.append(sink.getvalue())
    return files


def try_signatures(data: bytes, folder: Path) -> None:
    path = folder / "a.sig"
    path.write_bytes(data)
    try:
        read_signatures(path, k=21, max_signature="1M", max_unpacked="4M")
    except FormatError as error:
        if str(path) not in str(error):
            raise
    except OSError:
        pass


def sequence_seeds(_: Path) -> list[bytes]:
    fasta = b">one two\nACGTTGCA\nacgtnnACGT\n>three\r\nTTGACC\r\n"
    fastq = b"@one\nACGTTGCA\n+\nIIIIIIII\n@two\nTTGA\n+two\n@@@@\n"
    packed = [gzip.compress(fasta, mtime=0), gzip.compress(fastq, mtime=0)]
    return [
        bytes([number]) + each for number, each in enumerate([fasta, fastq, *packed])
    ]


def try_sequences(data: bytes, folder: Path) -> None:
    if not data:
        return
    path = folder / ("a.fa.gz" if data[0] & 2 else "a.fa")
    path.write_bytes(data[1:])
    on_error = "skip" if data[0] & 4 else "stop"
    try:
        sketch_files(
            [path],
            k=3,
            scaled=1,
            records=bool(data[0] & 1),
            on_error=on_error,
            threads=1,
        )
    except DataError as error:
        if error.path != str(path):
            raise
    except ValueError:
        pass


# ---- images ----

IMAGE_FORMATS = ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "ICO"]


def image_seeds(_: Path) -> list[bytes]:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (17, 20, 4), dtype=np.uint8)
    files = []
    for kind in IMAGE_FORMATS:
        for mode in ("RGB", "L", "P", "RGBA"):
            sink = io.BytesIO()
            image = Image.fromarray(pixels).convert(mode)
            try:
                image.save(sink, kind)
            except OSError:  # not with this mode
                continue
            files.append(sink.getvalue())
    return files


def try_image(data: bytes, folder: Path) -> None:
    path = folder / "image"
    path.write_bytes(data)
    with quiet_decoder(1 << 20):
        for stored in (False, True):
            with suppress(ImageError):
                decode(str(path), max_pixels=1 << 20, stored=stored)
