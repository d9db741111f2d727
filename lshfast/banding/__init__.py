"""Banding: bucket keys of signatures, the choice of bands and rows, and S-curves."""

from lshfast.banding.bands import Bands, choose_bands

__all__ = ["Bands", "choose_bands"]
