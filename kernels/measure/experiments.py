"""Experiments that decide a question of the book, those into whose code a chapter looks: steps, and
changes of them in their source or in their machine code.

`benchmarks/experiments.py` times them, and others, on a GPU; `kernels.experiments("NVIDIA H200")`
reads what was recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from anywarp.sass import elf, hot_loop, instructions
from anywarp.sass.encoding import NO_SCOREBOARD, NOP, control, with_control

from ..ladder.step import Step
from ..machine import rewrite
from ..machine.list_schedule import Plan
from ..machine.rewrite import main_loops

Size = int | tuple[int, int, int]
Find = Callable[[str], Any]  # `kernels.step`


class Experiment(NamedTuple):
    """A question in a line, the shapes, and the steps to time, given `kernels.step`: in the same
    rounds, or each and cuBLAS in rounds of their own."""

    question: str
    sizes: Sequence[Size]
    steps: Callable[[Find], list[Any]]
    together: bool = True


# ---------------------------------------------------------------------- changes of steps


class Patched:
    """A step whose machine code is rewritten; it runs on a GPU alone. One that is `spoiled` lacks
    a part on purpose, and its result is not looked at."""

    def __init__(
        self, step: Step, name: str, patch: Callable[[bytes], bytes], spoiled: bool = False
    ):
        self.step, self.patch, self.spoiled = step, patch, spoiled
        self.label = f"{step.label}, {name}"

    @functools.cached_property
    def kernels(self) -> dict[str, Rewritten]:
        return {name: Rewritten(kernel, self.patch) for name, kernel in self.step.kernels.items()}

    @property
    def kernel(self) -> Rewritten:
        return self.kernels[self.step.kernel.name]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.step, name)


class Rewritten:
    """A kernel's machine code, rewritten."""

    def __init__(self, kernel: Any, patch: Callable[[bytes], bytes]):
        self.kernel, self.symbol = kernel, kernel.symbol
        # to rewrite and prove it takes seconds
        self.cubin = functools.cache(lambda arch: patch(kernel.cubin(arch)))


def edited(step: Step, name: str, *changes: tuple[str, str], **directives: Any) -> Any:
    """The step with pieces of its source exchanged, and a name of its own. Raises ValueError for
    a piece that is not there once."""
    source: str = step.source
    for old, new in changes:
        if source.count(old) != 1:
            raise ValueError(f"{step.id} has {old!r} {source.count(old)} times, not once")
        source = source.replace(old, new)
    return named(step.edit(source=source, **directives), step, name)


def named(made: Any, step: Step, name: str) -> Any:
    """What was made of a step, under the step's name and this one."""
    path = step.path.with_name(f"{step.id}, {name}.cu")
    return replace(made, file=replace(made.file, path=path))


def without_reuse(cubin: bytes) -> bytes:
    """The same machine code with every .reuse flag off: an operand that stays in the cache of
    its register bank is read again."""
    flags = hot_loop.REUSE << 96  # they stand in the last of a word's four parts
    return elf.with_words(cubin, [i.word & ~flags for i in instructions(cubin)])


def without(cubin: bytes, names: Sequence[str]) -> bytes:
    """The same machine code with instructions of its main loops exchanged for NOPs: it computes
    nothing of use, in the time that is left."""
    code = instructions(cubin)
    words = [i.word for i in code]
    for part in main_loops(code):
        for n in range(part.first, part.end):
            if code[n].name in names:
                words[n] = idle(code[n].word)
    return elf.with_words(cubin, words)


def idle(word: int) -> int:
    """A NOP that waits and stalls as this instruction does."""
    return with_control(NOP, control(word)._replace(write=NO_SCOREBOARD, read=NO_SCOREBOARD))


def ordered(step: Step, **changes: Any) -> Patched:
    """The step with its main loop reordered by another plan; its name is what is changed."""
    name = " ".join(f"{key}={int(value)}" for key, value in changes.items())
    return Patched(step, name, lambda _: rewrite(step.kernel.compiled(), Plan(**changes)))


# ---------------------------------------------------------------------- pieces of steps

LOOP_03 = "    for (int k = 0; k < K; ++k)"
LOOP_14 = "    for (int k0 = 0; k0 < K; k0 += BK) {\n"
FETCH_14 = """\
    float a[2][TM], b[2][TN];
    auto fetch = [&](int buffer, int k) {
        for (int i = 0; i < TM; i += 4)
            FLOAT4(a[k % 2][i]) = FLOAT4(tile_a[buffer][k][ROW(i)]);
        for (int j = 0; j < TN; j += 4)
            FLOAT4(b[k % 2][j]) = FLOAT4(tile_b[buffer][k][COL(j)]);
    };
    fetch(0, 0);
    int now = 0;
"""
AHEAD_14 = """\
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == BK - 1) {
                store(k0 + BK);
                __syncthreads();
                now = 1 - now;
            }
            fetch(now, (k + 1) % BK);
            if (k == 0)
                load(k0 + BK);
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += a[k % 2][i] * b[k % 2][j];
        }
"""
PARTS = {  # of a main loop
    "loads": ("LDS",),
    "copies": ("LDGSTS", "LDGDEPBAR", "DEPBAR", "BAR"),
    "loads or copies": ("LDS", "LDGSTS", "LDGDEPBAR", "DEPBAR", "BAR"),
}
TO_AND_FRO = "int j = i % 2 ? TN - 1 - n : n;  // to and fro: a turn keeps its b"
EDGES = "    else\n        multiply<false>(sum, A, B, K, lda, ldb, rows, cols, row, col);\n"
AHEAD_16 = """            if (k == BK - 1) {
                wait();
                now = (now + 1) % STAGES;
            }
            fetch(now, (k + 1) % BK);
            if (k == 0)
                copy(k0 + (STAGES - 1) * BK);
"""
NOT_AHEAD_16 = """            if (k == 0) {
                if (k0 > 0) {
                    wait();
                    now = (now + 1) % STAGES;
                }
                copy(k0 + (STAGES - 1) * BK);
            }
            fetch(now, k);
"""


def unrolled(step: Step, times: int, loop: str = LOOP_03) -> Any:
    """The step with its loop over k unrolled so many times."""
    return edited(step, f"unroll {times}", (loop, f"    #pragma unroll {times}\n{loop}"))


def bounded(step: Step, name: str, blocks: int, old: str) -> Any:
    """Held to so many blocks on an SM at the least."""
    bound = f"__launch_bounds__({old})"
    return edited(step, name, (bound, f"{bound[:-1]}, {blocks})"))


def pairs(steps: Iterable[Step], change: Callable[[Any], Any]) -> list[Any]:
    """Each step, and after it the same step changed."""
    return [each for step in steps for each in (step, change(step))]


def one_way(step: Step) -> Any:
    """The step that always goes through the columns in the same direction."""
    return edited(step, "one way", (TO_AND_FRO, "int j = n;"))


def quickly(step: Step) -> Any:
    """The step compiled with ptxas -O1."""
    return edited(step, "ptxas -O1", options="--ptxas-options=-O1")


def ahead(step: Step) -> Any:
    """Step 14 whose fragments are fetched one k ahead, across the barrier too, as in 16."""
    source = step.source
    loop = source[
        source.index("        int now = k0") : source.index(
            "    }\n    // endregion\n\n    // region: store"
        )
    ]
    return edited(step, "ahead", (loop, AHEAD_14), (LOOP_14, FETCH_14 + LOOP_14))


def not_ahead(step: Step) -> Any:
    """Step 16 with fragments that are fetched when they are needed, as in 14."""
    first = "    fetch(0, 0);\n"
    return edited(step, "not ahead", (AHEAD_16, NOT_AHEAD_16), (first, ""))


# ---------------------------------------------------------------------- the table

BUFFERS_14 = ("14", "14 BUFFERS=1")
TABLE: dict[str, Experiment] = {
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
                edited(tile, "unroll 16", ("#pragma unroll 32", "#pragma unroll 16"))
                for tile in (step("07 STRIDED=1"), step("07 BM=128 TM=16"))
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
    "14 unrolled": Experiment(
        "Is the index of the buffer, known at run time only, what two buffers lose by?",
        (1024, 4096, 8192),
        lambda step: [
            *pairs(map(step, BUFFERS_14), lambda base: unrolled(base, 2, LOOP_14)),
            *(quickly(unrolled(step(label), 2, LOOP_14)) for label in BUFFERS_14),
        ],
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
    "16 stages": Experiment(
        "How many tiles have to be under way?",
        (1024, 4096),
        lambda step: [step(f"16 STAGES={n}") for n in (2, 3)] + [step("16"), step("16 STAGES=5")],
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
}
