"""The extension modules: one a stage, each linked with the plain C of some folders. The rest is in pyproject.toml."""

import sys
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

if sys.maxsize < 2**32:
    sys.exit("lshfast needs a 64-bit Python: its kernels are neither tested nor useful with 32-bit addresses")

# The folders of src/ whose C each module is linked with. The CPU level in use is the state of one module: `cpu`.
FOLDERS = {
    "affine": ["affine", "sketch", "slots", "text"],
    "arrays": [],
    "arrow": [],
    "bands": ["bands"],
    "bits": ["bits", "sketch", "slots"],
    "cardinality": ["cardinality"],
    "checksum": ["checksum"],
    "cpu": ["cpu"],
    "distances": ["distances"],
    "gate": [],
    "grouping": ["grouping", "bits", "sets", "slots"],
    "guards": [],
    "hamming": ["hamming"],
    "hashing": ["hashing"],
    "json": ["json"],
    "keys": [],
    "leaders": ["leaders"],
    "matches": ["matches"],
    "names": ["tables", "bands", "bits", "slots"],
    "passages": ["passages", "text"],
    "probes": ["probes", "bands"],
    "projections": ["projections", "bands", "weighted"],
    "ranks": ["ranks"],
    "rotations": ["rotations"],
    "runs": ["runs"],
    "sampling": ["sampling"],
    "sets": ["sets", "slots"],
    "setjoin": ["setjoin"],
    "simhash": ["simhash"],
    "sketch": ["sketch"],
    "tables": ["tables", "bands", "bits", "slots"],
    "tables_files": [],
    "tables_queries": ["tables", "bands", "bits", "slots"],
    "tables_search": ["tables", "bands", "bits", "slots", "distances"],
    "text": ["text"],
    "trees": ["trees"],
    "weighted": ["weighted"],
}

# The kernels choose their instructions themselves, so no flag here names a processor; and no product and sum are joined
# into one rounding, since the same bits come out everywhere.
UNIX = ["-O3", "-g0", "-std=gnu11", "-ffp-contract=off", "-fvisibility=hidden"]
FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else UNIX


def c_files(folder):
    """Return the C of a folder, without what Cython may have left there."""
    return sorted(file for file in glob(f"src/{folder}/*.c") if not file.endswith("_module.c"))


extensions = [
    Extension(
        f"lshfast.kernels.{module}",
        [
            *glob(f"src/**/{module}_module.pyx", recursive=True),
            *(file for folder in folders for file in c_files(folder)),
        ],
        depends=glob("src/**/*.h", recursive=True),
        include_dirs=["src"],
        extra_compile_args=FLAGS,
    )
    for module, folders in FOLDERS.items()
]

# What Cython would put into each module that takes memoryviews: a third of a build, nearly half of its size.
SHARED = "lshfast.kernels._cython"
extensions.append(Extension(SHARED, ["src/_cython.c"], extra_compile_args=FLAGS))

setup(
    ext_modules=cythonize(
        extensions,
        force=True,  # a changed .pxd lies in another folder than its .pyx, where Cython would not notice it
        build_dir="build/cython",
        include_path=[".", "src"],
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "embedsignature": True,
            "binding": True,
            "freethreading_compatible": True,  # docs/platforms.md says why
        },
    )
)
