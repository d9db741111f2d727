"""The blocks of commands on all pages run in their order, and write the files that they name."""

import re
import shlex
import shutil
from glob import glob

import pytest

pytest.importorskip("typer", reason="the commands need typer")
pytest.importorskip("pyarrow", reason="the inputs are written by pyarrow")
from tests.cli.commands import run
from tests.site.inputs import INPUTS, write
from tests.site.pages import NOT_HERE, agrees, shell, steps
from tests.site.test_commands import PAGES, ROOT
from tests.site.test_pages import OTHERS, ROLES

# Pages whose commands other tests run: test_pages.py, and tests/kernels/test_cimport.py.
ELSEWHERE = {
    *(f"docs/start/{name}.md" for name in ROLES + OTHERS),
    "docs/reference/kernels.md",
}
OUTPUTS = re.compile(
    r" (?:-o|--(?:removed|html|labels|plot|passages|report|groups|review|rates|changes|save-hashes)) ([^\s-]\S*)"
)
LONG = ["README", "docs/index", "docs/how-to/images", "docs/how-to/kinds", "docs/how-to/records",
        "docs/how-to/stages", "docs/tutorials/customers"]  # fmt: skip
MARKS = {f"{page}.md": pytest.mark.slow for page in LONG}
ANSWERS = "s\nd\nq\n"  # to the questions of `lshfast label`
LOOP = re.compile(r"for (\w+) in ([\w ]+); do\s+([^;\n]*?)\s*[;\n]\s*done\n")
SYNTAX = set("|&;<>$(){}")  # what only a shell understands


def blocks(page):
    """Return the steps of a page that are commands, without those that cannot run here."""
    found = [
        step._replace(code=NOT_HERE.sub("", step.code))
        for step in steps(ROOT / page)
        if step.language == "sh"
    ]
    return [step for step in found if step.code.strip()]


def repeated(loop):
    return "".join(
        f"{loop[3].replace('$' + loop[1], value)}\n" for value in loop[2].split()
    )


def printed(code, folder):
    """Run commands: in this process, which saves most of the time, unless they need a shell."""
    lines = LOOP.sub(repeated, re.sub(r"\\\n| +#.*", " ", code)).splitlines()
    if any(
        SYNTAX.intersection(line) or not line.startswith("lshfast ") for line in lines
    ):
        return shell(code, folder)
    said = []
    for line in lines:
        words = shlex.split(line)[1:]
        words = [name for word in words for name in sorted(glob(word)) or [word]]
        done = run(*words, env={"COLUMNS": "80"}, input=ANSWERS)
        assert done.exit_code == 0, (
            f"{line}\nended with {done.exit_code}:\n{done.output}"
        )
        said.append(done.output)
    return "".join(said)


def test_the_table_has_the_pages_with_commands():
    """A page that is not in the table of inputs.py is written there with the files that its commands read."""
    pages = {page.relative_to(ROOT).as_posix() for page in PAGES}
    assert {page for page in pages - ELSEWHERE if blocks(page)} == set(INPUTS)


def test_no_command_is_in_a_block_that_is_not_run():
    """Blocks that are indented, or have another language, would be left out."""
    for page in PAGES:
        text = page.read_text("utf-8")
        assert (
            re.findall(
                r"(?m)^(?: {4}|\t)lshfast .*|^```(?:bash|shell|console).*|^```\nlshfast .*",
                text,
            )
            == []
        )


@pytest.mark.one_case
@pytest.mark.skipif(
    shutil.which("bash") is None, reason="some of the commands need a shell"
)
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=MARKS.get(page, ())) for page in INPUTS]
)
def test_the_commands_of_a_page_run(tmp_path, monkeypatch, page):
    monkeypatch.chdir(tmp_path)
    write(page, tmp_path)
    for step in blocks(page):
        written = [tmp_path / name for name in OUTPUTS.findall(step.code)]
        for path in written:  # another block may write a file of this name, too
            path.unlink(missing_ok=True)
        said = printed(step.code, tmp_path)
        assert [path for path in written if not path.exists()] == []
        assert step.said is None or agrees(step.said, said), (
            f"{step.code}printed\n{said}and not\n{step.said}"
        )


@pytest.mark.slow
def test_the_account_of_the_readme_is_that_of_the_demo():
    """Its numbers depend on the release of Python whose sources are read."""
    account = re.search(
        r"lshfast demo` with Python.*?```text\n(.*?)^```$",
        (ROOT / "README.md").read_text("utf-8"),
        24,
    )
    lines = re.sub(
        r"[\d,]*\d", "…", account[1]
    ).splitlines()  # some lines of the account
    assert agrees("\n…\n".join(["", *lines, ""]), run("demo").output)


def test_the_benchmarks_that_pages_name_exist():
    named = {
        name
        for page in PAGES
        for name in re.findall(r"benchmarks/\w+\.py", page.read_text("utf-8"))
    }
    assert len(named) > 3
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("pip install x && lshfast demo\nlshfast demo\n", "lshfast demo\n"),
        ("docker run \\\n  lshfast dedup a\nlshfast dedup b\n", "lshfast dedup b\n"),
        ("lshfast dedup s3a://crawl -o \\\n  s3a://kept\n", ""),
        ("lshfast dedup hf://datasets/a/b -o kept.jsonl\n", ""),
        ("python benchmarks/all.py --quick\npython check.py\n", "python check.py\n"),
        ("job() {\n  sbatch\n}\n", ""),
        ("lshfast dedup pip/ -o git.jsonl\n", "lshfast dedup pip/ -o git.jsonl\n"),
    ],
)
def test_what_is_left_out(code, left):
    assert NOT_HERE.sub("", code) == left
