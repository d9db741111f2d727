"""What `help` shows: the package as an introduction, and related names of each function and class."""

import doctest
import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import lshfast

DOCS = Path(__file__).parents[1] / "docs"


def pages():
    """Return the module that lists the documented modules and their public names."""
    spec = importlib.util.spec_from_file_location(
        "generated_pages", DOCS / "generated_pages.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = pages()
MODULES = [name for names in PAGES.MODULES.values() for name in names]


def found(path):
    """Return what has this dotted path in lshfast, importing its module."""
    module, _, name = path.rpartition(".")
    return getattr(
        importlib.import_module(f"lshfast.{module}") if module else lshfast, name
    )


def related(path):
    """Return the names of the section "See Also" of a docstring."""
    section = re.search(
        r"^See Also\n-{8}\n((?:.+\n?)+)", inspect.getdoc(found(path)), re.MULTILINE
    )
    assert section, f"{path} has no section See Also"
    lines = section[1].splitlines()
    assert all(re.fullmatch(r"lshfast(\.\w+)+ : .+\.", line) for line in lines), lines
    return [line.split(" : ")[0].removeprefix("lshfast.") for line in lines]


@pytest.mark.parametrize("module", MODULES)
def test_classes_and_functions_name_related_ones_that_exist(module):
    try:
        defined = PAGES.module_of(module)
    except ImportError as error:
        pytest.skip(str(error))
    public = {name: getattr(defined, name) for name in PAGES.public_names(defined)}
    public = {
        name: value
        for name, value in public.items()
        if inspect.isclass(value) or inspect.isroutine(value)
    }
    assert public
    for name, value in public.items():
        names = related(name if module == "lshfast" else f"{module}.{name}")
        assert 1 <= len(names) == len(set(names)), name
        assert [other for other in names if found(other) is value] == [], name
        titles = re.findall(r"^(.+)\n-{4,}$", inspect.getdoc(value), re.MULTILINE)
        assert set(titles[titles.index("See Also") + 1 :]) <= {
            "Notes",
            "References",
            "Examples",
        }, name


def test_the_package_introduces_itself():
    doc = lshfast.__doc__
    parsed = doctest.DocTestParser().get_examples(doc)
    assert parsed[0].source == "import lshfast\n"
    assert "Where to go next:" in doc
    for name in re.findall(r"`([A-Za-z]\w+)`", doc.replace("``", "")):
        assert name in ("lsh", "lshfast") or hasattr(lshfast, name), name
    for name in re.findall(
        r"(?<![`(])lshfast\.(\w+)",
        doc[doc.index("Where to go next:") : doc.index("Public is what")],
    ):
        importlib.import_module(f"lshfast.{name}")
