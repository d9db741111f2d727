"""The pages that are written from the code name every command and option, and every number of the textbooks."""

import re

import pytest

pytest.importorskip("typer", reason="the commands need typer")
import typer.main

from lshfast._cli.main import app
from lshfast._engine.options.rules import table
from tests.site.test_check_site import ROOT, load

GENERATED = load("generated_pages")
PAGES = GENERATED.command_pages()
COMMANDS = dict(GENERATED.commands(typer.main.get_command(app), ("lshfast",)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_page_of_a_command_has_its_arguments_options_and_examples(path):
    page, command = PAGES["-".join(path[1:])], COMMANDS[path]
    assert page.startswith(f"# {' '.join(path)}\n")
    for item in command.params:
        if item.param_type_name == "argument":
            assert f"| `{GENERATED.argument_name(item)}` |" in page
        else:
            assert all(
                f"`{name}`" in page for name in [*item.opts, *item.secondary_opts]
            )
    assert all(example in page for example in command.examples)


def test_the_index_links_to_each_command_and_has_the_ways_of_running():
    linked = re.findall(r"\]\(([\w-]+)\.md\)", PAGES["index"])
    assert sorted(linked) == sorted(PAGES.keys() - {"index"})
    assert table() in PAGES["index"]


def test_the_guides_of_commands_are_pages_of_commands_or_groups():
    words = {path[1] for path in COMMANDS} | PAGES.keys()
    assert GENERATED.GUIDES.keys() <= words


def test_the_page_of_numbers_has_each_line_of_the_table():
    page = GENERATED.textbook_page(ROOT / "docs")
    lines = (ROOT / "docs" / "textbook_numbers.tsv").read_text("utf-8").splitlines()
    assert page.count("\n| ") - page.count("\n| where |") == len(lines) - 1


def test_only_changed_pages_are_written_and_others_removed(tmp_path):
    folder = tmp_path / "pages"
    GENERATED.write_folder(folder, {"a": "1", "b": "2"})
    written = (folder / "a.md").stat().st_mtime_ns
    GENERATED.write_folder(folder, {"a": "1", "c": "3"})
    assert sorted(path.name for path in folder.iterdir()) == ["a.md", "c.md"]
    assert (folder / "a.md").stat().st_mtime_ns == written
