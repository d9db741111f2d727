"""Signatures to bucket keys, the choice of bands, and S-curves."""

from lshfast.banding.bands import Bands, choose_bands

__all__ = ["Bands", "choose_bands"]
