"""What an FMA costs by the registers that it reads.

`python -m benchmarks.operands OUTPUT` times loops of FFMAs on one SM, with 1, 2 and 4 warps on each
of its schedulers. The FFMAs of a compiled loop, operands.cu, are exchanged in the machine code for
those of a program, or of one of the book's hot loops. Registers hold anything and nothing is waited
for: only the time matters. The rule that was found is `anywarp.sass.operands.collected`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import sys
from collections.abc import Iterable, Sequence
from itertools import cycle, product
from pathlib import Path

import numpy as np

from anywarp import Kernel, gpu
from anywarp.analysis import LANES, SCHEDULERS
from anywarp.sass import decode, elf, flow, hot_words, instructions, placed
from anywarp.sass.encoding import NO_SCOREBOARD, NOP, RZ, Control, with_control
from kernels import step
from kernels.measure import experiments
from kernels.measure.provenance import provenance
from kernels.records import write

SOURCE = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
ARCH = "sm_90"  # whose machine code is written here
ROUNDS, REPEATS = 100, 4
WARPS = (1, 2, 4)  # of a scheduler
FRAMES = {128: (512, 110), 255: (256, 236)}  # of registers: threads, and REGISTERS of the source
PERIOD = 48  # FFMAs until a program repeats itself
SLOTS = (192, 576)  # FFMAs of a round: the difference has no beginning and no end
FFMA, FFMA_CODE = 0x000FC800000000000000000000007223, 0x223
FIRST, FRESH, KEPT = 16, 96, "abcdefghijkl"  # from R16 on, 96 registers in turn, 12 that stay


def program(text: str, stay: int = 1) -> list[int]:
    """48 words, the FFMAs of the text in turn. Each has a letter for its registers a, b and c, and
    one for the result's where that is not c. 0 or 1: another one each time, of an even or an odd
    number; w x y z: of a number that leaves 0 to 3 when divided by 4; a to l: always the same; A to
    L: that, with the mark for reuse; ^: that of a; -: RZ, which is none."""

    def register(letter: str, n: int, third: float) -> int:
        if letter.lower() in KEPT:
            return FIRST + FRESH + KEPT.index(letter.lower())
        classes = "01" if letter in "01" else "wxyz"
        many = FRESH // len(classes)
        turn = (n + int(third * many / 3)) % many
        return RZ if letter in "-^" else FIRST + turn * len(classes) + classes.index(letter)

    words = []
    for n, fma in zip(range(PERIOD), cycle(text.split())):
        a, b, c = (register(letter, n, third) for third, letter in enumerate(fma[:3]))
        word, result = FFMA, register(fma[3], n, 1.5) if fma[3:] else c
        for place, r in ("a", a), ("b", a if fma[1] == "^" else b), ("c", c), ("d", result):
            word = placed(word, place, r)
        marks = sum(letter.isupper() << place for place, letter in enumerate(fma))
        words.append(with_control(word, Control(1, stay, NO_SCOREBOARD, NO_SCOREBOARD, 0, marks)))
    return words


def programs() -> dict[str, list[int]]:
    """By text."""
    texts = ["".join(x) for x in product("wxyz", repeat=3)]  # two banks, or four?
    for a, b, c in product("01", repeat=3):
        other = "10"[int(c)]
        texts += [a + b + c, a + b + c + "0", a + b + c + "1"]  # does a result cost anything?
        ways = [(x, "ABEFIJ"[2 * place + int(x)]) for place, x in enumerate((a, b, c))]
        texts += ["".join(x) + other for x in product(*ways)][1:]  # marked for reuse
        texts += [texts[-1].lower(), f"{a}^{c}{other}"]  # not marked; named twice
        texts += [f"-{b}{c}{other}", f"{a}-{c}{other}", f"--{c}{other}"]  # fewer than three
    for turn in ("A?? B??", "A?? C??", "A?? b??", "A?? c??", "A?? -??", "A?? a??"):
        texts += [turn.replace("??", x) for x in ("01", "10", "11")]  # how long is it kept?
    texts.append("A01 0a1")  # in another place
    for a, b, c in ("ACEGIK", "EGIKAC", "0"), ("ACEGIK", "EGIKAC", "1"), ("BDFHJL", "FHJLBD", "0"):
        texts.append(" ".join(f"{x}{y}{c} {x.lower()}{y.lower()}{c}" for x, y in zip(a, b)))
    mixed = [*product(("000", "001", "011", "-00", "-11"), ("--1", "-01"))]  # who waits for whom?
    for x, y in [*mixed, ("000", "111"), ("001", "110"), ("-00", "-11")]:
        texts += [" ".join([x] * n + [y] * n) for n in (1, 2, 4)]
        texts += [" ".join([x] + [y] * n) for n in (2, 3) if (x, y) in mixed]
    made = {text: program(text) for text in texts}
    return made | {f"{x}, stay 0": program(x, stay=0) for x in ("-01", "A01", "001")}


def loops() -> dict[str, list[int]]:
    """One pass through the book's hot loops: the FFMAs as the compiler has them, but waiting for
    nothing; without marks for reuse; and with a NOP for every other instruction."""
    builds = [step(name) for name in ("11", "12", "13", "16", "17", "19")]
    loose = {"write": NO_SCOREBOARD, "read": NO_SCOREBOARD, "wait": 0}
    idle = with_control(NOP, Control(1, 1, NO_SCOREBOARD, NO_SCOREBOARD, 0, 0))
    made = {}
    for build in [*builds, *experiments.TABLE["14 unrolled"].steps(step)]:
        code = [decode(int.from_bytes(row.tobytes(), "little")) for row in hot_words(build, ARCH)]
        fmas = [i for i in code if i.name == "FFMA"]
        word = {i: with_control(i.word, i.control._replace(**loose)) for i in fmas}
        bare = [with_control(i.word, i.control._replace(**loose, reuse=0)) for i in fmas]
        made[f"{build.label}: FMAs"] = [word[i] for i in fmas]
        made[f"{build.label}: no reuse"] = bare
        made[f"{build.label}: with NOPs"] = [word.get(i, idle) for i in code]
    return made


def rounds() -> dict[str, list[list[int]]]:
    """What is timed: programs with both numbers of slots, and hot loops."""
    both = {x: [words * (n // PERIOD) for n in SLOTS] for x, words in programs().items()}
    return both | {name: [words] for name, words in loops().items()}


def registers_of(words: Iterable[int]) -> set[int]:
    """The numbers of the registers that FFMAs read and write."""
    fmas = [decode(word) for word in words if word & 0xFFF == FFMA_CODE]
    return {r for i in fmas for r in (*i.writes, *i.places_read)}


@functools.cache
def frame(slots: int, count: int) -> tuple[bytes, int, int, frozenset[int]]:
    """The compiled loop with so many FFMAs and registers, where it begins and ends in the code,
    and which registers it must find as they were."""
    threads, registers = FRAMES[count]
    defines = [f"-DSLOTS={slots}", f"-DTHREADS={threads}", f"-DREGISTERS={registers}"]
    cubin = Kernel(SOURCE, "timed", defines, filename="operands.cu").cubin(ARCH)
    code = instructions(cubin)
    (loop,) = (part for part in flow.blocks(code).values() if part.first in part.successors)
    live = flow.live(code)[loop.first] | flow.live(code)[loop.end]
    sums = {r for i in code[loop.first : loop.end] if i.name == "FFMA" for r in i.writes}
    needed = frozenset(r for r in live - sums if r < RZ)
    return elf.with_registers(cubin, count), loop.first, loop.end, needed


def rewritten(words: Sequence[int]) -> tuple[bytes, int]:
    """A cubin whose loop counts its rounds, executes these words and goes back, and how many
    threads fit. For a register that the counting needs, the words get another one, of a number
    that differs by a multiple of 8, or else of 4 or 2."""
    used = registers_of(words)
    count = 128 if max(used) < 126 else 255
    cubin, first, end, needed = frame(len(words), count)
    other: dict[int, int] = {}
    for r in sorted(used & needed):
        free = set(range(count - 2)) - used - needed - set(other.values())
        other[r] = min(free, key=lambda q: (-math.gcd(q - r, 8), q))
    new = []
    for word in words:
        places = zip("dabc", (*decode(word).results, *decode(word).slots))
        for letter, r in places if word & 0xFFF == FFMA_CODE else ():
            word = placed(word, letter, other[r]) if r in other else word
        new.append(word)
    code = instructions(cubin)
    waiting = Control(12, 0, NO_SCOREBOARD, NO_SCOREBOARD, 0b111111, 0)  # for all that began before
    counting = [with_control(i.word, waiting) for i in code[first : end - 1] if i.name != "FFMA"]
    whole = [i.word for i in code]
    whole[first:end] = [*counting, *new, code[end - 1].word]
    return elf.with_words(cubin, whole), FRAMES[count][0]


def cycles(words: Sequence[int]) -> list[float]:
    """The cycles of a round of one warp, with 1, 2 and 4 warps on a scheduler that share them."""
    cubin, threads = rewritten(words)
    timed = gpu.load(cubin, "timed")
    clocks, end = gpu.empty(2 * threads, np.int64), gpu.empty(512)
    measured = []
    for warps in (w for w in WARPS if w * SCHEDULERS * LANES <= threads):
        block, taken = warps * SCHEDULERS * LANES, []
        for _ in range(REPEATS):
            gpu.launch(timed, (1,), (block,), (np.int32(ROUNDS), end, clocks))
            begin, after = gpu.to_host(clocks).reshape(2, threads)[:, :block]
            taken.append(int(after.max() - begin.min()))
        measured.append(round(min(taken) / (ROUNDS * warps), 2))
    return measured


def digest(all_words: Iterable[list[int]]) -> str:
    """A name for them."""
    words = [word.to_bytes(16, "little") for words in all_words for word in words]
    return hashlib.sha256(b"".join(words)).hexdigest()[:12]


def measure(path: Path) -> None:
    """All of it. Raises NoGPU."""
    gpu.require()
    what = "cycles of a round by clock64, from the first warp's begin to the last's end, divided "
    what += f"by the warps of a scheduler; least of {REPEATS} launches of {ROUNDS} rounds"
    timed = rounds()
    cycles(timed["-010"][-1])  # the clock goes up
    record = {
        "provenance": provenance(what=what),
        "programs": digest(programs().values()),
        "loops": digest(loops().values()),
        "cycles": {name: [cycles(words) for words in each] for name, each in timed.items()},
    }
    write(path, json.dumps(record).replace("]], ", "]],\n") + "\n")


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
