"""Writes or reads what sketches leave behind, for cross_version.sh: `write FOLDER` and `read FOLDER`.

A folder holds the pickles and bytes that one Python wrote. All that is read has to be equal to what the reading Python
makes itself.
"""

import pickle
import sys
from pathlib import Path

import numpy as np

from lshfast import datasketch

SCHEMES = ("affine32", "affine64", "legacy", "classic", "fast")


def words(first, last):
    return [str(n).encode() for n in range(first, last)]


def half(data):
    """A hash function of the user's own."""
    return int.from_bytes(data, "little") * 40503 & 0xFFFF


def made():
    """Return everything that can be pickled, by name."""
    made = {}
    for scheme in SCHEMES:
        sketch = made[f"sketch {scheme}"] = datasketch.MinHash(64, seed=5, scheme=scheme)
        sketch.update_batch(words(0, 50))
        made[f"lean {scheme}"] = datasketch.LeanMinHash(sketch)
        made[f"b-bit {scheme}"] = datasketch.bBitMinHash(sketch, 3)
    made["hashfunc"] = datasketch.MinHash(16, hashfunc=half)
    made["hashfunc"].update_batch(words(0, 9))
    generator = made["generator"] = datasketch.WeightedMinHashGenerator(8, 16)
    made["weighted"] = generator.minhash([1, 0, 2, 0, 3, 4, 0.5, 7])
    for kind in (datasketch.HyperLogLog, datasketch.HyperLogLogPlusPlus):
        counter = made[kind.__name__] = kind(7)
        for word in words(0, 300):
            counter.update(word)
    return made


def indexes():
    """Return indexes, which do not compare, and what each is asked."""
    sketches = {n: datasketch.MinHash.bulk([words(n, n + 40)], num_perm=64)[0] for n in range(20)}
    index = datasketch.MinHashLSH(0.5, 64)
    forest = datasketch.MinHashLSHForest(64)
    ensemble = datasketch.MinHashLSHEnsemble(0.5, 64, 2, 4)
    for n, sketch in sketches.items():
        index.insert((n, "é"), sketch)
        forest.add(n, sketch)
    forest.index()
    ensemble.index([(n, sketch, 40) for n, sketch in sketches.items()])
    return {"index": index, "forest": forest, "ensemble": ensemble}, sketches[7]


def answers(held, sketch):
    """Return what the indexes answer."""
    return {
        "index": sorted(held["index"].query(sketch)),
        "forest": sorted(held["forest"].query(sketch, 20)),
        "ensemble": sorted(held["ensemble"].query(sketch, 40)),
    }


def raw():
    """Return the bytes of all that has a format of its own."""
    found = {}
    for name, one in made().items():
        if hasattr(one, "serialize"):
            room = bytearray(one.bytesize())
            one.serialize(room)
            found[name] = bytes(room)
        if name.startswith("b-bit"):
            found[name] = bytes(one.__getstate__())
    return found


def same(one, other):
    if isinstance(one, datasketch.WeightedMinHashGenerator):
        return one.minhash([1] * 8) == other.minhash([1] * 8) and np.array_equal(one.rs, other.rs)
    return one == other


def write(folder):
    folder.mkdir(parents=True)
    held, _ = indexes()
    for protocol in range(2, 6):
        (folder / f"made.{protocol}").write_bytes(pickle.dumps((made(), held), protocol))
    (folder / "raw").write_bytes(pickle.dumps(raw()))


def read(folder):
    expected, (own, sketch) = made(), indexes()
    for file in sorted(folder.glob("made.*")):
        found, held = pickle.loads(file.read_bytes())
        assert found.keys() == expected.keys()
        differ = [name for name, one in expected.items() if not same(one, found[name])]
        assert not differ, (file, differ)
        assert found["hashfunc"].hashfunc(b"ab") == half(b"ab"), file
        assert answers(held, sketch) == answers(own, sketch), file
    assert pickle.loads((folder / "raw").read_bytes()) == raw(), folder


if __name__ == "__main__":
    from tests import cross_version  # so that `half` is pickled under a name that another process knows

    action, folder = sys.argv[1:]
    getattr(cross_version, action)(Path(folder))
