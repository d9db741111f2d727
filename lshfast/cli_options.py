"""What the commands share: options, errors of one line, and the choices that a user has made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import typer

from lshfast.dedup.plan import Verify
from lshfast.readers import DataError
from lshfast.readers.files import Format
from lshfast.shingling import Unit
from lshfast.sketch.minhash import Scheme
from lshfast.store.base import FormatError, OnDuplicate

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help=".jsonl, .csv, .tsv, .txt (also .gz, .zst, .bz2, .xz), .parquet, folders, 'patterns*', URLs, - (stdin).",
        show_default=False,
    ),
]
Column = Annotated[str, typer.Option(help="Column of the text; a.b is b inside a.")]
IdColumn = Annotated[str | None, typer.Option(help="Column of the rows' names; FILE:LINE if not given.")]
Glob = Annotated[
    str | None,
    typer.Option(help="Which files of a folder are read; by default data files, or else .txt.", show_default=False),
]
Encoding = Annotated[str, typer.Option(help="Encoding of JSONL, CSV, TSV and texts, any that Python knows.")]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="What the inputs are, whatever their names say.", show_default=False)
]
MaxRowBytes = Annotated[int, typer.Option(help="Most bytes of a row of JSONL, CSV or TSV, or of a text.")]
Threshold = Annotated[float, typer.Option(help="Least Jaccard similarity of shingles, in (0, 1].")]
UnitOption = Annotated[Unit, typer.Option(help="What a shingle is made of.")]
Size = Annotated[int, typer.Option(help="Words or characters a shingle, 1 to 256.")]
NumPerm = Annotated[int, typer.Option(help="Slots of a signature, 1 to 65536.")]
SchemeOption = Annotated[Scheme, typer.Option(help="MinHash scheme.")]
Recall = Annotated[float, typer.Option(help="Probability that a pair at the threshold is found, in (0, 1).")]
BandsOption = Annotated[int | None, typer.Option(help="Bands, instead of --recall; with --rows.")]
RowsOption = Annotated[int | None, typer.Option(help="Rows a band; with --bands.")]
VerifyOption = Annotated[Verify, typer.Option(help="How a candidate's similarity is told.")]
OnErrorOption = Annotated[
    Literal["stop", "skip"], typer.Option(help="On a bad row: stop, or skip it and name it in OUT.rejects.jsonl.")
]
Threads = Annotated[int | None, typer.Option(help="The CPUs of this process by default.", show_default=False)]
Seed = Annotated[int, typer.Option(help="0 to 2**64 - 1.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace outputs that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no closing table.")]
OnDuplicateOption = Annotated[
    OnDuplicate, typer.Option(help="On a key that the index has: an error, or which of the two stays in it.")
]


@contextmanager
def one_line_errors(stream: Any = None) -> Iterator[None]:
    """Turn errors into one line on standard error: exit status 2 for wrong usage, 1 for the data and the machine."""

    def leave(message: object, status: int) -> typer.Exit:
        print(f"lshfast: error: {' '.join(str(message).split())}", file=stream or sys.stderr)
        return typer.Exit(status)

    try:
        yield
    except (DataError, FormatError) as error:
        raise leave(error, 1) from None
    except BrokenPipeError:  # who reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    except FileExistsError as error:
        raise leave(f"{error} (--overwrite)", 2) from None
    except (ValueError, TypeError, ImportError) as error:
        raise leave(error, 2) from None
    except OSError as error:
        named = error.filename is not None and error.strerror
        raise leave(f"{error.filename}: {error.strerror}" if named else error or type(error).__name__, 1) from None
    except (OverflowError, MemoryError, RuntimeError) as error:
        raise leave(error or type(error).__name__, 1) from None
    except KeyboardInterrupt:
        raise leave("interrupted; no output was left half-written", 130) from None


def given(context: typer.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return those of some options that stand on the command line; the others have their defaults."""
    sources = {name: context.get_parameter_source(name) for name in options}
    return {name: options[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"}
