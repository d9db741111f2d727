"""Banding: bucket keys of signatures, the choice of bands and rows, and S-curves.

Files:

- bands.py: signatures as bucket keys, and the choice of bands.
- scurve.py: S-curves.
"""

from lshfast.banding.bands import Bands, choose_bands

__all__ = ["Bands", "choose_bands"]
