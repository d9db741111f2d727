"""A threshold from labelled pairs: precision and recall by threshold, with intervals.

>>> from lshfast.labelling import edges_from, threshold_of
>>> edges = edges_from(0.85)
>>> similarity, same = [0.86, 0.87, 0.91, 0.93, 0.97, 0.99], [False, False, True, True, True, True]
>>> threshold_of(similarity, same, edges, [400, 90, 80]).threshold
0.9
"""

from lshfast.engine.labels import Interval, ThresholdEstimate, threshold_of
from lshfast.engine.pair_sample import edges_from

__all__ = ["Interval", "ThresholdEstimate", "edges_from", "threshold_of"]
