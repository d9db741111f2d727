"""The judge: lshfast in short, slow, pure Python, written from docs/reference/definitions.md alone."""
