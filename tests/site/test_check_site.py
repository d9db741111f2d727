"""The checker of the site refuses pages whose code is not shown as code, and the sources have no such code."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("pygments", reason="Pygments is not installed")

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCED_BLOCK = re.compile(r"^( *)(`{3,})(.*)\n(?:.*\n)*?\1\2$", re.MULTILINE)


def load(name):
    """Return a module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECKER = load("check_site")

REFUSED = {
    "a prompt in a paragraph": "<p>&gt;&gt;&gt; import lshfast</p>",
    "a prompt in a table": "<table><td>see &gt;&gt;&gt; x</td></table>",
    "a quotation within a quotation": "<blockquote><p>a</p><blockquote>b</blockquote></blockquote>",
    "code in an unknown language": '<div class="highlight-pyhton notranslate"><pre>x = 1</pre></div>',
    "code without a lexer": '<div class="highlight-none notranslate"><pre>x = 1</pre></div>',
    "code that its lexer cannot read": '<div class="highlight-python"><pre><span class="err">$</span></pre></div>',
}
ACCEPTED = {
    "a prompt in a block": '<div class="highlight-pycon notranslate"><pre>&gt;&gt;&gt; x</pre></div>',
    "a prompt in code of a line": "<p>The prompt is <code>&gt;&gt;&gt;</code>.</p>",
    "quotations one after the other": "<blockquote>a</blockquote><blockquote>b</blockquote>",
    "text in a block": '<div class="highlight-text notranslate"><pre>a b</pre></div>',
}


def faults(folder, body):
    (folder / "page.html").write_text(
        f"<html><body>{body}</body></html>", encoding="utf-8"
    )
    return CHECKER.wrong_code(folder, CHECKER.read_pages(folder))


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_code_that_is_not_shown_as_code_is_refused(tmp_path, body):
    [fault] = faults(tmp_path, body)
    assert fault.startswith("page.html: line 1: ")


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_code_that_is_shown_as_code_is_accepted(tmp_path, body):
    assert faults(tmp_path, body) == []


def test_pages_have_prompts_in_fences_of_pycon_only():
    languages = set()
    for page in PAGES:
        text = page.read_text("utf-8")
        blocks = FENCED_BLOCK.finditer(text)
        languages.update(
            (page.name, block[3])
            for block in blocks
            if re.search(r"(?m)^ *>>> ", block[0])
        )
        between = FENCED_BLOCK.sub("", text)
        assert re.findall(r"(?m)^ *>>> .*", between) == [], page
    assert len(languages) > 20
    assert {language for _, language in languages} == {"pycon"}


def test_the_line_that_closes_a_fence_ends_the_output():
    """An output at the end of a block is compared, and the fence is no part of it."""
    parser = load("conftest").PageParser()
    examples = parser.get_examples(
        "```pycon\n>>> 1 + 1\n2\n```\n\n- In a list:\n\n  ```pycon\n  >>> 3\n  3\n  ```\n"
    )
    assert [(example.lineno, example.want) for example in examples] == [
        (1, "2\n"),
        (8, "3\n"),
    ]
