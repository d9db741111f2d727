"""The values that options may take: the command line shows them in its help without importing what carries them out."""

from __future__ import annotations

from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["word", "char", "stopword"]
Scheme: TypeAlias = Literal["fast", "classic"]
Verify: TypeAlias = Literal["exact", "signature", "none"]
PairMeasure: TypeAlias = Literal["jaccard", "containment"]
ItemMeasure: TypeAlias = Literal[
    "jaccard", "containment", "cosine", "angle", "euclidean", "manhattan", "hamming", "tanimoto"
]
Kind: TypeAlias = Literal["text", "set", "weighted", "vector", "code"]
Grouping: TypeAlias = Literal["star", "components"]
OnDuplicate: TypeAlias = Literal["error", "replace", "skip"]
OnError: TypeAlias = Literal["stop", "skip"]
Format: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet", "arrow", "npy", "text", "lines"]
OutputFormat: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet"]
ImageHashKind: TypeAlias = Literal["pdq", "phash", "dhash"]
ImageKeep: TypeAlias = Literal["largest", "first"]
DemoData: TypeAlias = Literal["news", "customers", "products", "genomes", "photos", "essays"]

MAX_ROW_BYTES = 256 << 20
MAX_COLUMNS = 1000

# Twice Pillow's MAX_IMAGE_PIXELS: above, Pillow refuses an image by default.
MAX_PIXELS = 178_956_970


def singular(kind: str) -> str:
    """Return what an item of a kind is called.

    Examples
    --------
    >>> singular("weighted"), singular("code")
    ('weighted set', 'code')
    """
    return "weighted set" if kind == "weighted" else kind


def plural(kind: str) -> str:
    """Return what several items of a kind are called.

    Examples
    --------
    >>> plural("weighted"), plural("code")
    ('weighted sets', 'codes')
    """
    return f"{singular(kind)}s"
