"""What a step's file says once its tile sizes are chosen: label, launches, constraints, regions."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from anywarp.capability import Capability

from .expressions import Expression
from .launches import PARAMETERS, Placed, Planned, placed, planned, sizes
from .product.product import MAX_ELEMENTS
from .source import ARGUMENTS, Code, Diff, Source

# What no step can do: indices have 32 bits.
LIMITS = tuple(
    Expression(f"{rows} * {columns} < {MAX_ELEMENTS}") for rows, columns in ("MN", "MK", "KN")
)


Method = TypeVar("Method", bound=Callable[..., Any])


def remembered(method: Method) -> Method:
    """A method of which each object keeps the last results."""

    def keep(self: Any) -> Any:
        return functools.lru_cache(maxsize=1024)(functools.partial(method, self))

    keep.__doc__ = method.__doc__
    return cast(Method, functools.cached_property(keep))


@dataclass(frozen=True, repr=False)
class Declared:
    """A step's file and its tile sizes."""

    file: Source
    defines: dict[str, int] = field(hash=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.file, self.defines)  # without what is remembered, such as kernels

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
        return " ".join([self.id, *(f"{name}={value}" for name, value in self._overrides.items())])

    @property
    def _overrides(self) -> dict[str, int]:
        """The defines that are not the file's."""
        return {k: v for k, v in self.defines.items() if v != self.file.defines[k]}

    @property
    def number(self) -> int:
        return int(self.id.partition("_")[0])

    @functools.cached_property
    def block(self) -> tuple[int, ...]:
        """Threads of a block of `sgemm` along x, y, z."""
        return sizes(self.file.sgemm.block(self.defines))

    @property
    def shared_mem(self) -> int:
        """Bytes of dynamic shared memory of such a block."""
        return int(self.file.sgemm.shared(self.defines))

    @property
    def requires(self) -> tuple[str, ...]:
        """What must hold of M, N, K, alpha and beta."""
        return tuple(constraint.text for constraint in self.file.requires)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What its kernels take after C."""
        return self.file.arguments

    @property
    def options(self) -> list[str]:
        """For the compiler."""
        options = [f"-D{name}={value}" for name, value in self.defines.items()]
        return options + [
            re.sub(r"{(\w+)}", lambda name: str(self.defines[name[1]]), option)
            for option in self.file.options
        ]

    @property
    def alignment(self) -> int:
        """Of A, B and C in memory: the number of bytes that must divide their addresses."""
        return self.file.alignment

    @property
    def compute_capability(self) -> Capability:
        """Of the oldest GPU that can run the step, or, with a letter, of the only one."""
        return self.file.compute_capability(self.defines)

    @property
    def tensor_cores(self) -> bool:
        """Whether the step multiplies on tensor cores, in other arithmetic than float32's."""
        return self.file.tensor_cores

    @property
    def parameters(self) -> tuple[str, ...]:
        """What each kernel takes, by name."""
        return (*PARAMETERS, *self.arguments, *(box.name for box in self.file.boxes))

    def grid(self, M: int, N: int, K: int | None = None) -> tuple[int, ...]:
        """Blocks of `sgemm` along x, y, z. Those of a file of one kernel are as many as C has
        tiles, columns along x; elsewhere they may depend on K."""
        sides = (M, N) if K is None else (M, N, K)
        return sizes(self.file.sgemm.grid(self._values(*sides)))

    @remembered
    def launches(self, M: int, N: int, K: int) -> tuple[Planned, ...]:
        """What is launched for a product, in order."""
        return planned(self.file.launches, self._values(M, N, K))

    @remembered
    def workspace(self, M: int, N: int, K: int) -> int:
        """Bytes that the launches of a product take beside the matrices."""
        self.launches(M, N, K)  # refuses a grid that no GPU has, before memory is asked for it
        return int(self.file.workspace(self._values(M, N, K)))

    @remembered
    def _tensor_maps(self, M: int, N: int, K: int) -> tuple[Placed, ...]:
        """The tensor maps of a product."""
        return tuple(placed(box, self._values(M, N, K)) for box in self.file.boxes)

    def _values(self, *numbers: float) -> dict[str, float]:
        """The defines, and M, N, K, alpha and beta, or as many of them as are given."""
        return {**self.defines, **dict(zip(ARGUMENTS, numbers))}

    @remembered
    def broken(self, M: int, N: int, K: int, alpha: float = 1, beta: float = 0) -> str | None:
        """The first constraint that this product breaks, None when the step can do it.

        Those of the step's file, and what no launch can do: 65536 blocks along the rows of C, or
        a matrix of 2**31 elements.
        """
        values = self._values(M, N, K, alpha, beta)
        every = (*self.file.requires, *self._limits)
        return next((constraint.text for constraint in every if not constraint(values)), None)

    def _asks_scalars(self, M: int, N: int, K: int) -> bool:
        """Whether alpha and beta have a say in whether the step can do products of this shape."""
        try:
            for constraint in self.file.requires:
                constraint(self._values(M, N, K))
        except ValueError:  # it has other names
            return True
        return False

    @functools.cached_property
    def _limits(self) -> tuple[Expression, ...]:
        """What no launch can do, whatever the file says."""
        return (*LIMITS, *(limit for launch in self.file.launches for limit in launch.limits()))

    def region(self, name: str) -> Code:
        """The lines between `// region: name` and `// endregion`, dedented."""
        regions = self.file.regions
        if name not in regions:
            raise ValueError(f"{self.id} has no region {name!r}; it has {', '.join(regions)}")
        return regions[name]

    def diff(self, other: Declared) -> Diff:
        """What changed from `other` to this step, as a unified diff without the headers."""
        old, new = (step.source.splitlines() for step in (other, self))
        old_start, new_start = (len(step.header.splitlines()) for step in (other, self))
        lines = difflib.unified_diff(
            old[old_start:], new[new_start:], other.path.name, self.path.name, lineterm="", n=1
        )

        def in_file(hunk: re.Match[str]) -> str:  # line numbers of the files, not of their bodies
            return f"-{int(hunk[1]) + old_start}{hunk[2]} +{int(hunk[3]) + new_start}{hunk[4]}"

        hunks = re.compile(r"(?<=^@@ )-(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?)")
        return Diff("\n".join(hunks.sub(in_file, line) for line in lines))
