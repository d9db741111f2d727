"""Runs, whoever runs them: options, plan, rows, parts, groups and account.

- `options` declares options and commands; `plan` has the checked parameters of a run.
- Rows: `columns` of texts, sets or tokens, `samples` of them, `inputs` from files; `sketching`
  passes over rows, and `marks` keeps hashes; `preference` and `common_shingles` choose kept rows
  and ignored shingles; `key_copies` removes rows with equal exact keys.
- Runs: `run` finds pairs and groups, `points` compares vectors, codes and weighted sets, `against`
  rows with an index, and `earlier_texts` with the texts of earlier rows; `pairs` lists pairs, and
  `parts` divides a run.
- `kinds` has an object for each kind of items, `indexes` their indexes, `executors` run over files,
  and `forecasts` estimate.
- Results: `account`, `clusters` and `pages`.
- Jobs: `frame` has what jobs over files share; `paragraphs` is a job, `name_columns` serves others;
  `column_options` reads the columns of data frames; `budget` divides memory, `clock` measures time,
  `libraries` has the settings of other libraries.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast._engine.account.crowds import CrowdWarning
    from lshfast._engine.account.normal_forms import MixedFormsWarning
    from lshfast._engine.account.report import DedupResult, Removal, Summary
    from lshfast._engine.account.short_texts import (
        CodeTextsWarning,
        Recommendation,
        ShortTextsWarning,
        recommend,
    )

__all__ = [
    "CodeTextsWarning",
    "CrowdWarning",
    "DedupResult",
    "MixedFormsWarning",
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
            "account.crowds": "CrowdWarning",
            "account.normal_forms": "MixedFormsWarning",
            "account.report": "DedupResult Removal Summary",
            "account.short_texts": "CodeTextsWarning Recommendation ShortTextsWarning "
            "recommend",
        },
    )
