"""PTX text -> entries with their instructions.

The grammar is the part of the PTX ISA that NVRTC writes, inline assembly included:
module variables, entries with parameters, register, shared and local declarations,
`.loc` line information, labels, nested scopes and instructions.
Reference: "Parallel Thread Execution ISA", chapters 4 (syntax), 5 (state spaces) and 11.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field, replace

from .errors import ParseError
from .syntax import (
    TYPE_BYTES,
    Address,
    Entry,
    Immediate,
    Instruction,
    Module,
    Param,
    Position,
    Register,
    Symbol,
    Variable,
    Vector,
)

_TOKEN = re.compile(
    r"""
    (?P<skip>  \s+ | //[^\n]* | /\*.*?\*/ )
  | (?P<string> "[^"]*" )
  | (?P<number> 0[fF][0-9a-fA-F]{8} | 0[dD][0-9a-fA-F]{16} | 0[xX][0-9a-fA-F]+U? | 0[bB][01]+U?
              | \d+\.\d*(?:[eE][-+]?\d+)? | \d+U? )
  | (?P<word>  [.%$A-Za-z_] (?: [\w$.%] | :: )* )
  | (?P<punctuation> [-+!{}()\[\],;:|<>=@] )
""",
    re.VERBOSE | re.DOTALL,
)


@dataclass
class _Body:
    """What a body declares and does, while it is being read."""

    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)


def parse(text: str) -> Module:
    """Read a PTX module. Raises ParseError with the line that could not be read."""
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str):
        self.tokens = list(_tokenize(text))
        self.at = 0
        # .file directives stand at the end of the text but are needed from the first .loc on
        files = re.findall(r'^\s*\.file\s+(\d+)\s+"(?:[^"]*/)?([^"/]*)"', text, re.MULTILINE)
        self.files = {int(number): name for number, name in files}  # without folders
        self.position: Position | None = None
        self.globals: list[Variable] = []
        self.scopes: list[dict[str, str]] = []  # declared register -> its unique name
        self.scope_count = 0

    # -- tokens ---------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.tokens[index][0] if index < len(self.tokens) else ""

    @property
    def line(self) -> int:
        return self.tokens[min(self.at, len(self.tokens) - 1)][1]

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"expected {token!r}, found {self.peek()!r}")

    def error(self, what: str) -> ParseError:
        return ParseError(f"PTX line {self.line}: {what}")

    def integer(self) -> int:
        negative = self.accept("-")
        token = self.next()
        try:
            value = _integer(token)
        except ValueError:
            raise self.error(f"expected an integer, found {token!r}") from None
        return -value if negative else value

    def skip_braces(self) -> None:
        self.expect("{")
        depth = 1
        while depth:
            token = self.next()
            if not token:
                raise self.error("a '{' is never closed")
            depth += (token == "{") - (token == "}")

    # -- module level ---------------------------------------------------------------------

    def module(self) -> Module:
        entries = {}
        while self.peek():
            token = self.next()
            if token in (".version", ".address_size"):
                self.next()
            elif token == ".target":
                self.next()
                while self.accept(","):
                    self.next()
            elif token == ".file":
                self.next(), self.next()
                while self.accept(","):
                    self.next()
            elif token == ".section":
                self.next()
                self.skip_braces()
            elif token in (".visible", ".extern", ".weak", ".common"):
                continue
            elif token == ".entry":
                entry = self.entry()
                entries[entry.name] = entry
            elif token == ".func":
                self.function()
            elif token in (".global", ".const", ".shared"):
                self.globals.append(self.variable(token[1:]))
            elif token == ".pragma":
                while self.next() != ";":
                    pass
            else:
                raise self.error(f"unexpected {token!r} at module level")
        return Module(entries)

    def function(self) -> None:
        """Skip a device function; a call to one is an unknown opcode when it is decoded."""
        while self.peek() not in (";", "{"):
            self.next()
        if not self.accept(";"):
            self.skip_braces()

    def entry(self) -> Entry:
        name = self.next()
        params = self.params() if self.peek() == "(" else ()
        attributes = {}
        while self.peek() != "{":
            directive = self.next()
            if not directive.startswith("."):
                raise self.error(f"unexpected {directive!r} before the body of {name}")
            values = []
            while self.peek()[:1].isdigit():
                values.append(self.integer())
                self.accept(",")
            attributes[directive[1:]] = tuple(values)
        body = _Body()
        self.position = None
        self.scope(body)
        return Entry(
            name,
            params,
            body.registers,
            tuple(self.globals + body.variables),
            tuple(body.instructions),
            body.labels,
            body.branch_targets,
            attributes,
        )

    def params(self) -> tuple[Param, ...]:
        self.expect("(")
        params, end = [], 0
        while not self.accept(")"):
            self.expect(".param")
            variable = self.declarator("param", *self.type_and_align())
            offset = -(-end // variable.align) * variable.align
            params.append(
                Param(variable.name, variable.type, variable.size, offset, variable.align)
            )
            end = offset + variable.size
            self.accept(",")
        return tuple(params)

    # -- declarations ---------------------------------------------------------------------

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
            elif word not in ("ptr", "global", "shared", "const", "local", "attribute"):
                raise self.error(f"unexpected .{word} in a declaration")
        if not kind:
            raise self.error("a declaration without a type")
        return kind, max(align, TYPE_BYTES[kind] * lanes), lanes

    def declarator(self, space: str, kind: str, align: int, lanes: int) -> Variable:
        name = self.next()
        count = lanes
        while self.accept("["):
            count *= 0 if self.peek() == "]" else self.integer()
            self.expect("]")
        data = self.initializer(kind) if self.accept("=") else b""
        return Variable(name, space, kind, align, count * TYPE_BYTES[kind], data)

    def variable(self, space: str) -> Variable:
        variable = self.declarator(space, *self.type_and_align())
        self.expect(";")
        return variable

    def initializer(self, kind: str) -> bytes:
        if self.accept("{"):
            parts = []
            while not self.accept("}"):
                parts.append(self.initializer(kind))
                self.accept(",")
            return b"".join(parts)
        operand = self.operand()
        if not isinstance(operand, Immediate):
            raise self.error("only literals can initialise a variable")
        size = TYPE_BYTES[kind]
        if operand.bits is None and kind[0] == "f":
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], operand.value)
        bits = operand.value if operand.bits is None else operand.bits
        return (bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def declare_registers(self, body: _Body) -> None:
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
                body.registers[unique] = kind
            if not self.accept(","):
                break
        self.expect(";")

    # -- bodies ---------------------------------------------------------------------------

    def scope(self, body: _Body) -> None:
        """`{ … }`; registers declared in a nested scope hide the outer ones of that name."""
        self.expect("{")
        self.scope_count += 1
        self.scopes.append({})
        first, outer_labels = len(body.instructions), body.labels
        body.labels = {}
        while not self.accept("}"):
            token = self.peek()
            if token == "":
                raise self.error("the body is never closed")
            if token == "{":
                self.scope(body)
            elif token == ".loc":
                self.loc()
            elif token == ".reg":
                self.declare_registers(body)
            elif token in (".shared", ".local"):
                body.variables.append(self.variable(self.next()[1:]))
            elif token == ".param":  # of a call, which is refused by name later
                self.variable(self.next()[1:])
            elif token == ".pragma":
                while self.next() != ";":
                    pass
            elif self.peek(1) == ":":
                self.label(body)
            else:
                body.instructions.append(self.instruction(len(body.instructions)))
        self.scopes.pop()
        if self.scopes:
            self.hide_labels(body, first)
        body.labels = outer_labels | body.labels

    def hide_labels(self, body: _Body, first: int) -> None:
        """Give the labels of a nested scope unique names, also where they are branched to."""
        new = {name: f"{name}@{len(body.instructions)}" for name in body.labels if "@" not in name}
        for n, i in enumerate(body.instructions[first:], start=first):
            operands = tuple(
                Symbol(new[o.name]) if isinstance(o, Symbol) and o.name in new else o
                for o in i.operands
            )
            body.instructions[n] = replace(i, operands=operands)
        body.labels = {new.get(name, name): at for name, at in body.labels.items()}

    def label(self, body: _Body) -> None:
        name = self.next()
        self.expect(":")
        if self.accept(".branchtargets"):
            targets = [self.next()]
            while self.accept(","):
                targets.append(self.next())
            self.expect(";")
            body.branch_targets[name] = tuple(targets)
        elif self.accept(".callprototype"):  # of an indirect call
            while self.next() != ";":
                pass
        else:
            body.labels[name] = len(body.instructions)

    def loc(self) -> None:
        self.expect(".loc")
        file, line, _ = self.integer(), self.integer(), self.integer()
        self.position = Position(self.files.get(file, f"file {file}"), line) if line else None
        while self.accept(","):  # function_name …, inlined_at file line column
            if self.next() == "function_name":
                self.next()
                if self.accept("+"):
                    self.integer()
            else:
                self.integer(), self.integer(), self.integer()

    def instruction(self, index: int) -> Instruction:
        line = self.line
        guard, negated = None, False
        if self.accept("@"):
            negated = self.accept("!")
            guard = self.register(self.next())
        opcode, *modifiers = self.next().split(".")
        operands = []
        while not self.accept(";"):
            operand = self.operand()
            if self.accept("|"):  # two destinations, as in setp p|q
                operand = Vector((operand, self.operand()))
            operands.append(operand)
            if not self.accept(",") and self.peek() != ";":
                raise self.error(f"unexpected {self.peek()!r} after an operand")
        return Instruction(
            opcode, tuple(modifiers), tuple(operands), guard, negated, line, self.position, index
        )

    def register(self, name: str) -> Register:
        for scope in reversed(self.scopes):
            if name in scope:
                return Register(scope[name])
        return Register(name)

    def operand(self):
        token = self.peek()
        if token in ("{", "("):  # (…) are arguments and results of a call
            self.next()
            elements = []
            while not self.accept({"{": "}", "(": ")"}[token]):
                elements.append(self.operand())
                self.accept(",")
            return Vector(tuple(elements))
        if token == "[":
            self.next()
            base = self.operand()
            offset = self.offset()
            self.expect("]")
            return Address(base, offset)
        if token == "!":  # a negated predicate operand
            self.next()
            return Register("!" + self.register(self.next()).name)
        if token == "-" or token[:1].isdigit():
            return self.literal()
        self.next()
        if token.startswith("%") or any(token in scope for scope in self.scopes):
            return self.register(token)
        return Symbol(token, self.offset())

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
            return Immediate(sign * (float(token) if "." in token else _integer(token)))
        except ValueError:
            raise self.error(f"expected a literal, found {token!r}") from None


def _integer(token: str) -> int:
    """A literal in base 10, 16 (0x), 2 (0b) or 8 (a leading 0)."""
    digits = token.rstrip("U")
    return int(digits, 8 if digits[0] == "0" and digits.isdigit() else 0)


def _tokenize(text: str):
    """Yield (token, line)."""
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ParseError(f"PTX line {line}: cannot read {text[at : at + 20]!r}")
        if match.lastgroup != "skip":
            yield match.group(), line
        line += match.group().count("\n")
        at = match.end()
