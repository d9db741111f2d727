"""Files and folders of Spark in any file system: outputs, input names, and small files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def check_places(
    session: SparkSession, frame: DataFrame, outputs: Sequence[str]
) -> None:
    """Raise ValueError if an output holds an input, which it would replace, or an output."""
    places = {path: _place(session, path) for path in outputs}
    for one, other in combinations(outputs, 2):
        if _holds(places[one], places[other]) or _holds(places[other], places[one]):
            raise ValueError(
                f"{other}: the outputs must be different folders, none inside of another"
            )
    files = [_normal(url) for url in frame.inputFiles()]
    for path, place in places.items():
        if any(_holds(place, file) for file in files):
            raise ValueError(f"{path}: the output is one of the inputs, or holds one")


def names_of_files(frame: DataFrame, inputs: Sequence[str]) -> dict[str, str]:
    """Return the names of the files of a frame for people, by URL, sorted.

    Local files are named by their paths, relative ones if all inputs are. The user is left out of
    other URLs, since it may hold a key.
    """
    relative = not any(os.path.isabs(path) or "://" in path for path in inputs)

    def name(url: str) -> str:
        parts = urlsplit(url)
        path = unquote(parts.path)
        if parts.scheme == "file":
            return os.path.relpath(path) if relative else path
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"

    return {url: name(url) for url in sorted(frame.inputFiles())}


def exists(session: SparkSession, path: str) -> bool:
    """Return whether a file or folder exists in the file system of its path."""
    system, place = _in_system(session, path)
    return bool(system.exists(place))


def write_text(session: SparkSession, path: str, text: str) -> None:
    """Write a text as a file in the file system of its path, and replace a file that exists."""
    system, place = _in_system(session, path)
    stream = system.create(place, True)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


def _in_system(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Return the file system of a path, and the path as Hadoop has it."""
    context: Any = session.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(context._jsc.hadoopConfiguration()), place


def _place(session: SparkSession, path: str) -> str:
    """Return a path with its file system, in one spelling."""
    system, place = _in_system(session, path)
    return _normal(system.makeQualified(place).toUri().toString())


def _normal(url: str) -> str:
    parts = urlsplit(url)
    path = unquote(parts.path).rstrip("/")
    place = os.path.realpath(path) if parts.scheme == "file" else path
    return f"{parts.scheme}://{parts.netloc}{place}"


def _holds(folder: str, place: str) -> bool:
    return place == folder or place.startswith(f"{folder}/")
