"""Sizes from which a run on Spark proceeds in another way."""

from __future__ import annotations

from dataclasses import dataclass

from lshfast.spark.row_filter import JoinLimits


@dataclass(frozen=True)
class Limits:
    """Sizes from which a run proceeds in another way. The result does not depend on them.

    Attributes
    ----------
    driver_records : int
        The most bucket keys, or samples of passages, of 8 bytes, that are collected to the driver,
        which finds the components of rows that share buckets. More keys are sorted on the cluster;
        then at most this number of edges between rows, of 16 bytes, are collected. More edges are
        contracted on the cluster.
    set_rows : int
        A component of more texts is divided by comparing their signatures.
    broadcast_rows : int
        If at most this number of texts share a bucket with another one, their ids are sent to all
        executors, 60 bytes each. Of more texts, a Bloom filter of 10 bits each is sent.
    filter_bytes : int
        The most bytes of this filter, which the driver holds, and each executor. It has 10 bits a
        text up to 214 million texts. Of 430 million it has 5 bits each, and passes 9 % of the other
        texts instead of 1.2 %; of 860 million, 40 %.

    See Also
    --------
    lshfast.spark.dedup : Remove near-duplicates on Spark.
    lshfast.spark.pairs : Find all similar pairs on Spark.
    """

    driver_records: int = 1 << 24
    set_rows: int = 1 << 16
    broadcast_rows: int = 1 << 20
    filter_bytes: int = 1 << 28

    @property
    def joins(self) -> JoinLimits:
        """The limits of joins of texts by id."""
        return JoinLimits(self.broadcast_rows, self.filter_bytes)
