"""Programs of libFuzzer for the C of the kernels: built with Clang and the sanitizers, and kept under build/fuzz.

Sources are compiled again if they, a header or the flags have changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNELS = Path(__file__).parent / "kernels"
BUILT = ROOT / "build" / "fuzz"
CLANG = shutil.which("clang")
FLAGS = [
    "-std=gnu11",
    "-O1",
    "-g",
    "-fno-omit-frame-pointer",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
]
# Comparisons are not traced: that took half of the time, and inputs are numbers to draw rather than words to match.
COVERAGE_FLAGS = ["-fno-sanitize-coverage=trace-cmp"]
PROGRAM_FLAGS = ["-DFUZZING", "-Dmain=unused_main", "-Itests/sanitize"]


def kernel_names() -> list[str]:
    """Return the names of the targets: one for each C file of ``kernels/``."""
    return sorted(path.stem for path in KERNELS.glob("*.c"))


def digest_of(paths: Iterable[Path], flags: Iterable[str]) -> str:
    digest = hashlib.sha256(repr([*flags]).encode())
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def compiled(arguments: list[str]) -> None:
    subprocess.run([str(CLANG), *arguments], cwd=ROOT, check=True)


def library() -> Path:
    """Compile the C of ``src/`` into a library, unless it is there; return its path."""
    sources = [
        path
        for path in sorted((ROOT / "src").glob("*/*.c"))
        if not path.stem.endswith("_module")
    ]
    headers = [*(ROOT / "src").glob("**/*.h")]
    flags = [*FLAGS, "-fsanitize=fuzzer-no-link", *COVERAGE_FLAGS, "-Isrc"]
    objects = []
    commands = []
    (BUILT / "objects").mkdir(parents=True, exist_ok=True)
    for source in sources:
        name = f"{source.stem}-{digest_of([source, *headers], flags)}.o"
        target = BUILT / "objects" / name
        objects.append(str(target))
        if not target.exists():
            commands.append([*flags, "-c", str(source), "-o", str(target)])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compiled, commands))
    archive = BUILT / f"kernels-{digest_of(map(Path, objects), flags)}.a"
    if not archive.exists():
        subprocess.run(["ar", "rcs", str(archive), *objects], check=True)
    return archive


def program(name: str) -> Path:
    """Build the program of a target, unless it is there; return its path."""
    archive = library()
    source = KERNELS / f"{name}.c"
    shared = [*(ROOT / "tests" / "sanitize").glob("*.[ch]"), archive]
    flags = [*FLAGS, *PROGRAM_FLAGS, "-fsanitize=fuzzer", *COVERAGE_FLAGS, "-Isrc"]
    target = BUILT / f"{name}-{digest_of([source, *shared], flags)}"
    if not target.exists():
        for old in BUILT.glob(f"{name}-*"):
            old.unlink()
        compiled([*flags, str(source), str(archive), "-lm", "-o", str(target)])
    return target
