"""Reports: pages of HTML that need no network and no script, their pictures, and comparisons of two
texts.

What a page says is the matter of the part that it is about: `lshfast._engine.dedup_page`, and the
`page` modules of records, passages and web. This package knows how to draw and to write it.
"""
