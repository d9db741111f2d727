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
Tables: ``sources``, ``distinct_values`` and ``tables`` read columns; ``record_ids`` finds rows by
their ids; ``fields`` are what is compared; ``keys`` and ``dependent`` leave columns out, and
``content`` finds fields with the same content.
Values: ``values``, ``dates``, ``months``, ``ages``, ``phones``, ``addresses`` and ``unicode_forms``
give normal forms, which ``forms`` chooses by kind; ``missing`` finds values that stand for none;
``coding`` numbers the values of all fields.
Candidates: ``blocking``, ``nearest`` and ``rule_names`` are the blocking rules, ``blocks`` their
pairs, ``candidates`` the union; ``default_rules`` and ``given_rules`` choose rules, and ``reach``
measures them.
Comparison: ``comparison`` gives levels by ``nearness``, with ``letters``, ``full_names``,
``overlap`` and ``synonyms``; ``exchanged`` finds exchanged names, ``record_texts`` whole records.
Weights: ``patterns``, ``mixture``, ``dependence``, ``relatives``, ``differing`` and ``network``
learn from agreement patterns; ``weights`` from candidates; ``rivals``, ``calibration`` and
``copies`` from seeds; ``prior`` has the share of matches, ``points`` scores without weights.
Links: ``linking`` has the public functions, ``link_run`` the steps of a run, and ``link_task`` and
``link_model`` what these work on; ``scoring``, ``links``, ``assignment``, ``clusters`` and
``labels`` lead from weights to links and groups; ``held_out`` estimates the rate of true matches.
Results: ``result``, ``summary``, ``outlook``, ``rates``, ``explain``, ``merged``, ``review``,
``near``, ``overview``, ``display``, ``page``, ``page_links`` and ``plots``.
Command line: ``command``, ``job`` and ``job_outputs``; ``label_command``, ``label_job``,
``label_screen`` and ``field_pairs`` for marking pairs.
Shared: ``options``, ``choices``, ``linkage`` and ``linked`` are records that travel;
``distinct`` finds distinct numbers and rows.
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
