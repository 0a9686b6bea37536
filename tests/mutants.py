"""The small faults that tests/mutate.py makes: where in a file, and what is put there.

Another comparison, a constant one off, another operator, a condition that always holds, a dropped
statement, swapped arguments and so on, in the bodies of functions; never in a docstring, an
annotation, an error message or a `__repr__`.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

COMPARISONS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
OPERATORS = {
    "+": "-", "-": "+", "*": "//", "//": "*", "/": "*", "%": "//", "<<": ">>", ">>": "<<",
    "&": "|", "|": "&", "^": "&", "@": "+", "**": "*",
}  # fmt: skip


class Mutant(NamedTuple):
    """One change of a file: `old` at this place, in bytes, becomes `new`."""

    path: str  # from the root of the tree
    line: int
    kind: str
    start: int
    old: str
    new: str

    def apply(self, source: bytes) -> bytes:
        end = self.start + len(self.old.encode())
        return source[: self.start] + self.new.encode() + source[end:]

    def difference(self, source: bytes) -> list[str]:
        """The lines taken away and put in, as - and +."""
        end = self.start + len(self.old.encode())
        first = source.rfind(b"\n", 0, self.start) + 1
        after = source[end:].partition(b"\n")[0]
        before = source[first : self.start].decode()
        old, new = (before + text + after.decode() for text in (self.old, self.new))
        return [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n")]


def sites(path: str, source: bytes) -> list[Mutant]:
    """Every change that might be made to a file, in order; not all of them can be compiled."""
    return sorted(
        {Mutant(path, *site) for site in _Sites(source, ast.parse(source)).found},
        key=lambda mutant: (mutant.start, mutant.kind, mutant.new),
    )


def another(mutant: Mutant, source: bytes) -> bool:
    """Whether the change gives a program, and not the same one."""
    try:
        return ast.dump(ast.parse(mutant.apply(source))) != ast.dump(ast.parse(source))
    except (SyntaxError, ValueError):
        return False


class _Sites(ast.NodeVisitor):
    """Collects (line, kind, start, old, new) of the changes in the bodies of functions."""

    def __init__(self, source: bytes, tree: ast.Module):
        self.source = source
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.inside = 0
        self.found: list[tuple[int, str, int, str, str]] = []
        self.visit(tree)

    def start(self, node) -> int:
        return self.lines[node.lineno - 1] + node.col_offset

    def end(self, node) -> int:
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def note(self, node, kind: str, start: int, end: int, new: str) -> None:
        if self.inside:
            self.found.append((node.lineno, kind, start, self.source[start:end].decode(), new))

    def replace(self, node, kind: str, new: str) -> None:
        self.note(node, kind, self.start(node), self.end(node), new)

    def between(self, kind: str, left, right, table: dict[str, str]) -> None:
        """Exchange the operator that stands between two operands."""
        start, end = self.end(left), self.start(right)
        text = self.source[start:end].decode()
        words = "|".join(rf"\b{w}\b" if w[0].isalpha() else re.escape(w)
                         for w in sorted(table, key=len, reverse=True))  # fmt: skip
        match = re.search(words.replace(" ", r"\s+"), text)
        if match:
            new = table[re.sub(r"\s+", " ", match[0])]
            self.note(right, kind, start + match.start(), start + match.end(), new)

    # what is left out

    def visit_FunctionDef(self, node) -> None:
        if node.name == "__repr__":
            return
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        self.body(body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node) -> None:
        self.body([node.body])

    def body(self, nodes) -> None:
        self.inside += 1
        for node in nodes:
            self.visit(node)
        self.inside -= 1

    def visit_Raise(self, node) -> None:
        pass

    def visit_JoinedStr(self, node) -> None:
        pass  # words, mostly; and Python before 3.12 does not say where their parts stand

    def visit_AnnAssign(self, node) -> None:
        if node.value is not None:
            self.visit(node.value)

    # what is changed

    def visit_Compare(self, node) -> None:
        for left, right in zip([node.left, *node.comparators], node.comparators):
            self.between("comparison", left, right, COMPARISONS)
        self.generic_visit(node)

    def visit_Constant(self, node) -> None:
        if type(node.value) is int:
            self.replace(node, "constant", str(node.value + 1))
            self.replace(node, "constant", f"({node.value - 1})")

    def visit_BinOp(self, node) -> None:
        self.between("operator", node.left, node.right, OPERATORS)
        self.generic_visit(node)

    def visit_BoolOp(self, node) -> None:
        for left, right in zip(node.values, node.values[1:]):
            self.between("and, or", left, right, {"and": "or", "or": "and"})
        self.generic_visit(node)

    def visit_UnaryOp(self, node) -> None:
        if isinstance(node.op, ast.Not):
            self.note(node, "not", self.start(node), self.start(node) + len("not"), "")
        self.generic_visit(node)

    def visit_AugAssign(self, node) -> None:
        self.replace(node, "dropped", "pass")
        self.between("operator", node.target, node.value, OPERATORS)
        self.generic_visit(node)

    def visit_Expr(self, node) -> None:
        self.replace(node, "dropped", "pass")
        self.generic_visit(node)

    def visit_Return(self, node) -> None:
        if node.value is not None:
            self.replace(node, "return", "return None")
            self.generic_visit(node)

    def visit_Call(self, node) -> None:
        if len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args[:2]):
            (a, b), (c, d) = [(self.start(n), self.end(n)) for n in node.args[:2]]
            parts = self.source[c:d] + self.source[b:c] + self.source[a:b]
            self.note(node, "arguments", a, d, parts.decode())
        self.generic_visit(node)

    def visit_List(self, node) -> None:
        for before, item, after in zip(
            [None, *node.elts], node.elts, [*node.elts[1:], None], strict=False
        ):
            start = self.end(before) if before is not None and after is None else self.start(item)
            end = self.start(after) if after is not None else self.end(item)
            self.note(item, "element", start, end, "")
        self.generic_visit(node)

    def visit_If(self, node) -> None:
        for value in ("True", "False"):
            self.replace(node.test, "condition", value)
        self.generic_visit(node)

    visit_IfExp = visit_If

    def visit_While(self, node) -> None:
        self.replace(node.test, "condition", "False")
        self.generic_visit(node)

    def visit_comprehension(self, node) -> None:
        for test in node.ifs:
            self.replace(test, "condition", "True")
        self.generic_visit(node)
