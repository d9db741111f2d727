"""What a run of linking shows.

- `result` is the public result, `summary` has its figures; `run_view` has what the other outputs
  show: pairs with their scores, field by field.
- `explain` explains a pair, `review` lists doubtful pairs, `merged` makes one list of records;
  `field_pairs` has the values of a pair side by side.
- `outlook` and `rates` estimate how many links are right.
- `overview` and `display` are for the terminal, `page`, `page_links` and `plots` for the page.
"""
