"""Compilations that come with the book, for machines without a compiler.

`kernels/compiled` has a file for each source, with its options, that the notebooks compile; its
name is a hash of all that the result depends on. It is a tar.xz of what was compiled, `recipe.json`
and `source.cu`, and of what NVRTC made of it: `ptx`, and where a notebook asks for registers or
machine code, `cubin` and the `log` of ptxas; or, of a source that NVRTC refuses, its `log` alone.
`tools/compiled.py` writes the files, and a test compiles them again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import headers
from .nvrtc import Compiled, Refused

FOLDER = Path(__file__).parents[1] / "compiled"
NOTES = "SGEMM_BOOK_NOTES"  # a folder where processes note what they compile


class Recipe(NamedTuple):
    """What is compiled: all that the result depends on, but for headers and compiler."""

    source: str
    filename: str
    options: tuple[str, ...]
    names: tuple[str, ...]
    arch: str  # "compute_90" for PTX alone, "sm_90" for a cubin too: the PTX is the same

    @property
    def real(self) -> bool:
        """Whether it is for a GPU, and not for PTX alone."""
        return self.arch.startswith("sm_")

    def __str__(self) -> str:
        return " ".join([f"{self.filename} for {self.arch}", *self.options])


class Compilation(NamedTuple):
    """What came of a recipe."""

    recipe: Recipe
    made: Compiled | Refused
    nvrtc: tuple[int, int]  # the version of the one that made it
    step: str | None = None  # what `digest_of_step` said when it was stored


def digest_of_step(recipe: Recipe) -> str | None:
    """A hash of the present file of the step that a recipe, edited or not, is of; None without."""
    for path in headers.STEPS.glob("*.cu"):
        if recipe.filename.startswith(path.stem):
            return _digest(_read(path))
    return None


def path_of(recipe: Recipe) -> Path:
    """Where a recipe's compilation is stored, be it PTX alone or with a cubin."""
    *parts, arch = recipe
    texts = [json.dumps([*parts, arch.partition("_")[2]])]
    texts += sorted(f"{path.name}\0{_read(path)}" for path in _included(recipe.source))
    return FOLDER / f"{_digest(chr(0).join(texts))}.tar.xz"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _included(source: str) -> set[Path]:
    """Our headers that a source includes, and those that they include. NVIDIA's, which are not
    here, belong to the compiler."""
    found, left = {headers.PRELUDE}, [_read(headers.PRELUDE), source]
    while left:
        for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', left.pop(), re.MULTILINE):
            for path in (headers.STEPS / name, headers.OURS / name):
                if path.is_file() and path not in found:
                    found.add(path)
                    left.append(_read(path))
    return found


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def find(recipe: Recipe) -> Compilation | None:
    """What is stored of a recipe; None without it."""
    path = path_of(recipe)
    found = read(path) if path.exists() else None
    if found is None or found.recipe.arch == recipe.arch:
        return found
    if recipe.real or isinstance(found.made, Refused):  # no cubin is stored; ptxas may refuse alone
        return None
    return found._replace(recipe=recipe, made=found.made._replace(cubin=None, log=""))


def read(path: Path) -> Compilation:
    """A stored file."""
    parts = {}
    with tarfile.open(path, "r:xz") as archive:
        for member in archive:
            content = archive.extractfile(member)
            assert content is not None, "there are nothing but files in it"
            parts[member.name] = content.read()
    facts = json.loads(parts["recipe.json"])
    recipe = _recipe([parts["source.cu"].decode(), *(facts[x] for x in Recipe._fields[1:])])
    made: Compiled | Refused = Refused(parts["log"].decode())
    if "ptx" in parts:
        made = Compiled(parts["ptx"].decode(), parts.get("cubin"), made.log, facts["lowered"])
    return Compilation(recipe, made, tuple(facts["nvrtc"]), facts["step"])


def write(path: Path, one: Compilation) -> None:
    """Store a compilation: the same bytes for the same contents."""
    source, *rest = one.recipe
    facts: dict[str, Any] = dict(zip(Recipe._fields[1:], rest), nvrtc=one.nvrtc)
    facts["step"] = digest_of_step(one.recipe)
    parts = {"source.cu": source.encode(), "log": one.made.log.encode()}
    if isinstance(one.made, Compiled):
        facts["lowered"] = one.made.lowered
        parts["ptx"] = one.made.ptx.encode()
        if one.made.cubin is not None:
            parts["cubin"] = one.made.cubin
    parts["recipe.json"] = json.dumps(facts, indent=1).encode()
    with tarfile.open(path, "w:xz", preset=9) as archive:
        for name, content in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def note(recipe: Recipe) -> None:
    """Say that this is compiled, in the folder that NOTES names, if it does."""
    if folder := os.environ.get(NOTES):
        name = f"{path_of(recipe).name} {recipe.arch}"
        (Path(folder) / name).write_text(json.dumps(recipe), encoding="utf-8")


def noted(folder: Path) -> Iterator[Recipe]:
    """What processes have noted in a folder."""
    for path in sorted(folder.iterdir()):
        yield _recipe(json.loads(path.read_text(encoding="utf-8")))


def _recipe(parts: list) -> Recipe:
    source, filename, options, names, arch = parts
    return Recipe(source, filename, tuple(options), tuple(names), arch)
