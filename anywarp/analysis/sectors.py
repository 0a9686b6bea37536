"""Global memory moves in sectors of 32 bytes, four to a 128-byte cache line.

The L1 cache takes one request from a warp's load or store and asks for every sector that one of
its lanes touches, once. Source: Nsight Compute documentation, metrics
`l1tex__t_requests_pipe_lsu_mem_global_op_ld` and `l1tex__t_sectors_pipe_lsu_mem_global_op_ld`.
"""

from __future__ import annotations

import numpy as np

from .warps import Active, Ints

KIB = 1024
SECTOR_BYTES = 32
LINE_BYTES = 128


def sectors(addresses: Ints, width: int, active: Active = None) -> Ints:
    """Distinct sectors that each group of lanes touches.

    addresses: byte addresses, integers of shape (..., lanes), multiples of `width`, which is
    1 to 16 bytes: an access lies in one sector. active: bools of that shape; None means all.
    Returns integers of shape (...). Raises ValueError for a width that hardware lacks.
    """
    return _distinct(addresses, width, SECTOR_BYTES, active)


def cache_lines(addresses: Ints, width: int, active: Active = None) -> Ints:
    """Distinct 128-byte cache lines that each group of lanes touches; as `sectors`."""
    return _distinct(addresses, width, LINE_BYTES, active)


def ideal_sectors(addresses: Ints, width: int, active: Active = None) -> Ints:
    """The fewest sectors that could hold the distinct bytes that the lanes use; as `sectors`."""
    used = _distinct(addresses, width, width, active) * width
    return -(-used // SECTOR_BYTES)


def _distinct(addresses: Ints, width: int, unit: int, active: Active) -> Ints:
    """How many different units of so many bytes each row holds, inactive lanes left out. Raises
    ValueError for a width that hardware lacks."""
    if width not in (1, 2, 4, 8, 16):
        raise ValueError(f"an access is 1, 2, 4, 8 or 16 bytes wide, not {width}")
    values = np.asarray(addresses) // unit
    if active is not None:
        values = np.where(active, values, -1)  # no address is negative
    values = np.sort(values, axis=-1)
    new = np.ones(values.shape, bool)
    new[..., 1:] = values[..., 1:] != values[..., :-1]
    return np.asarray((new & (values >= 0)).sum(-1))
