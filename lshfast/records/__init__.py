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

Files
-----
``linking`` has the public functions and ``options`` their options; ``link_run`` is a run, step by
step, ``chosen_fields`` are the columns that it compares, and ``link_task`` and ``link_model`` are
what it works on. ``linkage`` has the interface of
blocking rules, ``choices`` what the command line shows, ``distinct`` distinct numbers and rows.
``command``, ``job`` and ``job_outputs`` are the command and its job over files.

The steps are packages: ``tables``, ``values``, ``candidates``, ``comparison``, ``weights``,
``links``, ``results``, and ``labelling`` for pairs that a person marks.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.records.candidates.names import parse_rule
    from lshfast.records.candidates.nearest import NearestBlocks
    from lshfast.records.candidates.rules import (
        EveryPair,
        KeyBlocks,
        LshBlocks,
        SortBlocks,
    )
    from lshfast.records.comparison.synonyms import Synonyms
    from lshfast.records.linking import dedup_records, match_records
    from lshfast.records.links.assignment import assigned
    from lshfast.records.options import LinkOptions
    from lshfast.records.results.plots import plot_rates
    from lshfast.records.results.rates import RateTable, rate_table, true_match_rate
    from lshfast.records.results.result import LinkResult
    from lshfast.records.results.summary import LinkSummary
    from lshfast.records.tables.fields import Field
    from lshfast.records.tables.record_table import RecordTable

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
            "links.assignment": "assigned",
            "candidates.rules": "EveryPair KeyBlocks LshBlocks SortBlocks",
            "tables.fields": "Field",
            "linking": "dedup_records match_records",
            "options": "LinkOptions",
            "results.plots": "plot_rates",
            "results.rates": "RateTable rate_table true_match_rate",
            "candidates.nearest": "NearestBlocks",
            "results.result": "LinkResult",
            "candidates.names": "parse_rule",
            "results.summary": "LinkSummary",
            "comparison.synonyms": "Synonyms",
            "tables.record_table": "RecordTable",
        },
    )
