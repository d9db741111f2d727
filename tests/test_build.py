"""A build compiles what changed, and nothing else: a part of the tree is built, changed and built again."""

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from tests.build_kit import TREE, build, needs_a_compiler, needs_the_tree, part_of_tree

MODULES = [
    "cpu",
    "guards",
    "matches",
    "distances",
]  # matches cimports guards, and distances cimports both

pytestmark = [pytest.mark.slow, needs_the_tree, needs_a_compiler]


@pytest.fixture
def setup(monkeypatch):
    """Return setup.py as a module."""
    pytest.importorskip("Cython", reason="Cython is not installed")
    monkeypatch.chdir(TREE)
    spec = importlib.util.spec_from_file_location("setup_of_lshfast", "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_that_a_module_is_made_of(setup):
    """Those that Cython finds, and the .pxd of the module itself, which Cython looks for beside the .pyx only."""
    from Cython.Build.Dependencies import create_dependency_tree
    from Cython.Compiler.Main import Context
    from Cython.Compiler.Options import CompilationOptions

    tree = create_dependency_tree(
        Context.from_options(CompilationOptions(include_path=[".", "src"]))
    )
    sources = sorted(Path("src").glob("*/*_module.pyx"))
    assert len(sources) > 30
    for source in sources:
        found = {os.path.relpath(path) for path in tree.all_dependencies(str(source))}
        found = {
            path
            for path in found
            if path.endswith((".pyx", ".pxd")) and not path.startswith("..")
        }
        own = Path("lshfast/kernels", source.name.replace("_module.pyx", ".pxd"))
        assert {str(path) for path in setup.made_of(source)} == found | (
            {str(own)} if own.exists() else set()
        )


def test_headers_that_c_is_made_of(setup):
    """Those that the compiler reads, and those that it would read for other processors."""
    for c in Path("src").glob("*/*.c"):
        made = subprocess.run(
            ["cc", "-MM", "-Isrc", c], capture_output=True, text=True, check=True
        ).stdout
        assert {str(path) for path in setup.made_of(c)} >= set(
            made.replace("\\\n", " ").split()[1:]
        )


@pytest.fixture
def again(tmp_path):
    """Return a function that builds a part of the tree, and returns the names of the files that were made anew."""
    part_of_tree(tmp_path, MODULES)
    kept = set()

    def run(*options, **variables):
        build(tmp_path, *options, **variables)
        before = set(kept)
        kept.clear()
        kept.update((tmp_path / "build").glob("kernels*/*/*.*"))
        kept.update((tmp_path / "build").glob("cython/*/*.*"))
        return {path.name for path in kept - before}

    return run


def append(path, text):
    """Change a file, and let it be older than all others."""
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    os.utime(path, (0, 0))


def translated(*modules):
    return {f"{module}_module{suffix}" for module in modules for suffix in (".c", ".o")}


def test_what_changed_or_failed_is_compiled(again, tmp_path):
    everything = again("-j", "1")
    assert everything >= translated(*MODULES) | {
        "cpu.o",
        "matches.o",
        "distances_avx2.o",
        "_cython.c",
        "_cython.o",
    }
    assert again() == set()
    append(tmp_path / "lshfast/kernels/cpu.pxd", "# changed\n")
    assert again() == translated("cpu", "distances")
    append(tmp_path / "lshfast/kernels/guards.pxd", "# changed\n")
    assert again() == translated("guards", "matches", "distances")
    append(tmp_path / "src/matches/matches.c", "/* changed */\n")
    assert again() == {"matches.o"}
    append(tmp_path / "src/matches/matches.h", "/* changed */\n")
    assert again() == {"matches.o", "matches_module.o"}
    matches = tmp_path / "src/matches/matches.c"
    content = matches.read_text(encoding="utf-8")
    append(matches, "wrong\n")
    with pytest.raises(AssertionError, match="wrong"):
        again()
    matches.write_text(content + "/* mended */\n", encoding="utf-8")
    assert again() == {"matches.o"}
    assert again() == set()
    assert again(CFLAGS="-DOTHER") == {
        name for name in everything if name.endswith(".o")
    }
    assert again(CFLAGS="-DOTHER") == set()
