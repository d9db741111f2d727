"""The extension modules: one a stage, each linked with the plain C of its family. The rest is in pyproject.toml."""

import sys
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCES = {
    "text": ["text.c", "text_avx2.c", "text_avx512.c", "cpu.c"],
    "sketch": ["sketch.c", "sketch_avx2.c", "sketch_avx512.c", "cpu.c"],
    "bands": ["bands.c", "bands_avx512.c", "cpu.c"],
    "sets": ["sets.c"],
    "tables": ["tables.c", "tables_avx512.c", "band_tables.c", "bands.c", "bands_avx512.c", "sets.c", "cpu.c"],
    "trees": ["trees.c"],
    "bits": ["bits.c", "bits_avx2.c", "bits_avx512.c", "sketch.c", "sketch_avx2.c", "sketch_avx512.c", "cpu.c"],
    "gate": [],
    "simhash": ["simhash.c", "simhash_avx2.c", "simhash_avx512.c", "cpu.c"],
}

# The kernels choose their instructions themselves, so no flag here names a processor.
FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else ["-O3", "-g0", "-std=gnu11", "-fvisibility=hidden"]

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

setup(
    ext_modules=cythonize(
        extensions,
        force=True,  # a changed .pxd lies in another folder than its .pyx, where Cython would not notice it
        build_dir="build/cython",
        include_path=["."],
        compiler_directives={"language_level": 3, "embedsignature": True, "binding": True},
    )
)
