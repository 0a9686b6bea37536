"""Declarations of PTX: parameters, variables and what initialises them, registers.

"Parallel Thread Execution ISA", chapters 5 (state spaces, types, variables) and 4.5 (constants).
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import replace

from . import lexer
from .syntax import TYPE_BYTES, Immediate, Param, Relocation, Variable

FLOAT = re.compile(r"\d+\.|\.\d|\d+[eE]")  # how one in decimals begins
# of constant expressions: how much each binds, and what it does
BINDING = {"|": 0, "&": 1, "<<": 2, "+": 3, "-": 3, "*": 4}
OPERATORS = {"|": int.__or__, "&": int.__and__, "<<": lambda a, b: a << (b & 63)}
OPERATORS |= {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
MOST = 1 << 20  # registers of a function, or bytes of an alignment
ROOM = {"global": 1 << 30, "const": 1 << 30, "local": 512 << 10, "param": 1 << 16}  # bytes of each


class Declarations(lexer.Cursor):
    """The part of the parser that reads declarations. Scopes nest, and what is declared in an
    inner one hides the outer ones of that name."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.scopes: list[dict[str, str]] = []  # declared register -> its unique name
        self.locals: list[dict[str, str]] = []  # and declared variable, beside it
        self.vectors: dict[str, list[str]] = {}  # of a register's unique name, those of its parts
        self.scope_count = 0

    def params(self) -> tuple[Param, ...]:
        self.expect("(")
        params, end = [], 0
        while not self.accept(")"):
            if not self.accept(".param"):  # the ABI's
                raise self.error(f"{self.peek()} among parameters, which are to be .param each")
            variable = self.declarator("param", *self.type_and_align())
            offset = -(-end // variable.align) * variable.align
            about = variable.name, variable.type, variable.size, offset, variable.align
            params.append(Param(*about))
            end = offset + variable.size
            self.accept(",")
        return tuple(params)

    def type_and_align(self) -> tuple[str, int, int]:
        """The `.align 16 .v4 .f32` before a name -> (type, alignment, vector length)."""
        align, lanes, kind = 0, 1, ""
        while self.peek().startswith("."):
            word = self.next()[1:]
            if word == "align":
                align = self.integer()
                if align not in (1 << n for n in range(MOST.bit_length())):
                    raise self.error(f"an alignment of {align}: no power of 2 up to {MOST}")
            elif word in ("v2", "v4"):
                lanes = int(word[1])
            elif word in TYPE_BYTES:
                kind = word
            elif word in ("f16x2", "bf16x2"):  # two in one: bits to all that is done with it
                kind = "b32"
            elif word == "attribute":
                self.skip_until(")")
            elif word not in ("ptr", "global", "shared", "const", "local"):
                raise self.error(f"unexpected .{word} in a declaration")
        if not kind:
            raise self.error("a declaration without a type")
        return kind, max(align, TYPE_BYTES[kind] * lanes), lanes

    def declarator(self, space: str, kind: str, align: int, lanes: int) -> Variable:
        name = self.next()
        shape, data = [], b""  # a length of 0: as many as there are initial values
        while self.accept("["):
            shape.append(0 if self.peek() == "]" else self.integer())
            self.expect("]")
        size = math.prod(shape) * lanes * TYPE_BYTES[kind]
        if min((0, *shape)) < 0 or size > ROOM.get(space, size):  # shared: see `anywarp.limits`
            raise self.error(f"{name} has {size} bytes; there is room for 0 to {ROOM.get(space)}")
        relocations: list[Relocation] = []
        if self.accept("="):
            data = self.initializer(kind, relocations, 0, [*shape, lanes])
        return Variable(name, space, kind, align, size or len(data), data, tuple(relocations))

    def variable(self, space: str) -> Variable:
        variable = self.declarator(space, *self.type_and_align())
        self.expect(";")
        return variable

    def local_variable(self, space: str) -> Variable:
        """A variable of a body; in a nested scope it hides the outer ones of that name."""
        variable = self.variable(space)
        if len(self.scopes) > 1:
            unique = f"{variable.name}@{self.scope_count}"
            self.locals[-1][variable.name] = unique
            variable = replace(variable, name=unique)
        return variable

    def initializer(
        self, kind: str, relocations: list[Relocation], offset: int, shape: Sequence[int]
    ) -> bytes:
        size = TYPE_BYTES[kind]
        if self.accept("{"):
            data = b""
            while not self.accept("}"):
                data += self.initializer(kind, relocations, offset + len(data), shape[1:])
                self.accept(",")
            return data.ljust(math.prod(shape) * size, b"\0")
        if re.match(r"[a-zA-Z_$%]|\w+\(", self.peek() + self.peek(1)):
            relocations.append(self.relocation(offset, size))
            return bytes(size)
        value = self.expression()
        if value.bits is None and kind[0] == "f":
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value.value)
        bits = value.value if value.bits is None else value.bits
        if not isinstance(bits, int):
            raise self.error(f"a float cannot initialise .{kind}")
        return (bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def relocation(self, offset: int, size: int) -> Relocation:
        """`symbol+4`, `generic(symbol)+4` or, of a byte of an address, `0xFF00(symbol)`."""
        if self.peek(1) == "(":
            mask = (1 << 64) - 1 if self.accept("generic") else self.integer()
            self.expect("(")
            inner = self.relocation(offset, size)
            self.expect(")")
            return replace(inner, addend=inner.addend + self.offset(), mask=mask & inner.mask)
        return Relocation(offset, size, self.next(), self.offset())

    def declare_registers(self, registers: dict[str, str]) -> None:
        self.expect(".reg")
        kind, _, lanes = self.type_and_align()
        while True:
            name = self.next()
            if self.accept("<"):
                count = self.integer()
                if not 0 <= count <= MOST - len(registers):
                    raise self.error(f"{name} are {count} registers, too many of a function")
                names = [f"{name}{i}" for i in range(count)]
                self.expect(">")
            else:
                names = [name]
            for each in names:
                unique = each if len(self.scopes) == 1 else f"{each}@{self.scope_count}"
                self.scopes[-1][each] = unique
                if lanes > 1:
                    self.vectors[unique] = [f"{unique}.{lane}" for lane in "xyzw"[:lanes]]
                    for part, lane in zip(self.vectors[unique], "rgba"):
                        self.scopes[-1] |= {f"{each}.{part[-1]}": part, f"{each}.{lane}": part}
                registers |= dict.fromkeys(self.vectors.get(unique, [unique]), kind)
            if not self.accept(","):
                break
        self.expect(";")

    def offset(self) -> int:
        """`+4*2`, `+-4` or `-4` after a name or a register."""
        if self.peek(2) == "]" and self.accept("+"):
            return self.integer()
        value = self.expression().value if self.accept("+") or self.peek() == "-" else 0
        if not isinstance(value, int):
            raise self.error(f"expected an integer, found {value}")
        return value

    def expression(self, least: int = 0) -> Immediate:
        """A constant; its operators bind at least so much."""
        if self.accept("-"):
            left = Immediate(-self.expression(5).value)
        elif self.accept("("):
            left = self.expression()
            self.expect(")")
        else:
            left = self.literal()
        while BINDING.get(self.peek(), -1) >= least:
            operator = self.next()
            right = self.expression(BINDING[operator] + 1)
            if isinstance(left.value, float) or isinstance(right.value, float):
                raise self.error(f"{operator!r} of floats")
            left = Immediate(OPERATORS[operator](left.value, right.value))
        return left

    def literal(self) -> Immediate:
        token = self.next()
        try:
            if token[:2] in ("0f", "0F", "0d", "0D"):
                bits, of = int(token[2:], 16), "If" if token[1] in "fF" else "Qd"
                return Immediate(struct.unpack(of[1], struct.pack(of[0], bits))[0], bits)
            return Immediate(float(token) if FLOAT.match(token) else lexer.integer(token))
        except (ValueError, IndexError):
            raise self.error(f"expected a literal, found {token!r}") from None
