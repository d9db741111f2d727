"""Exact keys of rows on a cluster: hashes of the values of a column.

Of the rows with one key, all but the preferred one are removed before texts are compared, as
`lshfast._engine.key_copies` does on one machine.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lshfast._common.exact_keys import OF_URLS, ExactKeys, column_of_keys
from lshfast._common.extras import optional
from lshfast._io.parquet import exact_keys_of
from lshfast.kernels.text import HashKey
from lshfast.spark.sql import F

if TYPE_CHECKING:
    from pyspark.sql import Column, WindowSpec
    from typing_extensions import Self

# The column of a run with the values of the keys, and those of their hashes.
KEY = "exact key"
KEY_LOW = "low of the exact key"
KEY_HIGH = "high of the exact key"

# The column that orders texts of one length.
TIE = "order of a length"

# The member with the value in an object of JSON.
MEMBER = "key"


@dataclass(frozen=True)
class KeyColumn:
    """How the values of exact keys are read.

    Attributes
    ----------
    are_urls : bool
        Whether strings are compared as URLs.
    of_json : bool
        Whether each value is an object of JSON with the key as its MEMBER.
    """

    are_urls: bool
    of_json: bool = False

    def hashes(self, batch: Any, secret: tuple[HashKey, HashKey]) -> dict[str, Any]:
        """Return the columns with two hashes of each key; nulls for rows without a key."""
        pa = optional("pyarrow", "spark")
        if self.of_json:
            objects = map(json.loads, batch.column(KEY).to_pylist())
            values = [members.get(MEMBER) for members in objects]
        else:
            values = exact_keys_of(batch, KEY)
        prints = ExactKeys(values, are_urls=self.are_urls, secret=secret).prints
        has_none = prints[:, 0] == 0
        signed = prints.view("int64")
        return {
            KEY_LOW: pa.array(signed[:, 1], mask=has_none),
            KEY_HIGH: pa.array(signed[:, 2], mask=has_none),
        }


class NamedKeys(NamedTuple):
    """The column of a DataFrame with exact keys, and how its values are read."""

    column: str
    values: KeyColumn

    @classmethod
    def of(cls, exact_key: str) -> Self:
        """Return the keys of COLUMN or url:COLUMN, or raise an error."""
        if not isinstance(exact_key, str):
            raise TypeError(
                f"exact_key must be the name of a column, not {exact_key!r}"
            )
        column = column_of_keys(exact_key)
        if not column:
            raise ValueError(
                f"exact_key must name a column, COLUMN or url:COLUMN, not {exact_key!r}"
            )
        return cls(column, KeyColumn(exact_key.startswith(OF_URLS)))


def as_json(value: Column, type_name: str) -> Column:
    """Return objects of JSON as `KeyColumn` reads them, with the values of a column."""
    if type_name in ("float", "double"):
        value = F.when(~F.isnan(value), value)
    elif type_name not in ("variant", "boolean") and not type_name.endswith("int"):
        value = value.cast("string")
    return F.to_json(F.struct(value.alias(MEMBER)))


def window_of_keys(order: list[Column]) -> WindowSpec:
    """Return the window of rows with the same key; a row without a key is alone."""
    from pyspark.sql import Window

    id_without_key = F.when(F.col(KEY_LOW).isNull(), F.col("id"))
    return Window.partitionBy(KEY_LOW, KEY_HIGH, id_without_key).orderBy(*order)
