"""What a run of linking shows.

- `result` has the links and `summary` the figures; `explain` explains a pair, `merged` makes one
  list.
- `outlook` and `rates` estimate how many links are right; `review`, `near` and `field_pairs` list
  doubtful pairs.
- `overview` and `display` are for the terminal, `page`, `page_links` and `plots` for the page;
  `linked` is what all of them read.
"""
