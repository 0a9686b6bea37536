"""Global memory in the L1 cache: the wavefronts that a warp's access takes in its two stages.

The tag stage finds lines, in rounds, a wavefront each. Four tags are looked up at once, one in each
of four banks of tags, to which a hash of the line's number assigns it; each serves the first lane
that is left and all lanes that want the same line.

The data stage also serves shared memory, through the same 32 banks: a cache line lies across all
of them, a word in the bank that the low bits of its address name. Lanes that come there together
take the wavefronts of a store to shared memory at their addresses. Together come

- of a load, all lanes that hit in L1; of those that miss, a round's, as its data come back, and
  so of those whose sector was asked for before but is still on its way;
- of a store, the lanes of the first eight rounds, and then those of each round; where the stage has
  nothing else to do, it takes what has come so far, and needs up to six wavefronts more.

So neighbouring lanes that read neighbouring words take a wavefront of tags, and 1, 2 or 4 of data
for 4, 8 or 16 bytes a lane. 32 rows at a distance of whole lines take 32 of data; at an odd
distance 8 to 17 of tags and, once they hit, 1 of data. A kernel that nothing but the L1 holds back
takes a cycle for each wavefront of the stage that has more.

Source: measured with Nsight Compute on an NVIDIA H100 and an H200, metrics
`l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld` and `l1tex__data_pipe_lsu_wavefronts`, on
lines up to 64 MiB apart (`benchmarks.l1`, `benchmarks.patterns`). Misses of a load that has
hits too differ by one or two from launch to launch. What atomics take was not found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .banks import BANK_BYTES, BANKS, ideal_wavefronts, wavefront_of, wavefronts
from .sectors import LINE_BYTES
from .warps import LANES, Active, Ints, Mask

# The bank of a tag has two bits: each the parity of the line's number under a mask, whose bits from
# the 20th on are not known.
TAG_MASKS = (0b0101_1010_1111_0110_1111, 0b0111_0111_1010_1011_0101)
STORE_ROUNDS = 8  # whose lanes come to the data stage together, of a store
LANE_BYTES = 128  # of local memory between two words of a lane


def l1_wavefronts(
    addresses: Ints, width: int, active: Active = None, kind: str = "load", hits: Active = False
) -> tuple[Ints, Ints]:
    """Wavefronts of the data and the tag stage for a warp's load or store of global memory.

    addresses: byte addresses, integers of shape (..., 32), multiples of `width`, 1 to 16 bytes.
    active: which lanes take part, bools that broadcast to that shape; None means all. kind: "load"
    or "store". hits: of a load, the lanes whose sectors are in L1, likewise. Returns integers of
    shape (...), twice. Raises ValueError as `wavefronts`.
    """
    addresses, width = _words(np.asarray(addresses), width)
    active = np.broadcast_to(True if active is None else active, addresses.shape)
    rounds = [active & False, *_rounds(addresses // LINE_BYTES, active)]
    if kind == "load":
        together = [active & hits, *(now & ~np.asarray(hits) for now in rounds)]
    else:
        together = [np.any(rounds[: STORE_ROUNDS + 1], 0), *rounds[STORE_ROUNDS + 1 :]]
    data = sum(wavefronts(addresses, width, now, "store") for now in together)
    return np.asarray(data), np.asarray(np.sum([now.any(-1) for now in rounds], 0))


def global_wavefronts(
    addresses: Ints, width: int, active: Active = None, kind: str = "load", hits: Active = False
) -> Ints:
    """Those of the data stage; as `l1_wavefronts`."""
    return l1_wavefronts(addresses, width, active, kind, hits)[0]


def tag_wavefronts(addresses: Ints, width: int, active: Active = None) -> Ints:
    """Those of the tag stage for a load or store; as `l1_wavefronts`."""
    return l1_wavefronts(addresses, width, active)[1]


def l1_cycles(addresses: Ints, width: int, active: Mask) -> tuple[Ints, Ints]:
    """In which cycle, from 1, the data and the tag stage serve each lane of a load whose lines are
    in L1; 0 for lanes that take no part. Arguments as for `l1_wavefronts`, of shape (32,)."""
    words, width = _words(addresses, width)
    rounds = enumerate(_rounds(words // LINE_BYTES, active), 1)
    found = np.asarray(sum(n * now for n, now in rounds))
    return wavefront_of(words, width, active, "store") + 1, found


def tag_banks(lines: Ints) -> Ints:
    """The bank of the tag of each line, by its number: 0 to 3."""
    bits = [np.bitwise_count(lines & mask) & 1 for mask in TAG_MASKS]
    return np.asarray(bits[0] + 2 * bits[1])


def _rounds(lines: np.ndarray, active: np.ndarray) -> Iterator[np.ndarray]:
    """The lanes whose lines are found at once, round after round."""
    banks = tag_banks(lines)
    in_bank = np.array([banks == bank for bank in range(1 << len(TAG_MASKS))])
    every = np.broadcast_to(lines, in_bank.shape)
    left = active
    while left.any():
        mine = left & in_bank
        first = np.take_along_axis(every, mine.argmax(-1)[..., None], -1)
        now = (mine & (lines == first)).any(0)
        yield now
        left = left & ~now


def ideal_global_wavefronts(addresses: Ints, width: int, active: Active = None) -> Ints:
    """The fewest wavefronts that could have carried the distinct words that the lanes use; as
    `l1_wavefronts`."""
    return ideal_wavefronts(*_words(np.asarray(addresses), width), active, "store")


def local_wavefronts(
    addresses: Ints, width: int, active: Active = None, kind: str = "load"
) -> Ints:
    """Wavefronts of the data pipe for local memory, given addresses within each lane's own.

    The words of 32 lanes that have the same place lie side by side in a cache line; an access of
    several words goes a word at a time. Else as `l1_wavefronts`.
    """
    addresses, width = _words(np.asarray(addresses), width)
    lanes = np.arange(addresses.shape[-1]) * BANK_BYTES
    places = addresses // BANK_BYTES * LANE_BYTES + lanes
    words = [places + n * LANE_BYTES for n in range(width // BANK_BYTES)]
    counts = [global_wavefronts(word, BANK_BYTES, active, kind) for word in words]
    return np.asarray(np.sum(counts, 0))


def copy_wavefronts(sources: Ints, targets: Ints, width: int, active: Active = None) -> Ints:
    """Wavefronts of the data pipe for a warp's cp.async.ca, which passes through the L1.

    sources, targets: byte addresses in global and in shared memory, integers of shape (..., 32);
    a source below 0 is that of a lane which reads nothing. width: 4, 8 or 16 bytes a lane.
    active: as for `l1_wavefronts`. Returns integers of shape (...).

    Lines are found in rounds, as for a load. In each a group of lanes takes as many wavefronts as
    the most words that leave one bank or reach one: a word for two places leaves its bank twice.
    Of 75 patterns measured on an H200 (`tests/data/nvidia_h200_copies.json`) 57 are met, those
    of neighbouring lanes among them; the others are up to 46 per cent off.
    """
    sources, targets = np.broadcast_arrays(sources, targets)
    active = np.broadcast_to(True if active is None else active, sources.shape)
    lanes = 128 // width if width > BANK_BYTES else LANES  # of a group
    total = np.zeros(sources.shape[:-1], np.int64)
    for now in _rounds(sources // LINE_BYTES, active):
        reading = now & (sources >= 0)
        for first in range(0, LANES, lanes):
            group = slice(first, first + lanes)
            total = total + np.maximum(
                _most_in_a_bank(sources[..., group], width, reading[..., group]),
                _most_in_a_bank(targets[..., group], width, now[..., group]),
            )
    return total


def _most_in_a_bank(addresses: Ints, width: int, active: Mask) -> Ints:
    """Of the words that lanes have, the same one counted for each."""
    word = addresses[..., None] // BANK_BYTES + np.arange(width // BANK_BYTES)
    bank = np.where(active[..., None], word % BANKS, BANKS).reshape(*active.shape[:-1], -1)
    return np.asarray((bank[..., None] == np.arange(BANKS)).sum(-2).max(-1))


def _words(addresses: np.ndarray, width: int) -> tuple[np.ndarray, int]:
    """A lane that wants a part of a word wants it."""
    if width in (1, 2):
        return addresses // BANK_BYTES * BANK_BYTES, BANK_BYTES
    return addresses, width
