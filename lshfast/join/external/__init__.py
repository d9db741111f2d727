"""The join of bands in bounded memory, by sorted files.

Files:

- records.py, run_file.py, sorted_runs.py, bucket_runs.py: the order of records; files of sorted
  ones; their merge; the records of all bands. record_spool.py: records in the order of adding.
- external_join.py: the candidates.
- components.py, contraction.py: connected components, by a union-find or by contraction on disk.
- summed_file.py, slot_file.py: a file with checksums; slots of rows in crowds.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.join.external.contraction import contract_links
    from lshfast.join.external.external_join import ExternalJoin, external_candidates
    from lshfast.join.external.sorted_runs import SortedRuns

__all__ = ["ExternalJoin", "SortedRuns", "contract_links", "external_candidates"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "contraction": "contract_links",
            "external_join": "ExternalJoin external_candidates",
            "sorted_runs": "SortedRuns",
        },
    )
