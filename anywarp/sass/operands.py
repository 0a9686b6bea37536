"""In how many cycles a hot loop gets the operands of its multiply-adds.

NVIDIA documents neither the banks of the register file nor the marks for reuse. What they cost was
measured on an H100, by `benchmarks.operands`; the rule of `collected` follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .decode import Instruction, decode
from .hot_loop import hot_words

AHEAD = 3  # instructions that collect their operands at a time


def operand_cycles(kernel: Any, arch: str = "sm_90") -> int:
    """In how many cycles a warp is through the hot loop of a Kernel or a Step once, if only issue
    slots and operands limit it: see `collected`. Raises CompileError, and Unknown for an
    instruction that is not known.
    """
    words = hot_words(kernel, arch)
    return collected(decode(int.from_bytes(row.tobytes(), "little")) for row in words)[-1]


def collected(code: Iterable[Instruction]) -> list[int]:
    """In how many cycles each of these instructions and those before it, issued one in a cycle and
    in order, have their operands.

    Registers with even numbers lie in one bank, those with odd ones in another. A bank delivers a
    register in a cycle. It goes into a buffer, of which each of the three places of an operand has
    one for each bank. There it stays after a mark for reuse, for the next instruction that names
    the same register in the same place. Else a buffer is free again once its instruction has all
    operands. `AHEAD` instructions collect theirs at a time, and are through in order.

    What was measured with 2 and 4 warps on a scheduler is in
    kernels/records/nvidia_h100_80gb_hbm3/operands.json. Programs of all kinds took so many cycles
    within 0.013 for an FMA, and the FMAs of the book's hot loops, alone or with the slots of the
    other instructions, within 0.9 %. The rule was found with both; the times of chapters 14 and 19,
    which agree with it, were not used. That other instructions read as FMAs do if they compute, and
    else nothing, is assumed. Left out is that marks are lost when another warp is issued.
    """
    kept: dict[tuple[int, int], int] = {}  # by place and bank, the register marked for reuse
    free: dict[tuple[int, int], int] = {}  # and from when on the buffer can be filled
    delivered: set[tuple[int, int]] = set()  # banks and cycles
    ends = [0] * AHEAD
    start = -1
    for i in code:
        start = max(start + 1, ends[-AHEAD])
        end = max(start, ends[-1]) + 1
        reads = enumerate(i.slots if i.kind in ("alu", "wide") else ())
        buffers = {(place, r % 2): r for place, r in reads if r >= 0}
        fresh = {r: buffer for buffer, r in buffers.items() if kept.get(buffer) != r}
        for r, buffer in fresh.items():
            at = max(start, free.get(buffer, 0))
            while (r % 2, at) in delivered:
                at += 1
            delivered.add((r % 2, at))
            end = max(end, at + 1)
        for buffer, r in buffers.items():
            free[buffer] = end
            kept[buffer] = r if i.control.reuse >> buffer[0] & 1 else -1
        ends.append(end)
    return ends[AHEAD:]
