"""The steps of the ladder: each file `cuda/NN_name.cu` is one, found by its name alone.

`source` says what the file holds, `choose` which step is the best for a shape.
"""

from __future__ import annotations

import difflib
import functools
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..instruments.findings import Finding, merged
from ..instruments.pipeline import Pipeline
from ..instruments.trace import Trace
from ..measure.bench import benchmark
from ..measure.records import Results
from ..run import gpu
from ..run.capability import Capability
from ..run.kernel import Kernel, choose_device
from ..run.limits import MAX_GRID
from .arguments import MAX_ELEMENTS, require_alignment, shape_of, to_read
from .attempt import Attempt, attempt
from .check import Report, check
from .expressions import Expression
from .reference import inputs
from .source import Code, Diff, Source, assignments, known, lines_of_region, parse

__all__ = ["Code", "Diff", "Step", "assignments", "step", "steps", "with_variants"]

FOLDER = Path(__file__).parents[1] / "cuda"
SYMBOL = "sgemm"  # the kernel's name in every step
PARAMETERS = ("M", "N", "K", "alpha", "A", "B", "beta", "C")  # of the kernel

# What no launch can do, whatever the step: indices have 32 bits, and so many blocks lie along y.
LIMITS = (
    *(Expression(f"{rows} * {columns} < {MAX_ELEMENTS}") for rows, columns in ("MN", "MK", "KN")),
    Expression(f"(M + BM - 1) // BM <= {MAX_GRID[1]}"),
)


@dataclass(frozen=True, repr=False)
class Step:
    """One kernel of the ladder, with its tile sizes: call it on matrices, as BLAS's SGEMM."""

    file: Source
    defines: dict[str, int] = field(hash=False)

    def __repr__(self) -> str:
        return " ".join([f"<Step {self.id}", *(f"{k}={v}" for k, v in self.defines.items())]) + ">"

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def source(self) -> Code:
        """The whole file."""
        return Code(self.file.text)

    @property
    def header(self) -> str:
        """The comment that opens the file, without the slashes."""
        return self.file.header

    @property
    def title(self) -> str:
        return self.file.title

    @property
    def id(self) -> str:
        return self.path.stem

    @functools.cached_property
    def label(self) -> str:
        """The id and the defines that are not the file's: `06_bank_conflicts PAD=1`.

        It names this step, variant or not, in records, on the command line and to `step`.
        """
        changed = {k: v for k, v in self.defines.items() if v != self.file.defines[k]}
        return " ".join([self.id, *(f"{name}={value}" for name, value in changed.items())])

    @property
    def number(self) -> int:
        return int(self.id.partition("_")[0])

    @functools.cached_property
    def block(self) -> tuple[int, ...]:
        """Threads of a block along x, y, z."""
        value = self.file.block(self.defines)
        return value if isinstance(value, tuple) else (value,)

    @property
    def requires(self) -> tuple[str, ...]:
        """What must hold of M, N, K, alpha and beta."""
        return tuple(constraint.text for constraint in self.file.requires)

    @property
    def alignment(self) -> int:
        """Of A, B and C in memory: the number of bytes that must divide their addresses."""
        return self.file.alignment

    @property
    def compute_capability(self) -> Capability:
        """Of the oldest GPU that can run the step, or, with a letter, of the only one."""
        return self.file.compute_capability

    @functools.cached_property
    def variants(self) -> tuple[Step, ...]:
        """The step with each of the other defines that its file declares."""
        return tuple(self.define(**changes) for changes in self.file.variants)

    @functools.cached_property
    def kernel(self) -> Kernel:
        """The compiled kernel; raises build.CompileError."""
        options = [f"-D{name}={value}" for name, value in self.defines.items()]
        options += self.file.options
        name = self.path.name.replace(" ", "_")
        return Kernel(self.source, SYMBOL, options, name, self.compute_capability)

    def define(self, **overrides: int) -> Step:
        """The same step with other values, such as `define(BM=16)`.

        Raises ValueError for unknown names and for sizes below 1, TypeError for no whole numbers.
        What the kernel cannot do, its `static_assert`s refuse when it is compiled.
        """
        for name, value in overrides.items():
            if name in self.defines and not isinstance(value, (int, np.integer)):
                raise TypeError(f"{name} must be a whole number, not {value!r}")
        changes = {name: int(value) for name, value in overrides.items() if name in self.defines}
        known(self.id, self.defines, overrides | changes)
        return replace(self, defines=self.defines | changes)

    def grid(self, M: int, N: int) -> tuple[int, int]:
        """Blocks along x (columns of C) and y (rows): (ceil(N / BN), ceil(M / BM))."""
        return -(-N // self.defines["BN"]), -(-M // self.defines["BM"])

    def broken(self, M: int, N: int, K: int, alpha: float = 1, beta: float = 0) -> str | None:
        """The first constraint that this product breaks, None when the step can do it.

        Those of the step's file, and what no launch can do: 65536 blocks along the rows of C, or
        a matrix of 2**31 elements.
        """
        names = {**self.defines, "M": M, "N": N, "K": K, "alpha": alpha, "beta": beta}
        if self._everything(names):
            return None
        return next(one.text for one in (*self.file.requires, *LIMITS) if not one(names))

    @functools.cached_property
    def _everything(self) -> Expression:
        """All constraints in one, which a call evaluates."""
        return Expression(" and ".join(f"({one.text})" for one in (*self.file.requires, *LIMITS)))

    def region(self, name: str) -> Code:
        """The lines between `// region: name` and `// endregion`, dedented."""
        regions = self.file.regions
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

    def __call__(
        self,
        A: Any,
        B: Any,
        C: Any = None,
        alpha: float = 1,
        beta: float = 0,
        device: str = "auto",
    ) -> Any:
        """C = alpha A B + beta C for float32 matrices A (M, K), B (K, N), C (M, N), C-contiguous.

        NumPy arrays give a NumPy array, CuPy arrays a CuPy array. A given `C` is updated in
        place and returned; without one a new matrix is, and beta must be 0. As in BLAS, C is not
        read when beta is 0, nor A and B when alpha is 0. `device`: "auto" (the GPU if it can run
        this step), "gpu" or "interpreter". Raises TypeError or ValueError for what the step
        cannot do, gpu.NoGPU, and build.CompileError, all before anything runs.
        """
        M, N, K = shape_of(A, B, C, alpha, beta)
        self._require(M, N, K, alpha, beta)
        matrices = (A, B) if C is None else (A, B, C)
        where = choose_device(device, matrices, self.compute_capability)
        return self.run(M, N, K, A, B, C, alpha, beta, where)

    def run(
        self,
        M: int,
        N: int,
        K: int,
        A: Any,
        B: Any,
        C: Any,
        alpha: float,
        beta: float,
        where: str,
    ) -> Any:
        """What a call does once it knows that the step can do the product, and where."""
        if C is None:
            C = (np if isinstance(A, np.ndarray) else gpu).empty((M, N), np.float32)
        if M == 0 or N == 0:
            return C
        if isinstance(A, np.ndarray):
            A, B = to_read(A), to_read(B)
        else:
            require_alignment(self.label, self.alignment, A, B, C)
        factor = np.float32(alpha)
        if factor == 0:
            K = 0  # nothing is summed, so nothing is read
        scalars = np.int32(M), np.int32(N), np.int32(K)
        values = (*scalars, factor, A, B, np.float32(beta), C)
        self.kernel.launch(self.grid(M, N), self.block, values, where)
        return C

    def check(self, device: str = "auto") -> Report:
        """Run the step on hard cases; returns a report, raises CheckError on a wrong result."""
        return check(self, device)

    def trace(self, M: int, N: int, K: int, keep: Sequence[Any] = (0, 0), **limits: Any) -> Trace:
        """Run C = A B of random matrices in the interpreter and return what it did to memory.

        `keep` is the block, column of blocks first, whose accesses are kept one by one, or a
        list of blocks; `limits` (`warps`, `lines`) as for `trace.trace`; counts are of all.
        Raises ValueError for a shape that the step cannot do.
        """
        launch = self._launch(M, N, K)  # first: it refuses what need not be compiled
        return self.kernel.trace(*launch, PARAMETERS, keep=keep, **limits)

    def pipeline(self, M: int, N: int, K: int, keep: Sequence[int] = (0, 0)) -> Pipeline:
        """Run as `trace` does, and keep who fills and who reads which part of shared memory."""
        launch = self._launch(M, N, K)
        return self.kernel.pipeline(*launch, keep=keep)

    def _launch(self, M: int, N: int, K: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple]:
        """Grid, block and arguments of C = A B, of random matrices."""
        self._require(M, N, K)
        A, B, C = inputs(M, N, K)
        return self.grid(M, N), self.block, (M, N, K, 1, A, B, 0, C)

    def sanitize(self, M: int, N: int, K: int) -> tuple[Finding, ...]:
        """Run the step in the interpreter and report its memory and barrier faults.

        Two runs: C = A B, where nobody has written C before, and, if the step can do that,
        C = A B + beta C. Raises ValueError for a shape that the step cannot do.
        """
        self._require(M, N, K)
        found: list[Finding] = []
        for beta, uninitialised in ((0, (7,)), (-0.5, ())):
            if self.broken(M, N, K, 1, beta):
                continue
            A, B, C = inputs(M, N, K)
            found += self.kernel.sanitize(
                self.grid(M, N),
                self.block,
                (M, N, K, 1, A, B, beta, C),
                uninitialised=uninitialised,
            )
        return merged(found)

    def benchmark(self, sizes: Any = None, **options: Any) -> Results:
        """Time the step on the GPU, with cuBLAS beside it: see `bench.benchmark`."""
        return benchmark((self,), sizes, **options)

    def edit(
        self,
        *,
        region: str | None = None,
        code: str | None = None,
        source: str | None = None,
        **directives: str | int | Sequence[str],
    ) -> Step:
        """A version of your own: the same step with something changed.

            mine = step.edit(region="load_tile", code="…")
            mine = step.edit(source="…", block="(BN, BM)")

        `region` is one that the file marks and `code` what stands there instead, indented as it
        was. `source` is a whole file, which names its tile, `#ifndef BM` and so on, as a step's
        does. Directives are the lines that end the file's first comment, by name: `block`,
        `requires`, `alignment`, `compute_capability`, `options`, `variant`; a list stands for
        several lines. A source without a `block` keeps this step's. Edit the result again to
        change more.

        The label ends with "edited", as does the name of the file in the compiler's messages,
        which count the lines of the new `source`. There are no records of it. Raises ValueError
        for a region or directive that there is not; `check`, `trace` and `attempt` say whether
        the kernel is any good.
        """
        if (region is None) != (code is None):
            raise ValueError("region and code go together: which lines, and what stands there")
        if region is not None and source is not None:
            raise ValueError("give either a region and its code, or a whole source")
        given: dict[str, Sequence[str]]
        given = {name.replace("_", " "): _lines(value) for name, value in directives.items()}
        if source is None:
            text: str = self.source
            if region is not None and code is not None:
                self.region(region)  # raises ValueError if there is none
                text = _replaced(text, region, code)
            given = {**self.file.given, **given}
        else:
            text = textwrap.dedent(source).strip("\n") + "\n"
            if not re.search(r"^// *block:", text, re.MULTILINE):
                given.setdefault("block", [self.file.block.text])
        name = self.id.removesuffix(" edited") + " edited.cu"
        edited = parse(self.path.with_name(name), text, given)
        changed = {k: v for k, v in self.defines.items() if v != self.file.defines[k]}
        return Step(edited, dict(edited.defines)).define(
            **{name: value for name, value in changed.items() if name in edited.defines}
        )

    def attempt(self, shape: tuple[int, int, int] | None = None, **goals: Any) -> Attempt:
        """Whether the kernel is right, clean and as cheap as you meant: a table, never an error.

            mine.attempt(wavefronts_per_fma=1.5, shared_bytes=(0, 16384))

        Everything runs in the interpreter: `check`; `sanitize` on a small shape; a trace of the
        same, `shape` = (M, N, K) or one that suits the tile; and what the compiler reports for a
        GPU of compute capability 9.0. A goal is the most that is allowed, or (least, most). What
        the kernel does wrong is a row that failed, with the reason. Raises ValueError for a goal
        that there is not, with those that there are: see `attempt.GOALS`.
        """
        return attempt(self, shape, goals)

    def _require(self, M: int, N: int, K: int, alpha: float = 1, beta: float = 0) -> None:
        """Raise ValueError, naming a step that can, for a product that this one cannot do."""
        constraint = self.broken(M, N, K, alpha, beta)
        if constraint is None:
            return
        asked: dict[str, float] = {"M": M, "N": N, "K": K}
        scalars = {"alpha": alpha, "beta": beta}
        used = set(Expression(constraint).names)
        asked |= {k: v for k, v in (scalars | self.defines).items() if k in used}
        values = ", ".join(f"{name} = {value}" for name, value in asked.items())
        broken = {one.id: one.broken(M, N, K, alpha, beta) for one in steps(self.path.parent)}
        others = [id for id, reason in broken.items() if reason is None]
        instead = f"{others[-1]} can" if others else f"no step can: {advice(broken.values())}"
        raise ValueError(f"{self.label} requires {constraint}, which {values} breaks; {instead}")


def is_limit(constraint: str | None) -> bool:
    """Whether this is one of what no launch can do, whatever the step."""
    return any(constraint == limit.text for limit in LIMITS)


def advice(broken: Iterable[str | None]) -> str:
    """What to do about a product that no step can do, given what it breaks of each."""
    split = any(is_limit(constraint) for constraint in broken)
    return "split the matrices" if split else "pad the matrices with zeros"


def steps(folder: Path = FOLDER) -> tuple[Step, ...]:
    """All steps, in order. Raises ValueError for a file that is not understood."""
    paths = sorted(Path(folder).glob("[0-9][0-9]_*.cu"))
    return tuple(_step(path, path.read_text(encoding="utf-8")) for path in paths)


@functools.lru_cache(maxsize=256)
def _step(path: Path, text: str) -> Step:
    """The step of a file. The same text is the same object: its kernel is compiled once."""
    file = parse(path, text)
    return Step(file, dict(file.defines))


def step(id: str | int, folder: Path = FOLDER) -> Step:
    """The step named "03_coalesced", "03", "coalesced" or 3. Raises ValueError if unknown.

    Defines may follow the name, as in `Step.label`: "03_coalesced BM=8 BN=128".
    """
    if isinstance(id, str) and len(words := id.split()) > 1:
        return step(words[0], folder).define(**assignments(words[1:]))
    found: dict[str, Step] = {}
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


def _replaced(text: str, region: str, code: str) -> str:
    """The text with other lines in a region, indented as its marker is."""
    lines = text.splitlines()
    first, end = lines_of_region(text, region)
    marker = lines[first - 1]
    margin = marker[: len(marker) - len(marker.lstrip())]
    new = textwrap.indent(textwrap.dedent(code).strip("\n"), margin).splitlines()
    return "\n".join([*lines[:first], *new, *lines[end:]]) + "\n"


def _lines(value: str | int | Sequence[str]) -> list[str]:
    return [str(value)] if isinstance(value, (str, int)) else [str(one) for one in value]
