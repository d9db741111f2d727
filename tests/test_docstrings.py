"""What `help` shows: the package as an introduction, and related names of each function and class."""

import doctest
import importlib
import inspect
import re

import pytest

import lshfast

# Modules whose functions name related ones; those of the textbook and of hashing are steps of one page each.
MODULES = (
    "exact", "external", "images", "passages", "records", "stages", "web", "distances",
)  # fmt: skip
FUNCTIONS = [
    f"{module}.{name}"
    for module in MODULES
    for name in importlib.import_module(f"lshfast.{module}").__all__
    if inspect.isfunction(getattr(importlib.import_module(f"lshfast.{module}"), name))
]


def found(path):
    """Return what has this dotted path in lshfast, importing its module."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"lshfast.{module}") if module else lshfast, name)


def related(path):
    """Return the names of the section "See Also" of a docstring."""
    section = re.search(r"^See Also\n-{8}\n((?:.+\n?)+)", inspect.getdoc(found(path)), re.MULTILINE)
    assert section, f"{path} has no section See Also"
    lines = section[1].splitlines()
    assert all(re.fullmatch(r"lshfast(\.\w+)+ : .+\.", line) for line in lines), lines
    return [line.split(" : ")[0].removeprefix("lshfast.") for line in lines]


@pytest.mark.parametrize("path", [*lshfast.__all__, *FUNCTIONS])
def test_related_names_exist(path):
    names = related(path)
    assert 1 <= len(names) == len(set(names))
    for name in names:
        assert found(name) is not found(path)


@pytest.mark.parametrize("path", lshfast.__all__)
def test_sections_are_in_the_order_of_numpydoc(path):
    order = ["Parameters", "Attributes", "Returns", "Raises", "Warns", "See Also", "Notes", "References", "Examples"]
    titles = re.findall(r"^(.+)\n-{4,}$", inspect.getdoc(found(path)), re.MULTILINE)
    after = titles[titles.index("See Also") + 1 :]
    assert set(after) <= set(order[order.index("See Also") :]), titles


def test_the_package_introduces_itself():
    doc = lshfast.__doc__
    parsed = doctest.DocTestParser().get_examples(doc)
    assert parsed[0].source == "import lshfast\n"
    assert "Where to go next:" in doc
    for name in re.findall(r"`([A-Za-z]\w+)`", doc.replace("``", "")):
        assert name in ("lsh", "lshfast") or hasattr(lshfast, name), name
    for name in re.findall(
        r"(?<![`(])lshfast\.(\w+)", doc[doc.index("Where to go next:") : doc.index("Public is what")]
    ):
        importlib.import_module(f"lshfast.{name}")
