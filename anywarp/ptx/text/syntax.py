"""What PTX text consists of, once it is parsed: plain records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .names import demangle

TYPE_BYTES = {f"{kind}{bits}": bits // 8 for kind in "busf" for bits in (8, 16, 32, 64)}
TYPE_BYTES |= {"pred": 1, "b128": 16}


@dataclass(frozen=True)
class Position:
    """A place in the CUDA source. `headers`: where its code comes from if a header's function was
    inlined there, as "mma.h:12", the innermost last. `near`: the place itself is not told, and this
    is the last one before it."""

    file: str
    line: int
    headers: tuple[str, ...] = ()
    near: bool = False

    def __str__(self) -> str:
        headers = f" ({', '.join(self.headers)})" if self.headers else ""
        return f"{'near ' * self.near}{self.file}:{self.line}{headers}"


@dataclass(frozen=True)
class Register:
    """A register by its name, special ones too; after `!` a predicate is negated."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A literal: int, or float with the bit pattern kept exactly."""

    value: int | float
    bits: int | None = None  # of 0f… and 0d… literals


@dataclass(frozen=True)
class Symbol:
    """A variable's or parameter's name, standing for its address."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """`[base + offset]`; base is a Register, a Symbol or an Immediate."""

    base: Register | Symbol | Immediate
    offset: int = 0


@dataclass(frozen=True)
class Vector:
    """`{a, b, …}`"""

    elements: tuple[Any, ...]


def leaves(operand: Any) -> list[Any]:
    """What an operand is made of, or the operand itself."""
    if isinstance(operand, Address):
        return leaves(operand.base)
    if isinstance(operand, Vector):
        return [leaf for element in operand.elements for leaf in leaves(element)]
    return [operand]


@dataclass(frozen=True)
class Instruction:
    """`@guard opcode.modifiers operands;`"""

    opcode: str  # "fma"
    modifiers: tuple[str, ...]  # ("rn", "f32")
    operands: tuple[Any, ...]
    guard: Register | None  # runs only where this predicate …
    guard_negated: bool  # … is true (or false)
    line: int  # PTX line, 1-based
    position: Position | None  # CUDA source line, from .loc, or the last one that was told
    index: int = -1  # in its entry's instructions; the parser sets it

    @property
    def text(self) -> str:
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True)
class Relocation:
    """Bytes of a variable that hold an address: `size` bytes at `offset` are the address of
    `symbol` plus `addend`, of which `mask` is kept and shifted down to bit 0."""

    offset: int
    size: int
    symbol: str
    addend: int = 0
    mask: int = (1 << 64) - 1


@dataclass(frozen=True)
class Variable:
    """A declared variable: `size` bytes in `space`, with `data` where it is initialised."""

    name: str
    space: str
    type: str
    align: int
    size: int  # 0: extern, sized at launch
    data: bytes = b""
    relocations: tuple[Relocation, ...] = ()


@dataclass(frozen=True)
class Param:
    """A parameter of a kernel or function, or what a function returns."""

    name: str
    type: str  # "u32", "f32", "u64", "b8" (by-value struct), …
    size: int  # bytes
    offset: int  # in the parameter space
    align: int


@dataclass(frozen=True, eq=False)  # compared and cached by identity
class Function:
    """A .func, or, as an Entry, a kernel. `error` says why the body could not be read."""

    name: str
    params: tuple[Param, ...]
    registers: dict[str, str]  # name -> type
    variables: tuple[Variable, ...]  # its own: shared, local and, for calls, param
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]  # name -> index of the instruction it stands before
    branch_targets: dict[str, tuple[str, ...]]
    attributes: dict[str, tuple[int, ...]]  # maxntid and the like
    results: tuple[Param, ...] = ()  # of a .func
    error: Exception | None = None

    @property
    def title(self) -> str:
        """Its name in the CUDA source."""
        return demangle(self.name, qualified=True)


@dataclass(frozen=True, eq=False)
class Entry(Function):
    """A kernel; its variables are also those of the module that it can reach."""

    functions: dict[str, Function] = field(default_factory=dict)  # those of the module
    unread: dict[str, Exception] = field(default_factory=dict)  # declared names -> why not


@dataclass(frozen=True, eq=False)
class Module:
    """`variables` are those in global and constant memory; `unread` has an error for each
    declared name that the parser could not read, raised when a kernel that uses it is run."""

    entries: dict[str, Entry]
    functions: dict[str, Function] = field(default_factory=dict)
    variables: tuple[Variable, ...] = ()
    unread: dict[str, Exception] = field(default_factory=dict)
