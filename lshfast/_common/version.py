"""The version of the package; pyproject.toml has the same."""

VERSION = "0.1.0"
