"""Kernels that are not SGEMM, a file each, with the arguments that their headers describe.

A kernel is here for what no other one has: an instruction, a counter, a finding, a deviation, or
another reason. README.md says which, and `table.py` writes it; one without has no place here.

A file opens with a comment: a line of title, an empty one, then directives, a line each:

    // Block reduction with shuffles
    //
    // family: reduction
    // kernel: reduce<256>              an extern "C" symbol or a C++ name expression
    // grid: 4                          1 to 3 numbers, as for `block`
    // block: 256
    // args: float[1024] uniform; out float[4]; int 1000

and where needed

    // dynamic shared: 1024             bytes
    // options: -use_fast_math          words for the compiler
    // launches: 3                      the launch repeated on the same arrays (1 without)
    // approximate: 2 ulp               or `1e-6 absolute`, `1e-6 relative`: how far off
    // compare: none for 2              indices of arguments whose values are not compared
    // output: printf                   what it prints is compared
    // counters: none                   they hang on chance, as those of a loop that polls
    // planted: race                    a fault is in it: one of these kinds has to be found, with
                                        commas between; values and counters are not compared
    // headers: cuda_fp16.h             headers of the CUDA toolkit that it includes
    // compute capability: 9.0a         instructions that this GPU alone has, such as wgmma

A file `NAME.ptx` is what another compiler made; `made.py` has its source.

The line of a planted fault ends in `// fault`; where two lines meet in it, both may.

Arguments are separated by semicolons:

    int 1000        a number: char, short, int, long (64 bits), with u before for unsigned ones,
                    half, float, double
    bytes 0a00ff    a struct by value
    float[64,65] KIND …   an array of those types or of bfloat16 (as the 16 bits, in uint16)
    out float[4]    an array of zeros that counts as not written before the kernel writes it
    map ARRAY box 16,32 [swizzle 128] [fill nan] [steps 2,1]
                    a tensor map of such an array (`out map …` of one of zeros), for a kernel that
                    takes a CUtensorMap: what kernels.TensorMap is told

    KIND            elements
    uniform [a b]   in [-1, 1), or [a, b)
    below n         whole numbers from 0 to n - 1
    bits            random bits, of whole numbers
    permutation     of 0 to size - 1
    iota            0, 1, 2, …
    zeros, ones, constant x, values x y …       the last repeated over the array
    specials        zeros, infinities, NaNs, subnormals, the largest, in turns with random bits
"""

from __future__ import annotations

import functools
import itertools
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import kernels

FOLDER = Path(__file__).parent
RECORD = FOLDER / "nvidia_h200.json"
COMMAND = "python -m tests.corpus.record"

TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "long": "i8", "ulong": "u8", "half": "f2", "float": "f4", "double": "f8",
}  # fmt: skip
PLANTED = (
    "out of bounds",
    "misaligned",
    "uninitialised",
    "race",
    "barrier",
    "asynchronous copy",
    "tensor core registers",
)
REQUIRED = ("family", "kernel", "grid", "block", "args")
OPTIONAL = (
    "dynamic shared",
    "options",
    "launches",
    "approximate",
    "compare",
    "output",
    "counters",
    "planted",
    "headers",
    "compute capability",
)
ARRAY = re.compile(r"(out )?(\w+)\[(\d+(?:,\d+)*)\](?: (.+))?")
MAP = re.compile(
    r"(out )?map (.+?) box ([\d,]+)(?: swizzle (\d+))?(?: fill (zeros|nan))?(?: steps ([\d,]+))?"
)


@dataclass(frozen=True)
class Map:
    """A tensor map that an argument describes, and its array."""

    array: Any
    box: tuple[int, ...]
    words: dict  # for kernels.TensorMap

    def tobytes(self) -> bytes:
        return self.array.tobytes()

    def tensor_map(self, array: Any = None) -> kernels.TensorMap:
        """Of the array, or of another one with the same contents."""
        return kernels.TensorMap(self.array if array is None else array, self.box, **self.words)


def contents(argument: Any) -> Any:
    """The array of a tensor map; any other argument as it is."""
    return argument.array if isinstance(argument, Map) else argument


def passed(arguments: list) -> list:
    """As a kernels.Kernel takes them."""
    return [x.tensor_map() if isinstance(x, Map) else x for x in arguments]


@dataclass(frozen=True)
class Case:
    """A kernel and one launch of it. `not_compared` are indices of `args`; `bound` is a number
    and its unit: "ulp", "absolute" or "relative"; `faults` are lines that end in `// fault`."""

    name: str
    title: str
    source: str
    family: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[str, ...]
    shared_mem: int = 0
    options: tuple[str, ...] = ()
    launches: int = 1
    bound: tuple[float, str] | None = None
    not_compared: frozenset[int] = frozenset()
    prints: bool = False
    counted: bool = True
    planted: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    faults: frozenset[int] = field(default=frozenset())

    @property
    def is_ptx(self) -> bool:
        """Whether another compiler made it."""
        return self.filename.endswith(".ptx")

    @property
    def filename(self) -> str:
        return path_of(self.name).name

    @property
    def unwritten(self) -> list[int]:
        """The indices of the `out` arrays."""
        return [n for n, text in enumerate(self.args) if text.startswith("out ")]

    def arguments(self) -> list:
        """Fresh arguments, the same each time: NumPy arrays and scalars, bytes and Maps."""
        stream = np.random.RandomState(zlib.crc32(self.name.encode()))
        return [argument(text, stream) for text in self.args]


def path_of(name: str) -> Path:
    """Its file."""
    return next((x for x in FOLDER.glob(f"{name}.ptx")), FOLDER / f"{name}.cu")


def names() -> list[str]:
    return sorted(path.stem for form in ("*.cu", "*.ptx") for path in FOLDER.glob(form))


def cases() -> list[Case]:
    return [load(name) for name in names()]


def write_module(name: str, title: str, said: dict, ptx: str) -> None:
    """Make the file of a module that another compiler made, without addresses of the machine where
    it was made."""
    ptx = re.sub(r'(\.file\s+\d+ )"[^"]*?([\w.]+)"', r'\1"\2"', ptx)
    ptx = re.sub(r"(?m)^[ \t]*\.section\s+\.debug_(?!str).*\n?\s*\{[^}]*\}[ \t]*\n?", "", ptx)
    ptx = re.sub(r"(?m)[ \t]*//.*$", "", ptx)  # comments and directories
    ptx = re.sub(r"\n\s*\n+", "\n", ptx).strip()
    head = [title, "", *(f"{key}: {value}" for key, value in said.items())]
    text = "\n".join(f"// {line}".rstrip() for line in head)
    (FOLDER / f"{name}.ptx").write_text(f"{text}\n{ptx}\n", encoding="utf-8")


@functools.cache
def load(name: str) -> Case:
    """The case of a file. Raises ValueError, with its name, for a header that is not as above."""
    return parse(name, path_of(name).read_text(encoding="utf-8"))


def parse(name: str, source: str) -> Case:
    try:
        return _parse(name, source)
    except ValueError as error:
        raise ValueError(f"{path_of(name).name}: {error}") from None


def _parse(name: str, source: str) -> Case:
    lines = source.splitlines()
    header = [line[2:].strip() for line in itertools.takewhile(lambda x: x.startswith("//"), lines)]
    if len(header) < 3 or not header[0] or header[1]:
        raise ValueError("a file opens with a line of title, then //, then directives")
    said: dict[str, str] = {}
    for line in header[2:]:
        key, colon, value = line.partition(":")
        if not colon or key not in REQUIRED + OPTIONAL:
            raise ValueError(f"{line!r} is no directive: {', '.join(REQUIRED + OPTIONAL)}")
        if key in said or not value.strip():
            raise ValueError(f"{key!r} is empty or given twice")
        said[key] = value.strip()
    if missing := [key for key in REQUIRED if key not in said]:
        raise ValueError(f"directives are missing: {', '.join(missing)}")
    args = tuple(text.strip() for text in said["args"].split(";"))
    for text in args:
        argument(text, np.random.RandomState(0))
    planted = tuple(x.strip() for x in said["planted"].split(",")) if "planted" in said else ()
    if unknown := set(planted) - set(PLANTED):
        raise ValueError(f"planted: {', '.join(unknown)} is none of {', '.join(PLANTED)}")
    faults = frozenset(n for n, line in enumerate(lines, 1) if line.endswith("// fault"))
    if bool(faults) != bool(planted):
        raise ValueError("`planted` goes with lines that end in `// fault`")
    if said.get("output", "printf") != "printf":
        raise ValueError(f"output: {said['output']!r} is not printf")
    if said.get("counters", "none") != "none":
        raise ValueError(f"counters: {said['counters']!r} is not none")
    if said.get("compute capability", "9.0a") != "9.0a":  # which the compiler reads itself
        raise ValueError(f"compute capability: {said['compute capability']!r} is not 9.0a")
    return Case(
        name, header[0], source, said["family"], said["kernel"],
        _numbers(said["grid"]), _numbers(said["block"]), args,
        shared_mem=int(said.get("dynamic shared", 0)),
        options=tuple(said.get("options", "").split()),
        launches=int(said.get("launches", 1)),
        bound=_bound(said["approximate"]) if "approximate" in said else None,
        not_compared=_not_compared(said["compare"], len(args)) if "compare" in said
        else frozenset(),
        prints="output" in said, counted="counters" not in said, planted=planted,
        headers=tuple(said.get("headers", "").split()), faults=faults,
    )  # fmt: skip


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(map(int, text.split()))
    if not 1 <= len(numbers) <= 3:
        raise ValueError(f"grid and block take 1 to 3 numbers, not {text!r}")
    return numbers


def _bound(text: str) -> tuple[float, str]:
    match = re.fullmatch(r"(\S+) (ulp|absolute|relative)", text)
    if not match:
        raise ValueError(f"approximate: {text!r} is not as `2 ulp` or `1e-6 absolute`")
    return float(match[1]), match[2]


def _not_compared(text: str, count: int) -> frozenset[int]:
    match = re.fullmatch(r"none for (\d+(?: \d+)*)", text)
    found = frozenset(map(int, match[1].split())) if match else frozenset()
    if not found or max(found) >= count:
        raise ValueError(f"compare: {text!r} is not as `none for 2`")
    return found


def argument(text: str, stream: np.random.RandomState):
    """One argument from its description. Raises ValueError for one that is none."""
    kind, _, value = text.partition(" ")
    if kind == "bytes":
        return bytes.fromhex(value)
    if kind in TYPES:
        return np.dtype(TYPES[kind]).type(float(value) if "f" in TYPES[kind] else int(value, 0))
    if match := MAP.fullmatch(text):
        return _map(match, stream)
    match = ARRAY.fullmatch(text)
    if not match or match[2] not in {*TYPES, "bfloat16"} or bool(match[1]) == bool(match[4]):
        raise ValueError(f"args: {text!r} is not as `float[64] uniform`, `out int[4]` or `int 7`")
    shape = _extents(match[3])
    words = ["zeros"] if match[1] else match[4].split()
    wide = np.dtype(np.float32 if match[2] == "bfloat16" else TYPES[match[2]])
    array = _elements(words[0], words[1:], int(np.prod(shape)), wide, stream).reshape(shape)
    if match[2] == "bfloat16":
        return (array.view(np.uint32) >> 16).astype(np.uint16)
    return array


def _map(match: re.Match, stream: np.random.RandomState) -> Map:
    out, text, box, swizzle, fill, steps = match.groups()
    array = argument((out or "") + text, stream)
    if not isinstance(array, np.ndarray):
        raise ValueError(f"args: a map is of an array, not of {text!r}")
    words: dict[str, Any] = {"dtype": "bfloat16"} if text.startswith("bfloat16") else {}
    if swizzle:
        words["swizzle"] = int(swizzle)
    if fill:
        words["fill"] = fill
    if steps:
        words["element_strides"] = _extents(steps)
    return Map(array, _extents(box), words)


def _extents(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _elements(kind: str, words: list[str], size: int, dtype: np.dtype, stream) -> np.ndarray:
    numbers = [float(word) if dtype.kind == "f" else int(word, 0) for word in words]
    if len(words) != {
        "uniform": len(words) and 2,
        "below": 1,
        "constant": 1,
        "values": max(len(words), 1),
    }.get(kind, 0):
        raise ValueError(f"args: {' '.join([kind, *words])!r} has too many numbers, or too few")
    match kind:
        case "zeros" | "ones" | "constant":
            return np.full(size, {"zeros": 0, "ones": 1}.get(kind) or (numbers or [0])[0], dtype)
        case "iota":
            return np.arange(size).astype(dtype)
        case "values":
            return np.resize(np.array(numbers, dtype), size)
        case "permutation":
            return stream.permutation(size).astype(dtype)
        case "below":
            return np.floor(stream.random_sample(size) * numbers[0]).astype(dtype)
        case "uniform":
            low, high = numbers or (-1, 1)
            return (low + (high - low) * stream.random_sample(size)).astype(dtype)
        case "bits":
            return np.frombuffer(stream.bytes(size * dtype.itemsize), dtype).copy()
        case "specials" if dtype.kind == "f":
            facts = np.finfo(dtype)
            fixed = [
                0,
                -0.0,
                np.inf,
                -np.inf,
                np.nan,
                1,
                -1,
                facts.tiny,
                -facts.tiny / 4,
                facts.max,
                facts.min,
                facts.smallest_subnormal,
                0.5,
                -1.5,
                1 + facts.eps,
            ]
            array = np.frombuffer(stream.bytes(size * dtype.itemsize), dtype).copy()
            fill = np.arange(size) % 2 == 0
            array[fill] = np.resize(np.array(fixed, dtype), int(fill.sum()))
            return array
    raise ValueError(f"args: {kind!r} is no kind of elements of {dtype}")
