"""Shared memory answers in wavefronts: one pass of its 32 banks of 4 bytes.

A bank gives one word per wavefront, to every lane that wants that word. The degree of a group of
lanes is the largest number of distinct words that it wants of one bank. A warp goes in groups, and
the degrees of its groups add up:

- 4 bytes a lane: the warp is one group.
- 8 bytes: its two halves; for a load, the whole warp if it merges.
- 16 bytes: its four quarters; for a load, its two halves if it merges.

A load merges if every lane i of the warp has the address of lane i ^ 1, or every lane that of
lane i ^ 2. Lanes that take no part agree with every address. Stores never merge.
Bank conflicts are the wavefronts beyond the first of each group that has a lane taking part.

Source: measured with Nsight Compute on an NVIDIA H200, metrics
`l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld`, `…_st` and
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld`, `…_st`; the tests compare a record of
address patterns with each.
"""

from __future__ import annotations

import numpy as np

from .warps import LANES, Active, Ints, Mask

BANKS = 32
BANK_BYTES = 4
WIDTHS = (4, 8, 16)


def wavefronts(addresses: Ints, width: int, active: Active = None, kind: str = "load") -> Ints:
    """Wavefronts of a warp's load or store of shared memory.

    addresses: byte addresses, integers of shape (..., 32), multiples of `width`, which is 4, 8
    or 16 bytes for each lane. active: which lanes take part, bools of that shape or one that
    broadcasts to it; None means all. kind: "load" or "store". Returns integers of shape (...),
    0 where no lane takes part. Raises ValueError for other shapes, widths, kinds and addresses.
    """
    return _served(addresses, width, active, kind)[0]


def bank_conflicts(addresses: Ints, width: int, active: Active = None, kind: str = "load") -> Ints:
    """Wavefronts that are there because lanes want several words of one bank; as `wavefronts`."""
    total, groups = _served(addresses, width, active, kind)
    return np.asarray(total - groups)


def wavefront_of(addresses: Ints, width: int, active: Active = None, kind: str = "load") -> Ints:
    """In which wavefront, from 0, each lane is served; -1 for lanes that take no part.

    Arguments and errors as for `wavefronts`; returns integers of shape (..., 32). Hardware does
    not say in which order it serves the words of a bank: here it is that of the first lanes.
    """
    units, active = _units(addresses, width, active)
    size = _group(width) * np.where(_merges(units, active, width, kind), 2, 1)[..., None]
    number = np.arange(LANES) // size  # of each lane's group
    before = np.arange(LANES)[:, None] > np.arange(LANES)  # lane i after lane j
    same_group = (number[..., :, None] == number[..., None, :]) & active[..., None, :]
    same_word = units[..., :, None] == units[..., None, :]
    first = ~(same_group & same_word & before).any(-1) & active  # the first to want its word
    bank = units % _group(width)
    same_bank = bank[..., :, None] == bank[..., None, :]
    ahead = (same_group & same_bank & ~same_word & first[..., None, :] & before).sum(-1)
    leader = (same_group & same_word).argmax(-1)  # that lane's place in line
    place = np.take_along_axis(ahead, leader, -1)
    start = np.zeros(units.shape, np.int64)
    done = np.zeros((*units.shape[:-1], 1), np.int64)
    for n in range(LANES // _group(width)):
        mine = (number == n) & active
        start = np.where(mine, done, start)
        done = done + np.where(mine, place + 1, 0).max(-1, keepdims=True)
    return np.where(active, start + place, -1)


def ideal_wavefronts(
    addresses: Ints, width: int, active: Active = None, kind: str = "load"
) -> Ints:
    """The fewest wavefronts that could have brought the distinct words that the lanes use, were
    they spread better; as `wavefronts`. No less than the groups that the warp goes in at best."""
    units, active = _units(addresses, width, active)
    used = _degrees(units, active, LANES, 1)[..., 0] * width
    group = min(LANES, _group(width) * (2 if kind == "load" else 1))
    groups = active.reshape(*active.shape[:-1], -1, group).any(-1).sum(-1)
    return np.asarray(np.maximum(-(-used // (BANKS * BANK_BYTES)), groups))


def _units(addresses: Ints, width: int, active: Active) -> tuple[Ints, Mask]:
    """Addresses in units of the access's width, and the mask in full."""
    if width not in WIDTHS:
        raise ValueError(f"a lane takes 4, 8 or 16 bytes of shared memory at once, not {width}")
    addresses = np.asarray(addresses)
    if addresses.dtype.kind not in "iu" or addresses.shape[-1:] != (LANES,):
        raise ValueError(
            f"addresses must be integers of shape (..., {LANES}), the lanes of a "
            f"warp, not {addresses.dtype} of shape {addresses.shape}"
        )
    addresses = addresses.astype(np.int64, copy=False)
    active, shape = np.asarray(True if active is None else active), addresses.shape
    if active.dtype != bool or np.broadcast_shapes(active.shape, shape) != shape:
        raise ValueError(
            f"active must be bools that broadcast to the shape of the addresses, {shape}, "
            f"not {active.dtype} of shape {active.shape}"
        )
    active = np.broadcast_to(active, shape)
    if (addresses % width != 0)[active].any():
        raise ValueError(f"addresses of {width}-byte accesses must be multiples of {width}")
    return addresses // width, active


def _group(width: int) -> int:
    """Lanes of the smallest group. A unit of 8 or 16 bytes lies in 2 or 4 neighbouring banks,
    always the same ones, so that the banks make as many places for units."""
    return BANKS * BANK_BYTES // width


def _served(addresses: Ints, width: int, active: Active, kind: str) -> tuple[Ints, Ints]:
    """(wavefronts, groups that have a lane taking part) of each warp."""
    units, active = _units(addresses, width, active)
    apart = _degrees(units, active, _group(width), _group(width))
    merges = _merges(units, active, width, kind)
    total, groups = apart.sum(-1), (apart > 0).sum(-1)
    if merges.any():
        together = _degrees(units, active, 2 * _group(width), _group(width))
        total = np.where(merges, together.sum(-1), total)
        groups = np.where(merges, (together > 0).sum(-1), groups)
    return total, groups


def _merges(units: Ints, active: Mask, width: int, kind: str) -> Mask:
    """Whether pairs of groups go together: bools (...)."""
    if kind not in ("load", "store"):
        raise ValueError(f'kind must be "load" or "store", not {kind!r}')
    if width == 4 or kind == "store":
        return np.zeros(units.shape[:-1], bool)
    lanes = np.arange(LANES)
    agree = [
        ((units == units[..., lanes ^ n]) | ~active | ~active[..., lanes ^ n]).all(-1)
        for n in (1, 2)
    ]
    return np.asarray(agree[0] | agree[1])


def _degrees(units: Ints, active: Mask, lanes: int, places: int) -> Ints:
    """The degree of each group of `lanes` neighbours, in so many places: (..., groups)."""
    groups = np.where(active, units, -1).reshape(*units.shape[:-1], LANES // lanes, lanes)
    groups = np.sort(groups, axis=-1)
    new = groups >= 0
    new[..., 1:] &= groups[..., 1:] != groups[..., :-1]
    rows = np.arange(groups.size // lanes).reshape(*groups.shape[:-1], 1)
    at = (rows * places + groups % places)[new].astype(np.intp)
    counts = np.bincount(at, minlength=rows.size * places)
    return np.asarray(counts.reshape(*groups.shape[:-1], places).max(-1))
