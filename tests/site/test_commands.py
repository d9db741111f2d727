"""Every command that the pages show has verbs and options that exist; those of the first pages are also run."""

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the commands need typer")
import typer.main

from lshfast._cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [
    page
    for page in PAGES
    if not {"build", "api", "commands"} & {*page.relative_to(ROOT).parts}
]
COMMAND = typer.main.get_command(app)
SPAN = re.compile(r"(?<!`)`(lshfast [^`]+)`(?!`)")
BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shown_commands(page: Path) -> list[list[str]]:
    """Return the words of each `lshfast ...` in blocks and in sentences, to the end of that command of the shell."""
    found, text = [], page.read_text("utf-8")
    spans = (" ".join(span.split()) for span in SPAN.findall(BLOCK.sub("", text)))
    for block in [*BLOCK.findall(text), *spans]:
        for line in block.replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>()")
            lexer.whitespace_split = True
            words: list[str] = []
            for word in [*lexer, ";"]:
                if re.fullmatch(r"[;|&<>()]+", word):
                    if words[:1] == ["lshfast"]:
                        found.append(words)
                    words = []
                else:
                    words.append(word)
    return found


def fault(words: list[str]) -> str | None:
    """Return what is wrong with the verbs and options of a command, or None."""
    command, rest = COMMAND, words[1:]
    while getattr(command, "commands", None) and rest and not rest[0].startswith("-"):
        if not re.fullmatch("[a-z-]+", rest[0]):  # a variable, a place or dots
            return None
        if rest[0] not in command.commands:
            return f"there is no command {rest[0]}"
        command, rest = command.commands[rest[0]], rest[1:]
    known = {
        "--help",
        *(
            name
            for item in command.params
            for name in (*item.opts, *item.secondary_opts)
        ),
    }
    options = [word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    return next(
        (
            f"{command.name} has no option {name}"
            for name in options
            if name not in known
        ),
        None,
    )


@pytest.mark.parametrize(
    "page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES]
)
def test_the_commands_of_a_page_exist(page):
    assert [
        (" ".join(words), wrong)
        for words in shown_commands(page)
        if (wrong := fault(words))
    ] == []


def test_what_does_not_exist_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\nlshfast dedup a.jsonl --treshold .5 && lshfast dedpu a.jsonl | head\n```\n"
    )
    assert [fault(words) for words in shown_commands(page)] == [
        "dedup has no option --treshold",
        "there is no command dedpu",
    ]


def test_the_pages_show_many_commands():
    assert sum(len(shown_commands(page)) for page in PAGES) > 200


FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^ *%.*", re.MULTILINE)
LIST_IN_SENTENCE = re.compile(r"(?<=[^\s:.|]\n) *1[.)] .*")


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("at least 95\n% of them\n", ["% of them"]),
        ("- at least 95\n  % of them\n", ["  % of them"]),
        ("n (n −\n1) / 2 pairs\n", ["1) / 2 pairs"]),
        ("first:\n\n1. a\n2. b\n\n```python\n%config x\n```\n", []),
    ],
)
def test_lines_that_markdown_takes_for_something_else(text, lost):
    """A line of a sentence that begins with % is a comment, and one that begins with 1. or 1) a list."""
    assert misread(text) == lost


def misread(text: str) -> list[str]:
    text = FENCED.sub("", text)
    return COMMENT.findall(text) + LIST_IN_SENTENCE.findall(text)


def test_no_line_of_a_sentence_is_a_comment_or_a_list():
    found = [
        (str(page.relative_to(ROOT)), line)
        for page in PAGES
        for line in misread(page.read_text("utf-8"))
    ]
    assert found == []
