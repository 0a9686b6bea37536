"""The launches of a step: which kernels of its file run for a product, and in which order.

A file of one kernel says how many threads a block has, and there is a block for each tile of C:

    // block: (BN, BM)

Any other file has a line for each launch, in order. What stands in it are expressions on the
defines; those of `grid` and `when` know M, N and K as well, and so does `block` of a kernel beside
sgemm:

    // launch: pack(grid=(M // BM, K // BK), block=256, when=K > BK)
    // launch: sgemm(grid=((N + BN - 1) // BN, (M + BM - 1) // BM), block=256, shared=98304)

A launch whose grid has a 0 is left out, as is one whose condition, `when`, does not hold.

Kernels may take tensor maps after all else, of arrays of 16-bit numbers in the workspace. A line
for each says at which byte the array begins, its shape, innermost dimension last, and what a copy
brings of it; `at` and `shape` know M, N and K:

    // tensor map: parts(at=0, shape=(2, M, K), box=(2, BM, 32), swizzle=64)
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anywarp import LaunchError
from anywarp.limits import MAX_GRID, launch_size
from anywarp.tensor_map import Tile

from .expressions import Expression

SYMBOL = "sgemm"  # the kernel that every step has, which multiplies
SIDES = ("M", "N", "K")
PARAMETERS = (*SIDES, "alpha", "A", "B", "beta", "C")  # of a kernel, and what follows
# a block for each tile of C, columns along x
TILES = Expression("((N + BN - 1) // BN, (M + BM - 1) // BM)")
MAP = "parts(at=0, shape=(2, M, K), box=(2, BM, 32), swizzle=64)"
FORM = "pack(grid=(M // BM, K), block=256), with shared=… and when=… where they are needed"


@dataclass(frozen=True)
class Launch:
    """A launch as a file declares it, `text`: the kernel's name, and what it is launched with."""

    kernel: str
    grid: Expression
    block: Expression
    shared: Expression = field(default=Expression("0"))  # dynamic shared memory of a block, bytes
    when: Expression = field(default=Expression("True"))
    text: str = ""

    def limits(self) -> list[Expression]:
        """What must hold of M, N and K so that the grid is not too large along y and z."""
        grid = ast.parse(self.grid.text.strip(), mode="eval").body
        sides = grid.elts if isinstance(grid, ast.Tuple) else [grid]
        unless = "" if self.when.text == "True" else f"not ({self.when.text}) or "
        return [
            Expression(f"{unless}{ast.unparse(side)} <= {most}")
            for side, most in zip(sides[1:], MAX_GRID[1:])
        ]


class Planned(NamedTuple):
    """A launch of one product."""

    kernel: str
    grid: tuple[int, ...]  # x first
    block: tuple[int, ...]
    shared: int  # bytes of dynamic shared memory


class Box(NamedTuple):
    """A tensor map as a file declares it, `text`, with the name of the parameter."""

    text: str
    name: str
    at: Expression
    shape: Expression
    box: Expression
    swizzle: Expression


Placed = tuple[int, Tile]  # a tensor map of one product: `at`, and the rest of it


def read(text: str, defines: Collection[str]) -> Launch:
    """A launch from its line. Raises ValueError for what is none."""
    every = *SIDES, *defines
    of_block = defines if text.strip().startswith(f"{SYMBOL}(") else every
    known = {"grid": every, "block": of_block, "shared": defines, "when": every}
    kernel, given = _called(text, f"a launch is {FORM}", known, ("grid", "block"))
    return Launch(kernel, **given, text=text.strip())


def read_box(text: str, defines: Collection[str]) -> Box:
    """A tensor map from its line. Raises ValueError for what is none."""
    every = *SIDES, *defines
    known = {"at": every, "shape": every, "box": defines, "swizzle": defines}
    name, given = _called(text, f"a tensor map is {MAP}", known, known)
    return Box(text, name, **given)


def _called(
    text: str, form: str, known: Mapping[str, Collection[str]], needed: Collection[str]
) -> tuple[str, dict[str, Expression]]:
    """The name in such a line, and the expressions by their words: of `known`, with the names that
    each may use, of which those `needed` must be there. Raises ValueError, which quotes `form`."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError(f"{form}, not {text.strip()!r}")
    given: dict[str, Expression] = {}
    for word in call.keywords:
        name = str(word.arg)  # None for what follows two asterisks
        if name not in known or name in given:
            again = "a second" if name in given else "no"
            raise ValueError(f"{call.func.id} has {again} {word.arg!r}; it has {', '.join(known)}")
        given[name] = Expression(ast.unparse(word.value), known[name])
    if lacking := [name for name in needed if name not in given]:
        raise ValueError(f"{call.func.id} lacks its {lacking[0]}: {form}")
    return call.func.id, given


def placed(box: Box, values: Mapping[str, Any]) -> Placed:
    """The tensor map of a product, given M, N, K and the defines."""
    sizes = box.shape(values)[::-1]  # innermost first
    strides = tuple(2 * math.prod(sizes[:n]) for n in range(len(sizes)))
    spans, steps = box.box(values)[::-1], (1,) * len(sizes)
    return box.at(values), Tile("f16", sizes, strides, spans, steps, box.swizzle(values), False)


def planned(launches: Sequence[Launch], values: Mapping[str, Any]) -> tuple[Planned, ...]:
    """The launches of a product, given M, N, K and the defines.

    Raises LaunchError for a block or a grid that no launch can have.
    """
    result = []
    for launch in launches:
        grid, shared = sizes(launch.grid(values)), launch.shared(values)
        if 0 in grid or not launch.when(values):
            continue
        try:
            size = launch_size(grid, sizes(launch.block(values)), shared)
        except LaunchError as error:
            raise LaunchError(f"{launch.kernel}: {error}") from None
        result.append(Planned(launch.kernel, *size, shared))
    return tuple(result)


def sizes(value: Any) -> tuple[int, ...]:
    """Of a grid or block: 1 to 3 numbers, as a tuple."""
    return value if isinstance(value, tuple) else (value,)
