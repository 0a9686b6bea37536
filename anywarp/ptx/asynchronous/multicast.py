"""Copies of one thread into several blocks of its cluster.

The destination and the mbarrier are those at the same offsets in the shared memory of each of
them. PTX ISA, chapter 9.7.9.25 (.multicast::cluster).
"""

from __future__ import annotations

import numpy as np

from ..aliases import Array
from ..memory.remote_shared import Places


def spread(issuers: Places, ranks: Array) -> tuple[Array, Array]:
    """For N threads and masks of ranks: (which thread, the block of the chunk) of each copy."""
    size = issuers.state.launch.cluster.size
    named = ranks[:, None] >> np.arange(16) & 1
    say = lambda n: f"a copy to the blocks of the mask {int(ranks[n]):#06b}: the cluster has {size}"
    issuers.require(named.any(1) & ~named[:, size:].any(1), say)
    which, rank = np.nonzero(named)
    first = issuers.block[which] // size * size
    return which, first + rank
