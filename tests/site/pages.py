"""Pages as programs: their blocks are run in their order, in one folder, and what they print is compared.

- A block of `sh` is run by bash, one of `python` as a part of one program. `NOT_HERE` are the commands that are left
  out, since they install something, need another machine, or take minutes.
- The block of `text` directly behind one of them is what it prints, on standard output and standard error. Runs of
  spaces count as one. A line `…` stands for any lines, and `…` in a line for any characters. Numbers with a unit of
  time, rate or memory (s, ms, kB, MB, GB, MB/s) are equal to all others. Lines of progress, which slow runs print, are
  left out.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lshfast

BLOCK = re.compile(
    r"^```(sh|python)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
COMMANDS = f'set -eu\nlshfast() {{ {sys.executable!r} -m lshfast "$@"; }}\npython() {{ {sys.executable!r} "$@"; }}\n'
NOT_HERE = re.compile(
    r"(?s:.*\bsbatch\b.*)"  # a block that submits jobs
    r"|(?m:^(?:(?:pip|conda|git|podman|docker|make|python benchmarks/\w+\.py) "
    r"|.*\b(?:s3a?|hf)://|.*--executor (?:ray|dask)\b)(?:.*\\\n)*.*\n)"
)
PROGRESS = re.compile(r"(?m)^lshfast: [\w ]+: [\d,]+ .*\n")
MEASURED = re.compile(r"\d[\d,.]* (?=(?:s|ms|kB|MB|GB|MB/s)\b)")


class Step(NamedTuple):
    """A block, and what the page says that it prints; None if the page says nothing."""

    language: str
    code: str
    said: str | None


def steps(page: Path) -> list[Step]:
    blocks = [
        Step(*found.groups())
        for found in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]
    # What has prompts is a doctest.
    return [block for block in blocks if ">>>" not in block.code]


def run(page: Path, folder: Path) -> Iterator[tuple[Step, str]]:
    """Run the blocks of a page, and yield each with what it prints. The current folder must be `folder`."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for step in steps(page):
        if step.language == "sh":
            yield step, shell(step.code, folder)
        else:
            printed = io.StringIO()
            with (
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
            ):
                exec(compile(step.code, page.name, "exec"), names)
            yield step, printed.getvalue()


def shell(code: str, folder: Path) -> str:
    """Run commands, and return what they print."""
    code = NOT_HERE.sub("", code)
    package = str(Path(lshfast.__file__).parent.parent)
    environment = {
        **os.environ,
        "PYTHONPATH": package,
        "COLUMNS": "80",
        "PYTHONIOENCODING": "utf-8",
    }
    command = ["bash", "-c", COMMANDS + code]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=-1,
        stderr=subprocess.STDOUT,
        check=False,
    )
    printed = PROGRESS.sub("", done.stdout.decode())
    assert done.returncode == 0, f"{code}ended with {done.returncode}:\n{printed}"
    return printed


def agrees(said: str, printed: str) -> bool:
    """Whether a page says what was printed."""
    lines = []
    for line in plain(said):
        parts = (re.escape(part) for part in line.split("…"))
        lines.append(r"(?:.*\n)*" if line == "…" else ".*".join(parts) + r"\n")
    return (
        re.fullmatch("".join(lines), "".join(f"{line}\n" for line in plain(printed)))
        is not None
    )


def plain(text: str) -> list[str]:
    """Return the lines without what may differ."""
    return [
        MEASURED.sub("# ", " ".join(line.split()))
        for line in text.strip("\n").split("\n")
    ]


# Show what a page prints: python -m tests.site.pages PAGE, in an empty folder.
if __name__ == "__main__":
    for step, printed in run(Path(sys.argv[1]), Path.cwd()):
        print(f"```{step.language}\n{step.code}```\n\n```text\n{printed}```\n")
