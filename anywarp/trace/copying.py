"""What cp.async costs: its accesses to global and to shared memory are one request of a warp."""

from __future__ import annotations

import numpy as np

from .. import analysis, ptx
from .weighing import LINE, TAGS, Patterns, near


class Copies:
    """The cp.async under way: its loads, of which there are as many as its lanes differ in how much
    they read, and then its writing to shared memory."""

    def __init__(self, patterns: Patterns) -> None:
        self.loads: list[ptx.Access] = []  # of the latest
        self.patterns = patterns

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
        reading = active & (sources >= 0)
        warps = np.stack([near(sources, reading, TAGS), near(targets, active, LINE)], axis=-2)
        past_l1 = "cg" in event.instruction.modifiers
        sectors, wavefronts = self.patterns.total(
            warps.reshape(-1, *warps.shape[-2:]),
            ("cp.async", event.width, past_l1),
            lambda rows: _costs(rows[:, 0], rows[:, 1], event.width, past_l1),
        )
        return int(reading.any(-1).sum()), sectors, wavefronts


def _costs(
    sources: np.ndarray, targets: np.ndarray, width: int, past_l1: bool
) -> tuple[list[int], list[int]]:
    """Of each warp: the sectors, and the wavefronts of the data pipe, which a copy past the L1
    does not take. -1 is as in `near`."""
    active, reading = targets >= 0, sources >= 0
    if past_l1:
        return analysis.sectors(targets, width, active).tolist(), [0] * len(targets)
    wavefronts = analysis.copy_wavefronts(sources, targets, width, active)
    return analysis.sectors(sources, width, reading).tolist(), wavefronts.tolist()
