"""Near-duplicate images: perceptual hashes of files, and groups of images that look alike.

docs/how-to/images.md explains them. Needs the extra ``images``.

Files:

- listing.py, decoding.py: the files of folders; images of unchecked files.
- pdq.py, hashing.py: PDQ; it and other hashes of files.
- groups.py: groups of copies, also of turned images.
- command.py, job.py, page.py: the command and its options; its job; its page with
  thumbnails.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.images.groups import ImageDedup, ImageRemoval, KnownHashes, dedup
    from lshfast.images.hashing import BadImage, ImageHashes, hash_files
    from lshfast.images.listing import ImageFiles, list_images

__all__ = [
    "BadImage",
    "ImageDedup",
    "ImageFiles",
    "ImageHashes",
    "ImageRemoval",
    "KnownHashes",
    "dedup",
    "hash_files",
    "list_images",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "groups": "ImageDedup ImageRemoval KnownHashes dedup",
            "hashing": "BadImage ImageHashes hash_files",
            "listing": "ImageFiles list_images",
        },
    )
