"""The options of a deduplication, each once: its default, what it says in the help, and which ways
of running take it.

Signatures, the command line and the table in command-line.md are tested against this declaration.
What a way of running does not take, it refuses by `refuse`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from lshfast._common.choices import MAX_COLUMNS, MAX_ROW_BYTES, Kind, plural
from lshfast._common.stop_words import LANGUAGES

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
OF_KINDS: tuple[Driver, ...] = ("memory", "files", "cap")
OF_PAGES: tuple[Driver, ...] = ("files", "cap", "spark")
OF_PAIRS: tuple[Driver, ...] = ("files", "cap", "stages", "spark")
OF_TASKS: tuple[Driver, ...] = ("files", "cap", "stages")
OF_BANDS: tuple[Driver, ...] = ("cap", "stages", "spark")
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
    off_only : tuple of str
        Those of them that take only False.
    without : str
        Why a run within a given amount of memory does not take it, if there is more to say than
        that.
    kinds : tuple of str
        The kinds of items for which it means something.
    spelling : str
        The name on the command line, if it is another word than in Python.
    """

    name: str
    default: Any
    help: str
    drivers: tuple[Driver, ...] = EVERY
    off_only: tuple[Driver, ...] = ()
    without: str = ""
    kinds: tuple[Kind, ...] = get_args(Kind)
    spelling: str = ""

    @property
    def shown(self) -> str:
        """The option as users write it on the command line."""
        return "--" + (self.spelling or self.name.replace("_", "-"))


TEXTS: tuple[Kind, ...] = ("text",)
SETS: tuple[Kind, ...] = ("text", "set")
POINTS: tuple[Kind, ...] = ("weighted", "vector", "code")

HELD = "it takes memory for what it finds"

TABLES = ".csv, .tsv, .jsonl (also .gz, .zst, .bz2, .xz), .parquet, - (stdout)"

OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option(
            "output_format", None, "What OUT is, whatever its name says; for -, as INPUT.", OF_TASKS
        ),
        Option(
            "defuse_formulas",
            False,
            "Write ' before cells of CSV and TSV that spreadsheets would run.",
            OF_TASKS,
        ),
        Option(
            "column", "text", "Column of the texts, or other items; a.b is b inside a.", ALL_FILES
        ),
        Option("id_column", None, "Column of the ids; without it a row is FILE:LINE.", ALL_FILES),
        Option(
            "glob",
            None,
            "Files of a folder to read; by default data files, or else .txt.",
            OF_TASKS,
        ),
        Option(
            "encoding",
            "utf-8",
            "Encoding of JSONL, CSV, TSV and texts, any that Python knows.",
            OF_TASKS,
        ),
        Option(
            "format",
            None,
            "What the inputs are, whatever their names say; lines: one text a line.",
            OF_TASKS,
        ),
        Option(
            "max_row_bytes",
            MAX_ROW_BYTES,
            "Most bytes of a row of JSONL, CSV, TSV or .npz, or of a text.",
            OF_TASKS,
        ),
        Option(
            "delimiter",
            None,
            "What separates the cells of CSV and TSV, or tab; by default detected in each file.",
            OF_TASKS,
        ),
        Option(
            "max_columns",
            MAX_COLUMNS,
            "Most columns of a CSV, TSV or Parquet output of rows of JSONL.",
            OF_TASKS,
        ),
        Option(
            "kind",
            None,
            "What the items are: text, set, weighted (sets), vector, code; by default as the "
            "column says.",
            OF_KINDS,
            spelling="as",
        ),
        Option(
            "group_by",
            None,
            "Column of groups: the items of a group are a set; with --item.",
            ("files",),
        ),
        Option("item", None, "Column of the items of the groups.", ("files",)),
        Option(
            "weight",
            None,
            "Column of the weights of the items; those of equal items add up.",
            ("files",),
        ),
        Option("threshold", None, "Least similarity, in (0, 1]. Default: 0.8, for vectors 0.95."),
        Option(
            "radius",
            None,
            "Greatest distance, for measures that are one, such as the bits that differ.",
            OF_KINDS,
            kinds=("vector", "code"),
        ),
        Option("unit", "word", "What shingles are made of.", kinds=TEXTS),
        Option(
            "size",
            None,
            "Words or characters per shingle, 1 to 256; 5, or 3 for stopword.",
            kinds=TEXTS,
        ),
        Option(
            "stop_words",
            None,
            f"Stop words of --unit stopword: {', '.join(LANGUAGES)}. Default: english.",
            kinds=TEXTS,
        ),
        Option("num_perm", 128, "Slots per signature, 1 to 65536.", kinds=SETS),
        Option("scheme", "fast", "MinHash scheme.", kinds=SETS),
        Option(
            "recall",
            None,
            "Probability that a pair at the threshold is found, in (0, 1). Default: .95; for "
            "codes, all.",
        ),
        Option("bands", None, "Bands, instead of --recall; with --rows-per-band.", kinds=SETS),
        Option("rows_per_band", None, "Rows (slots) of a band; with --bands.", kinds=SETS),
        Option("verify", "exact", "How candidates are verified.", kinds=SETS),
        Option(
            "exact",
            None,
            "Find every similar pair, by an exact join in memory. The default with --measure "
            "containment.",
            off_only=OF_BANDS,
            without=HELD,
        ),
        Option(
            "measure",
            None,
            "Texts: jaccard, containment. Vectors: cosine, angle, euclidean, manhattan. Codes: "
            "hamming, tanimoto.",
        ),
        Option(
            "ignore_common",
            None,
            "Shingles in more than this share of the texts, in (0, 1), do not count: templates, "
            "navigation.",
            kinds=TEXTS,
        ),
        Option(
            "max_candidates",
            None,
            "Compare rows that share buckets with more than N others in small cells only, and say "
            "how many there are.",
            OF_KINDS,
            kinds=POINTS,
        ),
        Option(
            "groups",
            "star",
            "star: each removed row is similar to the kept one; components: chains.",
        ),
        Option("keep", "first", "first, last, longest, shortest, max:COLUMN or min:COLUMN."),
        Option(
            "by",
            None,
            "Count read and removed rows by the values of this column, such as a source.",
        ),
        Option(
            "max_removed",
            None,
            "Write nothing, and end with status 3, if a larger share of all rows, or of a value "
            "of --by, is removed.",
        ),
        Option("annotate", False, "Write all rows, with duplicate_of and similarity.", OF_TASKS),
        Option("pairs", None, f"Also write the similar pairs to FILE: {TABLES}.", OF_TASKS),
        Option(
            "top", None, "Of the pairs, only those with the N most similar rows of a row.", OF_PAIRS
        ),
        Option(
            "most",
            None,
            "Of the pairs, only those of at most this similarity: close, but no copies.",
            OF_PAIRS,
        ),
        Option(
            "removed",
            None,
            "Also write key, kept_key and similarity (or containment) of removed rows, as --pairs "
            "does.",
            ALL_FILES,
        ),
        Option("html", None, "Also write a page that shows what was found: .html.", OF_PAGES),
        Option("html_texts", True, "Whether the page shows texts.", OF_PAGES),
        Option(
            "html_column",
            None,
            "Column that the page shows of rows, such as titles; by default --column.",
            OF_FILES,
        ),
        Option(
            "split",
            None,
            "paragraph: remove similar paragraphs, not rows.",
            ("files",),
            without="paragraphs are deduplicated in memory",
            kinds=TEXTS,
        ),
        Option(
            "against",
            None,
            "Also remove rows similar to an entry of this index.",
            ("memory", "files", "cap"),
        ),
        Option(
            "save_index",
            None,
            "File to write: the index of --against and the rows that stay; without --against, a "
            "new index of these "
            "alone, which with --overwrite replaces the file.",
            ("files",),
            without=HELD,
        ),
        Option(
            "on_duplicate",
            "error",
            "On a key that the index has: stop, take the new row, or keep the old.",
            ("files",),
        ),
        Option(
            "clusters",
            None,
            "Give groups the ids of earlier runs, which FILE has if it exists, and replace FILE: "
            "key, cluster, "
            "first_seen; .parquet.",
            ("files",),
            without=HELD,
        ),
        Option(
            "changes",
            None,
            "Also write which rows are in new, joined, merged or split groups, or removed: "
            f"{TABLES}.",
            ("files",),
        ),
        Option(
            "on_error",
            "stop",
            "On a bad row: stop, or skip it and write it to OUT.rejects.jsonl; with -o -, to "
            "stderr.",
            OF_FILES,
        ),
        Option(
            "memory",
            None,
            "Memory that the run may take, like 4G; the rest is in files.",
            ("cap", "stages"),
        ),
        Option(
            "work",
            None,
            "New folder for these files, with --memory; removed at the end.",
            ("cap", "stages"),
        ),
        Option(
            "resume", False, "Go on with the run in the folder of --work.", ("cap",), kinds=SETS
        ),
        Option(
            "threads",
            None,
            "Default: the CPUs this process may use.",
            ("memory", "files", "cap", "stages"),
        ),
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
    ['against', 'annotate', 'changes']
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
            reason = (
                f": {OPTIONS[name].without}" if driver == "cap" and OPTIONS[name].without else ""
            )
            raise ValueError(f"{name} is not an option of {name_of_driver}{reason}")


def refuse_for_kind(kind: Kind, given: Mapping[str, Any]) -> None:
    """Raise ValueError if an option that is not one for a kind of items has another value than its
    default.

    Examples
    --------
    >>> refuse_for_kind("vector", {"threshold": 0.9, "size": None, "unit": "char"})
    Traceback (most recent call last):
    ...
    ValueError: unit is for texts, not for vectors
    """
    for name, value in given.items():
        option = OPTIONS[name]
        if kind not in option.kinds and value != option.default:
            kinds = " and ".join(map(plural, option.kinds)).replace(
                " and ", ", ", len(option.kinds) - 2
            )
            raise ValueError(f"{name} is for {kinds}, not for {plural(kind)}")


def table() -> str:
    """Return the table of options and ways of running, in Markdown; options that all of them take
    are left out.
    """
    lines = [
        f"| | {' | '.join(f'`{NAMES[driver]}`' for driver in EVERY)} |",
        f"|---|{'---|' * len(EVERY)}",
    ]
    for option in OPTIONS.values():
        if option.drivers != EVERY or option.off_only:
            lines.append(
                f"| `{option.shown}` | {' | '.join(_cell(option, driver) for driver in EVERY)} |"
            )
    return "\n".join(lines) + "\n"


def _cell(option: Option, driver: Driver) -> str:
    """Return the cell of an option and a way of running in the table."""
    if driver in option.off_only:
        return f"`{option.shown.replace('--', '--no-', 1)}`"
    return "yes" if driver in option.drivers else ""
