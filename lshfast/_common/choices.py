"""The values that options may take, which the command line shows without other imports."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

Unit: TypeAlias = Literal["word", "char", "symbol", "stopword"]
Scheme: TypeAlias = Literal["fast", "classic"]
Verify: TypeAlias = Literal["exact", "signature", "none"]
PairMeasure: TypeAlias = Literal["jaccard", "containment"]
ItemMeasure: TypeAlias = Literal[
    "jaccard",
    "containment",
    "cosine",
    "angle",
    "euclidean",
    "l2",
    "manhattan",
    "l1",
    "hamming",
    "tanimoto",
]
# Other usual names of measures, which all ways in take.
MEASURE_SYNONYMS: dict[str, ItemMeasure] = {"l1": "manhattan", "l2": "euclidean"}
Kind: TypeAlias = Literal["text", "set", "weighted", "vector", "code"]
PointKind: TypeAlias = Literal["weighted", "vector", "code"]
Grouping: TypeAlias = Literal["star", "components"]
OnDuplicate: TypeAlias = Literal["error", "replace", "skip"]
OnError: TypeAlias = Literal["stop", "skip"]

# The normal form of Unicode in which texts are compared.
NormalForm: TypeAlias = Literal["none", "NFC", "NFKC"]

# What the texts of rows are split into, by the option of this name.
Split: TypeAlias = Literal["paragraph", "line", "sentence"]
Format: TypeAlias = Literal[
    "jsonl", "csv", "tsv", "parquet", "arrow", "npy", "text", "lines"
]
OutputFormat: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet"]
ImageHashKind: TypeAlias = Literal["pdq", "phash", "dhash"]
ImageKeep: TypeAlias = Literal["largest", "first"]
DemoData: TypeAlias = Literal[
    "news", "customers", "products", "genomes", "photos", "essays"
]

MAX_ROW_BYTES = 256 << 20
MAX_COLUMNS = 1000

# Twice Pillow's MAX_IMAGE_PIXELS: above, Pillow refuses an image by default.
MAX_PIXELS = 178_956_970


def usual_measure(name: Any) -> Any:
    """Return the usual name of a measure that has several; any other argument as it is.

    Examples
    --------
    >>> usual_measure("l2"), usual_measure("cosine")
    ('euclidean', 'cosine')
    """
    return MEASURE_SYNONYMS.get(name, name) if isinstance(name, str) else name


def singular(kind: str) -> str:
    """Return the noun for an item of a kind.

    Examples
    --------
    >>> singular("weighted"), singular("code")
    ('weighted set', 'code')
    """
    return "weighted set" if kind == "weighted" else kind


def plural(kind: str) -> str:
    """Return the noun for several items of a kind.

    Examples
    --------
    >>> plural("weighted"), plural("code")
    ('weighted sets', 'codes')
    """
    return f"{singular(kind)}s"
