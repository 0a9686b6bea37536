"""The hot loop in machine code: which instruction ptxas has put where.

PTX says what a kernel does; ptxas decides the order, between the points where it may not move an
instruction. NVIDIA does not document the encoding. On GPUs of compute capability 7.0 to 9.0 an
instruction has 16 bytes whose low 12 bits tell what it is; the few codes that a book on SGEMM
needs, and the offset of a branch, were read off against nvdisasm 13.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from ..ptx.text.flow import reached
from . import elf
from .decode import DIVERGENT
from .flow import distance

# An FMA has a form, in the high digit, for each kind of operand: register, constant and so on.
CODES = {form << 8 | 0x23: "fma" for form in range(2, 16, 2)} | {
    0x984: "shared load",
    0x388: "shared store",
    0x981: "global load",
    0x986: "global store",
    0xFAE: "asynchronous copy",
    0xB1D: "barrier",
    0x947: "branch",
}
REUSE = 0xF << 26  # in the last word: operands that stay in the caches of the register banks
S2R, THREAD_INDEX = 0x919, (0x21, 0x22, 0x23)  # a special register, and the numbers of three
EXIT, ALWAYS = 0x94D, 7  # the end of a thread, and the predicate that is always true


def machine_loop(kernel: Any, arch: str = "sm_90") -> tuple[str, ...]:
    """The instructions of the hot loop of a Kernel or a Step, in the order of the machine code.

    Each is one of the names in `CODES`, or "other". The hot loop is what lies between a branch
    back and its target, where most multiply-adds are; the whole kernel if there is no such loop.
    Raises CompileError.
    """
    return tuple(CODES.get(int(word) & 0xFFF, "other") for word in hot_words(kernel, arch)[:, 0])


def hot_words(kernel: Any, arch: str = "sm_90") -> np.ndarray:
    """The same instructions as they are encoded: uint32, shape (instructions, 4)."""
    words, names, loops = _loops(kernel, arch)
    hot = _hot(names, loops)
    return words[slice(*hot)] if hot else words


def _hot(names: list[str], loops: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Of the loops the innermost with the most FMAs, None if there is none."""
    fmas = {loop: names[slice(*loop)].count("fma") for loop in loops}
    hot = max(loops, key=lambda loop: (fmas[loop], loop[0] - loop[1]), default=None)
    return hot if hot and fmas[hot] else None


def tile_loop(kernel: Any, fmas: int, arch: str = "sm_90") -> tuple[str, ...]:
    """The names of what `tile_words` gives."""
    return tuple(CODES.get(word & 0xFFF, "other") for word in tile_words(kernel, fmas, arch))


def tile_words(kernel: Any, fmas: int, arch: str = "sm_90") -> list[int]:
    """One pass through the loop with the barriers, as a warp executes it: what `hot_words`
    gives where the loop over k is unrolled, and else with that loop as often as it takes for
    `fmas` multiply-adds of a thread. Raises ValueError if there is no such loop, or no such
    number of passes, and CompileError.
    """
    words, names, loops = _loops(kernel, arch)
    with_fmas = [loop for loop in loops if "fma" in names[slice(*loop)]]
    around = [loop for loop in with_fmas if "barrier" in names[slice(*loop)]]
    if not around:
        raise ValueError("no loop has a barrier and multiply-adds")
    first, end = min(around, key=lambda loop: (loop[1] - loop[0], loop))
    inner = [(a, b) for a, b in with_fmas if first <= a and b <= end and (a, b) != (first, end)]
    a, b = max(inner, key=lambda loop: names[slice(*loop)].count("fma"), default=(end, end))
    outside = names[first:a].count("fma") + names[b:end].count("fma")
    times = (fmas - outside) // max(1, names[a:b].count("fma"))
    executed = [*range(first, a), *max(times, 0) * [*range(a, b)], *range(b, end)]
    if (count := sum(names[n] == "fma" for n in executed)) != fmas:
        raise ValueError(f"a pass has {count} multiply-adds, not {fmas}")
    return [int.from_bytes(words[n].tobytes(), "little") for n in executed]


def _loops(kernel: Any, arch: str) -> tuple[np.ndarray, list[str], list[tuple[int, int]]]:
    """All instructions, their names, and of each branch back its target and the place after it."""
    compiled: Any = getattr(kernel, "kernel", kernel)
    code = elf.code(compiled.cubin(arch), compiled.symbol)
    words = np.frombuffer(code, "<u4").reshape(-1, 4)
    names = [CODES.get(int(word) & 0xFFF, "other") for word in words[:, 0]]
    branches = [n for n, name in enumerate(names) if name == "branch" and _offset(words[n]) < 0]
    return words, names, [(n + 1 + _offset(words[n]), n + 1) for n in branches]


def timeline(names: Iterable[str], keep: Collection[str]) -> str:
    """Runs of equal names, such as "2 global load  512 fma  1 barrier", without all others."""
    kept = (name for name in names if name in keep)
    return "  ".join(f"{len(list(run))} {name}" for name, run in itertools.groupby(kept))


def _offset(words: np.ndarray) -> int:
    """How far a branch goes, in instructions after it."""
    return distance(int.from_bytes(words.tobytes(), "little"))


def thread_index_reads(kernel: Any, arch: str = "sm_90") -> int:
    """How often a warp reads threadIdx.x, .y or .z, S2R in machine code, outside loops.

    That is the fewest of a way from the first instruction, through the hot loop, to an end: ptxas
    reads again where that is cheaper than to keep a register, whatever stands in the PTX, and in
    branches that few warps or none take. Without FMAs in loops, the way leads through the longest.
    """
    words, names, loops = _loops(kernel, arch)
    codes, which = words[:, 0] & 0xFFF, words[:, 2] >> 8 & 0xFF
    all_after = (_successors(words, names, n) for n in range(len(words)))
    after = [[k for k in ways if 0 <= k < len(words)] for ways in all_after]
    reads = np.flatnonzero((codes == S2R) & np.isin(which, THREAD_INDEX)).tolist()
    once = {n for n in reads if n not in reached(after[n], after)}
    turns = [loop for loop in loops if loop[1] - loop[0] > 1]  # a branch to itself ends the code
    through = _hot(names, turns) or max(turns, key=lambda loop: loop[1] - loop[0], default=(0, 0))
    ends = set(np.flatnonzero(codes == EXIT).tolist())
    return _fewest(0, {through[0]}, once, after) + _fewest(through[0], ends, once, after)


def _fewest(start: int, ends: set[int], marked: set[int], after: list[list[int]]) -> int:
    """The marked instructions of the way with the fewest from `start`, which does not count, to
    one of `ends` that can be reached; 0 without one."""
    seen: set[int] = set()
    ways = [(0, start)]
    while ways:
        count, n = heapq.heappop(ways)
        if n in ends:
            return count
        if n not in seen:
            seen.add(n)
            for k in after[n]:
                heapq.heappush(ways, (count + (k in marked), k))
    return 0


def _successors(words: np.ndarray, names: list[str], n: int) -> list[int]:
    """The instructions that may come after instruction `n`."""
    always = int(words[n, 0]) >> 12 & 0xF == ALWAYS and not int(words[n, 2]) >> DIVERGENT % 32 & 1
    if int(words[n, 0]) & 0xFFF == EXIT:
        return [] if always else [n + 1]
    if names[n] != "branch":
        return [n + 1]
    target = n + 1 + _offset(words[n])
    return [target] if always else [target, n + 1]
