"""What each kernel alone has in the corpus: `python -m tests.test_corpus` writes README.md.

A kernel has the instructions of its PTX with types and modifiers (asynchronous ones, barriers and
products of warpgroups with their numbers too), its special registers, functions of the driver's,
options, counters that are not zero, and those that are off (exact.py); one with a planted fault
what is found, and the instructions that meet there. One that has nothing alone is here only for a
reason.
"""

from __future__ import annotations

import re
from collections import Counter

import corpus
from anywarp.ptx.text import isa
from anywarp.ptx.text.parser import parse
from anywarp.ptx.text.syntax import Function, Immediate, Instruction, Vector

from . import exact

PATH = corpus.FOLDER / "README.md"
SHOWN = 5  # at most, of what a kernel alone has
# Kernels that have nothing alone -> why they are here; modules are here as what compilers make.
REASONS = {
    "async_copy": "two stages of a pipeline, which its picture tells one by one",
    "bug_divergent_barrier": "threads of one warp part at a barrier, which compute-sanitizer sees",
    "bug_fence_missing": "the flag is an atomic, and a fence alone is missing",
    "contract_forms": "which products are fused: negated, with several uses, two in a sum",
    "contract_quaternion": "which products are fused: in long sums",
    "device_strings": "a variable that holds addresses of strings",
    "double_nan_bits": "the bits of NaNs that arithmetic in double makes",
    "local_array_index": "accesses to local memory that NVRTC joins, more or fewer of them",
    "lock_blocks": "no false alarm: a lock orders blocks, and barriers their other threads",
    "particles_leapfrog": "predicates that are joined, in a launch without a trace",
    "pipeline_of_three": "counters: copies under predicates, which for some turns nobody makes",
    "reduce_argmax": "counters: loads are joined across short branches that share an arm",
    "scan_lookback": "no false alarm: a block waits for the one before it, by fences and atomics",
    "t_cluster_none": "what registers of clusters hold where there is none",
    "tricky_last_block_shared": "no false alarm: the last block reads by all of its warps",
    "tricky_struct_padding": "no false alarm: padding that nobody has written is copied",
    "x_bug_barrier_after_return": "threads that have left are not waited for: it does not hang",
    "x_malloc_lists": "memory that is freed in another order than it was given",
    "x_ok_one_warp_syncwarp": "no false alarm: barriers of the warp are enough",
}
NUMBERED = {"bar", "cp", "setmaxnreg", "wgmma"}
MEETING = {"atom", "bar", "cp", "ld", "ldmatrix", "mbarrier", "shfl", "st", "stmatrix", "vote"}
MEETING |= {"wgmma"}
# What tells findings of one kind apart: threads, places, names and numbers.
TOLD = re.compile(
    r"(of )?block \(\d[^)]*\)(, thread \([^)]*\))?|(at )?\S+\.cu:\d+|%\w+|\w+ \+ \d+ bytes"
    r"|\w+(\[-?\d+\])+|(of )?\w+ \(\d+ bytes\)|0x\w+|-?\b\d+\b(, \d+)*"
)
HEAD = """\
# What each kernel alone has

`python -m tests.test_corpus` writes this: what no other kernel of the corpus has, of
instructions, special registers, calls, options, counters that are not zero and findings; why its
counters are not the GPU's; or else why it is here.

| kernel | what it is | alone |
|---|---|---|
"""


def form(i: Instruction) -> str:
    """An instruction's name and, where they make another one of it, its numbers."""
    if isa.space(i) == "local":  # which are vectors hangs on where NVRTC finds its headers
        return f"{i.opcode}.local"
    if i.opcode not in NUMBERED:
        return i.text
    numbers = [str(x.value) for x in i.operands if isinstance(x, Immediate)]
    in_registers = sum(isinstance(x, Vector) for x in i.operands) == 2  # of wgmma: A
    return " ".join([i.text, *numbers, *["A in registers"] * in_registers])


def functions(ptx: str) -> list[Function]:
    module = parse(ptx)
    return [*module.entries.values(), *module.functions.values()]


def findings(case: corpus.Case, code: list[Instruction], found: tuple) -> set[str]:
    """Of the planted kinds: what is found, and the instructions of the lines at fault."""
    at = {i.text for i in code if i.opcode in MEETING and "param" not in i.modifiers
          and i.position and i.position.line in case.faults}  # fmt: skip
    at = sorted({re.sub(r"(\.v\d|\.[busf]\d+)+$", "", text) for text in at})  # of any type
    return {
        f"{f.kind}: {' '.join(TOLD.sub('…', f.message).split())} (`{'`, `'.join(at)}`)"
        for f in found
        if f.kind in case.planted
    }


def parts(case: corpus.Case, ptx: str, found: tuple, counters: dict[str, int]) -> set[str]:
    """What a kernel has."""
    made = functions(ptx)
    code = [i for function in made for i in function.instructions]
    mentioned = {
        f"`{word}`" for i in code for word in re.findall(r"name='(%[\w.]+)", repr(i.operands))
    }
    declared = {f"`{register}`" for function in made for register in function.registers}
    return {
        *(f"`{form(i)}`" for i in code),
        *(mentioned - declared),
        *(f"calls `{function.name}`" for function in made if not function.instructions),
        *(f"`{option}`" for option in case.options),
        *(f"counts {exact.COUNTERS.get(metric, metric)}" for metric, n in counters.items() if n),
        *findings(case, code, found),
    }


def deviations(name: str) -> list[str]:
    """Why its counters are not the GPU's."""
    numbers = {exact.reason(name, metric) for metric in exact.COUNTERS} - {None}
    return [list(exact.REASONS)[n] for n in sorted(numbers)]


def alone(have: dict[str, set[str]]) -> dict[str, list[str]]:
    """For each kernel what no other one has. have: the `parts` of each."""
    times = Counter(part for of in have.values() for part in of)
    return {
        name: deviations(name) + sorted(part for part in of if times[part] == 1)
        for name, of in have.items()
    }


def table(alone: dict[str, list[str]]) -> str:
    rows = []
    for name, own in alone.items():
        more = [f"{len(own) - SHOWN} more"] if len(own) > SHOWN else []
        module = corpus.load(name).is_ptx and "as another compiler makes it"
        words = "; ".join(own[:SHOWN] + more) or REASONS.get(name) or module or ""
        rows.append(f"| {name} | {corpus.load(name).title} | {words} |\n")
    return HEAD + "".join(rows)
