"""Runs, whoever runs them: options, plan, rows, parts, groups and account.

- Options and plans: `options` declares each option once, `declaration`, `option_rules` and
  `option_types` use them; `plan` has the parameters of a run, and `stored_options` stores them.
- Rows: `columns` of texts, sets or tokens; `sketching` passes over them, and `marks` keeps hashes;
  `preference` and `common_shingles` choose kept rows and ignored shingles.
- Runs: `run` finds pairs and groups, `points` compares vectors, codes and weighted
  sets, `against` rows with an index; `similar_pairs`, `exact_pairs` and `listed_pairs` list pairs.
- Parts: `parts`, `spool`, `pair_runs` and `screening` run components of buckets one by one.
- Indexes: `index_files` builds and changes the index in a file; `index_searches` and
  `index_queries` query it; `indexes` and the `*_indexes` files adapt the index of each kind.
- Lasting groups: `clusters` and `cluster_file`.
- Accounts: `account` makes results (`report`) and figures (`summary`); `display` shows them,
  `guard` limits removed rows, `by_value` counts them, `crowds` and `short_texts` warn.
- Pages: `evidence` and `dedup_page`, `explanation`, `row_page`, `pages`, `pair_sample`, `samples`.
- Jobs: `frame` has what jobs over files share, `inputs` their inputs; `paragraphs`, `explain_files`
  and `name_columns` are jobs or serve them; `budget` divides memory, `clock` measures time.
- `kinds` has an object for each kind of items, `executors` run over files, `forecasts` estimate.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast._engine.crowds import CrowdWarning
    from lshfast._engine.report import DedupResult, Removal, Summary
    from lshfast._engine.short_texts import Recommendation, ShortTextsWarning, recommend

__all__ = [
    "CrowdWarning",
    "DedupResult",
    "Recommendation",
    "Removal",
    "ShortTextsWarning",
    "Summary",
    "recommend",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "crowds": "CrowdWarning",
            "report": "DedupResult Removal Summary",
            "short_texts": "Recommendation ShortTextsWarning recommend",
        },
    )
