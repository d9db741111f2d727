"""Jobs over files."""
