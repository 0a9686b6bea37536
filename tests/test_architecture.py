"""Dependencies point one way: which room may import which, and no circle among modules or rooms.

A room is a folder. Imports inside functions count like those at the top of a module, those for the
type checker alone, under `if TYPE_CHECKING`, too unless a circle of modules is looked for: a type
is no reason to climb. Names that are loaded when first used are strings, and no imports.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from building import ROOT

HOUSES = ("anywarp", "kernels")
# The rooms from the ground up: each imports of those before it alone.
FLOORS = {
    "anywarp": (
        "ptx.aliases", "ptx.errors", "ptx.text", "ptx.arithmetic", "ptx.memory", "ptx.warps",
        "ptx.asynchronous", "ptx.calls", "ptx.machine", "ptx", "analysis", "sass", "trace",
        "sanitizer", "compile", "gpu", "draw", "",
    ),
    "kernels": (
        "records", "machine", "analysis", "ladder.product", "ladder", "measure",
        "parallel", "draw.records", "draw.steps", "draw", "command", "",
    ),
}  # fmt: skip
MOST_MODULES = 16


def _name(path: Path) -> str:
    dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return dotted.removesuffix(".__init__")


MODULES = {_name(path): path for house in HOUSES for path in (ROOT / house).rglob("*.py")}


def imported(name: str, path: Path, types: bool = False) -> set[str]:
    """The modules of both houses that a module imports, by their names in MODULES; with `types`,
    those for the type checker alone too."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    result = set()
    for node in ast.walk(tree if types else _without_types(tree)):
        if isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            start = [*start, *filter(None, (node.module or "").split("."))]
            result |= {_module([*start, alias.name]) for alias in node.names}
        elif isinstance(node, ast.Import):
            result |= {_module(alias.name.split(".")) for alias in node.names}
    return result - {name, None}


def _without_types(tree: ast.Module) -> ast.Module:
    class Remove(ast.NodeTransformer):
        def visit_If(self, node):
            self.generic_visit(node)
            return None if "TYPE_CHECKING" in ast.unparse(node.test) else node

    return Remove().visit(tree)


def _module(parts: list[str]) -> str | None:
    """The module that holds a name: itself, or the module that it is an attribute of."""
    while parts and ".".join(parts) not in MODULES:
        parts = parts[:-1]
    return ".".join(parts) or None


@functools.cache
def graph(types: bool = False) -> dict[str, set[str]]:
    return {name: imported(name, path, types) for name, path in MODULES.items()}


def room_of(name: str) -> tuple[str, str]:
    """House and room of a module; a package that stands for its room is in it."""
    house, _, rest = name.partition(".")
    room = rest if MODULES[name].name == "__init__.py" else rest.rpartition(".")[0]
    return house, rest if rest in FLOORS[house] else room


def circle(imports: dict[str, set[str]]) -> list[str] | None:
    """The modules of a circle in the order of its imports, None if there is none."""
    done: set[str] = set()

    def search(name: str, above: list[str]) -> list[str] | None:
        if name in above:
            return [*above[above.index(name) :], name]
        if name in done:
            return None
        for other in sorted(imports.get(name, ())):
            if result := search(other, [*above, name]):
                return result
        done.add(name)
        return None

    return next((result for name in sorted(imports) if (result := search(name, []))), None)


def climbs() -> Iterator[str]:
    """Imports of a room that is not below."""
    for name, others in graph(types=True).items():
        house, room = room_of(name)
        if name in HOUSES:  # what stands for a whole house names all of it
            continue
        for other in others:
            there, above = room_of(other)
            if there != house:
                if house == "anywarp":
                    yield f"{name} knows of the book: {other}"
            elif FLOORS[house].index(above) > FLOORS[house].index(room):
                yield f"{name} imports {other}"


def test_no_circle_of_modules():
    result = circle(graph())
    assert result is None, " imports ".join(result or ())


def test_every_room_is_on_a_floor():
    for name in MODULES:
        house, room = room_of(name)
        assert room in FLOORS[house], name


def test_no_import_climbs():
    assert not sorted(climbs())


def test_no_room_has_too_many_modules():
    rooms = [path.parent for path in MODULES.values() if path.name != "__init__.py"]
    assert max(map(rooms.count, rooms)) <= MOST_MODULES


def hidden(node: ast.ImportFrom) -> Iterator[str]:
    """The names of this import of anywarp that it does not list: each package on the way to a
    module has to name the next in its __all__, and so has the last, if it is a package."""
    package, *modules = node.module.split(".")
    for module in modules:
        if module not in importlib.import_module(package).__all__:
            yield f"{package}.{module}"
        package += f".{module}"
    listed = getattr(importlib.import_module(package), "__all__", None)
    for alias in node.names:
        name = alias.name
        if name == "__version__":
            continue
        if name.startswith("_") or (name != "*" and listed is not None and name not in listed):
            yield f"{package}.{name}"


def test_kernels_imports_what_anywarp_lists():
    paths = [path for name, path in MODULES.items() if name.partition(".")[0] == "kernels"]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    plain = [ast.unparse(node) for node in nodes if isinstance(node, ast.Import)]
    assert not [line for line in plain if "anywarp." in line]
    nodes = [node for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    nodes = [node for node in nodes if node.module.partition(".")[0] == "anywarp"]
    assert len(nodes) > 50 and not sorted({name for node in nodes for name in hidden(node)})


@pytest.mark.parametrize("line, expected", [
    ("from anywarp.trace.metrics import KINDS", []),
    ("from anywarp import gpu, kernel", ["anywarp.kernel"]),
    ("from anywarp.sass.decode import _x", ["anywarp.sass.decode._x"]),
    ("from anywarp.sanitizer.shadow import Shadow", ["anywarp.sanitizer.shadow"]),
])  # fmt: skip
def test_what_is_not_listed_is_seen(line, expected):
    assert list(hidden(ast.parse(line).body[0])) == expected


ROOMS = ("analysis", "compile", "draw", "gpu", "ptx", "sanitizer", "sass", "trace")


@pytest.mark.parametrize("name", ["anywarp", *(f"anywarp.{room}" for room in ROOMS)])
def test_a_room_shows_the_names_that_it_lists(name):
    room = importlib.import_module(name)
    assert set(dir(room)) - {"__version__"} == set(room.__all__)
    for each in room.__all__:
        assert hasattr(room, each) or importlib.import_module(f"{name}.{each}")


def test_tab_completion_of_records_shows_no_imports():
    shown = set(dir(importlib.import_module("kernels.records")))
    assert {"Record", "results", "RECORDED_ON"} <= shown
    assert not shown & {"Any", "Path", "json", "os", "annotations", "dataclass", "table"}


def test_the_graph_is_read_from_the_sources(tmp_path):
    assert {"kernels.ladder.source", "anywarp.trace"} <= graph()["kernels.ladder.step"]
    assert graph()["kernels.ladder.expressions"] == set()
    path = tmp_path / "x.py"
    path.write_text(
        "from __future__ import annotations\nimport anywarp.gpu\nfrom typing import "
        "TYPE_CHECKING\nif TYPE_CHECKING:\n    from .step import Step\n"
        "def f():\n    from ..measure import bench as b, tune\n    from . import model\n"
    )
    names = {"anywarp.gpu", "kernels.measure.bench", "kernels.measure.tune", "kernels.ladder.model"}
    assert imported("kernels.ladder.x", path) == names
    assert imported("kernels.ladder.x", path, types=True) == {*names, "kernels.ladder.step"}


def test_circles_are_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) is None
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


@pytest.mark.parametrize("name", ["tests/conftest.py"])
def test_the_files_of_tests_that_come_first_are_there(name):
    """Those that it names as the longest."""
    text = (ROOT / name).read_text(encoding="utf-8")
    names = re.findall(r"\b(?:tests|book)/\S+\.(?:py|ipynb)\b", text.partition("LONGEST")[2])
    assert len(names) >= 20 and not [name for name in names if not (ROOT / name).exists()]
