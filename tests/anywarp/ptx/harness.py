"""Run a PTX instruction for many operand tuples, one thread each, and compare what it stored.

A test writes only the instruction, with registers %a, %b, %c, %e for its inputs and %d (and
%d1, ...) for its results: ``vectors("add.s32 %d, %a, %b;", "s32", "s32 s32", rows)``. Registers
are untyped (.b16, .b32, .b64), as newer compilers write them; the CUDA tests bring typed ones.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Callable, Sequence

import numpy as np
from exact import FORMATS, infinity, is_nan, nan, width_of

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
INPUTS = ("%a", "%b", "%c", "%e")
BLOCK = 128


def launch(text: str, name: str, grid, block, args: Sequence, **keywords) -> None:
    """Parse and run; arguments as in anywarp.ptx.run."""
    from anywarp import ptx

    ptx.run(ptx.parse(text).entries[name], grid, block, args, **keywords)


def entry(body: str, params: str = "", name: str = "k", module: str = "") -> str:
    """A PTX module with one entry; params like "u64 out, .align 4 .b8 s[8]"."""
    listed = [p.strip() for p in params.split(",") if p]
    declared = ",\n".join(f"    .param {p if p[0] == '.' else '.' + p}" for p in listed)
    return f"{HEADER}{module}\n.visible .entry {name}(\n{declared}\n)\n{{\n{body}\n    ret;\n}}\n"


def run_body(body: str, params: str, grid, block, args, module: str = "", **keywords) -> None:
    launch(entry(body, params, module=module), "k", grid, block, args, **keywords)


def storage(kind: str) -> str:
    """The bits that a value takes in memory; predicates are stored as 0 or 1."""
    return "32" if kind == "pred" else str(max(width_of(kind), 8))


def register(kind: str) -> str:
    return "pred" if kind == "pred" else f"b{max(width_of(kind), 16)}"


def _loads(kinds: Sequence[str]) -> list[str]:
    lines = []
    for index, (kind, name) in enumerate(zip(kinds, INPUTS)):
        bits = storage(kind)
        lines += [
            f"ld.param.u64 %p, [in{index}];",
            "cvta.to.global.u64 %p, %p;",
            f"mad.wide.u32 %p, %i, {int(bits) // 8}, %p;",
        ]
        if kind == "pred":
            lines += ["ld.global.u32 %t, [%p];", f"setp.ne.u32 {name}, %t, 0;"]
        else:
            lines += [f"ld.global.u{bits} {name}, [%p];"]
    return lines


def _stores(kinds: Sequence[str]) -> list[str]:
    lines = []
    for index, kind in enumerate(kinds):
        name, bits = f"%d{index or ''}", storage(kind)
        lines += [
            f"ld.param.u64 %p, [out{index}];",
            "cvta.to.global.u64 %p, %p;",
            f"mad.wide.u32 %p, %i, {int(bits) // 8}, %p;",
        ]
        if kind == "pred":
            lines += [f"selp.u32 %t, 1, 0, {name};", "st.global.u32 [%p], %t;"]
        else:
            lines += [f"st.global.u{bits} [%p], {name};"]
    return lines


def program(template: str, out: str, ins: str, declare: str = "", module: str = "") -> str:
    outs, kinds = out.split(), ins.split()
    registers = [f".reg .{register(k)} {n};" for k, n in zip(kinds, INPUTS)]
    registers += [f".reg .{register(k)} %d{i or ''};" for i, k in enumerate(outs)]
    index = [
        ".reg .b32 %i, %t;",
        ".reg .b64 %p;",
        "mov.u32 %i, %ctaid.x;",
        "mov.u32 %t, %ntid.x;",
        "mul.lo.u32 %i, %i, %t;",
        "mov.u32 %t, %tid.x;",
        "add.u32 %i, %i, %t;",
    ]
    lines = [declare, *registers, *index, *_loads(kinds), template, *_stores(outs)]
    names = [f"u64 in{i}" for i in range(len(kinds))] + [f"u64 out{i}" for i in range(len(outs))]
    return entry("\n".join("    " + line for line in lines), ", ".join(names), module=module)


def vectors(
    template: str,
    out: str,
    ins: str,
    rows: Sequence,
    declare: str = "",
    module: str = "",
    **keywords,
) -> list:
    """Run the template once for every row of inputs; returns a value (or a tuple) per row.

    ``ins`` and ``out`` are blank-separated type names: u8 ... s64, f16, f32, f64 (given and
    returned as bit patterns) or pred (0 or 1). Integers of any size are wrapped to the type.
    Keywords go to anywarp.ptx.run. Threads beyond the last row repeat it.
    """
    kinds, outs = ins.split(), out.split()
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    padded = rows + [rows[-1]] * (-len(rows) % BLOCK)
    args = []
    for column, kind in enumerate(kinds):
        mask = (1 << int(storage(kind))) - 1
        args.append(np.array([r[column] & mask for r in padded], dtype=f"uint{storage(kind)}"))
    results = [np.full(len(padded), 0xA5, dtype=f"uint{storage(kind)}") for kind in outs]
    text = program(template, out, ins, declare, module)
    launch(text, "k", (len(padded) // BLOCK,), (BLOCK,), args + results, **keywords)
    columns = []
    for kind, result in zip(outs, results):
        # A view, not arithmetic: the sign is read from the stored bits.
        view = result.view(f"int{storage(kind)}") if kind[0] == "s" else result
        columns.append([int(x) for x in view[: len(rows)]])
    return columns[0] if len(outs) == 1 else list(zip(*columns))


def compare(got: Sequence, expected: Sequence, rows: Sequence, kind: str = "") -> None:
    """Assert equality, showing inputs and both results in hexadecimal where they differ."""
    fmt = FORMATS.get(kind)
    wrong = []
    for g, e, row in zip(got, expected, rows, strict=True):
        if g != e and not (fmt and is_nan(g, fmt) and is_nan(e, fmt)):
            wrong.append(f"{_hex(row)} -> {_hex(g)}, expected {_hex(e)}")
    assert not wrong, f"{len(wrong)} of {len(rows)} differ: " + "; ".join(wrong[:6])


def _hex(x) -> str:
    if isinstance(x, (tuple, list)):
        return "(" + ", ".join(_hex(y) for y in x) + ")"
    return hex(x)


def check(template: str, out: str, ins: str, rows: Sequence, expected: Callable) -> None:
    """The template gives expected(*row) for every row."""
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    compare(vectors(template, out, ins, rows), [expected(*row) for row in rows], rows, out)


def integers(kind: str, count: int = 24, seed: int = 0) -> list[int]:
    """Edge values of an integer type and random ones of every size, in the type's range."""
    width = width_of(kind)
    edges = [0, 1, 2, 3, 7, 10, (1 << width) - 1, (1 << width) - 2, (1 << width) - 10]
    for power in (width // 4, width // 2, width - 2, width - 1):
        edges += [(1 << power) - 1, 1 << power, (1 << power) + 1]
    rng = random.Random(f"{kind} {seed}")
    edges += [rng.getrandbits(width) >> rng.randrange(width) for _ in range(count)]
    signed = kind[0] == "s"
    return [x - (1 << width) if signed and x >> (width - 1) else x for x in edges]


def floats(kind: str, count: int = 24, seed: int = 0) -> list[int]:
    """Bit patterns: zeros, infinities, NaNs, subnormals, ends of ranges, and random ones."""
    fmt = FORMATS[kind]
    least_normal, one = 1 << fmt.fraction, ((1 << (fmt.exponent - 1)) - 1) << fmt.fraction
    positive = [0, 1, 2, least_normal - 1, least_normal, least_normal + 1]
    positive += [one - 1, one, one + 1, one | (least_normal >> 1), one + least_normal]
    positive += [infinity(fmt) - 1, infinity(fmt), nan(fmt), infinity(fmt) + 1]
    rng = random.Random(f"{kind} {seed}")
    patterns = [p | (s << (fmt.width - 1)) for p in positive for s in (0, 1)]
    patterns += [rng.getrandbits(fmt.width) for _ in range(count // 2)]
    for _ in range(count - count // 2):
        # Near one, so that sums and quotients of pairs round instead of overflowing.
        exponent = (one >> fmt.fraction) + rng.randrange(-3, 4)
        bits = (exponent << fmt.fraction) | rng.getrandbits(fmt.fraction)
        patterns.append(bits | (rng.getrandbits(1) << (fmt.width - 1)))
    return patterns


def pairs(values: Callable, kind: str, other: str = "", extra: int = 300) -> list[tuple]:
    """All pairs of a few values, edges first, and random pairs of more."""
    rng = random.Random(f"pairs {kind} {other}")
    few = values(kind, 4), values(other or kind, 4)
    many = values(kind, 200, 1), values(other or kind, 200, 2)
    product = list(itertools.product(*few))
    return product + [(rng.choice(many[0]), rng.choice(many[1])) for _ in range(extra)]


def triples(values: Callable, kinds: str, extra: int = 1200) -> list[tuple]:
    rng = random.Random(f"triples {kinds}")
    pools = [values(kind, 60, seed) for seed, kind in enumerate(kinds.split())]
    return [tuple(rng.choice(pool) for pool in pools) for _ in range(extra)]


@functools.cache
def cuda(source: str, names: tuple[str, ...] = (), options: tuple[str, ...] = ()):
    """CUDA C++ compiled to PTX by the project's compiler.

    Headers are read once for all sources that begin with the same ones: those of cooperative groups
    take a second. (The compiler does not see whether they have changed since.)
    """
    from anywarp import build
    from anywarp.compile import nvrtc

    if "#include" in source and nvrtc.version() >= (12, 8):
        options += ("--pch", "--pch-messages=false")
    return build.compile(source, "test.cu", options, names)


def launch_built(built, name: str, grid, block, args, **keywords) -> None:
    launch(built.ptx, name, grid, block, args, **keywords)


def run_cuda(source: str, name: str, grid, block, args, options=(), **keywords) -> None:
    launch_built(cuda(source, options=options), name, grid, block, args, **keywords)


def line_of(text: str, marker: str) -> int:
    """The 1-based number of the only line that holds the marker."""
    (number,) = [n for n, line in enumerate(text.splitlines(), 1) if marker in line]
    return number


def number_occurs(number: int, message: str) -> bool:
    return re.search(rf"(?<!\d){number}(?!\d)", message) is not None
