"""Find candidates by bucket keys, verify them as pairs, and group pairs; find identical items.

>>> from lshfast.join import count_distinct, find_identical, star_groups
>>> find_identical(["a rose", "a dog", "a rose"]).tolist()
[0, 1, 0]
>>> round(count_distinct(["a rose", "a dog", "a rose"]))
2

`candidates`, `verify` and `star_groups` or `component_groups` are the last stages of
`lshfast.dedup`, on arrays. `ExternalJoin` finds candidates in a given amount of memory, by sorted
files; `map_buckets` and `reduce_buckets` are the same search for an engine that moves the records
itself, and `contract_links` labels components. `ItemFilter` remembers which items a stream had, in
a given amount of memory.

Files:

- banded.py, jaccard.py, groups.py: candidates of bands; their exact similarity; stars and
  components.
- screening.py, comparison.py: similarity by signatures; how the rows of a run are compared.
- exact_join.py, prefix_segment.py, set_ranks.py, thresholds.py: exact joins; sets that are searched
  by their prefixes; sets as ranks; thresholds as fractions.
- group_pairs.py: the pairs that groups need, without a list of all pairs.
- star_join.py: the same from an exact join, also with a greatest similarity.
- short_rows.py: these pairs for large components of short rows, by an exact join; the same for a
  crowd of such rows before they are sketched.
- pair_arrays.py, all_pairs.py: arrays of pairs; all similar pairs, a batch at a time.
- copies.py: exact copies, and the pairs of them.
- shared_slots.py: the rows of crowds that are similar to no other row, by their slots.
- identical.py, item_filter.py: identical items, in memory and in streams; a Bloom filter of items.
- map_reduce.py: the search for candidates as a map and a reduce function.
- external/: the same join in bounded memory.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.join.banded import candidates
    from lshfast.join.copies import find_copies
    from lshfast.join.external import (
        ExternalJoin,
        SortedRuns,
        contract_links,
        external_candidates,
    )
    from lshfast.join.groups import component_groups, star_groups
    from lshfast.join.identical import (
        count_distinct,
        find_identical,
        find_identical_in_batches,
    )
    from lshfast.join.item_filter import ItemFilter
    from lshfast.join.jaccard import verify
    from lshfast.join.map_reduce import (
        Buckets,
        Comparisons,
        map_buckets,
        reduce_buckets,
    )
    from lshfast.join.pair_arrays import PAIR

__all__ = [
    "PAIR",
    "Buckets",
    "Comparisons",
    "ExternalJoin",
    "ItemFilter",
    "SortedRuns",
    "candidates",
    "component_groups",
    "contract_links",
    "count_distinct",
    "external_candidates",
    "find_copies",
    "find_identical",
    "find_identical_in_batches",
    "map_buckets",
    "reduce_buckets",
    "star_groups",
    "verify",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "banded": "candidates",
            "copies": "find_copies",
            "external": "ExternalJoin SortedRuns contract_links external_candidates",
            "groups": "component_groups star_groups",
            "identical": "count_distinct find_identical find_identical_in_batches",
            "item_filter": "ItemFilter",
            "jaccard": "verify",
            "map_reduce": "Buckets Comparisons map_buckets reduce_buckets",
            "pair_arrays": "PAIR",
        },
    )
