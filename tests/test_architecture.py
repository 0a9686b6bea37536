"""Dependencies point one way: which folder may import which, and no circle among the modules.

Imports inside functions count like those at the top of a module; those for the type checker alone,
under `if TYPE_CHECKING`, do not. The package's own names, loaded when first used, are strings in
`kernels/__init__.py` and no imports.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

import kernels

ROOT = Path(kernels.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}
# What the modules of a folder may import beside one another: folders, or single modules.
ALLOWED = {
    "ptx": (),
    "machine": ("ptx.warp",),
    "analysis": ("ptx", "machine"),
    "instruments": ("ptx", "analysis"),
    "run": ("ptx", "machine", "instruments"),
    "measure": ("run", "instruments", "analysis", "machine", "ladder.reference"),
    "ladder": ("run", "instruments", "measure", "analysis", "ptx"),
    "parallel": ("run", "measure", "analysis", "ladder"),
    "command": ("ptx", "run", "measure", "ladder", "parallel"),
    "draw": ("instruments", "analysis", "measure.records", "ladder", "parallel"),
}


def imported(name: str, path: Path) -> set[str]:
    """The modules of the package that a module imports, by their names in MODULES."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(_without_types(ast.parse(path.read_text(encoding="utf-8")))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
            elif node.module and node.module.split(".")[0] == "kernels":
                base = []
            else:
                continue
            parts = (node.module or "").split(".")
            start = [*base, *(parts[1:] if not node.level else filter(None, parts))]
            found |= {_module(".".join([*start, alias.name])) for alias in node.names}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "kernels":
                    found.add(_module(alias.name.removeprefix("kernels").lstrip(".")))
    return found - {name, "__init__"}


def _without_types(tree: ast.Module) -> ast.Module:
    class Remove(ast.NodeTransformer):
        def visit_If(self, node):
            self.generic_visit(node)
            return None if "TYPE_CHECKING" in ast.unparse(node.test) else node

    return Remove().visit(tree)


def _module(dotted: str) -> str:
    """The module that holds a name: itself, or the module that it is an attribute of."""
    while dotted and dotted not in MODULES:
        dotted = dotted.rpartition(".")[0]
    return dotted or "__init__"


@functools.cache
def graph() -> dict[str, set[str]]:
    return {name: imported(name, path) for name, path in MODULES.items()}


def circle(imports: dict[str, set[str]]) -> list[str] | None:
    """The modules of a circle in the order of its imports, None if there is none."""
    done: set[str] = set()

    def search(name: str, above: list[str]) -> list[str] | None:
        if name in above:
            return [*above[above.index(name) :], name]
        if name in done:
            return None
        for other in sorted(imports.get(name, ())):
            if found := search(other, [*above, name]):
                return found
        done.add(name)
        return None

    return next((found for name in sorted(imports) if (found := search(name, []))), None)


def test_no_circle():
    found = circle(graph())
    assert found is None, " imports ".join(found or ())


@pytest.mark.parametrize("name", sorted(name for name in MODULES if "." in name))
def test_a_folder_imports_what_it_may(name):
    folder = name.partition(".")[0]
    strangers = {
        other
        for other in graph()[name]
        if other.partition(".")[0] != folder
        and not any(other == one or other.startswith(f"{one}.") for one in ALLOWED[folder])
    }
    assert not strangers


def test_every_folder_has_its_rule():
    assert set(ALLOWED) == {name.partition(".")[0] for name in MODULES if "." in name}


def test_nothing_but_the_command_line_and_the_set_up_of_notebooks_stands_above_the_folders():
    names = {name for name in MODULES if "." not in name} - set(ALLOWED)
    assert names <= {"", "__init__", "__main__", "prepare"}
    assert not graph()["prepare"]
    assert all(
        name in ("__main__", other) or name.startswith("command.")
        for name, found in graph().items()
        for other in found
        if other == "__main__" or other.startswith("command")
    )


def test_the_graph_is_read_from_the_sources(tmp_path):
    assert {"ladder.source", "run.kernel", "measure.bench"} <= graph()["ladder.step"]
    assert graph()["ladder.expressions"] == set() and "ptx" in graph()["run.kernel"]
    path = tmp_path / "x.py"
    path.write_text(
        "from __future__ import annotations\nimport kernels.run.gpu\nfrom typing import "
        "TYPE_CHECKING\nif TYPE_CHECKING:\n    from .step import Step\n"
        "def f():\n    from ..measure import bench as b, records\n    from . import check\n"
    )
    assert imported("ladder.x", path) == {
        *("run.gpu", "measure.bench", "measure.records", "ladder.check"),
    }


def test_circles_are_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) is None
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_the_files_of_tests_that_come_first_are_there():
    """Those that tests/conftest.py names as the longest."""
    root = ROOT.parent
    text = (root / "tests" / "conftest.py").read_text(encoding="utf-8")
    names = re.findall(r"\b(?:tests|book)/\S+\.(?:py|ipynb)\b", text.partition("LONGEST")[2])
    assert len(names) >= 20 and not [name for name in names if not (root / name).exists()]
