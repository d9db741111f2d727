"""The image files of paths and folders, each once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lshfast._common.errors import DataError
from lshfast._common.nearest import nearest_file
from lshfast._common.types import PathLike
from lshfast._common.visible import printable
from lshfast._io.listing import unreadable
from lshfast._io.notes import suffixes_of
from lshfast.images.decoding import decodes_heic

# The suffixes of the files that are taken from folders.
SUFFIXES = {
    ".jpg",
    ".jpeg",
    ".jpe",
    ".jfif",
    ".mpo",
    ".png",
    ".apng",
    ".gif",
    ".webp",
    ".tif",
    ".tiff",
    ".bmp",
    ".dib",
    ".avif",
    ".jp2",
    ".j2k",
    ".jpf",
    ".jpx",
}

HEIC_SUFFIXES = {".heic", ".heif", ".hif"}


def _suffixes() -> set[str]:
    """Return the suffixes of the images that can be decoded."""
    return SUFFIXES | HEIC_SUFFIXES if decodes_heic() else SUFFIXES


@dataclass
class ImageFiles:
    """The image files of some inputs.

    Attributes
    ----------
    paths : list of str
        The files, in the order of the inputs; those of a folder are sorted.
    left_out : dict of str to int
        How many files of folders have another suffix, by the suffix; they are not read.

    See Also
    --------
    lshfast.images.list_images : List the image files of some inputs.
    lshfast.images.hash_files : Hash image files.
    """

    paths: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def other(self) -> int:
        """Files of folders with another suffix, which are not read."""
        return sum(self.left_out.values())


def list_images(
    inputs: PathLike | Iterable[PathLike],
) -> ImageFiles:
    """List the image files of files and folders, without reading them.

    From a folder, files at any depth with the suffix of an image are taken: .jpg, .jpeg, .jpe,
    .jfif, .mpo, .png, .apng, .gif, .webp, .tif, .tiff, .bmp, .dib, .avif, .jp2, .j2k, .jpf and
    .jpx, and .heic, .heif and .hif if pillow-heif is installed, in upper or lower case. Hidden
    files and folders are skipped, and links to folders are not followed. A file that is named
    itself may have any suffix.

    A file that is reached several times, also by a symbolic link, is listed once: it must not be
    taken for a copy of itself. Of a file and links to it in one folder, the file is listed.

    Parameters
    ----------
    inputs : path or iterable of paths

    Returns
    -------
    ImageFiles

    Raises
    ------
    DataError
        If an input is missing, neither a file nor a folder, or a folder without images, or a folder
        cannot be read.
    ValueError
        If there are no inputs.

    See Also
    --------
    lshfast.images.hash_files : Hash the images of files and folders.

    Examples
    --------
    >>> import os, tempfile
    >>> from lshfast.images import list_images
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.PNG", "a.jpg", "notes.txt"):
    ...         open(os.path.join(folder, name), "w").close()
    ...     found = list_images(folder)
    >>> [os.path.basename(path) for path in found.paths], found.other
    (['a.jpg', 'b.PNG'], 1)
    """
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if not paths:
        raise ValueError("no inputs")
    files = ImageFiles()
    locations = set[str]()
    other_files: list[str] = []
    for path in paths:
        for name in _files_of(os.fspath(path), other_files):
            real = os.path.realpath(name)
            if real not in locations:
                locations.add(real)
                files.paths.append(name)
    files.left_out = suffixes_of(other_files)
    return files


def _files_of(path: str, other_files: list[str]) -> Iterator[str]:
    """Return the image files of an input; add the other files of a folder to `others`."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise DataError(
            printable(path),
            None,
            f"cannot be read: {error.strerror}{nearest_file(error)}",
        ) from error
    if stat.S_ISREG(mode):
        return iter([path])
    if not stat.S_ISDIR(mode):
        raise DataError(printable(path), None, "is neither a file nor a folder")
    names = list(_inside(path, other_files))
    if not names:
        raise DataError(
            printable(path),
            None,
            f"no image in this folder; images end in {', '.join(sorted(_suffixes()))}",
        )
    links = {name for name in names if os.path.islink(name)}
    targets = {os.path.realpath(name) for name in names if name not in links}
    names = [
        name
        for name in names
        if name not in links or os.path.realpath(name) not in targets
    ]
    return iter(sorted(names, key=lambda name: name.replace(os.sep, "/")))


def _inside(path: str, other_files: list[str]) -> Iterator[str]:
    for folder, folders, names in os.walk(path, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            full_path = os.path.join(folder, name)
            if name.startswith(".") or not os.path.isfile(full_path):
                continue
            if os.path.splitext(name)[1].lower() in _suffixes():
                yield full_path
            else:
                other_files.append(full_path)
