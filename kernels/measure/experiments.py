"""Experiments that decide a question of the book: edits of steps, timed beside cuBLAS.

`python -m kernels experiments` times them on a GPU by the protocol of `bench`, most with the steps
that they change in the same rounds; `kernels.experiments("NVIDIA H200")` reads what was recorded.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from anywarp import gpu

from ..machine.rewrite import ARCHITECTURE
from ..records import EXPERIMENTS, write
from . import profiling
from .bench import benchmark
from .changes import (
    COLUMNS_FIRST,
    EDGES,
    FLUSH_21,
    LATER_21,
    LOOP_14,
    OPTIMISER,
    PARTS,
    ROWS_FIRST,
    Patched,
    alone,
    bounded,
    bulk,
    copies_of,
    edited,
    not_ahead,
    one_way,
    ordered,
    pairs,
    quickly,
    through_registers,
    unrolled,
    without,
    without_reuse,
)
from .provenance import begun

Size = int | tuple[int, int, int]
Find = Callable[[str], Any]  # `kernels.step`


class Experiment(NamedTuple):
    """A question in a line, the shapes, and the steps to time, given `kernels.step`: in the same
    rounds, or each and cuBLAS in rounds of their own."""

    question: str
    sizes: Sequence[Size]
    steps: Callable[[Find], list[Any]]
    together: bool = True


STALLS_SIZE = 4096  # where `kernels.stalls` are recorded
TILED = ("05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "14 BUFFERS=1", "15")

TABLE: dict[str, Experiment] = {
    "02 rows": Experiment(
        "Do lower blocks, and rows of A that are no whole cache lines, gain what their wavefronts "
        "in the data pipe say?",
        (4096, (4096, 4096, 4095)),
        lambda step: [step("02"), step("02 BM=16 BN=64")],
    ),
    "04 passes": Experiment(
        "Is it the address arithmetic or the length of an unrolled pass?",
        (4096,),
        lambda step: [
            step("04"),
            step("04 UNSIGNED=1"),
            unrolled(step("04"), 4),
            unrolled(step("04 UNSIGNED=1"), 16),
        ],
    ),
    "03 sharing": Experiment(
        "Why is a product of 8192 slower: the size of B, the distance of its rows, or how many "
        "rows of blocks share it at a time?",
        (
            *((8192, n, 8192) for n in (1024, 2048, 4096, 8192, 8224, 16384)),
            (8192, 8192, 8224),
            (8192, 8192, 4096),
        ),
        lambda step: [
            step("03"),
            edited(step("03"), "columns of blocks first", (ROWS_FIRST, COLUMNS_FIRST)),
        ],
    ),
    "07 second block": Experiment(
        "Is a second block on the SM what one order of rows gains over the other?",
        (4096,),
        lambda step: [
            step("07"),
            step("07 STRIDED=1"),
            bounded(step("07"), "one block", 1, "ROWS * BN"),
            bounded(step("07 STRIDED=1"), "two blocks", 2, "ROWS * BN"),
            step("07 BM=128 TM=16"),
            *(
                edited(one, "unroll 16", ("#pragma unroll 32", "#pragma unroll 16"))
                for one in (step("07 STRIDED=1"), step("07 BM=128 TM=16"))
            ),
        ],
    ),
    "09 depth": Experiment(
        "A tile twice as deep costs a block: what is gained, what lost?",
        (256, 4096),
        lambda step: [
            step("09"),
            step("09 BK=32"),
            bounded(step("09 BK=32"), "four blocks", 4, "THREADS"),
        ],
    ),
    "12 arrangements": Experiment(
        "Does the shape of a warp's tile matter, and at which sizes?",
        (1024, 2048, 4096, 8192),
        lambda step: [step("11 SPLIT=1 BLOCKS=2"), step("12"), *step("12").variants],
    ),
    "12 quads": Experiment(
        "Where do quads of lanes gain: in a block alone on its SM, or where two share it?",
        ((1408, 1536, 256), (1408, 1536, 2048), (2816, 1536, 256), (2816, 1536, 2048)),
        lambda step: [step("12"), step("12 QUADS=0")],
    ),
    "14 unrolled": Experiment(
        "Is the index of the buffer, known at run time only, what two buffers lose by?",
        (1024, 4096, 8192),
        lambda step: [
            *pairs((step("14"), step("14 BUFFERS=1")), lambda one: unrolled(one, 2, LOOP_14)),
            *(
                edited(
                    one,
                    "unroll 2, ptxas -O1",
                    (LOOP_14, f"    #pragma unroll 2\n{LOOP_14}"),
                    options=OPTIMISER,
                )
                for one in (step("14"), step("14 BUFFERS=1"))
            ),
        ],
    ),
    "21 together": Experiment(
        "What is gained by a second warpgroup that begins a chain later than the first?",
        (1024, 4096),
        lambda step: pairs(
            (step("21"), step("21 SPLITS=2"), step("21 EXACT=1")),
            lambda one: edited(one, "together", (LATER_21, "")),
        ),
    ),
    "21 sums": Experiment(
        "What do sums of sums and carried errors cost, and chains of other lengths?",
        (4096,),
        lambda step: [
            step("21"),
            edited(step("21"), "one sum", (FLUSH_21, "if (false)")),
            step("21 EXACT=1"),
            step("21 BK=16 STAGES=8"),
            step("21 BK=64 STAGES=2"),
        ],
    ),
    "reuse": Experiment(
        "How much do the operands that stay in the caches of the register banks save?",
        (4096,),
        lambda step: pairs(
            map(step, ("12", "13", "14", "14 BUFFERS=1")),
            lambda one: Patched(one, "no reuse", without_reuse),
        ),
    ),
    "19 orders": Experiment(
        "What of the new order of the main loop is worth how much?",
        (4096,),
        lambda step: [
            step("17"),
            edited(step("17"), "ptxas -O3", ptxas="-O3"),
            Patched(step("17"), "no reuse", without_reuse),
            step("19"),
            ordered(step("19"), reuse=False),
            ordered(step("19"), snake=False),
            ordered(step("19"), by_rows=False),
            ordered(step("19"), stay=0),
            *(ordered(step("19"), load_gap=gap) for gap in (1, 4)),
            ordered(step("19"), other_gap=4),
            ordered(step("19"), barrier=0),
            *(
                Patched(step("19"), f"no {what}", functools.partial(without, names=names), True)
                for what, names in PARTS.items()
            ),
        ],
    ),
    "ptxas -O1": Experiment(
        "What does ptxas make of each step at its first level of optimisation?",
        (4096,),
        lambda step: pairs(map(step, ("02", "03", "04", *TILED)), quickly),
    ),
    "16 copies": Experiment(
        "What do asynchronous copies gain, and what the fragments fetched ahead, the larger thread "
        "tile and the level of ptxas?",
        (4096,),
        lambda step: [
            step("14"),
            quickly(step("14")),
            not_ahead(step("16 TN=8 WM=32")),
            step("16 TN=8 WM=32"),
            not_ahead(step("16")),
            edited(step("16"), "ptxas -O3", ptxas="-O3"),
            step("16"),
        ],
    ),
    "16 registers": Experiment(
        "What do asynchronous copies gain over loads and stores, with all else the same?",
        (1024, 4096),
        lambda step: pairs((step("16 TN=8 WM=32"), step("16")), through_registers),
    ),
    "16 stages": Experiment(
        "How many tiles have to be under way?",
        (1024, 4096),
        lambda step: [step(f"16 STAGES={n}") for n in (2, 3)] + [step("16"), step("16 STAGES=5")],
    ),
    "17 bulk copies": Experiment(
        "Do copies by an engine, which take next to no instructions, gain the slots they free?",
        (4096,),
        lambda step: [
            step("17 TRANS_A=1"),
            bulk(step("17"), "bulk copies", 0),
            bulk(step("17"), "bulk copies and no barrier", 1),
        ],
    ),
    "17 thread tile": Experiment(
        "How much does a thread gain that computes 8 x 16 sums, and how much a larger block?",
        (4096,),
        lambda step: [
            step("17 BN=128 STAGES=4 TN=8 WN=64 BLOCKS=2"),
            step("17 BN=128 STAGES=4 BLOCKS=2"),
            step("17"),
        ],
    ),
    "17 to and fro": Experiment(
        "Is it the operand that a turn keeps, and at which level of the optimiser?",
        (4096,),
        lambda step: pairs((step("17"), step("17 LEVEL=3")), one_way),
    ),
    "17 rows of blocks": Experiment(
        "Does it matter which blocks are on the GPU together?",
        (4096, 8192),
        lambda step: [step(f"17 GROUP={rows}") for rows in (1, 4, 16, 64)],
    ),
    "17 edges": Experiment(
        "What does it cost whole tiles that the step can do others?",
        (4096,),
        lambda step: [step("17"), edited(step("17"), "whole tiles", (EDGES, ""))],
    ),
    "17 last wave": Experiment(
        "How long does a wave take that is not full?",
        tuple((4224, n, 4096) for n in (1024, 1280, 1536, 1792, 2048)),
        lambda step: [step("17"), step("17 BN=128 STAGES=4 BLOCKS=2")],
    ),
    "20 strips": Experiment(
        "How many columns of a warp tile at a time, and at which level of ptxas?",
        (2048, 4096),
        lambda step: [
            *(step(f"20 STRIP={n}") for n in (16, 32, 64)),
            *(edited(step(f"20 STRIP={n}"), f"{n} ptxas -O3", ptxas="-O3") for n in (32, 64)),
        ],
    ),
    "power": Experiment(
        "How fast are the steps on tensor cores, and cuBLAS, where no other takes the power?",
        (2048, 4096, 8192),
        lambda step: [*map(step, ("16", "17", "18", "19", "20", "21", "21 EXACT=1", "23"))],
        together=False,
    ),
    "23 columns": Experiment(
        "Of how few columns must a product be, so that it does not pay to pack the large factor?",
        tuple((8192, n, 8192) for n in (16, 64, 128, 256, 512, 1024)),
        lambda step: [
            step("18 BM=64 BN=64 TN=8 BLOCKS=6 WM=32 STREAM=792"),
            step("21"),
            step("21 SPLITS=2"),
            step("23"),
            step("23 BN=64"),
        ],
    ),
    "23 copies": Experiment(
        "What is gained by copies of 16 bytes where lines begin anywhere, and by whole tiles that "
        "are copied without sizes?",
        ((8192, 64, 8192), (8192, 64, 8191), (4925, 53, 5709)),
        lambda step: copies_of(step("23 BN=64")),
    ),
    "23 copies of B": Experiment(
        "And where lines are columns of the large factor?",
        ((128, 8192, 8192), (128, 8191, 8192), (102, 6666, 4968)),
        lambda step: copies_of(step("23 SWAP_AB=1")),
    ),
    "23 parts": Experiment(
        "How long do the parts of the loop take, each alone, and what do more warps gain?",
        ((8192, 64, 8192),),
        lambda step: [
            step("23 BN=64"),
            alone(step("23 BN=64")),
            alone(step("23 BN=64"), "copies"),
            alone(step("23 BN=64"), "numbers"),
            alone(step("23 BN=64"), "products"),
            alone(step("23 BN=64"), "copies", "numbers"),
            step("23 BM=64 BN=64 STAGES=2 STREAM=264"),
            step("23 BM=64 BN=64 STAGES=2 STREAM=396"),
            step("23 BM=64 BN=64 STREAM=264"),
        ],
    ),
}

# ---------------------------------------------------------------------- running them


def run(names: Sequence[str], find: Find, output: Path | None = None) -> dict[str, Any]:
    """Time experiments, all if none is named, and save each as soon as it is done, by default
    where `kernels.experiments` reads it; others that are there stay. Steps whose machine code is
    rewritten are left out where the GPU does not execute it. Returns Results by name. Raises
    ValueError for a name that is not there, and what `benchmark` raises."""
    _require(names)
    gpu.require()
    output, before = begun(EXPERIMENTS, output)
    saved: dict[str, Any] = before["experiments"] if before else {}
    timed = {}
    rewritable = gpu.arch() == ARCHITECTURE
    if not rewritable:
        print(f"steps whose machine code is rewritten are left out: it is that of {ARCHITECTURE}")
    for name in names or TABLE:
        question, sizes, steps, together = TABLE[name]
        print(f"{name}: {question}", flush=True)
        chosen = [step for step in steps(find) if rewritable or not isinstance(step, Patched)]
        timed[name] = benchmark(chosen, sizes, together=together)
        saved[name] = json.loads(timed[name].to_json())
        origin = {"gpu": gpu.device().name, "what": "an experiment each, with its own provenance"}
        whole = {"provenance": origin, "experiments": saved}
        write(output, json.dumps(whole, indent=1) + "\n")
    return timed


def stalls(
    names: Sequence[str], find: Find, size: int = STALLS_SIZE, output: Path | None = None
) -> None:
    """Record what the steps of experiments wait for, as `profiling.stalls` does, all but those
    whose machine code is rewritten. Raises ValueError for a name that is not there, and what
    `profiling.stalls` raises."""
    command = ["-m", "kernels", "experiments", "--launch", str(size), *names]
    profiling.stalls(launched(names, find), size, output, command)


def launched(names: Sequence[str], find: Find) -> list[Any]:
    """The steps of experiments that a call launches, each once."""
    _require(names)
    steps = (step for name in names or TABLE for step in TABLE[name].steps(find))
    return list({step.label: step for step in steps if not isinstance(step, Patched)}.values())


def _require(names: Sequence[str]) -> None:
    for name in names:
        if name not in TABLE:
            known = ", ".join(TABLE)
            raise ValueError(f"there is no experiment {name!r}; there are {known}")
