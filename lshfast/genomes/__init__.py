"""Genomes: sketches of k-mers, with the hash values of sourmash and Mash, and similar pairs.

>>> import random
>>> from lshfast import genomes
>>> first = "".join(random.Random(1).choices("ACGT", k=100_000))
>>> second = "".join(
...     random.Random(2 + at).choice("ACGT") if at % 60 == 0 else c
...     for at, c in enumerate(first)
... )
>>> genomes.pairs(genomes.sketch([first, second], k=21, scaled=10))["ani"].round(
...     3
... ).tolist()
[0.986]

`sketch_files` reads FASTA, and ``lshfast genomes`` is the command. docs/how-to/genomes.md explains
them.

Files:

- sketches.py, reading.py, signatures.py: sketches of k-mers from memory; from FASTA and FASTQ; from
  and to files of sourmash.
- search.py, ani.py: similar pairs; their nucleotide identity.
- command.py, job.py, page.py: the command and its options; its job; its page.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.genomes.ani import ani_interval, ani_of_containment, ani_of_jaccard
    from lshfast.genomes.reading import sketch_files
    from lshfast.genomes.search import GENOME_PAIR, pairs
    from lshfast.genomes.signatures import read_signatures, write_signatures
    from lshfast.genomes.sketches import KmerSketches, Sampling, sketch

__all__ = [
    "GENOME_PAIR",
    "KmerSketches",
    "Sampling",
    "ani_interval",
    "ani_of_containment",
    "ani_of_jaccard",
    "pairs",
    "read_signatures",
    "sketch",
    "sketch_files",
    "write_signatures",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "ani": "ani_interval ani_of_containment ani_of_jaccard",
            "reading": "sketch_files",
            "search": "GENOME_PAIR pairs",
            "signatures": "read_signatures write_signatures",
            "sketches": "KmerSketches Sampling sketch",
        },
    )
