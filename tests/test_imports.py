"""What imports load: packages import the modules of their names when these are first used."""

import importlib
import subprocess
import sys

import pytest

import lshfast

LAZY = ["lshfast", "lshfast.families", "lshfast.index", "lshfast.index.neighbors", "lshfast.sketch", "lshfast.stages"]


def loaded_by(statement):
    """Return the modules that a new interpreter has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("name", LAZY)
def test_all_names_of_a_package_can_be_imported(name):
    names = {}
    exec(f"from {name} import *", names)
    assert {*importlib.import_module(name).__all__} <= {*names}


def test_a_missing_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'lshfast\.index' has no attribute 'LSHTree'"):
        _ = lshfast.index.LSHTree
    with pytest.raises(AttributeError, match="module 'lshfast' has no attribute 'LSHTree'"):
        _ = lshfast.LSHTree
    with pytest.raises(ImportError, match="cannot import name 'LSHTree'"):
        exec("from lshfast import LSHTree")


def test_packages_need_not_be_imported():
    names = ["hashing", "distances", "exact", "external", "fingerprints", "passages", "records", "textbook", "web"]
    loaded = loaded_by(f"import lshfast; lshfast.families.Cascade, {', '.join(f'lshfast.{name}' for name in names)}")
    assert {"lshfast.families.cascade", *(f"lshfast.{name}" for name in names)} <= loaded


def test_the_package_alone_loads_no_numpy():
    assert "numpy" not in loaded_by("import lshfast")


def test_dedup_loads_no_index_and_no_families_of_vectors():
    loaded = loaded_by("import lshfast; lshfast.dedup(['a'])")
    assert loaded.isdisjoint({"lshfast.index.lsh_index", "lshfast.families.vectors", "lshfast.datasketch"})


def test_the_version_is_printed_without_the_commands():
    pytest.importorskip("typer")
    loaded = loaded_by("import runpy; sys.argv[1:] = ['--version']; runpy.run_module('lshfast', run_name='__main__')")
    assert loaded.isdisjoint({"numpy", "typer"})
