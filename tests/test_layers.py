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
    "_common": ["kernels"],
    "_io": ["_common", "kernels"],
    "tokens": ["_common", "kernels"],
    "shingling": ["tokens", "_common", "kernels"],
    "hashing": ["_common", "kernels"],
    "textbook": ["_common"],
    "sketch": ["shingling", "tokens", "_common", "kernels"],
}
BELOW["banding"] = ["sketch", *BELOW["sketch"]]
BELOW["families"] = ["banding", *BELOW["banding"]]
BELOW["distances"] = ["families", *BELOW["families"]]
BELOW["join"] = ["hashing", "families", *BELOW["families"]]
BELOW["index"] = ["_io", "families", *BELOW["families"]]
BELOW["_items"] = ["index", "join", *BELOW["join"], *BELOW["index"]]
BELOW["estimators"] = BELOW["datasketch"] = ["index", *BELOW["index"]]
BELOW["exact"] = ["index", "join", *BELOW["join"]]
BELOW["_engine"] = ["_items", *BELOW["_items"]]
BELOW["duckdb"] = BELOW["hf"] = BELOW["pandas"] = BELOW["polars"] = [
    "_engine",
    *BELOW["_engine"],
]
BELOW["stages"] = ["_engine", *BELOW["_engine"]]
APPLICATIONS = (
    "fingerprints",
    "genomes",
    "images",
    "passages",
    "quality",
    "records",
    "web",
)
for application in APPLICATIONS:
    BELOW[application] = ["_engine", *BELOW["_engine"]]
BELOW["records"] += ["quality"]  # what labels say of a threshold
BELOW["spark"] = [*APPLICATIONS, "_engine", *BELOW["_engine"]]  # whose steps it runs
BELOW["_cli"] = [*APPLICATIONS, "spark", "stages", *BELOW["spark"]]
TOP = {"__init__", "__main__"}


@cache
def modules():
    return [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "__pycache__"
    ]


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
    names = r"(?:\([^)]*\)|[\w.]+(?: as \w+)?(?:, [\w.]+(?: as \w+)?)*(?=$|  #))"
    lines = re.finditer(
        rf"^( *)((?:from [\w.]+ )?import {names})", text_of(path), re.MULTILINE
    )
    return [(len(match[1]), *ast.parse(match[2]).body) for match in lines]


def imported(path):
    """Return the parts of the package that a module imports, also inside of functions."""
    found = set()
    for _, node in imports_of(path):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (
                [node.module]
                if node.module != "lshfast"
                else [f"lshfast.{alias.name}" for alias in node.names]
            )
        found |= {name.split(".")[1] for name in names if name.startswith("lshfast.")}
    return found & parts()


def test_imports_point_downwards():
    for path in modules():
        part = part_of(path)
        if part not in TOP:
            assert imported(path) <= {part, *BELOW[part]}, path


EXECUTORS = ("_engine.executors.memory", "_engine.executors.local", "stages", "spark")


def test_no_executor_imports_another():
    for path in modules():
        name = module_of(path).removeprefix("lshfast.") + "."
        for executor in EXECUTORS:
            if name.startswith(f"{executor}."):
                others = {
                    f"lshfast.{other}" for other in EXECUTORS if other != executor
                }
                assert not others & packages_imported_by(path), path


def packages_imported_by(path):
    """Return the modules that a module imports from, and the packages that these are in."""
    names = set()
    for _, node in imports_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = node.module.split(".")
            names |= {".".join(inside[:length]) for length in range(2, len(inside) + 1)}
    return names


def test_no_module_asks_for_the_class_of_a_plan_or_run():
    """Kinds and plans have methods and attributes that answer."""
    question = re.compile(r"isinstance\([^)]*\b(PointPlan|Plan|PartRun|PointRun)\b")
    assert [path for path in modules() if question.search(text_of(path))] == []


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
                inside = {
                    f"{node.module}.{alias.name}" for alias in node.names
                } & own.keys()
                several = inside or {node.module}
            # Kernels import compiled modules of their own.
            graph.add(name, *several.intersection(own) - {name})
    graph.prepare()  # raises CycleError


def module_of(path):
    """Return the name of the module in a file."""
    return ".".join(
        path.relative_to(PACKAGE.parent).with_suffix("").parts
    ).removesuffix(".__init__")


def test_a_class_name_occurs_once():
    names = Counter(
        name
        for path in modules()
        for name in re.findall(r"^ *class (\w+)[:(]", text_of(path), re.MULTILINE)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_has_the_name_of_what_its_package_exports():
    packages = [
        lshfast,
        *(
            importlib.import_module(f"lshfast.{part}")
            for part in BELOW
            if (PACKAGE / part).is_dir()
        ),
    ]
    for package in packages:
        if package.__name__ == "lshfast.datasketch":
            continue  # whose names are datasketch's
        inside = {module.name for module in pkgutil.iter_modules(package.__path__)}
        assert inside.isdisjoint(getattr(package, "__all__", ())), package.__name__


def test_a_package_says_what_its_files_are_for():
    """Its docstring names each file and package in it, and no files that do not exist."""
    wrong = []
    for path in PACKAGE.rglob("*/__init__.py"):
        folder = path.parent
        names = {file.stem for file in folder.glob("*.py")} - {"__init__"}
        if len(names) < 2:
            continue
        names |= {below.parent.name for below in folder.glob("*/__init__.py")}
        docstring = ast.get_docstring(ast.parse(text_of(path))) or ""
        listed = set(re.findall(r"(?:\b|_)(\w+)(?:\.py|/|`)", docstring))
        files = set(re.findall(r"(?<![\w/.-])(\w+)\.py\b", docstring))
        wrong += [f"{folder}: {name}" for name in (names - listed) | (files - names)]
    assert wrong == []


def test_the_core_needs_numpy_alone():
    """Other packages are those of extras, which only functions import."""
    known = sys.stdlib_module_names | {"lshfast", "numpy"}
    # Their modules name what they need.
    extras = {
        "_cli",
        "_io",
        "datasketch",
        "estimators",
        "executors",
        "job",
        "label_job",
        "spark",
        "stages",
        "stores",
    }
    wrong = []
    for path in modules():
        if extras & set(path.relative_to(PACKAGE).with_suffix("").parts):
            continue
        for column, node in imports_of(path):
            if column:  # inside of functions and conditions
                continue
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            names += (
                [node.module]
                if isinstance(node, ast.ImportFrom) and node.module
                else []
            )
            wrong += [
                f"{path}: {name}" for name in names if name.split(".")[0] not in known
            ]
    assert wrong == []
