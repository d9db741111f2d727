"""Pages and explanations of runs.

- `evidence` gathers the rows and counts that `dedup` shows; `rows` is the page of a run over files,
  and `run_pages` makes the pages that a run asks for. `pair_sample` samples pairs by similarity.
- `explanation` says why a row was removed or kept, and `explain_files` does so for files.
"""
