"""Assertions for the tests of kernels, on a machine with or without a GPU: bits, counters, faults.

    def test_add():
        launch = (4, 256, (a, b, c, 1000))
        assert_clean(add, launch)
        assert_counters(add, launch, sectors_per_request=4, bank_conflicts=0)
        add(*launch)
        assert_same_bits(c, a + b)

A launch is (grid, block, args) or (grid, block, args, shared_mem), as a `Kernel` is called. What is
asserted of one runs in the interpreter, on copies of its arrays. GOALS has what can be counted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from . import analysis, gpu
from .build import NoCompiler
from .kernel import Kernel, Size
from .sass.hot_loop import machine_loop
from .sass.operands import operand_cycles
from .trace import FFMA, REQUESTS, SECTORS, Trace, WarpAccess
from .trace.metrics import CONFLICTS, KINDS, SHARED_INSTRUCTIONS, WAVEFRONTS

__all__ = [
    "GOALS", "Counted", "Goal", "assert_clean", "assert_counters", "assert_same_bits", "bounds",
    "reached",
]  # fmt: skip
MOST_LANES = 8  # that a message names


class Counted(NamedTuple):
    """What goals are about: a kernel, a trace of it, its blocks' bytes of dynamic shared memory."""

    trace: Trace
    kernel: Kernel
    shared_mem: int


class Goal(NamedTuple):
    """What is counted, in words; how; and the memory whose accesses say where it comes from."""

    what: str
    value: Callable[[Any], float]  # of a Counted, in GOALS
    space: str = ""  # "shared", "global", or none


def _shared(kernel: Kernel) -> int:
    """Bytes of static shared memory: what ptxas reports or, of clang's, what is declared."""
    if kernel.by_clang:
        return sum(v.size for v in kernel.entry.variables if v.space == "shared")
    return kernel.resources().shared


def _sum(it: Counted, metric: str) -> int:
    """Of loads and stores."""
    return sum(it.trace.counters[metric.format(kind)] for kind in KINDS.values())


def _each(it: Counted, metric: str, of: str) -> float:
    """One metric for each of another; raises ValueError where there is none of that."""
    return _per(_sum(it, metric), _sum(it, of), "such access")


def _per_fma(it: Counted, *kinds: str) -> float:
    """Wavefronts of shared memory for each multiply-add of a warp."""
    return sum(it.trace.per_fma(WAVEFRONTS.format(KINDS[kind])) for kind in kinds)


def _issued(it: Counted) -> float:
    """Instructions of the hot loop for each of its multiply-adds."""
    loop = machine_loop(it.kernel)
    return _per(len(loop), loop.count("fma"))


def _per(total: float, count: int, what: str = "multiply-add") -> float:
    """For each of them; raises ValueError where there is none."""
    if not count:
        raise ValueError(f"there is no {what} to divide by")
    return total / count


def _spills(it: Counted) -> int:
    """Bytes that a thread stores and loads because registers are too few."""
    used = it.kernel.resources()
    return used.spill_stores + used.spill_loads


_conflicts = Goal("bank conflicts", lambda it: _sum(it, CONFLICTS), "shared")
GOALS: dict[str, Goal] = {
    "wavefronts_per_fma": Goal(
        "wavefronts of the data pipe for each multiply-add of a warp",
        lambda it: it.trace.wavefronts_per_fma,
    ),
    "shared_wavefronts_per_fma": Goal(
        "wavefronts of shared loads and stores for each multiply-add of a warp",
        lambda it: _per_fma(it, "load", "store"),
        "shared",
    ),
    "load_wavefronts_per_fma": Goal(
        "wavefronts of shared loads for each multiply-add of a warp",
        lambda it: _per_fma(it, "load"),
        "shared",
    ),
    "wavefronts": Goal("wavefronts of shared memory", lambda it: _sum(it, WAVEFRONTS), "shared"),
    "conflicts": _conflicts,
    "bank_conflicts": _conflicts,
    "wavefronts_per_access": Goal(
        "wavefronts for each access of a warp to shared memory",
        lambda it: _each(it, WAVEFRONTS, SHARED_INSTRUCTIONS),
        "shared",
    ),
    "shared_accesses": Goal(
        "accesses of warps to shared memory", lambda it: _sum(it, SHARED_INSTRUCTIONS), "shared"
    ),
    "requests": Goal("accesses of warps to global memory", lambda it: _sum(it, REQUESTS), "global"),
    "sectors": Goal("sectors of global memory", lambda it: _sum(it, SECTORS), "global"),
    "sectors_per_request": Goal(
        "sectors for each access of a warp to global memory",
        lambda it: _each(it, SECTORS, REQUESTS),
        "global",
    ),
    "multiply_adds": Goal("multiply-adds of threads", lambda it: it.trace.counters[FFMA]),
    "shared_bytes": Goal(
        "bytes of shared memory of a block", lambda it: _shared(it.kernel) + it.shared_mem
    ),
    "registers": Goal("registers of a thread", lambda it: it.kernel.resources().registers),
    "stack": Goal("bytes of local memory of a thread", lambda it: it.kernel.resources().stack),
    "spills": Goal("bytes that a thread spills", _spills),
    "instructions_per_fma": Goal(
        "instructions of the machine code for each multiply-add, in the hot loop", _issued
    ),
    "operand_cycles_per_fma": Goal(
        "cycles of issue slots and operands for each multiply-add, in the hot loop",
        lambda it: _per(operand_cycles(it.kernel), machine_loop(it.kernel).count("fma")),
    ),
}


def bounds(name: str, goal: Any, known: Mapping[str, Goal] = GOALS) -> tuple[float | None, float]:
    """The least, if there is one, and the most. Raises ValueError for what is no goal."""
    if name not in known:
        listed = "".join(f"\n  {name}: {goal.what}" for name, goal in known.items())
        raise ValueError(f"there is no goal {name!r}; there are{listed}")
    if isinstance(goal, Real):
        return None, float(goal)
    if isinstance(goal, (tuple, list)) and len(goal) == 2:
        least, most = goal
        if isinstance(least, Real) and isinstance(most, Real) and least <= most:
            return float(least), float(most)
    raise ValueError(
        f"{name} is the most that is allowed, a number, or (least, most), not {goal!r}"
    )


def reached(
    name: str, goal: Any, counted: Any, known: Mapping[str, Goal] = GOALS
) -> tuple[bool | None, str, str]:
    """Whether a goal is reached, which it is not where the kernel has nothing to count, and which
    nobody knows, None, where clang has compiled it and the goal is of machine code; and in words,
    what is wanted and what was counted. Raises ValueError for what is no goal."""
    least, most = bounds(name, goal, known)
    wanted = f"at most {most:g}" if least is None else f"{least:g} to {most:g}"
    try:
        value = known[name].value(counted)
    except ValueError as error:
        return False, wanted, str(error)
    except NoCompiler:
        return None, wanted, "of machine code, which NVRTC alone makes"
    met = value <= most and (least is None or value >= least)
    return met, wanted, f"{value:.6g} {known[name].what}"


def assert_counters(kernel: Kernel, launch: Sequence[Any], **goals: Any) -> None:
    """Assert what a launch costs: each goal, of GOALS, is the most allowed, or (least, most).

    The message names the line, the lanes and what they touch where most of it is spent by a warp
    of block (0, 0, 0). Raises ValueError for what is no goal.
    """
    __tracebackhide__ = True
    for name, goal in goals.items():
        bounds(name, goal)
    grid, block, args, shared_mem = _copied(launch)
    trace = kernel.trace(grid, block, args, shared_mem=shared_mem)
    counted = Counted(trace, kernel, shared_mem)
    missed = []
    for name, goal in goals.items():
        met, wanted, value = reached(name, goal, counted)
        if not met:
            missed.append(f"{kernel.name}: {value}; {name} is to be {wanted}")
            missed += _dearest(trace, GOALS[name].space)
    assert not missed, "\n".join(missed)


def assert_clean(
    kernel: Kernel,
    launch: Sequence[Any],
    uninitialised: Sequence[int] | Mapping[int, np.ndarray] = (),
) -> None:
    """Assert that `Kernel.sanitize` finds nothing: the message has each fault, with line and
    threads."""
    __tracebackhide__ = True
    grid, block, args, shared_mem = _copied(launch)
    findings = kernel.sanitize(grid, block, args, shared_mem, uninitialised)
    assert not findings, "\n".join(map(str, findings))


def assert_same_bits(actual: Any, expected: Any) -> None:
    """Assert that two arrays are of one dtype and shape and have the same bytes: 0.0 is not -0.0,
    and a NaN is itself. The message has the first index that differs, and both values."""
    __tracebackhide__ = True
    actual, expected = _on_host(actual), _on_host(expected)
    kinds = [f"{x.dtype} of shape {x.shape}" for x in (actual, expected)]
    assert kinds[0] == kinds[1], f"actual is {kinds[0]}, expected {kinds[1]}"
    rows = [_bytes(x) for x in (actual, expected)]
    other = np.flatnonzero((rows[0] != rows[1]).any(-1))
    if len(other):
        index = tuple(map(int, np.unravel_index(other[0], actual.shape)))
        texts = [
            f"{x[index]} (0x{row[other[0]][::-1].tobytes().hex()})"
            for x, row in zip((actual, expected), rows)
        ]
        raise AssertionError(
            f"actual[{', '.join(map(str, index))}] is {texts[0]}, expected {texts[1]}; "
            f"{len(other)} of {actual.size} elements have other bits"
        )


def _bytes(array: np.ndarray) -> np.ndarray:
    """Those of each element, (elements, bytes)."""
    return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, array.itemsize)


def _on_host(x: Any) -> np.ndarray:
    """An array of any library as one of NumPy."""
    x = gpu.as_array(x) if gpu.is_shared(x) else np.asarray(x)
    return gpu.to_host(x) if gpu.is_device_array(x) else x


def _copied(launch: Sequence[Any]) -> tuple[Size, Size, list[Any], int]:
    """A launch on copies of its arrays, but for those that are read-only: grid, block, args and
    bytes of shared memory."""
    if not isinstance(launch, (tuple, list)) or len(launch) not in (3, 4):
        raise TypeError("a launch is (grid, block, args) or (grid, block, args, shared_mem)")
    grid, block, args, shared_mem = (*launch, 0)[:4]
    kept = {id(x): x for x in args if isinstance(x, np.ndarray) and not x.flags.writeable}
    return grid, block, copy.deepcopy(list(args), kept), shared_mem


def _dearest(trace: Trace, space: str) -> list[str]:
    """The access to this memory that costs most, in words; none where there is none."""
    accesses = [x for x in trace.accesses if x.space == space and x.kind in KINDS and x.width >= 4]
    if not accesses:
        return []
    if space == "global":
        dearest = max(accesses, key=lambda access: access.sectors)
        cost, lanes = f"{dearest.sectors} sectors", np.flatnonzero(dearest.active)
    else:
        dearest = max(accesses, key=lambda access: (access.conflicts, access.wavefronts))
        lanes, bank = _crowd(dearest)
        cost = f"{dearest.wavefronts} wavefronts, {dearest.conflicts} conflicts, in bank {bank}"
    touched = ", ".join(f"lane {n} {dearest.element(n)}" for n in lanes[:MOST_LANES].tolist())
    more = f" and {len(lanes) - MOST_LANES} more" if len(lanes) > MOST_LANES else ""
    return [
        f"  {dearest.file}:{dearest.line}: {dearest.kind} of {dearest.array} by warp "
        f"{dearest.warp}: {cost}: {touched}{more}"
    ]


def _crowd(access: WarpAccess) -> tuple[np.ndarray, int]:
    """The lanes whose words lie in the bank that most lanes want different words of; and it."""
    lanes = np.flatnonzero(access.active)
    word = access.address[lanes] // analysis.BANK_BYTES
    _, firsts = np.unique(word, return_index=True)
    bank = int(np.bincount(word[firsts] % analysis.BANKS).argmax())
    firsts.sort()
    return lanes[firsts[word[firsts] % analysis.BANKS == bank]], bank
