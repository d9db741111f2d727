"""Pages of the site that are written from the code: the API by module, each command with its options, and the numbers
of the textbooks."""

from __future__ import annotations

import importlib
import inspect
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import lshfast
from lshfast._engine.options.declaration import HEADINGS
from lshfast._engine.options.rules import table

# The pages that show how to use a command or a group of commands.
GUIDES = {
    "dedup": "start/training-data",
    "pairs": "start/guide",
    "explain": "how-to/reports",
    "label": "how-to/reports",
    "check": "how-to/check",
    "tune": "how-to/memory",
    "passages": "how-to/passages",
    "genomes": "how-to/genomes",
    "images": "how-to/images",
    "index": "how-to/text-index",
    "records": "how-to/records",
    "web": "how-to/web",
    "fingerprints": "how-to/fingerprints",
    "stage": "how-to/stages",
}

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


def commands_root() -> Any:
    import typer.main

    from lshfast._cli.main import app

    return typer.main.get_command(app)


def command_name(path: tuple[str, ...]) -> str:
    """The name of the page of a command: `records-match`."""
    return "-".join(path[1:])


def command_page(path: tuple[str, ...], command: Any) -> str:
    """The page of one command: what it does, examples, and its options under the headings of its help."""
    from lshfast._cli.generated import ARGUMENTS

    sections: dict[str, list[Any]] = {heading: [] for heading in (ARGUMENTS, *HEADINGS)}
    for item in command.params:
        if not getattr(item, "hidden", False):
            sections[command.heading_of(item)].append(item)
    usage = " ".join([*path, "[OPTIONS]", *map(argument_name, sections[ARGUMENTS])])
    lines = [f"# {' '.join(path)}", "", inspect.cleandoc(command.help or "").replace("\b\n", ""), ""]
    lines += ["```text", usage, "```", ""]
    if command.examples:
        lines += ["```sh", *command.examples, "```", ""]
    guide = GUIDES.get(command_name(path)) or GUIDES.get(path[1])
    if guide:
        lines += [f"{guide_link(guide)} shows how to use it.", ""]
    for heading, items in sections.items():
        if items:
            lines += [f"## {heading}", "", "| | |", "|---|---|", *map(option_row, items), ""]
    return "\n".join(lines)


def guide_link(guide: str) -> str:
    title = (Path(__file__).parent / f"{guide}.md").read_text("utf-8").partition("# ")[2].partition("\n")[0]
    return f"[{title}](../../{guide}.md)"


def option_row(item: Any) -> str:
    """A row of the table of options: the names, and the help with the values and the default."""
    names = ", ".join(f"`{name}`" for name in [*item.opts, *item.secondary_opts])
    if item.param_type_name == "argument":
        names = f"`{argument_name(item)}`"
    text = cell(getattr(item, "help", None) or "")
    choices = ", ".join(f"`{choice}`" for choice in getattr(item.type, "choices", ()))
    if choices:
        text += f" One of {choices}."
    default = item.default[0] if isinstance(item.default, list) and item.default else item.default
    if default not in (None, (), [], "", False, True) and not callable(default) and "Default:" not in text:
        text += f" Default: `{default}`."
    return f"| {names} | {text} |"


def argument_name(item: Any) -> str:
    return (item.metavar or item.name.upper()) + ("..." if item.nargs == -1 else "")


def commands_index(root: Any) -> str:
    """The page of all commands: groups of them as in `lshfast --help`, and which option works in which way to run."""
    from lshfast._cli.overview import GROUPS

    lines = [
        "# Commands",
        "",
        "A page for each command, with all its options. `lshfast COMMAND -h` prints those that are needed daily,",
        "`--help-all` all. `lshfast --install-completion` sets up completion in bash, zsh, fish and PowerShell.",
        "[Inputs](../../how-to/inputs.md) and [Outputs and errors](../../how-to/outputs.md) say what is read and",
        "written.",
        "",
    ]
    found = dict(commands(root, ("lshfast",)))
    for title, _, names in GROUPS:
        lines += [f"## {title}", "", "| | |", "|---|---|"]
        for path, command in found.items():
            if path[1] in names.split():
                lines.append(f"| [{' '.join(path)}]({command_name(path)}.md) | {first_line_of_help(command)} |")
        lines.append("")
    lines += [
        "## Options by way of running",
        "",
        "All ways to deduplicate take the options that are not in this table. [Spark](../../how-to/spark.md) keeps the",
        "first, last, longest or shortest row, or the one with the greatest value of a column; there, `--top` and",
        "`--most` are options of `lshfast pairs`.",
        "",
        table(),
        "```{toctree}",
        ":hidden:",
        "",
        *map(command_name, found),
        "```",
        "",
    ]
    return "\n".join(lines)


def first_line_of_help(command: Any) -> str:
    return inspect.cleandoc(command.help or "").partition("\n")[0]


def command_pages() -> dict[str, str]:
    """The pages of the folder reference/commands by their names."""
    root = commands_root()
    pages = {command_name(path): command_page(path, command) for path, command in commands(root, ("lshfast",))}
    return {**pages, "index": commands_index(root)}


def textbook_page(docs: Path) -> str:
    """The calls that give the numbers of textbooks, one table for each text."""
    lines = [
        "# Numbers of the textbooks",
        "",
        "Which call gives which number. *Where* is the section, example or exercise of the book, or the topic of a",
        "lecture. [The textbook](../understand/textbook.md) has the imports. The tests evaluate each call.",
        "",
    ]
    _, *rows = (line.split("\t") for line in (docs / "textbook_numbers.tsv").read_text("utf-8").splitlines())
    for text, group in itertools.groupby(rows, key=lambda row: row[0]):
        lines += [f"## {text}", "", "```{table}", ":class: numbers", ""]
        lines += ["| where | what | call → result |", "|---|---|---|"]
        lines += [f"| {where} | {what} | `{call}` → `{result}` |" for _, where, what, call, result in group]
        lines += ["```", ""]
    return "\n".join(lines)


def write_folder(folder: Path, pages: dict[str, str]) -> None:
    """Write the pages of a folder by their names, where they have changed, and remove all others."""
    folder.mkdir(exist_ok=True)
    for path in {*folder.glob("*.md")} - {folder / f"{name}.md" for name in pages}:
        path.unlink()
    for name, text in pages.items():
        write_changed(folder / f"{name}.md", text)


def write_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def write(docs: Path) -> None:
    """Write the generated pages into docs/reference."""
    reference = docs / "reference"
    write_folder(reference / "api", dict(api_pages()))
    write_folder(reference / "commands", command_pages())
    write_changed(reference / "textbook-numbers.md", textbook_page(docs))


if __name__ == "__main__":
    print(lshfast.__version__)
    write(Path(__file__).parent)
