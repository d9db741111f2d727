"""The files that the commands of each page read, in one table, and small data to fill them with."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from tests import corpora

Fill = Callable[[Path], object]
FIRST = [
    "anna",
    "bert",
    "carla",
    "david",
    "emma",
    "felix",
    "greta",
    "hans",
    "irma",
    "jonas",
]
LAST = [
    "adler",
    "bach",
    "cramer",
    "doerr",
    "engel",
    "falk",
    "graf",
    "huber",
    "iben",
    "jung",
]


def texts(path: Path) -> None:
    """Write 60 texts and five near-duplicates of them; in each file the same, so that files share rows."""
    rng = random.Random(1)
    rows = [" ".join(f"w{rng.randrange(500)}" for _ in range(60)) for _ in range(60)]
    rows += [f"{row} more" for row in rows[:5]]
    corpora.make(
        path,
        [
            {
                "id": f"t{i}",
                "text": row,
                "source": f"s{i % 3}",
                "site": f"s{i % 3}",
                "hour": i % 24,
            }
            for i, row in enumerate(rows)
        ],
    )


def questions(path: Path) -> None:
    """Write two texts that are a part of those of `texts`, in a column `question`."""
    rng = random.Random(1)
    words = [f"w{rng.randrange(500)}" for _ in range(120)]
    corpora.make(
        path, [{"question": " ".join(words[first : first + 30])} for first in (10, 70)]
    )


def sentences(path: Path) -> None:
    path.write_text(
        "".join(
            f"A line has {i % 7} words, or a few more than that.\n" for i in range(20)
        )
    )


def article(path: Path) -> None:
    path.write_text("This file is one text, and its name is the key.\n")


def customers(path: Path) -> None:
    """Write records of which neighbours are the same person; those of `clients.csv` have ids of their own."""
    rng = random.Random(2)
    rows = []
    for i in range(60):
        name = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        phone = f"555-{rng.randrange(10_000):04}"
        for changed in (name, name[:-1]):
            rows.append(
                {
                    "id": f"{path.stem}{len(rows)}",
                    "name": changed,
                    "phone": phone,
                    "created": f"200{i % 9}-05-01",
                }
            )
    corpora.make(path, rows)


def people(path: Path) -> None:
    """Write records with the fields of the tutorial."""
    rng = random.Random(3)
    rows = []
    for i in range(60):
        given, surname = rng.choice(FIRST), rng.choice(LAST)
        rows.append({"given": given, "surname": surname, "address": f"{rng.randrange(90)} {rng.choice(LAST)} street",
                     "phone": f"555-{rng.randrange(10_000):04}", "born": f"19{10 + i}-0{1 + i % 9}-14"})  # fmt: skip
    corpora.make(path, rows)


def keys(path: Path) -> None:
    path.write_text("t1\nt2\n")


def vectors(path: Path) -> None:
    """Write 100 vectors, ten of them close to others."""
    made = np.random.default_rng(1).standard_normal((100, 8)).astype(np.float32)
    made[90:] = made[:10] + 0.01
    if path.suffix == ".npy":
        np.save(path, made)
    else:
        corpora.make(
            path,
            [
                {"id": f"{path.stem}{i}", "embedding": row}
                for i, row in enumerate(made.tolist())
            ],
        )


def codes(path: Path) -> None:
    corpora.make(
        path,
        [
            {"path": f"{i}.jpg", "phash": f"{0xFFE0C08183070F1F ^ (i % 40) << 20:016x}"}
            for i in range(50)
        ],
    )


def molecules(path: Path) -> None:
    bits = np.random.default_rng(1).integers(0, 256, (50, 16), dtype=np.uint8)
    rows = pa.array([row.tobytes() for row in bits], pa.binary(16))
    pq.write_table(pa.table({"fingerprint": rows}), path)


def products(path: Path) -> None:
    corpora.make(
        path,
        [
            {"id": i, "tags": [f"tag{i % 20 * step}" for step in range(1, 7)]}
            for i in range(40)
        ],
    )


def baskets(path: Path) -> None:
    corpora.make(
        path,
        [
            {"id": i, "amounts": {f"item{i % 20 * step}": step for step in range(1, 7)}}
            for i in range(40)
        ],
    )


def purchases(path: Path) -> None:
    rows = [(customer, item) for customer in range(20) for item in range(5)]
    corpora.make(
        path,
        [
            {"customer": f"c{c}", "product": f"p{c % 15 * 3 + i}", "pieces": i + 1}
            for c, i in rows
        ],
    )


def genome(path: Path) -> None:
    """Write a genome; those of other files differ from it in a hundredth of the positions."""
    letters, rng = random.Random(1).choices("ACGT", k=20_000), random.Random(path.name)
    changed = "".join(
        rng.choice("ACGT") if rng.random() < 0.01 else letter for letter in letters
    )
    corpora.pack(f">{path.stem}\n{changed}\n".encode(), path)


def minutiae(path: Path) -> None:
    """Write the minutiae of ten prints."""
    rng = random.Random(4)
    rows = [
        {"id": f"p{at // 30}", "x": rng.randrange(400), "y": rng.randrange(500)}
        for at in range(300)
    ]
    corpora.make(path, rows)


def addresses() -> list[str]:
    """Return the URLs of two hosts that have the same paths."""
    return [
        f"http://{host}.example/{a}/{b}"
        for host in "ab"
        for a in ("docs", "news")
        for b in ("one", "two", "red")
    ]


def crawled(path: Path) -> None:
    corpora.make(path, [{"url": url, "checksum": url[-3:]} for url in addresses()])


def links(path: Path) -> None:
    """Write links from six nodes to two others."""
    rows = [{"source": f"n{i}", "target": f"m{j}"} for i in range(6) for j in range(2)]
    if path.suffix == ".csv":
        corpora.make(path, rows)
    else:
        path.write_text("".join(f"{row['source']} {row['target']}\n" for row in rows))


def photo(path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for package in ("imagehash", "pdqhash"):
        pytest.importorskip(package)
    picture = image.effect_mandelbrot((300, 250), (-1.5, -0.3, -0.9, 0.2), 40)
    picture.resize((150 + len(path.name), 125)).save(path)


def saved_dataset(path: Path) -> None:
    """Write the data file of a dataset as `save_to_disk` of Hugging Face's datasets does."""
    table = pa.table(
        {
            "text": [
                f"row {i % 9} of a data set that was saved to disk" for i in range(20)
            ]
        }
    )
    with pa.ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table)
    (path.parent / "state.json").write_text(
        f'{{"_data_files": [{{"filename": "{path.name}"}}]}}'
    )


CRAWL: dict[str, Fill] = {"crawl.jsonl": texts}
FOLDER: dict[str, Fill] = {f"crawl/{number}.jsonl": texts for number in range(16)}
PHOTOS: dict[str, Fill] = {"photos/a.png": photo, "photos/b.png": photo}
TABLES: dict[str, Fill] = {"customers.csv": customers, "clients.csv": customers}

# The pages with commands, by their paths from the root, and what their commands read that no
# earlier block wrote.
INPUTS: dict[str, dict[str, Fill]] = {
    "README.md": {"crawl.jsonl.zst": texts},
    "docs/index.md": {},
    "docs/tutorials/customers.md": dict.fromkeys(["ours.csv", "theirs.csv"], people),
    "docs/tutorials/growing-index.md": {
        **dict.fromkeys(["2025-01.jsonl", "2025-02.jsonl", "all.jsonl"], texts),
        "withdrawn.txt": keys,
    },
    "docs/tutorials/threshold.md": {"flats.jsonl": texts},
    "docs/tutorials/near-duplicates.md": {"pages.jsonl": texts},
    "docs/how-to/inputs.md": {
        **FOLDER,
        **dict.fromkeys(["crawl.jsonl.gz", "more/a.parquet"], texts),
        "articles/a.txt": article,
        "sentences.txt": sentences,
        "my_dataset/train/data-00000-of-00001.arrow": saved_dataset,
    },
    "docs/how-to/memory.md": FOLDER,
    "docs/how-to/outputs.md": {**CRAWL, "crawl.jsonl.gz": texts},
    "docs/how-to/text-index.md": {},
    "docs/how-to/check.md": {"kept.jsonl": texts},
    "docs/how-to/clusters.md": {
        **dict.fromkeys(["january.jsonl", "february.jsonl"], texts),
        **dict.fromkeys(["customers.csv", "new.csv"], customers),
    },
    "docs/how-to/fingerprints.md": dict.fromkeys(
        ["prints.csv", "suspects.csv", "database.csv"], minutiae
    ),
    "docs/how-to/genomes.md": dict.fromkeys(["a.fa.gz", "b.fa.gz", "new.fa"], genome),
    "docs/how-to/images.md": dict.fromkeys(["2024/a.png", "2025/b.png"], photo),
    "docs/how-to/kinds.md": {
        "embeddings.parquet": vectors,
        "vectors.npy": vectors,
        "photos.csv": codes,
        "tagged.jsonl": products,
        "baskets.jsonl": baskets,
        "purchases.csv": purchases,
        "molecules.parquet": molecules,
        **dict.fromkeys(["january.parquet", "february.parquet"], vectors),
        **dict.fromkeys(
            ["catalogue.parquet", "new.parquet", "queries.parquet"], vectors
        ),
    },
    "docs/how-to/news.md": {},
    "docs/how-to/new-rows.md": dict.fromkeys(
        ["january.jsonl", "february.jsonl"], texts
    ),
    "docs/how-to/passages.md": {
        "corpus.jsonl": texts,
        **dict.fromkeys(["mmlu.jsonl", "gsm8k.jsonl"], questions),
    },
    "docs/how-to/records.md": TABLES,
    "docs/how-to/record-columns.md": {},
    "docs/how-to/reports.md": CRAWL,
    "docs/how-to/shards.md": {},
    "docs/how-to/stages.md": {},
    "docs/how-to/web.md": {
        "crawl.parquet": crawled,
        **dict.fromkeys(["links.txt", "links.csv", "duplicates.csv"], links),
    },
    "docs/coming-from/datatrove.md": FOLDER,
    "docs/coming-from/deduplicate-text-datasets.md": {
        **CRAWL,
        "benchmark.jsonl": texts,
    },
    "docs/coming-from/imagededup.md": PHOTOS,
    "docs/coming-from/index.md": {},
    "docs/coming-from/nemo-curator.md": CRAWL,
    "docs/coming-from/sourmash.md": dict.fromkeys(
        ["genomes/a.fa", "genomes/b.fa", "new.fa"], genome
    ),
    "docs/coming-from/splink.md": TABLES,
    "docs/coming-from/text-dedup.md": CRAWL,
}


def write(page: str, folder: Path) -> None:
    """Write the files of a page into a folder."""
    for name, fill in INPUTS[page].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        fill(folder / name)
