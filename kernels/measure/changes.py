"""Changes of steps, in their source or in their machine code, that experiments time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from anywarp.sass import elf, hot_loop, instructions
from anywarp.sass.encoding import NO_SCOREBOARD, NOP, control, with_control

from ..ladder.step import Step
from ..machine import rewrite
from ..machine.list_schedule import Plan
from ..machine.rewrite import main_loops

HGMMA = 0xDF0  # the opcode of a wgmma: its low 12 bits


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
        return {one: Rewritten(kernel, self.patch) for one, kernel in self.step.kernels.items()}

    @property
    def kernel(self) -> Rewritten:
        return self.kernels[self.step.kernel.name]

    def cubin(self, arch: str) -> bytes:
        return self.kernel.cubin(arch)

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
    words = hot_loop.instructions(cubin)
    cleared = words.copy()
    cleared[:, 3] &= ~hot_loop.REUSE & 0xFFFFFFFF
    return cubin.replace(words.tobytes(), cleared.tobytes(), 1)


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


def without_wgmma(cubin: bytes) -> bytes:
    """The same machine code with a NOP for each wgmma, in whatever kernels it has."""
    made = bytearray(cubin)
    for section in elf.sections(cubin):
        for at in range(section.start, section.start + section.size, elf.INSTRUCTION_BYTES):
            word = int.from_bytes(made[at : at + elf.INSTRUCTION_BYTES], "little")
            if section.flags & elf.EXECUTABLE and word & 0xFFF == HGMMA:
                made[at : at + elf.INSTRUCTION_BYTES] = idle(word).to_bytes(
                    elf.INSTRUCTION_BYTES, "little"
                )
    return bytes(made)


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
COLUMNS_FIRST = (
    "    int block = blockIdx.y * gridDim.x + blockIdx.x;\n"
    "    int row = block % gridDim.y * BM + threadIdx.y;\n"
    "    int col = block / gridDim.y * BN + threadIdx.x;\n"
)
ROWS_FIRST = (
    "    int row = blockIdx.y * BM + threadIdx.y;\n    int col = blockIdx.x * BN + threadIdx.x;\n"
)
PARTS = {  # of a main loop
    "loads": ("LDS",),
    "copies": ("LDGSTS", "LDGDEPBAR", "DEPBAR", "BAR"),
    "loads or copies": ("LDS", "LDGSTS", "LDGDEPBAR", "DEPBAR", "BAR"),
}
OPTIMISER = "--ptxas-options=-O1"
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
NEXT_16 = "    float next_a[BM / COPY_A];\n    float4 next_b[BK / COPY_B];\n"
COPIES_16 = """\
            copy_async<4>(&tile_a[to][a_k][a_row + i], &A[(a_row + i) * K + a_k], k0 < K);
        for (int i = 0; i < BK; i += COPY_B)
            copy_async<16>(&tile_b[to][b_k + i][b_col], &B[(b_k + i) * N + b_col], k0 < K);
        A += BK;
        B += BK * N;
        asm volatile("cp.async.commit_group;" ::: "memory");
        to = (to + 1) % STAGES;
    };
"""
LOADS_16 = """\
            if (k0 < K)
                next_a[i / COPY_A] = A[(a_row + i) * K + a_k];
        for (int i = 0; i < BK; i += COPY_B)
            if (k0 < K)
                next_b[i / COPY_B] = FLOAT4(B[(b_k + i) * N + b_col]);
        A += BK;
        B += BK * N;
    };
    auto store = [&]() {
        for (int i = 0; i < BM; i += COPY_A)
            tile_a[to][a_k][a_row + i] = next_a[i / COPY_A];
        for (int i = 0; i < BK; i += COPY_B)
            FLOAT4(tile_b[to][b_k + i][b_col]) = next_b[i / COPY_B];
        to = (to + 1) % STAGES;
    };
"""
BULK = Path(__file__).with_name("bulk_copies.cu")
LATER_21 = (
    "        if (thread >= 128 && k == 0)  // the second warpgroup\n            wait(&begun, 0);\n"
)
NO_NUMBERS_23 = """\
        #pragma unroll
        for (int n = 0; n < BK / 4; ++n)
            asm volatile("" : "=r"(a[n / 4][0][n % 4]), "=r"(a[n / 4][1][n % 4]),
                              "=r"(a[n / 4][2][n % 4]));
"""
FLUSH_21 = "if (!EXACT && k % RUN == RUN - 1)"


def unrolled(step: Step, times: int, loop: str = LOOP_03) -> Any:
    return edited(step, f"unroll {times}", (loop, f"    #pragma unroll {times}\n{loop}"))


def bounded(step: Step, name: str, blocks: int, old: str) -> Any:
    """Held to so many blocks on an SM at the least."""
    bound = f"__launch_bounds__({old})"
    return edited(step, name, (bound, f"{bound[:-1]}, {blocks})"))


def pairs(steps: Iterable[Step], change: Callable[[Any], Any]) -> list[Any]:
    return [one for step in steps for one in (step, change(step))]


def one_way(step: Step) -> Any:
    return edited(step, "one way", (TO_AND_FRO, "int j = n;"))


def quickly(step: Step) -> Any:
    return edited(step, "ptxas -O1", options=OPTIMISER)


def not_ahead(step: Step) -> Any:
    """Step 16 with fragments that are fetched when they are needed, as in 14."""
    first = "    fetch(0, 0);\n"
    return edited(step, "not ahead", (AHEAD_16, NOT_AHEAD_16), (first, ""))


def through_registers(step: Step) -> Any:
    """Step 16 whose copies of the next tiles are loads and, at the last k, stores: the same
    accesses, by way of registers."""
    return edited(
        step,
        "through registers",
        ("    unsigned to = 0;", NEXT_16 + "    unsigned to = 0;"),
        (COPIES_16, LOADS_16),
        (
            "    for (int stage = 0; stage < STAGES - 1; ++stage)\n        copy(stage * BK);\n",
            "    copy(0);\n",
        ),
        ('asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");', "store();"),
        ("copy(k0 + (STAGES - 1) * BK);", "copy(k0 + BK);"),
    )


def bulk(step: Step, name: str, free: int) -> Any:
    """Step 17 for whole tiles and a transposed A, with bulk copies."""
    made = step.edit(source=BULK.read_text(encoding="utf-8"))
    return named(made, step, name).define(TRANS_A=1, FREE=free)


def copies_of(step: Step) -> list[Any]:
    """Step 23 as it is, with copies of 4 bytes each, and with sizes given to all copies."""
    return [
        step,
        edited(
            step,
            "copies of 4 bytes",
            ("bool wide = (size_t)large.x % 16 == 0;", "bool wide = false;"),
            ("if (wide && lines >= LINES", "if (lines >= LINES"),
            ("copy_rows<true, true>", "copy_rows<false, true>"),
        ),
        edited(step, "sizes", ("lines >= LINES && length >= LINE + 4", "false")),
    ]


def alone(step: Step, *parts: str) -> Patched:
    """Step 23 whose loop has these parts of it alone, of "copies", "numbers" and "products"; its
    result is of no use. Instead of its parts a number has what was in the registers."""
    source = step.source
    numbers = source[source.index("        float x[BK / 4][2];") :]
    left_out = {
        "copies": [
            ("        copy(i + STAGES);\n", "        commit();\n"),
            (
                "            fill(i - 1 + STAGES);\n",
                "            arrive(&full[(i - 1) % STAGES]);\n",
            ),
        ],
        "numbers": [
            (numbers[: numbers.index("        // endregion")], NO_NUMBERS_23),
            ("            sum[j / 32][j % 32] += chain[j / 32][j % 32];\n", "            ;\n"),
            ("        rest |= stage.small.unsafe[thread % 32];\n", ""),
        ],
        "products": [],
    }
    changes = [one for part in left_out.keys() - set(parts) for one in left_out[part]]
    # a number in any case: where a sum is none, `reduce` would compute the tile again
    store, kept = "to[j * THREADS] = {};", "sum" if "numbers" in parts else "chain"
    found, stored = "sum[j / 32][j % 32]", f"__saturatef({kept}[j / 32][j % 32])"
    changes.append((store.format(found), store.format(stored)))
    name = f"{' and '.join(parts)} alone" if parts else "no part"
    patch = bytes if "products" in parts else without_wgmma  # of the machine code
    return Patched(edited(step, name, *changes), "spoiled", patch, spoiled=True)
