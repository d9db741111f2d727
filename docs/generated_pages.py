"""Pages of the site that are written from the code: the API by module, and each command with its options."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import lshfast

# The modules, in the order of the reference, by what they are for.
MODULES = {
    "Texts and rows": ["lshfast", "join", "exact", "shingling", "passages", "web", "quality"],
    "Search": ["index", "families", "estimators"],
    "Kinds of data": ["records", "images", "genomes", "fingerprints", "distances"],
    "Where data are": ["hf", "duckdb", "spark", "stages"],
    "Parts": ["sketch", "hashing", "datasketch", "textbook"],
}


def module_of(name: str) -> ModuleType:
    return importlib.import_module(name if name == "lshfast" else f"lshfast.{name}")


def public_names(module: ModuleType) -> list[str]:
    """Names that a module defines for its users: `__all__`, or what is defined in it."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def first_line(value: Any) -> str:
    paragraph = (inspect.getdoc(value) or "").split("\n\n", 1)[0]
    return " ".join(paragraph.split()).replace("|", "\\|").replace("``", "`")


def api_page(name: str, documented: dict[int, str]) -> str:
    """One page: the module's introduction, and what is not on an earlier page."""
    module = module_of(name)
    full = module.__name__
    lines = [f"# {full}", "", "```{eval-rst}", f".. py:module:: {full}", "```", "", introduction(module), ""]
    own, elsewhere = [], []
    for public in public_names(module):
        value = getattr(module, public)
        if inspect.ismodule(value):
            continue
        if id(value) in documented and (inspect.isclass(value) or inspect.isroutine(value)):
            elsewhere.append((public, documented[id(value)]))
        else:
            own.append(public)
            documented[id(value)] = full
    if elsewhere:
        lines += ["Also here: " + ", ".join(f"{{py:obj}}`{home}.{public}`" for public, home in elsewhere) + ".", ""]
    lines += ["| | |", "|---|---|"]
    lines += [f"| {{py:obj}}`{public} <{full}.{public}>` | {summary(getattr(module, public))} |" for public in own]
    lines += ["", "```{eval-rst}"]
    for public in own:
        lines += [*directive(getattr(module, public), f"{full}.{public}"), ""]
    return "\n".join([*lines, "```", ""])


def summary(value: Any) -> str:
    return first_line(value) if inspect.isclass(value) or inspect.isroutine(value) else ""


def introduction(module: ModuleType) -> str:
    """The docstring of a module as Markdown: its examples become blocks of code."""
    paragraphs = re.split(r"\n\n+", inspect.getdoc(module) or "")
    return "\n\n".join(f"```pycon\n{part}\n```" if part.startswith(">>>") else part for part in paragraphs)


def directive(value: Any, name: str) -> list[str]:
    """The lines that document a value, without what exceptions and tuples of Python and scikit-learn define."""
    if inspect.isclass(value):
        error = issubclass(value, BaseException)
        outside = (
            error or issubclass(value, tuple) or any(base.__module__.startswith("sklearn.") for base in value.__mro__)
        )
        return [
            f".. auto{'exception' if error else 'class'}:: {name}",
            *(["   :no-inherited-members:"] if outside else []),
        ]
    if inspect.isroutine(value):
        return [f".. autofunction:: {name}"]
    return [f".. py:data:: {name}", *([f"   :value: {value!r}"] if len(repr(value)) < 200 else [])]


def api_pages() -> Iterator[tuple[str, str]]:
    documented: dict[int, str] = {}
    index = ["# API", "", "What can be imported, by module. All other modules are internal and may change.", ""]
    for title, names in MODULES.items():
        index += [f"## {title}", "", "| | |", "|---|---|"]
        index += [
            f"| [{module_of(name).__name__}]({module_of(name).__name__}.md) | {first_line(module_of(name))} |"
            for name in names
        ]
        index.append("")
        for name in names:
            yield module_of(name).__name__, api_page(name, documented)
    pages = [module_of(name).__name__ for names in MODULES.values() for name in names]
    toctree = ["```{toctree}", ":hidden:", "", *pages, "```", ""]
    yield "index", "\n".join([*index, *toctree])


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All verbs below a command, each with the words that call it."""
    for name, below in getattr(command, "commands", {}).items():
        if below.hidden:
            continue
        if getattr(below, "commands", None):
            yield from commands(below, (*path, name))
        else:
            yield (*path, name), below


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def command_section(path: tuple[str, ...], command: Any) -> list[str]:
    """The help of one verb: what it does, its arguments and its options."""
    arguments = [item for item in command.params if item.param_type_name == "argument"]
    options = [item for item in command.params if item.param_type_name == "option" and not item.hidden]
    usage = " ".join([*path, *(item.metavar or item.name.upper() for item in arguments)])
    lines = [f"## {' '.join(path)}", "", inspect.cleandoc(command.help or "").replace("\b\n", ""), ""]
    lines += ["```text", f"{usage} [OPTIONS]", "```", "", "| option | default | |", "|---|---|---|"]
    for item in [*arguments, *options]:
        names = ", ".join(f"`{name}`" for name in [*item.opts, *item.secondary_opts])
        default = item.default
        shown = "" if default in (None, (), [], "", False) or callable(default) else f"`{default}`"
        lines.append(f"| {names} | {shown} | {cell(getattr(item, 'help', None) or '')} |")
    return [*lines, ""]


def command_page() -> str:
    import typer.main

    from lshfast._cli.main import app

    root = typer.main.get_command(app)
    lines = ["# Commands and their options", "", "What `lshfast VERB --help-all` prints, on one page.", ""]
    for path, command in commands(root, ("lshfast",)):
        lines += command_section(path, command)
    return "\n".join(lines)


def write(docs: Path) -> None:
    """Write the pages into docs/reference/api and docs/reference/commands.md, where they have changed."""
    folder = docs / "reference" / "api"
    folder.mkdir(exist_ok=True)
    pages = {folder / f"{name}.md": text for name, text in api_pages()}
    pages[docs / "reference" / "commands.md"] = command_page()
    for path in {*folder.glob("*.md")} - pages.keys():  # of modules that are gone
        path.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


if __name__ == "__main__":
    print(lshfast.__version__)
    write(Path(__file__).parent)
