"""Faults at every place, and every state after a crash.

- faults.c, preload.py: the library that lets calls fail or records them; how it is compiled and spoken to.
- scenarios.py: what is run: commands and calls of the library on small inputs.
- injection.py: let each place of a scenario fail once, and look at what is left.
- disk.py, crashes.py: a model of a disk that loses what is not synced; the states after a crash of a scenario.
- __main__.py: `python -m tests.faults`, the campaign.
"""
