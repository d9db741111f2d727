"""What a run of linking shows.

- `result` is the public result, and `summary` has its figures; `run_view` has what the outputs
  show: pairs with their scores, field by field, and doubtful pairs.
- `explain` explains a pair, and `merged` makes one list of records; `field_pairs` has the values of
  a pair beside each other.
- `outlook` and `rates` estimate how many links are right, and `equal_records` judges links between
  equal records.
- `overview` and `display` are for the terminal, with `text_tables`; `page`, `page_links` and
  `plots` are for the page.
"""
