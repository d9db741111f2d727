"""Where lshfast.datasketch differs from datasketch 2.0 on purpose: the data of docs/migration.md's table.

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
        "a size all the same, or ValueError about something else",
        "raises struct.error naming those there are",
        "An error says what is wrong.",
        ("LeanMinHash bytes | unknown byte order", "LeanMinHash bytes | unknown byte order, read"),
    ),
    # ---- sketches that cannot be compared ----
    Difference(
        "sketches of different seeds in one index, or a query of another seed",
        "taken; similar sets are not found",
        "raises ValueError",
        "Values of different seeds have nothing to do with each other: the answer would be wrong without a word.",
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
        "taken",
        "raises ValueError",
        "They never match.",
        ("MinHashLSH | weighted beside others",),
    ),
    Difference(
        "`permutations` that were given, and not those of the seed: such a sketch's LeanMinHash or bBitMinHash beside "
        "others, or such sketches beside others in one index or forest",
        "taken; the answer is wrong",
        "raises ValueError",
        "As for seeds. (What was read from bytes does not say its permutations, and is taken for one of the seed's.)",
        ("given permutations | *",),
    ),
    Difference(
        "what is no sketch, given to an index",
        "AttributeError, or ValueError for its length; taken if it has hash values and a length",
        "raises TypeError",
        "The wrong kind of thing is a TypeError everywhere.",
        (
            "looks like a sketch | in an index",
            "MinHashLSH | * of text",
            "MinHashLSH | * of text of the length",
            "MinHashLSH | * of an array",
            "MinHashLSH | * of a list",
            "MinHashLSHForest | * of text",
            "MinHashLSHForest | * of an array",
            "MinHashLSHEnsemble | entries of texts",
            "MinHashLSHEnsemble | query of text",
            "MinHashLSHEnsemble | query fails when it is asked",
            "MinHashLSHBloom | * of text",
        ),
    ),
    Difference(
        "`MinHash.union(sketch, None)`",
        "raises AttributeError",
        "raises ValueError",
        "As for another scheme.",
        ("MinHash compared | union of None",),
    ),
    # ---- parameters ----
    Difference(
        "a threshold of 1.0, and others whose best choice is one band",
        "raises ValueError",
        "one band of all slots, or of so many",
        "Finding copies is a common wish.",
        (
            "MinHashLSH() | bands for 0.99",
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
        "taken as 1",
        "raises TypeError",
        "A bool is no number.",
        ("MinHashLSH() | threshold True", "MinHashLSHBloom | threshold True", "MinHashLSHEnsemble | threshold True"),
    ),
    Difference(
        "`params` with r below 1",
        "taken; every band is the same, or the last slots are left out",
        "raises ValueError",
        "Nothing sensible is meant.",
        (
            "MinHashLSH() | params (2, 0)",
            "MinHashLSH() | params (2, -1)",
            "MinHashLSHBloom | params (2, 0)",
            "MinHashLSHBloom | params (2, -1)",
        ),
    ),
    Difference(
        "`params` that are no integers",
        "taken; the first insert fails",
        "raises TypeError",
        "Errors come where the mistake is.",
        ("MinHashLSH() | params (2, 2.5)", "MinHashLSHBloom | params (2, 2.5)"),
    ),
    Difference(
        "a threshold of NaN for an ensemble",
        "raises OverflowError",
        "raises ValueError",
        "It is out of range.",
        ("MinHashLSHEnsemble | threshold float('nan')",),
    ),
    Difference(
        "`fp` of NaN",
        "taken",
        "raises ValueError",
        "It is out of range.",
        ("MinHashLSHBloom | fp float('nan')",),
    ),
    Difference(
        "a seed that is no integer: None, a list, a bool",
        "taken; None draws at random",
        "raises TypeError",
        "What is drawn at random can be compared with nothing, which shows only in the answers.",
        (
            "MinHash() | seed True",
            "MinHash() | seed None",
            "MinHash() | seed a list",
            "WeightedMinHashGenerator | seed True",
        ),
    ),
    Difference(
        "`gpu_mode` of another word",
        "taken as `disable`",
        "raises ValueError",
        "It is a mistake. (No mode uses a GPU here: `always` raises RuntimeError, as without one.)",
        ("MinHash() | gpu, another word",),
    ),
    Difference(
        "`buffer_size` below 1",
        "taken",
        "raises ValueError",
        "Nothing sensible is meant.",
        ("MinHashLSH sessions | buffer size 0", "MinHashLSH sessions | buffer size -1"),
    ),
    Difference(
        "a `buffer_size` that is no integer",
        "taken",
        "raises TypeError",
        "It is a number of entries.",
        (
            "buffers | size 'a'",
            "buffers | size None",
        ),
    ),
    Difference(
        "weights whose sum is 1 but for rounding",
        "raises ValueError",
        "taken",
        "0.1 is no float64, and nor is its sum with others.",
        ("weights | a sum of nearly 1",),
    ),
    Difference(
        "the bands where only misses count, `weights=(0, 1)`",
        "the first of those that are the best but for rounding",
        "now and then another of them, a band more or less",
        "They are as good.",
        ("bands | all against misses",),
    ),
    Difference(
        "an `insert` that fails",
        "sets the scheme of an empty index",
        "changes nothing",
        "Nothing was inserted.",
        ("failed calls | set no scheme",),
    ),
    Difference(
        "`MinHashLSHEnsemble.index` that fails",
        "may leave entries",
        "leaves none",
        "Nothing was indexed.",
        ("failed calls | leave no entries",),
    ),
    Difference(
        "`remove` of a key that was inserted unchecked with two sketches",
        "leaves it in the buckets of the second",
        "removes it from all",
        "It is gone.",
        ("removals | of a key inserted twice",),
    ),
    Difference(
        "`hashfunc` of a MinHashLSH in memory",
        "may make buckets one, which finds more keys",
        "only names buckets, in `get_counts`",
        "Buckets in memory are not kept under these names.",
        ("hashfunc in memory | *",),
    ),
    # ---- copies, and what an object is made of ----
    Difference(
        "`copy`, `bulk` and `generator` of a class made from MinHash; `copy`, `union` and `deserialize` of one made "
        "from LeanMinHash",
        "give a MinHash or LeanMinHash, without the attributes that were set",
        "give one of that class; a MinHash's copy keeps its attributes",
        "What can be asked of a sketch can be asked of its copy.",
        ("own classes | *",),
    ),
    Difference(
        "`copy.copy` of an index, a forest or an ensemble",
        "shares its entries",
        "has entries of its own",
        "As of `copy.deepcopy`; an index is in one place.",
        ("copy.copy | *",),
    ),
    Difference(
        "`merge` of an index that has another `prepickle` or `hashfunc`",
        "taken; its keys or sets are not found",
        "they are found",
        "They are there.",
        ("merges | *",),
    ),
    # ---- more than the peer has ----
    Difference(
        '`scheme="classic"`, `scheme="fast"`',
        "raises ValueError",
        "this library's own signatures of 64 bits",
        "They are the fast ones; see [below](#how-to-gain-speed).",
        ("MinHash() | scheme classic", "MinHash() | scheme fast"),
    ),
    Difference(
        "`query(..., with_scores=True)`",
        "raises TypeError",
        "(key, similarity), the most similar first",
        "Its users ask for scores and order.",
        ("MinHashLSH | scores", "MinHashLSHForest | scores", "MinHashLSHEnsemble | scores"),
    ),
    Difference(
        "`LeanMinHash.num_perm`",
        "raises AttributeError",
        "the number of slots",
        "It is a MinHash.",
        ("LeanMinHash | no num_perm",),
    ),
    Difference(
        "`get_minhash_hashvalues` of a weighted sketch",
        "raises ValueError",
        "its hash values, (k, 2)",
        "They are there.",
        ("MinHashLSHForest | weighted hash values",),
    ),
    # ---- values ----
    Difference(
        "`hashvalues` and `permutations` of floats",
        "taken, cut to integers",
        "raises TypeError",
        "Values that went through floats may have lost bits.",
        (
            "MinHash(hashvalues) | floats, *",
            "MinHash(hashvalues) | an array of floats, *",
            "values of objects | floats",
            "values set, floats | *",
        ),
    ),
    Difference(
        "`hashvalues` and `permutations` of more dimensions",
        "taken",
        "TypeError of a list, ValueError of an array",
        "They are a row.",
        (
            "MinHash(hashvalues) | two dimensions",
            "dimensions | an array",
        ),
    ),
    Difference(
        "`hashvalues` of a sketch set to integers of another dtype, and the sketch given to an index",
        "looked for as others than the same values of the scheme's dtype",
        "as if they were of the scheme's dtype",
        "They are the same values.",
        ("values set | index",),
    ),
    Difference(
        "`hashvalues` of text, or NaN",
        "raises ValueError",
        "raises TypeError",
        "The wrong kind of thing is a TypeError everywhere.",
        ("MinHash(hashvalues) | text, *", "MinHash(hashvalues) | nan, *"),
    ),
    Difference(
        "`hashvalues` of the `legacy` scheme out of range",
        "taken, or OverflowError",
        "raises ValueError",
        "As for the other schemes.",
        (
            "MinHash(hashvalues) | above *, legacy",
            "MinHash(hashvalues) | a negative, legacy",
            "MinHash(hashvalues) | a negative in an array, legacy",
        ),
    ),
    Difference(
        "the `permutations` of a MinHash, written to",
        "taken; they are other sketches' too",
        "raises ValueError",
        "Sketches of one seed share them. Others may be put in their place.",
        ("permutations that are written to | of a seed",),
    ),
    Difference(
        "`permutations` of one row",
        "raises IndexError",
        "raises ValueError",
        "The error says what is missing.",
        ("MinHash(hashvalues) | permutations of one row",),
    ),
    Difference(
        "a `LeanMinHash` without slots, given or read",
        "taken for the `legacy` scheme",
        "raises ValueError",
        "As for the other schemes.",
        ("LeanMinHash | without any values, legacy", "LeanMinHash bytes | read no slots, legacy"),
    ),
    Difference(
        "a `hashfunc` that returns text, bytes or a float",
        "taken, as the number that it reads as",
        "raises TypeError",
        "It is not the hash function that was meant.",
        (
            "MinHash(hashfunc) | text, affine*",
            "MinHash(hashfunc) | bytes, affine*",
            "MinHash(hashfunc) | a batch with text, *",
            "MinHash(hashfunc) | a float",
        ),
    ),
    Difference(
        "a `hashfunc` out of range, `legacy`",
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
        "AttributeError, and nothing for an empty batch",
        "raises TypeError",
        "As `update` does.",
        ("LeanMinHash | no update_batch", "LeanMinHash | no update_batch of nothing", "lean ones | *"),
    ),
    Difference(
        "`MinHash.union` of a LeanMinHash and others",
        "raises AttributeError",
        "the union",
        "Nothing is missing for it.",
        ("union | of a lean one first",),
    ),
    Difference(
        "`bBitMinHash.jaccard` with r > 0 and b of 3 or more",
        "takes 2 * b for 2**b in the probability that bits agree by chance",
        "takes 2**b, as Li and König (2010) do",
        "Only then is the estimate unbiased. Bytes and values are the same.",
        ("bBitMinHash with r | b 3*", "bBitMinHash with r | b 4*"),
    ),
    Difference(
        "`bBitMinHash` with b = 0, a negative r or an r of NaN",
        "taken; `jaccard` divides by zero or means nothing",
        "raises ValueError",
        "They are out of range.",
        ("bBitMinHash | b 0", "bBitMinHash | b 0, *", "bBitMinHash | r -0.1", "bBitMinHash | r float('nan')"),
    ),
    # ---- on Redis ----
    Difference(
        "a key twice in a session with Redis, before it is sent",
        "inserted, or removed, twice",
        "raises ValueError",
        "As in memory.",
        ("MinHashLSH on Redis | * session, key twice",),
    ),
    Difference(
        "keys of text on Redis with `prepickle=False`",
        "found by `in`, and removed",
        "not there: False, and ValueError",
        "Only bytes can be inserted.",
        ("MinHashLSH on Redis | not prepickled, asked for text",),
    ),
    Difference(
        "`merge` of an index on Redis that has a hashfunc",
        "taken",
        "raises ValueError",
        "The server does not hold the slots of its entries, and the other index may have another hashfunc.",
        ("MinHashLSH on Redis | merged into memory, with a hashfunc",),
    ),
    # ---- forest, ensemble, Bloom filters ----
    Difference(
        "`MinHashLSHForest.query` with a k that is no integer",
        "taken",
        "raises TypeError",
        "It is a number of keys.",
        ("MinHashLSHForest | k nan", "MinHashLSHForest | k 1.5"),
    ),
    Difference(
        "a key added to a MinHashLSHForest after `index`",
        "found after the next one, or by some trees",
        "found at once",
        "Nothing has to be sorted anew.",
        ("forests | added after index",),
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
        "It is the caller's.",
        ("MinHashLSHEnsemble | the list stays as it is",),
    ),
    Difference(
        "a list of sets whose sizes are 0 or less",
        "taken (an iterator of them is refused)",
        "raises ValueError",
        "As for an iterator.",
        ("MinHashLSHEnsemble | size 0 of a list", "MinHashLSHEnsemble | size -1 of a list"),
    ),
    Difference(
        "a size that is no integer",
        "taken, or ValueError",
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
        "taken",
        "raises ValueError",
        "As within one partition.",
        ("twice in an ensemble | in other partitions",),
    ),
    Difference(
        "entries of an ensemble that are no triples",
        "raises IndexError",
        "raises ValueError",
        "As where they are unpacked anywhere.",
        ("MinHashLSHEnsemble | entries of two",),
    ),
    Difference(
        "`MinHashLSHEnsemble` on Redis",
        "taken; no other process can query it",
        "raises ValueError",
        "What datasketch leaves there does not say how the ensemble is partitioned.",
        ("MinHashLSH on Redis | ensemble",),
    ),
    Difference(
        "`MinHashLSHBloom` and bands with the same slots in another order, or of the same sum",
        "are the same",
        "are not",
        "A band is hashed, not summed. Files are this library's own, and need no further package.",
        ("MinHashLSHBloom | slots in another order", "MinHashLSHBloom | slots of an equal sum"),
    ),
    # ---- weights ----
    Difference(
        "a `save_dir` with filters of other parameters, or of sketches of another scheme or seed",
        "taken; the answer is wrong",
        "raises ValueError",
        "As for an index.",
        ("folders | *",),
    ),
    Difference(
        "weights that are negative, NaN or infinite",
        "taken, left out, or raises OverflowError",
        "raises ValueError",
        "There is no multiset of that kind.",
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
        "As for another length.",
        ("vectors | *",),
    ),
    Difference(
        "`minhash` of a text",
        "taken, letter by letter, if it is digits",
        "raises ValueError",
        "It is no vector.",
        ("WeightedMinHashGenerator.minhash | minhash, text",),
    ),
    Difference(
        "`minhash_many` of rows that are all empty, or of none",
        "raises AttributeError",
        "None for each row",
        "As for some that are empty.",
        (
            "WeightedMinHashGenerator.minhash_many | minhash_many, all rows empty",
            "WeightedMinHashGenerator.minhash_many | minhash_many, no rows",
        ),
    ),
    Difference(
        "`minhash_many` of a sparse matrix that stores zeros",
        "raises ValueError",
        "as without them",
        "They are zeros.",
        ("WeightedMinHashGenerator.minhash_many | minhash_many, csr, zeros stored",),
    ),
    Difference(
        "`minhash_many` of a sparse array",
        "raises TypeError",
        "as of a sparse matrix",
        "It is what scipy advises to use.",
        ("WeightedMinHashGenerator.minhash_many | minhash_many, csr array",),
    ),
    Difference(
        "`rs`, `ln_cs` and `betas` of a WeightedMinHashGenerator, written to after they were used",
        "taken",
        "raises ValueError",
        "The kernels' tables would not follow; they follow arrays that are set.",
        ("tables written to | rs",),
    ),
    Difference(
        "`WeightedMinHashGenerator` with `sample_size=0`",
        "taken",
        "raises ValueError",
        "It is out of range.",
        ("WeightedMinHashGenerator | sample_size 0",),
    ),
    Difference(
        "`WeightedMinHash.jaccard` of a plain sketch",
        "0.0",
        "raises ValueError",
        "They cannot be compared.",
        ("WeightedMinHash | jaccard of a MinHash",),
    ),
    Difference(
        "`jaccard` of WeightedMinHashes without samples",
        "raises ZeroDivisionError",
        "raises ValueError",
        "As for a LeanMinHash.",
        ("weighted | no samples",),
    ),
    # ---- HyperLogLog ----
    Difference(
        "`HyperLogLogPlusPlus.count`",
        "corrected by tables that were measured",
        "an estimate without tables (Ertl 2017), with the same standard error",
        "It has no bias to correct at any count; the registers are the same. Both estimates are within their error.",
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
        "the estimate",
        "Linear counting has nothing to count there.",
        (
            "HyperLogLog | count, registers of 1 and less",
            "HyperLogLog | count, registers of 2 and less",
            "HyperLogLog | count, registers of 3 and less",
            "HyperLogLog | count, p *, 0 further",
        ),
    ),
    Difference(
        "a HyperLogLog with a `hashfunc`, pickled or copied by `copy.deepcopy`",
        "forgets it, and goes on with SHA1",
        "keeps it",
        "Updates after that would count everything twice.",
        ("HyperLogLog* | pickle with a hashfunc", "HyperLogLog* | deepcopy keeps the hashfunc"),
    ),
    Difference(
        "`merge` and `union` of HyperLogLogs of different hash functions, or of 32 and 64 bits",
        "taken; the count is wrong",
        "raises ValueError",
        "They cannot be compared.",
        (
            "HyperLogLog* | merge of another hashfunc",
            "both HyperLogLog | merge *",
            "both HyperLogLog | union *",
        ),
    ),
    Difference(
        "`merge` and `union` of what is no HyperLogLog",
        "raises AttributeError",
        "raises TypeError",
        "The wrong kind of thing is a TypeError everywhere.",
        (
            "HyperLogLog* | merge of text",
            "HyperLogLog* | merge of None",
            "HyperLogLog* | merge of a MinHash",
            "HyperLogLog* | union of texts",
        ),
    ),
    Difference(
        "registers, given, set, read or written over, that no hash value gives, of more dimensions, or in a list",
        "taken, or OverflowError",
        "raises ValueError",
        "They are no HyperLogLog's.",
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
        "kept so",
        "kept as int8",
        "They are always int8.",
        ("HyperLogLog* | reg of 64 bits",),
    ),
    Difference(
        "a hash value below 0",
        "taken",
        "raises ValueError",
        "It is out of range.",
        ("HyperLogLog* | hash value -1",),
    ),
    Difference(
        "a hash value that is a numpy integer",
        "raises AttributeError",
        "taken",
        "It is an integer.",
        ("HyperLogLog* | hash value of numpy",),
    ),
    Difference(
        "`p` of True",
        "raises ValueError",
        "raises TypeError",
        "A bool is no number.",
        ("HyperLogLog* | p True",),
    ),
)


def table() -> str:
    """Return the table as it stands in docs/migration.md."""
    head = ["| call | datasketch 2.0 | lshfast | why |", "|---|---|---|---|"]
    return "\n".join(head + [f"| {one.call} | {one.peer} | {one.ours} | {one.why} |" for one in DIFFERENCES])


if __name__ == "__main__":
    print(table())
