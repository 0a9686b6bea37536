"""What cp.async costs: its accesses to global and to shared memory are one request of a warp.

The warps of a kernel repeat one another, but for shifts that change no cost. So each distinct warp
is weighed once.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from .. import analysis, ptx
from ..analysis.pipe import TAG_PERIOD

PATTERNS = 1 << 14  # of warps, remembered at most


class Copies:
    """The cp.async under way: its loads, of which there are as many as its lanes differ in how much
    they read, and then its writing to shared memory."""

    def __init__(self) -> None:
        self.loads: list[ptx.Access] = []  # of the latest
        # by width and way: for each pattern of addresses, sectors and wavefronts
        self.known: dict[tuple[int, bool], dict[bytes, tuple[int, int]]] = {}

    def loaded(self, event: ptx.Access) -> None:
        """From global memory."""
        if self.loads and self.loads[0].instruction is not event.instruction:
            self.loads = []
        self.loads.append(event)

    def ended(self, event: ptx.Access) -> tuple[int, int, int]:
        """It writes to shared memory: requests, sectors, wavefronts of the data pipe. A warp whose
        lanes all only fill with zeros makes no request."""
        shape = len(event.blocks), event.threads
        source = np.full(shape, -1)  # of lanes that read nothing
        for load in self.loads:
            if load.instruction is event.instruction:
                np.copyto(source, load.address, where=True if load.mask is None else load.mask)
        self.loads = []
        sources, active = analysis.by_warp(source, event.mask, *shape)
        targets, _ = analysis.by_warp(event.address, event.mask, *shape)
        near = np.stack(
            [
                _near(sources, active & (sources >= 0), TAG_PERIOD * analysis.LINE_BYTES),
                _near(targets, active, analysis.LINE_BYTES),
            ],
            axis=-2,
        ).reshape(-1, 2, sources.shape[-1])
        warps = Counter(row.tobytes() for row in near)
        kind = event.width, "cg" in event.instruction.modifiers
        known = self.known.setdefault(kind, {})
        if new := [row for row in warps if row not in known]:
            if len(known) + len(new) > PATTERNS:
                known.clear()
                new = list(warps)
            rows = np.frombuffer(b"".join(new), near.dtype).reshape(-1, *near.shape[1:])
            known.update(zip(new, zip(*_costs(rows[:, 0], rows[:, 1], *kind))))
        return (
            int((active & (sources >= 0)).any(-1).sum()),
            sum(times * known[row][0] for row, times in warps.items()),
            sum(times * known[row][1] for row, times in warps.items()),
        )


def _near(addresses: np.ndarray, active: np.ndarray, turn: int) -> np.ndarray:
    """Addresses of warps, each warp's moved by whole turns so that it begins in the first; -1 for
    lanes that take no part."""
    start = np.where(active, addresses, 1 << 62).min(-1, keepdims=True) // turn * turn
    return np.where(active, addresses - start, -1)


def _costs(
    sources: np.ndarray, targets: np.ndarray, width: int, past_l1: bool
) -> tuple[list[int], list[int]]:
    """Of each warp: the sectors, and the wavefronts of the data pipe, which a copy past the L1
    does not take. -1 is as in `_near`."""
    active, reading = targets >= 0, sources >= 0
    if past_l1:
        return analysis.sectors(targets, width, active).tolist(), [0] * len(targets)
    wavefronts = analysis.copy_wavefronts(sources, targets, width, active)
    return analysis.sectors(sources, width, reading).tolist(), wavefronts.tolist()
