"""The extension modules: one a stage, each linked with the plain C of its family. The rest is in pyproject.toml."""

import sys
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCES = {
    "text": ["text.c", "text_avx2.c", "text_avx512.c", "cpu.c"],
    "sketch": ["sketch.c", "sketch_avx2.c", "sketch_avx512.c", "cpu.c"],
    "bands": ["bands.c", "bands_avx512.c", "filters.c", "cpu.c"],
    "sets": ["sets.c"],
    "tables": ["tables.c", "tables_avx512.c", "band_tables.c", "bands.c", "bands_avx512.c", "sets.c", "cpu.c"],
    "trees": ["trees.c"],
    "bits": ["bits.c", "bits_avx2.c", "bits_avx512.c", "sketch.c", "sketch_avx2.c", "sketch_avx512.c", "cpu.c"],
    "cardinality": ["cardinality.c", "cardinality_avx512.c", "cardinality_estimates.c", "cpu.c"],
    "checksum": ["checksum.c"],
    "grouping": ["grouping.c", "sets.c"],
    "gate": [],
    "guards": [],
    "weighted": ["weighted.c", "weighted_avx2.c", "weighted_avx512.c", "cpu.c"],
    "simhash": ["simhash.c", "simhash_avx2.c", "simhash_avx512.c", "cpu.c"],
    "affine": [
        *("affine.c", "affine_avx2.c", "affine_avx512.c", "lower.c", "sha1.c", "sha1_ni.c", "sha1_avx512.c"),
        *("sketch.c", "sketch_avx2.c", "sketch_avx512.c", "text.c", "text_avx2.c", "text_avx512.c", "cpu.c"),
    ],
}

# The kernels choose their instructions themselves, so no flag here names a processor; and no product and sum are joined
# into one rounding, since the same bits come out everywhere.
UNIX = ["-O3", "-g0", "-std=gnu11", "-ffp-contract=off", "-fvisibility=hidden"]
FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else UNIX

extensions = [
    Extension(
        f"lshfast.kernels.{module}",
        [f"src/{module}_module.pyx", *(f"src/{source}" for source in sources)],
        depends=glob("src/*.h"),
        include_dirs=["src"],
        extra_compile_args=FLAGS,
    )
    for module, sources in SOURCES.items()
]

# What Cython would put into each module that takes memoryviews: a third of a build, nearly half of its size.
SHARED = "lshfast.kernels._cython"
extensions.append(Extension(SHARED, ["src/_cython.c"], extra_compile_args=FLAGS))

setup(
    ext_modules=cythonize(
        extensions,
        force=True,  # a changed .pxd lies in another folder than its .pyx, where Cython would not notice it
        build_dir="build/cython",
        include_path=["."],
        shared_utility_qualified_name=SHARED,
        compiler_directives={"language_level": 3, "embedsignature": True, "binding": True},
    )
)
