"""The swizzles of shared memory, which tensor copies and wgmma apply to addresses.

Rows of 32, 64 or 128 bytes that lie under one another would put the same column of every row into
the same banks. A swizzle exchanges the 16-byte units of each 128 bytes, in an order that the
number of those 128 bytes in shared memory decides: bits of the address from the seventh on are
exclusive-ored into those from the fourth on. What repeats is 256, 512 or 1024 bytes long.

    swizzle      bits 4 to …   take those of bits 7 to …   units    repeats after
    32 bytes     4             7                           2        256 bytes
    64 bytes     4 to 5        7 to 8                      4        512
    128 bytes    4 to 6        7 to 9                      8        1024

PTX ISA: "Swizzling modes" of tensors, "Asynchronous warpgroup level matrix shared memory layout".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aliases import Array

UNIT = 16  # bytes that stay together
SWIZZLES = (0, 32, 64, 128)  # bytes; 0 for none


def swizzled(address: Array, swizzle: int, pattern: int = 0) -> Any:
    """Where in shared memory the byte lies that, without a swizzle, would lie at `address`.

    address: an int or an array of them, byte addresses in the block's shared memory. swizzle: one
    of SWIZZLES. pattern: where the repeating pattern starts, a multiple of 128 bytes, if that is
    not a multiple of its length. Each 128 bytes are permuted among themselves; done twice, it is
    undone.
    """
    if swizzle not in SWIZZLES:
        raise ValueError(f"a swizzle is of 32, 64 or 128 bytes, or 0 for none, not {swizzle}")
    if not swizzle:
        return address
    units = np.int64(swizzle // UNIT - 1)
    return address ^ ((np.asarray(address, np.int64) - pattern >> 7 & units) << 4)
