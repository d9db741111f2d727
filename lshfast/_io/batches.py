"""A batch of texts of a corpus, and how the texts of small blocks become one."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from lshfast._common.arrow_columns import python_values
from lshfast._io.stored_texts import StoredTexts
from lshfast.kernels.text import Texts


class Batch(NamedTuple):
    """Texts of consecutive rows, and the bytes on disk that were read for them.

    `texts` is a `Texts` or a list of str, or a pyarrow.Array of string or large_string for Parquet
    inputs. The sum of `source_bytes` over all batches is `Corpus.total_bytes`. `places` reads the
    same texts again, and is None if that takes more than a read at an offset.
    """

    texts: Any
    source_bytes: int
    places: StoredTexts | None = None

    def strings(self) -> list[Any]:
        """Return the values as a list; nulls and invalid UTF-8 are None, in `Texts` empty."""
        if isinstance(self.texts, Texts):
            return [self.texts[row].decode() for row in range(len(self.texts))]
        return (
            self.texts if isinstance(self.texts, list) else python_values(self.texts)[0]
        )


def batch_of(
    texts: list[Any], source_bytes: int, places: list[StoredTexts | None]
) -> Batch:
    """Return texts of consecutive blocks as one batch."""
    if len(texts) == 1:
        return Batch(texts[0], source_bytes, places[0])
    stored = [place for place in places if place is not None]
    all_stored = stored and len(stored) == len(places)
    return Batch(
        _joined(texts),
        source_bytes,
        StoredTexts.concatenate(stored) if all_stored else None,
    )


def can_join(one: Any, other: Any) -> bool:
    """Return whether texts of two blocks can be one batch; arrays of pyarrow stay as they are."""
    return type(one) is type(other) and isinstance(one, (list, Texts))


def _joined(parts: list[Any]) -> Any:
    if parts and isinstance(parts[0], Texts):
        return Texts.concatenate(parts)
    return [*chain.from_iterable(parts)]
