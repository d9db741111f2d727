"""Writes or reads what sketches and indexes leave behind, for versions.sh: `write FOLDER` and `read FOLDER`.

A folder holds the pickles, bytes and files that one Python wrote. All that is read has to be equal to what the reading
Python makes itself, and to answer as that does.
"""

import pickle
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from lshfast import (
    DistinctCounter,
    LSHIndex,
    MinHasher,
    SimHasher,
    TokenSets,
    WeightedMinHasher,
    WeightedSets,
    datasketch,
)
from lshfast.sketch import BBits, OnePermutation, SignSketcher
from lshfast.sketch.cardinality import Registers, registers_from_bytes

SCHEMES = ("affine32", "affine64", "legacy", "classic", "fast")
WEIGHTS = (1, 0, 2, 0, 3, 4, 0.5, 7)
BLOOM = {"threshold": 0.5, "num_perm": 64, "n": 50, "fp": 0.001}


def words(first, last):
    return [str(n).encode() for n in range(first, last)]


def product(data):
    """A hash function of the user's own."""
    return int.from_bytes(data, "little") * 2654435761 & 0xFFFFFFFF


def bloom(**options):
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RuntimeWarning
        )  # of a filter that is in memory only
        return datasketch.MinHashLSHBloom(**BLOOM, **options)


def sketches():
    return datasketch.MinHash.bulk([words(n, n + 40) for n in range(20)], num_perm=64)


def weighted(count):
    generator = datasketch.WeightedMinHashGenerator(8, 16)
    return generator.minhash_many(np.array(WEIGHTS) + np.arange(count)[:, None])


def indexes():
    made = {
        "index": datasketch.MinHashLSH(0.5, 64),
        "prepickle": datasketch.MinHashLSH(0.5, 64, prepickle=True),
    }
    made["forest"], made["ensemble"] = (
        datasketch.MinHashLSHForest(64),
        datasketch.MinHashLSHEnsemble(0.5, 64, 2, 4),
    )
    made["bloom"] = bloom()
    for n, sketch in enumerate(sketches()):
        made["index"].insert((n, "é"), sketch)
        made["prepickle"].insert(f"é {n}", sketch)
        made["forest"].add(n, sketch)
        made["bloom"].insert(sketch)
    made["forest"].index()
    made["ensemble"].index([(n, sketch, 40) for n, sketch in enumerate(sketches())])
    made["weighted index"] = datasketch.WeightedMinHashLSH(0.5, 16)
    made["weighted forest"] = datasketch.WeightedMinHashLSHForest(16, 4)
    for n, sketch in enumerate(weighted(9)):
        made["weighted index"].insert(n, sketch)
        made["weighted forest"].add(n, sketch)
    made["weighted forest"].index()
    return made


def arrays(first):
    """Return what the library's own sketchers make of sets that begin with token `first`; the last is empty."""
    sets = TokenSets.from_sets([*(words(first + n, 40 + 2 * n) for n in range(20)), []])
    weights = WeightedSets(
        sets.offsets, sets.tokens, (np.arange(len(sets.tokens)) % 30 + 1) / 7
    )
    vectors = np.arange(first, first + 24).reshape(3, 8) % 7 - 3
    made = {"sets": sets, "weighted sets": weights}
    for maker in (
        *(
            MinHasher(64),
            MinHasher(64, "classic", seed=7),
            OnePermutation(64),
            BBits(2, MinHasher(64)),
        ),
        *(SimHasher(128), DistinctCounter(6, seed=7)),
    ):
        made[repr(maker)] = maker.sketch(sets)
    for maker in (WeightedMinHasher(64), WeightedMinHasher(16, "icws")):
        made[repr(maker)] = maker.sketch(weights)
    made["counters"] = SimHasher(64).counters(sets)
    made["signs"] = SignSketcher(8, 64).sketch(vectors)
    return made


def made(first=0):
    """Return all that can be pickled, by name, as sketches of tokens from `first` on."""
    made = {}
    for scheme in SCHEMES:
        sketch = made[f"sketch {scheme}"] = datasketch.MinHash(
            64, seed=5, scheme=scheme
        )
        sketch.update_batch(words(first, 50))
        made[f"lean {scheme}"] = datasketch.LeanMinHash(sketch)
        made[f"b-bit {scheme}"] = datasketch.bBitMinHash(sketch, 3)
    made["hashfunc"] = datasketch.MinHash(16, hashfunc=product)
    made["hashfunc"].update_batch(words(first, 9))
    made["generator"] = datasketch.WeightedMinHashGenerator(8, 16)
    made["weighted"] = weighted(first + 1)[-1]
    for kind in (datasketch.HyperLogLog, datasketch.HyperLogLogPlusPlus):
        for name, options in (
            (kind.__name__, {}),
            (f"{kind.__name__} hashfunc", {"hashfunc": product}),
        ):
            made[name] = kind(7, **options)
            made[name].update_batch(words(first, 1000))
    return made | arrays(first) | indexes()


def others():
    """Return what all of these are asked about."""
    plain, weights = sketches()[7], weighted(3)[2]
    return made(1) | {
        name: weights if name.startswith("weighted") else plain for name in indexes()
    }


def same(one, other):
    """Tell whether two things are equal; indexes do not compare, and only answer."""
    if type(one) is not type(other):
        return False
    match one:
        case np.ndarray():  # and who made them
            return (
                one.dtype == other.dtype
                and np.array_equal(one, other)
                and vars(one) == vars(other)
            )
        case (
            datasketch.MinHash()
            | datasketch.bBitMinHash()
            | datasketch.WeightedMinHash()
        ):
            return one == other
        case datasketch.HyperLogLog():
            return one == other and one.hashfunc is other.hashfunc
        case datasketch.WeightedMinHashGenerator():
            return all(
                np.array_equal(getattr(one, name), getattr(other, name))
                for name in ("rs", "ln_cs", "betas")
            )
        case TokenSets() | WeightedSets():
            return all(
                np.array_equal(getattr(one, name), getattr(other, name))
                for name in one.__slots__
            )
    return True


def answer(one, other):
    """Return what is computed from a thing and another, or what an index answers to a sketch; no numbers of numpy."""
    match one:
        case datasketch.MinHash():
            return float(one.jaccard(other)), float(one.count())
        case datasketch.bBitMinHash() | datasketch.WeightedMinHash():
            return float(one.jaccard(other))
        case datasketch.HyperLogLog():
            return float(one.count()), float(type(one).union(one, other).count())
        case datasketch.WeightedMinHashGenerator():
            return one.minhash(WEIGHTS).digest().tolist()
        case datasketch.MinHashLSH():
            return sorted(one.query(other))
        case datasketch.MinHashLSHForest():
            return one.query(other, 20)
        case datasketch.MinHashLSHEnsemble():
            return sorted(one.query(other, 40))
        case datasketch.MinHashLSHBloom():
            return one.query(other), one.query(
                datasketch.MinHash.bulk([words(900, 940)], num_perm=64)[0]
            )
        case TokenSets():
            return one.counts.tolist()
        case WeightedSets():
            return one.totals.tolist()
        case Registers():
            return one.counter.count(one).tolist(), one.counter.count(
                one.counter.merge(one, other)
            ).tolist()
        case np.ndarray() if one.dtype == np.int64:
            return one.hasher.similarity(
                one.hasher.codes_of(one), other.hasher.codes_of(other)
            ).tolist()
        case np.ndarray():
            return one.hasher.similarity(one, other).tolist()
    raise TypeError(type(one).__name__)


def raw():
    """Return the bytes that are the same everywhere."""
    found = {}
    for name, one in made().items():
        match one:
            case datasketch.LeanMinHash() | datasketch.HyperLogLog():
                room = bytearray(one.bytesize())
                one.serialize(room)
                found[name] = bytes(room)
            case datasketch.bBitMinHash():
                found[name] = bytes(one.__getstate__())
            case datasketch.MinHash() | datasketch.WeightedMinHash():
                found[name] = one.digest().tobytes()
            case Registers():
                found[name] = one.counter.to_bytes(one)
            case np.ndarray():
                found[name] = one.tobytes()
    return found


def check_raw(found):
    """Read those bytes that have a format of their own."""
    for name, one in made().items():
        match one:
            case datasketch.LeanMinHash():
                read = type(one).deserialize(found[name])
            case datasketch.HyperLogLog():
                read = type(one).deserialize(found[name], one.hashfunc)
            case datasketch.bBitMinHash():
                read = type(one).__new__(type(one))
                read.__setstate__(found[name])
            case Registers():
                read = registers_from_bytes(found[name])
            case _:
                continue
        assert same(read, one), name


def write_files(folder):
    """Write the files of indexes, which are the same everywhere."""
    signatures = MinHasher(64).sketch(arrays(0)["sets"])
    for name, keys in (
        ("numbers", list(range(21))),
        ("names", [f"é {n}" for n in range(21)]),
    ):
        index = LSHIndex(0.5, 64, shingles="word:5")
        index.insert(keys, signatures)
        index.save(folder / f"{name}.lsh")
    seen = bloom(save_dir=folder)
    for sketch in sketches():
        seen.insert(sketch)
    seen.close()


def answers_of_files(folder):
    found = []
    for name in ("numbers", "names"):
        with LSHIndex.open(folder / f"{name}.lsh") as index:
            index.verify()
            queries = MinHasher(64).sketch(arrays(1)["sets"])
            found += [
                list(index),
                list(index.query(queries)),
                list(index.query(queries, k=3)),
                list(index.pairs()),
            ]
    seen = bloom(save_dir=folder)
    found.append(answer(seen, sketches()[7]))
    seen.close()
    return found


def write(folder):
    folder.mkdir(parents=True)
    things, asked = made(), others()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        (folder / f"made.{protocol}").write_bytes(pickle.dumps(things, protocol))
    answers = {name: answer(one, asked[name]) for name, one in things.items()}
    (folder / "files").mkdir()
    write_files(folder / "files")
    (folder / "computed").write_bytes(
        pickle.dumps((raw(), answers, answers_of_files(folder / "files")))
    )
    (folder / "numpy").write_text(np.__version__)


def numpy_reads(writer):
    """Tell whether this numpy reads pickles of arrays of another's version: those of 2.0 need 1.26.1 or later."""
    return version(writer) < (2,) or version(np.__version__) >= (1, 26, 1)


def version(text):
    return tuple(int(part) for part in re.match(r"(\d+)\.(\d+)\.(\d+)", text).groups())


def read(folder):
    expected, asked = made(), others()
    bytes_written, answers, answers_from_files = pickle.loads(
        (folder / "computed").read_bytes()
    )
    writer = (folder / "numpy").read_text()
    if not numpy_reads(writer):
        print(
            f"left out: the pickles in {folder.name}, which numpy {writer} wrote and {np.__version__} cannot read"
        )
    for file in sorted(folder.glob("made.*")) if numpy_reads(writer) else ():
        found = pickle.loads(file.read_bytes())
        assert found.keys() == expected.keys() == answers.keys()
        for name, one in expected.items():
            assert same(found[name], one), (file, name)
            computed = (
                answer(one, asked[name]),
                answer(found[name], asked[name]),
                answers[name],
            )
            assert computed[0] == computed[1] == computed[2], (file, name, computed)
        assert found["hashfunc"].hashfunc(b"ab") == product(b"ab"), file
    own = raw()
    assert own.keys() == bytes_written.keys()
    differ = [name for name in own if own[name] != bytes_written[name]]
    assert not differ, (folder, differ)
    check_raw(bytes_written)
    with tempfile.TemporaryDirectory() as temporary:
        write_files(Path(temporary))
        for file in sorted(Path(temporary).iterdir()):
            assert file.read_bytes() == (folder / "files" / file.name).read_bytes(), (
                folder,
                file.name,
            )
        assert (
            answers_of_files(folder / "files")
            == answers_of_files(Path(temporary))
            == answers_from_files
        ), folder


if __name__ == "__main__":
    from tests import (
        cross_version,
    )  # so that `product` is pickled under a name that another process knows

    action, folder = sys.argv[1:]
    getattr(cross_version, action)(Path(folder))
