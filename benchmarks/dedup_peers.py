r"""Programs with other libraries that do what ``lshfast dedup IN.jsonl -o OUT.jsonl`` does.

    python benchmarks/dedup_peers.py rensa|gaoya|datasketch IN.jsonl OUT.jsonl

Each keeps a text unless one that it keeps has an estimated Jaccard similarity of at least .8 over word
5-grams, by 128 permutations in 16 bands of 8, and copies the lines of the texts that it keeps. Each goes
the fastest way through its interface that keeps all tokens: gaoya with its own splitter (which parts words
at "_" too), and it and datasketch with one query for each text, which is inserted if nothing was found;
rensa over lists of 5-gram strings, a batch at a time. A text of one to four words is one shingle for all of
them: left to themselves, gaoya would pair all such texts, and rensa and datasketch all texts without words,
which are kept.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import islice

try:
    from orjson import loads
except ImportError:
    from json import loads

THRESHOLD = 0.8
SEED = 1
BANDS = 16
ROWS = 8
PERMUTATIONS = BANDS * ROWS
SIZE = 5
BATCH_ROWS = 100


def grams(text: str) -> list[str]:
    """Split a text into word 5-grams, a shorter text into one of all its words."""
    words = re.findall(r"\w+", text.lower())
    if len(words) < SIZE:
        return [" ".join(words)] if words else []
    columns = (words[start:] for start in range(SIZE))
    return list(map(" ".join, zip(*columns, strict=False)))


def batches(lines: Iterator[bytes]) -> Iterator[tuple[list[bytes], list[list[str]]]]:
    """Yield lines, and the 5-grams of their texts, a batch at a time."""
    while batch := list(islice(lines, BATCH_ROWS)):
        yield batch, [grams(loads(line)["text"]) for line in batch]


def with_rensa(path: str, out: str) -> None:
    """Sign and insert all texts, query all, then read the file again for the lines to keep."""
    from rensa import RMinHash, RMinHashLSH

    index = RMinHashLSH(THRESHOLD, PERMUTATIONS, BANDS)
    sketches = []
    rows = []
    row = 0
    with open(path, "rb") as lines:
        for _, batch in batches(lines):
            shingled = [tokens for tokens in batch if tokens]
            new = RMinHash.from_token_sets(shingled, PERMUTATIONS, SEED)
            index.insert_many(new, len(sketches))
            sketches += new
            rows += [row + i for i, tokens in enumerate(batch) if tokens]
            row += len(batch)
    removed = set()
    for i, similar in enumerate(index.query_all(sketches)):
        own = sketches[i]
        for j in similar:
            if j < i and j not in removed and own.jaccard(sketches[j]) >= THRESHOLD:
                removed.add(i)
                break
    removed_rows = {rows[i] for i in removed}
    with open(path, "rb") as lines, open(out, "wb") as kept:
        kept.writelines(
            line for row, line in enumerate(lines) if row not in removed_rows
        )


def with_gaoya(path: str, out: str) -> None:
    """Query each text, and insert it if nothing was found."""
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(
        32, THRESHOLD, BANDS, ROWS, None, "word", True, (SIZE, SIZE), "smallvec"
    )
    tokens_index = index.minhash_index
    with open(path, "rb") as lines, open(out, "wb") as kept:
        for row, line in enumerate(lines):
            text = loads(line)["text"]
            words = islice(re.finditer(r"\w+", text), SIZE)
            if sum(1 for _ in words) == SIZE:
                if index.query(text):
                    continue
                index.insert_document(row, text)
            elif short := grams(text):
                if tokens_index.query_tokens(short):
                    continue
                tokens_index.insert_tokens(row, short)
            kept.write(line)


def with_datasketch(path: str, out: str) -> None:
    """Sign a batch of texts, query each, and insert it if nothing similar was found."""
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS))
    sketches = []
    with open(path, "rb") as lines, open(out, "wb") as kept:
        for batch, shingled in batches(lines):
            encoded = ([gram.encode() for gram in tokens] for tokens in shingled)
            signed = MinHash.bulk(encoded, num_perm=PERMUTATIONS)
            for line, tokens, sketch in zip(batch, shingled, signed, strict=True):
                if tokens:
                    candidates = index.query(sketch)
                    if any(
                        sketch.jaccard(sketches[i]) >= THRESHOLD for i in candidates
                    ):
                        continue
                    index.insert(len(sketches), sketch)
                    sketches.append(sketch)
                kept.write(line)


PEERS = {"rensa": with_rensa, "gaoya": with_gaoya, "datasketch": with_datasketch}

if __name__ == "__main__":
    name, corpus, kept_rows = sys.argv[1:]
    PEERS[name](corpus, kept_rows)
