"""numpy before 2 makes integers of 32 bits on Windows where no type is named, so the package names the type."""

import ast
import re
from pathlib import Path

import pytest

import lshfast

PACKAGE = Path(lshfast.__file__).parent
SOURCE = Path(__file__).parents[1] / "src"

# Functions whose type follows from Python's ints or from bools: how many arguments they take before
# the dtype.
PLACES = {"arange": 3, "cumsum": 2, "full": 2, "array": 1, "asarray": 1, "cumprod": 2}


def names_no_type(call):
    """Tell whether a call of numpy's leaves to the platform how wide integers are."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    of_numpy = isinstance(function.value, ast.Name) and function.value.id == "np"
    options = {option.arg for option in call.keywords}
    if (
        any(
            isinstance(value, ast.Name) and value.id == "int" for value in call.args[1:]
        )
        and of_numpy
    ):
        return True
    if function.attr == "astype":
        return isinstance(call.args[0], ast.Name) and call.args[0].id == "int"
    if function.attr == "cumsum" and not of_numpy:
        return not options & {"dtype", "out"}
    if not of_numpy or function.attr not in PLACES:
        return False
    if options & {"dtype", "out"} or len(call.args) > PLACES[function.attr]:
        return False
    if function.attr in (
        "array",
        "asarray",
    ):  # of something that numpy has made, they keep the type
        return isinstance(call.args[0], (ast.List, ast.Tuple, ast.ListComp))
    if function.attr == "full":
        return not isinstance(call.args[1], (ast.Attribute, ast.Subscript))
    return True


def calls(path):
    text = path.read_text(encoding="utf-8")
    if (
        re.search(r"\bnp\.|astype|cumsum", text) is None
    ):  # and then there is no such call
        return []
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]


@pytest.mark.slow
def test_integers_have_a_type():
    for path in sorted(PACKAGE.rglob("*.py")):
        wrong = [
            f"line {call.lineno}: {ast.unparse(call)}"
            for call in calls(path)
            if names_no_type(call)
        ]
        assert wrong == [], path


@pytest.mark.skipif(
    not SOURCE.is_dir(), reason="the tests run beside an installed package"
)
def test_integers_of_kernels_have_a_type():
    found = []
    for path in sorted([*SOURCE.glob("**/*.pyx"), *SOURCE.glob("**/*.pxi")]):
        code = re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
        for call in re.finditer(r"np\.(?:arange|cumsum|full|array)\(", code):
            arguments = inside_brackets(code[call.start() :])
            if (
                not re.search(r"np\.|dtype|NO_BYTES", arguments)
                and not arguments.isidentifier()
            ):
                found.append(f"{path.name}: {arguments}")
    assert found == []


def inside_brackets(code):
    """Return what is between the first bracket and the one that closes it."""
    first = at = code.index("(") + 1
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        at += 1
    return code[first : at - 1]
