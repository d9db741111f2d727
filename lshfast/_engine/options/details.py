"""What docstrings say of options that functions do not write out, where one sentence is too
short.
"""

# The type, and the text.
DETAILS: dict[str, tuple[str, str]] = {
    "output_format": (
        '{"jsonl", "csv", "tsv", "parquet"}, optional',
        "The format of `output`, regardless of its name. Standard output and named pipes have "
        "that of the first input by default; for a file of one text, it is JSONL.",
    ),
    "defuse_formulas": (
        "bool, default False",
        "Write an apostrophe before each string in CSV and TSV outputs that a spreadsheet would "
        "run as a formula: those that begin with =, +, -, @, a tab or a line end, unless they are "
        "numbers.",
    ),
    "glob": (
        "str, optional",
        "Pattern of the files of a folder to read. By default its data files, or its .txt files "
        "if it has no data files.",
    ),
    "encoding": (
        'str, default "utf-8"',
        "The encoding of JSONL, CSV, TSV and texts; any that Python supports. The byte order "
        "mark of a file overrides it.",
    ),
    "format": (
        '{"jsonl", "csv", "tsv", "parquet", "arrow", "text", "lines"}, optional',
        'The format of the inputs, regardless of their names; "lines" is one text a line.',
    ),
    "max_row_bytes": (
        "int, default 2**28",
        "The largest size of a row of JSONL, CSV or TSV, or of a text, in bytes. A longer one is "
        "an error.",
    ),
    "zstd_window": (
        "int or str, optional",
        'The most memory that the window of .zst inputs may take, in bytes or like "2G", which is '
        "the greatest value; by default 128M. Larger windows, as of `zstd --long=31`, need the "
        'package zstandard (``pip install "lshfast[zstd]"``).',
    ),
    "delimiter": (
        "str, optional",
        'The character between the cells of CSV and TSV inputs: one ASCII character, or "tab". By '
        "default that of each file is detected in its first rows; `summary.delimiters` has those "
        "that are not the comma, or the tab of TSV.",
    ),
    "max_columns": (
        "int, default 1000",
        "The largest number of columns of a CSV, TSV or Parquet output of JSONL inputs. A row "
        "with a name that would be a further column is an error. In Parquet, names inside objects "
        "count too.",
    ),
    "against_column": (
        "str or sequence of str, optional",
        "The column of the texts in the files of `against`, where it is not `column`; it is named "
        "in the same way.",
    ),
    "against_id_column": (
        "str, optional",
        "The column of the keys in the files of `against`, where it is not `id_column`.",
    ),
    "stop_words": (
        "str or iterable of str, optional",
        'For unit "stopword", the language (default "english") or the stop words; see `shingle`.',
    ),
    "normalize": (
        '{"none", "NFC", "NFKC"}, default "none"',
        "The normal form of Unicode in which texts are compared; see `shingle`. The texts that are "
        "written and shown stay as they are. Exact copies are then texts with equal shingles in "
        "this form.",
    ),
    "num_perm": ("int, default 128", "Slots of a signature, in 1..65,536."),
    "scheme": (
        '{"fast", "classic"}, default "fast"',
        "Scheme of the signatures (see `MinHasher`).",
    ),
    "recall": (
        "float, default 0.95",
        "Probability, in (0, 1), by which bands and rows are chosen (see `choose_bands`).",
    ),
    "verify": (
        '{"exact", "signature", "none"}, default "exact"',
        '"exact" computes the exact similarity of each candidate. "signature" uses the estimate '
        'from the signatures. "none" accepts all candidates.',
    ),
    "ignore_common": (
        "float, optional",
        "Shingles that occur in more than this share of the texts, in (0, 1), do not count, so "
        "that templates and navigation do not make pages similar. A text that has no others is "
        "without shingles. The texts are read twice more, and their shingles are hashed twice. "
        "Only for texts, and without an index.",
    ),
    "max_candidates": (
        "int, optional",
        "For vectors, weighted sets, and codes with a `recall`. If a row shares buckets with more "
        "than this number of other rows, at least 256, counted in each bucket, it is compared "
        "with rows of this kind in small cells only, so that hostile rows cannot make the time "
        "grow with the square of their number. Rows with fewer candidates are found as before. "
        "`summary.limited` and `summary.left_out` say what was left out (docs/how-to/kinds.md). "
        "In a run of stars a row has as many candidates as rows that are kept.",
    ),
    "by": (
        "str, optional",
        "A column of the inputs, such as a source or a language: `summary.by` says how many rows "
        "with each of its values were read and removed.",
    ),
    "exact_key": (
        "str, optional",
        "A column of the inputs, whose values are keys: of the rows with equal ones, the row that "
        "`keep` prefers is compared with others, and the others are removed for it, whatever their "
        "items. Strings are compared by their bytes, and ``url:COLUMN`` compares URLs without "
        "scheme, user, usual port, fragment and parameters of sessions. A row with a missing or "
        "empty value has no key. `summary.same_key` counts what keys remove. For items in memory, "
        "one value per item.",
    ),
    "max_removed": (
        "float, optional",
        "If a larger share of all good rows, in (0, 1], would be removed, or of the rows with a "
        "value of `by` that at least 20 rows have, the run raises `TooManyRemovedError`. Of its "
        "outputs, only the page of `html` is written.",
    ),
    "annotate": (
        "bool, default False",
        "Write all rows to `output`, with the columns duplicate_of and similarity.",
    ),
    "top": (
        "int, optional",
        "Keep a pair if it is among the `top` most similar pairs of either of its rows; at least "
        "1. Among equally similar rows the first ones are chosen. Copies do not count for this, "
        "and are paired as without `top`.",
    ),
    "most": (
        "float, optional",
        "Only the pairs whose similarity is at most this, from the threshold to 1: texts that are "
        "close, but no copies.",
    ),
    "html_texts": ("bool, default True", "Whether the page shows texts."),
    "html_column": (
        "str, optional",
        "The column that the page shows of rows instead of `column`, such as titles of vectors.",
    ),
    "on_duplicate": (
        '{"error", "replace", "skip"}, default "error"',
        "How to treat a kept row whose key is already in the index.",
    ),
    "clusters": (
        "path, optional",
        "A file of groups with lasting ids, .parquet: key, cluster (int64) and first_seen, the "
        "number of the run in which the row was first seen. It is read, if it exists, and "
        "replaced by the groups after this run, whatever `overwrite` says. Groups keep the ids "
        "that their rows had before; see clusters.md. With `against`, the rows are new ones, and "
        "earlier rows stay; otherwise, they are all rows that there are, and others are removed. "
        "The run takes memory for all keys.",
    ),
    "changes": (
        "path, optional",
        'The file for a table of what has changed in these groups: id, change ("new", "joined", '
        '"merged", "split" or "removed"), old_id and key, one row for each row with a change. '
        "Files are those of `removed`.",
    ),
    "work": (
        "path, optional",
        "The work folder of a run with `memory`: a new or empty folder, which is removed after a "
        "run that ended well. By default a temporary folder.",
    ),
    "resume": (
        "bool, default False",
        "Go on with the run to which the work folder belongs, from the last stage that was "
        "complete. Its inputs and arguments must be the same, except for `threads`, `progress` "
        "and the paths of outputs.",
    ),
    "seed": (
        'int or "random", default 1',
        "Seed of the signatures, in 0..2**64 - 1. With a random seed, nobody can write "
        "near-duplicates that the run is sure to miss.",
    ),
}
