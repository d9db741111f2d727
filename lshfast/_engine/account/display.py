"""How the figures of a run are shown, and its removed rows as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

from lshfast._common.choices import ItemMeasure, Kind, NormalForm, plural
from lshfast._common.display import Figure, Shown, counted, escape, figure
from lshfast._common.visible import visible
from lshfast._engine.clock import Stage

# The kind of the similarities for each value of `verify`.
SIMILARITY_KINDS = {
    "exact": "exact",
    "signature": "estimated by signatures",
    "none": "estimated, not compared to the threshold",
}

# The name of the similarity or distance for each value of `measure`.
SIMILARITY_NAMES: dict[ItemMeasure, str] = {
    "jaccard": "similarity",
    "containment": "containment",
    "cosine": "similarity",
    "tanimoto": "similarity",
    **dict.fromkeys(("angle", "euclidean", "manhattan", "hamming"), "distance"),
}

# The most removed rows in the HTML report, and the most characters of a key.
SHOWN_ROWS = 5
SHOWN_CHARACTERS = 60

# The most suffixes that an account names.
SHOWN_SUFFIXES = 8


@dataclass(frozen=True, repr=False, kw_only=True)
class Account(Shown):
    """The base of all summaries: the numbers of rows of a run, and its times.

    Two accounts are equal if all attributes except `stages` and `seconds` are. A notebook shows a
    table.

    Attributes
    ----------
    read, rejected : int
        Rows that were read, and bad rows.
    seconds : float
    stages : dict of str to Stage
        Seconds and bytes of the stages that were measured.
    delimiters : dict of str to str
        The delimiters of CSV and TSV inputs that are not the comma, or the tab of TSV, by the names
        of the files.
    unread : dict of str to int
        How many files of folders were not read, by the end of their names, such as ".docx"; ""
        stands for none.
    lines : dict of str to int
        Files that were read as one text each and may have a text on each line, with their numbers
        of lines.
    advice : str
        What would be better for these rows, or "".

    Raises
    ------
    RuntimeError
        If rows were lost: if `read` is not the sum of the attributes in `PARTS`.
    """

    # What became of the rows.
    PARTS: ClassVar[tuple[str, ...]] = ("kept", "removed", "rejected")

    # The stages that `seconds` does not contain.
    AFTERWARDS: ClassVar[tuple[str, ...]] = ()

    read: int
    rejected: int
    stages: dict[str, Stage] = field(default_factory=dict, compare=False, repr=False)
    seconds: float = field(compare=False, repr=False)
    delimiters: dict[str, str] = field(default_factory=dict)
    unread: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    advice: str = ""

    def __post_init__(self) -> None:
        counts = {name: getattr(self, name) for name in self.PARTS}
        if sum(counts.values()) != self.read:
            summands = " + ".join(f"{count} {name}" for name, count in counts.items())
            raise RuntimeError(f"rows were lost: {summands} are not {self.read} read")

    @property
    def refused(self) -> int:
        """Bad rows of all inputs."""
        return self.rejected

    @property
    def finding_more(self) -> str:
        """The options of the command that find less similar pairs."""
        return "a lower --threshold, or larger --radius, finds less similar ones"

    @property
    def parts(self) -> str:
        """The numbers of rows by result, as a sum."""
        return " + ".join(f"{getattr(self, name):,} {name}" for name in self.PARTS)

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table, without inputs and times."""
        raise NotImplementedError

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        took = figure("seconds", f"{self.seconds:,.2f}")
        return (
            type(self).__name__,
            [*self.figures(), *self.input_figures(), took],
            self.advice,
        )

    def input_figures(self) -> list[Figure]:
        """Return the lines of how the inputs were read."""
        return input_figures(self.delimiters, self.unread, self.lines)


def input_figures(
    delimiters: Mapping[str, str], left_out: Mapping[str, int], lines: Mapping[str, int]
) -> list[Figure]:
    """Return lines for unusual delimiters, files that were not read, and texts of many lines."""
    figures = [
        figure("delimiter", name, note) for name, note in delimiter_notes(delimiters)
    ]
    if left_out:
        suffix_counts = [
            f"{count:,} {suffix or 'without a suffix'}"
            for suffix, count in left_out.items()
        ]
        if len(suffix_counts) > SHOWN_SUFFIXES:
            suffix_counts[SHOWN_SUFFIXES:] = [
                counted(
                    len(suffix_counts) - SHOWN_SUFFIXES, "more suffix", "more suffixes"
                )
            ]
        note = f"files of folders that are not read: {', '.join(suffix_counts)}"
        figures.append(figure("left out", sum(left_out.values()), note))
    if lines:
        name, count = next(iter(lines.items()))
        more_files = f" and {len(lines) - 1:,} more" if len(lines) > 1 else ""
        note = (
            f"lines of {name} are one text{more_files}; format lines (--format lines) reads a "
            "text from each line"
        )
        figures.append(figure("lines", count, note))
    return figures


def groups_figure(groups: int, largest: int, noun: str) -> Figure:
    """Return the line for the number of groups and the size of the largest."""
    return figure(
        "groups", groups, f"the largest has {counted(largest, noun)}" if groups else ""
    )


def empty_note(
    number: int, measure: ItemMeasure = "jaccard", kind: Kind = "text"
) -> str:
    """Return a note on rows without shingles, or without another item, if there are any."""
    return f"{number:,} without {contents_of(measure, kind)} (empty)" if number else ""


def normal_form_figures(normalize: NormalForm) -> Iterator[Figure]:
    """Yield the line that names the normal form in which texts were compared, if there is one."""
    if normalize != "none":
        note = "the normal form of all texts; exact copies are equal in it"
        yield figure("compared in", normalize, note)


def contents_of(measure: ItemMeasure, kind: Kind = "text") -> str:
    """Return the noun for the content that an empty row lacks."""
    if kind in ("set", "weighted"):
        return "elements"
    if measure in ("jaccard", "containment"):
        return "shingles"
    if measure in ("hamming", "tanimoto"):
        return "a code"
    return "a vector or a direction" if measure in ("cosine", "angle") else "a vector"


def bound_name(measure: ItemMeasure) -> str:
    """Return the name of the bound of a measure."""
    return "radius" if SIMILARITY_NAMES[measure] == "distance" else "threshold"


def place_of_recall(measure: ItemMeasure, kind: Kind = "text") -> str:
    """Return for which pairs the recall of a run holds."""
    if measure == "containment":
        return f"at the threshold, for {plural(kind)} of one size"
    return f"at the {bound_name(measure)}"


def delimiter_notes(delimiters: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each delimiter and its number of files; `delimiters` has one for each file name."""
    for delimiter in dict.fromkeys(delimiters.values()):
        files = [file for file, other in delimiters.items() if other == delimiter]
        more_files = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
        name = "tab" if delimiter == "\t" else delimiter
        yield name, f"separates the cells of {files[0]}{more_files}"


def removed_as_html(
    removals: Iterator[tuple[Any, Any, float]], count: int, measure: ItemMeasure
) -> str:
    """Return an HTML table of the first of `count` removed rows, or "" without any.

    A removal has the key of a row, the key of the row kept instead, and their similarity.
    """
    removed = list(islice(removals, SHOWN_ROWS))
    if not removed:
        return ""
    names = (
        f"<tr><th>removed</th><th>kept</th><th>{SIMILARITY_NAMES[measure]}</th></tr>"
    )
    rows = "".join(
        f"<tr><td>{_shown(key)}</td><td>{_shown(kept_key)}</td><td>{similarity:.4f}</td></tr>"
        for key, kept_key, similarity in removed
    )
    unshown_count = count - len(removed)
    note = (
        f"<p>and {unshown_count:,} more in <code>removed</code></p>"
        if unshown_count
        else ""
    )
    return f"<table>{names}{rows}</table>{note}"


def _shown(key: Any) -> str:
    text = visible(str(key))
    return escape(
        text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
    )
