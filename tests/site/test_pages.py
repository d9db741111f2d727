"""The first pages of the documentation say what their commands print."""

import re
import shutil
from pathlib import Path

import pytest

from tests.site.pages import agrees, run, steps

DOCS = Path(__file__).parents[2] / "docs"
NEEDS = {"customers": "scipy", "images": "pdqhash"}
ROLES = ["training-data", "customers", "search", "genomes", "images", "reuse"]
OTHERS = ["install"]
MADE_WITH_THE_SITE = re.compile(r"(^|/)(api|commands)/|textbook-numbers")


@pytest.mark.skipif(
    shutil.which("bash") is None, reason="the commands are those of a shell"
)
@pytest.mark.one_case
@pytest.mark.parametrize("name", ROLES + OTHERS)
def test_a_page_says_what_its_commands_print(tmp_path, monkeypatch, name):
    pytest.importorskip(NEEDS.get(name, "pyarrow"))
    monkeypatch.chdir(tmp_path)
    for step, printed in run(DOCS / "start" / f"{name}.md", tmp_path):
        assert step.said is None or agrees(step.said, printed), (
            f"{step.code}printed\n{printed}and not\n{step.said}"
        )


@pytest.mark.parametrize("name", ROLES)
def test_another_number_would_not_agree(name):
    """Of what a page says, each number is compared, but those of times, rates and memory."""
    said = [
        step.said
        for step in steps(DOCS / "start" / f"{name}.md")
        if step.said is not None
    ]
    assert sum(len(re.findall(r"\d+", text)) for text in said) > 10
    for text in said:
        printed = text.replace("…", "anything")
        assert agrees(text, printed)
        for digit in re.finditer(
            r"\d(?![\d,.]* (?:s|ms|kB|MB|GB|MB/s)\b)", text.replace("…", "anything")
        ):
            other = (
                printed[: digit.start()]
                + str((int(digit[0]) + 1) % 10)
                + printed[digit.end() :]
            )
            assert not agrees(text, other)


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("a  1", "a 1\n", True),
        ("a 1", "a 1\nb", False),
        ("a 1\n…", "a 1\nb\nc", True),
        ("…\nc", "a\nb\nc", True),
        ("…\nc", "a\nb", False),
        ("a … c", "a b b c", True),
        ("a …", "a\nb", False),
        ("1.5 s and 3 MB", "99.25 s and 1,000 MB", True),
        ("1.5 sets", "1.6 sets", False),
    ],
)
def test_the_rule_of_the_comparison(said, printed, same):
    assert agrees(said, printed) == same


@pytest.mark.parametrize("name", ROLES)
def test_a_role_has_a_picture_that_is_small_and_described(name):
    text = (DOCS / "start" / f"{name}.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[([^\]]+)\]\(\.\./pictures/([\w-]+\.png)\)", text)
    assert pictures
    for described, file in pictures:
        assert len(described) > 30
        assert (DOCS / "pictures" / file).stat().st_size < 150_000


def _broken_links(page, of):
    """The links of a page to files that are not there; generated pages are left out."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return [
        target
        for target in re.findall(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)", text)
        if not MADE_WITH_THE_SITE.search(target)
        and not (of / target).exists()
        and not (of / f"{target}.md").exists()
    ]


def test_links_lead_to_files():
    """The site has the changelog in another folder, so that its links would lead nowhere."""
    broken = {
        page.name: links
        for page in sorted(DOCS.rglob("*.md"))
        if (links := _broken_links(page, page.parent))
    }
    assert not broken
    assert not _broken_links(DOCS.parent / "CHANGELOG.md", DOCS / "no such folder")
