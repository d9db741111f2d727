"""The results and figures of runs.

- `findings` makes results (`report`) and figures (`summary`); `display` shows them.
- `guard` limits how many rows a run may remove, and `by_value` counts them for each value of a
  column.
- `short_texts` recommends shingles and gives the warnings of a run; `crowds` describes rows with
  too many candidates.
"""
