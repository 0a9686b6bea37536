"""A step's file, read once: tile sizes, directives, regions.

Tile sizes are the file's `#ifndef BM` / `#define BM 32` defaults. The comment that opens the file
ends with directives, a line each, which may go on in indented ones; their expressions are Python's
on numbers:

    // block: (BN, BM)             threads of a block, 1 to 3 numbers; or, of a file with several
                                   kernels, `launch:` lines instead: see `launches`
    // shared: 8 * BK * BM         dynamic shared memory of a block in bytes, beside `block`
    // arguments: lda workspace    what the kernels take after C, in this order: the pitches of the
                                   rows that are stored, lda, ldb, ldc, and a workspace
    // workspace: 4 * M * N        its size in bytes; a kernel knows nothing of what it holds before
    // tensor map: …               of an array in the workspace, which the kernels take after all
                                   else; any number of them: see `launches`
    // requires: K % BK == 0       what must hold of M, N, K, alpha and beta; any number of them
    // alignment: 16               bytes that divide the addresses of A, B and C; 4 when not given
    // compute capability: 8.0     the oldest GPU that runs it, or, with a letter, as 9.0a, the only
                                   one; 5.0 when not given. With ", 9.0 with CLUSTER" after it, it
                                   is 9.0 where this define is not 0
    // tensor cores: yes           its arithmetic is not float32's; `sgemm` takes it when asked to
    // options: --use_fast_math    for the compiler; none when not given
    // ptxas: -O{LEVEL}            for its last stage, which makes machine code of PTX; a define in
                                   braces stands for its value
    // machine code: reordered     the main loop's, after the compiler, where it is known how: see
                                   `machine`
    // variant: PAD=1 BK=16        defines worth showing beside the defaults; any number of them
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anywarp.capability import Capability, conditions

from . import launches
from .expressions import Expression
from .launches import SIDES, SYMBOL, Box, Launch

DIRECTIVES = (
    *("block", "launch", "shared", "arguments", "workspace", "tensor map", "requires", "alignment"),
    *("compute capability", "tensor cores", "options", "ptxas", "machine code", "variant"),
)
# those that may stand there several times
REPEATED = ("launch", "tensor map", "requires", "variant")
EXTRA = ("lda", "ldb", "ldc", "workspace")  # what kernels may take after C
ARGUMENTS = ("M", "N", "K", "alpha", "beta")  # of which constraints may speak
TRANSPOSES = ("TRANS_A", "TRANS_B")  # whether A is stored as K x M, and B as N x K
NONE = Expression("0")  # bytes
SIZES = ("BM", "BN", "BK", "TM", "TN", "WM", "WN")  # which are 1 at least
MARKER = re.compile(r"\s*// (?:region: (\w+)|endregion)\s*")  # of a region, with its name or not


class Code(str):
    """Source text, or a diff of it, that a notebook shows with its syntax in colour."""

    language = "cpp"

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return f"```{self.language}\n{self}\n```"


class Diff(Code):
    """What changed from one source text to another, with its syntax in colour."""

    language = "diff"


@dataclass(frozen=True)
class Source:
    """What a step's file says. Two are the same if path, text and directives are."""

    path: Path
    text: str
    header: str = field(compare=False)  # the comment that opens the file, without the slashes
    defines: Mapping[str, int] = field(compare=False)  # names and defaults
    launches: tuple[Launch, ...]
    arguments: tuple[str, ...]  # of the kernels, after C
    workspace: Expression  # in bytes
    boxes: tuple[Box, ...]  # tensor maps
    requires: tuple[Expression, ...]
    alignment: int  # in bytes
    capabilities: tuple[tuple[Capability, str], ...]  # each but the first with a define
    tensor_cores: bool
    options: tuple[str, ...]  # for the compiler; a define in braces stands for its value
    reordered: bool  # the machine code of the main loop
    variants: tuple[dict[str, int], ...] = field(compare=False)  # the defines that each changes
    regions: Mapping[str, Code] = field(compare=False)  # the lines of each, dedented
    given: Mapping[str, Sequence[str]] = field(compare=False)  # directives not from the file
    ptx: str = ""  # of all kernels, in place of what the compiler makes of the text

    @property
    def title(self) -> str:
        return self.header.partition("\n")[0]

    @property
    def sgemm(self) -> Launch:
        """The launch of the kernel that multiplies."""
        return next(launch for launch in self.launches if launch.kernel == SYMBOL)

    def compute_capability(self, defines: Mapping[str, int]) -> Capability:
        """What the kernels need with these values of the defines."""
        return [asked for asked, name in self.capabilities if not name or defines[name]][-1]

    def launch_lines(self) -> dict[str, list[str]]:
        """The directives that say what is launched and what the kernels take, by name."""
        texts = [launch.text for launch in self.launches if launch.text]
        lines = {"launch": texts} if texts else {"block": [self.sgemm.block.text]}
        if not texts and self.sgemm.shared.text != NONE.text:
            lines["shared"] = [self.sgemm.shared.text]
        if self.arguments:
            lines["arguments"] = [" ".join(self.arguments)]
        if "workspace" in self.arguments:
            lines["workspace"] = [self.workspace.text]
            lines["tensor map"] = [box.text for box in self.boxes]
        return lines


def parse(path: Path, text: str, given: Mapping[str, Sequence[str]] | None = None) -> Source:
    """Read a step's file. Raises ValueError, with file and line, for what it does not understand.

    `given` has values of directives, by name, that stand in place of those in the file.
    """
    given = given or {}
    for name in given:
        if name not in DIRECTIVES:
            raise ValueError(f"there is no directive {name!r}; there are {', '.join(DIRECTIVES)}")
        if len(given[name]) > 1 and name not in REPEATED:
            raise ValueError(
                f"{name!r} is one line of a file, not {len(given[name])}: give it as one text, as "
                "the files have it"
            )
    comment = "".join(re.findall(r"\A(?://.*\n)*", text))
    header = re.sub(r"^// ?", "", comment, flags=re.MULTILINE)
    defines = _defaults(path.name, text)
    directives = _directives(path.name, header)
    for name, values in given.items():
        directives[name] = [("given", value) for value in values]

    def each(name: str, read: Callable[[str], Any]) -> list[Any]:
        results = []
        for line, value in directives[name]:
            try:
                results.append(read(value))
            except ValueError as error:
                raise ValueError(f"{path.name}:{line}: {name}: {error}") from None
        return results

    def once(name: str, read: Callable[[str], Any], default: Any) -> Any:
        return (each(name, read) or [default])[0]

    of_defines = lambda value: Expression(value, tuple(defines))
    arguments = once("arguments", _arguments, ())
    workspace = once("workspace", lambda value: Expression(value, (*SIDES, *defines)), None)
    if ("workspace" in arguments) != (workspace is not None):
        raise ValueError(
            f"{path.name}: 'workspace:' gives the bytes of the workspace that 'arguments:' names: "
            "there is one without the other"
        )
    return Source(
        path,
        text,
        header,
        defines,
        _launches(
            path.name,
            each("launch", lambda value: launches.read(value, tuple(defines))),
            once("block", of_defines, None),
            once("shared", of_defines, None),
        ),
        arguments,
        workspace or NONE,
        tuple(each("tensor map", lambda value: launches.read_box(value, tuple(defines)))),
        tuple(each("requires", lambda value: Expression(value, (*ARGUMENTS, *defines)))),
        once("alignment", _alignment, 4),
        once("compute capability", lambda value: _capabilities(value, defines), (((5, 0), ""),)),
        once("tensor cores", _only("yes"), False),
        once("options", lambda value: tuple(value.split()), ())
        + once("ptxas", lambda value: _ptxas(value, defines), ()),
        once("machine code", _only("reordered"), False),
        tuple(each("variant", lambda value: known(path.stem, defines, assignments(value.split())))),
        regions(path.name, text),
        given,
    )


def _capabilities(value: str, defines: Mapping[str, int]) -> tuple[tuple[Capability, str], ...]:
    """The value of `compute capability:`; raises ValueError for an unknown define."""
    capabilities = conditions(value)
    for _, name in capabilities[1:]:
        if name not in defines:
            raise ValueError(f"there is no define {name}; there are {', '.join(defines)}")
    return capabilities


def _launches(
    filename: str, several: list[Launch], block: Expression | None, shared: Expression | None
) -> tuple[Launch, ...]:
    """What a file launches, from its lines `launch:`, or `block:` and `shared:`."""
    if several:
        for name, value in (("block", block), ("shared", shared)):
            if value is not None:
                raise ValueError(
                    f"{filename} has both 'launch:' and '{name}:'; each launch has its own {name}"
                )
        names = [launch.kernel for launch in several]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(
                f"{filename}: launch: {twice} is launched twice; each kernel has one launch"
            )
        if SYMBOL not in names:
            raise ValueError(
                f"{filename}: launch: none of {', '.join(names)} is {SYMBOL}, the kernel that "
                "multiplies"
            )
        return tuple(several)
    if block is None:
        raise ValueError(
            f"{filename} lacks a line such as '// block: (BN, BM)', or '// launch: …' for each of "
            "its kernels"
        )
    return (Launch(SYMBOL, launches.TILES, block, shared or NONE),)


def known(step: str, defines: Mapping[str, int], changes: dict[str, int]) -> dict[str, int]:
    """The changes, if a step with these defines can have them; else raises ValueError."""
    for name, value in changes.items():
        if name not in defines:
            raise ValueError(f"{step} has no define {name!r}; it has {', '.join(defines)}")
        if name in SIZES and value < 1:
            raise ValueError(f"{name} is a size, 1 at least, not {value}")
        if name in TRANSPOSES and value not in (0, 1):
            raise ValueError(f"{name} is 0 or 1, whether the operand is transposed, not {value}")
    return changes


def assignments(words: Sequence[str]) -> dict[str, int]:
    """["PAD=1", "BK=16"] -> {"PAD": 1, "BK": 16}. Raises ValueError for anything else."""
    changes = {}
    for word in words:
        match = re.fullmatch(r"(\w+)=(-?\d+)", word)
        if match is None:
            raise ValueError(f"a define of a step is NAME=NUMBER, not {word!r}")
        changes[match[1]] = int(match[2])
    return changes


def _directives(filename: str, header: str) -> dict[str, list[tuple[int | str, str]]]:
    """The values of each directive with their lines.

    From the first one on, every line has to be one, or go on with the one before, which is
    indented; and before, a line of one or two small words and a colon, or one that is nearly a
    directive's name, is one that nobody would read.
    """
    values: dict[str, list[tuple[int | str, str]]] = {name: [] for name in DIRECTIVES}
    last = ""
    lines = header.splitlines()[1:]  # the first is the title
    for number, line in enumerate(lines, start=2):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if last and line.startswith("  "):
            begin, text = values[last].pop()
            values[last].append((begin, f"{text} {line.strip()}"))
            continue
        if colon and name in values:
            last = name
            values[name].append((number, value))
            if len(values[name]) > 1 and name not in REPEATED:
                raise ValueError(f"{filename}:{number}: a second line '{name}:'")
            continue
        begun = any(values.values()) and line.strip()
        if begun or (colon and (re.fullmatch(r"[a-z]+( [a-z]+)?", name) or _nearest(name, 0.8))):
            raise ValueError(
                f"{filename}:{number}: there is no directive {line.strip()!r}; the nearest is "
                f"'{_nearest(name, 0)}:', of {', '.join(DIRECTIVES)}"
            )
    return values


def _nearest(name: str, cutoff: float) -> str | None:
    """The directive whose name is the most like this one, None if none is."""
    matches = difflib.get_close_matches(name.lower(), DIRECTIVES, n=1, cutoff=cutoff)
    return matches[0] if matches else None


def _arguments(text: str) -> tuple[str, ...]:
    """The value of `arguments:`; raises ValueError for names that there are not."""
    names = tuple(text.split())
    if not names or len(set(names)) < len(names) or not set(names) <= set(EXTRA):
        raise ValueError(f"they are some of {', '.join(EXTRA)}, each once, not {text!r}")
    return names


def _ptxas(text: str, defines: Mapping[str, int]) -> tuple[str, ...]:
    """As options of the compiler, with defines in braces."""
    words = text.split()
    for name in re.findall(r"{(.*?)}", text):
        if name not in defines:
            raise ValueError(f"{{{name}}} is no define of the file: {', '.join(defines)}")
    for word in words:
        if not word.startswith("-"):
            raise ValueError(f"an option of ptxas begins with '-', as -O1, not {word!r}")
    return tuple(f"--ptxas-options={word}" for word in words)


def _only(word: str) -> Callable[[str], bool]:
    """A reader of directives that say this word, or are left out."""

    def read(text: str) -> bool:
        if text != word:
            raise ValueError(f"it is {word!r}, or the line is left out, not {text!r}")
        return True

    return read


def _alignment(text: str) -> int:
    """The value of `alignment:`, in bytes."""
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"it is a number of bytes, not {text!r}")
    return int(text)


def _defaults(filename: str, source: str) -> dict[str, int]:
    """The defines that a step's file declares, with the values it gives them."""
    defines = {}
    for name, value in re.findall(r"^#ifndef (\w+)\n#define \1\b(.*)", source, re.MULTILINE):
        try:
            defines[name] = int(value.partition("//")[0])
        except ValueError:
            raise ValueError(f"{filename}: {name} must be a whole number, not {value!r}") from None
    for name in ("BM", "BN"):
        if name not in defines:
            raise ValueError(
                f"{filename} lacks '#ifndef {name}' and '#define {name} 32' on two lines: a step "
                "names the tile of C that a block computes, BM x BN"
            )
    try:
        known(filename, defines, defines)
    except ValueError as error:
        raise ValueError(f"{filename}: {error}") from None
    return defines


def regions(filename: str, source: str) -> dict[str, Code]:
    """The lines between each `// region: name` and its `// endregion`, dedented."""
    lines = source.splitlines()
    held = {
        name: [line for line in lines[first:end] if not MARKER.fullmatch(line)]
        for name, (first, end) in lines_of_regions(filename, source).items()
    }
    return {name: Code(textwrap.dedent("\n".join(inside))) for name, inside in held.items()}


def lines_of_regions(filename: str, source: str) -> dict[str, tuple[int, int]]:
    """Of each region, in order, the first line and the one after the last, counted from 0. Raises
    ValueError for one that does not begin, or does not end."""
    found: dict[str, tuple[int, int]] = {}
    open_regions: list[str] = []
    for number, line in enumerate(source.splitlines()):
        if not (marker := MARKER.fullmatch(line)):
            continue
        if marker[1]:
            open_regions.append(marker[1])
            found[marker[1]] = number + 1, number + 1
        elif open_regions:
            name = open_regions.pop()
            found[name] = found[name][0], number
        else:
            raise ValueError(f"{filename}:{number + 1}: // endregion without a // region")
    if open_regions:
        raise ValueError(f"{filename}: region {open_regions[-1]} has no // endregion")
    return found
