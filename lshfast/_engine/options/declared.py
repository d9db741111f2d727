"""The options of a deduplication, each once.

Signatures, the command line and the pages of commands follow from this declaration, or are
tested against it. What a way of running does not take, it refuses by `refuse`.
"""

from __future__ import annotations

from typing import Literal, get_args

from lshfast._common.choices import (
    MAX_COLUMNS,
    MAX_ROW_BYTES,
    Format,
    Grouping,
    ItemMeasure,
    Kind,
    NormalForm,
    OnDuplicate,
    OnError,
    OutputFormat,
    PointKind,
    Scheme,
    Split,
    Unit,
    Verify,
)
from lshfast._common.stop_words import LANGUAGES
from lshfast._engine.options.declaration import Driver, Option, Verb

# What the command line and the docs call the ways of running.
NAMES: dict[Driver, str] = {
    "memory": "lshfast.dedup",
    "files": "lshfast dedup",
    "cap": "lshfast dedup --memory",
    "stages": "lshfast stage plan",
    "spark": "lshfast dedup --engine spark",
}

OF_FILES: tuple[Driver, ...] = ("files", "cap")
OF_KINDS: tuple[Driver, ...] = ("memory", "files", "cap")
OF_PAGES: tuple[Driver, ...] = ("files", "cap", "spark")
OF_PAIRS: tuple[Driver, ...] = ("files", "cap", "stages", "spark")
OF_TASKS: tuple[Driver, ...] = ("files", "cap", "stages")
OF_BANDS: tuple[Driver, ...] = ("cap", "stages", "spark")
ALL_FILES: tuple[Driver, ...] = ("files", "cap", "stages", "spark")


TEXTS: tuple[Kind, ...] = ("text",)
SETS: tuple[Kind, ...] = ("text", "set")
POINTS: tuple[Kind, ...] = get_args(PointKind)

DEDUP: tuple[Verb, ...] = ("dedup",)
LISTING: tuple[Verb, ...] = ("dedup", "pairs")
MEASURING: tuple[Verb, ...] = ("dedup", "pairs", "check")
READING: tuple[Verb, ...] = ("dedup", "pairs", "tune")

# Reasons why ways of running do not take options, or what is there instead.
HELD = "it takes memory for what it finds"
ONLY_SETS = "a run in stages is for texts and sets"
GROUPS_IN_SHARDS = "the rows of a group may be in several shards"
GROUPS_IN_MEMORY = "the rows of a group are collected in memory"
GROUPS_BY_SPARK = "collect the items of each group with Spark first, as by collect_set"
SPARK_FILES = "its inputs are Parquet, or JSON Lines in UTF-8"
SPARK_READS = "Spark reads the inputs, within limits of its own"
NO_CELLS = "it writes no CSV or TSV"
ONE_MACHINE = "only runs on one machine limit what a row is compared with"
PAGE_OF_STAGES = "`lshfast stage status WORK --html FILE` writes the page"
PAGE_SHOWS_COLUMN = "the page shows the column that is compared"
UNITS_IN_MEMORY = "paragraphs, lines and sentences are deduplicated in memory"
INDEX_OF_OUTPUTS = "`lshfast index build --shards N` makes an index of the outputs"
WITH_SAVED_INDEX = "it is about the keys of --save-index, which this run does not take"
WHERE_TASKS_RUN = "`lshfast stage run WORK --executor` says where the tasks run"
CLUSTERS_IN_MEMORY = "the groups of all runs are in memory"

TABLES = ".csv, .tsv, .jsonl (also .gz, .zst, .bz2, .xz), .parquet, - (stdout)"


def parse_seed(value: object) -> int | str:
    """Return a seed as an int if possible, else as a str, which is checked later."""
    try:
        return int(str(value))
    except ValueError:
        return str(value)


OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option(
            "output_format",
            None,
            "What OUT is, whatever its name says; for -, as INPUT.",
            OutputFormat,
            "output",
            verbs=LISTING,
            without={"spark": "the suffix of OUT says it: .parquet or .jsonl"},
            drivers=OF_TASKS,
        ),
        Option(
            "defuse_formulas",
            False,
            "Write ' before cells of CSV and TSV that spreadsheets would run.",
            bool,
            "output",
            verbs=LISTING,
            without={"spark": NO_CELLS},
            drivers=OF_TASKS,
        ),
        Option(
            "column",
            "text",
            "Column of the texts or items; a.b is b inside a, and a[].b b inside each "
            "element of a. Given several times, the texts are joined.",
            str,
            "input",
            daily=True,
            drivers=ALL_FILES,
            names_column=True,
            several=True,
        ),
        Option(
            "id_column",
            None,
            "Column of the ids, else a row is FILE:LINE.",
            str,
            "input",
            daily=True,
            drivers=ALL_FILES,
            names_column=True,
        ),
        Option(
            "glob",
            None,
            "Files of a folder to read; by default data files, or else .txt.",
            str,
            "input",
            without={"spark": "a pattern is an INPUT: 'crawl/*.jsonl'"},
            drivers=OF_TASKS,
        ),
        Option(
            "encoding",
            "utf-8",
            "Encoding of JSONL, CSV, TSV and texts, any that Python knows.",
            str,
            "input",
            without={"spark": SPARK_FILES},
            drivers=OF_TASKS,
        ),
        Option(
            "format",
            None,
            "What the inputs are, whatever their names say; lines: one text a line.",
            Format,
            "input",
            without={"spark": SPARK_FILES},
            drivers=OF_TASKS,
        ),
        Option(
            "max_row_bytes",
            MAX_ROW_BYTES,
            "Most bytes of a row of JSONL, CSV, TSV or .npz, or of a text.",
            int,
            "input",
            without={"spark": SPARK_READS},
            drivers=OF_TASKS,
            heading="Advanced",
        ),
        Option(
            "zstd_window",
            None,
            "Most memory of the window of .zst inputs, up to 2G, as of zstd --long=31. Default: "
            "128M.",
            str,
            "input",
            without={"spark": SPARK_READS},
            drivers=OF_TASKS,
            metavar="SIZE",
        ),
        Option(
            "delimiter",
            None,
            "What separates the cells of CSV and TSV, or tab; by default detected in each file.",
            str,
            "input",
            without={"spark": SPARK_FILES},
            drivers=OF_TASKS,
            metavar="CHARACTER",
        ),
        Option(
            "max_columns",
            MAX_COLUMNS,
            "Most columns of a CSV, TSV or Parquet output of rows of JSONL.",
            int,
            "input",
            verbs=DEDUP,
            without={"spark": "rows are written as they are read"},
            drivers=OF_TASKS,
            heading="Advanced",
        ),
        Option(
            "kind",
            None,
            "What the items are: text, set, weighted (sets), vector, code; by default as the "
            "column says.",
            Kind,
            "input",
            metavar="KIND",
            daily=True,
            spelling="as",
            without={"spark": "the type of the column says what the items are"},
            drivers=("memory", "files", "cap", "stages"),
        ),
        Option(
            "group_by",
            None,
            "Column of groups: the items of a group are a set; with --item.",
            str,
            "input",
            verbs=DEDUP,
            without={
                "cap": GROUPS_IN_MEMORY,
                "stages": GROUPS_IN_SHARDS,
                "spark": GROUPS_BY_SPARK,
            },
            drivers=("files",),
            metavar="COLUMN",
            names_column=True,
        ),
        Option(
            "item",
            None,
            "Column of the items of the groups.",
            str,
            "input",
            verbs=DEDUP,
            without={
                "cap": GROUPS_IN_MEMORY,
                "stages": GROUPS_IN_SHARDS,
                "spark": GROUPS_BY_SPARK,
            },
            drivers=("files",),
            metavar="COLUMN",
            names_column=True,
        ),
        Option(
            "weight",
            None,
            "Column of the weights of the items; those of equal items add up.",
            str,
            "input",
            verbs=DEDUP,
            without={
                "cap": GROUPS_IN_MEMORY,
                "stages": GROUPS_IN_SHARDS,
                "spark": GROUPS_BY_SPARK,
            },
            drivers=("files",),
            metavar="COLUMN",
            names_column=True,
        ),
        Option(
            "threshold",
            None,
            "Least similarity, in (0, 1]. Default: 0.8, for vectors 0.95.",
            float,
            "plan",
            daily=True,
        ),
        Option(
            "radius",
            None,
            "Greatest distance, for measures that are one, such as the bits that differ.",
            float,
            "plan",
            kinds=("vector", "code"),
            without={
                "stages": ONLY_SETS,
                "spark": "vectors are compared by --threshold",
            },
            drivers=OF_KINDS,
        ),
        Option(
            "unit",
            "word",
            "What shingles are made of; symbol, for code and URLs: words and each other "
            "character.",
            Unit,
            "plan",
            daily=True,
            kinds=TEXTS,
        ),
        Option(
            "size",
            None,
            "Words, characters or symbols per shingle, 1 to 256; 5, or 3 for stopword.",
            int,
            "plan",
            daily=True,
            kinds=TEXTS,
        ),
        Option(
            "stop_words",
            None,
            f"Stop words of --unit stopword: {', '.join(LANGUAGES)}. Default: english.",
            str,
            "plan",
            verbs=MEASURING,
            kinds=TEXTS,
            metavar="LANGUAGE",
        ),
        Option(
            "normalize",
            "none",
            "Normal form of Unicode in which texts are compared; NFC: a letter with marks is the "
            "same as one character or several; NFKC: also ligatures, full width.",
            NormalForm,
            "plan",
            kinds=TEXTS,
        ),
        Option(
            "num_perm",
            128,
            "Slots per signature, 1 to 65536.",
            int,
            "plan",
            kinds=SETS,
            heading="Advanced",
        ),
        Option(
            "scheme",
            "fast",
            "MinHash scheme.",
            Scheme,
            "plan",
            verbs=MEASURING,
            kinds=SETS,
            heading="Advanced",
        ),
        Option(
            "recall",
            None,
            "Probability that a pair at the threshold is found, in (0, 1). Default: .95; for "
            "codes, all.",
            float,
            "plan",
        ),
        Option(
            "bands",
            None,
            "Bands, instead of --recall; with --rows-per-band.",
            int,
            "plan",
            kinds=SETS,
            heading="Advanced",
        ),
        Option(
            "rows_per_band",
            None,
            "Rows (slots) of a band; with --bands.",
            int,
            "plan",
            kinds=SETS,
            heading="Advanced",
        ),
        Option(
            "verify",
            "exact",
            "How candidates are verified.",
            Verify,
            "plan",
            verbs=LISTING,
            kinds=SETS,
            heading="Advanced",
        ),
        Option(
            "exact",
            None,
            "Find every pair, by an exact join in memory. The default with --measure "
            "containment.",
            bool,
            "plan",
            verbs=READING,
            daily=True,
            off_only=OF_BANDS,
            without=dict.fromkeys(OF_BANDS, HELD),
            negative="--no-exact",
        ),
        Option(
            "measure",
            None,
            "What similarity is. Texts: jaccard, containment. Vectors: cosine, angle, euclidean, "
            "manhattan. Codes: "
            "hamming, tanimoto.",
            ItemMeasure,
            "plan",
            metavar="MEASURE",
            daily=True,
        ),
        Option(
            "ignore_common",
            None,
            "Shingles in more than this share of the texts, in (0, 1), do not count: templates, "
            "navigation.",
            float,
            "plan",
            verbs=MEASURING,
            kinds=TEXTS,
            metavar="SHARE",
        ),
        Option(
            "max_candidates",
            None,
            "Compare rows that share buckets with more than N others in small cells only, and say "
            "how many there are.",
            int,
            "plan",
            verbs=LISTING,
            kinds=POINTS,
            without={"stages": ONLY_SETS, "spark": ONE_MACHINE},
            drivers=OF_KINDS,
            metavar="N",
            heading="Advanced",
        ),
        Option(
            "groups",
            "star",
            "star: each removed row is similar to the kept one; components: chains.",
            Grouping,
            "plan",
            verbs=DEDUP,
            daily=True,
            heading="Which row stays",
        ),
        Option(
            "keep",
            "first",
            "first, last, longest, shortest, max:COLUMN or min:COLUMN.",
            str,
            "run",
            verbs=DEDUP,
            daily=True,
            metavar="RULE",
            heading="Which row stays",
        ),
        Option(
            "by",
            None,
            "Count read and removed rows by the values of this column, such as a source.",
            str,
            "input",
            verbs=("dedup", "tune"),
            metavar="COLUMN",
            names_column=True,
            heading="Which row stays",
        ),
        Option(
            "exact_key",
            None,
            "Rows with the same value in this column are copies, whatever their text; url:COLUMN: "
            "with the same URL.",
            str,
            "input",
            verbs=DEDUP,
            without={"stages": "rows with equal keys may be in several shards"},
            drivers=("memory", "files", "cap", "spark"),
            metavar="COLUMN",
            names_column=True,
            heading="Which row stays",
        ),
        Option(
            "max_removed",
            None,
            "Write nothing, and end with status 3, if a larger share of all rows, or of a value "
            "of --by, is removed.",
            float,
            "output",
            verbs=DEDUP,
            metavar="SHARE",
            heading="Which row stays",
        ),
        Option(
            "annotate",
            False,
            "Write all rows, with duplicate_of and similarity.",
            bool,
            "output",
            verbs=DEDUP,
            without={"spark": "OUT has the rows that stay, and --removed the others"},
            drivers=OF_TASKS,
            heading="Which row stays",
        ),
        Option(
            "pairs",
            None,
            f"Also write the similar pairs to FILE; {TABLES}.",
            str,
            "output",
            verbs=DEDUP,
            daily=True,
            without={"spark": "`lshfast pairs --engine spark` writes them"},
            drivers=OF_TASKS,
            metavar="FILE",
        ),
        Option(
            "top",
            None,
            "Of the pairs, only those with the N most similar rows of a row.",
            int,
            "plan",
            verbs=LISTING,
            drivers=OF_PAIRS,
            metavar="N",
            heading="Outputs",
        ),
        Option(
            "most",
            None,
            "Of the pairs, only those of at most this similarity: close, but no copies.",
            float,
            "plan",
            verbs=LISTING,
            drivers=OF_PAIRS,
            metavar="SIMILARITY",
            heading="Outputs",
        ),
        Option(
            "removed",
            None,
            "Also write key, kept_key and similarity (or containment) of removed rows, as --pairs "
            "does.",
            str,
            "output",
            verbs=DEDUP,
            daily=True,
            drivers=ALL_FILES,
            metavar="FILE",
        ),
        Option(
            "html",
            None,
            "Also write a page of what was found: .html.",
            str,
            "output",
            verbs=MEASURING,
            daily=True,
            without={"stages": PAGE_OF_STAGES},
            drivers=OF_PAGES,
            metavar="FILE",
        ),
        Option(
            "html_texts",
            True,
            "Whether the page shows texts.",
            bool,
            "output",
            verbs=MEASURING,
            without={"stages": PAGE_OF_STAGES},
            drivers=OF_PAGES,
            negative="--html-no-texts",
        ),
        Option(
            "html_column",
            None,
            "Column that the page shows of rows, such as titles; by default --column.",
            str,
            "output",
            verbs=LISTING,
            without={"stages": PAGE_SHOWS_COLUMN, "spark": PAGE_SHOWS_COLUMN},
            drivers=OF_FILES,
            metavar="COLUMN",
            names_column=True,
        ),
        Option(
            "split",
            None,
            "paragraph, line, sentence: remove similar paragraphs, lines or sentences, not rows.",
            Split,
            "run",
            verbs=DEDUP,
            without=dict.fromkeys(OF_BANDS, UNITS_IN_MEMORY),
            kinds=TEXTS,
            drivers=("files",),
            heading="Which row stays",
        ),
        Option(
            "against",
            None,
            "Also remove rows similar to earlier ones: an index (estimates), files (exact), or "
            "both; may be repeated.",
            list[str],
            "run",
            verbs=DEDUP,
            daily=True,
            metavar="INDEX|FILE",
            heading="Which row stays",
        ),
        Option(
            "against_column",
            None,
            "Column of the texts or items of --against, if it is not --column.",
            str,
            "run",
            verbs=DEDUP,
            drivers=ALL_FILES,
            heading="Which row stays",
            names_column=True,
            several=True,
        ),
        Option(
            "against_id_column",
            None,
            "Column of the ids of --against, if it is not --id-column.",
            str,
            "run",
            verbs=DEDUP,
            drivers=ALL_FILES,
            heading="Which row stays",
            names_column=True,
        ),
        Option(
            "save_index",
            None,
            "File to write: the index of --against and the rows that stay; without --against, a "
            "new index of these "
            "alone, which with --overwrite replaces the file.",
            str,
            "output",
            verbs=DEDUP,
            daily=True,
            without={
                "cap": HELD,
                "stages": INDEX_OF_OUTPUTS,
                "spark": INDEX_OF_OUTPUTS,
            },
            drivers=("files",),
            metavar="INDEX",
        ),
        Option(
            "on_duplicate",
            "error",
            "On a key that the index has: stop, take the new row, or keep the old.",
            OnDuplicate,
            "run",
            verbs=DEDUP,
            without=dict.fromkeys(OF_BANDS, WITH_SAVED_INDEX),
            drivers=("files",),
            heading="Which row stays",
        ),
        Option(
            "clusters",
            None,
            "Give groups the ids of earlier runs, which FILE has if it exists, and replace FILE: "
            "key, cluster, "
            "first_seen; .parquet.",
            str,
            "output",
            verbs=DEDUP,
            without=dict.fromkeys(OF_BANDS, CLUSTERS_IN_MEMORY),
            drivers=("files",),
            metavar="FILE",
        ),
        Option(
            "changes",
            None,
            "Also write which rows are in new, joined, merged or split groups, or removed: "
            f"{TABLES}.",
            str,
            "output",
            verbs=DEDUP,
            without=dict.fromkeys(OF_BANDS, CLUSTERS_IN_MEMORY),
            drivers=("files",),
            metavar="FILE",
        ),
        Option(
            "on_error",
            "stop",
            "On a bad row: stop, or skip it and write it to OUT.rejects.jsonl; with -o -, to "
            "stderr.",
            OnError,
            "input",
            verbs=MEASURING,
            daily=True,
            without={
                "stages": "`--rejected DIR` skips bad rows",
                "spark": "a bad row is an error",
            },
            drivers=OF_FILES,
        ),
        Option(
            "memory",
            None,
            "Memory that the run may take, like 4G; the rest is in files.",
            str,
            "run",
            verbs=READING,
            daily=True,
            without={
                "spark": "Spark's configuration sets it, such as spark.executor.memory"
            },
            drivers=("cap", "stages"),
            metavar="SIZE",
            heading="Large runs",
        ),
        Option(
            "work",
            None,
            "New folder for these files, with --memory; removed at the end.",
            str,
            "run",
            verbs=LISTING,
            without={
                "spark": "Spark's configuration names its folders, such as spark.local.dir"
            },
            drivers=("cap", "stages"),
            metavar="DIR",
            heading="Large runs",
        ),
        Option(
            "resume",
            False,
            "Go on with the run in the folder of --work.",
            bool,
            "run",
            verbs=LISTING,
            kinds=SETS,
            without={
                "stages": "`lshfast stage run WORK` goes on where it ended",
                "spark": "Spark repeats the tasks that fail",
            },
            drivers=("cap",),
            heading="Large runs",
        ),
        Option(
            "threads",
            None,
            "Default: the CPUs this process may use.",
            int,
            "plan",
            daily=True,
            without={"spark": "--master and the configuration of Spark set the cores"},
            drivers=("memory", "files", "cap", "stages"),
            heading="Large runs",
        ),
        Option(
            "seed",
            1,
            "0 to 2**64 - 1, or random: drawn for the run.",
            int,
            "plan",
            verbs=MEASURING,
            metavar="N|random",
            parse=parse_seed,
            heading="Advanced",
        ),
        Option(
            "overwrite",
            False,
            "Replace outputs that exist.",
            bool,
            "output",
            verbs=MEASURING,
            daily=True,
            without={"stages": "the folders of a plan are new or empty"},
            drivers=("files", "cap", "spark"),
        ),
        Option(
            "dry_run",
            False,
            "Find everything, write nothing.",
            bool,
            "run",
            verbs=DEDUP,
            daily=True,
            without={"stages": "nothing is written before the stage apply"},
            drivers=("files", "cap", "spark"),
            heading="Outputs",
        ),
    )
}

# Options of the command line alone: where a run takes place.
ENGINE = Option(
    "engine",
    "local",
    "spark: run on Spark; OUT and --removed are folders, .parquet or .jsonl.",
    Literal["local", "spark"],
    without={"stages": WHERE_TASKS_RUN},
    heading="Large runs",
)
MASTER = Option(
    "master",
    None,
    "The Spark cluster, such as local[4]; with --engine spark.",
    metavar="URL",
    without={"stages": WHERE_TASKS_RUN},
    heading="Large runs",
)
