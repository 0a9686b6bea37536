"""Compiled kernels on disk: what a package was given with it, and what this user has compiled.

A file holds what was compiled, `recipe.json` and `source.cu`, and what NVRTC made of it: `ptx`, for
a GPU also its `cubin` and the `log` of ptxas; or, of a source that NVRTC refuses, its `log` alone.
Its name is a hash of all that the result depends on.

*Given* are the folders that `compiled_in` names: they serve machines without a compiler. What
stands in a folder's `SHA256SUMS` has to have that sum; a file that is damaged or was changed is
left out with a warning, as if it were not there.

The *cache* is one folder of the user, so that a second process compiles nothing. ANYWARP_CACHE
names another, or says `none`. Files are written whole or not at all, several processes may use it,
and beyond `CACHE_BYTES` those that were not read for longest are removed, by the next process that
keeps one.
"""

from __future__ import annotations

import bz2
import contextlib
import functools
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from . import headers
from .nvrtc import Compiled, Refused

NOTES = "ANYWARP_NOTES"  # a folder where processes note what they compile
CACHE = "ANYWARP_CACHE"
CACHE_BYTES = 256 << 20
SUMS = "SHA256SUMS"
OWN = re.compile(r"[0-9a-f]{24}\.tar\.bz2(\..*\.part)?")  # of the cache, whole or half written
DAMAGE = (OSError, EOFError, KeyError, ValueError, TypeError, tarfile.TarError)

_given: list[Path] = []
left_out: dict[str, str] = {}  # given files that are damaged, by name, and why in words


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


def compiled_in(folder: str | os.PathLike[str]) -> None:
    """Take compiled kernels from this folder too, before anything is compiled.

    A folder that is named twice is looked through once. Raises NotADirectoryError.
    """
    path = Path(folder).resolve()
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is no folder of compiled kernels")
    if path not in _given:
        _given.append(path)


def name_of(recipe: Recipe, *compiler: Any) -> str:
    """The file of a recipe, be it PTX alone or with a cubin; `compiler` is what of the compiler the
    result depends on besides."""
    *parts, arch = recipe
    texts = [json.dumps([*parts, arch.partition("_")[2], *compiler])]
    texts += sorted(f"{path.name}\0{text}" for path, text in _included(recipe).items())
    digest = hashlib.sha256(chr(0).join(texts).encode()).hexdigest()
    return f"{digest[:24]}.tar.bz2"


def _included(recipe: Recipe) -> dict[Path, str]:
    """The headers that a source includes, and those that they include, where they are ours or the
    user's: as NVRTC does, a name in quotes is looked for beside the file that has it, then all in
    the folders of the options and in ours. NVIDIA's belong to the compiler."""
    options = " ".join(recipe.options)
    folders = [Path(name) for name in re.findall(r"(?:-I|--include-path)[\s=]*(\S+)", options)]
    folders += [*headers.added, headers.OURS]
    before = re.findall(r"--?(?:pre-)?include[\s=]+(\S+)", options)  # as if the source began so
    source = "\n".join([*(f'#include "{name}"' for name in before), recipe.source])
    result = {headers.PRELUDE: _read(headers.PRELUDE)}
    left = [(headers.OURS, result[headers.PRELUDE]), (Path(recipe.filename).parent, source)]
    while left:
        beside, text = left.pop()
        for quote, name in re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)', text, re.MULTILINE):
            places = (folder / name for folder in ([beside] if quote == '"' else []) + folders)
            path = next(filter(Path.is_file, places), None)
            if path is not None and path not in result:
                result[path] = _read(path)
                left.append((path.parent, result[path]))
    return result


def _read(path: Path) -> str:
    """The text of a file, whatever bytes it has."""
    return path.read_text(encoding="utf-8", errors="replace")


def given(recipe: Recipe) -> Compilation | None:
    """What a package was given with it; None without it, and, with a warning, if it is damaged."""
    name = name_of(recipe)
    for folder in _given:
        try:
            if compilation := _suiting(folder / name, recipe):
                return compilation
        except DAMAGE as error:
            reason = str(error) or type(error).__name__
            left_out[name] = f"{folder / name} is damaged or was changed: {reason}"
            warnings.warn(f"left out: {left_out[name]}", RuntimeWarning, stacklevel=2)
    return None


def _suiting(path: Path, recipe: Recipe) -> Compilation | None:
    """What a file says of a recipe, None if that is nothing. Raises one of DAMAGE."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    wanted = _sums(path.parent).get(path.name)
    if wanted is not None and hashlib.sha256(content).hexdigest() != wanted:
        raise ValueError(f"{SUMS} has another sum for it")
    compilation = read(content)
    if compilation.recipe.arch == recipe.arch:
        return compilation
    made = compilation.made
    if recipe.real or isinstance(made, Refused):  # no cubin is stored; ptxas may refuse alone
        return None
    return compilation._replace(recipe=recipe, made=made._replace(cubin=None, log=""))


@functools.cache
def _sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of the files of a folder, as `sha256sum` writes them; empty without."""
    try:
        lines = map(str.split, _read(folder / SUMS).splitlines())
    except OSError:
        return {}
    return {words[1].lstrip("*"): words[0] for words in lines if len(words) == 2}


def read(content: bytes) -> Compilation:
    """A stored file. Raises one of DAMAGE for what is none."""
    parts = {}
    whole = bz2.decompress(content)  # to its end, where the sum is
    with tarfile.open(fileobj=io.BytesIO(whole), mode="r:") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is None:
                raise ValueError(f"{member.name} is no file")
            parts[member.name] = file.read()
    facts = json.loads(parts["recipe.json"])
    recipe = _recipe([parts["source.cu"].decode(), *(facts[x] for x in Recipe._fields[1:])])
    made: Compiled | Refused = Refused(parts["log"].decode())
    if "ptx" in parts:
        made = Compiled(parts["ptx"].decode(), parts.get("cubin"), made.log, facts["lowered"])
    return Compilation(recipe, made, tuple(facts["nvrtc"]))


def write(path: Path, compilation: Compilation, level: Literal[1, 9] = 9) -> None:
    """Store a compilation: the same bytes for the same contents. `level` is that of bzip2."""
    source, *rest = compilation.recipe
    facts: dict[str, Any] = dict(zip(Recipe._fields[1:], rest), nvrtc=compilation.nvrtc)
    made = compilation.made
    parts = {"source.cu": source.encode(), "log": made.log.encode()}
    if isinstance(made, Compiled):
        facts["lowered"] = made.lowered
        parts["ptx"] = made.ptx.encode()
        if made.cubin is not None:
            parts["cubin"] = made.cubin
    parts["recipe.json"] = json.dumps(facts, indent=1).encode()
    whole = io.BytesIO()  # in memory, so that little can fail once there is a file
    with tarfile.open(None, "w:bz2", whole, compresslevel=level) as archive:
        for name, content in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    path.parent.mkdir(parents=True, exist_ok=True)
    number, part = tempfile.mkstemp(".part", f"{path.name}.", path.parent)
    try:
        with open(number, "wb") as file:
            file.write(whole.getvalue())
        os.chmod(part, 0o644)
        os.replace(part, path)  # whole or not at all, whoever else writes it
    except OSError:  # the disk is full, say
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def cache_folder() -> Path | None:
    """Where this user's compilations are kept; None if ANYWARP_CACHE says `none`, or nobody says
    where the user's home is."""
    if choice := os.environ.get(CACHE):
        return None if choice == "none" else Path(choice)
    named = {"win32": "LOCALAPPDATA", "darwin": ""}.get(sys.platform, "XDG_CACHE_HOME")
    default = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    try:
        return Path(os.environ.get(named) or default).expanduser() / "anywarp"
    except RuntimeError:
        return None


def cached(recipe: Recipe, compiler: Any) -> Compilation | None:
    """What this user has compiled with this compiler; None without it. What is damaged is as if it
    were not there."""
    folder = cache_folder()
    if folder is None:
        return None
    path = folder / name_of(recipe, compiler)
    with contextlib.suppress(*DAMAGE):
        if compilation := _suiting(path, recipe):
            os.utime(path)  # it was read
            return compilation
    return None


def keep(compilation: Compilation, compiler: Any) -> None:
    """Keep a compilation for this user's next process; where nothing can be written, do nothing."""
    folder = cache_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        write(folder / name_of(compilation.recipe, compiler), compilation, level=1)
        _shrink(folder)


@functools.cache  # once in a process: to look at thousands of files takes as long as to compile
def _shrink(folder: Path) -> None:
    """Remove what was not read for longest, until the folder is not too large any more; and what
    processes that were killed have left half written."""
    files = []
    for path in folder.iterdir():
        if not OWN.fullmatch(path.name):
            continue  # ANYWARP_CACHE may name a folder with other things in it
        with contextlib.suppress(FileNotFoundError):  # another process has removed it
            about = path.stat()
            files.append((about.st_mtime, about.st_size, path))
    left = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if left <= CACHE_BYTES:
            break
        path.unlink(missing_ok=True)
        left -= size


def note(recipe: Recipe) -> None:
    """Say that this is compiled, in the folder that NOTES names, if it does."""
    if folder := os.environ.get(NOTES):
        name = f"{name_of(recipe)} {recipe.arch}"
        (Path(folder) / name).write_text(json.dumps(recipe), encoding="utf-8")


def noted(folder: Path) -> Iterator[Recipe]:
    """What processes have noted in a folder."""
    for path in sorted(folder.iterdir()):
        yield _recipe(json.loads(path.read_text(encoding="utf-8")))


def _recipe(parts: list[Any]) -> Recipe:
    """A recipe from its parts as JSON has them."""
    source, filename, options, names, arch = parts
    return Recipe(source, filename, tuple(options), tuple(names), arch)
