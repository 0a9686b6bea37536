"""Which warp does a scheduler take next? Times of warps that share one, instruction by instruction.

`python -m benchmarks.scheduler OUTPUT` runs on a GPU of compute capability 9.0 what `cases` lists:
warps that keep the clock at every few multiply-adds, and that wait for loads in between. What is
timed is written as machine code, by `stream`, into the frame of scheduler.cu, so that it holds
these instructions in this order and no others. `kernels/analysis/issue.py` says what was found.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from anywarp import Kernel, gpu
from anywarp.analysis import LANES, SCHEDULERS
from anywarp.sass import elf
from anywarp.sass.decode import placed
from anywarp.sass.encoding import NO_SCOREBOARD, NOP, Control, control, field, with_control
from kernels.measure.provenance import provenance
from kernels.records import write

SOURCE = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
TIMES, ROW = 32, 34  # of the source
RUN, AT = 8, 8  # multiply-adds between two times; of TIMES, the one at which warps wait
PASSES, SAMPLES = 3, 2
SHARED_LOAD, L2_LOAD = 1, 2  # LOADS of the source
FFMA, CLOCK, LDS, LDG, BAR, STS = 0x223, 0x805, 0x984, 0x981, 0x91D, (0x388, 0x988)
X, KEPT, LOADED = 48, (56, 57), (58, 59)  # registers that the frame leaves alone
REGISTERS, ROOM = 64, 8  # ROOM: for instructions of the frame before what is timed
ALL = 0x3F  # scoreboards


@dataclass(frozen=True)
class Case:
    """So many `warps` of one scheduler; their multiply-adds are `chains` that each need the one
    before; `stay` is the bit of the control word that prefers the warp, of every instruction, or
    ("clock") 0 for the clock's alone; `operands` are "same", one register thrice, or three, of
    which two are "kept" in the reuse caches, or all "fresh". They wait at AT for a load of that
    kind; `mixed` loads from shared memory before each run for the next."""

    warps: int
    chains: int = 8
    stay: int | str = 1
    operands: str = "same"
    wait: int = 0
    mixed: bool = False


def cases() -> Iterator[Case]:
    """All, in the order in which they are run."""
    yield from (Case(warps, stay=stay) for stay in (1, 0) for warps in (1, 2, 4, 8))
    yield from (Case(2, stay="clock"), Case(4, stay="clock"))
    yield from (Case(4, chains=2), Case(4, chains=1), Case(8, chains=1))
    yield from (Case(2, stay=0, operands="kept"), Case(2, operands="kept"))
    yield Case(2, operands="fresh")
    yield from (Case(warps, mixed=True) for warps in (1, 2, 3, 4, 8))
    yield from (Case(warps, wait=wait) for wait in (SHARED_LOAD, L2_LOAD) for warps in (1, 4))


def frame(words: list[int]) -> tuple[int, int, list[int], list[int], int]:
    """Of the kernel's code: from where to where what is timed goes, the clock's instructions,
    others that come before, and the load. Raises ValueError for code that is not the source's."""
    codes = [field(word, 0, 12) for word in words]
    first, clock = codes.index(BAR) + 1, codes.index(CLOCK)
    end = next(n for n in range(clock, len(codes)) if codes[n] in (LDS, LDG)) + 1
    inside = [word for word in words[first : end - 1] if field(word, 0, 12) not in STS]
    clocks = [word for word in inside if field(word, 0, 12) == CLOCK]
    before = [word for word in inside if field(word, 0, 12) != CLOCK]
    if len(clocks) != TIMES or len(before) > ROOM:
        raise ValueError(f"{len(clocks)} clocks and {len(before)} more words")
    return first, end, clocks, before, words[end - 1]


def told(word: int, stall: int, stay: int, **more: int) -> int:
    """The instruction with this control word, and else none."""
    free = Control(stall, stay, NO_SCOREBOARD, NO_SCOREBOARD, 0, 0)
    return with_control(word, free._replace(**more))


def multiply_add(case: Case, n: int, needs: tuple[int, int] | None = None) -> int:
    """The nth; it needs what `needs` says, a register and the scoreboard to wait for."""
    x = X + n % case.chains
    a, b = (x, x) if case.operands == "same" else KEPT
    word = FFMA | 7 << 12
    for letter, register in zip("dabc", (x, x, a, needs[0] if needs else b)):
        word = placed(word, letter, register)
    more = {"wait": 1 << needs[1] if needs else 0, "reuse": 6 * (case.operands == "kept")}
    return told(word, max(1, 4 // case.chains), int(case.stay != 0), **more)


def stream(case: Case, clocks: list[int], load: int) -> list[int]:
    """What is timed. Between the times AT and AT + 1 there is only what waits."""
    words: list[int] = []
    hint, c = int(case.stay != 0), control(load)
    for n, clock in enumerate(clocks):
        words.append(told(clock, 1, int(case.stay == 1)))
        if case.wait and n == AT:
            words.append(told(load, max(c.stall, 2), hint, write=c.write))
            words.append(multiply_add(case, 0, (field(load, 16, 8), c.write)))
            continue
        late = None
        if case.mixed:
            words.append(told(placed(load, "d", LOADED[n % 2]), 1, hint, write=n % 2))
            late = (LOADED[(n + 1) % 2], (n + 1) % 2) if n else None
        words += [multiply_add(case, i, None if i else late) for i in range(RUN)]
    return words


@functools.cache
def compiled(loads: int, arch: str) -> bytes:
    """The frame as the compiler makes it."""
    options = [f"-DREST={TIMES * (RUN + 1) + 4}", f"-DLOADS={loads}", "--maxrregcount=48"]
    return Kernel(SOURCE, "order", options, filename="scheduler.cu").cubin(arch)


def cubin(case: Case, arch: str) -> bytes:
    """The case's kernel. Raises ValueError."""
    made = compiled(case.wait or SHARED_LOAD, arch)
    words = elf.words(made)
    if elf.registers(made) > X:
        raise ValueError(f"the frame takes {elf.registers(made)} registers")
    first, end, clocks, before, load = frame(words)
    drain = told(NOP, 15, 0, wait=ALL)
    alone = [with_control(word, control(word)._replace(stall=15, stay=0)) for word in before]
    body = [drain, *alone, drain, *stream(case, clocks, load), drain]
    words[first:end] = body + [told(NOP, 1, 0)] * (end - first - len(body))
    return elf.with_registers(elf.with_words(made, words), REGISTERS)


def run(case: Case) -> list[list[int]]:
    """What `rows` gives, of the last pass of a launch."""
    zero, out = gpu.to_device(np.zeros(1, np.int32)), gpu.empty((case.warps, ROW), np.int32)
    loaded = gpu.load(cubin(case, gpu.arch()), "order")
    gpu.launch(loaded, (1,), (SCHEDULERS * LANES * case.warps,), [zero, np.int32(PASSES), out], 0)
    return rows(gpu.to_host(out))


def rows(out: np.ndarray) -> list[list[int]]:
    """Of each warp: its number in the block, its slot on the SM, then its times in cycles, the
    first after the earliest of all and each other after the one before."""
    times = out[:, 2:].astype(np.int64)
    apart = np.diff(times, prepend=times[:, :1].min())
    return [[*map(int, row)] for row in np.hstack([out[:, :2], apart])]


def measure(output: Path) -> None:
    """All of it. Raises NoGPU."""
    gpu.require()
    what = "the last of so many passes of a launch; clock, in cycles"
    head = json.dumps(provenance(what=what, passes=PASSES), indent=1)
    entries = [{**asdict(c), "samples": [run(c) for _ in range(SAMPLES)]} for c in cases()]
    lines = ",\n".join(map(json.dumps, entries))
    write(output, f'{{"provenance": {head},\n"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
