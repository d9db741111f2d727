"""Options and commands, each declared once, and what follows from the declarations.

- `declaration` says how an option is declared, and `declared` declares the options of runs.
- `rules` has what a way of running takes and refuses, `types` and `details` the types and
  docstrings of functions; `stored` keeps the options of a run with its table of removed rows.
- `command` declares a command, which the console renders.
"""
