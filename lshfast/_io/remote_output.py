"""Outputs that are URLs: files of other file systems, by fsspec.

The bytes are in a temporary file until the run has succeeded, and are uploaded then. Under its own
name a file is complete or absent.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from lshfast._common.atomic_files import publish_at_end
from lshfast._common.private_files import TemporaryFolder
from lshfast._common.visible import printable
from lshfast._io.sources import opened_url, protocols_of, remote_errors

# Where an object appears when it was uploaded to its end. Elsewhere a file is uploaded under a
# hidden name and renamed.
_OBJECT_STORES = frozenset(
    {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "hf", "memory"}
)

# Schemes of URLs that are not written to.
_READ_ONLY = frozenset(
    {"http", "https", "github", "git", "data", "zip", "tar", "libarchive"}
)


def local_path(url: str) -> str | None:
    """Return the path of a file URL, None for another URL; raise OSError if it is not writable."""
    if "::" in url or url.partition("://")[0].lower() in _READ_ONLY:
        raise OSError(f"{printable(url)}: a URL of this kind cannot be written to")
    system, inside = opened_url(url)
    return inside if "file" in protocols_of(system) else None


def check_remote(url: str, overwrite: bool) -> None:
    """Check as far as the file system allows that a file can be uploaded later.

    Raises
    ------
    FileExistsError
        If it exists and `overwrite` is false.
    OSError
        If it is a folder, its file system cannot be reached, or the user may not write there.
    """
    name = printable(url)
    system, path = opened_url(url)
    protocols = protocols_of(system)
    with _named(name):
        if "hf" in protocols:
            _check_hugging_face(system, path)
        if system.isdir(path):
            raise IsADirectoryError("the output is a folder")
        if system.exists(path) and not overwrite:
            raise FileExistsError(
                "the output exists already; overwrite=True replaces it"
            )


@contextmanager
def open_remote(url: str, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a file that is uploaded when the block, or `all_or_none` around it, succeeds.

    Raises
    ------
    OSError
        If it cannot be uploaded. The message names the temporary file, which stays; after other
        errors and interrupts it is removed.
    """
    upload = _Upload(url, overwrite)
    try:
        yield upload.file
        upload.file.flush()
    except BaseException:
        upload.discard()
        raise
    publish_at_end(upload)


class _Upload:
    """The bytes for a URL, in a temporary file."""

    def __init__(self, url: str, overwrite: bool) -> None:
        self._system, self._path = opened_url(url)
        self._name = printable(url)
        self._overwrite = overwrite
        self._folder = TemporaryFolder()
        base = posixpath.basename(self._path)[-80:]
        self._held = os.path.join(self._folder.name, f"output-{base}")
        self.file = open(self._held, "x+b")  # noqa: SIM115

    def publish(self) -> None:
        """Upload the bytes."""
        try:
            with _named(self._name):
                self._upload()
        except OSError as error:
            message = f"{error}; its content is in {printable(self._held)}"
            self._folder.keep()
            raise OSError(message) from error

    def _upload(self) -> None:
        if not self._overwrite and self._system.exists(self._path):
            raise FileExistsError(
                "the output exists already; overwrite=True replaces it"
            )
        if not _OBJECT_STORES.isdisjoint(protocols_of(self._system)):
            self._system.put_file(self._held, self._path)
            return
        folder, base = posixpath.split(self._path)
        hidden = posixpath.join(folder, f".{base[:40]}.{os.urandom(8).hex()}.part")
        try:
            self._system.put_file(self._held, hidden)
            self._system.mv(hidden, self._path)
        except BaseException:
            with suppress(Exception):
                self._system.rm_file(hidden)
            raise

    def discard(self) -> None:
        """Remove the temporary file, unless it could not be uploaded."""
        try:
            self.file.close()
        finally:
            self._folder.cleanup()


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Name the URL in errors, which are all OSError."""
    try:
        with remote_errors():
            yield
    except OSError as error:
        kind = type(error) if type(error).__module__ == "builtins" else OSError
        reason = " ".join(str(error.strerror or error).split())
        raise kind(f"{name}: {printable(reason)}") from error


def _check_hugging_face(system: Any, path: str) -> None:
    """Raise an error if a repository of the Hugging Face Hub is missing or not writable."""
    from huggingface_hub import HfApi

    place = system.resolve_path(path)
    HfApi(endpoint=system.endpoint, token=system.token).auth_check(
        place.repo_id, repo_type=place.repo_type, write=True
    )
