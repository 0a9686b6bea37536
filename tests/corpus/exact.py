"""How exact the counters are: those that a trace computes beside those that a GPU counted.

`python -m tests.test_corpus` traces each kernel of the corpus that was counted and writes
kernels/records/exact.json, which a page of the book shows:

    counters    the metrics, in order, and what the page calls them
    reasons     why some differ, below
    kernels     a list for each kernel, in the order of the counters: null for one that was not
                counted, a number for one that is as measured, and for others [computed, the least
                measured, the most, which reason]

A metric that differs from launch to launch is as measured from the least of three to the most.
"""

from __future__ import annotations

import json
from typing import Any

from anywarp.trace.metrics import (
    ASYNC_METRICS,
    BULK_BYTES,
    BULK_BYTES_STORED,
    CONFLICTS,
    FFMA,
    METRICS,
    PIPE,
    REQUESTS,
    SECTORS,
    SHARED_INSTRUCTIONS,
    WAVEFRONTS,
    WGMMA_WAVEFRONTS,
)
from kernels.records import FOLDER

EXACT = FOLDER / "exact.json"
COUNTERS = {
    REQUESTS.format("ld"): "global load requests",
    SECTORS.format("ld"): "global load sectors",
    REQUESTS.format("st"): "global store requests",
    SECTORS.format("st"): "global store sectors",
    SHARED_INSTRUCTIONS.format("ld"): "shared loads",
    WAVEFRONTS.format("ld"): "shared load wavefronts",
    CONFLICTS.format("ld"): "shared load conflicts",
    SHARED_INSTRUCTIONS.format("st"): "shared stores",
    WAVEFRONTS.format("st"): "shared store wavefronts",
    CONFLICTS.format("st"): "shared store conflicts",
    FFMA: "multiply-adds",
    PIPE: "data pipe wavefronts",
    **dict(
        zip(
            ASYNC_METRICS,
            ("ldmatrix", "stmatrix", "cp.async", "bulk loads", "bulk stores", "tensor core"),
        )
    ),
    BULK_BYTES: "bytes of bulk loads",
    BULK_BYTES_STORED: "bytes of bulk stores",
    WGMMA_WAVEFRONTS: "wavefronts of wgmma",
}
assert set(COUNTERS) == {*METRICS, *ASYNC_METRICS}

# Why counters differ: for each reason the kernels, all of whose counters that differ it explains,
# or, after a colon, those that begin with these words.
REASONS = {
    "ptxas unrolls a loop: its turns join accesses, part lanes anew, or the last get predicates": (
        "dynamic_shared_split",
        "spmv_rows_scalar",  # four turns at a time, then two and one; lanes differ in how many
        "t_ldmatrix_x1",  # four turns at a time, then two and one under predicates
    ),
    "an atomic of shared memory that the machine lacks is a loop of loads and compare-and-swap": (
        "atomic_double_native",
        "x_atomic_zoo_shared: shared load",
    ),
    "a branch that is the same for the block, with a barrier, becomes predicates": (
        "tricky_barrier_all_arms",
    ),
    "a short branch with mbarrier.init becomes predicates": ("t_mbarrier_reuse: shared stores",),
    "ptxas gives a load or a multiply-add the predicate of its only use": (
        "tr_column_sums",
        "tr_recurrence",
        "tanh_gelu",  # of tanhf, as in the next
        "x_dropout_philox",  # of tanhf: @!P1 FFMA, whose sum a selp takes or leaves
    ),
    "what a function saves on the stack does not stand in the PTX": (
        "recursion_quicksort",
        "virtual_functions",
    ),
    "malloc, free and printf are functions of the driver's, with tables in global memory": (
        "heap_malloc",
        "printf_threads",
        "x_printf_assert",
    ),
    "slow paths of division, square root and reciprocal, which hang on the operands": (
        "math_exact_float",
        "math_inverse_trig_double",
    ),
    "ptxas sees that two powers need the same logarithm": ("math_pow",),
    "arbitration: the hardware adds a few wavefronts to stores": (
        "sort_bitonic_arms",  # one wavefront
        "x_atomic_zoo_shared: shared store",
        "tricky_warp_specialised",
    ),
    "HFMA2.MMA, an instruction of the tensor cores, by which ptxas sets registers": (
        "t_bulk_groups: tensor core",
    ),
    "ptxas drops loads of sums that a wgmma does not read, whose predicate is known to be false": (
        "t_wgmma_scales",
    ),
    "boxes that reach beyond the array: what the hardware reads there is not known": (
        "t_map_5d",
        "t_map_nan_bfloat16",
    ),
    "threads of a warp that meet again later than they could": ("x_quicksort_stack",),
    "pipe: warps of a block whose fences for the block meet share wavefronts": (
        "t_bulk_groups: data pipe",
        "t_bulk_reduce_float",
        "t_bulk_reduce_half",
        "t_bulk_reduce_int",
        "t_map_reduce",
        "t_map_reduce_float",
        "t_map_store",
    ),
    "pipe: ptxas puts a fence before some mbarrier.init, with or without one in the PTX": (
        "t_bulk_prefetch",
    ),
    "pipe: arrivals at mbarriers wait for what is under way, when they come": (
        "t_mbarrier_expect_tx",
        "t_mbarrier_reuse: data pipe",
        "t_wgmma_pipeline",
    ),
    "pipe: how often a warp reads threadIdx is taken to be the same for all warps": (
        "t_misc_setmaxnreg",  # 16 reads computed, 12 in machine code, but 3 others more
    ),
    "pipe: asynchronous operations, atomics and waits on the shared memory of other blocks": (
        "t_cluster_atom",
        "t_cluster_bulk",
        "t_cluster_generic",
        "t_cluster_histogram",
        "t_cluster_reduce",
        "t_cluster_remote_arrive",
        "t_cluster_st_async",
        "t_map_multicast",
    ),
    "pipe: patterns of cp.async.ca that are off among the 75 that were measured": (
        "t_cpasync_zero_fill",
    ),
    "pipe: lanes whose sectors are on their way for other loads hit or miss as it comes": (
        "matrix_vector_tail",
    ),
    "pipe: a few wavefronts more than computed, an open question": (
        "t_mma_f16_halves",
        "t_wgmma_tf32_n24",
    ),
}


def reason(name: str, metric: str) -> int | None:
    """Which of REASONS says why this counter of a kernel differs; None if none does. Raises
    ValueError if several do."""
    found = [
        n
        for n, entries in enumerate(REASONS.values())
        for kernel, _, words in (entry.partition(": ") for entry in entries)
        if kernel == name and COUNTERS[metric].startswith(words)
    ]
    if len(found) > 1:
        raise ValueError(f"{name}, {COUNTERS[metric]}: {len(found)} reasons")
    return found[0] if found else None


def row(name: str, computed: dict[str, int], record: dict) -> list:
    """A kernel's list: see above. computed: counters of a trace, which leaves out those of
    ASYNC_METRICS that are 0; record: the kernel's, with `counters`, the least of several launches,
    and `varies`, the most of those that differ."""
    made: list[Any] = []
    for metric in COUNTERS:
        least = record["counters"].get(metric)
        most = record.get("varies", {}).get(metric, least)
        here = computed.get(metric, 0)
        if least is None or least <= here <= most:
            made.append(None if least is None else here)
        else:
            made.append([here, least, most, reason(name, metric)])
    return made


def write(rows: dict[str, list], provenance: dict) -> None:
    """The file, a line for each kernel; provenance: of the record."""
    head = {
        "provenance": provenance,
        "counters": COUNTERS,
        "reasons": list(REASONS),
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(made)}" for name, made in rows.items())
    text = f'{json.dumps(head, indent=1)[:-2]},\n "kernels": {{\n{lines}\n}}\n}}\n'
    EXACT.write_text(text, encoding="utf-8")
