"""Signatures to bucket keys, and how likely two rows are to share one."""

from lshfast.lsh.bands import Bands, choose_bands

__all__ = ["Bands", "choose_bands"]
