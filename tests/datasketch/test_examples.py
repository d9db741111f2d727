"""What datasketch's users write runs with only the import changed.

Each example is a small program for one part of datasketch's public face, run with each library that is installed, and
prints what stands below it. Its first line, which is put before it, is the one that changes.
"""

import contextlib
import importlib.util
import io
import re

import pytest

EXAMPLES = {
    "sets": (
        """
first = MinHash(num_perm=256)
second = MinHash(num_perm=256)
for word in "a sketch of one set is small and says how much two sets share".split():
    first.update(word.encode("utf8"))
words = "a sketch of one set is small and tells how alike two sets are".split()
second.update_batch(word.encode("utf8") for word in words)
print("estimated", first.jaccard(second))
print("words", round(first.count(), 1))
first.merge(second)
print("after merge", first.jaccard(second), len(first), first.is_empty())
""",
        """
estimated 0.625
words 13.6
after merge 0.828125 256 False
""",
    ),
    "a union, a copy, bulk": (
        """
rows = [[b"red", b"green"], [b"green", b"blue"], [b"blue", b"red"]]
red, green, blue = MinHash.bulk(rows, num_perm=64)
everything = MinHash.union(red, green, blue)
print(everything == MinHash.union(red, green), everything.jaccard(red))
spare = everything.copy()
spare.clear()
print(spare.is_empty(), everything.is_empty())
for sketch in MinHash.generator(rows, num_perm=64, seed=7):
    print(sketch.seed, sketch.hashvalues[:4].tolist())
""",
        """
True 0.640625
True False
7 [310858528, 334165144, 2452138600, 192706646]
7 [2057647521, 1368238255, 2220486888, 121840086]
7 [310858528, 334165144, 2220486888, 121840086]
""",
    ),
    "a hash function of one's own": (
        """
import zlib

sketch = MinHash(num_perm=32, hashfunc=zlib.crc32)
other = MinHash(num_perm=32, hashfunc=zlib.crc32)
sketch.update_batch([b"north", b"east", b"south"])
other.update_batch([b"north", b"east", b"west"])
print(sketch.jaccard(other), sketch.hashfunc(b"north"))
""",
        """
0.4375 3693752514
""",
    ),
    "lean sketches and their bytes": (
        """
import pickle

sketch = MinHash(num_perm=16, seed=3)
sketch.update(b"kept for years")
lean = LeanMinHash(sketch)
room = bytearray(lean.bytesize("<"))
lean.serialize(room, "<")
print(len(room), room[:20].hex())
again = LeanMinHash.deserialize(room, "<")
print(again == lean, again.jaccard(sketch), pickle.loads(pickle.dumps(lean)) == lean)
print(len({lean, again}))
restored = MinHash(seed=again.seed, hashvalues=again.hashvalues, scheme=again.scheme)
restored.update(b"and added to")
print(restored.jaccard(sketch))
""",
        """
77 0300000000000000f0ffffff01e14ee235c895c0
True 1.0 True
1
0.5625
""",
    ),
    "a few bits a slot": (
        """
one, two = MinHash(num_perm=512), MinHash(num_perm=512)
one.update_batch(str(n).encode() for n in range(0, 300))
two.update_batch(str(n).encode() for n in range(100, 400))
small, other = bBitMinHash(one, b=2), bBitMinHash(two, b=2, r=0.0)
print(round(small.jaccard(other), 4), one.jaccard(two), small.bytesize())
""",
        """
0.5156 0.501953125 150
""",
    ),
    "weights": (
        """
import numpy as np

generator = WeightedMinHashGenerator(dim=6, sample_size=256, seed=12)
one = generator.minhash([1, 3, 4, 5, 6, 7])
two = generator.minhash(np.array([2, 3, 4, 3, 7, 1]))
print(round(one.jaccard(two), 4), one.hashvalues.shape, len(two))
many = generator.minhash_many(np.array([[1, 3, 4, 5, 6, 7], [0, 0, 0, 0, 0, 0]]))
print(type(many[0]).__name__, many[1])
index = WeightedMinHashLSH(threshold=0.4, num_perm=256)
index.insert("one", one)
print(index.query(two))
""",
        """
0.6328 (256, 2) 256
WeightedMinHash None
['one']
""",
    ),
    "an index": (
        """
def sketch(text):
    found = MinHash(num_perm=128)
    found.update_batch(word.encode() for word in text.split())
    return found

texts = {
    "first": "the cat sat on the mat and looked at the dog by the door",
    "second": "the cat sat on the mat and looked at the bird by the door",
    "third": "nothing of that sort has ever been seen in this house",
}
index = MinHashLSH(threshold=0.5, num_perm=128)
for key, text in texts.items():
    index.insert(key, sketch(text))
print(sorted(index.query(sketch(texts["first"]))), "first" in index, index.is_empty())
index.remove("first")
print(index.query(sketch(texts["first"])), "first" in index)
try:
    index.insert("second", sketch("another"))
except ValueError:
    print("there already")
with index.insertion_session() as session:
    session.insert("first", sketch(texts["first"]))
print(len(index.get_counts()) == index.b, sorted(index.keys))
""",
        """
['first', 'second'] True False
['second'] False
there already
True ['first', 'second', 'third']
""",
    ),
    "an index of a stated shape": (
        """
index = MinHashLSH(num_perm=120, params=(20, 6), storage_config={"type": "dict"}, prepickle=True)
print(index.b, index.r)
sketch = MinHash(num_perm=120)
sketch.update(b"x")
index.insert(("any", "tuple"), sketch)
index.add_to_query_buffer(sketch)
print(index.collect_query_buffer(), index.query(sketch))
other = MinHashLSH(num_perm=120, params=(20, 6), prepickle=True)
other.merge(index)
print(("any", "tuple") in other)
""",
        """
20 6
[('any', 'tuple')] [('any', 'tuple')]
True
""",
    ),
    "the nearest": (
        """
def sketch(first, last):
    found = MinHash(num_perm=128)
    found.update_batch(str(n).encode() for n in range(first, last))
    return found

forest = MinHashLSHForest(num_perm=128, l=8)
for start in (0, 10, 40, 500):
    forest.add(f"from {start}", sketch(start, start + 100))
forest.index()
print(sorted(forest.query(sketch(1, 101), 2)), "from 10" in forest)
print(forest.get_minhash_hashvalues("from 10").tolist() == sketch(10, 110).hashvalues.tolist())
""",
        """
['from 0', 'from 10'] True
True
""",
    ),
    "what contains a set": (
        """
def sketch(words):
    found = MinHash(num_perm=128)
    found.update_batch(word.encode() for word in words)
    return found

small = {"apple", "pear", "plum", "cherry", "fig"}
large = small | {f"fruit {n}" for n in range(2)}
stones = {f"stone {n}" for n in range(10)}
ensemble = MinHashLSHEnsemble(threshold=0.8, num_perm=128, num_part=4, m=4)
sets = {"small": small, "large": large, "stones": stones}
ensemble.index([(name, sketch(words), len(words)) for name, words in sets.items()])
print(sorted(ensemble.query(sketch(small), len(small))), "stones" in ensemble)
""",
        """
['large', 'small'] True
""",
    ),
    "how many": (
        """
counter, other = HyperLogLog(p=12), HyperLogLog(p=12)
precise = HyperLogLogPlusPlus(p=12)
for n in range(5000):
    counter.update(str(n).encode())
    precise.update(str(n).encode())
    other.update(str(n + 2500).encode())
print(round(counter.count()), abs(precise.count() - 5000) < 150)
counter.merge(other)
print(round(counter.count()), counter == HyperLogLog.union(counter, other))
room = bytearray(counter.bytesize())
counter.serialize(room)
print(len(room), HyperLogLog.deserialize(room).count() == counter.count())
""",
        """
4984 True
7446 True
4097 True
""",
    ),
    "the old scheme": (
        """
old = MinHash(num_perm=4, seed=1, scheme="legacy")
old.update(b"since 2015")
print(old.hashvalues.tolist(), old.hashvalues.dtype)
wide = MinHash(num_perm=4, scheme="affine64")
wide.update(b"since 2015")
try:
    old.jaccard(wide)
except ValueError:
    print("not to be compared")
""",
        """
[950344260, 3965977488, 2090232993, 3228500300] uint64
not to be compared
""",
    ),
}

LIBRARIES = ["lshfast", "lshfast.datasketch", "datasketch"]
NAMES = [
    "MinHash",
    "LeanMinHash",
    "bBitMinHash",
    "WeightedMinHashGenerator",
    "MinHashLSH",
    "MinHashLSHForest",
    "MinHashLSHEnsemble",
    "WeightedMinHashLSH",
    "HyperLogLog",
    "HyperLogLogPlusPlus",
]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("example", EXAMPLES)
def test_only_the_import_changes(example, library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    program, printed = EXAMPLES[example]
    names = ", ".join(
        name for name in NAMES if re.search(rf"\b{name}\(|\b{name}\.", program)
    )
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(f"from {library} import {names}\n{program}", {})
    assert out.getvalue() == printed.removeprefix("\n")
