"""The steps of the ladder: each file `cuda/NN_name.cu` is one, found by its name alone.

Tile sizes are the file's `#ifndef BM` / `#define BM 32` defaults. The comment that opens the file
may hold directives, a line each, whose expressions are Python's on integers:

    // block: (BN, BM)             threads of a block, 1 to 3 numbers
    // requires: K % BK == 0       a shape constraint on M, N, K; any number of them
    // alignment: 16               bytes that divide the addresses of A, B and C; 4 when not given
    // compute capability: 8.0     the oldest GPU that runs it; 5.0 when not given
    // variant: PAD=1 BK=16        defines worth showing beside the defaults; any number of them
"""

from __future__ import annotations

import difflib
import functools
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..instruments.findings import Finding, merged
from ..instruments.trace import Trace
from ..measure.records import Results, results
from ..run import gpu
from ..run.kernel import Kernel, choose_device
from .arguments import copies_where_needed, misaligned, require_alignment, shape_of
from .expressions import evaluate
from .reference import inputs

FOLDER = Path(__file__).parents[1] / "cuda"
RECORDED_ON = "NVIDIA H200"  # the records that choose the best step
SYMBOL = "sgemm"  # the kernel's name in every step


class Code(str):
    """Source text, or a diff of it, that a notebook shows with its syntax in colour."""

    language = "cpp"

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return f"```{self.language}\n{self}\n```"


class Diff(Code):
    language = "diff"


@dataclass(frozen=True, repr=False)
class Step:
    """One kernel of the ladder, with its tile sizes: call it on matrices, as BLAS's SGEMM.

    `source` is the whole file, `header` the comment that opens it, without the slashes.
    """

    path: Path
    source: str
    header: str
    defines: dict[str, int] = field(hash=False)

    def __repr__(self) -> str:
        return " ".join([f"<Step {self.id}", *(f"{k}={v}" for k, v in self.defines.items())]) + ">"

    @property
    def id(self) -> str:
        return self.path.stem

    @property
    def label(self) -> str:
        """The id and the defines that are not the file's: `06_bank_conflicts PAD=1`.

        It names this step, variant or not, in records, on the command line and to `step`.
        """
        defaults = _defaults(self.path.name, self.source)
        changed = {k: v for k, v in self.defines.items() if v != defaults[k]}
        return " ".join([self.id, *(f"{name}={value}" for name, value in changed.items())])

    @property
    def number(self) -> int:
        return int(self.id.partition("_")[0])

    @property
    def title(self) -> str:
        return self.header.partition("\n")[0]

    @property
    def block(self) -> tuple[int, ...]:
        """Threads of a block along x, y, z."""
        expressions = self._directives("block")
        if not expressions:
            raise ValueError(f"{self.path.name} lacks a line such as '// block: (BN, BM)'")
        value = evaluate(expressions[0], self.defines)
        return value if isinstance(value, tuple) else (value,)

    @property
    def requires(self) -> tuple[str, ...]:
        """What must hold of M, N and K."""
        return tuple(self._directives("requires"))

    @property
    def alignment(self) -> int:
        """Of A, B and C in memory: the number of bytes that must divide their addresses."""
        text = (self._directives("alignment") or ["4"])[0]
        if not text.isdecimal() or int(text) == 0:
            raise ValueError(f"{self.path.name}: alignment is a number of bytes, not {text!r}")
        return int(text)

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Of the oldest GPU that can run the step."""
        text = (self._directives("compute capability") or ["5.0"])[0]
        major, minor = text.split(".")
        return int(major), int(minor)

    @property
    def variants(self) -> tuple[Step, ...]:
        """The step with each of the other defines that its file declares."""
        found = []
        for text in self._directives("variant"):
            try:
                found.append(self.define(**assignments(text.split())))
            except ValueError as error:
                raise ValueError(f"{self.path.name}, variant {text!r}: {error}") from None
        return tuple(found)

    @property
    def kernel(self) -> Kernel:
        """The compiled kernel; raises build.CompileError."""
        options = [f"-D{name}={value}" for name, value in self.defines.items()]
        return Kernel(self.source, SYMBOL, options, self.path.name)

    def define(self, **overrides: int) -> Step:
        """The same step with other values, such as `define(BM=16)`; unknown names: ValueError."""
        for name, value in overrides.items():
            if name not in self.defines:
                known = ", ".join(self.defines)
                raise ValueError(f"{self.id} has no define {name!r}; it has {known}")
            if not isinstance(value, (int, np.integer)):
                raise TypeError(f"{name} must be a whole number, not {value!r}")
        return replace(self, defines=self.defines | {k: int(v) for k, v in overrides.items()})

    def grid(self, M: int, N: int) -> tuple[int, int]:
        """Blocks along x (columns of C) and y (rows): (ceil(N / BN), ceil(M / BM))."""
        return -(-N // self.defines["BN"]), -(-M // self.defines["BM"])

    def broken(self, M: int, N: int, K: int) -> str | None:
        """The first constraint that the shape breaks, None when the step can do it."""
        names = self.defines | {"M": M, "N": N, "K": K}
        return next((text for text in self.requires if not evaluate(text, names)), None)

    def region(self, name: str) -> Code:
        """The lines between `// region: name` and `// endregion`, dedented."""
        regions = _regions(self.source)
        if name not in regions:
            raise ValueError(f"{self.id} has no region {name!r}; it has {', '.join(regions)}")
        return regions[name]

    def diff(self, other: Step) -> Diff:
        """What changed from `other` to this step, as a unified diff without the headers."""
        old, new = (step.source.splitlines() for step in (other, self))
        old_start, new_start = (len(step.header.splitlines()) for step in (other, self))
        lines = difflib.unified_diff(
            old[old_start:], new[new_start:], other.path.name, self.path.name, lineterm="", n=1
        )

        def in_file(hunk: re.Match) -> str:  # line numbers of the files, not of their bodies
            return f"-{int(hunk[1]) + old_start}{hunk[2]} +{int(hunk[3]) + new_start}{hunk[4]}"

        hunks = re.compile(r"(?<=^@@ )-(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?)")
        return Diff("\n".join(hunks.sub(in_file, line) for line in lines))

    def __call__(self, A, B, C=None, alpha: float = 1, beta: float = 0, device: str = "auto"):
        """C = alpha A B + beta C for float32 matrices A (M, K), B (K, N), C (M, N), C-contiguous.

        NumPy arrays give a NumPy array, CuPy arrays a CuPy array. A given `C` is updated in
        place and returned; without one a new matrix is, and beta must be 0. As in BLAS, C is not
        read when beta is 0, nor A and B when alpha is 0. `device`: "auto" (the GPU if it can run
        this step), "gpu" or "interpreter". Raises TypeError or ValueError for what the step
        cannot do, gpu.NoGPU, and build.CompileError, all before anything runs.
        """
        M, N, K = shape_of(A, B, C, alpha, beta)
        constraint = self.broken(M, N, K)
        if constraint:
            raise ValueError(self._cannot(constraint, M, N, K))
        matrices = (A, B) if C is None else (A, B, C)
        where = choose_device(device, matrices, self.compute_capability)
        if C is None:
            C = (gpu if gpu.is_device_array(A) else np).empty((M, N), np.float32)
        if M == 0 or N == 0:
            return C
        require_alignment(self.label, self.alignment, A, B, C)
        if isinstance(A, np.ndarray):
            A, B = copies_where_needed(A, B)
        if np.float32(alpha) == 0:
            K = 0  # nothing is summed, so nothing is read
        scalars = (np.int32(M), np.int32(N), np.int32(K))
        self.kernel(self.grid(M, N), self.block, (*scalars, alpha, A, B, beta, C), where)
        return C

    def check(self, device: str = "auto"):
        """Run the step on hard cases; returns a report, raises CheckError on a wrong result."""
        from .check import check

        return check(self, device)

    def trace(self, M: int, N: int, K: int, keep: Sequence = (0, 0), **limits) -> Trace:
        """Run C = A B of random matrices in the interpreter and return what it did to memory.

        `keep` is the block, column of blocks first, whose accesses are kept one by one, or a
        list of blocks; `limits` (`warps`, `lines`) as for `trace.trace`; counts are of all.
        Raises ValueError for a shape that the step cannot do.
        """
        constraint = self.broken(M, N, K)
        if constraint:
            raise ValueError(self._cannot(constraint, M, N, K))
        A, B, C = inputs(M, N, K)
        return self.kernel.trace(
            self.grid(M, N),
            self.block,
            (M, N, K, 1, A, B, 0, C),
            ("M", "N", "K", "alpha", "A", "B", "beta", "C"),
            keep=keep,
            **limits,
        )

    def sanitize(self, M: int, N: int, K: int) -> tuple[Finding, ...]:
        """Run the step in the interpreter and report its memory and barrier faults.

        Two runs: C = A B, where nobody has written C before, and C = A B + beta C. Raises
        ValueError for a shape that the step cannot do.
        """
        constraint = self.broken(M, N, K)
        if constraint:
            raise ValueError(self._cannot(constraint, M, N, K))
        found = []
        for beta, uninitialised in ((0, (7,)), (-0.5, ())):
            A, B, C = inputs(M, N, K)
            found += self.kernel.sanitize(
                self.grid(M, N),
                self.block,
                (M, N, K, 1, A, B, beta, C),
                uninitialised=uninitialised,
            )
        return merged(found)

    def benchmark(self, sizes=None, **options):
        """Time the step on the GPU, with cuBLAS beside it: see `bench.benchmark`."""
        from ..measure.bench import benchmark

        return benchmark((self,), sizes, **options)

    def _directives(self, name: str) -> list[str]:
        return re.findall(rf"^{name}: *(.*?) *$", self.header, re.MULTILINE)

    def _cannot(self, constraint: str, M: int, N: int, K: int) -> str:
        used = {k: v for k, v in self.defines.items() if re.search(rf"\b{k}\b", constraint)}
        values = "".join(f", {name} = {value}" for name, value in used.items())
        others = [s.id for s in steps(self.path.parent) if not s.broken(M, N, K)]
        instead = f"{others[-1]} can" if others else "no step can: pad the matrices with zeros"
        return (
            f"{self.label} requires {constraint}, which M = {M}, N = {N}, K = {K}{values} breaks; "
            f"{instead}"
        )


def steps(folder: Path = FOLDER) -> tuple[Step, ...]:
    """All steps, in order."""
    return tuple(_load(path) for path in sorted(Path(folder).glob("[0-9][0-9]_*.cu")))


def step(id: str | int, folder: Path = FOLDER) -> Step:
    """The step named "03_coalesced", "03", "coalesced" or 3. Raises ValueError if unknown.

    Defines may follow the name, as in `Step.label`: "03_coalesced BM=8 BN=128".
    """
    if isinstance(id, str) and len(words := id.split()) > 1:
        return step(words[0], folder).define(**assignments(words[1:]))
    found = {}
    for one in steps(folder):
        number, _, name = one.id.partition("_")
        found |= dict.fromkeys((one.id, name, number, str(one.number)), one)
    if str(id) in found:
        return found[str(id)]
    if not found:
        raise ValueError(f"no step {id!r}: there are no steps in {folder}")
    if str(id).isdecimal():
        nearest = min(found.values(), key=lambda one: abs(one.number - int(id)))
    else:
        nearest = found[difflib.get_close_matches(str(id), found, n=1, cutoff=0)[0]]
    ids = dict.fromkeys(one.id for one in found.values())
    raise ValueError(f"no step {id!r}; the nearest is {nearest.id!r}, of {', '.join(ids)}")


def with_variants(chosen: Iterable[Step]) -> tuple[Step, ...]:
    """Each of the steps, followed by the variants that its file declares."""
    every = (one for first in chosen for one in (first, *first.variants))
    return tuple({one.label: one for one in every}.values())


def sgemm(A, B, C=None, alpha: float = 1, beta: float = 0, device: str = "auto"):
    """`Step.__call__` with the best step for this device and shape.

    That is the one with the highest rate on record near this size, of those that can do it; a
    step without a record counts as better than any, the highest on the ladder as the best.
    """
    M, N, K = shape_of(A, B, C, alpha, beta)
    able = [one for one in steps() if not one.broken(M, N, K)]
    if not able:
        raise ValueError(f"no step can do M = {M}, N = {N}, K = {K}: pad the matrices with zeros")
    able = [one for one in able if not misaligned(one.alignment, A, B, C)] or able
    if choose_device(device, (A, B) if C is None else (A, B, C)) == "gpu":
        capability = gpu.device().compute_capability
        able = [one for one in able if one.compute_capability <= capability] or able
    best = max(able, key=lambda one: (_rate_near(one, M, N, K), one.number))
    return best(A, B, C, alpha, beta, device)


def _rate_near(one: Step, *shape: int) -> float:
    """TFLOPS of the step's record with the most similar shape; infinite without any.

    Shapes are as far apart as their factors in M, N and K make, multiplied: a product of few
    blocks with a long K says little about a square one with as many multiply-adds.
    """

    def distance(record) -> float:
        sides = zip((record.M, record.N, record.K), shape)
        return sum(abs(math.log(side / max(wanted, 1))) for side, wanted in sides)

    nearest = min(_timings().select(one), key=distance, default=None)
    return nearest.tflops if nearest else math.inf


@functools.cache
def _timings() -> Results:
    return results(RECORDED_ON)


def _load(path: Path) -> Step:
    source = path.read_text(encoding="utf-8")
    comment = re.match(r"(?://.*\n)*", source)[0]
    header = re.sub(r"^// ?", "", comment, flags=re.MULTILINE)
    return Step(path, source, header, _defaults(path.name, source))


def _defaults(filename: str, source: str) -> dict[str, int]:
    """The defines that a step's file declares, with the values it gives them."""
    defines = {}
    for name, value in re.findall(r"^#ifndef (\w+)\n#define \1\b(.*)", source, re.MULTILINE):
        try:
            defines[name] = int(value.partition("//")[0])
        except ValueError:
            raise ValueError(f"{filename}: {name} must be a whole number, not {value!r}") from None
    return defines


def assignments(words: Sequence[str]) -> dict[str, int]:
    """["PAD=1", "BK=16"] -> {"PAD": 1, "BK": 16}. Raises ValueError for anything else."""
    found = {}
    for word in words:
        match = re.fullmatch(r"(\w+)=(-?\d+)", word)
        if match is None:
            raise ValueError(f"a define of a step is NAME=NUMBER, not {word!r}")
        found[match[1]] = int(match[2])
    return found


def _regions(source: str) -> dict[str, Code]:
    regions, open_regions = {}, []
    for number, line in enumerate(source.splitlines(), start=1):
        marker = re.match(r"\s*// (?:region: (\w+)|endregion)\s*$", line)
        if marker is None:
            for name in open_regions:
                regions[name].append(line)
        elif marker[1]:
            regions[marker[1]] = []
            open_regions.append(marker[1])
        elif open_regions:
            open_regions.pop()
        else:
            raise ValueError(f"line {number}: // endregion without a // region")
    if open_regions:
        raise ValueError(f"region {open_regions[-1]} has no // endregion")
    return {name: Code(textwrap.dedent("\n".join(lines))) for name, lines in regions.items()}
