"""How values are compared.

- `levels` compares two values, at levels that `nearness` chooses; `letters` bounds edits.
- `full_names`, `overlap` and `synonyms` compare names, words and nicknames; `exchanged` finds names
  in each other's fields.
"""
