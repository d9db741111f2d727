"""The judge: lshfast in short, slow, pure Python, written from docs/definitions.md alone."""
