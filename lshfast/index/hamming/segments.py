"""Segments of a HammingIndex: blocks over consecutive rows, and the searches in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from lshfast._common.types import Int64Array, UInt8Array, UInt64Array
from lshfast.index.hamming.plan import (
    LEAST_GAIN,
    HammingPlan,
    Method,
    fit_blocks,
    plan_of,
    scan_of,
)
from lshfast.index.hamming.rows import CodeView
from lshfast.kernels.hamming import Best, Blocks, scan_within

# With blocks, the nearest rows are found by a scan once so many queries of a piece in 4 have needed
# one.
SCANNED = 4


@dataclass(frozen=True)
class BlockSegment:
    """Consecutive rows, and the blocks over them."""

    first: int
    end: int
    blocks: Blocks
    block_bits: tuple[int, ...]
    crowding: float = 1.0  # candidates, divided by the number for independent bits

    @property
    def nbytes(self) -> int:
        """Bytes of the blocks."""
        return self.blocks.nbytes

    def move(self, codes: UInt64Array) -> None:
        """Refer to a copy of the codes from now on."""
        self.blocks.move(codes)

    def plan(self, bits: int, radius: int) -> HammingPlan:
        """Return the method of a search within a radius."""
        return _plan(
            self.end - self.first, bits, radius, self.block_bits, self.crowding
        )


@lru_cache(1024)
def _plan(
    n: int, bits: int, radius: int, block_bits: tuple[int, ...], crowding: float
) -> HammingPlan:
    plan = plan_of(n, bits, radius, block_bits)
    scan = scan_of(n, bits, radius)
    plan = replace(plan, candidates=min(plan.candidates * crowding, n))
    return plan if plan.cost < scan.cost and plan.candidates * LEAST_GAIN <= n else scan


def method_of(view: CodeView[BlockSegment], bits: int, radius: int) -> Method:
    """Return "blocks" if a segment is searched by blocks within a radius, else "scan"."""
    has_blocks = any(
        segment.plan(bits, radius).method == "blocks" for segment in view.segments
    )
    return "blocks" if has_blocks else "scan"


def within(
    view: CodeView[BlockSegment], bits: int, queries: UInt64Array, radius: int
) -> UInt64Array:
    """Return the hits of some queries, sorted."""
    hits_of_segments: list[UInt64Array] = []
    for segment in view.segments:
        first = segment.first
        end = segment.end
        plan = segment.plan(bits, radius)
        live = view.alive(first, end)
        if plan.method == "blocks":
            levels = _levels_of(plan.levels)
            hits_of_segments.append(
                segment.blocks.within(queries, radius, levels, live, first)[0]
            )
        else:
            hits_of_segments.append(
                scan_within(view.codes[first:end], queries, radius, live, first)
            )
    first = view.tail
    end = view.used
    if first < end or not hits_of_segments:
        hits_of_segments.append(
            scan_within(
                view.codes[first:end], queries, radius, view.alive(first, end), first
            )
        )
    hits = hits_of_segments[0]
    if len(hits_of_segments) > 1:
        hits = np.concatenate(hits_of_segments)
    return np.sort(hits) if len(hits) > 1 else hits


@lru_cache(64)
def _levels_of(levels: tuple[int, ...]) -> UInt8Array:
    array = np.minimum(levels, 255).astype(np.uint8)
    array.flags.writeable = False
    return array


def nearest(
    view: CodeView[BlockSegment], queries: UInt64Array, k: int, by_scan: bool
) -> tuple[Int64Array, UInt64Array, bool]:
    """Return (counts, hits) of the k nearest rows, and whether a scan is better from now on."""
    best = Best(len(queries), k)
    scanned = 0
    searched = 0
    for segment in view.segments:
        first = segment.first
        end = segment.end
        live = view.alive(first, end)
        if by_scan:
            best.scan(view.codes[first:end], queries, live, first)
        else:
            scanned += best.search(segment.blocks, queries, live, first) * (end - first)
            searched += len(queries) * (end - first)
    first = view.tail
    end = view.used
    if first < end:
        best.scan(view.codes[first:end], queries, view.alive(first, end), first)
    return *best.hits(), by_scan or SCANNED * scanned > searched


def make_segment(
    codes: UInt64Array, first: int, bits: int, radius: int
) -> BlockSegment | None:
    """Return a segment over codes, or None if a scan of them is better."""
    plan, masks = fit_blocks(codes, bits, radius)
    if plan.method == "scan":
        return None
    blocks = Blocks(codes, masks)
    for i in range(blocks.m):
        blocks.fill(i)
    independent = plan_of(len(codes), bits, radius, plan.block_bits)
    return BlockSegment(
        first,
        first + len(codes),
        blocks,
        plan.block_bits,
        plan.candidates / independent.candidates,
    )
