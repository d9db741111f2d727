"""The results and figures of runs.

- `findings` makes results (`report`) and figures (`summary`, with those of `earlier` rows);
  `display` shows them, and `sentences` says them in words.
- `guard` limits how many rows a run may remove, and `by_value` counts them for each value of a
  column.
- `short_texts` recommends shingles and gives the warnings of a run; `normal_forms` warns of texts
  in different normal forms; `crowds` describes rows with too many candidates.
"""
