"""The structure of the package: imports point downwards only, without circles, and each name means one thing."""

import ast
import graphlib
import importlib
import pkgutil
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import lshfast

PACKAGE = Path(lshfast.__file__).parent

# What each part of the package may import, besides itself.
BELOW = {
    "kernels": [],
    "common": ["kernels"],
    "reports": ["common"],
    "readers": ["common", "kernels"],
    "tokens": ["common", "kernels"],
    "shingling": ["tokens", "common", "kernels"],
    "hashing": ["common", "kernels"],
    "textbook": ["common"],
    "sketch": ["shingling", "tokens", "common", "kernels"],
}
BELOW["banding"] = ["sketch", *BELOW["sketch"]]
BELOW["families"] = ["banding", *BELOW["banding"]]
BELOW["distances"] = ["families", *BELOW["families"]]
BELOW["join"] = ["hashing", "families", *BELOW["families"]]
BELOW["index"] = ["reports", "families", *BELOW["families"]]
BELOW["kinds"] = ["index", "join", *BELOW["join"]]
BELOW["estimators"] = BELOW["datasketch"] = ["index", *BELOW["index"]]
BELOW["engine"] = ["kinds", "readers", "reports", *BELOW["kinds"]]
BELOW["labelling"] = ["engine", *BELOW["engine"]]
BELOW["external"] = ["join", *BELOW["join"]]
BELOW["exact"] = BELOW["fingerprints"] = ["index", "join", *BELOW["join"]]
BELOW["web"] = ["reports", *BELOW["fingerprints"]]
BELOW["images"] = BELOW["web"]
BELOW["passages"] = BELOW["quality"] = ["engine", *BELOW["engine"]]
BELOW["drivers"] = BELOW["passages"]
BELOW["duckdb"] = BELOW["hf"] = BELOW["pandas"] = BELOW["polars"] = ["drivers", *BELOW["drivers"]]
BELOW["spark"] = BELOW["stages"] = ["drivers", *BELOW["drivers"]]
BELOW["genomes"] = ["readers", "reports", "join", *BELOW["join"]]
BELOW["records"] = ["reports", "join", *BELOW["join"]]
BELOW["jobs"] = ["genomes", "records", "web", "fingerprints", "images", "passages", "quality", *BELOW["stages"]]
BELOW["cli"] = ["spark", "stages", "startup", "jobs", *BELOW["jobs"]]
TOP = {"__init__", "__main__", "startup"}


@cache
def modules():
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] != "__pycache__"]


@cache
def text_of(path):
    return path.read_text(encoding="utf-8")


def part_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@cache
def parts():
    return {part_of(path) for path in modules()}


@cache
def imports_of(path):
    """Return the statements of a module that import, also inside of functions, and the column of each.

    Only these statements are parsed: to walk through the trees of all modules takes four seconds.
    """
    found = re.finditer(r"^( *)((?:from [\w.]+ )?import (?:\([^)]*\)|.*))", text_of(path), re.MULTILINE)
    return [(len(match[1]), *ast.parse(match[2]).body) for match in found]


def imported(path):
    """Return the parts of the package that a module imports, also inside of functions."""
    found = set()
    for _, node in imports_of(path):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "lshfast" else [f"lshfast.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("lshfast.")}
    return found & parts()


def test_imports_point_downwards():
    for path in modules():
        part = part_of(path)
        if part not in TOP:
            assert imported(path) <= {part, *BELOW[part]}, path


DRIVERS = ("files", "tasks", "spark", "memory")


def test_no_driver_imports_another():
    for path in modules():
        inside = path.relative_to(PACKAGE).with_suffix("").parts
        if inside[0] == "drivers" and inside[1] in DRIVERS:
            others = [f"lshfast.drivers.{name}" for name in DRIVERS if name != inside[1]]
            assert [name for name in others if name in text_of(path)] == [], path


def test_no_modules_import_each_other():
    """Nor do packages and their modules, also inside of functions, and for types only."""
    own = {module_of(path): path for path in modules()}
    graph = graphlib.TopologicalSorter()
    for name, path in own.items():
        for _, node in imports_of(path):
            several = set()
            if isinstance(node, ast.Import):
                several = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{alias.name}" for alias in node.names} & own.keys()
                several = inside or {node.module}
            graph.add(name, *several.intersection(own) - {name})  # kernels import compiled modules of their own
    graph.prepare()  # raises CycleError


def module_of(path):
    """Return the name of the module in a file."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_a_class_name_occurs_once():
    names = Counter(
        name for path in modules() for name in re.findall(r"^ *class (\w+)[:(]", text_of(path), re.MULTILINE)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_has_the_name_of_what_its_package_exports():
    packages = [lshfast, *(importlib.import_module(f"lshfast.{part}") for part in BELOW if (PACKAGE / part).is_dir())]
    for package in packages:
        if package.__name__ == "lshfast.datasketch":
            continue  # whose names are datasketch's
        inside = {module.name for module in pkgutil.iter_modules(package.__path__)}
        assert inside.isdisjoint(getattr(package, "__all__", ())), package.__name__


def test_the_core_needs_numpy_alone():
    """Other packages are those of extras, which only functions import."""
    known = sys.stdlib_module_names | {"lshfast", "numpy"}
    extras = {
        "cli",
        "datasketch",
        "drivers",
        "jobs",
        "readers",
        "estimators",
        "stores",
    }  # their modules name what they need
    wrong = []
    for path in modules():
        if extras & set(path.relative_to(PACKAGE).with_suffix("").parts):
            continue
        for column, node in imports_of(path):
            if column:  # inside of functions and conditions
                continue
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            wrong += [f"{path}: {name}" for name in names if name.split(".")[0] not in known]
    assert wrong == []
