"""What imports load: packages import the modules of their names when these are first used."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lshfast
from lshfast._common.lazy import lazy_names

ROOT = Path(lshfast.__file__).parents[1]
LAZY = sorted(
    ".".join(path.relative_to(ROOT).parent.parts)
    for path in (ROOT / "lshfast").rglob("__init__.py")
    if "lazy_names(" in path.read_text(encoding="utf-8")
    and path.parent.name != "estimators"  # needs scikit-learn
)

# Completes the names of packages as readline does, where only numpy and the standard library can be
# imported.
COMPLETE = """
import importlib, json, rlcompleter, sys

class Extras:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {"numpy", "lshfast", *sys.stdlib_module_names}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Extras())
found = {}
for package in sys.argv[1:]:
    completer = rlcompleter.Completer({"package": importlib.import_module(package)})
    given = iter(lambda at=iter(range(10_000)): completer.complete("package.", next(at)), None)
    found[package] = [text.removeprefix("package.").rstrip("()") for text in given]
print(json.dumps(found))
"""


def loaded_by(statement):
    """Return the modules that a new interpreter has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("name", LAZY)
def test_all_names_of_a_package_can_be_imported(name):
    names = {}
    exec(f"from {name} import *", names)
    assert {*importlib.import_module(name).__all__} <= {*names}


def test_packages_list_their_names_before_these_are_imported():
    public = re.findall(r"`lshfast\.(\w+)`", lshfast.__doc__)
    code = "import sys, lshfast; before = {*sys.modules}; print(dir(lshfast)); assert before == {*sys.modules}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert {*lshfast.__all__, *public} <= {*ast.literal_eval(done.stdout)}


def test_the_package_lists_what_is_public():
    """All that can be imported, and no internal module, also not one that was imported."""
    modules = re.findall(r"`lshfast\.(\w+)`", lshfast.__doc__)
    code = "import lshfast, lshfast._engine.executors.memory; lshfast.dedup(['a']); print(dir(lshfast))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    found = [
        name for name in ast.literal_eval(done.stdout) if not name.startswith("__")
    ]
    assert {*lshfast.__all__, *modules} <= {*found}
    others = {*found} - {*lshfast.__all__, *modules, *lshfast.datasketch.__all__}
    assert others == {
        "ClusterFigures",
        "EarlierFigures",
        "Excess",
        "ParagraphsSummary",
        "RemovedBy",
        "TooManyRemovedError",
    }
    docs = Path(__file__).parents[1] / "docs"
    pages = [docs / "start" / "guide.md", *docs.glob("how-to/*.md")]
    text = "".join(page.read_text("utf-8") for page in pages)
    assert [
        name for name in lshfast.__all__ if not re.search(rf"\b{name}\b", text)
    ] == []
    classes = [
        name for name in lshfast.datasketch.__all__ if not name.startswith("sha1_")
    ]
    assert [getattr(lshfast, name) for name in classes] == [
        getattr(lshfast.datasketch, name) for name in classes
    ]


def test_modules_that_the_pages_name_are_public():
    """All but the internal ones, and those whose import registers names for frames."""
    here = Path(__file__).parents[
        1
    ]  # with the pages, also where the package is installed elsewhere
    pages = [here / "README.md", *(here / "docs").rglob("*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(r"`lshfast\.(\w+)", page.read_text("utf-8"))
    }
    modules = {path.stem for path in (ROOT / "lshfast").glob("*.py")}
    assert named & modules - {"pandas", "polars"} <= {*dir(lshfast)}
    assert lshfast.quality.threshold_of


@pytest.mark.slow
def test_tab_completes_the_names_without_extras():
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE, *LAZY],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    for name in LAZY:
        assert {*importlib.import_module(name).__all__} <= {*found[name]}
    assert {"estimators", "spark", "stages"} <= {*found["lshfast"]}


def test_a_missing_name_is_an_attribute_error():
    with pytest.raises(
        AttributeError, match=r"module 'lshfast\.index' has no attribute 'LSHTree'"
    ):
        _ = lshfast.index.LSHTree
    with pytest.raises(
        AttributeError, match="module 'lshfast' has no attribute 'LSHTree'"
    ):
        _ = lshfast.LSHTree
    with pytest.raises(ImportError, match="cannot import name 'LSHTree'"):
        exec("from lshfast import LSHTree")


def test_lazy_names_change_nothing_of_the_package():
    before = {**vars(json)}
    get, names = lazy_names("json", {"decoder": "JSONDecodeError", ".": "tool"})
    assert vars(json) == before
    assert get("JSONDecodeError") is json.JSONDecodeError
    assert {"JSONDecodeError", "dumps", "tool"} <= {*names()}


def test_packages_need_not_be_imported():
    names = re.findall(r"`lshfast\.(\w+)`", lshfast.__doc__)
    loaded = loaded_by(
        f"import lshfast; lshfast.families.Cascade, {', '.join(f'lshfast.{name}' for name in names)}"
    )
    assert {
        "lshfast.families.cascade",
        *(f"lshfast.{name}" for name in names),
    } <= loaded


def test_the_package_alone_loads_no_numpy():
    assert "numpy" not in loaded_by("import lshfast")


def test_dedup_loads_no_index_and_no_families_of_vectors():
    loaded = loaded_by("import lshfast; lshfast.dedup(['a'])")
    assert loaded.isdisjoint(
        {"lshfast.index.lsh_index", "lshfast.families.vectors", "lshfast.datasketch"}
    )


@pytest.mark.one_case
@pytest.mark.parametrize(
    "arguments", [["--help"], ["dedup", "--help"], ["index", "query", "-h"]]
)
def test_help_loads_no_numpy(arguments):
    pytest.importorskip("typer")
    code = f"import runpy, os; sys.argv[1:] = {arguments}; sys.stdout = open(os.devnull, 'w')"
    code += "\ntry: runpy.run_module('lshfast', run_name='__main__')\nexcept SystemExit: sys.stdout = sys.__stdout__"
    loaded = loaded_by(code)
    assert "lshfast._cli.main" in loaded
    assert "numpy" not in loaded


def test_the_version_is_printed_without_the_commands():
    pytest.importorskip("typer")
    loaded = loaded_by(
        "import runpy; sys.argv[1:] = ['--version']; runpy.run_module('lshfast', run_name='__main__')"
    )
    assert loaded.isdisjoint({"numpy", "typer"})


@pytest.mark.parametrize(
    "package",
    ["lshfast", "lshfast.families", "lshfast.index", "lshfast.spark", "lshfast.stages"],
)
def test_rows_are_rows_of_data_and_not_of_a_band(package):
    module = importlib.import_module(package)
    values = {name: getattr(module, name) for name in module.__all__}
    functions = {
        name: value for name, value in values.items() if inspect.isfunction(value)
    }
    for name, value in values.items():
        if inspect.isclass(value):
            members = inspect.getmembers(value, inspect.isroutine)
            functions |= {
                f"{name}.{member}": function
                for member, function in members
                if inspect.isfunction(function)
            }
    parameters = {
        name: set(inspect.signature(function).parameters)
        for name, function in functions.items()
    }
    assert [
        name
        for name, given in parameters.items()
        if "rows" in given and given & {"bands", "probes"}
    ] == []
