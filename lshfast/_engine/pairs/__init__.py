"""Similar pairs of a run: `similar` finds them by bands and `exact` by an exact join; `listed`
chooses which are listed, and `tables` writes them with the keys of their rows.
"""
