"""List the files of the inputs: paths, folders, patterns, URLs and standard input."""

from __future__ import annotations

import glob
import json
import os
import posixpath
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from lshfast._common.nearest import files_of
from lshfast._common.visible import printable
from lshfast._io.contents import unknown_suffix
from lshfast._io.files import (
    COLUMNAR,
    DataError,
    File,
    Format,
    Layout,
    Paths,
    codec_of,
    file_format,
    reason_of,
)
from lshfast._io.notes import suffixes_of
from lshfast._io.sources import (
    LocalFile,
    RemoteFile,
    Source,
    Spool,
    is_url,
    opened_url,
    protocols_of,
    remote_errors,
)

_SHARDS = re.compile(
    r"\.(parquet|arrow|feather)$|\.(jsonl|ndjson|csv|tsv)(\.(gz|zst|bz2|xz))?$",
    re.IGNORECASE,
)
_TEXTS = re.compile(r"\.(txt|docx|pdf)(\.(gz|zst|bz2|xz))?$", re.IGNORECASE)
_HIDDEN = re.compile(rf"(^|[/{re.escape(os.sep)}])\.")
MOST_STATE_BYTES = 16 << 20
_KINDS = (
    ".jsonl, .csv, .tsv, .txt, .docx, .pdf (also .gz, .zst, .bz2, .xz), "
    ".parquet, .arrow, .feather, .npy or .npz"
)


class _Found(NamedTuple):
    """A file to read: its name for the user, its location, and an identity.

    The identity is equal for the same file.
    """

    path: str
    name: str
    source: Source
    identity: str
    matched: bool = False  # by `Layout.glob`
    beside: Mapping[str, int] = MappingProxyType({})  # see `left_out_of`


def list_files(inputs: Paths, layout: Layout) -> list[File]:
    """List the files of the inputs; the errors are those of `open_corpus`."""
    files: list[File] = []
    names: dict[str, str] = {}
    for path in [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs:
        for entry in _listed(os.fspath(path), layout):
            file = _file(entry, layout)
            if entry.identity in names:
                first = names[entry.identity]
                alias = "" if first == file.name else f" (first as {first})"
                raise file.fault(None, f"input named twice{alias}")
            names[entry.identity] = file.name
            files.append(file)
    if not files:
        raise ValueError("no inputs")
    return files


def _file(entry: _Found, layout: Layout) -> File:
    """Determine the format of a file, and record its state."""
    format_and_codec = file_format(entry.path)
    if layout.format is not None:
        format_and_codec = (
            layout.format,
            None if layout.format in COLUMNAR else codec_of(entry.path),
        )
    elif format_and_codec is None and entry.matched:
        format_and_codec = "text", None
    if format_and_codec is None:
        step = unknown_suffix(entry.path) or "; format (--format) says what it is"
        raise DataError(entry.name, None, f"unknown kind of file: not {_KINDS}{step}")
    if format_and_codec[0] == "text" and layout.order_column is not None:
        raise DataError(
            entry.name,
            None,
            f"a file of one text has no order column {layout.order_column!r}",
        )
    for name, option in ((layout.by, "by"), (layout.key_column, "exact_key")):
        if format_and_codec[0] == "text" and name is not None:
            raise DataError(
                entry.name,
                None,
                f"a file of one text has no column {name!r} ({option})",
            )
    with _naming(entry.name):
        size, version = entry.source.state()
    return File(
        entry.path,
        entry.name,
        *format_and_codec,
        entry.source,
        size,
        version,
        layout,
        beside=entry.beside,
    )


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Raise an error of the system as one that names an input."""
    try:
        yield
    except OSError as error:
        raise DataError(name, None, f"cannot be read: {reason_of(error)}") from error


def _listed(path: str, layout: Layout) -> Iterator[_Found]:
    if path == "-":
        return iter([_standard_input(layout)])
    return _remote(path, layout) if is_url(path) else _local(path, layout)


def _standard_input(layout: Layout) -> _Found:
    name = "<stdin>"
    if layout.format is None:
        raise ValueError(
            f"standard input (-) needs format (--format): one of {', '.join(get_args(Format))}"
        )
    if sys.stdin is None:
        raise DataError(name, None, "there is no standard input")
    try:
        return _Found("-", name, Spool(sys.stdin.buffer), "-")
    except OSError as error:
        raise DataError(
            name, None, f"cannot be copied to a temporary file: {reason_of(error)}"
        ) from error


def _local(path: str, layout: Layout) -> Iterator[_Found]:
    name = printable(path)
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        if isinstance(error, FileNotFoundError) and glob.has_magic(path):
            matches = [
                match
                for match in sorted(glob.glob(path, recursive=True))
                if os.path.isfile(match)
            ]
            if not matches:
                raise DataError(
                    name, None, f"no file matches this pattern{files_of(path)}"
                ) from None
            yield from map(_local_file, matches)
            return
        raise DataError(name, None, f"cannot be read: {reason_of(error)}") from error
    if stat.S_ISREG(mode):
        yield _local_file(path)
    elif stat.S_ISDIR(mode):
        yield from _in_folder(path, layout)
    else:
        raise DataError(
            name, None, "is neither a file nor a folder; - reads standard input"
        )


def _local_file(path: str) -> _Found:
    return _Found(path, printable(path), LocalFile(path), os.path.realpath(path))


def _in_folder(path: str, layout: Layout) -> Iterator[_Found]:
    """List the files of a folder to read, sorted."""
    inside: list[str] = []
    beside: Mapping[str, int] = {}
    for folder, folders, names in os.walk(path, onerror=unreadable):
        if layout.glob is None:
            folders[:] = [name for name in folders if not name.startswith(".")]
        relative = "" if folder == path else os.path.relpath(folder, path)
        inside += [os.path.join(relative, name) for name in names]
    from pathlib import Path

    if layout.glob is None:
        names = _chosen(inside, printable(path), layout)
        beside = _left_out(inside, names)
        selection = [str(Path(path, name)) for name in names]
        selection = _without_caches(
            selection,
            [str(Path(path, name)) for name in inside],
            lambda file: LocalFile(file).open(),
        )
    else:
        try:
            selection = [str(file) for file in Path(path).glob(layout.glob)]
        except (ValueError, NotImplementedError) as error:
            raise ValueError(f"glob {layout.glob!r}: {error}") from error
    files = sorted(
        filter(os.path.isfile, selection), key=lambda file: file.replace(os.sep, "/")
    )
    if not files:
        raise _nothing(printable(path), layout, inside)
    real = os.path.realpath(path)
    for file in files:
        identity = os.path.join(real, os.path.relpath(file, path))
        yield _Found(
            file,
            printable(file),
            LocalFile(file),
            identity,
            layout.glob is not None,
            beside,
        )
        beside = {}


def _chosen(inside: list[str], name: str, layout: Layout) -> list[str]:
    """Select the data files of a folder, or else its texts and the documents that can be read.

    If there is nothing else, documents are selected though the packages are missing that read them.
    """
    visible = [path for path in inside if not _HIDDEN.search(path)]
    for suffixes in (_SHARDS, _TEXTS):
        selection = [path for path in visible if suffixes.search(path)]
        if layout.format is not None:
            suffix = "text" if layout.format == "lines" else layout.format
            selection = [
                path for path in selection if (file_format(path) or ("",))[0] == suffix
            ]
        if selection:
            from lshfast._io.documents import is_readable

            return [*filter(is_readable, selection)] or selection
    raise _nothing(name, layout)


def _left_out(inside: Iterable[str], selection: Iterable[str]) -> dict[str, int]:
    """Count the files of a folder that are not read, but for hidden ones."""
    unread = set(inside) - set(selection)
    return suffixes_of(path for path in unread if not _HIDDEN.search(path))


def _without_caches(
    selection: list[str], inside: Iterable[str], opened: Callable[[str], Any]
) -> list[str]:
    """Leave out Arrow files, such as caches, that the state.json of a dataset does not name.

    `inside` are all files of the folder, and `opened` opens one of them.
    """
    states = {
        os.path.dirname(path): path
        for path in inside
        if os.path.basename(path) == "state.json"
    }
    for folder in {
        os.path.dirname(path) for path in selection if path.endswith(".arrow")
    } & states.keys():
        names = _data_files(states[folder], opened)
        file_names = {
            path: os.path.basename(path)
            for path in selection
            if os.path.dirname(path) == folder
        }
        missing = names - set(file_names.values())
        if missing:
            raise DataError(
                printable(states[folder]),
                None,
                f"names {min(missing)!r}, which is not in this folder",
            )
        selection = [
            path
            for path in selection
            if not (names and file_names.get(path, "").endswith(".arrow"))
            or file_names[path] in names
        ]
    return selection


def _data_files(path: str, opened: Callable[[str], Any]) -> set[str]:
    """Return the data files in the state of a saved dataset; none for any other file."""
    with _naming(printable(path)), remote_errors(), opened(path) as stream:
        data = stream.read(MOST_STATE_BYTES)
    try:
        state = json.loads(data)
        names = {str(entry["filename"]) for entry in state["_data_files"]}
        mapped = any(
            state.get(name) for name in ("_indices_data_files", "_indices_files")
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return set()
    if mapped:
        raise DataError(
            printable(path),
            None,
            "the dataset is a selection of rows; save it after flatten_indices()",
        )
    return names


def _nothing(name: str, layout: Layout, inside: Iterable[str] = ()) -> DataError:
    if layout.glob is not None:
        deep = f"**/{layout.glob}"
        is_deeper = any(fnmatch(os.path.basename(file), layout.glob) for file in inside)
        note = (
            f"; {deep!r} matches files of its folders"
            if is_deeper
            else files_of(os.path.join(name, ""))
        )
        return DataError(
            name, None, f"no file in this folder matches {layout.glob!r}{note}"
        )
    what = layout.format or ".parquet, .arrow, .jsonl, .csv, .tsv, .txt, .docx or .pdf"
    return DataError(
        name, None, f"no {what} file in this folder; glob (--glob) names others"
    )


def unreadable(error: OSError) -> None:
    """Raise an error for a folder that cannot be listed, whose files would be missing."""
    raise DataError(
        printable(os.fspath(error.filename)), None, f"cannot be read: {error.strerror}"
    ) from error


def _remote(url: str, layout: Layout) -> Iterator[_Found]:
    system, path = opened_url(url)
    if "file" in protocols_of(system):
        yield from _local(path, layout)
        return
    with _naming(printable(url)), remote_errors():
        paths, beside = _remote_paths(system, path, printable(url), layout)
    for remote_path in paths:
        source = RemoteFile(system, remote_path)
        name = printable(url if paths == [path] else source.url)
        yield _Found(
            remote_path,
            name,
            source,
            source.url,
            remote_path != path and layout.glob is not None,
            beside,
        )
        beside = {}


def _remote_paths(
    system: Any, path: str, name: str, layout: Layout
) -> tuple[list[str], Mapping[str, int]]:
    """List the files at a path: the file, the files of a folder, or a pattern's matches.

    With them are the numbers of the files of a folder that are not read; see `left_out_of`.
    """
    beside: Mapping[str, int] = {}
    try:
        kind = system.info(path)["type"]
    except FileNotFoundError:
        if not glob.has_magic(path):
            raise
        matches = sorted(match for match in system.glob(path) if system.isfile(match))
        if not matches:
            raise DataError(name, None, "no file matches this pattern") from None
        return matches, beside
    if kind != "directory":
        return [path], beside
    if layout.glob is not None:
        matching = sorted(
            match
            for match in system.glob(f"{path.rstrip('/')}/{layout.glob}")
            if system.isfile(match)
        )
    else:
        inside = {
            posixpath.relpath(member, path): member for member in system.find(path)
        }
        members = _chosen(list(inside), name, layout)
        beside = _left_out(inside, members)
        selection = [inside[member] for member in members]
        matching = sorted(
            _without_caches(
                selection, inside.values(), lambda member: system.open(member, "rb")
            )
        )
    if not matching:
        raise _nothing(name, layout)
    return matching, beside
