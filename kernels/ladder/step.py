"""The steps of the ladder: each file `cuda/NN_name.cu` is one, found by its name alone.

`source` says what the file holds, `choose` which step is the best for a shape.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anywarp import Finding, Trace
from anywarp.sanitizer import merged
from anywarp.testing import Counted
from anywarp.trace import Pipeline, trace as trace_entry

from .attempt import Attempt, attempted, require_clean, require_compiled, require_shape, small_shape
from .calls import ON_GPU, Calls
from .check import Report, check
from .compiled import Compiled
from .edit import edited
from .expressions import Expression
from .launches import SYMBOL
from .product.product import Product
from .running import arguments, run, sanitized, until
from .source import Code, Diff, assignments, parse

__all__ = ["Code", "Diff", "Step", "assignments", "step", "steps", "with_variants"]

FOLDER = Path(__file__).parents[1] / "cuda"


@dataclass(frozen=True, repr=False)
class Step(Compiled):
    """A step of the ladder, with its tile sizes: call it on matrices, as BLAS's SGEMM."""

    @functools.cached_property
    def variants(self) -> tuple[Step, ...]:
        """The step with each of the other defines that its file declares."""
        return tuple(self.define(**changes) for changes in self.file.variants)

    def __call__(
        self, A: Any, B: Any, C: Any = None, alpha: float = 1, beta: float = 0, device: str = "auto"
    ) -> Any:
        """C = alpha A B + beta C for float32 matrices A (M, K), B (K, N), C (M, N), C-contiguous.

        A step that takes the pitch of the rows, such as lda, takes that matrix as a slice too, and
        one that has TRANS_A or TRANS_B takes the transpose of such a matrix: nothing is copied.
        NumPy arrays give a NumPy array, CuPy arrays a CuPy array, and what shares its memory by
        DLPack, such as PyTorch's tensors, one of these two. A given `C` is updated in place and
        returned; without one a new matrix is, and beta must be 0. As in BLAS, C is not
        read when beta is 0, nor A and B when alpha is 0. `device`: "auto" (the GPU if it can run
        this step), "gpu" or "interpreter". Raises TypeError or ValueError for what the step
        cannot do, gpu.NoGPU, and build.CompileError, all before anything runs.
        """
        if device in ON_GPU and (done := self._calls.again(A, B, C, alpha, beta)) is not None:
            return done
        product = Product.of(A, B, C, alpha, beta, device, self.compute_capability, self.shared_mem)
        self._require(*product.shape, product.alpha, product.beta)
        step = self._stored_as(product)
        result = run(step, product)
        if product.where == "gpu":
            self._calls.remember(step, product, product._replace(C=result))
        return result if C is None else C

    @functools.cached_property
    def _calls(self) -> Calls:
        """The products of earlier calls."""
        return Calls()

    def values(self, A: Any, B: Any, C: Any) -> tuple[Any, ...]:
        """The arguments of each launch of C = A B on the GPU, for matrices that are stored as the
        step reads them; the workspace is theirs."""
        return arguments(self, Product(len(A), B.shape[1], len(B), A, B, C))

    def check(self, device: str = "auto") -> Report:
        """Run the step on hard cases; returns a report, raises CheckError on a wrong result."""
        return check(self, device)

    def trace(
        self,
        M: int,
        N: int,
        K: int,
        keep: Sequence[Any] = (0, 0),
        launch: str = SYMBOL,
        **limits: Any,
    ) -> Trace:
        """Run C = A B of random matrices in the interpreter and return what it did to memory.

        `launch` is the kernel that is traced; those before it have run. `keep` is the block,
        column of blocks first, whose accesses are kept one by one, or a list of blocks; `limits`
        (`warps`, `folded`) as for `trace.trace`; counts are of all. Raises ValueError for a shape
        that the step cannot do, and for a kernel that is not launched for it.
        """
        self._require(M, N, K)  # first: it refuses what need not be compiled
        kernel, how, shared = until(self, launch, M, N, K)
        return kernel.trace(*how, self.parameters, shared, keep=keep, **limits)

    def pipeline(
        self, M: int, N: int, K: int, keep: Sequence[int] = (0, 0), launch: str = SYMBOL
    ) -> Pipeline:
        """Run as `trace` does, and keep who fills and who reads which part of shared memory."""
        self._require(M, N, K)
        kernel, how, shared = until(self, launch, M, N, K)
        return kernel.pipeline(*how, shared, keep=keep)

    def sanitize(self, M: int, N: int, K: int) -> tuple[Finding, ...]:
        """Run the step in the interpreter and report its memory and barrier faults.

        Two runs: C = A B, where nobody has written C before, and, if the step can do that,
        C = A B + beta C. Nobody has written the workspace before the first launch of a run. Raises
        ValueError for a shape that the step cannot do.
        """
        self._require(M, N, K)
        betas = [beta for beta in (0, -0.5) if self.broken(M, N, K, 1, beta) is None]
        return merged([x for beta in betas for x in sanitized(self, M, N, K, beta)])

    def edit(
        self,
        *,
        region: str | None = None,
        code: str | None = None,
        source: str | None = None,
        ptx: str = "",
        **directives: str | int | float | Sequence[str],
    ) -> Step:
        """A version of your own: the same step with something changed.

            mine = step.edit(region="load_tile", code="…")
            mine = step.edit(source="…", block="(BN, BM)")

        `region` is one that the file marks and `code` what stands there instead, indented as it
        was. `source` is a whole file, which names its tile, `#ifndef BM` and so on, as a step's
        does. Directives are the lines that end the file's first comment, by name: `block`,
        `requires`, `alignment`, `compute_capability`, `options`, `variant` and the others of
        `source`; a list stands for several lines, where there may be several. A source without
        a `block` or `launch` keeps what this step launches. `ptx` stands in place of what the
        compiler makes of it, such as `step.kernel.ptx` with a line changed. Edit the result again
        to change more.

        The label ends with "edited", as does the name of the file in the compiler's messages,
        which count the lines of the new `source`. There are no records of it. Raises ValueError
        for a region or directive that there is not; `check`, `trace` and `attempt` say whether
        the kernel is any good.
        """
        if ptx and (region or source):
            raise ValueError("give either PTX, or a source or a part of it, which makes its own")
        if region is not None:
            self.region(region)  # raises ValueError if there is none
        file = replace(edited(self.file, region, code, source, directives), ptx=ptx)
        kept = {name: n for name, n in self._overrides.items() if name in file.defines}
        return Step(file, dict(file.defines)).define(**kept)

    def attempt(self, shape: tuple[int, int, int] | None = None, **goals: Any) -> Attempt:
        """Whether the kernel is right, clean and as cheap as you meant: a table, never an error.

            mine.attempt(wavefronts_per_fma=1.5, shared_bytes=(0, 16384))

        Everything runs in the interpreter: `check`; `sanitize` on a small shape; a trace of the
        same, `shape` = (M, N, K) or one that suits the tile; and what the compiler reports for a
        GPU of compute capability 9.0. A goal is the most that is allowed, or (least, most). What
        the kernel does wrong is a row that failed, with the reason. Raises ValueError for a goal
        that there is not, with those that there are: see `anywarp.testing.GOALS`.
        """
        if shape is not None:
            require_shape(shape)

        def small() -> tuple[int, int, int]:  # asked for only once the step compiles
            return shape or small_shape(self)

        def compiles() -> str:
            return require_compiled(self.kernel)

        def right() -> str:
            return f"{len(self.check('interpreter').rows)} cases"

        def clean() -> str:
            require_clean(self.sanitize(*small()))
            return "M = {}, N = {}, K = {}".format(*small())

        def count() -> Counted:
            return Counted(self.trace(*small(), ()), self.kernel, self.shared_mem)

        return attempted(self.label, (compiles, right, clean), count, goals)

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
        every = steps(self.path.parent)
        broken = {other: other.broken(M, N, K, alpha, beta) for other in every}
        others = [other.id for other, reason in broken.items() if reason is None]
        nearest = [id for id in others if id >= self.id][:1] or others[-1:]  # later ones know more
        instead = f"{nearest[0]} can" if nearest else f"no step can: {advice(broken)}"
        if nearest[:1] == [self.id]:  # in its own size, or before it was edited
            own = self.file.defines
            changed = [f"{k} = {own[k]}" for k, v in self.defines.items() if own.get(k, v) != v]
            instead += f" with {', '.join(changed)}" if changed else ""
        raise ValueError(f"{self.label} requires {constraint}, which {values} breaks; {instead}")


def is_limit(step: Step, constraint: str | None) -> bool:
    """Whether this is one of what no launch of the step can do."""
    return any(constraint == limit.text for limit in step._limits)


def advice(broken: Mapping[Step, str | None]) -> str:
    """What to do about a product that no step can do, given what it breaks of each."""
    split = any(is_limit(other, constraint) for other, constraint in broken.items())
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


def step(id: str | int | Step, folder: Path = FOLDER) -> Step:
    """The step named "03_coalesced", "03", "coalesced" or 3. Raises ValueError if unknown.

    Defines may follow the name, as in `Step.label`: "03_coalesced BM=8 BN=128". A step is itself.
    """
    if isinstance(id, Step):
        return id
    if isinstance(id, str) and len(words := id.split()) > 1:
        return _variant(step(words[0], folder), *words[1:])
    named: dict[str, Step] = {}
    for each in steps(folder):
        number, _, name = each.id.partition("_")
        named |= dict.fromkeys((each.id, name, number, str(each.number)), each)
    if str(id) in named:
        return named[str(id)]
    if not named:
        raise ValueError(f"no step {id!r}: there are no steps in {folder}")
    if str(id).isdecimal():
        nearest = min(named.values(), key=lambda each: abs(each.number - int(id)))
    else:
        nearest = named[difflib.get_close_matches(str(id).lower(), named, n=1, cutoff=0)[0]]
    ids = dict.fromkeys(each.id for each in named.values())
    raise ValueError(f"no step {id!r}; the nearest is {nearest.id!r}, of {', '.join(ids)}")


@functools.lru_cache(maxsize=1024)
def _variant(step: Step, *words: str) -> Step:
    """The step with the defines of a label. The same label is the same object, with its kernels."""
    return step.define(**assignments(words))


def with_variants(chosen: Iterable[Step]) -> tuple[Step, ...]:
    """Each of the steps, followed by the variants that its file declares."""
    every = (each for step in chosen for each in (step, *step.variants))
    return tuple({each.label: each for each in every}.values())


def trace(traced: Any, *launch: Any, **options: Any) -> Trace:
    """What `trace` of a step, on (M, N, K), or of a Kernel, on (grid, block, args), returns; of an
    entry of PTX, what `anywarp.trace.trace` does."""
    return getattr(traced, "trace", functools.partial(trace_entry, traced))(*launch, **options)
