"""Where lshfast.datasketch differs from datasketch 2.0 on purpose: the data of docs/reference/datasketch.md's table.

Each entry names the cases of tests/datasketch/conformance that show it, as "group | name" with * for anything, and
each of them has to differ. `python -m tests.datasketch.differences` prints the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


def matches(pattern: str, case: str) -> bool:
    """Tell whether a case is one of a pattern."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), case) is not None


@dataclass(frozen=True)
class Difference:
    """One difference. Where `peer` or `ours` begins with "raises X", each of its cases has to end so."""

    call: str
    peer: str
    ours: str
    why: str
    cases: tuple[str, ...]

    def covers(self, case: str) -> bool:
        """Tell whether a case shows it."""
        return any(matches(pattern, case) for pattern in self.cases)


DIFFERENCES = (
    # ---- bytes ----
    Difference(
        "an unknown byte order of a LeanMinHash's bytes",
        "returns a size, or raises ValueError about something else",
        "raises struct.error that names the valid byte orders",
        "The error says what is wrong.",
        (
            "LeanMinHash bytes | unknown byte order",
            "LeanMinHash bytes | unknown byte order, read",
        ),
    ),
    # ---- sketches that cannot be compared ----
    Difference(
        "sketches of different seeds in one index, or a query of another seed",
        "accepted; similar sets are not found",
        "raises ValueError",
        "Values of different seeds cannot be compared. The answer would be wrong, and nothing would say so.",
        (
            "MinHashLSH | * of another seed",
            "MinHashLSH as a whole | merge of another seed",
            "MinHashLSHForest | * of another seed",
            "MinHashLSHEnsemble | entries of several seeds",
            "MinHashLSHEnsemble | query of another seed",
            "MinHashLSHBloom | * of another seed",
        ),
    ),
    Difference(
        "weighted and plain sketches in one index",
        "accepted",
        "raises ValueError",
        "They never match.",
        ("MinHashLSH | weighted beside others",),
    ),
    Difference(
        "sketches with their own `permutations` (not those of the seed) compared with other sketches as LeanMinHash or "
        "bBitMinHash, or put into one index or forest with them",
        "accepted; the answer is wrong",
        "raises ValueError",
        "As for seeds. (The serialized bytes do not contain the permutations. A sketch read from bytes is assumed to "
        "have those of its seed.)",
        ("given permutations | *",),
    ),
    Difference(
        "an object that is not a sketch, given to an index",
        "AttributeError, or ValueError for its length; accepted if it has hash values and a length",
        "raises TypeError",
        "A value of the wrong kind raises TypeError in all methods.",
        (
            "rare | looks like a sketch",
            "MinHashLSH | * of text",
            "MinHashLSH | * of text of the length",
            "MinHashLSH | * of an array",
            "MinHashLSH | * of a list",
            "MinHashLSHForest | * of text",
            "MinHashLSHForest | * of an array",
            "MinHashLSHEnsemble | entries of texts",
            "MinHashLSHEnsemble | query of text",
            "MinHashLSHBloom | * of text",
        ),
    ),
    Difference(
        "`MinHash.union(sketch, None)`",
        "raises AttributeError",
        "raises ValueError",
        "As for a sketch of another scheme.",
        ("MinHash compared | union of None",),
    ),
    # ---- parameters ----
    Difference(
        "a threshold of 1.0, and other thresholds for which one band is best",
        "raises ValueError",
        "accepted: one band of all slots, or of the best number of slots",
        "Users often want to find exact copies.",
        (
            "MinHashLSH() | bands for 0.99, *",
            "MinHashLSH() | bands for 0.9*, 16 slots, weights (0.5, 0.5)",
            "MinHashLSH() | bands for *, all against extras",
            "MinHashLSH() | threshold 1.0",
            "MinHashLSH() | threshold 1",
            "MinHashLSH() | params (1, 16)",
            "MinHashLSHBloom | threshold 1.0",
            "MinHashLSHBloom | params (1, 16)",
        ),
    ),
    Difference(
        "a threshold of True",
        "accepted as 1",
        "raises TypeError",
        "A bool is not a number.",
        (
            "MinHashLSH() | threshold True",
            "MinHashLSHBloom | threshold True",
            "MinHashLSHEnsemble | threshold True",
        ),
    ),
    Difference(
        "`params` with r below 1",
        "accepted; all bands are the same, or the last slots are not used",
        "raises ValueError",
        "The value has no sensible meaning.",
        (
            "MinHashLSH() | params (2, 0)",
            "MinHashLSH() | params (2, -1)",
            "MinHashLSHBloom | params (2, 0)",
            "MinHashLSHBloom | params (2, -1)",
        ),
    ),
    Difference(
        "`params` that are not integers",
        "accepted; the first insert fails",
        "raises TypeError",
        "The error is raised where the mistake was made.",
        ("MinHashLSH() | params (2, 2.5)", "MinHashLSHBloom | params (2, 2.5)"),
    ),
    Difference(
        "a threshold of NaN for an ensemble",
        "raises OverflowError",
        "raises ValueError",
        "It is out of range.",
        ("MinHashLSHEnsemble | threshold nan",),
    ),
    Difference(
        "`fp` of NaN",
        "accepted",
        "raises ValueError",
        "It is out of range.",
        ("MinHashLSHBloom | fp nan",),
    ),
    Difference(
        "a seed that is not an integer: None, a list, a bool",
        "accepted; None draws the permutations at random",
        "raises TypeError",
        "Sketches of random permutations cannot be compared with each other, and only wrong answers would show it.",
        (
            "MinHash() | seed True",
            "MinHash() | seed None",
            "MinHash() | seed a list",
            "WeightedMinHashGenerator | seed True",
        ),
    ),
    Difference(
        "an unknown `gpu_mode`",
        "accepted as `disable`",
        "raises ValueError",
        "It is a mistake. (lshfast uses no GPU. `always` raises RuntimeError, as datasketch does without a GPU.)",
        ("MinHash() | gpu, another word",),
    ),
    Difference(
        "`buffer_size` below 1",
        "accepted",
        "raises ValueError",
        "The value has no sensible meaning.",
        ("MinHashLSH sessions | buffer size 0", "MinHashLSH sessions | buffer size -1"),
    ),
    Difference(
        "a `buffer_size` that is not an integer",
        "accepted",
        "raises TypeError",
        "It is a number of entries.",
        (
            "rare | buffer size of text",
            "rare | buffer size of None",
        ),
    ),
    Difference(
        "weights whose sum is 1 except for rounding",
        "raises ValueError",
        "accepted",
        "Numbers such as 0.1 are rounded in float64, and so are their sums.",
        ("rare | weights of nearly 1",),
    ),
    Difference(
        "the bands for `weights=(0, 1)`, where only false negatives count",
        "the first of the choices that are best up to rounding",
        "sometimes another of these choices, with one band more or less",
        "The choices are equally good.",
        ("rare | bands, all against misses",),
    ),
    Difference(
        "an `insert` that fails",
        "sets the scheme of an empty index",
        "changes nothing",
        "Nothing was inserted.",
        ("rare | insert that fails",),
    ),
    Difference(
        "`MinHashLSHEnsemble.index` that fails",
        "may keep some entries",
        "keeps none",
        "Nothing was indexed.",
        ("rare | index of an ensemble that fails",),
    ),
    Difference(
        "`remove` of a key that was inserted twice, with `check_duplication=False` and two sketches",
        "leaves the key in the buckets of the second sketch",
        "removes the key from all buckets",
        "A removed key must not be found.",
        ("rare | removal of a key inserted twice",),
    ),
    Difference(
        "`hashfunc` of a MinHashLSH in memory",
        "can give two buckets the same name, so that queries find more keys",
        "only names the buckets in `get_counts`",
        "Buckets in memory are not stored under these names.",
        ("rare | hashfunc that maps all to one",),
    ),
    # ---- copies, and what an object is made of ----
    Difference(
        "`copy`, `bulk` and `generator` of a subclass of MinHash; `copy`, `union` and `deserialize` of a subclass of "
        "LeanMinHash",
        "return a MinHash or LeanMinHash without attributes that the program set",
        "return an object of the subclass; the copy of a MinHash keeps the attributes",
        "A copy has the methods and attributes of the original.",
        ("own classes | *",),
    ),
    Difference(
        "`copy.copy` of an index, a forest, an ensemble or an HNSW",
        "shares the entries of the original",
        "has entries of its own",
        "As `copy.deepcopy`. A change of the copy does not change half of the original. The time is proportional to "
        "the number of entries (`python benchmarks/public_methods.py copy.copy`): shared entries would need a lock in "
        "each change.",
        ("copy.copy | *", "HNSW | copy.copy"),
    ),
    Difference(
        "`merge` of an index that has another `prepickle` or `hashfunc`",
        "accepted; its keys or sets are not found",
        "they are found",
        "The data is there.",
        ("rare | merge *",),
    ),
    # ---- more than the peer has ----
    Difference(
        '`scheme="classic"`, `scheme="fast"`',
        "raises ValueError",
        "this library's own signatures of 64 bits",
        "They are faster; see [speed](../coming-from/datasketch.md#how-to-gain-speed).",
        ("MinHash() | scheme classic", "MinHash() | scheme fast"),
    ),
    Difference(
        "`query(..., with_scores=True)`",
        "raises TypeError",
        "returns (key, similarity), the most similar first",
        "Users of datasketch ask for scores and an order.",
        (
            "MinHashLSH | scores",
            "MinHashLSHForest | scores",
            "MinHashLSHEnsemble | scores",
        ),
    ),
    Difference(
        "`LeanMinHash.num_perm`",
        "raises AttributeError",
        "returns the number of slots",
        "A LeanMinHash is a MinHash.",
        ("LeanMinHash | no num_perm",),
    ),
    Difference(
        "`get_minhash_hashvalues` of a weighted sketch",
        "raises ValueError",
        "returns its hash values, shape (k, 2)",
        "The data is there.",
        ("MinHashLSHForest | weighted hash values",),
    ),
    # ---- values ----
    Difference(
        "`hashvalues` and `permutations` of floats",
        "accepted, truncated to integers",
        "raises TypeError",
        "Values that were converted to floats may have lost bits.",
        (
            "MinHash(hashvalues) | floats, *",
            "MinHash(hashvalues) | an array of floats, *",
            "rare | objects that are floats",
            "values set, floats | *",
        ),
    ),
    Difference(
        "`hashvalues` and `permutations` of more dimensions",
        "accepted",
        "TypeError for a list, ValueError for an array",
        "They must have one dimension.",
        (
            "MinHash(hashvalues) | two dimensions",
            "rare | an array of two dimensions",
        ),
    ),
    Difference(
        "a sketch given to an index after its `hashvalues` were set to integers of another dtype",
        "does not match the same values of the scheme's dtype",
        "matches them",
        "The values are equal.",
        ("values set | index",),
    ),
    Difference(
        "`hashvalues` of text, or NaN",
        "raises ValueError",
        "raises TypeError",
        "A value of the wrong kind raises TypeError in all methods.",
        ("MinHash(hashvalues) | text, *", "MinHash(hashvalues) | nan, *"),
    ),
    Difference(
        "`hashvalues` of the `legacy` scheme out of range",
        "accepted, or raises OverflowError",
        "raises ValueError",
        "As for the other schemes.",
        (
            "MinHash(hashvalues) | above *, legacy",
            "MinHash(hashvalues) | a negative, legacy",
            "MinHash(hashvalues) | a negative in an array, legacy",
        ),
    ),
    Difference(
        "writing to the `permutations` array of a MinHash",
        "accepted; the array may belong to other sketches too",
        "raises ValueError",
        "Sketches of one seed share the array. A program may set the attribute to another array.",
        ("permutations that are written to | of a seed",),
    ),
    Difference(
        "`permutations` with one row",
        "raises IndexError",
        "raises ValueError",
        "The error says what is missing.",
        ("MinHash(hashvalues) | permutations of one row",),
    ),
    Difference(
        "a `LeanMinHash` without slots, constructed or deserialized",
        "accepted for the `legacy` scheme",
        "raises ValueError",
        "As for the other schemes.",
        (
            "LeanMinHash | without any values, legacy",
            "LeanMinHash bytes | read no slots, legacy",
        ),
    ),
    Difference(
        "a `hashfunc` that returns text, bytes or a float",
        "accepted if it can be converted to an integer",
        "raises TypeError",
        "It is probably not the intended hash function.",
        (
            "MinHash(hashfunc) | text, affine*",
            "MinHash(hashfunc) | bytes, affine*",
            "MinHash(hashfunc) | a batch with text, *",
            "MinHash(hashfunc) | a float",
        ),
    ),
    Difference(
        "a `hashfunc` that returns a value out of range, `legacy`",
        "raises OverflowError",
        "raises ValueError",
        "As for the other schemes.",
        (
            "MinHash(hashfunc) | 65 bits, legacy",
            "MinHash(hashfunc) | -1, legacy",
            "MinHash(hashfunc) | a batch with 65 bits, legacy",
            "MinHash(hashfunc) | a batch with -1, legacy",
        ),
    ),
    Difference(
        "`LeanMinHash.update_batch`, and so `bulk` and `generator`",
        "AttributeError; no error for an empty batch",
        "raises TypeError",
        "As `update`.",
        (
            "LeanMinHash | no update_batch",
            "LeanMinHash | no update batch of nothing",
            "rare | * of lean ones",
        ),
    ),
    Difference(
        "`MinHash.union` of a LeanMinHash and others",
        "raises AttributeError",
        "returns the union",
        "A LeanMinHash holds all that is needed.",
        ("rare | union, a lean one first",),
    ),
    Difference(
        "`bBitMinHash.jaccard` with r > 0 and b of 3 or more",
        "uses 2 * b in place of 2**b in the probability that bits agree by chance",
        "uses 2**b, as Li and König (2010)",
        "Only this estimate is unbiased. Bytes and values are the same.",
        ("bBitMinHash with r | b 3*", "bBitMinHash with r | b 4*"),
    ),
    Difference(
        "`bBitMinHash` with b = 0, a negative r or an r of NaN",
        "accepted; `jaccard` divides by zero, or its result is meaningless",
        "raises ValueError",
        "The values are out of range.",
        ("bBitMinHash | b 0*", "bBitMinHash | r -0.1", "bBitMinHash | r nan"),
    ),
    # ---- on Redis ----
    Difference(
        "a key given twice to a session on Redis before it is sent",
        "inserted or removed twice",
        "raises ValueError",
        "As in memory.",
        (
            "MinHashLSH on Redis | insertion session key twice",
            "MinHashLSH on Redis | deletion session, key twice",
        ),
    ),
    Difference(
        "keys of text on Redis with `prepickle=False`",
        "`in` finds them, and `remove` removes them",
        "`in` returns False, and `remove` raises ValueError",
        "Only bytes can be inserted.",
        ("MinHashLSH on Redis | not prepickled asked for text",),
    ),
    Difference(
        "`merge` of an index on Redis that has a hashfunc",
        "accepted",
        "raises ValueError",
        "The server does not store the slots of the entries, and this index may have another hashfunc.",
        ("MinHashLSH on Redis | merged into memory with a hashfunc",),
    ),
    # ---- forest, ensemble, Bloom filters ----
    Difference(
        "`MinHashLSHForest.query` with a k that is not an integer",
        "accepted",
        "raises TypeError",
        "It is a number of keys.",
        ("MinHashLSHForest | k nan", "MinHashLSHForest | k 1.5"),
    ),
    Difference(
        "a key added to a MinHashLSHForest after `index`",
        "found after the next one, or by some trees",
        "found at once",
        "Nothing has to be sorted anew.",
        ("rare | added to a forest after index",),
    ),
    Difference(
        "what `MinHashLSHEnsemble.query` finds",
        "sets of which one of b bands of r slots equals that of the query",
        "sets with enough equal slots: at least the recall at no less precision; the likeliest first",
        "A set that reaches the threshold is found at least as often, since all slots are counted. At thresholds above "
        "about 0.7 datasketch finds few of the sets that are larger than the query; here more are found.",
        (
            "MinHashLSHEnsemble | query of 5",
            "MinHashLSHEnsemble | query of 10",
            "MinHashLSHEnsemble | query of 20",
            "MinHashLSHEnsemble | query of 80",
            "MinHashLSHEnsemble | many",
        ),
    ),
    Difference(
        "`optimal_partitions`, and so `lowers`, `uppers` and `indexes` of an ensemble",
        "now and then put the two smallest sizes into one partition where that is not the best",
        "the partitions with the fewest false positives",
        "It is what the function is for.",
        ("parts of an ensemble | partitions, a single size first",),
    ),
    Difference(
        "the list given to `MinHashLSHEnsemble.index`",
        "is sorted in place",
        "stays as it is",
        "The list belongs to the caller.",
        ("MinHashLSHEnsemble | the list stays as it is",),
    ),
    Difference(
        "a list of sets with sizes of 0 or less",
        "accepted (from an iterator it raises ValueError)",
        "raises ValueError",
        "As from an iterator.",
        (
            "MinHashLSHEnsemble | size 0 of a list",
            "MinHashLSHEnsemble | size -1 of a list",
        ),
    ),
    Difference(
        "a size that is not an integer",
        "accepted, or raises ValueError",
        "raises TypeError",
        "It is a number of elements.",
        (
            "MinHashLSHEnsemble | size 'a' of a list",
            "MinHashLSHEnsemble | size 2.5",
            "MinHashLSHEnsemble | query size 'a'",
        ),
    ),
    Difference(
        "a query of size 0 or less",
        "ZeroDivisionError, or an answer",
        "raises ValueError",
        "It is out of range.",
        ("MinHashLSHEnsemble | query size 0", "MinHashLSHEnsemble | query size -1"),
    ),
    Difference(
        "a key twice in an ensemble, with sizes of different partitions",
        "accepted",
        "raises ValueError",
        "As within one partition.",
        ("rare | twice in partitions of an ensemble",),
    ),
    Difference(
        "entries of an ensemble that are not triples",
        "raises IndexError",
        "raises ValueError",
        "As when Python unpacks a tuple of the wrong length.",
        ("MinHashLSHEnsemble | entries of two",),
    ),
    Difference(
        "an ensemble on Redis, opened again under its basename",
        "finds nothing",
        "finds its sets",
        "The bounds of the partitions are stored too. (For entries that datasketch stored, queries raise ValueError.)",
        ("MinHashLSHEnsemble on Redis | opened again",),
    ),
    Difference(
        "two bands in a `MinHashLSHBloom` with the same slots in another order, or with the same sum",
        "are treated as equal",
        "are different",
        "A band is hashed, not summed. The files have a format of lshfast and need no further package.",
        (
            "MinHashLSHBloom | slots in another order",
            "MinHashLSHBloom | slots of an equal sum",
        ),
    ),
    # ---- HNSW ----
    Difference(
        "keys of an `HNSW` that cannot be ordered, at equal distances",
        "raises TypeError",
        "accepted",
        "Keys need only be hashable.",
        ("HNSW | keys that cannot be ordered",),
    ),
    Difference(
        "`HNSW.setdefault`",
        "returns an internal object",
        "returns the point",
        "As `dict.setdefault`.",
        ("HNSW | setdefault", "HNSW | setdefault of a new key"),
    ),
    Difference(
        "`HNSW.query` with a k greater than ef",
        "returns ef points",
        "returns k points",
        "They were requested.",
        ("HNSW | k above ef",),
    ),
    Difference(
        "k below 0, ef below 1 or level below 0 in an `HNSW`",
        "accepted; a point with a level below 0 is not found",
        "raises ValueError",
        "The value has no sensible meaning.",
        ("HNSW | k of -1", "HNSW | ef 0", "HNSW | ef 0, inserted", "HNSW | level -1"),
    ),
    Difference(
        "m below 2, and m0 and ef_construction below 1",
        "accepted, or raises OverflowError when points are inserted",
        "raises ValueError",
        "The graph needs links.",
        ("HNSW | m 0", "HNSW | m 1", "HNSW | ef_construction 0", "HNSW | m0 0"),
    ),
    Difference(
        "m, m0, ef_construction and ef that are not integers",
        "accepted",
        "raises TypeError",
        "They are numbers of points.",
        (
            "HNSW | m 2.5",
            "HNSW | ef_construction 2.5",
            "HNSW | m0 2.5",
            "HNSW | ef 2.5, inserted",
        ),
    ),
    Difference(
        "a `distance_func` that cannot be called",
        "accepted; the second insert fails",
        "raises TypeError",
        "The error is raised where the mistake was made.",
        ("HNSW | a distance that cannot be called",),
    ),
    Difference(
        "a distance of NaN in an `HNSW`",
        "accepted; points may no longer be found",
        "raises ValueError",
        "NaN is not less than any distance, so the graph would be wrong.",
        ("HNSW | a distance of NaN",),
    ),
    Difference(
        "distances in the result of `HNSW.query`",
        "of the type that `distance_func` returns",
        "float",
        "Floats are compared faster than numpy scalars.",
        ("HNSW | a distance of an int",),
    ),
    Difference(
        "`copy` of a subclass of HNSW, or of an index with attributes that the program set",
        "returns an HNSW without these attributes",
        "returns an object of the subclass, with the attributes",
        "A copy has the methods and attributes of the original.",
        ("HNSW | attributes of ones own", "HNSW | copy of a subclass"),
    ),
    Difference(
        "`HNSW.update` with pairs (key, point)",
        "raises AttributeError",
        "accepted",
        "As `dict.update`.",
        ("HNSW | pairs",),
    ),
    # ---- weights ----
    Difference(
        "a `save_dir` that holds filters of other parameters, or of sketches of another scheme or seed",
        "accepted; the answer is wrong",
        "raises ValueError",
        "As for an index.",
        ("rare | folder of *",),
    ),
    Difference(
        "weights that are negative, NaN or infinite",
        "accepted, ignored, or raises OverflowError",
        "raises ValueError",
        "No multiset has such weights.",
        (
            "WeightedMinHashGenerator.minhash | minhash, a negative",
            "WeightedMinHashGenerator.minhash | minhash, nan",
            "WeightedMinHashGenerator.minhash | minhash, infinite",
            "WeightedMinHashGenerator.minhash | minhash, beyond float32",
            "WeightedMinHashGenerator.minhash_many | minhash_many, a negative",
            "WeightedMinHashGenerator.minhash_many | minhash_many, nan",
            "WeightedMinHashGenerator.minhash_many | minhash_many, infinite",
        ),
    ),
    Difference(
        "`minhash` of a vector of more dimensions",
        "raises TypeError",
        "raises ValueError",
        "As for a wrong length.",
        ("rare | vector of *",),
    ),
    Difference(
        "`minhash` of a text",
        "accepted if it consists of digits, one weight a character",
        "raises ValueError",
        "A text is not a vector.",
        ("WeightedMinHashGenerator.minhash | minhash, text",),
    ),
    Difference(
        "`minhash_many` of rows that are all empty, or of no rows",
        "raises AttributeError",
        "returns None for each row",
        "As when only some rows are empty.",
        (
            "WeightedMinHashGenerator.minhash_many | minhash_many, all rows empty",
            "WeightedMinHashGenerator.minhash_many | minhash_many, no rows",
        ),
    ),
    Difference(
        "`minhash_many` of a sparse matrix that stores zeros",
        "raises ValueError",
        "as without these zeros",
        "A stored zero is a zero.",
        ("WeightedMinHashGenerator.minhash_many | minhash_many, csr, zeros stored",),
    ),
    Difference(
        "`minhash_many` of a sparse array",
        "raises TypeError",
        "as for a sparse matrix",
        "scipy recommends sparse arrays.",
        ("WeightedMinHashGenerator.minhash_many | minhash_many, csr array",),
    ),
    Difference(
        "writing to `rs`, `ln_cs` or `betas` of a WeightedMinHashGenerator after the first use",
        "accepted",
        "raises ValueError",
        "The tables of the kernels would not change. They do change if the attribute is set to another array.",
        ("tables written to | rs",),
    ),
    Difference(
        "`WeightedMinHashGenerator` with `dim=0` or `sample_size=0`",
        "accepted; with `dim=0`, `minhash` raises ValueError",
        "raises ValueError",
        "It is out of range.",
        (
            "WeightedMinHashGenerator | sample_size 0",
            "WeightedMinHashGenerator | dim 0, not used",
        ),
    ),
    Difference(
        "`WeightedMinHash.jaccard` with a plain sketch",
        "returns 0.0",
        "raises ValueError",
        "The two cannot be compared.",
        ("WeightedMinHash | jaccard of a MinHash",),
    ),
    Difference(
        "`jaccard` of WeightedMinHashes without samples",
        "raises ZeroDivisionError",
        "raises ValueError",
        "As for a LeanMinHash.",
        ("rare | weighted without samples",),
    ),
    # ---- HyperLogLog ----
    Difference(
        "`HyperLogLogPlusPlus.count`",
        "corrects the estimate by measured tables",
        "estimates without tables (Ertl 2017), with the same standard error",
        "This estimate needs no correction at any count. The registers are the same, and both estimates are within "
        "their error.",
        (
            "HyperLogLogPlusPlus | update, p * words",
            "HyperLogLogPlusPlus | count, *",
            "HyperLogLogPlusPlus | merge",
            "HyperLogLogPlusPlus | registers set",
        ),
    ),
    Difference(
        "`HyperLogLog.count` where no register is zero and the estimate is small",
        "raises ZeroDivisionError",
        "returns the estimate",
        "Linear counting needs a register that is zero.",
        (
            "HyperLogLog | count, registers of 1 and less, *",
            "HyperLogLog | count, registers of 2 and less, *",
            "HyperLogLog | count, registers of 3 and less, *",
            "HyperLogLog | count, p *, 0 further",
        ),
    ),
    Difference(
        "a HyperLogLog with a `hashfunc`, pickled or copied by `copy.deepcopy`",
        "loses the function and continues with SHA1",
        "keeps the function",
        "Later updates would count every value twice.",
        (
            "HyperLogLog* | pickle with a hashfunc",
            "HyperLogLog* | deepcopy keeps the hashfunc",
        ),
    ),
    Difference(
        "`merge` and `union` of HyperLogLogs of different hash functions, or of 32 and 64 bits",
        "accepted; the count is wrong",
        "raises ValueError",
        "The two cannot be compared.",
        (
            "HyperLogLog* | merge of another hashfunc",
            "both HyperLogLog | merge *",
            "both HyperLogLog | union *",
        ),
    ),
    Difference(
        "`merge` and `union` with an object that is not a HyperLogLog",
        "raises AttributeError",
        "raises TypeError",
        "A value of the wrong kind raises TypeError in all methods.",
        (
            "HyperLogLog* | merge of text",
            "HyperLogLog* | merge of None",
            "HyperLogLog* | merge of a MinHash",
            "HyperLogLog* | union of texts",
        ),
    ),
    Difference(
        "registers (given, set, deserialized or overwritten) that no hash values produce, that have more dimensions, "
        "or that are a list",
        "accepted, or raises OverflowError",
        "raises ValueError",
        "A HyperLogLog cannot have such registers.",
        (
            "HyperLogLog* | reg two dimensions",
            "HyperLogLog* | reg negative",
            "HyperLogLog* | reg of impossible ranks",
            "HyperLogLog* | deserialize impossible ranks",
            "HyperLogLog* | deserialize ranks above 127",
            "registers | written over*",
            "registers | set to a list",
        ),
    ),
    Difference(
        "registers given as integers of another size",
        "kept as they are",
        "converted to int8",
        "Registers are always int8.",
        ("HyperLogLog* | reg of 64 bits",),
    ),
    Difference(
        "a hash value below 0",
        "accepted",
        "raises ValueError",
        "It is out of range.",
        ("HyperLogLog* | hash value -1",),
    ),
    Difference(
        "a hash value that is a numpy integer",
        "raises AttributeError",
        "accepted",
        "A numpy integer is an integer.",
        ("HyperLogLog* | hash value of numpy",),
    ),
    Difference(
        "`p` of True",
        "raises ValueError",
        "raises TypeError",
        "A bool is not a number.",
        ("HyperLogLog* | p True",),
    ),
)


def table() -> str:
    """Return the table as it stands in docs/reference/datasketch.md."""
    head = ["| call | datasketch 2.0 | lshfast | why |", "|---|---|---|---|"]
    return "\n".join(
        head
        + [
            f"| {one.call} | {one.peer} | {one.ours} | {one.why} |"
            for one in DIFFERENCES
        ]
    )


if __name__ == "__main__":
    print(table())
