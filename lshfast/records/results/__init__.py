"""What a run of linking shows.

- `linked` has the links and what outputs show of them; `result` adds the methods of the public
  result; `summary` has the figures.
- `explain` explains a pair, `review` lists doubtful pairs, `merged` makes one list of records;
  `field_pairs` has the values of a pair side by side.
- `outlook` and `rates` estimate how many links are right.
- `overview` and `display` are for the terminal, `page`, `page_links` and `plots` for the page.
"""
