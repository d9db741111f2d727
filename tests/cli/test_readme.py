"""The README, and a checkout without compiled modules."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lshfast

ROOT = Path(__file__).parents[2]


def test_the_readme_is_short_and_its_links_lead_to_files():
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.count("\n") <= 90
    links = re.findall(r"\]\(([^)#]+)", text)
    assert len(links) > 10
    if not (
        ROOT / "setup.py"
    ).exists():  # tests that were copied out of the tree have the pages of docs only
        links = [link for link in links if link.startswith("docs/")]
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_the_python_of_the_readme_prints_what_it_says(capsys):
    text = (ROOT / "README.md").read_text("utf-8")
    code, output = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL
    ).groups()
    exec(code, {})
    assert capsys.readouterr().out == output


PACKAGE = Path(lshfast.__file__).parent
COMMANDS = [("-m", "lshfast", "demo"), ("-mlshfast", "demo"), ("bin/lshfast", "demo")]


@pytest.fixture
def python(tmp_path):
    """Return a function that runs Python with the modules in a folder, which has the command that pip makes."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "lshfast").write_text(
        "from lshfast.__main__ import main\nmain()\n"
    )

    def run_python(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run_python


@pytest.mark.slow
@pytest.mark.parametrize("there", ["none", "all but gate", "all but _cython"])
def test_a_checkout_without_compiled_modules_says_how_to_build_them(
    tmp_path, python, there
):
    shutil.copytree(
        PACKAGE,
        tmp_path / "lshfast",
        ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"),
    )
    kernels, absent = tmp_path / "lshfast" / "kernels", there.split()[-1]
    for path in (PACKAGE / "kernels").iterdir():
        if (
            there != "none"
            and path.suffix in (".so", ".pyd")
            and path.name.partition(".")[0] != absent
        ):
            (kernels / path.name).symlink_to(path)
    advice = re.compile(
        rf"the compiled modules of lshfast for this Python are not in {re.escape(str(kernels))} "
        rf"\(missing: {'affine, [a-z]+, [a-z]+, [.]{3}' if there == 'none' else absent}\): "
        r"build them with `pip install -e \.` in the checkout, or leave the checkout to import an installed lshfast\n"
    )
    for module in (
        "lshfast",
        "lshfast._cli.main",
        "lshfast.kernels.text",
        "lshfast.datasketch",
    ):
        said = python("-c", f"import {module}").stderr
        assert advice.fullmatch(said.rpartition("ImportError: ")[2])
        assert said.count('File "') == 4  # the import, and three files of the package
        assert "During handling" not in said
    for command in (*COMMANDS, ("-mlshfast",), ("bin/lshfast", "--help")):
        done = python(*command)
        assert done.returncode == 1
        assert advice.fullmatch(done.stderr.removeprefix("lshfast: error: "))


@pytest.mark.one_case
@pytest.mark.parametrize("module", ["numpy", "typer"])
@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupt_during_the_imports_is_one_line(tmp_path, python, module, command):
    (tmp_path / f"{module}.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\n"
    )
    (tmp_path / "lshfast").symlink_to(PACKAGE)
    done = python(*command)
    assert (done.returncode, done.stderr) == (
        130,
        "lshfast: error: interrupted; no output was left half-written\n",
    )
