"""The help of the whole command: groups of commands, with an example for each."""

from __future__ import annotations

import os
from typing import Any

from lshfast._cli.errors import Commands

# Each group: what for, an example, which fits 60 columns, and the commands.
GROUPS = (
    (
        "Remove and find near-duplicates",
        "lshfast dedup crawl.jsonl -o kept.jsonl",
        "dedup pairs passages explain",
    ),
    ("Search", "lshfast index build crawl.jsonl -o crawl.lsh", "index"),
    ("Link records", "lshfast records match a.csv b.csv -o links.csv", "records"),
    (
        "Special kinds of data",
        "lshfast images photos -o copies.csv",
        "images genomes fingerprints web",
    ),
    ("Understand and plan", "lshfast check crawl.jsonl", "check tune label demo"),
    (
        "Split a large run into tasks",
        "lshfast stage plan crawl.jsonl --work w -o kept",
        "stage",
    ),
)

# Parameters of the escape sequences of terminals.
BOLD = "1"
DIM = "2"


class Overview(Commands):
    """The commands of `lshfast`; its help groups them."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, example, names in GROUPS:
            with formatter.section(_styled(title, BOLD)):
                rows = [
                    (name, self.commands[name].get_short_help_str(formatter.width))
                    for name in names.split()
                ]
                # One width in all groups.
                formatter.write_dl([(f"{name:<12}", text) for name, text in rows])
                formatter.write(f"    {_styled(f'$ {example}', DIM)}\n")
        with formatter.section(_styled("Options", BOLD)):
            formatter.write_dl(
                [
                    record
                    for one in self.get_params(ctx)
                    if (record := one.get_help_record(ctx))
                ]
            )


def _styled(text: str, style: str) -> str:
    """Return text in a style; the parser's echo removes it again for other outputs."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{style}m{text}\x1b[0m"
