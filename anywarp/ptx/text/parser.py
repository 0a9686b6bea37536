"""PTX text -> kernels and functions with their instructions.

The grammar is the part of the PTX ISA that NVRTC writes, inline assembly included: module
variables, entries and functions with parameters, register, shared and local declarations,
`.loc` line information, labels, nested scopes, calls and instructions.

What cannot be read does not stand in the way of the rest: a kernel or function keeps the error
that its body gave, a declaration's is kept by name, and they are raised where they are used.
Reference: "Parallel Thread Execution ISA", chapters 4 (syntax), 5 (state spaces) and 11.
"""

from __future__ import annotations

import functools
import gc
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import ParseError
from . import isa, syntax
from .declarations import Declarations
from .syntax import Entry, Function, Instruction, Position, Register, Symbol, Variable, Vector

Chain = tuple[tuple[int, ...], ...]  # file and line of calls within calls, the outermost first
LIBRARY = re.compile(r"[/\\]include[/\\]|\b__nv_nvrtc")  # paths of headers that come with CUDA
# Of an assembly of several lines, Triton's LLVM counts the source's line on with each.
INLINE = re.compile(r"(// begin inline asm\n[^\n]*)(.*?)(?=// end inline asm)", re.DOTALL)

OF_VALUES = {"arithmetic", "move", "load", "store", "atomic"}  # kinds of two operands or more


@dataclass
class _Body:
    """What a body declares and does, while it is being read."""

    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)


def uncollected(make: Callable[..., Any]) -> Callable[..., Any]:
    """The function, during which Python does not look for garbage.

    It does so whenever some objects have been made, and now and then among all that there are. A
    kernel that is read and decoded becomes very many objects, none of them garbage: looking for
    some takes nearly as long again as making them."""

    @functools.wraps(make)
    def run(*args: Any, **options: Any) -> Any:
        if not gc.isenabled():
            return make(*args, **options)
        gc.disable()
        try:
            return make(*args, **options)
        finally:
            gc.enable()

    return run


@uncollected
def parse(text: str) -> syntax.Module:
    """Read a PTX module. Raises ParseError with the line that could not be read if that leaves
    no kernel; an unreadable kernel among others raises when it is run."""
    return _Parser(text).module()


class _Parser(Declarations):
    """The part of the parser that reads a module, its functions and their instructions."""

    def __init__(self, text: str) -> None:
        super().__init__(INLINE.sub(lambda asm: asm[1] + asm[2].replace(".loc", "//"), text))
        # .file directives stand at the end of the text but are needed from the first .loc on
        files = re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.MULTILINE)
        self.files = {int(number): path for number, path in files}
        self.calls: dict[tuple[int, ...], Chain] = {}  # file, line and column -> how one gets there
        self.positions: dict[Chain, Position] = {}
        self.foreign: set[Position] = set()  # those of headers alone
        self.variables: dict[str, Variable] = {}  # of the module
        self.entries: dict[str, Entry] = {}
        self.functions: dict[str, Function] = {}
        self.unread: dict[str, Exception] = {}
        self.calling = False  # the instruction is a call

    # -- module level ---------------------------------------------------------------------

    def module(self) -> syntax.Module:
        first = None
        while self.peek():
            start = self.at
            try:
                self.nested(self.statement)
            except ParseError as error:
                first = first or error
                self.recover(start, error)
        if first and not self.entries:
            raise first
        self.name_callers()
        module = tuple(v for v in self.variables.values() if v.space in ("global", "const"))
        for name, entry in self.entries.items():
            names = mentioned(entry, self.functions, self.variables)
            shared = [v for v in self.variables.values() if v.space == "shared" and v.name in names]
            variables = (*module, *shared, *entry.variables)
            self.entries[name] = replace(
                entry, variables=variables, functions=self.functions, unread=self.unread
            )
        return syntax.Module(self.entries, self.functions, module, self.unread)

    def name_callers(self) -> None:
        """Give a header's function that was not inlined the place of its call, too; of several
        calls the first, as near."""
        waiting: list[Function] = [*self.entries.values()]
        every = [c for f in (*waiting, *self.functions.values()) for c in self.calls_of(f)]
        named = set[str]()
        for function in waiting:  # grows
            for name, call in self.calls_of(function):
                if name not in named:
                    named.add(name)
                    near = len({at for other, at in every if other == name}) > 1
                    called = self.functions[name]
                    at = replace(call, near=near or call.near)
                    code = tuple(self.called_at(at, i) for i in called.instructions)
                    self.functions[name] = replace(called, instructions=code)
                    waiting.append(self.functions[name])

    def calls_of(self, function: Function) -> list[tuple[str, Position]]:
        """Which functions it calls by name, and where."""
        code = [i for i in function.instructions if i.opcode == "call" and i.position]
        named = [(o.name, i.position) for i in code for o in i.operands if isinstance(o, Symbol)]
        return [(name, at) for name, at in named if at and name in self.functions]

    def called_at(self, call: Position, i: Instruction) -> Instruction:
        """An instruction of a function that is called there, if only headers have it."""
        at = i.position
        if at is None or replace(at, near=False) not in self.foreign:
            return i
        headers = (*call.headers, f"{at.file}:{at.line}", *at.headers)
        return replace(i, position=replace(call, headers=headers))

    def nested(self, read: Callable[..., None], *more: Any) -> None:
        """Read what may have others of its kind in it, as deep as Python goes."""
        try:
            read(*more)
        except RecursionError:
            raise self.error("braces or brackets are nested too deeply") from None

    def statement(self) -> None:
        token = self.next()
        if token in (".version", ".address_size", ".target", ".file"):
            self.at += 2 if token == ".file" else 1
            while self.accept(","):
                self.next()
        elif token == ".section":
            self.next()
            self.skip_braces()
        elif token in (".visible", ".extern", ".weak", ".common"):
            pass
        elif token == ".entry":
            entry = self.function(Entry, ())
            self.entries[entry.name] = entry
        elif token == ".func":
            self.position = None
            function = self.function(Function, self.params() if self.peek() == "(" else ())
            if function.instructions or function.name not in self.functions:  # else declared again
                self.functions[function.name] = function
        elif token in (".global", ".const", ".shared"):
            self.module_variable(token[1:])
        elif token == ".alias":
            name, _, other, _ = (self.next() for _ in range(4))
            if other in self.functions:
                self.functions[name] = replace(self.functions[other], name=name)
        elif token == ".pragma":
            self.skip_until(";")
        else:
            self.at -= 1
            raise self.error(f"unexpected {token!r} at module level")

    def module_variable(self, space: str) -> None:
        variable = self.variable(space)
        self.variables[variable.name] = variable

    def recover(self, start: int, error: ParseError) -> None:
        """Pass over a statement, and keep the error for whoever uses a name of it."""
        self.at = start
        while self.peek() not in (";", "{", "=", ""):
            token = self.next()
            if token[0] not in ".%" and not token[0].isdigit():
                self.unread.setdefault(token, error)
        while self.peek() not in (";", "{", ""):
            self.next()
        if self.peek() == "{":
            self.skip_braces()
        self.accept(";")

    def function(self, kind: type, results: tuple[syntax.Param, ...]) -> Any:
        """An entry or a function; a function may be declared alone, without a body."""
        name = self.next()
        params = self.params() if self.peek() == "(" else ()
        attributes = {}
        while self.peek() not in ("{", ";"):
            directive = self.next()
            if not directive.startswith("."):
                raise self.error(f"unexpected {directive!r} before the body of {name}")
            values = []
            while self.peek()[:1].isdigit():
                values.append(self.integer())
                self.accept(",")
            attributes[directive[1:]] = tuple(values)
        body, start, error = _Body(), self.at, None
        self.position = self.near = None
        self.scopes, self.locals = [], []
        if not self.accept(";"):
            try:
                self.nested(self.scope, body)
            except ParseError as reason:
                body, error = _Body(), reason
                self.at = start
                self.skip_braces()
        held = body.registers, tuple(body.variables), tuple(body.instructions), body.labels
        return kind(name, params, *held, body.branch_targets, attributes, results, error)

    # -- bodies ---------------------------------------------------------------------------

    def scope(self, body: _Body) -> None:
        """`{ … }`; registers declared in a nested scope hide the outer ones of that name."""
        self.expect("{")
        self.scope_count += 1
        self.scopes.append({})
        self.locals.append({})
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
                self.declare_registers(body.registers)
            elif token in (".shared", ".local", ".param"):  # .param: of a call
                body.variables.append(self.local_variable(self.next()[1:]))
            elif token in (".global", ".const"):  # lives as long as the module's
                self.module_variable(self.next()[1:])
            elif token == ".pragma":
                self.skip_until(";")
            elif self.peek(1) == ":":
                self.label(body)
            else:
                body.instructions.append(self.instruction(len(body.instructions)))
        self.scopes.pop()
        self.locals.pop()
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
        elif self.accept(".callprototype") or self.accept(".calltargets"):  # of indirect calls
            self.skip_until(";")
        else:
            body.labels[name] = len(body.instructions)

    def loc(self) -> None:
        """`.loc file line column, function_name …, inlined_at file line column`. Where it was
        inlined is what an earlier .loc says: of two calls in one place of a header, the later."""
        self.expect(".loc")
        here = self.integer(), self.integer(), self.integer()
        chain: Chain = (here[:2],)
        while self.accept(","):
            if self.next() == "function_name":
                self.next()
                if self.accept("+"):
                    self.integer()
            else:
                call = self.integer(), self.integer(), self.integer()
                chain = (*self.calls.get(call, (call[:2],)), *chain)
        self.calls[here] = chain
        chain = tuple(place for place in chain if place[1])
        if not chain:  # code that comes from no line in particular: the last line holds
            self.position = self.near
            return
        if chain not in self.positions:
            self.positions[chain] = self.innermost(chain)
        self.position = self.positions[chain]
        self.near = replace(self.position, near=True)

    def innermost(self, chain: Chain) -> Position:
        """The last place of a chain of inlined calls that is in a file of the reader's."""
        paths = [self.files.get(file, f"file {file}") for file, _ in chain]
        own = [n for n, path in enumerate(paths) if not LIBRARY.search(path)]
        last = own[-1] if own else max(n for n, path in enumerate(paths) if path == paths[0])
        names = [re.split(r"[/\\]", path)[-1] for path in paths]
        headers = [f"{name}:{line}" for name, (_, line) in zip(names, chain)][last + 1 :]
        at = Position(names[last], chain[last][1], tuple(headers))
        if not own:
            self.foreign.add(at)
        return at

    def instruction(self, index: int) -> Instruction:
        line = self.line
        guard, negated = None, False
        if self.accept("@"):
            negated = self.accept("!")
            guard = self.register(self.next())
        opcode, *modifiers = self.next().split(".")
        self.calling = opcode == "call"
        operands = []
        while not self.accept(";"):
            operand = self.operand()
            if self.accept("|"):  # two destinations, as in setp p|q
                operand = Vector((operand, self.operand()))
            operands.append(operand)
            if not self.accept(",") and self.peek() != ";":
                raise self.error(f"unexpected {self.peek()!r} after an operand")
        parts = opcode, tuple(modifiers), tuple(operands)
        # where nothing tells of a source, the PTX is the source
        position = self.position or (None if self.files else Position("PTX", line))
        made = Instruction(*parts, guard, negated, line, position, index)
        if len(operands) < 2 or not modifiers or opcode == "brx":
            self.check_whole(made)
        return made

    def check_whole(self, i: Instruction) -> None:
        """Raise ParseError for an instruction that lacks its type, operands or target."""
        row, count = isa.lookup(i), len(i.operands)
        few = count < (2 if row.kind in OF_VALUES else self.calling) and i.opcode != "activemask"
        nowhere = row.ends == "jump" and not isinstance((None, *i.operands)[-1], Symbol)
        if few or nowhere or (row.kind == "arithmetic" and not i.modifiers):
            raise self.error(f"{i.text} lacks a type or operands")

    def register(self, name: str) -> Register:
        for scope in reversed(self.scopes):
            if name in scope:
                return Register(scope[name])
        return Register(name)

    def operand(self) -> Any:
        token = self.peek()
        if token == "{" or (token == "(" and self.calling):  # (…): arguments, or results
            self.next()
            elements = []
            while not self.accept({"{": "}", "(": ")"}[token]):
                elements.append(self.operand())
                self.accept(",")
            return Vector(tuple(elements))
        if token == "[":
            self.next()
            base = self.operand()
            address = syntax.Address(base, self.offset())
            if self.peek() != ",":
                self.expect("]")
                return address
            more = []  # [tensor, {coordinates}], as textures and bulk copies have it
            while self.accept(","):
                more.append(self.operand())
            self.expect("]")
            return Vector((address, *more))
        if token == "!":  # a negated predicate operand
            self.next()
            return Register("!" + self.register(self.next()).name)
        if token[:1] in "-(.0123456789":
            return self.literal() if self.peek(1) in (",", ";", "]") else self.expression()
        self.next()
        if token.startswith("%") or any(token in scope for scope in self.scopes):
            found = self.register(token)
            parts = self.vectors and self.vectors.get(found.name)
            return Vector(tuple(map(Register, parts))) if parts else found
        if not (token[0].isalpha() or token[0] in "_$"):
            raise self.error(f"expected an operand, found {token!r}")
        return Symbol(self.local(token), self.offset())

    def local(self, name: str) -> str:
        return next((scope[name] for scope in reversed(self.locals) if name in scope), name)


def mentioned(
    entry: Function, functions: dict[str, Function], variables: dict[str, Variable]
) -> set[str]:
    """The names that a kernel and what it can call mention, directly or in what initialises a
    variable."""
    waiting, seen = [entry], {entry.name}
    while waiting:
        operands = (x for i in waiting.pop().instructions for x in i.operands)
        leaves = (leaf for operand in operands for leaf in syntax.leaves(operand))
        names = {leaf.name for leaf in leaves if isinstance(leaf, Symbol)}
        while names:
            name = names.pop()
            if name not in seen:
                seen.add(name)
                if name in variables:
                    names |= {r.symbol for r in variables[name].relocations}
                if name in functions:
                    waiting.append(functions[name])
    return seen
