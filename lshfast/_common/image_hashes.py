"""The hashes of images by name and version: codes of different hashes are not compared."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from lshfast._common.choices import ImageHashKind

# 1 more for each change of a hash. The first "pdq" was not the published hash.
VERSIONS: dict[ImageHashKind, int] = {"pdq": 2, "phash": 1, "dhash": 1}


class ImageHash(NamedTuple):
    """A kind of hash, and the version of lshfast's function for it."""

    kind: str
    version: int

    def __str__(self) -> str:
        return f"{self.kind} (version {self.version})"

    @property
    def name(self) -> str:
        """The text by which files of indexes name the hash."""
        return f"{self.kind} {self.version}"


def image_hash(kind: str) -> ImageHash:
    """Return the hash of a kind that this lshfast computes."""
    return ImageHash(kind, VERSIONS[kind])  # type: ignore[index]


def hash_named(name: str) -> ImageHash:
    """Return the hash with a name, or raise ValueError."""
    kind, _, version = name.partition(" ")
    is_number = version.isascii() and version.isdecimal() and len(version) < 10
    if kind not in get_args(ImageHashKind) or not is_number:
        raise ValueError(
            f"image_hash must be a kind of hash and its version, such as 'pdq 2', not {name!r}"
        )
    return ImageHash(kind, int(version))


def hash_of_codes(codes: Any) -> ImageHash | None:
    """Return the hash that made codes; None for codes that do not say so, such as plain arrays."""
    hasher = getattr(codes, "hasher", None)
    return hasher if isinstance(hasher, ImageHash) else None


def check_version(hash: ImageHash) -> None:
    """Raise ValueError if another version of lshfast made hashes by a changed function."""
    current = image_hash(hash.kind)
    if hash.version < current.version:
        raise ValueError(
            f"hashes of an earlier version of lshfast, whose {hash.kind} was another hash: write "
            "them again from the images with lshfast images --save-hashes"
        )
    if hash.version > current.version:
        raise ValueError(
            f"hashes of a later version of lshfast, {hash}, and this one computes {current}: "
            "write them again from the images with lshfast images --save-hashes, or use that "
            "version"
        )


def check_same_hash(entries: ImageHash | None, codes: ImageHash | None) -> None:
    """Raise ValueError unless the entries of an index have the image hash of these codes.

    Codes that are not known to be hashes of images are accepted.
    """
    if codes is None:
        return
    if entries is None:
        raise ValueError(
            f"the codes are hashes of images, {codes}, and the index does not say of which hash "
            "its entries are: make it again from the list of hashes with lshfast index build, or "
            "from images.hash_files(...).codes"
        )
    if entries.kind == codes.kind and entries.version < codes.version:
        check_version(entries)
    if entries != codes:
        raise ValueError(
            f"the codes are hashes of images, {codes}, and the entries of the index are of "
            f"{entries}: hashes of different kinds have nothing in common, so hash the images "
            f"again by {entries.kind}, or make the index again of hashes by {codes.kind}"
        )
