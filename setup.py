"""The extension modules: src/*/NAME_module.pyx becomes lshfast.kernels.NAME. The rest is in
pyproject.toml.

Each .pyx and .c is compiled once, several at a time, and its object is linked into the modules that
need it. Generated C and objects are kept in build/ under a digest of all that they were made from;
the next build compiles what changed.
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from hashlib import sha256
from itertools import chain
from pathlib import Path
from sysconfig import get_config_var, get_platform

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

if sys.maxsize < 2**32:
    sys.exit(
        "lshfast needs a 64-bit Python: its kernels are neither tested nor useful with 32-bit "
        "addresses"
    )

# The folders of src/ whose C a module is linked with, if not just the one of its name. Each module
# has its own copy of what the C keeps. The CPU level in use is kept by one module: `cpu`.
TABLES = ["tables", "bands", "bits", "slots"]
FOLDERS = {
    "affine": ["affine", "sketch", "slots", "text"],
    "bits": ["bits", "sketch", "slots"],
    "grouping": ["grouping", "bits", "sets", "slots"],
    "leaders": ["leaders", "hamming"],
    "meetings": ["meetings", "bits", "distances", "sketch", "slots"],
    "names": TABLES,
    "passages": ["passages", "text"],
    "probes": ["probes", "bands"],
    "projections": ["projections", "bands", "weighted"],
    "sets": ["sets", "slots"],
    "tables": TABLES,
    "tables_queries": TABLES,
    "tables_codes": [*TABLES, "distances", "hamming", "points", "rotations"],
    "tables_search": [*TABLES, "distances"],
}

# What Cython would put into each module that takes memoryviews: a third of a build, nearly half of
# its size.
SHARED = "lshfast.kernels._cython"

CYTHON = {
    "include_path": [".", "src"],
    "shared_utility_qualified_name": SHARED,
    "compiler_directives": {
        "language_level": 3,
        "embedsignature": True,
        "binding": True,
        "freethreading_compatible": True,  # docs/reference/platforms.md says why
    },
}

# The kernels choose their instructions themselves, so no flag here names a processor; and no
# product and sum are joined into one rounding, since the same bits come out everywhere. Generated C
# has few loops that matter, and -O3 would take a third longer for it.
KERNEL_FLAGS = ["-O3", "-g0", "-std=gnu11", "-ffp-contract=off", "-fvisibility=hidden"]
GENERATED_FLAGS = [*KERNEL_FLAGS, "-O2"]
MSVC_FLAGS = ["/O2", "/std:c11"]

# Flags of a build with sanitizers, after all others. Python is often built with -fwrapv, which is
# then passed to its extensions and would hide signed overflow.
SANITIZE = os.environ.get("LSHFAST_SANITIZE", "")
SANITIZER_LINK_FLAGS = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
SANITIZER_FLAGS = (
    ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-wrapv", *SANITIZER_LINK_FLAGS]
    if SANITIZE
    else []
)

# What changes the output of compilers beside their command.
VARIABLES = [
    "ARCHFLAGS",
    "CPATH",
    "C_INCLUDE_PATH",
    "MACOSX_DEPLOYMENT_TARGET",
    "SDKROOT",
    "INCLUDE",
    "CL",
    "_CL_",
]
REFERENCES = re.compile(
    r'^\s*(?:#\s*)?include\s+"(.+)"|^\s*(?:from\s+([\w.]+)\s+cimport|cimport\s+([\w.]+))\b',
    re.M,
)


def sources_of(module, pyx):
    """Return the .pyx of a module and the C of its folders, without what Cython may have left
    there.
    """
    files = [
        file
        for folder in FOLDERS.get(module, [module])
        for file in sorted(glob(f"src/{folder}/*.c"))
    ]
    return [pyx, *(file for file in files if not file.endswith("_module.c"))]


def made_of(source):
    """Return a source, the .pxd of its module, and all files of src/ and lshfast/ that these
    include or cimport.
    """
    found = [
        Path(source),
        *Path("lshfast/kernels").glob(
            Path(source).name.removesuffix("_module.pyx") + ".pxd"
        ),
    ]
    for path in found:  # which grows
        for include, *modules in REFERENCES.findall(path.read_text(encoding="utf-8")):
            name = include or "".join(modules).replace(".", "/") + ".pxd"
            places = [folder / name for folder in (path.parent, Path("src"), Path())]
            found += [
                place for place in places if place.is_file() and place not in found
            ]
    return found


def write_digest_of_sources(folder):
    """Write a digest of all C and Cython beside the modules; `lshfast._common.code_version` tells
    builds apart by it.
    """
    files = [
        *Path("src").rglob("*.[ch]"),
        *Path("src").rglob("*.pyx"),
        *Path("src").rglob("*.pxd"),
    ]
    files += Path("lshfast/kernels").glob("*.pxd")
    sources = sorted(
        path
        for path in files
        if not path.name.endswith("_module.c") and path.name != "_cython.c"
    )
    content = [
        (path.as_posix(), path.read_bytes().replace(b"\r\n", b"\n")) for path in sources
    ]
    (folder / "sources.digest").write_text(
        sha256(repr(content).encode()).hexdigest(), "ascii"
    )


class build_kernels(build_ext):
    """Compile what changed, on the CPUs that this process may use (`-j N`: on N), and link all
    modules.
    """

    def build_extensions(self):
        if not getattr(
            self.compiler, "initialized", True
        ):  # MSVC; otherwise several threads would do it
            self.compiler.initialize()
        self.compiler.force = True  # it would compare times, and leave out links
        msvc = self.compiler.compiler_type == "msvc"
        if msvc and SANITIZE:
            sys.exit(
                f"LSHFAST_SANITIZE={SANITIZE} needs GCC or Clang, not MSVC; unset it"
            )
        self.flags = MSVC_FLAGS if msvc else [*KERNEL_FLAGS, *SANITIZER_FLAGS]
        self.generated_flags = (
            MSVC_FLAGS if msvc else [*GENERATED_FLAGS, *SANITIZER_FLAGS]
        )
        command = (
            [self.compiler.cc] if msvc else self.compiler.compiler_so
        )  # the path of MSVC holds its version
        version = (
            None
            if msvc
            else subprocess.run([*command, "--version"], stdout=subprocess.PIPE).stdout
        )
        # The C includes the headers of Python: another include folder, which each virtual
        # environment has, says nothing.
        includes = [
            folder
            for folder in self.compiler.include_dirs
            if os.path.exists(os.path.join(folder, "Python.h"))
        ]
        self.compiled_by = [command, version, includes, self.compiler.macros]
        self.compiled_by += [sys.version, get_platform(), get_config_var("EXT_SUFFIX")]
        self.compiled_by += map(os.environ.get, VARIABLES)
        kind = f"kernels-{SANITIZE.replace(',', '-')}" if SANITIZE else "kernels"
        self.kept = Path("build", kind + get_config_var("EXT_SUFFIX")).with_suffix("")
        self.kept.mkdir(parents=True, exist_ok=True)
        # Cython makes the same C for each Python.
        self.generated = Path("build", "cython")
        self.generated.mkdir(parents=True, exist_ok=True)
        self.used = set()
        cpus = (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count()
        )
        # Generated C takes longest, so it is first; Cython makes the next in this thread while
        # compilers run in others.
        pyx = {extension.sources[0]: extension for extension in self.extensions}
        plain = {
            c: None for extension in self.extensions for c in extension.sources[1:]
        }
        with ThreadPoolExecutor(self.parallel or cpus) as pool:
            compiled = pool.map(
                self.compile, chain(map(self.translate, pyx.values()), plain)
            )
            self.objects = dict(zip([*pyx, *plain], compiled, strict=True))
            list(pool.map(self.build_extension, self.extensions))
        for old in {*self.kept.iterdir(), *self.generated.iterdir()} - self.used:
            shutil.rmtree(old)
        write_digest_of_sources(Path(self.get_ext_fullpath(SHARED)).parent)

    def copy_extensions_to_source(self):
        """Copy the modules into the tree, as `pip install -e` does, and the digest too."""
        super().copy_extensions_to_source()
        write_digest_of_sources(Path("lshfast/kernels"))

    def build_extension(self, extension):
        self.compiler.link_shared_object(
            [self.objects[source] for source in extension.sources],
            self.get_ext_fullpath(extension.name),
            libraries=self.get_libraries(extension),
            export_symbols=self.get_export_symbols(extension),
            debug=self.debug,
            extra_postargs=SANITIZER_LINK_FLAGS,
            build_temp=self.build_temp,
        )

    def translate(self, extension):
        """Return the C of the .pyx of a module, or of the module that the others share."""
        source = extension.sources[0]
        options = {**CYTHON, "force": True}
        files = [] if extension.name == SHARED else made_of(source)

        def make(folder):
            [module] = cythonize(
                [Extension(extension.name, [source])], build_dir=folder, **options
            )
            return module.sources[0]

        return self.made(
            self.generated / Path(source).with_suffix(".c").name,
            files,
            [Cython.__version__, options],
            make,
        )

    def compile(self, c):
        """Return the object of a file of C."""
        flags = self.flags if c.startswith("src") else self.generated_flags
        options = {
            "include_dirs": ["src"],
            "extra_postargs": flags,
            "debug": self.debug,
        }
        [name] = self.compiler.object_filenames([c], strip_dir=True)
        inputs = [self.compiled_by, options]
        return self.made(
            self.kept / name,
            made_of(c),
            inputs,
            lambda folder: self.compiler.compile([c], folder, **options)[0],
        )

    def made(self, path, files, others, make):
        """Return the file that `make(folder)` makes of files and other inputs, or made of the same
        before. It is kept beside `path`, in a folder for these inputs.
        """
        inputs = [others, [(file.as_posix(), file.read_bytes()) for file in files]]
        digest = sha256(repr(inputs).encode()).hexdigest()[:32]
        made = path.parent / digest / path.name
        self.used.add(made.parent)
        if not made.exists():
            folder = made.parent / "new"
            folder.mkdir(parents=True, exist_ok=True)
            os.replace(make(str(folder)), made)  # so what is there is whole
            shutil.rmtree(folder)
        return str(made)


if __name__ == "__main__":
    modules = {
        Path(file).name.removesuffix("_module.pyx"): file
        for file in sorted(glob("src/*/*_module.pyx"))
    }
    extensions = [
        Extension(f"lshfast.kernels.{module}", sources_of(module, pyx))
        for module, pyx in modules.items()
    ]
    setup(
        cmdclass={"build_ext": build_kernels},
        ext_modules=[*extensions, Extension(SHARED, ["src/_cython.c"])],
    )
