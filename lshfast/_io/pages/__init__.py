"""Pages of HTML without network and scripts, their pictures, and comparisons of two texts.

The content of a page is in the package it is about: `lshfast._engine.pages.dedup`, and the `page`
modules of records, passages and web. This package draws and writes pages.

Files:

- page.py, templates/: pages from templates.
- svg.py, diagrams.py, drawing.py: charts and diagrams as inline SVG, and pictures outside a page.
- differences.py: two texts beside each other.
"""
