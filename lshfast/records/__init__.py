"""Record linkage: which records of two tables, or of one, describe the same thing.

>>> from lshfast.records import match_records
>>> a = {
...     "name": ["William Jones", "Ann Lee", "Eve Stone"],
...     "phone": ["555 0123", "555 0199", "555 0100"],
... }
>>> b = {"name": ["Ann Lee", "Bill Jones"], "phone": ["555-0198", "555-0123"]}
>>> match_records(a, b, scoring="points").pairs()
[(0, 1), (1, 0)]

`match_records` links two tables, and `dedup_records` the records of one. Without labels, the
weights of fields are learnt from the tables; `LinkResult.explain` shows a link. ``lshfast records
match`` and ``lshfast records dedup`` are the commands, and docs/how-to/records.md has the guide.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.records.assignment import assigned
    from lshfast.records.blocking import EveryPair, KeyBlocks, LshBlocks, SortBlocks
    from lshfast.records.fields import Field
    from lshfast.records.linking import dedup_records, match_records
    from lshfast.records.nearest import NearestBlocks
    from lshfast.records.options import LinkOptions
    from lshfast.records.plots import plot_rates
    from lshfast.records.rates import RateTable, rate_table, true_match_rate
    from lshfast.records.result import LinkResult
    from lshfast.records.rule_names import parse_rule
    from lshfast.records.summary import LinkSummary
    from lshfast.records.synonyms import Synonyms
    from lshfast.records.tables import RecordTable

__all__ = [
    "EveryPair",
    "Field",
    "KeyBlocks",
    "LinkOptions",
    "LinkResult",
    "LinkSummary",
    "LshBlocks",
    "NearestBlocks",
    "RateTable",
    "RecordTable",
    "SortBlocks",
    "Synonyms",
    "assigned",
    "dedup_records",
    "match_records",
    "parse_rule",
    "plot_rates",
    "rate_table",
    "true_match_rate",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "assignment": "assigned",
            "blocking": "EveryPair KeyBlocks LshBlocks SortBlocks",
            "fields": "Field",
            "linking": "dedup_records match_records",
            "options": "LinkOptions",
            "plots": "plot_rates",
            "rates": "RateTable rate_table true_match_rate",
            "nearest": "NearestBlocks",
            "result": "LinkResult",
            "rule_names": "parse_rule",
            "summary": "LinkSummary",
            "synonyms": "Synonyms",
            "tables": "RecordTable",
        },
    )
