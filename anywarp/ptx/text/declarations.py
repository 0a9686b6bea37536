"""Declarations of PTX: parameters, variables and what initialises them, registers.

"Parallel Thread Execution ISA", chapters 5 (state spaces, types, variables) and 4.5 (constants).
"""

from __future__ import annotations

import struct
from dataclasses import replace

from . import lexer
from .syntax import TYPE_BYTES, Immediate, Param, Relocation, Variable


class Declarations(lexer.Cursor):
    """The part of the parser that reads declarations. Scopes nest, and what is declared in an
    inner one hides the outer ones of that name."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.scopes: list[dict[str, str]] = []  # declared register -> its unique name
        self.locals: list[dict[str, str]] = []  # and declared variable, beside it
        self.scope_count = 0

    def params(self) -> tuple[Param, ...]:
        self.expect("(")
        params, end = [], 0
        while not self.accept(")"):
            self.expect(".param")  # the ABI's; a .func of registers is not compiled from C++
            variable = self.declarator("param", *self.type_and_align())
            offset = -(-end // variable.align) * variable.align
            params.append(
                Param(variable.name, variable.type, variable.size, offset, variable.align)
            )
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
            elif word in ("v2", "v4"):
                lanes = int(word[1])
            elif word in TYPE_BYTES:
                kind = word
            elif word in ("f16x2", "bf16x2"):  # two in one: bits to all that is done with it
                kind = "b32"
            elif word == "attribute":
                self.skip_until(")")
                self.next()
            elif word not in ("ptr", "global", "shared", "const", "local"):
                raise self.error(f"unexpected .{word} in a declaration")
        if not kind:
            raise self.error("a declaration without a type")
        return kind, max(align, TYPE_BYTES[kind] * lanes), lanes

    def declarator(self, space: str, kind: str, align: int, lanes: int) -> Variable:
        name = self.next()
        count, open_ended = lanes, False
        while self.accept("["):
            open_ended |= self.peek() == "]"
            count *= 1 if self.peek() == "]" else self.integer()
            self.expect("]")
        data = b""
        relocations: list[Relocation] = []
        if self.accept("="):
            data = self.initializer(kind, relocations, 0)
        size = len(data) if open_ended else count * TYPE_BYTES[kind]
        return Variable(name, space, kind, align, size, data, tuple(relocations))

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

    def initializer(self, kind: str, relocations: list[Relocation], offset: int) -> bytes:
        if self.accept("{"):
            data = b""
            while not self.accept("}"):
                data += self.initializer(kind, relocations, offset + len(data))
                self.accept(",")
            return data
        size = TYPE_BYTES[kind]
        if self.peek()[:1] == '"':
            return self.next()[1:-1].encode() + b"\0"
        if self.peek(1) == "(" or self.peek()[:1].isalpha() or self.peek()[:1] in "_$%":
            relocations.append(self.relocation(offset, size))
            return bytes(size)
        value = self.literal()
        if value.bits is None and kind[0] == "f":
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value.value)
        bits = value.value if value.bits is None else value.bits
        if not isinstance(bits, int):
            raise self.error(f"a float cannot initialise .{kind}")
        return (bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def relocation(self, offset: int, size: int) -> Relocation:
        """`symbol+4`, `generic(symbol)+4` or, of a byte of an address, `0xFF00(symbol)`."""
        mask = (1 << 64) - 1
        if self.peek(1) == "(":
            word = self.next()
            if word != "generic":
                mask = lexer.integer(word)
            self.expect("(")
            inner = self.relocation(offset, size)
            self.expect(")")
            return replace(inner, addend=inner.addend + self.offset(), mask=mask & inner.mask)
        return Relocation(offset, size, self.next(), self.offset())

    def declare_registers(self, registers: dict[str, str]) -> None:
        self.expect(".reg")
        kind, _, _ = self.type_and_align()
        while True:
            name = self.next()
            if self.accept("<"):
                names = [f"{name}{i}" for i in range(self.integer())]
                self.expect(">")
            else:
                names = [name]
            for each in names:
                unique = each if len(self.scopes) == 1 else f"{each}@{self.scope_count}"
                self.scopes[-1][each] = unique
                registers[unique] = kind
            if not self.accept(","):
                break
        self.expect(";")

    def offset(self) -> int:
        if self.accept("+"):
            return self.integer()
        return self.integer() if self.peek() == "-" else 0

    def literal(self) -> Immediate:
        sign = -1 if self.accept("-") else 1
        token = self.next()
        if token[:2] in ("0f", "0F"):
            bits = int(token[2:], 16)
            return Immediate(struct.unpack("<f", struct.pack("<I", bits))[0], bits)
        if token[:2] in ("0d", "0D"):
            bits = int(token[2:], 16)
            return Immediate(struct.unpack("<d", struct.pack("<Q", bits))[0], bits)
        try:
            return Immediate(sign * (float(token) if "." in token else lexer.integer(token)))
        except ValueError:
            raise self.error(f"expected a literal, found {token!r}") from None
