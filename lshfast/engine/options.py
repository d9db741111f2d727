"""The options of a deduplication, each once: its default, what it says in the help, and which ways of running take it.

Signatures, the command line and the table in docs/command-line.md are tested against this declaration. What a way of
running does not take, it refuses by `refuse`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from lshfast.common.choices import MAX_COLUMNS, MAX_ROW_BYTES
from lshfast.common.stop_words import LANGUAGES

Driver: TypeAlias = Literal["memory", "files", "cap", "stages", "spark"]

# What the command line and the docs call the ways of running.
NAMES: dict[Driver, str] = {
    "memory": "lshfast.dedup",
    "files": "lshfast dedup",
    "cap": "lshfast dedup --memory",
    "stages": "lshfast stage plan",
    "spark": "lshfast dedup --engine spark",
}

EVERY: tuple[Driver, ...] = get_args(Driver)
OF_FILES: tuple[Driver, ...] = ("files", "cap")
OF_PAGES: tuple[Driver, ...] = ("files", "cap", "spark")
OF_PAIRS: tuple[Driver, ...] = ("files", "cap", "stages", "spark")
OF_TASKS: tuple[Driver, ...] = ("files", "cap", "stages")
ALL_FILES: tuple[Driver, ...] = ("files", "cap", "stages", "spark")


@dataclass(frozen=True)
class Option:
    """An option.

    Attributes
    ----------
    name : str
        The name in Python; on the command line, hyphens take the place of underscores.
    default : object
    help : str
        One sentence.
    drivers : tuple of str
        The ways of running that take it.
    without : str
        Why a run within a given amount of memory does not take it, if there is more to say than that.
    """

    name: str
    default: Any
    help: str
    drivers: tuple[Driver, ...] = EVERY
    without: str = ""

    @property
    def shown(self) -> str:
        """The option as users write it on the command line."""
        return "--" + self.name.replace("_", "-")


HELD = "it takes memory for what it finds"

TABLES = ".csv, .tsv, .jsonl (also .gz, .zst, .bz2, .xz), .parquet, - (stdout)"

OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option("output_format", None, "What OUT is, whatever its name says; for -, as INPUT.", OF_FILES),
        Option("defuse_formulas", False, "Write ' before cells of CSV and TSV that spreadsheets would run.", OF_TASKS),
        Option("column", "text", "Column of the texts; a.b is b inside a.", ALL_FILES),
        Option("id_column", None, "Column of the ids; without it a row is FILE:LINE.", ALL_FILES),
        Option("glob", None, "Files of a folder to read; by default data files, or else .txt.", OF_TASKS),
        Option("encoding", "utf-8", "Encoding of JSONL, CSV, TSV and texts, any that Python knows.", OF_TASKS),
        Option("format", None, "What the inputs are, whatever their names say; lines: one text a line.", OF_TASKS),
        Option("max_row_bytes", MAX_ROW_BYTES, "Most bytes of a row of JSONL, CSV or TSV, or of a text.", OF_TASKS),
        Option(
            "delimiter",
            None,
            "What separates the cells of CSV and TSV, or tab; by default detected in each file.",
            OF_TASKS,
        ),
        Option("max_columns", MAX_COLUMNS, "Most columns of a CSV, TSV or Parquet output of rows of JSONL.", OF_FILES),
        Option("threshold", 0.8, "Least similarity, in (0, 1]."),
        Option("unit", "word", "What shingles are made of."),
        Option("size", None, "Words or characters per shingle, 1 to 256; 5, or 3 for stopword."),
        Option(
            "stop_words",
            None,
            f"Stop words of --unit stopword: {', '.join(LANGUAGES)}. Default: english.",
        ),
        Option("num_perm", 128, "Slots per signature, 1 to 65536."),
        Option("scheme", "fast", "MinHash scheme."),
        Option("recall", 0.95, "Probability that a pair at the threshold is found, in (0, 1)."),
        Option("bands", None, "Bands, instead of --recall; with --rows-per-band."),
        Option("rows_per_band", None, "Rows (slots) of a band; with --bands."),
        Option("verify", "exact", "How candidates are verified."),
        Option(
            "exact",
            None,
            "Find every similar pair, by an exact join instead of bands. The default with --measure containment.",
            ("memory", "files"),
            without=HELD,
        ),
        Option("measure", "jaccard", "jaccard; or containment: how much of the shorter text the longer one contains."),
        Option(
            "ignore_common",
            None,
            "Shingles in more than this share of the texts, in (0, 1), do not count: templates, navigation.",
        ),
        Option("groups", "star", "star: each removed row is similar to the kept one; components: chains."),
        Option("keep", "first", "first, last, longest, shortest, max:COLUMN or min:COLUMN."),
        Option("by", None, "Count read and removed rows by the values of this column, such as a source."),
        Option(
            "max_removed",
            None,
            "Write nothing, and end with status 3, if a larger share of all rows, or of a value of --by, is removed.",
        ),
        Option("annotate", False, "Write all rows, with duplicate_of and similarity.", OF_TASKS),
        Option("pairs", None, f"Also write the similar pairs to FILE: {TABLES}.", OF_TASKS),
        Option("top", None, "Of the pairs, only those with the N most similar rows of a row.", OF_PAIRS),
        Option("most", None, "Of the pairs, only those of at most this similarity: close, but no copies.", OF_PAIRS),
        Option(
            "removed",
            None,
            "Also write key, kept_key and similarity (or containment) of removed rows, as --pairs does.",
            ALL_FILES,
        ),
        Option("html", None, "Also write a page that shows what was found: .html.", OF_PAGES),
        Option("html_texts", True, "Whether the page shows texts.", OF_PAGES),
        Option(
            "split",
            None,
            "paragraph: remove similar paragraphs, not rows.",
            ("files",),
            without="paragraphs are deduplicated in memory",
        ),
        Option("against", None, "Also remove rows similar to an entry of this index.", ("memory", "files", "cap")),
        Option(
            "save_index",
            None,
            "Add the rows that stay to the index in this file, or to a new one.",
            ("files",),
            without=HELD,
        ),
        Option(
            "on_duplicate", "error", "On a key that the index has: stop, take the new row, or keep the old.", ("files",)
        ),
        Option(
            "on_error",
            "stop",
            "On a bad row: stop, or skip it and write it to OUT.rejects.jsonl; with -o -, to stderr.",
            OF_FILES,
        ),
        Option("memory", None, "Memory that the run may take, like 4G; the rest is in files.", ("cap", "stages")),
        Option("work", None, "New folder for these files, with --memory; removed at the end.", ("cap", "stages")),
        Option("resume", False, "Go on with the run in the folder of --work.", ("cap",)),
        Option("threads", None, "Default: the CPUs this process may use.", ("memory", "files", "cap", "stages")),
        Option("seed", 1, "0 to 2**64 - 1, or random: drawn for the run."),
        Option("overwrite", False, "Replace outputs that exist.", ("files", "cap", "spark")),
        Option("dry_run", False, "Find everything, write nothing.", ("files", "cap", "spark")),
    )
}


def taken_by(*drivers: Driver) -> list[str]:
    """Return the names of the options that one of these ways of running takes, in their order.

    Examples
    --------
    >>> sorted(set(taken_by("files")) - set(taken_by("spark")))[:3]
    ['against', 'annotate', 'defuse_formulas']
    """
    return [name for name, option in OPTIONS.items() if set(option.drivers) & set(drivers)]


def refuse(driver: Driver, given: Iterable[str], command: str = "dedup") -> None:
    """Raise ValueError if an option that was given is not one of a way of running.

    The error names the way of running, with `command` in the place of dedup.

    Examples
    --------
    >>> refuse("spark", ["threshold", "against"])
    Traceback (most recent call last):
    ...
    ValueError: against is not an option of lshfast dedup --engine spark
    >>> refuse("spark", ["glob"], "pairs")
    Traceback (most recent call last):
    ...
    ValueError: glob is not an option of lshfast pairs --engine spark
    """
    name_of_driver = NAMES[driver].replace("lshfast dedup", f"lshfast {command}")
    for name in given:
        if driver not in OPTIONS[name].drivers:
            reason = f": {OPTIONS[name].without}" if driver == "cap" and OPTIONS[name].without else ""
            raise ValueError(f"{name} is not an option of {name_of_driver}{reason}")


def table() -> str:
    """Return the table of options and ways of running, in Markdown; options that all of them take are left out."""
    lines = [f"| | {' | '.join(f'`{NAMES[driver]}`' for driver in EVERY)} |", f"|---|{'---|' * len(EVERY)}"]
    for option in OPTIONS.values():
        if option.drivers != EVERY:
            lines.append(f"| `{option.shown}` | {' | '.join('yes' if d in option.drivers else '' for d in EVERY)} |")
    return "\n".join(lines) + "\n"
